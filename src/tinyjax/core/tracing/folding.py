"""``ensure_compile_time_eval``: computing while a function is staged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import (
    CustomCall,
    Trace,
    Tracer,
    base_trace,
    current_trace,
    use_trace,
)
from tinyjax.core.values.array import Array

Q = TypeVar("Q")


class FoldingTrace(Trace):
    """Evaluates what touches no traced value; hands on all else."""

    __slots__ = ()

    transformation = "ensure_compile_time_eval"

    def process(self, primitive: Primitive[Q], args: Sequence[Array], params: Q) -> Sequence[Array]:
        trace = self.parent if any(isinstance(x, Tracer) for x in args) else base_trace()
        with use_trace(trace):
            return trace.process(primitive, args, params)

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        if any(isinstance(x, Tracer) for x in args):
            return self.parent.process_custom_call(call.under(self), args)
        return call.fun(*args)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Compute at once, while a function is staged, whatever depends on no traced value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def f(x):
        ...     with tinyjax.ensure_compile_time_eval():
        ...         n = int(jnp.sum(jnp.arange(3)))  # data, although the function is staged
        ...     return x**n
        >>> float(f(2.0))
        8.0
    """
    with use_trace(FoldingTrace(current_trace())):
        yield

"""What interpreters of jaxprs read, by the names of ``jax.extend.core``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

import numpy as np

from tinyjax.core.array import Array, as_array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, subjaxprs, typecheck_jaxpr
from tinyjax.core.jaxpr import Lit as Literal
from tinyjax.core.primitive import Primitive
from tinyjax.core.staging import Recorder
from tinyjax.core.trace import (
    Trace,
    Tracer,
    current_trace,
    enclosing_axes,
    enclosing_traces,
    use_trace,
)
from tinyjax.dtypes import ALL, DType, DTypeLike, check, float0, is_inexact
from tinyjax.errors import InconclusiveDimensionOperation, JaxprTypeError, TinyjaxError

__all__ = [
    "ClosedJaxpr",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "Var",
    "array_types",
    "check_jaxpr",
    "concrete_or_error",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]


class Effect:
    """A kind of side effect, for signatures: what a primitive does, it says itself here."""


Effects: TypeAlias = AbstractSet[Effect]
no_effects: Final[Effects] = frozenset()

#: The types of values that arrays are made of.
array_types: Final[frozenset[type]] = frozenset((Array, np.ndarray, *(d.type for d in ALL)))


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Array]]:
    """Return the function of arrays that a jaxpr stands for.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend.core import jaxpr_as_fun
        >>> double = jaxpr_as_fun(tinyjax.make_jaxpr(lambda x: 2 * x)(1.0))
        >>> double(3.0)
        [Array(6., dtype=float32, weak_type=True)]
    """

    def run(*args: Any) -> list[Array]:
        return list(closed_jaxpr(*[as_array(x) for x in args]))

    return run


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Check that every variable is bound once and every equation has the types it says.

    Raises:
        JaxprTypeError: the program is ill-formed.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend.core import check_jaxpr
        >>> check_jaxpr(tinyjax.make_jaxpr(lambda x: 2 * x)(1.0).jaxpr)
    """
    typecheck_jaxpr(jaxpr)


def jaxprs_in_params(params: Any) -> Iterator[Jaxpr]:
    """Go through the programs that an equation's parameters hold; see ``subjaxprs``."""
    return iter(subjaxprs(params))


def new_jaxpr_eqn(
    invars: Sequence[Var | Literal],
    outvars: Sequence[Var],
    primitive: Primitive[Any],
    params: Any,
    effects: Effects = no_effects,
    source_info: Any = None,
    ctx: object = None,
) -> JaxprEqn:
    """Make an equation.

    Args:
        invars: its operands.
        outvars: the variables that it defines.
        primitive: what it applies.
        params: the parameters: an instance of the primitive's class for them, or its fields.
        effects: of no effect: primitives say what they do.
        source_info: the user's line, as another equation has it in ``source``.
        ctx: of no effect.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend.core import new_jaxpr_eqn
        >>> (eqn,) = tinyjax.make_jaxpr(tinyjax.numpy.sin)(1.0).eqns
        >>> new_jaxpr_eqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params)
        b:float32[] = sin a
    """
    given = params if isinstance(params, primitive.params) else primitive.params(**params)
    return JaxprEqn(primitive, tuple(invars), given, tuple(outvars), source_info)


def gensym() -> Callable[[ShapedArray], Var]:
    """Return a function that makes a new variable of a type."""
    return Var


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of one example of arrays that have a batch axis of a size.

    Example:
        >>> from tinyjax.core import ShapedArray
        >>> from tinyjax.extend.core import mapped_aval
        >>> import numpy as np
        >>> print(mapped_aval(3, 0, ShapedArray((3, 2), np.dtype("float32"))))
        float32[2]
    """
    if axis is None:
        return aval
    return aval.with_shape((*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of so many examples of a type along a batch axis; see ``mapped_aval``."""
    if axis is None:
        return aval
    return aval.with_shape((*aval.shape[:axis], size, *aval.shape[axis:]))


def primal_dtype_to_tangent_dtype(primal_dtype: DTypeLike) -> DType:
    """Return the dtype of tangents: float0 where there is no derivative."""
    found = check(primal_dtype)
    return found if is_inexact(found) else float0


def valid_jaxtype(x: object) -> bool:
    """Say whether something is an array or can become one."""
    try:
        as_array(x)
    except TinyjaxError:
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """Return a value, converted by ``force``, if its data is there.

    Args:
        force: makes of it what is wanted, such as ``int``; None for the value itself.
        val: the value.
        context: what it is for, which the error says.

    Raises:
        ConcretizationError: it is a traced value.

    Example:
        >>> from tinyjax.extend.core import concrete_or_error
        >>> concrete_or_error(int, 3.0)
        3
    """
    if isinstance(val, Tracer):
        val.concrete(context or "data")
    return val if force is None else force(val)


# Where we are: which transformations run


def find_top_trace(_: Iterable[object] = ()) -> Trace:
    """Return the trace that primitives are handed to."""
    return current_trace()


def take_current_trace() -> AbstractContextManager[Trace]:
    """Give the trace that primitives are handed to, as a context."""
    return _Taken()


class _Taken:
    def __enter__(self) -> Trace:
        return current_trace()

    def __exit__(self, *exception: object) -> None:
        pass


def set_current_trace(trace: Trace, check_leaks: bool = False) -> AbstractContextManager[None]:
    """Hand primitives to a trace within a block."""
    return use_trace(trace)


def get_opaque_trace_state(convention: object = None) -> object:
    """Return something that is equal where the same transformations run."""
    return tuple(map(id, enclosing_traces()))


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Say whether what runs here is recorded: by ``jit``, a loop or ``make_jaxpr``."""
    return any(isinstance(trace, Recorder) for trace in enclosing_traces())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Say whether a ``vmap`` is around us."""
    return any(trace.mapped_axis() is not None for trace in enclosing_traces())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """Return the names of the axes of the ``vmap``s around us, the outermost first."""
    return [axis.name for axis in reversed(enclosing_axes())]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Say whether there are such axes."""
    return bool(enclosing_axes())

"""The closed-over values of functions: the arrays among them, and whether any is traced."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import FunctionType, MethodType, ModuleType, NoneType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames
from tinyjax.core.tracing import calling, jaxpr as jx, staging, trace as tr
from tinyjax.core.values import Array, ConcreteArray, operands as opd

Seen = dict[int, object]

#: What was found to close over no live tracer, by identity, while a recording goes on.
_found_free: ContextVar[Seen | None] = ContextVar("tinyjax_found_free", default=None)


@contextmanager
def each_searched_once() -> Iterator[None]:
    """Search each object for live tracers only once within a block.

    Each function of a nest closes over all those within it, and each is searched for tracers.
    """
    if _found_free.get() is not None:
        yield
        return
    with tr.assigned(_found_free, {}):
        yield


def holds_tracer(value: object) -> bool:
    """Return whether a user's object closes over a live tracer, as far as it can be inspected."""
    found_free = _found_free.get()
    seen: Seen = {}
    if any(tracer._trace.live for tracer in tracers_in(value, seen, found_free or {})):
        return True
    if found_free is not None:
        found_free.update(seen)
    return False


def tracers_in(
    value: object, seen: Seen | None = None, left_out: Seen | None = None
) -> Iterator[tr.Tracer]:
    """Yield the tracers that a user's object closes over, as far as it can be inspected.

    Args:
        value: what the user wrote.
        seen: by identity, what was searched already; what is searched is added.
        left_out: what is not searched either.
    """
    for array in _arrays_in(value, {} if seen is None else seen, left_out or {}, nodes=False):
        if isinstance(array, tr.Tracer):
            yield array


def arrays_in(value: object) -> Iterator[Array]:
    """Return the arrays that a user's object closes over, as ``tracers_in``, and in any tree."""
    return _arrays_in(value, {}, {}, nodes=True)


def _arrays_in(value: object, seen: Seen, left_out: Seen, nodes: bool) -> Iterator[Array]:
    """Yield the distinct arrays in a value; ``nodes`` is whether to look into any tree."""
    if id(value) in seen or id(value) in left_out:
        return
    seen[id(value)] = value
    if isinstance(value, Array):
        yield value
        return
    for x in _inside(value, nodes):
        yield from _arrays_in(x, seen, left_out, nodes)


def _inside(value: object, nodes: bool = False) -> Sequence[Any]:
    inside = parts_of(value)
    if inside is None and hasattr(type(value), "__module__") and callable(value):
        inside = list(getattr(value, "__dict__", {}).values())
    elif inside is None and nodes:
        inside = list(tree.leaves(value))
    return inside or ()


def held_in(value: object, kinds: Collection[type], seen: Seen) -> Iterator[Any]:
    """Yield the objects of some classes that a user's function closes over, or has as globals."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if type(value) in kinds:
        yield value
        return
    for x in _inside(value):
        yield from held_in(x, kinds, seen)
    if isinstance(value, FunctionType):
        names = value.__code__.co_names
        for x in [value.__globals__.get(name) for name in names]:
            if type(x) in kinds:
                yield from held_in(x, kinds, seen)


def parts_of(value: object) -> list[Any] | None:
    """Return the parts of a Python container or a user's function; None for other objects."""
    match value:
        case FunctionType():
            return [*closed_over(value), value.__defaults__, value.__kwdefaults__]
        case MethodType():
            return [value.__func__, value.__self__]
        case partial():
            return [value.func, value.args, value.keywords]
        case tuple() | list():
            return list(value)
        case dict():
            return list(value.values())
        case _:
            return None


_PLAIN: Final = (
    *(bool, int, float, complex, str, bytes, NoneType, type),
    *(ModuleType, np.dtype, np.ufunc),
)


def holds_objects(value: object, seen: Seen | None = None) -> bool:
    """Return whether something that the user wrote keeps objects alive.

    Numbers, text, and what a module names by its own name keep none.
    """
    seen = {} if seen is None else seen
    if isinstance(value, _PLAIN) or id(value) in seen or is_named_by_module(value):
        return False
    seen[id(value)] = value
    parts = parts_of(value)
    return parts is None or any(holds_objects(part, seen) for part in parts)


def is_named_by_module(value: object) -> bool:
    """Return whether a module, which lives as long as the process, names an object."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return module is not None and vars(module).get(getattr(value, "__qualname__", "")) is value


@contextmanager
def kept_as_parameters(arrays: Iterable[Array]) -> Iterator[None]:
    """Within this, programs have these arrays as parameters, though they be scalars or splats."""
    own = {id(x): x for x in arrays if isinstance(x, ConcreteArray) and id(x) not in opd.opaque}
    opd.opaque.update(own)
    try:
        yield
    finally:
        for key in own:
            opd.opaque.pop(key)


def closed_over(fun: FunctionType) -> list[Any]:
    """Return the values of the variables that a function closes over, if they have one."""
    values = []
    for cell in fun.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            continue
    return values


# ``closure_convert``: what a function closes over, as arguments of a function with rules.


@attrs.frozen
class _Named:
    """A holder of a function for messages, which is not searched for tracers."""

    fun: Callable[..., Any]


def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Array]]:
    """Turn the traced values that a function closes over into arguments.

    The rules of ``custom_vjp`` and ``custom_jvp`` give derivatives in arguments only. Convert a
    function before you pass it to such a function, to differentiate in what it closes over.

    Args:
        fun: takes and returns arrays in any containers. It is staged, once.
        example_args: arguments of the types that it will be called with.

    Returns:
        ``(converted, closed_over)``: ``converted(*args, *closed_over)`` is ``fun(*args)``.
        ``closed_over`` are the traced floats and complex numbers. The function keeps everything
        else that it closes over, since no derivative is taken in that.

    Raises:
        ArgumentError: when ``converted`` is called with another number of arguments, or with
            arrays of other types.
        TreeMismatchError: when it is called with arguments of another structure.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def slope_of_product(a):
        ...     times, closed_over = tinyjax.closure_convert(lambda x: a * x, 2.0)
        ...     return tinyjax.grad(times, 1)(2.0, *closed_over)
        >>> float(tinyjax.jit(slope_of_product)(3.0))
        2.0
    """
    leaves, in_tree = tree.flatten((example_args, {}))
    flat = calling.FlatFunction(fun, in_tree)
    avals = calling.as_avals(leaves, fun, in_tree)
    staged = staging.stage(flat, avals, frames.Applied("closure_convert", fun))
    jaxpr, consts = staged.jaxpr, staged.consts
    traced = [isinstance(x, tr.Tracer) and dtypes.is_inexact(x.dtype) for x in consts]
    closed_over = [x for x, is_traced in zip(consts, traced, strict=True) if is_traced]
    constants = [None if is_traced else x for x, is_traced in zip(consts, traced, strict=True)]
    out_tree, n, count = flat.out_tree, len(example_args), len(closed_over)
    named = _Named(fun)

    def converted(*args: Any) -> Any:
        fun = named.fun
        if len(args) != n + count:
            raise errors.ArgumentError(
                "The inputs to the closure produced by closure_convert must have the same Pytree "
                f"structure as the example arguments: {frames.describe_function(fun)} takes {n} "
                f"arguments and the {count} values that it closed over, but got "
                f"{len(args)}."
            )
        own_leaves = in_tree.flatten_up_to((args[:n], {}), "args")
        arrays = calling.as_arrays(own_leaves, fun, in_tree)
        for i, (x, aval) in enumerate(zip(arrays, avals, strict=True)):
            if x.shape != aval.shape or x.dtype != aval.dtype:
                raise errors.ArgumentError(
                    f"{calling.argument_path(fun, in_tree, i)} of {frames.describe_function(fun)}, "
                    f"converted by closure_convert for {aval}, is {x.aval}."
                )
        rest = iter(calling.as_arrays(args[n:], fun, tree.structure((args[n:], {}))))
        values = [next(rest) if x is None else x for x in constants]
        return tree.unflatten(out_tree, jx.eval_jaxpr(jaxpr, [*values, *arrays]))

    return converted, closed_over

"""``fori_loop``: a loop made of ``scan`` or ``while_loop``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tinyjax import dtypes
from tinyjax.core.control_flow.common import Body, check_checkpoints
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives.elementwise import add, convert_element_type, lt
from tinyjax.core.tracing.checking import checked
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import as_array, fits
from tinyjax.errors import ArgumentError

_role = "applies"  # see ``frames.Role``

S = TypeVar("S")


@checked
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Array, S], S] | Callable[[int, S], S],
    init_val: S,
    *,
    unroll: int | bool | None = None,
    checkpoints: int | None = None,
) -> S:
    """Run ``state = body_fun(i, state)`` for ``i`` of ``lower``, ``lower + 1`` to below ``upper``.

    With known integers as bounds it is a ``scan``: reverse mode keeps the residuals of every
    iteration, or ``checkpoints`` states. With traced bounds, or floats, it is a ``while_loop``:
    reverse mode keeps ``checkpoints`` states, by default as ``while_loop`` does.

    Args:
        lower: a scalar, an integer or a float.
        upper: likewise.
        body_fun: takes the index and the state; returns the new state: the same tree, of the same
            shapes and dtypes.
        init_val: the first state, a tree of arrays.
        unroll: how many iterations one step of the compiled loop does; for known bounds only.
        checkpoints: how many states reverse mode keeps at a time, at least one.

    Raises:
        ArgumentError: a bound is not a real scalar, or one is an integer and one a float;
            ``unroll`` is given for traced bounds, or ``checkpoints`` is not positive.
        CarryTypeError: the state changes its structure or type; the message says which leaf.

    Example:
        >>> from tinyjax import lax
        >>> int(lax.fori_loop(1, 5, lambda i, product: product * i, 1))
        24
    """
    if checkpoints is not None:
        check_checkpoints("fori_loop", checkpoints)
    bounds = [as_array(lower), as_array(upper)]
    for name, bound in zip(("lower", "upper"), bounds, strict=True):
        if bound.shape or not (dtypes.is_integer(bound.dtype) or dtypes.is_float(bound.dtype)):
            raise ArgumentError(
                f"{name} of fori_loop must be an integer or a float, a scalar, but it is "
                f"{bound.aval}."
            )
    if dtypes.is_integer(bounds[0].dtype) != dtypes.is_integer(bounds[1].dtype):
        raise ArgumentError(
            "lower and upper arguments to fori_loop must have equal types, got "
            f"{bounds[0].dtype} and {bounds[1].dtype}. Convert one."
        )
    dtype, weak = dtypes.promote([(x.dtype, x.weak_type) for x in bounds])
    known = dtypes.is_integer(dtype) and all(isinstance(x, ConcreteArray) for x in bounds)
    weak = weak or (known and all(fits(int(x), dtypes.default_int()) for x in bounds))
    at_index: Callable[[Any, S], S] = body_fun

    # a weakly typed index, as a Python number is, does not promote the state
    aval = ShapedArray((), dtype, weak)
    one = ConcreteArray(np.asarray(1, dtype), aval)
    if known:
        first = int(bounds[0])
        length = max(int(bounds[1]) - first, 0)

        def iteration(carry: tuple[Array, S], _: None) -> tuple[tuple[Array, S], None]:
            i, state = carry
            return (add(i, one), at_index(i, state)), None

        start: tuple[Array, S] = (ConcreteArray(np.asarray(first, dtype), aval), init_val)
        steps = 1 if unroll is None else unroll
        named = Body(iteration, body_fun, "fori_loop", 1)
        return scan(named, start, None, length, unroll=steps, checkpoints=checkpoints)[0][1]
    if unroll is not None:
        raise ArgumentError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known, but "
            "they are traced. Leave out unroll, or give bounds that are Python numbers."
        )

    def goes_on(carry: tuple[Array, Array, S]) -> Array:
        return lt(carry[0], carry[1])

    def body(carry: tuple[Array, Array, S]) -> tuple[Array, Array, S]:
        i, end, state = carry
        return add(i, one), end, at_index(i, state)

    ends = [convert_element_type(x, dtype, aval.weak_type) for x in bounds]
    named = Body(body, body_fun, "fori_loop", 2)
    from tinyjax.core.control_flow.while_loop import while_loop  # noqa: PLC0415 (not for known bounds)

    return while_loop(goes_on, named, (ends[0], ends[1], init_val), checkpoints=checkpoints)[2]

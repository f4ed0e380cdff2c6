"""Sums over windows of a vector, whose bounds are data: rows of sparse matrices, for example."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

import tinyjax.numpy as jnp
from tinyjax import dtypes, lax
from tinyjax._extensions.checkpointing.transformation import checkpoint
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import BroadcastParams
from tinyjax.core.primitives.shape import IotaParams
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import Array


@attrs.frozen(eq=False)
class SummedWindow:
    """A slice of a vector with traced bounds.

    Attributes:
        start: the index of the first element; None for the vector's first.
        stop: the index behind the last element; None for the vector's end.
    """

    start: jx.Atom | None
    stop: jx.Atom | None

    def bounds(self, size: int) -> tuple[jx.Atom, jx.Atom]:
        """Return both bounds, for a vector of a size."""
        (aval,) = {x.aval for x in (self.start, self.stop) if x is not None}
        start = jx.zero_literal(aval) if self.start is None else self.start
        return start, jx.splat_literal(size, aval) if self.stop is None else self.stop


def window_of(definitions: Mapping[jx.Atom, jx.JaxprEqn], mask: jx.Atom) -> SummedWindow | None:
    """Return the window whose mask a vector of truth values is; None if it is no such mask."""
    eqn = definitions.get(mask)
    if eqn is None or mask.aval.ndim != 1:
        return None
    if eqn.primitive is ew.and_:
        return _together(*[window_of(definitions, x) for x in eqn.inputs])
    if eqn.primitive not in (ew.ge, ew.lt):
        return None
    places, bound = [definitions.get(x) for x in eqn.inputs]
    if places is None or not isinstance(places.params, IotaParams):
        return None
    if bound is None or not isinstance(bound.params, BroadcastParams) or bound.params.dims:
        return None
    (number,) = bound.inputs
    if not dtypes.is_integer(number.aval.dtype):
        return None
    return SummedWindow(None, number) if eqn.primitive is ew.lt else SummedWindow(number, None)


def _together(first: SummedWindow | None, second: SummedWindow | None) -> SummedWindow | None:
    """Return the intersection of a window without a stop and one without a start, or None."""
    if first is None or second is None:
        return None
    if first.stop is None and second.start is None:
        begin, end = first.start, second.stop
    elif first.start is None and second.stop is None:
        begin, end = second.start, first.stop
    else:
        return None
    is_one_type = begin is not None and end is not None and begin.aval == end.aval
    return SummedWindow(begin, end) if is_one_type else None


def inside_window(
    definitions: Mapping[jx.Atom, jx.JaxprEqn], x: jx.Atom
) -> tuple[jx.Atom, SummedWindow | None]:
    """Return vector and window if a vector is masked by a window; else the vector and None."""
    chosen = definitions.get(x)
    if chosen is None or chosen.primitive is not ew.select_p:
        return x, None
    mask, inside, outside = chosen.inputs
    window = window_of(definitions, mask) if jx.is_zero(outside) else None
    return (x, None) if window is None else (inside, window)


def sums(x: Array, starts: Array, stops: Array) -> Array:
    """Return the sums of the elements of a vector in each of some windows.

    Windows that follow each other, as those of the rows of a sparse matrix do, are summed up in one
    pass through the vector; others one by one. Which they are is known when the program runs.
    """
    places = jnp.arange(x.size)
    stops = jnp.maximum(starts, stops)

    def in_one_pass(x: Array) -> Array:
        begun = jnp.zeros(x.size + 1, places.dtype).at[starts].add(1)
        window = jnp.cumsum(begun)[:-1] - 1
        is_inside = (window >= 0) & (places < stops[window])
        total = jnp.zeros(starts.shape, x.dtype)
        return total.at[window].add(jnp.where(is_inside, x, 0))

    @checkpoint
    def one_by_one(x: Array) -> Array:
        def of_window(bounds: tuple[Array, Array]) -> Array:
            start, stop = bounds
            return jnp.sum(jnp.where((places >= start) & (places < stop), x, 0))

        return lax.map(of_window, (starts, stops))

    total: Array = lax.cond(jnp.all(stops[:-1] <= starts[1:]), in_one_pass, one_by_one, x)
    return total

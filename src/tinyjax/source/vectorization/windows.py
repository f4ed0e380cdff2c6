"""Sums over windows of a vector, whose bounds are data: rows of sparse matrices, for example."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._extensions.checkpointing.transformation import checkpoint
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import BroadcastParams
from tinyjax.core.primitives.shape import IotaParams
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import Array, operands as opd


@attrs.frozen(eq=False)
class SummedWindow:
    """The elements of a vector from one place on, up to another.

    Attributes:
        start: the first place.
        stop: the place behind the last.
    """

    start: jx.Atom
    stop: jx.Atom


def window_of(definitions: Mapping[jx.Atom, jx.JaxprEqn], mask: jx.Atom) -> SummedWindow | None:
    """Return the window whose mask a vector of truth values is; None where it is another."""
    eqn = definitions.get(mask)
    if eqn is None or mask.aval.ndim != 1:
        return None
    if eqn.primitive is ew.and_:
        first, second = [window_of(definitions, x) for x in eqn.inputs]
        if first is None or second is None or not _is_open(first, second):
            return None
        return SummedWindow(first.start, second.stop)
    if eqn.primitive not in (ew.ge, ew.lt):
        return None
    places, bound = [definitions.get(x) for x in eqn.inputs]
    if places is None or not isinstance(places.params, IotaParams):
        return None
    if bound is None or not isinstance(bound.params, BroadcastParams) or bound.params.dims:
        return None
    number = bound.inputs[0]
    aval = number.aval
    if eqn.primitive is ew.lt:
        return SummedWindow(jx.zero_literal(aval), number)
    return SummedWindow(number, jx.Lit(opd.splat(mask.aval.size, aval), aval))


def _is_open(first: SummedWindow, second: SummedWindow) -> bool:
    """Return whether one window goes to the end, and the other begins at the front."""
    return isinstance(first.stop, jx.Lit) and isinstance(second.start, jx.Lit)


def inside_window(
    definitions: Mapping[jx.Atom, jx.JaxprEqn], x: jx.Atom
) -> tuple[jx.Atom, SummedWindow | None]:
    """Return the vector that one is within a window, and the window; else itself and None."""
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

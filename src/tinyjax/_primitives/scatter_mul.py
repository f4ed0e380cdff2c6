"""scatter_mul: updates multiply slices of one array, at places that are data."""

from __future__ import annotations

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax._primitives import gather_scatter
from tinyjax._primitives.sort import sort
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.reduce import products_before
from tinyjax.core.primitives.rules import def_derivatives, def_transposes
from tinyjax.core.stablehlo import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, integers as ints, operands as opd

scatter_mul_p: prim.Primitive[gather_scatter.ScatterParams] = gather_scatter.declare(
    "scatter_mul", np.multiply, Lowering.mul, "iufc"
)


def _into_operand(
    t: Array, indices: Array, updates: Array, params: gather_scatter.ScatterParams
) -> Array:
    return tr.bind1(scatter_mul_p, (t, indices, updates), params)


def _of_factors(
    t: Array,
    out: Array,
    x: Array,
    indices: Array,
    updates: Array,
    params: gather_scatter.ScatterParams,
) -> Array:
    windows = gather_scatter.windows_of(x, updates, params)
    reading = gather_scatter.as_gather(params, windows)
    others = tr.bind1(gather_scatter.gather_p, (x, indices), reading)
    if not gather_scatter.windows_distinct(indices, windows, params):
        places = _places(x, indices, reading, updates.size)
        others = ew.mul(others, _products_of_others(updates, places))
    nothing = opd.splat(0, x.aval)
    return tr.bind1(gather_scatter.scatter_add_p, (nothing, indices, ew.mul(t, others)), params)


def _places(x: Array, indices: Array, reading: gather_scatter.GatherParams, count: int) -> Array:
    """Return the number of the element that each of so many updates multiplies, or -1."""
    dtype = dtypes.int32 if ints.fit_int32((x.size, count)) else dtypes.int64
    numbers = sh.reshape(sh.iota((x.size,), dtype, 0), x.shape)
    return tr.bind1(
        gather_scatter.gather_p, (numbers, indices), attrs.evolve(reading, fill_value=-1)
    )


def _products_of_others(updates: Array, places: Array) -> Array:
    """For each update the product of all others at its place; right where they are zero.

    Args:
        updates: the factors.
        places: of each of them, a number; it is negative where the update is dropped.
    """
    ones = sh.full_like(updates, 1)
    factors = ew.select(ew.ge(places, sh.full_like(places, 0)), updates, ones)
    flat = (updates.size,)
    numbers = sh.iota(flat, places.dtype, 0)
    operands = (sh.reshape(places, flat), numbers, sh.reshape(factors, flat))
    groups, order, sorted_factors = sort(operands, 0)
    after = products_before(sh.rev(sorted_factors, (0,)), sh.rev(groups, (0,)))
    others = ew.mul(products_before(sorted_factors, groups), sh.rev(after, (0,)))
    return sh.reshape(sort((order, others), 0)[1], updates.shape)


def_derivatives(
    scatter_mul_p,
    lambda t, out, x, indices, updates, params: _into_operand(t, indices, updates, params),
    gather_scatter.no_tangent,
    _of_factors,
)
def_transposes(
    scatter_mul_p,
    lambda ct, x, indices, updates, params: _into_operand(ct, indices, updates, params),
    "the indices",
    "its updates",
)

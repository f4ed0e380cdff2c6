"""The work of one equation, counted as XLA counts it."""

from __future__ import annotations

from math import ceil, log2
from typing import Final

import numpy as np

from tinyjax.core.primitives import families as fam
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.exploring.model import Work
from tinyjax.primitives import convolution as cv

#: Elementwise primitives that XLA counts among functions such as ``exp``.
_ROOTS: Final = frozenset(("sqrt", "rsqrt"))
#: Primitives that combine as many elements as their operand has more than their result.
_REDUCTIONS: Final = "reduce_"
_WINDOWS: Final = "reduce_window_"
_CUMULATIVE: Final = frozenset(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"))
#: To find the place of an extremum is to compare numbers and places, and to choose both.
_OF_COMPARING_PLACES: Final = 9.0
#: An operation for each element of what they are given last: the updates.
_UPDATES: Final = frozenset(
    ("scatter_add", "scatter_sub", "scatter_mul", "scatter_max", "scatter_min")
)


def work_of(eqn: jx.JaxprEqn) -> Work:
    """Count what one run of an equation takes.

    One that runs programs has no work of its own: these have it.
    """
    if jx.subjaxprs(eqn.params):
        return Work()
    nbytes = sum(v.aval.nbytes for v in eqn.out_binders)
    nbytes += sum(x.aval.nbytes for x in eqn.inputs if not isinstance(x, jx.Lit))
    flops, functions = _operations(eqn)
    return Work(flops, functions, float(nbytes))


def _operations(eqn: jx.JaxprEqn) -> tuple[float, float]:
    """How many arithmetic operations an equation makes, and of how many elements functions."""
    primitive = eqn.primitive
    name, rules = primitive.name, primitive.rules.extensions
    ins = [x.aval.size for x in eqn.inputs]
    size = float(eqn.out_binders[0].aval.size) if eqn.out_binders else 0.0
    if primitive is cv.conv_general_dilated_p:
        return _convolution(eqn), 0.0
    if prim.FLOPS in rules:
        avals, outs = [x.aval for x in eqn.inputs], [v.aval for v in eqn.out_binders]
        return primitive.rule(prim.FLOPS)(eqn.params, avals, outs), 0.0
    if prim.TRANSCENDENTAL in rules or name in _ROOTS:
        return 0.0, size
    if name == "integer_pow":
        return size * _multiplications(eqn.params.exponent), 0.0
    if isinstance(primitive, fam.Elementwise) or name == "select":
        return size, 0.0
    if name.startswith(_WINDOWS):
        return size * _window(eqn), 0.0
    if name.startswith(_REDUCTIONS):
        return max(ins[0] - size, 0.0), 0.0
    if name in _CUMULATIVE:
        return float(ins[0]), 0.0
    if name in _UPDATES:
        return float(ins[-1]), 0.0
    if name in {"argmax", "argmin"}:
        return _OF_COMPARING_PLACES * max(ins[0] - size, 0.0), 0.0
    if name == "sort":
        return size * max(1, ceil(log2(max(size, 2)))), 0.0
    return 0.0, 0.0


def _convolution(eqn: jx.JaxprEqn) -> float:
    """Count the products that a convolution adds, leaving out those with padding."""
    params: cv.ConvParams = eqn.params
    lhs, rhs = [x.aval for x in eqn.inputs]
    out = eqn.out_binders[0].aval
    numbers = params.numbers
    products = float(out.shape[numbers.out_spec[0]] * rhs.shape[numbers.rhs_spec[0]])
    products *= rhs.shape[numbers.rhs_spec[1]] / params.batch_groups
    for i, (stride, (before, _), spread, apart) in enumerate(
        zip(params.strides, params.padding, params.lhs_dilation, params.rhs_dilation, strict=True),
        2,
    ):
        starts = np.arange(out.shape[numbers.out_spec[i]]) * stride - before
        offsets = np.arange(rhs.shape[numbers.rhs_spec[i]]) * apart
        places = starts[:, None] + offsets
        last = (lhs.shape[numbers.lhs_spec[i]] - 1) * spread
        inside = (places >= 0) & (places <= last) & (places % spread == 0)
        products *= int(np.count_nonzero(inside))
    return 2.0 * products


def _multiplications(exponent: int) -> int:
    """How many a power takes by repeated squaring; a negative one takes a division more."""
    return max(exponent.bit_length() + exponent.bit_count() - 2, 0) + (exponent < 0)


def _window(eqn: jx.JaxprEqn) -> int:
    """How many elements each element of a reduction over windows combines."""
    number = 1
    for n in eqn.params.window:
        number *= n
    return number - 1

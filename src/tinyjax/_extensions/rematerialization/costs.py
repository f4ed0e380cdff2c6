"""The work of programs: operations, functions and bytes of equations, and an estimate of the time.

The planner chooses by it, and the explorer shows it.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any, Final

import attrs
import numpy as np

from tinyjax._base import records
from tinyjax._primitives.convolution import ConvParams, conv_general_dilated_p
from tinyjax.core.primitives.families import Elementwise
from tinyjax.core.tracing import jaxpr as jx, primitive as prim


@attrs.frozen
class Work:
    """The work of an operation or a program.

    Attributes:
        flops: arithmetic operations, as XLA counts them: one for each element of a result, and
            ``2 m n k`` for a product of matrices.
        functions: elements of which functions such as ``exp`` are computed.
        nbytes: bytes of the operands read and of the results written.
        seconds: time that NumPy takes, measured; None where it was not.
        xla_seconds: time in a run of the compiled program, from XLA's profile; None where none
            was recorded.
    """

    flops: float = 0.0
    functions: float = 0.0
    nbytes: float = 0.0
    seconds: float | None = None
    xla_seconds: float | None = None

    def __add__(self, other: Work) -> Work:
        return Work(
            self.flops + other.flops,
            self.functions + other.functions,
            self.nbytes + other.nbytes,
            _sum(self.seconds, other.seconds),
            _sum(self.xla_seconds, other.xla_seconds),
        )

    def repeated(self, times: float) -> Work:
        """Return it so many times; the time measured is of all of them already."""
        counts = self.flops * times, self.functions * times, self.nbytes * times
        return Work(*counts, self.seconds, self.xla_seconds)


def _sum(mine: float | None, theirs: float | None) -> float | None:
    return mine if theirs is None else theirs + (mine or 0.0)


NO_WORK: Final = Work()
#: Programs in parameters that derivatives and transposes run, and the equation itself does not.
_IDLE: Final = frozenset(("backward", "matvec", "transpose_solve"))


def programs_run(eqn: jx.JaxprEqn) -> list[jx.Jaxpr]:
    """Return the programs in an equation's parameters that it runs."""
    params = eqn.params
    idle: list[Any] = [getattr(params, n) for n in records.field_names(type(params)) if n in _IDLE]
    return [jaxpr for jaxpr in jx.subjaxprs(params) if not any(jaxpr is x for x in idle)]


# The work of one equation, counted as XLA counts it.


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
    """Count the work of one run of an equation.

    One that runs programs has no work of its own: these have it.
    """
    if jx.subjaxprs(eqn.params):
        return NO_WORK
    nbytes = sum(v.aval.nbytes for v in eqn.out_binders)
    nbytes += sum(x.aval.nbytes for x in eqn.inputs if not isinstance(x, jx.Lit))
    flops, functions = _operations(eqn)
    return Work(flops, functions, float(nbytes))


def is_function(primitive: prim.Primitive[Any]) -> bool:
    """Return whether an element of the result takes many instructions, as those of functions do."""
    return prim.TRANSCENDENTAL in primitive.rules.extensions or primitive.name in _ROOTS


def _operations(eqn: jx.JaxprEqn) -> tuple[float, float]:
    """Count the arithmetic operations of an equation, and the elements of functions."""
    primitive = eqn.primitive
    name, rules = primitive.name, primitive.rules.extensions
    ins = [x.aval.size for x in eqn.inputs]
    size = float(eqn.out_binders[0].aval.size) if eqn.out_binders else 0.0
    if primitive is conv_general_dilated_p:
        return _convolution(eqn), 0.0
    if prim.FLOPS in rules:
        avals, outs = [x.aval for x in eqn.inputs], [v.aval for v in eqn.out_binders]
        return primitive.rule(prim.FLOPS)(eqn.params, avals, outs), 0.0
    if is_function(primitive):
        return 0.0, size
    if name == "integer_pow":
        return size * _multiplications(eqn.params.exponent), 0.0
    if isinstance(primitive, Elementwise) or name == "select":
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
    params: ConvParams = eqn.params
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
    """Count those of a power by repeated squaring; a negative one takes a division more."""
    return max(exponent.bit_length() + exponent.bit_count() - 2, 0) + (exponent < 0)


def _window(eqn: jx.JaxprEqn) -> int:
    """Count the elements that each element of a reduction over windows combines."""
    number = 1
    for n in eqn.params.window:
        number *= n
    return number - 1


#: What a function such as ``exp`` takes, in operations, and what moving a byte does.
_OF_A_FUNCTION: Final = 10.0
_OF_A_BYTE: Final = 1 / 16


def estimate(work: Work) -> float:
    """Estimate how long work takes, in arithmetic operations."""
    # what is neither computed nor moved takes some time, too
    return 1.0 + work.flops + _OF_A_FUNCTION * work.functions + _OF_A_BYTE * work.nbytes

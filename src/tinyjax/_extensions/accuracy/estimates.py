"""``accuracy.estimate``: a bound on a result's rounding error by line, from one reverse pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import tracebacks
from tinyjax._base.frames import Location
from tinyjax._extensions.accuracy import causes, doubled, shadows
from tinyjax.core.api import vjp
from tinyjax.core.primitives import families
from tinyjax.core.tracing import primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values import Array, operands as opd
from tinyjax.dtypes import HostArray

P = TypeVar("P")


@attrs.frozen
class LineError:
    """The part of an estimate that the roundings of one line have."""

    location: Location | None
    error: float

    def __str__(self) -> str:
        line = "" if self.location is None else f"{self.location}: {self.location.text}"
        return f"{self.error:8.1e}: {line}"


@attrs.frozen
class Estimate:
    """A first-order bound on the rounding error of a number, by ``accuracy.estimate``.

    Attributes:
        value: the number.
        error: the bound on its absolute error.
        digits: how many of its digits are right, by the bound.
        lines: the parts that lines have in it, the largest first.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import accuracy
        >>> str(accuracy.estimate(lambda x: x * x)(1.5)).partition(":")[0]
        '2.25, with an error of at most about 1.3e-07'
    """

    value: float
    error: float
    digits: float
    lines: tuple[LineError, ...]

    def __str__(self) -> str:
        head = f"{self.value:.8g}, with an error of at most about {self.error:.1e}"
        return "\n".join([f"{head}: {self.digits:.1f} digits are right", *map(str, self.lines)])


class _RoundingTrace(tr.Trace):
    """Adds up what the rounding of each operation contributes to a result, in the reverse pass."""

    __slots__ = ("totals",)

    transformation = "estimate"

    def __init__(self, parent: tr.Trace, totals: dict[Location | None, float]) -> None:
        super().__init__(parent)
        self.keeps_lines = True
        self.adapters = (*self.adapters, causes.LineAdapter())
        self.totals: dict[Location | None, float] = totals

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        if program_rules.PROGRAM in primitive.rules.extensions:
            with tr.use_trace(self):
                return program_rules.evaluate_stepwise(primitive, args, params)
        with tr.use_trace(self.parent):
            outs = self.parent.process(primitive, args, params)
            if primitive.name in doubled.MOVING or primitive.name in doubled.EXACT:
                return outs
            # of arithmetic half a unit in the last place, of functions such as ``exp`` two
            units = 2.0 if prim.TRANSCENDENTAL in primitive.rules.extensions else 0.5
            return [self._observed(x, units) if dtypes.is_inexact(x.dtype) else x for x in outs]

    def _observed(self, x: Array, units: float) -> Array:
        """Return a value whose cotangent is looked at: an error of so many units is its product."""
        unit = units * float(dtypes.finfo(x.dtype).eps)
        params = ObserveParams(causes.host(x), unit, causes.location_here(), self.totals)
        return tr.bind1(observe_p, [x], params)


@attrs.frozen(eq=False, repr=False)
class ObserveParams(prim.Params):
    """A value, the error of one unit of it, its line, and the sums of the lines' errors."""

    value: HostArray
    unit: float
    location: Location | None
    totals: dict[Location | None, float]


def _observe_cotangent(ct: Array, x: Any, params: ObserveParams) -> Array:
    if tr.is_known(ct):
        with np.errstate(all="ignore"):
            error = params.unit * float(np.abs(params.value * causes.host(ct)).sum())
        params.totals[params.location] = params.totals.get(params.location, 0.0) + error
    return ct


observe_p: families.Elementwise = families.declared(
    "observe",
    lambda x, params: x,
    lambda b, x, params: x,
    "f",
    transposes=[_observe_cotangent],
    params=ObserveParams,
)


def estimate(fun: Callable[..., Any]) -> Callable[..., Estimate]:
    """Return a function that bounds the rounding error of a number, by line, in one reverse pass.

    Each rounding changes a value by half a unit at most, and by two units in functions such as
    ``exp``. The derivative of the result in that value says what becomes of it, to first order. The
    sum of the products over all operations bounds the error (G. Singh et al., Fast and automatic
    floating point error analysis with CHEF-FP, 2023). It is pessimistic, since it adds up sizes.
    What is not of first order, such as overflow, it does not see.

    Args:
        fun: returns a real number.

    Returns:
        A function of the same arguments that returns an ``Estimate``.

    Raises:
        ArgumentError: when called, if another transformation runs around it, or the result is not
            one real number.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import accuracy
        >>> found = accuracy.estimate(lambda x: (jnp.exp(x) - 1) / x)(1e-5)
        >>> round(found.digits, 1), found.error > abs(found.value - 1.000005)
        (1.6, True)
    """

    @partial(tracebacks.folded, named=fun)
    def estimate_at(*args: Any, **kwargs: Any) -> Estimate:
        totals: dict[Location | None, float] = {}
        if not isinstance(tr.current_trace(), tr.EvalTrace):
            raise errors.ArgumentError(
                "estimate looks at data, but another transformation runs around it. Write "
                "estimate(jit(f)) instead of jit(estimate(f))."
            )

        def observed(*args: Any) -> Any:
            trace = _RoundingTrace(tr.current_trace(), totals)
            with tr.Running(trace):
                return opd.as_array(fun(*args, **kwargs))

        out, pull_back = vjp(observed, *args)
        if out.shape or not dtypes.is_float(out.dtype):
            raise errors.ArgumentError(
                f"estimate needs one real number, but got {out.aval}. Return one element, or a sum."
            )
        pull_back(opd.as_array(np.ones((), out.dtype)))
        value, error = float(causes.host(out)), sum(totals.values())
        most = shadows.most_digits(out.dtype)
        with np.errstate(all="ignore"):
            digits = float(np.clip(-np.log10(np.float64(error) / abs(value)), 0.0, most))
        lines = sorted(totals.items(), key=lambda item: -item[1])
        return Estimate(value, error, digits, tuple([LineError(*line) for line in lines]))

    return estimate_at

"""Declarations of special functions: SciPy's function, a formula to compile, derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.primitives import elementwise as ew, families
from tinyjax.core.primitives.reduce import reduce_or
from tinyjax.core.primitives.rules import Derivative
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.values import Array, avals as av, concrete
from tinyjax.dtypes import DType, HostArray

#: The distance from 1 to the next float64.
EPS: Final = 2.0**-52


def of_scipy(module: str, what: str) -> Any:
    """Import a module of SciPy's, which takes long, when it is first needed.

    Args:
        module: its name within SciPy.
        what: what SciPy does there, for the message.

    Raises:
        PlatformError: SciPy is not installed.
    """
    try:
        return import_module(f"scipy.{module}")
    except ModuleNotFoundError as error:
        raise errors.PlatformError(
            f"{what} by SciPy, which is not installed: pip install scipy."
        ) from error


def scipy_special() -> Any:
    """Import SciPy's special functions, as ``of_scipy`` does."""
    return of_scipy("special", "special functions are evaluated")


def _wide(dtype: DType) -> DType:
    return dtypes.complex128 if dtypes.is_complex(dtype) else dtypes.float64


def by_scipy(name: str, result: int | None = None) -> families.HostFunction:
    """Evaluate SciPy's function in float64, and round once.

    Args:
        name: the function's name.
        result: which of its results is wanted, where it has several.
    """

    def evaluate(*operands: HostArray) -> HostArray:
        wide = [x.astype(_wide(x.dtype), copy=False) for x in operands]
        out = getattr(scipy_special(), name)(*wide)
        chosen = out if result is None else out[result]
        return np.asarray(chosen).astype(operands[0].dtype, copy=False)

    return evaluate


def by_formula(formula: Callable[..., Array]) -> families.HostFunction:
    """Evaluate a formula in float64, and round once, where SciPy lacks the function."""

    def evaluate(*operands: HostArray) -> HostArray:
        wide = [concrete.ConcreteArray(x.astype(np.float64, copy=False)) for x in operands]
        with tr.use_trace(tr.EVAL):  # the current trace may be that of a transformation
            return np.asarray(formula(*wide)).astype(operands[0].dtype, copy=False)

    return evaluate


def compiled(name: str, formula: Callable[..., Array]) -> families.HloFormula:
    """Compile a formula in float64, as a function that a module has once, and round once."""

    def rounded(*operands: Array) -> Sequence[Array]:
        wide = [ew.convert_element_type(x, _wide(x.dtype)) for x in operands]
        dtype = operands[0].dtype
        single = dtypes.finfo(dtype).bits <= 32
        with tr.assigned(_precision, _SINGLE_AND_MORE if single else EPS):
            out = formula(*wide)
        if dtype in dtypes.FLOAT8:
            # XLA rounds what vanishes below 0 to -0, which in some of these types is NaN
            least = float(dtypes.finfo(dtype).smallest_subnormal)
            out = jnp.where(jnp.abs(out) <= least / 2, 0.0, out)
        return (ew.convert_element_type(out, dtype),)

    @lru_cache(maxsize=64)
    def program(*avals: av.ShapedArray) -> jx.Jaxpr:
        staged = staging.stage(rounded, avals, formula)
        assert not staged.consts, "the formula of a special function holds scalars only"
        return staged.jaxpr

    def write(b: Lowering, *operands: hlo.SSAValue) -> hlo.SSAValue:
        jaxpr = program(*[av.ShapedArray(x.shape, x.dtype) for x in operands])
        (out,) = call_jaxpr(b, jaxpr, name, operands)
        return out

    return write


def special(
    name: str,
    evaluate: families.HostFunction,
    formula: Callable[..., Array],
    *derivatives: Derivative,
    kinds: str = "f",
) -> families.Elementwise:
    """Declare a special function of floats, or of complex numbers.

    Args:
        name: the primitive's name.
        evaluate: how NumPy and SciPy compute it.
        formula: takes and returns float64, or complex128, arrays; how it is compiled.
        derivatives: for each operand ``(tangent, out, *operands) -> tangent``.
        kinds: the kinds of dtype that it takes.
    """

    def type_of(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
        return (families.elementwise_type(name, avals, kinds),)

    function = families.declared(name, evaluate, compiled(name, formula), type_of, *derivatives)
    prim.mark(prim.TRANSCENDENTAL, 5000.0, function)
    return function


def no_derivative(name: str, operand: str) -> Derivative:
    """Refuse to differentiate in an operand."""

    def refuse(*_: object) -> NoReturn:
        raise errors.DifferentiationError(
            f"{name} has no derivative in its {operand}. Use tinyjax.lax.stop_gradient on it."
        )

    return refuse


#: Arrays of NumPy's where data is evaluated, and otherwise ours.
Numbers: TypeAlias = Any


def on_host(*xs: Array) -> Sequence[Numbers]:
    """Return NumPy's arrays if data is evaluated, whose operators take a third of the time."""
    return [np.asarray(x) for x in xs] if isinstance(tr.current_trace(), tr.EvalTrace) else xs


def full_like(x: Numbers, value: float, shape: tuple[int, ...] | None = None) -> Numbers:
    """Fill an array like another one, of NumPy's or of ours."""
    return (np if isinstance(x, np.ndarray) else jnp).full_like(x, value, shape=shape)


def where(mask: Numbers, x: Numbers, y: Numbers) -> Numbers:
    """Choose elements of arrays of NumPy's or of ours."""
    return (np if isinstance(mask, np.ndarray) else jnp).where(mask, x, y)


def iterate(
    goes_on: Callable[[tuple[Numbers, ...]], Numbers],
    step: Callable[[tuple[Numbers, ...]], tuple[Numbers, ...]],
    state: tuple[Numbers, ...],
    together: bool = False,
) -> tuple[Array, ...]:
    """Repeat a step while the condition, a bool of each element, holds for any of them.

    Args:
        goes_on: the condition of a state.
        step: from one state to the next.
        state: the first one.
        together: whether a compiled loop carries all but the first of the state, which have one
            type, as one array. One kernel is compiled for it then, which takes half the time that
            one for each takes. What several of them need is computed for each of them.
    """

    def any_goes_on(state: tuple[Array, ...]) -> Array:
        goes = goes_on(state)
        return reduce_or(goes, tuple(range(goes.ndim)))

    if isinstance(tr.current_trace(), tr.EvalTrace):
        with np.errstate(all="ignore"):
            while bool(np.any(goes_on(state))):
                state = step(state)
        return tuple([concrete.ConcreteArray(np.asarray(x)) for x in state])
    if not together:
        return while_loop(any_goes_on, step, state)

    def pack(state: tuple[Array, ...]) -> tuple[Array, Array]:
        return state[0], jnp.stack(state[1:])

    def unpack(packed: tuple[Array, Array]) -> tuple[Array, ...]:
        return packed[0], *packed[1]

    return unpack(
        while_loop(lambda s: any_goes_on(unpack(s)), lambda s: pack(step(unpack(s))), pack(state))
    )


#: A formula, where it holds, and values for which it can be evaluated elsewhere.
Part: TypeAlias = tuple[Array, Callable[..., Array], Sequence[float]]


def by_parts(parts: Sequence[Part], *operands: Array) -> Array:
    """Evaluate formulas that hold for some elements each; NaN where none does.

    NumPy evaluates a formula for these elements alone. A program evaluates it for all.

    Args:
        parts: the formulas. No two hold for the same element.
        operands: of one shape and dtype.
    """
    if not isinstance(tr.current_trace(), tr.EvalTrace):
        out = jnp.full_like(operands[0], math.nan)
        for mask, formula, safe in parts:
            chosen = [jnp.where(mask, x, s) for x, s in zip(operands, safe, strict=True)]
            out = jnp.where(mask, formula(*chosen), out)
        return out
    formulas = [(np.asarray(mask), formula) for mask, formula, _ in parts]
    for elements, formula in formulas:
        if elements.all():
            return formula(*operands)
    hosts = [np.asarray(x) for x in operands]
    host = np.full_like(hosts[0], math.nan)
    for elements, formula in formulas:
        if elements.any():
            host[elements] = formula(*[concrete.ConcreteArray(x[elements]) for x in hosts])
    return concrete.ConcreteArray(host)


def simpler_where(
    mask: Array, simple: Callable[..., Array], general: Callable[..., Array], *operands: Array
) -> Array:
    """Evaluate a simple formula where it holds, and a general one elsewhere.

    A program evaluates the general one for all elements.

    Args:
        mask: where the simple formula holds.
        simple: the simple formula.
        general: the general one.
        operands: of one shape and dtype.
    """
    if not isinstance(tr.current_trace(), tr.EvalTrace):
        return general(*operands)
    return by_parts([(mask, simple, ()), (~mask, general, ())], *operands)


def wanted_precision() -> float:
    """Return the precision that the formula needs: less where it is rounded to float32."""
    return _precision.get()


def polynomial(x: Array, coefficients: Sequence[float], most: float = math.inf) -> Array:
    """Evaluate by Horner's rule, the constant coefficient first.

    Args:
        x: where.
        coefficients: of the powers of x.
        most: a bound of the size of x. The last terms are left out where each adds nothing to the
            first one in the precision of the formula.
    """
    count = len(coefficients)
    first = next((n for n, c in enumerate(coefficients) if c), 0)
    if wanted_precision() > EPS:
        least = wanted_precision() / 16 * abs(coefficients[first])
        while count > 1 and abs(coefficients[count - 1]) * most ** (count - 1 - first) < least:
            count -= 1
    *lower, highest = coefficients[:count]
    out = jnp.full_like(x, highest)
    for c in reversed(lower):
        out = out * x + c
    return out


#: How precise a formula is that is rounded to single precision afterwards: that adds a hundredth to
#: what rounding takes away, and half of a Chebyshev series is enough.
_SINGLE_AND_MORE: Final = 2.0**-30

#: The precision that the current formula needs.
_precision: Final[ContextVar[float]] = ContextVar("precision", default=EPS)


@lru_cache(maxsize=256)
def _chebyshev_coefficients(
    fun: Callable[[HostArray], HostArray], low: float, high: float, degree: int, precision: float
) -> tuple[float, ...]:
    middle, half = (low + high) / 2, (high - low) / 2
    angles = math.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)
    values = fun(middle + half * np.cos(angles))
    cosines = np.cos(np.arange(degree + 1)[:, None] * angles)
    coefficients = cosines @ values * 2 / (degree + 1)
    coefficients[0] /= 2
    counts = np.flatnonzero(np.abs(coefficients) > precision / 16 * np.abs(coefficients).max())
    return tuple([float(c) for c in coefficients[: counts[-1] + 1]])


def chebyshev(
    x: Array, fun: Callable[[HostArray], HostArray], low: float, high: float, degree: int = 40
) -> Array:
    """Evaluate a function's Chebyshev interpolant on an interval, by Clenshaw's recurrence.

    Args:
        x: within the interval.
        fun: the function, of NumPy arrays; smooth, and without zeros where its relative error
            counts. It is not called at the ends.
        low: the interval's lower end.
        high: its upper end.
        degree: the most that may be needed; what adds nothing in the precision that the formula is
            written for is left out.
    """
    first, *others = _chebyshev_coefficients(fun, low, high, degree, _precision.get())
    t = (x - (low + high) / 2) * (2 / (high - low))
    twice = t + t
    out = before = jnp.zeros_like(x)
    for c in reversed(others):
        out, before = c + twice * out - before, out
    return first + t * out - before

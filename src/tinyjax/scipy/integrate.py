"""Integrals of functions and of samples, and differential equations, by SciPy's names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, implicit, lax
from tinyjax._base import frames
from tinyjax._base.lazy import answer_for
from tinyjax.core import api
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.implicit import vectors
from tinyjax.implicit.events import EventConditions, Occurrences, occurrences
from tinyjax.implicit.runge_kutta import StepControl
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.optimize import on_host

answer_for(
    __name__,
    "OdeResult cumulative_simpson cumulative_trapezoid dblquad fixed_quad odeint quad simpson "
    "solve_ivp trapezoid",
)

#: Nodes above zero of Kronrod's formula of 21 points, and their weights; every other node is one of
#: Gauss's formula of ten points, whose weights are computed.
# fmt: off
_KRONROD: Final = np.array([
    [0.995657163025808, 0.9739065285171717, 0.9301574913557082, 0.8650633666889845,
     0.7808177265864168, 0.6794095682990244, 0.5627571346686046, 0.4333953941292471,
     0.2943928627014601, 0.1488743389816312],
    [0.011694638867371874, 0.032558162307964725, 0.054755896574351995, 0.07503967481091996,
     0.0931254545836976, 0.10938715880229764, 0.12349197626206584, 0.1347092173114733,
     0.14277593857706009, 0.14773910490133849],
])
# fmt: on
_NODES: Final = np.concatenate([-_KRONROD[0], [0.0], _KRONROD[0, ::-1]])
_WEIGHTS: Final = np.concatenate(
    [_KRONROD[1], [0.149445554002916905664936468389821], _KRONROD[1, ::-1]]
)
_GAUSS: Final = np.zeros(21)
_GAUSS[1::2] = np.polynomial.legendre.leggauss(10)[1]


#: Pieces at the ends that are so short and still inaccurate are divided by logarithms.
_END: Final = 2.0**-6


class _Pieces(NamedTuple):
    """The unit interval in pieces, of which the first ``used`` are in use.

    A piece with a scale is of the logarithm of the distance from an end, in units of the scale:
    from 0, or from 1 if the scale is negative.
    """

    low: Array
    high: Array
    scale: Array
    value: Array
    error: Array
    size: Array
    used: Array


#: The integrand near an end: of the distance from it, and the side.
_Integrand: TypeAlias = Callable[[Array, Array], Array]


def _piece(
    integrand: _Integrand, start: Array, stop: Array, scale: Array
) -> tuple[Array, Array, Array]:
    """Return the integral over a piece, the estimate of its error, and that of its size."""
    half = (stop - start) / 2
    nodes = (start + stop) / 2 + half * _NODES.astype(half.dtype)
    distances = jnp.abs(scale) * jnp.exp(nodes)
    near = jnp.where(scale == 0, nodes, distances)
    values = api.vmap(integrand, (0, None))(near, scale)
    values = values * jnp.where(scale == 0, 1, distances)
    value, gauss = (half * jnp.dot(jnp.asarray(w, half.dtype), values) for w in (_WEIGHTS, _GAUSS))
    return value, jnp.abs(value - gauss), half * jnp.abs(values).mean() * 2


def _beyond(
    integrand: _Integrand, cut: Array, side: float, total: Array, error: Array
) -> tuple[Array, Array]:
    """Add the integral of a power between an end and a cut, and the error."""
    distances = cut * jnp.array([1.0, 2, 4], cut.dtype)
    values = api.vmap(integrand, (0, None))(distances, jnp.asarray(side, cut.dtype))
    ratios = values[:-1] / jnp.where(values[1:] == 0, 1, values[1:])
    powers = jnp.log2(jnp.where(ratios > 0, ratios, 1))
    powers = jnp.where(values[0] == 0, 0, powers)
    diverges = jnp.any(powers > 0.999)
    both = cut * values[0] / (1 - jnp.where(diverges, 0, powers))
    doubt = jnp.where(diverges, math.inf, 4 * jnp.abs(both[0] - both[1]))
    return total + both[0], error + lax.stop_gradient(doubt)


@attrs.frozen(cache_hash=True)
class _Integral(on_host.StagedObjective):
    """An integral over the unit interval, with whether both limits are infinite."""

    is_line: bool
    epsabs: float
    epsrel: float
    limit: int

    def on_unit(
        self, consts: Sequence[Array], low: Array, high: Array, u: Array, v: Array
    ) -> Array:
        """The integrand between 0 and 1, at the distance u from 0, and v from 1."""

        def plain(x: Array) -> Array:
            return self.fun.flat(consts, x)[0]

        if self.is_line:
            x = jnp.sign(high) * v / u
            return (plain(x) + plain(-x)) * jnp.sign(high) / u**2
        is_low, is_high = jnp.isinf(low), jnp.isinf(high)
        sign = jnp.where(is_high, jnp.sign(high), jnp.sign(low))
        low, high = jnp.where(is_low, high, low), jnp.where(is_high, low, high)
        is_any, width = is_low | is_high, high - low
        near = jnp.where(v < _END, high - width * v, low + width * u)
        far, weight = low + sign * v / u, jnp.where(is_high, sign, -sign) / u**2
        return plain(jnp.where(is_any, far, near)) * jnp.where(is_any, weight, width)

    def cuts(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The distances from 0 and from 1 up to which the integrand has half of its digits."""
        eps = float(np.finfo(low.dtype).eps)
        # powers of less would underflow in some integrands
        least = jnp.full((), eps**4 if eps < 1e-9 else eps**3, low.dtype)
        if self.is_line:
            return least, least
        is_high = jnp.isinf(high)
        width = jnp.where(jnp.isinf(low) | is_high, 1, high - low)
        first, last = (
            jnp.where(
                jnp.isinf(end), least, jnp.maximum(math.sqrt(eps) * jnp.abs(end / width), least)
            )
            for end in (low, high)
        )
        # 0 stands for the infinite end
        return jnp.where(is_high, last, first), jnp.where(is_high, first, last)

    def integral(
        self, consts: Sequence[Array], low: Array, high: Array, edges: Array
    ) -> tuple[Array, Array]:
        """The integral, and the sum of the pieces' errors."""

        def integrand(near: Array, scale: Array) -> Array:
            u, v = (jnp.where(flip, 1 - near, near) for flip in (scale < 0, scale >= 0))
            return self.on_unit(consts, low, high, u, v)

        sums = partial(_piece, integrand)
        limit, n = self.limit, edges.size - 1
        edges = jnp.sort(lax.stop_gradient(jnp.where(jnp.isfinite(edges), edges, 1)))
        rest = jnp.full(limit - n, 0.5, low.dtype)
        starts = jnp.concatenate([edges[:-1], rest]), jnp.concatenate([edges[1:], rest])
        scale = jnp.zeros(limit, low.dtype)
        measured = api.vmap(lambda i: sums(starts[0][i], starts[1][i], scale[i]))(jnp.arange(n))
        value, error, size = (jnp.zeros(limit, low.dtype).at[:n].set(m) for m in measured)

        def going(s: _Pieces) -> Array:
            rounding = 50 * float(np.finfo(low.dtype).eps)
            allowed = jnp.maximum(self.epsabs, self.epsrel * jnp.abs(s.value.sum()))
            return (s.error.sum() > jnp.maximum(allowed, rounding * s.size.sum())) & (
                s.used < limit
            )

        def halve(s: _Pieces) -> _Pieces:
            i, n = jnp.argmax(s.error), s.used
            start, stop, scale = s.low[i], s.high[i], s.scale[i]
            # at an end a short piece becomes one of the logarithm
            first = (scale == 0) & (start == 0) & (stop <= _END)
            last = (scale == 0) & (stop == 1) & (start >= 1 - _END)
            scale = jnp.where(first, stop, jnp.where(last, start - 1, scale))
            depth = jnp.log(jnp.abs(scale) / jnp.where(first, *cuts))
            is_new = (first | last) & (depth > 1)
            scale = jnp.where(is_new | (s.scale[i] != 0), scale, 0)
            start, stop = jnp.where(is_new, -depth, start), jnp.where(is_new, 0, stop)
            middle = jnp.where(is_new, jnp.maximum(-12.0, -depth / 2), (start + stop) / 2)
            left, right = lax.stop_gradient((sums(start, middle, scale), sums(middle, stop, scale)))
            value, error, size = (
                x.at[i].set(p).at[n].set(q) for x, p, q in zip(s[3:6], left, right, strict=True)
            )
            lows, highs = s.low.at[i].set(start).at[n].set(middle), s.high.at[i].set(middle)
            scales = s.scale.at[i].set(scale).at[n].set(scale)
            return _Pieces(lows, highs.at[n].set(stop), scales, value, error, size, n + 1)

        cuts = lax.stop_gradient(self.cuts(low, high))
        state = _Pieces(*starts, scale, value, error, size, jnp.asarray(n))
        last = while_loop(going, halve, lax.stop_gradient(state))

        def add(i: Array, total: Array) -> Array:
            return total + sums(last.low[i], last.high[i], last.scale[i])[0]

        total, error = lax.fori_loop(0, last.used, add, jnp.zeros_like(low)), last.error.sum()
        for cut, side in zip(cuts, (1.0, -1.0), strict=True):
            is_used = jnp.any(last.scale * side > 0)
            add_rest = partial(_beyond, integrand, cut, side)
            total, error = lax.cond(is_used, add_rest, lambda *sums: sums, total, error)
        return total, error


@pm.in_double
@checking.explained
def quad(
    func: frames.Function[ArrayLike],
    a: ArrayLike,
    b: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Sequence[float] | None = None,
) -> tuple[Array, Array]:
    """Integrate a function between two limits, by Gauss and Kronrod's formula of 21 points.

    The piece of the largest error is halved until the sum of errors is small. At an end where the
    integrand is steep or infinite the distance's logarithm is divided, and a power of it is
    integrated where digits end. The integral is differentiable in the limits, ``args``, and all
    that ``func`` closes over, any number of times: as the sum over the same points. Where a kink of
    ``func`` moves with one of these, the derivative has half of the integral's digits: errors of
    1e-4, and of 1e-6 with ``epsabs=1e-12, epsrel=1e-12``.

    Args:
        func: takes a real scalar and ``args``; returns a real scalar.
        a: the lower limit, which may be ``-inf``.
        b: the upper limit, which may be ``inf``. Where both are infinite, they are numbers.
        args: further arguments.
        epsabs: the error allowed.
        epsrel: the same, relative to the integral.
        limit: the most pieces.
        points: where between the limits ``func`` has kinks or jumps: numbers, as are the limits.

    Returns:
        ``(integral, error)``, of shape ``()``; the error is above what is allowed if ``limit`` was
        reached. Between Python's numbers they have the dtype of the arrays of floats that ``func``
        closes over, and are float64 where it closes over none, as in SciPy.

    Raises:
        ArgumentError: ``func`` returns no scalar, or points lie beside infinite limits.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp, tinyjax.scipy.integrate as integrate
        >>> area = lambda k: integrate.quad(lambda x: jnp.exp(-k * x), 0.0, jnp.inf)[0]
        >>> round(float(area(2.0)), 12), round(float(tinyjax.grad(area)(2.0)), 4)
        (0.5, -0.25)
    """
    low, high = pm.floats("quad", a, b)
    is_weak = low.weak_type
    ends = [isinstance(x, float | np.floating) and math.isinf(x) for x in (a, b)]
    if points is not None and (any(ends) or len(points) >= limit):
        raise ArgumentError("points of quad must be fewer than limit, between finite limits.")

    def value_at(x: Array) -> Array:
        value = jnp.asarray(func(x, *args))
        if value.shape or not (dtypes.is_float(value.dtype) or value.weak_type):
            raise ArgumentError(
                f"{frames.describe_function(func)}, the function of quad, must return a real "
                f"scalar, but returned {value.aval}."
            )
        return value

    if is_weak:  # Python's numbers take the dtype of what the integrand computes with
        (aval,) = vectors.close(value_at, low)[0].jaxpr.out_avals
        is_weak = aval.weak_type or not dtypes.is_float(aval.dtype)
        low, high = (x if is_weak else x.astype(aval.dtype) for x in (low, high))
    low, high = pm.strong(low), pm.strong(high)
    closed, consts = vectors.close(lambda x: value_at(x).astype(low.dtype), low)
    inner = [] if points is None else [(jnp.asarray(p) - low) / (high - low) for p in points]
    edges = jnp.stack([low * 0, *inner, low * 0 + 1]) if inner else jnp.array([0.0, 1.0], low.dtype)
    program = _Integral(closed, all(ends), float(epsabs), float(epsrel), limit)
    value, error = program.compiled("integral")(*consts, low, high, edges)
    return pm.convert(value, value.dtype, is_weak), pm.convert(error, error.dtype, is_weak)


@pm.in_double
def dblquad(
    func: Callable[..., ArrayLike],
    a: ArrayLike,
    b: ArrayLike,
    gfun: Callable[[Array], ArrayLike] | float,
    hfun: Callable[[Array], ArrayLike] | float,
    args: tuple[Any, ...] = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Array, Array]:
    """Integrate ``func(y, x, *args)`` over ``x`` in ``[a, b]``, ``y`` in ``[gfun(x), hfun(x)]``.

    Settings, derivatives and errors are those of ``quad``, of which one is within the other;
    ``gfun`` and ``hfun`` may be numbers. The error is that of the outer integral.

    Example:
        >>> from tinyjax.scipy.integrate import dblquad
        >>> dblquad(lambda y, x: x * y**2, 0.0, 2.0, 0.0, 1.0)[0].round(3)
        Array(0.667, dtype=float64, weak_type=True)
    """

    def inner(x: Array) -> Array:
        low, high = (end(x) if callable(end) else end for end in (gfun, hfun))
        return quad(lambda y: func(y, x, *args), low, high, epsabs=epsabs, epsrel=epsrel)[0]

    return quad(inner, a, b, epsabs=epsabs, epsrel=epsrel)


def _areas(
    name: str, y: ArrayLike, x: ArrayLike | None, dx: ArrayLike, axis: int, curved: bool
) -> Array:
    """Return the integrals between samples, with their axis last."""
    (values,) = pm.floats(name, y)
    values = jnp.moveaxis(values, axis, -1)
    if x is None:
        h = jnp.broadcast_to(jnp.asarray(dx, values.dtype), values.shape[-1] - 1)
    else:
        points = jnp.asarray(x)
        h = jnp.diff(points if points.ndim == 1 else jnp.moveaxis(points, axis, -1))
    if h.shape[-1] + 1 != values.shape[-1]:
        raise ShapeError.got(f"{name} takes as many points x as values y along the axis", values, h)
    if not curved or values.shape[-1] < 3:
        return h * (values[..., 1:] + values[..., :-1]) / 2
    first = _left_areas(values, h)
    second = _left_areas(values[..., ::-1], h[..., ::-1])[..., ::-1]
    i = np.arange(values.shape[-1] - 1)
    at = np.minimum(i - i % 2, first.shape[-1] - 1)  # parabolas begin at every other sample
    is_first = (i % 2 == 0) & (i < first.shape[-1])
    return jnp.where(is_first, first[..., at], second[..., at])


def _left_areas(y: Array, h: Array) -> Array:
    """Return integrals over the left halves of parabolas through three samples."""
    left, right = h[..., :-1], h[..., 1:]
    p, q = left / (left + right), left / right
    weighted = (3 - p) * y[..., :-2] + (3 + p * q + p) * y[..., 1:-1] - p * q * y[..., 2:]
    return left / 6 * weighted


@pm.in_double
def simpson(
    y: ArrayLike, x: ArrayLike | None = None, *, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrate samples by Simpson's rule, with a parabola over the last interval of an odd number.

    Args:
        y: the values.
        x: the points, a vector or like ``y``.
        dx: the distance of the points, where there is no ``x``.
        axis: along which axis.

    Raises:
        ShapeError: there are not as many points as values.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.integrate as integrate
        >>> integrate.simpson(jnp.arange(4.0) ** 2)
        Array(9., dtype=float32)
    """
    return _areas("simpson", y, x, dx, axis, True).sum(-1)


@pm.in_double
def cumulative_simpson(
    y: ArrayLike,
    *,
    x: ArrayLike | None = None,
    dx: ArrayLike = 1.0,
    axis: int = -1,
    initial: ArrayLike | None = None,
) -> Array:
    """Return integrals of samples from the first to each other one, by parabolas.

    The arguments and errors are those of ``simpson``; ``initial`` is put before the integrals, and
    added to them.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.integrate as integrate
        >>> integrate.cumulative_simpson(3 * jnp.arange(4.0) ** 2, initial=0.0).round(3)
        Array([ 0.,  1.,  8., 27.], dtype=float32)
    """
    return _running(_areas("cumulative_simpson", y, x, dx, axis, True), axis, initial)


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrate samples by the trapezoidal rule, as ``tinyjax.numpy.trapezoid``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import integrate
        >>> integrate.trapezoid(jnp.array([1.0, 2.0, 3.0]))
        Array(4., dtype=float32)
    """
    return jnp.trapezoid(y, x, dx, axis)


@pm.in_double
def cumulative_trapezoid(
    y: ArrayLike,
    x: ArrayLike | None = None,
    dx: ArrayLike = 1.0,
    axis: int = -1,
    initial: ArrayLike | None = None,
) -> Array:
    """Return integrals of samples from the first to each other one, by straight lines.

    The arguments and errors are those of ``cumulative_simpson``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.integrate as integrate
        >>> integrate.cumulative_trapezoid(jnp.arange(4.0), initial=0.0)
        Array([0. , 0.5, 2. , 4.5], dtype=float32)
    """
    return _running(_areas("cumulative_trapezoid", y, x, dx, axis, False), axis, initial)


def _running(areas: Array, axis: int, initial: ArrayLike | None) -> Array:
    sums = jnp.cumsum(areas, -1)
    if initial is not None:
        start = jnp.broadcast_to(jnp.asarray(initial, sums.dtype), (*sums.shape[:-1], 1))
        sums = jnp.concatenate([start, sums + start], -1)
    return jnp.moveaxis(sums, -1, axis)


@pm.in_double
def fixed_quad(
    func: Callable[..., ArrayLike],
    a: ArrayLike,
    b: ArrayLike,
    args: tuple[Any, ...] = (),
    n: int = 5,
) -> tuple[Array, None]:
    """Integrate a function of vectors by Gauss's formula of ``n`` points; returns None besides.

    Example:
        >>> from tinyjax.scipy.integrate import fixed_quad
        >>> fixed_quad(lambda x: x**2, 0.0, 3.0)[0].round(3)
        Array(9., dtype=float64)
    """
    low, high = pm.floats("fixed_quad", a, b)
    nodes, weights = (jnp.asarray(x, low.dtype) for x in np.polynomial.legendre.leggauss(n))
    half, is_weak = (high - low) / 2, low.weak_type
    values = func(pm.convert(half * (nodes + 1) + low, low.dtype, is_weak), *args)
    return half * (pm.convert(weights, low.dtype, is_weak) * values).sum(-1), None


@pm.in_double
def odeint(  # noqa: PLR0913
    func: Callable[..., ArrayLike],
    y0: ArrayLike,
    t: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    hmax: float = math.inf,
    mxstep: float = math.inf,
    tfirst: bool = False,
    gradient: Literal["adjoint", "checkpointed"] = "adjoint",
    checkpoints: int = 32,
    taylor_order: int | None = None,
) -> Array:
    """Solve ``dy/dt = func(y, t, *args)``; returns rows of states.

    With ``tfirst`` it is ``func(t, y, *args)``. Other options, derivatives and errors are those of
    ``tinyjax.implicit.odeint``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.integrate as integrate
        >>> integrate.odeint(lambda y, t: -y, jnp.ones(1), jnp.array([0.0, 1.0]))[1].round(3)
        Array([0.368], dtype=float32)
    """
    slope = (lambda y, t, *args: func(t, y, *args)) if tfirst else func
    states: Array = implicit.odeint(
        slope,
        jnp.asarray(y0),
        jnp.asarray(t),
        *args,
        rtol=rtol,
        atol=atol,
        hmax=hmax,
        mxstep=mxstep,
        gradient=gradient,
        checkpoints=checkpoints,
        taylor_order=taylor_order,
    )
    return states


class OdeResult(NamedTuple):
    """The solution that ``solve_ivp`` computed.

    Attributes:
        t: the times.
        y: the states there, of shape ``(n, len(t))``.
        sol: a function of times that gives the states there; None without ``dense_output``.
        success: whether the solver arrived at the last time; if not, states are NaN.
        nsteps: the number of steps that were tried.
        t_events: the times of each event, a vector, which ends with NaN; None without events.
        y_events: the states there, by rows.
        status: 0 at the last time, 1 after a terminal event, and -1 if the solver did not arrive.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.integrate import solve_ivp
        >>> result = solve_ivp(lambda t, y: -y, (0.0, 1.0), jnp.ones(1), dense_output=True)
        >>> bool(result.success), result.sol(jnp.array([0.0, 0.5])).round(2)
        (True, Array([[1.  , 0.61]], dtype=float32))
    """

    t: Array
    y: Array
    sol: Callable[[ArrayLike], Array] | None
    success: Array
    nsteps: Array
    t_events: list[Array] | None
    y_events: list[Array] | None
    status: Array


@attrs.frozen(eq=False)
class _Problem:
    """An initial value problem.

    Attributes:
        fun: returns the derivative of the state, from a time and a state.
        start: the first state.
        begin: the first time.
        end: the last time, which may be the smaller one.
        steps: how steps are chosen.
    """

    fun: Callable[[Array, Array], ArrayLike]
    start: Array
    begin: Array
    end: Array
    steps: StepControl

    @property
    def sign(self) -> Array:
        """The direction of time."""
        return jnp.where(self.end < self.begin, -1, 1).astype(self.begin.dtype)

    def states_at(self, times: Array) -> Any:
        """Return states by columns, and what is known of the steps."""
        steps = self.steps
        options: dict[str, Any] = {"rtol": steps.rtol, "atol": steps.atol, "hmax": steps.hmax}
        both = jnp.concatenate([self.begin[None], times])
        slope = lambda y, t: self.fun(t, y)  # noqa: E731
        states, info = implicit.odeint(slope, self.start, both, has_aux=True, **options)
        return states[1:].T, info

    def sol(self, t: ArrayLike) -> Array:
        """Return states at times in any order."""
        times = jnp.ravel(jnp.asarray(t))
        order = jnp.argsort(self.sign * times)
        states: Array = self.states_at(times[order])[0][:, jnp.argsort(order)]
        return states.reshape(self.start.size, *jnp.shape(t))

    def occurrences(
        self,
        functions: Callable[[Array, Array], Array],
        rules: Sequence[EventConditions],
        most: int,
    ) -> Occurrences:
        """Find events, in times that increase, of what is known to have no derivative."""

        def both(t: Array, y: Array) -> tuple[Array, Array]:
            return jnp.ravel(jnp.asarray(self.fun(t, y))).astype(y.dtype), functions(t, y)

        begin, end, y0 = lax.stop_gradient((self.begin, self.end, self.start))
        closed, consts = vectors.close(both, begin, y0)
        consts, sign = lax.stop_gradient(consts), lax.stop_gradient(self.sign)
        return occurrences(
            lambda y, t: sign.astype(y.dtype) * closed(consts, sign * t, y)[0],
            lambda t, y: closed(consts, sign * t, y)[1],
            rules,
            y0,
            (sign * begin, sign * end),
            most,
            self.steps,
        )

    def located(
        self, functions: Sequence[Callable[..., ArrayLike]], args: tuple[Any, ...], most: int
    ) -> _Located:
        """Find events, and make their times and states differentiable.

        Args:
            functions: of a time, a state and ``args``, with SciPy's attributes.
            args: further arguments.
            most: the number of times of each.
        """
        rules = [
            EventConditions(float(getattr(g, "direction", 0)), int(getattr(g, "terminal", 0) or 0))
            for g in functions
        ]

        def values(t: Array, y: Array) -> Array:
            numbers = [jnp.asarray(g(t, y, *args)) for g in functions]
            if any(number.shape for number in numbers):
                raise ShapeError.got("an event of solve_ivp returns a number", *numbers)
            return jnp.stack(numbers)

        def exact(i: int, time: Array, is_event: Array) -> Array:
            def value(t: Array) -> Array:
                return values(t, self.states_at(t[None])[0][:, 0])[i]

            def divided(slope: Callable[[Array], Array], x: Array) -> Array:
                return x / jnp.where(is_event, slope(jnp.ones_like(x)), 1.0)

            solved: Array = implicit.custom_root(value, time, lambda _, t: t, divided)
            return solved

        record = self.occurrences(values, rules, max([most, *[rule.limit for rule in rules]]))
        is_ended, is_event = record.end < math.inf, record.times < math.inf
        end, t_events, y_events = self.end, [], []
        last = jnp.where(is_ended, self.sign * record.end, end)
        for i, rule in enumerate(rules):
            near = jnp.where(is_event[i], self.sign * record.times[i], last)
            times = api.vmap(partial(exact, i))(near, is_event[i])
            states = self.states_at(times)[0].T
            if rule.limit:
                ends_here = record.counts[i] >= rule.limit
                end = jnp.where(ends_here, times[rule.limit - 1], end)
            t_events.append(jnp.where(is_event[i], times, math.nan)[:most])
            y_events.append(jnp.where(is_event[i][:, None], states, math.nan)[:most])
        return _Located(t_events, y_events, end, is_ended)


@attrs.frozen(eq=False)
class _Located:
    """The events of a solution.

    Attributes:
        times: of each event, which end with NaN.
        states: the states there, by rows.
        end: the last time of the solution.
        is_ended: whether that is the time of an event.
    """

    times: list[Array] | None
    states: list[Array] | None
    end: Array
    is_ended: Array


@pm.in_double
@checking.explained
def solve_ivp(  # noqa: PLR0913
    fun: Callable[..., ArrayLike],
    t_span: tuple[ArrayLike, ArrayLike],
    y0: ArrayLike,
    method: Literal["RK45"] = "RK45",
    t_eval: ArrayLike | None = None,
    dense_output: bool = False,
    events: Callable[..., ArrayLike] | Sequence[Callable[..., ArrayLike]] | None = None,
    *,
    args: tuple[Any, ...] | None = None,
    rtol: float = 1e-3,
    atol: float = 1e-6,
    max_step: float = math.inf,
    max_events: int = 16,
) -> OdeResult:
    """Solve ``dy/dt = fun(t, y, *args)`` by ``odeint``, which also differentiates the solution.

    Args:
        fun: takes a time, a state and ``args``; returns the state's derivative.
        t_span: the first time and the last one, which may be the smaller one.
        y0: the first state, a vector.
        method: ``"RK45"``.
        t_eval: the times of the result, in the order in which they are passed; by default both of
            ``t_span``, since the solver's own steps depend on the data. States at times outside of
            that are NaN.
        dense_output: whether ``sol`` is a function of times, which solves the equation once more.
        events: a function of the arguments of ``fun``, or several, which have events where they
            are zero. With an attribute ``direction`` only those count where it passes zero with
            this sign. With ``terminal`` the solution ends at the first event, or at the one of this
            number. The last time is then that of the event, and states at later ones in ``t_eval``
            are NaN. Times and states of events are differentiable, by the implicit function
            theorem.
        args: further arguments.
        rtol: the error allowed in a step, relative to the state.
        atol: the error allowed in any case.
        max_step: the longest step.
        max_events: how many times of each event are returned; later ones are left out.

    Raises:
        ArgumentError: ``y0`` is not a vector, the method is another one, or ``odeint`` refuses an
            argument.
        ShapeError: an event is no number.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.scipy.integrate import solve_ivp
        >>> decayed = lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), jnp.ones(1)).y[0, -1]
        >>> decayed(1.0).round(3), tinyjax.grad(decayed)(1.0).round(3)
        (Array(0.368, dtype=float32), Array(-0.368, dtype=float32))
        >>> def half_life(k):
        ...     half = lambda t, y: y[0] - 0.5
        ...     decay = lambda t, y: -k * y
        ...     return solve_ivp(decay, (0.0, 9.0), jnp.ones(1), events=half).t_events[0][0]
        >>> half_life(2.0).round(2), tinyjax.grad(half_life)(2.0).round(2)
        (Array(0.35, dtype=float32), Array(-0.17, dtype=float32))
    """
    pm.check_option("solve_ivp", "method", method, ("RK45",))
    start = vectors.strong(jnp.asarray(y0))
    if start.ndim != 1:
        raise ArgumentError(f"y0 of solve_ivp must be a vector, but it is {start.aval}.")
    begin, end = pm.floats("solve_ivp", *t_span)

    if events is not None:  # whose times are as exact as states are
        wide = dtypes.promote_types(begin.dtype, dtypes.real_part(start.dtype))
        begin, end = begin.astype(wide), end.astype(wide)
    steps = StepControl(rtol, atol, math.inf, max_step)
    args = args or ()
    problem = _Problem(lambda t, y: fun(t, y, *args), start, begin, end, steps)
    located = _Located(None, None, end, jnp.asarray(False))
    if events is not None:
        functions = [events] if callable(events) else list(events)
        located = problem.located(functions, args, max_events)
    points = jnp.stack([begin, located.end]) if t_eval is None else jnp.asarray(t_eval, begin.dtype)
    is_after = problem.sign * points > problem.sign * located.end
    is_before = problem.sign * points < problem.sign * begin
    inside = jnp.where(is_after, located.end, jnp.where(is_before, begin, points))
    y, info = problem.states_at(inside)
    return OdeResult(
        points,
        jnp.where(is_after | is_before, math.nan, y),
        problem.sol if dense_output else None,
        info.converged,
        info.iterations,
        located.times,
        located.states,
        jnp.where(info.converged, located.is_ended.astype(int), -1),
    )

"""Interpolants, integrals, filters and programs beside SciPy's: their options, and their errors."""

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final, get_args

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.stats

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, ConcretizationError, DtypeError, ShapeError, TinyjaxError
from tinyjax.scipy import integrate, interpolate, ndimage, optimize, signal, spatial, stats
from tinyjax.scipy.interpolate import grids, radial
from tinyjax.scipy.spatial.transform import Rotation, Slerp
from tinyjax.testing import check_function

X = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 6.0])
Y = np.array([[0.5, 1.0], [1.2, -1.0], [2.3, 0.3], [1.7, 0.0], [0.9, 2.0], [0.5, 1.0]])
AT = np.array([[-0.5, 0.0, 0.7], [2.5, 6.0, 7.0]])
IMAGE = np.sin(np.arange(42.0).reshape(6, 7) ** 1.3)


def close(ours: Any, theirs: Any, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(ours), theirs, tol, tol)


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize(
    "bc_type",
    ["not-a-knot", "natural", "clamped", "periodic", ("natural", (1, 0.5)), ((2, 1.0), "clamped")],
    ids=str,
)
def test_boundary_conditions(n: int, bc_type: Any) -> None:
    y = np.concatenate([Y[: n - 1], Y[:1]]) if bc_type == "periodic" else Y[:n]
    if isinstance(bc_type, tuple):
        y = y[:, 0]
    ours = interpolate.CubicSpline(X[:n], y, bc_type=bc_type)
    theirs = scipy.interpolate.CubicSpline(X[:n], y, bc_type=bc_type)
    for nu in (0, 1, 2):
        close(ours(AT, nu), theirs(AT, nu), 1e-8)
    close(ours.integrate(0.2, 0.9), theirs.integrate(0.2, 0.9))


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("name", ["PchipInterpolator", "Akima1DInterpolator"])
def test_local_interpolants(name: str, n: int) -> None:
    values = Y[:n].T
    ours = getattr(interpolate, name)(X[:n], values, axis=1)
    theirs = getattr(scipy.interpolate, name)(X[:n], values, axis=1)
    close(ours(AT), theirs(AT))
    close(ours.derivative()(AT), theirs(AT, 1))


def test_makima() -> None:
    theirs = scipy.interpolate.Akima1DInterpolator(X, Y, method="makima")
    close(interpolate.Akima1DInterpolator(X, Y, method="makima")(AT), theirs(AT))


@pytest.mark.parametrize("kind", ["linear", "cubic", "nearest", "previous"])
def test_kinds_of_interp1d(kind: str) -> None:
    at = np.array([0.0, 0.4, 0.6, 2.5, 5.9, 6.0])
    close(interpolate.interp1d(X, Y.T, kind)(at), scipy.interpolate.interp1d(X, Y.T, kind)(at))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_splines(k: int) -> None:
    ours = interpolate.make_interp_spline(X, Y, k)
    theirs = scipy.interpolate.make_interp_spline(X, Y, k)
    close(ours.t, theirs.t)
    close(ours(AT[1]), theirs(AT[1]), 1e-7)
    if k > 1:
        close(ours(AT[1], 2), theirs(AT[1], 2), 1e-7)


@pytest.mark.parametrize("method", ["slinear", "cubic", "quintic"])
def test_splines_on_grids(method: Any) -> None:
    axes, at = (X, np.arange(7.0)), np.array([[0.3, 1.2], [4.4, 5.5], [6.0, 0.0]])
    theirs = scipy.interpolate.RegularGridInterpolator(axes, IMAGE, method)
    close(interpolate.RegularGridInterpolator(axes, IMAGE, method)(at), theirs(at), 1e-4)


#: Points of two coordinates, and places.
SCATTERED: Final = np.stack([np.arange(24) % 5 + 0.1 * np.cos(np.arange(24.0)),
                             np.arange(24) // 5 + 0.1 * np.sin(np.arange(24.0))], 1)  # fmt: skip
PLACES: Final = np.array([[0.3, 1.2], [2.4, 3.5], [4.0, 0.0], [2.0, -1.0]])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"neighbors": 12, "smoothing": np.linspace(0.0, 0.2, 24)},
        {"degree": 2, "smoothing": 0.1},
        {"degree": -1},
    ],
    ids=str,
)
@pytest.mark.parametrize("kernel", get_args(radial.Kernel))
def test_radial_basis_functions(kernel: Any, options: dict[str, Any]) -> None:
    scaled = {"epsilon": 0.8} if "multiquadric" in kernel or kernel[0] in "ig" else {}
    data, options = np.stack([np.sin(SCATTERED[:, 0]), SCATTERED[:, 1] ** 2], 1), options | scaled
    with warnings.catch_warnings(action="ignore"):  # of degrees that are lower than the kernel's
        theirs = scipy.interpolate.RBFInterpolator(SCATTERED, data, kernel=kernel, **options)
    with tinyjax.default_dtypes("float64"):
        ours = interpolate.RBFInterpolator(SCATTERED, data, kernel=kernel, **options)
        np.testing.assert_allclose(ours(PLACES), theirs(PLACES), 1e-7, 1e-7)


#: The systems have condition numbers of some hundreds.
TOL: Final = 64.0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("neighbors", [None, 7])
@pytest.mark.parametrize("kernel", ["linear", "thin_plate_spline"])
def test_derivatives_of_radial_basis_functions(kernel: Any, neighbors: int | None) -> None:
    def interpolated(points: Any, values: Any, places: Any) -> Any:
        return interpolate.RBFInterpolator(points, values, neighbors, kernel=kernel)(places)

    check_function(
        interpolated,
        (SCATTERED[:9], np.sin(SCATTERED[:9, 0]), PLACES[:2]),
        order=1,
        stacks=2,
        tol=TOL,
    )


def test_what_radial_basis_functions_refuse() -> None:
    fun = interpolate.RBFInterpolator
    calls: dict[str, Callable[[], Any]] = {
        "needs epsilon": lambda: fun(SCATTERED, X, kernel="gaussian"),
        "and n values": lambda: fun(SCATTERED, X),
        "at least 6 points": lambda: fun(PLACES, PLACES, degree=2),
        r"places of shape \(m, 2\)": lambda: fun(SCATTERED, SCATTERED)(X),
    }
    for message, call in calls.items():
        with raises(TinyjaxError, match=message):
            call()


INTEGRALS: list[tuple[Callable[[Any, Any], Any], float, float, dict[str, Any]]] = [
    (lambda m, x: m.log(x), 0.0, 1.0, {}),
    (lambda m, x: m.exp(-x * x), -np.inf, np.inf, {}),
    (lambda m, x: m.exp(x), 1.0, -np.inf, {}),
    (lambda m, x: m.exp(-x), np.inf, 0.5, {}),
    (lambda m, x: m.sin(1 / x), 0.01, 1.0, {"limit": 99}),
    (lambda m, x: m.where(x < 0.3, 0.0, 1.0), 0.0, 1.0, {"points": [0.3]}),
]


@pytest.mark.parametrize("row", INTEGRALS, ids=range(len(INTEGRALS)))
def test_integrals(row: Any) -> None:
    fun, a, b, options = row
    value, error = integrate.quad(lambda x: fun(jnp, x), np.float64(a), np.float64(b), **options)
    theirs = scipy.integrate.quad(lambda x: fun(np, x), a, b, **options)[0]
    assert abs(value - theirs) <= max(1.5e-8, 2 * error)
    assert error < 1e-7


@pytest.mark.usefixtures("each_tier")
def test_an_integral_that_does_not_converge_says_so() -> None:
    value, error = integrate.quad(lambda x: jnp.abs(x - 0.3) ** -0.9, 0.0, 1.0, limit=10)
    assert error > 1e-3
    mapped = tinyjax.vmap(tinyjax.grad(lambda k: integrate.quad(lambda x: k * x**2, 0.0, k)[0]))
    close(tinyjax.jit(mapped)(np.array([1.0, 2.0])), [4 / 3, 32 / 3])
    with raises(ArgumentError, match="must return a real scalar"):
        integrate.quad(lambda x: jnp.ones(2) * x, 0.0, 1.0)
    assert np.isfinite(float(value))


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
def test_integrals_of_samples(n: int) -> None:
    x, y = np.cumsum(np.arange(1.0, n + 1) ** 0.5), np.sin(np.arange(2.0 * n).reshape(2, n))
    close(integrate.simpson(y, x), scipy.integrate.simpson(y, x=x))
    close(integrate.simpson(y.T, dx=0.5, axis=0), scipy.integrate.simpson(y, dx=0.5))
    if n > 2:
        theirs = scipy.integrate.cumulative_simpson(y, x=x, initial=1.0)
        close(integrate.cumulative_simpson(y, x=x, initial=1.0), theirs)


def test_solutions_backwards() -> None:
    def fun(t: Any, y: Any) -> Any:
        return -0.5 * y

    times = np.array([1.5, 0.2, 0.0])
    result = integrate.solve_ivp(fun, (2.0, 0.0), np.ones(1), t_eval=times, dense_output=True)
    close(result.y[0], np.exp(1 - times / 2), 2e-3)
    assert result.sol is not None
    close(result.sol(np.array([0.2, 1.5])), result.y[:, 1::-1], 2e-3)
    with raises(ArgumentError, match="must be a vector"):
        integrate.solve_ivp(fun, (0.0, 1.0), 1.0)


def _swing(m: Any, rate: Any = 1.0) -> Any:
    return lambda t, y: m.stack([y[1], -rate * y[0]])


def _zero(t: Any, y: Any) -> Any:
    return y[0] - 0.1


def _top(t: Any, y: Any) -> Any:
    return y[1]


def _event(fun: Any, direction: float = 0.0, terminal: Any = False) -> Any:
    event: Any = partial(fun)
    event.direction, event.terminal = direction, terminal
    return event


@pytest.mark.parametrize("span", [(0.0, 20.0), (20.0, 0.0)])
@pytest.mark.parametrize(
    "events",
    [
        _zero,
        [_event(_zero, 1.0), _event(_zero, -1.0), _top],
        [_event(_zero, 0.0, True), _top],
        [_event(_zero, 1.0, 2), _event(_top, -1.0)],
        [_event(lambda t, y: y[0] - 9.0, 0.0, True)],
    ],
)
def test_events(span: tuple[float, float], events: Any) -> None:
    exact: dict[str, Any] = {"events": events, "rtol": 1e-9, "atol": 1e-10}
    start = np.array([0.0, 1.0])
    ours = integrate.solve_ivp(_swing(jnp), span, start, **exact)
    theirs = scipy.integrate.solve_ivp(_swing(np), span, start, **exact)
    assert ours.t_events is not None
    assert ours.y_events is not None
    assert int(ours.status) == theirs.status
    close(ours.t[-1], theirs.t[-1], 1e-7)
    close(ours.y[:, -1], theirs.y[:, -1], 1e-6)
    assert len(ours.t_events) == len(theirs.t_events)
    for found, expected in (
        *zip(ours.t_events, theirs.t_events, strict=True),
        *zip(ours.y_events, theirs.y_events, strict=True),
    ):
        count = len(expected)
        np.testing.assert_allclose(found[:count], expected.reshape(found[:count].shape), 1e-6, 1e-7)
        assert np.isnan(np.asarray(found[count:])).all()


def test_states_after_a_terminal_event() -> None:
    times = np.array([0.0, 0.1, 1.0, 9.0])
    swing, end = _swing(jnp), _event(_zero, -1.0, True)
    result = integrate.solve_ivp(swing, (0.0, 9.0), np.array([0.0, 1.0]), t_eval=times, events=end)
    close(result.y[0, :3], np.sin(times[:3]), 1e-3)
    assert np.isnan(result.y[:, 3]).all()
    assert (int(result.status), bool(result.success)) == (1, True)
    with raises(ShapeError, match="an event of solve_ivp returns a number"):
        integrate.solve_ivp(swing, (0.0, 1.0), np.ones(2), events=lambda t, y: y)


@pytest.mark.slow
@pytest.mark.usefixtures("double_precision")
def test_derivatives_of_events() -> None:
    def course(x: Any) -> Any:
        rate, level = x

        def event(t: Any, y: Any) -> Any:
            return y[0] - level

        exact: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-11, "max_events": 2}
        start, end = jnp.array([0.0, 1.0]), _event(event, -1.0, True)
        r = integrate.solve_ivp(_swing(jnp, rate), (0.0, 9.0), start, events=end, **exact)
        assert r.t_events is not None
        assert r.y_events is not None
        return jnp.stack([r.t_events[0][0], r.y_events[0][0, 1], r.t[-1], r.y[1, -1]])

    at, steps = jnp.array([1.7, 0.2]), 1e-4 * np.eye(2)
    expected = np.stack([(course(at + h) - course(at - h)) / 2e-4 for h in steps], 1)
    for jacobian in (tinyjax.jacfwd(course), tinyjax.jit(tinyjax.jacrev(course))):
        np.testing.assert_allclose(jacobian(at), expected, 1e-5, 1e-8)
    several = tinyjax.vmap(course)(jnp.stack([at, 2 * at]))
    np.testing.assert_allclose(several[1], course(2 * at), 1e-9)
    slope = tinyjax.grad(lambda x: course(x)[0])(at)
    np.testing.assert_allclose(slope, expected[0], 1e-5)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
def test_modes(mode: str) -> None:
    for size in ((3, 2), (4, 5)):
        w = np.cos(np.arange(np.prod(size))).reshape(size)
        for name in ("correlate", "convolve"):
            ours = getattr(ndimage, name)(IMAGE, w, mode=mode, cval=0.5)
            close(ours, getattr(scipy.ndimage, name)(IMAGE, w, mode=mode, cval=0.5))
    for order in (0, 1, 2, 3):
        theirs = scipy.ndimage.gaussian_filter(IMAGE, 0.6, order, mode=mode)
        close(ndimage.gaussian_filter(IMAGE, 0.6, order, mode=mode), theirs)
    for name, args in (("laplace", ()), ("sobel", (0,)), ("uniform_filter", (4,))):
        ours, theirs = (getattr(m, name)(IMAGE, *args, mode=mode) for m in (ndimage, scipy.ndimage))
        close(ours, theirs)


def test_filters_of_signals() -> None:
    b, a = scipy.signal.butter(3, 0.3)
    close(signal.lfilter(b, a, IMAGE, axis=0), scipy.signal.lfilter(b, a, IMAGE, axis=0))
    close(signal.lfilter(b, a[:1], IMAGE), scipy.signal.lfilter(b, a[:1], IMAGE))
    long = np.sin(np.arange(60.0) ** 1.1)
    close(signal.filtfilt(b, a, long), scipy.signal.filtfilt(b, a, long))
    for order in (3, 4):
        sos = scipy.signal.butter(order, 0.3, output="sos")
        close(signal.sosfilt(sos, IMAGE), scipy.signal.sosfilt(sos, IMAGE))
        expected = scipy.signal.sosfiltfilt(sos, long)
        close(signal.sosfiltfilt(sos, long), expected)
        close(tinyjax.jvp(lambda s: signal.sosfiltfilt(s, long), (sos,), (sos,))[0], expected)
        with raises(ConcretizationError, match="padlen"):
            tinyjax.jit(signal.sosfiltfilt)(sos, long)
        with raises(ConcretizationError, match="padlen"):
            tinyjax.vmap(lambda s: signal.sosfiltfilt(s, long))(sos[None])
    for num in (3, 4, 6, 7, 12, 13):
        close(signal.resample(IMAGE, num, axis=-1), scipy.signal.resample(IMAGE, num, axis=-1))
    for deriv in (0, 1, 2):
        theirs = scipy.signal.savgol_filter(IMAGE, 5, 3, deriv, 0.5)
        close(signal.savgol_filter(IMAGE, 5, 3, deriv, 0.5), theirs)
    close(signal.hilbert(IMAGE, axis=0), scipy.signal.hilbert(IMAGE, axis=0))
    with raises(ArgumentError, match="with padlen=12 needs more"):
        signal.filtfilt(b, a, IMAGE)
    with raises(ArgumentError, match="window_length"):
        signal.savgol_filter(IMAGE, 4, 2)


@pytest.mark.parametrize("metric", [*spatial.distance._METRICS])
def test_metrics(metric: str) -> None:
    theirs = scipy.spatial.distance
    close(spatial.distance.cdist(IMAGE, IMAGE[:2], metric), theirs.cdist(IMAGE, IMAGE[:2], metric))
    close(spatial.distance.pdist(IMAGE, metric), theirs.pdist(IMAGE, metric))


def test_linear_programs() -> None:
    A, b = np.array([[1.0, 2, 1], [3, 1, 0]]), np.array([4.0, 5])
    options: dict[str, Any] = {
        "A_eq": np.ones((1, 3)),
        "b_eq": np.array([2.5]),
        "bounds": [(0, 2)] * 3,
    }
    for c in ([-1.0, -2, 0.5], [1.0, 0.2, -3]):
        ours = optimize.linprog(np.array(c), A, b, **options)
        theirs = scipy.optimize.linprog(c, A, b, **options)
        close(ours.x, theirs.x)
        close(ours.fun, theirs.fun)
    infeasible = optimize.linprog(np.ones(1), np.ones((1, 1)), -np.ones(1))
    assert not bool(infeasible.success)
    assert int(infeasible.status) == 2
    assert np.isnan(np.asarray(infeasible.x)).all()
    with raises(ShapeError, match="matrices of n columns"):
        optimize.linprog(np.ones(2), A, b)


@pytest.mark.parametrize(
    "bounds",
    [
        *(None, [], (None, None), (0, None), (None, 3), [0, None], (-1.0, 2.0), (-np.inf, np.inf)),
        *([(-1, 2)], [(None, None), (0, 1), (-1, None)], [(0, np.inf), (-np.inf, 2), (0, 1)]),
        *(np.array([[0.0, 1], [0, 2], [-1, 3]]), np.array([0.0, 5.0]), (3, 1)),
        *((0,), [(1,)] * 3, [(0, 1)] * 2, [(0, 1, 2)] * 3, [[(0, 1)] * 3]),
    ],
    ids=str,
)
def test_bounds_of_linear_programs(bounds: Any) -> None:
    c, limits = np.array([1.0, 2.0, -1.0]), np.array([4.0, 2.0, 3.0, 5.0])
    A = np.array([[1.0, 1, 1], [-1, 0, 1], [0, -1, 0], [-1, -1, -1]])
    try:
        theirs = scipy.optimize.linprog(c, A, limits, bounds=bounds)
    except ValueError:
        with raises(ShapeError, match="one pair, or one for each of 3 unknowns"):
            optimize.linprog(c, A, limits, bounds=bounds)
        return
    ours = optimize.linprog(c, A, limits, bounds=bounds)
    assert int(ours.status) == theirs.status
    close(ours.x, np.full(3, np.nan) if theirs.x is None else theirs.x)


def test_statistics_along_axes() -> None:
    for name in ("zscore", "skew", "kurtosis", "gmean"):
        data = np.exp(IMAGE)
        for axis in (0, 1):
            ours, theirs = (getattr(m, name)(data, axis=axis) for m in (stats, scipy.stats))
            close(ours, theirs)
    for bias in (False, True):
        close(stats.kurtosis(IMAGE, bias=bias), scipy.stats.kurtosis(IMAGE, bias=bias))
        close(stats.skew(IMAGE, bias=bias), scipy.stats.skew(IMAGE, bias=bias))
    ours = stats.ttest_ind(IMAGE, IMAGE[:4] + 0.1, equal_var=False)
    close(ours.pvalue, scipy.stats.ttest_ind(IMAGE, IMAGE[:4] + 0.1, equal_var=False).pvalue)
    theirs = scipy.stats.ks_2samp(IMAGE[0], IMAGE.ravel(), method="asymp")
    close(stats.ks_2samp(IMAGE[0], IMAGE.ravel()).statistic, theirs.statistic)
    with raises(ShapeError, match="samples of one size"):
        stats.pearsonr(X, X[:2])


# Integrands that are infinite at an end, or have long tails

_INF: Final = math.inf
#: The integrand, its limits, and the integral.
SINGULAR: Final[dict[str, tuple[Callable[[Any], Any], float, float, float]]] = {
    "a power at 0": (lambda x: x**-0.9, 0.0, 1.0, 10.0),
    "a power from 1 to 0": (lambda x: x**-0.9, 1.0, 0.0, -10.0),
    "a power at the other end": (lambda x: (1 - x) ** -0.5, 0.0, 1.0, 2.0),
    "a steep one at the other end": (lambda x: (1 - x) ** -0.9, 0.0, 1.0, 10.0),
    "a power away from 0": (lambda x: (x - 3) ** -0.7, 3.0, 4.0, 1 / 0.3),
    "a root": (jnp.sqrt, 0.0, 1.0, 2 / 3),
    "both ends": (lambda x: 1 / jnp.sqrt(1 - x * x), -1.0, 1.0, math.pi),
    "the beta function": (
        lambda x: x**-0.6 * (1 - x) ** -0.7,
        0.0,
        1.0,
        math.gamma(0.4) * math.gamma(0.3) / math.gamma(0.7),
    ),
    "a logarithm": (jnp.log, 0.0, 1.0, -1.0),
    "a logarithm over a root": (lambda x: jnp.log(x) / jnp.sqrt(x), 0.0, 1.0, -4.0),
    "its square": (lambda x: jnp.log(x) ** 2 * x**-0.8, 0.0, 1.0, 250.0),
    "a tail": (lambda x: x**-1.1, 1.0, _INF, 10.0),
    "a tail to the left": (lambda x: (-x) ** -1.2, -_INF, -1.0, 5.0),
    "the gamma function": (lambda x: x**-0.9 * jnp.exp(-x), 0.0, _INF, math.gamma(0.1)),
    "the whole line": (
        lambda x: jnp.abs(x) ** -0.5 / (1 + x * x),
        -_INF,
        _INF,
        math.pi * math.sqrt(2.0),
    ),
    "a cancelled one": (lambda x: jnp.sin(x) / x, 0.0, 1.0, 0.946083070367183),
    "a smooth one": (jnp.exp, 0.0, 1.0, math.e - 1),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_integrals_that_are_singular_at_an_end(name: str) -> None:
    function, low, high, expected = SINGULAR[name]
    value, error = integrate.quad(function, np.float64(low), np.float64(high))
    difference = abs(float(value) - expected)
    assert difference < 1e-8 * max(1.0, abs(expected))
    assert difference < 2 * float(error) + 1e-13 * abs(expected)


def test_integrals_that_diverge_have_an_infinite_error() -> None:
    for function in (lambda x: 1 / x, lambda x: x**-1.5):
        assert not np.isfinite(integrate.quad(function, np.float64(0.0), np.float64(1.0))[1])


def test_derivatives_of_singular_integrals() -> None:
    def power(p: Any) -> Any:
        return integrate.quad(lambda x: x**p, np.float64(0.0), np.float64(1.0))[0]

    def limit(b: Any) -> Any:
        return integrate.quad(lambda x: x**-0.7 * jnp.exp(-x), np.float64(0.0), b)[0]

    p = np.float64(-0.8)
    first, second = tinyjax.grad(power), tinyjax.grad(tinyjax.grad(power))
    for transform in (lambda f: f, tinyjax.jit):
        np.testing.assert_allclose(transform(first)(p), -25.0, 1e-8)
        np.testing.assert_allclose(transform(second)(p), 250.0, 1e-7)
    np.testing.assert_allclose(
        tinyjax.vmap(power)(np.array([-0.5, -0.8, 2.0])), [2.0, 5.0, 1 / 3], 1e-8
    )
    slope = tinyjax.grad(limit)(np.float64(1.5))
    np.testing.assert_allclose(slope, 1.5**-0.7 * math.exp(-1.5), 1e-8)
    zero, one = np.float64(0.0), np.float64(1.0)
    double = integrate.dblquad(
        lambda y, x: (x * y) ** -0.5, zero, one, lambda x: x * 0, lambda x: x * 0 + 1
    )
    np.testing.assert_allclose(double[0], 4.0, 1e-7)


# Kinks at knots, NaN, and axes of one line

KNOTS: Final = np.arange(5.0)
SQUARES: Final = KNOTS**2
#: Functions of a place, of which 2 is a knot between the slopes 3 and 5.
KINKED: Final[dict[str, Callable[[Any], Any]]] = {
    "interp": lambda q: jnp.interp(q, KNOTS, SQUARES),
    "interp with ends": lambda q: jnp.interp(q, KNOTS, SQUARES, left=-1.0, right="extrapolate"),
    "interp with a period": lambda q: jnp.interp(q, KNOTS, SQUARES, period=5.0),
    "interp1d": interpolate.interp1d(KNOTS, SQUARES),
    "BSpline": interpolate.make_interp_spline(KNOTS, SQUARES, 1),
    "grid": lambda q: interpolate.RegularGridInterpolator((KNOTS,), SQUARES)(q[None, None])[0],
    "grid by splines": lambda q: interpolate.RegularGridInterpolator(
        (KNOTS,), SQUARES, method="slinear"
    )(q[None, None])[0],
    "grid in the plane": lambda q: interpolate.RegularGridInterpolator(
        (KNOTS, KNOTS), SQUARES[:, None] + 0 * KNOTS
    )(jnp.stack([q, q]))[0],
    **{
        f"map_coordinates {mode}": partial(
            lambda mode, q: ndimage.map_coordinates(SQUARES, [q[None]], order=1, mode=mode)[0], mode
        )
        for mode in ("constant", "nearest", "wrap", "mirror", "reflect")
    },
    "shift": lambda q: ndimage.shift(SQUARES, 2 - q, order=1)[2],
    "affine_transform": lambda q: ndimage.affine_transform(
        SQUARES, np.eye(1), offset=(q - 2)[None], order=1
    )[2],
    "zoom of the plane": lambda q: ndimage.map_coordinates(
        np.add.outer(SQUARES, SQUARES), [q[None], q[None] * 0 + 2], order=1
    )[0],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", KINKED)
def test_slopes_at_knots_are_the_mean_of_both_sides(name: str) -> None:
    function, q = KINKED[name], np.float64(2.0)
    for transform in (lambda f: f, tinyjax.jit):
        assert float(transform(tinyjax.grad(function))(q)) == pytest.approx(4.0)
        tangent = transform(lambda q: tinyjax.jvp(function, (q,), (np.float64(1.0),))[1])(q)
        assert float(tangent) == pytest.approx(4.0)
        beside = transform(tinyjax.vmap(tinyjax.grad(function)))(np.array([1.75, 2.0, 2.25]))
        np.testing.assert_allclose(beside, [3.0, 4.0, 5.0])


def test_slopes_where_constants_begin() -> None:
    def ends(q: Any) -> Any:
        return jnp.interp(q, KNOTS, SQUARES)

    np.testing.assert_allclose(
        tinyjax.vmap(tinyjax.grad(ends))(np.array([-1.0, 0.0, 4.0, 5.0])), [0.0, 0.5, 3.5, 0.0]
    )


@pytest.mark.usefixtures("each_tier")
def test_places_that_are_not_a_number_have_no_value() -> None:
    q = np.array([np.nan, 1.0])
    functions: list[Callable[[Any], Any]] = [
        lambda q: jnp.interp(q, KNOTS, SQUARES),
        *[
            partial(lambda kind, q: interpolate.interp1d(KNOTS, SQUARES, kind)(q), kind)
            for kind in ("linear", "cubic", "nearest", "previous")
        ],
        interpolate.interp1d(KNOTS, SQUARES, "nearest", fill_value="extrapolate"),
        interpolate.BSpline(np.arange(7.0) - 1, np.arange(6.0), 0),
        *[
            partial(
                lambda method, fill, q: interpolate.RegularGridInterpolator(
                    (KNOTS,), SQUARES, method=method, fill_value=fill
                )(q[:, None]),
                method,
                fill,
            )
            for method in ("linear", "nearest", "slinear", "cubic")
            for fill in (None, 0.0)
        ],
        *[
            partial(
                lambda order, mode, q: ndimage.map_coordinates(SQUARES, [q], order, mode),
                order,
                mode,
            )
            for order in (0, 1)
            for mode in ("constant", "nearest", "wrap", "mirror", "reflect")
        ],
    ]
    for function in functions:
        np.testing.assert_array_equal(np.isnan(tinyjax.jit(function)(q)), [True, False])
        np.testing.assert_array_equal(np.isnan(function(q)), [True, False])


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_grids_with_an_axis_of_one_line(method: Any) -> None:
    for line in (KNOTS, KNOTS[:1]):
        values, at = np.sin(line)[:, None], np.array([[0.0, 0.0], [0.0, 7.0], [0.3, 0.0]])
        for fill in (None, np.nan):
            arguments = ((line, np.zeros(1)), values, method, False, fill)
            ours = interpolate.RegularGridInterpolator(*arguments)(at)
            close(ours, scipy.interpolate.RegularGridInterpolator(*arguments)(at))


def test_polynomials_through_many_points() -> None:
    nodes = np.cos(np.pi * np.arange(1000) / 999)
    polynomial = interpolate.BarycentricInterpolator(nodes, np.sin(3 * nodes))
    for x in (np.float64(0.3), nodes[7]):
        assert float(polynomial(x)) == pytest.approx(math.sin(3 * x), abs=1e-12)
        assert float(tinyjax.grad(polynomial)(x)) == pytest.approx(3 * math.cos(3 * x), abs=1e-9)


# Searches that begin with what is differentiated


@pytest.mark.parametrize("method", ["brentq", "brenth", "bisect", "ridder", "toms748", "secant"])
def test_brackets_may_be_computed_of_what_is_differentiated(method: str) -> None:
    def root(a: Any) -> Any:
        start = {"x0": a, "x1": a + 1} if method == "secant" else {"bracket": (a - 2, a + 2)}
        return optimize.root_scalar(lambda x: x**3 - a, method=method, **start).root

    assert float(tinyjax.grad(root)(np.float64(1.0))) == pytest.approx(1 / 3)
    if method != "secant":
        assert float(tinyjax.jit(tinyjax.grad(root))(np.float64(1.0))) == pytest.approx(1 / 3)
        close(tinyjax.vmap(root)(np.array([1.0, 1.5])), np.cbrt([1.0, 1.5]))
        return
    with raises(ArgumentError, match="known when the search begins"):
        tinyjax.jit(root)(1.0)


def test_other_searches_that_begin_with_what_is_differentiated() -> None:
    def least(options: Callable[[Any], dict[str, Any]], a: Any) -> Any:
        return optimize.minimize_scalar(lambda x: (x - a) ** 2, **options(a)).x

    functions: list[Callable[[Any], Any]] = [
        partial(least, lambda a: {"bracket": (a - 1, a + 1)}),
        partial(least, lambda a: {"bounds": (a - 1, a + 1), "method": "bounded"}),
        lambda a: 3 * optimize.brentq(lambda x: x**3 - a, a - 2, a + 2),
        lambda a: 3 * optimize.newton(lambda x: x**3 - a, a + 0.1),
        tinyjax.jit(lambda a: 3 * optimize.newton(lambda x: x**3 - a, a + 0.1)),
    ]
    for function in functions:
        assert float(tinyjax.grad(function)(np.float64(1.0))) == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(1, 2), (3, 3), (3, 5), (5, 3)], ids=str)
def test_procrustes_of_few_points(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, *shape))
    if shape[0] == 1:  # SciPy raises an error
        assert np.isnan(spatial.procrustes(x, y)[2])
        return
    for ours, theirs in zip(spatial.procrustes(x, y), scipy.spatial.procrustes(x, y), strict=True):
        close(ours, theirs)
    check_function(spatial.procrustes, (x, y), stacks=0)


#: What needs points that ascend, made of them and of values.
ORDERED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "CubicSpline": interpolate.CubicSpline,
    "PchipInterpolator": interpolate.PchipInterpolator,
    "Akima1DInterpolator": interpolate.Akima1DInterpolator,
    "CubicHermiteSpline": lambda x, y: interpolate.CubicHermiteSpline(x, y, y),
    "make_interp_spline": interpolate.make_interp_spline,
    "BSpline": lambda x, y: interpolate.BSpline(x, y[:4], 1),
    "PPoly": lambda x, y: interpolate.PPoly(y[None, 1:], x),
    "RegularGridInterpolator": lambda x, y: (
        lambda points: jnp.stack(
            [
                interpolate.RegularGridInterpolator((x,), y, method, fill_value=0)(points[:, None])
                for method in get_args(grids.Method)
            ]
        )
    ),
    "Slerp": lambda x, y: lambda points: Slerp.init(x, Rotation.from_rotvec(y))(points).as_quat(),
}


@pytest.mark.parametrize("name", [*ORDERED])
def test_points_that_do_not_ascend(name: str) -> None:
    """They raise an error where they are known, and give NaN where they are traced."""
    x, at = np.array([0.0, 1.0, 2.5, 3.0, 4.0, 6.0]), np.array([0.7, 2.0])
    y = np.sin(np.arange(18.0)).reshape(6, 3)
    y = y if name == "Slerp" else y[:, 0]

    def run(x: Any) -> Any:
        return ORDERED[name](x, y)(at)

    close(tinyjax.jit(run, tier="compiled")(x), run(x))
    for points in (x[[0, 2, 1, 3, 4, 5]], x[::-1], np.where(x == 1, np.nan, x)):
        assert np.isnan(tinyjax.jit(run, tier="compiled")(points)).all()
        if name != "RegularGridInterpolator" or points[0] < points[-1]:
            with raises(ArgumentError, match=f"{name} must ascend"):
                run(points)


@pytest.mark.parametrize("kind", ["linear", "cubic", "nearest", "previous"])
def test_points_in_any_order(kind: str) -> None:
    order, at = [3, 0, 5, 1, 4, 2], np.array([0.3, 2.6, 5.0])
    theirs = scipy.interpolate.interp1d(X[order], Y[order], kind, axis=0)(at)
    close(interpolate.interp1d(X[order], Y[order], kind, axis=0)(at), theirs)
    run = tinyjax.jit(lambda x, y: interpolate.interp1d(x, y, kind, axis=0)(at), tier="compiled")
    close(run(X[order], Y[order]), theirs)


@pytest.mark.parametrize("method", get_args(grids.Method))
@pytest.mark.parametrize("fill_value", [None, 0.5])
def test_grids_that_descend(method: Any, fill_value: float | None) -> None:
    lines, values = (X[::-1], X + 1.0, -X), np.sin(np.arange(6.0**3).reshape(6, 6, 6) ** 1.2)
    at = np.array([[2.1, 3.0, -0.3], [0.0, 1.0, -6.0], [7.0, 2.0, 0.0]])
    ours, theirs = (
        m.RegularGridInterpolator(
            lines, values, method=method, bounds_error=False, fill_value=fill_value
        )(at)
        for m in (interpolate, scipy.interpolate)
    )
    close(ours, theirs, 1e-4)


@pytest.mark.parametrize(
    "call",
    [
        "spatial.distance.cdist(Z, X)",
        "spatial.distance.pdist(Z)",
        "spatial.procrustes(Z, X)",
        "stats.zscore(Z)",
        "stats.kurtosis(Z)",
        "stats.pearsonr(X, Z)",
        "stats.ttest_rel(X, Z)",
        "stats.ks_2samp(X, Z)",
        "ndimage.median_filter(Z, 3)",
        "signal.medfilt(Z)",
        "signal.hilbert(Z)",
        "signal.resample(Z, 2)",
        "signal.firwin(5, Z[0, 0])",
    ],
)
def test_functions_of_real_numbers_take_no_complex_ones(call: str) -> None:
    x = np.arange(6.0).reshape(3, 2)
    with raises(DtypeError, match="needs real numbers"):
        eval(call, globals(), {"X": x, "Z": x * 1j})


#: Numbers out of range, or of a wrong type, and the words that name them.
NO_FILTERS: Final = {
    "butter(2, 1.0)": "frequencies of butter",
    "butter(2, 6.0, fs=12.0)": "frequencies of butter",
    "butter(2, [0.5, 0.2], 'bandpass')": "frequencies of butter",
    "butter({}, 0.2)": "N of butter",
    "firwin(5, 0.0)": "frequencies of firwin",
    "firwin(5, [0.2, 0.2])": "frequencies of firwin",
    "firwin(5, [-0.2, 0.2])": "frequencies of firwin",
    "firwin({}, 0.2)": "numtaps of firwin",
    "upfirdn(X[0], X, (0, 0))": "up of upfirdn",
    "upfirdn(X[0], X, 1, 0)": "down of upfirdn",
    "resample(X, -2)": "num of resample",
    "resample_poly(X, None, 2)": "up of resample_poly",
    "resample(X, None)": "num of resample",
    "savgol_filter(X, (0, 0), 2)": "window_length of savgol_filter",
    "windows.hann(-1)": "length of a window",
    "windows.get_window('hann', 1.5)": "length of a window",
    "windows.kaiser(-2, 2.0)": "length of a window",
}


@pytest.mark.parametrize("call", [*NO_FILTERS])
def test_filters_that_there_are_not(call: str) -> None:
    with raises(TinyjaxError, match=NO_FILTERS[call]):
        eval(f"signal.{call}", {"signal": signal, "X": Y})


def test_states_outside_of_the_times_of_a_problem_are_nan() -> None:
    for span in ((0.0, 2.0), (2.0, 0.0)):
        solution = integrate.solve_ivp(
            lambda t, y: -y, span, np.ones(1), t_eval=np.array([-1.0, 1.0, 3.0])
        )
        assert np.isnan(solution.y).tolist() == [[True, False, True]]


def test_traced_frequencies_out_of_range_give_nan() -> None:
    for ends in ([0.5, 0.2], [0.2, 1.0], [0.0, 0.2], [0.2, np.nan]):
        for design in (lambda x: signal.butter(2, x, "bandpass")[0], lambda x: signal.firwin(5, x)):
            assert np.isnan(tinyjax.jit(design, tier="compiled")(np.array(ends))).all()

"""Python's numbers in functions that SciPy has and JAX has not: float64, with SciPy's digits.

A row is a call, where ``S`` is the library (SciPy, or ours) and ``m`` its arrays' module. Every
such function has one.
"""

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest
import scipy

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy

V: Final = np.array([0.5, 1.2, 2.3, 1.7, 0.9, 3.1])
W: Final = np.array([0.4, -0.2, 1.1, 0.8, 2.0, 0.1])
G: Final = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 6.0])
P: Final = np.array([0.3, 1.0, 2.2, 4.9, 5.7])
A: Final = np.array([[4.0, 1.0, 0.2], [1.0, 3.0, 0.5], [0.2, 0.5, 2.0]])
L: Final = np.sin(np.arange(64.0) ** 1.1)
#: A number of NumPy's.
k: Final = np.float64(1.5)

MODULES: Final = (
    *("cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"),
    *("signal.windows", "spatial", "spatial.distance", "stats"),
)
#: Classes of results, and what is a table of pieces or a module.
NO_CALLS: Final = re.compile(r"\w+Results?$|PPoly|windows|distance|transform")

#: Of methods that end by a tolerance the digits are those of ``LOOSE``.
LOOSE: Final = {"optimize": 1e-6, "integrate.odeint": 1e-9, "integrate.solve_ivp": 1e-9}
CALLS: Final = """
integrate.quad(lambda x: m.exp(-x * k), 0.0, 1.0)[0]
integrate.quad(lambda x: m.exp(-x * 0.3), 0, 1)[0]
integrate.quad(lambda x: 1 / 3, 0, 1)[0]
integrate.quad(lambda x, a: m.exp(-x * a), 0.0, 1.0, args=(0.1,))[0]
integrate.quad(lambda x: m.exp(-x * x * k), -np.inf, np.inf)[0]
integrate.quad(lambda x: abs(x - 1 / 3) * k, 0.0, 1.0, points=[1 / 3])[0]
integrate.dblquad(lambda y, x: m.exp(-(x + y) * k), 0.0, 1.0, lambda x: x / 3, lambda x: 1.0)[0]
integrate.fixed_quad(lambda x: m.exp(-x * k), 0.0, 1.0, n=20)[0]
integrate.fixed_quad(lambda x: m.exp(-x * 0.1), 0.1, 1.0)[0]
integrate.simpson(V, x=[0.0, 0.1, 0.3, 0.7, 0.8, 1.1])
integrate.simpson(V, dx=1 / 3)
integrate.cumulative_simpson(V, dx=1 / 3, initial=0.1)
integrate.cumulative_trapezoid(V, dx=1 / 3, initial=0)
integrate.odeint(lambda y, t: -y * 0.3, V[:2], np.array([0.0, 1.0]), rtol=1e-11, atol=1e-12)
integrate.solve_ivp(lambda t, y: -y * 0.3, (0, 1), [1.0, 0.1], rtol=1e-11, atol=1e-12).y[:, -1]
integrate.solve_ivp(lambda t, y: -y * k, (0, 1), V[:2], t_eval=[0.1, 1.0]).t
optimize.fsolve(lambda v: v**3 - k, 1.0)
optimize.fsolve(lambda v: v**3 - 1.5, 1)
optimize.root(lambda v: v**3 - 1.5, 1.0).x
optimize.fixed_point(lambda v: m.cos(v * k / 3), 0.5)
optimize.newton(lambda v: v**3 - 0.1, 1.0)
optimize.brentq(lambda v: v**3 - 0.1, 0.0, 3.0)
optimize.root_scalar(lambda v: v**3 - 0.1, bracket=(0.0, 3.0)).root
optimize.differential_evolution(lambda x: m.sum((x - k / 7) ** 2), [(0.3, 5.0)], seed=1).x
optimize.minimize(lambda x: m.sum(x**2), np.ones(1), method="L-BFGS-B", bounds=[(1 / 3, 5.0)]).x
optimize.minimize_scalar(lambda x: (x - 0.1) ** 2 + (x - 0.1) ** 4).x
optimize.fmin(lambda x: m.sum((x - 0.1) ** 2), np.ones(2), xtol=1e-12, ftol=1e-18, disp=False)
optimize.curve_fit(lambda t, p, q: p * m.exp(-q * t), G, V)[0]
optimize.least_squares(lambda a: m.exp(-a[0] * G) - V, np.ones(1), bounds=(1 / 3, 5.0)).x
optimize.leastsq(lambda a: m.exp(-a[0] * G) - V, np.ones(1), ftol=1e-14, xtol=1e-14)[0]
optimize.lsq_linear(A, V[:3], bounds=(0.0, 0.1)).x
optimize.nnls(A, V[:3])[0]
optimize.linprog(-V[:2], A_ub=np.eye(2) + 0.5, b_ub=V[2:4], bounds=(0, 1 / 3)).x
optimize.linear_sum_assignment(A)
signal.butter(4, 0.01)
signal.butter(2, 100, fs=1000)
signal.butter(3, np.array([0.1, 0.3]), "bandpass")
signal.firwin(7, 0.3)
signal.firwin(7, 0.3, window=("kaiser", 3.0))
signal.firwin(7, 0.3, window=("gaussian", 2.0), pass_zero=False)
signal.freqz(V, np.array([1.0, -0.3]), worN=[0.1, 0.2], fs=3.0)
signal.lfilter(*S.signal.butter(2, 0.2), L)
signal.filtfilt(*S.signal.butter(2, 0.2), L)
signal.sosfilt(scipy.signal.butter(4, 0.3, output="sos"), L)
signal.sosfiltfilt(scipy.signal.butter(4, 0.3, output="sos"), L)
signal.hilbert(L)
signal.medfilt(L, 3)
signal.resample(L, 50)
signal.resample_poly(L, 2, 3, window=("kaiser", 3.0))
signal.savgol_filter(L, 5, 2, deriv=1, delta=0.1)
signal.upfirdn(V, L, 2, 3)
signal.windows.boxcar(7)
signal.windows.hann(7)
signal.windows.hamming(7, False)
signal.windows.blackman(7)
signal.windows.flattop(7)
signal.windows.gaussian(7, 1.3)
signal.windows.kaiser(7, 2.1)
signal.windows.general_cosine(7, [0.1, 0.2, 0.3])
signal.windows.get_window(("kaiser", 2.1), 7)
signal.windows.get_window("parzen", 7)
stats.rankdata(V)
stats.spearmanr(np.arange(2000.0), np.r_[np.arange(1000.0, 2000.0), np.arange(1000.0)])
stats.pearsonr(V, [0.1, 0.3, 0.2, 0.9, 0.4, 0.1])
stats.linregress(V, W)
stats.describe([0.1, 0.2, 0.4])[2:]
stats.entropy([0.1, 0.2, 0.4], base=3.3)
stats.gmean([0.1, 0.2, 0.4])
stats.iqr([0.1, 0.2, 0.4])
stats.kurtosis([0.1, 0.2, 0.4, 0.9])
stats.skew([0.1, 0.2, 0.4, 0.9])
stats.zscore(V)
stats.ttest_1samp([0.1, 0.2, 0.4], 0.1)
stats.ttest_rel(V, W)
stats.ttest_ind(V, [0.1, 0.3, 0.2, 0.9, 0.4], equal_var=False)
stats.f_oneway(V, [0.1, 0.3, 0.2, 0.9, 0.4])
stats.ks_2samp(V, W).statistic
stats.f.cdf(V, 0.3, 1.7)
stats.lognorm.pdf(V, 0.3)
stats.weibull_min.pdf(V, 0.3)
interpolate.interp1d(G, V, kind="cubic")(0.3)
interpolate.CubicSpline(G, V)(1 / 3)
interpolate.CubicSpline(np.arange(6), V)(np.arange(5)) / 3
interpolate.PchipInterpolator(G, V)(1 / 3)
interpolate.Akima1DInterpolator(G, V)(1 / 3)
interpolate.CubicHermiteSpline(G, V, W)(1 / 3)
interpolate.make_interp_spline(np.arange(6), V, k=2)(1 / 3)
interpolate.BSpline(np.arange(10), V, 3)(10 / 3)
interpolate.BarycentricInterpolator(G, V)(0.3)
interpolate.RBFInterpolator(G[:, None], V, kernel="gaussian", epsilon=0.3)(P[:, None])
ndimage.affine_transform(A, [[0.9, 0.1], [-0.1, 0.9]], offset=0.1, order=1)
ndimage.convolve(A, A[:1], mode="constant", cval=1 / 3)
ndimage.convolve1d(A, A[0], mode="constant", cval=1 / 3)
ndimage.correlate(A, A[:1], mode="constant", cval=1 / 3)
ndimage.correlate1d(A, A[0], mode="constant", cval=1 / 3)
ndimage.gaussian_filter(A, 1.3)
ndimage.gaussian_filter1d(L, 1.3)
ndimage.laplace(A)
ndimage.map_coordinates(A, [[0.3, 0.7], [1.1, 0.2]], order=1)
ndimage.median_filter(A, 3)
ndimage.rotate(A, 17.0, order=1)
ndimage.shift(A, [0.3, 0.1], order=1, cval=0.1)
ndimage.sobel(A)
ndimage.uniform_filter(A, 3)
ndimage.zoom(A, 1.7)
linalg.eig(A)[0]
linalg.eigvals(A)
linalg.eigvalsh(A)
linalg.logm(A)
linalg.lstsq(np.vstack([A, A @ A]), V)[0]
linalg.norm(V, 4 / 3)
linalg.null_space(A[:2]) ** 2
linalg.pinv(A)
linalg.solve_banded((1, 1), np.stack([V, 5 + V, W]), V)
linalg.solve_continuous_lyapunov(A, A)
linalg.svdvals(A)
fft.fft(L)
fft.fft2(A)
fft.fftn(A)
fft.ifft(L)
fft.ifft2(A)
fft.ifftn(A)
fft.rfft(L)
fft.rfftn(A)
fft.irfft(V)
fft.irfftn(A)
fft.fftfreq(7, 0.3)
fft.rfftfreq(7, 0.3)
fft.fftshift(V)
fft.ifftshift(V)
fft.dst(V)
fft.idst(V)
spatial.distance.cdist(A, A[:1] / 3)
spatial.distance.pdist(A)
spatial.procrustes(A, A**2)[2]
cluster.vq.whiten(A)
"""
ROWS: Final = CALLS.strip().splitlines()


def modules() -> None:
    for module in MODULES:
        importlib.import_module(f"scipy.{module}")
        importlib.import_module(f"tinyjax.scipy.{module}")


def own_names() -> Iterator[str]:
    """The names of functions that ``jax.scipy`` has not."""
    for module in MODULES:
        try:
            theirs: Any = importlib.import_module(f"jax.scipy.{module}")
        except ImportError:
            theirs = None
        for name in importlib.import_module(f"tinyjax.scipy.{module}").__all__:
            if not hasattr(theirs, name) and not NO_CALLS.match(name):
                yield f"{module}.{name}"


def test_every_function_has_a_row() -> None:
    modules()
    called = {match[0] for row in ROWS if (match := re.match(r"[\w.]+(?=\()", row))}
    called |= {name.rpartition(".")[0] for name in called}  # of distributions
    assert [name for name in own_names() if name not in called] == []


def results(value: Any) -> list[Any]:
    """List the numbers and arrays of a result, also of SciPy's classes."""
    if hasattr(value, "slope"):
        return [value.slope, value.intercept, value.rvalue, value.pvalue, value.stderr]
    if hasattr(value, "statistic"):
        return [value.statistic, value.pvalue]
    return [x for y in value for x in results(y)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("row", ROWS)
def test_numbers_have_the_digits_of_scipy(row: str) -> None:
    modules()
    name = row.partition("(")[0]
    rtol = LOOSE.get(name, LOOSE.get(name.partition(".")[0], 1e-12))
    ours, theirs = (
        results(eval(f"S.{row}", {**globals(), "S": library, "m": arrays}))
        for library, arrays in ((tinyjax.scipy, jnp), (scipy, np))
    )
    for got, want in zip(ours, theirs, strict=True):
        size = np.max(np.abs(want))
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * size)
        assert got.dtype.kind in "iu" or got.dtype in (np.float64, np.complex128)


F32: Final = jnp.arange(1.0, 7.0) / 7


@pytest.mark.parametrize(
    "row",
    [
        "integrate.quad(lambda x: jnp.sum(x * F32), 0.0, 1.0)[0]",
        "integrate.quad(lambda x: x * F32[1], 0.0, 1.0)[0]",
        "integrate.fixed_quad(lambda x: x * F32[1], 0.0, 1.0)[0]",
        "integrate.dblquad(lambda y, x: y * x * F32[1], 0.0, 1.0, 0.0, 1.0)[0]",
        "integrate.solve_ivp(lambda t, y: -y * 0.3, (0.0, 1.0), F32).y",
        "optimize.fsolve(lambda v: v**3 - 0.1, F32)",
        "signal.lfilter(F32, F32, F32) * S.signal.windows.hann(6)",
        "signal.lfilter(S.signal.firwin(5, 0.3), F32, F32)",
        "signal.windows.kaiser(6, 2.1) * F32",
        "signal.windows.gaussian(6, F32[0])",
        "fft.fftfreq(6, 0.3) * F32",
        "stats.rankdata(F32)",
        "stats.zscore(F32)",
        "stats.ttest_1samp(F32, 0.1).pvalue",
        "ndimage.map_coordinates(F32, [[0.3, 0.7]], order=1)",
    ],
)
def test_floats_of_32_bits_stay_narrow(row: str) -> None:
    modules()
    scope = {**globals(), "S": tinyjax.scipy}
    assert eval(f"S.{row}", scope).dtype == jnp.float32


def test_transformed_numbers_have_64_bits() -> None:
    modules()
    solve_ivp: Any = tinyjax.scipy.integrate.solve_ivp  # which takes lists
    calls: dict[str, Callable[[Any], Any]] = {
        "quad": lambda a: tinyjax.scipy.integrate.quad(lambda x: jnp.exp(-x * a), 0.0, 1.0)[0],
        "butter": lambda a: tinyjax.scipy.signal.butter(6, a / 100)[1],
        "solve_ivp": lambda a: (
            solve_ivp(
                lambda t, y: jnp.stack([y[1], -a * y[0]]),
                (0, 1),
                [1.0, 0.1],
                rtol=1e-11,
                atol=1e-12,
            ).y
        ),
        "fsolve": lambda a: tinyjax.scipy.optimize.fsolve(lambda v: v**3 - a / 3, 1.0),
    }
    for name, fun in calls.items():
        want = fun(k)
        ways = {
            "jit": tinyjax.jit(fun)(k),
            "compiled": tinyjax.jit(fun, tier="compiled")(k),
            "vmap": tinyjax.vmap(fun)(np.array([k]))[0],
            "jvp": tinyjax.jvp(fun, (k,), (k,))[0],
        }
        slope = (fun(k + 1e-5) - fun(k - 1e-5)) / 2e-5
        np.testing.assert_allclose(tinyjax.jacobian(fun)(k), slope, rtol=1e-5, atol=1e-8)
        for way, got in ways.items():
            np.testing.assert_allclose(got, want, rtol=1e-9, err_msg=f"{way} of {name}")
            assert got.dtype == np.float64, (way, name)
        np.testing.assert_allclose(tinyjax.jit(fun)(1.5), want, rtol=1e-7)  # a / 3 has 32 bits


def test_a_filter_designed_with_numbers_is_stable() -> None:
    signal = np.sin(np.arange(3000) / 200.0)
    for order, cut in ((4, 0.01), (6, 0.02), (8, 0.05)):
        want = scipy.signal.filtfilt(*scipy.signal.butter(order, cut), signal)
        b, a = tinyjax.scipy.signal.butter(order, cut)
        got = tinyjax.scipy.signal.filtfilt(b, a, signal)
        np.testing.assert_allclose(got, want, atol=1e-4)

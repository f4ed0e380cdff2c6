"""150 calls of SciPy, by how often people use them: values, gradients, both compiled.

A row is a function's name and an expression, where ``S`` is the library (SciPy, or ours), ``m`` its
arrays' module and ``v`` a vector. Gradients are held against central differences of SciPy's values.
"""

import importlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import scipy

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy

pytestmark = pytest.mark.usefixtures("each_tier")

V: Final = np.array([0.5, 1.2, 2.3, 1.7, 0.9, 3.1])
G: Final = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 6.0])
P: Final = np.array([0.3, 1.0, 2.2, 4.9, 5.7])
W: Final = np.array([0.4, -0.2, 1.1, 0.8, 2.0, 0.1])
A: Final = np.array([[4.0, 1.0, 0.2], [1.0, 3.0, 0.5], [0.2, 0.5, 2.0]])
T: Final = np.linspace(0.0, 2.0, 6)
M: Final = np.sin(np.arange(30.0).reshape(5, 6) ** 1.3)
L: Final = np.sin(np.arange(64.0) ** 1.1)

CALLS: Final = """
optimize.minimize         | S.optimize.minimize(lambda x: m.sum((x - v) ** 2), np.zeros(6),
    method="L-BFGS-B", tol=1e-14).x
optimize.minimize (SLSQP) | S.optimize.minimize(lambda x: m.sum((x - v) ** 2), np.zeros(6),
    method="SLSQP", constraints={"type": "eq", "fun": lambda x: m.sum(x) - 1.0}, tol=1e-14).x
optimize.minimize_scalar  | S.optimize.minimize_scalar(lambda x: (x - v[0]) ** 2 + v[1] * (x - 1)
    ** 2).x
optimize.curve_fit        | S.optimize.curve_fit(lambda t, a, b: a * m.exp(-b * t), T, m.exp(-T) +
    v / 100)[0]
optimize.least_squares    | S.optimize.least_squares(lambda k: m.exp(-k[0] * T) - v, np.ones(1),
    ftol=1e-14, xtol=1e-14, gtol=1e-14).x
optimize.leastsq          | S.optimize.leastsq(lambda k: m.exp(-k[0] * T) - v, np.ones(1),
    ftol=1e-14, xtol=1e-14)[0]
optimize.lsq_linear       | S.optimize.lsq_linear(np.vstack([A, A @ A]), v, bounds=(0.0, 5.0)).x
optimize.root             | S.optimize.root(lambda x: x + 0.1 * x**3 - v, np.ones(6)).x
optimize.fsolve           | S.optimize.fsolve(lambda x: x + 0.1 * x**3 - v, np.ones(6))
optimize.root_scalar      | S.optimize.root_scalar(lambda x: x**3 + x - v[0], bracket=(0.0,
    3.0)).root
optimize.brentq           | S.optimize.brentq(lambda x: x**3 + x - v[0], 0.0, 3.0)
optimize.newton           | S.optimize.newton(lambda x: x**3 + x - v[0], 1.0)
optimize.fixed_point      | S.optimize.fixed_point(lambda x: m.cos(x * v[0] / 3), 0.5)
optimize.nnls             | S.optimize.nnls(np.vstack([A, A @ A]), v)[0]
optimize.linprog          | S.optimize.linprog(-v[:2], A_ub=np.eye(2) + 0.5, b_ub=v[2:4]).x
optimize.linear_sum_assignment | (v.reshape(2, 3) **
    2)[S.optimize.linear_sum_assignment(v.reshape(2, 3) ** 2)]
optimize.differential_evolution | S.optimize.differential_evolution(lambda x: m.sum((x - v[:2]) **
    2), [(0.0, 5.0)] * 2, seed=1, tol=1e-10).x
optimize.fmin             | S.optimize.fmin(lambda x: m.sum((x - v[:2]) ** 2), np.zeros(2),
    xtol=1e-10, ftol=1e-18, disp=False)
integrate.quad            | S.integrate.quad(lambda t: m.exp(-v[0] * t) * m.sin(v[1] * t), 0.0,
    2.0)[0]
integrate.quad (infinite) | S.integrate.quad(lambda t: m.exp(-v[0] * t * t), -np.inf, np.inf)[0]
integrate.quad (limits)   | S.integrate.quad(lambda t: m.sqrt(t + 1), v[0], v[1])[0]
integrate.dblquad         | S.integrate.dblquad(lambda y, x: v[0] * x * y**2, 0.0, 2.0, 0.0,
    lambda x: x)[0]
integrate.fixed_quad      | S.integrate.fixed_quad(lambda t: m.exp(-v[0] * t), 0.0, 1.0)[0]
integrate.solve_ivp       | S.integrate.solve_ivp(lambda t, y: -v[0] * y + m.sin(t), (0.0, 2.0),
    v[:3], t_eval=T, rtol=1e-9, atol=1e-10).y
integrate.solve_ivp (Radau) | S.integrate.solve_ivp(lambda t, y: -100 * v[0] * (y - m.cos(t)),
    (0.0, 2.0), v[:2], method="Radau", t_eval=T, rtol=1e-9, atol=1e-10).y
integrate.solve_ivp (dense) | S.integrate.solve_ivp(lambda t, y: -v[0] * y, (0.0, 2.0), v[:2],
    dense_output=True, rtol=1e-10, atol=1e-11).sol(T)
integrate.solve_ivp (event) | S.integrate.solve_ivp(lambda t, y: -v[0] * y, (0.0, 4.0), m.ones(1),
    events=lambda t, y: y[0] - 0.5, rtol=1e-10, atol=1e-11).t_events[0][0]
integrate.odeint          | S.integrate.odeint(lambda y, t: -v[0] * y, v[:2], T, rtol=1e-10,
    atol=1e-11)
integrate.simpson         | S.integrate.simpson(v, x=G)
integrate.trapezoid       | S.integrate.trapezoid(v, G)
integrate.cumulative_trapezoid | S.integrate.cumulative_trapezoid(v, G, initial=0)
integrate.cumulative_simpson | S.integrate.cumulative_simpson(v, x=G)
interpolate.interp1d      | S.interpolate.interp1d(G, v)(P)
interpolate.interp1d (cubic) | S.interpolate.interp1d(G, v, kind="cubic")(P)
interpolate.CubicSpline   | S.interpolate.CubicSpline(G, v)(P)
interpolate.CubicSpline (points) | S.interpolate.CubicSpline(G, W)(v, 1)
interpolate.CubicSpline (knots) | S.interpolate.CubicSpline(m.cumsum(v), W, bc_type="natural")(P +
    0.6)
interpolate.PchipInterpolator | S.interpolate.PchipInterpolator(G, v)(P)
interpolate.Akima1DInterpolator | S.interpolate.Akima1DInterpolator(G, v)(P)
interpolate.CubicHermiteSpline | S.interpolate.CubicHermiteSpline(G, v, W)(P)
interpolate.make_interp_spline | S.interpolate.make_interp_spline(G, v)(P)
interpolate.BSpline       | S.interpolate.BSpline(np.arange(10.0), v, 3)(P / 2 + 3)
interpolate.UnivariateSpline | S.interpolate.UnivariateSpline(G, v, s=0)(P)
interpolate.PPoly         | S.interpolate.PPoly(v.reshape(3, 2), np.array([0.0, 3.0,
    6.0])).antiderivative()(P)
interpolate.RegularGridInterpolator | S.interpolate.RegularGridInterpolator((np.arange(5.0),
    np.arange(6.0)), M * v)(np.stack([P[:4] / 2, P[:4]], -1))
interpolate.RegularGridInterpolator (cubic) |
    S.interpolate.RegularGridInterpolator((np.arange(5.0), np.arange(6.0)), M * v,
    method="cubic")(np.stack([P[:4] / 2, P[:4]], -1))
interpolate.RBFInterpolator | S.interpolate.RBFInterpolator(G[:, None], v)(P[:, None])
interpolate.BarycentricInterpolator | S.interpolate.BarycentricInterpolator(G, v)(P)
interpolate.griddata      | S.interpolate.griddata(np.array([[0, 0], [0, 1], [1, 0], [1, 1.0], [2,
    0], [2, 1.1]]), v, np.array([[0.4, 0.4], [1.2, 0.3]]))
linalg.solve              | S.linalg.solve(A * v[0] + np.eye(3), v[:3])
linalg.inv                | S.linalg.inv(A + m.diag(v[:3]))
linalg.det                | S.linalg.det(A + m.diag(v[:3]))
linalg.norm               | S.linalg.norm(v)
linalg.lstsq              | S.linalg.lstsq(np.vstack([A, A @ A]), v)[0]
linalg.pinv               | S.linalg.pinv(v.reshape(3, 2))
linalg.eigh               | S.linalg.eigh(A + m.diag(v[:3]))[0]
linalg.eigvalsh           | S.linalg.eigvalsh(A + m.diag(v[:3]))
linalg.eigvals            | m.sort(m.real(S.linalg.eigvals(A + m.diag(v[:3]))))
linalg.svd                | S.linalg.svd(v.reshape(3, 2), full_matrices=False)[1]
linalg.qr                 | S.linalg.qr(v.reshape(3, 2), mode="economic")[1]
linalg.lu                 | S.linalg.lu(A + m.diag(v[:3]))[2]
linalg.cholesky           | S.linalg.cholesky(A + m.diag(v[:3]))
linalg.cho_solve          | S.linalg.cho_solve(S.linalg.cho_factor(A + m.diag(v[:3])), v[3:])
linalg.solve_triangular   | S.linalg.solve_triangular(A, v[:3])
linalg.solve_banded       | S.linalg.solve_banded((1, 1), m.stack([v, 5 + v, W]), v)
linalg.expm               | S.linalg.expm(A / 4 * v[0])
linalg.logm               | S.linalg.logm(A + m.diag(v[:3]))
linalg.sqrtm              | m.real(S.linalg.sqrtm(A + m.diag(v[:3])))
linalg.toeplitz           | S.linalg.toeplitz(v)
linalg.null_space         | (lambda z: z @ z.T)(S.linalg.null_space(v.reshape(2, 3)))
linalg.solve_continuous_lyapunov | S.linalg.solve_continuous_lyapunov(A, m.diag(v[:3]))
stats.norm.pdf            | S.stats.norm.pdf(v, 1.0, 2.0)
stats.norm.cdf            | S.stats.norm.cdf(v)
stats.norm.ppf            | S.stats.norm.ppf(v / 4)
stats.norm.sf             | S.stats.norm.sf(v)
stats.norm.entropy        | S.stats.norm.entropy(0.0, v)
stats.expon.cdf           | S.stats.expon.cdf(v)
stats.gamma.pdf           | S.stats.gamma.pdf(v, 2.0)
stats.gamma.ppf           | S.stats.gamma.ppf(v / 4, 2.0)
stats.beta.pdf            | S.stats.beta.pdf(v / 4, 2.0, 3.0)
stats.beta.ppf            | S.stats.beta.ppf(v / 4, 2.0, 3.0)
stats.t.cdf               | S.stats.t.cdf(v, 4.0)
stats.t.ppf               | S.stats.t.ppf(v / 4, 4.0)
stats.chi2.sf             | S.stats.chi2.sf(v, 3.0)
stats.chi2.ppf            | S.stats.chi2.ppf(v / 4, 3.0)
stats.f.sf                | S.stats.f.sf(v, 3.0, 5.0)
stats.lognorm.pdf         | S.stats.lognorm.pdf(v, 0.7)
stats.weibull_min.cdf     | S.stats.weibull_min.cdf(v, 1.5)
stats.poisson.pmf         | S.stats.poisson.pmf(np.arange(6), v)
stats.binom.cdf           | S.stats.binom.cdf(3, 6, v / 4)
stats.multivariate_normal | S.stats.multivariate_normal.logpdf(v[:3], np.zeros(3), A)
stats.gaussian_kde        | S.stats.gaussian_kde(v)(P)
stats.zscore              | S.stats.zscore(v)
stats.skew                | S.stats.skew(v)
stats.kurtosis            | S.stats.kurtosis(v)
stats.describe            | S.stats.describe(v).variance
stats.gmean               | S.stats.gmean(v)
stats.iqr                 | S.stats.iqr(v)
stats.entropy             | S.stats.entropy(v)
stats.rankdata            | S.stats.rankdata(v)
stats.pearsonr            | m.stack(tuple(S.stats.pearsonr(v, W)))
stats.spearmanr           | m.stack(tuple(S.stats.spearmanr(v, W)))
stats.linregress          | m.stack(tuple(S.stats.linregress(G, v)))
stats.ttest_ind           | m.stack(tuple(S.stats.ttest_ind(v, W)))
stats.ttest_1samp         | m.stack(tuple(S.stats.ttest_1samp(v, 1.0)))
stats.f_oneway            | m.stack(tuple(S.stats.f_oneway(v, W, G)))
stats.ks_2samp            | S.stats.ks_2samp(v, W).statistic
signal.convolve           | S.signal.convolve(v, W)
signal.fftconvolve        | S.signal.fftconvolve(v, W, "same")
signal.correlate          | S.signal.correlate(v, W)
signal.lfilter            | S.signal.lfilter(v[:2], m.stack([v[2], v[3] / 4, v[4] / 9]), L)
signal.filtfilt           | S.signal.filtfilt(v[:2], np.array([1.0, -0.3]), L)
signal.sosfilt            | S.signal.sosfilt(scipy.signal.butter(4, 0.3, output="sos"), v)
signal.sosfiltfilt        | S.signal.sosfiltfilt(scipy.signal.butter(2, 0.3, output="sos"), L *
    v[0])
signal.butter             | m.concatenate(S.signal.butter(3, v[0] / 2))
signal.firwin             | S.signal.firwin(5, v[0] / 2)
signal.hilbert            | m.abs(S.signal.hilbert(v))
signal.savgol_filter      | S.signal.savgol_filter(v, 5, 2)
signal.resample           | S.signal.resample(v, 9)
signal.resample_poly      | S.signal.resample_poly(v, 3, 2)
signal.detrend            | S.signal.detrend(v)
signal.welch              | S.signal.welch(L * v[0], nperseg=16)[1]
signal.stft               | m.abs(S.signal.stft(L * v[0], nperseg=16)[2])
signal.windows            | S.signal.windows.kaiser(6, v[0])
signal.freqz              | m.abs(S.signal.freqz(v[:3], np.array([1.0, 0.5]), 8)[1])
signal.medfilt            | S.signal.medfilt(v, 3)
ndimage.gaussian_filter   | S.ndimage.gaussian_filter(M * v, 1.0)
ndimage.gaussian_filter1d | S.ndimage.gaussian_filter1d(v, 0.7, mode="nearest")
ndimage.uniform_filter    | S.ndimage.uniform_filter(M * v, 3)
ndimage.median_filter     | S.ndimage.median_filter(M * v, 3)
ndimage.convolve          | S.ndimage.convolve(M, v.reshape(2, 3), mode="constant")
ndimage.sobel             | S.ndimage.sobel(M * v)
ndimage.zoom              | S.ndimage.zoom(M * v, 2)
ndimage.rotate            | S.ndimage.rotate(M * v, 30.0, reshape=False)
ndimage.shift             | S.ndimage.shift(M * v, (0.5, -0.3))
ndimage.map_coordinates   | S.ndimage.map_coordinates(M * v, [P / 2, P * 0.8], order=1)
fft.fft                   | m.abs(S.fft.fft(v))
fft.dct                   | S.fft.dct(v)
fft.dst                   | S.fft.dst(v, type=2)
spatial.distance.cdist    | S.spatial.distance.cdist(v.reshape(3, 2), M[:, :2])
spatial.distance.pdist    | S.spatial.distance.pdist(v.reshape(3, 2))
spatial.procrustes        | S.spatial.procrustes(v.reshape(3, 2), M[:3, :2])[2]
spatial.KDTree            | S.spatial.KDTree(v.reshape(3, 2)).query(M[:, :2])[0]
special.erf               | S.special.erf(v)
special.gammaln           | S.special.gammaln(v)
special.logsumexp         | S.special.logsumexp(v)
sparse.linalg.cg          | S.sparse.linalg.cg(A, v[:3])[0]
sparse.linalg.spsolve     | S.sparse.linalg.spsolve(scipy.sparse.csr_array(A), v[:3])
cluster.vq.vq             | S.cluster.vq.vq(v.reshape(3, 2), M[:, :2])[1]
cluster.vq.whiten         | S.cluster.vq.whiten(v.reshape(3, 2))
"""
ROWS: Final = dict(
    [part.strip() for part in line.split("|", 1)]
    for line in CALLS.strip().replace("\n    ", " ").splitlines()
)
#: Calls of functions that are not here.
MISSING: Final = (
    "integrate.solve_ivp (Radau)",
    "integrate.solve_ivp (event)",
    "interpolate.UnivariateSpline",
    "interpolate.griddata",
    "spatial.KDTree",
)
#: Of iterations that end by a tolerance.
LOOSE: Final = 2e-5


def call(name: str, library: Any, arrays: Any) -> Callable[[Any], Any]:
    scope = {**globals(), "S": library, "m": arrays}
    result: Callable[[Any], Any] = eval(f"lambda v: {ROWS[name]}", scope)
    return result


def theirs(name: str) -> Callable[[Any], Any]:
    importlib.import_module("scipy." + name.partition(".")[0])
    for module in ("spatial.distance", "sparse.linalg", "cluster.vq", "signal.windows"):
        importlib.import_module(f"scipy.{module}")
    return call(name, scipy, np)


def outcomes(
    name: str, library: Any = tinyjax.scipy, arrays: Any = jnp, api: Any = tinyjax
) -> dict[str, Any]:
    """Say of a call whether its value, its gradient, and both compiled are right."""
    fun, reference = call(name, library, arrays), theirs(name)
    expected = np.asarray(reference(V))
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
    step = 1e-2 if "minimize" in name else 1e-3 if "optimize" in name else 1e-5

    def scale(v: Any) -> float:
        return float(np.sum(weights * np.asarray(reference(v))))

    slopes = [(scale(V + d) - scale(V - d)) / (2 * step) for d in step * np.eye(len(V))]
    gradient = api.grad(lambda v: arrays.sum(weights * fun(v)))
    checks: dict[str, tuple[Callable[[], Any], Any]] = {
        "value": (lambda: fun(arrays.asarray(V)), expected),
        "compiled": (lambda: api.jit(fun)(V), expected),
        "gradient": (lambda: gradient(V), slopes),
        "compiled gradient": (lambda: api.jit(gradient)(V), slopes),
    }
    results: dict[str, Any] = {}
    for what, (compute, right) in checks.items():
        try:
            np.testing.assert_allclose(np.asarray(compute()), right, LOOSE, LOOSE)
            results[what] = True
        except Exception as error:
            results[what] = error
    return results


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", [*ROWS])
def test_calls(name: str) -> None:
    results = outcomes(name)
    if name in MISSING:
        assert results["value"] is not True
    else:
        assert results == dict.fromkeys(results, True)

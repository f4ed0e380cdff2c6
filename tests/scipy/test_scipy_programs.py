"""Calls as SciPy's documentation writes them: lists for arrays, ints, its order and its names."""

import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import scipy
import scipy.cluster.vq
import scipy.sparse.linalg
import scipy.spatial.distance
import scipy.spatial.transform
from test_scipy_calls import MISSING, ROWS, V, call, theirs

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy
from raising import raises
from tinyjax import default_dtypes
from tinyjax.errors import ArgumentError
from website import reference

#: Type checkers want arrays.
pytestmark = pytest.mark.wrong_types  # lists are not among the types of annotations


S: Any = tinyjax.scipy
PROGRAMS: Final = """
S.integrate.odeint(lambda y,t: [y[1], -y[0]], [1.0, 0.0], [0.0, 0.5, 1.0])
S.integrate.odeint(lambda y,t,a: [y[1], -a*y[0]], [1.0, 0.0], [0.0, 0.5, 1.0], (2.0,))
S.integrate.odeint(lambda y,t,a: [y[1], -a*y[0]], [1, 0], [0, 1], args=(2.0,), rtol=1e-10,
    atol=1e-10)
S.integrate.odeint(lambda t,y: [y[1], -y[0]], [1.0, 0.0], [0.0, 0.5, 1.0], tfirst=True)
S.integrate.solve_ivp(lambda t,y: [y[1], -y[0]], [0, 1], [1, 0], t_eval=[0.0,0.5,1.0], rtol=1e-9,
    atol=1e-9).y
S.integrate.solve_ivp(lambda t,y: (y[1], -y[0]), [0, 1], [1, 0], t_eval=[0.0,0.5,1.0], rtol=1e-9,
    atol=1e-9, args=None).y
S.integrate.solve_ivp(lambda t,y,a: (y[1], -a*y[0]), [0, 1], [1, 0], t_eval=[0.0,0.5,1.0],
    rtol=1e-9, atol=1e-9, args=(2.0,)).y
S.integrate.quad(lambda x: x**2, 0, 4)[0]
S.integrate.quad(lambda x,a: a*x**2, 0, 4, (3,))[0]
S.integrate.dblquad(lambda y,x: x*y, 0, 1, 0, 2)[0]
S.integrate.dblquad(lambda y,x: x*y, 0, 1, lambda x: x, lambda x: 2-x)[0]
S.integrate.simpson([1,4,9], [1,2,3])
S.integrate.fixed_quad(lambda x: x**3, 0, 1, n=4)[0]
S.optimize.fsolve(lambda x: [x[0]*np.cos(x[1]) - 4, x[1]*x[0] - x[1] - 5], [1, 1])
S.optimize.root(lambda x: [x[0] + 0.5*(x[0]-x[1])**3 - 1.0, 0.5*(x[1]-x[0])**3 + x[1]], [0, 0],
    method="hybr").x
S.optimize.minimize(lambda x: (x[0]-1)**2 + (x[1]-2.5)**2, [2, 0]).x
S.optimize.minimize(lambda x, a: (x[0]-a)**2 + (x[1]-2.5)**2, [2, 0], (1.0,), "Nelder-Mead",
    tol=1e-10).x
S.optimize.minimize(lambda x: (x[0]-1)**2 + (x[1]-2.5)**2, (2, 0), bounds=((0, None), (0, 2))).x
S.optimize.minimize(lambda x: (x[0]-1)**2 + (x[1]-2.5)**2, (2, 0), constraints=({'type': 'ineq',
    'fun': lambda x: x[0] - 2*x[1] + 2},)).x
S.optimize.minimize_scalar(lambda x: (x-2)*x*(x+2)**2).x
S.optimize.brentq(lambda x: x**2-1, -2, 0)
S.optimize.brentq(lambda x: x**2-1, 0, 2, (), 1e-12, 1e-12, 50)
S.optimize.newton(lambda x: x**3-1, 1.5)
S.optimize.newton(lambda x, a: x**3-a, 1.5, args=(2,), tol=1e-10, maxiter=100)
S.optimize.root_scalar(lambda x: x**3-1, bracket=[0, 3], method='brentq').root
S.optimize.fixed_point(lambda x, c1, c2: np.sqrt(c1/(x+c2)), [1.2, 1.3], args=(np.array([10,
    12.]), np.array([3, 5.])))
S.optimize.least_squares(lambda x: [10*(x[1]-x[0]**2), 1-x[0]], [2, 2]).x
S.optimize.leastsq(lambda x: [10*(x[1]-x[0]**2), 1-x[0]], [2, 2])[0]
S.optimize.curve_fit(lambda x,a,b: a*np.exp(-b*x), [0,1,2,3], [2.5,1.0,0.4,0.2])[0]
S.optimize.curve_fit(lambda x,a,b: a*np.exp(-b*x), [0,1,2,3], [2.5,1.0,0.4,0.2], [2, 1])[0]
S.optimize.linprog([-1, 4], A_ub=[[-3, 1], [1, 2]], b_ub=[6, 4], bounds=[(None, None), (-3,
    None)]).x
S.optimize.linprog([-1, 4], [[-3, 1], [1, 2]], [6, 4], bounds=[(None, None), (-3, None)]).x
S.optimize.lsq_linear([[1,0],[0,1],[1,1]], [1,2,3.5]).x
S.optimize.nnls([[1,0],[1,0],[0,1]], [2,1,1])[0]
S.optimize.linear_sum_assignment([[4,1,3],[2,0,5],[3,2,2]])[1]
S.optimize.fmin(lambda x: (x[0]-1)**2, [3], (), 1e-8, 1e-8, disp=False)
S.optimize.differential_evolution(lambda x: (x[0]-1)**2+x[1]**2, [(0, 2), (-1, 2)], seed=1).x
S.interpolate.CubicSpline([0,1,2,3],[0,1,4,9])(1.5)
S.interpolate.CubicSpline([0,1,2,3],[0,1,4,9])([0.5, 1.5], 1)
S.interpolate.interp1d([0,1,2],[0,1,4])([0.5,1.5])
S.interpolate.PchipInterpolator([0,1,2,3],[0,1,4,9])(1.5)
S.interpolate.RegularGridInterpolator(([0,1,2],[0,1]), [[0,1],[2,3],[4,5]])([[0.5,0.5],[1.5, 0.2]])
S.interpolate.RBFInterpolator([[0],[1],[2]], [0,1,4])([[0.5]])
S.interpolate.BSpline([0,1,2,3,4,5,6],[-1,2,0,-1],2)(2.5)
S.interpolate.make_interp_spline([0,1,2,3],[0,1,4,9], 3)(1.5)
S.signal.lfilter([1.0, 2.0], [1], [1, 2, 3])
S.signal.lfilter([1.0], [1, -0.5], [1, 2, 3], -1)
S.signal.convolve([1,2,3],[0,1,0.5])
S.signal.convolve2d([[1,2],[3,4]],[[1,1]])
S.signal.savgol_filter([2, 2, 5, 2, 1, 0, 1, 4, 9], 5, 2)
S.signal.detrend([1,2,4])
S.signal.freqz([1,2],[1], 4)[1]
S.signal.medfilt([1,5,2,8,3])
S.signal.resample([1,2,3,4], 8)
S.signal.resample([[1,2],[3,4],[0,1]], 4)
S.signal.firwin(5, [0.2, 0.5])
S.signal.butter(2, [0.2, 0.5], 'band')[0]
S.stats.norm.pdf([0,1,2])
S.stats.norm.ppf([0.1, 0.5], loc=1, scale=[1, 2])
S.stats.norm.cdf(0.5, 1, 2)
S.stats.zscore([1,2,3])
S.stats.pearsonr([1,2,3,4],[1,2,2,5])[0]
S.stats.ttest_ind([1,2,3,4],[1,2,2,5])[1]
S.stats.rankdata([0, 2, 3, 2])
S.stats.gaussian_kde([1,2,3,4])([1.5,2])
S.stats.mode([1,2,2,3])[0]
S.stats.iqr([1,2,3,4])
S.linalg.solve([[3,2,0],[1,-1,0],[0,5,1]],[2,4,-1])
S.linalg.expm([[0,1],[0,0]])
S.linalg.toeplitz([1,2,3],[1,4,5])
S.linalg.block_diag([[1,2]],[[3],[4]])
S.linalg.norm([[1,2],[3,4]], 'fro')
S.linalg.lstsq([[1,1],[1,2],[1,3]],[1,2,2])[0]
S.linalg.eigvalsh([[2,1],[1,2]], lower=False)
S.linalg.pinv([[1,2],[3,4]], rtol=1e-8)
S.fft.fft([1,2,3,4])
S.fft.rfft(x=[1,2,3,4], n=4, axis=0)
S.fft.fftn([[1,2],[3,4]], None, (0,1))
S.fft.dct([1,2,3,4], 2)
S.fft.fftshift([1,2,3,4])
S.spatial.distance.cdist([[0,0],[1,1]],[[1,0]])
S.spatial.transform.Rotation.from_euler('z', 90, degrees=True).apply([1,0,0])
S.spatial.transform.Rotation.from_quat([0,0,1,1]).as_matrix()
S.spatial.transform.Rotation.from_rotvec([[0,0,1]]).as_quat()
S.special.gamma([0.5,1,5])
S.special.erf([0.5,1])
S.special.binom([5],[2])
S.special.jv([0,1],[0.5,0.5])
S.special.logsumexp([0,1,2])
S.special.softmax([0,1,2], 0)
S.special.comb(5,[2,3])
S.special.xlogy([0,1],[0,2])
S.special.expit([0,1])
S.cluster.vq.whiten([[1.9,2.3],[1.5,2.5],[0.8,0.6]])
S.cluster.vq.vq([[1.9,2.3],[1.5,2.5]],[[1,1],[2,2]])[0]
S.ndimage.gaussian_filter([[1,2],[3,4.]], 1)
S.ndimage.convolve([1,2,3.],[1,0,1])
S.ndimage.zoom([1,2,3.],2)
S.ndimage.rotate([[1,2],[3,4.]],45)
S.ndimage.shift([1,2,3.],1)
S.sparse.linalg.spsolve(scipy.sparse.csr_array([[4.,1],[1,3]]),[1,2])
S.optimize.fsolve(lambda x: x**2 - 2, [1.0], xtol=1e-12)
S.sparse.linalg.cg(np.array([[4,1],[1,3.0]]), [1,2])[0]
"""


@pytest.mark.wrong_types
def test_programs() -> None:
    wrong = []
    with default_dtypes("float64"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in PROGRAMS.strip().replace("\n    ", " ").splitlines():
            expected, values = (
                np.asarray(eval(program, {"S": library, "np": np, "scipy": scipy}))
                for library in (scipy, tinyjax.scipy)
            )
            if values.shape != expected.shape or not np.allclose(values, expected, 2e-5, 2e-5):
                wrong.append((program, values, expected))
    assert not wrong


def listed(x: Any) -> Any:
    """The same with lists in place of arrays."""
    if isinstance(x, (np.ndarray, tinyjax.Array)):
        return np.asarray(x).tolist()
    if isinstance(x, (list, tuple)):
        return type(x)(map(listed, x))
    return x


class Lists:
    """A library whose functions are given lists."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.module, name)
        if not callable(value):
            return Lists(value) if isinstance(value, types.ModuleType) else value
        return lambda *args, **kwargs: value(
            *map(listed, args), **{key: listed(x) for key, x in kwargs.items()}
        )


@pytest.mark.parametrize("name", [name for name in ROWS if name not in MISSING])
def test_lists_in_calls(name: str) -> None:
    with default_dtypes("float64"):
        values = np.asarray(call(name, Lists(tinyjax.scipy), np)(V))
    np.testing.assert_allclose(values, np.asarray(theirs(name)(V)), 1e-5, 1e-5)


@pytest.mark.filterwarnings("ignore")
def test_lists_in_special_functions() -> None:
    """Whatever takes arrays takes lists of the same numbers."""
    compared = 0
    for entry in reference.entries()["tinyjax.scipy.special"]:
        if not inspect.isfunction(entry.value):
            continue
        parameters = inspect.signature(entry.value).parameters.values()
        count = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
        try:
            expected = entry.value(*[np.array([0.5, 0.75])] * count)
        except (TypeError, ValueError):
            continue  # it takes ints, or matrices
        with default_dtypes("float64"):
            values = entry.value(*[[0.5, 0.75]] * count)
        np.testing.assert_array_equal(np.asarray(values), np.asarray(expected), entry.name)
        compared += 1
    assert compared > 150


def test_lists_hold_traced_numbers() -> None:
    def area(a: Any) -> Any:
        return S.linalg.det([[a, 1.0], [1.0, 2 * a]])

    assert tinyjax.grad(area)(3.0) == tinyjax.jit(tinyjax.grad(area))(3.0) == 12.0

    def spline(y: Any) -> Any:
        return S.interpolate.CubicSpline([0, 1, 2, 3], [0, y, 4, 9])(1.0)

    np.testing.assert_allclose(tinyjax.grad(spline)(1.0), 1.0, 1e-6)


@pytest.mark.wrong_types
def test_lists_are_arrays_in_functions_of_scipy_only() -> None:
    calls: list[Any] = [jnp.sin, jnp.linalg.norm, tinyjax.nn.relu]
    for call_ in calls:
        with raises(ArgumentError, match="Convert it with jnp.asarray"):
            call_([1.0, 2.0])
    with raises(ArgumentError, match="Convert it with jnp.asarray"):
        S.optimize.root(lambda x: calls[0]([1.0]) + x, np.ones(1))


@pytest.mark.parametrize(
    ("words", "call_"),
    [
        ("jac of minimize", lambda: S.optimize.minimize(np.sum, np.ones(2), jac=np.ones)),
        ("callback of minimize", lambda: S.optimize.minimize(np.sum, np.ones(2), callback=print)),
        ("fprime of newton", lambda: S.optimize.newton(np.sin, 1.0, np.cos)),
        ("fprime of fsolve", lambda: S.optimize.fsolve(np.sin, 1.0, fprime=np.cos)),
    ],
)
@pytest.mark.wrong_types
def test_derivatives_are_not_given(words: str, call_: Callable[[], Any]) -> None:
    with raises(ArgumentError, match=words):
        call_()

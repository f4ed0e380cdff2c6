"""Results of SciPy's functions under capture: steps, reports, coefficients; and options."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import CaptureError
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

MODULE: Final = """
import numpy as np
from scipy import integrate, interpolate, optimize, stats

ENDS = np.arange(4.0)

def decay(t, y, k):
    return -k * y

def cubic(v, a, b=1.0):
    return v**3 + b * v - a

def distance(v, x):
    return np.sum((v - x) ** 2)

def f(x):
    n, m = float(x[0]), float(x[1])
    {}
    return np.sum(np.asarray(r, dtype=float)) + np.sum(x**2)
"""
EXACT: Final = "rtol=1e-9, atol=1e-9"
SOLVE: Final = f"s = integrate.solve_ivp(decay, (0, 1), x, args=(n,), {EXACT}); r = "
FALL: Final = (
    "s = integrate.solve_ivp(lambda t, y: [y[1], -9.8], (0, 9), [m + 1, n], "
    f"events=lambda t, y: y[0], {EXACT}); r = "
)
SWING: Final = (
    "s = integrate.solve_ivp(lambda t, y: [y[1], -n * y[0]], (0, 9), [1.0, 0.0], "
    f"events=[lambda t, y: y[0], lambda t, y: y[1] - 5], {EXACT}); r = "
)
FIT: Final = "s = optimize.least_squares(cubic, np.ones(4), args=(x,)); r = "
LINE: Final = "s = stats.linregress(ENDS, x); r = "
#: Of solutions, minima, fits, tests and interpolations.
RESULTS: Final = (
    *(SOLVE + what for what in ("np.trapezoid(s.y[0], s.t)", "len(s.t)", "s.y.mean()", "s.nfev")),
    *(SOLVE + what for what in ("s['y'][0, -1]", "s.y[1][-1] + s.t[-1]", "s.y.T[-1]", "s.status")),
    *(SOLVE + what for what in ("s.y[..., -1] * len(s.message)", "[*s.y[0]]", "np.diff(s.t)")),
    *(SOLVE + what for what in ("sum(isinstance(s[k], np.ndarray) for k in s.keys())",)),
    *(FALL + what for what in ("len(s.t_events[0])", "s.t_events[0][-1]", "s.y_events[0][-1]")),
    *(SWING + what for what in ("s.t_events[0]", "[t.size for t in s.t_events]")),
    "s = optimize.minimize(distance, np.zeros(4), x); r = x * (s.nfev > 4 and s['nit'] > 0)",
    "s = optimize.minimize(distance, np.zeros(4), x); r = s.x if s.success else 0.0",
    "s = optimize.minimize(distance, np.zeros(4), x); r = len(s.message) + len(list(s))",
    "s = optimize.root(cubic, np.ones(4), args=(x,)); r = s.get('x') * ('x' in s)",
    "s = optimize.root_scalar(cubic, (n,), bracket=[0, 2]); r = (s.iterations > 2) * s.root",
    "s = optimize.leastsq(cubic, np.ones(4), args=(x,)); r = s[0] if s[1] in (1, 2, 3, 4) else 0",
    *(FIT + what for what in ("s.cost + s.fun", "s.jac", "s.status * s['x']")),
    *(LINE + what for what in ("s.stderr + s.intercept_stderr", "s[0] * s.pvalue", "len(s)")),
    "s = stats.ttest_ind(x, [1.0, 2.0, 3.0]); r = s.pvalue + s.df",
    "s = stats.pearsonr(x, [1.0, 2.0, 0.0, 3.0]); r = s.confidence_interval().low",
    "s = stats.gaussian_kde(x); r = s.factor + s.covariance",
    "s = interpolate.interp1d(ENDS, x); r = s.y + s.x + s(1.5)",
    "s = interpolate.CubicSpline(ENDS, x); r = s.derivative()(1.5) + s.integrate(0, 2) + s.c[0]",
)
#: Options of solvers that say how they search, what they return, or how functions are given.
OPTIONS: Final = (
    "r = optimize.least_squares(lambda v, a=None: v - a, np.zeros(4), kwargs={'a': x}).x",
    "r = optimize.least_squares(cubic, np.ones(4), args=(x,), x_scale='jac', verbose=0).x",
    "r = optimize.root(cubic, np.ones(4), (x, 2.0), jac=lambda v, a, b: np.diag(3 * v**2 + b)).x",
    "r = optimize.fsolve(cubic, np.ones(4), x, col_deriv=0, epsfcn=1e-10)",
    "x1, info, ier, text = optimize.fsolve(cubic, 1.0, (n,), full_output=True); r = x1 * ier",
    "r = optimize.fsolve(cubic, np.ones(4), (x,), full_output=1)[1]['fvec'] + 1.0",
    "r = optimize.leastsq(cubic, np.ones(4), (x,), full_output=True)[1]",
    "r = optimize.leastsq(cubic, np.ones(4), (x,), Dfun=lambda v, a: np.diag(3 * v**2 + 1))[0]",
    "r = optimize.curve_fit(lambda t, a, b: a * t + b, ENDS, x, full_output=True)[0]",
    "r = optimize.curve_fit(f=lambda t, a, b: a * t + b, xdata=ENDS, ydata=x)[0]",
    "r = optimize.minimize(lambda v: (distance(v, x), 2 * (v - x)), np.zeros(4), jac=True).x",
    "r = optimize.minimize(distance, np.zeros(4), (x,), jac=lambda v, x: 2 * (v - x)).x",
    "r = optimize.minimize(distance, x, x, constraints=dict(type='eq', fun=lambda v: v[0] - n)).x",
    "r = integrate.quad(lambda v: np.sin(n * v), 0, 3, full_output=True)[0]",
    "r = integrate.odeint(decay, x, [0, 1], (n,), tfirst=True, full_output=True, rtol=1e-9)[0][-1]",
    "r = integrate.solve_ivp(fun=decay, t_span=(0, 1), y0=x, args=(m,), rtol=1e-9).y[0, -1]",
)
CASES: Final = (*RESULTS, *OPTIONS)


POINT: Final = np.array([0.7, 0.31, 1.43, 0.52])
#: Solvers end before the last digits.
TOLERANCE: Final = 1e-4


@pytest.mark.wrong_types  # programs give lists for arrays
@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", CASES)
def test_each_is_as_in_scipy(text: str, tmp_path: Path) -> None:
    """Values and gradients are those of the program, also where a compiled one is called again."""
    f: Any = module_of(MODULE.format(text), tmp_path / "program.py").f
    captured = source.capture(f)
    compiled = tinyjax.jit(captured)
    for point in (POINT, POINT + 0.01, np.array([0.23, 1.31, 0.43, 1.57])):
        steps = 1e-3 * np.eye(4)
        expected = [(f(point + step) - f(point - step)) / 2e-3 for step in steps]
        for fun in (captured, compiled):
            value, gradient = tinyjax.value_and_grad(fun)(point)
            np.testing.assert_allclose(value, f(point), rtol=TOLERANCE)
            np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(compiled(point), f(point), rtol=TOLERANCE)


@pytest.mark.parametrize(
    "text",
    [
        "optimize.fsolve(cubic, np.ones(4), (x,), full_output=True)[1]['nfev']",
        "integrate.quad(lambda v: v * n, 0, 1, full_output=True)[2]['neval']",
    ],
)
def test_what_no_counterpart_knows_is_refused(text: str, tmp_path: Path) -> None:
    f: Any = module_of(MODULE.format("r = " + text), tmp_path / "program.py").f
    with pytest.raises(CaptureError, match="in what full_output gives"):
        tinyjax.grad(source.capture(f))(POINT)


#: What changes between a call and reading what its counterpart does not know.
CHANGED: Final = (
    """s = [integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0]) for k in (n, m)]
    r = [np.trapezoid(each.y[0], each.t) for each in s]""",
    """k = [n]
    s = optimize.minimize(lambda v: np.sum((v - k[0]) ** 2), np.zeros(1))
    k[0] = m
    r = s.x * s.nfev""",
)
COPIED: Final = (
    """y = x * 1
    s = interpolate.interp1d(ENDS, y)
    y[:] = 0
    r = s.y**2""",
    """y = x * 1
    s = integrate.solve_ivp(lambda t, y: -n * y, (0, 1), y)
    y[:] = 0
    r = np.trapezoid(s.y[0], s.t)""",
)


@pytest.mark.parametrize("text", CHANGED)
def test_functions_that_have_changed_since_are_refused(text: str, tmp_path: Path) -> None:
    f: Any = module_of(MODULE.format(text), tmp_path / "program.py").f
    for fun in (source.capture(f), tinyjax.jit(source.capture(f))):
        with pytest.raises(CaptureError, match="Read it right behind the call"):
            tinyjax.grad(fun)(POINT)


@pytest.mark.parametrize("text", COPIED)
def test_arguments_may_change_after_the_call(text: str, tmp_path: Path) -> None:
    test_each_is_as_in_scipy(text, tmp_path)

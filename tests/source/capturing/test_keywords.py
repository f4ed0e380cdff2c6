"""Arguments of functions by their names, in any order, under capture."""

import ast
import inspect
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from scipy import integrate, interpolate, linalg, ndimage, optimize, signal, special, stats

import tinyjax
from tinyjax import source
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

POINT: Final = np.array([0.7, 0.31, 1.43, 0.52])
#: Calls with arguments by place, of an array ``x`` and its first number ``n``.
CALLS: Final = (
    "optimize.minimize(lambda v: np.sum((v - x) ** 2), np.zeros(4), (), 'BFGS').x",
    "optimize.minimize_scalar(lambda v: (v - n) ** 2 + v**4).x",
    "optimize.root(lambda v: v**3 - x, np.ones(4)).x",
    "optimize.root(lambda v, a: v**3 - a, np.ones(4), (x,)).x",
    "optimize.fsolve(lambda v: v**3 - n, 1.0)",
    "optimize.root_scalar(lambda v: v**3 - n, (), None, [0, 2]).root",
    "optimize.brentq(lambda v: v**3 - n, 0, 2)",
    "optimize.newton(lambda v: v**3 - n, 1.0)",
    "optimize.fixed_point(lambda v: np.cos(v) * n, 0.5)",
    "optimize.least_squares(lambda v: v - x, np.zeros(4)).x",
    "optimize.leastsq(lambda v: v - x, np.zeros(4))[0]",
    "optimize.curve_fit(lambda t, a: a * t, np.arange(4.0), x)[0]",
    "optimize.curve_fit(lambda t, a, b: a * t + b, np.arange(4.0), x, [1.0, 2.0])[0]",
    "optimize.nnls(np.eye(4) + 0.1, x)[0]",
    "integrate.quad(lambda v: v * n, 0, x[1])[0]",
    "integrate.quad(lambda v, a: v * a, 0, 1, (n,))[0]",
    "integrate.quad_vec(lambda v: v * x, 0, 1)[0]",
    "integrate.fixed_quad(lambda v: v * n, 0, 1, (), 3)[0]",
    "integrate.dblquad(lambda y, z: y * n, 0, 1, 0, 1)[0]",
    "integrate.solve_ivp(lambda t, y: -n * y, (0, 1), x).y[:, -1]",
    "integrate.odeint(lambda y, t: -n * y, x, [0, 1])[-1]",
    "integrate.trapezoid(x, np.arange(4.0))",
    "integrate.simpson(x)",
    "interpolate.interp1d(np.arange(4.0), x, 'quadratic')(1.5)",
    "interpolate.CubicSpline(np.arange(4.0), x)(1.5)",
    "interpolate.PchipInterpolator(np.arange(4.0), x)(1.5)",
    "interpolate.make_interp_spline(np.arange(4.0), x, 3)(1.5)",
    "interpolate.griddata(np.arange(4.0), x, [1.5], 'linear')",
    "interpolate.interpn((np.arange(4.0),), x, [[1.5]])",
    "linalg.solve(np.eye(4) * 2 + np.outer(x, x), x)",
    "linalg.cholesky(np.eye(4) + np.outer(x, x), True)",
    "linalg.expm(np.outer(x, x))",
    "linalg.solve_triangular(np.eye(4) + np.tril(np.outer(x, x)), x, 0, True)",
    "linalg.rq(np.eye(4) + np.outer(x, x))[0]",
    "linalg.toeplitz(x, x[::-1])",
    "ndimage.convolve1d(x, [1.0, n, 1.0])",
    "ndimage.gaussian_filter(x, 1.0)",
    "ndimage.map_coordinates(np.outer(x, x), [[0.5], [1.5]], None, 1)",
    "signal.convolve(x, [1.0, n])",
    "signal.lfilter([1.0, n], [1.0, 0.2], x)",
    "signal.savgol_filter(x, 3, 1)",
    "stats.norm.pdf(x, n, 1 + n)",
    "stats.norm(n).logpdf(x)",
    "stats.gaussian_kde(x).evaluate([0.3])",
    "stats.pearsonr(x, [1.0, 3.0, 2.0, 5.0]).statistic",
    "stats.zscore(x)",
    "special.logsumexp(x, 0, [1, 2, 3, 4])",
    "special.softmax(x)",
    "np.fromfunction(lambda i: i * n, (4,))",
    "np.apply_along_axis(lambda v: v * n, 0, x)",
    "np.piecewise(x, [x < 0.5], [lambda v: v**2, lambda v: v])",
    "np.quantile(x, 0.3, None, None, False, 'lower')",
    "np.interp(0.5, [0.0, 1.0], x[:2])",
    "np.random.default_rng(1).normal(n, 1.0, 3)",
)
SCOPE: Final[dict[str, Any]] = {
    "np": np,
    **{m.__name__.rpartition(".")[2]: m for m in (integrate, interpolate, linalg, ndimage)},
    **{m.__name__.rpartition(".")[2]: m for m in (optimize, signal, special, stats)},
}


class _Naming(ast.NodeTransformer):
    """Names the arguments of calls, the last one first."""

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        function = ast.unparse(node.func)
        if not function.startswith(tuple(SCOPE)) or function.startswith(("np.z", "np.e", "np.o")):
            return node
        try:
            parameters = inspect.signature(eval(function, SCOPE)).parameters.values()
        except (NameError, ValueError, TypeError):
            return node
        names = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
        if len(names) < len(node.args):
            return node
        pairs = [*zip(names, node.args, strict=False)]
        node.keywords += [ast.keyword(name, value) for name, value in reversed(pairs)]
        node.args = []
        return node


MODULE: Final = """
import numpy as np
from scipy import integrate, interpolate, linalg, ndimage, optimize, signal, special, stats

def named(x):
    n = float(x[0])
    return np.sum({})

def by_place(x):
    n = float(x[0])
    return np.sum({})
"""


@pytest.mark.wrong_types  # programs give lists for arrays
@pytest.mark.parametrize("text", CALLS)
def test_an_argument_may_have_its_name(text: str, tmp_path: Path) -> None:
    """The value and the gradient are those of the call with arguments by place."""
    named = ast.unparse(_Naming().visit(ast.parse(text)))
    module = module_of(MODULE.format(named, text), tmp_path / "program.py")
    value, gradient = tinyjax.value_and_grad(source.capture(module.named))(POINT)
    by_place, expected = tinyjax.value_and_grad(source.capture(module.by_place))(POINT)
    np.testing.assert_allclose(value, by_place, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)
    np.testing.assert_allclose(value, module.by_place(POINT), rtol=1e-5)

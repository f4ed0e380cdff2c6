"""Derivatives to the third order at edges: zeros, ends of domains and supports, special parameters.

SciPy's values beside such a point, fitted by a polynomial on either side, say what its derivatives
are. A number that is neither that of one side nor the mean of both is wrong; NaN and infinities are
for those that have no limit.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, Final, Literal

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

import tinyjax
import tinyjax.numpy as jnp
from tinyjax._library.ufuncs.table import TABLE
from tinyjax.dtypes import HostArray
from tinyjax.errors import DifferentiationError
from tinyjax.scipy import special, stats

pytestmark = pytest.mark.usefixtures("double_precision")

Function = Callable[..., Any]
ORDERS: Final = (1, 2, 3)
EDGES: Final = (0.0, 1.0, -1.0, 0.5, 2.0)
#: Relative tolerances of the orders: those of the fits.
TOLERANCES: Final = np.array([1e-5, 1e-4, 1e-3])

#: Functions whose values SciPy has not, or searches within bounds, and those that take long.
_LEFT_OUT: Final = ("mathieu", "pro_", "obl_", "chndtrinc", "ncf", "nct", "bdtrin", "nbdtrin")
ROWS: Final = [name for name in TABLE if hasattr(special, name) and not name.startswith(_LEFT_OUT)]
#: Functions beside the table: the positions of the parameters that have derivatives.
OWN: Final[dict[str, tuple[int, ...]]] = {
    **dict.fromkeys(
        ["erf", "erfc", "erfinv", "ndtr", "log_ndtr", "gammaln", "digamma", "expit", "logit"], (0,)
    ),
    **dict.fromkeys(
        [
            "entr",
            "gamma",
            "ndtri",
            "dawsn",
            "erfcx",
            "expi",
            "exp1",
            "spence",
            "i0",
            "i1",
            "i0e",
            "i1e",
        ],
        (0,),
    ),
    **dict.fromkeys(
        ["xlogy", "xlog1py", "beta", "betaln", "boxcox", "boxcox1p", "owens_t", "poch"], (0, 1)
    ),
    **dict.fromkeys(("gammainc", "gammaincc", "zeta"), (1,)),
    "betainc": (0, 1, 2),
    "hyp1f1": (2,),
    "rel_entr": (0, 1),
    "kl_div": (0, 1),
}
LAWS: Final = [
    name
    for name in dir(stats)
    if hasattr(getattr(stats, name), "logpdf") or hasattr(getattr(stats, name), "logpmf")
    if not name.startswith(("dirichlet", "gaussian", "multi"))
]
#: Where parameters of distributions are tried.
SHAPES: Final[dict[str, tuple[float, ...]]] = {
    "p": (0.0, 1.0, 0.5),
    "q": (0.0, 1.0, 0.5),
    "n": (1.0, 3.0),
    "k": (0.0, 1.0, 2.0, 3.0),
    "mu": (0.0, 1.0),
    "x": (0.0, 1.0, -1.0, 0.5),
    "s": (1.0, 0.5),
    "c": (1.0, 2.0, 0.5),
    "kappa": (0.0, 1.0),
    "beta": (2.0, 3.0),
    **dict.fromkeys(("a", "b"), (1.0, 2.0, 0.5, 3.0)),
    **dict.fromkeys(("df", "dfn", "dfd"), (1.0, 2.0, 4.0)),
}
OWN_SHAPES: Final = {
    "truncnorm": {"a": (-1.0, -2.0), "b": (1.0, 2.0)},
    "wrapcauchy": {"c": (0.3, 0.5)},
}
#: A product with zero is zero, in ``xlogy`` and densities: they have no slope in the power there.
_NO_POWERS: Final = {
    "beta": "ab",
    "gamma": "a",
    "chi2": ("df",),
    "f": ("dfn", "dfd"),
    "weibull_min": "c",
    "gennorm": ("beta",),  # whose second derivative is none of the incomplete gamma function
}


def fitted(function: Function, step: float, side: int) -> HostArray:
    """Fit a polynomial of degree 9 beside a point, and return its derivatives at the point."""
    count, degree = 18, 9
    nodes = (1 + np.cos((np.arange(count) + 0.5) * math.pi / count)) / 2
    values = np.stack([function(side * step * t) for t in nodes])
    solved = np.linalg.pinv(np.vander(nodes, degree + 1, increasing=True))
    coefficients = (solved @ values.reshape(count, -1)).reshape(degree + 1, *values.shape[1:])
    rows = [math.factorial(k) * coefficients[k] / (side * step) ** k for k in ORDERS]
    return np.stack(rows)


def one_sided(function: Function, side: int) -> HostArray:
    """Return the derivatives on a side: NaN without values, infinite where fits' widths matter."""
    wide, narrow = fitted(function, 0.2, side), fitted(function, 0.08, side)
    limit = TOLERANCES[:, None] * np.maximum(1, np.abs(narrow))
    diverges = np.isfinite(narrow) & ~(np.abs(wide - narrow) < limit)
    return np.where(diverges, math.inf, narrow)


def derivatives(function: Function, x: HostArray) -> HostArray:
    """Differentiate three times, forward; NaN where there is no second derivative in a shape."""
    rows: list[HostArray] = []
    for order in ORDERS:
        below = function
        function = lambda y, f=below: tinyjax.jvp(f, (y,), (jnp.ones_like(y),))[1]  # noqa: E731
        try:
            rows.append(np.asarray(function(x)))
        except DifferentiationError:
            if order == 1:
                raise
            rows.append(np.full_like(rows[0], math.nan))
    return np.stack(rows)


@np.errstate(all="ignore")
def check(ours: Function, theirs: Function, points: Sequence[HostArray], position: int) -> None:
    def evaluate(function: Function, x: Any) -> Any:
        return function(*points[:position], x, *points[position + 1 :])

    actual = derivatives(partial(evaluate, ours), points[position])
    right, left = (
        one_sided(lambda t: np.asarray(evaluate(theirs, points[position] + t)), side)
        for side in (1, -1)
    )
    candidates = np.stack([right, left, (right + left) / 2])
    limit = 10 * TOLERANCES[:, None] * np.maximum(1, np.abs(candidates))
    fits = np.any(np.abs(actual - candidates) < limit, 0)
    known = ~(np.isinf(right) | np.isinf(left)) & (np.isfinite(right) | np.isfinite(left))
    wrong = known & np.isfinite(actual) & ~fits
    report = [
        (order + 1, *[float(p[i]) for p in points], actual[order, i], *candidates[:2, order, i])
        for order, i in np.argwhere(wrong)
    ]
    assert not report, f"order, arguments, derivative, right, left: {report[:5]}"


def grid(*values: Sequence[float]) -> list[HostArray]:
    columns = zip(*product(*values), strict=True)
    return [np.array(column) for column in columns]


def component(function: Function, k: int | None) -> Function:
    return function if k is None else lambda *xs: function(*xs)[k]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ROWS)
def test_universal_functions(name: str) -> None:
    row = TABLE[name]
    example: tuple[float, ...] = eval(f"({row.example},)")
    ends = EDGES if len(example) < 3 else (0.0, 1.0)
    points = grid(*[(0, 1, 2, 3) if type(x) is int else (x, *ends) for x in example])
    if name == "huber":  # a corner of two kinks
        points = [p[(points[0] != 0) | (points[1] != 0)] for p in points]
    several = len(eval(row.value)) if row.value.startswith("[") else 0
    for k in range(several) if several else (None,):
        ours, theirs = (component(getattr(m, name), k) for m in (special, scipy.special))
        if "j" in row.value:
            ours = lambda *xs, f=ours: jnp.real(f(*xs))  # noqa: E731
            theirs = lambda *xs, f=theirs: np.real(f(*xs))  # noqa: E731
        for i, parameter in enumerate(row.parameters):
            formula = row.program or row.like or row.inverse or parameter in row.derivatives
            if formula and type(example[i]) is float:
                check(ours, theirs, points, i)


@pytest.mark.parametrize("name", OWN)
def test_functions_beside_the_table(name: str) -> None:
    count = len(inspect.signature(getattr(special, name)).parameters)
    count = {"log_ndtr": 1}.get(name, count)
    points = grid(*[(*EDGES, 3.0, -2.0) if count < 3 else EDGES[:4]] * count)
    for position in OWN[name]:
        check(getattr(special, name), getattr(scipy.special, name), points, position)


@pytest.mark.parametrize("name", LAWS)
def test_distributions(name: str) -> None:
    shapes = SHAPES | OWN_SHAPES.get(name, {})
    for kind in ["logpmf", "pmf", "logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"]:
        function = getattr(getattr(stats, name), kind, None)
        if function is None:
            continue
        names = [p for p in inspect.signature(function).parameters if p not in ("loc", "scale")]
        points = grid(*[shapes[parameter] for parameter in names])
        for i, parameter in enumerate(names):
            of_count = parameter == "k" or (parameter == "n" and "binom" in name)
            if not of_count and not (i and parameter in _NO_POWERS.get(name, ())):
                check(function, getattr(getattr(scipy.stats, name), kind), points, i)


def nested(function: Function, order: int) -> Function:
    return function if order == 0 else tinyjax.grad(nested(function, order - 1))


#: Functions with a series at 0: ours, mpmath's.
SERIES: Final[dict[str, tuple[Function, Function]]] = {
    **{
        f"{name} {v}": (partial(getattr(special, name), float(v)), partial(function, v))
        for name, function in (
            ("jv", mpmath.besselj),
            ("iv", mpmath.besseli),
            ("jve", mpmath.besselj),
        )
        for v in range(4)
    },
    **{
        f"{name} {n}": (
            partial(getattr(special, name), n),
            lambda x, n=n, sign=sign: (
                mpmath.sqrt(mpmath.pi)
                * (x / 2) ** n
                * mpmath.hyp0f1(n + 1.5, sign * x * x / 4)
                / (2 * mpmath.gamma(n + 1.5))
            ),
        )
        for name, sign in (("spherical_jn", -1), ("spherical_in", 1))
        for n in range(4)
    },
    **{
        f"{kind}{n}": (getattr(special, f"{kind}{n}"), partial(function, n))
        for kind, function in (("j", mpmath.besselj), ("i", mpmath.besseli))
        for n in (0, 1)
    },
    "struve": (partial(special.struve, 0.0), partial(mpmath.struveh, 0)),
    "modstruve": (partial(special.modstruve, 1.0), partial(mpmath.struvel, 1)),
    "ber": (special.ber, partial(mpmath.ber, 0)),
    "bei": (special.bei, partial(mpmath.bei, 0)),
    "shichi": (lambda x: special.shichi(x)[0], mpmath.shi),
    "boxcox": (partial(special.boxcox, 5.0), lambda p: (mpmath.mpf(5) ** p - 1) / p),
    "boxcox1p": (partial(special.boxcox1p, 0.3), lambda p: (mpmath.mpf("1.3") ** p - 1) / p),
    "exprel": (special.exprel, lambda x: mpmath.expm1(x) / x),
    "sinc": (jnp.sinc, mpmath.sincpi),
}


@pytest.mark.parametrize("name", SERIES)
def test_series_to_the_fourth_order(name: str) -> None:
    ours, theirs = SERIES[name]
    with mpmath.workdps(60):
        # sides of 0 that the rounded function does not tell apart
        for x, at in ((0.0, "1e-25"), (1e-8, "1e-8"), (1e-3, "1e-3")):
            for order in range(5):
                expected = float(mpmath.re(mpmath.diff(theirs, mpmath.mpf(at), order, h="1e-12")))
                actual = float(nested(ours, order)(np.float64(x)))
                assert actual == pytest.approx(expected, rel=1e-6, abs=1e-7), (x, order)


@pytest.mark.parametrize("df", [1e6, 1e8, 1e10, 1e12, 1e15])
def test_t_with_many_degrees_of_freedom(df: float) -> None:
    def log_density(df: Any) -> Any:
        half, z = df / 2, mpmath.mpf("1.5")
        ways = mpmath.loggamma(half + 0.5) - mpmath.loggamma(half)
        return ways - mpmath.log(mpmath.pi * df) / 2 - (half + 0.5) * mpmath.log1p(z * z / df)

    ours = partial(stats.t.logpdf, np.float64(1.5))
    with mpmath.workdps(60):
        expected = [float(mpmath.diff(log_density, mpmath.mpf(df), k)) for k in (0, 1)]
    assert float(ours(np.float64(df))) == pytest.approx(expected[0], abs=1e-13)
    if df < 1e12:  # the terms that cancel are a million million times as large
        assert float(nested(ours, 1)(np.float64(df))) == pytest.approx(expected[1], rel=1e-3)


@pytest.mark.parametrize("tier", ["host", "compiled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_slopes_of_probabilities(tier: Literal["host", "compiled"], dtype: type) -> None:
    # a row: the function of a probability, where, its derivatives
    rows: list[tuple[Function, tuple[float, float, float]]] = [
        (partial(stats.binom.pmf, 1, 3), (0.0, 3.0, -12.0)),
        (partial(stats.binom.logpmf, 0, 100), (0.0, -100.0, -100.0)),
        (partial(stats.bernoulli.pmf, 1), (0.0, 1.0, 0.0)),
        (partial(stats.poisson.pmf, 2), (0.0, 0.0, 1.0)),
        (partial(stats.geom.pmf, 2), (1.0, -1.0, -2.0)),
        (partial(stats.nbinom.pmf, 1, 2), (1.0, -2.0, -8.0)),
        (lambda x: stats.gamma.pdf(x, 3.0), (0.0, 0.0, 1.0)),
        (lambda x: stats.beta.cdf(x, 2.0, 1.0), (0.0, 0.0, 2.0)),
        (special.i0e, (0.0, 0.0, 1.5)),
        (special.j0, (0.0, 0.0, -0.5)),
        (lambda p: special.boxcox(math.e, p), (0.0, 0.5, 1 / 3)),
    ]

    def evaluate(x: Any) -> Any:
        first, second = ([nested(f, k)(x[i]) for i, (f, _) in enumerate(rows)] for k in (1, 2))
        return jnp.stack(first), jnp.stack(second)

    x: HostArray = np.array([numbers[0] for _, numbers in rows], dtype)
    for actual, column in zip(tinyjax.jit(evaluate, tier=tier)(x), (1, 2), strict=True):
        np.testing.assert_allclose(
            actual, [numbers[column] for _, numbers in rows], rtol=1e-5, atol=1e-6
        )

"""SciPy's universal functions: values against SciPy's, derivatives against differences of these.

One table says where each function is tried. ``nox -s fuzz`` tries all points; plain runs try fewer.
"""

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final
from zlib import crc32

import mpmath
import numpy as np
import pytest
import scipy.special

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import errors
from tinyjax._library.ufuncs.table import TABLE
from tinyjax.dtypes import HostArray
from tinyjax.scipy import special

pytestmark = pytest.mark.usefixtures("double_precision")

#: Where parameters lie, by their names, and by those of functions where these say otherwise; whole
#: numbers where the ends are.
DEFAULT: Final[dict[str, tuple[float, float]]] = {
    "x": (0.1, 3.0),
    "z": (0.3, 3.0),
    "y": (0.3, 3.0),
    "v": (0.3, 3.0),
    "n": (0, 6),
    "m": (0.1, 0.9),
    "p": (0.1, 0.9),
    "a": (0.5, 4.0),
    "b": (0.5, 4.0),
    "k": (0, 4),
    "df": (1.5, 9.0),
    "dfn": (1.5, 9.0),
    "dfd": (1.5, 9.0),
    "nc": (0.2, 4.0),
    "t": (-3.0, 3.0),
    "f": (0.3, 3.0),
    "q": (0.1, 3.0),
    "c": (0.3, 2.0),
    "d": (0.1, 0.9),
    "s": (0.0, 60.0),
    "alpha": (0.5, 2.0),
    "beta": (0.5, 2.0),
    "delta": (0.5, 2.0),
    "r": (-3.0, 3.0),
    "lmbda": (0.3, 2.0),
    "lmb": (0.3, 2.0),
    "nu": (0.3, 2.0),
    "phi": (-6.0, 6.0),
    "u": (-4.0, 4.0),
    "sigma": (0.5, 2.0),
    "gamma": (0.5, 2.0),
    "std": (0.5, 2.0),
    "mn": (-1.0, 1.0),
    "cv": (5.0, 7.0),
}
_ORDER: Final[dict[str, tuple[float, float]]] = {"m": (1, 4), "q": (0.1, 3.0), "x": (0.1, 2.0)}
_ANGULAR: Final[dict[str, tuple[float, float]]] = {"m": (0, 2), "n": (2, 5), "x": (-0.8, 0.8)}
_RADIAL: Final[dict[str, tuple[float, float]]] = _ANGULAR | {"x": (1.2, 3.0)}
_OBLATE: Final[dict[str, tuple[float, float]]] = _ANGULAR | {"x": (0.2, 3.0)}
_UNIT: Final[dict[str, tuple[float, float]]] = {"x": (0.1, 0.9), "n": (5, 9)}
OWN: Final[dict[str, dict[str, tuple[float, float]]]] = {
    **dict.fromkeys((name for name in TABLE if name.startswith("mathieu")), _ORDER),
    **dict.fromkeys((name for name in TABLE if name.startswith("pro_")), _RADIAL),
    **dict.fromkeys((name for name in TABLE if name.startswith("obl_")), _OBLATE),
    **dict.fromkeys(("pro_ang1", "pro_ang1_cv", "obl_ang1", "obl_ang1_cv"), _ANGULAR),
    **dict.fromkeys(("betaincc", "btdtria", "btdtrib", "bdtr", "bdtrc", "bdtri"), _UNIT),
    **dict.fromkeys(("nbdtr", "nbdtrc", "nbdtri", "smirnov", "smirnovi"), _UNIT),
    "mathieu_cem": _ORDER | {"x": (-90.0, 90.0)},
    "mathieu_sem": _ORDER | {"x": (-90.0, 90.0)},
    "lpmv": {"m": (0, 2), "x": (-0.9, 0.9)},
    "erfcinv": {"x": (0.1, 1.9)},
    "ndtri_exp": {"x": (-9.0, -0.1)},
    "pdtrik": {"p": (0.6, 0.9), "m": (0.5, 3.0)},
    "bdtri": _UNIT | {"y": (0.1, 0.9)},
    "bdtrik": {"y": (0.4, 0.9), "n": (6.0, 9.0), "p": (0.2, 0.4)},
    "bdtrin": {"k": (1.0, 4.0), "y": (0.1, 0.6), "p": (0.2, 0.6)},
    "nbdtri": _UNIT | {"y": (0.1, 0.9)},
    "nbdtrik": {"y": (0.5, 0.9), "n": (2.0, 9.0), "p": (0.2, 0.5)},
    "nbdtrin": {"k": (1.0, 4.0), "y": (0.1, 0.6), "p": (0.2, 0.6)},
    "fdtridfd": {"dfn": (2.0, 9.0), "p": (0.52, 0.54), "x": (1.0, 1.02)},
    "stdtridf": {"p": (0.72, 0.75), "t": (0.75, 0.85)},
    "chndtridf": {"x": (4.0, 9.0), "p": (0.1, 0.5)},
    "chndtrinc": {"x": (5.0, 9.0), "df": (1.5, 3.0), "p": (0.1, 0.5)},
    "ncfdtrinc": {"p": (0.1, 0.4), "f": (2.0, 4.0)},
    "tklmbda": {"x": (-0.45, 0.45)},
    "cbrt": {"x": (-3.0, 3.0)},
    "radian": {"d": (-90.0, 90.0), "m": (0.0, 60.0)},
    "eval_hermite": {"x": (-3.0, 3.0)},
    "ber": {"x": (-3.0, 3.0)},
    "inv_boxcox": {"lmbda": (-0.3, 0.3)},
    "powm1": {"y": (-3.0, 3.0)},
}


def points(name: str, count: int = 12) -> list[HostArray]:
    """Draw arguments of a function: where it is defined, and has derivatives."""
    rng = np.random.default_rng(crc32(name.encode()))
    ranges = DEFAULT | OWN.get(name, {})
    arguments: list[HostArray] = []
    for parameter in TABLE[name].parameters:
        low, high = ranges[parameter]
        drawn = rng.uniform(low, high + 0.99 * (type(low) is int), count)
        arguments.append(np.floor(drawn).astype(int) if type(low) is int else drawn)
    if "cv" in TABLE[name].parameters:  # SciPy's series are solutions for characteristic values
        arguments[3] = reference(f"{name[:3]}_cv")(*arguments[:3])
    return arguments


def reference(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(scipy.special, name)
    return function


def tuple_of(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def differences(name: str, xs: list[HostArray], position: int) -> list[HostArray]:
    """Extrapolate central differences (Ridders)."""
    fun = reference(name)

    def quotients(step: float) -> list[HostArray]:
        high, low = list(xs), list(xs)
        high[position], low[position] = xs[position] + step, xs[position] - step
        pairs = zip(tuple_of(fun(*high)), tuple_of(fun(*low)), strict=True)
        return [(a - b) / (2 * step) for a, b in pairs]

    step = 0.02
    rows = [quotients(step / 2**k) for k in range(5)]
    for order in range(1, 5):
        rows = [
            [(4**order * b - a) / (4**order - 1) for a, b in zip(r, s, strict=True)]
            for r, s in pairwise(rows)
        ]
    return rows[0]


NAMES: Final = [name for name in TABLE if hasattr(special, name)]
#: What SciPy's specfun does far out ends the process, or takes gigabytes.
_NEAR_ONLY: Final = ("mathieu", "pro_", "obl_", "pb")
EDGES: Final = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, -30.0, np.inf, -np.inf, np.nan)
#: Programs of tinyjax's own: rounding differs.
_ULPS: Final = 4


def arrays(xs: list[HostArray]) -> list[Any]:
    return [jnp.asarray(x) for x in xs]


def with_edges(name: str, count: int) -> list[HostArray]:
    xs = points(name, count)
    if not name.startswith(_NEAR_ONLY) and np.issubdtype(xs[-1].dtype, np.inexact):
        xs[-1][: len(EDGES)] = EDGES
    return xs


def check_values(name: str, actual: Any, expected: Any) -> None:
    for ours, theirs in zip(tuple_of(actual), tuple_of(expected), strict=True):
        assert ours.dtype == theirs.dtype, name
        if TABLE[name].program:
            eps = float(np.finfo(theirs.dtype).eps)
            np.testing.assert_allclose(ours, theirs, _ULPS * eps, err_msg=name)
        else:  # of which the subnormal numbers depend on the thread, in SciPy
            tiny = float(np.finfo(theirs.dtype).tiny) if theirs.dtype.kind in "fc" else 0
            np.testing.assert_allclose(np.asarray(ours), theirs, 0, tiny, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    xs = with_edges(name, 200)
    fun = getattr(special, name)
    with np.errstate(all="ignore"):
        expected = reference(name)(*xs)
    check_values(name, fun(*arrays(xs)), expected)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
def test_compiled_and_mapped(name: str) -> None:
    xs = with_edges(name, 24)
    fun = getattr(special, name)
    expected = tuple_of(fun(*arrays(xs)))
    for way in (tinyjax.jit(fun), tinyjax.vmap(fun), tinyjax.jit(tinyjax.vmap(fun))):
        for ours, theirs in zip(tuple_of(way(*arrays(xs))), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-14, 1e-300)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_single_precision(name: str) -> None:
    """It stays: results are those of double precision, rounded, or of SciPy's loop where good."""
    types = getattr(reference(name), "types", ["ld->d"])
    xs = points(name, 40)
    for i, x in enumerate(xs):
        if x.dtype == np.float64 or not any(loop[i] == "l" for loop in types):
            xs[i] = x.astype(np.float32)
    found = tuple_of(getattr(special, name)(*arrays(xs)))
    wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in xs]
    expected = tuple_of(reference(name)(*wide))
    for ours, theirs in zip(found, expected, strict=True):
        single = np.complex64 if np.iscomplexobj(theirs) else np.float32
        assert ours.dtype == single
        with np.errstate(over="ignore", under="ignore"):  # bounds of a search are 1e100
            np.testing.assert_allclose(np.asarray(ours), theirs.astype(single), 1e-5, 1e-37)


@pytest.mark.parametrize("name", [name for name in NAMES if TABLE[name].complex])
def test_complex_numbers(name: str) -> None:
    """Values are SciPy's, and derivatives those along the real axis: functions are holomorphic."""
    row = TABLE[name]
    xs = points(name)
    if name.startswith("ellipr"):
        xs = [x + 0j for x in xs]
    for i, parameter in enumerate(row.parameters):
        if parameter in row.complex:
            xs[i] = xs[i] + 1j * np.linspace(0.3, 1.1, xs[i].size)
    fun = getattr(special, name)
    check_values(name, fun(*arrays(xs)), reference(name)(*xs))
    for i, parameter in enumerate(row.parameters):
        known = row.derivatives.get(parameter)
        if known and not known[1]:
            check_derivative(name, xs, i)


#: Functions that SciPy finds by iterations or series of few digits: the tolerance of differences.
TOLERANCES: Final[dict[str, float]] = {
    "itairy": 1e-2,  # SciPy's values have some six digits
    "pro_rad2": 1e-2,
    "pro_rad2_cv": 1e-2,
    "ncfdtrinc": 0.1,
    "smirnovi": 1e-3,  # smooth piece by piece
}


def derivative_of(name: str, xs: list[HostArray], position: int) -> Callable[[Any], Any]:
    """The function's derivative in one argument, by forward mode."""

    def of_one(x: Any) -> Any:
        operands = arrays(xs)
        operands[position] = x
        return getattr(special, name)(*operands)

    return lambda x: tinyjax.jvp(of_one, (x,), (jnp.ones_like(x),))[1]


def check_derivative(name: str, xs: list[HostArray], position: int) -> None:
    found = derivative_of(name, xs, position)(jnp.asarray(xs[position]))
    expected = differences(name, xs, position)
    for ours, theirs in zip(tuple_of(found), expected, strict=True):
        tolerance = TOLERANCES.get(name, 1e-6)
        least = 1e-3 * tolerance * float(np.abs(theirs).max())
        message = f"{name} in {TABLE[name].parameters[position]}"
        np.testing.assert_allclose(np.asarray(ours), theirs, tolerance, least, err_msg=message)


def positions(name: str) -> list[int]:
    """The arguments in which there is a derivative, for the points that are drawn."""
    row, xs = TABLE[name], points(name, 1)
    return [
        i
        for i, parameter in enumerate(row.parameters)
        if row.program or row.like or row.inverse or parameter in row.derivatives
        if xs[i].dtype == np.float64
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if positions(name)])
def test_derivatives(name: str) -> None:
    for i in positions(name):
        check_derivative(name, points(name), i)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [name for name in NAMES if positions(name)])
def test_gradients_are_those_of_forward_mode(name: str) -> None:
    xs = points(name, 3)
    fun = getattr(special, name)
    for i in positions(name):
        forward = derivative_of(name, xs, i)(jnp.asarray(xs[i]))
        expected = sum(np.real(x) for x in tuple_of(forward))

        def total(*args: Any) -> Any:
            return sum(jnp.sum(jnp.real(x)) for x in tuple_of(fun(*args)))

        gradient = tinyjax.grad(total, i)
        for way in (gradient, tinyjax.jit(gradient), tinyjax.vmap(gradient)):
            np.testing.assert_allclose(way(*arrays(xs)), expected, 1e-9, 1e-12)


#: Functions with a derivative that has none of its own: that of the incomplete gamma function in
#: its parameter, of Mathieu's functions in q, and SciPy's of Smirnov's statistic.
_ONCE: Final = """
gammaincinv gammainccinv gdtr gdtrc gdtria gdtrib gdtrix chdtr chdtrc chdtri chdtriv pdtrik
mathieu_a mathieu_b smirnov smirnovi
"""
ONCE: Final = _ONCE.split()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name in NAMES if positions(name)])
def test_second_derivatives(name: str) -> None:
    """Against differences of first ones; or refused, by name."""
    for i in positions(name):
        xs = points(name, 4)
        first = derivative_of(name, xs, i)
        x = jnp.asarray(xs[i])
        try:
            second = tinyjax.jvp(first, (x,), (jnp.ones_like(x),))[1]
        except errors.DifferentiationError:
            assert name in ONCE, f"{name} in {TABLE[name].parameters[i]} has no second derivative"
            continue
        step = 1e-3
        ends = [tuple_of(first(x + k * step)) for k in (-2, -1, 1, 2)]
        for ours, a, b, c, d in zip(tuple_of(second), *ends, strict=True):
            expected = np.asarray((a - d + 8 * (c - b)) / (12 * step))
            tolerance = max(1e-4, TOLERANCES.get(name, 0.0))
            least = tolerance * float(np.abs(expected).max()) + 1e-9
            np.testing.assert_allclose(ours, expected, tolerance, least, err_msg=name)


@pytest.mark.filterwarnings("ignore:.*non-integer arg n:DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_what_has_no_derivative_is_refused_by_name(name: str) -> None:
    row = TABLE[name]
    xs = [x.astype(np.float64) for x in points(name, 2)]
    for i, parameter in enumerate(row.parameters):
        if not (row.program or row.like or row.inverse or parameter in row.derivatives):
            types = getattr(reference(name), "types", ["ld->d"])
            refused = f"{name} has no .* argument {parameter}"
            if all(loop[i] == "l" for loop in types):
                refused = f"{name} of SciPy takes"
            with raises((errors.DifferentiationError, errors.DtypeError), match=refused):
                derivative_of(name, xs, i)(jnp.asarray(xs[i]))


def test_every_ufunc_of_scipy_is_there() -> None:
    ufuncs = {name for name, f in vars(scipy.special).items() if isinstance(f, np.ufunc)}
    assert ufuncs - {*special.__all__} == set()


def test_the_table_says_which_arguments_may_be_complex() -> None:
    for name in NAMES:
        types = getattr(reference(name), "types", ["lD->D"])
        for i, parameter in enumerate(TABLE[name].parameters):
            is_complex = any(loop[i] == "D" for loop in types)
            assert (parameter in TABLE[name].complex) == is_complex, (name, parameter)


#: Derivatives of a function in an argument, by mpmath, and points.
EXACT: Final[dict[str, tuple[int, Callable[..., Any], tuple[float, ...]]]] = {
    "jv": (1, mpmath.besselj, (1.3, 2.2)),
    "kv": (1, mpmath.besselk, (2.7, 0.4)),
    "kv in the order": (0, mpmath.besselk, (0.0001, 1e-6)),
    "kv in a high order": (0, mpmath.besselk, (-60.5, 3.0)),
    "kv in the order far out": (0, mpmath.besselk, (1.5, 300.0)),
    "kve in the order": (0, lambda v, z: mpmath.exp(z) * mpmath.besselk(v, z), (2.5, 2000.0)),
    "kve": (1, lambda v, z: mpmath.exp(z) * mpmath.besselk(v, z), (1.5, 800.0)),
    "ive": (1, lambda v, z: mpmath.exp(-z) * mpmath.besseli(v, z), (1.5, 800.0)),
    "k1e": (0, lambda z: mpmath.exp(z) * mpmath.besselk(1, z), (3000.0,)),
    "struve": (1, mpmath.struveh, (1.5, 2.0)),
    "ber": (0, lambda x: mpmath.ber(0, x), (1.7,)),
    "ellipk": (0, mpmath.ellipk, (1e-9,)),
    "ellipe": (0, mpmath.ellipe, (0.3,)),
    "ellipkinc": (1, mpmath.ellipf, (4.0, 0.6)),
    "elliprd": (2, mpmath.elliprd, (0.5, 1.5, 1.5)),
    "elliprj": (3, mpmath.elliprj, (0.5, 1.5, 2.5, 2.5)),
    "agm": (0, mpmath.agm, (3.0, 0.2)),
    "betaincc": (0, lambda a, b, x: mpmath.betainc(a, b, x, 1, True), (2.5, 0.7, 0.4)),
    "stdtr": (
        0,
        lambda df, t: mpmath.betainc(df / 2, 0.5, 0, df / (df + t * t), True) / 2,
        (3.0, -1.2),
    ),
    "gdtr": (1, lambda a, b, x: mpmath.gammainc(b, 0, a * x, True), (1.5, 3.0, 2.0)),
    "rgamma": (0, mpmath.rgamma, (-3.0,)),
    "erfi": (0, mpmath.erfi, (1.2,)),
    "exprel": (0, lambda x: mpmath.expm1(x) / x, (1e-5,)),
    "shichi": (0, mpmath.shi, (0.8,)),
    "hyperu": (2, mpmath.hyperu, (1.2, 0.7, 2.0)),
    "eval_jacobi": (3, mpmath.jacobi, (2.5, 0.3, 0.6, 0.4)),
    "lambertw": (0, mpmath.lambertw, (2.0,)),
}


@pytest.mark.parametrize("name", EXACT)
def test_derivatives_by_mpmath(name: str) -> None:
    position, exact, at = EXACT[name]

    def of_one(x: Any) -> Any:
        return tuple_of(
            getattr(special, name.partition(" ")[0])(*at[:position], x, *at[position + 1 :])
        )[0]

    _, found = tinyjax.jvp(of_one, (jnp.float64(at[position]),), (jnp.float64(1.0),))
    with mpmath.workdps(60):
        ends = [*map(mpmath.mpf, at)]
        expected = mpmath.diff(
            lambda x: exact(*ends[:position], x, *ends[position + 1 :]), ends[position]
        )
    np.testing.assert_allclose(complex(found), complex(expected), 1e-11)


def test_a_program_has_one_call() -> None:
    over_both = tinyjax.vmap(tinyjax.vmap(special.kv, (None, 0)), (0, None))
    program = tinyjax.make_jaxpr(over_both)(jnp.ones(3), jnp.ones(4))
    assert [eqn.primitive.name for eqn in program.eqns].count("host_ufunc") == 1


def test_it_composes() -> None:
    """With loops, checkpoints and second derivatives, compiled."""

    def total(x: Any) -> Any:
        step = tinyjax.checkpoint(lambda c, v: (c + special.k0(v * c), c))
        return tinyjax.lax.scan(step, jnp.float64(1.0), x)[0]

    x = jnp.array([0.5, 1.0, 1.5])
    compiled = tinyjax.jit(tinyjax.grad(total))(x)
    np.testing.assert_allclose(compiled, tinyjax.jacfwd(total)(x), 1e-12)
    second = tinyjax.jit(tinyjax.hessian(total))(x)
    np.testing.assert_allclose(second, np.asarray(second).T, 1e-9, 1e-12)


def test_integers_and_numbers() -> None:
    assert special.kn(2, 1).dtype == np.float64
    assert special.eval_hermite(3, jnp.float32(0.5)).dtype == np.float32
    half = special.jv(jnp.float16(1.0), jnp.float16(2.0))
    assert half.dtype == np.float16
    assert float(half) == np.float16(scipy.special.jv(1.0, 2.0))
    assert special.hankel1(1.0, 2.0).dtype == np.complex128


def test_complex_orders_are_refused() -> None:
    with raises(errors.DtypeError, match="v of kv"):
        special.kv(1j, 1.0)
    with raises(errors.DtypeError, match="x of cbrt"):
        special.cbrt(1j)
    with raises(errors.DifferentiationError, match="jve has no .* z of complex numbers"):
        tinyjax.jvp(lambda z: special.jve(1.0, z), (1j,), (1j,))


def test_functions_that_are_none_inside() -> None:
    x = jnp.array([0.5, 2.0])
    for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
        ours, theirs = getattr(special, name), getattr(scipy.special, name)
        np.testing.assert_allclose(ours(2, x), theirs(2, np.asarray(x)), 1e-14)
        expected = theirs(2, np.asarray(x), derivative=True)
        np.testing.assert_allclose(ours(2, x, derivative=True), expected, 1e-12)
    n, k = np.array([5.0, 6.0, 3.0, -1.0]), np.array([2.0, 6.0, 4.0, 1.0])
    np.testing.assert_allclose(special.perm(n, k), scipy.special.perm(n, k), 1e-14)
    np.testing.assert_allclose(special.lambertw(-0.2, -1), scipy.special.lambertw(-0.2, -1))


WITHOUT_SCIPY: Final = """
import sys
import tinyjax, tinyjax.scipy.special as special
special.kv
assert "scipy" not in sys.modules
sys.modules["scipy"] = sys.modules["scipy.special"] = None
print(special.log1p(0.0))
try:
    special.kv(1.0, 2.0)
except tinyjax.errors.PlatformError as error:
    print(error.message)
"""


def test_scipy_is_loaded_when_it_is_needed_and_its_absence_said() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SCIPY], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("0.0\n")
    assert "pip install scipy" in done.stdout


def _of_matrix(order: int, q: float, sign: int) -> float:
    """The derivative of a characteristic value of Mathieu's equation, by an eigenvector."""
    frequencies = np.arange(1.0 if order % 2 else 1.0 - sign, 160, 2)
    slope = np.diag(np.ones(len(frequencies) - 1), 1)
    if order % 2:
        slope[0, 0] = sign / 2
    elif sign > 0:
        slope[0, 1] = np.sqrt(2)
    slope = slope + slope.T
    _, vectors = np.linalg.eigh(np.diag(frequencies**2) + q * slope)
    vector = vectors[:, (order - int(frequencies[0])) // 2]
    return float(vector @ slope @ vector)


@pytest.mark.parametrize(("name", "sign"), [("mathieu_a", 1), ("mathieu_b", -1)])
def test_characteristic_values_of_mathieu(name: str, sign: int) -> None:
    """Derivatives at all orders and far out, and second ones."""
    fun = getattr(special, name)
    orders = np.arange(1 if sign < 0 else 0, 12).repeat(5)
    q = np.resize([0.0, 0.01, -2.0, 5.0, 60.0], len(orders))
    slopes = derivative_of(name, [orders.astype(float), q], 1)(jnp.asarray(q))
    expected = [_of_matrix(int(m), at, sign) for m, at in zip(orders, q, strict=True)]
    np.testing.assert_allclose(slopes, expected, 1e-9, 1e-12)
    curvature = tinyjax.grad(tinyjax.grad(lambda q: fun(3.0, q)))(2.0)
    change = _of_matrix(3, 2.0 + 1e-4, sign) - _of_matrix(3, 2.0 - 1e-4, sign)
    np.testing.assert_allclose(curvature, change / 2e-4, 1e-6)

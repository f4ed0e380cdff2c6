"""Interpolants at their knots, beside SciPy's: values, and slopes by differences of each side.

Under every transformation the value is SciPy's, on whichever side of a jump it lies. The slope is
the mean of those of the sides on which the function is continuous: of both at a kink, of one at a
jump. Derivatives in values are those of the value that is returned.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.scipy import interpolate, ndimage

#: A function of one place, made by a library, its arrays' module, values, and a shift of knots.
Make = Callable[[Any, Any, Any, Any], Callable[[Any], Any]]


class Case(NamedTuple):
    """An interpolant, the values it goes through, and places by their kinds."""

    make: Make
    values: np.ndarray
    places: dict[str, list[float]]
    has_shift: bool = True

    def theirs(self, values: Any = None, shift: float = 0.0) -> Callable[[float], float]:
        """Return SciPy's function."""
        function = self.make(SciPy, np, self.values if values is None else values, shift)
        return lambda q: float(np.ravel(function(np.float64(q)))[0])

    def ours(self, values: Any, shift: Any, q: Any) -> Any:
        """Return the value at a place."""
        return jnp.ravel(self.make(Ours, jnp, values, shift)(q))[0]

    def value(self, q: Any) -> Any:
        """Return the value at a place, of what is not traced."""
        return self.ours(self.values, 0.0, q)


class SciPy:
    interpolate, ndimage = scipy.interpolate, scipy.ndimage


class Ours:
    interpolate, ndimage = interpolate, ndimage


#: Knots that occur once, and their values.
K: Final = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 6.0])
V: Final = np.array([0.5, 1.2, 2.3, 1.7, 0.9, 3.1])
#: Points of which some coincide: at the first end, inside, and at the last end.
D: Final = np.array([0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0])
W: Final = np.array([0.3, 0.8, 1.5, 0.4, -0.9, 1.1, 1.9, 0.2, -0.6])
#: Pieces that jump at most knots.
C: Final = np.array(
    [[1.0, -0.5, 0.3, 0.8, -0.4], [2.0, 0.6, -1.2, 0.1, 0.5], [0.5, 1.9, -0.7, 0.2, 1.1]]
)
SIMPLE: Final = {
    "inside": [0.4, 2.7, 5.2],
    "knots": [1.0, 2.5, 3.0, 4.5],
    "ends": [0.0, 6.0],
    "outside": [-0.7, 6.8],
}
DOUBLE: Final = {
    "inside": [0.4, 1.3, 2.6, 3.3],
    "knots": [1.0, 3.0],
    "repeated": [2.0],
    "ends": [0.0, 4.0],
    "outside": [-0.7, 4.6],
}


def of_derivative(function: Any, nu: int) -> Callable[[Any], Any]:
    return lambda q: function(q, nu)


def spline(t: np.ndarray, k: int, nu: int = 0, extrapolate: bool = True) -> Make:
    return lambda S, m, v, s: of_derivative(S.interpolate.BSpline(t + s, v, k, extrapolate), nu)


def interpolating(k: int) -> Make:
    return lambda S, m, v, s: S.interpolate.make_interp_spline(m.asarray(K + s), v, k)


def splines() -> Iterator[tuple[str, Case]]:
    """B-splines of each degree: of simple knots, and of inner ones that are repeated."""
    for k in range(4):
        places = {
            "inside": [0.4, 1.5, 3.3, 5.1],
            "knots": [1.0, 4.5],
            "repeated": [2.0],
            "ends": [0.0, 6.0],
            "outside": [-0.7, 6.8] if k else [],
        }
        for repeats in range(1, k + 2):
            t = np.repeat([0.0, 1.0, 2.0, 4.5, 6.0], [k + 1, 1, repeats, 1, k + 1])
            c = np.sin(np.arange(t.size - k - 1.0) ** 1.4) * 2
            for nu in range(k + 1):
                name = f"BSpline k={k} repeats={repeats} nu={nu}"
                yield name, Case(spline(t, k, nu), c, places)
        simple = SIMPLE if k else {**SIMPLE, "outside": []}
        yield f"make_interp_spline k={k}", Case(interpolating(k), V, simple)
    t, c = np.repeat([0.0, 2.0, 6.0], 2), np.array([0.5, 1.2, -2.3, 1.7])
    places = {"inside": [1.0], "repeated": [2.0], "ends": [0.0, 6.0], "outside": [-1.0, 7.0]}
    yield "BSpline without extrapolation", Case(spline(t, 1, 0, False), c, places)


def pieces(ends: np.ndarray, extrapolate: Any, nu: int = 0) -> Make:
    return lambda S, m, v, s: of_derivative(
        S.interpolate.PPoly(v.reshape(3, 5), ends + s, extrapolate), nu
    )


def integral(S: Any, m: Any, v: Any, s: Any) -> Callable[[Any], Any]:
    return lambda q: S.interpolate.PPoly(v.reshape(3, 5), K + s).integrate(0.5 + s, q)


def antiderivative(S: Any, m: Any, v: Any, s: Any) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = S.interpolate.PPoly(v.reshape(3, 5), K + s).antiderivative()
    return function


def periodic_lines(S: Any, m: Any, v: Any, s: Any) -> Callable[[Any], Any]:
    c = m.stack([m.diff(v), v[:-1]])
    function: Callable[[Any], Any] = S.interpolate.PPoly(c, np.arange(4.0) + s, "periodic")
    return function


def piecewise() -> Iterator[tuple[str, Case]]:
    """Piecewise polynomials: with jumps, with repeated ends, and that are periodic."""
    repeated = np.repeat([0.0, 2.0, 4.0], 2)
    for extrapolate in (True, False, "periodic"):
        for nu in (0, 1, 2):
            name = f"extrapolate={extrapolate} nu={nu}"
            yield f"PPoly {name}", Case(pieces(K, extrapolate, nu), C.ravel(), SIMPLE)
            twice = pieces(repeated, extrapolate, nu)
            yield f"PPoly of repeated ends {name}", Case(twice, C.ravel(), DOUBLE)
    yield "PPoly.antiderivative", Case(antiderivative, C.ravel(), SIMPLE)
    yield "PPoly.integrate", Case(integral, C.ravel(), SIMPLE)
    places = {"inside": [0.5], "knots": [1.0, 2.0], "ends": [0.0, 3.0], "outside": [-3.0, 6.0, 7.0]}
    values = np.array([1.0, 2.0, 4.0, 1.0])
    yield "PPoly that is periodic with a kink at its ends", Case(periodic_lines, values, places)


def through_points(name: str, nu: int) -> Make:
    more = (np.cos(V),) if name == "CubicHermiteSpline" else ()
    return lambda S, m, v, s: of_derivative(
        getattr(S.interpolate, name)(m.asarray(K + s), v, *more), nu
    )


def by_kind(kind: str, fill_value: Any) -> Make:
    return lambda S, m, v, s: S.interpolate.interp1d(
        K + s,
        v,
        kind,
        fill_value=fill_value,
        **({"bounds_error": False} if S is SciPy and fill_value != "extrapolate" else {}),
    )


def interpolants() -> Iterator[tuple[str, Case]]:
    """Piecewise polynomials through points."""
    for name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "CubicHermiteSpline"):
        for nu in (0, 1, 2, 3):
            yield f"{name} nu={nu}", Case(through_points(name, nu), V, SIMPLE)
    for kind in ("linear", "cubic", "nearest", "previous"):
        halves = [0.5, 1.75, np.nextafter(0.5, 1)] if kind == "nearest" else []
        for fill in (np.nan, "extrapolate"):
            case = Case(by_kind(kind, fill), V, {**SIMPLE, "halves": halves})
            yield f"interp1d kind={kind} fill={fill}", case


def table(points: np.ndarray, ends: tuple[float, ...] = (), period: float | None = None) -> Make:
    return lambda S, m, v, s: lambda q: m.interp(q, points + s, v, *ends, period=period)


def tables() -> Iterator[tuple[str, Case]]:
    """Tables of one axis, of which points may coincide."""
    for name, points, values, places in (
        ("", K, V, SIMPLE),
        (" of points that coincide", D, W, DOUBLE),
        (" of one place", np.ones(3), W[:3], {"repeated": [1.0], "outside": [0.0, 2.0]}),
        (" of values that coincide", D, W * 0 + 1, DOUBLE),
        (" beside an infinity", K[:4], np.array([np.inf, 1.0, 2.0, 4.0]), {"knots": [1.0, 2.5]}),
        (" beside NaN", K[:4], np.array([np.nan, 1.0, 2.0, 4.0]), {"knots": [1.0, 2.5]}),
    ):
        for ends in ((), (-1.0, 7.0)):
            yield f"interp{name} ends={ends}", Case(table(points, ends), values, places)
    places = {**SIMPLE, "outside": [-2.0, 9.0, 12.0]}
    yield "interp with a period", Case(table(K[1:], period=6.0), V[1:], places)
    # both ends are one place of the period, where the value jumps
    yield "interp with a period and a jump", Case(table(K, period=6.0), V, places)


def grid(points: np.ndarray, method: str = "linear", fill: float | None = np.nan) -> Make:
    def make(S: Any, m: Any, v: Any, s: Any) -> Callable[[Any], Any]:
        function = S.interpolate.RegularGridInterpolator(
            (points + s,), v, method, bounds_error=False, fill_value=fill
        )
        return lambda q: function(q[None, None])

    return make


def image(order: int, mode: str) -> Make:
    theirs = {"constant": "grid-constant", "wrap": "grid-wrap"}.get(mode, mode)
    return lambda S, m, v, s: (
        lambda q: S.ndimage.map_coordinates(
            v, [q[None]], order=order, mode=theirs if S is SciPy else mode
        )
    )


def grids() -> Iterator[tuple[str, Case]]:
    for method in ("linear", "nearest", "slinear", "cubic"):
        for fill in (None, np.nan):
            places = {**SIMPLE, "halves": [0.5, 1.75]}
            # SciPy's coefficients of splines end by a tolerance
            case = Case(grid(K, method, fill), V, places, has_shift=method == "linear")
            yield f"RegularGridInterpolator {method} fill={fill}", case
    for value in (np.inf, np.nan):
        case = Case(grid(K[:4]), np.array([value, 1.0, 2.0, 4.0]), {"knots": [1.0, 2.5]})
        yield f"RegularGridInterpolator beside {value}", case
    places = {
        "inside": [0.4, 2.7],
        "knots": [1.0, 2.0],
        "halves": [0.5, 1.5],
        "ends": [0.0, 5.0],
        "outside": [-0.3, 5.4],
    }
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
        for order in (0, 1):
            case = Case(image(order, mode), V, places, has_shift=False)
            yield f"map_coordinates order={order} mode={mode}", case


CASES: Final[dict[str, Case]] = {
    name: case
    for cases in (splines, piecewise, interpolants, tables, grids)
    for name, case in cases()
}
ROWS: Final = [
    pytest.param(name, kind, id=f"{name} {kind}")
    for name, case in CASES.items()
    for kind, places in case.places.items()
    if places
]
#: Those where derivatives in values are defined, and those whose knots may move.
DEFINED: Final = [
    row
    for row in ROWS
    for case in [CASES[str(row.values[0])]]
    if np.isfinite([*case.values, *map(case.theirs(), case.places[str(row.values[1])])]).all()
]
MOVING: Final = [row for row in DEFINED if CASES[str(row.values[0])].has_shift]
#: The step of differences: of second order, with errors of its square; and what is no jump.
STEP, JUMP = 1e-4, 0.02


def slope(function: Callable[[float], float], q: float) -> float:
    """Return the mean of the slopes of the sides on which a function is continuous, or NaN."""
    sides = []
    for h in (STEP, -STEP):
        first, second, third = (function(q + i * h) for i in range(3))
        if abs(second - first) < JUMP and abs(third - second) < JUMP:
            sides.append((4 * second - 3 * first - third) / (2 * h))
    return float(np.mean(sides)) if sides else np.nan


def values_and_slopes(case: Case, places: list[float]) -> Iterator[tuple[str, Any, Any]]:
    """Return values and slopes at places under each transformation."""
    at, one = np.array(places), np.float64(1.0)
    both = tinyjax.value_and_grad(case.value)
    yield "jit of vmap", *tinyjax.jit(tinyjax.vmap(both))(at)
    jvps = [tinyjax.jvp(case.value, (q,), (one,)) for q in at]
    yield "jvp", *np.array(jvps).T
    compiled = tinyjax.jit(both)
    yield "jit", *np.array([compiled(q) for q in at]).T
    linear = [tinyjax.linearize(case.value, q) for q in at]
    yield "linearize", [value for value, _ in linear], [tangent(one) for _, tangent in linear]


@pytest.mark.sampled(2, 1)
@pytest.mark.parametrize(("name", "kind"), ROWS)
def test_values_and_slopes_are_those_of_scipy(name: str, kind: str) -> None:
    case = CASES[name]
    places, theirs = case.places[kind], case.theirs()
    values = np.array([theirs(q) for q in places])
    slopes = np.array([slope(theirs, q) for q in places])
    plain = [float(case.value(np.float64(q))) for q in places]
    np.testing.assert_allclose(plain, values, 1e-9, 1e-9)
    has_slope = np.isfinite(slopes)
    for transformation, ours, gradients in values_and_slopes(case, places):
        np.testing.assert_allclose(ours, values, 1e-9, 1e-9, err_msg=transformation)
        np.testing.assert_allclose(
            np.asarray(gradients)[has_slope],
            slopes[has_slope],
            1e-5,
            1e-5,
            err_msg=transformation,
        )


@pytest.mark.sampled(2, 0)
@pytest.mark.parametrize(("name", "kind"), DEFINED)
def test_derivatives_in_values_are_those_of_the_value(name: str, kind: str) -> None:
    case = CASES[name]
    is_linear = not any(word in name for word in ("Pchip", "Akima"))
    step = 0.5 if is_linear else 1e-6
    # of a linear function the derivative is the same for all values, equal ones as well
    samples = [case.values, case.values * 0] if is_linear else [case.values]
    gradient = tinyjax.jit(tinyjax.grad(case.ours))
    for q in case.places[kind]:
        for values in samples:
            differences = [
                (case.theirs(values + h)(q) - case.theirs(values - h)(q)) / (2 * step)
                for h in np.eye(values.size) * step
            ]
            ours = gradient(values, 0.0, np.float64(q))
            np.testing.assert_allclose(ours, differences, 1e-6, 1e-6, err_msg=str(q))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "kind"), MOVING)
def test_knots_and_places_that_move_together_change_nothing(name: str, kind: str) -> None:
    case = CASES[name]
    gradient = tinyjax.jit(tinyjax.grad(case.ours, (1, 2)))
    for q in case.places[kind]:
        of_shift, of_place = gradient(case.values, np.float64(0.0), np.float64(q))
        np.testing.assert_allclose(of_shift, -of_place, 1e-8, 1e-8)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "inside" in case.places])
def test_second_derivatives_inside(name: str) -> None:
    case = CASES[name]
    second = tinyjax.jit(tinyjax.grad(tinyjax.grad(case.value)))
    for q in case.places["inside"]:
        before, at, after = (case.theirs()(q + h) for h in (-1e-3, 0.0, 1e-3))
        np.testing.assert_allclose(
            second(np.float64(q)), (before - 2 * at + after) * 1e6, atol=1e-6
        )


def test_parts_of_a_vector_jump_by_themselves() -> None:
    c = np.array([[[1.0, 1.0], [2.0, 2.0]], [[0.0, 0.0], [1.0, 5.0]]])
    function, one = interpolate.PPoly(c, np.arange(3.0)), np.float64(1.0)
    for transform in (lambda f: f, tinyjax.jit):
        value, tangent = transform(lambda q: tinyjax.jvp(function, (q,), (one,)))(one)
        np.testing.assert_allclose(value, [1.0, 5.0])
        np.testing.assert_allclose(tangent, [1.5, 2.0])


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_corners_of_cells(method: Any) -> None:
    """Along each axis the slope is the mean of both cells', where the value is SciPy's."""
    image = np.sin(np.arange(20.0).reshape(4, 5) ** 1.3)
    axes, q = (np.arange(4.0), np.arange(5.0)), np.array([2.0, 3.0])
    ours = interpolate.RegularGridInterpolator(axes, image, method)
    value, gradient = tinyjax.value_and_grad(lambda q: ours(q)[0])(q)
    expected = [(image[3, 3] - image[1, 3]) / 2, (image[2, 4] - image[2, 2]) / 2]
    assert float(value) == image[2, 3]
    np.testing.assert_allclose(gradient, expected if method == "linear" else [0, 0], atol=1e-12)


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"])
def test_rounding_is_no_jump(name: str) -> None:
    x = np.cumsum(100 + 1e3 * np.abs(np.sin(np.arange(40.0)))).astype(np.float32)
    function = getattr(interpolate, name)(x, np.cos(x) + np.float32(100)).derivative()
    at = x[1:-1]
    sides = (function.derivative()(np.nextafter(at, at + side)) for side in (-1, 1))
    slopes = tinyjax.vmap(tinyjax.grad(function))(at)
    np.testing.assert_allclose(slopes, sum(sides) / 2, 1e-3, 1e-9)


#: SciPy's own interpolants, which run as they are under capture.
CAPTURED: Final[dict[str, Callable[[Any], Any]]] = {
    **{
        f"interp1d {kind}": scipy.interpolate.interp1d(K, V, kind)
        for kind in ("nearest", "nearest-up", "zero", "slinear", "previous", "next")
    },
    "PPoly": scipy.interpolate.PPoly(C, K),
    "BSpline": scipy.interpolate.BSpline(np.repeat(K[[0, 1, 2, 5]], 2), V.repeat(2)[:6], 1),
    "splev of a slope": lambda q: scipy.interpolate.splev(
        q, scipy.interpolate.splrep(K, V, k=1), der=1
    ),
    "interp": lambda q: np.interp(q, D, W),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_values_and_slopes_of_what_is_captured(name: str) -> None:
    def theirs(q: Any) -> Any:
        return np.asarray(CAPTURED[name](q))[()]

    for q in (0.5, 1.0, 2.0, 2.5, 3.0):
        ours = tinyjax.value_and_grad(tinyjax.source.capture(theirs))(np.float64(q))
        np.testing.assert_allclose(ours, [theirs(q), slope(theirs, q)], 1e-5, 1e-5, err_msg=str(q))


def test_zeros_have_their_sign() -> None:
    function = interpolate.interp1d(K, V * -0.0, "previous")
    assert np.signbit(tinyjax.value_and_grad(function)(np.float64(1.0))[0])

"""Functions of SciPy's in C under capture, against differences of SciPy's own values."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy import interpolate as si, ndimage, optimize, special
from scipy.spatial.transform import Rotation, Slerp

import tinyjax
from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")

POINT: Final = np.array([0.21, 0.9, 1.9, 2.2, 3.3, 3.7, 3.95])
ENDS: Final = np.array([0.0, 0.7, 1.5, 2.4, 3.1, 4.0, 4.6])
VALUES: Final = np.sin(ENDS) + 0.2 * ENDS
PLACES: Final = np.array([0.33, 1.2, 2.0, 3.9])
LINES: Final = np.arange(5.0)
GRID: Final = np.outer(VALUES, VALUES[:5]) + np.cos(np.arange(35.0)).reshape(7, 5)
KNOTS: Final = np.array([0, 0, 0, 0, 1.0, 2, 3, 4, 4, 4, 4])
VECTORS: Final = np.array([[1.0, 2.0, 3.0], [0.3, -1.0, 0.5]])
KNOWN: Final = Rotation.from_rotvec([0.1, 0.2, 0.3])
SPLINE: Final = si.BSpline(KNOTS, VALUES, 3)
IN_GRID: Final = si.RegularGridInterpolator((ENDS, LINES), GRID)
ON_SURFACE: Final = si.RectBivariateSpline(ENDS, LINES, GRID)


def points(x: Any) -> Any:
    return np.stack([x[:3], [1.0, 2.3, 0.4]], axis=1)


def turned(x: Any) -> Any:
    return Rotation.from_rotvec(x[:3])


def pair(x: Any) -> Any:
    return np.stack([0.3 * x[:3], 0.1 * x[3:6]])


def cubic(v: Any, x: Any) -> Any:
    return v**3 - x[0] - v * x[1]


def bracketed(find: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return what finds roots between two numbers, with options by place and by name."""

    def roots(x: Any) -> Any:
        root, report = find(cubic, 0.5, 5.0, (x,), 1e-12, maxiter=200, full_output=True)
        again = find(lambda v: cubic(v, x), 0.5, 5.0)
        return np.array([root, again * x[2], report.root if report.converged else 0.0])

    return roots


ROOTS: Final = [optimize.bisect, optimize.brenth, optimize.brentq, optimize.ridder]
ORDERS: Final = np.arange(7, dtype=np.int32)
FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    **{f.__name__: bracketed(f) for f in ROOTS},
    "fsolve of a tuple": lambda x: optimize.fsolve(
        lambda v: [v[0] ** 2 - x[1], v[1] - v[0]], (x[1], 1)
    ),
    "root from where no slope is finite": lambda x: (
        optimize.root(lambda v: v**0.8 - x[0], np.zeros(1)).x
    ),
    "polynomials of integer orders": lambda x: special.eval_hermite(ORDERS, x / 9.0),
    "splrep": lambda x: si.splrep(ENDS, x)[1],
    "splev": lambda x: si.splev(PLACES, si.splrep(ENDS, x)),
    "splev of a slope": lambda x: si.splev(PLACES, si.splrep(ENDS, x, k=4), der=1),
    "splev at places": lambda x: si.splev(x, si.splrep(ENDS, VALUES)),
    "splev outside": lambda x: si.splev(PLACES - 1.0, si.splrep(ENDS, x)),
    "splev of zeros outside": lambda x: si.splev(PLACES - 1.0, si.splrep(ENDS, x, k=2), ext=1),
    "splev of ends outside": lambda x: si.splev(PLACES - 1.0, si.splrep(ENDS, x, k=1), ext=3),
    "splint": lambda x: si.splint(0.2, x[4], si.splrep(ENDS, x)),
    "InterpolatedUnivariateSpline": lambda x: si.InterpolatedUnivariateSpline(ENDS, x)(PLACES),
    "integral": lambda x: si.InterpolatedUnivariateSpline(ENDS, x).integral(0.2, 3.0),
    "UnivariateSpline": lambda x: si.UnivariateSpline(ENDS, x, s=0)(PLACES),
    "smooth UnivariateSpline at places": si.UnivariateSpline(ENDS, VALUES),
    "BSpline": lambda x: si.BSpline(KNOTS, x, 3)(PLACES),
    "BSpline at places": lambda x: SPLINE(x) + SPLINE(x, 1),
    "make_smoothing_spline": lambda x: si.make_smoothing_spline(ENDS, x, lam=0.1)(PLACES),
    "interp1d": si.interp1d(ENDS, VALUES, kind="quadratic"),
    "BarycentricInterpolator": lambda x: si.BarycentricInterpolator(ENDS, x)(PLACES),
    "BarycentricInterpolator at its points": si.BarycentricInterpolator(POINT, VALUES),
    "interp1d between": lambda x: si.interp1d(ENDS, x, kind="nearest")([1.1, 1.95]),
    "RectBivariateSpline": lambda x: si.RectBivariateSpline(ENDS, LINES, np.outer(x, VALUES[:5]))(
        PLACES, [0.3, 2.2]
    ),
    "RectBivariateSpline at places": lambda x: ON_SURFACE(x[1:3], x[:2]),
    "RectBivariateSpline.ev": lambda x: ON_SURFACE.ev(x[:3], [1.0, 2.3, 0.4], dx=1),
    "RegularGridInterpolator": lambda x: IN_GRID(points(x)),
    "RegularGridInterpolator of a tuple": lambda x: IN_GRID((x[:3], 1.3)),
    "interpn": lambda x: si.interpn((ENDS, LINES), GRID, points(x)),
    "from_quat": lambda x: Rotation.from_quat(x[:4]).as_matrix(),
    "from_rotvec": lambda x: turned(x).as_quat(canonical=True),
    "from_euler": lambda x: Rotation.from_euler("xyz", x[:3]).as_matrix(),
    "from_euler in degrees": lambda x: Rotation.from_euler("Z", 9 * x[0], degrees=True).as_rotvec(),
    "from_matrix": lambda x: Rotation.from_matrix(turned(0.3 * x).as_matrix()).as_rotvec(),
    "as_euler": lambda x: turned(x).as_euler("zyx"),
    "mrp": lambda x: Rotation.from_mrp(0.1 * x[:3]).as_mrp(),
    "apply": lambda x: turned(x).apply(VECTORS),
    "apply to traced": lambda x: KNOWN.apply(x[:3], inverse=True),
    "inv": lambda x: turned(x).inv().as_quat(),
    "product": lambda x: (KNOWN * turned(0.2 * x)).as_rotvec(),
    "power": lambda x: (turned(0.2 * x) ** 0.5).as_rotvec(),
    "magnitude": lambda x: Rotation.from_rotvec(pair(x)).magnitude(),
    "mean": lambda x: Rotation.from_rotvec(pair(x)).mean().as_rotvec(),
    "item": lambda x: Rotation.from_rotvec(pair(x))[1].as_matrix(),
    "label": lambda x: x * ndimage.label(np.sin(3 * x) > 0)[0],
    "sums of labels": lambda x: ndimage.sum(x**2, ndimage.label(np.sin(3 * x) > 0)[0], [1, 2]),
    "binary_opening": lambda x: x**2 * ndimage.binary_opening(x > 1.0),
    "binary_dilation": lambda x: x**2 * ndimage.binary_dilation(x > 3.0, iterations=2),
    "distance_transform_edt": lambda x: x**2 * ndimage.distance_transform_edt(np.sin(3 * x) > 0),
    "distance_transform_bf": lambda x: x**2 * ndimage.distance_transform_bf(np.sin(3 * x) > 0),
    "Slerp": lambda x: Slerp([0, 1], Rotation.from_rotvec(pair(x)))([0.3, 0.7]).as_rotvec(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    def total(x: Any) -> Any:
        result = np.asarray(FUNCTIONS[name](x))
        return np.sum(result * np.cos(1.0 + np.arange(result.size)).reshape(result.shape))

    captured = source.capture(total)
    steps = 1e-5 * np.eye(POINT.size)
    slopes = [(total(POINT + h) - total(POINT - h)) / 2e-5 for h in steps]
    gradient = tinyjax.grad(captured)
    np.testing.assert_allclose(gradient(POINT), slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tinyjax.jit(gradient)(POINT), slopes, rtol=1e-6, atol=1e-8)
    batch = np.stack([POINT, 0.97 * POINT, POINT + 0.01])
    np.testing.assert_allclose(tinyjax.vmap(captured)(batch), [*map(total, batch)], rtol=1e-9)


def test_places_outside_of_a_grid_raise() -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        tinyjax.grad(source.capture(lambda x: IN_GRID([x, 1.0])[0]))(np.float64(9.0))

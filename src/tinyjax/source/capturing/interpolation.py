"""Splines and grids of SciPy's under capture: what they call in C and Fortran."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tinyjax.scipy
from tinyjax import numpy as jnp
from tinyjax.core.values import Array
from tinyjax.scipy import interpolate
from tinyjax.source.capturing import lapack, ndarrays, runs
from tinyjax.source.capturing.ndarrays import value_of

#: What computes functions in C and Fortran, by their modules and names, if an argument is traced.
COUNTERPARTS: Final[dict[str, Callable[..., Any]]] = {}


def _computes(*names: str) -> Callable[[Any], Any]:
    def register(apply: Callable[..., Any]) -> Callable[..., Any]:
        COUNTERPARTS.update(
            {
                name if name.startswith(lapack.FORTRAN) else f"scipy.interpolate.{name}": apply
                for name in names
            }
        )
        return apply

    return register


@_computes("_ppoly.evaluate", "_ppoly.integrate")
def _pieces(g: Any, c: Any, x: Any, *args: Any, out: Any = None) -> None:
    """Write the values of piecewise polynomials, or their integrals, into the last argument."""
    *places, order, extrapolate, out = (*args, out) if out is not None else args
    ends = value_of(x)
    if not runs.decide(jnp.all(ends[1:] > ends[:-1])):
        raise runs.refusal("a piecewise polynomial of descending ends")
    polynomial = interpolate.PPoly(value_of(c), ends, bool(extrapolate))
    if g.__name__ == "integrate":
        value = polynomial.integrate(value_of(places[0]), value_of(order))
    else:
        value = polynomial(value_of(places[0]), int(order))
    ndarrays.write(out, ..., ndarrays.wrap(value))


@_computes("_dierckx.evaluate_spline")
def _spline(g: Any, t: Any, c: Any, k: Any, x: Any, nu: Any, extrapolate: Any) -> Any:
    spline = interpolate.BSpline(value_of(t), value_of(c), int(k), bool(extrapolate))
    return ndarrays.wrap(spline(value_of(x), int(nu)))


@_computes("_fitpack_impl.splev")
def _fitted(g: Any, x: Any, tck: Any, der: Any = 0, ext: Any = 0) -> Any:
    """Evaluate a spline of FITPACK's, which has unused coefficients at the end."""
    t, c, k = tck
    if type(c) in (list, tuple) or np.ndim(c) != 1:
        return NotImplemented
    knots, places, degree = value_of(t), value_of(x), int(k)
    first, last = knots[degree], knots[knots.size - degree - 1]
    outside = (places < first) | (places > last)
    if ext == 2 and runs.decide(jnp.any(outside)):
        raise ValueError("Error code returned by splev: 1")
    spline = interpolate.BSpline(knots, value_of(c)[: knots.size - degree - 1], degree)
    value = spline(jnp.clip(places, first, last) if ext == 3 else places, int(der))
    return ndarrays.wrap(jnp.where(outside, 0.0, value) if ext == 1 else value)


@_computes("_fitpack_impl.splint")
def _integral(g: Any, a: Any, b: Any, tck: Any, full_output: Any = 0) -> Any:
    """Integrate a spline of FITPACK's, which is zero outside of its knots."""
    t, c, k = tck
    if full_output or type(c) in (list, tuple) or np.ndim(c) != 1:
        return NotImplemented
    knots, degree = value_of(t), int(k)
    widths = (knots[degree + 1 :] - knots[: -degree - 1]) / (degree + 1)
    sums = jnp.cumsum(value_of(c)[: widths.size] * widths)
    spline = interpolate.BSpline(
        jnp.concatenate([knots[:1], knots, knots[-1:]]),
        jnp.concatenate([jnp.zeros(1, sums.dtype), sums]),
        degree + 1,
    )
    first, last = knots[degree], knots[knots.size - degree - 1]
    lower, upper = (spline(jnp.clip(value_of(end), first, last)) for end in (a, b))
    return ndarrays.wrap(upper - lower)


@_computes("_fitpack_impl.splrep")
def _interpolated(g: Any, x: Any, y: Any, *args: Any, **options: Any) -> Any:
    """Return knots and coefficients of a spline through all points; others smooth."""
    bound = inspect.signature(g).bind(x, y, *args, **options).arguments
    k = bound.pop("k", 3)
    if any(bound.get(name) is not None for name in ("w", "xb", "xe", "t")):
        return NotImplemented
    if any(bound.get(name) for name in ("task", "s", "full_output", "per")):
        return NotImplemented
    knots, coefficients = _through(x, y, k)
    unused = jnp.zeros(int(k) + 1, coefficients.dtype)
    padded = jnp.concatenate([coefficients, unused])
    return ndarrays.wrap(knots), ndarrays.wrap(padded), int(k)


def _through(x: Any, y: Any, k: Any) -> tuple[Array, Array]:
    """Return the knots and the coefficients of the spline through points."""
    spline = interpolate.make_interp_spline(value_of(x), value_of(y), int(k))
    return spline.t, spline.c


@_computes("fortran.fpcurf0")
def _curve(
    g: Any, x: Any, y: Any, k: Any, w: Any = None, xb: Any = None, xe: Any = None, s: Any = None
) -> Any:
    """Return what SciPy's spline classes keep of a spline through all points."""
    ends = ((xb, 0), (xe, -1))
    if w is not None or s != 0 or any(end is not None and end != x[i] for end, i in ends):
        return NotImplemented
    knots, coefficients = _through(x, y, k)
    spline = knots.size, ndarrays.wrap(knots), ndarrays.wrap(coefficients)
    return x, y, np.ones(len(x)), x[0], x[-1], int(k), 0.0, *spline, 0.0, None, None, -1


@_computes("fortran.regrid_smth")
def _surface(g: Any, x: Any, y: Any, z: Any, *options: Any) -> Any:
    """Return the tensor product of splines through all points of a grid."""
    *ends, kx, ky, s, _ = options
    known = (x[0], x[-1], y[0], y[-1])
    if s != 0 or any(a is not None and a != b for a, b in zip(ends, known, strict=True)):
        return NotImplemented
    tx, rows = _through(x, value_of(z).reshape(len(x), len(y)), kx)
    ty, columns = _through(y, rows.T, ky)
    wrapped = [ndarrays.wrap(part) for part in (tx, ty, columns.T.ravel())]
    return tx.size, wrapped[0], ty.size, wrapped[1], wrapped[2], 0.0, -1


@_computes("fortran.bispev", "fortran.bispeu", "fortran.parder", "fortran.pardeu")
def _on_surface(g: Any, tx: Any, ty: Any, c: Any, kx: Any, ky: Any, *args: Any) -> Any:
    """Evaluate a tensor product of splines: on a grid, or at points."""
    *orders, x, y = args
    dx, dy = map(int, orders or (0, 0))
    degrees = int(kx), int(ky)
    knots = value_of(tx), value_of(ty)
    sizes = [t.size - k - 1 for t, k in zip(knots, degrees, strict=True)]
    points: list[Array] = [
        jnp.clip(value_of(places).reshape(-1), t[k], t[t.size - k - 1])
        for places, t, k in zip((x, y), knots, degrees, strict=True)
    ]
    coefficients = value_of(c)[: sizes[0] * sizes[1]].reshape(sizes)
    rows = interpolate.BSpline(knots[0], coefficients, degrees[0])(points[0], dx)

    def along(row: Array, places: Array) -> Array:
        return interpolate.BSpline(knots[1], row, degrees[1])(places, dy)

    is_grid = g.__name__.split()[-1] in ("bispev", "parder")
    value = tinyjax.vmap(along, (0, None if is_grid else 0))(rows, points[1])
    return ndarrays.wrap(value), 0


@_computes("_interpnd._ndim_coords_from_arrays")
def _coordinates(g: Any, points: Any, ndim: Any = None) -> Any:
    if type(points) is tuple and len(points) == 1:
        points = points[0]
    if type(points) is tuple:
        return np.stack(np.broadcast_arrays(*map(ndarrays.to_array, points)), axis=-1)
    array = ndarrays.to_array(points)
    return array.reshape(-1, ndim or 1) if array.ndim == 1 else array


@_computes("_rgi.RegularGridInterpolator.__call__")
def _in_grid(g: Any, grid: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    """Interpolate in a grid of data, linearly."""
    if nu is not None or (method or grid.method) != "linear":
        return NotImplemented
    axes = [np.asarray(ndarrays.plain(points)) for points in grid.grid]
    places = value_of(_coordinates(None, xi, len(axes)))
    firsts, lasts = np.array([(points[0], points[-1]) for points in axes]).T
    if grid.bounds_error and not runs.decide(jnp.all((places >= firsts) & (places <= lasts))):
        raise ValueError("One of the requested xi is out of bounds")
    ours = interpolate.RegularGridInterpolator(
        axes, value_of(grid.values), fill_value=grid.fill_value
    )
    return ndarrays.wrap(ours(places))


@_computes("_polyint.BarycentricInterpolator._evaluate")
def _through_all(g: Any, x: Any) -> Any:
    """Evaluate the polynomial through points, whose slopes at these SciPy's quotients lack."""
    points, values = (value_of(a) for a in (g.__self__.xi, g.__self__.yi))
    function = interpolate.BarycentricInterpolator(points, values)
    return ndarrays.wrap(function(value_of(x)))

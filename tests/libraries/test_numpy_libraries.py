"""Libraries written for NumPy compute with traced arrays, and what of them does not says so.

docs/numpy.md has a table of what works.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pint
import pytest
import sympy
import xarray as xr
from numpy.polynomial import Polynomial, chebyshev, hermite, laguerre, legendre, polynomial

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.errors import TinyjaxError

X = np.array([[0.3, 0.7, 0.2], [0.6, 0.25, 0.9], [1.1, 1.3, 0.45], [0.8, 0.15, 1.2]])
GROUPS = xr.DataArray([0, 1, 0, 1], dims="t", name="group")
UNITS = pint.UnitRegistry()
A, B = sympy.symbols("a b")
SCALAR = sympy.lambdify(
    (A, B),
    sympy.sin(A) * sympy.exp(B)
    + sympy.sqrt(A**2 + B**2)
    + sympy.Max(A, B)
    + sympy.Piecewise((A, A > 0.5), (B**2, True)),
    "numpy",
)
MATRIX = sympy.Matrix([[A, B], [A * B, sympy.cos(A)]])


def labelled(x: Any) -> Any:
    coordinates = {"t": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 1.0, 2.0]}
    return xr.DataArray(x, dims=("t", "b"), coords=coordinates)


def joined(x: Any) -> Any:
    parts: Any = np.concatenate([metres(x), UNITS.Quantity(x, "cm")])
    return parts.to("m")


def metres(x: Any) -> Any:
    return UNITS.Quantity(x, "m")


XARRAY: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (labelled(x) * 2 + labelled(x) ** 2 - 1.5) / 3,
    "an array first": lambda x: x * labelled(np.ones((4, 3))) + np.ones((4, 3)) * labelled(x),
    "a universal function": lambda x: np.sin(labelled(x)).mean("t"),
    "reductions": lambda x: labelled(x).std("t") + labelled(x).max("t") + labelled(x).prod("t"),
    "median": lambda x: labelled(x).median("t") + labelled(x).var("t") + labelled(x).min("t"),
    "quantile": lambda x: labelled(x).quantile(0.3, dim="t"),
    "where": lambda x: labelled(x).where(labelled(x) > 0.5, 0.0),
    "xr.where": lambda x: xr.where(labelled(x) > 0.5, labelled(x), -1.0),
    "missing values": lambda x: labelled(x).where(labelled(x) > 0.5).fillna(2.0).mean("t"),
    "clip": lambda x: labelled(x).clip(0.35, 0.95),
    "groupby": lambda x: labelled(x).groupby(GROUPS).mean() ** 2,
    "groupby, a sum": lambda x: labelled(x).groupby(GROUPS).sum() ** 2,
    "coarsen": lambda x: labelled(x).coarsen(t=2).mean() ** 2,
    "apply_ufunc": lambda x: xr.apply_ufunc(lambda p, q: p * np.cos(q), labelled(x), labelled(x)),
    "apply_ufunc along an axis": lambda x: xr.apply_ufunc(
        lambda p: np.linalg.norm(p, axis=-1), labelled(x), input_core_dims=[["b"]]
    ),
    "interpolation": lambda x: xr.apply_ufunc(
        lambda p: np.interp(0.5, [0.0, 1.0, 2.0], p[0]), labelled(x), input_core_dims=[["t", "b"]]
    ),
    "windows": lambda x: xr.apply_ufunc(
        lambda p: np.lib.stride_tricks.sliding_window_view(p, 2, axis=-1).mean(axis=-1),
        labelled(x),
        input_core_dims=[["t"]],
        output_core_dims=[["window"]],
    ),
    "dot": lambda x: xr.dot(labelled(x), labelled(x) + 1, dim="b"),
    "selection": lambda x: labelled(x).sel(b=1.0) * labelled(x).isel(t=2),
    "shift, roll": lambda x: labelled(x).shift(t=1).fillna(0.0) * labelled(x).roll(t=1),
    "diff": lambda x: labelled(x).diff("t") ** 2,
    "differentiate": lambda x: labelled(x).differentiate("t") ** 2,
    "integrate": lambda x: labelled(x).integrate("t") ** 2,
    "cumsum": lambda x: labelled(x).cumsum("t") ** 2,
    "concat": lambda x: xr.concat([labelled(x), labelled(x) + 1], dim="n") ** 2,
    "stack, T": lambda x: (labelled(x).T ** 2).stack(z=("t", "b")),
    "weighted": lambda x: labelled(x).weighted(xr.DataArray([1.0, 2, 3, 4], dims="t")).mean("t"),
    "a dataset": lambda x: xr.Dataset({"p": labelled(x), "q": labelled(x) ** 2}).mean().to_array(),
    "broadcasting": lambda x: (labelled(x) - labelled(x).mean("t")) ** 2,
    "sortby, pad": lambda x: labelled(x).sortby("b", ascending=False).pad(t=1, constant_values=0.0),
}
PINT: dict[str, Callable[[Any], Any]] = {
    "a product": lambda x: (metres(x) * UNITS.Quantity(2.0, "s")) ** 2,
    "an array first": lambda x: x * UNITS.Quantity(2.0, "m") + np.ones(3) * metres(x),
    "an array by a unit": lambda x: (x * UNITS.meter).to("cm"),
    "a universal function": lambda x: np.sin(UNITS.Quantity(x, "degree")),
    "other units": lambda x: metres(x).to("cm") + UNITS.Quantity(1.0, "km"),
    "a root": lambda x: np.sqrt(np.sum(metres(x) ** 2)).to("m"),
    "where": lambda x: np.where(metres(x) > UNITS.Quantity(50.0, "cm"), metres(x), metres(0.0)),
    "concatenate": joined,
    "a norm": lambda x: np.max(metres(x)) + np.linalg.norm(metres(x)),
    "statistics": lambda x: np.std(metres(x)) + np.mean(metres(x)) + np.median(metres(x)),
    "an integral": lambda x: np.trapezoid(metres(x[:, 0]), dx=UNITS.Quantity(1.0, "s")),
    "interp": lambda x: np.interp(
        metres(x[:, 0]), metres([0.0, 1.0, 2.0]), UNITS.Quantity([1.0, 2.0, 5.0], "K")
    ),
    "clip": lambda x: np.clip(metres(x), UNITS.Quantity(35.0, "cm"), metres(1.0)),
    "dot": lambda x: np.dot(metres(x), UNITS.Quantity(np.ones(3), "s")),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "lambdify": lambda x: SCALAR(x, 0.65),
    "lambdify of two": lambda x: SCALAR(x[0], x[1]),
    "a matrix of lambdify": lambda x: sympy.lambdify(
        (A, B), MATRIX, [{"array": jnp.array}, "numpy"]
    )(x[0, 0], x[1, 1]),
    "polyval": lambda x: polynomial.polyval(x, [1.0, 2.0, 3.0]),
    "chebval": lambda x: chebyshev.chebval(x, [1.0, 2.0, 3.0]),
    "hermval": lambda x: hermite.hermval(x, [1.0, 2.0, 3.0]),
    "legval": lambda x: legendre.legval(x, [1.0, 2.0, 3.0]),
    "lagval": lambda x: laguerre.lagval(x, [1.0, 2.0, 3.0]),
}
#: What asks NumPy for an array of its own.
REFUSED: dict[str, Callable[[Any], Any]] = {
    "interp of xarray": lambda x: labelled(x).interp(b=0.5),
    "rolling of xarray": lambda x: labelled(x).rolling(t=2).mean(),
    "vectorize of xarray": lambda x: xr.apply_ufunc(
        lambda p: p.sum(), labelled(x), input_core_dims=[["b"]], vectorize=True
    ),
    "a matrix of lambdify": lambda x: sympy.lambdify((A, B), MATRIX, "numpy")(x[0, 0], x[1, 1]),
    "a polynomial": Polynomial([1.0, 2.0]),
    "traced coefficients": lambda x: polynomial.polyval(0.5, x[0]),
}


def number(result: Any) -> Any:
    """The sum of what a program returns, without labels and units."""
    data = result.data if isinstance(result, xr.DataArray) else result
    data = getattr(data, "magnitude", data)
    return data.sum()


@pytest.mark.parametrize(
    "program",
    [*XARRAY.values(), *PINT.values(), *OTHERS.values()],
    ids=[
        f"{library}: {name}"
        for library, table in (("xarray", XARRAY), ("pint", PINT), ("others", OTHERS))
        for name in table
    ],
)
def test_a_program_is_differentiated_compiled_and_mapped(program: Callable[[Any], Any]) -> None:
    def fun(x: Any) -> Any:
        return number(program(x))

    slope = np.zeros_like(X)
    for index in np.ndindex(*X.shape):
        step = np.zeros_like(X)
        step[index] = 1e-6
        slope[index] = (fun(X + step) - fun(X - step)) / 2e-6
    np.testing.assert_allclose(tinyjax.jit(fun)(X), fun(X), rtol=1e-9)
    for gradient in (tinyjax.grad(fun), tinyjax.jit(tinyjax.grad(fun))):
        np.testing.assert_allclose(gradient(X), slope, rtol=1e-5, atol=1e-7)
    pair = np.stack([X, X[::-1]])
    np.testing.assert_allclose(tinyjax.vmap(fun)(pair), [fun(X), fun(X[::-1])], rtol=1e-9)


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_an_array_of_numpys_says_so(name: str) -> None:
    with pytest.raises((TinyjaxError, AttributeError)):
        tinyjax.jit(lambda x: number(REFUSED[name](x)))(X)

"""Derivatives of NumPy's functions: each against differences, to second order."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final

import attrs
import numpy as np
import pytest
import scipy.special
from differences import slope

import tinyjax.numpy as jnp
from tinyjax import grad, jit, jvp, source

Function = Callable[[Any], Any]

#: Functions of a matrix of two rows, whose items are between 0.3 and 0.9.
FUNCTIONS: dict[str, Function] = {
    "sum": lambda x: np.sum(x, axis=0) + x.sum(1, keepdims=True),
    "mean": lambda x: np.mean(x, axis=1, keepdims=True) * x + x.mean(),
    "prod": lambda x: np.prod(x) * x.prod(axis=0),
    "prod of zeros": lambda x: np.prod(np.array([x[0, 0], 0.0 * x[0, 1], x[1, 1]])) + x,
    "max": lambda x: np.max(x, axis=1) - np.min(x) + x.max(axis=0),
    "std": lambda x: np.std(x, axis=1) + x.var() + np.var(x, 0, ddof=1),
    "ptp": lambda x: np.ptp(x, axis=0) * np.ptp(x),
    "median": lambda x: np.median(x) + np.median(x, axis=1),
    "quantile": lambda x: np.quantile(x, 0.3) + np.percentile(x, 80.0, axis=0),
    "average": lambda x: np.average(x, axis=1, weights=x) + np.average(x, weights=x**2),
    "average along an axis": lambda x: np.average(x, 0, np.array([0.3, 0.7])),
    "nansum": lambda x: np.nansum(np.array([x[0, 0], math.nan, x[1, 1] ** 2])) + np.nanmean(x),
    "cumsum": lambda x: x.reshape(4).cumsum() + np.cumsum(x, axis=1).ravel() + np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x) + x.cumprod(axis=0).ravel(),
    "diff": lambda x: np.diff(x) + np.diff(x, axis=0)[0, 0] + np.diff(x.ravel(), n=2)[0],
    "trapezoid": lambda x: np.trapezoid(x) + np.trapezoid(x[0], x[1]) + np.trapezoid(x, dx=0.1),
    "arithmetic": lambda x: -x + (+x) * 2 - x / 3 + 3 / x + np.add(x, 1) * np.subtract(2, x),
    "powers": lambda x: x**2 + 2.0**x + x**x + np.power(x, 1.5) + np.float_power(x, 3) + x**0,
    "powers of negative numbers": lambda x: (-x) ** 3 + (-x) ** np.array([2, 3]),
    "exponentials": lambda x: np.exp(x) + np.exp2(x) * np.expm1(x),
    "logarithms": lambda x: np.log(x) + np.log2(x) * np.log10(x) + np.log1p(x),
    "roots": lambda x: np.sqrt(x) + np.cbrt(x) * np.square(x) + np.reciprocal(x),
    "trigonometric": lambda x: np.sin(x) * np.cos(x) + np.tan(x) + np.sinc(x),
    "sinc at zero": lambda x: np.sinc(x - x[0, 0]) * x,
    "hyperbolic": lambda x: np.sinh(x) * np.cosh(x) + np.tanh(x),
    "inverse trigonometric": lambda x: np.arcsin(x) * np.arccos(x) + np.arctan(x),
    "inverse hyperbolic": lambda x: np.arcsinh(x) * np.arccosh(1 + x) + np.arctanh(x),
    "angles": lambda x: np.degrees(x) + np.radians(x) * np.rad2deg(x) + np.deg2rad(x),
    "two arguments": lambda x: np.hypot(x, 1.0) + np.arctan2(x, x.T) + np.copysign(x, -x.T),
    "logaddexp": lambda x: np.logaddexp(x, x.T) + np.logaddexp2(x, 0.5),
    "extremes": lambda x: np.maximum(x, 0.5) * np.minimum(x[0], x[1]) + np.fmax(x, x.T) * x,
    "abs": lambda x: np.abs(x - 0.5) + abs(x - 0.8) + np.fabs(x),
    "mod": lambda x: np.mod(x, 0.25) + x % 0.37 + np.fmod(x, 0.17) + np.mod(1.0, x),
    "divmod": lambda x: np.divmod(x, 0.25)[1] + np.modf(3 * x)[0] * x,
    "clip": lambda x: np.clip(x, 0.35, 0.8) ** 2 + x.clip(None, 0.5) + np.clip(x, 0.5, x.T + 1),
    "keywords": lambda x: np.clip(x, a_max=x.T + 0.15, a_min=0.35) + np.dot(b=x, a=x.T),
    "where": lambda x: np.where(x > 0.6, x * x, -x),
    "nan_to_num": lambda x: np.nan_to_num(np.where(x > 0.5, math.nan, x)) * x,
    "rounding": lambda x: np.round(x, 1) * x + np.floor(x) + np.sign(x - 0.5) * x,
    "transpose": lambda x: np.transpose(x) @ np.dot(x, x[0]) + x.T[0] + x.mT[1],
    "transpose of three axes": lambda x: np.transpose(np.stack([x, x**2, -x]), (-1, 0, 1)),
    "moveaxis": lambda x: np.moveaxis(np.stack([x, x * x]), 0, 2) * np.swapaxes(x, 0, 1)[..., None],
    "reshape": lambda x: np.reshape(x, 4, order="F") + x.reshape(-1) + x.flatten(),
    "ravel": lambda x: np.ravel(x, "F") * x.ravel(),
    "squeeze": lambda x: np.squeeze(x[:, None]) + np.expand_dims(x, 0)[0] * np.atleast_3d(x)[0],
    "broadcast": lambda x: np.broadcast_to(x, (3, 2, 2)) * np.broadcast_arrays(x, x[0])[1],
    "concatenate": lambda x: np.concatenate([x, x * x], axis=1)[:, 1:3],
    "concatenate flat": lambda x: np.concatenate([x, x[0]], axis=None) ** 2,
    "stack": lambda x: np.stack([x[0], x[1] * 2], axis=1),
    "stacks": lambda x: np.vstack([x, x[0]]) @ np.hstack([x, x.T]) + np.dstack([x, x])[0, 0, 1],
    "column_stack": lambda x: np.column_stack([x[0], x[1] ** 2]) + np.append(x, x**2, axis=0)[1:3],
    "append": lambda x: np.append(x, x[0, 0]) ** 2,
    "block": lambda x: np.block([[x, x.T], [x * x, np.zeros((2, 2))]]),
    "split": lambda x: np.split(x, 2)[1] * np.array_split(x, 2, axis=1)[0] + np.hsplit(x, 2)[1],
    "roll": lambda x: np.roll(x, 1) * np.roll(x, 1, axis=0) + np.flip(x) + np.flip(x, 0),
    "rot90": lambda x: np.rot90(x) * np.fliplr(x) + np.flipud(x),
    "tile": lambda x: np.tile(x, (1, 2)) * np.repeat(x, 2, axis=1) + np.resize(x, (2, 4)),
    "pad": lambda x: np.pad(x, 1) + np.pad(x, 1, mode="edge") * np.pad(x, 1, mode="reflect"),
    "pad by a constant": lambda x: np.pad(x, 1, constant_values=2.0) ** 2,
    "take": lambda x: np.take(x, [1, 0, 1]) + x.take(np.array([0, 0, 1])),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x, 1), 1) ** 2,
    "index": lambda x: x[[0, 1, 0]] * 2.0 + x[np.array([[0], [1], [1]]), np.array([1, 0])],
    "mask": lambda x: x[x > 0.35] ** 2,
    "slices": lambda x: x[::-1, 1:] * x[..., :1] + x[None, 0, ..., -1],
    "delete": lambda x: np.delete(x, 0, axis=1) ** 2,
    "diag": lambda x: np.outer(x[0], x[1]) + np.diag(np.diag(x)) + np.diag(x[0, :1], 1),
    "diagonal": lambda x: np.diagonal(x) * x.diagonal(1) + np.diagflat(x)[0, 0],
    "triangles": lambda x: np.tril(x) @ np.triu(x, 1) + np.trace(x) * x.trace(1),
    "sort": lambda x: np.sort(x) * np.sort(x, axis=0) + np.sort(x, axis=None).reshape(2, 2),
    "array": lambda x: np.array([x[0, 0], x[1, 1] * x[0, 1]]) + np.asarray(x[0]) + np.copy(x[1]),
    "array of integers": lambda x: np.array([7 * x[0, 0], 1.0], dtype=int) * x,
    "astype": lambda x: x.astype(float) * x.astype(int) + x.astype(np.float64) ** 2,
    "tolist": lambda x: sum([sum(row) ** 2 for row in x.tolist()]) * x.item(1) + x.item(0, 1),
    "full": lambda x: np.full((2, 2), x[0, 0]) * np.full_like(x, x[1, 1]),
    "linspace": lambda x: np.linspace(x[0, 0], x[1, 1], 5) ** 2,
    "arange": lambda x: np.arange(x[0, 0], 2.5, x[1, 1]) ** 2,
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[0] * np.meshgrid(x[0], x[1], indexing="ij")[1],
    "matmul": lambda x: x @ x[0] + x[1] @ x + (np.stack([x, x * x]) @ x).sum() * x[0] @ x[1],
    "dot": lambda x: np.dot(x, np.stack([x, x * x])).ravel()[1] + x[0].dot(x[1]) + x.dot(x),
    "inner": lambda x: np.inner(x, x * x) + np.vdot(x, x) * np.inner(x[0], x[1]),
    "einsum": lambda x: np.einsum("ij,jk->ki", x, x) + np.einsum("ii", x) * np.einsum("ij->j", x),
    "einsum of diagonals": lambda x: np.einsum("ii->i", x) * np.einsum("ii,ij,jk", x, x, x),
    "einsum with dots": lambda x: np.einsum("...j,kj->k...", np.stack([x, x * x]), x),
    "tensordot": lambda x: np.tensordot(x, x, 1) + np.tensordot(x, x, ([0, 1], [1, 0])),
    "kron": lambda x: np.kron(x, x[0]),
    "cross": lambda x: np.cross(np.append(x[0], 1.0), np.append(x[1], x[0, 0])),
    "interp": lambda x: np.interp(x, np.array([0.2, 0.5, 0.65]), np.array([x[0, 0], 1.0, x[1, 1]])),
    "interp of places": lambda x: np.interp([0.4, 0.8, 0.0], [0.1, x[0, 1] + 0.3, 1], [*x[0], 2]),
    "convolve": lambda x: np.convolve(x.ravel(), x[0]) + np.convolve(x[1], x.ravel())[1],
    "convolve modes": lambda x: np.convolve(x.ravel(), x[0], "same")[:3]
    + np.convolve(x.ravel(), x[1], "valid"),
    "convolve with a number": lambda x: np.convolve(x[0], x[1, 1]) + np.convolve(x[0, 0], x[1]),
    "polyval": lambda x: np.polyval(x[0], x[1]),
    "fft": lambda x: np.abs(np.fft.fft(x)) + np.real(np.fft.ifft(x.ravel() ** 2))[1],
    "fft of another length": lambda x: np.abs(np.fft.fft(x[0], 5) + np.fft.ifft(x, 3)[0, 0]),
    "rfft": lambda x: np.imag(np.fft.rfft(x.ravel() ** 2)) + np.angle(np.fft.rfft(x.ravel()) + 1j),
    "complex": lambda x: (x * (1 + 2j)).real + (np.exp(1j * x) * x).imag + np.abs(x + 1j * x.T),
    "conj": lambda x: np.real(np.conj(x + 1j) * (x * x - 2j)),
    "inv": lambda x: np.linalg.inv(x) @ x[0],
    "solve": lambda x: np.linalg.solve(x, x[:, 1]) + np.linalg.solve(x, x * x),
    "solve of stacks": lambda x: np.linalg.solve(np.stack([x, x * x]), x),
    "det": lambda x: np.linalg.det(x) * np.trace(x) + np.linalg.det(np.stack([x, x * x])),
    "slogdet": lambda x: np.linalg.slogdet(x)[1] * np.linalg.slogdet(x).sign,
    "norm": lambda x: np.linalg.norm(x) ** 3 + np.linalg.norm(x, axis=1) + np.linalg.norm(x[0], 3),
    "norms": lambda x: np.linalg.norm(x[0], 1) * np.linalg.norm(x[1], np.inf) * x,
    "cholesky": lambda x: np.linalg.cholesky(x @ x.T + np.eye(2)),
    "eigh": lambda x: np.linalg.eigh(x + x.T)[0] * np.linalg.eigvalsh(x @ x.T),
    "one triangle": lambda x: np.linalg.cholesky(x + np.eye(2)) * np.linalg.eigvalsh(x, "U")
    + np.linalg.cholesky(x + np.eye(2), upper=True) * np.linalg.eigh(x).eigenvectors ** 2,
    "eigenvectors": lambda x: np.linalg.eigh(x + x.T).eigenvectors ** 2,
    "qr": lambda x: np.linalg.qr(np.concatenate([x, x * x]))[0] @ np.linalg.qr(x).R,
    "svd": lambda x: np.linalg.svd(x)[1] + np.linalg.svd(x * x, compute_uv=False),
    "singular vectors": lambda x: np.linalg.svd(np.vstack([x, x[:1] ** 2]), False)[0] ** 2,
    "singular vectors, right": lambda x: np.linalg.svd(x).Vh ** 2,
    "pinv": lambda x: np.linalg.pinv(np.concatenate([x, x[:1] ** 2])),
    "matrix_power": lambda x: np.linalg.matrix_power(x, 3) + np.linalg.matrix_power(x, -1),
    "multi_dot": lambda x: np.linalg.multi_dot([x, x.T, x[0]]),
    "dot of stacks": lambda x: np.dot(x, x[0]) * np.dot(np.stack([x, x * x]), x[1])
    + np.dot(np.stack([x, -x]), np.stack([x, x * x]))[0, 1] * np.dot(2.0, x) + np.dot(x[0], [1, 2]),
    "methods of ufuncs": lambda x: np.add.outer(x, x[0])[1] * np.subtract.outer(2.0, x)
    + np.add.reduce(x) * np.multiply.reduce(x, axis=1) * np.maximum.reduce(x, axis=None)
    + np.multiply.accumulate(x) * np.logaddexp.reduce(x) * np.add.reduceat(x[0], [0, 1]),
    "rows": lambda x: sum(row @ row for row in x) * x,
    "cumprod of zeros": lambda x: np.cumprod((x - x[0, 0]) * (1 + x)) * x[1, 1],
    "sum of chosen": lambda x: np.sum(x, initial=2.0, where=x > 0.5) ** 2 * x,
    "percentile of axes": lambda x: np.percentile(x, 30, axis=(0, 1)) * np.percentile(x, [20, 70]),
    "quantile by methods": lambda x: np.quantile(x, 0.3, method="lower")
    * np.quantile(x, 0.3, axis=1, method="midpoint", keepdims=True) ** 2,
    "reshape in Fortran's order": lambda x: x.reshape(4, order="F") ** 2 * x.reshape((4,)),
    "flatten in Fortran's order": lambda x: x.flatten("F") ** 2,
    "qr of a wide matrix": lambda x: np.linalg.qr(np.hstack([x, x * x]))[1] ** 2,
    "qr, R only": lambda x: np.asarray(np.linalg.qr(np.vstack([x, x * x]), mode="r")) ** 2,
    "gradient": lambda x: np.gradient(x.ravel() ** 2) * np.ediff1d(np.append(x, 1.0)),
    "names": lambda x: np.tensordot(x, b=x, axes=1) * np.clip(x, a_max=0.5, a_min=None),
    "lists": lambda x: np.cumsum([x[0, 0], 2 * x[1, 1]]) * np.choose([1, 0], [x[0], x[1] ** 2]),
    "compress": lambda x: x[0].compress([False, True]) ** 2 * x.std(1, ddof=1),
    "trace of a stack": lambda x: np.stack([x, x * x, -x], -1).trace() ** 2,
    "norms of matrices": lambda x: np.linalg.norm(x, 2) ** 2 + np.linalg.norm(x, "nuc") * x,
    "nan": lambda x: np.nanmax(np.where(x > 0.8, np.nan, x)) ** 2 + np.nanstd(x) * x,
    "spaces": lambda x: np.logspace(x[0, 0], x[1, 1], 3) ** 2,
    "lstsq": lambda x: np.linalg.lstsq(x, x[:, 0] ** 2)[0] ** 2,
    "of scipy": lambda x: scipy.special.erf(x) * scipy.special.gammaln(x) + scipy.special.expit(x),
}  # fmt: skip
X = np.array([[0.9, 0.3], [0.4, 0.7]])


def weighted(fun: Function, x: Any) -> Any:
    y = fun(x)
    return np.sum(np.cos(np.arange(np.size(y))).reshape(np.shape(y)) * y)


def moved(fun: Function, unit: Any, t: float) -> Any:
    return fun(X + t * unit)


def units() -> list[Any]:
    return [np.eye(4)[i].reshape(2, 2) for i in range(4)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_derivatives(name: str) -> None:
    fun = partial(weighted, FUNCTIONS[name])
    value, found = source.value_and_grad(fun)(X)
    assert value == fun(X)
    expected = [slope(partial(moved, fun, unit)) for unit in units()]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives(name: str) -> None:
    gradient = source.grad(partial(weighted, FUNCTIONS[name]))
    way = np.array([[0.5, -0.3], [0.2, 1.0]])
    found = source.grad(lambda x: np.sum(gradient(x) * way))(X)
    along = lambda x: np.sum(gradient(x) * way)  # noqa: E731
    expected = [slope(partial(moved, along, unit)) for unit in units()]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-7, atol=1e-7)


def one_of_two(x: Any) -> Any:
    """Both choices use the logarithm, and none of them takes it where it has no derivative."""
    t = np.log(x)
    return np.where(x > 0, t * x, 3 * x) + np.where(x > 1, t, 0.0)


def one_number(x: Any) -> Any:
    """The root of a number is repeated, and none of its repetitions is taken."""
    return np.where(x > 9, np.sqrt(x[0]) * x, x)


def clamped(x: Any) -> Any:
    """A choice among choices among choices: what both cases of one use is taken where it is."""
    for bound in range(20):
        x = np.where(x > 5 + bound, np.sqrt(x - 5 - bound), x)
    return np.where(x > 0, x, -x)


def unrolled(x: Any) -> Any:
    """Twelve choices in one block, of which each uses the one before twice."""
    x = np.where(x > 5, np.sqrt(x - 5), x)
    x = np.where(x > 6, np.sqrt(x - 6), x)
    x = np.where(x > 7, np.sqrt(x - 7), x)
    x = np.where(x > 8, np.sqrt(x - 8), x)
    x = np.where(x > 9, np.sqrt(x - 9), x)
    x = np.where(x > 4, np.sqrt(x - 4), x)
    x = np.where(x > 10, np.sqrt(x - 10), x)
    x = np.where(x > 11, np.sqrt(x - 11), x)
    x = np.where(x > 12, np.sqrt(x - 12), x)
    x = np.where(x > 13, np.sqrt(x - 13), x)
    x = np.where(x > 14, np.sqrt(x - 14), x)
    return np.where(x > 0, np.sqrt(x), x)


def later(x: Any) -> Any:
    """Select values that depend on possibly infinite ones, and on another selection of them."""
    t = np.log(x)
    y = np.where(np.isfinite(t), t, x)
    return np.where(y > 1, t * t, y)


def across(x: Any) -> Any:
    """The condition has rows, and the root has columns."""
    taken = np.array([[True], [False]]) & (x > 0)
    return np.where(np.array([[True], [True]]), np.where(taken, np.sqrt(x), x), 0.0).sum(0)


def multiplied_by_a_matrix(x: Any) -> Any:
    """A product of matrices is a ufunc, too, but does not work element by element."""
    return np.where(x > 0, np.matmul(np.eye(3), np.where(x > 0, np.sqrt(x), 0.0)), x)


@attrs.frozen
class Choice:
    """A function of an array that chooses, and its derivatives at 0, 4 and -1.

    Attributes:
        fun: the function.
        first: its derivatives.
        second: its second derivatives.
        of_floats: whether it is a function of floats, too.
        of_tinyjax: whether it is one of arrays of tinyjax where ``np`` means ``tinyjax.numpy``.
    """

    fun: Function
    first: Sequence[float]
    second: Sequence[float]
    of_floats: bool = True
    of_tinyjax: bool = True

    def with_tinyjax(self) -> Function:
        return FunctionType(self.fun.__code__, {**self.fun.__globals__, "np": jnp})


CHOICES: Final[dict[str, Choice]] = {
    "a root": Choice(lambda x: np.where(x > 0, np.sqrt(x), x), [1, 0.25, 1], [0, -1 / 32, 0]),
    "not a root": Choice(
        lambda x: np.where(x <= 0, 2 * x, 1 / np.sqrt(x)), [2, -1 / 16, 2], [0, 3 / 128, 0]
    ),
    "a quotient": Choice(
        lambda x: np.where(x != 0, np.sin(x) / x, 1.0),
        [0, -0.116110749, 0.301168679],
        [0, 0.247255999, -0.239133627],
    ),
    "one of two choices": Choice(one_of_two, [3, math.log(4) + 1.25, 3], [0, 0.25 - 1 / 16, 0]),
    "an inner choice": Choice(
        lambda x: np.where(x >= 0, np.where(x > 0, np.log(x), x) * 2, np.reciprocal(x)),
        [2, 0.5, -1],
        [0, -1 / 8, -2],
    ),
    "an inner choice that takes a root": Choice(
        lambda x: np.where(x != 0, np.where(x >= 0, np.sqrt(x), x), 2 * x),
        [2, 0.25, 1],
        [0, -1 / 32, 0],
    ),
    "one number": Choice(one_number, [1, 1, 1], [0, 0, 0], of_floats=False),
    "choices of choices": Choice(clamped, [-1, 1, -1], [0, 0, 0]),
    "choices in a row": Choice(unrolled, [1, 0.25, 1], [0, -1 / 32, 0]),
    "choices that depend on each other": Choice(
        later, [1, math.log(4) / 2, 1], [0, (1 - math.log(4)) / 8, 0]
    ),
    "rows and columns": Choice(across, [2, 1.25, 2], [0, -1 / 32, 0], of_floats=False),
    "the greater one": Choice(lambda x: np.fmax(np.log(x), x - 1), [1, 1, 1], [0, 0, 0]),
    "the smaller one, times x": Choice(
        lambda x: np.minimum(1 / x, 0.5) * x, [0.5, 0, 0], [0, 0, 0], of_floats=False
    ),
    "an end, times x": Choice(
        lambda x: np.clip(1 / x, -0.5, 0.5) * x, [0.5, 0, -0.5], [0, 0, 0], of_floats=False
    ),
    "a greater one that is not taken": Choice(
        lambda x: np.where(x > 0, np.maximum(np.sqrt(x), np.reciprocal(x)), x),
        [1, 0.25, 1],
        [0, -1 / 32, 0],
    ),
    "no inverse hyperbolic cosine": Choice(
        lambda x: np.where(x > 1, np.arccosh(x), x), [1, 15**-0.5, 1], [0, -4 * 15**-1.5, 0]
    ),
    "no division by a whole number": Choice(
        lambda x: np.where(np.array([0, 2, 1]) > 0, x / np.array([0, 2, 1]), 3 * x),
        [3, 0.5, 1],
        [0, 0, 0],
        of_floats=False,
    ),
    "no infinite number": Choice(lambda x: np.where(x > 9, x * math.inf, x), [1] * 3, [0] * 3),
    "a list of conditions": Choice(
        lambda x: np.where([False, True, False], np.sqrt(x), 2 * x),
        [2, 0.25, 2],
        [0, -1 / 32, 0],
        of_floats=False,
        of_tinyjax=False,
    ),
    "not of a list of conditions": Choice(
        lambda x: np.where([True, False, True], x, np.sqrt(x)),
        [1, 0.25, 1],
        [0, -1 / 32, 0],
        of_floats=False,
        of_tinyjax=False,
    ),
    "a list": Choice(
        lambda x: np.where(x > 0, [x[0], np.sqrt(x[1]), np.log(x[2])], np.array([0.0, x[0], x[2]])),
        [0, 0.25, 1],
        [0, -1 / 32, 0],
        of_floats=False,
        of_tinyjax=False,
    ),
    "a product": Choice(
        multiplied_by_a_matrix, [1, 0.25, 1], [0, -1 / 32, 0], of_floats=False
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICES)
def test_what_is_not_taken_does_not_count(name: str) -> None:
    case = CHOICES[name]
    x = np.array([0.0, 4.0, -1.0])

    def summed(derivative: Function) -> Function:
        return lambda x: derivative(x).sum()

    with np.errstate(all="ignore"):
        first = source.grad(summed(case.fun))
        np.testing.assert_allclose(first(x), case.first, 1e-6, 1e-12)
        np.testing.assert_allclose(source.grad(summed(first))(x), case.second, 1e-6, 1e-12)
        if case.of_floats:
            first = source.grad(case.fun)
            for change, expected in ((first, case.first), (source.grad(first), case.second)):
                floats = [change(float(number)) for number in x]
                np.testing.assert_allclose(floats, expected, 1e-6, 1e-12)


@pytest.mark.parametrize("name", [name for name in CHOICES if CHOICES[name].of_tinyjax])
def test_what_is_not_taken_does_not_count_whoever_derives(name: str) -> None:
    case = CHOICES[name]
    fun, x = case.with_tinyjax(), jnp.array([0.0, 4.0, -1.0])
    first, first_of_core = (change(lambda x: fun(x).sum()) for change in (source.grad, grad))
    seconds = [
        source.grad(lambda x: first(x).sum()),
        source.grad(lambda x: first_of_core(x).sum()),
        grad(lambda x: first(x).sum()),
        lambda x: jvp(first, (x,), (jnp.ones(3),))[1],
    ]
    for change in (first, jit(first)):
        np.testing.assert_allclose(change(x), case.first, 1e-5, 1e-6)
    for change in (*seconds, jit(seconds[0])):
        np.testing.assert_allclose(change(x), case.second, 1e-5, 1e-6)


def test_only_what_may_be_infinite_is_chosen() -> None:
    def clipped(x: Any, w: Any) -> Any:
        return np.where(x > 0, np.maximum(2.0 * (x @ w) - 1.0, -x), 0.0).sum()

    assert "chosen" not in source.adjoint_source(clipped, np.ones(2), np.ones((2, 2)))

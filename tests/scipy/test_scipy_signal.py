"""Transforms, filters, spectra, interpolation and solvers by SciPy's names, against SciPy's."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax.scipy.ndimage
import jax.scipy.sparse.linalg
import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft as their_fft
import scipy.interpolate as their_interpolate
import scipy.ndimage
import scipy.signal as theirs
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import tree
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.experimental.sparse import BCOO
from tinyjax.scipy import fft, integrate, ndimage, signal
from tinyjax.scipy.cluster.vq import vq
from tinyjax.scipy.interpolate import RegularGridInterpolator
from tinyjax.scipy.sparse.linalg import bicgstab, cg, gmres
from tinyjax.test_util import check_grads


def random(*shape: int, seed: int = 0, dtype: str = "float64") -> HostArray:
    rng = np.random.default_rng([seed, *shape])
    x = np.asarray(rng.standard_normal(shape))
    if dtype.startswith("c"):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def close(got: Any, expected: Any, tol: float = 1e-10) -> None:
    got, expected = tree.leaves(got), tree.leaves(expected)
    assert len(got) == len(expected)
    for x, y in zip(got, expected, strict=True):
        y = np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(np.asarray(x), y, tol, tol)


Call = tuple[str, Callable[..., Any], Callable[..., Any], Sequence[HostArray]]


def both(name: str, options: dict[str, Any], *operands: HostArray, module: Any = signal) -> Call:
    """One function here and in SciPy, with options."""
    model = theirs if module is signal else their_fft
    return (
        f"{name} {options} {[x.shape for x in operands]}",
        partial(getattr(module, name), **options),
        partial(getattr(model, name), **options),
        operands,
    )


X = random(50, 3)
CALLS: list[Call] = [
    *(
        both(name, {"type": kind, "norm": norm}, random(2, n), module=fft)
        for name in ("dct", "idct")
        for kind in (1, 2, 3, 4)
        for norm in (None, "ortho", "forward")
        for n in (5, 6)
    ),
    both("dct", {"n": 7, "axis": 0}, random(5, 2, dtype="complex128"), module=fft),
    both("idct", {"n": 3, "axis": 0}, random(5, 2), module=fft),
    both("dctn", {}, random(3, 4, 5), module=fft),
    both("dctn", {"axes": (2, 0), "s": (4, 2)}, random(3, 4, 5), module=fft),
    both("idctn", {"norm": "ortho", "s": (4, 2)}, random(3, 4, 5), module=fft),
    *(
        both(name, {"mode": mode}, random(*shapes[0], dtype=dtype), random(*shapes[1], dtype=dtype))
        for name in ("convolve", "correlate", "fftconvolve")
        for mode in ("full", "same", "valid")
        for dtype in ("float64", "complex128")
        for shapes in (((7,), (3,)), ((3,), (6,)), ((5, 6), (2, 4)))
    ),
    both("convolve", {"method": "fft"}, random(7), random(3)),
    both("fftconvolve", {"axes": 1}, random(1, 6), random(4, 3)),
    *(
        both(name, {"mode": mode}, random(*shapes[0]), random(*shapes[1]))
        for name in ("convolve2d", "correlate2d")
        for mode in ("full", "same", "valid")
        for shapes in (((5, 6), (2, 3)), ((2, 3), (5, 6)))
    ),
    both("detrend", {}, X),
    both("detrend", {"axis": 0, "bp": [10, 20]}, X),
    both("detrend", {"type": "constant", "axis": 0}, X),
    both("stft", {"nperseg": 16, "axis": 0}, X),
    both("stft", {"nperseg": 15, "noverlap": 4, "fs": 2.0, "nfft": 20}, random(2, 50)),
    *(
        both("stft", {"nperseg": 16, "boundary": b}, random(50))
        for b in ("even", "odd", "constant")
    ),
    both(
        "stft", {"nperseg": 16, "boundary": None, "padded": False, "detrend": "linear"}, random(50)
    ),
    both("stft", {"nperseg": 16, "return_onesided": False}, random(50)),
    both("welch", {"nperseg": 16}, random(2, 50)),
    both("welch", {"nperseg": 15, "scaling": "spectrum", "average": "median", "axis": 0}, X),
    both("welch", {"nperseg": 16, "window": ("tukey", 0.3), "detrend": False}, random(50)),
    both("welch", {"nperseg": 50, "window": "hamming"}, random(50)),
    both("csd", {"nperseg": 16, "fs": 3.0}, random(2, 50), random(2, 40)),
    both("csd", {"nperseg": 16, "average": "median"}, random(50), random(50, seed=1)),
    both("istft", {}, random(9, 6, dtype="complex128")),
    both("istft", {"nperseg": 9, "noverlap": 5, "input_onesided": False}, random(9, 6)),
    both("istft", {"boundary": False, "time_axis": 0, "freq_axis": 1}, random(6, 9)),
]


@pytest.mark.parametrize(
    ("ours", "model", "operands"), [call[1:] for call in CALLS], ids=[call[0] for call in CALLS]
)
@pytest.mark.filterwarnings("ignore:NOLA condition")
def test_values_are_those_of_scipy(
    ours: Callable[..., Any], model: Callable[..., Any], operands: Sequence[HostArray]
) -> None:
    close(ours(*operands), model(*operands))


@pytest.mark.usefixtures("each_tier")
def test_compiled_values_are_those_of_eager_evaluation() -> None:
    """All in one program."""
    calls = CALLS[::3]

    def run(everything: list[Any]) -> list[Any]:
        pairs = zip(calls, everything, strict=True)
        return [ours(*operands) for (_, ours, _, _), operands in pairs]

    operands = [list(call[3]) for call in calls]
    for got, expected in zip(tinyjax.jit(run)(operands), run(operands), strict=True):
        close(got, expected)


@pytest.mark.parametrize(("name", "ours", "operands"), [(c[0], c[1], c[3]) for c in CALLS[::7]])
def test_derivatives(name: str, ours: Callable[..., Any], operands: Sequence[HostArray]) -> None:
    check_grads(lambda *xs: jnp.asarray(tree.leaves(ours(*xs))[-1]), operands, 1)
    mapped = tinyjax.vmap(ours)(*(np.stack([x, 2 * x]) for x in operands))
    close(tree.map(lambda x: x[0], mapped), ours(*operands))


def test_transforms_and_back() -> None:
    x = random(2, 40)
    _, _, found = signal.stft(x, nperseg=16)
    times, back = signal.istft(found, nperseg=16)
    np.testing.assert_allclose(back[:, :40], x, 1e-10, 1e-12)
    assert times.shape == back.shape[-1:]  # SciPy's has one for each signal
    close(fft.idctn(fft.dctn(x)), x)


MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def test_map_coordinates_takes_lists_of_places() -> None:
    x, at = np.arange(12.0).reshape(4, 3), [[0.5, 2], [0.5, 1]]
    close(ndimage.map_coordinates(x, at, 1), scipy.ndimage.map_coordinates(x, at, order=1))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_map_coordinates(mode: Any, order: int, dtype: str) -> None:
    x = np.asarray(10 * random(4, 5)).astype(dtype)
    at = [8 * random(7, seed=1), 10 * random(7, seed=2)]
    got = ndimage.map_coordinates(x, at, order, mode, 2.0)
    with jax.enable_x64(True):
        expected = jax.scipy.ndimage.map_coordinates(x, at, order, mode, 2.0)
    close(got, np.asarray(expected))
    close(
        tinyjax.jit(lambda x, places: ndimage.map_coordinates(x, places, order, mode, 2.0))(x, at),
        got,
    )
    if order and dtype == "float64":
        check_grads(lambda x, places: ndimage.map_coordinates(x, places, 1, mode), (x, at), 1)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates_of_special_values(mode: Any, order: int) -> None:
    x = np.array([[1.0, np.inf, 2.0, np.nan], [3.0, 4.0, -np.inf, 5.0]], np.float32)
    places = [-2.5, -1.0, -0.0, 0.5, 1.0, 1.5, 2.0, 7.0, np.nan, np.inf, -1e20]
    down, right = (p.reshape(-1) for p in np.meshgrid(*[np.array(places, np.float32)] * 2))

    def values(x: Any, *places: Any) -> Any:
        return ndimage.map_coordinates(x, places, order, mode, 2.0)

    compiled = tinyjax.jit(values)
    for given in ((x, down, right), (x[:, :1], down, right), (x[0, 0],), (x[1], down[:0])):
        np.testing.assert_allclose(values(*given), compiled(*given), 1e-6)
    # what is not a number is left to the operations, where all others are SciPy's
    finite = np.isfinite(down) & np.isfinite(right)
    np.testing.assert_allclose(
        values(np.nan_to_num(x, posinf=9, neginf=-9), down[finite], right[finite]),
        compiled(np.nan_to_num(x, posinf=9, neginf=-9), down[finite], right[finite]),
        1e-6,
        1e-6,
    )


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, 3.0, None])
def test_grids(method: Any, fill: float | None) -> None:
    points = np.array([0.0, 1.0, 3.0]), np.array([-1.0, 0.5])
    values, at = random(3, 2, 2), random(8, 2, seed=1) * 1.5
    ours = RegularGridInterpolator(points, values, method, fill_value=fill)
    model = their_interpolate.RegularGridInterpolator(
        points, values, method, bounds_error=False, fill_value=fill
    )
    close(ours(at), model(at))
    close(tinyjax.jit(ours)(at), model(at))
    columns = at[:, 0], at[:, 1]
    close(ours(columns), model(columns))
    other = "nearest" if method == "linear" else "linear"
    close(ours(at, method=unchecked(other)), model(at, method=other))
    if fill is None and method == "linear":
        check_grads(
            lambda v, x: RegularGridInterpolator(points, v, fill_value=None)(x), (values, at), 1
        )


def test_codes() -> None:
    x, codes = random(20, 3), random(4, 3, seed=1)
    close(vq(x, codes), scipy.cluster.vq.vq(x, codes))
    close(vq(x[:, 0], codes[:, 0]), scipy.cluster.vq.vq(x[:, 0], codes[:, 0]))


def test_trapezoids() -> None:
    assert integrate.trapezoid(jnp.arange(3.0), dx=2.0) == jnp.trapezoid(jnp.arange(3.0), dx=2.0)


@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
def test_solvers(solver: Any) -> None:
    root = random(5, 5)
    matrix, right = root @ root.T + 5 * np.eye(5), random(5, seed=1)
    near = np.diag(1 / np.diag(matrix))
    for given in (matrix, lambda x: matrix @ x):
        for inverse in (None, near, lambda x: near @ x):
            x, info = solver(given, right, tol=1e-12, M=inverse)
            np.testing.assert_allclose(x, np.linalg.solve(matrix, right), 1e-9)
            assert (info == 0) if solver is gmres else (info is None)
    check_grads(
        lambda a, b: solver(a + a.T, b, tol=1e-13)[0], (matrix / 2, right), 2, atol=1e-5, rtol=1e-5
    )


class Multiplies:
    """A matrix that is known by its products alone."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.shape = matrix.shape

    def __matmul__(self, x: Any) -> Any:
        return self.matrix @ x


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
@pytest.mark.parametrize("convert", [Multiplies, BCOO.fromdense])
def test_a_matrix_may_be_what_multiplies(solver: Any, convert: Any) -> None:
    a, b = np.diag([2.0, 3.0, 4.0]) + 0.1, np.array([1.0, -1.0, 2.0])
    expected = np.linalg.solve(a, b)

    matrix, near = convert(a), convert(np.eye(3) / 3)

    def solve(b: Any) -> Any:
        return solver(matrix, b, M=near, tol=1e-10)[0]

    np.testing.assert_allclose(solve(b), expected, 1e-8)
    np.testing.assert_allclose(tinyjax.jit(solve)(b), expected, 1e-8)
    np.testing.assert_allclose(tinyjax.jacrev(solve)(b), np.linalg.inv(a), 1e-7, 1e-9)


def test_gmres_says_for_each_example_whether_it_failed() -> None:
    right = {"a": np.ones(2), "b": np.ones(())}
    starts = {"a": np.array([[1.0, 2.0], [np.nan, 1.0]]), "b": np.ones(2)}

    def info(library: Any) -> Any:
        solve = library.scipy.sparse.linalg.gmres
        return library.vmap(lambda x0: solve(lambda x: x, right, x0)[1])(starts)

    ours, theirs = info(tinyjax), info(jax)
    np.testing.assert_array_equal(ours, [0, -1])
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@pytest.mark.wrong_types
def test_arguments_are_checked() -> None:
    x = np.ones((3, 4))
    points = np.arange(3.0), np.arange(4.0)
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: fft.dct(x, unchecked(5)), ArgumentError, "type of "),
        (lambda: fft.dct(x, norm=unchecked("up")), ArgumentError, "norm of "),
        (lambda: fft.dct(x[:, :1], 1), ShapeError, "two values at least"),
        (lambda: fft.dct(x[:, :0]), ShapeError, "needs a value"),
        (lambda: fft.dct(x, n=0), ArgumentError, "at least 1"),
        (lambda: fft.dctn(x, s=(1, 2, 3)), ShapeError, "a length for each axis"),
        (lambda: signal.convolve(x, x, unchecked("up")), ArgumentError, "mode of "),
        (lambda: signal.convolve(x, x, method=unchecked("up")), ArgumentError, "'auto'"),
        (lambda: signal.convolve(x, x[0]), ShapeError, "as many axes"),
        (lambda: signal.convolve(x, x[:0]), ShapeError, "no empty arrays"),
        (lambda: signal.convolve(x, np.ones((4, 3)), "valid"), ShapeError, "as large as"),
        (lambda: signal.fftconvolve(x, np.ones((4, 3)), "valid"), ShapeError, "as large as"),
        (lambda: signal.fftconvolve(x, np.ones((2, 4)), axes=1), ShapeError, "that broadcast"),
        (lambda: signal.fftconvolve(x, x[:0]), ShapeError, "no empty arrays"),
        (lambda: signal.fftconvolve(x, x, axes=()), ShapeError, "an axis at least"),
        (lambda: signal.convolve2d(x, x, boundary=unchecked("wrap")), ArgumentError, "zeros"),
        (lambda: signal.correlate2d(x[0], x[0]), ShapeError, "takes matrices"),
        (lambda: signal.detrend(x, type=unchecked("up")), ArgumentError, "type of "),
        (lambda: signal.detrend(x, bp=9), ArgumentError, "breaks from 0 to 4"),
        (lambda: signal.detrend(x, overwrite_data=unchecked(True)), ArgumentError, "overwrites"),
        (lambda: signal.welch(x, scaling=unchecked("up")), ArgumentError, "scaling of "),
        (lambda: signal.welch(x, average=unchecked("up")), ArgumentError, "average of "),
        (lambda: signal.welch(x, noverlap=9), ArgumentError, "a noverlap less than"),
        (lambda: signal.welch(x, nperseg=0), ArgumentError, "positive nperseg"),
        (lambda: signal.welch(x, window=np.ones(9)), ShapeError, "no longer than the signal"),
        (lambda: signal.welch(x, window=np.ones(3), nperseg=2), ShapeError, "a window of"),
        (lambda: signal.welch(x[:, :0]), ShapeError, "one value at least"),
        (lambda: signal.csd(x, x[0]), ShapeError, "as many axes"),
        (lambda: signal.stft(x, boundary=unchecked("up")), ArgumentError, "boundary of "),
        (lambda: signal.istft(x[0]), ShapeError, "two axes at least"),
        (lambda: signal.istft(x, time_axis=0, freq_axis=0), ArgumentError, "distinct axes"),
        (lambda: signal.istft(x, noverlap=9), ArgumentError, "a noverlap less than"),
        (lambda: ndimage.map_coordinates(x, [x], 1), ShapeError, "for each axis"),
        (lambda: ndimage.map_coordinates(x, [x, x], 6), ArgumentError, "order of "),
        (
            lambda: ndimage.map_coordinates(x, [x, x], 1, unchecked("up")),
            ArgumentError,
            "mode of ",
        ),
        (lambda: RegularGridInterpolator(points, x, unchecked("up")), ArgumentError, "method of "),
        (lambda: RegularGridInterpolator(points, x, bounds_error=True), ArgumentError, "no error"),
        (lambda: RegularGridInterpolator(points[::-1], x), ShapeError, "as many points"),
        (lambda: RegularGridInterpolator(points, x)(np.ones((1, 3))), ShapeError, "has 2 axes"),
        (lambda: vq(x, x[0]), ShapeError, "takes observations"),
    ]
    for call, error, message in calls:
        with raises(error, match=message):
            call()

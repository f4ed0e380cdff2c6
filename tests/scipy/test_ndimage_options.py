"""Every option of SciPy's filters and resamplers: the same values, or an error."""

import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest
import scipy.ndimage

import tinyjax
from raising import raises
from tinyjax.errors import ArgumentError
from tinyjax.scipy import ndimage

IMAGE: Final = np.sin(np.arange(30.0).reshape(5, 6) ** 1.5)
VOLUME: Final = np.cos(np.arange(60.0).reshape(3, 4, 5) ** 1.4)

#: The arguments of each function, and the values of its options.
FILTERS: Final[dict[str, tuple[tuple[Any, ...], dict[str, list[Any]]]]] = {
    "correlate1d": (([1.0, -2.0, 4.0],), {"axis": [0, -1], "origin": [-1, 0, 1]}),
    "convolve1d": (([1.0, -2.0, 4.0, 3.0],), {"axis": [0, -1], "origin": [-1, 0, 1]}),
    "correlate": (
        (np.arange(12.0).reshape(3, 4),),
        {"origin": [0, 1, -1, (1, -2), (-1, 1)], "axes": [(0, 1), (1, 0), (-2, -1)]},
    ),
    "convolve": (
        (np.arange(12.0).reshape(3, 4),),
        {"origin": [0, 1, (1, 1), (-1, -1)], "axes": [(0, 1), (-1, 0)]},
    ),
    "gaussian_filter1d": (
        (0.8,),
        {"axis": [0, 1], "order": [0, 1, 2], "truncate": [2.0, 3.0], "radius": [None, 2]},
    ),
    "gaussian_filter": (
        ((0.8, 1.3),),
        {
            "order": [1, (0, 2)],
            "truncate": [2.0],
            "radius": [None, 2, (1, 2)],
            "axes": [(0, 1), (1, 0), (-2, -1)],
            "mode": [("nearest", "wrap")],
        },
    ),
    "uniform_filter": (
        (),
        {
            "size": [2, 3, (2, 4)],
            "origin": [0, -1, (0, -1)],
            "axes": [(0, 1), (1, 0)],
            "mode": [("mirror", "constant")],
        },
    ),
    "median_filter": (
        (),
        {
            "size": [3, (2, 3)],
            "footprint": [np.eye(3), np.array([[1, 1, 0], [0, 1, 0]])],
            "origin": [0, (-1, 0)],
            "axes": [(0, 1), (1, 0)],
        },
    ),
    "sobel": ((), {"axis": [0, -1], "mode": [("nearest", "wrap")]}),
    "laplace": ((), {"axes": [None, (0,), (1, 0), ()]}),
}
MODES: Final = [
    *("reflect", "constant", "nearest", "mirror", "wrap"),
    *("grid-mirror", "grid-constant", "grid-wrap"),
]
MOVES: Final[dict[str, tuple[tuple[Any, ...], dict[str, list[Any]]]]] = {
    "shift": (((0.7, -1.3),), {}),
    "zoom": (((1.6, 0.7),), {"grid_mode": [True, False]}),
    "rotate": ((17.0,), {"axes": [(0, 1), (1, 0)], "reshape": [True, False]}),
    "affine_transform": (
        (np.array([[0.9, 0.2], [-0.13, 1.1]]),),
        {"offset": [0.3, (0.5, -0.2)], "output_shape": [(4, 7), None]},
    ),
}
ORDERS: Final[dict[str, list[Any]]] = {"order": [0, 1, 2, 3, 4, 5], "prefilter": [True, False]}


def drawn_calls(name: str, options: dict[str, list[Any]], count: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(name)
    for _ in range(count):
        names = [option for option in options if rng.random() < 0.7]
        if name == "median_filter":
            names = [n for n in names if n not in ("size", "footprint")]
            names.append(rng.choice(["size", "footprint"]))
        yield {option: rng.choice(options[option]) for option in names}


@pytest.mark.parametrize("name", [*FILTERS])
def test_filters(name: str) -> None:
    args, options = FILTERS[name]
    options = {"cval": [0.0, 1.5], **options, "mode": MODES + options.get("mode", [])}
    for kwargs in drawn_calls(name, options, 60):
        for x in (IMAGE, VOLUME) if kwargs.get("axes") else (IMAGE,):
            expected = getattr(scipy.ndimage, name)(x, *args, **kwargs)
            values = getattr(ndimage, name)(x, *args, **kwargs)
            np.testing.assert_allclose(values, expected, 1e-12, 1e-12, err_msg=str(kwargs))


@pytest.mark.filterwarnings("ignore:It is recommended to use mode = grid-constant")
@pytest.mark.parametrize("name", [*MOVES])
def test_moves(name: str) -> None:
    args, options = MOVES[name]
    modes = ["constant", "nearest", "mirror", "grid-wrap", "grid-constant"]
    for kwargs in drawn_calls(name, {"mode": modes, "cval": [1.5], **ORDERS, **options}, 10):
        expected = getattr(scipy.ndimage, name)(IMAGE, *args, **kwargs)
        values = getattr(ndimage, name)(IMAGE, *args, **kwargs)
        np.testing.assert_allclose(values, expected, 1e-6, 1e-6, err_msg=str(kwargs))


@pytest.mark.parametrize("rows", [2, 3])
def test_matrices_with_offsets(rows: int) -> None:
    matrix = np.array([[0.9, 0.2, 0.4], [-0.1, 1.1, -0.6], [0.0, 0.0, 1.0]])[:rows]
    expected = scipy.ndimage.affine_transform(IMAGE, matrix)
    np.testing.assert_allclose(ndimage.affine_transform(IMAGE, matrix), expected, 1e-6, 1e-6)


def test_an_axis_of_no_width_and_one_that_is_traced() -> None:
    expected = scipy.ndimage.gaussian_filter(IMAGE, (0.0, 1.1))
    np.testing.assert_allclose(ndimage.gaussian_filter(IMAGE, (0.0, 1.1)), expected, 1e-12)
    widths = tinyjax.jit(lambda s: ndimage.gaussian_filter(IMAGE, s, radius=4))
    expected = scipy.ndimage.gaussian_filter(IMAGE, 0.7, radius=4)
    np.testing.assert_allclose(widths(0.7), expected, 1e-6, 1e-6)


def test_complex_weights() -> None:
    weights = np.array([1.0 + 2.0j, 0.5j, -1.0])
    for name in ("correlate1d", "convolve1d"):
        expected = getattr(scipy.ndimage, name)(IMAGE + 0j, weights)
        np.testing.assert_allclose(getattr(ndimage, name)(IMAGE + 0j, weights), expected, 1e-12)


@pytest.mark.parametrize("name", [*FILTERS, *MOVES, "map_coordinates"])
@pytest.mark.wrong_types
def test_signatures_and_refusals(name: str) -> None:
    ours, theirs = getattr(ndimage, name), getattr(scipy.ndimage, name)
    args = {**FILTERS, **MOVES, "map_coordinates": ((IMAGE[None, :2],), {})}[name][0]
    if name == "median_filter":
        args = (3,)
    if name == "map_coordinates":  # JAX's order
        args = ([IMAGE, IMAGE], 1)
    else:
        assert shown(ours) == shown(theirs)
    with raises(ArgumentError, match=f"output of {name} has to be None"):
        ours(IMAGE, *args, output=np.zeros(IMAGE.shape))
    with raises(TypeError, match="mod"):
        ours(IMAGE, *args, mod="nearest")
    with raises(ArgumentError, match="mode of"):
        ours(IMAGE, *args, mode="nearby")


def shown(function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in parameters]


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("origin of correlate1d", lambda: ndimage.correlate1d(IMAGE, np.ones(3), origin=2)),
        ("origin of correlate", lambda: ndimage.correlate(IMAGE, np.ones((3, 3)), origin=(0, -2))),
        ("one of size and footprint", lambda: ndimage.median_filter(IMAGE)),
        ("one of size and footprint", lambda: ndimage.median_filter(IMAGE, 3, np.eye(3))),
        ("no element", lambda: ndimage.median_filter(IMAGE, footprint=np.zeros((3, 3)))),
        ("mode of laplace", lambda: ndimage.laplace(IMAGE, mode=["wrap"] * 3)),
        ("size of uniform_filter", lambda: ndimage.uniform_filter(IMAGE, (2, 2), axes=(0,))),
    ],
)
def test_options_that_do_not_fit(words: str, call: Callable[[], Any]) -> None:
    with raises(ArgumentError, match=words):
        call()

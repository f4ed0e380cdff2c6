"""Programs of NumPy that hold their numbers in lists, as NumPy takes them for arrays."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import source


class Squares:
    """An object whose items are computed of the index."""

    def __getitem__(self, x: Any) -> Any:
        return 3.0 * x * x


squares = Squares()
queue = deque([2.0, 3.0])

PROGRAMS: list[Callable[[Any], Any]] = [
    lambda x: np.sum([x, 2 * x]),
    lambda x: np.mean([x, 3 * x]),
    lambda x: np.max([x, 2.0]),
    lambda x: np.dot([x, 1.0], [2.0, x]),
    lambda x: np.linalg.norm([x, 1.0]),
    lambda x: np.concatenate([[x], [1.0, x]]).sum(),
    lambda x: np.interp(x, [0.0, 5.0], [1.0, 2.0]),
    lambda x: np.hstack([x, 1.0, [x]]).sum(),
    lambda x: np.polyval([1.0, 2.0, 3.0], x),
    lambda x: np.polyval([x, 2.0], 3.0),
    lambda x: np.where([True, False], [x, 1.0], [2.0, x]).sum(),
    lambda x: np.cross([x, 0.0, 1.0], [1.0, x, 0.0]).sum(),
    lambda x: np.outer([x, 1.0], [x, 2.0]).sum(),
    lambda x: np.std([x, 1.0, 2.0]),
    lambda x: np.median([x, 1.0, 5.0]),
    lambda x: np.sort([x, 1.0, 0.5])[0],
    lambda x: np.linalg.solve([[x, 1.0], [0.0, 2.0]], [1.0, x]).sum(),
    lambda x: np.clip([x, 2 * x], 0.0, 2.0).sum(),
    lambda x: np.diff([x, x * x, 1.0]).sum(),
    lambda x: np.cumsum([x, x])[-1],
    lambda x: np.trapezoid([x, 1.0, x], [0.0, 1.0, 2.0]),
    lambda x: np.sin([x, 2 * x]).sum(),
    lambda x: np.maximum([x, 1.0], 2.0).sum(),
    lambda x: np.prod([x, x + 1]),
    lambda x: x * float(np.any([x > 1, x < 0])),
    lambda x: (np.zeros_like([x, 1.0]) + x).sum(),
    lambda x: np.vstack([[x, 1.0], [2.0, x]]).sum(),
    lambda x: np.einsum("i,i->", [x, 1.0], [x, 2.0]),
    lambda x: np.tile([x, 1.0], 2).sum(),
    lambda x: np.average([x, 2.0], weights=[1.0, x]),
    lambda x: np.meshgrid([x, 1.0], [2.0, x])[0].sum(),
    lambda x: np.pad([x, 1.0], 1).sum(),
    lambda x: np.roll([x, 1.0], 1)[0],
    lambda x: np.kron([x, 1.0], [1.0, x]).sum(),
    lambda x: np.convolve([x, 1.0], [1.0, x]).sum(),
    lambda x: np.matmul([[x, 1.0]], [[1.0], [x]])[0, 0],
    lambda x: np.linalg.inv([[x, 0.1], [0.0, 1.0]]).sum(),
    lambda x: np.linalg.det([[x, 0.1], [0.2, 1.0]]),
    lambda x: (np.array([1.0, 2.0]) * [x, x]).sum(),
    lambda x: np.array([x, 2 * x, 3 * x])[[0, 2]].sum(),
    lambda x: np.round(x, 1) * x,
    lambda x: x if np.isclose(x, 1.3) else -x,
    lambda x: x if np.allclose([x], [1.3]) else -x,
    lambda x: float(np.array([x])[0]) * 2,
    lambda x: np.array([x]).item() * 2,
    lambda x: np.float64(x) * 2,
    lambda x: np.searchsorted([0.0, 1.0, 2.0], x) * x,
    lambda x: x * np.sum([v > 1 for v in [x, 2.0]]),
    lambda x: x * len(np.unique([1.0, 1.0, 2.0])),
    lambda x: np.select([x > 2, x > 1], [x, 2 * x], default=0.0),
    lambda x: np.heaviside(x, 0.5) * x,
    lambda x: (
        np.log1p(x)
        + np.expm1(x)
        + np.hypot(x, 1.0)
        + np.arctan2(x, 1.0)
        + np.deg2rad(x)
        + np.sinc(x)
        + np.square(x)
        + np.cbrt(x)
        + np.sign(x) * x
    ),
    lambda x: np.nansum([x, np.nan]),
    lambda x: np.ptp([x, 1.0, 5.0]),
    lambda x: np.gradient([x, 2 * x, x * x]).sum(),
    lambda x: np.quantile([x, 1.0, 3.0], 0.4),
    lambda x: np.cov([x, 1.0, 2.0]),
    lambda x: np.corrcoef([x, 1.0, 2.0], [1.0, 2.0, x])[0, 1],
    lambda x: np.vander([x, 2.0], 3).sum(),
    lambda x: np.abs(np.fft.fft([x, 1.0, 2.0])).sum(),
    lambda x: np.triu([[x, x], [x, x]]).sum(),
    lambda x: np.diag([x, 2 * x]).sum(),
    lambda x: np.trace([[x, 1.0], [1.0, x]]),
    lambda x: np.insert([1.0, 2.0], 1, x).sum(),
    lambda x: np.append([1.0], x).sum(),
    lambda x: np.delete([x, 1.0, 2.0], 0).sum(),
    lambda x: np.flip([x, 1.0])[1],
    lambda x: np.repeat([x, 1.0], 2).sum(),
    lambda x: np.reshape([x, x, x, x], (2, 2)).sum(),
    lambda x: np.transpose([[x, 1.0]]).sum(),
    lambda x: np.expand_dims([x], 0).sum(),
    lambda x: np.squeeze([[x]]) * 1.0,
    lambda x: np.split(np.array([x, 2 * x]), 2)[1].sum(),
    lambda x: np.broadcast_to([x], (3,)).sum(),
    lambda x: np.min([[x, 1.0], [2.0, x]], axis=0).sum(),
    lambda x: np.amax([x, 1.0]),
    lambda x: x * np.count_nonzero([1.0, 0.0]),
    lambda x: x * np.nonzero([1.0, 0.0])[0].sum(),
    lambda x: (np.mgrid[0:2] * x).sum(),
    lambda x: np.abs(np.fft.rfft(np.array([x, x, 2.0]), 4)).sum(),
    lambda x: np.abs(np.fft.fft2(np.array([[x, x], [1.0, 2.0 * x]]))).sum(),
    lambda x: np.fft.fftshift([x, 1.0, x * x])[0],
    lambda x: np.r_[x, 1.0].sum(),
    lambda x: np.c_[[x, 1.0], [2.0, x]].sum(),
    lambda x: (np.array([x])[:, np.newaxis] * np.array([1.0, 2.0])).sum(),
    lambda x: np.array([x, 1.0]) @ [1.0, x],
    lambda x: np.where(np.array([1.0, 2.0]) > [x, 3.0], 1.0, 0.0).sum() * x,
    lambda x: (np.array([1.0, 2.0]) + [x, 3.0]).sum(),  # noqa: RUF005
    lambda x: ([x, 3.0] + np.array([1.0, 2.0])).sum(),  # noqa: RUF005
    lambda x: (np.array([x, 2.0]) * (1.0, 2.0)).sum(),
    lambda x: sum([x, 1.0] + [2.0] * 2),
    lambda x: np.array([[x, 2.0], [3.0, x * x]])[[0, 1], [1, 1]].sum(),
    lambda x: np.array([x, 2.0, 3.0])[[True, False, True]].sum(),
    lambda x: sum((np.array([x, 2.0]) * x).tolist()),
    lambda x: (np.array([x]) * 2).item() + np.float64(x).item(),
    lambda x: ([x, 1.0] @ np.array([[1.0, x], [2.0, 3.0]])).sum(),
    lambda x: np.fft.rfft(np.array([x, 1.0, 2.0])).real.sum(),
    lambda x: np.r_[0:3, x, [x, x]].sum(),
    lambda x: np.c_[np.array([1.0, x]), [x, 2.0]].sum(),
    lambda x: sum((w * v for w, v in zip([1.0, 2.0], np.array([x, x * x]), strict=True))),
    lambda x: sum((np.array([1.0, 2.0, 3.0])[i] * v for i, v in enumerate([x, x * x, 1.0]))),
    lambda x: (np.array([1.0, 2.0]) ** [x, 2.0]).sum(),
    lambda x: ([x, 1.0] / np.array([2.0, 4.0])).sum(),
    lambda x: np.array([x, 2.0])[np.argmax([x, 2.0])] * 1.0,
    lambda x: np.array([x, 2 * x, 3 * x]).take([0, 2]).sum(),
    lambda x: np.array([x, 2 * x]).take((0, 1), axis=0)[1],
    lambda x: np.array([x, 2.0]).dot([x, 1.0]),
    lambda x: np.array([x, 2 * x]).compress([False, True]).sum(),
    lambda x: np.array([x, 2 * x]).repeat([1, 2]).sum(),
    lambda x: np.array([x, 3 * x]).clip([0.0, 0.0], [9.0, 2.0]).sum(),
    lambda x: np.array([x, 3.0]).clip(min=[2.0, 0.0]).sum() * x,
    lambda x: np.array([0.5, x]).searchsorted([1.0, 2.0]).sum() * x,
    lambda x: np.array([x, 2 * x]).sum(where=[True, False]),
    lambda x: np.array([x, 2 * x, x * x]).std(where=[True, False, True]),
]
#: Those whose items Python computes, which staging leaves to Python.
COMPUTED: list[Callable[[Any], Any]] = [
    lambda x: squares[x],
    lambda x: Squares()[x] * squares[2.0],
    lambda x: x * squares[1.0],
    lambda x: sum(queue[i] * y for i, y in enumerate([x, x * x])),
]


def slope(f: Callable[[Any], Any], x: float) -> Any:
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


@pytest.mark.parametrize("f", [*PROGRAMS, *COMPUTED])
def test_derivatives_from_source(f: Callable[[Any], Any]) -> None:
    value, gradient = source.value_and_grad(f)(1.3)
    np.testing.assert_allclose(value, f(1.3), rtol=1e-12)
    np.testing.assert_allclose(gradient, slope(f, 1.3), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("f", [*PROGRAMS, *COMPUTED])
def test_what_is_staged(f: Callable[[Any], Any]) -> None:
    with tinyjax.default_dtypes("float64"):
        staged = tinyjax.jit(f, control_flow="source", tier="first")  # evaluated, not compiled
        value, gradient = tinyjax.value_and_grad(staged)(1.3)
        np.testing.assert_allclose(staged(1.3), f(1.3), rtol=1e-9)
    np.testing.assert_allclose(value, f(1.3), rtol=1e-9)
    np.testing.assert_allclose(gradient, slope(f, 1.3), rtol=1e-4, atol=1e-6)


def test_second_derivatives_of_joined_items() -> None:
    def f(x: Any) -> Any:
        return (np.r_[x * x, 1.0] * np.c_[[x, 2.0], [x, x]].sum()).sum() * squares[x]

    expected = slope(source.grad(f), 1.3)
    np.testing.assert_allclose(source.grad(source.grad(f))(1.3), expected, rtol=1e-5)


def test_items_of_python() -> None:
    staged = source.stage(lambda x: (np.array([[x, 2.0]]).item(1), np.array([x, 2.0]).tolist()))
    item, items = tinyjax.jit(staged)(1.5)
    assert (float(item), [float(x) for x in items]) == (2.0, [1.5, 2.0])
    with raises(ValueError, match="can only convert an array of size 1"):
        tinyjax.jit(source.stage(lambda x: np.array([x, x]).item()))(1.0)

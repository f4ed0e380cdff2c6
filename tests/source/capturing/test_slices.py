"""Views that are written to as slices of their memory, not by positions."""

import numpy as np
import pytest

from tinyjax.dtypes import HostArray
from tinyjax.source.capturing.memories import slices_of


def _shapes(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.integers(1, 6, size=rng.integers(1, 4)).tolist())


def _part(array: HostArray, rng: np.random.Generator) -> HostArray:
    """Return a part of an array by a random index of integers and slices, or another view."""
    kind = rng.integers(6)
    if kind == 0:
        return array.T
    if kind == 1 and array.ndim > 1:
        return np.diagonal(array)
    if kind == 2 and array.flags.c_contiguous:
        return array.reshape(-1)
    key: list[int | slice | None] = []
    for size in array.shape:
        bounds = [None, 0, 1, 2, -1]
        start, stop = (bounds[i] for i in rng.integers(len(bounds), size=2))
        if rng.integers(4) == 0:
            key.append(int(rng.integers(size)))
        else:
            key.append(slice(start, stop, (1, 1, 2, 3, -1, -2)[rng.integers(6)]))
    if rng.integers(4) == 0:
        key.insert(0, None)
    return array[(*key, ...)]


@pytest.mark.parametrize("seed", range(4))
def test_slices_give_the_elements_of_the_part(seed: int) -> None:
    """Parts of parts, of arrays in C's and Fortran's order, against NumPy's own elements."""
    rng = np.random.default_rng(seed)
    count = 0
    for _ in range(3000):
        array = np.arange(0.0, 1000.0)[: np.prod(shape := _shapes(rng))].reshape(shape)
        array = np.asfortranarray(array) if rng.integers(2) else array
        part = array
        for _ in range(rng.integers(1, 4)):
            part = _part(part, rng) if part.size else part
        place = slices_of(array, part)
        if place is None:
            continue
        count += 1
        key, axes = place
        plain = part.reshape([size for size in part.shape if size != 1])
        np.testing.assert_array_equal(array[key], plain.transpose(axes))
    assert count > 400


def test_a_part_of_another_array_has_no_slices() -> None:
    """Parts that lie elsewhere, overlap or have another dtype are written by their positions."""
    array = np.arange(12.0).reshape(3, 4)
    assert slices_of(array, np.arange(12.0)[3:5]) is None
    assert slices_of(array, np.broadcast_to(array[0], (3, 4))) is None
    assert slices_of(array, array.view(np.int64)) is None
    assert slices_of(array, array[:0]) is None

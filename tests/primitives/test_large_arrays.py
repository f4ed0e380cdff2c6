"""What NumPy computes in another way where arrays are large is what it computes of small ones."""

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.dtypes import HostArray

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def integers(dtype: str, shape: tuple[int, ...], bits: int, seed: int) -> HostArray:
    """Integers of at most so many bits, with the ends among them."""
    ends = np.iinfo(dtype)
    low, high = max(ends.min, -(2**bits)), min(ends.max, 2**bits)
    x = np.random.default_rng(seed).integers(low, high, shape, dtype, endpoint=True)
    x.flat[:2] = low, high
    return x


@pytest.mark.parametrize("bits", [3, 11, 16, 31, 63])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integers_are_exact(dtype: str, bits: int) -> None:
    x, y = integers(dtype, (2, 90, 110), bits, 1), integers(dtype, (2, 110, 100), bits, 2)
    expected = np.einsum("bij,bjk->bik", x.astype(object), y.astype(object))
    for result in (dtype, "int8", "int64", "uint32"):
        size = np.dtype(result).itemsize * 8
        rest = expected % (1 << size)
        if result[0] == "i":
            rest = np.where(rest >= 1 << (size - 1), rest - (1 << size), rest)
        found = jnp.matmul(x, y, preferred_element_type=result)
        assert found.dtype == result
        np.testing.assert_array_equal(np.asarray(found), rest.astype(result))
    some = lax.dot(x[0].T.copy(), x[0])
    np.testing.assert_array_equal(some, tinyjax.jit(lax.dot, tier="compiled")(x[0].T, x[0]))


@pytest.mark.parametrize(("shift", "dtype"), [(24, "float32"), (16, "float64"), (0, "float64")])
def test_products_of_integers_are_multiplied_as_floats(
    shift: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = integers("int32", (400, 400), 31, 1) >> shift
    multiplied: set[str] = set()
    matmul = np.matmul
    monkeypatch.setattr(np, "matmul", lambda a, b: (multiplied.add(a.dtype.name), matmul(a, b))[1])
    jnp.matmul(x, x)
    assert multiplied == {dtype}

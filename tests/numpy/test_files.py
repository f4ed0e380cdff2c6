"""Arrays as files, buffers and text, and orders of contraction, against NumPy."""

import io
from typing import Any

import numpy as np
import pytest

import tinyjax as tj
import tinyjax.numpy as jnp

pytestmark = pytest.mark.usefixtures("each_tier")


def test_saved_arrays_are_read_by_name() -> None:
    file = io.BytesIO()
    jnp.savez(file, jnp.arange(3), x=np.eye(2))
    file.seek(0)
    arrays: Any = jnp.load(file)
    assert sorted(arrays) == ["arr_0", "x"]
    np.testing.assert_array_equal(arrays["x"], np.eye(2))


def test_vectors_of_buffers_files_and_texts(tmp_path: Any) -> None:
    data = np.arange(5, dtype=np.int16)
    path = tmp_path / "data"
    data.tofile(path)
    for got in (
        jnp.frombuffer(data.tobytes(), "int16", 3, 2),
        jnp.fromfile(path, "int16", 3, offset=2),
        jnp.fromiter(range(1, 9), "int16", 3),
        jnp.fromstring("1,2,3,4", "int16", 3, sep=","),
    ):
        assert got.dtype == np.int16
        assert got.tolist() == [1, 2, 3]


def test_printing_options_are_those_of_numpy() -> None:
    x = jnp.array([1.23456, 1e-9])
    with jnp.printoptions(precision=2, suppress=True):
        assert repr(x) == jnp.array_repr(x) == "Array([1.23, 0.  ], dtype=float32)"
        assert str(x) == jnp.array_str(x) == "[1.23 0.  ]"
    assert jnp.array_repr(x) == repr(x)
    assert jnp.array_repr(jnp.asarray(2)) == repr(jnp.asarray(2))


def test_orders_of_contraction_are_those_of_numpy() -> None:
    shapes = [(2, 30), (30, 4), (4, 50)]
    xs = [np.ones(shape) for shape in shapes]
    got = jnp.einsum_path("ij,jk,kl->il", *xs)
    assert got[0] == np.einsum_path("ij,jk,kl->il", *xs, optimize="greedy")[0][1:]


@pytest.mark.parametrize("p", [[1.0, -3, 2], [0.0, 2, -8, 0], [3.0], [0.0, 0]])
def test_roots_are_those_of_numpy(p: list[float]) -> None:
    wanted = np.sort_complex(np.roots(p))
    np.testing.assert_allclose(jnp.sort(jnp.roots(jnp.array(p))), wanted, atol=1e-5)
    padded = tj.jit(lambda p: jnp.roots(p, strip_zeros=False))(jnp.array(p))
    found = np.asarray(padded)[: wanted.size]
    np.testing.assert_allclose(np.sort_complex(found), wanted, atol=1e-5)
    assert np.isnan(np.asarray(padded)[wanted.size :]).all()


def test_kaiser_windows_are_those_of_numpy() -> None:
    np.testing.assert_allclose(jnp.kaiser(7, 5.0), np.kaiser(7, 5.0), rtol=1e-4)
    assert jnp.kaiser(1, 3.0).tolist() == [1]


def test_characteristic_polynomial_is_that_of_numpy() -> None:
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    np.testing.assert_allclose(jnp.poly(a), np.poly(a), rtol=1e-6)

"""Programs where there are no 64-bit types, as in JAX without ``jax_enable_x64``."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import config

X = np.random.default_rng(0).normal(size=(3, 3))
I = np.arange(3)  # noqa: E741
SIMILAR = X @ X.T


def called_again(m: Any) -> Any:
    f = m.jit(lambda x, i: x[i].sum())
    return [f(X, I), f(X, I), f(X, I)]


#: Each takes the library.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "asarray": lambda m: m.numpy.asarray(X),
    "asarray of integers": lambda m: m.numpy.asarray(I),
    "asarray of complex numbers": lambda m: m.numpy.asarray(X + 1j),
    "asarray of a list": lambda m: m.numpy.array([np.float64(1), 2]),
    "asarray of what wraps": lambda m: m.numpy.asarray(np.int64(2**40 + 3)),
    "device_put": lambda m: m.device_put(X),
    "jit": lambda m: m.jit(lambda x: x * 2)(X),
    "jit, again": lambda m: [m.jit(lambda x, i: (x * 2, i))(X, I) for _ in range(3)],
    "jit of a function called again": called_again,
    "jit, closed over": lambda m: m.jit(lambda y: y * X)(2.0),
    "an operator": lambda m: m.numpy.ones(3) * X,
    "a reflected operator": lambda m: X @ m.numpy.ones(3),
    "a sum": lambda m: m.numpy.sum(X),
    "a sum of integers": lambda m: m.numpy.sum(I),
    "a sum with a dtype": lambda m: m.numpy.sum(X, dtype=np.float64),
    "a product of bytes": lambda m: m.numpy.prod(I.astype("uint8")),
    "mean of integers": lambda m: m.numpy.mean(I),
    "cumsum": lambda m: m.numpy.cumsum(I),
    "argmax": lambda m: m.numpy.argmax(X),
    "argsort": lambda m: m.numpy.argsort(X),
    "searchsorted": lambda m: m.numpy.searchsorted(X[0], X[1]),
    "nonzero": lambda m: m.numpy.nonzero(I)[0],
    "count_nonzero": lambda m: m.numpy.count_nonzero(X),
    "top_k": lambda m: m.lax.top_k(X, 2),
    "a scalar": lambda m: m.numpy.sin(np.float64(3.0)),
    "a scalar type": lambda m: m.numpy.float64(3),
    "zeros": lambda m: m.numpy.zeros(3, np.float64),
    "zeros of integers": lambda m: m.numpy.zeros(3, m.numpy.int64),
    "full": lambda m: m.numpy.full((2,), X[0, 0]),
    "full_like": lambda m: m.numpy.full_like(X, 2),
    "zeros_like": lambda m: m.numpy.zeros_like(I),
    "arange": lambda m: m.numpy.arange(3, dtype=np.int64),
    "linspace": lambda m: m.numpy.linspace(0, 1, 3, dtype="float64"),
    "iota": lambda m: m.lax.iota("int64", 3),
    "astype": lambda m: m.numpy.ones(3).astype("float64"),
    "convert_element_type": lambda m: m.lax.convert_element_type(1.0, np.float64),
    "int32 and uint32": lambda m: m.numpy.ones(3, np.int32) + m.numpy.ones(3, np.uint32),
    "where": lambda m: m.numpy.where(X > 0, X, 0.0),
    "stack": lambda m: m.numpy.stack([X, X]),
    "einsum": lambda m: m.numpy.einsum("ij,j", X, X[0]),
    "an index": lambda m: m.numpy.arange(3.0)[I],
    "an update": lambda m: m.numpy.zeros(3).at[I].add(X[0]),
    "fft": lambda m: m.numpy.abs(m.numpy.fft.fft(X)),
    "fftfreq": lambda m: m.numpy.fft.fftfreq(4),
    "solve": lambda m: m.numpy.linalg.solve(SIMILAR + np.eye(3), X),
    "eigvalsh": lambda m: m.numpy.linalg.eigvalsh(SIMILAR),
    "one_hot": lambda m: m.nn.one_hot(I, 3, dtype=np.float64),
    "segment_sum": lambda m: m.ops.segment_sum(X, I),
    "grad": lambda m: m.grad(lambda x: (x**2).sum())(X),
    "jvp": lambda m: m.jvp(m.numpy.sin, (X,), (X,)),
    "vjp": lambda m: m.vjp(m.numpy.sin, X)[1](X),
    "hessian": lambda m: m.hessian(lambda x: (x**3).sum())(X[0]),
    "vmap": lambda m: m.vmap(m.numpy.sin)(X),
    "checkpoint": lambda m: m.grad(m.checkpoint(lambda x: m.numpy.sin(x).sum()))(X),
    "scan": lambda m: m.lax.scan(lambda c, x: (c + x, x), m.numpy.float32(0), X[0]),
    "while_loop": lambda m: m.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * X), (0, X)
    ),
    "fori_loop": lambda m: m.lax.fori_loop(0, 3, lambda i, x: x + X, X),
    "cond": lambda m: m.lax.cond(True, lambda x: x, lambda x: x * 2, X),
    "pure_callback": lambda m: m.pure_callback(
        lambda x: np.asarray(x) * 2, m.ShapeDtypeStruct((3, 3), np.float32), X
    ),
    "randint": lambda m: m.random.randint(m.random.key(1), (3,), 0, 10, "int64"),
    "normal": lambda m: m.random.normal(m.random.key(1), (3,), "float64"),
    "bits": lambda m: m.random.bits(m.random.key(0), (2,), "uint64"),
    "a seed of more than 32 bits": lambda m: m.random.key_data(m.random.key(2**40 + 3)),
}

#: What there is to say of dtypes: also of those that no array has.
ANSWERS: dict[str, Callable[[Any], Any]] = {
    "eval_shape": lambda m: m.eval_shape(lambda x: x, m.ShapeDtypeStruct((2,), np.float64)).dtype,
    "ShapeDtypeStruct": lambda m: m.ShapeDtypeStruct((2,), np.float64).dtype,
    "result_type": lambda m: m.numpy.result_type(X, I),
    "result_type of dtypes": lambda m: m.numpy.result_type(np.float64, np.float32),
    "promote_types": lambda m: m.numpy.promote_types("float64", "float32"),
    "canonicalize_dtype": lambda m: m.dtypes.canonicalize_dtype("int64"),
    "issubdtype": lambda m: m.numpy.issubdtype(np.dtype("float64"), np.float64),
    "finfo": lambda m: m.numpy.finfo(np.float64).dtype,
    "finfo of an array": lambda m: m.numpy.finfo(m.numpy.ones(2)).dtype,
    "iinfo": lambda m: m.numpy.iinfo(np.int64).dtype,
    "the setting": lambda m: m.config.jax_enable_x64,
}


REQUESTS = pytest.mark.filterwarnings("ignore:.*is asked for", "ignore:Explicitly requested")


@pytest.mark.sampled(4)
@REQUESTS
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_jax(name: str) -> None:
    with tinyjax.enable_x64(False):
        ours = tinyjax.tree.leaves(PROGRAMS[name](tinyjax))
    theirs = jax.tree.leaves(PROGRAMS[name](jax))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=1e-6)


@REQUESTS
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_as_in_jax(name: str) -> None:
    with tinyjax.enable_x64(False):
        ours = ANSWERS[name](tinyjax)
    assert ours == ANSWERS[name](jax)


def test_a_warning_names_the_line_that_asks() -> None:
    with tinyjax.enable_x64(False), pytest.warns(UserWarning, match="float64 is asked") as caught:
        tinyjax.numpy.zeros(3, "float64")
    assert caught[0].filename == __file__
    with tinyjax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")  # data is narrowed without a word, as in JAX
        x = tinyjax.numpy.asarray(X)
        x.at[np.array([0])].get(mode="fill", fill_value=0)
        assert tinyjax.numpy.isdtype(np.int64, "integral")


def test_a_block_ends() -> None:
    f = tinyjax.jit(lambda x: x * 2)
    for _ in range(2):
        assert f(X).dtype == np.float64
        with tinyjax.enable_x64(False):
            assert f(X).dtype == np.float32
            with tinyjax.enable_x64(True):
                assert f(X).dtype == tinyjax.numpy.ones(3).dtype == np.float64
    with config.scoped(wide_dtypes="0"):
        assert f(X).dtype == np.float32


def test_numbers_that_do_not_fit() -> None:
    with tinyjax.enable_x64(False), raises(OverflowError, match="jax_enable_x64"):
        tinyjax.numpy.asarray(2**40)
    with tinyjax.enable_x64(False), raises(OverflowError, match=r"dtype=jnp\.int32"):
        tinyjax.numpy.arange(3, dtype="uint8").at[0].set(-1)  # for which 32 bits are enough

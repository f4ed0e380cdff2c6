"""Scaled dot-product attention beside jax's: every option, values and derivatives, and memory."""

from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import nn
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.nn import attention

pytestmark = pytest.mark.usefixtures("each_tier")

BATCH, QUERIES, KEYS, HEADS, GROUPS, SIZE = 2, 11, 9, 4, 2, 5
RNG = np.random.default_rng(0)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.normal(size=shape).astype(dtype)


Q = floats(BATCH, QUERIES, HEADS, SIZE)
K, V = floats(2, BATCH, KEYS, GROUPS, SIZE)
MASK = RNG.random((BATCH, HEADS, QUERIES, KEYS)) > 0.3
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "scale": {"scale": 0.3},
    "bias": {"bias": floats(BATCH, HEADS, QUERIES, KEYS)},
    "one bias": {"bias": floats(1, 1, 1, KEYS)},
    "bias of a head": {"bias": floats(1, HEADS, QUERIES, KEYS)},
    "mask": {"mask": MASK},
    "mask of a query": {"mask": MASK[:1, :1]},
    "mask of two axes": {"mask": MASK[0, 0]},
    "mask of keys": {"mask": MASK[0, 0, 0]},
    "bias of two axes": {"bias": floats(QUERIES, 1)},
    "nothing allowed": {"mask": np.zeros((1, 1, QUERIES, KEYS), bool)},
    "causal": {"is_causal": True},
    "window": {"local_window_size": 2},
    "lopsided window": {"local_window_size": (3, 1), "is_causal": True},
    "lengths": {
        "query_seq_lengths": np.array([4, 11], np.int32),
        "key_value_seq_lengths": np.array([9, 3], np.int32),
    },
    "all": {
        "bias": floats(BATCH, HEADS, QUERIES, KEYS),
        "mask": MASK[:, :1],
        "is_causal": True,
        "local_window_size": (4, 0),
        "key_value_seq_lengths": np.array([9, 3], np.int32),
    },
}
options = pytest.mark.parametrize("name", OPTIONS)
blocks = pytest.mark.parametrize("block", [512, 3], ids=["whole", "blocks"])


@pytest.mark.sampled(8)
@blocks
@options
def test_attention_is_that_of_jax(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_BLOCK", block)
    given = OPTIONS[name]
    weights = floats(*Q.shape)

    def attend(m: Any, q: Any, k: Any, v: Any, bias: Any) -> Any:
        rest = {**given, **({} if bias is None else {"bias": bias})}
        return m.nn.dot_product_attention(q, k, v, **rest, return_residual=True)

    def loss(m: Any, *args: Any) -> Any:
        return (attend(m, *args)[0] * weights).sum()

    bias = given.get("bias", np.zeros((1, 1, QUERIES, KEYS), np.float32))
    expected = attend(jax, Q, K, V, bias)
    compiled = tinyjax.jit(lambda *args: attend(tinyjax, *args))
    for found in (attend(tinyjax, Q, K, V, bias), compiled(Q, K, V, bias)):
        for x, y in zip(found, expected, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, 1e-5, 2e-6)
    slopes = jax.grad(lambda *args: loss(jax, *args), (0, 1, 2, 3))(Q, K, V, bias)
    gradient = tinyjax.grad(lambda *args: loss(tinyjax, *args), (0, 1, 2, 3))
    for found in (gradient(Q, K, V, bias), tinyjax.jit(gradient)(Q, K, V, bias)):
        for x, y in zip(found, slopes, strict=True):
            np.testing.assert_allclose(x, y, 1e-4, 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_attention_keeps_the_dtype(dtype: str) -> None:
    q, k, v = (tinyjax.numpy.asarray(x, dtype) for x in (Q, K, V))
    with jax.enable_x64(True):
        expected = jax.nn.dot_product_attention(*[np.asarray(x) for x in (q, k, v)])
    found = nn.dot_product_attention(q, k, v)
    assert found.dtype == expected.dtype
    tolerance = 1e-6 if dtype == "float64" else 0.02
    x, y = (np.asarray(each).astype(np.float64) for each in (found, expected))
    np.testing.assert_allclose(x, y, tolerance, tolerance)


def test_a_batch_of_one_needs_no_axis() -> None:
    whole = nn.dot_product_attention(Q[:1], K[:1], V[:1])
    np.testing.assert_allclose(nn.dot_product_attention(Q[0], K[0], V[0]), whole[0], 1e-6)


def test_attention_under_vmap() -> None:
    found = tinyjax.vmap(lambda *args: nn.dot_product_attention(*args, is_causal=True))(Q, K, V)
    np.testing.assert_allclose(found, nn.dot_product_attention(Q, K, V, is_causal=True), 1e-5, 1e-6)


def test_the_memory_of_a_gradient_is_linear_in_the_length() -> None:
    def peak(length: int) -> int:
        x = np.zeros((1, length, 1, 8), np.float32)
        loss = tinyjax.grad(lambda q, k, v: nn.dot_product_attention(q, k, v).sum(), (0, 1, 2))
        compiled = tinyjax.jit(loss).lower(x, x, x).compile()
        return int(compiled.memory_analysis().temp_size_in_bytes)

    assert peak(4096) < 2.3 * peak(2048)


@pytest.mark.wrong_types
def test_mistakes_are_named() -> None:
    attend: Any = nn.dot_product_attention
    with raises(ShapeError, match="N is a multiple of K"):
        attend(Q[:, :, :3], K, V)
    with raises(DtypeError, match="one dtype"):
        attend(Q, K, V.astype(np.float64))
    with raises(DtypeError, match="mask of bools"):
        attend(Q, K, V, mask=np.ones((1, 1, 1, KEYS)))
    with raises(ShapeError, match="a bias that broadcasts"):
        attend(Q, K, V, np.zeros((1, 3, 1, KEYS)))
    with raises(ShapeError, match=r"key_value_seq_lengths of shape \(2,\)"):
        attend(Q, K, V, key_value_seq_lengths=np.array([3]))
    with raises(DtypeError, match="integers as query_seq_lengths"):
        attend(Q, K, V, query_seq_lengths=np.array([3.0, 2.0]))
    with raises(ArgumentError, match="cudnn"):
        attend(Q, K, V, implementation="cudnn")

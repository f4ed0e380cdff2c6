"""Networks of stax, against jax's: the shapes they say, what they draw and what they give."""

from typing import Any

import jax
import jax.example_libraries.stax as theirs
import numpy as np
import pytest

import tinyjax
import tinyjax.example_libraries.stax as ours
from raising import raises
from tinyjax.errors import ArgumentError

IMAGE, ROW = (2, 8, 7, 3), (5, 4)


def residual(s: Any) -> Any:
    return s.serial(
        s.FanOut(2),
        s.parallel(s.serial(s.Dense(4), s.Tanh, s.Dense(4)), s.Identity),
        s.FanInSum,
    )


NETWORKS: dict[str, tuple[tuple[int, ...], Any]] = {
    "dense": (ROW, lambda s: s.Dense(3)),
    "serial": (ROW, lambda s: s.serial(s.Dense(6), s.Relu, s.Dense(2), s.LogSoftmax)),
    "residual": (ROW, residual),
    "concatenate": (
        ROW,
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(2), s.Exp), s.FanInConcat()),
    ),
    "conv": (IMAGE, lambda s: s.Conv(4, (3, 2), padding="SAME")),
    "conv, valid": (IMAGE, lambda s: s.Conv(4, (3, 3), strides=(2, 2))),
    "conv transposed": (IMAGE, lambda s: s.ConvTranspose(4, (3, 3), strides=(2, 2))),
    "conv transposed, same": (
        IMAGE,
        lambda s: s.ConvTranspose(4, (3, 2), strides=(2, 1), padding="SAME"),
    ),
    "conv of lines": ((2, 8, 3), lambda s: s.Conv1DTranspose(4, (3,))),
    "other axes": (
        (2, 3, 8, 7),
        lambda s: s.GeneralConv(("NCHW", "OIHW", "NHWC"), 4, (3, 3), padding="SAME"),
    ),
    "max": (IMAGE, lambda s: s.MaxPool((2, 2), strides=(2, 2))),
    "sum": (IMAGE, lambda s: s.SumPool((3, 2), padding="SAME")),
    "mean": (IMAGE, lambda s: s.AvgPool((3, 2), padding="SAME", strides=(1, 2))),
    "flatten": (IMAGE, lambda s: s.serial(s.Flatten, s.Dense(2))),
    "batch": (IMAGE, lambda s: s.BatchNorm()),
    "batch, neither": (IMAGE, lambda s: s.BatchNorm(center=False, scale=False)),
    "dropout": (ROW, lambda s: s.serial(s.Dense(3), s.Dropout(0.5))),
    "no dropout": (ROW, lambda s: s.Dropout(0.5, mode="test")),
    "by shape": (ROW, lambda s: s.shape_dependent(lambda shape: s.Dense(shape[-1] + 1))),
    "functions": (
        ROW,
        lambda s: s.serial(
            *(s.Softmax, s.Softplus, s.Sigmoid, s.Elu, s.LeakyRelu, s.Selu, s.Gelu),
            s.elementwise(lambda x, factor: factor * x, factor=3.0),
        ),
    ),
    "functions of nn, by their older names": (
        ROW,
        lambda s: s.serial(
            s.Dense(3, s.glorot(), s.randn(0.1)),
            *map(s.elementwise, (s.relu, s.softplus, s.standardize, s.logsoftmax)),
        ),
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_those_of_jax(name: str) -> None:
    shape, make = NETWORKS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    found = []
    for m, stax in ((tinyjax, ours), (jax, theirs)):
        init, apply = make(stax)
        key = m.random.key(1)
        out_shape, params = init(key, shape)
        y = m.jit(apply)(params, x, rng=m.random.key(2))
        assert y.shape == tuple(out_shape)
        open_shape, _ = init(key, (-1, *shape[1:]))
        found.append((tuple(open_shape)[1:], m.tree.map(np.asarray, params), np.asarray(y)))
    assert found[0][0] == found[1][0]
    for a, b in zip(jax.tree.leaves(found[0][1:]), jax.tree.leaves(found[1][1:]), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_dropout_needs_a_key() -> None:
    _, apply = ours.Dropout(0.5)
    with raises(ArgumentError, match="needs a key"):
        apply((), np.ones(3))


def test_the_identity_takes_trees() -> None:
    for stax in (ours, theirs):
        assert stax.Identity[1]((), (1.0, None)) == (1.0, None)

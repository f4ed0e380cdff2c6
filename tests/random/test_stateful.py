"""Generators with a state, against JAX's, bit by bit."""

from importlib import import_module
from typing import Any

import jax
import numpy as np

import tinyjax
from raising import raises
from tinyjax.errors import ArgumentError
from tinyjax.experimental.random import stateful_rng


def draws(lib: Any, module: Any) -> list[Any]:
    rng = module.stateful_rng(42)
    found = [
        rng.uniform(),
        rng.normal(1.0, 2.0, (2,)),
        rng.integers(0, 10, 3),
        rng.integers(7),
        rng.random((2, 2)),
        rng.uniform(-1, np.ones(2, np.float32)),
        lib.random.key_data(rng.key()),
        lib.random.key_data(rng.key(2)),
    ]
    closed_over = lib.jit(rng.uniform)
    given = lib.jit(lambda r, x: (r.normal(size=2) + x, r.random()))
    found += [closed_over(), closed_over(), *given(rng, 1.0), *given(rng, 1.0), rng.random()]
    found.append(lib.vmap(lambda r, x: x + r.uniform())(rng.split(3), np.zeros(3, np.float32)))
    return [*found, *(child.integers(0, 10, 2) for child in rng.spawn(2))]


def test_draws_are_those_of_jax() -> None:
    theirs = draws(jax, import_module("jax.experimental.random"))
    ours = draws(tinyjax, import_module("tinyjax.experimental.random"))
    for found, expected in zip(ours, theirs, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_generators_without_seeds_differ() -> None:
    assert stateful_rng().random() != stateful_rng().random()
    with raises(ArgumentError, match="map over it by vmap"):
        stateful_rng(0).split(2).random()

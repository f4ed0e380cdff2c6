"""Optimizers and layers for examples, held against the installed jax's."""

from typing import Any

import jax.example_libraries.optimizers as theirs
import jax.numpy as jaxnp
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError
from tinyjax.example_libraries import optimizers as ours
from tinyjax.experimental import io_callback, ode
from tinyjax.tree import TreeMismatchError

OPTIMIZERS: dict[str, tuple[Any, ...]] = {
    "sgd": (0.1,),
    "momentum": (0.1, 0.9),
    "nesterov": (0.1, 0.9),
    "adagrad": (0.1,),
    "rmsprop": (0.1,),
    "rmsprop_momentum": (0.1,),
    "adam": (0.1,),
    "adamax": (0.1,),
    "sm3": (0.1,),
}
SCHEDULES: dict[str, tuple[Any, ...]] = {
    "constant": (0.1,),
    "exponential_decay": (0.1, 5.0, 0.5),
    "inverse_time_decay": (0.1, 5.0, 0.5, True),
    "polynomial_decay": (0.1, 6.0, 0.01, 2.0),
    "piecewise_constant": ([2, 5], [0.1, 0.2, 0.05]),
}


def losses(optimizer: Any, np_: Any) -> list[Any]:
    init, update, get_params = optimizer
    state = init({"w": np_.array([[1.0, -2.0], [0.5, 3.0]]), "b": np_.array(1.5)})
    found = []
    for i in range(8):
        params = get_params(state)
        found.append(np.concatenate([np.ravel(params["w"]), np.ravel(params["b"])]))
        gradient = {"w": 2 * params["w"] * np_.array([1.0, 10.0]), "b": 2 * params["b"]}
        state = update(i, gradient, state)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str) -> None:
    arguments = OPTIMIZERS[name]
    if name == "sm3":  # whose state holds shapes
        arguments = (0.1,)
    found = losses(getattr(ours, name)(*arguments), jnp)
    expected = losses(getattr(theirs, name)(*arguments), jaxnp)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str) -> None:
    mine, other = (getattr(lib, name)(*SCHEDULES[name]) for lib in (ours, theirs))
    for i in range(9):
        np.testing.assert_allclose(mine(i), np.asarray(other(i)), rtol=1e-6)
    found = losses(ours.momentum(mine, 0.9), jnp)
    np.testing.assert_allclose(found, losses(theirs.momentum(other, 0.9), jaxnp), rtol=1e-4)
    assert ours.make_schedule(0.5)(3) == 0.5


def test_a_step_is_compiled() -> None:
    init, update, get_params = ours.adam(ours.exponential_decay(0.3, 50, 0.5))

    @tinyjax.jit
    def step(i: Any, state: Any) -> Any:
        gradient = tinyjax.grad(lambda p: jnp.sum((p["x"] - 2.0) ** 2))(get_params(state))
        return update(i, ours.clip_grads(gradient, 5.0), state)

    state = init({"x": np.zeros(3, np.float32)})
    for i in range(150):
        state = step(i, state)
    np.testing.assert_allclose(get_params(state)["x"], 2.0, atol=1e-2)


def test_norms() -> None:
    grads = {"a": np.array([3.0, 0.0], np.float32), "b": np.array(4.0, np.float32)}
    assert float(ours.l2_norm(grads)) == 5.0
    for limit in (1.0, 10.0):
        mine, other = ours.clip_grads(grads, limit), theirs.clip_grads(grads, limit)
        np.testing.assert_allclose(mine["a"], np.asarray(other["a"]), rtol=1e-6)
    with raises(ValueError, match="one value more"):
        ours.piecewise_constant([1.0], [1.0])
    untyped: Any = ours
    with raises(ArgumentError, match="step size must be a function of the step or a scalar"):
        untyped.sgd(np.ones(2))
    init, update, _ = ours.sgd(0.1)
    with raises(TreeMismatchError, match="gradient"):
        update(0, {"c": 1.0}, init(grads))


def test_states_as_trees() -> None:
    params = {"w": np.arange(3, dtype=np.float32), "b": np.array(1.5, np.float32)}
    found = []
    for library in (ours, theirs):
        optimizer: Any = library.momentum(0.1, 0.9)
        unpack: Any = library.unpack_optimizer_state
        pack: Any = library.pack_optimizer_state
        marked = unpack(optimizer.update_fn(0, params, optimizer.init_fn(params)))
        point = marked["w"]
        assert isinstance(point, library.JoinPoint)
        after = optimizer.update_fn(1, params, pack(marked))
        found.append([*point.subtree, *optimizer.params_fn(after).values()])
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, np.asarray(other), rtol=1e-6)
    with raises(ArgumentError, match="JoinPoints"):
        ours.pack_optimizer_state(params)


def test_what_is_experimental_in_jax() -> None:
    assert io_callback is tinyjax.io_callback
    path = ode.odeint(lambda y, t: -y, jnp.array(1.0), jnp.array([0.0, 1.0]))
    np.testing.assert_allclose(path, [1.0, np.exp(-1)], rtol=1e-5)

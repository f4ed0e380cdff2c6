"""Annotations of shapes by jaxtyping, checked at run time: by beartype, or by typeguard 2.

``nox -s jaxtyping`` installs typeguard 2 for it; jaxtyping does not work with version 4, which the
other tests have.
"""

import importlib
import importlib.metadata
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from jaxtyping import Float, Int, Key, PyTree, Shaped, jaxtyped

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, grad, jit, random, vmap
from tinyjax.errors import ArgumentError

OLD = importlib.metadata.version("typeguard").startswith("2.")
MODULE, NAME = ("typeguard", "typechecked") if OLD else ("beartype", "beartype")
CHECKER = getattr(importlib.import_module(MODULE), NAME)


def annotated(returns: Any, **parameters: Any) -> Callable[[Callable[..., Any]], Any]:
    """Annotate and check; in annotations proper the names of axes are unknown names to checkers."""

    def annotate(fun: Callable[..., Any]) -> Any:
        fun.__annotations__ = {**parameters, "return": returns}
        return jaxtyped(typechecker=CHECKER)(fun)

    return annotate


@annotated(Float[Array, "b"], x=Float[Array, "b n"], y=Float[Array, "n"])
def product(x: Any, y: Any) -> Any:
    return x @ y


@annotated(int, tree=PyTree[Shaped[Array, "n"]], n=Int[Array, ""])
def count(tree: Any, n: Any) -> Any:
    return len(tinyjax.tree.leaves(tree)) + int(n)


@annotated(Float[Array, "b"], key=Key[Array, ""], x=Float[Array, "b n"])
def noisy(key: Any, x: Any) -> Any:
    return x.sum(1) + random.normal(key, (x.shape[0],))


@annotated(Key[Array, "2"], key=Key[Array, ""])
def two_keys(key: Any) -> Any:
    return random.split(key)


X, Y = jnp.ones((2, 3)), jnp.ones(3)
KEY = random.key(0)


def test_what_fits_is_taken() -> None:
    assert product(X, Y).tolist() == jit(product)(X, Y).tolist() == [3.0, 3.0]
    assert vmap(product)(jnp.ones((4, 2, 3)), jnp.ones((4, 3))).shape == (4, 2)
    assert grad(lambda x: product(x, Y).sum())(X).shape == (2, 3)
    assert count({"a": Y, "b": [Y]}, jnp.array(1)) == 3


@pytest.mark.parametrize("wrap", [lambda f: f, jit, lambda f: jit(jit(f))])
def test_keys_are_taken_under_transformations(wrap: Any) -> None:
    assert wrap(noisy)(KEY, X).shape == (2,)
    assert grad(lambda x: wrap(noisy)(KEY, x).sum())(X).tolist() == [[1.0] * 3] * 2
    assert vmap(wrap(noisy), in_axes=(0, None))(random.split(KEY, 4), X).shape == (4, 2)
    assert vmap(wrap(two_keys))(random.split(KEY, 4)).shape == (4, 2)


ANNOTATED_FOR_JAX = f"""
import tinyjax.as_jax
import {MODULE}, jax, jax.numpy as jnp
from jaxtyping import Array, Float, Key, PRNGKeyArray, PyTree, jaxtyped

@jaxtyped(typechecker={MODULE}.{NAME})
def loss(
    params: PyTree[Float[Array, "..."]], key: PRNGKeyArray, x: Float[Array, "b n"]
) -> Float[Array, ""]:
    return jnp.mean((x @ params["w"] + jax.random.normal(key, (x.shape[0],))) ** 2)

@jaxtyped(typechecker={MODULE}.{NAME})
def draw(key: Key[Array, ""]) -> Float[Array, "3"]:
    return jax.random.normal(key, (3,))

params, x = dict(w=jnp.ones(3)), jnp.ones((2, 3))
for key in (jax.random.key(0), jax.random.PRNGKey(0)):
    assert jax.jit(jax.grad(loss))(params, key, x)["w"].shape == (3,)
assert jax.vmap(draw)(jax.random.split(jax.random.key(0), 4)).shape == (4, 3)
for wrong in (lambda: loss(params, x, x), lambda: draw(jax.random.PRNGKey(0))):
    try:
        wrong()
    except Exception as error:
        assert "ype-check" in str(error), error
    else:
        raise AssertionError("taken")
"""


@pytest.mark.wrong_types  # as_jax has a dtype for keys that is not NumPy's
def test_the_names_that_jaxtyping_takes_from_jax_are_ours() -> None:
    """``PRNGKeyArray`` and ``Array`` are there once tinyjax stands in jax's place."""
    call = [sys.executable, "-c", ANNOTATED_FOR_JAX]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "call",
    [
        lambda: product(X, jnp.ones(4)),
        lambda: jit(product)(X, jnp.ones(4)),
        lambda: product(X.astype(int), Y),
        lambda: product(Y, Y),
        lambda: count({"a": X}, jnp.array(1)),
        lambda: count(Y, jnp.array(1.0)),
        lambda: noisy(X, X),
        lambda: noisy(random.PRNGKey(0), X),
        lambda: jit(two_keys)(random.split(KEY)),
    ],
)
def test_what_does_not_fit_is_refused(call: Any) -> None:
    with raises(Exception, match=r"[Tt]ype-check"):
        call()


def test_mistakes_are_explained_with_the_typeguard_that_jaxtyping_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check_type(argname: str, value: object, expected_type: object) -> None:
        raise TypeError(f"{argname} is {value!r}, not {expected_type!r}")

    old = ModuleType("typeguard")
    vars(old)["check_type"] = check_type
    monkeypatch.setitem(sys.modules, "typeguard", old)
    jit_of_anything: Any = jit
    with raises(ArgumentError, match="fun of jit must be a function"):
        jit_of_anything(3)

"""Annotations of shapes by jaxtyping, checked at run time."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import beartype
import pytest
from jaxtyping import Float, Int, PyTree, Shaped, jaxtyped

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array, grad, jit, vmap
from tinyjax.errors import ArgumentError


def annotated(returns: Any, **parameters: Any) -> Callable[[Callable[..., Any]], Any]:
    """Annotate and check; in annotations proper the names of axes are unknown names to checkers."""

    def annotate(fun: Callable[..., Any]) -> Any:
        fun.__annotations__ = {**parameters, "return": returns}
        return jaxtyped(typechecker=beartype.beartype)(fun)

    return annotate


@annotated(Float[Array, "b"], x=Float[Array, "b n"], y=Float[Array, "n"])
def product(x: Any, y: Any) -> Any:
    return x @ y


@annotated(int, tree=PyTree[Shaped[Array, "n"]], n=Int[Array, ""])
def count(tree: Any, n: Any) -> Any:
    return len(tinyjax.tree.leaves(tree)) + int(n)


X, Y = jnp.ones((2, 3)), jnp.ones(3)


def test_what_fits_is_taken() -> None:
    assert product(X, Y).tolist() == jit(product)(X, Y).tolist() == [3.0, 3.0]
    assert vmap(product)(jnp.ones((4, 2, 3)), jnp.ones((4, 3))).shape == (4, 2)
    assert grad(lambda x: product(x, Y).sum())(X).shape == (2, 3)
    assert count({"a": Y, "b": [Y]}, jnp.array(1)) == 3


@pytest.mark.parametrize(
    "call",
    [
        lambda: product(X, jnp.ones(4)),
        lambda: jit(product)(X, jnp.ones(4)),
        lambda: product(X.astype(int), Y),
        lambda: product(Y, Y),
        lambda: count({"a": X}, jnp.array(1)),
        lambda: count(Y, jnp.array(1.0)),
    ],
)
def test_what_does_not_fit_is_refused(call: Any) -> None:
    with pytest.raises(Exception, match=r"[Tt]ype-check"):
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
    with pytest.raises(ArgumentError, match="fun of jit must be a function"):
        jit_of_anything(3)

"""The contenders: what a row needs of each library, so that it is written once for all.

A library is imported when it is first used, so that measuring one does not wait for the others.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import attrs

from benchmarks.measure import Call

OWN: Final = "tinyjax"
PEERS: Final = ("jax", "autograd", "torch", "folx", "asdex")


def _map(fun: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to the arrays in nested lists, tuples and dicts."""
    if isinstance(tree, dict):
        return {key: _map(fun, value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_map(fun, value) for value in tree)
    return fun(tree)


@attrs.frozen
class Library:
    """One library.

    Attributes:
        name: its name.
        module: the package, with ``jit``, ``grad`` and ``vmap`` where it has them.
        functions: its functions of arrays, by NumPy's names.
        array: makes its array of a NumPy array.
        sin: elementwise.
        tanh: elementwise.
        gradient: of a loss in its first argument, given the arguments: the call to be timed.
        until_ready: makes a call whose result is one array wait for it, if the library's eager
            calls return before they have computed.
    """

    name: str
    module: Any
    functions: Any
    array: Callable[[Any], Any]
    sin: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    gradient: Callable[..., Call]
    until_ready: Callable[[Callable[[], Any]], Call] = lambda call: call

    def arrays(self, tree: Any) -> Any:
        """Make its arrays of the NumPy arrays in a tree."""
        return _map(self.array, tree)


def _tinyjax() -> Library:
    import tinyjax
    import tinyjax.numpy as jnp

    def gradient(loss: Callable[..., Any], *args: Any) -> Call:
        derivative = tinyjax.grad(loss)
        return lambda: derivative(*args)

    return Library("tinyjax", tinyjax, jnp, jnp.asarray, jnp.sin, jnp.tanh, gradient)


def _jax() -> Library:
    import jax
    import jax.numpy as jnp

    def gradient(loss: Callable[..., Any], *args: Any) -> Call:
        derivative = jax.grad(loss)
        return lambda: jax.block_until_ready(derivative(*args))

    def until_ready(call: Callable[[], Any]) -> Call:
        return lambda: call().block_until_ready()

    return Library("jax", jax, jnp, jnp.asarray, jnp.sin, jnp.tanh, gradient, until_ready)


def _autograd() -> Library:
    import autograd
    import autograd.numpy as anp

    def gradient(loss: Callable[..., Any], *args: Any) -> Call:
        derivative = autograd.grad(loss)
        return lambda: derivative(*args)

    return Library("autograd", autograd, anp, lambda x: x, anp.sin, anp.tanh, gradient)


def _torch() -> Library:
    import torch

    # Small arrays are measured, which threads only delay. XLA's pool is jax's and tinyjax's alike.
    torch.set_num_threads(1)

    def gradient(loss: Callable[..., Any], parameters: Any, *data: Any) -> Call:
        leaves: list[Any] = []

        def leaf(x: Any) -> Any:
            leaves.append(x.clone().requires_grad_())
            return leaves[-1]

        own = _map(leaf, parameters)
        return lambda: torch.autograd.grad(loss(own, *data), leaves)

    return Library("torch", torch, torch, torch.tensor, torch.sin, torch.tanh, gradient)


def _with_add_on(name: str) -> Callable[[], Library]:
    """Functions of JAX, which an add-on of it differentiates."""
    return lambda: attrs.evolve(_jax(), name=name)


_MAKERS: Final = {
    "tinyjax": _tinyjax,
    "jax": _jax,
    "autograd": _autograd,
    "torch": _torch,
    "folx": _with_add_on("folx"),
    "asdex": _with_add_on("asdex"),
}


@cache
def library(name: str) -> Library:
    """Import a library."""
    return _MAKERS[name]()

"""The rows of the table: for each, what every contender does.

Every call returns with its result computed: JAX and compiled tinyjax code, which run in the
background, are waited for. Where a call must be a first one, a new function or a new shape is made
for it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, Final

import attrs
import autograd
import autograd.numpy as anp
import jax
import jax.numpy as jjnp
import numpy as np
import torch

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.measure import Call, Effort, Measurement, in_subprocesses, interleaved
from benchmarks.programs import chain, descend, mlp_data, mlp_loss


@attrs.frozen
class Bar:
    """What tinyjax holds itself to: at least ``ratio`` times as fast as ``peer``."""

    peer: str
    ratio: float


@attrs.frozen
class Row:
    """One line of the table.

    Attributes:
        title: what is measured.
        measure: measures it, by library.
        bar: what is to be reached.
    """

    title: str
    measure: Callable[[Effort], dict[str, Measurement]]
    bar: Bar | None = None


def _row(
    title: str,
    contenders: Callable[[], Mapping[str, Call]],
    bar: Bar | None = None,
    once: bool = False,
) -> Row:
    return Row(title, lambda effort: interleaved(contenders(), effort, once), bar)


_X: Final = np.linspace(0.1, 1.0, 10, dtype=np.float32)


# Starting


_IMPORTS: Final = {
    "tinyjax": "import tinyjax.numpy as jnp; (jnp.arange(3.0) + 1).block_until_ready()",
    "jax": "import jax.numpy as jnp; (jnp.arange(3.0) + 1).block_until_ready()",
    "torch": "import torch; torch.arange(3.0) + 1",
    "numpy": "import numpy as np; np.arange(3.0) + 1",
}


# Eager evaluation


def _add() -> dict[str, Call]:
    mine, jaxs, torchs = jnp.asarray(_X), jjnp.asarray(_X), torch.tensor(_X)

    def jax_add() -> object:
        return (jaxs + jaxs).block_until_ready()

    return {
        "tinyjax": lambda: mine + mine,
        "jax": jax_add,
        "torch": lambda: torchs + torchs,
        "numpy": lambda: _X + _X,
    }


def _new_shape() -> dict[str, Call]:
    sizes = count(1000)

    def call(make: Callable[[Any], Any], sin: Callable[[Any], Any]) -> Any:
        return chain(sin, make(np.ones(next(sizes), np.float32)), 3)

    return {
        "tinyjax": lambda: call(jnp.asarray, jnp.sin),
        "jax": lambda: call(jjnp.asarray, jjnp.sin).block_until_ready(),
        "torch": lambda: call(torch.tensor, torch.sin),
        "numpy": lambda: call(lambda x: x, np.sin),
    }


def _torch_gradient(loss: Callable[[], Any], parameters: list[Any]) -> Any:
    return torch.autograd.grad(loss(), parameters)


def _eager_mlp() -> dict[str, Call]:
    layers, x, y = mlp_data((64, 64, 64, 64), 32)
    mine = jax.tree.map(jnp.asarray, (layers, x, y))
    jaxs = jax.tree.map(jjnp.asarray, (layers, x, y))
    leaves = [torch.tensor(a, requires_grad=True) for pair in layers for a in pair]
    torchs = (
        list(zip(leaves[::2], leaves[1::2], strict=True)),
        torch.tensor(x),
        torch.tensor(y),
    )
    my_grad = tinyjax.grad(partial(mlp_loss, jnp.tanh))
    jax_grad = jax.grad(partial(mlp_loss, jjnp.tanh))
    autograd_grad = autograd.grad(partial(mlp_loss, anp.tanh))
    return {
        "tinyjax": lambda: my_grad(*mine),
        "jax": lambda: jax.block_until_ready(jax_grad(*jaxs)),
        "autograd": lambda: autograd_grad(layers, x, y),
        "torch": lambda: _torch_gradient(lambda: mlp_loss(torch.tanh, *torchs), leaves),
    }


def _eager_chain_gradient() -> dict[str, Call]:
    mine, jaxs = jnp.asarray(_X), jjnp.asarray(_X)
    leaf = torch.tensor(_X, requires_grad=True)
    my_grad = tinyjax.grad(lambda x: chain(jnp.sin, x, 300).mean())
    jax_grad = jax.grad(lambda x: chain(jjnp.sin, x, 300).mean())
    autograd_grad = autograd.grad(lambda x: chain(anp.sin, x, 300).mean())
    return {
        "tinyjax": lambda: my_grad(mine),
        "jax": lambda: jax_grad(jaxs).block_until_ready(),
        "autograd": lambda: autograd_grad(_X),
        "torch": lambda: _torch_gradient(lambda: chain(torch.sin, leaf, 300).mean(), [leaf]),
    }


def _eager_chain_vmap() -> dict[str, Call]:
    data = np.tile(_X, (8, 1))
    mine, jaxs, torchs = jnp.asarray(data), jjnp.asarray(data), torch.tensor(data)
    my_vmap = tinyjax.vmap(lambda x: chain(jnp.sin, x, 300))
    jax_vmap = jax.vmap(lambda x: chain(jjnp.sin, x, 300))
    torch_vmap = torch.vmap(lambda x: chain(torch.sin, x, 300))
    return {
        "tinyjax": lambda: my_vmap(mine),
        "jax": lambda: jax_vmap(jaxs).block_until_ready(),
        "torch": lambda: torch_vmap(torchs),
    }


# Tracing. A new function each time: JAX remembers the jaxpr of a function it has seen.


def _trace() -> dict[str, Call]:
    mine, jaxs = jnp.asarray(_X), jjnp.asarray(_X)
    return {
        "tinyjax": lambda: tinyjax.make_jaxpr(lambda x: chain(jnp.sin, x, 3000))(mine),
        "jax": lambda: jax.make_jaxpr(lambda x: chain(jjnp.sin, x, 3000))(jaxs),
    }


def _trace_gradient() -> dict[str, Call]:
    mine, jaxs = jnp.asarray(_X), jjnp.asarray(_X)

    def my_trace() -> object:
        gradient = tinyjax.grad(lambda x: chain(jnp.sin, x, 3000).mean())
        return tinyjax.make_jaxpr(gradient)(mine)

    def jax_trace() -> object:
        gradient = jax.grad(lambda x: chain(jjnp.sin, x, 3000).mean())
        return jax.make_jaxpr(gradient)(jaxs)

    return {"tinyjax": my_trace, "jax": jax_trace}


def _lower() -> dict[str, Call]:
    mine, jaxs = jnp.asarray(_X), jjnp.asarray(_X)
    return {
        # Each as far as the form that its compiler is handed: text here, a module there.
        "tinyjax": lambda: tinyjax.jit(lambda x: chain(jnp.sin, x, 3000)).lower(mine).as_text(),
        "jax": lambda: jax.jit(lambda x: chain(jjnp.sin, x, 3000)).lower(jaxs),
    }


# Compiled code


def _call_arrays() -> dict[str, Call]:
    mine, jaxs = jnp.asarray(_X), jjnp.asarray(_X)
    my_add, jax_add = tinyjax.jit(lambda x, y: x + y), jax.jit(lambda x, y: x + y)
    return {
        "tinyjax": lambda: my_add(mine, mine).block_until_ready(),
        "jax": lambda: jax_add(jaxs, jaxs).block_until_ready(),
    }


def _call_numpy() -> dict[str, Call]:
    my_add, jax_add = tinyjax.jit(lambda x, y: x + y), jax.jit(lambda x, y: x + y)
    return {
        "tinyjax": lambda: my_add(_X, _X).block_until_ready(),
        "jax": lambda: jax_add(_X, _X).block_until_ready(),
    }


def _call_tree() -> dict[str, Call]:
    def total(leaves: Any) -> Any:
        return leaves["a"] + leaves["b"][0] + leaves["b"][1] + leaves["c"]

    mine, jaxs = (
        {"a": make(_X), "b": (make(_X), make(_X)), "c": make(_X)}
        for make in (jnp.asarray, jjnp.asarray)
    )
    my_total, jax_total = tinyjax.jit(total), jax.jit(total)
    return {
        "tinyjax": lambda: my_total(mine).block_until_ready(),
        "jax": lambda: jax_total(jaxs).block_until_ready(),
    }


def _call_fresh_function() -> dict[str, Call]:
    mine, jaxs = jnp.asarray(_X), jjnp.asarray(_X)
    return {
        "tinyjax": lambda: tinyjax.jit(lambda x: chain(jnp.sin, x, 3))(mine).block_until_ready(),
        "jax": lambda: jax.jit(lambda x: chain(jjnp.sin, x, 3))(jaxs).block_until_ready(),
    }


def _compiled_step() -> dict[str, Call]:
    layers, x, y = mlp_data((256, 512, 512, 64), 256)
    mine = jax.tree.map(jnp.asarray, (layers, x, y))
    jaxs = jax.tree.map(jjnp.asarray, (layers, x, y))
    my_grad = tinyjax.grad(partial(mlp_loss, jnp.tanh))
    jax_grad = jax.grad(partial(mlp_loss, jjnp.tanh))
    my_step = tinyjax.jit(lambda layers, x, y: descend(layers, my_grad(layers, x, y)))
    jax_step = jax.jit(lambda layers, x, y: descend(layers, jax_grad(layers, x, y)))
    return {
        "tinyjax": lambda: tinyjax.block_until_ready(my_step(*mine)),
        "jax": lambda: jax.block_until_ready(jax_step(*jaxs)),
    }


ROWS: Final = (
    Row("import, first operation", partial(in_subprocesses, _IMPORTS), Bar("jax", 4)),
    _row("eager x + y, 10 elements", _add),
    _row("eager, 3 operations at a new shape", _new_shape, once=True),
    _row("eager grad, MLP 3 x 64, batch 32", _eager_mlp, Bar("jax", 10)),
    _row("eager grad, chain of 300", _eager_chain_gradient),
    _row("eager vmap, chain of 300", _eager_chain_vmap),
    _row("make_jaxpr, chain of 3000", _trace, Bar("jax", 8), once=True),
    _row("make_jaxpr of grad, chain of 3000", _trace_gradient, Bar("jax", 8), once=True),
    _row("trace and lower, chain of 3000", _lower, once=True),
    _row("jit call, two small arrays", _call_arrays),
    _row("jit call, NumPy arguments", _call_numpy),
    _row("jit call, tree of four arrays", _call_tree),
    _row("jit, fresh lambda, same program", _call_fresh_function, once=True),
    _row("compiled training step, MLP", _compiled_step, Bar("jax", 1 / 1.05)),
)

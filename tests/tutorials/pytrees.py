"""Trees: registered classes, paths, transposes."""

import dataclasses
from collections import OrderedDict
from typing import Any, NamedTuple


class Metrics(NamedTuple):
    loss: Any
    steps: Any


def structures(jax: Any) -> Any:
    trees = [
        [1, "a", object() and 2],
        (1, (2, 3), ()),
        [1, {"k1": 2, "k2": (3, 4)}, 5],
        {"a": 2, "b": (2, 3)},
        jax.numpy.array([1, 2, 3]),
    ]
    return [(len(jax.tree.leaves(t)), str(jax.tree.structure(t))) for t in trees]


def functions(jax: Any) -> Any:
    t = [[1, 2, 3], [1, 2], [1, 2, 3, 4]]
    leaves, treedef = jax.tree.flatten(t)
    return (
        jax.tree.map(lambda x: x * 2, t),
        jax.tree.map(lambda x, y: x + y, t, t),
        jax.tree.unflatten(treedef, leaves),
        jax.tree.reduce(lambda a, b: a + b, t),
        jax.tree.all([True, [1, False]]),
        jax.tree.transpose(
            jax.tree.structure([0, 0]), jax.tree.structure({"a": 0}), [{"a": 1}, {"a": 2}]
        ),
        jax.tree.map(lambda x: x, [None, 1], is_leaf=lambda x: x is None),
        jax.tree.leaves([None, 1]),
        jax.tree_util.tree_leaves(Metrics(1, 2)),
        jax.tree.map(lambda x: x + 1, OrderedDict(b=1, a=2)),
    )


def registered(jax: Any) -> Any:
    @jax.tree_util.register_pytree_node_class
    class Special:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

        def tree_flatten(self) -> Any:
            return (self.x, self.y), None

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> Any:
            return cls(*children)

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Model:
        w: Any
        b: Any
        name: str = dataclasses.field(metadata={"static": True}, default="m")

    class Wrapped:
        def __init__(self, name: str, value: Any) -> None:
            self.name, self.value = name, value

    jax.tree_util.register_pytree_node(
        Wrapped, lambda c: ((c.value,), c.name), lambda name, children: Wrapped(name, *children)
    )
    gradients = jax.grad(lambda m: m.w * m.b)(Model(2.0, 3.0))
    found = jax.jit(lambda s: Special(s.y, s.x))(Special(1, 2))
    return (
        gradients.w,
        gradients.name,
        (found.x, found.y),
        jax.vmap(lambda c: c.value * 2)(Wrapped("a", jax.numpy.arange(3))),
        str(jax.tree.structure(Model(1, 2))),
        str(jax.tree.structure(Wrapped("a", 1))),
    )


def paths(jax: Any) -> Any:
    class Attributes:
        pass

    def flatten_with_keys(x: Any) -> Any:
        return ((jax.tree_util.GetAttrKey("v"), x.v),), None

    jax.tree_util.register_pytree_with_keys(
        Attributes, flatten_with_keys, lambda aux, children: children[0]
    )
    a = Attributes()
    a.v = 1  # type: ignore[attr-defined]
    t = [1, {"k1": 2, "k2": (3, 4)}, Metrics(5, 6), a]
    flat, _ = jax.tree_util.tree_flatten_with_path(t)
    return (
        [(jax.tree_util.keystr(path), leaf) for path, leaf in flat],
        [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in flat],
        jax.tree.map_with_path(lambda path, x: f"{jax.tree_util.keystr(path)}={x}", t[:2]),
        [str(key) for key in flat[3][0]],
    )


def mlp(jax: Any) -> Any:
    jnp = jax.numpy

    def init(widths: Any) -> Any:
        keys = jax.random.split(jax.random.key(0), len(widths) - 1)
        return [
            {
                "weights": jax.random.normal(k, (n_in, n_out)) * jnp.sqrt(2 / n_in),
                "biases": jnp.ones(shape=(n_out,)),
            }
            for k, n_in, n_out in zip(keys, widths[:-1], widths[1:], strict=True)
        ]

    def forward(params: Any, x: Any) -> Any:
        *hidden, last = params
        for layer in hidden:
            x = jax.nn.relu(x @ layer["weights"] + layer["biases"])
        return x @ last["weights"] + last["biases"]

    def loss(params: Any, x: Any, y: Any) -> Any:
        return jnp.mean((forward(params, x) - y) ** 2)

    @jax.jit
    def update(params: Any, x: Any, y: Any) -> Any:
        grads = jax.grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 1e-4 * g, params, grads)

    params = init([1, 8, 8, 1])
    x = jnp.linspace(-1, 1, 16)[:, None]
    for _ in range(20):
        params = update(params, x, x**2)
    return jax.tree.map(lambda x: x.shape, params), loss(params, x, x**2)


def mapped(jax: Any) -> Any:
    f = lambda tree, y: tree["a"] * y + tree["b"]  # noqa: E731
    jnp = jax.numpy
    return jax.vmap(f, in_axes=({"a": 0, "b": None}, None))({"a": jnp.arange(3), "b": 1}, 2)


def partials(jax: Any) -> Any:
    add = jax.tree_util.Partial(lambda a, b: a * b, 3)
    return jax.jit(lambda f, x: f(x))(add, 4), jax.tree.leaves(add)

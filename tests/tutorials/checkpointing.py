"""Gradient checkpointing: what is saved, and policies."""

import io
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from typing import Any


def g(jnp: Any, W: Any, x: Any) -> Any:
    return jnp.sin(jnp.dot(W, x))


def network(jax: Any, wrap: Any) -> Any:
    jnp = jax.numpy
    layer = wrap(partial(g, jnp))

    def f(W1: Any, W2: Any, W3: Any, x: Any) -> Any:
        return layer(W3, layer(W2, layer(W1, x)))

    arguments = jnp.ones((5, 4)), jnp.ones((6, 5)), jnp.ones((7, 6)), jnp.ones(4)
    return jax.jit(jax.grad(lambda *args: f(*args).sum(), argnums=(0, 1, 2)))(*arguments)


def wrappers(jax: Any) -> Any:
    policies = jax.checkpoint_policies
    ways = [
        lambda f: f,
        jax.checkpoint,
        jax.remat,
        partial(jax.checkpoint, policy=policies.dots_with_no_batch_dims_saveable),
        partial(jax.checkpoint, policy=policies.everything_saveable),
        partial(jax.checkpoint, policy=policies.nothing_saveable, prevent_cse=False),
        partial(jax.checkpoint, static_argnums=()),
    ]
    return [network(jax, way) for way in ways]


def named(jax: Any) -> Any:
    checkpoint_name = import_module(f"{jax.__name__}.ad_checkpoint").checkpoint_name
    jnp = jax.numpy

    def predict(params: Any, x: Any) -> Any:
        for i, (W, b) in enumerate(params):
            x = checkpoint_name(jnp.tanh(jnp.dot(x, W) + b), name=f"layer{i}")
        return x.sum()

    params = [(jnp.ones((3, 3)) / 3, jnp.zeros(3))] * 3
    policies = jax.checkpoint_policies
    return [
        jax.grad(jax.checkpoint(predict, policy=policy))(params, jnp.ones(3))
        for policy in (
            policies.save_only_these_names("layer1"),
            policies.save_anything_except_these_names("layer0"),
            policies.save_from_both_policies(
                policies.dots_saveable, policies.save_only_these_names("layer2")
            ),
        )
    ]


def printed(jax: Any) -> Any:
    out = io.StringIO()
    print_saved_residuals = import_module(f"{jax.__name__}.ad_checkpoint").print_saved_residuals
    with redirect_stdout(out):
        print_saved_residuals(jax.checkpoint(lambda x: jax.numpy.sin(jax.numpy.sin(x))), 3.0)
    return out.getvalue() != ""


def recursive(jax: Any) -> Any:
    jnp = jax.numpy

    def chain(funs: Any) -> Any:
        def call(x: Any) -> Any:
            for f in funs:
                x = f(x)
            return x

        return call

    def recursive_checkpoint(funs: Any) -> Any:
        if len(funs) == 1:
            return funs[0]
        f1, f2 = (
            recursive_checkpoint(part) for part in (funs[: len(funs) // 2], funs[len(funs) // 2 :])
        )
        return lambda x: f2(jax.checkpoint(f1)(x))

    scanned = lambda x: jax.lax.scan(  # noqa: E731
        jax.checkpoint(lambda c, _: (jnp.sin(c), None)), x, None, length=8
    )[0]
    f = recursive_checkpoint([jnp.sin] * 8)
    return jax.grad(f)(1.0), jax.grad(chain([jnp.sin] * 8))(1.0), jax.grad(scanned)(1.0)

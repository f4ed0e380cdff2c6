"""References, arrays that are written in place: plumbing, loops, and what must not leave."""

from typing import Any


def basics(jax: Any) -> Any:
    jnp = jax.numpy
    x_ref = jax.new_ref(jnp.zeros(3))

    @jax.jit
    def f() -> Any:
        x_ref[1] += 1.0
        return x_ref[...]

    first = f()
    x_ref[0] = 7.0
    second = f()

    @jax.jit
    def f2(x: Any) -> Any:
        ref = jax.new_ref(x)
        ref[...] = jnp.sin(ref[...])
        ref[0] += 1.0
        return jax.freeze(ref)

    return (
        first,
        second,
        jax.freeze(x_ref),
        f2(jnp.arange(3.0)),
        jax.grad(lambda x: f2(x).sum())(jnp.arange(3.0)),
    )


def plumbing(jax: Any) -> Any:
    jnp = jax.numpy

    def stash(stats: Any, x: Any) -> None:
        stats[...] = jax.lax.stop_gradient(jnp.sum(x))

    def layer(w: Any, x: Any, stats: Any) -> Any:
        y = jnp.tanh(x @ w)
        stash(stats, y)
        return y.sum()

    stats = jax.new_ref(0.0)
    w, x = jnp.ones((3, 2)), jnp.arange(6.0).reshape(2, 3) / 10
    grads = jax.jit(jax.grad(layer))(w, x, stats)
    return grads, stats[...]


def queue(jax: Any) -> Any:
    """A ring of the last values, filled in a scan."""
    jnp = jax.numpy
    ring, place = jax.new_ref(jnp.zeros(4)), jax.new_ref(0)

    @jax.jit
    def push(x: Any) -> None:
        ring[place[...]] = x
        place[...] = (place[...] + 1) % 4

    for x in range(6):
        push(float(x))

    def body(carry: Any, x: Any) -> Any:
        push(x)
        return carry + ring[0], ring[1]

    out = jax.lax.scan(body, 0.0, jnp.arange(3.0) * 10)
    return out, ring[...], place[...]


def of_examples(jax: Any) -> Any:
    jnp = jax.numpy

    def dist(x: Any, y: Any, out: Any) -> None:
        assert x.ndim == y.ndim == 1
        assert out.ndim == 0
        out[...] = jnp.sum((x - y) ** 2)

    vec = jnp.arange(3.0)
    out = jax.new_ref(jnp.zeros((3, 3)))
    jax.vmap(jax.vmap(dist, (0, None, 0)), (None, 0, 0))(vec[:, None], vec[:, None] + 1, out)
    return out[...]


def no_aliases(jax: Any) -> Any:
    jnp = jax.numpy
    x_ref = jax.new_ref(jnp.arange(3.0))
    refused = []
    for call in (
        lambda: jax.jit(lambda a, b: a[...] + b[...])(x_ref, x_ref),
        lambda: jax.jit(lambda a: a[...] + x_ref[...])(x_ref),
        lambda: jax.jit(jax.new_ref)(1.0),
    ):
        try:
            call()
        except (ValueError, TypeError):
            refused.append(True)
    return refused

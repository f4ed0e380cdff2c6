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


def gradients(jax: Any) -> Any:
    """Gradients that are added to references, returned, or not computed."""
    jnp = jax.numpy
    weights = {"w": jnp.array([[1.0, -2.0], [0.5, 3.0]]), "b": jnp.array([0.1, 0.2])}
    x = jnp.array([0.3, -0.7])

    def layer(p: Any, x: Any) -> Any:
        return jnp.tanh(p["w"] @ x + p["b"])

    total = {name: jax.new_ref(jnp.ones_like(value)) for name, value in weights.items()}
    y, pull_back = jax.vjp(layer, weights, x)
    left = pull_back.with_refs(total, jax.ad.DontWant())(y)
    again = pull_back.with_refs({"w": total["w"], "b": jax.ad.GradValue()}, jax.ad.GradValue())(y)
    kept = [pull_back.args_res[1], jax.tree.leaves(pull_back.args_res[0])]

    value, none = jax.ad.GradValue(), jax.ad.DontWant()
    values = {"w": value, "b": value}

    def work(*accumulators: Any) -> int:
        jaxpr = jax.make_jaxpr(lambda ct: pull_back.with_refs(*accumulators)(ct))(y)
        return str(jaxpr).count("dot_general")

    return (
        jax.tree.map(jax.ref.get, total),
        [str(left), str(again[0]["w"]), again[0]["b"], again[1], kept],
        [work(values, value) - work(values, none), jax.tree.leaves(left)],
    )


def accumulated(jax: Any) -> Any:
    """Sum gradients over slices of a batch, in a loop and in place."""
    jnp = jax.numpy

    @jax.jit
    def total(w: Any, batch: Any) -> Any:
        sums = jax.new_ref(jnp.zeros_like(w))

        def one(_: Any, xs: Any) -> Any:
            loss, pull_back = jax.vjp(lambda w: jnp.mean(jnp.sin(xs @ w)), w)
            pull_back.with_refs(sums)(jnp.ones_like(loss))
            return None, loss

        _, losses = jax.lax.scan(one, None, batch)
        return jax.freeze(sums), losses

    return total(jnp.array([[1.0, 2.0], [-1.0, 0.5]]), jnp.arange(12.0).reshape(3, 2, 2) / 7)


def bounds(jax: Any) -> Any:
    """An int out of bounds is refused where it is known, and an array is not."""
    jnp = jax.numpy
    ref = jax.new_ref(jnp.arange(6.0).reshape(2, 3))
    refused = []
    for index in (2, (0, 3), (Ellipsis, 3), (slice(None), 4), (None, 0, 3)):
        for call in (
            lambda i: ref[i],
            lambda i: jax.ref.set(ref, i, 1.0),
            lambda i: jax.ref.addupdate(ref, i, 1.0),
        ):
            try:
                call(index)
            except ValueError:
                refused.append(index)
    return len(refused), ref[-1], ref[1, -3], ref[:, 1:5], ref[jnp.array([0, 7])], ref[...]

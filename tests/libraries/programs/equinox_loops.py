"""Equinox's loops, of each kind, with their derivatives, and mapped."""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp

TOLERANCE = 1e-4


def newton(kind, **options):
    def run(x):
        def goes_on(carry):
            step, y = carry
            return (step < 8) & (jnp.abs(y * y - x) > 1e-6)

        def body(carry):
            step, y = carry
            return step + 1, 0.5 * (y + x / y)

        return eqxi.while_loop(goes_on, body, (0, x), kind=kind, **options)[1]

    return run


def buffered(kind, **options):
    def run(x):
        def body(carry):
            step, y, buffer = carry
            return step + 1, y * x, buffer.at[step].set(jnp.sin(y))

        def goes_on(carry):
            return carry[0] < 6

        start = (0, x, jnp.zeros(8))
        _, y, buffer = eqxi.while_loop(
            goes_on, body, start, kind=kind, buffers=lambda c: c[2], **options
        )
        return y + jnp.sum(buffer)

    return run


KINDS = {
    "lax": {},
    "checkpointed": {"checkpoints": 3},
    "bounded": {"max_steps": 16},
}


def main():
    results = {}
    xs = jnp.array([2.0, 3.0, 10.0])
    for kind, options in KINDS.items():
        for name, make in (("newton", newton), ("buffered", buffered)):
            run = make(kind, **options)
            results[f"{name} {kind}"] = eqx.filter_jit(run)(2.0)
            if kind != "checkpointed":
                results[f"{name} {kind} jvp"] = jax.jvp(run, (2.0,), (1.0,))[1]
            results[f"{name} {kind} mapped"] = jax.jit(jax.vmap(run))(xs)
            if kind != "lax":
                results[f"{name} {kind} grad"] = jax.jit(jax.grad(run))(2.0)
                results[f"{name} {kind} mapped grad"] = jax.jit(jax.vmap(jax.grad(run)))(xs)

    def step(carry, x):
        return carry * jnp.cos(x), carry + x

    for kind, options in (("lax", {}), ("checkpointed", {"checkpoints": 2})):

        def total(x, kind=kind, options=options):
            carry, ys = eqxi.scan(step, x, jnp.arange(5.0), kind=kind, **options)
            return carry + jnp.sum(ys)

        results[f"scan {kind}"] = jax.jit(total)(0.7)
        results[f"scan {kind} grad"] = jax.jit(jax.grad(total))(0.7)
    results["unvmap"] = jax.vmap(lambda x: jnp.where(eqxi.unvmap_any(x > 2.5), x, -x))(xs)
    results["noinline"] = jax.jit(jax.grad(eqxi.noinline(jnp.sin)))(0.5)
    return results

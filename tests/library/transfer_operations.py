"""Run operations under the guards of transfers, and print what became of each, as JSON.

``python transfer_operations.py jax 0/4`` does it in JAX, with ``tinyjax`` here, with the first of
every four operations: each in a process of its own, since both have four devices.
"""

import contextlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import numpy as np

#: Expressions of the names below: what is refused is by what lies where.
OPERATIONS: Final = """
f(x); f(n); f(2.0); f(2); f(h); f(True); g(x, n); g(x, 1.0); g(a=x, c=n); by_name({"a": n})
by_name({"a": x}); of_static(x, 3.0); closed(x); jit(lambda a: a - n)(x); jit(lambda a: f(a) + 1)(x)
jit(lambda a: a - jnp.ones(3) * jnp.array(n))(x); jit(lambda a: a + jnp.ones(3) * 2.0)(x)
jit(lambda key: random.normal(key, (3,)))(k); jit(vmap(lambda a: a * 2))(x); f.lower(n)
f.lower(x).compile()(n); f.lower(x).compile()(x); jax.eval_shape(lambda a: a + n, n)
jax.make_jaxpr(lambda a: a + n)(n)

f(x1); g(x1, x); g(x1, n); g(x1, 1.0); f(y8); g(y8, r8); g(y8, x8); g(y8, n8); divided(x8)
divided(n8); divided(y8); divides(x8); x1 + 1; x1 + x; x1 * x1; x1 + n; x1 + s; x1[0]; y8 + 1
y8 + x8; y8 + y8; y8 + r8; y8 + n8; jnp.sum(y8); jit(lambda a: a + n8)(y8); mapped(y8)
mapped(x8); mapped(n8); lax.with_sharding_constraint(x8, along)

x + x; x + 1; x + 1.0; x * 2; 1 - x; x**2; x**2.5; x**s; x + n; n + x; x + h; x > 0; x == n; -x
x @ x; x @ n; m @ n2; i // 2; i % 2; i << 1; ~b; b & True; abs(x); divmod(x, 2.0); x + True; x / 2
i / 2; round(x); i + s; x * i

jnp.sin(x); jnp.sin(n); jnp.sin(1.0); jnp.sin(h); jnp.sum(x); jnp.sum(n); jnp.sum(a=n); jnp.mean(x)
jnp.var(x); x.var(); jnp.std(x); jnp.max(x); jnp.argmax(x); jnp.cumsum(x); jnp.prod(n)
jnp.sum(x, initial=1.0); jnp.sum(x, where=b); jnp.where(b, x, 0.0); jnp.where(b, x, x)
jnp.where(np.array([True, False, True]), x, x); jnp.maximum(x, 0.0); jnp.clip(x, 0.0, 1.0)
jnp.dot(n, n); x.dot(n); jnp.einsum("i,i", x, x); jnp.einsum("i,i", x, n); jnp.concatenate([x, x])
jnp.concatenate([x, n]); jnp.stack([n, n]); jnp.stack([x, x]); x.reshape(3, 1); x.reshape(-1); m.T
jnp.sort(x); jnp.sort(n); jnp.take(x, i); jnp.take(x, np.array([1])); jnp.take(x, 1); jnp.pad(x, 1)
jnp.pad(x, 1, constant_values=2.0); jnp.roll(x, 1); jnp.flip(x); jnp.tril(m); jnp.triu(m, 1)
jnp.diag(x); jnp.outer(x, n); x.astype(int); jnp.broadcast_to(x, (2, 3))
jnp.broadcast_to(n, (2, 3)); jnp.linalg.inv(m); jnp.linalg.inv(n2); jnp.linalg.norm(x)
jnp.linalg.solve(m, n); jnp.fft.fft(x); jnp.isnan(x); jnp.allclose(x, x); jnp.isclose(x, x)
jnp.isclose(x, n); jnp.interp(s, x, x); jnp.searchsorted(x, s); jnp.unique(i); jnp.histogram(x)
jnp.polyval(x, s); jnp.squeeze(n); jnp.power(x, 2); jnp.repeat(x, 2); jnp.tile(x, 2); jnp.median(x)
jnp.percentile(x, 50); jnp.quantile(x, s); jnp.bincount(i, length=3); jnp.result_type(n, 1.0)
jnp.shape(n); jnp.ndim(n); jnp.array_split(x, 3); jnp.moveaxis(m, 0, 1); jnp.expand_dims(x, 0)
jnp.argsort(x); jnp.diff(x); jnp.gradient(x); jnp.cross(x, x); jnp.kron(x, x); jnp.nan_to_num(x)
jnp.hypot(x, 2.0); jnp.arctan2(x, x); jnp.logaddexp(x, 0.0); jnp.mod(x, 2); jnp.add(x, 1)
jnp.take_along_axis(x, i, 0); jnp.vectorize(jnp.sin)(x); jnp.round(x, 1); m.swapaxes(0, 1)

jnp.asarray(n); jnp.asarray(x); jnp.array(n); jnp.array(x); jnp.array([1.0, 2.0]); jnp.array(1.0)
jnp.asarray(1.0); jnp.array([s, s]); jnp.array([[1, 2], [3, 4]]); jnp.array([s, 1.0])
jnp.asarray([n, n]); jnp.float32(1); jnp.zeros(3); jnp.ones((2, 2)); jnp.full((2,), 3.0)
jnp.full((3,), n); jnp.full((3,), s); jnp.zeros_like(x); jnp.ones_like(n); jnp.full_like(x, 2.0)
jnp.empty(3); jnp.arange(5); jnp.arange(1, 5); jnp.arange(0.0, 1.0, 0.1); jnp.linspace(0, 1, 5)
jnp.linspace(s, s, 5); jnp.eye(3); jnp.identity(3); jnp.tri(3); jnp.meshgrid(x, x)
jnp.meshgrid(n, n); jnp.zeros(3, device=d1); jnp.array(n, device=d1); jnp.asarray(x, device=d1)
lax.full((2,), 1.0); lax.iota(int, 3); jnp.logspace(0, 1, 5); jnp.indices((2, 2)); jnp.copy(x)
jnp.from_dlpack(x); jnp.from_dlpack(n); jnp.frombuffer(b"abcd", dtype=jnp.uint8); jnp.bool_(True)
jax.make_array_from_callback((8,), along, lambda part: n8[part])

x[0]; x[-1]; x[:2]; x[1:]; x[::2]; x[::-1]; x[:]; x[i]; x[np.array([0, 1])]; x[b]; x[None]; x[...]
x[()]; m[0]; m[:, 1]; m[0, 1]; m[i, 0]; m[0, ...]; m[:, None]; x.at[i].set(x); x.at[0].set(1.0)
x.at[i].add(1.0); x.at[0].set(s); x.at[:2].set(s); x.at[::2].set(s); x.at[np.array([0])].add(s)
list(x); len(x); lax.dynamic_slice(x, (0,), (2,)); lax.dynamic_slice(x, (jnp.sum(i),), (2,))
lax.slice(x, (0,), (2,)); lax.dynamic_update_slice(x, x, (0,))

lax.add(x, x); lax.add(x, n); lax.add(x, 1.0); lax.sin(n); lax.select(b, x, x); lax.top_k(x, 1)
lax.fori_loop(0, 3, lambda j, c: c * 2.0, x); lax.fori_loop(0, 3, lambda j, c: c * 2.0, n)
lax.scan(lambda c, a: (c + a, c), s, x); lax.scan(lambda c, a: (c + a, c), 0.0, x)
lax.scan(lambda c, a: (c + a, c), s, n); lax.scan(lambda c, a: (c + n[0], c), s, x)
lax.while_loop(lambda c: c < 9.0, lambda c: c * 2, s)
lax.while_loop(lambda c: c < 9.0, lambda c: c * 2, 2.0); lax.map(lambda a: a * 2.0, x)
lax.cond(s > jnp.sum(x), lambda a: a, lambda a: -a, x); lax.cond(True, lambda a: a, lambda a: -a, x)
lax.cond(s > s, lambda a: a, lambda a: -a, n); lax.map(lambda a: a * 2.0, n)
lax.convert_element_type(x, np.int32); lax.convert_element_type(n, np.int32)
lax.associative_scan(jnp.add, x)

grad(loss)(x); grad(loss)(n); grad(lambda w: w * w)(2.0); grad(lambda w: w * w)(s)
grad(jit(loss))(x); jit(grad(loss))(x); jit(grad(loss))(n); grad(lambda w: jnp.sum(w * n))(x)
grad(lambda a, c: jnp.sum(a * c), argnums=1)(x, n); jax.value_and_grad(loss)(x)
jax.vjp(jnp.sin, x)[1](x); jax.vjp(jnp.sin, x)[1](n); jax.vjp(jnp.sin, n)
jax.jvp(jnp.sin, (x,), (x,)); jax.jvp(jnp.sin, (n,), (n,)); vmap(jnp.sin)(x); vmap(jnp.sin)(n)
vmap(lambda a: a * 2.0)(x); vmap(lambda a: a * n)(x)
vmap(lambda a, c: a + c, in_axes=(0, None))(x, 1.0); jax.jacrev(jnp.sin)(x); jax.jacfwd(jnp.sin)(x)
jax.hessian(loss)(x); jax.linearize(jnp.sin, x)[1](x); jax.linearize(jnp.sin, n)
jax.checkpoint(jnp.sin)(x); jax.checkpoint(jnp.sin)(n); jax.tree.map(lambda a: a + a, {"a": x})
jax.tree.map(jnp.sin, {"a": n}); jax.flatten_util.ravel_pytree({"a": x, "b": x})
jax.flatten_util.ravel_pytree({"a": n, "b": n})

random.key(0); random.PRNGKey(0); random.split(k); random.split(raw); tuple(random.split(k))
random.fold_in(k, 1); random.fold_in(k, jnp.sum(i)); random.normal(k, (3,)); random.bits(k, (3,))
random.normal(raw, (3,)); random.uniform(k, (3,)); random.uniform(k, (3,), minval=-1.0, maxval=2.0)
random.randint(k, (3,), 0, 5); random.bernoulli(k, 0.5, (3,)); random.permutation(k, x)
random.permutation(k, 5); random.choice(k, x); random.categorical(k, x); random.gamma(k, 2.0)
random.key_data(k); nn.relu(x); nn.relu(n); nn.softmax(x); nn.softmax(n); nn.gelu(x); nn.sigmoid(x)
nn.silu(x); nn.elu(x); nn.leaky_relu(x); nn.one_hot(i, 3); nn.one_hot(np.array([1]), 3)
nn.log_softmax(x); nn.logsumexp(x); nn.standardize(x); nn.initializers.normal()(k, (3,))
nn.initializers.glorot_uniform()(k, (3, 3)); stats.norm.logpdf(x); special.gammaln(x)
special.gammaln(n); special.erf(x); special.logit(x); special.xlogy(x, x)

put(n); put(x); put(n, d1); put(x, d1); put(x0, d0); put(x1, d0); put(1.0); put([1.0, n])
put(n8, along); put(x8, along); put(y8, everywhere); put(y8, along); put(y8, d0); x.to_device(d1)
x.to_device(device=d1); f(put(n)); x + put(h); jax.device_get(x); jax.device_get(x1); np.asarray(x)
np.asarray(x1); np.asarray(y8); float(s); bool(s); x.tolist(); repr(x1); repr(x); s.item()
x1.block_until_ready(); jax.debug.print("{}", x)

float32(n); nonzero(b); x.at[:].set(s); whole_mapped(y8); whole_mapped(x8); jit(folded)(x)
"""

LEVELS: Final = ("disallow", "disallow_explicit", "log", "log_explicit")
#: Logged transfers are the disallowed ones, so that one operation in so many runs with both.
LOGGED: Final = 8
DIRECTIONS: Final = ("host-to-device", "device-to-device", "device-to-host")


def names(library: str) -> dict[str, Any]:
    """Return the names in the expressions."""
    jax: Any = import_module(library)
    jnp, lax, sharding, random, nn = (
        import_module(f"{library}.{name}") for name in ("numpy", "lax", "sharding", "random", "nn")
    )
    special, stats = (import_module(f"{library}.scipy.{name}") for name in ("special", "stats"))
    import_module(f"{library}.flatten_util")
    jit, grad, vmap, put = jax.jit, jax.grad, jax.vmap, jax.device_put
    d0, d1 = jax.devices()[:2]
    mesh = jax.make_mesh((4,), ("a",), axis_types=(sharding.AxisType.Auto,))
    P = sharding.PartitionSpec
    along, everywhere = (sharding.NamedSharding(mesh, spec) for spec in (P("a"), P()))
    x, i, s = jnp.array([1.0, 2.0, 3.0]), jnp.array([2, 0, 1]), jnp.array(2.0)
    n, n2, n8 = (np.arange(1, size + 1, dtype=np.float32) for size in (3, 9, 8))
    n2, h = n2.reshape(3, 3) + np.eye(3, dtype=np.float32), np.float32(2)
    m, b, k, raw = jnp.array(n2), jnp.array([True, False, True]), random.key(0), random.PRNGKey(0)
    x0, x1, y8, r8 = put(n, d0), put(n, d1), put(n8, along), put(n8, everywhere)
    x8 = jnp.array(n8)
    whole_mapped = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=P("a"), out_specs=P("a"))
    f, g, mapped = jit(lambda a: a * 2.0), jit(lambda a, c: a + c), jit(whole_mapped)
    by_name, closed = jit(lambda d: d["a"] * 2), jit(lambda a: a + n)
    of_static = jit(lambda a, q: a * q, static_argnums=1)
    divided = jit(lambda a: a + 1, in_shardings=along)
    divides = jit(lambda a: a + 1, out_shardings=along)
    float32, nonzero = jnp.float32, jnp.nonzero

    def loss(w: Any) -> Any:
        return jnp.sum(w**2)

    def folded(a: Any) -> Any:
        with jax.ensure_compile_time_eval():
            return a + jnp.ones(3) * 2.0

    return {**globals(), **locals()}


@contextlib.contextmanager
def captured_streams() -> Iterator[list[str]]:
    """Yield the output to the standard streams in a block, by C++ as well."""
    texts: list[str] = []
    with tempfile.TemporaryFile() as file:
        before = [(stream, os.dup(stream)) for stream in (1, 2)]
        for stream, _ in before:
            os.dup2(file.fileno(), stream)
        try:
            yield texts
        finally:
            sys.stdout.flush()
            for stream, kept in before:
                os.dup2(kept, stream)
                os.close(kept)
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))


def outcome(operation: str, level: str, scope: dict[str, Any]) -> str:
    """Return the outcome of an operation: the error that refuses it, or the logged transfers."""
    raised = ""
    with captured_streams() as texts, scope["jax"].transfer_guard(level):
        try:
            eval(operation, scope)
        except scope["jax"].errors.JaxRuntimeError as error:
            raised = str(error)
    refused = [way for way in DIRECTIONS if f"Disallowed {way} transfer" in raised]
    assert bool(refused) == bool(raised), raised
    logged = [way for way in DIRECTIONS if f"{way} transfer" in texts[0] and not refused]
    return f"disallowed: {refused[0]}" if refused else f"logged: {logged[0]}" if logged else ""


def operations() -> list[str]:
    """The expressions, one by one."""
    return [part.strip() for line in OPERATIONS.splitlines() for part in line.split("; ") if part]


if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    logging.basicConfig(format="%(message)s")
    known = names(sys.argv[1])
    part, parts = map(int, sys.argv[2].split("/"))
    outcomes = {
        text: [outcome(text, level, known) for level in LEVELS[: 2 if place % LOGGED else 4]]
        for place, text in enumerate(operations()[part::parts])
    }
    print(json.dumps(outcomes))

"""More steps with a function inside: named axes, references, folds, rules of other kinds.

The other side has slices, values in the place of references, and the function itself.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from fuzz.plain import F64, IRRATIONAL, MOST_ELEMENTS, Body, fitted, slices, stack, total
from tinyjax import lax
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.custom_derivatives import linear_call


def collective(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Functions of all examples along a named axis."""
    if not x.ndim:
        return body(x, c)
    n = x.shape[0]
    turned = [(i, (i + 1) % n) for i in range(n)]
    shape = x.shape[1:]

    def inner(z: Array) -> Array:
        return fitted(body(z, c), shape)

    if ours:
        communicate: list[Callable[[Array], Array]] = [
            lambda z: lax.psum(z, "n"),
            lambda z: z - lax.pmean(z, "n"),
            lambda z: lax.pmax(z + 0.1 * lax.axis_index("n"), "n"),
            lambda z: lax.ppermute(z, "n", turned),
            lambda z: jnp.sum(jnp.sin(lax.all_gather(z, "n")) * z, 0),
            lambda z: lax.psum_scatter(jnp.stack([z * (i + 1.0) for i in range(n)]), "n"),
            lambda z: lax.all_to_all(jnp.stack([z * (i + 1.0) for i in range(n)]), "n", 0, 0).sum(
                0
            ),
            lambda z: lax.pmin(z - 0.1 * lax.axis_index("n"), "n"),
        ]
        form = communicate[k % len(communicate)]
        return jnp.sin(tinyjax.vmap(lambda z: form(inner(z)), axis_name="n")(x))
    parts = [inner(z) for z in slices(x)]
    whole = stack(parts)
    steps = jnp.arange(float(n)).reshape(n, *[1] * len(shape))
    ones = jnp.ones_like(whole)
    results: list[Callable[[], Array]] = [
        lambda: ones * jnp.sum(whole, 0),
        lambda: whole - jnp.sum(whole, 0) / n,
        lambda: ones * jnp.max(whole + 0.1 * steps, 0),
        lambda: stack([parts[i - 1] for i in range(n)]),
        lambda: stack([jnp.sum(jnp.sin(whole) * z, 0) for z in parts]),
        lambda: jnp.sum(whole, 0) * (steps + 1.0),
        lambda: jnp.sum(whole, 0) * (steps + 1.0),
        lambda: ones * jnp.min(whole - 0.1 * steps, 0),
    ]
    return jnp.sin(results[k % len(results)]())


def reference(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A value that is written in place: in order, in a loop, in a branch, in a jitted function."""

    def step(z: Array) -> Array:
        return jnp.sin(fitted(body(z, c), x.shape))

    times = 1 + k % 2
    if not ours:
        z = x
        for _ in range(times):
            z = step(z) + 0.5 * z
        return z + (z if not z.ndim else z.at[0].add(1.0))
    ref = tinyjax.new_ref(x)

    def once(carry: Any) -> Any:
        kept = ref[...]
        ref[...] = step(kept)
        ref[...] += 0.5 * kept
        return carry

    if k % 4 == 0:
        lax.fori_loop(0, times, lambda _, carry: once(carry), 0)
    elif k % 4 == 1:
        lax.scan(lambda carry, _: (once(carry), None), 0, None, length=times)
    else:
        for _ in range(times):
            (tinyjax.jit(once) if k % 4 == 2 else once)(0)
    before = ref[...]
    if x.ndim:
        ref[0] += 1.0
    return before + tinyjax.freeze(ref)


def folded(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Prefixes by an associative function, and a reduction by it."""
    z = jnp.sin(fitted(body(x, c), x.shape))
    if not z.ndim:
        return z

    def compose(f: tuple[Array, Array], g: tuple[Array, Array]) -> tuple[Array, Array]:
        return f[0] * g[0], f[1] * g[0] + g[1]

    pair = (z, jnp.cos(z))
    if ours:
        prefixes: tuple[Array, Array] = lax.associative_scan(compose, pair, reverse=k % 2 == 1)
        return prefixes[0] + prefixes[1]
    order = range(z.shape[0])[:: -1 if k % 2 else 1]
    parts, kept = {}, None
    for i in order:
        here = (pair[0][i], pair[1][i])
        kept = here if kept is None else compose(kept, here)
        parts[i] = kept[0] + kept[1]
    return stack([parts[i] for i in range(z.shape[0])])


def linear(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Linear functions with a transpose of their own, and transposes of linear functions."""
    z, scale = fitted(body(x, c), x.shape), 1.5 + jnp.sin(fitted(c, x.shape))
    if k % 2:
        if not ours:
            return z / scale
        return jnp.asarray(linear_call(lambda r, t: t / r, lambda r, ct: ct / r, scale, z))

    def along(t: Array) -> Array:
        return jnp.asarray(tinyjax.jvp(lambda v: fitted(body(v, c), x.shape), (x,), (t,))[1])

    if not ours:
        return jnp.asarray(tinyjax.jacfwd(lambda t: total(along(t) * scale))(x))
    return jnp.asarray(tinyjax.linear_transpose(along, x)(scale)[0])


def batched_by_rule(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    if not ours:
        return body(x, c)
    f: Any = tinyjax.custom_batch(body)

    def rule(axis_size: int, in_batched: Any, z: Array, w: Array) -> tuple[Array, bool]:
        axes = tuple(0 if mapped else None for mapped in in_batched)
        return tinyjax.vmap(body, in_axes=axes, axis_size=axis_size)(z, w), True

    f.def_vmap(rule)
    return as_array(f(x, c))


def beside(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Results beside what is differentiated."""

    def inner(z: Array) -> tuple[Array, Any]:
        out = body(z, c)
        return ew.sin(total(out)), {"out": out, "none": None, "three": 3}

    value: Any
    pull: Any
    if not ours:
        slope = tinyjax.grad(lambda z: inner(z)[0])(x)
        value, aux = inner(x)
    elif k % 3 == 0:
        (value, aux), slope = tinyjax.value_and_grad(inner, has_aux=True)(x)
    elif k % 3 == 1:
        value, pull, aux = tinyjax.vjp(inner, x, has_aux=True)
        (slope,) = pull(jnp.ones_like(value))
    else:
        value, _, aux = tinyjax.jvp(inner, (x,), (jnp.cos(x),), has_aux=True)
        rows: Any = tinyjax.jacrev(inner, has_aux=True)
        slope = rows(x)[0]
    return as_array(slope + value + fitted(aux["out"], x.shape))


def jitted_otherwise(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Options of ``jit``, and functions that are nothing but a name to the compiler."""
    if not ours:
        return body(x, c)
    choices: list[Callable[[], Array]] = [
        lambda: tinyjax.jit(body, inline=True)(x, c),
        lambda: tinyjax.jit(body, keep_unused=True)(x, c),
        lambda: tinyjax.jit(lambda *, z, w: body(z, w))(z=x, w=c),
        lambda: tinyjax.jit(lambda tree: body(tree["z"][0], tree["w"]))({"z": [x], "w": c}),
        lambda: tinyjax.named_call(body, name="step")(x, c),
        lambda: lax.composite(body, "fuzz.step")(x, c),
        lambda: lax.platform_dependent(x, c, cpu=body, default=body),
        lambda: tinyjax.jit(tinyjax.jit(body))(x, c),
        lambda: tinyjax.jit(lambda z: (z, body(z, c)))(x)[1],
        lambda: tinyjax.error_if(body(x, c), jnp.isnan(total(x)), "not a number"),
    ]
    return choices[k % len(choices)]()


def saved_otherwise(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Rules of derivatives with static arguments, symbolic zeros, and residuals closed over."""
    if not ours:
        return 2.0 * body(x, c) if k % 3 != 2 else body(x, c)
    f: Any
    if k % 3 == 0:
        f = tinyjax.custom_jvp(_scaled_by(body), nondiff_argnums=(0,))
        f.defjvp(
            lambda scale, primals, tangents: tinyjax.jvp(
                lambda z, w: scale * body(z, w), primals, tangents
            )
        )
        return as_array(f(2.0, x, c))
    if k % 3 == 1:
        f = tinyjax.custom_jvp(lambda z, w: 2.0 * body(z, w))

        def symbolic(primals: Any, tangents: Any) -> Any:
            known = [
                jnp.zeros_like(p) if isinstance(t, tinyjax.custom_derivatives.SymbolicZero) else t
                for p, t in zip(primals, tangents, strict=True)
            ]
            out, slope = tinyjax.jvp(body, primals, tuple(known))
            return 2.0 * out, 2.0 * slope

        f.defjvp(symbolic, symbolic_zeros=True)
        return as_array(f(x, c))
    f = tinyjax.custom_jvp(body)
    f.defjvps(
        lambda t, out, z, w: tinyjax.jvp(lambda v: body(v, w), (z,), (t,))[1],
        lambda t, out, z, w: tinyjax.jvp(lambda v: body(z, v), (w,), (t,))[1],
    )
    return as_array(f(x, c))


def _scaled_by(body: Body) -> Callable[[Any, Any, Any], Any]:
    return lambda scale, z, w: scale * body(z, w)


def mapped_otherwise(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Other axes, containers, and results that are not mapped."""
    if not x.ndim:
        return body(x, c)
    shape = x.shape[:-1]
    if not ours:
        outs = [body(x[..., i], c) for i in range(x.shape[-1])]
        if k % 3 == 2:
            return jnp.moveaxis(stack([fitted(out, shape) for out in outs]), 0, -1)
        found = stack(outs)
    elif k % 3 == 0:
        both = tinyjax.vmap(
            lambda d: (body(d["z"], d["c"]), 1.0), in_axes=({"z": -1, "c": None},), out_axes=(0, 0)
        )
        found = both({"z": x, "c": c})[0]
    elif k % 3 == 1:
        found = tinyjax.vmap(body, in_axes=(x.ndim - 1, None))(x, c)
    else:
        last = tinyjax.vmap(lambda z: (fitted(body(z, c), shape), c), -1, (-1, None))
        return as_array(last(x)[0] + 0.0 * total(last(x)[1]))
    return found if found.size <= MOST_ELEMENTS and found.ndim <= 3 else total(found)


def seen(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Effects that change nothing, and NumPy's value of what has no derivative."""
    z = body(x, c)
    if not ours:
        return z + fitted(jnp.sign(jnp.sin(c) + IRRATIONAL), z.shape)
    tinyjax.debug.callback(lambda _: None, z, ordered=k % 2 == 0)
    sign = tinyjax.pure_callback(
        lambda v: np.sign(np.sin(v) + IRRATIONAL),
        tinyjax.ShapeDtypeStruct(c.shape, F64),
        lax.stop_gradient(c),
        vmap_method=("sequential", "expand_dims", "broadcast_all")[k % 3],
    )
    return z + fitted(sign, z.shape)


FURTHER: Final[dict[str, Callable[[Body, Array, Array, int, bool], Array]]] = {
    "collective": collective,
    "reference": reference,
    "folded": folded,
    "linear": linear,
    "batched_by_rule": batched_by_rule,
    "beside": beside,
    "jitted_otherwise": jitted_otherwise,
    "saved_otherwise": saved_otherwise,
    "mapped_otherwise": mapped_otherwise,
    "seen": seen,
}

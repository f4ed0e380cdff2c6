"""Jaxprs, lowering, exporting, and the promotion of types: how programs are looked at."""

from importlib import import_module
from typing import Any

import numpy as np


def names(jaxpr: Any) -> list[str]:
    """The primitives of a program of few."""
    return [str(eqn.primitive) for eqn in jaxpr.eqns]


def jaxprs(jax: Any) -> Any:
    jnp = jax.numpy

    def first(x: Any) -> Any:
        return jnp.sin(x) * jnp.cos(2.0 * x)

    closed = jax.make_jaxpr(first)(1.5)
    inner = closed.jaxpr
    of_trees = jax.make_jaxpr(lambda d: d["a"] + d["b"][0])({"a": 1.0, "b": (2.0, 3.0)})
    staged, shape = jax.make_jaxpr(lambda x: {"y": jnp.dot(x, x)}, return_shape=True)(jnp.ones(3))
    looped = jax.make_jaxpr(lambda x: jax.lax.scan(lambda c, y: (c + y, c), 0.0, x))(jnp.ones(4))
    chosen = jax.make_jaxpr(lambda i: jax.lax.switch(i, [lambda: 1.0, lambda: 2.0, lambda: 3.0]))(1)
    core = import_module(f"{jax.__name__}.extend.core")
    return (
        names(closed),
        (len(inner.invars), len(inner.outvars), len(inner.constvars)),
        [v.aval.shape for v in inner.invars],
        core.jaxpr_as_fun(closed)(0.3),
        jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 0.7),
        len(of_trees.in_avals),
        names(staged)[-1:],
        (shape["y"].shape, shape["y"].dtype),
        names(looped),
        len(chosen.eqns[-1].params["branches"]),
    )


def interpreted(jax: Any) -> Any:
    """Operations of a program replaced by others."""
    jnp, lax = jax.numpy, jax.lax
    core = import_module(f"{jax.__name__}.extend.core")
    inverses = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh, lax.neg_p: jnp.negative}

    def inverse(fun: Any) -> Any:
        def inverted(y: Any) -> Any:
            closed = jax.make_jaxpr(fun)(y)
            env = dict(zip(closed.jaxpr.outvars, [y], strict=True))
            for eqn in reversed(closed.jaxpr.eqns):
                (invar,) = [v for v in eqn.invars if not isinstance(v, core.Literal)]
                env[invar] = inverses[eqn.primitive](env[eqn.outvars[0]])
            return env[closed.jaxpr.invars[0]]

        return inverted

    f = lambda x: jnp.exp(jnp.tanh(-x))  # noqa: E731 (as the page has it)
    g = inverse(f)
    return g(f(0.3)), jax.jit(g)(f(0.3)), jax.vmap(jax.grad(g))(jnp.array([1.1, 0.9]))


def lowered(jax: Any) -> Any:
    jnp = jax.numpy

    def f(x: Any, y: Any) -> Any:
        return 2 * x + jnp.sum(y)

    traced = jax.jit(f).trace(3, jnp.ones(4))
    low = traced.lower()
    compiled = low.compile()
    refused = False
    try:
        compiled(3, jnp.ones(5))
    except TypeError:
        refused = True
    static = jax.jit(lambda n, x: x * n, static_argnums=0).lower(7, 8).compile()
    return (
        compiled(3, jnp.ones(4)),
        static(9),
        refused,
        "stablehlo.multiply" in low.as_text(),
        low.in_tree.num_leaves,
        compiled.cost_analysis() is not None,
        traced.fun_name,
        low.out_info.shape,
        [a.shape for a in jax.tree.leaves(low.in_avals)],
    )


def exported(jax: Any) -> Any:
    jnp = jax.numpy
    export = import_module(f"{jax.__name__}.export")

    def f(x: Any) -> Any:
        return 2 * x * x

    program = export.export(jax.jit(f))(jax.ShapeDtypeStruct((2,), np.float32))
    again = program
    if jax.__name__ != "jax":  # which needs one more package for this
        again = export.deserialize(program.serialize(vjp_order=2))

    def callee(y: Any) -> Any:
        return 3.0 * again.call(y * 4.0)

    refused = False
    try:
        again.call(jnp.ones(3))
    except ValueError:
        refused = True
    return (
        again.fun_name,
        again.platforms,
        [a.shape for a in again.in_avals],
        again.call(jnp.ones(2)),
        jax.jit(callee)(jnp.ones(2)),
        jax.grad(lambda x: callee(x)[0])(jnp.ones(2)),
        again.vjp().call(jnp.ones(2), jnp.ones(2)),
        refused,
    )


def types(jax: Any) -> Any:
    with jax.enable_x64(False):
        return _types(jax.numpy, jax.dtypes.issubdtype)


def _types(jnp: Any, issubdtype: Any) -> Any:
    names = "bool uint8 uint16 uint32 int8 int16 int32 bfloat16 float16 float32 complex64"
    values = [jnp.ones((), getattr(jnp, name)) for name in names.split()]
    return (
        [[(a + b).dtype.name for a in values] for b in values],
        [[(a * s).dtype.name for a in values] for s in (True, 1, 1.0, 1j)],
        [jnp.asarray(s).weak_type for s in (1, 1.0, 1j)],
        jnp.result_type(jnp.int8(1), 3.5),
        jnp.promote_types("int8", "uint8"),
        (jnp.arange(3) / 2).dtype,
        jnp.asarray(np.arange(3)).dtype,
        (jnp.zeros(2, "int8") + 1).dtype,
        issubdtype(jnp.bfloat16, jnp.floating),
        jnp.finfo("bfloat16").bits,
        jnp.iinfo("int8").max,
    )

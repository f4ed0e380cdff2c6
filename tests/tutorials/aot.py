"""Ahead-of-time lowering and compilation, and exported programs."""

from importlib import import_module
from typing import Any

import numpy as np


def stages(jax: Any) -> Any:
    jnp = jax.numpy

    def f(x: Any, y: Any) -> Any:
        return 2 * x + y

    x, y = jnp.int32(3), jnp.int32(4)
    traced = jax.jit(f).trace(x, y)
    lowered = traced.lower()
    compiled = lowered.compile()
    wrong: list[str] = []
    try:
        compiled(jnp.float32(1), y)
    except TypeError:
        wrong.append("another type")
    static = jax.jit(f, static_argnums=0).lower(7, y).compile()
    return (
        compiled(x, y),
        [eqn.primitive.name for eqn in traced.jaxpr.eqns],
        traced.out_info.shape,
        "stablehlo" in lowered.as_text(),
        str(lowered.in_tree),
        compiled.cost_analysis() is not None,
        wrong,
        static(y),
        jax.jit(f).eval_shape(x, y).dtype,
    )


def without_data(jax: Any) -> Any:
    struct = jax.ShapeDtypeStruct((3,), np.float32)
    lowered = jax.jit(lambda x: x.sum()).lower(struct)
    return lowered.compile()(np.ones(3, np.float32)), lowered.out_info.shape


def exported(jax: Any) -> Any:
    export = import_module(f"{jax.__name__}.export")

    def f(x: Any) -> Any:
        return 2 * x * x

    made = again = with_vjp = export.export(jax.jit(f))(jax.ShapeDtypeStruct((), np.float32))
    if jax.__name__ != "jax":  # which needs another package for that
        again = export.deserialize(made.serialize())
        with_vjp = export.deserialize(made.serialize(vjp_order=1))
    return (
        made.fun_name,
        [a.shape for a in made.in_avals],
        again.call(np.float32(3)),
        jax.jit(lambda x: again.call(x) + 1)(np.float32(2)),
        jax.grad(with_vjp.call)(np.float32(3)),
        export.default_export_platform(),
        list(made.platforms),
    )

"""Writing custom interpreters of jaxprs: an inverse, and an evaluator."""

from functools import wraps
from importlib import import_module
from typing import Any


def evaluate(jax: Any) -> Any:
    core = import_module(f"{jax.__name__}.extend.core")
    jnp = jax.numpy

    def eval_jaxpr(jaxpr: Any, consts: Any, *args: Any) -> Any:
        env: dict[Any, Any] = {}

        def read(var: Any) -> Any:
            return var.val if isinstance(var, core.Literal) else env[var]

        for var, value in zip(jaxpr.invars, args, strict=True):
            env[var] = value
        for var, value in zip(jaxpr.constvars, consts, strict=True):
            env[var] = value
        for eqn in jaxpr.eqns:
            invals = [read(x) for x in eqn.invars]
            outvals = eqn.primitive.bind(*invals, **eqn.params)
            if not eqn.primitive.multiple_results:
                outvals = [outvals]
            for var, value in zip(eqn.outvars, outvals, strict=True):
                env[var] = value
        return [read(x) for x in jaxpr.outvars]

    def f(x: Any) -> Any:
        return jnp.exp(jnp.tanh(x)) * 3 + jax.jit(jnp.sin)(x)

    closed = jax.make_jaxpr(f)(jnp.ones(5))
    constants = jnp.arange(3.0)
    with_consts = jax.make_jaxpr(lambda x: x + constants)(jnp.ones(3))
    return (
        eval_jaxpr(closed.jaxpr, closed.literals, jnp.ones(5)),
        eval_jaxpr(with_consts.jaxpr, with_consts.consts, jnp.ones(3)),
        core.jaxpr_as_fun(closed)(jnp.ones(5)),
        jax.core.eval_jaxpr(closed.jaxpr, closed.consts, jnp.ones(5)),
        jax.jit(lambda x: eval_jaxpr(closed.jaxpr, closed.literals, x))(jnp.ones(5)),
        jax.grad(lambda x: eval_jaxpr(closed.jaxpr, closed.literals, x)[0].sum())(jnp.ones(5)),
    )


def inverse(jax: Any) -> Any:
    core = import_module(f"{jax.__name__}.extend.core")
    jnp = jax.numpy
    inverses: dict[str, Any] = {"exp": jnp.log, "tanh": jnp.arctanh}

    def inverse_jaxpr(jaxpr: Any, consts: Any, *args: Any) -> Any:
        env: dict[Any, Any] = {}

        def read(var: Any) -> Any:
            return var.val if type(var) is core.Literal else env[var]

        def write(var: Any, val: Any) -> None:
            env[var] = val

        for var, val in zip(jaxpr.outvars, args, strict=True):
            write(var, val)
        for var, val in zip(jaxpr.constvars, consts, strict=True):
            write(var, val)
        for eqn in jaxpr.eqns[::-1]:
            invals = [read(x) for x in eqn.outvars]
            if eqn.primitive.name not in inverses:
                raise NotImplementedError(f"{eqn.primitive} has no inverse")
            write(eqn.invars[0], inverses[eqn.primitive.name](*invals))
        return [read(x) for x in jaxpr.invars]

    def inverted(fun: Any) -> Any:
        @wraps(fun)
        def wrapped(*args: Any) -> Any:
            closed = jax.make_jaxpr(fun)(*args)
            out = inverse_jaxpr(closed.jaxpr, closed.literals, *args)
            return out[0]

        return wrapped

    def f(x: Any) -> Any:
        return jnp.exp(jnp.tanh(x))

    f_inv = inverted(f)
    errors = []
    try:
        inverted(jnp.sin)(1.0)
    except NotImplementedError as error:
        errors.append(str(error))
    return (
        jnp.allclose(f_inv(f(1.0)), 1.0, atol=1e-4),
        [e.primitive.name for e in jax.make_jaxpr(inverted(f))(f(1.0)).eqns][-1],
        jax.jit(jax.vmap(jax.grad(f_inv)))((jnp.arange(1, 5) / 5.0) + 1.0),
        errors,
    )


def inside(jax: Any) -> Any:
    core = import_module(f"{jax.__name__}.extend.core")
    jnp = jax.numpy

    def f(x: Any) -> Any:
        y = jax.jit(jnp.sin)(x)
        return jax.lax.cond(x > 0, jnp.cos, jnp.tan, y)

    def names(jaxpr: Any) -> list[str]:
        found = []
        for eqn in jaxpr.eqns:
            found.append(eqn.primitive.name)
            for inner in core.jaxprs_in_params(eqn.params):
                found += names(inner)
        return found

    closed = jax.make_jaxpr(f)(1.0)
    core.check_jaxpr(closed.jaxpr)
    nested = [e for e in closed.eqns if e.primitive.name in ("jit", "pjit")]
    inner = nested[0].params["jaxpr"]
    calls = [n for n in names(closed.jaxpr) if n in ("sin", "cos", "tan", "cond")]
    return (
        calls,
        [e.primitive.name for e in inner.eqns],
        [str(v.aval.shape) for v in inner.invars]
        if (hasattr(inner, "invars"))
        else [str(a.shape) for a in inner.in_avals],
    )

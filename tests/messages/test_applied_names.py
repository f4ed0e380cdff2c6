"""Messages about traced values name what the user wrote: the transformation, and the function.

Each public function that traces one is given a function, which keeps one of its values, or asks for
data. What a message then offers, the transformation that it names must have.
"""

import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import autodiff, debug, implicit, lax, source
from tinyjax.errors import ConcretizationError, LeakedTracerError, TinyjaxError
from tinyjax.experimental import checkify, sparse

X: Final = jnp.arange(3.0)
MESH: Final = tinyjax.make_mesh((1,), ("x",))
Fun = Callable[..., Any]


def solved(f: Fun) -> Any:
    return lax.custom_linear_solve(f, X, lambda multiply, b: b)


def solved_by(f: Fun) -> Any:
    return lax.custom_linear_solve(lambda x: x, X, lambda multiply, b: f(b))


def rooted(f: Fun) -> Any:
    return lax.custom_root(f, X, lambda f, x: x, lambda g, y: y)


def mapped_by_devices(f: Fun) -> Any:
    of_part = tinyjax.P("x")
    return tinyjax.shard_map(f, mesh=MESH, in_specs=of_part, out_specs=of_part)(X)


#: By what the user writes: that, and a program, whose name is longer where there are several.
USES: Final[dict[str, tuple[Fun, Callable[[Fun], object]]]] = {
    "jit": (tinyjax.jit, lambda f: tinyjax.jit(f)(X)),
    "jit lowered": (tinyjax.jit, lambda f: tinyjax.jit(f).lower(X)),
    "jit within vmap": (tinyjax.jit, lambda f: tinyjax.vmap(tinyjax.jit(f))(X[None])),
    "jit within grad": (tinyjax.jit, lambda f: tinyjax.grad(tinyjax.jit(f))(X)),
    "jit exported": (tinyjax.jit, lambda f: tinyjax.export.export(tinyjax.jit(f))(X)),
    "make_jaxpr": (tinyjax.make_jaxpr, lambda f: tinyjax.make_jaxpr(f)(X)),
    "eval_shape": (tinyjax.eval_shape, lambda f: tinyjax.eval_shape(f, X)),
    "grad": (tinyjax.grad, lambda f: tinyjax.grad(f)(X)),
    "grad within jit": (tinyjax.grad, lambda f: tinyjax.jit(tinyjax.grad(f))(X)),
    "grad within memory": (tinyjax.grad, lambda f: tinyjax.grad(f, memory_budget=10**4)(X)),
    "value_and_grad": (tinyjax.value_and_grad, lambda f: tinyjax.value_and_grad(f)(X)),
    "vmap": (tinyjax.vmap, lambda f: tinyjax.vmap(f)(X)),
    "vmap in chunks": (tinyjax.vmap, lambda f: tinyjax.vmap(f, chunk_size=2)(X)),
    "vmap in threads": (tinyjax.vmap, lambda f: tinyjax.vmap(f, threads=2)(X)),
    "pmap": (tinyjax.pmap, lambda f: tinyjax.pmap(f)(X[None])),
    "shard_map": (tinyjax.shard_map, mapped_by_devices),
    "jvp": (tinyjax.jvp, lambda f: tinyjax.jvp(f, (X,), (X,))),
    "vjp": (tinyjax.vjp, lambda f: tinyjax.vjp(f, X)),
    "vjp within memory": (tinyjax.vjp, lambda f: tinyjax.vjp(f, X, memory_budget=10**4)),
    "linearize": (tinyjax.linearize, lambda f: tinyjax.linearize(f, X)),
    "linear_transpose": (tinyjax.linear_transpose, lambda f: tinyjax.linear_transpose(f, X)(X)),
    "jacfwd": (tinyjax.jacfwd, lambda f: tinyjax.jacfwd(f)(X)),
    "jacrev": (tinyjax.jacrev, lambda f: tinyjax.jacrev(f)(X)),
    "jacobian": (tinyjax.jacobian, lambda f: tinyjax.jacobian(f)(X)),
    "jacobian, sparse": (tinyjax.jacobian, lambda f: tinyjax.jacobian(f, sparse=True)(X)),
    "hessian": (tinyjax.hessian, lambda f: tinyjax.hessian(f)(X)),
    "hessian, sparse": (tinyjax.hessian, lambda f: tinyjax.hessian(f, sparse=True)(X)),
    "laplacian": (autodiff.laplacian, lambda f: autodiff.laplacian(f)(X)),
    "divergence": (autodiff.divergence, lambda f: autodiff.divergence(f)(X)),
    "directional_derivatives": (
        autodiff.directional_derivatives,
        lambda f: autodiff.directional_derivatives(f, (X,), (X,)),
    ),
    "jet": (autodiff.jet, lambda f: autodiff.jet(f, (X,), [(X, X)])),
    "hvp": (autodiff.hvp, lambda f: autodiff.hvp(f, (X,), (X,))),
    "gauss_newton_vp": (
        autodiff.gauss_newton_vp,
        lambda f: autodiff.gauss_newton_vp(f, jnp.sum, (X,), (X,)),
    ),
    "jvp_from_vjp": (autodiff.jvp_from_vjp, lambda f: autodiff.jvp_from_vjp(f, (X,), (X,))),
    "memory_plan": (autodiff.memory_plan, lambda f: autodiff.memory_plan(f, 10**4)(X)),
    "multiplications": (autodiff.multiplications, lambda f: autodiff.multiplications(f)(X)),
    "checkpoint": (tinyjax.checkpoint, lambda f: tinyjax.checkpoint(f)(X)),
    "checkpoint in grad": (tinyjax.checkpoint, lambda f: tinyjax.grad(tinyjax.checkpoint(f))(X)),
    "scan": (lax.scan, lambda f: lax.scan(f, X, None, 2)),
    "map": (lax.map, lambda f: lax.map(f, X)),
    "map in batches": (lax.map, lambda f: lax.map(f, X, batch_size=2)),
    "while_loop, condition": (lax.while_loop, lambda f: lax.while_loop(f, lambda c: c, X)),
    "while_loop": (lax.while_loop, lambda f: lax.while_loop(lambda c: c[0] < 0, f, X)),
    "fori_loop": (lax.fori_loop, lambda f: lax.fori_loop(0, 3, f, X)),
    "fori_loop to a traced end": (
        lax.fori_loop,
        lambda f: tinyjax.make_jaxpr(lambda n: lax.fori_loop(0, n, f, X))(3),
    ),
    "cond": (lax.cond, lambda f: tinyjax.make_jaxpr(lambda x: lax.cond(x[0] > 0, f, f, x))(X)),
    "switch": (
        lax.switch,
        lambda f: tinyjax.make_jaxpr(lambda i: lax.switch(i, [f, f], X))(1),
    ),
    "reduce": (lax.reduce, lambda f: lax.reduce(X, 0.0, f, (0,))),
    "reduce_window": (
        lax.reduce_window,
        lambda f: lax.reduce_window(X, 0.0, f, (2,), (1,), "VALID"),
    ),
    "custom_root": (lax.custom_root, rooted),
    "custom_linear_solve": (lax.custom_linear_solve, solved),
    "root": (implicit.root, lambda f: implicit.root(f, X)),
    "fixed_point": (implicit.fixed_point, lambda f: implicit.fixed_point(f, X)),
    "minimize": (implicit.minimize, lambda f: implicit.minimize(f, X)),
    "odeint": (implicit.odeint, lambda f: implicit.odeint(f, X, X)),
    "linear_solve": (implicit.linear_solve, lambda f: implicit.linear_solve(f, X)),
    "linear_solve by products": (
        implicit.linear_solve,
        lambda f: implicit.linear_solve(f, X, method="cg"),
    ),
    "vectorize": (jnp.vectorize, lambda f: jnp.vectorize(f)(X)),
    "frompyfunc": (jnp.frompyfunc, lambda f: jnp.frompyfunc(f, 2, 1)(X, X)),
    "checkify": (checkify.checkify, lambda f: checkify.checkify(f)(X)),
    "sparsify": (sparse.sparsify, lambda f: sparse.sparsify(f)(X)),
    "value_and_grad, sparse": (sparse.value_and_grad, lambda f: sparse.value_and_grad(f)(X)),
    "closure_convert": (tinyjax.closure_convert, lambda f: tinyjax.closure_convert(f, X)),
    "inspect": (debug.inspect, lambda f: debug.inspect(f)(X)),
}


def name_of(use: str) -> str:
    return re.split(r"\W", use)[0]


def message_of(call: Callable[[], object]) -> str:
    with pytest.raises((LeakedTracerError, ConcretizationError)) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("use", USES)
def test_a_value_that_is_kept(use: str) -> None:
    leaks: list[Any] = []

    def keeping(*args: Any) -> Any:
        leaks.append(args[-1] if args[-1] is not None else args[0])
        return jnp.sum(leaks[-1])

    with suppress(TinyjaxError, TypeError):  # a result that does not fit
        USES[use][1](keeping)
    text = message_of(lambda: jnp.sin(leaks[0]))
    assert f"traced by {name_of(use)} of test_a_value_that_is_kept.<locals>.keeping (" in text


PURPOSES: Final[dict[str, Callable[[Any], object]]] = {
    "bool": bool,
    "index": lambda x: range(x.astype(int)),
    "float": float,
    "format": "{:.1f}".format,
}


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("use", USES)
def test_data_that_is_not_there(use: str, purpose: str) -> None:
    texts: list[str] = []

    def asking(*args: Any) -> Any:
        number = jnp.sum(args[-1] if args[-1] is not None else args[0])
        try:
            PURPOSES[purpose](number)
        except ConcretizationError as error:
            texts.append(str(error))
        return number

    fun, program = USES[use]
    with suppress(TinyjaxError, TypeError):
        program(asking)
    for text in texts[:1]:  # of others, functions may be staged that are made of this one
        of_asking = " of test_data_that_is_not_there.<locals>.asking ("
        if use == "grad within jit" and f"traced by jit{of_asking}" in text:
            fun = tinyjax.jit  # which has the value that is differentiated
        else:
            assert f" by {name_of(use)}{of_asking}" in text
        for option in re.findall(r"\w*(?:argnums|in_axes)\w*", text):
            assert option in inspect.signature(fun).parameters


LOOPS: Final[dict[str, Callable[[Fun], object]]] = {
    "s[0]": lambda f: lax.fori_loop(0, 3, lambda i, s: f(s[0]), (1.0, 2.0)),
    "t[1]": lambda f: tinyjax.jit(lambda n: lax.fori_loop(0, n, lambda i, t: f(t[1]), (1.0, 2.0)))(
        3
    ),
    "i": lambda f: lax.fori_loop(0, 3, lambda i, s: f(i), 1.0),
    "j": lambda f: tinyjax.jit(lambda n: lax.fori_loop(0, n, lambda j, s: f(j), 1.0))(3),
    "x['a']": lambda f: lax.map(lambda x: f(x["a"]), {"a": X, "b": X}),
    "w[1]": lambda f: lax.while_loop(lambda w: f(w[1]), lambda w: w, (1.0, 2.0)),
    "u['b']": lambda f: implicit.root(lambda u: f(u["b"]), {"a": X, "b": 1.0}),
    "t": lambda f: implicit.odeint(lambda y, t: f(t), (X, 1.0), X),
    "y[1]": lambda f: implicit.odeint(lambda y, t: f(y[1]), (X, 1.0), X),
}


@pytest.mark.parametrize("name", LOOPS)
def test_arguments_of_users_functions_have_their_names(name: str) -> None:
    text = message_of(lambda: LOOPS[name](bool))
    assert f"depends on the value of the argument {name}. " in text


def test_a_number_of_an_outer_function() -> None:
    """A value that a loop's body computes from an outer argument is made static there."""

    def outer(n: Any) -> Any:
        return lax.scan(lambda c, _: (c + sum(range(n + 1)), None), 0.0, None, 2)[0]

    text = message_of(lambda: tinyjax.jit(outer)(3))
    assert "traced by scan of" in text
    assert "make the argument static (static_argnums=...)" in text
    assert float(tinyjax.jit(outer, static_argnums=0)(3)) == 12.0


def test_a_transformed_function_is_named_by_what_is_applied_to_it() -> None:
    for make in (tinyjax.hessian, tinyjax.jacfwd, tinyjax.grad, source.grad):
        for apply in (tinyjax.jit, tinyjax.make_jaxpr):
            leaks: list[Any] = []
            outer = make(lambda x: jnp.sum(x**2))

            def keeping(x: Any, outer: Fun = outer, leaks: list[Any] = leaks) -> Any:
                leaks.append(x)
                return outer(x)

            apply(keeping)(X)
            assert f"traced by {apply.__name__} of " in message_of(partial(jnp.sin, leaks[0]))

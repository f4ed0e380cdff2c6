"""What users' functions close over dies with them: no cache of the process keeps it alive.

Each public function that takes a function is given one that closes over an object; once the last
reference to the function is gone, a weak reference says whether the object is.
"""

import gc
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import autodiff, debug, implicit, lax, source
from tinyjax.experimental import checkify, sparse

X: Final = jnp.arange(3.0)
Fun = Callable[..., Any]
#: Gives an object to a function.
Use = Callable[[Any], object]


class Held:
    """What a function closes over."""

    factor = 2.0


def callbacks(make: Callable[[Fun], Fun], x: Any = X) -> dict[str, Use]:
    """Call a program with each kind of callback, often enough to be compiled."""

    def called(body: Callable[[Held, Any], Any]) -> Use:
        def use(held: Held) -> None:
            fun = make(lambda x: body(held, x))
            for _ in range(3):
                with suppress(tinyjax.errors.JaxRuntimeError, ZeroDivisionError):
                    tinyjax.block_until_ready(fun(x))
                tinyjax.effects_barrier()

        return use

    def noted(held: Held, x: Any) -> Any:
        debug.callback(lambda v: held.factor, x)
        return x * 2

    def pure(held: Held, x: Any) -> Any:
        return tinyjax.pure_callback(
            lambda v: v * np.float32(held.factor), x, x, vmap_method="sequential"
        )

    def io(held: Held, x: Any) -> Any:
        return tinyjax.io_callback(lambda v: v * np.float32(held.factor), x, x)

    def ordered(held: Held, x: Any) -> Any:
        debug.callback(lambda v: held.factor, x, ordered=True)
        return x * 2

    def raising(held: Held, x: Any) -> Any:
        return tinyjax.pure_callback(lambda v: 1 / (held.factor - 2.0), x, x)

    bodies = {"debug": noted, "pure": pure, "io": io, "ordered": ordered, "raising": raising}
    return {name: called(body) for name, body in bodies.items()}


def in_scan(fun: Fun) -> Fun:
    return tinyjax.jit(lambda x: lax.scan(lambda c, _: (fun(c), None), x, None, 2)[0])


def in_while(fun: Fun) -> Fun:
    return tinyjax.jit(lambda x: lax.while_loop(lambda c: c[0] < 1.0, fun, x + 0.5))


def in_cond(fun: Fun) -> Fun:
    return tinyjax.jit(lambda x: lax.cond(x[0] > -1.0, fun, lambda x: x, x))


def total(held: Held) -> Fun:
    return lambda x: jnp.sum(jnp.sin(x) * held.factor)


def each(held: Held) -> Fun:
    return lambda x: jnp.sin(x) * held.factor


def batched(held: Held) -> Fun:
    fun = tinyjax.custom_batch(each(held))
    fun.def_vmap(lambda size, is_mapped, x: (each(held)(x), True))
    return fun


USES: Final[dict[str, Use]] = {
    "jit": lambda held: [tinyjax.jit(each(held))(X) for _ in range(3)],
    "compiled": lambda held: tinyjax.jit(each(held)).lower(X).compile()(X),
    "grad": lambda held: [tinyjax.grad(total(held))(X) for _ in range(3)],
    "value_and_grad": lambda held: tinyjax.jit(tinyjax.value_and_grad(total(held)))(X),
    "within memory": lambda held: tinyjax.grad(total(held), memory_budget=10_000)(X),
    "vmap": lambda held: [tinyjax.vmap(each(held))(X) for _ in range(3)],
    "vmap in threads": lambda held: tinyjax.vmap(each(held), threads=2)(X),
    "vmap in chunks": lambda held: tinyjax.vmap(each(held), chunk_size=2)(X),
    "pmap": lambda held: tinyjax.pmap(each(held))(X[None]),
    "jvp": lambda held: tinyjax.jvp(each(held), (X,), (X,)),
    "linearize": lambda held: tinyjax.linearize(each(held), X)[1](X),
    "vjp": lambda held: tinyjax.vjp(each(held), X)[1](X),
    "linear_transpose": lambda held: tinyjax.linear_transpose(lambda x: x * held.factor, X)(X),
    "jacfwd": lambda held: tinyjax.jacfwd(each(held))(X),
    "jacrev": lambda held: tinyjax.jacrev(each(held))(X),
    "hessian": lambda held: tinyjax.hessian(total(held))(X),
    "sparse": lambda held: tinyjax.hessian(total(held), sparse=True)(X),
    "laplacian": lambda held: autodiff.laplacian(total(held))(X),
    "divergence": lambda held: autodiff.divergence(each(held))(X),
    "jet": lambda held: autodiff.jet(each(held), (X,), [(X, X)]),
    "memory_plan": lambda held: autodiff.memory_plan(total(held), 10_000)(X),
    "multiplications": lambda held: autodiff.multiplications(each(held))(X),
    "checkpoint": lambda held: tinyjax.grad(tinyjax.checkpoint(total(held)))(X),
    "make_jaxpr": lambda held: tinyjax.make_jaxpr(each(held))(X),
    "eval_shape": lambda held: tinyjax.eval_shape(each(held), X),
    "custom_batch": lambda held: tinyjax.vmap(batched(held))(X),
    "scan": lambda held: lax.scan(lambda c, x: (c * held.factor, x), 1.0, X),
    "map": lambda held: lax.map(each(held), X),
    "while_loop": lambda held: lax.while_loop(lambda c: c < 9.0, lambda c: c * held.factor, 1.0),
    "fori_loop": lambda held: lax.fori_loop(0, 3, lambda _, c: c * held.factor, 1.0),
    "cond": lambda held: lax.cond(True, each(held), lambda x: x, X),
    "switch": lambda held: lax.switch(1, [lambda x: x, each(held)], X),
    "associative_scan": lambda held: lax.associative_scan(lambda a, b: a + b * held.factor, X),
    "reduce": lambda held: lax.reduce(X, 0.0, lambda a, b: a + b * held.factor, (0,)),
    "custom_root": lambda held: implicit.root(lambda x: x * held.factor - 2.0, 0.5),
    "fixed_point": lambda held: implicit.fixed_point(lambda x: x / held.factor, 1.0),
    "minimize": lambda held: implicit.minimize(lambda x: jnp.sum(x**2) * held.factor, X),
    "odeint": lambda held: implicit.odeint(lambda y, t: -y * held.factor, X, X),
    "linear_solve": lambda held: implicit.linear_solve(lambda x: x * held.factor, X),
    "vectorize": lambda held: jnp.vectorize(each(held))(X),
    "frompyfunc": lambda held: jnp.frompyfunc(lambda x, y: x + y * held.factor, 2, 1)(X, X),
    "apply_along_axis": lambda held: jnp.apply_along_axis(each(held), 0, X),
    "piecewise": lambda held: jnp.piecewise(X, [X > 1], [each(held), 0.0]),
    "checkify": lambda held: checkify.checkify(each(held))(X),
    "sparsify": lambda held: sparse.sparsify(each(held))(X),
    "closure_convert": lambda held: tinyjax.closure_convert(each(held), X)[0](X),
    "export": lambda held: tinyjax.export.export(tinyjax.jit(each(held)))(X).call(X),
    "tree.map": lambda held: tinyjax.tree.map(each(held), {"a": X}),
    "source.stage": lambda held: tinyjax.jit(source.stage(each(held)))(X),
    "named_call": lambda held: tinyjax.named_call(each(held), name="f")(X),
    "explore": lambda held: tinyjax.explore(each(held), runs=0)(X),
    **{f"{name} in a scan": use for name, use in callbacks(in_scan).items()},
    **{f"{name} in a while_loop": use for name, use in callbacks(in_while).items()},
    **{f"{name} in a cond": use for name, use in callbacks(in_cond).items()},
    **{f"{name} under jit": use for name, use in callbacks(tinyjax.jit).items()},
    **{f"{name} called": use for name, use in callbacks(lambda fun: fun).items()},
}


def is_kept(use: Use) -> bool:
    held = Held()
    reference = weakref.ref(held)
    use(held)
    del held
    gc.collect()
    return reference() is not None


@pytest.mark.filterwarnings("ignore")
def test_what_functions_close_over_dies_with_them() -> None:
    assert [name for name, use in USES.items() if is_kept(use)] == []

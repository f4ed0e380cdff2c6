"""Functions that travel between processes: ``python travellers.py FOLDER`` writes them as pickles.

They are functions of ``__main__``, as those of a script or a notebook are, so that picklers that
take functions by value (cloudpickle, dill) write what they were made of. Another process, which has
none of this file, loads each and calls it (``tests/base/test_travel.py``).
"""

import functools
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import cloudpickle
import dill
import joblib
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import autodiff, checkpoint_policies, lax, nn, source
from tinyjax.example_libraries import optimizers, stax
from tinyjax.experimental import checkify, sparse
from tinyjax.sharding import auto_axes

FACTOR = 2.0
X: Final = jnp.array([1.0, 2.0, 3.0])


def plain(x: Any, factor: Any = 1.0) -> Any:
    return jnp.sum(jnp.sin(x) * FACTOR * factor)


@tinyjax.jit
def jitted(x: Any) -> Any:
    return jnp.sin(x) * FACTOR


def calling(x: Any) -> Any:
    return jitted(x) + 1


@tinyjax.grad
def slope(x: Any) -> Any:
    return plain(x)


@tinyjax.checkpoint
def checkpointed(x: Any) -> Any:
    return jnp.sin(x) * FACTOR


@tinyjax.jit
@tinyjax.vmap
def doubly(x: Any) -> Any:
    return jnp.sin(x) * FACTOR


@tinyjax.custom_jvp
def ruled(x: Any) -> Any:
    return jnp.sin(x)


@ruled.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return ruled(primals[0]), tangents[0] * FACTOR


@tinyjax.custom_vjp
def pulled(x: Any) -> Any:
    return jnp.sin(x)


pulled.defvjp(lambda x: (pulled(x), x), lambda x, ct: (ct * x * FACTOR,))
compiled: Final = tinyjax.jit(pulled)


@tinyjax.custom_gradient
def graded(x: Any) -> Any:
    return jnp.sin(x), lambda ct: ct * FACTOR


@tinyjax.custom_batch
def batched(x: Any) -> Any:
    return jnp.sin(x)


@batched.def_vmap
def _(size: Any, is_mapped: Any, x: Any) -> Any:
    return jnp.sin(x) * FACTOR, True


@tinyjax.custom_derivative
def derived(x: Any) -> Any:
    return jnp.sin(x)


derived.defderivative(lambda x: (jnp.sin(x), lambda t: t * FACTOR))


@source.stage
def staged(x: Any) -> Any:
    return x * FACTOR if jnp.sum(x) > 0 else x


@jnp.vectorize
def elementwise(x: Any) -> Any:
    return jnp.sin(x) * FACTOR


def then(fun: Callable[..., Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function of what another returns."""
    return lambda *args: read(fun(*args))


class Model:
    """Has transformed methods of all kinds."""

    def __init__(self) -> None:
        self.weights = X

    @functools.partial(tinyjax.jit, static_argnums=0)
    def step(self, x: Any) -> Any:
        return self.weights * x

    @functools.partial(tinyjax.vmap, in_axes=(None, 0))
    def mapped(self, x: Any) -> Any:
        return x * FACTOR

    @functools.partial(tinyjax.checkpoint, static_argnums=0)
    def checkpointed(self, x: Any) -> Any:
        return self.weights * x

    def __call__(self, x: Any) -> Any:
        return self.step(x) + self.mapped(x) + self.checkpointed(x)


def number(x: Any) -> Any:
    return jnp.sin(x[0]) * FACTOR * x[1]


def both(x: Any) -> Any:
    return jnp.sin(x) * FACTOR


def pure(x: Any, y: Any) -> Any:
    return x * y


SPEC: Final = tinyjax.P()
mesh: Final = tinyjax.make_mesh((1,), ("i",))
init, update, get = optimizers.adam(0.1)
SECOND: Final = autodiff.laplacian(plain)

called: Final = tinyjax.jit(both)
for _call in range(3):
    called(X)

#: What travels: a function, and what it is called with.
TRAVELLERS: Final[dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "jit": (jitted, (X,)),
    "a function that calls one of jit": (calling, (X,)),
    "a lambda under jit": (tinyjax.jit(lambda x: x * FACTOR), (X,)),
    "jit with options": (tinyjax.jit(pure, static_argnums=1, inline=True), (X, 2)),
    "jit of vmap": (doubly, (X,)),
    "partial": (functools.partial(jitted, X), ()),
    "partial of grad": (functools.partial(tinyjax.grad(plain), factor=2.0), (X,)),
    "tree.Partial": (tinyjax.tree.Partial(jitted, X), ()),
    "method": (Model().step, (X,)),
    "object": (Model(), (X,)),
    "grad": (tinyjax.grad(plain), (X,)),
    "grad as a decorator": (slope, (X,)),
    "grad with options": (tinyjax.grad(pure, argnums=(0, 1)), (1.0, 2.0)),
    "grad within memory": (tinyjax.grad(plain, memory_budget=10_000), (X,)),
    "value_and_grad": (tinyjax.value_and_grad(plain), (X,)),
    "vmap": (tinyjax.vmap(both, out_axes=0), (X,)),
    "vmap in chunks": (tinyjax.vmap(both, chunk_size=2), (X,)),
    "pmap": (tinyjax.pmap(both), (X[None],)),
    "checkpoint": (checkpointed, (X,)),
    "checkpoint with a policy": (
        tinyjax.checkpoint(both, policy=checkpoint_policies.save_only_these_names("a")),
        (X,),
    ),
    "jacfwd": (tinyjax.jacfwd(both), (X,)),
    "jacrev": (tinyjax.jacrev(both), (X,)),
    "jacobian": (tinyjax.jacobian(both), (X,)),
    "sparse jacobian": (lambda x: tinyjax.jacobian(both, sparse=True)(x).todense(), (X,)),
    "hessian": (tinyjax.hessian(plain), (X,)),
    "laplacian": (lambda x: SECOND(x).laplacian, (X,)),
    "divergence": (autodiff.divergence(both), (X,)),
    "multiplications": (autodiff.multiplications(both), (X,)),
    "memory_plan": (then(autodiff.memory_plan(plain, 10_000), lambda plan: plan.peak), (X,)),
    "make_jaxpr": (then(tinyjax.make_jaxpr(both), str), (X,)),
    "jvp": (functools.partial(tinyjax.jvp, both), ((X,), (X,))),
    "linearize": (tinyjax.linearize(both, X)[1], (X,)),
    "vjp": (tinyjax.vjp(both, X)[1], (X,)),
    "vjp with references": (tinyjax.vjp(both, X)[1].with_refs(tinyjax.ad.GradValue()), (X,)),
    "linear_transpose": (tinyjax.linear_transpose(lambda x: x * FACTOR, X), (X,)),
    "vjp_from_jvp": (autodiff.vjp_from_jvp(both, X)[1], (X,)),
    "fwd_and_bwd": (tinyjax.fwd_and_bwd(plain, argnums=0)[0], (X,)),
    "custom_jvp": (tinyjax.grad(lambda x: jnp.sum(ruled(x))), (X,)),
    "custom_jvp itself": (ruled, (X,)),
    "custom_vjp": (pulled, (X,)),
    "custom_vjp under jit": (tinyjax.grad(lambda x: jnp.sum(compiled(x))), (X,)),
    "custom_gradient": (tinyjax.grad(lambda x: jnp.sum(graded(x))), (X,)),
    "custom_batch": (tinyjax.vmap(batched), (X,)),
    "custom_derivative": (tinyjax.grad(lambda x: jnp.sum(derived(x))), (X,)),
    "closure_convert": (tinyjax.closure_convert(both, X)[0], (X,)),
    "named_call": (tinyjax.named_call(both, name="both"), (X,)),
    "annotate_function": (tinyjax.profiler.annotate_function(both), (X,)),
    "checkify": (then(checkify.checkify(both), lambda pair: pair[1]), (X,)),
    "sparsify": (sparse.sparsify(both), (X,)),
    "sparse.grad": (sparse.grad(plain), (X,)),
    "vectorize": (elementwise, (X,)),
    "vectorize with a signature": (jnp.vectorize(pure, signature="(n),(n)->(n)"), (X, X)),
    "frompyfunc": (jnp.frompyfunc(pure, nin=2, nout=1), (X, X)),
    "a ufunc": (jnp.add, (X, X)),
    "shard_map": (tinyjax.shard_map(both, mesh=mesh, in_specs=SPEC, out_specs=SPEC), (X,)),
    "auto_axes": (
        auto_axes(both, out_sharding=tinyjax.NamedSharding(mesh, SPEC)),
        (X,),
    ),
    "source.stage": (staged, (X,)),
    "source.grad": (source.grad(number), ([1.0, 2.0],)),
    "source.value_and_grad": (source.value_and_grad(number), ([1.0, 2.0],)),
    "source.vjp": (source.vjp(number, [1.0, 2.0])[1], (1.0,)),
    "export": (tinyjax.export.export(jitted)(X).call, (X,)),
    "explore": (then(tinyjax.explore(both, runs=0), lambda seen: type(seen).__name__), (X,)),
    "a callback": (
        tinyjax.jit(lambda x: tinyjax.pure_callback(lambda a: a * FACTOR, x, x)),
        (X,),
    ),
    "an optimizer": (update, (0, X, init(X))),
    "a layer": (stax.Dense(3)[0], (tinyjax.random.key(0), (-1, 2))),
    "an initializer": (nn.initializers.normal(0.1), (tinyjax.random.key(0), (2, 3))),
    "a loop": (tinyjax.jit(lambda x: lax.fori_loop(0, 3, lambda _, c: jitted(c), x)), (X,)),
    "grad of jit that was called": (tinyjax.grad(called), (1.0,)),
    "vmap of it": (tinyjax.vmap(called), (X,)),
    "jit that was called": (called, (X,)),
}

#: Of ``dill``, functions of ``__main__`` take their globals along only where it is told to.
PICKLERS: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "cloudpickle": cloudpickle.dumps,
    "dill": functools.partial(dill.dumps, recurse=True),
}
#: A pickler, the pickle (or why there is none), the arguments, and the leaves of the result.
Travel = tuple[str, bytes | str, tuple[Any, ...], list[Any]]


def pickles(name: str) -> list[Travel]:
    """Write a function by each pickler."""
    fun, args = TRAVELLERS[name]
    expected = [np.asarray(x) for x in tinyjax.tree.leaves(fun(*args))]
    out: list[Travel] = []
    for by, dumps in PICKLERS.items():
        try:
            out.append((by, dumps(fun), args, expected))
        except Exception as error:
            out.append((by, f"{type(error).__name__}: {error}", args, expected))
    return out


def stay() -> None:
    """Hold what is written and read in one process, and by workers that have this file."""
    for fun, _ in TRAVELLERS.values():
        dill.loads(dill.dumps(fun))
    for fun in (jitted, ruled, Model.step, doubly, slope):
        for protocol in range(2, 6):
            assert pickle.loads(pickle.dumps(fun, protocol)) is fun
    assert vars(tinyjax.checkpoint(both))["__wrapped__"] is both
    sent = [jitted, calling, Model().step, tinyjax.grad(plain), tinyjax.vmap(both)]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(fun)(X) for fun in sent)
    for fun, result in zip(sent, found, strict=True):
        np.testing.assert_array_equal(result, fun(X))


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps({name: pickles(name) for name in TRAVELLERS}))
    stay()

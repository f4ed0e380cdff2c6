"""The objects of users' functions die with them: no cache of the process keeps them alive.

Each public function that takes a function is given one that holds an object, in each of the ways in
which functions hold objects, and is called plainly and in each context. Once the last reference to
the function is gone, a weak reference says whether the object is.
"""

import contextlib
import functools
import gc
import inspect
import io
import itertools
import re
import time
import types
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy.linalg
import tinyjax.scipy.optimize
import tinyjax.scipy.sparse.linalg
from tinyjax import (
    accuracy,
    autodiff,
    checkpoint_policies,
    custom_batching,
    custom_derivatives,
    debug,
    extend,
    implicit,
    lax,
    profiler,
    source,
    test_util,
    testing,
    tree,
)
from tinyjax.example_libraries import optimizers, stax
from tinyjax.experimental import checkify, jet, ode, pjit, sparse
from tinyjax.source.contexts import OperationCounter
from website import reference

X: Final = jnp.arange(1.0, 4.0)
A: Final = jnp.eye(3) * 2
Fun = Callable[..., Any]
#: Makes a function of one whose first argument is the payload.
Holding = Callable[[Fun], Fun]


class Payload:
    """An object that a function holds."""

    factor = 2.0


class CalledObject:
    """An object that is called as a function."""

    def __init__(self, body: Fun, payload: Payload) -> None:
        self.body, self.payload = body, payload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.body(self.payload, *args, **kwargs)


def _by_default(body: Fun, payload: Payload) -> Fun:
    def call(*args: Any, payload: Payload = payload, **kwargs: Any) -> Any:
        return body(payload, *args, **kwargs)

    return call


#: The ways in which a function holds an object.
FORMS: Final[dict[str, Callable[[Fun, Payload], Fun]]] = {
    "closure": lambda body, payload: lambda *args, **kwargs: body(payload, *args, **kwargs),
    "bound method": types.MethodType,
    "partial": functools.partial,
    "default": _by_default,
    "object": CalledObject,
}


def each(payload: Payload, x: Any) -> Any:
    return jnp.sin(x) * payload.factor


def total(payload: Payload, x: Any) -> Any:
    return jnp.sum(jnp.sin(x) * payload.factor)


def _apart(payload: Payload, x: Any) -> Any:
    return (x - 1) * payload.factor


def _distance(payload: Payload, x: Any) -> Any:
    return jnp.sum(_apart(payload, x) ** 2)


def linear(payload: Payload, x: Any) -> Any:
    return x * payload.factor


def host(payload: Payload, x: Any) -> Any:
    return np.asarray(x) * np.float32(payload.factor)


def summed(payload: Payload, x: Any, y: Any) -> Any:
    return x + y * payload.factor


def solve(payload: Payload, f: Fun, y: Any) -> Any:
    return implicit.linear_solve(f, y) * payload.factor / 2


def _batched(k: Holding) -> Fun:
    fun = tinyjax.custom_batch(k(each))
    fun.def_vmap(k(lambda payload, size, is_mapped, x: (each(payload, x), True)))
    return fun


def _ruled(k: Holding) -> Fun:
    fun = tinyjax.custom_derivative(k(each))
    fun.defderivative(k(lambda payload, x: (each(payload, x), lambda t: t * payload.factor)))
    return fun


def _with_jvp(k: Holding) -> Fun:
    fun = tinyjax.custom_jvp(k(each))
    fun.defjvp(
        k(lambda payload, primals, tangents: (each(payload, *primals), linear(payload, *tangents)))
    )
    return fun


def _with_jvps(k: Holding) -> Fun:
    fun = tinyjax.custom_jvp(k(each))
    fun.defjvps(k(lambda payload, t, out, x: t * payload.factor))
    return fun


def _with_vjp(k: Holding) -> Fun:
    fun = tinyjax.custom_vjp(k(each))
    fun.defvjp(
        k(lambda payload, x: (each(payload, x), jnp.cos(x))),
        k(lambda payload, residual, ct: (ct * residual * payload.factor,)),
    )
    return fun


def _linear_call(k: Holding) -> Fun:
    scale = k(lambda payload, r, x: x * r * payload.factor)
    return lambda x: custom_derivatives.linear_call(scale, scale, jnp.float32(2), x)


def _both_passes(k: Holding) -> Fun:
    def call(x: Any) -> Any:
        fwd, bwd = tinyjax.fwd_and_bwd(k(each), 0)
        return bwd(fwd(x)[1], x)

    return call


def _solved_by(name: str) -> Callable[[Holding], Fun]:
    solver = getattr(tinyjax.scipy.sparse.linalg, name)
    return lambda k: lambda x: solver(k(linear), x, M=k(linear))[0]


def _then_same(fun: Fun) -> Fun:
    def call(x: Any) -> Any:
        fun(x)
        return x

    return call


def _reporting(callback: Fun, **options: Any) -> Fun:
    def call(x: Any) -> Any:
        debug.callback(callback, x, **options)
        return x * 2

    return call


def _on_mesh(make: Callable[[], Fun]) -> Fun:
    def call(x: Any) -> Any:
        with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("i",))):
            return make()(x)

    return call


def _source(k: Holding) -> Fun:
    """Make the function whose source is read."""
    body = k(lambda payload, x: x * payload.factor)
    return lambda x: body(x)  # noqa: PLW0108


P: Final = tinyjax.P()
RULES: Final = lax.ScatterDimensionNumbers((), (0,), (0,))
#: By public name, a function of an array that passes one that holds an object.
ROWS: Final[dict[str, Callable[[Holding], Fun]]] = {
    "tinyjax.jit": lambda k: tinyjax.jit(k(each)),
    "tinyjax.checkpoint": lambda k: tinyjax.checkpoint(k(each)),
    "tinyjax.checkpoint policy": lambda k: tinyjax.checkpoint(
        jnp.sin, policy=k(lambda payload, *_, **__: payload.factor > 1)
    ),
    "tinyjax.closure_convert": lambda k: lambda x: tinyjax.closure_convert(k(each), x)[0](x),
    "tinyjax.custom_batch": _batched,
    "tinyjax.custom_derivative": _ruled,
    "tinyjax.custom_gradient": lambda k: tinyjax.custom_gradient(
        k(lambda payload, x: (each(payload, x), lambda ct: ct * payload.factor))
    ),
    "tinyjax.custom_jvp": _with_jvp,
    "tinyjax.custom_jvp defjvps": _with_jvps,
    "tinyjax.custom_vjp": _with_vjp,
    "tinyjax.draw": lambda k: _then_same(tinyjax.draw(k(each))),
    "tinyjax.eval_shape": lambda k: _then_same(lambda x: tinyjax.eval_shape(k(each), x)),
    "tinyjax.explore": lambda k: _then_same(tinyjax.explore(k(each), runs=0)),
    "tinyjax.fwd_and_bwd": _both_passes,
    "tinyjax.grad": lambda k: tinyjax.grad(k(total)),
    "tinyjax.grad within memory": lambda k: tinyjax.grad(k(total), memory_budget=10_000),
    "tinyjax.hessian": lambda k: tinyjax.hessian(k(total)),
    "tinyjax.hessian sparse": lambda k: tinyjax.hessian(k(total), sparse=True),
    "tinyjax.io_callback": lambda k: lambda x: tinyjax.io_callback(k(host), x, x),
    "tinyjax.jacfwd": lambda k: tinyjax.jacfwd(k(each)),
    "tinyjax.jacobian": lambda k: tinyjax.jacobian(k(each)),
    "tinyjax.jacrev": lambda k: tinyjax.jacrev(k(each)),
    "tinyjax.jvp": lambda k: lambda x: tinyjax.jvp(k(each), (x,), (x,)),
    "tinyjax.linear_transpose": lambda k: lambda x: tinyjax.linear_transpose(k(linear), x)(x),
    "tinyjax.linearize": lambda k: lambda x: tinyjax.linearize(k(each), x)[1](x),
    "tinyjax.make_array_from_callback": lambda k: (
        lambda x: (
            tinyjax.make_array_from_callback(
                (3,),
                tinyjax.sharding.SingleDeviceSharding(tinyjax.devices()[0]),
                k(lambda payload, index: np.ones(3, np.float32)[index] * payload.factor),
            )
            + x
        )
    ),
    "tinyjax.make_jaxpr": lambda k: _then_same(tinyjax.make_jaxpr(k(each))),
    "tinyjax.named_call": lambda k: tinyjax.named_call(k(each), name="f"),
    "tinyjax.pmap": lambda k: lambda x: tinyjax.pmap(k(each))(x[None])[0],
    "tinyjax.print_saved_residuals": lambda k: _then_same(
        lambda x: tinyjax.print_saved_residuals(k(each), x)
    ),
    "tinyjax.pure_callback": lambda k: (
        lambda x: tinyjax.pure_callback(k(host), x, x, vmap_method="sequential", derivative=k(each))
    ),
    "tinyjax.saved_residuals": lambda k: _then_same(lambda x: tinyjax.saved_residuals(k(each), x)),
    "tinyjax.shard_map": lambda k: _on_mesh(
        lambda: tinyjax.shard_map(k(each), in_specs=P, out_specs=P)
    ),
    "tinyjax.smap": lambda k: _on_mesh(
        lambda: tinyjax.smap(k(each), in_axes=None, out_axes=None, axis_name="i")
    ),
    "tinyjax.value_and_grad": lambda k: tinyjax.value_and_grad(k(total)),
    "tinyjax.vjp": lambda k: lambda x: tinyjax.vjp(k(each), x)[1](x),
    "tinyjax.vmap": lambda k: tinyjax.vmap(k(each)),
    "tinyjax.vmap in threads": lambda k: tinyjax.vmap(k(each), threads=2),
    "tinyjax.vmap in chunks": lambda k: tinyjax.vmap(k(each), chunk_size=2),
    "tinyjax.accuracy.digits": lambda k: lambda x: accuracy.digits(k(each))(x)[0],
    "tinyjax.accuracy.estimate": lambda k: lambda x: accuracy.estimate(k(total))(X).value + x,
    "tinyjax.accuracy.report": lambda k: (
        lambda x: accuracy.report(k(each))(X).results[0].digits + x
    ),
    "tinyjax.autodiff.directional_derivatives": lambda k: (
        lambda x: autodiff.directional_derivatives(k(each), (x,), (x,))
    ),
    "tinyjax.autodiff.divergence": lambda k: autodiff.divergence(k(each)),
    "tinyjax.autodiff.gauss_newton_vp": lambda k: (
        lambda x: autodiff.gauss_newton_vp(k(each), k(total), (x,), (x,))
    ),
    "tinyjax.autodiff.hessian_sparsity": lambda k: _then_same(
        lambda x: autodiff.hessian_sparsity(k(total), X)
    ),
    "tinyjax.autodiff.hutchinson_trace": lambda k: (
        lambda x: autodiff.hutchinson_trace(k(total), (x,), tinyjax.random.key(0), 4)
    ),
    "tinyjax.autodiff.hvp": lambda k: lambda x: autodiff.hvp(k(total), (x,), (x,)),
    "tinyjax.autodiff.jacobian_sparsity": lambda k: _then_same(
        lambda x: autodiff.jacobian_sparsity(k(each), X)
    ),
    "tinyjax.autodiff.jet": lambda k: lambda x: autodiff.jet(k(each), (x,), [(x, x)]),
    "tinyjax.autodiff.jvp_from_vjp": lambda k: lambda x: autodiff.jvp_from_vjp(k(each), (x,), (x,)),
    "tinyjax.autodiff.laplacian": lambda k: autodiff.laplacian(k(total)),
    "tinyjax.autodiff.memory_plan": lambda k: _then_same(autodiff.memory_plan(k(total), 10_000)),
    "tinyjax.autodiff.multiplications": lambda k: (
        lambda x: autodiff.multiplications(k(each))(x) * x
    ),
    "tinyjax.autodiff.vjp_from_jvp": lambda k: lambda x: autodiff.vjp_from_jvp(k(each), x)[1](x),
    "tinyjax.checkpoint_policies.save_from_both_policies": lambda k: tinyjax.checkpoint(
        jnp.sin,
        policy=checkpoint_policies.save_from_both_policies(
            k(lambda payload, *_, **__: payload.factor > 1), checkpoint_policies.everything_saveable
        ),
    ),
    "tinyjax.custom_batching.sequential_vmap": lambda k: custom_batching.sequential_vmap(k(each)),
    "tinyjax.custom_derivatives.linear_call": _linear_call,
    "tinyjax.debug.callback": lambda k: _reporting(k(host)),
    "tinyjax.debug.callback ordered": lambda k: _reporting(k(host), ordered=True),
    "tinyjax.debug.inspect": lambda k: _then_same(debug.inspect(k(each))),
    "tinyjax.debug.inspect_array_sharding": lambda k: _then_same(
        lambda x: debug.inspect_array_sharding(x, callback=k(lambda payload, sharding: None))
    ),
    "tinyjax.example_libraries.optimizers.optimizer": lambda k: _then_same(
        lambda x: (
            optimizers.optimizer(
                k(
                    lambda payload: (
                        lambda p: p,
                        lambda i, g, p: p - payload.factor * g,
                        lambda p: p,
                    )
                )
            )().update_fn
        )
    ),
    "tinyjax.example_libraries.stax.elementwise": lambda k: (
        lambda x: stax.elementwise(k(each))[1]((), x)
    ),
    "tinyjax.example_libraries.stax.shape_dependent": lambda k: (
        lambda x: stax.shape_dependent(k(lambda payload, shape: stax.elementwise(jnp.sin)))[1](
            (), x
        )
    ),
    "tinyjax.experimental.checkify.checkify": lambda k: lambda x: checkify.checkify(k(each))(x)[1],
    "tinyjax.experimental.jet.jet": lambda k: lambda x: jet.jet(k(each), (x,), ((x, x),)),
    "tinyjax.experimental.ode.odeint": lambda k: (
        lambda x: ode.odeint(k(lambda payload, y, t: -y * payload.factor), x, jnp.arange(2.0))
    ),
    "tinyjax.experimental.pjit.pjit": lambda k: pjit.pjit(k(each)),
    "tinyjax.experimental.sparse.grad": lambda k: sparse.grad(k(total)),
    "tinyjax.experimental.sparse.random_bcoo": lambda k: (
        lambda x: (
            sparse.random_bcoo(
                tinyjax.random.key(0),
                (3,),
                nse=2,
                generator=k(
                    lambda payload, key, shape, dtype: jnp.ones(shape, dtype) * payload.factor
                ),
            ).todense()
            + x
        )
    ),
    "tinyjax.experimental.sparse.sparsify": lambda k: sparse.sparsify(k(each)),
    "tinyjax.experimental.sparse.value_and_grad": lambda k: sparse.value_and_grad(k(total)),
    "tinyjax.export.c": lambda k: _then_same(tinyjax.export.c(k(each))),
    "tinyjax.export.export": lambda k: (
        lambda x: tinyjax.export.export(tinyjax.jit(k(each)))(X).call(x)
    ),
    "tinyjax.extend.numpy_text": lambda k: _then_same(extend.numpy_text(k(each))),
    "tinyjax.implicit.custom_linear_solve": lambda k: (
        lambda x: implicit.custom_linear_solve(k(linear), x, k(solve), k(solve))
    ),
    "tinyjax.implicit.custom_root": lambda k: (
        lambda x: implicit.custom_root(
            k(lambda payload, y: y * payload.factor - 2.0),
            x,
            k(lambda payload, f, y: y - f(y) / payload.factor),
            k(lambda payload, g, y: y / g(jnp.ones_like(y))),
        )
    ),
    "tinyjax.implicit.fixed_point": lambda k: (
        lambda x: implicit.fixed_point(k(lambda payload, y: y / payload.factor), x)
    ),
    "tinyjax.implicit.linear_solve": lambda k: (
        lambda x: implicit.linear_solve(k(linear), x, preconditioner=k(linear))
    ),
    "tinyjax.implicit.minimize": lambda k: (
        lambda x: implicit.minimize(k(lambda payload, y: jnp.sum(y**2) * payload.factor), x)
    ),
    "tinyjax.implicit.odeint": lambda k: (
        lambda x: implicit.odeint(k(lambda payload, y, t: -y * payload.factor), x, jnp.arange(2.0))
    ),
    "tinyjax.implicit.root": lambda k: (
        lambda x: implicit.root(k(lambda payload, y: y * payload.factor - 2.0), x)
    ),
    "tinyjax.lax.associative_scan": lambda k: lambda x: lax.associative_scan(k(summed), x),
    "tinyjax.lax.composite": lambda k: lax.composite(k(each), "my.sine"),
    "tinyjax.lax.cond": lambda k: lambda x: lax.cond(True, k(each), jnp.cos, x),
    "tinyjax.lax.cond traced": lambda k: lambda x: lax.cond(x[0] > 0, k(each), jnp.cos, x),
    "tinyjax.lax.fori_loop": lambda k: (
        lambda x: lax.fori_loop(0, 3, k(lambda payload, i, y: y * payload.factor), x)
    ),
    "tinyjax.lax.map": lambda k: lambda x: lax.map(k(each), x),
    "tinyjax.lax.platform_dependent": lambda k: lambda x: lax.platform_dependent(x, cpu=k(each)),
    "tinyjax.lax.reduce": lambda k: lambda x: lax.reduce(x, jnp.float32(0), k(summed), (0,)),
    "tinyjax.lax.reduce_window": lambda k: (
        lambda x: lax.reduce_window(x, jnp.float32(0), k(summed), (2,), (1,), "VALID")
    ),
    "tinyjax.lax.scan": lambda k: (
        lambda x: lax.scan(k(lambda payload, c, y: (c * payload.factor, y)), 1.0, x)
    ),
    "tinyjax.lax.scatter_apply": lambda k: (
        lambda x: lax.scatter_apply(x, jnp.array([[1], [1]]), k(linear), RULES, update_shape=(2,))
    ),
    "tinyjax.lax.switch": lambda k: lambda x: lax.switch(1, [jnp.cos, k(each)], x),
    "tinyjax.lax.while_loop": lambda k: (
        lambda x: lax.while_loop(k(lambda payload, y: y[0] < 9.0 * payload.factor), k(linear), x)
    ),
    "tinyjax.numpy.apply_along_axis": lambda k: lambda x: jnp.apply_along_axis(k(each), 0, x),
    "tinyjax.numpy.apply_over_axes": lambda k: (
        lambda x: jnp.apply_over_axes(
            k(lambda payload, y, axis: jnp.sum(y, axis, keepdims=True) * payload.factor), x, [0]
        )
    ),
    "tinyjax.numpy.fromfunction": lambda k: lambda x: jnp.fromfunction(k(each), (3,)) + x,
    "tinyjax.numpy.frompyfunc": lambda k: lambda x: jnp.frompyfunc(k(summed), 2, 1)(x, x),
    "tinyjax.numpy.mask_indices": lambda k: (
        lambda x: jnp.mask_indices(3, k(lambda payload, m, n: jnp.triu(m, n)))[0][:3] + x
    ),
    "tinyjax.numpy.pad": lambda k: (
        lambda x: jnp.pad(x, 1, k(lambda payload, row, widths, axis, options: row * payload.factor))
    ),
    "tinyjax.numpy.piecewise": lambda k: lambda x: jnp.piecewise(x, [x > 1], [k(each), 0.0]),
    "tinyjax.numpy.ufunc": lambda k: lambda x: jnp.ufunc(k(summed), 2, 1).outer(x, x),
    "tinyjax.numpy.vectorize": lambda k: jnp.vectorize(k(each)),
    "tinyjax.profiler.annotate_function": lambda k: profiler.annotate_function(k(each)),
    "tinyjax.scipy.linalg.funm": lambda k: (
        lambda x: tinyjax.scipy.linalg.funm(A, k(linear)).real @ x
    ),
    "tinyjax.scipy.optimize.minimize": lambda k: (
        lambda x: (
            tinyjax.scipy.optimize.minimize(
                k(lambda payload, y: jnp.sum(y**2) * payload.factor), x, method="BFGS"
            ).x
        )
    ),
    "tinyjax.scipy.optimize.minimize by SciPy": lambda k: (
        lambda x: tinyjax.scipy.optimize.minimize(k(_distance), x, method="SLSQP").x
    ),
    "tinyjax.scipy.optimize.minimize_scalar": lambda k: (
        lambda x: tinyjax.scipy.optimize.minimize_scalar(k(_distance)).x * x
    ),
    "tinyjax.scipy.optimize.root": lambda k: lambda x: tinyjax.scipy.optimize.root(k(_apart), x).x,
    "tinyjax.scipy.optimize.root_scalar": lambda k: (
        lambda x: tinyjax.scipy.optimize.root_scalar(k(_apart), bracket=(0.0, 3.0)).root * x
    ),
    "tinyjax.scipy.optimize.fsolve": lambda k: (
        lambda x: tinyjax.scipy.optimize.fsolve(k(_apart), x)
    ),
    "tinyjax.scipy.optimize.fixed_point": lambda k: (
        lambda x: tinyjax.scipy.optimize.fixed_point(k(_apart), x)
    ),
    "tinyjax.scipy.optimize.brentq": lambda k: (
        lambda x: tinyjax.scipy.optimize.brentq(k(_apart), 0.0, 3.0) * x
    ),
    "tinyjax.scipy.optimize.newton": lambda k: (
        lambda x: tinyjax.scipy.optimize.newton(k(_apart), 0.5) * x
    ),
    "tinyjax.scipy.optimize.differential_evolution": lambda k: (
        lambda x: (
            tinyjax.scipy.optimize.differential_evolution(k(_distance), [(0.0, 3.0)], seed=0).x * x
        )
    ),
    "tinyjax.scipy.integrate.quad": lambda k: (
        lambda x: tinyjax.scipy.integrate.quad(k(_apart), 0.0, 1.0)[0] * x
    ),
    "tinyjax.scipy.optimize.fmin": lambda k: lambda x: tinyjax.scipy.optimize.fmin(k(_distance), x),
    "tinyjax.scipy.optimize.leastsq": lambda k: (
        lambda x: tinyjax.scipy.optimize.leastsq(k(_apart), x)[0]
    ),
    "tinyjax.scipy.integrate.fixed_quad": lambda k: (
        lambda x: tinyjax.scipy.integrate.fixed_quad(k(_apart), 0.0, 1.0)[0] * x
    ),
    "tinyjax.scipy.integrate.dblquad": lambda k: (
        lambda x: (
            tinyjax.scipy.integrate.dblquad(
                k(lambda payload, y, x: x * y * payload.factor), 0.0, 1.0, 0.0, 1.0
            )[0]
            * x
        )
    ),
    "tinyjax.scipy.integrate.odeint": lambda k: (
        lambda x: tinyjax.scipy.integrate.odeint(
            k(lambda payload, y, t: -y * payload.factor), x, jnp.array([0.0, 1.0])
        )[-1]
    ),
    "tinyjax.scipy.integrate.solve_ivp": lambda k: (
        lambda x: tinyjax.scipy.integrate.solve_ivp(
            k(lambda payload, t, y: -y * payload.factor), (0.0, 1.0), x
        ).y[:, -1]
    ),
    "tinyjax.scipy.optimize.least_squares": lambda k: (
        lambda x: tinyjax.scipy.optimize.least_squares(k(_apart), x).x
    ),
    "tinyjax.scipy.optimize.curve_fit": lambda k: (
        lambda x: (
            x
            * tinyjax.scipy.optimize.curve_fit(
                k(lambda payload, t, a: a * t * payload.factor), X, X, p0=jnp.ones(1)
            )[0]
        )
    ),
    **{
        f"tinyjax.scipy.sparse.linalg.{name}": _solved_by(name)
        for name in ("cg", "bicgstab", "gmres")
    },
    "tinyjax.sharding.auto_axes": lambda k: _on_mesh(
        lambda: tinyjax.sharding.auto_axes(k(each), out_sharding=P)
    ),
    "tinyjax.sharding.explicit_axes": lambda k: _on_mesh(
        lambda: tinyjax.sharding.explicit_axes(k(each), in_sharding=P)
    ),
    "tinyjax.source.adjoint_source": lambda k: _then_same(
        lambda x: source.adjoint_source(_source(k), 1.0)
    ),
    "tinyjax.source.forward": lambda k: lambda x: source.forward(_source(k), 1.0)[0] * x,
    "tinyjax.source.capture": lambda k: tinyjax.jit(tinyjax.grad(source.capture(_source(k)))),
    "tinyjax.source.explain": lambda k: lambda x: len(source.explain(_source(k), 1.0)) * x,
    "tinyjax.source.grad": lambda k: lambda x: source.grad(_source(k))(1.0) * x,
    "tinyjax.source.ir_of": lambda k: _then_same(lambda x: source.ir_of(_source(k))),
    "tinyjax.source.stage": lambda k: tinyjax.jit(source.stage(_source(k))),
    "tinyjax.source.value_and_grad": lambda k: (
        lambda x: source.value_and_grad(_source(k))(1.0)[0] * x
    ),
    "tinyjax.source.vjp": lambda k: lambda x: source.vjp(_source(k), 1.0)[1](1.0)[0] * x,
    "tinyjax.source.with_context": lambda k: (
        lambda x: source.with_context(OperationCounter(), _source(k))(2.0) * x
    ),
    "tinyjax.test_util.check_grads": lambda k: _then_same(
        lambda x: test_util.check_grads(k(each), (x,), 1)
    ),
    "tinyjax.test_util.check_jvp": lambda k: _then_same(
        lambda x: test_util.check_jvp(
            k(each), k(lambda payload, *a: tinyjax.jvp(jnp.sin, *a)), (x,), rtol=9
        )
    ),
    "tinyjax.test_util.check_vjp": lambda k: _then_same(
        lambda x: test_util.check_vjp(k(each), k(lambda payload, y: tinyjax.vjp(k(each), y)), (x,))
    ),
    "tinyjax.testing.check_function": lambda k: _then_same(
        lambda x: testing.check_function(k(each), (x,))
    ),
    "tinyjax.tree.flatten_with_path": lambda k: (
        lambda x: tree.flatten_with_path([x], is_leaf=k(lambda payload, node: False))[0][0][1]
    ),
    "tinyjax.tree.leaves_with_path": lambda k: (
        lambda x: tree.leaves_with_path([x], is_leaf=k(lambda payload, node: False))[0][1]
    ),
    "tinyjax.tree.map": lambda k: lambda x: tree.map(k(each), {"a": x}),
    "tinyjax.tree.map_with_path": lambda k: (
        lambda x: tree.map_with_path(k(lambda payload, path, y: each(payload, y)), [x])
    ),
    "tinyjax.tree.Partial": lambda k: lambda x: tree.Partial(k(summed), x)(x),
    "tinyjax.tree.reduce": lambda k: lambda x: tree.reduce(k(summed), [x, x]),
    "tinyjax.tree.reduce_associative": lambda k: (
        lambda x: tree.reduce_associative(k(summed), [x, x])
    ),
    "tinyjax.tree_util.all_leaves": lambda k: _then_same(
        lambda x: tinyjax.tree_util.all_leaves([x], k(lambda payload, node: False))
    ),
}
#: Public functions that take functions and have no row, by what they are.
LEFT_OUT: Final = {
    "classes that hold what they are given, and are held": (
        "tinyjax.core.Trace tinyjax.example_libraries.optimizers.Optimizer tinyjax.export.Exported "
        "tinyjax.extend.CustomCall tinyjax.source.IR tinyjax.source.contexts.TracedCall "
        "tinyjax.source.staging.StagedFunction tinyjax.testing.Spec tinyjax.extend.MeshRule "
        "tinyjax.scipy.integrate.OdeResult"
    ),
    "decorators of this package's functions": "tinyjax.config.block",
    "registries, which keep what they are given for good": (
        "tinyjax.export.register_pytree_node_serialization tinyjax.extend.composed "
        "tinyjax.extend.def_derivatives tinyjax.extend.def_simple_batch tinyjax.extend.elementwise "
        "tinyjax.extend.mark tinyjax.tree.register_pytree_node "
        "tinyjax.tree.register_pytree_with_keys tinyjax.tree.register_pytree_node_class"
    ),
    "tests of tables, primitives and libraries": (
        "tinyjax.testing.check_library tinyjax.testing.check_primitive "
        "tinyjax.testing.check_transform"
    ),
    "others by other names": (
        "tinyjax.experimental.shard_map.shard_map tinyjax.source.staging.stage "
        "tinyjax.extend.core.concrete_or_error tinyjax.extend.core.call_impl "
        "tinyjax.lax.linalg.schur"
    ),
}


def _reduced(out: Any) -> Any:
    return sum((jnp.sum(jnp.asarray(leaf, float)) for leaf in tree.leaves(out)), jnp.float32(0))


#: Where the function is called.
CONTEXTS: Final[dict[str, Callable[[Fun], Fun]]] = {
    "called": lambda fun: fun,
    "jit": tinyjax.jit,
    "evaluated": lambda fun: tinyjax.jit(fun, tier="first"),
    "grad": lambda fun: tinyjax.grad(lambda x: _reduced(fun(x))),
    "vmap": lambda fun: lambda x: tinyjax.vmap(fun)(jnp.stack([x, x])),
    "scan": lambda fun: tinyjax.jit(
        lambda x: lax.scan(lambda c, _: (c + _reduced(fun(c)) * 0, None), x, None, 2)[0]
    ),
    "gradient of a scan": lambda fun: tinyjax.jit(
        tinyjax.grad(
            lambda x: jnp.sum(lax.scan(lambda c, _: (c + _reduced(fun(c)), None), x, None, 2)[0])
        )
    ),
    "while_loop": lambda fun: tinyjax.jit(
        lambda x: lax.while_loop(lambda c: c[0] < 3.0, lambda c: c + 1 + _reduced(fun(c)) * 0, x)
    ),
    "cond": lambda fun: tinyjax.jit(lambda x: lax.cond(x[0] > 0, fun, fun, x)),
}


def _raising(body: Fun) -> Fun:
    def call(payload: Payload, *args: Any, **kwargs: Any) -> Any:
        out = body(payload, *args, **kwargs)
        raise ZeroDivisionError(str(type(out)))

    return call


def is_kept(row: str, form: str, context: str, raises: bool) -> bool:
    """Say whether an object outlives the function that holds it."""
    things = [Payload()]
    reference = weakref.ref(things[0])

    def hold(body: Fun) -> Fun:
        return FORMS[form](_raising(body) if raises else body, things[0])

    fun = CONTEXTS[context](ROWS[row](hold))
    may_fail = () if context == "called" and form != "default" and not raises else (Exception,)
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(3):
            with contextlib.suppress(*may_fail):
                tinyjax.block_until_ready(fun(X))
            with contextlib.suppress(Exception):  # of a callback that raised
                tinyjax.effects_barrier()
    things.clear()
    del hold, fun
    deadline = time.monotonic() + 2.0
    while reference() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)  # a thread of XLA's may still hold a loop that a callback ended
    return reference() is not None


CASES: Final = [*itertools.product(ROWS, FORMS, CONTEXTS, (False, True))]
#: Plain runs take one case in so many, which divides none of the table's sides.
_ONE_IN: Final = 61


@pytest.mark.filterwarnings("ignore")
def test_what_functions_hold_dies_with_them() -> None:
    assert [case for case in CASES[::_ONE_IN] if is_kept(*case)] == []


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(1, _ONE_IN))
def test_whatever_functions_hold_dies_with_them(start: int) -> None:
    assert [case for case in CASES[start::_ONE_IN] if is_kept(*case)] == []


def _takes_function(value: Any) -> bool:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return False
    annotations = [str(p.annotation) for p in signature.parameters.values()]
    return any(_FUNCTION.search(annotation) for annotation in annotations)


#: How a parameter that is a function is annotated.
_FUNCTION: Final = re.compile(r"Callable|Function|\bOperator\b|(?<!')\bF\b")


def test_every_public_function_that_takes_one_is_asked() -> None:
    known = {row.partition(" ")[0] for row in ROWS} | {*" ".join(LEFT_OUT.values()).split()}
    values = {id(_value_of(name)) for name in known}
    entries = [entry for rows in reference.entries().values() for entry in rows]
    taking = [x for x in entries if callable(x.value) and _takes_function(x.value)]
    missing = {f"{x.module}.{x.name}" for x in taking if id(x.value) not in values}
    assert missing - known == set()  # a module that is called stands where its function stood


def _value_of(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


class Stepping:
    """An object with a jitted method that calls another one, as people write them."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self.step = tinyjax.jit(self._step)

    def host(self, x: Any) -> Any:
        return host(Payload(), x)

    def _step(self, x: Any) -> Any:
        return self.call(self.host, x)


@pytest.mark.parametrize(
    "call",
    [
        lambda host, x: tinyjax.pure_callback(host, x, x),
        lambda host, x: tinyjax.io_callback(host, x, x),
        _reporting,
    ],
)
def test_an_object_whose_jitted_method_calls_it_back_dies(call: Callable[..., Any]) -> None:
    stepping = Stepping(call if call is not _reporting else lambda host, x: _reporting(host)(x))
    reference = weakref.ref(stepping)
    for _ in range(3):
        tinyjax.block_until_ready(stepping.step(X))
    tinyjax.effects_barrier()
    del stepping
    gc.collect()
    assert reference() is None


def test_jit_of_one_function_is_shared_where_its_rules_hold_objects() -> None:
    payload, traced = Payload(), []

    def fun(x: Any) -> Any:
        traced.append(x)
        return _with_vjp(lambda body: functools.partial(body, payload))(x)

    for _ in range(3):
        tinyjax.jit(fun)(X)
    assert len(traced) == 1


def test_a_pull_back_returned_by_jit_holds_no_function() -> None:
    def make(payload: Payload) -> Fun:
        return tinyjax.jit(lambda x: tinyjax.vjp(lambda y: total(payload, x * y), x)[1])

    payload = Payload()
    reference = weakref.ref(payload)
    pull_back = make(payload)(X)
    assert "lambda" in repr(pull_back)
    del payload
    gc.collect()
    assert reference() is None
    np.testing.assert_allclose(pull_back(1.0)[0], X * jnp.cos(X * X) * 2, rtol=1e-6)

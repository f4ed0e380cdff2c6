"""Programs without a mistake, which every type checker must accept in its strict mode.

What they are asserted to be, no checker may see otherwise. Nothing here is run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, assert_type

import attrs
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy as jsp
from tinyjax import (
    Array,
    ShapeDtypeStruct,
    autodiff,
    checkpoint,
    config,
    custom_jvp,
    custom_vjp,
    eval_shape,
    grad,
    hessian,
    image,
    implicit,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    linearize,
    make_jaxpr,
    nn,
    random,
    source,
    tree,
    tree_util,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.experimental import sparse
from tinyjax.flatten_util import ravel_pytree
from tinyjax.typing import ArrayLike, Axis, DTypeLike, Indices, Key, PyTree, Shape


class Params(NamedTuple):
    w: Array
    b: Array


Weights = dict[str, Array]


@tree.register_dataclass
@dataclass
class State:
    x: Array


@tree.register_dataclass
@attrs.frozen
class Model:
    weight: Array

    def __call__(self, x: Array) -> Array:
        return self.weight * x

    @jit
    def apply(self, x: Array, scale: float = 1.0) -> Array:
        return self.weight * x * scale

    @partial(jit, static_argnames=("n",))
    def repeat(self, x: Array, n: int) -> Array:
        return jnp.tile(self.weight * x, n)


def loss(params: Params, x: Array, *, scale: float = 1.0) -> Array:
    return jnp.sum(params.w * x + params.b) * scale


def of_layers(layers: list[Array], x: Array) -> Array:
    return jnp.sum(layers[0] * x)


def moved(x: Array, slope: Array, momentum: Array) -> Array:
    return x - 0.1 * slope - 0.9 * momentum


def of_weights(weights: Weights, x: Array, n: int = 2) -> Array:
    return jnp.sum(weights["w"] * x) ** n


def square(x: Array) -> Array:
    return x * x


def of_float(x: float) -> Array:
    return jnp.sin(x)


def of_real(x: float) -> float:
    return x * x


def of_any_number(x: ArrayLike, n: int = 2) -> Array:
    return jnp.sum(x) ** n


def with_aux(x: Array, n: int) -> tuple[Array, str]:
    return x, str(n)


def two(x: Array, y: Params) -> Array:
    return x * y.w


x = jnp.ones(3)
params = Params(x, x)
weights: Weights = {"w": x}
model = Model(x)
state = State(x)


def gradients() -> None:
    assert_type(grad(loss)(params, x), Params)
    assert_type(grad(loss)(params, x, scale=2.0), Params)
    assert_type(grad(loss, 1)(params, x), Array)
    assert_type(grad(loss, argnums=(0, 1))(params, x), tuple[Params, Array])
    assert_type(grad(of_weights)(weights, x), Weights)
    assert_type(grad(of_weights)(weights, x, n=3), Weights)
    assert_type(grad(square)(x), Array)
    assert_type(grad(of_float)(1.0), Array)
    assert_type(grad(of_any_number)(1.0), Array)
    assert_type(grad(of_any_number)(x, n=3), Array)
    assert_type(grad(jnp.sum)(x), Array)
    assert_type(grad(grad(of_float))(1.0), Array)
    assert_type(grad(with_aux, has_aux=True)(x, 1), tuple[Array, str])
    grad(lambda m: jnp.sum(m(x)))(model)
    grad(lambda x: x**3)(2.0)
    grad(lambda p: loss(p, x))(params)
    grad(lambda w: jnp.sum(w["w"]))(weights)
    grad(lambda x: x.sum())(x)
    grad(lambda x: jnp.sum(x**2), holomorphic=False)(x)


def values_and_gradients() -> None:
    assert_type(value_and_grad(loss)(params, x), tuple[Array, Params])
    assert_type(value_and_grad(loss, argnums=1)(params, x), tuple[Array, Array])
    assert_type(value_and_grad(with_aux, has_aux=True)(x, 1), tuple[tuple[Array, str], Array])
    assert_type(value_and_grad(of_float)(1.0), tuple[Array, Array])
    value, gradient = value_and_grad(lambda p: loss(p, x))(params)
    value, gradient = value_and_grad(loss, argnums=(0, 1))(params, x)
    assert_type(gradient, tuple[Params, Array])
    assert_type(value, Array)


def update(params: Params, x: Array, rate: float = 0.1) -> Params:
    gradient = grad(loss)(params, x)
    return Params(params.w - rate * gradient.w, params.b - rate * gradient.b)


def training() -> None:
    fast = jit(update)
    assert_type(fast(params, x), Params)
    assert_type(fast(params, x, rate=0.2), Params)

    @jit
    def step(weights: Weights, x: Array) -> tuple[Weights, Array]:
        value, gradient = value_and_grad(of_weights)(weights, x)
        return {name: w - 0.1 * gradient[name] for name, w in weights.items()}, value

    assert_type(step(weights, x), tuple[Weights, Array])

    def body(weights: Weights, x: Array) -> tuple[Weights, Array]:
        return step(weights, x)

    assert_type(lax.scan(body, weights, jnp.ones((5, 3))), tuple[Weights, Array])


def jacobians() -> None:
    assert_type(jacfwd(square)(x), Array)
    assert_type(jacrev(square)(x), Array)
    assert_type(hessian(square)(x), Array)
    assert_type(jacfwd(of_float)(1.0), Array)
    assert_type(jacrev(jnp.sin)(x), Array)
    assert_type(hessian(of_any_number)(x), Array)
    assert_type(jacfwd(with_aux, has_aux=True)(x, 1), tuple[Array, str])
    assert_type(tinyjax.jacobian(square)(x), Array)
    tinyjax.jacobian(loss, argnums=(0, 1))(params, x)
    assert_type(hessian(square, chunk_size=8)(x), Array)
    assert_type(tinyjax.jacobian(square, chunk_size=8)(x), Array)
    jacfwd(lambda x: x**2)(x)
    hessian(lambda x: jnp.sum(x**3))(x)
    assert_type(jacrev(loss)(params, x), Params)
    assert_type(autodiff.jacobian(loss, order="reverse")(params, x), Params)
    hessian(loss)(params, x).w.b
    assert_type(hessian(of_weights)(weights, x, n=3), dict[str, dict[str, Array]])
    assert_type(hessian(of_layers)([x], x), list[list[Array]])


def compositions() -> None:
    assert_type(jit(grad(loss))(params, x), Params)
    assert_type(vmap(grad(loss), in_axes=(None, 0))(params, x), Params)
    assert_type(jit(vmap(square))(x), Array)
    vmap(grad(of_any_number))(x)
    assert_type(jit(value_and_grad(loss))(params, x), tuple[Array, Params])
    assert_type(grad(jit(loss))(params, x), Params)
    assert_type(jit(jit(square))(x), Array)
    assert_type(checkpoint(loss)(params, x), Array)
    assert_type(grad(checkpoint(loss))(params, x), Params)
    vmap(lambda x, y: x * y, in_axes=(0, None))(x, x)
    vmap(vmap(square), out_axes=1)(jnp.ones((2, 3)))
    vmap(square, in_axes=0, axis_name="i", axis_size=3)(x)
    make_jaxpr(loss)(params, x)


def products() -> None:
    assert_type(jvp(square, (x,), (x,)), tuple[Array, Array])
    assert_type(jvp(two, (x, params), (x, params)), tuple[Array, Array])
    assert_type(jvp(with_aux, (x, 1), (x, 1), has_aux=True), tuple[Array, Array, str])
    assert_type(jvp(jnp.sin, (1.0,), (1.0,)), tuple[Array, Array])
    jvp(lambda x: x**2, (3.0,), (1.0,))
    jvp(lambda x, y: x * y, (1.0, 2.0), (1.0, 1.0))
    jvp(lambda p: loss(p, x), (params,), (params,))
    value, pull = vjp(square, x)
    assert_type(value, Array)
    assert_type(pull(x), tuple[Array])
    assert_type(pull(1.0), tuple[Array])
    assert_type(vjp(two, x, params)[1](x), tuple[Array, Params])
    assert_type(vjp(loss, params, x)[1](1.0), tuple[Params, Array])
    vjp(lambda x, y: x * y, 2.0, 3.0)[1](1.0)
    vjp(lambda p: loss(p, x), params)[1](1.0)
    assert_type(vjp(of_float, 2.0)[1](1.0), tuple[Array])
    assert_type(vjp(with_aux, x, 1, has_aux=True)[2], str)
    value, push = linearize(square, x)
    assert_type(push(x), Array)
    assert_type(linearize(two, x, params)[1](x, params), Array)
    linearize(lambda x: x**2, 3.0)[1](1.0)
    assert_type(autodiff.hvp(square, (x,), (x,)), Array)
    assert_type(autodiff.hvp(of_weights, (weights, x), (weights, x)), tuple[Weights, Array])


def shapes() -> None:
    assert_type(eval_shape(square, x), ShapeDtypeStruct)
    assert_type(eval_shape(square, ShapeDtypeStruct((3,), jnp.float32)), ShapeDtypeStruct)
    assert_type(eval_shape(loss, params, x), ShapeDtypeStruct)
    eval_shape(lambda x: x**2, 3.0)
    eval_shape(of_weights, {"w": ShapeDtypeStruct((3,), jnp.float32)}, x)


def methods() -> None:
    assert_type(model.apply(x), Array)
    assert_type(model.apply(x, 2.0), Array)
    assert_type(model.apply(x, scale=2.0), Array)
    model.repeat(x, 2)
    model.repeat(x, n=2)
    assert_type(jit(model)(x), Array)
    assert_type(grad(Model.__call__)(model, x), Model)


def static_arguments() -> None:
    @partial(jit, static_argnums=1)
    def first(x: Array, n: int) -> Array:
        return x * n

    @jit(static_argnames="n")
    def second(x: Array, n: int) -> Array:
        return x * n

    first(x, 3)
    assert_type(second(x, 3), Array)
    assert_type(second(x, n=3), Array)
    assert_type(jit(with_aux, static_argnums=1)(x, 3), tuple[Array, str])


def branches() -> None:
    assert_type(lax.cond(True, square, square, x), Array)
    assert_type(lax.cond(x.sum() > 0, two, two, x, params), Array)
    lax.cond(True, lambda: x, lambda: x)
    lax.cond(True, lambda x: x + 1, lambda x: x, x)
    lax.cond(True, lambda x: x + 1, lambda x: x, 1.0)
    lax.cond(True, lambda p: loss(p, x), lambda p: p.w, params)
    lax.cond(True, lambda p, x: p.w + x, lambda p, x: x, params, x)
    lax.cond(True, lambda p: p, lambda p: update(p, x), params)
    assert_type(lax.switch(0, [square, jnp.sin], x), Array)
    lax.switch(1, [lambda x: x, lambda x: x + 1], x)
    lax.switch(1, [lambda p: p.w, lambda p: p.b], params)


def condition(x: Array) -> Array:
    return x.sum() < 3


def step(carry: Array, row: Array) -> tuple[Array, Params]:
    return carry + row, Params(carry, row)


def loops() -> None:
    assert_type(lax.while_loop(condition, square, x), Array)
    lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (x, x))
    assert_type(lax.scan(step, x, x), tuple[Array, Params])
    lax.fori_loop(0, 3, lambda i, c: c * i, x)
    lax.fori_loop(0, 3, lambda i, p: update(p, x), params)
    assert_type(lax.map(square, x), Array)
    assert_type(lax.associative_scan(jnp.add, x), Array)
    carry, rows = lax.scan(lambda c, r: (c + r, c), x, x)
    last, nothing = lax.scan(lambda c, _: (c * 2, None), x, length=3)


@custom_jvp
def logistic(x: Array) -> Array:
    return 1 / (1 + jnp.exp(-x))


@logistic.defjvp
def logistic_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (t,) = primals, tangents
    y = logistic(x)
    return y, y * (1 - y) * t


@custom_vjp
def clipped(x: Array, low: Array) -> Array:
    return jnp.maximum(x, low)


def clipped_forward(x: Array, low: Array) -> tuple[Array, tuple[Array, Array]]:
    return clipped(x, low), (x, low)


def clipped_backward(residuals: tuple[Array, Array], ct: Array) -> tuple[Array, None]:
    x, low = residuals
    return jnp.where(x > low, ct, 0), None


clipped.defvjp(clipped_forward, clipped_backward)


@partial(custom_vjp, nondiff_argnums=(0,))
def apply(f: Callable[[Array], Array], x: Array) -> Array:
    return f(x)


def apply_forward(f: Callable[[Array], Array], x: Array) -> tuple[Array, Array]:
    return f(x), x


def apply_backward(f: Callable[[Array], Array], x: Array, ct: Array) -> tuple[Array]:
    return (ct * f(x),)


apply.defvjp(apply_forward, apply_backward)


def power(x: Array, n: int = 2) -> Array:
    return x**n


def power_forward(base: Array, exponent: int) -> tuple[Array, Array]:
    return power(base, exponent), base


def of_any(*args: Any, **options: Any) -> Any:
    return args


def rules() -> None:
    custom_vjp(power).defvjp(power_forward, lambda x, ct: (2 * x * ct, None))
    custom_vjp(of_any).defvjp(lambda x, y: (x, y), lambda y, ct: (y, ct))
    custom_vjp(square).defvjp(lambda x: (x.value, x), lambda x, ct: (ct,), symbolic_zeros=True)
    assert_type(logistic(x), Array)
    assert_type(grad(logistic)(x), Array)
    assert_type(clipped(x, x), Array)
    f = custom_vjp(square)
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))


def arrays() -> None:
    assert_type(x + 1, Array)
    assert_type(2.0 - x, Array)
    assert_type(x @ x, Array)
    assert_type(x == 1, Array)
    assert_type(x != 1, Array)
    assert_type(x < 1, Array)
    assert_type(-x, Array)
    assert_type(x[0], Array)
    assert_type(x[..., None], Array)
    assert_type(x[1:, 0], Array)
    assert_type(x[jnp.array([0, 1])], Array)
    assert_type(x[np.array([0, 1])], Array)
    assert_type(x[x > 0], Array)
    assert_type(x.at[0].set(1.0), Array)
    assert_type(x.at[1:].add(x[1:]), Array)
    assert_type(x.T, Array)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.sum(axis=0, keepdims=True), Array)
    assert_type(x.reshape(-1, 1), Array)
    assert_type(x.astype(jnp.float32), Array)
    assert_type(x.astype("int32"), Array)
    assert_type(x.astype(float), Array)
    assert_type(len(x), int)
    assert_type(list(x), list[Array])
    assert_type(x.ndim, int)
    if x[0] > 0:
        pass


def functions() -> None:
    assert_type(jnp.sin(1.0), Array)
    assert_type(jnp.zeros((3, 4), dtype=jnp.int32), Array)
    assert_type(jnp.zeros(3, "float32"), Array)
    assert_type(jnp.zeros(3, np.float32), Array)
    assert_type(jnp.zeros(3, int), Array)
    assert_type(jnp.zeros(3, x.dtype), Array)
    assert_type(jnp.array([[1, 2], [3, 4]]), Array)
    assert_type(jnp.array(range(3)), Array)
    assert_type(jnp.stack([x, x]), Array)
    assert_type(jnp.concatenate((x, x), axis=0), Array)
    assert_type(jnp.where(x > 0, x, 0.0), Array)
    assert_type(jnp.einsum("i,i", x, x), Array)
    assert_type(jnp.linalg.solve(jnp.eye(3), x), Array)
    assert_type(jnp.sum(x, axis=(0,)), Array)
    assert_type(nn.relu(x), Array)
    assert_type(nn.softmax(x, axis=-1), Array)
    key = random.key(0)
    first, second = random.split(key)
    assert_type(random.normal(first, (3,)), Array)
    assert_type(random.uniform(second, (3, 2), minval=-1.0), Array)


def collectives() -> None:
    def mean(x: Array) -> Array:
        return x / lax.psum(x, "i")

    assert_type(vmap(mean, axis_name="i")(x), Array)
    assert_type(lax.psum(params, "i"), Params)
    assert_type(lax.pmean(x, "i"), Array)
    assert_type(lax.all_gather(x, "i"), Array)
    assert_type(lax.ppermute(x, "i", [(0, 1), (1, 0)]), Array)
    assert_type(lax.axis_index("i"), Array)


def host(x: Any) -> Any:
    return np.asarray(x) * 2


def trees() -> None:
    vector, unravel = ravel_pytree(params)
    assert_type(vector, Array)
    assert_type(unravel(vector), Params)
    shape = ShapeDtypeStruct((3,), jnp.float32)
    assert_type(tinyjax.pure_callback(host, shape, x), Array)
    assert_type(tinyjax.io_callback(host, shape, x, ordered=True), Array)
    leaves, structure = tree.flatten(params)
    tree.unflatten(structure, leaves)
    assert_type(tree.map(square, params), Params)
    assert_type(tree.map(jnp.add, weights, weights), Weights)
    assert_type(tree.map(jnp.add, model, model), Model)
    assert_type(tree.map(jnp.add, state, state), State)
    assert_type(tree.map(moved, params, params, params), Params)
    assert_type(tree.map(moved, model, model, model), Model)
    tree.map(lambda p, g: p - 0.1 * g, params, params)
    assert_type(tree.map(str, weights), dict[str, str])
    assert_type(tree.map(jnp.shape, [x, x]), list[tuple[int, ...]])
    layers: dict[str, Weights] = {"layer": weights}
    assert_type(tree.map(jnp.sin, layers), dict[str, Weights])
    shapes: dict[str, tuple[int, ...]] = tree.map(lambda x: x.shape, weights)
    ones: list[Array] = tree.map(jnp.asarray, [1.0, 2.0])
    tree.map(lambda x: x * 2, model, is_leaf=callable)
    assert_type(tree.leaves(weights), list[Array])
    assert_type(tree.leaves({"layers": [weights, weights]}), list[Array])
    assert_type(tree.leaves(params), list[Array])
    nodes: list[Weights] = tree.leaves(weights, is_leaf=callable)
    names: list[str] = tree.leaves({"name": "a"})
    assert_type(tinyjax.device_put(params), Params)
    assert_type(tinyjax.device_get(params), Params)
    assert_type(tinyjax.block_until_ready(params), Params)


def sources() -> None:
    assert_type(source.grad(of_real)(1.0), float)
    assert_type(source.value_and_grad(of_real)(1.0), tuple[float, float])
    assert_type(source.grad(jnp.sum)(x), Array)
    source.grad(source.grad(of_real))(1.0)
    source.forward(of_real, 1.0)
    source.grad(lambda w: w["w"].sum())(weights)
    source.grad(with_aux, has_aux=True)(x, 1)


def settings() -> None:
    config.update("default_dtypes", "float64")
    config.update("jax_enable_x64", True)
    config.update("jax_default_matmul_precision", "highest")
    config.update("jax_transfer_guard", "allow")
    config.update("jax_compilation_cache_dir", None)
    config.update("cache_max_bytes", 1 << 20)
    with config.scoped(tier="first", check_jaxprs=True) as current:
        assert_type(current.check_jaxprs, bool)
    with tinyjax.enable_x64(True), tinyjax.numpy_rank_promotion("warn"):
        pass


def equations() -> None:
    assert_type(implicit.root(square, x), Array)
    implicit.root(lambda x: x**2 - 2, 1.0)
    implicit.root(lambda x, a: x**2 - a, 1.0, (2.0,))
    assert_type(implicit.fixed_point(jnp.cos, 1.0), Array)
    implicit.minimize(lambda p: jnp.sum(p.w**2), params)
    implicit.odeint(lambda y, t: -y, x, x)
    implicit.odeint(lambda y, t, k: -k * y, x, x, 2.0)


def pull(p: Params, a: object = None) -> Params:
    return p


def energy(p: Params, a: object = None) -> Array:
    return jnp.sum(p.w)


def rate(p: Params, t: Array, a: object = None) -> Params:
    return p


def equations_with_options() -> None:
    assert_type(implicit.root(square, 1.0, tol=1e-6, maxiter=None), Array)
    assert_type(implicit.root(square, bracket=(0.0, 2.0), method="bisection"), Array)
    assert_type(implicit.root(pull, params, linear_solver="gmres"), Params)
    assert_type(implicit.root(pull, params, (2.0,), linear_solver="dense"), Params)
    assert_type(implicit.fixed_point(jnp.cos, x, history=3), Array)
    assert_type(implicit.fixed_point(jnp.hypot, x, (x,), history=3), Array)
    assert_type(implicit.fixed_point(pull, params, maxiter=9), Params)
    assert_type(implicit.fixed_point(pull, params, (2.0,), maxiter=9), Params)
    assert_type(implicit.minimize(square, x, method="lbfgs"), Array)
    assert_type(implicit.minimize(jnp.hypot, x, (x,), history=5), Array)
    assert_type(implicit.minimize(energy, params, tol=None), Params)
    assert_type(implicit.minimize(energy, params, (2.0,), has_aux=False), Params)
    assert_type(implicit.odeint(lambda y, t: -y, x, x, rtol=1e-3, taylor_order=8), Array)
    assert_type(implicit.odeint(rate, params, x, gradient="checkpointed"), Params)
    assert_type(implicit.odeint(rate, params, x, 2.0, checkpoints=8), Params)
    assert_type(implicit.linear_solve(pull, params, method="cg", tol=1e-3), Params)


def annotations(a: ArrayLike, d: DTypeLike, k: Key, t: PyTree) -> Array:
    tree.leaves(t)
    return jnp.asarray(a, d) + random.normal(k)


def annotated() -> None:
    annotations(1.0, jnp.float32, random.key(0), {"a": 1})
    annotations(np.ones(3), None, random.key(0), None)
    annotations(x, "float32", random.key(0), params)


def more_annotations(x: Array, axis: Axis, index: Indices, shape: Shape) -> Array:
    return jnp.sum(x[index], axis) + jnp.zeros(shape)


def take_function(f: Callable[[Array], Array]) -> Array:
    return f(x)


def functions_as_arguments() -> None:
    take_function(jit(square))
    take_function(grad(square))
    take_function(vmap(square))
    take_function(logistic)
    take_function(partial(jnp.clip, min=0.0))


def linear_algebra() -> None:
    a = jnp.eye(3)
    assert_type(jnp.linalg.inv(a), Array)
    assert_type(jnp.linalg.det(a), Array)
    assert_type(jnp.linalg.norm(a, ord="fro"), Array)
    assert_type(jnp.linalg.cholesky(a), Array)
    assert_type(jnp.linalg.lstsq(a, x)[0], Array)
    assert_type(jnp.linalg.eigh(a).eigenvalues, Array)
    q, r = jnp.linalg.qr(a)
    assert_type(q, Array)
    u, s, vt = jnp.linalg.svd(a)
    assert_type(s, Array)
    assert_type(jnp.linalg.slogdet(a).sign, Array)
    assert_type(jsp.linalg.expm(a), Array)
    assert_type(jsp.linalg.solve_triangular(a, x, lower=True), Array)
    assert_type(jsp.linalg.cho_solve(jsp.linalg.cho_factor(a), x), Array)
    assert_type(jsp.sparse.linalg.cg(a, x)[0], Array)
    assert_type(jsp.sparse.linalg.gmres(lambda y: a @ y, x)[0], Array)
    assert_type(implicit.linear_solve(a, x), Array)
    assert_type(implicit.linear_solve(lambda p: p, params), Params)


def fourier_transforms() -> None:
    assert_type(jnp.fft.fft(x), Array)
    assert_type(jnp.fft.irfft(x, n=4, norm="ortho"), Array)
    assert_type(jnp.fft.fftn(jnp.eye(3), axes=(0, 1)), Array)
    assert_type(jnp.fft.fftfreq(8, d=0.1), Array)
    assert_type(jsp.fft.dct(x), Array)


def science() -> None:
    assert_type(jsp.special.logsumexp(x, axis=0), Array)
    assert_type(jsp.special.erf(0.5), Array)
    assert_type(jsp.stats.norm.logpdf(x, loc=0.0, scale=2.0), Array)
    assert_type(jsp.stats.mode(x).mode, Array)
    assert_type(jsp.signal.convolve(x, x, mode="same"), Array)
    assert_type(jsp.ndimage.map_coordinates(jnp.eye(3), [x, x], order=1), Array)
    assert_type(jsp.integrate.trapezoid(x), Array)
    assert_type(jsp.interpolate.RegularGridInterpolator((x,), x)(x), Array)
    assert_type(jsp.optimize.minimize(lambda v: jnp.sum(v**2), x, method="BFGS").x, Array)


def samples() -> None:
    key = random.key(0)
    assert_type(random.bernoulli(key, 0.3, (3,)), Array)
    assert_type(random.categorical(key, x, axis=-1), Array)
    assert_type(random.choice(key, 5, (2,), replace=False), Array)
    assert_type(random.randint(key, (3,), 0, 10), Array)
    assert_type(random.permutation(key, x), Array)
    assert_type(random.gamma(key, 2.0, (3,)), Array)
    assert_type(random.poisson(key, x), Array)
    assert_type(random.multivariate_normal(key, x, jnp.eye(3)), Array)
    assert_type(random.truncated_normal(key, -1.0, 1.0, (3,), jnp.float32), Array)
    assert_type(random.fold_in(key, 3), Array)
    assert_type(random.split(key, 4), Array)


def networks() -> None:
    assert_type(nn.gelu(x, approximate=False), Array)
    assert_type(nn.log_softmax(x), Array)
    assert_type(nn.one_hot(jnp.array([0, 1]), 3), Array)
    assert_type(nn.standardize(x, axis=-1), Array)
    weight = nn.initializers.glorot_uniform()
    assert_type(weight(random.key(0), (3, 4), jnp.float32), Array)
    assert_type(image.resize(jnp.eye(4), (8, 8), "bilinear"), Array)


def sparse_matrices() -> None:
    matrix = sparse.BCOO.fromdense(jnp.eye(3))
    assert_type(matrix, sparse.BCOO)
    assert_type(matrix.todense(), Array)
    assert_type(matrix.nse, int)
    assert_type(matrix.T, sparse.BCOO)


def tree_functions() -> None:
    leaves, structure = tree_util.tree_flatten(params)
    tree_util.tree_unflatten(structure, leaves)
    tree_util.tree_map(lambda p: p * 2, params)
    for path, leaf in tree_util.tree_leaves_with_path(params):
        assert_type(tree_util.keystr(path), str)
    assert_type(tree_util.tree_all({"a": True}), bool)
    partly = tree_util.Partial(jnp.add, 1.0)
    assert_type(jit(square)(partly(x)), Array)


def sorting_and_reductions() -> None:
    assert_type(lax.sort(x), Array)
    assert_type(lax.sort((x, x), num_keys=1), tuple[Array, ...])
    assert_type(lax.reduce(x, 0.0, lax.add, (0,)), Array)
    assert_type(lax.reduce_window(x, 0.0, lax.add, (2,)), Array)
    assert_type(jnp.apply_along_axis(jnp.sum, 0, jnp.eye(3)), Array)
    values, indices = lax.top_k(x, 2)
    assert_type(indices, Array)
    assert_type(jnp.unique(x, size=2), Array)
    assert_type(jnp.nonzero(x, size=1), tuple[Array, ...])
    assert_type(jnp.meshgrid(x, x), tuple[Array, ...])
    assert_type(jnp.split(x, 3), list[Array])
    assert_type(lax.sin(x), Array)
    assert_type(lax.max(x, 0.0), Array)
    assert_type(x.max(), Array)
    assert_type(x.mean(axis=0, keepdims=True), Array)
    assert_type(x.argsort(descending=True), Array)
    assert_type(x[0].item(), Any)

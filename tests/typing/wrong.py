"""Programs with a mistake that every type checker must find: one function each, never run.

A checker rejects a program if it reports an error in a line of it that is marked ``# wrong``; errors
in other lines are false alarms. ``tests/house/test_types.py`` counts both.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, overload

import attrs

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy as jsp
from tinyjax import (
    Array,
    autodiff,
    checkpoint,
    custom_derivative,
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
from tinyjax.typing import ArrayLike, DTypeLike, Key, PyTree


class Params(NamedTuple):
    w: Array
    b: Array


def loss(params: Params, x: Array, *, scale: float = 1.0) -> Array:
    return jnp.sum(params.w * x + params.b) * scale


def square(x: Array) -> Array:
    return x * x


def of_float(x: float) -> Array:
    return jnp.sin(x)


def with_aux(x: Array, n: int) -> tuple[Array, str]:
    return x, str(n)


def two(x: Array, y: Params) -> Array:
    return x * y.w


x = jnp.ones(3)
params = Params(x, x)


# Derivatives: what they take


def grad_with_too_few() -> None:
    grad(loss)(params)  # wrong


def grad_with_too_many() -> None:
    grad(square)(x, x)  # wrong


def grad_with_another_type() -> None:
    grad(loss)(x, x)  # wrong


def grad_with_unknown_keyword() -> None:
    grad(loss)(params, x, speed=1.0)  # wrong


def grad_of_a_number() -> None:
    grad(3.0)  # wrong


def grad_in_an_argument_by_name() -> None:
    grad(loss, argnums="x")  # wrong


def grad_with_an_unknown_option() -> None:
    grad(loss, argnum=1)  # wrong


def value_and_grad_with_too_few() -> None:
    value_and_grad(loss)(params)  # wrong


def jacfwd_with_another_type() -> None:
    jacfwd(loss)(params, "x")  # wrong


def jacrev_with_too_few() -> None:
    jacrev(loss)(params)  # wrong


def hessian_with_too_many() -> None:
    hessian(square)(x, 1)  # wrong


def hessian_of_an_array() -> None:
    hessian(square(x))  # wrong


# Derivatives: what they return


def grad_of_a_tree_is_no_array() -> None:
    g: Array = grad(loss)(params, x)  # wrong


def grad_of_a_tree_has_its_fields_only() -> None:
    grad(loss)(params, x).v  # wrong


def grad_of_the_second_is_no_tree() -> None:
    grad(loss, argnums=1)(params, x).w  # wrong


def grad_of_both_is_a_pair() -> None:
    g: Array = grad(loss, argnums=(0, 1))(params, x)  # wrong


def grad_of_both_has_two_parts() -> None:
    a, b, c = grad(loss, argnums=(0, 1))(params, x)  # wrong


def grad_of_a_float_is_no_float() -> None:
    g: float = grad(of_float)(1.0)  # wrong


def grad_of_a_float_is_not_text() -> None:
    g: str = grad(of_float)(1.0)  # wrong


def grad_of_an_array_has_no_such_method() -> None:
    grad(square)(x).mena()  # wrong


def grad_with_aux_is_a_pair() -> None:
    g: Array = grad(with_aux, has_aux=True)(x, 1)  # wrong


def grad_with_aux_keeps_the_type_of_aux() -> None:
    g, aux = grad(with_aux, has_aux=True)(x, 1)
    aux + 1  # wrong


def value_and_grad_is_a_pair() -> None:
    value: Array = value_and_grad(loss)(params, x)  # wrong


def value_and_grad_gives_a_tree() -> None:
    value, g = value_and_grad(loss)(params, x)
    g.v  # wrong


def value_and_grad_gives_a_value() -> None:
    value, g = value_and_grad(loss)(params, x)
    value.w  # wrong


def value_and_grad_of_the_second() -> None:
    value, g = value_and_grad(loss, argnums=1)(params, x)
    g.w  # wrong


def value_and_grad_with_aux() -> None:
    (value, aux), g = value_and_grad(with_aux, has_aux=True)(x, 1)
    aux.shape  # wrong


def jacfwd_of_an_array_is_one() -> None:
    g: str = jacfwd(square)(x)  # wrong


def jacrev_of_an_array_is_one() -> None:
    jacrev(square)(x).w  # wrong


def hessian_of_an_array_is_one() -> None:
    hessian(square)(x).w  # wrong


def jit_of_grad_keeps_the_tree() -> None:
    jit(grad(loss))(params, x).v  # wrong


def vmap_of_grad_keeps_the_parameters() -> None:
    vmap(grad(loss))(params)  # wrong


# Products


def jvp_with_too_few_primals() -> None:
    jvp(loss, (params,), (params,))  # wrong


def jvp_with_another_type() -> None:
    jvp(square, ("x",), ("x",))  # wrong


def jvp_with_one_value() -> None:
    jvp(square, x, x)  # wrong


def jvp_is_a_pair() -> None:
    y: Array = jvp(square, (x,), (x,))  # wrong


def jvp_with_aux_has_three_parts() -> None:
    y, t = jvp(with_aux, (x, 1), (x, 1), has_aux=True)  # wrong


def jvp_with_aux_keeps_its_type() -> None:
    y, t, aux = jvp(with_aux, (x, 1), (x, 1), has_aux=True)
    aux.shape  # wrong


def vjp_with_too_few() -> None:
    vjp(loss, params)  # wrong


def vjp_with_another_type() -> None:
    vjp(square, "x")  # wrong


def vjp_pulls_back_the_result() -> None:
    y, pull = vjp(square, x)
    pull("y")  # wrong


def vjp_pulls_back_one_cotangent() -> None:
    y, pull = vjp(square, x)
    pull(x, x)  # wrong


def vjp_gives_one_cotangent_for_each() -> None:
    y, pull = vjp(two, x, params)
    a, b, c = pull(x)  # wrong


def vjp_gives_cotangents_like_the_arguments() -> None:
    y, pull = vjp(two, x, params)
    pull(x)[1].v  # wrong


def vjp_gives_a_tuple() -> None:
    y, pull = vjp(square, x)
    pull(x).shape  # wrong


def linearize_with_too_few() -> None:
    linearize(loss, params)  # wrong


def linearize_keeps_the_parameters() -> None:
    y, push = linearize(two, x, params)
    push(x)  # wrong


def linearize_keeps_the_result() -> None:
    y, push = linearize(two, x, params)
    push(x, params).w  # wrong


def eval_shape_with_too_few() -> None:
    eval_shape(loss, params)  # wrong


def eval_shape_with_another_type() -> None:
    eval_shape(square, "x")  # wrong


def hvp_with_too_few() -> None:
    autodiff.hvp(loss, (params,), (params,))  # wrong


def hvp_with_one_value() -> None:
    autodiff.hvp(square, x, x)  # wrong


def make_jaxpr_with_too_few() -> None:
    make_jaxpr(loss)(params)  # wrong


def checkpoint_with_too_few() -> None:
    checkpoint(loss)(params)  # wrong


def checkpoint_decorator_with_another_type() -> None:
    @checkpoint
    def f(x: Array) -> Array:
        return x

    f("x")  # wrong


# jit, vmap


def jit_with_too_few() -> None:
    jit(loss)(params)  # wrong


def jit_with_another_type() -> None:
    jit(loss)(x, params)  # wrong


def jit_keeps_the_result() -> None:
    jit(square)(x).w  # wrong


def jit_with_an_unknown_option() -> None:
    jit(square, static_argnum=0)  # wrong


def jit_with_static_text() -> None:
    jit(square, static_argnums="x")  # wrong


def lower_with_too_few() -> None:
    jit(loss).lower(params)  # wrong


def jitted_method_with_too_few() -> None:
    class Model:
        @jit
        def __call__(self, x: Array, y: Array) -> Array:
            return x + y

        @jit
        def apply(self, x: Array) -> Array:
            return x

    Model().apply()  # wrong


def jitted_method_with_another_type() -> None:
    class Model:
        @partial(jit, static_argnums=0)
        def apply(self, x: Array) -> Array:
            return x

    Model().apply("x")  # wrong


def jitted_method_keeps_its_result() -> None:
    class Model:
        @jit
        def apply(self, x: Array) -> Array:
            return x

    Model().apply(x).w  # wrong


def jit_by_partial_with_too_few() -> None:
    @partial(jit, static_argnums=1)
    def f(x: Array, n: int) -> Array:
        return x * n

    f(x)  # wrong


def jit_by_partial_with_another_type() -> None:
    @partial(jit, static_argnames=("n",))
    def f(x: Array, n: int) -> Array:
        return x * n

    f(x, n="3")  # wrong


def jit_with_options_with_another_type() -> None:
    @jit(static_argnames="n")
    def f(x: Array, n: int) -> Array:
        return x * n

    f(x, "3")  # wrong


@overload
def either(x: float) -> float: ...
@overload
def either(x: Array) -> Array: ...
def either(x: float | Array) -> float | Array:
    return x


def jit_of_an_overloaded_function() -> None:
    jit(either)("x")  # wrong


def vmap_with_too_few() -> None:
    vmap(loss)(params)  # wrong


def vmap_over_an_axis_by_text() -> None:
    vmap(square, in_axes="0")  # wrong


def vmap_with_an_unknown_option() -> None:
    vmap(square, axes=0)  # wrong


def vmap_with_a_size_by_text() -> None:
    vmap(square, axis_size="3")  # wrong


# Control flow


def cond_with_too_few_operands() -> None:
    lax.cond(True, two, two, x)  # wrong


def cond_with_another_type() -> None:
    lax.cond(True, square, square, "x")  # wrong


def cond_with_branches_that_differ() -> None:
    lax.cond(True, two, square, x, params)  # wrong


def cond_keeps_the_result() -> None:
    lax.cond(True, square, square, x).w  # wrong


def switch_with_too_few_operands() -> None:
    lax.switch(0, [two, two], x)  # wrong


def switch_with_another_type() -> None:
    lax.switch(0, [square, square], "x")  # wrong


def while_loop_with_another_carry() -> None:
    lax.while_loop(lambda c: c[0] < 3, square, params)  # wrong


def condition(c: Array) -> Array:
    return c < 3


def to_params(c: Array) -> Params:
    return Params(c, c)


def while_loop_that_changes_the_carry() -> None:
    lax.while_loop(condition, to_params, x)  # wrong


def while_loop_with_a_condition_of_another() -> None:
    lax.while_loop(condition, lambda c: c, "x")  # wrong


def while_loop_keeps_the_result() -> None:
    lax.while_loop(condition, square, x).w  # wrong


def step(carry: Array, row: Array) -> tuple[Array, Params]:
    return carry + row, Params(carry, row)


def scan_with_another_carry() -> None:
    lax.scan(step, params, x)  # wrong


def scan_with_other_rows() -> None:
    lax.scan(step, x, params)  # wrong


def scan_with_a_step_that_returns_no_pair() -> None:
    lax.scan(two, x, params)  # wrong


def scan_with_a_step_of_one_argument() -> None:
    lax.scan(square, x, x)  # wrong


def scan_gives_the_carry_first() -> None:
    carry, rows = lax.scan(step, x, x)
    carry.w  # wrong


def scan_gives_rows_of_the_second() -> None:
    carry, rows = lax.scan(step, x, x)
    rows.v  # wrong


def scan_with_a_length_by_text() -> None:
    lax.scan(step, x, x, length="3")  # wrong


def body(i: Array, carry: Array) -> Array:
    return carry * i


def fori_loop_with_another_carry() -> None:
    lax.fori_loop(0, 3, body, params)  # wrong


def fori_loop_with_a_body_of_one() -> None:
    lax.fori_loop(0, 3, square, x)  # wrong


def map_with_a_function_of_two() -> None:
    lax.map(two, x)  # wrong


def map_keeps_the_result() -> None:
    lax.map(square, x).w  # wrong


# Functions with rules of their own


def custom_jvp_called_with_another_type() -> None:
    custom_jvp(square)("x")  # wrong


def custom_jvp_called_with_too_few() -> None:
    custom_jvp(two)(x)  # wrong


def custom_jvp_keeps_the_result() -> None:
    custom_jvp(square)(x).w  # wrong


def custom_jvp_rule_with_one_argument() -> None:
    f = custom_jvp(square)

    @f.defjvp  # wrong
    def rule(primals: tuple[Array]) -> tuple[Array, Array]:  # wrong
        return primals[0], primals[0]


def custom_jvp_rule_that_returns_one_value() -> None:
    f = custom_jvp(square)

    @f.defjvp  # wrong
    def rule(primals: tuple[Array], tangents: tuple[Array]) -> Array:  # wrong
        return primals[0]


def custom_jvp_rule_that_returns_another_result() -> None:
    f = custom_jvp(square)

    @f.defjvp  # wrong
    def rule(primals: tuple[Array], tangents: tuple[Array]) -> tuple[str, str]:  # wrong
        return "a", "b"


def custom_vjp_called_with_another_type() -> None:
    custom_vjp(square)("x")  # wrong


def forward(x: Array) -> tuple[Array, Params]:
    return x, Params(x, x)


def backward(residuals: Params, ct: Array) -> tuple[Array]:
    return (residuals.w * ct,)


def custom_vjp_with_other_residuals() -> None:
    def other(residuals: int, ct: Array) -> tuple[Array]:
        return (ct,)

    custom_vjp(square).defvjp(forward, other)  # wrong


def custom_vjp_with_a_backward_of_one() -> None:
    def other(ct: Array) -> tuple[Array]:
        return (ct,)

    custom_vjp(square).defvjp(forward, other)  # wrong


def custom_vjp_with_a_backward_that_returns_no_tuple() -> None:
    def other(residuals: Params, ct: Array) -> Array:
        return ct

    custom_vjp(square).defvjp(forward, other)  # wrong


def custom_vjp_with_a_forward_without_residuals() -> None:
    custom_vjp(square).defvjp(square, backward)  # wrong


def custom_vjp_with_a_forward_of_another_result() -> None:
    def other(x: Array) -> tuple[str, Params]:
        return "a", params

    custom_vjp(square).defvjp(other, backward)  # wrong


def custom_vjp_without_a_backward() -> None:
    custom_vjp(square).defvjp(forward)  # wrong


def custom_derivative_called_with_too_few() -> None:
    custom_derivative(two)(x)  # wrong


def custom_derivative_with_a_rule_of_two() -> None:
    f = custom_derivative(square)

    @f.def_linearize  # wrong
    def rule(x: Array, y: Array) -> tuple[Array, Callable[[Array], Array]]:  # wrong
        return x, square


def custom_derivative_with_a_rule_of_one_result() -> None:
    f = custom_derivative(square)

    @f.def_linearize  # wrong
    def rule(x: Array) -> Array:  # wrong
        return x


# Arrays


def index_by_a_float() -> None:
    x[1.5]  # wrong


def index_by_text() -> None:
    x["a"]  # wrong


def assignment_to_an_element() -> None:
    x[0] = 1  # wrong


def deletion_of_an_element() -> None:
    del x[0]  # wrong


def assignment_to_the_shape() -> None:
    x.shape = (3, 1)  # wrong


def addition_of_text() -> None:
    x + "a"  # wrong


def addition_of_a_list() -> None:
    x + [1, 2, 3]  # wrong


def product_with_nothing() -> None:
    x @ None  # wrong


def comparison_is_an_array() -> None:
    y: str = x == 1  # wrong


def comparison_has_no_such_method() -> None:
    (x == 1).summ()  # wrong


def order_is_an_array() -> None:
    y: bool = x < 1  # wrong


def update_of_nothing() -> None:
    x.at[0].put(1.0)  # wrong


def update_by_text() -> None:
    x.at[0].set("a")  # wrong


def update_at_a_float() -> None:
    x.at[0.5].set(1.0)  # wrong


def sum_over_an_axis_by_text() -> None:
    jnp.sum(x, axis="0")  # wrong


def sum_over_half_an_axis() -> None:
    x.sum(axis=0.5)  # wrong


def reshape_to_a_float() -> None:
    x.reshape(1.5)  # wrong


def shape_is_a_tuple() -> None:
    n: int = x.shape  # wrong


def no_such_method() -> None:
    x.numpy()  # wrong


def no_such_function() -> None:
    jnp.sinn(x)  # wrong


def sine_of_text() -> None:
    jnp.sin("a")  # wrong


def zeros_of_a_dtype_by_number() -> None:
    jnp.zeros(3, dtype=32)  # wrong


def astype_a_number() -> None:
    x.astype(3.5)  # wrong


def zeros_of_half_a_length() -> None:
    jnp.zeros(2.5)  # wrong


def concatenation_along_text() -> None:
    jnp.concatenate([x, x], axis="0")  # wrong


def stack_of_texts() -> None:
    jnp.stack(["a", "b"])  # wrong


def sorting_returns_an_array() -> None:
    jnp.sort(x).w  # wrong


def where_with_two() -> None:
    jnp.where(x > 0, "a", "b")  # wrong


def linear_solve_of_text() -> None:
    jnp.linalg.solve("a", x)  # wrong


def svd_has_three_parts() -> None:
    a, b = jnp.linalg.svd(jnp.eye(3))  # wrong


def einsum_with_an_unknown_option() -> None:
    jnp.einsum("i,i", x, x, optimise=True)  # wrong


# Collectives, random numbers, networks


def psum_keeps_the_tree() -> None:
    lax.psum(params, "i").v  # wrong


def psum_without_an_axis() -> None:
    lax.psum(x)  # wrong


def pmax_keeps_the_type() -> None:
    y: str = lax.pmax(x, "i")  # wrong


def all_gather_keeps_the_type() -> None:
    lax.all_gather(x, "i").w  # wrong


def ppermute_with_no_pairs() -> None:
    lax.ppermute(x, "i", [0, 1])  # wrong


def axis_index_is_an_array() -> None:
    y: str = lax.axis_index("i")  # wrong


def key_from_text() -> None:
    random.key("0")  # wrong


def normal_without_a_key() -> None:
    random.normal((3,))  # wrong


def normal_of_a_shape_by_text() -> None:
    random.normal(random.key(0), "3")  # wrong


def split_into_text() -> None:
    random.split(random.key(0), "2")  # wrong


def relu_of_text() -> None:
    nn.relu("a")  # wrong


def softmax_over_text() -> None:
    nn.softmax(x, axis="0")  # wrong


def one_hot_of_a_text() -> None:
    nn.one_hot(x, "3")  # wrong


# Trees


def tree_map_without_a_tree() -> None:
    tree.map(square)  # wrong


def tree_map_of_no_function() -> None:
    tree.map(params, square)  # wrong


def flatten_is_a_pair() -> None:
    leaves: list[Array] = tree.flatten(params)  # wrong


def unravelled_keeps_the_tree() -> None:
    vector, unravel = ravel_pytree(params)
    unravel(vector).v  # wrong


def callback_gives_an_array() -> None:
    shape = tinyjax.ShapeDtypeStruct((3,), jnp.float32)
    tinyjax.pure_callback(square, shape, x).w  # wrong


def jacobian_of_an_array_is_one() -> None:
    tinyjax.jacobian(square)(x).w  # wrong


def jacobian_with_another_type() -> None:
    tinyjax.jacobian(loss)(params, "x")  # wrong


def structure_has_leaves() -> None:
    tree.structure(params).numleaves  # wrong


def register_a_field_that_is_no_text() -> None:
    tree.register_dataclass(Params, [1], [2])  # wrong


def device_get_keeps_the_tree() -> None:
    tinyjax.device_get(params).v  # wrong


def device_put_keeps_the_tree() -> None:
    tinyjax.device_put(params).v  # wrong


def block_keeps_the_tree() -> None:
    tinyjax.block_until_ready(params).v  # wrong


def array_like_is_no_text() -> None:
    def f(x: ArrayLike) -> Array:
        return jnp.asarray(x)

    f("a")  # wrong


def dtype_like_is_no_float() -> None:
    def f(d: DTypeLike) -> Array:
        return jnp.zeros(3, d)

    f(1.5)  # wrong


def key_is_no_text() -> None:
    def f(k: Key) -> Array:
        return random.normal(k)

    f("a")  # wrong


def pytree_of_leaves() -> None:
    def f(t: PyTree) -> int:
        return len(tree.leaves(t))

    f(params) + "a"  # wrong


# Functions defined by equations


def root_keeps_the_tree() -> None:
    implicit.root(square, x).w  # wrong


def root_of_no_function() -> None:
    implicit.root(x, x)  # wrong


def root_from_another_type() -> None:
    implicit.root(square, "x")  # wrong


def minimum_keeps_the_tree() -> None:
    implicit.minimize(lambda p: jnp.sum(p.w), params).v  # wrong


def fixed_point_keeps_the_tree() -> None:
    implicit.fixed_point(square, x).w  # wrong


def flow(y: Array, t: Array) -> Array:
    return -y * t


def odeint_keeps_the_tree() -> None:
    implicit.odeint(flow, x, x).w  # wrong


def odeint_from_another_type() -> None:
    implicit.odeint(flow, params, x)  # wrong


def root_with_no_such_option() -> None:
    implicit.root(square, x, tolerance=1e-3)  # wrong


def root_by_no_such_method() -> None:
    implicit.root(square, x, method="secant")  # wrong


def minimum_with_an_option_of_another_type() -> None:
    implicit.minimize(square, x, history=None)  # wrong


def fixed_point_with_an_option_by_position() -> None:
    implicit.fixed_point(square, x, (), 1e-3)  # wrong


def odeint_with_no_such_option() -> None:
    implicit.odeint(flow, x, x, maxiter=3)  # wrong


def odeint_with_an_option_and_another_type() -> None:
    implicit.odeint(flow, params, x, rtol=1e-3)  # wrong


def linear_solve_with_an_option_of_another_type() -> None:
    implicit.linear_solve(jnp.eye(3), x, restart="ten")  # wrong


# The package


def no_such_name() -> None:
    tinyjax.interpreters  # wrong


def misspelled_name() -> None:
    tinyjax.vmpa(square)  # wrong


def unknown_setting() -> None:
    tinyjax.config.upadte("default_dtypes", "float64")  # wrong


def default_dtypes_by_a_number() -> None:
    tinyjax.config.settings().default_dtype  # wrong


def error_class_of_another_name() -> None:
    tinyjax.errors.ShapError  # wrong


@attrs.frozen
class Model:
    weight: Array

    def __call__(self, x: Array) -> Array:
        return self.weight * x


def call_of_a_model_with_too_few() -> None:
    jit(Model(x))()  # wrong


def grad_of_a_bound_method_with_too_few() -> None:
    grad(Model(x).__call__)()  # wrong


# Linear algebra, transforms, statistics, samples, networks: by module


def inverse_of_text() -> None:
    jnp.linalg.inv("a")  # wrong


def misspelled_decomposition() -> None:
    jnp.linalg.cholesky_(jnp.eye(3))  # wrong


def norm_of_a_misspelled_option() -> None:
    jnp.linalg.norm(x, order=2)  # wrong


def eigh_has_two_parts() -> None:
    a, b, c = jnp.linalg.eigh(jnp.eye(3))  # wrong


def eigh_has_no_such_part() -> None:
    jnp.linalg.eigh(jnp.eye(3)).values  # wrong


def qr_gives_a_pair_by_default() -> None:
    jnp.linalg.qr(jnp.eye(3), mode="fullest")  # wrong


def slogdet_is_no_array() -> None:
    jnp.linalg.slogdet(jnp.eye(3)).sum()  # wrong


def solve_with_one() -> None:
    jnp.linalg.solve(jnp.eye(3))  # wrong


def expm_of_text() -> None:
    jsp.linalg.expm("a")  # wrong


def triangular_with_an_unknown_option() -> None:
    jsp.linalg.solve_triangular(jnp.eye(3), x, low=True)  # wrong


def cho_solve_without_a_factor() -> None:
    jsp.linalg.cho_solve(3, x)  # wrong


def conjugate_gradients_give_a_pair() -> None:
    jsp.sparse.linalg.cg(jnp.eye(3), x).shape  # wrong


def linear_solve_keeps_the_tree() -> None:
    implicit.linear_solve(lambda p: p, params).v  # wrong


def linear_solve_by_an_unknown_method() -> None:
    implicit.linear_solve(jnp.eye(3), x, method="lu")  # wrong


def fft_of_text() -> None:
    jnp.fft.fft("a")  # wrong


def fft_of_half_a_length() -> None:
    jnp.fft.fft(x, n=2.5)  # wrong


def fft_misspelled() -> None:
    jnp.fft.ftt(x)  # wrong


def fftn_over_text() -> None:
    jnp.fft.fftn(x, axes="0")  # wrong


def fft_by_an_unknown_norm() -> None:
    jnp.fft.fft(x, norm=2)  # wrong


def dct_of_an_unknown_option() -> None:
    jsp.fft.dct(x, kind=2)  # wrong


def logsumexp_over_text() -> None:
    jsp.special.logsumexp(x, axis="0")  # wrong


def special_function_misspelled() -> None:
    jsp.special.gama(x)  # wrong


def erf_without_an_argument() -> None:
    jsp.special.erf()  # wrong


def density_of_text() -> None:
    jsp.stats.norm.pdf("a")  # wrong


def density_with_an_unknown_parameter() -> None:
    jsp.stats.norm.pdf(x, mean=0.0)  # wrong


def distribution_misspelled() -> None:
    jsp.stats.normal.pdf(x)  # wrong


def convolve_in_an_unknown_mode() -> None:
    jsp.signal.convolve(x, x, mode="some")  # wrong


def coordinates_without_order() -> None:
    jsp.ndimage.map_coordinates(x, [x])  # wrong


def trapezoid_along_text() -> None:
    jsp.integrate.trapezoid(x, axis="0")  # wrong


def result_of_minimize_has_no_such_part() -> None:
    jsp.optimize.minimize(square, x, method="BFGS").minimum  # wrong


def minimize_with_a_derivative() -> None:
    jsp.optimize.minimize(square, x, jac=square)  # wrong


def bernoulli_without_a_key() -> None:
    random.bernoulli(0.5, 3.5, "3")  # wrong


def categorical_along_text() -> None:
    random.categorical(random.key(0), x, axis="0")  # wrong


def choice_with_an_unknown_option() -> None:
    random.choice(random.key(0), 5, replacement=False)  # wrong


def randint_without_bounds() -> None:
    random.randint(random.key(0), (3,))  # wrong


def gamma_without_a_parameter() -> None:
    random.gamma(random.key(0))  # wrong


def uniform_of_a_float_shape() -> None:
    random.uniform(random.key(0), (2.5,))  # wrong


def normal_misspelled() -> None:
    random.norml(random.key(0))  # wrong


def normal_of_a_dtype_by_number() -> None:
    random.normal(random.key(0), (3,), 32)  # wrong


def split_gives_an_array() -> None:
    a: str = random.split(random.key(0))  # wrong


def fold_in_text() -> None:
    random.fold_in(random.key(0), "a")  # wrong


def gelu_with_an_unknown_option() -> None:
    nn.gelu(x, approx=True)  # wrong


def activation_misspelled() -> None:
    nn.rellu(x)  # wrong


def one_hot_without_classes() -> None:
    nn.one_hot(x)  # wrong


def initializer_without_parentheses() -> None:
    nn.initializers.glorot_uniform(random.key(0), (3, 4))  # wrong


def initializer_called_without_a_shape() -> None:
    nn.initializers.zeros(random.key(0))  # wrong


def resize_without_a_method() -> None:
    image.resize(x, (3,))  # wrong


def resize_to_a_number() -> None:
    image.resize(x, 3, "bilinear")  # wrong


def sparse_matrix_of_no_array() -> None:
    sparse.BCOO.fromdense("a")  # wrong


def sparse_matrix_has_no_such_method() -> None:
    sparse.BCOO.fromdense(x).to_dense()  # wrong


def sparse_matrix_gives_an_array() -> None:
    sparse.BCOO.fromdense(x).todense().w  # wrong


def tree_map_by_an_unknown_name() -> None:
    tree_util.tree_mapp(square, x)  # wrong


def tree_unflatten_without_leaves() -> None:
    tree_util.tree_unflatten(tree.structure(x))  # wrong


def partial_of_no_function() -> None:
    tree_util.Partial(3)  # wrong


def sort_of_one_is_an_array() -> None:
    lax.sort(x).w  # wrong


def sort_of_several_is_a_tuple() -> None:
    lax.sort((x, x)).shape  # wrong


def reduce_without_axes() -> None:
    lax.reduce(x, 0.0, lax.add)  # wrong


def top_k_is_a_pair() -> None:
    lax.top_k(x, 2).shape  # wrong


def lax_function_with_one_operand() -> None:
    lax.add(x)  # wrong


def lax_function_of_text() -> None:
    lax.sin("a")  # wrong


def lax_function_misspelled() -> None:
    lax.sinn(x)  # wrong


def method_over_half_an_axis() -> None:
    x.mean(axis=0.5)  # wrong


def method_with_an_unknown_option() -> None:
    x.sum(keepdim=True)  # wrong


def method_misspelled() -> None:
    x.summ()  # wrong


def method_with_too_many() -> None:
    x.argmax(0, True, 3)  # wrong


def sum_is_no_float() -> None:
    y: float = jnp.sum(x)  # wrong


def arange_to_text() -> None:
    jnp.arange("a")  # wrong


def linspace_to_one() -> None:
    jnp.linspace(0.0)  # wrong


def array_of_a_dtype_by_number() -> None:
    jnp.array([1, 2], dtype=32)  # wrong


def asarray_of_an_unknown_option() -> None:
    jnp.asarray([1], typ="int32")  # wrong


def clip_misspelled() -> None:
    jnp.clip(x, minimum=0.0)  # wrong


def argsort_has_no_such_option() -> None:
    jnp.argsort(x, reverse=True)  # wrong


def stack_along_an_unknown_option() -> None:
    jnp.stack([x, x], dim=0)  # wrong


def concatenate_apart() -> None:
    jnp.concatenate(x, x)  # wrong


def static_argument_of_another_type() -> None:
    jit(with_aux, static_argnums=1)(x, "n")  # wrong


def static_argument_that_is_missing() -> None:
    jit(with_aux, static_argnums=1)(x)  # wrong


def jit_of_vmap_with_another_type() -> None:
    jit(vmap(square))("x")  # wrong


def scan_over_a_number() -> None:
    lax.scan(step, x, 3.5, length=3)  # wrong


def cond_by_text() -> None:
    lax.cond("yes", square, square, x)  # wrong


def switch_by_text() -> None:
    lax.switch("0", [square], x)  # wrong


def fori_loop_to_text() -> None:
    lax.fori_loop(0, "3", lambda i, c: c, x)  # wrong


def while_loop_with_a_body_of_two() -> None:
    lax.while_loop(condition, body, x)  # wrong


def stop_gradient_keeps_the_tree() -> None:
    lax.stop_gradient(params).v  # wrong


def numpy_of_torch() -> None:
    x.detach()  # wrong


def array_to_another_device() -> None:
    x.cuda()  # wrong


def gradient_as_in_torch() -> None:
    x.backward()  # wrong


def item_assignment_by_method() -> None:
    x.at[0] = 1.0  # wrong


def array_of_arrays_by_name() -> None:
    jnp.tensor([1.0])  # wrong


# What a function returns, and what settings take


def to_text(x: Array) -> str:
    return str(x)


def grad_of_a_function_that_returns_text() -> None:
    grad(to_text)(x)  # wrong


def value_and_grad_of_a_function_that_returns_text() -> None:
    value_and_grad(to_text)(x)  # wrong


def grad_with_aux_of_a_function_without() -> None:
    grad(square, has_aux=True)(x)  # wrong


def value_and_grad_with_aux_of_a_function_without() -> None:
    value_and_grad(square, has_aux=True)(x)  # wrong


def custom_vjp_with_a_forward_of_too_many() -> None:
    def other(x: Array, y: Array) -> tuple[Array, Params]:
        return x, Params(x, y)

    custom_vjp(square).defvjp(other, backward)  # wrong


def custom_vjp_with_a_forward_of_too_few() -> None:
    def other() -> tuple[Array, Params]:
        return x, params

    custom_vjp(square).defvjp(other, backward)  # wrong


def while_loop_with_a_condition_that_returns_text() -> None:
    lax.while_loop(to_text, square, x)  # wrong


def source_grad_with_another_type() -> None:
    source.grad(of_float)("a")  # wrong


def source_grad_with_too_many() -> None:
    source.grad(of_float)(1.0, 2.0)  # wrong


def tree_map_is_no_int() -> None:
    z: int = tree.map(square, params)  # wrong


def tree_map_is_no_text() -> None:
    z: str = tree.map(square, [x])  # wrong


def tree_map_to_text_is_no_tree_of_arrays() -> None:
    tree.map(str, {"w": x})["w"].sum()  # wrong


def leaves_are_no_texts() -> None:
    z: list[str] = tree.leaves(params)  # wrong


def jacobian_of_a_tree_has_its_fields() -> None:
    jacrev(loss)(params, x).v  # wrong


def setting_of_another_name() -> None:
    tinyjax.config.update("nonsense", 3)  # wrong


def setting_of_jax_to_text() -> None:
    tinyjax.config.update("jax_enable_x64", "yes")  # wrong


def setting_of_another_value() -> None:
    tinyjax.config.update("tier", "third")  # wrong


def setting_by_a_number() -> None:
    tinyjax.config.update("cache_dir", 3)  # wrong


def context_of_another_value() -> None:
    tinyjax.numpy_rank_promotion("refuse")  # wrong

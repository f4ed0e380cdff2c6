"""The errors that users see: each mistake's message, and the line of theirs that it names.

A case is a function with one mistake, on the line marked ``# here``. Its message is compared whole,
with this file's path and line numbers taken out.
"""

import cmath
import math
import re
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import (
    autodiff,
    closure_convert,
    config,
    custom_batch,
    custom_vjp,
    grad,
    hessian,
    implicit,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    lax,
    linear_transpose,
    linearize,
    make_jaxpr,
    pure_callback,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.trace import EVAL, bind1, current_trace
from tinyjax.errors import (
    ArgumentError,
    AxisError,
    BatchSizeError,
    BranchTypeError,
    CallbackError,
    CarryTypeError,
    ConcretizationError,
    DifferentiationError,
    DtypeError,
    LeakedTracerError,
    MissingRuleError,
    NanError,
    NumberRangeError,
    PromotionError,
    ShapeError,
    StaticArgumentError,
    TinyjaxError,
)
from tinyjax.tree import TreeMismatchError


@attrs.frozen
class Case:
    run: Callable[[], object]
    error: type[Exception]
    message: str


CASES: list[Any] = []


def case(
    error: type[Exception], message: str, *, wrong_types: bool = False
) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Add a case; one that passes a value of the wrong type is not for an instrumented package."""
    marks = [pytest.mark.wrong_types] if wrong_types else []

    def add(run: Callable[[], object]) -> Callable[[], object]:
        row = Case(run, error, message)
        CASES.append(pytest.param(row, id=run.__name__, marks=marks))
        return run

    return add


def normalised(text: str) -> str:
    """A message without where this file is, its line numbers, and the cases' own names."""
    return re.sub(r"\w+\.<locals>\.", "", re.sub(r"[^\s(]*test_errors\.py:\d+", "HERE", text))


@pytest.mark.parametrize("row", CASES)
def test_message(row: Case) -> None:
    with pytest.raises(row.error) as caught:
        row.run()
    error = caught.value
    assert isinstance(error, TinyjaxError)
    assert normalised(error.message) == row.message
    # the user's line: in this file, in the case, and the one that is marked
    assert error.location is not None
    assert error.location.filename == __file__
    assert row.run.__name__ in error.location.function
    assert str(error).endswith("# here")
    assert error.__context__ is None or error.__suppress_context__, "it is told below another"
    assert current_trace() is EVAL


def test_every_case_is_run() -> None:
    assert len(CASES) > 50


A = np.ones((3, 4), np.float32)
B = np.ones(5, np.float32)
INTS = np.arange(3, dtype=np.int32)
PARAMS = {"w": [np.ones(2, np.float32), np.ones(3, np.float32)]}


def array(x: Any) -> Any:
    return jnp.asarray(x)


def loss(params: Any, x: Any) -> Any:
    return jnp.sum(params["w"][0] * x)


def identity(x: Any) -> Any:
    return x


def parts(x: Any) -> Any:
    return {"a": x, "b": [x]}


OF_TEXT = (
    "which is not a valid JAX type. Value 'a' is text, and arrays hold numbers and bools: encode "
    "it as integers. If it chooses what is computed, make it a static argument of jit "
    "(static_argnums, static_argnames)."
)


# Matrices


@case(
    ShapeError,
    "the input of cholesky must be a square matrix, or several: it must have shape [..., n, n], "
    "but got shape (3, 4).",
)
def matrices_that_are_not_square() -> object:
    return jnp.linalg.cholesky(A)  # here


@case(
    ShapeError,
    "qr takes matrices: its input must have rank at least 2, but got shape=(5,). Add axes with "
    "reshape.",
)
def no_matrices_under_jit() -> object:
    def factors(x: Any) -> Any:
        return jnp.linalg.qr(x)  # here

    return jit(factors)(B)


@case(
    ShapeError,
    "solve: matrices of shape (3, 3) and right-hand sides of shape (5,) do not fit: there are 3 "
    "equations, and 5 numbers on a right-hand side.",
)
def equations_that_do_not_fit() -> object:
    return jnp.linalg.solve(np.eye(3, dtype=np.float32), B)  # here


@case(
    DtypeError,
    "Unsupported dtype float16: eigh takes float32, float64, complex64, complex128. Convert the "
    "operand with .astype(...).",
)
def matrices_in_half_precision() -> object:
    return jnp.linalg.eigh(np.eye(3, dtype=np.float16))  # here


@case(
    DtypeError,
    "triangular_solve needs operands of one dtype, but got float64[3,3] and float32[3,4]. The "
    "functions of tinyjax.numpy.linalg promote; this one does not.",
)
def triangular_systems_of_two_types() -> object:
    return lax.linalg.triangular_solve(np.eye(3), A, left_side=True)  # here


# Shapes and dtypes


@case(
    ShapeError,
    "add: incompatible shapes for broadcasting: (3, 4) and (5,). Counted from the last axis, sizes "
    "must be equal or 1.",
)
def operator_shapes() -> object:
    return array(A) + array(B)  # here


@case(
    ShapeError,
    "multiply: incompatible shapes for broadcasting: (3, 4) and (5,). Counted from the last axis, "
    "sizes must be equal or 1.",
)
def operator_shapes_under_jit() -> object:
    def product(x: Any, y: Any) -> Any:
        return x * y  # here

    return jit(product)(A, B)


@case(
    ShapeError,
    "subtract: incompatible shapes for broadcasting: (4,) and (5,). Counted from the last axis, "
    "sizes must be equal or 1.",
)
def operator_shapes_under_vmap() -> object:
    return vmap(lambda x: x - array(B))(A)  # here


@case(
    DtypeError,
    "bitwise_and does not accept dtype float32: it takes bool, signed integer, unsigned integer. "
    "Convert the operand with .astype(...).",
)
def bitwise_and_of_floats() -> object:
    return array(A) & array(A)  # here


@case(
    DtypeError,
    "neg does not accept dtype bool: it takes signed integer, unsigned integer, float, complex. "
    "Convert the operand with .astype(...).",
)
def negative_of_bools() -> object:
    return -(array(A) > 0)  # here


@case(
    PromotionError,
    "dtypes float16 and float8_e5m2 have no common type to promote to. Convert one of them with "
    ".astype(...).",
)
def types_that_do_not_meet() -> object:
    return jnp.ones(2, "float16") + jnp.ones(2, "float8_e5m2")  # here


@case(
    ArgumentError,
    "other of add: 1000000000000 does not fit in the other operand's dtype, int32. Convert that "
    "operand to "
    "a wider one with .astype(...).",
)
def a_number_that_does_not_fit() -> object:
    return array(INTS) + 10**12  # here


@case(DtypeError, "dtype of astype: 'float33' is not a dtype.")
def no_dtype() -> object:
    return array(A).astype("float33")  # here


@case(
    DtypeError,
    "x of sin: a NumPy array of dtype object cannot be an array: it must hold numbers or "
    "bools, in the machine's byte order.",
)
def numpy_array_of_objects() -> object:
    return jnp.sin(np.array([object()]))  # here


# Arguments and results that are not arrays


@case(
    ArgumentError,
    "other of add: expected an array or a number, but got str: 'a', " + OF_TEXT,
    wrong_types=True,
)
def operator_with_a_string() -> object:
    return array(A) + "a"  # here


@case(
    ArgumentError,
    "x of sin: expected an array or a number, but got NoneType: None, which is not a valid JAX "
    "type. Was a value forgotten?",
    wrong_types=True,
)
def function_of_none() -> object:
    nothing: Any = None
    return jnp.sin(nothing)  # here


@case(
    ArgumentError,
    "concatenate: expected an array or a number, but got NoneType: None, which is not a valid "
    "JAX type. Was a value forgotten?",
    wrong_types=True,
)
def none_among_others() -> object:
    nothing: Any = None
    return jnp.concatenate([array(A), nothing])  # here


@attrs.frozen
class Unregistered:
    weight: Any

    @jit
    def __call__(self, x: Any) -> Any:
        return self.weight * x

    def __repr__(self) -> str:
        return "Unregistered()"


OF_UNREGISTERED = (
    "expected an array or a number, but got Unregistered: Unregistered(). Register "
    "Unregistered with tinyjax.tree.register_dataclass, so that its fields are seen. If it is "
    "not data, make it a static argument of jit (static_argnums, static_argnames)."
)


@case(
    ArgumentError,
    "x of identity (HERE): expected an array or a number, but got Unregistered: Unregistered(), "
    "which is not a valid JAX type. Register Unregistered with tinyjax.tree.register_dataclass, "
    "so that its fields are seen. If it is not data, make it a static argument of jit "
    "(static_argnums, static_argnames).",
)
def unregistered_argument() -> object:
    return jit(identity)(Unregistered(A))  # here


@case(
    ArgumentError,
    "self of Unregistered.__call__ (HERE): expected an array or a number, but got Unregistered: "
    "Unregistered(), which is not a valid JAX type. Register Unregistered with "
    "tinyjax.tree.register_dataclass, so that its fields are seen. If it is not data, make it a "
    "static argument of jit (static_argnums, static_argnames).",
)
def unregistered_self() -> object:
    return Unregistered(A)(1.0)  # here


@case(
    ArgumentError,
    "Unregistered must return arrays, but at result: expected an array or a number, but got "
    "Unregistered: Unregistered(), which is not a valid JAX type. Register Unregistered with "
    "tinyjax.tree.register_dataclass, so that its fields are seen. If it is not data, make it a "
    "static argument of jit (static_argnums, static_argnames).",
)
def unregistered_result() -> object:
    return jit(Unregistered)(1.0)  # here


@case(
    ArgumentError,
    "x of identity (HERE): expected an array or a number, but got builtin_function_or_method: "
    "<built-in function len>, which is not a valid JAX type. Make it a static argument of jit "
    "(static_argnums, static_argnames).",
)
def function_as_an_argument() -> object:
    return jit(identity)(len)  # here


@case(
    ArgumentError,
    "array: expected an array or a number, but got str: 'a', " + OF_TEXT,
    wrong_types=True,
)
def array_of_texts() -> object:
    return jnp.array(["a"])  # here


@case(
    NumberRangeError,
    "object of array: 1180591620717411303424 does not fit in int32, nor in 64 bits. Make it a "
    "float, for instance "
    "jnp.asarray(1180591620717411303424, dtype=float).",
)
def number_of_more_than_64_bits() -> object:
    return jnp.array(2**70)  # here


@case(
    NumberRangeError,
    "array: 4294967296 does not fit in int32. Give a wider dtype, for instance "
    "jnp.array(..., dtype=jnp.int64).",
)
def number_of_more_than_32_bits() -> object:
    return jnp.array([1, 2**32])  # here


@case(
    AxisError,
    "vmap was requested to map its argument along axis 0, which implies that its rank should be "
    "at least 1, but is only 0 (its shape is ()). Change in_axes of x of identity (HERE): give "
    "None for an argument that is the same for all examples; or call the function itself.",
)
def vmap_of_a_scalar() -> object:
    return vmap(identity)(1.0)  # here


@case(
    LeakedTracerError,
    "a value of type float32[] that was traced by jit of list.append is used after that "
    "transformation ended. It is the argument object. It was probably stored in a global, an "
    "attribute or a list by the function; return it from the function instead.",
)
def number_of_a_leaked_tracer() -> object:
    leaks: list[Any] = []
    jit(leaks.append)(1.0)
    return float(leaks[0])  # here


@case(
    ArgumentError,
    "params['w'][0] of loss (HERE): expected an array or a number, but got str: 'a', " + OF_TEXT,
)
def argument_of_jit() -> object:
    return jit(loss)({"w": ["a"]}, 1.0)  # here


@case(
    ArgumentError,
    "x of loss (HERE): expected an array or a number, but got str: 'a', " + OF_TEXT,
)
def argument_of_grad() -> object:
    return grad(loss, argnums=(0, 1))(PARAMS, "a")  # here


@case(
    ArgumentError,
    "params['w'][1] of loss (HERE): expected an array or a number, but got str: 'a', " + OF_TEXT,
)
def argument_of_vmap() -> object:
    return vmap(loss)({"w": [A, "a"]}, A)  # here


@case(
    ArgumentError,
    "x['q'] of loss (HERE): expected an array or a number, but got str: 'a', " + OF_TEXT,
)
def argument_by_keyword() -> object:
    return jit(loss)(PARAMS, x={"q": "a"})  # here


@case(
    ArgumentError,
    "x of loss (HERE): expected an array or a number, but got str: 'a', " + OF_TEXT,
)
def argument_after_a_static_one() -> object:
    return jit(loss, static_argnums=0)("key", "a")  # here


@case(
    ArgumentError,
    "x of loss (HERE): expected an array or a number, but got str: 'a', " + OF_TEXT,
)
def argument_of_make_jaxpr() -> object:
    return make_jaxpr(loss, static_argnums=0)("key", "a")  # here


@case(
    ArgumentError,
    "returns_text (HERE) must return arrays, but at result['out'][1]: expected an array or a "
    "number, but got str: 'a', " + OF_TEXT,
)
def result_of_jit() -> object:
    return jit(returns_text)(1.0)  # here


@case(
    ArgumentError,
    "returns_text (HERE) must return arrays, but at result['out'][1]: expected an array or a "
    "number, but got str: 'a', " + OF_TEXT,
)
def result_of_grad() -> object:
    return grad(returns_text)(1.0)  # here


def returns_text(x: Any) -> Any:
    return {"out": [x, "a"]}


@case(ArgumentError, "fun of grad must be a function (callable), but got 3 (int).")
def not_a_function() -> object:
    three: Any = 3
    return grad(three)  # here


@case(
    ArgumentError,
    "The `tol` argument to `fixed_point` expects a concrete `float` value, but got a value of "
    "type float32[] that is traced by jit of <lambda> (HERE), and depends on the value of "
    "the argument tol. Make the argument static (static_argnums=...), or compute this outside of "
    "the function.",
)
def traced_where_a_number_is_needed() -> object:
    return jit(lambda tol: implicit.fixed_point(jnp.cos, 1.0, tol=tol))(1e-3)  # here


@case(
    ArgumentError,
    "with has_aux=True, identity (HERE) must return a pair (output, auxiliary data), a two-element "
    "tuple, but it returned an array of type float32[].",
)
def no_auxiliary_data() -> object:
    return value_and_grad(identity, has_aux=True)(1.0)  # here


# Derivatives


@case(
    DifferentiationError,
    "grad is only defined for scalar-output functions, but identity (HERE) returned an array of "
    "type float32[3,4]. Reduce it, for instance with jnp.sum, or use tinyjax.jacrev or "
    "tinyjax.vjp.",
)
def grad_of_a_matrix() -> object:
    return grad(identity)(A)  # here


@case(
    DifferentiationError,
    "value_and_grad is only defined for scalar-output functions, but parts (HERE) returned "
    "PyTreeDef({'a': *, 'b': [*]}). Reduce it, for instance with jnp.sum, or use tinyjax.jacrev or "
    "tinyjax.vjp.",
)
def grad_of_a_container() -> object:
    return value_and_grad(parts)(1.0)  # here


@case(
    DifferentiationError,
    "grad requires real- or complex-valued inputs, which are floats, but x of identity (HERE) is "
    "int32[]. Pass a float, such as 1.0, convert it with .astype(float), or differentiate another "
    "argument with argnums.",
)
def the_gradient_at_a_python_integer() -> object:
    return grad(identity)(3)  # here


@case(
    DifferentiationError,
    "grad requires real- or complex-valued inputs, which are floats, but params['w'][0] of loss "
    "(HERE) is int32[3]. Convert it with .astype(float), or differentiate another argument with "
    "argnums.",
)
def grad_of_an_integer_argument() -> object:
    return grad(loss)({"w": [INTS]}, 2.0)  # here


@case(
    DifferentiationError,
    "grad requires real-valued outputs, which are floats, but <lambda> (HERE) returned bool[]. "
    "Convert it with .astype(float).",
)
def grad_of_a_comparison() -> object:
    return grad(lambda x: x > 0)(1.0)  # here


@case(
    DifferentiationError,
    "grad requires real-valued outputs, which are floats, but <lambda> (HERE) returned "
    "complex64[]. For a holomorphic function pass holomorphic=True; else use tinyjax.vjp.",
)
def grad_of_a_complex_result() -> object:
    return grad(lambda x: x * 1j)(1.0)  # here


@case(
    DifferentiationError,
    "grad with holomorphic=True requires inputs with complex dtype, but x of identity (HERE) is "
    "float32[].",
)
def holomorphic_grad_of_a_real_argument() -> object:
    return grad(identity, holomorphic=True)(1.0)  # here


@case(
    ArgumentError,
    "grad of loss (HERE): differentiating with respect to argnums=5 requires at least 6 "
    "positional arguments to be passed by the caller, but got only 2.",
)
def argnums_out_of_range() -> object:
    return grad(loss, argnums=5)(PARAMS, 1.0)  # here


@case(
    DifferentiationError,
    "jacfwd requires real-valued inputs, which are floats, but x of identity (HERE) is int32[3]. "
    "Convert it with .astype(float), or differentiate another argument with argnums.",
)
def jacobian_of_integers() -> object:
    return jacfwd(identity)(INTS)  # here


@case(
    DifferentiationError,
    "jacrev requires real-valued outputs, which are floats, but <lambda> (HERE) returned int32[3]. "
    "Convert it with .astype(float).",
)
def jacobian_with_integer_results() -> object:
    return jacrev(lambda x: array(INTS))(A)  # here


@case(
    DifferentiationError,
    "jacfwd requires real-valued inputs, which are floats, but x of identity (HERE) is int32[3]. "
    "Convert it with .astype(float), or differentiate another argument with argnums.",
)
def hessian_of_integers() -> object:
    return hessian(identity)(INTS)  # here


@case(
    DifferentiationError,
    "jacfwd requires real-valued inputs, but x of identity (HERE) is complex64[]. For a "
    "holomorphic function pass holomorphic=True.",
)
def jacobian_of_a_complex_argument() -> object:
    return jacfwd(identity)(1j)  # here


@case(
    DifferentiationError,
    "jacobian requires real- or complex-valued inputs, which are floats, but x of identity (HERE) "
    "is int32[3]. Convert it with .astype(float), or differentiate another argument with argnums.",
)
def eliminated_jacobian_of_integers() -> object:
    return jacobian(identity)(INTS)  # here


@case(
    ArgumentError,
    "the derivatives of the single operations of <lambda> (HERE) have 50000000 elements, more than "
    "the 16777216 for which zeros are kept track of. Count for smaller arrays.",
)
def counting_for_too_large_an_array() -> object:
    return autodiff.multiplications(lambda x: 2 * jnp.sin(x))(np.ones(5000))  # here


@case(
    DifferentiationError,
    "linear_transpose takes linear functions, but <lambda> (HERE) applies 'sin' to what depends on "
    "its arguments.",
)
def transpose_of_a_sine() -> object:
    return linear_transpose(lambda x: 2 * jnp.sin(x), 1.0)(1.0)  # here


@case(
    DifferentiationError,
    "linear_transpose takes functions of floats and complex numbers, but x of identity (HERE) is "
    "int32[3].",
)
def transpose_of_integers() -> object:
    return linear_transpose(identity, INTS)  # here


@case(
    DifferentiationError,
    "cotangent type does not match function output: the cotangent of result of identity (HERE) "
    "must be of its type float32[3,4], but it is float32[].",
)
def cotangent_of_a_transpose() -> object:
    return linear_transpose(identity, A)(1.0)  # here


@case(
    ArgumentError,
    "The inputs to the closure produced by closure_convert must have the same Pytree structure "
    "as the example arguments: identity (HERE) takes 1 arguments and the 0 values that it closed "
    "over, but got 2.",
)
def converted_closure_with_too_many_arguments() -> object:
    converted, _ = closure_convert(identity, A)
    return converted(A, A)  # here


@case(
    ArgumentError,
    "primals of hvp must be tuples or lists with one entry per argument, but got dict. Write "
    "(primals,) for one argument.",
    wrong_types=True,
)
def hvp_without_a_tuple() -> object:
    primals: Any = PARAMS
    return autodiff.hvp(identity, primals, (A,))  # here


@case(
    ArgumentError,
    "samples of hutchinson_trace must be positive, but it is 0.",
)
def a_trace_without_samples() -> object:
    return autodiff.hutchinson_trace(identity, (A,), tinyjax.random.key(0), 0)  # here


@case(
    ArgumentError,
    "primals of jvp must be tuples or lists with one entry per argument, but got float. Write "
    "(primals,) for one argument.",
    wrong_types=True,
)
def primals_without_a_tuple() -> object:
    one: Any = 1.0
    return jvp(jnp.sin, one, one)  # here


@case(
    TreeMismatchError,
    "primal and tangent arguments to jvp must have the same tree structure; trees differ at "
    "tangents: expected tuple of length 2, but got tuple of length 1. Give both the same number "
    "of children.",
)
def too_few_tangents() -> object:
    tangents: Any = (PARAMS,)
    return jvp(loss, (PARAMS, 1.0), tangents)  # here


@case(
    TreeMismatchError,
    "primal and tangent arguments to jvp must have the same tree structure; trees differ at "
    "tangents[0]['w']: expected list of length 2, but got list of length 1. Give both the same "
    "number of children.",
)
def tangents_of_another_structure() -> object:
    return jvp(loss, (PARAMS, 1.0), ({"w": [A]}, 1.0))  # here


@case(
    DifferentiationError,
    "jvp called with different primal and tangent shapes: the tangent of params['w'][0] of loss "
    "(HERE) must be of its type float32[2], but it is float32[5].",
)
def tangent_of_another_shape() -> object:
    return jvp(loss, (PARAMS, 1.0), ({"w": [B, PARAMS["w"][1]]}, 1.0))  # here


@case(
    ArgumentError,
    "the tangent of params['w'][0] of loss (HERE): expected an array or a number, but got "
    "NoneType: None, which is not a valid JAX type. Was a value forgotten?",
)
def tangent_that_was_forgotten() -> object:
    return jvp(loss, (PARAMS, 1.0), ({"w": [None, PARAMS["w"][1]]}, 1.0))  # here


@case(
    ArgumentError,
    "the cotangent of result of identity (HERE): expected an array or a number, but got "
    "NoneType: None, which is not a valid JAX type. Was a value forgotten?",
)
def cotangent_that_was_forgotten() -> object:
    _, pull_back = vjp(identity, A)
    return pull_back(None)  # here


@case(
    DifferentiationError,
    "primal and tangent arguments to jvp do not match; dtypes must be equal, or in case of "
    "int/bool primal dtype the tangent dtype must be float0: the tangent of x of identity (HERE) "
    "must be of its type float32[3,4], but it is float64[3,4].",
)
def tangent_of_another_dtype() -> object:
    return jvp(identity, (A,), (A.astype(np.float64),))  # here


@case(
    DifferentiationError,
    "primal and tangent arguments to jvp do not match; dtypes must be equal, or in case of "
    "int/bool primal dtype the tangent dtype must be float0: the tangent of x of identity (HERE) "
    "must be of dtype float0, since int32[3] has no derivative, but it is int32[3]. Leave "
    "integer arguments out, or give np.zeros(shape, tinyjax.float0).",
)
def tangent_of_integers() -> object:
    return jvp(identity, (INTS,), (INTS,))  # here


@case(
    DifferentiationError,
    "linearized function called on tangent values inconsistent with the original primal values: "
    "the tangent of x of loss (HERE) must be of its type float32[], but it is float32[5].",
)
def tangent_of_a_linearized_function() -> object:
    tangent_map: Any
    _, tangent_map = linearize(loss, PARAMS, 1.0)
    return tangent_map(PARAMS, B)  # here


@case(
    TreeMismatchError,
    "unexpected tree structure: the argument to a VJP function must match the pytree structure "
    "of the result; trees differ at cotangent: expected dict with keys ['a', 'b'], but got dict "
    "with keys ['a']. Give both the same keys: missing ['b'].",
)
def cotangents_of_another_structure() -> object:
    _, pull_back = vjp(parts, 1.0)
    return pull_back({"a": 1.0})  # here


@case(
    DifferentiationError,
    "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: the cotangent of "
    "result['b'][0] of parts (HERE) must be of its type float32[], but it is float32[5].",
)
def cotangent_of_another_shape() -> object:
    _, pull_back = vjp(parts, 1.0)
    return pull_back({"a": 1.0, "b": [B]})  # here


# Values that are only known abstractly


@case(
    ConcretizationError,
    "a Python bool needs the data of an array, but bool[] is traced by jit of absolute "
    "(HERE), and depends on the value of the argument x. Use jnp.where or lax.cond for if, "
    "lax.while_loop for while, tinyjax.source.stage, or static_argnums.",
)
def if_under_jit() -> object:
    def absolute(x: Any) -> Any:
        return x if x > 0 else -x  # here

    return jit(absolute)(1.0)


@case(
    ConcretizationError,
    "a Python index needs the data of an array, but int32[] is traced by jit of <lambda> "
    "(HERE), and depends on the value of the argument n. Shapes and range() need Python "
    "ints: take them from x.shape, or make the argument static (static_argnums=...). Use "
    "lax.fori_loop in place of a for loop whose length is traced.",
)
def range_under_jit() -> object:
    return jit(lambda n: sum(range(n)))(3)  # here


@case(
    ConcretizationError,
    "a Python float needs the data of an array, but float32[] is traced by vmap of <lambda> "
    "(HERE). Keep the array: NumPy's functions and tinyjax.numpy's take it. Make it an argument "
    "that all examples share (in_axes=None), or compute this outside of the function. "
    "tinyjax.source.capture takes programs that use math, or write into NumPy's arrays.",
)
def float_under_vmap() -> object:
    return vmap(lambda x: float(x) + 1)(B)  # here


@case(
    ConcretizationError,
    "a Python float has no derivative, but float32[] is differentiated by grad of "
    "<lambda> (HERE). Use NumPy's function, or tinyjax.numpy's, instead of one of math. For a "
    "constant, write float(tinyjax.lax.stop_gradient(x)). tinyjax.source.capture takes programs "
    "that use math, or write into NumPy's arrays.",
)
def function_of_math_under_grad() -> object:
    return grad(lambda x: 2 * math.sin(x))(0.5)  # here


@case(
    ConcretizationError,
    "a Python complex has no derivative, but complex64[] is differentiated by jvp of "
    "<lambda> (HERE). Use NumPy's function, or tinyjax.numpy's, instead of one of math. For a "
    "constant, write complex(tinyjax.lax.stop_gradient(x)). tinyjax.source.capture takes programs "
    "that use math, or write into NumPy's arrays.",
)
def function_of_cmath_under_jvp() -> object:
    return jvp(lambda x: 2 * cmath.sin(x), (1j,), (1j,))  # here


@case(
    ConcretizationError,
    "a NumPy array needs the data of an array, but float32[5] is traced by jit of <lambda> "
    "(HERE), and depends on the value of the argument x. Write jnp.asarray in place of "
    "np.asarray.",
)
def numpy_array_under_jit() -> object:
    return jit(lambda x: np.asarray(x) + 1)(B)  # here


@case(
    ConcretizationError,
    "a NumPy array needs the data of an array, but float32[5] is traced by grad of "
    "<lambda> (HERE). Use tinyjax.random, whose functions take a key.",
)
def numpy_random_under_grad() -> object:
    return grad(lambda x: np.sum(np.random.default_rng(0).normal(x)))(B)  # here


@case(
    LeakedTracerError,
    "a value of type float32[] that was traced by jit of store (HERE) is used after that "
    "transformation ended. It is the argument x. It was probably stored in a global, an "
    "attribute or a list by the function; return it from the function instead.",
)
def leaked_value() -> object:
    stored: list[Any] = []

    def store(x: Any) -> None:
        stored.append(x)

    jit(store)(1.0)
    return stored[0] + 1  # here


# Axes


@case(
    BatchSizeError,
    "vmap of loss (HERE) got inconsistent sizes for array axes to be mapped:\n  params['w'][0] has "
    "size 2 along axis 0\n  params['w'][1] has size 3 along axis 0\n  x has size 3 along axis 0\n"
    "Make the sizes equal, or give None in in_axes for arguments that all examples share.",
)
def vmap_of_unequal_sizes() -> object:
    return vmap(loss)(PARAMS, A)  # here


@case(
    BatchSizeError,
    "vmap of identity (HERE) got inconsistent sizes for array axes to be mapped:\n  x has size 4 "
    "along axis 1\n  axis_size is 7\nMake the sizes equal, or give None in in_axes for arguments "
    "that all examples share.",
)
def vmap_of_another_axis_size() -> object:
    return vmap(identity, in_axes=1, axis_size=7)(A)  # here


@case(
    BatchSizeError,
    "vmap of identity (HERE) must be passed at least one argument that is mapped (must have at "
    "least one non-None value in in_axes) or be given axis_size: it does not know how many "
    "examples there are.",
)
def vmap_over_nothing() -> object:
    return vmap(identity, in_axes=None)(A)  # here


@case(
    ArgumentError,
    "in_axes must be an int, None, or a tuple of entries corresponding to the positional "
    "arguments, but it has 1 entries, and loss (HERE) was called with 2 positional arguments. Give "
    "an axis (or None) for each, or one int for all.",
)
def in_axes_of_another_length() -> object:
    return vmap(loss, in_axes=(0,))(PARAMS, A)  # here


@case(
    AxisError,
    "vmap was requested to map its argument along axis 7, which implies that its rank should be "
    "at least 8, but is only 2 (its shape is (3, 4)). Change in_axes of x of loss (HERE): give "
    "None for an argument that is the same for all examples; or call the function itself.",
)
def in_axes_out_of_range() -> object:
    return vmap(loss, in_axes=(0, 7))(PARAMS, A)  # here


@case(
    TreeMismatchError,
    "in_axes must be a tree prefix of the corresponding value; pytree structure error: different "
    "pytree metadata at key path\n    in_axes[0]: expected dict with keys ['w'], but got dict "
    "with keys ['v']. Give both the same keys: missing ['w'] and unknown ['v'].",
)
def in_axes_of_another_structure() -> object:
    return vmap(loss, in_axes=({"v": 0}, 0))(PARAMS, A)  # here


@case(
    ArgumentError,
    "in_axes must be an int, None, or (nested) container with those types as leaves, but it holds "
    "'rows'.",
)
def in_axes_that_are_no_axes() -> object:
    return vmap(identity, in_axes=("rows",))(A)  # here


@case(AxisError, "out_axes 5 is out of bounds for array of dimension 2: it must be in [-2, 2).")
def out_axes_out_of_range() -> object:
    return vmap(identity, out_axes=5)(A)  # here


@case(
    ArgumentError,
    "at vmap out_axes, got axis spec None but output was batched: result['b'][0] of parts (HERE) "
    "differs from example to example. Give the axis where the examples should go.",
)
def out_axes_none_of_a_mapped_result() -> object:
    return vmap(parts, out_axes={"a": 0, "b": None})(A)  # here


# jit


@case(
    StaticArgumentError,
    "static argument 1 of loss (HERE) is of type list, which is not hashable. Non-hashable static "
    "arguments cannot be told apart. Pass a tuple instead of a list, or a frozen class.",
)
def unhashable_static_argument() -> object:
    return jit(loss, static_argnums=1)(PARAMS, [1])  # here


@case(
    StaticArgumentError,
    "static 'x' of loss (HERE) is of type list, which is not hashable. Non-hashable static "
    "arguments cannot be told apart. Pass a tuple instead of a list, or a frozen class.",
)
def unhashable_static_keyword() -> object:
    return jit(loss, static_argnames="x")(PARAMS, x=[1])  # here


@case(
    ArgumentError,
    "this array (float32[1000]) was donated to a compiled function, which has reused its memory, "
    "or it was deleted. "
    "Use the function's result, or do not donate the argument.",
)
def donated_array() -> object:
    x = jit(lambda: jnp.zeros(1000))()
    jit(lambda x: x + 1, donate_argnums=0)(x)
    return x * 2  # here


# Primitives


bare_p: Primitive[NoParams] = Primitive("bare", NoParams)
del registry["bare"]  # a primitive of this test only; those of the package have all their rules


@case(
    MissingRuleError,
    "primitive 'bare' has no impl rule. It has: none. Register one with @p.def_impl, where p is "
    "the Primitive 'bare'.",
)
def missing_impl() -> object:
    return bind1(bare_p, (array(A),), NO_PARAMS)  # here


@case(
    MissingRuleError,
    "primitive 'bare' has no jvp rule. It has: none. Register one with @p.def_jvp, where p is "
    "the Primitive 'bare'.",
)
def missing_jvp() -> object:
    return grad(lambda x: bind1(bare_p, (x,), NO_PARAMS))(1.0)  # here


@case(
    MissingRuleError,
    "primitive 'bare' has no batch rule. It has: none. Register one with @p.def_batch, where p is "
    "the Primitive 'bare'.",
)
def missing_batch() -> object:
    return vmap(lambda x: bind1(bare_p, (x,), NO_PARAMS))(A)  # here


@case(
    MissingRuleError,
    "primitive 'bare' has no abstract_eval rule. It has: none. Register one with "
    "@p.def_abstract_eval, where p is the Primitive 'bare'.",
)
def missing_abstract_eval() -> object:
    return jit(lambda x: bind1(bare_p, (x,), NO_PARAMS))(A)  # here


@case(
    ArgumentError,
    "a primitive takes arrays, but got int. Convert it with jnp.asarray(...).",
    wrong_types=True,
)
def operand_that_is_no_array() -> object:
    one: Any = 1
    return bind1(bare_p, (one,), NO_PARAMS)  # here


@case(
    ArgumentError,
    "a primitive takes arrays, but got ndarray. Convert it with jnp.asarray(...).",
    wrong_types=True,
)
def staged_operand_that_is_no_array() -> object:
    ones: Any = np.ones(3)
    return jit(lambda x: bind1(registry["sin"], (ones, x), NO_PARAMS))(A)  # here


# Arrays


@case(
    ArgumentError,
    "arrays are immutable: instead of x[index] = value write x = x.at[index].set(value).",
)
def assignment() -> object:
    x = array(A)
    x[0] = 1  # here
    return x


@case(
    ArgumentError,
    "an array of type float32[3,4] is not a Python bool: use jnp.where, jnp.any or jnp.all.",
)
def truth_of_an_array() -> object:
    return bool(array(A))  # here


# Settings


@case(
    ArgumentError,
    "there is no setting 'speed'. The settings are: default_dtypes, wide_dtypes, "
    "dtype_promotion, rank_promotion, "
    "threefry_partitionable, default_prng_impl, default_matmul_precision, check_leaks, "
    "check_jaxprs, debug_nans, debug_infs, "
    "debug_bounds, debug_key_reuse, explain, cache_dir, cache_max_bytes, disable_jit, "
    "disable_bwd_checks, interruptible, tier, compiler, progress, announce, effort, locations, "
    "tracebacks, typecheck, num_cpu_devices, default_device, platforms, transfers_to_device, "
    "transfers_between_devices, transfers_to_host, user_contexts.",
)
def unknown_setting() -> object:
    unchecked(config.update)("speed", 11)  # here
    return None


@case(ArgumentError, "default_dtypes takes float32, float64 or mixed, but got 'int8'.")
def unknown_default_dtype() -> object:
    with tinyjax.default_dtypes("int8") as settings:  # here
        return settings


# Control flow, custom rules and callbacks


def wide(x: Any) -> Any:
    return {"a": x, "b": jnp.ones((2, 2))}


def narrow(x: Any) -> Any:
    return {"a": x, "b": jnp.ones(2)}


@case(
    BranchTypeError,
    "cond branches must have equal output types but they differ. The output of true_fun at path "
    "['b'] has type float32[2,2] but the corresponding output of false_fun has type float32[2], "
    "so the shapes do not match. true_fun is wide (HERE) and false_fun is narrow (HERE). Reshape "
    "or broadcast one of them.",
)
def branches_of_different_shapes() -> object:
    return jit(lambda flag: lax.cond(flag, wide, narrow, 1.0))(True)  # here


@case(
    BranchTypeError,
    "result[1] of the branches of switch: dtypes float16 and float8_e5m2 have no common type to "
    "promote to. Convert one of them with .astype(...).",
)
def branches_whose_dtypes_have_no_common_type() -> object:
    half, eighth = jnp.ones(2, "float16"), jnp.ones(2, "float8_e5m2")
    return jit(lambda i: lax.switch(i, [lambda: (0, half), lambda: (0, eighth)]))(1)  # here


def widening(carry: Any, x: Any) -> Any:
    return {"n": carry["n"], "w": [carry["w"][0] * x]}, x


@case(
    CarryTypeError,
    "scan body function carry input and carry output must have equal types, but they "
    "differ:\n\nThe input carry component carry['w'][0] has type float32[2] but the "
    "corresponding output carry component has type float64[2], so the dtypes do not "
    "match.\n\nThe body function is widening (HERE). Return it as .astype('float32'), or start "
    "with an array of dtype float64. NumPy makes float64 of what has no dtype, np.ones(3) and "
    "np.sqrt(2): name a dtype, make a number Python's by float(...), or switch 64-bit types off "
    "(jax_enable_x64).",
)
def a_carry_of_another_dtype() -> object:
    return lax.scan(widening, {"n": 0, "w": [jnp.ones(2)]}, np.ones(3))  # here


@case(
    CarryTypeError,
    "while_loop body function carry input and carry output must have equal types, but they "
    "differ:\n\nThe input carry component s[0] has type float32[5] but the corresponding output "
    "carry component has type float32[1], so the shapes do not match.\n\nThe body function is "
    "<lambda> (HERE). Return an array of the shape it had, or start with one of the new shape.",
)
def a_state_of_another_shape() -> object:
    return lax.while_loop(lambda s: s[1] < 3, lambda s: (s[0][:1], s[1] + 1), (array(B), 0))  # here


@case(
    CarryTypeError,
    "fori_loop body function carry input and carry output must have equal types, but they "
    "differ:\n\nThe input carry x has type int32[] but the corresponding output carry component "
    "has type float32[], so the dtypes do not match.\n\nThe body function is "
    "<lambda>.<locals>.<lambda> (HERE). Return it as .astype('int32'), or start with an array of "
    "dtype float32.",
)
def a_counted_carry_of_another_dtype() -> object:
    return jit(lambda x: lax.fori_loop(0, 3, lambda i, x: x + 0.5, x))(np.int32(1))  # here


def scaled(params: Any, x: Any) -> Any:
    return params["w"] * x


@case(
    CarryTypeError,
    "fori_loop body function carry input and carry output must have the same pytree structure, "
    "but they differ:\n\nThe input carry x is a pytree leaf but the corresponding component of "
    "the carry output is a tuple of length 2.\n\nThe body function is both (HERE). Make the "
    "containers, their keys and lengths equal.",
)
def a_counted_carry_of_another_structure() -> object:
    def both(i: Any, x: Any) -> Any:
        return x, i

    def loop(n: Any) -> Any:
        return lax.fori_loop(0, n, both, 1.0)  # here

    return jit(loop)(3)


@case(
    DifferentiationError,
    "Custom VJP bwd rule <lambda> (HERE) for function scaled must produce a tuple with a "
    "cotangent for each differentiated argument, the same container (pytree) structure as "
    "theirs, PyTreeDef(({'w': *}, *)) (None for zero): cotangents must be a tree prefix of the "
    "corresponding value; pytree structure error: different lengths of tuple at key path\n    "
    "cotangents: expected tuple of length 2, but got tuple of length 1. Give both the same "
    "number of children.",
)
def a_backward_rule_that_leaves_out_an_argument() -> object:
    f = custom_vjp(scaled)
    f.defvjp(lambda params, x: (f(params, x), x), lambda x, ct: ({"w": ct * x},))
    return grad(f)({"w": 2.0}, 3.0)  # here


@case(
    DifferentiationError,
    "Custom VJP bwd rule <lambda> (HERE) for function scaled must produce a tuple with a "
    "cotangent for each differentiated argument, the same container (pytree) structure as "
    "theirs, PyTreeDef(({'w': *}, *)) (None for zero): cotangents must be a tree prefix of the "
    "corresponding value; pytree structure error: different pytree metadata at key path\n    "
    "cotangents[0]: expected dict with keys ['w'], but got dict with keys ['v']. Give both the "
    "same keys: missing ['w'] and unknown ['v'].",
)
def a_backward_rule_with_another_key() -> object:
    f = custom_vjp(scaled)
    f.defvjp(lambda params, x: (f(params, x), x), lambda x, ct: ({"v": ct * x}, None))
    return jit(grad(f))({"w": 2.0}, 3.0)  # here


@case(
    DifferentiationError,
    "Custom VJP bwd rule must produce an output with the same type as the args tuple of the "
    "primal function, but at output[0]['w'] the bwd rule produced an output of type float32[] "
    "corresponding to an input of type float32[5]. The rule is <lambda> (HERE). Sum over what "
    "was broadcast, or broadcast what was summed.",
)
def a_cotangent_of_another_shape() -> object:
    f = custom_vjp(scaled)
    f.defvjp(lambda params, x: (f(params, x).sum(), x), lambda x, ct: ({"w": ct}, None))
    return grad(lambda params: jnp.sum(f(params, 3.0)))({"w": array(B)})  # here


@case(
    CallbackError,
    "callback on_host (HERE) returned at result['y'] an array of type float32[4], but float32[5] "
    "was declared in result_shape_dtypes. Return what was declared, with .astype(...) or "
    ".reshape(...) where needed, or declare what is returned.",
)
def a_callback_that_returns_another_shape() -> object:
    def on_host(x: Any) -> Any:
        return {"y": x[1:]}

    def f(x: Any) -> Any:
        return pure_callback(on_host, {"y": x}, x)  # here

    return jit(f)(B)


@case(
    CallbackError,
    "callback <lambda> (HERE) returned at result an array of type float32[], but float32[3,4] was "
    "declared in result_shape_dtypes under vmap over axes of length (3,). Return what was declared,"
    " with .astype(...) or .reshape(...) where needed, or declare what is returned.",
)
def a_callback_that_returns_another_shape_under_vmap() -> object:
    def f(x: Any) -> Any:
        return pure_callback(lambda x: x.sum(), x, x, vmap_method="expand_dims")  # here

    return vmap(f)(A)


@case(
    ArgumentError,
    "cond_fun must return a boolean scalar, but got output type(s) bool[5]. Change what below "
    "(HERE), given to while_loop, returns: reduce it with jnp.any(...) or jnp.all(...), or "
    "compare: x != 0.",
)
def a_condition_for_each_element() -> object:
    def below(x: Any) -> Any:
        return x < 10

    return lax.while_loop(below, identity, array(B))  # here


@case(
    ArgumentError,
    "cond_fun must return a boolean scalar, but got output type(s) int32[]. Change what rest "
    "(HERE), given to while_loop, returns: reduce it with jnp.any(...) or jnp.all(...), or "
    "compare: x != 0.",
)
def a_condition_that_is_a_number() -> object:
    def rest(state: Any) -> Any:
        return 3 - state["n"]

    return lax.while_loop(rest, identity, {"n": 0})  # here


@case(
    ArgumentError,
    "the vmap rule of <lambda> closes over a value that the same vmap maps, or is given a "
    "reference to it, and is applied to all examples at once. Make the value itself an argument of "
    "<lambda>.",
)
def a_vmap_rule_that_closes_over_what_is_mapped() -> object:
    def f(x: Any, c: Any) -> Any:
        product = custom_batch(lambda x: x * c)
        product.def_vmap(lambda size, in_batched, x: (x * c, True))
        return product(x)  # here

    return vmap(f)(A, A)


@case(
    ArgumentError,
    "the vmap rule of <lambda> closes over a value that was traced when it was staged (by jit or a "
    "loop), or is given a reference to it, and is applied to all examples at once. Make the value "
    "itself an argument of <lambda>.",
)
def a_vmap_rule_that_closes_over_an_argument_of_jit() -> object:
    @jit
    def f(x: Any, c: Any) -> Any:
        product = custom_batch(lambda x: x * c)
        product.def_vmap(lambda size, in_batched, x: (x * c, True))
        return product(x)

    return vmap(f, (0, None))(A, 2.0)  # here


# The data that errors carry


# NaNs


@case(
    NanError,
    "a NaN was born in log, in iteration 2 of the scan at HERE in run, in example 1 of a vmap "
    "over 2: log(-1.0). It is in result['logs'] of run (HERE).",
)
def nan_in_a_loop() -> object:
    def iteration(x: Any, _: Any) -> Any:
        return x - 1.0, jnp.log(x)  # here

    def run(x: Any) -> Any:
        last, logs = lax.scan(iteration, x, None, length=3)
        return {"last": last, "logs": logs}

    with config.scoped(debug_nans=True):
        return jit(vmap(run))(jnp.array([9.0, 1.0]))


@case(
    NanError,
    "a NaN was born in div, in the backward pass of this line: div(0.0, 0.0). It is in result of "
    "turned (HERE). Zero times an infinite derivative is NaN. If a product with zeros hides the "
    "value that this is the derivative of, choose instead: where(ok, f(x), y). If a product of "
    "matrices lies between, choose the argument as well: f(where(ok, x, 1.0)).",
)
def nan_behind_a_where() -> object:
    def turned(x: Any) -> Any:
        return jnp.where(x[0, 0] > 0, jnp.sqrt(x) @ jnp.ones((2, 2)), 0.0).sum()  # here

    with config.scoped(debug_nans=True):
        return grad(turned)(jnp.zeros((2, 2)))


@case(
    NanError,
    "a NaN was born in dot_general: dot_general(float32[3], float32[3] with infinities). It was "
    "read in an array of type float32[].",
)
def nan_that_is_read() -> object:
    x = jnp.arange(3.0)
    with config.scoped(debug_nans=True):
        return float(jnp.dot(x, 1 / x))  # here


# Equations


def halved(x: Any) -> Any:
    return x[:1]


@case(
    ArgumentError,
    "halved (HERE), the function of root, must return for x0, of type float32[2], an array of its "
    "shape, but returned float32[1]. There are as many equations as unknowns.",
)
def fewer_equations_than_unknowns() -> object:
    return implicit.root(halved, jnp.ones(2))  # here


@case(
    ArgumentError,
    "<lambda> (HERE) is positive at both ends of the bracket of root. Give two numbers where its "
    "signs differ.",
)
def bracket_without_a_change_of_sign() -> object:
    return implicit.root(lambda x: x * x + 1.0, bracket=(-1.0, 1.0))  # here


@case(
    ArgumentError,
    "identity (HERE), the function of minimize, must return a real scalar, but returned "
    "float32[2].",
)
def minimum_of_a_vector() -> object:
    return implicit.minimize(identity, jnp.ones(2))  # here


@case(
    ShapeError,
    "b of linear_solve must have 2 rows, as many as A of type float32[2,2], but it is float32[3].",
)
def right_side_of_another_size() -> object:
    return implicit.linear_solve(jnp.eye(2), jnp.ones(3))  # here


@case(
    ArgumentError,
    "<lambda> (HERE), the solve of custom_linear_solve, must return for b['x'], of type "
    "float32[2], the same, but returned float32[1].",
)
def solution_of_another_size() -> object:
    b = {"x": jnp.ones(2)}
    solve = lambda matvec, b: {"x": b["x"][:1]}  # noqa: E731
    return lax.custom_linear_solve(lambda x: x, b, solve)  # here


@case(
    DifferentiationError,
    "custom_linear_solve was called without transpose_solve, which reverse mode (grad, vjp, "
    "jacrev) needs. Give it one, or say symmetric=True if the matrix is symmetric.",
)
def linear_solve_without_a_transpose() -> object:
    solve = lambda b: lax.custom_linear_solve(lambda x: x, b, lambda matvec, b: b)  # noqa: E731
    return grad(solve)(1.0)  # here


@case(
    ArgumentError,
    "<lambda> (HERE), the derivative in odeint, must return for y0, of type float32[2], an array "
    "of its shape, but returned float32[1].",
)
def slope_of_another_shape() -> object:
    return implicit.odeint(lambda y, t: halved(y), jnp.ones(2), jnp.arange(2.0))  # here


def test_errors_are_also_what_python_programs_expect() -> None:
    with raises(ValueError, match="incompatible shapes"):
        operator_shapes()
    with raises(TypeError, match="scalar-output"):
        grad_of_a_matrix()
    with raises(NotImplementedError, match="no batch rule"):
        missing_batch()
    with raises(IndexError, match="should be at least 8"):
        in_axes_out_of_range()


def test_errors_carry_data() -> None:
    with pytest.raises(MissingRuleError) as missing:
        missing_batch()
    assert (missing.value.primitive, missing.value.rule) == ("bare", "batch")
    assert missing.value.registered == ()
    with pytest.raises(AxisError) as axis:
        in_axes_out_of_range()
    assert (axis.value.axis, axis.value.ndim) == (7, 2)
    with pytest.raises(TreeMismatchError) as tree:
        tangents_of_another_structure()
    assert tree.value.path == "tangents[0]['w']"
    with pytest.raises(ShapeError) as shape:
        operator_shapes()
    assert shape.value.location is not None
    assert shape.value.location.text == "return array(A) + array(B)  # here"


def test_an_error_names_the_line_and_shows_it() -> None:
    with pytest.raises(ShapeError) as caught:
        operator_shapes()
    last = str(caught.value).splitlines()[-1]
    pattern = r"  at .*test_errors\.py:\d+ in operator_shapes: return array\(A\) \+ array\(B\)  # h"
    assert re.match(pattern, last)


def test_patterns_of_tests_are_not_found_in_that_line() -> None:
    operands = r"array\(A\) \+ array\(B\)"
    with (
        raises(AssertionError, match="in 'add: "),
        raises(ShapeError, match=operands),
    ):
        operator_shapes()

"""What users are told: each mistake's message, and the line of theirs that it names.

A case is a function with one mistake, on the line marked ``# here``. Its message is compared whole,
with this file's path and line numbers taken out.
"""

import pickle
import re
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import (
    config,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    make_jaxpr,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.core.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.trace import EVAL, bind1, current_trace
from tinyjax.errors import (
    ArgumentError,
    AxisError,
    BatchSizeError,
    ConcretizationError,
    DifferentiationError,
    DtypeError,
    LeakedTracerError,
    MissingRuleError,
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


def parts(x: Any) -> dict[str, Any]:
    return {"a": x, "b": [x]}


# Shapes and dtypes


@case(
    ShapeError,
    "add: shapes (3, 4) and (5,) do not broadcast: counted from the last axis, sizes must be equal "
    "or 1.",
)
def operator_shapes() -> object:
    return array(A) + array(B)  # here


@case(
    ShapeError,
    "multiply: shapes (3, 4) and (5,) do not broadcast: counted from the last axis, sizes must be "
    "equal or 1.",
)
def operator_shapes_under_jit() -> object:
    def product(x: Any, y: Any) -> Any:
        return x * y  # here

    return jit(product)(A, B)


@case(
    ShapeError,
    "subtract: shapes (4,) and (5,) do not broadcast: counted from the last axis, sizes must be "
    "equal or 1.",
)
def operator_shapes_under_vmap() -> object:
    return vmap(lambda x: x - array(B))(A)  # here


@case(
    DtypeError,
    "and does not take float32: it takes bool, signed integer, unsigned integer. Convert the "
    "operand with .astype(...).",
)
def bitwise_and_of_floats() -> object:
    return array(A) & array(A)  # here


@case(
    DtypeError,
    "neg does not take bool: it takes signed integer, unsigned integer, float, complex. Convert "
    "the operand with .astype(...).",
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
    "add: 1000000000000 does not fit in the other operand's dtype, int32. Convert that operand to "
    "a wider one with .astype(...).",
)
def a_number_that_does_not_fit() -> object:
    return array(INTS) + 10**12  # here


@case(DtypeError, "'float33' is not a dtype.")
def no_dtype() -> object:
    return array(A).astype("float33")  # here


@case(
    DtypeError,
    "a NumPy array of dtype object cannot be an array: it must hold numbers or bools.",
)
def numpy_array_of_objects() -> object:
    return jnp.sin(np.array([object()]))  # here


# Arguments and results that are not arrays


@case(
    ArgumentError,
    "add: expected an array or a number, but got str: 'a'. Convert it with jnp.asarray(...).",
    wrong_types=True,
)
def operator_with_a_string() -> object:
    return array(A) + "a"  # here


@case(
    ArgumentError,
    "sin: expected an array or a number, but got NoneType: None. Convert it with jnp.asarray(...).",
    wrong_types=True,
)
def function_of_none() -> object:
    nothing: Any = None
    return jnp.sin(nothing)  # here


@case(
    ArgumentError,
    "params['w'][0] of loss (HERE): expected an array or a number, but got str: 'a'. Convert it "
    "with jnp.asarray(...).",
)
def argument_of_jit() -> object:
    return jit(loss)({"w": ["a"]}, 1.0)  # here


@case(
    ArgumentError,
    "x of loss (HERE): expected an array or a number, but got str: 'a'. Convert it with "
    "jnp.asarray(...).",
)
def argument_of_grad() -> object:
    return grad(loss, argnums=(0, 1))(PARAMS, "a")  # here


@case(
    ArgumentError,
    "params['w'][1] of loss (HERE): expected an array or a number, but got str: 'a'. Convert it "
    "with jnp.asarray(...).",
)
def argument_of_vmap() -> object:
    return vmap(loss)({"w": [A, "a"]}, A)  # here


@case(
    ArgumentError,
    "x['q'] of loss (HERE): expected an array or a number, but got str: 'a'. Convert it with "
    "jnp.asarray(...).",
)
def argument_by_keyword() -> object:
    return jit(loss)(PARAMS, x={"q": "a"})  # here


@case(
    ArgumentError,
    "x of loss (HERE): expected an array or a number, but got str: 'a'. Convert it with "
    "jnp.asarray(...).",
)
def argument_after_a_static_one() -> object:
    return jit(loss, static_argnums=0)("key", "a")  # here


@case(
    ArgumentError,
    "x of loss (HERE): expected an array or a number, but got str: 'a'. Convert it with "
    "jnp.asarray(...).",
)
def argument_of_make_jaxpr() -> object:
    return make_jaxpr(loss, static_argnums=0)("key", "a")  # here


@case(
    ArgumentError,
    "returns_text (HERE) returned at result['out'][1] what is not an array: expected an array or a "
    "number, but got str: 'a'. Convert it with jnp.asarray(...).",
)
def result_of_jit() -> object:
    return jit(returns_text)(1.0)  # here


@case(
    ArgumentError,
    "returns_text (HERE) returned at result['out'][1] what is not an array: expected an array or a "
    "number, but got str: 'a'. Convert it with jnp.asarray(...).",
)
def result_of_grad() -> object:
    return grad(returns_text)(1.0)  # here


def returns_text(x: Any) -> object:
    return {"out": [x, "a"]}


@case(ArgumentError, "fun of grad must be a function, but got 3 (int).")
def not_a_function() -> object:
    three: Any = 3
    return grad(three)  # here


@case(
    ArgumentError,
    "with has_aux=True, identity (HERE) must return a pair (output, auxiliary data), but it "
    "returned an array of type float32[].",
)
def no_auxiliary_data() -> object:
    return value_and_grad(identity, has_aux=True)(1.0)  # here


# Derivatives


@case(
    DifferentiationError,
    "grad needs a scalar result, but identity (HERE) returned an array of type float32[3,4]. "
    "Reduce it, for instance with jnp.sum, or use tinyjax.jacrev or tinyjax.vjp.",
)
def grad_of_a_matrix() -> object:
    return grad(identity)(A)  # here


@case(
    DifferentiationError,
    "value_and_grad needs a scalar result, but parts (HERE) returned "
    "PyTreeDef({'a': *, 'b': [*]}). Reduce it, for instance with jnp.sum, or use tinyjax.jacrev or "
    "tinyjax.vjp.",
)
def grad_of_a_container() -> object:
    return value_and_grad(parts)(1.0)  # here


@case(
    DifferentiationError,
    "grad differentiates floats, but params['w'][0] of loss (HERE) is int32[3]. Convert it with "
    ".astype(float), or differentiate another argument with argnums.",
)
def grad_of_an_integer_argument() -> object:
    return grad(loss)({"w": [INTS]}, 2.0)  # here


@case(
    DifferentiationError,
    "grad needs a real float result, but <lambda> (HERE) returned bool[]. Convert it with "
    ".astype(float).",
)
def grad_of_a_comparison() -> object:
    return grad(lambda x: x > 0)(1.0)  # here


@case(
    DifferentiationError,
    "grad needs a real float result, but <lambda> (HERE) returned complex64[]. For a holomorphic "
    "function pass holomorphic=True; else use tinyjax.vjp.",
)
def grad_of_a_complex_result() -> object:
    return grad(lambda x: x * 1j)(1.0)  # here


@case(
    DifferentiationError,
    "grad with holomorphic=True needs complex arguments, but x of identity (HERE) is float32[].",
)
def holomorphic_grad_of_a_real_argument() -> object:
    return grad(identity, holomorphic=True)(1.0)  # here


@case(
    ArgumentError,
    "grad of loss (HERE) differentiates positional argument 5, but it was called with 2 positional "
    "arguments.",
)
def argnums_out_of_range() -> object:
    return grad(loss, argnums=5)(PARAMS, 1.0)  # here


@case(
    DifferentiationError,
    "jacfwd differentiates floats, but x of identity (HERE) is int32[3]. Convert it with "
    ".astype(float), or differentiate another argument with argnums.",
)
def jacobian_of_integers() -> object:
    return jacfwd(identity)(INTS)  # here


@case(
    DifferentiationError,
    "jacrev needs real float results, but <lambda> (HERE) returned int32[3]. Convert it with "
    ".astype(float).",
)
def jacobian_with_integer_results() -> object:
    return jacrev(lambda x: array(INTS))(A)  # here


@case(
    DifferentiationError,
    "jacfwd differentiates floats, but x of identity (HERE) is int32[3]. Convert it with "
    ".astype(float), or differentiate another argument with argnums.",
)
def hessian_of_integers() -> object:
    return hessian(identity)(INTS)  # here


@case(
    ArgumentError,
    "jvp takes primals as a tuple or list with one entry per argument, but got float. Write "
    "(primals,) for one argument.",
    wrong_types=True,
)
def primals_without_a_tuple() -> object:
    one: Any = 1.0
    return jvp(jnp.sin, one, one)  # here


@case(
    TreeMismatchError,
    "trees differ at tangents: expected tuple of length 2, but got tuple of length 1. Give both "
    "the same number of children.",
)
def too_few_tangents() -> object:
    return jvp(loss, (PARAMS, 1.0), (PARAMS,))  # here


@case(
    TreeMismatchError,
    "trees differ at tangents[0]['w']: expected list of length 2, but got list of length 1. Give "
    "both the same number of children.",
)
def tangents_of_another_structure() -> object:
    return jvp(loss, (PARAMS, 1.0), ({"w": [A]}, 1.0))  # here


@case(
    DifferentiationError,
    "the tangent of params['w'][0] of loss (HERE) must be of its type float32[2], but it is "
    "float32[5].",
)
def tangent_of_another_shape() -> object:
    return jvp(loss, (PARAMS, 1.0), ({"w": [B, PARAMS["w"][1]]}, 1.0))  # here


@case(
    DifferentiationError,
    "the tangent of x of identity (HERE) must be of its type float32[3,4], but it is float64[3,4].",
)
def tangent_of_another_dtype() -> object:
    return jvp(identity, (A,), (A.astype(np.float64),))  # here


@case(
    DifferentiationError,
    "the tangent of x of identity (HERE) must be of dtype float0, since int32[3] has no "
    "derivative, but it is int32[3]. Leave integer arguments out, or give np.zeros(shape, "
    "tinyjax.float0).",
)
def tangent_of_integers() -> object:
    return jvp(identity, (INTS,), (INTS,))  # here


@case(
    DifferentiationError,
    "the tangent of x of loss (HERE) must be of its type float32[], but it is float32[5].",
)
def tangent_of_a_linearized_function() -> object:
    _, tangent_map = linearize(loss, PARAMS, 1.0)
    return tangent_map(PARAMS, B)  # here


@case(
    TreeMismatchError,
    "trees differ at cotangent: expected dict with keys ['a', 'b'], but got dict with keys ['a']. "
    "Give both the same keys: missing ['b'].",
)
def cotangents_of_another_structure() -> object:
    _, pull_back = vjp(parts, 1.0)
    return pull_back({"a": 1.0})  # here


@case(
    DifferentiationError,
    "the cotangent of result['b'][0] of parts (HERE) must be of its type float32[], but it is "
    "float32[5].",
)
def cotangent_of_another_shape() -> object:
    _, pull_back = vjp(parts, 1.0)
    return pull_back({"a": 1.0, "b": [B]})  # here


# Values that are only known abstractly


@case(
    ConcretizationError,
    "a Python bool was wanted of a value that is only known as bool[] inside staging of absolute "
    "(HERE). Python control flow and conversions need data: use jnp.where or lax.cond for a "
    "choice, a loop of tinyjax.lax for repetition, or make the argument static "
    "(static_argnums=...) if it is not an array.",
)
def if_under_jit() -> object:
    def absolute(x: Any) -> Any:
        return x if x > 0 else -x  # here

    return jit(absolute)(1.0)


@case(
    ConcretizationError,
    "a Python index was wanted of a value that is only known as int32[] inside staging of "
    "<lambda> (HERE). Python control flow and conversions need data: use jnp.where or lax.cond for "
    "a choice, a loop of tinyjax.lax for repetition, or make the argument static "
    "(static_argnums=...) if it is not an array.",
)
def range_under_jit() -> object:
    return jit(lambda n: sum(range(n)))(3)  # here


@case(
    ConcretizationError,
    "a Python float was wanted of a value that is only known as float32[] inside vmap of <lambda> "
    "(HERE). Python control flow and conversions need data: use jnp.where or lax.cond for a "
    "choice, a loop of tinyjax.lax for repetition, or make the argument static "
    "(static_argnums=...) if it is not an array.",
)
def float_under_vmap() -> object:
    return vmap(lambda x: float(x) + 1)(B)  # here


@case(
    ConcretizationError,
    "a NumPy array was wanted of a value of type float32[5] that is traced by staging of <lambda> "
    "(HERE). Use the function of the same name in tinyjax.numpy instead of NumPy's.",
)
def numpy_function_under_jit() -> object:
    return jit(lambda x: np.sin(x) + 1)(B)  # here


@case(
    ConcretizationError,
    "a NumPy array was wanted of a value of type float32[5] that is traced by linearize of "
    "<lambda> (HERE). Use the function of the same name in tinyjax.numpy instead of NumPy's.",
)
def numpy_function_under_grad() -> object:
    return grad(lambda x: np.sum(np.sin(x)))(B)  # here


@case(
    LeakedTracerError,
    "a value of type float32[] that was traced by staging of store (HERE) is used after that "
    "transformation ended. It was probably stored in a global, an attribute or a list by the "
    "function; return it from the function instead.",
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
    "vmap of loss (HERE) needs mapped axes of one size:\n"
    "  params['w'][0] has size 2 along axis 0\n"
    "  params['w'][1] has size 3 along axis 0\n"
    "  x has size 3 along axis 0\n"
    "Make the sizes equal, or give None in in_axes for arguments that all examples share.",
)
def vmap_of_unequal_sizes() -> object:
    return vmap(loss)(PARAMS, A)  # here


@case(
    BatchSizeError,
    "vmap of identity (HERE) needs mapped axes of one size:\n"
    "  x has size 4 along axis 1\n"
    "  axis_size is 7\n"
    "Make the sizes equal, or give None in in_axes for arguments that all examples share.",
)
def vmap_of_another_axis_size() -> object:
    return vmap(identity, in_axes=1, axis_size=7)(A)  # here


@case(
    BatchSizeError,
    "vmap of identity (HERE) maps over no argument, so it does not know how many examples there "
    "are. Give axis_size, or map over at least one argument.",
)
def vmap_over_nothing() -> object:
    return vmap(identity, in_axes=None)(A)  # here


@case(
    ArgumentError,
    "in_axes has 1 entries, but loss (HERE) was called with 2 positional arguments. Give an axis "
    "(or None) for each, or one int for all.",
)
def in_axes_of_another_length() -> object:
    return vmap(loss, in_axes=(0,))(PARAMS, A)  # here


@case(
    AxisError,
    "in_axes of x 7 is out of range for an array with 2 axes: it must be in [-2, 2).",
)
def in_axes_out_of_range() -> object:
    return vmap(loss, in_axes=(0, 7))(PARAMS, A)  # here


@case(
    TreeMismatchError,
    "trees differ at in_axes[0]: expected dict with keys ['w'], but got dict with keys ['v']. Give "
    "both the same keys: missing ['w'] and unknown ['v'].",
)
def in_axes_of_another_structure() -> object:
    return vmap(loss, in_axes=({"v": 0}, 0))(PARAMS, A)  # here


@case(ArgumentError, "in_axes holds 'rows'; it may hold ints and None.")
def in_axes_that_are_no_axes() -> object:
    return vmap(identity, in_axes=("rows",))(A)  # here


@case(AxisError, "out_axes 5 is out of range for an array with 2 axes: it must be in [-2, 2).")
def out_axes_out_of_range() -> object:
    return vmap(identity, out_axes=5)(A)  # here


@case(
    ArgumentError,
    "out_axes is None for result['b'][0] of parts (HERE), but that differs from example to "
    "example. Give the axis where the examples should go.",
)
def out_axes_none_of_a_mapped_result() -> object:
    return vmap(parts, out_axes={"a": 0, "b": None})(A)  # here


# jit


@case(
    StaticArgumentError,
    "static argument 1 of loss (HERE) is of type list, which is not hashable. Pass a tuple instead "
    "of a list, or a frozen class.",
)
def unhashable_static_argument() -> object:
    return jit(loss, static_argnums=1)(PARAMS, [1])  # here


@case(
    StaticArgumentError,
    "static 'x' of loss (HERE) is of type list, which is not hashable. Pass a tuple instead of a "
    "list, or a frozen class.",
)
def unhashable_static_keyword() -> object:
    return jit(loss, static_argnames="x")(PARAMS, x=[1])  # here


@case(
    ArgumentError,
    "this array (float32[1000]) was donated to a compiled function, which has reused its memory. "
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
    "primitive 'bare' has no impl rule. It has: none. Register one with @bare_p.def_impl.",
)
def missing_impl() -> object:
    return bind1(bare_p, (array(A),), NO_PARAMS)  # here


@case(
    MissingRuleError,
    "primitive 'bare' has no jvp rule. It has: none. Register one with @bare_p.def_jvp.",
)
def missing_jvp() -> object:
    return grad(lambda x: bind1(bare_p, (x,), NO_PARAMS))(1.0)  # here


@case(
    MissingRuleError,
    "primitive 'bare' has no batch rule. It has: none. Register one with @bare_p.def_batch.",
)
def missing_batch() -> object:
    return vmap(lambda x: bind1(bare_p, (x,), NO_PARAMS))(A)  # here


@case(
    MissingRuleError,
    "primitive 'bare' has no abstract_eval rule. It has: none. Register one with "
    "@bare_p.def_abstract_eval.",
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


@case(
    ArgumentError,
    "arrays are not hashable. Use id(x) for identity, or x.tobytes() with x.shape and x.dtype.",
)
def hash_of_an_array() -> object:
    return hash(array(A))  # here


# Settings


@case(
    ArgumentError,
    "there is no setting 'speed'. The settings are: default_dtypes, threefry_partitionable, "
    "check_leaks, check_jaxprs, typecheck.",
)
def unknown_setting() -> object:
    config.update("speed", 11)  # here
    return None


@case(ArgumentError, "default_dtypes takes float32 or float64, but got 'int8'.")
def unknown_default_dtype() -> object:
    with tinyjax.default_dtypes("int8") as settings:  # here
        return settings


# The data that errors carry


def test_errors_are_also_what_python_programs_expect() -> None:
    with pytest.raises(ValueError, match="do not broadcast"):
        operator_shapes()
    with pytest.raises(TypeError, match="scalar result"):
        grad_of_a_matrix()
    with pytest.raises(NotImplementedError, match="no batch rule"):
        missing_batch()
    with pytest.raises(IndexError, match="out of range"):
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


@pytest.mark.parametrize("error", [ArgumentError("a"), ShapeError("b"), DtypeError("c")])
def test_errors_can_be_pickled(error: TinyjaxError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert again.message == error.message

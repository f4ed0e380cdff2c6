"""Calls of foreign functions: what is checked, and what becomes of attributes and layouts."""

import ctypes
from importlib import import_module
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import ffi
from tinyjax.errors import (
    ArgumentError,
    DifferentiationError,
    ExportError,
    ForeignCallError,
    JaxRuntimeError,
)
from tinyjax.ffi import attribute

X = np.array([[4.0, 2.0], [2.0, 5.0]], np.float32)
LOWER = np.uint8(ord("L"))


def potrf(x: Any = X, **options: Any) -> Any:
    options = {"input_layouts": [(1, 0)], "output_layouts": [(1, 0), ()], **options}
    status = tinyjax.ShapeDtypeStruct(x.shape[:-2], np.int32)
    types = tinyjax.ShapeDtypeStruct(x.shape, x.dtype), status
    return ffi.ffi_call("lapack_spotrf_ffi", types, **options)


@pytest.mark.parametrize(
    "value",
    [
        *(True, 7, -0.1, float("nan"), '"h\\é\n', np.uint8(200), np.float32(1e-5), np.bool_(False)),
        *(np.arange(3, dtype=np.int16), np.ones((2, 1)), np.dtype("int8")),
        *([1, 2.0], (), {"a": 1, "b": {"c": "d"}}),
    ],
    ids=repr,
)
def test_attributes_are_those_of_jax(value: Any) -> None:
    mlir: Any = import_module("jax._src.interpreters.mlir")
    ir: Any = import_module("jaxlib.mlir.ir")
    with mlir.make_ir_context(), ir.Location.unknown():
        assert ir.Attribute.parse(attribute("a", value)) == mlir.ir_attribute(value)


@pytest.mark.parametrize("value", [1j, np.complex64(1), object(), None, {"a": {1}}])
def test_other_attributes_are_refused(value: Any) -> None:
    with raises(ArgumentError, match=r"the attribute uplo(\.a)? of a foreign function is"):
        potrf()(X, uplo=value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vmap_method": "fast"}, "vmap_method must be one of"),
        ({"input_layouts": []}, "input_layouts has 0 layouts, but there are 1 arrays"),
        ({"input_layouts": [(0, 0)]}, "must have each of the axes 0 to 1 once"),
        ({"output_layouts": [(1, 0), (0,)]}, "which has no axes"),
        ({"input_output_aliases": {1: 0}}, "there is no argument 1"),
        ({"input_output_aliases": {0: 2}}, "there is no result 2"),
        ({"input_output_aliases": {0: 1}}, r"argument 0 is float32\[2,2\] and result 1 is int32"),
        (
            {"input_output_aliases": {0: 0}, "output_layouts": [(0, 1), ()]},
            "or they are laid out differently",
        ),
        ({"legacy_backend_config": "x"}, "for versions of the interface below 4"),
        ({"custom_call_api_version": 2}, "those of versions below 4 do not take"),
    ],
)
def test_what_is_declared_is_checked(wrong: dict[str, Any], message: str) -> None:
    with raises(ArgumentError, match=message):
        potrf(**wrong)(X, uplo=LOWER)


def test_result_types_are_checked() -> None:
    with raises(ArgumentError, match="must have a shape and a dtype"):
        ffi.ffi_call("f", [1.0])


def test_results_are_in_the_declared_container() -> None:
    one = ffi.ffi_call("lapack_spotrf_ffi", [X, np.int32(0)], input_layouts=[(1, 0)])
    assert type(one(X, uplo=LOWER)) is list
    assert type(potrf()(X, uplo=LOWER)) is tuple


def test_layouts_and_pivots_of_lu() -> None:
    x = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    types = [jax.ShapeDtypeStruct(s, d) for s, d in (((4, 4), "f4"), ((4,), "i4"), ((), "i4"))]
    layouts: Any = {"input_layouts": [(1, 0)], "output_layouts": [(1, 0), (0,), ()]}
    found = tinyjax.jit(ffi.ffi_call("lapack_sgetrf_ffi", types, **layouts))(x)
    for ours, theirs in zip(
        found, jax.ffi.ffi_call("lapack_sgetrf_ffi", types, **layouts)(x), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_transformations_that_nobody_declared() -> None:
    with raises(ForeignCallError, match="'lapack_spotrf_ffi' is under vmap"):
        tinyjax.vmap(lambda x: potrf()(x, uplo=LOWER))(np.stack([X, X]))
    with raises(DifferentiationError, match=r"has no derivative\. Wrap the function"):
        tinyjax.grad(lambda x: potrf()(x, uplo=LOWER)[0].sum())(X)


def test_a_declared_derivative() -> None:
    @tinyjax.custom_jvp
    def factor(x: Any) -> Any:
        return jnp.tril(potrf(x, vmap_method="broadcast_all")(x, uplo=LOWER)[0])

    @factor.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        low = factor(*primals)
        inner = jnp.linalg.solve(low, jnp.linalg.solve(low, tangents[0]).T)
        return low, low @ (jnp.tril(inner) - jnp.diag(jnp.diag(inner)) / 2)

    xs = np.stack([X, 2 * X])
    for fun in (tinyjax.grad, lambda f: tinyjax.jit(tinyjax.grad(f))):
        found = tinyjax.vmap(fun(lambda x: factor((x + x.T) / 2).sum()))(xs)
        expected = jax.vmap(jax.grad(lambda x: jax.numpy.linalg.cholesky(x).sum()))(xs)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_name_that_nobody_registered() -> None:
    with raises(JaxRuntimeError, match="No FFI handler registered for nowhere_of_test"):
        ffi.ffi_call("nowhere_of_test", X)(X)


def test_only_capsules_are_registered() -> None:
    with raises(ArgumentError, match=r"'mine_of_test' is <built-in .*Pass a capsule"):
        ffi.register_ffi_target("mine_of_test", len)
    for wrong in (None, 0, -(2**70), "f", len):
        with raises(ArgumentError, match="takes a function that ctypes has loaded"):
            ffi.pycapsule(wrong)


def test_the_address_in_a_capsule() -> None:
    address = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    get = kind(("PyCapsule_GetPointer", ctypes.pythonapi))
    assert get(ffi.pycapsule(ctypes.CDLL(None).abs), None) == address


def test_a_program_that_calls_a_foreign_function_is_not_exported() -> None:
    calls = tinyjax.jit(ffi.ffi_call("mine_of_test", X))
    with raises(ExportError, match="calls the foreign function 'mine_of_test'"):
        tinyjax.export.export(calls)(X)

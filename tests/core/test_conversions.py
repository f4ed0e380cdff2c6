"""Conversions of traced arrays to data: they raise, or have the right derivative."""

import array
import contextlib
import copy
import ctypes
import decimal
import fractions
import json
import math
import operator
import pickle
import statistics
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax.numpy as jnp
from raising import raises
from tinyjax import autodiff, grad, hessian, jit, jvp, lax, vmap
from tinyjax.core import Tracer
from tinyjax.core.values import Array
from tinyjax.errors import ConcretizationError

CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "complex": complex,
    "item": lambda x: x.item(),
    "item at": lambda x: x.item(0),
    "item of a view": lambda x: x[None][:1].item(),
    "tolist": lambda x: x.tolist(),
    "tobytes": lambda x: x.tobytes(),
    "bytes": bytes,
    "__buffer__": lambda x: x.__buffer__(0),
    "memoryview": memoryview,
    "unsafe_buffer_pointer": lambda x: x.unsafe_buffer_pointer(),
    "asarray": np.asarray,
    "array": np.array,
    "array of a list": lambda x: np.array([x]),
    "__array__": lambda x: x.__array__(),
    "to_numpy": lambda x: x.to_numpy(),
    "numpy": lambda x: x.numpy(),
    "data": lambda x: x.data,
    "__array_interface__": lambda x: x.__array_interface__,
    "__dlpack__": lambda x: x.__dlpack__(),
    "from_dlpack": np.from_dlpack,
    "float64": np.float64,
    "int64": np.int64,
    "fromiter": lambda x: np.fromiter([x], float),
    "save": lambda x: np.save("/dev/null", x),
    "write": lambda x: np.zeros(2).__setitem__(0, x),
    "fill": lambda x: np.zeros(2).fill(x),
    "pickle": pickle.dumps,
    "json": json.dumps,
    "struct": lambda x: struct.pack("d", x),
    "array.array": lambda x: array.array("d", [x]),
    "ctypes": ctypes.c_double,
    "math": math.sin,
    "fsum": lambda x: math.fsum([x]),
    "mean": lambda x: statistics.mean([x, 2.0]),
    "fraction": fractions.Fraction,
    "decimal": decimal.Decimal,
    "percent": "%f".__mod__,
    "index": operator.index,
    "range": range,
    "hash": hash,
    "arange": lambda x: jnp.arange(x, 5.0),
    # a derivative of zero, or no number
    "int": int,
    "bool": bool,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
    "round to tens": lambda x: round(x, -1),
    "format": lambda x: f"{x:.2f}",
    "str": str,
    "repr": repr,
    # arrays with derivatives
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "sum": lambda x: sum([x, 1.0]),
    "max": lambda x: max(x, 2.0),
    "divmod": lambda x: divmod(x, 2.0)[1],
    "pow": lambda x: pow(x, 2),
    "addressable_data": lambda x: x.addressable_data(0),
    "block_until_ready": lambda x: x.block_until_ready(),
    "iteration": lambda x: next(iter(x[None])),
}
#: The derivatives at 3.25 where it is not one.
SLOPES = {"round": 0.0, "round to tens": 0.0, "pow": 6.5}
X = np.float64(3.25)
TRACED: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: jvp(f, (X,), (np.float64(1.0),))[1],
    "grad": lambda f: grad(f)(X),
    "grad of grad": lambda f: grad(lambda x: x * grad(f)(x))(X),
    "hessian": lambda f: hessian(f)(X),
    "jit": lambda f: jit(f)(X),
    "jit of grad": lambda f: jit(grad(f))(X),
    "grad of jit": lambda f: grad(jit(f))(X),
    "vmap": lambda f: vmap(f)(np.stack([X, X])),
    "vmap of grad": lambda f: vmap(grad(f))(np.stack([X, X])),
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum())(np.stack([X, X])),
    "jet": lambda f: autodiff.jet(f, (X,), ((1.0, 0.0),)),
    "laplacian": lambda f: autodiff.laplacian(f)(X),
}


@pytest.mark.parametrize("traced", TRACED)
def test_no_derivative_is_lost_in_silence(traced: str) -> None:
    for name, conversion in CONVERSIONS.items():
        results: list[Any] = []

        def f(x: Any, conversion: Any = conversion, results: list[Any] = results) -> Any:
            results.append(conversion(x))
            return x

        with contextlib.suppress(TypeError, ValueError, AttributeError, struct.error):
            TRACED[traced](f)
        for result in results:
            is_traced = isinstance(result, Tracer)
            assert is_traced or isinstance(result, (bool, int, str)) or name in SLOPES, name


def test_the_derivatives_of_conversions_that_are_taken() -> None:
    count = 0
    for name, conversion in CONVERSIONS.items():
        with contextlib.suppress(TypeError, ValueError, AttributeError, struct.error):
            y = conversion(X)
            tangent = jvp(conversion, (X,), (np.float64(1.0),))[1]
            if isinstance(y, (float, np.floating)) and isinstance(tangent, Array):
                count += 1
                assert float(tangent) == SLOPES.get(name, 1.0), name
    assert count > 6


@pytest.mark.parametrize("transformation", [grad, autodiff.laplacian])
@pytest.mark.parametrize("name", ["float", "item", "item of a view", "tolist", "tobytes", "arange"])
def test_a_conversion_of_a_differentiated_array_says_what_to_write(
    name: str, transformation: Any
) -> None:
    conversion = CONVERSIONS[name]
    with raises(ConcretizationError, match=r"no derivative.*stop_gradient\(x\)"):
        transformation(lambda x: (conversion(x), x)[1])(X)
    transformation(lambda x: (conversion(lax.stop_gradient(x)), x)[1])(X)
    grad(lambda x: (conversion((x > 0).astype(int)) if name != "arange" else 0, x)[1])(X)

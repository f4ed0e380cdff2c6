"""Rows for calls of foreign functions: LAPACK's, which jaxlib has."""

from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import ffi
from tinyjax.core.values.array import Array
from tinyjax.errors import DtypeError
from tinyjax.ffi import ffi_call_p, ffi_effect_p

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def potrf(x: Array, method: Any, effect: bool) -> Any:
    of = np.zeros((), np.int32)
    letter = LETTERS.get(x.dtype.name)
    if letter is None:
        raise DtypeError(f"LAPACK has no Cholesky factors of {x.dtype.name}.")
    call = ffi.ffi_call(
        f"lapack_{letter}potrf_ffi",
        (np.zeros(x.shape, x.dtype), of),
        has_side_effect=effect,
        vmap_method=method,
        input_layouts=[(1, 0)],
        output_layouts=[(1, 0), ()],
        input_output_aliases={0: 0},
    )
    positive = x @ x.conj().T + 2 * np.eye(x.shape[0], dtype=x.dtype)
    return np.tri(x.shape[0], dtype=x.dtype) * call(positive, uplo=np.uint8(ord("L")))[0]


def factor_in_numpy(x: Any, method: str, effect: bool) -> Any:
    return np.linalg.cholesky(x @ x.conj().T + 2 * np.eye(len(x), dtype=x.dtype))


def factor_in_jax(x: Any, method: str, effect: bool) -> Any:
    return jax.numpy.linalg.cholesky(x @ x.conj().T + 2 * np.eye(len(x), dtype=x.dtype))


def _row(name: str, primitive: Any, effect: bool, *methods: str) -> Spec:
    return Spec(
        name,
        primitive,
        potrf,
        [Case(ArraySpec((3, 3)), method=method, effect=effect) for method in methods],
        numpy=factor_in_numpy,
        jax=factor_in_jax,
        dtypes=tuple(LETTERS),
        skip={"compose": "it has no derivative"},
    )


SPECS = [
    _row("ffi_call", ffi_call_p, False, "sequential", "broadcast_all", "legacy_vectorized"),
    _row("ffi_effect", ffi_effect_p, True, "sequential_unrolled", "expand_dims"),
]

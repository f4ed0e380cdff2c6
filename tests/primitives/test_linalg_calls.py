"""Linear algebra: compiled programs call the same functions as JAX's, in the same way.

JAX lowers programs for GPUs where there are none. Nothing is run.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax.core.lowering import write_module
from tinyjax.errors import PlatformError

pytestmark = pytest.mark.usefixtures("compiled")

Program: TypeAlias = Callable[[Any], Any]

#: Programs of one stack of matrices, given the module of linear algebra.
PROGRAMS: dict[str, Callable[[Any], Program]] = {
    "cholesky": lambda la: lambda x: la.cholesky(x, symmetrize_input=False),
    "lu": lambda la: la.lu,
    "eigh": lambda la: lambda x: la.eigh(x, symmetrize_input=False),
    "eig": lambda la: lambda x: la.eig(x, compute_left_eigenvectors=True),
    "qr": lambda la: lambda x: la.qr(x, full_matrices=False),
    "pivoted qr": lambda la: lambda x: la.qr(x, full_matrices=False, pivoting=True),
    "tridiagonal": lambda la: lambda x: la.tridiagonal(x, lower=False),
    "householder_product": lambda la: lambda x: la.householder_product(x, x[..., 0]),
    "ormqr": lambda la: lambda x: la.ormqr(x, x[..., 0], x, left=False, transpose=True),
    "triangular_solve": lambda la: (
        lambda x: la.triangular_solve(
            x, x, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True
        )
    ),
    "tridiagonal_solve": lambda la: lambda x: la.tridiagonal_solve(*[x[..., 0]] * 3, x),
    "svd": lambda la: lambda x: la.svd(x, full_matrices=False),
    "full svd": lambda la: la.svd,
    "singular values": lambda la: lambda x: la.svd(x, full_matrices=False, compute_uv=False),
}
#: Where the shape decides what is called.
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "svd": [(4, 40, 40), (40, 50), (1100, 4), (2, 4, 1100)],
    "full svd": [(5, 3), (4, 1100)],
    "singular values": [(40, 50), (1100, 4), (4, 1100)],
    "qr": [(5, 3)],
}

_JAX = r"stablehlo\.custom_call @([\w.]+)\(.*?backend_config = (\{.*?\}),?.*? : (\(.*)"
_OURS = r'custom_call".*?call_target_name = "([^"]*)".*?backend_config = (\{.*?\}),.* : (\(.*)'


def calls(text: str, pattern: str) -> list[tuple[object, ...]]:
    """The calls of a module: their names, options, layouts, shared memory and types."""
    signatures: list[tuple[object, ...]] = []
    for line in text.splitlines():
        call = re.search(pattern, line)
        if call is None or call[1] in ("Sharding", "cu_lu_pivots_to_permutation"):
            continue
        layouts = [
            re.sub(r"dense<(\d)>", r"dense<[\1]>", given)
            for given in re.findall(r"(?:operand|result)_layouts = \[([^=]*)\]", line)
        ]
        types = re.sub(r"-> (tensor<.*>)$", r"-> (\1)", call[3].strip())
        shared = re.findall(r"output_tuple_indices = \[(.*?)\], operand_index = (\d)", line)
        signatures.append((call[1], sorted(call[2][1:-1].split(", ")), layouts, shared, types))
    return signatures


def check(name: str, shape: tuple[int, ...], dtype: Any, platform: str) -> None:
    x = np.ones(shape, dtype)
    ours = tinyjax.make_jaxpr(PROGRAMS[name](tinyjax.lax.linalg))(x).jaxpr
    with jax.enable_x64(True):
        program: Any = jax.jit(PROGRAMS[name](jax.lax.linalg))
        traced = program.trace(x)
        theirs = traced.lower(lowering_platforms=(platform,)).as_text()
    found = calls(write_module(ours, "f", platform=platform)[0], _OURS)
    assert found == calls(theirs, _JAX)
    # on GPUs it is an operation of XLA's
    assert bool(found) == (platform == "cpu" or name != "triangular_solve")


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_are_those_of_jax(name: str) -> None:
    for shape in SHAPES.get(name, [(4, 4), (2, 3, 4, 4)]):
        check(name, shape, np.float32, "cuda")
    check(name, SHAPES.get(name, [(4, 4)])[0], np.complex128, "cuda")


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_of_lapack_are_those_of_jax(name: str) -> None:
    dtypes: list[Any] = [np.complex128]
    if name != "triangular_solve":  # the conjugate transposed of real matrices has two names
        dtypes.append(np.float32)
    for dtype in dtypes:
        check(name, SHAPES.get(name, [(2, 4, 4)])[0], dtype, "cpu")


def test_a_conjugated_matrix_that_is_not_transposed() -> None:
    """The operation conjugates what it transposes only, so the matrix is conjugated before."""

    def lowered(conjugate: bool) -> str:
        solve = partial(tinyjax.lax.linalg.triangular_solve, left_side=True, conjugate_a=conjugate)
        x = np.eye(3, dtype=np.complex64)
        return write_module(tinyjax.make_jaxpr(solve)(x, x).jaxpr, "f", platform="cuda")[0]

    assert "chlo.conj" in lowered(True)
    assert "chlo.conj" not in lowered(False)


@pytest.mark.parametrize("name", ["hessenberg", "schur"])
def test_what_gpus_do_not_compute_says_so(name: str) -> None:
    jaxpr = tinyjax.make_jaxpr(getattr(tinyjax.lax.linalg, name))(np.eye(3)).jaxpr
    with raises(PlatformError, match=f"'{name}' is not computed on GPUs"):
        write_module(jaxpr, "f", platform="cuda")

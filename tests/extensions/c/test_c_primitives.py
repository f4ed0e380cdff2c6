"""Each primitive in C, for all operands of its row in ``tests/specs``, against its evaluation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batches import results

import tinyjax.numpy as jnp
from specs import Spec, all_specs
from tinyjax import dtypes, export, tree
from tinyjax._extensions.c.exporting import CProgram
from tinyjax.errors import ExportError, TinyjaxError

#: Rows of primitives that are not written in C, besides those of other dtypes.
NOT_WRITTEN = (
    *(
        "bitcast_convert_type",
        "pure_callback",
        "io_callback",
        "debug_callback",
        "check",
        "error_if",
        "hi_call",
    ),
    *("call_exported", "exported_tangent", "ffi_call", "ffi_effect", "dim_as_value"),
    *("shard_map", "sharding_constraint", "hide_axes", "unvary", "pvary", "recast"),
    *("all_gather_invariant", "rng_bit_generator", "reduce_precision", "clz", "mulhi"),
    "observe",
    *("adjugate", "geqrf", "eigh", "svd", "svd, of values alone", "qr, pivoted", "schur"),
    *("hessenberg", "tridiagonal", "householder_product", "ormqr", "solve_sylvester"),
    *("symmetric_product", "cholesky_update", "reduce_precision, to other types"),
    *("digamma", "polygamma", "zeta", "igamma", "igammac", "igamma in x", "igammac in x"),
    *("igamma_grad_a in x", "random_gamma_grad in x", "regularized_incomplete_beta"),
    *("bessel_i0e", "bessel_i1e", "bessel_i0e far", "ndtri", "erfcx", "dawsn", "expi"),
    *("sine_integral", "cosine_integral", "fresnel_sine", "fresnel_cosine", "spence"),
    *("expi below 0", "expn", "owens_t", "poch", "hyp1f1", "hyp2f1", "host_ufunc k0"),
    *("host_ufunc ellipe", "host_ufunc agm"),
)
#: The kinds of dtype that programs in C may have.
WRITTEN = frozenset(
    {np.dtype(x) for x in "?bhilBHILfd"} | {np.dtype(np.uint64), np.dtype(np.int64)}
)


def programs(row: Spec, most: int | None) -> list[tuple[CProgram, list[Any], list[Any]]]:
    """The programs of a row's samples, with the leaves of their operands and expected results."""
    made = []
    for number, (case, _, operands) in enumerate(row.samples(most)):
        fun = row.applied(case.params)
        try:
            expected = fun(*tree.map(jnp.asarray, operands))
        except TinyjaxError:
            continue
        name = f"p{number}_{''.join(c if c.isalnum() else '_' for c in row.name)}"
        try:
            program = export.c(fun, name=name)(*operands)
        except ExportError:
            kinds = {np.asarray(x).dtype for x in tree.leaves((operands, expected))}
            assert not kinds <= WRITTEN or row.name in NOT_WRITTEN, row.name
            continue
        leaves = [np.asarray(x) for x in tree.leaves(operands)]
        made.append((program, leaves, [np.asarray(x) for x in tree.leaves(expected)]))
    return made


@pytest.mark.sampled(24)
@pytest.mark.parametrize("most", [6, pytest.param(None, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("row", all_specs(), ids=lambda row: row.name)
def test_values(row: Spec, most: int | None, tmp_path: Path) -> None:
    """Compile strictly: what C leaves undefined ends the process, and warnings are errors."""
    made = programs(row, most)
    if not made:
        return
    values = results([x[0] for x in made], [x[1] for x in made], tmp_path)
    for (program, _, expected), outs in zip(made, values, strict=True):
        for x, y in zip(outs, expected, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            if not dtypes.is_float(y.dtype):
                np.testing.assert_array_equal(x, y, err_msg=program.source)
                continue
            eps = np.finfo(y.dtype).eps
            # sums of some hundred terms are added in another order
            np.testing.assert_allclose(x, y, 32 * eps, 64 * eps, err_msg=program.source)

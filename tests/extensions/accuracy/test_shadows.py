"""Shadows of each primitive, for all operands of its row in ``tests/specs``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyjax.numpy as jnp
from specs import Spec, all_specs
from tinyjax import accuracy, dtypes, tree
from tinyjax.errors import TinyjaxError

#: Rows whose results have no order or sign of their own, such as eigenvectors.
OTHERS = frozenset({"eig", "schur"})


def plain(x: Any) -> Any:
    """An array whose NaNs NumPy finds."""
    narrow = dtypes.is_narrow_float(np.dtype(x.dtype))
    return np.asarray(x).astype(np.float32) if narrow else np.asarray(x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("most", [4, pytest.param(None, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("row", all_specs(), ids=lambda row: row.name)
def test_one_operation_loses_few_digits(row: Spec, most: int | None) -> None:
    for case, _, operands in row.samples(most):
        fun = row.applied(case.params)
        arrays = tree.map(jnp.asarray, operands)
        try:
            expected = tree.leaves(fun(*arrays))
        except TinyjaxError:
            continue
        if any(np.dtype(x.dtype) == np.complex128 for x in (*tree.leaves(arrays), *expected)):
            continue
        values, digits = accuracy.digits(fun)(*arrays)
        for x, y, right in zip(tree.leaves(values), expected, tree.leaves(digits), strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            if dtypes.is_key(x.dtype):
                continue
            np.testing.assert_allclose(plain(x), plain(y), 1e-6)
            if dtypes.is_inexact(x.dtype) and x.size and row.name not in OTHERS:
                most_digits: Any = -np.log10(float(dtypes.finfo(x.dtype).eps) / 2)
                assert float(np.median(right)) > 0.7 * most_digits, (row.name, right, x)

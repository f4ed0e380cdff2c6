"""Every primitive with operands on several devices computes what it does on one."""

from typing import Any

import numpy as np
import pytest

import tinyjax
from specs import Spec, all_specs
from tinyjax import NamedSharding, P
from tinyjax.dtypes import HostArray, kind, real_part

MESH = tinyjax.make_mesh((2, 2), ("x", "y"), tinyjax.sharding.AxisType.Auto)
#: In the last places of a type; sums are made in another order.
PLACES = 256


def spread(x: HostArray, way: int) -> Any:
    """Divide axes of even length over the axes of the mesh, in one of several ways."""
    left = ["x", "y"] if way % 2 else ["y", "x"]
    entries: list[str | None] = [None] * x.ndim
    axes = [i for i, n in enumerate(x.shape) if n and n % 2 == 0]
    for axis in axes if way < 2 else axes[::-1]:
        entries[axis] = left.pop(0) if left else None
    return tinyjax.device_put(x, NamedSharding(MESH, P(*entries)))


def close(actual: Any, expected: Any, tol: float) -> None:
    for a, b in zip(tinyjax.tree.leaves(actual), tinyjax.tree.leaves(expected), strict=True):
        assert a.aval == b.aval
        if tinyjax.dtypes.is_key(a.dtype):
            a, b = tinyjax.random.key_data(a), tinyjax.random.key_data(b)
        x, y = np.asarray(a), np.asarray(b)
        if kind(x.dtype) not in "fc":
            np.testing.assert_array_equal(x, y)
            continue
        wide = np.complex128 if kind(x.dtype) == "c" else np.float64
        eps = float(tinyjax.numpy.finfo(real_part(x.dtype)).eps) * PLACES * tol
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=eps, atol=eps)


#: Their results are unique up to factors, which LAPACK chooses by where its operands lie in memory.
NOT_UNIQUE = ("schur",)
ROWS = [row for row in all_specs() if "compiled" not in row.skip and row.name not in NOT_UNIQUE]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
@pytest.mark.sampled(40)
def test_rows(row: Spec) -> None:
    for number, case in enumerate(row.cases):
        dtype = row.dtypes[-1] if case.generic else None
        operands = case.sample(row.rng("smooth"), dtype, special=False)

        def fun(*args: Any, case: Any = case) -> Any:
            return row.fun(*args, **case.params)

        expected = tinyjax.jit(fun)(*operands)
        # eagerly too, where the row is new; the programs of one operation are much the same
        for call in (fun, tinyjax.jit(fun)) if number < 2 else (tinyjax.jit(fun),):
            found = call(*[spread(x, (number + i) % 4) for i, x in enumerate(operands)])
            close(found, expected, row.tol)

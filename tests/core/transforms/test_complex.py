"""Complex derivatives: every row of ``tests/specs`` that takes complex numbers, against jax.

The convention is jax's: a tangent is that of a map of R^2, and a pull-back is the
transpose, not the adjoint. Rows without a counterpart in jax are held against finite differences,
which do not know of it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from specs import ArraySpec, Case, Spec, all_specs
from tinyjax import dtypes, tree
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import HostArray
from tinyjax.test_util import check_grads

COMPLEX: Final = dtypes.complex128

#: Where jax's derivative is not that of the function (see docs/differences.md), or there is none:
#: those of maxima and minima of complex numbers raise, or are NaN. Rows or primitives.
JAX_IS_OFF: Final = (
    *("acosh", "cummax", "cummin", "sign"),
    *("eig", "householder_product", "ormqr", "qr, pivoted"),
    *("reduce_max", "reduce_min", "scatter_max", "scatter_min"),
)
#: Rows whose operands lie where functions jump, or which have no derivative to compare.
NOT_SMOOTH: Final = ("branch cuts", "below its cuts")


def takes_complex(case: Case, row: Spec) -> bool:
    """Return whether a case has complex operands, drawn or given."""
    if case.generic and COMPLEX in row.dtypes:
        return True
    return any(x.dtype is not None and dtypes.is_complex(x.dtype) for x in case.operands)


def differentiable(row: Spec, case: Case) -> bool:
    """Return whether jax and tinyjax both have a derivative for a case."""
    if row.name.startswith("scatter_mul overlapping"):  # jax has none
        return False
    tall = any(isinstance(x, ArraySpec) and x.shape[-2:] == (4, 2) for x in case.operands)
    return not (row.name.startswith("qr, square") and tall)  # not determined by the matrix


def complex_rows() -> list[Spec]:
    return [
        row
        for row in all_specs()
        if row.grad
        and not any(text in row.name for text in NOT_SMOOTH)
        and any(takes_complex(case, row) for case in row.cases)
    ]


def tangent_like(rng: np.random.Generator, x: HostArray) -> HostArray:
    direction: HostArray = np.asarray(rng.standard_normal(x.shape))
    if dtypes.is_complex(x.dtype):
        direction = direction + 1j * rng.standard_normal(x.shape)
    return direction.astype(x.dtype)


def of_inexact(
    fun: Callable[..., Any], case: Case, operands: Sequence[HostArray], leaves: Callable[..., Any]
) -> Callable[..., tuple[Any, ...]]:
    """A row's function of those operands that have a derivative; of its results likewise."""
    places = [i for i, x in enumerate(operands) if dtypes.is_inexact(x.dtype)]

    def chosen(*xs: Any) -> tuple[Any, ...]:
        values: list[Any] = list(operands)
        for i, x in zip(places, xs, strict=True):
            values[i] = x
        outs = leaves(fun(*values, **case.params))
        return tuple(y for y in outs if dtypes.is_inexact(np.dtype(y.dtype)))

    return chosen


@pytest.mark.sampled(8)
@pytest.mark.parametrize("row", complex_rows(), ids=lambda row: row.name)
def test_complex_derivatives(row: Spec) -> None:
    rng = row.rng("complex")
    checked = 0
    for case in row.cases:
        if not takes_complex(case, row) or not differentiable(row, case):
            continue
        operands = case.sample(rng, COMPLEX if case.generic else None, special=False)
        checked += 1
        ours = of_inexact(
            lambda *xs, **kw: row.fun(*map(as_array, xs), **kw), case, operands, tree.leaves
        )
        xs = tuple(x for x in operands if dtypes.is_inexact(x.dtype))
        if row.jax is None or not {row.name, row.primitive.name}.isdisjoint(JAX_IS_OFF):
            # near a branch point a difference is not as good as elsewhere
            check_grads(ours, xs, 1, atol=1e-8, rtol=1e-8)
            continue
        theirs = of_inexact(row.jax, case, operands, jax.tree.leaves)
        ts = tuple(tangent_like(rng, x) for x in xs)
        outs, tangents = tinyjax.jvp(ours, xs, ts)
        cts = tuple(tangent_like(rng, np.asarray(out)) for out in outs)
        pulled = tinyjax.vjp(ours, *xs)[1](cts)

        def both(xs: Any, ts: Any, cts: Any, theirs: Callable[..., Any] = theirs) -> Any:
            out, pull_back = jax.vjp(theirs, *xs)
            return out, jax.jvp(theirs, xs, ts)[1], pull_back(cts)

        with jax.enable_x64(True):
            expected = jax.tree.map(np.asarray, jax.jit(both)(xs, ts, cts))
        for what, a, b in zip(
            ("value", "jvp", "vjp"), (outs, tangents, pulled), expected, strict=True
        ):
            for mine, its in zip(a, b, strict=True):
                assert mine.dtype == its.dtype
                narrow = dtypes.real_part(mine.dtype) != dtypes.float64
                rtol = 1e-5 if narrow else 1e-10 * row.tol
                scale = max(1.0, float(np.max(np.abs(its), initial=0.0)))
                np.testing.assert_allclose(
                    np.asarray(mine), its, rtol, rtol * scale, err_msg=f"{what} of {row.name}"
                )
    assert checked, "the row was chosen because it has a complex case"


# C -> R, R -> C and C -> C, against the formulas for a map of R^2


def test_complex_to_real() -> None:
    z, t = np.array(3.0 + 4.0j), np.array(0.5 - 2.0j)
    # u(x, y) = x^2 y
    fun = lambda z: jnp.real(z) ** 2 * jnp.imag(z)  # noqa: E731
    u_x, u_y = 2 * 3.0 * 4.0, 3.0**2
    assert float(tinyjax.jvp(fun, (z,), (t,))[1]) == u_x * t.real + u_y * t.imag
    assert complex(tinyjax.vjp(fun, z)[1](2.0)[0]) == 2 * (u_x - 1j * u_y)
    assert complex(tinyjax.grad(fun)(z)) == u_x - 1j * u_y
    assert complex(tinyjax.jacrev(fun)(z)) == u_x - 1j * u_y


def test_real_to_complex() -> None:
    # v(x) = x^2 + i x^3
    fun = lambda x: x**2 + 1j * x**3  # noqa: E731
    x, ct = np.array(2.0), np.array(0.5 - 2.0j)
    assert complex(tinyjax.jvp(fun, (x,), (np.array(3.0),))[1]) == 3 * (4.0 + 12.0j)
    assert complex(tinyjax.jacfwd(fun)(x)) == 4.0 + 12.0j
    # Re(ct J t) = (J^T ct) t
    assert float(tinyjax.vjp(fun, x)[1](ct)[0]) == (ct * (4.0 + 12.0j)).real


@pytest.mark.parametrize("change", [tinyjax.jacfwd, tinyjax.jacrev, tinyjax.jacobian])
def test_holomorphic_jacobians(change: Callable[..., Any]) -> None:
    z = np.array([1.0 + 2.0j, -0.5 + 0.25j])
    w = np.array([[1.0 - 1.0j, 2.0], [0.5j, 3.0]])

    def fun(z: Any) -> dict[str, Any]:
        return {"exp": jnp.exp(w @ z), "square": z * z}

    found = change(fun, holomorphic=True)(z)
    np.testing.assert_allclose(found["exp"], np.exp(w @ z)[:, None] * w, 1e-12)
    np.testing.assert_allclose(found["square"], np.diag(2 * z), 1e-12)
    both = change(lambda a, b: a * b, (0, 1), holomorphic=True)(z, 2 * z)
    np.testing.assert_allclose(both[0], np.diag(2 * z), 1e-12)
    np.testing.assert_allclose(both[1], np.diag(z), 1e-12)


def test_holomorphic_hessians() -> None:
    z = np.array([1.0 + 2.0j, -0.5 + 0.25j])
    found = tinyjax.hessian(lambda z: jnp.sum(z**3) + z[0] * z[1], holomorphic=True)(z)
    np.testing.assert_allclose(found, np.diag(6 * z) + np.array([[0, 1], [1, 0]]), 1e-12)

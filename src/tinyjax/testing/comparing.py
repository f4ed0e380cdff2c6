"""Whether two results are the same: types exactly, values up to the rounding of their type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyjax import dtypes, tree
from tinyjax.core.values.operands import as_array


def tolerance(dtype: dtypes.DType, tol: float) -> float:
    """Some units in the last place of a type; exact where it holds no fractions."""
    match dtypes.real_part(dtype):
        case dtypes.float64:
            return 64 * 2.0**-52 * tol
        case dtypes.float32:
            return 32 * 2.0**-23 * tol
        case dtypes.float16:
            return 3 * 2.0**-10 * tol
        case dtypes.bfloat16:
            return 3 * 2.0**-7 * tol
        case narrow if narrow in dtypes.FLOAT8:
            return 0.26 * tol
        case _:
            return 0.0


def wide(x: dtypes.HostArray) -> dtypes.HostArray:
    """The same numbers in NumPy's own widest type, with which NumPy computes."""
    kind = dtypes.kind(x.dtype)
    if kind == "f":
        return x.astype(np.float64)
    return x.astype(np.complex128) if kind == "c" else x


def assert_close(got: dtypes.HostArray, expected: Any, rtol: float, what: str) -> None:
    """Hold shape and dtype equal, and values within a tolerance; NaN and infinities in one place.

    Args:
        got: the one array.
        expected: the other.
        rtol: relative tolerance; nothing asks for equal values.
        what: of what they are results, for the message.

    Raises:
        AssertionError: they differ.
    """
    expected = np.asarray(expected)
    if got.shape != expected.shape:
        raise AssertionError(f"{what}: shape {got.shape}, expected {expected.shape}")
    if got.dtype != expected.dtype:
        raise AssertionError(f"{what}: dtype {got.dtype}, expected {expected.dtype}")
    if rtol == 0.0:
        np.testing.assert_array_equal(wide(got), wide(expected), err_msg=what)
    else:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                wide(got), wide(expected), rtol, atol_of(expected, rtol), err_msg=what
            )


def atol_of(expected: dtypes.HostArray, rtol: float) -> float:
    """Sums and sines come near zero with an error of the size of what they are made of."""
    sizes = np.abs(wide(expected))
    sizes = sizes[np.isfinite(sizes)]
    return rtol * min(1.0, float(sizes.max())) if sizes.size else rtol


def hosts(value: Any) -> list[dtypes.HostArray]:
    """The arrays of a result, which may be an array or a tree of them."""
    return [x if isinstance(x, np.ndarray) else np.asarray(x) for x in tree.leaves(value)]


def compare(got: Any, expected: Any, tol: float, what: str) -> None:
    """Hold the arrays of two results equal up to rounding.

    Args:
        got: an array, or a tree of arrays.
        expected: the same.
        tol: by how much tolerances are widened.
        what: of what they are results, for the message.

    Raises:
        AssertionError: they differ.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.testing import compare
        >>> compare(tinyjax.jit(jnp.sin)(1.0), jnp.sin(1.0), 1.0, "sin, compiled")
    """
    got, expected = hosts(got), hosts(expected)
    if len(got) != len(expected):
        raise AssertionError(f"{what}: {len(got)} results, expected {len(expected)}")
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        place = f"{what}, result {i}" if len(got) > 1 else what
        assert_close(a, b, tolerance(b.dtype, tol), place)


def assert_types(got: Any, expected: Any, what: str) -> None:
    """Hold the types of arrays equal, with their weakness.

    Args:
        got: arrays, or descriptions of arrays.
        expected: the same.
        what: of what they are results, for the message.

    Raises:
        AssertionError: they differ.
    """
    mine, theirs = tree.leaves(got), tree.leaves(expected)
    if len(mine) != len(theirs):
        raise AssertionError(f"{what}: {len(mine)} results, expected {len(theirs)}")
    for i, (x, y) in enumerate(zip(mine, theirs, strict=True)):
        a, b = (type_text(v) for v in (x, y))
        if a != b:
            place = f" of result {i}" if len(mine) > 1 else ""
            raise AssertionError(f"{what}: type {a}{place}, expected {b}")


def type_text(x: Any) -> str:
    """The type of an array or of a description of one: ``float32[3], weak``."""
    x = x if hasattr(x, "weak_type") else as_array(x)
    return f"{x.dtype}{list(x.shape)}" + (", weak" if x.weak_type else "")


def describe(params: Mapping[str, Any], operands: Sequence[Any]) -> str:
    """Name operands, arrays or descriptions of them, by their types, with the parameters."""
    types = ", ".join(f"{x.dtype}{list(x.shape)}" for x in operands)
    return f"({types}) {dict(params) or ''}".rstrip()


# Directions


def tangent_like(rng: np.random.Generator, x: dtypes.HostArray) -> dtypes.HostArray:
    """A random tangent of the type of an array."""
    direction: dtypes.HostArray = np.asarray(rng.standard_normal(x.shape))
    if dtypes.is_complex(x.dtype):
        direction = np.asarray(direction + 1j * rng.standard_normal(x.shape))
    return direction.astype(x.dtype)


def pairing(xs: Sequence[dtypes.HostArray], ys: Sequence[dtypes.HostArray]) -> float:
    """``Re sum(x y)``: the pairing under which a pull-back is the transpose of the derivative."""
    return sum(float(np.sum(wide(x) * wide(y)).real) for x, y in zip(xs, ys, strict=True))

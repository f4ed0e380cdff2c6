"""Every function of the array API standard against array-api-strict, and arrays of others."""

import os
from collections.abc import Callable
from typing import Any, Final

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import tinyjax as tj
import tinyjax.numpy as jnp
from array_api.calls import CALLS, OTHERWISE
from array_api.special import CASES, TURNED, agrees
from tinyjax.errors import ArgumentError, TinyjaxError

EXAMPLES: Final = 100 if os.environ.get("TINYJAX_FUZZ_EXAMPLES") else 8

#: What array-api-strict has besides the standard.
NOT_STANDARD: Final = frozenset(
    (
        *("Device", "ModuleType", "ArrayAPIStrictFlags", "get_array_api_strict_flags"),
        *("set_array_api_strict_flags", "reset_array_api_strict_flags"),
    )
)


#: Functions of whose zeros the standard does not tell the signs.
UNSIGNED_ZEROS: Final = frozenset(
    ("sign", "unique_all", "unique_counts", "unique_inverse", "unique_values")
)


def find(namespace: Any, path: str) -> Any:
    for part in path.split("."):
        namespace = getattr(namespace, part)
    return namespace


def put(tree: Any, array: Any, namespace: Any) -> Any:
    """Replace NumPy arrays by arrays of a library, and names of dtypes by its dtypes."""
    if isinstance(tree, np.ndarray):
        return array(tree)
    if isinstance(tree, (tuple, list)):
        return type(tree)([put(x, array, namespace) for x in tree])
    if isinstance(tree, dict):
        return {k: put(x, array, namespace) for k, x in tree.items()}
    if isinstance(tree, str) and tree in (*np.sctypeDict, "bool") and tree != "bool":
        return getattr(namespace, tree)
    return tree


def call(namespace: Any, array: Any, path: str, call_arguments: Any) -> Any:
    args, kwargs = put(call_arguments, array, namespace)
    with np.errstate(all="ignore"):
        return find(namespace, path)(*args, **kwargs)


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (tuple, list)):
        return [leaf for x in tree for leaf in leaves(x)]
    return [tree]


def host(x: Any) -> Any:
    return np.asarray(x._array if hasattr(x, "_array") else x)


def compare(got: Any, expected: Any, path: str) -> None:
    if isinstance(expected, tuple):
        assert isinstance(got, tuple), f"a tuple is wanted, but got {type(got)}"
    if hasattr(expected, "_fields"):
        assert got._fields == expected._fields
    assert len(leaves(got)) == len(leaves(expected))
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        if not hasattr(b, "dtype"):
            assert str(a) == str(b).removeprefix("array_api_strict.")
            continue
        x, y = host(a), host(b)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if path.startswith("empty"):
            continue
        wide = y.dtype in (np.float64, np.complex128)
        tolerance = 1e-9 if wide else 2e-4
        for part in ("real", "imag"):
            u, v = getattr(x, part), getattr(y, part)
            np.testing.assert_allclose(u, v, rtol=tolerance, atol=tolerance)
            if path in UNSIGNED_ZEROS or "." in path:
                continue
            zero = (u == 0) & (v == 0)
            np.testing.assert_array_equal(np.signbit(u)[zero], np.signbit(v)[zero])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", CALLS)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_values_are_those_of_the_standard(path: str, data: Any) -> None:
    drawn = data.draw(CALLS[path])
    expected: Any = None
    try:
        expected = call(strict, strict.asarray, path, drawn)
    except (ValueError, TypeError, IndexError, np.linalg.LinAlgError) as error:
        expected = error
    with tj.enable_x64(True):
        if isinstance(expected, Exception):
            return
        compare(call(jnp, jnp.asarray, path, drawn), expected, path)


#: Parts of complex numbers, every two of which make one.
PARTS: Final = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 100.0, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [*CASES, *TURNED])
def test_special_cases_of_complex_numbers(name: str, dtype: str) -> None:
    given = np.array([complex(a, b) for a in PARTS for b in PARTS], dtype)
    found = np.asarray(getattr(jnp, name)(jnp.asarray(given)))
    pairs = [((x.real, x.imag), (y.real, y.imag)) for x, y in zip(given, found, strict=True)]
    if name in TURNED:  # in terms of the other: 1j * f(x) = g(1j * x)
        pairs = [((-b, a), (u, v) if name == "cos" else (-v, u)) for (a, b), (u, v) in pairs]
    for is_real, is_imag, real, imag in CASES[TURNED.get(name, name)]:
        met = [(*x, *y) for x, y in pairs if is_real(x[0]) and is_imag(x[1])]
        assert met
        wrong = [m for m in met if not agrees(m[2], real, *m[:2]) or not agrees(m[3], imag, *m[:2])]
        assert wrong == []


def test_all_functions_of_the_standard_are_called() -> None:
    names = {
        f"{prefix}{name}"
        for prefix, module in (("", strict), ("linalg.", strict.linalg), ("fft.", strict.fft))
        for name in module.__all__
        if callable(getattr(module, name)) and not name.startswith("_")
    }
    kinds = {n for n in names if isinstance(find(strict, n), type) or n in NOT_STANDARD}
    dtypes = {n for n in names if n in np.sctypeDict or n == "bool"}
    assert names - kinds - dtypes - set(CALLS) - set(OTHERWISE) == set()


@pytest.mark.wrong_types
def test_namespace_says_what_it_can() -> None:
    info = jnp.__array_namespace_info__()
    assert jnp.zeros(2).__array_namespace__(api_version="2025.12") is jnp
    assert info.devices() == tuple(tj.devices())
    assert info.default_device() == tj.devices()[0]
    for kind in (None, "bool", "integral", "numeric", ("bool", "real floating")):
        theirs = strict.__array_namespace_info__().dtypes(kind=kind)
        assert sorted(info.dtypes(kind=kind)) == sorted(theirs)
    with tj.enable_x64(True):
        found = info.default_dtypes()
        wanted = strict.__array_namespace_info__().default_dtypes()
        assert {k: str(v) for k, v in found.items()} == {
            k: str(v).split(".")[-1] for k, v in wanted.items()
        }
    assert jnp.__array_api_version__ == strict.__array_api_version__
    with tj.enable_x64(False):
        assert {dtype.itemsize for dtype in info.dtypes(kind="integral").values()} == {1, 2, 4}
        assert info.dtypes(kind=("real floating", "complex floating")) == {
            "float32": np.float32,
            "complex64": np.complex64,
        }
    unknown: Any = "text"
    with pytest.raises(ArgumentError):
        info.dtypes(kind=unknown)
    with pytest.raises(ArgumentError):
        info.dtypes(device=unknown)


@pytest.mark.wrong_types
def test_device_of_creation_is_checked() -> None:
    elsewhere: Any = "gpu"
    makers: list[Callable[[Any], jnp.ndarray]] = [
        lambda device: jnp.zeros(2, device=device),
        lambda device: jnp.asarray([1], device=device),
        lambda device: jnp.full_like(jnp.ones(2), 3, device=device),
        lambda device: jnp.arange(3, device=device),
        lambda device: jnp.linspace(0, 1, 3, device=device),
        lambda device: jnp.eye(2, device=device),
        lambda device: jnp.astype(jnp.ones(2), int, device=device),
        lambda device: jnp.fft.fftfreq(3, device=device),
        lambda device: jnp.from_dlpack(np.ones(2), device=device),
        lambda device: jnp.ones(2).to_device(device),
    ]
    for make in makers:
        assert make(jnp.ones(()).device).device == jnp.ones(()).device
        with pytest.raises(ArgumentError):
            make(elsewhere)


def test_dlpack_shares_memory_with_numpy() -> None:
    data = np.arange(6.0).reshape(2, 3)
    shared, copied = jnp.from_dlpack(data), jnp.from_dlpack(data, copy=True)
    assert np.shares_memory(np.asarray(shared), data)
    assert not np.shares_memory(np.asarray(copied), data)
    exported: Any = shared
    assert np.shares_memory(np.from_dlpack(exported), data)
    assert jnp.from_dlpack(shared) is shared
    np.testing.assert_array_equal(np.asarray(tj.jit(lambda x: 2 * x)(shared)), 2 * data)


@pytest.mark.parametrize(
    "mistake", [lambda: jnp.from_dlpack([1]), lambda: jnp.nonzero(jnp.ones(()))]
)
def test_mistakes_are_named(mistake: Callable[[], object]) -> None:
    with pytest.raises(TinyjaxError):
        mistake()

"""NumPy's rules for large arrays, compared with those for small ones."""

import importlib
import math
import threading
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.scipy.special
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import dtypes, lax
from tinyjax._base import cores
from tinyjax._primitives import compiled_formulas, convolution, sort, special
from tinyjax.core.tracing import primitive as prim, staging
from tinyjax.core.tracing.primitive import NO_PARAMS
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.xla import threads
from tinyjax.dtypes import HostArray
from tinyjax.errors import DtypeError
from tinyjax.scipy import special as scipy_special

pytestmark = pytest.mark.usefixtures("compiled")

importlib.import_module("tinyjax._extensions.host.large")

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def integers(dtype: str, shape: tuple[int, ...], bits: int, seed: int) -> HostArray:
    """Integers of at most so many bits, with the ends among them."""
    ends = np.iinfo(dtype)
    low, high = max(ends.min, -(2**bits)), min(ends.max, 2**bits)
    x = np.random.default_rng(seed).integers(low, high, shape, dtype, endpoint=True)
    x.flat[:2] = low, high
    return x


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bits", [3, 11, 16, 31, 63])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integers_are_exact(dtype: str, bits: int) -> None:
    x, y = integers(dtype, (2, 90, 110), bits, 1), integers(dtype, (2, 110, 100), bits, 2)
    expected = np.einsum("bij,bjk->bik", x.astype(object), y.astype(object))
    for result in (dtype, "int8", "int64", "uint32"):
        size = np.dtype(result).itemsize * 8
        rest = expected % (1 << size)
        if result[0] == "i":
            rest = np.where(rest >= 1 << (size - 1), rest - (1 << size), rest)
        found = jnp.matmul(x, y, preferred_element_type=result)
        assert found.dtype == result
        np.testing.assert_array_equal(np.asarray(found), rest.astype(result))
    some = lax.dot(x[0].T.copy(), x[0])
    np.testing.assert_array_equal(some, tinyjax.jit(lax.dot, tier="compiled")(x[0].T, x[0]))


@pytest.mark.parametrize(("shift", "dtype"), [(24, "float32"), (16, "float64"), (0, "float64")])
def test_products_of_integers_are_multiplied_as_floats(
    shift: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = integers("int32", (400, 400), 31, 1) >> shift
    multiplied: list[str] = []
    matmul = np.matmul

    def recorder(a: HostArray, b: HostArray) -> Any:
        multiplied.append(a.dtype.name)
        return matmul(a, b)

    monkeypatch.setattr(np, "matmul", recorder)
    jnp.matmul(x, x)
    assert {*multiplied} == {dtype}


#: Makers of the arrays whose greatest elements are computed, of a generator and a shape.
KEYS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], HostArray]] = {
    "normal": lambda g, s: g.standard_normal(s).astype(np.float32),
    "few values": lambda g, s: g.integers(0, 50, s).astype(np.float32),
    "one value": lambda g, s: np.zeros(s, np.float32),
    "ascending": lambda g, s: np.arange(np.prod(s), dtype=np.float32).reshape(s),
    "special": lambda g, s: g.choice(np.array([0.0, -0.0, np.nan, -np.nan, np.inf, 1], "f4"), s),
    "bits": lambda g, s: g.integers(-(2**31), 2**31, s).astype(np.int32).view(np.float32),
    "float64": lambda g, s: g.standard_normal(s),
    "float16": lambda g, s: g.standard_normal(s).astype(np.float16),
    "bfloat16": lambda g, s: g.standard_normal(s).astype(dtypes.bfloat16),
    "int8": lambda g, s: g.integers(-128, 128, s).astype(np.int8),
    "uint32": lambda g, s: g.integers(0, 2**32, s).astype(np.uint32),
    "int64": lambda g, s: g.integers(-(2**63), 2**63 - 1, s),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("shape", "k"), [((50_000,), 7), ((3, 40, 200), 1), ((900, 97), 6)])
@pytest.mark.parametrize("name", KEYS)
def test_the_greatest_elements_are_those_of_small_arrays(
    name: str, shape: tuple[int, ...], k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = KEYS[name](np.random.default_rng(0), shape)
    values, places = lax.top_k(x, k)
    monkeypatch.setattr(sort, "_FEW", x.size)
    values_of_sorted, places_of_sorted = lax.top_k(x, k)
    np.testing.assert_array_equal(places, places_of_sorted)
    assert np.asarray(values).tobytes() == np.asarray(values_of_sorted).tobytes()
    compiled = jax.jit(lambda x: jax.lax.top_k(x, k))
    if x.dtype != np.int64:  # which jax has not
        np.testing.assert_array_equal(places, compiled(x)[1])


#: Primitives without parameters that have rules for large arrays.
LARGE: dict[str, prim.Primitive[Any]] = {
    x.name: x
    for x in prim.registry.values()
    if prim.LARGE in x.rules.extensions and x.params is prim.NoParams
}
SIZE = (310, 901)  # so many that blocks are divided among cores


def operands_of(name: str, dtype: dtypes.DType, layout: str) -> list[HostArray]:
    """Operands with special values among them."""
    generator = np.random.default_rng(0)

    def operand(i: int) -> HostArray:
        x: Any
        special: Any
        if dtypes.is_float(dtype):
            x = generator.standard_normal(SIZE) * generator.choice([1e-3, 1.0, 30.0], SIZE)
            special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0]
            x.flat[: 7 * 7] = np.repeat(special, 7) if i else special * 7
        elif dtypes.is_integer(dtype):
            ends = np.iinfo(dtype)
            x = generator.integers(ends.min, ends.max, SIZE, dtype, endpoint=True)
            x >>= generator.integers(0, ends.bits - 1, SIZE).astype(dtype)
            least = -1 if ends.min < 0 else 3
            special = np.array([0, 1, ends.max, ends.min, ends.max, least, 2], dtype)
            x.flat[: 7 * 7] = np.repeat(special, 7) if i else np.tile(special, 7)
        else:
            x = generator.integers(0, 2, SIZE)
        return np.asarray(x, dtype)

    x, y = operand(0), operand(1)
    match layout:
        case "transposed":
            x = np.asfortranarray(x)
        case "one number":
            y = np.broadcast_to(y[0, 3], SIZE)
        case "one number before":
            x = np.broadcast_to(x[3, 0], SIZE)
        case _:
            pass
    if name == "erf":
        return [x]
    return [generator.random(SIZE) < 0.5, x, y] if name == "select" else [x, y]


@pytest.mark.sampled(6, always=("float32-in order", "float32-transposed", "complex64-in order"))
@pytest.mark.parametrize("layout", ["in order", "transposed", "one number", "one number before"])
@pytest.mark.parametrize(
    "dtype",
    [
        *(dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.uint8, dtypes.uint32),
        *(dtypes.uint64, dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64),
        *(dtypes.complex64, dtypes.FLOAT8[0], *dtypes.STORED),
    ],
    ids=str,
)
def test_rules_for_large_arrays_agree_with_the_usual_ones(dtype: dtypes.DType, layout: str) -> None:
    for name, primitive in LARGE.items():
        operands = operands_of(name, dtype, layout)
        avals = [ShapedArray(x.shape, x.dtype) for x in operands]
        try:
            primitive.rules.abstract_eval(avals, NO_PARAMS)
        except DtypeError:
            continue
        call = primitive.rules.extensions[prim.LARGE](avals, NO_PARAMS)
        if call is None:
            continue
        usual = primitive.rules.host and primitive.rules.host(avals, NO_PARAMS)
        operands = operands[: getattr(usual, "nin", len(operands))]
        with np.errstate(all="ignore"):
            result = np.asarray(call.call(*operands))
            (expected,) = primitive.rules.impl(operands, NO_PARAMS)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        if dtype == dtypes.bfloat16 and name != "select":
            np.testing.assert_allclose(result.astype("f4"), expected.astype("f4"), rtol=2**-7)
            equal = (result == expected) | np.isnan(expected)
            assert np.count_nonzero(~equal) < result.size / 1000, name
        else:
            assert result.tobytes() == np.asarray(expected, order="C").tobytes(), name


@pytest.mark.parametrize("layout", ["in order", "transposed", "one number", "one number before"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint32"])
def test_integers_are_divided_and_rounded_down(dtype: str, layout: str) -> None:
    x, y = operands_of("div", np.dtype(dtype), layout)
    for a, b in [(x, y), (x[:9], y[:9])]:
        expected = jax.numpy.floor_divide(a, b)
        np.testing.assert_array_equal(jnp.asarray(a) // jnp.asarray(b), expected)


#: Shapes of operands of convolutions, and what else is said of them.
CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "a line": ((3, 9, 20), (4, 9, 5), {}),
    "a plane": ((2, 8, 11, 13), (3, 8, 3, 2), {}),
    "space": ((1, 8, 5, 6, 7), (2, 8, 2, 3, 2), {}),
    "no padding": ((2, 8, 11, 13), (3, 8, 3, 2), {"padding": "VALID"}),
    "cut": ((2, 8, 11, 13), (3, 8, 2, 3), {"padding": [(-1, 2), (3, -2)]}),
    "dilated": ((2, 8, 11, 13), (3, 8, 3, 2), {"rhs_dilation": (2, 3)}),
    "spread": ((2, 8, 6, 7), (3, 8, 3, 2), {"lhs_dilation": (2, 3), "padding": [(1, 1), (2, 0)]}),
    "groups": ((2, 16, 11, 13), (6, 8, 3, 2), {"feature_group_count": 2}),
    "groups of the batch": ((4, 8, 11, 13), (6, 8, 3, 2), {"batch_group_count": 2}),
    "another order": (
        (2, 11, 13, 8),
        (3, 2, 8, 3),
        {"dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "complex64"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("in_cache", [1, 1000, 1 << 20])
def test_convolutions_are_the_same_part_by_part(
    in_cache: int, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lhs, rhs, options = CONVOLUTIONS[name]
    generator = np.random.default_rng(0)
    x, y = [generator.integers(-4, 5, shape).astype(jnp.dtype(dtype)) for shape in (lhs, rhs)]
    options = {"padding": "SAME"} | options
    strides = (1,) * (len(lhs) - 2)
    usual = lax.conv_general_dilated(x, y, strides, **options)
    calls: list[int] = []
    by_parts = convolution._by_pieces

    def recorder(*args: Any) -> HostArray:
        calls.append(1)
        return np.asarray(by_parts(*args))

    monkeypatch.setattr(convolution, "_LARGE", 1)
    monkeypatch.setattr(convolution, "_IN_CACHE", in_cache)
    monkeypatch.setattr(convolution, "_by_pieces", recorder)
    convolution.conv_general_dilated_p.rules.types.clear()
    result = lax.conv_general_dilated(x, y, strides, **options)
    convolution.conv_general_dilated_p.rules.types.clear()
    assert calls
    np.testing.assert_array_equal(result, usual)
    np.testing.assert_array_equal(result, jax.lax.conv_general_dilated(x, y, strides, **options))


@pytest.mark.parametrize("large", [1, 1 << 22])
def test_a_convolution_without_space(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution, "_LARGE", large)
    convolution.conv_general_dilated_p.rules.types.clear()
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(lax.conv_general_dilated(x, y, (), "VALID"), x @ y.T)


# Formulas that XLA computes

#: Ends of the ranges of float32, by their bits: zeros, the least numbers, the normal ones, NaNs.
BITS: Final = (0, 1, 2, 3, 0x7FFFFF, 0x800000, 0x717A6D, 0x717A6E, 0x3F800000, 0x407CCCCD)
SPECIAL: Final = (*BITS, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF)


def any_float32(shape: tuple[int, ...], layout: str) -> HostArray:
    """Numbers of all magnitudes, and as many between -8 and 8."""
    generator = np.random.default_rng(0)
    size = 2 * math.prod(shape)
    x = generator.integers(0, 2**32, size, np.uint32).view(np.float32)
    x[::3] = generator.uniform(-8, 8, x[::3].size)
    ends = np.array(SPECIAL, np.uint32).view(np.float32)
    x[1 : 2 * ends.size : 2], x[-ends.size :] = ends, -ends
    match layout:
        case "steps":
            return x[::2].reshape(shape)
        case "columns":
            return x[: size // 2].reshape(shape[::-1]).T
        case _:
            return x[-size // 2 :].reshape(shape)


def by_numpy(x: HostArray) -> HostArray:
    with np.errstate(all="ignore"):
        return np.asarray(special.erf.rules.impl([x], NO_PARAMS)[0])


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the stagings of a formula, which is compiled at the first large array."""
    calls, stage = list[int](), staging.stage

    def recorder(*args: Any) -> Any:
        calls.append(1)
        return stage(*args)

    monkeypatch.setattr(compiled_formulas, "PAYS", 0)
    monkeypatch.setattr(staging, "stage", recorder)
    special.erf.rules.types.clear()
    return calls


def erf_of(shape: tuple[int, ...]) -> prim.Kernel:
    call = special.erf.host_function([ShapedArray(shape, dtypes.float32)], NO_PARAMS)
    assert call is not None
    return call


@pytest.mark.parametrize("layout", ["rows", "columns", "steps"])
@pytest.mark.parametrize("shape", [(49_999,), (50_000,), (50_001,), (3, 5, 5_003)])
def test_formulas_are_to_the_bit_those_of_numpy(
    staged: list[int], shape: tuple[int, ...], layout: str
) -> None:
    x = any_float32(shape, layout)
    expected, numbers, call = by_numpy(x), ~np.isnan(x), erf_of(shape)
    for _ in range(2):
        with np.errstate(all="ignore"):
            result = call(x)
        assert result[numbers].tobytes() == expected[numbers].tobytes()
        assert np.isnan(result[~numbers]).all()
    assert len(staged) == (x.size >= 50_000)


def test_formulas_under_transformations(staged: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 60_000)).astype(np.float32)
    erf, expected = scipy_special.erf, by_numpy(x)
    np.testing.assert_allclose(expected, jax.scipy.special.erf(x), rtol=2e-6)
    for fun in (erf, tinyjax.vmap(erf), tinyjax.vmap(erf, 1, 1), tinyjax.jit(erf, tier="first")):
        for _ in range(2):
            np.testing.assert_array_equal(fun(x), expected)
    assert staged
    slope = tinyjax.grad(lambda x: erf(x).sum())(x)
    np.testing.assert_allclose(slope, 2 / np.sqrt(np.pi) * np.exp(-x * x), rtol=2e-5, atol=1e-37)
    y = erf(x)
    np.testing.assert_array_equal(y * y + 1, np.multiply(expected, expected) + np.float32(1))
    with tinyjax.config.scoped(wide_dtypes=False):
        np.testing.assert_array_equal(erf(x[:, 1:]), expected[:, 1:])


def test_formulas_are_numpys_until_compiling_pays(
    staged: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_formulas, "PAYS", 200_000)
    call, x, counts = erf_of((70_001,)), np.ones(70_001, np.float32), list[int]()
    for _ in range(4):
        call(x)
        counts.append(len(staged))
    assert counts == [0, 0, 1, 1]
    monkeypatch.setattr(threads, "lacks_threads", lambda: True)
    erf_of((70_002,))(np.ones(70_002, np.float32))
    assert len(staged) == 1
    rule = special.erf.rules.extensions[prim.LARGE]
    assert rule([ShapedArray((70_000,), dtypes.float64)], NO_PARAMS) is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(262_143,), (262_144,), (300_001,), (700, 600), (3, 200, 500)])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64", "complex128"])
def test_large_fourier_transforms(shape: tuple[int, ...], dtype: str) -> None:
    generator = np.random.default_rng(0)
    x = (generator.normal(size=shape) + 1j * generator.normal(size=shape)).astype("complex128")
    x = (x if dtype[0] == "c" else x.real).astype(dtype)
    wide = np.asarray(x, "complex128" if dtype[0] == "c" else "float64")
    single, real = dtype in ("float32", "complex64"), dtype[0] == "f"
    for name in ("rfft", "rfft2") if real else ("fft", "fft2", "ifft"):
        if name[-1] == "2" and len(shape) == 1:
            continue
        expected = getattr(np.fft, name)(wide)
        scale = np.sqrt((np.abs(expected) ** 2).mean())
        for layout in (x, np.asfortranarray(x)):
            result = np.asarray(getattr(jnp.fft, name)(layout))
            error = np.abs(result - expected) / scale
            assert result.dtype == ("complex64" if single else "complex128")
            assert error.max() < (3e-6 if single else 1e-14)
            assert (error**2).mean() < (4e-7 if single else 1e-15) ** 2
    mapped = tinyjax.vmap(jnp.fft.rfft if real else jnp.fft.fft)
    if len(shape) > 1:
        np.testing.assert_array_equal(mapped(x), (jnp.fft.rfft if real else jnp.fft.fft)(x))


@pytest.mark.parametrize("number", [1, 2, 5])
def test_blocks_are_done_once_each_on_several_cores(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "CORES", number)
    done, threads, size = list[slice](), set[int](), 1_000_001
    meeting = threading.Barrier(number)

    def work(block: slice) -> None:
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            meeting.wait(60)
        done.append(block)

    for _ in range(2):
        done.clear()
        threads.clear()
        cores.over_blocks(size, 65_536, work)
        assert len(threads) == number
        places = np.concatenate([np.arange(size)[block] for block in sorted(done, key=str)])
        np.testing.assert_array_equal(np.sort(places), np.arange(size))


def test_an_error_on_another_core_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "CORES", 2)
    own, meeting = threading.get_ident(), threading.Barrier(2)
    met = set[int]()

    def work(block: slice) -> None:
        if threading.get_ident() not in met:
            met.add(threading.get_ident())
            meeting.wait(60)
        if threading.get_ident() != own:
            raise OSError("elsewhere")

    for _ in range(2):
        met.clear()
        with raises(OSError, match="elsewhere"):
            cores.over_blocks(1_000_000, 65_536, work)

"""Random numbers: bit for bit those of jax, eager and compiled, in both streams."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from scipy import stats

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config, dtypes, random
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, ConcretizationError, DtypeError, ShapeError

pytestmark = pytest.mark.usefixtures("compiled")

KEY = np.array([0x12345678, 0x9ABCDEF0], np.uint32)
BFLOAT16 = ml_dtypes.bfloat16

Draws = Callable[[Any, Any], dict[str, Any]]


def unknown(name: str) -> Any:
    """A name that the types forbid."""
    return name


@contextmanager
def stream(partitionable: bool, wide: bool = True) -> Iterator[None]:
    """One of the two streams, in both packages; in jax with 64-bit types."""
    with ExitStack() as stack:
        stack.enter_context(jax.threefry_partitionable(partitionable))
        stack.enter_context(jax.enable_x64(wide))
        stack.enter_context(config.scoped(threefry_partitionable=partitionable))
        yield


def hosts(values: dict[str, Any]) -> dict[str, HostArray]:
    return {name: np.asarray(value) for name, value in values.items()}


def assert_same_bits(got: dict[str, Any], expected: dict[str, Any]) -> None:
    got, expected = hosts(got), hosts(expected)
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        assert got[name].dtype == value.dtype, name
        assert got[name].shape == value.shape, name
        unsigned = f"u{value.dtype.itemsize}" if value.dtype.kind != "c" else "u8"
        if value.dtype.kind == "b":
            unsigned = "b"
        np.testing.assert_array_equal(
            np.ascontiguousarray(got[name]).view(unsigned),
            np.ascontiguousarray(value).view(unsigned),
            err_msg=name,
        )


def by_jax(draws: Draws, key: HostArray = KEY) -> dict[str, Any]:
    numbers: dict[str, Any] = jax.jit(lambda key: draws(jax.random, key))(key)
    return numbers


def eagerly(draws: Draws, key: HostArray = KEY) -> dict[str, Any]:
    return draws(random, key)


def compiled(draws: Draws, key: HostArray = KEY) -> dict[str, Any]:
    return tinyjax.jit(lambda key: draws(random, key))(key)


streams = pytest.mark.parametrize("partitionable", [True, False], ids=["partitionable", "old"])


def assert_draws_of_jax(draws: Draws) -> None:
    """The same bits, eager and compiled."""
    expected = by_jax(draws)
    assert_same_bits(eagerly(draws), expected)
    assert_same_bits(compiled(draws), expected)


# Keys


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 - 1, -1, -(2**31)])
def test_a_seed_of_32_bits_makes_the_key_of_jax(seed: int) -> None:
    np.testing.assert_array_equal(random.PRNGKey(seed), jax.random.PRNGKey(seed))
    np.testing.assert_array_equal(random.key_data(random.key(seed)), jax.random.PRNGKey(seed))


@pytest.mark.parametrize("seed", [2**32, 2**40 + 5, 2**63 - 1, -(2**63), -(2**40)])
def test_a_seed_of_64_bits_makes_the_key_of_jax_with_64_bit_types(seed: int) -> None:
    with jax.enable_x64(True):
        expected = jax.random.PRNGKey(seed)
    np.testing.assert_array_equal(random.PRNGKey(seed), expected)


@pytest.mark.parametrize("dtype", [d.name for d in dtypes.INTEGERS])
def test_a_seed_can_be_an_array_of_any_integer_type(dtype: str) -> None:
    info = np.iinfo(dtype)
    for value in (int(info.min), int(info.max), 7):
        seed = np.array(value, dtype)
        with jax.enable_x64(True):
            expected = np.asarray(jax.random.PRNGKey(seed))
        np.testing.assert_array_equal(random.PRNGKey(seed), expected)
        np.testing.assert_array_equal(tinyjax.jit(random.PRNGKey)(seed), expected)


def test_a_negative_seed_fills_both_words_where_the_default_int_has_64_bits() -> None:
    with tinyjax.default_dtypes(np.float64), jax.enable_x64(True):
        np.testing.assert_array_equal(random.PRNGKey(-1), jax.random.PRNGKey(-1))


def test_seeds_that_are_none() -> None:
    with raises(ArgumentError, match="at most 64 bits"):
        random.key(2**63)
    with raises(DtypeError, match="a seed is an integer"):
        random.key(1.5)
    with raises(ShapeError, match="vmap"):
        random.key(np.arange(3))
    with raises(ArgumentError, match="threefry2x32"):
        random.key(0, impl="nope")


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        (3, "tinyjax.random.key"),
        (np.zeros(2, np.int32), "tinyjax.random.key"),
        (np.zeros((4, 2), np.uint32), "vmap"),
        (np.zeros(3, np.uint32), "tinyjax.random.key"),
    ],
)
def test_a_key_that_is_none_is_named(key: Any, advice: str) -> None:
    for draw in (random.normal, random.split, random.bits):
        with raises(ArgumentError, match=f"takes a key.*{advice}"):
            draw(key)


@pytest.mark.parametrize("shape", [-1, (2, -3), 1.5, "ab"])
@pytest.mark.wrong_types
def test_a_shape_that_is_none(shape: Any) -> None:
    with raises(ArgumentError, match="uniform takes a shape"):
        random.uniform(KEY, shape)


def test_a_shape_that_is_traced() -> None:
    with raises(ConcretizationError, match="static_argnums"):
        tinyjax.jit(lambda n: random.normal(KEY, (2, n)))(3)


@streams
def test_split_and_fold_in(partitionable: bool) -> None:
    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            "split": r.split(key),
            "split 5": r.split(key, 5),
            "split 0": r.split(key, 0),
            "split (2, 3)": r.split(key, (2, 3)),
            "fold_in": r.fold_in(key, 7),
            "fold_in 2^32 - 1": r.fold_in(key, 2**32 - 1),
            "fold_in a negative number": r.fold_in(key, np.int32(-3)),
        }

    with stream(partitionable):
        assert_draws_of_jax(draws)


def test_what_cannot_be_folded_in() -> None:
    with raises(ArgumentError, match="does not fit in uint32"):
        random.fold_in(KEY, -1)
    with raises(DtypeError, match="fold_in takes an integer"):
        random.fold_in(KEY, 1.5)
    with raises(ShapeError, match="vmap"):
        random.fold_in(KEY, np.arange(3))


def test_raw_keys() -> None:
    np.testing.assert_array_equal(random.key_data(KEY), KEY)
    np.testing.assert_array_equal(random.key_data(random.key(3)), [0, 3])
    np.testing.assert_array_equal(random.clone(KEY), KEY)
    with raises(DtypeError, match="uint32"):
        random.wrap_key_data(np.zeros(2))
    with raises(ShapeError, match="2 for each"):
        random.wrap_key_data(np.zeros(3, np.uint32))


# Exact draws


@streams
def test_bits(partitionable: bool) -> None:
    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            f"{dtype} {shape}": r.bits(key, shape, dtype)
            for dtype in ("uint8", "uint16", "uint32", "uint64")
            for shape in ((), (1,), (7,), (3, 5), (0, 2))
        }

    with stream(partitionable):
        assert_draws_of_jax(draws)


@streams
def test_many_bits(partitionable: bool) -> None:
    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {dtype: r.bits(key, (70_001,), dtype) for dtype in ("uint8", "uint64")}

    with stream(partitionable):
        assert_same_bits(eagerly(draws), by_jax(draws))


def test_bits_are_as_wide_as_the_default_int() -> None:
    assert random.bits(KEY).dtype == np.uint32
    with tinyjax.default_dtypes(np.float64):
        assert random.bits(KEY).dtype == np.uint64
    with raises(DtypeError, match="unsigned"):
        random.bits(KEY, (), np.int32)


def test_more_positions_than_32_bits_are_typed() -> None:
    found = tinyjax.eval_shape(lambda key: random.bits(key, (2**20, 2**13)), KEY)
    assert found.shape == (2**20, 2**13)
    with config.scoped(threefry_partitionable=False), raises(ShapeError, match="at once"):
        tinyjax.eval_shape(lambda key: random.bits(key, (2**20, 2**13)), KEY)


@streams
def test_uniform(partitionable: bool) -> None:
    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            f"{np.dtype(dtype)} {shape}": r.uniform(key, shape, dtype)
            for dtype in (np.float16, BFLOAT16, np.float32, np.float64)
            for shape in ((33,), ())
        }

    with stream(partitionable):
        assert_draws_of_jax(draws)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_between_bounds(dtype: Any) -> None:
    low, high = np.array([[-1.3], [2.0]], dtype), np.array([0.7, 3.7, 4.1], dtype)

    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            "numbers": r.uniform(key, (50, 1), dtype, -1.3, 3.7),
            "arrays": r.uniform(key, (40, 2, 3), dtype, low, high),
            "integers": r.uniform(key, (50,), dtype, -1, 2),
        }

    with stream(True):
        expected = by_jax(draws)
        assert_same_bits(compiled(draws), expected)
        # a multiplication and an addition are rounded once or twice
        for name, value in eagerly(draws).items():
            np.testing.assert_allclose(value, expected[name], 0, 4 * np.finfo(dtype).eps)


def test_uniform_is_differentiable_in_its_bounds() -> None:
    def mean(low: Any, high: Any) -> Any:
        return random.uniform(KEY, (100,), minval=low, maxval=high).mean()

    into_low, into_high = tinyjax.grad(mean, (0, 1))(0.0, 1.0)
    share = float(random.uniform(KEY, (100,)).mean())
    np.testing.assert_allclose([into_low, into_high], [1 - share, share], 1e-5)


@pytest.mark.parametrize("shapes", [((1,), (1,)), ((1, 1), (1,)), ((1,), ()), ((), (1,))])
def test_one_number_between_bounds_of_one_element(shapes: tuple[tuple[int, ...], ...]) -> None:
    low, high = np.full(shapes[0], -1, np.float32), np.full(shapes[1], 3, np.float32)
    drawn = random.uniform(KEY, (), np.float32, low, high)
    expected = jax.random.uniform(KEY, (), np.float32, low, high)
    assert drawn.shape == expected.shape
    np.testing.assert_allclose(drawn, expected, rtol=1e-6)


def test_bounds_must_broadcast_to_the_shape() -> None:
    with raises(ShapeError, match=r"broadcast to its shape \(3,\)"):
        random.uniform(KEY, (3,), minval=np.zeros((2, 3), np.float32))
    with raises(DtypeError, match="floats"):
        random.uniform(KEY, (3,), np.int32)


INTEGERS = tuple(d.name for d in dtypes.INTEGERS)


@streams
def test_randint(partitionable: bool) -> None:
    low, high = np.arange(5), np.arange(5) * 3

    def draws(r: Any, key: Any) -> dict[str, Any]:
        found = {dtype: r.randint(key, (9,), 3, 100, dtype) for dtype in INTEGERS}
        for dtype in ("int8", "uint32"):
            info = np.iinfo(dtype)
            found[f"{dtype} arrays"] = r.randint(key, (2, 5), low, high, dtype)
            found[f"{dtype} empty"] = r.randint(key, (3,), 9, 2, dtype)
            # the end is one more than the type can hold
            found[f"{dtype} all"] = r.randint(key, (9,), info.min, info.max + 1, dtype)
            wide = np.array(info.max + 1)
            found[f"{dtype} all, array"] = r.randint(key, (9,), info.min, wide, dtype)
        found["int64 wide"] = r.randint(key, (9,), np.int64(-(2**62)), np.int64(2**62), "int64")
        return found

    with stream(partitionable):
        assert_draws_of_jax(draws)


def test_randint_of_python_numbers_of_any_size() -> None:
    found = np.asarray(random.randint(KEY, (1000,), -(2**63), 2**63, np.int64))
    assert found.min() < -(2**62)
    assert found.max() > 2**62
    found = np.asarray(random.randint(KEY, (1000,), -5, 10**30, np.uint8))
    assert found.max() > 250
    with raises(DtypeError, match="integers"):
        random.randint(KEY, (), 0, 3, np.float32)


@streams
def test_bernoulli_and_rademacher(partitionable: bool) -> None:
    p = np.array([0.1, 0.9], np.float32)

    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            "default": r.bernoulli(key),
            "number": r.bernoulli(key, 0.3, (50,)),
            "array": r.bernoulli(key, p),
            "broadcast": r.bernoulli(key, p, (50, 2)),
            "high": r.bernoulli(key, p, (50, 2), mode="high"),
            "signs": r.rademacher(key, (50,)),
            "small signs": r.rademacher(key, (50,), np.int8),
            "float signs": r.rademacher(key, (50,), np.float16),
        }

    with stream(partitionable, wide=False):
        assert_draws_of_jax(draws)


@pytest.mark.wrong_types
def test_probabilities_that_are_none() -> None:
    with raises(DtypeError, match="float p"):
        random.bernoulli(KEY, 1)
    with raises(ArgumentError, match="mode of bernoulli"):
        random.bernoulli(KEY, 0.5, (), unknown("middle"))


# Order and choice


@streams
def test_permutation(partitionable: bool) -> None:
    x = np.arange(24, dtype=np.float32).reshape(4, 6)

    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            "number": r.permutation(key, 9),
            "none": r.permutation(key, 0),
            "one": r.permutation(key, 1),
            "line": r.permutation(key, x[0]),
            "rows": r.permutation(key, x),
            "columns": r.permutation(key, x, -1),
            "independent": r.permutation(key, x, 1, independent=True),
        }

    with stream(partitionable, wide=False):
        assert_draws_of_jax(draws)


def test_a_long_permutation_is_sorted_twice() -> None:
    with stream(True, wide=False):
        expected = jax.random.permutation(jax.random.PRNGKey(3), 3000)
    np.testing.assert_array_equal(random.permutation(random.key(3), 3000), expected)


@streams
def test_choice(partitionable: bool) -> None:
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    p = np.array([0.1, 0.2, 0.3, 0.4], np.float32)

    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            "number": r.choice(key, 9, (3, 2)),
            "none": r.choice(key, 9, (0,)),
            "scalar": r.choice(key, x[0]),
            "rows": r.choice(key, x, (3, 2)),
            "columns": r.choice(key, x, (7,), axis=1),
            "without replacement": r.choice(key, x, (2, 2), replace=False, axis=1),
            "number without": r.choice(key, 9, (3,), replace=False),
            "weighted": r.choice(key, x, (20,), p=p),
            "weighted without": r.choice(key, 4, (3,), replace=False, p=p),
        }

    with stream(partitionable, wide=False):
        assert_draws_of_jax(draws)


def test_choices_that_are_none() -> None:
    with raises(ArgumentError, match="replace=True"):
        random.choice(KEY, 3, (4,), replace=False)
    with raises(ArgumentError, match="at least one element"):
        random.choice(KEY, 0, (4,))
    with raises(ShapeError, match=r"p of shape \(3,\)"):
        random.choice(KEY, 3, (4,), p=np.ones(4))
    with raises(ArgumentError, match="an array or an integer"):
        random.permutation(KEY, 1.5)


@streams
def test_categorical(partitionable: bool) -> None:
    logits = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)

    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            "last": r.categorical(key, logits),
            "first": r.categorical(key, logits, 0),
            "more": r.categorical(key, logits, 0, (5, 4)),
            "high": r.categorical(key, logits, shape=(2, 3), mode="high"),
            "without replacement": r.categorical(key, logits, -1, (2, 3), replace=False),
        }

    with stream(partitionable, wide=False):
        assert_draws_of_jax(draws)


def test_too_many_categories_are_asked_for() -> None:
    with raises(ArgumentError, match="cannot draw 5 of 2"):
        random.categorical(KEY, np.zeros(2, np.float32), shape=(5,), replace=False)
    with raises(ShapeError, match="broadcast"):
        random.categorical(KEY, np.zeros((2, 3), np.float32), shape=(5,))


# Continuous distributions


NAMES = ("normal", "exponential", "gumbel", "laplace", "logistic", "cauchy")


def continuous(*names: str, dtype: Any = np.float32) -> Draws:
    def draws(r: Any, key: Any) -> dict[str, Any]:
        found = {name: getattr(r, name)(key, (129,), dtype) for name in names}
        if len(names) > 1:
            found["gumbel high"] = r.gumbel(key, (129,), dtype, "high")
            found["truncated_normal"] = r.truncated_normal(key, -2.0, 1.5, (129,), dtype)
        return found

    return draws


# One at a time: what XLA fuses with what decides which sums are rounded once, in jax as well.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_compiled_draws_are_those_of_jax_to_the_last_bit(name: str) -> None:
    with stream(True):
        for dtype in (np.float32, np.float64):
            draws = continuous(name, dtype=dtype)
            assert_same_bits(compiled(draws), by_jax(draws))


@streams
def test_other_draws_that_are_those_of_jax_to_the_last_bit(partitionable: bool) -> None:
    def truncated(r: Any, key: Any) -> dict[str, Any]:
        return {"truncated_normal": r.truncated_normal(key, -2.0, 1.5, (4000,))}

    def high(r: Any, key: Any) -> dict[str, Any]:
        return {"gumbel": r.gumbel(key, (7, 3), mode="high")}

    with stream(partitionable, wide=False):
        for draws in (continuous("normal"), continuous("normal", dtype=BFLOAT16), truncated, high):
            assert_same_bits(compiled(draws), by_jax(draws))


# In units in the last place of the largest term: XLA's logarithm is not NumPy's, and where the
# logarithm of a logarithm or a sum of two comes near 0, its error stays.
EAGER_ULPS = 16


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_eager_draws_are_those_of_jax_to_a_few_units(dtype: Any) -> None:
    draws = continuous(*NAMES, dtype=dtype)
    eps = float(np.finfo(dtype).eps)
    with stream(True):
        expected = hosts(by_jax(draws))
        for name, value in hosts(eagerly(draws)).items():
            # in float64 both approximations of the inverse error function are good to 1e-14
            ulps = EAGER_ULPS * (4 if dtype == np.float64 else 1)
            np.testing.assert_allclose(
                value.astype(np.float64),
                expected[name].astype(np.float64),
                ulps * eps,
                ulps * eps,
                err_msg=name,
            )


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_normal_numbers(dtype: Any) -> None:
    draws = continuous("normal", dtype=dtype)
    with stream(True):
        expected = by_jax(draws)["normal"]
        eps = np.finfo(dtype).eps
        # complex division is XLA's to fuse as it likes
        np.testing.assert_allclose(compiled(draws)["normal"], expected, 4 * eps)
        np.testing.assert_allclose(eagerly(draws)["normal"], expected, 64 * eps)


def test_distributions_with_parameters() -> None:
    width = np.array([0.5, 2.0], np.float32)

    def draws(r: Any, key: Any) -> dict[str, Any]:
        return {
            "lognormal": r.lognormal(key, width, (30, 2)),
            "pareto": r.pareto(key, width),
            "rayleigh": r.rayleigh(key, width, (30, 2)),
            "weibull_min": r.weibull_min(key, 2.0, width, (30, 2)),
            "truncated_normal": r.truncated_normal(key, -width, width),
        }

    with stream(True, wide=False):
        expected = by_jax(draws)
        assert_same_bits(compiled(draws), expected)
        for name, value in eagerly(draws).items():
            np.testing.assert_allclose(value, expected[name], 1e-5, 1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("name", "args", "distribution"),
    [
        ("uniform", (), stats.uniform()),
        ("normal", (), stats.norm()),
        ("exponential", (), stats.expon()),
        ("gumbel", (), stats.gumbel_r()),
        ("laplace", (), stats.laplace()),
        ("logistic", (), stats.logistic()),
        ("cauchy", (), stats.cauchy()),
        ("truncated_normal", (-1.0, 2.0), stats.truncnorm(-1, 2)),
        ("lognormal", (0.5,), stats.lognorm(0.5)),
        ("pareto", (3.0,), stats.pareto(3)),
        ("rayleigh", (2.0,), stats.rayleigh(scale=2)),
        ("weibull_min", (2.0, 1.5), stats.weibull_min(1.5, scale=2)),
    ],
)
def test_the_distribution_is_the_one_named(name: str, args: Any, distribution: Any) -> None:
    drawn = np.asarray(getattr(random, name)(random.key(5), *args, (5000,)), np.float64)
    assert stats.kstest(drawn, distribution.cdf).pvalue > 0.001


def test_numbers_take_the_default_float() -> None:
    assert random.normal(KEY).dtype == np.float32
    with tinyjax.default_dtypes(np.float64):
        assert random.normal(KEY).dtype == np.float64
        assert random.randint(KEY, (), 0, 3).dtype == np.int64
    for name in NAMES:
        with raises(DtypeError, match=name):
            getattr(random, name)(KEY, (), np.int32)


@pytest.mark.wrong_types
def test_gumbel_has_two_modes() -> None:
    with raises(ArgumentError, match="'low' or 'high'"):
        random.gumbel(KEY, (), None, unknown("highest"))


# Transformations


def test_vmap_over_keys_draws_what_each_key_draws() -> None:
    def draws(r: Any, key: Any) -> dict[str, Any]:
        first, second = r.split(key)
        return {
            "bits": r.bits(first, (3,), "uint8"),
            "uniform": r.uniform(second, (2, 3)),
            "randint": r.randint(first, (5,), 0, 10),
            "fold_in": r.fold_in(key, 4),
            "permutation": r.permutation(second, 5),
        }

    mapped = tinyjax.vmap(lambda key: draws(random, key))
    keys = np.asarray(jax.random.split(KEY, 4))
    for partitionable in (True, False):
        with stream(partitionable, wide=False):
            expected = jax.jit(jax.vmap(lambda key: draws(jax.random, key)))(keys)
            assert_same_bits(mapped(keys), expected)
    assert_same_bits(tinyjax.jit(mapped)(keys), mapped(keys))


def test_derivatives_pass_through_draws() -> None:
    def loss(scale: Any, key: Any) -> Any:
        return (scale * random.normal(key, (10,))).sum()

    expected = random.normal(KEY, (10,)).sum()
    np.testing.assert_allclose(tinyjax.grad(loss)(2.0, KEY), expected, 1e-6)
    np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(loss))(2.0, KEY), expected, 1e-5)


def test_truncated_normal_is_differentiable_in_its_bounds() -> None:
    def mean(r: Any, low: Any) -> Any:
        return r.truncated_normal(KEY, low, 2.0, (50,)).mean()

    with stream(True, wide=False):
        expected = jax.grad(lambda low: mean(jax.random, low))(-1.0)
        found = tinyjax.grad(lambda low: mean(random, low))(-1.0)
    np.testing.assert_allclose(found, expected, 1e-4)


def test_the_stream_is_part_of_what_is_compiled() -> None:
    draw = tinyjax.jit(lambda key: random.bits(key, (3,)))
    one = np.asarray(draw(KEY))
    with config.scoped(threefry_partitionable=False):
        other = np.asarray(draw(KEY))
    assert (one != other).any()
    np.testing.assert_array_equal(draw(KEY), one)


def test_the_hash_is_compiled_once_for_a_draw() -> None:
    """However many operations read it."""

    def pieces(key: Any) -> Any:
        drawn = random.bernoulli(key, 0.3, (9, 8, 8))
        return jnp.vstack([jnp.hstack([drawn[3 * i + j].T for j in range(3)]) for i in range(3)])

    def draws(key: Any) -> Any:
        return [random.normal(each) for each in random.split(key, 3)]

    def hashes(fun: Any) -> float:
        one = tinyjax.jit(lambda key: random.bits(key, (5,))).lower(KEY).compile().as_text()
        text = tinyjax.jit(fun).lower(KEY).compile().as_text()
        return float(text.count(" xor(") / one.count(" xor("))

    assert hashes(pieces) == pytest.approx(1, abs=0.1)
    assert hashes(draws) == pytest.approx(4, abs=0.4)

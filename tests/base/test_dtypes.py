"""Element types: the promotion lattice against jax's, defaults, kinds, and what is never done."""

import copy
import itertools
import operator
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy
import ml_dtypes
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import dtypes, jit, lax
from tinyjax.dtypes import ALL, COMPLEXES, FLOAT8, FLOATS, INEXACT, INTEGERS, DType
from tinyjax.errors import DtypeError, PromotionError

WEAK = {"int": 1, "float": 1.0, "complex": 1j}
KINDS: list[DType | str] = [*ALL, *WEAK]


@pytest.mark.parametrize("name", ["add", "max", "atan2", "nextafter", "dot", "pad"])
@pytest.mark.parametrize("weak", list(itertools.product([False, True], repeat=2)))
def test_a_result_is_weak_if_all_operands_are(name: str, weak: tuple[bool, bool]) -> None:
    def weakness(library: Any) -> list[bool]:
        numbers = [1.0 if w else np.float32(2) for w in weak]
        seen: list[bool] = []

        def f(*xs: Any) -> Any:
            if name == "dot":
                xs = tuple([library.numpy.broadcast_to(x, (3,)) for x in xs])
            if name == "pad":
                xs = (library.numpy.broadcast_to(xs[0], (3,)), xs[1], [(1, 1, 0)])
            out = getattr(library.lax, name)(*xs)
            seen.append(bool(out.weak_type))
            return out

        library.jit(f)(*numbers)
        return seen

    assert weakness(tinyjax) == weakness(jax)


@pytest.mark.parametrize("weak", [False, True])
def test_an_example_is_as_weak_as_what_is_mapped(weak: bool) -> None:
    half = jnp.ones((), "float16")

    def f(x: Any) -> Any:
        assert x.weak_type == weak
        return x * half

    x = jnp.broadcast_to(jnp.asarray(2.0 if weak else np.float32(2)), (3,))
    assert x.weak_type == weak
    for mapped in (tinyjax.vmap(f), jit(tinyjax.vmap(f))):
        assert mapped(x).dtype == ("float16" if weak else "float32")


@pytest.fixture(params=["float32", "float64"])
def defaults(request: pytest.FixtureRequest) -> Iterator[str]:
    with tinyjax.default_dtypes(request.param):
        yield request.param


def ours(kind: DType | str) -> tuple[DType, bool]:
    if isinstance(kind, str):
        return dtypes.scalar_dtype(type(WEAK[kind])), True
    return kind, False


def theirs(kind: DType | str) -> Any:
    return WEAK[kind] if isinstance(kind, str) else np.zeros((), kind)


def jax_promotes(*kinds: DType | str) -> tuple[DType, bool] | None:
    """The dtype and weakness of jax's result, None where jax knows no common type."""
    with jax.enable_x64(True):
        try:
            found = jax.eval_shape(lambda *xs: sum(xs[1:], xs[0]), *map(theirs, kinds))
        except jax.dtypes.TypePromotionError:
            return None
        # a weak result of ours has the default width, of jax's with x64 on the widest
        return np.dtype(found.dtype), bool(found.weak_type)


def promotes(*kinds: DType | str) -> tuple[DType, bool] | None:
    try:
        return dtypes.promote([ours(kind) for kind in kinds])
    except PromotionError:
        return None


def test_every_pair_promotes_as_in_jax() -> None:
    different = {}
    with tinyjax.default_dtypes("float64"):
        for pair in itertools.combinations_with_replacement(KINDS, 2):
            found, expected = promotes(*pair), jax_promotes(*pair)
            if found != expected:
                different[tuple(map(str, pair))] = (found, expected)
    assert different == {}


def test_promotion_does_not_depend_on_the_order_of_operands(defaults: str) -> None:
    for a, b in itertools.combinations(KINDS, 2):
        assert promotes(a, b) == promotes(b, a)
    triples = list(itertools.combinations(KINDS, 3))[::11]
    for triple in triples:
        found = {promotes(*order) for order in itertools.permutations(triple)}
        assert len(found) == 1, triple


def test_promotion_of_a_type_with_itself(defaults: str) -> None:
    for kind in KINDS:
        assert promotes(kind, kind) == ours(kind)


def test_a_weak_type_gives_way(defaults: str) -> None:
    for dtype in ALL:
        found = promotes(dtype, "int")
        assert found is not None
        assert found[0] == (dtypes.default_int() if dtype == np.bool_ else dtype)
        if dtype in INEXACT:
            assert promotes(dtype, "float") == (dtype, False)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("int32", "uint32", "int64"),
        ("int64", "uint64", "float64"),
        ("int64", "float32", "float32"),
        ("int32", "float16", "float16"),
        ("bfloat16", "float16", "float32"),
        ("float64", "complex64", "complex128"),
        ("bool", "int8", "int8"),
        (int, "int8", "int8"),
        (float, "int64", "float64"),
        (float, "int32", "float32"),
        (complex, "uint64", "complex128"),
        (complex, "int32", "complex64"),
        (complex, "float64", "complex128"),
        (np.dtype("float64"), "float32", "float64"),  # NumPy says it is equal to Python's float
    ],
)
def test_promote_types(a: Any, b: Any, expected: str) -> None:
    assert dtypes.promote_types(a, b) == np.dtype(expected)
    assert dtypes.promote_types(b, a) == np.dtype(expected)


NAMED: list[tuple[str, Any, Any]] = [
    *[(f"dtype {d}", d, d) for d in ALL],
    *[(f"scalar type {d}", d.type, d.type) for d in (np.dtype("int8"), *map(np.dtype, "qfdFD"))],
    *[
        (f"jnp.{d}", getattr(jnp, d.name), getattr(jax.numpy, d.name))
        for d in map(np.dtype, "iqfd")
    ],
    *[(f"array {d}", jnp.zeros(2, d), np.zeros(2, d)) for d in map(np.dtype, "bilqefdFD")],
    *[(kind.__name__, kind, kind) for kind in (bool, int, float, complex)],
    *[(repr(number), number, number) for number in (True, 1, 1.0, 1j)],
]


def test_result_types_are_those_of_jax_however_they_are_named() -> None:
    """NumPy's float64 is equal to Python's ``float``, and yet not weak."""

    def named(module: Any, kinds: tuple[Any, ...]) -> Any:
        try:
            return np.dtype(module.result_type(*kinds))
        except (PromotionError, jax.dtypes.TypePromotionError):
            return None

    with tinyjax.default_dtypes("float64"), jax.enable_x64(True):
        pairs = list(itertools.product(NAMED, repeat=2))
        for several in (
            *[(n,) for n in NAMED],
            *pairs,
            *list(itertools.product(NAMED, repeat=3))[::97],
        ):
            names, ours, theirs = zip(*several, strict=True)
            assert named(jnp, ours) == named(jax.numpy, theirs), names


def test_64_bit_integers_beside_weak_types_give_64_bits() -> None:
    weak_float, weak_complex = ours("float"), ours("complex")
    for integer in map(np.dtype, ("int64", "uint64")):
        assert dtypes.promote([(integer, False), weak_float]) == (dtypes.float64, True)
        assert dtypes.promote([(integer, False), weak_complex]) == (dtypes.complex128, True)
        for dtype in (*INTEGERS, dtypes.bool_):
            assert dtypes.promote([(integer, False), (dtype, False), weak_float])[0] == np.float64
        for dtype in INEXACT:  # another operand says which float
            assert dtypes.promote([(integer, False), (dtype, False), weak_float])[0] == dtype
    # these meet in int64
    mixed = [(dtypes.int32, False), (dtypes.uint32, False), weak_float]
    assert dtypes.promote(mixed) == (dtypes.float64, True)
    # a weak type of 64 bits is kept among weak ones, and gives way to a strong one
    assert dtypes.promote([(dtypes.float64, True), weak_float]) == (dtypes.float64, True)
    assert dtypes.promote([(dtypes.float64, True), weak_complex]) == (dtypes.complex128, True)
    assert dtypes.promote([(dtypes.float64, True), (dtypes.float32, False)])[0] == np.float32


def test_types_with_no_common_type() -> None:
    for other in (*FLOAT8[1:], dtypes.bfloat16, dtypes.float16, dtypes.float32):
        with raises(PromotionError, match=r"have no common type.*\.astype"):
            dtypes.promote_types(FLOAT8[0], other)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "greater": lambda x, y: x > y,
}


@pytest.mark.parametrize("name", BINARY)
def test_results_have_the_promoted_type_eagerly_and_compiled(name: str) -> None:
    fun = BINARY[name]
    for a, b in [
        ("int32", 1.0),
        ("int8", "uint8"),
        ("float32", 2),
        ("bfloat16", 1.5),
        ("float64", "float32"),
        ("bool", 2.0),
    ]:
        x, y = (np.ones(2, jnp.dtype(k)) if isinstance(k, str) else k for k in (a, b))
        first: Any = x
        eager, fast = fun(jnp.asarray(first), y), jit(fun)(x, y)
        with jax.enable_x64(True):
            expected = jax.eval_shape(fun, x, y)
        if a in ("int32", "bool"):  # the default float takes part: jax has ours with x64 off
            expected = jax.eval_shape(fun, x, y)
        assert eager.dtype == fast.dtype == expected.dtype, (a, b)
        assert eager.weak_type == fast.weak_type, (a, b)
        if name != "greater":  # jax calls some bools weak, which makes no difference
            assert eager.weak_type == expected.weak_type, (a, b)


# Defaults


def test_default_types(defaults: str) -> None:
    wide = defaults == "float64"
    assert dtypes.default_float() == np.dtype(np.float64 if wide else np.float32)
    assert dtypes.default_int() == np.dtype(np.int64 if wide else np.int32)
    assert dtypes.default_complex() == np.dtype(np.complex128 if wide else np.complex64)
    assert dtypes.scalar_dtype(bool) == np.bool_
    for scalar in (True, 1, 1.0, 1j):
        array = jnp.asarray(scalar)
        assert array.dtype == dtypes.scalar_dtype(type(scalar))


def test_nothing_is_narrowed(defaults: str) -> None:
    for dtype in ALL:
        given = np.ones(2, dtype)
        assert jnp.asarray(given).dtype == dtype
        assert jit(lambda x: x)(given).dtype == dtype
        assert jnp.ones(2, dtype).dtype == dtype
        assert jnp.asarray(given).astype(dtype).dtype == dtype
        assert np.asarray(jit(lambda x: (x, x)[0])(given)).dtype == dtype


def test_data_of_every_type_goes_to_the_device_and_back() -> None:
    for dtype in ALL:
        given = np.array([0, 1, 2, 3]).astype(dtype)
        found = np.asarray(jit(lambda x: x.reshape(2, 2))(given))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, given.reshape(2, 2))


# What a type is


def test_kinds() -> None:
    assert dtypes.kind(dtypes.bfloat16) == "f"
    assert all(dtypes.kind(dtype) == "f" for dtype in FLOATS)
    assert dtypes.kind(dtypes.uint8) == "u"
    assert dtypes.kind(dtypes.bool_) == "b"
    for dtype in ALL:
        assert dtypes.is_inexact(dtype) == (dtype in INEXACT)
        assert dtypes.is_float(dtype) == (dtype in FLOATS)
        assert dtypes.is_complex(dtype) == (dtype in COMPLEXES)
        assert dtypes.is_integer(dtype) == (dtype in INTEGERS)
        assert dtypes.is_inexact(dtype) == bool(jax.numpy.issubdtype(dtype, np.inexact))
    assert {d for d in ALL if dtypes.is_narrow_float(d)} == {
        *FLOAT8,
        dtypes.bfloat16,
        dtypes.float16,
    }


def test_real_and_complex_counterparts() -> None:
    assert dtypes.real_part(dtypes.complex64) == np.float32
    assert dtypes.real_part(dtypes.complex128) == np.float64
    assert dtypes.real_part(dtypes.int8) == np.int8
    assert dtypes.to_complex(dtypes.float64) == np.complex128
    assert dtypes.to_complex(dtypes.bfloat16) == np.complex64
    assert dtypes.to_complex(dtypes.complex128) == np.complex128


def test_to_inexact(defaults: str) -> None:
    assert dtypes.to_inexact(dtypes.int64) == dtypes.to_inexact(dtypes.uint64) == dtypes.float64
    assert dtypes.to_inexact(dtypes.int32) == dtypes.to_inexact(dtypes.bool_)
    assert dtypes.to_inexact(dtypes.int32) == dtypes.default_float()
    assert dtypes.to_inexact(dtypes.int64, weak=True) == dtypes.default_float()
    assert dtypes.to_inexact(dtypes.bfloat16) == dtypes.bfloat16


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("float32", np.float32),
        (np.float64, np.float64),
        (np.dtype("int8"), np.int8),
        (bool, np.bool_),
        (float, np.float32),
        (int, np.int32),
        (complex, np.complex64),
        ("bfloat16", ml_dtypes.bfloat16),
        (ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2),
        (jnp.bfloat16, ml_dtypes.bfloat16),
    ],
)
def test_what_names_a_dtype(spelling: Any, expected: Any) -> None:
    assert dtypes.check(spelling) == np.dtype(expected)


@pytest.mark.wrong_types
@pytest.mark.parametrize("spelling", ["float33", object, "datetime64[s]", str, np.float128, [1]])
def test_what_names_none(spelling: Any) -> None:
    with raises(DtypeError, match=r"is not a dtype|cannot have dtype"):
        dtypes.check(spelling)


SCALAR_TYPES: dict[str, Callable[[Any], object]] = {
    "it is a class": lambda m: (isinstance(m.float32, type), callable(m.float32)),
    "bases": lambda m: (issubclass(m.float32, np.generic), m.int8.__bases__),
    "instances": lambda m: isinstance(np.float32(1), m.float32),
    "arrays": lambda m: isinstance(m.float32(1), m.float32),
    "in annotations": lambda m: (type[m.int8].__args__ == (m.int8,), (m.int8 | None) is not None),
    "equality": lambda m: [m.float32 == x for x in (np.float32, m.float32, m.float64, "float32")],
    "hashes": lambda m: {np.float32: 1}[m.float32],
    "copies": lambda m: pickle.loads(pickle.dumps(m.bool_)) is copy.deepcopy(m.bool_) is m.bool_,
    "names": lambda m: (m.bfloat16.__name__, str(m.bfloat16.dtype), str(np.dtype(m.bfloat16))),
    "texts": lambda m: (m.float32("inf").item(), m.int8("3").dtype.name),
    "subclasses": lambda m: type("Mine", (m.int8,), {})(3).dtype.name,
}


@pytest.mark.parametrize("name", SCALAR_TYPES)
def test_scalar_types_are_classes_as_in_jax(name: str) -> None:
    assert SCALAR_TYPES[name](jnp) == SCALAR_TYPES[name](jax.numpy)


def test_strict_promotion_refuses_what_jax_refuses() -> None:
    names = ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"]

    def outcome(lib: Any, first: str, second: str) -> str | None:
        x, y = (
            WEAK[name] if name in WEAK else lib.numpy.ones((), name) for name in (first, second)
        )
        with lib.numpy_dtype_promotion("strict"):
            try:
                return str(lib.numpy.add(x, y).dtype)
            except (TypeError, ValueError):
                return None

    def kinds(lib: Any) -> list[str]:
        m, i = lib.numpy, lib.numpy.arange(6)
        with lib.numpy_dtype_promotion("strict"):
            found = (m.median(i), m.quantile(i, 0.3), m.percentile(i, 30.0), m.gradient(i))
            narrow, floats = i.astype("int8"), i.astype("float32")
            lines = [(i[:2], i, i), (i[:2], i, floats), (floats, floats, i), (i[:2], i, narrow)]
            found += tuple(m.interp(*line) for line in lines)
            return [str(x.dtype) for x in (*found, m.trapezoid(i), m.trapezoid(i, dx=2))]

    assert kinds(tinyjax) == kinds(jax)
    pairs = [(a, b) for a in names for b in (*names, *WEAK)]
    wrong = [pair for pair in pairs if outcome(tinyjax, *pair) != outcome(jax, *pair)]
    assert not wrong


def test_strict_promotion_looks_at_operators_that_are_handed_over() -> None:
    x, n = jnp.float32(2.0), jnp.int32(3)
    calls: list[Any] = [
        lambda: jit(jnp.multiply)(x, n),
        lambda: tinyjax.grad(jnp.multiply)(x, n),
        lambda: tinyjax.jacfwd(jnp.multiply)(x, n),
        lambda: tinyjax.lax.map(jnp.ones(1).__mul__, jnp.ones(2, jnp.int32)),
    ]
    for call in calls:
        call()
        with tinyjax.numpy_dtype_promotion("strict"), raises(PromotionError, match="strict"):
            call()


def moved(x: Any) -> list[Any]:
    """Return the results of operations that only move elements, by methods of all libraries."""
    ends = x[::-1]
    picked = [x.reshape(2, 4).T, x[2:5], ends, x[jnp.array([1, 6])], x == ends]
    joined = jnp.concatenate([x, ends]) if isinstance(x, tinyjax.Array) else np.append(x, ends)
    return [*picked, joined, x <= ends]


STORED_FROM: Any = (
    *(np.array([0.4, 1.7, -3.0, 300, np.nan, -np.inf, -0.9, 7.6], d) for d in ("f4", "f8")),
    np.array([0.4, 1.7, -3.0, 300, -9, 2, -0.9, 7.6], ml_dtypes.bfloat16),
    *(np.array([0, 1, -3, 127, -8, 8, -128, 5], d) for d in ("i1", "i4")),
    *(np.array([0, 1, 3, 255, 8, 9, 16, 5], d) for d in ("u1", "u4")),
    np.array([True, False]),
)


@pytest.mark.parametrize("name", [d.name for d in dtypes.STORED])
class TestStoredIntegers:
    """Integers of 2 and 4 bits."""

    def test_they_are_converted_to_and_from_like_jax_does(self, name: str) -> None:
        for x in STORED_FROM:
            wanted = np.asarray(jax.numpy.asarray(x).astype(name))
            for way in (lambda f: f, jit):
                got = way(lambda x: x.astype(name))(jnp.asarray(x))
                assert got.dtype == name
                np.testing.assert_array_equal(np.asarray(got), wanted)
                for other in ("int8", "uint8", "int32", "float32", "bool", "complex64", "uint2"):
                    back = way(lambda x, other=other: x.astype(other))(got)
                    like = np.asarray(jax.numpy.asarray(wanted).astype(other))
                    np.testing.assert_array_equal(np.asarray(back), like)

    def test_they_are_moved_and_compared_like_wider_ones(self, name: str) -> None:
        wide = np.array([0, 1, 0, 1, 1, 1, 0, 0], "int8")
        wide = wide if name.startswith("u") else -wide
        x = jnp.asarray(wide).astype(name)
        wanted = moved(wide)
        for got, want in zip(moved(x), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(got).astype(want.dtype), want)
        for got, want in zip(jit(moved)(x), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(got).astype(want.dtype), want)
        outside = jnp.take(x, jnp.array([99]), mode="fill")
        ends = jnp.iinfo(name)
        assert int(outside[0]) == (ends.min or ends.max)
        assert x[x > x[0]].size == np.sum(wide > wide[0])
        np.testing.assert_array_equal(np.asarray(jnp.asarray(np.asarray(x))), np.asarray(x))
        np.testing.assert_array_equal(np.asarray(jit(lambda x: x)(np.asarray(x))), np.asarray(x))
        np.testing.assert_array_equal(jnp.arange(4)[x], np.arange(4)[wide])
        assert [5, 6, 7, 8][x[1]] == (8 if wide[1] < 0 else 6)
        assert x.at[0].set(1).dtype == name
        assert pickle.loads(pickle.dumps(x)).dtype == name

    def test_their_bits_are_read_like_jax_does(self, name: str) -> None:
        for dtype in ("int8", "uint8", "int16", "float32"):
            x = np.array([[-3, 7, 100, -128], [1, 2, 3, 4]]).astype("int8").astype(dtype)
            wanted = np.asarray(jax.lax.bitcast_convert_type(x, name))
            for way in (lambda f: f, jit):
                got = way(lambda x, target=name: tinyjax.lax.bitcast_convert_type(x, target))(
                    jnp.asarray(x)
                )
                np.testing.assert_array_equal(np.asarray(got), wanted)
                again = way(lambda x, target=dtype: tinyjax.lax.bitcast_convert_type(x, target))(
                    got
                )
                np.testing.assert_array_equal(np.asarray(again), x)

    def test_they_are_types_of_integers(self, name: str) -> None:
        theirs, mine = getattr(jax.numpy, name), getattr(jnp, name)
        for kind in ("integer", "signedinteger", "unsignedinteger", "number", "inexact"):
            wanted = jax.numpy.issubdtype(theirs, getattr(jax.numpy, kind))
            assert jnp.issubdtype(mine, getattr(jnp, kind)) == wanted
        for kind in ("integral", "signed integer", "unsigned integer", "real floating"):
            assert jnp.isdtype(mine, kind) == jax.numpy.isdtype(theirs, kind)
        bits = int(name[-1])
        lowest = 0 if name.startswith("u") else -(2 ** (bits - 1))
        assert (jnp.iinfo(mine).min, jnp.iinfo(mine).max) == (lowest, lowest + 2**bits - 1)
        assert jnp.promote_types(mine, int) == jax.numpy.promote_types(theirs, int)

    def test_there_is_no_arithmetic(self, name: str) -> None:
        x = jnp.ones(3, name)
        wrong: list[Callable[[Any], Any]] = [lambda x: x + x, lambda x: x @ x, jnp.sum, jnp.sort]
        for f in wrong:
            with raises(DtypeError, match=r"does not accept .* Convert .*astype"):
                f(x)
        with raises(PromotionError, match="astype"):
            _ = x * jnp.ones(3)
        with pytest.raises(tinyjax.errors.NumberRangeError):
            jnp.array([99], name)

    def test_derivatives_and_loops_pass_them(self, name: str) -> None:
        x = jnp.asarray([1, 0, 1, 1]).astype(name)

        def f(scale: Any) -> Any:
            return jnp.sum((x.astype("float32") * scale) ** 2)

        np.testing.assert_allclose(tinyjax.grad(f)(2.0), jit(tinyjax.grad(f))(2.0))
        rows = x.reshape(2, 2)

        def step(last: Any, row: Any) -> Any:
            return row, last.astype("int32") + row.astype("int32")

        last, sums = jit(lambda rows: tinyjax.lax.scan(step, rows[0], rows))(rows)
        assert last.dtype == name
        wide = np.asarray(rows).astype("int32")
        np.testing.assert_array_equal(sums, np.stack([wide[0] * 2, wide[0] + wide[1]]))
        each = tinyjax.vmap(lambda row: row[::-1])(rows)
        np.testing.assert_array_equal(np.asarray(each), np.asarray(rows)[:, ::-1])


X, D, N = np.array([1, 2, 3], np.float32), np.array([1.0, 2.0]), np.array([1, 2])
#: Functions of an integer that the default integers cannot hold, whose result can.
HOLDING: list[Callable[[Any, Any], Any]] = [
    lambda np, n: np.linspace(0, n, 3, dtype=np.float64),
    lambda np, n: np.linspace(0, n, 3, dtype=np.int64),
    lambda np, n: np.geomspace(1, abs(n), 3, dtype=np.float64),
    lambda np, n: np.where(np.asarray(X) > 1, np.asarray(X), n),
    lambda np, n: np.maximum(np.asarray(N), n),
    lambda np, n: np.stack([np.asarray(D)[0], n]),
    lambda np, n: np.append(np.asarray(D), n),
    lambda np, n: np.insert(np.asarray(N), 0, n),
    lambda np, n: np.polyval(np.asarray(D), n),
    lambda np, n: np.searchsorted(np.asarray(D), n),
    lambda np, n: np.dot(np.asarray(N), n),
    lambda np, n: np.sum(np.asarray(D), initial=n),
    lambda np, n: np.gradient(np.asarray(D), n),
    lambda np, n: np.sqrt(abs(n)),
    lambda np, n: np.isin(np.asarray(X), n),
    lambda np, n: np.isin(np.asarray(np.int8([1, 2])), n),
    lambda np, n: np.piecewise(np.asarray(D), [np.asarray(D) > 1], [n, 0]),
    lambda np, n: np.histogram(np.asarray(X), 3, range=(min(n, 0), max(n, 0)))[0],
    lambda np, n: np.vectorize(lambda a, b: a * b)(np.asarray(D), n),
    lambda np, n: np.isclose(np.asarray(X).astype(np.int32), n),
    lambda np, n: np.array_equal(np.asarray(X).astype(np.int32), n),
    lambda np, n: np.abs(n) + np.asarray(X).astype(np.int32),
    lambda np, n: np.add(n, 1) - np.asarray(X).astype(np.int32),
]
N64: Any = 2**40
#: Functions of lax and loops of such an integer, and what they return.
WIDE: list[tuple[Callable[[], Any], Any]] = [
    (lambda: lax.add(X, N64), X + np.float32(N64)),
    (lambda: lax.max(N, N64), [N64, N64]),
    (lambda: lax.abs(-N64), N64),
    (lambda: lax.clamp(0, X, N64), X),
    (lambda: lax.pad(X, N64, [(1, 0, 0)]), [N64, 1, 2, 3]),
    (lambda: lax.reduce(X, N64, lax.max, (0,)), N64),
    (lambda: jit(lambda x, n: x * n)(X, N64), X * N64),
    (lambda: jit(lambda x, n: x * n)(jnp.arange(3), N64), [0, N64, 2 * N64]),
    (lambda: jit(lambda x: x + jnp.abs(-N64))(jnp.arange(2)), [N64, N64 + 1]),
    (lambda: lax.cond(True, lambda n: X * n, lambda n: X, N64), X * N64),
    (lambda: lax.scan(lambda c, x: (c + 1, x * c), N64, jnp.arange(2))[0], N64 + 2),
    (lambda: lax.scan(lambda c, x: (c, x + c), N64, jnp.arange(2))[1], [N64, N64 + 1]),
    (lambda: lax.scan(lambda c, x: (c * 0.5, x), N64, X)[0], N64 / 8),
    (lambda: lax.fori_loop(N64, N64 + 3, lambda i, c: c + i, 0), 3 * N64 + 3),
    (lambda: lax.while_loop(lambda c: c < 2 * N64, lambda c: 2 * c, N64), 2 * N64),
    (lambda: lax.mul(X, 10**30), X * np.float32(10**30)),
    (lambda: jnp.sqrt(10**30), 1e15),
    (lambda: jnp.hypot(3 * 10**30, 4 * 10**30), 5e30),
    (lambda: jnp.divide(10**30, 10**29), 10),
    (lambda: jnp.stack([jnp.mean(10**30), jnp.median(10**30), jnp.quantile(10**30, 0.5)]), 1e30),
    (lambda: jnp.stack([jnp.std(10**30), jnp.modf(10**30)[0]]), 0),
    (lambda: jnp.geomspace(10**30, 10**32, 2), [1e30, 1e32]),
    (lambda: tinyjax.nn.leaky_relu(-(10**30)), -1e28),
    (lambda: tinyjax.scipy.special.xlogy(10**30, 10**30), 1e30 * np.log(1e30)),
    (lambda: jnp.where(X > 1, X, 2**70), [2.0**70, 2, 3]),
    (lambda: jnp.searchsorted(X, 10**30), 3),
    (lambda: (jnp.ones(2, "bfloat16") * 2**64).astype("float32"), 2.0**64),
    (lambda: jnp.stack([jnp.less(10**30, 10**31), jnp.asarray(3) < 10**30]), True),
    (lambda: tinyjax.nn.standardize(X, mean=10**5, epsilon=1.0), X - np.float32(10**5)),
    (lambda: tinyjax.nn.standardize(X, mean=10**30), (X - np.float32(10**30)) * 1e5**0.5),
    (lambda: jnp.ravel_multi_index((np.array([-4], np.int8),), (300,), mode="wrap"), [296]),
    (lambda: jnp.ravel_multi_index((np.array([7], np.uint8),), (300,), mode="clip"), [7]),
    (lambda: tinyjax.vmap(lambda x, n=10**30: x * n)(X), X * np.float32(10**30)),
    (lambda: tinyjax.grad(lambda x: jnp.sum(jnp.unwrap(x, period=10**30)))(X), 1),
]


@pytest.mark.parametrize(("fun", "expected"), WIDE)
def test_wide_integers_keep_their_values(fun: Callable[[], Any], expected: Any) -> None:
    np.testing.assert_allclose(fun(), expected, 1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32", "int64", "uint64"])
def test_integers_are_compared_with_numbers_by_value(dtype: str) -> None:
    ends = np.iinfo(dtype)
    x = np.array([ends.min, 0, 1, ends.max], dtype)
    mine = jnp.asarray(x)
    for n in (ends.min - 1, ends.min, ends.max, ends.max + 1, -(2**70), 2**70):
        for name in ("lt", "le", "gt", "ge", "eq", "ne"):
            compare, named = getattr(operator, name), getattr(lax, name)
            np.testing.assert_array_equal(compare(mine, n), compare(x, n))
            np.testing.assert_array_equal(compare(n, mine), compare(n, x))
            np.testing.assert_array_equal(jit(lambda x: compare(x, n))(mine), compare(x, n))  # noqa: B023
            np.testing.assert_array_equal(named(mine, n), compare(x, n))
            np.testing.assert_array_equal(named(n, mine), compare(n, x))
        if n > ends.min:
            np.testing.assert_array_equal(jnp.clip(mine, None, n), x)
        if n < ends.max:
            np.testing.assert_array_equal(jnp.clip(mine, n), x)
    for bounds in ((ends.max + 1, None), (None, ends.min - 1)):
        with pytest.raises(tinyjax.errors.NumberRangeError):
            jnp.clip(mine, *bounds)


@pytest.mark.wrong_types
@pytest.mark.parametrize("n", [2**31, 2**40, 2**62, -(2**31) - 1])
def test_integers_are_refused_only_where_the_result_cannot_hold_them(n: Any) -> None:
    for fun in HOLDING:
        np.testing.assert_allclose(fun(jnp, n), fun(np, n), 1e-6)
    for kind in ("set", "add", "multiply", "min", "max"):
        changed = getattr(jnp.asarray(X).at[0], kind)(n)
        whole = {"set": n, "add": 1 + n, "multiply": n, "min": min(1, n), "max": max(1, n)}[kind]
        np.testing.assert_allclose(changed, [whole, 2, 3], 1e-6)
    np.testing.assert_allclose(tinyjax.grad(lambda v: v * n)(1.0), n, 1e-6)
    ints = jnp.arange(3)
    wrong: list[Callable[[], Any]] = [
        lambda: ints + n,
        lambda: ints.at[0].set(n),
        lambda: jnp.append(ints, n),
        lambda: jnp.asarray(n),
        lambda: jnp.where(ints > 1, ints, n),
        lambda: lax.add(ints, n),
        lambda: lax.dynamic_update_slice(ints, n, (0,)),
        lambda: lax.fori_loop(0, 3, lambda i, c: jnp.int32(0), n),
    ]
    for refused in wrong:
        with pytest.raises(tinyjax.errors.NumberRangeError):
            refused()


@pytest.mark.parametrize("kind", ["set", "add", "subtract", "multiply", "min", "max"])
def test_updates_of_integers_are_those_of_the_common_dtype(kind: str) -> None:
    names = {"min": "minimum", "max": "maximum"}
    ends = [0, 1, -1, 100, 127, -128, 200, 255, -300, 70000, 2**40 + 1, -(2**40)]
    for dtype, other in itertools.permutations(INTEGERS, 2):
        common = jnp.promote_types(dtype, other)
        if "int4" in dtype.name + other.name or "int2" in dtype.name + other.name:
            continue
        if not dtypes.is_integer(common):
            continue
        old, new = (
            np.array([v for v in ends if np.iinfo(d).min <= v <= np.iinfo(d).max], d)
            for d in (dtype, other)
        )
        x, values = np.repeat(old, len(new)), np.tile(new, len(old))
        with np.errstate(over="ignore"):
            whole = values.astype(common)
            if kind != "set":
                whole = getattr(np, names.get(kind, kind))(x.astype(common), whole)
        expected = whole.astype(dtype)
        for place in (np.s_[:], np.arange(len(x))):
            changed = getattr(jnp.asarray(x).at[place], kind)(values)
            np.testing.assert_array_equal(changed, expected)


def test_subtypes_of_classes_of_scalars() -> None:
    kinds = "generic number inexact floating integer signedinteger unsignedinteger bool"
    above = [*[getattr(np, name) for name in kinds.split()], ml_dtypes.bfloat16, ml_dtypes.int4]
    for dtype in (*dtypes.ALL, *dtypes.STORED):
        for kind in above:
            expected = jax.numpy.issubdtype(dtype.type, kind)
            assert jnp.issubdtype(dtype.type, kind) == expected, (dtype, kind)

"""Making arrays, and what is known of dtypes, against jax.numpy."""

from collections import UserList, deque
from collections.abc import Callable
from typing import Any

import hypothesis
import jax
import jax.numpy as oracle
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import dtypes, lax
from tinyjax.errors import (
    ArgumentError,
    AxisError,
    ConcretizationError,
    DtypeError,
    PromotionError,
    ShapeError,
)


def same(got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e)
        return
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.weak_type == expected.weak_type
    np.testing.assert_allclose(
        np.asarray(got).astype(np.complex128),
        np.asarray(expected).astype(np.complex128),
        rtol=2e-6,
        atol=1e-6,
    )


# Calls that mean the same in either namespace.
CALLS: list[tuple[str, Callable[[Any], Any]]] = [
    ("array of an int", lambda np_: np_.array(3)),
    ("array of a float", lambda np_: np_.array(3.0)),
    ("array of a bool", lambda np_: np_.array(True)),
    ("array of a complex", lambda np_: np_.array(1j)),
    ("array with a dtype", lambda np_: np_.array(3, dtype="int8")),
    ("float to int", lambda np_: np_.array(3.7, dtype="int32")),
    ("list", lambda np_: np_.array([1, 2, 3])),
    ("mixed list", lambda np_: np_.array([1, 2.5, True])),
    ("complex list", lambda np_: np_.array([1, 2j])),
    ("bools", lambda np_: np_.array([True, False])),
    ("nested", lambda np_: np_.array([[1, 2], [3, 4]], dtype="float32")),
    ("tuples", lambda np_: np_.array(((1.0, 2.0), (3.0, 4.0)))),
    ("empty", lambda np_: np_.array([])),
    ("empty rows", lambda np_: np_.array([[], []])),
    ("list of arrays", lambda np_: np_.array([np_.ones(2), np_.zeros(2)])),
    ("list of scalars", lambda np_: np_.array([np_.float32(1), 2, 3.0])),
    ("list of weak scalars", lambda np_: np_.array([np_.array(1.0), np_.array(2.0)])),
    ("list of NumPy scalars", lambda np_: np_.array([np.float32(1), np.float32(2)])),
    ("list of NumPy arrays", lambda np_: np_.array([np.ones(2, np.int8), np.zeros(2, np.int8)])),
    ("NumPy array", lambda np_: np_.array(np.arange(3, dtype=np.int16))),
    ("wide int beside a float", lambda np_: np_.array([np.float32(1), 2**40])),
    ("ranges", lambda np_: np_.array([range(2), [3, 4]])),
    ("deque", lambda np_: np_.array(deque([1, 2.5]))),
    ("deque of arrays", lambda np_: np_.array(deque([np_.ones(2), np_.zeros(2)], maxlen=3))),
    ("list of deques", lambda np_: np_.array([deque([1, 2]), (3, 4)], dtype="int8")),
    ("sequence of the user's", lambda np_: np_.array([UserList([1.0, 2.0])])),
    ("list of bytes in memory", lambda np_: np_.array([bytearray(b"ab"), memoryview(b"cd")])),
    ("ndmin", lambda np_: np_.array([1, 2], ndmin=3)),
    ("range", lambda np_: np_.array(list(range(3)))),
    ("asarray", lambda np_: np_.asarray([1, 2], dtype="float16")),
    ("zeros", lambda np_: np_.zeros(3)),
    ("zeros of a dtype", lambda np_: np_.zeros((2, 3), dtype=int)),
    ("ones", lambda np_: np_.ones((2, 0))),
    ("full", lambda np_: np_.full((2,), 3)),
    ("full with a dtype", lambda np_: np_.full(2, 3, dtype="float32")),
    ("full of an array", lambda np_: np_.full((2, 2), np_.array([1, 2]))),
    ("zeros_like", lambda np_: np_.zeros_like(np_.ones((2,), dtype="int8"))),
    ("zeros_like of a number", lambda np_: np_.zeros_like(1.0)),
    ("ones_like", lambda np_: np_.ones_like(np_.ones(2), dtype=int)),
    ("full_like", lambda np_: np_.full_like(np_.ones(2, dtype="int8"), 2.5)),
    ("full_like of a shape", lambda np_: np_.full_like(np_.ones(2), 2.5, shape=(1, 2))),
    ("eye", lambda np_: np_.eye(3)),
    ("eye with columns", lambda np_: np_.eye(3, 4, k=1, dtype=int)),
    ("eye below", lambda np_: np_.eye(3, 2, k=-1)),
    ("identity", lambda np_: np_.identity(2, dtype=bool)),
    ("tri", lambda np_: np_.tri(3, 4, 1)),
    ("tri below", lambda np_: np_.tri(3, 4, -1, dtype=int)),
    ("arange", lambda np_: np_.arange(5)),
    ("arange from", lambda np_: np_.arange(2, 8)),
    ("arange by", lambda np_: np_.arange(2, 9, 3)),
    ("arange down", lambda np_: np_.arange(5, 0, -2)),
    ("arange of floats", lambda np_: np_.arange(3.0)),
    ("arange by a float", lambda np_: np_.arange(0, 1, 0.1)),
    ("arange of nothing", lambda np_: np_.arange(3, 1)),
    ("arange of a dtype", lambda np_: np_.arange(4, dtype="float16")),
    ("arange of a complex dtype", lambda np_: np_.arange(-2, 3, 2, dtype="complex64")),
    ("arange of an array", lambda np_: np_.arange(np_.array(3, dtype="int8"))),
    ("linspace", lambda np_: np_.linspace(0, 1, 7)),
    ("linspace open", lambda np_: np_.linspace(0, 1, 7, endpoint=False)),
    ("linspace with step", lambda np_: np_.linspace(1.0, 3.0, 5, retstep=True)[0]),
    ("linspace of one", lambda np_: np_.linspace(2.0, 3.0, 1)),
    ("linspace of none", lambda np_: np_.linspace(2.0, 3.0, 0)),
    ("linspace of ints", lambda np_: np_.linspace(0, 10, 4, dtype=int)),
    ("linspace of arrays", lambda np_: np_.linspace(np_.zeros(2), np_.ones(2), 3, axis=1)),
    ("logspace", lambda np_: np_.logspace(0, 2, 5)),
    ("logspace to base 2", lambda np_: np_.logspace(0, 2, 5, base=2)),
    ("geomspace", lambda np_: np_.geomspace(1, 1000, 4)),
    ("geomspace down", lambda np_: np_.geomspace(-8.0, -1.0, 4)),
    ("tril", lambda np_: np_.tril(np_.arange(12).reshape(3, 4))),
    ("tril off", lambda np_: np_.tril(np_.arange(12).reshape(3, 4), 1)),
    ("triu", lambda np_: np_.triu(np_.arange(24).reshape(2, 3, 4))),
    ("triu off", lambda np_: np_.triu(np_.arange(12.0).reshape(3, 4), -1)),
    ("diag of a matrix", lambda np_: np_.diag(np_.arange(12).reshape(3, 4))),
    ("diag off", lambda np_: np_.diag(np_.arange(12).reshape(3, 4), 2)),
    ("diag below", lambda np_: np_.diag(np_.arange(12).reshape(3, 4), -2)),
    ("diag beyond", lambda np_: np_.diag(np_.arange(12).reshape(3, 4), 7)),
    ("diag of a vector", lambda np_: np_.diag(np_.arange(3))),
    ("diag of a vector off", lambda np_: np_.diag(np_.arange(3), 2)),
    ("diag of a vector below", lambda np_: np_.diag(np_.arange(3.0), -1)),
    ("diag of nothing", lambda np_: np_.diag(np_.zeros(0), 1)),
    ("diagflat", lambda np_: np_.diagflat(np_.arange(4).reshape(2, 2), 1)),
    ("diagonal", lambda np_: np_.diagonal(np_.arange(24).reshape(2, 3, 4), 1, 1, 2)),
    ("diagonal of axes", lambda np_: np_.diagonal(np_.arange(24).reshape(2, 3, 4), -1, 2, 0)),
    ("trace", lambda np_: np_.trace(np_.ones((3, 3), dtype="int8"))),
    ("trace off", lambda np_: np_.trace(np_.arange(24.0).reshape(2, 3, 4), 1, 1, 2)),
    ("meshgrid", lambda np_: np_.meshgrid(np_.arange(2), np_.arange(3.0))),
    ("meshgrid ij", lambda np_: np_.meshgrid(np_.arange(2), np_.arange(3), indexing="ij")),
    ("meshgrid sparse", lambda np_: np_.meshgrid(np_.arange(2), np_.arange(3), sparse=True)),
    ("meshgrid of one", lambda np_: np_.meshgrid(np_.arange(2))),
    ("indices", lambda np_: np_.indices((2, 3))),
    ("indices sparse", lambda np_: np_.indices((2, 3), sparse=True)),
    ("vander", lambda np_: np_.vander(np_.array([1.0, 2.0, 3.0]))),
    ("vander up", lambda np_: np_.vander(np_.array([1, 2, 3]), 4, increasing=True)),
    ("tril_indices", lambda np_: np_.tril_indices(3, 1, 4)),
    ("triu_indices", lambda np_: np_.triu_indices(3, -1)),
    ("triu_indices_from", lambda np_: np_.triu_indices_from(np_.zeros((2, 3)))),
    ("tril_indices_from", lambda np_: np_.tril_indices_from(np_.zeros((2, 3)))),
    ("diag_indices", lambda np_: np_.diag_indices(3)),
    ("float32", lambda np_: np_.float32(3)),
    ("int8 of a float", lambda np_: np_.int8(3.7)),
    ("float16 of an array", lambda np_: np_.float16(np_.arange(3))),
    ("bfloat16", lambda np_: np_.bfloat16(1.5)),
    ("bool_", lambda np_: np_.bool_(2)),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "call"), CALLS, ids=[c[0] for c in CALLS])
def test_arrays_are_those_of_jax(name: str, call: Callable[[Any], Any]) -> None:
    same(call(jnp), call(oracle))


COMPILED = ["arange by", "linspace", "eye", "tri", "diag off", "diagonal", "indices", "geomspace"]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", COMPILED)
def test_the_same_when_compiled(name: str) -> None:
    call = dict(CALLS)[name]
    expected = call(jnp)
    got = tinyjax.jit(lambda: call(jnp))()
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["int32", "float32", "complex64", "bool_"])
@pytest.mark.parametrize("text", ["4", "3.5", "abc", "\ud800"])
def test_scalar_types_read_text_as_jax_does(kind: str, text: str) -> None:
    try:
        wanted = getattr(jax.numpy, kind)(text)
    except ValueError:
        with raises(ValueError, match="no text of such a number"):
            getattr(jnp, kind)(text)
    else:
        assert getattr(jnp, kind)(text) == np.asarray(wanted)


@pytest.mark.parametrize("dtype", [*dtypes.FLOAT8, dtypes.bfloat16, *dtypes.STORED], ids=str)
def test_texts_of_numbers_that_numpy_has_not(dtype: dtypes.DType) -> None:
    """Those of ml_dtypes end the process at texts that are no numbers."""
    kind = getattr(jnp, dtype.name)
    assert kind("1") == 1
    for text in ("a", "", "1.5.5", "1e"):
        with raises(ValueError, match="no text of such a number"):
            kind(text)
        with raises(ValueError, match="array: a"):
            jnp.array([text], kind)
    if dtype in dtypes.STORED:
        with raises(OverflowError, match="300 does not fit"):
            kind("300")
    else:
        assert kind("0.5") == jnp.array(["0.5"], kind)[0] == 0.5


@pytest.mark.usefixtures("each_tier")
def test_lists_may_hold_traced_values() -> None:
    def fun(x: tinyjax.Array) -> tinyjax.Array:
        return jnp.array([[x, 2.0 * x], [1, x * x]])

    x = jnp.float32(3.0)
    np.testing.assert_allclose(tinyjax.jit(fun)(x), [[3, 6], [1, 9]])
    np.testing.assert_allclose(tinyjax.jacfwd(fun)(x), [[1, 2], [0, 6]])
    np.testing.assert_allclose(tinyjax.vmap(fun)(jnp.ones(2))[1], [[1, 2], [1, 1]])


def test_arrays_do_not_share_memory_with_their_source() -> None:
    source = np.ones(2, np.float32)
    x = jnp.asarray(source)
    source[0] = 5
    assert x.tolist() == [1, 1]


def test_64_bit_data_keeps_its_width() -> None:
    assert jnp.array(np.ones(2)).dtype == jnp.float64
    assert jnp.array([np.float64(1), np.float64(2)]).dtype == jnp.float64
    assert jnp.array([1, 2], dtype=jnp.int64).dtype == jnp.int64
    assert jnp.arange(2**40, 2**40 + 2, dtype=jnp.int64).tolist() == [2**40, 2**40 + 1]
    with tinyjax.default_dtypes("float64"):
        assert jnp.array([1.0]).dtype == jnp.float64
        assert jnp.zeros(2).dtype == jnp.float64
        assert jnp.arange(2).dtype == jnp.int64
        assert jnp.linspace(0, 1, 3).dtype == jnp.float64
        assert jnp.array([1j]).dtype == jnp.complex128


def test_floats_that_overflow_become_infinite() -> None:
    assert jnp.array([1e300]).tolist() == [np.inf]
    assert jnp.full(2, 1e300, dtype=jnp.float32).tolist() == [np.inf, np.inf]


def test_derivatives_of_what_is_made_of_values() -> None:
    ends = tinyjax.jacrev(lambda a: jnp.linspace(a, 2.0, 3))(1.0)
    np.testing.assert_allclose(ends, [1.0, 0.5, 0.0])
    spread = tinyjax.jacfwd(lambda v: jnp.diag(v, 1))(jnp.ones(2))
    assert spread.sum() == 2
    assert tinyjax.grad(jnp.trace)(jnp.ones((2, 3))).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert tinyjax.grad(lambda m: jnp.tril(m).sum())(jnp.ones((2, 2))).tolist() == [[1, 0], [1, 1]]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (["1.5", "-2e3", "nan"], np.float32),
        ([["1", "2"], ["3", "4"]], np.int32),
        ("0.1", np.float16),
        ([1, "2", 2.5], np.float32),
        ([b"1.5"], np.float32),
        (["1+2j"], np.complex64),
        (np.array(["7", "8"]), np.uint8),
    ],
)
def test_numbers_are_read_from_text_where_a_dtype_is_given(x: Any, dtype: Any) -> None:
    expected = jax.numpy.array(x, dtype)
    for found in (
        jnp.array(x, dtype),
        jnp.asarray(x, dtype),
        tinyjax.jit(lambda: jnp.array(x, dtype))(),
    ):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(jnp.array(["3", "0.5"], jnp.bfloat16), [3, 0.5])


@pytest.mark.usefixtures("each_tier")
@pytest.mark.wrong_types
def test_errors() -> None:
    untyped: Any = jnp
    for text in (["a"], ["1.5"], ["300"], "", ["1", None]):
        with pytest.raises(ArgumentError):
            untyped.array(text, dtype=jnp.int8)
    with raises(ArgumentError, match="not read from text"):
        untyped.array(["False"], dtype=bool)
    with raises(ShapeError, match="equal lengths"):
        untyped.array([["1"], ["2", "3"]], dtype=float)
    with raises(ShapeError, match="equal lengths"):
        jnp.array([[1, 2], [3]])
    with raises(ShapeError, match="equal lengths"):
        jnp.array([jnp.ones(2), jnp.ones(3)])
    with raises(ArgumentError, match="does not fit in int32"):
        jnp.array([2**40])
    with raises(ArgumentError, match="does not fit in uint8"):
        jnp.array(300, dtype=jnp.uint8)
    for beside in (np.uint8(3), jnp.uint8(3)):
        for number in (-1, 300):
            with raises(OverflowError, match=f"{number} does not fit in uint8"):
                jnp.array([beside, number])
    with raises(ArgumentError, match="str"):
        untyped.array(["a"])
    with raises(ArgumentError, match="NoneType"):
        untyped.array(None)
    with raises(DtypeError, match="not a dtype"):
        jnp.zeros(2, dtype="nonsense")
    for make in (jnp.zeros, jnp.ones, jnp.eye, jnp.tri):
        with raises(ShapeError, match="more elements than memory"):
            make(2**50)
    with raises(ShapeError, match="negative"):
        jnp.zeros(-1)
    with raises(ArgumentError, match=r"shape must be an int, but got 2\.5"):
        untyped.zeros(2.5)
    with raises(ArgumentError, match="step"):
        jnp.arange(0, 3, 0)
    with raises(ConcretizationError, match="arange"):
        tinyjax.jit(jnp.arange)(3)
    with raises(ShapeError, match=r"\(3,\) does not broadcast to \(2, 2\)"):
        jnp.full((2, 2), jnp.ones(3))
    with raises(ShapeError, match="one or two axes"):
        jnp.diag(jnp.ones((2, 2, 2)))
    with raises(AxisError, match="axis2"):
        jnp.diagonal(jnp.ones((2, 2)), 0, 0, 2)
    with raises(ArgumentError, match="indexing"):
        untyped.meshgrid(jnp.ones(2), indexing="yx")


# Dtypes


@pytest.mark.parametrize("name", ["float32", "int8", "bool_", "bfloat16", "complex64", "float64"])
def test_scalar_types_are_dtypes(name: str) -> None:
    kind = getattr(jnp, name)
    dtype = np.dtype(getattr(oracle, name))
    assert kind == dtype
    assert dtype == kind
    assert {kind: 0}[dtype.type] == {dtype.type: 0}[kind] == 0
    assert np.zeros(2, kind).dtype == dtype
    assert jnp.zeros(2, kind).dtype == kind
    assert kind != "nonsense"
    assert kind != jnp.uint16
    assert kind is not None
    assert repr(kind) == f"<class 'tinyjax.numpy.{dtype.name}'>"


class Unequal:
    """An object that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    def __hash__(self) -> int:
        return 0


SCALAR_TYPES = [
    name
    for name in vars(oracle)
    if isinstance(getattr(jnp, name, None), type(jnp.float32)) and name != "bool"
]
STRANGERS: list[Any] = ["text: with a colon", "nonsense", "", "(", "f4", "i4,f8", "O", b"f4", 4]
STRANGERS += [None, ..., 1.5, (), ("f4", 2), [("a", "f4")], {"names": ["a"]}, slice(3), object()]
STRANGERS += [float, bool, object, str, type, np.generic, np.floating, np.longlong, np.float32]
STRANGERS += [np.dtype(x) for x in (">f4", "S3", "O", "f4", [("a: b", "f4")])]


@pytest.mark.parametrize("name", SCALAR_TYPES)
def test_scalar_types_compare_with_anything(name: str) -> None:
    """As in jax; what is equal has one hash, save for NumPy's dtypes, as with its scalar types."""
    kind, theirs = getattr(jnp, name), getattr(oracle, name)
    pairs = [(getattr(jnp, other), getattr(oracle, other)) for other in SCALAR_TYPES]
    for other, their_other in [*pairs, *[(x, x) for x in (*STRANGERS, *SCALAR_TYPES)]]:
        assert (kind == other) is (theirs == their_other), other
        assert (kind != other) is (theirs != their_other), other
        if kind == other:
            assert (hash(kind) == hash(other)) is (hash(theirs) == hash(their_other)), other
    assert kind == kind.dtype.type
    for other in (np.ones(3), np.ones(3, kind), jnp.ones(3, kind), jnp.ones((), kind), Unequal()):
        assert (kind == other) is False


@hypothesis.given(hypothesis.strategies.text())
def test_scalar_types_are_no_text(text: str) -> None:
    assert jnp.float32 != text


ABSTRACT = ["floating", "integer", "signedinteger", "unsignedinteger", "inexact", "number"]


@pytest.mark.parametrize("abstract", [*ABSTRACT, "complexfloating", "generic"])
def test_subtypes_are_those_of_jax(abstract: str) -> None:
    for name in ("float32", "bfloat16", "float16", "int8", "uint8", "bool_", "complex64"):
        got = jnp.issubdtype(getattr(jnp, name), getattr(jnp, abstract))
        assert got == oracle.issubdtype(getattr(oracle, name), getattr(oracle, abstract))
    assert jnp.issubdtype(jnp.floating, jnp.inexact)
    assert jnp.issubdtype(jnp.float32, jnp.float32)
    assert not jnp.issubdtype(jnp.float32, jnp.float16)


def test_limits() -> None:
    for name in ("float16", "bfloat16", "float32"):
        assert float(jnp.finfo(name).eps) == float(oracle.finfo(name).eps)
        assert float(jnp.finfo(name).max) == float(oracle.finfo(name).max)
        assert float(jnp.finfo(name).tiny) == float(oracle.finfo(name).tiny)
    assert jnp.iinfo(jnp.int8).max == 127
    of_array: Any = jnp.ones(2)
    assert jnp.finfo(of_array).bits == 32


def test_result_types() -> None:
    assert jnp.result_type(1, jnp.ones(2, jnp.float16)) == jnp.float16
    assert jnp.result_type(jnp.int8, float) == jnp.float32
    assert jnp.result_type(1, 2.0) == jnp.float32
    assert jnp.promote_types("int32", "uint32") == jnp.int64
    assert jnp.can_cast(jnp.int8, jnp.int32)
    assert not jnp.can_cast(jnp.int32, jnp.int8)
    assert jnp.isdtype(jnp.bfloat16, "real floating")
    assert not jnp.isdtype(jnp.bfloat16, ("integral", jnp.float32))
    with pytest.raises(PromotionError):
        jnp.promote_types(jnp.float8_e5m2, jnp.float16)
    with pytest.raises(ArgumentError):
        jnp.result_type()


def test_questions_about_values() -> None:
    x = jnp.zeros((2, 3))
    assert (jnp.ndim(x), jnp.shape(x), jnp.size(x), jnp.size(x, 1)) == (2, (2, 3), 6, 3)
    assert (jnp.ndim(1), jnp.shape(1), jnp.size(1)) == (0, (), 1)
    text = np.array([["a", "b"]])  # is no array, but has a shape, as in JAX
    assert (jnp.ndim(text), jnp.shape(text), jnp.size(text)) == (2, (1, 2), 2)
    assert jnp.isscalar(1)
    assert jnp.isscalar(jnp.float32(1))
    assert not jnp.isscalar(x)
    assert jnp.iscomplexobj(1j)
    assert jnp.isrealobj(x)
    for name in ("bool_", "int8", "float32", "bfloat16", "complex64"):
        theirs, ours = getattr(oracle, name), getattr(jnp, name)
        assert jnp.iscomplexobj(ours) == oracle.iscomplexobj(theirs)
        assert jnp.isrealobj(ours) == oracle.isrealobj(theirs)
    assert isinstance(x, jnp.ndarray)
    assert jnp.newaxis is None
    assert jnp.pi == np.pi


@pytest.mark.usefixtures("each_tier")
def test_the_end_of_linspace_is_exact_beside_infinities() -> None:
    low, high = np.array([-np.inf, 0.1]), np.array([2.5, np.inf])
    for fun in (jnp.linspace, tinyjax.jit(jnp.linspace, static_argnums=2)):
        np.testing.assert_array_equal(np.asarray(fun(low, high, 5))[-1], high)


@pytest.mark.parametrize("like", [jnp.zeros_like, jnp.ones_like, jnp.empty_like])
def test_a_type_will_do_to_be_like(like: Any) -> None:
    struct = tinyjax.ShapeDtypeStruct((2, 3), np.float16)
    wanted = like(np.ones((2, 3), np.float16))
    np.testing.assert_array_equal(like(struct), wanted)
    assert like(struct).dtype == wanted.dtype
    assert tinyjax.typeof(like(struct)).sharding == like(struct).sharding


class OfAType:
    """An object that has a shape and a dtype, and no data."""

    def __init__(self, shape: Any, dtype: str) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("like", ["zeros_like", "ones_like", "empty_like", "full_like"])
@pytest.mark.parametrize("shape", [(2, 3), [2, 3], ()])
def test_an_object_of_a_type_will_do_to_be_like(like: str, shape: Any) -> None:
    args = (OfAType(shape, "int16"), *([3] if like == "full_like" else []))
    pairs: list[tuple[Any, Any]] = [(jnp, oracle)]
    if like == "full_like":
        pairs.append((lax, jax.lax))
    for ours, theirs in pairs:
        for transform, jaxs in ((lambda f: f, lambda f: f), (tinyjax.jit, jax.jit)):
            found = transform(lambda ours=ours: getattr(ours, like)(*args))()
            expected = jaxs(lambda theirs=theirs: getattr(theirs, like)(*args))()
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16", "complex64"])
def test_arrays_in_files(dtype: str, tmp_path: Any) -> None:
    x = jnp.array([[1, 0], [2, 3]]).astype(dtype)
    jnp.save(tmp_path / "x.npy", x)
    reads: list[Callable[[Any], Any]] = [jnp.load, oracle.load]
    for read in reads:
        found = read(tmp_path / "x.npy")
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(found), np.asarray(x))
    np.savez(tmp_path / "xs.npz", a=np.arange(3), b=np.ones(2))
    several = jnp.load(tmp_path / "xs.npz")
    assert isinstance(several, dict)
    np.testing.assert_array_equal(several["a"], np.arange(3))


@pytest.mark.usefixtures("each_tier")
def test_types_larger_than_memory_are_refused() -> None:
    """XLA ends the process where it counts their bytes."""

    def padded(x: tinyjax.Array) -> tinyjax.Array:
        return lax.pad(x, 0.0, [(2**62, 0, 0)])

    for f in (padded, padded, tinyjax.jit(padded), padded):
        with raises(ShapeError, match="more elements than memory has addresses"):
            f(jnp.ones(2))


class Sizes:
    """A sequence by what it does, which is none to ``isinstance``: as shapes of other libraries."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, place: int) -> int:
        return self.sizes[place]


SIZED: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda m: m.numpy.zeros(Sizes(2, 3)),
    "reshape": lambda m: m.numpy.arange(6).reshape(Sizes(2, -1)),
    "sum": lambda m: m.numpy.ones((2, 3, 4)).sum(Sizes(0, 2)),
    "transpose": lambda m: m.numpy.ones((2, 3)).transpose(Sizes(1, 0)),
    "dynamic_slice": lambda m: m.lax.dynamic_slice(m.numpy.ones((3, 3)), (0, 0), Sizes(2, 1)),
    "normal": lambda m: m.random.normal(m.random.PRNGKey(0), Sizes(2, 3)),
    "ShapeDtypeStruct": lambda m: m.ShapeDtypeStruct(Sizes(2, 3), "float32"),
}


@pytest.mark.parametrize("name", SIZED)
def test_what_counts_and_indexes_is_a_shape(name: str) -> None:
    assert SIZED[name](tinyjax).shape == SIZED[name](jax).shape

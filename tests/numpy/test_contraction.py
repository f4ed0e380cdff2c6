"""dot, matmul, tensordot, einsum and kin against NumPy and jax, and their derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

import tinyjax
import tinyjax.numpy.contraction as co
from raising import raises
from tinyjax import lax
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, AxisError, DtypeError, ShapeError
from tinyjax.test_util import check_grads


def rand(*shape: int, dtype: Any = np.float32, seed: int = 0) -> HostArray:
    rng = np.random.default_rng([seed, *shape])
    x: HostArray = np.asarray(rng.integers(-3, 4, shape))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.integers(-3, 4, shape)
    return x.astype(dtype)


def untyped(fun: Any) -> Any:
    """The function as callers without a type checker have it."""
    return fun


def same(got: Any, expected: Any) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(
        got.astype(np.complex128), expected.astype(np.complex128), rtol=1e-5, atol=1e-5
    )


PAIRS = [
    ("dot", (), ()),
    ("dot", (3,), ()),
    ("dot", (3,), (3,)),
    ("dot", (2, 3), (3,)),
    ("dot", (3,), (3, 2)),
    ("dot", (2, 3), (3, 4)),
    ("dot", (5, 2, 3), (4, 3, 6)),
    ("dot", (2, 3, 4), (4,)),
    ("matmul", (3,), (3,)),
    ("matmul", (2, 3), (3,)),
    ("matmul", (3,), (3, 2)),
    ("matmul", (2, 3), (3, 4)),
    ("matmul", (5, 2, 3), (5, 3, 4)),
    ("matmul", (5, 1, 2, 3), (4, 3, 2)),
    ("matmul", (1, 2, 3), (4, 3, 2)),
    ("matmul", (4, 2, 3), (1, 3, 2)),
    ("matmul", (4, 2, 3), (3, 2)),
    ("matmul", (2, 3), (4, 3, 2)),
    ("matmul", (4, 2, 3), (3,)),
    ("matmul", (3,), (5, 4, 3, 2)),
    ("matmul", (1, 1, 1), (1, 1, 1)),
    ("matmul", (2, 0), (0, 3)),
    ("matmul", (0, 2, 3), (0, 3, 1)),
    ("vdot", (2, 3), (6,)),
    ("vdot", (), ()),
    ("vecdot", (4, 3), (3,)),
    ("vecdot", (4, 1, 3), (5, 3)),
    ("matvec", (4, 2, 3), (3,)),
    ("matvec", (2, 3), (4, 3)),
    ("vecmat", (4, 3), (3, 2)),
    ("inner", (2, 3), (4, 5, 3)),
    ("inner", (), (3,)),
    ("inner", (3,), (3,)),
    ("outer", (2, 3), (4,)),
    ("outer", (), (2,)),
    ("kron", (2, 3), (3, 2)),
    ("kron", (3,), (2, 2)),
    ("kron", (2, 2), (3,)),
    ("kron", (), (3,)),
    ("tensordot", (2, 3, 4), (3, 4, 5)),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "bool"])
@pytest.mark.parametrize(("name", "a", "b"), PAIRS)
def test_products_agree_with_jax(
    name: str, a: tuple[int, ...], b: tuple[int, ...], dtype: str
) -> None:
    if (name, dtype) == ("kron", "bool"):
        return  # which jax does not take
    x, y = rand(*a, dtype=dtype), rand(*b, dtype=dtype, seed=1)
    same(getattr(co, name)(x, y), getattr(jax.numpy, name)(x, y))


@pytest.mark.parametrize(("name", "a", "b"), PAIRS)
def test_products_agree_with_numpy(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = rand(*a, dtype=np.float64), rand(*b, dtype=np.float64, seed=1)
    same(getattr(co, name)(x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize(("name", "a", "b"), [p for p in PAIRS if 0 not in p[1]])
def test_derivatives_of_products(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = rand(*a, dtype=np.float64), rand(*b, dtype=np.float64, seed=1)
    check_grads(getattr(co, name), (x, y), 2)


MIXED = [
    ("float32", "bfloat16"),
    ("int8", "float32"),
    ("int32", "uint8"),
    ("float32", "complex64"),
    ("bool", "int8"),
    ("float16", "float16"),
]


@pytest.mark.parametrize(("a", "b"), MIXED)
@pytest.mark.parametrize("name", ["dot", "matmul", "einsum", "tensordot", "kron"])
def test_dtypes_are_promoted(name: str, a: str, b: str) -> None:
    x, y = rand(2, 2, dtype=jax.numpy.dtype(a)), rand(2, 2, dtype=jax.numpy.dtype(b))
    first = ("ij,jk",) if name == "einsum" else ()
    same(getattr(co, name)(*first, x, y), getattr(jax.numpy, name)(*first, x, y))


@pytest.mark.parametrize("name", ["dot", "matmul", "vdot", "inner", "tensordot", "einsum"])
@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [
        ("int8", "int32"),
        ("bfloat16", "float32"),
        ("float32", "bfloat16"),
        ("float32", "int32"),
        ("float16", "int8"),
    ],
)
def test_preferred_element_type(name: str, dtype: str, preferred: str) -> None:
    x = rand(2, 2, dtype=jax.numpy.dtype(dtype)) * 2
    first = ("ij,jk",) if name == "einsum" else ()
    wanted = jax.numpy.dtype(preferred)
    expected = getattr(jax.numpy, name)(*first, x, x, preferred_element_type=wanted)
    same(getattr(co, name)(*first, x, x, preferred_element_type=preferred), expected)


def test_products_of_complex_numbers_are_complex() -> None:
    z = rand(2, 2, dtype=np.complex64)
    with raises(DtypeError, match=r"complex64 has no result of int32.*imaginary part"):
        co.matmul(z, z, preferred_element_type="int32")


def test_python_scalars_are_weak() -> None:
    assert co.dot(2, rand(3, dtype=np.float16)).dtype == np.float16
    assert co.dot(2.0, 3.0).weak_type
    assert co.outer(rand(3), 2).dtype == np.float32


TENSORDOT: list[tuple[tuple[int, ...], tuple[int, ...], Any]] = [
    ((2, 3), (4, 5), 0),
    ((2, 3), (3, 5), 1),
    ((2, 3, 4), (3, 4, 5), 2),
    ((2, 3, 4), (4, 3, 5), ((1, 2), (1, 0))),
    ((2, 3, 4), (4, 3, 5), [[-2, -1], [1, 0]]),
    ((2, 3), (3, 2), (1, 0)),
    ((2, 3), (3, 2), ([0], [1])),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(("a", "b", "axes"), TENSORDOT)
def test_tensordot(a: tuple[int, ...], b: tuple[int, ...], axes: Any) -> None:
    x, y = rand(*a), rand(*b, seed=1)
    same(co.tensordot(x, y, axes), np.tensordot(x, y, axes))
    same(tinyjax.jit(lambda x, y: co.tensordot(x, y, axes))(x, y), np.tensordot(x, y, axes))


EINSUMS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("i", [(3,)]),
    ("i->", [(3,)]),
    ("->", [()]),
    ("ij->ji", [(2, 3)]),
    ("ba", [(2, 3)]),
    ("ij->j", [(2, 3)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iij->ij", [(3, 3, 2)]),
    ("iji->ij", [(3, 2, 3)]),
    ("ijji->ij", [(3, 2, 2, 3)]),
    ("iii->i", [(3, 3, 3)]),
    ("iiii->", [(2, 2, 2, 2)]),
    ("i,i", [(3,), (3,)]),
    ("i,j", [(3,), (2,)]),
    ("i,j->ji", [(3,), (2,)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij,jk->ki", [(2, 3), (3, 4)]),
    ("ij,kj->ik", [(2, 3), (4, 3)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,ij->i", [(2, 3), (2, 3)]),
    ("ij,ij", [(2, 3), (2, 3)]),
    ("ij,ji->", [(2, 3), (3, 2)]),
    ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
    ("bij,bjk->ibk", [(5, 2, 3), (5, 3, 4)]),
    ("bij,jk->kbi", [(5, 2, 3), (3, 4)]),
    ("ij,k->j", [(2, 3), (4,)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("ij,jk,kl,lm->mi", [(2, 3), (3, 4), (4, 5), (5, 2)]),
    ("i,i,i->i", [(3,), (3,), (3,)]),
    ("a,b,c->cab", [(2,), (3,), (4,)]),
    ("ii,ij->j", [(3, 3), (3, 2)]),
    ("...ij,...jk", [(5, 2, 3), (5, 3, 4)]),
    ("...ij,...jk->...ik", [(5, 1, 2, 3), (4, 3, 2)]),
    ("...ij,jk->ik...", [(5, 6, 2, 3), (3, 4)]),
    ("...,...", [(2, 3), (3,)]),
    ("...->...", [(2, 3)]),
    ("i...->...i", [(2, 3, 4)]),
    ("i...->i...", [(2, 3, 4)]),
    ("...ii->...i", [(2, 3, 3)]),
    ("...i,i...->...", [(4, 3), (3, 4)]),
    ("ij,ij->ij", [(1, 3), (2, 3)]),
    ("ij,jk->ik", [(2, 1), (3, 4)]),
    ("ij,jk->ik", [(2, 3), (1, 4)]),
    ("ij , jk -> ik", [(2, 3), (3, 4)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 6, 3, 5)]),
    ("bhqk,bkhd->bqhd", [(2, 3, 4, 6), (2, 6, 3, 5)]),
    ("Ab,bA->A", [(2, 3), (3, 2)]),
    ("bA,Ac", [(2, 3), (3, 2)]),
    ("ij,jk->ik", [(0, 3), (3, 2)]),
    ("ij,jk->ik", [(2, 0), (0, 2)]),
]


@pytest.mark.parametrize(("subscripts", "shapes"), EINSUMS, ids=str)
def test_einsum(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    xs = [rand(*s, seed=i) for i, s in enumerate(shapes)]
    expected = np.einsum(subscripts, *xs)
    same(co.einsum(subscripts, *xs), expected)
    same(co.einsum(subscripts, *xs, optimize=False), expected)


@pytest.mark.usefixtures("each_tier")
def test_einsum_compiled() -> None:
    every = [[rand(*s, seed=i) for i, s in enumerate(shapes)] for _, shapes in EINSUMS]

    def run(every: list[list[Any]]) -> list[Any]:
        return [co.einsum(s, *xs) for (s, _), xs in zip(EINSUMS, every, strict=True)]

    for (s, _), got, xs in zip(EINSUMS, tinyjax.jit(run)(every), every, strict=True):
        same(got, np.einsum(s, *xs))


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [e for e in EINSUMS if all(0 not in s for s in e[1])],
    ids=str,
)
def test_derivatives_of_einsum(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    xs = [rand(*s, seed=i, dtype=np.float64) for i, s in enumerate(shapes)]
    order = 2 if sum(x.size for x in xs) < 60 else 1
    check_grads(lambda *xs: co.einsum(subscripts, *xs), xs, order)


def test_einsum_of_arrays_and_lists_by_turns() -> None:
    x, y = rand(2, 3), rand(3, 4, seed=1)
    same(co.einsum(x, [0, 1], y, [1, 2], [0, 2]), x @ y)
    same(co.einsum(x, [0, 1], y, [1, 2]), x @ y)
    same(co.einsum(x, [7, 1], y, [1, 2]), np.einsum(x, [7, 1], y, [1, 2]))
    z = rand(5, 2, 3)
    same(co.einsum(z, [..., 0, 1], [..., 1, 0]), np.swapaxes(z, 1, 2))
    # names of any kind, as jax takes them; without an output its axes are in their order
    same(co.einsum(z, ["b", "row", "col"], ["col", "b"]), np.einsum("brc->cb", z))
    same(co.einsum(x, ["z", "k"], y, ["k", "a"]), (x @ y).T)
    assert co.einsum_path(x, ["z", "k"], y, ["k", "a"])[0] == [(0, 1)]
    many = co.einsum(np.ones((1,) * 60), [*range(60)], [59, 0])
    assert many.shape == (1, 1)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("...qhgd,...kh1d->...hgqk", [(5, 2, 3, 1, 4), (5, 6, 3, 1, 4)]),
        ("0é,é1", [(2, 3), (3, 4)]),
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 6, 3, 5)]),
        ("ij,ij->ji", [(2, 3), (2, 3)]),
        ("i,j", [(2,), (3,)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ],
)
def test_einsum_as_jax_reads_it(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    """Any character names an axis, and a function of the caller's makes the products."""
    xs = [rand(*s, seed=i) for i, s in enumerate(shapes)]
    expected = jax.numpy.einsum(subscripts, *xs)
    same(co.einsum(subscripts, *xs), expected)
    dtypes = []

    def half(x: Any, y: Any, numbers: Any, precision: Any, preferred_element_type: Any) -> Any:
        dtypes.append(preferred_element_type)
        return lax.dot_general(x, y, numbers, precision, preferred_element_type) / 2

    found = co.einsum(subscripts, *xs, _dot_general=half)
    same(found, np.asarray(expected) / 2 ** len(dtypes))
    assert dtypes == [np.float32] * (len(xs) - 1)


def test_einsum_of_bools_and_integers() -> None:
    b = np.array([[True, False], [True, True]])
    same(co.einsum("ij,jk->k", b, b), jax.numpy.einsum("ij,jk->k", b, b))
    same(co.einsum("ij->i", b), jax.numpy.einsum("ij->i", b))
    same(co.einsum("ij,jk", b, rand(2, 2, dtype=np.int8)), b @ rand(2, 2, dtype=np.int8))


def test_einsum_follows_a_path() -> None:
    xs = [rand(2, 3), rand(3, 4), rand(4, 5), rand(5, 2)]
    path, _ = np.einsum_path("ij,jk,kl,lm->im", *xs)
    expected = np.einsum("ij,jk,kl,lm->im", *xs)
    same(co.einsum("ij,jk,kl,lm->im", *xs, optimize=path[1:]), expected)
    same(co.einsum("ij,jk,kl,lm->im", *xs, optimize=[(0, 1, 2, 3)]), expected)


def test_a_chain_is_multiplied_in_a_cheap_order() -> None:
    # (A B) v costs a product of matrices, A (B v) does not
    text = str(
        tinyjax.make_jaxpr(lambda a, b, v: co.einsum("ij,jk,k->i", a, b, v))(
            rand(50, 50), rand(50, 50), rand(50)
        )
    )
    assert "float32[50,50]" not in text.rsplit("let", maxsplit=1)[-1]
    assert text.count("dot_general") == 2


def test_matmul_does_not_repeat_what_broadcasts() -> None:
    text = str(tinyjax.make_jaxpr(co.matmul)(rand(7, 2, 3), rand(1, 3, 2)))
    assert "broadcast_in_dim" not in text


@given(st.data())
def test_einsum_of_random_subscripts(data: st.DataObject) -> None:
    letters = "abcd"
    sizes = dict(zip(letters, (2, 3, 1, 2), strict=True))
    terms = data.draw(st.lists(st.text(letters, max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    out = "".join(data.draw(st.permutations(used)))[: data.draw(st.integers(0, len(used)))]
    xs = [rand(*(sizes[c] for c in term), seed=i) for i, term in enumerate(terms)]
    subscripts = ",".join(terms) + "->" + out
    same(co.einsum(subscripts, *xs), np.einsum(subscripts, *xs))


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: co.dot(rand(2, 3), rand(2, 3)), ShapeError, r"\(2, 3\) and \(2, 3\)"),
    (lambda: co.matmul(rand(2, 3), rand(2, 3)), ShapeError, r"summed over"),
    (lambda: co.matmul(2.0, rand(3)), ShapeError, r"at least one axis"),
    (lambda: co.matmul(rand(2, 2, 3), rand(3, 3, 2)), ShapeError, r"matmul of shapes"),
    (lambda: co.vdot(rand(3), rand(4)), ShapeError, r"as many elements"),
    (lambda: co.vecdot(rand(3), rand(4)), ShapeError, r"vecdot"),
    (lambda: co.inner(rand(3), rand(4)), ShapeError, r"\(3,\) and \(4,\)"),
    (lambda: co.tensordot(rand(3), rand(4), 1), ShapeError, r"tensordot"),
    (lambda: co.tensordot(rand(3), rand(3), 2), ShapeError, r"not as many"),
    (lambda: co.tensordot(rand(3), rand(3), [0, 0, 0]), ArgumentError, r"axes"),
    (lambda: co.tensordot(rand(3), rand(3), (1, 0)), AxisError, r"out of bounds"),
    (lambda: co.tensordot(rand(3, 3), rand(3, 3), ((0, 0), (0, 1))), AxisError, r"repeat"),
    (lambda: co.einsum("ij", rand(3)), ShapeError, r"'ij'"),
    (lambda: co.einsum("ij->k", rand(3, 3)), ArgumentError, r"output"),
    (lambda: co.einsum("ij->ii", rand(3, 3)), ArgumentError, r"output"),
    (lambda: co.einsum("ij,jk", rand(3, 3)), ArgumentError, r"2 terms"),
    (lambda: co.einsum("......", rand(3, 3)), ArgumentError, r"belongs neither to"),
    (lambda: co.einsum("ij,jk", rand(3, 3), rand(2, 3)), ShapeError, r"sizes 3 and 2"),
    (lambda: co.einsum("i"), ArgumentError, r"operand"),
    (lambda: untyped(co.einsum)("i", rand(3), out=rand(3)), ArgumentError, r"immutable"),
    (lambda: untyped(co.outer)(rand(3), rand(3), out=rand(3)), ArgumentError, r"immutable"),
]


@pytest.mark.parametrize(("call", "error", "says"), ERRORS)
@pytest.mark.wrong_types
def test_errors(call: Callable[[], Any], error: type[Exception], says: str) -> None:
    with raises(error, match=says):
        call()

"""Reading and writing by index, against NumPy, jax and finite differences."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax as tj
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.dtypes import HostArray
from tinyjax.errors import (
    ArgumentError,
    AxisError,
    ConcretizationError,
    DtypeError,
    ShapeError,
)

Case = tuple[tuple[int, ...], Any]


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    """Jax keeps float64 and int64 only when told to."""
    with jax.enable_x64(True):
        yield


def operand(shape: tuple[int, ...], dtype: str = "float64") -> HostArray:
    return (np.arange(np.prod(shape)).reshape(shape) * 0.7 - 3).astype(dtype)


def ints(*values: Any) -> HostArray:
    return np.array(values, np.int32)


S = slice
MASK_2 = np.array([[True, False, True, False], [False, False, True, True], [False] * 4])
#: Shape and index, both in bounds: all as NumPy has it.
READS: list[Case] = [
    ((5,), 3),
    ((5,), -2),
    ((5,), S(1, 4)),
    ((5,), S(None, None, -1)),
    ((5,), S(4, 0, -2)),
    ((5,), S(3, 1)),
    ((5,), S(1, None, 3)),
    ((5,), S(-3, 100)),
    ((5,), Ellipsis),
    ((5,), ()),
    ((5,), None),
    ((), ()),
    ((), Ellipsis),
    ((), None),
    ((3, 4), 1),
    ((3, 4), (1, 2)),
    ((3, 4), (-1, -1)),
    ((3, 4), (S(None), 1)),
    ((3, 4), (S(None), S(1, 3))),
    ((3, 4), (S(None, None, -1), S(None, None, 2))),
    ((3, 4), (Ellipsis, 0)),
    ((3, 4), (Ellipsis, None, S(1, 3), None)),
    ((3, 4), (None, 1, None)),
    ((3, 4), (1, Ellipsis)),
    ((3, 4), (S(0, 0), 1)),
    ((2, 3, 4), (1, Ellipsis, 2)),
    ((2, 3, 4), (S(None), -1, S(3, 0, -1))),
    ((5,), ints(0, 3, 3, -1)),
    ((5,), ints(2)[0]),
    ((5,), ints([0, 1], [4, 2])),
    ((5,), np.zeros((0,), np.int32)),
    ((3, 4), ints(2, 0)),
    ((3, 4), (ints(2, 0), ints(1, -1))),
    ((3, 4), (ints(2, 0), 1)),
    ((3, 4), (1, ints(2, 0))),
    ((3, 4), (S(None), ints(2, 0, 0))),
    ((3, 4), (S(1, 3), ints(2, 0))),
    ((3, 4), (ints(2, 0), S(1, 3))),
    ((3, 4), (ints(2, 0), S(None, None, -2))),
    ((3, 4), (ints([2], [0]), ints(1, 3, 3))),
    ((3, 4), (None, ints(1, 2))),
    ((3, 4), (ints(1, 2), None)),
    ((3, 4), (Ellipsis, ints(1, 2))),
    ((2, 3, 4), (ints(0, 1), S(None), ints(2, 3))),
    ((2, 3, 4), (ints(0, 1), None, ints(2, 1))),
    ((2, 3, 4), (0, S(None), ints(2, 3, 3))),
    ((2, 3, 4), (S(None), ints(0, 2), ints(2, 3))),
    ((2, 3, 4), (S(None), ints(0, 2), 1)),
    ((2, 3, 4), (S(None, None, -1), ints([0], [2]), S(1, 4, 2))),
    ((2, 3, 4), (S(None), S(None), ints(1, 2))),
    ((2, 3, 4, 2), (S(0, 1), ints(0, 2), S(1, 3), ints(1, 0))),
    ((3, 4), MASK_2),
    ((3, 4), (np.array([True, False, True]),)),
    ((3, 4), (np.array([True, False, True]), ints(1, 2))),
    ((3, 4), (S(None), np.array([True, False, True, True]))),
    ((5,), True),
    ((5,), False),
    ((3, 4), (S(None), True)),
    ((0, 3), S(None)),
    ((0, 3), (S(None), ints(1, 2))),
]


def name(case: Case) -> str:
    return repr(case).replace("dtype=int32", "").replace("array", "")


def arrays_of(index: Any) -> tuple[list[HostArray], Callable[[Any], Any]]:
    """The integers of an index that can be data, and how to put others in their place."""
    entries = index if isinstance(index, tuple) else (index,)

    def is_data(entry: Any) -> bool:
        if isinstance(entry, bool) or getattr(entry, "dtype", None) == np.bool_:
            return False
        return isinstance(entry, (int, np.ndarray, np.integer))

    def rebuild(values: Any) -> Any:
        rest = iter(values)
        return tuple([next(rest) if is_data(entry) else entry for entry in entries])

    return [np.asarray(e, np.int32) for e in entries if is_data(e)], rebuild


def to_array(index: Any) -> Any:
    """The index with tinyjax's arrays in place of NumPy's."""
    if isinstance(index, tuple):
        return tuple(map(to_array, index))
    return jnp.asarray(index) if isinstance(index, np.ndarray) else index


def check(got: Any, expected: Any, rtol: float = 1e-12, what: str = "") -> None:
    expected = np.asarray(expected)
    assert got.shape == expected.shape, what
    assert got.dtype == expected.dtype, what
    np.testing.assert_allclose(np.asarray(got), expected, rtol=rtol, atol=1e-14, err_msg=what)


@pytest.mark.parametrize("case", READS, ids=name)
def test_getitem_is_numpys(case: Case) -> None:
    shape, index = case
    x = operand(shape)
    wanted = x[index]
    check(jnp.asarray(x)[index], wanted)
    check(jnp.asarray(x)[to_array(index)], wanted)
    # under jvp the primitives run, not NumPy's own indexing
    got, tangent = tj.jvp(lambda x: x[index], (x,), (2 * x,))
    check(got, wanted)
    check(tangent, 2 * wanted)


@pytest.mark.usefixtures("each_tier")
def test_compiled_getitem_is_numpys() -> None:
    wanted = [operand(shape)[index] for shape, index in READS]
    xs = [operand(shape) for shape, _ in READS]
    data, rebuild = zip(*[arrays_of(index) for _, index in READS], strict=True)
    compiled = tj.jit(lambda xs: [x[i] for x, (_, i) in zip(xs, READS, strict=True)])
    for case, got, want in zip(READS, compiled(xs), wanted, strict=True):
        check(got, want, what=name(case))

    @tj.jit
    def traced(xs: Any, data: Any) -> Any:
        return [x[put(d)] for x, put, d in zip(xs, rebuild, data, strict=True)]

    for case, got, want in zip(READS, traced(xs, data), wanted, strict=True):
        check(got, want, what=name(case))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", READS, ids=name)
def test_getitem_gradient(case: Case) -> None:
    shape, index = case
    x = operand(shape)
    weight = np.cos(np.arange(x[index].size)).reshape(x[index].shape)
    total = np.zeros(shape)
    np.add.at(total, index, weight)
    check(tj.grad(lambda x: (x[index] * weight).sum())(x), total)
    data, rebuild = arrays_of(index)
    check(tj.grad(lambda x, *data: (x[rebuild(data)] * weight).sum())(x, *data), total)
    # of sum(w x^3) the gradient is 3 w x^2, and of the sum of its squares 36 w^2 x^3
    first = tj.grad(lambda x: (x[index] ** 3 * weight).sum())
    check(tj.grad(lambda x: (first(x) ** 2).sum())(x), 36 * total**2 * x**3)


@pytest.mark.usefixtures("each_tier")
def test_compiled_getitem_gradient() -> None:
    xs = [operand(shape) for shape, _ in READS]
    data, rebuild = zip(*[arrays_of(index) for _, index in READS], strict=True)

    def loss(xs: Any, data: Any) -> Any:
        taken = [x[put(d)] for x, put, d in zip(xs, rebuild, data, strict=True)]
        return sum([(t**2).sum() for t in taken], 0.0)

    gradients = tj.jit(tj.grad(loss))(xs, data)
    for case, got, want in zip(READS, gradients, tj.grad(loss)(xs, data), strict=True):
        check(got, want, what=name(case))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", READS, ids=name)
def test_getitem_vmap(case: Case) -> None:
    shape, index = case
    xs = np.stack([operand(shape), operand(shape) + 1])
    data, rebuild = arrays_of(index)
    wanted = np.stack([x[index] for x in xs])

    def fun(x: Any, *data: Any) -> Any:
        return x[rebuild(data)]

    check(tj.vmap(lambda x: x[index])(xs), wanted)
    check(tj.vmap(lambda x: x[index], in_axes=-1)(np.moveaxis(xs, 0, -1)), wanted)
    if not data:
        return
    several = [np.stack([d, np.flip(d)]) for d in data]
    wanted = np.stack([fun(x, *ds) for x, *ds in zip(xs, *several, strict=True)])
    check(tj.vmap(fun)(xs, *several), wanted)
    wanted = np.stack([fun(xs[0], *ds) for ds in zip(*several, strict=True)])
    shared = jnp.asarray(xs[0])  # what is not mapped over is handed on as it is
    check(tj.vmap(fun, in_axes=(None,) + (0,) * len(data))(shared, *several), wanted)
    moved = [np.moveaxis(d, 0, -1) for d in several]
    check(tj.vmap(fun, in_axes=(None,) + (-1,) * len(data))(shared, *moved), wanted)


@pytest.mark.usefixtures("each_tier")
def test_compiled_getitem_vmap() -> None:
    wanted, args, funs = [], [], []
    for shape, index in READS:
        data, rebuild = arrays_of(index)
        xs = np.stack([operand(shape), operand(shape) + 1])
        several = [np.stack([d, np.flip(d)]) for d in data]
        args.append((xs, *several))
        funs.append(lambda x, *data, put=rebuild: x[put(data)])
        wanted.append(tj.vmap(funs[-1])(xs, *several))
    compiled = tj.jit(lambda args: [tj.vmap(f)(*a) for f, a in zip(funs, args, strict=True)])
    for case, got, want in zip(READS, compiled(args), wanted, strict=True):
        check(got, want, what=name(case))


UPDATES = ["set", "add", "subtract", "multiply", "divide", "min", "max", "power"]


def numpy_update(x: HostArray, index: Any, value: Any, kind: str) -> HostArray:
    out = np.array(x)
    match kind:
        case "set":
            out[index] = value
        case "power":
            exponents = np.ones_like(out)
            np.multiply.at(exponents, index, value)
            out = out**exponents
        case _:
            ufunc = {"min": np.minimum, "max": np.maximum}.get(kind) or getattr(np, kind)
            ufunc.at(out, index, value)
    return out


def values_for(case: Case) -> HostArray:
    taken = np.asarray(operand(case[0])[case[1]])
    return np.asarray(np.sin(np.arange(1.0, 1 + taken.size)).reshape(taken.shape) * 2)


def updated(case: Case, kind: str) -> Callable[..., Any]:
    """The update by an index that is known, or by data in its place."""
    _, rebuild = arrays_of(case[1])

    def fun(x: Any, value: Any, *data: Any, **options: Any) -> Any:
        index = rebuild(data) if data else case[1]
        return getattr(jnp.asarray(x).at[index], kind)(value, **options)

    return fun


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", UPDATES)
@pytest.mark.parametrize("case", READS, ids=name)
def test_update_is_numpys(case: Case, kind: str) -> None:
    x = np.abs(operand(case[0])) + 0.5
    fun = updated(case, kind)
    for value in (2.5, values_for(case)):
        wanted = numpy_update(x, case[1], value, kind)
        check(fun(x, value), wanted)
        if kind in ("set", "add"):  # under jvp the primitives run
            check(tj.jvp(partial(fun, value=value), (x,), (x,))[0], wanted)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("kind", ["set", "add", "max"])
def test_compiled_update(kind: str) -> None:
    xs = [operand(shape) for shape, _ in READS]
    values = [values_for(case) for case in READS]
    data = [arrays_of(index)[0] for _, index in READS]
    funs = [updated(case, kind) for case in READS]
    wanted = [
        numpy_update(x, case[1], value, kind)
        for x, case, value in zip(xs, READS, values, strict=True)
    ]

    @tj.jit
    def static(xs: Any, values: Any) -> Any:
        return [f(x, v) for f, x, v in zip(funs, xs, values, strict=True)]

    @tj.jit
    def traced(xs: Any, values: Any, data: Any) -> Any:
        return [f(x, v, *d) for f, x, v, d in zip(funs, xs, values, data, strict=True)]

    if kind in ("set", "max"):
        for case, got, want in zip(READS, static(xs, values), wanted, strict=True):
            check(got, want, what=name(case))
    for case, got, want in zip(READS, traced(xs, values, data), wanted, strict=True):
        check(got, want, what=name(case))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", UPDATES)
@pytest.mark.parametrize("case", READS, ids=name)
def test_update_gradients(case: Case, kind: str) -> None:
    shape, _ = case
    x, value = np.abs(operand(shape)) + 0.5, values_for(case)
    weight = np.cos(np.arange(x.size)).reshape(shape)
    update = updated(case, kind)
    check_direction(lambda x, v: (update(x, v) * weight).sum(), x, value)
    if kind != "power":
        check_direction(lambda x, v: (update(x, v) ** 2 * weight).sum(), x, value)


def check_direction(loss: Callable[..., Any], *args: HostArray) -> None:
    """Hold the gradient against a difference quotient in one direction."""
    step = 1e-6
    direction = [np.cos(3 + np.arange(a.size)).reshape(a.shape) for a in args]
    ahead = loss(*[a + step * d for a, d in zip(args, direction, strict=True)])
    back = loss(*[a - step * d for a, d in zip(args, direction, strict=True)])
    wanted = (float(ahead) - float(back)) / (2 * step)
    numbers = tuple(range(len(args)))
    gradients = tj.grad(loss, numbers)(*args)
    got = sum((np.asarray(g) * d).sum() for g, d in zip(gradients, direction, strict=True))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.usefixtures("each_tier")
def test_compiled_update_gradients() -> None:
    rows = [(case, kind) for case in READS[::4] for kind in ("set", "add", "min")]
    args = [(operand(case[0]), values_for(case), *arrays_of(case[1])[0]) for case, _ in rows]
    funs = [updated(case, kind) for case, kind in rows]

    def loss(args: Any) -> Any:
        return sum([(f(*a) ** 2).sum() for f, a in zip(funs, args, strict=True)], 0.0)

    def split(floats: Any) -> Any:
        return loss([(*f, *a[2:]) for f, a in zip(floats, args, strict=True)])

    floats = [a[:2] for a in args]
    compiled = tj.jit(tj.grad(split))(floats)
    for row, got, want in zip(rows, compiled, tj.grad(split)(floats), strict=True):
        check(got[0], want[0], what=repr(row))
        check(got[1], want[1], what=repr(row))


def test_ties_share_the_derivative_as_in_jax() -> None:
    x, value = np.zeros(3), np.array([0.0, 0.0, -1.0, 2.0])
    index = ints(0, 0, 1, 2)
    for kind in ("min", "max"):
        wanted = jax.grad(lambda x, v, kind=kind: getattr(x.at[index], kind)(v).sum(), (0, 1))(
            x, value
        )
        got = tj.grad(lambda x, v, kind=kind: getattr(x.at[index], kind)(v).sum(), (0, 1))(x, value)
        for a, b in zip(got, wanted, strict=True):
            check(a, b)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["set", "add", "multiply", "max"])
@pytest.mark.parametrize("case", READS[::3], ids=name)
def test_update_vmap(case: Case, kind: str) -> None:
    shape, index = case
    xs = np.stack([operand(shape), operand(shape) + 1])
    data, rebuild = arrays_of(index)
    several = [np.stack([d, np.flip(d)]) for d in data]
    taken = xs[0][index].shape
    values = np.sin(np.arange(2 * np.prod(taken, dtype=int))).reshape(2, *taken)

    def fun(x: Any, value: Any, *data: Any) -> Any:
        return getattr(jnp.asarray(x).at[rebuild(data)], kind)(value)

    for batched in np.ndindex(2, 2, 2):
        if not any(batched) or (batched[2] and not data):
            continue
        axes = tuple(0 if b else None for b in (*batched[:2], *[batched[2]] * len(data)))
        args = [xs, values, *several]
        given = [a if axis == 0 else a[0] for a, axis in zip(args, axes, strict=True)]
        wanted = np.stack(
            [
                fun(*[a[i] if axis == 0 else a[0] for a, axis in zip(args, axes, strict=True)])
                for i in range(2)
            ]
        )
        check(tj.vmap(fun, in_axes=axes)(*given), wanted)


OUT = [
    ((3,), ints(5, -4, -1, 0)),
    ((3,), 7),
    ((3,), -7),
    ((3, 4), (ints(5, 1), ints(0, 9))),
    ((3, 4), (S(1, 3), ints(-9, 1, 7))),
    ((3, 4), (9, S(None, None, -1))),
    ((3, 4), (ints(-9)[0], 1)),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", OUT, ids=name)
def test_out_of_bounds_is_jaxs(case: Case) -> None:
    shape, index = case
    data, rebuild = arrays_of(index)

    def everything(x: Any, *data: Any) -> dict[str, Any]:
        where = rebuild(data) if data else index
        found = {"getitem": x[where]}
        for mode in (None, "clip", "fill", "promise_in_bounds"):
            found[f"get {mode}"] = x.at[where].get(mode=mode)
            for kind in ("set", "add", "max", "multiply"):
                found[f"{kind} {mode}"] = getattr(x.at[where], kind)(9.0, mode=mode)
        return found

    def gradients(grad: Callable[..., Any]) -> Callable[..., Any]:
        def loss(x: Any, mode: str | None) -> Any:
            return x.at[index].get(mode=mode).sum()

        return lambda x: [grad(loss)(x, mode) for mode in (None, "clip", "fill")]

    x = operand(shape)
    wanted = jax.jit(everything)(x)
    for got in (everything(jnp.asarray(x)), tj.jit(everything)(x), tj.jit(everything)(x, *data)):
        for key, value in wanted.items():
            check(got[key], value, what=key)
    for a, b in zip(gradients(tj.grad)(x), jax.jit(gradients(jax.grad))(x), strict=True):
        check(a, b)


@pytest.mark.usefixtures("each_tier")
def test_zeros_of_both_signs_fill() -> None:
    def read(x: Any, fill: float) -> Any:
        return x.at[np.array([7, 8])].get(mode="fill", fill_value=fill)

    x = jnp.arange(4.0)
    for fill in (0.0, -0.0, 0.0, -0.0):  # parameters that are equal, of which either comes first
        fun = partial(read, fill=fill)
        for found in (fun(x), tj.jit(fun)(x), tj.vmap(fun)(x[None])[0]):
            assert np.signbit(found).tolist() == [np.signbit(fill)] * 2


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool", "complex64", "bfloat16"])
def test_fill_values(dtype: str) -> None:
    x = np.arange(3).astype(jnp.dtype(dtype))
    index = ints(5, -1)
    wanted = jax_numpy.asarray(x).at[index].get(mode="fill")
    check(jnp.asarray(x).at[index].get(mode="fill"), wanted)
    check(tj.jit(lambda x: x.at[index].get(mode="fill"))(x), wanted)
    wanted = jax_numpy.asarray(x).at[index].get(mode="fill", fill_value=1)
    check(jnp.asarray(x).at[index].get(mode="fill", fill_value=1), wanted)


def test_negative_indices_need_not_wrap() -> None:
    x = jnp.arange(3)
    index = jnp.asarray(ints(-1, 1))
    taken = x.at[index].get(wrap_negative_indices=False, mode="fill", fill_value=7)
    assert taken.tolist() == [7, 1]
    assert x.at[-1].set(5, wrap_negative_indices=False).tolist() == [0, 1, 2]


@pytest.mark.wrong_types
def test_whether_negative_indices_wrap_is_one_bool() -> None:
    x = jnp.arange(3)
    with raises(ArgumentError, match=r"wrap_negative_indices .* must be a bool"):
        unchecked(x).at[0].get(wrap_negative_indices=np.ones(3))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"])
def test_index_dtypes(dtype: str) -> None:
    """Narrow types count as far as the array goes, and unsigned ones do not count from the end."""
    x = np.arange(300.0)
    index = np.array([3, 127, 0], dtype)
    check(jnp.asarray(x)[index], x[index])
    check(tj.jit(lambda x, i: x[i])(x, index), x[index])
    check(tj.jit(lambda x, i: x[i])(x, index[1]), x[127])
    check(tj.jit(lambda x, i: x.at[i].set(7.0))(x, index), jnp.asarray(x).at[index].set(7.0))
    if dtype.startswith("int"):
        check(tj.jit(lambda x, i: x[i])(x, -index), x[-index])
    else:
        top = np.array([min(np.iinfo(dtype).max, 2**63 - 1)], dtype)
        check(tj.jit(lambda x, i: x[i])(x, top), x[np.minimum(top.astype(np.int64), 299)])


@pytest.mark.usefixtures("each_tier")
def test_repeated_indices() -> None:
    x = jnp.zeros(4)
    index = jnp.asarray(ints(1, 1, 3))
    assert x.at[index].add(1.0).tolist() == [0, 2, 0, 1]
    assert x.at[index].set(jnp.asarray([1.0, 2.0, 3.0])).tolist() == [0, 2, 0, 3]
    assert (x + 1).at[index].multiply(3.0).tolist() == [1, 9, 1, 3]
    # of a set, the derivative goes to the update that stays
    grad = tj.grad(lambda v: x.at[index].set(v).sum())(jnp.asarray([1.0, 2.0, 3.0]))
    assert grad.tolist() == [0, 1, 1]
    traced = tj.jit(tj.grad(lambda v, i: x.at[i].set(v).sum()))
    assert traced(jnp.asarray([1.0, 2.0, 3.0]), index).tolist() == [0, 1, 1]


def test_apply() -> None:
    x = jnp.arange(4.0)
    assert x.at[1:3].apply(lambda v: v * 10).tolist() == [0, 10, 20, 3]
    assert tj.grad(lambda x: x.at[0].apply(jnp.cos).sum())(x).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 2), (2, 0, 3), (2, 3)])
def test_errors_of_indexing_are_index_errors(shape: tuple[int, ...]) -> None:
    """Errors of NumPy are caught here by the same classes, whatever is indexed, and how."""
    entries: list[Any] = [
        *(0, 5, -1, 1.0, 1j, "a", True, slice(None), slice(1, None), ..., None),
        *(ints(0, 1), ints(0, 0, 1), ints(), np.zeros(2), np.array([True]), np.ones((2, 3), bool)),
        {},
    ]
    x = np.zeros(shape, np.float32)
    ways: list[Callable[[Any, Any], object]] = [
        lambda x, index: x[index],
        lambda x, index: x.at[index].get(mode="clip"),
        lambda x, index: x.at[index].set(0.0),
        lambda x, index: tj.eval_shape(lambda x: x[index], x),
        lambda x, index: tj.new_ref(x)[index],
    ]
    seen = set()
    for index in (*[(a,) for a in entries], *product(entries, repeat=2)):
        try:
            _ = x[index]
        except IndexError:
            pass
        else:
            continue
        ours = unchecked(tuple(jnp.asarray(i) if isinstance(i, np.ndarray) else i for i in index))
        for way in ways:
            try:
                way(jnp.asarray(x), ours)
            except IndexError:
                seen.add("refused")
            else:  # out of bounds, which moves to the nearest element, or is dropped
                seen.add("clipped")
    assert "refused" in seen
    if 0 in shape:
        with raises(IndexError, match="is empty"):
            jnp.take(x, ints(0), axis=shape.index(0))
        with raises(IndexError, match="is empty"):
            jnp.take_along_axis(x, np.zeros((1,) * len(shape), int), shape.index(0))


@pytest.mark.usefixtures("each_tier")
def test_updates_keep_the_dtype() -> None:
    assert jnp.zeros(2, jnp.float32).at[0].set(np.float64(1.5)).dtype == jnp.float32
    assert jnp.zeros(2, jnp.int8).at[0].add(True).dtype == jnp.int8
    assert jnp.arange(3).at[0].divide(2).dtype == jnp.float32
    assert jnp.arange(3, dtype=jnp.uint8).at[0].subtract(1).tolist() == [255, 1, 2]
    for value in (1.5, np.float32(0.5), np.nan, 2.0**31, np.ones(3), jnp.float32(1.0)):
        with raises(DtypeError, match="int32 cannot hold an update of float"):
            jnp.arange(3).at[:].set(value)
    # numbers that integers have are no loss
    for number in (0.0, -0.0, 3.0, np.float32(2.0), np.float64(-(2.0**31))):
        for method in ("set", "add", "subtract", "multiply", "min", "max"):
            ours = getattr(jnp.arange(3).at[1:], method)(number)
            theirs = getattr(jnp.arange(3).at[1:], method)(int(number))
            assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())
    assert tj.jit(lambda x, i: x.at[i].set(0.0))(jnp.ones(2, jnp.int4), 0).tolist() == [0, 1]
    assert jnp.zeros(2, jnp.bool_).at[0].set(1.0).tolist() == [True, False]
    with raises(DtypeError, match="bool cannot hold an update of float32"):
        jnp.zeros(2, jnp.bool_).at[0].set(2.0)
    with raises(DtypeError, match="complex64"):
        jnp.zeros(3).at[0].add(1j)
    with raises(ArgumentError, match="does not fit in int8"):
        jnp.zeros(3, jnp.int8).at[0].set(300)
    with raises(DtypeError, match="bools cannot add"):
        jnp.zeros(3, bool).at[0].add(True)
    assert jnp.zeros(3, bool).at[1].max(True).tolist() == [False, True, False]


UPDATES_OF_WEAK: list[Callable[[Any, Any], Any]] = [
    lambda lib, x: x.at[1].set(2),
    lambda lib, x: x.at[1:].set(lib.float32(2.0)),
    lambda lib, x: x.at[lib.array([0])].add(2),
    lambda lib, x: x.at[0].divide(2),
    lambda lib, x: x.at[0].min(lib.ones(())),
    lambda lib, x: x.at[0].power(2),
    lambda lib, x: x.at[0].apply(lib.sin),
    lambda lib, x: x.at[lib.array([9])].get(mode="fill", fill_value=0),
    lambda lib, x: lib.insert(x, 1, 2),
    lambda lib, x: lib.put(x, 0, 2, inplace=False),
    lambda lib, x: lib.place(x, x > 0, lib.array([2.0]), inplace=False),
    lambda lib, x: lib.put_along_axis(x, lib.array([0]), 1, 0, inplace=False),
    lambda lib, x: lib.fill_diagonal(x[:, None] * x, 2, inplace=False),
    lambda lib, x: lib.nan_to_num(x),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("update", UPDATES_OF_WEAK)
def test_updates_are_as_weak_as_in_jax(update: Callable[[Any, Any], Any]) -> None:
    with jax.enable_x64(False):
        expected = update(jax_numpy, jax_numpy.full(3, 1.0))
    x = jnp.full(3, 1.0)
    for got in (update(jnp, x), tj.jit(partial(update, jnp))(x)):
        assert (got.dtype, got.weak_type) == (expected.dtype, expected.weak_type)
        np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-6)


def test_jaxprs_are_small() -> None:
    x = jnp.zeros((3, 4))

    def names(fun: Callable[..., Any], *args: Any) -> list[str]:
        return [eqn.primitive.name for eqn in tj.make_jaxpr(fun)(*args).eqns]

    assert names(lambda x: x[:], x) == []
    assert names(lambda x: x[..., :], x) == []
    assert names(lambda x: x[None], x) == ["reshape"]
    assert names(lambda x: x[1], x) == ["slice", "reshape"]
    assert names(lambda x: x[::-1], x) == ["rev"]
    assert names(lambda x, i: x[i], x, 1) == ["wrap_index", "dynamic_slice", "reshape"]
    assert names(lambda x, i: x[i, 1:3], x, 1) == ["wrap_index", "dynamic_slice", "reshape"]
    index = jnp.asarray(ints(0, 1))
    assert names(lambda x, i: x[i], x, index) == ["wrap_index", "reshape", "gather"]
    assert names(lambda x: x[index], x) == ["gather"]
    assert names(lambda x: x.at[:].set(1.0), x) == []
    assert names(lambda x: x.at[1].set(1.0), x) == ["dynamic_update_slice"]
    assert names(lambda x: x.at[index].add(1.0), x) == ["scatter_add"]


LISTED: dict[str, Any] = {
    "the first axis": ([0, -1], slice(None)),
    "the second axis": (slice(None), [0, 3, 0]),
    "both": ([0, 1], [1, 2]),
    "alone in a tuple": ([2, 0],),
    "tuples": ((0, 1), (3, 2)),
    "a range": (range(2), slice(1, 3)),
    "of lists": ([[0], [1]], [1, 2]),
    "a mask": ([True, False, True], slice(None)),
    "a mask in a tuple": (slice(None), (True, False, False, True)),
    "empty": ([], slice(None)),
    "a new axis": (None, [0, 1]),
    "the last axis": (..., [0, 1]),
    "an array in a list": ([np.int32(1), jnp.int32(0)], 0),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("index", LISTED.values(), ids=LISTED.keys())
def test_positions_may_be_listed_in_a_tuple(index: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = x[index]
    for taken in (jnp.asarray(x)[index], tj.jit(lambda x: x[index])(x)):
        assert taken.shape == expected.shape
        np.testing.assert_array_equal(taken, expected)
    added = x.copy()
    np.add.at(added, index, 1.0)
    add = tj.jit(lambda x: x.at[index].add(1.0))
    for changed in (jnp.asarray(x).at[index].add(1.0), add(x)):
        np.testing.assert_array_equal(changed, added)
    counted = tj.grad(lambda x: x[index].sum())(jnp.asarray(x))
    np.testing.assert_array_equal(counted, added - x)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.wrong_types
def test_errors_say_what_to_do() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    with raises(AxisError, match=r"too many indices: an array of shape \(2, 3\)"):
        x[0, 0, 0]
    with raises(ArgumentError, match=r"only one '\.\.\.'"):
        x[..., ...]
    with raises(ArgumentError, match="list cannot be the whole index"):
        unchecked(x)[[0, 1]]
    with raises(ArgumentError, match="must be made of integers"):
        unchecked(x)["a"]
    with raises(ArgumentError, match="must be made of integers"):
        unchecked(x)[1.0]
    with raises(IndexError, match=r"astype\(int\)"):
        x[jnp.zeros(2)]
    with raises(IndexError, match="mask must have the shape"):
        x[jnp.asarray([True, False, True])]
    with raises(IndexError, match="broadcast to one shape"):
        x[jnp.asarray(ints(0, 1)), jnp.asarray(ints(0, 1, 2))]
    with raises(ArgumentError, match="step of a slice cannot be zero"):
        x[::0]
    with raises(ArgumentError, match="bounds of a slice must be integers"):
        x[0.5:]
    with raises(ConcretizationError, match=r"jnp\.where.*size=n"):
        tj.jit(lambda x: x[x > 0])(x)
    with raises(ConcretizationError, match=r"lax\.dynamic_slice"):
        tj.jit(lambda x, i: x[i:])(x, 1)
    with raises(ShapeError, match=r"\(4,\) does not broadcast to \(3,\)"):
        x.at[0].set(jnp.zeros(4))
    with raises(ShapeError, match=r"\(1, 3\) does not broadcast to \(3,\)"):
        x.at[0].set(jnp.zeros((1, 3)))
    with raises(IndexError, match="is empty"):
        jnp.zeros(0)[0]
    with raises(ArgumentError, match="expected a mode"):
        x.at[0, jnp.asarray(ints(0))].get(mode="wrap")


def test_an_array_is_not_changed_by_its_copies() -> None:
    x = jnp.arange(3.0)
    y = x[:]
    z = x.at[0].set(9.0)
    assert x.tolist() == y.tolist() == [0, 1, 2]
    assert z.tolist() == [9, 1, 2]
    given = np.arange(3.0)
    index = ints(0, 1)
    taken = jnp.asarray(given)[index]
    index[0] = 2
    given[:] = 7
    assert taken.tolist() == [0, 1]

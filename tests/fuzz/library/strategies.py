"""Strategies for parameters whose names and annotations do not determine them."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np

from tinyjax import dtypes
from tinyjax.testing.libraries.drawn_calls import DrawnArray, FromLibrary
from tinyjax.testing.libraries.parameters import (
    Drawn,
    Strategy,
    any_dtype,
    array_like,
    axes,
    axis,
    fixed,
    ranks,
)


def of_kinds(kinds: str, **options: Any) -> Strategy:
    """An array of these kinds; now and then of any."""

    def strategy(call: Drawn) -> Any:
        if call.draw.chance(0.05):
            return array_like(call)
        return call.operand(kinds=kinds, **options)

    return strategy


def of_rank(ndim: int, kinds: str = "biufc", **options: Any) -> Strategy:
    """An array with so many axes; now and then with any."""

    def strategy(call: Drawn) -> Any:
        shape = None if call.draw.chance(0.05) else call.draw.shape(ndim)
        return call.operand(shape, kinds=kinds, **options)

    return strategy


shift: Final = fixed(0, 1, -1, 5, (1, 2), (1,))


def float_dtype(call: Drawn) -> dtypes.DType:
    return call.draw.dtype("f" if call.draw.chance(0.9) else "biufc")


def probability(call: Drawn) -> Any:
    return call.operand(kinds="f", low=0.0, high=1.0, plain=True) if call.draw.chance(0.8) else 0.5


def square(call: Drawn) -> DrawnArray:
    """A square matrix, or several, well conditioned but for one in ten."""
    return matrix(call, *call.draw.one(((3, 3), (3, 3), (2, 2), (1, 1), (0, 0), (2, 3, 3))))


def matrix(call: Drawn, *shape: int) -> DrawnArray:
    """A matrix, near to a diagonal one with distinct elements, so that factors are unique."""
    d = call.draw
    dtype = call.dtype_beside("fc" if d.chance(0.85) else "biufc")
    host = d.array(shape, dtype, -1.0, 1.0, plain=d.chance(0.9))
    if dtypes.is_inexact(dtype) and d.chance(0.9) and len(shape) > 1:
        grown = np.eye(shape[-2], shape[-1]) * np.arange(2.0, 2.0 + 2 * shape[-1], 2.0)
        with np.errstate(all="ignore"):
            host = (
                (host.astype(np.complex128) + grown)
                if host.dtype.kind == "c"
                else (host.astype(np.float64) + grown)
            )
        host = host.astype(dtype)
    if call.shape is None:
        call.shape, call.dtype = shape, dtype
    return DrawnArray(host)


def definite(call: Drawn) -> DrawnArray:
    """A Hermitian positive definite matrix, or several; one in ten is any square one."""
    operand = square(call)
    if call.draw.chance(0.1) or not dtypes.is_inexact(operand.host.dtype):
        return operand
    kind = np.complex128 if operand.host.dtype.kind == "c" else np.float64
    wide = operand.host.astype(kind)
    with np.errstate(all="ignore"):
        return DrawnArray(
            np.asarray(wide @ wide.conj().swapaxes(-1, -2)).astype(operand.host.dtype)
        )


def any_matrix(call: Drawn) -> DrawnArray:
    return matrix(call, *call.draw.one(((3, 3), (2, 3), (3, 2), (2, 2, 3), (0, 2), (2, 0))))


def right_side(call: Drawn) -> DrawnArray:
    """Return a right side that fits a square matrix."""
    shape = call.shape or ()
    n = shape[-1] if shape else 2
    right_shape = call.draw.one(((n,), (n, 2), (*shape[:-2], n, 2), (n, 1), (n + 1,), (n, 0)))
    return call.operand(right_shape, kinds="f" if call.draw.chance(0.9) else "biufc", plain=True)


def sorted_line(call: Drawn) -> DrawnArray:
    host = call.draw.array((call.draw.randint(1, 4),), call.dtype_beside("f"), plain=True)
    return DrawnArray(np.sort(host))


def indices(call: Drawn) -> Any:
    """Places along an axis of the first array, some of them beyond its ends."""
    shape = call.draw.one(((), (2,), (3,), (2, 2), (0,)))
    return DrawnArray(call.draw.array(shape, call.draw.dtype("iu"), -4, 4, plain=True))


percentiles: Final = ranks(100, 50, 25.0, 0, 100)


def named(path: str) -> FromLibrary:
    """A function, class or value of each library."""
    return FromLibrary(lambda library: library.find(path), path)


def made(path: str, *args: Any, **kwargs: Any) -> FromLibrary:
    """Return the result of each library's function or class for these arguments."""
    given = ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in kwargs.items())])
    return FromLibrary(lambda library: library.find(path)(*args, **kwargs), f"{path}({given})")


def permutation(call: Drawn) -> tuple[int, ...]:
    found = list(range(call.ndim))
    call.draw.shuffle(found)
    if call.draw.chance(0.08):
        found = [*found[1:], 7]
    return tuple(found)


def reordered(call: Drawn) -> tuple[int, ...]:
    """A shape of as many elements as the first array has, most often."""
    shape = list(call.shape or ())
    call.draw.shuffle(shape)
    n = int(np.prod(call.shape or ()))
    options: list[tuple[int, ...]] = [
        tuple(shape),
        (n,),
        (1, n),
        (n, 1),
        (-1,),
        (n // 2, 2),
        (3, -1),
    ]
    return call.draw.one(options)


def positive_reordered(call: Drawn) -> tuple[int, ...]:
    return tuple(abs(n) for n in reordered(call))


def beside(call: Drawn) -> DrawnArray:
    return call.operand(dtype=call.dtype)


def same(kinds: str = "biufc", **options: Any) -> Strategy:
    """An array like the first one, but for the kind."""

    def strategy(call: Drawn) -> DrawnArray:
        kept = call.dtype is not None and dtypes.kind(call.dtype) in kinds
        dtype = call.dtype if kept else call.draw.dtype(kinds)
        return call.operand(call.shape, dtype, **options)

    return strategy


def pad_width(call: Drawn) -> Any:
    n = call.ndim
    if call.draw.chance(0.5):
        return call.draw.one((1, 0, 2, (1, 2), ((1, 0),)))
    return [(call.draw.randint(0, 2), call.draw.randint(0, 2)) for _ in range(n)]


def padding_config(call: Drawn) -> Any:
    draw = call.draw
    return [
        (draw.randint(-1, 2), draw.randint(-1, 2), draw.randint(0, 1)) for _ in range(call.ndim)
    ]


def scalar_like(call: Drawn) -> Any:
    if call.draw.chance(0.2):
        return call.draw.number()
    return call.operand((), call.dtype)


def numbers(call: Drawn) -> Any:
    return call.draw.one((0, 1, 2, 3, 5, 0.5, -1, 2.5, 1e-3, 10))


def kth(call: Drawn) -> int:
    return call.draw.randint(-3, 3)


def choices(call: Drawn) -> list[Any]:
    return [call.operand(dtype=dtypes.float32) for _ in range(call.draw.randint(1, 3))]


def moved(call: Drawn) -> Any:
    return call.draw.one((axis, axis, axes))(call)


def ints_of_shape(low: int, high: int) -> Strategy:
    def strategy(call: Drawn) -> DrawnArray:
        return DrawnArray(
            call.draw.array(call.draw.shape(), call.draw.dtype("i"), low, high, plain=True)
        )

    return strategy


def along_axis(call: Drawn) -> DrawnArray:
    """Indices of the shape of the first array but for one axis."""
    shape = list(call.shape or (2,))
    if shape and call.draw.chance(0.5):
        shape[call.draw.randrange(len(shape))] = 2
    return DrawnArray(call.draw.array(tuple(shape), call.draw.dtype("i"), -3, 3, plain=True))


def bools_as_long(call: Drawn) -> DrawnArray:
    n = int(np.prod(call.shape or ()))
    return DrawnArray(call.draw.array((call.draw.one((n, 3, 2)),), dtypes.bool_))


def lines(call: Drawn) -> list[Any]:
    return [call.operand((call.draw.randint(0, 3),)) for _ in range(call.draw.randint(1, 3))]


def matrices_in_turn(call: Drawn) -> list[DrawnArray]:
    sizes = [call.draw.randint(1, 3) for _ in range(call.draw.randint(3, 4))]
    return [call.operand((m, n), call.dtype, kinds="ifc", plain=True) for m, n in pairwise(sizes)]


def inner_axes(call: Drawn) -> Any:
    return call.draw.one((0, 1, 2, ([0], [0]), ([0, 1], [1, 0]), (0, 1)))


def vector3(call: Drawn) -> DrawnArray:
    return call.operand(call.draw.one(((3,), (2,), (2, 3), (3, 2), (4,))))


def triangle_size(call: Drawn) -> int:
    return call.draw.randint(0, 4)


def sizes_that_add_up(call: Drawn) -> tuple[int, ...]:
    n = (call.shape or (3,))[0] if call.shape else 3
    return call.draw.one(((n,), (1, n - 1), (0, n), (1, 1)))


def slices_to(call: Drawn) -> tuple[int, ...]:
    return tuple(
        call.draw.randint(0, n + (1 if call.draw.chance(0.1) else 0)) for n in call.shape or ()
    )


def slices_from(call: Drawn) -> tuple[int, ...]:
    return tuple(call.draw.randint(0, 1) for _ in call.shape or ())


def strides(call: Drawn) -> tuple[int, ...]:
    return tuple(call.draw.randint(1, 2) for _ in call.shape or ())


def starts(call: Drawn) -> Any:
    dtype = call.draw.dtype("iu")
    d = call.draw
    if d.chance(0.3):
        return [d.randint(-3, 3) for _ in call.shape or ()]
    if d.chance(0.5):
        return DrawnArray(d.array((call.ndim,), dtype, -4, 4, plain=True))
    return [DrawnArray(d.array((), dtype, -4, 4, plain=True)) for _ in call.shape or ()]


def slice_sizes(call: Drawn) -> tuple[int, ...]:
    low, high = (-1, 4) if call.draw.chance(0.15) else (0, 3)
    return tuple(min(call.draw.randint(low, high), n + (high > 3)) for n in call.shape or ())


def updates(call: Drawn) -> DrawnArray:
    shape = tuple(call.draw.randint(0, n + call.draw.chance(0.05)) for n in call.shape or ())
    return call.operand(shape, call.dtype if call.draw.chance(0.9) else None)


def start_index(call: Drawn) -> Any:
    if call.draw.chance(0.5):
        return call.draw.randint(-4, 4)
    return DrawnArray(call.draw.array((), call.draw.dtype("iu"), -4, 4, plain=True))


def one_update(call: Drawn) -> DrawnArray:
    shape = list(call.shape or ())
    if shape and call.draw.chance(0.9):
        shape[call.draw.randrange(len(shape))] = 1
    return call.operand(tuple(shape), call.dtype)


def two_keys(call: Drawn) -> Any:
    first = call.operand()
    if call.draw.chance(0.4):
        return first
    return tuple([first] + [call.operand(call.shape) for _ in range(call.draw.randint(0, 2))])


def which(call: Drawn) -> DrawnArray:
    return call.operand(
        dtype=call.draw.one((dtypes.bool_, dtypes.int32)), low=0, high=1, plain=True
    )


def flag(call: Drawn) -> DrawnArray:
    return DrawnArray(call.draw.array(call.draw.shape(), dtypes.bool_))


def case(call: Drawn) -> DrawnArray:
    first = next(iter(call.values.values()))
    shape = first.host.shape if call.draw.chance(0.9) else call.draw.shape()
    if call.draw.chance(0.9) and "dtype" in call.values:
        return DrawnArray(call.draw.array(shape, call.values["dtype"]))
    return call.operand(shape)


def power(call: Drawn) -> int:
    return call.draw.randint(-3, 4)


def of_angles(kinds: str = "fc") -> Strategy:
    return of_kinds(kinds)


def unit(call: Drawn) -> Any:
    return call.operand(kinds="f" if call.draw.chance(0.9) else "biufc", low=-0.95, high=0.95)


def positive(call: Drawn) -> Any:
    return call.operand(kinds="f" if call.draw.chance(0.9) else "biufc", low=0.1, high=5.0)


def order_of_derivative(call: Drawn) -> Any:
    return call.operand(kinds="if", low=0, high=3, plain=True)


def whole_floats(call: Drawn) -> Any:
    found = call.operand(kinds="fi", low=0, high=5, plain=True)
    return DrawnArray(np.floor(found.host.astype(np.float64)).astype(found.host.dtype))


def pivots(call: Drawn) -> DrawnArray:
    return DrawnArray(np.array([call.draw.randint(i, 2) for i in range(3)], np.int32))


def in_order(call: Drawn) -> Any:
    return call.draw.one((2, 3, ()))


def factored(path: str) -> Strategy:
    """A pair of what a factorisation gives: factors, and a flag or pivots."""

    def strategy(call: Drawn) -> Any:
        found = square(call)
        n = found.host.shape[-1] if found.host.ndim > 1 else 1
        if path.endswith("cho_solve"):
            return (found, call.draw.chance(0.5))
        host = np.array([call.draw.randint(i, max(i, n - 1)) for i in range(n)], np.int32)
        return (found, DrawnArray(np.broadcast_to(host, (*found.host.shape[:-2], n)).copy()))

    return strategy


def seed(call: Drawn) -> Any:
    return call.draw.one((0, 1, 42, 2**31 - 1, DrawnArray(np.int32(7) + np.zeros((), np.int32))))


def subkey_data(call: Drawn) -> Any:
    return call.draw.one((0, 3, 2**31, DrawnArray(np.uint32(5) + np.zeros((), np.uint32))))


def initializer_shape(call: Drawn) -> Any:
    return call.draw.one(((2, 3), (3, 2), (2, 2, 3)))


def dtype_or_name(call: Drawn) -> Any:
    d = call.draw.dtype()
    return call.draw.one((d, d.name, d.type))


def dtype_operand(call: Drawn) -> Any:
    return call.draw.one((array_like, array_like, any_dtype, fixed(int, float, complex, bool)))(
        call
    )


def kind_of_dtype(call: Drawn) -> Any:
    return call.draw.one(
        (
            "bool",
            "signed integer",
            "unsigned integer",
            "integral",
            "real floating",
            "numeric",
            "complex floating",
            np.dtype(np.int32),
            ("bool", "real floating"),
        )
    )


def abstract_or_dtype(call: Drawn) -> Any:
    abstract = ("number", "integer", "floating", "inexact", "signedinteger", "complexfloating")
    if call.draw.chance(0.5):
        return named(f"numpy.{call.draw.one(abstract)}")
    return any_dtype(call)


def nested(call: Drawn) -> Any:
    d = call.draw
    options: list[Callable[[], Any]] = [
        lambda: array_like(call),
        lambda: [1, 2, 3],
        lambda: [[1.0, 2], [3, 4j]],
        lambda: [True, 2],
        lambda: [call.operand((3,)), call.operand((3,))],
        list,
        lambda: [[], []],
        lambda: ([1, 2], [3]),
        d.number,
        lambda: (1.5, call.operand(())),
    ]
    return d.one(options)()


def matrix_small(call: Drawn) -> DrawnArray:
    shape = call.draw.one(((3, 3), (2, 2), (2, 3, 3), (1, 1), (0, 0)))
    return call.operand(
        shape, kinds="fc" if call.draw.chance(0.9) else "iu", low=-1, high=1, plain=True
    )


def places(call: Drawn) -> Any:
    """Return indices along an axis: an int, integers or a slice."""
    d = call.draw
    options = (0, 1, -1, slice(None, None, 2), slice(1, 2))
    if d.chance(0.5):
        return d.one(options)
    return DrawnArray(d.array(d.one(((2,), (1,), (0,))), d.dtype("i"), 0, 1, plain=True))


def mask_of_same_size(call: Drawn) -> DrawnArray:
    return call.operand(call.shape, dtypes.bool_)


def with_zeros(call: Drawn) -> DrawnArray:
    return DrawnArray(call.draw.array(call.draw.shape(), call.draw.dtype("iu"), -1, 1))


def beside_shape(call: Drawn) -> DrawnArray:
    return call.operand(call.shape)


def last_weights(call: Drawn) -> DrawnArray:
    n = (call.shape or (2,))[-1]
    return DrawnArray(call.draw.array((n,), call.draw.dtype("f"), 0.5, 2, plain=True))


def bins(call: Drawn) -> Any:
    """Return a number of bins, or their edges."""
    return call.draw.one((1, 2, 5, 0)) if call.draw.chance(0.6) else sorted_line(call)


def limits(call: Drawn) -> Any:
    return call.draw.one((None, None, (0, 2), (-1.0, 1.0), (1, 1)))

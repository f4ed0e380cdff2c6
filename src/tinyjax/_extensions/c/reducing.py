"""Operations that combine elements: reductions, products, cumulative sums, windows, sorting."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, Final, TypeAlias

import attrs

from tinyjax import dtypes
from tinyjax._extensions.c import matrices, rules, syntax
from tinyjax._extensions.c.elementwise import form
from tinyjax._extensions.c.rules import C
from tinyjax._extensions.c.syntax import Index
from tinyjax._extensions.c.writing import CValue, Shape, Storage, Writer, bare
from tinyjax._primitives import arg_extrema, convolution, cumulative, dot, reduce_window, sort
from tinyjax.core.primitives import broadcast, elementwise as ew, reduce
from tinyjax.core.tracing import jaxpr as jx, primitive as prim


@attrs.frozen
class Combination:
    """An operation that combines elements.

    Attributes:
        primitive: the operation of two elements.
        start: the value that changes nothing, by dtype.
    """

    primitive: prim.Primitive[Any]
    start: Callable[[dtypes.DType], Any]

    def text(self, w: Writer, x: str, y: str, dtype: dtypes.DType) -> str:
        """Write the operation of two elements."""
        return bare(form(w, self.primitive, dtype)(x, y))

    def first(self, dtype: dtypes.DType) -> str:
        """Write the value that changes nothing."""
        return syntax.constant(self.start(dtype), dtype)

    def accumulate(
        self, w: Writer, place: str, text: str, dtype: dtypes.DType, fills: str = ""
    ) -> None:
        """Write a statement that combines a place with an element."""
        combined, head = self.text(w, place, text, dtype), f"{place} + "
        if combined.startswith(head):
            w.line(f"{place} += {bare(combined[len(head) :])};", fills)
        elif combined != place:
            w.line(f"{place} = {combined};", fills)


_SUM: Final = Combination(ew.add, lambda dtype: 0)
_PRODUCT: Final = Combination(ew.mul, lambda dtype: 1)
_MAX: Final = Combination(ew.max_, reduce.lowest)
_MIN: Final = Combination(ew.min_, reduce.highest)


#: An operand of a product, and its axes of stacks, of its own, and of terms.
_Side: TypeAlias = tuple[CValue, Sequence[int], Sequence[int], Sequence[int]]

#: Totals of so many terms are written without a loop.
_UNROLLED: Final = 16
#: Sums of so many floats are made in lanes, which a processor adds at once; rounding loses less.
_LANES: Final = 8


def _total(
    w: Writer,
    combination: Combination,
    name: str,
    sizes: Sequence[int],
    dtype: dtypes.DType,
    term: Callable[[Sequence[Index]], str],
) -> None:
    """Write a variable that combines terms, over all indices of some sizes."""
    ctype, is_sum = syntax.c_type(dtype), combination is _SUM and dtype.kind == "f"
    # where sizes vary, there are lanes for few elements, and a rest whose first place is above zero
    length = sizes[-1] - 2 * w.sizes_vary if sizes and is_sum else 0
    count = length // _LANES * _LANES
    if count < 2 * _LANES and (not w.sizes_vary or length < w.most_unrolled):
        w.line(f"{ctype} {name} = {combination.first(dtype)};", name)
        with w.loops(sizes, "k") as k:
            combination.accumulate(w, name, term(k), dtype, name)
        return
    lanes, rest = w.new_name("lanes"), w.new_name("rest")
    w.line(f"{ctype} {lanes}[{_LANES}] = {{0}};", lanes)
    w.line(f"{ctype} {rest} = 0;", rest)
    with w.loops(sizes[:-1], "k") as outer:
        turns = count // _LANES
        with w.loop(turns, "k", w.sizes_vary) as k, w.loop(_LANES, "lane") as lane:
            w.line(f"{lanes}[{lane}] += {bare(term([*outer, k * _LANES + lane]))};", lanes)
        if sizes[-1] > count:
            with w.loop(sizes[-1] - count, "k") as k:
                w.line(f"{rest} += {bare(term([*outer, k + count]))};", rest)
    halves = [f"({lanes}[{i}] + {lanes}[{i + 4}])" for i in range(4)]
    pairs = f"({halves[0]} + {halves[2]}) + ({halves[1]} + {halves[3]})"
    w.line(f"const {ctype} {name} = {pairs} + {rest};", name)


def _totals(
    w: Writer,
    combination: Combination,
    shape: Shape,
    sizes: Sequence[int],
    dtype: dtypes.DType,
    term: Callable[[Sequence[Index], Sequence[Index]], str],
) -> CValue:
    """Write the elements of a result, each of which combines terms over all indices of sizes."""
    is_one = prod(shape) == 1
    out = None if is_one else w.result(shape, dtype)
    with w.loops(shape) as outer:
        name = w.new_name("" if is_one else "total")
        _total(w, combination, name, sizes, dtype, lambda inner: term(outer, inner))
        if out is not None:
            w.put(out, outer, name)
    return rules.named(name, shape, dtype) if out is None else w.value(out)


def _combined(
    w: Writer,
    combination: Combination,
    x: CValue,
    axes: Sequence[int],
    operands: Sequence[CValue],
    last: int,
) -> CValue:
    """Combine elements along axes.

    Args:
        w: the writer.
        combination: the operation.
        x: the elements, which are not in memory.
        axes: the axes.
        operands: what the elements are made of.
        last: the number of the last other axes whose loops are the innermost; none for a total in
            a variable.
    """
    kept = [i for i in range(len(x.shape)) if i not in axes]
    shape, sizes = tuple([x.shape[i] for i in kept]), [x.shape[i] for i in axes]

    def term(outer: Sequence[Index], inner: Sequence[Index]) -> str:
        index = dict(zip((*kept, *axes), (*outer, *inner), strict=True))
        return x.element([index[i] for i in range(len(x.shape))])

    if prod(sizes) == 1:
        return x.moved(shape, lambda index: term(index, [Index()] * len(sizes)))
    if 0 < prod(sizes) <= min(_UNROLLED, w.most_unrolled) and w.unrolls(
        max(prod(shape), x.size // 4), *operands
    ):
        write, places = form(w, combination.primitive, x.dtype), syntax.places(sizes)
        return w.unrolled(
            shape,
            x.dtype,
            lambda index: functools.reduce(write, [term(index, k) for k in places]),
            operands,
        )
    if not last or prod(shape) == 1:
        return _totals(w, combination, shape, sizes, x.dtype, term)
    out = w.result(shape, x.dtype)
    w.close()
    w.stored(rules.splat(combination.start(x.dtype), shape, x.dtype), out)
    w.close()
    first = len(shape) - last
    with w.loops(shape[:first], "b") as b, w.loops(sizes, "k") as k, w.loops(shape[first:]) as row:
        place = out.element([*b, *row])
        combination.accumulate(w, place, term([*b, *row], k), x.dtype, w.filled(out))
    return w.value(out)


def _reducer(combination: Combination) -> rules.CRule:
    def rule(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
        (x,), axes = operands, eqn.params.axes
        last = len(x.shape) - 1 - max(axes, default=-1)
        return (_combined(w, combination, x, axes, operands, last),)

    return rule


_REDUCTIONS: Final[dict[prim.Primitive[Any], Combination]] = {
    broadcast.reduce_sum_p: _SUM,
    reduce.reduce_prod_p: _PRODUCT,
    reduce.reduce_max_p: _MAX,
    reduce.reduce_min_p: _MIN,
    reduce.reduce_and_p: Combination(ew.and_, reduce.all_ones),
    reduce.reduce_or_p: Combination(ew.or_, lambda dtype: 0),
    reduce.reduce_xor_p: Combination(ew.xor_, lambda dtype: 0),
}
for _primitive, _combination in _REDUCTIONS.items():
    _primitive.def_rule(C)(_reducer(_combination))


def _arg(operator: str) -> rules.CRule:
    def rule(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
        (x,), axis = (w.cheap(operands[0]),), eqn.params.axis
        shape, dtype = rules.shape_of(eqn.out_binders[0].aval), eqn.params.dtype
        out = w.result(shape, dtype)
        with w.loops(shape) as outer:
            best, place = w.new_name("best"), w.new_name("place")
            at = [*outer[:axis], Index(), *outer[axis:]]
            w.line(f"{syntax.c_type(x.dtype)} {best} = {x.element(at)};")
            w.line(f"int {place} = 0;", place)
            with w.loop(x.shape[axis]) as i:
                text = x.element([*outer[:axis], i, *outer[axis:]])
                # the first NaN counts as the best
                test = f"{text} {operator} {best}"
                if x.dtype.kind == "f":
                    test += f" || ({text} != {text} && {best} == {best})"
                with w.inside(f"if ({test})"):
                    w.line(f"{best} = {text};")
                    w.line(f"{place} = {i};", place)
            w.put(out, outer, f"({syntax.c_type(dtype)}){place}")
        return (w.value(out),)

    return rule


arg_extrema.argmax_p.def_rule(C)(_arg(">"))
arg_extrema.argmin_p.def_rule(C)(_arg("<"))


# Products


@dot.dot_general_p.def_rule(C)
def _dot(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    """Write a product: sums of products, with the loop innermost along which memory is read."""
    params, dtype = eqn.params, eqn.params.dtype
    size = prod(eqn.out_binders[0].aval.shape)
    x, y = (_converted(operand, dtype) for operand in operands)
    terms = size * prod([x.shape[i] for i in params.lhs_contract])
    x, y = (w.cheap(z) if z.size < terms else z for z in (x, y))
    sides: list[_Side] = []
    for z, batch, contract in (
        (x, params.lhs_batch, params.lhs_contract),
        (y, params.rhs_batch, params.rhs_contract),
    ):
        free = [i for i in range(len(z.shape)) if i not in (*batch, *contract)]
        sides.append((z, batch, free, contract))
    sizes = [[z.shape[i] for i in axes] for z, *parts in sides for axes in parts]
    batches, rows, counts, _, columns, _ = sizes
    shape = (*batches, *rows, *columns, *counts)
    ends = [*accumulate(map(len, (batches, rows, columns, counts)))]

    if _is_for_library(w, dtype, [*batches, prod(rows), prod(columns), prod(counts)]):
        out = w.result((*batches, *rows, *columns), dtype)
        return (_by_library(w, sides, out),)

    def element(index: Sequence[Index]) -> str:
        b, row, column, k = (index[i:j] for i, j in pairwise((0, *ends)))
        texts = []
        for (z, *parts), free in zip(sides, (row, column), strict=True):
            axes = [axis for part in parts for axis in part]
            at = dict(zip(axes, (*b, *free, *k), strict=True))
            texts.append(z.element([at[i] for i in sorted(at)]))
        return form(w, ew.mul, dtype)(*texts)

    products = CValue(shape, dtype, element, x.cost + y.cost + 1, x.reads | y.reads)
    by_rows = prod(columns) > 1 and _is_next(y, sides[1][2])
    axes = range(ends[2], ends[3])
    return (_combined(w, _SUM, products, axes, [x, y], len(columns) * by_rows),)


def _permuted(x: CValue, axes: Sequence[int]) -> CValue:
    """Return a value with its axes in another order."""
    shape = tuple([x.shape[i] for i in axes])
    return x.indexed(shape, lambda index: [index[axes.index(i)] for i in range(len(axes))])


#: Convolutions whose windows have so many elements in all are written as loops.
_MOST_IN_WINDOWS: Final = 1 << 26


def _is_for_library(w: Writer, dtype: dtypes.DType, sizes: Sequence[int]) -> bool:
    """Return whether BLAS makes products of matrices of some rows, columns and terms."""
    is_large = prod(sizes) >= matrices.LARGE and min(sizes[-3:]) > 1
    return w.has_library and dtype.kind == "f" and is_large


def _by_library(w: Writer, sides: Sequence[_Side], out: Storage) -> CValue:
    """Write a product of matrices, or of stacks of them, as calls of BLAS.

    Args:
        w: the writer.
        sides: the operands, each with its axes of stacks, of its own, and of terms.
        out: the place of the result.
    """
    arrays, by_columns = [], []
    for (z, batch, free, contract), is_right in zip(sides, (False, True), strict=True):
        own = [[*batch, *free, *contract], [*batch, *contract, *free]]
        axes, flipped = own[::-1] if is_right else own
        stored = w.cheap(z)
        is_flipped = stored.storage is not None and flipped == sorted(flipped)
        if stored.storage is None or (axes != sorted(axes) and not is_flipped):
            moved = _permuted(z, axes)
            stored = w.stored(moved, Storage(w.buffer(moved.shape, z.dtype), moved.shape))
        assert stored.storage is not None, "it is stored"
        arrays.append((stored.storage, len(axes) - len(batch)))
        by_columns.append(is_flipped)
    (x, batch, rows, contract), (y, _, columns, _) = sides
    sizes = [
        prod([z.shape[i] for i in axes]) for z, axes in ((x, rows), (y, columns), (x, contract))
    ]
    arrays.append((out, len(rows) + len(columns)))
    stack = tuple([x.shape[i] for i in batch])
    return matrices.call(w, "product", arrays, *sizes, *by_columns, stack=stack)[2]


def _converted(x: CValue, dtype: Any) -> CValue:
    if x.dtype == dtype:
        return x
    ctype = syntax.c_type(dtype)
    return CValue(x.shape, dtype, lambda index: f"({ctype}){x.element(index)}", x.cost + 1, x.reads)


def _is_next(x: CValue, axes: Sequence[int]) -> bool:
    """Return whether elements along the last of some axes are next to each other in memory."""
    start: list[Index] = [Index()] * len(x.shape)
    moved = [Index.term("@", 2) if i == axes[-1] else Index() for i in range(len(x.shape))]
    first, second = x.element(start), x.element(moved)
    return "* @" not in second and first != second


# Cumulative operations, recurrences, windows


def _cumulative(combination: Combination) -> rules.CRule:
    def rule(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
        (x,) = operands

        wide = _carrier(x.dtype)

        def step(total: str, index: Sequence[Index]) -> str:
            return combination.text(w, total, x.element(index), wide)

        return _along(w, x, eqn.params, combination.first(wide), step)

    return rule


def _along(
    w: Writer, x: CValue, params: Any, start: str, step: Callable[[str, Sequence[Index]], str]
) -> Sequence[CValue]:
    """Write a loop along an axis that keeps all totals, which are of double precision."""
    axis, size = params.axis, x.shape[params.axis]
    out = w.result(x.shape, x.dtype)
    with w.loops([*x.shape[:axis], *x.shape[axis + 1 :]]) as outer:
        name = w.new_name("total")
        w.line(f"{syntax.c_type(_carrier(x.dtype))} {name} = {start};")
        with w.loop(size) as i:
            at = i * -1 + (size - 1) if params.reverse else i
            index = [*outer[:axis], at, *outer[axis:]]
            w.line(f"{name} = {step(name, index)};")
            w.put(out, index, f"({syntax.c_type(x.dtype)}){name}")
    return (w.value(out),)


def _carrier(dtype: dtypes.DType) -> dtypes.DType:
    """Return the dtype of totals: ones in single precision would add up to no more than 2**24."""
    return dtypes.float64 if dtype == dtypes.float32 else dtype


for _primitive, _combination in (
    (cumulative.cumsum_p, _SUM),
    (cumulative.cumprod_p, _PRODUCT),
    (cumulative.cummax_p, _MAX),
    (cumulative.cummin_p, _MIN),
    (cumulative.cumlogsumexp_p, Combination(ew.logaddexp, reduce.lowest)),
):
    _primitive.def_rule(C)(_cumulative(_combination))


@cumulative.linear_recurrence_p.def_rule(C)
def _recurrence(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    a, b = operands

    def step(total: str, index: Sequence[Index]) -> str:
        product = _PRODUCT.text(w, a.element(index), total, wide)
        return _SUM.text(w, product, b.element(index), wide)

    wide = _carrier(b.dtype)
    return _along(w, b, eqn.params, "0", step)


def _windows(combination: Combination) -> rules.CRule:
    def rule(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
        x, params = w.cheap(operands[0]), eqn.params
        steps = params.strides, params.padding, params.base_dilation, params.window_dilation

        def term(outer: Sequence[Index], inner: Sequence[Index]) -> str:
            test, places = _window_places(outer, inner, x.shape, *steps)
            return _where(test, x.element(places), combination.first(x.dtype))

        shape = rules.shape_of(eqn.out_binders[0].aval)
        return (_totals(w, combination, shape, params.window, x.dtype, term),)

    return rule


def _where(test: str, text: str, other: str) -> str:
    return f"({test} ? {text} : {other})" if test else text


reduce_window.reduce_window_sum_p.def_rule(C)(_windows(_SUM))
reduce_window.reduce_window_max_p.def_rule(C)(_windows(_MAX))
reduce_window.reduce_window_min_p.def_rule(C)(_windows(_MIN))


@convolution.conv_general_dilated_p.def_rule(C)
def _convolution(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    params, dtype = eqn.params, eqn.params.dtype
    x, kernel = (w.cheap(_converted(operand, dtype)) for operand in operands)
    of_x, of_kernel, of_out = params.numbers
    shape = rules.shape_of(eqn.out_binders[0].aval)
    channels, window = kernel.shape[of_kernel[1]], [kernel.shape[i] for i in of_kernel[2:]]
    sizes = [x.shape[i] for i in of_x[2:]]
    steps = params.strides, params.padding, params.lhs_dilation, params.rhs_dilation

    def group(feature: Index, count: int) -> Index:
        size = shape[of_out[1]] // count
        return Index.term(f"(({feature}) / {size})", count) if count > 1 else Index()

    def placed(axes: Sequence[int], index: Sequence[Index]) -> list[Index]:
        places = dict(zip(axes, index, strict=True))
        return [places[i] for i in range(len(axes))]

    def in_window(outer: Sequence[Index], inner: Sequence[Index]) -> tuple[str, str]:
        test, spaces = _window_places(outer[2:], inner[1:], sizes, *steps)
        return test, x.element(placed(of_x, [outer[0], outer[1] + inner[0], *spaces]))

    def term(outer: Sequence[Index], inner: Sequence[Index]) -> str:
        batch, feature, *place = (outer[i] for i in of_out)
        batch += group(feature, params.batch_groups) * shape[of_out[0]]
        test, left = in_window(
            [batch, group(feature, params.feature_groups) * channels, *place], inner
        )
        right = kernel.element(placed(of_kernel, [feature, *inner]))
        return _where(test, form(w, ew.mul, dtype)(left, right), "0")

    places, n = [shape[i] for i in (of_out[0], *of_out[2:])], len(of_out)
    parts, features = (*places, channels, *window), shape[of_out[1]]
    is_one = params.feature_groups * params.batch_groups == 1 and prod(parts) <= _MOST_IN_WINDOWS
    matrix = prod(places), features, prod(parts[n - 1 :])
    if not is_one or not _is_for_library(w, dtype, matrix):
        return (_totals(w, _SUM, shape, [channels, *window], dtype, term),)

    def element(index: Sequence[Index]) -> str:
        outer = [index[0], Index(), *index[1 : n - 1]]
        return _where(*in_window(outer, index[n - 1 :]), "0")

    windows = CValue(parts, dtype, element, 1, x.reads)
    filters = kernel.indexed((features, *parts[n - 1 :]), lambda i: placed(of_kernel, i))
    left = windows, (), range(n - 1), range(n - 1, 2 * n - 2)
    made = Storage(w.buffer((*places, features), dtype), (*places, features))
    product = _by_library(w, (left, (filters, (), (0,), range(1, n))), made)
    order = [of_out[0], *of_out[2:], of_out[1]]
    return (_permuted(product, [order.index(i) for i in range(n)]),)


def _window_places(
    outer: Sequence[Index],
    inner: Sequence[Index],
    shape: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    holes: Sequence[int],
    dilation: Sequence[int],
) -> tuple[str, list[Index]]:
    """Return a test of whether an element of a window is in the array, and its place there."""
    tests, places = list[str](), []
    for axis, n in enumerate(shape):
        at = outer[axis] * strides[axis] + inner[axis] * dilation[axis] + -padding[axis][0]
        inside, place = syntax.undilated(at, n, holes[axis])
        tests += inside
        places.append(place)
    return " && ".join(tests), places


# Sorting


def _order(
    w: Writer,
    keys: Sequence[CValue],
    axis: int,
    outer: Sequence[Index],
    ordinal: str,
    operator: str,
) -> Callable[[Index], Index]:
    """Write the places of elements along an axis in order, by merging ever longer runs.

    Args:
        w: the writer.
        keys: what is compared, the first key first.
        axis: the axis.
        outer: the index along the others.
        ordinal: the function that makes comparable integers of floats.
        operator: says whether one element comes before another.

    Returns:
        A function from a rank to the place of the element.
    """
    n = keys[0].shape[axis]
    if n == 1:
        return lambda rank: rank
    order, merged = (w.buffer((n,), dtypes.int32, name).name for name in ("order", "merged"))

    def key(x: CValue, place: str) -> str:
        text = x.element([*outer[:axis], Index.term(place, n), *outer[axis:]])
        return f"{ordinal}_{syntax.suffix(x.dtype)}({text})" if x.dtype.kind == "f" else text

    def before(x: str, y: str) -> str:
        text = ""
        for value in reversed(keys):
            a, b = key(value, x), key(value, y)
            text = f"{a} {operator} {b}" + (f" || ({a} == {b} && ({text}))" if text else "")
        return text

    with w.loop(n) as i:
        w.line(f"{order}[{i}] = {i};")
    bounds = [w.new_name(x) for x in ("width", "start", "middle", "stop")]
    (width, start, middle, stop), rank = bounds, w.new_name("rank")
    left, right, is_left = (w.new_name(x) for x in ("left", "right", "is_left"))
    end = "{0} + {1} < {2} ? {0} + {1} : {2}".format
    with (
        w.inside(f"for (int {width} = 1; {width} < {n}; {width} *= 2)", repeats=True),
        w.inside(f"for (int {start} = 0; {start} < {n}; {start} += 2 * {width})", repeats=True),
    ):
        w.line(f"const int {middle} = {end(start, width, n)};")
        w.line(f"const int {stop} = {end(middle, width, n)};")
        w.line(f"int {left} = {start}, {right} = {middle};")
        with w.inside(f"for (int {rank} = {start}; {rank} < {stop}; ++{rank})", repeats=True):
            later = before(f"{order}[{right}]", f"{order}[{left}]")
            test = f"{left} < {middle} && ({right} >= {stop} || !({later}))"
            w.line(f"const bool {is_left} = {test};")
            w.line(f"{merged}[{rank}] = {order}[{is_left} ? {left}++ : {right}++];")
        with w.inside(f"for (int {rank} = {start}; {rank} < {stop}; ++{rank})", repeats=True):
            w.line(f"{order}[{rank}] = {merged}[{rank}];")
    return lambda rank: Index.term(f"{order}[{rank}]", n)


@sort.sort_p.def_rule(C)
def _sort(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    params, values = eqn.params, [w.cheap(x) for x in operands]
    axis, shape = params.axis, values[0].shape
    outs = [w.result(shape, x.dtype, i) for i, x in enumerate(values)]
    # alone, zeros are ordered by their signs
    form = "lone" if len(values) == 1 else "sortable"
    with w.loops([*shape[:axis], *shape[axis + 1 :]]) as outer:
        place = _order(w, values[: params.num_keys], axis, outer, form, "<")
        with w.loop(shape[axis]) as rank:
            for x, out in zip(values, outs, strict=True):
                text = x.element([*outer[:axis], place(rank), *outer[axis:]])
                w.put(out, [*outer[:axis], rank, *outer[axis:]], text)
    return [w.value(out) for out in outs]


@sort.top_k_p.def_rule(C)
def _top_k(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    x, axis = w.cheap(operands[0]), len(operands[0].shape) - 1
    shape = rules.shape_of(eqn.out_binders[0].aval)
    out, places = w.result(shape, x.dtype), w.result(shape, dtypes.int32, 1)
    with w.loops(shape[:-1]) as outer:
        place = _order(w, [x], axis, outer, "ordinal", ">")
        with w.loop(shape[-1]) as rank:
            w.put(out, [*outer, rank], x.element([*outer, place(rank)]))
            w.put(places, [*outer, rank], str(place(rank)))
    return (w.value(out), w.value(places))

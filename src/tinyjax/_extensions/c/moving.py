"""Operations that move elements: expressions of other indices; slices and updates at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, Final

from tinyjax._extensions.c import rules, syntax
from tinyjax._extensions.c.elementwise import form
from tinyjax._extensions.c.rules import C, CRule
from tinyjax._extensions.c.syntax import Index
from tinyjax._extensions.c.writing import CValue, Storage, Writer, bare
from tinyjax._primitives import dynamic_slice, gather_scatter, modes, scatter_mul, windows
from tinyjax.core.primitives import broadcast, elementwise as ew, shape as sh, slicing
from tinyjax.core.tracing import jaxpr as jx, primitive as prim


def moving(
    map_index: Callable[[Sequence[Index], Any, CValue], Sequence[Index]],
) -> CRule:
    """Return the rule of a primitive whose elements are elements of its operand.

    Args:
        map_index: takes an index of the result, the parameters and the operand; returns the index
            of the operand.
    """

    def rule(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
        (x,) = operands
        shape = rules.shape_of(eqn.out_binders[0].aval)
        of_words = len(shape) - eqn.out_binders[0].aval.ndim
        if prod(shape) > x.size:
            x = w.cheap(x)
        if x.size == 1:
            return (CValue(shape, x.dtype, lambda index: x.first(), x.cost, x.reads),)

        def place(index: Sequence[Index]) -> list[Index]:
            n = len(index) - of_words
            return [*map_index(index[:n], eqn.params, x), *index[n:]]

        return (x.indexed(shape, place),)

    return rule


def _shifted(index: Sequence[Index], starts: Sequence[Index | int]) -> list[Index]:
    """Return an index from other starts along the first axes."""
    return [*map(operator.add, index, starts), *index[len(starts) :]]


_MOVING: Final[dict[prim.Primitive[Any], Callable[..., Sequence[Index]]]] = {
    broadcast.broadcast_in_dim_p: lambda index, params, x: [
        Index() if n == 1 else index[i] for i, n in zip(params.dims, x.shape, strict=False)
    ],
    sh.transpose_p: lambda index, params, x: [
        index[params.perm.index(i)] for i in range(len(index))
    ],
    sh.rev_p: lambda index, params, x: [
        i * -1 + (x.shape[axis] - 1) if axis in params.axes else i for axis, i in enumerate(index)
    ],
    slicing.slice_p: lambda index, params, x: [
        *map(operator.add, map(operator.mul, index, params.strides), params.starts)
    ],
}
for _primitive, _place in _MOVING.items():
    _primitive.def_rule(C)(moving(_place))


@sh.reshape_p.def_rule(C)
def _reshape(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    (x,), shape = operands, rules.shape_of(eqn.out_binders[0].aval)
    if x.size <= 1:
        return (x.moved(shape, lambda index: x.first()),)
    if [n for n in shape if n > 1] == [n for n in x.shape if n > 1] and x.storage is None:

        def place(index: Sequence[Index]) -> list[Index]:
            kept = iter([i for i, n in zip(index, shape, strict=True) if n > 1])
            return [next(kept) if n > 1 else Index() for n in x.shape]

        return (x.indexed(shape, place),)
    return (w.viewed(w.stored(x), shape),)


@sh.iota_p.def_rule(C)
def _iota(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    params = eqn.params

    def element(index: Sequence[Index]) -> str:
        i, dtype = index[params.axis], params.dtype
        known = syntax.index_text(i, dtype) if dtype.kind in "iu" else None
        return known or f"({syntax.c_type(dtype)})({i})"

    return (CValue(params.shape, params.dtype, element),)


@slicing.pad_p.def_rule(C)
def _pad(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    x, padding = operands
    config, padding = eqn.params.config, w.cheap(padding)
    shape = rules.shape_of(eqn.out_binders[0].aval)
    if not x.size:
        return (CValue(shape, x.dtype, lambda index: padding.first(), 0, padding.reads),)

    def element(index: Sequence[Index]) -> str:
        tests, places = list[str](), []
        for i, n, (low, _, interior) in zip(index, x.shape, config, strict=False):
            inside, place = syntax.undilated(i + -low, n, interior + 1)
            tests += inside
            places.append(place)
        if "false" in tests:
            return padding.first()
        text = x.element([*places, *index[len(config) :]])
        return f"({' && '.join(tests)} ? {text} : {padding.first()})" if tests else text

    return (CValue(shape, x.dtype, element, x.cost + 1, x.reads | padding.reads),)


@slicing.concatenate_p.def_rule(C)
def _concatenate(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    axis, start = eqn.params.axis, 0
    shape, dtype = rules.shape_of(eqn.out_binders[0].aval), operands[0].dtype
    if w.unrolls(prod(shape), *operands):

        def element(index: Sequence[Index]) -> str:
            place = index[axis]
            for x in operands:
                if place.offset < x.shape[axis]:
                    break
                place += -x.shape[axis]
            return x.element([*index[:axis], place, *index[axis + 1 :]])

        return (w.unrolled(shape, dtype, element, operands),)
    out = w.result(shape, dtype)
    for x in operands:
        with w.loops(x.shape) as index:
            if x.size:
                w.put(out, _shifted(index, [*[0] * axis, start]), x.element(index))
        start += x.shape[axis]
    return (w.value(out),)


@slicing.split_p.def_rule(C)
def _split(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    x, sizes, axis = w.cheap(operands[0]), eqn.params.sizes, eqn.params.axis

    def part(start: int, size: int) -> CValue:
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        return x.indexed(shape, lambda index: _shifted(index, [*[0] * axis, start]))

    return [*map(part, accumulate((0, *sizes[:-1])), sizes)]


# Slices and windows whose places are known when the program runs


def _start(w: Writer, start: CValue, last: int) -> Index:
    """Return a start as an index, moved so that it is between 0 and ``last``."""
    if last <= 0:
        return Index()
    text = start.first()
    index = syntax.index_of(text)
    if index is not None and (not index.terms or not index.test(0, last + 1)):
        return index if index.terms else Index.constant(min(max(index.offset, 0), last))
    clamped = f"clamped_{syntax.suffix(start.dtype)}({text}, {last})"
    name = w.new_name("start")
    w.close()
    w.line(f"const int {name} = {clamped};", name)
    return Index.term(name, last + 1)


@dynamic_slice.dynamic_slice_p.def_rule(C)
def _dynamic_slice(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    x, *starts = operands
    sizes = eqn.params.sizes
    first = [_start(w, s, n - m) for s, n, m in zip(starts, x.shape, sizes, strict=False)]
    shape = rules.shape_of(eqn.out_binders[0].aval)
    return (x.indexed(shape, lambda index: _shifted(index, first)),)


def _updated(w: Writer, x: CValue) -> Storage:
    """Return the place of an operand's elements that may be written to: its own, or a copy."""
    if not w.targets and w.may_overwrite(x):
        assert x.storage is not None, "what may be overwritten is in memory"
        return x.storage
    target = w.result(x.shape, x.dtype)
    if x.size:
        w.stored(x, target)
    w.close()
    return target


@dynamic_slice.dynamic_update_slice_p.def_rule(C)
def _update(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    x, part, *starts = operands
    first = [_start(w, s, n - m) for s, n, m in zip(starts, x.shape, part.shape, strict=False)]
    part = w.apart(part, x)
    out = _updated(w, x)
    if not part.size:
        return (w.value(out),)
    with w.loops(part.shape) as index:
        w.put(out, _shifted(index, first), part.element(index))
    return (w.value(out),)


def _window_starts(
    spans: windows.Windows, indices: CValue, batch: Sequence[Index], clipped: bool
) -> tuple[list[Index], list[str]]:
    """Return where a window starts along each axis, and tests of whether it is in bounds."""
    starts, tests = [Index()] * len(spans.shape), []
    for k, axis in enumerate(spans.index_map):
        text, last = (
            indices.element([*batch, Index.constant(k)]),
            spans.shape[axis] - spans.sizes[axis],
        )
        known = None if indices.constant is None else indices.constant[..., k]
        index = syntax.index_of(text)
        if known is not None and known.size and known.min() >= 0 and known.max() <= last:
            index = Index.term(text, last + 1)
        if index is not None and 0 <= index.least <= index.most <= last:
            starts[axis] = index
            continue
        name = f"clamped_{syntax.suffix(indices.dtype)}({text}, {last})"
        if not clipped:  # and nothing is read or written where a test fails
            low = f"{text} >= 0 && " * (indices.dtype.kind == "i")
            tests.append(f"{low}{text} <= {last}")
            name = f"(int)({text})"
        starts[axis] = Index.term(name, last + 1)
    for axis, of_indices in zip(spans.batching, spans.indices_batching, strict=True):
        starts[axis] = batch[of_indices]
    return starts, tests


def _in_window(
    spans: windows.Windows, starts: Sequence[Index], inside: Sequence[Index]
) -> list[Index]:
    places = dict(zip(spans.window_axes, inside, strict=True))
    return [s + places[axis] if axis in places else s for axis, s in enumerate(starts)]


@gather_scatter.gather_p.def_rule(C)
def _gather(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    x, indices = (w.cheap(x) for x in operands)
    params, aval = eqn.params, eqn.out_binders[0].aval
    spans = gather_scatter.gather_windows(eqn.inputs[0].aval.shape, params)
    offsets, dtype = params.dimension_numbers.offset_dims, rules.dtype_of(aval)
    fills = params.mode is modes.GatherScatterMode.FILL_OR_DROP
    fill = gather_scatter.fill_value(params, aval.dtype).reshape(1).view(dtype)[0] if fills else 0

    def element(index: Sequence[Index]) -> str:
        own = index[: aval.ndim]
        batch = [i for j, i in enumerate(own) if j not in offsets]
        starts, tests = _window_starts(spans, indices, batch, not fills)
        read = x.element(
            [*_in_window(spans, starts, [own[j] for j in offsets]), *index[aval.ndim :]]
        )
        if not tests:
            return read
        return f"({' && '.join(tests)} ? {read} : {syntax.constant(fill, dtype)})"

    return (CValue(rules.shape_of(aval), dtype, element, 1, x.reads | indices.reads),)


#: The operation by which a scatter combines an element with an update; none where this replaces it.
_COMBINATIONS: Final[dict[prim.Primitive[Any], prim.Primitive[Any] | None]] = {
    gather_scatter.scatter_p: None,
    gather_scatter.scatter_add_p: ew.add,
    gather_scatter.scatter_sub_p: ew.sub,
    gather_scatter.scatter_min_p: ew.min_,
    gather_scatter.scatter_max_p: ew.max_,
    scatter_mul.scatter_mul_p: ew.mul,
}


def _scatter(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    x, indices, updates = operands
    indices, updates = w.apart(w.cheap(indices), x), w.apart(updates, x)
    out, params = _updated(w, x), eqn.params
    shape, own = eqn.inputs[0].aval.shape, eqn.inputs[2].aval.ndim
    spans = gather_scatter.scatter_windows(shape, eqn.inputs[2].aval.shape, params)
    inside = params.dimension_numbers.update_window_dims
    combine = _COMBINATIONS[eqn.primitive]
    if not updates.size or not x.size:
        return (w.value(out),)
    outside = [j for j in range(own) if j not in inside]
    sizes = [[updates.shape[j] for j in axes] for axes in (outside, inside)]
    # of windows that overlap the last stays, so they are the outer loops
    with w.loops(sizes[0]) as batch, w.loops([*sizes[1], *updates.shape[own:]]) as window:
        at_axis = dict(zip((*outside, *inside), (*batch, *window), strict=False))
        index = [*[at_axis[j] for j in range(own)], *window[len(inside) :]]
        clipped = params.mode is modes.GatherScatterMode.CLIP
        starts, tests = _window_starts(spans, indices, batch, clipped)
        place = out.element([*_in_window(spans, starts, [index[j] for j in inside]), *index[own:]])
        text = updates.element(index)
        if combine is not None:
            text = form(w, combine, x.dtype)(place, text)
        w.line_if(" && ".join(tests), f"{place} = {bare(text)};", w.filled(out))
    return (w.value(out),)


for _primitive in _COMBINATIONS:
    _primitive.def_rule(C)(_scatter)

"""Examples in several threads: each calls a compiled program of a chunk of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from tinyjax._extensions.chunking.concurrent import ConcurrentParams, bind_concurrent, together
from tinyjax.core.jit import program
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.tracing import bind, trace as tr
from tinyjax.core.tracing.primitive import MappedAxis
from tinyjax.core.tracing.staging import Staged, call_staged, is_called, stage_call
from tinyjax.core.values import Array, integers as ints

#: Applies a function to examples: takes their axis and the arguments; gives the results and the
#: axis of each.
Batched: TypeAlias = Callable[[MappedAxis, Sequence[Any]], tuple[list[Array], list[int | None]]]


def _part(
    operands: Sequence[Array], axes: Sequence[int | None], start: int, end: int
) -> list[Array]:
    """Return the operands for some of the examples."""
    return [
        x if axis is None else slicing.slice_in_dim(x, start, end, axis=axis)
        for x, axis in zip(operands, axes, strict=True)
    ]


def _joined(parts: Sequence[Sequence[Array]], axes: Sequence[int | None]) -> list[Array]:
    """Join the results for parts of the examples."""
    return [
        outs[0] if axis is None else slicing.concatenate(outs, axis)
        for axis, outs in zip(axes, zip(*parts, strict=True), strict=True)
    ]


def in_threads(
    batched: Batched,
    mapped: MappedAxis,
    arrays: Sequence[Any],
    axes: Sequence[int | None],
    threads: int,
    fun: Callable[..., Any],
) -> tuple[list[Array], list[int | None]]:
    """Apply a function to parts of the examples, each by a compiled program in its own thread.

    Args:
        batched: applies the function to examples at once.
        mapped: the axis of all examples.
        arrays: the arguments; those that are not mapped need not be arrays.
        axes: the mapped axis of each.
        threads: the number of parts.
        fun: the function to name in messages.
    """
    size = mapped.size
    number = 1 if isinstance(size, ints.SymbolicSize) else min(threads, size)
    if number < 2:
        return batched(mapped, arrays)
    places = [i for i, x in enumerate(arrays) if isinstance(x, Array)]
    bounds = [size * k // number for k in range(number + 1)]
    name = getattr(fun, "__name__", type(fun).__name__)
    out_axes: list[int | None] = []

    def of_part(size: int, *operands: Array) -> list[Array]:
        nonlocal out_axes
        args = [*arrays]
        for i, x in zip(places, operands, strict=True):
            args[i] = x
        part = MappedAxis(size, of_basis=mapped.of_basis, last=mapped.last)
        outs, own_axes = batched(part, args)
        out_axes = out_axes or own_axes  # another part may have its examples along another axis
        return [
            x if axis is None else sh.moveaxis(x, own or 0, axis)
            for x, own, axis in zip(outs, own_axes, out_axes, strict=True)
        ]

    def bind_part(staged: Staged, args: Sequence[Array]) -> Sequence[Array]:
        params = program.JitParams(staged.jaxpr, name, tier="compiled")
        return bind(program.jit_p, (*staged.consts, *args), params)

    def of_all(*operands: Array) -> list[Array]:
        programs: dict[int, Staged] = {}
        calls: list[Callable[[], Sequence[Array]]] = []
        for start, end in pairwise(bounds):
            size = end - start
            part = _part(operands, [axes[i] for i in places], start, end)
            if is_called():
                calls.append(partial(of_part, size, *part))
                continue
            if size not in programs:
                programs[size] = stage_call(partial(of_part, size), [x.aval for x in part], fun)
            calls.append(partial(call_staged, programs[size], part, bind_part))
        at_once = is_evaluated and not any(staged.hooks for staged in programs.values())
        return _joined(together(calls) if at_once else [call() for call in calls], out_axes)

    operands = [arrays[i] for i in places]
    is_evaluated = not is_called() and tr.current_trace() is tr.EVAL
    if is_evaluated or is_called():
        return of_all(*operands), out_axes
    staged = stage_call(of_all, [x.aval for x in operands], fun)
    params = ConcurrentParams(staged.jaxpr, number, name)
    outs = call_staged(staged, operands, lambda staged, args: bind_concurrent(staged, args, params))
    return [*outs], out_axes

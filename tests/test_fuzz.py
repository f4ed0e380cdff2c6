"""Random programs under random stacks of transformations.

A program is a list of steps over float64 arrays, total by construction: whatever numbers a step
is given, it means something. It is run twice. On one side the transformations are tinyjax's, up
to three deep: jit, make_jaxpr, vmap, jvp by three routes, vjp and grad. On the other jit does
nothing, vmap is a Python loop, and a reverse derivative is put together column by column from jvp,
so that what is left in common is evaluation and jvp. Both must agree to 1e-9 of the result's size;
and jvp must agree with a finite difference.

Steps keep values of moderate size and away from kinks: what grows goes through a sine, divisors
stay away from zero, and thresholds are irrational.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Final

import attrs
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import tinyjax
from tinyjax.core.array import Array, as_array
from tinyjax.core.jaxpr import typecheck_jaxpr
from tinyjax.core.primitive import HostArray
from tinyjax.jit import jit
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives.cumulative import cumlogsumexp, cummax, cumprod, cumsum
from tinyjax.primitives.dot import dot_general
from tinyjax.primitives.dynamic_slice import dynamic_slice, dynamic_update_slice
from tinyjax.primitives.reduce import argmax, reduce_max, reduce_min, reduce_prod, reduce_sum
from tinyjax.primitives.shape import (
    broadcast_in_dim,
    concatenate,
    full,
    full_like,
    iota,
    pad,
    reshape,
    rev,
    slice_in_dim,
    transpose,
)
from tinyjax.primitives.sort import sort

Values = tuple[Array, ...]
Function = Callable[..., Values]

F64: Final = np.dtype(np.float64)
I32: Final = np.dtype(np.int32)
MOST_ELEMENTS: Final = 12
IRRATIONAL: Final = 0.31830988618


@attrs.frozen
class Step:
    """One operation: what, on which values, how; and what a nested function does.

    Attributes:
        op: a name in ``OPERATIONS`` or ``NESTED``.
        a: which value, counted back from the newest, modulo how many there are.
        b: a second one.
        k: chooses among the operation's variants.
        body: the steps of a nested function.
    """

    op: str
    a: int = 0
    b: int = 0
    k: int = 0
    body: tuple["Step", ...] = ()


@attrs.frozen
class Program:
    """Inputs by their shapes and by a seed, and what is done with them."""

    shapes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    seed: int = 0

    def inputs(self) -> list[HostArray]:
        rng = np.random.default_rng(self.seed)
        return [rng.uniform(-1.5, 1.5, shape) for shape in self.shapes]

    def function(self, with_jit: bool) -> Function:
        """The program; jit within it does nothing if not ``with_jit``."""

        def program(*xs: Array) -> Values:
            values = run(self.steps, [as_array(x) for x in xs], with_jit)
            return tuple(values[-2:]) if len(values) > len(xs) + 2 else (values[-1],)

        return program

    @property
    def smooth(self) -> bool:
        """Whether a small step cannot cross a kink: no step has one."""
        return all(step.op not in KINKED for s in self.steps for step in (s, *s.body))


def run(steps: Sequence[Step], values: list[Array], with_jit: bool) -> list[Array]:
    values = list(values)
    for step in steps:
        a = values[-1 - step.a % len(values)]
        b = values[-1 - step.b % len(values)]
        nested = NESTED.get(step.op)
        if nested is None:
            values.append(OPERATIONS[step.op](a, b, step.k))
        else:
            body = partial(_body, step.body, with_jit)
            values.append(ew.sin(nested(body, a, b, with_jit)))
    return values


def _body(steps: tuple[Step, ...], with_jit: bool, z: Array, closed_over: Array) -> Array:
    return run(steps, [closed_over, z], with_jit)[-1]


# What steps do


def constant(x: Array, value: float) -> Array:
    return full_like(x, value)


def axis_of(x: Array, k: int) -> int:
    return k % x.ndim


def fitted(x: Array, shape: tuple[int, ...]) -> Array:
    """The value in another shape: as it is, or its sum everywhere."""
    if x.shape == shape:
        return x
    return broadcast_in_dim(ew.sin(total(x)), shape, ())


def total(x: Array) -> Array:
    return reduce_sum(x, tuple(range(x.ndim)))


def square(x: Array) -> Array:
    return ew.mul(x, x)


def unary(x: Array, _: Array, k: int) -> Array:
    one = constant(x, 1.0)
    choices: list[Callable[[Array], Array]] = [
        ew.sin,
        ew.cos,
        ew.tanh,
        ew.logistic,
        ew.atan,
        ew.asinh,
        ew.neg,
        lambda x: ew.exp(ew.tanh(x)),
        lambda x: ew.log1p(square(x)),
        lambda x: ew.sqrt(ew.add(one, square(x))),
        lambda x: ew.rsqrt(ew.add(one, square(x))),
        lambda x: ew.expm1(ew.sin(x)),
        lambda x: ew.sin(ew.integer_pow(x, 3)),
        lambda x: ew.integer_pow(ew.add(constant(x, 1.5), ew.sin(x)), -2),
        lambda x: ew.log(ew.add(constant(x, 1.5), ew.sin(x))),
        lambda x: ew.asin(ew.mul(constant(x, 0.7), ew.sin(x))),
    ]
    return choices[k % len(choices)](x)


def binary(x: Array, y: Array, k: int) -> Array:
    y = fitted(y, x.shape)
    away = ew.add(constant(y, 1.5), ew.sin(y))
    choices: list[Callable[[], Array]] = [
        lambda: ew.add(x, y),
        lambda: ew.sub(y, x),
        lambda: ew.sin(ew.mul(x, y)),
        lambda: ew.div(x, away),
        lambda: ew.pow_(away, ew.sin(x)),
        lambda: ew.atan2(x, away),
    ]
    return choices[k % len(choices)]()


def kink(x: Array, y: Array, k: int) -> Array:
    y = fitted(y, x.shape)
    offset = constant(x, IRRATIONAL)
    off = ew.add(x, offset)
    choices: list[Callable[[], Array]] = [
        lambda: ew.abs_(off),
        lambda: ew.max_(x, ew.add(y, offset)),
        lambda: ew.min_(ew.sin(y), off),
        lambda: ew.select(ew.gt(x, offset), x, ew.cos(y)),
        lambda: ew.select(ew.le(off, y), ew.sin(x), y),
        lambda: ew.mul(ew.sign(off), y),
        lambda: ew.add(ew.floor(off), x),
        lambda: ew.rem(off, constant(x, 1.7320508)),
        lambda: ew.mul(ew.convert_element_type(ew.ne(x, y), F64), y),
        lambda: ew.clamp(constant(x, -0.70710678), y, offset),
    ]
    return choices[k % len(choices)]()


def reduction(x: Array, _: Array, k: int) -> Array:
    if not x.ndim:
        return ew.cos(x)
    axes = (axis_of(x, k),) if k % 3 else tuple(range(x.ndim))
    return ew.sin(reduce_sum(x, axes) if k % 2 else reduce_prod(x, axes))


def extremum(x: Array, _: Array, k: int) -> Array:
    if not x.ndim:
        return ew.cos(x)
    axes = (axis_of(x, k),) if k % 3 else tuple(range(x.ndim))
    return reduce_max(x, axes) if k % 2 else reduce_min(ew.neg(x), axes)


def chosen(x: Array, y: Array, k: int) -> Array:
    """The element of another value where this one is greatest, by an index that is data."""
    if not x.ndim or not y.ndim:
        return ew.cos(x)
    # a slope of its own for every element, so that none tie
    line = reshape(x, (x.size,))
    places = ew.convert_element_type(iota(line.shape, I32, 0), F64)
    untied = ew.add(line, ew.mul(places, constant(line, IRRATIONAL / 7)))
    index = argmax(untied, 0, I32)
    other = reshape(y, (y.size,))
    if k % 3 == 0:
        return ew.mul(x, broadcast_in_dim(ew.convert_element_type(index, F64), x.shape, ()))
    if k % 3 == 1:
        return dynamic_slice(other, (index,), (min(2, y.size),))
    value = reshape(ew.sin(fitted(x, ())), (1,))
    return reshape(dynamic_update_slice(other, value, (index,)), y.shape)


def indexed(x: Array, y: Array, k: int) -> Array:
    """Gathers and scatters, with repeated indices and some out of bounds."""
    if not x.ndim:
        return ew.cos(x)
    n = x.shape[0]
    indices = as_array(np.array([k % n, 0, (2 * k + 1) % n], np.int32))
    if k % 3 == 0 or not n:
        picked = x[indices]
        return picked if picked.size <= MOST_ELEMENTS else ew.sin(x)
    if k % 3 == 1:
        return x.at[indices].add(fitted(y, (3, *x.shape[1:])))
    return x.at[k % n].set(fitted(y, x.shape[1:]))


def rearranged(x: Array, y: Array, k: int) -> Array:
    if not x.ndim:
        return broadcast_in_dim(x, (1 + k % 3,), ())
    axis, other = axis_of(x, k), k // 2 % x.ndim
    n = x.shape[axis]
    value = ew.sin(total(y))
    padding = [(0, 0, 0)] * x.ndim
    padding[axis] = [(1, 0, 0), (-1, 1, 0), (0, -1, 1), (1, 1, 1)][k % 4]
    larger = (*x.shape[:axis], 2, *x.shape[axis:])
    kept = tuple(i + (i >= axis) for i in range(x.ndim))
    choices: list[Callable[[], Array]] = [
        lambda: reshape(x, (x.size,)),
        lambda: reshape(x, (1, x.size)),
        lambda: transpose(x, tuple(range(x.ndim))[::-1]),
        lambda: rev(x, tuple(sorted({axis, other}))),
        lambda: slice_in_dim(x, min(1, n - 1), n, 1 + k % 2, axis),
        lambda: pad(x, value, padding),
        lambda: concatenate([x, ew.cos(x)], axis),
        lambda: concatenate([fitted(y, x.shape), x, x], axis),
        lambda: broadcast_in_dim(x, larger, kept),
    ]
    out = choices[k % len(choices)]()
    return out if 0 < out.size <= MOST_ELEMENTS and out.ndim <= 3 else ew.sin(x)


def contraction(x: Array, y: Array, k: int) -> Array:
    """A dot product over whatever axes fit."""
    pairs = [(i, j) for i in range(x.ndim) for j in range(y.ndim) if x.shape[i] == y.shape[j]]
    if not pairs:
        if x.size * y.size > MOST_ELEMENTS or x.ndim + y.ndim > 3:
            return ew.sin(x)
        return ew.sin(dot_general(x, y, ((), ())))
    i, j = pairs[k % len(pairs)]
    rest = [(a, b) for a, b in pairs if a != i and b != j]
    batch: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    if rest and k % 2:
        left, right = rest[k % len(rest)]
        batch = ((left,), (right,))
    size = x.size * y.size // x.shape[i] ** 2 // prod(x.shape[n] for n in batch[0])
    if size > MOST_ELEMENTS or x.ndim + y.ndim > 5:
        return ew.cos(x)
    return ew.sin(dot_general(x, y, ((i,), (j,)), batch))


def running(x: Array, _: Array, k: int) -> Array:
    if not x.ndim:
        return ew.cos(x)
    axis = axis_of(x, k)
    functions = [cumsum, cumprod, cumlogsumexp]
    return ew.sin(functions[k % len(functions)](x, axis, k % 2 == 0))


def ordered(x: Array, y: Array, k: int) -> Array:
    """Sorting, alone and by another value's order; and the running maximum."""
    if not x.ndim:
        return ew.cos(x)
    axis = axis_of(x, k)
    if k % 3 == 0:
        return sort([x], axis, num_keys=1)[0]
    if k % 3 == 1:
        return cummax(x, axis)
    keys = ew.add(x, ew.mul(constant(x, IRRATIONAL), ramp(x)))
    _, carried = sort([keys, fitted(y, x.shape)], axis, num_keys=1)
    return carried


def ramp(x: Array) -> Array:
    """Numbers that differ at every place."""
    flat = ew.convert_element_type(iota((x.size,), I32, 0), F64)
    return reshape(flat, x.shape)


OPERATIONS: dict[str, Callable[[Array, Array, int], Array]] = {
    "unary": unary,
    "binary": binary,
    "kink": kink,
    "reduction": reduction,
    "extremum": extremum,
    "chosen": chosen,
    "indexed": indexed,
    "rearranged": rearranged,
    "contraction": contraction,
    "running": running,
    "ordered": ordered,
}
KINKED: Final = ("kink", "extremum", "chosen", "ordered")


Body = Callable[[Array, Array], Array]


def nested_jit(body: Body, x: Array, c: Array, with_jit: bool) -> Array:
    """A jitted function that closes over a value of the transformation around it."""

    def inner(z: Array) -> Array:
        return body(z, c)

    return jit(inner)(x) if with_jit else inner(x)


def nested_jit_twice(body: Body, x: Array, c: Array, with_jit: bool) -> Array:
    """The same compiled program at two places."""
    inner = jit(body) if with_jit else body
    return ew.add(x, fitted(inner(fitted(inner(x, c), x.shape), c), x.shape))


def nested_grad(body: Body, x: Array, c: Array, with_jit: bool) -> Array:
    return as_array(tinyjax.grad(lambda z: ew.sin(total(body(z, c))))(x))


def nested_grad_of_closed_over(body: Body, x: Array, c: Array, with_jit: bool) -> Array:
    """Derivatives by the inner variable and by the outer must not be confused."""
    return as_array(tinyjax.grad(lambda z: ew.mul(total(body(x, z)), total(ew.mul(z, z))))(c))


def nested_jvp(body: Body, x: Array, c: Array, with_jit: bool) -> Array:
    direction = ew.cos(fitted(c, x.shape))
    return as_array(tinyjax.jvp(lambda z: body(z, c), (x,), (direction,))[1])


def nested_vmap(body: Body, x: Array, c: Array, with_jit: bool) -> Array:
    if not x.ndim:
        return body(x, c)
    out = tinyjax.vmap(lambda z: body(z, c))(x)
    return as_array(out) if out.size <= MOST_ELEMENTS and out.ndim <= 3 else total(out)


NESTED: dict[str, Callable[[Body, Array, Array, bool], Array]] = {
    "jit": nested_jit,
    "jit_twice": nested_jit_twice,
    "grad": nested_grad,
    "grad_of_closed_over": nested_grad_of_closed_over,
    "jvp": nested_jvp,
    "vmap": nested_vmap,
}


# Transformations, and what they must be equal to


@attrs.frozen
class Side:
    """A function and its arguments, on the way up a stack."""

    fun: Function
    args: tuple[HostArray, ...]


def like(rng: np.random.Generator, x: HostArray) -> HostArray:
    return np.asarray(rng.uniform(-1.0, 1.0, x.shape))


def tangent_args(args: Sequence[HostArray]) -> list[HostArray]:
    rng = np.random.default_rng(len(args))
    return [like(rng, x) for x in args]


def pushed(fun: Function) -> Function:
    """The tangent of a function, which takes primals and then tangents."""

    def tangent(*both: Array) -> Values:
        n = len(both) // 2
        _, out = tinyjax.jvp(fun, both[:n], both[n:])
        return tuple(out)

    return tangent


def pushed_by_linearize(fun: Function) -> Function:
    def tangent(*both: Array) -> Values:
        n = len(both) // 2
        _, tangent_map = tinyjax.linearize(fun, *both[:n])
        return tuple(tangent_map(*both[n:]))

    return tangent


def pushed_by_transposing_twice(fun: Function) -> Function:
    def tangent(*both: Array) -> Values:
        n = len(both) // 2
        outs, pull_back = tinyjax.vjp(fun, *both[:n])
        zeros = tuple(full(y.shape, 0, y.dtype) for y in outs)
        _, push = tinyjax.vjp(pull_back, zeros)
        (out,) = push(tuple(both[n:]))
        return tuple(out)

    return tangent


def pulled(fun: Function, outs: int) -> Function:
    """The pull-back of a function, which takes primals and then cotangents."""

    def cotangents(*both: Array) -> Values:
        n = len(both) - outs
        _, pull_back = tinyjax.vjp(fun, *both[:n])
        found: Values = pull_back(tuple(both[n:]))
        return found

    return cotangents


def pulled_by_columns(fun: Function, outs: int) -> Function:
    """The same from jvp alone: the derivative along every element of every argument."""

    def cotangents(*both: Array) -> Values:
        n = len(both) - outs
        primals, cts = both[:n], both[n:]
        zeros = [full(x.shape, 0, x.dtype) for x in primals]
        results = []
        for i, x in enumerate(primals):
            columns = []
            for place in range(x.size):
                direction = np.zeros(x.size)
                direction[place] = 1.0
                tangents = [*zeros[:i], as_array(direction.reshape(x.shape)), *zeros[i + 1 :]]
                _, column = tinyjax.jvp(fun, primals, tangents)
                along = full((), 0, F64)
                for ct, t in zip(cts, column, strict=True):
                    along = ew.add(along, total(ew.mul(ct, t)))
                columns.append(reshape(along, (1,)))
            results.append(reshape(concatenate(columns, 0), x.shape) if columns else x)
        return tuple(results)

    return cotangents


def summed(fun: Function) -> Callable[..., Array]:
    def scalar(*xs: Array) -> Array:
        out = full((), 0, F64)
        for i, y in enumerate(fun(*xs)):
            out = ew.add(out, ew.mul(total(ew.sin(y)), full((), 1.0 + i / 2, F64)))
        return out

    return scalar


def graded(fun: Function) -> Function:
    def gradients(*xs: Array) -> Values:
        found: Values = tinyjax.grad(summed(fun), argnums=tuple(range(len(xs))))(*xs)
        return found

    return gradients


def graded_by_columns(fun: Function) -> Function:
    def gradients(*xs: Array) -> Values:
        by_columns = pulled_by_columns(lambda *xs: (summed(fun)(*xs),), 1)
        return by_columns(*xs, full((), 1, F64))

    return gradients


def axes_for(args: Sequence[HostArray], k: int) -> list[int | None]:
    """Which arguments to map over (at least one), and along their first or their last axis."""
    n = len(args)
    chosen = [bool((k + 1) >> (i % 4) & 1) for i in range(n)]
    if not any(chosen):
        chosen[k % n] = True
    return [
        None if not is_mapped else (x.ndim if (k + i) % 3 == 0 else 0)
        for i, (x, is_mapped) in enumerate(zip(args, chosen, strict=True))
    ]


def stacked(x: HostArray, axis: int | None) -> HostArray:
    return x if axis is None else np.stack([x, 0.7 * x[...] + 0.1], axis)


def mapped(fun: Function, axes: Sequence[int | None], out_axis: int) -> Function:
    def batched(*xs: Array) -> Values:
        found: Values = tinyjax.vmap(fun, in_axes=tuple(axes), out_axes=out_axis)(*xs)
        return found

    return batched


def looped(fun: Function, axes: Sequence[int | None], out_axis: int) -> Function:
    """Vmap as a loop over slices, which are taken by primitives: it may be differentiated."""

    def loop(*xs: Array) -> Values:
        outs = []
        for i in range(2):
            slices = []
            for x, axis in zip(xs, axes, strict=True):
                if axis is not None:
                    kept = slice_in_dim(x, i, i + 1, 1, axis)
                    x = reshape(kept, (*x.shape[:axis], *x.shape[axis + 1 :]))
                slices.append(x)
            outs.append(fun(*slices))
        return tuple(_stack(pair, out_axis) for pair in zip(*outs, strict=True))

    return loop


def _stack(pair: Sequence[Array], out_axis: int) -> Array:
    place = pair[0].ndim if out_axis == -1 else 0
    shape = pair[0].shape
    parts = [reshape(y, (*shape[:place], 1, *shape[place:])) for y in pair]
    return concatenate(parts, place)


def through_jaxpr(fun: Function) -> Function:
    def evaluated(*xs: Array) -> Values:
        closed = tinyjax.make_jaxpr(fun)(*xs)
        typecheck_jaxpr(closed.jaxpr)
        return tuple(closed(*(as_array(x) for x in xs)))

    return evaluated


def jitted(fun: Function) -> Function:
    compiled = jit(fun)
    return lambda *xs: tuple(compiled(*xs))


TRANSFORMS: Final = (
    "vmap",
    "jvp",
    "vjp",
    "grad",
    "linearize",
    "transposed twice",
    "make_jaxpr",
    "jit",
)
REVERSE: Final = ("vjp", "grad")

# How many evaluations of a derivative the reference may take before it takes vjp's word instead.
MOST_COLUMNS: Final = 300


@attrs.frozen
class Layer:
    """A transformation and its choice of arguments."""

    name: str
    k: int = 0


def transformed(layer: Layer, ours: Side, reference: Side, columns: int) -> tuple[Side, Side, int]:
    """Put a transformation on both sides; ``columns`` is what the reference costs so far."""
    args = ours.args
    fun, plain = ours.fun, reference.fun
    match layer.name:
        case "jit":
            return attrs.evolve(ours, fun=jitted(fun)), reference, columns
        case "make_jaxpr":
            return attrs.evolve(ours, fun=through_jaxpr(fun)), reference, columns
        case "vmap":
            axes = axes_for(args, layer.k)
            out_axis = -1 if layer.k % 2 else 0
            args = tuple(stacked(x, axis) for x, axis in zip(args, axes, strict=True))
            return (
                Side(mapped(fun, axes, out_axis), args),
                Side(looped(plain, axes, out_axis), args),
                2 * columns,
            )
        case "jvp" | "linearize" | "transposed twice":
            routes: dict[str, Callable[[Function], Function]] = {
                "jvp": pushed,
                "linearize": pushed_by_linearize,
                "transposed twice": pushed_by_transposing_twice,
            }
            args = (*args, *tangent_args(args))
            return Side(routes[layer.name](fun), args), Side(pushed(plain), args), columns
        case _:
            columns *= max(1, sum(x.size for x in args))
            by_columns = columns <= MOST_COLUMNS
            if layer.name == "grad":
                other = graded_by_columns(plain) if by_columns else graded(plain)
                return Side(graded(fun), args), Side(other, args), columns
            structs = tinyjax.eval_shape(plain, *args)
            outs = len(structs)
            args = (*args, *tangent_args([np.zeros(s.shape) for s in structs]))
            other = pulled_by_columns(plain, outs) if by_columns else pulled(plain, outs)
            return Side(pulled(fun, outs), args), Side(other, args), columns


def check(program: Program, layers: Sequence[Layer]) -> None:
    """Hold the program under the stack against the same by other means."""
    inputs = tuple(program.inputs())
    ours, reference = (
        Side(program.function(with_jit=True), inputs),
        Side(program.function(with_jit=False), inputs),
    )
    columns = 1
    for layer in layers:
        ours, reference, columns = transformed(layer, ours, reference, columns)
    got = ours.fun(*(as_array(x) for x in ours.args))
    expected = reference.fun(*(as_array(x) for x in reference.args))
    assert len(got) == len(expected)
    for i, (x, y) in enumerate(zip(got, expected, strict=True)):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), f"result {i}: {x.aval}, not {y.aval}"
        a, b = np.asarray(x), np.asarray(y)
        assert np.all(np.isfinite(b)), f"result {i}: the program is not well-conditioned"
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        np.testing.assert_allclose(a, b, 1e-9, 1e-9 * scale, err_msg=f"result {i}")


def check_by_differences(program: Program) -> None:
    """Hold jvp, the one derivative that the references share, against a finite difference."""
    xs = program.inputs()
    ts = tangent_args(xs)
    fun = program.function(with_jit=False)
    tangents = pushed(fun)(*(as_array(x) for x in (*xs, *ts)))
    eps = 1e-6

    def moved(by: float) -> list[HostArray]:
        return [np.asarray(y) for y in fun(*(x + by * t for x, t in zip(xs, ts, strict=True)))]

    for tangent, ahead, behind in zip(tangents, moved(eps), moved(-eps), strict=True):
        got, slope = np.asarray(tangent), (ahead - behind) / (2 * eps)
        scale = max(1.0, float(np.max(np.abs(slope), initial=0.0)))
        np.testing.assert_allclose(got, slope, 1e-5, 1e-5 * scale)


# Drawing programs and stacks

NUMBERS = st.integers(0, 15)
PLAIN_STEPS = st.builds(Step, st.sampled_from(sorted(OPERATIONS)), NUMBERS, NUMBERS, NUMBERS)
NESTED_STEPS = st.builds(
    Step,
    st.sampled_from(sorted(NESTED)),
    NUMBERS,
    NUMBERS,
    st.just(0),
    st.lists(PLAIN_STEPS, min_size=1, max_size=3).map(tuple),
)
STEPS = st.one_of(PLAIN_STEPS, PLAIN_STEPS, PLAIN_STEPS, NESTED_STEPS)
SHAPES = st.sampled_from([(), (2,), (3,), (2, 2), (2, 3), (1, 2)])
PROGRAMS = st.builds(
    Program,
    st.lists(SHAPES, min_size=1, max_size=3).map(tuple),
    st.lists(STEPS, min_size=2, max_size=9).map(tuple),
    NUMBERS,
)
LAYERS = st.builds(Layer, st.sampled_from(TRANSFORMS), NUMBERS)
STACKS = st.lists(LAYERS, min_size=1, max_size=3).map(tuple)


@settings(max_examples=30)
@given(PROGRAMS, STACKS)
def test_transformations_commute(program: Program, layers: tuple[Layer, ...]) -> None:
    check(program, layers)


@pytest.mark.fuzz
@given(PROGRAMS, STACKS)
def test_transformations_commute_at_length(program: Program, layers: tuple[Layer, ...]) -> None:
    check(program, layers)
    if program.smooth:
        check_by_differences(program)

"""Random programs under random stacks of transformations.

A program is a list of steps over float64 arrays, total by construction: whatever numbers a step
is given, it means something. It is run twice. On one side the transformations are tinyjax's, up
to three deep: jit, make_jaxpr, vmap, jvp by three routes, vjp and grad; and within the program
there are transformations, the toolbox made of them, control flow, custom rules, checkpoints and
callbacks, up to two deep, and detours through complex numbers. On the other side jit does nothing,
vmap is a Python loop, control flow computes everything and selects, rules and checkpoints are left
out, and a reverse derivative is put together column by column from jvp, so that what is left in
common is evaluation and jvp. Both must agree to 1e-9 of the result's size; and jvp must agree with
a finite difference.

Steps keep values of moderate size and away from kinks: what grows goes through a sine, divisors
stay away from zero, and thresholds are irrational.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Final, Literal

import attrs
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import tinyjax
from tinyjax import autodiff, lax
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
MOST_NUMBER: Final = 15
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
        return not _any_of(KINKED, self.steps)


def _any_of(ops: Sequence[str], steps: Sequence[Step]) -> bool:
    return any(step.op in ops or _any_of(ops, step.body) for step in steps)


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
            whole = partial(_nested, nested, body, step.k, with_jit)
            # some within jit, where predicates and bounds have no values
            staged = with_jit and step.k >= MOST_NUMBER - 3
            values.append(ew.sin(jit(whole)(a, b) if staged else whole(a, b)))
    return values


def _nested(
    nested: Callable[..., Array], body: "Body", k: int, with_jit: bool, a: Array, b: Array
) -> Array:
    return nested(body, a, b, k, with_jit)


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


def through_complex(x: Array, y: Array, k: int) -> Array:
    """Real numbers to complex ones, among these, holomorphically or not, and back."""
    z = ew.complex_(ew.sin(x), ew.sin(fitted(y, x.shape)))
    far = ew.add(z, full(z.shape, 3, z.dtype))  # from zero and from cuts
    among: list[Callable[[], Array]] = [
        lambda: ew.sin(z),
        lambda: ew.exp(z),
        lambda: ew.conj(ew.mul(z, z)),
        lambda: ew.div(z, far),
        lambda: ew.sqrt(far),
        lambda: ew.log(far),
        lambda: ew.integer_pow(z, 3),
        lambda: ew.mul(ew.tanh(ew.div(z, full(z.shape, 2, z.dtype))), ew.conj(z)),
    ]
    back: list[Callable[[Array], Array]] = [
        ew.real,
        ew.imag,
        lambda w: ew.real(ew.mul(w, ew.conj(w))),
        lambda w: ew.abs_(ew.add(w, full(w.shape, 30, w.dtype))),
    ]
    out = among[k % len(among)]()
    return ew.sin(back[(k + k // len(among)) % len(back)](out))


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
    "complex": through_complex,
}
KINKED: Final = ("kink", "extremum", "chosen", "ordered", "cond", "switch", "while")


Body = Callable[[Array, Array], Array]


def nested_jit(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A jitted function that closes over a value of the transformation around it."""

    def inner(z: Array) -> Array:
        return body(z, c)

    return jit(inner)(x) if ours else inner(x)


def nested_jit_twice(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """The same compiled program at two places."""
    inner = jit(body) if ours else body
    return ew.add(x, fitted(inner(fitted(inner(x, c), x.shape), c), x.shape))


def nested_grad(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    return as_array(tinyjax.grad(lambda z: ew.sin(total(body(z, c))))(x))


def nested_grad_of_closed_over(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Derivatives by the inner variable and by the outer must not be confused."""
    return as_array(tinyjax.grad(lambda z: ew.mul(total(body(x, z)), total(ew.mul(z, z))))(c))


def nested_jvp(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    direction = ew.cos(fitted(c, x.shape))
    return as_array(tinyjax.jvp(lambda z: body(z, c), (x,), (direction,))[1])


def nested_vmap(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """At once, in chunks, or by ``lax.map``."""
    if not x.ndim:
        return body(x, c)

    def inner(z: Array) -> Array:
        return body(z, c)

    if not ours:
        out = stack([inner(z) for z in slices(x)])
    elif k % 4 == 3:
        out = as_array(lax.map(inner, x, batch_size=2))
    else:
        out = as_array(tinyjax.vmap(inner, chunk_size=(None, 1, 2)[k % 4])(x))
    return out if out.size <= MOST_ELEMENTS and out.ndim <= 3 else total(out)


# The toolbox. The other side has jvp, along one direction or along all.


def nested_jacobian(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A Jacobian by elimination, times a vector."""
    direction = ew.cos(x)

    def inner(z: Array) -> Array:
        return fitted(body(z, c), x.shape)

    if not ours:
        return as_array(tinyjax.jvp(inner, (x,), (direction,))[1])
    orders: list[autodiff.Order] = ["auto", "forward", "reverse"]
    matrix = reshape(tinyjax.jacobian(inner, order=orders[k % 3])(x), (x.size, x.size))
    product = dot_general(matrix, reshape(direction, (x.size,)), ((1,), (0,)))
    return reshape(product, x.shape)


def nested_hvp(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    direction = ew.cos(x)

    def scalar(z: Array) -> Array:
        return ew.sin(total(body(z, c)))

    if ours and k % 2:
        return as_array(autodiff.hvp(scalar, (x,), (direction,)))
    if ours:  # the Gauss-Newton matrix is the Hessian where the model is linear
        return as_array(
            autodiff.gauss_newton_vp(ew.neg, lambda y: scalar(ew.neg(y)), (x,), (direction,))
        )
    along = tinyjax.jacfwd(lambda z: tinyjax.jvp(scalar, (z,), (direction,))[1])
    return as_array(along(x))


def nested_other_mode(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    def inner(z: Array) -> Array:
        return body(z, c)

    if k % 2:
        route = autodiff.jvp_from_vjp if ours else tinyjax.jvp
        return as_array(route(inner, (x,), (ew.cos(x),))[1])
    cotangent = ew.cos(inner(x))
    if ours:
        return as_array(autodiff.vjp_from_jvp(inner, x)[1](cotangent)[0])
    return as_array(tinyjax.jacfwd(lambda z: total(ew.mul(inner(z), cotangent)))(x))


def nested_converted(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """What the body closes over, as arguments."""
    if not ours:
        return body(x, c)
    converted, closed_over = tinyjax.closure_convert(lambda z: body(z, c), x)
    return as_array(converted(x, *closed_over))


# Control flow. The other side has none: it computes every branch and as many turns as there may be,
# and selects.


def slices(x: Array) -> list[Array]:
    return [reshape(slice_in_dim(x, i, i + 1), x.shape[1:]) for i in range(x.shape[0])]


def stack(parts: Sequence[Array]) -> Array:
    return concatenate([reshape(y, (1, *y.shape)) for y in parts], 0)


def choose(condition: Array, x: Array, y: Array) -> Array:
    return ew.select(broadcast_in_dim(condition, x.shape, ()), x, y)


def number(c: Array, k: int, most: int) -> Array:
    """An integer from 0 to ``most`` that is data, and not on the edge of another."""
    size = ew.abs_(ew.sin(ew.add(total(c), full((), k * 0.7, F64))))
    scaled = ew.add(ew.mul(size, full((), most - 0.2, F64)), full((), IRRATIONAL, F64))
    return ew.convert_element_type(ew.floor(scaled), I32)


def nested_cond(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    predicate = ew.gt(number(c, k, 1), full((), 0, I32))

    def yes(z: Array) -> Array:
        return fitted(body(z, c), x.shape)

    def no(z: Array) -> Array:
        return ew.mul(z, fitted(ew.cos(c), x.shape)) if k % 2 else constant(z, 0.5)

    if not ours:
        return choose(predicate, yes(x), no(x))
    return lax.cond(predicate, yes, no, x)


def nested_switch(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    index = number(c, k, 2)
    branches: list[Callable[[Array], Array]] = [
        ew.sin,
        lambda z: fitted(body(z, c), x.shape),
        lambda z: ew.mul(z, fitted(body(c, z), x.shape)),
    ]
    if ours:
        return lax.switch(index, branches, x)
    first, second, third = (branch(x) for branch in branches)
    is_first, is_third = (ew.eq(index, full((), i, I32)) for i in (0, 2))
    return choose(is_first, first, choose(is_third, third, second))


def nested_scan(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Carries a counter and a value, closes over ``x``, and goes over ``c`` or over nothing."""
    xs = c if c.ndim and k % 3 else None
    length, reverse, one = k % 4 if xs is None else c.shape[0], k % 2 == 1, full((), 1, I32)

    def turn(carry: tuple[Array, Array], part: Array | None) -> tuple[tuple[Array, Array], Array]:
        i, z = carry
        scale = broadcast_in_dim(ew.convert_element_type(i, F64), x.shape, ())
        out = body(z, c if part is None else part)
        new = ew.sin(ew.add(fitted(out, x.shape), ew.mul(scale, x)))
        return (ew.add(i, one), new), total(out) if k % 5 else z

    start = (full((), 0, I32), ew.cos(x))
    if ours:
        (_, last), ys = lax.scan(turn, start, xs, length, reverse, 1 + k // 4)
        return ew.add(last, fitted(ew.mul(ys, ramp(ys)), x.shape))
    parts = [None] * length if xs is None else slices(xs)
    outs = []
    carry = start
    for part in parts[::-1] if reverse else parts:
        carry, y = turn(carry, part)
        outs.append(y)
    if not outs:
        return carry[1]
    ys = stack(outs[::-1] if reverse else outs)
    return ew.add(carry[1], fitted(ew.mul(ys, ramp(ys)), x.shape))


def nested_fori(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    def turn(i: Array, z: Array) -> Array:
        shifted = ew.add(c, broadcast_in_dim(ew.convert_element_type(i, F64), c.shape, ()))
        return ew.sin(fitted(body(z, shifted), x.shape))

    if ours:
        return lax.fori_loop(k % 2, k % 4, turn, x)
    for i in range(k % 2, k % 4):
        x = turn(full((), i, I32), x)
    return x


def nested_while(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A loop whose length is data; written twice."""
    n, one = number(c, k, 2), full((), 1, I32)

    def turn(i: Array, z: Array) -> Array:
        return ew.sin(fitted(body(z, c), x.shape))

    def both(state: tuple[Array, Array]) -> tuple[Array, Array]:
        return ew.add(state[0], one), turn(*state)

    start = full((), 0, I32)
    if not ours:
        for i in range(2):
            x = choose(ew.lt(full((), i, I32), n), turn(start, x), x)
        return x
    if k % 2:
        return lax.fori_loop(start, n, turn, x)
    return lax.while_loop(lambda state: ew.lt(state[0], n), both, (start, x))[1]


# Rules of one's own, which say what is so anyway.


def nested_custom_jvp(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    if not ours:
        return body(x, c)
    if k % 3 == 0:  # closes over what may be differentiated too
        alone = tinyjax.custom_jvp(lambda z: body(z, c))
        alone.defjvp(lambda primals, tangents: tinyjax.jvp(lambda z: body(z, c), primals, tangents))
        return alone(x)
    f = tinyjax.custom_jvp(body)
    f.defjvp(lambda primals, tangents: tinyjax.jvp(body, primals, tangents))
    return f(x, c)


def nested_custom_vjp(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    if not ours:
        return body(x, c)
    f = tinyjax.custom_vjp(body)

    def backward(saved: tuple[Array, Array], cotangent: Array) -> tuple[Array, ...]:
        found: tuple[Array, ...] = tinyjax.vjp(body, *saved)[1](cotangent)
        return found

    f.defvjp(lambda z, w: (body(z, w), (z, w)), backward)
    return f(x, c)


def nested_custom_derivative(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    if not ours:
        return body(x, c)
    f = tinyjax.custom_derivative(body)
    f.defderivative(lambda z, w: tinyjax.linearize(body, z, w))
    return f(x, c)


def keeps_sines(primitive: object, *avals: object, **params: object) -> bool:
    return str(primitive) in ("sin", "tanh")


POLICIES: Final = (
    None,
    tinyjax.checkpoint_policies.everything_saveable,
    tinyjax.checkpoint_policies.dots_saveable,
    tinyjax.checkpoint_policies.save_only_these_names("kept"),
    tinyjax.checkpoint_policies.save_anything_except_these_names("kept"),
    keeps_sines,
)


def nested_checkpoint(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    def inner(z: Array) -> Array:
        out = body(z, c)
        return ew.cos(tinyjax.checkpoint_name(out, "kept") if ours else out)

    if not ours:
        return inner(x)
    return tinyjax.checkpoint(inner, policy=POLICIES[k % len(POLICIES)])(x)


def nested_callback(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A call of NumPy with a derivative declared, after the body."""
    z = fitted(body(x, c), x.shape)
    w = fitted(c, x.shape)

    def derivative(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> Array:
        (z, w), (dz, dw) = primals, tangents
        return ew.add(ew.mul(ew.mul(ew.cos(z), w), dz), ew.mul(ew.sin(z), dw))

    if not ours:
        return ew.mul(ew.sin(z), w)
    struct = tinyjax.ShapeDtypeStruct(x.shape, F64)
    methods: list[Literal["sequential", "expand_dims", "broadcast_all"]]
    methods = ["sequential", "expand_dims", "broadcast_all"]
    out = tinyjax.pure_callback(
        lambda z, w: np.sin(z) * w,
        struct,
        z,
        w,
        vmap_method=methods[k % 3],
        derivative=derivative,
    )
    return as_array(out)


NESTED: dict[str, Callable[[Body, Array, Array, int, bool], Array]] = {
    "jit": nested_jit,
    "jit_twice": nested_jit_twice,
    "grad": nested_grad,
    "grad_of_closed_over": nested_grad_of_closed_over,
    "jvp": nested_jvp,
    "vmap": nested_vmap,
    "jacobian": nested_jacobian,
    "hvp": nested_hvp,
    "other_mode": nested_other_mode,
    "converted": nested_converted,
    "cond": nested_cond,
    "switch": nested_switch,
    "scan": nested_scan,
    "fori": nested_fori,
    "while": nested_while,
    "custom_jvp": nested_custom_jvp,
    "custom_vjp": nested_custom_vjp,
    "custom_derivative": nested_custom_derivative,
    "checkpoint": nested_checkpoint,
    "callback": nested_callback,
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
    """Hold jvp, the one derivative that the references share, against a finite difference.

    A program with kinks is held against it where it has none nearby: where the slopes ahead and
    behind are the same.
    """
    xs = program.inputs()
    ts = tangent_args(xs)
    fun = program.function(with_jit=False)
    tangents = pushed(fun)(*(as_array(x) for x in (*xs, *ts)))
    eps = 1e-6

    def moved(by: float) -> list[HostArray]:
        return [np.asarray(y) for y in fun(*(x + by * t for x, t in zip(xs, ts, strict=True)))]

    here, results = moved(0.0), zip(tangents, moved(eps), moved(-eps), strict=True)
    closer = zip(moved(eps / 2), moved(-eps / 2), here, strict=True)
    for (tangent, ahead, behind), (near, near_behind, middle) in zip(results, closer, strict=True):
        # Two steps, so that the third derivative, which can be large, drops out.
        wide, narrow = (ahead - behind) / (2 * eps), (near - near_behind) / eps
        got, slope = np.asarray(tangent), (4 * narrow - wide) / 3
        scale = max(1.0, float(np.max(np.abs(slope), initial=0.0)))
        # of a smooth function these differ by its second derivative times the step
        bend = np.max(np.abs(ahead - 2 * middle + behind), initial=0.0) / eps
        # Where a step is no small part of a sine's period, differences say nothing of the slope.
        steep = eps * float(np.max(np.abs(got), initial=0.0)) > 0.02
        if not steep and (program.smooth or bend < 1e-4 * scale):
            np.testing.assert_allclose(got, slope, 1e-5, 1e-5 * scale)


# Drawing programs and stacks

NUMBERS = st.integers(0, MOST_NUMBER)
PLAIN_STEPS = st.builds(Step, st.sampled_from(sorted(OPERATIONS)), NUMBERS, NUMBERS, NUMBERS)


def nested_steps(
    inner: st.SearchStrategy[Step], most: int, least: int = 1
) -> st.SearchStrategy[Step]:
    body = st.lists(inner, min_size=least, max_size=most).map(tuple)
    return st.builds(Step, st.sampled_from(sorted(NESTED)), NUMBERS, NUMBERS, NUMBERS, body)


INNER_STEPS = st.one_of(PLAIN_STEPS, PLAIN_STEPS, PLAIN_STEPS, nested_steps(PLAIN_STEPS, 2))
NESTED_STEPS = nested_steps(INNER_STEPS, 3)
STEPS = st.one_of(PLAIN_STEPS, PLAIN_STEPS, PLAIN_STEPS, PLAIN_STEPS, NESTED_STEPS)
SHAPES = st.sampled_from([(), (2,), (3,), (2, 2), (2, 3), (1, 2)])
PROGRAMS = st.builds(
    Program,
    st.lists(SHAPES, min_size=1, max_size=3).map(tuple),
    st.lists(STEPS, min_size=2, max_size=9).map(tuple),
    NUMBERS,
)
LAYERS = st.builds(Layer, st.sampled_from(TRANSFORMS), NUMBERS)
STACKS = st.lists(LAYERS, min_size=1, max_size=3).map(tuple)


# Which steps may stand where: a loop of unknown length has no reverse mode, and a rule for reverse
# mode alone no forward mode.

REVERSING: Final = ("linearize", "transposed twice", *REVERSE)
TOOLS: Final = ("jacobian", "hvp", "other_mode")
REVERSING_STEPS: Final = (
    *TOOLS,
    "grad",
    "grad_of_closed_over",
    "custom_vjp",
    "custom_derivative",
)
FORWARD_STEPS: Final = (*TOOLS, "jvp", "custom_jvp", "custom_derivative")


def settle(steps: Sequence[Step], reversing: bool, forward: bool) -> tuple[Step, ...]:
    """Put others in the place of steps that the differentiation around them does not allow.

    Args:
        steps: of a program or a body.
        reversing: whether anything around it needs the tangents as a linear program.
        forward: whether a differentiation in forward mode may be the first to reach it.
    """
    found = []
    for step in steps:
        op = step.op
        if op == "while" and reversing:
            op = "fori"
        if op == "custom_vjp" and forward:
            op = "custom_jvp"
        # A nested grad does not differentiate by what its body closes over. The forward half of a
        # custom_vjp rule is a plain evaluation, which forward mode further out reaches first.
        pushes = forward or op in (*FORWARD_STEPS, "custom_vjp")
        body = settle(step.body, reversing or op in REVERSING_STEPS, pushes)
        found.append(attrs.evolve(step, op=op, body=body))
    return tuple(found)


@attrs.frozen
class Case:
    """A program and the stack it is put under."""

    program: Program
    layers: tuple[Layer, ...]

    @staticmethod
    def settled(program: Program, layers: tuple[Layer, ...]) -> "Case":
        names = [layer.name for layer in layers if layer.name in (*REVERSING, "jvp")]
        reversing = any(name != "jvp" for name in names)
        forward = bool(names) and names[0] in ("jvp", "linearize")
        steps = settle(program.steps, reversing, forward)
        return Case(attrs.evolve(program, steps=steps), layers)


CASES = st.builds(Case.settled, PROGRAMS, STACKS)


@settings(max_examples=25)
@given(CASES)
def test_transformations_commute(case: Case) -> None:
    check(case.program, case.layers)


@pytest.mark.fuzz
@given(CASES)
def test_transformations_commute_at_length(case: Case) -> None:
    check(case.program, case.layers)
    check_by_differences(case.program)

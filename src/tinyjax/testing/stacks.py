"""Stacks of transformations, what they must be equal to, and the comparison.

On one side the transformations are tinyjax's: ``jit``, ``make_jaxpr``, ``vmap``, ``jvp`` by three
routes, ``vjp`` and ``grad``. On the other side ``jit`` does nothing, ``vmap`` is a Python loop, and
a reverse derivative is put together column by column from ``jvp``, so that what is left in common
is evaluation and ``jvp``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, lax, tree
from tinyjax.core.api import staging
from tinyjax.core.api.gradients import grad
from tinyjax.core.names import Array, bc, derivatives, ew, jt, jx, mapping, opd, sh, sl
from tinyjax.parallel import meshes, shard_map as sm, sharding as sd
from tinyjax.testing import specs as ts

__all__ = ["Layer", "Side", "check_stack", "check_stacks"]

F64: Final = np.dtype(np.float64)

Values: TypeAlias = tuple[Array, ...]
Function: TypeAlias = Callable[..., Values]


def total(x: Array) -> Array:
    return bc.reduce_sum(x, tuple(range(x.ndim)))


@attrs.frozen
class Side:
    """A function and its arguments, on the way up a stack.

    Attributes:
        fun: takes arrays, and returns a tuple of them.
        args: what it takes.
        other: the second example of two, for ``vmap``, made of the first.
    """

    fun: Function
    args: tuple[dtypes.HostArray, ...]
    other: Callable[[dtypes.HostArray], dtypes.HostArray] = lambda x: np.asarray(0.7 * x + 0.1)

    def stacked(self, axes: Sequence[int | None]) -> tuple[dtypes.HostArray, ...]:
        """Two examples of the arguments, along these axes."""
        return tuple(
            [
                x if axis is None else np.stack([x, self.other(x)], axis)
                for x, axis in zip(self.args, axes, strict=True)
            ]
        )


def like(rng: np.random.Generator, x: dtypes.HostArray) -> dtypes.HostArray:
    return np.asarray(rng.uniform(-1.0, 1.0, x.shape))


def tangent_args(args: Sequence[dtypes.HostArray]) -> list[dtypes.HostArray]:
    rng = np.random.default_rng(len(args))
    return [like(rng, x) for x in args]


def pushed(fun: Function) -> Function:
    """The tangent of a function, which takes primals and then tangents."""

    def tangent(*both: Array) -> Values:
        n = len(both) // 2
        _, out = derivatives.jvp(fun, both[:n], both[n:])
        return tuple(out)

    return tangent


def pushed_by_linearize(fun: Function) -> Function:
    def tangent(*both: Array) -> Values:
        n = len(both) // 2
        _, tangent_map = derivatives.linearize(fun, *both[:n])
        return tuple(tangent_map(*both[n:]))

    return tangent


def pushed_by_transposing_twice(fun: Function) -> Function:
    def tangent(*both: Array) -> Values:
        n = len(both) // 2
        pull_back: Any
        outs, pull_back = derivatives.vjp(fun, *both[:n])
        zeros = tuple(map(sh.zeros_like, outs))  # which vary between devices as they do
        _, push = derivatives.vjp(pull_back, zeros)
        (out,) = push(tuple(both[n:]))
        return tuple(out)

    return tangent


def pulled(fun: Function, outs: int) -> Function:
    """The pull-back of a function, which takes primals and then cotangents."""

    def cotangents(*both: Array) -> Values:
        n = len(both) - outs
        _, pull_back = derivatives.vjp(fun, *both[:n])
        result: Values = pull_back(tuple(both[n:]))
        return result

    return cotangents


def pulled_by_columns(fun: Function, outs: int) -> Function:
    """The same from jvp alone: the derivative along every element of every argument."""

    def cotangents(*both: Array) -> Values:
        n = len(both) - outs
        primals, cts = both[:n], both[n:]
        zeros = [sh.full(x.shape, 0, x.dtype) for x in primals]
        results = []
        for i, x in enumerate(primals):
            columns = []
            for place in range(x.size):
                direction = np.zeros(x.size)
                direction[place] = 1.0
                tangents = [*zeros[:i], opd.as_array(direction.reshape(x.shape)), *zeros[i + 1 :]]
                _, column = derivatives.jvp(fun, primals, tangents)
                along = sh.full((), 0, F64)
                for ct, t in zip(cts, column, strict=True):
                    along = ew.add(along, total(ew.mul(ct, t)))
                columns.append(sh.reshape(along, (1,)))
            results.append(sh.reshape(sl.concatenate(columns, 0), x.shape) if columns else x)
        return tuple(results)

    return cotangents


def summed(fun: Function) -> Callable[..., Array]:
    def scalar(*xs: Array) -> Array:
        out = sh.full((), 0, F64)
        for i, y in enumerate(fun(*xs)):
            out = ew.add(out, ew.mul(total(ew.sin(y)), sh.full((), 1.0 + i / 2, F64)))
        return out

    return scalar


def graded(fun: Function) -> Function:
    def gradients(*xs: Array) -> Values:
        result: Values = grad(summed(fun), argnums=tuple(range(len(xs))))(*xs)
        return result

    return gradients


def graded_by_columns(fun: Function) -> Function:
    def gradients(*xs: Array) -> Values:
        by_columns = pulled_by_columns(lambda *xs: (summed(fun)(*xs),), 1)
        return by_columns(*xs, sh.full((), 1, F64))

    return gradients


def axes_for(args: Sequence[dtypes.HostArray], k: int) -> list[int | None]:
    """Which arguments to map over (at least one), and along their first or their last axis."""
    n = len(args)
    chosen = [bool((k + 1) >> (i % 4) & 1) for i in range(n)]
    if not any(chosen):
        chosen[k % n] = True
    return [
        None if not is_mapped else (x.ndim if (k + i) % 3 == 0 else 0)
        for i, (x, is_mapped) in enumerate(zip(args, chosen, strict=True))
    ]


def mapped(fun: Function, axes: Sequence[int | None], out_axis: int) -> Function:
    def batched(*xs: Array) -> Values:
        result: Values = mapping.vmap(fun, in_axes=tuple(axes), out_axes=out_axis)(*xs)
        return result

    return batched


def looped(fun: Function, axes: Sequence[int | None], out_axis: int) -> Function:
    """Vmap as a loop over slices, which are taken by primitives: it may be differentiated."""

    def loop(*xs: Array) -> Values:
        outs = []
        for i in range(2):
            slices = []
            for x, axis in zip(xs, axes, strict=True):
                if axis is None:
                    slices.append(x)
                else:
                    part = sl.slice_in_dim(x, i, i + 1, 1, axis)
                    slices.append(sh.reshape(part, (*x.shape[:axis], *x.shape[axis + 1 :])))
            outs.append(fun(*slices))
        return tuple(_stack(pair, out_axis) for pair in zip(*outs, strict=True))

    return loop


@cache
def two_devices() -> meshes.Mesh:
    """The mesh whose devices have one of two slices each."""
    return meshes.make_mesh((2,), ("devices",))


def divided(fun: Function, axes: Sequence[int | None], out_axis: int) -> Function:
    """Vmap by devices: each has its own slices, and its own copies of what is not mapped."""

    def on_device(*parts: Array) -> Values:
        own = [
            lax.pcast(x, "devices", to="varying") if axis is None else sh.squeeze(x, (axis,))
            for x, axis in zip(parts, axes, strict=True)
        ]
        return tuple([sh.expand_dims(y, (y.ndim if out_axis else 0,)) for y in fun(*own)])

    def mapped(*xs: Array) -> Values:
        specs = tuple([sd.P() if a is None else sd.P(*[None] * a, "devices") for a in axes])
        ndims = [out.ndim for out in staging.eval_shape(looped(fun, axes, out_axis), *xs)]
        outs = tuple([sd.P(*[None] * (n - 1 if out_axis else 0), "devices") for n in ndims])
        result: Values = sm.shard_map(
            on_device, mesh=two_devices(), in_specs=specs, out_specs=outs
        )(*xs)
        return result

    return mapped


def _stack(pair: Sequence[Array], out_axis: int) -> Array:
    place = pair[0].ndim if out_axis == -1 else 0
    shape = pair[0].shape
    parts = [sh.reshape(y, (*shape[:place], 1, *shape[place:])) for y in pair]
    return sl.concatenate(parts, place)


def through_jaxpr(fun: Function) -> Function:
    def evaluated(*xs: Array) -> Values:
        closed = staging.make_jaxpr(fun)(*xs)
        jx.typecheck_jaxpr(closed.jaxpr)
        return tuple(closed(*(opd.as_array(x) for x in xs)))

    return evaluated


def jitted(fun: Function) -> Function:
    compiled = jt.jit(fun)
    return lambda *xs: tuple(compiled(*xs))


TRANSFORMS: Final = (
    *("vmap", "jvp", "vjp", "grad", "linearize", "transposed twice", "make_jaxpr", "jit"),
)
REVERSE: Final = ("vjp", "grad")
DERIVATIVES: Final = (*REVERSE, "jvp", "linearize", "transposed twice")

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

    def both(f: Function, g: Function, args: tuple[dtypes.HostArray, ...]) -> tuple[Side, Side]:
        return attrs.evolve(ours, fun=f, args=args), attrs.evolve(reference, fun=g, args=args)

    match layer.name:
        case "jit":
            return *both(jitted(fun), plain, args), columns
        case "make_jaxpr":
            return *both(through_jaxpr(fun), plain, args), columns
        case "vmap" | "shard_map":
            spread = mapped if layer.name == "vmap" else divided
            axes = axes_for(args, layer.k)
            out = -1 if layer.k % 2 else 0
            sides = both(spread(fun, axes, out), looped(plain, axes, out), ours.stacked(axes))
            return *sides, 2 * columns
        case "jvp" | "linearize" | "transposed twice":
            routes: dict[str, Callable[[Function], Function]] = {
                "jvp": pushed,
                "linearize": pushed_by_linearize,
                "transposed twice": pushed_by_transposing_twice,
            }
            args = (*args, *tangent_args(args))
            return *both(routes[layer.name](fun), pushed(plain), args), columns
        case _:
            columns *= max(1, sum(x.size for x in args))
            by_columns = columns <= MOST_COLUMNS
            if layer.name == "grad":
                other = graded_by_columns(plain) if by_columns else graded(plain)
                return *both(graded(fun), other, args), columns
            structs = staging.eval_shape(plain, *args)
            outs = len(structs)
            args = (*args, *tangent_args([np.zeros(s.shape) for s in structs]))
            other = pulled_by_columns(plain, outs) if by_columns else pulled(plain, outs)
            return *both(pulled(fun, outs), other, args), columns


def check_stack(ours: Side, reference: Side, layers: Sequence[Layer]) -> None:
    """Hold a function under a stack of transformations against the same by other means.

    Args:
        ours: a function of float64 arrays, if the stack has derivatives, that returns a tuple of
            them, with its arguments.
        reference: the same function, without what is to be checked within.
        layers: the transformations, the first one to be applied in front.

    Raises:
        AssertionError: they differ.
    """
    columns = 1
    for layer in layers:
        ours, reference, columns = transformed(layer, ours, reference, columns)
    got = ours.fun(*(opd.as_array(x) for x in ours.args))
    expected = reference.fun(*(opd.as_array(x) for x in reference.args))
    if len(got) != len(expected):
        raise AssertionError(f"{len(got)} results, expected {len(expected)}")
    for i, (x, y) in enumerate(zip(got, expected, strict=True)):
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            raise AssertionError(f"result {i}: {x.aval}, expected {y.aval}")
        a, b = np.asarray(x), np.asarray(y)
        finite = bool(np.all(np.isfinite(b)))
        if y.dtype != F64 or not (finite or any(layer.name in DERIVATIVES for layer in layers)):
            ts.compare(a, b, 16.0, f"result {i}")
            continue
        if not finite:
            raise AssertionError(f"result {i}: the function is not well-conditioned there")
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        if not np.allclose(a, b, 1e-9, 1e-9 * scale):
            # derivatives of third order of what is steep can change as much by rounding
            allowed = max(1e-9 * scale, 10 * _rounding(reference, i))
            np.testing.assert_allclose(a, b, 1e-9, allowed, err_msg=f"result {i}")


def _rounding(side: Side, i: int) -> float:
    """How much a result changes where the arguments change by their last digit."""
    rng = np.random.default_rng(0)
    here = np.asarray(side.fun(*map(opd.as_array, side.args))[i])
    changes = [0.0]
    for _ in range(8):
        args = [
            x * (1 + 2.0**-52 * rng.integers(-1, 2, np.shape(x))) if x.dtype == F64 else x
            for x in side.args
        ]
        there = np.asarray(side.fun(*map(opd.as_array, args))[i])
        changes.append(float(np.max(np.abs(there - here), initial=0.0)))
    return max(changes)


def stacks_of(names: Sequence[str], depth: int) -> list[tuple[str, ...]]:
    """All stacks of these transformations, to a depth; those of fewer first."""
    return [stack for n in range(1, depth + 1) for stack in product(names, repeat=n)]


# Of primitives


def check_stacks(spec: ts.Spec, depth: int = 3, most: int | None = None) -> int:
    """Hold a primitive under stacks of transformations against loops and columns of ``jvp``.

    Args:
        spec: what is checked: on its smallest case in double precision.
        depth: how many transformations there are in a stack, at most; of derivatives there are no
            more than the spec has.
        most: of more stacks, so many are drawn; None takes all.

    Returns:
        The number of stacks.

    Raises:
        CheckError: what a stack gives is wrong. The message names the stack.
    """
    samples = [
        s for s in spec.smooth_samples(spec.grad_cases) if s[2] and sum(x.size for x in s[2])
    ]
    if not samples:
        return 0
    case, _, operands = min(samples, key=lambda sample: sum(x.size for x in sample[2]))
    chosen = [i for i, x in enumerate(operands) if dtypes.is_inexact(x.dtype)]
    fun = spec.applied(case.params)
    is_smooth = bool(spec.grad and chosen) and all(
        dtypes.real_part(operands[i].dtype) == F64 for i in chosen
    )
    names: tuple[str, ...] = ("vmap", "jit")
    if is_smooth:
        side = realified(fun, operands, chosen)
        names = ("vmap", "jit", "jvp", "vjp")
    else:
        side = Side(lambda *xs: tuple(tree.leaves(fun(*xs))), operands, backwards)
    if "vmap" in spec.skip:
        names = names[1:]
    stacks = [
        stack
        for stack in stacks_of(names, depth)
        if sum(name in DERIVATIVES for name in stack) <= spec.grad
    ]
    if most is not None and most < len(stacks):
        places = spec.rng("stacks").permutation(len(stacks))[:most]
        stacks = [stacks[i] for i in places]
    for turn, stack in enumerate(stacks):
        on = f"{ts.describe(case.params, operands)} under {' of '.join(stack[::-1])}"
        with ts.blaming(spec.name, "a stack of transformations", on):
            layers = [Layer(name, turn + i) for i, name in enumerate(stack)]
            check_stack(side, side, layers)
    return len(stacks)


def backwards(x: dtypes.HostArray) -> dtypes.HostArray:
    """The same elements in another order."""
    return x.reshape(-1)[::-1].reshape(x.shape).copy()


def realified(
    fun: Callable[..., Any], operands: Sequence[dtypes.HostArray], chosen: Sequence[int]
) -> Side:
    """A function as one of real arrays: a complex operand, or result, is two of them."""
    parts: list[dtypes.HostArray] = []
    for i in chosen:
        x = operands[i]
        both = (x.real, x.imag) if dtypes.is_complex(x.dtype) else (x,)
        parts += [part.copy() for part in both]

    def of_reals(*xs: Array) -> Values:
        left = iter(xs)
        args: list[Any] = [opd.as_array(x) for x in operands]
        for i in chosen:
            x = next(left)
            args[i] = ew.complex_(x, next(left)) if dtypes.is_complex(operands[i].dtype) else x
        results: list[Array] = []
        for y in tree.leaves(fun(*args)):
            if dtypes.is_complex(y.dtype):
                results += [ew.real(y), ew.imag(y)]
            elif dtypes.is_inexact(y.dtype):
                results.append(y)
        return tuple(results)

    return Side(of_reals, tuple(parts), backwards)

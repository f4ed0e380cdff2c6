"""Stacks of transformations, their references, and the comparison.

On one side the transformations are tinyjax's: ``jit``, ``vmap``, ``jvp`` and ``vjp``. On the other
side ``jit`` does nothing, ``vmap`` is a Python loop, and a reverse derivative is put together
column by column from ``jvp``, so that what is left in common is evaluation and ``jvp``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, tree
from tinyjax.core import jit
from tinyjax.core.api import derivatives, mapping, staging
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.values import Array, operands as opd
from tinyjax.testing import specs

__all__ = ["Side", "StackLayer", "check_stack", "check_stacks"]

F64: Final = np.dtype(np.float64)

Values: TypeAlias = tuple[Array, ...]
Function: TypeAlias = Callable[..., Values]


def total(x: Array) -> Array:
    return reduce_sum(x, tuple(range(x.ndim)))


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
    """Return the tangent of a function, which takes primals and then tangents."""

    def tangent(*both: Array) -> Values:
        n = len(both) // 2
        _, out = derivatives.jvp(fun, both[:n], both[n:])
        return tuple(out)

    return tangent


def pulled(fun: Function, outs: int) -> Function:
    """Return the pull-back of a function, which takes primals and then cotangents."""

    def cotangents(*both: Array) -> Values:
        n = len(both) - outs
        _, pull_back = derivatives.vjp(fun, *both[:n])
        result: Values = pull_back(tuple(both[n:]))
        return result

    return cotangents


def pulled_by_columns(fun: Function, outs: int) -> Function:
    """Return the same from jvp alone: the derivative along every element of every argument."""

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
            results.append(sh.reshape(slicing.concatenate(columns, 0), x.shape) if columns else x)
        return tuple(results)

    return cotangents


def axes_for(args: Sequence[dtypes.HostArray], k: int) -> list[int | None]:
    """Return the axes to map over: of at least one argument, the first or the last axis."""
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
                    part = slicing.slice_in_dim(x, i, i + 1, 1, axis)
                    slices.append(sh.reshape(part, (*x.shape[:axis], *x.shape[axis + 1 :])))
            outs.append(fun(*slices))
        return tuple(_stack(pair, out_axis) for pair in zip(*outs, strict=True))

    return loop


def _stack(pair: Sequence[Array], out_axis: int) -> Array:
    place = pair[0].ndim if out_axis == -1 else 0
    shape = pair[0].shape
    parts = [sh.reshape(y, (*shape[:place], 1, *shape[place:])) for y in pair]
    return slicing.concatenate(parts, place)


def jitted(fun: Function) -> Function:
    compiled = jit.jit(fun, tier="compiled")
    return lambda *xs: tuple(compiled(*xs))


# How many evaluations of a derivative the reference may take before it takes vjp's word instead.
MOST_COLUMNS: Final = 300


@attrs.frozen
class StackLayer:
    """A transformation and the arguments that it applies to."""

    name: str
    k: int = 0


#: Puts a transformation on both sides. It is given the number of its layer and how many evaluations
#: the reference takes so far, and returns how many it takes then.
Applied: TypeAlias = Callable[[Side, Side, int, int], tuple[Side, Side, int]]


def of_calls(change: Callable[[Function], Function]) -> Applied:
    """Return a layer that changes how a function is called, and none of its values."""
    return lambda ours, reference, k, columns: (
        attrs.evolve(ours, fun=change(ours.fun)),
        reference,
        columns,
    )


def of_examples(spread: Callable[[Function, Sequence[int | None], int], Function]) -> Applied:
    """Return a way of mapping over some arguments, against a loop."""

    def applied(ours: Side, reference: Side, k: int, columns: int) -> tuple[Side, Side, int]:
        axes, out = axes_for(ours.args, k), -1 if k % 2 else 0
        args = ours.stacked(axes)
        plain = looped(reference.fun, axes, out)
        mapped = attrs.evolve(ours, fun=spread(ours.fun, axes, out), args=args)
        return mapped, attrs.evolve(reference, fun=plain, args=args), 2 * columns

    return applied


def of_tangents(push: Callable[[Function], Function]) -> Applied:
    """Return a way of pushing tangents forward, against ``jvp``."""

    def applied(ours: Side, reference: Side, k: int, columns: int) -> tuple[Side, Side, int]:
        args = (*ours.args, *tangent_args(ours.args))
        plain = attrs.evolve(reference, fun=pushed(reference.fun), args=args)
        return attrs.evolve(ours, fun=push(ours.fun), args=args), plain, columns

    return applied


def _pulled(ours: Side, reference: Side, k: int, columns: int) -> tuple[Side, Side, int]:
    """``vjp``, against columns of ``jvp``."""
    columns *= max(1, sum(x.size for x in ours.args))
    structs = staging.eval_shape(reference.fun, *ours.args)
    args = (*ours.args, *tangent_args([np.zeros(s.shape) for s in structs]))
    pull = pulled_by_columns if columns <= MOST_COLUMNS else pulled
    plain = attrs.evolve(reference, fun=pull(reference.fun, len(structs)), args=args)
    return attrs.evolve(ours, fun=pulled(ours.fun, len(structs)), args=args), plain, columns


#: The transformations that stacks of primitives consist of, by name.
PLAIN: Final[Mapping[str, Applied]] = {"vmap": of_examples(mapped), "jit": of_calls(jitted)}
DERIVATIVES: Final[Mapping[str, Applied]] = {"jvp": of_tangents(pushed), "vjp": _pulled}


def check_stack(
    ours: Side,
    reference: Side,
    layers: Sequence[StackLayer],
    plain: Mapping[str, Applied] = PLAIN,
    differential: Mapping[str, Applied] = DERIVATIVES,
) -> None:
    """Hold a function under a stack of transformations against the same by other means.

    Args:
        ours: a function of float64 arrays, if the stack has derivatives, that returns a tuple of
            them, with its arguments.
        reference: the same function, without what is to be checked within.
        layers: the transformations, the first one to be applied in front.
        plain: the transformations that are no derivatives, by name.
        differential: those that are.

    Raises:
        AssertionError: they differ.
    """
    columns = 1
    for layer in layers:
        apply = plain.get(layer.name) or differential[layer.name]
        ours, reference, columns = apply(ours, reference, layer.k, columns)
    got = ours.fun(*(opd.as_array(x) for x in ours.args))
    expected = reference.fun(*(opd.as_array(x) for x in reference.args))
    if len(got) != len(expected):
        raise AssertionError(f"{len(got)} results, expected {len(expected)}")
    for i, (x, y) in enumerate(zip(got, expected, strict=True)):
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            raise AssertionError(f"result {i}: {x.aval}, expected {y.aval}")
        a, b = np.asarray(x), np.asarray(y)
        finite = bool(np.all(np.isfinite(b)))
        if y.dtype != F64 or not (finite or any(layer.name in differential for layer in layers)):
            specs.compare(a, b, 16.0, f"result {i}")
            continue
        if not finite:
            raise AssertionError(f"result {i}: the function is not well-conditioned there")
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        if not np.allclose(a, b, 1e-9, 1e-9 * scale):
            # derivatives of third order of what is steep can change as much by rounding
            allowed = max(1e-9 * scale, 10 * _rounding(reference, i))
            np.testing.assert_allclose(a, b, 1e-9, allowed, err_msg=f"result {i}")


def _rounding(side: Side, i: int) -> float:
    """Return the change of a result when the arguments change by their last digit."""

    def result(args: Sequence[dtypes.HostArray]) -> dtypes.HostArray:
        return np.asarray(side.fun(*map(opd.as_array, args))[i])

    here = result(side.args)
    changes = [np.abs(result(specs.rounded(side.args, 0.0, turn)) - here) for turn in range(8)]
    return float(np.max(changes, initial=0.0))


def stacks_of(names: Sequence[str], depth: int) -> list[tuple[str, ...]]:
    """Return all stacks of these transformations, to a depth; those of fewer first."""
    return [stack for n in range(1, depth + 1) for stack in product(names, repeat=n)]


# Of primitives


def check_stacks(spec: specs.Spec, depth: int = 3, most: int | None = None) -> int:
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
    names: tuple[str, ...] = tuple(PLAIN)
    if is_smooth:
        side = realified(fun, operands, chosen)
        names = (*PLAIN, *DERIVATIVES)
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
        on = f"{specs.describe(case.params, operands)} under {' of '.join(stack[::-1])}"
        with specs.blaming(spec.name, "a stack of transformations", on):
            layers = [StackLayer(name, turn + i) for i, name in enumerate(stack)]
            check_stack(side, side, layers)
    return len(stacks)


def backwards(x: dtypes.HostArray) -> dtypes.HostArray:
    """Return the same elements in another order."""
    return x.reshape(-1)[::-1].reshape(x.shape).copy()


def realified(
    fun: Callable[..., Any], operands: Sequence[dtypes.HostArray], chosen: Sequence[int]
) -> Side:
    """Return a function as one of real arrays: a complex operand, or result, is two of them."""
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

"""Stacks of transformations, what they must be equal to, and the comparison."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from fuzz.plain import (
    F64,
    total,
)
from fuzz.programs import Function, Program, Values
from tinyjax import P, lax
from tinyjax.core.array import Array, as_array
from tinyjax.core.jaxpr import typecheck_jaxpr
from tinyjax.dtypes import HostArray
from tinyjax.jit import jit
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives.shape import expand_dims, full, reshape, squeeze
from tinyjax.primitives.slicing import concatenate, slice_in_dim


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
        pull_back: Any
        outs, pull_back = tinyjax.vjp(fun, *both[:n])
        zeros = tuple(map(jnp.zeros_like, outs))  # which vary between devices as they do
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


#: Each device has one of two slices.
MESH: Final = tinyjax.make_mesh((2,), ("devices",))


def divided(fun: Function, axes: Sequence[int | None], out_axis: int) -> Function:
    """Vmap by devices: each has its own slices, and its own copies of what is not mapped."""

    def on_device(*parts: Array) -> Values:
        own = [
            lax.pcast(x, "devices", to="varying") if axis is None else squeeze(x, (axis,))
            for x, axis in zip(parts, axes, strict=True)
        ]
        return tuple([expand_dims(y, (y.ndim if out_axis else 0,)) for y in fun(*own)])

    def mapped(*xs: Array) -> Values:
        specs = tuple([P() if a is None else P(*[None] * a, "devices") for a in axes])
        ndims = [out.ndim for out in tinyjax.eval_shape(looped(fun, axes, out_axis), *xs)]
        outs = tuple([P(*[None] * (n - 1 if out_axis else 0), "devices") for n in ndims])
        found: Values = tinyjax.shard_map(on_device, mesh=MESH, in_specs=specs, out_specs=outs)(*xs)
        return found

    return mapped


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
        case "vmap" | "shard_map":
            spread = mapped if layer.name == "vmap" else divided
            axes = axes_for(args, layer.k)
            out_axis = -1 if layer.k % 2 else 0
            args = tuple(stacked(x, axis) for x, axis in zip(args, axes, strict=True))
            return (
                Side(spread(fun, axes, out_axis), args),
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
        if not np.allclose(a, b, 1e-9, 1e-9 * scale):
            # derivatives of third order of what is steep can change as much by rounding
            allowed = max(1e-9 * scale, 10 * _rounding(reference, i))
            np.testing.assert_allclose(a, b, 1e-9, allowed, err_msg=f"result {i}")


def _rounding(side: Side, i: int) -> float:
    """How much a result changes where the arguments change by their last digit."""
    rng = np.random.default_rng(0)
    here = np.asarray(side.fun(*map(as_array, side.args))[i])
    changes = [0.0]
    for _ in range(8):
        args = [x * (1 + 2.0**-52 * rng.integers(-1, 2, np.shape(x))) for x in side.args]
        there = np.asarray(side.fun(*map(as_array, args))[i])
        changes.append(float(np.max(np.abs(there - here), initial=0.0)))
    return max(changes)


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

"""Random programs under stacks of transformations, held against the same by other means."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import attrs
import numpy as np

from fuzz.programs import Program
from tinyjax import jit, jvp, lax, make_jaxpr
from tinyjax._extensions.parallel import meshes, sharding
from tinyjax._extensions.parallel.shard_map import shard_map
from tinyjax.autodiff import laplacian
from tinyjax.core.api import derivatives, staging
from tinyjax.core.api.gradients import grad
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.core.values import Array, operands as opd
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import HostArray
from tinyjax.testing.stacks import (
    DERIVATIVES,
    F64,
    MOST_COLUMNS,
    PLAIN,
    Applied,
    Function,
    Side,
    StackLayer,
    Values,
    check_stack,
    looped,
    of_calls,
    of_examples,
    of_tangents,
    pulled_by_columns,
    pushed,
    tangent_args,
    total,
)

#: How many equations the reference evaluates at most, about, and in one program of sixteen. What a
#: program takes is spread so widely that the dearest in a hundred take half of the time.
MOST_WORK: Final = 50_000
MOST_WORK_SOMETIMES: Final = 500_000


# Transformations beside those of ``tinyjax.testing``


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
        specs = tuple(
            [sharding.P() if a is None else sharding.P(*[None] * a, "devices") for a in axes]
        )
        ndims = [out.ndim for out in staging.eval_shape(looped(fun, axes, out_axis), *xs)]
        outs = tuple([sharding.P(*[None] * (n - 1 if out_axis else 0), "devices") for n in ndims])
        result: Values = shard_map(on_device, mesh=two_devices(), in_specs=specs, out_specs=outs)(
            *xs
        )
        return result

    return mapped


def through_jaxpr(fun: Function) -> Function:
    def evaluated(*xs: Array) -> Values:
        closed = staging.make_jaxpr(fun)(*xs)
        jx.typecheck_jaxpr(closed.jaxpr)
        return tuple(closed(*(opd.as_array(x) for x in xs)))

    return evaluated


def _graded(ours: Side, reference: Side, k: int, columns: int) -> tuple[Side, Side, int]:
    columns *= max(1, sum(x.size for x in ours.args))
    gradients = graded_by_columns if columns <= MOST_COLUMNS else graded
    plain = attrs.evolve(reference, fun=gradients(reference.fun))
    return attrs.evolve(ours, fun=graded(ours.fun)), plain, columns


#: The transformations that searches draw.
TRANSFORMS: Final = (
    *("vmap", "jvp", "vjp", "grad", "linearize", "transposed twice", "make_jaxpr", "jit"),
)
REVERSE: Final = ("vjp", "grad")
_PLAIN: Final = {**PLAIN, "make_jaxpr": of_calls(through_jaxpr), "shard_map": of_examples(divided)}
_DERIVATIVES: Final = {
    **DERIVATIVES,
    "grad": _graded,
    "linearize": of_tangents(pushed_by_linearize),
    "transposed twice": of_tangents(pushed_by_transposing_twice),
}


def layer_of(name: str) -> Applied:
    """A transformation of these searches by its name."""
    return _PLAIN.get(name) or _DERIVATIVES[name]


def check(program: Program, layers: Sequence[StackLayer]) -> None:
    """Hold the program under the stack against the same by other means."""
    inputs = tuple(program.inputs())
    ours, reference = program.function(with_jit=True), program.function(with_jit=False)
    check_stack(Side(ours, inputs), Side(reference, inputs), layers, _PLAIN, _DERIVATIVES)


def check_laplacian(program: Program) -> None:
    """Hold Laplacians, compiled and with and without sparsity, to nested jvp, which is not."""
    inputs = tuple(program.inputs())
    places = tuple(range(len(inputs)))
    ours, reference = program.function(with_jit=True), program.function(with_jit=False)
    expected: list[HostArray] | None = None
    for place, x in enumerate(inputs):
        for i in range(x.size):
            direction = np.zeros(x.size)
            direction[i] = 1
            seconds = _second(reference, inputs, place, direction.reshape(x.shape))
            expected = seconds if expected is None else list(map(np.add, expected, seconds))
    assert expected is not None, "a program has inputs"
    of_all = laplacian(ours, places, sparse=False)(*inputs).laplacian
    for got in (of_all, jit(laplacian(ours, places))(*inputs).laplacian):
        for whole, other in zip(got, expected, strict=True):
            scale = max(1.0, float(np.max(np.abs(other), initial=0.0)))
            np.testing.assert_allclose(whole, other, 1e-7, 1e-8 * scale)


def _second(
    fun: Callable[..., Any], inputs: Sequence[HostArray], place: int, direction: HostArray
) -> list[HostArray]:
    """The second derivative along a direction of one input."""

    def of_one(x: Any) -> Any:
        return fun(*(as_array(x if k == place else y) for k, y in enumerate(inputs)))

    def slope(x: Any) -> Any:
        return jvp(of_one, (x,), (direction,))[1]

    return [np.asarray(y) for y in jvp(slope, (inputs[place],), (direction,))[1]]


def affordable(program: Program, layers: Sequence[StackLayer]) -> tuple[StackLayer, ...]:
    """The transformations, without the last ones if the reference would take too long."""
    xs = program.inputs()
    work = _equations(make_jaxpr(program.function(with_jit=False))(*xs).jaxpr)
    most = MOST_WORK_SOMETIMES if program.seed == 7 else MOST_WORK
    size = sum(x.size for x in xs)
    for i, layer in enumerate(layers):
        match layer.name:
            case "vmap" | "shard_map":
                work, size = 2 * work, 2 * size
            case "jvp" | "linearize" | "transposed twice":
                work, size = 3 * work, 2 * size
            case "vjp" | "grad":
                work = 3 * work * max(1, size)
            case _:
                pass
        if work > most and i:
            return tuple(layers[:i])
    return tuple(layers)


def _equations(jaxpr: Jaxpr) -> int:
    return sum(1 + sum(map(_equations, subjaxprs(eqn.params))) for eqn in jaxpr.eqns)


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

    def moved(step: float) -> list[HostArray]:
        return [np.asarray(y) for y in fun(*(x + step * t for x, t in zip(xs, ts, strict=True)))]

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

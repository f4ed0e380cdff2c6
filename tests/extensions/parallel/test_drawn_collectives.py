"""Collectives within ``shard_map``, drawn: over axes of a mesh and groups, against NumPy."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Final

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from tinyjax import P, lax
from tinyjax.sharding import AxisType

#: A part of this size is on each device, along the axes that the function is run along.
SIDE: Final = 4
MESHES: Final[dict[tuple[int, ...], Any]] = {
    sizes: tinyjax.make_mesh(sizes, ("x", "y")[: len(sizes)], AxisType.Auto)
    for sizes in [(4,), (2, 2), (1, 4), (2, 1)]
}
WEIGHTS: Final = np.linspace(-1, 1, SIDE)
#: What a sum is to exceed; many are 0, up to rounding.
EDGE: Final = 0.123

Groups = tuple[tuple[int, ...], ...] | None


@attrs.frozen
class Step:
    """A collective along an axis, an operation on parts, or some steps in a loop or a branch."""

    name: str
    axis: str = ""
    groups: Groups = None
    inner: tuple["Step", ...] = ()


@attrs.frozen
class Case:
    """A program, the axes along which devices run it, and how it is called."""

    sizes: tuple[int, ...]
    axes: tuple[str, ...]
    steps: tuple[Step, ...]
    takes_arrays: bool
    checks: bool


# The program, as tinyjax has it


def apply(step: Step, a: Any) -> Any:
    axis, groups = step.axis, step.groups
    weights = jnp.array(WEIGHTS)
    match step.name:
        case "psum" | "pmean" | "pmax" | "pmin":
            return getattr(lax, step.name)(a, axis, axis_index_groups=groups) / 2 + a
        case "all_gather":
            every = lax.all_gather(a, axis, axis_index_groups=groups)
            return jnp.tensordot(weights[: len(every)], every, 1) + a
        case "psum_scatter":
            part = lax.psum_scatter(a, axis, axis_index_groups=groups, tiled=True)
            return jnp.concatenate([part] * (SIDE // len(part))) - a
        case "all_to_all":
            return lax.all_to_all(a, axis, 0, 0, axis_index_groups=groups, tiled=True)
        case "turn":
            n = lax.axis_size(axis)
            return a - lax.ppermute(a, axis, [(i, (i + 1) % n) for i in range(n)])
        case "place":
            return a * (1 + lax.axis_index(axis))
        case "sin":
            return jnp.sin(a)
        case "scan":
            return lax.scan(lambda c, _: (run(step.inner, c), None), a, None, 2)[0]
        case "vmap":
            return tinyjax.vmap(lambda a: run(step.inner, a), 1, 1)(jnp.stack([a, 2 * a], 1)).sum(1)
        case "jit":
            return tinyjax.jit(lambda a: run(step.inner, a))(a)
        case "cond":
            positive = lax.psum(a.sum(), (*axis,)) > EDGE  # else devices wait for others
            return lax.cond(positive, lambda a: run(step.inner, a), jnp.sin, a)
        case other:
            raise AssertionError(other)


def run(steps: Sequence[Step], a: Any) -> Any:
    return reduce(lambda a, step: apply(step, a), steps, a)


def mapped(case: Case) -> Callable[..., Any]:
    """The function of the whole array, or of nothing."""

    def of_part(*parts: Any) -> Any:
        if parts:
            return run(case.steps, parts[0])
        number = lax.axis_index(case.axes)
        return run(case.steps, jnp.array(BASE) * (1 + number))

    return tinyjax.shard_map(
        of_part,
        mesh=MESHES[case.sizes],
        in_specs=(P(case.axes),) if case.takes_arrays else (),
        out_specs=P(case.axes),
        axis_names={*case.axes},
        check_vma=case.checks,
    )


# The same by NumPy: in front are the axes of the devices


def by_numpy(case: Case, x: Any) -> Any:
    sizes = dict(zip(("x", "y"), case.sizes, strict=False))
    grid = tuple([sizes[name] for name in case.axes])
    if case.takes_arrays:
        a = x.reshape(*grid, SIDE, SIDE)
    else:
        a = BASE * (1 + np.arange(np.prod(grid)).reshape(*grid, 1, 1))
    for step in case.steps:
        a = _apply(case, step, a)
    return a.reshape(-1, SIDE)


def _apply(case: Case, step: Step, a: Any) -> Any:
    if not step.axis or step.inner:
        return _inner(case, step, a)
    place = case.axes.index(step.axis)
    a = np.moveaxis(a, place, 0)  # devices along the axis, other devices, rows, columns
    n = len(a)
    out = np.empty_like(a)
    for group in step.groups or (tuple(range(n)),):
        own = a[[*group]]
        for i, device in enumerate(group):
            out[device] = _of_device(step.name, own, i, len(group), n)
    return np.moveaxis(out, 0, place)


def _of_device(name: str, own: Any, i: int, count: int, n: int) -> Any:
    rows = SIDE // count
    match name:
        case "psum" | "pmean" | "pmax" | "pmin":
            return getattr(np, name[1:])(own, axis=0) / 2 + own[i]
        case "all_gather":
            return np.tensordot(WEIGHTS[:count], own, 1) + own[i]
        case "psum_scatter":
            part = own.sum(0)[..., i * rows : (i + 1) * rows, :]
            return np.concatenate([part] * count, -2) - own[i]
        case "all_to_all":
            return np.concatenate([x[..., i * rows : (i + 1) * rows, :] for x in own], -2)
        case "turn":
            return own[i] - own[i - 1]
        case "place":
            return own[i] * (1 + i)
        case other:
            raise AssertionError(other)


def _inner(case: Case, step: Step, a: Any) -> Any:
    def whole(a: Any) -> Any:
        return reduce(lambda a, inner: _apply(case, inner, a), step.inner, a)

    match step.name:
        case "sin":
            return np.sin(a)
        case "scan":
            return whole(whole(a))
        case "vmap":
            return whole(a) + whole(2 * a)
        case "jit":
            return whole(a)
        case "cond":
            return whole(a) if a.sum() > EDGE else np.sin(a)
        case other:
            raise AssertionError(other)


# What is drawn

X: Final = np.cos(np.arange(4 * SIDE * SIDE).reshape(-1, SIDE) ** 1.5)
BASE: Final = np.sin(np.arange(SIDE * SIDE).reshape(SIDE, SIDE) ** 1.3)
REDUCING: Final = ("psum", "pmean", "pmax", "pmin")
ALIKE: Final = ("all_gather", "psum_scatter", "all_to_all")


@st.composite
def groups(draw: st.DrawFn, n: int, alike: bool) -> Groups:
    if draw(st.booleans()):
        return None
    order = draw(st.permutations(range(n)))
    if alike:
        size = draw(st.sampled_from([k for k in (1, 2, 4) if n % k == 0]))
        return tuple([tuple(order[i : i + size]) for i in range(0, n, size)])
    cuts = sorted({0, n, *draw(st.lists(st.integers(0, n), max_size=2))})
    return tuple([tuple(order[i:j]) for i, j in pairwise(cuts)])


@st.composite
def a_step(draw: st.DrawFn, sizes: dict[str, int], depth: int = 1) -> Step:
    nested = ("scan", "vmap", "jit", "cond") if depth else ()
    name = draw(st.sampled_from((*REDUCING, *ALIKE, "turn", "place", "sin", *nested)))
    if name == "sin":
        return Step(name)
    axis = draw(st.sampled_from(sorted(sizes)))
    if name in nested:
        axis = "".join(sorted(sizes))
        inner = draw(st.lists(a_step(sizes, depth - 1), min_size=1, max_size=2))
        return Step(name, axis, None, tuple(inner))
    if name in (*REDUCING, *ALIKE):
        return Step(name, axis, draw(groups(sizes[axis], name in ALIKE)))
    return Step(name, axis)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = draw(st.sampled_from(sorted(MESHES)))
    names = ("x", "y")[: len(sizes)]
    axes = draw(st.sampled_from([(name,) for name in names] + ([names] if len(names) > 1 else [])))
    along = {name: sizes[names.index(name)] for name in axes}
    steps = draw(st.lists(a_step(along), min_size=1, max_size=4))
    return Case(sizes, axes, tuple(steps), draw(st.booleans()), draw(st.booleans()))


def check(case: Case) -> None:
    f = mapped(case)
    count = by_numpy(attrs.evolve(case, steps=()), X[: _rows(case)]).shape[0]
    x = X[:count]
    args = (x,) if case.takes_arrays else ()
    expected = by_numpy(case, x)
    for call in (f, tinyjax.jit(f)):
        np.testing.assert_allclose(call(*args), expected, rtol=1e-9, atol=1e-9)
    if not case.takes_arrays:
        return
    both = jnp.stack([x, x / 2], 1)
    many = tinyjax.jit(tinyjax.vmap(f, 1, 1))(both)
    np.testing.assert_allclose(many[:, 0], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(many[:, 1], by_numpy(case, x / 2), rtol=1e-9, atol=1e-9)
    # along a direction, where the function is smooth
    direction = np.sin(np.arange(x.size).reshape(x.shape) * 0.7)
    step = 1e-6
    ahead, behind = by_numpy(case, x + step * direction), by_numpy(case, x - step * direction)
    cotangent = np.cos(np.arange(x.size).reshape(x.shape))
    slope = ((ahead - behind) / (2 * step) * cotangent).sum()
    loss = lambda x: (f(x) * cotangent).sum()  # noqa: E731
    scale = 1 + abs(slope) + np.abs(expected).max()
    for gradient in (tinyjax.grad(loss)(x), tinyjax.jit(tinyjax.grad(loss))(x)):
        assert abs((np.asarray(gradient) * direction).sum() - slope) < 1e-5 * scale
    _, tangent = tinyjax.jvp(f, (x,), (direction,))
    assert abs((np.asarray(tangent) * cotangent).sum() - slope) < 1e-5 * scale


def _rows(case: Case) -> int:
    sizes = dict(zip(("x", "y"), case.sizes, strict=False))
    return SIDE * int(np.prod([sizes[name] for name in case.axes]))


@given(cases())
@settings(max_examples=3)
@pytest.mark.usefixtures("double_precision")
def test_collectives_against_numpy(case: Case) -> None:
    check(case)


@pytest.mark.fuzz
@given(cases())
@pytest.mark.usefixtures("double_precision")
def test_collectives_against_numpy_at_length(case: Case) -> None:
    check(case)
    forget_sometimes()

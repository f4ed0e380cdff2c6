"""The table of programs, staged: under `jit` they compute what Python does, and so do gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from differences import slope
from programs import PROGRAMS, Program

import tinyjax
from tinyjax import source
from tinyjax.errors import (
    BranchTypeError,
    CarryTypeError,
    ConcretizationError,
    SourceError,
    TinyjaxError,
)

pytestmark = pytest.mark.usefixtures("double_precision")

#: Programs in which more than numbers depends on traced values.
REFUSED: dict[str, tuple[type[TinyjaxError], str]] = {
    "built_ins": (BranchTypeError, "how many items filter gives"),
    "error_function": (SourceError, "calls itself under a condition"),
    "formatted": (BranchTypeError, "it is 'big'"),
    "gamma_lanczos": (SourceError, "calls itself under a condition"),
    "gram_schmidt": (BranchTypeError, "a list of length 0"),
    "inherited": (BranchTypeError, "of type Disc"),
    "insertion_sort": (ConcretizationError, "a Python index needs the data"),
    "merge_sort": (CarryTypeError, "a list of length 2 after an iteration"),
    "quickselect": (BranchTypeError, "the number of a comprehension's items"),
    "quicksort": (BranchTypeError, "the number of a comprehension's items"),
    "romberg": (BranchTypeError, "a list of length 6"),
}
#: Programs of several hundred calls under conditions of their own, which XLA takes minutes for.
LARGE = ("adaptive_simpson",)
ROWS = [
    pytest.param(program, id=program.name)
    for program in PROGRAMS
    if program.name not in REFUSED and program.name not in LARGE
]


def staged(program: Program, args: tuple[Any, ...]) -> tuple[Callable[..., Any], list[int]]:
    """A program as a function of its floats and arrays, and which arguments those are."""
    traced = [i for i, x in enumerate(args) if isinstance(x, (float, np.ndarray))]
    fun = source.stage(program.fun)

    def call(*operands: Any) -> Any:
        values = dict(zip(traced, operands, strict=True))
        return fun(*[values.get(i, x) for i, x in enumerate(args)])

    return call, traced


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("program", ROWS)
def test_values_and_gradients(program: Program) -> None:
    """Hold value and gradient under `jit` against Python's value and differences of it."""
    args = program.args[0]
    fun, traced = staged(program, args)
    given = [args[i] for i in traced]
    places = tuple([traced.index(i) for i in program.argnums if i in traced])
    assert places, "each program has an argument with a derivative"
    value, gradient = tinyjax.jit(tinyjax.value_and_grad(fun, places))(*given)
    assert float(value) == pytest.approx(program.fun(*args), rel=1e-9, abs=1e-11)
    ways = [np.cos(1.0 + p + np.arange(np.size(given[p]))) for p in places]
    ways = [way.reshape(np.shape(given[p])) for way, p in zip(ways, places, strict=True)]

    def along(t: float) -> float:
        moved = list(args)
        for p, way in zip(places, ways, strict=True):
            there = given[p] + t * way
            moved[traced[p]] = float(there) if isinstance(given[p], float) else there
        return float(program.fun(*moved))

    found = sum(float(np.sum(np.asarray(g) * way)) for g, way in zip(gradient, ways, strict=True))
    assert found == pytest.approx(slope(along), rel=1e-7, abs=1e-8)


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("program", ROWS)
def test_differentiated_and_mapped_from_outside(program: Program) -> None:
    """Hold `grad` and `vmap` of the compiled program against what else there is.

    It is mapped over the arguments and others close to them.
    """
    args = program.args[0]
    fun, traced = staged(program, args)
    compiled = tinyjax.jit(fun)
    given = [args[i] for i in traced]
    place = next(traced.index(i) for i in program.argnums if i in traced)
    inside = tinyjax.jit(tinyjax.grad(fun, place))(*given)
    outside = tinyjax.grad(compiled, place)(*given)
    np.testing.assert_allclose(outside, inside, 1e-8, 1e-9)

    moved = [x * (1 + 1e-3) if k == place else x for k, x in enumerate(given)]
    found = tinyjax.vmap(compiled)(*[np.stack([x, y]) for x, y in zip(given, moved, strict=True)])
    expected = []
    for example in (given, moved):
        values = dict(zip(traced, example, strict=True))
        expected.append(float(program.fun(*[values.get(i, x) for i, x in enumerate(args)])))
    np.testing.assert_allclose(found, expected, 1e-9, 1e-11)


@pytest.mark.parametrize("name", REFUSED)
def test_programs_that_cannot_be_staged_say_why(name: str) -> None:
    (program,) = [p for p in PROGRAMS if p.name == name]
    args = program.args[0]
    fun, traced = staged(program, args)
    error, part = REFUSED[name]
    with pytest.raises(error) as caught:
        tinyjax.make_jaxpr(fun)(*[args[i] for i in traced])
    reason = caught.value.__cause__ or caught.value  # why it is captured, which decides by data
    assert isinstance(reason, TinyjaxError)
    assert part in reason.message
    assert caught.value.location is not None
    assert caught.value.location.filename == program.fun.__code__.co_filename
    assert source.stage(program.fun)(*args) == program.fun(*args)

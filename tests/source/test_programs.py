"""The table of programs: values and derivatives of each, against Python, differences, tracers."""

from typing import Any

import numpy as np
import pytest
from differences import slope
from programs import PROGRAMS, Program, on_tracers

import tinyjax
from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")


def directions(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a direction for each argument: a float or an array of its shape."""
    tangents: list[Any] = []
    for i, x in enumerate(args):
        if isinstance(x, float):
            tangents.append(1.0 - 0.3 * i)
        elif isinstance(x, np.ndarray):
            tangents.append(np.cos(1.0 + i + np.arange(x.size)).reshape(x.shape))
        else:
            tangents.append(None)
    return tuple(tangents)


def moved(program: Program, args: tuple[Any, ...], ways: tuple[Any, ...], t: float) -> Any:
    return [x + t * ways[i] if i in program.argnums else x for i, x in enumerate(args)]


def along(gradient: Any, ways: Any) -> Any:
    """The derivative in a direction."""
    total = 0.0
    for g, way in zip(gradient, ways, strict=True):
        total = total + (np.sum(g * way) if isinstance(way, np.ndarray) else g * way)
    return total


ROWS = [
    pytest.param(program, args, id=f"{program.name}-{i}")
    for program in PROGRAMS
    for i, args in enumerate(program.args)
]
CURVED = [pytest.param(p, p.args[0], id=p.name) for p in PROGRAMS if p.curved]


@pytest.mark.sampled(2, 0)
@pytest.mark.parametrize(("program", "args"), ROWS)
def test_values_and_gradients(program: Program, args: tuple[Any, ...]) -> None:
    expected = program.fun(*args)
    value, found = source.value_and_grad(program.fun, program.argnums)(*args)
    assert type(value) is type(expected)
    assert value == expected
    assert source.evaluate(source.ir_of(program.fun), *args) == expected
    for g, i in zip(found, program.argnums, strict=True):
        assert isinstance(g, type(args[i]))
    ways = directions(args)
    chosen = [ways[i] for i in program.argnums]
    difference = slope(lambda t: program.fun(*moved(program, args, ways, t)))
    assert float(along(found, chosen)) == pytest.approx(difference, rel=1e-8, abs=1e-8)
    if program.traced:
        traced = tinyjax.grad(on_tracers(program), program.argnums)(*args)
        for ours, theirs in zip(found, traced, strict=True):
            np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-9, atol=1e-11)


@pytest.mark.slow
@pytest.mark.sampled(8, 1)
@pytest.mark.parametrize(("program", "args"), CURVED)
def test_second_derivatives(program: Program, args: tuple[Any, ...]) -> None:
    ways = directions(args)
    chosen = [ways[i] for i in program.argnums]
    first = source.grad(program.fun, program.argnums)

    def sloping(*args: Any) -> Any:
        return along(first(*args), chosen)

    found = along(source.grad(sloping, program.argnums)(*args), chosen)
    difference = slope(lambda t: sloping(*moved(program, args, ways, t)))
    assert float(found) == pytest.approx(difference, rel=1e-7, abs=1e-7)

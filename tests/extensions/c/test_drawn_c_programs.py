"""Drawn programs under stacks of transformations in C, against their evaluation."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batches import results
from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz import stacks
from fuzz.drawing import CASES, Case
from tinyjax import export
from tinyjax.core.values import operands as opd
from tinyjax.errors import ExportError
from tinyjax.testing.stacks import Side

BATCH = 40


def drawn(count: int, start: int) -> list[Case]:
    cases: list[Case] = []

    @seed(start)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=[*HealthCheck],
    )
    @given(CASES)
    def collect(case: Case) -> None:
        cases.append(case)

    collect()
    return cases


def side_of(case: Case) -> Side:
    """The program under its transformations, with its arguments."""
    side = Side(case.program.function(with_jit=True), tuple(case.program.inputs()))
    for layer in stacks.affordable(case.program, case.layers):
        side, _, _ = stacks.layer_of(layer.name)(side, side, layer.k, 1)
    return side


def _as_tuple(side: Side) -> Callable[..., Any]:
    return lambda *xs: tuple(side.fun(*xs))


@pytest.mark.parametrize(
    ("count", "start"),
    [(8, 0), *[pytest.param(200, i, marks=pytest.mark.fuzz) for i in range(1, 25)]],
)
def test_values(count: int, start: int, tmp_path: Path) -> None:
    """Of odd draws, numbers are assumed to be finite where the results are."""
    made: list[tuple[export.CProgram, Sequence[Any], list[Any]]] = []
    for number, case in enumerate(drawn(count, start)):
        side = side_of(case)
        expected = [np.asarray(x) for x in side.fun(*map(opd.as_array, side.args))]
        is_finite = start % 2 == 1 and all(np.isfinite(x).all() for x in expected)
        writer = export.c(_as_tuple(side), name=f"p{number}", assume_finite=is_finite)
        try:
            made.append((writer(*side.args), side.args, expected))
        except ExportError:
            continue
    assert made
    for first in range(0, len(made), BATCH):
        part = made[first : first + BATCH]
        folder = tmp_path / str(first)
        folder.mkdir()
        values = results([x[0] for x in part], [x[1] for x in part], folder)
        for (program, _, expected), outs in zip(part, values, strict=True):
            check(outs, expected, program)


def check(outs: list[Any], expected: list[Any], program: export.CProgram) -> None:
    for x, y in zip(outs, expected, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if y.dtype.kind != "f":
            np.testing.assert_array_equal(x, y, err_msg=program.source)
            continue
        scale = max(1.0, float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))))
        np.testing.assert_allclose(x, y, 1e-9, 1e-9 * scale, err_msg=program.source)

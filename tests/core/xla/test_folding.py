"""Constants that XLA folds: extreme ones must not end the process, and give what evaluation gives.

XLA computes with constants while it compiles, in the process itself: where it divided an integer by
zero, the process died of it. So this is tried in another one.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax.numpy as jnp
from specs import Spec, all_specs, elementwise
from tinyjax import dtypes, jit, lax
from tinyjax.core.primitives.shape import full
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import DType
from tinyjax.errors import TinyjaxError

pytestmark = pytest.mark.usefixtures("compiled")

EXTREMES: dict[str, tuple[float, ...]] = {
    "b": (False, True),
    "i": (0, -1, 1),
    "u": (0, 1),
    "f": (0.0, np.nan, -np.inf, 1e30, -1.5),
    "c": (0.0, np.nan),
}


def extremes(dtype: DType) -> list[Any]:
    values: list[Any] = list(EXTREMES[dtypes.kind(dtype)])
    if dtypes.is_integer(dtype):
        values += [np.iinfo(dtype).min, np.iinfo(dtype).max]
    return values


def constant_programs(row: Spec) -> list[tuple[Callable[[], Any], Any]]:
    """A row's function of arrays that hold one extreme value each, and what it evaluates to."""
    programs: list[tuple[Callable[[], Any], Any]] = []
    for case in row.cases[:2]:
        for dtype in row.dtypes[:2] if case.generic else row.dtypes[:1]:
            with np.errstate(all="ignore"):
                operands = case.sample(row.rng("extremes"), dtype)
            for turn in range(4):
                values = [extremes(x.dtype) for x in operands]
                chosen = [v[(turn + i * (turn // 2 + 1)) % len(v)] for i, v in enumerate(values)]

                def program(
                    operands: Any = operands, chosen: Any = chosen, params: Any = case.params
                ) -> Any:
                    pairs = zip(operands, chosen, strict=True)
                    return row.fun(*(full(x.shape, v, x.dtype) for x, v in pairs), **params)

                try:
                    programs.append((program, program()))
                except TinyjaxError:
                    continue
    return programs


#: Into how many processes the rows are divided.
PARTS = 8


def compile_all(part: int) -> None:
    """Compile every row's programs, of one part; run by a process of its own."""
    for row in all_specs()[part::PARTS]:
        if row.primitive.rules.evaluate is not None or "dtypes" in row.skip:
            continue
        print(row.name, flush=True)
        pairs = constant_programs(row)
        programs = [program for program, _ in pairs]
        outs = jit(lambda programs=programs: [program() for program in programs])()
        if row in elementwise.SPECS:
            for (_, expected), out in zip(pairs, outs, strict=True):
                check_whole(row, out, expected)
    print("done")


def check_whole(row: Spec, got: Any, expected: Any) -> None:
    if not dtypes.is_inexact(got.dtype):
        np.testing.assert_array_equal(got, expected, row.name)


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("part", range(PARTS))
def test_constants_are_folded_by_a_process_that_survives(part: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"from test_folding import compile_all; compile_all({part})"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    said = run.stdout.splitlines()
    assert run.returncode == 0, f"ended by {run.returncode} at {said[-1:]}: {run.stderr[-2000:]}"
    assert said[-1] == "done"


@pytest.mark.parametrize("dtype", [*dtypes.SIGNED, *dtypes.UNSIGNED], ids=str)
def test_division_by_zero_and_of_the_least_number(dtype: DType) -> None:
    """As XLA defines them: x / 0 has all bits set, x % 0 is x, and min / -1 is min."""
    ends = np.iinfo(dtype)
    x = np.array([0, 1, 7, ends.max, ends.min, ends.min], dtype)
    y = np.zeros(6, dtype)
    y[5] = -1 if ends.min else 0
    all_bits = dtype.type(ends.max) if ends.min == 0 else dtype.type(-1)
    quotients = np.where(y == 0, all_bits, ends.min).astype(dtype)
    remainders = np.where(y == 0, x, 0).astype(dtype)
    for divide in (lax.div, jit(lax.div)):
        np.testing.assert_array_equal(divide(as_array(x), as_array(y)), quotients)
    for remainder in (lax.rem, jit(lax.rem)):
        np.testing.assert_array_equal(remainder(as_array(x), as_array(y)), remainders)
    by_constant = jit(lambda a: (lax.div(a, jnp.zeros_like(a)), lax.rem(a, jnp.zeros_like(a))))
    np.testing.assert_array_equal(by_constant(x[:5])[0], np.full(5, all_bits))
    np.testing.assert_array_equal(by_constant(x[:5])[1], x[:5])

"""Drawn programs against NumPy and differences: ``python -m capturing.drawn --seeds 0 50000``.

With ``--checks read`` they are given to ``source.grad``; with ``--checks staged,staged_gradient``
to ``jit(control_flow="source")``.

A program is right, or refused with an error of tinyjax's. Everything else is a mistake, which is
printed with the shortest program that shows it.
"""

import argparse
import importlib.util
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from types import ModuleType
from typing import Final

import numpy as np

import tinyjax
from capturing.drawing import PREAMBLE, Program, drawn
from tinyjax import source
from tinyjax.errors import TinyjaxError

Function = Callable[[np.ndarray], float]
#: Steps of differences. Two of each program's differences must agree, or they say nothing.
STEPS: Final = (4e-4, 1.1e-4)
CHECKS: Final = ("value", "gradient", "jvp", "jit", "vmap", "after")
#: Those of one program in ``every`` only.
SELDOM: Final = ("jvp", "jit", "vmap")
PROGRAMS_PER_MODULE: Final = 100

_module_numbers = count()


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check of a program."""

    check: str
    kind: str  # right, refused, wrong, error or unclear
    detail: str = ""

    @property
    def is_mistake(self) -> bool:
        return self.kind in ("wrong", "error")


def load(programs: Sequence[Program], folder: Path) -> ModuleType:
    """Write programs into a module and import it."""
    name = f"drawn_programs_{next(_module_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(PREAMBLE + "".join(f"\n\n{program}" for program in programs))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def direction(program: Program) -> np.ndarray:
    """Return the direction in which derivatives are compared."""
    numbers: np.ndarray = np.cos(1.3 * np.arange(program.point.size) + 0.2)
    return numbers.reshape(program.point.shape)


def slope(fun: Function, point: np.ndarray, along: np.ndarray, step: float) -> float:
    """Return a directional derivative by central differences, extrapolated twice."""

    def difference(h: float) -> float:
        return (float(fun(point + h * along)) - float(fun(point - h * along))) / (2 * h)

    a, b, c = (difference(step / 2**i) for i in range(3))
    d, e = (4 * b - a) / 3, (4 * c - b) / 3
    return (16 * e - d) / 15


def elsewhere_of(point: np.ndarray) -> np.ndarray:
    """Return a point where comparisons and orders are others."""
    return 1.4 - point[::-1]


def agree(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def outcomes(program: Program, fun: Function, checks: Iterable[str] = CHECKS) -> Iterator[Outcome]:
    """Check a program: its value and derivatives under ``capture`` against the plain function's."""
    point, along = program.point, direction(program)
    expected = float(fun(point.copy()))
    slopes = [slope(fun, point, along, step) for step in STEPS]
    if not agree(slopes[0], slopes[1], 1e-6):
        yield Outcome("differences", "unclear")
        return
    captured = source.capture(fun)

    def compare(actual: float, expected: float, tolerance: float) -> str:
        return "" if agree(actual, expected, tolerance) else f"{actual!r}, not {expected!r}"

    def value() -> str:
        return compare(float(captured(point.copy())), expected, 1e-12)

    def gradient() -> str:
        actual, slope_found = tinyjax.value_and_grad(captured)(point.copy())
        return compare(float(actual), expected, 1e-12) or compare(
            float(np.vdot(slope_found, along)), slopes[0], 1e-6
        )

    def jvp() -> str:
        actual, tangent = tinyjax.jvp(captured, (point.copy(),), (along,))
        return compare(float(actual), expected, 1e-12) or compare(float(tangent), slopes[0], 1e-6)

    def with_slopes(fun: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> str:
        """Compare values and slopes at two points."""
        actual, slope_found = fun(point.copy())
        return (
            compare(float(actual), expected, 1e-11)
            or compare(float(np.vdot(slope_found, along)), slopes[0], 1e-6)
            or elsewhere(fun)
        )

    def jit() -> str:
        return with_slopes(tinyjax.jit(tinyjax.value_and_grad(captured)))

    def read() -> str:
        return with_slopes(source.value_and_grad(fun))

    def staged() -> str:
        return compare(
            float(tinyjax.jit(fun, control_flow="source")(point.copy())), expected, 1e-11
        )

    def staged_gradient() -> str:
        compiled = tinyjax.jit(fun, control_flow="source")
        return with_slopes(tinyjax.jit(tinyjax.value_and_grad(compiled)))

    def elsewhere(compiled: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> str:
        """Compare at a point where comparisons and orders are others."""
        other = elsewhere_of(point)
        try:
            expected = float(fun(other.copy()))
            first, second = [slope(fun, other, along, step) for step in STEPS]
        except Exception:  # the arrays have other shapes there
            return ""
        actual, slope_found = compiled(other.copy())
        difference = compare(float(actual), expected, 1e-12)
        if difference or not agree(first, second, 1e-6):
            return difference
        return compare(float(np.vdot(slope_found, along)), first, 1e-6)

    def vmap() -> str:
        points = [point, elsewhere_of(point), point]
        try:
            expected = [float(fun(x.copy())) for x in points]
        except Exception:
            return ""
        values = np.asarray(tinyjax.vmap(captured)(np.stack(points)))
        differences = [
            compare(actual, value, 1e-12)
            for actual, value in zip(values.tolist(), expected, strict=True)
        ]
        return next(filter(None, differences), "")

    def after() -> str:
        return compare(float(fun(point.copy())), expected, 0.0)

    known = {
        "value": value,
        "gradient": gradient,
        "jvp": jvp,
        "jit": jit,
        "vmap": vmap,
        "after": after,
        "read": read,
        "staged": staged,
        "staged_gradient": staged_gradient,
    }
    for check in checks:
        try:
            difference = known[check]()
        except TinyjaxError as error:
            yield Outcome(check, "refused", f"{type(error).__name__}: {first_line(error)}")
        except Exception as error:
            yield Outcome(check, "error", f"{type(error).__name__}: {first_line(error)}")
        else:
            yield Outcome(check, "wrong" if difference else "right", difference)


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:120]


def mistake(program: Program, fun: Function, checks: Iterable[str]) -> Outcome | None:
    """Return the first mistake of a program."""
    return next((o for o in outcomes(program, fun, checks) if o.is_mistake), None)


def minimized(program: Program, actual: Outcome, folder: Path) -> tuple[Program, Outcome]:
    """Drop statements, lines and terms while the program makes a mistake of the same kind."""

    def still(shorter: Program) -> Outcome | None:
        try:
            fun = getattr(load([shorter], folder), shorter.name)
            checks = ("gradient", "after") if actual.check == "after" else (actual.check,)
            new = mistake(shorter, fun, checks)
        except Exception:
            return None
        return new if new is not None and new.kind == actual.kind else None

    progress = True
    while progress:
        progress = False
        for shorter in shortened(program):
            new = still(shorter)
            if new is not None:
                program, actual, progress = shorter, new, True
                break
    return program, actual


def shortened(program: Program) -> Iterator[Program]:
    """Yield the program without each of its statements, terms and lines."""
    statements, terms = program.statements, program.terms
    for i in range(len(statements)):
        yield replace(program, statements=statements[:i] + statements[i + 1 :])
    for i in range(len(terms) if len(terms) > 1 else 0):
        yield replace(program, terms=terms[:i] + terms[i + 1 :])
    for i, statement in enumerate(statements):
        lines = statement.splitlines()
        for j in range(len(lines) if len(lines) > 1 else 0):
            text = "\n".join(lines[:j] + lines[j + 1 :])
            yield replace(program, statements=(*statements[:i], text, *statements[i + 1 :]))


@dataclass
class Survey:
    """Counts of outcomes, and the mistakes with their shortest programs."""

    outcomes: Counter[tuple[str, str]]
    refusals: Counter[str]
    mistakes: list[tuple[Program, Outcome]]


def survey(
    seeds: Iterable[int],
    folder: Path,
    every: int = 1,
    most: int = 20,
    checks: Sequence[str] = CHECKS,
) -> Survey:
    """Check programs; ``jit`` and others of one in ``every``. Stop after ``most`` mistakes."""
    result = Survey(Counter(), Counter(), [])
    remaining = iter(seeds)
    while chunk := [*islice(remaining, PROGRAMS_PER_MODULE)]:
        programs = [drawn(seed) for seed in chunk]
        module = load(programs, folder)
        for seed, program in zip(chunk, programs, strict=True):
            chosen = checks if seed % every == 0 else [c for c in checks if c not in SELDOM]
            fun = getattr(module, program.name)
            actual = [*outcomes(program, fun, chosen)]
            for outcome in actual:
                result.outcomes[outcome.check, outcome.kind] += 1
                if outcome.kind == "refused":
                    result.refusals[f"{outcome.check}: {outcome.detail}"] += 1
            first = next((outcome for outcome in actual if outcome.is_mistake), None)
            if first is not None:
                result.mistakes.append(minimized(program, first, folder))
                if len(result.mistakes) >= most:
                    return result
    return result


def main() -> None:
    """Check as many programs as the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1000))
    parser.add_argument("--every", type=int, default=5, help="jit, jvp and vmap of one in so many")
    parser.add_argument("--checks", default=",".join(CHECKS), help="names, with commas between")
    parser.add_argument("--most", type=int, default=20, help="stop after so many mistakes")
    options = parser.parse_args()
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        tinyjax.default_dtypes("float64"),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        checks = options.checks.split(",")
        actual = survey(range(*options.seeds), Path(folder), options.every, options.most, checks)
    for program, outcome in actual.mistakes:
        print(f"{outcome.check} {outcome.kind}: {outcome.detail}")
        print(f"# x of shape {program.point.shape}\n{program}")
    for (check, kind), number in sorted(actual.outcomes.items()):
        print(f"{number:7} {check} {kind}")
    for refusal, number in actual.refusals.most_common(30):
        print(f"{number:7} {refusal}")
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()

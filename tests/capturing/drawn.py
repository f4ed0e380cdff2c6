"""Drawn programs against NumPy and differences: ``python -m capturing.drawn --seeds 0 50000``.

The checks are the modes of ``modes`` for ``source.capture``; with ``staged_`` before them, or
``staged`` alone, for ``jit(control_flow="source")``; and ``read`` for ``source.grad``.

A program is right, or refused with an error of tinyjax's. Everything else is a mistake, which is
printed with the shortest program that shows it.
"""

import argparse
import importlib.util
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from types import ModuleType
from typing import Any, Final

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
#: All modes of programs under ``jit(control_flow="source")``, the first of which is often refused.
STAGED: Final = tuple(
    f"staged_{mode}"
    for mode in (
        *("value", "gradient", "jvp", "hessian", "jit", "gradient_of_jit", "vmap"),
        *("vmap_of_gradient", "vmap_of_jit", "read_only", "twice", "after"),
    )
)
PROGRAMS_PER_MODULE: Final = 100

_module_numbers = count()


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check of a program."""

    check: str
    kind: str  # right, refused, wrong, error or unclear
    detail: str = ""
    error: TinyjaxError | None = None

    @property
    def is_mistake(self) -> bool:
        return self.kind in ("wrong", "error")


def load(programs: Sequence[Program], folder: Path, preamble: str = PREAMBLE) -> ModuleType:
    """Write programs into a module and import it."""
    name = f"drawn_programs_{next(_module_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(preamble + "".join(f"\n\n{program}" for program in programs))
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


def compare(actual: float, expected: float, tolerance: float) -> str:
    return "" if agree(actual, expected, tolerance) else f"{actual!r}, not {expected!r}"


def compare_all(actual: np.ndarray, expected: Sequence[float], tolerance: float) -> str:
    pairs = zip(np.asarray(actual).tolist(), expected, strict=True)
    return next(filter(None, [compare(x, y, tolerance) for x, y in pairs]), "")


def with_slopes(
    program: Program,
    fun: Function,
    differentiated: Callable[[np.ndarray], tuple[float, np.ndarray]],
    slope_there: float,
) -> str:
    """Compare values and slopes at two points; comparisons and orders differ at the second."""
    point, along = program.point, direction(program)
    value, gradient = differentiated(point.copy())
    difference = compare(float(value), float(fun(point.copy())), 1e-11) or compare(
        float(np.vdot(gradient, along)), slope_there, 1e-6
    )
    other = elsewhere_of(point)
    try:
        expected = float(fun(other.copy()))
        first, second = [slope(fun, other, along, step) for step in STEPS]
    except Exception:  # the arrays have other shapes there
        return difference
    value, gradient = differentiated(other.copy())
    difference = difference or compare(float(value), expected, 1e-8)
    if difference or not agree(first, second, 1e-6):
        return difference
    return compare(float(np.vdot(gradient, along)), first, 1e-6)


def stage(fun: Callable[..., Any]) -> Callable[..., Any]:
    return tinyjax.jit(fun, control_flow="source")


def modes(
    program: Program,
    fun: Function,
    lift: Callable[[Callable[..., Any]], Callable[..., Any]],
    expected: float,
    slope_there: float,
) -> dict[str, Callable[[], str]]:
    """Return the ways to use a function of tinyjax's, each compared with the plain function.

    Args:
        program: the program.
        fun: the plain function.
        lift: what tinyjax makes a function of.
        expected: the value at the program's point.
        slope_there: the directional derivative at the program's point.
    """
    point, along, lifted = program.point, direction(program), lift(fun)
    gradient = tinyjax.value_and_grad(lifted)

    def value() -> str:
        for x in (point, elsewhere_of(point), point):
            try:
                there = float(fun(x.copy()))
            except Exception:  # the arrays have other shapes there
                continue
            # elsewhere numbers may be large, and the sines of these inexact
            tolerance = 1e-11 if x is point else 1e-8
            if difference := compare(float(lifted(x.copy())), there, tolerance):
                return difference
        return ""

    def jvp() -> str:
        actual, tangent = tinyjax.jvp(lifted, (point.copy(),), (along,))
        return compare(float(actual), expected, 1e-12) or compare(float(tangent), slope_there, 1e-6)

    def hessian() -> str:
        """Compare the second derivative in the direction."""
        curves = [
            (slope(fun, point + h * along, along, STEPS[0]) - slope_there) / h for h in (4e-3, 2e-3)
        ]
        back = [
            (slope_there - slope(fun, point - h * along, along, STEPS[0])) / h for h in (4e-3, 2e-3)
        ]
        coarse, fine = [(x + y) / 2 for x, y in zip(curves, back, strict=True)]
        _, tangent = tinyjax.jvp(tinyjax.grad(lifted), (point.copy(),), (along,))
        if not agree(coarse, fine, 1e-3) or not agree(curves[0], back[0], 1e-1):
            return ""
        return compare(float(np.vdot(tangent, along)), (4 * fine - coarse) / 3, 1e-3)

    def mapped(fun_of_one: Callable[[np.ndarray], np.ndarray], with_slope: bool) -> str:
        points = [point, elsewhere_of(point), point]
        try:
            values = [float(fun(x.copy())) for x in points]
            slopes = [[slope(fun, x, along, step) for step in STEPS] for x in points]
        except Exception:
            return ""
        actual = tinyjax.vmap(fun_of_one)(np.stack(points))
        if not with_slope:
            return compare_all(actual, values, 1e-8)
        if not all(agree(first, second, 1e-6) for first, second in slopes):
            return ""
        found = np.tensordot(np.asarray(actual), along, along.ndim)
        return compare_all(found, [first for first, _ in slopes], 1e-6)

    def locked() -> np.ndarray:
        copy = point.copy()
        copy.flags.writeable = False
        return copy

    def read_only() -> str:
        try:
            float(fun(locked()))  # np.add.at and the like write there nevertheless
        except ValueError:  # it writes there
            return ""
        return compare(float(lifted(locked())), expected, 1e-11)

    def twice() -> str:
        """Give one array as two arguments, of which a transformation makes copies."""
        given, shared = (point.copy() for _ in range(2))
        actual, gradients = tinyjax.value_and_grad(lift(both), (0, 1))(given, given)
        total = sum(float(np.vdot(gradient, along)) for gradient in gradients)
        return compare(float(actual), both(shared, shared.copy()), 1e-11) or (
            "" if np.any(shared != point) else compare(total, 1.5 * slope_there, 1e-6)
        )

    def both(x: np.ndarray, y: np.ndarray) -> float:
        return fun(x) + 0.5 * fun(y)

    def after() -> str:
        return compare(float(fun(point.copy())), expected, 0.0)

    def differentiated(fun: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> Callable[[], str]:
        return lambda: with_slopes(program, plain, fun, slope_there)

    plain = fun
    return {
        "value": value,
        "gradient": differentiated(gradient),
        "jvp": jvp,
        "hessian": hessian,
        "jit": differentiated(tinyjax.jit(gradient)),
        "gradient_of_jit": differentiated(tinyjax.value_and_grad(tinyjax.jit(lifted))),
        "vmap": lambda: mapped(lifted, with_slope=False),
        "vmap_of_gradient": lambda: mapped(tinyjax.grad(lifted), with_slope=True),
        "vmap_of_jit": lambda: mapped(tinyjax.jit(lifted), with_slope=False),
        "read_only": read_only,
        "twice": twice,
        "after": after,
    }


def outcomes(program: Program, fun: Function, checks: Iterable[str] = CHECKS) -> Iterator[Outcome]:
    """Check a program: its value and derivatives under ``capture`` against the plain function's."""
    point, along = program.point, direction(program)
    expected = float(fun(point.copy()))
    slopes = [slope(fun, point, along, step) for step in STEPS]
    if not agree(slopes[0], slopes[1], 1e-6):
        yield Outcome("differences", "unclear")
        return
    captured = modes(program, fun, source.capture, expected, slopes[0])
    staged = modes(program, fun, stage, expected, slopes[0])
    known = captured | {f"staged_{mode}": check for mode, check in staged.items()}
    known["read"] = lambda: with_slopes(program, fun, source.value_and_grad(fun), slopes[0])
    known["staged"] = known["staged_value"]
    for check in checks:
        try:
            difference = known[check]()
        except TinyjaxError as error:
            detail = f"{type(error).__name__}: {first_line(error)}"
            yield Outcome(check, "refused", detail, error)
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


def thinned(program: Program, check: str, folder: Path) -> Program:
    """Drop what a check refuses, statement by statement, until it takes the program."""
    while program.statements or program.terms:
        module = load([program], folder)
        fun = getattr(module, program.name)
        try:
            fun(program.point.copy())
            (outcome,) = outcomes(program, fun, [check])
            error: Exception | None = outcome.error
        except Exception as raised:
            error = raised
        if error is None:
            return program
        program = program.shortened(_line_of(error, program, module))
    return program


def _line_of(error: Exception, program: Program, module: ModuleType) -> int:
    """Return the line of a program at which it fails, counted from that of its ``def``."""
    where = error.location if isinstance(error, TinyjaxError) else None
    entries = [*traceback.extract_tb(error.__traceback__)]
    lines = [
        x.lineno or 0 for x in entries if (x.filename, x.name) == (module.__file__, program.name)
    ]
    if where is not None and where.filename == module.__file__:
        lines.append(where.lineno)
    first = PREAMBLE.count("\n") + 3
    inside = [line - first for line in lines if line > first]
    if inside:
        return inside[-1]
    helper = where.function.partition(".")[0] if where is not None else ""
    numbered = enumerate(str(program).splitlines())
    return next((i for i, text in numbered if i and helper and f"{helper}(" in text), 10**6)


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
    thin: bool = False,
) -> Survey:
    """Check programs; ``jit`` and others of one in ``every``. Stop after ``most`` mistakes.

    Args:
        seeds: those of the programs.
        folder: where to write them.
        every: of how many programs one has all checks.
        most: the number of mistakes after which to stop.
        checks: their names.
        thin: whether to drop what the first check refuses, so that the rest is checked.
    """
    result = Survey(Counter(), Counter(), [])
    remaining = iter(seeds)
    while chunk := [*islice(remaining, PROGRAMS_PER_MODULE)]:
        programs = [drawn(seed) for seed in chunk]
        if thin:
            programs = [thinned(program, checks[0], folder) for program in programs]
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
    parser.add_argument("--checks", default=",".join(CHECKS), help="names, or all-staged")
    parser.add_argument("--most", type=int, default=20, help="stop after so many mistakes")
    parser.add_argument("--thin", action="store_true", help="drop what the first check refuses")
    options = parser.parse_args()
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        tinyjax.default_dtypes("float64"),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        checks = STAGED if options.checks == "all-staged" else options.checks.split(",")
        seeds = range(*options.seeds)
        actual = survey(seeds, Path(folder), options.every, options.most, checks, options.thin)
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

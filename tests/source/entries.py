"""A program in every entry of tinyjax: read, captured and staged, mapped and compiled.

NumPy gives values, and central differences the slopes. A program is right, or it is refused.
"""

import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError
from tools.modules import module_of

Function = Callable[[np.ndarray], Any]
Lift = Callable[[Function], Callable[..., Any]]
#: The points of a program. At the third comparisons and orders are others.
POINTS: Final = ([0.7, 0.31, 1.43, 0.52], [0.71, 0.33, 1.41, 0.53], [0.23, 1.31, 0.43, 1.57])
STEP: Final = 2e-4
_numbers = count()


def stage(fun: Function) -> Function:
    return tinyjax.jit(fun, control_flow="source")


def _value_of(fun: Function) -> Function:
    return lambda x: (fun(x), None)


#: What is made of a program, which gives its value and its gradient; None is not given.
ENTRIES: Final[dict[str, Lift]] = {
    "read": source.value_and_grad,
    "captured": lambda fun: tinyjax.value_and_grad(source.capture(fun)),
    "compiled capture": lambda fun: tinyjax.jit(tinyjax.value_and_grad(source.capture(fun))),
    "staged": lambda fun: _value_of(stage(fun)),
    "staged gradient": lambda fun: tinyjax.value_and_grad(stage(fun)),
    "eager staged gradient": lambda fun: tinyjax.value_and_grad(source.stage(fun)),
    "compiled gradient": lambda fun: tinyjax.jit(tinyjax.value_and_grad(stage(fun))),
}
#: Likewise, for a stack of points.
MAPPED: Final[dict[str, Lift]] = {
    "mapped": lambda fun: tinyjax.vmap(tinyjax.value_and_grad(stage(fun))),
    "mapped capture": lambda fun: tinyjax.vmap(tinyjax.value_and_grad(source.capture(fun))),
}


class Subject:
    """A program as text, which defines ``f``, and each time that it is made another one."""

    def __init__(self, text: str, folder: Path) -> None:
        self.text = text
        self.folder = folder
        self._code = compile(text, "<plain>", "exec")

    def plain(self) -> Function:
        """Return the function, of which tinyjax knows nothing."""
        scope: dict[str, Any] = {"__name__": "plain"}
        exec(self._code, scope)
        fun: Function = scope["f"]
        return fun

    def fresh(self) -> Function:
        """Return the function of a module of its own."""
        name = f"subject_{next(_numbers)}"
        fun: Function = module_of(self.text, self.folder / f"{name}.py").f
        return fun

    def slopes(self, x: np.ndarray) -> np.ndarray | None:
        """Return the gradient by central differences, extrapolated; None where they disagree."""

        def along(e: np.ndarray, step: float) -> float:
            def difference(h: float) -> float:
                over, under = (float(self.plain()(x + s * h * e)) for s in (1, -1))
                return (over - under) / (2 * h)

            a, b = difference(step), difference(step / 2)
            return (4 * b - a) / 3

        coarse, fine = (
            np.array([along(e, step) for e in np.eye(x.size)]) for step in (STEP, STEP / 2.6)
        )
        return fine if np.allclose(coarse, fine, 1e-6, 1e-6) else None


def _differs(actual: Any, expected: Any, tolerance: float) -> str:
    if actual is None or expected is None:
        return ""
    actual = np.asarray(actual, float)
    if actual.shape == np.shape(expected) and np.allclose(
        actual, expected, tolerance, tolerance, equal_nan=True
    ):
        return ""
    return f"{actual.tolist()}, not {np.asarray(expected).tolist()}"


def outcomes(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield each entry, and what is wrong in it: nothing if it is right, None if it is refused."""
    expected: list[tuple[Any, Any, Any]] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for numbers in POINTS:
            x = np.array(numbers)
            try:
                value = float(subject.plain()(x))
                expected.append((value, subject.slopes(np.array(numbers)), x))
            except Exception as error:
                expected.append((error, None, None))
        for name, lift in ENTRIES.items():
            yield name, _of_entry(subject, lift, expected)
        if not any(isinstance(value, Exception) for value, *_ in expected):
            for name, lift in MAPPED.items():
                yield name, _of_stack(subject, lift, expected)


def check(text: str, folder: Path) -> None:
    """Check that a program, given as text, is right or refused in every entry."""
    results = dict(outcomes(Subject(text, folder)))
    mistakes = {name: x for name, x in results.items() if x and not x.startswith("refused")}
    assert not mistakes, f"{mistakes}\n{text}"


def _of_entry(subject: Subject, lift: Lift, expected: list[tuple[Any, Any, Any]]) -> str:
    fun = subject.fresh()
    lifted = lift(fun)
    pairs = [*zip(POINTS, expected, strict=True)]
    refused = ""
    for numbers, (value, slopes, after) in (*pairs, pairs[0]):
        x = np.array(numbers)
        try:
            actual, gradient = lifted(x)
        except TinyjaxError as error:
            refused = refused or f"refused: {type(error).__name__} {str(error).splitlines()[0]}"
            continue
        except Exception as error:
            if type(error) is type(value):
                continue
            return f"error: {type(error).__name__}: {error}, not {value!r}"
        if isinstance(value, Exception):
            return f"wrong: {actual} where {value!r} is raised"
        if difference := _differs(actual, value, 1e-9):
            return f"wrong value at {numbers}: {difference}"
        if difference := _differs(gradient, slopes, 2e-6):
            return f"wrong gradient at {numbers}: {difference}"
        if not np.array_equal(x, after) and not np.array_equal(x, numbers):
            return f"wrong argument afterwards: {x.tolist()}, not {after.tolist()}"
    for numbers, (value, _, _) in pairs:
        if isinstance(value, Exception):
            continue
        try:
            again = float(fun(np.array(numbers)))
        except Exception as error:
            return f"wrong afterwards: {error!r}"
        if again != value and not (np.isnan(again) and np.isnan(value)):
            return f"wrong afterwards: {again}, not {value}"
    return refused


def _of_stack(subject: Subject, lift: Lift, expected: list[tuple[Any, Any, Any]]) -> str:
    try:
        values, gradients = lift(subject.fresh())(np.array(POINTS))
    except TinyjaxError as error:
        return f"refused: {type(error).__name__} {str(error).splitlines()[0]}"
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"
    for actual, gradient, (value, slopes, _) in zip(values, gradients, expected, strict=True):
        if difference := _differs(actual, value, 1e-8) or _differs(gradient, slopes, 2e-6):
            return f"wrong: {difference}"
    return ""

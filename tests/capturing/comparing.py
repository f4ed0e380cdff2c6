"""Calls of NumPy's functions under ``capture``, held against plain NumPy and differences.

A call is an expression of ``x``, an array in one of several layouts. It is compared by a program
that says all about its result: values, classes, dtypes, shapes, flags, and what is shared. The
result is written to, and then ``x``, so that each shows what the other shares with it.
"""

import functools
import linecache
import math
import random
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy_calls import OTHERS, X

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

#: Where ``x`` lies in memory, or what else it is. ``a`` is the traced argument.
LAYOUTS: Final = {
    "C": "x = np.array(a)",
    "F": "x = np.array(a, order='F')",
    "strided": "base = np.zeros((2, 6)); base[:, ::2] = a; x = base[:, ::2]",
    "reversed": "base = np.array(a[::-1, ::-1]); x = base[::-1, ::-1]",
    "read-only": "x = np.array(a); x.flags.writeable = False",
    "broadcast": "x = np.broadcast_to(a[0], (2, 3))",
    "empty": "x = np.array(a[:0])",
    "zero-dimensional": "x = np.array(a[0, 0])",
    "scalar": "x = a[0, 0]",
    "list": "x = a.tolist()",
    "complex": "x = a + 1j * a[::-1]",
    "float32": "x = np.asarray(a, dtype=np.float32)",
}
#: What is compared, as a program of ``a``; facts are appended to a list.
PROGRAM: Final = """
def program(a, facts, Y=Y, V=V, I=I):
    {layout}
    {names}
    r = {call}
    results = arrays_in(r)
    facts.append(description(r))
    values = [snapshot(y) for y in (*results, x, *others)]
    for y in results:
        if is_array(y) and y.flags.writeable and y.dtype.kind != "O":
            y[...] = y + 1 if y.dtype.kind != "b" else ~y
    values += [snapshot(y) for y in (x, *others)]
    if is_array(x) and x.flags.writeable:
        x[...] = x * 3.0
    return values + [snapshot(y) for y in results]
"""


def is_array(y: Any) -> bool:
    return isinstance(y, np.ndarray)


def snapshot(y: Any) -> Any:
    return np.array(y)


def arrays_in(r: Any) -> list[Any]:
    """Return the arrays and numbers of a result, whatever it is nested in."""
    if isinstance(r, (tuple, list)):
        return [y for item in r for y in arrays_in(item)]
    if isinstance(r, dict):
        return [y for item in r.values() for y in arrays_in(item)]
    return [r] if isinstance(r, (np.ndarray, np.generic, float, complex)) else []


def description(r: Any) -> Any:
    """Return all about a result but its values."""
    if isinstance(r, (tuple, list)):
        return [type(r).__name__, *[description(item) for item in r]]
    if isinstance(r, np.ndarray):
        order = (r.flags.c_contiguous, r.flags.f_contiguous)
        return (type(r).__name__, str(r.dtype), r.shape, r.flags.writeable, order)
    if isinstance(r, np.generic):
        return (type(r).__name__, str(r.dtype))
    if isinstance(r, (float, complex)):
        return type(r).__name__
    return (type(r).__name__, str(r))


SCOPE: Final[dict[str, Any]] = {
    **OTHERS,
    "X": X,
    "random": random,
    "is_array": is_array,
    "snapshot": snapshot,
    "arrays_in": arrays_in,
    "description": description,
}
#: Names that calls use besides ``x``.
NAMES: Final = {
    "k": "k = np.floor(np.asarray(x) * 10).astype(np.int64)",
    "b": "b = np.asarray(x) > 0.5",
    "o": "o = np.full({out}); others.append(o)",
    "v": "v = np.ones(3)",
    "Y": "Y = Y.copy(); others.append(Y)",
    "V": "V = V.copy(); others.append(V)",
    "I": "I = I.copy(); others.append(I)",
}
Program = Callable[[Any, list[Any]], list[Any]]
STEP: Final = 1e-6
#: The size of a difference is that of rounding in single precision.
STEP_OF_SINGLE: Final = 2e-3


@functools.cache
def made(call: str, layout: str, out: str = "") -> Program:
    """Compile the program of a call."""
    names = ["others = []"]
    for name, statement in NAMES.items():
        if re.search(rf"\b{name}\b", call):
            names.append(statement.format(out=out))
    statements, _, expression = call.rpartition(" >> ")
    if statements:
        names.append(statements)
    text = PROGRAM.format(layout=LAYOUTS[layout], names="; ".join(names), call=expression)
    file = f"<{call} of x: {layout} {out}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope = dict(SCOPE)
    exec(compile(text, file, "exec"), scope)
    program: Program = scope["program"]
    return program


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: right, refused, wrong, error, or invalid where NumPy raises."""

    kind: str
    detail: str = ""

    @property
    def is_mistake(self) -> bool:
        return self.kind in ("wrong", "error")


def compared(call: str, layout: str = "C", out: str = "", *, reverse: bool = False) -> Outcome:
    """Run a call plainly and under ``capture``, and compare all that the program says.

    Args:
        call: an expression.
        layout: the name of the layout of ``x``.
        out: the arguments of ``np.full`` that make ``o``.
        reverse: compare the derivative in reverse mode, too.
    """
    program = made(call, layout, out)
    facts: list[Any] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = program(X.copy(), facts)
        except Exception as error:
            return _of_error(program, error)
        try:
            return _compared(program, expected, facts, reverse, layout == "float32")
        except TinyjaxError as error:
            return Outcome("refused", f"{type(error).__name__}: {first_line(error)}")
        except Exception as error:
            return Outcome("error", f"{type(error).__name__}: {first_line(error)}")


def _of_error(program: Program, error: Exception) -> Outcome:
    """Compare a call that NumPy refuses: it is not to have a value under ``capture``."""
    captured = source.capture(lambda a: program(a, []))
    try:
        tinyjax.jvp(captured, (X.copy(),), (X.copy(),))
    except TinyjaxError:
        return Outcome("invalid")
    except Exception as other:
        same = (
            _is_of_misuse(error) or isinstance(other, type(error)) or isinstance(error, type(other))
        )
        actual = f"{type(other).__name__}: {first_line(other)}"
        expected = f"{type(error).__name__}: {first_line(error)}"
        return Outcome("invalid") if same else Outcome("wrong", f"raises {actual}, not {expected}")
    if _is_of_misuse(error):
        return Outcome("invalid")
    return Outcome("wrong", f"does not raise {type(error).__name__}: {first_line(error)}")


def _is_of_misuse(error: Exception) -> bool:
    """Return whether an error says that a program has a mistake, which no program counts on."""
    return isinstance(error, (AttributeError, TypeError, np.exceptions.AxisError))


def _compared(
    program: Program, expected: list[Any], facts: list[Any], reverse: bool, is_single: bool
) -> Outcome:
    found_facts: list[Any] = []
    captured = source.capture(lambda a: program(a, found_facts))
    along = np.cos(1.3 * np.arange(X.size) + 0.2).reshape(X.shape)
    actual, tangents = tinyjax.jvp(captured, (X.copy(),), (along,))
    if found_facts != facts:
        return Outcome("wrong", f"is {found_facts}, not {facts}")
    if len(actual) != len(expected):
        return Outcome("wrong", f"{len(actual)} values, not {len(expected)}")
    for n, (one, other) in enumerate(zip(actual, expected, strict=True)):
        difference = _difference(np.asarray(one), np.asarray(other), n, is_single)
        if difference:
            return Outcome("wrong", difference)
    is_single = is_single or any(
        np.asarray(y).dtype in (np.float32, np.complex64) for y in expected
    )
    step = STEP_OF_SINGLE if is_single else STEP
    ahead, behind = program(X + step * along, []), program(X - step * along, [])
    cotangents = []
    total = 0.0
    for n, (one, more, less) in enumerate(zip(tangents, ahead, behind, strict=True)):
        if np.asarray(more).dtype.kind not in "fc":
            cotangents.append(np.zeros(np.shape(one), np.asarray(actual[n]).dtype))
            continue
        if np.shape(more) != np.shape(less) or np.shape(more) != np.shape(one):
            return Outcome("unclear", "shapes vary")
        if not np.isfinite(expected[n]).all():
            cotangents.append(np.zeros(np.shape(one), np.asarray(actual[n]).dtype))
            continue
        slope = (np.asarray(more) - np.asarray(less)) / (2 * step)
        tolerance = 1e-2 if is_single else 1e-5
        if not np.allclose(one, slope, tolerance, tolerance, equal_nan=True):
            return Outcome("wrong", f"slope {n}: {_short(one)}, not {_short(slope)}")
        cotangents.append(np.cos(np.arange(slope.size) + n).reshape(slope.shape) + 0 * slope)
        if slope.dtype.kind == "c":
            cotangents[-1] = cotangents[-1].astype(slope.dtype)
        total += float(np.sum(np.real(cotangents[-1] * np.asarray(one))))
    if reverse and math.isfinite(total):
        pull = tinyjax.vjp(lambda a: tinyjax.source.capture(program)(a, []), X.copy())[1]
        dtypes = [np.asarray(y).dtype for y in actual]
        (gradient,) = pull([c.astype(d) for c, d in zip(cotangents, dtypes, strict=True)])
        along_it = float(np.sum(np.asarray(gradient) * along))
        if not np.isclose(
            along_it, total, 1e-3 if is_single else 1e-9, 1e-3 if is_single else 1e-9
        ):
            return Outcome("wrong", f"reverse {along_it}, not {total}")
    return Outcome("right")


def _difference(actual: np.ndarray, expected: np.ndarray, n: int, is_single: bool) -> str:
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"value {n}: {actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}"
    if expected.dtype.kind not in "fc":
        same = bool(np.all(actual == expected))
    else:
        is_single = is_single or expected.dtype in (np.float32, np.complex64)
        tolerance = 1e-5 if is_single else 1e-10
        same = np.allclose(actual, expected, tolerance, tolerance, equal_nan=True)
    return "" if same else f"value {n}: {_short(actual)}, not {_short(expected)}"


def _short(y: Any) -> str:
    return " ".join(str(np.asarray(y).tolist()).split())[:150]


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:150]

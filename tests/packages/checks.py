"""The checks of one row: values, gradients, compiled gradients, batches, no traces left."""

import re
import signal
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any, Final

import attrs
import numpy as np
import numpy.typing as npt

import tinyjax
from packages.row import Row
from tinyjax import source

#: A check that takes longer, in seconds, is late.
LIMIT: Final = 25.0
#: Slopes of zero differ from central differences by their rounding.
ZERO: Final = 1e-11
CHECKS: Final = ("value", "grad", "jit", "vmap", "after")

Array = npt.NDArray[np.float64]


@attrs.frozen
class Result:
    """The outcome of a row; times are medians in microseconds, and empty where a check failed."""

    set: str
    package: str
    version: str
    function: str
    compiled: str
    value: str = ""
    grad: str = ""
    jit: str = ""
    vmap: str = ""
    after: str = ""
    us_function: str = ""
    us_first: str = ""
    us_grad: str = ""
    us_jit: str = ""
    #: Of the checks that are not right.
    error: str = ""

    @property
    def is_counted(self) -> bool:
        return not self.compiled

    @property
    def is_right(self) -> bool:
        return all(getattr(self, check) == "right" for check in CHECKS)


class Late(BaseException):
    """Raised by the clock; no ``except Exception`` of a package catches it."""


def _ring(number: int, frame: FrameType | None) -> None:
    raise Late


def attempt(check: Callable[[], str], limit: float = LIMIT) -> tuple[str, str]:
    """Return the status of a check and its error; the check returns what is wrong, if anything."""
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong = check()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Late:
        return "late", f"took longer than {limit:.0f} s"
    except Exception as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        is_ours = type(error).__module__.startswith("tinyjax")
        return "refused" if is_ours else "error", message(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ("wrong", wrong) if wrong else ("right", "")


def message(error: Exception) -> str:
    """Return an error in one line, with the innermost line of the package that raised it."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    outside = [x for x in frames if f"{Path(tinyjax.__file__).parent}" not in x] or frames
    text = f"{type(error).__name__}: {error} [{outside[-1]}]"
    text = re.sub(r"[^\s\[]*/(site-packages|python3\.\d+|tests|src)/", "", text)
    return re.sub(r"\s+", " ", text)[:600]


def difference(result: Any, expected: Any, tolerance: float, absolute: float = 0.0) -> str:
    """Return how two arrays differ, or nothing."""
    actual, desired = np.asarray(result), np.asarray(expected)
    if actual.shape != desired.shape:
        return f"shape {actual.shape}, expected {desired.shape}"
    gap = float(np.max(np.abs(actual - desired), initial=0.0))
    if gap <= tolerance * float(np.max(np.abs(desired), initial=0.0)) + absolute:
        return ""
    return f"{actual.ravel()[:4]}, expected {desired.ravel()[:4]}"


def central(function: Callable[[Any], Any], point: npt.ArrayLike, step: float) -> Array:
    """Return the gradient by central differences of fourth order."""
    x = np.asarray(point, dtype=np.float64)
    gradient = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        h = step * max(abs(float(x[i])), 0.1)

        def moved_by(k: int, i: tuple[int, ...] = i, h: float = h) -> float:
            moved = x.copy()
            moved[i] += k * h
            return number(function(np.float64(moved) if moved.ndim == 0 else moved))

        near, far = moved_by(1) - moved_by(-1), moved_by(2) - moved_by(-2)
        gradient[i] = (8 * near - far) / (12 * h)
    return gradient


def number(value: Any) -> float:
    return float(np.asarray(value).reshape(()))


def median(call: Callable[[], object]) -> str:
    """Return the median time of a call in microseconds."""
    seconds: list[float] = []

    def repeat() -> str:
        call()
        begin = time.perf_counter()
        while len(seconds) < 3 or (len(seconds) < 31 and time.perf_counter() - begin < 0.5):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        return ""

    attempt(repeat, limit=10.0)
    return f"{np.median(seconds) * 1e6:.3g}" if seconds else ""


def check(group: str, row: Row) -> Result:
    """Run all checks of a row."""
    version = metadata.version(row.package)
    outcomes: dict[str, str] = {}
    errors: dict[str, str] = {}
    function, values = row.function, np.zeros(3)
    slopes: list[Array] = []
    points = row.points()  # of the derivatives; other calls get fresh ones, as some packages write

    def record(name: str, run: Callable[[], str]) -> bool:
        outcomes[name], error = attempt(run)
        if error:
            errors[name] = error
        return not error

    captured = source.capture(function)
    gradient = tinyjax.grad(captured)
    compiled = tinyjax.jit(gradient)

    def first_call() -> str:
        start = time.perf_counter()
        np.asarray(gradient(points[0]))
        outcomes["us_first"] = f"{(time.perf_counter() - start) * 1e6:.3g}"
        return ""

    def differences() -> str:
        values[:] = [number(function(x)) for x in row.points()]
        slopes.extend(central(function, x, row.step) for x in row.points())
        return ""

    def equal_value() -> str:
        return difference(number(captured(row.points()[0])), values[0], row.rounding)

    def equal_gradients(derivative: Callable[[Any], Any]) -> str:
        gaps = (
            difference(derivative(x), slope, row.tolerance, ZERO)
            for x, slope in zip(points, slopes, strict=True)
        )
        return "; ".join(x for x in gaps if x)

    def equal_batch() -> str:
        batch = np.asarray(tinyjax.vmap(captured)(row.stacked())).reshape(-1)
        return difference(batch, values, row.rounding)

    def unchanged() -> str:
        given = [difference(x, y, 0.0) for x, y in zip(points, row.points(), strict=True)]
        again = np.array([number(function(x)) for x in row.points()])
        return difference(again, values, 1e-13) or "; ".join(x for x in given if x)

    # before the plain function is called, which shows whether a package has cached traced values
    attempt(first_call)
    if record("after", differences):
        outcomes["us_function"] = median(lambda: function(row.points()[0]))
        record("value", equal_value)
        if record("grad", lambda: equal_gradients(gradient)):
            outcomes["us_grad"] = median(lambda: np.asarray(gradient(points[0])))
        if record("jit", lambda: equal_gradients(compiled)):
            outcomes["us_jit"] = median(lambda: np.asarray(compiled(points[0])))
        record("vmap", equal_batch)
        record("after", unchanged)
    error = "; ".join(f"{name}: {errors[name]}" for name in CHECKS if name in errors)
    return Result(
        group, row.package, version, row.name, row.compiled, error=error[:1500], **outcomes
    )

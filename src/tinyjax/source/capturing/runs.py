"""A run of a captured program: what it refused, and how Python decides on traced values."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeVar

import attrs
import numpy as np

from tinyjax._base import frames
from tinyjax._extensions.callbacks.checks import error_if
from tinyjax.core.tracing.trace import EVAL, Tracer, current_trace
from tinyjax.core.transforms.batching import BatchTracer
from tinyjax.core.transforms.jvp import JVPTrace
from tinyjax.core.transforms.linearize import LinearTrace
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.errors import CaptureError, ConcretizationError, DivergenceError, UndecidedError
from tinyjax.source import numpy_errors
from tinyjax.source.capturing.witness import WitnessTracer
from tinyjax.source.ir import randomness


@attrs.define(eq=False)
class Run:
    """A call of a captured function.

    Attributes:
        refusals: what was refused. An error that the program catches refuses its result.
        texts: the texts that traced values have been written as, by how they begin.
        stores: the containers that values have been stored in, by their identities.
        caches: the states of what cached functions reach, by the functions' identities.
        uses_tinyjax: whether the program has called a function of tinyjax itself.
        handlers: how many blocks it is in whose exceptions the program catches.
        sees_errors: whether it may see the warnings and errors of numbers.
        generators: the generators of random numbers that it seeds.
        matrices: the sparse matrices that code in C, or unwatched, has made in it.
        squares: sums of squares of which some are zero, by their identities.
        flags: truth values among the arguments, which may be Python's or NumPy's.
    """

    refusals: list[ConcretizationError] = attrs.field(factory=list)
    texts: dict[str, set[str]] = attrs.field(factory=dict)
    stores: dict[int, Any] = attrs.field(factory=dict)
    caches: dict[int, dict[int, tuple[Any, bytes | None]]] = attrs.field(factory=dict)
    uses_tinyjax: bool = False
    handlers: int = 0
    sees_errors: bool = False
    generators: randomness.SeededGenerators = attrs.field(factory=randomness.SeededGenerators)
    matrices: dict[int, weakref.ref[Any]] = attrs.field(factory=dict)
    squares: dict[int, Tracer] = attrs.field(factory=dict)
    flags: list[Tracer] = attrs.field(factory=list)


class Handling:
    """A block whose exceptions the program catches: whether functions raise them is a decision."""

    def __init__(self) -> None:
        self.run = current.get()

    def __enter__(self) -> None:
        if self.run is not None:
            self.run.handlers += 1

    def __exit__(self, *_: object) -> None:
        if self.run is not None:
            self.run.handlers -= 1


def is_handling() -> bool:
    """Return whether the program catches exceptions here, or sees errors of numbers."""
    run = current.get()
    return run is not None and (run.handlers > 0 or run.sees_errors)


#: Checks of the results of NumPy's functions, by runs that see the errors of numbers.
checks: Final[list[Callable[[Any, Sequence[Any], Any, Any], None]]] = []


def is_differentiated_once() -> bool:
    """Return whether the program runs on data, and only its first derivative is taken."""
    trace = current_trace()
    if not isinstance(trace, JVPTrace):
        return False
    parent = trace.parent.parent if isinstance(trace.parent, LinearTrace) else trace.parent
    return parent is EVAL


E = TypeVar("E", bound=ConcretizationError)
current: Final[ContextVar[Run | None]] = ContextVar("run of a captured program", default=None)


def refusal(what: str, advice: str = "") -> CaptureError:
    """Make the error that refuses what only data can be used for, and note it."""
    return note_refusal(_needs_data(what, advice).at(frames.user_location()))


def of_type_error(error: TypeError) -> CaptureError:
    """Return the refusal for what code in C raises for the class of a value under capture."""
    text = re.sub("Captured[A-Z]\\w*", "a traced value", str(error))
    return _needs_data(f"What raises ({text})", "")


def _needs_data(what: str, advice: str) -> CaptureError:
    return CaptureError(
        f"{what} needs data, but its value is traced. "
        + (advice or "Give the function that needs it a rule: tinyjax.source.rule.")
    )


def check_no_flag(value: Any, what: str) -> None:
    """Check that a truth value is certainly Python's, or NumPy's.

    Raises:
        CaptureError: it is an argument.
    """
    run = current.get()
    if run is not None and any(value is flag for flag in run.flags):
        raise refusal(f"{what} of a truth value, Python's or NumPy's,", "Make the argument static.")


def check_in_place() -> None:
    """Check that ``a += b`` changes ``a``, which an array of tinyjax's does not.

    Raises:
        CaptureError: the program has called functions of tinyjax, so that it may be one.
    """
    run = current.get()
    if run is not None and run.uses_tinyjax:
        raise note_refusal(
            CaptureError(
                "whether an augmented assignment changes an array is not known in a program that "
                "calls functions of tinyjax: arrays of NumPy change, and those of tinyjax do not. "
                "Write x = x + y in place of x += y, or x[...] = x + y."
            ).at(frames.user_location())
        )


def note_refusal(error: E) -> E:
    """Return an error that refuses the result of the run, though the program catch it."""
    run = current.get()
    if run is not None:
        run.refusals.append(error)
    return error


def check_draw(fun: Any, args: tuple[Any, ...]) -> None:
    """Check that a compiled program does not repeat random numbers.

    Raises:
        CaptureError: it would.
    """
    run = current.get()
    if run is not None and run.generators.repeats(fun, args):
        raise note_refusal(CaptureError(randomness.REFUSAL).at(frames.user_location()))


def note_text(text: str) -> None:
    """Note the text of a traced value, which is not to be read as a number again."""
    run = current.get()
    if run is not None:
        run.texts.setdefault(text[:_SHORTEST_PART], set()).add(text)


def check_no_texts() -> None:
    """Check that no text of a traced value exists where a number is read from text or a file.

    Raises:
        CaptureError: one does.
    """
    run = current.get()
    if run is not None and run.texts:
        raise refusal("a number read from text")


#: Texts that are shorter are found where no digits stand beside them, which others have by chance.
_SHORTEST_PART: Final = 4


def check_no_text(*values: object) -> None:
    """Check that no text of a traced value is read again, as a number or as the key of a cache.

    Raises:
        CaptureError: one is, so that the derivative would be lost.
    """
    run = current.get()
    if run is not None and run.texts and any(_has_text(value, run.texts) for value in values):
        raise refusal("a number that was written as text, to be read again,")


def _has_text(value: object, texts: dict[str, set[str]]) -> bool:
    if isinstance(value, (bytes, bytearray)):
        value = value.decode("latin-1")
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        value = value.ravel().tolist()
    if isinstance(value, str):
        beginnings = {value[i : i + _SHORTEST_PART] for i in range(len(value) - _SHORTEST_PART + 1)}
        short = "|".join([re.escape(text) for text in texts if len(text) < _SHORTEST_PART])
        if short and re.search(rf"(?<![\d.])({short})(?![\d.])", value):
            return True
        return any(text in value for beginning in beginnings for text in texts.get(beginning, ()))
    return isinstance(value, (list, tuple)) and any(_has_text(item, texts) for item in value)


def decide(value: Array | HostArray, purpose: str = "a decision") -> HostArray:
    """Return the data of a traced value that the program's path depends on.

    Raises:
        ConcretizationError: there is no data, since the value is staged.
        DivergenceError: the examples of a batch decide differently.
    """
    if not isinstance(value, Tracer):
        return np.asarray(value)
    if isinstance(value, BatchTracer):
        return _common(value, purpose)
    if isinstance(value, WitnessTracer):
        return value.decided()
    parts = value.components()
    if not parts:
        try:
            return value.concrete(purpose)
        except ConcretizationError as error:
            raise note_refusal(
                UndecidedError(
                    f"a captured program decides by the value of {value.aval}, which "
                    f"{value._trace.describe()} records without data. Capture the whole function "
                    "and apply jit to it, or write np.where in place of if."
                ).at(frames.user_location())
            ) from error
    return decide(parts[0], purpose)


def _common(tracer: BatchTracer, purpose: str) -> HostArray:
    """Return what all examples of a batch decide."""
    rows = np.moveaxis(decide(tracer.val, purpose), tracer.axis, 0)
    if len(rows) and not all(np.array_equal(row, rows[0], equal_nan=True) for row in rows[1:]):
        raise note_refusal(
            DivergenceError(
                "examples of a batch take different paths through the program, which depends on "
                "their values. Map over fewer examples, or write np.where in place of if.",
                tracer._trace,
                rows,
            )
        )
    common: HostArray = rows[0, ...]
    return common


def data(value: Any) -> HostArray | None:
    """Return the data of a value; None where it is staged or batched."""
    value = _innermost(value)
    if isinstance(value, WitnessTracer):
        return value.data
    return None if isinstance(value, Tracer) else np.asarray(value)


def example(value: Any) -> HostArray | None:
    """Return the data of a value, or of the first example of a batch; None where it is staged."""
    value = _innermost(value)
    if not isinstance(value, BatchTracer):
        return data(value)
    batch = example(value.val)
    if batch is None or not batch.shape[value.axis]:
        return None
    first: HostArray = np.asarray(np.take(batch, 0, value.axis))
    return first


def may_vary(value: Any) -> bool:
    """Return whether a value may have a derivative, which one that is only of a batch has not."""
    return may_vary(value.val) if isinstance(value, BatchTracer) else isinstance(value, Tracer)


def is_staged(value: Any) -> bool:
    """Return whether a compiled program will compute a value, so that decisions need guards."""
    value = _innermost(value)
    return is_staged(value.val) if isinstance(value, BatchTracer) else isinstance(value, Tracer)


def _innermost(value: Any) -> Any:
    """Return what the primals of a value are made of: data, a batch, or a staged value."""
    while isinstance(value, Tracer) and not isinstance(value, (BatchTracer, WitnessTracer)):
        parts = value.components()
        if not parts:
            break
        value = parts[0]
    return value


def raise_failures(failures: Iterable[numpy_errors.Failure]) -> None:
    """Raise exceptions whose conditions hold: now, or when a compiled program runs."""
    for failed, error in failures:
        condition = numpy_errors.is_any(failed)
        known = data(condition)
        if known is None and not is_handling():
            error_if(None, condition, f"{type(error).__name__}: {error}")
        elif decide(condition) if known is None else known:
            raise error

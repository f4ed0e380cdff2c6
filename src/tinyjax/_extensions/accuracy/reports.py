"""``accuracy.report``: which digits of a function's results are right, and where others went."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import tracebacks
from tinyjax._base.frames import Direction, Location
from tinyjax._extensions.accuracy import causes, shadows
from tinyjax._extensions.accuracy.causes import CauseTrace, Index, LoopIndex, OperationLoss
from tinyjax.core.tracing import trace as tr


def _loops(loops: tuple[LoopIndex, ...]) -> str:
    return "".join([f", in iteration {x.index} of the {x.loop} at {x.location}" for x in loops])


@attrs.frozen
class ResultDigits:
    """The accuracy of one array of a result.

    Attributes:
        name: the array's path in the result.
        digits: how many digits are right, of all elements but one in twenty, and of the largest
            element's size.
        worst: how many are right of the worst element, relative to its own size.
        most: the number of digits of the dtype.
        index: the index of an element with ``digits``.
        value: what the program computed there.
        shadow: the same in higher precision.
        is_certain: whether the higher precision has digits left.
    """

    name: str
    digits: float
    worst: float
    most: float
    index: Index
    value: float | complex
    shadow: float | complex
    is_certain: bool

    def __str__(self) -> str:
        text = f"{self.name}: {self.digits:.1f} of {self.most:.1f} digits are right"
        if self.digits < self.most - 1:
            where = f"[{', '.join(map(str, self.index))}]" if self.index else ""
            value = f"{self.value:.{max(round(self.most), 1)}g}"
            text += f"; {self.name}{where} is {value}, not {self.shadow:.{round(self.most) + 1}g}"
        if self.worst < self.digits - 0.5:
            text += f"; {self.worst:.1f} of the worst element"
        return text if self.is_certain else text + ", of which no digit is certain either"


@attrs.frozen
class LineLoss:
    """The digits that results lost in one line.

    Attributes:
        location: the line.
        direction: the pass of the line's computation.
        digits: how many were lost there.
        operation: the name of the operation that lost most.
        text: that operation, with its operands and its result.
        reason: what happened there.
        condition: the factor by which relative errors grow there.
        iterations: the iterations in which the loss begins, of each loop around the line.
        examples: the example of each ``vmap``.
        index: the index of the element.
        count: the number of operations of the line that lost digits.
    """

    location: Location | None
    direction: Direction
    digits: float
    operation: str
    text: str
    reason: str
    condition: float
    iterations: tuple[LoopIndex, ...]
    examples: tuple[int, ...]
    index: Index
    count: int

    def __str__(self) -> str:
        line = "" if self.location is None else f"{self.location}: {self.location.text}"
        passes = "" if self.direction == "forward" else f" (in its {self.direction} pass)"
        text = f"{self.digits:4.1f} digits: {line}{passes}\n        {self.text}: {self.reason}"
        if np.isfinite(self.condition):
            text += f", condition number {self.condition:.2g}"
        text += _loops(self.iterations) + "".join([f", in example {i}" for i in self.examples])
        text += f", element {self.index}" if self.index and not self.examples else ""
        return text + (f", and {self.count - 1} more" if self.count > 1 else "")


@attrs.frozen
class DivergentBranch:
    """A decision that the values made, and that their shadows would have made otherwise.

    Attributes:
        kind: what was decided by it.
        location: the user's line.
        count: how often.
        iterations: the iterations in which it was so first, of each loop around the line.
    """

    kind: str
    location: Location | None
    count: int
    iterations: tuple[LoopIndex, ...]

    def __str__(self) -> str:
        times = "once" if self.count == 1 else f"{self.count} times"
        return f"  {self.kind} at {self.location}, {times}{_loops(self.iterations)}"


@attrs.frozen
class AccuracyReport:
    """The accuracy of a function's results, by ``accuracy.report``; ``print`` shows it.

    Attributes:
        results: the accuracy of each array of floats, in order.
        lines: the lines that lost digits which results lack, the worst first.
        branches: the decisions that higher precision would have made otherwise. It follows those of
            the program, so that its results are then those of no program.
        unshadowed: what is not looked into: results of callbacks, which count as exact, numbers
            that Python read, and operations so long ago that they are not kept.
        estimated: the operations of float64 whose own rounding is not computed, and is taken for
            half a unit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import accuracy
        >>> print(accuracy.report(jnp.sin)(1.0))
        result: 7.2 of 7.2 digits are right
    """

    results: tuple[ResultDigits, ...]
    lines: tuple[LineLoss, ...]
    branches: tuple[DivergentBranch, ...]
    unshadowed: tuple[str, ...]
    estimated: tuple[str, ...]

    def __str__(self) -> str:
        parts = [str(x) for x in self.results]
        if self.lines:
            parts += ["digits were lost in", *map(str, self.lines)]
        if self.branches:
            parts += ["higher precision would have decided otherwise:", *map(str, self.branches)]
        if self.unshadowed:
            parts.append(f"not looked into: {', '.join(self.unshadowed)}")
        if self.estimated:
            parts.append(f"the rounding of {', '.join(self.estimated)} is taken for half a unit")
        return "\n".join(parts)


def report(
    fun: Callable[..., Any], *, enough: float | None = None
) -> Callable[..., AccuracyReport]:
    """Return a function that says how many digits of ``fun``'s results are right, and why not more.

    It runs the function once, operation by operation, beside itself in higher precision, as
    ``accuracy.digits`` does. Each error of a result is traced back to the operations in which it
    grew: a cancellation, an overflow, a logarithm near 1, or many roundings.

    Args:
        fun: the function, with all transformations that it has: ``report(grad(f))``.
        enough: of results with fewer right digits than this, lines are named; by default half of
            those of the dtype.

    Returns:
        A function of the same arguments that returns a ``AccuracyReport``.

    Raises:
        ArgumentError: when called, if another transformation runs around it.
        DtypeError: when called, if an operation computes complex128.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import accuracy
        >>> def smaller_root(b, c):
        ...     return -b + jnp.sqrt(b * b - c)
        >>> found = accuracy.report(smaller_root)(1000.0, 1.0)
        >>> print(found.results[0])
        result: 1.6 of 7.2 digits are right; result is -0.0004882812, not -0.00050000013
        >>> found.lines[0].operation, found.lines[0].reason, round(found.lines[0].digits)
        ('add', 'cancellation', 6)
    """

    @partial(tracebacks.folded, named=fun)
    def report_at(*args: Any, **kwargs: Any) -> AccuracyReport:
        parent = tr.current_trace()
        if not isinstance(parent, tr.EvalTrace):
            raise errors.ArgumentError(
                "report looks at data, but another transformation runs around it. Write "
                "report(grad(f)) instead of grad(report(f)), or use accuracy.digits."
            )
        trace, results, losses = (
            CauseTrace(parent, fun),
            list[ResultDigits](),
            list[OperationLoss](),
        )
        with _without_collector():
            out_tree, outs = shadows.run(trace, fun, args, kwargs)
        paths = [path for path, _ in tree.leaves_with_path(tree.unflatten(out_tree, outs))]
        for path, out in zip(paths, outs, strict=True):
            x = out if isinstance(out, shadows.ShadowTracer) else trace.shadowed(out)
            if isinstance(x, shadows.ShadowTracer) and x.size and dtypes.is_inexact(x.dtype):
                one = _result(tree.path_str("result", path), x)
                results.append(one)
                if one.digits < (one.most / 2 if enough is None else enough):
                    unit = float(dtypes.finfo(x.dtype).eps) / 2
                    losses += causes.trace_back(x, one.index, unit)
        branches = [DivergentBranch(*key, *others) for key, others in trace.branches.items()]
        noted = tuple(trace.unshadowed), tuple(trace.estimated)
        return AccuracyReport(tuple(results), tuple(_lines(losses)), tuple(branches), *noted)

    return report_at


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep Python from going through all operations that are kept, time and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _result(name: str, x: shadows.ShadowTracer) -> ResultDigits:
    eps, most = float(dtypes.finfo(x.dtype).eps), shadows.most_digits(x.dtype)
    error, known = causes.errors_of(x).ravel(), causes.relative(x).ravel()
    digits, shadow = _digits(known, most), np.abs(causes.host(x.parts[0])).ravel()
    order = np.argsort(digits, kind="stable")
    place = int(order[len(order) // 20])
    right, largest = digits[place], shadow[np.isfinite(shadow)].max(initial=1e-300)
    by_size = _digits(error.max() / largest, most)
    if by_size < right:
        place, right = int(np.argmax(error)), by_size
    index = tuple([int(i) for i in np.unravel_index(place, x.shape)])
    wide_eps = 2.0**-104 if len(x.parts) == 2 else float(dtypes.finfo(x.parts[0].dtype).eps)
    value, beside = causes.host(x.value)[index].item(), causes.host(x.parts[0])[index].item()
    is_certain = not 1e-2 < known[place] * wide_eps / eps < np.inf
    worst = float(digits[order[0]])
    return ResultDigits(name, float(right), worst, most, index, value, beside, is_certain)


def _digits(error: Any, most: float) -> Any:
    with np.errstate(all="ignore"):
        return np.clip(-np.log10(error), 0.0, most) + 0.0


def _lines(losses: list[OperationLoss]) -> list[LineLoss]:
    """Return the lines that lost a digit at least, the worst first."""
    of_line: dict[Any, list[OperationLoss]] = {}
    for loss in losses:
        source = loss.tracer.source
        location = None if source is None else source.location
        key = location, getattr(source, "direction", "forward")
        of_line.setdefault(key, []).append(loss)
    lines = [_line(key[0], key[1], own) for key, own in of_line.items()]
    return sorted([x for x in lines if x.digits >= 1], key=lambda line: -line.digits)


def _line(location: Location | None, direction: Direction, losses: list[OperationLoss]) -> LineLoss:
    worst, first = max(losses, key=lambda loss: loss.digits), losses[-1]
    x, index, name = worst.tracer, worst.index, str(worst.tracer.primitive)
    result, shadow = causes.host(x.value)[index], causes.host(x.parts[0])[index]
    operands = [y.value if isinstance(y, shadows.ShadowTracer) else y for y in x.operands]
    texts = [
        f"{causes.host(y)[index].item():.7g}" if y.shape == x.shape else str(y.aval)
        for y in operands
    ]
    return LineLoss(
        location,
        direction,
        sum([loss.digits for loss in losses]),
        name,
        f"{name}({', '.join(texts)}) = {result.item():.7g}, not {shadow.item():.7g}",
        _reason(name, worst.condition, result, shadow, len(losses)),
        worst.condition,
        first.tracer.loops,
        tuple([first.index[axis] for axis, _ in first.tracer.examples if axis < len(first.index)]),
        first.index,
        len(losses),
    )


def _reason(name: str, condition: float, result: Any, shadow: Any, count: int) -> str:
    is_sum = name in ("reduce_sum", "dot_general", "cumsum", "reduce_window_sum", "scatter_add")
    if not np.isfinite(result) and np.isfinite(shadow):
        return "overflow" if np.isinf(result) else "an invalid operation"
    if result == 0 and shadow != 0 and condition < 1e3:
        return "underflow"
    if condition > 4:
        near = "logarithm near 1" if name == "log" else "an ill-conditioned operation"
        return "cancellation" if is_sum or name in ("add", "sub") else near
    if name == "convert_element_type":
        return f"rounding to {result.dtype}"
    return "many roundings" if is_sum or count > 1 else "rounding"

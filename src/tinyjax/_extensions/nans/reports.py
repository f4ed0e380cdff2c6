"""The errors of the setting ``debug_nans``: the message for a NaN that leaves."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Final

from tinyjax import config, errors, tree
from tinyjax._base import frames
from tinyjax._extensions.nans import origins
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values.concrete import ConcreteArray


def check_result(result: object, call: Callable[..., object], *args: object) -> None:
    """Raise if a NaN with a known origin is in the result of a transformed function."""
    try:
        leaves = tree.leaves_with_path(result)
    except errors.TinyjaxError:  # a container that cannot be taken apart holds nothing that we know
        return
    causes = [
        (cause, path)
        for path, leaf in leaves
        if isinstance(leaf, ConcreteArray) and (cause := origins.first_cause(leaf)) is not None
    ]
    if causes:
        cause, path = min(causes, key=lambda pair: pair[0].serial)
        where = tree.path_str("result", path)
        of = _users_function(call, *args[:1])
        raise _error(cause, f"It is in {where}." if of is None else f"It is in {where} of {of}.")


def _users_function(*candidates: object) -> str | None:
    """Describe the first that is a function of the user's."""
    for fun in candidates:
        if callable(fun):
            code = getattr(inspect.unwrap(fun), "__code__", None)
            if code is not None and not code.co_filename.startswith(frames.PACKAGE_DIRECTORY):
                return frames.describe_function(fun)
    return None


def check_read(array: ConcreteArray) -> None:
    """Raise where a NaN that was born is read; once, so that it can be looked at afterwards."""
    if not config.settings().debugging or tr.current_trace().evaluates:
        return
    cause = origins.first_cause(array)
    if cause is not None and not cause.reported:
        raise _error(cause, f"It was read in an array of type {array.aval}.")


_PASSES: Final[dict[frames.Direction, str]] = {
    "forward": "",
    "tangent": ", in the tangent of this line",
    "backward": ", in the backward pass of this line",
}


def _error(cause: origins.NanOrigin, end: str) -> errors.NanError:
    cause.reported = True
    parts = [f"{cause.what} was born in {cause.primitive}{_PASSES[cause.direction]}"]
    for iteration in cause.iterations:
        place = "" if iteration.location is None else f" at {iteration.location}"
        parts.append(f", in iteration {iteration.index} of the {iteration.loop}{place}")
    for example in cause.examples:
        parts.append(f", in example {example.index} of a vmap over {example.size}")  # noqa: PERF401
    if cause.values:
        parts.append(f": {cause.values}")
    parts.append(f". {end}")
    if cause.zero and cause.direction != "forward" and cause.what == "a NaN":
        parts.append(
            " Zero times an infinite derivative is NaN. If a product with zeros hides the value "
            "that this is the derivative of, choose instead: where(ok, f(x), y). If a product of "
            "matrices lies between, choose the argument as well: f(where(ok, x, 1.0))."
        )
    return errors.NanError(
        "".join(parts),
        cause.location,
        cause.primitive,
        cause.direction,
        tuple(iteration.index for iteration in cause.iterations),
        tuple(example.index for example in cause.examples),
    )

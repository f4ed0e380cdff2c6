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
    births = [
        (birth, path)
        for path, leaf in leaves
        if isinstance(leaf, ConcreteArray) and (birth := origins.first_birth(leaf)) is not None
    ]
    if births:
        birth, path = min(births, key=lambda pair: pair[0].serial)
        where = tree.path_str("result", path)
        of = _users_function(call, *args[:1])
        raise _error(birth, f"It is in {where}." if of is None else f"It is in {where} of {of}.")


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
    birth = origins.first_birth(array)
    if birth is not None and not birth.reported:
        raise _error(birth, f"It was read in an array of type {array.aval}.")


_PASSES: Final[dict[frames.Direction, str]] = {
    "forward": "",
    "tangent": ", in the tangent of this line",
    "backward": ", in the backward pass of this line",
}


def _error(birth: origins.NanOrigin, end: str) -> errors.NanError:
    birth.reported = True
    parts = [f"{birth.what} was born in {birth.primitive}{_PASSES[birth.direction]}"]
    for iteration in birth.iterations:
        place = "" if iteration.location is None else f" at {iteration.location}"
        parts.append(f", in iteration {iteration.index} of the {iteration.loop}{place}")
    for example in birth.examples:
        parts.append(f", in example {example.index} of a vmap over {example.size}")  # noqa: PERF401
    if birth.values:
        parts.append(f": {birth.values}")
    parts.append(f". {end}")
    if birth.zero and birth.direction != "forward" and birth.what == "a NaN":
        parts.append(
            " Zero times an infinite derivative is NaN. If a product with zeros hides the value "
            "that this is the derivative of, choose instead: where(ok, f(x), y). If a product of "
            "matrices lies between, choose the argument as well: f(where(ok, x, 1.0))."
        )
    return errors.NanError(
        "".join(parts),
        birth.location,
        birth.primitive,
        birth.direction,
        tuple(iteration.index for iteration in birth.iterations),
        tuple(example.index for example in birth.examples),
    )

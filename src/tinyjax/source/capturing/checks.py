"""A check of derivatives under capture: one directional derivative against a difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tinyjax import tree
from tinyjax._base.frames import describe_function
from tinyjax.core.api import derivatives
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.errors import CaptureError
from tinyjax.source.capturing import runs

#: Steps of the differences, relative to the arguments.
_STEPS: Final = (1e-4, 1e-5, 1e-6)
#: So far apart are derivatives that differ, relative to the largest.
_TOLERANCE: Final = 1e-3


def check_derivative(
    fun: Callable[..., Any], captured: Callable[..., Any], args: Any, kwargs: Any
) -> None:
    """Compare the derivative along one direction with differences of the function itself.

    Nothing is compared where the data of an argument is not known, where nothing is a float, and
    where the differences do not settle, as at a kink.

    Args:
        fun: the function.
        captured: the function under capture.
        args: its arguments, which may be traced.
        kwargs: its keyword arguments.

    Raises:
        CaptureError: the value or the derivative is another one.
    """
    leaves, structure = tree.flatten((args, kwargs))
    data = [_data(leaf) for leaf in leaves]
    places = [i for i, x in enumerate(data) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    if not places or any(x is None for x in data):
        return
    generator = np.random.default_rng(len(leaves))
    directions = [generator.standard_normal(data[i].shape) for i in places]

    def moved(step: Any) -> list[Any]:
        values = [x.copy() if isinstance(x, np.ndarray) else x for x in data]
        for i, direction in zip(places, directions, strict=True):
            values[i] = values[i] + step * (np.maximum(np.abs(values[i]), 0.1) * direction)
        return values

    def plain(step: float) -> HostArray:
        numbers = [x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in moved(step)]
        own_args, own_kwargs = tree.unflatten(structure, numbers)
        return _flat(fun(*own_args, **own_kwargs))

    def along(step: Any) -> Any:
        own_args, own_kwargs = tree.unflatten(structure, moved(step))
        out = captured(*own_args, **own_kwargs)
        return [x for x in tree.leaves(out) if _is_float(x)]

    with tr.use_trace(tr.EVAL):
        value, slope = derivatives.jvp(along, (np.float64(0.0),), (np.float64(1.0),))
        compared = [("value", _flat(value), plain(0.0), 1e-7)]
        differences = [(plain(h) - plain(-h)) / (2 * h) for h in _STEPS]
        if _settle(differences):
            compared.append(("derivative", _flat(slope), differences[1], _TOLERANCE))
    for name, ours, expected, tolerance in compared:
        if not _are_close(ours, expected, tolerance):
            raise CaptureError(
                f"under capture {describe_function(fun)} has the {name} {ours[:4]}, but NumPy's is "
                f"{expected[:4]}. It keeps data between calls, hands it to code that is not "
                "captured, or depends on something else than its arguments."
            )


def _data(leaf: Any) -> Any:
    if isinstance(leaf, (Array, np.generic, float)):
        return runs.data(leaf) if isinstance(leaf, Array) else np.asarray(leaf)
    return leaf


def _is_float(x: Any) -> bool:
    return np.asarray(x).dtype.kind == "f" if not isinstance(x, Array) else x.dtype.kind == "f"


def _flat(result: Any) -> HostArray:
    parts = [np.ravel(np.asarray(x)) for x in tree.leaves(result) if _is_float(x)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _settle(differences: Sequence[HostArray]) -> bool:
    """Return whether differences of all steps are alike, so that they are a derivative."""
    scale = max(float(np.max(np.abs(d), initial=0.0)) for d in differences)
    spread = max(float(np.max(np.abs(d - differences[0]), initial=0.0)) for d in differences)
    return bool(np.isfinite(scale)) and spread <= _TOLERANCE / 4 * scale


def _are_close(ours: HostArray, expected: HostArray, tolerance: float) -> bool:
    """Return whether numbers differ by no more than a part of the largest."""
    if ours.shape != expected.shape or not np.array_equal(np.isnan(ours), np.isnan(expected)):
        return False
    scale = max(float(np.max(np.abs(expected), initial=0.0)), 1e-12)
    return not np.any(np.abs(ours - expected) > tolerance * scale)

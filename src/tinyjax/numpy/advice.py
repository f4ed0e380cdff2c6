"""Advice in errors of traced values whose data is requested.

``core.tracing.trace`` raises these errors, and finds this module by the hook ``advice``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from importlib import import_module
from types import FrameType, FunctionType
from typing import Any, Final

import numpy as np

from tinyjax import numpy as jnp
from tinyjax._base import frames
from tinyjax.core.tracing.trace import Tracer


def on_data(tracer: Tracer, purpose: str, conversion: str) -> tuple[str, frames.Location | None]:
    """Return what to write where the data of a traced value is requested, and the line of that.

    Args:
        tracer: the value.
        purpose: the request.
        conversion: how a number without a derivative is written; "" where it may have one.
    """
    of_scipy = advise_of_scipy(frames.user_frame())
    if of_scipy is not None:
        return of_scipy
    if conversion:
        constant = conversion.format("tinyjax.lax.stop_gradient(x)")
        advice = (
            "Use NumPy's function, or tinyjax.numpy's, instead of one of math. For a constant, "
            f"write {constant}. {_CAPTURE}"
        )
    else:
        advice = _ADVICE.get(purpose, compute_outside)(tracer)
    return advice, frames.user_location()


_CAPTURE: Final = (
    "tinyjax.source.capture takes programs that use math, or write into NumPy's arrays."
)
#: By transformation, what can be made of an argument so that it is known, and by which option.
_KNOWN_ARGUMENTS: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(
        ("jit", "make_jaxpr", "checkpoint"), ("the argument static", "static_argnums=...")
    ),
    "pmap": ("the argument static", "static_broadcasted_argnums=..."),
    "vmap": ("it an argument that all examples share", "in_axes=None"),
}


def _known_argument(tracer: Tracer) -> tuple[str, str] | None:
    known = (_KNOWN_ARGUMENTS.get(trace.applied) for trace in tracer.origin_traces())
    return next(filter(None, known), None)


def compute_outside(tracer: Tracer) -> str:
    """Return advice on how a value can be known while the program is recorded."""
    known = _known_argument(tracer)
    if known is None:
        return "Compute this outside of the function."
    return f"Make {known[0]} ({known[1]}), or compute this outside of the function."


def _choose_by_value(tracer: Tracer) -> str:
    ways = ["jnp.where or lax.cond for if", "lax.while_loop for while", "tinyjax.source.stage"]
    known = _known_argument(tracer)
    if known is not None:
        ways.append(known[1].removesuffix("=..."))
    *first, last = ways
    return f"Use {', '.join(first)}, or {last}."


def _know_sizes(tracer: Tracer) -> str:
    known = _known_argument(tracer)
    return (
        "Shapes and range() need Python ints: take them from x.shape"
        + (f", or make {known[0]} ({known[1]})" if known else "")
        + ". Use lax.fori_loop in place of a for loop whose length is traced."
    )


_ADVICE: Final[dict[str, Callable[[Tracer], str]]] = {
    "a Python bool": _choose_by_value,
    "a Python index": _know_sizes,
    "a Python int": lambda x: f"Keep an array: x.astype(int). {x.advise()}",
    "a Python float": lambda x: (
        f"Keep the array: NumPy's functions and tinyjax.numpy's take it. {x.advise()} {_CAPTURE}"
    ),
    "a formatted number": (
        lambda _: "Print it when there is data: tinyjax.debug.print('{x:.2f}', x=x)."
    ),
}


# An array of NumPy's

#: Functions that make an array of NumPy's, or take some arguments for granted.
_CONVERTERS: Final = (
    r"\b(?:np|numpy)\.(as\w*array\w*|array|choose|full_like|put|repeat|take|vectorize)\("
)
_SCALAR: Final = r"\b(?:np|numpy)\.((?:float|u?int|complex)\d+)\("


def on_array() -> tuple[str, frames.Location | None]:
    """Return what to write where an array of NumPy's is requested, and the line of the request."""
    frame, masked = frames.user_frame(), False
    if (advice := advise_of_scipy(frame)) is not None:
        return advice
    while frame is not None and frame.f_code.co_filename.startswith(_NUMPY):
        masked = masked or frame.f_globals["__name__"].startswith("numpy.ma")
        frame = frame.f_back
    if frame is None:
        return _ANYWHERE, None
    location = frames.Source(frame.f_code, frame.f_lasti).location
    line = location.text
    if masked:
        return "Fill the gaps of masked arrays, x.filled(value): the mask would be lost.", location
    if "random." in line:
        return "Use tinyjax.random, whose functions take a key.", location
    if match := re.search(_CONVERTERS, line):
        name = match[1] if match[1] in jnp.__all__ else "asarray"
        return f"Write jnp.{name} in place of np.{match[1]}.", location
    if match := re.search(_SCALAR, line):
        return f"Write x.astype(np.{match[1]}) in place of np.{match[1]}(x).", location
    return _ANYWHERE, location


def advise_of_scipy(frame: FrameType | None) -> tuple[str, frames.Location] | None:
    """Return what to write in place of SciPy's function that runs here, and where it is called.

    Args:
        frame: the innermost frame that is not ours.

    Returns:
        None where the frame is not SciPy's, or NumPy's on behalf of SciPy.
    """
    inner: list[FrameType] = []
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_LIBRARIES):
        inner.append(frame)
        frame = frame.f_back
    paths = [path for f in reversed(inner) for path in _paths_in_scipy(f)]
    if not paths or frame is None:
        return None
    ours: Any = import_module("tinyjax.scipy")
    for path in paths:
        if reduce(lambda x, part: getattr(x, part, None), path.split("."), ours) is not None:
            advice = f"Write tinyjax.scipy.{path} in place of scipy.{path}."
            break
    else:
        advice = (
            f"scipy.{paths[0]} takes no traced arrays, and tinyjax.scipy has no such function. "
            "Compute it outside of the function, or by tinyjax.pure_callback."
        )
    return advice, frames.Source(frame.f_code, frame.f_lasti).location


def _paths_in_scipy(frame: FrameType) -> Iterator[str]:
    """Name the public function, method or class of SciPy's that a frame runs, without ``scipy``."""
    parts = frame.f_globals["__name__"].split(".")
    owner, name = frame.f_locals.get("self"), frame.f_code.co_name
    if parts[0] != "scipy" or parts[1].startswith("_"):
        return
    names = [type(owner).__name__] if name in ("__init__", "__call__") else [name]
    if "<locals>" in frame.f_code.co_qualname:  # of a decorator
        names += [x.__name__ for x in frame.f_locals.values() if isinstance(x, FunctionType)]
    if isinstance(distribution := getattr(owner, "name", None), str):
        names = [f"{distribution}.{name}"]
    public = [size for size in range(2, len(parts) + 1) if not parts[size - 1].startswith("_")]
    for size in reversed(public):
        module = sys.modules[".".join(parts[:size])]
        for path in names:
            if path.split(".")[0] in getattr(module, "__all__", ()):
                yield ".".join([*parts[1:size], path])


_LIBRARIES: Final = ("scipy.", "numpy.", "numpy")
_NUMPY: Final = str(np.__file__).removesuffix("__init__.py")
_ANYWHERE: Final = (
    "Write jnp.asarray(table)[x] in place of table[x], and jnp.asarray(x) where an array of "
    "NumPy's is made; tinyjax.source.capture takes programs that write into NumPy's arrays."
)

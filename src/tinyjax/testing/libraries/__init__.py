"""``check_library``: random calls of a library's functions, held against a reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np

from tinyjax import config, errors
from tinyjax.core.api.derivatives import jvp, vjp
from tinyjax.core.jit import jit
from tinyjax.core.values import Array
from tinyjax.numpy import asarray
from tinyjax.testing.libraries import check, drawing, drawn_calls, parameters, signatures
from tinyjax.testing.primitives import Report
from tinyjax.testing.specs import CheckError


def check_library(
    module: ModuleType,
    reference: ModuleType,
    names: Sequence[str] | None = None,
    *,
    given: Mapping[str, Mapping[str, parameters.Strategy]] | None = None,
    known: Callable[[check.Mismatch], bool] = lambda mismatch: False,
    calls: int = 10,
    seed: str = "0",
) -> Report:
    """Hold the functions of a module of yours against those of the same names in another.

    Calls are drawn at random: arrays of all shapes and dtypes, with the values at which formulas
    break, and other parameters by their annotations and names. A call is made eagerly, compiled,
    and by the reference. All three give the same values, up to rounding, the same dtypes, or each
    an error; and yours are errors of ``tinyjax.errors``.

    Args:
        module: functions of arrays, written with tinyjax.
        reference: functions of NumPy arrays, such as ``numpy``.
        names: which functions; by default all public ones that both modules have.
        given: what to give parameters, by function and name: functions of the call drawn so far
            (``tinyjax.testing.libraries.parameters``).
        known: whether a difference is meant to be.
        calls: how many calls of each function there are.
        seed: other seeds give other calls.

    Returns:
        What was checked.

    Raises:
        CheckError: a call differs; the message shows all that do.
        ArgumentError: the modules have no function in common, or a name is not in both.

    Example:
        >>> import numpy as np, tinyjax.numpy as jnp
        >>> from tinyjax.testing import check_library
        >>> check_library(jnp, np, ["negative", "transpose"], calls=3).checked
        ('negative', 'transpose')
    """
    library = drawn_calls.Library(
        module.__name__,
        module,
        asarray,
        np.asarray,
        lambda x: isinstance(x, (Array, np.ndarray)),
        lambda wide: config.default_dtypes("float64" if wide else "float32"),
        SimpleNamespace(jit=jit, jvp=jvp, vjp=vjp),
        weak=False,
    )
    other = drawn_calls.Library(
        reference.__name__,
        reference,
        lambda host: host,
        np.asarray,
        lambda x: isinstance(x, (np.ndarray, np.generic)),
        lambda wide: nullcontext(),
        weak=False,
    )
    catalogue = signatures.Catalogue(by_function=given or {})
    by_path = {function.path: function for function in catalogue.functions(library, other)}
    paths = tuple(by_path) if names is None else tuple(names)
    unknown = [name for name in paths if name not in by_path]
    if unknown or not paths:
        raise errors.ArgumentError(
            f"{module.__name__} and {reference.__name__} do not both have functions called "
            f"{unknown or 'anything'}."
        )
    differences: list[check.Mismatch] = []
    for name in paths:
        for turn in range(calls):
            draw = drawing.Draw(f"{seed}/{name}/{turn}")
            call = catalogue.draw_call(by_path[name], draw)
            differences += [m for m in check.check_call(call, library, other) if not known(m)]
    if differences:
        first = differences[0]
        text = "\n".join(map(str, differences))
        raise CheckError(module.__name__, first.call.path, str(first.call), f"\n{text}")
    return Report(module.__name__, paths, {}, {})

"""Exceptions that functions raise for their data, which a program may catch.

Whether a function raises is a decision of the program. Where the data is known, the function itself
says it. Where a compiled program or a batch computes it, it is a decision only in a block whose
exceptions the program catches; elsewhere the result is NaN or infinite, as that of NumPy's is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import numpy as jnp, tree
from tinyjax.core.values import Array
from tinyjax.source.capturing import ndarrays, runs


def _leaves(x: Any) -> list[Array]:
    """Return the traced numbers and arrays in a value that may be infinite or NaN."""
    leaves = map(ndarrays.unwrap, tree.leaves(x, is_leaf=ndarrays.is_captured))
    return [leaf for leaf in leaves if isinstance(leaf, Array) and leaf.dtype.kind in "fc"]


def decide_signs(*numbers: Any) -> None:
    """Decide by the signs of numbers, and by which of them are zero, infinite or NaN."""
    values = [jnp.ravel(leaf)[0] for leaf in _leaves(numbers)]
    if not values:
        return
    real = [part for x in values for part in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    x = jnp.stack([part.astype(np.float64) for part in real])
    kinds = jnp.where(jnp.isnan(x), 3.0, jnp.sign(x) * jnp.where(jnp.isinf(x), 2.0, 1.0))
    runs.decide(kinds.astype(np.int8))


def check_finite(function: Any, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> Any:
    """Raise what a function raises for arguments whose result is not finite.

    Returns:
        What it gives, if it raises nothing; None where the result is finite, or nobody sees it.
    """
    values = _leaves(result)
    data = [runs.data(value) for value in values]
    if not values or (any(x is None for x in data) and not runs.is_handling()):
        return None
    if not any(map(runs.is_staged, values)) and all(
        x is not None and np.isfinite(x).all() for x in data
    ):
        return None
    if runs.decide(_are_finite(values)):
        return None
    runs.decide(_are_finite(_leaves((args, kwargs))))
    data, options = ndarrays.known_data((args, kwargs), runs.example)
    return function(*data, **options)


def begin_to_see() -> None:
    """Let the program see, until its run ends, the warnings and errors that numbers cause."""
    run = runs.current.get()
    if run is not None and not run.sees_errors:
        run.sees_errors = True
        runs.checks.append(_check_seen)


def end_to_see(run: runs.Run) -> None:
    """End what ``begin_to_see`` began, if it was called."""
    if run.sees_errors:
        runs.checks.pop()


def _check_seen(function: Any, args: Sequence[Any], kwargs: Any, result: Any) -> None:
    run = runs.current.get()
    if run is not None and run.sees_errors:
        check_finite(function, args, kwargs, result)


def _are_finite(values: Sequence[Array]) -> Array:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(value)) for value in values]))

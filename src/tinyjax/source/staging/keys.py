"""Keys of caches in staged programs: a derivative is refused where one is found.

Whether it is, is known when the program runs, and whether that matters, when it is differentiated.
So the comparison passes through a function whose rule for derivatives makes the check.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._base.frames import Location
from tinyjax._extensions.callbacks import checks
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array
from tinyjax.custom_derivatives import SymbolicZero, custom_jvp
from tinyjax.source.adjoint.lookups import OF_KEY
from tinyjax.source.ir import runtime
from tinyjax.source.staging import values


@attrs.frozen
class _Search:
    """Represent a search for a key.

    Attributes:
        location: the user's line.
        lacks: whether it asks whether the key is not there.
    """

    location: Location
    lacks: bool


def result_of_search(
    function: Any, key: Any, table: Any, result: Array, location: Location
) -> Array:
    """Return the result of a search for a key, of which no derivative is taken where it finds it.

    Args:
        function: the function that searches.
        key: what it searches for.
        table: where it searches.
        result: its result.
        location: the user's line.
    """
    search = _Search(location, runtime.is_in(function, _LACKING))
    numbers = _inexact(key)
    return _result_of_search(search, numbers, _inexact(table), result) if numbers else result


def _inexact(value: Any) -> list[Array]:
    parts = values.take_apart(value)[0]
    return [x for x in parts if isinstance(x, Array) and dtypes.is_inexact(x.dtype)]


@partial(custom_jvp, nondiff_argnums=(0,))
def _result_of_search(
    search: _Search, key: list[Array], table: list[Array], result: Array
) -> Array:
    return result


@partial(_result_of_search.defjvp, symbolic_zeros=True)
def _result_of_search_jvp(search: _Search, primals: Any, tangents: Any) -> tuple[Array, Any]:
    (*_, result), (key, table, tangent) = primals, tangents
    may_vary = [any(not isinstance(x, SymbolicZero) for x in part) for part in (key, table)]
    if result.size and may_vary == [True, False]:
        is_there = ~jnp.any(result) if search.lacks else jnp.all(result)
        tr.bind(checks.error_if_p, (is_there,), checks.ErrorIfParams(OF_KEY, search.location))
    return result, tangent


#: Functions that ask whether a key is not there.
_LACKING: Final = (operator.ne, runtime.lacks, np.not_equal)

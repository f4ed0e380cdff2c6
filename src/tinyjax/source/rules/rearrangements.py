"""Rules of functions whose results are items of what they are given, in another order.

Such a function is applied to the numbers of the items, and so tells where each item has gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.array import Array
from tinyjax.source.origins import write_function
from tinyjax.source.rules.containers import like_items
from tinyjax.source.rules.registry import Function, Rule, adjoint_of, inert, rules


def is_inexact_value(x: Any) -> bool:
    """Whether a number or an array has a derivative."""
    return np.asarray(x).dtype.kind in "fcO" if not isinstance(x, Array) else True


def nested_shape(x: Any) -> tuple[int, ...]:
    """The shape of an array made of nested lists."""
    if isinstance(x, (list, tuple)) and x:
        return (len(x), *nested_shape(x[0]))
    return np.shape(x)


def nested_like(ct: Any, x: Any) -> Any:
    """The cotangent of an array as that of the nested lists that it was made from."""
    if isinstance(x, (list, tuple)):
        parts = [nested_like(ct[i], x[i]) for i in range(len(x))]
        return parts if isinstance(x, list) else tuple(parts)
    return ct


def places_in(fun: Function, x: Any, args: Any, keywords: Any) -> Any:
    """Which item each of the result is, counted from one; 0 where it is none of them."""
    numbers = np.arange(1, np.size(x) + 1).reshape(np.shape(x))
    if fun is np.pad:
        keywords = {k: v for k, v in keywords.items() if k != "constant_values"}
    return fun(numbers, *args, **keywords)


def places_along(subscripts: str, shape: tuple[int, ...]) -> Any:
    """The numbers of the items, from one, that np.einsum takes of a diagonal."""
    return np.einsum(subscripts, np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape))


def scattered(ct: Any, where: Any, shape: tuple[int, ...]) -> Any:
    """The cotangent of an array whose items were taken to where their numbers stand."""
    if isinstance(where, (list, tuple)):
        total = np.zeros(shape)
        for i, places in enumerate(where):
            if ct[i] is not None:
                total = total + scattered_array(ct[i], places, shape)
        return total
    return scattered_array(ct, where, shape)


def scattered_array(ct: Any, where: Any, shape: tuple[int, ...]) -> Any:
    """The same, where the result is one array."""
    size = int(np.prod(shape, dtype=int)) + 1
    if isinstance(ct, Array):
        return jnp.zeros(size, ct.dtype).at[where].add(ct)[1:].reshape(shape)
    found = np.zeros(size, np.result_type(ct))
    np.add.at(found, where, ct)
    return found[1:].reshape(shape)


@adjoint_of(scattered_array)
def scattered_array_adjoint(ct: Any, y: Any, x: Any, where: Any, shape: Any) -> Any:
    """The derivative of scattered_array."""
    return np.concatenate([np.zeros(1), np.ravel(ct)])[where], None, None


def numbered(x: Any, start: int) -> tuple[Any, int]:
    """Nested lists of arrays with the numbers of their items in their places."""
    if isinstance(x, (list, tuple)):
        items = []
        for part in x:
            item, start = numbered(part, start)
            items.append(item)
        return items, start
    end = start + int(np.size(x))
    return np.arange(start, end).reshape(np.shape(x)), end


def places_of(fun: Function, parts: Any, args: Any, keywords: Any) -> Any:
    """Where in the result the items of several arrays are: nested lists of indices."""
    numbers, count = numbered(parts if isinstance(parts, (list, tuple)) else [*parts], 0)
    out = np.ravel(fun(numbers, *args, **keywords))
    order = np.empty(count, int)
    order[out] = np.arange(count)
    return _looked_up(order, numbers)


def _looked_up(order: Any, numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_looked_up(order, part) for part in numbers]
    return order[numbers]


def picked(flat: Any, where: Any) -> Any:
    """The items at indices, in the nested lists of these."""
    if isinstance(where, list):
        return [picked(flat, part) for part in where]
    return flat[where]


inert.update((is_inexact_value, nested_shape, places_in, places_along, places_of))


def _rearrangement(fun: Function, several: bool = False) -> None:
    """Give a function its rule whose result has items of its argument, or of several, as items."""
    name = f"np_{fun.__name__}_adjoint"
    called = f"np.{fun.__name__}"
    found = (
        f"like_items(picked(np.ravel(ct), places_of({called}, x, rest, keywords)), x)"
        if several
        else f"nested_like(scattered(ct, places_in({called}, x, rest, keywords), np.shape(x)), x)"
    )
    text = (
        f"def {name}(ct, y, x, /, *rest, **keywords):\n"
        f"    found = {found}\n"
        "    return (found, *[None for _ in rest], *[None for _ in keywords])\n"
    )
    namespace = {
        "__name__": __name__,
        "np": np,
        "like_items": like_items,
        "nested_like": nested_like,
        "picked": picked,
        "places_in": places_in,
        "places_of": places_of,
        "scattered": scattered,
    }
    globals()[name] = write_function(name, text, namespace)
    rules[fun] = Rule(globals()[name])


_REARRANGING: Final[tuple[Function, ...]] = (
    np.roll, np.rot90, np.fliplr, np.flipud, np.rollaxis, np.tile, np.repeat, np.take,
    np.take_along_axis, np.diag, np.diagonal, np.diagflat, np.tril, np.triu, np.delete, np.resize,
    np.pad, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.atleast_1d,
    np.atleast_2d, np.atleast_3d, np.matrix_transpose,
)  # fmt: skip
_JOINING: Final[tuple[Function, ...]] = (
    np.vstack, np.hstack, np.dstack, np.column_stack, np.block
)  # fmt: skip
for _fun in _REARRANGING:
    _rearrangement(_fun)
for _fun in _JOINING:
    _rearrangement(_fun, several=True)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Function:
        """The adjoints that are generated here, for the texts that import them."""

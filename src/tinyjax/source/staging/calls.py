"""What functions that are not read mean for traced values.

Operators and the functions of tinyjax take tracers as they are. A built-in function or one of
``math`` or NumPy would ask a tracer for its data, so the function of tinyjax that does the same
takes its place.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.trace import Tracer
from tinyjax.errors import SourceError
from tinyjax.scipy import special
from tinyjax.source import runtime
from tinyjax.source.staging import items
from tinyjax.source.staging.values import holds_tracer, is_undecided, truth

Leaf = Callable[..., Any]


def negated(value: Any) -> Any:
    """``not value``."""
    found = truth(value)
    return jnp.logical_not(found) if isinstance(found, Array) else not found


def contained(item: Any, container: Any) -> Any:
    """``item in container``."""
    if isinstance(container, Array):
        return jnp.any(container == item)
    if isinstance(container, (tuple, list, range)):
        return any_of([item == other for other in container])
    return item in container


def missing(item: Any, container: Any) -> Any:
    """``item not in container``."""
    return negated(contained(item, container))


def any_of(values: Any) -> Any:
    """``any`` of values of which some may be traced."""
    found: Any = False
    for value in runtime.items_of(values):
        here = truth(value)
        if here is True:
            return True
        if isinstance(here, Array):
            found = here if found is False else jnp.logical_or(found, here)
    return found


def all_of(values: Any) -> Any:
    """``all`` of values of which some may be traced."""
    return negated(any_of([negated(value) for value in runtime.items_of(values)]))


def _extreme(compare: Callable[[Any, Any], Any], values: tuple[Any, ...], options: Any) -> Any:
    key = options.get("key") or (lambda x: x)
    candidates = [*values[0]] if len(values) == 1 else values
    if not candidates and "default" in options:
        return options["default"]
    best, *rest = candidates
    measure = key(best)
    for value in rest:
        found = key(value)
        better = truth(compare(found, measure))
        if isinstance(better, Array):
            best, measure = jnp.where(better, value, best), jnp.where(better, found, measure)
        elif better:
            best, measure = value, found
    return best


def least(*values: Any, **options: Any) -> Any:
    """``min`` of scalars."""
    return _extreme(operator.lt, values, options)


def greatest(*values: Any, **options: Any) -> Any:
    """``max`` of scalars."""
    return _extreme(operator.gt, values, options)


def in_order(values: Any, **options: Any) -> Any:
    """``sorted`` of scalars."""
    values = [*values]
    if options.get("key") is not None or not any(map(is_undecided, values)):
        return sorted(values, **options)
    found = jnp.sort(jnp.stack([jnp.asarray(value) for value in values]))
    if options.get("reverse"):
        found = found[::-1]
    return [found[i] for i in range(found.shape[0])]


def whole(value: Any) -> Any:
    """``int`` of a scalar."""
    return value if jnp.isdtype(value.dtype, "integral") else jnp.trunc(value).astype(int)


def real_number(value: Any) -> Any:
    """``float`` of a scalar."""
    return value if jnp.isdtype(value.dtype, "real floating") else value.astype(float)


def true_or_false(value: Any) -> Any:
    """``bool`` of a scalar."""
    return truth(value)


def rounded(value: Any, ndigits: int | None = None) -> Any:
    """``round`` of a scalar."""
    return jnp.round(value).astype(int) if ndigits is None else jnp.round(value, ndigits)


def floor_of(value: Any) -> Any:
    """``math.floor``."""
    return jnp.floor(value).astype(int)


def ceil_of(value: Any) -> Any:
    """``math.ceil``."""
    return jnp.ceil(value).astype(int)


def log_of(value: Any, base: Any = None) -> Any:
    """``math.log``."""
    return jnp.log(value) if base is None else jnp.log(value) / jnp.log(base)


def close(a: Any, b: Any, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> Any:
    """``math.isclose``."""
    most = jnp.maximum(jnp.abs(a), jnp.abs(b))
    return jnp.abs(a - b) <= jnp.maximum(rel_tol * most, abs_tol)


def nearest_remainder(x: Any, y: Any) -> Any:
    """``math.remainder``."""
    return x - y * jnp.round(x / y)


def distance(p: Sequence[Any], q: Sequence[Any]) -> Any:
    """``math.dist``."""
    return jnp.sqrt(sum((a - b) ** 2 for a, b in zip(p, q, strict=True)))


def quotient_and_rest(x: Any, y: Any) -> Any:
    """``divmod``."""
    return x // y, x % y


def product(values: Any, *, start: Any = 1) -> Any:
    """``math.prod``."""
    return functools.reduce(operator.mul, runtime.items_of(values), start)


def field_text(value: Any, conversion: int, spec: str) -> str:
    """One replacement field of an f-string, where the value is traced: its type."""
    if isinstance(value, Tracer) and is_undecided(value):
        return f"<{value.aval}>"
    return runtime.formatted(value, conversion, spec)


def length_of(value: Any) -> Any:
    """``len`` of what a traced loop goes over."""
    return value.length if isinstance(value, items.Items) else len(value)


def item_of(value: Any, index: Any) -> Any:
    """``value[index]`` where either is traced."""
    match value:
        case items.Current():
            return value.value
        case items.Rows() | items.Steps() | items.Together():
            return value.at(index)
        case tuple() | list() | range() if is_undecided(index):
            return items.item_at(value, index)
        case np.ndarray():
            return jnp.asarray(value)[index]
        case _:
            return value[index]


def _by_name(names: str, module: Any) -> dict[Any, Leaf]:
    return {getattr(math, name): getattr(module, name) for name in names.split()}


#: What takes the place of a function, where one of its arguments is traced.
REPLACED: Final[dict[Any, Leaf]] = {
    operator.not_: negated,
    operator.getitem: item_of,
    runtime.contains: contained,
    runtime.lacks: missing,
    runtime.items_of: items.items_of,
    runtime.formatted: field_text,
    builtins.any: any_of,
    builtins.all: all_of,
    builtins.min: least,
    builtins.max: greatest,
    builtins.sorted: in_order,
    builtins.int: whole,
    builtins.float: real_number,
    builtins.bool: true_or_false,
    builtins.round: rounded,
    builtins.divmod: quotient_and_rest,
    builtins.len: length_of,
    builtins.range: items.traced_range,
    builtins.enumerate: items.enumerated,
    builtins.zip: items.zipped,
    builtins.reversed: items.in_reverse,
    **_by_name(
        "acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees exp exp2 expm1 fabs "
        "fmod hypot isfinite isinf isnan ldexp log10 log1p log2 pow radians sin sinh sqrt tan tanh "
        "trunc",
        jnp,
    ),
    **_by_name("erf erfc gamma", special),
    math.factorial: special.factorial,
    math.lgamma: special.gammaln,
    math.floor: floor_of,
    math.ceil: ceil_of,
    math.trunc: whole,
    math.log: log_of,
    math.isclose: close,
    math.remainder: nearest_remainder,
    math.dist: distance,
    math.fsum: sum,
    math.prod: product,
}
#: Those that a tracer whose data is known does not keep from doing what they do.
_DECIDING: Final = frozenset(
    (operator.not_, runtime.contains, runtime.lacks, any, all, min, max, sorted, bool, round, range,
     runtime.formatted, math.floor, math.ceil, math.trunc, divmod, int)
)  # fmt: skip
#: Those that take something to go through, which is traced only if that is itself an array.
_GOING_THROUGH: Final = frozenset((enumerate, zip, reversed, len, runtime.items_of))
_ITEMS: Final = (items.Rows, items.Steps, items.Together, items.Current)


def replacement(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Leaf | None:
    """What to call in a function's place; None for the function itself."""
    try:
        found = REPLACED.get(function)
    except TypeError:  # it cannot be hashed
        return None
    given = (*args, *kwargs.values())
    if found is not None:
        return found if _concerns(function, given) else None
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, np.ndarray):
        if holds_tracer(given):
            method: Leaf = getattr(jnp.asarray(function.__self__), function.__name__)
            return method
        return None
    module = getattr(function, "__module__", None) or ""
    if not (isinstance(function, np.ufunc) or module.partition(".")[0] == "numpy"):
        return None
    return _of_numpy(function, module) if holds_tracer(given) else None


def _concerns(function: Any, given: tuple[Any, ...]) -> bool:
    """Whether a function that has a replacement is given something traced that needs it."""
    if any(isinstance(x, _ITEMS) for x in given):
        return True
    if function in _GOING_THROUGH:
        return any(is_undecided(x) and x.shape for x in given)
    if function is operator.getitem:
        return holds_tracer(given[1], undecided=not isinstance(given[0], np.ndarray))
    return holds_tracer(given, undecided=function in _DECIDING)


def _of_numpy(function: Any, module: str) -> Leaf | None:
    name = getattr(function, "__name__", "")
    if isinstance(function, type):
        if not issubclass(function, np.generic):
            return None
        return functools.partial(jnp.asarray, dtype=function)
    found: Leaf | None = getattr(jnp.linalg if "linalg" in module else jnp, name, None)
    return found


def plain_arguments(values: Sequence[Any]) -> list[Any]:
    """Arguments of a function that knows nothing of items.

    Raises:
        SourceError: how many items there are depends on a traced value.
    """
    return [_expanded(value) if isinstance(value, items.Items) else value for value in values]


def _expanded(value: items.Items) -> list[Any]:
    if is_undecided(value.length):
        raise SourceError(
            "a list or a tuple whose length depends on a traced value cannot be made, since arrays "
            "have fixed shapes. Loop over the items, or compute with masks (jnp.where)."
        )
    return [value.at(i) for i in range(value.length)]


def takes_functions(function: Any) -> bool:
    """Whether a function of tinyjax runs the functions that it is given."""
    if isinstance(function, FunctionType):
        module = function.__module__
    else:
        module = type(function).__module__
    return module.startswith("tinyjax.") and not module.startswith(
        ("tinyjax.source", "tinyjax.tree")
    )

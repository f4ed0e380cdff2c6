"""What is asked of traced values: comparisons, truth values, and classes.

A traced scalar is a Python number, and of the class of one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import UnionType
from typing import Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import errors
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values.array import Array
from tinyjax.source.ir import runtime
from tinyjax.source.staging import items, numbers, session as ses, texts, values as vals

Binary = Callable[[Any, Any], Any]


def negated(value: Any) -> Any:
    """``not value``."""
    condition = vals.truth(value)
    return jnp.logical_not(condition) if isinstance(condition, Array) else not condition


def any_of(values: Any) -> Any:
    """``any`` of values of which some may be traced."""
    condition: Any = False
    for value in runtime.items_of(values):
        here = vals.truth(value)
        if here is True:
            return True
        if isinstance(here, Array):
            condition = here if condition is False else jnp.logical_or(condition, here)
    return condition


def all_of(values: Any) -> Any:
    """``all`` of values of which some may be traced."""
    return negated(any_of([negated(value) for value in runtime.items_of(values)]))


def compare(operation: Binary) -> Binary:
    """A comparison, of sequences item by item."""

    def applied(x: Any, y: Any) -> Any:
        for kind in (tuple, list):
            if isinstance(x, kind) and isinstance(y, kind):
                return _compare_items(operation, x, y)
        if type(x) is int:
            return operation(numbers.as_number(x, y), y)
        return operation(x, numbers.as_number(y, x)) if type(y) is int else operation(x, y)

    return applied


def _compare_items(operation: Binary, xs: Any, ys: Any) -> Any:
    same = [compare(operator.eq)(x, y) for x, y in zip(xs, ys, strict=False)]
    if operation in (operator.eq, operator.ne):
        equal = len(xs) == len(ys) and all_of(same)
        return equal if operation is operator.eq else negated(equal)
    result: Any = operation(len(xs), len(ys))
    for x, y, equal in reversed([*zip(xs, ys, same, strict=False)]):
        decided = vals.truth(equal)
        if decided is True:
            continue
        here = compare(operation)(x, y)
        result = here if decided is False else jnp.where(decided, result, here)
    return result


def contained(item: Any, container: Any) -> Any:
    """``item in container``."""
    if isinstance(item, texts.TracedText):
        bool(item)  # which says that it is not known
    match container:
        case Array() | np.ndarray():
            return jnp.any(jnp.asarray(container) == item)
        case items.Steps():
            return _in_range(item, container)
        case tuple() | list() | range() | set() | frozenset() | dict():
            return any_of([compare(operator.eq)(item, other) for other in container])
        case _:
            return item in container


def _in_range(item: Any, steps: items.Steps) -> Any:
    place, rest = (item - steps.start) // steps.step, (item - steps.start) % steps.step
    return all_of([rest == 0, place >= 0, place < steps.length])


def missing(item: Any, container: Any) -> Any:
    """``item not in container``."""
    return negated(contained(item, container))


def same(x: Any, y: Any) -> bool:
    """``x is y``.

    Raises:
        SourceError: both are numbers, of which one is traced.
    """
    if x is y:
        return True
    numeric = (Array, bool, int, float, complex, np.generic)
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Array) and isinstance(other, numeric):
            raise errors.SourceError(
                "whether a traced value is the same object as another number is not known (is, is "
                "not). Compare with == or !=."
            )
    return False


def different(x: Any, y: Any) -> bool:
    """``x is not y``."""
    return not same(x, y)


def _extreme(compared: Binary, name: str, values: tuple[Any, ...], options: Any) -> Any:
    candidates = [*runtime.items_of(values[0])] if len(values) == 1 else [*values]
    if not candidates:
        if "default" in options:
            return options["default"]
        raise ValueError(f"{name}() iterable argument is empty")
    best, *rest = candidates
    measure = _measured(options, best)
    for value in rest:
        key = _measured(options, value)
        better = vals.truth(compared(key, measure))
        if isinstance(better, Array):
            best, measure = _chosen(better, value, best), _chosen(better, key, measure)
        elif better:
            best, measure = value, key
    return best


def _measured(options: Any, value: Any) -> Any:
    key, session = options.get("key"), ses.current_session.get()
    if key is None:
        return value
    return key(value) if session is None else session.call(key, (value,), {})


def _chosen(better: Array, value: Any, best: Any) -> Any:
    """One of two values, of which the parts are chosen where they are tuples."""
    if isinstance(value, (tuple, list)) and type(value) is type(best) and len(value) == len(best):
        return type(value)([_chosen(better, x, y) for x, y in zip(value, best, strict=True)])
    return jnp.where(better, vals.as_array(value), vals.as_array(best))


def least(*values: Any, **options: Any) -> Any:
    """``min`` of values of which some may be traced."""
    return _extreme(compare(operator.lt), "min", values, options)


def greatest(*values: Any, **options: Any) -> Any:
    """``max`` of values of which some may be traced."""
    return _extreme(compare(operator.gt), "max", values, options)


def in_order(values: Any, **options: Any) -> Any:
    """``sorted`` of scalars."""
    values = [*runtime.items_of(values)]
    if options.get("key") is not None or not any(map(vals.is_undecided, values)):
        return sorted(values, **options)
    ordered = jnp.sort(jnp.stack([vals.as_array(value) for value in values]))
    if options.get("reverse"):
        ordered = ordered[::-1]
    return [ordered[i] for i in range(ordered.shape[0])]


# Classes

_PYTHON: Final = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_ARRAYS: Final = (np.ndarray, np.generic)


def number_class(value: Array) -> type:
    """The class of the Python number that a traced scalar is."""
    return _PYTHON.get(value.dtype.kind, float)


def class_of(*args: Any) -> Any:
    """``type(value)``."""
    (value,) = args
    if isinstance(value, texts.TracedText):
        return str
    if numbers.is_scalar(value):
        return number_class(value)
    if isinstance(value, Tracer):
        raise _unknown(value, "the class")
    return type(value)


def is_instance(value: Any, classes: Any) -> bool:
    """``isinstance(value, classes)``.

    Raises:
        errors.SourceError: it depends on what was given to the program.
    """
    if isinstance(value, texts.TracedText):
        return issubclass(str, classes)
    if not isinstance(value, Tracer) and not numbers.is_scalar(value):
        return isinstance(value, classes)
    several, scalar = _flat(classes), numbers.is_scalar(value)
    kind = number_class(value) if scalar else Array
    if any(issubclass(kind, one) for one in several):
        return True
    unknown = [one for one in several if issubclass(one, _ARRAYS) or issubclass(one, Array)]
    if scalar and not value.weak_type and any(issubclass(Array, one) for one in unknown):
        return True
    if scalar and value.weak_type:
        unknown = [one for one in unknown if issubclass(one, Array)]
    if unknown:
        raise _unknown(value, f"whether it is a {unknown[0].__name__}")
    return False


def _flat(classes: Any) -> list[type]:
    if isinstance(classes, tuple):
        return [one for part in classes for one in _flat(part)]
    return [*classes.__args__] if isinstance(classes, UnionType) else [classes]


def _unknown(value: Array, what: str) -> errors.SourceError:
    return errors.SourceError(
        f"{what} is not known of a traced value of type {value.aval}, which may have been given as "
        "a number or as an array, of NumPy or of tinyjax. Ask for its shape or dtype (jnp.ndim(x), "
        "jnp.issubdtype(x.dtype, jnp.floating)), or make the argument static."
    )


def has_attribute(value: Any, name: str) -> bool:
    """``hasattr(value, name)``."""
    if not numbers.is_scalar(value):
        return hasattr(value, name)
    result = hasattr(number_class(value), name)
    if result != hasattr(value, name):
        raise _unknown(value, f"whether it has an attribute {name}")
    return result


def attribute_of(value: Any, name: str, *default: Any) -> Any:
    """``getattr(value, name)``."""
    if numbers.is_scalar(value):
        if default:
            return getattr(value, name) if has_attribute(value, name) else default[0]
        if name in _METHODS and hasattr(number_class(value), name) and not hasattr(value, name):
            method = _METHODS[name]
            return lambda: method(value)
    return getattr(value, name, *default)


def _is_whole(value: Array) -> Any:
    return True if numbers.is_integer(value) else jnp.floor(value) == value


#: Methods of Python numbers that arrays lack.
_METHODS: Final[dict[str, Callable[..., Any]]] = {"is_integer": _is_whole, "conjugate": jnp.conj}

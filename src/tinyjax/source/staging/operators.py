"""Operators, type tests and iteration on traced values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from types import UnionType
from typing import Any, Final, TypeGuard

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors, tree
from tinyjax.core.tracing import Tracer, trace as tr
from tinyjax.core.values import Array
from tinyjax.numpy.promotion import convert, strong
from tinyjax.source import numeric, numpy_errors
from tinyjax.source.ir import runtime
from tinyjax.source.staging import values as staging_values
from tinyjax.source.staging.session import Layouts, current_session, raised_by, this_session

# Queries on traced values: comparisons, truth values, and classes.


Binary = Callable[[Any, Any], Any]


def negated(value: Any) -> Any:
    """``not value``."""
    condition = staging_values.truth(value)
    return jnp.logical_not(condition) if isinstance(condition, Array) else not condition


def any_of(values: Any) -> Any:
    """``any`` of values of which some may be traced."""
    condition: Any = False
    for value in runtime.items_of(values):
        here = staging_values.truth(value)
        if here is True:
            return True
        if isinstance(here, Array):
            condition = here if condition is False else jnp.logical_or(condition, here)
    return condition


def all_of(values: Any) -> Any:
    """``all`` of values of which some may be traced."""
    return negated(any_of([negated(value) for value in runtime.items_of(values)]))


def compare(operation: Binary) -> Binary:
    """Return a comparison, of sequences item by item."""

    def applied(x: Any, y: Any) -> Any:
        if any(isinstance(x, kind) and isinstance(y, kind) for kind in (tuple, list)):
            return _compare_items(operation, x, y)
        is_order = operation not in (operator.eq, operator.ne)
        if is_order and is_numeric(x, y) and any(map(jnp.iscomplexobj, (x, y))):
            raise TypeError("the order of complex numbers is not defined")
        if type(x) is int:
            return operation(as_number(x, y), y)
        return operation(x, as_number(y, x)) if type(y) is int else operation(x, y)

    return applied


def _compare_items(operation: Binary, xs: Any, ys: Any) -> Any:
    same = [compare(operator.eq)(x, y) for x, y in zip(xs, ys, strict=False)]
    if operation in (operator.eq, operator.ne):
        equal = len(xs) == len(ys) and all_of(same)
        return equal if operation is operator.eq else negated(equal)
    result: Any = operation(len(xs), len(ys))
    for x, y, equal in reversed([*zip(xs, ys, same, strict=False)]):
        decided = staging_values.truth(equal)
        if decided is True:
            continue
        here = compare(operation)(x, y)
        result = here if decided is False else jnp.where(decided, result, here)
    return result


def contained(item: Any, container: Any) -> Any:
    """``item in container``."""
    if isinstance(item, staging_values.TracedText):
        bool(item)  # raises the error for traced values
    match container:
        case Array() | np.ndarray():
            if is_scalar(container) and not _may_be_point(container):
                raise TypeError(f"argument of type {number_class(container)} is not iterable")
            return jnp.any(jnp.asarray(container) == item)
        case Steps():
            return _in_range(item, container)
        case tuple() | list() | range() | set() | frozenset() | dict():
            return any_of([compare(operator.eq)(item, other) for other in container])
        case _:
            return item in container


def _in_range(item: Any, steps: Steps) -> Any:
    place, rest = (item - steps.start) // steps.step, (item - steps.start) % steps.step
    return all_of([rest == 0, place >= 0, place < steps.length])


def same(x: Any, y: Any) -> bool:
    """``x is y``.

    Raises:
        SourceError: both are numbers, of which one is traced.
        NotStagedError: both are arrays, or the same tracer, which may stand for several objects: a
            full slice of a traced array is the same tracer, and so is ``float`` of a number.
    """
    traced = (Array, staging_values.MutableArray)
    is_traced = isinstance(x, traced) and isinstance(y, traced)
    if is_traced and (x is y or (np.ndim(x) and np.ndim(y))):
        raise staging_values.not_staged("whether traced values are one object is not staged.")
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
        better = staging_values.truth(compared(key, measure))
        if isinstance(better, Array):
            best, measure = _chosen(better, value, best), _chosen(better, key, measure)
        elif better:
            best, measure = value, key
    return best


def _measured(options: Any, value: Any) -> Any:
    key, session = options.get("key"), current_session.get()
    if key is None:
        return value
    return key(value) if session is None else session.call(key, (value,), {})


def _chosen(better: Array, value: Any, best: Any) -> Any:
    """Return one of two values, whose parts are selected where they are tuples.

    Raises:
        NotStagedError: they are arrays with axes.
    """
    if isinstance(value, (tuple, list)) and type(value) is type(best) and len(value) == len(best):
        return type(value)([_chosen(better, x, y) for x, y in zip(value, best, strict=True)])
    if np.ndim(value) or np.ndim(best):
        raise staging_values.not_staged(
            "which of several arrays is taken depends on traced values. Write np.where(c, x, y)."
        )
    chosen = jnp.where(better, staging_values.as_array(value), staging_values.as_array(best))
    return _one_of(chosen, (value, best))


def _one_of(number: Any, values: Iterable[Any]) -> Any:
    """Record that a number is one of several values, and return it."""
    layouts = _layouts()
    if is_scalar(number):
        layouts.join(number, [layouts.traits_of(value) for value in values])
    return number


def least(*values: Any, **options: Any) -> Any:
    """``min`` of values of which some may be traced."""
    return _extreme(compare(operator.lt), "min", values, options)


def greatest(*values: Any, **options: Any) -> Any:
    """``max`` of values of which some may be traced."""
    return _extreme(compare(operator.gt), "max", values, options)


def in_order(values: Any, **options: Any) -> Any:
    """``sorted``, by numbers or by tuples of them.

    Raises:
        SourceError: the order depends on traced values of another kind.
    """
    values = [*runtime.items_of(values)]
    keys, reverse = [_measured(options, value) for value in values], bool(options.get("reverse"))
    if not staging_values.holds_tracer(keys, undecided=True):
        places = sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)
        return [values[i] for i in places]
    columns, rows = stacked(keys), stacked(values)
    if columns is None or rows is None or any(column.ndim != 1 for column in columns.arrays):
        raise errors.SourceError(
            "the order of sorted depends on traced values, so the keys must be numbers, or tuples "
            "of numbers, and the items arrays or numbers of one shape, in containers of one "
            "structure. Sort an array by jnp.argsort instead."
        )
    for column in columns.arrays:
        if column.dtype.kind == "f" and len(values) > 1:
            error = errors.SourceError("the order of sorted is not known of NaN.")
            check(jnp.any(jnp.isnan(column)), error)
    # equal ones keep their order, also in reverse
    step = -1 if reverse else 1
    order = jnp.lexsort([column[::step] for column in reversed(columns.arrays)])[::step]
    ordered = [array[::step][order] for array in rows.arrays]
    ordered_rows = Rows(tuple(ordered), rows.length, rows.structure)
    return [_one_of(ordered_rows.item(i), values) for i in range(rows.length)]


# Classes

#
# A traced scalar of a weak type is a number of Python's, and so is a truth value known to be one.
# Others are numbers of NumPy's, or may be.

_PYTHON: Final = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_ARRAYS: Final = (np.ndarray, np.generic)


def number_class(value: Array) -> type:
    """Return the class of the Python number that a traced scalar is."""
    return _PYTHON.get(value.dtype.kind, float)


def is_of_python(value: Any) -> bool:
    """Return whether a number is certainly one of Python's."""
    return _layouts().is_of_python(value)


def _layouts() -> Layouts:
    """Return what is known of the arrays of the staging that goes on."""
    session = current_session.get()
    return Layouts() if session is None else session.layouts


def _answer(value: Array, query: Callable[[type], bool], what: str) -> bool:
    """Return what holds of the class of a traced scalar.

    Raises:
        NotStagedError: it differs between the classes that the scalar may be of.
    """
    kinds = [number_class(value)]
    if not is_of_python(value):
        kinds += [value.dtype.type, *[np.ndarray] * _may_be_point(value)]
    answers = {query(kind) for kind in kinds}
    if len(answers) == 1 and id(value) not in _layouts().mixed:
        return answers.pop()
    raise staging_values.not_staged(f"{what} is not known of a traced number of {value.dtype}.")


def class_of(*args: Any) -> Any:
    """``type(value)``."""
    (value,) = args
    if isinstance(value, staging_values.TracedText):
        return str
    if is_scalar(value):
        kind = number_class(value)
        _answer(value, lambda one: one is kind, "the class")
        return kind
    if isinstance(value, Tracer):
        raise _unknown(value, "the class")
    return type(value)


def is_instance(value: Any, classes: Any) -> bool:
    """``isinstance(value, classes)``.

    Raises:
        errors.SourceError: it depends on the arguments of the program.
        NotStagedError: it depends on whether a number is Python's.
    """
    if isinstance(value, staging_values.TracedText):
        return issubclass(str, classes)
    if not isinstance(value, Tracer) and not is_scalar(value):
        return isinstance(value, classes)
    several = _flat(classes)
    unknown: tuple[type, ...] = (Array, np.ndarray)
    own = {*Array.__mro__}
    abstract = [one for one in several if not issubclass(one, (*unknown, np.generic))]
    if is_scalar(value):
        numbers = tuple([one for one in several if not issubclass(one, unknown)])
        what = f"whether it is a {several[0].__name__}"
        if numbers and _answer(value, lambda kind: issubclass(kind, numbers), what):
            return True
        if is_of_python(value):
            unknown = (Array,)
        elif not own.isdisjoint(several):
            return True
    elif not own.isdisjoint(several) or issubclass(np.ndarray, tuple(abstract)):
        return True
    else:
        unknown = (*unknown, np.generic)
    for one in several:
        if issubclass(one, unknown):
            raise _unknown(value, f"whether it is a {one.__name__}")
    return False


def is_number(value: Any) -> bool:
    """``np.isscalar(value)``."""
    if _may_be_point(value):
        raise _unknown(value, "the class")
    return is_scalar(value) or bool(np.isscalar(value))


def _may_be_point(value: Any) -> bool:
    """Return whether a value may be an array of NumPy without axes, and no number."""
    return is_scalar(value) and _layouts().is_point(value)


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
    if not is_scalar(value):
        return hasattr(value, name)
    what = f"whether it has an attribute {name}"
    result = _answer(value, lambda kind: hasattr(kind, name), what)
    if is_of_python(value) and result != hasattr(value, name):
        raise _unknown(value, what)
    return result


def attribute_of(value: Any, name: str, *default: Any) -> Any:
    """``getattr(value, name)``."""
    if name == "__class__" and isinstance(value, Array):
        return class_of(value)
    if is_scalar(value):
        if default:
            return getattr(value, name) if has_attribute(value, name) else default[0]
        kind = number_class(value)
        if hasattr(kind, name) and not hasattr(value, name):
            if name not in METHODS:
                raise errors.SourceError(
                    f".{name} of a traced {kind.__name__} ({value.aval}) is not known. Compute it "
                    "of a number that is static, or with functions of tinyjax.numpy."
                )
            return functools.partial(METHODS[name], value)
    is_known = hasattr(value, name) and name != "__setitem__"
    if not default and not is_known and hasattr(np.ndarray, name):
        raise staging_values.not_staged(f".{name} of an array is not taken in a staged program.")
    return getattr(value, name, *default)


#: Methods of Python numbers that arrays lack.
METHODS: Final[dict[str, Callable[..., Any]]] = {
    "is_integer": lambda value: is_integer(value) or value - jnp.floor(value) == 0,
    "conjugate": jnp.conj,
}


# What Python's operators mean for traced scalars.
#
# For numbers of Python's, truth values are added as 0 and 1, integers have 64 bits, and the
# quotient of two integers is a float. Other arrays mean what they mean in ``tinyjax.numpy``. Where
# Python would raise an exception, or give a value of another type depending on a traced value, the
# program checks that when it runs.


def is_scalar(x: object) -> TypeGuard[Array]:
    """Return whether a value is an array without axes: a traced Python number."""
    return isinstance(x, Array) and not x.shape


def is_integer(x: Any) -> bool:
    """Return whether a number is a Python int or bool, or an array of integers or booleans."""
    if isinstance(x, (Array, np.generic, np.ndarray)):
        return x.dtype.kind in "biu"
    return isinstance(x, int)


def integer(x: Array) -> Array:
    """Return an array of integers or truth values as a Python integer."""
    return convert(x, dtypes.int64, True)


def python_number(x: Array) -> Array:
    """Return a scalar as a number of Python's, of no less than the default precision.

    A truth value is returned as it is.
    """
    if is_integer(x):
        return x if x.dtype == dtypes.bool_ else integer(x)
    default = dtypes.scalar_dtype(number_class(x))
    return convert(x, max(x.dtype, default, key=lambda dtype: dtype.itemsize), True)


def floating(x: Any) -> Any:
    """Return a number as a float of Python's.

    Raises:
        TypeError: it is an array, or complex.
    """
    if isinstance(x, Array) and (x.shape or x.dtype.kind == "c"):
        raise TypeError("only real numbers are converted to Python's float")
    if is_integer(x):
        return convert(staging_values.as_array(x), dtypes.scalar_dtype(float), True)
    return python_number(x) if is_scalar(x) else x


def as_number(x: Any, other: Any = None) -> Any:
    """Return an operand: truth values and Python's integers are integers of 64 bits.

    Args:
        x: the operand.
        other: the other one; a large Python integer becomes an integer or a float as this is.

    Raises:
        NotStagedError: both are truth values, perhaps of NumPy's, which operators keep as such.
    """
    if is_scalar(x):
        return _as_integer(x, other) if x.dtype == dtypes.bool_ else widened(x)
    if type(x) is int and not -(2**31) <= x < 2**31 and is_scalar(other) and other.weak_type:
        return staging_values.as_array(x) if is_integer(other) else float(x)
    return x


def _as_integer(x: Array, other: Any) -> Array:
    if is_of_python(x):
        return integer(x)
    if other is None or _is_truth(other):
        raise staging_values.not_staged("an operator of truth values is not: they may be NumPy's.")
    if not is_of_python(other):
        return x
    if is_integer(other):
        return convert(x, dtypes.int64)
    return convert(x, dtypes.scalar_dtype(number_class(staging_values.as_array(other))))


def _counting(x: Any) -> Any:
    """Return truth values beside a Python integer as integers of 64 bits, as NumPy does."""
    return x.astype(dtypes.int64) if isinstance(x, Array) and x.dtype == dtypes.bool_ else x


def widened(x: Any) -> Any:
    """Return a value; a Python integer with all its bits."""
    if is_scalar(x) and x.weak_type and x.dtype.kind == "i" and x.dtype != dtypes.int64:
        return integer(x)
    return x


def is_numeric(x: object, y: object) -> bool:
    """Return whether two operands are numbers, at least one of them traced."""
    return (is_scalar(x) and _is_number(y)) or (is_scalar(y) and _is_number(x))


def _is_number(x: object) -> bool:
    return is_scalar(x) or isinstance(x, (bool, int, float, complex, np.generic))


def arithmetic(
    operation: Binary, check_operands: Binary | None = None, size: Binary | None = None
) -> Binary:
    """Return an operator of numbers that may be truth values.

    Args:
        operation: the operator.
        check_operands: raises where two numbers are refused.
        size: the operator of floats, if a result of integers may need more than 64 bits.
    """

    def applied(x: Any, y: Any) -> Any:
        operands = x, y
        if is_numeric(x, y):
            if check_operands is not None:
                check_operands(x, y)
            operands = as_number(x, y), as_number(y, x)
        elif type(x) is int or type(y) is int:
            operands = _counting(x), _counting(y)
        result = operation(*operands)
        if size is not None:
            _check_size(size, x, y, result)
        return result

    return applied


def _check_size(operation: Binary, x: Any, y: Any, result: Any) -> None:
    """Raise where a Python integer would have more bits than a traced one."""
    if not (is_scalar(result) and result.weak_type and result.dtype == dtypes.int64):
        return
    first, second = _magnitude(x), _magnitude(y)
    if first is not None and second is not None and operation in (operator.mul, *_SUMS):
        most = first * second if operation is operator.mul else first + second
        if most < 2**63:
            _note_magnitude(result, most)
            return
    if operation in _SUMS and (_is_small(x) or _is_small(y)):
        return  # no program counts that far
    size = abs(
        operation(*[convert(staging_values.as_array(z), dtypes.float64, False) for z in (x, y)])
    )
    error = OverflowError("an integer has more than 64 bits, the most that a traced one may have")
    check(size >= 2.0**63, error)


_SUMS: Final = (operator.add, operator.sub)


def _magnitude(x: object) -> int | None:
    """Return the largest absolute value that an integer has; None where that is not known."""
    if isinstance(x, (int, np.integer)):
        return abs(int(x))
    session = current_session.get()
    if session is not None and id(x) in session.magnitudes:
        return session.magnitudes[id(x)][1]
    known = staging_values.range_of(x)
    return None if known is None else max(map(abs, known.numbers))


def _note_magnitude(x: object, most: int) -> None:
    """Note the largest absolute value that a traced integer may have."""
    session = current_session.get()
    if session is not None and isinstance(x, Array):
        session.magnitudes[id(x)] = x, most


def _is_small(x: Any) -> bool:
    """Return whether a number may be the step of a counter: static, boolean, or of few bits."""
    if isinstance(x, Array):
        return x.dtype.kind in "bu" or x.dtype.itemsize < 4
    return isinstance(x, (int, np.integer)) and abs(int(x)) < 2**31


def bitwise(operation: Binary) -> Binary:
    """``&``, ``|`` or ``^``, of which two truth values make a truth value."""
    plain = arithmetic(operation)
    return lambda x, y: (operation if _is_truth(x) and _is_truth(y) else plain)(x, y)


def _is_truth(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_)) or (is_scalar(x) and x.dtype == dtypes.bool_)


add: Final = arithmetic(operator.add, size=operator.add)
subtract: Final = arithmetic(operator.sub, size=operator.sub)
multiply: Final = arithmetic(operator.mul, size=operator.mul)


def divide(x: Any, y: Any) -> Any:
    """``x / y``."""
    _check_divisor(x, y)
    if is_numeric(x, y) and is_integer(x) and is_integer(y):
        operands = floating(x), floating(y)
        is_python = is_of_python(x) and is_of_python(y)
        x, y = operands if is_python else map(strong, operands)
    return operator.truediv(x, y)


def _check_divisor(x: Any, y: Any) -> None:
    """Raise where a Python number is divided by a zero that is known while staging."""
    if is_scalar(x) and x.weak_type and isinstance(y, (int, float)) and not y:
        raise ZeroDivisionError("division by zero")


def _check_divisors(message: str, x: Any, y: Any) -> None:
    """Raise where a number is divided by zero: while staging, or when the program runs."""
    _check_divisor(x, y)
    known = staging_values.range_of(y)
    if is_integer(x) and is_integer(y) and (known is None or 0 in known.numbers):
        check(y == 0, ZeroDivisionError(message))


def _division(operation: Binary, signed: Callable[..., Any], message: str) -> Binary:
    """Return ``//`` or ``%``, which for arrays of integers gives 0 where the divisor is 0."""
    plain = arithmetic(operation, functools.partial(_check_divisors, message))

    def applied(x: Any, y: Any) -> Any:
        result = plain(x, y)
        if isinstance(result, Array) and result.dtype.kind == "f":
            return convert(signed(result, x, y), result.dtype, result.weak_type)
        if is_numeric(x, y) or not is_integer(result) or (_is_number(y) and y):
            return result
        return jnp.where(y == 0, 0, result)

    return applied


floor_divide: Final = _division(
    operator.floordiv, numeric.signed_quotient, "integer division or modulo by zero"
)
remainder: Final = _division(operator.mod, numeric.signed_rest, "integer modulo by zero")


def quotient_and_remainder(x: Any, y: Any) -> tuple[Any, Any]:
    """``divmod``."""
    return floor_divide(x, y), remainder(x, y)


def modulo(x: Any, y: Any) -> Any:
    """``x % y``, of numbers or of a text."""
    if isinstance(x, (str, staging_values.TracedText)):
        return staging_values.text_of(operator.mod)(x, y)
    return remainder(x, y)


def power(x: Any, y: Any, modulus: Any = None) -> Any:
    """``x ** y`` and ``pow``."""
    if modulus is not None:
        raise errors.SourceError("pow with a modulus is not taken of traced values. Write a loop.")
    if not is_numeric(x, y):
        for failed, error in numpy_errors.power(x, y):
            check(jnp.any(failed), error)
        return numeric.power(operator.pow, x, y)
    x, y = as_number(x, y), as_number(y, x)
    if is_integer(x) and is_integer(y):
        if isinstance(y, (int, np.integer)) and y < 0:
            return floating(x) ** y
        if is_scalar(y) and y.dtype.kind == "i":
            error = ValueError(
                "an integer to a negative power is a float, which depends on a traced value: "
                "write float(x) ** n"
            )
            check(y < 0, error)
    result = x**y
    _check_size(operator.pow, x, y, result)
    return result


def _check_count(x: Any, y: Any) -> None:
    """Raise where a shift would be by less than no bits."""
    known = staging_values.range_of(y)
    if is_integer(x) and is_integer(y) and (known is None or min(known.numbers) < 0):
        check(y < 0, ValueError("negative shift count"))


shift_left: Final = arithmetic(
    operator.lshift, _check_count, lambda number, bits: number * 2.0**bits
)
shift_right: Final = arithmetic(operator.rshift, _check_count)


def unary(operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return an operator of one number."""
    return lambda x: operation(as_number(x))


def invert(x: Any) -> Any:
    """``~x``."""
    if is_scalar(x) and x.dtype == dtypes.bool_:
        as_number(x)
        raise errors.SourceError(
            "~ of a traced truth value is not taken: Python's ~True is -2, and NumPy's is False. "
            "Write not x, or ~int(x)."
        )
    return operator.invert(x)


def check(failed: Any, error: Exception) -> None:
    """Raise an exception if a condition holds, which may only be known when the program runs."""
    condition = staging_values.truth(failed)
    if condition is True:
        raise error
    session, place = current_session.get(), tr.evaluated_source()
    if isinstance(condition, Array) and session is not None and place is not None:
        session.check(condition, raised_by(error, place.location))


def check_range(x: Any, dtype: Any) -> None:
    """Raise where a number does not fit in the dtype of integers that NumPy gives it."""
    if is_scalar(x) and not _layouts().is_point(x):
        for failed, error in numpy_errors.integer(x, dtype):
            check(failed, error)


def changed(operation: Binary, value: Any, operand: Any) -> Any:
    """Return ``value += by`` and the like.

    Raises:
        InPlaceError: an array changes, which must be known before the program is staged.
        NotStagedError: an array changes that is not known to be the program's.
    """
    session = this_session()
    try:
        runtime.check_in_place(operation, value)
    except errors.SourceError as error:
        if session.conditions:  # an effect
            raise
        raise staging_values.NotStagedError(error) from None
    if isinstance(value, Array) and (value.shape or session.layouts.is_point(value)):
        if not session.is_cautious:
            raise runtime.InPlaceError
        raise staging_values.not_staged(
            "whether an augmented assignment changes an array is not known here: it may be one of "
            "NumPy, which changes, or one of tinyjax, which never does. Write x = x + y in place "
            "of x += y, or change a copy."
        )
    return session.call(operation, (value, operand), {})


def fitting(result: Any, array: Any) -> Any:
    """Return the result of an augmented assignment, of the dtype of the array that it changes.

    Raises:
        SourceError: NumPy refuses to write it there.
    """
    result = jnp.asarray(result)
    runtime.fitting(np.empty(0, result.dtype), np.empty(0, array.dtype), None)
    runtime.check_place(result, array)
    return result.astype(array.dtype)


def total(values: Any, start: Any = 0) -> Any:
    """``sum``."""
    if isinstance(values, Array) and values.shape:
        return add(start, jnp.sum(values, axis=0))
    return functools.reduce(add, runtime.items_of(values), start)


def product(values: Any, *, start: Any = 1) -> Any:
    """``math.prod``."""
    return functools.reduce(multiply, runtime.items_of(values), start)


# Conversions


def to_integer(rounding: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function from a scalar to a Python integer, such as ``int`` and ``math.floor``."""

    def converted(value: Any) -> Any:
        if is_integer(value):
            return integer(value)
        number = rounding(value)
        fits = jnp.abs(number) < 2.0**63
        check(~fits, OverflowError(f"a float is to be an integer, but is {_NO_INTEGER}"))
        return integer(number)

    return converted


_NO_INTEGER: Final = "infinite, not a number, or of more than 64 bits"


# Traced iterables of ``for`` loops.


#: No program has a loop of so many iterations.
_LONGEST: Final = 2**53


class Items:
    """The items of a loop: a number of them, made of rows of arrays and their indices."""

    length: Any

    @property
    def arrays(self) -> tuple[Array, ...]:
        raise NotImplementedError

    def row(self, slices: Sequence[Array], index: Any) -> Any:
        """Return the item at a place, from the rows there."""
        raise NotImplementedError

    def item(self, index: Any) -> Any:
        """Return the item at a place."""
        return self.row([array[index] for array in self.arrays], index)


@attrs.frozen(eq=False)
class Rows(Items):
    """Values of one structure, their parts stacked along the first axes of arrays.

    Attributes:
        arrays: one for each part.
        length: the number of values.
        structure: the structure of a value.
    """

    arrays: tuple[Array, ...]
    length: int
    structure: tree.PyTreeDef

    def row(self, slices: Sequence[Array], index: Any) -> Any:
        return tree.unflatten(self.structure, slices)


@attrs.frozen(eq=False)
class Steps(Items):
    """A range, its bounds traced or not."""

    start: Any
    step: Any
    length: Any
    arrays: tuple[Array, ...] = ()

    def row(self, slices: Sequence[Array], index: Any) -> Any:
        distance = index if staging_values.is_same(self.step, 1) else self.step * index
        number = distance if staging_values.is_same(self.start, 0) else self.start + distance
        start, step = _magnitude(self.start), _magnitude(self.step)
        if start is not None and step is not None:
            _note_magnitude(number, start + step * _LONGEST)
        return number


@attrs.frozen(eq=False)
class Together(Items):
    """Tuples of the items of several sequences at one index (``zip``)."""

    parts: tuple[Items, ...]
    length: Any

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple([array for part in self.parts for array in part.arrays])

    def row(self, slices: Sequence[Array], index: Any) -> Any:
        row, rest = [], list(slices)
        for part in self.parts:
            n = len(part.arrays)
            row.append(part.row(rest[:n], index))
            rest = rest[n:]
        return tuple(row)


@attrs.frozen(eq=False)
class Current:
    """The items within an iteration of a scan: the iteration's item at every index."""

    value: Any


def is_scanned(value: object) -> TypeGuard[Items]:
    """Return whether a loop over a value becomes a scan: partly traced, and of known length."""
    return (
        isinstance(value, Items)
        and not staging_values.is_undecided(value.length)
        and bool(value.length)
        and any(map(staging_values.is_undecided, value.arrays))
    )


def length_of(items: Any) -> Any:
    """Return the number of items of a loop, or the length of another value."""
    return items.length if isinstance(items, Items) else len(items)


def items_of(value: Any) -> Any:
    """Return the items of a value as an object with a length and an index."""
    if isinstance(value, Array) and value.shape:
        return Rows((value,), value.shape[0], tree.LEAF)
    return value if isinstance(value, Items) else runtime.items_of(value)


def stacked(values: Sequence[Any]) -> Rows | None:
    """Values of one structure and shapes, stacked; None where they are not."""
    apart = [staging_values.take_apart(value) for value in values]
    if not apart or any(structure != apart[0][1] for _, structure in apart):
        return None
    columns = []
    for column in zip(*(parts for parts, _ in apart), strict=True):
        if not all(map(staging_values.is_dynamic, column)):
            return None
        arrays = [staging_values.as_array(part) for part in column]
        aval = staging_values.common_aval([a.aval for a in arrays])
        if aval is None:
            return None
        columns.append(jnp.stack([convert(a, aval.dtype, aval.weak_type) for a in arrays]))
    return Rows(tuple(columns), len(values), apart[0][1])


def as_items(value: Any) -> Items | None:
    """Return an iterable as items that a traced index may be applied to."""
    match value:
        case Items():
            return value
        case range():
            return Steps(value.start, value.step, len(value))
        case Array() | np.ndarray() if value.ndim:
            return Rows((staging_values.as_array(value),), value.shape[0], tree.LEAF)
        case _:
            return stacked(runtime.items_of(value))


def traced_range(*bounds: Any) -> Steps:
    """``range`` of traced bounds."""
    for bound in bounds:
        if not is_integer(bound) or jnp.ndim(bound):
            shown = bound.aval if isinstance(bound, Array) else type(bound).__name__
            raise TypeError(f"range() takes integers, but got {shown}")
    start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), bounds)
    start, stop, step = [as_number(bound) for bound in (start, stop, step)]
    check(step == 0, ValueError("range() arg 3 must not be zero"))
    if type(step) is int and abs(step) == 1:
        iterations = step * (stop - start)
    else:
        iterations = -((start - stop) // step)
    return Steps(start, step, jnp.maximum(iterations, 0))


def enumerated(value: Any, start: Any = 0) -> Any:
    """``enumerate`` of traced items."""
    items = as_items(items_of(value))
    if items is None:
        return enumerate(value, start)
    return Together((Steps(start, 1, items.length), items), items.length)


def zipped(*values: Any, strict: bool = False) -> Any:
    """``zip`` of which some are traced."""
    items = [as_items(items_of(value)) for value in values]
    known = [part for part in items if part is not None]
    if len(known) < len(items):
        return zip(*values, strict=strict)
    lengths = [part.length for part in known]
    if any(map(staging_values.is_undecided, lengths)):
        length = functools.reduce(jnp.minimum, lengths)
    else:
        length = min(lengths)
        if strict and length != max(lengths):
            raise ValueError(f"zip() was given arguments of lengths {lengths}")
    return Together(tuple(known), length)


def in_reverse(value: Any) -> Any:
    """``reversed`` of traced items."""
    items = as_items(items_of(value))
    if isinstance(items, Rows):
        return Rows(tuple([array[::-1] for array in items.arrays]), items.length, items.structure)
    if isinstance(items, Steps):
        last = items.item(items.length - 1)
        return Steps(last, -items.step, items.length)
    return reversed(value)


def expanded(value: Items) -> list[Any]:
    """Return the items one by one.

    Raises:
        SourceError: their number depends on a traced value.
    """
    if staging_values.is_undecided(value.length):
        raise errors.SourceError(
            "a list or a tuple whose length depends on a traced value cannot be made, since arrays "
            "have fixed shapes. Loop over the items, or compute with masks (jnp.where)."
        )
    return [value.item(i) for i in range(value.length)]


def item_at(value: Any, index: Any) -> Any:
    """Return the item at a traced index of a sequence or a dict."""
    if isinstance(value, dict):
        return _first(index, value.items(), KeyError("the key is not in the dict"))
    if index.dtype.kind == "b":
        index = as_number(index)
    items = as_items(value) if isinstance(value, (tuple, list, range)) else None
    if items is not None:
        if isinstance(items, Steps):
            index = jnp.where(index < 0, index + items.length, index)
        return _one_of(items.item(index), value)
    return value[index]


def index_of(values: Any, value: Any) -> Any:
    """``values.index(value)``."""
    pairs = [(item, i) for i, item in enumerate(runtime.items_of(values))]
    return _first(value, pairs, ValueError("sequence.index(x): x not in sequence"))


def count_of(values: Any, value: Any) -> Any:
    """``values.count(value)``."""
    return total([compare(operator.eq)(item, value) for item in runtime.items_of(values)])


def _first(value: Any, pairs: Iterable[tuple[Any, Any]], error: Exception) -> Any:
    """Return the second of the first pair whose first is equal to a value."""
    found = [
        (staging_values.truth(compare(operator.eq)(value, item)), result) for item, result in pairs
    ]
    check(negated(any_of([equal for equal, _ in found])), error)
    chosen = found[-1][1]
    for equal, result in reversed(found[:-1]):
        if isinstance(equal, Array):
            chosen = _chosen(equal, result, chosen)
        elif equal:
            chosen = result
    return chosen

"""Operators and methods of values under capture, which are functions of NumPy's or Python's."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax.core.values import Array
from tinyjax.source import facts
from tinyjax.source.capturing import array_functions, ndarrays, runs, squares, ufuncs
from tinyjax.source.ir import syntax

_role = "interprets"  # see ``frames.Role``


def holds(x: Any, test: Callable[[Any], Any]) -> bool:
    """Return whether a condition holds for a number, which is a decision where it is traced."""
    value = x._captured_value if ndarrays.isinstance_of(x, ndarrays.Captured) else x
    if not isinstance(value, Array):
        return bool(test(value))
    known = runs.data(value)
    if known is None and not runs.is_handling():
        return False
    if known is not None and not test(known) and not runs.is_staged(value):
        return False
    return bool(runs.decide(test(value)))


def is_zero(x: Any) -> bool:
    """Return whether a divisor is zero, which is a decision where it is traced."""
    return holds(x, lambda value: value == 0)


def _is_negative(x: Any) -> bool:
    return holds(x, lambda value: value < 0)


def power(x: Any, y: Any) -> Any:
    """Return a power of numbers of Python's.

    Raises:
        ZeroDivisionError: a negative power of zero.
        OverflowError: the power is too large.
    """
    if all(isinstance(value, (int, float)) for value in (x, y)):
        if _is_negative(y) and is_zero(x):
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        is_whole_constant = (
            not ndarrays.isinstance_of(y, ndarrays.Captured) and float(y).is_integer()
        )
        if not is_whole_constant and _is_negative(x) and not holds(y, _is_whole):
            x = ndarrays.wrap(ndarrays.unwrap(x) + 0j)
    result = ndarrays.number(
        ufuncs.of_values(np.power, (x, y), (ndarrays.unwrap(x), ndarrays.unwrap(y)), operator.pow)
    )
    known = runs.data(ndarrays.unwrap(result))
    matters = runs.is_handling() if known is None else np.isinf(known) or runs.is_handling()
    is_infinite = matters and holds(result, _is_infinite)
    if is_infinite and not any(holds(value, _is_infinite) for value in (x, y)):
        raise OverflowError(34, "Numerical result out of range")
    return result


def _is_whole(value: Any) -> Any:
    return value == np.floor(value)


def _is_infinite(value: Any) -> Any:
    return abs(value) == np.inf


#: Sequences that a product with an integer repeats.
_REPEATED: Final = {list, tuple, str, bytes}
_BOOLS: Final = {bool, ndarrays.CapturedBool}
_DIVISIONS: Final = {np.true_divide, np.floor_divide, np.remainder}


def of_numbers(
    ufunc: np.ufunc, x: Any, y: Any, apply: Callable[[Any, Any], Any] | None = None
) -> Any:
    """Return what an operator gives for numbers of Python's, of which one is traced.

    Raises:
        ZeroDivisionError: the divisor is zero.
    """
    kinds = {type(x), type(y)}
    of_bools = kinds <= _BOOLS
    if (
        ndarrays.CapturedBool in kinds
        and ufunc not in COMPARED
        and not (of_bools and ufunc in ufuncs.BITWISE)
    ):
        x, y = _without_bool(x, kinds), _without_bool(y, kinds)
        return _operated(ufunc, x, y)
    if ufunc is np.power:
        return power(x, y)
    if ufunc in _DIVISIONS and is_zero(y):
        raise ZeroDivisionError("float division by zero")
    left = x._value if type(x) in ndarrays.OF_PYTHON else x
    right = y._value if type(y) in ndarrays.OF_PYTHON else y
    if ufunc in _ORDERED and complex in (ndarrays.class_of(x), ndarrays.class_of(y)):
        raise TypeError(f"'{ufunc.__name__}' not supported between instances of 'complex'")
    result = ufuncs.signed(ufunc, (left, right), (apply or ufunc)(left, right))
    result = ndarrays.wrap(squares.follow(ufunc, (left, right), result))
    if ufunc in COMPARED or of_bools:
        return (
            ndarrays.CapturedBool(result._value) if ndarrays.is_captured(result) else bool(result)
        )
    return ndarrays.number(result)


def _without_bool(x: Any, kinds: set[type]) -> Any:
    """Return an operand of an operator, which takes truth values of Python's as numbers."""
    if type(x) is not ndarrays.CapturedBool:
        return int(x) if type(x) is bool else x
    if kinds & {float, complex, ndarrays.CapturedFloat}:
        return ndarrays.CapturedFloat(x._value.astype(np.float64))
    return ndarrays.CapturedScalar(x._value.astype(np.int64))


def _operated(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    x, y = of_python(x), of_python(y)
    if type(y) is ndarrays.LiteralNumber and type(x) in ndarrays.NUMBERS:
        return of_numbers(ufunc, x, float(y))
    for items, count in ((x, y), (y, x)) if ufunc is np.multiply else ():
        if type(items) in _REPEATED and ndarrays.isinstance_of(count, ndarrays.CapturedScalar):
            return items * operator.index(count)
    if type(x) in ndarrays.NUMBERS and type(y) in ndarrays.NUMBERS:
        if ufunc in ndarrays.EQUALITIES:
            ndarrays.check_no_key(x, y)
        return of_numbers(ufunc, x, y)
    for own, other in ((x, y), (y, x)):
        is_of_python = type(own) in ndarrays.OF_PYTHON and type(other) in _OF_NO_FLOATS
        if is_of_python or (
            ndarrays.isinstance_of(own, ndarrays.CapturedScalar) and ufuncs.is_object(other)
        ):
            return NotImplemented
        is_own = ufuncs.is_object(other) and type(other).__eq__ is _IDENTITY  # equal to itself only
        if (
            ufunc in ndarrays.EQUALITIES
            and ndarrays.is_captured(own)
            and (is_own or isinstance(other, (str, bytes)))
        ):
            return ndarrays.follow(np.full(own.shape, ufunc is np.not_equal)[()])
    return ufuncs.apply_ufunc(ufunc, "__call__", (x, y), {})


#: The operator of objects that are equal to themselves only.
_IDENTITY: Final[Any] = object.__eq__
#: Classes of what operators of Python's numbers do not take.
_OF_NO_FLOATS: Final = {*ndarrays.CONTAINERS, str, bytes}


def of_python(x: Any) -> Any:
    """Return a number of a subclass of ``float`` as one of Python's; others as they are."""
    is_subclass = (
        ndarrays.isinstance_of(x, ndarrays.CapturedFloat) and type(x) is not ndarrays.CapturedFloat
    )
    return ndarrays.CapturedFloat(x._value) if is_subclass else x


def _binary(ufunc: np.ufunc, name: str) -> None:
    def in_place(self: Any, other: Any) -> Any:
        if self._captured_memory.is_computed:
            runs.check_in_place()
        return ufuncs.apply_ufunc(ufunc, "__call__", (self, other), {"out": (self,)})

    def operated(self: Any, other: Any, *modulo: None) -> Any:
        return NotImplemented if any(modulo) else _operated(ufunc, self, other)

    setattr(ndarrays.Captured, f"__{name}__", operated)
    if name not in _COMPARISONS:
        setattr(
            ndarrays.Captured, f"__r{name}__", lambda self, other: _operated(ufunc, other, self)
        )
        setattr(ndarrays.CapturedArray, f"__i{name}__", in_place)


_COMPARISONS: Final = ufuncs.ufuncs_of(
    x for x in syntax.COMPARISONS.values() if hasattr(object, f"__{x.__name__}__")
)
COMPARED: Final = {*_COMPARISONS.values()}
_ORDERED: Final = COMPARED - ndarrays.EQUALITIES
#: The functions of NumPy's operators, by the names of their methods.
OPERATORS: Final = {
    **{f"__{name}__": ufunc for name, ufunc in {**ufuncs.ARITHMETIC, **_COMPARISONS}.items()},
    **{f"__r{name}__": ufunc for name, ufunc in ufuncs.ARITHMETIC.items()},
}


for _name, _ufunc in {**ufuncs.ARITHMETIC, **_COMPARISONS}.items():
    _binary(_ufunc, _name)


for _name, _ufunc in ufuncs.ufuncs_of(
    (abs, operator.neg, operator.pos, operator.invert), 1
).items():
    setattr(ndarrays.Captured, f"__{_name}__", lambda self, _ufunc=_ufunc: _unary(_ufunc, self))


def _compared(flat: ndarrays.FlatIterator, other: Any, ufunc: np.ufunc) -> Any:
    return ufunc(flat.array.flatten(), other)


ndarrays.HANDLERS[np.divmod] = lambda *inputs: tuple(
    [ufuncs.apply_ufunc(ufunc, "__call__", inputs, {}) for ufunc in (np.floor_divide, np.remainder)]
)


for _name, _ufunc in _COMPARISONS.items():
    setattr(ndarrays.FlatIterator, f"__{_name}__", functools.partialmethod(_compared, ufunc=_ufunc))


def _unary(ufunc: np.ufunc, x: Any) -> Any:
    x = _without_bool(x, set())
    return ndarrays.of_class(x, ufuncs.apply_ufunc(ufunc, "__call__", (x,), {}))


def _method(func: Any) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return array_functions.apply_function(func, (self, *args), kwargs)

    return method


for _name in facts.METHODS_AS_FUNCTIONS:
    setattr(ndarrays.Captured, _name, _method(getattr(np, _name)))

"""Rules of operators and attributes, which may be methods of objects and properties."""

from __future__ import annotations

import builtins
import cmath
import dataclasses
import functools
import math
import operator
from collections.abc import Callable
from inspect import getattr_static
from types import FunctionType
from typing import Any, Final

import numpy as np

from tinyjax.core.values import Array
from tinyjax.core.values.array import IndexUpdate, IndexUpdater
from tinyjax.source.adjoint import cotangents, pullbacks
from tinyjax.source.adjoint.kinds import kind_of
from tinyjax.source.adjoint.rules import containers, formulas, methods
from tinyjax.source.adjoint.rules.registry import Function, adjoint_of, inert, rule_adjoint
from tinyjax.source.ir import find, runtime

_METHODS: Final = {abs: "__abs__", float: "__float__"}


def overloaded(fun: Function, ct: Any, *operands: Any) -> Any:
    """Return the cotangents of the operands of a method that an operator calls.

    Raises:
        SourceError: it is not one that is written in Python, or arrays have changed since.
    """
    if runtime.writes.log:
        methods.check_native(ct, *operands)
    method, swapped = method_of(fun, operands)
    if swapped:
        return pullbacks.pulled_back(ct, method, operands[1], operands[0])[:0:-1]
    return pullbacks.pulled_back(ct, method, *operands)[1:]


def method_of(fun: Function, operands: tuple[Any, ...]) -> tuple[Function, bool]:
    """Return the method that an operator calls, and whether it is the second operand's.

    Raises:
        SourceError: it is not one that is written in Python.
    """
    name = fun.__name__.strip("_")
    first = _METHODS.get(fun, f"__{name}__")
    methods = [(getattr(type(operands[0]), first, None), False)]
    if len(operands) == 2 and fun is not operator.getitem:
        reflected = (getattr(type(operands[1]), f"__r{name}__", None), True)
        kinds = type(operands[0]), type(operands[1])
        derived = issubclass(kinds[1], kinds[0]) and kinds[0] is not kinds[1]
        methods = [reflected, *methods] if derived else [*methods, reflected]
    for method, swapped in methods:
        if isinstance(method, FunctionType):
            ordered = (operands[1], operands[0]) if swapped else operands
            if method(*ordered) is not NotImplemented:
                return method, swapped
    names = " and ".join(dict.fromkeys(type(x).__name__ for x in operands))
    remedy = " Use a list, a tuple, a dict or an array." if fun is operator.getitem else ""
    raise find.refusal(f"no derivative is known of operator.{fun.__name__} of {names}.{remedy}")


inert.add(method_of)


@adjoint_of(formulas.by_method)
def by_method_adjoint(ct: Any, y: Any, fun: Any, *operands: Any) -> Any:
    """Return the cotangents of the arguments of by_method."""
    return None, *overloaded(fun, ct, *operands)


#: The attributes of rules of operators whose formulas do where nothing is broadcast.
_BINARY: Final[dict[str, Any]] = {"parameters": ("a", "b"), "scalar": True, "overloaded": True}


@adjoint_of(operator.add, formulas=("ct", "ct"), **_BINARY)
def add_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of the arguments of operator.add."""
    if isinstance(y, (list, tuple)):
        return ct[: len(a)], ct[len(a) :]
    if formulas.is_overloaded(a, b):
        return overloaded(operator.add, ct, a, b)
    return cotangents.reduce_to(ct, a), cotangents.reduce_to(ct, b)


@adjoint_of(operator.mul, formulas=("ct * b", "a * ct"), **_BINARY)
def mul_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of the arguments of operator.mul."""
    if isinstance(y, (list, tuple)):
        if isinstance(b, int):
            return repeated_adjoint(ct, a), None
        return None, repeated_adjoint(ct, b)
    if formulas.is_overloaded(a, b):
        return overloaded(operator.mul, ct, a, b)
    return cotangents.reduce_to(ct * b, a), cotangents.reduce_to(a * ct, b)


def repeated_adjoint(ct: Any, items: Any) -> Any:
    """Return the cotangent of a sequence that was repeated."""
    total = None
    for start in range(0, len(ct), max(len(items), 1)):
        total = cotangents.accumulate(total, ct[start : start + len(items)])
    return total


@adjoint_of(runtime.updated)
def updated_adjoint(ct: Any, y: Any, operation: Any, value: Any, operand: Any) -> Any:
    """Return the cotangents of the arguments of runtime.updated."""
    if isinstance(value, np.ndarray):
        cotangents.require_data(operand)
    return (None, *rule_adjoint(operation)(ct, y, value, operand))


@adjoint_of(
    runtime.fitting,
    parameters=("result", "array", "place"),
    formulas=("ct", None, None),
    scalar=True,
    definite=(0,),
)
def fitting_adjoint(ct: Any, y: Any, result: Any, array: Any, place: Any) -> Any:
    """Return the cotangents of the arguments of runtime.fitting."""
    return ct, None, None


@adjoint_of(operator.matmul)
def matrix_product_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of the arguments of operator.matmul."""
    if type(a) is type(b) is np.ndarray and a.ndim == b.ndim == 2:  # as most are
        return ct @ b.T, a.T @ ct
    if formulas.is_overloaded(a, b):
        return overloaded(operator.matmul, ct, a, b)
    return formulas.matmul_adjoint(ct, y, a, b)


@adjoint_of(operator.or_)
def or_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of the arguments of operator.or_: that of merging dicts."""
    if isinstance(y, dict):
        return {k: ct.get(k) for k in a if k not in b}, {k: ct.get(k) for k in b}
    return None, None


def index_adjoint(ct: Any, y: Any, container: Any, index: Any) -> Any:
    """Return the cotangent of an index, from which some objects compute an item."""
    if isinstance(container, dict):
        check_entries(container)
    if not formulas.is_foreign(container) or not holds_float(index):
        return None, None
    return None, overloaded(operator.getitem, ct, container, index)[1]


@adjoint_of(operator.getitem, of_rest=index_adjoint)
def getitem_adjoint(ct: Any, y: Any, container: Any, index: Any) -> Any:
    """Return the cotangents of the arguments of operator.getitem."""
    if isinstance(container, IndexUpdater):
        return ct, None
    if formulas.is_foreign(container):
        if not kind_of(y).active:  # np.mgrid[0:4]
            return None, None
        return overloaded(operator.getitem, ct, container, index)
    return containers.placed(ct, container, index), None


def check_entries(container: Any) -> None:
    """Raise if a method of a class, derived of dict, may compute an entry that is missing."""
    if isinstance(getattr(type(container), "__missing__", None), FunctionType):
        raise find.refusal(
            f"an item of a {type(container).__name__}, whose __missing__ may compute it, has no "
            "derivative. Call a function."
        )


inert.add(check_entries)


def holds_float(index: Any) -> bool:
    """Return whether part of an index may have a derivative, which slices have not."""
    if isinstance(index, (tuple, list)):
        return any(map(holds_float, index))
    return kind_of(index).active


inert.update((holds_float, kind_of))


@adjoint_of(builtins.sum)
def sum_adjoint(ct: Any, y: Any, items: Any, start: Any = 0) -> Any:
    """Return the cotangents of the arguments of builtins.sum."""
    if isinstance(y, (list, tuple)):
        parts = containers.joined_adjoint(ct, y, start, *items)
        return containers.like_items(parts[1:], items), parts[0]
    if formulas.is_overloaded(y):
        parts = pullbacks.pulled_back(ct, summed, items, start)
        return parts[1], parts[2]
    parts = [cotangents.reduce_to(ct, items[i]) for i in range(len(items))]
    return containers.like_items(parts, items), cotangents.reduce_to(ct, start)


def summed(items: Any, start: Any) -> Any:
    """As builtins.sum."""
    for item in items:
        start = start + item
    return start


@adjoint_of(float, np.float64, np.float32)
def float_adjoint(ct: Any, y: Any, x: Any = 0.0) -> Any:
    """Return the derivative of float and of NumPy's types of floats."""
    if isinstance(x, str):
        return (None,)
    if formulas.is_foreign(x):
        return (overloaded(float, ct, x)[0],)
    return (np.reshape(ct, np.shape(x)) if isinstance(x, np.ndarray) else ct,)


# Attributes


@adjoint_of(getattr)
def getattr_adjoint(ct: Any, y: Any, value: Any, name: str, default: Any = None) -> Any:
    """Return the cotangents of the arguments of getattr."""
    if containers.is_method(y):
        return ct["__self__"], None, None
    if not hasattr(value, name):
        return None, None, ct
    # the cotangent of ``x.at``, and of ``x.at[index]``, is that of ``x``
    if name == "at" and isinstance(value, Array):
        return ct, None, None
    if isinstance(value, (IndexUpdate, IndexUpdater)):
        return ct if name == "_array" else None, None, None
    getter = getter_of(value, name)
    if getter is not None:
        return pullbacks.pulled_back(ct, getter, value)[1], None, None
    if name in ("T", "mT") and isinstance(value, (np.ndarray, Array)):
        return getattr(ct, name), None, None
    if name == "real" or (name == "T" and isinstance(value, np.generic)):
        return ct, None, None
    if name == "imag":
        return ct * -1j if cotangents.is_complex(value) else None, None, None
    if is_plain_attribute(value, name):
        return None, None, None
    if isinstance(value, tuple):
        return tuple([ct if f == name else None for f in tuple_fields(value)]), None, None
    return {name: ct}, None, None


def getter_of(value: Any, name: str) -> Callable[[Any], Any] | None:
    """Return the function that computes an attribute, if it is a property."""
    attribute = getattr_static(type(value), name, None)
    if isinstance(attribute, property):
        return attribute.fget
    if isinstance(attribute, functools.cached_property):
        return attribute.func
    methods.check_stored(value, name)
    return None


#: Attributes of numbers and arrays that have their data.
_OF_DATA: Final = {
    *("__array_interface__", "addressable_shards", "base", "ctypes", "data", "flat"),
    *("global_shards", "host"),
}


def is_plain_attribute(value: Any, name: str) -> bool:
    """Return whether an attribute of a number or an array has no derivative, like its shape.

    Raises:
        SourceError: it has a derivative, which is not known.
    """
    known = isinstance(value, (int, float, complex, np.ndarray, np.generic, Array))
    if known and name in _OF_DATA:
        raise find.refusal(f"the derivative of .{name} is not taken. Use a function in its place.")
    kind = type(value)
    if not cotangents.is_record(value) or name in cotangents.field_names(kind):
        return known
    return name in dir(kind)


def tuple_fields(value: Any) -> Any:
    """Return the names of a named tuple's fields."""
    return type(value)._fields


inert.update((getter_of, is_plain_attribute, tuple_fields))

# Functions without derivatives: of the language, of ``operator`` and of ``math``
inert.update(
    (len, range, isinstance, issubclass, int, bool, str, repr, format, type, id, callable, hasattr,
     print, ascii, chr, ord, any, all, hash, slice, round, bin, hex, oct,
     dataclasses.fields, dataclasses.is_dataclass, operator.truth, operator.index,
     operator.contains, operator.length_hint, operator.ifloordiv,
     operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.is_,
     operator.is_not, operator.not_, operator.floordiv, operator.invert, operator.lshift,
     operator.rshift, operator.and_, operator.xor,
     runtime.contains, runtime.lacks, runtime.formatted, runtime.text, runtime.thrown,
     runtime.global_value, runtime.leave, runtime.diagonal, runtime.everything,
     runtime.check_in_place, AssertionError, ValueError, TypeError,
     ZeroDivisionError, ArithmeticError, RuntimeError, IndexError, KeyError, OverflowError,
     NotImplementedError, StopIteration, Exception,
     math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose,
     math.factorial, math.comb, math.perm, math.gcd, math.lcm, math.isqrt, math.ulp,
     cmath.isnan, cmath.isinf, cmath.isfinite, cmath.isclose,
     cotangents.is_complex, cotangents.is_record, cotangents.one_like, find.program_location,
     find.refusal)
)  # fmt: skip

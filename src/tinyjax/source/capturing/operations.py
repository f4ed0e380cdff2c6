"""Dispatchers of expressions, operators and statements of captured code."""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from tinyjax.source import facts
from tinyjax.source.capturing import (
    array_functions,
    calls,
    ndarrays,
    operators,
    rewriting,
    runs,
    stores,
    ufuncs,
)
from tinyjax.source.capturing.ndarrays import DATA, HANDLERS, Captured, CapturedArray, follow
from tinyjax.source.capturing.rewriting import is_captured_function
from tinyjax.source.ir import runtime

_SCALARS: Final = calls.CAPTURED - {CapturedArray}
_NO_ARRAYS: Final = calls.NUMBERS_OF_DATA | _SCALARS


@functools.cache
def expression(text: str) -> Callable[..., Any]:
    """Make the dispatcher of an expression, which is evaluated as a whole where all is data.

    Args:
        text: the expression, of operands ``x0``, ``x1`` and so on: operators, items, and calls of
            functions of modules and of methods of arrays.
    """
    nodes = [*ast.walk(ast.parse(text, mode="eval"))]
    names = [f"x{i}" for i in range(len({x.id for x in nodes if isinstance(x, ast.Name)}))]
    owners: dict[str, set[Any]] = {}
    for name, path, count, options in _uses(nodes):
        known = owners.setdefault(name, {math, np, np.ndarray} if name in names else {np.ndarray})
        known -= {owner for owner in known if not _gives_data(owner, path, count, options)}
    calls_operand = any(isinstance(x, ast.Call) and isinstance(x.func, ast.Name) for x in nodes)
    if calls_operand or not all(owners.values()):
        dispatched: Callable[..., Any] = rewriting.by_parts(text, names)
        return dispatched
    given = ", ".join(names)
    accepted = [owners.get(name, DATA) for name in names]
    of_data = eval(f"lambda {given}: {text}", {"__name__": __name__})
    by_parts = functools.cache(lambda: rewriting.by_parts(text, names))

    def of_operands(*operands: Any) -> Any:
        values: list[Any] = []
        for x, kinds in zip(operands, accepted, strict=True):
            kind = type(x)
            if kind is CapturedArray and np.ndarray in kinds and x._captured_shared is None:
                values.append(x._captured_layout)
            elif kind is CapturedArray and np.ndarray in kinds and not x._captured_is_traced:
                values.append(x._captured_view)
            elif kind in kinds or (kind is ModuleType and x in kinds):
                values.append(x)
            else:
                return by_parts()(*operands)
        result = of_data(*values)
        return result if type(result) in calls.ATOMS else follow(result)

    reads = any(isinstance(x, ast.Subscript) for x in nodes)
    if reads or any(math not in known for known in owners.values()):
        return of_operands
    tests = [f"{x} is math" if x in owners else f"type({x}) in numbers" for x in names]
    source = f"lambda {given}: {text} if {' and '.join(tests)} else of_operands({given})"
    scope = {"numbers": calls.NUMBERS_OF_DATA, "math": math, "of_operands": of_operands}
    of_numbers: Callable[..., Any] = eval(compile(source, __file__, "eval"), scope)
    return of_numbers


def _uses(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str, int | None, list[str | None]]]:
    """Yield what has attributes in an expression, which, and the arguments that they are given."""
    calls = {x.func: x for x in nodes if isinstance(x, ast.Call)}
    inner = {x.value for x in nodes if isinstance(x, ast.Attribute)}
    for x in nodes:
        if isinstance(x, ast.Attribute) and x not in inner:
            value: ast.expr = x.value
            path = x.attr
            while isinstance(value, ast.Attribute):
                path = f"{value.attr}.{path}"
                value = value.value
            called = calls.get(x)
            count = None if called is None else len(called.args)
            names = [keyword.arg for keyword in called.keywords] if called is not None else []
            yield ast.unparse(value), path, count, names


def _gives_data(owner: Any, path: str, count: int | None, names: Sequence[Any]) -> bool:
    """Return whether an attribute of a module, or of arrays, gives data that nothing shares.

    That of arrays which is not called may share it: what it is an operand of does not.
    """
    try:
        found = operator.attrgetter(path)(owner)
    except AttributeError:
        return False
    is_array = owner is np.ndarray
    if count is None:
        is_view = path in facts.VIEW_ATTRIBUTES | facts.PLAIN_ATTRIBUTES
        return is_view if is_array else type(found) in calls.ATOMS
    if isinstance(found, np.ufunc):
        return found.nin == count and not names
    if owner is math:
        return type(found) is BuiltinFunctionType
    is_fresh = path in facts.FRESH_METHODS if is_array else runtime.is_in(found, facts.FRESH)
    return is_fresh and count + is_array <= array_functions.position_of_out(found)


def _binary(apply: Callable[[Any, Any], Any], name: str, reflected_name: str) -> Any:
    """Make the dispatcher of an operator: methods of the user's classes are captured."""
    method, reflected = f"__{name}__", f"__{reflected_name}__"
    ufunc = operators.OPERATORS[method]

    def dispatch(x: Any, y: Any) -> Any:
        first, second = type(x), type(y)
        if first in calls.NUMBERS_OF_DATA and second in calls.NUMBERS_OF_DATA:
            return apply(x, y)
        if first in ndarrays.NUMBERS and second in ndarrays.NUMBERS:
            return operators.of_numbers(ufunc, x, y, apply)
        if first in calls.OPERANDS and second in calls.OPERANDS:
            values = _value(x), _value(y)
            if type(values[0]) in DATA and type(values[1]) in DATA:
                return follow(apply(*values))
            return ufuncs.of_values(ufunc, (x, y), values, apply)
        if first not in calls.PLAIN or second not in calls.PLAIN:
            return of_objects(x, y, first, second)
        return _apply_to_others(apply, ufunc, x, y)

    own_methods = functools.partial(_own_methods, method, reflected)

    def of_objects(x: Any, y: Any, first: type, second: type) -> Any:
        if first is ndarrays.CapturedScalar and issubclass(second, ndarrays.CapturedFloat):
            return dispatch(x, operators.of_python(y))  # NumPy takes it as a number
        if issubclass(first, (ndarrays.CapturedScalar, np.generic)) and ufuncs.is_object(y):
            x = ndarrays.number(x)  # NumPy gives the object a number of Python's
        own, other = own_methods(x, first, second)
        if is_captured_function(getattr(type(own), calls.CALL, None)):
            return calls.call(calls.attribute(x, method), y)
        if _is_by_protocol(first, second) or (own is None and _is_by_protocol(second, first)):
            return calls.call_ufunc(ufunc, (x, y), {})
        kind: Any = x.__class__  # which is that of NumPy, where x is under capture
        if ufunc in operators.COMPARED and _is_compared_first(y.__class__, kind):
            return rewriting.DISPATCHERS[reflected_name](y, x)
        result = _by_methods(x, y, own, other, _overrides(y.__class__, kind, reflected))
        if result is not NotImplemented:
            return result
        if is_captured_function(other) and issubclass(first, tuple(ndarrays.OF_PYTHON)):
            raise TypeError(f"unsupported operand types for {name}: {kind} and {y.__class__}")
        has_operator = calls.is_sequence(first) and type(own) is FunctionType  # such as UserList's
        return apply(x, y) if has_operator else _apply_to_objects(apply, ufunc, x, y)

    return dispatch


def _apply_to_objects(apply: Callable[[Any, Any], Any], ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """Apply an operator by NumPy's function, to what the user's objects give, or by Python's."""
    return calls.call_ufunc(ufunc, (x, y), {}) if _is_by_ufunc(x, y) else apply(x, y)


def _overrides(second: type, first: type, reflected: str) -> bool:
    """Return whether the second class is derived from the first, and reflects in its own way."""
    own = getattr(second, reflected, None)
    is_derived = second is not first and issubclass(second, first)
    return is_derived and own is not getattr(first, reflected, None)


def _is_compared_first(second: type, first: type) -> bool:
    """Return whether the second operand of a comparison begins, as an array of a subclass does."""
    if not issubclass(second, np.ndarray) or second in (np.ndarray, first):
        return False
    return issubclass(second, first) or issubclass(first, (np.generic, int, float, complex))


def _own_methods(method: str, reflected: str, x: Any, first: type, second: type) -> tuple[Any, Any]:
    """Return the methods of two classes for an operator; None where there is none to call."""
    inherited = getattr(object, method, None)
    own, other = getattr(type(x), method, None), getattr(second, reflected, None)
    if first is second and inherited is None:  # Python reflects comparisons only
        other = None
    return None if own is inherited or type(x) is not first else own, other


def _is_by_ufunc(x: Any, y: Any) -> bool:
    """Return whether NumPy's operator applies its function, to what the user's objects give."""
    first: Any = type(x)
    second: Any = type(y)
    if any(issubclass(x, np.ndarray) and calls.has_protocol(x) for x in (first, second)):
        return True
    if _is_of_numpy(first):
        return calls.makes_arrays(y, "__array_ufunc__") and not ufuncs.is_foreign(y)
    return _is_of_numpy(second) and calls.makes_arrays(x, "__array_ufunc__")


def _is_by_protocol(first: type, second: type) -> bool:
    """Return whether NumPy's operator asks an object, by what it says of universal functions."""
    is_asked = calls.has_protocol(second) and not issubclass(second, np.ndarray)
    return is_asked and _is_of_numpy(first)


def _is_of_numpy(kind: type) -> bool:
    """Return whether operators of a class are NumPy's."""
    is_number = issubclass(kind, tuple(ndarrays.OF_PYTHON))
    return issubclass(kind, (np.ndarray, np.generic, Captured)) and not is_number


def _by_methods(x: Any, y: Any, own: Any, reflected: Any, overrides: bool) -> Any:
    """Return what methods of the user's give for an operator; NotImplemented where none do.

    Args:
        x: the first operand.
        y: the second.
        own: the method of the first; None if it has none.
        reflected: the method of the second.
        overrides: whether the second's comes first.
    """
    is_own = is_captured_function(own) and not overrides
    result = calls.call(own, x, y) if is_own else NotImplemented
    is_reflected = is_own or own is None or overrides or not _takes(type(x), y)
    if result is NotImplemented and is_reflected and is_captured_function(reflected):
        return calls.call(reflected, y, x)
    return result


def _without_arrays(compare: Callable[[Any, Any], Any]) -> Any:
    """Make the dispatcher of a comparison in which an operand has the name of a constant.

    An array is none, since it may have changed.
    """

    def dispatch(x: Any, y: Any) -> Any:
        if type(x) in _NO_ARRAYS and type(y) in _NO_ARRAYS:
            return compare(x, y)
        if any(isinstance(z, np.ndarray) and not ndarrays.is_traced(z) for z in (x, y)):
            ndarrays.check_no_key(x, y)
        return compare(x, y)

    return dispatch


def _without_keys(apply: Callable[[Any, Any], Any], compare: Callable[[Any, Any], Any]) -> Any:
    """Make the dispatcher of a comparison in which no operand is a constant of the program."""

    def dispatch(x: Any, y: Any) -> Any:
        if type(x) in calls.NUMBERS_OF_DATA and type(y) in calls.NUMBERS_OF_DATA:
            return apply(x, y)
        if not any(is_captured_function(type(operand).__eq__) for operand in (x, y)):
            ndarrays.check_no_key(x, y)  # methods of the user's compare what objects have
        return compare(x, y)

    return dispatch


def _apply_to_others(apply: Callable[[Any, Any], Any], ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """Apply an operator to texts, sequences and arrays of data."""
    if type(x) in calls.NO_SEQUENCES or type(y) in calls.NO_SEQUENCES:
        x, y = calls.with_array(x), calls.with_array(y)
    if {type(x), type(y)} == {np.ndarray, list}:
        return apply(ndarrays.to_array(x), ndarrays.to_array(y))
    return _apply_to_text(apply, ufunc, x, y) if type(x) is str else apply(x, y)


def _apply_to_text(apply: Callable[[Any, Any], Any], ufunc: np.ufunc, x: str, y: Any) -> Any:
    """Apply an operator to a text and another value."""
    if ufunc is np.remainder:
        return ufuncs.text_of(x, y)
    if ufunc in operators.COMPARED:
        runs.check_no_text(x, y)
    return apply(x, y)


def _value(x: Any) -> Any:
    """Return the value of an operand under capture; others as they are."""
    kind = type(x)
    if kind in _SCALARS:
        return x._value
    return x._captured_value if kind is CapturedArray else x


def _takes(kind: type, other: Any) -> bool:
    """Return whether operators of a class may take an object of another class."""
    if kind in (int, float, complex, bool, str) or issubclass(kind, tuple(ndarrays.OF_PYTHON)):
        return False
    return not (issubclass(kind, (Captured, np.ndarray, np.generic)) and ufuncs.is_foreign(other))


_ARRAYS_OF_NUMPY: Final = (CapturedArray, np.ndarray)


def _in_place(apply: Callable[[Any, Any], Any], name: str, binary: Any) -> Any:
    method = f"__i{name}__"
    ufunc = operators.OPERATORS[f"__{name}__"]

    def dispatch(x: Any, y: Any) -> Any:
        first, second = type(x), type(y)
        if first in calls.NUMBERS_OF_DATA and second in calls.NUMBERS_OF_DATA:
            return apply(x, y)
        if first is CapturedArray:
            left, right = _value(x), _value(y)
            if type(left) is np.ndarray and type(right) in DATA:
                apply(left, right)
                return x
        if first in calls.NO_SEQUENCES and second not in calls.OPERANDS:
            y = calls.with_array(y)
        if first in _ARRAYS_OF_NUMPY and getattr(second, "__array_ufunc__", second) is None:
            raise TypeError(f"operand '{second.__name__}' does not support ufuncs")
        if first in _ARRAYS_OF_NUMPY and calls.has_protocol(y.__class__):
            return calls.call_ufunc(ufunc, (x, y), {"out": (x,)})
        own = getattr(first, method, None)
        if is_captured_function(own) and (first not in calls.PLAIN or second not in calls.PLAIN):
            result = calls.call(own, x, y)
            return binary(x, y) if result is NotImplemented else result
        return binary(x, y) if own is None else apply(x, y)

    return dispatch


def _unary(apply: Callable[[Any], Any], name: str) -> Any:
    method = f"__{name}__"

    def dispatch(x: Any) -> Any:
        own = getattr(type(x), method, None)
        is_own = is_captured_function(own)
        result = calls.call(own, *calls.self_of(x, type(x), method)) if is_own else apply(x)
        return follow(result) if type(x) is np.ndarray else result

    return dispatch


def truth(x: Any) -> Any:
    """Return what is compared with ``is True``: a truth value of Python's as it is."""
    return bool(x) if type(x) is ndarrays.CapturedBool else x


class _Entered:
    """A context manager whose methods are captured, and which may catch exceptions."""

    __slots__ = ("handling", "manager")

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self.handling = runs.Handling() if runtime.catches(manager) else nullcontext()

    def __enter__(self) -> Any:
        value = calls.call(type(self.manager).__enter__, self.manager)
        self.handling.__enter__()
        return value

    def __exit__(self, *error: Any) -> Any:
        self.handling.__exit__(*error)
        return calls.call(type(self.manager).__exit__, self.manager, *error)


def enter(manager: Any) -> Any:
    """Return a context manager whose methods, where they are the user's, are captured."""
    is_own = is_captured_function(getattr(type(manager), "__enter__", None))
    return _Entered(manager) if is_own or runtime.catches(manager) else manager


_SYMBOLS: Final = {"and": "and_", "or": "or_"}
_REFLECTED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
for _name in rewriting.OPERATORS.values():
    _apply = getattr(operator, _SYMBOLS.get(_name, _name))
    _dispatch = _binary(_apply, _name, f"r{_name}")
    _change = getattr(operator, f"i{_name}")
    rewriting.DISPATCHERS[_name] = HANDLERS[_apply] = _dispatch
    rewriting.DISPATCHERS[f"i{_name}"] = HANDLERS[_change] = _in_place(_change, _name, _dispatch)
for _name in rewriting.COMPARISONS.values():
    _apply = getattr(operator, _name)
    _dispatch = _binary(_apply, _name, _REFLECTED[_name])
    rewriting.DISPATCHERS[_name] = HANDLERS[_apply] = _dispatch
    if _name in rewriting.EQUALITIES:
        HANDLERS[_apply] = _without_keys(_apply, _dispatch)
        rewriting.DISPATCHERS[f"{_name}_of_values"] = HANDLERS[_apply]
        rewriting.DISPATCHERS[_name] = _without_arrays(_dispatch)
for _name in rewriting.UNARY.values():
    _apply = getattr(operator, _name)
    rewriting.DISPATCHERS[_name] = HANDLERS[_apply] = _unary(_apply, _name)


_DISPATCHERS: Final[tuple[Callable[..., Any], ...]] = (
    *(calls.call, calls.attribute, calls.set_attribute, calls.attribute_of, calls.item),
    *(calls.set_item, calls.item_of, calls.change, calls.iterate, calls.contains),
    *(calls.source_text, expression, enter, truth, slice, stores.note),
)
rewriting.DISPATCHERS.update({function.__name__: function for function in _DISPATCHERS})
rewriting.DISPATCHERS.update(
    place=calls.Place, handling=runs.Handling, literal=ndarrays.LiteralNumber
)

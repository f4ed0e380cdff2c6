"""Subclasses of ``numpy.ndarray`` and ``float`` under capture: their methods, on traced values."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import operator
from collections.abc import Sequence
from types import FunctionType
from typing import Any, Final, NamedTuple

import numpy as np

from tinyjax.source.capturing import array_functions, memories, ndarrays, runs, ufuncs
from tinyjax.source.capturing.calls import call, captured_function, without_protocol
from tinyjax.source.capturing.ndarrays import HANDLERS, CapturedArray, CapturedFloat

#: What a class has for reasons of Python's.
_NOT_METHODS: Final = frozenset(
    (
        *("__new__", "__init__", "__dict__", "__weakref__", "__class__", "__slots__", "__reduce__"),
        *("__array_ufunc__", "__array_function__", "__array_finalize__", "__array_wrap__"),
        *("__init_subclass__", "__setstate__", "__array__", "__class_getitem__", "__module__"),
        *("__doc__", "__array_priority__"),
    )
)


class CapturedSubclass(CapturedArray):
    """An array under capture of a subclass of ``numpy.ndarray``.

    Attributes:
        overrides_methods: whether the subclass has methods in place of those that functions of
            NumPy's call.
    """

    overrides_methods: bool = False

    def take_over(self, model: Any) -> None:
        """Take over what is known of an array that this one is a view of."""

    def _captured_plain(self) -> CapturedArray:
        """Return the array as one of ``numpy.ndarray``."""
        return CapturedArray(self._captured_memory, self._captured_view, self, _same)

    def _captured_object(self) -> Any:
        made = self._captured_view.view(type(self).subclass)
        getattr(made, "__dict__", {}).update(vars(self))
        return made


def _same(array: Any) -> Any:
    return array


class CapturedWithProtocols(CapturedSubclass):
    """An array of a subclass that has an ``__array_ufunc__`` or ``__array_wrap__``.

    NumPy calls it from its functions, methods and operators.
    """

    has_protocols = True

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return wrap(self, array, context, return_scalar)

    def trace(self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, **options: Any) -> Any:
        diagonal = np.diagonal(self, offset, axis1, axis2)
        total = np.add.reduce(diagonal, axis=-1, **options)
        return total[()] if ndarrays.is_captured(total) and not total.ndim else total

    def __divmod__(self, other: Any) -> Any:
        return _ufunc(np.divmod, "__call__", (self, other), {})

    def __rdivmod__(self, other: Any) -> Any:
        return _ufunc(np.divmod, "__call__", (other, self), {})

    def __pow__(self, other: Any, modulo: None = None) -> Any:
        return _ufunc(*_power(self, other), {})

    def __ipow__(self, other: Any, modulo: None = None) -> Any:
        return _ufunc(*_power(self, other), {"out": (self,)})


def _power(x: Any, y: Any) -> tuple[np.ufunc, str, list[Any]]:
    """Return which universal function a power is, as an example says, and its operands."""
    ufunc = _Example(operator.pow, (x, y), {}).calls[0].ufunc
    return ufunc, "__call__", [x, y][: ufunc.nin]


_METHODS: Final = importlib.import_module("numpy._core._methods")
#: Methods of arrays that NumPy has in Python.
_IN_PYTHON: Final = {
    name: captured_function(vars(_METHODS)[f"_{name}"]) for name in ("mean", "std", "var")
}


class _ProtocolCall(NamedTuple):
    """A call of a protocol.

    Attributes:
        owner: the array whose ``__array_wrap__`` it is; None for ``__array_ufunc__``.
        ufunc: the universal function; None if a method without a context calls.
        method: the method of that.
        operands: its operands.
        options: those by name.
        place: which of its results it is.
        return_scalar: whether the result is to be a number.
        result: what the protocol gave.
    """

    owner: Any
    ufunc: Any
    method: str
    operands: Sequence[Any]
    options: dict[str, Any]
    place: int
    return_scalar: bool
    result: Any


class _Wrapped(np.ndarray):
    """A model of an array whose ``__array_wrap__`` NumPy calls.

    Attributes:
        calls: the calls.
    """

    def __array_finalize__(self, array: Any) -> None:
        self.calls: list[_ProtocolCall] = getattr(array, "calls", [])

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        ufunc, operands, place = context or (None, (), 0)
        result = self._result(array)
        call = _ProtocolCall(self, ufunc, "__call__", operands, {}, place, return_scalar, result)
        self.calls.append(call)
        return result

    def _result(self, array: Any) -> Any:
        result = np.array(array).view(type(self))
        result.calls = self.calls
        return result


class _Dispatched(_Wrapped):
    """A model of an array whose ``__array_ufunc__`` NumPy calls."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        operands = [x.view(np.ndarray) if isinstance(x, _Wrapped) else x for x in inputs]
        others = {name: x for name, x in options.items() if name != "out"}  # of models, or views
        result = self._result(getattr(ufunc, method)(*operands, **others))
        self.calls.append(_ProtocolCall(None, ufunc, method, inputs, options, 0, False, result))
        return result


class _Example:
    """An example of a call, which says which protocols of its arrays NumPy calls.

    Args:
        func: a function of NumPy's.
        args: its arguments, as the program sees them.
        kwargs: those by name.

    Attributes:
        calls: the calls of protocols.
        result: what the function gave.
    """

    def __init__(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.calls: list[_ProtocolCall] = []
        self._operands = [*args, *kwargs.values()]
        kind = _Dispatched if any(map(_has_protocol, self._operands)) else _Wrapped
        self._models = [self._model(x, kind) for x in self._operands]
        options = dict(zip(kwargs, self._models[len(args) :], strict=True))
        self.result = ndarrays.example_of(func, self._models[: len(args)], options)

    def _model(self, x: Any, kind: type[_Wrapped]) -> Any:
        model = ndarrays.model(x)
        if _class_of(x) is np.ndarray or not issubclass(_class_of(x), np.ndarray):
            return model
        example = np.asarray(model).view(kind)
        example.calls = self.calls
        return example

    def _operand(self, model: Any) -> Any:
        for x, own in zip(self._operands, self._models, strict=True):
            if own is model:
                return x
        if not isinstance(model, np.ndarray):
            return model
        raise LookupError

    def calls_of_operands(self) -> list[_ProtocolCall]:
        """Return the calls, with operands in place of their models.

        Raises:
            LookupError: not all are of operands, or not all results are those of the function.
        """
        parts = self.result if isinstance(self.result, (list, tuple)) else [self.result]
        if not all(any(call.result is part for part in parts) for call in self.calls):
            raise LookupError
        return [
            call._replace(
                owner=self._operand(call.owner),
                operands=tuple(map(self._operand, call.operands)),
                options={
                    name: tuple(map(self._operand, x)) if name == "out" else self._operand(x)
                    for name, x in call.options.items()
                },
            )
            for call in self.calls
        ]


def _by_protocols(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Apply a function of NumPy's to arrays of which it calls protocols with what it gives.

    It is ``NotImplemented`` if the function calls them otherwise.
    """
    example = _Example(func, args, kwargs)
    try:
        calls = example.calls_of_operands()
    except LookupError:
        return NotImplemented
    if calls and calls[0].owner is None:
        call = calls[0]
        return _ufunc(call.ufunc, call.method, call.operands, call.options)
    owner = next(x for x in (*args, *kwargs.values()) if isinstance_of_subclass(x))

    def wrapped(result: Any, model: Any) -> Any:
        if isinstance(model, (list, tuple)):
            items = [*map(wrapped, result, model)]
            return result._make(items) if hasattr(result, "_make") else type(result)(items)
        for call in calls:
            if call.result is model:
                context = None if call.ufunc is None else (call.ufunc, call.operands, call.place)
                return wrap(call.owner, result, context, call.return_scalar)
        return array_functions.in_class(result, model, owner)

    plain = [*map(_data, args)], ndarrays.mapped(_data, kwargs)
    return wrapped(array_functions.apply_function(func, *plain), example.result)


#: Classes that have one of their own under capture.
CLASSES: Final[dict[type[Any], type[CapturedSubclass]]] = {}


@functools.cache
def captured_class(subclass: Any) -> type[CapturedSubclass]:
    """Return the class of arrays under capture with the methods of a subclass."""
    if subclass in CLASSES:
        return CLASSES[subclass]
    if issubclass(subclass, np.ma.MaskedArray):
        raise runs.refusal(f"{subclass.__name__} of traced values, whose gaps would be lost,")
    if issubclass(subclass, np.recarray):
        raise runs.refusal(f"{subclass.__name__} of traced values")
    names = _called_by_python(_methods(subclass, np.ndarray))
    names["overrides_methods"] = any(
        callable(getattr(np.ndarray, name, None)) for name in names if name[:2] != "__"
    )
    protocols = (subclass.__array_ufunc__, subclass.__array_wrap__)
    base = CapturedWithProtocols if FunctionType in map(type, protocols) else CapturedSubclass
    return type(f"Captured{subclass.__name__}", (base,), names)


def _methods(subclass: Any, base: type) -> dict[str, Any]:
    """Return what a subclass has that the class beneath it has not, and itself.

    Methods of classes are its own.
    """
    names: dict[str, Any] = {}
    for parent in reversed(subclass.__mro__):
        if not issubclass(base, parent):
            names.update({n: x for n, x in vars(parent).items() if n not in _NOT_METHODS})
    for name, method in names.items():
        if isinstance(method, classmethod):
            names[name] = staticmethod(method.__get__(None, subclass))
    names["subclass"] = subclass
    return names


class CapturedNumber(CapturedFloat):
    """A traced number of a subclass of ``float``."""


@functools.cache
def captured_number(subclass: Any) -> type[CapturedNumber]:
    """Return the class of traced numbers with the methods of a subclass of ``float``."""
    methods = _methods(subclass, float).items()
    names = {n: x for n, x in methods if getattr(x, "__objclass__", None) is not float}
    names.setdefault("__hash__", CapturedFloat.__hash__)  # a class with __eq__ alone has none
    return type(f"Captured{subclass.__name__}", (CapturedNumber,), _called_by_python(names))


def _called_by_python(names: dict[str, Any]) -> dict[str, Any]:
    """Return attributes of a class, of which Python calls properties and some methods itself."""

    def called(name: str, x: Any) -> Any:
        if type(x) is property:
            return property(*map(captured_function, (x.fget, x.fset, x.fdel)))
        return captured_function(x) if name[:2] == "__" else x

    return {name: called(name, x) for name, x in names.items()}


def new_float(cls: Any, x: Any = 0.0) -> Any:
    """Make a number as ``float.__new__`` does, of a traced one."""
    number = call(float, x)
    if not ndarrays.is_captured(number):
        return float.__new__(cls, number)
    return number if cls is float else captured_number(cls)(number._value)


def as_subclass(array: Any, subclass: Any, model: Any = None, *, is_new: bool = False) -> Any:
    """Return a view of an array as one of a subclass, as ``array.view(subclass)`` does.

    Args:
        array: the array.
        subclass: the class.
        model: the array that ``__array_finalize__`` gets; None for the first.
        is_new: whether ``__array_finalize__`` gets None, as it does where an array is made.
    """
    if issubclass(type(array), ndarrays.CapturedScalar):
        array = ndarrays.array_of(array._captured_value)
    if type(array) is np.ndarray:
        memory = memories.Memory(array)
        memory.is_shared = True
        array = CapturedArray(memory, array)
    made = captured_class(subclass)(array._captured_memory, array._captured_view, array, _same)
    made.take_over(array if model is None else model)
    finalize = subclass.__array_finalize__
    if type(finalize) is FunctionType and subclass not in CLASSES:
        captured_function(finalize)(made, None if is_new else array if model is None else model)
    return made


def _of_outside(array: Any) -> Any:
    """Return an array that the program has not made as one under capture, of its class."""
    memory = memories.Memory(np.asarray(array))
    memory.is_shared = True
    kind: Any = type(array)
    if kind is np.ndarray:
        return CapturedArray(memory, memory.layout)
    made = captured_class(kind)(memory, memory.layout)
    made.take_over(array)
    vars(made).update(getattr(array, "__dict__", {}))
    return made


def _ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Apply a universal function to arrays of subclasses, by the ``__array_ufunc__`` of one."""
    own = [x for x in _operands(inputs, options) if _has_protocol(x)]
    for x in own:
        result = call(_class_of(x).__array_ufunc__, x, ufunc, method, *inputs, **options)
        if result is not NotImplemented:
            return result
    if own:
        classes = ", ".join(repr(_class_of(x).__name__) for x in inputs)
        raise TypeError(
            f"operand type(s) all returned NotImplemented from __array_ufunc__({ufunc!r}, "
            f"{method!r}, ...): {classes}"
        )
    return _wrapped_ufunc(ufunc, method, inputs, options)


def _operands(inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
    outs = options.get("out") or ()
    return [*inputs, *(outs if isinstance(outs, tuple) else (outs,))]


def _has_protocol(x: Any) -> bool:
    own = getattr(_class_of(x), "__array_ufunc__", None)
    return type(own) is FunctionType and own is not _INHERITED


def _class_of(x: Any) -> Any:
    """Return the class of a value, as its program sees it."""
    return x.__class__ if ndarrays.is_captured(x) else type(x)


for _name, _method in _IN_PYTHON.items():
    setattr(CapturedWithProtocols, _name, _method)
_INHERITED: Final = ndarrays.Captured.__array_ufunc__


def isinstance_of_subclass(x: Any) -> bool:
    """Return whether a value is an array under capture of a subclass."""
    return issubclass(type(x), CapturedSubclass)


def _wrapped_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Apply a universal function to arrays of subclasses as ``numpy.ndarray`` does.

    It wraps the results by the class of an operand, or of the array that ``out=`` names.
    """
    operands = _operands(inputs, options)
    outs = operands[len(inputs) :]
    if outs:
        options = {**options, "out": tuple(map(_base, outs))}
    result = ufuncs.apply_ufunc(ufunc, method, [*map(_base, inputs)], options)
    if method == "at":
        return result
    is_call = method in ("__call__", "outer")
    owner = (
        owner_of_results(inputs if is_call else inputs[:1]) if options.get("subok", True) else None
    )

    def wrapped(place: int, x: Any) -> Any:
        out = outs[place] if outs else None
        context = (ufunc, tuple(operands), place) if is_call else None
        if out is not None:
            return x if _class_of(out) is np.ndarray else wrap(out, out, context, False)
        return x if owner is None else wrap(owner, x, context, not np.ndim(x))

    if type(result) is tuple:
        return tuple([wrapped(*pair) for pair in enumerate(result)])
    return wrapped(0, result)


def owner_of_results(inputs: Sequence[Any]) -> Any:
    """Return the operand whose class wraps the results of a universal function, if one does.

    It is the first one of the highest priority.
    """
    owner, highest = None, -math.inf
    for x in inputs:
        kind = _class_of(x)
        is_plain = kind is np.ndarray
        if is_plain or issubclass(kind, (np.generic, int, float, complex)):
            priority = 0.0 if is_plain else _LOWEST
            if highest < priority:
                owner, highest = None, priority
        elif hasattr(kind, "__array_wrap__"):
            priority = _priority(x)
            if highest < priority or (owner is None and priority == 0.0):
                owner, highest = x, priority
    return owner


#: NumPy's priority of a number.
_LOWEST: Final = -1e6


def _priority(x: Any) -> float:
    priority = getattr(_class_of(x), "__array_priority__", _LOWEST)
    return priority if isinstance(priority, (int, float)) else 0.0  # that of ndarray is no number


def wrap(owner: Any, result: Any, context: Any, return_scalar: bool) -> Any:
    """Wrap a result by the class of an array, as NumPy does.

    Args:
        owner: the array.
        result: an array, or a number.
        context: the universal function, its operands, and which of its results it is; or None.
        return_scalar: whether the result is to be a number.
    """
    array = ndarrays.to_array(result)
    own = _class_of(owner).__array_wrap__
    if type(own) is not FunctionType:
        return _wrap(owner, array)
    scalar = (return_scalar,) if _takes(own, 4) else ()  # as of NumPy 2
    return call(own, owner, array, context, *scalar)


@functools.cache
def _takes(function: Any, count: int) -> bool:
    """Return whether a function takes so many arguments by position."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    return True


def _wrap(me: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """Do what ``numpy.ndarray.__array_wrap__`` does."""
    kind = _class_of(me)
    if kind is np.ndarray:
        return array[()] if return_scalar else array
    return array if _class_of(array) is kind else as_subclass(array, kind, me)


def _data(x: Any) -> Any:
    """Return an operand as an array of ``numpy.ndarray``, also of a class with protocols."""
    is_array = isinstance(x, np.ndarray) and not isinstance(x, np.ma.MaskedArray)
    return x.view(np.ndarray) if is_array else _base(x)


def _base(x: Any) -> Any:
    kind = type(x)
    if issubclass(kind, np.ndarray) and not issubclass(kind, np.ma.MaskedArray):
        return np.ndarray.view(x, np.ndarray)
    return x._captured_plain() if isinstance_of_subclass(x) else ndarrays.unmasked(x)


def attribute_of_super(owner: Any, name: str) -> Any:
    """Return an attribute of ``super()`` in a method of a subclass of NumPy's or Python's."""
    me = owner.__self__
    order = owner.__self_class__.__mro__
    for base in order[order.index(owner.__thisclass__) + 1 :]:
        if name not in vars(base):
            continue
        if base is float:
            return getattr(super(CapturedNumber, me), name)
        if issubclass(np.ndarray, base):
            return _attribute_of_array(me, name)
        value = vars(base)[name]
        return value.__get__(me, owner.__self_class__) if hasattr(value, "__get__") else value
    raise AttributeError(name)


def _attribute_of_array(me: Any, name: str) -> Any:
    if name == "__array_wrap__":
        return functools.partial(_wrap, me)
    if name == "__array_ufunc__":
        return _ufunc_of_array
    if name == "__array_function__":
        return lambda func, types, args, kwargs: without_protocol(func, args, kwargs)
    if name in ("__array_finalize__", "__init__"):
        return lambda *args, **kwargs: None
    return getattr(super(type(me), me), name)


def _ufunc_of_array(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Do what ``numpy.ndarray.__array_ufunc__`` does."""
    if any(map(_has_protocol, _operands(inputs, options))):
        return NotImplemented
    return _wrapped_ufunc(ufunc, method, inputs, options)


def new_array(
    cls: Any,
    shape: Any,
    dtype: Any = float,
    buffer: Any = None,
    offset: int = 0,
    strides: Any = None,
    order: Any = None,
) -> Any:
    """Make an array as ``numpy.ndarray.__new__`` does, on the memory of a traced one."""
    if np.dtype(dtype) == object:
        return np.ndarray.__new__(cls, shape, dtype, buffer, offset, strides, order)
    if not ndarrays.is_captured(buffer):
        made = np.ndarray(shape, dtype, buffer, offset, strides, order)
        if cls is np.ndarray:
            return made
        fresh = CapturedArray(memories.Memory(made)) if buffer is None else made
        return as_subclass(fresh, cls, is_new=True)
    if offset or strides is not None or np.dtype(dtype) != buffer.dtype:
        raise runs.refusal("numpy.ndarray of a buffer")
    sizes = shape if isinstance(shape, tuple) else (shape,)
    count = int(np.prod(sizes))
    made = np.reshape(np.ravel(buffer)[:count], sizes)
    return made if cls is np.ndarray else as_subclass(made, cls, is_new=True)


def _view(array: Any, subclass: Any = np.ndarray, model: Any = None) -> Any:
    is_class = isinstance(subclass, type) and issubclass(subclass, np.ndarray)
    if issubclass(type(array), np.ndarray):
        return np.ndarray.view(array, subclass)  # not the method of its class, which may call this
    if not ndarrays.is_captured(array) or not is_class:
        return array.view(subclass)
    return as_subclass(array, subclass, model)


HANDLERS[np.ndarray.view] = _view
HANDLERS[np.ndarray.__array_ufunc__] = _ufunc
HANDLERS[np.ndarray.__array_wrap__] = _wrap
HANDLERS[np.ndarray.__array_finalize__] = _of_outside
HANDLERS[np.ndarray.__array_function__] = _by_protocols
HANDLERS[super] = attribute_of_super
HANDLERS[np.ndarray.__new__] = new_array
HANDLERS[float.__new__] = new_float

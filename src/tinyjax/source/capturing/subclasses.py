"""Subclasses of ``numpy.ndarray`` and ``float`` under capture: their methods, on traced values."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import FunctionType
from typing import Any, Final

import numpy as np

from tinyjax.source.capturing import memories, ndarrays, runs
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
_WRAPPING: Final = "Write __array_ufunc__ in place of __array_wrap__."


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
    has_protocol = type(subclass.__array_ufunc__) is FunctionType
    if type(subclass.__array_wrap__) is FunctionType and not has_protocol:
        raise runs.refusal(f"{subclass.__name__}, whose __array_wrap__ NumPy calls,", _WRAPPING)
    names = _called_by_python(_methods(subclass, np.ndarray))
    names["overrides_methods"] = any(
        callable(getattr(np.ndarray, name, None)) for name in names if name[:2] != "__"
    )
    return type(f"Captured{subclass.__name__}", (CapturedSubclass,), names)


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


def as_subclass(array: Any, subclass: Any, model: Any = None) -> Any:
    """Return a view of an array as one of a subclass, as ``array.view(subclass)`` does."""
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
        call(finalize, made, array if model is None else model)
    return made


def _ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Apply a universal function to arrays of a subclass, by its ``__array_ufunc__``."""
    outs = options.get("out") or ()
    for x in (*inputs, *(outs if isinstance(outs, tuple) else (outs,))):
        own = getattr(subclass_of(x), "__array_ufunc__", None)
        if type(own) is FunctionType and own is not _INHERITED:
            return call(own, x, ufunc, method, *inputs, **options)
    result = base_ufunc(ufunc, method, inputs, options)
    is_array = ndarrays.is_captured(result) or type(result) is np.ndarray
    models = [x for x in inputs if isinstance_of_subclass(x) or ndarrays.is_of_subclass(x)]
    if outs or not is_array or not models:
        return result
    model = max(models, key=lambda x: _priority(subclass_of(x)))
    return as_subclass(result, subclass_of(model), model)


def subclass_of(x: Any) -> Any:
    """Return the class of an array, also of one under capture, as its program sees it."""
    return getattr(type(x), "subclass", type(x))


def _priority(subclass: Any) -> float:
    priority = subclass.__array_priority__
    return priority if isinstance(priority, (int, float)) else 0.0  # that of ndarray is no number


_INHERITED: Final = ndarrays.Captured.__array_ufunc__


def isinstance_of_subclass(x: Any) -> bool:
    """Return whether a value is an array under capture of a subclass."""
    return issubclass(type(x), CapturedSubclass)


def base_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Apply a universal function to arrays of subclasses as ``numpy.ndarray`` does."""
    outs = options.get("out")
    if outs is not None:
        options = {**options, "out": tuple(map(_base, outs if type(outs) is tuple else (outs,)))}
    return ndarrays.apply_ufunc(ufunc, method, [_base(x) for x in inputs], options)


def _base(x: Any) -> Any:
    if ndarrays.is_of_subclass(x):
        return x.view(np.ndarray)
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
    if name == "__array_ufunc__":
        return lambda ufunc, method, *inputs, **options: base_ufunc(ufunc, method, inputs, options)
    if name == "__array_function__":
        return lambda func, types, args, kwargs: without_protocol(func, args, kwargs)
    if name in ("__array_finalize__", "__init__"):
        return lambda *args, **kwargs: None
    return getattr(super(CapturedSubclass, me), name)


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
        return as_subclass(fresh, cls)
    if offset or strides is not None or np.dtype(dtype) != buffer.dtype:
        raise runs.refusal("numpy.ndarray of a buffer")
    sizes = shape if isinstance(shape, tuple) else (shape,)
    count = int(np.prod(sizes))
    made = np.reshape(np.ravel(buffer)[:count], sizes)
    return made if cls is np.ndarray else as_subclass(made, cls)


def _view(array: Any, subclass: Any = np.ndarray, model: Any = None) -> Any:
    is_class = isinstance(subclass, type) and issubclass(subclass, np.ndarray)
    if issubclass(type(array), np.ndarray):
        return np.ndarray.view(array, subclass)  # not the method of its class, which may call this
    if not ndarrays.is_captured(array) or not is_class:
        return array.view(subclass)
    return as_subclass(array, subclass, model)


HANDLERS[np.ndarray.view] = _view
HANDLERS[np.ndarray.__array_ufunc__] = _ufunc
HANDLERS[super] = attribute_of_super
HANDLERS[np.ndarray.__new__] = new_array
HANDLERS[float.__new__] = new_float

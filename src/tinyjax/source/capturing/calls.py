"""Dispatchers of calls, attributes and items of captured code.

A function of Python's is called in its rewritten form, all the way down. NumPy's functions, those
of ``math`` and others with a handler go to it; code in C is called with data. Where it meets a
traced value it raises, since it gets an object that it does not know.
"""

from __future__ import annotations

import copy
import dis
import functools
import importlib
import inspect
import itertools
import operator
import random
import sys
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, KeysView, Sequence
from contextlib import contextmanager, suppress
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

import numpy as np

from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values import Array
from tinyjax.errors import DivergenceError, TinyjaxError, UndecidedError
from tinyjax.source import facts
from tinyjax.source.capturing import (
    array_functions,
    caches,
    memories,
    ndarrays,
    operators,
    rewriting,
    runs,
    signatures,
    stores,
    ufuncs,
)
from tinyjax.source.capturing.ndarrays import (
    DATA,
    HANDLERS,
    Captured,
    CapturedArray,
    FlatIterator,
    follow,
    plain,
)
from tinyjax.source.capturing.rewriting import is_captured_function
from tinyjax.source.ir import runtime

#: The method of objects that can be called.
CALL: Final = "__call__"
_Dispatched: Final = type(np.sum)
#: Classes whose operators and attributes are as Python has them.
PLAIN: Final = {
    *(int, float, complex, bool, str, bytes, list, tuple, dict, set, slice, range, type(None)),
    *(np.ndarray, np.float64, np.int64, np.bool_, np.complex128, ModuleType, FunctionType),
    *(MethodType, BuiltinFunctionType, ndarrays.CapturedScalar, CapturedArray),
    *ndarrays.OF_PYTHON,
}
#: Packages whose functions are called in their rewritten forms for some arguments only.
_OF_SEVERAL_FORMS: Final = ("numpy", "scipy")
#: Looks for the counterpart of a function in tinyjax; set by the module of libraries.
counterparts: Final[list[Callable[[Any, Sequence[Any], Any], Any]]] = []


#: What makes SciPy's own object, by the identity of one that a counterpart has made.
sources: Final[dict[int, Callable[[], Any]]] = {}
#: Values that nothing traced can be reached from.
ATOMS: Final = {float, int, bool, str, type(None), complex, np.float64, np.int64, np.bool_}


#: Classes in C whose methods are watched though they are called with nothing.
_WITH_STATE: Final = (random.Random, caches.CACHED)
#: Functions of no array that have a handler all the same.
_OF_ATOMS: Final = frozenset({sys._getframe, compile})


def call(g: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call what captured code calls."""
    kind: Any = type(g)
    is_of_atoms = kind is BuiltinFunctionType and not kwargs and ATOMS.issuperset(map(type, args))
    has_state = is_of_atoms and not args and isinstance(g.__self__, _WITH_STATE)
    if is_of_atoms and not has_state and g not in _OF_ATOMS:
        result = g(*args)
        is_held = type(result) is not np.ndarray or sys.getrefcount(result) > 2
        return result if is_held else follow(result)
    return _CALLS.get(kind, _call_object)(g, args, kwargs)


def _call_object(g: Any, args: Any, kwargs: Any) -> Any:
    """Call a function in C, a class or another object."""
    if "like" in kwargs and type(g) is BuiltinFunctionType:
        protocol = _array_function_of(like := kwargs["like"])
        options = {name: x for name, x in kwargs.items() if name != "like"}
        if protocol is not None:
            return call(protocol, like, g, (like.__class__,), args, options)
    kind = type(g)
    try:  # an object of the user's may have a hash of traced values
        handler = None if type(kind.__hash__) is FunctionType else HANDLERS.get(g)
    except TypeError:  # it cannot be hashed
        handler = None
    if handler is not None:
        return handler(*args, **kwargs)
    if issubclass(kind, type):
        return construct(g, args, kwargs)
    return _call_other(g, kind, args, kwargs)


#: By its identity, since its hash takes long: code of the program, its rewritten form, and whether
#: it has a loop.
_of_program: Final[dict[int, tuple[CodeType, CodeType, bool]]] = {}
#: The instructions with which loops go back.
_BACKWARD: Final = frozenset([code for name, code in dis.opmap.items() if "BACKWARD" in name])


def _generated() -> Any:
    """Return the module of generated adjoints, which is loaded for the first loop."""
    return importlib.import_module("tinyjax.source.capturing.generated")


def _call_function(g: FunctionType, args: Any, kwargs: Any) -> Any:
    handler = HANDLERS.get(g)
    if handler is not None:
        return handler(*args, **kwargs)
    code = g.__code__
    known = _of_program.get(id(code))
    if known is not None:
        new = known[1]
        if known[2] and runs.is_differentiated_once():
            result = _generated().differentiated(g, args, kwargs)
            if result is not None:
                return result
        return (g if new is code else rewriting.with_code(g, new))(*args, **kwargs)
    module = rewriting.module_of(g)
    if rewriting.is_rewritten(code) or module.startswith("tinyjax.source.capturing"):
        _of_program[id(code)] = code, code, False
        return g(*args, **kwargs)
    package = module.partition(".")[0]
    if package in _OF_SEVERAL_FORMS:
        args = _with_arrays(args, "__array__")  # an object may be that of a method
    if package == "scipy" or module.startswith("array_api_compat"):
        result = counterparts[0](g, args, kwargs)
        if result is not NotImplemented:
            return result
        if not _concerns((*args, *kwargs.values())):
            return _followed(g, args, kwargs)
    if package == "tinyjax":
        return _call_tinyjax(g, args, kwargs)
    if package == "numpy" and ndarrays.are_captured(args, kwargs):
        if g in facts.VIEWS:
            return array_functions.apply_function(g, args, kwargs)
        is_of_program = is_captured_function(getattr(g, "__wrapped__", None))  # by np.errstate
        if not is_of_program and not ndarrays.are_traced(args, kwargs):
            return native(g, args, kwargs)
    elif not is_captured_function(g):
        return native(g, args, kwargs)
    fun = rewriting.rewritten(g)
    if fun is None:
        fun = _without_source(g)
    elif package not in _OF_SEVERAL_FORMS and not module.startswith("array_api_compat"):
        _of_program[id(code)] = code, fun.__code__, not _BACKWARD.isdisjoint(code.co_code[::2])
    return native(g, args, kwargs) if fun is None else fun(*args, **kwargs)


#: The bit of the instruction that loads a global, where it is called next.
_IS_CALLED: Final = 1


def _without_source(g: FunctionType) -> FunctionType | None:
    """Return a function without source that calls what is captured; None for others.

    Its code stays. The functions among its globals and cells are dispatch points, and so are the
    classes and objects that it does nothing with but call them.
    """
    module = rewriting.module_of(g)
    if module.partition(".")[0] in rewriting.AS_THEY_ARE:
        return None
    scope = {name: g.__globals__[name] for name in g.__code__.co_names if name in g.__globals__}
    loads = [x for x in dis.get_instructions(g.__code__) if x.opname == "LOAD_GLOBAL"]
    kept = {x.argval for x in loads if not (x.arg or 0) & _IS_CALLED}
    made = {
        name: dispatched(x) if callable(x) and name not in kept else _dispatched_if_function(x)
        for name, x in scope.items()
    }
    cells = tuple([CellType(_dispatched_if_function(c.cell_contents)) for c in g.__closure__ or ()])
    fun = FunctionType(g.__code__, {**g.__globals__, **made}, g.__name__, g.__defaults__, cells)
    fun.__kwdefaults__ = g.__kwdefaults__
    return fun


def _dispatched_if_function(x: Any) -> Any:
    return dispatched(x) if is_captured_function(x) else x


def _call_tinyjax(g: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function of tinyjax's, which takes and gives traced values."""
    result = ndarrays.wrap(array_functions.with_values(g, args, kwargs))
    run = runs.current.get()
    gives_numpy = rewriting.module_of(g).startswith("tinyjax.source")
    if run is not None and not gives_numpy and ndarrays.holds_captured(result):
        run.uses_tinyjax = True
    return result


def _call_method(g: MethodType, args: Any, kwargs: Any) -> Any:
    owner, fun = g.__self__, g.__func__
    if runtime.module_of_class(type(owner)).startswith("scipy."):
        result = counterparts[0](g, args, kwargs)
        if result is not NotImplemented:
            return result
    if isinstance(owner, random.Random):
        runs.check_draw(fun, (owner, *args))
    return _CALLS.get(type(fun), _call_object)(fun, (owner, *args), kwargs)


def objects_of(x: Any) -> list[Any]:
    """Return the items of an array of objects, such as traced numbers; none of other values."""
    array = x._captured_view if type(x) is CapturedArray else x
    return array.ravel().tolist() if type(array) is np.ndarray and array.dtype.hasobject else []


def _attributes(x: Any) -> list[Any]:
    """Return the values of the attributes of an object, also of those with a slot."""
    names = getattr(type(x), "__slots__", ())
    slots = [getattr(x, name, None) for name in ((names,) if type(names) is str else names)]
    own = getattr(x, "__dict__", None)
    return [*slots, *(own.values() if isinstance(own, dict) else ())]


def _concerns(values: Sequence[Any]) -> bool:
    """Return whether traced values may be reached from arguments: arrays, functions, objects."""
    calls_any = any(callable(x) or isinstance(x, ModuleType) for x in values)
    return calls_any or may_reach_captured(values)


def around(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what is done around what functions do under capture.

    The handler is called with the function, what it does so far, and the arguments.
    """

    def register(handler: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            before = HANDLERS.get(function) or functools.partial(_unhandled, function)
            HANDLERS[function] = functools.partial(handler, function, before)
        return handler

    return register


def _unhandled(function: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(function, type):
        return construct(function, args, kwargs)
    if type(function) is BuiltinFunctionType:
        return call_builtin(function, args, kwargs)
    return applied(function, args, kwargs)


def applied(function: Any, args: Any, kwargs: Any) -> Any:
    """Apply a function of NumPy's, by its counterpart if an argument is traced."""
    is_traced = ndarrays.are_traced(args, kwargs)
    apply = array_functions.apply_to_traced if is_traced else array_functions.with_data
    return apply(function, args, kwargs)


def by_source(func: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Run the Python source of a function of NumPy's, if an argument may be traced.

    Functions that it calls may close over traced values.
    """
    fun = rewriting.rewritten(getattr(func, "_implementation", func))
    if fun is not None and (func in facts.CALLERS or ndarrays.are_traced(args, kwargs)):
        return fun(*args, **kwargs)
    return native(func, args, kwargs)


def from_source(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Run the Python source of a function of NumPy's whose counterpart refuses the arguments."""
    source = getattr(func, "_implementation", func)
    if source in _running or type(source) is not FunctionType:
        return NotImplemented
    fun = rewriting.rewritten(source)
    if fun is None:
        return NotImplemented
    _running.append(source)
    try:
        return fun(*args, **kwargs)
    except (DivergenceError, UndecidedError):
        raise
    except (AttributeError, TypeError, TinyjaxError):
        return NotImplemented
    finally:
        _running.pop()


#: Functions of NumPy's whose source runs now: they may call themselves by a method.
_running: Final[list[Any]] = []


array_functions.from_source.append(from_source)


def _with_arrays(args: Any, protocol: str) -> Any:
    """Return arguments with what the user's ``__array__`` gives in place of its objects.

    Args:
        args: the arguments; objects may be items of lists.
        protocol: the protocol of NumPy's that objects may have in place of it.
    """
    return tuple([with_array(x, protocol) for x in args])


def with_array(x: Any, *protocols: str) -> Any:
    """Return what the user's ``__array__`` gives in place of an object, or of items of a list.

    Other sequences of what is under capture become lists.
    """
    kind: Any = type(x)
    if kind in ATOMS or kind in NO_SEQUENCES:
        return x
    if kind is list or kind is tuple:
        items = [with_array(item, *protocols) for item in x]
        return x if all(map(operator.is_, items, x)) else kind(items)
    if is_sequence(kind):
        try:
            items = [with_array(item, *protocols) for item in iterate(x)]
        except TinyjaxError:
            raise
        except (KeyError, TypeError):  # a dictionary, or a number that has a length for arrays
            return x
        return items if ndarrays.holds_captured(items) else x
    return HANDLERS[np.asarray](x) if makes_arrays(x, *protocols) else x


@functools.cache
def is_sequence(kind: Any) -> bool:
    """Return whether NumPy makes an array of the items of an object, of a class of the user's."""
    if issubclass(kind, (dict, str, bytes, memoryview, range, *_ARRAYS)) or kind in (list, tuple):
        return False
    has_protocol = any(hasattr(kind, name) for name in _OF_ARRAYS)
    if has_protocol or runtime.module_of_class(kind).startswith(_OF_SEVERAL_FORMS):
        return False  # methods of the class itself, as its metaclass may have them, too
    return None not in [_of_class(kind, name) for name in ("__getitem__", "__len__")]


_OF_ARRAYS: Final = ("__array__", "__array_interface__", "__array_struct__", "__array_ufunc__")


def number_of(x: Any) -> Any:
    """Return the number that an object is by a method of the user's; other values as they are."""
    return call(float, x) if _is_number(x) else x


def _is_number(x: Any) -> bool:
    kind = type(x)
    is_other = not issubclass(kind, (np.ndarray, Captured))
    return is_other and is_captured_function(getattr(kind, "__float__", None))


_ARRAYS: Final = (np.ndarray, np.generic, Captured, Array)
NO_SEQUENCES: Final = {CapturedArray, np.ndarray, range}


def makes_arrays(x: Any, *protocols: str) -> bool:
    """Return whether an object becomes an array: by a method of the user's, or its elements.

    Raises:
        CaptureError: it says where the memory of an array is, which may be traced, or wraps what
            NumPy's functions give.
    """
    kind: Any = type(x)
    says_where = hasattr(kind, "__array_interface__") and not issubclass(kind, _ARRAYS)
    if says_where and may_reach_captured(x):
        raise runs.refusal("__array_interface__", "Write __array__ in place of it.")
    is_own = is_captured_function(getattr(kind, "__array__", None)) or kind is FlatIterator
    if is_sequence(kind):
        return with_array(x) is not x
    if not is_own or any(hasattr(kind, name) for name in protocols):
        return False
    if protocols and is_captured_function(getattr(kind, "__array_wrap__", None)):
        raise runs.refusal(
            f"{kind.__name__}.__array_wrap__", "Write __array_ufunc__ in place of __array_wrap__."
        )
    return True


def call_ufunc(g: np.ufunc, args: Any, kwargs: Any) -> Any:
    """Call a universal function, by the protocols of its operands."""
    if not kwargs and len(args) == g.nin:
        values = ndarrays.data_of(args)
        if values is not None:
            return follow(g(*values))
        is_own = g in HANDLERS or g in ndarrays.EQUALITIES
        if not is_own and OPERANDS.issuperset(map(type, args)):
            return ufuncs.wrap_ufunc(g, args)
    args = _with_arrays(args, "__array_ufunc__")
    objects = [x for x in args if not isinstance(x, np.ndarray)]
    if not ndarrays.are_captured(args, kwargs) and not any(has_protocol(type(x)) for x in objects):
        if len(args) == 1 and not kwargs and (method := _own_method(g, type(args[0]))) is not None:
            return call(method, *args)
        return _followed(g, args, kwargs)
    if len(args) > g.nin:
        if "out" in kwargs or len(args) > g.nargs:
            g(*[np.zeros(())] * len(args), out=None)  # which raises
        given = args[g.nin :]
        kwargs = {**kwargs, "out": (*given, *[None] * (g.nout - len(given)))}
        args = args[: g.nin]
    out = kwargs.get("out")
    if out is None:
        kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    elif out is not ... and type(out) is not tuple:
        kwargs = {**kwargs, "out": (out,)}
    for x in args:
        if has_protocol(type(x)):
            result = call(type(x).__array_ufunc__, x, g, "__call__", *args, **kwargs)
            if result is not NotImplemented:
                return result
    result = ufuncs.apply_ufunc(g, "__call__", args, kwargs)
    return g(*args, **kwargs) if result is NotImplemented else result


def has_protocol(kind: Any) -> bool:
    """Return whether universal functions are a method of the user's, for objects of a class."""
    protocol = getattr(kind, "__array_ufunc__", None)
    return is_captured_function(protocol) and not issubclass(kind, Captured)


#: The methods that universal functions call for objects that are no arrays; others have their name.
_METHODS_OF_OBJECTS: Final = {"absolute": "__abs__", "negative": "__neg__", "positive": "__pos__"}


def _own_method(ufunc: np.ufunc, kind: type) -> Any:
    """Return the method of the user's that a universal function calls for an object, or None."""
    if hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array__"):
        return None
    method = getattr(kind, _METHODS_OF_OBJECTS.get(ufunc.__name__, ufunc.__name__), None)
    return method if is_captured_function(method) else None


def _call_dispatched(g: Any, args: Any, kwargs: Any) -> Any:
    result = array_functions.apply_directly(g, args, kwargs)
    if result is not NotImplemented:
        return result
    if g in HANDLERS and signatures.are_plain((*args, *kwargs.values())):
        return array_functions.apply_function(g, args, kwargs)
    if any(_array_function_of(x) for x in _arrays_in((*args, *kwargs.values()))):
        result = _by_array_functions(g, args, kwargs)
        if result is not NotImplemented:
            return result
    return without_protocol(g, args, kwargs)


def _by_array_functions(g: Any, args: Any, kwargs: Any) -> Any:
    """Call the protocols that decide on a function, as NumPy says which, and in which order."""
    probes = ArrayFunctionProbes()
    with suppress(Exception):  # none decides, or it does not take probes
        g(*map(probes.probe, args), **{name: probes.probe(x) for name, x in kwargs.items()})
    for x in probes.owners:
        protocol = _array_function_of(x)
        result = call(protocol, x, g, probes.types, args, kwargs) if protocol else NotImplemented
        if result is not NotImplemented:
            return result
    return NotImplemented


class ArrayFunctionProbes:
    """Objects in the places of arrays, which note that NumPy asks them for a function.

    Attributes:
        owners: the arrays in whose places they are, in the order in which NumPy asks them.
        types: the classes that NumPy names.
    """

    def __init__(self) -> None:
        self.owners: list[Any] = []
        self.types: tuple[Any, ...] = ()
        self._probes: dict[Any, Any] = {}

    def probe(self, x: Any) -> Any:
        """Return a probe in the place of an array, and nothing in that of something else."""
        if type(x) in (list, tuple):
            return type(x)(map(self.probe, x))
        if not hasattr(x, "__array_function__"):
            return None
        made = self._class_of(x.__class__)()
        made.owner = x
        return made

    def _class_of(self, kind: Any) -> Any:
        """Return the class of probes for a class, beneath that for the class it derives from."""
        if kind not in self._probes:
            parents = [x for x in kind.__mro__[1:] if hasattr(x, "__array_function__")]
            base = self._class_of(parents[0]) if parents else object
            names = {"__array_function__": self._note, "shape": ()}
            self._probes[kind] = type(kind.__name__, (base,), names)
        return self._probes[kind]

    def _note(self, probe: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        classes = {made: kind for kind, made in self._probes.items()}
        self.owners.append(probe.owner)
        self.types = tuple([classes[made] for made in types])
        return NotImplemented


def without_protocol(g: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of NumPy's as ``numpy.ndarray.__array_function__`` does.

    It calls methods of its arguments, which a subclass may have overridden: then its source runs.
    """
    own = getattr(g, "_implementation", None)
    operands = [*_arrays_in((*args, *kwargs.values()))]
    overrides = any(getattr(type(x), "overrides_methods", False) for x in operands)
    if overrides and g is not np.unique and not _is_compiled(own):
        fun = rewriting.rewritten(own)
        if fun is not None:
            return fun(*args, **kwargs)
    if any(getattr(type(x), "has_protocols", False) for x in (*args, *kwargs.values())):
        fun = rewriting.rewritten(own)
        try:
            result = HANDLERS[np.ndarray.__array_function__](g, args, kwargs)
        except TypeError:  # of a class that does not take it: the source may do something else
            if fun is None:
                raise
            result = NotImplemented
        if result is not NotImplemented:
            return result
        if fun is not None:
            return fun(*args, **kwargs)
    if any(map(ndarrays.has_objects, operands)) and g not in _MAKING_ARRAYS:
        items = itertools.chain.from_iterable(map(objects_of, operands))
        if ndarrays.holds_captured([*operands, *items]):
            return _of_objects(g, own, args, kwargs)
    has_polynomial = any(isinstance(x, np.poly1d) for x in args)
    if not has_polynomial:
        args = _with_arrays(args, "__array_function__")
    if g in HANDLERS:
        return array_functions.apply_function(g, args, kwargs)
    if own is getattr(np, g.__name__, None):  # g hands over by `like`, which is its first argument
        return call(own, *args[1:], **kwargs)
    if has_polynomial:
        result = from_source(g, args, kwargs)
        if result is not NotImplemented:
            return result
        args = _with_arrays(args, "__array_function__")
    if ndarrays.are_captured(args, kwargs):
        return array_functions.apply_function(g, args, kwargs)
    return _followed(g, args, kwargs)


def _is_compiled(fun: Any) -> bool:
    """Return whether a function of NumPy's calls compiled code, and no method of its arguments."""
    names = getattr(getattr(fun, "__code__", None), "co_names", ())
    return not {"_umath_linalg", "_raw_fft"}.isdisjoint(names)


#: Functions that make an array of one kind of another.
_MAKING_ARRAYS: Final = (np.asarray, np.array, np.asanyarray)


def _of_objects(g: Any, own: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of NumPy's with an array of objects, which it does something to one by one.

    Where it asks for more than their operators, its Python source runs.
    """
    given = ndarrays.mapped(ndarrays.as_objects, args), ndarrays.mapped(ndarrays.as_objects, kwargs)
    return (rewriting.rewritten(own) or g)(*given[0], **given[1])


def _arrays_in(values: Sequence[Any]) -> Iterator[Any]:
    """Yield arguments, and the items of nested lists of arrays."""
    for x in values:
        if type(x) is list or type(x) is tuple:
            yield from _arrays_in(x)
        elif type(x) not in ATOMS:
            yield x


def _array_function_of(x: Any) -> Any:
    """Return the protocol of a class of the user's, which decides on functions of its arrays."""
    kind = getattr(type(x), "subclass", type(x))
    protocol = getattr(kind, "__array_function__", None)
    is_own = is_captured_function(protocol) and not issubclass(kind, (Captured, Array))
    return protocol if is_own else None


#: How objects of a class are called; others as ``_call_object`` does.
_CALLS: Final[dict[type, Callable[[Any, Any, Any], Any]]] = {
    FunctionType: _call_function,
    MethodType: _call_method,
    np.ufunc: call_ufunc,
    _Dispatched: _call_dispatched,
}


#: How objects in C that stand for operations are called, after those with a rule.
OPERATIONS: Final[dict[type, Callable[..., Any]]] = {}


def _call_other(g: Any, kind: type, args: Any, kwargs: Any) -> Any:
    if kind in OPERATIONS:
        return OPERATIONS[kind](g, *args, **kwargs)
    if kind is functools.partial:
        return call(g.func, *g.args, *args, **{**g.keywords, **kwargs})
    if kind is caches.CACHED:
        if may_reach_captured((args, kwargs), _MOST_OF_KEYS):
            return caches.call(call, g, args, kwargs)
        result = g(*args, **kwargs)
        if ndarrays.holds_captured(result):
            stores.note_cache(g)
        return result
    if kind in _BUILTIN:
        return call_builtin(g, args, kwargs)
    if runtime.module_of_class(kind).startswith("numba") and ndarrays.are_captured(args, kwargs):
        if hasattr(g, "py_func"):
            return call(g.py_func, *args, **kwargs)
        if kind.__name__ == "DUFunc" and not kwargs:  # of numba.vectorize
            objects = call(np.vectorize(g._dispatcher.py_func, otypes=[object]), *args)
            return HANDLERS[np.array](objects.tolist())[()]
    if rewriting.is_of_wrapt(kind):
        kind = getattr(importlib.import_module("wrapt.wrappers"), kind.__name__)
    if not issubclass(kind, Captured):
        method = getattr(kind, CALL, None)
        if type(method) is FunctionType or is_captured_function(method):
            return call(method, *self_of(g, kind, CALL), *args, **kwargs)
    return native(g, args, kwargs)


#: Methods of classes in C, as attributes of the class.
_UNBOUND: Final = (MethodDescriptorType, WrapperDescriptorType)
_BUILTIN: Final = (BuiltinFunctionType, *_UNBOUND, MethodWrapperType)
#: Functions of NumPy's in C, by the functions of the same name that dispatch to them.
_DISPATCHED: Final = {
    own: public
    for public in vars(np).values()
    if type(own := getattr(public, "_implementation", None)) is BuiltinFunctionType
}
#: Functions of Python's in C that give what calls a function. Others ask which one it is.
_CALLING: Final = (iter, functools.cmp_to_key)
#: Functions in C that call functions of the user's.
_HIGHER: Final = (map, filter, functools.reduce, sorted, min, max)
#: Where such a function is among the arguments; it may be named, too.
_FUNCTION_OF: Final[dict[Any, int]] = {
    **dict.fromkeys((map, filter, functools.reduce, itertools.starmap, itertools.takewhile), 0),
    **dict.fromkeys((itertools.dropwhile, itertools.filterfalse), 0),
    **dict.fromkeys((itertools.accumulate, itertools.groupby), 1),
}
_OF_PYTHON: Final = (
    *("builtins", "_functools", "itertools", "_operator", "_bisect", "_heapq", "time"),
    "_warnings",
)


def call_builtin(g: Any, args: Any, kwargs: Any) -> Any:
    """Call a function in C."""
    owner = getattr(g, "__self__", None)
    if issubclass(type(owner), Captured):
        return g(*args, **kwargs)
    of_class = getattr(g, "__objclass__", type(owner))
    is_unbound = type(g) in _UNBOUND
    if of_class is object and g.__name__ == "__getattribute__":
        owner, name = args if is_unbound else (owner, *args)
        return _reader_by_class(type(owner), name, object.__getattribute__)(owner, name)
    if of_class is object and g.__name__ == "__setattr__":
        stores.note(args[0] if is_unbound else owner)
        return g(*args, **kwargs)
    if is_unbound and of_class is np.ndarray and args and ndarrays.is_captured(args[0]):
        kind = CapturedArray if ndarrays.is_array(args[0]) else type(args[0])
        return getattr(kind, g.__name__)(*args, **kwargs)
    if of_class in _NUMBERS and ndarrays.holds_captured(args):
        return _call_of_number(g, of_class, args if is_unbound else (owner, *args))
    if (
        is_unbound
        and issubclass(of_class, _HOLDING)
        and args
        and issubclass(type(args[0]), of_class)
    ):
        return call_builtin(g.__get__(args[0]), args[1:], kwargs)
    if isinstance(owner, np.ndarray):
        return _call_of_array(g, owner, args, kwargs)
    if type(owner) is np.ufunc:
        args = _with_arrays(args, "__array_ufunc__")
        if ndarrays.are_captured(args, kwargs):
            return ufuncs.apply_ufunc(owner, g.__name__, args, kwargs)
        return _followed(g, args, kwargs)
    if isinstance(owner, (dict, set, frozenset)) and args:
        runs.check_no_text(*args if type(owner) is dict else ())
        args = (_key_for(g, owner, args[0]), *args[1:])
    if type(owner) is list and g.__name__ == "sort":
        return HANDLERS[list.sort](owner, *args, **kwargs)
    if owner is not None and not isinstance(owner, ModuleType):
        return _call_of_object(g, owner, args, kwargs)
    return _call_of_module(_DISPATCHED.get(g, g), args, kwargs)


def _call_of_module(g: Any, args: Any, kwargs: Any) -> Any:
    """Call a function in C that is no method."""
    if g in _HIGHER:
        return _call_higher(g, args, kwargs)
    module = getattr(g, "__module__", None) or ""
    if module in _OF_PYTHON:
        return g(*(map(captured_function, args) if g in _CALLING else args), **kwargs)
    if module.startswith("numpy") and ndarrays.are_traced(args, kwargs):
        return array_functions.apply_function(g, args, kwargs)
    return native(g, args, kwargs)


def _call_of_array(g: Any, owner: np.ndarray[Any, Any], args: Any, kwargs: Any) -> Any:
    """Call a method of an array that is not under capture."""
    if g.__name__ == "astype":
        runs.check_no_text(owner)
        objects = objects_of(owner)
        if ndarrays.is_traced(objects) or any(map(_is_number, objects)):
            return HANDLERS[np.array](owner, *args, **kwargs)
    if g.__name__ == "__array_ufunc__" and ndarrays.are_captured(args, kwargs):
        function, method, *operands = args
        operands = [x.view(np.ndarray) if isinstance(x, np.ndarray) else x for x in operands]
        return ufuncs.apply_ufunc(function, method, operands, kwargs)
    if not ndarrays.are_captured(args, kwargs):
        return array_functions.with_data(g, args, kwargs)
    if (ufunc := operators.OPERATORS.get(g.__name__)) is not None:
        operands = [*args, owner] if g.__name__.startswith("__r") else [owner, *args]
        return call_ufunc(ufunc, operands, {})
    if ndarrays.has_objects(owner) and g.__name__ in facts.METHODS_AS_FUNCTIONS:
        return array_functions.apply_function(getattr(np, g.__name__), (owner, *args), kwargs)
    if ndarrays.has_objects(owner) or not hasattr(ndarrays.CapturedArray, g.__name__):
        return array_functions.with_data(g, args, kwargs)
    own = HANDLERS[np.ndarray.__array_finalize__](owner)
    is_plain = type(own) is ndarrays.CapturedArray
    method = getattr(own if is_plain else super(type(own), own), g.__name__)
    return method(*args, **kwargs)


def _call_of_object(g: Any, owner: object, args: Any, kwargs: Any) -> Any:
    """Call a method in C of another object."""
    runs.check_draw(g, args)
    caches.check_method(owner, g.__name__)
    if type(owner) not in PLAIN and ndarrays.are_traced(args, kwargs):
        result = counterparts[0](g, args, kwargs)
        if result is not NotImplemented:
            return result
    if ndarrays.holds_captured(args):
        stores.note(owner)
    made = args if isinstance(owner, _HOLDING) else map(captured_function, args)
    return g(*made, **kwargs)


#: Classes of Python's numbers, each of which takes those before it.
_NUMBERS: Final = (int, float, complex)


def _call_of_number(g: Any, kind: Any, args: Sequence[Any]) -> Any:
    """Call a method of Python's numbers, such as ``float.__mul__``, some of which are traced."""
    name = g.__name__.strip("_")
    numbers = [ndarrays.number(x) for x in args]
    taken = _NUMBERS[: _NUMBERS.index(kind) + 1]
    if not isinstance(args[0], kind):
        raise TypeError(f"descriptor '{g.__name__}' requires a '{kind.__name__}' object")
    if not all(isinstance(x, taken) for x in args[1:]):
        return NotImplemented
    if name in rewriting.DISPATCHERS:
        return rewriting.DISPATCHERS[name](*numbers)
    if len(args) == 2 and name[1:] in rewriting.DISPATCHERS:
        return rewriting.DISPATCHERS[name[1:]](*reversed(numbers))
    return _attribute_of_number(numbers[0], g.__name__)(*numbers[1:])


def _call_higher(g: Any, args: Any, kwargs: Any) -> Any:
    place = _FUNCTION_OF.get(g)
    made = [dispatched(x) if i == place and x is not None else x for i, x in enumerate(args)]
    named = {x: dispatched(kwargs[x]) for x in ("key", "func") if kwargs.get(x) is not None}
    return g(*made, **{**kwargs, **named})


def dispatched(x: Any) -> Any:
    """Return a callable as a dispatch point, for code that calls it."""
    return functools.partial(call, x)


def captured_function(x: Any) -> Any:
    """Return a function of Python's in its rewritten form; other values as they are."""
    kind = type(x)
    if kind is FunctionType:
        package = rewriting.module_of(x).partition(".")[0]
        return x if package in rewriting.AS_THEY_ARE else rewriting.rewritten(x) or x
    if kind is MethodType and type(x.__func__) is FunctionType:
        return MethodType(captured_function(x.__func__), x.__self__)
    if kind is functools.partial:
        return kind(captured_function(x.func), *x.args, **x.keywords)
    return x


class FunctionOfTraced:
    """A function of the program for tinyjax's functions to call, of traced values.

    It is an object, of whose environment only what is traced is seen: values under capture are no
    data.
    """

    __slots__ = ("__weakref__", "fun")

    def __init__(self, fun: Any) -> None:
        self.fun = fun

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.fun)

    def __getattr__(self, name: str) -> Any:
        if name != "__dict__":
            raise AttributeError(name)
        reachable = itertools.islice(_reachable(self.fun), _MOST_REACHED)
        values = [x._captured_value for x in reachable if issubclass(type(x), Captured)]
        return {"traced": [x for x in values if isinstance(x, Tracer)]}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        wrapped = ndarrays.mapped(ndarrays.wrap, kwargs)
        return ndarrays.unwrap(call(self.fun, *map(ndarrays.wrap, args), **wrapped))


ndarrays.functions.append(FunctionOfTraced)


def native(g: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call code that runs unwatched, with data.

    Raises:
        CaptureError: an argument is traced, and the code needs data.
    """
    if ndarrays.are_traced(args, kwargs) or any(map(objects_of, args)):
        result = counterparts[0](g, args, kwargs)
        if result is not NotImplemented:
            return result
    given = [*args, *kwargs.values()]
    passed = [captured_function(plain(x)) for x in given]
    passed_views = [
        (x._captured_memory, view)
        for x, view in zip(given, passed, strict=True)
        if type(x) is CapturedArray and type(view) is np.ndarray
    ]
    counts = _references(passed_views)
    copies = _Copies(given, passed) if any(map(_is_copied, given, passed)) else None
    try:
        with _elements_as_data(given):
            result = g(*passed[: len(args)], **dict(zip(kwargs, passed[len(args) :], strict=True)))
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        if isinstance(error, TinyjaxError) or not ndarrays.are_traced(args, kwargs):
            raise
        raise runs.refusal(_qualified_name(g)) from error
    held = _references(passed_views)
    if not isinstance(result, _NOT_READ):
        runs.check_no_text(*given)
    elif type(result) is int:  # which was read, if it is what a text says
        runs.check_no_text(str(result))
    if any(memories.is_view_of(part, view) for part in _parts(result) for _, view in passed_views):
        return array_functions.followed(result, given)
    for (memory, _), before, after in zip(passed_views, counts, held, strict=True):
        if after > before:
            memory.is_shared = True
    if copies:
        result = copies.replace(result)
        copies.write_back()
        copies.check_released(g)
    if type(result) is np.ndarray and sys.getrefcount(result) > 2:
        return result
    if _is_sparse(type(result)) and g in _COPYING:
        _note_made(result)
    return array_functions.followed(result, [getattr(g, "__self__", None), *given])


@contextmanager
def _elements_as_data(values: Sequence[Any]) -> Iterator[None]:
    """Let sparse matrices that the program has made hold data, as code in C needs."""
    matrices = [(x, x.data) for x in values if _is_sparse(type(x)) and _is_known(x)]
    for matrix, elements in matrices:
        matrix.data = plain(elements)
    try:
        yield
    finally:
        for matrix, elements in matrices:
            matrix.data = elements


def _followed(g: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call code that takes data as it is, and follow what it gives."""
    result = g(*args, **kwargs)
    given = [*args, *kwargs.values()]
    if _is_sparse(type(result)):
        attributes = itertools.chain.from_iterable(map(_attributes, given))
        _note_made(result, [*given, *attributes])
    return array_functions.followed(result, given)


def _is_sparse(kind: type) -> bool:
    return runtime.module_of_class(kind).startswith("scipy.sparse.")


def _is_known(matrix: Any) -> bool:
    """Return whether the elements of a sparse matrix are under capture, and data."""
    elements = getattr(matrix, "data", None)
    return type(elements) is CapturedArray and not elements._captured_is_traced


def _note_made(matrix: Any, others: Sequence[Any] = ()) -> None:
    """Note a sparse matrix that unwatched code has made, if it is none of other objects."""
    run = runs.current.get()
    if run is not None and not any(matrix is x for x in others):
        run.matrices[id(matrix)] = weakref.ref(matrix)


def _elements(owner: Any, name: str) -> Any:
    """Return the elements of a sparse matrix: under capture, if this run has made them."""
    run = runs.current.get()
    note = None if run is None else run.matrices.get(id(owner))
    if note is not None and note() is owner and sys.getrefcount(vars(owner)[name]) == memories.ONLY:
        stores.note(owner)
        setattr(owner, name, ndarrays.follow(vars(owner)[name]))
    return getattr(owner, name)


def _parts(result: Any) -> Sequence[Any]:
    return result if type(result) in (tuple, list) else (result,)


def _references(passed_views: Sequence[tuple[Any, Any]]) -> list[int]:
    """Return how many references there are to each array."""
    return [sys.getrefcount(view) for _, view in passed_views]


#: Functions whose result nothing else holds.
_COPYING: Final = (copy.copy, copy.deepcopy)
#: What holds no number that was read of a text.
_NOT_READ: Final = (bool, bytes, int, str, type(None))


def _is_copied(x: Any, made: Any) -> bool:
    """Return whether code is given a copy of a container."""
    return x is not made and type(x) in _CONTAINERS


class _Copies:
    """The containers that code is given copies of, since their arrays are others there.

    Args:
        operands: the arguments.
        passed: what the code is called with in their place.
    """

    def __init__(self, operands: Sequence[Any], passed: Sequence[Any]) -> None:
        pairs = [*itertools.chain.from_iterable(map(_pairs, operands, passed))]
        self._items = {id(pair[1]): pair for pair in pairs}
        self._copies = [pair for pair in pairs if _is_copied(*pair)]
        self._counts = _references(self._copies)

    def replace(self, result: Any) -> Any:
        """Return a result with the containers themselves in place of their copies."""
        if id(result) in self._items:
            return self._items[id(result)][0]
        is_container = type(result) in (list, tuple, dict) or hasattr(type(result), "_make")
        return ndarrays.mapped(self.replace, result) if is_container else result

    def write_back(self) -> None:
        """Do to the containers what was done to their copies."""
        for x, made in self._copies:
            if type(x) is list:
                items = [follow(self.replace(item)) for item in made]
                if len(items) != len(x) or not all(map(operator.is_, items, x)):
                    x[:] = items
            elif type(x) is dict:
                items = [follow(self.replace(item)) for item in made.values()]
                if [*made] != [*x] or not all(map(operator.is_, items, x.values())):
                    x.clear()
                    x.update(zip(made, items, strict=True))

    def check_released(self, g: Any) -> None:
        """Check that the code holds no copy, which would not change with its container.

        Raises:
            CaptureError: it holds one.
        """
        if any(map(operator.gt, _references(self._copies), self._counts)):
            raise runs.refusal(f"{_qualified_name(g)}, which holds a list of arrays given to it,")


def _pairs(x: Any, made: Any) -> Iterator[tuple[Any, Any]]:
    """Yield an argument and its items, each with what code is called with in its place."""
    yield x, made
    if _is_copied(x, made):
        items = (x.values(), made.values()) if type(x) is dict else (x, made)
        for pair in zip(*items, strict=True):
            yield from _pairs(*pair)


def _qualified_name(g: Any) -> str:
    module = getattr(g, "__module__", None)
    name = getattr(g, "__qualname__", None) or type(g).__name__
    return f"{module}.{name}" if isinstance(module, str) else name


def construct(cls: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Make an object, by the rewritten forms of what its class does."""
    meta = type(cls)
    if meta is not type:
        method = getattr(meta, CALL, None)
        if type(method) is FunctionType:
            return call(method, cls, *args, **kwargs)
    module = runtime.module_of_class(cls)
    if module.startswith("tinyjax.custom_derivatives"):  # a function that is given rules
        return array_functions.with_values(cls, args, kwargs)
    package = module.partition(".")[0]
    if package == "scipy":
        result = counterparts[0](cls, args, kwargs)
        if result is not NotImplemented:
            return result
    new, init = cls.__new__, cls.__init__
    is_python = type(new) is FunctionType or type(init) is FunctionType
    is_python = is_python or (new is float.__new__ and cls is not float)
    if not is_python or (package in rewriting.AS_THEY_ARE and package != "numpy"):
        return _construct_native(cls, package, args, kwargs)
    if new is object.__new__:
        made = object.__new__(cls)
    elif type(new) is FunctionType:
        made = call(new, cls, *args, **kwargs)
    elif new in HANDLERS:
        made = HANDLERS[new](cls, *args, **kwargs)
    else:
        made = new(cls, *map(plain, args), **kwargs)
    if isinstance(made, cls):
        # of a subclass, where __new__ makes one of that
        init = (made.__class__ if issubclass(type(made), Captured) else type(made)).__init__
        if type(init) is FunctionType:
            _initialize(made, init, args, kwargs)
        elif init is not object.__init__:
            init(made, *args, **kwargs)
    if _is_sparse(cls):
        _note_made(made)
    return made


def _initialize(made: Any, init: FunctionType, args: Any, kwargs: Any) -> None:
    """Call ``__init__``; a generated one on a class whose ``__post_init__`` is rewritten."""
    kind: Any = type(made)
    generated = _with_rewritten_hooks(kind)
    if generated is None or rewriting.rewritten(init) is not None:
        call(init, made, *args, **kwargs)
        return
    object.__setattr__(made, "__class__", generated)
    try:
        call(init, made, *args, **kwargs)
    finally:
        object.__setattr__(made, "__class__", kind)


@functools.cache
def _with_rewritten_hooks(cls: Any) -> type | None:
    """Return a subclass whose ``__post_init__`` is rewritten; None where there is none."""
    hook = getattr(cls, "__post_init__", None)
    makers = (type(cls), getattr(cls.__init_subclass__, "__func__", type))
    is_registered = any(maker.__module__ not in _MAKING for maker in makers)
    if is_registered or not is_captured_function(hook):
        return None

    def post_init(self: Any, *args: Any) -> Any:
        return call(hook, self, *args)

    return type(cls.__name__, (cls,), {"__slots__": (), "__post_init__": post_init})


#: Modules whose metaclasses and ``__init_subclass__`` hold no list of the classes that they make.
_MAKING: Final = ("builtins", "abc", "typing")


#: Classes whose subclasses hold what they are given.
_CONTAINERS: Final = (dict, list, tuple, set, frozenset)
#: Classes that hold functions, and call none: the functions stay those that they are.
_HOLDING: Final = (
    *(*_CONTAINERS, deque, functools.partial, weakref.ref),
    *(property, classmethod, staticmethod),
)


def _construct_native(cls: Any, package: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if cls in _HIGHER or package == "itertools":
        return _call_higher(cls, args, kwargs)
    is_library = package in ("numpy", "pandas", "scipy") and not issubclass(cls, _CONTAINERS)
    if is_library or issubclass(cls, np.ndarray):
        return native(cls, args, kwargs)
    if cls in (bytes, bytearray, memoryview):
        if ndarrays.is_traced(args):
            raise runs.refusal(cls.__name__)
        return native(cls, args, kwargs)
    if package in _OF_NUMBERS:
        if ndarrays.are_traced(args, kwargs):
            raise runs.refusal(_qualified_name(cls))
        runs.check_no_text(*args)
    is_holding = issubclass(cls, _HOLDING) and not issubclass(cls, defaultdict)
    return cls(*(args if is_holding else map(captured_function, args)), **kwargs)


#: Packages whose classes hold numbers that are not of machine precision, or run elsewhere.
_OF_NUMBERS: Final = ("decimal", "_decimal", "fractions", "array", "datetime")


def start_thread(thread: threading.Thread) -> None:
    """Start a thread, which must not have traced values: it is not of the run."""
    attributes = vars(thread)
    reached = (attributes.get("_target"), attributes.get("_args"), attributes.get("_kwargs"))
    if any(map(reaches_captured, reached)):
        raise runs.refusal("a thread")
    thread.start()


def reaches_captured(x: Any) -> bool:
    """Return whether a value under capture is in a container, or by what a function has."""
    kind = type(x)
    if kind is functools.partial:
        return reaches_captured(x.func) or ndarrays.holds_captured((x.args, x.keywords))
    if kind is MethodType:
        attributes = getattr(x.__self__, "__dict__", None)
        return ndarrays.holds_captured((x.__self__, attributes)) or reaches_captured(x.__func__)
    if kind is FunctionType:
        defaults = (x.__defaults__, x.__kwdefaults__)
        return ndarrays.holds_captured((_cells(x), defaults)) or any(
            type(cell) is FunctionType and cell is not x and ndarrays.holds_captured(_cells(cell))
            for cell in _cells(x)
        )
    return ndarrays.holds_captured(x)


#: Of more values it is not known what they reach, and of what caches have as keys.
_MOST_REACHED: Final = 1000
_MOST_OF_KEYS: Final = 100_000


def may_reach_captured(x: Any, most: int = _MOST_REACHED) -> bool:
    """Return whether a value under capture may be reached by way of objects, too.

    Of more values than ``most`` it is not known what they reach.
    """
    for count, value in enumerate(_reachable(x)):
        if issubclass(type(value), Captured) or count == most:
            return True
    return False


def _reachable(x: Any) -> Iterator[Any]:
    """Yield a value and what can be reached from it, without data that reaches nothing."""
    remaining: list[Any] = [x]
    seen: dict[int, Any] = {}
    while remaining:
        value = remaining.pop()
        kind = type(value)
        if kind not in _UNREACHED and id(value) not in seen:
            seen[id(value)] = value
            yield value
            if not issubclass(kind, Captured):
                remaining += _reached(value, kind)


def _reached(value: Any, kind: type) -> Sequence[Any]:
    """Return what is a step away from a value."""
    if kind is functools.partial:
        return (value.func, *value.args, *value.keywords.values())
    if kind is MethodType:
        return value.__self__, value.__func__
    if kind is FunctionOfTraced:
        return (value.fun,)
    if kind is FunctionType:
        named = value.__kwdefaults__ or {}
        return (*_cells(value), *(value.__defaults__ or ()), *named.values())
    if issubclass(kind, dict):
        return [*dict.values(value), *_attributes(value)]
    if issubclass(kind, (list, tuple, set, frozenset, deque)):
        return [*value, *_attributes(value)]
    return objects_of(value) if kind is np.ndarray else _attributes(value)


def _cells(fun: FunctionType) -> tuple[Any, ...]:
    """Return what a function closes over."""
    contents: list[Any] = []
    for cell in fun.__closure__ or ():
        try:
            contents.append(cell.cell_contents)
        except ValueError:  # it has no value yet
            continue
    return tuple(contents)


HANDLERS[threading.Thread.start] = start_thread


def source_text(text: Any) -> Any:
    """Return what ``eval`` or ``exec`` is called with, if it has no traced number."""
    runs.check_no_text(text)
    return text


@around(compile)
def _compile(_: Any, before: Any, source: Any, *args: Any, **kwargs: Any) -> Any:
    return before(source_text(source), *args, **kwargs)


# Attributes and items


def _of_class(cls: Any, name: str) -> Any:
    """Return what a class, or one that it inherits from, has by a name."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def self_of(x: Any, cls: Any, name: str) -> tuple[Any, ...]:
    """Return the argument that a method of Python's own gets first: none if it is static."""
    return () if type(_of_class(cls, name)) is staticmethod else (x,)


@functools.cache
def _descriptor(cls: Any, name: str) -> Any:
    """Return the property, or the descriptor of the user's, that an attribute goes to."""
    found = _of_class(cls, name)
    getter = getattr(type(found), "__get__", None)
    is_own = type(found) is not FunctionType and type(getter) is FunctionType
    return found if is_own or isinstance(found, property) else None


def _is_property(descriptor: Any, method: str) -> bool:
    """Return whether a descriptor has a method of properties, and none of the user's in place."""
    own = getattr(type(descriptor), method, None)
    return isinstance(descriptor, property) and type(own) is not FunctionType


def attribute(owner: Any, name: str) -> Any:
    """Return an attribute, by the rewritten form of its property."""
    kind: Any = type(owner)
    if kind is ModuleType:
        return getattr(owner, name)
    return _reader(kind, name)(owner, name)


def _attribute_of_counterpart(owner: Any, name: str) -> Any:
    """Return an attribute of an object that a counterpart made, or else of SciPy's own."""
    try:
        return ndarrays.wrap(getattr(owner, name))
    except AttributeError:
        source = sources.get(id(owner))
        if source is None:
            raise
    return attribute(source(), name)


@functools.cache
def _reader(kind: Any, name: str) -> Callable[[Any, str], Any]:
    """Return what reads an attribute of objects of a class, which code of the program may give."""
    if kind in ndarrays.OF_PYTHON:
        return _attribute_of_number
    if kind is CapturedArray and not hasattr(kind, name) and hasattr(np.ndarray, name):
        return ndarrays.attribute_of_data
    if kind in PLAIN or kind is type:
        return getattr
    if runtime.module_of_class(kind).startswith("tinyjax.scipy"):
        return _attribute_of_counterpart
    if kind is super:
        return _attribute_of_super
    own, fallback = kind.__getattribute__, getattr(kind, "__getattr__", None)
    if is_captured_function(own):
        return functools.partial(call, own)
    if name == "__array_finalize__" and issubclass(kind, CapturedArray):
        return lambda owner, name: functools.partial(call, owner.subclass.__array_finalize__, owner)
    if name == "data" and _is_sparse(kind):
        return _elements
    has_fallback = is_captured_function(fallback)
    read = _reader_by_class(kind, name, own if has_fallback else getattr)

    def read_or_fall_back(owner: Any, name: str) -> Any:
        try:
            return read(owner, name)
        except AttributeError:
            return call(fallback, owner, name)

    return read_or_fall_back if has_fallback else read


def _reader_by_class(kind: Any, name: str, read: Callable[[Any, str], Any]) -> Callable[..., Any]:
    """Return what reads an attribute by the rewritten form of its property or descriptor."""
    found = _descriptor(kind, name)
    is_property = _is_property(found, "__get__")
    getter = found.fget if is_property else getattr(type(found), "__get__", None)
    if not is_captured_function(getter):
        return read

    def read_current(owner: Any, name: str) -> Any:
        """Read by the descriptor, unless it has put something else in its place in the class."""
        # a class gives a property itself, which is found faster so
        is_kept = is_property and getattr(kind, name, None) is found
        if not is_kept and _of_class(kind, name) is not found:
            return read(owner, name)
        if is_property:
            return call(getter, owner)
        return _attribute_by_descriptor(found, getter, read, owner, name)

    return read_current


def _attribute_by_descriptor(descriptor: Any, getter: Any, read: Any, owner: Any, name: str) -> Any:
    is_hidden = not hasattr(type(descriptor), "__set__") and name in getattr(owner, "__dict__", ())
    return read(owner, name) if is_hidden else call(getter, descriptor, owner, type(owner))


def _attribute_of_super(owner: Any, name: str) -> Any:
    is_array = issubclass(type(owner.__self__), Captured)
    return HANDLERS[super](owner, name) if is_array else getattr(owner, name)


def _attribute_of_number(owner: Any, name: str) -> Any:
    """Return an attribute of a number of Python's, which has fewer than one of NumPy's."""
    kind = owner.__class__
    if not hasattr(kind, name):
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
    try:
        return getattr(owner, name)
    except AttributeError:
        raise runs.refusal(f"{kind.__name__}.{name}") from None


def get_attribute(owner: Any, name: str, *default: Any) -> Any:
    """Return an attribute as the function ``getattr`` does."""
    try:
        return attribute(owner, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def has_attribute(owner: Any, name: str) -> bool:
    """Return what the function ``hasattr`` does: of a value, what those of its class have."""
    if type(owner) in CAPTURED:
        return any(name in vars(base) for base in owner.__class__.__mro__)
    missing = object()
    return get_attribute(owner, name, missing) is not missing


HANDLERS[getattr] = get_attribute


HANDLERS[hasattr] = has_attribute


HANDLERS[setattr] = lambda owner, name, value: set_attribute(value, owner, name)


def set_attribute(value: Any, owner: Any, name: str) -> None:
    """Set an attribute, by the rewritten form of its property."""
    kind: Any = type(owner)
    setter, descriptor = _setter(kind, name)
    if setter is not None and (descriptor is None or _of_class(kind, name) is descriptor):
        setter(owner, value)
        return
    if type(value) not in ATOMS and ndarrays.holds_captured(value):
        stores.note(owner)
    setattr(owner, name, value)


@functools.cache
def _setter(kind: Any, name: str) -> tuple[Callable[[Any, Any], object] | None, Any]:
    """Return what code of the program, or of capture, sets an attribute of objects of a class.

    Where it is a descriptor's, it comes with this: classes may lose their descriptors.
    """
    if kind is np.ndarray and name in ("flat", "real", "imag"):
        return lambda owner, value: ndarrays.write(getattr(owner, name), ..., value), None
    method = kind.__setattr__
    if is_captured_function(method):
        return lambda owner, value: call(method, owner, name, value), None
    found = _descriptor(kind, name)
    if _is_property(found, "__set__"):
        own = found.fset
    else:
        own = functools.partial(type(found).__set__, found) if hasattr(found, "__set__") else None
    return (functools.partial(call, own) if is_captured_function(own) else None), found


def item(owner: Any, key: Any) -> Any:
    """Return an item."""
    kind = type(owner)
    if kind is CapturedArray:
        return owner[key]
    if kind is np.ndarray:
        key = ndarrays.key_of(key)
        return ndarrays.at_traced(owner, key) if ndarrays.is_traced_key(key) else owner[key]
    if kind is ndarrays.CapturedScalar and isinstance(key, (int, np.integer)) and key is not True:
        return owner._captured_value[key]  # which raises: a number has no elements
    if kind in PLAIN:
        if kind is dict:
            runs.check_no_text(key)
            key = ndarrays.hashable(key)
            if _is_no_key(owner, key):
                raise KeyError(key)
            return owner[key]
        return owner[ndarrays.key_of(key)] if kind is list or kind is tuple else owner[key]
    if issubclass(kind, dict):
        key = ndarrays.hashable(key)
    method = getattr(kind, "__getitem__", None)
    is_foreign = type(method) is FunctionType and ndarrays.holds_captured(key)
    if is_foreign or is_captured_function(method):
        return call(method, owner, key)
    missing = getattr(kind, "__missing__", None)
    if is_captured_function(missing) and issubclass(kind, dict) and key not in owner:
        return call(missing, owner, key)
    return owner[key]


def set_item(value: Any, owner: Any, key: Any) -> None:
    """Set an item."""
    kind = type(owner)
    if kind is np.ndarray or kind is CapturedArray:
        if type(value) not in DATA and type(value) not in CAPTURED:
            value = with_array(number_of(value) if owner.dtype.kind == "f" else value)
        ndarrays.write(owner, key, value)
    elif kind is np.flatiter and ndarrays.is_captured(value):
        ndarrays.write_flat(owner.base, key, value)
    elif kind in PLAIN:
        if kind is dict:
            runs.check_no_text(key)
            key = ndarrays.hashable(key)
        if ndarrays.holds_captured(value):
            stores.note(owner)
        owner[key] = value
    else:
        key = ndarrays.hashable(key) if issubclass(kind, dict) else key
        method = getattr(kind, "__setitem__", None)
        if is_captured_function(method):
            call(method, owner, key, value)
        else:
            owner[key] = value


class Place:
    """The target of an assignment among others, as in ``a[i], b.name = values``."""

    __slots__ = ("_owner",)

    _owner: Any

    def __init__(self, owner: Any) -> None:
        object.__setattr__(self, "_owner", owner)

    def __setitem__(self, key: Any, value: Any) -> None:
        set_item(value, self._owner, key)

    def __setattr__(self, name: str, value: Any) -> None:
        set_attribute(value, self._owner, name)

    def __delitem__(self, key: Any) -> None:
        delete(operator.delitem, "__delitem__", self._owner, key)

    def __delattr__(self, name: str) -> None:
        delete(delattr, "__delattr__", self._owner, name)


def delete(function: Callable[[Any, Any], None], name: str, owner: Any, key: Any) -> None:
    """Delete an item or an attribute, by the method of the user's, or by a function of Python's."""
    method = getattr(type(owner), name, None)
    if is_captured_function(method):
        call(method, owner, key)
    else:
        function(owner, key)


def item_of(owner: Any, key: Any) -> tuple[Any, Any, Any, Any]:
    """Return an item that is about to be changed, and how it is set."""
    return item(owner, key), set_item, owner, key


def attribute_of(owner: Any, name: str) -> tuple[Any, Any, Any, str]:
    """Return an attribute that is about to be changed, and how it is set."""
    return attribute(owner, name), set_attribute, owner, name


def change(place: tuple[Any, Any, Any, Any], value: Any, operate: Callable[..., Any]) -> None:
    """Change an item or an attribute, as ``owner[key] += value`` does."""
    old, store, owner, key = place
    store(operate(old, value), owner, key)


#: Classes of operands that are what they hold.
CAPTURED: Final = {CapturedArray, ndarrays.CapturedScalar, *ndarrays.OF_PYTHON}
NUMBERS_OF_DATA: Final = ATOMS - {str}
#: Classes of values that reach no others.
_UNREACHED: Final = {*ATOMS, np.complex128, bytes, range, ModuleType, type, BuiltinFunctionType}
OPERANDS: Final = {*CAPTURED, *ATOMS, np.ndarray, np.complex128} - {str, type(None)}


def contains(x: Any, container: Any, has_literals: bool) -> bool:
    """Return whether a container has an item: traced numbers, which have no hash, are compared.

    Args:
        x: the item.
        container: what may have it.
        has_literals: whether one is made of constants of the program, and no key of a cache.
    """
    if type(x) in NUMBERS_OF_DATA and type(container) in _CONTAINERS:
        return x in container
    method = getattr(type(container), "__contains__", None)
    if is_captured_function(method):
        return bool(call(method, container, x))
    equals = rewriting.DISPATCHERS["eq"]
    if isinstance(container, (np.ndarray, CapturedArray)) and ndarrays.is_traced((x, container)):
        equal = equals(container, x)
        known = ndarrays.known_data(equal, runs.example)
        if known is not ndarrays.UNKNOWN and not has_literals:
            for i in np.flatnonzero(known) if known.shape == container.shape else ():
                ndarrays.check_no_key(container.ravel()[i], x)
        return bool(call(np.any, equal))
    if is_hashed := isinstance(container, _HASHED):
        x = ndarrays.hashable(x)
    if not ndarrays.holds_captured(x) or (is_hashed and type(x).__hash__ is None):
        return x in container
    if has_literals:
        return any(equals(x, item) for item in container)
    return x in ([*container] if is_hashed else container)


def _key_for(method: Any, owner: Any, key: Any) -> Any:
    """Return a key for a method of a container: for one that no key equals, an object."""
    key = ndarrays.hashable(key)
    is_lookup = type(owner) is dict and method.__name__ in ("get", "pop")
    return object() if is_lookup and _is_no_key(owner, key) else key


def _is_no_key(owner: dict[Any, Any], key: Any) -> bool:
    """Return whether a key has traced floats, and equals none of a dictionary.

    Raises:
        CaptureError: it equals one, as a key of a cache does.
    """
    return (
        type(key) not in NUMBERS_OF_DATA
        and ndarrays.is_traced(key)
        and (not contains(key, owner, has_literals=False))
    )


#: Classes of what finds items by their hash.
_HASHED: Final = (set, frozenset, dict, KeysView)


def iterate(x: Any) -> Any:
    """Return what a loop iterates over: by the rewritten forms of the methods of an iterator."""
    if type(x) in PLAIN:
        return x
    kind = type(x)
    method = getattr(kind, "__iter__", None)
    if is_captured_function(method):
        x = call(method, x)
    elif method is None and is_captured_function(getattr(kind, "__getitem__", None)):
        return _items(x)
    step = getattr(type(x), "__next__", None)
    return _steps(x, step) if is_captured_function(step) else x


def _items(x: Any) -> Iterator[Any]:
    """Iterate over a sequence that has ``__getitem__`` only."""
    for i in itertools.count():
        try:
            value = item(x, i)
        except IndexError:
            return
        yield value


def _steps(iterator: Any, step: Any) -> Iterator[Any]:
    while True:
        try:
            value = call(step, iterator)
        except StopIteration:
            return
        yield value

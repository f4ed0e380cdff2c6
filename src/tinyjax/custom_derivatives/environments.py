"""The environments of functions: all that a function reads besides its arguments.

What a function is staged as depends on the types of its arguments and on its environment. Where
nothing in this can change unnoticed, functions of equal environments have one program.
"""

from __future__ import annotations

import builtins
import dis
import math
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any, Final

import numpy as np

from tinyjax.core.jit.function import JitFunction
from tinyjax.core.values import ConcreteArray, operands as opd
from tinyjax.custom_derivatives.closures import closed_over, is_named_by_module
from tinyjax.dtypes import HostArray

#: Values of these types do not change. Some are equal but where their texts are, as 0.0 and -0.0.
_EXACT: Final = frozenset((bool, int, str, bytes, NoneType, type(...)))
_NUMBERS: Final = _EXACT | {float, complex}
#: Modules of these packages do not change, nor what they name.
_PACKAGES: Final = frozenset(("tinyjax", "numpy", "scipy", "jax", builtins.__name__, math.__name__))
#: Arrays of more bytes are compared by identity, or not at all where they can be written to.
MOST_COMPARED: Final = 4096
#: Names of what NumPy and SciPy draw random numbers by.
_RANDOM: Final = frozenset(("random", "rvs"))


class Environment:
    """The environment of a function.

    It holds no object of the user's but code and numbers.

    Attributes:
        key: equal for equal environments, as long as what they hold by identity is alive.
        references: what they hold by identity: large arrays and jitted functions.
    """

    __slots__ = ("_places", "key", "references")

    def __init__(self) -> None:
        self.key: list[Hashable] = []
        self.references: list[weakref.ref[Any]] = []
        self._places: dict[int, int] = {}  # by identity, of what was added

    def is_alive(self) -> bool:
        """Return whether all that it holds by identity is alive."""
        return None not in [ref() for ref in self.references]

    def add(self, value: Any) -> bool:
        """Add what a value is made of; return False where some of it can change unnoticed."""
        kind: Any = type(value)
        key = self.key
        if kind in _NUMBERS:
            key += kind, value if kind in _EXACT else repr(value)
            return True
        count = len(self._places)
        place = self._places.setdefault(id(value), count)
        if place < count:
            key.append(place)
            return True
        if _package_of(value) in _PACKAGES:
            key.append(id(value))  # which lives as long as the process
            return True
        reader = next((_READERS[base] for base in kind.__mro__ if base in _READERS), None)
        parts = None if reader is None else reader(self, value)
        return parts is not None and all(map(self.add, parts))

    def hold(self, value: object) -> tuple[()]:
        """Add a value by identity; it has no parts."""
        self.key.append(id(value))
        self.references.append(weakref.ref(value))
        return ()


def environment_of(fun: Callable[..., Any]) -> Environment | None:
    """Return a function's environment; None where some of it can change unnoticed.

    Such are lists, dictionaries, large arrays of NumPy's, and attributes of objects and of modules
    of the user's.

    Example:
        >>> from tinyjax.custom_derivatives.environments import environment_of
        >>> keys = [environment_of(lambda x: factor * x).key for factor in (2.0, 2.0, 3.0)]
        >>> keys[0] == keys[1], keys[1] == keys[2]
        (True, False)
        >>> environment_of([].append) is None
        True
    """
    environment = Environment()
    return environment if environment.add(fun) else None


def _package_of(value: object) -> str:
    """Return the package of a module, or of what a module names; "" for other objects."""
    if type(value) is ModuleType:
        return value.__name__.partition(".")[0]
    if not callable(value):
        return ""
    package = (getattr(value, "__module__", None) or "").partition(".")[0]
    return package if package in _PACKAGES and is_named_by_module(value) else ""


# How values of a class are added: each reader extends the key, and returns the parts that are to be
# added, too; None where some of the value can change unnoticed.


def _read_function(environment: Environment, fun: FunctionType) -> Sequence[object] | None:
    parts = _read_by(fun)
    environment.key += fun.__code__, -1 if parts is None else len(parts)
    return parts


def _read_tuple(environment: Environment, value: tuple[Any, ...]) -> Sequence[object] | None:
    return (len(value), *value) if type(value) is tuple else None


def _read_partial(environment: Environment, fun: partial[Any]) -> Sequence[object]:
    return fun.func, fun.args, *fun.keywords, *fun.keywords.values()


def _read_builtin(environment: Environment, fun: BuiltinFunctionType) -> Sequence[object]:
    return fun.__name__, fun.__self__


def _read_dtype(environment: Environment, dtype: np.dtype[Any]) -> Sequence[object]:
    environment.key.append(dtype)
    return ()


def _read_data(environment: Environment, data: HostArray | np.generic) -> Sequence[object] | None:
    # attributes are those of a subclass, such as the mask of a masked array
    if data.nbytes > MOST_COMPARED or data.dtype.hasobject or hasattr(data, "__dict__"):
        return None
    kind: type = type(data)
    environment.key += kind, data.dtype, data.shape, data.tobytes()
    return ()


def _read_array(environment: Environment, array: ConcreteArray) -> Sequence[object] | None:
    environment.key.append(array.aval)
    if array.nbytes > MOST_COMPARED or array.is_deleted():
        return environment.hold(array)
    return _read_data(environment, opd.raw_host(array))


_READERS: Final[dict[type, Callable[[Environment, Any], Sequence[object] | None]]] = {
    FunctionType: _read_function,
    tuple: _read_tuple,
    partial: _read_partial,
    BuiltinFunctionType: _read_builtin,
    np.dtype: _read_dtype,
    np.ndarray: _read_data,
    np.generic: _read_data,
    ConcreteArray: _read_array,
    JitFunction: Environment.hold,  # which is staged once
}


def _read_by(fun: FunctionType) -> list[object] | None:
    """Return the values of variables that a function reads; None where they are not all known."""
    values = closed_over(fun)
    if fun.__defaults__ or fun.__kwdefaults__:
        values += fun.__defaults__, *(fun.__kwdefaults__ or {}).values()
    if (fun.__module__ or "").partition(".")[0] in _PACKAGES:  # such as what ``grad`` returns
        return values
    names, scope = _names_in(fun.__code__), fun.__globals__
    if names is None or (fun.__dict__ and fun.__dict__.keys() != {"__wrapped__"}):
        return None
    for name in names:
        values += (name, scope[name]) if name in scope else ()
    return values


@lru_cache(maxsize=1024)
def _names_in(code: CodeType) -> tuple[str, ...] | None:
    """Return the names of globals and attributes in a function's code.

    None is for code that imports modules, or draws numbers from generators that have a state.
    """
    every = [*_codes(code)]
    names = dict.fromkeys([name for part in every for name in part.co_names])
    imports = any(i.opname == "IMPORT_NAME" for part in every for i in dis.get_instructions(part))
    return None if imports or not names.keys().isdisjoint(_RANDOM) else tuple(names)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)

"""Pickling of function-like objects, and of objects that are compared by identity.

An object that represents a function, as ``jit`` returns it, is pickled as functions are: by its
name. Picklers that take functions of ``__main__`` along (cloudpickle, dill) pickle its parts
instead. A pickler does not tell which kind it is. So the object is reduced to two functions that
are its attributes: picklers that can name them do so, and others write their contents.
"""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from types import FunctionType
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary


class PickledAsFunction:
    """Base of objects that stand for a function, and have its name and module.

    Example:
        >>> import pickle
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._base.pickling import PickledAsFunction
        >>> compiled = tinyjax.jit(jnp.sin)
        >>> again = pickle.loads(pickle.dumps(compiled))
        >>> isinstance(compiled, PickledAsFunction), float(again(0.0))
        (True, 0.0)
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        name: str = getattr(self, "__qualname__", "")
        try:
            named = attrgetter(name)(sys.modules[self.__module__])
        except (AttributeError, KeyError):
            named = None
        if named is not self:
            return _blank, (type(self),), self.__dict__.copy()
        if protocol < 4:  # which cannot name attributes of objects
            return name
        self._carrier.__dict__["contents"] = self.__dict__.copy()
        return _arrived, (self._token, type(self)), self._carrier

    def __setstate__(self, state: dict[str, Any] | FunctionType) -> None:
        """Take attributes, unless the object is this process's own."""
        if not isinstance(state, FunctionType):
            self.__dict__.update(state)
        elif self not in _parts:
            self.__dict__.update(state.__dict__["contents"])

    @property
    def _token(self) -> FunctionType:
        """The function that stands for the object."""
        return _parts_of(self)[0]

    @property
    def _carrier(self) -> FunctionType:
        """The function that holds the object's attributes."""
        return _parts_of(self)[1]


_Parts: TypeAlias = tuple[FunctionType, FunctionType]
_parts: Final[WeakKeyDictionary[PickledAsFunction, _Parts]] = WeakKeyDictionary()
_owners: Final[WeakValueDictionary[FunctionType, PickledAsFunction]] = WeakValueDictionary()


def _parts_of(owner: PickledAsFunction) -> _Parts:
    parts = _parts.get(owner)
    if parts is None:
        parts = _parts[owner] = _attribute(owner, "_token"), _attribute(owner, "_carrier")
        _owners[parts[0]] = owner
    return parts


def _attribute(owner: Any, name: str) -> FunctionType:
    """Return a function that says it is an attribute; it has no globals to be taken along."""
    function = FunctionType((lambda: None).__code__, {}, name)
    function.__module__, function.__qualname__ = owner.__module__, f"{owner.__qualname__}.{name}"
    return function


def _blank(kind: type[PickledAsFunction]) -> PickledAsFunction:
    return kind.__new__(kind)


def _arrived(token: FunctionType, kind: type[PickledAsFunction]) -> PickledAsFunction:
    """Return this process's own object, or a blank one, which gets its attributes."""
    return _owners.get(token) or _blank(kind)


def home_of(value: object) -> tuple[str, str] | None:
    """Return the module and the name by which another process finds an object, if there is one.

    Example:
        >>> from tinyjax import lax
        >>> from tinyjax._base.pickling import home_of
        >>> home_of(lax.sin_p)
        ('tinyjax.core.primitives.elementwise', 'sin')
    """
    for name, module in sorted(sys.modules.items(), key=_is_foreign):
        if name != "__main__":
            for attribute, held in tuple(getattr(module, "__dict__", {}).items()):
                if held is value:
                    return name, attribute
    return None


def _is_foreign(item: tuple[str, object]) -> bool:
    return not item[0].startswith("tinyjax.")


class PickledByName:
    """Base of objects that are compared by identity: there is one of each in every process."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        home = home_of(self)
        return super().__reduce_ex__(protocol) if home is None else (_named, home)

    def _ready(self) -> object:
        """Return the object, which another process has requested."""
        return self


def _named(module: str, attribute: str) -> object:
    value: PickledByName = getattr(import_module(module), attribute)
    return value._ready()

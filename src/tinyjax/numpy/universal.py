"""NumPy's methods of universal functions, for functions of the namespace.

``add`` and its kin stay plain functions, which cost nothing to call; their methods, such as
``add.reduce``, are loaded when one is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

from tinyjax import dtypes
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.core.values.array import Indices

_role = "passes on"  # see ``frames.Role``


class Universal(Protocol):
    """A function of two operands with the methods of ``tinyjax.numpy.ufunc``."""

    __name__: str
    nin: int
    nout: int
    nargs: int
    identity: Any

    def __call__(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...

    def reduce(
        self,
        a: ArrayLike,
        axis: ints.Axis = 0,
        dtype: dtypes.DTypeLike = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...

    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: dtypes.DTypeLike = None, out: None = None
    ) -> Array: ...

    def at(
        self, a: ArrayLike, indices: Indices, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array: ...

    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: dtypes.DTypeLike = None,
        out: None = None,
    ) -> Array: ...

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array: ...


_METHODS: Final = ("reduce", "accumulate", "at", "reduceat", "outer")


def universal(identity: Any) -> Callable[[Callable[[ArrayLike, ArrayLike], Array]], Universal]:
    """Give a function of two operands the methods of a universal function.

    Args:
        identity: its neutral element; None if it has none.
    """

    def give(fun: Callable[[ArrayLike, ArrayLike], Array]) -> Any:
        function: Any = fun  # checks at run time look at its class, which lacks the methods
        function.nin, function.nout, function.nargs, function.identity = 2, 1, 2, identity
        for method in _METHODS:
            setattr(function, method, partial(_call, function, method))
        return function

    return give


_load: Final = lazy.loader(__name__, {"tinyjax.numpy.ufuncs": "ufunc_of"})


def _call(fun: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(_load("ufunc_of")(fun), method)(*args, **kwargs)

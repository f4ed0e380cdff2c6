"""Calls of a function that exists in two libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from tinyjax.dtypes import HostArray


@attrs.frozen(eq=False)
class Library:
    """The interface of a library for calls.

    Attributes:
        name: of its package.
        root: its package; functions are looked up from there.
        array: makes an array of a NumPy array.
        host: makes a NumPy array of an array.
        is_array: whether something is one of its arrays.
        precise: enters a context in which its defaults are 64 bits wide, or 32.
        transforms: has its ``jit``, ``jvp`` and ``vjp``; None where there are none.
        weak: whether it has weak types.
    """

    name: str
    root: Any
    array: Callable[[HostArray], Any]
    host: Callable[[Any], HostArray]
    is_array: Callable[[object], bool]
    precise: Callable[[bool], Any]
    transforms: Any = None
    weak: bool = True

    def find(self, path: str) -> Any:
        """Look up ``numpy.linalg.norm``."""
        value = self.root
        for part in filter(None, path.split(".")):
            value = getattr(value, part)
        return value


@attrs.frozen(eq=False)
class DrawnArray:
    """An array among the arguments.

    Attributes:
        host: its data.
        raw: whether the NumPy array itself is given.
    """

    host: HostArray
    raw: bool = False

    def __repr__(self) -> str:
        text = np.array2string(self.host, separator=", ", threshold=50).replace("\n", "")
        return f"{'np' if self.raw else ''}({text}, {self.host.dtype})"


@attrs.frozen(eq=False)
class FromLibrary:
    """An argument that each library makes for itself: one of its functions, or of its objects."""

    make: Callable[[Library], Any]
    text: str

    def __repr__(self) -> str:
        return self.text


@attrs.frozen(eq=False)
class DrawnCall:
    """A call: the path of the function, and its arguments.

    Attributes:
        path: its path, as ``numpy.linalg.norm``.
        args: its positional arguments: trees of operands, library objects and Python values.
        kwargs: those by name.
        then: the transformation of the function before it is called; by default none.
        wide: whether defaults are 64 bits wide.
        smooth: whether derivatives are to be checked.
    """

    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = attrs.field(factory=dict)
    then: Callable[[Library, Any], Any] | None = None
    wide: bool = True
    smooth: bool = False

    def __repr__(self) -> str:
        arguments = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"{self.path}({', '.join(arguments)}){' [64]' if self.wide else ' [32]'}"

    @property
    def name(self) -> str:
        """The name of the function in its module."""
        return self.path.rpartition(".")[2]

    def operands(self) -> list[DrawnArray]:
        """Return the arrays among the arguments, in order."""
        result: list[DrawnArray] = []
        substitute(
            (self.args, self.kwargs),
            lambda x: result.append(x) if isinstance(x, DrawnArray) else None,
        )
        return result

    def program(self, library: Library) -> Callable[[Sequence[Any]], Any]:
        """Return the call as a function of its arrays."""
        fun = library.find(self.path)
        if self.then is not None:
            fun = self.then(library, fun)

        def run(arrays: Sequence[Any]) -> Any:
            left = iter(arrays)

            def put(x: Any) -> Any:
                if isinstance(x, DrawnArray):
                    return next(left)
                return x.make(library) if isinstance(x, FromLibrary) else x

            args, kwargs = substitute((self.args, self.kwargs), put)
            return fun(*args, **kwargs)

        return run

    def arrays(self, library: Library) -> list[Any]:
        """Return the arrays, as this library is given them."""
        return [x.host if x.raw else library.array(x.host) for x in self.operands()]


def substitute(tree: Any, put: Callable[[Any], Any]) -> Any:
    """Replace the leaves of tuples, lists and dictionaries."""
    if type(tree) is tuple:
        return tuple([substitute(x, put) for x in tree])
    if type(tree) is list:
        return [substitute(x, put) for x in tree]
    if type(tree) is dict:
        return {k: substitute(x, put) for k, x in tree.items()}
    return put(tree)

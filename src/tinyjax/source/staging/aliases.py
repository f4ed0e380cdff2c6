"""Which arrays are one array of NumPy, or views of one.

NumPy changes an array in place where a program says ``b *= 2``, and so does every other name of it
and every view; the arrays of tinyjax are never changed. What a program was given is not known when
it is staged, so an augmented assignment is taken where both give the same: where nothing that is
used afterwards shares its data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from types import MethodType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax.core.primitives.elementwise import ConvertParams, convert_element_type_p
from tinyjax.core.tracing.trace import bind
from tinyjax.core.values.array import Array
from tinyjax.errors import SourceError
from tinyjax.source.ir import program as ir, runtime
from tinyjax.source.staging import graph as cfg, values as vals

#: Attributes, methods and functions that give views, if not the array itself.
_VIEWS: Final = frozenset(
    ("T", "array_split", "asanyarray", "asarray", "ascontiguousarray", "atleast_1d", "atleast_2d",
     "atleast_3d", "broadcast_to", "diagonal", "dsplit", "expand_dims", "flip", "fliplr", "flipud",
     "getitem", "hsplit", "mT", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "real",
     "reshape", "rollaxis", "rot90", "split", "squeeze", "swapaxes", "transpose", "unpacked",
     "unpacked_star", "unstack", "view", "vsplit")
)  # fmt: skip
#: Those that give copies, also where the arrays of tinyjax need none.
_COPIES: Final = frozenset(("array", "astype", "copy", "deepcopy", "flatten", "pos", "positive"))
#: What reads a value that something outside of the program holds as well.
_READING: Final = (runtime.captured, runtime.global_value, getattr)

Roots = frozenset[int]


@attrs.define(eq=False)
class Frame:
    """The statement of a program that is being run.

    Attributes:
        graph: of the program.
        env: the values of its variables.
        block: its block.
        place: its place there.
    """

    graph: cfg.ControlFlowGraph
    env: dict[ir.Variable, Any]
    block: int
    place: int = 0


@attrs.define(eq=False)
class Aliases:
    """What is known of shared data.

    Attributes:
        views: by identity, each array that shares data with others, and those, by identity too.
        held: the arrays that something outside of the program holds.
        kept: arrays that must stay, so that their identities do.
    """

    views: dict[int, tuple[Array, Roots]] = attrs.field(factory=dict)
    held: set[int] = attrs.field(factory=set)
    kept: list[Any] = attrs.field(factory=list)

    def outer_roots(self, value: Array) -> Roots:
        """The arrays whose data an array shares, but for itself."""
        return self.views.get(id(value), (value, Roots()))[1]

    def roots(self, value: Any) -> Roots:
        """The arrays whose data an array shares."""
        return self.outer_roots(value) or Roots((id(value),))

    def follow(self, array: Array, roots: Iterable[int]) -> None:
        """Write down that an array may share the data of others."""
        if array.shape and (shared := frozenset(roots)):
            self.views[id(array)] = (array, self.outer_roots(array) | shared)

    def after(self, function: Any, args: Sequence[Any], result: Any) -> Any:
        """Write down what a call gives; a copy is another array even if it is equal."""
        if isinstance(result, Array):
            return self._noted(function, args, result) if result.shape else result
        name = _name_of(function, args)
        if type(result) in (tuple, list) and name in _VIEWS and name != "getitem":
            for part in result:
                if isinstance(part, Array) and part.shape:
                    self._noted(function, args, part)
        return result

    def _noted(self, function: Any, args: Sequence[Any], result: Any) -> Any:
        name = _name_of(function, args)
        owner = function.__self__ if isinstance(function, MethodType) else args[0] if args else None
        if name in _COPIES:
            if any(result is arg for arg in (owner, *args)):
                params = ConvertParams(result.dtype, result.weak_type)
                return bind(convert_element_type_p, (result,), params)[0]
        elif function in _READING and not isinstance(owner, Array):
            self.kept.append(result)
            self.held |= self.roots(result)
        elif name in _VIEWS and (name != "getitem" or not _is_advanced(args[1])):
            self.follow(result, self._roots_within(owner))
        return result

    def _roots_within(self, owner: Any) -> Roots:
        if isinstance(owner, Array):
            self.kept.append(owner)
            return self.roots(owner)
        arrays = getattr(owner, "arrays", ())  # of items
        return Roots().union(*map(self.roots, arrays))

    def check(self, value: Array, frames: Sequence[Frame]) -> None:
        """See that nothing that is used after the current statement shares an array's data.

        Raises:
            SourceError: something does.
        """
        roots = self.roots(value)
        if roots & self.held:
            raise _shared("what the function closes over, or an object,")
        for frame in frames:
            for variable in frame.graph.live_after(frame.block, frame.place):
                parts, _ = vals.take_apart(frame.env.get(variable))
                if any(isinstance(x, Array) and x.shape and self.roots(x) & roots for x in parts):
                    raise _shared(variable.name or "a value")


#: What is known in the staging that goes on.
current_aliases: ContextVar[Aliases | None] = ContextVar("tinyjax_source_aliases", default=None)


def _shared(name: str) -> SourceError:
    return SourceError(
        "an augmented assignment changes an array of NumPy in place, and an array of tinyjax "
        f"never; {name} is used afterwards and shares its data, so that the two differ. Write "
        "x = x + y in place of x += y, or change a copy."
    )


def _name_of(function: Any, args: Sequence[Any]) -> str:
    if function is getattr:
        return str(args[1])
    return str(getattr(function, "__name__", ""))


def _is_advanced(index: Any) -> bool:
    """Whether indexing copies: by arrays and lists."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, (list, np.ndarray)) or _has_axes(part) for part in parts)


def _has_axes(part: Any) -> bool:
    return isinstance(part, Array) and (bool(part.shape) or part.dtype.kind == "b")

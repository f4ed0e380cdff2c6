"""Arguments that are no arrays, but hold arrays in place.

Where a function is staged or mapped, such an argument becomes a node of the arguments' tree, whose
leaves are the arrays: so the function is given another object, of the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import attrs

from tinyjax import records, tree
from tinyjax.core.values.array import Array
from tinyjax.frames import imitate


class Form(Hashable, Protocol):
    """What is known of an object that holds arrays in place, but for these."""

    @property
    def is_one(self) -> bool:
        """Whether it holds one array, and paths name it by the object's own."""
        ...

    def make(self, place: int, contents: Sequence[Array]) -> object:
        """Make the object that the function is given in place of an argument."""
        ...


class Parts(Protocol):
    """Objects that a function is mapped over: each example is given one of its own."""

    def own(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves for one example, given arrays in the places of objects."""
        ...

    def left(self, own: Sequence[Any]) -> list[Array]:
        """Return what an example has left, in the order of ``written``."""
        ...

    @property
    def written(self) -> list[int]:
        """Which leaves the function has written to, when it last ran."""
        ...

    def keep(self, values: Sequence[Array]) -> None:
        """Keep what all examples have left."""
        ...

    def mapped(self, by: str) -> AbstractContextManager[None]:
        """Refuse the whole objects while the function runs."""
        ...


class Holder:
    """How objects of one class are dealt with.

    Attributes:
        is_one: whether each holds one array, and is a part of a larger whole as that is.
    """

    is_one: bool = False

    def opened(self, x: Any) -> tuple[Sequence[Array], Form]:
        """Return the arrays that an object holds here, and its form."""
        raise NotImplementedError

    def check_once(self, objects: Sequence[Any], by: str) -> None:
        """Raise where a function is given an object twice."""

    def parts(self, leaves: Sequence[Any], places: Sequence[int], by: str) -> Parts:
        """Return the parts of objects that a function is mapped over, at these places."""
        raise NotImplementedError


#: The classes of such objects; who declares them says how to deal with them.
HOLDERS: Final[dict[type, Holder]] = {}


def whole_places(leaves: Sequence[Any]) -> list[int]:
    """Say which leaves of arguments hold one array in place."""
    if not HOLDERS:
        return []
    holders = [HOLDERS.get(type(x)) for x in leaves]
    return [i for i, holder in enumerate(holders) if holder is not None and holder.is_one]


@attrs.frozen(eq=False, repr=False)
class Opened(records.Printed):
    """A node of a tree: an object that holds arrays in place, as these.

    Attributes:
        form: what else is known of it.
        place: which one among the arguments it is.
        contents: the arrays, or what stands for them.
    """

    form: Form
    place: int
    contents: Sequence[Any]

    @staticmethod
    def closed(known: tuple[Form, int], contents: Sequence[Any]) -> Any:
        """Make the object that a function is given, if these are arrays."""
        form, place = known
        if all(isinstance(x, Array) for x in contents):
            return form.make(place, contents)
        return contents[0] if form.is_one else Opened(form, place, contents)


tree.register_pytree_node(Opened, lambda x: (x.contents, (x.form, x.place)), Opened.closed)


def opened(
    leaves: list[Any], in_tree: tree.PyTreeDef
) -> tuple[list[Any], tree.PyTreeDef, list[Any]]:
    """Take apart the objects among the leaves of arguments.

    Returns:
        The leaves and the structure with the arrays in their places, and the objects.
    """
    objects = [x for x in leaves if type(x) in HOLDERS]
    if not objects:
        return leaves, in_tree, objects
    places = iter(range(len(objects)))
    mixed = [_open(x, next(places)) if type(x) in HOLDERS else x for x in leaves]
    return *tree.flatten(tree.unflatten(in_tree, mixed)), objects


def _open(x: Any, place: int) -> Opened:
    contents, form = HOLDERS[type(x)].opened(x)
    return Opened(form, place, contents)


def held(in_tree: tree.PyTreeDef) -> list[bool]:
    """Say of each leaf whether an object holds it that was taken apart."""
    if in_tree.node_type is None or in_tree.node_type is Opened:
        return [in_tree.node_type is Opened] * in_tree.num_leaves
    return [mark for child in in_tree.children() for mark in held(child)]


def closed_over(
    funs: Sequence[Callable[..., Any]], args: tuple[Any, ...]
) -> tuple[Sequence[Callable[..., Any]], tuple[Any, ...]]:
    """Make functions of trees with such objects functions of the rest, which close over these.

    Returns:
        The functions, and the other leaves; what was given where there is no such object.
    """
    leaves, in_tree = tree.flatten(args)
    objects = {i: x for i, x in enumerate(leaves) if type(x) in HOLDERS}
    if not objects:
        return funs, args

    def closed(fun: Callable[..., Any]) -> Callable[..., Any]:
        def call(*rest: Any) -> Any:
            values = iter(rest)
            mixed = [objects[i] if i in objects else next(values) for i in range(len(leaves))]
            return fun(*tree.unflatten(in_tree, mixed))

        return imitate(call, fun)

    rest = tuple([x for i, x in enumerate(leaves) if i not in objects])
    return [closed(fun) for fun in funs], rest

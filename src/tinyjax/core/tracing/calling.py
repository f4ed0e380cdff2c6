"""Calling user functions: from nested containers to flat lists of arrays and back.

Transformations know functions of arrays only. ``FlatFunction`` makes one of a user's function: it
rebuilds the containers, calls the function, and flattens the result, remembering its structure.

An argument need not be an array, but may hold arrays in place. Where a function is staged or
mapped, such an argument becomes a node of the arguments' tree, whose leaves are the arrays. So the
function gets another object, of the same form.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, ParamSpec, Protocol, TypeVar

import attrs
import numpy as np

from tinyjax import tree
from tinyjax._base import frames, lazy, records
from tinyjax.config import Mixed
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.dtypes import are_wide
from tinyjax.errors import ArgumentError, TinyjaxError, described, type_name
from tinyjax.tree import PyTreeDef
from tinyjax.tree.treedef import leaf_paths

_role = "applies"  # see ``frames.Role``

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S_co = TypeVar("S_co", covariant=True)


class BoundMethod(Protocol[Q, S_co]):
    """A method of an object, made of a transformed function; to be called with the rest."""

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> S_co: ...


class FlatFunction:
    """A user's function of containers as a function of arrays.

    Attributes:
        fun: the function to call.
        user_fun: the function to name in messages, where that is another.
        in_tree: the structure of ``(args, kwargs)``.
        static: the positional arguments that are not leaves.
        out_tree: the structure of the result of the last call; there is none before it.
        aux: where ``has_aux``, the second part of that result.
    """

    __slots__ = ("_has_aux", "aux", "fun", "in_tree", "out_tree", "static", "user_fun")

    out_tree: PyTreeDef

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: PyTreeDef,
        has_aux: bool = False,
        user_fun: Callable[..., Any] | None = None,
        static: Collection[int] = (),
    ) -> None:
        self.fun: Callable[..., Any] = fun
        self.user_fun: Callable[..., Any] = fun if user_fun is None else user_fun
        named: object = self.user_fun
        if not callable(named):
            raise ArgumentError(f"fun must be a function (callable), but got {described(named)}.")
        self.in_tree: PyTreeDef = in_tree
        self.static: Collection[int] = static
        self._has_aux = has_aux
        self.aux: Any = None

    def __call__(self, *leaves: Any) -> list[Array]:
        args, kwargs = tree.unflatten_arguments(self.in_tree, leaves)
        out = self.fun(*args, **kwargs)
        if self._has_aux:
            out, self.aux = split_aux(self.user_fun, out)
        outs, self.out_tree = tree.flatten(out)
        return [x if isinstance(x, Array) else self._convert(x, i) for i, x in enumerate(outs)]

    def argument(self, position: int) -> str:
        """Name a leaf of the arguments, such as ``params['w'][0]``."""
        keys = leaf_keys(self.in_tree, position)
        own_keys = getattr(self.fun, "own_keys", None)
        return _argument_at(self.user_fun, own_keys(keys) if own_keys else keys, self.static)

    def _convert(self, leaf: object, position: int) -> Array:
        if type(leaf) in HOLDERS and not hasattr(leaf, "__jax_array__"):
            raise ArgumentError(
                f"{frames.describe_function(self.user_fun)} must return arrays, but at "
                f"{leaf_path('result', self.out_tree, position)} returned a {type(leaf).__name__}, "
                "which holds them in place. Return its contents."
            )
        try:
            return opd.as_array(leaf)
        except TinyjaxError as error:
            path = leaf_path("result", self.out_tree, position)
            raise type(error)(
                f"{frames.describe_function(self.user_fun)} must return arrays, but at {path}: "
                f"{error.message}"
            ) from None


def split_aux(fun: Callable[..., Any], out: Any) -> tuple[Any, Any]:
    """Split the result of a function with auxiliary data.

    Raises:
        ArgumentError: it is not a pair.
    """
    if not (isinstance(out, tuple) and len(out) == 2):
        raise ArgumentError(
            f"with has_aux=True, {frames.describe_function(fun)} must return a pair (output, "
            f"auxiliary data), a two-element tuple, but it returned {_describe(out)}."
        )
    return out


def _describe(value: object) -> str:
    if isinstance(value, Array):
        return f"an array of type {value.aval}"
    if isinstance(value, tuple):
        return f"a tuple of length {len(value)}"
    return f"a value of type {type_name(value)}"


def leaf_keys(treedef: PyTreeDef, position: int) -> tree.KeyPath:
    """Return the path of a leaf; that of an object which holds one array is the object's."""
    path = leaf_paths(treedef)[position]
    node = treedef
    while node.node_type not in (None, OpenedHolder):
        for child in node.children():
            if position < child.num_leaves:
                node = child
                break
            position -= child.num_leaves
    return path[:-1] if node.node_type is OpenedHolder and node.metadata[0].is_one else path


def leaf_path(name: str, treedef: PyTreeDef, position: int) -> str:
    """Name a leaf by its place in a tree, such as ``params['w'][0]``."""
    return tree.path_str(name, leaf_keys(treedef, position))


def argument_path(
    fun: Callable[..., Any], in_tree: PyTreeDef, position: int, static: Collection[int] = ()
) -> str:
    """Name a leaf of ``(args, kwargs)`` by its parameter, such as ``params['w'][0]``.

    Args:
        fun: the function that has the parameter.
        in_tree: the structure of ``(args, kwargs)``.
        position: which of its leaves.
        static: the positional arguments that were taken out of ``args``.
    """
    return _argument_at(fun, leaf_keys(in_tree, position), static)


def _argument_at(fun: Callable[..., Any], path: tree.KeyPath, static: Collection[int]) -> str:
    if len(path) < 2:  # only positional arguments were flattened
        return tree.path_str("args", path)
    kind, which, *rest = path
    if getattr(kind, "idx", None) == 1:
        return tree.path_str(str(getattr(which, "key", which)), rest)
    index = int(getattr(which, "idx", 0))
    for taken_out in sorted(static):
        index += taken_out <= index
    return tree.path_str(parameter_name(fun, index), rest)


def parameter_name(fun: Callable[..., Any], index: int) -> str:
    """Return the name of a function's positional parameter, or its number where it has no name."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError, RecursionError):  # the last of what it would show as none
        return f"argument {index}"
    positional = [
        p
        for p in parameters
        if p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    ]
    if index < len(positional):
        return positional[index].name
    for p in parameters:
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            return f"{p.name}[{index - len(positional)}]"
    return f"argument {index}"


def as_arrays(
    leaves: Sequence[Any],
    fun: Callable[..., Any],
    in_tree: PyTreeDef,
    static: Collection[int] = (),
    others: object = (),
) -> list[Array]:
    """Convert the leaves of ``(args, kwargs)``, less the static ones, to arrays.

    Python's numbers have 64 bits beside 64-bit floats, which may be among other arguments.

    Raises:
        ArgumentError: one is not an array or a number; the message names its path.
    """
    return [
        x if isinstance(x, Array) else as_argument(x, fun, in_tree, i, static)
        for i, x in enumerate(_exact(leaves, others))
    ]


def _exact(leaves: Sequence[Any], others: object = ()) -> Sequence[Any]:
    """Replace Python's numbers beside 64-bit floats by arrays of 64 bits."""
    if _FLOATS.isdisjoint(map(type, leaves)) or not are_wide([*leaves, *tree.leaves(others)]):
        return leaves
    with Mixed():
        return [opd.as_array(x) if type(x) in _FLOATS else x for x in leaves]


_FLOATS: Final = frozenset((float, complex))


def is_data(leaf: object) -> bool:
    """Return whether an argument becomes an array; others are functions, text, objects."""
    return isinstance(leaf, Array | np.ndarray | np.generic | int | float | complex) or hasattr(
        leaf, "__jax_array__"
    )


def as_argument(
    x: object,
    fun: Callable[..., Any],
    in_tree: PyTreeDef,
    position: int,
    static: Collection[int] = (),
) -> Array:
    """Convert one of those leaves to an array."""
    try:
        return opd.as_array(x)
    except TinyjaxError as error:
        path = argument_path(fun, in_tree, position, static)
        raise type(error)(f"{path} of {frames.describe_function(fun)}: {error.message}") from None


def as_avals(
    leaves: Sequence[Any], fun: Callable[..., Any], in_tree: PyTreeDef, static: Collection[int] = ()
) -> list[av.ShapedArray]:
    """Return the types of the leaves of ``(args, kwargs)``, less the static ones.

    A ``ShapeDtypeStruct``, a type itself, or any object with a shape and a dtype may replace an
    array.

    Raises:
        ArgumentError: a leaf is neither; the message names its path.
    """
    return [
        x.aval
        if isinstance(x, (Array, av.ShapeDtypeStruct))
        else x
        if isinstance(x, av.ShapedArray)
        else _aval_of_other(x, fun, in_tree, i, static)
        for i, x in enumerate(_exact(leaves))
    ]


def _aval_of_other(
    x: Any, fun: Callable[..., Any], in_tree: PyTreeDef, position: int, static: Collection[int]
) -> av.ShapedArray:
    """Return the type of a leaf of another class; to have a shape and a dtype is enough."""
    if (
        not isinstance(x, np.ndarray | np.generic)
        and type(x) not in HOLDERS
        and hasattr(x, "shape")
        and hasattr(x, "dtype")
    ):
        weak_type: bool = getattr(x, "weak_type", False)
        return av.ShapeDtypeStruct(x.shape, x.dtype, weak_type).aval
    return as_argument(x, fun, in_tree, position, static).aval


# Arguments that hold arrays in place


class Form(Hashable, Protocol):
    """The structure of an object that holds arrays in place, without the arrays."""

    @property
    def is_one(self) -> bool:
        """Return whether it holds one array, whose path is the object's own."""
        ...

    def make(self, place: int, contents: Sequence[Array]) -> object:
        """Make the object that the function is given in place of an argument."""
        ...


class Parts(Protocol):
    """Objects that a function is mapped over: each example is given one of its own."""

    def with_states(self, call: Callable[[Sequence[Array]], R]) -> R:
        """Call with the mapped states after the leaves: an array for each object, or none."""
        ...

    def own(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves for one example, given arrays in the places of objects."""
        ...

    def final_contents(self, own: Sequence[Any]) -> list[Array]:
        """Return the final contents of an example's references, in the order of ``written``."""
        ...

    @property
    def written_leaves(self) -> list[int]:
        """The indices of the leaves that the function has written to in its last run."""
        ...

    def keep(self, values: Sequence[Array]) -> None:
        """Keep the final contents of all examples."""
        ...

    def mapped(self, api_name: str) -> AbstractContextManager[None]:
        """Refuse the whole objects while the function runs."""
        ...


class Holder:
    """The protocol of objects of one class that hold arrays in place.

    Attributes:
        is_one: whether each holds one array, and is a part of a larger whole as that is.
    """

    is_one: bool = False

    def opened(self, x: Any) -> tuple[Sequence[Array], Form]:
        """Return the arrays that an object holds here, and its form."""
        raise NotImplementedError

    def check_once(self, objects: Sequence[Any], api_name: str) -> None:
        """Raise where a function is given an object twice."""

    def parts(self, leaves: Sequence[Any], places: Sequence[int], api_name: str) -> Parts:
        """Return the parts of objects that a function is mapped over, at these places."""
        raise NotImplementedError

    def in_rules(self, objects: Sequence[Any]) -> Any:
        """Return the passing of state by a call for its function and its rules."""
        return lazy.hook("rule_state").RuleState(objects)

    def jvp(
        self, fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool
    ) -> tuple[Any, ...]:
        """Push tangents, which such objects hold, too, through a function given some."""
        raise NotImplementedError


#: The classes of such objects; who declares them says how to deal with them.
HOLDERS: Final[dict[type, Holder]] = {}


def whole_places(leaves: Sequence[Any]) -> list[int]:
    """Return the indices of the leaves of arguments that hold one array in place."""
    if not HOLDERS:
        return []
    holders = [HOLDERS.get(type(x)) for x in leaves]
    return [i for i, holder in enumerate(holders) if holder is not None and holder.is_one]


@attrs.frozen(eq=False, repr=False)
class OpenedHolder(records.Printed):
    """A node of a tree: an object that holds arrays in place, as these.

    Attributes:
        form: its structure without the arrays.
        place: its index among the arguments.
        contents: the arrays, or their placeholders.
    """

    form: Form
    place: int
    contents: Sequence[Any]

    @staticmethod
    def closed(node: tuple[Form, int], contents: Sequence[Any]) -> Any:
        """Make the object that a function is given, if these are arrays."""
        form, place = node
        if all(isinstance(x, Array) for x in contents):
            return form.make(place, contents)
        return contents[0] if form.is_one else OpenedHolder(form, place, contents)


tree.register_pytree_node(
    OpenedHolder, lambda x: (x.contents, (x.form, x.place)), OpenedHolder.closed
)


def opened(
    leaves: list[Any], in_tree: tree.PyTreeDef
) -> tuple[list[Any], tree.PyTreeDef, list[Any]]:
    """Flatten the objects that hold arrays in place among the leaves of arguments.

    Returns:
        The leaves and the structure with the arrays in their places, and the objects.
    """
    objects = [x for x in leaves if type(x) in HOLDERS]
    if not objects:
        return leaves, in_tree, objects
    places = iter(range(len(objects)))
    mixed = [_open(x, next(places)) if type(x) in HOLDERS else x for x in leaves]
    return *tree.flatten(tree.unflatten(in_tree, mixed)), objects


def _open(x: Any, place: int) -> OpenedHolder:
    contents, form = HOLDERS[type(x)].opened(x)
    return OpenedHolder(form, place, contents)


def held_leaves(in_tree: tree.PyTreeDef) -> list[bool]:
    """Return the mask of the leaves that a flattened object holds."""
    if in_tree.node_type is None or in_tree.node_type is OpenedHolder:
        return [in_tree.node_type is OpenedHolder] * in_tree.num_leaves
    return [mark for child in in_tree.children() for mark in held_leaves(child)]


def closed_over(
    funs: Sequence[Callable[..., Any]], args: tuple[Any, ...]
) -> tuple[Sequence[Callable[..., Any]], tuple[Any, ...]]:
    """Close functions over the objects among their arguments that hold arrays in place.

    Returns:
        Functions of the other leaves, and these; the given ones if there is no such object.
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

        return frames.imitate(call, fun)

    rest = tuple([x for i, x in enumerate(leaves) if i not in objects])
    return [closed(fun) for fun in funs], rest

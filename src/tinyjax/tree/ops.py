"""Taking trees apart and putting them together; all else on trees is built from these two."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias, TypeVar, overload

from tinyjax._base.frames import Function
from tinyjax.errors import ArgumentError, check_function, described
from tinyjax.tree import errors, keys
from tinyjax.tree.node import KINDS, LEAF_TYPES, TUPLE, Leaf, NodeKind, PyTree
from tinyjax.tree.treedef import (
    LEAF,
    NONE,
    PyTreeDef,
    flat_treedef,
    make_treedef,
    raise_mismatch,
    walk_up_to,
)

_role = "passes on"  # see ``frames.Role``

T = TypeVar("T")
K = TypeVar("K")

if TYPE_CHECKING:
    from tinyjax.core.values import Array

    class _Dataclass(Protocol):
        __dataclass_fields__: ClassVar[dict[str, Any]]

    class _AttrsClass(Protocol):
        __attrs_attrs__: ClassVar[Any]

    #: What of trees of arrays a type can tell; what the fields of classes hold, it does not.
    Arrays: TypeAlias = (
        Array | Sequence["Arrays"] | Mapping[Any, "Arrays"] | _Dataclass | _AttrsClass | None
    )

    #: Three levels of containers: unlike ``Arrays`` it has no strings, which hold strings.
    _One: TypeAlias = T | Sequence[T] | Mapping[Any, T]
    _Two: TypeAlias = _One[T] | Sequence[_One[T]] | Mapping[Any, _One[T]]
    _Three: TypeAlias = _Two[T] | Sequence[_Two[T]] | Mapping[Any, _Two[T]]

    class _NoValue:
        """A leaf that no value has: only values of unknown type match trees of it."""

    ArrayTree: TypeAlias = _Three[Array | None]
    UnknownTree: TypeAlias = _Three[_NoValue]

A = TypeVar("A", bound="Arrays")
IsLeaf: TypeAlias = Callable[[Any], bool]

_NOT_GIVEN: Final = object()
_DEEPEST: Final = 10_000  # a tree deeper than this is taken to hold itself

# A node that is being flattened: the node, its kind (None above the root), its metadata, the
# children still to come, and the structures of the children before them.
_Frame: TypeAlias = tuple[Any, NodeKind | None, Any, Iterator[Any], list[PyTreeDef]]


def flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Leaf], PyTreeDef]:
    """Flatten a tree into its leaves and its structure.

    None is a node without children, and no leaf. The leaves of a dictionary come in the order of
    its sorted keys.

    Args:
        tree: any nesting of nodes. What is not a node is a leaf; None is a node without children.
        is_leaf: called with each node and leaf; a node where it returns true is a leaf.

    Returns:
        The leaves, from left to right (those of a dictionary by sorted key), and the structure.

    Raises:
        UnsortableKeysError: a dictionary's keys have no order.
        TreeDepthError: a container holds itself.

    Example:
        >>> from tinyjax import tree
        >>> tree.flatten({"b": [1, 2], "a": (3, None)})
        ([3, 1, 2], PyTreeDef({'a': (*, None), 'b': [*, *]}))
        >>> tree.flatten((3, None), is_leaf=lambda x: x is None)
        ([3, None], PyTreeDef((*, *)))
    """
    if is_leaf is None and type(tree) in LEAF_TYPES:
        return [tree], LEAF
    # Arguments are mostly a flat tuple, which needs no loop.
    if type(tree) is tuple and is_leaf is None and LEAF_TYPES.issuperset(map(type, tree)):
        return list(tree), flat_treedef(TUPLE, None, len(tree))
    leaves: list[Any] = []
    stack: list[_Frame] = []
    root: _Frame = (None, None, None, iter((tree,)), [])
    node, kind, metadata, children, done = root
    while True:
        for child in children:
            child_kind = KINDS[type(child)]
            if (is_leaf is not None and is_leaf(child)) or child_kind is None:
                leaves.append(child)
                done.append(LEAF)
                continue
            if child is None:
                done.append(NONE)
                continue
            try:
                parts, child_metadata = child_kind.flatten(child)
            except errors.UnsortableKeysError as error:
                path = _path_of((*stack, (node, kind, metadata, children, done)))
                raise errors.UnsortableKeysError(keys.path_str("tree", path), error.keys) from None
            # One C call asks of all the children, which is faster than a Python loop.
            if is_leaf is None and LEAF_TYPES.issuperset(map(type, parts)):
                leaves.extend(parts)
                done.append(flat_treedef(child_kind, child_metadata, len(parts)))
                continue
            stack.append((node, kind, metadata, children, done))
            if len(stack) > _DEEPEST:
                raise errors.TreeDepthError(keys.path_str("tree", _path_of(stack[:8])), _DEEPEST)
            node, kind, metadata = child, child_kind, child_metadata
            children, done = iter(parts), []
            break
        else:
            if kind is None:
                return leaves, done[0]
            treedef = make_treedef(kind, metadata, tuple(done))
            node, kind, metadata, children, done = stack.pop()
            done.append(treedef)


def _path_of(frames: Iterable[_Frame]) -> keys.KeyPath:
    """Return the path to the child that the innermost frame is at."""
    path: list[keys.KeyEntry] = []
    for node, kind, metadata, _, done in frames:
        if kind is not None:
            path.extend(islice(kind.keys(node, metadata), len(done), len(done) + 1))
    return tuple(path)


#: Of a type that has not been met, too, which ``LEAF_TYPES`` does not know.
_kind_of: Final = KINDS.__getitem__


def flatten_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Leaf], PyTreeDef]:
    """Flatten the arguments of a call: ``flatten((args, kwargs))``, often in half the time.

    Raises:
        ArgumentError: ``args`` is not a tuple, or ``kwargs`` not a dictionary.

    Example:
        >>> from tinyjax import tree
        >>> tree.flatten_arguments((1, 2), {})
        ([1, 2], PyTreeDef(((*, *), {})))
    """
    if type(args) is not tuple or type(kwargs) is not dict:
        raise ArgumentError(
            "flatten_arguments takes a tuple and a dictionary, but got args="
            f"{described(args)} and kwargs={described(kwargs)}."
        )
    if kwargs or any(map(_kind_of, map(type, args))):
        return flatten((args, kwargs))
    return list(args), _flat_arguments(len(args))


def unflatten_arguments(
    treedef: PyTreeDef, leaves: Sequence[Leaf]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Rebuild the arguments that ``flatten_arguments`` flattened.

    Raises:
        LeafCountError: there are too few or too many leaves.
        ArgumentError: ``treedef`` is not a structure, or ``leaves`` not a sequence.

    Example:
        >>> from tinyjax import tree
        >>> leaves, treedef = tree.flatten_arguments((1, 2), {})
        >>> tree.unflatten_arguments(treedef, leaves)
        ((1, 2), {})
    """
    try:
        count = len(leaves)
    except TypeError:
        raise ArgumentError(
            f"leaves of unflatten_arguments must be a sequence, but got {described(leaves)}."
        ) from None
    if treedef is _flat_arguments(count):
        return tuple(leaves), {}
    args, kwargs = unflatten(treedef, leaves)
    return args, kwargs


@functools.lru_cache(maxsize=64)
def _flat_arguments(count: int) -> PyTreeDef:
    return structure(((0,) * count, {}))


def unflatten(treedef: PyTreeDef, leaves: Iterable[Leaf]) -> PyTree:
    """Build the tree that has this structure and these leaves: the inverse of ``flatten``.

    Leaves need not be arrays: any values may take their places.

    Args:
        treedef: the structure.
        leaves: as many values as the structure has leaves. They may be any objects.

    Raises:
        LeafCountError: there are too few or too many leaves.
        ArgumentError: the first argument is not a ``PyTreeDef``.

    Example:
        >>> from tinyjax import tree
        >>> leaves, treedef = tree.flatten({"a": 1, "b": (2, None)})
        >>> tree.unflatten(treedef, [10 * leaf for leaf in leaves])
        {'a': 10, 'b': (20, None)}
    """
    _check_treedef("the first argument of unflatten, before the leaves,", treedef)
    return treedef.unflatten(leaves)


@overload
def leaves(tree: UnknownTree, is_leaf: None = ...) -> list[Leaf]: ...


@overload
def leaves(tree: ArrayTree, is_leaf: None = ...) -> list[Array]: ...


@overload
def leaves(tree: PyTree, is_leaf: IsLeaf | None = ...) -> list[Leaf]: ...


def leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Leaf]:
    """Return the leaves of a tree, as ``flatten`` orders them.

    None is a node without children, and no leaf. The leaves of a dictionary come in the order of
    its sorted keys.

    Args:
        tree: any containers, nested. None is a container without leaves.
        is_leaf: called with each node; where it returns true, the node is a leaf.

    Returns:
        A list of what is no container: the entries of dicts by their sorted keys, those of
        tuples, lists and registered classes in their order.

    Example:
        >>> from tinyjax import tree
        >>> tree.leaves({"b": 2, "a": [1, None]})
        [1, 2]
        >>> tree.leaves({"b": 1, "a": (2, None)})
        [2, 1]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of a tree, without its leaves.

    It can be compared and hashed, and printed with ``*`` for each leaf.

    Args:
        tree: any containers, nested.
        is_leaf: says of a node whether it is a leaf; by default no container is.

    Example:
        >>> from tinyjax import tree
        >>> tree.structure({"b": 2, "a": [1, None]})
        PyTreeDef({'a': [*, None], 'b': *})
    """
    return flatten(tree, is_leaf)[1]


@overload
def tree_map(f: Callable[[Array], Array], tree: A) -> A: ...


@overload
def tree_map(f: Callable[[Array, Any], Array], tree: A, rest: PyTree, /) -> A: ...


@overload
def tree_map(
    f: Callable[[Array, Any, Any], Array], tree: A, second: PyTree, third: PyTree, /
) -> A: ...


@overload
def tree_map(f: Function[Any], tree: UnknownTree, /) -> PyTree: ...


@overload
def tree_map(f: Callable[[Array], T], tree: dict[K, Array], /) -> dict[K, T]: ...


@overload
def tree_map(f: Callable[[Array], T], tree: list[Array], /) -> list[T]: ...


@overload
def tree_map(
    f: Function[Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree: ...


def tree_map(
    f: Function[Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Apply a function to each leaf, and build a tree of the same structure from the results.

    Args:
        f: called with a leaf of ``tree`` and the subtree of each tree of ``rest`` at its place.
        tree: the tree whose structure the result has.
        rest: trees of which ``tree`` is a prefix: they may have subtrees in place of its leaves.
        is_leaf: called with each node and leaf of ``tree``; a node where it returns true is a leaf.

    Raises:
        TreeMismatchError: a tree of ``rest`` differs in structure.

    Example:
        >>> from tinyjax import tree
        >>> tree.map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
        {'a': 11, 'b': (22,)}
    """
    check_function("tree.map", f, "f")
    call: Callable[..., Any] = f
    firsts, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten(map(call, firsts))
    others = [treedef.flatten_up_to(other, f"rest[{i}]") for i, other in enumerate(rest)]
    return treedef.unflatten(map(call, firsts, *others))


def tree_all(tree: PyTree, *, is_leaf: IsLeaf | None = None) -> bool:
    """Return whether every leaf is true, as Python's ``bool`` has it; so is a tree without leaves.

    Example:
        >>> from tinyjax import tree
        >>> tree.all({"a": True, "b": [True, None]})
        True
    """
    leaves = flatten(tree, is_leaf)[0]
    try:
        return all(leaves)
    except ValueError as error:  # of a leaf with several elements, which all count in jnp.all
        raise ArgumentError(f"tree.all needs leaves that are true or false, but {error}") from error


@overload
def reduce(
    function: Callable[[T, Any], T], tree: PyTree, initializer: T, is_leaf: IsLeaf | None = None
) -> T: ...


@overload
def reduce(
    function: Callable[[Any, Any], Any], tree: PyTree, *, is_leaf: IsLeaf | None = None
) -> Any: ...


def reduce(
    function: Callable[[Any, Any], Any],
    tree: PyTree,
    initializer: Any = _NOT_GIVEN,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of a tree, from left to right, by a function of two arguments.

    Without a value to begin with it is the first leaf, and a tree without leaves raises an error.

    Args:
        function: (result so far, leaf) -> result.
        tree: the tree.
        initializer: the first result; by default the first leaf.
        is_leaf: called with each node and leaf; a node where it returns true is a leaf.

    Raises:
        ArgumentError: the tree has no leaves and there is no initializer.

    Example:
        >>> from tinyjax import tree
        >>> tree.reduce(lambda total, x: total + x, {"a": 1, "b": (2, 3)}, 0)
        6
    """
    check_function("tree.reduce", function, "function")
    values, treedef = flatten(tree, is_leaf)
    if initializer is not _NOT_GIVEN:
        return functools.reduce(function, values, initializer)
    if not values:
        raise ArgumentError(f"reduce: {treedef} has no leaves, so it needs an initializer.")
    return functools.reduce(function, values)


def transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: PyTree
) -> PyTree:
    """Turn a tree of trees inside out.

    A list of dictionaries becomes a dictionary of lists.

    Args:
        outer_treedef: the structure of the tree of trees.
        inner_treedef: the structure of each of its leaves; by default that of the first.
        pytree_to_transpose: a tree that has the structure ``outer_treedef.compose(inner_treedef)``.

    Returns:
        The tree with the structure ``inner_treedef.compose(outer_treedef)`` and the same leaves.

    Raises:
        TreeMismatchError: the tree does not have that structure.
        ArgumentError: the inner structure is to be inferred, but there is no leaf.

    Example:
        >>> from tinyjax import tree
        >>> pairs = [(1, 2), (3, 4), (5, 6)]
        >>> tree.transpose(tree.structure([0, 0, 0]), tree.structure((0, 0)), pairs)
        ([1, 3, 5], [2, 4, 6])
    """
    _check_treedef("outer_treedef of transpose", outer_treedef)
    if inner_treedef is not None:
        _check_treedef("inner_treedef of transpose", inner_treedef)
    else:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        if not subtrees:
            raise ArgumentError("transpose: the outer tree has no leaves, so pass inner_treedef.")
        inner_treedef = structure(subtrees[0])
    composed = outer_treedef.compose(inner_treedef)
    try:
        flat = composed.flatten_up_to(pytree_to_transpose)
    except errors.TreeMismatchError:
        # The metadata of a class of the user's may depend on what is below.
        flat = leaves(pytree_to_transpose)
        if len(flat) != composed.num_leaves or not outer_treedef.has_custom_nodes:
            raise
    step = inner_treedef.num_leaves
    return inner_treedef.unflatten(outer_treedef.unflatten(flat[i::step]) for i in range(step))


def _check_treedef(what: str, treedef: object) -> None:
    if not isinstance(treedef, PyTreeDef):
        raise ArgumentError(
            f"{what} must be a PyTreeDef, as tree.structure returns it, but got "
            f"{described(treedef)}."
        )


@overload
def reduce_associative(
    operation: Callable[[T, T], T], tree: PyTree, *, identity: T, is_leaf: IsLeaf | None = None
) -> T: ...


@overload
def reduce_associative(
    operation: Callable[[Any, Any], Any], tree: PyTree, *, is_leaf: IsLeaf | None = None
) -> Any: ...


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: PyTree,
    *,
    identity: Any = _NOT_GIVEN,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of a tree by an associative function, half by half.

    The depth of the calls is the logarithm of the number of leaves.

    Args:
        operation: of two leaves, or of two results.
        tree: the tree.
        identity: the result for a tree without leaves.
        is_leaf: called with each node and leaf; a node where it returns true is a leaf.

    Raises:
        ArgumentError: the tree has no leaves and there is no identity.

    Example:
        >>> from tinyjax import tree
        >>> tree.reduce_associative(lambda x, y: f"({x} + {y})", [1, 2, 3])
        '(1 + (2 + 3))'
    """
    values, treedef = flatten(tree, is_leaf)
    if values:
        return _reduce_halves(operation, values)
    if identity is _NOT_GIVEN:
        raise ArgumentError(f"reduce_associative: {treedef} has no leaves, so it needs identity.")
    return identity


def _reduce_halves(operation: Callable[[Any, Any], Any], values: Sequence[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return operation(
        _reduce_halves(operation, values[:half]), _reduce_halves(operation, values[half:])
    )


def _is_true(is_leaf_takes_path: bool) -> bool:
    try:
        return bool(is_leaf_takes_path)
    except ValueError:  # of an array of several
        raise ArgumentError(
            f"is_leaf_takes_path must be a bool, but got {described(is_leaf_takes_path)}."
        ) from None


def flatten_with_path(
    tree: PyTree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[keys.KeyPath, Leaf]], PyTreeDef]:
    """Flatten a tree as ``flatten`` does, with the path of each leaf.

    Args:
        tree: the tree.
        is_leaf: called with each node and leaf; a node where it returns true is a leaf.
        is_leaf_takes_path: whether ``is_leaf`` takes the node's path before the node.

    Example:
        >>> from tinyjax import tree
        >>> pairs, treedef = tree.flatten_with_path({"w": [1, 2]})
        >>> [(tree.keystr(path), leaf) for path, leaf in pairs]
        [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    if is_leaf is not None and _is_true(is_leaf_takes_path):
        pairs: list[tuple[keys.KeyPath, Leaf]] = []
        return pairs, _flatten_below((), tree, is_leaf, pairs)
    values, treedef = flatten(tree, is_leaf)
    paths = (path for path, _ in walk_up_to(treedef, tree, "tree"))
    return list(zip(paths, values, strict=True)), treedef


def _flatten_below(
    path: keys.KeyPath,
    tree: PyTree,
    is_leaf: Callable[[keys.KeyPath, Any], bool],
    pairs: list[tuple[keys.KeyPath, Leaf]],
) -> PyTreeDef:
    """Return the structure of the subtree at a path, and add its leaves to the pairs."""
    kind = KINDS[type(tree)]
    if is_leaf(path, tree) or kind is None:
        pairs.append((path, tree))
        return LEAF
    parts, metadata = kind.flatten(tree)
    children = tuple(
        _flatten_below((*path, key), part, is_leaf, pairs)
        for part, key in zip(parts, kind.keys(tree, metadata), strict=False)
    )
    return make_treedef(kind, metadata, children)


def leaves_with_path(
    tree: PyTree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[keys.KeyPath, Leaf]]:
    """Return the leaves of a tree, each with its path; the arguments of ``flatten_with_path``.

    Args:
        tree: any containers, nested.
        is_leaf: called with each node; where it returns true, the node is a leaf.
        is_leaf_takes_path: whether ``is_leaf`` takes the path before the node.

    Returns:
        A list of ``(path, leaf)``. A path is a tuple of keys, which ``keystr`` writes as text.

    Example:
        >>> from tinyjax import tree
        >>> tree.leaves_with_path([5])
        [((SequenceKey(idx=0),), 5)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: PyTree,
    *rest: PyTree,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> PyTree:
    """Apply a function to the path and the value of each leaf, as ``map`` does to the value.

    Args:
        f: called with a path, a leaf of ``tree``, and the subtree of each tree of ``rest`` there.
        tree: the tree whose structure the result has.
        rest: trees of which ``tree`` is a prefix.
        is_leaf: called with each node and leaf of ``tree``; a node where it returns true is a leaf.
        is_leaf_takes_path: whether ``is_leaf`` takes the node's path before the node.

    Raises:
        TreeMismatchError: a tree of ``rest`` differs in structure.

    Example:
        >>> from tinyjax import tree
        >>> tree.map_with_path(lambda path, x: f"{tree.keystr(path)} = {x}", {"w": [1]})
        {'w': ["['w'][0] = 1"]}
    """
    check_function("tree.map_with_path", f, "f")
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [treedef.flatten_up_to(other, f"rest[{i}]") for i, other in enumerate(rest)]
    return treedef.unflatten(
        f(path, leaf, *more) for (path, leaf), *more in zip(pairs, *others, strict=True)
    )


# Prefix trees, such as the ``in_axes`` of ``vmap``: each leaf stands for a whole subtree.


def flatten_prefix(
    prefix: PyTree, treedef: PyTreeDef, is_leaf: IsLeaf | None = None, name: str = "prefix"
) -> list[Any]:
    """Return the value that a prefix tree has for each leaf of a structure.

    Args:
        prefix: a tree that ends at or above the leaves of ``treedef``.
        treedef: the whole structure.
        is_leaf: called with each node of ``prefix``; where it returns true, it is a value. Pass
            ``lambda x: x is None`` where None is a value, as in ``in_axes``; without it, None
            stands only for None.
        name: the variable that holds the prefix, for the path in an error.

    Returns:
        As many values as ``treedef`` has leaves.

    Raises:
        TreeMismatchError: ``prefix`` is not a prefix of the structure.

    Example:
        >>> from tinyjax import tree
        >>> arguments = tree.structure(({"w": 0, "b": 0}, 0))
        >>> tree.flatten_prefix((None, 0), arguments, is_leaf=lambda x: x is None)
        [None, None, 0]
    """
    _check_treedef("treedef", treedef)
    values, prefix_treedef = flatten(prefix, is_leaf)
    if prefix_treedef is LEAF:
        return values * treedef.num_leaves
    if prefix_treedef is treedef:
        return values
    spread: list[Any] = []
    counts = _leaves_below(prefix_treedef, treedef)
    if counts is None:
        raise_mismatch(treedef, prefix, name, stop_at=prefix_treedef)
    for value, count in zip(values, counts, strict=True):
        spread.extend([value] * count)
    return spread


def _leaves_below(prefix: PyTreeDef, full: PyTreeDef) -> list[int] | None:
    """Count the leaves of ``full`` below each leaf of ``prefix``; None if that is not a prefix."""
    counts: list[int] = []
    stack = [(prefix, full)]
    while stack:
        above, below = stack.pop()
        if above.kind is None:
            counts.append(below.num_leaves)
        elif above.same_node(below):
            pairs = zip(above.children(), below.children(), strict=True)
            stack.extend(reversed(list(pairs)))
        else:
            return None
    return counts


def broadcast(prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Build a tree with the structure of one tree and the values of a prefix of it.

    Args:
        prefix_tree: a tree that ends at or above the leaves of ``full_tree``.
        full_tree: the tree whose structure the result has.
        is_leaf: called with each node of ``prefix_tree``; where it returns true, it is a value.

    Raises:
        TreeMismatchError: the one is not a prefix of the other.

    Example:
        >>> from tinyjax import tree
        >>> tree.broadcast((1, 2), ([0, 0], {"a": 0}))
        ([1, 1], {'a': 2})
    """
    treedef = flatten(full_tree)[1]
    return treedef.unflatten(flatten_prefix(prefix_tree, treedef, is_leaf, "prefix_tree"))

"""The errors of pytrees: one class per cause, each carrying its data."""

from __future__ import annotations

from textwrap import shorten

from tinyjax.errors import TinyjaxError


class TreeMismatchError(TinyjaxError, TypeError, ValueError):
    """A tree does not have the structure that another tree or a treedef asks for.

    Attributes:
        path: where, as an expression such as ``params['w'][0]``.
        expected: the node that was expected there, in words.
        got: what was there instead, in words.
        hint: what to do about it.

    Example:
        >>> from tinyjax import tree
        >>> try:
        ...     tree.map(lambda x, y: x + y, {"w": [1, 2]}, {"w": [1]})
        ... except tree.TreeMismatchError as error:
        ...     error.path, error.expected, error.got
        ("rest[0]['w']", 'list of length 2', 'list of length 1')
    """

    def __init__(
        self, path: str, expected: str, got: str, hint: str, problem: str = "trees differ at"
    ) -> None:
        super().__init__(f"{problem} {path}: expected {expected}, but got {got}. {hint}")
        self.path = path
        self.expected = expected
        self.got = got
        self.hint = hint


class LeafCountError(TinyjaxError, ValueError):
    """``unflatten`` was given too few or too many leaves.

    Attributes:
        expected: the number of leaves that the treedef has.
        got: the number of leaves that came.

    Example:
        >>> from tinyjax import tree
        >>> try:
        ...     tree.unflatten(tree.structure([1, 2]), [7])
        ... except tree.LeafCountError as error:
        ...     error.expected, error.got
        (2, 1)
    """

    def __init__(self, treedef: str, expected: int, got: int) -> None:
        super().__init__(
            f"Too {'few' if got < expected else 'many'} leaves for unflatten: expected {expected}, "
            f"but got {got}. "
            f"Each * takes one, in this order: {shorten(treedef, 400, placeholder='...')}."
        )
        self.expected = expected
        self.got = got


class UnsortableKeysError(TinyjaxError, ValueError):
    """A dictionary's keys cannot be sorted, so its leaves have no order.

    Attributes:
        path: where the dictionary is, as an expression such as ``tree['w'][0]``.
        keys: the keys.

    Example:
        >>> from tinyjax import tree
        >>> try:
        ...     tree.leaves({"a": 1, 2: 3})
        ... except tree.UnsortableKeysError as error:
        ...     error.path, error.keys
        ('tree', ('a', 2))
    """

    def __init__(self, path: str, keys: tuple[object, ...]) -> None:
        types = ", ".join(sorted({type(key).__name__ for key in keys}))
        super().__init__(
            "Comparator raised exception while sorting pytree dictionary keys: those of the dict "
            f"at {path} have types {types}. Leaves are ordered by key: use keys that compare "
            "with <, or a collections.OrderedDict, whose order is that of insertion."
        )
        self.path = path
        self.keys = keys


class TreeDepthError(TinyjaxError, ValueError):
    """A tree is nested without end, or nearly so.

    Attributes:
        path: the start of the path down, as an expression such as ``tree[0][0]``.
        depth: the number of levels at which flattening stopped.

    Example:
        >>> from tinyjax import tree
        >>> endless = []
        >>> endless.append(endless)
        >>> try:
        ...     tree.leaves(endless)
        ... except tree.TreeDepthError as error:
        ...     error.path[:13]
        'tree[0][0][0]'
    """

    def __init__(self, path: str, depth: int) -> None:
        super().__init__(
            f"a tree is more than {depth} levels deep: {path}... Probably a container holds "
            "itself; take it out, or make it a leaf with is_leaf."
        )
        self.path = path
        self.depth = depth


class RegistrationError(TinyjaxError, ValueError):
    """A class cannot be registered as a node: it already is, or its fields do not add up.

    Attributes:
        node_type: the class.

    Example:
        >>> from tinyjax import tree
        >>> from tinyjax import tree_util
        >>> try:
        ...     tree_util.register_pytree_node(list, lambda x: (x, None), lambda _, xs: list(xs))
        ... except tree.RegistrationError as error:
        ...     error.node_type
        <class 'list'>
    """

    def __init__(self, node_type: type, message: str) -> None:
        super().__init__(message)
        self.node_type = node_type


class MetadataError(TinyjaxError, TypeError):
    """A node's metadata cannot be compared, so neither can its treedef.

    Attributes:
        node_type: the node's class.

    Example:
        >>> import numpy as np
        >>> from tinyjax import tree
        >>> class Layer:
        ...     def __init__(self, w, mask):
        ...         self.w, self.mask = w, mask
        >>> def register(kind):
        ...     tree.register_pytree_node(
        ...         kind, lambda x: ((x.w,), x.mask), lambda mask, children: kind(*children, mask)
        ...     )
        >>> register(Layer)
        >>> one, other = (tree.structure(Layer(1.0, np.arange(3))) for _ in range(2))
        >>> try:
        ...     one == other
        ... except tree.MetadataError as error:
        ...     print(error.message)
        the metadata of Layer nodes cannot be compared (The truth value of an array with more than
        one element is ambiguous. Use a.any() or a.all()). Metadata must have ==: make arrays data
        (children) instead.

        Keep as metadata what can be compared, such as a tuple:

        >>> one, other = (tree.structure(Layer(1.0, (0, 1, 2))) for _ in range(2))
        >>> one == other
        True
    """

    def __init__(self, node_type: type, cause: BaseException) -> None:
        super().__init__(
            f"the metadata of {node_type.__name__} nodes cannot be compared ({cause}). "
            "Metadata must have ==: make arrays data (children) instead."
        )
        self.node_type = node_type

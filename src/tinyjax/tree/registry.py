"""Registration: how to make your own class a node.

Register a class once; then every transformation works on the children of its instances. The rest of
an instance is metadata, part of the structure: it is compared with ``==`` and should be hashable.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, Final, Protocol, TypeVar, overload

import attrs

from tinyjax import errors
from tinyjax._base import records
from tinyjax.tree.errors import RegistrationError
from tinyjax.tree.keys import GetAttrKey, KeyEntry
from tinyjax.tree.node import NodeKind, add_kind, check_class

T = TypeVar("T")
A = TypeVar("A")


class FlattensItself(Protocol):
    """A class with methods that flatten and unflatten its instances."""

    def tree_flatten(self) -> tuple[Iterable[Any], Any]: ...

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Any, /) -> Any: ...


class FlattensItselfWithKeys(Protocol):
    """A class whose methods give each child a key; it may also have ``tree_flatten``."""

    def tree_flatten_with_keys(self) -> tuple[Iterable[tuple[Any, Any]], Any]: ...

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Any, /) -> Any: ...


F = TypeVar("F", bound=FlattensItself)
K = TypeVar("K", bound=FlattensItselfWithKeys)


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], A]],
    unflatten_func: Callable[[A, tuple[Any, ...]], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[Any, Any]], A]] | None = None,
) -> None:
    """Make a class a node by two functions.

    Args:
        nodetype: the class. Its subclasses are not registered with it.
        flatten_func: instance -> (children, metadata). Metadata must have ``==`` and ``hash``.
        unflatten_func: (metadata, children) -> instance. The children may be any objects.
        flatten_with_keys_func: instance -> (pairs of key and child, metadata), for paths.

    Raises:
        ArgumentError: an argument is not a class or not a function.
        RegistrationError: the class is a node already.

    Example:
        >>> from tinyjax import tree
        >>> class Interval:
        ...     def __init__(self, low, high):
        ...         self.low, self.high = low, high
        >>> tree.register_pytree_node(
        ...     Interval, lambda i: ((i.low, i.high), None), lambda _, children: Interval(*children)
        ... )
        >>> tree.leaves([Interval(1, 2), 3])
        [1, 2, 3]
    """
    check_class("register_pytree_node", nodetype)
    errors.check_function("register_pytree_node", flatten_func, "flatten_func")
    errors.check_function("register_pytree_node", unflatten_func, "unflatten_func")
    if flatten_with_keys_func is not None:
        errors.check_function(
            "register_pytree_node", flatten_with_keys_func, "flatten_with_keys_func"
        )
    _add(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], A]],
    unflatten_func: Callable[[A, tuple[Any, ...]], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], A]] | None = None,
) -> None:
    """Make a class a node whose children have keys, so that paths and errors can name them.

    Args:
        nodetype: the class. Its subclasses are not registered with it.
        flatten_with_keys: instance -> (pairs of key and child, metadata). A key is a
            ``GetAttrKey``, ``DictKey``, ``SequenceKey`` or ``FlattenedIndexKey``.
        unflatten_func: (metadata, children) -> instance. The children may be any objects.
        flatten_func: instance -> (children, metadata), if there is a faster way without keys.

    Raises:
        ArgumentError: an argument is not a class or not a function.
        RegistrationError: the class is a node already.

    Example:
        >>> from tinyjax import tree
        >>> class Box:
        ...     def __init__(self, content):
        ...         self.content = content
        >>> tree.register_pytree_with_keys(
        ...     Box,
        ...     lambda box: (((tree.GetAttrKey("content"), box.content),), None),
        ...     lambda _, children: Box(*children),
        ... )
        >>> [(path, leaf)] = tree.leaves_with_path({"b": Box(1)})
        >>> tree.keystr(path)
        "['b'].content"
    """
    check_class("register_pytree_with_keys", nodetype)
    errors.check_function("register_pytree_with_keys", flatten_with_keys, "flatten_with_keys")
    errors.check_function("register_pytree_with_keys", unflatten_func, "unflatten_func")

    def flatten_without_keys(x: T) -> tuple[Iterable[Any], A]:
        pairs, metadata = flatten_with_keys(x)
        return [child for _, child in pairs], metadata

    if flatten_func is not None:
        errors.check_function("register_pytree_with_keys", flatten_func, "flatten_func")
    _add(nodetype, flatten_func or flatten_without_keys, unflatten_func, flatten_with_keys)


def _add(
    cls: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], A]],
    unflatten_func: Callable[[A, tuple[Any, ...]], T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], A]] | None,
) -> None:
    name = cls.__name__

    def flatten(x: T) -> tuple[tuple[Any, ...], A]:
        result: object = flatten_func(x)
        if type(result) is tuple and len(result) == 2 and type(result[0]) is tuple:
            return result  # nearly always
        if not isinstance(result, tuple) or len(result) != 2:
            raise RegistrationError(
                cls,
                f"the flatten function of {cls.__qualname__}, a custom PyTree node, should "
                f"return a (children, aux_data) tuple, but it returned {result!r}.",
            )
        children, metadata = result
        try:
            return tuple(children), metadata
        except TypeError:
            if isinstance(children, Iterable):  # raised by what makes the children
                raise
            raise RegistrationError(
                cls,
                f"the flatten function of {cls.__qualname__}, a custom PyTree node, should "
                "return a (children, aux_data) tuple where 'children' is iterable, but the "
                f"children that it returned are {children!r}.",
            ) from None

    def describe(metadata: A, size: int) -> str:
        return f"{_bracketed(name, metadata)} with {size} children"

    if flatten_with_keys is None:
        add_kind(NodeKind(cls, flatten, unflatten_func, describe))
        return

    def keys(x: T, metadata: A) -> Iterable[KeyEntry]:
        return [key for key, _ in flatten_with_keys(x)[0]]

    noted = _NodeCache(keys)

    def flatten_noting(x: T) -> tuple[tuple[Any, ...], A]:
        children, metadata = flatten(x)
        noted.note(x, metadata, len(children))
        return children, metadata

    add_kind(NodeKind(cls, flatten_noting, unflatten_func, describe, keys, noted.keys_like))


#: So many nodes of one class are known, where their metadata differ.
_MOST_NOTED: Final = 64


class _NodeCache:
    """Nodes of one class that were flattened, as long as they live: messages ask them for keys.

    Names of attributes are the class's; other keys are those of a node with equal metadata.
    """

    __slots__ = ("_keys", "_nodes")

    def __init__(self, keys: Callable[[Any, Any], Iterable[KeyEntry]]) -> None:
        self._keys = keys
        #: By number of children, and by hash of the metadata, which may hold much and is not kept.
        self._nodes: dict[tuple[int, int], weakref.ref[Any]] = {}

    def note(self, x: object, metadata: object, size: int) -> None:
        with suppress(Exception):  # what has no hash, or no weak references
            if len(self._nodes) >= _MOST_NOTED:
                self._nodes.clear()
            self._nodes[size, hash(metadata)] = weakref.ref(x)

    def keys_like(self, metadata: object, size: int) -> Sequence[KeyEntry] | None:
        """Return the keys of a node like one with this metadata, and so many children."""
        with suppress(Exception):  # of the user's class, which is told where keys are wanted
            for (number, digest), reference in [*self._nodes.items()]:
                node = reference()
                if node is None or number != size:
                    continue
                keys = [*self._keys(node, metadata)]
                is_like = digest == hash(metadata)
                if len(keys) == size and (is_like or all(map(_is_attribute, keys))):
                    return keys
        return None


def _is_attribute(key: KeyEntry) -> bool:
    return isinstance(key, GetAttrKey)


def _bracketed(name: str, metadata: object) -> str:
    return name if metadata is None or metadata == () else f"{name}[{metadata!r}]"


def register_pytree_node_class(cls: type[F]) -> type[F]:
    """Make a class a node by its methods ``tree_flatten`` and ``tree_unflatten``. A decorator.

    Args:
        cls: a class with a method ``tree_flatten()`` that returns (children, metadata), and a class
            method ``tree_unflatten(metadata, children)`` that returns an instance.

    Returns:
        The class itself.

    Raises:
        ArgumentError: this is not a class, or it lacks a method.
        RegistrationError: the class is a node already.

    Example:
        >>> from tinyjax import tree
        >>> @tree.register_pytree_node_class
        ... class Pair:
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        ...     def tree_flatten(self):
        ...         return (self.a, self.b), None
        ...     @classmethod
        ...     def tree_unflatten(cls, metadata, children):
        ...         return cls(*children)
        >>> tree.map(lambda x: 10 * x, Pair(1, 2)).b
        20
    """
    _check_methods("register_pytree_node_class", cls, "tree_flatten", "tree_unflatten")
    _add(cls, cls.tree_flatten, cls.tree_unflatten, None)
    return cls


def register_pytree_with_keys_class(cls: type[K]) -> type[K]:
    """Make a class a node whose children have keys, by its methods. A decorator.

    Args:
        cls: as for ``register_pytree_node_class``, with a further method
            ``tree_flatten_with_keys()`` that returns (pairs of key and child, metadata); then
            ``tree_flatten`` may be left out.

    Returns:
        The class itself.

    Raises:
        ArgumentError: this is not a class, or it lacks a method.
        RegistrationError: the class is a node already.

    Example:
        >>> from tinyjax import tree
        >>> @tree.register_pytree_with_keys_class
        ... class Crate:
        ...     def __init__(self, content):
        ...         self.content = content
        ...     def tree_flatten(self):
        ...         return (self.content,), None
        ...     def tree_flatten_with_keys(self):
        ...         return ((tree.GetAttrKey("content"), self.content),), None
        ...     @classmethod
        ...     def tree_unflatten(cls, metadata, children):
        ...         return cls(*children)
        >>> tree.leaves_with_path(Crate(1))
        [((GetAttrKey(name='content'),), 1)]
    """
    name = "register_pytree_with_keys_class"
    _check_methods(name, cls, "tree_unflatten", "tree_flatten_with_keys")
    flatten = getattr(cls, "tree_flatten", None)
    register_pytree_with_keys(cls, cls.tree_flatten_with_keys, cls.tree_unflatten, flatten)
    return cls


def _check_methods(function: str, cls: object, *methods: str) -> None:
    check_class(function, cls)
    missing = [method for method in methods if not callable(getattr(cls, method, None))]
    if missing:
        raise errors.ArgumentError(f"{function}: {cls!r} lacks the method {' and '.join(missing)}.")


@overload
def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]: ...


@overload
def register_dataclass(
    nodetype: None = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Callable[[type[T]], type[T]]: ...


def register_dataclass(
    nodetype: type[T] | None = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a dataclass or an attrs class a node by its fields. A decorator.

    Args:
        nodetype: the class; left out where the decorator is given fields. Unflattening calls the
            class, so its initialiser, validators and converters must take any objects in the data
            fields.
        data_fields: the fields that are children, in the order of their leaves. By default all
            fields of the initialiser that are not named elsewhere.
        meta_fields: the fields that are metadata; they must have ``==`` and ``hash``. By default
            those made with ``metadata={"static": True}``; if ``data_fields`` is given, all others.
        drop_fields: fields that are dropped, and have their default after unflattening.

    Returns:
        The class itself, or a decorator where no class is given.

    Raises:
        ArgumentError: this is neither a dataclass nor an attrs class, and ``data_fields`` or
            ``meta_fields`` is missing.
        RegistrationError: the class is a node already, or the names do not cover its fields.

    Example:
        >>> import attrs
        >>> from tinyjax import tree
        >>> @tree.register_dataclass(meta_fields=["name"])
        ... @attrs.frozen
        ... class Layer:
        ...     weight: float
        ...     bias: float
        ...     name: str
        >>> tree.map(lambda x: 2 * x, Layer(1.0, 2.0, "dense"))
        Layer(weight=2.0, bias=4.0, name='dense')
        >>> tree.structure(Layer(1.0, 2.0, "dense"))
        PyTreeDef(CustomNode(Layer[('dense',)], [*, *]))
    """
    if nodetype is None:
        return lambda cls: register_dataclass(cls, data_fields, meta_fields, drop_fields)
    check_class("register_dataclass", nodetype)
    fields = _init_fields(nodetype, data_fields, meta_fields)
    data, meta = _split_fields(nodetype, fields, data_fields, meta_fields, drop_fields)
    _add_dataclass(nodetype, data, meta, {name: fields[name].argument for name in data + meta})
    return nodetype


def static(**options: Any) -> Any:
    """Declare a field of a dataclass that is metadata: ``dataclasses.field``, marked as static.

    Args:
        options: the options of ``dataclasses.field``.

    Example:
        >>> import dataclasses
        >>> from tinyjax import tree
        >>> @tree.register_dataclass
        ... @dataclasses.dataclass
        ... class Dense:
        ...     weight: float
        ...     name: str = tree.static(default="dense")
        >>> tree.leaves(Dense(1.0))
        [1.0]
    """
    from dataclasses import field  # noqa: PLC0415 (few need it)

    metadata = {"static": True, **(options.pop("metadata", None) or {})}
    return field(metadata=metadata, **options)


@attrs.frozen(eq=False, repr=False)
class _Field(records.Record):
    argument: str  # what the initialiser calls it; attrs drops a leading underscore
    static: bool


def _init_fields(
    cls: type, data_fields: Sequence[str] | None, meta_fields: Sequence[str] | None
) -> dict[str, _Field]:
    declared: Iterable[Any] | None = attrs.fields(cls) if attrs.has(cls) else None
    if declared is None:
        from dataclasses import fields, is_dataclass  # noqa: PLC0415 (few need it)

        declared = fields(cls) if is_dataclass(cls) else None
    if declared is not None:
        return {
            x.name: _Field(getattr(x, "alias", None) or x.name, bool(x.metadata.get("static")))
            for x in declared
            if x.init
        }
    if data_fields is not None and meta_fields is not None:
        return {name: _Field(name, False) for name in (*data_fields, *meta_fields)}
    problem = (
        "are required when nodetype is not a dataclass"
        if data_fields is None and meta_fields is None
        else f"must both be specified when either is specified. Got {data_fields=} {meta_fields=}"
    )
    raise errors.ArgumentError(
        f"register_dataclass: data_fields and meta_fields {problem}. Got "
        f"nodetype={errors.shortened(cls)}, which is neither a dataclass nor an attrs class. Put "
        "the decorator above @dataclass, or give both, which the class takes by name."
    )


def _split_fields(
    cls: type,
    fields: dict[str, _Field],
    data_fields: Sequence[str] | None,
    meta_fields: Sequence[str] | None,
    drop_fields: Sequence[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    drop = tuple(drop_fields)
    if meta_fields is not None:
        meta = tuple(meta_fields)
    elif data_fields is not None:
        meta = tuple(name for name in fields if name not in (*data_fields, *drop))
    else:
        meta = tuple(name for name in fields if fields[name].static and name not in drop)
    if data_fields is not None:
        data = tuple(data_fields)
    else:
        data = tuple(name for name in fields if name not in (*meta, *drop))
    named = data + meta + drop
    problems = {
        "Missing fields": [n for n in fields if n not in named],
        "Unexpected fields": [n for n in data + meta if n not in fields],
        "Named twice": sorted({n for n in named if named.count(n) > 1}),
    }
    wrong = [
        f"{problem}: {{{', '.join(map(repr, names))}}}."
        for problem, names in problems.items()
        if names
    ]
    if wrong:
        raise RegistrationError(
            cls,
            "data_fields and meta_fields must include all dataclass fields that the initialiser of "
            f"{cls.__qualname__} takes, once, and only them. {' '.join(wrong)} It takes: "
            f"{', '.join(fields) or 'nothing'}. Those in drop_fields keep their defaults.",
        )
    return data, meta


def _add_dataclass(
    cls: type[T], data: tuple[str, ...], meta: tuple[str, ...], arguments: dict[str, str]
) -> None:
    get_data, get_meta = _getter(data), _getter(meta)
    names = tuple(arguments[name] for name in data + meta)
    keys = tuple(map(GetAttrKey, data))

    def unflatten(metadata: tuple[Any, ...], children: tuple[Any, ...]) -> T:
        return cls(**dict(zip(names, children + metadata)))  # noqa: B905 as for dict

    def describe(metadata: tuple[Any, ...], size: int) -> str:
        statics = [f"{name}={value!r}" for name, value in zip(meta, metadata, strict=True)]
        return f"{cls.__name__} with static {', '.join(statics)}" if meta else cls.__name__

    add_kind(
        NodeKind(
            cls,
            flatten=lambda x: (get_data(x), get_meta(x)),
            unflatten=unflatten,
            describe=describe,
            keys=lambda x, metadata: keys,
        )
    )


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads these attributes as a tuple."""
    match names:
        case ():
            return lambda x: ()
        case (name,):
            return lambda x: (getattr(x, name),)
        case _:
            return attrgetter(*names)


def register_static(cls: type[T]) -> type[T]:
    """Make a class a node without children: its instances are metadata as a whole. A decorator.

    Instances are then part of a tree's structure, so ``jit`` compiles again for each new instance.

    Args:
        cls: a class whose instances have ``==``. Without ``hash``, all of them have one hash.

    Returns:
        The class itself.

    Raises:
        ArgumentError: this is not a class.
        RegistrationError: the class is a node already.

    Example:
        >>> import attrs
        >>> from tinyjax import tree
        >>> @tree.register_static
        ... @attrs.frozen
        ... class Mode:
        ...     name: str
        >>> tree.flatten((Mode("train"), 1))
        ([1], PyTreeDef((CustomNode(Mode[Mode(name='train')], []), *)))
    """
    check_class("register_static", cls)
    add_kind(
        NodeKind(
            cls,
            flatten=lambda x: ((), x),
            unflatten=lambda metadata, children: metadata,
            describe=lambda metadata, size: repr(metadata),
        )
    )
    return cls

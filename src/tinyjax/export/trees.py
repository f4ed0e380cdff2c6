"""Tree structures as JSON.

A structure is the list of its nodes, children before their parent: for each its kind, the number of
its children, and what else it holds. Structures are put together again by building a tree that has
them. Nothing is pickled: a class of one's own is found again by the name it was registered under.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import NoneType
from typing import Any, Final, TypeVar

import attrs

from tinyjax import errors, tree
from tinyjax.tree.node import KINDS, check_class

T = TypeVar("T")
A = TypeVar("A")

_LEAF: Final = "*"
#: Named tuples that functions of the package return, such as ``EighResult``, need no registration.
_OWN: Final = "tinyjax."
#: The rooms that these are in; no other module is imported because of what is read.
_ROOMS: Final = frozenset(("example_libraries", "implicit", "numpy", "scipy"))
#: What a ``defaultdict`` may make of a missing key in a process that knows nothing of ours.
_FACTORIES: Final = {kind.__name__: kind for kind in (bool, complex, dict, float, int, list, set)}


@attrs.frozen
class _Registration:
    node_type: type
    name: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]


_by_type: dict[type, _Registration] = {}
_by_name: dict[str, _Registration] = {}


def register_pytree_node_serialization(
    nodetype: type[T],
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[A], bytes] | None = None,
    deserialize_auxdata: Callable[[bytes], A] | None = None,
) -> type[T]:
    """Let exported programs take and return nodes of a class of one's own.

    The process that loads such a program must have registered the class under the same name.

    Args:
        nodetype: the class, which is registered as a node (``tree.register_pytree_node`` and kin).
        serialized_name: what exported programs call it.
        serialize_auxdata: the node's metadata -> bytes. It may be left out, together with the next,
            where metadata is made of None, bools, numbers, strings and tuples of these.
        deserialize_auxdata: the way back.

    Returns:
        The class itself.

    Raises:
        ArgumentError: the class is not a node, or the class or the name was registered before.

    Example:
        >>> import attrs, tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.tree.register_dataclass
        ... @attrs.frozen
        ... class Line:
        ...     slope: float
        ...     offset: float
        >>> _ = tinyjax.export.register_pytree_node_serialization(Line, serialized_name="Line")
        >>> at = tinyjax.jit(lambda line, x: line.slope * x + line.offset)
        >>> data = tinyjax.export.export(at)(Line(2.0, 1.0), 0.0).serialize()
        >>> float(tinyjax.export.deserialize(data).call(Line(3.0, 4.0), 10.0))
        34.0
    """
    if (serialize_auxdata is None) != (deserialize_auxdata is None):
        raise errors.ArgumentError(
            "register_pytree_node_serialization takes serialize_auxdata and deserialize_auxdata "
            "together, or neither."
        )
    check_class("register_pytree_node_serialization", nodetype)
    if KINDS[nodetype] is None:
        raise errors.ArgumentError(
            f"{nodetype!r} is not a pytree node: register it with tinyjax.tree first."
        )
    if nodetype in _by_type or serialized_name in _by_name:
        raise errors.ArgumentError(
            f"the class {nodetype.__qualname__} or the name '{serialized_name}' is already "
            "registered for export. Register each class once, under a name of its own."
        )
    registration = _Registration(
        nodetype,
        serialized_name,
        serialize_auxdata or _plain_to_bytes,
        deserialize_auxdata or _plain_from_bytes,
    )
    _by_type[nodetype] = _by_name[serialized_name] = registration
    return nodetype


def register_namedtuple_serialization(nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Let exported programs take and return named tuples of a class.

    The process that loads such a program must have registered the class under the same name.

    Args:
        nodetype: the class.
        serialized_name: what exported programs call it.

    Returns:
        The class itself.

    Raises:
        ArgumentError: it is no named tuple, or the class or the name was registered before.

    Example:
        >>> from typing import NamedTuple
        >>> import tinyjax
        >>> class Interval(NamedTuple):
        ...     low: float
        ...     high: float
        >>> _ = tinyjax.export.register_namedtuple_serialization(
        ...     Interval, serialized_name="Interval"
        ... )
        >>> double = tinyjax.jit(lambda i: Interval(2 * i.low, 2 * i.high))
        >>> exported = tinyjax.export.export(double)(Interval(1, 2))
        >>> tinyjax.export.deserialize(exported.serialize()).out_tree
        PyTreeDef(CustomNode(namedtuple[Interval], [*, *]))
    """
    check_class("register_namedtuple_serialization", nodetype)
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise errors.ArgumentError(
            f"register_namedtuple_serialization takes a class of named tuples, but got "
            f"{nodetype!r}. For other classes there is register_pytree_node_serialization."
        )
    return register_pytree_node_serialization(nodetype, serialized_name=serialized_name)


# Structures


def encode_tree(treedef: tree.PyTreeDef, what: str) -> list[Any]:
    """Write a structure as JSON.

    Args:
        treedef: the structure.
        what: whose it is, for the error.

    Raises:
        ExportError: it has a node that another process could not know.
    """
    nodes: list[Any] = []
    pending = [treedef]
    while pending:
        node = pending.pop()
        children = node.children()
        pending += children
        kind, data = _encode_node(node, what)
        nodes.append([kind, len(children), data])
    nodes.reverse()
    return nodes


def _encode_node(node: tree.PyTreeDef, what: str) -> tuple[str, Any]:
    content = node.node_data()
    if content is None:
        return _LEAF, None
    kind, metadata = content
    if kind in (tuple, list, NoneType):
        return kind.__name__, None
    if kind in (dict, OrderedDict):
        return kind.__name__, [_encode_plain(key, f"a key of {what}") for key in metadata]
    if kind is defaultdict:
        factory, keys = metadata
        name = None if factory is None else getattr(factory, "__name__", "")
        if name is not None and _FACTORIES.get(name) is not factory:
            raise errors.ExportError(
                f"{what} hold a defaultdict of {factory!r}, which another process would not know. "
                f"Use one of {', '.join(_FACTORIES)}, or a dict."
            )
        return "defaultdict", [name, *(_encode_plain(key, f"a key of {what}") for key in keys)]
    registration = _by_type.get(kind)
    home = kind.__module__.removeprefix(_OWN)
    if registration is None and issubclass(kind, tuple) and home.partition(".")[0] in _ROOMS:
        return "result", [home, kind.__qualname__]
    if registration is None:
        function = (
            "register_namedtuple_serialization"
            if hasattr(kind, "_fields")
            else "register_pytree_node_serialization"
        )
        raise errors.ExportError(
            f"{what} hold a {kind.__qualname__}, which another process would not know. Give it a "
            f"name here and there: tinyjax.export.{function}({kind.__qualname__}, "
            f"serialized_name='{kind.__qualname__}')."
        )
    return "node", [registration.name, b64encode(registration.serialize(metadata)).decode()]


def decode_tree(nodes: Any) -> tree.PyTreeDef:
    """Return the structure that was written, if that is what these are.

    Raises:
        ExportError: it has a node of a class that is not registered here.
    """
    nodes_built: list[Any] = []
    for kind, size, data in nodes:
        first = len(nodes_built) - size
        if not 0 <= first <= len(nodes_built):
            raise ValueError(f"a node has {size!r} children")
        children = tuple(nodes_built[first:])
        del nodes_built[first:]
        nodes_built.append(_build_node(kind, children, data))
    (root,) = nodes_built
    return tree.structure(root)


def _build_node(kind: str, children: tuple[Any, ...], data: Any) -> Any:
    match kind:
        case "*" if not children:
            return 0
        case "NoneType" if not children:
            return None
        case "tuple":
            return children
        case "list":
            return list(children)
        case "dict":
            return dict(zip(map(_decode_plain, data), children, strict=True))
        case "OrderedDict":
            return OrderedDict(zip(map(_decode_plain, data), children, strict=True))
        case "defaultdict":
            name, *keys = data
            factory = None if name is None else _FACTORIES[name]
            return defaultdict(factory, zip(map(_decode_plain, keys), children, strict=True))
        case "result":
            return _own_result(*data)(*children)
        case "node":
            name, metadata = data
            registration = _by_name.get(name)
            if registration is None:
                raise errors.ExportError(
                    f"what was exported takes or returns nodes called '{name}'. Register their "
                    "class in this process as well, before it is loaded: "
                    f"tinyjax.export.register_pytree_node_serialization(..., "
                    f"serialized_name='{name}')."
                )
            known = KINDS[registration.node_type]
            assert known is not None, "only nodes are registered"
            return known.unflatten(registration.deserialize(b64decode(metadata)), children)
        case _:
            raise ValueError(f"unknown kind of node {kind!r}")


def _own_result(module: str, name: str) -> type[tuple[Any, ...]]:
    kind = None
    if module.partition(".")[0] in _ROOMS:
        with suppress(ImportError):
            kind = getattr(import_module(_OWN + module), name, None)
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        raise errors.ExportError(
            f"what was exported returns a {_OWN}{module}.{name}, which this version of tinyjax "
            "does not have. Export it with the version that is to load it."
        )
    return kind


# Keys, and the metadata of nodes


def _encode_plain(value: object, what: str) -> Any:
    if type(value) in (NoneType, bool, int, float, str):
        return value
    if type(value) is tuple:
        return {"tuple": [_encode_plain(item, what) for item in value]}
    raise errors.ExportError(
        f"{what} is {value!r}, a {type(value).__qualname__}. What is exported may have None, "
        "bools, numbers, strings and tuples of these there."
    )


def _decode_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(_decode_plain, value["tuple"]))
    return value


def _plain_to_bytes(metadata: object) -> bytes:
    if isinstance(metadata, tuple):  # subclasses too: metadata is compared by value
        metadata = tuple(metadata)
    return json.dumps(_encode_plain(metadata, "the metadata of a node")).encode()


def _plain_from_bytes(data: bytes) -> Any:
    return _decode_plain(json.loads(data))

"""The bytes of an exported program, and tree structures as JSON."""

from __future__ import annotations

import hmac
import json
import struct
import sys
from base64 import b64decode, b64encode
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from types import NoneType
from typing import Any, Final, TypeVar

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax._base import records
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import Array, avals as av, concrete
from tinyjax.export import dims, families, jaxprs
from tinyjax.tree.node import KINDS, check_class

# Tree structures as JSON.
#
# A structure is the list of its nodes, children before their parent: for each its kind, the number
# of its children, and what else it holds. Structures are put together again by building a tree
# that has them. Nothing is pickled: a class of one's own is found again by the name it was
# registered under.


T = TypeVar("T")
A = TypeVar("A")

_LEAF: Final = "*"
#: Named tuples that functions of the package return, such as ``EighResult``, need no registration.
_OWN: Final = "tinyjax."
#: The packages that these are in; no other module is imported because of what is read.
_FOLDERS: Final = frozenset(("example_libraries", "implicit", "numpy", "scipy"))
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
        deserialize_auxdata: its inverse.

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
        >>> evaluate = tinyjax.jit(lambda line, x: line.slope * x + line.offset)
        >>> data = tinyjax.export.export(evaluate)(Line(2.0, 1.0), 0.0).serialize()
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
    if registration is None and issubclass(kind, tuple) and home.partition(".")[0] in _FOLDERS:
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
    """Return the structure of such data, if it is one.

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
    if module.partition(".")[0] in _FOLDERS:
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


# The bytes of an exported program.
#
# A frame that is the same in every version holds a version number and a checksum, or a signature;
# within it, a header in JSON says what follows: the program in StableHLO's portable form, the
# arrays that it closes over, and, where there is one, the exported program of its derivative, in a
# frame of its own.
#
# Anyone can make a checksum, so nothing is taken for granted that the bytes say: sizes, types and
# trees are verified here, and the program where it is parsed.


_MAGIC: Final = b"TINYJAXE"
_SIGNED_MAGIC: Final = b"TINYJAXS"
VERSION: Final = 3
# magic, version, length of the header
_FRAME: Final = struct.Struct("<8sIQ")
_CHECKSUM_BYTES: Final = 32


@attrs.frozen
class DisabledSafetyCheck:
    """A check that is not to be made of an exported program.

    Attributes:
        name: which.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> check = export.DisabledSafetyCheck.platform()
        >>> sine = tinyjax.jit(jnp.sin)
        >>> exported = export.export(sine, platforms=["cuda"], disabled_checks=[check])
        >>> str(check), exported(jnp.float32(0.0)).platforms
        ('platform', ('cuda',))
    """

    name: str

    @staticmethod
    def platform() -> DisabledSafetyCheck:
        """Do not check that a program is called on a platform that it was exported for.

        Example:
            >>> from tinyjax import export
            >>> export.DisabledSafetyCheck.platform().name
            'platform'
        """
        return DisabledSafetyCheck("platform")

    @staticmethod
    def custom_call(target_name: str) -> DisabledSafetyCheck:
        """Do not check that a function that the program calls stays the same: of no effect.

        LAPACK's functions stay the same; a program that calls others (``ffi_call``) cannot be
        exported.

        Example:
            >>> from tinyjax import export
            >>> export.DisabledSafetyCheck.custom_call("lapack_sgetrf_ffi").name
            'custom_call:lapack_sgetrf_ffi'
        """
        return DisabledSafetyCheck(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the function's name, or None.

        Example:
            >>> from tinyjax import export
            >>> export.DisabledSafetyCheck.custom_call("mine").is_custom_call()
            'mine'
        """
        kind, _, target = self.name.partition(":")
        return target if kind == "custom_call" else None

    def __str__(self) -> str:
        return self.name


@attrs.frozen(eq=False, repr=False)
class Description:
    """The common description of every exported program.

    Attributes:
        fun_name: the function's name.
        in_tree: the structure of ``(args, kwargs)``, less the static arguments.
        out_tree: the structure of the result.
        in_avals: the types of the arguments, in the order of ``in_tree``.
        out_avals: the types of the results, in the order of ``out_tree``.
        donated: the arguments whose memory may be reused, by position in ``in_avals``.
        consts: the arrays that the function closed over, which come before the arguments.
        portable: the program in StableHLO's portable form, as text; empty for symbolic sizes.
            It is for the CPU, if that is among the platforms, or for the first of them.
        platforms: the platforms that it can run on.
        others: the programs for the other platforms, in their order.
        disabled_safety_checks: the checks that are not made.
    """

    fun_name: str
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef
    in_avals: tuple[av.ShapedArray, ...]
    out_avals: tuple[av.ShapedArray, ...]
    donated: tuple[int, ...]
    consts: tuple[Array, ...]
    portable: str
    platforms: tuple[str, ...] = ("cpu",)
    others: tuple[str, ...] = ()
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...] = ()

    def description(self) -> dict[str, Any]:
        """Return these attributes by their names.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> export.export(tinyjax.jit(jnp.sin))(jnp.ones(2)).description()["platforms"]
            ('cpu',)
        """
        return {name: getattr(self, name) for name in records.field_names(Description)}


@attrs.frozen(eq=False, repr=False)
class Content(Description):
    """The contents of the bytes of an exported program.

    Attributes:
        vjp: the exported program of the derivative.
        scope: the scope of the sizes of a program for many sizes.
        jaxpr: a program for many sizes, or for several devices, in place of one in portable form.
        shardings: the shardings of operands and results of a program for several devices.
    """

    vjp: bytes | None = None
    scope: dims.SymbolicScope | None = None
    jaxpr: jx.Jaxpr | None = None
    shardings: tuple[families.Shardings, families.Shardings] | None = None


def encode(content: Content, key: bytes | None) -> bytes:
    """Write an exported program.

    Args:
        content: what it consists of.
        key: what it is signed with, if it is.

    Raises:
        ExportError: its arguments or results hold what another process would not know.
    """
    hosts = [const.concrete("an exported program") for const in content.consts]
    portable, scope, shardings = content.portable, content.scope, content.shardings
    if content.jaxpr is not None:
        portable = jaxprs.encode_program(content.jaxpr)
    program = portable.encode()
    others = [other.encode() for other in content.others]
    header = {
        "name": content.fun_name,
        "in_tree": encode_tree(content.in_tree, "the arguments"),
        "out_tree": encode_tree(content.out_tree, "the results"),
        "in_avals": [jaxprs.encode_aval(a) for a in content.in_avals],
        "out_avals": [jaxprs.encode_aval(a) for a in content.out_avals],
        "donated": list(content.donated),
        "consts": [jaxprs.encode_aval(const.aval) for const in content.consts],
        "constraints": None if scope is None else [c.text for c in scope.constraints],
        "byteorder": sys.byteorder,
        "platforms": list(content.platforms),
        "disabled_checks": [check.name for check in content.disabled_safety_checks],
        "lie": None if shardings is None else [*map(_encode_all, shardings)],
        "program": len(program),
        "others": list(map(len, others)),
        "vjp": None if content.vjp is None else len(content.vjp),
    }
    header_text = json.dumps(header).encode()
    magic = _MAGIC if key is None else _SIGNED_MAGIC
    parts = [_FRAME.pack(magic, VERSION, len(header_text)), header_text, program, *others]
    parts += [host.tobytes() for host in hosts]
    parts.append(content.vjp or b"")
    body = b"".join(parts)
    return body + _seal(body, key)


def _seal(body: bytes, key: bytes | None) -> bytes:
    return sha256(body).digest() if key is None else hmac.digest(key, body, "sha256")


def decode(data: bytes, key: bytes | None) -> Content:
    """Read an exported program.

    Args:
        data: the bytes.
        key: what it must have been signed with, or None if it need not have been.

    Raises:
        ExportError: these bytes are none, or were changed, or are of a version not known here.
    """
    magic = data[: len(_MAGIC)]
    if magic not in (_MAGIC, _SIGNED_MAGIC):
        raise errors.ExportError(
            "these bytes are no exported program. Give what Exported.serialize() returned."
        )
    if (magic == _SIGNED_MAGIC) != (key is not None):
        raise errors.ExportError(
            "this exported program is not signed, and a key was given to tell that it is. Sign it "
            "where it is exported: exported.serialize(key=key)."
            if magic == _MAGIC
            else "this exported program is signed: give the key, deserialize(data, key=key)."
        )
    body, seal = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if len(body) < _FRAME.size or not hmac.compare_digest(_seal(body, key), seal):
        raise errors.ExportError(
            "this exported program is damaged: its checksum does not fit what it holds. Export it "
            "anew, or copy it anew."
            if key is None
            else "this exported program was not signed with this key, or was changed since."
        )
    _, version, header_size = _FRAME.unpack_from(body)
    if version != VERSION:
        raise errors.ExportError(
            f"this program was exported in version {version} of the format, and here only version "
            f"{VERSION} is known. Export it with the version of tinyjax that is to load it."
        )
    try:
        return _decode_body(memoryview(body)[_FRAME.size :], header_size)
    except errors.ExportError:
        raise
    except Exception as error:  # of JSON, of NumPy, of what the user registered for nodes
        raise errors.ExportError(
            f"this exported program does not hold what it should: {type(error).__name__}: {error}."
        ) from error


def _decode_body(body: memoryview, header_size: int) -> Content:
    header = jaxprs.of_type(dict, json.loads(bytes(body[:header_size])))
    if header["byteorder"] != sys.byteorder:
        raise errors.ExportError(
            f"this program was exported on a {header['byteorder']}-endian machine, and this one "
            "is not. Export it on one that is."
        )
    place = header_size

    def take(size: int) -> bytes:
        nonlocal place
        if not 0 <= jaxprs.of_type(int, size) <= len(body) - place:
            raise ValueError(f"{size} bytes are not there")
        place += size
        return bytes(body[place - size : place])

    scope = None
    if header["constraints"] is not None:
        scope = dims.SymbolicScope(_items(str, header["constraints"]))
    shardings = None
    if header.get("lie") is not None:
        ins, outs = jaxprs.of_type(list, header["lie"])
        shardings = _decode_all(ins), _decode_all(outs)
    is_jaxpr = scope is not None or shardings is not None
    program = take(header["program"]).decode()
    others = tuple([take(size).decode() for size in _items(int, header["others"])])
    consts: list[Array] = []
    for aval in _decode_avals(header["consts"], None):
        host = np.frombuffer(take(aval.nbytes), aval.dtype).reshape(aval.shape)
        consts.append(concrete.ConcreteArray(host, aval))
    content = Content(
        jaxprs.of_type(str, header["name"]),
        decode_tree(jaxprs.of_type(list, header["in_tree"])),
        decode_tree(jaxprs.of_type(list, header["out_tree"])),
        _decode_avals(header["in_avals"], scope),
        _decode_avals(header["out_avals"], scope),
        _items(int, header["donated"]),
        tuple(consts),
        "" if is_jaxpr else program,
        _items(str, header["platforms"]),
        others,
        tuple(map(DisabledSafetyCheck, _items(str, header["disabled_checks"]))),
        None if header["vjp"] is None else take(header["vjp"]),
        scope,
        jaxprs.decode_program(program, scope) if is_jaxpr else None,
        shardings,
    )
    if place != len(body):
        raise ValueError(f"{len(body) - place} bytes are left over")
    _check_content(content)
    return content


def _check_content(content: Content) -> None:
    """Raise where parts of a decoded program do not fit each other."""
    scope, shardings = content.scope, content.shardings
    count = len({*content.platforms})
    if (
        len(content.others) != (0 if scope else count - 1)
        or not count == len(content.platforms) > 0
    ):
        raise ValueError("it has not a program for each platform")
    trees = (content.in_tree.num_leaves, content.out_tree.num_leaves)
    if trees != (len(content.in_avals), len(content.out_avals)):
        raise ValueError("its trees do not have as many leaves as it has types")
    kinds = [node.node_type for node in (content.in_tree, *content.in_tree.children())]
    if kinds != [tuple, tuple, dict]:
        raise ValueError("its arguments are no tuple and dict")
    if content.jaxpr is not None:
        ins = (*(const.aval for const in content.consts), *content.in_avals)
        if (content.jaxpr.in_avals, content.jaxpr.out_avals) != (ins, content.out_avals):
            raise ValueError("its program is of other types than it says")
    if shardings is not None and content.jaxpr is not None:
        expected = (len(content.jaxpr.in_binders), len(content.jaxpr.outs))
        sizes = {x.mesh.size for part in shardings for x in part if x is not None}
        if tuple(map(len, shardings)) != expected or len(sizes) != 1 or scope is not None:
            raise ValueError("it does not lie on so many devices")
    if not {*content.donated} <= {*range(len(content.in_avals))}:
        raise ValueError("it donates what is no argument")


def _items(kind: type[T], entries: object) -> tuple[T, ...]:
    return tuple([jaxprs.of_type(kind, x) for x in jaxprs.of_type(list, entries)])


def _encode_all(shardings: families.Shardings) -> list[Any]:
    return [None if x is None else jaxprs.encode_sharding(x) for x in shardings]


def _decode_all(entries: object) -> families.Shardings:
    return tuple(
        [None if x is None else jaxprs.decode_sharding(x) for x in jaxprs.of_type(list, entries)]
    )


def _decode_avals(entries: object, scope: dims.SymbolicScope | None) -> tuple[av.ShapedArray, ...]:
    return tuple([jaxprs.decode_aval(x, scope) for x in jaxprs.of_type(list, entries)])

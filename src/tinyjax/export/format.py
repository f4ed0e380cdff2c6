"""The bytes of an exported program.

A frame that is the same in every version holds a version number and a checksum, or a signature;
within it, a header in JSON says what follows: the program in StableHLO's portable form, the arrays
that it closes over, and, where there is one, the exported program of its derivative, in a frame of
its own.

Anyone can make a checksum, so nothing is taken for granted that the bytes say: sizes, types and
trees are verified here, and the program where it is parsed.
"""

from __future__ import annotations

import hmac
import json
import struct
import sys
from hashlib import sha256
from typing import Any, Final, TypeVar

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.export import dims, divided, jaxprs
from tinyjax.export.trees import decode_tree, encode_tree

T = TypeVar("T")

_MAGIC: Final = b"TINYJAXE"
_SIGNED_MAGIC: Final = b"TINYJAXS"
VERSION: Final = 3
# magic, version, length of the header
_FRAME: Final = struct.Struct("<8sIQ")
_CHECKSUM_BYTES: Final = 32


@attrs.frozen
class Content:
    """What an exported program consists of.

    Attributes:
        name: the function's.
        in_tree: the structure of ``(args, kwargs)``.
        out_tree: the structure of the result.
        in_avals: the types of the arguments.
        out_avals: the types of the results.
        donated: the arguments whose memory may be reused, by position among the leaves.
        consts: arrays that come before the arguments.
        portable: the program in portable form.
        vjp: the exported program of the derivative.
        scope: what the sizes of a program for many sizes belong to.
        jaxpr: a program for many sizes, or for several devices, in place of one in portable form.
        platforms: where it can run.
        others: the programs for the other platforms, in portable form.
        disabled_checks: what is not checked.
        lie: how the parameters and the results of a program for several devices lie.
    """

    name: str
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef
    in_avals: tuple[av.ShapedArray, ...]
    out_avals: tuple[av.ShapedArray, ...]
    donated: tuple[int, ...]
    consts: tuple[Array, ...]
    portable: str
    vjp: bytes | None
    scope: dims.SymbolicScope | None = None
    jaxpr: jx.Jaxpr | None = None
    platforms: tuple[str, ...] = ("cpu",)
    others: tuple[str, ...] = ()
    disabled_checks: tuple[str, ...] = ()
    lie: tuple[divided.Shardings, divided.Shardings] | None = None


def encode(content: Content, key: bytes | None) -> bytes:
    """Write an exported program.

    Args:
        content: what it consists of.
        key: what it is signed with, if it is.

    Raises:
        ExportError: its arguments or results hold what another process would not know.
    """
    hosts = [const.concrete("an exported program") for const in content.consts]
    portable, scope = content.portable, content.scope
    if content.jaxpr is not None:
        portable = jaxprs.encode_program(content.jaxpr)
    program = portable.encode()
    others = [other.encode() for other in content.others]
    header = {
        "name": content.name,
        "in_tree": encode_tree(content.in_tree, "the arguments"),
        "out_tree": encode_tree(content.out_tree, "the results"),
        "in_avals": [jaxprs.encode_aval(a) for a in content.in_avals],
        "out_avals": [jaxprs.encode_aval(a) for a in content.out_avals],
        "donated": list(content.donated),
        "consts": [jaxprs.encode_aval(const.aval) for const in content.consts],
        "constraints": None if scope is None else [c.text for c in scope.constraints],
        "byteorder": sys.byteorder,
        "platforms": list(content.platforms),
        "disabled_checks": list(content.disabled_checks),
        "lie": None if content.lie is None else [*map(_encode_all, content.lie)],
        "program": len(program),
        "others": list(map(len, others)),
        "vjp": None if content.vjp is None else len(content.vjp),
    }
    told = json.dumps(header).encode()
    magic = _MAGIC if key is None else _SIGNED_MAGIC
    parts = [_FRAME.pack(magic, VERSION, len(told)), told, program, *others]
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
    header = _of(dict, json.loads(bytes(body[:header_size])))
    if header["byteorder"] != sys.byteorder:
        raise errors.ExportError(
            f"this program was exported on a {header['byteorder']}-endian machine, and this one "
            "is not. Export it on one that is."
        )
    place = header_size

    def take(size: int) -> bytes:
        nonlocal place
        if not 0 <= _of(int, size) <= len(body) - place:
            raise ValueError(f"{size} bytes are not there")
        place += size
        return bytes(body[place - size : place])

    scope = None
    if header["constraints"] is not None:
        scope = dims.SymbolicScope([_of(str, c) for c in _of(list, header["constraints"])])
    lie = None
    if header.get("lie") is not None:
        ins, outs = _of(list, header["lie"])
        lie = _decode_all(ins), _decode_all(outs)
    is_jaxpr = scope is not None or lie is not None
    program = take(header["program"]).decode()
    others = tuple([take(size).decode() for size in _of(list, header["others"])])
    consts: list[Array] = []
    for aval in _decode_avals(header["consts"], None):
        host = np.frombuffer(take(aval.nbytes), aval.dtype).reshape(aval.shape)
        consts.append(ConcreteArray(host, aval))
    content = Content(
        _of(str, header["name"]),
        decode_tree(_of(list, header["in_tree"])),
        decode_tree(_of(list, header["out_tree"])),
        _decode_avals(header["in_avals"], scope),
        _decode_avals(header["out_avals"], scope),
        tuple([_of(int, i) for i in _of(list, header["donated"])]),
        tuple(consts),
        "" if is_jaxpr else program,
        None if header["vjp"] is None else take(header["vjp"]),
        scope,
        jaxprs.decode_program(program, scope) if is_jaxpr else None,
        tuple([_of(str, p) for p in _of(list, header["platforms"])]),
        others,
        tuple([_of(str, c) for c in _of(list, header["disabled_checks"])]),
        lie,
    )
    count = len({*content.platforms})
    if len(others) != (0 if scope else count - 1) or not count == len(content.platforms) > 0:
        raise ValueError("it has not a program for each platform")
    if place != len(body):
        raise ValueError(f"{len(body) - place} bytes are left over")
    trees = (content.in_tree.num_leaves, content.out_tree.num_leaves)
    if trees != (len(content.in_avals), len(content.out_avals)):
        raise ValueError("its trees do not have as many leaves as it has types")
    kinds = [node.node_type for node in (content.in_tree, *content.in_tree.children())]
    if kinds != [tuple, tuple, dict]:
        raise ValueError("its arguments are no tuple and dict")
    if content.jaxpr is not None:
        ins = (*(const.aval for const in consts), *content.in_avals)
        if (content.jaxpr.in_avals, content.jaxpr.out_avals) != (ins, content.out_avals):
            raise ValueError("its program is of other types than it says")
    if lie is not None and content.jaxpr is not None:
        expected = (len(content.jaxpr.in_binders), len(content.jaxpr.outs))
        if tuple(map(len, lie)) != expected or len(_sizes(lie)) != 1 or scope is not None:
            raise ValueError("it does not lie on so many devices")
    if not {*content.donated} <= {*range(len(content.in_avals))}:
        raise ValueError("it donates what is no argument")
    return content


def _encode_all(shardings: divided.Shardings) -> list[Any]:
    return [None if x is None else jaxprs.encode_sharding(x) for x in shardings]


def _decode_all(entries: object) -> divided.Shardings:
    return tuple([None if x is None else jaxprs.decode_sharding(x) for x in _of(list, entries)])


def _sizes(lie: tuple[divided.Shardings, divided.Shardings]) -> set[int]:
    return {x.mesh.size for shardings in lie for x in shardings if x is not None}


def _decode_avals(entries: object, scope: dims.SymbolicScope | None) -> tuple[av.ShapedArray, ...]:
    return tuple([jaxprs.decode_aval(x, scope) for x in _of(list, entries)])


def _of(kind: type[T], x: object) -> T:
    if type(x) is not kind:
        raise TypeError(f"{x!r:.100} is no {kind.__name__}")
    return x

"""The bytes of an exported program.

A frame that is the same in every version holds a version number and a checksum; within it, a header
in JSON says what follows: the program in StableHLO's portable form, the arrays that it closes over,
and, where there is one, the exported program of its derivative, in a frame of its own.
"""

from __future__ import annotations

import json
import struct
import sys
from hashlib import sha256
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, ConcreteArray
from tinyjax.core.avals import ShapedArray
from tinyjax.errors import ExportError
from tinyjax.export.trees import decode_tree, encode_tree
from tinyjax.tree import PyTreeDef

_MAGIC: Final = b"TINYJAXE"
VERSION: Final = 1
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
        module: the program in portable form.
        vjp: the exported program of the derivative.
    """

    name: str
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    donated: tuple[int, ...]
    consts: tuple[Array, ...]
    module: bytes
    vjp: bytes | None


def encode(content: Content) -> bytes:
    """Write an exported program.

    Raises:
        ExportError: its arguments or results hold what another process would not know.
    """
    hosts = [const.concrete("an exported program") for const in content.consts]
    header = {
        "name": content.name,
        "in_tree": encode_tree(content.in_tree, "the arguments"),
        "out_tree": encode_tree(content.out_tree, "the results"),
        "in_avals": [_encode_aval(a) for a in content.in_avals],
        "out_avals": [_encode_aval(a) for a in content.out_avals],
        "donated": list(content.donated),
        "consts": [_encode_aval(const.aval) for const in content.consts],
        "byteorder": sys.byteorder,
        "module": len(content.module),
        "vjp": None if content.vjp is None else len(content.vjp),
    }
    told = json.dumps(header).encode()
    parts = [_FRAME.pack(_MAGIC, VERSION, len(told)), told, content.module]
    parts += [host.tobytes() for host in hosts]
    parts.append(content.vjp or b"")
    body = b"".join(parts)
    return body + sha256(body).digest()


def decode(data: bytes) -> Content:
    """Read an exported program.

    Raises:
        ExportError: these bytes are none, or were changed, or are of a version not known here.
    """
    if data[: len(_MAGIC)] != _MAGIC:
        raise ExportError(
            "these bytes are no exported program. Give what Exported.serialize() returned."
        )
    body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if len(body) < _FRAME.size or sha256(body).digest() != checksum:
        raise ExportError(
            "this exported program is damaged: its checksum does not fit what it holds. Export it "
            "anew, or copy it anew."
        )
    _, version, header_size = _FRAME.unpack_from(body)
    if version != VERSION:
        raise ExportError(
            f"this program was exported in version {version} of the format, and here only version "
            f"{VERSION} is known. Export it with the version of tinyjax that is to load it."
        )
    try:
        return _decode_body(memoryview(body)[_FRAME.size :], header_size)
    except ExportError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ExportError(
            f"this exported program does not hold what it should: {type(error).__name__}: {error}."
        ) from error


def _decode_body(body: memoryview, header_size: int) -> Content:
    header: dict[str, Any] = json.loads(bytes(body[:header_size]))
    if header["byteorder"] != sys.byteorder:
        raise ExportError(
            f"this program was exported on a {header['byteorder']}-endian machine, and this one "
            "is not. Export it on one that is."
        )
    place = header_size

    def take(size: int) -> bytes:
        nonlocal place
        place += size
        return bytes(body[place - size : place])

    module = take(header["module"])
    consts: list[Array] = []
    for aval in map(_decode_aval, header["consts"]):
        host = np.frombuffer(take(aval.nbytes), aval.dtype).reshape(aval.shape)
        consts.append(ConcreteArray(host, aval))
    vjp = None if header["vjp"] is None else take(header["vjp"])
    content = Content(
        header["name"],
        decode_tree(header["in_tree"]),
        decode_tree(header["out_tree"]),
        tuple(map(_decode_aval, header["in_avals"])),
        tuple(map(_decode_aval, header["out_avals"])),
        tuple(header["donated"]),
        tuple(consts),
        module,
        vjp,
    )
    if place != len(body):
        raise ValueError(f"{len(body) - place} bytes are left over")
    trees = (content.in_tree.num_leaves, content.out_tree.num_leaves)
    if trees != (len(content.in_avals), len(content.out_avals)):
        raise ValueError("its trees do not have as many leaves as it has types")
    return content


def _encode_aval(aval: ShapedArray) -> list[Any]:
    return [dtypes.dtype_name(aval.dtype), list(aval.shape), aval.weak_type]


def _decode_aval(given: Any) -> ShapedArray:
    dtype, shape, weak_type = given
    return ShapedArray(tuple(shape), dtypes.named(dtype), weak_type)

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
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors, records, tree
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import avals as av, concrete as conc
from tinyjax.core.values.array import Array
from tinyjax.export import dims, divided, jaxprs
from tinyjax.export.trees import decode_tree, encode_tree

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
    """

    name: str

    @staticmethod
    def platform() -> DisabledSafetyCheck:
        """Do not check that a program is called on a platform that it was exported for."""
        return DisabledSafetyCheck("platform")

    @staticmethod
    def custom_call(target_name: str) -> DisabledSafetyCheck:
        """Do not check that a function that the program calls stays the same: of no effect.

        LAPACK's functions stay the same; a program that calls others (``ffi_call``) cannot be
        exported.
        """
        return DisabledSafetyCheck(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the function's name, or None."""
        kind, _, target = self.name.partition(":")
        return target if kind == "custom_call" else None

    def __str__(self) -> str:
        return self.name


@attrs.frozen(eq=False, repr=False)
class Description:
    """What is known of every exported program.

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
        """Return these attributes by their names."""
        return {name: getattr(self, name) for name in records.field_names(Description)}


@attrs.frozen(eq=False, repr=False)
class Content(Description):
    """What the bytes of an exported program consist of.

    Attributes:
        vjp: the exported program of the derivative.
        scope: what the sizes of a program for many sizes belong to.
        jaxpr: a program for many sizes, or for several devices, in place of one in portable form.
        shardings: how the operands and the results of a program for several devices lie.
    """

    vjp: bytes | None = None
    scope: dims.SymbolicScope | None = None
    jaxpr: jx.Jaxpr | None = None
    shardings: tuple[divided.Shardings, divided.Shardings] | None = None


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
        scope = dims.SymbolicScope(
            [jaxprs.of_type(str, c) for c in jaxprs.of_type(list, header["constraints"])]
        )
    shardings = None
    if header.get("lie") is not None:
        ins, outs = jaxprs.of_type(list, header["lie"])
        shardings = _decode_all(ins), _decode_all(outs)
    is_jaxpr = scope is not None or shardings is not None
    program = take(header["program"]).decode()
    others = tuple([take(size).decode() for size in jaxprs.of_type(list, header["others"])])
    consts: list[Array] = []
    for aval in _decode_avals(header["consts"], None):
        host = np.frombuffer(take(aval.nbytes), aval.dtype).reshape(aval.shape)
        consts.append(conc.ConcreteArray(host, aval))
    content = Content(
        jaxprs.of_type(str, header["name"]),
        decode_tree(jaxprs.of_type(list, header["in_tree"])),
        decode_tree(jaxprs.of_type(list, header["out_tree"])),
        _decode_avals(header["in_avals"], scope),
        _decode_avals(header["out_avals"], scope),
        tuple([jaxprs.of_type(int, i) for i in jaxprs.of_type(list, header["donated"])]),
        tuple(consts),
        "" if is_jaxpr else program,
        tuple([jaxprs.of_type(str, p) for p in jaxprs.of_type(list, header["platforms"])]),
        others,
        tuple(
            [
                DisabledSafetyCheck(jaxprs.of_type(str, c))
                for c in jaxprs.of_type(list, header["disabled_checks"])
            ]
        ),
        None if header["vjp"] is None else take(header["vjp"]),
        scope,
        jaxprs.decode_program(program, scope) if is_jaxpr else None,
        shardings,
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
    if shardings is not None and content.jaxpr is not None:
        expected = (len(content.jaxpr.in_binders), len(content.jaxpr.outs))
        sizes = {x.mesh.size for part in shardings for x in part if x is not None}
        if tuple(map(len, shardings)) != expected or len(sizes) != 1 or scope is not None:
            raise ValueError("it does not lie on so many devices")
    if not {*content.donated} <= {*range(len(content.in_avals))}:
        raise ValueError("it donates what is no argument")
    return content


def _encode_all(shardings: divided.Shardings) -> list[Any]:
    return [None if x is None else jaxprs.encode_sharding(x) for x in shardings]


def _decode_all(entries: object) -> divided.Shardings:
    return tuple(
        [None if x is None else jaxprs.decode_sharding(x) for x in jaxprs.of_type(list, entries)]
    )


def _decode_avals(entries: object, scope: dims.SymbolicScope | None) -> tuple[av.ShapedArray, ...]:
    return tuple([jaxprs.decode_aval(x, scope) for x in jaxprs.of_type(list, entries)])

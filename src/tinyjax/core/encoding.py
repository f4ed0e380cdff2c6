"""Encodings of parameters, from which structural digests are made: the same in every process.

Parameters are encoded field by field from their attrs class; a field declared with ``eq=False`` (a
name, for instance) is left out. Every encoding starts with a tag and ends where its length says, so
different values have different encodings.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from enum import Enum
from typing import Any
from weakref import WeakKeyDictionary

import attrs
import numpy as np

from tinyjax.core.array import ConcreteArray, first_element, is_splat
from tinyjax.core.avals import ExplicitArray, ShapedArray
from tinyjax.core.integers import SymbolicSize
from tinyjax.dtypes import dtype_name
from tinyjax.errors import ArgumentError
from tinyjax.tree import PyTreeDef

_tokens: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()
_next_token = itertools.count()
_aval_encodings: dict[ShapedArray, bytes] = {}
_field_names: dict[type, tuple[str, ...]] = {}


class Digested:
    """A value that is encoded by a digest of its own: a program."""

    __slots__ = ()

    @property
    def digest(self) -> bytes:
        """Some bytes, always as many."""
        raise NotImplementedError


def encode_aval(aval: ShapedArray) -> bytes:
    """Encode a type."""
    found = _aval_encodings.get(aval)
    if found is None:
        name = f"{dtype_name(aval.dtype)}{_sizes(aval)}{'w' if aval.weak_type else ''}"
        text = f"{name}{sorted(map(str, aval.varying)) if aval.varying else ''}".encode()
        if isinstance(aval, ExplicitArray):
            text += encode(aval.sharding)
        found = _aval_encodings[aval] = b"A%d:%s" % (len(text), text)
    return found


def _sizes(aval: ShapedArray) -> list[object]:
    return [n.identity if isinstance(n, SymbolicSize) else n for n in aval.shape]


def encode(value: object) -> bytes:
    """Encode a parameter, or anything a parameter may hold."""
    match value:
        case None:
            return b"N"
        case bool():
            return b"b1" if value else b"b0"
        case SymbolicSize():
            return _text(b"z", value.identity)
        case int():
            return b"i%d;" % value
        case float():
            return b"f" + struct.pack("<d", value)
        case complex():
            return b"c" + struct.pack("<dd", value.real, value.imag)
        case Enum():
            return _text(b"e", f"{type(value).__qualname__}.{value.name}")
        case str():
            return _text(b"s", value)
        case bytes():
            return b"y%d:%s" % (len(value), value)
        case tuple():
            return b"t%d:%s" % (len(value), b"".join(map(encode, value)))
        case ShapedArray():
            return encode_aval(value)
        case np.dtype():
            return _text(b"d", dtype_name(value))
        case Digested():
            return b"J" + value.digest
        case ConcreteArray():
            host = value.host
            if is_splat(value) and host.size:
                return b"x" + encode_aval(value.aval) + np.asarray(first_element(host)).tobytes()
            return encode_aval(value.aval) + host.tobytes()
        case PyTreeDef():
            return b"T" + encode(_structure(value))
        case type():
            return _text(b"q", f"{value.__module__}.{value.__qualname__}")
        case _ if attrs.has(type(value)):
            return _encode_record(value)
        case _ if callable(value):
            return _token(value)
        case _:
            raise ArgumentError(
                f"a primitive's parameter holds a {type(value).__name__}, which has no structural "
                "encoding. Parameters may hold numbers, strings, tuples, enums, dtypes, types, "
                "jaxprs, tree definitions, functions, and attrs classes of these."
            )


def _encode_record(value: object) -> bytes:
    kind = type(value)
    names = _field_names.get(kind)
    if names is None:
        assert attrs.has(kind), "only records are encoded field by field"
        names = _field_names[kind] = tuple(f.name for f in attrs.fields(kind) if f.eq)
    return b"r%s(%s)" % (
        kind.__qualname__.encode(),
        b"".join([encode(getattr(value, name)) for name in names]),
    )


def _structure(treedef: PyTreeDef) -> object:
    """What tells a structure from others; metadata is known by its text."""
    data = treedef.node_data()
    if data is None:
        return None
    node_type, metadata = data
    return node_type, repr(metadata), tuple(map(_structure, treedef.children()))


def _text(tag: bytes, text: str) -> bytes:
    data = text.encode()
    return b"%s%d:%s" % (tag, len(data), data)


def _token(value: Callable[..., object]) -> bytes:
    """A function has no structure to encode: it is itself, and only in this process."""
    found = _tokens.get(value)
    if found is None:
        found = _tokens[value] = b"k%d;" % next(_next_token)
    return found

"""The structural digest of a jaxpr: equal for equal programs, in every process.

Variables are numbered in the order of their binding, so names do not matter. Parameters are encoded
field by field from their attrs class; a field declared with ``eq=False`` (a name, for instance) is
left out. Every encoding starts with a tag and ends where its length says, so different programs
have different encodings.
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
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, Lit, Var
from tinyjax.errors import ArgumentError
from tinyjax.tree import PyTreeDef

DIGEST_BYTES = 16
_tokens: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()
_next_token = itertools.count()
_aval_encodings: dict[ShapedArray, bytes] = {}
_field_names: dict[type, tuple[str, ...]] = {}


def digest_jaxpr(jaxpr: Jaxpr) -> bytes:
    """Digest a program up to renaming of its variables."""
    numbers: dict[Var, int] = {}
    parts: list[bytes] = [b"J%d" % len(jaxpr.in_binders)]
    append = parts.append

    for var in jaxpr.in_binders:
        numbers[var] = len(numbers)
        append(encode_aval(var.aval))
    for eqn in jaxpr.eqns:
        primitive = eqn.primitive
        append(b"E%s#%d;" % (primitive.name.encode(), primitive.rules.revision))
        for x in eqn.inputs:
            append(b"L" + encode(x.value) if isinstance(x, Lit) else b"V%d" % numbers[x])
        append(encode(eqn.params))
        for var in eqn.out_binders:
            numbers[var] = len(numbers)
            append(encode_aval(var.aval))
    append(b"O%d;" % len(jaxpr.outs))
    for x in jaxpr.outs:
        append(b"L" + encode(x.value) if isinstance(x, Lit) else b"V%d" % numbers[x])
    # Loading hashlib takes 5 ms of the import of this package, and eager programs never need it.
    from hashlib import blake2b  # noqa: PLC0415

    return blake2b(b"".join(parts), digest_size=DIGEST_BYTES).digest()


def encode_aval(aval: ShapedArray) -> bytes:
    """Encode a type."""
    found = _aval_encodings.get(aval)
    if found is None:
        text = f"{aval.dtype.name}{list(aval.shape)}{'w' if aval.weak_type else ''}".encode()
        found = _aval_encodings[aval] = b"A%d:%s" % (len(text), text)
    return found


def encode(value: object) -> bytes:
    """Encode a parameter, or anything a parameter may hold."""
    match value:
        case None:
            return b"N"
        case bool():
            return b"b1" if value else b"b0"
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
            return _text(b"d", value.name)
        case Jaxpr():
            return b"J" + value.digest
        case ConcreteArray():
            host = value.host
            if is_splat(value) and host.size:
                return b"x" + encode_aval(value.aval) + np.asarray(first_element(host)).tobytes()
            return encode_aval(value.aval) + host.tobytes()
        case PyTreeDef():
            return _text(b"T", repr(value))
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


def _text(tag: bytes, text: str) -> bytes:
    data = text.encode()
    return b"%s%d:%s" % (tag, len(data), data)


def _token(value: Callable[..., object]) -> bytes:
    """A function has no structure to encode: it is itself, and only in this process."""
    found = _tokens.get(value)
    if found is None:
        found = _tokens[value] = b"k%d;" % next(_next_token)
    return found

"""Encodings of parameters, for structural digests: the same in every process.

Parameters are encoded field by field from their attrs class; a field declared with ``eq=False`` (a
name, for instance) is left out. Every encoding starts with a tag and has a known length, so
different values have different encodings.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from operator import attrgetter
from types import NoneType
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import records
from tinyjax.core.values import avals as av, integers as ints, operands as opd
from tinyjax.core.values.concrete import ConcreteArray

_tokens: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()
_next_token = itertools.count()


class Digested:
    """A value that is encoded by a digest of its own: a program."""

    __slots__ = ()

    @property
    def digest(self) -> bytes:
        """Some bytes, always as many."""
        raise NotImplementedError


class _AvalEncodings(dict[av.ShapedArray, bytes]):
    """The encodings of types, each made on first use."""

    def __missing__(self, aval: av.ShapedArray) -> bytes:
        name = f"{dtypes.dtype_name(aval.dtype)}{_sizes(aval)}{'w' if aval.weak_type else ''}"
        text = name.encode()
        if aval.where is not None:
            text += encode(aval.where.identity)
        encoding = self[aval] = b"A%d:%s" % (len(text), text)
        return encoding


#: Encodes a type.
encode_aval: Final[Callable[[av.ShapedArray], bytes]] = _AvalEncodings().__getitem__


def _sizes(aval: av.ShapedArray) -> list[object]:
    return [n.identity if isinstance(n, ints.SymbolicSize) else n for n in aval.shape]


def encode(value: object) -> bytes:
    """Encode a parameter, or anything a parameter may hold."""
    kind = type(value)
    rule = _rules.get(kind)
    if rule is None:
        rule = _rules[kind] = _rule(kind)
    return rule(value)


#: How values of a class are encoded. Most of a program are a few classes.
_rules: dict[type, Callable[[Any], bytes]] = {}


def _rule(kind: type) -> Callable[[Any], bytes]:
    """Return the encoder of a class's values."""
    for base, rule in _RULES:
        if issubclass(kind, base):
            return rule
    if records.has_fields(kind):
        return _record(kind)
    return _token


def _record(kind: type) -> Callable[[Any], bytes]:
    """Return the encoder of a class's records, field by field."""
    names = [f.name for f in records.fields(kind) if f.eq and not records.is_optional(f)]
    optional = [f.name for f in records.fields(kind) if f.eq and records.is_optional(f)]
    head = b"r%s(" % kind.__qualname__.encode()
    if optional:
        return lambda value: b"%s%s)" % (head, b"".join(_field_encodings(value, names, optional)))
    if not names:
        whole = head + b")"
        return lambda value: whole
    if len(names) == 1:
        get = attrgetter(names[0])
        return lambda value: b"%s%s)" % (head, encode(get(value)))
    get = attrgetter(*names)
    return lambda value: b"%s%s)" % (head, b"".join(map(encode, get(value))))


def _field_encodings(
    value: object, names: Sequence[str], optional: Sequence[str]
) -> Iterator[bytes]:
    """Encode the fields of a record, and those optional ones that are not None by their names."""
    for name in names:
        yield encode(getattr(value, name))
    for name in optional:
        given = getattr(value, name)
        if given is not None:
            yield _text(b"o", name) + encode(given)


def _float(value: float) -> bytes:
    return b"f" + struct.pack("<d", value)


def _complex(value: complex) -> bytes:
    return b"c" + struct.pack("<dd", value.real, value.imag)


def _tuple(value: tuple[object, ...]) -> bytes:
    return b"t%d:%s" % (len(value), b"".join(map(encode, value)))


def _array(value: ConcreteArray) -> bytes:
    host = value.host
    if opd.is_splat(value) and host.size:
        return b"x" + encode_aval(value.aval) + np.asarray(opd.first_element(host)).tobytes()
    return encode_aval(value.aval) + host.tobytes()


def _structure(treedef: tree.PyTreeDef) -> object:
    """Return the key of a structure, with metadata as text."""
    data = treedef.node_data()
    if data is None:
        return None
    node_type, metadata = data
    return node_type, repr(metadata), tuple(map(_structure, treedef.children()))


def _text(tag: bytes, text: str) -> bytes:
    data = text.encode()
    return b"%s%d:%s" % (tag, len(data), data)


def _token(value: object) -> bytes:
    """Return the identity of a function, which has no structure to encode, in this process."""
    if not callable(value):
        raise errors.ArgumentError(
            f"a primitive's parameter holds a {type(value).__name__}, which has no structural "
            "encoding. Parameters may hold numbers, strings, tuples, enums, dtypes, types, "
            "jaxprs, tree definitions, functions, and attrs classes of these."
        )
    token = _tokens.get(value)
    if token is None:
        token = _tokens[value] = b"k%d;" % next(_next_token)
    return token


#: What encodes values of a class and of those below it; the first that fits.
_RULES: Final[tuple[tuple[type, Callable[[Any], bytes]], ...]] = (
    (NoneType, {None: b"N"}.__getitem__),
    (bool, {False: b"b0", True: b"b1"}.__getitem__),
    (ints.SymbolicSize, lambda value: _text(b"z", value.identity)),
    (int, b"i%d;".__mod__),
    (float, _float),
    (complex, _complex),
    (Enum, lambda value: _text(b"e", f"{type(value).__qualname__}.{value.name}")),
    (str, lambda value: _text(b"s", value)),
    (bytes, lambda value: b"y%d:%s" % (len(value), value)),
    (np.generic, lambda value: encode((value.dtype, value.tobytes()))),
    (tuple, _tuple),
    (frozenset, lambda value: b"m" + _tuple(tuple(sorted(map(encode, value))))),
    (av.ShapedArray, encode_aval),
    (np.dtype, lambda value: _text(b"d", dtypes.dtype_name(value))),
    (Digested, lambda value: b"J" + value.digest),
    (ConcreteArray, _array),
    (tree.PyTreeDef, lambda value: b"T" + encode(_structure(value))),
    (type, lambda value: _text(b"q", f"{value.__module__}.{value.__qualname__}")),
)

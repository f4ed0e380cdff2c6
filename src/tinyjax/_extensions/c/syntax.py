"""The words of C: types, constants, indices, and the functions that a program may need."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes

#: For each dtype that programs in C may have, its type, and the suffix of functions for it.
TYPES: Final[dict[dtypes.DType, tuple[str, str]]] = {
    dtypes.bool_: ("bool", "b8"),
    dtypes.float64: ("double", "f64"),
    dtypes.float32: ("float", "f32"),
    **{
        np.dtype(f"{kind}{bits // 8}"): (f"{'u' * (kind == 'u')}int{bits}_t", f"{kind}{bits}")
        for kind in "iu"
        for bits in (8, 16, 32, 64)
    },
}
_OF_SUFFIX: Final = {suffix: (name, dtype) for dtype, (name, suffix) in TYPES.items()}
_NUMBER: Final = re.compile(
    r"(\(-)?(?:U?INT64_C\()?(0x[\da-f.]+p[-+]\d+|[\d.]+)[fU]?(?: /\* \S+ \*/)?\)*"
)
_LARGEST_DECIMAL: Final = 1 << 20
#: Indices are of C's type ``int``.
_LARGEST_INDEX: Final = 1 << 30


def c_type(dtype: dtypes.DType) -> str:
    """Return the type of C for a dtype."""
    return TYPES[dtype][0]


def suffix(dtype: dtypes.DType) -> str:
    """Return the end of the names of functions for a dtype."""
    return TYPES[dtype][1]


def constant(value: Any, dtype: dtypes.DType) -> str:
    """Write a constant: floats exactly, in hexadecimal where their decimals are many."""
    if dtype == dtypes.bool_:
        return "true" if value else "false"
    if dtype.kind in "iu":
        return _integer(int(value), dtype)
    number, end = float(value), "f" if dtype == dtypes.float32 else ""
    if math.isnan(number):
        return f"({c_type(dtype)})NAN"
    size = abs(number)
    if math.isinf(number):
        text = f"({c_type(dtype)})INFINITY"
    elif size < _LARGEST_DECIMAL and size * 8 == int(size * 8):
        text = repr(size) + end
    else:
        text = re.sub(r"\.?0*p", "p", size.hex()) + f"{end} /* {size:.6g} */"
    return f"(-{text})" if math.copysign(1.0, number) < 0 else text


def number(text: str) -> float | None:
    """Return the number that a constant is; None for any other expression."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return {"true": 1.0, "false": 0.0}.get(text)
    size = float.fromhex(match[2]) if "x" in match[2] else float(match[2])
    return -size if match[1] else size


def _integer(value: int, dtype: dtypes.DType) -> str:
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return f"UINT64_C({value})" if bits == 64 else f"{value}U"
    if value == -(1 << (bits - 1)):
        return f"INT{bits}_MIN"
    text = f"INT64_C({abs(value)})" if bits == 64 else str(abs(value))
    return f"(-{text})" if value < 0 else text


@attrs.frozen
class Index:
    """An integer expression: a constant, and terms with their factors.

    Attributes:
        terms: texts of C, each with its factor.
        offset: the constant.
        least: a lower bound of its value.
        most: an upper bound.
    """

    terms: tuple[tuple[str, int], ...] = ()
    offset: int = 0
    least: int = 0
    most: int = 0

    @classmethod
    def term(cls, text: str, size: int) -> Index:
        """Return the index that a text stands for, which is below ``size``."""
        return cls(((text, 1),), 0, 0, size - 1) if size > 1 else cls()

    @classmethod
    def constant(cls, place: int) -> Index:
        """Return an index that is known."""
        return cls((), place, place, place)

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.terms, self.offset + other, self.least + other, self.most + other)
        factors = dict(self.terms)
        for term, factor in other.terms:
            factors[term] = factors.get(term, 0) + factor
        terms = tuple([(term, factor) for term, factor in factors.items() if factor])
        bounds = self.least + other.least, self.most + other.most
        return Index(terms, self.offset + other.offset, *bounds)

    def __mul__(self, factor: int) -> Index:
        if not factor:
            return Index()
        terms = tuple([(term, factor * n) for term, n in self.terms])
        bounds = sorted((self.least * factor, self.most * factor))
        return Index(terms, self.offset * factor, *bounds)

    def __str__(self) -> str:
        parts = [
            f"{'-' if n < 0 else '+'} {f'{abs(n)} * ' if abs(n) != 1 else ''}{term}"
            for term, n in self.terms
        ]
        if self.offset or not parts:
            text = f"{'-' if self.offset < 0 else '+'} {abs(self.offset)}"
            parts.insert(
                0 if self.offset > 0 and parts and parts[0][0] == "-" else len(parts), text
            )
        text = " ".join(parts)
        return text[2:] if text.startswith("+") else "-" + text[2:]

    def test(self, low: int, high: int) -> str:
        """Write whether it is at least ``low`` and below ``high``; nothing where it always is."""
        if self.least == self.most and not low <= self.least < high:
            return "false"
        above = [] if self.least >= low else [f"{self} >= {low}"]
        below = [] if self.most < high else [f"{self} < {high}"]
        return " && ".join(above + below)


class IndexText(str):
    """The expression of an integer that is known as an index."""

    __slots__ = ("place",)
    place: Index


def index_text(index: Index, dtype: dtypes.DType) -> str | None:
    """Write an index as an integer of a dtype; None where it may be too large."""
    info = np.iinfo(dtype)
    if max(info.min, -_LARGEST_INDEX) > index.least or index.most > min(info.max, _LARGEST_INDEX):
        return None
    if not index.terms:
        return constant(index.offset, dtype)
    text = IndexText(f"({c_type(dtype)})({index})")
    text.place = index
    return text


def index_of(text: str) -> Index | None:
    """Return the index that an expression of an integer is, where it is known."""
    if isinstance(text, IndexText):
        return text.place
    value = number(text)
    return None if value is None or abs(value) > _LARGEST_INDEX else Index.constant(int(value))


def places(shape: Sequence[int]) -> list[list[Index]]:
    """Return the indices of all elements of a shape."""
    return [[*map(Index.constant, place)] for place in itertools.product(*map(range, shape))]


def linear(index: Sequence[Index], shape: Sequence[int]) -> Index:
    """Return the place of an element among all, in rows."""
    place = Index()
    for i, n in zip(index, shape, strict=True):
        place = place * n + i
    return place


def undilated(place: Index, size: int, dilation: int) -> tuple[list[str], Index]:
    """Return tests of whether a dilated axis has an element at a place, and its number."""
    tests = [place.test(0, (size - 1) * dilation + 1)]
    if not place.terms:
        tests.append("false" if place.offset % dilation else "")
        return [*filter(None, tests)], Index.constant(place.offset // dilation)
    if dilation == 1:
        return [*filter(None, tests)], Index(place.terms, place.offset, 0, size - 1)
    tests.append(f"({place}) % {dilation} == 0")
    return [*filter(None, tests)], Index.term(f"(({place}) / {dilation})", size)


# Functions that programs may need: those of ``functions.c``, and a few that are made here.

_KINDS: Final = {"floats": "f", "signed": "i", "unsigned": "u", "integers": "iu"}


@cache
def _templates() -> dict[tuple[str, str], str]:
    """Return the texts of ``functions.c`` by names without suffixes, and kinds of dtypes."""
    chunks = (
        (Path(__file__).parent / "functions.c").read_text(encoding="utf-8").split("\n\n/* ")[1:]
    )
    templates = {}
    for chunk in chunks:
        head, _, text = chunk.partition(" */\n")
        name = re.search(r"(\w+)_(?:\$S|[iu]\d\d)\(", text)
        assert name is not None, chunk
        for kind in _KINDS.get(head, head[0]):
            templates[name[1], kind] = text.strip()
    return templates


def helper(name: str) -> str | None:
    """Return the definition of a function that a program may need; None for any other name."""
    base, _, end = name.rpartition("_")
    if end not in _OF_SUFFIX:
        return None
    t, dtype = _OF_SUFFIX[end]
    power, cast = re.fullmatch(r"power_(\d+)", base), re.fullmatch(r"bits_(\w+)", base)
    if power is not None:
        return f"static inline {t} {name}({t} x) {{ {_power(int(power[1]), t, dtype)} }}"
    if cast is not None:
        head = f"static inline {t} {name}({_OF_SUFFIX[cast[1]][0]} x)"
        return " ".join([head, "{", f"{t} y;", "memcpy(&y, &x, sizeof y);", "return y;", "}"])
    template = _templates().get((base, dtype.kind))
    if template is None:
        return None
    bits = 8 * dtype.itemsize
    words = {"T": t, "S": end, "B": bits, "f": "f" if dtype == dtypes.float32 else ""}
    words["U"], words["W"] = f"uint{bits}_t", f"uint{max(bits, 32)}_t"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        words["L"], words["H"] = constant(info.min, dtype), constant(info.max, dtype)
    return Template(template).substitute(words)


def _power(n: int, t: str, dtype: dtypes.DType) -> str:
    """Write powers by repeated squares, in the order in which the library multiplies."""

    def times(x: str, y: str) -> str:
        return f"mul_{suffix(dtype)}({x}, {y})" if dtype.kind in "iu" else f"{x} * {y}"

    result, square, lines = "", "x", []
    while n:
        if n & 1:
            lines += [f"const {t} r{n} = {times(square, result)};"] if result else []
            result = f"r{n}" if result else square
        n >>= 1
        if n:
            lines.append(f"const {t} s{n} = {times(square, square)};")
            square = f"s{n}"
    return " ".join([*lines, f"return {result};"])


def definitions(text: str) -> list[str]:
    """Return the definitions of the functions that a text needs, each after those that it needs."""
    ordered: dict[str, str] = {}

    def visit(text: str) -> None:
        for name in dict.fromkeys(re.findall(r"\w+(?=\()", text)):
            definition = None if name in ordered else helper(name)
            if definition is not None:
                visit(definition.partition("{")[2])
                ordered[name] = definition

    visit(text)
    return list(ordered.values())


#: Names that programs must not have: C's words, and functions of its library.
RESERVED: Final = frozenset(
    re.findall(
        r"\w+",
        """auto break case char const continue default do double else enum extern float for goto if
        inline int long register restrict return short signed sizeof static struct switch typedef
        union unsigned void volatile while bool true false main exp exp2 expm1 log log2 log10 log1p
        logb sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sqrt cbrt hypot pow
        erf erfc ceil floor round rint trunc fabs fmod fmax fmin fma fdim abs ldexp frexp modf scalb
        remainder nan lgamma tgamma nextafter isfinite memcpy memset NAN INFINITY workspace i j k l
        t b lane channel numbers""",
    )
)
#: Names of other functions of the library, which no function may have.
TAKEN: Final = RESERVED | frozenset(("j0", "j1", "jn", "y0", "y1", "yn", "gamma", "index", "time"))

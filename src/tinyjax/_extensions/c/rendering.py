"""From statements to text: what nothing reads is dropped, arrays get places, lines are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import prod
from typing import Final

import attrs

from tinyjax import dtypes
from tinyjax._base import frames
from tinyjax._extensions.c import syntax
from tinyjax._extensions.c.writing import CBlock, CBuffer, CLine

#: Arrays of so many elements are variables of their block, which compilers keep in registers; the
#: others are in the workspace.
LOCAL: Final = 64
_WORD: Final = re.compile(r"\b[A-Za-z_]\w*")


_DECLARED_AND_READ: Final = 2


def joined(block: CBlock, uses: Counter[str]) -> None:
    """Put expressions into the stores that alone read them."""
    lines: list[CLine | CBlock] = []
    for line in block.lines:
        last = lines[-1] if lines else None
        if isinstance(line, CBlock):
            joined(line, uses)
        elif isinstance(last, CLine) and last.fills and line.text.endswith(f" = {last.fills};"):
            expression = last.text.partition(" = ")[2]
            if uses[last.fills] == _DECLARED_AND_READ:
                lines.pop()
                line.text = line.text.replace(f"{last.fills};", expression)
        lines.append(line)
    block.lines[:] = lines


def words_of(block: CBlock) -> Counter[str]:
    """Count the words of a block."""
    counts: Counter[str] = Counter()
    for line in block.lines:
        counts.update(_WORD.findall(line.text if isinstance(line, CLine) else line.head))
        if isinstance(line, CBlock):
            counts.update(words_of(line))
    return counts


def read_words(block: CBlock) -> set[str]:
    """Return the words that statements have for other reasons than to fill them."""
    words: set[str] = set()
    for line in block.lines:
        if isinstance(line, CBlock):
            words |= _words(line.head) | read_words(line)
        else:
            words |= _words(line.text) - {line.fills}
    return words


def pruned(block: CBlock, used: set[str]) -> None:
    """Drop statements that fill what nothing reads, last ones first."""
    remaining: list[CLine | CBlock] = []
    for line in reversed(block.lines):
        if isinstance(line, CBlock):
            pruned(line, used)
            follows = remaining[-1].head if remaining and isinstance(remaining[-1], CBlock) else ""
            if not line.lines and not line.head.startswith("else") and follows[:4] != "else":
                continue
            used.update(_words(line.head))
        elif line.fills and line.fills not in used:
            continue
        else:
            used.update(_words(line.text))
        remaining.append(line)
    block.lines[:] = reversed(remaining)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


@attrs.define
class WorkspaceLayout:
    """The places of arrays in the workspace, by dtype, and how many elements it has of each."""

    places: dict[str, int] = attrs.field(factory=dict)
    sizes: dict[dtypes.DType, int] = attrs.field(factory=dict)

    @property
    def nbytes(self) -> int:
        """The size of the workspace."""
        return sum(dtype.itemsize * n for dtype, n in self.sizes.items())


def laid_out(
    body: CBlock, buffers: dict[str, CBuffer], most: int = LOCAL
) -> tuple[WorkspaceLayout, list[CBuffer]]:
    """Lay out the arrays of a function: those that are never in use together share memory.

    Returns:
        The layout of the workspace, and the arrays that are variables of their blocks.
    """
    spans: dict[str, tuple[int, int]] = {}
    _measure(body, buffers, spans, 0, set())
    used = [buffers[name] for name in spans]
    local = [x for x in used if prod(x.shape) <= most]
    layout = WorkspaceLayout()
    placed: list[tuple[CBuffer, int]] = []
    for x in sorted(used, key=lambda x: -prod(x.shape)):
        if x in local:
            continue
        size, (first, last) = prod(x.shape), spans[x.name]
        taken = sorted(
            (at, at + prod(y.shape))
            for y, at in placed
            if y.dtype == x.dtype and spans[y.name][0] <= last and first <= spans[y.name][1]
        )
        place = 0
        for start, stop in taken:
            if place + size <= start:
                break
            place = max(place, stop)
        placed.append((x, place))
        layout.places[x.name] = place
        layout.sizes[x.dtype] = max(layout.sizes.get(x.dtype, 0), place + size)
    return layout, local


def _measure(
    block: CBlock,
    buffers: dict[str, CBuffer],
    spans: dict[str, tuple[int, int]],
    time: int,
    inner: set[int],
) -> int:
    """Note from when to when each array is used; in a loop, what is older is used all the time."""
    start, touched = time, set()
    blocks = {id(block)}
    for line in block.lines:
        time += 1
        if isinstance(line, CBlock):
            names, own = _words(line.head), set[int]()
            before = dict(spans)
            end = _measure(line, buffers, spans, time, own)
            blocks |= own
            touched |= {x for x in spans if spans[x] != before.get(x)}
        else:
            names, end = _words(line.text), time
        for name in names & buffers.keys():
            spans[name] = (spans.get(name, (time, 0))[0], time)
            touched.add(name)
        time = end
    if block.repeats:
        for name in touched:
            if id(buffers[name].block) not in blocks:
                spans[name] = (min(spans[name][0], start), time)
    inner |= blocks
    return time


def rendered(block: CBlock, indent: int, local: Iterable[CBuffer]) -> list[str]:
    """Return the lines of a block, with the user's lines above what they became."""
    lines: list[str] = []
    space = "    " * indent
    for x in local:
        if x.block is block:  # of no elements C has no arrays
            declared = f"{syntax.c_type(x.dtype)} {x.name}[{prod(x.shape) or 1}]"
            lines.append(space + declared + (";" if prod(x.shape) else " = {0};"))
    shown: str | None = None
    for line in block.lines:
        comment = _comment(line.source)
        if comment and comment != shown:
            shown = comment
            lines.append(f"{space}/* {comment} */")
        if isinstance(line, CLine):
            lines.append(space + line.text)
            continue
        inner = rendered(line, indent + 1, local)
        if shown:
            inner = [x for x in inner if x.strip() != f"/* {shown} */"]
        lines += [f"{space}{line.head} {{".replace("  {", " {") if line.head else f"{space}{{"]
        lines += [*inner, f"{space}}}"]
    return lines


def _comment(source: frames.Source | None) -> str:
    if source is None:
        return ""
    where = source.location
    text = where.text.strip() if where.text else ""
    return f"{where.filename.rpartition('/')[2]}:{where.lineno}: {text}".replace("*/", "* /")

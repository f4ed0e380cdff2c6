"""Arrays and programs as a notebook shows them.

Of an array that is the type, the range, some values, and a small picture of a matrix. However large
it is, at most ``_SAMPLE`` of its elements are looked at, and none is copied besides.
"""

from __future__ import annotations

import re
import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from math import ceil
from typing import Any, Final

import numpy as np

from tinyjax import dtypes

#: Up to so many elements the text says it all.
SHORT: Final = 100
_SAMPLE: Final = 1 << 20
#: How many pixels the side of a picture has at most.
_PIXELS: Final = 64
_LEAST: Final = 8
_MOST_LETTERS: Final = 2_000
_NAN: Final = 255


def shown(type_: str, host: dtypes.HostArray | None, more: str = "") -> str:
    """Return an array as HTML of some KB.

    Args:
        type_: the array's type.
        host: its data, where it may be looked at.
        more: what else to say of it.
    """
    phrases = [f"<b>{escape(type_)}</b>"]
    text = picture = ""
    if host is not None and host.dtype.names is None:
        phrases += [size_text(host.nbytes), *ranges(host)]
        text = _values(host)
        picture = _picture(host)
    if more:
        phrases.append(escape(more))
    head = f"<div>{' · '.join(phrases)}</div>"
    body = f'<pre style="margin: 0.3em 0">{escape(text)}</pre>' if text else ""
    side = '<div style="display: flex; gap: 1em; align-items: flex-start">'
    return head + (f"{side}{body}{picture}</div>" if picture else body)


def size_text(count: int) -> str:
    """Return a number of bytes as people read it."""
    if count < 1000:
        return f"{count} bytes"
    size, units = count / 1000, ["KB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{size:.3g} {units[0]}"


def sampled(host: dtypes.HostArray) -> dtypes.HostArray:
    """Return a view of at most about a million elements, evenly spread."""
    if host.size <= _SAMPLE:
        return host
    excess, steps = host.size / _SAMPLE, []
    for n in host.shape:  # the first axes are thinned out first: rows stay whole in memory
        step = min(n, ceil(excess))
        steps.append(slice(None, None, max(1, step)))
        excess /= max(1, step)
    return host[tuple(steps)]


def ranges(host: dtypes.HostArray) -> list[str]:
    """Describe elements in words: their range, and the number that are not finite."""
    sample, kind = sampled(host), dtypes.kind(host.dtype)
    about = " of a sample" if sample.size < host.size else ""
    if not sample.size:
        return ["empty"]
    if kind == "b":
        return [f"{np.count_nonzero(sample) / sample.size:.3g} of all True{about}"]
    if kind in "iu":
        return [f"from {sample.min()} to {sample.max()}{about}"]
    if kind not in "fc":
        return []
    values = np.abs(sample) if kind == "c" else sample
    values = values.astype(np.float64 if values.dtype == np.float64 else np.float32, copy=False)
    finite = np.isfinite(values)
    phrases = []
    if finite.any():
        low, high = values[finite].min(), values[finite].max()
        name = "absolute values " if kind == "c" else ""
        phrases.append(f"{name}from {low:.4g} to {high:.4g}{about}")
    nans, others = np.count_nonzero(np.isnan(values)), values.size - np.count_nonzero(finite)
    if nans:
        phrases.append(f"{nans:,} NaN{about}")
    if others > nans:
        phrases.append(f"{others - nans:,} infinite{about}")
    return phrases


def _values(host: dtypes.HostArray) -> str:
    """Return some values: those at the corners of the first matrix in it."""
    if not host.size:
        return ""
    inside = host[(0,) * (host.ndim - 2)] if host.ndim > 2 else host
    where = f"[{', '.join(['0'] * (host.ndim - 2))}] is\n" if host.ndim > 2 else ""
    text = np.array2string(inside, separator=", ", threshold=SHORT // 2, precision=4)
    if len(text) > _MOST_LETTERS:
        text = text[:_MOST_LETTERS] + " ..."
    return where + text


def _picture(host: dtypes.HostArray) -> str:
    """Return a matrix as a picture of some KB: black is the least value, NaN is red."""
    if host.ndim != 2 or min(host.shape) < _LEAST or dtypes.kind(host.dtype) not in "biuf":
        return ""
    steps = [ceil(n / _PIXELS) for n in host.shape]
    values = np.asarray(host[:: steps[0], :: steps[1]]).astype(np.float64)
    finite = np.isfinite(values)
    if not finite.any():
        return ""
    low, high = values[finite].min(), values[finite].max()
    if low == high:
        return ""
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.clip((values - low) * ((_NAN - 1) / (high - low)), 0, _NAN - 1)
    pixels = np.where(np.isnan(values), _NAN, scaled).astype(np.uint8)
    scale = max(1, round(128 / max(pixels.shape)))
    height, width = pixels.shape[0] * scale, pixels.shape[1] * scale
    data = b64encode(png(pixels)).decode()
    thinned = f", every {steps[0]} by {steps[1]}" if max(steps) > 1 else ""
    return (
        f'<img src="data:image/png;base64,{data}" width="{width}" height="{height}" '
        f'style="image-rendering: pixelated" alt="the matrix as a picture" '
        f'title="black {low:.4g}, white {high:.4g}{thinned}">'
    )


_GREYS: Final = bytes([c for i in range(_NAN) for c in (i, i, i)]) + b"\xe0\x20\x20"


def png(pixels: dtypes.HostArray) -> bytes:
    """Return a picture as a PNG file: 0 is black, 254 white and 255 red."""
    height, width = pixels.shape

    def chunk(name: bytes, data: bytes) -> bytes:
        whole = name + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
        + chunk(b"PLTE", _GREYS)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


#: A grid has so many rows, and so many columns, of more.
_MOST_CELLS: Final = 16


def shown_grid(head: str, cells: np.ndarray[Any, np.dtype[np.object_]]) -> str:
    """Return a grid as a table of HTML, whose last axis goes across.

    Args:
        head: what it shows.
        cells: texts, along any number of axes.
    """
    rows = cells.reshape(-1, cells.shape[-1] if cells.ndim else 1)
    down, across = (max(0, n - _MOST_CELLS) for n in rows.shape)
    style = '<td style="border: 1px solid; padding: 0.2em 0.6em; text-align: center">'
    lines = [
        "".join([f"{style}{escape(str(text))}</td>" for text in row[:_MOST_CELLS]])
        for row in rows[:_MOST_CELLS]
    ]
    more = [f"{n:,} more {what}" for n, what in ((down, "rows"), (across, "columns")) if n]
    table = "".join([f"<tr>{line}</tr>" for line in lines])
    return f"<div>{' · '.join([f'<b>{escape(head)}</b>', *more])}</div><table>{table}</table>"


# In letters

_SHADES: Final = "░▒▓█"
_WIDEST: Final = 72
_HIGHEST: Final = 32


class ArrayPicture:
    """An array as a picture: of letters, or of HTML for a notebook."""

    def __init__(self, host: dtypes.HostArray) -> None:
        self._host = host

    def __repr__(self) -> str:
        host = self._host
        head = [type_text(host), size_text(host.nbytes)]
        if host.dtype.names is not None:  # keys of random numbers
            return ", ".join(head)
        head += ranges(host)
        matrix = host[(0,) * (host.ndim - 2)] if host.ndim > 2 else np.atleast_2d(host)
        return "\n".join([", ".join(head), *_letters(matrix)])

    def _repr_html_(self) -> str:
        return shown(type_text(self._host), self._host)


def type_text(host: dtypes.HostArray) -> str:
    """Return the type of an array: ``float32[2,3]``."""
    return f"{host.dtype.name}[{','.join(map(str, host.shape))}]"


def _letters(matrix: dtypes.HostArray) -> list[str]:
    """Draw a matrix: the fuller a letter, the greater the value; NaN is ``?``."""
    if not matrix.size:
        return []
    down, right = (
        ceil(n / most) for n, most in zip(matrix.shape, (_HIGHEST, _WIDEST), strict=True)
    )
    part = matrix[::down, ::right]
    values = np.abs(part) if dtypes.kind(part.dtype) == "c" else part
    values = values.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    span = (high - low) or 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        levels = np.clip((values - low) * (len(_SHADES) / span), 0, len(_SHADES) - 1)
    return [
        "".join(["?" if np.isnan(v) else _SHADES[int(v)] for v in row]) for row in levels.tolist()
    ]


# Programs

#: So many lines are shown from the beginning, and from the end.
_FIRST: Final = 120
_LAST: Final = 10
#: By the codes of a terminal's colours: legible on white, with a contrast of 4.5, and on black.
_STYLES: Final = {
    "36": "color:#0f808d",
    "2": "opacity:.75",
    "1;34": "color:#3573d4;font-weight:bold",
    "35": "color:#b04fae",
}
_COLOURED: Final = r"\x1b\[([\d;]+)m(.*?)\x1b\[0m"


def shown_program(lines: Sequence[str]) -> str:
    """Return a program for a notebook: in colour, and without the middle if it is long.

    Args:
        lines: those of its text, with a terminal's colours.
    """
    left_out = len(lines) - _FIRST - _LAST
    if left_out > 0:
        lines = [*lines[:_FIRST], f"      ... {left_out:,} more lines", *lines[-_LAST:]]
    text = escape("\n".join(lines), quote=False)
    coloured = re.sub(_COLOURED, lambda m: f'<span style="{_STYLES[m[1]]}">{m[2]}</span>', text)
    return f"<pre>{coloured}</pre>"

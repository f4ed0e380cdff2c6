"""Write ``tests/tables/edges.md``: ``python -m numerics.page`` in ``tests/``."""

from pathlib import Path
from typing import Any, Final

from numerics.edges import SECTIONS, Point, Row

DOCUMENT: Final = Path(__file__).parents[1] / "tables" / "edges.md"

HEAD: Final = """# Functions at edges

What functions and their derivatives are at zeros, infinities, NaN, ties and the ends of types.
The tests hold this page's tables (`tests/numerics/edges.py`) eagerly, in NumPy; compiled, in XLA,
by `jit(grad(f))` and by `grad(jit(f))`; by `jvp` and by `vjp`; and second derivatives forward
over reverse. jax is held against them too, and the last column says where it has something else.

[Evidence](../../docs/evidence.md#zeros-infinities-and-nan) has the convention. A blank cell is not
specified. Slopes are those in each operand.
"""


def _number(x: Any) -> str:
    match x:
        case None:
            return ""
        case list():
            return f"[{', '.join(map(_number, x))}]"
        case complex():
            imaginary = _number(x.imag)
            sign = "" if imaginary.startswith("-") else "+"
            return f"{_number(x.real)}{sign}{imaginary}j"
        case int():
            return str(x)
        case _:
            return f"{x:.6g}"


def _numbers(numbers: tuple[Any, ...] | None) -> str:
    return ", ".join(_number(x) or "-" for x in numbers or ())


def _line(row: Row, point: Point) -> str:
    value, slopes = _number(point.value), _numbers(point.slopes)
    if point.compiled is not None:
        value = f"{value} (compiled: {_number(point.compiled)})"
    second = _number(point.second)
    name = row.expression.replace("|", "\\|")
    return (
        f"| `{name}` | {_numbers(point.operands)} | {value} | {slopes} | {second} | {point.jax} |"
    )


def _section(title: str, rows: tuple[Row, ...]) -> str:
    lines = [f"## {title}", ""]
    for dtype in dict.fromkeys(row.dtype for row in rows):
        lines += [
            f"Of {dtype}:",
            "",
            "| | at | value | slopes | second | in jax |",
            "|---|---|---|---|---|---|",
            *[_line(row, p) for row in rows if row.dtype == dtype for p in row.points],
            "",
        ]
    return "\n".join(lines)


def text() -> str:
    """Return the page."""
    parts = [HEAD, *[_section(title, rows) for title, rows in SECTIONS.items()]]
    made = (
        "`python -m numerics.page` in `tests/` writes this page, and a test keeps it up to date.\n"
    )
    return "\n".join([*parts, made])


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")

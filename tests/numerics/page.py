"""Write ``docs/numerics.md`` from the table of edges: ``python -m numerics.page`` in ``tests/``."""

from pathlib import Path
from typing import Any, Final

from numerics.edges import SECTIONS, Point, Row

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "numerics.md"

HEAD: Final = """# Numerics

What functions and their derivatives are at zeros, infinities, NaN, ties and the ends of types.
The tests hold this page's tables (`tests/numerics/edges.py`) eagerly, in NumPy; compiled, in XLA,
by `jit(grad(f))` and by `grad(jit(f))`; by `jvp` and by `vjp`; and second derivatives forward
over reverse. jax is held against them too, and the last column says where it has something else.

## The convention

- **Values** are those of IEEE 754 and of C99's Annexes F and G, which the array API standard
  refers to.
- **At a kink** the derivative is the mean of the slopes on both sides: 0 for `abs` and
  norms at 0 and for `std` of equal numbers, and 1/2 for each of two equal operands of `maximum`.
  Elements that tie for a maximum share its derivative. What is defined by a choice of one element
  (`sort`, `median`) has that element's derivative. `relu` has the slope 0 at 0, and `leaky_relu`
  and `elu` that of the right side, as in JAX.
- **At the end of a domain** it is the limit from inside: infinite for `sqrt`, `log`, `logit` and
  `entr` at 0.
- **Where there is no limit** it is NaN: for `arctan2` at the origin.
- **A product with zero is zero** in `xlogy` and in powers: `0 ** 0` is 1 and has the slopes 0.
- **At NaN** values are NaN, but where IEEE 754 says otherwise (`fmax`, `hypot`, `1 ** nan`).
  Derivatives are not specified.
- **`where`** chooses derivatives as it chooses values, in both modes: what is not taken does not
  count, also where its slope is infinite ([how](derivations.md#what-is-not-taken)).
- **Subnormal numbers** are numbers eagerly. XLA takes those of float32 and float64 for zero on
  CPU, as in JAX.
- **Large arrays** give the same bits as small ones, eagerly, with three exceptions. Functions of
  50,000 bfloat16 numbers, or more, give the neighbour once in 10,000 results. Convolutions add
  in another order. Fourier transforms of 2^18 numbers of single precision, or
  more, are in single precision, with errors of 2e-7 in place of 3e-8, as compiled ones.
- **Integers** wrap around. Division by zero and shifts by more bits than there are have XLA's
  answers.
- **Complex functions** are continuous onto a cut from the side that the sign of zero says.
  Compiled arithmetic on infinite complex numbers may be NaN where C99 has an infinity.

A blank cell is not specified. Slopes are those in each operand.
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


def _numbers(found: tuple[Any, ...] | None) -> str:
    return ", ".join(_number(x) or "-" for x in found or ())


def _line(row: Row, point: Point) -> str:
    value, slopes = _number(point.value), _numbers(point.slopes)
    if point.compiled is not None:
        value = f"{value} (compiled: {_number(point.compiled)})"
    second = _number(point.second)
    name = row.expression.replace("|", "\\|")
    return f"| `{name}` | {_numbers(point.at)} | {value} | {slopes} | {second} | {point.jax} |"


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

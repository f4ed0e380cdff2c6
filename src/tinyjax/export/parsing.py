"""Sizes and constraints from text: ``"2*a + 1, max(b, 3)"``.

The grammar is the whole of it; nothing is evaluated. Texts come from users, and from programs that
were exported elsewhere, so their length and the depth of their parentheses are limited.

```
shape      = "(" shape ")" | [ place { "," place } [ "," ] ]
place      = "..." | "_" | sum
sum        = [ "+" | "-" ] product { ( "+" | "-" ) product }
product    = power { "*" power }
power      = factor [ "^" number ]
factor     = number | "-" number | name | operation "(" sum "," sum ")"
operation  = "floordiv" | "mod" | "max" | "min"
```
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NoReturn, Protocol

from tinyjax.errors import ArgumentError, shortened
from tinyjax.export import polynomials


class SizeScope(Protocol):
    """The scope of sizes, which makes them from polynomials."""

    def dim(self, p: polynomials.Polynomial) -> int:
        """Return a polynomial as a size."""


_LONGEST: Final = 10_000
_DEEPEST: Final = 40
_TOKEN: Final = re.compile(r"\s*(?:(\.\.\.|[A-Za-z_][A-Za-z_0-9]*|[0-9]+|[-+*^(),])|(\S)|$)")


class _Parser:
    """Reads one text from left to right."""

    def __init__(self, text: str, scope: SizeScope, like: Sequence[int | None] | None) -> None:
        self._text = text
        self._scope = scope
        self._like = like
        self._depth = 0
        self._position = self._after = 0
        self._token = ""
        if len(text) > _LONGEST:
            self._fail(f"it is longer than {_LONGEST} characters")
        self._next()

    def _fail(self, why: str) -> NoReturn:
        rest = shortened(self._text[self._position :])
        raise ArgumentError(
            f"the symbolic shape {shortened(self._text)} cannot be read: {why}, at {rest}. Write "
            "sizes separated by commas, of names, numbers, +, -, *, ^, floordiv, mod, max and min; "
            "'_' and '...' stand for sizes of the array itself."
        )

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._after)
        assert match is not None, "there is a token, or something else, or the end"
        self._position, self._after = match.start(1), match.end()
        self._token = match[1] or ""
        if match[2]:
            self._position = match.start(2)
            self._fail(f"{match[2]!r} is unknown")
        if not self._token:
            self._position = len(self._text)

    def _take(self, token: str) -> None:
        if self._token != token:
            self._fail(f"{token!r} is expected")
        self._next()

    def end(self) -> None:
        """Check that nothing is left."""
        if self._token:
            self._fail("it should end here")

    def shape(self) -> tuple[int, ...]:
        """Read a shape."""
        if self._token == "(":
            self._enter()
            shape = self.shape()
            self._take(")")
            self._depth -= 1
            return shape
        dims: list[int] = []
        while self._token not in ("", ")"):
            if self._token == "...":
                self._next()
                dims += [
                    self._placed(i) for i in range(len(dims), len(self._placeholder_sizes("...")))
                ]
                break
            if self._token == "_":
                self._next()
                dims.append(self._placed(len(dims)))
            else:
                size = self._scope.dim(self.sum())
                if type(size) is int and self._like is not None:
                    self._check(size, len(dims))
                dims.append(size)
            if self._token:
                if self._token == ")":
                    break
                self._take(",")
        return tuple(dims)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"its parentheses are nested deeper than {_DEEPEST}")
        self._take("(")

    def _placeholder_sizes(self, placeholder: str) -> Sequence[int | None]:
        if self._like is None:
            self._fail(f"'{placeholder}' stands for sizes of an array, and none is given (like=)")
        return self._like

    def _placed(self, i: int) -> int:
        """Return the size that a placeholder stands for."""
        sizes = self._placeholder_sizes("_")
        size = sizes[i] if i < len(sizes) else None
        if size is None:
            self._fail(f"a placeholder stands for size {i} of {tuple(sizes)}, which is not there")
        return size

    def _check(self, size: int, i: int) -> None:
        sizes = self._placeholder_sizes("_")
        if i < len(sizes) and sizes[i] not in (None, size):
            self._fail(f"size {i} is {size}, but the array has the shape {tuple(sizes)}")

    def sum(self) -> polynomials.Polynomial:
        """Read a sum."""
        total: polynomials.Polynomial = ()
        while True:
            sign = -1 if self._token == "-" else 1
            if self._token in ("+", "-"):
                self._next()
            total = polynomials.add(total, self._product(), sign)
            if self._token not in ("+", "-"):
                return total

    def _product(self) -> polynomials.Polynomial:
        product = self._power()
        while self._token == "*":
            self._next()
            product = polynomials.multiply(product, self._power())
        return product

    def _power(self) -> polynomials.Polynomial:
        factor = self._factor()
        if self._token != "^":
            return factor
        self._next()
        power = self._number()
        if not 1 <= power <= polynomials.MOST_POWER:
            self._fail(f"powers are from 1 to {polynomials.MOST_POWER}")
        return polynomials.power(factor, power)

    def _number(self) -> int:
        if not self._token.isdecimal():
            self._fail("a number is expected")
        if len(self._token) > polynomials.MOST_DIGITS:
            self._fail(f"numbers have at most {polynomials.MOST_DIGITS} digits")
        number = int(self._token)
        self._next()
        return number

    def _factor(self) -> polynomials.Polynomial:
        if self._token in polynomials.OPERATIONS:
            return self._operation()
        if self._token[:1].isalpha():
            name = self._token
            self._next()
            return polynomials.variable(name)
        sign = 1
        if self._token == "-":
            sign = -1
            self._next()
        return polynomials.constant(sign * self._number())

    def _operation(self) -> polynomials.Polynomial:
        name = self._token
        self._next()
        self._enter()
        x = self._scope.dim(self.sum())
        self._take(",")
        y = self._scope.dim(self.sum())
        self._take(")")
        self._depth -= 1
        if name in ("floordiv", "mod") and y == 0:
            self._fail("it divides by zero")
        return polynomial(polynomials.OPERATIONS[name](x, y))


def polynomial(dim: int) -> polynomials.Polynomial:
    """Return a size as a polynomial."""
    terms: polynomials.Polynomial | None = getattr(dim, "polynomial", None)
    return polynomials.constant(dim) if terms is None else terms


def parse_shape(
    text: str, scope: SizeScope, like: Sequence[int | None] | None = None
) -> tuple[int, ...]:
    """Read a shape.

    Args:
        text: the text.
        scope: what the sizes belong to.
        like: the shape from which placeholders are filled.

    Raises:
        ArgumentError: it is no shape, or has a placeholder for a size that is not there.
    """
    parser = _Parser(text, scope, like)
    shape = parser.shape()
    parser.end()
    return shape


def parse_constraint(
    text: str, scope: SizeScope
) -> tuple[polynomials.Polynomial, str, polynomials.Polynomial]:
    """Read a constraint: its left side, its comparison, and its right side.

    Raises:
        ArgumentError: it is none.
    """
    parts = re.split(r"(==|>=|<=)", text)
    if len(parts) != 3:
        raise ArgumentError(
            f"the symbolic constraint {shortened(text)} cannot be read: write two sizes with >=, "
            "<= or == between them."
        )
    sides: list[polynomials.Polynomial] = []
    for side in (parts[0], parts[2]):
        parser = _Parser(side, scope, None)
        sides.append(parser.sum())
        parser.end()
    return sides[0], parts[1], sides[1]

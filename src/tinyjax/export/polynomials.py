"""Sizes as polynomials: sums of products of variables and of operations on such sums.

A polynomial is kept in one form, so that polynomials that are equal as such are equal as Python
values: a tuple of terms with their coefficients, the largest first, the constant last. A term is a
tuple of factors with their exponents. A factor is a variable, or what cannot be expressed as a sum
of products: ``floordiv``, ``mod``, ``max`` or ``min`` of two polynomials.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

import attrs

from tinyjax.core.tracing.trace import assigned
from tinyjax.core.values.integers import larger, smaller
from tinyjax.errors import ArgumentError

OPERATIONS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": larger,
    "min": smaller,
}
#: Polynomials with more terms, and numbers and exponents that are larger, are refused.
MOST_TERMS: Final = 1000
#: So are operations with more symbols in their text.
MOST_SYMBOLS: Final = 10_000
MOST_DIGITS: Final = 30
MOST_POWER: Final = 30


@attrs.frozen(repr=False)
class Factor:
    """A variable, or an operation on two polynomials.

    Attributes:
        name: of the variable, or of the operation.
        operands: of the operation; none of a variable.
    """

    name: str
    operands: tuple[Polynomial, ...] = ()
    #: The sort key: a text with fewer symbols is smaller.
    key: tuple[Any, ...] = attrs.field(init=False, eq=False)
    _hash: int = attrs.field(init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        keys = tuple(map(_polynomial_key, self.operands))
        size = 1 + sum(key[0] for key in keys)
        if size > MOST_SYMBOLS:
            raise ArgumentError(f"a symbolic size has more than {MOST_SYMBOLS} symbols.")
        object.__setattr__(self, "key", (size, self.name, keys))
        object.__setattr__(self, "_hash", hash((self.name, self.operands)))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if not self.operands:
            return self.name
        return f"{self.name}({', '.join(map(text, self.operands))})"


#: A product of factors; ``()`` is one.
Term: TypeAlias = tuple[tuple[Factor, int], ...]
#: A sum of terms; ``()`` is zero.
Polynomial: TypeAlias = tuple[tuple[Term, int], ...]
ONE: Final[Term] = ()


#: How many steps may still be taken; None where there is no limit.
_steps_left: ContextVar[list[int] | None] = ContextVar("tinyjax_steps_left", default=None)


def limited(steps: int) -> AbstractContextManager[None]:
    """Refuse to take more steps in a block than so many."""
    return assigned(_steps_left, [steps])


def count(steps: int) -> None:
    """Say that so many steps are taken, each of a few microseconds.

    Raises:
        ArgumentError: there are no more.
    """
    budget = _steps_left.get()
    if budget is not None:
        budget[0] -= steps
        if budget[0] < 0:
            raise ArgumentError("to compare its symbolic sizes takes too many steps.")


def _term_key(term: Term) -> tuple[Any, ...]:
    factors = tuple([(factor.key, power) for factor, power in term])
    return sum(1 + power * key[0] for key, power in factors), factors


def _polynomial_key(p: Polynomial) -> tuple[Any, ...]:
    terms = tuple([(_term_key(term), k) for term, k in p])
    return sum(1 + abs(k) * key[0] for key, k in terms), terms


def _sorted(terms: Mapping[Term, int]) -> Polynomial:
    count(1 + len(terms))
    ordered = tuple(
        sorted(
            [(t, k) for t, k in terms.items() if k],
            key=lambda item: _term_key(item[0]),
            reverse=True,
        )
    )
    if len(ordered) > MOST_TERMS or any(abs(k) >= 10**MOST_DIGITS for _, k in ordered):
        raise ArgumentError("a symbolic size has too many terms, or too large numbers in it.")
    return ordered


def constant(n: int) -> Polynomial:
    """Return a number as a polynomial."""
    return ((ONE, n),) if n else ()


def variable(name: str) -> Polynomial:
    """Return a variable as a polynomial."""
    return ((((Factor(name), 1),), 1),)


def operation(name: str, x: Polynomial, y: Polynomial) -> Polynomial:
    """Return an operation on two polynomials as one."""
    return ((((Factor(name, (x, y)), 1),), 1),)


def as_constant(p: Polynomial) -> int | None:
    """Return the number that a polynomial is, or None if it is not constant."""
    if not p:
        return 0
    return p[0][1] if p[0][0] == ONE else None


def add(x: Polynomial, y: Polynomial, k: int = 1) -> Polynomial:
    """Return ``x + k * y``."""
    coefficients = dict(x)
    for term, c in y:
        coefficients[term] = coefficients.get(term, 0) + k * c
    return _sorted(coefficients)


def multiply(x: Polynomial, y: Polynomial) -> Polynomial:
    """Return ``x * y``."""
    count(len(x) * len(y))
    coefficients: dict[Term, int] = {}
    for a, j in x:
        for b, k in y:
            term = multiply_terms(a, b)
            coefficients[term] = coefficients.get(term, 0) + j * k
    return _sorted(coefficients)


def power(p: Polynomial, n: int) -> Polynomial:
    """Return ``p ** n``; a number too large is refused as soon as it is."""
    product = constant(1)
    for _ in range(min(n, MOST_POWER + 1)):
        product = multiply(product, p)
    return product


def multiply_terms(a: Term, b: Term, sign: int = 1) -> Term:
    """Return the product of two terms, or with ``sign=-1`` their quotient, as far as it is one.

    Raises:
        ArgumentError: a power is too large.
    """
    powers = dict(a)
    for factor, power in b:
        powers[factor] = powers.get(factor, 0) + sign * power
    if any(abs(power) > MOST_POWER for power in powers.values()):
        raise ArgumentError(f"a symbolic size has a power greater than {MOST_POWER}.")
    factors_left = [(factor, power) for factor, power in powers.items() if power]
    return tuple(sorted(factors_left, key=lambda item: item[0].key, reverse=True))


def divide(x: Polynomial, y: Polynomial) -> tuple[Polynomial, int] | None:
    """Divide polynomials.

    Returns:
        The quotient and the remainder, such that the remainder is the number that Python's
        ``divmod`` gives whatever the variables are; None if it depends on them. Of a divisor that
        is not constant the remainder is zero.
    """
    quotient: Polynomial = ()
    divisor = as_constant(y)
    lead, by = y[0]
    while as_constant(x) is None:
        term, k = x[0]
        over = multiply_terms(term, lead, -1)
        if k % by or any(power < 0 for _, power in over):
            return None
        part: Polynomial = ((over, k // by),)
        quotient = add(quotient, part)
        x = add(x, multiply(part, y), -1)
    rest = as_constant(x)
    assert rest is not None, "what is left is constant"
    if divisor is None:
        return (quotient, 0) if rest == 0 else None
    whole, remainder = divmod(rest, divisor)
    return add(quotient, constant(whole)), remainder


def text(p: Polynomial) -> str:
    """Write a polynomial: ``2*a*b + floordiv(a, 3) - 1``."""
    terms = "".join(f" {'+' if k > 0 else '-'} {_term_text(term, abs(k))}" for term, k in p)
    if not terms:
        return "0"
    return terms[3:] if terms.startswith(" + ") else terms[1:]


def _term_text(term: Term, k: int) -> str:
    factors = [f"{f}^{power}" if power != 1 else str(f) for f, power in reversed(term)]
    return "*".join(factors if k == 1 and factors else [str(k), *factors])


def factors(p: Polynomial) -> Iterator[Factor]:
    """Go through the factors of a polynomial, not those within operations."""
    for term, _ in p:
        for factor, _ in term:
            yield factor


def variables(p: Polynomial) -> set[str]:
    """Return the names of the variables in a polynomial."""
    names: set[str] = set()
    for factor in factors(p):
        if factor.operands:
            names.update(*map(variables, factor.operands))
        else:
            names.add(factor.name)
    return names


def evaluate(p: Polynomial, sizes: Mapping[str, int]) -> int:
    """Return the value of a polynomial.

    Args:
        p: the polynomial.
        sizes: the values of its variables, which may be symbolic sizes themselves.
    """
    total = 0
    for term, k in p:
        product = k
        for factor, power in term:
            product = product * _factor_value(factor, sizes) ** power
        total = total + product
    return total


def _factor_value(factor: Factor, sizes: Mapping[str, int]) -> int:
    if not factor.operands:
        return sizes[factor.name]
    return OPERATIONS[factor.name](*[evaluate(operand, sizes) for operand in factor.operands])

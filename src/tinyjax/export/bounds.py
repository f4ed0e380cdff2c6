"""Bounds on a polynomial in sizes: its least and its greatest value.

Each known fact (a size is at least one; a remainder is less than the divisor) is a polynomial that
is nowhere negative. A number ``n`` bounds a polynomial ``p`` from below if ``p - n`` is a sum of
facts with nonnegative factors, where each term counts as a variable of its own. The best such bound
is the optimum of a linear program, which is solved exactly, by the simplex method. So bounds are
right, but the tightest are not always found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, inf
from typing import Final, TypeAlias

from tinyjax.export import polynomials

#: The least and the greatest value of a polynomial, or None where none was found.
Bounds: TypeAlias = tuple[int | None, int | None]

#: So often facts about one polynomial ask for the bounds of another.
_DEEPEST: Final = 2
#: This many cases between the operands of ``max`` and ``min`` are followed to both ends.
_MOST_CHOICES: Final = 3
#: Of larger programs, and after so many steps, nothing is found.
_LARGEST: Final = 10_000
_MOST_STEPS: Final = 200


class SizeFacts:
    """The known facts about sizes that are at least one.

    Args:
        premises: polynomials that are not negative.
    """

    def __init__(self, premises: Sequence[polynomials.Polynomial]) -> None:
        self._premises = tuple(premises)
        self._optima: dict[tuple[polynomials.Polynomial, int], int | None] = {}

    def bounds(self, p: polynomials.Polynomial) -> Bounds:
        """Return the least and the greatest value of a polynomial, as far as they are known."""
        greatest = self._least(polynomials.add((), p, -1), 0)
        return self._least(p, 0), None if greatest is None else -greatest

    def _least(self, p: polynomials.Polynomial, depth: int) -> int | None:
        """Return a lower bound, the best one if ``depth``, which counts questions, is zero."""
        number = polynomials.as_constant(p)
        if number is not None:
            return number
        if depth and all(k > 0 and (t == polynomials.ONE or _has_no_operation(t)) for t, k in p):
            return sum(k for _, k in p)
        if depth > _DEEPEST:
            return None
        polynomials.count(len(p))
        if (p, depth) not in self._optima:
            self._optima[p, depth] = self._optimum(p, depth)
        return self._optima[p, depth]

    def _optimum(self, p: polynomials.Polynomial, depth: int) -> int | None:
        facts = [*self._premises]
        seen: set[polynomials.Factor] = set()
        products: set[polynomials.Term] = set()
        choices: list[tuple[polynomials.Polynomial, ...]] = []
        pending = [p, *self._premises]
        while pending:
            q = pending.pop()
            polynomials.count(len(q))
            products.update(term for term, _ in q if sum(power for _, power in term) > 1)
            for factor in polynomials.factors(q):
                if factor not in seen:
                    seen.add(factor)
                    implied = [*self._facts(factor, depth)]
                    facts += implied
                    pending += implied
                    if factor.name in ("max", "min") and factor.operands:
                        choices.append(_choice(factor))
                        pending += choices[-1]
        for term in sorted(products, key=_term_order):
            facts += self._product_facts(term, depth)
        optimum: int | None = None
        for case in _cases(choices[:_MOST_CHOICES]):
            best = _optimum(p, [*facts, *case])
            if best is None:
                return None
            if best != inf:  # else no sizes are like this
                optimum = ceil(best) if optimum is None else min(optimum, ceil(best))
        return optimum

    def _facts(self, factor: polynomials.Factor, depth: int) -> Iterator[polynomials.Polynomial]:
        """Yield the nonnegative polynomials that follow from a factor."""
        value: polynomials.Polynomial = ((((factor, 1),), 1),)
        if not factor.operands:
            yield polynomials.add(value, polynomials.constant(-1))
            return
        x, y = factor.operands
        if factor.name in ("max", "min"):
            sign = 1 if factor.name == "max" else -1
            yield polynomials.add(polynomials.multiply(polynomials.constant(sign), value), x, -sign)
            yield polynomials.add(polynomials.multiply(polynomials.constant(sign), value), y, -sign)
            return
        if (self._least(y, depth + 1) or 0) < 1:
            return  # nothing is said of divisors that may be negative
        whole = value if factor.name == "floordiv" else polynomials.operation("floordiv", x, y)
        rest = (
            polynomials.add(x, polynomials.multiply(y, whole), -1)
            if factor.name == "floordiv"
            else value
        )
        yield rest
        yield polynomials.add(polynomials.add(y, rest, -1), polynomials.constant(-1))
        least = self._least(x, depth + 1)
        if least is not None and least >= 0:
            yield value
            yield polynomials.add(x, value, -1)
        if factor.name == "mod":
            # the remainder is what the quotient leaves
            remainder = polynomials.add(x, polynomials.multiply(y, whole), -1)
            yield polynomials.add(remainder, value, -1)
            yield polynomials.add(value, remainder, -1)

    def _product_facts(
        self, term: polynomials.Term, depth: int
    ) -> Iterator[polynomials.Polynomial]:
        """Yield the facts about a product that follow from the bounds of two halves of it."""
        first, power = term[-1]
        one: polynomials.Polynomial = ((((first, 1),), 1),)
        rest: polynomials.Polynomial = (
            ((*term[:-1], *(((first, power - 1),) if power > 1 else ())), 1),
        )
        ends = [self._least(half, depth + 1) for half in (one, rest)]
        if all(end is not None and end >= 0 for end in ends):
            a, b = (polynomials.constant(end or 0) for end in ends)
            yield polynomials.multiply(polynomials.add(one, a, -1), polynomials.add(rest, b, -1))
            yield polynomials.add(((term, 1),), polynomials.multiply(a, b), -1)


def _has_no_operation(term: polynomials.Term) -> bool:
    return not any(factor.operands for factor, _ in term)


def _choice(factor: polynomials.Factor) -> tuple[polynomials.Polynomial, ...]:
    """Return what is zero if the first operand is it, and what is not negative then; and so on."""
    value: polynomials.Polynomial = ((((factor, 1),), 1),)
    x, y = factor.operands
    difference = polynomials.add(x, y, -1) if factor.name == "max" else polynomials.add(y, x, -1)
    return (
        polynomials.add(value, x, -1),
        difference,
        polynomials.add(value, y, -1),
        polynomials.add((), difference, -1),
    )


def _cases(
    choices: Sequence[tuple[polynomials.Polynomial, ...]],
) -> Iterator[list[polynomials.Polynomial]]:
    """Yield the facts that hold in each case between operands."""
    if not choices:
        yield []
        return
    first_is, first_if, second_is, second_if = choices[0]
    for rest in _cases(choices[1:]):
        yield [first_is, polynomials.add((), first_is, -1), first_if, *rest]
        yield [second_is, polynomials.add((), second_is, -1), second_if, *rest]


# The linear program


def _optimum(
    p: polynomials.Polynomial, facts: Sequence[polynomials.Polynomial]
) -> Fraction | float | None:
    """Return the greatest ``n`` for which ``p - n`` is a sum of facts.

    Returns:
        The number; None if there is none, and infinity if there is one for every number: no sizes
        are such that the facts hold.
    """
    terms = sorted({t for q in (p, *facts) for t, _ in q if t != polynomials.ONE}, key=_term_order)
    goal, columns = dict(p), [dict(fact) for fact in facts]
    numbers = len(terms) * len(columns)
    if numbers > _LARGEST:
        return None
    polynomials.count(numbers)
    # the facts' weights y >= 0: for each term, sum_j y_j facts[j][term] = p[term]
    rows: list[list[Fraction]] = []
    for t in terms:
        row = [Fraction(c.get(t, 0)) for c in (*columns, goal)]
        rows.append([-x for x in row] if row[-1] < 0 else row)
    # and of the constants, n = p[1] - sum_j y_j facts[j][1]
    maximum = _maximised(rows, [Fraction(-c.get(polynomials.ONE, 0)) for c in columns])
    return None if maximum is None else goal.get(polynomials.ONE, 0) + maximum


def _term_order(term: polynomials.Term) -> str:
    return str([(str(factor), power) for factor, power in term])


def _maximised(rows: list[list[Fraction]], goal: list[Fraction]) -> Fraction | float | None:
    """Maximise ``goal @ y`` where ``rows``, of ``[A, b]``, say ``A @ y = b >= 0``, and ``y >= 0``.

    Returns:
        The maximum; None if no ``y`` is possible, and infinity if there is no maximum.
    """
    n, m = len(goal), len(rows)
    # what each row lacks, which must vanish
    table = [
        [*row[:-1], *[Fraction(i == j) for j in range(m)], row[-1]] for i, row in enumerate(rows)
    ]
    basis = [n + i for i in range(m)]
    _improve(table, basis, [*[Fraction(0)] * n, *[Fraction(-1)] * m])
    if any(row[-1] for row, chosen in zip(table, basis, strict=True) if chosen >= n):
        return None
    for i in reversed(range(m)):
        if basis[i] >= n:
            used = next((j for j in range(n) if table[i][j]), None)
            if used is None:  # the row says nothing that others do not
                del table[i], basis[i]
            else:
                _pivot(table, basis, i, used)
    table = [[*row[:n], row[-1]] for row in table]
    if not _improve(table, basis, goal):
        return inf
    return sum(
        [goal[chosen] * row[-1] for row, chosen in zip(table, basis, strict=True)], Fraction(0)
    )


def _improve(table: list[list[Fraction]], basis: list[int], goal: Sequence[Fraction]) -> bool:
    """Go to the best basis, by Bland's rule; return whether there is one."""
    for _ in range(_MOST_STEPS):
        rows = [
            (goal[chosen], row) for chosen, row in zip(basis, table, strict=True) if goal[chosen]
        ]
        entering = next(
            (j for j, gain in enumerate(goal) if gain > sum(price * row[j] for price, row in rows)),
            None,
        )
        if entering is None:
            return True
        ratios = [
            (row[-1] / row[entering], basis[i], i)
            for i, row in enumerate(table)
            if row[entering] > 0
        ]
        if not ratios:
            return False
        _pivot(table, basis, min(ratios)[2], entering)
    return True  # what was found so far is a bound


def _pivot(table: list[list[Fraction]], basis: list[int], leaving: int, entering: int) -> None:
    polynomials.count(len(table) * len(table[0]))
    by = table[leaving][entering]
    table[leaving] = [x / by for x in table[leaving]]
    for i, row in enumerate(table):
        if i != leaving and row[entering]:
            k = row[entering]
            table[i] = [x - k * y for x, y in zip(row, table[leaving], strict=True)]
    basis[leaving] = entering

"""Intervals of the integers in a program, and how they depend on loops around it.

The program of ``for j in range(i, n)`` counts from zero to ``n - i``, and adds ``i``. Intervals
alone forget that the sum is less than ``n``. So an integer is also known as a sum of multiples of
others. The bounds of a loop's counter are such sums, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax._primitives.wrap_index import wrap_index_p
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import ConcreteArray, ShapedArray, operands as opd

#: The least and the greatest value that the elements of an array of integers may have.
Interval: TypeAlias = tuple[int, int]
#: The most bounds of counters that are put in for these, one after the other.
_DEEPEST: Final = 8


def any_of(aval: ShapedArray) -> Interval:
    """Return the interval of all values of a type, which is unbounded unless it is an integer."""
    if not dtypes.is_integer(aval.dtype):
        return 0, 0
    limits = np.iinfo(aval.dtype)
    return int(limits.min), int(limits.max)


def of_splat(x: ConcreteArray) -> Interval:
    """Return the interval of an array that holds one value everywhere."""
    if not x.size or not dtypes.is_integer(x.dtype):
        return any_of(x.aval)
    value = int(opd.first_element(x.host))
    return value, value


@attrs.frozen(eq=False)
class Sum:
    """A constant plus multiples of integers.

    Attributes:
        constant: the constant.
        factors: by integer, what it is multiplied by.
    """

    constant: int = 0
    factors: Mapping[jx.Var, int] = attrs.field(factory=dict)

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """Return the sum with a multiple of another."""
        factors = {**self.factors}
        for x, factor in other.factors.items():
            factors[x] = factors.get(x, 0) + times * factor
        some = {x: factor for x, factor in factors.items() if factor}
        return Sum(self.constant + times * other.constant, some)


@attrs.frozen
class Bounds:
    """The bounds of a loop's counter, which counts up.

    Attributes:
        start: what it counts from, in the program around the loop.
        condition: the loop's condition.
        stop: what it is less than there.
    """

    start: jx.Atom
    condition: IntegerScope
    stop: jx.Atom


@attrs.frozen(eq=False)
class IntegerScope:
    """Facts about the integers of a program, before one of its equations.

    Attributes:
        around: the program around it.
        outer: by parameter that has the value of an atom there, the atom.
        env: the intervals of variables.
        makers: by variable, the equation that it is a result of.
        bounds: the bounds of parameters that are counters.
    """

    around: IntegerScope | None = None
    outer: Mapping[jx.Var, jx.Atom] = attrs.field(factory=dict)
    env: dict[jx.Var, Interval] = attrs.field(factory=dict)
    makers: dict[jx.Var, jx.JaxprEqn] = attrs.field(factory=dict)
    bounds: dict[jx.Var, Bounds] = attrs.field(factory=dict)

    def inside(self, parameters: Iterable[tuple[jx.Var, jx.Atom]]) -> IntegerScope:
        """Return the scope of a program in this one, of which parameters have values of atoms."""
        return IntegerScope(self, dict(parameters))

    def add(self, eqn: jx.JaxprEqn, intervals: Sequence[Interval]) -> None:
        """Add an equation, with the intervals of its results."""
        self.env.update(zip(eqn.out_binders, intervals, strict=True))
        self.makers.update(dict.fromkeys(eqn.out_binders, eqn))

    def interval(self, atom: jx.Atom) -> Interval:
        """Return the interval of a variable or a literal."""
        if isinstance(atom, jx.Var):
            return self.env.get(atom) or any_of(atom.aval)
        return of_splat(atom.value)

    def range(self, atom: jx.Atom) -> Interval:
        """Return the interval of an integer by all that is known of it."""
        low, high = self.interval(atom)
        total = self._sum(atom)
        least, greatest = self._greatest(Sum().plus(total, -1)), self._greatest(total)
        return max(low, -least), min(high, greatest)

    def _sum(self, atom: jx.Atom) -> Sum:
        """Return the sum that an integer is."""
        if not isinstance(atom, jx.Var):
            return Sum(of_splat(atom.value)[0])
        if atom in self.outer and self.around is not None:
            return self.around._sum(self.outer[atom])
        eqn = self.makers.get(atom)
        itself = Sum(0, {atom: 1})
        # of what may overflow, the interval is that of all values
        if eqn is None or atom.aval.shape or self.env[atom] == any_of(atom.aval):
            return itself
        match eqn.primitive:
            case ew.add | ew.sub:
                x, y = map(self._sum, eqn.inputs)
                return x.plus(y, 1 if eqn.primitive is ew.add else -1)
            case ew.mul:
                x, y = map(self._sum, eqn.inputs)
                x, y = (y, x) if not x.factors else (x, y)
                return itself if y.factors else Sum().plus(x, y.constant)
            case ew.convert_element_type_p:
                (operand,) = eqn.inputs
                return self._sum(operand) if dtypes.is_integer(operand.aval.dtype) else itself
            case _ if eqn.primitive is wrap_index_p and self.interval(eqn.inputs[0])[0] >= 0:
                return self._sum(eqn.inputs[0])
            case _:
                return itself

    def _greatest(self, total: Sum, depth: int = _DEEPEST) -> int:
        """Return a number that a sum is not greater than."""
        pairs = [(self._interval_around(x), factor) for x, factor in total.factors.items()]
        ends = [factor * (high if factor > 0 else low) for (low, high), factor in pairs]
        greatest = total.constant + sum(ends)
        for x, factor in total.factors.items():
            end = self._end(x, factor > 0) if depth else None
            if end is not None:
                without = total.plus(Sum(0, {x: 1}), -factor).plus(end, factor)
                return min(greatest, self._greatest(without, depth - 1))
        return greatest

    def _interval_around(self, x: jx.Var) -> Interval:
        """Return the interval of a variable of this program, or of one around it."""
        if x in self.env or self.around is None:
            return self.interval(x)
        return self.around._interval_around(x)

    def _end(self, x: jx.Var, is_last: bool) -> Sum | None:
        """Return the greatest or the least value of a counter, as a sum; None for others."""
        if x not in self.bounds:
            return None if self.around is None else self.around._end(x, is_last)
        bounds, around = self.bounds[x], self.around
        assert around is not None, "a counter is one of a loop in a program"
        if not is_last:
            return around._sum(bounds.start)
        return bounds.condition._limit(bounds.stop).plus(Sum(1), -1)

    def _limit(self, atom: jx.Atom) -> Sum:
        """Return the sum that a number is if it is positive."""
        if isinstance(atom, jx.Var) and atom in self.outer and self.around is not None:
            return self.around._limit(self.outer[atom])
        eqn = self.makers.get(atom) if isinstance(atom, jx.Var) else None
        if eqn is not None and eqn.primitive is ew.max_:
            for x, other in (eqn.inputs, eqn.inputs[::-1]):
                if isinstance(other, jx.Lit) and self.interval(other)[1] <= 0:
                    return self._sum(x)
        return self._sum(atom)

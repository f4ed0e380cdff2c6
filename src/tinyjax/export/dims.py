"""Symbolic sizes: ints that are known by name only, and the facts about them.

A ``SymbolicDim`` stands for an axis' size while a function is staged. Sums, products, quotients and
remainders of such sizes are symbolic too. A comparison has a result if it comes out the same
whatever the sizes are; else it raises ``InconclusiveDimensionOperation``. Where an array is wanted,
the size becomes one: an equation that gives the number once that is known.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, SupportsIndex, TypeAlias, TypeGuard

import attrs

from tinyjax import dtypes
from tinyjax._base import frames
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ShapedArray, integers as ints
from tinyjax.errors import ArgumentError, InconclusiveDimensionOperation, shortened
from tinyjax.export import dimension, parsing, polynomials
from tinyjax.export.bounds import Bounds, SizeFacts
from tinyjax.export.polynomials import Polynomial, Term
from tinyjax.export.unsized import unsized

_numbers: Final = itertools.count()


@attrs.frozen
class Constraint:
    """Something that is known of sizes.

    Attributes:
        text: as the user wrote it.
        difference: what is zero, or not negative.
        equal: whether it is zero.
    """

    text: str
    difference: Polynomial
    equal: bool


class SymbolicScope:
    """The sizes that may be used with one another, and the facts about them.

    Each variable is at least one.

    Args:
        constraints_str: what is known besides: ``"a >= b"``, ``"a <= 2*b"`` or ``"a*b == c"``, of
            sizes as ``symbolic_shape`` takes them. The left side of an equation is a product, which
            is replaced by the right side wherever it occurs. What does not hold of the sizes that
            an exported function is called with is an error at the call.

    Raises:
        ArgumentError: a constraint is not of such a form, or never holds.

    Example:
        >>> from tinyjax import export
        >>> scope = export.SymbolicScope(["a >= 16", "b <= 8"])
        >>> a, b = export.symbolic_shape("a, b", scope=scope)
        >>> a > b + 7
        True
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ArgumentError(
                "symbolic constraints are given as a sequence of strings, but got the string "
                f"{constraints_str!r}: write [{constraints_str!r}]."
            )
        if not isinstance(constraints_str, Sequence):
            raise ArgumentError(
                "symbolic constraints are given as a sequence of strings, but got "
                f"{shortened(constraints_str)}."
            )
        self._number = next(_numbers)
        self._location: frames.Location | None = frames.user_location()
        self._constraints: list[Constraint] = []
        self._rules: dict[Term, tuple[int, Polynomial]] = {}
        self._bounds: dict[Polynomial, Bounds] = {}
        self._knowledge: SizeFacts | None = None
        for text in constraints_str:
            if not isinstance(text, str):
                raise ArgumentError(f"a symbolic constraint is a string, not {shortened(text)}.")
            left, comparison, right = parsing.parse_constraint(text, self)
            self._add(text, left, comparison, right)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The known facts about the sizes, besides that they are at least one."""
        return tuple(self._constraints)

    def _add(self, text: str, lhs: Polynomial, comparison: str, rhs: Polynomial) -> None:
        difference = polynomials.add(lhs, rhs, -1)
        if comparison == "<=":
            difference = polynomials.add((), difference, -1)
        number = polynomials.as_constant(difference)
        equal = comparison == "=="
        if number is not None:
            if number < 0 or (equal and number):
                raise ArgumentError(f"the symbolic constraint '{text}' never holds.")
            return
        if equal:
            if len(lhs) != 1 or polynomials.as_constant(lhs) is not None:
                raise ArgumentError(
                    f"the symbolic constraint '{text}' must have a product at its left, which is "
                    "replaced by what is at its right."
                )
            ((term, k),) = lhs
            if term in self._rules:
                raise ArgumentError(
                    f"two symbolic constraints say what '{polynomials.text(lhs)}' is: state one."
                )
            self._rules[term] = k, rhs
            if len(term) == 1 and not rhs and term[0][0].name == "mod":
                # of what is divisible the quotient times the divisor is known
                x, y = term[0][0].operands
                divisor = polynomials.as_constant(y)
                if divisor:
                    whole = polynomials.operation("floordiv", x, y)
                    product = polynomials.multiply(y, whole)
                    implied = f"{polynomials.text(product)} == {polynomials.text(x)}"
                    self._add(implied, product, "==", x)
        self._constraints.append(Constraint(text, difference, equal))
        self._bounds.clear()
        self._knowledge = None

    def normal(self, p: Polynomial) -> Polynomial:
        """Replace a polynomial by its normal form under the constraints.

        Example:
            >>> from tinyjax import export
            >>> from tinyjax.export import polynomials
            >>> scope = export.SymbolicScope(["a == 8"])
            >>> polynomials.text(scope.normal(polynomials.variable("a")))
            '8'
        """
        for _ in range(_MOST_REPLACED if self._rules else 0):
            changed = next((match for t, k in p if (match := self._replaced(t, k))), None)
            if changed is None:
                break
            old, replacement = changed
            p = polynomials.add(polynomials.add(p, (old,), -1), replacement)
        return p

    def _replaced(self, term: Term, k: int) -> tuple[tuple[Term, int], Polynomial] | None:
        polynomials.count(len(self._rules))
        for left, (count, right) in self._rules.items():
            over = polynomials.multiply_terms(term, left, -1)
            if k % count == 0 and all(power > 0 for _, power in over):
                rest: Polynomial = ((over, k // count),)
                return (term, k), polynomials.multiply(rest, right)
        return None

    def bounds(self, p: Polynomial) -> Bounds:
        """Return the least and the greatest value of a polynomial, as far as they are known.

        Example:
            >>> from tinyjax import export
            >>> from tinyjax.export import polynomials
            >>> scope = export.SymbolicScope(["a <= 8"])
            >>> scope.bounds(polynomials.variable("a"))
            (1, 8)
        """
        bounds = self._bounds.get(p)
        if bounds is None:
            if self._knowledge is None:
                differences = [c.difference for c in self._constraints]
                equal = [c.difference for c in self._constraints if c.equal]
                differences += [polynomials.add((), difference, -1) for difference in equal]
                self._knowledge = SizeFacts(differences)
            bounds = self._bounds[p] = self._knowledge.bounds(p)
        return bounds

    def dim(self, p: Polynomial) -> int:
        """Return a polynomial as a size: an int if it is constant.

        Example:
            >>> from tinyjax import export
            >>> from tinyjax.export import polynomials
            >>> export.SymbolicScope().dim(polynomials.constant(3))
            3
        """
        p = self.normal(p)
        number = polynomials.as_constant(p)
        return SymbolicDim(p, self) if number is None else number

    def text(self) -> str:
        """Return the constraints as text: ", a >= b, b >= 16".

        Example:
            >>> from tinyjax import export
            >>> export.SymbolicScope(["a >= 16", "b <= 8"]).text()
            ', a >= 16, b <= 8'
        """
        return "".join(f", {c.text}" for c in self._constraints)

    def __str__(self) -> str:
        at = "" if self._location is None else f" made at {self._location}"
        known = "".join(f"\n  {c.text}" for c in self._constraints)
        return f"scope {self._number}{at}{' with the constraints' if known else ''}{known}"

    def __repr__(self) -> str:
        return f"<SymbolicScope: {self}>"


_MOST_REPLACED: Final = 100


_Operator: TypeAlias = Callable[[Any, Any], Any]


def _operators(
    symbol: str, of_arrays: _Operator, of_sizes: Callable[[Any, Polynomial, Polynomial], Any]
) -> tuple[_Operator, _Operator]:
    """Make an operator of sizes and its reflection.

    Args:
        symbol: its text.
        of_arrays: what it does where the other operand is no size.
        of_sizes: what it does with a size and with both operands as polynomials.
    """

    def apply(self: SymbolicDim, other: Any) -> Any:
        p = self._other(other, symbol)
        if p is None:
            return of_arrays(dimension.dim_as_value(self), other)
        return of_sizes(self, self.polynomial, p)

    def reflected(self: SymbolicDim, other: Any) -> Any:
        p = self._other(other, symbol)
        if p is None:
            return of_arrays(other, dimension.dim_as_value(self))
        return of_sizes(self, p, self.polynomial)

    return apply, reflected


class SymbolicDim(ints.SymbolicSize):
    """A size that is known by name only. ``symbolic_shape`` makes them.

    Attributes:
        polynomial: the size as a polynomial in variables.
        scope: the sizes that it may be used with, and what is known of them.
    """

    __slots__ = ("_token", "polynomial", "scope")

    #: NumPy leaves the operators of its arrays and numbers to this class.
    __array_ufunc__: Final = None

    polynomial: Polynomial
    scope: SymbolicScope
    _token: int

    def __new__(cls, polynomial: Polynomial, scope: SymbolicScope) -> SymbolicDim:
        self = object.__new__(cls)
        self.polynomial = polynomial
        self.scope = scope
        self._token = hash((polynomial, scope._number))
        return self

    @property
    def identity(self) -> str:
        return f"{self.scope._number}:{self}"

    # Conversions

    def as_array(self, dtype: dtypes.DType) -> Array:
        return tr.bind1(dimension.dim_as_value_p, (), dimension.DimensionParams(self, dtype))

    def splat(self, host: dtypes.HostArray, aval: ShapedArray) -> dtypes.HostArray:
        if not tr.is_in_program():
            raise ints.unknown_sizes(aval)
        return unsized(host, aval)

    def __jax_array__(self) -> Array:
        return dimension.dim_as_value(self)

    def dimension_as_value(self) -> Array:
        """Return the size as an array: an int32, of weak type."""
        return dimension.dim_as_value(self)

    def _refuse(self) -> NoReturn:
        raise InconclusiveDimensionOperation(
            f"the symbolic size '{self}' is used where Python or NumPy needs a number: in range, a "
            "repeated list, an array of NumPy, int(...). Compute with the size itself, or with "
            "functions of tinyjax.numpy such as arange; or export for a size that is a number."
        )

    __int__ = __index__ = __float__ = __complex__ = _refuse

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __hash__(self) -> int:
        return self._token

    def __str__(self) -> str:
        return polynomials.text(self.polynomial)

    __repr__ = __str__

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)

    def __copy__(self) -> SymbolicDim:
        return self

    def __deepcopy__(self, memo: Any) -> SymbolicDim:
        return self

    def __reduce__(self) -> Any:
        raise InconclusiveDimensionOperation(
            f"the symbolic size '{self}' cannot be pickled, since it would lose its scope. Pickle "
            "its text, and make it again: symbolic_shape(text, scope=scope)."
        )

    # Arithmetic

    def _other(self, other: object, what: str) -> Polynomial | None:
        """Return an operand as a polynomial, or None if it is no size."""
        if isinstance(other, SymbolicDim):
            if other.scope is not self.scope:
                raise ArgumentError(
                    f"the symbolic sizes '{self}' and '{other}' are of different scopes, and "
                    f"cannot be used with each other ({what}). The first is of {self.scope}; the "
                    f"second of {other.scope}. Make both by one call of symbolic_shape, or hand "
                    "the scope of the first on: symbolic_shape(..., scope=a.scope)."
                )
            return other.polynomial
        if isinstance(other, SupportsIndex) and not isinstance(other, Array):
            try:
                return polynomials.constant(operator.index(other))
            except TypeError:  # an array of NumPy's
                return None
        return None

    __add__, __radd__ = _operators(
        "+", operator.add, lambda self, x, y: self.scope.dim(polynomials.add(x, y))
    )
    __sub__, __rsub__ = _operators(
        "-", operator.sub, lambda self, x, y: self.scope.dim(polynomials.add(x, y, -1))
    )
    __mul__, __rmul__ = _operators(
        "*", operator.mul, lambda self, x, y: self.scope.dim(polynomials.multiply(x, y))
    )
    __floordiv__, __rfloordiv__ = _operators(
        "//", operator.floordiv, lambda self, x, y: self._divided(x, y)[0]
    )
    __mod__, __rmod__ = _operators("%", operator.mod, lambda self, x, y: self._divided(x, y)[1])
    __divmod__, __rdivmod__ = _operators("divmod", divmod, lambda self, x, y: self._divided(x, y))

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        p = self._other(other, "**")
        power = None if p is None else polynomials.as_constant(p)
        if modulo is not None:
            raise ArgumentError("pow of a symbolic size takes no modulus.")
        if power is None:
            return dimension.dim_as_value(self) ** other
        if power < 0:
            raise ArgumentError(
                f"the symbolic size '{self}' cannot be raised to the negative power {power}."
            )
        return self.scope.dim(polynomials.power(self.polynomial, power))

    def __rpow__(self, other: Any, modulo: Any = None) -> Any:
        return other ** dimension.dim_as_value(self)

    def __truediv__(self, other: Any) -> Any:
        return dimension.dim_as_value(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / dimension.dim_as_value(self)

    def _divided(self, x: Polynomial, y: Polynomial) -> tuple[int, int]:
        if not y:
            raise ZeroDivisionError(f"the symbolic size '{self}' is divided by zero.")
        scope = self.scope
        exact = polynomials.divide(x, y)
        if exact is not None:
            return scope.dim(exact[0]), exact[1]
        whole, rest = (polynomials.operation(name, x, y) for name in ("floordiv", "mod"))
        return scope.dim(whole), scope.dim(rest)

    def __neg__(self) -> Any:
        return self.scope.dim(polynomials.add((), self.polynomial, -1))

    def __pos__(self) -> SymbolicDim:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def maximum(self, other: int) -> int:
        return self._chosen("max", other)

    def minimum(self, other: int) -> int:
        return self._chosen("min", other)

    def _chosen(self, name: str, other: int) -> int:
        p = self._other(other, name)
        if p is None:
            raise ArgumentError(f"{name} of sizes needs an int, but got {shortened(other)}.")
        least, greatest = self.scope.bounds(polynomials.add(self.polynomial, p, -1))
        if least is not None and least >= 0:
            return self if name == "max" else other
        if greatest is not None and greatest <= 0:
            return other if name == "max" else self
        operands = sorted([self.polynomial, p], key=polynomials.text, reverse=True)
        return self.scope.dim(polynomials.operation(name, *operands))

    # Comparisons

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, SymbolicDim):
            return NotImplemented if isinstance(other, Array) else False
        if self is other:
            return True
        if other.scope is not self.scope:
            return False
        # kept in one form, so that equal sizes are equal polynomials
        return self.polynomial == other.polynomial

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, ">=", 0, 1)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, ">", -1, 1)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, "<=", 0, -1)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, "<", -1, -1)

    def _compared(self, other: Any, how: str, slack: int, sign: int) -> Any:
        p = self._other(other, how)
        if p is None:
            return NotImplemented
        difference = polynomials.add(self.polynomial, p, -1)
        difference = polynomials.multiply(polynomials.constant(sign), difference)
        least, greatest = self.scope.bounds(
            polynomials.add(difference, polynomials.constant(slack))
        )
        if least is not None and least >= 0:
            return True
        if greatest is not None and greatest < 0:
            return False
        raise InconclusiveDimensionOperation(
            f"whether '{self}' {how} '{other}' depends on the sizes, of which is known that they "
            f"are at least 1{self.scope.text()}. Say more of them where they are made, such as "
            f"constraints=['{self} {how[0]}= {other - sign * slack}']; or take export.max_dim and "
            "export.min_dim in place of max and min."
        )


def is_symbolic_dim(p: object) -> TypeGuard[SymbolicDim]:
    """Return whether a size is known by name only.

    Example:
        >>> from tinyjax import export
        >>> b, n = export.symbolic_shape("b, 3")
        >>> export.is_symbolic_dim(b), export.is_symbolic_dim(n)
        (True, False)
    """
    return isinstance(p, SymbolicDim)


def substituted(dim: int, sizes: Mapping[str, int]) -> int:
    """Return a size with values, which may be symbolic, in place of its variables."""
    return polynomials.evaluate(dim.polynomial, sizes) if isinstance(dim, SymbolicDim) else dim

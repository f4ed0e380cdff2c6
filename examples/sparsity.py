"""The dependence of a function's results on its arguments: the pattern of its Jacobian.

A context of ``source.with_context`` that computes with values that know what they depend on. The
pattern of a Hessian is that of the gradient.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np

from boxes import ORDERING, REARRANGING, BoxContext, total
from tinyjax import source, tree
from tinyjax.dtypes import HostArray
from tinyjax.errors import SourceError
from tinyjax.source.adjoint.cotangents import is_differentiable
from tinyjax.source.adjoint.rules.registry import is_inert
from tinyjax.source.ir.runtime import Box, is_in

Pattern = np.ndarray[Any, np.dtype[np.bool_]]


@attrs.frozen(eq=False, repr=False)
class Tagged(Box):
    """A value, and which of the arguments' elements each of its elements depends on.

    Attributes:
        value: a number or a NumPy array.
        pattern: of the value's shape, with an axis more for the arguments' elements.
    """

    value: Any
    pattern: Pattern

    def __repr__(self) -> str:
        return f"{self.value!r} of {np.flatnonzero(self.union).tolist()}"

    @property
    def union(self) -> Pattern:
        """The union of what its elements depend on."""
        count = self.pattern.shape[-1]
        union: Pattern = np.logical_or.reduce(self.pattern.reshape(-1, count))
        return union

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Tagged:
        return Tagged(self.value[index], self.pattern[index])

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)


class SparsityDetector(BoxContext[Tagged]):
    """Finds which results of a function depend on which of its arguments.

    The function is run once, on the arguments as they are: its branches are those taken there. What
    is multiplied by a value counts as dependent on it, even where that is zero just there; what is
    multiplied by a constant matrix is not where the matrix is zero. Of functions that are not known
    (those of ``numpy.linalg``, for instance), each result depends on every argument.

    Example:
        >>> import numpy as np
        >>> from sparsity import SparsityDetector
        >>> def steps(x):
        ...     return [x[i + 1] - x[i] ** 2 for i in range(len(x) - 1)]
        >>> SparsityDetector().pattern(steps, np.arange(4.0)).astype(int)
        array([[1, 1, 0, 0],
               [0, 1, 1, 0],
               [0, 0, 1, 1]])
    """

    box = Tagged

    def pattern(self, fun: Callable[..., Any], *args: Any) -> Pattern:
        """The Jacobian's pattern.

        Args:
            fun: a function of numbers, arrays, and containers of them.
            args: where to look.

        Returns:
            A matrix with a row for each element of the result and a column for each element of
            the arguments that is a float, in order. It is true where the derivative may be other
            than zero.

        Raises:
            SourceError: ``fun`` does what is not taken by ``tinyjax.source``.
        """
        leaves, treedef = tree.flatten(args)
        sizes = [int(np.size(x)) if is_differentiable(x) else 0 for x in leaves]
        identity = np.eye(sum(sizes), dtype=np.bool_)
        tagged, start = [], 0
        for leaf, size in zip(leaves, sizes, strict=True):
            if not is_differentiable(leaf):
                tagged.append(leaf)
                continue
            value = leaf if isinstance(leaf, (float, complex)) else np.asarray(leaf)
            rows = identity[start : start + size].reshape(*np.shape(leaf), sum(sizes))
            tagged.append(Tagged(value, rows))
            start += size
        out = source.with_context(self, fun)(*tree.unflatten(treedef, tagged))
        parts = [self.pattern_of(leaf, sum(sizes)) for leaf in tree.leaves(out)]
        return np.concatenate([part.reshape(-1, sum(sizes)) for part in parts])

    def shape_of(self, box: Tagged) -> tuple[int, ...]:
        return np.shape(box.value)

    def pattern_of(self, value: Any, count: int) -> Pattern:
        """Return what each element of a value depends on."""
        if isinstance(value, Tagged):
            return value.pattern
        return np.zeros((*np.shape(value), count), np.bool_)

    def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if is_in(fun, ORDERING) and "key" in kwargs:  # which may know of tagged values
            return self.ordered(fun, _value, args, kwargs)
        return super().call(fun, *args, **kwargs)

    def apply(self, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        everything = [*self.boxes(args), *self.boxes(kwargs)]
        if not everything:
            return fun(*args, **kwargs)
        count = everything[0].pattern.shape[-1]
        if fun is builtins.sum:
            return total(lambda x, y: self.call(operator.add, x, y), *args, **kwargs)
        if is_in(fun, ORDERING):
            return self.ordered(fun, _value, args, kwargs)
        function = fun
        if (getattr(fun, "__module__", None) or "").startswith("tinyjax.numpy"):
            function = getattr(np, fun.__name__, fun)  # what depends on what is the same
        if fun is operator.getitem and isinstance(args[0], (list, tuple, dict)):
            return fun(args[0], _value(args[1]))
        value = fun(*self.mapped(_value, args), **self.mapped(_value, kwargs))
        if is_in(fun, _SAME):
            return args[0] if isinstance(args[0], Tagged) else value
        if is_inert(function):
            return value
        if is_in(function, REARRANGING) or fun is operator.getitem:
            return self.rearranged(function, args, kwargs, value, count)
        if is_in(function, _PICKING):
            axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
            best = function(args[0].value, axis=axis, keepdims=True)
            chosen = np.asarray(args[0].value == best)[..., None]
            picked = Tagged(args[0].value, args[0].pattern & chosen)
            return self.reduced(picked, value, args[1:], kwargs, count)
        if is_in(function, _REDUCING):
            return self.reduced(args[0], value, args[1:], kwargs, count)
        if is_in(function, _PRODUCTS) and np.ndim(_value(args[0])) and np.ndim(_value(args[1])):
            return Tagged(value, self.product(args[0], args[1], count))
        if function is np.where and len(args) == 3:
            return Tagged(value, self.chosen(_value(args[0]), args[1], args[2], value, count))
        if function in (np.maximum, np.minimum):
            return Tagged(value, self.larger(function, args[0], args[1], value, count))
        if is_elementwise(function) and not kwargs:
            shape = (*np.shape(value), count)
            patterns = [
                np.broadcast_to(self.aligned(x, np.ndim(value), count), shape) for x in args
            ]
            pattern: Pattern = np.logical_or.reduce(patterns)
            return Tagged(value, pattern)
        union: Pattern = np.logical_or.reduce([box.union for box in everything])
        return tree.map(lambda leaf: self.tagged(fun, leaf, union), value)

    def tagged(self, fun: Any, leaf: Any, union: Pattern) -> Any:
        """A result of a function of which nothing is known: it depends on every argument."""
        if is_differentiable(leaf):
            return Tagged(leaf, np.broadcast_to(union, (*np.shape(leaf), len(union))))
        if isinstance(leaf, (bool, int, str, np.ndarray, np.generic)):
            return leaf
        name = getattr(fun, "__name__", repr(fun))
        raise SourceError(
            f"{name} gives a {type(leaf).__name__}, of which it is not known what it depends on. "
            "Let it return numbers, arrays, and tuples, lists and dicts of them.",
            self.location,
        )

    def aligned(self, x: Any, ndim: int, count: int) -> Pattern:
        """The pattern of an operand with as many axes as the result has."""
        pattern = self.pattern_of(x, count)
        missing = ndim - (pattern.ndim - 1)
        return pattern.reshape((1,) * missing + pattern.shape)

    def rearranged(
        self, fun: Callable[..., Any], args: Any, kwargs: Any, value: Any, count: int
    ) -> Any:
        """Locate the elements of the result: apply the function to their numbers."""
        rows: list[Pattern] = [np.zeros((1, count), np.bool_)]

        def numbered(x: Any) -> Any:
            if not isinstance(x, Tagged):
                return np.zeros_like(x, dtype=int) if _is_data(x) else x
            start = sum([len(part) for part in rows])
            rows.append(x.pattern.reshape(-1, count))
            numbers = np.arange(start, start + np.size(x.value)).reshape(np.shape(x.value))
            return numbers if np.ndim(numbers) else int(numbers)

        first = self.mapped(numbered, args[0])
        rest = self.mapped(_value, args[1:])
        places = fun(first, *rest, **self.mapped(_value, kwargs))
        table = np.concatenate(rows)
        if isinstance(value, list):
            return [Tagged(v, table[p]) for v, p in zip(value, places, strict=True)]
        return Tagged(value, table[np.asarray(places, int)])

    def reduced(self, x: Any, value: Any, args: Any, kwargs: Any, count: int) -> Any:
        axis = kwargs.get("axis", args[0] if args else None)
        pattern = self.pattern_of(x, count)
        if axis is None:
            axes = tuple(range(pattern.ndim - 1))
        else:
            reduced_axes = axis if isinstance(axis, tuple) else (axis,)
            axes = tuple([a % (pattern.ndim - 1) for a in reduced_axes])
        return Tagged(value, pattern.any(axis=axes).reshape(*np.shape(value), count))

    def product(self, a: Any, b: Any, count: int) -> Pattern:
        """The pattern of a matrix product."""
        left, right = _mask(a), _mask(b)
        terms: list[HostArray] = []
        if isinstance(a, Tagged):
            terms.append(np.matmul(np.moveaxis(a.pattern, -1, 0).astype(int), right))
        if isinstance(b, Tagged):
            rows = np.moveaxis(b.pattern, -1, 0).astype(int)
            if right.ndim == 1:
                terms.append(np.matmul(left, rows[..., None])[..., 0])
            else:
                terms.append(np.matmul(left, rows))
        return np.moveaxis(np.add.reduce(terms) > 0, 0, -1)

    def chosen(self, condition: Any, a: Any, b: Any, value: Any, count: int) -> Pattern:
        ndim = np.ndim(value)
        shape = (*np.shape(value), count)
        picked = np.broadcast_to(condition, np.shape(value))[..., None]
        either = [np.broadcast_to(self.aligned(x, ndim, count), shape) for x in (a, b)]
        return np.where(picked, *either)

    def larger(self, fun: Callable[..., Any], a: Any, b: Any, value: Any, count: int) -> Pattern:
        first = self.chosen(np.equal(_value(a), value), a, 0.0, value, count)
        second = self.chosen(np.equal(_value(b), value), b, 0.0, value, count)
        return first | second


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Tagged) else x


def _mask(x: Any) -> HostArray:
    """Mark where a factor may be other than zero."""
    if isinstance(x, Tagged):
        return np.ones(np.shape(x.value), int)
    return np.asarray(np.not_equal(x, 0), int)


def _is_data(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.ndarray, np.generic))


def is_elementwise(fun: Any) -> bool:
    """Return whether each element of a result depends on the elements at its place alone."""
    if isinstance(fun, np.ufunc):
        return fun.signature is None
    return is_in(fun, _ELEMENTWISE)


_OF_SEQUENCES: Final = (math.fsum, math.prod, math.dist)
_ELEMENTWISE: Final = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod,
     operator.neg, operator.pos, abs, np.clip, np.real, np.imag,
     *[f for f in vars(math).values() if callable(f) and f not in _OF_SEQUENCES])
)  # fmt: skip
_REDUCING: Final = frozenset((np.sum, np.mean, np.prod, np.var, np.std))
_PICKING: Final = frozenset((np.max, np.min, np.amax, np.amin))
_PRODUCTS: Final = frozenset((operator.matmul, np.matmul, np.dot))
#: What gives a number as it is.
_SAME: Final = frozenset((float, np.float64, complex))


def chain(x: Any) -> Any:
    """A sum of products of neighbours."""
    total = 0.0
    for i in range(len(x) - 1):
        total = total + math.sin(x[i] * x[i + 1])
    return total


def main() -> None:
    print("neighbours:")
    print(SparsityDetector().pattern(lambda x: x[1:] * x[:-1], np.ones(4)).astype(int))
    print("Hessian of a chain:")
    print(SparsityDetector().pattern(source.grad(chain), np.ones(4)).astype(int))


if __name__ == "__main__":
    main()

"""Hypothesis strategies for tests: shapes, dtypes, arrays, trees and programs.

It needs the package hypothesis, which tinyjax does not install. A failure is shrunk to a small
array or program; a program is printed as Python that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

try:
    import hypothesis.strategies as st
except ImportError as _error:
    raise ImportError(
        "tinyjax.testing.strategies needs hypothesis, which is not installed: run "
        "`pip install hypothesis`."
    ) from _error

from tinyjax import errors
from tinyjax.core.values import ShapedArray
from tinyjax.dtypes import DType, DTypeLike, HostArray, kind as kind_of
from tinyjax.testing import random_programs
from tinyjax.testing.libraries.drawing import SPECIAL
from tinyjax.testing.specs import KINDS

__all__ = ["arrays", "dtypes", "programs", "shapes", "trees"]


def shapes(most_axes: int = 3, most: int = 4, least: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    """Draw shapes, which shrink to ``()``.

    Args:
        most_axes: how many axes there are at most.
        most: the greatest size of an axis.
        least: the least size; 0 draws arrays without elements too.

    Example:
        >>> from hypothesis import find
        >>> from tinyjax.testing import strategies
        >>> find(strategies.shapes(), lambda shape: sum(shape) > 3)
        (4,)
    """
    return st.lists(st.integers(least, most), max_size=most_axes).map(tuple)


def dtypes(kinds: str = "biufc") -> st.SearchStrategy[DType]:
    """Draw dtypes of these kinds: letters of ``tinyjax.testing.KINDS``.

    Example:
        >>> from hypothesis import find
        >>> from tinyjax.testing import strategies
        >>> find(strategies.dtypes("c"), lambda dtype: dtype.itemsize > 8)
        dtype('complex128')
    """
    unknown = set(kinds) - set(KINDS)
    if unknown or not kinds:
        raise errors.ArgumentError(
            f"dtypes takes letters of {''.join(KINDS)!r}, but got {errors.shortened(kinds)}."
        )
    return st.sampled_from([dtype for kind in kinds for dtype in KINDS[kind]])


@st.composite
def arrays(
    draw: Callable[[st.SearchStrategy[Any]], Any],
    dtype: DTypeLike | st.SearchStrategy[DType] = None,
    shape: Sequence[int] | st.SearchStrategy[tuple[int, ...]] | None = None,
    special: bool = True,
) -> HostArray:
    """Draw NumPy arrays, the values at which formulas break among theirs.

    Args:
        draw: is given by hypothesis.
        dtype: their dtype, or a strategy for it; by default any.
        shape: their shape, or a strategy for it; by default any of ``shapes``.
        special: whether there are NaN, infinities, zeros of either sign and the ends of integers.

    Example:
        >>> import numpy as np
        >>> from hypothesis import find
        >>> from tinyjax.testing import strategies
        >>> find(strategies.arrays("float32", (2,)), lambda x: np.isnan(x).any())
        array([ 0., nan], dtype=float32)
    """
    chosen = draw(dtypes()) if dtype is None else dtype
    kind = np.dtype(draw(chosen) if isinstance(chosen, st.SearchStrategy) else chosen)
    shape_or_strategy = shapes() if shape is None else shape
    sizes = (
        draw(shape_or_strategy)
        if isinstance(shape_or_strategy, st.SearchStrategy)
        else tuple(shape_or_strategy)
    )
    size = int(np.prod(sizes))
    values = draw(st.lists(_elements(kind, special), min_size=size, max_size=size))
    host = np.empty(size, np.complex128 if kind.kind == "c" else object)
    host[:] = values
    with np.errstate(all="ignore"):
        wide = host if kind.kind in "biuc" else host.astype(np.float64)
        return np.asarray(wide).astype(kind).reshape(sizes)


def _elements(dtype: DType, special: bool) -> st.SearchStrategy[Any]:
    kind = kind_of(dtype)
    plain: st.SearchStrategy[Any]
    extreme = list(SPECIAL[kind])
    match kind:
        case "b":
            return st.booleans()
        case "i" | "u":
            info = np.iinfo(dtype)
            plain = st.integers(0 if kind == "u" else -9, 9)
            extreme += [int(info.min), int(info.max)]
        case "f":
            plain = st.floats(-3, 3, width=16)
        case _:
            parts = st.floats(-3, 3, width=16)
            plain = st.builds(complex, parts, parts)
    return st.one_of(plain, st.sampled_from(extreme)) if special else plain


def trees(leaves: st.SearchStrategy[Any], most: int = 6) -> st.SearchStrategy[Any]:
    """Draw trees of tuples, lists, dictionaries and None.

    Args:
        leaves: what their leaves are drawn from.
        most: how many leaves there are at most.

    Example:
        >>> from hypothesis import find, strategies as st
        >>> from tinyjax.testing import strategies
        >>> find(strategies.trees(st.just(1)), lambda tree: isinstance(tree, dict) and tree)
        {'a': 1}
    """
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.tuples(inner, st.none()),
        ),
        max_leaves=most,
    )


_NUMBERS: Final = st.integers(0, random_programs.MOST_NUMBER)
_SHAPES: Final = st.sampled_from([(), (2,), (3,), (2, 3), (1, 2), (0,), (2, 0)])
_AVALS: Final = st.one_of(
    st.builds(ShapedArray, _SHAPES, st.sampled_from(random_programs.DTYPES)),
    st.sampled_from([dtypes_ for dtypes_ in random_programs.DTYPES if dtypes_.kind in "fi"]).map(
        lambda dtype: ShapedArray((), dtype, True)
    ),
)


_Steps: TypeAlias = st.SearchStrategy[tuple[random_programs.Step, ...]]


def _steps(depth: int, most: int) -> _Steps:
    def draw(operations: Iterable[str], *body: _Steps) -> st.SearchStrategy[random_programs.Step]:
        names, numbers = st.sampled_from(sorted(operations)), (_NUMBERS, _NUMBERS, _NUMBERS)
        return st.builds(random_programs.Step, names, *numbers, *body)

    plain = draw(random_programs.OPERATIONS)
    if not depth:
        return st.lists(plain, min_size=1, max_size=most).map(tuple)
    nested = draw(random_programs.WITH_BODY, _steps(depth - 1, 3))
    return st.lists(st.one_of(plain, plain, plain, nested), min_size=1, max_size=most).map(tuple)


def programs(depth: int = 2, most: int = 8) -> st.SearchStrategy[random_programs.TypedProgram]:
    """Draw well-typed programs, of values of all dtypes, weak types and no elements among them.

    They are functions of arrays; ``program.jaxpr`` is the program, ``program.inputs()`` are
    arguments. A failing one is shrunk step by step, and printed as Python that runs.

    Args:
        depth: how deep calls, loops and branches are nested.
        most: how many steps there are at most.

    Example:
        >>> from hypothesis import given, settings
        >>> from tinyjax.testing import strategies
        >>> from tinyjax.testing.random_programs import check_program
        >>> @settings(max_examples=2, database=None, deadline=None)
        ... @given(strategies.programs())
        ... def test(program):
        ...     check_program(program, compiled=False)
        >>> test()
    """
    avals = st.lists(_AVALS, min_size=1, max_size=3).map(tuple)
    return st.builds(random_programs.TypedProgram, avals, _steps(depth, most), st.integers(0, 9))


#: Where doctest looks for what it takes for hypothesis's own.
__test__: Final = {"arrays": arrays}

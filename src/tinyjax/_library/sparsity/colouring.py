"""Colourings: which columns or rows of a matrix of known pattern one product gives together.

Columns that have no nonzero row in common are computed by one direction, the sum of their unit
vectors (A. R. Curtis, M. J. D. Powell and J. K. Reid, *On the estimation of sparse Jacobian
matrices*, 1974). Of a symmetric matrix fewer do: it suffices that of each pair of equal elements
one can be read, as it can if no path of four vertices has two colours (A. H. Gebremedhin, F. Manne
and A. Pothen, *What color is your Jacobian?*, 2005).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

import attrs
import numpy as np

from tinyjax._library.sparsity.pattern import SparsityPattern
from tinyjax.dtypes import HostArray

#: Rows that are longer than this are taken out where that may leave fewer colours.
_LONG: Final = 8
#: So many rows tell whether a colouring by places can hold for all.
_SAMPLE: Final = 200


@attrs.frozen(eq=False)
class Colouring:
    """Products that give all elements of a matrix, and the position of each element in them.

    Attributes:
        columns: the colour of each column, of which matrix-vector products give the sums; -1 for
            one of which nothing is read.
        width: the number of colours of columns.
        rows: the colour of each row, of which vector-matrix products give the sums, likewise.
        height: the number of colours of rows.
        places: for each element of the pattern, in its order, where it stands among the elements of
            the products: first of those with columns, (width, rows), and then of those with rows,
            (height, columns).

    Example:
        >>> import numpy as np, tinyjax
        >>> pattern = tinyjax.autodiff.jacobian_sparsity(lambda x: x[1:] * x[:-1], np.ones(5))
        >>> colouring = tinyjax.autodiff.coloured(pattern)
        >>> colouring.columns.tolist(), colouring.products
        ([0, 1, 0, 1, 0], 2)
    """

    columns: HostArray
    width: int
    rows: HostArray
    height: int
    places: HostArray

    @property
    def products(self) -> int:
        """The number of products."""
        return self.width + self.height


def coloured(pattern: SparsityPattern, forward: bool = True, reverse: bool = True) -> Colouring:
    """Colour columns, rows, or columns of short rows with the long rows, whichever needs fewest.

    Args:
        pattern: the pattern.
        forward: whether matrix-vector products may be taken.
        reverse: whether vector-matrix products may be.

    Example:
        >>> import numpy as np, tinyjax
        >>> pattern = tinyjax.autodiff.jacobian_sparsity(lambda x: x * x[0], np.ones(100))
        >>> tinyjax.autodiff.coloured(pattern).products
        2
    """
    transposed = pattern.T
    longest, tallest = pattern.counts.max(initial=0), transposed.counts.max(initial=0)
    candidates: list[Colouring] = []
    if forward and reverse and min(longest, tallest) > _LONG:
        mixed = _of_both(pattern, min(longest, tallest))
        candidates += [] if mixed is None else [mixed]
        mixed = _of_both(transposed, min(longest, tallest))
        candidates += [] if mixed is None else [_flipped(mixed, pattern, transposed)]

    def fewest() -> float:
        return min([x.products for x in candidates], default=float("inf"))

    sides = [(longest, 0)] * forward + [(tallest, 1)] * reverse
    for least, side in sorted(sides):
        if least < fewest():  # which no colouring of these takes less than
            of_side = (pattern, transposed)[side]
            own = _of_columns(of_side, column_colours(of_side))
            candidates.append(_flipped(own, pattern, transposed) if side else own)
    return min(candidates, key=lambda x: x.products)


def _of_columns(pattern: SparsityPattern, colours: HostArray) -> Colouring:
    width = int(colours.max(initial=-1)) + 1
    none = np.full(pattern.shape[0], -1)
    places = colours[pattern.columns] * pattern.shape[0] + pattern.rows
    return Colouring(colours, width, none, 0, places)


def _flipped(own: Colouring, pattern: SparsityPattern, transposed: SparsityPattern) -> Colouring:
    """Return the colouring of a matrix by that of its transpose."""
    m, n = pattern.shape
    order = np.argsort(transposed.columns, kind="stable")
    places = own.places[order]  # of the transpose's elements in the order of the matrix's
    first, second = n * own.width, m * own.height
    places = np.where(places < first, places + second, places - first)
    return Colouring(own.rows, own.height, own.columns, own.width, places)


def _of_both(pattern: SparsityPattern, most: int) -> Colouring | None:
    """Take the longest rows one by one or a few together, and columns as the others need them."""
    counts = pattern.counts
    lengths = np.unique(counts)[::-1]
    if len(lengths) < 2:
        return None
    longer = np.searchsorted(-np.sort(-counts), -lengths[1:])  # how many rows are longer than each
    bounds = longer + lengths[1:]
    best = int(bounds.argmin())
    if bounds[best] * 2 > most:
        return None
    m, n = pattern.shape
    is_long = counts > lengths[1 + best]
    short, long = np.where(is_long, -1, np.arange(m)), np.where(is_long, np.arange(m), -1)
    forward = _of_columns(pattern, column_colours(pattern.select_rows(short)))
    of_rows = column_colours(pattern.select_rows(long).T)
    row_colours = np.where(is_long, of_rows, -1)
    height = int(row_colours.max(initial=-1)) + 1
    places = np.where(
        is_long[pattern.rows],
        m * forward.width + row_colours[pattern.rows] * n + pattern.columns,
        forward.places,
    )
    return Colouring(forward.columns, forward.width, row_colours, height, places)


def column_colours(pattern: SparsityPattern) -> HostArray:
    """Colour columns so that no two of one colour have a nonzero row in common.

    Columns take the least colour that is free, in order, and then the longest first; where columns
    lie on a grid, their places may give fewer colours. A column of zeros may have the colour -1.
    """
    n, least = pattern.shape[1], int(pattern.counts.max(initial=0))
    if least == n:
        return np.arange(n)
    transposed = pattern.T
    best = _greedy(transposed, range(n))
    if best.max(initial=-1) + 1 > least:
        longest_first = np.argsort(-transposed.counts, kind="stable")
        if transposed.counts.min(initial=0) < transposed.counts.max(initial=0):
            other = _greedy(transposed, longest_first.tolist())
            best = min(best, other, key=lambda colours: int(colours.max(initial=-1)))
        for colours in _by_places(pattern, least, int(best.max(initial=-1)) + 1):
            return colours
    return best


def _greedy(transposed: SparsityPattern, order: range | list[int]) -> HostArray:
    # the colours that each row has are the bits of an int
    taken = [0] * transposed.shape[1]
    starts, rows = transposed.starts.tolist(), transposed.columns.tolist()
    colours = [0] * transposed.shape[0]
    for j in order:
        own = rows[starts[j] : starts[j + 1]]
        if not own:
            colours[j] = -1
            continue
        mask = 0
        for i in own:
            mask |= taken[i]
        free = ~mask & (mask + 1)
        colours[j] = free.bit_length() - 1
        for i in own:
            taken[i] |= free
    return np.array(colours, np.int64)


def _by_places(pattern: SparsityPattern, least: int, below: int) -> Iterator[HostArray]:
    """Colour columns by their coordinates on a grid, whose steps patterns repeat."""
    m, n = pattern.shape
    rows, columns = pattern.rows, pattern.columns
    steps, counts = np.unique(np.abs(columns - rows), return_counts=True)
    strides = sorted(steps[(counts > n / 2) & (steps > 1)].tolist(), reverse=True)[:2]
    coordinates, rest = [], np.arange(n)
    for stride in strides:
        place, rest = np.divmod(rest, stride)
        coordinates.append(place)
    few = pattern.select_rows(np.linspace(0, max(m - 1, 0), min(m, _SAMPLE)).astype(np.int64))
    some_rows, some_columns = few.rows, few.columns
    for width in range(max(least, 1), min(below, 2 * least + 1)):
        for weights in product(range(width), repeat=len(strides)):
            colours = rest.copy()
            for weight, place in zip(weights, coordinates, strict=True):
                colours += weight * place
            colours %= width
            if _is_proper(some_rows, some_columns, colours, width) and _is_proper(
                rows, columns, colours, width
            ):
                yield colours


def _is_proper(rows: HostArray, columns: HostArray, colours: HostArray, width: int) -> bool:
    """Return whether no two columns of one colour have a nonzero row in common."""
    keys = rows * width + colours[columns]
    return not keys.size or int(np.bincount(keys).max()) == 1


def symmetric(pattern: SparsityPattern) -> Colouring:
    """Colour the columns of a symmetric matrix so that of each pair of elements one can be read."""
    colours = column_colours(pattern)
    if colours.max(initial=-1) + 1 > 5 or pattern.counts.max(initial=0) < colours.max(initial=-1):
        stars = star_colours(pattern)
        colours = min(colours, stars, key=lambda x: int(x.max(initial=-1)))
    own = _of_columns(pattern, colours)
    mirrored = colours[pattern.rows] * pattern.shape[0] + pattern.columns
    alone = np.bincount(own.places, minlength=pattern.shape[0] * own.width) == 1
    assert (alone[own.places] | alone[mirrored]).all(), "of each pair one can be read"
    return attrs.evolve(own, places=np.where(alone[own.places], own.places, mirrored))


def star_colours(pattern: SparsityPattern) -> HostArray:
    """Colour the columns of a symmetric matrix so that no path of four has two colours.

    Columns take the least colour that is free, the longest first.
    """
    n = pattern.shape[1]
    starts, neighbours = pattern.starts.tolist(), pattern.columns.tolist()
    colours = [-1] * n
    #: as bits: the colours around a vertex; those around of which a vertex has several neighbours
    #: of this one's colour; and one neighbour of each colour
    around, hubs = [0] * n, [0] * n
    first: dict[tuple[int, int], int] = {}
    for v in np.argsort(-pattern.counts, kind="stable").tolist():
        own = [w for w in neighbours[starts[v] : starts[v + 1]] if w != v]
        mask = seen = several = 0
        for w in own:
            if colours[w] >= 0:
                bit = 1 << colours[w]
                mask |= bit | hubs[w]
                several |= seen & bit
                seen |= bit
        if several:
            for w in own:
                if colours[w] >= 0 and several >> colours[w] & 1:
                    mask |= around[w]
        free = ~mask & (mask + 1)
        colour = colours[v] = free.bit_length() - 1
        for w in own:
            if colours[w] >= 0:
                bit = 1 << colours[w]
                if several & bit:
                    hubs[w] |= free
                if around[w] & free:
                    hubs[first[w, colour]] |= bit
                    hubs[v] |= bit
            if not around[w] & free:
                around[w] |= free
                first[w, colour] = v
    return np.array(colours, np.int64)

"""The cheapest way through a chain of blocks, under a bound on memory.

The backward pass goes through a chain from its end. At each piece of the chain it holds the kept
values of the pieces before, and the piece's own temporary values. So a piece near the beginning may
need much for a while, since little is kept before it. This is a knapsack with a bound for each
piece, and dynamic programming solves it (for chains of layers: J. Herrmann et al., "Optimal
checkpointing for heterogeneous chains: how to train deep neural networks with limited memory",
arXiv:1911.13214, 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
from typing import Final

import attrs
import numpy as np

#: The number of units of memory that a bound is divided into.
_LEVELS: Final = 2048


@attrs.frozen
class ChainPiece:
    """A way to process some consecutive blocks of a chain.

    Attributes:
        start: the first block.
        stop: the block after the last.
        saved_bytes: bytes kept from the forward pass to the backward pass.
        working: further bytes that the backward pass needs, while it is in this piece.
        cost: the cost of recomputation.
        variant: the number of the one block's variant; None where the blocks keep nothing.
    """

    start: int
    stop: int
    saved_bytes: int
    working: int
    cost: float
    variant: int | None = None


def cheapest(
    pieces: Sequence[ChainPiece], num_blocks: int, budget: int
) -> tuple[ChainPiece, ...] | None:
    """Choose pieces that follow one another through a chain.

    Args:
        pieces: the available ones, in the order of their beginnings.
        num_blocks: the length of the chain.
        budget: the available bytes of memory.

    Returns:
        The pieces of least cost; of equally cheap ones, those that keep the least. None where all
        need more memory.
    """
    unit, levels = _levels(budget)
    costs = np.full((num_blocks + 1, levels), inf)
    origins = np.full((num_blocks + 1, levels), -1)
    costs[0, :1] = 0.0
    for number, piece in enumerate(pieces):
        shift = round(piece.saved_bytes / unit)
        last = min(levels, (budget - piece.working) // unit + 1)
        if shift >= last:
            continue
        new = costs[piece.start, : last - shift] + piece.cost
        old = costs[piece.stop, shift:last]
        better = new < old
        old[better] = new[better]
        origins[piece.stop, shift:last][better] = number
    if not np.isfinite(costs[num_blocks]).any():
        return None
    chosen: list[ChainPiece] = []
    place, level = num_blocks, int(costs[num_blocks].argmin())
    while place:
        piece = pieces[origins[place, level]]
        chosen.append(piece)
        place, level = piece.start, level - round(piece.saved_bytes / unit)
    return tuple(reversed(chosen))


def least_memory(pieces: Sequence[ChainPiece], num_blocks: int, enough: int) -> int:
    """Return the least memory in which pieces fit, to a thousandth; in ``enough`` they do."""
    too_little = 0
    while enough - too_little > max(1, enough // 1000):
        middle = (enough + too_little) // 2
        if _fits(pieces, num_blocks, middle):
            enough = middle
        else:
            too_little = middle
    return enough


def _levels(budget: int) -> tuple[int, int]:
    """Return the unit in which bytes are counted, and how many counts are possible."""
    unit = max(1, ceil(budget / _LEVELS))
    return unit, budget // unit + 1 if budget >= 0 else 0


def _fits(pieces: Sequence[ChainPiece], num_blocks: int, budget: int) -> bool:
    """Return whether some pieces fit, by following those that keep the least up to each block."""
    unit, levels = _levels(budget)
    least = [0 if levels else inf, *[inf] * num_blocks]
    for piece in pieces:
        level = least[piece.start] + round(piece.saved_bytes / unit)
        if level < min(levels, (budget - piece.working) // unit + 1, least[piece.stop]):
            least[piece.stop] = level
    return least[num_blocks] < inf

"""The setting ``debug_bounds``: an error that a program raises where an index is out of bounds.

A function that indexes for the user binds ``error_if`` beside its own primitive. So programs raise
in both tiers. In a loop they raise only if an iteration runs, and under ``vmap`` only in examples
that take a branch. The library's own indices are not checked, as ``frames.is_inner_indexing``
says of whom they are.
"""

from __future__ import annotations

from typing import Final

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base import frames
from tinyjax._extensions.callbacks.checks import ErrorIfParams, error_if_p
from tinyjax._primitives.wrap_index import wrap_index
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, operands as opd
from tinyjax.dtypes import HostArray

_ADVICE: Final = (
    "Without debug_bounds what is read there is taken from elsewhere or filled in, and what is "
    "written is moved or dropped. If that is meant, say so by mode='clip', 'fill' or 'drop'; "
    "otherwise keep the index within the axis."
)
_role = "indexes"  # see ``frames.Role``


@attrs.frozen(eq=False, repr=False)
class BoundsParams(ErrorIfParams):
    """The parameters of a bounds check; its operands are a mask of invalid indices and the indices.

    Attributes:
        shape: the shape of the indexed array.
        axes: the axis that each entry of an index vector indexes.
        sizes: the sizes of the window that begins there.
        num_examples: the number of leading axes that are batches, the outermost first.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    num_examples: int = 0

    def batched(self) -> BoundsParams:
        return attrs.evolve(self, num_examples=self.num_examples + 1)

    def failure(self, failed: HostArray, *values: HostArray) -> errors.TinyjaxError:
        (indices,) = values
        *place, entry = [int(i) for i in np.argwhere(failed)[0]]
        index, axis, size = int(indices[(*place, entry)]), self.axes[entry], self.sizes[entry]
        n = self.num_examples
        what = "index" if size == 1 else f"a slice of size {size} that starts at"
        where = "".join(
            f", in example {i} of a vmap over {length}"
            for i, length in zip(place[:n], failed.shape, strict=False)
        )
        if len(place) > n:
            where += f", at {tuple(place[n:])} of the indices"
        return errors.OutOfBoundsError(
            f"{what} {index} is out of bounds for axis {axis} of size {self.shape[axis]}"
            f"{where}. {self.message}",
            index,
            axis,
            self.shape[axis],
            tuple(place[:n]),
        )


def check(
    indices: Array,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    wraps: bool,
) -> None:
    """Raise where an index of the user's is out of bounds, now or when the program runs.

    Args:
        indices: int32 or int64; index vectors in the last axis if they index several axes.
        shape: the shape of the indexed array.
        axes: the axis that each entry of a vector indexes.
        sizes: the sizes of the window that begins there.
        wraps: whether an index below zero counts from the end; they index one axis then.
    """
    lengths = np.array([shape[axis] for axis in axes], np.int64)
    if not indices.size or len(sizes) != len(axes) or (np.maximum(lengths, 1) < sizes).any():
        return  # there is nothing to look at, or the operation itself is refused
    if frames.is_inner_indexing():
        return
    last = lengths - sizes
    if opd.is_constant(indices):
        host = indices.host
        host = np.where(host < 0, host + lengths, host) if wraps else host
        if ((host >= 0) & (host <= last)).all():
            return
    if len(axes) == 1 and (not indices.ndim or indices.shape[-1] != 1):
        indices = sh.reshape(indices, (*indices.shape, 1))
    starts = wrap_index(indices, shape[axes[0]]) if wraps else indices
    ends = opd.as_array(np.minimum(last, np.iinfo(starts.dtype).max).astype(starts.dtype))
    ends = broadcast_in_dim(ends, starts.shape, (starts.ndim - 1,))
    failed = ew.or_(ew.lt(starts, sh.full_like(starts, 0)), ew.gt(starts, ends))
    params = BoundsParams(_ADVICE, frames.user_location(), shape, axes, sizes)
    tr.bind(error_if_p, (failed, indices), params)

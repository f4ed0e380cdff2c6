"""Chunks of the examples of ``vmap``: one after the other, or in several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tinyjax._extensions.chunking.chunks import in_chunks
from tinyjax._extensions.chunking.threads import in_threads
from tinyjax.core import xla
from tinyjax.core.tracing.primitive import MappedAxis
from tinyjax.core.transforms.batching import batch_flat
from tinyjax.core.values import Array


@attrs.frozen(eq=False, repr=False)
class Chunking:
    """The division of examples among threads, and of a thread's examples into chunks.

    Threads are for compiled programs: without jaxlib there is one part.

    Attributes:
        chunk_size: the number of examples in a chunk; None for all.
        threads: the number of threads; None without threads.
    """

    chunk_size: int | None
    threads: int | None

    def __call__(
        self,
        flat: Callable[..., Sequence[Array]],
        mapped: MappedAxis,
        arrays: Sequence[Any],
        axes: Sequence[int | None],
        fun: Callable[..., object],
    ) -> tuple[list[Array], list[int | None]]:
        """Apply a function to every slice of its arguments, as ``batch_flat`` does."""

        def of_thread(
            mapped: MappedAxis, arrays: Sequence[Any]
        ) -> tuple[list[Array], list[int | None]]:
            if self.chunk_size is None or self.chunk_size >= mapped.size:
                return batch_flat(flat, mapped, arrays, axes, fun)
            return in_chunks(flat, mapped, arrays, axes, self.chunk_size, fun)

        if self.threads is None or xla.is_absent():
            return of_thread(mapped, arrays)
        return in_threads(of_thread, mapped, arrays, axes, self.threads, fun)

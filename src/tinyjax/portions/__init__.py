"""Portions of the examples of ``vmap``: some after others, or some in each of several threads.

The room stands in for the core's ``Portions``, which takes all examples at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tinyjax.core.api.mapping import Portions
from tinyjax.core.names import Array, xla
from tinyjax.core.tracing.primitive import MappedAxis
from tinyjax.core.tracing.trace import eager
from tinyjax.core.transforms.batching import batch_flat
from tinyjax.portions.chunks import in_chunks
from tinyjax.portions.threads import in_threads


@attrs.frozen(eq=False, repr=False)
class DividedExamples(Portions):
    """Divides the examples among threads, and what a thread has into chunks.

    Threads are for compiled programs: without jaxlib there is one part.
    """

    def batched(
        self,
        flat: Callable[..., Sequence[Array]],
        mapped: MappedAxis,
        arrays: Sequence[Any],
        axes: Sequence[int | None],
        fun: Callable[..., Any],
    ) -> tuple[list[Array], list[int | None]]:
        def of_thread(
            mapped: MappedAxis, arrays: Sequence[Any]
        ) -> tuple[list[Array], list[int | None]]:
            if self.chunk_size is None or self.chunk_size >= mapped.size:
                return batch_flat(flat, mapped, arrays, axes, fun)
            return in_chunks(flat, mapped, arrays, axes, self.chunk_size, fun)

        if self.threads is None or xla.is_absent():
            return of_thread(mapped, arrays)
        return in_threads(of_thread, mapped, arrays, axes, self.threads, fun)


eager[Portions] = DividedExamples

"""``vmap`` of programs that decide by data: examples of one path are mapped over together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing.primitive import MappedAxis
from tinyjax.core.tracing.trace import Trace
from tinyjax.core.transforms.batching import batch_flat
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.errors import DivergenceError
from tinyjax.source.capturing import runs


def in_groups(
    error: DivergenceError,
    flat: Any,
    mapped: MappedAxis,
    arrays: Sequence[Array],
    axes: Sequence[int | None],
    fun: Callable[..., Any],
) -> tuple[list[Array], list[int | None]]:
    """Map over the examples in groups of one decision each.

    Args:
        error: says what each example decides.
        flat: the function of flat arrays.
        mapped: the axis of the examples.
        arrays: the arguments.
        axes: their mapped axes.
        fun: the user's function.

    Raises:
        DivergenceError: the examples of another ``vmap`` differ, or a collective needs all at once.
    """
    trace, rows = error.trace, np.asarray(error.rows)
    is_own = isinstance(trace, Trace) and not trace.live and len(rows) == mapped.size
    if not is_own or mapped.name is not None:
        raise error
    run = runs.current.get()
    if run is not None:  # of a program that calls vmap
        run.refusals.remove(error)
    groups = _groups(rows)

    def run_group(group: HostArray) -> list[Array]:
        """Map over some examples, and return results whose first axis is theirs."""
        pairs = zip(arrays, axes, strict=True)
        chosen = [x if axis is None else jnp.take(x, group, axis=axis) for x, axis in pairs]
        over = attrs.evolve(mapped, size=len(group))
        try:
            outs, sources = batch_flat(flat, over, chosen, axes, fun)
        except DivergenceError as inner:
            outs, sources = in_groups(inner, flat, over, chosen, axes, fun)
        results = zip(outs, sources, strict=True)
        return [sh.move_batch_axis(out, axis, 0, len(group)) for out, axis in results]

    parts = map(run_group, groups)
    order = np.argsort(np.concatenate(groups), kind="stable")
    outs = [jnp.take(jnp.concatenate(out), order, axis=0) for out in zip(*parts, strict=True)]
    return outs, [0] * len(outs)


def _groups(rows: HostArray) -> list[HostArray]:
    members: dict[bytes, list[int]] = {}
    for i, row in enumerate(rows):
        members.setdefault(np.ascontiguousarray(row).tobytes(), []).append(i)
    return [np.array(group) for group in members.values()]

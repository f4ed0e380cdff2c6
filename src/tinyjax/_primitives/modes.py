"""The treatment of indices out of bounds."""

from __future__ import annotations

from enum import Enum

from tinyjax.core.values.integers import is_one_of
from tinyjax.errors import ArgumentError, shortened


class GatherScatterMode(Enum):
    """The treatment of a window that does not lie within the operand.

    ``CLIP`` moves it until it fits. ``FILL_OR_DROP`` fills it when gathering and drops the update
    when scattering. ``PROMISE_IN_BOUNDS`` promises that there is none. If there is one all the
    same, it is moved when gathering and dropped when scattering, which costs XLA nothing.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([10.0, 20.0])
        >>> [x.at[5].get(mode=lax.GatherScatterMode.from_any(mode)) for mode in ("clip", "fill")]
        [Array(20., dtype=float32), Array(nan, dtype=float32)]
    """

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @classmethod
    def from_any(cls, mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """Return the mode meant by a name; None means ``FILL_OR_DROP``.

        Raises:
            ArgumentError: there is no mode of that name.
        """
        if isinstance(mode, cls):
            return mode
        if mode is None or is_one_of(mode, ("drop",)):
            return cls.FILL_OR_DROP
        for member in cls:
            if is_one_of(mode, (member.value,)):
                return member
        raise ArgumentError(
            f"expected a mode for indices out of bounds, 'clip', 'fill', 'drop' or "
            f"'promise_in_bounds', but got {shortened(mode)}."
        )


Mode = str | GatherScatterMode | None

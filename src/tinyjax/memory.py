"""The memories of devices, by the name of ``jax.memory``."""

from tinyjax.core.devices import Space
from tinyjax.lazy import answer_for

__all__ = ["Space"]
answer_for(__name__)

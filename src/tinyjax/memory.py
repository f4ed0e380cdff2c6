"""The memories of devices, by the name of ``jax.memory``."""

from tinyjax.lazy import answer_for
from tinyjax.parallel.sharding import Space

__all__ = ["Space"]
answer_for(__name__)

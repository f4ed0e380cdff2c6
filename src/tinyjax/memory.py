"""The memories of devices, by the name of ``jax.memory``."""

from tinyjax._base.lazy import answer_for
from tinyjax._extensions.parallel.sharding import Space

__all__ = ["Space"]
answer_for(__name__)

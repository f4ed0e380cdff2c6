"""The memories of devices, by the name of ``jax.memory``."""

from tinyjax.core.devices import Space

__all__ = ["Space"]

"""The names of ``jax.experimental`` that tinyjax has elsewhere."""

from tinyjax._extensions.callbacks import io_callback

__all__ = ["io_callback"]

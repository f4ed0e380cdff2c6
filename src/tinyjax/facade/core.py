"""What ``jax.core`` and ``jax.extend.core`` have beyond tinyjax's modules of these names."""

from __future__ import annotations

__all__: list[str] = []

"""What to do with the gradients of a pull-back: ``jax.ad``, for ``pull_back.with_refs``."""

from __future__ import annotations

from tinyjax.api.pullbacks import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]

"""Directions for the gradients of a pull-back: ``jax.ad``, for ``pull_back.with_refs``."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.core.api.pullbacks": "DidntWant DontWant GradRef GradValue",
    },
)

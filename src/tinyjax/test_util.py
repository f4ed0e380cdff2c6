"""Checks of derivatives against differences, by the names of ``jax.test_util``."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.testing.derivatives": "DerivativeMismatchError check_grads check_jvp check_vjp",
    },
)

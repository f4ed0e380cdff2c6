"""Differential equations, by the name of ``jax.experimental.ode``."""

from tinyjax._base.lazy import answer_for
from tinyjax.implicit import odeint

__all__ = ["odeint"]
answer_for(__name__)

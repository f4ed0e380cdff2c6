"""Differential equations, by the name of ``jax.experimental.ode``."""

from tinyjax.implicit import odeint
from tinyjax.lazy import answer_for

__all__ = ["odeint"]
answer_for(__name__)

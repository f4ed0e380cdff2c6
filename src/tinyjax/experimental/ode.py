"""Differential equations, by the name of ``jax.experimental.ode``."""

from tinyjax.implicit import odeint

__all__ = ["odeint"]

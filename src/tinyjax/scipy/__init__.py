"""SciPy's functions on tinyjax arrays: ``linalg``, ``optimize``, ``special``, ``stats``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.scipy import linalg as linalg
    from tinyjax.scipy import optimize as optimize
    from tinyjax.scipy import special as special
    from tinyjax.scipy import stats as stats

__all__ = ["linalg", "optimize", "special", "stats"]


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, {"": "linalg optimize special stats"})

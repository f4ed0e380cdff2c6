"""Annotations for what functions of arrays take, by the names of ``jax.typing``."""

from __future__ import annotations

from typing import TypeAlias

from tinyjax.core.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.tree import PyTree

__all__ = ["ArrayLike", "DTypeLike", "Key", "PyTree"]

#: A key of ``tinyjax.random``.
Key: TypeAlias = Array

"""Checks of primitives, functions, transformations and libraries: yours as well as ours.

- ``check_primitive``: every rule of a primitive against the others
- ``check_function``: a function's derivatives, types, and what ``jit`` and ``vmap`` make of it
- ``check_transform``: what holds of every transformation
- ``check_library``: random calls of a library's functions against a reference
- ``strategies``: draws shapes, arrays, trees and programs, by hypothesis

``docs/testing.md`` shows how to use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinyjax.lazy import loader
from tinyjax.testing.comparing import compare
from tinyjax.testing.errors import CheckError
from tinyjax.testing.functions import check_function
from tinyjax.testing.libraries import check_library
from tinyjax.testing.primitives import Report, check_primitive
from tinyjax.testing.specs import KINDS, ArraySpec, Case, Spec
from tinyjax.testing.transforms import check_transform

if TYPE_CHECKING:
    from tinyjax.testing import strategies as strategies

__all__ = [
    "KINDS",
    "ArraySpec",
    "Case",
    "CheckError",
    "Report",
    "Spec",
    "check_function",
    "check_library",
    "check_primitive",
    "check_transform",
    "compare",
    "strategies",
]

if not TYPE_CHECKING:  # which needs hypothesis
    __getattr__ = loader(__name__, {"": "strategies"})

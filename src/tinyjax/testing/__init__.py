"""Checks of primitives, functions, transformations and libraries: yours as well as ours.

- ``check_primitive``: every rule of a primitive against the others
- ``check_function``: a function's derivatives and types, and its results under ``jit`` and ``vmap``
- ``check_transform``: the properties of every transformation
- ``check_library``: random calls of a library's functions against a reference
- ``strategies``: draws shapes, arrays, trees and programs, by hypothesis

``docs/testing.md`` shows how to use them.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "specs": "ArraySpec Case CheckError KINDS Spec compare",
        "primitives": "Report check_function check_primitive check_transform",
        "libraries": "check_library",
        "": "strategies",
    },
)

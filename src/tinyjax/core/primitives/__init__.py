"""The primitives that rules themselves use.

Primitives that a first operation does not need are loaded on first use.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "reduce": "reduce_and",
        "slicing": "concatenate pad slice_",
    },
)

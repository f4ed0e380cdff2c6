"""The primitives that rules themselves are written with.

What a first operation does without is loaded when it is first asked for here.
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

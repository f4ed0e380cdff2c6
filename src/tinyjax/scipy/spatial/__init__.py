"""Space, by SciPy's names."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "": "distance transform",
        "shapes": "procrustes",
    },
)

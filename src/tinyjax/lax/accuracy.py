"""How exact functions and products are to be, in JAX's words.

All functions are as accurate as NumPy's and XLA's are, and products are computed in the full
precision of their dtype: these are taken, and change nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

__all__ = ["AccuracyMode", "DotAlgorithm", "DotAlgorithmPreset", "Tolerance"]


class AccuracyMode(Enum):
    """How accurate a function is to be; of no effect."""

    HIGHEST = 1
    DEFAULT = 2


@attrs.frozen
class Tolerance:
    """How far off a function may be; of no effect.

    Attributes:
        atol: by how much.
        rtol: relative to the result.
        ulps: in units of the last place.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


@attrs.frozen
class DotAlgorithm:
    """By which types products are to be computed; of no effect.

    Attributes:
        lhs_precision_type: that of the left operand.
        rhs_precision_type: that of the right operand.
        accumulation_type: that of sums.
        lhs_component_count: of how many parts the left operand is made.
        rhs_component_count: of how many the right one is.
        num_primitive_operations: how many products are made.
        allow_imprecise_accumulation: whether sums may be rounded.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(Enum):
    """By which types products are to be computed, by names; of no effect."""

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15

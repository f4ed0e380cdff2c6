"""JAX's options for the accuracy of functions and products. They have no effect.

All functions are as accurate as NumPy's and XLA's, and products are computed in the full precision
of their dtype.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs


class AccuracyMode(Enum):
    """Name the accuracy of a function; this has no effect."""

    HIGHEST = 1
    DEFAULT = 2


@attrs.frozen
class Tolerance:
    """Bound the error of a function; this has no effect.

    Attributes:
        atol: the absolute error.
        rtol: the relative error.
        ulps: the error in units of the last place.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


@attrs.frozen
class DotAlgorithm:
    """Name the dtypes in which a product is computed; this has no effect.

    Attributes:
        lhs_precision_type: the dtype of the left operand.
        rhs_precision_type: the dtype of the right operand.
        accumulation_type: the dtype of sums.
        lhs_component_count: the number of parts of the left operand.
        rhs_component_count: the number of parts of the right operand.
        num_primitive_operations: the number of products.
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
    """Name a ``DotAlgorithm``; this has no effect."""

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

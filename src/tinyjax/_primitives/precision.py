"""The precision of products: precisions, algorithms, and their notation in programs.

A product has a pair of precisions, an algorithm, or neither. Neither means the full precision of
the operands' dtype, on every platform. NumPy computes in full precision in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, TypeAlias

import attrs

from tinyjax import config, dtypes, errors
from tinyjax.core.stablehlo import types as hlo
from tinyjax.dtypes import DType


class Precision(Enum):
    """The precision in which a GPU or a TPU multiplies numbers of single precision.

    A pair of them, or of their names, is for the left and the right operand. Without one, and
    without the setting ``default_matmul_precision``, products are computed as with ``HIGHEST``. On
    the processor all of them are.

    Attributes:
        DEFAULT: the fastest: in TensorFloat-32 on GPUs (10 bits), in bfloat16 on TPUs (7 bits).
        HIGH: in TensorFloat-32 on GPUs, in three products of bfloat16 on TPUs.
        HIGHEST: in float32, by six products of bfloat16 on TPUs.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.dot(jnp.ones(2), jnp.ones(2), precision=lax.Precision.DEFAULT)
        Array(2., dtype=float32)
        >>> lax.Precision("float32")
        Precision.HIGHEST
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return str(self)

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        """Return the member for a name of JAX's ``default_matmul_precision``."""
        return _PRECISIONS.get(value) if value is None or isinstance(value, str) else None


_PRECISIONS: Final[Mapping[str | None, Precision]] = {
    **dict.fromkeys((None, "default", "fastest", "bfloat16"), Precision.DEFAULT),
    **dict.fromkeys(("high", "bfloat16_3x", "tensorfloat32"), Precision.HIGH),
    **dict.fromkeys(("highest", "float32"), Precision.HIGHEST),
}


@attrs.frozen
class DotAlgorithm:
    """The dtypes in which a GPU or a TPU computes a product of real floats.

    Operands are converted to the first two, the result from the third. The processor computes in
    full precision.

    Attributes:
        lhs_precision_type: the dtype of the left operand.
        rhs_precision_type: the dtype of the right operand.
        accumulation_type: the dtype of sums.
        lhs_component_count: the number of parts of the left operand.
        rhs_component_count: the number of parts of the right operand.
        num_primitive_operations: the number of products.
        allow_imprecise_accumulation: whether sums may be rounded.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> algorithm = lax.DotAlgorithm(jnp.bfloat16, jnp.bfloat16, jnp.float32)
        >>> lax.dot(jnp.ones(2), jnp.ones(2), precision=algorithm)
        Array(2., dtype=float32)
    """

    lhs_precision_type: Any = attrs.field(converter=dtypes.check)
    rhs_precision_type: Any = attrs.field(converter=dtypes.check)
    accumulation_type: Any = attrs.field(converter=dtypes.check)
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(Enum):
    """A ``DotAlgorithm`` by name: the dtypes of the operands and of sums, and how many products.

    Where an operand has another dtype it is converted first. The processor computes in full
    precision.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.dot(jnp.ones(2), jnp.ones(2), precision=lax.DotAlgorithmPreset.F32_F32_F32)
        Array(2., dtype=float32)
        >>> lax.DotAlgorithmPreset.BF16_BF16_F32.name
        'BF16_BF16_F32'
    """

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


#: How exact products are to be: one precision for both operands, or one for each; an algorithm; or
#: None, for what the setting ``default_matmul_precision`` says.
PrecisionLike: TypeAlias = (
    str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)

Pair: TypeAlias = tuple[Precision, Precision]
Algorithm: TypeAlias = DotAlgorithm | DotAlgorithmPreset
#: What a product's parameters hold; None is the full precision of the operands' dtype.
Canonical: TypeAlias = Pair | Algorithm | None


def chosen_precision(precision: object) -> Canonical:
    """Return the precision that an argument asks for; the setting's, where it is None.

    Raises:
        ArgumentError: it is no precision.
    """
    if precision is None:
        precision = config.settings().default_matmul_precision
        if precision is None:
            return None
    return _canonical(precision)


def chosen_of_convolution(precision: object) -> Pair | None:
    """Return the precisions that an argument of a convolution asks for, which has no algorithms.

    Raises:
        ArgumentError: it is no precision, or an algorithm.
    """
    found = chosen_precision(precision)
    if found is None or isinstance(found, tuple):
        return found
    if precision is None:  # the setting is of products that have algorithms
        return None
    raise errors.ArgumentError(
        f"precision={errors.shortened(precision)} is an algorithm of products of matrices: a "
        "convolution takes lax.Precision or its names, such as 'highest'."
    )


@lru_cache(maxsize=256)
def _of_text(text: str) -> Canonical:
    if text in _PRECISIONS:
        return _PRECISIONS[text], _PRECISIONS[text]
    return DotAlgorithmPreset.__members__.get(text)


def _canonical(precision: object) -> Canonical:
    if isinstance(precision, str):
        named = _of_text(precision)
        if named is not None:
            return named
    elif isinstance(precision, Precision):
        return precision, precision
    elif isinstance(precision, DotAlgorithm | DotAlgorithmPreset):
        return precision
    elif isinstance(precision, tuple | list) and len(precision) == 2:
        first, second = [_PRECISIONS.get(p) if isinstance(p, str) else p for p in precision]
        if isinstance(first, Precision) and isinstance(second, Precision):
            return first, second
    names = ", ".join(repr(name) for name in _PRECISIONS if name is not None)
    raise errors.ArgumentError(
        "precision takes a lax.Precision, one of its names, or a pair of these, a "
        "lax.DotAlgorithmPreset or its name, a lax.DotAlgorithm, or None, but got "
        f"{errors.shortened(precision)}. The names are {names}."
    )


def swapped_precision(precision: Canonical) -> Canonical:
    """Return the precision of the product whose operands are exchanged."""
    if isinstance(precision, tuple):
        return precision[1], precision[0]
    if isinstance(precision, DotAlgorithm):
        return attrs.evolve(
            precision,
            lhs_precision_type=precision.rhs_precision_type,
            rhs_precision_type=precision.lhs_precision_type,
            lhs_component_count=precision.rhs_component_count,
            rhs_component_count=precision.lhs_component_count,
        )
    return precision


#: What is computed in fewer bits, on GPUs and TPUs, where nothing is said.
_ROUNDED: Final = (dtypes.float32, dtypes.complex64)


def config_of(precision: Canonical, dtype: DType, platform: str) -> str:
    """Return the attribute ``precision_config`` of an operation.

    Args:
        precision: what its parameters hold.
        dtype: that of the operands.
        platform: what the program runs on; on the processor all precisions are the same.
    """
    if isinstance(precision, tuple):
        names = [p.name for p in precision]
    else:
        is_full = precision is None and dtype in _ROUNDED and platform != "cpu"
        names = ["HIGHEST" if is_full else "DEFAULT"] * 2
    return f"[{', '.join(f'#stablehlo<precision {name}>' for name in names)}]"


def operand_dtype(operand: DType, result: DType, platform: str) -> DType:
    """Return the dtype of the operands of a product in the program.

    On Nvidia's GPUs XLA multiplies bytes in 8 bits and float32 in 32, whatever the result's dtype
    (seen with jaxlib 0.11.2), so that operands are made wider before. Sums of narrow floats it does
    keep in float32.

    Args:
        operand: the dtype of the operands.
        result: the dtype of the result.
        platform: what the program runs on.
    """
    if platform != "cuda" or result.itemsize <= operand.itemsize:
        return operand
    if dtypes.is_narrow_float(operand) and result == dtypes.float32:
        return operand
    if dtypes.is_inexact(operand) and not dtypes.is_inexact(result):  # made integers at the end
        return operand
    return result


#: The dtypes by their names in presets; TensorFloat-32 is float32 where it is stored.
_STORED: Final[Mapping[str, DType]] = {
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "TF32": dtypes.float32,
    "F32": dtypes.float32,
    "F64": dtypes.float64,
}


@attrs.frozen
class Written:
    """The notation of a product that follows an algorithm.

    Attributes:
        dtypes: those that the operands are converted to, and that of the result before conversion.
        text: the attribute ``algorithm``; None where the compiler chooses.
    """

    dtypes: tuple[DType, DType, DType]
    text: str | None


def takes_float8(precision: Canonical) -> bool:
    """Return whether it is an algorithm for operands of float8, and no others."""
    return isinstance(precision, DotAlgorithmPreset) and precision.name.startswith("ANY_F8")


@lru_cache(maxsize=256)
def written_as(algorithm: Algorithm, operand: DType, out: DType) -> Written:
    """Return the notation of a product of real floats.

    Args:
        algorithm: what it follows.
        operand: the dtype of the operands.
        out: the dtype of the result.
    """
    if algorithm is DotAlgorithmPreset.DEFAULT:
        return Written((operand, operand, out), None)
    if isinstance(algorithm, DotAlgorithm):
        given = (
            algorithm.lhs_precision_type,
            algorithm.rhs_precision_type,
            algorithm.accumulation_type,
        )
        counts = (
            algorithm.lhs_component_count,
            algorithm.rhs_component_count,
            algorithm.num_primitive_operations,
        )
        names = [hlo.element_type(dtype) for dtype in given]
        return Written(given, _text(names, counts, algorithm.allow_imprecise_accumulation))
    name, _, sums, *rest = algorithm.name.split("_")
    if takes_float8(algorithm):
        _, _, _, _, sums, *rest = algorithm.name.split("_")
        result = out if sums == "ANY" or out.itemsize < 4 else dtypes.float32
        inside = [hlo.element_type(operand)] * 2
        return Written((operand, operand, result), _text([*inside, "f32"], (1, 1, 1), bool(rest)))
    count = int(rest[0][1:]) if rest else 1
    # of bfloat16 an operand may be float32 as well, and is rounded as it is read
    kept = (dtypes.bfloat16, dtypes.float32) if name == "BF16" and count == 1 else (_STORED[name],)
    if count > 1:
        kept = (dtypes.float32,)
    operand = operand if operand in kept else kept[0]
    is_narrow = operand == _STORED[name] != dtypes.float32 and sums == "F32" and out == operand
    result = operand if is_narrow else _STORED[sums]
    text = _text([name.lower(), name.lower(), sums.lower()], (1, 1, count), False)
    return Written((operand, operand, result), text)


def _text(names: Sequence[str], counts: Sequence[int], imprecise: bool) -> str:
    lhs, rhs, sums = names
    of_lhs, of_rhs, products = counts
    return (
        f"#stablehlo.dot_algorithm<lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, "
        f"accumulation_type = {sums}, lhs_component_count = {of_lhs}, "
        f"rhs_component_count = {of_rhs}, num_primitive_operations = {products}, "
        f"allow_imprecise_accumulation = {'true' if imprecise else 'false'}>"
    )

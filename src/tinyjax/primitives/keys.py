"""Keys of random numbers, made of words and taken apart into them.

A key is one element of a dtype of its own (``dtypes.KEYS``), so that whatever moves elements moves
keys, under every transformation. Only these two primitives look inside.
"""

from __future__ import annotations

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.devices import Entries
from tinyjax.core.evaluation_rules import UNDOES
from tinyjax.core.explicit import undivided, whole
from tinyjax.core.primitive import (
    DIVISION,
    NO_PARAMS,
    Avals,
    Hosts,
    Kernel,
    NoParams,
    Params,
    Primitive,
)
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType, HostArray
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.primitives.rules import check_kind, def_constant
from tinyjax.primitives.shape import def_simple_batch
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values


@attrs.frozen(eq=False, repr=False)
class WrapParams(Params):
    """The dtype of the keys."""

    dtype: DType


random_wrap_p: Primitive[WrapParams] = Primitive("random_wrap", WrapParams)


@random_wrap_p.def_impl
def _wrap_impl(operands: Hosts, params: WrapParams) -> Hosts:
    (words,) = operands
    return (np.ascontiguousarray(words).view(params.dtype).reshape(words.shape[:-1]),)


@random_wrap_p.def_kernel
def _wrap_kernel(avals: Avals, params: WrapParams) -> Kernel:
    shape, dtype = avals[0].shape[:-1], params.dtype

    def wrap(words: HostArray) -> HostArray:
        if not words.flags.c_contiguous:
            words = np.ascontiguousarray(words)
        return words.view(dtype).reshape(shape)

    return wrap


@random_wrap_p.def_abstract_eval
def _wrap_type(avals: Avals, params: WrapParams) -> Avals:
    (words,), dtype = avals, params.dtype
    if words.dtype != dtypes.uint32:
        raise DtypeError(f"the words of keys are uint32, but got {words}.")
    count = dtype.itemsize // words.dtype.itemsize
    if words.shape[-1:] != (count,):
        raise ShapeError(
            f"the words of {dtypes.dtype_name(dtype)} lie along the last axis, {count} for each, "
            f"but got {words}."
        )
    return (ShapedArray(words.shape[:-1], dtype),)


@random_wrap_p.def_rule(DIVISION)
def _wrap_division(params: WrapParams, avals: Avals, outs: Avals) -> list[Entries]:
    (words,) = avals
    return [whole(words.entries, (words.ndim - 1,), "of the words of keys")[:-1]]


@random_wrap_p.def_lowering
def _wrap_lowering(b: Lowering, operands: Values, params: WrapParams) -> Values:
    return (b.wrap_key(operands[0], params.dtype),)


def_constant(random_wrap_p)


@random_wrap_p.def_rule(UNDOES)
def _wrap_undoes() -> str:
    return "random_unwrap"


def_simple_batch(random_wrap_p)


def random_wrap(words: Array, dtype: DType) -> Array:
    """Return the keys of a dtype whose words lie along the last axis.

    Args:
        words: uint32, of shape (..., n), where a key has n words.
        dtype: one of ``dtypes.KEYS``.

    Raises:
        ShapeError: there are more or fewer words to a key.
        DtypeError: they are not uint32.
    """
    return bind1(random_wrap_p, (words,), WrapParams(dtype))


random_unwrap_p: Primitive[NoParams] = Primitive("random_unwrap", NoParams)


@random_unwrap_p.def_impl
def _unwrap_impl(operands: Hosts, params: NoParams) -> Hosts:
    (keys,) = operands
    return (keys[dtypes.key_tag(keys.dtype)],)


@random_unwrap_p.def_kernel
def _unwrap_kernel(avals: Avals, params: NoParams) -> Kernel:
    tag = dtypes.key_tag(avals[0].dtype)
    return lambda keys: keys[tag]


@random_unwrap_p.def_abstract_eval
def _unwrap_type(avals: Avals, params: NoParams) -> Avals:
    (keys,) = avals
    check_kind("random_unwrap", keys, "k")
    count = keys.dtype.itemsize // dtypes.uint32.itemsize
    return (ShapedArray((*keys.shape, count), dtypes.uint32),)


@random_unwrap_p.def_rule(DIVISION)
def _unwrap_division(params: NoParams, avals: Avals, outs: Avals) -> list[Entries]:
    return [(*avals[0].entries, *undivided(1))]


@random_unwrap_p.def_lowering
def _unwrap_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    return (b.unwrap_key(operands[0]),)


def_constant(random_unwrap_p)


def_simple_batch(random_unwrap_p)


def random_unwrap(keys: Array) -> Array:
    """Return the words of keys, along a new last axis; uint32.

    Raises:
        DtypeError: they are not keys.
    """
    return bind1(random_unwrap_p, (keys,), NO_PARAMS)

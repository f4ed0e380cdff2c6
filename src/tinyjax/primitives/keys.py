"""Keys of random numbers, made of words and taken apart into them.

A key is one element of a dtype of its own (``dtypes.KEYS``), so that whatever moves elements moves
keys, under every transformation. Only these two primitives look inside.
"""

from __future__ import annotations

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import rules as ru, shape as sh
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array


@attrs.frozen(eq=False, repr=False)
class WrapParams(prim.Params):
    """The dtype of the keys."""

    dtype: dtypes.DType


random_wrap_p: prim.Primitive[WrapParams] = prim.Primitive("random_wrap", WrapParams)


@random_wrap_p.def_host
def _wrap_host(avals: prim.Avals, params: WrapParams) -> prim.HostCall:
    shape, dtype = avals[0].shape[:-1], params.dtype

    def wrap(words: dtypes.HostArray) -> dtypes.HostArray:
        if not words.flags.c_contiguous:
            words = np.ascontiguousarray(words)
        return words.view(dtype).reshape(shape)

    return prim.HostCall(wrap, undoes="random_unwrap")


@random_wrap_p.def_abstract_eval
def _wrap_type(avals: prim.Avals, params: WrapParams) -> prim.Avals:
    (words,), dtype = avals, params.dtype
    if words.dtype != dtypes.uint32:
        raise errors.DtypeError(f"the words of keys are uint32, but got {words}.")
    count = dtype.itemsize // words.dtype.itemsize
    if words.shape[-1:] != (count,):
        raise errors.ShapeError(
            f"the words of {dtypes.dtype_name(dtype)} lie along the last axis, {count} for each, "
            f"but got {words}."
        )
    return (av.ShapedArray(words.shape[:-1], dtype),)


@random_wrap_p.def_lowering
def _wrap_lowering(b: Lowering, operands: Values, params: WrapParams) -> Values:
    return (b.wrap_key(operands[0], params.dtype),)


ru.def_constant(random_wrap_p)


sh.def_simple_batch(random_wrap_p)


def random_wrap(words: Array, dtype: dtypes.DType) -> Array:
    """Return the keys of a dtype whose words lie along the last axis.

    Args:
        words: uint32, of shape (..., n), where a key has n words.
        dtype: one of ``dtypes.KEYS``.

    Raises:
        ShapeError: there are more or fewer words to a key.
        DtypeError: they are not uint32.
    """
    return tr.bind1(random_wrap_p, (words,), WrapParams(dtype))


random_unwrap_p: prim.Primitive[prim.NoParams] = prim.Primitive("random_unwrap", prim.NoParams)


@random_unwrap_p.def_host
def _unwrap_host(avals: prim.Avals, params: prim.NoParams) -> prim.Kernel:
    tag = dtypes.key_tag(avals[0].dtype)
    return lambda keys: keys[tag]


@random_unwrap_p.def_abstract_eval
def _unwrap_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    (keys,) = avals
    ru.check_kind("random_unwrap", keys, "k")
    count = keys.dtype.itemsize // dtypes.uint32.itemsize
    return (av.ShapedArray((*keys.shape, count), dtypes.uint32),)


@random_unwrap_p.def_lowering
def _unwrap_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    return (b.unwrap_key(operands[0]),)


ru.def_constant(random_unwrap_p)


sh.def_simple_batch(random_unwrap_p)


def random_unwrap(keys: Array) -> Array:
    """Return the words of keys, along a new last axis; uint32.

    Raises:
        DtypeError: they are not keys.
    """
    return tr.bind1(random_unwrap_p, (keys,), prim.NO_PARAMS)

"""Arrays of one value whose sizes are symbolic: literals of programs, which have no data."""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.values import avals as av, concrete, integers as ints, operands as opd


def literal_splat(value: np.generic, aval: av.ShapedArray) -> concrete.ConcreteArray:
    """Make a ``splat`` for a literal, whose sizes may be symbolic."""
    if any(isinstance(n, ints.SymbolicSize) for n in aval.shape):
        return concrete.ConcreteArray(unsized(np.array(value, aval.dtype), aval), aval)
    return opd.splat(value, aval)


def unsized(host: dtypes.HostArray, aval: av.ShapedArray) -> dtypes.HostArray:
    """Return the data of a splat whose sizes are symbolic, of its one element."""
    operand = _Unsized((1,) * aval.ndim, aval.dtype, host, 0, (0,) * aval.ndim)
    operand.symbolic_shape = aval.shape
    operand.flags.writeable = False  # else a view would be made, without this shape
    return operand


class _Unsized(np.ndarray[Any, Any]):
    """The one element of a splat with symbolic sizes, the only accessible data.

    Attributes:
        symbolic_shape: the shape that such an array is said to have.
    """

    symbolic_shape: tuple[int, ...]

    shape: Any = property(lambda self: self.symbolic_shape)
    size: Any = property(lambda self: prod(self.symbolic_shape))

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise errors.InconclusiveDimensionOperation(
            "the data of an array is needed whose sizes are symbolic, which has none until they "
            "are known. Compute it from an argument of the exported function, or export for sizes "
            "that are numbers."
        )

    __array_ufunc__ = __array_function__ = _refuse
    astype = reshape = copy = view = tobytes = tolist = item = _refuse
    any = all = sum = min = max = ravel = transpose = _refuse

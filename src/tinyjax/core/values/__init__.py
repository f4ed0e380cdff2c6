"""Types and values: shapes, dtypes, arrays, and conversions to arrays."""

from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray

__all__ = ["Array", "ArrayLike", "ConcreteArray", "ShapedArray"]

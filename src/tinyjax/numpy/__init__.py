"""NumPy's functions on tinyjax arrays, with JAX's names, meaning and promotion of dtypes.

Whatever takes arrays also takes Python numbers and NumPy arrays, but not lists; ``array`` makes
arrays of those. Everything is built on primitives, and so can be compiled, differentiated and
mapped.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from tinyjax.core.array import Array
from tinyjax.dtypes import finfo, iinfo, issubdtype, promote_types, result_type
from tinyjax.lazy import loader
from tinyjax.numpy import (
    contraction,
    creation,
    elementwise,
    indexing,
    manipulation,
    promotion,
    reductions,
    scalar_types,
    selection,
)
from tinyjax.numpy.contraction import *
from tinyjax.numpy.creation import *
from tinyjax.numpy.elementwise import *
from tinyjax.numpy.indexing import *
from tinyjax.numpy.manipulation import *
from tinyjax.numpy.promotion import *
from tinyjax.numpy.reductions import *
from tinyjax.numpy.reductions import max as amax
from tinyjax.numpy.reductions import min as amin
from tinyjax.numpy.scalar_types import *
from tinyjax.numpy.scalar_types import bool_
from tinyjax.numpy.selection import *

if TYPE_CHECKING:
    from tinyjax.numpy import fft as fft
    from tinyjax.numpy import linalg as linalg
    from tinyjax.numpy.calculus import (
        cross,
        gradient,
        interp,
        polyval,
        trapezoid,
    )
    from tinyjax.numpy.editing import (
        apply_along_axis,
        apply_over_axes,
        delete,
        fill_diagonal,
        fromfunction,
        insert,
        piecewise,
        place,
        put,
        trim_zeros,
    )
    from tinyjax.numpy.files import load, save
    from tinyjax.numpy.generalized import vectorize
    from tinyjax.numpy.sets import (
        intersect1d,
        isin,
        setdiff1d,
        setxor1d,
        union1d,
        unique,
        unique_all,
        unique_counts,
        unique_inverse,
        unique_values,
    )
    from tinyjax.numpy.sorting import (
        argpartition,
        argsort,
        cumprod,
        cumsum,
        cumulative_prod,
        cumulative_sum,
        lexsort,
        median,
        nancumprod,
        nancumsum,
        nanmedian,
        nanpercentile,
        nanquantile,
        partition,
        percentile,
        quantile,
        sort,
    )
    from tinyjax.numpy.taking import (
        choose,
        compress,
        digitize,
        extract,
        ix_,
        put_along_axis,
        repeat,
        searchsorted,
        take,
        take_along_axis,
    )
    from tinyjax.numpy.views import byteswap, view

ndarray: TypeAlias = Array
bool = bool_

pi: float = math.pi
e: float = math.e
inf: float = math.inf
nan: float = math.nan
euler_gamma: float = 0.57721566490153286061
newaxis = None

# Loaded when first asked for, with the primitives that only they need: a thirtieth of the import.
_LATER: Final = {
    "calculus": "cross gradient interp polyval trapezoid",
    "sorting": (
        "argpartition argsort cumprod cumsum cumulative_prod cumulative_sum lexsort median "
        "nancumprod nancumsum nanmedian nanpercentile nanquantile partition percentile quantile "
        "sort"
    ),
    "taking": (
        "choose compress digitize extract ix_ put_along_axis repeat searchsorted take "
        "take_along_axis"
    ),
    "sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_values"
    ),
    "editing": (
        "apply_along_axis apply_over_axes delete fill_diagonal fromfunction insert "
        "piecewise place put trim_zeros"
    ),
    "views": "byteswap view",
    "files": "load save",
    "generalized": "vectorize",
    "": "fft linalg",
}


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)


__all__ = [
    "amax",
    "amin",
    "apply_along_axis",
    "apply_over_axes",
    "argpartition",
    "argsort",
    "bool",
    "byteswap",
    "choose",
    "compress",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "delete",
    "digitize",
    "e",
    "euler_gamma",
    "extract",
    "fft",
    "fill_diagonal",
    "finfo",
    "fromfunction",
    "gradient",
    "iinfo",
    "inf",
    "insert",
    "interp",
    "intersect1d",
    "isin",
    "issubdtype",
    "ix_",
    "lexsort",
    "linalg",
    "load",
    "median",
    "nan",
    "nancumprod",
    "nancumsum",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "ndarray",
    "newaxis",
    "partition",
    "percentile",
    "pi",
    "piecewise",
    "place",
    "polyval",
    "promote_types",
    "put",
    "put_along_axis",
    "quantile",
    "repeat",
    "result_type",
    "save",
    "searchsorted",
    "setdiff1d",
    "setxor1d",
    "sort",
    "take",
    "take_along_axis",
    "trapezoid",
    "trim_zeros",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "vectorize",
    "view",
]
__all__ += contraction.__all__
__all__ += creation.__all__
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += manipulation.__all__
__all__ += promotion.__all__
__all__ += reductions.__all__
__all__ += scalar_types.__all__
__all__ += selection.__all__

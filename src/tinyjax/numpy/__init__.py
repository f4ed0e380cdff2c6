"""NumPy's functions on tinyjax arrays, with JAX's names, meaning and promotion of dtypes.

Functions of arrays also take Python numbers and NumPy arrays, but not lists; ``array`` converts
lists. All functions are built on primitives, so you can compile, differentiate and map them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from tinyjax.core.array import Array, ArrayLike
from tinyjax.dtypes import finfo, iinfo, issubdtype, promote_types, result_type
from tinyjax.lazy import loader
from tinyjax.numpy import creation, elementwise, promotion, scalar_types
from tinyjax.numpy.creation import *
from tinyjax.numpy.elementwise import *
from tinyjax.numpy.promotion import *
from tinyjax.numpy.scalar_types import *
from tinyjax.numpy.scalar_types import bool_

if TYPE_CHECKING:
    from tinyjax.numpy import fft as fft
    from tinyjax.numpy import linalg as linalg
    from tinyjax.numpy.bits import (
        frexp,
        gcd,
        lcm,
        packbits,
        spacing,
        unpackbits,
    )
    from tinyjax.numpy.calculus import (
        cross,
        gradient,
        interp,
        polyval,
        trapezoid,
        unwrap,
    )
    from tinyjax.numpy.contraction import (
        dot,
        einsum,
        einsum_path,
        inner,
        kron,
        matmul,
        matvec,
        outer,
        tensordot,
        vdot,
        vecdot,
        vecmat,
    )
    from tinyjax.numpy.correlation import (
        convolve,
        corrcoef,
        correlate,
        cov,
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
    from tinyjax.numpy.files import (
        frombuffer,
        fromfile,
        fromiter,
        fromstring,
        load,
        save,
        savez,
    )
    from tinyjax.numpy.generalized import vectorize
    from tinyjax.numpy.histograms import (
        bincount,
        histogram,
        histogram2d,
        histogram_bin_edges,
        histogramdd,
    )
    from tinyjax.numpy.index_tricks import (
        c_,
        diag_indices_from,
        index_exp,
        mask_indices,
        mgrid,
        ogrid,
        r_,
        s_,
    )
    from tinyjax.numpy.indexing import (
        getitem,
        update_at,
    )
    from tinyjax.numpy.manipulation import (
        append,
        array_split,
        atleast_1d,
        atleast_2d,
        atleast_3d,
        block,
        broadcast_arrays,
        column_stack,
        concat,
        concatenate,
        diff,
        dsplit,
        dstack,
        ediff1d,
        expand_dims,
        flip,
        fliplr,
        flipud,
        hsplit,
        hstack,
        matrix_transpose,
        moveaxis,
        permute_dims,
        ravel,
        ravel_multi_index,
        reshape,
        resize,
        roll,
        rollaxis,
        rot90,
        split,
        squeeze,
        stack,
        swapaxes,
        tile,
        transpose,
        unravel_index,
        unstack,
        vsplit,
        vstack,
    )
    from tinyjax.numpy.padding import pad
    from tinyjax.numpy.polynomials import (
        poly,
        polyadd,
        polyder,
        polydiv,
        polyfit,
        polyint,
        polymul,
        polysub,
        roots,
    )
    from tinyjax.numpy.printing import (
        ComplexWarning,
        array_repr,
        array_str,
        get_printoptions,
        iterable,
        printoptions,
        set_printoptions,
    )
    from tinyjax.numpy.reductions import (
        all,
        allclose,
        any,
        argmax,
        argmin,
        average,
        count_nonzero,
        max,
        mean,
        min,
        nanargmax,
        nanargmin,
        nanmax,
        nanmean,
        nanmin,
        nanprod,
        nanstd,
        nansum,
        nanvar,
        prod,
        ptp,
        std,
        sum,
        var,
    )
    from tinyjax.numpy.reductions import max as amax
    from tinyjax.numpy.reductions import min as amin
    from tinyjax.numpy.selection import (
        argwhere,
        flatnonzero,
        nonzero,
        select,
        where,
    )
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
        sort_complex,
    )
    from tinyjax.numpy.standard import (
        __array_namespace_info__,
        from_dlpack,
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
    from tinyjax.numpy.ufuncs import (
        frompyfunc,
        ufunc,
    )
    from tinyjax.numpy.views import byteswap, view
    from tinyjax.numpy.windows import (
        bartlett,
        blackman,
        hamming,
        hanning,
    )

ndarray: TypeAlias = Array

if TYPE_CHECKING:  # made of special functions, which are built on this package
    i0: Callable[[ArrayLike], Array]
    kaiser: Callable[[int, ArrayLike], Array]
bool = bool_

pi: float = math.pi
e: float = math.e
inf: float = math.inf
nan: float = math.nan
euler_gamma: float = 0.57721566490153286061
newaxis = None
__array_api_version__: Final = "2025.12"

# Loaded when first asked for, with the primitives that only they need.
_LATER: Final = {
    "contraction": (
        "dot einsum einsum_path inner kron matmul matvec outer tensordot vdot vecdot vecmat"
    ),
    "indexing": ("getitem update_at"),
    "manipulation": (
        "append array_split atleast_1d atleast_2d atleast_3d block broadcast_arrays "
        "column_stack concat concatenate diff dsplit dstack ediff1d expand_dims flip "
        "fliplr flipud hsplit hstack matrix_transpose moveaxis permute_dims ravel "
        "ravel_multi_index reshape resize roll rollaxis rot90 split squeeze stack "
        "swapaxes tile transpose unravel_index unstack vsplit vstack"
    ),
    "selection": ("argwhere flatnonzero nonzero select where"),
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
    "padding": ("pad"),
    "histograms": ("bincount histogram histogram2d histogram_bin_edges histogramdd"),
    "correlation": ("convolve corrcoef correlate cov"),
    "bits": ("frexp gcd lcm packbits spacing unpackbits"),
    "index_tricks": ("c_ diag_indices_from index_exp mask_indices mgrid ogrid r_ s_"),
    "ufuncs": ("frompyfunc ufunc"),
    "calculus": ("cross gradient interp polyval trapezoid unwrap"),
    "sorting": (
        "argpartition argsort cumprod cumsum cumulative_prod cumulative_sum lexsort "
        "median nancumprod nancumsum nanmedian nanpercentile nanquantile partition "
        "percentile quantile sort sort_complex"
    ),
    "standard": ("__array_namespace_info__ from_dlpack"),
    "printing": (
        "ComplexWarning array_repr array_str get_printoptions iterable printoptions "
        "set_printoptions"
    ),
    "files": ("frombuffer fromfile fromiter fromstring load save savez"),
    "polynomials": ("poly polyadd polyder polydiv polyfit polyint polymul polysub roots"),
    "windows": ("bartlett blackman hamming hanning"),
    "views": "byteswap view",
    "reductions": (
        "all allclose any argmax argmin average count_nonzero max mean min nanargmax nanargmin "
        "nanmax nanmean nanmin nanprod nanstd nansum nanvar prod ptp std sum var amax=max "
        "amin=min"
    ),
    "tinyjax.scipy.special.bessel": "i0",
    "tinyjax.special.windows": "kaiser",
    "generalized": "vectorize",
    "": "fft linalg",
}


#: What to use in place of names that other libraries have.
_INSTEAD: Final = {
    "cat": "Use concatenate.",
    "from_numpy": "Use asarray.",
    "rand": "Use tinyjax.random.uniform(key, shape).",
    "randn": "Use tinyjax.random.normal(key, shape).",
    "random": "Use tinyjax.random, whose functions take a key.",
    "tensor": "Use array.",
}


def _instead(name: str) -> str:
    return f" {_INSTEAD[name]}" if name in _INSTEAD else ""


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER, _instead)


__all__ = [
    "ComplexWarning",
    "__array_api_version__",
    "__array_namespace_info__",
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "array_repr",
    "array_split",
    "array_str",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bartlett",
    "bincount",
    "blackman",
    "block",
    "bool",
    "broadcast_arrays",
    "byteswap",
    "c_",
    "choose",
    "column_stack",
    "compress",
    "concat",
    "concatenate",
    "convolve",
    "corrcoef",
    "correlate",
    "count_nonzero",
    "cov",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "delete",
    "diag_indices_from",
    "diff",
    "digitize",
    "dot",
    "dsplit",
    "dstack",
    "e",
    "ediff1d",
    "einsum",
    "einsum_path",
    "euler_gamma",
    "expand_dims",
    "extract",
    "fft",
    "fill_diagonal",
    "finfo",
    "flatnonzero",
    "flip",
    "fliplr",
    "flipud",
    "frexp",
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "frompyfunc",
    "fromstring",
    "gcd",
    "get_printoptions",
    "getitem",
    "gradient",
    "hamming",
    "hanning",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "i0",
    "iinfo",
    "index_exp",
    "inf",
    "inner",
    "insert",
    "interp",
    "intersect1d",
    "isin",
    "issubdtype",
    "iterable",
    "ix_",
    "kaiser",
    "kron",
    "lcm",
    "lexsort",
    "linalg",
    "load",
    "mask_indices",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "mean",
    "median",
    "mgrid",
    "min",
    "moveaxis",
    "nan",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ndarray",
    "newaxis",
    "nonzero",
    "ogrid",
    "outer",
    "packbits",
    "pad",
    "partition",
    "percentile",
    "permute_dims",
    "pi",
    "piecewise",
    "place",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "printoptions",
    "prod",
    "promote_types",
    "ptp",
    "put",
    "put_along_axis",
    "quantile",
    "r_",
    "ravel",
    "ravel_multi_index",
    "repeat",
    "reshape",
    "resize",
    "result_type",
    "roll",
    "rollaxis",
    "roots",
    "rot90",
    "s_",
    "save",
    "savez",
    "searchsorted",
    "select",
    "set_printoptions",
    "setdiff1d",
    "setxor1d",
    "sort",
    "sort_complex",
    "spacing",
    "split",
    "squeeze",
    "stack",
    "std",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "transpose",
    "trapezoid",
    "trim_zeros",
    "ufunc",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unpackbits",
    "unravel_index",
    "unstack",
    "unwrap",
    "update_at",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vectorize",
    "view",
    "vsplit",
    "vstack",
    "where",
]
__all__ += creation.__all__
__all__ += elementwise.__all__
__all__ += promotion.__all__
__all__ += scalar_types.__all__

"""NumPy's functions on tinyjax arrays, with JAX's names, meaning and promotion of dtypes.

Functions of arrays also take Python numbers and NumPy arrays, but not lists; ``array`` converts
lists. All functions are built on primitives, so you can compile, differentiate and map them.
"""

from __future__ import annotations

from typing import Final

from tinyjax._base.lazy import namespace

#: What to use in place of names that other libraries have.
_INSTEAD: Final = {
    "cat": "Use concatenate.",
    "from_numpy": "Use asarray.",
    "random": "Use tinyjax.random, whose functions take a key.",
    "tensor": "Use array.",
}


def _instead(name: str) -> str:
    return f" {_INSTEAD[name]}" if name in _INSTEAD else ""


__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "bits": "byteswap frexp gcd lcm packbits spacing unpackbits view",
        "calculus": "cross gradient interp polyval trapezoid unwrap",
        "contraction": (
            "dot einsum einsum_path inner kron matmul matvec outer tensordot vdot vecdot vecmat"
        ),
        "creation": (
            "arange array array_equal array_equiv asarray broadcast_to copy diag diag_indices "
            "diagflat diagonal empty empty_like eye full full_like geomspace identity indices "
            "linspace logspace meshgrid ones ones_like trace tri tril tril_indices "
            "tril_indices_from triu triu_indices triu_indices_from vander zeros zeros_like"
        ),
        "editing": (
            "apply_along_axis apply_over_axes delete fill_diagonal fromfunction insert pad "
            "piecewise place put trim_zeros"
        ),
        "elementwise": (
            "abs absolute acos acosh add angle arccos arccosh arcsin arcsinh arctan arctan2 "
            "arctanh around asin asinh astype atan atan2 atanh bitwise_and bitwise_count "
            "bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift "
            "bitwise_xor cbrt ceil clip conj conjugate copysign cos cosh deg2rad degrees divide "
            "divmod equal exp exp2 expm1 fabs fix float_power floor floor_divide fmax fmin fmod "
            "greater greater_equal heaviside hypot imag invert isclose iscomplex isfinite isinf "
            "isnan isneginf isposinf isreal ldexp left_shift less less_equal log log10 log1p log2 "
            "logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum "
            "mod modf multiply nan_to_num negative nextafter not_equal positive pow power rad2deg "
            "radians real reciprocal remainder right_shift rint round sign signbit sin sinc sinh "
            "sqrt square subtract tan tanh true_divide trunc"
        ),
        "exchange": (
            "ComplexWarning __array_namespace_info__ array_repr array_str from_dlpack frombuffer "
            "fromfile fromiter fromstring get_printoptions iterable load printoptions save savez "
            "set_printoptions"
        ),
        "index_tricks": "c_ diag_indices_from index_exp mask_indices mgrid ogrid r_ s_",
        "indexing": "getitem update_at",
        "manipulation": (
            "append array_split atleast_1d atleast_2d atleast_3d block broadcast_arrays "
            "column_stack concat concatenate diff dsplit dstack ediff1d expand_dims flip fliplr "
            "flipud hsplit hstack matrix_transpose moveaxis permute_dims ravel ravel_multi_index "
            "reshape resize roll rollaxis rot90 split squeeze stack swapaxes tile transpose "
            "unravel_index unstack vsplit vstack"
        ),
        "polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub roots",
        "promotion": "broadcast_shapes",
        "reductions": (
            "all allclose amax=max amin=min any argmax argmin average count_nonzero max mean min "
            "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar prod ptp std "
            "sum var"
        ),
        "scalar_types": (
            "ScalarType __array_api_version__ bfloat16 bool=bool_ bool_ can_cast cdouble "
            "complex128 complex64 complex_ complexfloating csingle double dtype e euler_gamma "
            "float16 float32 float64 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn "
            "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float_ floating generic half inexact inf "
            "int16 int2 int32 int4 int64 int8 int_ integer iscomplexobj isdtype isrealobj isscalar "
            "nan ndim newaxis number pi shape signedinteger single size uint uint16 uint2 uint32 "
            "uint4 uint64 uint8 unsignedinteger"
        ),
        "selection": "argwhere flatnonzero nonzero select where",
        "sets": (
            "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
            "unique_inverse unique_values"
        ),
        "sorting": (
            "argpartition argsort cumprod cumsum cumulative_prod cumulative_sum lexsort median "
            "nancumprod nancumsum nanmedian nanpercentile nanquantile partition percentile "
            "quantile sort sort_complex"
        ),
        "statistics": (
            "bincount convolve corrcoef correlate cov histogram histogram2d histogram_bin_edges "
            "histogramdd"
        ),
        "taking": (
            "choose compress digitize extract ix_ put_along_axis repeat searchsorted take "
            "take_along_axis top_k"
        ),
        "ufuncs": "frompyfunc ufunc vectorize",
        "windows": "bartlett blackman hamming hanning",
        "tinyjax.dtypes": "finfo iinfo issubdtype promote_types result_type",
        "tinyjax.scipy.special.bessel": "i0",
        "tinyjax._library.special.bessel": "kaiser",
        "tinyjax.core.values.array": "ndarray=Array",
        "": "fft linalg",
    },
    _instead,
)

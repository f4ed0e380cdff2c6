"""The primitives as functions, by JAX's names.

These are one step above XLA and convert little. Operands must have equal shapes, except that
scalars and axes of size one are broadcast. They must have equal dtypes, except that a Python number
takes the other operand's. ``tinyjax.numpy`` has the functions that broadcast
and promote. Matrices are in ``tinyjax.lax.linalg``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.control_flow.cond import cond, switch
    from tinyjax.control_flow.loops import associative_scan, fori_loop
    from tinyjax.control_flow.loops import map_ as map
    from tinyjax.control_flow.scan import scan
    from tinyjax.control_flow.while_loop import while_loop
    from tinyjax.implicit import custom_linear_solve as custom_linear_solve
    from tinyjax.implicit import custom_root as custom_root
    from tinyjax.lax import linalg as linalg
    from tinyjax.lax.accuracy import (
        AccuracyMode,
        DotAlgorithm,
        DotAlgorithmPreset,
        Tolerance,
    )
    from tinyjax.lax.elementwise import (
        RoundingMethod,
        abs,
        acos,
        acosh,
        add,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        bitcast_convert_type,
        bitwise_and,
        bitwise_not,
        bitwise_or,
        bitwise_xor,
        cbrt,
        ceil,
        clamp,
        clz,
        complex,
        conj,
        convert_element_type,
        cos,
        cosh,
        dce_sink,
        digamma,
        div,
        eq,
        erf,
        erf_inv,
        erfc,
        exp,
        exp2,
        expm1,
        floor,
        ge,
        gt,
        imag,
        integer_pow,
        is_finite,
        le,
        lgamma,
        log,
        log1p,
        logistic,
        lt,
        max,
        min,
        mul,
        mulhi,
        ne,
        neg,
        nextafter,
        optimization_barrier,
        polygamma,
        population_count,
        pow,
        real,
        reciprocal,
        reduce_precision,
        rem,
        round,
        rsqrt,
        select,
        select_n,
        shift_left,
        shift_right_arithmetic,
        shift_right_logical,
        sign,
        sin,
        sinh,
        sqrt,
        square,
        stage,
        stop_gradient,
        sub,
        tan,
        tanh,
        zeta,
    )
    from tinyjax.lax.generators import RandomAlgorithm, rng_bit_generator
    from tinyjax.lax.placement import (
        pbroadcast,
        pcast,
        with_sharding_constraint,
    )
    from tinyjax.lax.platforms import (
        composite,
        platform_dependent,
    )
    from tinyjax.lax.primitives import *
    from tinyjax.lax.products import (
        DotDimensionNumbers,
        Precision,
        PrecisionLike,
        batch_matmul,
        dot,
        dot_general,
        scaled_dot,
    )
    from tinyjax.lax.ragged import (
        RaggedDotDimensionNumbers,
        ragged_dot,
        ragged_dot_general,
    )
    from tinyjax.lax.reductions import (
        argmax,
        argmin,
        cumlogsumexp,
        cummax,
        cummin,
        cumprod,
        cumsum,
        reduce,
        reduce_and,
        reduce_max,
        reduce_min,
        reduce_or,
        reduce_prod,
        reduce_sum,
        reduce_window,
        reduce_xor,
    )
    from tinyjax.lax.shapes import (
        broadcast,
        broadcast_in_dim,
        broadcast_like,
        broadcast_to_rank,
        broadcasted_iota,
        collapse,
        concatenate,
        dtype,
        empty,
        expand_dims,
        full,
        full_like,
        index_in_dim,
        iota,
        pad,
        reshape,
        rev,
        shape_as_value,
        slice,
        slice_in_dim,
        split,
        squeeze,
        stack,
        tile,
        transpose,
        unstack,
    )
    from tinyjax.lax.sorting import (
        approx_max_k,
        approx_min_k,
        index_take,
        sort,
        sort_key_val,
        top_k,
    )
    from tinyjax.lax.special import (
        bessel_i0e,
        bessel_i1e,
        betainc,
        igamma,
        igamma_grad_a,
        igammac,
        random_gamma_grad,
    )
    from tinyjax.lax.spectral import (
        FftType,
        fft,
    )
    from tinyjax.lax.tokens import after_all, create_token
    from tinyjax.lax.windows import (
        ConvGeneralDilatedDimensionNumbers,
        conv_general_dilated_local,
        conv_general_dilated_patches,
        conv_general_permutations,
        conv_general_shape_tuple,
        conv_shape_tuple,
        conv_transpose_shape_tuple,
        reduce_window_shape_tuple,
    )
    from tinyjax.numpy.promotion import broadcast_shapes
    from tinyjax.primitives.collective import (
        all_gather,
        all_to_all,
        axis_index,
        axis_size,
        pmax,
        pmean,
        pmin,
        ppermute,
        pshuffle,
        psum,
        psum_scatter,
        pswapaxes,
    )
    from tinyjax.primitives.convolution import (
        ConvDimensionNumbers,
        conv,
        conv_dimension_numbers,
        conv_general_dilated,
        conv_transpose,
        conv_with_general_padding,
        padtype_to_pads,
    )
    from tinyjax.primitives.dynamic_slice import (
        dynamic_index_in_dim,
        dynamic_slice,
        dynamic_slice_in_dim,
        dynamic_update_index_in_dim,
        dynamic_update_slice,
        dynamic_update_slice_in_dim,
    )
    from tinyjax.primitives.gather import gather
    from tinyjax.primitives.gather_scatter import GatherDimensionNumbers, ScatterDimensionNumbers
    from tinyjax.primitives.modes import GatherScatterMode
    from tinyjax.primitives.scatter import (
        scatter,
        scatter_add,
        scatter_apply,
        scatter_max,
        scatter_min,
        scatter_mul,
        scatter_sub,
    )

# Loaded when first asked for, with the primitives that only they need.
_LATER: Final = {
    "accuracy": "AccuracyMode DotAlgorithm DotAlgorithmPreset Tolerance",
    "elementwise": (
        "RoundingMethod abs acos acosh add asin asinh atan atan2 atanh bitcast_convert_type "
        "bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil clamp clz complex conj "
        "convert_element_type cos cosh dce_sink digamma div eq erf erf_inv erfc exp exp2 expm1 "
        "floor ge gt imag integer_pow is_finite le lgamma log log1p logistic lt max min mul mulhi "
        "ne neg nextafter optimization_barrier polygamma population_count pow real reciprocal "
        "reduce_precision rem round rsqrt select select_n shift_left shift_right_arithmetic "
        "shift_right_logical sign sin sinh sqrt square stage stop_gradient sub tan tanh zeta"
    ),
    "placement": "pbroadcast pcast with_sharding_constraint",
    "platforms": "composite platform_dependent",
    "products": (
        "DotDimensionNumbers Precision PrecisionLike batch_matmul dot dot_general scaled_dot"
    ),
    "ragged": "RaggedDotDimensionNumbers ragged_dot ragged_dot_general",
    "reductions": (
        "argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce reduce_and reduce_max "
        "reduce_min reduce_or reduce_prod reduce_sum reduce_window reduce_xor"
    ),
    "shapes": (
        "broadcast broadcast_in_dim broadcast_like broadcast_to_rank broadcasted_iota collapse "
        "concatenate dtype empty expand_dims full full_like index_in_dim iota pad reshape rev "
        "shape_as_value slice slice_in_dim split squeeze stack tile transpose unstack"
    ),
    "sorting": "approx_max_k approx_min_k index_take sort sort_key_val top_k",
    "spectral": "FftType fft",
    "tokens": "after_all create_token",
    "windows": (
        "ConvGeneralDilatedDimensionNumbers conv_general_dilated_local "
        "conv_general_dilated_patches conv_general_permutations conv_general_shape_tuple "
        "conv_shape_tuple conv_transpose_shape_tuple reduce_window_shape_tuple"
    ),
    "tinyjax.control_flow.cond": "cond switch",
    "tinyjax.control_flow.loops": "associative_scan fori_loop map=map_",
    "tinyjax.control_flow.scan": "scan",
    "tinyjax.control_flow.while_loop": "while_loop",
    "tinyjax.numpy.promotion": "broadcast_shapes",
    "tinyjax.primitives.collective": (
        "all_gather all_to_all axis_index axis_size pmax pmean pmin ppermute pshuffle psum "
        "psum_scatter pswapaxes"
    ),
    "tinyjax.primitives.convolution": (
        "ConvDimensionNumbers conv conv_dimension_numbers conv_general_dilated conv_transpose "
        "conv_with_general_padding padtype_to_pads"
    ),
    "tinyjax.primitives.dynamic_slice": (
        "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim "
        "dynamic_update_slice dynamic_update_slice_in_dim"
    ),
    "tinyjax.primitives.gather": "gather",
    "tinyjax.primitives.gather_scatter": "GatherDimensionNumbers ScatterDimensionNumbers",
    "tinyjax.primitives.modes": "GatherScatterMode",
    "tinyjax.primitives.scatter": (
        "scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul scatter_sub"
    ),
    "tinyjax.implicit": "custom_linear_solve custom_root",
    "special": "bessel_i0e bessel_i1e betainc igamma igamma_grad_a igammac random_gamma_grad",
    "generators": "RandomAlgorithm rng_bit_generator",
    "": "linalg",
}

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    _load = loader(__name__, _LATER)

    def __getattr__(name: str) -> Any:
        """Return what was not loaded at once; primitives have names that end in ``_p``."""
        if name.endswith("_p"):
            found = vars(import_module("tinyjax.lax.primitives")).get(name)
            if found is not None:
                return found
        return _load(name)


__all__ = [
    "AccuracyMode",
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "FftType",
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "Precision",
    "PrecisionLike",
    "RaggedDotDimensionNumbers",
    "RandomAlgorithm",
    "RoundingMethod",
    "ScatterDimensionNumbers",
    "Tolerance",
    "abs",
    "acos",
    "acosh",
    "add",
    "after_all",
    "all_gather",
    "all_to_all",
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "associative_scan",
    "atan",
    "atan2",
    "atanh",
    "axis_index",
    "axis_size",
    "batch_matmul",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "bitcast_convert_type",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "collapse",
    "complex",
    "composite",
    "concatenate",
    "cond",
    "conj",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
    "convert_element_type",
    "cos",
    "cosh",
    "create_token",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "dce_sink",
    "digamma",
    "div",
    "dot",
    "dot_general",
    "dtype",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "empty",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "fft",
    "floor",
    "fori_loop",
    "full",
    "full_like",
    "gather",
    "ge",
    "gt",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "imag",
    "index_in_dim",
    "index_take",
    "integer_pow",
    "iota",
    "is_finite",
    "le",
    "lgamma",
    "linalg",
    "log",
    "log1p",
    "logistic",
    "lt",
    "map",
    "max",
    "min",
    "mul",
    "mulhi",
    "ne",
    "neg",
    "nextafter",
    "optimization_barrier",
    "pad",
    "padtype_to_pads",
    "pbroadcast",
    "pcast",
    "platform_dependent",
    "pmax",
    "pmean",
    "pmin",
    "polygamma",
    "population_count",
    "pow",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "ragged_dot",
    "ragged_dot_general",
    "random_gamma_grad",
    "real",
    "reciprocal",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_precision",
    "reduce_prod",
    "reduce_sum",
    "reduce_window",
    "reduce_window_shape_tuple",
    "reduce_xor",
    "rem",
    "reshape",
    "rev",
    "rng_bit_generator",
    "round",
    "rsqrt",
    "scaled_dot",
    "scan",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "select",
    "select_n",
    "shape_as_value",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sin",
    "sinh",
    "slice",
    "slice_in_dim",
    "sort",
    "sort_key_val",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stage",
    "stop_gradient",
    "sub",
    "switch",
    "tan",
    "tanh",
    "tile",
    "top_k",
    "transpose",
    "unstack",
    "while_loop",
    "with_sharding_constraint",
    "zeta",
]


def __dir__() -> list[str]:
    return sorted(__all__)

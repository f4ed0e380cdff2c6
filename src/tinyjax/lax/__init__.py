"""The primitives as functions, by JAX's names.

These are one step above XLA and convert little. Operands must have equal shapes, except that
scalars and axes of size one are broadcast. They must have equal dtypes, except that a Python number
takes the other operand's. ``tinyjax.numpy`` has the functions that broadcast
and promote. Matrices are in ``tinyjax.lax.linalg``.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "elementwise": (
            "RoundingMethod abs acos acosh add asin asinh atan atan2 atanh bitcast_convert_type "
            "bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil clamp clz complex conj "
            "convert_element_type cos cosh dce_sink digamma div eq erf erf_inv erfc exp exp2 expm1 "
            "floor ge gt imag integer_pow is_finite le lgamma log log1p logistic lt max min mul "
            "mulhi ne neg nextafter optimization_barrier polygamma population_count pow real "
            "reciprocal reduce_precision rem round rsqrt select select_n shift_left "
            "shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stage "
            "stop_gradient sub tan tanh zeta"
        ),
        "special": (
            "FftType RandomAlgorithm bessel_i0e bessel_i1e betainc fft igamma igamma_grad_a "
            "igammac random_gamma_grad rng_bit_generator"
        ),
        "placement": "after_all composite create_token pbroadcast pcast platform_dependent",
        "products": (
            "AccuracyMode DotDimensionNumbers RaggedDotDimensionNumbers Tolerance batch_matmul dot "
            "dot_general ragged_dot ragged_dot_general scaled_dot"
        ),
        "reductions": (
            "ConvGeneralDilatedDimensionNumbers argmax argmin conv_general_dilated_local "
            "conv_general_dilated_patches conv_general_permutations conv_general_shape_tuple "
            "conv_shape_tuple conv_transpose_shape_tuple cumlogsumexp cummax cummin cumprod cumsum "
            "reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum "
            "reduce_window reduce_window_shape_tuple reduce_xor"
        ),
        "scans": "associative_scan map=map_",
        "shapes": (
            "approx_max_k approx_min_k broadcast broadcast_in_dim broadcast_like broadcast_to_rank "
            "broadcasted_iota collapse concatenate dtype empty expand_dims full full_like "
            "index_in_dim index_take iota pad reshape rev shape_as_value slice slice_in_dim sort "
            "sort_key_val split squeeze stack tile top_k transpose unstack"
        ),
        "tinyjax._primitives.precision": (
            "DotAlgorithm DotAlgorithmPreset Precision PrecisionLike"
        ),
        "tinyjax.core.control_flow.cond": "cond switch",
        "tinyjax.core.control_flow.loops": "fori_loop",
        "tinyjax.core.control_flow.scan": "scan",
        "tinyjax.core.control_flow.while_loop": "while_loop",
        "tinyjax.implicit": "custom_linear_solve custom_root",
        "tinyjax._extensions.parallel.constraint": "with_sharding_constraint",
        "tinyjax.numpy.promotion": "broadcast_shapes",
        "tinyjax._extensions.parallel.collective": (
            "all_gather all_to_all axis_index axis_size pmax pmean pmin ppermute pshuffle psum "
            "psum_scatter pswapaxes"
        ),
        "tinyjax._primitives.convolution": (
            "ConvDimensionNumbers conv conv_dimension_numbers conv_general_dilated conv_transpose "
            "conv_with_general_padding padtype_to_pads"
        ),
        "tinyjax._primitives.dynamic_slice": (
            "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim "
            "dynamic_update_slice dynamic_update_slice_in_dim"
        ),
        "tinyjax._primitives.scatter": (
            "gather scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul "
            "scatter_sub"
        ),
        "tinyjax._primitives.gather_scatter": "GatherDimensionNumbers ScatterDimensionNumbers",
        "tinyjax._primitives.modes": "GatherScatterMode",
        "": "linalg",
    },
    unlisted="tinyjax.lax.primitives",
)

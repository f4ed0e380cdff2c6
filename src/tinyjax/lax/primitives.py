"""The primitives by their names in ``jax.lax``: loaded on first use.

A primitive that JAX has and tinyjax does without, such as ``squeeze_p`` (a ``reshape``), has no
name here.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.core.control_flow.cond": "cond_p",
        "tinyjax.core.control_flow.scan": "scan_p",
        "tinyjax.core.control_flow.while_loop": "while_p",
        "tinyjax.implicit.linear_operators": "linear_solve_p=custom_linear_solve_p",
        "tinyjax._primitives.bitcast": "bitcast_convert_type_p reduce_precision_p",
        "tinyjax._primitives.bits": "clz_p=clz mulhi_p=mulhi",
        "tinyjax.core.primitives.broadcast": "broadcast_in_dim_p reduce_sum_p",
        "tinyjax._extensions.parallel.collective": (
            "all_gather_p all_to_all_p axis_index_p pmax_p pmin_p ppermute_p psum_p"
        ),
        "tinyjax._extensions.parallel.constraint": "sharding_constraint_p",
        "tinyjax._primitives.convolution": "conv_general_dilated_p",
        "tinyjax._primitives.cumulative": "cumlogsumexp_p cummax_p cummin_p cumprod_p cumsum_p",
        "tinyjax._primitives.dot": "dot_general_p",
        "tinyjax._primitives.dynamic_slice": "dynamic_slice_p dynamic_update_slice_p",
        "tinyjax.core.primitives.elementwise": (
            "abs_p=abs_ acos_p=acos acosh_p=acosh add_p=add and_p=and_ asin_p=asin asinh_p=asinh "
            "atan2_p=atan2 atan_p=atan atanh_p=atanh cbrt_p=cbrt ceil_p=ceil complex_p=complex_ "
            "conj_p=conj convert_element_type_p cos_p=cos cosh_p=cosh div_p=div eq_p=eq "
            "eq_to_p=eq_to exp2_p=exp2 exp_p=exp expm1_p=expm1 floor_p=floor ge_p=ge gt_p=gt "
            "imag_p=imag integer_pow_p is_finite_p=is_finite le_p=le le_to_p=le_to log1p_p=log1p "
            "log_p=log logistic_p=logistic lt_p=lt lt_to_p=lt_to max_p=max_ min_p=min_ mul_p=mul "
            "ne_p=ne neg_p=neg nextafter_p=nextafter not_p=not_ or_p=or_ "
            "population_count_p=population_count pow_p=pow_ real_p=real rem_p=rem round_p=round_ "
            "rsqrt_p=rsqrt select_n_p=select_p shift_left_p=shift_left "
            "shift_right_arithmetic_p=shift_right_arithmetic "
            "shift_right_logical_p=shift_right_logical sign_p=sign sin_p=sin sinh_p=sinh "
            "sqrt_p=sqrt sub_p=sub tan_p=tan tanh_p=tanh xor_p=xor_"
        ),
        "tinyjax._primitives.fft": "fft_p",
        "tinyjax._primitives.gather_scatter": (
            "gather_p scatter_add_p scatter_max_p scatter_min_p scatter_p scatter_sub_p"
        ),
        "tinyjax.core.primitives.identities": (
            "copy_p dce_sink_p optimization_barrier_p stage_p stop_gradient_p"
        ),
        "tinyjax._primitives.philox": "rng_bit_generator_p",
        "tinyjax._primitives.arg_extrema": "argmax_p argmin_p",
        "tinyjax.core.primitives.reduce": (
            "reduce_and_p reduce_max_p reduce_min_p reduce_or_p reduce_prod_p reduce_xor_p"
        ),
        "tinyjax._primitives.reduce_window": (
            "reduce_window_max_p reduce_window_min_p reduce_window_sum_p"
        ),
        "tinyjax._primitives.scatter_mul": "scatter_mul_p",
        "tinyjax.core.primitives.shape": "iota_p reshape_p rev_p transpose_p",
        "tinyjax.core.primitives.slicing": "concatenate_p pad_p slice_p split_p",
        "tinyjax._primitives.sort": "sort_p top_k_p",
        "tinyjax._primitives.special": (
            "digamma_p=digamma erf_inv_p=erf_inv erf_p=erf erfc_p=erfc lgamma_p=lgamma "
            "polygamma_p=polygamma zeta_p=zeta"
        ),
        "tinyjax._library.special.bessel": "bessel_i0e_p=bessel_i0e bessel_i1e_p=bessel_i1e",
        "tinyjax._library.special.gamma": (
            "igamma_grad_a_p=igamma_grad_a igamma_p=igamma igammac_p=igammac "
            "regularized_incomplete_beta_p=regularized_incomplete_beta"
        ),
    },
)

# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.parallel.collective import all_gather_p as all_gather_p
from tinyjax._extensions.parallel.collective import all_to_all_p as all_to_all_p
from tinyjax._extensions.parallel.collective import axis_index_p as axis_index_p
from tinyjax._extensions.parallel.collective import pmax_p as pmax_p
from tinyjax._extensions.parallel.collective import pmin_p as pmin_p
from tinyjax._extensions.parallel.collective import ppermute_p as ppermute_p
from tinyjax._extensions.parallel.collective import psum_p as psum_p
from tinyjax._extensions.parallel.constraint import sharding_constraint_p as sharding_constraint_p
from tinyjax._library.special.bessel import bessel_i0e as bessel_i0e_p
from tinyjax._library.special.bessel import bessel_i1e as bessel_i1e_p
from tinyjax._library.special.gamma import igamma_grad_a as igamma_grad_a_p
from tinyjax._library.special.gamma import igamma as igamma_p
from tinyjax._library.special.gamma import igammac as igammac_p
from tinyjax._library.special.gamma import regularized_incomplete_beta as regularized_incomplete_beta_p
from tinyjax._primitives.arg_extrema import argmax_p as argmax_p
from tinyjax._primitives.arg_extrema import argmin_p as argmin_p
from tinyjax._primitives.bitcast import bitcast_convert_type_p as bitcast_convert_type_p
from tinyjax._primitives.bitcast import reduce_precision_p as reduce_precision_p
from tinyjax._primitives.bits import clz as clz_p
from tinyjax._primitives.bits import mulhi as mulhi_p
from tinyjax._primitives.convolution import conv_general_dilated_p as conv_general_dilated_p
from tinyjax._primitives.cumulative import cumlogsumexp_p as cumlogsumexp_p
from tinyjax._primitives.cumulative import cummax_p as cummax_p
from tinyjax._primitives.cumulative import cummin_p as cummin_p
from tinyjax._primitives.cumulative import cumprod_p as cumprod_p
from tinyjax._primitives.cumulative import cumsum_p as cumsum_p
from tinyjax._primitives.dot import dot_general_p as dot_general_p
from tinyjax._primitives.dynamic_slice import dynamic_slice_p as dynamic_slice_p
from tinyjax._primitives.dynamic_slice import dynamic_update_slice_p as dynamic_update_slice_p
from tinyjax._primitives.fft import fft_p as fft_p
from tinyjax._primitives.gather_scatter import gather_p as gather_p
from tinyjax._primitives.gather_scatter import scatter_add_p as scatter_add_p
from tinyjax._primitives.gather_scatter import scatter_max_p as scatter_max_p
from tinyjax._primitives.gather_scatter import scatter_min_p as scatter_min_p
from tinyjax._primitives.gather_scatter import scatter_p as scatter_p
from tinyjax._primitives.gather_scatter import scatter_sub_p as scatter_sub_p
from tinyjax._primitives.philox import rng_bit_generator_p as rng_bit_generator_p
from tinyjax._primitives.reduce_window import reduce_window_max_p as reduce_window_max_p
from tinyjax._primitives.reduce_window import reduce_window_min_p as reduce_window_min_p
from tinyjax._primitives.reduce_window import reduce_window_sum_p as reduce_window_sum_p
from tinyjax._primitives.scatter_mul import scatter_mul_p as scatter_mul_p
from tinyjax._primitives.sort import sort_p as sort_p
from tinyjax._primitives.sort import top_k_p as top_k_p
from tinyjax._primitives.special import digamma as digamma_p
from tinyjax._primitives.special import erf_inv as erf_inv_p
from tinyjax._primitives.special import erf as erf_p
from tinyjax._primitives.special import erfc as erfc_p
from tinyjax._primitives.special import lgamma as lgamma_p
from tinyjax._primitives.special import polygamma as polygamma_p
from tinyjax._primitives.special import zeta as zeta_p
from tinyjax.core.control_flow.cond import cond_p as cond_p
from tinyjax.core.control_flow.scan import scan_p as scan_p
from tinyjax.core.control_flow.while_loop import while_p as while_p
from tinyjax.core.primitives.broadcast import broadcast_in_dim_p as broadcast_in_dim_p
from tinyjax.core.primitives.broadcast import reduce_sum_p as reduce_sum_p
from tinyjax.core.primitives.elementwise import abs_ as abs_p
from tinyjax.core.primitives.elementwise import acos as acos_p
from tinyjax.core.primitives.elementwise import acosh as acosh_p
from tinyjax.core.primitives.elementwise import add as add_p
from tinyjax.core.primitives.elementwise import and_ as and_p
from tinyjax.core.primitives.elementwise import asin as asin_p
from tinyjax.core.primitives.elementwise import asinh as asinh_p
from tinyjax.core.primitives.elementwise import atan2 as atan2_p
from tinyjax.core.primitives.elementwise import atan as atan_p
from tinyjax.core.primitives.elementwise import atanh as atanh_p
from tinyjax.core.primitives.elementwise import cbrt as cbrt_p
from tinyjax.core.primitives.elementwise import ceil as ceil_p
from tinyjax.core.primitives.elementwise import complex_ as complex_p
from tinyjax.core.primitives.elementwise import conj as conj_p
from tinyjax.core.primitives.elementwise import convert_element_type_p as convert_element_type_p
from tinyjax.core.primitives.elementwise import cos as cos_p
from tinyjax.core.primitives.elementwise import cosh as cosh_p
from tinyjax.core.primitives.elementwise import div as div_p
from tinyjax.core.primitives.elementwise import eq as eq_p
from tinyjax.core.primitives.elementwise import eq_to as eq_to_p
from tinyjax.core.primitives.elementwise import exp2 as exp2_p
from tinyjax.core.primitives.elementwise import exp as exp_p
from tinyjax.core.primitives.elementwise import expm1 as expm1_p
from tinyjax.core.primitives.elementwise import floor as floor_p
from tinyjax.core.primitives.elementwise import ge as ge_p
from tinyjax.core.primitives.elementwise import gt as gt_p
from tinyjax.core.primitives.elementwise import imag as imag_p
from tinyjax.core.primitives.elementwise import integer_pow_p as integer_pow_p
from tinyjax.core.primitives.elementwise import is_finite as is_finite_p
from tinyjax.core.primitives.elementwise import le as le_p
from tinyjax.core.primitives.elementwise import le_to as le_to_p
from tinyjax.core.primitives.elementwise import log1p as log1p_p
from tinyjax.core.primitives.elementwise import log as log_p
from tinyjax.core.primitives.elementwise import logistic as logistic_p
from tinyjax.core.primitives.elementwise import lt as lt_p
from tinyjax.core.primitives.elementwise import lt_to as lt_to_p
from tinyjax.core.primitives.elementwise import max_ as max_p
from tinyjax.core.primitives.elementwise import min_ as min_p
from tinyjax.core.primitives.elementwise import mul as mul_p
from tinyjax.core.primitives.elementwise import ne as ne_p
from tinyjax.core.primitives.elementwise import neg as neg_p
from tinyjax.core.primitives.elementwise import nextafter as nextafter_p
from tinyjax.core.primitives.elementwise import not_ as not_p
from tinyjax.core.primitives.elementwise import or_ as or_p
from tinyjax.core.primitives.elementwise import population_count as population_count_p
from tinyjax.core.primitives.elementwise import pow_ as pow_p
from tinyjax.core.primitives.elementwise import real as real_p
from tinyjax.core.primitives.elementwise import rem as rem_p
from tinyjax.core.primitives.elementwise import round_ as round_p
from tinyjax.core.primitives.elementwise import rsqrt as rsqrt_p
from tinyjax.core.primitives.elementwise import select_p as select_n_p
from tinyjax.core.primitives.elementwise import shift_left as shift_left_p
from tinyjax.core.primitives.elementwise import shift_right_arithmetic as shift_right_arithmetic_p
from tinyjax.core.primitives.elementwise import shift_right_logical as shift_right_logical_p
from tinyjax.core.primitives.elementwise import sign as sign_p
from tinyjax.core.primitives.elementwise import sin as sin_p
from tinyjax.core.primitives.elementwise import sinh as sinh_p
from tinyjax.core.primitives.elementwise import sqrt as sqrt_p
from tinyjax.core.primitives.elementwise import sub as sub_p
from tinyjax.core.primitives.elementwise import tan as tan_p
from tinyjax.core.primitives.elementwise import tanh as tanh_p
from tinyjax.core.primitives.elementwise import xor_ as xor_p
from tinyjax.core.primitives.identities import copy_p as copy_p
from tinyjax.core.primitives.identities import dce_sink_p as dce_sink_p
from tinyjax.core.primitives.identities import optimization_barrier_p as optimization_barrier_p
from tinyjax.core.primitives.identities import stage_p as stage_p
from tinyjax.core.primitives.identities import stop_gradient_p as stop_gradient_p
from tinyjax.core.primitives.reduce import reduce_and_p as reduce_and_p
from tinyjax.core.primitives.reduce import reduce_max_p as reduce_max_p
from tinyjax.core.primitives.reduce import reduce_min_p as reduce_min_p
from tinyjax.core.primitives.reduce import reduce_or_p as reduce_or_p
from tinyjax.core.primitives.reduce import reduce_prod_p as reduce_prod_p
from tinyjax.core.primitives.reduce import reduce_xor_p as reduce_xor_p
from tinyjax.core.primitives.shape import iota_p as iota_p
from tinyjax.core.primitives.shape import reshape_p as reshape_p
from tinyjax.core.primitives.shape import rev_p as rev_p
from tinyjax.core.primitives.shape import transpose_p as transpose_p
from tinyjax.core.primitives.slicing import concatenate_p as concatenate_p
from tinyjax.core.primitives.slicing import pad_p as pad_p
from tinyjax.core.primitives.slicing import slice_p as slice_p
from tinyjax.core.primitives.slicing import split_p as split_p
from tinyjax.implicit.linear_operators import custom_linear_solve_p as linear_solve_p

__all__ = [
    'abs_p',
    'acos_p',
    'acosh_p',
    'add_p',
    'all_gather_p',
    'all_to_all_p',
    'and_p',
    'argmax_p',
    'argmin_p',
    'asin_p',
    'asinh_p',
    'atan2_p',
    'atan_p',
    'atanh_p',
    'axis_index_p',
    'bessel_i0e_p',
    'bessel_i1e_p',
    'bitcast_convert_type_p',
    'broadcast_in_dim_p',
    'cbrt_p',
    'ceil_p',
    'clz_p',
    'complex_p',
    'concatenate_p',
    'cond_p',
    'conj_p',
    'conv_general_dilated_p',
    'convert_element_type_p',
    'copy_p',
    'cos_p',
    'cosh_p',
    'cumlogsumexp_p',
    'cummax_p',
    'cummin_p',
    'cumprod_p',
    'cumsum_p',
    'dce_sink_p',
    'digamma_p',
    'div_p',
    'dot_general_p',
    'dynamic_slice_p',
    'dynamic_update_slice_p',
    'eq_p',
    'eq_to_p',
    'erf_inv_p',
    'erf_p',
    'erfc_p',
    'exp2_p',
    'exp_p',
    'expm1_p',
    'fft_p',
    'floor_p',
    'gather_p',
    'ge_p',
    'gt_p',
    'igamma_grad_a_p',
    'igamma_p',
    'igammac_p',
    'imag_p',
    'integer_pow_p',
    'iota_p',
    'is_finite_p',
    'le_p',
    'le_to_p',
    'lgamma_p',
    'linear_solve_p',
    'log1p_p',
    'log_p',
    'logistic_p',
    'lt_p',
    'lt_to_p',
    'max_p',
    'min_p',
    'mul_p',
    'mulhi_p',
    'ne_p',
    'neg_p',
    'nextafter_p',
    'not_p',
    'optimization_barrier_p',
    'or_p',
    'pad_p',
    'pmax_p',
    'pmin_p',
    'polygamma_p',
    'population_count_p',
    'pow_p',
    'ppermute_p',
    'psum_p',
    'real_p',
    'reduce_and_p',
    'reduce_max_p',
    'reduce_min_p',
    'reduce_or_p',
    'reduce_precision_p',
    'reduce_prod_p',
    'reduce_sum_p',
    'reduce_window_max_p',
    'reduce_window_min_p',
    'reduce_window_sum_p',
    'reduce_xor_p',
    'regularized_incomplete_beta_p',
    'rem_p',
    'reshape_p',
    'rev_p',
    'rng_bit_generator_p',
    'round_p',
    'rsqrt_p',
    'scan_p',
    'scatter_add_p',
    'scatter_max_p',
    'scatter_min_p',
    'scatter_mul_p',
    'scatter_p',
    'scatter_sub_p',
    'select_n_p',
    'sharding_constraint_p',
    'shift_left_p',
    'shift_right_arithmetic_p',
    'shift_right_logical_p',
    'sign_p',
    'sin_p',
    'sinh_p',
    'slice_p',
    'sort_p',
    'split_p',
    'sqrt_p',
    'stage_p',
    'stop_gradient_p',
    'sub_p',
    'tan_p',
    'tanh_p',
    'top_k_p',
    'transpose_p',
    'while_p',
    'xor_p',
    'zeta_p',
]

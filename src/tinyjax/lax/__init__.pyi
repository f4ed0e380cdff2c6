# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.parallel.collective import all_gather as all_gather
from tinyjax._extensions.parallel.collective import all_to_all as all_to_all
from tinyjax._extensions.parallel.collective import axis_index as axis_index
from tinyjax._extensions.parallel.collective import axis_size as axis_size
from tinyjax._extensions.parallel.collective import pmax as pmax
from tinyjax._extensions.parallel.collective import pmean as pmean
from tinyjax._extensions.parallel.collective import pmin as pmin
from tinyjax._extensions.parallel.collective import ppermute as ppermute
from tinyjax._extensions.parallel.collective import pshuffle as pshuffle
from tinyjax._extensions.parallel.collective import psum as psum
from tinyjax._extensions.parallel.collective import psum_scatter as psum_scatter
from tinyjax._extensions.parallel.collective import pswapaxes as pswapaxes
from tinyjax._extensions.parallel.constraint import with_sharding_constraint as with_sharding_constraint
from tinyjax._primitives.convolution import ConvDimensionNumbers as ConvDimensionNumbers
from tinyjax._primitives.convolution import conv as conv
from tinyjax._primitives.convolution import conv_dimension_numbers as conv_dimension_numbers
from tinyjax._primitives.convolution import conv_general_dilated as conv_general_dilated
from tinyjax._primitives.convolution import conv_transpose as conv_transpose
from tinyjax._primitives.convolution import conv_with_general_padding as conv_with_general_padding
from tinyjax._primitives.convolution import padtype_to_pads as padtype_to_pads
from tinyjax._primitives.dynamic_slice import dynamic_index_in_dim as dynamic_index_in_dim
from tinyjax._primitives.dynamic_slice import dynamic_slice as dynamic_slice
from tinyjax._primitives.dynamic_slice import dynamic_slice_in_dim as dynamic_slice_in_dim
from tinyjax._primitives.dynamic_slice import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from tinyjax._primitives.dynamic_slice import dynamic_update_slice as dynamic_update_slice
from tinyjax._primitives.dynamic_slice import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from tinyjax._primitives.gather_scatter import GatherDimensionNumbers as GatherDimensionNumbers
from tinyjax._primitives.gather_scatter import ScatterDimensionNumbers as ScatterDimensionNumbers
from tinyjax._primitives.modes import GatherScatterMode as GatherScatterMode
from tinyjax._primitives.precision import DotAlgorithm as DotAlgorithm
from tinyjax._primitives.precision import DotAlgorithmPreset as DotAlgorithmPreset
from tinyjax._primitives.precision import Precision as Precision
from tinyjax._primitives.precision import PrecisionLike as PrecisionLike
from tinyjax._primitives.scatter import gather as gather
from tinyjax._primitives.scatter import scatter as scatter
from tinyjax._primitives.scatter import scatter_add as scatter_add
from tinyjax._primitives.scatter import scatter_apply as scatter_apply
from tinyjax._primitives.scatter import scatter_max as scatter_max
from tinyjax._primitives.scatter import scatter_min as scatter_min
from tinyjax._primitives.scatter import scatter_mul as scatter_mul
from tinyjax._primitives.scatter import scatter_sub as scatter_sub
from tinyjax.core.control_flow.cond import cond as cond
from tinyjax.core.control_flow.cond import switch as switch
from tinyjax.core.control_flow.loops import fori_loop as fori_loop
from tinyjax.core.control_flow.scan import scan as scan
from tinyjax.core.control_flow.while_loop import while_loop as while_loop
from tinyjax.implicit import custom_linear_solve as custom_linear_solve
from tinyjax.implicit import custom_root as custom_root
from tinyjax.lax import linalg as linalg
from tinyjax.lax.elementwise import RoundingMethod as RoundingMethod
from tinyjax.lax.elementwise import abs as abs
from tinyjax.lax.elementwise import acos as acos
from tinyjax.lax.elementwise import acosh as acosh
from tinyjax.lax.elementwise import add as add
from tinyjax.lax.elementwise import asin as asin
from tinyjax.lax.elementwise import asinh as asinh
from tinyjax.lax.elementwise import atan as atan
from tinyjax.lax.elementwise import atan2 as atan2
from tinyjax.lax.elementwise import atanh as atanh
from tinyjax.lax.elementwise import bitcast_convert_type as bitcast_convert_type
from tinyjax.lax.elementwise import bitwise_and as bitwise_and
from tinyjax.lax.elementwise import bitwise_not as bitwise_not
from tinyjax.lax.elementwise import bitwise_or as bitwise_or
from tinyjax.lax.elementwise import bitwise_xor as bitwise_xor
from tinyjax.lax.elementwise import cbrt as cbrt
from tinyjax.lax.elementwise import ceil as ceil
from tinyjax.lax.elementwise import clamp as clamp
from tinyjax.lax.elementwise import clz as clz
from tinyjax.lax.elementwise import complex as complex
from tinyjax.lax.elementwise import conj as conj
from tinyjax.lax.elementwise import convert_element_type as convert_element_type
from tinyjax.lax.elementwise import cos as cos
from tinyjax.lax.elementwise import cosh as cosh
from tinyjax.lax.elementwise import dce_sink as dce_sink
from tinyjax.lax.elementwise import digamma as digamma
from tinyjax.lax.elementwise import div as div
from tinyjax.lax.elementwise import eq as eq
from tinyjax.lax.elementwise import erf as erf
from tinyjax.lax.elementwise import erf_inv as erf_inv
from tinyjax.lax.elementwise import erfc as erfc
from tinyjax.lax.elementwise import exp as exp
from tinyjax.lax.elementwise import exp2 as exp2
from tinyjax.lax.elementwise import expm1 as expm1
from tinyjax.lax.elementwise import floor as floor
from tinyjax.lax.elementwise import ge as ge
from tinyjax.lax.elementwise import gt as gt
from tinyjax.lax.elementwise import imag as imag
from tinyjax.lax.elementwise import integer_pow as integer_pow
from tinyjax.lax.elementwise import is_finite as is_finite
from tinyjax.lax.elementwise import le as le
from tinyjax.lax.elementwise import lgamma as lgamma
from tinyjax.lax.elementwise import log as log
from tinyjax.lax.elementwise import log1p as log1p
from tinyjax.lax.elementwise import logistic as logistic
from tinyjax.lax.elementwise import lt as lt
from tinyjax.lax.elementwise import max as max
from tinyjax.lax.elementwise import min as min
from tinyjax.lax.elementwise import mul as mul
from tinyjax.lax.elementwise import mulhi as mulhi
from tinyjax.lax.elementwise import ne as ne
from tinyjax.lax.elementwise import neg as neg
from tinyjax.lax.elementwise import nextafter as nextafter
from tinyjax.lax.elementwise import optimization_barrier as optimization_barrier
from tinyjax.lax.elementwise import polygamma as polygamma
from tinyjax.lax.elementwise import population_count as population_count
from tinyjax.lax.elementwise import pow as pow
from tinyjax.lax.elementwise import real as real
from tinyjax.lax.elementwise import reciprocal as reciprocal
from tinyjax.lax.elementwise import reduce_precision as reduce_precision
from tinyjax.lax.elementwise import rem as rem
from tinyjax.lax.elementwise import round as round
from tinyjax.lax.elementwise import rsqrt as rsqrt
from tinyjax.lax.elementwise import select as select
from tinyjax.lax.elementwise import select_n as select_n
from tinyjax.lax.elementwise import shift_left as shift_left
from tinyjax.lax.elementwise import shift_right_arithmetic as shift_right_arithmetic
from tinyjax.lax.elementwise import shift_right_logical as shift_right_logical
from tinyjax.lax.elementwise import sign as sign
from tinyjax.lax.elementwise import sin as sin
from tinyjax.lax.elementwise import sinh as sinh
from tinyjax.lax.elementwise import sqrt as sqrt
from tinyjax.lax.elementwise import square as square
from tinyjax.lax.elementwise import stage as stage
from tinyjax.lax.elementwise import stop_gradient as stop_gradient
from tinyjax.lax.elementwise import sub as sub
from tinyjax.lax.elementwise import tan as tan
from tinyjax.lax.elementwise import tanh as tanh
from tinyjax.lax.elementwise import zeta as zeta
from tinyjax.lax.placement import after_all as after_all
from tinyjax.lax.placement import composite as composite
from tinyjax.lax.placement import create_token as create_token
from tinyjax.lax.placement import pbroadcast as pbroadcast
from tinyjax.lax.placement import pcast as pcast
from tinyjax.lax.placement import platform_dependent as platform_dependent
from tinyjax.lax.products import AccuracyMode as AccuracyMode
from tinyjax.lax.products import DotDimensionNumbers as DotDimensionNumbers
from tinyjax.lax.products import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
from tinyjax.lax.products import Tolerance as Tolerance
from tinyjax.lax.products import batch_matmul as batch_matmul
from tinyjax.lax.products import dot as dot
from tinyjax.lax.products import dot_general as dot_general
from tinyjax.lax.products import ragged_dot as ragged_dot
from tinyjax.lax.products import ragged_dot_general as ragged_dot_general
from tinyjax.lax.products import scaled_dot as scaled_dot
from tinyjax.lax.reductions import ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers
from tinyjax.lax.reductions import argmax as argmax
from tinyjax.lax.reductions import argmin as argmin
from tinyjax.lax.reductions import conv_general_dilated_local as conv_general_dilated_local
from tinyjax.lax.reductions import conv_general_dilated_patches as conv_general_dilated_patches
from tinyjax.lax.reductions import conv_general_permutations as conv_general_permutations
from tinyjax.lax.reductions import conv_general_shape_tuple as conv_general_shape_tuple
from tinyjax.lax.reductions import conv_shape_tuple as conv_shape_tuple
from tinyjax.lax.reductions import conv_transpose_shape_tuple as conv_transpose_shape_tuple
from tinyjax.lax.reductions import cumlogsumexp as cumlogsumexp
from tinyjax.lax.reductions import cummax as cummax
from tinyjax.lax.reductions import cummin as cummin
from tinyjax.lax.reductions import cumprod as cumprod
from tinyjax.lax.reductions import cumsum as cumsum
from tinyjax.lax.reductions import reduce as reduce
from tinyjax.lax.reductions import reduce_and as reduce_and
from tinyjax.lax.reductions import reduce_max as reduce_max
from tinyjax.lax.reductions import reduce_min as reduce_min
from tinyjax.lax.reductions import reduce_or as reduce_or
from tinyjax.lax.reductions import reduce_prod as reduce_prod
from tinyjax.lax.reductions import reduce_sum as reduce_sum
from tinyjax.lax.reductions import reduce_window as reduce_window
from tinyjax.lax.reductions import reduce_window_shape_tuple as reduce_window_shape_tuple
from tinyjax.lax.reductions import reduce_xor as reduce_xor
from tinyjax.lax.scans import associative_scan as associative_scan
from tinyjax.lax.scans import map_ as map
from tinyjax.lax.shapes import approx_max_k as approx_max_k
from tinyjax.lax.shapes import approx_min_k as approx_min_k
from tinyjax.lax.shapes import broadcast as broadcast
from tinyjax.lax.shapes import broadcast_in_dim as broadcast_in_dim
from tinyjax.lax.shapes import broadcast_like as broadcast_like
from tinyjax.lax.shapes import broadcast_to_rank as broadcast_to_rank
from tinyjax.lax.shapes import broadcasted_iota as broadcasted_iota
from tinyjax.lax.shapes import collapse as collapse
from tinyjax.lax.shapes import concatenate as concatenate
from tinyjax.lax.shapes import dtype as dtype
from tinyjax.lax.shapes import empty as empty
from tinyjax.lax.shapes import expand_dims as expand_dims
from tinyjax.lax.shapes import full as full
from tinyjax.lax.shapes import full_like as full_like
from tinyjax.lax.shapes import index_in_dim as index_in_dim
from tinyjax.lax.shapes import index_take as index_take
from tinyjax.lax.shapes import iota as iota
from tinyjax.lax.shapes import pad as pad
from tinyjax.lax.shapes import reshape as reshape
from tinyjax.lax.shapes import rev as rev
from tinyjax.lax.shapes import shape_as_value as shape_as_value
from tinyjax.lax.shapes import slice as slice
from tinyjax.lax.shapes import slice_in_dim as slice_in_dim
from tinyjax.lax.shapes import sort as sort
from tinyjax.lax.shapes import sort_key_val as sort_key_val
from tinyjax.lax.shapes import split as split
from tinyjax.lax.shapes import squeeze as squeeze
from tinyjax.lax.shapes import stack as stack
from tinyjax.lax.shapes import tile as tile
from tinyjax.lax.shapes import top_k as top_k
from tinyjax.lax.shapes import transpose as transpose
from tinyjax.lax.shapes import unstack as unstack
from tinyjax.lax.special import FftType as FftType
from tinyjax.lax.special import RandomAlgorithm as RandomAlgorithm
from tinyjax.lax.special import bessel_i0e as bessel_i0e
from tinyjax.lax.special import bessel_i1e as bessel_i1e
from tinyjax.lax.special import betainc as betainc
from tinyjax.lax.special import fft as fft
from tinyjax.lax.special import igamma as igamma
from tinyjax.lax.special import igamma_grad_a as igamma_grad_a
from tinyjax.lax.special import igammac as igammac
from tinyjax.lax.special import random_gamma_grad as random_gamma_grad
from tinyjax.lax.special import rng_bit_generator as rng_bit_generator
from tinyjax.numpy.promotion import broadcast_shapes as broadcast_shapes
from tinyjax.lax.primitives import *

__all__ = [
    'AccuracyMode',
    'ConvDimensionNumbers',
    'ConvGeneralDilatedDimensionNumbers',
    'DotAlgorithm',
    'DotAlgorithmPreset',
    'DotDimensionNumbers',
    'FftType',
    'GatherDimensionNumbers',
    'GatherScatterMode',
    'Precision',
    'PrecisionLike',
    'RaggedDotDimensionNumbers',
    'RandomAlgorithm',
    'RoundingMethod',
    'ScatterDimensionNumbers',
    'Tolerance',
    'abs',
    'acos',
    'acosh',
    'add',
    'after_all',
    'all_gather',
    'all_to_all',
    'approx_max_k',
    'approx_min_k',
    'argmax',
    'argmin',
    'asin',
    'asinh',
    'associative_scan',
    'atan',
    'atan2',
    'atanh',
    'axis_index',
    'axis_size',
    'batch_matmul',
    'bessel_i0e',
    'bessel_i1e',
    'betainc',
    'bitcast_convert_type',
    'bitwise_and',
    'bitwise_not',
    'bitwise_or',
    'bitwise_xor',
    'broadcast',
    'broadcast_in_dim',
    'broadcast_like',
    'broadcast_shapes',
    'broadcast_to_rank',
    'broadcasted_iota',
    'cbrt',
    'ceil',
    'clamp',
    'clz',
    'collapse',
    'complex',
    'composite',
    'concatenate',
    'cond',
    'conj',
    'conv',
    'conv_dimension_numbers',
    'conv_general_dilated',
    'conv_general_dilated_local',
    'conv_general_dilated_patches',
    'conv_general_permutations',
    'conv_general_shape_tuple',
    'conv_shape_tuple',
    'conv_transpose',
    'conv_transpose_shape_tuple',
    'conv_with_general_padding',
    'convert_element_type',
    'cos',
    'cosh',
    'create_token',
    'cumlogsumexp',
    'cummax',
    'cummin',
    'cumprod',
    'cumsum',
    'custom_linear_solve',
    'custom_root',
    'dce_sink',
    'digamma',
    'div',
    'dot',
    'dot_general',
    'dtype',
    'dynamic_index_in_dim',
    'dynamic_slice',
    'dynamic_slice_in_dim',
    'dynamic_update_index_in_dim',
    'dynamic_update_slice',
    'dynamic_update_slice_in_dim',
    'empty',
    'eq',
    'erf',
    'erf_inv',
    'erfc',
    'exp',
    'exp2',
    'expand_dims',
    'expm1',
    'fft',
    'floor',
    'fori_loop',
    'full',
    'full_like',
    'gather',
    'ge',
    'gt',
    'igamma',
    'igamma_grad_a',
    'igammac',
    'imag',
    'index_in_dim',
    'index_take',
    'integer_pow',
    'iota',
    'is_finite',
    'le',
    'lgamma',
    'linalg',
    'log',
    'log1p',
    'logistic',
    'lt',
    'map',
    'max',
    'min',
    'mul',
    'mulhi',
    'ne',
    'neg',
    'nextafter',
    'optimization_barrier',
    'pad',
    'padtype_to_pads',
    'pbroadcast',
    'pcast',
    'platform_dependent',
    'pmax',
    'pmean',
    'pmin',
    'polygamma',
    'population_count',
    'pow',
    'ppermute',
    'pshuffle',
    'psum',
    'psum_scatter',
    'pswapaxes',
    'ragged_dot',
    'ragged_dot_general',
    'random_gamma_grad',
    'real',
    'reciprocal',
    'reduce',
    'reduce_and',
    'reduce_max',
    'reduce_min',
    'reduce_or',
    'reduce_precision',
    'reduce_prod',
    'reduce_sum',
    'reduce_window',
    'reduce_window_shape_tuple',
    'reduce_xor',
    'rem',
    'reshape',
    'rev',
    'rng_bit_generator',
    'round',
    'rsqrt',
    'scaled_dot',
    'scan',
    'scatter',
    'scatter_add',
    'scatter_apply',
    'scatter_max',
    'scatter_min',
    'scatter_mul',
    'scatter_sub',
    'select',
    'select_n',
    'shape_as_value',
    'shift_left',
    'shift_right_arithmetic',
    'shift_right_logical',
    'sign',
    'sin',
    'sinh',
    'slice',
    'slice_in_dim',
    'sort',
    'sort_key_val',
    'split',
    'sqrt',
    'square',
    'squeeze',
    'stack',
    'stage',
    'stop_gradient',
    'sub',
    'switch',
    'tan',
    'tanh',
    'tile',
    'top_k',
    'transpose',
    'unstack',
    'while_loop',
    'with_sharding_constraint',
    'zeta',
]

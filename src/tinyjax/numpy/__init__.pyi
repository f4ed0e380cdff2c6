# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._library.special.bessel import kaiser as kaiser
from tinyjax.core.values.array import Array as ndarray
from tinyjax.dtypes import finfo as finfo
from tinyjax.dtypes import iinfo as iinfo
from tinyjax.dtypes import issubdtype as issubdtype
from tinyjax.dtypes import promote_types as promote_types
from tinyjax.dtypes import result_type as result_type
from tinyjax.numpy import fft as fft
from tinyjax.numpy import linalg as linalg
from tinyjax.numpy.bits import byteswap as byteswap
from tinyjax.numpy.bits import frexp as frexp
from tinyjax.numpy.bits import gcd as gcd
from tinyjax.numpy.bits import lcm as lcm
from tinyjax.numpy.bits import packbits as packbits
from tinyjax.numpy.bits import spacing as spacing
from tinyjax.numpy.bits import unpackbits as unpackbits
from tinyjax.numpy.bits import view as view
from tinyjax.numpy.calculus import cross as cross
from tinyjax.numpy.calculus import gradient as gradient
from tinyjax.numpy.calculus import interp as interp
from tinyjax.numpy.calculus import polyval as polyval
from tinyjax.numpy.calculus import trapezoid as trapezoid
from tinyjax.numpy.calculus import unwrap as unwrap
from tinyjax.numpy.contraction import dot as dot
from tinyjax.numpy.contraction import einsum as einsum
from tinyjax.numpy.contraction import einsum_path as einsum_path
from tinyjax.numpy.contraction import inner as inner
from tinyjax.numpy.contraction import kron as kron
from tinyjax.numpy.contraction import matmul as matmul
from tinyjax.numpy.contraction import matvec as matvec
from tinyjax.numpy.contraction import outer as outer
from tinyjax.numpy.contraction import tensordot as tensordot
from tinyjax.numpy.contraction import vdot as vdot
from tinyjax.numpy.contraction import vecdot as vecdot
from tinyjax.numpy.contraction import vecmat as vecmat
from tinyjax.numpy.creation import arange as arange
from tinyjax.numpy.creation import array as array
from tinyjax.numpy.creation import array_equal as array_equal
from tinyjax.numpy.creation import array_equiv as array_equiv
from tinyjax.numpy.creation import asarray as asarray
from tinyjax.numpy.creation import broadcast_to as broadcast_to
from tinyjax.numpy.creation import copy as copy
from tinyjax.numpy.creation import diag as diag
from tinyjax.numpy.creation import diag_indices as diag_indices
from tinyjax.numpy.creation import diagflat as diagflat
from tinyjax.numpy.creation import diagonal as diagonal
from tinyjax.numpy.creation import empty as empty
from tinyjax.numpy.creation import empty_like as empty_like
from tinyjax.numpy.creation import eye as eye
from tinyjax.numpy.creation import full as full
from tinyjax.numpy.creation import full_like as full_like
from tinyjax.numpy.creation import geomspace as geomspace
from tinyjax.numpy.creation import identity as identity
from tinyjax.numpy.creation import indices as indices
from tinyjax.numpy.creation import linspace as linspace
from tinyjax.numpy.creation import logspace as logspace
from tinyjax.numpy.creation import meshgrid as meshgrid
from tinyjax.numpy.creation import ones as ones
from tinyjax.numpy.creation import ones_like as ones_like
from tinyjax.numpy.creation import trace as trace
from tinyjax.numpy.creation import tri as tri
from tinyjax.numpy.creation import tril as tril
from tinyjax.numpy.creation import tril_indices as tril_indices
from tinyjax.numpy.creation import tril_indices_from as tril_indices_from
from tinyjax.numpy.creation import triu as triu
from tinyjax.numpy.creation import triu_indices as triu_indices
from tinyjax.numpy.creation import triu_indices_from as triu_indices_from
from tinyjax.numpy.creation import vander as vander
from tinyjax.numpy.creation import zeros as zeros
from tinyjax.numpy.creation import zeros_like as zeros_like
from tinyjax.numpy.editing import apply_along_axis as apply_along_axis
from tinyjax.numpy.editing import apply_over_axes as apply_over_axes
from tinyjax.numpy.editing import delete as delete
from tinyjax.numpy.editing import fill_diagonal as fill_diagonal
from tinyjax.numpy.editing import fromfunction as fromfunction
from tinyjax.numpy.editing import insert as insert
from tinyjax.numpy.editing import pad as pad
from tinyjax.numpy.editing import piecewise as piecewise
from tinyjax.numpy.editing import place as place
from tinyjax.numpy.editing import put as put
from tinyjax.numpy.editing import trim_zeros as trim_zeros
from tinyjax.numpy.elementwise import abs as abs
from tinyjax.numpy.elementwise import absolute as absolute
from tinyjax.numpy.elementwise import acos as acos
from tinyjax.numpy.elementwise import acosh as acosh
from tinyjax.numpy.elementwise import add as add
from tinyjax.numpy.elementwise import angle as angle
from tinyjax.numpy.elementwise import arccos as arccos
from tinyjax.numpy.elementwise import arccosh as arccosh
from tinyjax.numpy.elementwise import arcsin as arcsin
from tinyjax.numpy.elementwise import arcsinh as arcsinh
from tinyjax.numpy.elementwise import arctan as arctan
from tinyjax.numpy.elementwise import arctan2 as arctan2
from tinyjax.numpy.elementwise import arctanh as arctanh
from tinyjax.numpy.elementwise import around as around
from tinyjax.numpy.elementwise import asin as asin
from tinyjax.numpy.elementwise import asinh as asinh
from tinyjax.numpy.elementwise import astype as astype
from tinyjax.numpy.elementwise import atan as atan
from tinyjax.numpy.elementwise import atan2 as atan2
from tinyjax.numpy.elementwise import atanh as atanh
from tinyjax.numpy.elementwise import bitwise_and as bitwise_and
from tinyjax.numpy.elementwise import bitwise_count as bitwise_count
from tinyjax.numpy.elementwise import bitwise_invert as bitwise_invert
from tinyjax.numpy.elementwise import bitwise_left_shift as bitwise_left_shift
from tinyjax.numpy.elementwise import bitwise_not as bitwise_not
from tinyjax.numpy.elementwise import bitwise_or as bitwise_or
from tinyjax.numpy.elementwise import bitwise_right_shift as bitwise_right_shift
from tinyjax.numpy.elementwise import bitwise_xor as bitwise_xor
from tinyjax.numpy.elementwise import cbrt as cbrt
from tinyjax.numpy.elementwise import ceil as ceil
from tinyjax.numpy.elementwise import clip as clip
from tinyjax.numpy.elementwise import conj as conj
from tinyjax.numpy.elementwise import conjugate as conjugate
from tinyjax.numpy.elementwise import copysign as copysign
from tinyjax.numpy.elementwise import cos as cos
from tinyjax.numpy.elementwise import cosh as cosh
from tinyjax.numpy.elementwise import deg2rad as deg2rad
from tinyjax.numpy.elementwise import degrees as degrees
from tinyjax.numpy.elementwise import divide as divide
from tinyjax.numpy.elementwise import divmod as divmod
from tinyjax.numpy.elementwise import equal as equal
from tinyjax.numpy.elementwise import exp as exp
from tinyjax.numpy.elementwise import exp2 as exp2
from tinyjax.numpy.elementwise import expm1 as expm1
from tinyjax.numpy.elementwise import fabs as fabs
from tinyjax.numpy.elementwise import fix as fix
from tinyjax.numpy.elementwise import float_power as float_power
from tinyjax.numpy.elementwise import floor as floor
from tinyjax.numpy.elementwise import floor_divide as floor_divide
from tinyjax.numpy.elementwise import fmax as fmax
from tinyjax.numpy.elementwise import fmin as fmin
from tinyjax.numpy.elementwise import fmod as fmod
from tinyjax.numpy.elementwise import greater as greater
from tinyjax.numpy.elementwise import greater_equal as greater_equal
from tinyjax.numpy.elementwise import heaviside as heaviside
from tinyjax.numpy.elementwise import hypot as hypot
from tinyjax.numpy.elementwise import imag as imag
from tinyjax.numpy.elementwise import invert as invert
from tinyjax.numpy.elementwise import isclose as isclose
from tinyjax.numpy.elementwise import iscomplex as iscomplex
from tinyjax.numpy.elementwise import isfinite as isfinite
from tinyjax.numpy.elementwise import isinf as isinf
from tinyjax.numpy.elementwise import isnan as isnan
from tinyjax.numpy.elementwise import isneginf as isneginf
from tinyjax.numpy.elementwise import isposinf as isposinf
from tinyjax.numpy.elementwise import isreal as isreal
from tinyjax.numpy.elementwise import ldexp as ldexp
from tinyjax.numpy.elementwise import left_shift as left_shift
from tinyjax.numpy.elementwise import less as less
from tinyjax.numpy.elementwise import less_equal as less_equal
from tinyjax.numpy.elementwise import log as log
from tinyjax.numpy.elementwise import log10 as log10
from tinyjax.numpy.elementwise import log1p as log1p
from tinyjax.numpy.elementwise import log2 as log2
from tinyjax.numpy.elementwise import logaddexp as logaddexp
from tinyjax.numpy.elementwise import logaddexp2 as logaddexp2
from tinyjax.numpy.elementwise import logical_and as logical_and
from tinyjax.numpy.elementwise import logical_not as logical_not
from tinyjax.numpy.elementwise import logical_or as logical_or
from tinyjax.numpy.elementwise import logical_xor as logical_xor
from tinyjax.numpy.elementwise import maximum as maximum
from tinyjax.numpy.elementwise import minimum as minimum
from tinyjax.numpy.elementwise import mod as mod
from tinyjax.numpy.elementwise import modf as modf
from tinyjax.numpy.elementwise import multiply as multiply
from tinyjax.numpy.elementwise import nan_to_num as nan_to_num
from tinyjax.numpy.elementwise import negative as negative
from tinyjax.numpy.elementwise import nextafter as nextafter
from tinyjax.numpy.elementwise import not_equal as not_equal
from tinyjax.numpy.elementwise import positive as positive
from tinyjax.numpy.elementwise import pow as pow
from tinyjax.numpy.elementwise import power as power
from tinyjax.numpy.elementwise import rad2deg as rad2deg
from tinyjax.numpy.elementwise import radians as radians
from tinyjax.numpy.elementwise import real as real
from tinyjax.numpy.elementwise import reciprocal as reciprocal
from tinyjax.numpy.elementwise import remainder as remainder
from tinyjax.numpy.elementwise import right_shift as right_shift
from tinyjax.numpy.elementwise import rint as rint
from tinyjax.numpy.elementwise import round as round
from tinyjax.numpy.elementwise import sign as sign
from tinyjax.numpy.elementwise import signbit as signbit
from tinyjax.numpy.elementwise import sin as sin
from tinyjax.numpy.elementwise import sinc as sinc
from tinyjax.numpy.elementwise import sinh as sinh
from tinyjax.numpy.elementwise import sqrt as sqrt
from tinyjax.numpy.elementwise import square as square
from tinyjax.numpy.elementwise import subtract as subtract
from tinyjax.numpy.elementwise import tan as tan
from tinyjax.numpy.elementwise import tanh as tanh
from tinyjax.numpy.elementwise import true_divide as true_divide
from tinyjax.numpy.elementwise import trunc as trunc
from tinyjax.numpy.exchange import ComplexWarning as ComplexWarning
from tinyjax.numpy.exchange import __array_namespace_info__ as __array_namespace_info__
from tinyjax.numpy.exchange import array_repr as array_repr
from tinyjax.numpy.exchange import array_str as array_str
from tinyjax.numpy.exchange import from_dlpack as from_dlpack
from tinyjax.numpy.exchange import frombuffer as frombuffer
from tinyjax.numpy.exchange import fromfile as fromfile
from tinyjax.numpy.exchange import fromiter as fromiter
from tinyjax.numpy.exchange import fromstring as fromstring
from tinyjax.numpy.exchange import get_printoptions as get_printoptions
from tinyjax.numpy.exchange import iterable as iterable
from tinyjax.numpy.exchange import load as load
from tinyjax.numpy.exchange import printoptions as printoptions
from tinyjax.numpy.exchange import save as save
from tinyjax.numpy.exchange import savez as savez
from tinyjax.numpy.exchange import set_printoptions as set_printoptions
from tinyjax.numpy.index_tricks import c_ as c_
from tinyjax.numpy.index_tricks import diag_indices_from as diag_indices_from
from tinyjax.numpy.index_tricks import index_exp as index_exp
from tinyjax.numpy.index_tricks import mask_indices as mask_indices
from tinyjax.numpy.index_tricks import mgrid as mgrid
from tinyjax.numpy.index_tricks import ogrid as ogrid
from tinyjax.numpy.index_tricks import r_ as r_
from tinyjax.numpy.index_tricks import s_ as s_
from tinyjax.numpy.indexing import getitem as getitem
from tinyjax.numpy.indexing import update_at as update_at
from tinyjax.numpy.manipulation import append as append
from tinyjax.numpy.manipulation import array_split as array_split
from tinyjax.numpy.manipulation import atleast_1d as atleast_1d
from tinyjax.numpy.manipulation import atleast_2d as atleast_2d
from tinyjax.numpy.manipulation import atleast_3d as atleast_3d
from tinyjax.numpy.manipulation import block as block
from tinyjax.numpy.manipulation import broadcast_arrays as broadcast_arrays
from tinyjax.numpy.manipulation import column_stack as column_stack
from tinyjax.numpy.manipulation import concat as concat
from tinyjax.numpy.manipulation import concatenate as concatenate
from tinyjax.numpy.manipulation import diff as diff
from tinyjax.numpy.manipulation import dsplit as dsplit
from tinyjax.numpy.manipulation import dstack as dstack
from tinyjax.numpy.manipulation import ediff1d as ediff1d
from tinyjax.numpy.manipulation import expand_dims as expand_dims
from tinyjax.numpy.manipulation import flip as flip
from tinyjax.numpy.manipulation import fliplr as fliplr
from tinyjax.numpy.manipulation import flipud as flipud
from tinyjax.numpy.manipulation import hsplit as hsplit
from tinyjax.numpy.manipulation import hstack as hstack
from tinyjax.numpy.manipulation import matrix_transpose as matrix_transpose
from tinyjax.numpy.manipulation import moveaxis as moveaxis
from tinyjax.numpy.manipulation import permute_dims as permute_dims
from tinyjax.numpy.manipulation import ravel as ravel
from tinyjax.numpy.manipulation import ravel_multi_index as ravel_multi_index
from tinyjax.numpy.manipulation import reshape as reshape
from tinyjax.numpy.manipulation import resize as resize
from tinyjax.numpy.manipulation import roll as roll
from tinyjax.numpy.manipulation import rollaxis as rollaxis
from tinyjax.numpy.manipulation import rot90 as rot90
from tinyjax.numpy.manipulation import split as split
from tinyjax.numpy.manipulation import squeeze as squeeze
from tinyjax.numpy.manipulation import stack as stack
from tinyjax.numpy.manipulation import swapaxes as swapaxes
from tinyjax.numpy.manipulation import tile as tile
from tinyjax.numpy.manipulation import transpose as transpose
from tinyjax.numpy.manipulation import unravel_index as unravel_index
from tinyjax.numpy.manipulation import unstack as unstack
from tinyjax.numpy.manipulation import vsplit as vsplit
from tinyjax.numpy.manipulation import vstack as vstack
from tinyjax.numpy.polynomials import poly as poly
from tinyjax.numpy.polynomials import polyadd as polyadd
from tinyjax.numpy.polynomials import polyder as polyder
from tinyjax.numpy.polynomials import polydiv as polydiv
from tinyjax.numpy.polynomials import polyfit as polyfit
from tinyjax.numpy.polynomials import polyint as polyint
from tinyjax.numpy.polynomials import polymul as polymul
from tinyjax.numpy.polynomials import polysub as polysub
from tinyjax.numpy.polynomials import roots as roots
from tinyjax.numpy.promotion import broadcast_shapes as broadcast_shapes
from tinyjax.numpy.reductions import all as all
from tinyjax.numpy.reductions import allclose as allclose
from tinyjax.numpy.reductions import max as amax
from tinyjax.numpy.reductions import min as amin
from tinyjax.numpy.reductions import any as any
from tinyjax.numpy.reductions import argmax as argmax
from tinyjax.numpy.reductions import argmin as argmin
from tinyjax.numpy.reductions import average as average
from tinyjax.numpy.reductions import count_nonzero as count_nonzero
from tinyjax.numpy.reductions import max as max
from tinyjax.numpy.reductions import mean as mean
from tinyjax.numpy.reductions import min as min
from tinyjax.numpy.reductions import nanargmax as nanargmax
from tinyjax.numpy.reductions import nanargmin as nanargmin
from tinyjax.numpy.reductions import nanmax as nanmax
from tinyjax.numpy.reductions import nanmean as nanmean
from tinyjax.numpy.reductions import nanmin as nanmin
from tinyjax.numpy.reductions import nanprod as nanprod
from tinyjax.numpy.reductions import nanstd as nanstd
from tinyjax.numpy.reductions import nansum as nansum
from tinyjax.numpy.reductions import nanvar as nanvar
from tinyjax.numpy.reductions import prod as prod
from tinyjax.numpy.reductions import ptp as ptp
from tinyjax.numpy.reductions import std as std
from tinyjax.numpy.reductions import sum as sum
from tinyjax.numpy.reductions import var as var
from tinyjax.numpy.scalar_types import ScalarType as ScalarType
from tinyjax.numpy.scalar_types import __array_api_version__ as __array_api_version__
from tinyjax.numpy.scalar_types import bfloat16 as bfloat16
from tinyjax.numpy.scalar_types import bool_ as bool
from tinyjax.numpy.scalar_types import bool_ as bool_
from tinyjax.numpy.scalar_types import can_cast as can_cast
from tinyjax.numpy.scalar_types import cdouble as cdouble
from tinyjax.numpy.scalar_types import complex128 as complex128
from tinyjax.numpy.scalar_types import complex64 as complex64
from tinyjax.numpy.scalar_types import complex_ as complex_
from tinyjax.numpy.scalar_types import complexfloating as complexfloating
from tinyjax.numpy.scalar_types import csingle as csingle
from tinyjax.numpy.scalar_types import double as double
from tinyjax.numpy.scalar_types import dtype as dtype
from tinyjax.numpy.scalar_types import e as e
from tinyjax.numpy.scalar_types import euler_gamma as euler_gamma
from tinyjax.numpy.scalar_types import float16 as float16
from tinyjax.numpy.scalar_types import float32 as float32
from tinyjax.numpy.scalar_types import float64 as float64
from tinyjax.numpy.scalar_types import float8_e3m4 as float8_e3m4
from tinyjax.numpy.scalar_types import float8_e4m3 as float8_e4m3
from tinyjax.numpy.scalar_types import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from tinyjax.numpy.scalar_types import float8_e4m3fn as float8_e4m3fn
from tinyjax.numpy.scalar_types import float8_e4m3fnuz as float8_e4m3fnuz
from tinyjax.numpy.scalar_types import float8_e5m2 as float8_e5m2
from tinyjax.numpy.scalar_types import float8_e5m2fnuz as float8_e5m2fnuz
from tinyjax.numpy.scalar_types import float_ as float_
from tinyjax.numpy.scalar_types import floating as floating
from tinyjax.numpy.scalar_types import generic as generic
from tinyjax.numpy.scalar_types import half as half
from tinyjax.numpy.scalar_types import inexact as inexact
from tinyjax.numpy.scalar_types import inf as inf
from tinyjax.numpy.scalar_types import int16 as int16
from tinyjax.numpy.scalar_types import int2 as int2
from tinyjax.numpy.scalar_types import int32 as int32
from tinyjax.numpy.scalar_types import int4 as int4
from tinyjax.numpy.scalar_types import int64 as int64
from tinyjax.numpy.scalar_types import int8 as int8
from tinyjax.numpy.scalar_types import int_ as int_
from tinyjax.numpy.scalar_types import integer as integer
from tinyjax.numpy.scalar_types import iscomplexobj as iscomplexobj
from tinyjax.numpy.scalar_types import isdtype as isdtype
from tinyjax.numpy.scalar_types import isrealobj as isrealobj
from tinyjax.numpy.scalar_types import isscalar as isscalar
from tinyjax.numpy.scalar_types import nan as nan
from tinyjax.numpy.scalar_types import ndim as ndim
from tinyjax.numpy.scalar_types import newaxis as newaxis
from tinyjax.numpy.scalar_types import number as number
from tinyjax.numpy.scalar_types import pi as pi
from tinyjax.numpy.scalar_types import shape as shape
from tinyjax.numpy.scalar_types import signedinteger as signedinteger
from tinyjax.numpy.scalar_types import single as single
from tinyjax.numpy.scalar_types import size as size
from tinyjax.numpy.scalar_types import uint as uint
from tinyjax.numpy.scalar_types import uint16 as uint16
from tinyjax.numpy.scalar_types import uint2 as uint2
from tinyjax.numpy.scalar_types import uint32 as uint32
from tinyjax.numpy.scalar_types import uint4 as uint4
from tinyjax.numpy.scalar_types import uint64 as uint64
from tinyjax.numpy.scalar_types import uint8 as uint8
from tinyjax.numpy.scalar_types import unsignedinteger as unsignedinteger
from tinyjax.numpy.selection import argwhere as argwhere
from tinyjax.numpy.selection import flatnonzero as flatnonzero
from tinyjax.numpy.selection import nonzero as nonzero
from tinyjax.numpy.selection import select as select
from tinyjax.numpy.selection import where as where
from tinyjax.numpy.sets import intersect1d as intersect1d
from tinyjax.numpy.sets import isin as isin
from tinyjax.numpy.sets import setdiff1d as setdiff1d
from tinyjax.numpy.sets import setxor1d as setxor1d
from tinyjax.numpy.sets import union1d as union1d
from tinyjax.numpy.sets import unique as unique
from tinyjax.numpy.sets import unique_all as unique_all
from tinyjax.numpy.sets import unique_counts as unique_counts
from tinyjax.numpy.sets import unique_inverse as unique_inverse
from tinyjax.numpy.sets import unique_values as unique_values
from tinyjax.numpy.sorting import argpartition as argpartition
from tinyjax.numpy.sorting import argsort as argsort
from tinyjax.numpy.sorting import cumprod as cumprod
from tinyjax.numpy.sorting import cumsum as cumsum
from tinyjax.numpy.sorting import cumulative_prod as cumulative_prod
from tinyjax.numpy.sorting import cumulative_sum as cumulative_sum
from tinyjax.numpy.sorting import lexsort as lexsort
from tinyjax.numpy.sorting import median as median
from tinyjax.numpy.sorting import nancumprod as nancumprod
from tinyjax.numpy.sorting import nancumsum as nancumsum
from tinyjax.numpy.sorting import nanmedian as nanmedian
from tinyjax.numpy.sorting import nanpercentile as nanpercentile
from tinyjax.numpy.sorting import nanquantile as nanquantile
from tinyjax.numpy.sorting import partition as partition
from tinyjax.numpy.sorting import percentile as percentile
from tinyjax.numpy.sorting import quantile as quantile
from tinyjax.numpy.sorting import sort as sort
from tinyjax.numpy.sorting import sort_complex as sort_complex
from tinyjax.numpy.statistics import bincount as bincount
from tinyjax.numpy.statistics import convolve as convolve
from tinyjax.numpy.statistics import corrcoef as corrcoef
from tinyjax.numpy.statistics import correlate as correlate
from tinyjax.numpy.statistics import cov as cov
from tinyjax.numpy.statistics import histogram as histogram
from tinyjax.numpy.statistics import histogram2d as histogram2d
from tinyjax.numpy.statistics import histogram_bin_edges as histogram_bin_edges
from tinyjax.numpy.statistics import histogramdd as histogramdd
from tinyjax.numpy.taking import choose as choose
from tinyjax.numpy.taking import compress as compress
from tinyjax.numpy.taking import digitize as digitize
from tinyjax.numpy.taking import extract as extract
from tinyjax.numpy.taking import ix_ as ix_
from tinyjax.numpy.taking import put_along_axis as put_along_axis
from tinyjax.numpy.taking import repeat as repeat
from tinyjax.numpy.taking import searchsorted as searchsorted
from tinyjax.numpy.taking import take as take
from tinyjax.numpy.taking import take_along_axis as take_along_axis
from tinyjax.numpy.taking import top_k as top_k
from tinyjax.numpy.ufuncs import frompyfunc as frompyfunc
from tinyjax.numpy.ufuncs import ufunc as ufunc
from tinyjax.numpy.ufuncs import vectorize as vectorize
from tinyjax.numpy.windows import bartlett as bartlett
from tinyjax.numpy.windows import blackman as blackman
from tinyjax.numpy.windows import hamming as hamming
from tinyjax.numpy.windows import hanning as hanning
from tinyjax.scipy.special.bessel import i0 as i0

__all__ = [
    'ComplexWarning',
    'ScalarType',
    '__array_api_version__',
    '__array_namespace_info__',
    'abs',
    'absolute',
    'acos',
    'acosh',
    'add',
    'all',
    'allclose',
    'amax',
    'amin',
    'angle',
    'any',
    'append',
    'apply_along_axis',
    'apply_over_axes',
    'arange',
    'arccos',
    'arccosh',
    'arcsin',
    'arcsinh',
    'arctan',
    'arctan2',
    'arctanh',
    'argmax',
    'argmin',
    'argpartition',
    'argsort',
    'argwhere',
    'around',
    'array',
    'array_equal',
    'array_equiv',
    'array_repr',
    'array_split',
    'array_str',
    'asarray',
    'asin',
    'asinh',
    'astype',
    'atan',
    'atan2',
    'atanh',
    'atleast_1d',
    'atleast_2d',
    'atleast_3d',
    'average',
    'bartlett',
    'bfloat16',
    'bincount',
    'bitwise_and',
    'bitwise_count',
    'bitwise_invert',
    'bitwise_left_shift',
    'bitwise_not',
    'bitwise_or',
    'bitwise_right_shift',
    'bitwise_xor',
    'blackman',
    'block',
    'bool',
    'bool_',
    'broadcast_arrays',
    'broadcast_shapes',
    'broadcast_to',
    'byteswap',
    'c_',
    'can_cast',
    'cbrt',
    'cdouble',
    'ceil',
    'choose',
    'clip',
    'column_stack',
    'complex128',
    'complex64',
    'complex_',
    'complexfloating',
    'compress',
    'concat',
    'concatenate',
    'conj',
    'conjugate',
    'convolve',
    'copy',
    'copysign',
    'corrcoef',
    'correlate',
    'cos',
    'cosh',
    'count_nonzero',
    'cov',
    'cross',
    'csingle',
    'cumprod',
    'cumsum',
    'cumulative_prod',
    'cumulative_sum',
    'deg2rad',
    'degrees',
    'delete',
    'diag',
    'diag_indices',
    'diag_indices_from',
    'diagflat',
    'diagonal',
    'diff',
    'digitize',
    'divide',
    'divmod',
    'dot',
    'double',
    'dsplit',
    'dstack',
    'dtype',
    'e',
    'ediff1d',
    'einsum',
    'einsum_path',
    'empty',
    'empty_like',
    'equal',
    'euler_gamma',
    'exp',
    'exp2',
    'expand_dims',
    'expm1',
    'extract',
    'eye',
    'fabs',
    'fft',
    'fill_diagonal',
    'finfo',
    'fix',
    'flatnonzero',
    'flip',
    'fliplr',
    'flipud',
    'float16',
    'float32',
    'float64',
    'float8_e3m4',
    'float8_e4m3',
    'float8_e4m3b11fnuz',
    'float8_e4m3fn',
    'float8_e4m3fnuz',
    'float8_e5m2',
    'float8_e5m2fnuz',
    'float_',
    'float_power',
    'floating',
    'floor',
    'floor_divide',
    'fmax',
    'fmin',
    'fmod',
    'frexp',
    'from_dlpack',
    'frombuffer',
    'fromfile',
    'fromfunction',
    'fromiter',
    'frompyfunc',
    'fromstring',
    'full',
    'full_like',
    'gcd',
    'generic',
    'geomspace',
    'get_printoptions',
    'getitem',
    'gradient',
    'greater',
    'greater_equal',
    'half',
    'hamming',
    'hanning',
    'heaviside',
    'histogram',
    'histogram2d',
    'histogram_bin_edges',
    'histogramdd',
    'hsplit',
    'hstack',
    'hypot',
    'i0',
    'identity',
    'iinfo',
    'imag',
    'index_exp',
    'indices',
    'inexact',
    'inf',
    'inner',
    'insert',
    'int16',
    'int2',
    'int32',
    'int4',
    'int64',
    'int8',
    'int_',
    'integer',
    'interp',
    'intersect1d',
    'invert',
    'isclose',
    'iscomplex',
    'iscomplexobj',
    'isdtype',
    'isfinite',
    'isin',
    'isinf',
    'isnan',
    'isneginf',
    'isposinf',
    'isreal',
    'isrealobj',
    'isscalar',
    'issubdtype',
    'iterable',
    'ix_',
    'kaiser',
    'kron',
    'lcm',
    'ldexp',
    'left_shift',
    'less',
    'less_equal',
    'lexsort',
    'linalg',
    'linspace',
    'load',
    'log',
    'log10',
    'log1p',
    'log2',
    'logaddexp',
    'logaddexp2',
    'logical_and',
    'logical_not',
    'logical_or',
    'logical_xor',
    'logspace',
    'mask_indices',
    'matmul',
    'matrix_transpose',
    'matvec',
    'max',
    'maximum',
    'mean',
    'median',
    'meshgrid',
    'mgrid',
    'min',
    'minimum',
    'mod',
    'modf',
    'moveaxis',
    'multiply',
    'nan',
    'nan_to_num',
    'nanargmax',
    'nanargmin',
    'nancumprod',
    'nancumsum',
    'nanmax',
    'nanmean',
    'nanmedian',
    'nanmin',
    'nanpercentile',
    'nanprod',
    'nanquantile',
    'nanstd',
    'nansum',
    'nanvar',
    'ndarray',
    'ndim',
    'negative',
    'newaxis',
    'nextafter',
    'nonzero',
    'not_equal',
    'number',
    'ogrid',
    'ones',
    'ones_like',
    'outer',
    'packbits',
    'pad',
    'partition',
    'percentile',
    'permute_dims',
    'pi',
    'piecewise',
    'place',
    'poly',
    'polyadd',
    'polyder',
    'polydiv',
    'polyfit',
    'polyint',
    'polymul',
    'polysub',
    'polyval',
    'positive',
    'pow',
    'power',
    'printoptions',
    'prod',
    'promote_types',
    'ptp',
    'put',
    'put_along_axis',
    'quantile',
    'r_',
    'rad2deg',
    'radians',
    'ravel',
    'ravel_multi_index',
    'real',
    'reciprocal',
    'remainder',
    'repeat',
    'reshape',
    'resize',
    'result_type',
    'right_shift',
    'rint',
    'roll',
    'rollaxis',
    'roots',
    'rot90',
    'round',
    's_',
    'save',
    'savez',
    'searchsorted',
    'select',
    'set_printoptions',
    'setdiff1d',
    'setxor1d',
    'shape',
    'sign',
    'signbit',
    'signedinteger',
    'sin',
    'sinc',
    'single',
    'sinh',
    'size',
    'sort',
    'sort_complex',
    'spacing',
    'split',
    'sqrt',
    'square',
    'squeeze',
    'stack',
    'std',
    'subtract',
    'sum',
    'swapaxes',
    'take',
    'take_along_axis',
    'tan',
    'tanh',
    'tensordot',
    'tile',
    'top_k',
    'trace',
    'transpose',
    'trapezoid',
    'tri',
    'tril',
    'tril_indices',
    'tril_indices_from',
    'trim_zeros',
    'triu',
    'triu_indices',
    'triu_indices_from',
    'true_divide',
    'trunc',
    'ufunc',
    'uint',
    'uint16',
    'uint2',
    'uint32',
    'uint4',
    'uint64',
    'uint8',
    'union1d',
    'unique',
    'unique_all',
    'unique_counts',
    'unique_inverse',
    'unique_values',
    'unpackbits',
    'unravel_index',
    'unsignedinteger',
    'unstack',
    'unwrap',
    'update_at',
    'vander',
    'var',
    'vdot',
    'vecdot',
    'vecmat',
    'vectorize',
    'view',
    'vsplit',
    'vstack',
    'where',
    'zeros',
    'zeros_like',
]

"""The primitives by the names that ``jax.lax`` gives them: loaded when first asked for.

A primitive that JAX has and tinyjax does without, such as ``squeeze_p`` (a ``reshape``), has no
name here.
"""

from tinyjax.control_flow import cond as _cond
from tinyjax.control_flow import scan as _scan
from tinyjax.control_flow import while_loop as _while_loop
from tinyjax.implicit import linear_operators as _linear_operators
from tinyjax.primitives import barrier as _barrier
from tinyjax.primitives import bitcast as _bitcast
from tinyjax.primitives import bits as _bits
from tinyjax.primitives import broadcast as _bc
from tinyjax.primitives import collective as _collective
from tinyjax.primitives import constraint as _constraint
from tinyjax.primitives import convolution as _convolution
from tinyjax.primitives import cumulative as _cu
from tinyjax.primitives import dot as _dot
from tinyjax.primitives import dynamic_slice as _dynamic_slice
from tinyjax.primitives import elementwise as _ew
from tinyjax.primitives import fft as _fft
from tinyjax.primitives import gather_scatter as _gather_scatter
from tinyjax.primitives import identities as _id
from tinyjax.primitives import philox as _philox
from tinyjax.primitives import precision as _precision
from tinyjax.primitives import reduce as _rd
from tinyjax.primitives import reduce_window as _wi
from tinyjax.primitives import shape as _sh
from tinyjax.primitives import slicing as _slicing
from tinyjax.primitives import sort as _sort
from tinyjax.primitives import special as _sp
from tinyjax.primitives import stop_gradient as _stop_gradient
from tinyjax.special import bessel as _bessel
from tinyjax.special import beta as _beta
from tinyjax.special import gamma as _gamma

abs_p = _ew.abs_
acos_p = _ew.acos
acosh_p = _ew.acosh
add_p = _ew.add
all_gather_p = _collective.all_gather_p
all_to_all_p = _collective.all_to_all_p
and_p = _ew.and_
argmax_p = _rd.argmax_p
argmin_p = _rd.argmin_p
asin_p = _ew.asin
asinh_p = _ew.asinh
atan2_p = _ew.atan2
atan_p = _ew.atan
atanh_p = _ew.atanh
axis_index_p = _collective.axis_index_p
bessel_i0e_p = _bessel.bessel_i0e
bessel_i1e_p = _bessel.bessel_i1e
bitcast_convert_type_p = _bitcast.bitcast_convert_type_p
broadcast_in_dim_p = _bc.broadcast_in_dim_p
cbrt_p = _ew.cbrt
ceil_p = _ew.ceil
clz_p = _bits.clz
complex_p = _ew.complex_
concatenate_p = _slicing.concatenate_p
cond_p = _cond.cond_p
conj_p = _ew.conj
conv_general_dilated_p = _convolution.conv_general_dilated_p
convert_element_type_p = _ew.convert_element_type_p
copy_p = _id.copy_p
cos_p = _ew.cos
cosh_p = _ew.cosh
cumlogsumexp_p = _cu.cumlogsumexp_p
cummax_p = _cu.cummax_p
cummin_p = _cu.cummin_p
cumprod_p = _cu.cumprod_p
cumsum_p = _cu.cumsum_p
dce_sink_p = _id.dce_sink_p
digamma_p = _sp.digamma
div_p = _ew.div
dot_general_p = _dot.dot_general_p
dynamic_slice_p = _dynamic_slice.dynamic_slice_p
dynamic_update_slice_p = _dynamic_slice.dynamic_update_slice_p
eq_p = _ew.eq
eq_to_p = _ew.eq_to
erf_inv_p = _sp.erf_inv
erf_p = _sp.erf
erfc_p = _sp.erfc
exp2_p = _ew.exp2
exp_p = _ew.exp
expm1_p = _ew.expm1
fft_p = _fft.fft_p
floor_p = _ew.floor
gather_p = _gather_scatter.gather_p
ge_p = _ew.ge
gt_p = _ew.gt
igamma_grad_a_p = _gamma.igamma_grad_a
igamma_p = _gamma.igamma
igammac_p = _gamma.igammac
imag_p = _ew.imag
integer_pow_p = _ew.integer_pow_p
iota_p = _sh.iota_p
is_finite_p = _ew.is_finite
le_p = _ew.le
le_to_p = _ew.le_to
lgamma_p = _sp.lgamma
linear_solve_p = _linear_operators.custom_linear_solve_p
log1p_p = _ew.log1p
log_p = _ew.log
logistic_p = _ew.logistic
lt_p = _ew.lt
lt_to_p = _ew.lt_to
max_p = _ew.max_
min_p = _ew.min_
mul_p = _ew.mul
mulhi_p = _bits.mulhi
ne_p = _ew.ne
neg_p = _ew.neg
nextafter_p = _ew.nextafter
not_p = _ew.not_
optimization_barrier_p = _barrier.optimization_barrier_p
or_p = _ew.or_
pad_p = _slicing.pad_p
pmax_p = _collective.pmax_p
pmin_p = _collective.pmin_p
polygamma_p = _sp.polygamma
population_count_p = _ew.population_count
pow_p = _ew.pow_
ppermute_p = _collective.ppermute_p
psum_p = _collective.psum_p
real_p = _ew.real
reduce_and_p = _rd.reduce_and_p
reduce_max_p = _rd.reduce_max_p
reduce_min_p = _rd.reduce_min_p
reduce_or_p = _rd.reduce_or_p
reduce_precision_p = _precision.reduce_precision_p
reduce_prod_p = _rd.reduce_prod_p
reduce_sum_p = _bc.reduce_sum_p
reduce_window_max_p = _wi.reduce_window_max_p
reduce_window_min_p = _wi.reduce_window_min_p
reduce_window_sum_p = _wi.reduce_window_sum_p
reduce_xor_p = _rd.reduce_xor_p
regularized_incomplete_beta_p = _beta.regularized_incomplete_beta
rem_p = _ew.rem
reshape_p = _sh.reshape_p
rev_p = _sh.rev_p
rng_bit_generator_p = _philox.rng_bit_generator_p
round_p = _ew.round_
rsqrt_p = _ew.rsqrt
scan_p = _scan.scan_p
scatter_add_p = _gather_scatter.scatter_add_p
scatter_max_p = _gather_scatter.scatter_max_p
scatter_min_p = _gather_scatter.scatter_min_p
scatter_mul_p = _gather_scatter.scatter_mul_p
scatter_p = _gather_scatter.scatter_p
scatter_sub_p = _gather_scatter.scatter_sub_p
select_n_p = _ew.select_p
sharding_constraint_p = _constraint.sharding_constraint_p
shift_left_p = _ew.shift_left
shift_right_arithmetic_p = _ew.shift_right_arithmetic
shift_right_logical_p = _ew.shift_right_logical
sign_p = _ew.sign
sin_p = _ew.sin
sinh_p = _ew.sinh
slice_p = _slicing.slice_p
sort_p = _sort.sort_p
split_p = _slicing.split_p
sqrt_p = _ew.sqrt
stage_p = _id.stage_p
stop_gradient_p = _stop_gradient.stop_gradient_p
sub_p = _ew.sub
tan_p = _ew.tan
tanh_p = _ew.tanh
top_k_p = _sort.top_k_p
transpose_p = _sh.transpose_p
while_p = _while_loop.while_p
xor_p = _ew.xor_
zeta_p = _sp.zeta

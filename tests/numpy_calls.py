"""Calls of each public function of NumPy's, for tests that run them on traced arguments."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

#: What traced calls are given: ``x`` is traced, and ``k`` and ``b`` are integers and bools of it.
X = np.array([[0.31, 0.72, 0.17], [0.64, 0.23, 0.87]])
OTHERS: dict[str, Any] = {
    "Y": np.array([[0.5, 0.25, 0.75], [0.4, 0.9, 0.1]]),
    "V": np.array([0.2, -0.5, 1.5]),
    "I": np.eye(3),
    "math": math,
    "np": np,
}
Y: Any = OTHERS["Y"]

#: A name to a line, and calls with semicolons between them. Before a call, ``?`` says that the
#: shape of the result depends on data, so that ``jit`` and ``vmap`` raise; ``!`` that all raise.
CALLS = """
all: np.all(b); np.all(b, axis=1, keepdims=True); np.all(x)
allclose: np.allclose(x, Y); np.allclose(x, x + 1e-9, rtol=0.1)
amax: np.amax(x, 1); np.amax(x, axis=0, initial=0.5, where=Y > 0.3)
amin: np.amin(x, 1); np.amin(x, axis=0, initial=0.5, where=Y > 0.3)
angle: np.angle(x + 1j * Y); np.angle(x, deg=True)
any: np.any(b); np.any(b, axis=1, keepdims=True); np.any(x, where=Y > 0.3)
append: np.append(x, Y); np.append(x, [[1.0, 2.0, 3.0]], axis=0); np.append(x, 3.0)
apply_along_axis: np.apply_along_axis(np.sum, 1, x)
apply_over_axes: np.apply_over_axes(np.sum, x, [0, 1])
arange: np.arange(3) * x
argmax: np.argmax(x); np.argmax(x, axis=1); np.argmax(x, 1, keepdims=True)
argmin: np.argmin(x); np.argmin(x, axis=1)
argpartition: np.argpartition(x, 1)[..., 1]
argsort: np.argsort(x); np.argsort(x, axis=0, kind="stable"); np.argsort(x, None)
argwhere: ?np.argwhere(b)
around: np.around(x, 1); np.around(x * 10)
array: !np.array(x); !np.array([x, x]); np.array([x[0], x[1]], like=x); !np.array([x[0, 0], 1.0])
array2string: !np.array2string(x)
array_equal: np.array_equal(x, Y); np.array_equal(x, x)
array_equiv: np.array_equiv(x, x[0])
array_repr: -
array_split: np.array_split(x, 2, axis=1); np.array_split(x[0], [1, 2])
array_str: -
asanyarray: !np.asanyarray(x); np.asanyarray([1.0, 2.0], like=x)
asarray: !np.asarray(x); !np.asarray(a=x, dtype=float); !np.asarray([x]); np.asarray([1.0, 2.0], like=x)
asarray_chkfinite: !np.asarray_chkfinite(x)
ascontiguousarray: !np.ascontiguousarray(x)
asfortranarray: !np.asfortranarray(x)
asmatrix: !np.asmatrix(x)
astype: np.astype(x, np.float32); np.astype(x * 10, np.int64)
atleast_1d: np.atleast_1d(x[0, 0]); np.atleast_1d(x[0, 0], 2.0, x)
atleast_2d: np.atleast_2d(x[0]); np.atleast_2d(x, [1.0, 2.0])
atleast_3d: np.atleast_3d(x); np.atleast_3d(x[0], x)
average: np.average(x); np.average(x, axis=1, weights=V + 1); np.average(x, 0, x); np.average(k)
bartlett: np.bartlett(3) * x
bincount: ?np.bincount(k[0]); ?np.bincount(k[0], x[0]); ?np.bincount(k[0], minlength=20)
blackman: np.blackman(3) * x
block: np.block([[x, Y], [Y, x]]); np.block([x[0], 1.0])
bmat: !np.bmat([[x, x]])
broadcast_arrays: np.broadcast_arrays(x, x[0]); np.broadcast_arrays(x[0], Y, 3.0)
broadcast_to: np.broadcast_to(x, (2, 2, 3)); np.broadcast_to(x[0], [2, 3])
busday_count: !np.busday_count(x, x)
busday_offset: !np.busday_offset(x, x)
can_cast: np.can_cast(x.dtype, np.float32)
choose: ?np.choose(b.astype(np.int64), [x, Y]); np.choose([0, 1, 0], [x[0], x[1]])
clip: np.clip(x, 0.3, 0.6); np.clip(x, None, Y); np.clip(x, a_min=0.3, a_max=None); np.clip(x, min=0.4, max=0.6)
column_stack: np.column_stack([x, Y]); np.column_stack((x[0], [1.0, 2.0, 3.0]))
common_type: np.common_type(x, np.ones(2, np.float32)); np.common_type(x, np.ones(1, complex))
compress: np.compress([True, False, True], x, axis=1); ?np.compress(b[0], x, axis=1)
concat: np.concat([x, Y], axis=1)
concatenate: np.concatenate([x, Y]); np.concatenate((x[0], [1.0]), axis=0); np.concatenate([x, x], axis=None, dtype=np.float32, casting="same_kind")
convolve: np.convolve(x[0], V); np.convolve(x[0], [1.0, 2.0], mode="same"); np.convolve(x[0], x[1], "valid")
copy: np.copy(x); np.copy(x, order="F")
copyto: !np.copyto(np.zeros((2, 3)), x); !np.copyto(x, 0.0)
corrcoef: np.corrcoef(x); np.corrcoef(x[0], x[1])
correlate: np.correlate(x[0], V, "full"); np.correlate(x[0], [1.0, 2.0])
count_nonzero: np.count_nonzero(b); np.count_nonzero(b, axis=1); np.count_nonzero(x > 0.3, keepdims=True)
cov: np.cov(x); np.cov(x, rowvar=False, bias=True); np.cov(x[0], x[1])
cross: np.cross(x[0], x[1]); np.cross(x, V); np.cross(x[0], [1.0, 2.0, 3.0])
cumprod: np.cumprod(x); np.cumprod(x, axis=1); np.cumprod(k, axis=0)
cumsum: np.cumsum(x); np.cumsum(x, axis=1); np.cumsum(b, axis=1); np.cumsum(x, 1, np.float32)
cumulative_prod: np.cumulative_prod(x, axis=1); np.cumulative_prod(x[0], include_initial=True)
cumulative_sum: np.cumulative_sum(x, axis=1); np.cumulative_sum(x[0], include_initial=True)
datetime_as_string: !np.datetime_as_string(x)
delete: np.delete(x, 1, axis=1); np.delete(x[0], [0, 2])
diag: np.diag(x[0]); np.diag(x, 1)
diag_indices_from: np.diag_indices_from(x[:, :2])
diagflat: np.diagflat(x); np.diagflat(x[0], 1)
diagonal: np.diagonal(x); np.diagonal(x, offset=1)
diff: np.diff(x); np.diff(x, n=2, axis=1); np.diff(x, axis=0, prepend=0.0); np.diff(x, append=x[:, :1]); np.diff(b)
digitize: np.digitize(x, [0.2, 0.5, 0.8]); np.digitize(x[0], np.array([0.8, 0.5]), right=True)
dot: np.dot(x, V); np.dot(x, x.T); np.dot(x[0], [1.0, 2.0, 3.0]); np.dot(Y.T, x); np.dot(2.0, x)
dsplit: np.dsplit(x.reshape(1, 2, 3), 3)
dstack: np.dstack([x, Y]); np.dstack((x[0], [1.0, 2.0, 3.0]))
ediff1d: np.ediff1d(x); np.ediff1d(x[0], to_begin=0.0, to_end=[1.0, 2.0])
einsum: np.einsum("ij,kj->ik", x, Y); np.einsum("ij,j", x, x[0], optimize=True); np.einsum(x, [0, 1], x, [0, 1], [0]); np.einsum("ii", x[:, :2])
einsum_path: -
empty_like: np.empty_like(x).shape; np.empty_like(x, shape=(2,)).dtype
empty: -
expand_dims: np.expand_dims(x, 1); np.expand_dims(x, (0, 2)); np.expand_dims(x, axis=-1)
extract: ?np.extract(b, x); ?np.extract(X > 0.5, x)
eye: np.eye(3) @ x.T; np.eye(2, like=x)
fill_diagonal: !np.fill_diagonal(x, 0.0); !np.fill_diagonal(np.eye(2), x[0, 0])
fix: np.fix(x * 10)
flatnonzero: ?np.flatnonzero(b)
flip: np.flip(x); np.flip(x, 1); np.flip(x, axis=(0, 1))
fliplr: np.fliplr(x)
flipud: np.flipud(x)
from_dlpack: !np.from_dlpack(x)
fromfunction: np.fromfunction(lambda i, j: i + j, (2, 3)) * x
frompyfunc: -
full_like: np.full_like(x, 3.0); np.full_like(x, x[0]); !np.full_like(Y, x[0, 0]); np.full_like(x, 2, dtype=np.int64)
full: np.full((2, 3), 1.5, like=x)
geomspace: np.geomspace(x[0], x[1], 4); np.geomspace(1.0, x[0, 0] + 1, num=3)
gradient: np.gradient(x); np.gradient(x[0]); np.gradient(x, 0.5, axis=1); np.gradient(x[0], V.cumsum() * 2)
hamming: np.hamming(3) * x
hanning: np.hanning(3) * x
histogram: np.histogram(x, 4, (0.0, 1.0)); np.histogram(x, [0.0, 0.5, 1.0]); np.histogram(x, 3, (0.0, 1.0), True); np.histogram(X, 3, (0.0, 1.0), weights=x)
histogram2d: np.histogram2d(x[0], x[1], 3, [[0.0, 1.0], [0.0, 1.0]]); np.histogram2d(X[0], X[1], 2, weights=x[0])
histogram_bin_edges: np.histogram_bin_edges(x, 4)
histogramdd: np.histogramdd(x.T, 3, [[0.0, 1.0], [0.0, 1.0]])
hsplit: np.hsplit(x, 3); np.hsplit(x, [1])
hstack: np.hstack([x, Y]); np.hstack((x[0], [1.0], 2.0))
i0: np.i0(x)
identity: np.identity(2, like=x)
imag: np.imag(x + 1j * Y); np.imag(x)
indices: np.indices((2, 3))[0] * x
inner: np.inner(x, Y); np.inner(x[0], [1.0, 2.0, 3.0])
insert: np.insert(x, 1, 5.0, axis=1); np.insert(x[0], [0, 2], x[1, :2])
interp: np.interp(x, [0.0, 0.5, 1.0], [1.0, 3.0, 2.0]); np.interp(x, [0.0, 0.5, 1.0], x[0], left=-1.0); np.interp(0.3, [0.0, 0.5, 1.0], x[1]); np.interp(x, [0.0, 0.5, 1.0], x[0], period=0.8)
intersect1d: ?np.intersect1d(k[0], k[1])
isclose: np.isclose(x, Y, atol=0.2); np.isclose(x, [0.3, 0.7, 0.1], 0.1)
iscomplex: np.iscomplex(x); np.iscomplex(x + 1j * Y)
iscomplexobj: np.iscomplexobj(x); np.iscomplexobj(x * 1j)
isfortran: -
isin: np.isin(k, [3, 7, 8]); np.isin(k, [3, 7], invert=True)
isneginf: np.isneginf(x)
isposinf: np.isposinf(x / 0.0)
isreal: np.isreal(x)
isrealobj: np.isrealobj(x); np.isrealobj(x * 1j)
isscalar: np.isscalar(x)
is_busday: !np.is_busday(x)
iterable: np.iterable(x); np.iterable(x[0, 0])
ix_: np.ix_(k[0], k[1]); ?np.ix_(b[0], b[1])
kaiser: np.kaiser(3, 2.0) * x
kron: np.kron(x, Y); np.kron([1.0, 2.0], x[0])
lexsort: np.lexsort((x[0], k[1])); np.lexsort((x[0], [1, 1, 0])); !np.lexsort([x[0], x[1]])
linspace: np.linspace(x[0], x[1], 4); np.linspace(0, x[0, 0], num=3, endpoint=False); np.linspace(x[0, 0], 2.0, 5, retstep=True); np.linspace(x[0], 1.0, 3, axis=-1)
logspace: np.logspace(x[0], x[1], 4); np.logspace(0.0, x[0, 0], 3, base=2.0)
mask_indices: -
matrix_transpose: np.matrix_transpose(x)
max: np.max(x); np.max(x, axis=1); np.max(x, 0, None, True); np.max(x, initial=2.0); np.max(k)
may_share_memory: !np.may_share_memory(x, x)
mean: np.mean(x); np.mean(x, axis=1, keepdims=True); np.mean(x, where=Y > 0.3); np.mean(b); np.mean(k, axis=0); np.mean(x, dtype=np.float32)
median: np.median(x); np.median(x, axis=1); np.median(x, 0, None, False, True); np.median(k)
meshgrid: np.meshgrid(x[0], x[1]); np.meshgrid(x[0], [1.0, 2.0], indexing="ij", sparse=True)
min: np.min(x); np.min(x, axis=1); np.min(x, 0, None, True); np.min(x, initial=0.2)
min_scalar_type: !np.min_scalar_type(x)
moveaxis: np.moveaxis(x, 0, 1); np.moveaxis(x, [0], [-1])
nan_to_num: np.nan_to_num(x); np.nan_to_num(x / 0.0, posinf=1.0); np.nan_to_num(x, True, 0.0)
nanargmax: np.nanargmax(x); np.nanargmax(x, axis=1)
nanargmin: np.nanargmin(x); np.nanargmin(x, axis=1)
nancumprod: np.nancumprod(x, axis=1)
nancumsum: np.nancumsum(x, axis=1); np.nancumsum(b)
nanmax: np.nanmax(x, axis=1); np.nanmax(x)
nanmean: np.nanmean(np.where(b, x, np.nan)); np.nanmean(x, axis=1, keepdims=True)
nanmedian: np.nanmedian(np.where(Y > 0.3, x, np.nan)); np.nanmedian(x, axis=1)
nanmin: np.nanmin(x, axis=1); np.nanmin(x)
nanpercentile: np.nanpercentile(x, 30); np.nanpercentile(x, [25, 75], axis=1)
nanprod: np.nanprod(x, axis=1); np.nanprod(k)
nanquantile: np.nanquantile(x, 0.3); np.nanquantile(x, [0.25, 0.75], axis=1)
nanstd: np.nanstd(x, axis=1); np.nanstd(x, ddof=1)
nansum: np.nansum(x, axis=1); np.nansum(b)
nanvar: np.nanvar(x, axis=1); np.nanvar(x, 1, None, None, 1); np.nanvar(k)
ndim: np.ndim(x); !np.ndim([x, x])
nested_iters: -
nonzero: ?np.nonzero(b); ?np.nonzero(x)
ones_like: np.ones_like(x); np.ones_like(x, dtype=np.int64); np.ones_like(x, None, "C", True, (2,))
ones: np.ones((2, 3)) * x; np.ones(2, like=x)
outer: np.outer(x[0], x[1]); np.outer(x[0], [1.0, 2.0]); np.outer(V, x)
packbits: np.packbits(b); np.packbits(b, axis=1)
pad: np.pad(x, 1); np.pad(x, ((1, 0), (0, 2)), mode="edge"); np.pad(x, 1, "reflect"); np.pad(x, 1, constant_values=2.0); np.pad(x, (1, 2), mode="wrap")
partition: np.partition(x, 1)[..., 1]; np.partition(x, 1, 0, "introselect")[1]
percentile: np.percentile(x, 30); np.percentile(x, [25, 75], axis=1); np.percentile(x, 50, method="nearest"); np.percentile(k, 40)
permute_dims: np.permute_dims(x, (1, 0))
piecewise: np.piecewise(x, [b, ~b], [lambda t: t**2, 1.0]); np.piecewise(x, [x < 0.5, x >= 0.5], [-1.0, 1.0])
place: !np.place(x, X > 0.5, [0.0]); !np.place(np.zeros(3), X[0] > 0.5, x[0])
poly: np.poly(x[0])
polyadd: np.polyadd(x[0], V); np.polyadd(x[0], [1.0, 2.0])
polyder: np.polyder(x[0]); np.polyder(x[0], 2)
polydiv: np.polydiv(x[0], [1.0, 2.0])[0]
polyfit: np.polyfit(np.arange(3.0), x[0], 1); np.polyfit([0.0, 1.0, 3.0], x.T, deg=1)
polyint: np.polyint(x[0]); np.polyint(x[0], 1, 2.0)
polymul: np.polymul(x[0], [1.0, 2.0])
polysub: np.polysub(x[0], [1.0, 2.0]); np.polysub(V, x[0])
polyval: np.polyval([1.0, 2.0, 3.0], x); np.polyval(x[0], 2.0); np.polyval(V, x)
prod: np.prod(x); np.prod(x, axis=1, keepdims=True); np.prod(x, initial=2.0); np.prod(k); np.prod(b)
ptp: np.ptp(x); np.ptp(x, axis=1)
put: !np.put(x, [0], 1.0); !np.put(np.zeros(3), [0], x[0, 0])
put_along_axis: !np.put_along_axis(x, np.array([[0], [1]]), 0.0, 1)
putmask: !np.putmask(x, X > 0.5, 0.0)
quantile: np.quantile(x, 0.3); np.quantile(x, [0.25, 0.75], axis=1); np.quantile(x, 0.5, method="lower"); np.quantile(x, x[0])
ravel: np.ravel(x); np.ravel(x, order="F"); np.ravel(x, "K")
ravel_multi_index: ?np.ravel_multi_index((k[0], k[1]), (10, 10)); np.ravel_multi_index((k[0], [1, 2, 3]), (10, 10), mode="clip")
real: np.real(x + 1j * Y); np.real(x)
real_if_close: !np.real_if_close(x * (1 + 0j))
repeat: np.repeat(x, 2); np.repeat(x, [1, 2, 1], axis=1); np.repeat(x, 3, 0)
require: !np.require(x)
reshape: np.reshape(x, (3, 2)); np.reshape(x, -1, order="F"); np.reshape(x, [6]); np.reshape(x, shape=(3, -1), order="A")
resize: np.resize(x, (3, 3))
result_type: np.result_type(x, np.float32); np.result_type(x, 1)
roll: np.roll(x, 1); np.roll(x, (1, 2), axis=(0, 1)); np.roll(x, 1, axis=1)
rollaxis: np.rollaxis(x, 1)
roots: ?np.roots(x[0])
rot90: np.rot90(x); np.rot90(x, 2)
round: np.round(x, 1); np.round(x * 10); np.round(k)
row_stack: np.row_stack([x, Y])
save: !np.save("/nowhere/x", x)
savetxt: !np.savetxt("/nowhere/x", x)
savez: !np.savez("/nowhere/x", x)
savez_compressed: !np.savez_compressed("/nowhere/x", x)
searchsorted: np.searchsorted([0.2, 0.5, 0.8], x); np.searchsorted(x[0] + np.arange(3), V, side="right"); np.searchsorted(Y[0], x[0], "left", [1, 0, 2])
select: np.select([b, x > 0.2], [x, Y], default=0.0); np.select([X > 0.5, X > 0.2], [x, 2 * x])
setdiff1d: ?np.setdiff1d(k[0], k[1])
setxor1d: ?np.setxor1d(k[0], k[1])
shape: np.shape(x); !np.shape([x[0], x[0]])
shares_memory: !np.shares_memory(x, x)
sinc: np.sinc(x)
size: np.size(x); np.size(x, 1); np.size(x, axis=0)
sort: np.sort(x); np.sort(x, axis=0, kind="stable"); np.sort(x, None); np.sort(x, -1, "quicksort")
sort_complex: np.sort_complex(x)
split: np.split(x, 3, axis=1); np.split(x[0], [1, 2])
squeeze: np.squeeze(x[:, None]); np.squeeze(x[None], axis=0)
stack: np.stack([x, Y]); np.stack((x[0], [1.0, 2.0, 3.0]), axis=1); np.stack([x, x], -1)
std: np.std(x); np.std(x, axis=1, ddof=1); np.std(x, keepdims=True, where=Y > 0.2); np.std(k); np.std(x, correction=1)
sum: np.sum(x); np.sum(x, axis=1); np.sum(x, (0, 1)); np.sum(x, axis=0, keepdims=True, initial=2.0, where=Y > 0.3); np.sum(b); np.sum(k, axis=0); np.sum(x, dtype=np.float32)
swapaxes: np.swapaxes(x, 0, 1)
take: np.take(x, [0, 2], axis=1); np.take(x, 4); !np.take(Y, b.astype(np.int64)); np.take(x, [7], mode="clip")
take_along_axis: np.take_along_axis(x, np.argsort(x, axis=1), axis=1); np.take_along_axis(Y, np.argsort(x), 1)
tensordot: np.tensordot(x, Y, axes=([1], [1])); np.tensordot(x, Y.T, 1); np.tensordot(x, Y)
tile: np.tile(x, 2); np.tile(x, (2, 1, 2))
trace: np.trace(x); np.trace(x, offset=1); np.trace(k)
transpose: np.transpose(x); np.transpose(x, (1, 0)); np.transpose(x, axes=[1, 0])
trapezoid: np.trapezoid(x); np.trapezoid(x, dx=0.5, axis=0); np.trapezoid(V, x[0])
tri: -
tril: np.tril(x); np.tril(x, -1)
tril_indices_from: np.tril_indices_from(x)
trim_zeros: ?np.trim_zeros(x[0])
triu: np.triu(x); np.triu(x, 1)
triu_indices_from: np.triu_indices_from(x)
union1d: ?np.union1d(k[0], k[1])
unique: ?np.unique(k); ?np.unique(x, return_counts=True)
unique_all: ?np.unique_all(k)
unique_counts: ?np.unique_counts(k)
unique_inverse: ?np.unique_inverse(k)
unique_values: ?np.unique_values(k)
unpackbits: np.unpackbits(k.astype(np.uint8)); np.unpackbits(k.astype(np.uint8), axis=1, count=5)
unravel_index: np.unravel_index(k, (5, 2)); np.unravel_index(np.argmax(x), x.shape); np.unravel_index(k[0], shape=[10])
unstack: np.unstack(x); np.unstack(x, axis=1)
unwrap: np.unwrap(x * 10); np.unwrap(x, period=0.5, axis=0)
vander: np.vander(x[0]); np.vander(x[0], 2, increasing=True)
var: np.var(x); np.var(x, axis=1, ddof=1); np.var(x, 0, None, None, 1, True); np.var(k); np.var(b)
vdot: np.vdot(x, Y); np.vdot(x[0], [1.0, 2.0, 3.0])
vsplit: np.vsplit(x, 2)
vstack: np.vstack([x, Y]); np.vstack((x[0], [1.0, 2.0, 3.0]))
where: np.where(b, x, Y); np.where(X > 0.5, x, 0.0); np.where(b, [1.0, 2.0, 3.0], x[0]); ?np.where(b)
zeros_like: np.zeros_like(x); np.zeros_like(Y, shape=(2,)); np.zeros_like(x, int)
zeros: np.zeros((2, 3)) + x; np.zeros(2, like=x)
linalg.cholesky: np.linalg.cholesky(x.T @ x + I); np.linalg.cholesky(x.T @ x + I, upper=True)
linalg.cond: np.linalg.cond(x.T @ x + I); np.linalg.cond(x.T @ x + I, "fro"); np.linalg.cond(x.T @ x + I, p=1)
linalg.cross: np.linalg.cross(x, Y)
linalg.det: np.linalg.det(x.T @ x + I)
linalg.diagonal: np.linalg.diagonal(x, offset=1)
linalg.eig: np.linalg.eig(x.T @ x + np.diag(V))[0]
linalg.eigh: np.linalg.eigh(x.T @ x + I)[0]; np.abs(np.linalg.eigh(x.T @ x + np.diag(V), "U")[1])
linalg.eigvals: np.sort(np.abs(np.linalg.eigvals(x.T @ x + I * V)))
linalg.eigvalsh: np.linalg.eigvalsh(x.T @ x + I * V); np.linalg.eigvalsh(x.T @ x + I * V, UPLO="U")
linalg.inv: np.linalg.inv(x.T @ x + I)
linalg.lstsq: np.linalg.lstsq(x.T, V)[0]; np.linalg.lstsq(Y.T, x[0], rcond=None)[0]
linalg.matmul: np.linalg.matmul(x, Y.T)
linalg.matrix_norm: np.linalg.matrix_norm(x); np.linalg.matrix_norm(x, keepdims=True, ord=1)
linalg.matrix_power: np.linalg.matrix_power(x.T @ x + I, 3); np.linalg.matrix_power(x.T @ x + I, -1)
linalg.matrix_rank: np.linalg.matrix_rank(x); np.linalg.matrix_rank(x, 0.5); np.linalg.matrix_rank(A=x)
linalg.matrix_transpose: np.linalg.matrix_transpose(x)
linalg.multi_dot: np.linalg.multi_dot([x, Y.T, x]); np.linalg.multi_dot([x, [1.0, 2.0, 3.0]])
linalg.norm: np.linalg.norm(x); np.linalg.norm(x, axis=1); np.linalg.norm(x, 1, keepdims=True); np.linalg.norm(x[0], ord=np.inf); np.linalg.norm(x, "nuc")
linalg.outer: np.linalg.outer(x[0], x[1])
linalg.pinv: np.linalg.pinv(x); np.linalg.pinv(x, 1e-10); np.linalg.pinv(x.T @ x + I, hermitian=True)
linalg.qr: np.linalg.qr(x.T)[1] ** 2; np.linalg.qr(x.T, "r") ** 2
linalg.slogdet: np.linalg.slogdet(x.T @ x + I)
linalg.solve: np.linalg.solve(x.T @ x + I, V); np.linalg.solve(I + 1, x.T); np.linalg.solve(x[:, :2], [1.0, 2.0])
linalg.svd: np.linalg.svd(x, compute_uv=False); np.linalg.svd(x, full_matrices=False)[1]
linalg.svdvals: np.linalg.svdvals(x)
linalg.tensordot: np.linalg.tensordot(x, Y)
linalg.tensorinv: np.linalg.tensorinv(np.reshape(x.T @ x + I, (3, 3, 1)), ind=1)
linalg.tensorsolve: np.linalg.tensorsolve(x.T @ x + I, V)
linalg.trace: np.linalg.trace(x, offset=1)
linalg.vecdot: np.linalg.vecdot(x, Y); np.linalg.vecdot(x, Y, axis=0)
linalg.vector_norm: np.linalg.vector_norm(x); np.linalg.vector_norm(x, axis=1, ord=3)
fft.fft: np.fft.fft(x); np.fft.fft(x, n=5, axis=0); np.fft.fft(x, norm="ortho")
fft.fft2: np.fft.fft2(x)
fft.fftn: np.fft.fftn(x); np.fft.fftn(x, s=(4, 4), axes=(0, 1))
fft.fftshift: np.fft.fftshift(x); np.fft.fftshift(x, axes=1)
fft.hfft: np.fft.hfft(x)
fft.ifft: np.fft.ifft(x)
fft.ifft2: np.fft.ifft2(x)
fft.ifftn: np.fft.ifftn(x)
fft.ifftshift: np.fft.ifftshift(x)
fft.ihfft: np.fft.ihfft(x)
fft.irfft: np.fft.irfft(x); np.fft.irfft(x, 4)
fft.irfft2: np.fft.irfft2(x)
fft.irfftn: np.fft.irfftn(x)
fft.rfft: np.fft.rfft(x); np.fft.rfft(x, axis=0)
fft.rfft2: np.fft.rfft2(x)
fft.rfftn: np.fft.rfftn(x)
lib.scimath.sqrt: !np.emath.sqrt(x)
lib.stride_tricks.sliding_window_view: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1); np.lib.stride_tricks.sliding_window_view(x, (2, 2)); np.lib.stride_tricks.sliding_window_view(x[0], 2); !np.lib.stride_tricks.sliding_window_view(x, 2, 1, writeable=True)
"""  # noqa: E501 (a line for each name)

#: Names of NumPy's that take no arrays, or nothing that could be traced.
WITHOUT_ARRAYS = """
base_repr binary_repr broadcast_shapes datetime_data diag_indices format_float_positional
format_float_scientific frombuffer fromfile fromiter fromregex fromstring genfromtxt get_include
get_printoptions getbufsize geterr geterrcall info isdtype issubdtype load loadtxt mintypecode
printoptions promote_types set_printoptions setbufsize seterr seterrcall show_config show_runtime
test tril_indices triu_indices typename fft.fftfreq fft.rfftfreq
""".split()  # noqa: SIM905 (names with blanks between them)

#: Names that NumPy 2.4 no longer has.
GONE = {"in1d", "trapz"}

#: Arguments of universal functions that are not of floats between 0 and 1, or of two of them.
OPERANDS = {
    "acosh": "x + 1",
    "arccosh": "x + 1",
    "float_power": "x, 2.5",
    "frexp": "x * 10",
    "isnat": "x",
    "ldexp": "x, k",
    "matmul": "x, Y.T",
    "matvec": "x, V",
    "nextafter": "x, Y",
    "vecdot": "x, Y",
    "vecmat": "x[0], x.T @ Y",
}


def public(space: Any) -> Iterator[str]:
    """The names of the functions of a module."""
    for name in space.__all__:
        value = getattr(space, name)
        if callable(value) and not isinstance(value, type) and name[0] != "_":
            yield name if space is np else f"{space.__name__.partition('.')[2]}.{name}"


def lines() -> dict[str, list[str]]:
    table = {}
    for line in CALLS.strip().splitlines():
        name, _, calls = line.partition(": ")
        table[name] = calls.split("; ") if calls != "-" else []
    for name in sorted(public(np)):  # NumPy lists its names in the order of a set
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc):
            takes_floats = any("d" in types.split("->")[0] for types in ufunc.types)
            letter = "x" if takes_floats else "k"
            operands = letter if ufunc.nin == 1 else f"{letter}, {letter}[::-1]"
            call = f"np.{name}({OPERANDS.get(name, operands)})"
            table[name] = [f"!{call}" if name == "isnat" else call]
    return table


TABLE = lines()

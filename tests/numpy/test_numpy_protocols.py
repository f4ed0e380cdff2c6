"""NumPy's own functions on traced arrays: every public name of NumPy's is right, or raises.

``CALLS`` has a line for each name, with calls of traced arguments, which are held against plain
NumPy's values and dtypes, and their gradients against central differences. A name that NumPy gains
and the table lacks fails.
"""

import linecache
import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.errors import TinyjaxError

pytestmark = pytest.mark.usefixtures("each_tier")

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
asarray: !np.asarray(x); !np.asarray([x]); np.asarray([1.0, 2.0], like=x)
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
CASES = [(name, call) for name, calls in TABLE.items() for call in calls]
#: NumPy gives floats where all of them happen to be real.
COMPLEX = {"linalg.eig", "linalg.eigvals", "roots"}
#: Gradients that differ from central differences, and why.
OTHER_GRADIENTS = {
    "np.nextafter(x, Y)": "0, as JAX's",
    "np.spacing(x)": "the difference to a constant",
}


def function(call: str) -> Callable[[Any], Any]:
    """Make a function of ``x`` from a line of the table."""
    call = call.lstrip("?!")
    file = f"<{call}>"
    linecache.cache[file] = len(call), None, [call], file
    code = compile(call, file, "eval")

    def fun(x: Any) -> Any:
        scope = {**OTHERS, "X": X, "x": x}
        if re.search(r"\bk\b", call):
            scope["k"] = np.floor(x * 10).astype(np.int64)
        if re.search(r"\bb\b", call):
            scope["b"] = x > 0.5
        with np.errstate(all="ignore"):
            return eval(code, scope)

    return fun


def leaves(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [np.asarray(value)]
    return [
        leaf
        for leaf in tinyjax.tree.leaves(value)
        if isinstance(leaf, np.ndarray | np.generic | jnp.ndarray)
    ]


def same(got: Any, want: Any, call: str, exact: bool = True) -> None:
    """Compare results: their containers, dtypes or kinds of dtypes, shapes and values."""
    if isinstance(want, tuple | list):
        assert type(got) is type(want) or isinstance(got, tuple), (type(got), type(want))
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other, call, exact)
        return
    if not isinstance(want, np.ndarray | np.generic):
        assert got == want
        return
    value = np.asarray(got)
    if any(f"np.{name}(" in call for name in COMPLEX):
        value, want = value.astype(complex), want.astype(complex)
    assert value.shape == want.shape
    if exact:
        assert value.dtype == want.dtype
    assert value.dtype.kind == want.dtype.kind
    rtol = 1e-5 if value.dtype in (np.float32, np.complex64) else 1e-9
    np.testing.assert_allclose(value, want, rtol=rtol, atol=rtol / 10)


def weighted(value: Any, traced: Any) -> Any:
    """A number of all the floats of a result."""
    total = traced.sum() * 0.0
    for n, leaf in enumerate(leaves(value)):
        if leaf.dtype.kind in "fc":
            weights = np.cos(np.arange(leaf.size) + n).reshape(leaf.shape)
            total = (
                total + (leaf.real * weights).sum() + (leaf.imag * weights[..., ::-1]).sum()
                if (leaf.dtype.kind == "c" and leaf.ndim)
                else total + (leaf.real * weights).sum()
            )
    return total


def central(fun: Callable[[Any], Any], size: float) -> Any:
    gradient = np.zeros_like(X)
    for index in np.ndindex(*X.shape):
        step = np.zeros_like(X)
        step[index] = size
        gradient[index] = (fun(X + step) - fun(X - step)) / (2 * size)
    return gradient


def test_every_name_of_numpy_is_known() -> None:
    names = {*public(np), *public(np.linalg), *public(np.fft)} - GONE
    assert names - set(TABLE) - set(WITHOUT_ARRAYS) == set()
    others = {name for name in TABLE if not name.startswith("lib.")}
    assert others - names == set() or np.__version__ < "2.4"


def refuses(name: str, call: str) -> None:
    """Check that a call of traced arrays raises, and names what cannot be done."""
    fun, pair = function(call), np.stack([X, X])

    def called(x: Any) -> Any:
        fun(x)
        return x.sum()

    ways: list[tuple[Any, Any]] = [(tinyjax.jit, X), (tinyjax.vmap, pair)]
    if not re.search(r"\b[bk]\b", call):  # which are data while a derivative is computed
        ways.append((tinyjax.grad, X))
    for transform, value in ways:
        with pytest.raises((TinyjaxError, AttributeError)) as caught:
            transform(called)(jnp.asarray(value))
        if isinstance(caught.value, TinyjaxError):  # others name an attribute that arrays lack
            assert name.rpartition(".")[2] in str(caught.value)


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "call"),
    [  # NumPy's functions take lists for arrays, and hand them on
        pytest.param(name, call, marks=[pytest.mark.wrong_types] * ("([" in call), id=call)
        for name, call in CASES
    ],
)
def test_it_is_right_under_each_transformation(name: str, call: str) -> None:
    if call.startswith("!"):
        refuses(name, call)
        return
    fun, x = function(call), jnp.asarray(X)
    want = fun(X)
    if name in ("allclose", "array_equal", "array_equiv"):  # a bool, which is data
        want = np.asarray(want)
    static = not leaves(want)
    values: list[Any] = []

    def keeping(x: Any) -> Any:
        value = fun(x)
        values.append(value)
        return leaves(value) if static else value

    got = tinyjax.jvp(keeping, (x,), (x,))[0]
    same(values.pop() if static else got, want, call, exact=False)  # bools are not traced here
    if any(leaf.dtype.kind in "fc" for leaf in leaves(want)) and call not in OTHER_GRADIENTS:
        narrow = any(leaf.dtype == np.float32 for leaf in leaves(want))
        gradient = tinyjax.grad(lambda x: weighted(fun(x), x))(x)
        expected = central(lambda x: weighted(fun(x), x), 1e-3 if narrow else 1e-6)
        rtol = 1e-3 if narrow else 1e-5
        np.testing.assert_allclose(gradient, expected, rtol=rtol, atol=rtol / 10)
    if call.startswith("?"):
        with pytest.raises(TinyjaxError):
            tinyjax.jit(fun)(x)
        return
    got = tinyjax.jit(keeping)(x)
    same(values.pop() if static else got, want, call)
    pair = np.stack([X, X[::-1] * 0.9])
    got = tinyjax.vmap(keeping)(jnp.asarray(pair))
    if static:
        same(values.pop(), want, call)
        return
    for i, one in enumerate(pair):
        for mine, other in zip(leaves(got), leaves(fun(one)), strict=True):
            same(mine[i], np.asarray(other), call)


#: What a program does with a result, beside Python's numbers: of each kind of dtype.
USES: dict[str, Callable[[Any], Any]] = {
    "r / 3.0": lambda r: r / 3.0,
    "where(r > 0.2, 1.0, 1 / 3)": lambda r: np.where(r > 0.2, 1.0, 1 / 3),
    "(r > 0.2) * 1.0 / 3": lambda r: (r > 0.2) * 1.0 / 3,
    "r.astype(float) / 3": lambda r: r.astype(float) / 3,
    "sum(r > 0.2) / 3.0": lambda r: (r > 0.2).sum() / 3.0,
    "sqrt(sum(r > 0.2))": lambda r: np.sqrt((r > 0.2).sum() + 2),
    "maximum(r > 0.2, 0.1)": lambda r: np.maximum(r > 0.2, 0.1),
    "[0.1, 0.2] + sum(r > 0.2)": lambda r: np.add((r > 0.2).sum(), [0.1, 0.2]) / 3,
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")
@pytest.mark.sampled(2)
@pytest.mark.wrong_types  # lists are handed on
@pytest.mark.parametrize("turn", range(8))
def test_numbers_beside_results_have_64_bits(turn: int) -> None:
    calls = [call for name, call in CASES if call[0] not in "!?" and name not in COMPLEX]
    functions = {call: function(call) for call in calls[turn::8]}
    uses = [*USES]

    def program(x: Any) -> dict[str, Any]:
        sums: dict[str, Any] = {}
        for n, (call, fun) in enumerate(functions.items()):
            use = uses[(n + turn) % len(uses)]
            for leaf in leaves(fun(x)):
                if leaf.dtype.kind in "bi" or leaf.dtype == np.float64:
                    value = np.sum(USES[use](leaf)) * x[0, 0]
                    sums[f"{use} of {call}"] = sums.get(f"{use} of {call}", 0.0) + value
        return sums

    want, other = program(X), program(X * 0.9)
    ways = {
        "jvp": tinyjax.jvp(program, (X,), (X,))[0],
        "vjp": tinyjax.vjp(program, X)[0],
        "jit": tinyjax.jit(program)(X),
    }
    mapped = tinyjax.vmap(program)(np.stack([X, X * 0.9]))
    for use, value in want.items():
        for way, got in ways.items():
            assert_digits(got[use], value, f"{way}: {use}")
        assert_digits(mapped[use], [value, other[use]], f"vmap: {use}")


def assert_digits(got: Any, want: Any, what: str) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13, err_msg=what)
    assert np.asarray(got).dtype == np.float64, what


# Methods of universal functions

METHODS = """
np.{name}.reduce({x}); np.{name}.reduce({x}, axis=1, keepdims=True); np.{name}.accumulate({x}, 1)
np.{name}.reduceat({x}, [0, 2], axis=1); np.{name}.outer({x}[0], {x}[1])
np.{name}.outer({x}, [1, 2]); !np.{name}.at({x}, 0, 1)
"""
BINARY = sorted(
    {
        ufunc.__name__
        for ufunc in map(np.__dict__.get, np.__all__)
        if isinstance(ufunc, np.ufunc)
        and (ufunc.nin, ufunc.nout, ufunc.signature) == (2, 1, None)
        # NumPy reduces by arctan2 of the first and the last element alone, on some processors
        and ufunc.__name__ not in ("ldexp", "nextafter", "arctan2")
    }
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", BINARY)
def test_methods_of_universal_functions(name: str) -> None:
    letter = "x" if any("dd" in types for types in getattr(np, name).types) else "k"
    for call in METHODS.strip().replace("\n", "; ").format(name=name, x=letter).split("; "):
        try:
            call.startswith("!") or function(call)(X)
        except TypeError:  # NumPy has no loop that gives what it takes
            continue
        test_it_is_right_under_each_transformation(f"{name}.at", call)


@pytest.mark.parametrize(
    "call",
    [
        "np.add.reduce(x, axis=(0, 1))",
        "np.add.reduce(x, None, initial=2.0)",
        "np.add.reduce(x, where=Y > 0.3)",
        "np.add.reduce(b)",
        "np.multiply.reduce(k, axis=1)",
        "np.maximum.reduce(x, axis=1, initial=0.5, where=Y > 0.3)",
        "np.logical_or.reduce(b, axis=None)",
        "np.add.accumulate(b, axis=1)",
        "np.sin(x, dtype=np.float32)",
        "np.add(k, k, dtype=float)",
        "np.sqrt(x, casting='same_kind', order='K', subok=False)",
        "np.multiply(x, [1.0, 2.0, 3.0])",
        "np.add([[1.0, 2.0, 3.0]], x, where=True)",
        "2.0 * np.float64(3) * x + Y - Y * x",
        "np.float64(2) ** x / np.float32(4)",
        "divmod(Y, x)",
        "(Y < x) & (x >= np.float64(0.3))",
        "Y @ x.T",
    ],
)
def test_options_and_operators(call: str) -> None:
    test_it_is_right_under_each_transformation("", call)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("np.sin(x, out=np.zeros((2, 3)))", r"np\.sin cannot write .*tinyjax\.source"),
        ("np.sin(x, where=Y > 0.3)", r"np\.sin: .*jnp\.where"),
        ("np.sin(x, casting='no')", r"np\.sin: casting='no'"),
        ("np.sin(x, signature='d->d')", r"np\.sin: signature="),
        ("np.sum(x, out=np.zeros(()))", r"np\.sum cannot write .*tinyjax\.source"),
        ("np.sum(x, 0, None, np.zeros(3))", r"np\.sum cannot write .*tinyjax\.source"),
        ("np.add(k, k, dtype=np.float32) + np.add(x, x, dtype=np.int8)", "does not become int8"),
        ("np.add.at(np.zeros(3), [0], x[0])", r"np\.add\.at cannot write .*tinyjax\.source"),
        ("np.concatenate([x, x], casting='no')", r"np\.concatenate: casting='no'"),
        ("np.sort(x, order='a')", "order"),
        ("np.median(x, overwrite_input=True)", "leave overwrite_input out"),
        ("np.nanquantile(x, 0.5, overwrite_input=True)", "leave overwrite_input out"),
        ("np.nan_to_num(x, copy=False)", r"np\.nan_to_num cannot write .*copy=False"),
        ("np.nan_to_num(x, False)", r"np\.nan_to_num cannot write .*copy=False"),
        ("np.unravel_index(k, (5, 2), order='F')", r"np\.unravel_index: order='F'"),
        ("np.busday_count(x, x)", r"np\.busday_count does not take traced arrays\. There is none"),
        ("np.emath.sqrt(x)", r"np\.lib\.scimath\.sqrt .*astype\(complex\)"),
        ("np.frompyfunc(float, 1, 1)(x)", "float"),
        ("np.array([x[0], x[1]])", r"Write jnp\.array in place of np\.array"),
        ("np.asanyarray(x)", r"Write jnp\.asarray in place of np\.asanyarray"),
        ("np.float64(x[0, 0])", r"Write x\.astype\(np\.float64\)"),
        ("np.random.default_rng(0).normal(x)", r"tinyjax\.random"),
        ("np.arange(3)[k]", r"jnp\.asarray\(table\)\[x\]"),
        ("math.sin(x[0, 0])", "NumPy's functions? "),
    ],
)
def test_what_cannot_be_done_says_what_to_write(call: str, words: str) -> None:
    with pytest.raises(TinyjaxError, match=words):
        tinyjax.jit(function(call))(X)


def test_writing_into_an_array_of_numpys_names_source() -> None:
    def mutating(x: Any) -> Any:
        a = np.zeros(3)
        a[0] = x[0]
        return a.sum()

    def added(x: Any) -> Any:
        a = np.zeros(3)
        a[:2] += x[:2]
        return a.sum()

    for transform in (tinyjax.jit, tinyjax.grad):
        with pytest.raises(ValueError, match="setting an array element") as caught:
            transform(mutating)(X[0])
        assert "tinyjax.source" in "".join(caught.value.__notes__)
        with pytest.raises(TinyjaxError, match=r"tinyjax\.source"):
            transform(added)(X[0])
    assert tinyjax.source.grad(mutating)(X[0]).tolist() == [1.0, 0.0, 0.0]


#: Statements that change an array of NumPy's.
IN_PLACE = """
y.sort() | y.sort(axis=0) | y.sort(kind="stable") | y.partition(1) | y.fill(1.0) | y.put(0, 1.0)
y.resize(2) | y.byteswap(True) | y.byteswap(inplace=True) | y.setfield(1, float) | y[0] = 1.0
y.setflags(write=False) | np.put(y, 0, 1.0) | np.copyto(y, 1.0) | np.place(y, y > 2, 1.0)
np.putmask(y, y > 2, 1.0) | np.random.default_rng(0).permuted(y, out=y) | random.shuffle(y)
np.sin(y, out=y) | np.add.at(y, 0, 1.0) | np.fill_diagonal(y, 1.0) | y.clip(0, 1, out=y)
np.put_along_axis(y, np.array([0]), 1.0, 0) | np.sum(y, out=y[0]) | y.sum(out=y[0])
y.round(0, out=y) | y.cumsum(out=y) | np.clip(y, 0, 1, out=y) | np.take(y, [0, 1, 0], out=y)
y.shape = 3, 1 | y.dtype = int | y.real = 1.0 | y.imag = 1.0 | y.flat = 1.0 | y.flat[0] = 1.0
y.T[0] = 1.0 | y.real[0] = 1.0 | np.nan_to_num(y, copy=False) | np.ndarray.sort(y) | del y[0]
np.median(y, overwrite_input=True) | np.einsum("i->i", y, out=y) | y.data[0] = 1.0
"""


@pytest.mark.parametrize("statement", [x for x in re.split(r" \| |\n", IN_PLACE) if x])
def test_no_statement_fails_to_change_an_array_in_silence(statement: str) -> None:
    scope: dict[str, Any] = {"np": np, "random": random}
    exec(f"def f(x):\n    y = x * 1.0\n    {statement}\n    return y", scope)
    x = np.array([3.0, 1.0, 2.0])
    for transform in (tinyjax.jit, tinyjax.vmap, lambda f: lambda x: tinyjax.jvp(f, (x,), (x,))):
        with pytest.raises((TinyjaxError, AttributeError, TypeError, ValueError)):
            transform(scope["f"])(np.stack([x, x]) if transform is tinyjax.vmap else x)
    with pytest.raises((TinyjaxError, AttributeError, TypeError, ValueError)):
        scope["f"](jnp.asarray(x))


def test_a_method_that_sorts_returns_another_array() -> None:
    def f(x: Any) -> Any:
        return x.sort().sort(descending=True) + next(map(jnp.ndarray.sort, [x[None]]))

    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(tinyjax.jit(f)(x), [[4.0, 4.0, 4.0]])
    with pytest.raises(TinyjaxError, match=r"write x = x\.sort\(\)"):
        jnp.asarray(x).sort()


def test_an_operator_in_place_rebinds_the_name() -> None:
    def total(x: Any) -> Any:
        a = np.ones(3)
        a += x
        a *= np.float64(2)
        a -= np.sin(x)
        return (a**2).sum()

    np.testing.assert_allclose(tinyjax.jit(total)(X[0]), total(X[0]))
    np.testing.assert_allclose(
        tinyjax.grad(total)(X[0]), 2 * (2 - np.cos(X[0])) * (2 + 2 * X[0] - np.sin(X[0]))
    )


def test_classes_of_others_compute_with_traced_arrays() -> None:
    class Named:
        """A class that wraps arrays, as pint's quantities do."""

        def __init__(self, value: Any) -> None:
            self.value = value

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            values = [x.value if isinstance(x, Named) else x for x in inputs]
            return Named(getattr(ufunc, method)(*values, **options))

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            values = [x.value if isinstance(x, Named) else x for x in args]
            return Named(func(*values, **kwargs))

        def __rmul__(self, other: Any) -> Any:
            return Named(other * self.value)

    def fun(x: Any) -> Any:
        named: Any = Named(Y)
        rows: Any = Named(x[1])
        every: Any = Named(x)
        both = np.multiply(x, named), np.multiply(named, x), np.add.reduce(every), x * named
        chosen: Any = np.where(x > 0.5, named, 0.0)
        total = chosen.value.sum() + np.dot(x[0], rows).value
        return total + sum(one.value.sum() for one in both)

    want = 3 * (X * Y).sum() + X.sum() + Y[X > 0.5].sum() + X[0] @ X[1]
    np.testing.assert_allclose(tinyjax.jit(fun)(X), want)
    np.testing.assert_allclose(tinyjax.grad(fun)(X), 3 * Y + 1 + X[::-1])


def test_special_functions_of_scipy() -> None:
    import scipy.special

    names = "erf erfc expit gammaln logit ndtr psi xlogy i0e log1p expm1 entr"
    for name in names.split():
        ufunc = getattr(scipy.special, name)
        args = (X, X[::-1]) if ufunc.nin == 2 else (X,)
        np.testing.assert_allclose(tinyjax.jit(ufunc)(*args), ufunc(*args), rtol=1e-12)
        slope = (ufunc(args[0] + 1e-6, *args[1:]) - ufunc(args[0] - 1e-6, *args[1:])) / 2e-6
        gradient = tinyjax.grad(lambda x, *rest, f=ufunc: f(x, *rest).sum())(*args)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6)
    other = np.frompyfunc(lambda x: x, 1, 1)  # which nobody knows
    with pytest.raises(TinyjaxError, match=r"\(vectorized\) does not take traced"):
        tinyjax.jit(other)(X)


# Programs written with NumPy alone

W = np.array([[0.3, -0.2], [0.5, 0.8], [-0.7, 0.1]])
T = np.linspace(0.0, 1.0, 7)


def softmax(v: Any) -> Any:
    e = np.exp(v - np.max(v, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def network(x: Any) -> Any:
    hidden = np.tanh(np.dot(x.reshape(2, 3), W) + np.array([0.1, -0.1]))
    return np.mean(np.square(hidden @ np.ones(2) - np.array([0.2, 0.4])))


def ridge(x: Any) -> Any:
    a = np.vander(T, 4)
    y = np.sin(3 * T) * x[0] + x[1]
    w = np.linalg.solve(a.T @ a + np.exp(x[2]) * np.eye(4), a.T @ y)
    return np.sum((a @ w - y) ** 2) + np.linalg.norm(w)


def gaussian_process(x: Any) -> Any:
    k = np.exp(-(np.subtract.outer(T, T) ** 2) / (2 * x[0] ** 2)) * x[1] + x[2] * np.eye(7)
    y = np.cos(4 * T)
    c = np.linalg.cholesky(k)
    half = np.linalg.solve(c, y)
    return 0.5 * half @ half + np.sum(np.log(np.diag(c)))


def runge_kutta(x: Any) -> Any:
    state, h = np.stack([x[0], x[1]]), 0.1

    def slope(s: Any) -> Any:
        return np.stack([s[1], -x[2] * s[0]])

    for _ in range(5):
        k1 = slope(state)
        k2 = slope(state + h / 2 * k1)
        state = state + h * k2
    return np.sum(state**2)


def heat(x: Any) -> Any:
    u = np.sin(np.pi * T) * x[0]
    for _ in range(4):
        inner = u[1:-1] + x[1] * np.diff(u, n=2)
        u = np.concatenate([[0.0], inner, [0.0]])
    return np.trapezoid(u**2, T)


def kalman(x: Any) -> Any:
    mean, variance, total = 0.0, 1.0, 0.0
    for y in np.cos(T):
        variance = variance + x[0] ** 2
        gain = variance / (variance + np.abs(x[1]))
        mean = mean + gain * (y - mean)
        variance = (1 - gain) * variance
        total = total + np.log(variance) + np.square(y - mean)
    return total


def rotation(x: Any) -> Any:
    a, b = np.cos(x[0]), np.sin(x[0])
    r = np.block(
        [
            [np.reshape(a, (1, 1)), np.reshape(-b, (1, 1))],
            [np.reshape(b, (1, 1)), np.reshape(a, (1, 1))],
        ]
    )
    return np.einsum("ij,j,i->", r, np.array([1.0, 2.0]), x[1:3])


def mixture(x: Any) -> Any:
    weights = softmax(x[:3])
    parts = np.log(weights) - 0.5 * (T[:, None] - x[3:6]) ** 2
    top = np.max(parts, axis=1, keepdims=True)
    return -np.sum(np.log(np.sum(np.exp(parts - top), axis=1)) + top[:, 0])


def spectrum(x: Any) -> Any:
    signal = np.sin(2 * np.pi * np.outer(T, x[:3])).sum(axis=1)
    power = np.abs(np.fft.rfft(signal * np.hanning(7))) ** 2
    return np.log(power + 1e-3).sum()


def robust(x: Any) -> Any:
    r = np.polyval([1.0, -2.0, 0.5], x)
    return np.where(np.abs(r) < 0.5, 0.5 * r**2, 0.5 * (np.abs(r) - 0.25)).sum()


def distances(x: Any) -> Any:
    p = x.reshape(3, 2)
    d = p[:, None, :] - p[None, :, :]
    r = np.sqrt(np.sum(d * d, axis=-1) + 1e-2)
    return np.triu(1 / r, k=1).sum()


def kepler(x: Any) -> Any:
    e = x[0]
    for _ in range(5):
        e = e - (e - x[1] * np.sin(e) - x[0]) / (1 - x[1] * np.cos(e))
    return np.arctan2(np.sqrt(1 - x[1] ** 2) * np.sin(e), np.cos(e) - x[1])


def power_iteration(x: Any) -> Any:
    a = x.reshape(2, 3).T @ x.reshape(2, 3) + np.diag([3.0, 1.0, 0.5])
    v = np.ones(3)
    for _ in range(10):
        v = a @ v
        v = v / np.linalg.norm(v)
    return np.vdot(v, a @ v)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: np.sum(softmax(x) * np.arange(6)),
    "network": network,
    "ridge": ridge,
    "gaussian process": gaussian_process,
    "Runge-Kutta": runge_kutta,
    "heat": heat,
    "Kalman": kalman,
    "rotation": rotation,
    "mixture": mixture,
    "spectrum": spectrum,
    "robust": robust,
    "distances": distances,
    "Kepler": kepler,
    "power iteration": power_iteration,
    "logistic": lambda x: np.log1p(np.exp(-(T[:, None] * x).sum(axis=1))).mean(),
    "normal": lambda x: np.sum(-0.5 * ((T - x[0]) / x[1]) ** 2 - np.log(x[1])),
    "entropy": lambda x: -np.sum(softmax(x) * np.log(softmax(x))),
    "variance": lambda x: np.var(x) / np.mean(x) + np.std(x, ddof=1) + np.ptp(x),
    "median": lambda x: np.median(x) + np.percentile(x, 30) + np.quantile(x, 0.9),
    "sorted": lambda x: np.sum(np.sort(x) * np.arange(6)) + np.sort(x)[np.argsort(T[:6])[0]],
    "gini": lambda x: np.abs(np.subtract.outer(x, x)).sum() / (2 * x.size**2 * np.mean(x)),
    "trapezoid": lambda x: np.trapezoid(np.interp(T, [0.0, 0.5, 1.0], x[:3]), T),
    "spline": lambda x: np.interp(x, T, np.cos(T)).sum(),
    "convolution": lambda x: np.sum(np.convolve(x, [1.0, -2.0, 1.0], mode="same") ** 2),
    "moving average": lambda x: np.sum(np.cumsum(x)[3:] - np.cumsum(x)[:-3]),
    "clip": lambda x: (
        np.clip(x, 0.3, 0.7).sum() + np.maximum(x, 0.5).prod() + np.minimum(x, 0.4).sum()
    ),
    "piecewise": lambda x: np.piecewise(
        x, [x < 0.5, x >= 0.5], [lambda v: v**2, lambda v: 1 - v]
    ).sum(),
    "select": lambda x: np.select([x < 0.3, x < 0.6], [x, x**2], default=np.sqrt(x)).sum(),
    "polynomial": lambda x: (
        np.polyval(np.polymul(x[:3], [1.0, 2.0]), 0.7) + np.polyval(np.polyder(x), 0.3)
    ),
    "determinant": lambda x: np.linalg.slogdet(np.outer(x[:3], x[3:]) + np.eye(3))[1],
    "eigenvalues": lambda x: np.linalg.eigvalsh(np.outer(x[:3], x[:3]) + np.diag([1.0, 2.0, 4.0]))[
        1
    ],
    "inverse": lambda x: np.trace(np.linalg.inv(np.outer(x[:2], x[2:4]) + 2 * np.eye(2))),
    "least squares": lambda x: np.linalg.lstsq(np.vander(T, 2), T**2 * x[0], rcond=None)[0] @ x[:2],
    "cross": lambda x: np.dot(np.cross(x[:3], x[3:]), np.array([1.0, 2.0, 3.0])),
    "tensor": lambda x: (
        np.tensordot(x.reshape(2, 3), np.ones((2, 3)), axes=2) * np.kron(x, [1.0, 2.0]).sum()
    ),
    "complex": lambda x: (
        np.abs(np.exp(1j * x).sum()) ** 2 + np.angle(x[0] + 1j * x[1]) + np.real(x).sum()
    ),
    "roll": lambda x: np.sum(np.gradient(x) * np.roll(x, 1)) + np.flip(x)[0] * np.tile(x, 2)[7],
    "padded": lambda x: np.sum(np.pad(x, 2, mode="reflect") * np.arange(10)),
    "factorials": lambda x: (
        np.prod(np.arange(1, 4) * x[:3]) + np.add.reduce(np.multiply.accumulate(x))
    ),
    "hyperbolic": lambda x: np.hypot(np.sinh(x), np.cosh(x)).sum() + np.logaddexp(x, x[::-1]).sum(),
    "masked mean": lambda x: (
        np.mean(x > 0.4) * np.sum(x) + np.average(x, weights=np.arange(1.0, 7.0))
    ),
    "norms": lambda x: sum(np.linalg.norm(x, ord=n) for n in (1, 2, 3, np.inf)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=1).max(),
    "stacked": lambda x: np.vstack([x, x**2]).max(axis=0).sum() + np.hstack((x, 1.0)).sum(),
    "histogram": lambda x: (
        np.histogram(T, 3, (0.0, 1.0), weights=np.append(x, 0.5))[0] @ np.arange(3)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_numpy_alone(name: str) -> None:
    fun, x = PROGRAMS[name], X.ravel()
    want = fun(x)
    slope = np.array([(fun(x + d) - fun(x - d)) / 2e-6 for d in 1e-6 * np.eye(6)])
    same(tinyjax.jit(fun)(x), want, "")
    same(tinyjax.jvp(fun, (x,), (x,))[0], want, "")
    for gradient in (tinyjax.grad(fun), tinyjax.jit(tinyjax.grad(fun))):
        np.testing.assert_allclose(gradient(x), slope, rtol=1e-6, atol=1e-7)
    pair = np.stack([x, x[::-1]])
    np.testing.assert_allclose(tinyjax.vmap(fun)(pair), [fun(one) for one in pair], rtol=1e-9)
    np.testing.assert_allclose(
        tinyjax.jit(tinyjax.vmap(tinyjax.grad(fun)))(pair)[0], slope, rtol=1e-6, atol=1e-7
    )
    turned = tinyjax.jvp(tinyjax.grad(fun), (x,), (x,))[1]  # forward over reverse
    back = tinyjax.grad(lambda x: np.dot(tinyjax.grad(fun)(x), X.ravel()))(x)
    np.testing.assert_allclose(turned, back, rtol=1e-6, atol=1e-7)

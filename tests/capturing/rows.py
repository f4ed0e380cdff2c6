"""Calls for ``capture``, beside those of ``numpy_calls``: methods, writes, and all options.

A row is a name, and calls with ``|`` between them. Before ``>>`` a call has statements.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy_calls import OTHERS, TABLE, X

#: The methods and attributes of arrays.
METHODS: Final = """
T: x.T
all: x.all() | x.all(axis=1) | x.all(0, keepdims=True)
any: x.any() | x.any(axis=1)
argmax: x.argmax() | x.argmax(axis=1) | x.argmax(0, keepdims=True)
argmin: x.argmin() | x.argmin(axis=1)
argpartition: x.argpartition(1)[..., 1] | x.argpartition(1, axis=None)[1]
argsort: x.argsort() | x.argsort(axis=0) | x.argsort(None, kind="stable")
astype: x.astype(np.float32) | x.astype(float) | x.astype(float, copy=False) | x.astype(int) | x.astype(float, "F") | x.astype(complex)
base: x.base is None | x[:].base is x
byteswap: x.byteswap()
choose: k.clip(0, 1).choose([x, Y])
clip: x.clip(0.3, 0.6) | x.clip(min=0.4) | x.clip(max=Y) | x.clip(0.3, 0.5, out=o)
compress: x.compress([True, False, True], axis=1) | x.compress([True, True]) | x.compress([True, False], 0)
conj: x.conj()
conjugate: x.conjugate()
copy: x.copy() | x.copy("F") | x.copy(order="K") | x.copy("A")
ctypes: x.ctypes.shape[:]
cumprod: x.cumprod() | x.cumprod(axis=1) | x.cumprod(0, out=o)
cumsum: x.cumsum() | x.cumsum(axis=1) | x.cumsum(0, float, o)
data: x.data.shape
device: x.device
diagonal: x.diagonal() | x.diagonal(1) | x.diagonal(offset=-1)
dot: x.dot(V) | x.dot(Y.T) | x.T.dot(x)
dtype: x.dtype
dump: -
dumps: x.dumps()
fill: x.fill(2.0) >> None | x[0].fill(x[1, 0]) >> None
flags: x.flags.writeable | x.flags.c_contiguous | x.flags.f_contiguous | x.flags["OWNDATA"] | x.flags.contiguous
flat: x.flat[2] | x.flat[[0, 3]] | x.flat[1:4] | list(x.flat) | x.flat[1] = x[0, 0] >> x.flat[0] | x.flat = x[0] >> None | x.flat[:2] = [1.0, x[1, 1]] >> None | len(x.flat) | x.flat.copy() | [v * 2 for v in x.flat] | next(x.flat) | x.flat.base | np.asarray(x.flat)
flatten: x.flatten() | x.flatten("F") | x.flatten("K") | x.flatten(order="A")
getfield: x.getfield(np.float64)
imag: x.imag | x.imag = 0.0 >> None
item: x.item(1) | x.item(0, 1) | x.item((1, 1)) | x[:1, :1].item() | x.item(-1)
itemsize: x.itemsize
mT: x.mT
max: x.max() | x.max(axis=1) | x.max(0, keepdims=True) | x.max(initial=0.5, where=Y > 0.3)
mean: x.mean() | x.mean(axis=1) | x.mean(0, keepdims=True) | x.mean(dtype=np.float32) | x.mean(where=Y > 0.3)
min: x.min() | x.min(axis=1) | x.min((0, 1))
nbytes: x.nbytes
ndim: x.ndim
nonzero: x.nonzero() | (x > 0.5).nonzero()
partition: x.partition(1) >> x[..., 1] | x.partition(1, axis=0) >> x[1]
prod: x.prod() | x.prod(axis=1) | x.prod(0, keepdims=True) | x.prod(initial=2.0)
put: x.put([0, 2], [x[1, 1], 3.0]) >> None | x.put([0, -1], 1.5) >> None | x.put([7], 1.0, mode="wrap") >> None | x.put([9], 1.0, "clip") >> None
ravel: x.ravel() | x.ravel("F") | x.ravel("K") | x.ravel(order="A")
real: x.real | x.real = 1.0 >> None | x.real[0] = x[1] >> None | z = np.array(x, complex); z.imag = np.inf; z.real = x >> z
repeat: x.repeat(2) | x.repeat(2, axis=1) | x.repeat([1, 2], 0)
reshape: x.reshape(3, 2) | x.reshape((6,)) | x.reshape(-1) | x.reshape(3, 2, order="F") | x.reshape((3, -1), order="A") | x.reshape(2, 3, copy=True) | x.reshape(6, copy=False) | x.reshape([2, 3])
resize: x.resize(2) >> None
round: x.round() | x.round(1) | (x * 10).round(decimals=0)
searchsorted: np.sort(V).searchsorted(x) | np.sort(x[0]).searchsorted(0.5, side="right")
setfield: x.setfield(1.0, np.float64) >> None
setflags: x.setflags(write=False) >> x.flags.writeable
shape: x.shape | x.shape = (3, 2) >> x | x.shape = 6 >> x[0]
size: x.size
sort: x.sort() >> None | x.sort(axis=0) >> None | x.sort(0, kind="stable") >> None | x.T.sort() >> None
squeeze: x[:, None].squeeze() | x[None].squeeze(0) | x[:1].squeeze(axis=0)
std: x.std() | x.std(axis=1) | x.std(0, ddof=1) | x.std(keepdims=True) | x.std(where=Y > 0.3)
strides: x.strides
sum: x.sum() | x.sum(axis=1) | x.sum(axis=(0, 1)) | x.sum(0, keepdims=True) | x.sum(1, float, o[0]) | x.sum(initial=1.0, where=Y > 0.3) | x.sum(axis=-1, dtype=np.float32)
swapaxes: x.swapaxes(0, 1) | x.swapaxes(-1, 0)
take: x.take([0, 2], axis=1) | x.take(4) | x.take([[0, 1], [2, 3]]) | x.take([7], mode="clip") | x.take([-8], mode="wrap") | x.take([0, 1], 0, o[:2])
to_device: x.to_device("cpu")
tobytes: x.tobytes()
tofile: -
tolist: x.tolist() | x[0].tolist() | x[0, :1].tolist()[0]
trace: x.trace() | x.trace(1) | x.trace(offset=-1)
transpose: x.transpose() | x.transpose(1, 0) | x.transpose((0, 1)) | x.transpose(None)
var: x.var() | x.var(axis=1, ddof=1) | x.var((0, 1)) | x.var(0, keepdims=True)
view: x.view() | x.view(np.ndarray) | x.view(x.dtype)
"""  # noqa: E501 (a line for each name)

#: Indices, statements and operators.
STATEMENTS: Final = """
indices: x[0] | x[0, 1] | x[-1, -1] | x[..., 0] | x[:, 1:] | x[::-1, ::2] | x[None, :, None] | x[()] | x[...] | x[[1, 0]] | x[[0, 1], [2, 0]] | x[:, [0, 2]] | x[X > 0.5] | x[b] | x[0][1] | x[np.array([[0, 1]])] | x[np.int64(1)] | x[True] | x[[True, False]] | x[0:0] | x[np.ix_([0, 1], [0, 2])]
writes: x[0] = 1.0 >> None | x[0, 1] = x[1, 0] >> None | x[:, 1] = V[:2] >> None | x[..., 0] = 2.0 >> None | x[b] = 0.0 >> None | x[b] = x[b] * 2 >> None | x[[0, 1], [0, 1]] = [x[1, 1], 5.0] >> None | x[:] = x[::-1] >> None | x[0] += x[1] >> None | x *= 2.0 >> x | x -= x[0] >> x | x **= 2 >> x | x[::-1, ::2] /= 3.0 >> None | x[x > 0.3] += 1.0 >> None | x[1:] = x[:1] >> None | x[[0, 0]] += 1.0 >> None | x.T[1] = x[0, :2] >> None | x[None][0, 0] = 7.0 >> None | o[...] = [[1, 2, 3], x[0]] >> None | x[0, 0] = np.array([3.0]) >> None
outside: o[0] = x[0] >> o | o += x >> o | o[...] = x.sum() >> o | o[:, :2][0] = x[1, 1] >> o | o.ravel()[:2] = x[0, :2] >> o | o.T[0] = x[0, :2] >> o | o[x > 0.5] = x[x > 0.5] >> o
shared: r = np.broadcast_arrays(v, 0.5)[0]; v[0] = x[0, 0] >> r | r = np.meshgrid(v, V, copy=False); v[0] = x[0, 0] >> r[0] | r = np.atleast_1d(v, 2.0); r[0][0] = x[0, 0] >> v | r = np.shape(v); v[0] = x[0, 0] >> v | r = np.nan_to_num(v, copy=False); v[0] = x[0, 0] >> r | r = np.ix_(v, v)[1]; v[0] = x[0, 0] >> r | r = np.require(v); v[0] = x[0, 0] >> r | r = np.asarray_chkfinite(v); v[0] = x[0, 0] >> r | r = np.einsum("i->i", v); v[0] = x[0, 0] >> r | r = np.real_if_close(v); v[0] = x[0, 0] >> r | r = np.frombuffer(v); v[0] = x[0, 0] >> r | r = np.ma.array(v, copy=False); v[0] = x[0, 0] >> r.data | r = np.ndenumerate(v); v[0] = x[0, 0] >> list(r) | r = np.nditer(v); v[0] = x[0, 0] >> [float(q) for q in r] | r = np.broadcast(v, 0.5); v[0] = x[0, 0] >> list(r) | r = np.asmatrix(v); v[0] = x[0, 0] >> r.A | r = memoryview(v); v[0] = x[0, 0] >> r[0] | r = v.view("i8"); v[0] = x[0, 0] >> r | r = v.flat; v[0] = x[0, 0] >> np.array(r)
operators: x + Y | Y - x | 2 * x | x / 3 | 3 / x | x // 0.3 | x % 0.3 | 1 % x | x ** 2 | x ** 0.5 | 2 ** x | x ** x | x @ Y.T | Y @ x.T | -x | +x | abs(x) | x < Y | x >= 0.5 | x == x | x != Y | divmod(x, 0.3) | divmod(1.0, x) | ~b | b & (Y > 0.3) | b | b ^ b | k << 1 | k >> 1 | pow(x, 2) | x[0] @ V | round(x[0, 0], 1)
python: len(x) | list(x) | tuple(x[0]) | [row.sum() for row in x] | max(x[0]) | min(x[0]) | sum(x[0]) | sorted(x[0]) | sum(x) | float(x[0, 0]) | int(x[0, 0] * 10) | complex(x[0, 0]) | complex(x[0, 0], np.inf) | bool(x[0, 0]) | abs(x[0, 0]) | divmod(x[0, 0], 0.2) | float(x[:1, :1].sum()) | 0.31 in x | isinstance(x, np.ndarray) | isinstance(x[0, 0], float) | [*x[0], 1.0] | list(zip(x[0], x[1])) | list(map(float, x[0])) | (lambda p, q, s: p + q * s)(*x[0]) | x[0, 0].item() | x[0, 0].real | x[0, 0].dtype | [v for row in x for v in row] | list(enumerate(x)) | list(reversed(x[0])) | round(x[0, 0]) | round(float(x[0, 0]), 2) | x is x | np.float64(x[0, 0]) | np.float32(x) | type(x) is np.ndarray | hasattr(x[0, 0], "__iter__") | hasattr(x, "__iter__")
"""  # noqa: E501 (a line for each name)

#: Functions that write into an argument, and options that do.
WRITES: Final = """
copyto: np.copyto(x, 1.0) | np.copyto(x, Y) | np.copyto(x, Y, where=b) | np.copyto(x, x[0], where=[True, False, True]) | np.copyto(x, Y, casting="unsafe") | np.copyto(o, x) | np.copyto(o, x, where=b) | np.copyto(o[0], x[1], "same_kind") | np.copyto(x, x[::-1]) | np.copyto(k, x, casting="no") | np.copyto(o, [x[0], x[1]])
place: np.place(x, b, [1.0, 2.0]) | np.place(x, X > 0.5, x[0] * 2) | np.place(o, b, x[1]) | np.place(x, b, []) | np.place(x, mask=X > 0.5, vals=0.0)
put: np.put(x, [0, 4], [1.0, 2.0]) | np.put(x, [0, 1, 2], x[1, :2]) | np.put(x, [-1], 1.0) | np.put(x, [99], 1.0) | np.put(x, [99], 1.0, mode="clip") | np.put(x, [7], x[0, 0], mode="wrap") | np.put(o, [0, 3], x[0, :2]) | np.put(x, 2, 1.0) | np.put(x, [0, 0], [1.0, 2.0]) | np.put(a=x, ind=[1], v=[])
putmask: np.putmask(x, b, 0.0) | np.putmask(x, X > 0.5, [1.0, 2.0]) | np.putmask(x, b, x[::-1]) | np.putmask(o, b, x) | np.putmask(x, mask=b, values=x * 2)
fill_diagonal: np.fill_diagonal(x, 0.0) | np.fill_diagonal(x, [1.0, 2.0]) | np.fill_diagonal(x.T, x[0, 0]) | np.fill_diagonal(x.T, 3.0, wrap=True) | np.fill_diagonal(o, x[0]) | np.fill_diagonal(x[:, :2], 1.0)
put_along_axis: np.put_along_axis(x, np.array([[0], [1]]), 9.0, 1) | np.put_along_axis(x, np.argsort(x, 1)[:, :1], 0.0, axis=1) | np.put_along_axis(x, np.array([[1, 0, 1]]), x[0], 0) | np.put_along_axis(x, np.array([0, 3]), 1.0, None) | np.put_along_axis(o, np.array([[0], [1]]), x[:, :1], 1)
nan_to_num: np.nan_to_num(x, copy=False) | np.nan_to_num(x, False, 1.0) | x[0, 0] = np.nan >> np.nan_to_num(x, copy=False, nan=2.0) | np.nan_to_num(x / 0.0, posinf=1.0, neginf=-1.0)
random.shuffle: np.random.seed(3) >> np.random.shuffle(x) | np.random.default_rng(3).shuffle(x) >> None | np.random.default_rng(3).shuffle(x, axis=1) >> None | random.seed(3); y = list(x[0]); random.shuffle(y) >> y | np.random.default_rng(3).permutation(x) | np.random.default_rng(3).permuted(x, axis=1) | np.random.default_rng(3).choice(x[0], 2) | np.random.RandomState(3).shuffle(x) >> None
sort: np.ndarray.sort(x) >> None | np.sort(x, axis=0, kind="heapsort") | np.sort(x, stable=True) | np.sort(x, order=None)
add.at: np.add.at(x, [0, 0], 1.0) >> None | np.add.at(o, ([0, 1], [0, 1]), x[0, :2]) >> None | np.subtract.at(x, 0, x[1]) >> None | np.multiply.at(x, (0, [1, 1]), 2.0) >> None | np.maximum.at(x, [0], 0.5) >> None | np.minimum.at(o, [1], x[0]) >> None | np.negative.at(x, [0]) >> None | np.divide.at(x, [0], 2.0) >> None
ufunc_out: np.sin(x, out=x) | np.sin(x, x) | np.add(x, Y, out=o) | np.add(x, 1.0, x[::-1]) | np.multiply(Y, 2.0, out=x) | np.sqrt(x, out=o, where=b) | np.sqrt(x, out=x, where=X > 0.5) | np.add(x, Y, where=X > 0.5, out=o) | np.divide(x, X > 0.5, out=o, where=X > 0.5) | np.modf(x, out=(o, x)) | np.add(x, x, out=(o,)) | np.add(x, Y, out=...) | np.add(x[0, 0], 1.0, out=...) | np.add.reduce(x, None, out=...) | np.matmul(x, Y.T, out=o[:, :2]) | np.exp(x, out=x[...]) | np.divmod(x, 0.3, o, x) | np.add.reduce(x, out=o[0]) | np.add.reduce(x, 1, out=o[:, 0]) | np.add.accumulate(x, 1, out=x) | np.maximum(x, 0.5, out=x) | np.square(o, out=x) | np.sin(o, out=o) | np.add(o, 1.0, out=x, where=b)
options: np.cov(x, aweights=[1.0, 2.0, 3.0]) | np.cov(x, fweights=[1, 2, 1]) | np.cov(x, aweights=x[0]) | np.cross(x.T, Y.T, axisa=0, axisb=0) | np.cross(x, Y, axisc=0) | np.polyfit(np.arange(3.0), x[0], 1, w=[1.0, 2.0, 1.0]) | np.rollaxis(x, 1, start=0) | np.rollaxis(x[None], 2, start=1) | np.add.reduce(x, dtype=np.float32) | np.add.accumulate(x, dtype=complex) | np.eye(2, M=3) * x | np.arange(0, stop=3, step=1) * x | np.array(x, ndmax=2) | np.vectorize(lambda v: v * v, otypes=[float])(x) | np.vectorize(lambda v: v.sum(), signature="(n)->()")(x) | np.vectorize(lambda v, w: v * w, excluded={1})(x, 2.0) | np.array2string(x, precision=2) | np.array_repr(x) | np.array_str(x) | str(x) | repr(x) | f"{x[0, 0]:.3f}"
random: np.random.default_rng(0).normal(size=3) + x[0] | np.random.default_rng(0).random((2, 3)) * x
errors: np.take(x, 7) | np.take(x, 4, axis=1) | np.take(x, [0, -7]) | x.take(9) | np.take_along_axis(x, np.array([[3], [0]]), 1) | x[[0, 5]] | x[2] | x[:, 3] | np.delete(x, 5) | np.insert(x, 9, 1.0) | np.choose([3, 0, 1], [x[0], x[1]]) | np.compress([True, True, True, True], x, 1) | np.repeat(x, [1, 2], 1) | np.linalg.inv(x[:, :2] * 0) | np.linalg.solve(x[:, :2] * 0, x[0, :2]) | np.linalg.cholesky(-x[:, :2]) | np.average(x, weights=x * 0) | np.split(x, 2, axis=1) | np.concatenate([x, x[0]]) | np.reshape(x, (4, 2)) | x @ x | x + x[:, :2] | np.max(x[:0]) | np.argmax(x[:, :0]) | np.median(x, axis=3) | np.stack([x, x[0]]) | np.interp(x, [], []) | np.histogram(x, 0) | np.quantile(x, 1.5) | np.asarray_chkfinite(x / 0.0) | np.roots(x) | np.polyfit(x[0], x[1], -1) | np.fft.fft(x, 0) | np.cross(x[:, :1], x[:, :1]) | np.trapezoid(x, x[:, :2]) | np.unravel_index(k, (2, 2)) | np.ravel_multi_index((k[0], k[1]), (2, 2)) | np.bincount(-k[0] - 1) | np.searchsorted(x, 0.5) | np.insert(x, [0, 9], 1.0) | np.linalg.det(x) | np.linalg.eigh(x) | np.block([[x], [x, x]]) | np.squeeze(x, 0) | np.array_split(x, 0) | np.tile(x, -1) | np.trace(x[0]) | np.diag(x[None]) | np.vander(x) | np.vdot(x, x[0]) | np.einsum("ij,jk", x, x) | np.gradient(x[:, :1], axis=1) | np.digitize(x, [0.3, 0.1, 0.2]) | np.put(x, [9], 0.0) | x.item() | x.item(9) | float(x) | bool(x) | int(x[0]) | math.sqrt(x[0]) | len(x[0, 0]) | list(x[0, 0]) | x.shape = (4, 2) >> None | x[0] = x[:, 0] >> None | x[0] = [1.0, 2.0] >> None | np.copyto(x[0], x[:, 0])
errstate: np.errstate(all="ignore") >> x | np.vectorize(lambda v: v * v)(x) | np.vectorize(lambda v, w: v * w)(x, V) | np.frompyfunc(lambda v: v * 2, 1, 1)(x)
"""  # noqa: E501 (a line for each name)


def rows(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and calls of a table."""
    for line in text.strip().splitlines():
        name, _, calls = line.partition(": ")
        if calls != "-":
            yield from ((name, call) for call in calls.split(" | "))


#: Values of options, whichever function has them. An option is tried with each of them.
OPTIONS: Final = {
    "axis": ["None", "0", "1", "-1", "(0, 1)", "(-1,)", "()", "2", "np.int64(1)", "[0]"],
    "axes": ["None", "(0, 1)", "(1, 0)", "(0,)", "(-1, 0)"],
    "keepdims": ["True", "False"],
    "where": ["X > 0.3", "True", "np.array([True, False, True])", "b", "False"],
    "initial": ["0.5", "x[0, 0]", "None"],
    "dtype": ["np.float32", "float", "complex", "np.int64", "'f8'"],
    "order": ["'C'", "'F'", "'A'", "'K'"],
    "mode": ["'raise'", "'wrap'", "'clip'"],
    "copy": ["True", "False", "None"],
    "subok": ["True", "False"],
    "casting": ["'unsafe'", "'same_kind'", "'safe'", "'no'", "'equiv'"],
    "kind": ["'stable'", "'quicksort'", "'heapsort'"],
    "stable": ["True", "False"],
    "ddof": ["0", "1", "2"],
    "bias": ["True", "False"],
    "rowvar": ["True", "False"],
    "correction": ["0", "1"],
    "mean": ["np.mean(x, axis=1, keepdims=True)", "0.5"],
    "overwrite_input": ["True", "False"],
    "method": [
        "'linear'",
        "'lower'",
        "'higher'",
        "'midpoint'",
        "'nearest'",
        "'hazen'",
        "'weibull'",
    ],
    "weights": ["None", "X", "x", "V[:3] + 1"],
    "n": ["0", "1", "2", "5", "None"],
    "s": ["(2, 2)", "(4, 4)", "None"],
    "norm": ["None", "'ortho'", "'forward'", "'backward'"],
    "k": ["-1", "0", "1"],
    "offset": ["-1", "0", "1"],
    "axis1": ["0", "1"],
    "axis2": ["0", "1"],
    "side": ["'left'", "'right'"],
    "sorter": ["None", "[2, 1, 0]"],
    "assume_unique": ["True", "False"],
    "invert": ["True", "False"],
    "return_index": ["True"],
    "return_inverse": ["True"],
    "return_counts": ["True"],
    "return_indices": ["True"],
    "equal_nan": ["True", "False"],
    "sorted": ["True", "False"],
    "rtol": ["0.1"],
    "atol": ["0.2"],
    "nan": ["1.0"],
    "posinf": ["2.0"],
    "neginf": ["-2.0"],
    "prepend": ["0.0", "x"],
    "append": ["0.0", "x"],
    "to_begin": ["0.0", "x[0]"],
    "to_end": ["0.0", "x[0]"],
    "endpoint": ["True", "False"],
    "retstep": ["True", "False"],
    "num": ["3", "0", "1"],
    "base": ["2.0", "x[0, 0] + 1"],
    "edge_order": ["1", "2"],
    "dx": ["0.5", "x[0, 0]"],
    "period": ["0.5", "None"],
    "discont": ["0.2", "None"],
    "left": ["-1.0", "x[0, 0]"],
    "right": ["2.0", "x[0, 0]"],
    "decimals": ["0", "1", "-1"],
    "deg": ["True", "1", "2"],
    "density": ["True", "False"],
    "range": ["(0.0, 1.0)"],
    "bins": ["3", "[0.0, 0.4, 1.0]"],
    "minlength": ["0", "12"],
    "full": ["False", "True"],
    "cov": ["False", "True"],
    "returned": ["True", "False"],
    "optimize": ["True", "False", "'greedy'"],
    "compute_uv": ["True", "False"],
    "full_matrices": ["True", "False"],
    "hermitian": ["False"],
    "upper": ["True", "False"],
    "UPLO": ["'L'", "'U'"],
    "ord": ["None", "1", "2", "np.inf", "-1", "'fro'"],
    "rcond": ["None", "0.1"],
    "tol": ["0.5"],
    "indexing": ["'ij'", "'xy'"],
    "sparse": ["True", "False"],
    "increasing": ["True", "False"],
    "N": ["2", "4"],
    "m": ["1", "2"],
    "count": ["5", "None"],
    "bitorder": ["'big'", "'little'"],
    "trim": ["'f'", "'b'", "'fb'"],
    "include_initial": ["True", "False"],
    "interpolation": ["'lower'"],
    "extobj": [],
    "shape": ["(3, 2)", "6", "(2, -1)"],
    "reps": ["2", "(2, 1)"],
    "shift": ["1", "(1, 2)"],
    "bitwise": [],
    "strict": [],
    "wrap": ["True", "False"],
    "ndmin": ["0", "3"],
    "device": ["None", "'cpu'"],
    "like": ["None"],
    "writeable": ["True", "False"],
    "pinv_rcond": [],
    "unique": [],
    "deriv": [],
    "choicelist": [],
    "default": ["0.0", "x[0, 0]"],
    "constant_values": ["1.0", "x[0, 0]"],
    "max_work": ["None", "1"],
    "requirements": ["None", "['C']", "['F']", "['W']", "['O', 'A']", "'F'"],
}
#: How ``o`` is made for a result of a shape.
_UFUNC_OPTIONS: Final = {
    "dtype": ["np.float32", "float", "complex"],
    "order": OPTIONS["order"],
    "subok": OPTIONS["subok"],
    "casting": OPTIONS["casting"],
    "signature": ["'dd->d'", "'d->d'"],
}


_ENDS: Final = ["'full'", "'same'", "'valid'"]
#: Values of options of functions that mean another thing by their name.
_OTHER_VALUES: Final[dict[tuple[str, str], list[str]]] = {
    **{(name, "order"): ["None"] for name in ("sort", "argsort", "partition", "argpartition")},
    **{(name, "kind"): ["'introselect'"] for name in ("partition", "argpartition")},
    ("convolve", "mode"): _ENDS,
    ("correlate", "mode"): _ENDS,
    ("qr", "mode"): ["'reduced'", "'complete'", "'r'", "'raw'"],
    ("pad", "mode"): ["'constant'", "'edge'", "'reflect'", "'linear_ramp'", "'mean'", "'empty'"],
}


def values_of(function: Any, option: str) -> list[str]:
    """Return the values that an option of a function is tried with."""
    name = function.__name__
    if (name, option) in _OTHER_VALUES:
        return _OTHER_VALUES[name, option]
    if isinstance(function, np.ufunc) and option in _UFUNC_OPTIONS:
        return _UFUNC_OPTIONS[option]
    return OPTIONS.get(option, [])


def function_of(call: ast.Call) -> Callable[..., Any] | None:
    """Return the function of NumPy's that a call is to."""
    names = ast.unparse(call.func).split(".")
    if names[0] != "np":
        return None
    value: Any = np
    for name in names[1:]:
        value = getattr(value, name, None)
    return value if callable(value) else None


def parameters(function: Any) -> list[str]:
    """Return the names of the parameters of a function that can be given by name."""
    if isinstance(function, np.ufunc):
        return [*_UFUNC_OPTIONS, "out", "where"]
    try:
        known = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in known if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]


def bound(call: ast.Call, function: Any) -> set[str]:
    """Return which parameters a call gives."""
    try:
        names = [*inspect.signature(function).parameters]
    except (TypeError, ValueError):
        names = []
    return {*names[: len(call.args)], *[k.arg for k in call.keywords if k.arg]}


def calls_of(text: str) -> Iterator[tuple[ast.Expression, ast.Call, Any]]:
    """Yield the calls of NumPy's functions within an expression."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (function := function_of(node)) is not None:
            yield tree, node, function


def with_option(text: str, option: str, value: str) -> str | None:
    """Return an expression whose first call of NumPy's has one option more."""
    for tree, call, function in calls_of(text):
        if option in bound(call, function) or option not in parameters(function):
            return None
        call.keywords.append(ast.keyword(option, ast.parse(value, mode="eval").body))
        return ast.unparse(tree)
    return None


def variants() -> Iterator[tuple[str, str]]:
    """Yield calls with each value of each option that their functions have."""
    for name, calls in TABLE.items():
        for text in calls:
            text = text.lstrip("?!")
            for _, _, function in calls_of(text):
                for option in parameters(function):
                    for value in values_of(function, option):
                        made = with_option(text, option, value)
                        if made is not None and isinstance(function, np.ufunc):
                            made = with_out(made) if option == "where" else made
                        if made is not None:
                            yield name, made
                break


def by_keyword() -> Iterator[tuple[str, str]]:
    """Yield calls whose arguments go by their names, where a function takes them so."""
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for name, calls in TABLE.items():
        for text in calls:
            for tree, call, function in calls_of(text.lstrip("?!")):
                if isinstance(function, type) or not hasattr(function, "__name__"):
                    break
                try:
                    ordered = [*inspect.signature(function).parameters.values()]
                except (TypeError, ValueError):
                    break
                first = next((i for i, p in enumerate(ordered) if p.kind is named), len(ordered))
                names = [p.name for p in ordered[first:] if p.kind is named]
                values = call.args[first:]
                if values and len(values) <= len(names) and ast.Starred not in map(type, values):
                    pairs = zip(names, values, strict=False)
                    call.keywords = [ast.keyword(x, y) for x, y in pairs] + call.keywords
                    del call.args[first:]
                    yield name, ast.unparse(tree)
                break


def with_out(text: str) -> str | None:
    """Return an expression whose first call writes into ``o``."""
    return with_option(text, "out", "o")


#: Functions whose further options say nothing of values: of text, files and dates.
WITHOUT_OPTIONS: Final = """
array2string array_repr array_str bmat busday_count busday_offset is_busday datetime_as_string
save savez savez_compressed savetxt vectorize arange array
""".split()  # noqa: SIM905 (names with blanks between them)


def outs() -> Iterator[tuple[str, str, str]]:
    """Yield calls that write their results into ``o``, and how that is made."""
    scope = {"np": np, "x": X, "b": X > 0.5, "k": np.floor(X * 10).astype(np.int64), **OTHERS}
    for name, calls in TABLE.items():
        for text in calls:
            text = text.lstrip("?!")
            call = with_out(text)
            if call is None:
                continue
            _, node, _ = next(calls_of(text))
            with np.errstate(all="ignore"):
                try:
                    result = eval(ast.unparse(node), dict(scope))
                except (TypeError, ValueError, AttributeError):
                    continue
            if isinstance(result, (np.ndarray, np.generic)):
                yield name, call, f"{result.shape}, 1, dtype=np.{result.dtype.name}"

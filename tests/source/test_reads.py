"""Arrays that a program changes, and reads in every way that Python and NumPy have.

What reads an array is given to a function or an operator at once, or written elsewhere. Each
program is read, or captured; central differences say what its gradient is. It may be refused.
"""

import array
import collections
import copy
import functools
import heapq
import itertools
import math
import operator
import random
import statistics
import types
from typing import Any, Final

import attrs
import numpy as np
import pytest
from random_programs import compiled

from tinyjax import source
from tinyjax.errors import TinyjaxError

pytestmark = [
    pytest.mark.usefixtures("double_precision"),
    pytest.mark.filterwarnings("ignore"),
]

#: What gives the elements of an array ``a``, views of it, or what holds it.
WAYS: Final = """
a.flat
a.view()
a.view(np.ndarray)
a.view(complex)
a[:2].view(complex)
memoryview(a)
collections.deque(a)
iter(a)
copy.copy(a)
copy.deepcopy(a)
[a]
(a, a)
(a, 1.0 * a)
[a, x]
np.matrix(a)
np.asmatrix(a)
np.ma.array(a)
np.ma.asarray(a)
np.rec.array(a)
operator.itemgetter(slice(0, 3))(a)
operator.attrgetter('T')(a)
operator.methodcaller('ravel')(a)
getattr(a, 'T')
np.broadcast_to(a, (2, 3))
np.broadcast_arrays(a, x)
np.broadcast_arrays(a, np.ones((2, 1)))
np.atleast_2d(a)
np.atleast_1d(a, x)
np.split(a, 3)
np.array_split(a, 2)[0]
np.meshgrid(a, x)
np.meshgrid(a, x, copy=False)
np.meshgrid(a, x, sparse=True, copy=False)
np.ix_(a, x)
np.lib.stride_tricks.sliding_window_view(a, 2)
np.lib.stride_tricks.as_strided(a, (2, 2), (8, 8))
np.lib.stride_tricks.as_strided(a, (2,), (16,))
np.expand_dims(a, 0)
np.flip(a)
np.flipud(a)
np.rot90(a[None])
np.real(a)
np.imag(a)
np.real_if_close(a)
np.nan_to_num(a)
np.nan_to_num(a, copy=False)
np.require(a)
np.einsum('i->i', a)
np.einsum('i,j->ij', a, x)
np.diagonal(a * np.eye(3))
np.diag(a)
np.diag(a[:, None])
np.array(a, ndmin=2, copy=None)
np.asanyarray(a)
np.asfortranarray(a)
np.moveaxis(a[None], 0, 1)
np.rollaxis(a[None], 1)
np.trim_zeros(a)
np.unstack(a)
np.select([x > 0.5], [a])
np.choose([0, 0, 0], [a, x])
np.where(x > 0.5, a, 0)
np.piecewise(a, [x > 0.5], [lambda v: v, 0.0])
np.vectorize(lambda v: v)(a)
np.apply_along_axis(lambda v: v, 0, a)
np.take(a, [0, 2])
np.nditer(a)
np.ndenumerate(a)
np.frompyfunc(lambda v: v, 1, 1)(a)
np.poly1d(a)
np.poly1d(a).coef
np.polynomial.Polynomial(a).coef
np.polynomial.Polynomial(a)(x)
np.fft.fftshift(a)
np.roll(a, 1)
np.sort(a)
np.unique(a)
np.linalg.matrix_transpose(a[None])
np.frombuffer(a)
np.squeeze(a[None])
np.concatenate([a])
a[..., None]
a[None]
a[...]
a[()]
a[None, ..., 0]
a[[True, False, True]]
a[np.array([0, 2])]
a[slice(None)]
a[(slice(1, None),)]
a.reshape(3, 1)
a.reshape(1, 3, order='F')
a.transpose()
a.swapaxes(0, 0)
a.squeeze()
a.ravel('K')
a.flatten()
a.real
a.imag
a.T
a.data
a.astype(float, copy=False)
a.astype(complex)
a.__array__()
a.__getitem__(slice(0, 2))
a.__copy__()
a.conj()
a.repeat(2)
a.take([0, 1])
a.getfield(float)
a.byteswap().byteswap()
a.tolist()
a.item(0)
a.clip(0, 1)
a.dot(a)
a.cumsum()
a.sum(keepdims=True)
a.max(0)
types.SimpleNamespace(v=a).v
dict(v=a)['v']
{'v': a}['v']
{'v': a}.get('v')
{**{'v': a}}['v']
next(iter([a]))
[a][0]
[a, x][int(x[0] > 0)]
(a if x[0] < 5 else x)
max([a, x], key=lambda v: v[0])
sorted([a, x], key=lambda v: v[0])[0]
list(map(np.sin, [a, x]))
functools.partial(np.multiply, a)(x)
functools.reduce(np.add, [a, x])
functools.reduce(np.add, [a])
np.add.reduce([a, x])
np.add.outer(a, x)
np.add.accumulate(a)
np.sin(a, where=x > 0.5, out=np.zeros(3))
array.array('d', a)
bytes(a)
enumerate(a)
zip(a, x)
map(float, a)
reversed(a)
range(int(a[0]))
slice(a)
str(a)
{*a}
dict(enumerate(a))
dict(enumerate(a)).values()
list(dict(enumerate(a)).values())
list(zip(a, x))
list(enumerate(a))
tuple(map(float, a))
list(itertools.chain(a, x))
list(itertools.accumulate(a))
list(itertools.product(a, x))
list(itertools.pairwise(a))
list(itertools.combinations(a, 2))
list(itertools.islice(a, 2))
list(itertools.zip_longest(a, x))
list(itertools.starmap(operator.mul, zip(a, x)))
list(itertools.takewhile(lambda v: True, a))
list(itertools.repeat(a, 2))
itertools.repeat(a, 2)
list(itertools.tee(a)[0])
list(itertools.compress(a, [1, 0, 1]))
[*map(math.sin, a)]
[*a, *x]
[v for v in a]
[v + w for v, w in zip(a, x)]
{v: 1.0 for v in a}
sum([[v] for v in a], [])
sum([list(a)], [])
sorted(a)
sorted(a, key=lambda v: -v)
list(reversed(list(a)))
list(a)[::-1]
list(a)[1:]
list(a) + list(x)
list(a) * 2
tuple(a) + (1.0,)
[list(a), list(x)]
heapq.nsmallest(2, a)
heapq.nlargest(2, a)
random.Random(0).sample(list(a), 2)
np.array(list(a))
sum(a) * a
sum(a)
max(a)
min(a, default=0)
sorted(a)[0]
functools.reduce(operator.mul, a)
functools.reduce(lambda p, q: p * 0.5 + q, a, 1.0)
np.stack(list(a))
np.stack(list(map(math.sin, a)))
np.array(tuple(a))
np.sum(list(a)) * a
np.multiply(list(a), 2)
np.dot(list(a), x) * x
math.fsum(a)
math.prod(a)
math.hypot(*a)
math.dist(a, x)
statistics.mean(a)
statistics.fmean(a)
statistics.median(a)
sum(a[1:]) * 2
sum(a[::-1] * 2)
sum(a.flat)
sum(a.tolist())
np.array(a.tolist())
list(a)[1] * 2
tuple(a)[1] * 2
[*a][1]
next(iter(a)) * 3
list(zip(a, x))[1][0] * 2
list(enumerate(a))[1][1] * 2
list(map(math.sin, a))[1]
list(reversed(a))[0]
list(filter(None, a))[0]
dict(enumerate(a))[1]
dict(zip('pqr', a))['q']
set(a).pop() * 0 + a[0]
max(a, key=lambda t: -t)
max(a[0], a[1])
max(*a)
sum(v * w for v, w in zip(a, x))
sum([v * 2 for v in a])
any(a) * a[0]
np.array([v * 2 for v in a])
np.fromiter(a, float)
np.fromiter((v * 2 for v in a), float)
sum(map(operator.mul, a, x))
sum(itertools.accumulate(a))
list(itertools.accumulate(a))[-1]
list(itertools.chain(a, x))[1]
sum(itertools.islice(a, 2))
operator.itemgetter(1)(a)
operator.itemgetter(0, 1)(a)[1]
a.__getitem__(1) * 2
a.item(1) * 2
np.take(a, 1)
np.asarray(a)[1]
a.sum() * a.max()
a.tolist()[1] * 2
float(a[1]) * 2
np.float64(a[1]) * a
len(a) * a[1]
sum(sorted(a)[:2])
sorted(a, reverse=True)[0]
{i: v for i, v in enumerate(a)}[1]
(lambda *r: r[1] * r[0])(*a)
(lambda p, q, s: p * q + s)(*a)
'{}'.format(a[0]) and a[1]
divmod(a[1], 0.37)[1]
abs(a[1]) + pow(a[1], 2) + round(a[1], 1)
complex(a[0], a[1]).imag
np.real(a)[1] * np.imag(a)[0] + a.real[1]
a.T[1] * a.flat[2]
np.vstack(list(zip(a, a)))[:, 0]
np.interp(list(a), [0.0, 5.0], [0.0, 2.0])
np.where(list(a > 0), list(a), 0)
np.maximum(list(a), list(x))
np.einsum('i,i', list(a), x)
np.mean(list(a)) + np.max(tuple(a))
np.polyval(list(a), 0.5)
np.insert(list(a), 1, 2.0)[:3]
np.concatenate((tuple(a), list(a)))[:3]
np.linalg.norm(list(a))
np.sin(list(a))
np.sin(tuple(a))[1]
x * list(a)
list(a) * x
a @ list(a)
operator.mul(x, tuple(a))
"""
READERS: Final = """
np.sin({})
np.array({})
np.sum({})
({}) * x
np.multiply(2, {})
{}
"""
CHANGES: Final = """
a = x * 1.0
a = x * 1.0; a[0] = x[0] * 1.5
a = np.zeros(3); a[1:] = x[1:]
m = np.outer(x, x); a = m[1]; m[1, 0] = x[2] * x[1]
a = x * 1.0; b = a[1:]; b += x[0]
a = np.zeros(3); for i in range(3): a[i] = x[i] * x[0]
"""
#: Ways to keep numbers where no array of numbers is: in records, objects, buffers, bases, defaults.
STORES: Final = """
r = np.zeros(3, [("p", float), ("q", float)]); r["p"] = a; a = r["p"] * 2
r = np.zeros(3, [("p", float), ("q", float)]); r["q"][:] = a; r["q"][1] = x[0]; a = r["q"] * x
r = np.zeros(3, [("p", float), ("q", int)]); p = r["p"]; p += a; a = r["p"] * x
r = np.zeros(3, [("p", float), ("q", float)]); r[1] = (x[0], x[1]); a = a + r["p"] * r["q"]
r = np.zeros((), [("p", float, 3)]); r["p"][...] = a; a = r["p"] * x
r = np.zeros(3, [("p", float)]); r["p"] = a; v = r.view(float); v[0] = x[1]; a = r["p"] * x
r = np.empty(3, object); r[0] = a[0]; r[1:] = [x[0], 2.0]; a = a * r[0] * r[1]
r = np.empty(2, object); r[0] = a; r[0][1] = x[0]; a = r[0] * x
r = np.array([None, None]); r[1] = a; q = r[1]; q *= x; a = r[1] * 2
r = np.array([a[0], a[1], 2.0], object); r[1] *= x[0]; a = a * r.sum()
r = np.array(list(a), object); a = (r * x[0]).astype(float)
r = a.astype(object); r[0] = x[1]; a = r.astype(float) * x
a = np.array(a.data) * x
a = np.asarray(a[1:].data)[0] * x
a = np.sum(a[:].base) * x
b = a[1:]; a = b.base[0] * x
b = a.reshape(1, 3); a[0] = x[1]; a = b.base * x
b = a[::2]; b.base[0] = x[1]; a = b[0] * x
g = lambda t=a: t; a = g.__defaults__[0] * x
g = lambda *, t=a: t; a = g.__kwdefaults__["t"] * x
w = a * x; g = lambda: w; a = g.__closure__[0].cell_contents * 2
o = types.SimpleNamespace(v=a, w=x[0]); a = o.__dict__["v"] * o.__dict__["w"]
o = types.SimpleNamespace(v=a, w=x[0]); a = list(getattr(o, "__dict__").values())[1] * x
o = Pair(a, x[0]); a = o.__dict__["v"] * o.w
o = Pair(a, x[0]); a = list(o.__dict__.items())[1][1] * o.v
o = type("Made", (), {"v": a, "w": x[0]}); a = o.v * o.w
o = type("Made", (), {"v": a, "w": x[0]})(); a = o.v * o.w
"""
PROGRAM: Final = """
def program(x):
{}
{}
    return total(r) + np.sum(a * x)
"""
POINT: Final = np.array([0.3, 0.7, 1.1])
STEP: Final = 1e-6
MODULES: Final = (
    *(array, collections, copy, functools, heapq, itertools, math, operator, random, statistics),
    types,
)


@attrs.frozen(slots=False)
class Pair:
    v: Any
    w: Any


def total(result: Any) -> Any:
    """Return a number of all elements of a result, which no two of them share in."""
    values = np.asarray(result)
    weights = np.cos(np.arange(values.size) + 1.0).reshape(values.shape)
    return np.sum(np.real(values * values) * weights)


def laid_out(statements: str) -> str:
    """Return statements on lines of their own."""
    return "".join(f"    {line}\n" for line in statements.split("; "))


def check(change: str, read: str) -> None:
    """Compare the gradient with central differences."""
    text = PROGRAM.format(laid_out(change), laid_out(read))
    names = {module.__name__: module for module in MODULES}
    program = compiled(text, np=np, total=total, Pair=Pair, **names)
    try:
        differences = [
            (program(POINT + STEP * e) - program(POINT - STEP * e)) / (2 * STEP) for e in np.eye(3)
        ]
    except (TypeError, ValueError, AttributeError, IndexError):  # Python refuses it
        return
    try:
        gradient = source.grad(program)(POINT)
    except TinyjaxError:
        return
    np.testing.assert_allclose(gradient, differences, 2e-5, 2e-5, err_msg=text)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("way", WAYS.strip().splitlines())
def test_what_is_read_of_arrays_that_change(way: str) -> None:
    for reader in READERS.strip().splitlines():
        for change in CHANGES.strip().splitlines():
            check(change, f"r = {reader.format(way)}; a[2] = x[0]")


@pytest.mark.parametrize("store", STORES.strip().splitlines())
def test_what_is_stored_in_no_array_of_numbers(store: str) -> None:
    for change in CHANGES.strip().splitlines()[::2]:
        check(change, f"{store}; r = a")

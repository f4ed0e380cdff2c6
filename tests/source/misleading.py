"""Programs that could mislead what reads, stages and captures them, as ``capturing.misleading``.

Each may be refused in any entry, and is right in the others. NumPy says what is right.
"""

from typing import Final

from capturing.misleading import Misleading, sections

STATE: Final = r"""
## properties_of_a_subclass
class Axes(np.ndarray):
    def __new__(cls, x):
        made = np.asarray(x).view(cls)
        made.tag = 1
        return made

    def __array_finalize__(self, made):
        self.tag = getattr(made, "tag", None)

    @property
    def shape(self):
        return super().shape

    @property
    def axes(self):
        return super().ndim

    def total(self):
        return super().sum()

def f(x):
    a = Axes(x * 2)
    n = a.shape[0] + a.axes + a.size + a.tag
    return np.sum(a * a) + n + a.total() + np.sum(a[1:]) + np.max(np.concatenate([a, a]))

## default_array_written
def g(v, buffer=np.zeros(4)):
    buffer[:] = v
    return buffer

def f(x):
    a = g(x)
    b = g(2 * x)
    return np.sum(a * b)

## default_array_added_to
def f(x):
    def g(i, b=np.ones(4)):
        b += x[i]
        return b
    g(0)
    return np.sum(g(1) * x)

## default_list_of_arrays (refused)
def f(x):
    def g(v, log=[]):
        log.append(v)
        return log
    g(x * 1.0)
    return sum(u.sum() for u in g(x * x))

## default_of_keyword_only
def f(x):
    y = x * 2.0
    def g(*, b=y):
        return b[0] * b[1]
    y[0] = 3.0
    return g() + y @ x

## default_number_bound_early
def f(x):
    t = x[0]
    def g(v, s=t):
        return s * v
    t = x[1] * 7.0
    return g(x[2]) + t

## class_attribute_array
class A:
    table = np.zeros(4)

def f(x):
    A.table[:] = x
    return A.table @ x

## class_attribute_array_through_instance
class A:
    table = np.array([1.0, 2.0, 3.0, 4.0])

def f(x):
    a = A()
    a.table = a.table * x
    a.table[0] = x[1]
    return np.sum(a.table) + np.sum(A.table)

## class_attribute_in_place_makes_an_instance_attribute
class A:
    n = 1.0

def f(x):
    a = A()
    a.n += x[0]
    a.n *= x[1]
    return a.n * A.n

## class_in_function_holds_array
def f(x):
    class A:
        v = x * 2.0
        w = v[0]
    return A.w * A.v[1] + np.sum(A.v)

## global_array_read_after_write
STATE = np.ones(4)

def change(v):
    STATE[1:3] = v[:2]

def f(x):
    STATE[:] = 1.0
    change(x)
    return np.sum(STATE * x)

## global_rebound
T = 0.0

def f(x):
    global T
    T = x[0] * 2
    T = T * x[1]
    return T + x[2]

## global_array_rebound
T = np.zeros(4)

def g():
    return T @ T

def f(x):
    global T
    T = x * 3.0
    return g()

## nonlocal_array_in_place
def f(x):
    y = x * 1.0
    def g(i):
        nonlocal y
        y += x[i]
        y = y * 0.5
    g(0)
    z = y
    g(1)
    return np.sum(y * z)

## nonlocal_number_in_loop
def f(x):
    s = 0.0
    def add(v):
        nonlocal s
        s = 0.5 * s + v
        return s
    return sum(add(v) for v in x) * s

## memo_in_dict
def f(x):
    memo = {}
    def g(i):
        if i not in memo:
            memo[i] = x[i] if i < 2 else g(i - 1) * g(i - 2)
        return memo[i]
    return g(3) + g(2)

## memo_of_arrays_written
def f(x):
    memo = {}
    def g(i):
        if i not in memo:
            memo[i] = x * i
        return memo[i]
    g(1)[0] = x[3]
    return np.sum(g(1) * g(2))

## lru_cache_of_arrays
@functools.lru_cache
def basis(n):
    return np.arange(float(n))

def f(x):
    b = basis(4)
    return b @ x + (basis(4) * x) @ x

## lru_cache_of_closure
def f(x):
    @functools.lru_cache(maxsize=None)
    def g(i):
        return x[i] * x[i - 1]
    return g(0) * g(0) + g(2)

## lru_cache_result_written
def f(x):
    @functools.lru_cache
    def g():
        return np.zeros(4)
    g()[0] = x[0]
    g()[1] += x[1] * g()[0]
    return np.sum(g() * x)

## cache_by_number (refused)
@functools.cache
def g(v):
    return v * v

def f(x):
    return g(float(x[0])) * g(float(x[0])) + x[1]

## dataclass_of_arrays_written
@dataclasses.dataclass
class P:
    a: object
    b: object

def f(x):
    p = P(x * 1.0, x * 2.0)
    q = P(p.a, p.b[::-1])
    q.b[0] = x[0] * x[1]
    p.a += q.b
    return np.sum(q.a * p.b)

## dataclass_replace_shares
@dataclasses.dataclass(frozen=True)
class P:
    a: object
    n: float = 1.0

def f(x):
    p = P(x * 1.0)
    q = dataclasses.replace(p, n=x[1])
    q.a[0] = 5.0 * x[3]
    return np.sum(p.a) * q.n

## dataclass_default_factory
@dataclasses.dataclass
class P:
    a: object = dataclasses.field(default_factory=lambda: np.zeros(4))
    n: float = 2.0

def f(x):
    p, q = P(), P()
    p.a[:] = x
    q.a[0] = x[1]
    return np.sum(p.a * x) + q.a[0] * q.n + q.a.sum()

## dataclass_astuple_copies
@dataclasses.dataclass
class P:
    a: object

def f(x):
    p = P(x * 1.0)
    (b,) = dataclasses.astuple(p)
    b[0] = 100.0 * x[2]
    return np.sum(p.a * x) + b[0]

## namedtuple_of_arrays
P = collections.namedtuple("P", "a b")

def f(x):
    p = P(x * 1.0, x[::-1])
    q = p._replace(b=p.a)
    q.b[1] = x[0]
    a, b = q
    return np.sum(p.a * p.b) + np.sum(a * b)

## getitem_gives_view
class V:
    def __init__(self, a):
        self.a = a
    def __getitem__(self, i):
        return self.a[i : i + 2]

def f(x):
    v = V(x * 1.0)
    w = v[1]
    w *= 3.0
    v[0][1] = x[3]
    return np.sum(v.a * x)

## setitem_writes_elsewhere
class V:
    def __init__(self, n):
        self.a, self.b = np.zeros(n), np.zeros(n)
    def __setitem__(self, i, v):
        self.a[i] = v
        self.b[i] = self.a[i] * 2
    def __getitem__(self, i):
        return self.b[i]

def f(x):
    v = V(4)
    for i in range(4):
        v[i] = x[i] * x[i]
    v[0] += 1.0
    return v[0] * v[1] + v.a.sum()

## property_makes_view
class V:
    def __init__(self, a):
        self.a = a
    @property
    def head(self):
        return self.a[:2]
    @head.setter
    def head(self, v):
        self.a[:2] = v

def f(x):
    v = V(x * 1.0)
    v.head += x[3]
    v.head = v.head * v.head
    return np.sum(v.a)

## property_copies
class V:
    def __init__(self, a):
        self._a = a
    @property
    def a(self):
        return self._a.copy()

def f(x):
    v = V(x * 1.0)
    v.a[0] = 100.0
    return v.a @ x

## cached_property_of_array
class V:
    def __init__(self, a):
        self.a = a
    @functools.cached_property
    def s(self):
        return self.a * 2

def f(x):
    v = V(x * 1.0)
    t = v.s
    v.a[0] = 7.0
    t[1] = x[0]
    return np.sum(v.s) + np.sum(v.a)

## generator_with_state
def running(x):
    total = np.zeros(2)
    for v in x:
        total += v
        yield total

def f(x):
    seen = []
    for t in running(x):
        seen.append(t)
    return sum(s[0] for s in seen) * x[0]

## generator_with_copies
def running(x):
    total = np.zeros(2)
    for v in x:
        total += v
        yield total.copy()

def f(x):
    return sum(s[0] * s[1] for s in list(running(x)))

## generator_interleaved
def gen(a):
    for i in range(4):
        yield a[i]

def f(x):
    a = x * 1.0
    s = 0.0
    for i, v in enumerate(gen(a)):
        s += v * v
        if i < 3:
            a[i + 1] += v
    return s

## zip_of_array_that_changes
def f(x):
    a = x * 1.0
    s = 0.0
    for p, q in zip(a, a[1:]):
        s += p * q
        a[2] = s
    return s + a.sum()

## enumerate_of_rows_that_change
def f(x):
    a = np.outer(x, x)
    for i, r in enumerate(a):
        r[i] = 0.5
        r += a[0]
    return np.sum(a)

## reversed_array
def f(x):
    s = 0.0
    for v in reversed(x * x):
        s = s * 0.5 + v
    return s

## sorted_by_key_of_array
def f(x):
    order = sorted(range(4), key=lambda i: -x[i])
    return sum((k + 1) * x[i] for k, i in enumerate(order))

## sorted_rows
def f(x):
    a = np.array([x, x[::-1], x * 2])
    rows = sorted(a, key=lambda r: r[0] - r[1])
    rows[0][0] = 9.0
    return np.sum(a) + rows[1] @ rows[2]

## max_of_rows_written
def f(x):
    a = np.array([x, x[::-1]])
    r = max(a, key=lambda r: r[0])
    r[0] = 0.0
    return np.sum(a * a)

## nditer_reading
def f(x):
    return sum(float(v) * float(v) for v in np.nditer(x)) + x[0]

## nditer_writing
def f(x):
    a = x * 1.0
    with np.nditer(a, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = v * v
    return np.sum(a)

## nditer_multi
def f(x):
    s = 0.0
    for p, q in np.nditer([x, x[::-1].copy()]):
        s = s + p * q
    return float(s)

## nditer_external_loop
def f(x):
    s = 0.0
    for chunk in np.nditer(x, flags=["external_loop"], order="C"):
        s += np.sum(chunk * chunk)
    return s

## ndenumerate_writes
def f(x):
    a = np.outer(x, x)
    for (i, j), v in np.ndenumerate(a):
        a[j, i] = v + 0.1 * i
    return np.sum(a * a)

## vectorize_two
def f(x):
    g = np.vectorize(lambda p, q: p * q if p > q else p + q)
    return np.sum(g(x, x[::-1]))

## vectorize_excluded_pyfunc
def f(x):
    g = np.vectorize(lambda p, c: p * c[0], excluded=[1])
    return np.sum(g(x, [x[1]]))

## vectorize_closure_state
def f(x):
    seen = []
    g = np.vectorize(lambda p: (seen.append(p), p * p)[1], otypes=[float])
    return np.sum(g(x)) + seen[0] * seen[-1]

## apply_along_axis_writes
def f(x):
    a = np.outer(x, x)
    def g(r):
        r = r * 2
        r[0] = r[1]
        return r
    return np.sum(np.apply_along_axis(g, 1, a) * a)

## apply_along_axis_of_argument
def f(x):
    a = np.outer(x, x)
    def g(r):
        r[0] = 0.0
        return r.sum()
    return np.sum(np.apply_along_axis(g, 1, a)) + a.sum()

## apply_over_axes
def f(x):
    a = np.outer(x, x)
    return float(np.apply_over_axes(np.sum, a, [0, 1])[0, 0] * x[0])

## frompyfunc_reduce
def f(x):
    g = np.frompyfunc(lambda p, q: p * q + 1.0, 2, 1)
    return float(g.reduce(x))

## frompyfunc_call
def f(x):
    g = np.frompyfunc(lambda p: p * p, 1, 1)
    return np.sum(g(x)) * 1.0

## frompyfunc_outer
def f(x):
    g = np.frompyfunc(lambda p, q: p * q, 2, 1)
    return float(np.sum(g.outer(x, x[:2]).astype(float)))
"""

ARRAYS: Final = r"""
## reduceat
def f(x):
    return np.sum(np.add.reduceat(x * x, [0, 2, 1]) * x[:3])

## reduceat_of_products
def f(x):
    return np.sum(np.multiply.reduceat(x, [0, 2]))

## reduceat_with_out
def f(x):
    y = np.zeros(2)
    r = np.add.reduceat(x, [0, 1], out=y)
    y *= x[0]
    return np.sum(r * y)

## accumulate_with_out
def f(x):
    y = np.zeros(4)
    np.multiply.accumulate(x, out=y)
    np.add.accumulate(y, out=y)
    return y @ x

## maximum_accumulate
def f(x):
    return np.sum(np.maximum.accumulate(x) * x) + np.minimum.accumulate(x)[-1]

## reduce_with_initial_and_where
def f(x):
    return (
        np.add.reduce(x, initial=x[0], where=x > 0.4)
        * np.multiply.reduce(x, initial=2.0, where=np.array([True, False, True, True]))
    )

## maximum_reduce_where
def f(x):
    return np.maximum.reduce(x, initial=0.1, where=[True, False, False, True]) * x[2]

## ufunc_where_without_out
def f(x):
    y = x * 2.0
    np.multiply(x, 3.0, out=y, where=x > 0.5)
    return np.sum(y * x)

## sqrt_where
def f(x):
    y = np.zeros(4)
    np.sqrt(x - 0.5, where=x > 0.5, out=y)
    return np.sum(y)

## divide_where
def f(x):
    d = np.where(x > 0.5, x, 0.0)
    return np.sum(np.divide(1.0, d, out=np.zeros_like(x), where=d != 0))

## log_where_out_is_argument
def f(x):
    y = x * 1.0
    np.log(y, where=y > 0.5, out=y)
    return np.sum(y * y)

## at_with_out_of_order
def f(x):
    y = np.ones(4)
    np.multiply.at(y, [3, 3, 0], x[:3])
    np.add.at(y, ([0, 0],), x[2])
    np.maximum.at(y, [1], x[0])
    return np.sum(y * y)

## divide_at
def f(x):
    y = np.ones(4)
    np.divide.at(y, [1, 1], x[1])
    np.negative.at(y, [0, 2])
    return np.sum(y * x)

## outer_with_out
def f(x):
    y = np.zeros((4, 2))
    np.multiply.outer(x, x[:2], out=y)
    return np.sum(y) + np.subtract.outer(x, x)[1, 2] * y[0, 0]

## ufunc_out_tuple
def f(x):
    q, r = np.zeros(4), np.zeros(4)
    np.divmod(x, 0.3, out=(q, r))
    np.modf(x * 2, out=(r, q))
    return np.sum(r * x) + np.sum(q)

## out_overlaps
def f(x):
    y = np.concatenate([x, x])
    np.add(y[:-1], y[1:], out=y[1:])
    np.multiply(y[::-1], 0.5, out=y)
    return np.sum(y * np.arange(8.0))

## out_of_other_dtype
def f(x):
    y = np.zeros(4, np.float32)
    np.multiply(x, x, out=y, casting="same_kind")
    return float(np.sum(y.astype(float) * np.array([1.0, 0.0, 0.0, 0.0]))) * 0.0 + x[0]

## put
def f(x):
    y = x * 1.0
    np.put(y, [0, -1], [x[1], x[2]])
    np.put(y, [5], x[3], mode="wrap")
    return np.sum(y * y)

## put_repeats_values
def f(x):
    y = np.zeros((2, 3))
    np.put(y, [0, 4, 2], x[:2])
    y.put([1], x[3])
    return np.sum(y * y)

## place
def f(x):
    y = x * 1.0
    np.place(y, x > 0.4, x[:2] * 10)
    return np.sum(y * y)

## putmask
def f(x):
    y = x * 1.0
    np.putmask(y, y > 0.4, x[::-1] * 3)
    np.putmask(y, [True, False, False, False], 2.0)
    return np.sum(y * x)

## copyto_where
def f(x):
    y = np.zeros(4)
    np.copyto(y, x * x, where=x > 0.5)
    np.copyto(y[1:], x[:1], where=[True, False, False])
    return np.sum(y * x)

## fill_diagonal
def f(x):
    a = np.outer(x, x)
    np.fill_diagonal(a, x)
    np.fill_diagonal(a[:, ::-1], 0.5)
    return np.sum(a * a)

## fill_diagonal_wrap
def f(x):
    a = np.zeros((5, 2))
    np.fill_diagonal(a, x[:2], wrap=True)
    return np.sum(a * a) + x[3]

## flat_assignments
def f(x):
    a = np.outer(x, x)
    a.flat[3] = x[0]
    a.flat[::5] *= 2.0
    a.flat[[1, 2]] = x[:2]
    a.T.flat[1] = 7.0
    return np.sum(a * a)

## flat_ellipsis
def f(x):
    a = np.zeros((2, 2))
    a.flat[...] = x
    a.T.flat = a[0].copy()
    return np.sum(a * a)

## partition_in_place
def f(x):
    y = x * x
    y.partition(2)
    return y[2] + np.sum(y[:2]) * 3 + y[3]

## sort_in_place_of_view
def f(x):
    a = np.outer(x, x)
    a[:, 1].sort()
    a[::-1, 2].sort()
    return np.sum(a * np.arange(16.0).reshape(4, 4))

## sort_then_old_name
def f(x):
    y = x * 1.0
    z = y
    y.sort()
    return z[0] * z[3] + y[1]

## resize_in_place
def f(x):
    y = x * 1.0
    y.resize(6, refcheck=False)
    y[5] = x[0]
    return np.sum(y * y)

## resize_smaller
def f(x):
    y = x * 1.0
    y.resize((2,), refcheck=False)
    return np.sum(y * x[2:])

## shape_set
def f(x):
    y = x * 1.0
    v = y[:]
    y.shape = (2, 2)
    y[1, 0] = x[0]
    return np.sum(v * v) + y[0, 1]

## strides_set
def f(x):
    y = np.concatenate([x, x * 2])
    z = np.lib.stride_tricks.as_strided(y, (3, 2), (8, 16))
    z = z.copy()
    z[0, 0] = 5.0
    return np.sum(z) + y.sum()

## structured
def f(x):
    a = np.zeros(2, dtype=[("p", float), ("q", float, 2)])
    a["p"] = x[:2]
    a["q"][0] = x[2:]
    a[1]["q"] = x[0] * x[1]
    return np.sum(a["p"]) * np.sum(a["q"])

## structured_record_view
def f(x):
    a = np.zeros(2, dtype=[("p", float), ("q", float)])
    r = a[0]
    r["p"] = x[0] * x[1]
    a["q"] = a["p"] * 2
    return a["q"].sum() * x[2]

## recarray
def f(x):
    a = np.rec.fromarrays([x[:2], x[2:]], names="p,q")
    a.p = a.q * 2
    return float(np.sum(a.p * a.q))

## masked
def f(x):
    m = np.ma.masked_array(x * x, mask=[False, True, False, False])
    m[0] = np.ma.masked
    return float(m.sum()) * x[0]

## masked_greater
def f(x):
    m = np.ma.masked_greater(x, 0.6)
    return float(m.filled(2.0) @ x) + m.count() * x[1]

## integer_and_float
def f(x):
    n = np.arange(4)
    return np.sum(x * n / 2 + n // 2 * x) + np.sum(n / (n + 1)) * x[0]

## integer_array_takes_floats
def f(x):
    n = np.zeros(4, int)
    n[:] = x * 10
    n[0] = 3.9 * x[0] + 1
    return np.sum(n * x)

## integer_array_add_in_place
def f(x):
    n = np.arange(4)
    n += np.array([1, 2, 3, 4])
    n[1] += 2.7
    return np.sum(n * x)

## integer_overflow
def f(x):
    n = np.array([2**62, 2**62]) * 2
    m = np.uint8(250) + np.arange(4, dtype=np.uint8) * np.uint8(3)
    return x[0] * (n[0] < 0) + np.sum(m * x)

## int8_sum
def f(x):
    n = np.full(4, 100, np.int8)
    return n.sum() * x[0] + (n + n)[0] * x[1] + (n * n).astype(float) @ x

## unsigned_minus
def f(x):
    n = np.arange(4, dtype=np.uint32)
    return np.sum((n - np.uint32(2)).astype(float) * 1e-9 * x) + np.sum(-n.astype(int) * x)

## bool_arithmetic
def f(x):
    b = x > 0.4
    return (b + b).sum() * x[0] + (b * x).sum() + (~b * x).sum() + np.sum(b & (x < 1)) * x[1]

## bool_minus_raises
def f(x):
    b = x > 0.4
    try:
        return np.sum(b - b) * x[0]
    except TypeError:
        return x[1] * x[2]

## invert_of_int
def f(x):
    n = np.arange(4)
    return np.sum(~n * x) + np.sum((n << 1) * x) + np.sum((n ^ 3) * x) + (~True) * x[0]

## complex_mix
def f(x):
    z = x + 1j * x[::-1]
    z[0] = x[1]
    z.real[1] *= 2
    z.imag = z.real * x
    return np.sum(np.abs(z)) + (z @ z.conj()).real

## complex_into_real
def f(x):
    y = np.zeros(4)
    z = x * np.exp(1j * x)
    y[:] = z.real
    y += z.imag
    return np.sum(y * y) + np.angle(z[1])

## complex_power
def f(x):
    z = complex(x[0], x[1])
    return (z**2).real + (z**0.5).imag + abs(z ** (1 + 1j)) + (1j ** x[2]).real

## float32_mix
def f(x):
    y = x.astype(np.float32).astype(float) - x
    return float(np.sum(np.round(y * 0)) + x[0] * x[1])

## dtype_dependent_branch
def f(x):
    y = x * np.float32(2)
    if y.dtype == np.float64:
        return np.sum(y * y)
    return np.sum(y)

## finfo
def f(x):
    eps = np.finfo(x.dtype).eps
    return x[0] * x[1] + eps * x[2] + np.iinfo(np.int8).max * x[3]

## result_type
def f(x):
    y = np.zeros(4, np.result_type(x, np.int64))
    y[...] = x
    return y @ y

## negative_steps
def f(x):
    y = x * 1.0
    y[::-1][1:3] = x[:2]
    y[-1:0:-2] += x[0]
    y[3::-3] *= 2
    return np.sum(y * y)

## newaxis_and_ellipsis
def f(x):
    a = np.outer(x, x)
    b = a[..., None, 1:3]
    b[0, ..., 0] = x[0]
    a[None, ..., 0][0, 1] = x[3]
    return np.sum(a * a)

## mixed_indices
def f(x):
    a = np.arange(24.0).reshape(2, 3, 4) * x
    b = a[:, [0, 2], 1:3]
    c = a[1, :, [0, 1]]
    a[[0, 1], 1, [2, 3]] = x[:2]
    a[0, [True, False, True], 0] *= 2
    return np.sum(a) + np.sum(b * b) + np.sum(c)

## boolean_matrix_index
def f(x):
    a = np.outer(x, x)
    m = a > 0.3
    a[m] = a[m] * 2
    a[~m] = x[0]
    a[m.any(axis=1)] += 1.0
    return np.sum(a * a)

## repeated_indices_add
def f(x):
    y = np.zeros(3)
    y[[0, 0, 1]] += x[:3]
    y[[2, 2]] = x[2:]
    return np.sum(y * y)

## repeated_indices_of_copy
def f(x):
    y = x[[0, 0, 1, 1, 3]]
    y[0] = 9.0
    y *= y
    return np.sum(y) + x[0]

## index_array_from_argsort
def f(x):
    i = np.argsort(x)
    y = np.empty(4)
    y[i] = np.arange(4.0) * x
    return np.sum(y * x) + x[i[0]]

## take_and_clip
def f(x):
    return np.take(x, [5, -9], mode="clip") @ x[:2] + np.take(x, [5], mode="wrap")[0] * x[0]

## scalar_of_boolean_index
def f(x):
    return x[x > 0.4][0] * x[x > 0.4][-1] + x[np.nonzero(x > 0.4)[0][0]]
"""

LANGUAGE: Final = r"""
## chained_comparison_of_elements
def f(x):
    s = 0.0
    for v in x:
        if 0.3 < v <= 0.6 != 0.7:
            s += v * v
        elif not 0.6 < v < 1.0:
            s -= v
    return s

## chained_comparison_with_side_effect
def f(x):
    seen = []
    def g(v):
        seen.append(v)
        return v
    ok = 0.0 < g(x[0]) < g(x[1]) < g(x[2])
    return sum(v * v for v in seen) + ok * x[3]

## walrus_in_while
def f(x):
    i, s = 0, 0.0
    while (v := x[i]) * s < 0.5 and i < 3:
        s += v
        i += 1
    return s * v + i

## walrus_in_comprehension
def f(x):
    t = [y * z for v in x if (y := v * v) > 0.1 for z in (y + 1.0, v)]
    return sum(t) * y

## while_else
def f(x):
    s, i = 0.0, 0
    while i < 4:
        s += x[i]
        if s > 2.0:
            break
        i += 1
    else:
        s = s * 10.0
    return s * x[0] + i

## for_else_with_continue
def f(x):
    s = 0.0
    for v in x:
        if v > 1.0:
            continue
        s += v
        if s > 1.2:
            break
    else:
        return s * s
    return s * x[1]

## nested_else_returns
def f(x):
    for i in range(3):
        for j in range(3):
            if x[i] * x[j] > 1.0:
                break
        else:
            continue
        break
    else:
        i = 3
    return x[i] * x[0] + i + j

## try_finally_in_loop
def f(x):
    s = 0.0
    for v in x:
        try:
            if v > 1.0:
                continue
            s += v
        finally:
            s *= 1.5
    return s * x[0]

## finally_overrides_return
def f(x):
    def g(v):
        try:
            return v * 100
        finally:
            if v > 0.5:
                return v * v
    return g(x[0]) + g(x[1])

## exception_carries_array
def f(x):
    y = x * 2
    try:
        raise ValueError(y)
    except ValueError as e:
        (z,) = e.args
        z[0] = x[3]
    return np.sum(y * y)

## exception_from_index
def f(x):
    s, i = 0.0, 0
    try:
        while True:
            s += x[i] ** 2
            i += 1
    except IndexError:
        s *= i
    return s

## with_changes_array
@contextlib.contextmanager
def scaled(a, c):
    a *= c
    try:
        yield a[1:]
    finally:
        a /= c

def f(x):
    y = x * 1.0
    with scaled(y, x[0]) as z:
        z[0] = 3.0
        t = np.sum(y)
    return t * np.sum(y)

## comprehension_scope
def f(x):
    v = x[0]
    t = [v * v for v in x]
    return v * t[1]

## comprehension_of_lambdas
def f(x):
    fs = [lambda u: u * v for v in x]
    gs = [lambda u, v=v: u * v for v in x]
    return fs[0](x[0]) + gs[0](x[1])

## late_binding_in_loop
def f(x):
    fs = []
    for i in range(3):
        def g():
            return x[i] * i
        fs.append(g)
    return sum(g() for g in fs) + i

## closure_over_rebound_array
def f(x):
    y = x * 1.0
    g = lambda: y[0] * y[1]
    a = g()
    y = y * 3.0
    b = g()
    y[0] = 2.0
    return a + b + g()

## closure_changes_other_closure
def f(x):
    y = x * 1.0
    def put(i, v):
        y[i] = v
    def get(i):
        return y[i] * y[0]
    put(0, x[3])
    s = get(1)
    put(1, s)
    return get(1) + y.sum()

## default_evaluated_once
def f(x):
    y = x * 1.0
    def g(s=y.sum()):
        return s * y[0]
    y[0] = 2.0
    return g() + y[1]

## generator_expression_is_lazy
def f(x):
    y = x * 1.0
    g = (v * v for v in y)
    y[1] = 3.0
    a = next(g)
    y[2] = x[0]
    return a + sum(g)

## map_is_lazy
def f(x):
    y = x * 1.0
    m = map(lambda v: v * v, y)
    y[0] = 2.0
    return sum(m) * x[1]

## zip_is_lazy
def f(x):
    y = x * 1.0
    s = 0.0
    for i, (a, b) in enumerate(zip(y, y[::-1])):
        y[3 - i] = 0.5
        s += a * b
    return s * x[0]

## filter_by_state
def f(x):
    seen = []
    def keep(v):
        seen.append(v)
        return sum(seen) < 1.5
    return sum(filter(keep, x)) * len(seen)

## round_half
def f(x):
    return (
        round(x[0] * 10) * x[1]
        + round(2.5) * x[2]
        + round(float(x[1]), 1) * x[0]
        + np.round(x[3] * 7)
    )

## round_negative_digits
def f(x):
    return round(x[0] * 1234, -2) * x[1] + np.round(x * 55, -1) @ x

## int_truncates_negative
def f(x):
    return int(-x[0] * 5) * x[1] + int(x[2] * 3) * x[3] + np.int64(-x[0] * 7) * x[2]

## divmod_negative
def f(x):
    q, r = divmod(-x[0], 0.3)
    p, s = divmod(x[1], -0.2)
    return q * x[2] + r * s + p * x[3]

## modulo_negative
def f(x):
    return (
        -x[0] % 0.3
        + x[1] % -0.4
        + np.mod(-x, 0.25) @ x
        + np.fmod(-x, 0.25) @ x
        + np.remainder(x, -0.3).sum()
    )

## floor_divide_negative
def f(x):
    return (-x[0] // 0.3) * x[1] + (-x // 0.2) @ x + (7 // -x[2]) * x[3]

## power_of_negative_base
def f(x):
    return (-x[0]) ** 3 + (-x[1]) ** 2 + np.power(-x, 3).sum() + (-2.0) ** int(x[2] * 2) * x[0]

## power_zero_base
def f(x):
    y = x - x[0]
    return np.sum(y**2) + np.sum(y**1) + (y**0).sum() * x[1] + 0.0 ** x[2] + x[1] ** 0

## power_zero_exponent_array
def f(x):
    return np.sum(x ** np.array([0, 1, 2, 3])) + np.sum(np.array([0.0, 1.0, 2.0, 3.0]) ** x)

## power_array_of_zero_base
def f(x):
    y = np.array([0.0, 1.0, 0.0, 2.0])
    return np.sum(y ** (x + 1)) + np.sum((y * x) ** 2)

## integer_power_of_integers
def f(x):
    n = np.arange(1, 5)
    return np.sum(n**2 * x) + 2**3 * x[0] + np.sum((n ** np.arange(4)) * x) + 2**-1 * x[1]

## math_functions
def f(x):
    return (
        math.hypot(x[0], x[1])
        + math.atan2(x[1], -x[2])
        + math.log1p(x[0])
        + math.expm1(x[1])
        + math.erf(x[2])
        + math.gamma(x[2] + 1)
        + math.fsum([x[0], x[1] * x[2]])
        + math.copysign(x[0], -x[1])
    )

## math_of_integers
def f(x):
    return (
        math.sqrt(4) * x[0]
        + math.floor(x[2] * 3) * x[1]
        + math.comb(4, 2) * x[2]
        + math.gcd(12, 8) * x[3]
    )

## math_prod_dist
def f(x):
    return math.prod(x) + math.prod([x[0], 2, x[1]], start=x[2]) + math.dist(x[:2], x[2:])

## math_modf_frexp
def f(x):
    a, b = math.modf(x[2] * 3)
    m, e = math.frexp(x[0])
    return a * b + m * e + math.ldexp(x[1], 3)

## math_isnan_branch
def f(x):
    y = np.log(x - 0.5)
    return sum(v if not math.isnan(v) else x[0] * 2 for v in y)

## nan_comparison
def f(x):
    n = float("nan")
    return x[0] if n < x[0] else x[1] * x[1] if not n > x[0] else x[2]

## nan_in_sort_and_max
def f(x):
    y = np.array([x[0], np.nan, x[1], x[2]])
    return np.nanmax(y) * np.nansum(y) + np.sort(y)[0] + max([x[0], float("nan")])

## inf_in_minimum
def f(x):
    best = math.inf
    for v in x:
        if v < best:
            best = v
    return best * np.minimum(x, np.inf).sum() + min(math.inf, x[0])

## inf_times_zero_masked
def f(x):
    y = np.where(x > 0.4, 1.0 / np.maximum(x - 0.4, 1e-3), 0.0)
    return np.sum(y)

## empty_arrays
def f(x):
    e = x[:0]
    return (
        e.sum() + e.prod() * x[0] + np.concatenate([e, x]).sum() + np.sum(np.outer(e, x)) + len(e)
    )

## empty_loop
def f(x):
    s = x[0]
    for v in x[4:]:
        s = v * 2
    for i in range(0):
        s = 5.0
    return s * x[1] + sum([]) + max([], default=x[2])

## empty_mask
def f(x):
    y = x * 1.0
    y[x > 100] = 7.0
    y[[]] = 3.0
    y[np.array([], int)] += 1.0
    return np.sum(y * x) + x[x > 100].sum()

## size_one_arrays
def f(x):
    y = x[:1] * x[1:2]
    y[0] += x[2]
    return float(y[0]) * y.item() + y.sum() + np.squeeze(y) * 2 + y.max()

## size_one_broadcast
def f(x):
    y = x[:1]
    z = np.ones((3, 1)) * y
    z[:, 0] = x[1:]
    return np.sum(z * y) + (y + x).sum() + (y @ y)

## zero_d_arrays
def f(x):
    a = np.array(x[0])
    b = a * x[1]
    a[...] = x[2]
    c = a
    c += 1.0
    return a * b + float(c) + a.ndim + c[()]

## zero_d_alias
def f(x):
    y = x * 1.0
    a = y[1:2].reshape(())
    a[()] = x[0] * 3
    b = y[..., 0]
    y[0] = 5.0
    return np.sum(y) + b * x[1]

## ellipsis_item_is_a_view
def f(x):
    y = x * 1.0
    b = y[2, ...]
    c = y[2]
    y[2] = x[0]
    return b * 2 + c * 3 + y.sum()

## scalar_item_is_a_copy
def f(x):
    y = x * 1.0
    c = y[1]
    c += 5.0
    d = y[1:2]
    d += x[0]
    return y[1] * c

## list_of_rows_alias
def f(x):
    a = np.outer(x, x)
    rows = list(a)
    rows[1] *= 2.0
    rows[0] = rows[1]
    rows[0][0] = 3.0
    return np.sum(a)

## list_multiplication_alias
def f(x):
    rows = [x * 1.0] * 3
    rows[0][0] = 5.0
    rows[1] = rows[1] * 2
    return sum(r.sum() for r in rows)

## list_in_place_add
def f(x):
    a = [x[0]]
    b = a
    a += [x[1], x[2]]
    c = a + [x[3]]
    b[0] = 2.0
    return sum(a) * sum(c) + len(b)

## dict_update_alias
def f(x):
    d = {"a": x * 1.0}
    e = dict(d)
    e["a"][0] = 3.0
    d.update(b=e["a"])
    d["b"] *= 2
    return np.sum(d["a"]) + len(d)

## dict_order_and_pop
def f(x):
    d = {"a": x[0], "b": x[1]}
    d["c"] = d.pop("a")
    d |= {"b": x[2]}
    return sum((i + 1) * v for i, v in enumerate(d.values()))

## tuple_in_place
def f(x):
    t = (x * 1.0, 1)
    t[0][0] = 3.0
    u = t[0]
    u += x
    return np.sum(t[0] * x)

## swap_by_tuple
def f(x):
    a, b = x[:2] * 1.0, x[2:] * 1.0
    a, b = b, a
    a[0], b[0] = b[0], a[0]
    a[:], b[:] = b.copy(), a.copy()
    return a @ x[:2] + b[0]

## swap_of_views_without_copy
def f(x):
    y = x * 1.0
    y[:2], y[2:] = y[2:], y[:2]
    return np.sum(y * np.arange(4.0))

## multiple_targets
def f(x):
    a = b = x * 1.0
    a[0] = 2.0
    c = d = x[0]
    c += 1
    return np.sum(b) * c * d

## star_targets
def f(x):
    first, *mid, last = x * 2
    mid[0] = 5.0
    return first * last + sum(mid)

## del_and_rebind
def f(x):
    y = x * 1.0
    z = y
    del y
    y = x * 2.0
    z[0] = 9.0
    return np.sum(y) + np.sum(z)

## conditional_alias
def f(x):
    a, b = x * 1.0, x * 2.0
    c = a if x[0] > 0.5 else b
    c[1] = 7.0
    return np.sum(a) + 2 * np.sum(b)

## loop_alias_moves
def f(x):
    a, b = x * 1.0, np.zeros(4)
    for i in range(3):
        b[i] = a[i] * a[0]
        a, b = b, a
    return np.sum(a * x) + np.sum(b)

## array_of_python_floats
def f(x):
    y = np.array([float(v) * 2 for v in x])
    z = np.array([y, y])
    z[0, 0] = 3.0
    return z.sum() + y[0]

## setdiag_by_view
def f(x):
    a = np.outer(x, x)
    a.ravel()[:: 5] = 1.0
    a.reshape(-1)[1] = x[0]
    np.diagonal(a).copy()[0] = 7.0
    return np.sum(a * a)

## transposed_in_place
def f(x):
    a = np.outer(x, x * x)
    a.T[0] += x
    a += a.T.copy()
    b = a.T
    b[0, 1] = 2.0
    return np.sum(a * np.arange(16.0).reshape(4, 4))

## broadcast_written
def f(x):
    b = np.broadcast_to(x, (2, 4))
    try:
        b[0, 0] = 1.0
    except ValueError:
        return x[0] * x[1]
    return x[2]

## read_only_flag
def f(x):
    y = x * 1.0
    y.flags.writeable = False
    try:
        y += 1
    except ValueError:
        y = y * 3
    return np.sum(y * x)

## swapped_axes_reduction
def f(x):
    a = x.reshape(2, 2)
    b = np.moveaxis(a[None], 0, -1)
    c = b * 2
    c[0, 0, 0] = x[3]
    return np.einsum("ijk,ij->", c, a)

## searchsorted_and_digitize
def f(x):
    i = np.searchsorted([0.2, 0.5, 1.0], x)
    j = np.digitize(x, [0.2, 0.5, 1.0])
    return np.sum(i * x) + np.sum(x[j % 4])

## bincount_with_weights
def f(x):
    return (
        np.sum(np.bincount([0, 1, 1, 2], weights=x) ** 2)
        + np.bincount((x * 3).astype(int)).sum() * x[0]
    )

## unique_and_sets
def f(x):
    u, i = np.unique(np.array([x[0], x[1], x[0]]), return_inverse=True)
    return u @ np.arange(1.0, 3.0) + np.union1d(x[:2], x[:1]).sum() + i[0]

## setdiff_of_floats
def f(x):
    return np.sum(np.setdiff1d(x, x[:1]) ** 2) + np.intersect1d(x, x[1:3]) @ np.array([1.0, 2.0])

## polynomial_of_values
def f(x):
    return np.polyval(x, 0.5) + np.polyder(np.poly1d(x))(0.3) + np.polynomial.Polynomial(x)(x[0])

## gradient_cumsum_diff
def f(x):
    return (
        np.sum(np.gradient(x) ** 2)
        + np.cumsum(x)[-1] * np.diff(x, 2)[0]
        + np.ediff1d(x).sum()
        + np.trapezoid(x, dx=0.5)
    )

## interp_kinks
def f(x):
    return np.interp(x[0], [0.0, 0.5, 1.0], x[:3]) + np.interp(
        0.3, np.sort(x), [1.0, 2.0, 0.0, 5.0]
    )

## clip_bounds_of_values
def f(x):
    return np.clip(x, x[1], x[2]).sum() * x[0] + np.clip(x[0], None, 0.5) + x.clip(min=0.4) @ x

## where_of_one_argument
def f(x):
    i = np.where(x > 0.4)[0]
    return x[i].sum() * i[0] + x[i] @ x[i]

## select_choose
def f(x):
    return (
        np.select([x > 1.0, x > 0.5], [x * x, x * 3], x[0]).sum()
        + np.choose([0, 1, 0, 1], [x, x * x]) @ x
    )

## percentile_median
def f(x):
    return np.median(x) * np.percentile(x, 30) + np.quantile(x, [0.1, 0.9]) @ x[:2]

## argmax_ties
def f(x):
    y = np.array([x[0], x[0] * 1.0, x[1]])
    return y[np.argmax(y)] * 2 + y[np.argmin(y)] + x[np.argmax(x)]

## norm_orders
def f(x):
    return (
        np.linalg.norm(x, 1)
        + np.linalg.norm(x, np.inf) * np.linalg.norm(x, 3)
        + np.linalg.norm(np.outer(x, x), "fro")
    )

## matrix_functions
def f(x):
    a = np.outer(x[:2], x[2:]) + np.eye(2)
    return (
        np.linalg.det(a)
        + np.trace(np.linalg.inv(a))
        + np.linalg.solve(a, x[:2])[0]
        + np.linalg.matrix_power(a, 3)[0, 1]
    )

## kron_tile_repeat
def f(x):
    t = np.tile(x, 2)
    t[0] = 3.0
    r = np.repeat(x, 2)
    r[1] = x[3]
    return t @ r + np.kron(x[:2], x[2:]).sum()

## roll_and_flip_are_views_or_copies
def f(x):
    y = x * 1.0
    a, b = np.roll(y, 1), np.flip(y)
    y[0] = 5.0
    return a @ x + b @ x

## split_are_views
def f(x):
    y = x * 1.0
    a, b = np.split(y, 2)
    a += b
    b[0] = x[0]
    return np.sum(y * x) + np.hstack([a, b])[0]

## stack_is_a_copy
def f(x):
    y = x * 1.0
    s = np.stack([y, y])
    s[0, 0] = 9.0
    y[1] = x[0]
    return np.sum(s) + np.sum(y)

## append_insert_delete
def f(x):
    y = np.append(x, x[0])
    z = np.insert(y, 1, x[2])
    w = np.delete(z, 0)
    w[0] = 2.0
    return y @ y + z[1] * w.sum()

## meshgrid_sparse_and_views
def f(x):
    a, b = np.meshgrid(x[:2], x[2:])
    a[0, 0] = 5.0
    c, d = np.meshgrid(x[:2], x[2:], sparse=True)
    return np.sum(a * b) + np.sum(c * d)

## ix_and_mgrid
def f(x):
    a = np.outer(x, x)
    a[np.ix_([0, 2], [1, 3])] *= x[0]
    i, j = np.mgrid[0:4, 0:4]
    return np.sum(a * i) + np.sum(a[np.ogrid[0:2, 0:2][0]] * j[:2, :1])

## tril_of_matrix_written
def f(x):
    a = np.outer(x, x)
    a[np.tril_indices(4, -1)] = 0.0
    a[np.triu_indices(4, 2)] += x[0]
    return np.sum(np.tril(a)) + np.sum(a)

## einsum_views
def f(x):
    a = np.outer(x, x)
    d = np.einsum("ii->i", a)
    d[0] = 9.0
    return np.sum(a * a) + np.einsum("i,i", x, x)

## recursion_with_list
def f(x):
    def walk(i, acc):
        if i == 4:
            return sum(acc)
        acc.append(x[i] * len(acc))
        return walk(i + 1, acc) + acc[0]
    return walk(0, [x[3]])

## recursion_returns_views
def f(x):
    y = x * 1.0
    def half(a):
        if len(a) == 1:
            a[0] *= 2
            return a[0]
        n = len(a) // 2
        return half(a[:n]) * half(a[n:])
    return half(y) + y.sum()

## accumulate_in_attribute_of_function
def f(x):
    def g(v):
        g.total += v * v
        return g.total
    g.total = x[0]
    return sum(g(v) for v in x) * g.total

## method_that_returns_self
class A:
    def __init__(self, v):
        self.v = v
    def add(self, w):
        self.v = self.v + w
        return self
    def put(self, i, w):
        self.v[i] = w
        return self

def f(x):
    a = A(x * 1.0)
    b = a.add(x).put(0, x[3])
    return np.sum(a.v) * b.v[0]

## iter_with_sentinel
def f(x):
    values = list(x)
    it = iter(lambda: values.pop() if values else None, None)
    return sum((i + 1) * v for i, v in enumerate(it))

## next_with_default
def f(x):
    it = iter(x)
    a = next(it)
    b = next(it, 5.0)
    return a * b + sum(it) + next(it, x[0])

## any_all_short_circuit
def f(x):
    seen = []
    def big(v):
        seen.append(v)
        return v > 0.6
    a = any(big(v) for v in x)
    b = all(big(v) for v in x)
    return sum(seen) * a + b

## sum_of_arrays_with_start
def f(x):
    t = sum([x, x * 2], np.zeros(4))
    u = sum([[x[0]], [x[1]]], [])
    return t @ x + u[1]

## min_with_key_and_default
def f(x):
    return min(x, key=lambda v: abs(v - 0.5)) * max([x[:2], x[2:]], key=np.sum)[0] + min(
        [], default=x[0]
    )

## sorted_stability
def f(x):
    p = sorted(zip([1, 0, 1, 0], x))
    q = sorted(x, reverse=True)
    return sum(i * v for i, (_, v) in enumerate(p)) + q[0] * q[-1]

## string_methods_by_value
def f(x):
    label = "big" if x[0] > 0.5 else "small"
    scale = {"big": x[1], "small": x[2]}[label.lower()]
    return scale * len(label)

## match_on_values
def f(x):
    match (x[0] > 0.5, len(x)):
        case (True, 4):
            return x[0] * x[1]
        case (False, n):
            return x[2] * n
    return 0.0

## type_switch
def f(x):
    s = 0.0
    for v in (x[0], 2, True, [x[1]], x):
        if isinstance(v, bool):
            s += 0.5
        elif isinstance(v, int):
            s += v * x[2]
        elif isinstance(v, (float, np.floating)):
            s += v * v
        elif isinstance(v, list):
            s += v[0]
        else:
            s += np.sum(v)
    return s

## lru_method_cache
class A:
    def __init__(self, v):
        self.v = v
    @functools.cached_property
    def s(self):
        return np.sum(self.v * self.v)

def f(x):
    a = A(x * 1.0)
    t = a.s
    a.v[0] = 3.0
    return t * a.s

## partial_with_array
def f(x):
    y = x * 1.0
    g = functools.partial(lambda a, i: a[i] * a[0], y)
    y[0] = x[3]
    return g(1) + g(i=2)

## operator_in_place_functions
def f(x):
    y = x * 1.0
    z = operator.iadd(y, x)
    z *= 2
    operator.imul(y, x[0])
    return np.sum(y * z)

## matmul_in_place
def f(x):
    a = np.outer(x, x) * 0.3
    b = a
    a @= np.eye(4) * x[0]
    return np.sum(b * b)

## in_place_on_integer_view
def f(x):
    n = np.arange(4)
    m = n[1:]
    m *= 3
    n <<= 1
    return np.sum(n * x)

## in_place_float32
def f(x):
    a = np.zeros(4, np.float32)
    a += np.array([1.0, 0.5, 0.25, 2.0])
    return float(a.sum()) * x[0] + x @ a.astype(float)

## exponent_of_numpy_integer
def f(x):
    return (
        x[0] ** np.int64(3)
        + np.float64(2.0) ** x[1]
        + np.int64(2) ** x[2]
        + x[3] ** np.float32(2)
    )

## booleans_as_indices
def f(x):
    b = x > 0.5
    return [x[1], x[2]][int(b[0])] + (x[0], x[1])[int(b[1])] * x[3] + x[b.astype(int)].sum()

## true_division_of_integers
def f(x):
    return 7 / 2 * x[0] + 7 // 2 * x[1] + -7 // 2 * x[2] + np.array([7, 8])[0] / 2 * x[3]

## float_to_index
def f(x):
    n = len(x)
    mid = int(n / 2)
    k = int(np.floor(x[0] * n)) % n
    return x[mid] * x[k] + x[round(x[1])]
"""

#: What reads numbers as something else, and that again as numbers.
READ_AGAIN: Final = r"""
## identity_1
def f(x):
    y = x[:]
    return x[0] if y is x else x[1]

## identity_2
def f(x):
    y = np.asarray(x)
    return x[0] if y is x else x[1]

## identity_3
def f(x):
    y = x * 1.0
    z = y
    return x[0] if z is y else x[1]

## identity_4
def f(x):
    y = x.reshape(4)
    return x[0] if y is not x else x[1]

## identity_5
def f(x):
    y = x.copy()
    y[0] = 3.0
    z = y.ravel()
    return y[1] if y is z else y[2]

## identity_6
def f(x):
    return x[0] if id(x) == id(x[:]) else x[1]

## identity_7
def f(x):
    y = x.T
    return x[0] if y is x else x[1]

## identity_8
def f(x):
    y = +x
    return x[0] if any(v is x for v in [y, 1]) else x[1]

## identity_10
def f(x):
    y = x.astype(float, copy=False)
    return x[0] if y is x else x[1]

## identity_11
def f(x):
    y = x.squeeze()
    return x[0] if operator.is_(x, y) else x[1]

## identity_12
def f(x):
    y = {id(x): x[0]}
    return y.get(id(x.real), x[1])

## bits_1
def f(x):
    return np.sum(x.view("f8") * x)

## bits_2
def f(x):
    return np.sum(x.view(np.uint64).view(np.float64) * x)

## bits_3
def f(x):
    y = x + 1j * x[::-1]
    return np.sum(y.view(float) * np.arange(8.0))

## bits_4
def f(x):
    y = x * 1.0
    return np.sum(y.view(complex).real * x[:2])

## bits_5
def f(x):
    y = x * 1.0
    v = y.view(np.int64)
    v[0] = 0
    return np.sum(y * x)

## bits_6
def f(x):
    y = np.concatenate([x, x])
    return np.abs(y.view(complex)).sum()

## bits_9
def f(x):
    y = np.ndarray(4, float, x)
    return y @ x

## bits_11
def f(x):
    return np.frombuffer(x.tobytes()) @ x

## bits_12
def f(x):
    return np.frombuffer(bytes(x)) @ x

## bits_13
def f(x):
    return np.frombuffer(x.data) @ x

## bits_14
def f(x):
    return np.asarray(memoryview(x)) @ x

## bits_15
def f(x):
    return struct.unpack("d", struct.pack("d", x[0]))[0] * x[1]

## bits_16
import array
def f(x):
    return sum(array.array("d", x)) * x[0]

## bits_17
def f(x):
    return np.array(array.array("d", list(x))) @ x
import array

## text_1
def f(x):
    return float(str(x[0])) * x[1]

## text_2
def f(x):
    return float(f"{x[0]:.17g}") * x[1]

## text_3
def f(x):
    return float("%r" % float(x[0])) * x[1]

## text_4
def f(x):
    return float("{}".format(x[0])) * x[1]

## text_5
def f(x):
    return np.fromstring(" ".join(map(str, x)), sep=" ") @ x

## text_6
def f(x):
    return json.loads(json.dumps(list(map(float, x))))[0] * x[1]

## text_7
def f(x):
    return sum(map(float, str(list(map(float, x)))[1:-1].split(","))) * x[0]

## text_8
def f(x):
    return np.array([str(v) for v in x]).astype(float) @ x

## text_9
def f(x):
    return complex(str(complex(x[0], x[1]))).real * x[1]

## text_11
def f(x):
    n, d = float(x[0]).as_integer_ratio()
    return n / d * x[1]

## text_12
def f(x):
    return np.float64(repr(float(x[0]))) * x[1]

## text_13
def f(x):
    return float(repr(x[0])[11:-1]) * x[1]

## text_14
def f(x):
    s = str(x[0])
    return x[1] if len(s) > 2 else x[2]

## text_15
def g(t):
    return float(t)

def f(x):
    return g(str(x[0])) * x[1]

## text_16
def f(x):
    t = [str(v) for v in x]
    return sum(float(v) for v in t) * x[0]

## text_17
def f(x):
    t = "".join([str(x[0])])
    return float(t[:4]) * x[1]

## text_18
def f(x):
    return np.asarray(str(x[0]), dtype=float) * x[1]

## text_19
def f(x):
    return decimal.Decimal(str(x[0])).__float__() * x[1]

## text_20
def f(x):
    return int(float(str(x[0])) * 100) * x[1]

## text_21
def f(x):
    d = {str(x[0]): x[1]}
    return d[str(x[0])] * float(list(d)[0])

## text_22
def f(x):
    return eval(repr(float(x[0]))) * x[1]

## text_23
def f(x):
    return float(np.array2string(x[:1], precision=17)[1:-1]) * x[1]

## text_24
def f(x):
    return float(bytes(str(x[0]), "ascii")) * x[1]

## text_25
def f(x):
    return float(str(x[0]).encode()) * x[1]

## keys_1
def f(x):
    return sum(k for k in {float(v): 0 for v in x}) * x[0]

## keys_2
def f(x):
    return sum({float(v): 0 for v in x}) * x[0]

## keys_3
def f(x):
    d = {x[0]: 1.0}
    return list(d)[0] * x[1]

## keys_4
def f(x):
    d = {float(v): i for i, v in enumerate(x)}
    return max(d) * x[0]

## keys_5
def f(x):
    return sum(k * v for k, v in {float(v): 2.0 for v in x}.items()) * x[0]

## keys_6
def f(x):
    return sum({float(v) for v in x}) * x[0]

## keys_7
def f(x):
    s = {x[0], x[1]}
    return max(s) * x[2]

## keys_8
def f(x):
    s = frozenset(map(float, x))
    return sorted(s)[0] * x[2]

## keys_9
def f(x):
    d = dict(zip(map(float, x), range(4)))
    return min(d.keys()) * x[2]

## keys_10
def f(x):
    d = dict.fromkeys(map(float, x), 1.0)
    return [*d][1] * x[2]

## keys_11
def f(x):
    c = collections.Counter(map(float, x))
    return c.most_common(1)[0][0] * x[1]

## keys_12
def f(x):
    return np.unique(x)[0] * x[1]

## keys_13
def f(x):
    s = set()
    for v in x:
        s.add(float(v))
    return sum(s) * x[1]

## keys_14
def f(x):
    s = {float(x[0])} | {float(x[1])}
    return sum(s) * x[1]

## objects_1
def f(x):
    o = np.empty(2, dtype=object)
    o[0], o[1] = x, x[0]
    return (o * 2)[0] @ x + o[1] * x[1]

## objects_2
def f(x):
    o = np.array([x[0], x[1]], dtype=object)
    return float(np.sum(o * o)) * x[2]

## objects_3
def f(x):
    o = x.astype(object)
    return float(o @ o)

## objects_4
def f(x):
    o = np.array([x, None], dtype=object)
    return np.sum(o[0]) * x[1]

## objects_5
def f(x):
    o = np.empty(4, object)
    for i in range(4):
        o[i] = x[i] * x[i]
    return o.sum() * x[0]

## objects_6
def f(x):
    o = np.full(2, None)
    o[0] = x
    return o[0] @ x

## objects_7
def f(x):
    o = np.zeros(2, "O")
    o[:] = x[0]
    return o[1] * x[1]

## objects_8
O = np.empty(1, object)
O[0] = np.ones(4)
def f(x):
    return np.sum(O[0] * x) * x[0]

## objects_9
def f(x):
    o = np.array([[1.0, 2.0], [3.0]], dtype=object)
    return o[0][1] * x[0] * x[1]

## objects_10
def f(x):
    o = np.frompyfunc(lambda v: v * v, 1, 1)(x)
    return o[0] * o[1]

## objects_11
def f(x):
    o = np.array([fractions.Fraction(1, 2), 2], dtype=object)
    return float(o[0]) * x[0] + x[1] * x[0]

## made_class_1
A = type(
    "A",
    (),
    {
        "__init__": lambda self, v: setattr(self, "v", math.sin(v)),
        "double": lambda self: self.v * 2,
    },
)

def f(x):
    return A(x[0]).double() * x[1]

## made_class_2
A = type("A", (), {"__init__": lambda self, v: self.__dict__.update(v=math.sin(v))})
def f(x):
    return A(x[0]).v * x[1]

## made_class_3
class A:
    def __init__(self, v):
        setattr(self, "v", v * v)
def f(x):
    return A(x[0]).v * x[1]

## made_class_4
class A:
    def __init__(self, v):
        self.__dict__["v"] = v * v
def f(x):
    return A(x[0]).v * x[1]

## made_class_5
class A:
    def __init__(self, v):
        object.__setattr__(self, "v", v * v)
def f(x):
    return A(x[0]).v * x[1]

## made_class_6
class A:
    def __init__(self, v):
        vars(self)["v"] = v * v
def f(x):
    return A(x[0]).v * x[1]

## made_class_7
class A:
    def __new__(cls, v):
        o = object.__new__(cls)
        o.v = v * v
        return o
def f(x):
    return A(x[0]).v * x[1]

## made_class_8
def init(self, v):
    self.v = v * v
A = type("A", (), {"__init__": init})
def f(x):
    return A(x[0]).v * x[1]

## made_class_9
A = type("A", (), {"__init__": lambda self, v: object.__setattr__(self, "v", v * v)})
def f(x):
    return A(x[0]).v * x[1]

## made_class_10
A = dataclasses.make_dataclass("A", ["v"])
def f(x):
    return A(x[0] * x[0]).v * x[1]

## made_class_11
class M(type):
    def __call__(cls, v):
        o = type.__call__(cls)
        o.v = v * v
        return o
class A(metaclass=M):
    pass
def f(x):
    return A(x[0]).v * x[1]

## made_class_12
class A:
    def __init__(self, v):
        self.put(v)
    def put(self, v):
        self.v = v * v
def f(x):
    return A(x[0]).v * x[1]

## made_class_13
class A:
    __slots__ = ("v",)
    def __init__(self, v):
        type(self).v.__set__(self, v * v)
def f(x):
    return A(x[0]).v * x[1]

## made_class_14
class A(list):
    def __init__(self, v):
        super().__init__([v * v])
def f(x):
    return A(x[0])[0] * x[1]

## made_class_15
class A(tuple):
    def __new__(cls, v):
        return tuple.__new__(cls, (v * v,))
def f(x):
    return A(x[0])[0] * x[1]

## made_class_16
class A(float):
    def __new__(cls, v):
        return float.__new__(cls, v * v)
def f(x):
    return A(x[0]) * x[1]

## made_class_17
class A(dict):
    def __missing__(self, k):
        self[k] = k * 2.0
        return self[k]
def f(x):
    return A()[x[0]] * x[1]

## made_class_18
class A(Exception):
    def __init__(self, v):
        super().__init__(v * v)
def f(x):
    return A(x[0]).args[0] * x[1]

## made_class_19
class A(np.ndarray):
    pass
def f(x):
    return (x.view(A) * 2.0)[0] * x[1]

## text_26
def f(x):
    return float(fractions.Fraction(str(x[0]))) * x[1]

## text_28
def f(x):
    return np.loadtxt([str(v) for v in x]) @ x

## text_29
def f(x):
    return np.genfromtxt(["%r" % float(v) for v in x]) @ x

## text_30
def f(x):
    import io
    out = io.StringIO()
    print(float(x[0]), file=out)
    return float(out.getvalue()) * x[1]

## text_31
def f(x):
    import re
    return float(re.search(r"[\d.]+", str(float(x[0]))).group()) * x[1]

## text_32
def f(x):
    return sum(decimal.Decimal(str(v)) for v in x).__float__() * x[1]

## text_33
def f(x):
    return float(np.char.add([str(x[0])], "0")[0]) * x[1]

## text_34
def f(x):
    import ast
    return ast.literal_eval(str(float(x[0]))) * x[1]

## text_36
def f(x):
    s = f"{x[0]}"
    if s.startswith("0"):
        return x[0] * x[1]
    return x[2]

## text_37
def f(x):
    return float(memoryview(bytearray(struct.pack("d", x[0]))).cast("d")[0]) * x[1]

## text_38
def f(x):
    return float(int.from_bytes(np.float64(x[0]).tobytes(), "little") % 7) * x[1]

## text_39
def f(x):
    z = complex("%r+0j" % float(x[0]))
    return z.real * x[1]

## text_40
def f(x):
    import io
    out = io.StringIO()
    np.savetxt(out, x * x)
    out.seek(0)
    return np.loadtxt(out) @ x

## text_41
def f(x):
    import io
    out = io.BytesIO(str(x[0]).encode())
    return np.genfromtxt(out) * x[1]

## text_42
def f(x):
    import io
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(x[0])
    return float(out.getvalue()) * x[1]

## text_of_numpy
def f(x):
    return np.sum(np.char.mod("%.3f", x).astype(float) * x)

## text_43
def f(x):
    import tempfile
    with tempfile.NamedTemporaryFile("w") as file:
        np.savetxt(file.name, x)
        return np.fromfile(file.name, sep=" ") @ x

## masked_domain_1
def f(x):
    m = np.ma.array(x)
    r = m / m[::-1] + 1 / (m - m[0])
    return r.sum() + r.count() * x[1]

## masked_domain_2
def f(x):
    m = np.ma.array(x)
    r = np.sqrt(m - 0.6)
    return r.sum() + r.count() * x[1]

## masked_domain_3
def f(x):
    m = np.ma.array(x)
    r = (m - 0.6) ** 0.5
    return r.sum() + r.count() * x[1]

## masked_domain_4
def f(x):
    m = np.ma.array(x)
    r = np.log(m - 0.6) % 0.3
    return r.sum() + r.count() * x[1]

## masked_domain_5
def f(x):
    m = np.ma.array(x)
    r = np.arcsin(m) * np.tan(m)
    return r.sum() + r.count() * x[1]

## masked_domain_6
def f(x):
    m = np.ma.array(x)
    r = 0.3 // (m - m[0])
    return r.sum() + r.count() * x[1]

## masked_domain_7
def f(x):
    m = np.ma.array(x)
    r = m / 2 + m ** 2 + np.exp(m)
    return r.sum() + r.count() * x[1]

## layout_1
def f(x):
    z = x * (1 + 2j)
    z.dtype = float
    return np.sum(z * np.arange(8))

## layout_2
def f(x):
    t = 0.0
    b = np.broadcast(x[:, None], x)
    next(b)
    for u, v in b:
        t = t + u * v
    return t * b.size

## layout_3
def f(x):
    make, args, state = (x * x).__reduce__()
    made = make(*args)
    made.__setstate__(state)
    return np.sum(made)

## layout_4
def f(x):
    return np.add.reduceat(x * x, indices=[0, 2]) @ x[:2] + np.add.reduce(array=x)

## layout_5
def f(x):
    import ctypes
    c = (ctypes.c_double * 4)(*x)
    return c[1] * x[1]

## cached_1
K = 0.0

@functools.lru_cache
def g(n):
    return K * n

def f(x):
    global K
    g.cache_clear()
    K = x[0]
    r = g(2) + g(2)
    K = 0.0
    return r * x[1]

## cached_2
class A:
    w = 0.0

    @functools.lru_cache
    def g(self, n):
        return self.w * n

a = A()

def f(x):
    A.g.cache_clear()
    a.w = x[0]
    return a.g(2) * a.g(3)

## cached_3
K = [0.0]
g = functools.cache(lambda n: [K[0] * n])

def f(x):
    g.cache_clear()
    K[0] = x[0]
    return g(2)[0] * g(3)[0]

## exception_1
def f(x):
    e = ValueError(x[0])
    return e.args[0] * x[1]

## exception_2
def f(x):
    e = ValueError("bad", x[0] * x[1])
    return e.args[1] * x[1]

## exception_3
def f(x):
    e = KeyError(x[0] ** 2)
    (m,) = e.args
    return m * x[1]

## exception_4
def f(x):
    errors = [ValueError(x[0])]
    return errors[0].args[0] * x[1]

## exception_5
def f(x):
    e = StopIteration(x[0])
    return e.value * x[1]

## exception_6
def f(x):
    inner = ValueError(x[0])
    return RuntimeError(inner).args[0].args[0] * x[1]

## exception_7
def f(x):
    return float(str(ValueError(f"{x[0]}"))) * x[1]

## exception_8
def f(x):
    e = OSError(1, x[0])
    return e.strerror * x[1]

"""

PROGRAMS: Final[tuple[Misleading, ...]] = tuple(
    program for text in (STATE, ARRAYS, LANGUAGE, READ_AGAIN) for program in sections(text)
)

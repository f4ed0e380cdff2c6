"""Programs of numbers, arrays, classes and loops, as people write them.

Each is in the body of a function of ``x``, an array of four, of which ``n`` is the first number. It
gives ``r``, or changes ``y``, an array like ``x``, ``s``, a number, or ``A``, a matrix.
"""

from typing import Final

HEAD: Final = """
import abc, array, bisect, cmath, collections, contextlib, copy, ctypes, dataclasses, datetime
import decimal, enum, fractions, functools, heapq, io, itertools, json, math, numbers, operator
import pickle, random, re, statistics, struct, types, typing, warnings
import numpy as np

def f(x):
    n, r, s, y = float(x[0]), 0.0, 0.0, x * 1.0
    A = np.arange(12.0).reshape(3, 4) / 12 + x
"""
TAIL: Final = """
    return np.sum(np.sin(r)) + np.sum(np.sin(s)) + np.sum(x ** 2) + np.sum(y ** 2) + np.sum(A)
"""
#: Numbers that go through texts, bytes, files, classes and functions of Python's.
NUMBERS: Final = """
r = float(f"{x[0]}") ## r = float(f"{x[0]:.3f}") ## r = float(str(x[0])) ## r = float(repr(n))
r = float("%g" % x[0]) ## r = float("{}".format(n))
r = np.array([str(v) for v in x]).astype(float)
r = np.array(json.loads(json.dumps(x.tolist()))) ## r = json.loads(json.dumps({"a": n}))["a"]
r = struct.unpack("d", struct.pack("d", n))[0]
r = np.array(struct.unpack("4d", struct.pack("4d", *x))) ## r = np.frombuffer(x.tobytes())
r = np.frombuffer(x) ## r = np.frombuffer(bytearray(x)) ## r = pickle.loads(pickle.dumps(x))
r = pickle.loads(pickle.dumps(n)) ## r = pickle.loads(pickle.dumps({"a": x}))["a"]
r = copy.deepcopy(x) ## r = copy.deepcopy({"a": [x]})["a"][0] ## r = copy.copy(x)
r = np.asarray(memoryview(x)) ## r = np.asarray(x.data) ## r = np.array(array.array("d", x))
r = np.array(array.array("d", x.tolist()))
b = io.BytesIO(); np.save(b, x); b.seek(0); r = np.load(b)
b = io.StringIO(); np.savetxt(b, x); b.seek(0); r = np.loadtxt(b)
r = np.fromstring(" ".join(map(str, x)), sep=" ") ## r = np.array(eval(repr(x.tolist())))
r = eval("n * 2") ## r = eval("x * 2", {"x": x})
d = {}; exec("y = x * 2", {"x": x}, d); r = d["y"] ## r = float(decimal.Decimal(n))
r = float(decimal.Decimal(str(n)) * 2) ## r = float(fractions.Fraction(n))
r = float(fractions.Fraction(n) + 1) ## r = fractions.Fraction(n).limit_denominator(1000) * 1.0
r = datetime.timedelta(seconds=n).total_seconds()
r = datetime.timedelta(seconds=n) / datetime.timedelta(seconds=1)
r = (datetime.datetime(2020,1,1) + datetime.timedelta(days=n)).timestamp() / 1e9
r = statistics.mean(x.tolist()) ## r = statistics.fmean(x) ## r = statistics.stdev(x.tolist())
r = statistics.median(x.tolist()) ## r = statistics.NormalDist(n, 1.0).cdf(0.5)
r = statistics.NormalDist(0.0, 1.0).cdf(n) ## r = statistics.NormalDist(0.0, 1.0).pdf(n)
r = statistics.harmonic_mean(x.tolist()) ## r = statistics.geometric_mean(x.tolist())
r = statistics.linear_regression(x.tolist(), [1., 2., 3., 4.]).slope
r = statistics.variance(x) ## r = statistics.quantiles(x.tolist())[1]
r = statistics.correlation(x.tolist(), [1.,2.,3.,5.]) ## r = math.fsum(x)
r = math.dist(x, [1., 2., 3., 4.]) ## r = math.hypot(*x) ## r = math.prod(x)
r = math.fmod(n, 0.3) ## r = math.remainder(n, 0.3) ## r = math.ldexp(n, 2)
r = math.frexp(n)[0] ## r = math.modf(n)[0] ## r = math.copysign(n, -1) ## r = math.ulp(n)
r = math.gamma(n) + math.lgamma(n) ## r = math.erf(n) + math.erfc(n)
r = math.degrees(n) + math.radians(n) ## r = math.comb(5, int(n * 4))
r = math.floor(n) + math.trunc(n) + math.ceil(n)
r = abs(cmath.exp(1j * n)) + cmath.phase(1j + n) ## r = cmath.sqrt(-n).imag
r = cmath.polar(complex(n, 1))[0] ## r = cmath.rect(n, 1.0).real ## r = cmath.log(n, 2).real
r = complex(n).real ## r = complex(str(n)).real ## r = random.Random(1).gauss(n, 1.0)
r = random.Random(1).uniform(0, n) ## r = random.Random(n).random()
r = np.random.default_rng(int(n * 100)).normal() ## r = list(itertools.accumulate(x))[-1]
r = list(itertools.accumulate(x, operator.mul))
r = sum(itertools.starmap(operator.mul, zip(x, x)))
r = [sum(g) for k, g in itertools.groupby(x, lambda v: v > 0.5)]
r = sum(a * b for a, b in itertools.combinations(x, 2))
r = sum(a * b for a, b in itertools.product(x, x))
a, b = itertools.tee(x); r = sum(a) * sum(b) ## r = list(itertools.compress(x, x > 0.5))
r = list(itertools.takewhile(lambda v: v > 0.1, x)) ## r = list(itertools.islice(x, 1, 3))
r = list(itertools.chain(x, [n])) ## r = list(itertools.zip_longest(x, [1.0], fillvalue=n))
r = next(itertools.cycle(x)) ## r = [a - b for a, b in itertools.pairwise(x)]
r = functools.reduce(lambda a, b: a * b + 1, x) ## r = heapq.nsmallest(2, x)
h = x.tolist(); heapq.heapify(h); r = heapq.heappop(h)
h = []; [heapq.heappush(h, v) for v in x]; r = h[0] ## r = list(heapq.merge(sorted(x), [0.5]))
r = bisect.bisect([0.1, 0.5, 1.0], n) * n ## h = [0.1, 1.0]; bisect.insort(h, n); r = np.array(h)
r = sorted(x.tolist(), key=lambda v: -v)[0] ## r = collections.Counter(a=n)["a"]
r = collections.Counter(x.tolist()).most_common(1)[0][0]
r = sum(collections.Counter(x.tolist())) ## r = collections.ChainMap({"a": n}, {})["a"]
r = collections.OrderedDict(a=n)["a"] ## r = collections.deque(x, maxlen=2)[0]
d = collections.defaultdict(float); d["a"] += n; r = d["a"] ## r = types.SimpleNamespace(a=n).a
r = types.MappingProxyType({"a": n})["a"] ## r = operator.itemgetter(1)(x)
r = operator.attrgetter("real")(x) ## r = operator.methodcaller("sum")(x)
r = operator.concat([n], [n]) ## r = operator.index(int(n * 3)) * n ## r = operator.truth(n) * n
r = max(x, key=lambda v: v) + min(x.tolist()) ## r = dict(zip("abcd", x))["b"]
r = sum({v for v in x}) ## r = sum(frozenset(x.tolist())) ## r = {n: 2.0}[n]
r = {round(n, 2): n}[round(n, 2)] ## r = len(set(np.round(x, 1))) * n ## r = list(map(float, x))
r = [float(v) for v in x.astype(str)] ## r = x.astype(object).astype(float)
r = np.array(x.tolist(), dtype=object).sum() ## r = float.fromhex(n.hex())
r = n.as_integer_ratio()[0] / n.as_integer_ratio()[1] ## r = float(int(n * 1000) / 1000)
r = float(np.format_float_positional(n)) ## r = float(np.array2string(np.float64(n)))
r = float(np.float64(n).item()) ## r = np.float64(n).view(np.int64) * 1e-18
r = x.view(np.int64).view(np.float64) ## r = x.view(np.uint8).view(np.float64)
r = (x.view(np.int64) + 1).view(np.float64) ## r = x.view("f8")
r = x.view([("a", float), ("b", float)])["a"] ## r = np.rec.fromarrays([x, x]).f0
r = np.ndarray(4, float, x) ## r = np.ndarray((2, 2), float, buffer=x)
r = np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)) ## r = x.byteswap().byteswap()
r = np.frexp(x)[0] ## r = np.nextafter(x, 2) ## r = np.spacing(x)
r = np.ctypeslib.as_array((ctypes.c_double * 4)(*x)) ## r = ctypes.c_double(n).value
r = np.array((ctypes.c_double * 4)(*x)) ## r = np.fromiter(x, float)
r = np.fromiter((v * 2 for v in x), float)
r = np.fromfunction(lambda i: x[i.astype(int)], (4,)) ## r = np.array([*map(lambda v: v, x)])
r = np.loadtxt([str(v) for v in x]) ## r = np.genfromtxt([str(v) for v in x])
r = float(np.char.mod("%f", x)[0])
r = np.asarray(np.char.array([str(v) for v in x])).astype(float)
r = np.timedelta64(int(n * 100), "s") / np.timedelta64(1, "s")
r = (x * 1000).astype("timedelta64[ms]") / np.timedelta64(1, "s")
r = x.astype("m8[s]").astype(float) ## r = x.astype(np.float32).astype(float)
r = x.astype(np.longdouble).astype(float) ## r = x.astype(complex).real
r = x.astype(int).astype(float) ## r = x.astype("S20").astype(float)
r = x.astype("U20").astype(float) ## r = x.astype(bool).astype(float) * n
"""
#: Arrays that go through texts, dtypes, layouts and iterators, and are written to.
ARRAYS: Final = """
r = np.array([float(v) for v in x.astype(str)])
r = np.array([float(v) for v in np.asarray(x, dtype=str)])
r = np.array([float(v) for v in np.array(x, dtype="U20")]) ## r = np.array(x, str).astype(float)
r = np.asarray(x, "S20").astype(float) ## r = np.float64(np.str_(n))
r = np.array([n]).astype("U").astype(float)
z = np.zeros(4, "U20"); z[:] = x; r = z.astype(float)
z = np.empty(4, dtype=object); z[:] = x; r = z.astype(float)
z = np.zeros(4, "U20"); z[0] = n; r = float(z[0])
z = np.full(4, n, dtype="U20"); r = z.astype(float)
r = np.char.add(x.astype(str), "0").astype(float)
r = np.char.multiply(x.astype(str), 1).astype(float)
r = float(np.where(True, x.astype(str), "1")[0]) ## r = np.sort(x.astype(str)).astype(float)
r = np.unique(x.astype(str)).astype(float) ## r = float(x.astype("U")[0])
r = float(x[0].astype(str)) ## r = float(np.float64(n).astype("U10"))
r = x.astype("O") * 2.0; r = r.astype(float) ## r = x.astype("V8").view(float)
r = x.astype("m8[us]").astype(float) / 1e6
r = (x * 1e6).astype("m8[us]") / np.timedelta64(1, "s")
r = (x * 1e6).astype("M8[us]").astype(float) / 1e6 ## r = x.byteswap()
r = x.byteswap(False).byteswap() ## y = x * 1; y.byteswap(True); r = y.byteswap()
r = x.astype(">f8") ## r = x.astype(">f8") * 2 ## r = x.astype(">f8").view(float) * 0 + x
r = x.astype(">f8").byteswap().view("<f8") ## r = x.view(">f8").byteswap()
r = x.view(x.dtype.newbyteorder()).byteswap() ## r = x.dumps() and x ## r = x.__array__()
r = x.__array__(float) ## r = x.__copy__() ## r = x.__deepcopy__({}) ## r = x.__reduce__() and x
r = x.item(0) ## r = x.item((1,)) ## r = x.tolist()[0] ## r = x.getfield(float)
r = x.getfield(np.float32) ## y = x * 1; y.setfield(2.0 * n, float); r = y
y = x * 1; y.shape = (2, 2); r = y ## y = x * 1; y.dtype = np.int64; r = y.view(float)
y = x * 1; y.flags.writeable = False; r = y ## y = x * 1; y.setflags(write=False); r = y
y = x * 1; y.strides = (8,); r = y ## y = x * 1; y.real = 2.0; r = y
y = x * 1; y.real *= n; r = y ## y = x + 0j; y.imag = x; r = abs(y)
y = x + 0j; y.imag[0] = n; r = y.imag ## y = x + 0j; y.real[:] = n; r = y.real
y = x * 1; y.flat = n; r = y ## y = x * 1; y.flat[1] = n; r = y ## y = x * 1; y.T[0] = n; r = y
y = x * 1; y[...] = y[::-1]; r = y ## y = x * 1; y[1:] = y[:-1]; r = y
y = x * 1; y[1:] += y[:-1]; r = y ## y = x * 1; y += y[::-1]; r = y
y = x * 1; y[[0, 0]] += 1.0; r = y * n ## y = x * 1; y[[0, 0]] = [n, 2 * n]; r = y
y = x * 1; y, z = y[::-1], y; z[0] = n; r = y
y = x * 1; np.add(y[1:], y[:-1], out=y[1:]); r = y ## y = x * 1; y.sort(); r = y
y = x * 1; y[::-1].sort(); r = y ## y = x * 1; y.partition(1); r = y[:2].sum()
y = x * 1; np.random.default_rng(0).shuffle(y); r = y ## z = memoryview(x * 1); r = np.asarray(z)
y = x * 1; memoryview(y)[0] = 2.0; r = y ## y = x * 1; np.asarray(memoryview(y))[0] = n; r = y
y = x * 1; z = np.frombuffer(y); r = z
y = x * 1; z = np.frombuffer(y, float); y[0] = n * 2; r = z
y = x * 1; z = np.ndarray(4, float, y); z[0] = 2 * n; r = y
y = x * 1; z = np.ndarray(2, float, y, 8); r = z
y = x * 1; z = np.lib.stride_tricks.as_strided(y, (4,), (0,)); r = z
y = np.broadcast_to(n, 4).copy(); y[0] = 1.0; r = y
a, b = np.broadcast_arrays(x, n); r = a * b ## z = np.nditer(x); r = [float(v) * 2 for v in z]
r = [v * i[0] for i, v in np.ndenumerate(x)] ## r = [x[i] for i in np.ndindex(4)]
r = sum(v for v in x.flat) ## r = x.flat[1:3] ## z = x.flat; next(z); r = next(z)
r = np.take(x, [4, -5], mode="wrap") ## r = np.take(x, [9], mode="clip") ## r = np.r_[x, n]
r = np.c_[x, x] ## r = np.s_[0:2] and x[np.s_[0:2]] ## r = np.mgrid[0:2] * n
r = np.ogrid[0:n:3j] ## r = np.r_[0:n:3j] ## r = np.linalg.eig(np.outer(x, x) + 2 * np.eye(4))[0]
w, v = np.linalg.eigh(np.outer(x, x) + 2 * np.eye(4)); r = w
r = np.linalg.svd(np.outer(x, x) + 2 * np.eye(4))[1] ## r = np.ix_(x)[0]
"""
#: Expressions and statements.
PYTHON: Final = """
r = datetime.timedelta(seconds=n).total_seconds()
r = (datetime.timedelta(seconds=2) * n).total_seconds()
r = (n * datetime.timedelta(seconds=2)).total_seconds()
r = (datetime.timedelta(seconds=2) / n).total_seconds()
r = np.timedelta64(1, "s") * n / np.timedelta64(1, "s")
r = x * np.timedelta64(10**9, "ns") / np.timedelta64(1, "s")
r = decimal.Decimal(value=str(n)) and n ## r = float(decimal.Decimal(2) * decimal.Decimal(n))
r = float(fractions.Fraction(1, 3) * n) ## r = fractions.Fraction(1, 3) * n
r = n + fractions.Fraction(1, 3) ## r = n ** fractions.Fraction(1, 3)
r = np.array([fractions.Fraction(1, 3)]) * n; r = r.astype(float)
r = float(decimal.Decimal("0.5")) * n
P = collections.namedtuple("P", "a b", defaults=[2.0]); r = P(n)._replace(b=n * 3)
fs = [lambda v=i: v * n for i in range(3)]; r = [g() for g in fs]
fs = [lambda: i * n for i in range(3)]; r = [g() for g in fs]
g = functools.partial(lambda a, b: a * b, b=n); r = g(2.0) ## g = functools.partialmethod; r = n
g = operator.methodcaller("__mul__", 2.0); r = g(n) ## r = (lambda *a: sum(a))(*x)
(a, *b), c = (x[:3], n); r = a * c + sum(b) ## r = [y := n, y * 2]
r = n if x[0] > 0.5 > x[1] else 2 * n ## r = not_ = n and 2 * n or 3.0
r = sum(v for v in x if v > 0.4) ## r = {k: v for k, v in zip("ab", x)}["b"]
r = [[v * w for v in x[:2]] for w in x[2:]] ## r = sum(map(lambda a, b: a * b, x, x))
r = list(filter(lambda v: v > 0.4, x)) ## assert n > 0; r = n
d = {"a": n}; d |= {"b": 2 * n}; r = d["b"] * d.pop("a")
s = [n]; s += [2 * n]; s *= 2; s[1:2] = [n, n]; r = s ## a = b = [n]; a.append(1.0); r = b
a = [n, 2.0]; a.reverse(); a.insert(0, n); a.remove(2.0); r = a
a = [x] * 2; a[0] = a[0] * 2; r = a[1] ## a = [x.copy()] * 2; a[0][0] = 5.0; r = a[1]
a = (x.copy(),); b = a[0]; b += 1; r = a[0] ## import sys as z; r = n * (z.maxsize > 0)
warnings.warn("a"); r = n ## r = locals()["n"] * 2 ## r = vars()["x"] * 2
r = globals().get("np").sin(n) ## r = getattr(np, "sin")(n) ## r = np.__dict__["sin"](n)
r = type(n)(2.0) * n ## r = type(x)(4) * 0 + x ## r = x.__class__.sum(x)
r = float.__mul__(n, 2.0) ## r = np.ndarray.sum(x) ## r = np.ndarray.__mul__(x, 2)
r = n.__class__(n) ## r = isinstance(n, float) * n ## r = isinstance(x, np.ndarray) * n
r = issubclass(type(n), float) * n ## r = id(x) % 1 + n ## r = hash("a") % 1 + n
r = len(x) * n ## r = divmod(n, 0.3) ## r = pow(n, 2) ## r = abs(-n) ## r = round(n, 2) * n
r = int(n * 10) * n ## r = n // 0.3 + n % 0.3 ## r = -n + +n ## r = bool(n) * n
r = complex(n, n).conjugate().imag ## r = (1 + n * 1j).real * (1 + n * 1j).imag
r = (n + 1j) ** 2; r = r.real
"""
#: Loops.
LOOPS: Final = """
for i in range(4): y = np.roll(y, 1) * y[i] ## while n > 0.01: n *= 0.5; s += n
for v in y: s = s * v + 1 ## for i, v in enumerate(y): s += i * v
for a, b in zip(y, y[::-1]): s += a * b ## for row in A: s = s + row.sum() * row[0]
for row in A: row[:] = row * 2 ## for row in A: row += y ## for row in A.T: row *= n
for i in range(3): A[i] = A[i - 1] + y ## for i in range(3): A[i], A[i - 1] = A[i - 1], A[i]
for i in range(3): A[i], A[i - 1] = A[i - 1].copy(), A[i].copy()
for i in range(1, 3): A[i, 1:] = A[i - 1, :-1] * n
for i in range(4): y = np.where(y > 0.5, y * 0.9, y + 0.1)
for i in range(3): y = np.concatenate([y[1:], y[:1] * 2]) ## for i in range(3): y = y[::-1] * n
for i in range(3): y = y[:-1] + y[1:] if len(y) > 2 else y
for i in np.nonzero(y > 0.4)[0]: s += y[i] * i ## for i in range(int(n * 5)): s += y[i % 4]
for i in range(len(y) - 1, -1, -1): s = s * 0.5 + y[i]
for i in range(0, 4, 2): y[i:i + 2] = y[i:i + 2][::-1] ## for i in range(4): y[:i] += y[i]
for i in range(4): y[i:] -= y[i] * 0.1 ## for i in range(4): y[i] = y[:i + 1].sum()
for i in range(4): y[i] = np.max(y[: i + 1])
for i in range(1, 4): y[i] = y[i] if y[i] > y[i - 1] else y[i - 1]
for i, j in itertools.product(range(2), range(2)): s += y[i] * y[2 + j] * (i + 1)
for i in range(4): y = y / np.linalg.norm(y)
for i in range(4): s, y = s + y[i], np.delete(np.append(y, s), 0)
for i in range(4): exec("pass"); s += y[i]
for i in range(4): s += y[i] if i < 2 else (y[i] if y[i] > 0.5 else 1.0)
for i in range(4): s = max(s, y[i]); s = min(s, 1.2) ## for i in range(4): y[i] = abs(y[i] - 0.5)
for i in reversed(range(4)): y[i] = y[(i + 1) % 4] ## for i in range(-1, 3): y[i] += i
for i in range(4): y[-i] = y[i] * 2 ## for i in range(3): y[i], y[i + 1] = y[i + 1], y[i] * n
for i in range(3): y[[i, i + 1]] = y[[i + 1, i]] ## for i in range(4): y[y > 0.5] *= 0.9
for i in range(4): y = y[np.argsort(y)] * 1.1
for i in range(4): s += np.sum(A[:, i] * A[i % 3, i])
for i in range(3): A[:, i] = A[:, i + 1] * n
for i in range(3): A[i, :] /= A[i, i]; A[(i + 1) % 3, :] -= A[i, :] * 0.1
for i in range(3): np.add(A[i], y, out=A[i]) ## for i in range(3): A[i].sort()
for i in range(3): A[i].fill(y[i]) ## for i in range(3): np.copyto(A[i], y)
"""
#: Classes, functions, generators, contexts, exceptions.
CLASSES: Final = """
@dataclasses.dataclass
class P:
    a: float
    b: float = 2.0
p = P(n); q = dataclasses.replace(p, b=n * 2); r = dataclasses.astuple(q)

@dataclasses.dataclass(frozen=True)
class P:
    a: float
    def __post_init__(self): object.__setattr__(self, "c", self.a * 2)
r = P(n).c

@dataclasses.dataclass(order=True)
class P:
    a: float
r = max(P(n), P(0.5)).a

@dataclasses.dataclass(slots=True)
class P:
    a: float
p = P(n); p.a *= 2; r = p.a

@dataclasses.dataclass
class P:
    a: list = dataclasses.field(default_factory=list)
p = P(); p.a.append(n); r = P().a + p.a

class P:
    def __init__(self, a): self._a = a
    @property
    def a(self): return self._a * 2
    @a.setter
    def a(self, v): self._a = v * 3
p = P(n); p.a = n * 2; r = p.a

class P:
    @functools.cached_property
    def a(self): return self.b * 2
p = P(); p.b = n; v = p.a; p.b = 1.0; r = p.a + v

class P:
    total = 0.0
    def add(self, v): P.total += v; return self
P().add(n).add(2 * n); r = P.total

class P:
    __slots__ = ("a",)
p = P(); p.a = n; setattr(p, "a", getattr(p, "a") * 2); r = p.a

class P:
    def __getattr__(self, k): return n * len(k)
r = P().abc

class P:
    def __getitem__(self, k): return n * k
    def __len__(self): return 3
r = list(P()[i] for i in range(3))

class P:
    def __call__(self, v): return v * n
r = P()(2.0)

class P:
    def __enter__(self): return n
    def __exit__(self, *e): return True
with P() as v:
    r = v * 2
    raise ValueError

class P:
    def __iter__(self):
        yield n
        yield n * 2
r = list(P())

class P(float):
    def __mul__(self, o): return P(float(self) * o * 2)
r = float(P(n) * 3)

class P(dict):
    def __missing__(self, k): return n
r = P()["a"]

class P(list):
    def total(self): return sum(self)
r = P([n, 2 * n]).total()

class P(tuple):
    pass
r = P((n, 2 * n))[1]

class P(abc.ABC):
    @abc.abstractmethod
    def g(self): ...
class Q(P):
    def g(self): return n
r = Q().g()

class P:
    def __lt__(self, o): return True
    def __init__(self, a): self.a = a
r = sorted([P(n), P(1.0)])[0].a

class P:
    def __eq__(self, o): return False
    def __hash__(self): return 1
r = {P(): n}; r = list(r.values())

class P:
    def __init__(self, **k): self.__dict__.update(k)
r = P(a=n).a

class M(type):
    def __call__(c, v): o = super().__call__(); o.v = v * 2; return o
class P(metaclass=M): pass
r = P(n).v

class P:
    def __new__(c, v): o = super().__new__(c); o.v = v; return o
r = P(n).v

class P:
    def __init_subclass__(c, k=1.0): c.k = k
class Q(P, k=n): pass
r = Q.k

class D:
    def __get__(s, o, t): return o.v * 2
    def __set__(s, o, v): o.v = v + 1
class P:
    d = D()
p = P(); p.d = n; r = p.d

class P:
    def __matmul__(s, o): return o * n
    def __rmatmul__(s, o): return o * n * 2
r = P() @ 2.0 + 3.0 @ P()

class P:
    def __iadd__(s, o): s.v = o; return s
p = P(); p += n; r = p.v

class P:
    def __contains__(s, v): return v > 0.1
r = n if n in P() else 2.0

class P:
    def __bool__(s): return s.v > 0.5
p = P(); p.v = n; r = n if p else 2 * n

class P:
    def __float__(s): return n * 2
r = float(P())

class P:
    def __index__(s): return 1
r = x[P()]

class P:
    def __round__(s, d=0): return n
    def __abs__(s): return 2 * n
    def __neg__(s): return 3 * n
r = round(P(), 1) + abs(P()) + -P()

class P:
    def __array__(self, dtype=None, copy=None): return np.array([n, 1.0])
r = np.sin(P())

class P:
    a: float = 1.0
P.a = n; r = P().a

class P(typing.NamedTuple):
    a: float
    @property
    def c(self): return self.a * 2
r = P(n).c

class E(enum.Enum):
    A = 1
    B = 2
r = {E.A: n, E.B: 2.0}[E(1)]

class E(enum.IntFlag):
    A = 1
r = n * E.A

@functools.singledispatch
def g(v): return v * 2
@g.register
def _(v: float): return v * 3
r = g(n)

@functools.singledispatch
def g(v): return 2.0
@g.register(np.ndarray)
def _(v): return v * 3
r = g(x)

@functools.wraps(math.sin)
def g(v): return v * 2
r = g(n)

@functools.lru_cache(None)
def g(k): return n * k
r = g(1) + g(2) + g(1)

@functools.total_ordering
class P:
    def __init__(s, v): s.v = v
    def __eq__(s, o): return s.v == o.v
    def __lt__(s, o): return s.v < o.v
r = max(P(n), P(0.6)).v

@contextlib.contextmanager
def c():
    yield n * 2
with c() as v: r = v

with contextlib.suppress(ZeroDivisionError):
    r = n
    1 / 0

with contextlib.ExitStack() as z:
    out = []
    z.callback(out.append, n)
r = out[0]

try:
    raise ValueError(n)
except ValueError as e:
    r = e.args[0]

try:
    r = n; raise KeyError
except KeyError:
    r = r * 2
finally:
    r = r + n

def g():
    v = yield n
    yield v * 2
it = g(); a = next(it); r = it.send(a * 3)

def g():
    yield from (n * i for i in range(3))
    return n
r = list(g())

def g(a, *b, c=n, **d): return a + sum(b) + c + sum(d.values())
r = g(1.0, 2.0, e=n)

def g(a, acc=[]):
    acc.append(a); return acc
g(n); r = g(2.0)

def outer():
    c = n
    def inner():
        nonlocal c
        c = c * 2
        return c
    inner(); return inner()
r = outer()

r = 0.0
while (r := r + n) < 2: pass

match x.shape:
    case (4,): r = n
    case _: r = 0.0

match {"a": n, "b": 1}:
    case {"a": v, **rest}: r = v * 2

match [n, 2.0]:
    case [a, b] if a > 0.5: r = a * b
    case [a, *_]: r = a

match n:
    case float(): r = n
    case _: r = 0.0

for i, r in enumerate(x):
    if i == 2: break
else:
    r = 0.0

r = 0.0
for i in reversed(range(4)):
    if i % 2: continue
    r += x[i] * i
"""
#: Loops of several statements.
LONGER_LOOPS: Final = """
it = np.nditer([x, None]);
for u, v in it: v[...] = u * 2
r = it.operands[1]

y = x * 1
for v in np.nditer(y, op_flags=["readwrite"]): v[...] = 2 * v
r = y

u, v = y, y * 2
for i in range(5): u, v = v, u * 0.5 + v
s = u + v

u = v = y.copy()
for i in range(4): u[i] = v[i - 1] * 2
s = v

for i in range(4):
    for j in range(i): y[i] += y[j] * 0.5

for i in range(3):
    for j in range(4):
        if A[i, j] > 0.8: A[i, j] *= 2
        else: A[i, j] -= y[j]

i = 0
while s < 3: s += y[i % 4]; i += 1

i = 0
while True:
    s += y[i % 4]; i += 1
    if s > 2: break

for i in range(10):
    if s > 1.5: break
    s += n

for i in range(10):
    if i % 2: continue
    s += n * i

w = []
for i in range(4): w.append(y[i] * i)
s = sum(w)

w = {}
for i in range(4): w[i] = y[i] * 2
s = sum(w.values())

w = (0.0, 1.0)
for i in range(4): w = (w[1], w[0] + y[i])
s = w[0] * w[1]

class S: pass
o = S(); o.a = 0.0; o.b = y
for i in range(4): o.a += o.b[i]; o.b = o.b * 1.1
s = o.a

for i in range(4): y = np.append(y, y[i])
y = y[:4]

k = 0
for i in range(6): k = (k + 3) % 4; s += y[k]

idx = [2, 0, 3, 1]
for i in idx: y[i] += y[i - 1]

idx = np.array([2, 0, 3, 1])
for i in idx: y[i] += y[i - 1]

idx = np.argsort(y)
for i in idx: s += y[i] * (i + 1)

m = y[0]
for v in y[1:]:
    if v > m: m = v
s = m

best = None
for v in y:
    if best is None or v < best: best = v
s = best

c = 0
for v in y:
    if v > 0.5: c += 1
s = c * n

done = False
for v in y:
    if not done and v > 0.5: s = v; done = True

for i in range(4):
    try: s += 1.0 / (i - 0) * y[i] if i else y[i]
    except ZeroDivisionError: pass

for i in range(4):
    t = y[i]
    if t > 0.5: t = t * 2
    s += t

for i in range(4):
    if i == 0: t = n
    s += t * y[i]; t = s

t = None
for i in range(4):
    t = y[i] if t is None else t * y[i]
s = t

p, q = 0.0, 1.0
for _ in range(6): p, q = q, p + q * n
s = p

z = np.zeros(4)
for i in range(4):
    z[i] = y[i]; z = z * 2
s = z

z = np.zeros(4); w = z
for i in range(4):
    z[i] = y[i]; z = z + 1
s = w + z

z = np.zeros((3, 4))
for i in range(3):
    r = z[i]; r[:] = y * i; r += 1
s = z

z = [np.zeros(4) for _ in range(3)]
for i in range(3): z[i][i] = y[i]
s = sum(z)

z = [y] * 3
for i in range(3): z[i] = z[i] * (i + 1)
s = sum(z)

z = [y.copy()] * 3
for i in range(3): z[i] += i
s = sum(z)

it = iter(y)
for v in it: s += v * next(it)

for i in itertools.count():
    if i > 3: break
    s += y[i]

for i in range(5): n = n - (n ** 2 - 2) / (2 * n)
s = n

for i in range(50):
    new = 0.5 * (n + 2 / n)
    if abs(new - n) < 1e-12: break
    n = new
s = n

err, k = 1.0, 0
while err > 1e-10 and k < 50:
    new = math.cos(n); err = abs(new - n); n = new; k += 1
s = n

t, h = 0.0, 0.3
while t < 1.0:
    h = min(h, 1.0 - t); n += h * n; t += h
s = n

for i in range(4):
    g = lambda v: v * y[i]
    s += g(2.0)

fs = []
for i in range(3): fs.append(lambda v, i=i: v * y[i])
s = sum(h(2.0) for h in fs)

def step(u):
    u[0] += 1.0; return u * n
for i in range(3): y = step(y)

def step(u, acc=[]):
    acc.append(u[0]); return u * 0.9
for i in range(3): y = step(y)

for i in range(3):
    y, old = y * n, y
    s = s + old[i]

for i in range(3):
    B = A.copy(); B[i] *= 2; A = B

for i in range(3):
    B = A; B[i] *= 2; A = B

for i in range(3):
    B = A[i]; A = A * 1.0; B *= 5

a, b, c = y[:2], y[2:], y
for i in range(2): a[i] += b[i]; b[i] *= c[0]

for i in range(2):
    for j in range(2):
        if j > i: break
        y[j] *= 2
    else: y[3] += 1

for i in range(3):
    while y[i] < 1.0: y[i] *= 1.5

for i in range(3):
    j = i
    while j > 0 and y[j - 1] > y[j]:
        y[j - 1], y[j] = y[j], y[j - 1]; j -= 1

cum = 0.0; out = np.empty(4)
for i in range(4): cum += y[i]; out[i] = cum
s = out

out = np.empty_like(y); out[0] = n
for i in range(1, 4): out[i] = out[i - 1] * y[i]
s = out[-1]

out = np.zeros(5)
for i in range(4): out[i + 1] = out[i] + y[i]; out[i] *= 2
s = out

out = np.zeros(4, int)
for i in range(4): out[i] = int(y[i] * 10)
s = out * n

out = np.zeros(4, bool)
for i in range(4): out[i] = y[i] > 0.5
s = np.sum(y[out])

out = np.full(4, -np.inf)
for i in range(4): out[i] = max(out[i - 1], y[i]) if i else y[i]
s = out

K = np.eye(4)
for i in range(3): K = K @ (np.eye(4) * n)
s = K

v = np.ones(4)
for _ in range(5): v = (np.eye(4) + np.outer(y, y)) @ v; v = v / np.sqrt(v @ v)
s = v

T = np.zeros((5, 4)); T[0] = y
for i in range(4):
    T[i + 1] = T[i]
    T[i + 1, 1:-1] += 0.1 * (T[i, 2:] - 2 * T[i, 1:-1] + T[i, :-2])
s = T[-1]
"""


def programs() -> list[str]:
    lines = (NUMBERS + ARRAYS + PYTHON + LOOPS).split("\n")
    statements = [statement for line in lines if line for statement in line.split(" ## ")]
    blocks = (CLASSES + "\n" + LONGER_LOOPS).strip("\n").split("\n\n")
    return [*statements, *[block.strip("\n") for block in blocks]]

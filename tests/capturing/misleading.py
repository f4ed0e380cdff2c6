"""Programs that could mislead ``source.capture``, as text: a section each, which defines ``f``.

Where the first line of a section says ``refused``, an error of tinyjax's is right as well. Where it
says ``make``, a function without a state is made before each call. Where it says ``eager``, the
program depends on errors that compiled programs do not raise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

IMPORTS: Final = """\
import abc, asyncio, cmath, collections, contextlib, copy, dataclasses, decimal, enum, fractions
import functools, itertools, json, math, operator, pickle, random, statistics, struct, threading
import types, typing, warnings, weakref
from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
import scipy.integrate, scipy.interpolate, scipy.linalg, scipy.optimize, scipy.special
"""

ARITHMETIC: Final = r"""
## remainder_of_math
def f(x):
    return math.remainder(x[0], 0.3) * x[1] + math.remainder(2.0, x[2])

## fmod
def f(x):
    return math.fmod(x[0], 0.3) * x[1] + math.fmod(-2.0, x[2]) + np.fmod(x[3], -0.2)

## percent
def f(x):
    return x[0] % 0.3 + 5.0 % x[1] + -x[2] % 0.4 + x[3] % -0.2

## percent_of_floats
def f(x):
    a, b = float(x[0]), float(x[1])
    return a % 0.3 * b + -a % 0.4 + 3 % b

## floor_division
def f(x):
    return (x[0] // 0.3) * x[1] + (5.0 // x[2]) * x[3] + float(x[0]) // 0.2 * float(x[3])

## divmod
def f(x):
    q, r = divmod(x[0], 0.3)
    p, s = divmod(float(x[1]), 0.2)
    return q * x[2] + r * r + p * s

## divmod_of_array
def f(x):
    q, r = divmod(x, 0.3)
    return np.sum(q * x + r**2)

## round_to_integer
def f(x):
    return round(x[0]) * x[1] + round(float(x[2])) * x[3]

## round_to_digits
def f(x):
    return round(float(x[0]), 1) * x[1] + round(x[2], 1) * x[3] + np.round(x, 1) @ x

## int_of_element
def f(x):
    return int(11 * x[0]) * x[1] + int(float(x[2])) * x[3] + math.floor(3 * x[2]) * x[0]

## trunc_ceil_floor
def f(x):
    return math.trunc(5 * x[0]) * x[1] + math.ceil(x[2]) * x[3] + np.floor(4 * x[1]) * x[2]

## abs_of_all_kinds
def f(x):
    return abs(-x[0]) * abs(float(x[1])) + abs(x - 0.5) @ x + math.fabs(-x[2]) + abs(x[3] * 1j)

## power_with_modulus
def f(x):
    return pow(3, 5, 7) * x[0] + pow(x[1], 3) + pow(2, x[2]) + pow(float(x[3]), 2.5)

## power_of_negative
def f(x):
    return (-x[0]) ** 3 + (-x[1]) ** 2.0 + x[2] ** -2 + (-2.0) ** 3 * x[3]

## powers_of_all_kinds
def f(x):
    return np.power(x, 2).sum() + np.float_power(x[0], x[1]) + math.pow(x[2], x[3]) + 2 ** x[0]

## integer_power_of_array
def f(x):
    return np.sum(x ** np.arange(4)) + np.sum(np.arange(1, 5) ** x)

## imaginary_times_element
def f(x):
    z = 1j * x[0] + x[1]
    return abs(z * z) + (z * x[2]).imag + cmath.exp(z * x[3]).real

## numpy_scalar_first
def f(x):
    two, three = np.float64(2), np.float32(3)
    return two * x[0] + np.int64(3) * float(x[1]) + two ** x[2] + two / x[3] - three * x[0]

## numpy_scalar_and_float
def f(x):
    a = float(x[0])
    return np.float64(2) * a + np.float64(1.5) / a + np.float64(2) ** a + np.int64(2) - a

## array_of_zero_axes_first
def f(x):
    two = np.array(2.0)
    return two * x[0] + two * float(x[1]) + two / x[2] + np.array(3) * x[3]

## true_and_false_as_numbers
def f(x):
    return (x[0] > 0.5) * x[1] + True * x[2] + sum(v > 0.4 for v in x) * x[3] + (x > 0.5) @ x

## sum_with_start
def f(x):
    return sum(x, 0.5) * sum([x[0], x[1]], x[2]) + sum((x * i for i in range(3)), np.zeros(4)) @ x

## fsum_prod_hypot_dist
def f(x):
    return math.fsum(x) * math.prod(x[:2], start=2) + math.hypot(*x) + math.dist(x[:2], x[2:])

## functions_of_math
def f(x):
    a, b, c, d = x
    return (
        math.erf(a)
        + math.gamma(1 + b)
        + math.lgamma(c)
        + math.atan2(a, d)
        + math.log1p(b)
        + math.expm1(c)
        + math.log(a, 3)
        + math.log2(d)
        + math.cbrt(c)
        + math.erfc(b)
    )

## more_functions_of_math
def f(x):
    a, b, c, d = x
    return (
        math.copysign(a, -b)
        + math.degrees(c) * 0.01
        + math.radians(d)
        + math.acosh(1 + a)
        + math.atanh(b)
        + math.asinh(c)
        + math.exp2(d)
        + math.sumprod([a, b], [c, d])
        if hasattr(math, "sumprod")
        else math.copysign(a, -b) + math.acosh(1 + c) * d
    )

## frexp_ldexp_modf
def f(x):
    m, e = math.frexp(x[0])
    part, whole = math.modf(3 * x[1])
    return math.ldexp(m, e) * x[1] + part * x[2] + whole * x[3] + math.ldexp(x[2], 2)

## ufuncs_with_two_results
def f(x):
    m, e = np.frexp(x)
    part, whole = np.modf(3 * x)
    return np.ldexp(m, e) @ x + part @ x + whole @ x

## isclose_isnan_isfinite
def f(x):
    y = x[0] if math.isclose(x[0], 0.7, abs_tol=0.1) else x[1]
    return y * y if math.isfinite(x[2]) and not math.isnan(x[3]) and np.isfinite(x).all() else 0.0

## comparisons_chained
def f(x):
    return x[0] * x[1] if 0 < x[1] < x[0] <= x[0] != x[2] else x[3]

## zero_division_of_numpy
def f(x):
    zero = x[1] - x[1]
    try:
        return x[2] * x[3] if np.isinf(x[0] / zero) and np.isinf(x[0] / float(zero)) else x[1]
    except ZeroDivisionError:
        return x[2]

## zero_division_of_python (eager)
def f(x):
    a = float(x[0]) - float(x[0])
    try:
        return 1.0 / a
    except ZeroDivisionError:
        return float(x[1]) ** 2

## domain_error_of_math (eager)
def f(x):
    try:
        return math.sqrt(x[1] - x[0])
    except ValueError:
        return math.sqrt(x[0]) * x[2]

## overflow_error_of_math (eager)
def f(x):
    try:
        return math.exp(1000 * x[0])
    except OverflowError:
        return x[1] ** 2

## signs_and_copies
def f(x):
    return +x[0] * -x[1] + (-x).sum() + (+x) @ x + np.positive(x[2]) - np.negative(x[3])

## conjugate_real_imag_of_floats
def f(x):
    a = float(x[0])
    return a.real * x[1] + a.conjugate() + a.imag + x[2].real * x[3].conj() + x.imag.sum()

## methods_of_floats
def f(x):
    a = float(x[0])
    return (x[1] if a.is_integer() else x[2]) * a.__add__(1.0) + a.__rsub__(2.0) * a.__abs__()

## ratio_of_integers (refused)
def f(x):
    p, q = float(x[0]).as_integer_ratio()
    return p / q * x[1]

## float_of_hex (refused)
def f(x):
    return float.fromhex(float(x[0]).hex()) * x[1]

## next_after (refused)
def f(x):
    return math.nextafter(x[0], 2.0) * x[1] + np.nextafter(x[2], 2.0) + math.ulp(x[3])

## complex_number
def f(x):
    z = complex(x[0], x[1])
    return (z**2).real + abs(z) + (z * z.conjugate()).real + cmath.phase(z) + cmath.polar(z)[0]

## complex_arrays
def f(x):
    z = x[:2] + 1j * x[2:]
    return (
        np.abs(np.exp(z)).sum()
        + np.angle(z) @ x[:2]
        + (z.conj() * z).real.sum()
        + np.vdot(z, z).real
    )

## complex_through_fourier
def f(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2) + np.fft.irfft(np.fft.rfft(x) * 0.5j)[1]

## float32_inside
def f(x):
    y = x.astype(np.float32).astype(float) - x
    return np.sum(x**2) + 0.0 * np.sum(y)

## integer_array_takes_the_whole_part
def f(x):
    y = np.zeros(4, dtype=int)
    y[:] = 11 * x
    return y @ x

## integer_array_refuses_in_place
def f(x):
    y = np.arange(4)
    try:
        y += x
    except TypeError:
        return x[0] * x[1]
    return np.sum(y) * 1.0

## integer_dtypes
def f(x):
    i = (11 * x).astype(np.int8)
    return i @ x + np.uint8(200) * x[0] + (i // 2).sum() * x[1] + (i << 1)[0] * x[2]

## boolean_arrays
def f(x):
    m = x > 0.5
    return x[m].sum() * m.sum() + np.where(~m, x, 2 * x) @ x + np.count_nonzero(m) * x[0]
"""

TEXT: Final = r"""
## float_of_fstring (refused)
def f(x):
    return float(f"{x[0]}") * x[1]

## float_of_str (refused)
def f(x):
    return float(str(x[0])) * x[1]

## float_of_repr (refused)
def f(x):
    return float(repr(float(x[0]))) * x[1]

## float_of_format (refused)
def f(x):
    return float("{:.17g}".format(x[0])) * x[1] + float(format(x[2], ".17g"))

## float_of_percent_format (refused)
def f(x):
    return float("%.17g" % x[0]) * x[1]

## text_through_json (refused)
def f(x):
    return json.loads(json.dumps({"a": float(x[0])}))["a"] * x[1]

## text_through_eval (refused)
def f(x):
    return eval(repr(float(x[0]))) * x[1]

## text_through_split (refused)
def f(x):
    a, b = map(float, " ".join(map(str, x[:2])).split())
    return a * b

## text_through_fromstring (refused)
def f(x):
    return np.fromstring(",".join(f"{v}" for v in x), sep=",").sum()

## text_of_array (refused)
def f(x):
    return np.array2string(x).count(".") * x[0]

## text_that_is_not_read
def f(x):
    message = f"x is {x[0]:.3f} of {x!r} {str(x)}"
    return x[0] * len("constant") if message else 0.0

## printed_numbers
def f(x):
    import io

    print(x[0], x, file=io.StringIO())
    return x[0] * x[1]

## hash_of_number (refused)
def f(x):
    return x[0] if hash(float(x[1])) == hash(0.31) else x[0] * x[2]

## keys_of_a_dict (refused)
def f(x):
    table = {float(v): i for i, v in enumerate(x)}
    return table[float(x[2])] * x[0] + len(table) * x[1]

## values_through_keys (refused)
def f(x):
    return sum(k for k in {float(v): 0 for v in x}) * x[0]

## sets_of_numbers (refused)
def f(x):
    return sum({float(v) for v in x}) * len({float(x[0]), float(x[0])})

## identity
def f(x):
    y = x
    z = x[:]
    return x[0] * x[1] if y is x and z is not x and id(y) == id(x) else x[2]

## identity_of_number
def f(x):
    a = float(x[0])
    b = a
    return a * x[1] if a is b and a is not None else x[2]

## contained_in_list
def f(x):
    values = [float(v) for v in x]
    return x[0] * x[1] if values[2] in values and 9.5 not in values and x[0] in x else x[3]

## index_and_count_of_list
def f(x):
    values = list(x)
    return values.index(x[2]) * x[0] + values.count(x[1]) * x[3]

## pickled (refused)
def f(x):
    return np.sum(pickle.loads(pickle.dumps(x)) ** 2)

## deep_copy
def f(x):
    held = {"a": [x, (x[0], x * 2)]}
    other = copy.deepcopy(held)
    other["a"][0][0] = 3.0
    return held["a"][0] @ x + other["a"][0] @ x + other["a"][1][0]

## shallow_copy
def f(x):
    held = [x * 1.0]
    other, third = copy.copy(held), copy.copy(held[0])
    other[0][1] = x[0] * x[0]
    third[0] = 9.0
    return held[0] @ x

## bytes_of_array (refused)
def f(x):
    return np.frombuffer(x.tobytes()) @ x

## memory_view (refused)
def f(x):
    y = x * 1.0
    m = memoryview(y)
    return m[0] * x[1]

## memory_view_is_written_to (refused)
def f(x):
    y = np.zeros(4)
    m = memoryview(y)
    m[0] = x[0]
    return y @ x

## array_of_memory_view (refused)
def f(x):
    y = np.zeros(4)
    z = np.asarray(memoryview(y))
    y[0] = x[0]
    return z[0] * x[1]

## from_buffer_of_array (refused)
def f(x):
    y = np.zeros(4)
    z = np.frombuffer(y)
    y[:] = x * 2
    return z @ x

## packed_bytes (refused)
def f(x):
    return struct.unpack("d", struct.pack("d", x[0]))[0] * x[1]

## module_array (refused)
def f(x):
    import array

    a = array.array("d", x)
    return sum(a) * x[0]

## view_as_integers (refused)
def f(x):
    return np.sum(x.view(np.int64).view(float) * x)

## view_as_complex (refused)
def f(x):
    return np.abs(x.view(complex) ** 2).sum()

## save_and_load (refused)
def f(x):
    import io

    file = io.BytesIO()
    np.save(file, x)
    file.seek(0)
    return np.load(file) @ x

## cache_by_repr (refused)
cache = {}

def slow(x):
    key = repr(x)
    if key not in cache:
        cache[key] = np.sum(x**2)
    return cache[key]

def f(x):
    return slow(x) * x[0]

## cache_by_bytes (refused)
cache = {}

def slow(x):
    key = x.tobytes()
    if key not in cache:
        cache[key] = np.sum(x**2)
    return cache[key]

def f(x):
    return slow(x) * x[0]

## cache_by_lru (refused)
@functools.lru_cache
def slow(v):
    return math.sin(v) * v

def f(x):
    return slow(float(x[0])) * x[1] + slow(x[0]) + slow(0.5) * x[2]

## cache_of_constants
@functools.lru_cache(maxsize=None)
def weights(n):
    return np.cos(np.arange(n))

def f(x):
    return weights(len(x)) @ x + weights(4)[1] * x[0]

## cached_property
class A:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def total(self):
        return np.sum(self.x**2)

def f(x):
    a = A(x)
    return a.total * a.total
"""

STATE: Final = r"""
## counter_in_module (make)
def make():
    calls = [0]

    def f(x):
        calls[0] += 1
        return calls[0] * x[0] * x[1]

    return f

## counter_is_counted_once (make)
def make():
    calls = [0]

    def step(v):
        calls[0] += 1
        return v * calls[0]

    def f(x):
        return step(x[0]) + step(x[1]) * 10 + step(x[2]) * 100

    return f

## object_made_by_an_earlier_call (make)
class Model:
    def __init__(self, n):
        self.weights = np.cos(np.arange(n))
        self.state = np.zeros(n)

    def run(self, x):
        self.state = 0.5 * self.state + self.weights * x
        return self.state.sum()

def make():
    model = Model(4)
    return lambda x: model.run(x) * model.run(x**2)

## scratch_array_of_an_object (make refused)
class Model:
    def __init__(self):
        self.scratch = np.zeros(4)

    def run(self, x):
        self.scratch[:] = np.sin(x)
        self.scratch[1:] += self.scratch[:-1]
        return self.scratch @ x

def make():
    model = Model()
    return model.run

## scratch_array_of_the_module (refused)
SCRATCH = np.zeros(4)

def f(x):
    SCRATCH[:] = x * x
    return SCRATCH @ x

## global_that_is_written
LAST = 1.0

def f(x):
    global LAST
    LAST = x[0] * x[1]
    return LAST * 2 + total()

def total():
    return LAST * LAST

## global_list_that_grows (make)
def make():
    history = []

    def f(x):
        history.append(x[0] * x[1])
        history.extend([x[2], x[3]])
        return sum(history)

    return f

## mutable_default (make)
def make():
    def f(x, seen=[]):
        seen.append(x[0])
        return seen[-1] * x[1] + len(seen) * x[2]

    return f

## default_array
def f(x, w=np.array([1.0, 2.0, 3.0, 4.0])):
    return w @ x + step(x[0])

def step(v, *, scale=np.array(2.5)):
    return v * scale

## attribute_of_a_function
def f(x):
    f.last = x[0] * x[1]
    return f.last * f.last

## class_attribute_that_is_written
class A:
    shared = 1.0

def f(x):
    A.shared = x[0] * 2
    return A().shared * x[1]

## closure_cell_that_changes
def f(x):
    steps = []
    for i in range(3):
        steps.append(lambda: x[i])
    total = 0.0

    def add(v):
        nonlocal total
        total += v * v

    for step in steps:
        add(step())
    return total

## late_binding_and_default_binding
def f(x):
    early = [lambda v=v: v * v for v in x]
    late = [lambda: v * v for v in x]
    return sum(g() for g in early) + sum(g() for g in late)

## seeded_random_numbers
def f(x):
    rng = np.random.default_rng(0)
    random.seed(1)
    return rng.normal(size=4) @ x + random.random() * x[0] + random.Random(2).gauss(0, 1) * x[1]

## random_choice_of_values
def f(x):
    r = random.Random(3)
    values = list(x)
    r.shuffle(values)
    return values[0] * 2 + values[1] * 3 + r.choice(values) ** 2 + r.uniform(0, x[0])

## random_numbers_of_given_mean (refused)
def f(x):
    return np.random.default_rng(0).normal(x[0], x[1])

## shuffled_array (refused)
def f(x):
    y = x * 1.0
    np.random.default_rng(0).shuffle(y)
    return y[0] * y[1]

## permuted_array
def f(x):
    y = x[np.random.default_rng(0).permutation(4)]
    return y[0] * 2 + y[1] * y[2]

## threads (refused)
def f(x):
    result = []
    thread = threading.Thread(target=lambda: result.append(np.sum(x**2)))
    thread.start()
    thread.join()
    return result[0]

## thread_writes_into_array (refused)
def f(x):
    y = np.zeros(4)

    def work():
        y[:] = x * x

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return y.sum()

## executor (refused)
def f(x):
    with ThreadPoolExecutor(1) as pool:
        return sum(pool.map(lambda v: v * v, list(x)))

## warnings_and_errstate (refused)
def f(x):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        try:
            y = np.log(x - x[0])
        except FloatingPointError:
            y = x * 2
    return y @ x

## warning_that_is_an_error
def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("careful")
        except UserWarning:
            return x[0] * x[1]
    return x[2]

## context_variable
import contextvars

SCALE = contextvars.ContextVar("scale", default=1.0)

def f(x):
    token = SCALE.set(x[0])
    try:
        return SCALE.get() * x[1]
    finally:
        SCALE.reset(token)

## thread_local
LOCAL = threading.local()

def f(x):
    LOCAL.v = x[0]
    return LOCAL.v * x[1]

## weak_reference
class A:
    pass

def f(x):
    a = A()
    a.v = x[0]
    table = weakref.WeakKeyDictionary({a: x[1]})
    return weakref.ref(a)().v * table[a]

## environment_of_arguments
def f(x):
    return g(*x[:2], c=x[2], **{"d": x[3]})

def g(a, /, b, *rest, c, **more):
    return a * b + c * more["d"] + len(rest)
"""

FLOW: Final = r"""
## generator
def squares(x):
    for v in x:
        yield v * v

def f(x):
    return sum(squares(x)) + next(squares(x))

## generator_that_is_sent_to
def accumulate():
    total = 0.0
    while True:
        v = yield total
        total = 0.5 * total + math.sin(v)

def f(x):
    g = accumulate()
    next(g)
    return [g.send(v) for v in x][-1]

## yield_from
def inner(x):
    r = yield from (math.sin(v) for v in x)
    yield math.cos(x[0])
    return x[1] * 3

def outer(x):
    r = yield from inner(x)
    yield r * r

def f(x):
    return sum(outer(x))

## coroutine
async def step(v):
    return math.sin(v)

async def total(x):
    return await step(x[0]) * await step(x[1])

def f(x):
    c = total(x)
    try:
        c.send(None)
    except StopIteration as stop:
        return stop.value

## asyncio (refused)
async def step(v):
    await asyncio.sleep(0)
    return math.sin(v)

async def total(x):
    return sum(await asyncio.gather(*map(step, x)))

def f(x):
    return asyncio.run(total(x))

## with_statement
class Scale:
    def __init__(self, v):
        self.v = v

    def __enter__(self):
        return math.sin(self.v) * np.sin(self.v)

    def __exit__(self, *error):
        return False

def f(x):
    with Scale(x[0]) as a, Scale(x[1]) as b:
        return a * b

## with_statement_that_swallows
class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.error = error
        return kind is KeyError

def f(x):
    y = x[0]
    with Quiet() as q:
        y = x[1] * y
        {}["missing"]
        y = 0.0
    return y * y

## contextmanager
@contextlib.contextmanager
def scaled(v):
    yield math.sin(v) * 2

def f(x):
    with scaled(x[0]) as y:
        return y * x[1]

## contextmanager_that_writes
@contextlib.contextmanager
def doubled(a):
    a *= 2
    yield a
    a /= 4

def f(x):
    y = x * 1.0
    with doubled(y) as z:
        s = z @ x
    return s + y @ y

## exit_stack_and_closing
def f(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: log.append(math.sin(x[0])))
        stack.enter_context(contextlib.nullcontext())
    with contextlib.suppress(ZeroDivisionError):
        log.append(x[1] ** 2)
        1 / 0
    return sum(log)

## decorated
def twice(g):
    @functools.wraps(g)
    def wrapped(*args):
        return g(*args) + math.sin(g(*args))

    return wrapped

@twice
def h(v):
    return v * v

def f(x):
    return h(x[0]) * h(x[1])

## decorator_with_arguments
def power(n):
    def decorate(g):
        return lambda *a: g(*a) ** n

    return decorate

class A:
    @staticmethod
    @power(2)
    def g(v):
        return math.cos(v)

    @classmethod
    @power(3)
    def h(cls, v):
        return math.sin(v)

def f(x):
    return A.g(x[0]) + A().h(x[1])

## class_as_decorator
class Counted:
    def __init__(self, g):
        self.g, self.scale = g, 2.0

    def __call__(self, v):
        return self.scale * self.g(v)

@Counted
def h(v):
    return math.sin(v)

def f(x):
    return h(x[0]) * x[1]

## singledispatch
@functools.singledispatch
def g(v):
    return v[0] * 2

@g.register
def _(v: float):
    return math.sin(v)

@g.register(np.ndarray)
def _(v):
    return np.sum(v**2)

def f(x):
    return g(x) + g(float(x[0])) + g([x[1]])

## singledispatch_of_method
class A:
    @functools.singledispatchmethod
    def g(self, v):
        return 0.0

    @g.register
    def _(self, v: float):
        return math.sin(v)

def f(x):
    return A().g(float(x[0])) + A().g(x[1]) * 2

## partial_and_operators
def f(x):
    add = functools.partial(operator.add, x[0])
    sine = functools.partial(math.sin)
    get = operator.itemgetter(1, 2)
    call = operator.methodcaller("sum")
    return add(x[1]) * sine(x[2]) + get(x)[0] * operator.neg(get(x)[1]) + call(x)

## operators_of_the_module
def f(x):
    y = x * 1.0
    operator.iadd(y, x)
    operator.setitem(y, 0, x[3])
    s = operator.mul(operator.getitem(y, 1), operator.truediv(x[0], x[1]))
    return s + operator.pow(x[2], 2) + operator.matmul(x, y) + operator.abs(-x[0])

## attrgetter
class A:
    pass

def f(x):
    a = A()
    a.b = A()
    a.b.c = x[0]
    return operator.attrgetter("b.c")(a) * x[1]

## accumulate
def f(x):
    return (
        sum(itertools.accumulate(x, lambda s, v: s * math.cos(v))) + [*itertools.accumulate(x)][-1]
    )

## itertools
def f(x):
    pairs = sum(a * b for a, b in itertools.combinations(x, 2))
    chained = sum(itertools.chain(x[:2], [x[3]]))
    product = sum(math.sin(a + b) for a, b in itertools.product(x[:2], x[2:]))
    return pairs + chained + product + sum(itertools.starmap(math.pow, [(x[0], x[1])]))

## more_itertools
def f(x):
    low = [*itertools.takewhile(lambda v: v > 0.3, x)]
    groups = [(k, sum(g)) for k, g in itertools.groupby(x, lambda v: v > 0.5)]
    pairs = sum(a * b for a, b in itertools.pairwise(x))
    return len(low) * x[0] + groups[0][1] * groups[1][1] + pairs + next(itertools.islice(x, 2, 3))

## reduce_map_filter
def f(x):
    r = functools.reduce(lambda s, v: s * 0.5 + math.sin(v), x, x[0])
    return (
        r * sum(map(math.exp, x))
        + sum(filter(lambda v: v > 0.5, x))
        + sum(map(lambda a, b: a * b, x, x[::-1]))
    )

## sorted_with_key
def f(x):
    values = sorted(x, key=lambda v: -v)
    pairs = sorted(zip(x, range(4)))
    return values[0] * 2 + values[1] ** 2 + pairs[0][0] * pairs[0][1] + sorted(x, reverse=True)[1]

## list_sort
def f(x):
    values = list(map(float, x))
    values.sort(key=math.cos)
    other = x.tolist()
    other.sort()
    return values[0] * values[1] + other[3] * 3 + other[0]

## extrema
def f(x):
    return (
        max(x) * min(x[0], x[1])
        + max(x, key=lambda v: -v) ** 2
        + min([x[2], 5.0])
        + max(range(4), key=lambda i: x[i]) * x[0]
        + max([], default=x[1])
    )

## heap_and_bisection
import bisect, heapq

def f(x):
    values = sorted(x)
    heap = list(x)
    heapq.heapify(heap)
    i = bisect.bisect(values, 0.5)
    return heapq.heappop(heap) * 2 + values[i] ** 2 + heapq.nlargest(1, x)[0] + i * x[3]

## any_all_zip_enumerate_reversed
def f(x):
    s = sum(i * a * b for i, (a, b) in enumerate(zip(x, reversed(x)), 1))
    return s * any(v > 1 for v in x) + all(x > 0) * x[0] + any([x[1]]) * x[2]

## walrus
def f(x):
    if (y := math.sin(x[0])) > 0.1 and (z := y * x[1]):
        return y * z
    return [w := 2.0][0]

## star_unpacking
def f(x):
    a, *b, c = x
    (d, e), *_ = zip(x, x[::-1])
    first, *rest = [*x, *b]
    return a * c + sum(b) * d * e + rest[-1] * first

## nested_unpacking_and_swaps
def f(x):
    (a, b), (c, d) = x.reshape(2, 2)
    a, b, c = b, c, a
    y = [a, b, c]
    y[0], y[1] = y[1], y[0]
    i, y[i] = 1, 2.0 * d
    return y[0] * y[1] + y[2]

## match_statement
def f(x):
    total = 0.0
    for v in [x, x[0], float(x[1]), (x[2], x[3]), {"a": x[0]}, [1, x[1]], None]:
        match v:
            case np.ndarray():
                total += v.sum() if v.ndim else 100.0
            case float(w):
                total += w * w
            case (a, b) if not isinstance(a, int):
                total += a * b
            case {"a": w}:
                total += math.sin(w)
            case [1, w]:
                total += math.cos(w)
            case None:
                total += 1.0
    return total

## error_is_swallowed
def f(x):
    try:
        return math.sin(x[0]) * np.linalg.norm(x)
    except Exception:
        return 0.0

## fallback_for_what_is_no_float
def as_number(v):
    try:
        return float(v)
    except (TypeError, ValueError):
        return 0.0

def f(x):
    return as_number(x[0]) * as_number(x[1:2].reshape(())) + as_number(x) * x[2]

## fallback_for_what_is_not_iterable
def total(v):
    try:
        return sum(iter(v))
    except TypeError:
        return v * v

def f(x):
    return total(x) * total(x[0]) * total(float(x[1]))

## fallback_for_what_has_no_length
def f(x):
    total = 0.0
    for v in (x, x[0], float(x[1])):
        try:
            total += len(v) * v[0]
        except TypeError:
            total += v * v
    return total

## fallback_of_attribute
def f(x):
    a = float(x[0])
    n = getattr(a, "shape", "none")
    return a * x[1] if n == "none" and not hasattr(a, "dtype") and hasattr(x[0], "dtype") else x[2]

## errors_with_values
def f(x):
    class Found(Exception):
        pass

    try:
        for v in x:
            if v > 1:
                raise Found(v * v, x[0])
    except Found as found:
        return found.args[0] * found.args[1]
    else:
        return 0.0
    finally:
        x = None

## finally_overrides
def g(v):
    try:
        return v
    finally:
        v = v * 5

def f(x):
    for i in range(3):
        try:
            if i == 1:
                continue
            y = g(x[i])
        finally:
            x = x * 1.5
    return y * x[0]

## loops_with_else_break_continue
def f(x):
    total = 0.0
    for v in x:
        if v < 0.4:
            continue
        if v > 1:
            break
        total += v * v
    else:
        total = 100.0
    while total < 2.0:
        total = total * 1.5 + x[3]
    return total

## recursion
def g(v, n):
    return v if n == 0 else math.sin(g(v, n - 1)) + g(v * 0.5, n - 1)

def f(x):
    return g(x[0], 4) * x[1]

## newton_iteration
def f(x):
    y = 1.0
    while abs(y * y - x[0]) > 1e-14:
        y = 0.5 * (y + x[0] / y)
    return y * x[1]

## conditional_on_array
def f(x):
    if x.any() and (x > 0).all() and not x[x > 5].size:
        return np.sum(x**2)
    return 0.0

## exec_of_text (refused)
def f(x):
    names = {"x": x, "math": math}
    exec("y = math.sin(x[0]) * x[1]", names)
    return names["y"]

## eval_of_text (refused)
def f(x):
    return eval("math.sin(x[0]) * x[1]") + eval("a * a", {"a": x[2]})

## function_of_compiled_text (refused)
names = {"math": math, "np": np}
exec("def g(v):\n    return math.sin(v) + np.sum(np.asarray(v) ** 2)", names)

def f(x):
    return names["g"](float(x[0])) * x[1]

## function_made_of_code (refused)
g = types.FunctionType((lambda v: math.sin(v)).__code__, {"math": math})

def f(x):
    return g(x[0]) * x[1]

## locals_and_globals
def f(x):
    a = x[0] * 2
    return locals()["a"] * globals()["CONSTANT"] * vars()["a"]

CONSTANT = 2.5

## import_in_function
def f(x):
    from math import sin as sine
    import numpy.linalg as la

    module = __import__("math")
    return sine(x[0]) * la.norm(x) + module.cos(x[1])

## function_by_name
def f(x):
    return getattr(math, "sin")(x[0]) * getattr(np, "cos")(x[1]) + getattr(x, "sum")()
"""

OBJECTS: Final = r"""
## slots
class A:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = math.sin(b)

def f(x):
    a = A(x[0], x[1])
    a.a *= 2
    return a.a * a.b

## property
class A:
    def __init__(self, v):
        self._v = v

    @property
    def v(self):
        return math.sin(self._v)

    @v.setter
    def v(self, new):
        self._v = math.cos(new)

def f(x):
    a = A(x[0])
    y = a.v
    a.v = x[1]
    a.v *= 2
    return y * a.v

## descriptor
class Sine:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else math.sin(getattr(obj, self.name))

    def __set__(self, obj, v):
        setattr(obj, self.name, math.cos(v))

class A:
    v = Sine()

def f(x):
    a = A()
    a.v = x[0]
    return a.v * x[1]

## getattr_method
class A:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        return math.sin(self.x[int(name[1:])])

def f(x):
    a = A(x)
    return a.v0 * a.v1 + getattr(a, "v2")

## getattribute_and_setattr
class A:
    def __setattr__(self, name, v):
        object.__setattr__(self, name, math.sin(v))

    def __getattribute__(self, name):
        v = object.__getattribute__(self, name)
        return math.cos(v) if name == "v" else v

def f(x):
    a = A()
    a.v = x[0]
    setattr(a, "w", x[1])
    return a.v * a.w

## unary_methods
class A:
    def __init__(self, v):
        self.v = v

    def __neg__(self):
        return math.sin(self.v)

    def __pos__(self):
        return math.cos(self.v)

    def __invert__(self):
        return math.exp(self.v)

    def __abs__(self):
        return math.sqrt(self.v)

def f(x):
    a = A(x[0])
    return -a * +a + ~a * abs(a)

## comparison_methods
class A:
    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        return math.sin(self.v) < math.sin(other.v)

    def __eq__(self, other):
        return math.floor(self.v) == math.floor(other.v)

    def __hash__(self):
        return 1

def f(x):
    items = [A(v) for v in x]
    s = sorted(items)
    return (
        s[0].v * 2
        + max(items).v ** 2
        + (items[0] == items[1]) * x[2]
        + (items[0] != items[2]) * x[3]
    )

## comparisons_that_return_values
class A:
    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        return math.sin(self.v * other)

    def __contains__(self, v):
        return math.sin(v) < self.v

def f(x):
    a = A(x[0])
    return (a < x[1]) * 2 + (x[2] if 0.1 in a else x[3])

## in_place_methods
class A:
    def __init__(self, v):
        self.v = v

    def __iadd__(self, other):
        self.v += math.sin(other)
        return self

    def __imul__(self, other):
        return A(math.cos(self.v) * other)

def f(x):
    a = A(x[0])
    b = a
    a += x[1]
    a *= x[2]
    return a.v * b.v

## iteration_methods
class A:
    def __init__(self, x):
        self.x, self.i = x, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i == len(self.x):
            raise StopIteration
        self.i += 1
        return math.sin(self.x[self.i - 1])

    def __len__(self):
        return len(self.x)

def f(x):
    a, *b = A(x)
    return sum(A(x)) * a + sum(v * v for v in A(x)) + max(A(x)) + len(A(x)) * b[0]

## sequence_methods
class A:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        return math.sin(self.x[i])

    def __len__(self):
        return len(self.x)

    def __reversed__(self):
        return (math.cos(v) for v in self.x)

def f(x):
    a = A(x)
    return sum(v for v in a) * a[1] + next(reversed(a)) + np.sum([*a])

## item_methods
class A:
    def __init__(self):
        self.d = {}

    def __setitem__(self, k, v):
        self.d[k] = math.sin(v)

    def __delitem__(self, k):
        self.d[k] *= 0.5

    def __missing__(self, k):
        return 0.0

    def __getitem__(self, k):
        return self.d[k] * 2

def f(x):
    a = A()
    a["p"] = x[0]
    del a["p"]
    a["p"] += x[1]
    return a["p"] * x[2]

## call_method
class A:
    def __init__(self, w):
        self.w = w

    def __call__(self, v, *, scale=1.0):
        return math.sin(self.w * v) * scale

def f(x):
    return A(x[0])(x[1], scale=x[2]) + sum(map(A(x[0]), x))

## float_method
class A:
    def __init__(self, v):
        self.v = v

    def __float__(self):
        return float(math.sin(self.v))

    def __int__(self):
        return int(11 * self.v)

    def __index__(self):
        return int(3 * self.v)

    def __bool__(self):
        return bool(self.v > 0.5)

    def __round__(self, n=0):
        return math.cos(self.v)

def f(x):
    a = A(x[0])
    return float(a) * x[1] + int(a) * x[2] + x[a] * (1 if a else 5) + round(a) * round(a, 2)

## float_method_asked_by_c (refused)
class A:
    def __init__(self, v):
        self.v = v

    def __float__(self):
        return float(np.sin(self.v))

def f(x):
    return math.exp(A(x[0])) * x[1] + np.array([A(x[0]), A(x[1])], dtype=float).sum()

## array_method
class A:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.sin(self.x) * math.cos(self.x[0])

def f(x):
    return np.asarray(A(x)) @ x + np.sum(np.array(A(x)) ** 2) + np.sum(A(x))

## array_ufunc_method
class A:
    def __init__(self, x):
        self.x = x

    def __array_ufunc__(self, ufunc, method, *args, **kw):
        return A(getattr(ufunc, method)(*(a.x if isinstance(a, A) else a for a in args), **kw))

def f(x):
    a = np.sin(A(x))
    b = np.multiply(a, x)
    return (b.x + np.add(x, a).x).sum()

## array_function_method
class A:
    def __init__(self, x):
        self.x = x

    def __array_function__(self, func, types, args, kw):
        return func(*(a.x if isinstance(a, A) else a for a in args), **kw) * 2

def f(x):
    return np.sum(A(x * x)) + np.mean(A(x))

## operators_of_both_sides
class A:
    __array_ufunc__ = None

    def __init__(self, v):
        self.v = v

    def __mul__(self, other):
        return math.sin(self.v) * other

    def __rmul__(self, other):
        return math.cos(self.v) * other

    def __rsub__(self, other):
        return other * math.exp(self.v)

    def __rpow__(self, other):
        return other + math.sqrt(self.v)

def f(x):
    a = A(x[0])
    return a * x[1] + x[1] * a + 2.0 * a + float(x[2]) - a + np.sum(x * a) + x[3] ** a

## operators_that_are_not_implemented
class A:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return NotImplemented if isinstance(other, B) else self.v + other

class B(A):
    def __radd__(self, other):
        return math.sin(self.v) * other.v

def f(x):
    return A(x[0]) + B(x[1]) + (A(x[0]) + x[2]) * x[3]

## subclass_goes_first
class A:
    def __init__(self, v):
        self.v = v

    def __mul__(self, other):
        return math.sin(self.v) * other.v

    def __rmul__(self, other):
        return 0.0

class B(A):
    def __rmul__(self, other):
        return math.cos(self.v) * other.v

def f(x):
    return A(x[0]) * B(x[1]) + B(x[2]) * A(x[3])

## subclass_of_float (refused)
class Angle(float):
    def sine(self):
        return math.sin(self)

    def __add__(self, other):
        return Angle(float(self) + 2 * float(other))

def f(x):
    a = Angle(x[0]) + Angle(x[1])
    return a.sine() * a * x[2]

## subclass_of_list
class Values(list):
    def total(self):
        return sum(math.sin(v) for v in self)

    def __getitem__(self, i):
        return math.cos(super().__getitem__(i))

def f(x):
    v = Values(x)
    v.append(x[0] * 2)
    return v.total() * v[1]

## subclass_of_dict
class Values(dict):
    def __missing__(self, k):
        return math.sin(self["a"]) * k

    def __getattr__(self, k):
        return self[k]

def f(x):
    v = Values(a=x[0], b=x[1])
    return v[2] * v.b + v.get("c", x[2])

## dataclass
@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0
    z: list = dataclasses.field(default_factory=list)

    def norm(self):
        return math.hypot(self.x, self.y)

def f(x):
    p = Point(x[0], x[1])
    p.z.append(x[2])
    q = dataclasses.replace(p, x=x[3])
    return p.norm() * q.norm() + q.z[0] + dataclasses.astuple(p)[0] + dataclasses.asdict(q)["y"]

## dataclass_with_post_init
@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    scale: dataclasses.InitVar[float]
    y: float = 0.0

    def __post_init__(self, scale):
        object.__setattr__(self, "y", math.sin(self.x) * scale)

def f(x):
    p = Point(x[0], x[1])
    return p.y * p.x + Point(x[2], 1.0).y

## dataclass_that_is_ordered
@dataclasses.dataclass(order=True, slots=True)
class Point:
    x: float
    y: float

def f(x):
    points = [Point(a, b) for a, b in zip(x, x[::-1])]
    return (
        min(points).x * 2
        + max(points).y ** 2
        + sorted(points)[1].x
        + (points[0] == Point(x[0], x[3])) * x[1]
    )

## attrs_class
@attrs.define
class Point:
    x: float = attrs.field(converter=float)
    y: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    z: float = attrs.field(init=False)

    def __attrs_post_init__(self):
        self.z = math.sin(self.x) * self.y

def f(x):
    p = Point(x[0], x[1])
    q = attrs.evolve(p, y=x[2])
    return p.z * q.z + attrs.astuple(q)[0]

## attrs_converter_of_text (refused)
@attrs.frozen
class Point:
    x: float = attrs.field(converter=lambda v: float(f"{v}"))

def f(x):
    return Point(x[0]).x * x[1]

## attrs_with_sine_as_converter
@attrs.frozen
class Point:
    x: float = attrs.field(converter=math.sin)
    y: float = attrs.Factory(lambda self: math.cos(self.x), takes_self=True)

def f(x):
    p = Point(x[0])
    return p.x * p.y * x[1]

## named_tuples
Point = collections.namedtuple("Point", "x y", defaults=[2.0])

class Line(typing.NamedTuple):
    a: float
    b: float

    def at(self, t):
        return math.sin(self.a * t) + self.b

def f(x):
    p = Point(x[0])._replace(y=x[1])
    return p.x * p.y + Line(*p).at(x[2]) + Line(b=x[3], a=1.0)[1] + p._asdict()["x"]

## enumerations
class Kind(enum.Enum):
    SINE = "sin"
    COSINE = "cos"

    @property
    def function(self):
        return getattr(math, self.value)

    def __call__(self, v):
        return self.function(v) * 2

class Level(enum.IntEnum):
    TWO = 2

def f(x):
    return Kind.SINE(x[0]) * Kind("cos").function(x[1]) + Level.TWO * x[2] + x[Level.TWO]

## metaclass
class Meta(type):
    def __call__(cls, *args):
        obj = super().__call__(*args)
        obj.v = math.sin(obj.v)
        return obj

    @property
    def two(cls):
        return 2.0

    def __getitem__(cls, v):
        return math.cos(v)

class A(metaclass=Meta):
    def __init__(self, v):
        self.v = v

def f(x):
    return A(x[0]).v * A.two + A[x[1]]

## new_method
class A:
    def __new__(cls, v):
        if v > 1:
            return math.sin(v)
        obj = super().__new__(cls)
        obj.w = math.cos(v)
        return obj

    def __init__(self, v):
        self.v = v

def f(x):
    return A(x[2]) * A(x[0]).w * A(x[1]).v

## abstract_class_and_super
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        return math.sin(self.r)

class Circle(Shape):
    def __init__(self, r):
        self.r = r

    def area(self):
        return super().area() * math.pi * self.r**2

class Mixed(Circle):
    @property
    def area2(self):
        return super(Mixed, self).area() * 2

def f(x):
    return Circle(x[0]).area() + Mixed(x[1]).area2

## class_made_by_type
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

## class_in_function
def f(x):
    class A:
        v = math.sin(x[0])

        def get(self):
            return self.v * x[1]

    return A().get()

## private_names
class A:
    def __init__(self, v):
        self.__v = v

    def get(self):
        return math.sin(self.__v) * self.__scale()

    def __scale(self):
        return self.__v

def f(x):
    return A(x[0]).get()

## bound_methods_as_values
class A:
    def __init__(self, v):
        self.v = v
        self.call = self.times

    def times(self, w):
        return math.sin(self.v * w)

def f(x):
    a = A(x[0])
    g = a.times
    return sum(map(g, x)) + A.times(a, 2.0) + a.call(x[1]) + types.MethodType(A.times, a)(x[2])

## simple_namespace
def f(x):
    n = types.SimpleNamespace(a=x[0], b=[x[1]])
    n.c = n.a * n.b[0]
    return n.c * vars(n)["a"] + n.__dict__["b"][0]

## collections_of_values
def f(x):
    d = collections.deque(x, maxlen=3)
    d.append(x[0] * 2)
    o = collections.OrderedDict(a=x[1])
    c = collections.ChainMap({}, {"b": x[2]})
    t = collections.defaultdict(lambda: x[3], a=x[0])
    return sum(d) * o["a"] + c["b"] * t["z"] + t["a"]

## counter_of_values
def f(x):
    c = collections.Counter(a=x[0], b=x[1])
    c.update(a=x[2])
    return c["a"] * c["b"] + c["none"]

## isinstance_of_all_kinds
import numbers

def f(x):
    a = float(x[0])
    ok = [
        isinstance(x, np.ndarray),
        isinstance(x[0], np.floating),
        isinstance(x[0], float),
        isinstance(a, float),
        not isinstance(a, np.generic),
        isinstance(a, numbers.Real),
        not isinstance(a, int),
        not isinstance(x, (list, tuple)),
        issubclass(type(x), np.ndarray),
        isinstance(x, collections.abc.Iterable),
        not isinstance(a, collections.abc.Sized),
        not isinstance(a, complex),
        isinstance(x[0], np.number),
        isinstance(a, float | int),
        not isinstance(x, collections.abc.Sequence),
    ]
    return sum(ok) * x[0] * x[1]

## type_is
def f(x):
    a = float(x[0])
    ok = [
        type(x) is np.ndarray,
        type(a) is float,
        type(x[0]) is np.float64,
        type(x.sum()) is np.float64,
        type(x * 2) is np.ndarray,
        type(a * 2) is float,
        type(x[0] * 2) == np.float64,
        type(math.sin(x[0])) is float,
        type(x[:1]).__name__ == "ndarray",
        a.__class__ is float,
        type(x.item(0)) is float,
        type(x.tolist()[0]) is float,
    ]
    return sum(ok) * x[0] * x[1]

## isscalar_and_ndim
def f(x):
    n = (
        np.isscalar(x[0])
        + 2 * np.isscalar(x)
        + 4 * np.isscalar(float(x[0]))
        + 8 * np.ndim(x)
        + 16 * np.ndim(x[0])
    )
    m = (
        np.shape(x[0]) == ()
        and np.size(x) == 4
        and x[0].shape == ()
        and np.iterable(x)
        and not np.iterable(x[0])
    )
    return n * m * x[0]

## dtype_and_kind
def f(x):
    ok = [
        x.dtype == float,
        x.dtype.kind == "f",
        x.dtype.name == "float64",
        np.issubdtype(x.dtype, np.floating),
        np.result_type(x, 1j) == complex,
        x.itemsize == 8,
        x.flags.writeable,
        x.flags.c_contiguous,
        np.isrealobj(x),
    ]
    return sum(ok) * x[0] * x[1]

## callable_and_hasattr
def f(x):
    ok = [
        not callable(x),
        hasattr(x, "shape"),
        not hasattr(x, "iloc"),
        hasattr(x, "__len__"),
        not hasattr(x[0], "append"),
        hasattr(x[0], "item"),
        hasattr(x, "__array__"),
        not hasattr(x, "numpy"),
        not hasattr(x, "detach"),
    ]
    return sum(ok) * x[0] * x[1]
"""

ARRAYS: Final = r"""
## vectorize
@np.vectorize
def g(a, b):
    return math.sin(a) if a > b else a * b

def f(x):
    return g(x, x[::-1]).sum() + np.vectorize(lambda v: v * v, otypes=[float])(x)[0]

## vectorize_with_signature
def f(x):
    norm = np.vectorize(lambda v: np.sqrt(v @ v), signature="(n)->()")
    return norm(x.reshape(2, 2)).sum()

## frompyfunc (refused)
def f(x):
    g = np.frompyfunc(lambda a, b: a * math.sin(b), 2, 1)
    return g(x, x[::-1]).astype(float).sum()

## apply_along_axis
def f(x):
    y = np.apply_along_axis(lambda v: v[0] * math.sin(v[1]), 0, x.reshape(2, 2))
    return y.sum() + np.apply_over_axes(np.sum, x.reshape(2, 2), [0, 1])[0, 0]

## fromiter
def f(x):
    return np.fromiter((math.sin(v) for v in x), dtype=float, count=4) @ x

## fromfunction
def f(x):
    return np.fromfunction(lambda i, j: x[0] * i + x[1] * j, (2, 3)).sum()

## array_of_generator
def f(x):
    return (
        np.array([math.sin(v) for v in x]).sum()
        + np.array(list(v * v for v in x)) @ x
        + sum(np.array(tuple(x)))
    )

## array_of_nested_lists
def f(x):
    a = np.array([[x[0], 1.0], [2, x[1]]])
    b = np.array([x, x * 2])
    c = np.array([[x[:2]], [x[2:]]])
    return np.linalg.det(a) + b.sum() + c[1, 0, 0] * c[0, 0, 1]

## array_of_arrays_of_zero_axes
def f(x):
    return np.array([np.array(x[0]), np.array(x[1]) * 2]) @ np.stack([np.asarray(x[2]), x[3]])

## piecewise
def f(x):
    return (
        np.piecewise(x, [x < 0.4, x > 1], [lambda v: v**2, 2.0, lambda v: np.sin(v)]).sum() + x[0]
    )

## select_and_choose
def f(x):
    y = np.select([x < 0.4, x < 0.6], [x**2, np.sin(x)], default=x[0])
    return y.sum() + np.choose([0, 1, 0, 1], [x, x * x]).sum()

## structured_array (refused)
def f(x):
    a = np.zeros(2, dtype=[("p", float), ("q", float, 2)])
    a["p"] = x[:2]
    a["q"][1] = x[2:]
    a[0] = (x[3], [1.0, 2.0])
    return a["p"] @ x[:2] + a["q"].sum() * a[1]["p"]

## record_array (refused)
def f(x):
    r = np.rec.fromarrays([x, x * x], names="a,b")
    return r.a @ r.b

## object_array (refused)
def f(x):
    o = np.empty(2, dtype=object)
    o[0], o[1] = x, x[0]
    return (o * 2)[0] @ x + o[1] * x[1]

## object_array_of_numbers (refused)
def f(x):
    o = np.array([float(v) for v in x], dtype=object)
    return o.sum() * x[0] + np.array([x[0], None, x[1]], dtype=object)[2]

## masked_array (refused)
def f(x):
    m = np.ma.masked_less(x, 0.4)
    return (m**2).sum() + m.mean() * np.ma.array(x, mask=[1, 0, 0, 1]).filled(2.0)[0]

## masked_where (refused)
def f(x):
    m = np.ma.masked_where(x > 1, x)
    m[0] = x[1] * 2
    return m.sum() * m.compressed()[0]

## matrix (refused)
def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = np.matrix(x.reshape(2, 2))
        return (m * m)[0, 1] + (m.T * m)[0, 0]

## statistics_mean
def f(x):
    return statistics.mean(x.tolist()) * statistics.fmean(x)

## statistics_of_all_kinds (refused)
def f(x):
    v = x.tolist()
    return (
        statistics.median(v) * statistics.stdev(v)
        + statistics.pvariance(v)
        + statistics.harmonic_mean(v)
    )

## decimal (refused)
def f(x):
    return float(decimal.Decimal(float(x[0])) * 2) * x[1]

## fraction (refused)
def f(x):
    return float(fractions.Fraction(float(x[0])) / 3) * x[1]

## nditer_that_reads (refused)
def f(x):
    total = 0.0
    for v in np.nditer(x):
        total += v * v
    return float(total)

## nditer_that_writes (refused)
def f(x):
    y = x * 1.0
    with np.nditer(y, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = 2 * v + math.sin(v)
    return y @ x

## nditer_of_two (refused)
def f(x):
    it = np.nditer([x, None])
    for a, b in it:
        b[...] = a * a
    return it.operands[1].sum()

## nditer_with_multi_index (refused)
def f(x):
    it = np.nditer(x.reshape(2, 2), flags=["multi_index"])
    total = 0.0
    while not it.finished:
        total += it[0] * (1 + it.multi_index[1])
        it.iternext()
    return float(total)

## ndenumerate
def f(x):
    return sum((1 + i + 2 * j) * v * v for (i, j), v in np.ndenumerate(x.reshape(2, 2)))

## ndindex
def f(x):
    y = x.reshape(2, 2).copy()
    for i, j in np.ndindex(2, 2):
        y[i, j] = math.sin(y[i, j]) + y[j, i]
    return y.sum() * y[0, 1]

## flat_iterator
def f(x):
    y = x.reshape(2, 2).T.copy()
    y.flat[1] = x[0] * 5
    it = y.flat
    next(it)
    return (
        next(it) * x[1]
        + sum(v * v for v in y.flat)
        + y.flat[2:].sum()
        + it.index * x[3]
        + len(y.flat)
    )

## iteration_while_writing
def f(x):
    y = x * 1.0
    total = 0.0
    for i, v in enumerate(y):
        y[-1] = v * x[1]
        total += v * (i + 1)
    return total

## iteration_over_rows_while_writing
def f(x):
    y = x.reshape(2, 2) * 1.0
    for row in y:
        row[0] = row[1] * x[0]
        row += 0.5
    for a, b in y:
        y[0, 0] += a * b
    return y[0] @ y[1]

## elements_are_copies
def f(x):
    y = x * 1.0
    a = y[0]
    b = y[1:2]
    a += 5.0
    y[0] = x[1] * x[2]
    b += a
    return a * y[0] + y[1]

## real_is_a_view
def f(x):
    y = np.zeros(4)
    np.real(y)[...] = x
    y.real[0] = x[1] * 2
    return y @ x

## imaginary_part_is_a_view
def f(x):
    z = x + 1j * x[::-1]
    z.imag[0] = x[2] * 3
    v = z.real
    v *= x[0]
    return abs(z[0]) + (z * z).imag.sum()

## broadcast_arrays_write
def f(x):
    y = x * 1.0
    a, b = np.broadcast_arrays(y, 1.0)
    y[0] = x[1] * 2
    return a @ x + b.sum()

## ravel_is_a_view_or_a_copy
def f(x):
    y = x.reshape(2, 2) * 1.0
    y.ravel()[0] = x[3]
    y.T.ravel()[1] = 100.0
    y.ravel("K")[2] = x[0] * x[1]
    y.flatten()[3] = 100.0
    return (y * [[1, 2], [3, 4]]).sum()

## reshape_is_a_view_or_a_copy
def f(x):
    y = x.reshape(2, 2) * 1.0
    y.T.reshape(-1)[1] = 100.0
    y.reshape(4)[1] = x[0] * x[2]
    y.T.reshape(2, 2)[1, 0] += x[3]
    return (y * [[1, 2], [3, 4]]).sum()

## as_type_and_asarray_alias
def f(x):
    y = x * 1.0
    y.astype(float)[0] = 100.0
    y.astype(float, copy=False)[1] = x[0] * 2
    np.asarray(y, dtype=float)[2] = x[1] ** 2
    np.array(y)[3] = 100.0
    np.array(y, copy=None)[3] += x[2]
    return y @ x

## concatenate_stack_are_copies
def f(x):
    y = x * 1.0
    c = np.concatenate([y[:2], y[2:]])
    s = np.stack([y])
    y[0] = 100.0 * x[1]
    c[1] = x[0]
    s[0, 2] += x[3]
    return c @ x + s.sum() + y[0]

## where_with_out
def f(x):
    out = np.full(4, 2.0)
    np.sqrt(x - 0.4, out=out, where=x > 0.4)
    np.divide(1.0, x - 0.31, out=out, where=x > 0.4)
    return out @ x

## where_with_nan
def f(x):
    y = np.where(x > 0.4, np.log(np.where(x > 0.4, x, 1.0)), 0.0)
    return y @ x

## nan_functions
def f(x):
    y = np.where(x < 0.4, np.nan, x)
    return np.nansum(y) * np.nanmean(y) + np.nanmax(y) + np.nan_to_num(y).sum() * np.nanstd(y)

## median_that_overwrites (refused)
def f(x):
    y = x * 1.0
    return np.median(y, overwrite_input=True) * x[0] + np.percentile(x, 30)

## sorting_functions
def f(x):
    y = x * 1.0
    y.sort()
    i = np.argsort(x)
    return (
        y[0] * y[3]
        + x[i] @ np.arange(4)
        + np.partition(x, 1)[1]
        + np.searchsorted(y, 0.6) * x[0]
        + np.unique(x)[2]
    )

## linear_algebra
def f(x):
    a = x.reshape(2, 2) + 2 * np.eye(2)
    s = a + a.T
    return (
        np.linalg.solve(a, x[:2]).sum()
        + np.linalg.inv(a)[0, 1]
        + np.linalg.det(a)
        + np.linalg.eigvalsh(s)[0]
        + np.linalg.norm(a)
        + np.linalg.svd(a)[1][0]
        + np.linalg.cholesky(s @ s)[1, 1]
        + np.linalg.lstsq(a, x[:2])[0][0]
    )

## polynomials
def f(x):
    p = np.poly1d(x)
    return p(0.5) * np.polyval(x, 2.0) + np.polynomial.Polynomial(x)(x[0]) + np.polyder(p)(1.5)

## interpolation
def f(x):
    return np.interp(0.9, [0.0, 0.5, 1.0, 2.0], x) * np.interp(
        x[0], [0.0, 0.5, 1.0, 2.0], [1.0, 3.0, 2.0, 5.0]
    )

## histogram_and_digitize
def f(x):
    h, edges = np.histogram(x, bins=3, range=(0.0, 2.0), weights=x)
    return h @ h + np.digitize(x, [0.5, 1.0]) @ x + np.bincount([0, 1, 1, 2], weights=x)[1] ** 2

## convolutions_and_differences
def f(x):
    return (
        np.convolve(x, [1.0, 0.5]) @ np.arange(5)
        + np.diff(x, 2).sum() * x[0]
        + np.gradient(x)[1]
        + np.trapezoid(x, dx=0.5)
    )

## einsum_tensordot_kron
def f(x):
    a = x.reshape(2, 2)
    return (
        np.einsum("ij,jk->", a, a)
        + np.tensordot(a, a, 2)
        + np.kron(x[:2], x[2:]).sum()
        + np.trace(np.outer(x, x))
        + np.cross([*x[:2], 1.0], [1.0, *x[2:]])[2]
    )

## reductions_of_ufuncs
def f(x):
    return (
        np.add.reduce(x) * np.multiply.reduce(x)
        + np.add.accumulate(x)[2]
        + np.multiply.outer(x, x)[0, 1]
        + np.add.reduceat(x, [0, 2])[1] ** 2
        + np.maximum.reduce(x)
    )

## add_at_with_repeated_indices
def f(x):
    y = np.zeros(3)
    np.add.at(y, [0, 1, 1, 0], x)
    z = np.zeros(3)
    z[[0, 1, 1, 0]] += x
    return y @ y + z @ z

## repeated_indices_take_the_last
def f(x):
    y = np.zeros(3)
    y[[0, 0, 2, 2]] = x
    return y[0] * y[2]

## sequence_of_slices
def f(x):
    y = np.zeros((3, 4))
    y[1:, ::2] = x[:2]
    y[..., -1] += x[0]
    y[:, [1, 3]] *= 2
    y[0][1] = x[2]
    y[np.newaxis, 2, 1] = x[3]
    return (y**2).sum()

## arrays_in_containers_are_aliases
def f(x):
    y = x * 1.0
    held = [y, (y[:2],), {"a": y[1:]}]
    held[2]["a"][0] = x[3] * x[0]
    held[1][0][0] *= 2
    held[0] += 1.0
    held[0] = held[0] * 2
    return y @ x + held[0].sum()

## argument_is_written
def g(a):
    a[0] = a[1] * 3
    a = a * 2
    a[1] = 100.0

def f(x):
    y = x * 1.0
    g(y)
    return y @ x

## own_subclass_of_ndarray (refused)
class Vector(np.ndarray):
    def __new__(cls, v):
        return np.asarray(v).view(cls)

    def norm(self):
        return np.sqrt((self * self).sum())

def f(x):
    v = Vector(x)
    return v.norm() * float(v[1:].norm()) + (v * 2).norm()

## linspace_arange_of_values
def f(x):
    return (
        np.linspace(x[0], x[1], 5).sum() * np.arange(x[0], x[0] + 2.5, 1.0).sum()
        + np.logspace(0, x[2], 3)[1]
        + np.full(2, x[3]).sum()
        + np.geomspace(x[0], x[2], 3)[1]
    )

## padding_and_rolling
def f(x):
    return (
        np.pad(x, 1, mode="edge") @ np.arange(6)
        + np.roll(x, 1) @ x
        + np.tile(x, 2)[5]
        + np.repeat(x, 2)[3]
        + np.delete(x, 1)[1] ** 2
        + np.insert(x, 1, x[3])[1]
    )

## block_and_meshgrid
def f(x):
    a, b = np.meshgrid(x, x[:2])
    return (
        (a * b).sum()
        + np.block([[x[:2], x[2:]], [x]]).sum() ** 2
        + np.c_[x, x][1, 1]
        + np.r_[x, 2.0, x[:1]][5]
    )
"""

LIBRARIES: Final = r"""
## quad_of_closure
def f(x):
    return scipy.integrate.quad(lambda t: math.sin(x[0] * t) * x[1], 0.0, 1.0)[0]

## quad_with_arguments
def g(t, a, b):
    return math.exp(-a * t) * b

def f(x):
    return scipy.integrate.quad(g, 0.0, x[2], args=(x[0], x[1]))[0]

## quad_of_method
class A:
    def __init__(self, x):
        self.x = x

    def density(self, t):
        return np.exp(-self.x[0] * t)

def f(x):
    return scipy.integrate.quad(A(x).density, 0.0, 1.0)[0] * x[1]

## brentq_of_closure
def f(x):
    return (
        scipy.optimize.brentq(lambda t: t**3 - x[0] - t * x[1] * 0.1, 0.0, 2.0, xtol=1e-14) * x[2]
    )

## root_scalar
def f(x):
    return scipy.optimize.root_scalar(
        lambda t: math.cos(t) - x[0] * t, x0=0.5, x1=0.8, xtol=1e-14
    ).root

## fsolve (refused eager)
def f(x):
    return scipy.optimize.fsolve(lambda t: t**3 - x[0], 1.0, xtol=1e-14)[0] * x[1]

## minimize (refused)
def f(x):
    return scipy.optimize.minimize(
        lambda t: (t[0] - x[0]) ** 2 + x[1], 0.0, jac=lambda t: 2 * (t - x[0]), tol=1e-12
    ).x[0]

## minimize_scalar (refused)
def f(x):
    return scipy.optimize.minimize_scalar(lambda t: math.cosh(t - x[0])).fun * x[1]

## solve_ivp
def f(x):
    s = scipy.integrate.solve_ivp(
        lambda t, y: -x[0] * y, (0.0, 1.0), [x[1]], rtol=1e-10, atol=1e-12
    )
    return s.y[0, -1]

## odeint (refused)
def f(x):
    return scipy.integrate.odeint(lambda y, t: -x[0] * y, x[1], [0.0, 1.0], rtol=1e-11, atol=1e-12)[
        -1, 0
    ]

## interp1d (refused)
def f(x):
    return float(scipy.interpolate.interp1d([0.0, 1.0, 2.0, 3.0], x)(1.5)) * x[0]

## cubic_spline (refused)
def f(x):
    return float(scipy.interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], x)(1.5))

## special_functions
def f(x):
    return (
        scipy.special.erf(x[0])
        + scipy.special.gammaln(x[1])
        + scipy.special.expit(x).sum()
        + scipy.special.logsumexp(x)
    )

## linear_algebra_of_scipy
def f(x):
    a = x.reshape(2, 2) + 2 * np.eye(2)
    return (
        scipy.linalg.expm(0.3 * a)[0, 1]
        + scipy.linalg.solve(a, x[:2])[0]
        + scipy.linalg.cholesky(a @ a.T)[0, 1] * x[2]
    )

## simpson_and_cumulative
def f(x):
    return scipy.integrate.simpson(x, dx=0.5) * scipy.integrate.cumulative_trapezoid(x)[1]

## infinite_data
SCALES = np.array([np.inf, 1.0, 0.0, 2.0])

def f(x):
    a, b, c = x * SCALES, x / SCALES, np.multiply(SCALES, x)
    b /= SCALES
    a[0], c[0] = 0.0, 0.0
    return np.exp(-a).sum() + b[[1, 3]].sum() + np.arctan(x / SCALES).sum() + c.sum()

## infinite_slopes_overwritten_by_a_mask
SCALES = np.array([[0.0, 1.0], [2.0, 3.0]])

def f(x):
    a, b = np.log(x.reshape(2, 2) * SCALES), np.sqrt(np.asfortranarray(x.reshape(2, 2)) * SCALES)
    c = np.log(x * SCALES.ravel())
    a[SCALES == 0] = 1.0
    b[np.array([0]), np.array([0])] = x[1]
    b[SCALES == 0] = x[2]
    np.copyto(c, 0.0, where=SCALES.ravel() == 0)
    norms = np.sqrt(c * c)
    units = c / norms
    units[norms == 0] = 1.0
    return a.sum() + b.sum() * c.sum() + units.sum()

## infinite_slopes_left_out_by_a_mask
SCALES = np.array([0.0, 1.0, 2.0, 3.0])

def f(x):
    a = np.log(x * SCALES)
    b = np.sqrt(np.outer(SCALES, x))
    return a[np.isfinite(a)].sum() * b[SCALES > 0].sum() + b[SCALES > 0, 1:].sum()

## properties_of_methods
class Getter:
    def __init__(self, fun):
        self.fun = fun

    def get(self, owner):
        return self.fun(owner)

class Point:
    def __init__(self, x):
        self.x = x

    sine = property(Getter(lambda self: math.sin(self.x)).get)
    scaled = property(functools.partial(lambda factor, self: math.exp(factor * self.x), 0.5))
    item = property(operator.attrgetter("x"))
    power = functools.partialmethod(lambda self, n: math.cos(self.x) ** n, 2)

def f(x):
    point = Point(x[0])
    return point.sine * x[1] + point.scaled + point.item * x[2] + point.power()

## methods_of_numbers
def f(x):
    a, b = float(x[0]), float(x[1])
    return (
        float.__mul__(a, 2.0) * float.__rsub__(b, 3.0) + (2.0).__pow__(a) + float.__neg__(b)
        + functools.reduce(float.__add__, [a, b, a]) + complex.__mul__(2j, a).imag
        + (x[2] if int.__mul__(3, b) is NotImplemented else 0.0) + float.__divmod__(b, 0.4)[1]
    )

## results_of_decompositions_written
def f(x):
    values, vectors = np.linalg.eigh(np.array([[2.0, 1.0], [1.0, 3.0]]))
    vectors *= x[0]
    values[0] = x[1]
    return np.abs(vectors).sum() * values.sum()

## array_method
def f(x):
    return (x * x).__array__().sum() + (x + 1.0).__array__(float)[1]

## bare_except
def f(x):
    try:
        if x[0] > 0.5:
            return x[0] * x[1]
    except:
        raise ValueError("nothing was wrong")
    return x[0] * x[2]

## objects_as_functions_of_scipy
class Cubic:
    def __call__(self, y, a):
        return y**3 - a

def f(x):
    return (
        scipy.optimize.brentq(Cubic(), 0.0, 5.0, args=(x[0],))
        + scipy.integrate.quad(functools.lru_cache(lambda y, a: y * a), 0.0, 1.0, args=(x[1],))[0]
    )

## array_held_by_a_compiled_object (refused)
class Model:
    def __init__(self):
        self.state = np.zeros(4)
        self.reader = memoryview(self.state)

MODEL = Model()

def f(x):
    MODEL.state[:] = x * x
    return sum(MODEL.reader) * x[0]
"""


@dataclass(frozen=True)
class Misleading:
    """A program and what must hold of it."""

    name: str
    text: str
    may_be_refused: bool
    is_made: bool
    is_eager: bool

    def __str__(self) -> str:
        return self.name


def sections(text: str) -> Iterator[Misleading]:
    """Yield the programs of a text."""
    for section in text.split("\n## ")[1:]:
        head, _, body = section.partition("\n")
        name, _, marks = head.partition(" ")
        yield Misleading(name, body, "refused" in marks, "make" in marks, "eager" in marks)


#: All programs.
PROGRAMS: Final = tuple(
    program
    for text in (ARITHMETIC, TEXT, STATE, FLOW, OBJECTS, ARRAYS, LIBRARIES)
    for program in sections(text)
)

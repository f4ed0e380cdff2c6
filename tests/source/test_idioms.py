"""Idioms of programs: searches, tables, functions of functions, containers of containers."""

import cmath
import contextlib
import dataclasses
import functools
import itertools
import math
import operator
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
from semantics import F, Function, check

PROGRAMS: list[Any] = []


def program(fun: F) -> F:
    PROGRAMS.append(pytest.param(fun, id=fun.__name__))
    return fun


@program
def none_or_float(x: Any) -> Any:
    best = None
    for v in (x, 2 * x, 0.1):
        if best is None or v > best:
            best = v
    return best


@program
def float_or_array(x: Any) -> Any:
    y = x
    for k in range(3):
        y = y * np.ones(2) if k == 1 else y + x
    return y.sum() if hasattr(y, "sum") else y


@program
def int_start(x: Any) -> Any:
    t = 0
    for i in range(3):
        t += x * i
    return t


@program
def int_never(x: Any) -> Any:
    t = 0
    for i in range(0):
        t += x * i
    return t + x


@program
def bool_times(x: Any) -> Any:
    b = x > 0.5
    return b * x + (1 - b) * x * x


@program
def int_pow(x: Any) -> Any:
    return 2**x + x**2 + (-x) ** 3 + x ** (-1) + x**0 + 2**3 * x


@program
def pow_of_zero(x: Any) -> Any:
    y = x - 0.7
    return y**2 + y**1 + x


@program
def abs_zero(x: Any) -> Any:
    return abs(x - 0.7 + 1e-09) * 0 + x


@program
def tuple_of_fn_results(x: Any) -> Any:

    def f(a: Any) -> Any:
        return (a, a * a, [a, {"k": a}])

    p, q, (r, d) = f(x)
    return p * q * r * d["k"]


@program
def ignored_results(x: Any) -> Any:

    def f(a: Any) -> Any:
        return (a, a * a)

    _, b = f(x)
    f(b)
    return b


@program
def unused_call(x: Any) -> Any:
    math.sin(x)
    [x, x]  # noqa: B018
    x * x
    return x


@program
def nested_closure_counter(x: Any) -> Any:

    def make(a: Any) -> Any:

        def inner(b: Any) -> Any:

            def innermost(c: Any) -> Any:
                return a * b * c * x

            return innermost

        return inner

    return make(x)(2.0)(x)


@program
def closure_captures_loop_result(x: Any) -> Any:
    t = x
    for i in range(3):  # noqa: B007
        t = t * x
    f: Any = lambda y: y * t  # noqa: E731
    return f(x)


@program
def closure_in_loop_called(x: Any) -> Any:
    t = 0.0
    for i in range(3):
        f: Any = lambda y, i=i: y * i  # noqa: E731
        t += f(x)
    return t


@program
def function_in_branch(x: Any) -> Any:
    f = math.sin if x > 0 else math.cos
    return f(x) * x


@program
def functions_in_list(x: Any) -> Any:
    t = x
    functions: list[Any] = [math.sin, lambda v: v * x, abs, functools.partial(operator.mul, 2.0)]
    for f in functions:
        t = f(t) + x
    return t


@program
def dict_iteration(x: Any) -> Any:
    d = {"a": x, "b": x * x}
    t = 0.0
    for k in d:  # noqa: PLC0206
        t += d[k]
    for k, v in d.items():
        t += v * len(k)
    for v in d.values():
        t *= v
    return t


@program
def dict_merge(x: Any) -> Any:
    a = {"p": x, "q": 1.0}
    b = {**a, "q": x * x}
    c = a | b
    return c["p"] * c["q"] + a["q"] * x


@program
def dict_nested_update(x: Any) -> Any:
    d = {"w": {"a": x}}
    d = {**d, "w": {**d["w"], "b": x * x}}
    return sum(d["w"].values())


@program
def list_slices(x: Any) -> Any:
    xs = [x * k for k in range(6)]
    return sum(xs[::2]) + sum(xs[-2:]) * xs[1] + len(xs[3:]) * x


@program
def list_neg_index(x: Any) -> Any:
    xs = [x, 2.0, x * x]
    return xs[-1] * xs[-3]


@program
def list_reverse_slice(x: Any) -> Any:
    xs = [x, 2.0, x * x]
    return sum((a * b for a, b in zip(xs, xs[::-1], strict=False)))


@program
def list_mult(x: Any) -> Any:
    return sum([x, 1.0] * 3) + sum(2 * [x])


@program
def list_compare(x: Any) -> Any:
    return x if [x, 1.0] == [x, 1.0] else -x


@program
def tuple_compare(x: Any) -> Any:
    return max((x, 1), (0.5, 2))[0] * x


@program
def tuple_sort(x: Any) -> Any:
    return sorted([(x, 1.0), (0.5, x), (2 * x, 3.0)])[0][1] * x  # noqa: FURB192


@program
def nested_list_flatten(x: Any) -> Any:
    rows = [[x, 1.0], [2.0, x * x]]
    return sum([v for row in rows for v in row if v > 0.6])


@program
def zip_star(x: Any) -> Any:
    rows = [(x, 1.0), (2.0, x * x)]
    a, b = zip(*rows, strict=False)
    return a[0] * b[1] + sum(a)


@program
def zip_count(x: Any) -> Any:
    return sum((a * b for a, b in zip((x, x * x), itertools.count(1), strict=False)))


@program
def matrix_transpose_zip(x: Any) -> Any:
    m = [[x, 1.0], [2.0, x]]
    t = [list(c) for c in zip(*m, strict=False)]
    return t[0][1] * t[1][1] + t[0][0]


@program
def enumerate_unpack_nested(x: Any) -> Any:
    t = 0.0
    for i, (a, b) in enumerate(zip([x, 2.0], [1.0, x], strict=False)):
        t += i * a * b + a
    return t


@program
def accumulate_fn(x: Any) -> Any:
    return sum(itertools.accumulate([x, 2.0, x], lambda a, b: a * b + x))


@program
def chain_iter(x: Any) -> Any:
    t = 0.0
    for v in itertools.chain([x], (2 * x,), [k * x for k in range(2)]):
        t += v * v
    return t


@program
def combos(x: Any) -> Any:
    return sum((a * b for a, b in itertools.combinations([x, 2.0, x * x], 2)))


@program
def product_active(x: Any) -> Any:
    return sum((a * b for a, b in itertools.product([x, 1.0], [2.0, x])))


@program
def product_repeated(x: Any) -> Any:
    return sum((a * b for a, b in itertools.product([x, 1.0], repeat=2)))


@program
def starmap_(x: Any) -> Any:
    return sum(itertools.starmap(lambda a, b: a * b, [(x, 2.0), (x, x)]))


@program
def early_exit_nested_fn(x: Any) -> Any:

    def first(xs: Any) -> Any:
        for v in xs:
            if v > 0.6:
                return v * x
        return 0.0

    return first([0.1, x, 5.0]) + first([0.1])


@program
def try_return_value(x: Any) -> Any:

    def f(y: Any) -> Any:
        try:
            if y > 0.5:
                return y * y
            y = y + 1
        finally:
            y = 0.0
        return y * 2 + x

    return f(x) + f(0.2 * x)


@program
def with_break(x: Any) -> Any:
    for k in range(3):
        with np.errstate(all="ignore"):
            if k == 1:
                break
            x = x * x
    return x


@program
def while_cond_fn(x: Any) -> Any:

    def big(v: Any) -> Any:
        return v > 0.1

    n = 0
    while big(x) and n < 3:
        x = x * 0.5
        n += 1
    return x * n


@program
def while_walrus(x: Any) -> Any:
    t = 0.0
    while (x := (x * 0.5)) > 0.05:
        t += x
    return t


@program
def cond_expr_nested(x: Any) -> Any:
    return x if x > 2 else x * 2 if x > 1 else x * 3 if x > 0.5 else x * 4


@program
def chained_cmp_sides(x: Any) -> Any:
    return (x if 0 < x < 1 else 0.0) + (x * 2 if 1 > x > 0.9 else x * 3)


@program
def not_in(x: Any) -> Any:
    return x if "a" not in {"b": 1} and 3 in (1, 2, 3) else 0.0


@program
def is_none_default(x: Any, y: Any = None) -> Any:
    if y is None:
        y = x * 2
    return x * y


@program
def kwargs_default_override(x: Any) -> Any:

    def f(a: Any, b: Any = 2.0, *, c: Any = 3.0) -> Any:
        return a * b * c

    return f(x) + f(x, c=x) + f(b=x, a=2.0) + f(*(x,), c=x)


@program
def varargs_forward(x: Any) -> Any:

    def g(*args: Any, **kw: Any) -> Any:
        return f(*args, **kw)

    def f(a: Any, b: Any, c: Any = 1.0) -> Any:
        return a * b + c

    return g(x, 2.0, c=x)


@program
def global_function_default(x: Any) -> Any:
    return gdef(x) + gdef(x, 3.0)


def gdef(x: Any, k: Any = 2.0) -> Any:
    return x * k


@program
def recursion_two(x: Any) -> Any:

    def collatz(n: Any, v: Any) -> Any:
        return v if n == 1 else collatz(n // 2 if n % 2 == 0 else 3 * n + 1, v * 1.01 + 0.01 * x)

    return collatz(7, x)


@program
def mutual_default(x: Any) -> Any:

    def a(n: Any, k: Any = x) -> Any:
        return k if n == 0 else b(n - 1) * x

    def b(n: Any, k: Any = 2.0) -> Any:
        return k * x if n == 0 else a(n - 1) + x

    return a(3) + b(2)


@program
def attributes_of_literals(x: Any) -> Any:
    n = (5).bit_length() + (7).real + (-3).real
    return x**n * (2).numerator + (1.5).real * x


@program
def complex_numbers(x: Any) -> Any:
    z = complex(x, 2.0) * (1 + 1j) / (x - 1j)
    w = z**2 + abs(z)
    return w.real * w.imag + abs(w)


@program
def string_building(x: Any) -> Any:
    s = ""
    for k in range(3):
        s += str(k)
        s = f"{s}-{k:02d}"
    return x * len(s) if s.startswith("0") else 0.0


@program
def sets_of_ints(x: Any) -> Any:
    seen = {1, 2}
    t = 0.0
    for k in [1, 3, 2, 5]:
        if k in seen:
            continue
        seen = seen | {k}
        t += x * k
    return t * len(seen)


@program
def frozen_visit(x: Any) -> Any:
    visited: frozenset[int] = frozenset()
    t = x
    while len(visited) < 3:
        visited = visited | {len(visited)}
        t = t * x
    return t


@program
def graph_dfs(x: Any) -> Any:
    graph = {0: [1, 2], 1: [3], 2: [3], 3: []}

    def weigh(n: Any, path: Any) -> Any:
        if n in path:
            return 0.0
        return x**n + sum([weigh(m, [*path, n]) for m in graph[n]]) * 0.5

    return weigh(0, [])


@program
def queue_bfs(x: Any) -> Any:
    queue, t, seen = ([0], 0.0, [0])
    while queue:
        n, *queue = queue
        t += x * (n + 1)
        for m in [1, 2] if n == 0 else [3] if n < 3 else []:
            if m not in seen:
                seen = [*seen, m]
                queue = [*queue, m]
    return t


@program
def memo_passed(x: Any) -> Any:

    def fib(n: Any, memo: Any) -> Any:
        if n in memo:
            return (memo[n], memo)
        a, memo = fib(n - 1, memo)
        b, memo = fib(n - 2, memo)
        return (a + b * x, {**memo, n: a + b * x})

    return fib(7, {0: x, 1: 1.0})[0]


@program
def assert_in_loop(x: Any) -> Any:
    for k in range(3):  # noqa: B007
        assert x > -1, "negative"
        x = x * 0.9
    return x


@program
def raise_caught_outside(x: Any) -> Any:

    def check(v: Any) -> Any:
        if v < 0:
            raise ValueError(f"{v} is negative")
        return math.sqrt(v)

    return check(x) * check(x * x)


@program
def lambda_star(x: Any) -> Any:
    f: Any = lambda *a, **k: sum(a) * k.get("s", 1.0)  # noqa: E731
    return f(x, 2.0, s=x) + f(x)


@program
def starred_display(x: Any) -> Any:
    a = [x, 2.0]
    return sum([*a, *[v * x for v in a], 1.0]) + sum((*a, x))


@program
def deep_unpack(x: Any) -> Any:
    [a, *[b, c]], d = ([x, 2.0, 3.0], x)
    return a * b * c * d


@program
def slice_object(x: Any) -> Any:
    s = slice(0, 2)
    return sum([x, x * x, 3.0][s])


@program
def global_tuple(x: Any) -> Any:
    return sum((c * x**i for i, c in enumerate(COEFFS)))


COEFFS = (1.0, 2.0, 3.0)


@program
def math_misc(x: Any) -> Any:
    return (
        math.dist([x, 1.0], [2.0, x])
        + math.hypot(x, 1.0, 2.0)
        + math.copysign(x, -1.0)
        + math.cbrt(x)
        + math.exp2(x)
        + math.erf(x)
        + math.degrees(x)
        + math.fmod(5.0, x)
        + math.ldexp(x, 2)
        + math.log(x, 2.0)  # noqa: FURB163
        + math.pow(x, 1.5)
        + math.modf(x)[0]
    )


@program
def builtin_misc(x: Any) -> Any:
    return (
        pow(x, 2)
        + divmod(5.0, x)[1]
        + round(3.7) * x
        + sum([x], 1.0)
        + max(x, 1, key=lambda v: -v)
        + min([x, 3.0], key=lambda v: v)
        + abs(-x)
    )


@program
def all_any_gen(x: Any) -> Any:
    return x if all(v > 0 for v in [x, 1.0]) and any(v > 0.5 for v in [x]) else -x


@program
def sum_gen_nested(x: Any) -> Any:
    return sum(x * i * j for i in range(3) for j in range(i) if (i + j) % 2)


@program
def dict_gen(x: Any) -> Any:
    d = dict((k, x * k) for k in range(3))  # noqa: C402
    e = dict(zip("ab", [x, x * x], strict=False))
    return sum(d.values()) * e["b"] + dict(a=x)["a"]  # noqa: C408


@program
def set_comp(x: Any) -> Any:
    return len({k % 2 for k in range(5)}) * x


@program
def nested_fn_shadow(x: Any) -> Any:

    def f(x: Any) -> Any:
        return x * 2

    return f(x * x) + x


@program
def param_reassign_closure(x: Any) -> Any:
    y = x * 2

    def f() -> Any:
        return y

    return f() * x


@program
def loop_over_string(x: Any) -> Any:
    t = 0.0
    for c in "abc":
        t = t * x + ord(c) % 5
    return t


@program
def bit_ops(x: Any) -> Any:
    return x * (5 & 3 | 8 ^ 2) + x * (1 << 3) + x * ~2


@program
def floor_mod_neg(x: Any) -> Any:
    return -7 // 2 * x + -7 % 3 * x + x * 10 % 3 + -x % 1.0


@program
def special_numbers(x: Any) -> Any:
    m, e = math.frexp(x)
    return math.gamma(x) * math.lgamma(x + 1) + math.ldexp(m * m, e) + math.nextafter(x, 1.0) * 2


@program
def polar_numbers(x: Any) -> Any:
    z = complex(x, 2 * x).conjugate()
    r, phi = cmath.polar(z * 1j)
    turned = cmath.rect(r, cmath.phase(z) * phi) + cmath.sqrt(-x) * cmath.exp(1j)
    return turned.real * turned.imag + x.conjugate() + cmath.log(x - 3).real


@program
def getters(x: Any) -> Any:
    values = types.SimpleNamespace(a=types.SimpleNamespace(b=x), c=2 * x)
    a, c = operator.attrgetter("a.b", "c")(values)
    d = {"a": a, "b": c}
    first = operator.itemgetter(1)([x, x * a]) + sum(operator.itemgetter("a", "b")(d))
    return first * operator.methodcaller("get", "b", 0.0)(d) * operator.attrgetter("real")(x)


@program
def functions_of_operators(x: Any) -> Any:
    in_place: Any = operator
    total = in_place.iadd(operator.abs(-x), in_place.imul(x, 2.0))
    joined = operator.concat([x], [2 * x])
    found = operator.indexOf(joined, x) + operator.countOf(joined, x) + operator.truth(x)
    return total * found + operator.call(math.sin, x) + operator.call(lambda v: v * v, joined[1])


@program
def iterators(x: Any) -> Any:
    values = [0.1, x, 2 * x, 3.0]
    total = sum(itertools.islice(values, 1, None, 2)) + sum(itertools.islice(values, 2))
    total += sum(itertools.takewhile(lambda v: v < 1, values)) * x
    total += sum(itertools.dropwhile(lambda v: v < 1, values)) * x
    total += sum(itertools.filterfalse(lambda v: v < 1, values))
    total += sum(itertools.compress(values, [1, 0, x > 0, 0]))
    total += sum(a * b for a, b in itertools.zip_longest(values, [x], fillvalue=x))
    total += sum(a * a * b for a, b in itertools.permutations(values, 2))
    total += sum(a * a * b for a, b in itertools.combinations_with_replacement(values, 2))
    total += sum(k * sum(v) for k, v in itertools.groupby(values, key=lambda v: v > 1))
    total += sum(a * b for a, b in zip(*itertools.tee(values), strict=True))
    total += sum(itertools.repeat(x, 3)) + sum(itertools.chain.from_iterable([[x], values]))
    return total + dict.fromkeys("ab", x)["b"]


def twice(fun: Any) -> Any:
    @functools.wraps(fun)
    def called(*args: Any) -> Any:
        return 2 * fun(*args)

    return called


@dataclasses.dataclass
class Two:
    a: Any
    b: Any = 2.0


@program
def helpers_of_the_library(x: Any) -> Any:
    @twice
    def square(v: Any) -> Any:
        return v * v * x

    record = dataclasses.replace(Two([x, Two(x)]), b=x)
    inner = dataclasses.asdict(record)["a"][1]["a"] * dataclasses.astuple(record)[1]
    with contextlib.nullcontext(2 * x) as y, contextlib.nullcontext():
        cached = functools.lru_cache(lambda v: v * v)(y)
    pair = Pair._make([x, y])._asdict()
    return square(x) + inner + cached + pair["a"] * pair["b"]


class Pair(NamedTuple):
    a: Any
    b: Any


@pytest.mark.parametrize("fun", PROGRAMS)
def test_it_means_what_it_means_in_python(fun: Function) -> None:
    check(fun)

"""The meaning of programs: scopes, order of evaluation, ways out, containers, as in Python.

Each program is run, evaluated and differentiated: the value is Python's, the gradient that of
differences.
"""

import itertools
import math
from typing import Any

import pytest
from semantics import F, Function, check

PROGRAMS: list[Any] = []


def program(fun: F) -> F:
    PROGRAMS.append(pytest.param(fun, id=fun.__name__))
    return fun


@program
def alias_list(x: Any) -> Any:
    a = [x, x]
    b = a
    b = b + [x]  # noqa: RUF005
    return len(a) * x + len(b)


@program
def closure_default_loop(x: Any) -> Any:
    fs: list[Any] = [lambda y, i=i: y * i * x for i in range(3)]
    return sum(f(x) for f in fs)


@program
def loop_variable_after(x: Any) -> Any:
    y = 0.0
    for i in range(3):
        y = x * i
    return i * y


@program
def loop_variable_empty(x: Any) -> Any:
    i = 7
    for i in range(0):  # noqa: B007
        pass
    return i * x


@program
def loop_var_reassigned(x: Any) -> Any:
    t = 0.0
    for i in range(3):
        t += i * x
        i = 10
        t += i * x
    return t


@program
def shadow_comprehension(x: Any) -> Any:
    i = x
    ys = [i * x for i in range(3)]
    return sum(ys) * i


@program
def walrus_in_comprehension(x: Any) -> Any:
    ys = [(z := (k * x)) for k in range(3)]
    return sum(ys) * z


@program
def chained_assignment(x: Any) -> Any:
    a = b = c = x * x
    a = a + 1
    return a * b + c


@program
def evaluation_order(x: Any) -> Any:
    def f(v: Any) -> Any:
        return v * x

    return f(1) - f(2) * f(3)


@program
def tuple_assign_order(x: Any) -> Any:
    a, b = (x, 2.0)
    a, b = (b, a)
    a, c = (a + b, a)
    return a * c - b


@program
def aug_order(x: Any) -> Any:
    a = x
    a += (a := (a * 2))
    return a


@program
def integer_division(x: Any) -> Any:
    n = 7 // 2 + int(x * 10) // 3
    return n * x + -7 // 2 * x


@program
def float_floor(x: Any) -> Any:
    return x * 7 // 2 * x + x


@program
def finally_with_return(x: Any) -> Any:
    for i in range(3):
        try:
            if i == 1:
                return x * i
        finally:
            x = x + 1
    return x


@program
def finally_overrides(x: Any) -> Any:
    try:
        return x
    finally:
        return x * x  # noqa: B012, SIM107


@program
def finally_break(x: Any) -> Any:
    y = x
    for i in range(5):
        try:
            y = y * x
            if i == 2:
                break
            continue
        finally:
            y = y + i * x
    return y


@program
def is_none(x: Any) -> Any:
    y = None
    for k in range(3):
        if y is None:
            y = x
        elif y is not None and k == 2:
            y = y * x
    return y


@program
def early_return_in_if(x: Any) -> Any:
    if x > 0:
        if x > 10:
            return x
        x = x * 2
    else:
        return -x
    return x * x


@program
def nested_function_assigned_name(x: Any) -> Any:

    def f() -> Any:
        return 2 * x

    x2 = f()
    return x2 * x


@program
def recursion_named(x: Any) -> Any:

    def f(n: Any) -> Any:
        return x if n == 0 else x * f(n - 1)

    g = f
    return g(3)


@program
def rounding(x: Any) -> Any:
    return round(x, 2) * x


@program
def bool_arith(x: Any) -> Any:
    return (x > 0.1) * x + True * x


@program
def not_value(x: Any) -> Any:
    return (not x) * 3.0 + x


@program
def and_value(x: Any) -> Any:
    return (x and x * 2) + (0.0 and x) + (x or 3.0)  # noqa: SIM223


@program
def list_multiplication(x: Any) -> Any:
    rows = [[x] * 2] * 2
    return sum(sum(r) for r in rows)


@program
def nested_comprehension_scope(x: Any) -> Any:
    return sum([sum([j * x for j in range(i)]) for i in range(4)])


@program
def comprehension_cond(x: Any) -> Any:
    return sum([v for v in [x, -x, 2 * x] if v > 0])


@program
def generator_sum(x: Any) -> Any:
    return sum(v * v for v in (x, 2 * x))


@program
def dict_order(x: Any) -> Any:
    d = {"a": x, "b": 2 * x, "a": 3 * x}  # noqa: F601
    return d["a"] * 10 + d["b"]


@program
def dict_comp(x: Any) -> Any:
    d = {k % 2: x * k for k in range(4)}
    return d[0] * d[1]


@program
def dict_method(x: Any) -> Any:
    d = {"a": x}
    return d.get("b", x * x) + d.get("a") + len(d) * x


@program
def list_index(x: Any) -> Any:
    xs = [0.1, x, 0.9]
    return xs.index(x) * x


@program
def tuple_plus(x: Any) -> Any:
    xs: Any = (x,)
    ys = xs
    xs += (x * x,)
    return sum(ys) + sum(xs)


@program
def dict_items_changed(x: Any) -> Any:
    d = {"a": x}
    return sum((v for k, v in d.items()))


@program
def star_unpack(x: Any) -> Any:
    a, *b = [x, x * 2, x * 3]
    (c, d), e = (b, a)
    return c * d - e


@program
def star_call(x: Any) -> Any:

    def f(a: Any, b: Any, *c: Any, d: Any = 1.0, **e: Any) -> Any:
        return a * b + sum(c) * d + sum(e.values())

    return f(*[x, 2.0], *(x, x), d=x, z=x)


@program
def conditional_def(x: Any) -> Any:
    if x > 0:

        def f(y: Any) -> Any:
            return y * x
    else:

        def f(y: Any) -> Any:
            return -y

    return f(x)


@program
def lambda_default_mutable(x: Any) -> Any:
    f: Any = lambda y, k=[x]: y * k[0]  # noqa: E731
    return f(2.0)


@program
def try_else(x: Any) -> Any:
    try:
        y = x * 2
    finally:
        z = x
    return y * z


@program
def raise_in_branch(x: Any) -> Any:
    if x < -5:
        raise ValueError("no")
    return x * x


@program
def assert_walrus(x: Any) -> Any:
    assert (y := (x * 2)) > -100  # noqa: RUF018
    return y * x


@program
def comparison_chain_once(x: Any) -> Any:
    c = [0]  # noqa: F841

    def f() -> Any:
        return x * 2

    return x if 0 < f() < 5 else -x


@program
def int_aug(x: Any) -> Any:
    n = 3
    m = n
    n *= 2
    return n * m * x


@program
def set_usage(x: Any) -> Any:
    s = {1, 2}
    return len(s) * x


@program
def itertools_chain(x: Any) -> Any:
    return sum(itertools.chain([x], [2 * x]))


@program
def itertools_product(x: Any) -> Any:
    t = 0.0
    for i, j in itertools.product(range(2), range(3)):
        t += i * j * x
    return t


@program
def itertools_accumulate(x: Any) -> Any:
    return sum(itertools.accumulate([x, 2 * x, 3 * x]))


@program
def itertools_pairwise(x: Any) -> Any:
    return sum((a * b for a, b in itertools.pairwise([x, 2 * x, 3 * x])))


@program
def isinstance_branch(x: Any) -> Any:
    return x * 2 if isinstance(x, float) else x


@program
def complex_fn(x: Any) -> Any:
    z = complex(x, 1.0)
    return abs(z * z)


@program
def is_integer(x: Any) -> Any:
    return x * 2 if not x.is_integer() else x


@program
def sum_start(x: Any) -> Any:
    return sum([x, x], start=x)


@program
def min_key(x: Any) -> Any:
    return min([x, -2 * x, 0.1], key=lambda v: abs(v - 0.2))


@program
def max_default_nonempty(x: Any) -> Any:
    return max([x, 0.1], default=x * x)


@program
def sorted_key(x: Any) -> Any:
    return sorted([x, -2 * x, 0.1], key=abs)[1]


@program
def any_all(x: Any) -> Any:
    return x if any(v > 0 for v in [x, -x]) and all([x > 0, True]) else -x


@program
def range_neg(x: Any) -> Any:
    return sum(i * x for i in range(5, 0, -2))


@program
def enumerate_start(x: Any) -> Any:
    return sum((i * v for i, v in enumerate([x, x * x], 5))) + sum(
        (i * v for i, v in enumerate([x], start=2))
    )


@program
def nested_loops_else(x: Any) -> Any:
    for i in range(3):
        for j in range(3):
            if i * j == 2:
                break
        else:
            continue
        x = x * (i + j)
        break
    else:
        x = 0.0
    return x


@program
def math_sumprod(x: Any) -> Any:
    return math.hypot(x, 1.0, x)


@program
def multiple_targets(x: Any) -> Any:
    a, (b, c) = d = (x, (2.0, x))
    return a * c + d[0] * b


@program
def nested_tuple_loop(x: Any) -> Any:
    t = 0.0
    for i, (a, [b, c]) in enumerate([(x, [1.0, x]), (2.0, [x, x])]):
        t += i * a * b * c
    return t


@program
def shadow_builtin(x: Any) -> Any:
    sum: Any = lambda v: v * 2  # noqa: E731
    return sum(x)


@program
def shadow_param(x: Any) -> Any:
    x = x * 2
    x = x * x
    return x


@program
def global_shadow(x: Any) -> Any:
    math = 3.0
    return math * x


@program
def lambda_immediately(x: Any) -> Any:
    return (lambda v: v * x)(2.0)  # noqa: PLC3002


@program
def nested_lambda(x: Any) -> Any:
    return (lambda a: lambda b: a * b)(x)(x)  # noqa: PLC3002


@program
def recursion_default(x: Any, n: Any = 3) -> Any:
    return x if n == 0 else x * recursion_default(x, n - 1)


@program
def keyword_only_recursion(x: Any, *, n: Any = 2) -> Any:
    return x if n == 0 else x + keyword_only_recursion(x * x, n=n - 1)


@program
def positional_only(x: Any, /, y: Any = 2.0) -> Any:
    return x * y


@pytest.mark.parametrize("fun", PROGRAMS)
def test_it_means_what_it_means_in_python(fun: Function) -> None:
    check(fun)

"""The programs of a tutorial on differentiating source code, from Julia to Python.

Its listings are compared as they stand there, but for names: Python's `range` and an index take
the place of Julia's `1:10` and `iterate`.
"""

import linecache
import operator
import re
from collections.abc import Callable
from typing import Any

import attrs
import jax
import numpy as np

import tinyjax
from tinyjax import source
from tinyjax.source.adjoint.cotangents import accumulate
from tinyjax.source.ir.assembly import renumbered, verify
from tinyjax.source.ir.program import Call, Constant, Statement, Variable


def bar(x: Any) -> Any:
    return x * 2.0 + 1.0


def baz(x: Any) -> Any:
    return x * x


def foo(x: Any) -> Any:
    a = baz(x)
    b = bar(a)
    return b


def branch(x: Any) -> Any:
    if x > 1:
        return bar(x)
    else:
        return baz(x)


def loop(x: Any) -> Any:
    for x in range(1, 11):  # noqa: PLR1704
        bar(x)
    return baz(x)


def repeated(x: Any) -> Any:
    for _ in range(10):
        x = bar(x)
    return baz(x)


def product_trace(A: Any, B: Any) -> Any:
    return np.trace(A @ B)


def listing(fun: Callable[..., Any]) -> list[str]:
    return [line.strip() for line in str(source.ir_of(fun)).splitlines()]


def slope(fun: Callable[[Any], Any], x: float, step: float = 1e-6) -> float:
    return float((fun(x + step) - fun(x - step)) / (2 * step))


def test_the_listing_of_two_calls() -> None:
    assert listing(foo) == ["1: (%1, %2)", "%3 = (baz)(%2)", "%4 = (bar)(%3)", "return %4"]


def test_the_listing_of_a_branch() -> None:
    assert listing(branch) == [
        "1: (%1, %2)",
        "%3 = %2 > 1",
        "br 3 unless %3",
        "2:",
        "%4 = (bar)(%2)",
        "return %4",
        "3:",
        "%5 = (baz)(%2)",
        "return %5",
    ]


def test_the_listing_of_a_loop() -> None:
    found = listing(repeated)
    head = found.index("2: (%5, %6)")
    assert found[0] == "1: (%1, %2)"
    assert found[1:head] == ["%3 = (range)(10)", "%4 = (items_of)(%3)", "br 2 (0, %2)"]
    assert found[head + 1 : head + 4] == ["%7 = (len)(%4)", "%8 = %5 < %7", "br 4 unless %8"]
    assert found[-2:] == ["%12 = (baz)(%6)", "return %12"]
    assert "%10 = (bar)(%6)" in found
    assert "br 2 (%11, %10)" in found


def test_a_statement_of_a_program() -> None:
    first = source.ir_of(foo).blocks[0].statements[0]
    assert (repr(first.variable), first.variable.name) == ("%3", "a")
    assert isinstance(first.call.function, Constant)
    assert first.call.function.value is baz
    assert [repr(arg) for arg in first.call.args] == ["%2"]
    assert linecache.getline(__file__, first.line).strip() == "a = baz(x)"


def test_statements_are_added_to_a_program() -> None:
    """At the end, before the first, and after it: each is a program of its own."""
    ir = source.ir_of(foo)
    (block,) = ir.blocks
    one = Constant(1, "1")
    sum_ = Call(Constant(operator.add, "operator.add"), (one, one))
    added = Statement(Variable(0), sum_)
    for place, line in ((2, "%5 = 1 + 1"), (0, "%3 = 1 + 1"), (1, "%4 = 1 + 1")):
        statements = (*block.statements[:place], added, *block.statements[place:])
        changed = renumbered((attrs.evolve(block, statements=statements),))
        longer = verify(attrs.evolve(ir, blocks=changed))
        assert str(longer).splitlines()[place + 1].strip() == line
        assert source.evaluate(longer, 3.0) == foo(3.0)


def test_cotangents_are_accumulated() -> None:
    assert accumulate(None, 2.0) == accumulate(2.0, None) == 2.0
    assert accumulate(None, None) is None
    assert accumulate((1.0, None), (2.0, 3.0)) == (3.0, 3.0)
    np.testing.assert_array_equal(accumulate(np.ones(2), np.ones(2)), [2.0, 2.0])


def test_forward_of_the_functions_that_are_known() -> None:
    value, pullback = source.forward(operator.mul, 2.0, 3.0)
    assert (value, pullback(10.0)) == (6.0, (None, 30.0, 20.0))
    A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    ct = np.ones((2, 4))
    product, pullback = source.forward(operator.matmul, A, B)
    np.testing.assert_array_equal(product, A @ B)
    of_function, of_A, of_B = pullback(ct)
    assert of_function is None
    np.testing.assert_array_equal(of_A, ct @ B.T)
    np.testing.assert_array_equal(of_B, A.T @ ct)
    value, pullback = source.forward(np.trace, np.ones((3, 3)))
    assert value == 3.0
    np.testing.assert_array_equal(pullback(2.0)[1], 2 * np.eye(3))


def test_the_programs_are_evaluated() -> None:
    for fun in (foo, branch, loop, repeated):
        for x in (0.5, 1.5):
            assert source.evaluate(source.ir_of(fun), x) == fun(x)


def test_a_call_becomes_a_call_with_its_pullback() -> None:
    text = source.adjoint_source(foo)
    forward = text[text.index("def forward_of_foo") :]
    assert re.search(r"= pull\(baz, x\)\n", forward)
    assert re.search(r"= pull\(bar, a\)\n", forward)
    assert forward.index("pull(baz") < forward.index("pull(bar")


def test_the_pullback_calls_pullbacks_in_reverse() -> None:
    text = source.adjoint_source(foo)
    backward = text[text.index("def pullback_of_foo") : text.index("def forward_of_foo")]
    assert backward.index("back_of_b,") < backward.index("back_of_a,") or (
        backward.index("pull_back(back_of_b") < backward.index("pull_back(back_of_a")
    )


def test_the_value_and_the_pullback() -> None:
    value, pullback = source.forward(foo, 3.0)
    assert value == 19.0
    assert pullback(1.0) == (None, 12.0)


def test_gradients_of_branches_and_loops() -> None:
    for x in (0.5, 1.5):
        assert source.grad(branch)(x) == (2.0 if x > 1 else 2 * x)
        assert source.grad(loop)(x) == 0.0
        np.testing.assert_allclose(source.grad(repeated)(x), slope(repeated, x), rtol=1e-7)
        with tinyjax.default_dtypes("float64"):
            traced = tinyjax.grad(repeated)(x)
        np.testing.assert_allclose(source.grad(repeated)(x), np.asarray(traced), rtol=1e-14)


def test_the_trace_of_a_product() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.random((30, 30)), rng.random((30, 30))
    value, pullback = source.forward(product_trace, A, B)
    assert value == np.trace(A @ B)
    _, of_A, of_B = pullback(1.0)
    np.testing.assert_allclose(of_A, B.T, rtol=1e-15)
    np.testing.assert_allclose(of_B, A.T, rtol=1e-15)
    with jax.enable_x64(True):
        expected = jax.grad(lambda a, b: jax.numpy.trace(a @ b), argnums=(0, 1))(A, B)
    np.testing.assert_allclose(of_A, expected[0], rtol=1e-14)
    np.testing.assert_allclose(of_B, expected[1], rtol=1e-14)

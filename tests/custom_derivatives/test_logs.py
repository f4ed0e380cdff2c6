"""Logs of rules in a backward pass: each log has a known mathematical value."""

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import ad, lax
from tinyjax.errors import DifferentiationError
from tinyjax.experimental.hijax import VJPHiPrimitive

XS = np.array([1.0, 2.0, 3.0], np.float32)
ONES = np.ones(3, np.float32)


@partial(tinyjax.custom_vjp, nondiff_argnums=(1,))
def square(x: Any, name: str = "square") -> Any:
    return x * x


def pulled(name: str, x: Any, ct: Any) -> tuple[Any, dict[str, Any]]:
    return (2 * x * ct,), {name: {"at": x, "cotangent": ct}}


square.defvjp_with_logs(lambda x, name: (square(x, name), x), pulled)


class Square(VJPHiPrimitive):
    """The same as a primitive, which keeps its argument among structured residuals."""

    def __init__(self, aval: Any, name: str) -> None:
        self.in_avals, self.out_aval, self.params = (aval,), aval, {"name": name}
        super().__init__()

    def expand(self, x: Any) -> Any:
        return x * x

    def lin(self, nzs_in: Any, /, *primals: Any) -> Any:
        return self(*primals), (), True, {"at": primals[0]}

    def linearized(self, residuals: Any, /, *tangents: Any) -> Any:
        structured, tangent = tangents
        return 2 * structured["at"] * tangent

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        return self.lin(nzs_in, *args)

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> dict[str, Any] | None:
        structured, ct, accum = (outgrad, *arg_accums)
        (product,), logs = pulled(self.params["name"], structured["at"], ct)
        accum.accum(product)
        return logs

    def batch_dim_rule(self, axis_data: Any, dims: Any, /) -> Any:
        return dims[0]


def primitive(x: Any, name: str = "square") -> Any:
    return Square(tinyjax.typeof(x), name)(x)


@attrs.frozen
class Case:
    """A function that takes a square, its argument, the gradient and the logs."""

    fun: Callable[[Any, Any], Any]
    x: Any
    gradient: Any
    logs: dict[str, tuple[Any, Any]]


def branches(sq: Any, x: Any) -> Any:
    return lax.cond(x > 0, lambda x: 3 * sq(x, "plus"), lambda x: 2 * sq(x, "minus"), x)


def halves(sq: Any, x: Any) -> Any:
    return lax.scan(lambda c, _: (sq(c) / 2, None), x, None, length=3)[0]


def summed(sq: Any, xs: Any) -> Any:
    return lax.scan(lambda c, x: (c + sq(x), None), 0.0, xs)[0]


CASES = {
    "alone": Case(lambda sq, x: sq(x), 3.0, 6.0, {"square": (3, 1)}),
    "none": Case(lambda sq, x: 2 * x, 3.0, 2.0, {}),
    "two": Case(lambda sq, x: sq(sq(x, "in"), "out"), 2.0, 32.0, {"in": (2, 8), "out": (4, 1)}),
    "scan": Case(summed, XS, 2 * XS, {"square": (XS, ONES)}),
    "carry": Case(halves, 2.0, 8.0, {"square": ([2, 2, 2], [2, 1, 0.5])}),
    "backwards": Case(
        lambda sq, xs: lax.scan(lambda c, x: (c + sq(x), None), 0.0, xs, reverse=True)[0],
        XS,
        2 * XS,
        {"square": (XS, ONES)},
    ),
    "checkpoint": Case(
        lambda sq, x: tinyjax.checkpoint(lambda x: sq(x + 1.0))(x), 2.0, 6.0, {"square": (3, 1)}
    ),
    "checkpointed scan": Case(
        lambda sq, xs: tinyjax.checkpoint(lambda xs: summed(sq, xs))(xs),
        XS,
        2 * XS,
        {"square": (XS, ONES)},
    ),
    "vmap": Case(lambda sq, xs: tinyjax.vmap(sq)(xs).sum(), XS, 2 * XS, {"square": (XS, ONES)}),
    "loops in loops": Case(
        lambda sq, xs: lax.scan(lambda c, _: (c + summed(sq, xs), None), 0.0, None, length=2)[0],
        XS,
        4 * XS,
        {"square": ([XS, XS], [ONES, ONES])},
    ),
    "branches of examples": Case(
        lambda sq, xs: tinyjax.vmap(partial(branches, sq))(xs - 1.5).sum(),
        XS,
        [-2, 3, 9],
        {"plus": ([-0.5, 0.5, 1.5], [0, 3, 3]), "minus": ([-0.5, 0.5, 1.5], [2, 0, 0])},
    ),
}


def check(actual: Any, case: Case) -> None:
    (gradient,), logs = actual
    np.testing.assert_allclose(gradient, case.gradient, 1e-5)
    assert sorted(logs) == sorted(case.logs)
    for name, (at, cotangent) in case.logs.items():
        assert sorted(logs[name]) == ["at", "cotangent"]
        taken = np.not_equal(cotangent, 0)  # what another branch logs means nothing
        np.testing.assert_allclose(logs[name]["at"] * taken, at * taken, 1e-5)
        np.testing.assert_allclose(logs[name]["cotangent"], cotangent, 1e-5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rule", [square, primitive])
@pytest.mark.parametrize("name", CASES)
def test_logs(name: str, rule: Any) -> None:
    case = CASES[name]

    def logged(x: Any) -> Any:
        pull_back = tinyjax.vjp(partial(case.fun, rule), x)[1]
        return pull_back.with_logs(1.0)

    check(logged(case.x), case)
    check(tinyjax.jit(logged)(case.x), case)
    compiled = tinyjax.jit(partial(case.fun, rule))
    check(tinyjax.vjp(compiled, case.x)[1].with_logs(1.0), case)
    # a pull-back without logs drops them
    np.testing.assert_allclose(tinyjax.grad(compiled)(case.x), case.gradient, 1e-5)


def test_a_branch_that_is_not_taken_logs_zeros() -> None:
    fun = tinyjax.jit(partial(branches, square))
    for x, taken, other, ct in ((2.0, "plus", "minus", 3), (-2.0, "minus", "plus", 2)):
        _, logs = tinyjax.vjp(fun, x)[1].with_logs(1.0)
        assert logs[taken] == {"at": x, "cotangent": ct}
        assert logs[other] == {"at": 0, "cotangent": 0}

    def alike(x: Any) -> Any:
        return lax.cond(x > 0, lambda x: 3 * square(x), lambda x: 2 * square(x), x)

    for x, ct in ((2.0, 3), (-2.0, 2)):
        _, logs = tinyjax.vjp(tinyjax.jit(alike), x)[1].with_logs(1.0)
        assert logs == {"square": {"at": x, "cotangent": ct}}


def test_pull_backs_of_examples_and_their_directions() -> None:
    def logged(x: Any) -> Any:
        return tinyjax.vjp(square, x)[1].with_logs(1.0)

    (gradients,), logs = tinyjax.vmap(logged)(XS)
    np.testing.assert_array_equal(gradients, 2 * XS)
    np.testing.assert_array_equal(logs["square"]["at"], XS)
    _, pull_back = tinyjax.vjp(lambda x, y: square(x) * y, 3.0, 2.0)
    total = tinyjax.new_ref(1.0)
    (x, y), logs = pull_back.with_logs.with_refs(total, ad.DontWant())(1.0)
    assert (x, y) == (ad.GradRef(), ad.DidntWant())
    assert float(total[...]) == 13
    assert logs == {"square": {"at": 3, "cotangent": 2}}
    leaves, treedef = tinyjax.tree.flatten(pull_back.with_logs)
    assert tinyjax.tree.unflatten(treedef, leaves)(1.0)[1] == logs
    # logs are values as others are, and have derivatives
    slope = tinyjax.grad(lambda x: logged(x)[1]["square"]["at"] ** 2)(3.0)
    assert slope == 6


def test_counts_and_closures() -> None:
    def fun(x: Any) -> Any:
        @tinyjax.custom_vjp
        def solve(y: Any) -> Any:
            return y * x

        def bwd(_: None, ct: Any) -> tuple[Any, dict[str, Any]]:
            return (x * ct,), {"steps": jnp.int32(7), "found": x > 0}

        solve.defvjp_with_logs(lambda y: (solve(y), None), bwd)
        return solve(x)

    for run in (fun, tinyjax.jit(fun)):
        (gradient,), logs = tinyjax.vjp(run, 3.0)[1].with_logs(1.0)
        assert (gradient, logs["steps"], logs["found"]) == (6, 7, True)
        assert (logs["steps"].dtype, logs["found"].dtype) == (np.int32, np.bool_)


def rule_that_returns(result: Any) -> Any:
    @tinyjax.custom_vjp
    def fun(x: Any) -> Any:
        return x

    fun.defvjp_with_logs(lambda x: (x, None), lambda _, ct: result)
    return fun


def logging(x: Any, log: Any) -> Any:
    @tinyjax.custom_vjp
    def fun(x: Any) -> Any:
        return x

    fun.defvjp_with_logs(lambda x: (x, None), lambda _, ct: ((ct,), {"a": log}))
    return fun(x)


ERRORS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: square(square(x)), "two rules log under one name: 'square'"),
    (
        tinyjax.jit(lambda x: lax.while_loop(lambda c: c < 99.0, square, x)),
        "does not collect what rules log within .*: square. .* by scan",
    ),
    (rule_that_returns((1.0,)), "a pair of cotangents and logs"),
    (rule_that_returns(((1.0,), [2.0])), "its logs as a dict, or None"),
    (
        tinyjax.jit(lambda x: lax.cond(x > 0, lambda x: logging(x, 1), lambda x: x, x)),
        "floats alone",
    ),
    (
        tinyjax.jit(
            lambda x: lax.cond(
                x > 0, lambda x: logging(x, 1.0), lambda x: logging(x, jnp.ones(2)), x
            )
        ),
        "two branches log arrays of different types under one name, 'a'",
    ),
]


@pytest.mark.parametrize(("fun", "message"), ERRORS)
def test_errors(fun: Callable[[Any], Any], message: str) -> None:
    with raises(DifferentiationError, match=message):
        tinyjax.vjp(fun, 2.0)[1].with_logs(1.0)


def test_structured_residuals_need_the_rule_that_takes_them() -> None:
    class Lacking(Square):
        vjp_bwd = VJPHiPrimitive.vjp_bwd

    x = jnp.float32(3.0)
    with raises(DifferentiationError, match="structured residuals, which vjp_bwd takes"):
        tinyjax.grad(lambda x: Lacking(tinyjax.typeof(x), "a")(x))(x)
    assert tinyjax.jvp(primitive, (x,), (x,)) == (9, 18)

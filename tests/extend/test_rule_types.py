"""Rules of primitives from outside that give other types than they say: errors, not numbers."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax, testing
from tinyjax.errors import JaxprTypeError
from tinyjax.extend import (
    NO_PARAMS,
    HostCall,
    NoParams,
    Primitive,
    bind1,
    composed,
    def_elementwise_batch,
    def_linear,
    def_transposes,
    elementwise,
)
from tinyjax.testing import Case, check_primitive

X: Final = jnp.array([1.0, 2.0, 3.0])
ROWS: Final = jnp.ones((2, 3))
_numbers: Final = count()

#: Twice a vector, of another type.
WRONG: Final[dict[str, Callable[[Any], Any]]] = {
    "float64": lambda x: (2 * x).astype(jnp.float64),
    "float16": lambda x: (2 * x).astype(jnp.float16),
    "int32": lambda x: (2 * x).astype(jnp.int32),
    "bits": lambda x: lax.bitcast_convert_type(x, jnp.int32 if x.dtype.itemsize == 4 else np.int64),
    "shape": lambda x: 2 * x[..., :-1],
    "more axes": lambda x: jnp.stack([x, x]),
}


def doubling(**rules: Callable[..., Any]) -> Primitive[NoParams]:
    """Make a primitive that doubles, with some rules in place of right ones."""
    primitive = Primitive(f"doubling_{next(_numbers)}", NoParams)
    primitive.def_impl(rules.get("impl", lambda operands, params: [2 * operands[0]]))
    primitive.def_abstract_eval(lambda avals, params: (avals[0],))
    primitive.def_lowering(
        rules.get("lowering", lambda b, operands, params: [composed(lambda x: 2 * x)(b, *operands)])
    )
    def_linear(primitive)
    def_transposes(primitive, lambda ct, x, *_: 2 * ct)
    def_elementwise_batch(primitive)
    for name in ("host", "jvp", "transpose", "batch"):
        if name in rules:
            getattr(primitive, f"def_{name}")(rules[name])
    return primitive


def apply(primitive: Primitive[NoParams]) -> Callable[[Any], Any]:
    return lambda x: bind1(primitive, (x,), NO_PARAMS)


def with_wrong(rule: str, wrong: Callable[[Any], Any]) -> Primitive[NoParams]:
    """Make a primitive of which one rule gives what is wrong."""

    def on_host(x: Any) -> Any:
        return np.asarray(wrong(jnp.asarray(x)))

    rules: dict[str, Callable[..., Any]] = {
        "impl": lambda operands, params: [on_host(operands[0])],
        "host": lambda avals, params: HostCall(on_host),
        "lowering": lambda b, operands, params: [composed(wrong)(b, *operands)],
        "jvp": lambda primals, tangents, params: ([2 * primals[0]], [wrong(tangents[0])]),
        "jvp of primals": lambda primals, tangents, params: (
            [wrong(primals[0])],
            [2 * tangents[0]],
        ),
        "transpose": lambda cotangents, operands, params: [wrong(cotangents[0])],
        "batch": lambda mapped, operands, axes, params: ([wrong(operands[0])], axes),
    }
    return doubling(**{rule.split(maxsplit=1)[0]: rules[rule]})


def total(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fun(x).sum()


#: What asks each rule.
USES: Final[dict[str, Callable[[Callable[[Any], Any]], list[Callable[[], Any]]]]] = {
    "impl": lambda f: [lambda: [f(X + i) for i in range(3)], lambda: tinyjax.jit(f)(X)],
    "host": lambda f: [
        lambda: [f(X + i) for i in range(3)],
        lambda: tinyjax.jit(f, tier="host")(X),
    ],
    "lowering": lambda f: [lambda: tinyjax.jit(f, tier="compiled")(X)],
    "jvp": lambda f: [
        lambda: tinyjax.jvp(f, (X,), (X,)),
        lambda: tinyjax.grad(total(f))(X),
        lambda: tinyjax.jit(tinyjax.grad(total(f)))(X),
        lambda: tinyjax.vmap(tinyjax.grad(total(f)))(ROWS),
    ],
    "transpose": lambda f: [
        lambda: tinyjax.grad(total(f))(X),
        lambda: tinyjax.jit(tinyjax.grad(total(f)))(X),
    ],
    "batch": lambda f: [lambda: tinyjax.vmap(f)(ROWS), lambda: tinyjax.jit(tinyjax.vmap(f))(ROWS)],
}


@pytest.mark.parametrize("wrong", [*WRONG])
@pytest.mark.parametrize("rule", ["jvp of primals", *USES])
def test_wrong_types(rule: str, wrong: str) -> None:
    primitive = with_wrong(rule, WRONG[wrong])
    name = rule.split(maxsplit=1)[0]
    words = f"(the {name} rule|evaluation) of '{primitive.name}' gives .* must agree"
    for use in USES[name](apply(primitive)):
        with raises(JaxprTypeError, match=words):
            use()


@pytest.mark.parametrize("rule", ["impl", "lowering", "jvp", "transpose", "batch"])
def test_check_primitive_names_the_dtype(rule: str) -> None:
    """A rule that gives 64 bits is right for float64, and for no other dtype."""
    primitive = with_wrong(rule, WRONG["float64"])
    with raises(testing.CheckError, match=rf"{rule}.* is wrong on \(bfloat16"):
        check_primitive(primitive, Case(np.arange(3.0)), stacks=2)


@pytest.mark.parametrize(
    ("words", "outs", "axes"),
    [
        ("1 results, and 0 batch axes", 1, []),
        ("float32.2,3., float32.2,3.", 2, [0, 0]),
        ("axis 1 of float32.2,3.", 1, [1]),
        ("axis 5 of float32.2,3.", 1, [5]),
        ("without batch axes", 1, [None]),
    ],
)
def test_wrong_batch_axes(words: str, outs: int, axes: Sequence[int | None]) -> None:
    primitive = doubling(batch=lambda mapped, xs, _, params: ([2 * xs[0]] * outs, axes))
    with raises(JaxprTypeError, match=words):
        tinyjax.vmap(apply(primitive))(ROWS)


def test_wrong_numbers_of_results() -> None:
    for outs, tangents in ((2, 1), (1, 0), (1, 2), (0, 0)):
        primitive = doubling(jvp=lambda xs, ts, _, m=outs, n=tangents: (xs * m, ts * n))
        with raises(JaxprTypeError, match="jvp rule"):
            tinyjax.jvp(apply(primitive), (X,), (X,))


def test_elementwise_declarations() -> None:
    wide = elementwise("wide_sine", lambda x: np.sin(x.astype(np.float64)), "sine", "f")
    with raises(JaxprTypeError, match="of 'wide_sine' gives float64"):
        [wide(X + i) for i in range(3)]


def test_right_rules_are_taken() -> None:
    f = apply(doubling())
    check_primitive(doubling(), Case(np.arange(3.0)), reference=lambda x: 2 * x, stacks=4)
    np.testing.assert_array_equal(tinyjax.jit(tinyjax.vmap(tinyjax.grad(total(f))))(ROWS), 2.0)
    assert not lax.sin_p.rules.are_checked  # those of the package are not

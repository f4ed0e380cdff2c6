"""Primitives as classes: what they refuse, and that programs know them apart."""

from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, DifferentiationError, MissingMethodError
from tinyjax.experimental.hijax import (
    VJPHiPrimitive,
    jvp_from_lin,
    linearize_from_jvp,
    vjp_from_jvp,
    vjp_from_lin,
)


class Plain(VJPHiPrimitive):
    """Returns what it is told to."""

    def __init__(self, aval: Any, **params: Any) -> None:
        self.in_avals, self.out_aval, self.params = (aval,), aval, params
        super().__init__()

    def expand(self, x: Any) -> Any:
        return self.params["out"](x) if "out" in self.params else 2.0 * x


class Reverse(Plain):
    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        return self.params.get("fwd", (self(*args), None))

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        return self.params.get("ct", (outgrad,))


class Unset(VJPHiPrimitive):
    def __init__(self) -> None:
        self.in_avals = ()
        super().__init__()


class Twice(Reverse):
    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        arg_accums[0].accum(outgrad)


class Forward(Plain):
    def jvp(self, primals: Any, tangents: Any) -> Any:
        return self.params["pair"]


X = jnp.ones(2)
AVAL = tinyjax.typeof(X)


def derivative(primitive: VJPHiPrimitive) -> Any:
    return tinyjax.grad(lambda x: primitive(x).sum())(X)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (Unset, ArgumentError, "initialiser of Unset must set self.out_aval first"),
        (lambda: Plain((2,)), ArgumentError, "hold types of arrays"),
        (lambda: Twice(AVAL), ArgumentError, "vjp_bwd and vjp_bwd_retval"),
        (lambda: Plain(AVAL)(X, X), ArgumentError, "takes arguments"),
        (lambda: Plain(AVAL)(X[:1]), ArgumentError, r"args\[0\] of type float32\[2\]"),
        (lambda: Plain(AVAL, out=lambda x: (x,))(X), ArgumentError, "expand must return a result"),
        (lambda: Plain(AVAL, out=jnp.sum)(X), ArgumentError, "as out_aval says"),
        (lambda: derivative(Plain(AVAL)), MissingMethodError, "Plain .* define vjp_fwd"),
        (lambda: tinyjax.jvp(Plain(AVAL), (X,), (X,)), MissingMethodError, "define jvp"),
        (lambda: tinyjax.jvp(Reverse(AVAL), (X,), (X,)), MissingMethodError, "define jvp"),
        (
            lambda: tinyjax.vmap(Plain(AVAL))(jnp.ones((3, 2))),
            MissingMethodError,
            "define batch_dim_rule",
        ),
        (lambda: derivative(Reverse(AVAL, fwd=X)), DifferentiationError, "a result and residuals"),
        (lambda: derivative(Reverse(AVAL, ct=(X, X))), DifferentiationError, "tuple of 1"),
        (lambda: derivative(Reverse(AVAL, ct=(1,))), DifferentiationError, r"cotangents\[0\]"),
        (
            lambda: tinyjax.jvp(Forward(AVAL, pair=X), (X,), (X,)),
            DifferentiationError,
            "a result and its tangent",
        ),
        (
            lambda: tinyjax.jvp(Forward(AVAL, pair=(X, X[0])), (X,), (X,)),
            DifferentiationError,
            "must be of type",
        ),
    ],
)
@pytest.mark.wrong_types
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with raises(error, match=message):
        call()


def test_programs_differ_by_parameters() -> None:
    def scaled(output: float) -> Any:
        return tinyjax.make_jaxpr(Plain(AVAL, out=output))(X).eqns[0]

    class Other(Plain):
        """Of the same name as another one, but another class."""

    assert scaled(1.0).params == scaled(1.0).params != scaled(2.0).params
    assert Other(AVAL) == Other(AVAL) != Plain(AVAL)
    assert "rules=Plain ]" in str(scaled(1.0))
    double, triple = Plain(AVAL), Plain(AVAL, out=lambda x: 3.0 * x)
    compiled = [float(tinyjax.jit(f)(X)[0]) for f in (double, triple, double)]
    assert compiled == [2.0, 3.0, 2.0]


class Scaled(Plain):
    """Three times its argument, by every method."""

    def expand(self, x: Any) -> Any:
        return 3.0 * x

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return self(*primals), self(*tangents)

    def transpose(self, out_ct: Any, /, *maybe_accums: Any) -> None:
        maybe_accums[0].accum(3.0 * out_ct)

    def batch_dim_rule(self, axis_data: Any, dims: Any, /) -> Any:
        return None if self.params.get("same") else dims[0]


def test_derivatives_of_methods_that_vmap_batches() -> None:
    many, scaled = jnp.arange(6.0).reshape(2, 3), Scaled(AVAL)
    batched = tinyjax.vmap(scaled, 1, 1)
    for run in (lambda f: f, tinyjax.jit):
        tripled = run(batched)
        out, tangent = run(lambda x, f=tripled: tinyjax.jvp(f, (x,), (x + 1.0,)))(many)
        assert jnp.array_equal(out, 3.0 * many)
        assert jnp.array_equal(tangent, 3.0 * (many + 1.0))
        (pulled,) = run(tinyjax.linear_transpose(tripled, many))(many)
        assert jnp.array_equal(pulled, 3.0 * many)
    with raises(ArgumentError, match="same for all examples"):
        tinyjax.vmap(Scaled(AVAL, same=True))(jnp.ones((3, 2)))


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", ["vjp_bwd_retval", "lin", "linearized", "transpose", "batch"])
def test_methods_that_are_not_there_are_named(name: str) -> None:
    arguments = {"linearized": (X, X), "transpose": (X,)}.get(name, (X, X))
    method = getattr(Plain(AVAL), name)
    with raises(MissingMethodError, match=name):
        method(*arguments, *([0] if name == "batch" else []))


class Cosine(Plain):
    """By its rule in forward mode, and what follows from that."""

    def expand(self, x: Any) -> Any:
        return jnp.cos(x)

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return jnp.cos(*primals), -2.0 * jnp.sin(*primals) * tangents[0]

    lin, linearized = linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = vjp_from_lin


class CosineByParts(Plain):
    """By its two rules of ``linearize``, and what follows from these."""

    def expand(self, x: Any) -> Any:
        return jnp.cos(x)

    def lin(self, nzs_in: Any, /, *primals: Any) -> Any:
        return self(*primals), -2.0 * jnp.sin(*primals)

    def linearized(self, residuals: Any, /, *tangents: Any) -> Any:
        return residuals * tangents[0]

    jvp = jvp_from_lin
    vjp_fwd, vjp_bwd_retval = vjp_from_jvp


@pytest.mark.parametrize("primitive", [Cosine(AVAL), CosineByParts(AVAL)])
def test_rules_that_follow_from_others(primitive: VJPHiPrimitive) -> None:
    slope, bend = -2.0 * np.sin(1.0), -2.0 * np.cos(1.0)  # by hand, with the rule's factor of 2
    _, push = tinyjax.linearize(primitive, X)
    np.testing.assert_allclose(push(X), [slope, slope], 1e-6)
    np.testing.assert_allclose(tinyjax.jvp(primitive, (X,), (X,))[1], [slope, slope], 1e-6)
    np.testing.assert_allclose(derivative(primitive), [slope, slope], 1e-6)
    twice = tinyjax.grad(lambda x: tinyjax.grad(lambda x: primitive(x).sum())(x).sum())(X)
    np.testing.assert_allclose(twice, [bend, bend], 1e-6)

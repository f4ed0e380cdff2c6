"""The programs of "Autodidax: JAX core from scratch", parts 1 to 4, and the figures it prints.

The tutorial computes in double precision, and so do these tests; each is also held against jax.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array, grad, jacfwd, jit, jvp, linearize, make_jaxpr, vjp, vmap
from tinyjax.core.tracing.jaxpr import eval_jaxpr, typecheck_jaxpr
from tinyjax.core.transforms.linearize import linearize_jaxpr
from tinyjax.core.transforms.transpose import transpose_jaxpr

VALUE, SLOPE = 2.7177599838802657, 2.979984993200891
CURVATURE = 0.2822400161197344
NESTED_VALUE, NESTED_SLOPE = -0.7077524804807109, -2.121105001260758
SIN_3, COS_3 = 0.1411200080598672, -0.9899924966004454


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with tinyjax.default_dtypes("float64"), jax.enable_x64(True):
        yield


def wave(x: Any) -> Any:
    """The tutorial's running example: x - 2 sin x, its parts in the tutorial's order."""
    doubled = jnp.sin(x) * 2.0
    return -doubled + x


def jax_wave(x: Any) -> Any:
    return -(jax.numpy.sin(x) * 2.0) + x


def derivative(fun: Callable[..., Any], lib: Any = tinyjax) -> Callable[[Any], Any]:
    return lambda x: lib.jvp(fun, (x,), (1.0,))[1]


def exactly(actual: object, expected: float) -> None:
    """Assert equality up to the last digit or two: the tutorial prints all of a float64."""
    assert np.asarray(actual).dtype == np.float64
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=5e-16, atol=0)


# Part 1: evaluation, jvp, pytrees, vmap


def test_evaluation() -> None:
    exactly(wave(3.0), VALUE)
    exactly(wave(3.0), float(jax_wave(3.0)))


def test_jvp_of_a_primitive() -> None:
    value, slope = jvp(jnp.sin, (3.0,), (1.0,))
    exactly(value, SIN_3)
    exactly(slope, COS_3)
    exactly(slope, np.cos(3.0))


def test_jvp_of_a_composition() -> None:
    value, slope = jvp(wave, (3.0,), (1.0,))
    exactly(value, VALUE)
    exactly(slope, SLOPE)
    expected = jax.jvp(jax_wave, (3.0,), (1.0,))
    exactly(value, float(expected[0]))
    exactly(slope, float(expected[1]))


def test_derivatives_of_derivatives() -> None:
    fun, reference = jnp.sin, jax.numpy.sin
    for expected in (COS_3, -SIN_3, -COS_3, SIN_3):
        fun, reference = derivative(fun), derivative(reference, jax)
        exactly(fun(3.0), expected)
        exactly(fun(3.0), float(reference(3.0)))


def test_python_control_flow_under_a_derivative() -> None:
    def bent(x: Any) -> Any:
        if x > 0.0:
            return 2.0 * x
        return x

    exactly(derivative(bent)(3.0), 2.0)
    exactly(derivative(bent)(-3.0), 1.0)


def test_jvp_through_containers() -> None:
    def parts(x: Any) -> dict[str, Any]:
        doubled = jnp.sin(x) * 2.0
        return {"hi": -doubled + x, "there": [x, doubled]}

    value, slope = jvp(parts, (3.0,), (1.0,))
    assert list(value) == list(slope) == ["hi", "there"]
    exactly(value["hi"], VALUE)
    exactly(value["there"][0], 3.0)
    exactly(value["there"][1], CURVATURE)
    exactly(slope["hi"], SLOPE)
    exactly(slope["there"][0], 1.0)
    exactly(slope["there"][1], -1.9799849932008908)


def test_vmap_of_a_function_of_scalars() -> None:
    def increment(scalar: Array) -> Array:
        assert scalar.ndim == 0
        return 1 + scalar

    given = np.arange(3.0)
    found = vmap(increment, (0,))(jnp.asarray(given))
    assert str(given) == "[0. 1. 2.]"
    assert str(found) == "[1. 2. 3.]"


def test_jacobian_column_by_column() -> None:
    def by_hand(fun: Callable[..., Any], x: Any) -> Any:
        basis = np.eye(np.size(x)).reshape(np.shape(x) * 2)
        return vmap(lambda v: jvp(fun, (x,), (v,))[1], (0,))(basis)

    x = np.arange(3.0)
    expected = np.array([[1, 0, 0], [0, 0.54030231, 0], [0, 0, -0.41614684]])
    np.testing.assert_allclose(by_hand(jnp.sin, x), expected, atol=5e-9)
    np.testing.assert_array_equal(by_hand(jnp.sin, x), jacfwd(jnp.sin)(x))
    np.testing.assert_allclose(jacfwd(jnp.sin)(x), jax.jacfwd(jax.numpy.sin)(x), rtol=1e-15, atol=0)


# Part 2: jaxprs


def test_a_jaxpr_prints_and_has_a_type() -> None:
    jaxpr = make_jaxpr(lambda x: 2.0 * x)(3.0).jaxpr
    assert str(jaxpr) == (
        "{ lambda a:float64[] .\n"
        "  let b:float64[] = mul 2.0 a\n"
        "  in ( b ) }"
    )  # fmt: skip
    assert str(typecheck_jaxpr(jaxpr)) == "(float64[]) -> (float64[])"


def test_operations_on_constants_are_staged() -> None:
    jaxpr = make_jaxpr(lambda: jnp.multiply(2.0, 2.0))().jaxpr
    assert str(jaxpr) == (
        "{ lambda  .\n"
        "  let a:float64[] = mul 2.0 2.0\n"
        "  in ( a ) }"
    )  # fmt: skip


def test_what_was_computed_before_is_a_literal() -> None:
    four = jnp.multiply(2.0, 2.0)
    assert str(make_jaxpr(lambda: four)().jaxpr) == "{ lambda  .\n  in ( 4.0 ) }"


def test_a_jaxpr_evaluates_as_the_function() -> None:
    jaxpr = make_jaxpr(wave)(3.0).jaxpr
    (found,) = eval_jaxpr(jaxpr, [jnp.asarray(3.0)])
    exactly(found, VALUE)
    (again,) = jit(lambda x: eval_jaxpr(jaxpr, [x]))(3.0)
    exactly(again, VALUE)


# Part 3: jit


def test_jit_traces_once_per_signature() -> None:
    traced = []

    @jit
    def product(x: Any, y: Any) -> Any:
        traced.append("tracing!")
        return jnp.sin(x) * jnp.cos(y)

    exactly(product(3.0, 4.0), np.sin(3.0) * np.cos(4.0))
    assert len(traced) == 1
    exactly(product(4.0, 5.0), np.sin(4.0) * np.cos(5.0))
    assert len(traced) == 1


def test_jit_of_a_reduction() -> None:
    total = jit(lambda x: jnp.sum(x, axis=0))
    exactly(total(np.array([1.0, 2.0, 3.0])), 6.0)


def test_derivatives_and_jit_in_any_order() -> None:
    twice = derivative(derivative(wave))
    exactly(twice(3.0), CURVATURE)
    exactly(jit(twice)(3.0), CURVATURE)
    exactly(derivative(derivative(jit(wave)))(3.0), CURVATURE)
    exactly(derivative(jit(derivative(wave)))(3.0), CURVATURE)
    exactly(jit(derivative(jit(derivative(jit(wave)))))(3.0), CURVATURE)


def test_jvp_of_jit_traces_once() -> None:
    traced = []

    @jit
    def compiled(x: Any) -> Any:
        traced.append("tracing!")
        return wave(x)

    for _ in range(2):
        value, slope = jvp(compiled, (3.0,), (1.0,))
        exactly(value, VALUE)
        exactly(slope, SLOPE)
    assert len(traced) == 1


def test_vmap_of_jit() -> None:
    found = vmap(jit(wave), (0,))(np.arange(3.0))
    assert str(found) == "[ 0.         -0.68294197  0.18140515]"
    np.testing.assert_allclose(found, jax.vmap(jax.jit(jax_wave))(np.arange(3.0)), rtol=1e-15)


def test_an_array_prints_as_its_data() -> None:
    value = jit(wave)(np.float64(3.0))
    assert str(value) == "2.7177599838802657"
    assert repr(jit(wave)(np.arange(2.0))).startswith("Array([ 0.        , -0.68294197]")
    assert "dtype=float64" in repr(value)
    assert value.shape == ()
    assert value.ndim == 0


# Part 4: linearize, vjp, grad


def test_linearize_a_primitive() -> None:
    value, tangent_map = linearize(jnp.sin, 3.0)
    exactly(value, SIN_3)
    exactly(tangent_map(1.0), COS_3)


def test_a_derivative_unzips_into_two_programs() -> None:
    def negated(x: Any) -> Any:
        return -jnp.sin(x)

    both = make_jaxpr(lambda x, v: jvp(negated, (x,), (v,)))(3.0, 1.0).jaxpr
    assert [eqn.primitive.name for eqn in both.eqns] == ["sin", "cos", "mul", "neg", "neg"]
    assert str(both.type) == "(float64[], float64[]) -> (float64[], float64[])"

    halves = linearize_jaxpr(make_jaxpr(negated)(3.0).jaxpr, (True,))
    assert str(halves.primal.jaxpr) == (
        "{ lambda a:float64[] .\n"
        "  let b:float64[] = sin a\n"
        "      c:float64[] = cos a\n"
        "      d:float64[] = neg b\n"
        "  in ( d, c ) }"
    )
    assert str(typecheck_jaxpr(halves.tangent)) == "(float64[], float64[]) -> (float64[])"
    assert [eqn.primitive.name for eqn in halves.tangent.eqns] == ["mul", "neg"]

    backwards = transpose_jaxpr(halves.tangent, (False, True), (True,)).staged.jaxpr
    assert [eqn.primitive.name for eqn in backwards.eqns] == ["neg", "mul"]
    (found,) = eval_jaxpr(backwards, [jnp.cos(3.0), jnp.asarray(1.0)])
    exactly(found, -COS_3)


@pytest.mark.parametrize("fun", [wave, jit(wave)], ids=["plain", "jit"])
def test_linearize_a_composition(fun: Callable[..., Any]) -> None:
    value, tangent_map = linearize(fun, 3.0)
    exactly(value, VALUE)
    exactly(tangent_map(1.0), SLOPE)


def test_linearize_nested_jit() -> None:
    @jit
    def outer(x: Any) -> Any:
        return inner(x, jnp.sin(x) * 2.0)

    @jit
    def inner(x: Any, y: Any) -> Any:
        return jnp.cos(x) + y

    value, tangent_map = linearize(outer, 3.0)
    exactly(value, NESTED_VALUE)
    exactly(tangent_map(1.0), NESTED_SLOPE)


def test_vjp_of_a_primitive() -> None:
    _, pull_back = vjp(jnp.sin, 3.0)
    (cotangent,) = pull_back(1.0)
    exactly(cotangent, COS_3)


@pytest.mark.parametrize("fun", [wave, jit(wave)], ids=["plain", "jit"])
def test_grad_of_a_composition(fun: Callable[..., Any]) -> None:
    exactly(grad(fun)(3.0), SLOPE)
    exactly(grad(fun)(3.0), float(jax.grad(jax_wave)(3.0)))


def test_grad_of_nested_jit() -> None:
    @jit
    def outer(x: Any) -> Any:
        return inner(x * 2.0)

    @jit
    def inner(x: Any) -> Any:
        return jnp.cos(x) * 2.0

    exactly(grad(outer)(3.0), -4 * np.sin(6.0))
    exactly(grad(outer)(3.0), 1.1176619927957034)


def test_grad_with_python_control_flow() -> None:
    def half_parabola(x: Any) -> Any:
        return x**2 if x > 0 else 0.0

    exactly(grad(half_parabola)(3.0), 6.0)
    exactly(grad(half_parabola)(-3.0), 0.0)

    def stepped(x: Any) -> Any:
        return 3.0 if x > 0 else x

    exactly(grad(stepped)(2.0), 0.0)
    exactly(grad(stepped)(-2.0), 1.0)


# The stress test: closures over traced values of every level, jit within jvp within jit


def _stress(lib: Any, sin: Callable[..., Any]) -> Callable[[Any], Any]:
    def compiled(fun: Callable[..., Any]) -> Callable[..., Any]:
        result: Callable[..., Any] = lib.jit(fun)
        return result

    @compiled
    def outermost(x: Any) -> Any:
        @compiled
        def middle(y: Any) -> Any:
            def innermost(w: Any) -> Any:
                total = compiled(lambda x: y)(x)
                total = total + compiled(lambda: y)()
                total = total + compiled(lambda y: w + y)(y)
                return compiled(lambda w: compiled(sin)(x) * y)(1.0) + total

            value, slope = lib.jvp(innermost, (x + 1.0,), (y,))
            return slope + (x * value)

        return middle(x)

    return outermost


@pytest.fixture(params=["stress", "wave"])
def program(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], Callable[..., Any]]:
    if request.param == "wave":
        return wave, jax_wave
    return _stress(tinyjax, jnp.sin), _stress(jax, jax.numpy.sin)


Program = tuple[Callable[..., Any], Callable[..., Any]]


def test_values_agree_in_every_composition(program: Program) -> None:
    f, reference = program
    expected = float(reference(3.0))
    exactly(f(3.0), expected)
    exactly(jit(f)(3.0), expected)
    exactly(jvp(f, (3.0,), (5.0,))[0], expected)
    exactly(jvp(jit(f), (3.0,), (5.0,))[0], expected)


def test_first_derivatives_agree_in_every_composition(program: Program) -> None:
    f, reference = program
    expected = float(jax.grad(reference)(3.0))
    for found in (
        grad(f)(3.0),
        grad(jit(f))(3.0),
        jit(grad(jit(f)))(3.0),
        jvp(f, (3.0,), (1.0,))[1],
        jvp(jit(f), (3.0,), (1.0,))[1],
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_second_derivatives_agree_in_every_composition(program: Program) -> None:
    f, reference = program
    expected = float(jax.grad(jax.grad(reference))(3.0))
    for found in (
        grad(grad(f))(3.0),
        grad(grad(jit(f)))(3.0),
        grad(jit(grad(f)))(3.0),
        jit(grad(grad(f)))(3.0),
        jvp(grad(f), (3.0,), (1.0,))[1],
        jvp(jit(grad(f)), (3.0,), (1.0,))[1],
        jit(lambda x: jvp(grad(f), (x,), (1.0,))[1])(3.0),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)

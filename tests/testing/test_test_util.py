"""Checks of derivatives: that they pass what is right, and say precisely what is wrong."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.primitives.elementwise import (
    abs_,
    add,
    complex_,
    conj,
    convert_element_type,
    cos,
    exp,
    imag,
    mul,
    real,
    select,
    sin,
    sqrt,
    tanh,
)
from tinyjax.core.primitives.families import Elementwise, elementwise
from tinyjax.core.primitives.rules import Derivative, def_transposes
from tinyjax.core.primitives.shape import full_like
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.errors import ArgumentError
from tinyjax.test_util import DerivativeMismatchError, check_grads, check_jvp, check_vjp

X = np.linspace(0.3, 1.4, 6).reshape(2, 3)


def wrong(derivative: Derivative, name: str = "wrong") -> Primitive[NoParams]:
    """A sine with a derivative of its own, which the registry does not keep."""
    primitive = elementwise(name, np.sin, "stablehlo.sine", "fc", derivative)
    del registry[name]
    return primitive


def apply(primitive: Primitive[NoParams], x: Array) -> Array:
    return bind1(primitive, (x,), NO_PARAMS)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev"), "fwd", ["rev"]])
def test_right_derivatives_pass(order: int, modes: Any) -> None:
    check_grads(lambda x: tanh(sin(x)), (X,), order, modes)


def test_infinities_that_stay_have_no_slope() -> None:
    chosen = as_array(np.array([True, False]))
    check_grads(lambda x: select(chosen, full_like(x, np.inf), sin(x)), (X[0, :2],), 1)


def test_containers_of_arguments_and_results() -> None:
    def fun(params: dict[str, Any], y: Array) -> dict[str, Any]:
        return {"a": mul(params["w"][0], y), "b": (exp(y), reduce_sum(params["w"][1], (0, 1)))}

    check_grads(fun, ({"w": [X, 2 * X]}, X), 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_every_precision(dtype: str) -> None:
    from tinyjax.dtypes import check

    check_grads(lambda x: mul(sin(x), x), (X.astype(check(dtype)),), 2)
    bad = wrong(lambda t, z, x: mul(t, sin(x)))
    with pytest.raises(DerivativeMismatchError):
        check_grads(partial(apply, bad), (X.astype(check(dtype)),), 1)


def test_complex_functions_need_not_be_holomorphic() -> None:
    z = X + 1j * X[::-1]
    check_grads(lambda z: mul(sin(z), conj(z)), (z,), 2)
    check_grads(abs_, (z,), 2)
    check_grads(lambda x, y: complex_(mul(x, y), sin(x)), (X, X), 2)
    check_grads(lambda z: add(real(z), mul(imag(z), imag(z))), (z,), 2)


def test_a_wrong_complex_derivative_is_found() -> None:
    def conjugated(t: Array, z: Array, x: Array) -> Array:
        return mul(conj(t), cos(x))

    bad = wrong(conjugated)
    check_grads(partial(apply, bad), (X,), 0)
    with pytest.raises(DerivativeMismatchError):
        check_grads(partial(apply, bad), (X + 1j * X,), 1, "fwd")


def test_integers_and_bools_are_left_alone() -> None:
    def fun(mask: Array, n: Array, x: Array) -> tuple[Array, Array]:
        scaled = mul(x, convert_element_type(n, x.dtype))
        return select(mask, scaled, sin(x)), n

    mask = np.array([[True, False, True], [False, True, False]])
    check_grads(fun, (mask, np.arange(6).reshape(2, 3), X), 2)
    check_grads(lambda n: n, (np.arange(3),), 2)


def test_empty_arrays_and_scalars() -> None:
    check_grads(sin, (np.zeros((0, 3)),), 2)
    check_grads(mul, (0.5, np.float32(2.0)), 2)
    check_grads(lambda: as_array(1.0), (), 2)


def test_the_message_names_the_argument_the_result_and_the_numbers() -> None:
    bad = wrong(lambda t, z, x: mul(t, sin(x)))

    def loss(params: dict[str, Any], y: Array) -> dict[str, list[Array]]:
        return {"out": [mul(apply(bad, params["w"]), y)]}

    with pytest.raises(DerivativeMismatchError) as caught:
        check_grads(loss, ({"w": X}, X), 1, "fwd")
    error = caught.value
    assert (error.mode, error.order) == ("fwd", 1)
    assert error.place.startswith("result['out'][0][")
    assert error.derivative.shape == error.difference.shape == (2, 3)
    message = error.message
    assert "loss" in message
    assert "order 1 (fwd)" in message
    assert "with respect to params['w']." in message
    assert "jvp gives" in message
    assert "central difference with step" in message
    assert isinstance(error, AssertionError)

    with pytest.raises(DerivativeMismatchError) as caught:
        check_grads(loss, ({"w": X}, X), 1, "rev")
    assert caught.value.mode == "rev"
    assert caught.value.place == "params['w']"
    assert "<J^T ct, t> =" in caught.value.message
    assert "transpose rule" in caught.value.message


def test_the_first_derivative_may_be_right_and_the_second_wrong() -> None:
    almost = wrong(lambda t, z, x: mul(t, apply(bad_cosine, x)))
    bad_cosine = elementwise(
        "bad_cosine", np.cos, "stablehlo.cosine", "f", lambda t, z, x: mul(t, z)
    )
    del registry["bad_cosine"]
    fun = partial(apply, almost)
    check_grads(fun, (X,), 1)
    for mode in ("fwd", "rev"):
        with raises(DerivativeMismatchError, match=f"order 2 .{mode} of {mode}.") as caught:
            check_grads(fun, (X,), 2, mode)
        assert caught.value.order == 2


def test_a_wrong_transpose_is_found_where_the_derivative_is_right() -> None:
    twice: Elementwise = elementwise(
        "twice", lambda x: 2 * x, "", "f", lambda t, z, x: apply(twice, t)
    )
    del registry["twice"]
    def_transposes(twice, lambda ct, x: ct)

    fun = partial(apply, twice)
    check_grads(fun, (X,), 1, "fwd")
    with raises(DerivativeMismatchError, match=r"order 1 \(rev\) is off"):
        check_grads(fun, (X,), 1, "rev")


def test_a_value_that_changes_under_differentiation_is_found() -> None:
    def shifted(x: Array, t: Array) -> tuple[Array, Array]:
        return add(sin(x), full_like(x, 0.1)), mul(t, cos(x))

    with raises(DerivativeMismatchError, match=r"^shifted: .* the value itself differs"):
        check_jvp(sin, lambda xs, ts: shifted(*xs, *ts), (X,), err_msg="shifted")


def test_functions_with_derivatives_given_by_hand() -> None:
    check_jvp(sin, lambda xs, ts: (sin(*xs), mul(cos(*xs), *ts)), (X,))
    check_vjp(sin, lambda x: (sin(x), lambda ct: (mul(cos(x), ct),)), (X,))
    with raises(DerivativeMismatchError, match=r"^by hand: .*does not match the arguments"):
        check_vjp(sin, lambda x: (sin(x), lambda ct: ()), (X,), err_msg="by hand")
    with raises(DerivativeMismatchError, match="the cotangent is float64"):
        check_vjp(sin, lambda x: (sin(x), lambda ct: (reduce_sum(ct, (0,)),)), (X,))


def test_nan_is_not_right() -> None:
    with pytest.raises(DerivativeMismatchError):
        check_grads(sqrt, (np.array([-1.0, 2.0]),), 1, "fwd")


def test_tolerances_and_step_are_the_callers() -> None:
    off = wrong(lambda t, z, x: mul(mul(t, cos(x)), full_like(x, 1.01)))
    fun = partial(apply, off)
    with pytest.raises(DerivativeMismatchError):
        check_grads(fun, (X,), 1)
    check_grads(fun, (X,), 1, atol=0.1, rtol=0.1)
    check_grads(sin, (X,), 2, eps=1e-3, atol=1e-4)
    with pytest.raises(DerivativeMismatchError):
        check_grads(sin, (X,), 1, eps=0.5, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_a_few_roundings_of_the_values_are_allowed_for(dtype: str, size: float) -> None:
    """On another processor the last places differ: here they are drawn anew at every call."""
    rng = np.random.default_rng(0)
    eps = np.finfo(dtype).eps

    def rounded(x: Any) -> Any:
        value = np.sin(x) + size
        return (value * (1 + 2 * eps * rng.uniform(-1, 1, value.shape))).astype(value.dtype)

    shifted = elementwise("shifted", rounded, "", "f", lambda t, z, x: mul(t, cos(x)))
    off = elementwise(
        "off", rounded, "", "f", lambda t, z, x: mul(mul(t, cos(x)), full_like(x, 1.01))
    )
    del registry["shifted"], registry["off"]
    x = X.astype(dtype)
    for _ in range(100):
        check_grads(partial(apply, shifted), (x,), 1)
    # of a value of 1e6 in single precision a difference tells nothing
    if size * eps < 1e-4:
        for mode in ("fwd", "rev"):
            with pytest.raises(DerivativeMismatchError):
                check_grads(partial(apply, off), (x,), 1, mode)


def test_one_large_result_hides_nothing_in_another() -> None:
    off = wrong(lambda t, z, x: mul(mul(t, cos(x)), full_like(x, 1.0001)))

    def fun(x: Array) -> tuple[Array, Array]:
        return add(x, full_like(x, 1e8)), apply(off, x)

    with raises(DerivativeMismatchError, match=r"result\[1\]"):
        check_grads(fun, (X,), 1, "fwd")


def test_an_unknown_mode_is_an_error() -> None:
    with raises(ArgumentError, match="'fwd' and 'rev', but got 'forward'"):
        check_grads(sin, (X,), 1, modes=("forward",))


def test_it_is_jax_test_util() -> None:
    import inspect

    import jax.test_util

    ours = inspect.signature(check_grads).parameters
    theirs = inspect.signature(jax.test_util.check_grads).parameters
    assert list(ours) == list(theirs)
    assert [p.default for p in ours.values()][3:] == [p.default for p in theirs.values()][3:]


def test_jitted_functions() -> None:
    from tinyjax.core.jit import jit

    check_grads(jit(lambda x: mul(sin(x), x)), (X,), 2)
    assert tinyjax.test_util.check_grads is check_grads

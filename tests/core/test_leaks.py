"""Traced values that outlive their transformation: found when used, or at once if so set."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config, grad, jit, jvp, linearize, make_jaxpr, value_and_grad, vjp, vmap
from tinyjax.core.tracing.trace import EVAL, current_trace
from tinyjax.errors import LeakedTracerError

X = np.array([1.0, 2.0], np.float32)

TRANSFORMATIONS: dict[str, tuple[Callable[[Callable[..., Any]], object], str]] = {
    "jit": (lambda fun: jit(fun)(X), "jit"),
    "make_jaxpr": (lambda fun: make_jaxpr(fun)(X), "make_jaxpr"),
    "grad": (lambda fun: grad(lambda x: jnp.sum(fun(x)))(X), "grad"),
    "vjp": (lambda fun: vjp(fun, X), "vjp"),
    "linearize": (lambda fun: linearize(fun, X), "linearize"),
    "jvp": (lambda fun: jvp(fun, (X,), (X,)), "jvp"),
    "vmap": (lambda fun: vmap(fun)(X), "vmap"),
    "vmap of jit": (lambda fun: vmap(jit(fun))(X), "jit"),
    "grad of vmap": (lambda fun: grad(lambda x: jnp.sum(vmap(fun)(x)))(X), "vmap"),
}


@pytest.fixture(params=TRANSFORMATIONS)
def transform(request: pytest.FixtureRequest) -> tuple[Callable[..., object], str]:
    return TRANSFORMATIONS[request.param]


Transform = tuple[Callable[..., object], str]


def test_a_traced_value_in_a_list(transform: Transform) -> None:
    apply, name = transform
    stored: list[Any] = []

    def careless(x: Any) -> Any:
        stored.append(x * 2.0)
        return x

    apply(careless)
    (leaked,) = stored
    uses: list[Callable[[], object]] = [
        lambda: leaked + 1,
        lambda: jnp.sin(leaked),
        lambda: jit(lambda x: x + leaked)(1.0),
        lambda: jit(lambda x: x)(leaked),
        lambda: vmap(lambda x: x * leaked)(X),
    ]
    for use in uses:
        with pytest.raises(LeakedTracerError) as caught:
            use()
        text = str(caught.value)
        assert re.search(rf"traced by {name} of .*test_leaks\.py:\d+", text)
        assert "is used after that transformation ended" in text
        assert "return it from the function instead" in text
        assert f"{__file__}:" in text.splitlines()[-1]  # where it is used
    assert current_trace() is EVAL


def test_a_traced_value_in_an_attribute() -> None:
    @attrs.define
    class Model:
        cached: Any = None

        def loss(self, x: Any) -> Any:
            self.cached = jnp.sin(x)
            return jnp.sum(self.cached)

    model = Model()
    grad(model.loss)(X)
    with raises(LeakedTracerError, match=r"grad of .*Model\.loss .*test_leaks\.py"):
        model.cached + 1


def test_a_traced_value_of_an_inner_transformation() -> None:
    stored: list[Any] = []

    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            stored.append(y)
            return y * x

        grad(inner)(2.0)
        return stored[0] * x

    with raises(LeakedTracerError, match="is used after that transformation ended"):
        jit(outer)(1.0)
    stored.clear()
    with raises(LeakedTracerError, match="is used after that transformation ended"):
        vmap(outer)(X)


def test_a_traced_value_that_is_still_alive_is_no_leak() -> None:
    stored: list[Any] = []

    def outer(x: Any) -> Any:
        stored.append(x)
        return grad(lambda y: y * stored[0])(2.0)

    assert float(jit(outer)(3.0)) == 3.0
    stored.clear()
    np.testing.assert_array_equal(vmap(outer)(X), X)


def test_data_of_a_traced_value_after_its_end() -> None:
    stored: list[Any] = []
    jit(stored.append)(1.0)
    with raises(LeakedTracerError, match="is used after that transformation ended"):
        float(stored[0])


# The setting that looks for them at once


@pytest.fixture
def checked() -> Iterator[None]:
    with config.scoped(check_leaks=True):
        yield


def test_a_leak_is_found_when_the_transformation_ends(checked: None, transform: Transform) -> None:
    apply, name = transform
    stored: list[Any] = []

    def careless(x: Any) -> Any:
        stored.append(x * 2.0)
        return x

    with pytest.raises(LeakedTracerError) as caught:
        apply(careless)
    text = str(caught.value)
    assert re.search(rf"^{name} of .*test_leaks\.py:\d+\) ended, but 1 of its traced values", text)
    assert "return them instead" in text
    assert current_trace() is EVAL


def test_no_leak_is_found_where_there_is_none(checked: None, transform: Transform) -> None:
    apply, _ = transform
    constant = jnp.ones(())

    def clean(x: Any) -> Any:
        local = [x * constant, {"sin": jnp.sin(x)}]
        return local[0] + local[1]["sin"]

    apply(clean)


def test_an_error_that_was_caught_is_no_leak(checked: None, transform: Transform) -> None:
    def trying(x: Any) -> Any:
        with suppress(ValueError):
            x + np.ones(7)
        return x * 2

    transform[0](trying)


def test_auxiliary_data_is_no_leak(checked: None) -> None:
    def loss(x: Any) -> tuple[Any, dict[str, Any]]:
        return jnp.sum(x * x), {"double": 2 * x}

    (value, aux), gradient = value_and_grad(loss, has_aux=True)(X)
    assert float(value) == 5.0
    np.testing.assert_array_equal(aux["double"], 2 * X)
    np.testing.assert_array_equal(gradient, 2 * X)
    _, aux = vmap(grad(lambda x: (x * x, 2 * x), has_aux=True))(X)
    np.testing.assert_array_equal(aux, 2 * X)
    _, _, aux = jvp(loss, (X,), (X,), has_aux=True)
    np.testing.assert_array_equal(aux["double"], 2 * X)


@pytest.mark.slow
def test_nested_transformations_that_leak_nothing(checked: None) -> None:
    def fun(x: Any) -> Any:
        return jit(lambda y: jnp.sin(x) * y)(x)

    for found in (
        grad(grad(fun))(0.5),
        vmap(grad(grad(fun)))(np.full(2, 0.5, np.float32))[0],
        tinyjax.jacrev(tinyjax.jacfwd(fun))(0.5),
    ):
        expected = 2 * np.cos(0.5) - 0.5 * np.sin(0.5)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_leak_is_found_even_in_a_function_that_was_compiled_before() -> None:
    stored: list[Any] = []
    fast = jit(stored.append)
    fast(1.0)
    with config.scoped(check_leaks=True), pytest.raises(LeakedTracerError):
        fast(1.0)


def test_off_by_default() -> None:
    assert not config.settings().check_leaks
    stored: list[Any] = []
    jit(stored.append)(1.0)
    assert len(stored) == 1

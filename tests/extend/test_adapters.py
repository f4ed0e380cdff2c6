"""Adapters of the traces above a trace: their rules are in force there, and nowhere else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax.numpy as jnp
from tinyjax import extend, grad, jit, jvp, lax, linearize, vmap
from tinyjax.core.tracing import kernels

Fun = Callable[..., Any]


class Doubling(extend.Adapter):
    """Doubles tangents of ``sin``, and results of batches."""

    def jvp(self, primitive: Any, rule: Any, primals: Any, tangents: Any, params: Any) -> Any:
        outs, out_tangents = rule(primals, tangents, params)
        factor = 2.0 if primitive.name == "sin" else 1.0
        return outs, [t if t is extend.ZERO else t * factor for t in out_tangents]

    def batch(self, rule: Any, mapped: Any, values: Any, axes: Any, params: Any) -> Any:
        outs, out_axes = rule(mapped, values, axes, params)
        factor = 2.0 if params is extend.NO_PARAMS else 1.0  # that of sin has none
        return [out * factor for out in outs], out_axes


class Swapping(extend.Adapter):
    """Records ``sin`` as ``cos``."""

    def record(
        self, recorder: Any, primitive: Any, args: Any, params: Any, source: Any
    ) -> list[Any] | None:
        if primitive.name != "sin":
            return None
        outs: list[Any] = recorder.record(lax.cos_p, args, params, source)
        return outs


class Below(extend.Trace):
    """Passes everything on."""

    def process(self, primitive: Any, args: Any, params: Any) -> Any:
        return self.parent.process(primitive, args, params)


def adapted(fun: Fun, *adapters: extend.Adapter) -> Fun:
    def call(*args: Any) -> Any:
        trace = Below(extend.current_trace())
        trace.adapters = (*trace.adapters, *adapters)
        with extend.Running(trace):
            return fun(*args)

    return call


DOUBLING, SWAPPING = Doubling(), Swapping()
X, ONE = np.float32(0.3), np.float32(1.0)
SINE, SLOPE = np.sin(X), np.cos(X)


def sine(x: Any) -> Any:
    return jnp.sin(x)


def looped(x: Any) -> Any:
    return lax.scan(lambda c, _: (sine(c), None), x, None, length=1)[0]


def mapped(fun: Fun) -> Fun:
    return lambda x: vmap(fun)(x[None])[0]


#: Functions of a function of one number, the adapter, and what they give without it and with it.
WAYS: dict[str, tuple[Callable[[Fun], Fun], extend.Adapter, Any, Any]] = {
    "jvp": (lambda f: lambda x: jvp(f, (x,), (ONE,))[1], DOUBLING, SLOPE, 2 * SLOPE),
    "grad": (grad, DOUBLING, SLOPE, 2 * SLOPE),
    "linearize": (lambda f: lambda x: linearize(f, x)[1](ONE), DOUBLING, SLOPE, 2 * SLOPE),
    "vmap": (mapped, DOUBLING, SINE, 2 * SINE),
    "jit": (jit, SWAPPING, SINE, SLOPE),
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("inner", [sine, looped, jit(sine), jit(looped)])
@pytest.mark.parametrize("way", WAYS)
def test_an_adapter_is_in_force_above_its_trace_only(way: str, inner: Fun, first: bool) -> None:
    """Programs that were recorded with it are not used without it, nor the other way round."""
    transform, adapter, plain, expected = WAYS[way]
    fun = transform(inner)
    inside = adapted(fun, adapter)
    for is_inside in (first, not first, first):
        result = (inside if is_inside else fun)(jnp.asarray(X))
        np.testing.assert_allclose(result, expected if is_inside else plain, 1e-6)


def test_adapters_compose() -> None:
    """Each of two adapters doubles what the other gives."""
    slope = adapted(grad(jnp.sin), DOUBLING, Doubling())
    np.testing.assert_allclose(slope(jnp.asarray(X)), 4 * SLOPE, 1e-6)
    nested = adapted(adapted(grad(jnp.sin), Doubling()), DOUBLING)
    np.testing.assert_allclose(nested(jnp.asarray(X)), 4 * SLOPE, 1e-6)


def test_a_trace_has_the_adapters_of_the_one_below() -> None:
    seen: list[Any] = []

    def fun(x: Any) -> Any:
        seen.append(extend.current_trace().adapters)
        return x

    adapted(vmap(fun), DOUBLING)(jnp.ones(2))
    assert seen == [(DOUBLING,)]
    assert extend.current_trace().adapters == ()


def test_kernels_of_gradients_know_nothing_of_adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    slope, x = grad(jnp.sin), jnp.asarray(X)
    for _ in range(kernels.CALLS[0] + 1):
        np.testing.assert_allclose(slope(x), SLOPE, 1e-6)
    monkeypatch.setattr(extend.current_trace(), "adapters", (DOUBLING,))
    np.testing.assert_allclose(slope(x), 2 * SLOPE, 1e-6)

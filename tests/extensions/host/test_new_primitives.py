"""A primitive of the user's that has a host rule takes part wherever NumPy's compiler does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._extensions.host.replay import replayed
from tinyjax.core.tracing import kernels
from tinyjax.core.tracing.primitive import Avals, HostCall, Params, Primitive, registry
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.array import Array
from tinyjax.extend import def_derivatives, def_elementwise_batch, numpy_text

CALLS: Final = list[str]()


@attrs.frozen
class _HornerParams(Params):
    coefficients: tuple[float, ...]


@pytest.fixture
def horner_p() -> Iterator[Primitive[_HornerParams]]:
    """A polynomial that records when its rules are called."""
    primitive = Primitive("horner", _HornerParams, repeatable=True)

    @primitive.def_host
    def host(avals: Avals, params: _HornerParams) -> HostCall:
        CALLS.append("host")
        return HostCall(lambda x: np.polyval(params.coefficients, x).astype(x.dtype), fresh=True)

    primitive.def_abstract_eval(lambda avals, params: avals)

    def slope(t: Array, out: Array, x: Array, params: _HornerParams) -> Array:
        CALLS.append("jvp")
        return t * bind1(primitive, (x,), _HornerParams(tuple(np.polyder(params.coefficients))))

    def_derivatives(primitive, slope)
    def_elementwise_batch(primitive)
    CALLS.clear()
    yield primitive
    del registry[primitive.name]


def test_the_host_rule_is_enough(
    horner_p: Primitive[_HornerParams], monkeypatch: pytest.MonkeyPatch
) -> None:
    coefficients = (2.0, -1.0, 3.0)

    def horner(x: Any) -> Array:
        return bind1(horner_p, (x,), _HornerParams(coefficients))

    @replayed
    def shifted(x: Array) -> Array:
        return horner(x) + 1.0

    monkeypatch.setattr(kernels, "CALLS", (1,))
    x = jnp.linspace(0.0, 2.0, 5)
    expected = np.polyval(coefficients, np.asarray(x)).astype(np.float32)
    for _ in range(3):  # an operation, and replayed
        np.testing.assert_array_equal(shifted(x), expected + 1)
    CALLS.clear()
    shifted(x)
    assert not CALLS

    gradient = tinyjax.grad(lambda x: jnp.sum(jnp.sin(horner(x))))
    slope = np.cos(expected) * np.polyval(np.polyder(coefficients), np.asarray(x))
    for _ in range(3):  # a linearization's step, and a backward pass
        np.testing.assert_allclose(gradient(x), slope, 1e-5)
    CALLS.clear()
    gradient(x)
    assert not CALLS

    def iterated(x: Array) -> Array:
        return lax.fori_loop(0, 200, lambda _, y: horner(y) * 0.1, x)

    y = np.asarray(x)
    for _ in range(200):
        y = np.polyval(coefficients, y).astype(np.float32) * np.float32(0.1)
    at_once = tinyjax.jit(iterated, tier="first")  # of loops bodies are written
    np.testing.assert_allclose(at_once(x), y, 1e-5)
    assert "horner_" in numpy_text(horner)(x)

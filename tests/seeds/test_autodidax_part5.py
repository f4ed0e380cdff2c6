"""The programs of "Autodidax: JAX core from scratch", part 5, and the figures they give.

The tutorial's ``cond`` always stages. Ours calls the branch where the predicate is at hand, so each
program is run both ways: with a predicate that is a Python bool, and with one that is an argument.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import grad, jit, jvp, linearize, make_jaxpr, vmap
from tinyjax.core.control_flow.cond import cond
from tinyjax.core.control_flow.primitives import cond_p
from tinyjax.core.tracing.jaxpr import typecheck_jaxpr

Program = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with tinyjax.default_dtypes("float64"), jax.enable_x64(True):
        yield


def both_ways(program: Program, flag: bool = True) -> list[Any]:
    """A program of a predicate, with it at hand and with it staged."""
    return [program(flag), jit(program)(flag)]


def test_evaluation() -> None:
    for found in both_ways(lambda flag: cond(flag, lambda: 3, lambda: 4)):
        assert int(found) == 3


def test_jvp_with_a_branch_that_closes_over_what_is_differentiated() -> None:
    def program(flag: Any) -> Any:
        return jvp(lambda x: cond(flag, lambda: x * x, lambda: 0.0), (1.0,), (1.0,))

    for value, slope in both_ways(program):
        assert (float(value), float(slope)) == (1.0, 2.0)


def test_vmap_with_a_shared_predicate() -> None:
    xs = np.array([1.0, 2.0, 3.0])

    def program(flag: Any) -> Any:
        return vmap(lambda x: cond(flag, lambda: x + 1.0, lambda: 0.0), (0,))(xs)

    for found in both_ways(program):
        assert str(found) == "[2. 3. 4.]"


def test_vmap_with_a_predicate_for_each() -> None:
    """The tutorial leaves this as an exercise."""
    xs = np.array([1.0, 2.0, 3.0])
    found = vmap(lambda x: cond(x > 1.5, lambda: x + 1.0, lambda: 0.0))(xs)
    assert str(found) == "[0. 3. 4.]"


def test_compilation() -> None:
    assert int(jit(lambda: cond(False, lambda: 1, lambda: 2))()) == 2
    for found in both_ways(lambda flag: cond(flag, lambda: 1, lambda: 2), False):
        assert int(found) == 2


def test_linearize() -> None:
    def program(flag: Any) -> Any:
        _, tangent_map = linearize(lambda x: cond(flag, lambda: x, lambda: 0.0), 1.0)
        return tangent_map(3.14)

    for found in both_ways(program):
        assert float(found) == 3.14


def test_linearize_of_a_compiled_function() -> None:
    def program(flag: Any) -> Any:
        _, tangent_map = linearize(jit(lambda x: cond(flag, lambda: x, lambda: 0.0)), 1.0)
        return tangent_map(3.14)

    for found in both_ways(program):
        assert float(found) == 3.14


def test_reverse_mode() -> None:
    def program(flag: Any) -> Any:
        return grad(lambda x: cond(flag, lambda: x * x, lambda: 0.0))(1.0)

    for found in both_ways(program):
        assert float(found) == 2.0


def test_a_staged_conditional_prints_its_branches() -> None:
    def program(flag: Any, x: Any) -> Any:
        return cond(flag, lambda: x * x, lambda: 0.0)

    jaxpr = make_jaxpr(program)(True, 3.0).jaxpr
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is cond_p]
    typecheck_jaxpr(jaxpr)
    assert [str(branch.type) for branch in eqn.params.branches] == [
        "(float64[]) -> (float64[])",
        "(float64[]) -> (float64[])",
    ]
    for line in ("branches[0]={ lambda a:float64[] .", "mul a a", "in ( 0.0 ) }"):
        assert line in str(jaxpr)


def test_branches_of_different_types_are_joined_or_refused() -> None:
    """The tutorial refuses all; a Python number takes the other branch's dtype here."""
    half = jnp.ones((), "float16")
    choose: Any = cond
    found = jit(lambda flag: choose(flag, lambda: half, lambda: 2))(False)
    assert (float(found), found.dtype.name) == (2.0, "float16")
    with pytest.raises(TypeError):
        jit(lambda flag: cond(flag, lambda: 1.0, lambda: (1.0,)))(True)
    with pytest.raises(TypeError):
        jit(lambda flag: cond(flag, lambda: jnp.ones(2), lambda: jnp.ones(3)))(True)

"""Bodies of loops by their parts: what is made of constants, carry, slices and outputs."""

import numpy as np
import pytest

import tinyjax.numpy as jnp
from tinyjax import lax, make_jaxpr
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, LoopResults, grown
from tinyjax.core.control_flow.primitives import ScanParams
from tinyjax.core.tracing.jaxpr import eval_jaxpr
from tinyjax.core.values import Array

OPERANDS = LoopOperands("ab", "cde", "f")
MARKS = LoopOperands([True, False], [False, True, True], [False])


def body_of_loop() -> LoopBody:
    """Return the body of a loop with a constant, a counter, a state, and two outputs."""
    w = jnp.array([0.5, 2.0])

    def body(
        carry: tuple[Array, Array], x: Array
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        i, h = carry
        return (i + 1, jnp.sin(h) * w + x), (h * x, i)

    jaxpr = make_jaxpr(lambda h, xs: lax.scan(body, (jnp.asarray(0), h), xs))(w, jnp.ones((3, 2)))
    (params,) = [e.params for e in jaxpr.eqns if isinstance(e.params, ScanParams)]
    return params.loop_body


def test_parts_are_put_together_and_taken_apart() -> None:
    assert OPERANDS.flat == tuple("abcdef")
    assert OPERANDS.like(range(6)).flat == (0, 1, 2, 3, 4, 5)
    assert OPERANDS.marked(MARKS).flat == ("a", "d", "e")
    assert [part.flat for part in OPERANDS.partitioned(MARKS)] == [tuple("bcf"), tuple("ade")]
    assert MARKS.cut([1, 2, 3]).carry == [2, 3]
    others = LoopOperands("x", "", "yz")
    total = OPERANDS + others
    assert (total.consts, total.carry, total.xs) == (tuple("abx"), tuple("cde"), tuple("fyz"))
    assert [part.flat for part in total.divided(OPERANDS)] == [OPERANDS.flat, tuple("xyz")]
    results = LoopResults("ab", "c") + LoopResults("d", "ef")
    assert results.flat == tuple("abdcef")
    assert [part.flat for part in results.divided(LoopResults("ab", "c"))] == [
        tuple("abc"),
        tuple("def"),
    ]


def test_marks_grow_from_iteration_to_iteration() -> None:
    def shifted(marks: LoopOperands[bool]) -> list[bool]:
        return [marks.consts[0], *marks.carry[:-1]]

    for first in (True, False):
        marks = grown(LoopOperands([first], [False] * 3), shifted)
        assert marks.flat == (first,) * 4


@pytest.mark.parametrize("of_const", [True, False])
def test_each_part_is_followed_by_its_tangents(of_const: bool) -> None:
    """A state has a tangent where it has one at first, or gets it from a constant."""
    body = body_of_loop()
    nonzero = body.tangents(LoopOperands([of_const], [False, not of_const], [False]))
    assert nonzero.flat == (of_const, False, True, False)
    derived, nonzero_out = body.with_tangents(nonzero)
    assert nonzero_out == (False, True, True, False)
    w, dw, h, dh, x = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    consts = [w, dw] if of_const else [w]
    operands = LoopOperands(consts, [np.int32(3), h, dh], [x])
    outs = derived.results(eval_jaxpr(derived.jaxpr, [*map(jnp.asarray, operands.flat)]))
    i, state, d_state = outs.carry
    y, count, dy = outs.ys
    assert [int(i), int(count)] == [4, 3]
    np.testing.assert_allclose(state, np.sin(h) * w + x, rtol=1e-6)
    np.testing.assert_allclose(y, h * x, rtol=1e-6)
    expected = np.cos(h) * dh * w + (np.sin(h) * dw if of_const else 0)
    np.testing.assert_allclose(d_state, expected, rtol=1e-5)
    np.testing.assert_allclose(dy, dh * x, rtol=1e-6)

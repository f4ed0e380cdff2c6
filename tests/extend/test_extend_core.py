"""The parts of ``jax.extend.core`` that libraries use, compared with jax's."""

from typing import Any

import hypothesis
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.core import ShapedArray
from tinyjax.errors import ArgumentError
from tinyjax.extend import core
from tinyjax.testing import strategies

PART = ShapedArray((2,), np.dtype(np.float32))


def test_types_of_examples_and_of_batches() -> None:
    for axis, shape in ((0, (3, 2)), (1, (2, 3)), (None, (2,))):
        whole = core.unmapped_aval(3, axis, PART)
        assert whole.shape == shape
        assert core.mapped_aval(3, axis, whole) == PART
    assert core.gensym()(PART).aval == PART
    assert core.primal_dtype_to_tangent_dtype(np.dtype(np.int32)) == tinyjax.dtypes.float0
    assert core.primal_dtype_to_tangent_dtype(np.dtype(np.float16)) == np.float16
    assert [core.valid_jaxtype(x) for x in (1.0, np.ones(2), "a")] == [True, True, False]
    assert core.concrete_or_error(int, 3.0) == 3
    with pytest.raises(tinyjax.errors.ConcretizationError):
        tinyjax.jit(lambda x: core.concrete_or_error(None, x, "a size"))(1.0)


def test_where_we_are() -> None:
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append(
            (
                core.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                core.unsafe_get_axis_names_DO_NOT_USE(),
                core.nonempty_axis_env_DO_NOT_USE(),
            )
        )
        with core.take_current_trace() as trace, core.set_current_trace(trace):
            assert core.find_top_trace() is trace
        return x

    look(1.0)
    tinyjax.jit(look)(1.0)
    tinyjax.vmap(tinyjax.vmap(look, axis_name="j"), axis_name="i")(jnp.ones((2, 2)))
    assert seen == [
        (False, False, [], False),
        (True, False, [], False),
        (False, True, ["i", "j"], True),
    ]
    before = core.get_opaque_trace_state()
    assert before == core.get_opaque_trace_state()
    assert tinyjax.jit(lambda x: x + (core.get_opaque_trace_state() == before))(1.0) == 1.0
    assert core.TraceTag() == core.TraceTag()
    assert len({core.TraceTag(), core.TraceTag()}) == 1
    assert repr(core.DropVar(PART)) == "_"


@hypothesis.settings(max_examples=60)
@hypothesis.given(strategies.arrays(), strategies.trees(strategies.arrays("int8", (2,))))
def test_arrays_and_trees_can_be_drawn(x: Any, tree: Any) -> None:
    assert jnp.asarray(x).shape == x.shape
    for leaf in tinyjax.tree.leaves(tree):
        assert leaf.shape == (2,)


def test_letters_of_no_dtype() -> None:
    with raises(ArgumentError, match="letters of"):
        strategies.dtypes("xyz")

"""The table of rules for several devices, and rules of primitives that are not tinyjax's own."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import P
from tinyjax._extensions.parallel.mesh_rule import MESH, MeshRule, same
from tinyjax._extensions.parallel.table import TABLE, rule_of
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.trace import bind1
from tinyjax.errors import ShardingTypeError

ROWS = [(module, name) for module, rows in TABLE.items() for name in rows]


@pytest.mark.parametrize(("module", "name"), ROWS)
def test_a_row_is_of_a_primitive(module: str, name: str) -> None:
    primitive = getattr(import_module(module), name)
    assert isinstance(primitive, Primitive)
    row, rule = TABLE[module][name], rule_of(primitive)
    assert (rule.division, rule.fits) == (row.division, row.fits)


def _doubling(name: str) -> Primitive[NoParams]:
    primitive: Primitive[NoParams] = Primitive(name, NoParams)
    primitive.def_impl(lambda operands, params: (operands[0] * 2,))
    primitive.def_abstract_eval(lambda avals, params: avals)
    primitive.def_lowering(lambda b, operands, params: (b.add(operands[0], operands[0]),))
    return primitive


def test_a_primitive_of_another_package_registers_a_rule() -> None:
    silent_p, telling_p = _doubling("silently doubled"), _doubling("doubled")
    telling_p.def_rule(MESH)(MeshRule(same))
    with tinyjax.set_mesh(tinyjax.make_mesh((2,), ("x",))):
        x = tinyjax.reshard(jnp.arange(4.0), P("x"))
        out = tinyjax.jit(lambda x: bind1(telling_p, (x,), NO_PARAMS))(x)
        assert str(tinyjax.typeof(out)) == "float32[4@x]"
        np.testing.assert_array_equal(out, [0.0, 2.0, 4.0, 6.0])
        with raises(ShardingTypeError, match="no rule for operands that are divided"):
            tinyjax.jit(lambda x: bind1(silent_p, (x,), NO_PARAMS))(x)


def test_a_primitive_of_the_name_of_another_has_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    cholesky_p = import_module("tinyjax._primitives.triangular").cholesky_p
    monkeypatch.setitem(registry, "cholesky", cholesky_p)  # which puts it back afterwards
    assert rule_of(cholesky_p).division is not None
    assert rule_of(_doubling("cholesky")).division is None

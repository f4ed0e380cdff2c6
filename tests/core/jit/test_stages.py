"""The stages of a program, and jaxprs as interpreters read them, held against the installed jax."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jaxnp
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import core, lax, stages
from tinyjax.errors import ArgumentError, PlatformError
from tinyjax.extend.core import Literal, jaxpr_as_fun


def model(params: Any, x: Any, *, scale: Any) -> Any:
    return {"y": params["w"] @ x * scale, "n": x.astype("int32")}


ARGS = ({"w": np.ones((2, 3), np.float32)}, np.ones(3, np.float32))


def described(tree: Any, lib: Any) -> Any:
    return lib.tree.map(lambda x: (tuple(x.shape), str(np.dtype(x.dtype))), tree)


@pytest.mark.parametrize("stage", ["trace", "lower", "compile"])
def test_what_a_stage_says(stage: str) -> None:
    def stages(lib: Any) -> Any:
        traced = lib.jit(model, donate_argnums=(1,)).trace(*ARGS, scale=2.0)
        found = traced if stage == "trace" else traced.lower()
        return found.compile() if stage == "compile" else found

    ours, theirs = stages(tinyjax), stages(jax)
    for name in ("args_info", "out_info"):
        assert described(getattr(ours, name), tinyjax) == described(getattr(theirs, name), jax)
    donated = tinyjax.tree.leaves(tinyjax.tree.map(lambda x: x.donated, ours.args_info))
    assert donated == jax.tree.leaves(jax.tree.map(lambda x: x.donated, theirs.args_info))
    assert ours.donate_argnums == theirs.donate_argnums == (1,)
    assert str(ours.in_tree) == str(theirs.in_tree)
    assert str(ours.out_tree) == str(theirs.out_tree)
    assert tinyjax.tree.structure(ours.in_avals) == ours.in_tree


def test_where_arguments_lie_is_told_of_each() -> None:
    compiled = tinyjax.jit(lambda x, y: x + y).lower(1.0, 2.0).compile()
    (first, second), named = compiled.input_shardings
    assert first == second
    assert not named


@pytest.mark.parametrize("transformed", [tinyjax.jit, tinyjax.vmap, tinyjax.grad])
def test_a_compiled_program_is_not_transformed(transformed: Any) -> None:
    compiled = tinyjax.jit(jnp.sin).lower(1.0).compile()
    x = jnp.ones(2) if transformed is tinyjax.vmap else 1.0
    with raises(ArgumentError, match=r"'sin' is compiled, .* Call the jitted function"):
        transformed(compiled)(x)


def test_from_the_trace_to_the_result() -> None:
    traced = tinyjax.jit(model).trace(*ARGS, scale=2.0)
    assert isinstance(traced, stages.Traced)
    assert traced.fun_name == "model"
    assert traced.jaxpr.eqns
    lowered = traced.lower(lowering_platforms=("cpu",))
    assert lowered.as_text() == lowered.as_text("stablehlo")
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(*ARGS, scale=2.0)["y"], [6.0, 6.0])
    assert "HloModule" in compiled.as_text()
    assert compiled.runtime_executable() is not None
    assert lowered.cost_analysis()["flops"] == compiled.cost_analysis()["flops"]
    shapes = tinyjax.jit(model).eval_shape(*ARGS, scale=2.0)
    assert shapes["y"] == tinyjax.ShapeDtypeStruct((2,), "float32")
    for call in (
        lambda: lowered.as_text("mhlo"),
        lambda: lowered.compiler_ir("mhlo"),
        lambda: lowered.compile({"xla_flag": 1}),
        lambda: traced.lower(lowering_platforms=("tpu",)),
    ):
        with pytest.raises((ArgumentError, PlatformError)):
            call()


def test_the_program_before_the_passes_of_xla() -> None:
    ours, theirs = (
        lib.jit(lambda x: x * x + 1.0).lower(np.ones(3, np.float32)) for lib in (tinyjax, jax)
    )
    for dialect in (None, "stablehlo", "hlo"):
        made = [lowered.compiler_ir(dialect) for lowered in (ours, theirs)]
        assert type(made[0]) is type(made[1])
    assert ours.as_text("hlo") == ours.compiler_ir("hlo").as_hlo_text()
    operations = [
        re.findall(r"= \S+ (\w+)\(", lowered.as_text("hlo")) for lowered in (ours, theirs)
    ]
    assert sorted(operations[0]) == sorted(operations[1])


def located(w: Any, x: Any) -> Any:
    y = jnp.tanh(  # tanh
        w @ x  # dot_general
    )
    return lax.scan(
        lambda c, t: (
            c * t,  # mul
            c,
        ),
        y[0],
        y,
    )[0]


def lines_of_marks() -> dict[str, int]:
    """Return the lines of this file with the marks of ``located``, by primitive."""
    lines, first = inspect.getsourcelines(located)
    return {
        line.partition("  # ")[2].strip(): number
        for number, line in enumerate(lines, first)
        if "  # " in line
    }


def lines_in_hlo(text: str, name: str) -> set[tuple[str, int]]:
    """The files and lines of what a name became, by the tables at the head of compiled HLO."""
    files = dict(re.findall(r'^(\d+) "(/.*)"$', text, re.MULTILINE))
    located = re.findall(r"^(\d+) {file_name_id=(\d+) .* line=(\d+)", text, re.MULTILINE)
    places = {i: (files[file], int(line)) for i, file, line in located}
    frames = dict(re.findall(r"^(\d+) {file_location_id=(\d+)", text, re.MULTILINE))
    ids = re.findall(rf'op_name="{name}" stack_frame_id=(\d+)', text)
    return {places[frames[i]] for i in ids}


LOCATION = re.compile(r" loc\(.*\)$", re.MULTILINE)


def test_locations_name_the_users_lines() -> None:
    lowered = tinyjax.jit(located).lower(np.ones((3, 2), np.float32), np.ones(2, np.float32))
    text = lowered.as_text(debug_info=True)
    # the same program: what is added is at the ends of lines
    assert LOCATION.sub("", text) == lowered.as_text()
    compiled = lowered.compile().as_text(debug_info=True)
    for primitive, line in lines_of_marks().items():
        written = re.findall(rf'"{primitive}"\("[^"]*"\("[^"]*":(\d+):', text)
        assert set(map(int, written)) == {line}, primitive
        assert lines_in_hlo(compiled, primitive) == {(__file__, line)}, primitive
    first = inspect.getsourcelines(located)[0][1]
    start = f"{lines_of_marks()['tanh']}:{first.index('jnp.tanh') + 1}"
    assert f'loc("tanh"("located"("{__file__}":{start} to ' in text


def test_locations_are_written_when_asked_for() -> None:
    def f(x: Any) -> Any:
        return jnp.sin(x) * 3.25

    x = np.ones(3, np.float32)
    digest = tinyjax.jit(f).lower(x).jaxpr.digest
    with tinyjax.config.scoped(locations=True):
        lowered = tinyjax.jit(f).lower(x)
        assert __file__ in lowered.compile().as_text()
        assert lowered.jaxpr.digest == digest
    misses = tinyjax.cache.info().memory.misses
    tinyjax.jit(f)(x)
    assert tinyjax.cache.info().memory.misses == misses  # one program, whatever it says of lines


def test_locations_where_programs_call_others_or_lie_elsewhere() -> None:
    x = np.ones(4, np.float32)
    rows = tinyjax.NamedSharding(tinyjax.make_mesh((1,), ("data",)), tinyjax.P("data"))
    placed = tinyjax.jit(lambda x: jnp.sin(lax.with_sharding_constraint(x, rows)) + 1)
    outlined = tinyjax.jit(lambda x: lax.igamma(x, x))
    nested = tinyjax.jit(lambda x: tinyjax.jit(tinyjax.grad(jnp.sin))(x[0]))
    for f in (placed, outlined, nested):
        lowered = f.lower(x)
        assert LOCATION.sub("", lowered.as_text(debug_info=True)) == lowered.as_text()
        assert __file__ in lowered.compile().as_text(debug_info=True)


def sine_of_product(x: Any, y: Any, np_: Any) -> Any:
    return np_.exp(np_.tanh(x * y)) + TABLE


TABLE = jnp.arange(3.0)


def evaluate(lib: Any, literal: Any, jaxpr: Any, consts: Any, *args: Any) -> Any:
    """The interpreter with which JAX's documentation begins."""
    env: dict[Any, Any] = {}

    def read(var: Any) -> Any:
        return var.val if type(var) is literal else env[var]

    def write(var: Any, val: Any) -> None:
        env[var] = val

    for var, arg in zip(jaxpr.invars, args, strict=True):
        write(var, arg)
    for var, const in zip(jaxpr.constvars, consts, strict=True):
        write(var, const)
    for eqn in jaxpr.eqns:
        params = eqn.primitive.get_bind_params(eqn.params)
        outs = eqn.primitive.bind(*map(read, eqn.invars), **params)
        if not eqn.primitive.multiple_results:
            outs = [outs]
        for var, out in zip(eqn.outvars, outs, strict=True):
            write(var, out)
    return [read(var) for var in jaxpr.outvars]


def test_an_interpreter_of_ones_own() -> None:
    ours = tinyjax.make_jaxpr(lambda x, y: sine_of_product(x, y, jnp))(1.0, jnp.ones(3))
    theirs = jax.make_jaxpr(lambda x, y: jaxnp.exp(jaxnp.tanh(x * y)) + jaxnp.arange(3.0))(
        1.0, jaxnp.ones(3)
    )
    assert len(ours.jaxpr.constvars) == len(ours.consts) == len(ours.literals) == 1
    assert len(ours.jaxpr.invars) == len(theirs.jaxpr.invars) == 2
    (found,) = evaluate(tinyjax, Literal, ours.jaxpr, ours.literals, 0.5, jnp.ones(3))
    (expected,) = evaluate(
        jax,
        jax.extend.core.Literal,
        theirs.jaxpr,
        theirs.literals,
        jaxnp.float32(0.5),
        jaxnp.ones(3),
    )
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-6)
    (again,) = jaxpr_as_fun(ours)(0.5, jnp.ones(3))
    np.testing.assert_array_equal(found, again)
    (traced,) = tinyjax.jit(
        lambda x: evaluate(tinyjax, Literal, ours.jaxpr, ours.consts, x, jnp.ones(3))
    )(0.5)
    np.testing.assert_allclose(found, traced, rtol=1e-6)


def test_parameters_of_an_equation_are_a_mapping() -> None:
    closed = tinyjax.make_jaxpr(lambda x: lax.scan(lambda c, _: (c * 2, c), x, None, length=3))(1.0)
    (eqn,) = closed.eqns
    params = dict(eqn.params)
    assert params["length"] == eqn.params["length"] == 3
    with pytest.raises(KeyError):
        eqn.params["speed"]
    last, _ = eqn.primitive.bind(*[1.0 for _ in eqn.invars], **params)
    assert float(last) == 8.0
    changed = eqn.params.copy()
    assert changed.pop("length") == 3
    assert eqn.params["length"] == 3


def test_an_elementwise_primitive_returns_its_one_result_alone() -> None:
    assert not lax.exp_p.multiple_results
    assert not lax.exp_p.call_primitive
    assert float(lax.exp_p.bind(0.0)) == 1.0
    assert float(tinyjax.grad(lambda x: lax.mul_p.bind(x, x))(3.0)) == 6.0
    assert len(
        lax.sort_p.bind(jnp.ones(2), **tinyjax.make_jaxpr(jnp.sort)(jnp.ones(2)).eqns[0].params)
    )


@pytest.mark.parametrize("name", core.__all__)
def test_the_core_by_name(name: str) -> None:
    attribute: Callable[..., Any] = getattr(core, name)
    assert attribute is not None
    seen = []
    tinyjax.jit(lambda x: seen.append(isinstance(x, core.Tracer)))(1.0)
    assert seen == [True]

"""The names of JAX's top level: devices, scopes, settings, compared with the installed jax."""

import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params
from unchecked import unchecked

import tinyjax
import tinyjax.lax
import tinyjax.numpy as jnp
import tinyjax.scipy
from raising import raises
from tinyjax import config, sharding
from tinyjax._base.missing_names import ABSENT
from tinyjax.core import xla
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.errors import ArgumentError, PlatformError
from tinyjax.extend import core


def test_devices() -> None:
    assert repr(tinyjax.devices()) == repr(jax.devices())
    assert str(tinyjax.devices()[0]) == str(jax.devices()[0])
    assert tinyjax.local_devices() == tinyjax.devices("cpu")
    for attribute in ("platform", "id", "process_index", "device_kind"):
        ours, theirs = tinyjax.devices()[0], jax.devices()[0]
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    for name in ("device_count", "local_device_count", "process_count", "process_index"):
        assert getattr(tinyjax, name)() == getattr(jax, name)()
    assert tinyjax.default_backend() == jax.default_backend()
    assert tinyjax.process_indices() == jax.process_indices()
    with tinyjax.default_device(tinyjax.devices()[0]):
        pass
    with raises(PlatformError, match="'gpu'"), tinyjax.default_device("gpu"):
        pass
    placed = sharding.SingleDeviceSharding(tinyjax.devices()[0])
    assert placed.device_set == {tinyjax.devices()[0]}
    assert placed.is_fully_replicated
    assert placed.is_fully_addressable
    assert (placed.num_devices, placed.memory_kind) == (1, "device")


@pytest.mark.parametrize(
    "ask",
    [
        lambda module: module.devices("gpu"),
        lambda module: module.devices("no platform"),
        lambda module: module.local_devices(backend="gpu"),
        lambda module: module.device_count("gpu"),
        lambda module: module.process_count("gpu"),
        lambda module: module.process_index("gpu"),
        lambda module: module.process_indices("gpu"),
    ],
)
def test_programs_find_out_that_a_platform_is_not_there(ask: Callable[[Any], object]) -> None:
    # libraries ask within try: ... except RuntimeError:
    with pytest.raises(RuntimeError):
        ask(jax)
    with raises(PlatformError, match="'cpu'") as caught:
        ask(tinyjax)
    assert isinstance(caught.value, RuntimeError)
    assert not isinstance(caught.value, ValueError)  # which other libraries catch apart


def test_arrays_that_are_alive() -> None:
    x = jnp.arange(12345)
    assert any(a is x for a in tinyjax.live_arrays())
    del x
    assert not any(a.shape == (12345,) for a in tinyjax.live_arrays())


def test_types_of_values() -> None:
    for x in (1, 1.5, True, np.ones((2, 3), np.int8)):
        assert str(tinyjax.typeof(x)) == str(jax.typeof(x)).removeprefix("~")  # if weak
    assert tinyjax.typeof(1).weak_type
    assert tinyjax.typeof(tinyjax.ShapeDtypeStruct((3,), "int8")).shape == (3,)


def test_equations_tell_scopes_and_lines() -> None:
    """Tools that walk jaxprs read these, through transformations, too."""

    def layer(x: Any) -> Any:
        with tinyjax.named_scope("outer"), tinyjax.named_scope("inner"):
            y = jnp.sin(x)
        return tinyjax.named_call(jnp.cos, name="wave")(y) * x

    def stacks(fun: Any) -> set[tuple[str, str]]:
        eqns = tinyjax.make_jaxpr(fun)(jnp.ones(2)).eqns
        assert {eqn.source_info.location.filename for eqn in eqns} == {__file__}
        return {(str(eqn.primitive), eqn.source_info.name_stack) for eqn in eqns}

    assert stacks(layer) == {("sin", "outer/inner"), ("cos", "wave"), ("mul", "")}
    named = {("sin", "vmap(outer)/inner"), ("cos", "vmap(wave)")}
    assert named <= stacks(tinyjax.vmap(layer))
    (eqn,) = tinyjax.make_jaxpr(jnp.sin)(1.0).eqns
    bare = core.new_jaxpr_eqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params)
    assert (bare.source_info.name_stack, bare.source_info.traceback) == ("", None)
    made = (eqn.invars, eqn.outvars, eqn.primitive, eqn.params, eqn.effects)
    assert core.new_jaxpr_eqn(*made, bare.source_info).source is None
    assert core.new_jaxpr_eqn(*made, eqn.source_info).source is eqn.source


def _scoped_programs(lib: Any, np: Any) -> dict[str, Any]:
    scope = lib.named_scope

    def fun(x: Any) -> Any:
        with scope("a"):
            y = np.sin(x)
        with scope("b"), scope("c"):
            return y * np.cos(y)

    def slope(x: Any) -> Any:
        with scope("outer"):
            return lib.grad(fun)(x)

    def loop(x: Any) -> Any:
        return lib.lax.scan(lambda c, _: (fun(c), None), x, None, length=3)[0]

    def pulled(x: Any) -> Any:
        pull_back = lib.vjp(fun, x)[1]
        with scope("outer"):
            return pull_back(x)

    return {
        "fun": fun,
        "jvp": lambda x: lib.jvp(fun, (x,), (x,)),
        "grad": lib.grad(fun),
        "grad of grad": lib.grad(lib.grad(fun)),
        "vmap": lambda x: lib.vmap(fun)(x[None]),
        "vmap of grad": lambda x: lib.vmap(lib.grad(fun))(x[None]),
        "grad of vmap": lib.grad(lambda x: lib.vmap(fun)(x[None]).sum()),
        "grad in a scope": slope,
        "grad in a scope under grad and vmap": lib.grad(lambda x: lib.vmap(slope)(x[None]).sum()),
        "grad of jit": lib.grad(lib.jit(fun)),
        "grad of jit in a scope": lib.grad(lib.jit(slope)),
        "vmap of jit": lambda x: lib.vmap(lib.jit(fun))(x[None]),
        "scan": loop,
        "grad of scan": lib.grad(loop),
        "linearize": lambda x: lib.linearize(fun, x)[1](x),
        "vjp": pulled,
        "jacfwd": lib.jacfwd(fun),
    }


def _named(jaxpr: Any, programs: Any) -> set[tuple[str, str]]:
    """The names of equations in scopes, in programs within programs, too."""
    found = {(str(e.primitive), str(e.source_info.name_stack)) for e in jaxpr.eqns}
    inner = [_named(program, programs) for e in jaxpr.eqns for program in programs(e.params)]
    calculating = {"sin", "cos", "mul", "neg"}
    return {x for x in found if x[0] in calculating and x[1]}.union(*inner)


@pytest.mark.parametrize("name", _scoped_programs(tinyjax, jnp))
def test_scopes_name_the_transformations_they_are_in(name: str) -> None:
    ours = tinyjax.make_jaxpr(_scoped_programs(tinyjax, jnp)[name])(jnp.float32(1.0))
    theirs = jax.make_jaxpr(_scoped_programs(jax, jax.numpy)[name])(np.float32(1.0))
    expected = _named(theirs.jaxpr, jaxprs_in_params)
    assert expected
    assert _named(ours.jaxpr, jx.subjaxprs) == expected


def test_scopes_change_no_values() -> None:
    @tinyjax.named_scope("layer")
    def f(x: Any) -> Any:
        with tinyjax.named_scope("inner"):
            return x + 1

    assert int(tinyjax.jit(tinyjax.named_call(f, name="g"))(1)) == 2
    tinyjax.effects_barrier()


@pytest.mark.wrong_types
def test_scopes_say_what_they_take() -> None:
    wrong: Any = 3
    with raises(ArgumentError, match="text"), tinyjax.named_scope(wrong):
        pass
    with raises(ArgumentError, match="function"):
        tinyjax.named_call(wrong)


def test_data_while_a_function_is_staged() -> None:
    @tinyjax.jit
    def f(x: Any) -> Any:
        with tinyjax.ensure_compile_time_eval():
            y = jnp.arange(4)
            n = int(jnp.sum(tinyjax.jit(lambda z: 2 * z)(y)))
            traced = jnp.sin(x) * n
            slope = float(tinyjax.grad(lambda z: z**2)(3.0))
            relu = float(tinyjax.nn.relu(jnp.float32(2)))
        return traced + slope + relu

    assert float(f(1.0)) == pytest.approx(np.sin(1.0) * 12 + 8.0)
    with tinyjax.ensure_compile_time_eval():
        assert float(jnp.sin(0.0)) == 0.0


def test_functions_run_operation_by_operation() -> None:
    seen = []

    @tinyjax.jit
    def f(x: Any) -> Any:
        seen.append(type(x).__name__)
        return {"y": x * 2}

    f(1.0)
    with tinyjax.disable_jit():
        assert float(f(1.0)["y"]) == 2.0
        assert float(tinyjax.grad(lambda x: f(x)["y"])(1.0)) == 2.0
        with raises(ArgumentError, match=r"<lambda> .* must return arrays"):
            tinyjax.jit(lambda x, n: n, static_argnums=1)(1.0, "text")
    with tinyjax.disable_jit(False):
        f(1.0)
    assert seen == ["StagingTracer", "ConcreteArray", "JVPTracer"]


def test_clearing_the_caches() -> None:
    tinyjax.jit(lambda x: x + 1, tier="compiled")(1.0)
    assert tinyjax.cache.info().memory.size > 0
    tinyjax.clear_caches()
    assert tinyjax.cache.info().memory.size == 0


def test_the_environment_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = tinyjax.print_environment_info(return_string=True)
    assert found is not None
    assert f"tinyjax: {tinyjax.__version__}" in found
    assert tinyjax.print_environment_info() is None
    assert capsys.readouterr().out == found + "\n"


def test_settings_by_the_names_of_jax() -> None:
    config.update("jax_enable_x64", True)
    try:
        assert jnp.ones(1).dtype == np.float64
        assert config.read("jax_enable_x64") is True
        assert config.settings().default_dtypes == "float64"
    finally:
        config.update("jax_enable_x64", False)
        assert not config.settings().wide_dtypes
        config.update("wide_dtypes", True)
    assert jnp.ones(1).dtype == np.float32
    for name in ("jax_enable_x64", "x64_enabled"):
        assert not getattr(config, name)
    config.update("jax_platform_name", "cpu")
    assert config.read("jax_numpy_rank_promotion") == "allow"
    with raises(ArgumentError, match="tinyjax has no Pallas"):
        unchecked(config.update)("jax_pallas_use_mosaic_gpu", True)
    with raises(ArgumentError, match="cannot be 'gpu': it is an old name of jax_platforms"):
        config.update("jax_platform_name", "gpu")
    with raises(ArgumentError, match="no setting 'speed'"):
        config.read("speed")
    with pytest.raises(AttributeError):
        getattr(config, name[:3])


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("debug_nans", "debug_nans"),
        ("check_tracer_leaks", "check_leaks"),
        ("enable_checks", "check_jaxprs"),
        ("log_compiles", "explain"),
        ("explain_cache_misses", "explain"),
        ("threefry_partitionable", "threefry_partitionable"),
        ("disable_jit", "disable_jit"),
    ],
)
@pytest.mark.parametrize("value", [True, False])
def test_settings_of_a_block(name: str, setting: str, value: bool) -> None:
    before = config.settings()
    with getattr(tinyjax, name)(value):
        assert getattr(config.settings(), setting) is value
    assert config.settings() is before


def test_settings_that_have_one_value() -> None:
    before = config.settings()
    with (
        tinyjax.enable_x64(),
        tinyjax.numpy_rank_promotion("allow"),
        tinyjax.numpy_dtype_promotion("standard"),
        tinyjax.default_prng_impl("threefry2x32"),
        tinyjax.checking_leaks(),
    ):
        assert config.settings().default_dtypes == "float64"
        assert config.settings().check_leaks
    assert config.settings() is before
    with raises(ArgumentError, match="as good as typed"), tinyjax.legacy_prng_key("error"):
        pass


def test_settings_that_make_no_difference() -> None:
    before = config.settings()
    for name, value in (
        ("jax_persistent_cache_min_compile_time_secs", 0.5),
        ("jax_persistent_cache_enable_xla_caches", "all"),
        ("jax_enable_compilation_cache", True),
        ("jax_logging_level", "DEBUG"),
        ("jax_use_direct_linearize", True),
        ("jax_remat3", True),
    ):
        unchecked(config.update)(name, value)
        config.read(name)
    assert config.settings() is before
    assert not config.read("jax_enable_compilation_cache")


def test_compilations_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "tinyjax"), tinyjax.log_compiles():
        tinyjax.jit(lambda x: x * 17)(1.0)
    assert "lambda" in caplog.text


def test_names_that_are_not_here_say_why() -> None:
    theirs = {name for name in dir(jax) if not name.startswith("_")}
    modules = {name for name in theirs if isinstance(getattr(jax, name), ModuleType)}
    assert {*ABSENT} <= theirs
    assert theirs - {*dir(tinyjax), *ABSENT} <= modules  # of which some are found by accident
    for name, why in ABSENT.items():
        with raises(AttributeError, match=f"'{name}'. It is JAX's, and not here: "):
            getattr(tinyjax, name)
        assert not why.endswith(".")


@pytest.mark.parametrize(
    ("module", "name", "suggestion"),
    [
        (tinyjax, "gradd", "grad"),
        (tinyjax.numpy, "argsrt", "argsort"),
        (tinyjax.lax, "fori_lop", "fori_loop"),
        (tinyjax.scipy, "linag", "linalg"),
    ],
)
def test_misspelled_names_are_answered_with_what_was_meant(
    module: ModuleType, name: str, suggestion: str
) -> None:
    with raises(AttributeError, match=f"has no attribute '{name}'. Did you mean '{suggestion}'"):
        getattr(module, name)


def test_a_module_without_a_list_of_names_lacks_them_too() -> None:
    assert not hasattr(xla, "__all__")
    with raises(AttributeError, match=r"module 'tinyjax\.core\.xla' has no attribute 'nothing'\."):
        getattr(xla, "noth" + "ing")

"""Settings: for the process, for a block, for a thread or task, from the environment."""

import asyncio
import os
import re
import subprocess
import sys
import threading
import typing
from collections.abc import Iterator
from typing import Any

import attrs
import jax
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config, default_dtypes, grad, jit
from tinyjax._base import jax_settings
from tinyjax.config import Settings
from tinyjax.errors import ArgumentError


@pytest.fixture(autouse=True)
def settings_stay_as_they_were() -> Iterator[None]:
    before = config.settings()
    yield
    assert config.settings() == before


def test_the_settings_there_are() -> None:
    settings = Settings()
    assert settings.default_dtypes == "float32"
    assert settings.threefry_partitionable
    assert not settings.check_leaks
    assert not settings.check_jaxprs
    assert not settings.typecheck


def test_a_setting_of_a_block() -> None:
    with config.scoped(check_jaxprs=True, default_dtypes="float64") as inside:
        assert config.settings() is inside
        assert inside.check_jaxprs
        with config.scoped(check_jaxprs=False):
            assert not config.settings().check_jaxprs
            assert config.settings().default_dtypes == "float64"
        assert config.settings().check_jaxprs
    assert not config.settings().check_jaxprs


def test_settings_of_equal_values_are_one_object() -> None:
    before = config.settings()
    with config.scoped(check_jaxprs=True) as first:
        assert first is not before
        with config.scoped(check_jaxprs=False) as inside:
            assert inside is before
    with config.scoped(check_jaxprs=True) as again:
        assert again is first


def test_a_block_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), config.scoped(check_jaxprs=True):
        raise KeyError
    assert not config.settings().check_jaxprs


def test_a_setting_of_the_process() -> None:
    config.update("check_jaxprs", True)
    try:
        assert config.settings().check_jaxprs
        seen = []
        thread = threading.Thread(target=lambda: seen.append(config.settings().check_jaxprs))
        thread.start()
        thread.join()
        assert seen == [True]
    finally:
        config.update("check_jaxprs", False)


def test_a_setting_of_the_process_within_a_block() -> None:
    with config.scoped(default_dtypes="float64"):
        config.update("check_jaxprs", True)
        try:
            assert config.settings().check_jaxprs
            assert config.settings().default_dtypes == "float64"
        finally:
            config.update("check_jaxprs", False)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("true", True), ("ON", True), ("0", False), ("no", False), ("", False)],
)
def test_booleans_from_text(text: str, value: bool) -> None:
    with config.scoped(check_jaxprs=text) as inside:
        assert inside.check_jaxprs is value


def test_mistakes() -> None:
    with raises(
        ArgumentError, match=r"'chek_leaks'\. Did you mean 'check_leaks'\? The settings are:"
    ):
        unchecked(config.update)("chek_leaks", True)
    with raises(ArgumentError, match="a boolean setting takes True or False, but got 'maybe'"):
        unchecked(config.update)("check_leaks", "maybe")
    with raises(ArgumentError, match="default_dtypes takes float32, float64 or mixed"):
        config.update("default_dtypes", np.int32)


@pytest.mark.parametrize("wide", ["float64", np.float64, np.dtype("float64"), jnp.float64])
def test_default_dtypes(wide: object) -> None:
    with default_dtypes(wide):
        assert jnp.ones(2).dtype == np.float64
        assert jnp.asarray(1).dtype == np.int64
        assert jnp.asarray(1j).dtype == np.complex128
        assert jnp.arange(3).dtype == np.int64
        assert (jnp.arange(3) / 2).dtype == np.float64
        assert jit(lambda: jnp.zeros(2))().dtype == np.float64
        assert grad(lambda x: x * x)(1.0).dtype == np.float64
        assert (jnp.ones(2, "float32") * 2.5).dtype == np.float32  # a weak scalar widens nothing
    assert jnp.ones(2).dtype == np.float32
    assert jnp.asarray(1).dtype == np.int32


def test_what_is_kept_of_a_function_belongs_to_the_settings() -> None:
    def body(carry: tinyjax.Array, _: None) -> tuple[tinyjax.Array, tinyjax.Array]:
        return carry, jnp.ones(2)

    def loop(x: tinyjax.Array) -> tinyjax.Array:
        return tinyjax.lax.scan(body, x, None, 3)[1]

    compiled = jit(loop)
    x = jnp.arange(2)
    for wide in ("float32", "float64") * 2:
        with default_dtypes(wide):
            assert [f(x).dtype for f in (loop, compiled, compiled)] == [np.dtype(wide)] * 3


def test_64_bit_types_exist_whatever_the_default() -> None:
    x = np.arange(3.0)
    assert x.dtype == np.float64
    for found in (jnp.asarray(x), jit(lambda x: x + 1)(x), grad(lambda x: jnp.sum(x * x))(x)):
        assert found.dtype == np.float64
    assert jnp.asarray(2**40, dtype="int64").dtype == np.int64
    assert int(jit(lambda x: x + 1)(np.int64(2**40))) == 2**40 + 1


def test_a_thread_has_the_settings_of_the_process_not_of_our_block() -> None:
    seen = []
    with default_dtypes("float64"):
        thread = threading.Thread(target=lambda: seen.append(jnp.ones(1).dtype.name))
        thread.start()
        thread.join()
    assert seen == ["float32"]


def test_tasks_have_settings_of_their_own() -> None:
    async def dtype_in(name: str) -> str:
        with default_dtypes(name):
            await asyncio.sleep(0)
            return tinyjax.jit(lambda: jnp.ones(1))().dtype.name

    async def both() -> list[str]:
        return await asyncio.gather(*(dtype_in(name) for name in ("float64", "float32") * 3))

    assert asyncio.run(both()) == ["float64", "float32"] * 3


def test_settings_of_the_users_own() -> None:
    width, other = tinyjax.make_user_context(1), tinyjax.make_user_context()
    traced = []

    @tinyjax.jit
    def program(x: float) -> Any:
        traced.append((width.value, other.value))
        return x * width.value

    with other("a"):
        program(1.0)
        with width(5):
            assert float(program(1.0)) == 5.0
            with other("b"):
                program(1.0)
        program(1.0)
    program(1.0)
    program(1.0)
    assert traced == [(1, "a"), (5, "a"), (5, "b"), (1, None)]
    unhashable: Any = []
    with raises(ArgumentError, match="must have a hash"):
        _ = width(unhashable)
    with raises(ArgumentError, match="make_user_context"):
        config.update("user_contexts", "abc")


# jax_enable_x64 is no setting of ours: it is read as what jax would do, and sets two
@pytest.mark.parametrize(
    "name", sorted((jax_settings.RENAMED.keys() | jax_settings.FIXED.keys()) - {"jax_enable_x64"})
)
def test_each_setting_of_jax_can_be_set_to_what_it_is(name: str) -> None:
    now = config.read(name)
    block = getattr(config, name.removeprefix("jax_"), None)
    if block is not None and name not in ("jax_platforms", "jax_compilation_cache_dir"):
        with block(now):
            assert config.read(name) == now
    unchecked(config.update)(name, now)
    assert config.read(name) == now


#: What only JAX's developers set: flags of Pallas and of processors that are imitated.
NOT_SET = r"pallas|mosaic|mock|emit_pipeline|pjrt_client_create|check_vma"


def test_all_settings_of_jax_can_be_what_they_are_by_default() -> None:
    theirs = {n: x for n, x in jax.config.values.items() if not re.search(NOT_SET, n)}
    refused = {}
    for name in theirs.keys() - jax_settings.RENAMED.keys():
        try:
            config.update(name, getattr(theirs[name], "value", theirs[name]))
            now = config.read(name)
            assert now == getattr(config, name if name.startswith("jax_") else "", now)
        except ArgumentError as error:
            refused[name] = str(error)
    assert not refused


@pytest.mark.parametrize(
    ("setting", "values"),
    {
        "tracebacks": ("folded", "full"),
        "tier": ("compiled", "first", "host", "ready"),
        "compiler": ("auto", "c", "xla"),
        "dtype_promotion": ("standard", "strict"),
        "rank_promotion": ("allow", "warn", "raise"),
    }.items(),
)
def test_settings_of_words(setting: str, values: tuple[str, ...]) -> None:
    for value in values:
        with config.scoped(**{setting: value}):
            assert getattr(config.settings(), setting) == value


def test_an_unknown_setting_of_either_kind_is_answered() -> None:
    with raises(ArgumentError, match="no setting 'jax_nothing': if JAX has it"):
        unchecked(config.update)("jax_nothing", True)
    with raises(ArgumentError, match="Did you mean 'jax_traceback_filtering'"):
        unchecked(config.update)("jax_traceback_filterin", "off")


def test_what_is_empty_in_the_environment_is_not_set() -> None:
    empty = {f"TINYJAX_{field.name.upper()}": "" for field in attrs.fields(Settings)}
    command = [sys.executable, "-c", "from tinyjax import config; print(config.settings().tier)"]
    assert subprocess.check_output(command, env={**os.environ, **empty}) == b"first\n"


SWITCHES = {"1": True, "true": True, "T": True, "off": False, "n": False}
#: What variables of JAX's may be, where that is no switch, and what ``update`` takes for it.
TEXTS: dict[str, dict[str, object]] = {
    "jax_numpy_dtype_promotion": {"standard": "standard", "strict": "strict"},
    "jax_numpy_rank_promotion": {"allow": "allow", "warn": "warn", "raise": "raise"},
    "jax_compilation_cache_dir": {"/nowhere": "/nowhere"},
    "jax_compilation_cache_max_size": {"-1": -1, "12345": 12345},
    "jax_default_prng_impl": {"rbg": "rbg", "threefry2x32": "threefry2x32"},
    "jax_num_cpu_devices": {},  # it has been read
    "jax_default_device": {"cpu": "cpu"},
    "jax_default_matmul_precision": {name: name for name in jax_settings.PRECISIONS},
    "jax_platforms": {"cpu": "cpu"},
    "jax_traceback_filtering": {"off": "off", "auto": "auto"},
    **{
        name: {"log": "log", "disallow": "disallow"}
        for name in jax_settings.RENAMED
        if "transfer_guard" in name
    },
    **{
        name: {str(value): value for value in taken if value is not None}
        for name, (taken, _) in jax_settings.FIXED.items()
        if not isinstance(taken[0], bool)
    },
    **{name: {"1": 1, "something": "something"} for name in jax_settings.IDLE},
}


def test_variables_of_jax_do_what_update_does(monkeypatch: pytest.MonkeyPatch) -> None:
    before = config.Process.settings
    tried = 0
    for name in (*jax_settings.RENAMED, *jax_settings.FIXED, *jax_settings.IDLE):
        taken = jax_settings.FIXED.get(name, ((True, False),))[0]
        for text, value in TEXTS.get(name, SWITCHES).items():
            if name not in TEXTS and value not in taken:
                continue
            try:
                unchecked(config.update)(name, value)
                expected, config.Process.settings = config.Process.settings, before
                monkeypatch.setenv(name.upper(), text)
                config.heed_environment(warn=False)
                assert config.Process.settings is expected, (name, text)
            finally:
                config.Process.settings = before
                config.update("tier", before.tier)  # so that whoever follows settings hears of it
                tried += 1
        monkeypatch.delenv(name.upper(), raising=False)
    assert tried > 250


@pytest.mark.parametrize(
    ("variable", "text", "natively", "as_jax"),
    [
        ("JAX_DEBUG_NANS", "yes", "debug_nans=True", "debug_nans=True"),
        ("JAX_ENABLE_X64", "1", "float64", "float64"),
        ("JAX_DISABLE_JIT", "maybe", "ArgumentError: JAX_DISABLE_JIT=maybe", "JAX_DISABLE_JIT"),
        ("TINYJAX_TIER", "last", "ArgumentError: TINYJAX_TIER=last in", "TINYJAX_TIER=last"),
        ("JAX_RANDOM_SEED_OFFSET", "x", "ArgumentError: JAX_RANDOM_SEED_OFFSET=x", "OFFSET=x"),
        ("JAX_DEFAULT_MATMUL_PRECISION", "highest", "first", "first"),
        ("JAX_DEFAULT_MATMUL_PRECISION", "much", "ArgumentError.*PRECISION=much", "much"),
        ("JAX_DUMP_IR_TO", "/x", "Warning: JAX_DUMP_IR_TO=/x.*as_text", "ArgumentError.*_IR_TO"),
        ("JAX_PALLAS_VERBOSE_ERRORS", "1", "Warning.*has no Pallas", "Warning.*has no Pallas"),
    ],
)
def test_a_variable_when_the_package_is_imported(
    variable: str, text: str, natively: str, as_jax: str
) -> None:
    kept = {key: x for key, x in os.environ.items() if not key.startswith(("JAX", "TINYJAX"))}
    for module, expected in (("tinyjax", natively), ("tinyjax.as_jax", as_jax)):
        program = f"import {module}, sys; print(tinyjax.config.settings())"
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**kept, variable: text},
            capture_output=True,
            text=True,
            check=False,
        )
        assert re.search(expected, done.stdout + done.stderr), done
        assert done.stderr.count(variable) <= 3  # a warning comes once


@pytest.mark.skipif("TINYJAX_TYPECHECK" in os.environ, reason="typeguard removes the overloads")
def test_type_checkers_know_every_setting() -> None:
    names = {
        name
        for overload in typing.get_overloads(config.update)
        for name in names_in(typing.get_type_hints(overload)["name"])
    }
    settings = {field.name for field in attrs.fields(Settings) if field.init}
    of_jax = jax_settings.RENAMED.keys() | jax_settings.FIXED.keys() | jax_settings.IDLE.keys()
    assert names == settings | of_jax | {"jax_enable_compilation_cache"}


def names_in(hint: Any) -> set[str]:
    parts = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        return set(parts)
    return set().union(*map(names_in, parts))

"""Devices of other platforms than the processor: arrays on them, programs there, the default one.

A second client of XLA's for the processor stands in for a GPU: its two devices are a platform of
its own. Whatever does not depend on the kind of a device runs on it as on a GPU.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxlib.xla_client import make_cpu_client
from unchecked import unchecked

import tinyjax
import tinyjax.export
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, NamedSharding, P, config, io_callback, lax, random
from tinyjax._extensions.parallel.xla import plugins
from tinyjax.core import discovery
from tinyjax.core.devices import Device, device_at, known_platforms
from tinyjax.core.tracing.trace import current_trace, use_trace
from tinyjax.core.xla.backend import add_platform
from tinyjax.errors import ArgumentError, CheckFailedError, PlatformError, ShardingError
from tinyjax.memory import Space
from tinyjax.sharding import AxisType, SingleDeviceSharding

if "stand_in" not in [platform.name for platform in known_platforms()]:
    add_platform(make_cpu_client(asynchronous=True, num_devices=2), "stand_in", "stand_in", "cpu")
    add_platform(make_cpu_client(asynchronous=True, num_devices=1), "ruled", "ruled", "cuda")

FIRST, SECOND = tinyjax.devices("stand_in")
#: The processor, with the lowering rules for GPUs.
(RULED,) = tinyjax.devices("ruled")
PROCESSOR = tinyjax.devices("cpu")[0]
DATA = np.linspace(0.1, 0.9, 9, dtype=np.float32).reshape(3, 3)
DATA = DATA @ DATA.T + np.eye(3, dtype=np.float32)


def product(x: Array) -> Array:
    return jnp.sin(x @ x + 1.0)


def total(x: Array) -> Array:
    return jnp.sum(product(x) ** 2)


#: What is computed of a matrix, by eager operations and programs, under transformations.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "eager": product,
    "jit": tinyjax.jit(product),
    "grad": tinyjax.grad(total),
    "grad of jit": tinyjax.grad(tinyjax.jit(total)),
    "jit of hessian": tinyjax.jit(tinyjax.hessian(total)),
    "vmap": tinyjax.vmap(lambda row: row / jnp.sum(row)),
    "jit of vmap of grad": tinyjax.jit(tinyjax.vmap(tinyjax.grad(lambda row: jnp.sum(row**3)))),
    "scan": lambda x: lax.scan(lambda c, row: (c + row, c * row), x[0], x),
    "grad of scan": tinyjax.jit(
        tinyjax.grad(lambda x: lax.scan(lambda c, r: (c * r, None), x[0], x)[0].sum())
    ),
    "while_loop": lambda x: lax.while_loop(lambda c: jnp.sum(c) < 99, lambda c: 2 * c, x),
    "eager LAPACK": jnp.linalg.cholesky,
    "jit of LAPACK": tinyjax.jit(lambda x: jnp.linalg.svd(x, compute_uv=False)),
    "indexing": lambda x: (x[1], x[jnp.array([0, 2])], x.at[0].set(1.0)),
    "numbers of two kinds": lambda x: x.astype(jnp.bfloat16) * 2 + jnp.int32(1),
    "callback": tinyjax.jit(
        lambda x: tinyjax.pure_callback(np.sin, tinyjax.ShapeDtypeStruct(x.shape, x.dtype), x)
    ),
}


def check(actual: Any, expected: Any, device: Device) -> None:
    leaves = tinyjax.tree.leaves(actual)
    for x, y in zip(leaves, tinyjax.tree.leaves(expected), strict=True):
        assert x.devices() == {device}
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(np.asarray(x, np.float64), np.asarray(y, np.float64), 1e-5, 1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_computed_there_is_there(name: str) -> None:
    fun = PROGRAMS[name]
    expected = fun(jnp.array(DATA))
    x = tinyjax.device_put(DATA, SECOND)
    for _ in range(2):  # the usual way, the short one
        found = fun(x)
        check(found, expected, SECOND)
        assert all(leaf.committed for leaf in tinyjax.tree.leaves(found))
    with tinyjax.default_device(FIRST):
        for _ in range(2):
            found = fun(jnp.array(DATA))
            check(found, expected, FIRST)
            assert not any(leaf.committed for leaf in tinyjax.tree.leaves(found))
        check(fun(x), expected, SECOND)
    assert {leaf.devices().pop() for leaf in tinyjax.tree.leaves(expected)} == {PROCESSOR}


def test_an_array_there() -> None:
    x = tinyjax.device_put(DATA, FIRST)
    here = jnp.array(DATA)
    assert (x.device, x.devices(), x.sharding) == (FIRST, {FIRST}, SingleDeviceSharding(FIRST))
    assert (repr(x), str(x), f"{x[0, 0]:.2f}") == (repr(here), str(here), "1.14")
    assert (x.committed, x.is_fully_addressable, x.is_deleted()) == (True, True, False)
    assert (x.tolist(), float(x[0, 0]), bool(x[0, 0] > 0)) == (
        *(here.tolist(), float(here[0, 0]), True),
    )
    np.testing.assert_array_equal(tinyjax.device_get(x), DATA)
    assert (x.platform(), here.platform()) == ("stand_in", "cpu")
    assert any(x is y for y in tinyjax.live_arrays("stand_in"))
    assert not any(x is y for y in tinyjax.live_arrays("cpu"))
    (shard,) = x.addressable_shards
    assert (shard.device, shard.data.devices()) == (FIRST, {FIRST})
    keys = tinyjax.device_put(random.split(random.key(0), 2), FIRST)
    np.testing.assert_array_equal(
        random.key_data(keys), random.key_data(random.split(random.key(0), 2))
    )
    assert random.normal(keys[0], (2,)).devices() == {FIRST}
    again = pickle.loads(pickle.dumps(x.sharding))
    assert tinyjax.device_put(x, again).devices() == {FIRST}
    x.delete()
    assert x.is_deleted()


@pytest.mark.parametrize("end", [FIRST, SECOND, PROCESSOR, "cpu:1", "rows"], ids=str)
@pytest.mark.parametrize("start", [FIRST, PROCESSOR, "cpu:1", "rows"], ids=str)
def test_moving(start: Any, end: Any) -> None:
    rows = NamedSharding(
        tinyjax.make_mesh((2,), "x", AxisType.Auto, devices=[SECOND, FIRST]), P("x")
    )
    places = {"rows": rows, "cpu:1": tinyjax.devices("cpu")[1]}
    there = places.get(end, end)
    data = DATA[:2].astype(jnp.bfloat16)
    x = tinyjax.device_put(tinyjax.device_put(data, places.get(start, start)), there)
    assert x.devices() == ({there} if isinstance(there, Device) else {FIRST, SECOND})
    np.testing.assert_array_equal(np.asarray(x), data)
    check(x + x, data + data, there) if isinstance(there, Device) else None


def test_programs_on_several_devices() -> None:
    mesh = tinyjax.make_mesh((2,), "x", AxisType.Auto, devices=tinyjax.devices("stand_in"))
    assert mesh.device_ids.tolist() == [0, 1]
    x = tinyjax.device_put(np.arange(4.0), NamedSharding(mesh, P("x")))
    assert tinyjax.jit(lambda x: x * 2)(x).sharding == x.sharding
    assert float(tinyjax.jit(jnp.sum)(x)) == 6
    summed = tinyjax.shard_map(
        lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()
    )
    np.testing.assert_array_equal(tinyjax.jit(summed)(x), [2.0, 4.0])
    np.testing.assert_array_equal(
        tinyjax.pmap(lambda x: lax.psum(x, "i"), "i", devices=[FIRST, SECOND])(np.arange(2.0)), 1.0
    )


def test_the_device_or_the_platform_of_a_program() -> None:
    x = np.float32(2)
    assert tinyjax.jit(jnp.sin, device=SECOND)(x).devices() == {SECOND}
    assert tinyjax.jit(jnp.sin, backend="stand_in")(x).devices() == {FIRST}
    assert tinyjax.jit(jnp.sin, backend="cpu")(x).devices() == {PROCESSOR}
    compiled = tinyjax.jit(jnp.sin).lower(tinyjax.device_put(x, SECOND)).compile()
    assert compiled.input_shardings == (((SingleDeviceSharding(SECOND),)), {})
    assert compiled(tinyjax.device_put(x, SECOND)).devices() == {SECOND}
    assert jnp.ones(2, device=SECOND).devices() == {SECOND}


def test_python_functions_are_called_from_programs_there(
    capfd: pytest.CaptureFixture[str],
) -> None:
    seen: list[Any] = []
    double = tinyjax.jit(lambda x: 2 * x)

    def note(x: Any) -> None:
        made = double(x)  # which runs on the processor meanwhile
        seen.append((int(made), made.devices().pop()))

    def program(x: Array) -> Array:
        def body(carry: Array, row: Array) -> tuple[Array, Array]:
            io_callback(note, None, row, ordered=True)
            return carry + row, row

        total, rows = lax.scan(body, jnp.int32(0), x)
        tinyjax.debug.print("total {t}", t=total)
        kind = tinyjax.ShapeDtypeStruct((), np.int32)
        halve = partial(tinyjax.pure_callback, lambda a: a // 2, kind, vmap_method="sequential")
        halves = tinyjax.vmap(halve)(rows)
        return tinyjax.error_if(halves, total > 6, "too much")

    jitted = tinyjax.jit(program)
    x = np.array([1, 2, 3], np.int32)
    with tinyjax.default_device(FIRST):
        for given, device in ((jnp.array(x), FIRST), (tinyjax.device_put(x, SECOND), SECOND)):
            check(jitted(given), x // 2, device)
            assert seen == [(2, PROCESSOR), (4, PROCESSOR), (6, PROCESSOR)]
            seen.clear()
    assert capfd.readouterr().out == "total 6\n" * 2
    text = tinyjax.jit(program).lower(tinyjax.device_put(x, SECOND)).compile().as_text()
    assert "xla_ffi_python_cpu_callback" in text
    with raises(CheckFailedError, match="too much"):
        jitted(tinyjax.device_put(x + 1, SECOND))
    # devices that compute together leave a program with callbacks to the host
    mesh = tinyjax.make_mesh((2,), "x", AxisType.Auto, devices=[FIRST, SECOND])
    assert jitted(tinyjax.device_put(x, NamedSharding(mesh, P()))).devices() == {FIRST, SECOND}


def test_devices_that_do_not_go_together() -> None:
    x, y = (tinyjax.device_put(DATA, device) for device in (FIRST, SECOND))
    for add in (jnp.add, tinyjax.jit(jnp.add)):
        with raises(ShardingError, match="on the devices stand_in:0 and on stand_in:1"):
            add(x, y)
        with raises(ShardingError, match="on the devices cpu:1 and on stand_in:1"):
            add(tinyjax.device_put(DATA, tinyjax.devices("cpu")[1]), y)
        # what was put nowhere goes with the others
        assert add(x, jnp.array(DATA)).devices() == {FIRST}
        with tinyjax.default_device(FIRST):
            made = jnp.array(DATA)
            assert made.devices() == {FIRST}
            assert add(made, y).devices() == {SECOND}
        assert add(made, y).devices() == {SECOND}
        assert add(made, 1.0).devices() == {PROCESSOR}
    with raises(ShardingError, match="'pinned_host'"):
        tinyjax.device_put(x, Space.Host)


def test_devices() -> None:
    assert [repr(FIRST), str(SECOND), SECOND.id, SECOND.platform] == [
        *("StandInDevice(id=0)", "stand_in:1", 1, "stand_in"),
    ]
    assert device_at(SECOND.number) == SECOND
    assert (FIRST.memory_stats(), FIRST.device_kind, FIRST.process_index) == (None, "cpu", 0)
    assert [memory.kind for memory in FIRST.addressable_memories()] == ["device"]
    assert tinyjax.local_devices(backend="stand_in") == [FIRST, SECOND]
    assert tinyjax.device_count("stand_in") == 2
    for name in ("gpu", "tpu", "foo"):
        with raises(PlatformError, match=f"no devices of the platform '{name}'"):
            tinyjax.devices(name)
        with raises(PlatformError, match=name):
            tinyjax.jit(jnp.sin, backend=name)


def test_the_plugin_is_found_without_running_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert discovery.installed() is None
    for part, packages in {"a": ("xla_other",), "b": ("xla_cuda12", "xla_cuda13")}.items():
        for package in packages:  # the parts of a namespace
            folder = tmp_path / part / "jax_plugins" / package
            folder.mkdir(parents=True)
            (folder / "__init__.py").write_text("raise AssertionError('it was run')")
        monkeypatch.syspath_prepend(tmp_path / part)
    assert discovery.installed() is None
    library = tmp_path / "b" / "jax_plugins" / "xla_cuda12" / "xla_cuda_plugin.so"
    library.touch()
    found = discovery.installed()
    assert found == discovery.Plugin(library, "jax_cuda12_plugin", 12)
    # of its functions there is no package of jaxlib's version
    with raises(PlatformError, match="jax-cuda12-plugin is not installed: pip install"):
        tinyjax.devices("cuda")
    monkeypatch.setenv("JAX_PLATFORMS", "cuda, CPU")
    before = config.Process.settings
    with use_trace(current_trace()):
        config.heed_environment()
        try:
            assert config.settings().platforms == "cuda,cpu"
        finally:
            config.Process.settings = before


def test_an_assembler_is_found_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages of other parts of CUDA have the same folder, without it."""
    folder = tmp_path / "nvidia" / "cu13"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("CUDA_ROOT", raising=False)
    find = plugins.toolkit.__wrapped__
    assert find() is None
    (folder / "bin").mkdir()
    (folder / "bin" / "ptxas").touch()
    assert find() == folder
    monkeypatch.setenv("CUDA_ROOT", "/elsewhere")
    assert find() == Path("/elsewhere")


def test_the_default() -> None:
    assert (tinyjax.default_backend(), tinyjax.devices()[0]) == ("cpu", PROCESSOR)
    with config.scoped(platforms="stand_in,cpu"):
        assert (tinyjax.default_backend(), tinyjax.devices()) == ("stand_in", [FIRST, SECOND])
        assert jnp.arange(3).devices() == random.key(0).devices() == {FIRST}
        assert tinyjax.make_mesh((2,), "x").devices.tolist() == [FIRST, SECOND]
        with tinyjax.default_device("cpu"):
            assert (jnp.ones(2) + 1).devices() == {PROCESSOR}
            assert tinyjax.default_backend() == "stand_in"
    with tinyjax.default_device("stand_in"):
        assert tinyjax.default_backend() == "cpu"
        assert jnp.zeros(2).devices() == tinyjax.device_put(1.0).devices() == {FIRST}
        jitted = tinyjax.jit(lambda x, y: {"scaled": x * y})
        for number in (2.0, 3.0, 4.0, np.float32(5), jnp.float32(6)):
            x = np.full(3, number, np.float32)
            check(jitted(x, number), {"scaled": x * float(number)}, FIRST)
            check(jitted(y=x, x=jnp.array(number)), [x * float(number)], FIRST)
            check(jnp.array(x) + number, x + number, FIRST)
        found = tinyjax.jit(jnp.sin).lower(1.0).compile()
        assert found.output_shardings == SingleDeviceSharding(FIRST)
        assert found(1.0).devices() == {FIRST}
        exported = tinyjax.export.export(tinyjax.jit(total))(jnp.array(DATA))
        check(tinyjax.grad(exported.call)(jnp.array(DATA)), PROGRAMS["grad"](DATA), FIRST)
    with config.scoped(platforms="nowhere"), raises(PlatformError, match="'nowhere'"):
        tinyjax.devices()


@pytest.mark.wrong_types
def test_what_is_no_default() -> None:
    with raises(ArgumentError, match="default_device takes a device"):
        unchecked(tinyjax.default_device)(3).__enter__()
    with raises(ShardingError, match="the default device is to be CpuDevice"):
        tinyjax.default_device(Device(id=99)).__enter__()


def test_complex_convolutions_by_rules_for_gpus() -> None:
    """They are made of those of real numbers: XLA has no others on GPUs."""
    client = make_cpu_client(asynchronous=True, num_devices=1)
    add_platform(client, "by_rules_for_gpus", "by_rules_for_gpus", "cuda")
    rng = np.random.default_rng(0)
    x, w = [
        rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in ((2, 4, 9), (6, 2, 3))
    ]

    def conv(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x, w, (2,), [(1, 2)], rhs_dilation=(2,), feature_group_count=2
        )

    program = tinyjax.jit(conv, backend="by_rules_for_gpus")
    assert program.lower(x, w).as_text().count("stablehlo.convolution") == 4
    np.testing.assert_allclose(program(x, w), conv(x, w), rtol=1e-12)


def product_of(dtype: str, preferred: str) -> Callable[..., Any]:
    """A product with a wider result; XLA's for GPUs computes in the operands' dtype."""
    return lambda x, y: lax.dot_general(
        x.astype(dtype), y.astype(dtype), (((1,), (0,)), ((), ())), preferred_element_type=preferred
    )


def parts_of(x: Array) -> tuple[Array, Array]:
    return x.real, x.imag


def convolved(dtype: str) -> Callable[..., Any]:
    return lambda x, w: lax.conv(x.astype(dtype), w.astype(dtype), (1, 2), "SAME")


WHOLE = np.arange(-300, 300, dtype=np.int32).reshape(2, 3, 10, 10) * 7_654_321
KERNEL = np.arange(-20, 25, dtype=np.int32).reshape(5, 3, 3, 1) * 1_234_567
PLACES = np.array([[1, 2, 1], [1, 1, 0]])

#: What is written otherwise for GPUs than for the processor, and its operands.
RULES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        f"{given} to {wanted}": (product_of(given, wanted), (WHOLE[0, 0], WHOLE[1, 1]))
        for given, wanted in (("int8", "int32"), ("uint8", "float32"), ("int32", "int64"))
    },
    **{
        f"{given} to {wanted}": (product_of(given, wanted), (DATA, DATA))
        for given, wanted in (
            ("float32", "float64"),
            ("bfloat16", "float32"),
            ("float16", "float64"),
        )
    },
    **{
        f"convolution of {dtype}": (convolved(dtype), (WHOLE, KERNEL))
        for dtype in ("int8", "uint16", "int32", "uint32")
    },
    "complex convolution": (
        lambda x, w: parts_of(lax.conv(x * 1j, w + 1j, (1, 1), "SAME")),
        (WHOLE / 1e9, KERNEL / 1e7),
    ),
    "windows that overlap": (
        lambda x, index: jnp.zeros((3, 3), "int32").at[index, :2].set(x[0, :2, :3, :2]),
        (WHOLE, PLACES),
    ),
    "gradient of overlapping windows": (
        tinyjax.grad(lambda x, index: jnp.sum(jnp.zeros(4).at[index].set(x) ** 2)),
        (DATA[:2], PLACES),
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_what_is_written_otherwise_for_gpus(name: str) -> None:
    fun, operands = RULES[name]
    check(
        tinyjax.jit(fun)(*tinyjax.device_put(operands, RULED)),
        tinyjax.jit(fun)(*operands),
        RULED,
    )


def test_convolutions_of_64_bits_are_refused() -> None:
    with raises(PlatformError, match="of int64 are not computed on GPUs"):
        tinyjax.jit(convolved("int64"))(tinyjax.device_put(WHOLE, RULED), KERNEL)


#: A process whose machine shows a GPU: what is put nowhere lies there, in every thread.
ON_A_GPU = """
import stand_in_gpu
import sys, threading
import numpy as np, tinyjax, tinyjax.numpy as jnp
from tinyjax import export

first, second = tinyjax.devices("gpu")
assert tinyjax.default_backend() == "gpu"
places = []

def look():
    x = jnp.ones(3) + 1
    large = jnp.full((2048, 2048), 3.0)
    assert float(large.sum()) == 3.0 * 2048**2
    places.extend([x, large, tinyjax.jit(jnp.sin)(1.0), tinyjax.grad(jnp.sum)(x)])

threads = [threading.Thread(target=look) for _ in range(2)]
[t.start() for t in threads], look(), [t.join() for t in threads]
assert len(places) == 12 and {d for x in places for d in x.devices()} == {first}, places

data = np.arange(300_000.0)
lent = [jnp.asarray(data), jnp.array(data), *map(tinyjax.device_put, [data, data], [None, second])]
data[:] = 0  # which nothing that was made of it sees
assert [float(x[7]) for x in lent] == [7.0] * 4
assert [d for x in lent for d in x.devices()] == [first, first, first, second]

double = export.export(tinyjax.jit(lambda x: 2 * x))(data)
assert double.platforms == (export.default_export_platform(),) == ("cpu",)  # whose rules it has
assert double.call(data).devices() == {first}
with tinyjax.default_device("cpu"):
    assert (jnp.ones(3) + 1).devices() == {tinyjax.devices("cpu")[0]}
print("as it should be")
"""


def test_a_gpu_is_the_default_device() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ON_A_GPU],
        cwd=Path(__file__).parents[2],
        env={k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "as it should be\n", done.stderr

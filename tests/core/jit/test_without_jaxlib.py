"""A process in which jaxlib cannot be loaded, nor a thread be started, as in a browser's Python."""

import json
import subprocess
import sys
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

#: Programs of modules named as in JAX, each of which XLA would compile for its length or its calls.
EVALUATED = {
    "eager": "jnp.sin(x)",
    "grad": "jax.grad(lambda x: jnp.sin(x).sum())(x)",
    "vmap": "jax.vmap(jnp.cumsum)(jnp.outer(x, x))",
    "random": "jax.random.normal(jax.random.key(0), (3,))",
    "often": "[jax.jit(lambda x: jnp.sin(x) * 2)(x + i) for i in range(20)][-1]",
    "large": "jax.jit(lambda x: jnp.exp(jnp.sin(x)).mean())(jnp.full(10**6, 0.5))",
    "erf": "jax.scipy.special.erf(jnp.full(1 << 24, 0.5))[-3:]",
    "loop": "jax.jit(lambda x: jax.lax.fori_loop(0, 10**4, lambda i, c: c * 0.5 + i, x))(x)",
    "endless": "jax.jit(lambda n: jax.lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))(10**5)",
    "scan": "jax.jit(jax.grad(lambda x: jax.lax.scan(lambda c, y: (c * y, c), 1.0, x)[0]))(x + 1)",
    "linalg": "jax.jit(jnp.linalg.inv)(jnp.eye(3) * 2)",
    "callback": "jax.jit(lambda x: jax.pure_callback(np.sin, x, x))(x)",
    "guard": "jax.transfer_guard('disallow')(lambda: jnp.sin(x))()",
    "put": "jax.device_put(jax.device_put(x), jax.devices()[0]) + 1",
}
#: What only XLA does, and what else says that it is not there.
REFUSED = {
    "tier": "jax.jit(lambda x: x, tier='compiled')(x)",
    "compile": "jax.jit(jnp.sin).lower(x).compile()",
    "hlo": "jax.jit(jnp.sin).lower(x).as_text('hlo')",
    "mesh": "jax.device_put(x, jax.NamedSharding(jax.make_mesh((1,), ('x',)), jax.P('x')))",
    "shard_map": (
        "jax.jit(jax.shard_map(lambda x: x, mesh=jax.make_mesh((1,), ('x',)), "
        "in_specs=jax.P(), out_specs=jax.P()))(x)"
    ),
    "gpu": "jax.devices('gpu')",
    "export": "jax.export.export(jax.jit(jnp.sin))(x)",
    "ffi": "jax.ffi.include_dir()",
    "profiler": "jax.profiler.start_trace('nowhere')",
    "distributed": "jax.distributed.initialize('localhost:1', 1, 0)",
    "cache": "import_module('tinyjax.experimental.serialize_executable')",
}
PREDICATES = {
    "threads": (
        "np.array_equal(jax.vmap(jnp.cumsum, threads=2)(jnp.outer(x, x)),"
        " np.cumsum(np.outer(x, x), 1))"
    ),
    "guarded": "'host-to-device transfer by sin' in guarded(np.ones(3))",
    "text": "'stablehlo.sine' in jax.jit(jnp.sin).lower(x).as_text()",
    "explained": "'all calls are evaluated' in str(jax.jit(jnp.sin).explain(x))",
    "devices": "str(jax.devices()) == '[CpuDevice(id=0)]'",
    "cleared": "jax.clear_caches() is None and jax.cache.clear() is None",
}
PROGRAM = """
import json, os, sys, threading, warnings
from importlib import import_module
import numpy as np

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "jaxlib":
            raise ImportError("not for this machine", name=name)

def start(thread):
    raise RuntimeError("can't start new thread")

sys.meta_path.insert(0, Finder())
sys.platform = "emscripten"
threading.Thread.start = start
for name in ("fork", "forkpty", "geteuid", "register_at_fork", "sched_getaffinity"):
    delattr(os, name)
import tinyjax as jax, tinyjax.numpy as jnp
from tinyjax.errors import MissingJaxlibError

@jax.transfer_guard("disallow")
def guarded(x):
    try:
        return str(jnp.sin(x))
    except Exception as error:
        return str(error)

evaluated, refused, predicates = json.load(sys.stdin)
names = dict(vars(), x=jnp.arange(5.0))
output = {}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for name, text in evaluated.items():
        output[name] = np.asarray(eval(text, names)).tolist()
    for name, text in refused.items():
        try:
            eval(text, names)
        except MissingJaxlibError as error:
            output[name] = str(error)
    for name, text in predicates.items():
        output[name] = eval(text, names)
output["warnings"] = [str(one.message) for one in caught]
print(json.dumps(output))
"""


@pytest.fixture(scope="module")
def output() -> dict[str, Any]:
    """Return the process's output for each program."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([EVALUATED, REFUSED, PREDICATES]),
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path), "TINYJAX_TIER": "first"},
    )
    assert not process.returncode, process.stderr
    outputs: dict[str, Any] = json.loads(process.stdout)
    return outputs


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", EVALUATED)
def test_programs_are_evaluated(name: str, output: dict[str, Any]) -> None:
    names = {"jax": jax, "jnp": jax.numpy, "np": np, "x": jax.numpy.arange(5.0)}
    expected = np.asarray(eval(EVALUATED[name], names))
    np.testing.assert_allclose(np.asarray(output[name]), expected, 1e-5, 1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing_is_said(name: str, output: dict[str, Any]) -> None:
    assert "jaxlib cannot be loaded: not for this machine" in output[name]
    assert "pip install 'jaxlib>=" in output[name]
    assert "in <module>" in output[name], "the user's line"


@pytest.mark.parametrize("name", PREDICATES)
def test_what_needs_no_compiler_works(name: str, output: dict[str, Any]) -> None:
    assert output[name] is True


def test_there_is_one_warning(output: dict[str, Any]) -> None:
    (warning,) = output["warnings"]
    assert "jaxlib cannot be loaded: not for this machine. Without it, NumPy evaluates" in warning

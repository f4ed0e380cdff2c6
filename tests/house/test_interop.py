"""tinyjax beside jax, NumPy and others; programs that need it run in a process of their own."""

import math
import os
import subprocess
import sys
import textwrap
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, jit

TINYJAX = """
import numpy as np
import tinyjax, tinyjax.numpy as tnp

def check_tinyjax():
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.complex128):
        x = np.arange(4).astype(dtype)
        eager = tnp.asarray(x) * tnp.asarray(x)
        fast = tinyjax.jit(lambda x: x * x)(x)
        assert eager.dtype == fast.dtype == dtype, (eager.dtype, fast.dtype, dtype)
        np.testing.assert_array_equal(eager, x * x)
        np.testing.assert_array_equal(fast, x * x)
    x = np.linspace(0, 1, 5)
    gradient = tinyjax.jit(tinyjax.grad(lambda x: tnp.sum(tnp.sin(x))))(x)
    assert gradient.dtype == np.float64
    np.testing.assert_allclose(gradient, np.cos(x), rtol=1e-15)
    assert tnp.ones(2).dtype == np.float32
    assert tinyjax.jit(lambda: tnp.ones(2))().dtype == np.float32
    # a result that comes from the device and goes back to it
    y = tinyjax.jit(lambda x: x + 1)(tinyjax.jit(lambda x: x * 2)(x))
    np.testing.assert_allclose(y, 2 * x + 1)
    donated = tinyjax.jit(lambda x: x + 1, donate_argnums=0)(y)
    np.testing.assert_allclose(donated, 2 * x + 2)
    # LAPACK's functions are registered under the same names by both
    np.testing.assert_allclose(tinyjax.jit(tnp.linalg.cholesky)(4 * np.eye(2)), 2 * np.eye(2))
"""

JAX = """
import jax, jax.numpy as jnp, numpy as np

def check_jax(x64):
    assert jax.config.jax_enable_x64 == x64
    x = np.arange(4.0)
    wide = np.float64 if x64 else np.float32
    for out in (jnp.asarray(x), jax.jit(lambda x: x * 1)(x), jnp.ones(4) + x):
        assert out.dtype == wide, (out.dtype, wide)
        assert isinstance(out, jax.Array)
    assert jnp.arange(3).dtype == (np.int64 if x64 else np.int32)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x))))(x), np.cos(x), 1e-6)
    np.testing.assert_allclose(jax.vmap(jnp.sin)(x), np.sin(x), 1e-6)
    np.testing.assert_allclose(jnp.linalg.cholesky(4 * jnp.eye(2)), 2 * np.eye(2))
"""

BOTH_ORDERS = {
    "tinyjax first": f"{TINYJAX}\ncheck_tinyjax()\n{JAX}\n",
    "jax first": f"{JAX}\ncheck_jax(X64)\n{TINYJAX}\n",
    "both imported before either is used": f"{TINYJAX}\n{JAX}\n",
}


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program as a user would, with no environment of this suite's, but compiled."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "TF_", "TINYJAX_"))
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        env={**clean, "TINYJAX_TIER": "compiled", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def succeeds(program: str, **environment: str) -> str:
    done = run(program, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("x64", [False, True], ids=["x64 off", "x64 on"])
@pytest.mark.parametrize("order", BOTH_ORDERS)
def test_jax_in_the_same_process(order: str, x64: bool) -> None:
    program = (
        f"X64 = {x64}\n{BOTH_ORDERS[order]}"
        "for _ in range(2):\n"
        "    check_tinyjax()\n"
        "    check_jax(X64)\n"
        "# arrays of each as arguments of the other\n"
        "ours, theirs = tnp.arange(3.0), jnp.arange(3.0)\n"
        "assert tnp.asarray(np.asarray(theirs)).shape == (3,)\n"
        "np.testing.assert_array_equal(jnp.asarray(np.asarray(ours)), theirs)\n"
    )
    own = {"TINYJAX_DEFAULT_DTYPES": "float32"}  # which is heeded rather than JAX's variable
    succeeds(program, JAX_ENABLE_X64=str(int(x64)), JAX_PLATFORMS="cpu", **own)


@pytest.mark.slow
def test_jax_x64_may_be_switched_while_tinyjax_runs() -> None:
    succeeds(
        f"{TINYJAX}\n{JAX}\n"
        "for x64 in (False, True, False):\n"
        "    jax.config.update('jax_enable_x64', x64)\n"
        "    check_tinyjax()\n"
        "    check_jax(x64)\n"
        "with jax.enable_x64(True):\n"
        "    check_tinyjax()\n"
        "check_jax(False)\n",
        JAX_PLATFORMS="cpu",
    )


@pytest.mark.slow
def test_importing_tinyjax_imports_no_jax() -> None:
    loaded = succeeds(
        """
        import sys
        import tinyjax, tinyjax.numpy as jnp
        tinyjax.jit(tinyjax.grad(lambda x: jnp.sum(jnp.sin(x))))(jnp.ones(3))
        print(*sorted(name for name in sys.modules if name.split(".")[0] in ("jax", "scipy")))
        """
    )
    assert loaded.split() == []


@pytest.mark.slow
def test_what_is_loaded_before_it_is_needed() -> None:
    loaded = succeeds(
        """
        import sys
        import tinyjax, tinyjax.numpy as jnp
        jnp.arange(3.0) + 1
        print(*sys.modules)
        """
    )
    modules = set(loaded.split())
    assert "tinyjax.core.jit" in modules
    assert not {"jaxlib", "typeguard", "IPython", "matplotlib", "rich"} & modules
    later = (
        "core.tracing.jaxpr",
        "core.tracing.staging",
        "lax",
        "numpy.reductions",
        "core.primitives.slicing",
    )
    assert not {f"tinyjax.{name}" for name in later} & modules


@pytest.mark.slow
def test_what_extends_tinyjax_holds_its_core() -> None:
    program = "import tinyjax.extend; print(tinyjax.extend.core.jaxpr_as_fun.__module__)"
    assert succeeds(program) == "tinyjax.extend.core\n"


@pytest.mark.slow
def test_nothing_is_written_that_the_user_did_not_ask_for() -> None:
    done = run(
        """
        import tinyjax, tinyjax.numpy as jnp
        tinyjax.jit(lambda x: jnp.sin(x) @ x)(jnp.ones((64, 64))).block_until_ready()
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_settings_come_from_the_environment() -> None:
    program = "import tinyjax.numpy as jnp; print(jnp.ones(1).dtype, jnp.asarray(1).dtype)"
    assert succeeds(program, TINYJAX_DEFAULT_DTYPES="float64") == "float64 int64\n"
    assert succeeds(program) == "float32 int32\n"
    done = run("import tinyjax", TINYJAX_DEFAULT_DTYPES="float16")
    assert done.returncode != 0
    assert "default_dtypes takes float32, float64 or mixed, but got 'float16'" in done.stderr


# NumPy and other libraries, here


def test_numpy_functions_take_arrays() -> None:
    x = jnp.arange(4.0)
    assert isinstance(np.sin(x), np.ndarray)
    np.testing.assert_allclose(np.sin(x), np.sin(np.arange(4.0)), rtol=1e-6)
    assert np.asarray(x).dtype == np.float32
    assert np.asarray(x, dtype=np.float64).dtype == x.__array__(np.float64).dtype == np.float64
    assert np.array(x, copy=True).flags.writeable
    assert not np.asarray(x).flags.writeable
    np.testing.assert_array_equal(x.to_numpy(), np.arange(4.0))
    assert not x.to_numpy().flags.writeable
    assert np.stack([x, x]).shape == (2, 4)
    assert float(np.float64(x[1])) == 1.0


def test_matplotlib_draws_the_columns_of_a_matrix() -> None:
    data = np.arange(6.0).reshape(3, 2)
    axes = Figure().subplots()
    counts, _, _ = axes.hist(jnp.asarray(data))
    np.testing.assert_array_equal(counts, axes.hist(data)[0])
    lines = axes.boxplot(jnp.asarray(data))["medians"]
    np.testing.assert_array_equal([line.get_ydata()[0] for line in lines], np.median(data, axis=0))


def test_numpy_operands_on_either_side() -> None:
    x, given = jnp.arange(3.0), np.ones(3, np.float32)
    for found in (x + given, given + x, given * x, np.float32(2) * x, x - np.float64(1)):
        assert isinstance(found, Array)
    np.testing.assert_array_equal(given - x, [1.0, 0.0, -1.0])
    np.testing.assert_array_equal(jit(lambda x: given - x)(x), [1.0, 0.0, -1.0])


def test_no_copy_from_the_device_to_numpy() -> None:
    x = jit(lambda: jnp.ones(100_000), tier="compiled")()
    assert np.asarray(x).ctypes.data == np.asarray(x).ctypes.data
    assert np.shares_memory(np.asarray(x), np.asarray(x))


def test_dlpack() -> None:
    x: Any = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(np.from_dlpack(x), np.asarray(x))
    computed: Any = jit(lambda x: x * 2)(x)
    np.testing.assert_array_equal(np.from_dlpack(computed), 2 * np.asarray(x))
    with tinyjax.enable_x64(False):
        assert jnp.from_dlpack(np.arange(3.0)).dtype == np.float32
    with raises(TypeError, match=r"DLPack: .*[^.]\.$"):
        jnp.from_dlpack(np.asarray(jnp.zeros(2, jnp.float8_e4m3fn)))


@pytest.mark.wrong_types
def test_an_object_may_say_how_it_becomes_an_array() -> None:
    class Wrapped:
        def __jax_array__(self) -> Array:
            return jnp.arange(3.0)

    wrapped: Any = Wrapped()
    np.testing.assert_array_equal(jnp.asarray(wrapped), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(jit(lambda x: x + 1)(wrapped), [1.0, 2.0, 3.0])


def test_the_version_is_that_of_the_distribution() -> None:
    assert tinyjax.__version__ == version("tinyjax")


def test_python_rounds_scalars() -> None:
    for value in (2.5, -2.5, 3.0):
        x = jnp.float32(value)
        for function in (math.floor, math.ceil, math.trunc, int):
            found = function(x)
            assert (type(found), found) == (int, function(value))

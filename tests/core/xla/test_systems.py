"""Systems that lack what Linux has: a process without those functions stands in for Windows."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tinyjax._base import blas

PROGRAM = """
import os, sys, warnings
import numpy as np
import jaxlib.xla_client

LINUX = "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK fork geteuid register_at_fork"
for name in (*LINUX.split(), "sched_getaffinity"):
    delattr(os, name)
os.supports_dir_fd.clear()
import tinyjax, tinyjax.numpy as jnp
import tinyjax.distributed, tinyjax.experimental.checkpoints

tinyjax.config.update("num_cpu_devices", 2)
tinyjax.config.update("cache_dir", sys.argv[1])
f = tinyjax.jit(tinyjax.grad(lambda x: jnp.sum(jnp.sin(x) @ x)), tier="compiled")
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    np.testing.assert_allclose(f(jnp.zeros((3, 3))), np.zeros((3, 3)))
    print(*[each.message for each in warned])
placed = tinyjax.device_put(jnp.arange(4.0), tinyjax.NamedSharding(
    tinyjax.make_mesh((2,), ("x",)), tinyjax.P("x")))
print(tinyjax.jit(jnp.sum)(placed))
"""


def test_programs_are_compiled_without_forks_and_private_folders(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    warning, result = done.stdout.splitlines()
    assert warning.count("cannot be used: this system does not tell") == 1
    assert "compiled, as without a cache" in warning
    assert result == "6.0"


def test_a_library_that_cannot_be_opened_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("linked")
    module.__file__ = "nowhere.so"
    monkeypatch.setitem(sys.modules, "linked", module)
    assert blas._control("linked") is None

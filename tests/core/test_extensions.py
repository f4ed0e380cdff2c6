"""The core works without the extensions: each is taken away, and then all."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import tinyjax

#: The extensions, each of which attaches to the core by rules, classes of traces and hooks.
EXTENSIONS: Final = (
    *("_extensions.callbacks", "_extensions.checkpointing", "_extensions.host"),
    *("_extensions.inspecting", "_extensions.nans", "_extensions.parallel"),
    *("_extensions.chunking", "_extensions.progress", "_extensions.state", "_library.transfers"),
    *("custom_derivatives", "debug", "ffi"),
)
TOOLS: Final = ("_tools", "distributed", "experimental", "export", "profiler", "source")

#: What the core means, written with its own functions, against closed forms and NumPy.
PROGRAM: Final = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if is_absent(name):
            raise ImportError(f"{name} is taken away")

def is_absent(name):
    return f"{name}.".startswith(ABSENT)

ABSENT = tuple([f"tinyjax.{name}." for name in sys.argv[1:]])
sys.meta_path.insert(0, Absent())

import numpy as np
import tinyjax
from tinyjax.core.api.derivatives import jvp, linearize, vjp
from tinyjax.core.api.gradients import grad
from tinyjax.core.api.jacobians import jacfwd, jacrev
from tinyjax.core.api.mapping import vmap
from tinyjax.core.api.staging import make_jaxpr
from tinyjax.core.control_flow.cond import cond
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.jit.decorator import jit
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.primitives.elementwise import gt, lt, mul, sin
from tinyjax.core.primitives.shape import full_like
from tinyjax.core.values.operands import as_array
from tinyjax._base.lazy import HOOKS

# the hooks of tinyjax: which extension has a hook, what to load with jit
for key, homes in [*HOOKS.items()]:
    if any(map(is_absent, homes.split())):
        del HOOKS[key]

x, xs = np.float64(3.0), np.array([0.5, 1.5, 3.0])
value, slope = np.sin(x) * x, np.cos(x) * x + np.sin(x)
curvature = 2 * np.cos(xs) - xs * np.sin(xs)

def f(x):
    return mul(sin(x), x)

def total(xs):
    return reduce_sum(mul(sin(xs), xs), (0,))

def agree(*pairs):
    for result, expected in pairs:
        np.testing.assert_allclose(result, expected, 1e-12)

agree((f(as_array(x)), value), (jit(f)(x), value))
agree((grad(f)(x), slope), (jit(grad(f))(x), slope), (grad(jit(f))(x), slope))
agree((vmap(grad(jit(f)))(xs), np.cos(xs) * xs + np.sin(xs)), (vmap(grad(grad(f)))(xs), curvature))
agree((jvp(f, (x,), (2.0,))[1], 2 * slope), (linearize(f, x)[1](1.0), slope))
agree((vjp(f, x)[1](2.0)[0], 2 * slope))
agree((grad(lambda xs: reduce_sum(jit(vmap(f))(xs), (0,)))(xs), np.cos(xs) * xs + np.sin(xs)))
matrix = np.diag(curvature)
agree((jacfwd(jacrev(total))(xs), matrix), (jit(jacfwd(jacrev(total)))(xs), matrix))
agree((grad(lambda x: scan(lambda c, _: (mul(c, c), c), x, None, 3)[0])(x), 8 * x**7))

def repeated(xs):
    return reduce_sum(scan(lambda c, _: (mul(c, c), None), xs, None, 3)[0], (0,))

many = np.full(10_000, 1.5)  # of which the core keeps all residuals, however many
agree((grad(repeated)(many), 8 * many**7))
agree((jit(grad(lambda x: cond(gt(x, full_like(x, 0)), lambda x: mul(x, x), sin, x)))(x), 2 * x))

def squared(x):
    return while_loop(lambda s: lt(s, full_like(s, 100)), lambda s: mul(s, s), x)

agree((jvp(squared, (x,), (1.0,))[1], 8 * x**7), (vmap(squared)(xs[2:]), [6561]))
if not is_absent("tinyjax.custom_derivatives"):
    from tinyjax.custom_derivatives import custom_jvp, custom_vjp
    two = as_array(np.float64(2))
    double = custom_jvp(sin)
    double.defjvp(lambda primals, tangents: (sin(primals[0]), mul(tangents[0], two)))
    other = custom_vjp(sin)
    other.defvjp(lambda x: (sin(x), None), lambda _, ct: (mul(ct, two),))
    agree((grad(double)(x), 2), (jit(vmap(grad(other)))(xs), [2, 2, 2]))
assert "sin" in str(make_jaxpr(jit(f))(x))
print("agrees")
"""


def run_without(*extensions: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *extensions], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr[-2000:]


def test_the_core_works_without_all_extensions() -> None:
    assert run_without(*EXTENSIONS, *TOOLS) == "agrees\n"


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_the_core_works_without_an_extension(extension: str) -> None:
    assert run_without(extension) == "agrees\n"


def test_extensions_replace_no_rule() -> None:
    """A rule that an extension replaced would let programs count as others than before."""
    program = """
from importlib import import_module
import tinyjax
from tinyjax.core.tracing.primitive import _revisions
from tinyjax._base.lazy import HOOKS
for homes in HOOKS.values():
    for home in homes.split():
        import_module(home)
print({name for name, revision in _revisions.items() if revision})
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "set()\n"


def test_the_core_and_the_primitives_use_all_hooks() -> None:
    """An extension whose hook nobody uses would never be loaded."""
    program = "import tinyjax; from tinyjax._base.lazy import HOOKS; print(*HOOKS, sep='\\n')"
    hooks = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    package = Path(tinyjax.__file__).parent
    files = [file for name in ("core", "_primitives") for file in (package / name).rglob("*.py")]
    text = "".join(file.read_text(encoding="utf-8") for file in sorted(files))
    patterns = (
        *(r"^class (\w+)", r'RuleKey\(\s*"(\w+)"', r'lazy\.hook\("([^"]+)"\)'),
        r'lazy\.extensions\["([^"]+)"\]',
        *(r'HOOKS\.pop\("([^"]+)"', r'^ControlFlow = Literal\["python", "(\w+)"\]'),
    )
    used = {key for pattern in patterns for key in re.findall(pattern, text, re.MULTILINE)}
    assert "device_ops" in hooks
    assert {*hooks} <= used

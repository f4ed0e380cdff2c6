"""Run what a user runs first, from an installed wheel or sdist: ``nox -s release``.

``installed.py modules`` imports every public module, where nothing but the package is installed;
``installed.py programs`` runs examples, optax and the explorer; ``installed.py types`` asks mypy
and pyright about a program.
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import tinyjax

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = ("README.md", "docs/tutorials/first-steps.md")
GRADIENT: Final = """
import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array


def loss(x: Array) -> Array:
    return jnp.sum(x * x)


gradient: Array = tinyjax.jit(tinyjax.grad(loss), tier="compiled")(jnp.arange(3.0))
print(gradient)
"""
OPTAX: Final = """
import tinyjax.as_jax
import jax, jax.numpy as jnp, optax

optimizer = optax.adam(0.1)
x = jnp.ones(3)
state = optimizer.init(x)


@jax.jit
def step(x, state):
    updates, state = optimizer.update(jax.grad(lambda x: jnp.sum(x * x))(x), state)
    return optax.apply_updates(x, updates), state


for _ in range(200):
    x, state = step(x, state)
print(jax.__version__, "tinyjax" in jax.__version__ and float(jnp.abs(x).max()) < 1e-2)
"""
#: What type checkers refuse.
WRONG: Final = GRADIENT + "number: str = loss(jnp.ones(3))\n"
#: What imports what only its users have installed.
OF_OTHERS: Final = {"tinyjax.testing.strategies": "pip install hypothesis"}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder; stop with its output where that fails."""
    words = [sys.executable, *command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    done.stdout += done.stderr
    return done


def output_of(folder: Path, *command: str) -> str:
    """Return what a program prints; stop with that where it fails."""
    done = run(folder, *command)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


def public_modules(path: Any, prefix: str) -> list[str]:
    """Return the names of the public modules in a package and in its packages."""
    names = []
    for module in pkgutil.iter_modules(path, prefix):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        names.append(module.name)
        if module.ispkg:
            names += public_modules(import_module(module.name).__path__, f"{module.name}.")
    return names


def modules(_: Path) -> None:
    """Import every public module."""
    names = public_modules(tinyjax.__path__, "tinyjax.")
    for name in names:
        if name == "tinyjax.as_jax":  # which changes what is imported after it
            continue
        try:
            import_module(name)
        except ImportError as error:
            if OF_OTHERS.get(name, "nothing") not in str(error):
                raise
    sys.stdout.write(f"{len(names)} modules are imported\n")


def programs(folder: Path) -> None:
    """Run the pages' examples, a compiled gradient, the explorer, and optax."""
    sys.path.append(str(ROOT))
    blocks = import_module("website.blocks")
    for page in PAGES:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        text = (ROOT / page).read_text(encoding="utf-8")
        found = list(blocks.blocks_in(text))
        for block in found:
            blocks.run(block, ROOT / page, namespace)
        sys.stdout.write(f"{page}: {len(found)} blocks run\n")
    program = folder / "program.py"
    program.write_text(GRADIENT, encoding="utf-8")
    for name, command, expected in (
        ("a compiled gradient", ("program.py",), "[0. 2. 4.]"),
        ("optax", ("-c", OPTAX), "True"),
        (
            "explore",
            ("-m", "tinyjax.explore", "program.py:loss", "--args", "jnp.ones(3)"),
            ".html",
        ),
    ):
        if expected not in (out := output_of(folder, *command)):
            sys.exit(f"{name} printed {out}")
        sys.stdout.write(f"{name}: {out.strip().splitlines()[-1]}\n")


def types(folder: Path) -> None:
    """Ask two type checkers about a right program and a wrong one."""
    (folder / "right.py").write_text(GRADIENT, encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    for checker in (("mypy", "--strict"), ("pyright", "--pythonpath", sys.executable)):
        output_of(folder, "-m", *checker, "right.py")
        done = run(folder, "-m", *checker, "wrong.py")
        line = WRONG.count("\n")
        if done.returncode != 1 or f"wrong.py:{line}" not in done.stdout:
            sys.exit(f"{checker[0]} says of a wrong program: {done.stdout}")
        sys.stdout.write(f"{checker[0]} takes the right program, and refuses the wrong one\n")


def main(kinds: list[str]) -> None:
    """Run some of the checks."""
    if not Path(tinyjax.__file__).is_relative_to(sys.prefix):
        sys.exit(f"{tinyjax.__file__} is not what was installed")
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            {"modules": modules, "programs": programs, "types": types}[kind](Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Freeze a program by PyInstaller, and run it: ``nox -s frozen``."""

import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import tinyjax
import tinyjax.numpy as jnp


def loss(x):
    return jnp.sum(jnp.sin(x) @ x)


for tier in ("first", "compiled"):
    with tinyjax.config.scoped(tier=tier):
        print(tinyjax.jit(tinyjax.grad(loss))(jnp.zeros(2)))
        print(tinyjax.vmap(lambda x: 2.0 * x)(jnp.ones(2)))
        print(tinyjax.lax.scan(lambda c, x: (c + x, c), 0.0, jnp.ones(3))[0])
try:
    jnp.ones(2) + jnp.ones(3)
except ValueError as error:
    print(error)
"""


def main() -> None:
    """Raise an error unless the frozen program prints what it should."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        program = place / "app.py"
        program.write_text(PROGRAM, encoding="utf-8")
        into = ("--distpath", str(place), "--workpath", str(place / "b"), "--specpath", folder)
        command = ("PyInstaller", "--onedir", "--noconfirm", "--log-level", "WARN", *into)
        subprocess.run([sys.executable, "-m", *command, *sys.argv[1:], str(program)], check=True)
        frozen = str(place / "app" / "app")
        out = subprocess.run([frozen], capture_output=True, text=True, check=True).stdout
    print(out)
    for line in ("[0. 0.]", "[2. 2.]", "3.0"):
        if out.splitlines().count(line) != 2:
            sys.exit(f"{line} is missing")
    failing = PROGRAM.splitlines().index("    jnp.ones(2) + jnp.ones(3)") + 1
    if f"at app.py:{failing} in <module>" not in out:
        sys.exit("the error does not name the program's line")


if __name__ == "__main__":
    main()

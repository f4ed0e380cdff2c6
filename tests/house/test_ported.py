"""Programs as people write them in JAX, run under jax and, their imports renamed, under tinyjax.

Each file in ``ported`` is a program with a function ``main`` that returns a dictionary of arrays.
Values agree to the program's ``TOLERANCE``, and dtypes are the same.
"""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax

PROGRAMS = sorted((Path(__file__).parents[1] / "ported").glob("*.py"))


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    """Put back the widths of types, which programs may set."""
    before = {name: tinyjax.config.read(name) for name in ("wide_dtypes", "default_dtypes")}
    yield
    jax.config.update("jax_enable_x64", False)
    for name, value in before.items():
        unchecked(tinyjax.config.update)(name, value)


def results(program: Path) -> tuple[dict[str, Any], float]:
    """Return the program's results, and the tolerance between two roundings of it."""
    found = runpy.run_path(str(program))
    return found["main"](), found.get("TOLERANCE", 2e-5)


def renamed(program: Path, folder: Path) -> Path:
    """The same program with tinyjax's modules in place of JAX's."""
    text = re.sub(
        r"^import jax$",
        "import tinyjax as jax",
        program.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    text = re.sub(r"^(import|from) jax\b", r"\1 tinyjax", text, flags=re.MULTILINE)
    copy = folder / program.name
    copy.write_text(text, encoding="utf-8")
    return copy


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_it_computes_what_it_does_on_jax(program: Path, tmp_path: Path) -> None:
    wanted, tolerance = results(program)
    for tier in ("first", "compiled"):
        with tinyjax.config.scoped(tier=tier):
            got, _ = results(renamed(program, tmp_path))
        hold(got, wanted, tolerance)


def hold(got: dict[str, Any], expected: dict[str, Any], tolerance: float) -> None:
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        assert isinstance(got[name], tinyjax.Array), name
        assert got[name].shape == value.shape, name
        assert got[name].dtype == value.dtype, name
        scale = float(np.abs(value).max())
        np.testing.assert_allclose(
            got[name], value, rtol=tolerance, atol=tolerance * scale, err_msg=name
        )

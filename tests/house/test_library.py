"""Random calls of all public functions, held against jax: see the package ``fuzz.library``."""

import os
import secrets
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from fuzz.library.differences import DIFFERENCES, explanation
from fuzz.library.libraries import JAX, TINYJAX
from fuzz.library.signatures import NOT_CALLED, draw_call, functions
from fuzz.library.survey import compare, plan
from tinyjax.testing.libraries import check
from tinyjax.testing.libraries.check import differences, in_phase, run
from tinyjax.testing.libraries.drawing import Draw
from tinyjax.testing.libraries.signatures import PublicFunction

FUNCTIONS: Final = functions(TINYJAX, JAX)
DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "differences.md"
#: Of how many parts a search consists, so that they run side by side.
PARTS: Final = 8


def unexplained(function: PublicFunction, seed: str) -> list[str]:
    """Return the undocumented differences between a call and the reference's."""
    found = compare(function, seed, TINYJAX, JAX)
    return [f"[{seed}] {mismatch}" for mismatch in found if explanation(mismatch) is None]


@pytest.mark.wrong_types
@pytest.mark.sampled(24)
@pytest.mark.parametrize("function", FUNCTIONS, ids=[function.path for function in FUNCTIONS])
def test_a_call_is_that_of_jax(function: PublicFunction) -> None:
    assert not unexplained(function, f"suite/{function.path}")


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(PARTS))
def test_calls_are_those_of_jax(part: int) -> None:
    budget = 5 * int(os.environ.get("TINYJAX_FUZZ_EXAMPLES") or 2000)
    planned = plan(FUNCTIONS, budget, secrets.token_hex(4))
    found = [
        text for function, seed in planned[part::PARTS] for text in unexplained(function, seed)
    ]
    assert not found, "\n".join(found)


def test_calls_of_all_functions_are_drawn() -> None:
    for function in FUNCTIONS:
        for iteration in range(3):
            assert draw_call(function, Draw(f"{iteration}", wide=True, smooth=False)).path


def test_accuracies_are_those_of_functions() -> None:
    names = {path.rpartition(".")[2] for path in (*NOT_CALLED, *(f.path for f in FUNCTIONS))}
    declared = (check.SCALED, check.LOOSE, check.ROUNDED, check.PHASELESS)
    assert [names_of - names for names_of in declared] == [frozenset()] * len(declared)


def test_eigenvectors_are_compared_up_to_their_phases() -> None:
    x = np.array([[-1.0, 0.0, 1.0], [-3.0, 0.0, 1.0], [1.0, -1.0, 0.0]], np.float32)
    values, vectors = np.linalg.eig(x)
    phases = np.exp(1j * np.arange(3.0)).astype(vectors.dtype)
    expected = run(TINYJAX, lambda: [TINYJAX.array(y) for y in (values, vectors)])
    turned = run(TINYJAX, lambda: [TINYJAX.array(y) for y in (values, vectors * phases)])
    mixed = run(TINYJAX, lambda: [TINYJAX.array(y) for y in (values, vectors[:, ::-1])])
    assert differences(turned, expected)
    assert not differences(in_phase(turned, expected), expected)
    assert differences(in_phase(mixed, expected), expected)


def test_differences_are_documented() -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    assert [row.phrase for row in DIFFERENCES if row.phrase not in text] == []

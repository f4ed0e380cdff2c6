"""Drawn programs of views, aliases and writes: right, or refused."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from capturing.drawn import PROGRAMS_PER_MODULE, STAGED, survey

pytestmark = pytest.mark.usefixtures("double_precision")

PROGRAMS = 150


def test_drawn_programs(tmp_path: Path) -> None:
    """Values and derivatives are NumPy's, and most programs are not refused."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = survey(range(PROGRAMS), tmp_path, every=10, most=3)
    texts = [f"{outcome}\n{program}" for program, outcome in found.mistakes]
    assert not texts, "\n".join(texts)
    assert found.outcomes["gradient", "right"] > 0.8 * PROGRAMS


def test_drawn_programs_are_read_or_captured(tmp_path: Path) -> None:
    """``source.grad`` gives the gradients of the same programs."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = survey(range(2 * PROGRAMS, 4 * PROGRAMS), tmp_path, most=3, checks=["read"])
    texts = [f"{outcome}\n{program}" for program, outcome in found.mistakes]
    assert not texts, "\n".join(texts)
    assert found.outcomes["read", "right"] > 1.6 * PROGRAMS


@pytest.mark.slow
def test_drawn_programs_are_staged_or_captured(tmp_path: Path) -> None:
    """``jit(control_flow="source")`` is right in each mode, and takes most programs."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        seeds = range(4 * PROGRAMS, 5 * PROGRAMS)
        found = survey(seeds, tmp_path, most=3, checks=["staged"])
        thin = survey(seeds[: PROGRAMS // 6], tmp_path, most=3, checks=STAGED, thin=True)
    mistakes = [*found.mistakes, *thin.mistakes]
    texts = [f"{outcome}\n{program}" for program, outcome in mistakes]
    assert not texts, "\n".join(texts)
    assert found.outcomes["staged", "right"] > 0.8 * len(seeds)
    assert thin.outcomes["staged_vmap_of_gradient", "right"] > 0.8 * PROGRAMS // 6


def test_programs_are_unlike(tmp_path: Path) -> None:
    """A seed draws the same program each time, and no two seeds draw the same."""
    from capturing.drawing import drawn

    texts = [str(drawn(seed)).partition("\n")[2] for seed in range(20)]
    assert texts == [str(drawn(seed)).partition("\n")[2] for seed in range(20)]
    assert len({*texts}) == len(texts) < PROGRAMS_PER_MODULE

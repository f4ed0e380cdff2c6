"""Input that means harm (``hostile``): of each kind some; ``nox -s hostile`` tries more.

What is tried runs in processes of its own, which may end.
"""

import json
import os
import random
import secrets
import subprocess
import sys
from typing import Any

import pytest

import tinyjax
from hostile.exports import PROGRAMS, bounded_calls, parts, sealed, to_compare
from raising import raises
from tinyjax import export
from tinyjax.errors import ExportError


def survey(subject: str, count: int, seed: int) -> dict[str, Any]:
    """Try so many cases, and return how many had which outcome."""
    command = [sys.executable, "-m", "hostile", subject, str(count), "--seed", str(seed)]
    path = os.pathsep.join(sys.path)
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path}
    )
    assert ran.stdout, ran.stderr
    report: dict[str, Any] = json.loads(ran.stdout)
    assert not ran.returncode, {
        k: v for k, v in report["first"].items() if k not in report["expected"]
    }
    return report


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("subject", "count"), [("exports", 30), ("readers", 60), ("arguments", 60), ("programs", 20)]
)
def test_some(subject: str, count: int) -> None:
    assert sum(survey(subject, count, 0)["outcomes"].values()) == count


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("subject", ["exports", "readers", "arguments", "programs"])
def test_many(subject: str) -> None:
    survey(
        subject, int(os.environ.get("TINYJAX_FUZZ_EXAMPLES") or 2000), secrets.randbelow(1 << 30)
    )


@pytest.mark.counts
@pytest.mark.parametrize("seed", [16, 26, 57, 159])
def test_sizes_that_would_take_long_to_compare_are_refused(seed: int) -> None:
    """Without a bound on steps, each of these kept ``deserialize`` busy for minutes."""
    draw = random.Random(seed)
    fun, args, kwargs, _ = draw.choice(PROGRAMS[-2:])
    header, rest = parts(export.export(tinyjax.jit(fun))(*args, **kwargs).serialize())
    data = sealed(to_compare(draw, header), rest)
    with raises(ExportError, match="too many steps"), bounded_calls(500 * len(data)):
        export.deserialize(data)

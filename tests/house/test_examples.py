"""The programs in examples/ run, as a user would run them, and do what they say."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import quantized

import scaling
import tinyjax

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / program), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def test_tour() -> None:
    done = run("tour.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    sections = [text.split("\n", 1) for text in done.stdout.split("\n# ")[1:]]
    shown = {title: body.strip() for title, body in sections}
    assert shown["grad through a while loop"].startswith("0.35355")
    assert shown["The sixth derivative of x^8 at 1"] == "20160.0"
    assert shown["Its type"] == "(float32[5]) -> (float32[])"
    assert "stablehlo.cosine" in shown["The same as StableHLO, for XLA"]
    assert shown["Eager"] == shown["Compiled"]
    assert "ring_shift" in shown["The jaxpr of its derivative"]


def test_quantity() -> None:
    """Hooke's law: a spring of 8 N/m, stretched by a quarter of a metre."""
    done = run("quantity.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "energy: 0.25 m^2 kg s^-2",
        "force: 2.0 m kg s^-2",
        "stiffness: 8.0 kg s^-2",
        "compiled: 2.0 m kg s^-2",
        "batched: [2. 4. 6.] m kg s^-2",
        "along a metre: 2.0 m^2 kg s^-2",
        "after half a turn: -0.25 m",
        "refused: m and s cannot be added",
    ]


def test_low_rank() -> None:
    done = run("low_rank.py")
    assert done.returncode == 0, done.stderr
    shown = dict(line.split(": ") for line in done.stdout.splitlines())
    # the noise is 0.01 in each of 1600 elements, and the hill's norm is the root of pi/2 by steps
    hill = (np.pi / 2) ** 0.5 / (4 / 39)
    assert 0.9 < float(shown.pop("relative error")) / (0.01 * 40 / hill) < 1.05
    assert shown == {
        "numbers kept": "160 of 1600",
        "as a matrix": "True",
        "its gradient": "LowRank (40, 40)",
        "batched": "[1.0, 16.0, 81.0]",
        "jvp": "True",
        "its value": "True",
    }


def test_quantized() -> None:
    done = run("quantized.py")
    assert done.returncode == 0, done.stderr
    shown = dict(line.split(": ") for line in done.stdout.splitlines())
    assert shown.pop("bytes kept") == f"{6 * 8 + 6 * 4} of {6 * 8 * 4}"
    assert len(shown) == 7
    assert set(shown.values()) == {"True"}


def test_derivatives_in_a_quantized_matrix_are_those_at_its_numbers() -> None:
    rng = np.random.default_rng(0)
    matrix, x = rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=4).astype("float32")
    rounded = quantized.quantized(tinyjax.numpy.asarray(matrix))
    scales = np.abs(matrix).max(1, keepdims=True) / 127
    dense = scales * np.round(matrix / scales)
    np.testing.assert_allclose(rounded.dense(), dense, 1e-5)
    expected = 3 * ((dense @ x) ** 2)[:, None] * x
    slope = quantized.slope(lambda w: ((w @ tinyjax.numpy.asarray(x)) ** 3).sum())
    for derivative in (slope, tinyjax.jit(slope)):
        np.testing.assert_allclose(derivative(rounded), expected, 1e-4)

    def through(matrix: Any) -> Any:
        return ((quantized.quantized(matrix) @ tinyjax.numpy.asarray(x)) ** 3).sum()

    np.testing.assert_allclose(tinyjax.grad(through)(matrix), expected, 1e-4)
    second = tinyjax.hessian(through)(matrix)  # each product counts once more
    rows = 6 * (dense @ x)[:, None, None] * np.outer(x, x)
    np.testing.assert_allclose(second[np.arange(3), :, np.arange(3)], rows, 1e-4)


@pytest.mark.slow
@pytest.mark.sampled(9, always=("600-0",))
@pytest.mark.parametrize(("steps", "status"), [(2, 1), (600, 0)])
def test_digits(steps: int, status: int, tmp_path: Path) -> None:
    picture = tmp_path / "made" / "digits.png"
    done = run("digits.py", "--steps", str(steps), "--out", str(picture))
    assert done.returncode == status, done.stdout + done.stderr
    found = re.search(r"([\d.]+)% of 449 held-out digits", done.stdout)
    assert found is not None, done.stdout
    assert (float(found[1]) >= 97) == (status == 0)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.sampled(9, always=("400-0",))
@pytest.mark.parametrize(("steps", "status"), [(1, 1), (400, 0)])
def test_neural_ode(steps: int, status: int) -> None:
    done = run("neural_ode.py", "--steps", str(steps))
    assert done.returncode == status, done.stdout + done.stderr
    difference = re.search(r"gradient differ by (.+)", done.stdout)
    assert difference is not None, done.stdout
    assert float(difference[1]) < 1e-8


@pytest.mark.slow
@pytest.mark.sampled(9, always=("60-0",))
@pytest.mark.parametrize(("steps", "status"), [(1, 1), (60, 0)])
def test_deep_equilibrium(steps: int, status: int) -> None:
    done = run("deep_equilibrium.py", "--steps", str(steps))
    assert done.returncode == status, done.stdout + done.stderr
    difference = re.search(r"gradient differ by (.+)", done.stdout)
    assert difference is not None, done.stdout
    assert float(difference[1]) < 1e-4


def test_intervals() -> None:
    done = run("intervals.py")
    assert done.returncode == 0, done.stderr
    shown = dict(line.split(": ") for line in done.stdout.splitlines())
    x = np.linspace(0.5, 1.0, 1001)
    for title, values in (("values", np.sin(x) + x / 4), ("slopes", np.cos(x) + 0.25)):
        lower, upper = (float(word) for word in shown[title].split()[1::2])
        assert lower <= values.min() + 1e-6
        assert values.max() <= upper + 1e-6
        assert upper - lower <= 1.01 * (values.max() - values.min())


def test_sparsity() -> None:
    done = run("sparsity.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "neighbours:",
        "[[1 1 0 0]",
        " [0 1 1 0]",
        " [0 0 1 1]]",
        "Hessian of a chain:",
        "[[1 1 0 0]",
        " [1 1 1 0]",
        " [0 1 1 1]",
        " [0 0 1 1]]",
    ]


def test_enclosure() -> None:
    done = run("enclosure.py")
    assert done.returncode == 0, done.stderr
    shown = dict(line.split(": ") for line in done.stdout.splitlines())
    x = np.linspace(-6, 8, 400_001)
    values = 0.05 * (x - 1) ** 2 + sum(np.sin(k * x + k) / k for k in range(1, 5))
    lower, upper = (float(word) for word in shown["least value"].split()[1::2])
    assert lower <= values.min() + 1e-6
    assert values.min() <= upper + 1e-6
    assert upper - lower <= 1.01e-4
    assert abs(float(shown["near"]) - x[values.argmin()]) < 0.01
    assert int(shown["intervals looked at"]) < 2000


def test_scaling(tmp_path: Path) -> None:
    done = run("scaling.py", "--picture", str(tmp_path / "scale.svg"))
    assert done.returncode == 0, done.stderr
    page = (EXAMPLES.parent / "docs" / "scale.md").read_text(encoding="utf-8")
    assert done.stdout.split("\n", 1)[1] in page
    assert (tmp_path / "scale.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(("layers", "data", "tensor"), [(2, 64, 8), (3, 8, 4), (1, 2, 2)])
def test_collectives_of_plans_are_those_of_compiled_programs(
    layers: int, data: int, tensor: int
) -> None:
    model = scaling.Model(layers=layers, width=64, heads=8, length=16, batch=64)
    told = scaling.communication(model, data, tensor)
    activations = 4 * model.tokens // data * model.width
    assert scaling.bytes_over(told, "tensor") == (4 * layers - 1) * activations
    assert scaling.bytes_over(told, "data") == 4 * model.weights // tensor
    assert told.is_exact
    assert {c.axes for c in told.collectives} == {("data",), ("tensor",)}


def test_the_best_plan_is_best() -> None:
    model, cluster = scaling.Model(), scaling.Cluster()
    found = scaling.best(model, 512, cluster)
    assert found is not None
    plan, step = found
    assert plan.devices == 512
    assert step.memory <= cluster.memory
    others = [scaling.simulate(model, p, cluster) for p in scaling.plans(model, 512, cluster)]
    assert len(others) > 100
    assert step.seconds == min(s.seconds for s in others if s.memory <= cluster.memory)
    # no plan is faster than arithmetic, and none sends anything on one device
    assert all(s.seconds >= model.flops / 512 / cluster.flops for s in others)
    alone = scaling.simulate(model, scaling.Plan(1, 1, 1, 1), cluster)
    assert (alone.tensor, alone.data, alone.pipe, alone.bubble) == (0, 0, 0, 0)


def test_times_of_collectives() -> None:
    link = scaling.Link(latency=1.0, bandwidth=100.0)
    times = [
        scaling.ring_seconds(kind, 400.0, 4, link)
        for kind in ("all-reduce", "reduce-scatter", "all-gather", "collective-permute")
    ]
    assert times == [6 + 6, 3 + 3, 3 + 12, 1 + 4]
    samples = [
        ("all-reduce", size, n, scaling.shared_seconds("all-reduce", size, n, link))
        for size in (64, 640, 6400)
        for n in (2, 8)
    ]
    fit = scaling.fitted(samples)
    np.testing.assert_allclose((fit.latency, fit.bandwidth), (1.0, 100.0), rtol=1e-6)

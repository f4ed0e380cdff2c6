"""Random numbers of NumPy's and Python's: of traced parameters, and in compiled programs."""

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import entries
import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import CaptureError, SourceError
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

#: Families of distributions, by the names of the methods, and the names of the parameters.
FAMILIES: Final = {
    **dict.fromkeys(("normal", "laplace", "gumbel", "logistic"), ("loc", "scale")),
    **dict.fromkeys(("exponential", "rayleigh"), ("scale",)),
    "lognormal": ("mean", "sigma"),
    "uniform": ("low", "high"),
}
PARAMETERS: Final = ("(x[0], x[0] + x[1])", "(x[:2], x[1:3] + x[0] + 2)", "(0.2, x[0] + 1)")
SIZES: Final = ("", "size=None", "size=2", "size=(3, 2)")
MAKERS: Final = ("np.random.default_rng(5)", "np.random.RandomState(5)")
PROGRAMS: Final = [*itertools.product(FAMILIES, PARAMETERS, SIZES, MAKERS, (False, True))]


def text_of(family: str, parameters: str, size: str, make: str, named: bool) -> str:
    names = FAMILIES[family]
    values = [f"p[{i - len(names)}]" for i in range(len(names))]
    args = ", ".join(map("=".join, zip(names, values, strict=True)) if named else values)
    return f"""import numpy as np

def f(x):
    generator = {make}
    p = {parameters}
    values = generator.{family}({args}, {size})
    return np.sum(values * x[2]) + generator.normal()
"""


@pytest.mark.parametrize("program", random.Random(0).sample(PROGRAMS, 12), ids=str)
def test_some_families(program: tuple[Any, ...], tmp_path: Path) -> None:
    """Numbers of a distribution are those of NumPy's generator, and have its parameters' slopes."""
    results = dict(entries.outcomes(entries.Subject(text_of(*program), tmp_path)))
    assert not any(results.values()), results


@pytest.mark.fuzz
@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str, tmp_path: Path) -> None:
    for program in PROGRAMS:
        if program[0] == family:
            results = dict(entries.outcomes(entries.Subject(text_of(*program), tmp_path)))
            assert not any(results.values()), (program, results)


def test_a_scale_below_zero_raises_what_numpy_raises() -> None:
    def drawn(x: Any) -> Any:
        return np.random.default_rng(0).normal(0.0, x)

    with pytest.raises(ValueError, match="scale < 0"):
        tinyjax.grad(source.capture(drawn))(-1.0)


#: Statements before a function and in it, and whether each of its calls draws the same numbers.
GENERATORS: Final = {
    "R = np.random.default_rng(0) | v = R.standard_normal(4)": False,
    "R = np.random.RandomState(0) | v = R.rand(4)": False,
    "R = random.Random(0) | v = R.random()": False,
    "R = random.Random(0) | v = R.gauss(0.0, 1.0)": False,
    "pass | v = np.random.rand(4)": False,
    "pass | v = np.random.default_rng().random(4)": False,
    "pass | v = random.uniform(1.0, 2.0)": False,
    "pass | v = np.random.default_rng(0).standard_normal(4)": True,
    "pass | v = np.random.RandomState(seed=0).rand(4)": True,
    "pass | np.random.seed(1); v = np.random.rand(4)": True,
    "pass | random.seed(1); v = random.random() + random.gauss(0.0, 1.0)": True,
    "pass | r = random.Random(3); v = r.choice([1.0, 2.0]) * r.random()": True,
    "S = np.random.get_state() | np.random.set_state(S); v = np.random.rand(4)": True,
    "pass | v = np.random.Generator(np.random.PCG64(3)).normal(size=4)": True,
    "N = 0.0 | v = np.random.normal(2.0, N, 4) + np.random.default_rng().laplace(1.0, N)": True,
    "S = 3 | v = np.random.RandomState(S).rand(4)": True,
    "S = 3 | v = np.random.Generator(np.random.PCG64(S)).normal(size=4)": True,
    "S = 3 | r = random.Random(S); v = r.random()": True,
    "R = np.random.default_rng(0) | v = 1.0; R.bit_generator": True,
}


@pytest.mark.parametrize("text", GENERATORS)
@pytest.mark.parametrize(
    "compiled",
    [
        lambda fun: tinyjax.jit(source.capture(fun)),
        lambda fun: tinyjax.jit(tinyjax.grad(source.capture(fun))),
        lambda fun: tinyjax.jit(fun, control_flow="source"),
    ],
    ids=["captured", "gradient", "staged"],
)
def test_compiled_programs_repeat_no_numbers(
    text: str, compiled: Callable[..., Any], tmp_path: Path
) -> None:
    """A compiled program draws the numbers of each call, or it is refused."""
    before, _, inside = text.partition(" | ")
    head = f"import random\nimport numpy as np\n{before}\n"
    body = f"def f(x):\n    {inside}\n    return (v * x).sum()\n"
    fun = module_of(head + body, tmp_path / "subject.py").f
    x = np.array([0.7, 0.31, 1.43, 0.52])
    if GENERATORS[text]:
        first, second, plain = compiled(fun)(x), compiled(fun)(2 * x), fun(x)
        if np.ndim(first):
            np.testing.assert_allclose(first @ x, plain)
        else:
            np.testing.assert_allclose([first, second], [plain, 2 * plain])
        return
    with pytest.raises((CaptureError, SourceError), match="seed"):
        compiled(fun)(x)
    values = {float(source.capture(fun)(x)) for _ in range(3)}
    assert len(values) == 3, "not compiled, each call draws anew"

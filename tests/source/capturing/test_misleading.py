"""Programs that could mislead ``capture``: values are NumPy's, and slopes those of differences."""

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final

import numpy as np
import pytest
from capturing.misleading import IMPORTS, PROGRAMS, Misleading

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError
from tools import modules

pytestmark = [
    pytest.mark.usefixtures("double_precision"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

#: The points that a program is run at, one after the other.
POINTS: Final = ([0.7, 0.31, 1.43, 0.52], [0.71, 0.33, 1.41, 0.53])
STEP: Final = 2e-4


def module_of(program: Misleading, folder: Path) -> ModuleType:
    """Write a program into a module of its own and import it."""
    return modules.module_of(
        IMPORTS + "\n\n" + program.text, folder / f"misleading_{program.name}.py"
    )


def gradient_by_differences(fun: Callable[[np.ndarray], float], x: np.ndarray) -> list[float]:
    """Return all slopes by central differences, extrapolated twice."""

    def slope(axis: int) -> float:
        def difference(h: float) -> float:
            e = h * np.eye(x.size)[axis]
            return (float(fun(x + e)) - float(fun(x - e))) / (2 * h)

        a, b, c = (difference(STEP / 2**i) for i in range(3))
        d, e = (4 * b - a) / 3, (4 * c - b) / 3
        return (16 * e - d) / 15

    return [slope(axis) for axis in range(x.size)]


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_misleading_programs(program: Misleading, tmp_path: Path) -> None:
    """A program is right at both points, and its plain function is the same afterwards."""
    module = module_of(program, tmp_path)

    def made() -> Callable[[np.ndarray], float]:
        fun: Callable[[np.ndarray], float] = module.make() if program.is_made else module.f
        return fun

    def plain(x: np.ndarray) -> float:
        return float(made()(x.copy()))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        captured = source.capture(made())
        for numbers in POINTS:
            x = np.array(numbers)
            expected, slopes = plain(x), gradient_by_differences(plain, x)
            if program.is_made:
                captured = source.capture(made())
            try:
                value, gradient = tinyjax.value_and_grad(captured)(x.copy())
            except TinyjaxError:
                if not program.may_be_refused:
                    raise
            else:
                assert float(value) == pytest.approx(expected, rel=1e-9)
                assert np.asarray(gradient).tolist() == pytest.approx(slopes, rel=1e-6, abs=1e-6)
            assert plain(x) == expected


COMPILED: Final = [program for program in PROGRAMS if not program.is_eager and not program.is_made]
#: Another point, which may take other branches, and at which no program jumps.
FURTHER: Final = [0.23, 1.31, 0.43, 1.57]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", COMPILED, ids=str)
def test_compiled_misleading_programs(program: Misleading, tmp_path: Path) -> None:
    """A compiled program is right at points that take other branches, or it is refused."""
    plain: Callable[[np.ndarray], float] = module_of(program, tmp_path).f
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = tinyjax.jit(tinyjax.value_and_grad(source.capture(plain)))
        for numbers in (*POINTS, FURTHER):
            x = np.array(numbers)
            try:
                expected = float(plain(x.copy()))
            except Exception as error:  # at this point it raises
                with pytest.raises((type(error), TinyjaxError)):
                    compiled(x)
                continue
            slopes = gradient_by_differences(lambda x: float(plain(x.copy())), x)
            try:
                value, gradient = compiled(x)
            except TinyjaxError:
                break
            assert float(value) == pytest.approx(expected, rel=1e-9)
            assert np.asarray(gradient).tolist() == pytest.approx(slopes, rel=1e-6, abs=1e-6)

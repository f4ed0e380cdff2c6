"""Parameters of NumPy's functions that are no arrays to their counterparts: traced numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")
ROW = np.array([1.0, 2.0, 3.5])
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "norm's order": lambda x: np.linalg.norm(ROW, ord=x),
    "norm's order by position": lambda x: np.linalg.norm(ROW * x, x),
    "fftfreq": lambda x: np.sum(np.fft.fftfreq(5, d=x) ** 2),
    "rfftfreq by position": lambda x: np.sum(np.fft.rfftfreq(5, 2 * x) ** 2),
    "a base": lambda x: np.sum(np.logspace(0.0, 1.0, 4, base=x)),
    "a step": lambda x: np.trapezoid(ROW, dx=x),
    "steps": lambda x: np.sum(np.gradient(ROW, x) ** 2),
    "a number for NaN": lambda x: np.sum(np.nan_to_num(np.array([1.0, np.nan]), nan=x)),
    "beyond an end": lambda x: np.interp(9.0, ROW, ROW, right=x),
    "padding": lambda x: np.sum(np.pad(ROW, 1, constant_values=x) ** 2),
    "a constant order": lambda x: np.linalg.norm(ROW * x, ord=3.5),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    program, x, step = PROGRAMS[name], 2.3, 1e-5
    difference = (program(x + step) - program(x - step)) / (2 * step)
    np.testing.assert_allclose(source.grad(program)(x), difference, 1e-7)

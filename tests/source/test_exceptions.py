"""Exceptions that functions raise for their data and a program catches: they are decisions."""

import itertools
import random
from pathlib import Path
from typing import Final

import entries
import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import CaptureError, SourceError
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

#: What is computed of x[0], x[1] and x[2], and the exception that it raises at some points.
RAISING: Final = (
    ("math.sqrt(x[0] - 0.5)", "ValueError"),
    ("math.sqrt(-x[0])", "ValueError"),
    ("math.log(x[0] - 0.6) * x[1]", "ValueError"),
    ("math.log(0.0 * x[0])", "ValueError"),
    ("math.log2(x[0] - 0.5)", "ArithmeticError, ValueError"),
    ("math.acos(2 * x[0])", "ValueError"),
    ("math.atanh(3 * x[1])", "ValueError"),
    ("math.exp(x[0] * 1500)", "OverflowError"),
    ("math.cosh(x[2] * 1000)", "OverflowError"),
    ("math.gamma(-2.0 + 0.0 * x[0])", "ValueError"),
    ("math.gamma(x[0] * 1000)", "OverflowError"),
    ("math.pow(x[1] - 0.5, 0.5)", "ValueError"),
    ("math.pow(x[0] + 10, 500.0)", "OverflowError"),
    ("math.fmod(x[0], 0.0 * x[1])", "ValueError"),
    ("cmath.log(0j * x[0]).real", "ValueError"),
    ("float(x[0] + 2) ** 5000", "OverflowError"),
    ("(0.0 * float(x[0])) ** -1", "ZeroDivisionError"),
    ("1.0 / (float(x[0]) - 0.7)", "ZeroDivisionError"),
    ("float(x[0]) % (0.0 * float(x[1]))", "ArithmeticError"),
    ("float(x[0]) // (0.0 * float(x[1]))", "Exception"),
    ("x.tolist()[1] / (x.tolist()[0] * 0)", "ZeroDivisionError"),
    ("complex(x[0], x[1]).real / (0.0 * float(x[0]))", "ZeroDivisionError"),
    ("x[0] * int(float(x[0]) * math.nan)", "ValueError"),
    ("x[0] * int(float(x[0]) * math.inf)", "OverflowError"),
    ("statistics.geometric_mean([float(x[0]), float(-x[1])])", "statistics.StatisticsError"),
    ("math.sqrt(complex(x[0], 1.0))", "TypeError"),
    ("x[int(x[2] * 3)] * x[0]", "IndexError"),
    ("{0: x[0], 1: x[1]}[int(x[2] * 2)]", "KeyError"),
    ("next(v for v in x.tolist() if v > x[0] + 0.8)", "StopIteration"),
    ("np.linalg.cholesky(np.array([[x[0], 0.4], [0.4, x[1]]]))[1, 1]", "np.linalg.LinAlgError"),
    ("np.linalg.inv(np.array([[x[0], x[0]], [x[0], x[0]]]))[0, 0]", "ValueError"),
    ("np.linalg.solve(np.zeros((2, 2)) * x[0], x[:2])[0]", "np.linalg.LinAlgError"),
    ("np.linalg.matrix_power(0.0 * np.outer(x, x), -1)[0, 0]", "np.linalg.LinAlgError"),
    ("np.linalg.svd(np.diag(x - x[0]) * math.nan)[1][0]", "np.linalg.LinAlgError"),
    ("scipy.linalg.cholesky(np.array([[x[0], 0.4], [0.4, x[1]]]))[1, 1]", "Exception"),
    ("scipy.linalg.inv(0.0 * np.outer(x, x))[0, 0]", "np.linalg.LinAlgError"),
    ("scipy.linalg.solve(np.diag(x) * math.nan, x)[0]", "ValueError"),
    ("scipy.interpolate.interp1d([0.0, 1.0], [1.0, 3.0])(x[2] - 0.2)", "ValueError"),
)
#: How a program catches it.
FORMS: Final = {
    "a statement": """
    try:
        y = {expression}
    except ({exception}):
        y = x[0] ** 2""",
    "all parts": """
    y = x[1]
    try:
        y = {expression}
    except ({exception}):
        y = 2 * y
    else:
        y = 3 * y
    finally:
        y = y + x[2]""",
    "a bare one": """
    try:
        y = {expression}
    except:
        y = x[0] ** 2""",
    "suppress": """
    y = x[1]
    with contextlib.suppress({exception}):
        y = {expression}""",
    "a stack": """
    y = x[1]
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress({exception}))
        y = {expression}""",
    "an own class": """
    class Catching:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            return kind is not None and issubclass(kind, ({exception}))

    y = x[1]
    with Catching():
        y = {expression}""",
    "a generator": """
    @contextlib.contextmanager
    def catching():
        try:
            yield
        except ({exception}):
            pass

    y = x[1]
    with catching():
        y = {expression}""",
    "a caller": """
    def inner(x):
        return {expression}

    try:
        y = inner(x)
    except ({exception}):
        y = x[0] ** 2""",
    "a loop": """
    y, z = 0.0, x
    for i in range(3):
        x = z + 0.1 * i
        try:
            y = y + ({expression})
        except ({exception}):
            y = y + x[1]""",
}
HEAD: Final = """
import cmath, contextlib, math, statistics
import numpy as np
import scipy.interpolate, scipy.linalg


def f(x):"""


def text_of(form: str, expression: str, exception: str) -> str:
    body = FORMS[form].format(expression=expression, exception=exception)
    return f"{HEAD}{body}\n    return y * x[1]\n"


PROGRAMS: Final = [text_of(form, *pair) for form, pair in itertools.product(FORMS, RAISING)]


@pytest.mark.parametrize("turn", range(16))
def test_some_programs(turn: int, tmp_path: Path) -> None:
    """A program that catches an exception does the same in all ways, or is refused."""
    entries.check(random.Random(turn).choice(PROGRAMS), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("text", PROGRAMS)
def test_all_programs(text: str, tmp_path: Path) -> None:
    entries.check(text, tmp_path)


#: Programs that see the warnings or errors of numbers.
SEEING: Final = {
    "an error of a warning": """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = np.log(-x[0])
    except RuntimeWarning:
        y = x[0] ** 2""",
    "a filter": """
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=RuntimeWarning)
        try:
            y = np.sqrt(-x[0])
        except Warning:
            y = x[0] ** 2""",
    "a record": """
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = np.log(-x[0])
    y = x[0] if seen else y""",
    "errors of NumPy's": """
    try:
        with np.errstate(invalid="raise"):
            y = np.log(-x[0])
    except FloatingPointError:
        y = x[0] ** 2""",
    "a function that NumPy calls": """
    seen = []
    before = np.seterrcall(lambda *args: seen.append(args))
    with np.errstate(invalid="call"):
        y = np.log(-x[0])
    np.seterrcall(before)
    y = x[0] if seen else y""",
}


@pytest.mark.parametrize("text", [*SEEING.values()], ids=[*SEEING])
def test_warnings_of_numbers_are_decisions(text: str, tmp_path: Path) -> None:
    """A program that decides by warnings decides in all ways as NumPy does."""
    fun = module_of(f"import warnings\n{HEAD}{text}\n    return y * x[1]\n", tmp_path / "f.py").f
    for point in ([0.7, 0.3], [-0.7, 0.3], [0.6, 0.2]):
        x = np.array(point)
        steps = 1e-6 * np.eye(2)
        slopes = [(fun(x + step) - fun(x - step)) / 2e-6 for step in steps]
        for lifted in (source.capture(fun), source.stage(fun)):
            for grad in (tinyjax.value_and_grad, lambda f: tinyjax.jit(tinyjax.value_and_grad(f))):
                value, gradient = grad(lifted)(x)
                np.testing.assert_allclose(value, fun(x))
                np.testing.assert_allclose(gradient, slopes, 1e-6, 1e-8)
        rows = tinyjax.vmap(source.capture(fun))(np.stack([x, -x]))
        np.testing.assert_allclose(rows, [fun(x), fun(-x)])


def test_numbers_that_are_too_small_are_not_seen() -> None:
    def fun(x: np.ndarray) -> float:
        with np.errstate(all="raise"):
            return float(np.exp(-x[0]))

    for lifted in (tinyjax.grad(source.capture(fun)), tinyjax.jit(fun, control_flow="source")):
        with pytest.raises((CaptureError, SourceError), match=r"too small|errors numbers"):
            lifted(np.array([0.5]))


HARMLESS: Final = """import warnings
import numpy as np

def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=DeprecationWarning)
        with np.errstate(all="ignore", divide="warn"):
            return np.log(x[0]) * x[1]
"""


def test_warnings_that_are_ignored(tmp_path: Path) -> None:
    entries.check(HARMLESS, tmp_path)
    fun = module_of(HARMLESS, tmp_path / "subject.py").f
    x = np.array([0.7, 0.3])
    gradient = [x[1] / x[0], np.log(x[0])]
    np.testing.assert_allclose(tinyjax.grad(source.capture(fun))(x), gradient)
    staged = tinyjax.jit(tinyjax.grad(source.stage(fun)))
    np.testing.assert_allclose(staged(x), gradient)

"""``python -m benchmarks.solvers``: ``tinyjax.scipy.optimize`` beside ``scipy.optimize``.

Both call SciPy's methods. SciPy gets a gradient of ``minimize`` that is written by hand, and takes
differences where it is given none; here derivatives are those of the function. The same function is
solved again and again, as in a fit of many data sets, in processor time.
"""

import sys
from collections.abc import Callable
from time import process_time
from typing import Any, Final

import attrs
import numpy as np
from rich.progress import track
from scipy import optimize as theirs

import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, THOROUGH, Call, Spread, interleaved
from benchmarks.report import any_missed, duration, factor, insert, markdown, print_table, verdict
from tinyjax._base import blas
from tinyjax.scipy import optimize as ours

_SIZE: Final = 100
_START: Final = np.tile([-1.2, 1.0], _SIZE // 2)
_POINTS: Final = np.linspace(0.0, 4.0, 50)
_DATA: Final = (
    2.5 * np.exp(-1.3 * _POINTS) + 0.5 + 0.05 * np.random.default_rng(0).normal(size=_POINTS.size)
)


def rosenbrock(np: Any, x: Any) -> Any:
    """Rosenbrock's function, by NumPy's functions or ours."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def slope(x: Any) -> Any:
    """Its gradient, written by hand."""
    out, distance = np.zeros_like(x), x[1:] - x[:-1] ** 2
    out[:-1] = -400 * x[:-1] * distance - 2 * (1 - x[:-1])
    out[1:] += 200 * distance
    return out


def decay(np: Any, x: Any, height: Any, rate: Any, level: Any) -> Any:
    """A function of three parameters to be fitted."""
    return height * np.exp(-rate * x) + level


@attrs.frozen
class Problem:
    """A problem.

    Attributes:
        own: solves it here.
        peer: solves it by SciPy.
        most: the bar for our time over SciPy's.
    """

    own: Call
    peer: Call
    most: float


def _minimum(method: str, **options: Any) -> Problem:
    def fun(x: Any) -> Any:
        return rosenbrock(jnp, x)

    def by_numpy(x: Any) -> Any:
        return rosenbrock(np, x)

    return Problem(
        lambda: ours.minimize(fun, _START, method=method, options=options),
        lambda: theirs.minimize(by_numpy, _START, jac=slope, method=method, options=options),
        1.3,
    )


def _fit() -> Problem:
    def fun(x: Any, height: Any, rate: Any, level: Any) -> Any:
        return decay(jnp, x, height, rate, level)

    def by_numpy(x: Any, height: Any, rate: Any, level: Any) -> Any:
        return decay(np, x, height, rate, level)

    return Problem(
        lambda: ours.curve_fit(fun, _POINTS, _DATA),
        lambda: theirs.curve_fit(by_numpy, _POINTS, _DATA),
        1.0,
    )


def _root() -> Problem:
    def equations(np: Any) -> Callable[[Any], Any]:
        return lambda x: np.cos(x) - x * np.roll(x, 1)

    of_jnp, of_np, start = equations(jnp), equations(np), np.full(10, 0.7)
    return Problem(lambda: ours.root(of_jnp, start), lambda: theirs.root(of_np, start), 2.0)


def _root_of_scalar(most: float, **options: Any) -> Problem:
    fun: Callable[[Any], Any] = lambda x: x * x - 2.0  # noqa: E731
    derivative = {} if "bracket" in options else {"fprime": lambda x: 2.0 * x}
    return Problem(
        lambda: ours.root_scalar(fun, **options),
        lambda: theirs.root_scalar(fun, **options, **derivative),
        most,
    )


PROBLEMS: Final[dict[str, Callable[[], Problem]]] = {
    "minimize, BFGS": lambda: _minimum("BFGS"),
    "minimize, L-BFGS-B": lambda: _minimum("L-BFGS-B"),
    "minimize, SLSQP": lambda: _minimum("SLSQP"),
    "minimize, trust-constr": lambda: _minimum("trust-constr", maxiter=150),
    "curve_fit, 50 points, 3 parameters": _fit,
    "root, 10 equations": _root,
    "root_scalar, brentq": lambda: _root_of_scalar(8.0, bracket=(0.0, 10.0)),
    "root_scalar, newton": lambda: _root_of_scalar(3.0, x0=1.0),
}


def main() -> int:
    options = parser("benchmarks.solvers", __doc__, "take a tenth of the time").parse_args()
    console, rows = new_console(), list[list[str]]()
    for name in track(PROBLEMS, "measuring", console=console, transient=True):
        problem = PROBLEMS[name]()
        for _ in range(100):  # programs that are called often are written as functions
            if "minimize" not in name:
                problem.own()
        calls = {"tinyjax": problem.own, "scipy": problem.peer}
        effort = QUICK if options.quick else THOROUGH
        with blas.one_thread():  # the others spin, and their time counts
            samples = interleaved(calls, effort, False, process_time)
        own, peer = (Spread.from_samples(samples[who]).median for who in calls)
        ratio = Spread.of_ratios(samples["tinyjax"], samples["scipy"]).median
        cells = [name, duration(own), duration(peer), factor(ratio), factor(problem.most)]
        rows.append([*cells, verdict(ratio <= problem.most)])
    headings = ["", "tinyjax", "scipy", "ratio", "at most", ""]
    caption = f"Rosenbrock's function in {_SIZE} variables is minimised. float64, processor time."
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = f"{markdown(headings, rows)}\n\n{caption}"
        insert(options.docs / "performance-tables.md", "solvers", text)
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())

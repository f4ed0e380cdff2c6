"""``python -m packages.pages``: run the programs of the gallery that call packages.

They run with small settings. What they return is held against central differences of the plain
program, and against what is known. Arguments are names of programs, which alone are run.
"""

import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

import attrs
import matplotlib as mpl

Results = dict[str, float]


@attrs.frozen
class Page:
    """The settings of a program, and what holds for its results."""

    settings: dict[str, int]
    #: The greatest relative difference of its derivative from central differences.
    tolerance: float
    holds: Callable[[Results], bool]


def near(first: float, second: float, tolerance: float) -> bool:
    return abs(first - second) <= tolerance * abs(second)


PAGES: Final = {
    "vapour": Page(
        {"count": 20},
        1e-7,
        lambda x: (
            near(x["misfit by gradients"], x["misfit by differences"], 1e-4)
            and x["evaluations by gradients"] < x["evaluations by differences"] / 4
            and x["greatest error in standard deviations"] < 4
        ),
    ),
    "noise": Page(
        {"count": 4, "steps": 15},
        1e-7,
        lambda x: (
            near(x["misfit by gradients"], x["misfit by differences"], 1e-5)
            and x["misfit by gradients"] < x["misfit of the true covariances"]
        ),
    ),
    "orbit": Page(
        {"count": 25},
        1e-6,
        lambda x: (
            near(x["sum of squares by derivatives"], x["sum of squares by differences"], 1e-5)
            # of 75 residuals with 50 degrees of freedom, as directions have length 1, less 6
            and 15 < x["sum of squares by derivatives"] < 90
            and x["error after three days in km"] < 4 * x["its standard deviation"]
        ),
    ),
    "wind_farm": Page(
        {"rows": 3},
        1e-4,
        lambda x: (
            x["megawatts at the start"] < x["megawatts by gradients"] < x["megawatts without wakes"]
            and near(x["megawatts by gradients"], x["megawatts by differences"], 0.02)
        ),
    ),
    "sound": Page(
        {"size": 1024, "rounds": 60},
        1e-6,
        lambda x: x["misfit by gradients"] < 0.3 * x["misfit by librosa's inverse"],
    ),
}


def run(name: str) -> list[str]:
    """Run a program, and return the checks that fail."""
    page = PAGES[name]
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder, "picture.png")
        results: Results = import_module(f"gallery.{name}").main(str(picture), **page.settings)
        is_drawn = picture.read_bytes().startswith(b"\x89PNG")
    (error,) = (value for key, value in results.items() if key.endswith("against differences"))
    checks = {
        "no picture": is_drawn,
        f"the derivative differs by {error:.1e}": error < page.tolerance,
        f"unexpected results: {results}": page.holds(results),
    }
    return [message for message, holds in checks.items() if not holds]


def main() -> int:
    mpl.use("agg")
    failed = False
    for name in sys.argv[1:] or PAGES:
        failures = run(name)
        failed |= bool(failures)
        print(f"{name}: {'; '.join(failures) or 'right'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The recorded results, and the page that shows them: ``python -m packages.table`` writes it."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import attrs

from packages.checks import CHECKS, Result

FOLDER: Final = Path(__file__).parent
RECORD: Final = FOLDER / "results.tsv"
DOCUMENT: Final = FOLDER.parents[1] / "docs" / "packages.md"
COLUMNS: Final = tuple(field.name for field in attrs.fields(Result))
SETS: Final = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh"),
)


def modules() -> list[str]:
    """Return the modules of rows, such as ``first.rotations``."""
    paths = [path for name in SETS for path in sorted((FOLDER / name).glob("*.py"))]
    return [f"{path.parent.name}.{path.stem}" for path in paths if path.stem != "__init__"]


def read() -> list[Result]:
    with RECORD.open(encoding="utf-8", newline="") as file:
        return [Result(**row) for row in csv.DictReader(file, delimiter="\t")]


def write(results: Iterable[Result]) -> None:
    with RECORD.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(attrs.asdict(result) for result in results)


def key(result: Result) -> tuple[str, str]:
    return result.package, result.function


def merged(old: Iterable[Result], new: Iterable[Result]) -> list[Result]:
    """Replace results of the same functions; those of new functions come last in their set."""
    by_key = {key(result): result for result in old}
    by_key |= {key(result): result for result in new}
    return sorted(by_key.values(), key=lambda result: SETS.index(result.set))


def losses(recorded: Iterable[Result], results: Iterable[Result]) -> list[str]:
    """Return the checks that were recorded as right and are not."""
    before = {key(result): result for result in recorded}
    return [
        f"{result.package} {result.function}: {check} is {getattr(result, check)}: {result.error}"
        for result in results
        for check in CHECKS
        if key(result) in before
        and getattr(before[key(result)], check) == "right" != getattr(result, check)
    ]


def line(result: Result) -> str:
    """Return a result as a line of the printed table."""
    statuses = " ".join(f"{getattr(result, check):8}" for check in CHECKS)
    times = (result.us_function, result.us_first, result.us_grad, result.us_jit)
    columns = " ".join(f"{time or '-':>8}" for time in times)
    name = f"{result.package} {result.function}"
    return f"{name:55.55} {statuses} {columns}"


HEADING: Final = (
    f"{'function':55} {' '.join(f'{check:8}' for check in CHECKS)} "
    f"{' '.join(f'{t:>8}' for t in ('us: f', 'first', 'grad', 'jit'))}"
)


# The page


def share(results: Iterable[Result], check: str) -> str:
    """Return how many of the counted results are right, such as ``5 of 6``."""
    passed = [getattr(result, check) == "right" for result in results if result.is_counted]
    return f"{sum(passed)} of {len(passed)}" if passed else "–"


def percentage(results: Iterable[Result], check: str) -> str:
    passed = [getattr(result, check) == "right" for result in results if result.is_counted]
    return f"{sum(passed)} of {len(passed)} ({100 * sum(passed) / len(passed):.0f} %)"


def ratio(results: Iterable[Result], time: str) -> str:
    """Return the median of how many times a gradient takes the function's time."""
    ratios = sorted(
        float(getattr(result, time)) / float(result.us_function)
        for result in results
        if getattr(result, time) and result.us_function
    )
    return f"{ratios[len(ratios) // 2]:.0f}" if ratios else "–"


#: The columns of checks on the page.
SHOWN: Final = ("value", "grad", "jit", "vmap")
HEAD: Final = """# Packages as they are

Functions of packages of the package index, written for NumPy, called unchanged through
`tinyjax.source.capture`. `nox -s packages` installs the packages and runs the functions; each has
three inputs of 64-bit floats.

- **value**: the captured function gives what the plain one gives.
- **grad**: `tinyjax.grad(source.capture(f))` agrees with central differences of fourth order.
- **jit**: `tinyjax.jit(tinyjax.grad(source.capture(f)))`, one function, agrees at the three inputs.
- **vmap**: `tinyjax.vmap(source.capture(f))` of the three inputs gives their values.

After all of it the plain function is called again, and gives the same values of unchanged inputs.
Times are measured on a machine that others use at the same time: they tell the order of magnitude.
"""
TOTALS: Final = """
| | functions | value | grad | jit | vmap | grad: times the function | jit: times the function |
|---|---|---|---|---|---|---|---|
"""
TITLES: Final = {
    "first": """
## The first set

The packages on which `source.capture` was developed.
""",
    "second": """
## The second set

Packages that were chosen, and functions that were written down, before `source.capture` had run on
them. In its first run 62 of the 83 gradients were right (75 %), 45 compiled gradients (54 %) and 60
batches (72 %).
""",
    "third": """
## The third set

Chosen likewise, later. In its first run 63 of the 80 gradients were right (79 %), 62 compiled
gradients (78 %) and 64 batches (80 %).
""",
    "fourth": """
## The fourth set

Chosen likewise, later. In its first run 67 of the 79 gradients were right (85 %), as many compiled
gradients and as many batches. One input was at a kink of its function, and was moved.
""",
    "fifth": """
## The fifth set

Chosen likewise, later. In its first run 62 of the 90 gradients were right (69 %), 63 compiled
gradients (70 %) and as many batches. One input was at a kink of its function, and was moved.
""",
    "sixth": """
## The sixth set

Chosen likewise, later. In its first run 53 of the 79 gradients were right (67 %), 48 compiled
gradients (61 %) and 56 batches (71 %). Three inputs were at kinks of their functions, and were
moved.
""",
    "seventh": """
## The seventh set

Chosen likewise, later. In its first run 73 of the 89 gradients were right (82 %), 70 compiled
gradients (79 %) and 76 batches (85 %). Five functions were mended: two inputs were at kinks, one
was out of the domain, one step jumped, and one function raised an error without capture.
""",
    "eighth": """
## The eighth set

Chosen likewise, later. In its first run 52 of 71 gradients were right (73 %), 50 compiled gradients
(70 %) and 55 batches (77 %). Two functions were mended before they counted: one drew random
numbers, and one raised an error without capture.
""",
    "ninth": """
## The ninth set

Chosen likewise, later. In its first run 60 of 73 gradients were right (82 %), 58 compiled gradients
(79 %) and as many batches. One function fits by least squares, whose tolerance was set.
""",
    "tenth": """
## The tenth set

Chosen likewise, later. In its first run 51 of 69 gradients were right (74 %), 50 compiled gradients
(72 %) and 53 batches (77 %). Three functions were mended: two inputs were at kinks, and one
function returned an array.
""",
    "eleventh": """
## The eleventh set

Chosen likewise, later. In its first run 49 of 64 gradients were right (77 %), as many compiled
gradients and 52 batches (81 %). One function was mended: it called another that halves an interval
by comparisons, which have no slope.
""",
}
BY_PACKAGE: Final = """
| package | version | functions | value | grad | jit | vmap |
|---|---|---|---|---|---|---|
"""


def by_package(results: Iterable[Result]) -> Iterator[str]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.package, []).append(result)
    for package in sorted(groups, key=str.lower):
        group = groups[package]
        cells = [package, group[0].version, f"{sum(x.is_counted for x in group)}"]
        cells += [share(group, check) for check in SHOWN]
        yield f"| {' | '.join(cells)} |\n"


#: Why a function's check cannot be right.
REASONS: Final = {
    ("skyfield", "keplerlib.propagate"): "it finds a root by bisection, whose steps have no slope",
    ("PyMoosh", "modes.steepest"): "it halves its steps by comparisons, which have no slope",
    ("geodepy", "convert.geo2grid"): "it rounds its results, whose steps have no slope",
    ("geodepy", "geodesy.vincinv"): "it rounds its results, whose steps have no slope",
    ("nodepy", "stability_function"): "the eigenvalue zero of a matrix is defective",
    ("pyfeng", "HestonFft"): "the key of its cache is a hash of parameters",
    ("pygfunction", "thermal_resistances"): "it gives what its last call gave for close inputs",
    ("PyDynamic", "GUM_DFT"): "SciPy leaves an element that is zero out of a sparse matrix",
}


def exceptions(results: Iterable[Result]) -> Iterator[str]:
    """Return the lines that name what is not right, by package."""
    for result in sorted(results, key=lambda result: result.package.lower()):
        name = f"- {result.package} `{result.function}`: "
        if result.compiled:
            yield f"{name}not counted, compiled code of the package: {result.compiled}\n"
        elif not result.is_right:
            statuses = {check: getattr(result, check) for check in CHECKS}
            failed = [f"{check} {x}" for check, x in statuses.items() if x not in ("right", "")]
            reason = f" ({REASONS[key(result)]})" if key(result) in REASONS else ""
            yield f"{name}{', '.join(failed)}{reason}\n"


def text(results: Iterable[Result]) -> str:
    """Write the page."""
    results = list(results)
    sets = {name: [x for x in results if x.set == name] for name in SETS}
    parts = [HEAD, TOTALS]
    for name, group in sets.items():
        if group:
            cells = [f"{name} set", f"{sum(x.is_counted for x in group)}"]
            cells += [percentage(group, check) for check in SHOWN]
            cells += [ratio(group, time) for time in ("us_grad", "us_jit")]
            parts.append(f"| {' | '.join(cells)} |\n")
    for name, group in sets.items():
        if group:
            parts += [TITLES[name], BY_PACKAGE, *by_package(group)]
            listed = list(exceptions(group))
            parts += ["\nNot right, or not counted:\n\n", *listed] if listed else []
    return "".join(parts)


if __name__ == "__main__":
    DOCUMENT.write_text(text(read()), encoding="utf-8")

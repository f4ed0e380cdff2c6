"""Write ``tests/tables/accuracy.md`` and its picture from what was measured."""

import json
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).with_name("accuracy.json")
DOCUMENT: Final = Path(__file__).parents[1] / "tables" / "accuracy.md"
PICTURE: Final = Path(__file__).parents[2] / "docs" / "accuracy.svg"
#: For each function by how it was computed: the greatest error, and what 99 of 100 stay below.
Measured = dict[str, dict[str, list[float]]]

HEAD: Final = """# Accuracy

How accurate functions and their derivatives are, measured against mpmath, which computes
with as many digits as are asked for (`nox -s accuracy`, in `tests/numerics/accuracy.py`). The
points of a function are dense where it is hard: at zeros and poles, at ends, and where one
formula takes over from another. The plain tests measure some of them again, and none may be
worse.

Errors are in units in the last place: the unit is that of the exact result or, where this is
greater, of what one such unit of the argument changes it by. (So near a zero away from 0 the
error stays small beside the argument's own rounding, and the relative error need not.) Each cell
has the greatest error, and in brackets what 99 of 100 points stay below. 0.5 is the least that
rounding allows, and 4,500 in float64 is a relative error of 1e-12.

Functions of several operands are differentiated in the last one. An index says which of several
results is meant; `bessel_jn` has order 3.

![Greatest errors in float64 of functions and derivatives, either way](../../docs/accuracy.svg)
"""


def data() -> Measured:
    """Read what was measured."""
    measured: Measured = json.loads(DATA.read_text(encoding="utf-8"))
    return measured


def _cell(errors: list[float]) -> str:
    most, usual = (f"{x:,.0f}" if x >= 10 else f"{x:.2g}" for x in errors)
    return f"{most} ({usual})"


def text() -> str:
    """Return the page."""
    found = data()
    parts = [HEAD]
    for kind, title in (("value", "Values"), ("derivative", "Derivatives")):
        keys = [f"{kind}, {d}, {w}" for d in ("float64", "float32") for w in ("eager", "compiled")]
        headings = [key.removeprefix(f"{kind}, ") for key in keys]
        lines = [
            f"## {title}",
            "",
            f"| | {' | '.join(headings)} |",
            f"|---|{'---|' * len(keys)}",
            *[
                f"| `{name}` | {' | '.join(_cell(errors[key]) for key in keys)} |"
                for name, errors in found.items()
            ],
            "",
        ]
        parts.append("\n".join(lines))
    return "\n".join(parts)


def picture() -> None:
    """Draw the greatest errors in float64."""
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "tinyjax"
    plt.rcParams["svg.fonttype"] = "none"
    found = data()
    names = list(reversed(found))
    figure, axes = plt.subplots(figsize=(9, 0.8 + 0.24 * len(names)), layout="constrained")
    for kind, marker in (("value", "o"), ("derivative", "|")):
        for way, colour in (("eager", "tab:blue"), ("compiled", "tab:orange")):
            most = [found[name][f"{kind}, float64, {way}"][0] for name in names]
            rows = range(len(names))
            size = {"ms": 5} if marker == "o" else {"ms": 11, "mew": 2}
            axes.plot(most, rows, marker, color=colour, label=f"{kind}, {way}", **size)
    axes.axvline(0.5, color="grey", lw=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("greatest error in float64, in units in the last place; grey: rounding alone")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)

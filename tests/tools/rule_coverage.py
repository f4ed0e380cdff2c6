"""The checks of each primitive: ``python -m tools.rule_coverage`` writes the table.

A cell has a mark if a row of ``tests/specs`` is checked for it, by ``tinyjax.testing``; else it has
the letter of a reason.
"""

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import attrs
import numpy as np

import tinyjax
from specs import KINDS, Spec, all_specs
from tinyjax import eval_shape
from tinyjax.core.tracing.primitive import Primitive, registry
from tinyjax.errors import TinyjaxError

DOCUMENT: Final = Path(__file__).parents[1] / "tables" / "coverage.md"
CHECKED: Final = "✓"

#: The letters of reasons.
REASONS: Final[dict[str, str]] = {
    "n": "its values are no floats, or its derivative is zero everywhere",
    "m": "there is no derivative, and asking for one is an error",
    "e": "its derivative is a program of its own, which tests of exports and custom rules check",
    "f": "has effects alone, or calls Python, which has no derivative",
    "o": "not linear in any operand: it has no transpose",
    "t": "transposed through what it consists of: reverse mode is checked against differences",
    "1": "derivatives of the first order only are checked, for the time that the second takes",
    "r": "refused by its types: eagerly, compiled and mapped alike",
    "d": "taken; no row has it, but evaluated, compiled and mapped it is compared (not programs)",
    "p": "holds a program, or a parameter of its own dtype: it has the types of that",
    "x": "by design, as its row in tests/specs says",
    "c": "nothing is left of it in a compiled program, or nothing that could be divided",
    "u": "its result is unique up to factors, which LAPACK chooses by where operands lie",
}

#: Why primitives of floats have no derivative that is checked.
WITHOUT_DERIVATIVE: Final[dict[str, str]] = {
    **dict.fromkeys(("geqrf", "hessenberg", "parlett", "rsf2csf", "schur", "tridiagonal"), "m"),
    "random_gamma_grad": "m",
    **dict.fromkeys(("call_exported", "custom_vjp_tangent", "exported_tangent"), "e"),
    **dict.fromkeys(("reduce_precision", "stop_gradient"), "x"),
}

#: Rows whose results on several devices are not compared (tests/extensions/parallel/test_rows.py).
NOT_UNIQUE: Final = ("schur",)


def belongs_to_tinyjax(primitive: Primitive[Any]) -> bool:
    """Return whether the package defines it, rather than a test or an example of the docs."""
    rules = primitive.rules
    own = (rules.impl, rules.evaluate, rules.abstract_eval, rules.lowering)
    functions = [rule.func if isinstance(rule, partial) else rule for rule in own if rule]
    wraps = any(function.__module__.startswith("tinyjax._jax.") for function in functions)
    return bool(primitive.rule_names) and not rules.are_checked and not wraps


def primitives() -> dict[str, Primitive[Any]]:
    """Every primitive of the package, by name."""
    for module in pkgutil.walk_packages(tinyjax.__path__, "tinyjax."):
        if module.name != "tinyjax.as_jax":  # which is for processes without jax
            importlib.import_module(module.name)
    return {name: p for name, p in sorted(registry.items()) if belongs_to_tinyjax(p)}


@attrs.frozen(eq=False)
class Tested:
    """A primitive with its rows."""

    primitive: Primitive[Any]
    rows: tuple[Spec, ...]

    def has(self, *rules: str) -> bool:
        return any(self.primitive.has_rule(rule) for rule in rules)

    def made(self, check: str, condition: Callable[[Spec], object] = lambda row: True) -> bool:
        """Return whether a check is made of one of the rows."""
        return any(check not in row.skip and bool(condition(row)) for row in self.rows)

    def without_derivative(self) -> str:
        if self.primitive.effectful or "callback" in self.primitive.name:
            return "f"
        return WITHOUT_DERIVATIVE.get(self.primitive.name, "n")


def _plain(check: str) -> Callable[[Tested], str]:
    return lambda tested: CHECKED if tested.made(check) else "x"


def _jvp(tested: Tested) -> str:
    if tested.has("jvp", "linearize") and tested.made("grad", lambda row: row.grad or row.linear):
        return CHECKED
    return tested.without_derivative()


def _transpose(tested: Tested) -> str:
    if not tested.has("transpose"):
        return "o" if _jvp(tested) == CHECKED else tested.without_derivative()
    return CHECKED if tested.made("linear", lambda row: row.linear) else "t"


def _linearize(tested: Tested) -> str:
    if tested.made("jaxpr", lambda row: row.grad) or tested.made("linear", lambda row: row.linear):
        return CHECKED
    return tested.without_derivative()


def _second(tested: Tested) -> str:
    if tested.made("grad", lambda row: row.grad > 1):
        return CHECKED
    if tested.made("linear", lambda row: row.linear):
        return CHECKED  # the derivative is the function itself
    return "1" if tested.made("grad", lambda row: row.grad) else tested.without_derivative()


def _complex(tested: Tested) -> str:
    """Derivatives at complex numbers: tests/core/transforms/test_complex.py."""
    if _jvp(tested) != CHECKED:
        return tested.without_derivative()
    taken = _family("c")(tested)
    return taken


def _sharded(tested: Tested) -> str:
    if tested.made("compiled", lambda row: row.name not in NOT_UNIQUE):
        return CHECKED
    return "u" if any(row.name in NOT_UNIQUE for row in tested.rows) else "c"


def _family(letter: str) -> Callable[[Tested], str]:
    wanted = frozenset(KINDS[letter])

    def cell(tested: Tested) -> str:
        if any(wanted & _drawn(row) for row in tested.rows):
            return CHECKED
        generic = [row for row in tested.rows if any(case.generic for case in row.cases)]
        if not generic:
            return "p"
        return "r" if all(_refused(row, letter) for row in generic) else "d"

    return cell


def _drawn(row: Spec) -> frozenset[Any]:
    """The dtypes that operands of a row have."""
    given = {x.dtype for case in row.cases for x in case.operands if x.dtype is not None}
    generic = any(case.generic for case in row.cases)
    return frozenset((*given, *(row.dtypes if generic else ())))


@cache
def _refused(row: Spec, letter: str) -> bool:
    """Return whether the types of operands of a kind are refused."""
    case = next(case for case in row.cases if case.generic)
    with np.errstate(all="ignore"):
        operands = case.sample(row.rng("coverage"), KINDS[letter][-1], special=False)
    try:
        eval_shape(row.applied(case.params), *operands)
    except TinyjaxError:
        return True
    return False


COLUMNS: Final[dict[str, Callable[[Tested], str]]] = {
    "impl": _plain("numpy"),
    "types": _plain("numpy"),
    "lowering": _plain("compiled"),
    "jvp": _jvp,
    "transpose": _transpose,
    "batch": _plain("vmap"),
    "linearize": _linearize,
    "2nd order": _second,
    "complex": _complex,
    "bool": _family("b"),
    "int": _family("i"),
    "uint": _family("u"),
    "float": _family("f"),
    "float8": _family("e"),
    "complex values": _family("c"),
    "sharded": _sharded,
}


def matrix() -> dict[str, tuple[str, ...]]:
    """The cells of every primitive, by its name."""
    rows: dict[str, list[Spec]] = defaultdict(list)
    for row in all_specs():
        rows[row.primitive.name].append(row)
    return {
        name: tuple([cell(Tested(p, tuple(rows[name]))) for cell in COLUMNS.values()])
        for name, p in primitives().items()
    }


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def text() -> str:
    """The document."""
    found = matrix()
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, cells in found.items():
        groups[cells].append(name)
    used = {cell for cells in groups for cell in cells} - {CHECKED}
    marks = sum(cell == CHECKED for cells in found.values() for cell in cells)
    total = sum(map(len, found.values()))
    lines = [
        "# Coverage",
        "",
        f"tinyjax has {len(found)} primitives. The table says what the tests hold each to:",
        f"{marks:,} of {total:,} cells. Primitives with the same cells share a line. The checks",
        "are those of [`tinyjax.testing`](../../docs/testing.md), on operands of `tests/specs`.",
        "`python -m tools.rule_coverage` in `tests/` writes this page, and a test keeps it up to",
        "date.",
        "",
        _line(["primitives", *COLUMNS]),
        _line(["---"] * (len(COLUMNS) + 1)),
    ]
    ordered: Sequence[tuple[tuple[str, ...], list[str]]]
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[1]))
    for row, names in ordered:
        lines.append(_line([", ".join(f"`{name}`" for name in names), *row]))
    lines += [
        "",
        "An empty cell has the letter of its reason:",
        "",
        "| | reason |",
        "|---|---|",
        *[f"| {letter} | {why} |" for letter, why in REASONS.items() if letter in used],
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")

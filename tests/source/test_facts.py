"""The facts about NumPy, compared with NumPy in all layouts, with all values of options."""

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest
from capturing import comparing, rows
from numpy_calls import TABLE, X

from tinyjax.source import facts

#: Calls that the tables have not: of options without a value there, and of no power or derivative.
FURTHER: Final = (
    "np.meshgrid(x[0], x[1], copy=False)",
    "np.linalg.matrix_power(x[:, :2], 1)",
    "np.polyder(x[0], 0)",
    "np.polyint(x[0], 0)",
    "np.ix_(x[0], x[1])",
    "np.apply_over_axes(np.sum, x, [])",
    "np.real_if_close(x)",
    "np.unwrap(x[0])",
    "np.resize(x, (2, 3))",
    "np.tile(x, 1)",
    "np.repeat(x, 1)",
    "np.roll(x, 0)",
    "np.concatenate([x])",
    "np.stack([x])",
    "np.block([[x]])",
    "np.pad(x, 0)",
    "np.kron(x, 1)",
    "np.max(x, axis=())",
    "np.sum(x, axis=())",
    "np.mean(x, axis=())",
    "np.delete(x, [])",
    "np.insert(x, [], 1)",
    "np.append(x, [])",
    "np.clip(x, None, None)",
    "np.polyadd(x[0], [])",
    "np.polymul(x[0], [1])",
    "np.linalg.multi_dot([x, x.T])",
)
LAYOUTS: Final = {k: v for k, v in comparing.LAYOUTS.items() if k not in ("list", "scalar")}


def arrays_in(result: Any) -> list[Any]:
    """Return the arrays of a result."""
    if isinstance(result, (tuple, list)):
        return [y for item in result for y in arrays_in(item)]
    return [result] if isinstance(result, np.ndarray) and result.size else []


def outcomes(call: str) -> Iterator[tuple[str, bool]]:
    """Yield whether the result of a call shares memory with what it is given, for each layout."""
    for layout, statement in LAYOUTS.items():
        scope: dict[str, Any] = {**comparing.SCOPE, "a": X.copy()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec(statement, scope)
                for name in "kb":
                    if re.search(rf"\b{name}\b", call):
                        exec(comparing.NAMES[name], scope)
                operands = [y for y in scope.values() if isinstance(y, np.ndarray) and y.size]
                result = arrays_in(eval(call, scope))
            except Exception:  # NumPy refuses it
                continue
        if result:
            yield layout, any(np.shares_memory(y, z) for y in result for z in operands)


def calls() -> Iterator[tuple[Any, str, int, tuple[str, ...]]]:
    """Yield calls of functions and methods: what is called, and with how many arguments and names.

    They write no results into other arrays.
    """
    tables = [text.lstrip("?!") for texts in TABLE.values() for text in texts]
    for text in (*tables, *[text for _, text in rows.variants()], *FURTHER):
        node = ast.parse(text, mode="eval").body
        function = rows.function_of(node) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and function is not None:
            names = tuple([keyword.arg or "" for keyword in node.keywords])
            yield function, text, len(node.args), names
    for _, text in rows.rows(rows.METHODS):
        if ">>" in text or "=" in re.sub(r"\(.*\)", "", text):
            continue
        node = ast.parse(text, mode="eval").body
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names = tuple([keyword.arg or "" for keyword in node.keywords])
            yield node.func.attr, text, len(node.args), names


CALLS: Final = [*calls()]


def test_each_name_is_one_of_numpy() -> None:
    names = facts._FRESH.split() + facts._VIEWS.split()
    assert len(facts.FRESH) + len(facts.VIEWS) >= len({*names}) - 8  # aliases of others


def test_fresh_results_share_nothing() -> None:
    """Results that are said to be fresh share memory with none of the arrays of a call."""
    known = [call for call in CALLS if facts.is_fresh(call[0], *call[2:])]
    assert len(known) > 3000
    shared = [
        (text, layout) for _, text, _, _ in known for layout, shares in outcomes(text) if shares
    ]
    assert shared == []


def test_views_share() -> None:
    """Functions that are said to give views do so, in one of the layouts at least."""
    shown = {
        function
        for function, text, _, _ in CALLS
        if function in facts.VIEWS or function in facts.VIEW_METHODS
        if any(shares for _, shares in outcomes(text))
    }
    missing = (facts.VIEWS | facts.VIEW_METHODS) - shown
    assert {getattr(f, "__name__", f) for f in missing} <= {"as_strided", "imag"}


def test_what_shares_is_not_said_to_be_fresh() -> None:
    """A call whose result shares memory in some layout is known for it, or not known at all."""
    for function, text, count, names in CALLS[:: len(CALLS) // 400]:
        if any(shares for _, shares in outcomes(text)):
            assert not facts.is_fresh(function, count, names), text


@pytest.mark.parametrize("name", sorted(facts.VIEW_ATTRIBUTES))
def test_attributes_are_views(name: str) -> None:
    x = X + 1j
    assert np.shares_memory(getattr(x, name), x)


@pytest.mark.parametrize("name", sorted(facts.PLAIN_ATTRIBUTES))
def test_plain_attributes_are_no_arrays(name: str) -> None:
    assert not isinstance(getattr(X, name), np.ndarray)

"""Functions of ``functools.lru_cache``: what a cache has is what they return, or is refused."""

from pathlib import Path
from typing import Final

import pytest
from entries import Subject, check, outcomes

pytestmark = pytest.mark.usefixtures("double_precision")

IMPORTS: Final = """
import abc, functools, itertools, random
from types import SimpleNamespace
import numpy as np
from scipy.linalg.lapack import dgetrf
"""
#: What a function reads, how it is made, and how it is changed.
STATES: Final = """
number      | s = 1.5                                | s              | s = x[3]
list        | s = [1.5]                              | s[0]           | s[0] = x[3]
data        | s = [1.5]                              | len(s)         | s.append(2.0)
dict        | s = {"a": 1.5}                         | s["a"]         | s["a"] = 2.5
array       | s = np.ones(3)                         | s[1]           | s[1] = 2.5
traced      | s = x * 2.0                            | s[1]           | s[1] = x[3]
view        | t = x * 2.0; s = t[1:]                 | s[0]           | t[1] = 1.0
object      | s = SimpleNamespace(a=1.5)             | s.a            | s.a = x[3]
class       | s = type("S", (), {"a": 1.5})          | s.a            | s.a = 2.5
abstract    | s = abc.ABCMeta("S", (), {"a": 1.5})   | s.a            | s.a = 2.5
inner       | t = [1.5]; s = lambda: t[0]            | s()            | t[0] = 2.5
ufunc       | t = [1.5]; s = np.frompyfunc(lambda v: v * t[0], 1, 1) | s(2.0) | t[0] = 2.5
lapack      | t = [1.5]; s = lambda: dgetrf([t])[0][0, 0] | s() | t[0] = 2.5
default     | s = lambda t=[1.5]: t[0]               | s()            | s.__defaults__[0][0] = 2.5
attribute   | s = lambda: s.a; s.a = 1.5             | s.a            | s.a = 2.5
module      | pass                                   | STATE[0]       | STATE[0] += 1.0
random      | s = random.Random(1)                   | s.random()     | pass
generator   | s = np.random.default_rng(1)           | s.random()     | pass
iterator    | s = iter([1.5, 2.5, 3.5])              | next(s)        | pass
lazy        | s = (v for v in [1.5, 2.5, 3.5])       | next(s)        | pass
seeded      | np.random.seed(1)                      | np.random.rand() | pass
"""
PROGRAM: Final = """
STATE = [1.5]
def f(x):
    STATE[0] = 1.5
    {made}
    @functools.lru_cache(maxsize=None)
    def g(v):
        {inside}
        return v * {read}
    y = g(x[0])
    {between}
    return y + g(x[0]) * x[1]
"""
#: What a function returns, how that is changed, and what is read of the next result.
RESULTS: Final = """
[v]                     | r.append(x[1])        | sum(r)
{"a": v}                | r["a"] = x[1]         | r["a"]
np.array([v, v])        | r[0] = x[1]           | r[0]
np.array([v, v])        | r *= 2.0              | r[0]
([v], 1)                | r[0].append(x[1])     | sum(r[0])
SimpleNamespace(a=v)    | r.a = x[1]            | r.a
iter([v, 2 * v])        | next(r)               | next(r)
(u for u in [v, 2 * v]) | next(r)               | next(r)
"""
RETURNED: Final = """
@functools.cache
def g(v):
    return {made}
def f(x):
    r = g(x[0])
    {change}
    r = g(x[0])
    y = {read}
    g.cache_clear()
    return y * x[2]
"""


def _rows(table: str) -> list[list[str]]:
    return [[part.strip() for part in line.split("|")] for line in table.strip().splitlines()]


@pytest.mark.parametrize("place", ["inside", "between"])
@pytest.mark.parametrize("row", _rows(STATES), ids=lambda row: row[0])
def test_changes_of_what_a_cached_function_reads(
    row: list[str], place: str, tmp_path: Path
) -> None:
    """Results of a cache with what has changed between calls, or in each, are refused."""
    name, made, read, change = row
    if name == "number" and place == "inside":
        change = f"nonlocal s; {change}"
    places = {"inside": "pass", "between": "pass", place: change}
    check(IMPORTS + PROGRAM.format(made=made, read=read, **places), tmp_path)


UNCHANGED: Final = [row for row in _rows(STATES) if row[3] != "pass"]


@pytest.mark.parametrize("row", UNCHANGED, ids=lambda row: row[0])
def test_what_a_cached_function_reads_may_be_anything(row: list[str], tmp_path: Path) -> None:
    """Take a function that reads what does not change."""
    text = PROGRAM.format(made=row[1], read=row[2], inside="pass", between="pass")
    results = dict(outcomes(Subject(IMPORTS + text, tmp_path)))
    assert not results["captured"]
    assert not results["compiled capture"]


@pytest.mark.parametrize("row", _rows(RESULTS), ids=lambda row: row[0])
def test_changes_of_results(row: list[str], tmp_path: Path) -> None:
    """A result that is changed is what the cache has."""
    made, change, read = row
    check(IMPORTS + RETURNED.format(made=made, change=change, read=read), tmp_path)


def test_a_cache_that_is_emptied_or_counts(tmp_path: Path) -> None:
    """An emptied cache is a new one, and numbers of calls are refused."""
    text = IMPORTS + PROGRAM.format(
        made="s = [1.5]", read="s[0]", inside="pass", between="s[0] = x[3]; g.cache_clear()"
    )
    assert not dict(outcomes(Subject(text, tmp_path)))["captured"]
    check(text.replace("* x[1]", "* g.cache_info().hits"), tmp_path)

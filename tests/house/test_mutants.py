"""The tool that makes mutants (``mutants``): what it changes, and that tests notice it."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Final

import numpy as np
import pytest

from mutants import survivors, trials
from mutants.covering import Coverage, first_marks, marked
from mutants.operators import OPERATORS, replacements
from mutants.population import anatomy, module_files, mutants_of, sample


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("sign", "neg(t)", ["t"]),
        ("sign", "-x", ["x"]),
        ("arithmetic", "n - 1", ["n + 1"]),
        ("arithmetic", "'a' + b", []),
        ("swap", "sub(x, y)", ["sub(y, x)"]),
        ("swap", "mul(x, y)", []),
        ("swap", "x @ y", ["y @ x"]),
        ("scale", "mul(t, cos(x))", ["t", "cos(x)"]),
        ("scale", "x / n", ["x"]),
        ("conjugate", "np.conj(x)", ["x"]),
        ("conjugate", "x.conj()", ["x"]),
        ("number", "2", ["3"]),
        ("number", "True", []),
        ("batch_axis", "params.axis", ["0"]),
        ("order", "reversed(eqns)", ["eqns"]),
        ("order", "shape[::-1]", ["shape"]),
        ("lost_call", "moveaxis(x, d, 0)", ["x"]),
        ("lost_call", "len(x)", []),
        ("dtype", "np.float32", ["np.float64"]),
        ("dtype", "x.astype(d)", ["x"]),
        ("dtype", "x.weak_type", ["not x.weak_type"]),
        ("zero", "ct is ZERO", ["False", "True"]),
        ("zero", "ct is None", []),
        ("comparison", "i < n", ["i <= n"]),
        ("condition", "a and b", ["a or b", "b", "a"]),
        ("condition", "x if c else y", ["y if c else x"]),
        ("keyword", "sum(x, axis=0, keepdims=True)", ["sum(x, keepdims=True)", "sum(x, axis=0)"]),
        ("cache_key", "cache.get((a, b))", ["cache.get((b,))", "cache.get((a,))"]),
    ],
)
def test_what_becomes_of_an_expression(operator: str, before: str, after: list[str]) -> None:
    node = ast.parse(before, mode="eval").body
    assert [ast.unparse(made) for made in replacements(node, operator)] == after


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("cache_key", "key = a, b", ["key = (b,)", "key = (a,)"]),
        ("effect", "effects.add(x)", ["pass"]),
        ("effect", "self.x = 1", ["pass"]),
        ("effect", "x = 1", []),
        ("check", "raise TypeError(x)", ["pass"]),
        ("check", "raise", []),
        ("jump", "break", ["pass"]),
    ],
)
def test_what_becomes_of_a_statement(operator: str, before: str, after: list[str]) -> None:
    (node,) = ast.parse(before).body
    assert [ast.unparse(made) for made in replacements(node, operator)] == after


def test_blocks_begin_where_a_function_may_have_ended() -> None:
    tree = ast.parse(
        dedent('''
        def f(x):
            """Text."""
            if x:
                return g(lambda: 1)
            return 2
        ''')
    )
    found = anatomy(tree)
    assert [(block.function, block.start) for block in found.blocks] == [
        ("", 0),
        ("f.", 1),
        ("f.", 0),
        ("f.", 0),
        ("f.", 2),
    ]
    numbers = {node.value: b.number for node, b in found.nodes if isinstance(node, ast.Constant)}
    assert numbers == {1: 3, 2: 4}


def test_marks_leave_a_module_what_it_is() -> None:
    marks = bytearray(100)
    names: dict[str, object] = {"__marks__": marks, "__name__": "rules"}
    exec(compile(marked("core/tracing/program_rules.py", 0), "rules", "exec"), names)
    assert not any(marks)
    same_eqns = names["same_eqns"]
    assert callable(same_eqns)
    assert same_eqns([names], [names])
    assert sum(marks) == 1


def test_samples_are_the_same_for_a_seed_and_have_all_mistakes() -> None:
    folders = ("transforms", "custom_derivatives")
    drawn = sample(40, 3, folders)
    assert drawn == sample(40, 3, folders)
    assert len({*drawn}) == 40
    assert {mutant.operator for mutant in drawn} == {*OPERATORS} - {"conjugate"}
    assert {mutant.folder for mutant in drawn} == {*folders}
    assert drawn != sample(40, 4, folders)


def test_reasons_are_those_of_mutants_that_there_are() -> None:
    assert not {*survivors.REASONS} & {*survivors.NOTICED}
    files = {name.partition(" ")[0] for name in (*survivors.REASONS, *survivors.NOTICED)}
    assert files <= {*module_files()}


#: Mutants, and whether a test of derivatives notices them.
KNOWN: Final = {
    ("core/transforms/transpose.py", "zero", "ct is prim.ZERO → True"): True,
    ("core/primitives/elementwise.py", "scale", "mul(t, cos(x)) → t"): True,
    ("core/tracing/jaxpr.py", "check", "raise"): False,  # no program is wrong there
}
MEETING: Final = "tests/core/transforms/test_pull_backs.py::test_pull_backs_are_stacked_and_mapped"


def try_known() -> list[bool]:
    """Let the mutants meet a test, and say which are noticed."""
    trials.prepare()
    places, total = first_marks()
    everywhere = {place: np.array([0]) for place in range(total)}
    coverage = Coverage([MEETING], np.zeros(1), everywhere, places)
    mutants = [
        next(m for m in mutants_of(file) if m.operator == made and words in m.name)
        for file, made, words in KNOWN
    ]
    with TemporaryDirectory() as folder:
        found = {
            r.mutant: r for r in trials.trials(mutants, coverage, Path(folder), 1, [(10.0, 1)])
        }
    assert all(result.killer or result.tests for result in found.values())
    return [bool(found[mutant].killer) for mutant in mutants]


@pytest.mark.counts
def test_tests_notice_mistakes() -> None:
    """In a process that has not imported the package."""
    path = os.pathsep.join(sys.path)
    command = [sys.executable, __file__]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path}
    )
    assert ran.stdout, ran.stderr
    assert json.loads(ran.stdout) == [*KNOWN.values()]


if __name__ == "__main__":
    print(json.dumps(try_known()))

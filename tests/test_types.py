"""What a type checker sees of us: what it must accept in ``tests/typing``, and what reject."""

import inspect
import typing
from pathlib import Path

import pytest

import checkers
import tinyjax
from tinyjax import api


@pytest.mark.slow
def test_mypy_accepts_what_is_right_and_finds_what_is_wrong() -> None:
    found = checkers.report("mypy")
    assert not found.alarms
    # functools.partial of an overloaded function is not known to mypy
    assert {name.split("_with_")[0] for name in found.missed} <= {"jit_by_partial", "jitted_method"}
    assert found.count - len(found.missed) > 150


def test_the_package_says_that_it_is_typed() -> None:
    assert tinyjax.__file__ is not None
    assert (Path(tinyjax.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "name",
    [n for n in (*api.__all__, "jit", "default_dtypes") if inspect.isfunction(getattr(tinyjax, n))],
)
def test_public_functions_are_annotated_and_their_annotations_resolve(name: str) -> None:
    function = getattr(tinyjax, name)
    original = inspect.unwrap(function)
    hints = typing.get_type_hints(original)
    assert set(hints) == {*inspect.signature(original).parameters, "return"}

"""Every public name is exported by one line, and type checkers see what ``import`` gives."""

import re
import sys
from importlib import import_module

import pytest

from raising import raises
from tools.exports import (
    FUNCTIONS,
    PACKAGE,
    SOURCES,
    forgotten,
    namespaces,
    path_of,
    stub,
    stub_of_functions,
)

NAMESPACES = namespaces()
#: Public modules that define their names themselves, or by families of functions.
DECLARES = re.compile(r"^((lazy\.)?answer_for|\w+: Final = Family)\(", re.MULTILINE)
MODULES = [n for n, path in SOURCES.items() if DECLARES.search(path.read_text("utf-8"))]
REMEDY = "run `python -m tools.exports` in tests/"


@pytest.mark.parametrize("name", NAMESPACES)
def test_type_checkers_see_the_table(name: str) -> None:
    assert path_of(name).read_text(encoding="utf-8") == stub(name), REMEDY


def test_type_checkers_see_the_functions_that_arrays_call() -> None:
    assert FUNCTIONS.read_text(encoding="utf-8") == stub_of_functions(), REMEDY


def test_there_is_no_other_stub() -> None:
    of_a_plane = PACKAGE / "core" / "answers.pyi"  # classes that the core only names
    assert {*PACKAGE.rglob("*.pyi")} == {FUNCTIONS, of_a_plane, *map(path_of, NAMESPACES)}


@pytest.mark.parametrize("name", NAMESPACES)
def test_what_is_exported_is_there(name: str) -> None:
    module = sys.modules[name]
    lacking = [public for public in dir(module) if not hasattr(module, public)]
    assert not lacking, f"the table of {name} names what its homes lack"


def test_what_is_defined_is_exported() -> None:
    assert forgotten() == []


@pytest.mark.parametrize("name", MODULES)
def test_a_misspelt_name_is_answered_with_the_public_one(name: str) -> None:
    module = import_module(name)
    for public in module.__all__:
        misspelt = public + public[-1]
        absent = f"module '{name}' has no attribute '{misspelt}'. Did you mean '{public}'"
        with raises(AttributeError, match=absent):
            getattr(module, misspelt)


def test_single_files_answer_misspelt_names() -> None:
    assert {"tinyjax.monitoring", "tinyjax.scipy.signal", "tinyjax.debug"} <= {*MODULES}
    with raises(AttributeError, match="Did you mean 'tree_map'"):
        vars(import_module("tinyjax.tree_util"))["__getattr__"]("tree_mpa")


@pytest.mark.parametrize(
    "name", ["tinyjax", "tinyjax.numpy", "tinyjax.lax", "tinyjax.random", *MODULES]
)
def test_completion_shows_public_names_alone(name: str) -> None:
    module = import_module(name)
    shown = dir(module)
    assert shown == sorted(module.__all__)
    assert not [public for public in shown if public.startswith("_") and public[:2] != "__"]

"""Every public name is exported by one line, and type checkers see what ``import`` gives."""

import ast
import re
import sys
from collections import defaultdict
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
from website import reference

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
    device_types = PACKAGE / "core" / "device_types.pyi"  # classes that the core only names
    assert {*PACKAGE.rglob("*.pyi")} == {FUNCTIONS, device_types, *map(path_of, NAMESPACES)}


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
    assert {"tinyjax.monitoring", "tinyjax.scipy.fft", "tinyjax.debug"} <= {*MODULES}
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


#: Modules with names in common that jax has in one of them only, or in none, by the reason.
IN_COMMON = {
    "programs use them most by their names in tinyjax": (
        "tinyjax tinyjax.ad_checkpoint",
        "tinyjax tinyjax.autodiff",
        "tinyjax tinyjax.config",
        "tinyjax tinyjax.custom_derivatives",
        "tinyjax tinyjax.experimental",
    ),
    "where jax has them, and where they belong": (
        "tinyjax.autodiff tinyjax.experimental.jet",
        "tinyjax.dtypes tinyjax.numpy",
        "tinyjax.experimental.ode tinyjax.implicit",
        "tinyjax.implicit tinyjax.lax",
        "tinyjax.tree tinyjax.tree_util",
    ),
    "annotations name them": (
        "tinyjax tinyjax.extend tinyjax.typing",
        "tinyjax.tree tinyjax.typing",
    ),
    "the core's, with which extensions are written": (
        "tinyjax.core tinyjax.experimental.hijax tinyjax.extend",
        "tinyjax.core tinyjax.extend",
        "tinyjax.core tinyjax.extend tinyjax.extend.core",
        "tinyjax.core tinyjax.extend.core",
        "tinyjax.extend tinyjax.extend.core",
    ),
    "what the package is asked for most": ("tinyjax.source tinyjax.source.staging",),
}


def is_in_jax(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module.replace("tinyjax", "jax", 1)), name)
    except ModuleNotFoundError:
        return False


def test_a_name_is_in_one_public_module() -> None:
    """Or in those where jax has it too, or for a reason."""
    homes: dict[tuple[str, int], list[str]] = defaultdict(list)
    for module in reference.public_modules():
        for name in reference.public_names(module):
            homes[name, id(reference.value_of(module, name))].append(module.__name__)
    common: dict[str, list[str]] = defaultdict(list)
    for (name, _), modules in homes.items():
        if len(modules) > 1 and not all(is_in_jax(module, name) for module in modules):
            common[" ".join(modules)].append(name)
    known = {modules for group in IN_COMMON.values() for modules in group}
    assert {modules: common[modules] for modules in common.keys() - known} == {}
    assert known - common.keys() == set(), "these have nothing in common any longer"


def seen_by_checkers(module: str) -> set[str]:
    """Read from a module's text, or its stub, which names a type checker lets others import."""
    path = SOURCES[module]
    stub = path.with_suffix(".pyi")
    names: set[str] = set()
    for node in ast.parse((stub if stub.exists() else path).read_text("utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=listed)):
                names |= {ast.literal_eval(entry) for entry in listed}
            case ast.Assign(targets=targets):
                inner = (x for target in targets for x in ast.walk(target))
                names |= {x.id for x in inner if isinstance(x, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.ImportFrom(names=aliases):
                names |= {alias.name for alias in aliases if alias.asname == alias.name}
            case _:
                pass
    return names


def test_type_checkers_see_what_modules_show() -> None:
    unseen = {
        module.__name__: shown - seen_by_checkers(module.__name__)
        for module in reference.public_modules()
        for shown in [{*getattr(module, "__all__", reference.public_names(module))}]
    }
    assert {module: names for module, names in unseen.items() if names} == {}

"""The repository itself: what lies where, what depends on what, and that the versions agree."""

import ast
import fnmatch
import os
import pkgutil
import re
import runpy
import tomllib
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tinyjax
from tinyjax._base.lazy import HOMES
from website import reference

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tinyjax"
FILES = sorted(SOURCE.rglob("*.py"))
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

TOP_LEVEL = {
    ".ci",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "benchmarks",
    "docs",
    "examples",
    "mypy.ini",
    "noxfile.py",
    "pyproject.toml",
    "sbom.cdx.json",
    "src",
    "tests",
    "typings",
    "website",
}


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def ignored_at_top() -> list[str]:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    return [line.strip("/") for line in lines if not line.startswith("#")]


def imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case _:
                pass


def packages_imported(file: Path) -> set[str]:
    return {module.partition(".")[0] for module in imports_of(file)}


def test_top_level_holds_what_it_should_and_nothing_else() -> None:
    patterns = [".git", *ignored_at_top()]
    present = {
        entry.name
        for entry in ROOT.iterdir()
        if not any(fnmatch.fnmatch(entry.name, pattern) for pattern in patterns)
        and not (entry / "pyvenv.cfg").exists()  # a virtual environment, whatever its name
    }
    assert present == TOP_LEVEL
    assert [entry.name for entry in (ROOT / "src").iterdir()] == ["tinyjax"]
    assert [entry.name for entry in (ROOT / ".ci").iterdir()] == ["run"]


def test_dependencies_are_those_that_are_imported() -> None:
    names = {dependency.partition(">")[0] for dependency in PYPROJECT["project"]["dependencies"]}
    assert names == {"numpy", "jaxlib", "ml_dtypes", "attrs", "typeguard"}
    # plugins of XLA's, which jaxlib loads, of its releases
    (jaxlib,) = [d for d in PYPROJECT["project"]["dependencies"] if d.startswith("jaxlib")]
    extras = PYPROJECT["project"]["optional-dependencies"]
    assert {*extras} == {"cuda12", "cuda13", "checkpoints", "explore", "all"}
    releases = jaxlib.removeprefix("jaxlib")
    assert {*extras["all"]} >= {*extras["checkpoints"], *extras["explore"]}
    for name, packages in extras.items():
        if not name.startswith("cuda"):
            continue
        assert packages == [
            *(f"jax-{name}-pjrt{releases}", f"jax-{name}-plugin[with-cuda]{releases}"),
        ]


def test_jax_for_comparison_is_the_one_of_jaxlib() -> None:
    expected = f"jax=={metadata.version('jaxlib')}"
    for group in ("test", "bench"):
        assert expected in PYPROJECT["dependency-groups"][group]


def test_imports() -> None:
    packages = {name_of(file): packages_imported(file) for file in FILES}
    assert [name for name, imported in packages.items() if "jax" in imported] == []
    compilers = {name for name in packages if "xla" in (Path(name).stem, Path(name).parent.name)}
    others = packages.keys() - compilers
    faults = [name for name in sorted(others) if "jaxlib" in packages[name]]
    assert faults == [], "only xla.py and folders named xla import jaxlib"


@pytest.mark.parametrize("ignored", ["type: ignore", "pyright: ignore"])
def test_no_type_is_ignored(ignored: str) -> None:
    texts = {name_of(file): file.read_text(encoding="utf-8") for file in FILES}
    assert [name for name, text in texts.items() if ignored in text] == []


def test_the_version_is_said_once_and_installed() -> None:
    assert metadata.version("tinyjax") == tinyjax.__version__


def test_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").read_text(encoding="utf-8") == ""


def test_licence_is_the_one_declared() -> None:
    assert PYPROJECT["project"]["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


def test_readme_has_both_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install nox && nox -s demo\n" in text
    assert "pip install nox && nox\n" in text


def test_ci_can_be_run() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_completion_shows_the_public_names_and_no_others() -> None:
    shown = {name for name in dir(tinyjax) if not name.startswith("_")}
    assert shown == {*tinyjax.__all__} - {"__version__"}
    assert all(hasattr(tinyjax, name) for name in shown)


def test_what_has_no_underscore_is_public() -> None:
    """The reference has it; two modules are commands, by which a program is run."""
    public = {module.__name__ for module in reference.public_modules()}
    shown = {name for _, name, _ in pkgutil.iter_modules(tinyjax.__path__) if name[0] != "_"}
    assert {f"tinyjax.{name}" for name in shown} - public == {"tinyjax.as_jax", "tinyjax.explore"}
    private = {path.name for path in SOURCE.glob("_[!_]*") if path.is_dir()}
    assert len(private) <= MOST_PRIVATE_FOLDERS


#: Folders of tests that mirror no folder of the package.
WITHOUT_COUNTERPART = {
    "array_api",
    "house",
    "libraries",
    "messages",
    "notebooks",
    "numerics",
    "pages",
    "seeds",
}


def test_folders_of_tests_mirror_the_package() -> None:
    folders = [path.relative_to(SOURCE).parent for path in FILES]
    folders += [Path(path.stem) for path in SOURCE.glob("*.py")]
    mirrored = {"/".join(part.lstrip("_") for part in folder.parts) for folder in folders}
    files = [path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")]
    assert {path.parent.as_posix() for path in files} - mirrored == WITHOUT_COUNTERPART


#: Files that import many names of one module, such as those that export them again.
BY_NAME = {
    "autodiff/accumulation.py",
    "example_libraries/stax.py",
    "core/values/avals.py",
    "experimental/hijax/primitives.py",
    "_extensions/nans/trace.py",
    "source/capturing/functions.py",
    "source/text/structure.py",
}
#: Files of which each look-up of a name counts, and tables.
TIMED = {
    "__init__",
    "batching",
    "concrete",
    "elementwise",
    "families",
    "jvp",
    "linearize",
    "operands",
    "promotion",
    "staging",
    "trace",
    "transpose",
}
MOST_NAMES = 8
MOST_PRIVATE_FOLDERS = 6
#: Beside ``np``.
MOST_SHORT_NAMES = 13


def short_names() -> dict[str, str]:
    """The short names of modules, as docs/contributing.md lists them."""
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    section = text.partition("\n## Imports\n")[2].partition("\n## ")[0]
    return {module: name for name, module in re.findall(r"`(\w+)` is `([\w.]+)`", section)}


def faults_of_imports(file: str, text: str, modules: set[str], names: dict[str, str]) -> list[str]:
    """Say which lines to write: modules by other names than theirs, and many names of one."""
    faults = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("tinyjax"):
            continue
        package = f"{node.module}.".removeprefix("tinyjax.")
        plain = 0
        for alias in node.names:
            module = f"{package}{alias.name}"
            if module not in modules:
                plain += 1
                continue
            called = (alias.asname or alias.name).strip("_")
            longer = "_".join(f"{node.module}.{alias.name}".split(".")[-2:])
            own = {alias.name.strip("_"), longer.strip("_")}
            if called not in {*own, names.get(module)}:
                short = names.get(module, alias.name)
                faults.append(f"{file}: from {node.module} import {alias.name} as {short}")
            if module != (owner := {v: k for k, v in names.items()}.get(called, module)):
                faults.append(f"{file}: {called} is tinyjax.{owner}, not tinyjax.{module}")
        module = package.removesuffix(".")
        if plain > MOST_NAMES and module in modules and file not in BY_NAME:
            home, _, stem = f"tinyjax.{module}".rpartition(".")
            if Path(file).stem not in TIMED:
                short = f" as {names[module]}" if module in names else ""
                faults.append(f"{file}: from {home} import {stem}{short}")
    return faults


def modules_of_package() -> set[str]:
    files = (file.relative_to(SOURCE).with_suffix("").parts for file in FILES)
    return {".".join(parts).removesuffix(".__init__") for parts in files}


def test_modules_are_imported_by_one_name_each() -> None:
    names, modules = short_names(), modules_of_package()
    assert len(set(names.values())) == len(names) <= MOST_SHORT_NAMES
    assert names.keys() <= modules
    faults = [
        fault
        for file in FILES
        for fault in faults_of_imports(
            file.relative_to(SOURCE).as_posix(), file.read_text(encoding="utf-8"), modules, names
        )
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("from tinyjax.core.values import avals as av", []),
        ("from tinyjax.core.values import avals", []),
        (
            "from tinyjax.core.values import avals as a",
            ["core/x.py: from tinyjax.core.values import avals as av"],
        ),
        (
            "from tinyjax.core.tracing import trace as av",
            [
                "core/x.py: from tinyjax.core.tracing import trace as tr",
                "core/x.py: av is tinyjax.core.values.avals, not tinyjax.core.tracing.trace",
            ],
        ),
        (
            "from tinyjax.core.values.avals import a, b, c, d, e, f, g, h, i",
            ["core/x.py: from tinyjax.core.values import avals as av"],
        ),
        ("from tinyjax.core.values import avals as values_avals", []),
    ],
)
def test_faults_of_imports_are_the_lines_to_write(line: str, faults: list[str]) -> None:
    names = {"core.values.avals": "av", "core.tracing.trace": "tr"}
    assert faults_of_imports("core/x.py", line, {*names}, names) == faults


#: Names that classes in several files have, each for a reason.
SHARED_NAMES = {
    "CacheInfo": "the users' of all caches has one of the compiled programs in it",
    "Primitive": "JAX's, which users make, is a subclass of ours",
}
MOST_SHARED_NAMES = 10


def test_a_name_of_classes_has_one_meaning() -> None:
    homes: dict[str, list[str]] = {}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name_of(file))
    shared = {name: files for name, files in homes.items() if len(files) > 1}
    assert len(SHARED_NAMES) <= MOST_SHARED_NAMES
    assert {name: files for name, files in shared.items() if name not in SHARED_NAMES} == {}
    assert SHARED_NAMES.keys() <= shared.keys(), "these are divided: leave them out"


def test_a_frozen_program_has_all_modules() -> None:
    """``nox -s frozen`` freezes one by this hook."""
    entry = PYPROJECT["project"]["entry-points"]["pyinstaller40"]["hook-dirs"]
    (folder,) = pkgutil.resolve_name(entry)()
    said = runpy.run_path(str(Path(folder, "hook-tinyjax.py")))
    named = {module for homes in HOMES.values() for module, _ in homes.values()}
    own = {module for module in (*HOMES, *named) if module.startswith("tinyjax")}
    assert {"tinyjax", *own} <= {*said["hiddenimports"]}
    assert [x for x in said["hiddenimports"] if find_spec(x) is None] == []
    assert {Path(path).suffix for path, _ in said["datas"]} == {".html"}

"""Each session of noxfile.py runs by itself: it installs what the programs that it runs import.

The sessions share an environment, so that one which asks for too little goes unnoticed where others
have been run before. What they install and run is read from their source.
"""

import ast
import configparser
import fnmatch
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
#: Where programs find modules of the repository.
FOLDERS: Final = [ROOT, ROOT / "tests", ROOT / "examples", ROOT / "src"]
#: The packages of programs, and of options of pytest.
PROVIDERS: Final = {
    "pytest": "pytest",
    "mypy": "mypy",
    "ruff": "ruff",
    "lint-imports": "import-linter",
    "pyright": "pyright",
    "-n": "pytest-xdist",
    "--timeout": "pytest-timeout",
    "--hypothesis-profile": "hypothesis",
    "PyInstaller": "pyinstaller",
}
#: Tests that have environments of their own, and those that are no modules.
APART: Final = ("tests/libraries/*", "tests/notebooks/*", "tests/typing/*", "tests/ported/*")


def sessions() -> dict[str, ast.FunctionDef]:
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any("nox.session" in ast.unparse(x) for x in node.decorator_list)
    }


SESSIONS: Final = sessions()


def texts(node: ast.AST) -> Iterator[str]:
    """Return the texts in a session, with those of the constants that it names."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        elif isinstance(child, ast.Name) and child.id == "SUITE":
            yield from ("pytest", "-n", "--timeout", "tests")


def calls(node: ast.AST, *names: str) -> Iterator[ast.Call]:
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and ast.unparse(child.func) in names:
            yield child


# What is installed


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    return normal(re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0])


def group(name: str) -> Iterator[str]:
    for entry in PYPROJECT["dependency-groups"][name]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from group(entry["include-group"])


@cache
def with_requirements(name: str) -> frozenset[str]:
    """Return a distribution and all that it requires, as far as they are installed here."""
    found, left = set[str](), [name]
    while left:
        this = left.pop()
        if this in found:
            continue
        found.add(this)
        try:
            required = metadata.requires(this) or []
        except metadata.PackageNotFoundError:
            continue
        left += [name_of(x) for x in required if "extra ==" not in x]
    return frozenset(found)


def installed(session: ast.FunctionDef) -> set[str]:
    """Return the distributions that a session installs."""
    known = PYPROJECT["dependency-groups"].keys()
    arguments = list(calls(session, "install", "apart", "run_apart"))
    arguments += calls(session, "nox.project.dependency_groups")
    names = [x for call in arguments for x in texts(call)]
    wanted = [x for name in names if name in known for x in group(name)]
    if any(isinstance(x, ast.Name) and x.id == "VERSIONS" for x in ast.walk(session)):
        wanted += ["jax"]  # a release in each environment
    if "." in names or any(calls(session, "apart", "run_apart")):
        wanted += [*PYPROJECT["project"]["dependencies"], "tinyjax"]
    return {x for name in wanted for x in with_requirements(name_of(name))}


# What is run


@cache
def imports(path: Path) -> tuple[frozenset[str], frozenset[Path]]:
    """Return what loading a file imports: modules of others, and files of the repository."""
    names: list[str] = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    foreign = frozenset(top(name) for name in names if top(name) not in OWN)
    return foreign, frozenset(file for name in names for file in files_of(name))


def imported(files: Iterable[Path]) -> set[str]:
    """Return the modules of others that loading some files imports."""
    found, seen, left = set[str](), set[Path](), [*files]
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            foreign, own = imports(path)
            found |= foreign
            left += own
    return found


def top(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


#: Modules and packages of the repository; pytest finds those beside a test, too.
OWN: Final = {
    name
    for folder in FOLDERS
    for path in [*folder.glob("*"), *(ROOT / "tests").rglob("*")]
    if path.is_dir() or path.suffix == ".py"
    for name in [path.stem]
}


@cache
def files_of(module: str) -> tuple[Path, ...]:
    """Return the files of the repository that importing a module, or a name of it, runs."""
    parts = module.split(".")
    if parts[0] not in OWN or parts[0] == "tinyjax":  # whose modules import what it depends on
        return ()
    for folder in FOLDERS:
        at = folder.joinpath(*parts)
        found = [at.with_suffix(".py"), at / "__init__.py", at.parent / "__init__.py"]
        files = tuple([path for path in found if path.is_file()])
        if files:
            return files
    return ()


def files_run(session: ast.FunctionDef) -> Iterator[Path]:
    """Return the files of Python that a session names: scripts, modules and folders of tests."""
    words = [x for call in calls(session, "run", "session.run") for x in texts(call)]
    words += [f"tests/{x}" for call in calls(session, "run_apart") for x in texts(call)]
    if any(word.startswith("tests/") and (ROOT / word).is_dir() for word in words):
        words = [word for word in words if word != "tests"]
    for word in words:
        path = ROOT / word
        if word == "tests" or (word.startswith("tests/") and path.is_dir()):
            yield from files_in(path)
        elif word.endswith(".py") and path.is_file():
            yield path
        elif re.fullmatch(r"[a-z_]+(\.[a-z_]+)*", word):
            yield from files_of(word)
            yield from [
                x / word / "__main__.py" for x in FOLDERS if (x / word / "__main__.py").is_file()
            ]


def files_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        alone = any(fnmatch.fnmatch(place, pattern) for pattern in APART)
        if (path.name.startswith("test_") or path.name == "conftest.py") and (
            not alone or folder != ROOT / "tests"
        ):
            yield path


@cache
def provided_by() -> dict[str, list[str]]:
    """Return the distributions that have a module."""
    return {**metadata.packages_distributions(), "tree": ["dm-tree"]}


def needed(modules: Iterable[str]) -> Iterator[tuple[str, set[str]]]:
    """Return the distributions that have modules: one of several, where more than one has it."""
    provided = provided_by()
    for module in sorted(set(modules) - sys.stdlib_module_names - {"tinyjax", "noxfile"}):
        yield module, {normal(x) for x in provided.get(module, [module])}


def missing(modules: Iterable[str], session: str) -> list[str]:
    there = installed(SESSIONS[session])
    return [module for module, providers in needed(modules) if not providers & there]


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_installs_what_it_runs(session: str) -> None:
    assert missing(imported(files_run(SESSIONS[session])), session) == []
    words = [x for call in calls(SESSIONS[session], "run", "session.run") for x in texts(call)]
    programs = {PROVIDERS[word] for word in words if word in PROVIDERS}
    assert programs <= installed(SESSIONS[session])


def test_mypy_finds_the_types_of_what_it_checks() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "mypy.ini", encoding="utf-8")
    ignored = [
        pattern.strip().removesuffix(".*")
        for name in config.sections()
        if config.get(name, "ignore_missing_imports", fallback="") == "True"
        for pattern in name.removeprefix("mypy-").split(",")
    ]
    excluded = re.compile(config.get("mypy", "exclude"))
    modules: set[str] = set()
    for folder in config.get("mypy", "files").split(","):
        for path in (ROOT / folder.strip()).rglob("*.py"):
            if not excluded.search(path.relative_to(ROOT).as_posix()):
                modules |= named_in(path)
    own = {x for x in modules if x in OWN}
    stubs = {path.name.removesuffix(".pyi") for path in (ROOT / "typings").iterdir()}
    assert missing(modules - own - stubs - set(ignored), "mypy") == []


#: Lines that import, in a function or not; with syntax trees this would take ten times as long.
IMPORTING: Final = re.compile(
    r"^ *(?:import (\w+)(?:[\w.]*)(?: as \w+)?(?: *#.*)?|from (\w+)[\w.]* import .*)$", re.MULTILINE
)


def named_in(path: Path) -> set[str]:
    """Return the modules that a file imports, anywhere but in its documentation."""
    code = re.sub(r'"""(?:[^"]|"(?!""))*"""', "", path.read_text(encoding="utf-8"))
    return {a or b for a, b in IMPORTING.findall(code)}

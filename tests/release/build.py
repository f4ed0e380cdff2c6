"""Build the sdist and the wheel twice, and check what they hold: ``nox -s release``.

``python -m release.build --write`` in ``tests/`` writes ``contents.txt`` and ``sbom.cdx.json``.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import tomllib
import zipfile
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
CONTENTS: Final = ROOT / "tests" / "release" / "contents.txt"
SBOM: Final = ROOT / "sbom.cdx.json"
PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
#: Bytes of a wheel, at most: a ceiling, which what is added has to fit under.
MOST_BYTES: Final = 2_200_000
#: Files of a wheel that tell of it; its version is left out.
METADATA: Final = "METADATA RECORD WHEEL entry_points.txt licenses/LICENSE"
SDIST: Final = {*PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]}
#: By schema, the files that it describes.
SCHEMAS: Final = {
    "github-workflows": ".github/workflows/*.yml",
    "github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "citation-file-format": "CITATION.cff",
}


@cache
def version() -> str:
    """Return the version of the package, which is not imported."""
    text = (ROOT / "src" / "tinyjax" / "version.py").read_text("utf-8")
    return str(re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0])


def listing(names: Iterable[str]) -> str:
    """Return the text of ``contents.txt``: each folder with its files."""
    folders: dict[str, list[str]] = {}
    for name in sorted(names):
        folder, _, file = name.rpartition("/")
        folders.setdefault(folder, []).append(file)
    lines = (f"{folder}/: {' '.join(files)}" for folder, files in sorted(folders.items()))
    return "".join(textwrap.fill(x, 100, subsequent_indent="    ") + "\n" for x in lines)


def source_names() -> list[str]:
    """Return the names of the files that a wheel built from this tree holds."""
    names = [f"tinyjax.dist-info/{name}" for name in METADATA.split()]
    for folder, package in (("src/tinyjax", "tinyjax"), ("typings/jaxlib", "jaxlib-stubs")):
        names += [
            f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        ]
    return names


def bill_of_materials() -> str:
    """Return the package and what it depends on, in CycloneDX's JSON."""
    project = PYPROJECT["project"]
    reference = f"pkg:pypi/{project['name']}@{version()}"
    components = []
    for requirement in project["dependencies"]:
        name = requirement.partition(">")[0]
        purl = f"pkg:pypi/{name.lower().replace('_', '-')}"
        allowed = {"name": "tinyjax:requirement", "value": requirement}
        components.append(
            {"type": "library", "bom-ref": purl, "name": name, "purl": purl}
            | {"properties": [allowed]}
        )
    package = {
        "type": "library",
        "bom-ref": reference,
        "name": project["name"],
        "version": version(),
        "description": project["description"],
        "licenses": [{"license": {"id": project["license"]}}],
        "purl": reference,
    }
    needed = [component["bom-ref"] for component in components]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": package},
        "components": components,
        "dependencies": [{"ref": reference, "dependsOn": needed}],
    }
    return json.dumps(bill, indent=2) + "\n"


def build(folder: Path, umask: int) -> dict[str, bytes]:
    """Build the last commit in an empty folder; return both files by name."""
    archive = subprocess.check_output(["git", "archive", "HEAD"], cwd=ROOT)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
        tree.extractall(folder / "tree", filter="data")
    time = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist")]
    environment = os.environ | {"SOURCE_DATE_EPOCH": time.strip()}
    done = subprocess.run(
        [*command, str(folder / "tree")],
        env=environment,
        umask=umask,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout)
    return {path.name: path.read_bytes() for path in sorted((folder / "dist").iterdir())}


def squeezed(wheel: bytes) -> bytes:
    """Return a wheel with its files compressed anew, by a search for shorter encodings."""
    out = io.BytesIO()
    writer = import_module("zopfli").ZipFile(out, "w", zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(io.BytesIO(wheel)) as files, writer:
        for file in files.infolist():
            writer.writestr(file, files.read(file))
    return out.getvalue()


def contents(name: str, data: bytes) -> dict[str, bytes]:
    """Return the files in a wheel or an sdist."""
    if name.endswith(".whl"):
        with zipfile.ZipFile(io.BytesIO(data)) as wheel:
            return {x: wheel.read(x) for x in wheel.namelist()}
    with tarfile.open(fileobj=io.BytesIO(data)) as sdist:
        members = {x.name.partition("/")[2]: sdist.extractfile(x) for x in sdist if x.isfile()}
        return {name: file.read() for name, file in members.items() if file is not None}


def faults(built: dict[str, bytes], folder: str) -> list[str]:
    """Say what is wrong with an sdist and a wheel that were built in a folder."""
    sdist_name, wheel_name = f"tinyjax-{version()}.tar.gz", f"tinyjax-{version()}-py3-none-any.whl"
    if built.keys() != {sdist_name, wheel_name}:
        return [f"built were {[*built]}"]
    said = []
    wheel, sdist = (contents(name, built[name]) for name in (wheel_name, sdist_name))
    names = (name.replace(f"tinyjax-{version()}.", "tinyjax.") for name in wheel)
    if listing(names) != CONTENTS.read_text("utf-8"):
        said.append("the wheel holds other files than contents.txt lists")
    needed = {"tinyjax/py.typed", "tinyjax/__init__.pyi", "jaxlib-stubs/py.typed"}
    said += [f"the wheel lacks {name}" for name in needed - wheel.keys()]
    if len(built[wheel_name]) > MOST_BYTES:
        said.append(f"the wheel has {len(built[wheel_name]):,} bytes")
    tops = {name.partition("/")[0] for name in sdist}
    if tops != SDIST | {"PKG-INFO", "pyproject.toml", ".gitignore"}:
        said.append(f"the sdist holds {sorted(tops)}")
    machine = {folder, str(ROOT), str(Path.home()), sys.prefix} - {"/"}
    for name, data in {**wheel, **sdist}.items():
        if "__pycache__" in name or name.startswith("tests/"):
            said.append(f"{name} is in it")
        said += [f"{name} has the path {x}" for x in machine if f"{x}/".encode() in data]
    return said


def validate() -> None:
    """Raise an error unless files that services read are as their schemas say."""
    for schema, pattern in SCHEMAS.items():
        files = [str(path) for path in sorted(ROOT.glob(pattern))]
        command = ["check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
        subprocess.run([sys.executable, "-m", *command], check=True)
    kinds = import_module("cyclonedx.schema")
    validation = import_module("cyclonedx.validation.json")
    error = validation.JsonStrictValidator(kinds.SchemaVersion.V1_6).validate_str(
        bill_of_materials()
    )
    if error:
        sys.exit(f"sbom.cdx.json: {error}")


def main(arguments: list[str]) -> None:
    """Build into a folder, or write the lists."""
    if arguments == ["--write"]:
        CONTENTS.write_text(listing(source_names()), encoding="utf-8")
        SBOM.write_text(bill_of_materials(), encoding="utf-8")
        return
    validate()
    with tempfile.TemporaryDirectory() as temporary:
        first = build(Path(temporary, "a"), 0o022)
        if build(Path(temporary, "another", "b"), 0o077) != first:
            sys.exit("the second build differs")
        first = {x: squeezed(data) if x.endswith(".whl") else data for x, data in first.items()}
        if said := faults(first, temporary):
            sys.exit("\n".join(said))
    into = Path(arguments[0])
    into.mkdir(parents=True, exist_ok=True)
    for path in into.iterdir():
        path.unlink()
    for name, data in first.items():
        (into / name).write_bytes(data)
        sys.stdout.write(f"{name}: {len(data):,} bytes, twice the same\n")
    files = [str(into / name) for name in first]
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])

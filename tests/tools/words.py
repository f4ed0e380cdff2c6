"""The language of docstrings and names: ``python -m tools.words`` checks it.

A docstring begins with a verb or a noun, and its sentences are short. Docstrings and comments use
the literature's words. A name is not a bare preposition or participle.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
SRC: Final = ROOT / "src"
MOST_WORDS: Final = 35
#: The findings that each rule allows. These are ceilings: lower them, do not raise them.
CEILINGS: Final = {"first word": 0, "house word": 0, "long sentence": 0, "name": 0}
#: The other folders of the repository, which are held to the same ceilings.
OTHER_FOLDERS: Final = ("website", "benchmarks", "examples", "tests")
#: The code of others, or in their style.
NOT_OURS: Final = ("tests/ported/", "tests/libraries/programs/")
QUESTIONS: Final = frozenset(("What", "How", "Where", "Which", "Whether"))
HOUSE: Final = re.compile(
    r"\b(rooms?|planes?|stand-ins?|wish(?:es)?|births?|asked|settled|portions?|answers?"
    r"|written (?:out|down)|way back)\b"
)
#: House words in another meaning, by file.
EXCEPTIONS: Final = frozenset(
    (f"{file}.py", "plane")  # of geometry
    for file in ("_library/special/gamma", "numpy/elementwise", "numpy/manipulation")
)
#: Names of public interfaces that stay, by file: of the package from its folder, else of the root.
PUBLIC_NAMES: Final = {
    "_extensions/parallel/collective.py": ("of", "to"),  # recast's parameters, in printed jaxprs
    "_extensions/rematerialization/planning.py": ("kept",),  # the users' MemoryPlan.kept
    "_extensions/state/references.py": ("at",),  # jax.Ref.at
    "_jax/partial_eval.py": ("known",),  # PartialVal.known of JAX
    "_primitives/householder.py": ("left",),  # as lax.linalg.ormqr; in printed jaxprs
    "_primitives/spectral.py": ("left",),  # scipy.linalg.eig(left=); in printed jaxprs
    "core/values/array.py": ("at",),  # jax.Array.at
    "errors.py": ("at",),  # the users' TinyjaxError.at
    "experimental/checkpoints/files.py": ("done",),  # as concurrent.futures.Future.done
    "lax/linalg.py": ("left",),  # jax.lax.linalg.ormqr(left=)
    "lax/placement.py": ("to",),  # jax.lax.pcast(to=)
    "numpy/calculus.py": ("left",),  # numpy.interp(left=)
    "numpy/scalar_types.py": ("to",),  # numpy.can_cast(to=)
    "numpy/ufuncs.py": ("at",),  # numpy.ufunc.at
    "numpy/universal.py": ("at",),  # numpy.ufunc.at
    "random/continuous.py": ("left",),  # jax.random.triangular(left=)
    "source/contexts.py": ("written",),  # the users' TracedCall.written
    "testing/libraries/__init__.py": ("given", "known"),  # the users' check_library
    "tests/specs/linalg.py": ("left",),  # jax.lax.linalg.ormqr(left=)
}
NAMES: Final = re.compile(
    r"_*(at|by|for|from|in|into|of|off|on|over|to|under|with|within|without"
    r"|asked|done|found|given|held|here|kept|known|laid|left|meant|met|noted|said|settled|taken"
    r"|there|told|untold|wanted|written)"
)
_SECTION: Final = re.compile(r"\n\s*\n\s*(?:Examples?:|>>>|```)")
_PARAGRAPH: Final = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*] |\*{0,2}\w+: ))")
_END: Final = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`\"(\[])")


class Finding(NamedTuple):
    """A breach of a rule: a name or text, and its place."""

    rule: str
    path: str
    line: int
    text: str


def sentences(docstring: str) -> Iterator[str]:
    """Yield the sentences of a docstring, without examples and tables."""
    for paragraph in _PARAGRAPH.split(_SECTION.split(docstring)[0]):
        if "===" not in paragraph:
            yield from filter(None, _END.split(" ".join(paragraph.split())))


def _in_docstring(path: str, line: int, docstring: str) -> Iterator[Finding]:
    """Yield the findings of the rules on one docstring."""
    if docstring.split(maxsplit=1)[0].strip(",.:") in QUESTIONS:
        yield Finding("first word", path, line, docstring.splitlines()[0])
    for sentence in sentences(docstring):
        if len(sentence.split()) > MOST_WORDS:
            yield Finding("long sentence", path, line, sentence)
    yield from _house_words(path, line, _SECTION.split(docstring)[0])


def _house_words(path: str, line: int, text: str) -> Iterator[Finding]:
    """Yield the house words in a text."""
    for match in HOUSE.finditer(text):
        if (path, match[0]) not in EXCEPTIONS:
            yield Finding("house word", path, line, match[0])


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node gives to functions, parameters, fields and attributes."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case _:
            pass


def findings(source: str, path: str) -> Iterator[Finding]:
    """Yield the findings in the text of a module."""
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 1)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            yield from _in_docstring(path, line, ast.get_docstring(node) or "")
        for name in _names(node):
            if NAMES.fullmatch(name) and name not in PUBLIC_NAMES.get(path, ()):
                yield Finding("name", path, line, name)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _house_words(path, token.start[0], token.string)


def _report(ceilings: dict[str, int], folder: Path, base: Path) -> int:
    """Print the findings in a folder of each rule above its ceiling; count such rules."""
    everything = [
        finding
        for file in sorted(folder.rglob("*.py"))
        if not (path := file.relative_to(base).as_posix()).startswith(NOT_OURS)
        for finding in findings(file.read_text("utf-8"), path)
    ]
    above = 0
    for rule, ceiling in ceilings.items():
        lines = [f"  {path}:{line}: {text}" for of, path, line, text in everything if of == rule]
        if len(lines) > ceiling:
            above += 1
            print(f"{rule}: {len(lines)} where {ceiling} are allowed (tests/tools/words.py)")
            print(*lines, sep="\n")
    return above


def main(ceilings: dict[str, int], root: Path = SRC) -> int:
    """Check the package, and with it the folders beside it; return the number of broken rules."""
    above = _report(ceilings, root / "tinyjax", root / "tinyjax")
    if root == SRC:
        above += sum(_report(ceilings, ROOT / name, ROOT) for name in OTHER_FOLDERS)
    return above


if __name__ == "__main__":
    sys.exit(main(CEILINGS))

"""Results of type checkers on the programs of ``tests/typing``; ``nox -s typing`` runs all five.

``right.py`` holds programs that must be accepted as strictly as a checker can be told to be,
``wrong.py`` one mistake in each function, which must be found in a line marked ``# wrong``.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "typing"
#: What a checker says of code that Python gives no way to annotate: the parameters of a lambda.
LAMBDAS = ("reportUnknown", "implicit-any-lambda")

#: By line, what was found there first.
Found = Mapping[int, str]


def run(*command: str, cwd: Path = ROOT) -> str:
    source = str(ROOT / "src")
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": source, "MYPYPATH": source},
    )
    return done.stdout + done.stderr


def lines(text: str, pattern: str) -> Found:
    errors: dict[int, str] = {}
    for line in text.splitlines():
        match = re.search(pattern, line)
        if match:
            errors.setdefault(int(match[1]), match[2])
    return errors


def mypy(path: Path, pattern: str = "error: (.*)") -> Found:
    config = ROOT / "mypy.ini"
    text = run(sys.executable, "-m", "mypy", "--config-file", str(config), str(path))
    return lines(text, rf"{path.name}:(\d+): {pattern}")


class Reveal(ast.NodeTransformer):
    """Wrap in ``reveal_type`` calls that are statements, assigned, or have their type asserted."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        if isinstance(node.value, ast.Call):
            call = node.value
            asserted = isinstance(call.func, ast.Name) and call.func.id == "assert_type"
            shown = call.args[0] if asserted else call
            node.value = ast.Call(ast.Name("reveal_type"), [shown], [])
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        if isinstance(node.value, ast.Call):
            node.value = ast.Call(ast.Name("reveal_type"), [node.value], [])
        return node


def revealed() -> Mapping[str, str]:
    """The calls of ``right.py``, and the types that mypy finds for what they return."""
    program = Reveal().visit(ast.parse((PROGRAMS / "right.py").read_text(encoding="utf-8")))
    program.body.insert(1, ast.parse("from typing import reveal_type").body[0])
    text = ast.unparse(ast.fix_missing_locations(program))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "revealed.py")
        path.write_text(text, encoding="utf-8")
        types = mypy(path, 'note: Revealed type is "(.*)"')
    rows = text.splitlines()
    return {rows[i - 1].partition("reveal_type")[2][1:-1]: what for i, what in types.items()}


def pyright(path: Path, program: str = "pyright", mode: str = "strict") -> Found:
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "include": [os.path.relpath(path, folder)],
            "typeCheckingMode": mode,
            "extraPaths": [str(ROOT / "src")],
            "pythonVersion": "3.11",
            # of what is computed in a program here nothing is used
            **dict.fromkeys(
                ("reportUnusedExpression", "reportUnusedVariable", "reportUnusedFunction"), False
            ),
            "reportUnnecessaryComparison": False,
        }
        Path(folder, "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
        here = ("--pythonpath", sys.executable)
        text = run(program, "--outputjson", "-p", folder, *here)
    errors: dict[int, str] = {}
    for item in json.loads(text)["generalDiagnostics"]:
        if item["severity"] == "error":
            what = f"{item['message']} [{item.get('rule', '')}]"
            errors.setdefault(item["range"]["start"]["line"] + 1, what)
    return errors


def basedpyright(path: Path) -> Found:
    return pyright(path, "basedpyright", "standard")


def ty(path: Path) -> Found:
    source = ("--extra-search-path", "src", "--python", sys.prefix)
    text = run("ty", "check", *source, "--output-format", "concise", str(path))
    return lines(text, rf"{path.name}:(\d+):\d+: error(.*)")


def pyrefly(path: Path) -> Found:
    source = ("--search-path", "src", "--python-interpreter-path", sys.executable)
    text = run("pyrefly", "check", *source, "--output-format", "min-text", str(path))
    return lines(text, rf"ERROR .*{path.name}:(\d+):[\d-]+: (.*)")


CHECKERS: Mapping[str, Callable[[Path], Found]] = {
    "mypy": mypy,
    "pyright": pyright,
    "basedpyright": basedpyright,
    "ty": ty,
    "pyrefly": pyrefly,
}


@attrs.frozen
class Report:
    """A checker's results for ``right.py`` and ``wrong.py``.

    Attributes:
        alarms: by file and line, what was found where nothing is wrong.
        missed: the names of the programs whose mistake was not found.
        count: of the programs with a mistake.
    """

    alarms: Mapping[str, str]
    missed: Sequence[str]
    count: int


def marked() -> dict[str, list[int]]:
    """The lines with the mistake, by the name of the program."""
    text = (PROGRAMS / "wrong.py").read_text(encoding="utf-8")
    source = text.splitlines()
    programs: dict[str, list[int]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            wrong = [i for i in span if source[i - 1].endswith("# wrong")]
            if wrong:
                programs[node.name] = wrong
    return programs


def report(checker: str) -> Report:
    """Ask a checker about both files."""
    check = CHECKERS[checker]
    programs = marked()
    mistakes = {i for where in programs.values() for i in where}
    right, wrong = check(PROGRAMS / "right.py"), check(PROGRAMS / "wrong.py")
    alarms = {f"right.py:{i}": what for i, what in right.items()}
    alarms |= {f"wrong.py:{i}": what for i, what in wrong.items() if i not in mistakes}
    missed = [name for name, where in programs.items() if not wrong.keys() & set(where)]
    return Report(alarms, missed, len(programs))


def of_lambda(what: str) -> bool:
    return any(word in what for word in LAMBDAS)


def main() -> None:
    """Print what each of the checkers finds; fail where one rejects what is right."""
    failed = False
    everywhere = set(marked())
    for name in CHECKERS:
        made = report(name)
        everywhere -= set(made.missed)
        alarms = {place: what for place, what in made.alarms.items() if not of_lambda(what)}
        failed = failed or bool(alarms)
        print(f"{name}: rejects {made.count - len(made.missed)} of {made.count} wrong programs;")
        print(f"  not {', '.join(made.missed) or 'one is missed'}")
        print(f"  {len(made.alarms) - len(alarms)} complaints of lambdas' parameters")
        for place, what in alarms.items():
            print(f"  {place}: {what}")
    print(f"all: {len(everywhere)}")
    sys.exit(failed or len(everywhere) < 250)


if __name__ == "__main__":
    main()

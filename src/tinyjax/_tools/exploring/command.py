"""``python -m tinyjax.explore module:function --args ...``."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax._tools.exploring.exploration import explore


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tinyjax.explore",
        description="Show what a function becomes, and what each line costs, as one HTML file.",
    )
    parser.add_argument(
        "function",
        help="which function: module:function, file.py:function, or module:object.method",
    )
    parser.add_argument(
        "--args",
        nargs="*",
        default=[],
        metavar="EXPRESSION",
        help="its arguments, in Python; np, jnp, tinyjax and the module's names are known",
    )
    parser.add_argument("--output", metavar="FILE", help="the page; the function's name by default")
    parser.add_argument("--measured", action="store_true", help="measure equations one by one")
    parser.add_argument("--runs", type=int, default=10, help="how often the program is run")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Explore a function, save the page, and print a summary.

    Args:
        arguments: those of the command line.

    Returns:
        The exit status.
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    module, path, function = _function(parser, chosen.function)
    values = _arguments(parser, module, path, function, chosen.args)
    output = Path(chosen.output or f"{path}.html")
    if not output.parent.is_dir():
        parser.error(f"--output: there is no folder {str(output.parent)!r}")
    exploration = explore(function, measured=chosen.measured, runs=chosen.runs)(*values)
    file_written = exploration.save(output)
    sys.stdout.write(f"{exploration!r}\n{file_written}\n")
    return 0


def _function(parser: argparse.ArgumentParser, place: str) -> tuple[ModuleType, str, Any]:
    """Find a function by its place: its module, its path there, and the function."""
    module_name, _, path = place.partition(":")
    if module_name.endswith(".py"):
        file = Path(module_name)
        if not file.exists():
            parser.error(f"there is no file {module_name!r} here")
        sys.path.insert(0, str(file.resolve().parent))
        module_name = file.stem
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        parser.error(f"{error}; modules are looked for in this folder and where Python has them")
    if not path:
        parser.error(f"name one of the functions in {module_name!r}: {_functions_of(module)}")
    function: Any = module
    for name in path.split("."):
        if not hasattr(function, name):
            parser.error(f"'{module_name}' has no '{path}'. Its functions: {_functions_of(module)}")
        function = getattr(function, name)
    if not callable(function):
        parser.error(f"'{path}' is no function but {type(function).__name__}")
    return module, path, function


def _arguments(
    parser: argparse.ArgumentParser,
    module: ModuleType,
    path: str,
    function: Callable[..., Any],
    expressions: Sequence[str],
) -> list[Any]:
    """Evaluate the arguments of a function, where it takes them."""
    known = {"np": np, "jnp": jnp, "tinyjax": import_module("tinyjax"), **vars(module)}
    try:
        values = [eval(expression, known) for expression in expressions]
    except Exception as error:
        parser.error(f"--args: {type(error).__name__}: {error}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a builtin
        pass
    else:
        try:
            signature.bind(*values)
        except TypeError as error:
            parser.error(f"{path}{signature}: {error}. Give its arguments by --args, in Python")
    return values


def _functions_of(module: ModuleType) -> str:
    """Name the functions that a module defines."""
    names = [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    ]
    return ", ".join([f"{module.__name__}:{name}" for name in names]) or "it defines none"

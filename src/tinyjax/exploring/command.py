"""``python -m tinyjax.explore module:function --args ...``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.exploring.exploration import explore


def main(arguments: Sequence[str]) -> int:
    """Explore a function, save the page, and print what it says in short.

    Args:
        arguments: those of the command line.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tinyjax.explore",
        description="Show what a function becomes, and what each line costs, as one HTML file.",
    )
    parser.add_argument("function", help="which function: module:function, or module:object.method")
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
    chosen = parser.parse_args(arguments)
    module_name, _, path = chosen.function.partition(":")
    if not path:
        parser.error(f"name a function in a module, module:function, not {chosen.function!r}")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        parser.error(f"{error}; modules are looked for in this folder and where Python has them")
    function: Any = module
    for name in path.split("."):
        if not hasattr(function, name):
            parser.error(f"'{module_name}' has no '{path}'")
        function = getattr(function, name)
    known = {"np": np, "jnp": jnp, "tinyjax": import_module("tinyjax"), **vars(module)}
    try:
        values = [eval(expression, known) for expression in chosen.args]
    except Exception as error:
        parser.error(f"--args: {type(error).__name__}: {error}")
    seen = explore(function, measured=chosen.measured, runs=chosen.runs)(*values)
    saved = seen.save(chosen.output or f"{path}.html")
    sys.stdout.write(f"{seen!r}\n{saved}\n")
    return 0

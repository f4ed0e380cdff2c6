"""Printing jaxprs in the notation of the literature, in colour on a terminal.

```
{ lambda a:float32[] .
  let b:float32[] = sin a
      c:float32[] = mul b 2.0
  in ( c ) }
```
"""

from __future__ import annotations

import itertools
import os
import string
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import attrs

from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Lit, Var
from tinyjax.core.nesting import LEVEL
from tinyjax.core.primitive import field_names

_BINDER, _TYPE, _PRIMITIVE, _KEYWORD = "36", "2", "1;34", "35"


class _Names(defaultdict[Var, str]):
    """Gives variables the names a, b, ..., z, aa, ab, ... in the order they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._fresh = self._generate()

    def __missing__(self, var: Var) -> str:
        name = self[var] = next(self._fresh)
        return name

    @staticmethod
    def _generate() -> Iterator[str]:
        for length in itertools.count(1):
            for letters in itertools.product(string.ascii_lowercase, repeat=length):
                yield "".join(letters)


@attrs.frozen
class _Style:
    colour: bool

    def __call__(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def print_jaxpr(jaxpr: Jaxpr, colour: bool | None = None) -> str:
    """Return a jaxpr as text.

    Args:
        jaxpr: the program.
        colour: whether to use terminal colours; by default, when standard output is a terminal
            and ``NO_COLOR`` is not set.
    """
    if colour is None:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return "\n".join(_jaxpr_lines(jaxpr, _Style(colour)))


def print_eqn(eqn: JaxprEqn) -> str:
    """Return one equation as text, its variables named from ``a``."""
    return "\n".join(_eqn_lines(eqn, _Names(), _Style(False)))


def _jaxpr_lines(jaxpr: Jaxpr, style: _Style) -> list[str]:
    names = _Names()
    binders = ", ".join(_binder(names, v, style) for v in jaxpr.in_binders)
    lines = [f"{{ {style(_KEYWORD, 'lambda')} {binders} ."]
    indent = "  " + style(_KEYWORD, "let") + " "
    for eqn in jaxpr.eqns:
        for line in _eqn_lines(eqn, names, style):
            lines.append(indent + line)
            indent = "      "
    outs = ", ".join(_atom(names, x) for x in jaxpr.outs)
    lines.append(f"  {style(_KEYWORD, 'in')} ( {outs} ) }}")
    return lines


def _eqn_lines(eqn: JaxprEqn, names: _Names, style: _Style) -> list[str]:
    inputs = " ".join(_atom(names, x) for x in eqn.inputs)
    binders = " ".join(_binder(names, v, style) for v in eqn.out_binders)
    simple: list[str] = []
    nested: list[str] = []
    for name in field_names(type(eqn.params)):
        value = getattr(eqn.params, name)
        if isinstance(value, Jaxpr):
            nested += _nested_lines(name, value, style)
        elif isinstance(value, tuple) and value and all(isinstance(v, Jaxpr) for v in value):
            for i, jaxpr in enumerate(value):
                nested += _nested_lines(f"{name}[{i}]", jaxpr, style)
        else:
            simple.append(f"{name}={_param(value)}")
    params = f" [ {' '.join(simple)} ]" if simple else ""
    head = f"{binders} = {style(_PRIMITIVE, eqn.primitive.name)}{params} {inputs}".rstrip()
    return [head, *nested]


def _nested_lines(name: str, jaxpr: Jaxpr, style: _Style) -> list[str]:
    with LEVEL:
        first, *rest = _jaxpr_lines(jaxpr, style)
    return [f"  {name}={first}", *(f"    {line}" for line in rest)]


def _binder(names: _Names, var: Var, style: _Style) -> str:
    return f"{style(_BINDER, names[var])}:{style(_TYPE, str(var.aval))}"


def _atom(names: _Names, atom: Atom) -> str:
    return str(atom) if isinstance(atom, Lit) else names[atom]


def _param(value: Any) -> str:
    name = getattr(value, "name", None)  # dtypes and enums print as their names
    return name if isinstance(name, str) else str(value)

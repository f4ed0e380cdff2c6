"""Programs that print the values computed on each of the user's lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax._base import display
from tinyjax._base.frames import Location, place
from tinyjax._extensions import callbacks
from tinyjax.core.control_flow.primitives import CondParams, ScanParams, WhileParams
from tinyjax.core.tracing import jaxpr as jx, program_rules, staging, trace as tr
from tinyjax.core.values import Array

#: Up to so many elements a value is printed whole.
_SHORT = 8


class Printer:
    """Prints lines with their values, and the names of functions where these change."""

    def __init__(self) -> None:
        self._function: tuple[str, str] | None = None

    def __call__(self, location: Location, *values: dtypes.HostArray) -> None:
        """Print a line of the user's, and the values that it computed."""
        function = location.filename, location.function
        if function != self._function:
            self._function = function
            sys.stdout.write(f"{location.function} ({place(location.filename, location.lineno)})\n")
        text = ", ".join(map(value_text, values))
        sys.stdout.write(f"{location.lineno:>5}  {location.text}\n       → {text}\n")


def value_text(x: dtypes.HostArray) -> str:
    """Return a value on one line: whole, or its type and its range."""
    if x.size <= _SHORT or x.dtype.names is not None:
        return " ".join(np.array2string(x, separator=", ", precision=5).split())
    return f"{display.type_text(x)} {', '.join(display.ranges(x))}"


def run_printing(jaxpr: jx.Jaxpr, args: Sequence[Array], printer: Printer) -> list[Array]:
    """Evaluate a program, under the current trace, and print the values of its lines."""
    env: dict[jx.Var, Array] = dict(zip(jaxpr.in_binders, args, strict=True))
    for location, group in groupby(jaxpr.eqns, _line_of):
        eqns = list(group)
        for eqn in eqns:
            operands = [x.value if isinstance(x, jx.Lit) else env[x] for x in eqn.inputs]
            params = _printing(eqn, printer)
            env.update(zip(eqn.out_binders, tr.bind(eqn.primitive, operands, params), strict=True))
        values = [env[v] for v in _results(eqns)]
        if location is not None and values:
            callbacks.debug_callback(printer, (location, *values), {}, ordered=True)
    return [env[x] if isinstance(x, jx.Var) else x.value for x in jaxpr.outs]


def _line_of(eqn: jx.JaxprEqn) -> Location | None:
    return None if eqn.source is None else eqn.source.location


def _results(eqns: Sequence[jx.JaxprEqn]) -> list[jx.Var]:
    """Return the results of a line's equations that these do not use themselves."""
    used = {x for eqn in eqns for x in eqn.inputs if isinstance(x, jx.Var)}
    return [v for eqn in eqns for v in eqn.out_binders if v not in used]


def _printing(eqn: jx.JaxprEqn, printer: Printer) -> Any:
    """Return the parameters of an equation whose programs, if they are the user's, print too."""
    own = _line_of(eqn)
    params = eqn.params
    if all(_line_of(inner) in (own, None) for p in jx.subjaxprs(params) for inner in p.eqns):
        return params

    def printing(jaxpr: jx.Jaxpr) -> jx.Jaxpr:
        return staging.stage(lambda *xs: run_printing(jaxpr, xs, printer), jaxpr.in_avals).jaxpr

    if isinstance(params, ScanParams):
        return attrs.evolve(params, jaxpr=printing(params.jaxpr))
    if isinstance(params, WhileParams):
        return attrs.evolve(params, body=printing(params.body))
    if isinstance(params, CondParams):
        return CondParams(tuple(map(printing, params.branches)))
    called = eqn.primitive.rules.extensions.get(program_rules.CALLED)
    inner = list(jx.subjaxprs(params))
    if called is not None and len(inner) == 1:
        return called(params, printing(inner[0]))
    return params

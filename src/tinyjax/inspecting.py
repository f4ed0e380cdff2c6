"""Programs that print what each of the user's lines computes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import attrs
import numpy as np

from tinyjax.callbacks import debug_callback
from tinyjax.control_flow.primitives.cond import CondParams
from tinyjax.control_flow.primitives.scan import ScanParams
from tinyjax.control_flow.primitives.while_loop import WhileParams
from tinyjax.core.array import Array
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Lit, Var, subjaxprs
from tinyjax.core.program_rules import CALLED
from tinyjax.core.staging import stage
from tinyjax.core.trace import bind
from tinyjax.display.showing import ranges, sampled
from tinyjax.dtypes import HostArray
from tinyjax.frames import Location, place

#: Up to so many elements a value is printed whole.
_SHORT = 8


class Printer:
    """Prints lines with their values, and the names of functions where these change."""

    def __init__(self) -> None:
        self._function: tuple[str, str] | None = None

    def __call__(self, location: Location, *values: HostArray) -> None:
        """Print a line of the user's, and what it computed."""
        function = location.filename, location.function
        if function != self._function:
            self._function = function
            sys.stdout.write(f"{location.function} ({place(location.filename, location.lineno)})\n")
        text = ", ".join(map(value_text, values))
        sys.stdout.write(f"{location.lineno:>5}  {location.text}\n       → {text}\n")


def value_text(x: HostArray) -> str:
    """Return a value on one line: whole, or its type and its range."""
    if x.size <= _SHORT or x.dtype.names is not None:
        return " ".join(np.array2string(x, separator=", ", precision=5).split())
    sample = sampled(x)
    shape = ",".join(map(str, x.shape))
    return f"{x.dtype.name}[{shape}] {', '.join(ranges(sample, sample.size < x.size))}"


def run_printing(jaxpr: Jaxpr, args: Sequence[Array], printer: Printer) -> list[Array]:
    """Evaluate a program, under the current trace, and print what its lines compute."""
    env: dict[Var, Array] = dict(zip(jaxpr.in_binders, args, strict=True))
    for location, group in groupby(jaxpr.eqns, _line_of):
        eqns = list(group)
        for eqn in eqns:
            operands = [x.value if isinstance(x, Lit) else env[x] for x in eqn.inputs]
            params = _printing(eqn, printer)
            env.update(zip(eqn.out_binders, bind(eqn.primitive, operands, params), strict=True))
        values = [env[v] for v in _results(eqns)]
        if location is not None and values:
            debug_callback(printer, (location, *values), {}, ordered=True)
    return [env[x] if isinstance(x, Var) else x.value for x in jaxpr.outs]


def _line_of(eqn: JaxprEqn) -> Location | None:
    return None if eqn.source is None else eqn.source.location


def _results(eqns: Sequence[JaxprEqn]) -> list[Var]:
    """The results of a line's equations that these do not use themselves."""
    used = {x for eqn in eqns for x in eqn.inputs if isinstance(x, Var)}
    return [v for eqn in eqns for v in eqn.out_binders if v not in used]


def _printing(eqn: JaxprEqn, printer: Printer) -> Any:
    """The parameters of an equation whose programs, if they are the user's, print too."""
    own = _line_of(eqn)
    params = eqn.params
    if all(_line_of(inner) in (own, None) for p in subjaxprs(params) for inner in p.eqns):
        return params

    def of(jaxpr: Jaxpr) -> Jaxpr:
        return stage(lambda *xs: run_printing(jaxpr, xs, printer), jaxpr.in_avals).jaxpr

    if isinstance(params, ScanParams):
        return attrs.evolve(params, jaxpr=of(params.jaxpr))
    if isinstance(params, WhileParams):
        return attrs.evolve(params, body=of(params.body))
    if isinstance(params, CondParams):
        return CondParams(tuple(map(of, params.branches)))
    called = eqn.primitive.rules.extensions.get(CALLED)
    inner = list(subjaxprs(params))
    if called is not None and len(inner) == 1:
        return called(params, of(inner[0]))
    return params

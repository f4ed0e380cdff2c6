"""How much memory a program needs at its peak, as XLA lays it out on CPU.

Values live from the equation that computes them to the last one that reads them. What XLA fuses
into the loops that read it is never in memory. An elementwise operation writes over an operand that
ends with it. The branches of a conditional and the body of a loop bring their own peak.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import attrs

from tinyjax.core.control_flow.primitives import ScanParams, WhileParams
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules as pr
from tinyjax.exploring import costs
from tinyjax.exploring.numbering import programs_run
from tinyjax.primitives.convolution import ConvParams, features_last


def inline(jaxpr: jx.Jaxpr, called: Callable[[jx.JaxprEqn], jx.Jaxpr | None]) -> jx.Jaxpr:
    """Write programs in the places of equations, with variables of their own.

    Args:
        jaxpr: the program.
        called: of an equation, the program that it stands for; None for one that stays.
    """
    eqns: list[jx.JaxprEqn] = []

    def run(jaxpr: jx.Jaxpr, args: tuple[jx.Atom, ...]) -> tuple[jx.Atom, ...]:
        env: dict[jx.Atom, jx.Atom] = dict(zip(jaxpr.in_binders, args, strict=True))
        for eqn in jaxpr.eqns:
            inputs = tuple([env.get(x, x) for x in eqn.inputs])
            program = called(eqn)
            if program is None:
                binders = tuple([jx.Var(v.aval) for v in eqn.out_binders])
                eqns.append(attrs.evolve(eqn, inputs=inputs, out_binders=binders))
                env.update(zip(eqn.out_binders, binders, strict=True))
            else:
                env.update(zip(eqn.out_binders, run(program, inputs), strict=True))
        return tuple([env.get(x, x) for x in jaxpr.outs])

    outs = run(jaxpr, jaxpr.in_binders)
    return jx.Jaxpr(jaxpr.in_binders, tuple(eqns), outs)


def temporary_bytes(jaxpr: jx.Jaxpr, ending: tuple[int, ...] = ()) -> int:
    """Predict the peak of what a program holds besides its parameters and its results.

    Args:
        jaxpr: the program.
        ending: the parameters that nobody needs later, whose memory the program may write over.
    """

    def predict() -> int:
        program = inline(jaxpr, _inlined)
        return _Program(program, [program.in_binders[i] for i in ending]).peak()

    return jaxpr.derive(("temporary bytes", ending), predict)


def _inlined(eqn: jx.JaxprEqn) -> jx.Jaxpr | None:
    rules = eqn.primitive.rules.extensions
    return eqn.primitive.rule(pr.INLINED)(eqn.params) if pr.INLINED in rules else None


def _fuses(eqn: jx.JaxprEqn) -> bool:
    rules = eqn.primitive.rules.extensions
    return prim.ELEMENTWISE in rules or prim.FUSES in rules


def _aliases(eqn: jx.JaxprEqn) -> bool:
    """Whether results are operands, in the same memory."""
    rules = eqn.primitive.rules.extensions
    return prim.VIEW in rules or prim.IDENTITY in rules


def _writes_over(eqn: jx.JaxprEqn) -> bool:
    """Whether results take the memory of an operand that ends with them, as fused loops do."""
    is_kept = prim.MATERIALIZES in eqn.primitive.rules.extensions
    return _fuses(eqn) or (is_kept and eqn.primitive.rule(prim.MATERIALIZES)())


def _reads_fused(eqn: jx.JaxprEqn) -> bool:
    name = eqn.primitive.name
    return _fuses(eqn) or (name.startswith("reduce_") and "window" not in name)


def _size(x: jx.Atom) -> int:
    """The bytes of an array in memory, where it begins at a multiple of 64."""
    return -(-x.aval.nbytes // 64) * 64


def _moved(eqn: jx.JaxprEqn) -> int:
    """Bytes of operands that an operation copies, to have their axes in another order."""
    params = eqn.params
    if not isinstance(params, ConvParams) or params.numbers == features_last(len(params.strides)):
        return 0
    return sum(map(_size, eqn.inputs))


class _Program:
    """A program without calls, and where its values are."""

    def __init__(self, jaxpr: jx.Jaxpr, carried: Iterable[jx.Var]) -> None:
        self.carried = tuple(carried)
        self.origin = {v: eqn for eqn in jaxpr.eqns for v in eqn.out_binders}
        self.readers: defaultdict[jx.Var, list[jx.JaxprEqn]] = defaultdict(list)
        self.results: set[jx.Var] = set()
        self.buffers: dict[jx.Var, frozenset[jx.Var]] = {}
        self.eqns = jaxpr.eqns
        for x in jaxpr.outs:
            self.results.update(self._source(x))
        for eqn in jaxpr.eqns:
            if not _aliases(eqn):
                for x in dict.fromkeys(eqn.inputs):
                    for source in self._source(x):
                        self.readers[source].append(eqn)

    def _source(self, x: jx.Atom) -> tuple[jx.Var, ...]:
        """The variable whose memory an atom is in."""
        while isinstance(x, jx.Var):
            eqn = self.origin.get(x)
            if eqn is None or not _aliases(eqn):
                return (x,)
            x = eqn.inputs[0]
        return ()

    def _fused(self, var: jx.Var) -> bool:
        """Whether a value is computed where it is read, and nowhere kept."""
        eqn = self.origin.get(var)
        if eqn is None or var in self.results or not _fuses(eqn):
            return False
        readers = self.readers[var]
        if len(readers) > 1 and costs.is_function(eqn.primitive):  # XLA computes it once
            return False
        return all(map(_reads_fused, readers))

    def buffers_of(self, x: jx.Atom) -> frozenset[jx.Var]:
        """The values in memory that reading an atom reads."""
        read: frozenset[jx.Var] = frozenset()
        for var in self._source(x):
            if var not in self.buffers:
                inputs = self.origin[var].inputs if self._fused(var) else ()
                inner = frozenset((var,)) if not inputs else frozenset[jx.Var]()
                self.buffers[var] = inner.union(*map(self.buffers_of, inputs))
            read |= self.buffers[var]
        return read

    def _inside(self, eqn: jx.JaxprEqn, ending: frozenset[jx.Var]) -> int:
        """The peak of what an operation holds besides its operands and its results."""
        params = eqn.params
        if isinstance(params, WhileParams):
            return temporary_bytes(
                params.body, tuple(range(params.num_body, len(params.body.in_binders)))
            )
        if isinstance(params, ScanParams):
            first = params.num_consts
            return temporary_bytes(params.jaxpr, tuple(range(first, first + params.num_carry)))
        peak = _moved(eqn)
        for program in programs_run(eqn):
            operands = eqn.inputs[len(eqn.inputs) - len(program.in_binders) :]
            read = enumerate(map(self.buffers_of, operands))
            over = tuple([i for i, buffers in read if buffers and buffers <= ending])
            peak = max(peak, temporary_bytes(program, over))
        return peak

    def peak(self) -> int:
        steps: list[tuple[jx.JaxprEqn, frozenset[jx.Var], list[jx.Var]]] = []
        last: dict[jx.Var, int] = {}
        for eqn in self.eqns:
            made = [v for v in eqn.out_binders if not self._fused(v)]
            if _aliases(eqn) or not made:
                continue
            read = frozenset[jx.Var]().union(*map(self.buffers_of, eqn.inputs))
            last.update(dict.fromkeys((*read, *made), len(steps)))
            steps.append((eqn, read, [v for v in made if v not in self.results]))
        live = peak = 0
        # what is in memory that ends with it, and how much of that is the program's own
        owned = dict.fromkeys(self.carried, 0)
        for i, (eqn, read, made) in enumerate(steps):
            ending = [v for v in read if v in owned and last[v] == i]
            ending.sort(key=lambda v: owned[v])
            inside = self._inside(eqn, frozenset(ending))
            reusable = ending if _writes_over(eqn) else []
            taken = {_size(v): v for v in reusable}
            for v in made:
                under = taken.pop(_size(v), None)
                if under is None:
                    owned[v] = _size(v)
                    live += owned[v]
                else:
                    owned[v], owned[under] = owned[under], 0
            peak = max(peak, live + inside)
            for v in (*ending, *[v for v in made if last[v] == i]):
                live -= owned.pop(v)
        return peak

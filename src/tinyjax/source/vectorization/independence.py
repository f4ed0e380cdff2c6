"""Loops whose iterations are made at once: each changes parts of its own, or adds to a total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Final

import attrs

from tinyjax.core.control_flow.bodies import grown
from tinyjax.core.control_flow.primitives import ScanParams
from tinyjax.core.primitives import broadcast, elementwise as ew, shape as sh, slicing
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.values import Array
from tinyjax.source.vectorization import loops
from tinyjax.source.vectorization.accesses import OwnPart, OwnWindow, PartProgram, uses_of

# ``python -m benchmarks.vectorization`` measures both thresholds, on both sides of each.

#: The elements that all iterations may compute at once: a gradient of more, which keeps them, takes
#: longer than one of the loop.
MOST_ELEMENTS: Final = 1 << 19
#: An iteration that computes so many elements without products is as fast in a loop.
LONG: Final = 1 << 12


@attrs.frozen(eq=False)
class IndependentIterations:
    """A loop whose iterations are made at once.

    Attributes:
        loop: the loop.
        own: for each array that the loop changes, the part that is an iteration's own.
        terms: for each parameter that iterations add to, the sum of an iteration's terms.
        program: the program of an iteration, which takes parts.
    """

    loop: loops.CountedLoop
    own: Mapping[jx.Var, OwnPart | OwnWindow]
    terms: Mapping[jx.Var, jx.Var]
    program: PartProgram

    def run(self) -> tuple[list[Array], list[Array]]:
        """Return the last carry, and what else iterations return, along a first axis."""
        loop, body, program = self.loop, self.loop.body.jaxpr, self.program
        values = dict(zip(body.in_binders, loop.body.consts, strict=False))
        values.update(zip(loop.carry, loop.state, strict=True))
        starts = self._starts(values)
        constants = [x for x in values if x not in self.own]
        args = [*[values[x] for x in constants], *loop.rows]
        axes: list[int | None] = [*[None] * len(constants), *[0] * len(loop.rows)]
        names = [*constants, *loop.slices]
        for (x, part), name in program.reads.items():
            args.append(part.all_of(values[x], loop.length))
            axes.append(part.axis)
            names.append(name)
        for x, own in self.own.items():
            args.append(own.all_of(values[x], loop.length, starts[x]))
            axes.append(own.axis)
            names.append(program.names[x])
        outs = list(program.outs)
        outs[: len(loop.carry)] = [
            self.terms.get(x, out) for x, out in zip(loop.carry, outs, strict=False)
        ]
        whole = program_rules.dce(jx.Jaxpr(tuple(names), tuple(program.eqns), tuple(outs)))
        results, places = loops.batched(whole, loop.length, args, axes)
        after: list[Array] = []
        for x, out, result, axis in zip(loop.carry, body.outs, results, places, strict=False):
            changed = self.own.get(x)
            if changed is not None:
                moved = sh.move_batch_axis(result, axis, changed.axis, loop.length)
                after.append(changed.updated(values[x], moved, loop.length, starts[x]))
            elif x in self.terms:
                rows = sh.move_batch_axis(result, axis, 0, loop.length)
                total = broadcast.reduce_sum(rows, (0,))
                start = ew.convert_element_type(values[x], out.aval.dtype, out.aval.weak_type)
                after.append(ew.add(start, total))
            elif out is x or axis is None:
                after.append(result)
            else:
                last = slicing.slice_in_dim(result, loop.length - 1, loop.length, 1, axis)
                after.append(sh.squeeze(last, (axis,)))
        n = len(after)
        rest = zip(results[n:], places[n:], strict=True)
        return after, [sh.move_batch_axis(x, axis, 0, loop.length) for x, axis in rest]

    def _starts(self, values: Mapping[jx.Var, Array]) -> dict[jx.Var, list[Array | int]]:
        """Return the starts of each array's window."""
        starts = {
            x: own.others if isinstance(own, OwnWindow) else [] for x, own in self.own.items()
        }
        atoms = [*{s: None for some in starts.values() for s in some if isinstance(s, jx.Var)}]
        constants = [x for x in values if x not in self.loop.carry]
        whole = jx.Jaxpr(tuple(constants), self.loop.body.jaxpr.eqns, tuple(atoms))
        numbers = jx.eval_jaxpr(program_rules.dce(whole), [values[x] for x in constants])
        by_atom: dict[jx.Atom | int, Array] = dict(zip(atoms, numbers, strict=True))
        return {
            x: [s.value if isinstance(s, jx.Lit) else by_atom.get(s, 0) for s in some]
            for x, some in starts.items()
        }

    @property
    def obstacle(self) -> loops.Obstacle | None:
        """Return why making all iterations at once would not be faster; None if it would."""
        program = self.program
        sources = [*self.loop.slices, *program.reads.values()]
        sources += [program.names[x] for x in self.own]
        differing = program_rules.dependents(program.eqns, sources)
        if _gathers(program.eqns, differing):
            return loops.Obstacle.GATHERED
        sizes = _sizes(program.eqns, differing)
        if max(sizes, default=0) >= LONG and not any(map(loops.is_product, program.eqns)):
            return loops.Obstacle.LONG
        return loops.Obstacle.MEMORY if self.loop.length * sum(sizes) > MOST_ELEMENTS else None


def _gathers(eqns: Sequence[jx.JaxprEqn], differing: Set[jx.Atom]) -> bool:
    """Return whether equations read arrays at places that differ between iterations."""
    for eqn in eqns:
        if prim.READS in eqn.primitive.rules.extensions:
            if not differing.isdisjoint(eqn.inputs[1:]):
                return True
        elif isinstance(eqn.params, ScanParams):
            inner = eqn.params.jaxpr
            if _gathers(inner.eqns, _differing_inside(eqn, eqn.params, differing)):
                return True
    return False


def _differing_inside(
    eqn: jx.JaxprEqn, params: ScanParams, differing: Set[jx.Atom]
) -> set[jx.Atom]:
    """Return the values in a loop that differ between iterations of the loop around it."""
    body, program = params.loop_body, params.jaxpr
    marks = grown(
        body.operands([x in differing for x in eqn.inputs]),
        lambda marks: body.results(program_rules.depends(program, marks.flat)).carry,
    )
    sources = prim.marked(program.in_binders, marks.flat)
    return program_rules.dependents(program.eqns, sources)


def _sizes(eqns: Sequence[jx.JaxprEqn], differing: set[jx.Atom]) -> list[int]:
    """Return the sizes of values that differ between iterations, those in loops included."""
    sizes: list[int] = []
    for eqn in eqns:
        if not differing.isdisjoint(eqn.out_binders):
            sizes += [x.aval.size for x in eqn.out_binders]
            for inner in jx.subjaxprs(eqn.params):
                every = set[jx.Atom]([x for e in inner.eqns for x in e.out_binders])
                sizes += _sizes(inner.eqns, every)
    return sizes


def _is_plain(eqn: jx.JaxprEqn) -> bool:
    """Return whether an equation can be made for all iterations at once, a loop also."""
    if jx.effects_of(eqn).any:
        return False
    if isinstance(eqn.params, ScanParams):
        return all(map(_is_plain, eqn.params.jaxpr.eqns))
    return eqn.primitive.rules.evaluate is None


def _terms(loop: loops.CountedLoop) -> dict[jx.Var, list[jx.JaxprEqn]]:
    """Return the parameters that an iteration only adds to, with the additions."""
    body = loop.body.jaxpr
    uses = Counter([*[x for eqn in body.eqns for x in eqn.inputs], *body.outs])
    sums: dict[jx.Var, list[jx.JaxprEqn]] = {}
    for x, out in zip(loop.carry, body.outs, strict=False):
        additions: list[jx.JaxprEqn] = []
        total: jx.Atom = x
        while total is not out and uses[total] == 1:
            eqn = next((eqn for eqn in body.eqns if total in eqn.inputs), None)
            if eqn is None or not _adds(eqn, total):
                break
            additions.append(eqn)
            (total,) = eqn.out_binders
        if additions and total is out and uses[out] == 1:
            sums[x] = additions
    return sums


def _adds(eqn: jx.JaxprEqn, total: jx.Atom) -> bool:
    """Return whether an equation adds to a total, or only changes whether its type is weak."""
    if eqn.primitive is ew.convert_element_type_p:
        return bool(eqn.out_binders[0].aval.dtype == total.aval.dtype)
    return eqn.primitive is ew.add or (eqn.primitive is ew.sub and eqn.inputs[0] is total)


def _total(x: jx.Var, additions: Sequence[jx.JaxprEqn]) -> tuple[list[jx.JaxprEqn], jx.Var]:
    """Return equations for the sum of what an iteration adds to a parameter, and their result."""
    eqns: list[jx.JaxprEqn] = []
    names: dict[jx.Atom, jx.Atom] = {x: jx.zero_literal(x.aval)}
    total = x
    for eqn in additions:
        (out,) = eqn.out_binders
        total = jx.Var(out.aval)
        inputs = tuple([names.get(y, y) for y in eqn.inputs])
        eqns.append(attrs.evolve(eqn, inputs=inputs, out_binders=(total,)))
        names[out] = total
    return eqns, total


def independent(loop: loops.CountedLoop) -> IndependentIterations | loops.Obstacle:
    """Return a loop whose iterations are made at once, or why they cannot be."""
    body = loop.body.jaxpr
    if not all(map(_is_plain, body.eqns)):
        return loops.Obstacle.CONTROL_FLOW
    sums = _terms(loop)
    pairs = zip(loop.carry, body.outs, strict=False)
    changed = {x: out for x, out in pairs if out is not x and x not in sums}
    uses = uses_of(loop.indices, [*changed])
    if not all(uses.parts.values()):
        return loops.Obstacle.SHARED
    if any(
        uses.owners.get(out) is not (x if x in uses.parts else None) for x, out in changed.items()
    ):
        return loops.Obstacle.CARRIED
    if not uses.owners.keys().isdisjoint(body.outs[len(loop.carry) :]):
        return loops.Obstacle.CARRIED
    differing = program_rules.dependents(body.eqns, [*loop.slices, *loop.carry])
    own = {
        x: uses.window(x, min(parts, key=lambda part: part.axis), loop.indices, differing)
        for x, parts in uses.parts.items()
    }
    unchanged = [x for x in loop.carry if x not in changed and x not in sums]
    program = PartProgram.make(loop.indices, own, [*loop.constants, *unchanged])
    terms: dict[jx.Var, jx.Var] = {}
    for x, additions in sums.items():
        eqns, terms[x] = _total(x, additions)
        program.eqns += eqns
    iterations = IndependentIterations(loop, own, terms, program)
    return iterations.obstacle or iterations

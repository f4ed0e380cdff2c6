"""Loops whose iterations are made at once: each has parts of its own of what the loop changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from tinyjax.core.control_flow.primitives import ScanParams
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.values import Array
from tinyjax.source.vectorization.accesses import Part, PartProgram, Window, uses_of
from tinyjax.source.vectorization.loops import (
    CountedLoop,
    Obstacle,
    batched,
    dependents,
    is_product,
)

#: The elements that all iterations may compute at once: a gradient of more, which keeps them, takes
#: longer than one of the loop ("arrays" of ``python -m benchmarks.vectorization``).
MOST_ELEMENTS: Final = 1 << 19
#: An iteration that computes so many is fast enough by itself, but for its products ("long").
LONG: Final = 1 << 12


@attrs.frozen(eq=False)
class IndependentIterations:
    """A loop whose iterations are made at once.

    Attributes:
        loop: the loop.
        own: for each parameter that it changes, which part of it is an iteration's own.
        program: an iteration, of parts.
    """

    loop: CountedLoop
    own: Mapping[jx.Var, Part | Window]
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
        whole = jx.Jaxpr(tuple(names), tuple(program.eqns), program.outs)
        results, places = batched(whole, loop.length, args, axes)
        after: list[Array] = []
        for x, out, result, axis in zip(loop.carry, body.outs, results, places, strict=False):
            changed = self.own.get(x)
            if changed is not None:
                moved = sh.move_batch_axis(result, axis, changed.axis, loop.length)
                after.append(changed.updated(values[x], moved, loop.length, starts[x]))
            elif out is x or axis is None:
                after.append(result)
            else:
                last = slicing.slice_in_dim(result, loop.length - 1, loop.length, 1, axis)
                after.append(sh.squeeze(last, (axis,)))
        n = len(after)
        rest = zip(results[n:], places[n:], strict=True)
        return after, [sh.move_batch_axis(x, axis, 0, loop.length) for x, axis in rest]

    def _starts(self, values: Mapping[jx.Var, Array]) -> dict[jx.Var, list[Array | int]]:
        """Return where the elements of each array begin that are at one place."""
        starts = {x: own.others if isinstance(own, Window) else [] for x, own in self.own.items()}
        atoms = [*{s: None for some in starts.values() for s in some if isinstance(s, jx.Var)}]
        constants = [x for x in values if x not in self.loop.carry]
        whole = jx.Jaxpr(tuple(constants), self.loop.body.jaxpr.eqns, tuple(atoms))
        numbers = jx.eval_jaxpr(program_rules.dce(whole), [values[x] for x in constants])
        known: dict[jx.Atom | int, Array] = dict(zip(atoms, numbers, strict=True))
        return {
            x: [s.value if isinstance(s, jx.Lit) else known.get(s, 0) for s in some]
            for x, some in starts.items()
        }

    @property
    def obstacle(self) -> Obstacle | None:
        """Return why all iterations at once would not be faster, if so."""
        program = self.program
        sources = [*self.loop.slices, *program.reads.values()]
        sources += [program.names[x] for x in self.own]
        sizes = [*_sizes(program.eqns, dependents(program.eqns, sources))]
        if max(sizes, default=0) >= LONG and not any(map(is_product, program.eqns)):
            return Obstacle.LONG
        return Obstacle.MEMORY if self.loop.length * sum(sizes) > MOST_ELEMENTS else None


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


def independent(loop: CountedLoop) -> IndependentIterations | Obstacle:
    """Return a loop whose iterations are made at once, or why they cannot be."""
    body = loop.body.jaxpr
    if not all(map(_is_plain, body.eqns)):
        return Obstacle.CONTROL_FLOW
    changed = {x: out for x, out in zip(loop.carry, body.outs, strict=False) if out is not x}
    uses = uses_of(loop.indices, [*changed])
    if not all(uses.parts.values()):
        return Obstacle.SHARED
    if any(
        uses.owners.get(out) is not (x if x in uses.parts else None) for x, out in changed.items()
    ):
        return Obstacle.CARRIED
    if not uses.owners.keys().isdisjoint(body.outs[len(loop.carry) :]):
        return Obstacle.CARRIED
    differing = dependents(body.eqns, [*loop.slices, *loop.carry])
    own = {
        x: uses.window(x, min(parts, key=lambda part: part.axis), loop.indices, differing)
        for x, parts in uses.parts.items()
    }
    unchanged = [x for x in loop.carry if x not in changed]
    program = PartProgram.of(loop.indices, own, [*loop.constants, *unchanged])
    iterations = IndependentIterations(loop, own, program)
    return iterations.obstacle or iterations

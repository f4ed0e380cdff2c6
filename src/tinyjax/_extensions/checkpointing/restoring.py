"""Loops that update arrays in place, and restore them in the backward pass.

The tangent map of an iteration may read long slices of an array of which the iteration overwrites a
few elements. Then the loop keeps the overwritten elements, and not the slices. The backward pass
begins with the array as the loop leaves it. Iteration by iteration it puts the elements back, so
that it has the array as it was, and reads the slices from it. Programs that transform source store
and restore in the same way (Griewank and Walther, "Evaluating Derivatives", 2008, chapter 4).

A loop in the body of a loop counts as an update, too, if it can be restored itself. Slices of
arrays that a loop does not update are read again as well, if they are many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import Final

import attrs

from tinyjax import dtypes
from tinyjax.core.control_flow import residuals
from tinyjax.core.control_flow.bodies import LoopBody
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.transforms import linearize
from tinyjax.core.transforms.linearize import LinearizedJaxpr

#: Residuals of fewer bytes in an iteration are kept.
_FEW_BYTES: Final = 256
#: Residuals read from arrays that the loop does not update are kept if all iterations have fewer
#: bytes.
_FEW_BYTES_OF_CONSTANTS: Final = 1 << 20
#: Restoring must make the kept bytes smaller by this factor.
_WORTH_IT: Final = 4
#: Primitives that are computed again: those that move elements, and arithmetic.
_AGAIN: Final = frozenset(
    (
        *("slice", "dynamic_slice", "gather", "reshape", "transpose", "broadcast_in_dim", "rev"),
        *("select", "copy", "convert_element_type", "neg", "add", "sub", "mul"),
    )
)


@attrs.frozen(eq=False, repr=False)
class Restoration:
    """A loop's body whose residuals are read from arrays that are restored.

    Attributes:
        halves: a primal half, which returns its results and then the values to be kept; and a
            program in place of a tangent map. This program takes the kept values, and then the
            arrays as the iteration leaves them. It returns the arrays as they were before the
            iteration, and then the residuals.
        places: the numbers of these arrays in the carry.
    """

    halves: LinearizedJaxpr
    places: Sequence[int]

    @property
    def before(self) -> jx.Jaxpr:
        """The program without the residuals."""
        program, n = self.halves.tangent, len(self.places)
        return program_rules.dce(program, [i < n for i in range(len(program.outs))])


def restoration_of(lin: LinearizedJaxpr, body: LoopBody, iterations: int) -> Restoration | None:
    """Return how to restore the arrays that a body reads; None where restoring is not worth it.

    Args:
        lin: the body, linearized.
        body: the body.
        iterations: how often it runs at most.
    """
    if not residuals.are_large(lin, iterations):
        return None
    restoration: Restoration | None = lin.primal.jaxpr.derive(
        ("restoration", lin.nonzero_out, body.num_consts, body.num_carry, iterations),
        lambda: _Plan(lin, body).restoration(iterations),
    )
    return restoration


@contextmanager
def keeping_residuals() -> Iterator[None]:
    """Let loops keep all residuals, in programs that are linearized in this context."""
    token = linearize.keeping.set(True)
    try:
        yield
    finally:
        linearize.keeping.reset(token)


def reads_restored(lin: LinearizedJaxpr) -> bool:
    """Return whether residuals are arrays that loops in a body are restored from."""
    called = program_rules.CALLED
    calls = [eqn for eqn in lin.primal.jaxpr.eqns if called in eqn.primitive.rules.extensions]
    if not calls:
        return False
    atoms = {*residuals.residuals_of(lin, len(lin.nonzero_out))}
    return any(
        atoms.intersection([eqn.out_binders[at] for place in inverse.places for at in place[1:]])
        for eqn in calls
        if (inverse := _inverse_of(eqn)) is not None
    )


def _inverse_of(eqn: jx.JaxprEqn) -> jx.Inverse | None:
    if program_rules.CALLED not in eqn.primitive.rules.extensions:
        return None
    (program,) = jx.subjaxprs(eqn.params)
    return program.facts.inverse


class _Plan:
    """The search for values of an iteration to keep, and for those to compute again."""

    def __init__(self, lin: LinearizedJaxpr, body: LoopBody) -> None:
        self.lin, self.num_outs = lin, len(lin.nonzero_out)
        operands = body.operands(body.jaxpr.in_binders)
        self.primal = LoopBody.closing_over(lin.primal, operands)
        self.jaxpr = self.primal.jaxpr
        self.makers = {out: eqn for eqn in self.jaxpr.eqns for out in eqn.out_binders}
        self.varying = self.primal.varying()
        #: An array that a loop leaves, which a record has twice.
        self.same: dict[jx.Atom, jx.Atom] = {}
        for eqn in self.jaxpr.eqns:
            inverse = _inverse_of(eqn)
            for _, result, copy in () if inverse is None else inverse.places:
                self.same[eqn.out_binders[copy]] = eqn.out_binders[result]
        #: The number in the carry of each version of an array that can be restored.
        self.versions: dict[jx.Atom, int] = {}
        #: The equations that update it, with the versions before and after.
        self.updates: dict[int, list[jx.JaxprEqn]] = {}
        self._find_versions()

    def restoration(self, iterations: int) -> Restoration | None:
        """Return the restoration of the arrays; None if it does not keep fewer bytes."""
        atoms = residuals.residuals_of(self.lin, self.num_outs)
        before = self._bytes(self.lin, self.primal)
        if before < _FEW_BYTES or before * iterations < residuals.FEW_BYTES:
            return None
        saved: dict[jx.Atom, None] = {}
        again: set[jx.JaxprEqn] = set()
        read: set[int] = set()
        for x in atoms:
            self._read_again(x, saved, again, read)
        eqns = self._restoring(read, saved)
        if eqns is None or not (read or before * iterations > _FEW_BYTES_OF_CONSTANTS):
            return None
        reads, restores = eqns
        places = sorted(read)
        after = [self.primal.results(self.jaxpr.outs).carry[i] for i in places]
        arrays = [self.primal.binders.carry[i] for i in places]
        names = {x: y for x, y in self.same.items() if y in self.versions}
        again_eqns, outs = program_rules.renamed(
            jx.Jaxpr((), tuple([e for e in self.jaxpr.eqns if e in again]), tuple(atoms)), names
        )
        program = jx.Jaxpr(
            (*_variables(saved), *_variables(after)),
            (*restores, *again_eqns),
            (*arrays, *outs),
        )
        results = self.jaxpr.outs[: self.num_outs]
        primal_eqns = [e for eqn in self.jaxpr.eqns for e in (*reads.get(eqn, ()), eqn)]
        primal = attrs.evolve(
            self.lin.primal,
            jaxpr=jx.Jaxpr(self.jaxpr.in_binders, tuple(primal_eqns), (*results, *saved)),
        )
        halves = LinearizedJaxpr(primal, program, (None,) * len(saved), self.lin.nonzero_out)
        new_primal = attrs.evolve(self.primal, jaxpr=primal.jaxpr)
        if self._bytes(halves, new_primal) * _WORTH_IT > before:
            return None
        return Restoration(halves, places)

    def _bytes(self, lin: LinearizedJaxpr, primal: LoopBody) -> float:
        """Return how many bytes of residuals an iteration would stack."""
        recipe = residuals.recipe_of(lin, primal, self.num_outs)
        varying, slices = primal.varying(), {*primal.binders.xs}
        skipped = {
            *residuals.repeated_residuals(lin, self.num_outs),
            *(recipe.numbers if recipe else ()),
        }
        sizes = [
            x.aval.nbytes
            for i, x in enumerate(residuals.residuals_of(lin, self.num_outs))
            if i not in skipped and x in varying and x not in slices
        ]
        return sum(sizes) if all(type(n) is int for n in sizes) else inf

    # Versions of arrays

    def _find_versions(self) -> None:
        carry = zip(
            self.primal.binders.carry, self.primal.results(self.jaxpr.outs).carry, strict=True
        )
        chains: dict[int, tuple[list[jx.Atom], list[jx.JaxprEqn]]] = {}
        taken = set[jx.Atom]()
        for i, (binder, out) in enumerate(carry):
            chain = self._chain(binder, out)
            if chain is not None and taken.isdisjoint(chain[0]):
                chains[i] = chain
                taken.update(chain[0])
        while True:
            versions = {x: i for i, (own, _) in chains.items() for x in own}
            # a loop restores all of its arrays together
            broken = [
                i
                for i, (_, eqns) in chains.items()
                if any(
                    eqn.out_binders[result] not in versions or eqn.inputs[operand] not in versions
                    for eqn in eqns
                    if (inverse := _inverse_of(eqn)) is not None
                    for operand, result, _ in inverse.places
                )
            ]
            if not broken:
                break
            for i in broken:
                del chains[i]
        self.versions = versions
        self.updates = {i: eqns for i, (_, eqns) in chains.items()}

    def _chain(
        self, binder: jx.Var, out: jx.Atom
    ) -> tuple[list[jx.Atom], list[jx.JaxprEqn]] | None:
        """Return the versions of an array from the last to the first, and its updates."""
        versions: list[jx.Atom] = [out]
        eqns: list[jx.JaxprEqn] = []
        if not binder.aval.shape:
            return None
        while out is not binder:
            eqn = self.makers.get(out) if isinstance(out, jx.Var) else None
            before = None if eqn is None else self._before(eqn, out)
            if eqn is None or not isinstance(before, jx.Var) or before.aval != binder.aval:
                return None
            versions.append(before)
            eqns.append(eqn)
            out = before
        return versions, eqns

    def _before(self, eqn: jx.JaxprEqn, out: jx.Atom) -> jx.Atom | None:
        """Return the array that an equation updates."""
        if program_rules.OVERWRITTEN in eqn.primitive.rules.extensions:
            return eqn.inputs[0]
        inverse = _inverse_of(eqn)
        for operand, result, _ in () if inverse is None else inverse.places:
            if eqn.out_binders[result] is out:
                return eqn.inputs[operand]
        return None

    # Residuals that are read again

    def _read_again(
        self,
        x: jx.Atom,
        saved: dict[jx.Atom, None],
        again: set[jx.JaxprEqn],
        read: set[int],
    ) -> None:
        """Read a residual from arrays that are restored, or keep it."""
        leaves: dict[jx.Atom, None] = {}
        eqns: set[jx.JaxprEqn] = set()
        arrays: set[int] = set()
        pending = [x]
        while pending:
            y = self.same.get(pending[-1], pending.pop())
            if isinstance(y, jx.Lit):
                continue
            if y in self.versions:
                arrays.add(self.versions[y])
                continue
            eqn = self.makers.get(y)
            is_number = y.aval.size == 1 and dtypes.is_integer(y.aval.dtype)
            if eqn is None or y not in self.varying or is_number or not _is_again(eqn):
                leaves[y] = None
            elif eqn not in eqns:
                eqns.add(eqn)
                pending += eqn.inputs
        new = [y for y in leaves if y not in saved and y in self.varying]
        size = sum([y.aval.nbytes for y in new])
        if size >= x.aval.nbytes and self.same.get(x, x) not in self.versions:
            if isinstance(x, jx.Var):
                saved[x] = None
            return
        saved.update(leaves)
        again |= eqns
        read |= arrays

    def _restoring(
        self, read: set[int], saved: dict[jx.Atom, None]
    ) -> tuple[Mapping[jx.JaxprEqn, Sequence[jx.JaxprEqn]], Sequence[jx.JaxprEqn]] | None:
        """Return the equations that read the overwritten elements, and those that restore them.

        The values that these equations need are kept as well.
        """
        while True:  # arrays that a loop updates together are restored together
            more = {
                self.versions[eqn.out_binders[result]]
                for i in read
                for eqn in self.updates[i]
                if (inverse := _inverse_of(eqn)) is not None
                for _, result, _ in inverse.places
            }
            if more <= read:
                break
            read |= more
        updating = {eqn for i in read for eqn in self.updates[i]}
        reads: dict[jx.JaxprEqn, Sequence[jx.JaxprEqn]] = {}
        restores: list[jx.JaxprEqn] = []
        for eqn in reversed(self.jaxpr.eqns):
            if eqn not in updating:
                continue
            inverse = _inverse_of(eqn)
            if inverse is None:
                (after,), before = eqn.out_binders, eqn.inputs[0]
                assert isinstance(before, jx.Var), "the chain of versions has variables only"
                reading, restoring = eqn.primitive.rule(program_rules.OVERWRITTEN)(eqn, before)
                reads[eqn] = (reading,)
                restores.append(restoring)
                own: Sequence[jx.Atom] = [x for x in restoring.inputs if x is not after]
            else:
                record = [self.same.get(x, x) for x in eqn.out_binders[inverse.first :]]
                befores = [eqn.inputs[operand] for operand, _, _ in inverse.places]
                restores += program_rules.defining(inverse.program, record, befores)
                own = [x for x in record if x not in self.versions]
            if any(x in self.versions for x in own):
                return None
            saved.update(dict.fromkeys([x for x in own if isinstance(x, jx.Var)]))
        return reads, restores


def _is_again(eqn: jx.JaxprEqn) -> bool:
    return eqn.primitive.name in _AGAIN or residuals.is_cheap(eqn)


def _variables(atoms: Sequence[jx.Atom] | Mapping[jx.Atom, None]) -> list[jx.Var]:
    return [x for x in atoms if isinstance(x, jx.Var)]

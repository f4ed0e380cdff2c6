"""The masks of a backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final

from tinyjax._extensions.selections import forward, masks as selections_masks, programs
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.transforms.transpose import Transposer, apply_transpose
from tinyjax.core.values import Array

#: A mask that depends on this many others is computed at once: each is a call within the next.
_DEEPEST: Final = 32


def follow(
    transposer: Transposer, totals: dict[jx.Atom, Array], rule: prim.ApplyTranspose | None
) -> MaskedTransposer | None:
    """Return the tracker of selections in a backward pass; None where nothing depends on it.

    Args:
        transposer: makes the pass.
        totals: the cotangents that it holds.
        rule: applies the rules of equations; None where the primitives' own do.
    """
    masked = MaskedTransposer(transposer, totals, rule or apply_transpose)
    if not masked.matters:
        return None
    masked.enter_seeds(transposer.eqns)
    return masked


class MaskedTransposer:
    """The masks of the cotangents in a backward pass.

    Args:
        transposer: makes the pass.
        totals: the cotangents that it holds.
        rule: applies the rules of equations.

    Attributes:
        matters: whether a cotangent is multiplied after it was selected.
    """

    def __init__(
        self, transposer: Transposer, totals: dict[jx.Atom, Array], rule: prim.ApplyTranspose
    ) -> None:
        self._numbers = transposer.numbers
        self._residuals = transposer.residuals
        self._ends = transposer.linear_inputs
        self._totals = totals
        self._rule = rule
        self._masks: dict[jx.Atom, selections_masks.Mask] = {}
        #: How many masks that are not computed yet these may depend on, one after the other.
        self._depths: dict[jx.Atom, int] = {}
        #: Cotangents that may be infinite or NaN where they were not chosen.
        self._raw: set[jx.Atom] = set()
        #: Variables whose cotangents are multiplied further back, before their masks are dropped.
        self._multiplied: set[jx.Atom] = set()
        self._solves = False
        selects_numbers = False
        for eqn in transposer.eqns:
            self._solves = self._solves or prim.SOLVES in eqn.primitive.rules.extensions
            selects_numbers = selects_numbers or _selects_number(eqn)
        self.matters: bool = selects_numbers and self._multiplies_numbers(transposer.eqns)
        for eqn in transposer.eqns:
            after = not self._multiplied.isdisjoint(eqn.inputs)
            crossed = programs.may_be_crossed(programs.of_its_sizes(eqn))
            if eqn.primitive is ew.select_p:
                self.matters = self.matters or after
            elif crossed or eqn.primitive.selects:
                self.matters = self.matters or programs.selects(eqn)
            carried = selections_masks.carries(eqn) or (self._solves and self._is_of_system(eqn))
            if crossed or (carried and (after or self._multiplies(eqn))):
                self._multiplied.update(eqn.out_binders)

    def enter_seeds(self, eqns: Sequence[jx.JaxprEqn]) -> None:
        """Begin with the sums that the parameters of a program have before it.

        The program then adds to these in place, and not to arrays of its own.
        """
        for eqn in eqns:
            if eqn.primitive is not programs.enter_p:
                continue
            (outer, number), (var,) = eqn.inputs, eqn.out_binders
            if outer in self._totals and number in self._totals and var not in self._totals:
                self._totals[var] = self._totals.pop(outer)
                mask = selections_masks.as_mask(self._totals.pop(number))
                assert mask is not None, "a total is an array"
                self._masks[var] = mask

    def _multiplies_numbers(self, eqns: Sequence[jx.JaxprEqn]) -> bool:
        """Return whether the cotangent of a number is multiplied after it was masked."""
        multiplied = set[jx.Atom]()
        for eqn in eqns:
            after = not multiplied.isdisjoint(eqn.inputs)
            if after and _selects_number(eqn):
                return True
            if selections_masks.is_local(eqn) and (after or self._multiplies(eqn)):
                multiplied.update(eqn.out_binders)
        return False

    def apply(
        self, eqn: jx.JaxprEqn, cotangents: prim.Tangents, operands: prim.Operands
    ) -> prim.Cotangents:
        """Apply the transpose rule of an equation, and find the masks of its operands."""
        is_free = self._masks.keys().isdisjoint((*eqn.out_binders, *eqn.inputs))
        if is_free and not (eqn.primitive.selects or programs.may_be_crossed(eqn)):
            return self._rule(eqn, cotangents, operands)
        return self._apply_with_masks(eqn, cotangents, operands)

    def _apply_with_masks(
        self, eqn: jx.JaxprEqn, cotangents: prim.Tangents, operands: prim.Operands
    ) -> prim.Cotangents:
        """Apply the transpose rule of an equation that has masks, or that they may begin at."""
        masks = [self._masks.pop(var, None) for var in eqn.out_binders]
        depth = max(map(self._depths.pop, eqn.out_binders, repeat(0)), default=0)
        if any(masks):
            eqn = programs.of_its_sizes(eqn)
        raw = not self._raw.isdisjoint(eqn.out_binders)
        if raw and not selections_masks.keeps_places(eqn):
            cotangents = [
                selections_masks.choose(ct, mask) if var in self._raw else ct
                for var, ct, mask in zip(eqn.out_binders, cotangents, masks, strict=True)
            ]
            raw = False
        self._raw.difference_update(eqn.out_binders)
        bound = selections_masks.bound_of(eqn, cotangents, masks)
        is_whole = bound is not None and bound.is_whole(eqn, masks)
        results: Sequence[prim.Tangent | None]
        masks_in: Sequence[selections_masks.Mask | None] = ()
        if eqn.primitive is programs.enter_p:
            ((ct,), (mask,), bound) = cotangents, masks, None
            results = [ct, ct if ct is prim.ZERO else selections_masks.as_number(mask, ct)]
        elif eqn.primitive is programs.leave_p:
            ((ct, number), bound) = cotangents, None
            results, masks_in = [ct], [selections_masks.as_mask(number)]
        elif self._is_crossed(eqn, masks):
            results, masks_in = programs.apply_crossed(eqn, cotangents, operands, masks, self._rule)
            raw = bound is not None  # masks may have ended in the program
        elif self._solves and self._is_of_system(eqn) and masks[0] is not None:
            operands, masks_in = selections_masks.through_product(eqn, operands, masks[0])
            results = self._rule(eqn, cotangents, operands)
        else:
            followed: Sequence[selections_masks.Mask | None] = ()
            if any(masks) and not is_whole and selections_masks.is_of_user(eqn):
                results, followed = forward.pull_back(eqn, cotangents, operands, masks, self._rule)
            else:
                results = self._rule(eqn, cotangents, operands)
            if eqn.primitive is ew.select_p or any(masks):
                raw = raw or self._multiplies(eqn)
                if not is_whole or selections_masks.is_elementwise(eqn):
                    masks_in = selections_masks.pulled_back(eqn, cotangents, operands, masks)
            if any(followed):
                masks_in = followed
        masks_in = [*masks_in, *[None] * (len(operands) - len(masks_in))]
        if bound is not None:
            # where nothing of a number was chosen, nothing was that it is computed of
            raw = raw or (None in masks_in and self._multiplies(eqn))
            pairs = zip(masks_in, operands, strict=True)
            masks_in = [bound.around(m, x.aval.shape) for m, x in pairs]
        return self._added(eqn, results, masks_in, raw, depth + 1)

    def finish(self) -> None:
        """Mask the cotangents that have arrived at the linear inputs."""
        for x in self._raw.intersection(self._ends):
            self._totals[x] = selections_masks.choose(self._totals[x], self._masks[x])

    def _added(
        self,
        eqn: jx.JaxprEqn,
        results: Sequence[prim.Tangent | None],
        masks: Sequence[selections_masks.Mask | None],
        raw: bool,
        depth: int,
    ) -> prim.Cotangents:
        """Record the masks of operands, and mask cotangents that must be masked before the sum.

        Args:
            eqn: the equation.
            results: the cotangents of its operands.
            masks: the masks of its operands; more may follow.
            raw: whether those that have masks may be infinite or NaN elsewhere.
            depth: how many masks each of these may depend on.
        """
        chosen = [*results]
        once = len({*eqn.inputs}) == len(eqn.inputs)
        met = set[jx.Atom]()
        for i, (x, ct, mask) in enumerate(zip(eqn.inputs, results, masks)):  # noqa: B905
            if not isinstance(ct, Array):
                continue
            before = self._masks.get(x)
            is_first = x not in self._totals and x not in met
            is_raw = raw and mask is not None
            if is_raw and not (once and (is_first or mask is before)):
                chosen[i], is_raw = selections_masks.choose(ct, mask), False
            if is_first:
                if mask is not None:
                    self._record(x, mask, depth)
            elif mask is not before:
                if x in self._raw:
                    self._totals[x] = selections_masks.choose(self._totals[x], before)
                    self._raw.discard(x)
                if mask is None or before is None:
                    self._masks.pop(x, None)
                else:
                    depth_before = self._depths.get(x, 0)
                    some = selections_masks.either(before, mask)
                    self._record(x, some, 1 + max(depth, depth_before))
            if is_raw:
                self._raw.add(x)
            met.add(x)
        return chosen

    def _record(self, x: jx.Atom, mask: selections_masks.Mask, depth: int) -> None:
        if depth > _DEEPEST:
            mask()
            depth = 0
        self._masks[x], self._depths[x] = mask, depth

    def _is_crossed(self, eqn: jx.JaxprEqn, masks: Sequence[selections_masks.Mask | None]) -> bool:
        """Return whether masks go into the programs of an equation, or come out of them."""
        if not programs.may_be_crossed(eqn):
            return False
        return any(masks) or (
            programs.selects(eqn)
            and (
                programs.goes_round(eqn)
                or any(
                    has_mask and x in self._multiplied
                    for x, has_mask in zip(eqn.inputs, programs.escaping(eqn), strict=True)
                )
            )
        )

    def _is_of_system(self, eqn: jx.JaxprEqn) -> bool:
        """Return whether it is a product of matrices, beside a system that may have no solution.

        Masks end at other products. Computing them there would add a tenth to three times the time
        of the eager gradient of a network with ``relu``.
        """
        return selections_masks.is_product(eqn) and not selections_masks.carries(eqn)

    def _multiplies(self, eqn: jx.JaxprEqn) -> bool:
        """Return whether a transpose rule may turn a zero into NaN."""
        if not selections_masks.is_elementwise(eqn):
            return prim.MOVES not in eqn.primitive.rules.extensions  # and adds
        return eqn.primitive is not ew.select_p and any(
            not x.is_regular
            if isinstance(x, jx.Lit)
            else x in self._residuals and x not in self._numbers
            for x in eqn.inputs
        )


def _selects_number(eqn: jx.JaxprEqn) -> bool:
    return eqn.primitive is ew.select_p and not eqn.out_binders[0].aval.shape

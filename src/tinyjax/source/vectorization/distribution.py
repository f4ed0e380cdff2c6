"""Products and sums that depend on no other iteration, made before a loop for all iterations."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import reduce
from typing import Final

import attrs

import tinyjax.numpy as jnp
from tinyjax._primitives.dot import DotParams
from tinyjax.core.primitives import broadcast, elementwise as ew, shape as sh
from tinyjax.core.tracing import jaxpr as jx, program_rules, staging
from tinyjax.core.tracing.primitive import NO_PARAMS
from tinyjax.core.values import Array
from tinyjax.source.vectorization import windows
from tinyjax.source.vectorization.loops import CountedLoop, batched, is_product


@attrs.frozen(eq=False)
class MaskedOperand:
    """An operand of a product, with zeros at places along some axes.

    Attributes:
        operand: the operand without the zeros.
        mask: where the product takes the operand, and not zero.
        dims: for each axis of the mask, the axis of the operand.
    """

    operand: jx.Atom
    mask: jx.Atom
    dims: tuple[int, ...]


#: The most elements that are computed before a loop. Only memory bounds them: a product of matrices
#: is several times faster than products of vectors (``python -m benchmarks.vectorization``).
MOST_ELEMENTS: Final = 1 << 24


def _masked(loop: CountedLoop, x: jx.Atom) -> MaskedOperand | None:
    """Return the masked operand that a value is; None if it is not a selection from zeros."""
    chosen = loop.indices.definitions.get(x)
    if chosen is None or chosen.primitive is not ew.select_p:
        return None
    where, operand, other = chosen.inputs
    if not (isinstance(other, jx.Lit) and jx.is_zero(other)):
        return None
    spread = loop.indices.definitions.get(where)
    if spread is None or not isinstance(spread.params, broadcast.BroadcastParams):
        return None
    return MaskedOperand(operand, spread.inputs[0], spread.params.dims)


@attrs.frozen(eq=False)
class Product:
    """A product of a loop that depends on no other iteration.

    Attributes:
        eqn: the product.
        operands: its operands, without masks along axes that are not summed over.
        mask: the mask of its result, with the axis of the result for each axis of the mask.
    """

    eqn: jx.JaxprEqn
    operands: tuple[jx.Atom, ...]
    mask: tuple[jx.Atom, tuple[int, ...]] | None = None

    @classmethod
    def make(cls, loop: CountedLoop, eqn: jx.JaxprEqn) -> Product:
        """Return a product of a loop."""
        params: DotParams = eqn.params
        x, y = eqn.inputs
        left = [i for i in range(x.aval.ndim) if i not in (*params.lhs_contract, *params.lhs_batch)]
        right = [
            i for i in range(y.aval.ndim) if i not in (*params.rhs_contract, *params.rhs_batch)
        ]
        first = len(params.lhs_batch)
        for side, free, place in ((0, left, first), (1, right, first + len(left))):
            masked = _masked(loop, eqn.inputs[side])
            if masked is not None and {*masked.dims} <= {*free}:
                operands = [x, y]
                operands[side] = masked.operand
                dims = tuple([place + free.index(axis) for axis in masked.dims])
                return cls(eqn, tuple(operands), (masked.mask, dims))
        return cls(eqn, eqn.inputs)

    def rows(self, outs: Sequence[Array], axes: Sequence[int | None], length: int) -> Array:
        """Return the products of all iterations, from those of the program before the loop."""
        return sh.move_batch_axis(outs[0], axes[0], 0, length)

    def before(self) -> tuple[list[jx.JaxprEqn], list[jx.Atom]]:
        """Return equations that the loop is preceded by, and the values that are taken of these."""
        row = jx.Var(self.eqn.out_binders[0].aval)
        return [attrs.evolve(self.eqn, inputs=self.operands, out_binders=(row,))], [row]

    def read(self, row: jx.Var) -> list[jx.JaxprEqn]:
        """Return the equations that an iteration has in place of the product, with its row."""
        (out,), source = self.eqn.out_binders, self.eqn.source
        if self.mask is None:
            return _passed_on(row, self.eqn)
        mask, dims = self.mask
        where = jx.Var(mask.aval.with_shape(out.aval.shape))
        spread, zero = broadcast.BroadcastParams(out.aval.shape, dims), jx.zero_literal(out.aval)
        return [
            jx.JaxprEqn(broadcast.broadcast_in_dim_p, (mask,), spread, (where,), source),
            jx.JaxprEqn(ew.select_p, (where, row, zero), NO_PARAMS, (out,), source),
        ]


def _passed_on(row: jx.Var, eqn: jx.JaxprEqn) -> list[jx.JaxprEqn]:
    (out,) = eqn.out_binders
    return [jx.JaxprEqn(sh.reshape_p, (row,), sh.ReshapeParams(out.aval.shape), (out,), eqn.source)]


@attrs.frozen(eq=False)
class WindowSum:
    """A sum over a window whose bounds alone differ between iterations.

    Attributes:
        eqn: the sum, or the product of vectors.
        operands: the vectors.
        windows: the window of each vector.
    """

    eqn: jx.JaxprEqn
    operands: tuple[jx.Atom, ...]
    windows: tuple[windows.SummedWindow, ...]

    @classmethod
    def make(cls, loop: CountedLoop, eqn: jx.JaxprEqn, own: Set[jx.Atom]) -> WindowSum | None:
        """Return the sum of a window that an equation is; None where it is another.

        Args:
            loop: the loop.
            eqn: the equation.
            own: what differs between iterations.
        """
        if not (is_product(eqn) or eqn.primitive is broadcast.reduce_sum_p):
            return None
        (out,) = eqn.out_binders
        is_number = not out.aval.shape and out.aval.dtype.kind in "iufc"
        if not is_number or any(x.aval.ndim != 1 for x in eqn.inputs):
            return None
        operands: list[jx.Atom] = []
        bounds: list[windows.SummedWindow] = []
        for x in eqn.inputs:
            operand, window = windows.inside_window(loop.indices.definitions, x)
            operands.append(operand)
            bounds += [] if window is None else [window]
        if not bounds or not own.isdisjoint(operands):
            return None
        return cls(eqn, tuple(operands), tuple(bounds))

    def before(self) -> tuple[list[jx.JaxprEqn], list[jx.Atom]]:
        """Return equations that the loop is preceded by, and the values that are taken of these."""
        size = self.operands[0].aval.size
        bounds = [bound for window in self.windows for bound in window.bounds(size)]
        return [], [*self.operands, *bounds]

    def rows(self, outs: Sequence[Array], axes: Sequence[int | None], length: int) -> Array:
        """Return the sums of all iterations, from what the program before the loop gives."""
        n = len(self.operands)
        bounds = [
            sh.move_batch_axis(x, axis, 0, length)
            for x, axis in zip(outs[n:], axes[n:], strict=True)
        ]
        starts, stops = reduce(jnp.maximum, bounds[::2]), reduce(jnp.minimum, bounds[1::2])
        total = windows.sums(reduce(jnp.multiply, outs[:n]), starts, stops)
        (out,) = self.eqn.out_binders
        return ew.convert_element_type(total, out.aval.dtype, out.aval.weak_type)

    def read(self, row: jx.Var) -> list[jx.JaxprEqn]:
        """Return the equations that an iteration has in place of the sum, with its row."""
        return _passed_on(row, self.eqn)


def distributed(loop: CountedLoop) -> CountedLoop:
    """Return a loop that takes from rows what depends on no other iteration, and is long."""
    body = loop.body.jaxpr
    carried, own = [program_rules.dependents(body.eqns, x) for x in (loop.carry, loop.slices)]
    sums: list[Product | WindowSum] = []
    for eqn in body.eqns:
        if not own.isdisjoint(eqn.out_binders) and carried.isdisjoint(eqn.out_binders):
            window = WindowSum.make(loop, eqn, own)
            if window is not None:
                sums.append(window)
            elif is_product(eqn):
                sums.append(Product.make(loop, eqn))
    parts = [program_rules.independent_part(eqn, carried) for eqn in body.eqns]
    before = [eqn for eqn in parts if eqn is not None]
    constants = loop.constants
    eqns: list[jx.JaxprEqn] = []
    atoms_before: list[jx.Atom] = []
    counts: list[int] = []
    for part in sums:
        more, atoms = part.before()
        eqns += more
        atoms_before += atoms
        counts.append(len(atoms))
    whole = program_rules.dce(
        jx.Jaxpr((*constants, *loop.slices), (*before, *eqns), tuple(atoms_before))
    )
    is_plain = all(
        eqn.primitive.rules.evaluate is None and not jx.effects_of(eqn).any for eqn in whole.eqns
    )
    size = sum(
        [x.aval.size for eqn in whole.eqns for x in eqn.out_binders if x in own or eqn in eqns]
    )
    if not sums or not is_plain or loop.length * size > MOST_ELEMENTS:
        return loop
    axes = [None] * len(constants) + [0] * len(loop.rows)
    results, places = batched(whole, loop.length, [*loop.body.consts, *loop.rows], axes)
    rows: dict[jx.Var, Array] = {}
    reads: dict[tuple[jx.Var, ...], list[jx.JaxprEqn]] = {}
    at = 0
    for part, count in zip(sums, counts, strict=True):
        (out,) = part.eqn.out_binders
        row = jx.Var(out.aval)
        rows[row] = part.rows(results[at : at + count], places[at : at + count], loop.length)
        reads[part.eqn.out_binders] = part.read(row)
        at += count
    rest = [new for eqn in body.eqns for new in reads.get(eqn.out_binders, [eqn])]
    operands = (*constants, *loop.carry, *rows, *loop.slices)
    after = program_rules.dce(jx.Jaxpr(operands, tuple(rest), body.outs))
    staged = staging.Staged(after, loop.body.consts)
    return CountedLoop(staged, loop.state, (*rows.values(), *loop.rows), loop.length, loop.counted)

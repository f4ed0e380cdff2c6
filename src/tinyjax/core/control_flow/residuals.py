"""The residuals of a loop's iterations that the tangent map reads, and which of them are kept.

The residuals of all iterations are stacked, except those that need not be: constants, slices of
inputs, duplicates of another residual, and indices that are computed from counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from tinyjax import dtypes
from tinyjax.core.control_flow import common
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands
from tinyjax.core.control_flow.primitives import ScanParams
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import primitive as prim, program_rules
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, JaxprEqn, Lit, Var, subjaxprs
from tinyjax.core.transforms.linearize import LinearizedJaxpr
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array

#: In this dtype iterations are counted.
_COUNT: Final = dtypes.int32
#: Indices of so many elements are computed again.
_FEW: Final = 4096
#: Residuals that take fewer bytes in all iterations are kept in any case.
FEW_BYTES: Final = 65_536


@attrs.frozen(eq=False, repr=False)
class Residuals:
    """The residuals of a loop's iterations that the tangent map reads, and their sources.

    Attributes:
        body: the primal half of the body; after its results it returns the residuals to stack.
        constant: the numbers of the residuals that are the same in every iteration.
        values: these residuals.
        inputs: for each residual that is a slice of an input, the input's number.
        stacked: the numbers of the residuals that the body returns.
        repeated: for each residual that is equal to an earlier one, such as an index that is used
            twice, the number of the earlier one. Such residuals are in none of the other lists.
        recipe: computes the residuals that depend on counters alone.
        recipe_values: the operands of the loop that it takes: constants, and first values of
            counters.
    """

    body: LoopBody
    constant: Sequence[int]
    values: Sequence[Array]
    inputs: Mapping[int, int]
    stacked: Sequence[int]
    repeated: Mapping[int, int]
    recipe: Recipe | None
    recipe_values: tuple[Sequence[Array], Sequence[Array]]

    @classmethod
    def collect(cls, lin: LinearizedJaxpr, args: LoopOperands[Array], num_outs: int) -> Residuals:
        """Find them, of a body that was linearized, and the operands of the loop."""
        primal = LoopBody.closing_over(lin.primal, args)
        varying = primal.varying()
        slices: dict[Atom, int] = {x: i for i, x in enumerate(primal.binders.xs)}
        residuals, repeated = residuals_of(lin, num_outs), repeated_residuals(lin, num_outs)
        recipe = recipe_of(lin, primal, num_outs)
        again = set(recipe.numbers) if recipe else set[int]()
        inputs: dict[int, int] = {}
        constant: list[int] = []
        stacked: Sequence[int] = range(len(residuals))
        # in a nest there may be many, which most often are all stacked
        if (
            repeated
            or again
            or not (varying.issuperset(residuals) and slices.keys().isdisjoint(residuals))
        ):
            rest: list[int] = []
            for i, x in enumerate(residuals):
                if i in repeated or i in again:
                    continue
                if x in slices:
                    inputs[i] = slices[x]
                else:
                    (rest if x in varying else constant).append(i)
            stacked = rest
        at = residuals.__getitem__
        results = (*primal.jaxpr.outs[:num_outs], *map(at, stacked))
        stacking = attrs.evolve(primal, jaxpr=attrs.evolve(primal.jaxpr, outs=results))
        body, values = stacking.hoisted(varying, [*map(at, constant)], args.consts)
        operands = recipe.values(primal.closed, args) if recipe else ((), ())
        return cls(body, constant, values, inputs, stacked, repeated, recipe, operands)

    def read(
        self,
        lin: LinearizedJaxpr,
        args: LoopOperands[Array],
        stacks: Sequence[Array],
        params: ScanParams,
    ) -> tuple[LoopOperands[Var], LoopOperands[Array], Sequence[JaxprEqn], Mapping[Atom, Atom]]:
        """Return the sources of the residuals for an iteration of the tangent loop.

        Args:
            lin: the body, linearized.
            args: the operands of the loop.
            stacks: the results of its body besides the original ones.
            params: the parameters of the loop.

        Returns:
            Parameters of the tangent body; their operands in the tangent loop; equations that come
            first; and replacements of residuals that are not parameters.
        """
        binder, at = lin.tangent.in_binders.__getitem__, args.xs.__getitem__
        rows = [*map(binder, (*self.inputs, *self.stacked))]
        reading = LoopOperands([*map(binder, self.constant)], (), rows)
        values = LoopOperands(self.values, (), [*map(at, self.inputs.values()), *stacks])
        names: dict[Atom, Atom] = {binder(i): binder(first) for i, first in self.repeated.items()}
        recipe = self.recipe
        if recipe is None:
            return reading, values, (), names
        places = sh.iota((params.length,), _COUNT, 0)
        if params.reverse:
            places = ew.sub(sh.full_like(places, params.length - 1), places)
        fixed, starts = self.recipe_values
        varied = [*recipe.counted(starts, places), *map(at, recipe.inputs)]
        program, n = recipe.program, len(fixed)
        own = LoopOperands(program.in_binders[:n], (), program.in_binders[n:])
        again: dict[Atom, Atom] = dict(zip(map(binder, recipe.numbers), program.outs, strict=True))
        names = again | {x: again.get(first, first) for x, first in names.items()}
        return own + reading, LoopOperands(fixed, (), varied) + values, program.eqns, names


@attrs.frozen(eq=False, repr=False)
class Recipe:
    """A program that recomputes residuals from constants, counters and slices of inputs.

    Attributes:
        numbers: the numbers of the residuals.
        program: takes constants, counters, and slices.
        consts: the numbers of the constants, those that the body closes over first.
        counters: the numbers of the parts of the carry, and the increment of each per iteration.
        inputs: the numbers of the inputs.
    """

    numbers: Sequence[int]
    program: Jaxpr
    consts: Sequence[int]
    counters: Mapping[int, int]
    inputs: Sequence[int]

    def values(
        self, closed: Sequence[Array], args: LoopOperands[Array]
    ) -> tuple[Sequence[Array], Sequence[Array]]:
        """Return those of a loop's operands that the recipe takes: constants and first counters."""
        consts = [*closed, *args.consts]
        return [consts[i] for i in self.consts], [args.carry[i] for i in self.counters]

    def counted(self, starts: Sequence[Array], iterations: Array) -> list[Array]:
        """Return the counters after so many iterations."""
        counters: list[Array] = []
        for start, step in zip(starts, self.counters.values(), strict=True):
            (made,) = common.convert_all([iterations], [start.aval])
            distance = ew.mul(made, sh.full_like(made, step))
            counters.append(ew.add(broadcast_in_dim(start, made.shape, ()), distance))
        return counters


def recipe_of(lin: LinearizedJaxpr, primal: LoopBody, num_outs: int) -> Recipe | None:
    """Find which integers among the residuals need not be kept; None if there are none such."""
    sizes = primal.num_consts, primal.num_carry
    recipe: Recipe | None = lin.primal.jaxpr.derive(
        ("recipe", num_outs, *sizes), lambda: _recipe(lin, primal, num_outs)
    )
    return recipe


def _recipe(lin: LinearizedJaxpr, primal: LoopBody, num_outs: int) -> Recipe | None:
    jaxpr, binders = primal.jaxpr, primal.binders
    constants = jaxpr.in_binders[: primal.num_consts]  # first those that it closes over
    steps = steps_of(jaxpr, primal.num_consts, primal.num_carry)
    counters = {x: step for x, step in zip(binders.carry, steps, strict=True) if step}
    indices: set[Atom] = {x for x in (*constants, *counters) if _is_index(x) and not x.aval.shape}
    indices |= {x for x in binders.xs if _is_index(x)}
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if is_cheap(eqn) and all(isinstance(x, Lit) or x in indices for x in eqn.inputs):
            indices.update(eqn.out_binders)
            eqns.append(eqn)
    repeated, residuals = repeated_residuals(lin, num_outs), residuals_of(lin, num_outs)
    computed = indices.intersection(primal.varying()).difference(binders.xs)
    numbers = [i for i, x in enumerate(residuals) if x in computed and i not in repeated]
    if not numbers:
        return None
    outs = [residuals[i] for i in numbers]
    needed = program_rules.dce(Jaxpr(jaxpr.in_binders, tuple(eqns), tuple(outs)))
    used = {x for eqn in needed.eqns for x in eqn.inputs}.union(outs)
    consts, carry, xs = [
        [i for i, x in enumerate(part) if x in used]
        for part in (constants, binders.carry, binders.xs)
    ]
    taken = [
        *[constants[i] for i in consts],
        *[binders.carry[i] for i in carry],
        *[binders.xs[i] for i in xs],
    ]
    program = Jaxpr(tuple(taken), needed.eqns, tuple(outs))
    return Recipe(numbers, program, consts, {i: counters[binders.carry[i]] for i in carry}, xs)


def steps_of(jaxpr: Jaxpr, num_consts: int, num_carry: int) -> list[int | None]:
    """Return the increment of each part of the carry per iteration, where it is a constant."""
    makers = {eqn.out_binders[0]: eqn for eqn in jaxpr.eqns if eqn.primitive in (ew.add, ew.sub)}

    def step(binder: Var, out: Atom) -> int | None:
        if out is binder:
            return 0
        eqn = makers.get(out) if isinstance(out, Var) else None
        if eqn is None or not dtypes.is_integer(binder.aval.dtype):
            return None
        x, y = eqn.inputs
        if eqn.primitive is ew.add and y is binder:
            x, y = y, x
        if x is not binder or isinstance(y, Var) or y.aval.shape:
            return None
        by = int(opd.first_element(y.value.host))
        return by if eqn.primitive is ew.add else -by

    binders = jaxpr.in_binders[num_consts : num_consts + num_carry]
    return [step(binder, out) for binder, out in zip(binders, jaxpr.outs, strict=False)]


def _is_index(x: Var) -> bool:
    return dtypes.is_integer(x.aval.dtype)


def is_cheap(eqn: JaxprEqn) -> bool:
    """Return whether an equation computes a few integers or booleans, from its operands alone."""
    marks = eqn.primitive.rules.extensions
    dear = prim.MATERIALIZES in marks or prim.FLOPS in marks or eqn.primitive.effectful
    return (
        not dear
        and not subjaxprs(eqn.params)
        and all(
            (_is_index(out) or out.aval.dtype == dtypes.bool_)
            and type(out.aval.size) is int
            and out.aval.size <= _FEW
            for out in eqn.out_binders
        )
        and bool(eqn.out_binders)
    )


def repeated_residuals(lin: LinearizedJaxpr, num_outs: int) -> Mapping[int, int]:
    """Return of each residual that is equal to one before it that one's number."""

    def find() -> dict[int, int]:
        residuals = residuals_of(lin, num_outs)
        if len(residuals) < 2:
            return {}
        same = program_rules.equal_values(lin.primal.jaxpr)
        first: dict[Atom, int] = {}
        numbers = [first.setdefault(same.get(x, x), i) for i, x in enumerate(residuals)]
        return {i: number for i, number in enumerate(numbers) if number < i}

    repeats: dict[int, int] = lin.primal.jaxpr.derive(("repeated residuals", num_outs), find)
    return repeats


def are_large(lin: LinearizedJaxpr, iterations: int) -> bool:
    """Return whether the residuals of all iterations of a linearized body take many bytes."""
    sizes = [x.aval.nbytes for x in lin.tangent.in_binders[: len(lin.forwarded)]]
    is_known = all(type(n) is int for n in (*sizes, iterations))  # not symbolic
    return is_known and sum(sizes) * iterations >= FEW_BYTES


def residuals_of(lin: LinearizedJaxpr, num_outs: int) -> Sequence[Atom]:
    """Return the atoms of the primal half that the tangent map of a body reads."""
    primal, new = lin.primal.jaxpr, len(lin.primal.consts)
    computed = primal.outs[num_outs:]
    if len(computed) == len(lin.forwarded):
        return computed
    rest = iter(computed)
    return [next(rest) if i is None else primal.in_binders[new + i] for i in lin.forwarded]


def with_computed_indices(lin: LinearizedJaxpr) -> LinearizedJaxpr:
    """Return the halves of a program, of which the tangent map computes indices itself.

    Integers that the primal half computes from integers among its operands are no residuals then,
    but these operands are.
    """
    made: LinearizedJaxpr = lin.primal.jaxpr.derive(
        ("computed indices", lin.nonzero_out), lambda: _with_computed_indices(lin)
    )
    return made


def _with_computed_indices(lin: LinearizedJaxpr) -> LinearizedJaxpr:
    primal, tangent, num_outs = lin.primal.jaxpr, lin.tangent, len(lin.nonzero_out)
    parameters = primal.in_binders[len(lin.primal.consts) :]
    indices: set[Atom] = {x for x in parameters if _is_index(x) and not x.aval.shape}
    eqns: list[JaxprEqn] = []
    for eqn in primal.eqns:
        if is_cheap(eqn) and all(isinstance(x, Lit) or x in indices for x in eqn.inputs):
            indices.update(eqn.out_binders)
            eqns.append(eqn)
    computed = iter(primal.outs[num_outs:])
    outs: list[Atom] = [*primal.outs[:num_outs]]
    again: list[tuple[Var, Var]] = []  # an index of the primal half, and the tangent map's own
    binders: dict[Var, int | None] = {}
    for binder, at in zip(tangent.in_binders, lin.forwarded, strict=False):
        residual = None if at is not None else next(computed)
        if isinstance(residual, Var) and residual in indices.difference(parameters):
            again.append((residual, binder))
            continue
        binders[binder] = at
        if residual is not None:
            outs.append(residual)
    if not again:
        return lin
    operands = {at: binder for binder, at in binders.items() if at is not None}
    new: list[JaxprEqn] = []
    for residual, binder in again:
        needed = program_rules.dce(Jaxpr(parameters, tuple(eqns), (residual,)))
        used = {x for eqn in needed.eqns for x in eqn.inputs}
        for at, x in enumerate(parameters):
            if x in used and at not in operands:
                operands[at] = Var(x.aval)
                binders[operands[at]] = at
        own = [operands.get(at, x) for at, x in enumerate(parameters)]
        new += program_rules.defining(needed, own, [binder])
    rest = tangent.in_binders[len(lin.forwarded) :]
    return attrs.evolve(
        lin,
        primal=attrs.evolve(lin.primal, jaxpr=attrs.evolve(primal, outs=tuple(outs))),
        tangent=Jaxpr((*binders, *rest), (*new, *tangent.eqns), tangent.outs),
        forwarded=tuple(binders.values()),
    )

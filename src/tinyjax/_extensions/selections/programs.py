"""Masks that cross the borders of programs: of calls, loops and conditionals.

The program is changed at its borders: it takes a second operand beside each linear operand, and
returns a second result beside each linear result. The transpose rule of the primitive, which knows
nothing of masks, passes on their cotangents. These are the masks, as numbers: zero where nothing
was selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import attrs

from tinyjax import dtypes
from tinyjax._extensions.selections.masks import Mask, as_mask, as_number, carries, is_divided
from tinyjax._primitives import linear_maps
from tinyjax.core import jit
from tinyjax.core.control_flow.primitives import cond_p, scan_p
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.rules import instantiate_all
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.values import Array, avals as av, operands as opd

T = TypeVar("T")
U = TypeVar("U")

#: At the borders of a program: of two operands the first is what the program takes, and of two
#: results the first is what it gives. They are transposed alone, by ``MaskedTransposer``.
enter_p: Final[prim.Primitive[prim.NoParams]] = prim.Primitive(
    "enter_with_mask", prim.NoParams, selects=True
)
leave_p: Final[prim.Primitive[prim.NoParams]] = prim.Primitive(
    "leave_with_mask", prim.NoParams, selects=True
)


def of_its_sizes(eqn: jx.JaxprEqn) -> jx.JaxprEqn:
    """Return a call of a program for all sizes as one for its own, which masks cross."""
    if eqn.primitive.name != "padded":
        return eqn
    params = eqn.params
    program: jx.Jaxpr = eqn.primitive.rule(program_rules.EVALUATED)(params)
    call = jit.JitParams(program, params.name, (), params.tier, params.flags)
    return attrs.evolve(eqn, primitive=jit.jit_p, params=call)


def may_be_crossed(eqn: jx.JaxprEqn) -> bool:
    """Return whether masks cross the borders of an equation's programs."""
    rules = eqn.primitive.rules.extensions
    is_known = eqn.primitive in (cond_p, scan_p) or program_rules.CALLED in rules
    if is_divided(eqn):
        specs = (*eqn.params.in_specs, *eqn.params.out_specs)
        is_known = not any(spec.unreduced or spec.reduced for spec in specs)
    if not is_known and _masked(eqn) is None:
        return False
    places = [x.aval.where for x in (*eqn.inputs, *eqn.out_binders)]
    # of a sum of which each device has a part no number is a mask
    return all(where is None or where == where.cotangent() for where in places)


def _masked(eqn: jx.JaxprEqn) -> linear_maps.MaskedPullBack | None:
    """Return the transpose with masks of a map that runs a program again, such as a loop's."""
    params = eqn.params
    return params.masked if isinstance(params, linear_maps.LinearMapParams) else None


def selects(eqn: jx.JaxprEqn) -> bool:
    """Return whether an equation selects, or a program that masks cross."""
    masked = _masked(eqn)
    return (
        program_rules.selects(eqn) if masked is None else program_rules.selects_within(masked.body)
    )


def escaping(eqn: jx.JaxprEqn) -> Sequence[bool]:
    """Return the mask of a program's operands that may have masks though its results have none."""
    masked = _masked(eqn)
    if masked is not None:
        escapes = _escaping(masked.body)
        of_linear = prim.marked(escapes[len(escapes) - len(masked.linear) :], masked.linear)
        return [*[False] * (len(eqn.inputs) - len(of_linear)), *of_linear]
    columns = zip(*map(_escaping, jx.subjaxprs(eqn.params)), strict=True)
    found = [any(column) for column in columns]
    return [False, *found] if eqn.primitive is cond_p else found


def _escaping(jaxpr: jx.Jaxpr) -> tuple[bool, ...]:
    def find() -> tuple[bool, ...]:
        marked, bare = set[jx.Atom](), set(jaxpr.outs)
        for eqn in reversed(jaxpr.eqns):
            crossed = may_be_crossed(eqn)
            if eqn.primitive is ew.select_p or (
                (crossed or carries(eqn)) and not (marked - bare).isdisjoint(eqn.out_binders)
            ):
                marked.update(eqn.inputs)
            elif crossed:
                for x, has_mask in zip(eqn.inputs, escaping(eqn), strict=True):
                    (marked if has_mask else bare).add(x)
            else:
                bare.update(eqn.inputs)
        return tuple([var in marked and var not in bare for var in jaxpr.in_binders])

    return jaxpr.derive("escaping_masks", find)


def goes_round(eqn: jx.JaxprEqn) -> bool:
    """Return whether masks may go from an iteration of a loop to the one before."""
    if _masked(eqn) is not None:
        return any(escaping(eqn))
    if eqn.primitive is not scan_p:
        return False
    return any(eqn.params.loop_body.operands(escaping(eqn)).carry)


def apply_crossed(
    eqn: jx.JaxprEqn,
    cotangents: prim.Tangents,
    operands: prim.Operands,
    masks: Sequence[Mask | None],
    rule: prim.ApplyTranspose,
) -> tuple[Sequence[prim.Tangent | None], Sequence[Mask | None]]:
    """Apply the transpose rule of an equation whose programs masks cross.

    Args:
        eqn: the equation.
        cotangents: the cotangents of its results.
        operands: its operands.
        masks: the masks of its results.
        rule: applies the rules of equations.

    Returns:
        The cotangents of the operands, and the masks of these.
    """
    params = eqn.params
    masked = _masked(eqn)
    if masked is not None:
        return _pulled_back(masked, eqn, cotangents, operands, masks)
    linear = prim.are_undefined(operands)
    reached = program_rules.dependent_results(eqn, prim.marked(eqn.inputs, linear))
    depend = tuple([var in reached for var in eqn.out_binders])
    sizes_in: Sequence[int] = (len(operands),)
    sizes_out: Sequence[int] = (len(cotangents),)
    if eqn.primitive is scan_p:
        k, m = params.num_consts, params.num_carry
        # what starts from a known value is linear where it meets linear values later
        marks = params.loop_body.operands(linear)
        linear = (*marks.consts, *depend[:m], *marks.xs)
        sizes_in, sizes_out = (k, m, len(marks.xs)), (m, len(cotangents) - m)
        counts = {"num_consts": k + sum(marks.consts), "num_carry": m + sum(depend[:m])}
        (program,) = _bordered(eqn, linear, depend, sizes_in, sizes_out)
        params = attrs.evolve(params, jaxpr=program, **counts)
    elif eqn.primitive is cond_p:
        programs = _bordered(eqn, linear[1:], depend, (len(operands) - 1,), sizes_out)
        params = eqn.primitive.rule(program_rules.CHOICE)(tuple(programs))
    elif is_divided(eqn):
        (program,) = _bordered(eqn, linear, depend, sizes_in, sizes_out)
        in_specs = (*params.in_specs, *prim.marked(params.in_specs, linear))
        out_specs = (*params.out_specs, *prim.marked(params.out_specs, depend))
        params = attrs.evolve(params, jaxpr=program, in_specs=in_specs, out_specs=out_specs)
    else:
        (program,) = _bordered(eqn, linear, depend, sizes_in, sizes_out)
        params = eqn.primitive.rule(program_rules.CALLED)(params, program)
    crossed = attrs.evolve(
        eqn,
        params=params,
        inputs=_paired(eqn.inputs, _numbers(eqn.inputs, linear), sizes_in),
        out_binders=_paired(eqn.out_binders, _numbers(eqn.out_binders, depend), sizes_out),
    )
    numbers = [
        None if not has_mask else ct if isinstance(ct, prim.ZeroTangent) else as_number(mask, ct)
        for ct, mask, has_mask in zip(cotangents, masks, depend, strict=True)
    ]
    others = [
        _number_of(x) if has_mask else None for x, has_mask in zip(operands, linear, strict=True)
    ]
    results = rule(
        crossed, _paired(cotangents, numbers, sizes_out), _paired(operands, others, sizes_in)
    )
    places = _paired(
        range(len(operands)), [-1 - i if m else None for i, m in enumerate(linear)], sizes_in
    )
    by_place = dict(zip(places, results, strict=True))
    return [by_place[i] for i in range(len(operands))], [
        as_mask(by_place.get(-1 - i)) for i in range(len(operands))
    ]


def _pulled_back(
    masked: linear_maps.MaskedPullBack,
    eqn: jx.JaxprEqn,
    cotangents: prim.Tangents,
    operands: prim.Operands,
    masks: Sequence[Mask | None],
) -> tuple[Sequence[prim.Tangent | None], Sequence[Mask | None]]:
    """Apply a transpose that takes masks itself; the arguments are those of ``apply_crossed``."""
    n, count = eqn.params.num_residuals, sum(masked.sizes_in)
    cts = instantiate_all(cotangents, [var.aval.cotangent() for var in eqn.out_binders])
    numbers = [
        opd.splat(0, _number(x.aval)) if ct is prim.ZERO else as_number(mask, x)
        for x, ct, mask in zip(cts, cotangents, masks, strict=True)
    ]
    results = masked.pull(*prim.defined(operands[:n]), *_paired(cts, numbers, masked.sizes_out))
    places = _paired(range(count), [-1 - i for i in range(count)], masked.sizes_in)
    by_place = dict(zip(places, results, strict=True))
    return [*[None] * n, *[by_place[i] for i in range(count)]], [
        *[None] * n,
        *[as_mask(by_place[-1 - i]) for i in range(count)],
    ]


def with_masks(
    avals: Sequence[av.ShapedArray],
) -> tuple[av.ShapedArray, ...]:
    """Return types of linear values, and behind them those of their masks."""
    return (*avals, *map(_number, avals))


def _bordered(
    eqn: jx.JaxprEqn,
    linear: tuple[bool, ...],
    depend: tuple[bool, ...],
    sizes_in: Sequence[int],
    sizes_out: Sequence[int],
) -> list[jx.Jaxpr]:
    """Return the programs of an equation with masks at their borders.

    Args:
        eqn: the equation.
        linear: the parameters that have masks.
        depend: the results that have masks.
        sizes_in: the number of parameters in each group; their masks follow these.
        sizes_out: the number of results in each group, likewise.
    """
    return [
        bordered(jaxpr, linear, depend, sizes_in, sizes_out) for jaxpr in jx.subjaxprs(eqn.params)
    ]


def bordered(
    jaxpr: jx.Jaxpr,
    linear: tuple[bool, ...],
    depend: tuple[bool, ...],
    sizes_in: Sequence[int],
    sizes_out: Sequence[int],
) -> jx.Jaxpr:
    """Return a program with masks at its borders; the arguments are those of ``_bordered``."""

    def make() -> jx.Jaxpr:
        binders = [
            jx.Var(v.aval) if m else v for v, m in zip(jaxpr.in_binders, linear, strict=True)
        ]
        numbers = _numbers(binders, linear)
        eqns = [
            jx.JaxprEqn(enter_p, (outer, number), prim.NO_PARAMS, (v,))
            for v, outer, number in zip(jaxpr.in_binders, binders, numbers, strict=True)
            if number is not None
        ]
        eqns += jaxpr.eqns
        reached = program_rules.dependents(jaxpr.eqns, prim.marked(jaxpr.in_binders, linear))
        outs: list[jx.Atom] = []
        out_numbers: list[jx.Atom | None] = []
        for x, has_mask in zip(jaxpr.outs, depend, strict=True):
            out, number = jx.Var(x.aval), jx.Var(_number(x.aval))
            if x in reached:
                eqns.append(jx.JaxprEqn(leave_p, (x,), prim.NO_PARAMS, (out, number)))
            outs.append(out if x in reached else x)
            zero = jx.zero_literal(number.aval) if has_mask else None
            out_numbers.append(number if x in reached else zero)
        return jx.Jaxpr(
            _paired(binders, numbers, sizes_in), tuple(eqns), _paired(outs, out_numbers, sizes_out)
        )

    return jaxpr.derive(("masks", linear, depend, tuple(sizes_in)), make)


def _number(aval: av.ShapedArray) -> av.ShapedArray:
    """Return the type of a mask as numbers."""
    return aval.with_dtype(dtypes.float32)


def _numbers(atoms: Sequence[jx.Atom], marks: Sequence[bool]) -> list[jx.Var | None]:
    """Return variables for the masks of those that are marked."""
    return [jx.Var(_number(x.aval)) if m else None for x, m in zip(atoms, marks, strict=True)]


def _number_of(operand: Array | prim.UndefinedPrimal) -> Array | prim.UndefinedPrimal:
    aval = _number(operand.aval)
    return opd.splat(0, aval) if isinstance(operand, Array) else prim.UndefinedPrimal(aval)


def _paired(
    values: Sequence[T], numbers: Sequence[U | None], sizes: Sequence[int]
) -> tuple[T | U, ...]:
    """Put the masks, if there are any, after each group of values."""
    paired: list[T | U] = []
    for size in sizes:
        paired += values[:size]
        paired += [number for number in numbers[:size] if number is not None]
        values, numbers = values[size:], numbers[size:]
    return tuple(paired)

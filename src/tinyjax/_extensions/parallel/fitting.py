"""Programs for operands that vary between devices, or that these share.

Programs in the parameters of a primitive are staged again for such operands (``refit``). The
primitive's rule determines which values vary, for instance in a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from tinyjax import errors
from tinyjax._extensions.parallel import collective, types
from tinyjax._extensions.parallel.mesh_rule import axes_of, check_reached, is_checked, joined, union
from tinyjax._extensions.parallel.types import SHARING, Axes, Share, with_varying
from tinyjax.core.tracing import jaxpr as jx, staging
from tinyjax.core.values import Array, avals as av, operands as opd


def refit(jaxpr: jx.Jaxpr, ins: Sequence[Axes], outs: Sequence[Axes] = ()) -> jx.Jaxpr:
    """Return the same program for parameters that vary along other axes.

    Args:
        jaxpr: the program.
        ins: the axes along which its parameters vary.
        outs: axes along which its results must vary at least; all of them, or the first ones.
    """
    targets, least = tuple(ins), (*outs, *[av.NOWHERE] * (len(jaxpr.outs) - len(outs)))
    if targets == axes_of(jaxpr.in_avals) and all(
        axes <= types.across(aval) for axes, aval in zip(least, jaxpr.out_avals, strict=True)
    ):
        return jaxpr

    def make() -> jx.Jaxpr:
        avals = [with_varying(a, axes) for a, axes in zip(jaxpr.in_avals, targets, strict=True)]

        def run(*args: Array) -> list[Array]:
            results = jx.eval_jaxpr(jaxpr, args)
            return [lifted(x, axes) for x, axes in zip(results, least, strict=True)]

        staged = staging.stage(run, avals)
        assert not staged.consts, "a program is closed"
        program = staged.jaxpr
        # numbers are printed with the types that they must have
        typed = tuple([varied(x, axes) for x, axes in zip(program.outs, least, strict=True)])
        return jx.Jaxpr(program.in_binders, program.eqns, typed)

    return jaxpr.derive(("refit", targets, least, is_checked()), make)


def lifted(x: Array, axes: Axes) -> Array:
    """Return a value that varies along axes; a number stays as it is, printed with its type."""
    return x if opd.is_splat(x) else collective.sharing(x, axes)


def varied(x: jx.Atom, axes: Axes) -> jx.Atom:
    """Emit a result with its required type: a number varies, or is shared, as required."""
    if isinstance(x, jx.Var) or axes <= types.across(x.aval):
        return x
    if axes in SHARING and x.value.host.any():
        summed = [share for share in axes if isinstance(share, Share) and share.letter == "U"]
        if summed:
            number = opd.first_element(x.value.host)
            raise errors.ShardingError(
                f"the number {number} is to be a sum of which each device along "
                f"{summed[0].name!r} has a part. Make it one by lax.pcast, to='varying' first "
                "and then to='unreduced': devices' numbers are added."
            )
    return jx.Lit(x.value, with_varying(x.aval, union((types.across(x.aval), axes))))


def fitted(jaxpr: jx.Jaxpr, across: Sequence[Axes]) -> tuple[tuple[Axes, ...], jx.Jaxpr]:
    """Return a program for operands, and the axes along which they must vary for it."""
    targets = joined(axes_of(jaxpr.in_avals), across)
    return targets, refit(jaxpr, targets)


# Rules of primitives that hold programs


def fit_call(params: Any, across: Sequence[Axes]) -> tuple[Sequence[Axes], Any]:
    """Fit the one program in the parameters to operands that vary between devices."""
    targets, jaxpr = fitted(params.jaxpr, across)
    return targets, params if jaxpr is params.jaxpr else attrs.evolve(params, jaxpr=jaxpr)


def fit_cond(params: Any, across: Sequence[Axes]) -> tuple[Sequence[Axes], Any]:
    """Fit the branches of a ``cond``."""
    index, *rest = across
    # Values that vary as the index does before the conditional need not be summed, in reverse mode,
    # after it: not all devices come there.
    operands = tuple([axes | index for axes in rest])
    for branch in params.branches:
        operands = joined(operands, axes_of(branch.in_avals))
    branches = [refit(branch, operands) for branch in params.branches]
    outs = tuple([index] * len(branches[0].outs))
    for branch in branches:
        check_reached(branch, index, "a branch of cond")
        outs = joined(outs, axes_of(branch.out_avals))
    branches = [refit(branch, operands, outs) for branch in branches]
    return (index, *operands), attrs.evolve(params, branches=tuple(branches))


def fit_scan(params: Any, across: Sequence[Axes]) -> tuple[Sequence[Axes], Any]:
    """Fit the body of a ``scan``."""
    targets, jaxpr = fitted(params.jaxpr, across)
    while True:
        operands = params.loop_body.operands(targets)
        after = joined(operands.carry, params.loop_body.results(axes_of(jaxpr.out_avals)).carry)
        if after == operands.carry:
            break
        targets = (*operands.consts, *after, *operands.xs)
        jaxpr = refit(jaxpr, targets)
    return targets, attrs.evolve(params, jaxpr=refit(jaxpr, targets, operands.carry))


def fit_while(params: Any, across: Sequence[Axes]) -> tuple[Sequence[Axes], Any]:
    """Fit the two programs of a ``while_loop``."""
    n, m = params.num_condition, params.num_body
    fixed, operands = params.operands(across)
    condition, body = params.condition, params.body
    targets = joined(axes_of(body.in_avals), operands.flat)
    while True:
        of_condition, condition = fitted(condition, [*fixed, *targets[m:]])
        (goes_on,) = axes_of(condition.out_avals)
        body = refit(body, targets)
        # as for the operands of cond
        after = tuple([axes | goes_on for axes in targets])
        after = (*after[:m], *joined(joined(after[m:], of_condition[n:]), axes_of(body.out_avals)))
        if after == targets:
            break
        targets = after
    for program in (condition, body):
        check_reached(program, goes_on, "a while_loop")
    body = refit(body, targets, targets[m:])
    changed = attrs.evolve(params, condition=condition, body=body)
    return (*of_condition[:n], *targets), changed


def fit_linear_map(params: Any, across: Sequence[Axes]) -> tuple[Sequence[Axes], Any]:
    """Fit a linear map and its transpose to each other."""
    n, forward, backward = params.num_residuals, params.forward, params.backward
    targets = joined(axes_of(forward.in_avals), across)
    while True:  # until the operands vary along the axes along which their cotangents do
        forward = refit(forward, targets)
        backward = refit(backward, [*targets[:n], *axes_of(forward.out_avals)])
        after = joined(targets[n:], axes_of(backward.out_avals))
        if after == targets[n:]:
            return targets, attrs.evolve(params, forward=forward, backward=backward)
        targets = (*targets[:n], *after)

"""Programs that return what fails in them: the transformation behind ``checkify``.

A program is rewritten, equation by equation. The new one has the same parameters; after the results
it returns a code, 0 or the number of the first site that failed, and the values of every site's
message. Programs inside equations are rewritten in turn: a call returns its code, the branches of a
``cond`` share their numbers, and a loop carries the code of the first iteration that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

import attrs

from tinyjax import dtypes
from tinyjax.core.control_flow import primitives as cfp
from tinyjax.core.control_flow.common import contains
from tinyjax.core.primitives import broadcast as bc, elementwise as ew, identities, shape as sh
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules as pr, trace as tr
from tinyjax.core.tracing.primitive import (
    Primitive,
    RuleKey,
    Tangent,
    nonzeros,
    present,
    with_zeros,
)
from tinyjax.core.tracing.program_rules import CALLED, CHOICE
from tinyjax.core.tracing.staging import stage
from tinyjax.core.values.array import Array
from tinyjax.custom_derivatives.custom_calls import ClosedJvp, custom_call_p
from tinyjax.experimental.checkify.sites import Category, Site, check_p
from tinyjax.parallel.program_keys import FIRST_CODE, RECORDED_IN

#: What can fail in an equation: of the equation, its operands and its results, a site, whether it
#: failed, and the values of its message.
Finding = tuple[Site, Array, Sequence[Array]]
ChecksRule = Callable[[jx.JaxprEqn, Sequence[Array], Sequence[Array]], Sequence[Finding]]
CHECKS: Final[dict[Category, RuleKey[ChecksRule]]] = {
    category: RuleKey(f"{category.value} checks") for category in Category
}


@attrs.frozen(eq=False)
class Discharged:
    """A program that returns what fails in it, and the sites that its codes number from 1."""

    jaxpr: jx.Jaxpr
    sites: tuple[Site, ...]


@attrs.define(eq=False)
class Outcome:
    """The code of the first site that failed so far, and the values of the sites so far."""

    code: Array = attrs.field(factory=lambda: sh.full((), 0, dtypes.int32))
    sites: list[Site] = attrs.field(factory=list)
    values: list[Array] = attrs.field(factory=list)

    def add(self, site: Site, failed: Array, values: Sequence[Array]) -> None:
        """Note one more site."""
        self.sites.append(site)
        self.values.extend(map(identities.stop_gradient, values))
        number = sh.full((), len(self.sites), dtypes.int32)
        self.code = ew.select(ew.and_(failed, _none(self.code)), number, self.code)

    def extend(self, sites: Sequence[Site], code: Array, values: Sequence[Array]) -> None:
        """Note the sites of a program that was run."""
        shifted = _shifted(code, len(self.sites))
        self.sites.extend(sites)
        self.values.extend(values)
        self.code = ew.select(_none(self.code), shifted, self.code)


def _none(code: Array) -> Array:
    return ew.eq(code, sh.full_like(code, 0))


def _shifted(code: Array, by: int) -> Array:
    """Number sites from another one on."""
    return ew.select(_none(code), code, ew.add(code, sh.full_like(code, by))) if by else code


def discharge(jaxpr: jx.Jaxpr, enabled: frozenset[Category]) -> Discharged:
    """Rewrite a program so that it returns what fails in it.

    Args:
        jaxpr: the program.
        enabled: what to look for.
    """
    return jaxpr.derive(("checkify", enabled), lambda: _discharge(jaxpr, enabled))


def _discharge(jaxpr: jx.Jaxpr, enabled: frozenset[Category]) -> Discharged:
    sites: list[Site] = []

    def run(*args: Array) -> list[Array]:
        outcome = Outcome()
        env: dict[jx.Var, Array] = dict(zip(jaxpr.in_binders, args, strict=True))

        def read(x: jx.Var | jx.Lit) -> Array:
            return x.value if isinstance(x, jx.Lit) else env[x]

        before = tr.evaluated_source()
        try:
            for eqn in jaxpr.eqns:
                if eqn.source is not None:
                    tr.set_evaluated_source(eqn.source)
                outs = _run(eqn, [read(x) for x in eqn.inputs], enabled, outcome)
                env.update(zip(eqn.out_binders, outs, strict=True))
        finally:
            tr.set_evaluated_source(before)
        sites.extend(outcome.sites)
        return [*map(read, jaxpr.outs), outcome.code, *outcome.values]

    staged = stage(run, jaxpr.in_avals)
    assert not staged.consts, "nothing but the program's own values takes part"
    return Discharged(staged.jaxpr, tuple(sites))


def _run(
    eqn: jx.JaxprEqn, args: Sequence[Array], enabled: frozenset[Category], outcome: Outcome
) -> Sequence[Array]:
    """Run one equation, and note what fails in it."""
    primitive, params = eqn.primitive, eqn.params
    if primitive is check_p:
        if params.site.category in enabled:
            outcome.add(params.site, ew.not_(args[0]), args[1:])
        return ()
    if jx.subjaxprs(params):
        recorded = primitive.rules.extensions.get(RECORDED_IN)
        with nullcontext() if recorded is None else recorded(attrs.asdict(params, recurse=False)):
            inner = [discharge(program, enabled) for program in jx.subjaxprs(params)]
        has_checks = any(contains(program, "check") for program in jx.subjaxprs(params))
        if has_checks or any(program.sites for program in inner):
            held = _holder(primitive)
            if held is not None:
                return held(eqn, args, inner, outcome)
    outs = tr.bind(primitive, args, params)
    for category, key in CHECKS.items():
        if category in enabled and key in primitive.rules.extensions:
            for finding in primitive.rule(key)(eqn, args, outs):
                outcome.add(*finding)
    return outs


Holder = Callable[[jx.JaxprEqn, Sequence[Array], Sequence[Discharged], Outcome], Sequence[Array]]


def _holder(primitive: Primitive[Any]) -> Holder | None:
    """How an equation is run that holds programs; None where they are not looked into."""
    if primitive is cfp.scan_p:
        return _run_scan
    if primitive is cfp.while_p:
        return _run_while
    if CALLED in primitive.rules.extensions:
        return _run_call
    if CHOICE in primitive.rules.extensions:
        return _run_choice
    if FIRST_CODE in primitive.rules.extensions:
        return _run_on_devices
    return _run_custom if primitive is custom_call_p else None


def _run_call(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: Outcome
) -> Sequence[Array]:
    (program,) = inner
    rebuild = eqn.primitive.rule(CALLED)
    outs = tr.bind(eqn.primitive, args, rebuild(eqn.params, program.jaxpr))
    return _take(outs, len(eqn.out_binders), program.sites, outcome)


def _run_on_devices(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: Outcome
) -> Sequence[Array]:
    (program,) = inner
    count = len(eqn.out_binders)
    outs = eqn.primitive.rule(FIRST_CODE)(eqn.params, args, program.jaxpr, count)
    return _take(outs, count, program.sites, outcome)


def _run_custom(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: Outcome
) -> Sequence[Array]:
    """Call a function with a rule of its own, and find what fails in it beside the call.

    The two computations are one again once they are compiled.
    """
    (program,) = inner
    count = len(eqn.out_binders)
    results = jx.eval_jaxpr(program.jaxpr, args)
    if jx.effects(program.jaxpr).any:  # which happen once
        return _take(results, count, program.sites, outcome)
    _take([identities.stop_gradient(x) for x in results], count, program.sites, outcome)
    unchecked = pr.dce(program.jaxpr, [i < count for i in range(len(results))])
    rule = eqn.params.rule
    if rule.jvp is not None:
        rule = attrs.evolve(rule, jvp=_without_checks(rule.jvp))
    return tr.bind(custom_call_p, args, attrs.evolve(eqn.params, jaxpr=unchecked, rule=rule))


def _without_checks(jvp: ClosedJvp) -> ClosedJvp:
    """A rule that makes no checks of its own; those of its function are made beside the call."""

    def rule(
        consts: Sequence[Array], primals: Sequence[Array], tangents: Sequence[Tangent]
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        nonzero = nonzeros(tangents)
        nonzero_out: list[bool] = []

        def run(*values: Array) -> list[Array]:
            first, second, moved = prim.split_list(values, len(consts), len(primals))
            outs, out_tangents = jvp(first, second, with_zeros(nonzero, moved))
            nonzero_out[:] = nonzeros(out_tangents)
            return [*outs, *present(out_tangents)]

        operands = [*consts, *primals, *present(tangents)]
        staged = stage(run, [x.aval for x in operands])
        program = discharge(staged.jaxpr, frozenset()).jaxpr
        results = jx.eval_jaxpr(program, [*staged.consts, *operands])
        outs, out_tangents, _ = prim.split_list(results, len(nonzero_out), sum(nonzero_out))
        return outs, with_zeros(nonzero_out, out_tangents)

    return rule


def _take(
    outs: Sequence[Array], count: int, sites: Sequence[Site], outcome: Outcome
) -> Sequence[Array]:
    """Note what a program returned besides its results, and return these."""
    results, (code,), values = prim.split_list(outs, count, 1)
    outcome.extend(sites, code, values)
    return results


def _run_choice(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: Outcome
) -> Sequence[Array]:
    sites = [site for program in inner for site in program.sites]
    count, start = len(eqn.out_binders), 0
    branches: list[jx.Jaxpr] = []
    for program in inner:
        first, before = start, sites[:start]
        after = sites[start + len(program.sites) :]
        start += len(program.sites)

        def run(
            *operands: Array,
            program: Discharged = program,
            first: int = first,
            before: Sequence[Site] = before,
            after: Sequence[Site] = after,
        ) -> list[Array]:
            outs = jx.eval_jaxpr(program.jaxpr, operands)
            results, (code,), values = prim.split_list(outs, count, 1)
            return [*results, _shifted(code, first), *_zeros(before), *values, *_zeros(after)]

        branches.append(stage(run, program.jaxpr.in_avals).jaxpr)
    params = eqn.primitive.rule(CHOICE)(tuple(branches))
    return _take(tr.bind(eqn.primitive, args, params), count, sites, outcome)


def _zeros(sites: Sequence[Site]) -> list[Array]:
    return [sh.full(aval.shape, 0, aval.dtype) for site in sites for aval in site.avals]


def _first(state: Sequence[Array], later: Sequence[Array]) -> list[Array]:
    """Keep the code and the values of what failed first."""
    keep = ew.gt(state[0], sh.full_like(state[0], 0))
    return [
        ew.select(bc.broadcast_in_dim(keep, x.shape, ()), x, y)
        for x, y in zip(state, later, strict=True)
    ]


def _start(sites: Sequence[Site]) -> list[Array]:
    return [sh.full((), 0, dtypes.int32), *_zeros(sites)]


def _run_scan(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: Outcome
) -> Sequence[Array]:
    (program,), params = inner, eqn.params
    start = _start(program.sites)
    consts, carry, xs = prim.split_list(args, params.num_consts, params.num_carry)
    slices = program.jaxpr.in_avals[len(consts) + len(carry) :]

    def iteration(*operands: Array) -> list[Array]:
        fixed, before, state, x = prim.split_list(operands, len(consts), len(carry), len(start))
        outs = jx.eval_jaxpr(program.jaxpr, [*fixed, *before, *x])
        after, ys, later = prim.split_list(outs, len(carry), len(params.jaxpr.outs) - len(carry))
        return [*after, *_first(state, later), *ys]

    avals = [*program.jaxpr.in_avals[: len(consts) + len(carry)], *(x.aval for x in start), *slices]
    body = stage(iteration, avals).jaxpr
    outs = cfp.bind_scan(body, consts, [*carry, *start], xs, params)
    last, state, ys = prim.split_list(outs, len(carry), len(start))
    outcome.extend(program.sites, state[0], state[1:])
    return [*last, *ys]


def _run_while(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: Outcome
) -> Sequence[Array]:
    (condition, body), params = inner, eqn.params
    fixed, other, first = prim.split_list(args, params.num_condition, params.num_body)
    # the condition is looked at before the loop, and after each iteration
    _, *at_first = jx.eval_jaxpr(condition.jaxpr, [*fixed, *first])
    sites = [*condition.sites, *body.sites]
    state = [*at_first, *_zeros(body.sites)]
    n, m, k = len(fixed), len(other), len(first)

    def iteration(*operands: Array) -> list[Array]:
        fixed_, other_, before, failed = prim.split_list(operands, n, m, k)
        after, (code,), values = prim.split_list(
            jx.eval_jaxpr(body.jaxpr, [*other_, *before]), k, 1
        )
        shifted = _shifted(code, len(condition.sites))
        failed = _first(failed, [shifted, *_zeros(condition.sites), *values])
        _, *later = jx.eval_jaxpr(condition.jaxpr, [*fixed_, *after])
        return [*after, *_first(failed, [*later, *_zeros(body.sites)])]

    def goes_on(*operands: Array) -> list[Array]:
        return jx.eval_jaxpr(condition.jaxpr, operands[: n + k])[:1]

    carried = [*params.body.in_avals[m:], *(x.aval for x in state)]
    others = [x.aval for x in (*fixed, *other)]
    outs = cfp.bind_while(
        stage(goes_on, [*others[:n], *carried]).jaxpr,
        fixed,
        stage(iteration, [*others, *carried]).jaxpr,
        [*fixed, *other],
        [*first, *state],
        params.checkpoints,
    )
    last, (code,), values = prim.split_list(outs, k, 1)
    outcome.extend(sites, code, values)
    return last

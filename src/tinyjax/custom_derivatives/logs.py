"""Logs of rules in a backward pass: collected as cotangents of additional arguments.

A rule that logs returns its logs after the cotangents of its operands. To collect them, the
equation of its tangent map gets an operand for each, whose cotangent then is the log. The programs
around it get parameters for these operands: a loop gets one with a slice for each iteration. The
backward pass itself knows nothing of logs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax.core.api.pullbacks import GradValue, PullBack
from tinyjax.core.control_flow.primitives import CondParams, ScanParams
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, staging
from tinyjax.core.tracing.watching import watched
from tinyjax.custom_derivatives.custom_calls import PullBackParams


@attrs.frozen
class _Tapped:
    """A tangent map with a parameter for each array that its transpose logs.

    Attributes:
        jaxpr: the program; the parameters come last.
        logs: the dict of trees of logs, with their types for arrays.
    """

    jaxpr: jx.Jaxpr
    logs: dict[str, Any]


def _tapped(jaxpr: jx.Jaxpr) -> _Tapped:
    return jaxpr.derive("logs", lambda: _tap(jaxpr))


def _tap(jaxpr: jx.Jaxpr) -> _Tapped:
    taps: dict[str, Any] = {}
    eqns: list[jx.JaxprEqn] = []
    for eqn in jaxpr.eqns:
        logs, rebuild = _logs_of(eqn)
        if not logs:
            eqns.append(eqn)
            continue
        if taken := logs.keys() & taps.keys():
            raise errors.DifferentiationError(
                f"two rules log under one name: {min(taken)!r}. Give each call a name of its own, "
                "for instance by an argument of nondiff_argnums."
            ) from None
        own = tree.map(jx.Var, logs)
        taps.update(own)
        eqns.append(attrs.evolve(eqn, inputs=(*eqn.inputs, *tree.leaves(own)), params=rebuild()))
    binders = (*jaxpr.in_binders, *tree.leaves(taps))
    return _Tapped(jx.Jaxpr(binders, tuple(eqns), jaxpr.outs), tree.map(lambda v: v.aval, taps))


def _logs_of(eqn: jx.JaxprEqn) -> tuple[dict[str, Any], Callable[[], Any]]:
    """Return the logs of an equation, and a maker of its parameters where they are collected."""
    params, rules = eqn.params, eqn.primitive.rules.extensions
    if isinstance(params, PullBackParams):
        return _logs_of_rule(eqn, params), lambda: params
    inner = [_tapped(jaxpr) for jaxpr in jx.subjaxprs(params)]
    if not any(x.logs for x in inner):
        return {}, lambda: params
    if isinstance(params, CondParams):
        return _logs_of_branches(inner)
    if isinstance(params, ScanParams):
        stacked = tree.map(lambda aval: aval.stacked(params.length), inner[0].logs)
        return stacked, lambda: attrs.evolve(params, jaxpr=inner[0].jaxpr)
    if program_rules.CALLED in rules:
        return inner[0].logs, lambda: eqn.primitive.rule(program_rules.CALLED)(
            params, inner[0].jaxpr
        )
    raise errors.DifferentiationError(
        f"with_logs does not collect what rules log within '{eqn.primitive}', but some do: "
        f"{', '.join(sorted({str(name) for x in inner for name in x.logs}))}. Call the pull-back "
        "itself, which drops logs, or write a loop by scan."
    ) from None


def _logs_of_rule(eqn: jx.JaxprEqn, params: PullBackParams) -> dict[str, Any]:
    if params.logs is None:
        return {}
    n = params.num_residuals
    run, nonzero = prim.only_present(lambda *xs: params.backward(xs[:n], xs[n:]))
    cotangents = [aval.cotangent() for aval in params.out_avals]
    avals = staging.stage(run, [*[x.aval for x in eqn.inputs[:n]], *cotangents]).jaxpr.out_avals
    own = len(nonzero) - (len(eqn.inputs) - n)
    logs: dict[str, Any] = tree.unflatten(params.logs.treedef, avals[len(avals) - own :])
    return logs


def _logs_of_branches(branches: Sequence[_Tapped]) -> tuple[dict[str, Any], Callable[[], Any]]:
    logs: dict[str, Any] = {}
    for branch in branches:
        for name, log in branch.logs.items():
            if logs.setdefault(name, log) != log:
                raise errors.DifferentiationError(
                    f"two branches log arrays of different types under one name, {name!r}: "
                    f"{logs[name]} and {log}."
                ) from None
            if not all(dtypes.is_inexact(aval.dtype) for aval in tree.leaves(log)):
                raise errors.DifferentiationError(
                    f"{name!r} is logged in a branch, where floats alone can be: {log}. Convert it "
                    "in the rule: x.astype(float)."
                ) from None

    def fill(branch: _Tapped) -> jx.Jaxpr:
        """Give a branch the parameters of all."""
        inner = branch.jaxpr
        count = len(inner.in_binders) - len(tree.leaves(branch.logs))
        own = tree.unflatten(tree.structure(branch.logs), inner.in_binders[count:])
        taps = [own.get(name, tree.map(jx.Var, log)) for name, log in sorted(logs.items())]
        return jx.Jaxpr((*inner.in_binders[:count], *tree.leaves(taps)), inner.eqns, inner.outs)

    return logs, lambda: CondParams(tuple(map(fill, branches)))


@attrs.frozen
class LoggingPullBack:
    """Map a cotangent to cotangents of the arguments, and to logs; ``with_logs`` makes it."""

    pull_back: PullBack[Any, *tuple[Any, ...]]

    @watched
    def __call__(self, cotangent: Any, /) -> tuple[tuple[Any, ...], dict[str, Any]]:
        *cotangents, logs = self._tapped()(cotangent)
        return tuple(cotangents), logs

    def with_refs(self, *directions: Any) -> Callable[[Any], tuple[tuple[Any, ...], Any]]:
        """Return the pull-back with a direction for each gradient."""
        inner = self._tapped()
        directed = inner.with_refs(*directions, GradValue())

        def pull_back(cotangent: Any, /) -> tuple[tuple[Any, ...], Any]:
            *cotangents, logs = directed(cotangent)
            return tuple(cotangents), logs

        return pull_back

    def _tapped(self) -> PullBack[Any, *tuple[Any, ...]]:
        """Return a pull-back with the dict of logs for a last argument."""
        known = self.pull_back.structure
        tapped = _tapped(known.jaxpr)
        avals = tree.leaves(tapped.logs)
        binders, taps = prim.split_list(tapped.jaxpr.in_binders, len(known.jaxpr.in_binders))
        before, noted = prim.split_list(binders, len(known.places) + sum(known.nonzero_in))
        arguments = tree.unflatten(known.args_tree, [0] * known.args_tree.num_leaves)
        structure = attrs.evolve(
            known,
            jaxpr=jx.Jaxpr((*before, *taps, *noted), tapped.jaxpr.eqns, tapped.jaxpr.outs),
            nonzero_in=(*known.nonzero_in, *[True] * len(avals)),
            in_tree=tree.structure(((*arguments, tapped.logs), {})),
            in_avals=(*known.in_avals, *avals),
        )
        return PullBack(self.pull_back.residuals, structure)


tree.register_dataclass(LoggingPullBack, ["pull_back"], [])

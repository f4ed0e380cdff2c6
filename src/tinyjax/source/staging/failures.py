"""Checks in loops, which are made once, behind the loop.

A check calls Python where it fails, and so keeps XLA from making one piece of machine code of a
loop: an iteration then takes a hundred times as long. So an iteration says which of its checks
failed, and behind the loop the exception of the first is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax._extensions.callbacks.checks import ErrorIfParams, error_if_p
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import jaxpr as jx, staging
from tinyjax.core.tracing.primitive import NO_PARAMS
from tinyjax.core.values import Array, operands as opd
from tinyjax.source.staging import session


@attrs.frozen(eq=False)
class Checked:
    """The program of an iteration without its checks.

    Attributes:
        body: the program.
        checks: the exceptions.
        failed: the conditions of the checks, of which at most one holds in an iteration.
    """

    body: staging.Staged
    checks: Sequence[ErrorIfParams] = ()
    failed: Sequence[jx.Atom] = ()

    @property
    def with_failures(self) -> staging.Staged:
        """The program with a result more for each check: whether it failed."""
        jaxpr = self.body.jaxpr
        outs = (*jaxpr.outs, *self.failed)
        return attrs.evolve(self.body, jaxpr=jx.Jaxpr(jaxpr.in_binders, jaxpr.eqns, outs))

    @property
    def with_code(self) -> jx.Jaxpr:
        """The program, whose last parameter and result is the number of the check that failed."""
        jaxpr = self.body.jaxpr
        code = binder = jx.Var(NONE_FAILED.aval)
        is_none = jx.Var(self.failed[0].aval)
        zero = jx.zero_literal(NONE_FAILED.aval)
        eqns = [*jaxpr.eqns, jx.JaxprEqn(ew.eq, (binder, zero), NO_PARAMS, (is_none,))]
        for number, failed in enumerate(self.failed, 1):
            is_first, after = jx.Var(is_none.aval), jx.Var(NONE_FAILED.aval)
            own = jx.splat_literal(number, NONE_FAILED.aval)
            eqns.append(jx.JaxprEqn(ew.and_, (failed, is_none), NO_PARAMS, (is_first,)))
            eqns.append(jx.JaxprEqn(ew.select_p, (is_first, own, code), NO_PARAMS, (after,)))
            code = after
        return jx.Jaxpr((*jaxpr.in_binders, binder), tuple(eqns), (*jaxpr.outs, code))

    def raise_first(self, failed: Sequence[Array]) -> None:
        """Raise the exception of the first check that failed in all iterations.

        Args:
            failed: for each check, whether it failed, by iteration.
        """
        if not self.checks:
            return
        together = jnp.stack(failed)
        first = jnp.argmax(jnp.any(together, axis=0))
        for check, in_iterations in zip(self.checks, together, strict=True):
            session.this_session().check(in_iterations[first], check)

    def raise_of_code(self, code: Array) -> None:
        """Raise the exception of the check with a number."""
        for number, check in enumerate(self.checks, 1):
            failed = ew.eq(code, opd.splat(number, NONE_FAILED.aval))
            session.this_session().check(failed, check)


#: The number of the check that failed, before the first iteration.
NONE_FAILED: Final = opd.as_array(np.int32(0))


def gathered(body: staging.Staged) -> Checked:
    """Return the program of an iteration without its checks, if it has no other effects."""
    checks = [eqn for eqn in body.jaxpr.eqns if eqn.primitive is error_if_p]
    others = tuple([eqn for eqn in body.jaxpr.eqns if eqn.primitive is not error_if_p])
    is_plain = not any(jx.effects_of(eqn).any for eqn in others)
    if not checks or not is_plain or any(eqn.inputs[0].aval.shape for eqn in checks):
        return Checked(body)
    jaxpr = jx.Jaxpr(body.jaxpr.in_binders, others, body.jaxpr.outs)
    params = [eqn.params for eqn in checks]
    return Checked(attrs.evolve(body, jaxpr=jaxpr), params, [eqn.inputs[0] for eqn in checks])

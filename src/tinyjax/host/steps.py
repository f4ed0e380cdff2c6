"""Steps of a linearization that are repeated: what a primitive's jvp rule does, without asking it.

A jvp rule composes primitives, and each of them finds its trace, looks up types and wraps its
result. The types of operands and tangents decide all of that. So where a rule has been asked
several times about the same types, under the linearization of values at hand, it is staged: what it
computes of the primals becomes a function of NumPy arrays, and what it does to tangents equations
that are written down as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from tinyjax.config import Process, local_settings
from tinyjax.core.tracing.primitive import Primitive, on_replaced
from tinyjax.core.tracing.trace import eager
from tinyjax.core.transforms import linearize as lz
from tinyjax.core.transforms.jvp import JVPTracer
from tinyjax.core.values.array import Array
from tinyjax.host.replay import Programs, may_be_repeated

P = TypeVar("P")


class Steps(Programs):
    """The steps of one primitive, by what tells its calls apart.

    Attributes:
        repeatable: whether what its rules do may be done again without asking them.
    """

    __slots__ = ("repeatable",)

    def __init__(self, primitive: Primitive[Any]) -> None:
        super().__init__()
        rules = primitive.rules
        self.repeatable: bool = (
            may_be_repeated(primitive, rules.jvp)
            and rules.collective is None
            and rules.linearize is None
            and not primitive.effectful
        )


class _StepsOf(dict[Primitive[Any], Steps]):
    """The steps of each primitive."""

    def __missing__(self, primitive: Primitive[Any]) -> Steps:
        steps = Steps(primitive)
        if steps.repeatable:  # others may be gone tomorrow
            self[primitive] = steps
        return steps


#: The steps of every primitive that was linearized.
steps_of: Final = _StepsOf()
on_replaced.append(steps_of.clear)


class EagerLinearizeTrace(lz.LinearizeTrace):
    """The same where primals are evaluated: what was often done is repeated (``steps``)."""

    __slots__ = ()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        linear, steps = self.parent, steps_of[primitive]
        if not steps.repeatable:
            return super().process(primitive, args, params)
        # One or two operands, which nearly all have, cost half of what a loop over them does.
        due = False
        here = id(local_settings() or Process.settings)
        key: tuple[object, ...]
        operands: Sequence[Array | None]
        s: Array | None
        t: Array | None
        try:
            if len(args) == 2:
                x, y = args
                s = t = of_s = of_t = None
                if type(x) is JVPTracer and x._trace is self:
                    s, x = x.tangent, x.primal
                    of_s = s.aval
                if type(y) is JVPTracer and y._trace is self:
                    t, y = y.tangent, y.primal
                    of_t = t.aval
                key = (here, params, x._aval or x.aval, of_s, y._aval or y.aval, of_t)
                operands = (x, s, y, t)
            elif len(args) == 1:
                (x,) = args
                s = of_s = None
                if type(x) is JVPTracer and x._trace is self:
                    s, x = x.tangent, x.primal
                    of_s = s.aval
                key = (here, params, x._aval or x.aval, of_s)
                operands = (x, s)
            else:
                parts: list[object] = [here, params]
                pairs: list[Array | None] = []
                for x in args:
                    s = of_s = None
                    if type(x) is JVPTracer and x._trace is self:
                        s, x = x.tangent, x.primal  # noqa: PLW2901 (as above)
                        of_s = s.aval
                    parts += (x._aval or x.aval, of_s)
                    pairs += (x, s)
                key, operands = tuple(parts), pairs
            step = steps.known.get(key)
            if step is not None:
                results: Sequence[Array] = step(self, linear, *operands)
                return results
            due = steps.is_due(key) and any(t is not None for t in operands[1::2])
        except Exception:  # parameters without a hash; or let the rule say what is wrong
            due = False
        if not due:
            return super().process(primitive, args, params)
        assert isinstance(linear, lz.LinearTrace), "it records the tangents"
        start = len(linear.eqns)
        outs = super().process(primitive, args, params)
        # loaded with what records programs
        from tinyjax.host.step_text import make_step  # noqa: PLC0415

        step = make_step(primitive, params, operands, linear, start, outs)
        if step is not None:
            steps.known[key] = step
        return outs


eager[lz.LinearizeTrace] = EagerLinearizeTrace

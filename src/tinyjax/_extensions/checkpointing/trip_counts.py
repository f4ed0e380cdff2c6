"""Bounds on the lengths of loops, by intervals of the integers that they count with.

Reverse mode stacks the residuals of a loop's iterations, and stacks have static lengths. A
``while_loop`` inside another loop often counts up to that one's counter. The user gives no bound on
its length, but the program determines one. So programs are analyzed before they are differentiated,
with an interval for each integer, and ``WhileParams.most`` is filled in.

An interval holds for all arguments of the program. It never depends on data, so that calls with
other arguments are differentiated by the same program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.checkpointing.scopes import (
    Bounds,
    IntegerScope,
    Interval,
    any_of,
    of_splat,
)
from tinyjax._primitives.wrap_index import wrap_index_p
from tinyjax.core.control_flow.bodies import LoopOperands
from tinyjax.core.control_flow.primitives import (
    CondParams,
    ScanParams,
    WhileParams,
    cond_p,
    has_while,
    needs_trip_counts,
    scan_p,
    while_p,
)
from tinyjax.core.control_flow.residuals import steps_of
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim_p
from tinyjax.core.primitives.slicing import slice_p
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.tracing.primitive import RuleKey
from tinyjax.core.tracing.staging import StagingTracer
from tinyjax.core.values import Array, ShapedArray, operands as opd

#: The rule that bounds the one result of a primitive: takes an equation and the intervals of its
#: operands. Where an integer would overflow, the interval is that of all values.
INTERVAL: Final[RuleKey[Callable[[jx.JaxprEqn, Sequence[Interval]], Interval]]] = RuleKey(
    "interval"
)
#: The greatest bound: a loop that may run more often counts as one without a bound.
_MOST: Final = 2**24
#: More than any integer.
_FAR: Final = 2**65
_COUNTED: Final = jx.ProgramFacts(is_counted=True)


def with_trip_counts(jaxpr: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program whose loops say how often they run at most, where that is known."""
    if not needs_trip_counts(jaxpr):
        return jaxpr
    unknown = unknown_arguments(jaxpr)
    counted: jx.Jaxpr = jaxpr.derive("trip counts", lambda: _COUNTING.program(jaxpr, unknown)[0])
    return counted


def of_scan(params: ScanParams, operands: Sequence[Array]) -> ScanParams:
    """Return the parameters of a ``scan`` with trip counts, by its operands."""
    if not needs_trip_counts(params.jaxpr):
        return params
    xs = _of_operands(operands)
    key = ("trip counts", params.num_consts, params.num_carry, params.length, *xs)
    counted = params.jaxpr.derive(key, lambda: _COUNTING.scan(params, xs)[0])
    return attrs.evolve(params, jaxpr=counted.jaxpr)


def of_while(params: WhileParams, operands: Sequence[Array]) -> WhileParams:
    """Return the parameters of a ``while_loop`` with trip counts, by its operands."""
    if not params.memory or params.body.facts.is_counted:
        return params
    xs = _of_operands(operands)
    key = ("trip counts", params.condition, params.num_condition, params.most, *xs)
    counted = params.body.derive(key, lambda: _COUNTING.while_loop(params, xs)[0])
    return attrs.evolve(params, body=counted.body, most=counted.most)


def _of_operands(operands: Sequence[Array]) -> list[Interval]:
    """Return the intervals of operands outside of a program, where constants are no literals."""
    is_staged = any(isinstance(x, StagingTracer) for x in operands)
    return [of_splat(x) if is_staged and opd.is_splat(x) else any_of(x.aval) for x in operands]


def unknown_arguments(jaxpr: jx.Jaxpr) -> list[Interval]:
    """Return the intervals of a program's parameters of which nothing is known."""
    return [*map(any_of, jaxpr.in_avals)]


#: Returns the equations that replace one.
Rewrite: TypeAlias = Callable[[jx.JaxprEqn, IntegerScope], Sequence[jx.JaxprEqn]]


def _joined(intervals: Sequence[Interval]) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _representable(interval: Interval, aval: ShapedArray) -> Interval:
    """Return an interval; that of all values if the dtype does not have some value in it."""
    low, high = any_of(aval)
    return interval if low <= interval[0] and interval[1] <= high else (low, high)


@attrs.frozen
class Analysis:
    """An analysis of programs by intervals.

    Attributes:
        rewrite: returns what replaces an equation; without it, equations stay.
    """

    rewrite: Rewrite | None = None

    def program(
        self, jaxpr: jx.Jaxpr, intervals: Sequence[Interval], scope: IntegerScope | None = None
    ) -> tuple[jx.Jaxpr, tuple[Interval, ...]]:
        """Return a program with trip counts, and the intervals of its results.

        Args:
            jaxpr: the program.
            intervals: those of its parameters.
            scope: what is known of these besides.
        """
        scope = scope or IntegerScope()
        scope.env.update(zip(jaxpr.in_binders, intervals, strict=True))
        eqns: list[jx.JaxprEqn] = []
        for eqn in jaxpr.eqns:
            xs = [scope.interval(x) for x in eqn.inputs]
            after, outs = self.step(eqn, xs, scope)
            eqns += self.rewrite(after, scope) if self.rewrite else (after,)
            scope.add(eqn, outs)
        counted = jaxpr
        if self.rewrite or has_while(jaxpr):
            counted = jx.with_facts(attrs.evolve(jaxpr, eqns=tuple(eqns)), _COUNTED)
        return counted, tuple(map(scope.interval, jaxpr.outs))

    def step(
        self, eqn: jx.JaxprEqn, xs: Sequence[Interval], scope: IntegerScope
    ) -> tuple[jx.JaxprEqn, Sequence[Interval]]:
        """Return an equation with trip counts, and the intervals of its results."""
        primitive, params = eqn.primitive, eqn.params
        if primitive is scan_p:
            constants = zip(params.jaxpr.in_binders[: params.num_consts], eqn.inputs, strict=False)
            params, outs = self.scan(params, xs, scope.inside(constants))
        elif primitive is while_p:
            params, outs = self.while_loop(params, xs, scope, eqn.inputs)
        elif primitive is cond_p:
            programs = [
                self.program(
                    branch,
                    xs[1:],
                    scope.inside(zip(branch.in_binders, eqn.inputs[1:], strict=True)),
                )
                for branch in params.branches
            ]
            params = CondParams(tuple([branch for branch, _ in programs]))
            outs = [_joined(column) for column in zip(*[out for _, out in programs], strict=True)]
        elif program_rules.CALLED in primitive.rules.extensions:
            ((called, outs),) = [self.program(j, xs) for j in jx.subjaxprs(params)]
            params = primitive.rule(program_rules.CALLED)(params, called)
        else:
            avals = [binder.aval for binder in eqn.out_binders]
            if INTERVAL not in primitive.rules.extensions or not dtypes.is_integer(avals[0].dtype):
                return eqn, [*map(any_of, avals)]
            return eqn, [_representable(primitive.rule(INTERVAL)(eqn, xs), avals[0])]
        return attrs.evolve(eqn, params=params), outs

    def scan(
        self, params: ScanParams, xs: Sequence[Interval], scope: IntegerScope | None = None
    ) -> tuple[ScanParams, Sequence[Interval]]:
        """Return a ``scan`` with trip counts, and the intervals of its results.

        Args:
            params: its parameters.
            xs: the intervals of its operands.
            scope: what is known of parameters of its body besides.
        """
        body = params.loop_body
        operands = body.operands(xs)
        steps = steps_of(params.jaxpr, params.num_consts, params.num_carry)
        avals = body.in_avals.carry

        def carried(iterations: int) -> list[Interval]:
            """Return the intervals of the carry up to a number of iterations."""
            return [
                any_of(aval) if step is None else _moved(start, step * iterations, aval)
                for start, step, aval in zip(operands.carry, steps, avals, strict=True)
            ]

        inside = LoopOperands(operands.consts, carried(max(params.length - 1, 0)), operands.xs)
        counted, outs = self.program(params.jaxpr, inside.flat, scope)
        after = carried(params.length)
        return attrs.evolve(params, jaxpr=counted), (*after, *outs[params.num_carry :])

    def while_loop(
        self,
        params: WhileParams,
        xs: Sequence[Interval],
        around: IntegerScope | None = None,
        inputs: Sequence[jx.Atom] = (),
    ) -> tuple[WhileParams, Sequence[Interval]]:
        """Return a ``while_loop`` with trip counts, and the intervals of its results.

        Args:
            params: its parameters.
            xs: the intervals of its operands.
            around: the program around it.
            inputs: its operands there.
        """
        around = around or IntegerScope()
        fixed, operands = params.operands(xs)
        body = params.loop_body
        steps = steps_of(params.body, params.num_body, len(operands.carry))
        avals = body.in_avals.carry
        # the intervals that hold in all iterations: those of unchanged parts of the carry
        during = [
            start if step == 0 else any_of(aval)
            for start, step, aval in zip(operands.carry, steps, avals, strict=True)
        ]
        atoms_tested, atoms = params.operands(inputs)
        unchanged = [(i, x) for i, x in enumerate(atoms.carry) if steps[i] == 0]
        binders, state = params.condition.in_binders, params.body.in_binders[params.num_body :]
        tested = [(binders[len(fixed) + i], x) for i, x in unchanged]
        condition = around.inside([*zip(binders, atoms_tested, strict=False), *tested])
        constants = zip(params.body.in_binders, atoms.consts, strict=False)
        scope = around.inside([*constants, *[(state[i], x) for i, x in unchanged]])
        after, most = [*during], params.most
        for place, low, high, bound in _tests(params, fixed, during, condition):
            step, (first, last) = steps[place], operands.carry[place]
            if not step:
                continue
            distance = high - first if step > 0 else last - low
            count = max(0, -(-distance // abs(step)))
            end = (first, high - 1 + step) if step > 0 else (low + 1 + step, last)
            if count > _MOST or _representable(end, avals[place]) != end:
                continue
            most = count if most is None else min(most, count)
            if step > 0:
                if inputs and first >= 0 and bound is not None:
                    scope.bounds[state[place]] = Bounds(atoms.carry[place], condition, bound)
                during[place] = first, max(first, high - 1)
                after[place] = first, max(last, high - 1 + step)
            else:
                during[place] = min(last, low + 1), last
                after[place] = min(first, low + 1 + step), last
        inside = LoopOperands(operands.consts, during)
        counted, _ = self.program(params.body, inside.flat, scope)
        return attrs.evolve(params, body=counted, most=most), after


_COUNTING: Final = Analysis()


def _moved(start: Interval, distance: int, aval: ShapedArray) -> Interval:
    low, high = start[0] + min(0, distance), start[1] + max(0, distance)
    return _representable((low, high), aval)


def _tests(
    params: WhileParams, fixed: Sequence[Interval], state: Sequence[Interval], scope: IntegerScope
) -> Iterator[tuple[int, int, int, jx.Atom | None]]:
    """Yield the comparisons in the condition of a loop.

    Args:
        params: the loop's.
        fixed: the intervals of the condition's constants.
        state: those of the carry.
        scope: what is known of the condition's parameters besides.

    Yields:
        The index of the compared part of the state, its lower and upper bounds if it holds, and the
        number that it is less than, if it is compared with one.
    """
    jaxpr = params.condition
    scope.env.update(zip(jaxpr.in_binders, (*fixed, *state), strict=True))
    makers = scope.makers
    for eqn in jaxpr.eqns:
        _, outs = _COUNTING.step(eqn, [scope.interval(x) for x in eqn.inputs], scope)
        scope.add(eqn, outs)
    places: dict[jx.Atom, int] = {
        binder: i for i, binder in enumerate(jaxpr.in_binders[len(fixed) :])
    }
    pending = [jaxpr.outs[0]]
    while pending:
        out = pending.pop()
        made = makers.get(out) if isinstance(out, jx.Var) else None
        if made is None:
            continue
        match made.primitive:
            case ew.and_:
                pending += made.inputs
                continue
            case ew.lt | ew.le:
                less, more = made.inputs
            case ew.gt | ew.ge:
                more, less = made.inputs
            case _:
                continue
        slack = int(made.primitive in (ew.le, ew.ge))
        for atom, other, is_below in ((less, more, True), (more, less, False)):
            place = places.get(_unconverted(atom, makers))
            if place is not None and dtypes.is_integer(atom.aval.dtype):
                low, high = scope.interval(other)
                bound = other if is_below and not slack else None
                yield (place, *((-_FAR, high + slack) if is_below else (low - slack, _FAR)), bound)


def _unconverted(atom: jx.Atom, makers: dict[jx.Var, jx.JaxprEqn]) -> jx.Atom:
    """Return the operand of conversions that cannot have changed a value."""
    while isinstance(atom, jx.Var) and atom in makers:
        eqn = makers[atom]
        if eqn.primitive is not ew.convert_element_type_p:
            break
        (x,) = eqn.inputs
        if not (dtypes.is_integer(x.aval.dtype) and np.can_cast(x.aval.dtype, atom.aval.dtype)):
            break
        atom = x
    return atom


# Rules


def _products(eqn: jx.JaxprEqn, xs: Sequence[Interval]) -> Interval:
    x, y = xs
    products = [a * b for a in x for b in y]
    return min(products), max(products)


def _quotients(eqn: jx.JaxprEqn, xs: Sequence[Interval]) -> Interval:
    (low, high), (least, greatest) = xs
    if least <= 0 <= greatest:
        return -_FAR, _FAR
    quotients = [
        int(np.sign(a) * np.sign(b)) * (abs(a) // abs(b)) for a in (low, high) for b in xs[1]
    ]
    return _joined([(0, 0)] * (low <= 0 <= high) + [(q, q) for q in quotients])


def _remainders(eqn: jx.JaxprEqn, xs: Sequence[Interval]) -> Interval:
    (low, high), divisor = xs
    most = max(0, max(map(abs, divisor)) - 1)
    return (-most if low < 0 else 0), (most if high > 0 else 0)


def _converted(eqn: jx.JaxprEqn, xs: Sequence[Interval]) -> Interval:
    dtype = eqn.inputs[0].aval.dtype
    if dtypes.is_integer(dtype):
        return xs[0]
    return (0, 1) if dtype == dtypes.bool_ else (-_FAR, _FAR)


def _wrapped(eqn: jx.JaxprEqn, xs: Sequence[Interval]) -> Interval:
    ((low, high),), size = xs, eqn.params.size
    negative = [(low + size, min(high, -1) + size)] * (low < 0)
    return _joined([*negative, *[(max(low, 0), high)] * (high >= 0)])


def _same(eqn: jx.JaxprEqn, xs: Sequence[Interval]) -> Interval:
    return xs[0]


ew.add.def_rule(INTERVAL)(lambda eqn, xs: (xs[0][0] + xs[1][0], xs[0][1] + xs[1][1]))
ew.sub.def_rule(INTERVAL)(lambda eqn, xs: (xs[0][0] - xs[1][1], xs[0][1] - xs[1][0]))
ew.neg.def_rule(INTERVAL)(lambda eqn, xs: (-xs[0][1], -xs[0][0]))
ew.mul.def_rule(INTERVAL)(_products)
ew.div.def_rule(INTERVAL)(_quotients)
ew.rem.def_rule(INTERVAL)(_remainders)
ew.max_.def_rule(INTERVAL)(lambda eqn, xs: tuple(map(max, *xs)))
ew.min_.def_rule(INTERVAL)(lambda eqn, xs: tuple(map(min, *xs)))
ew.select_p.def_rule(INTERVAL)(lambda eqn, xs: _joined(xs[1:]))
ew.convert_element_type_p.def_rule(INTERVAL)(_converted)
wrap_index_p.def_rule(INTERVAL)(_wrapped)
sh.iota_p.def_rule(INTERVAL)(
    lambda eqn, xs: (0, max(eqn.out_binders[0].aval.shape[eqn.params.axis] - 1, 0))
)
for _primitive in (
    broadcast_in_dim_p,
    identities.copy_p,
    sh.reshape_p,
    sh.rev_p,
    sh.transpose_p,
    slice_p,
):
    _primitive.def_rule(INTERVAL)(_same)

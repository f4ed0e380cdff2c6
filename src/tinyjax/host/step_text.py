"""The steps of a linearization that are repeated, as Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import attrs
import numpy as np

from tinyjax import dtypes, frames
from tinyjax.core.names import Array, ConcreteArray, Primitive, jv, lz, tr
from tinyjax.core.tracing.jaxpr import Atom, JaxprEqn, Lit, Var
from tinyjax.core.tracing.primitive import ZERO
from tinyjax.core.tracing.staging import Staged, StagingTracer
from tinyjax.host import plans, recording, replay

#: Takes the trace of a linearization and the one that records its tangents, and of each operand the
#: array and the tangent, which is None if there is none. It returns the results.
Step = Callable[..., Sequence[Array]]


class _Tangents(lz.LinearTrace):
    """Records what a rule does to tangents, to be done again."""

    __slots__ = ()

    replays = True


@attrs.frozen(eq=False, repr=False)
class _Rule:
    """What a rule did, staged.

    Attributes:
        primals: its operands.
        outs: its results.
        out_tangents: what stands for theirs; None where there is none.
        linear: the recording of what it does to tangents.
        computed: the results, and what tangents are multiplied with, that are no operands.
        staged: computes these.
    """

    primals: Sequence[Array]
    outs: Sequence[Array]
    out_tangents: Sequence[Atom | None]
    linear: lz.LinearTrace
    computed: Sequence[Array]
    staged: Staged


def make_step(
    primitive: Primitive[Any],
    params: object,
    operands: Sequence[Array | None],
    recorder: lz.LinearTrace,
    start: int,
    outs: Sequence[Array],
) -> Step | None:
    """Make the step of calls like one that was made, if it can be made and repeats that one.

    Args:
        primitive: what was called.
        params: its parameters.
        operands: its operands, each followed by its tangent, or None.
        recorder: has recorded the call.
        start: how many equations it had before.
        outs: the results.
    """
    primals = [x for x in operands[::2] if type(x) is ConcreteArray]
    tangents = operands[1::2]
    if len(primals) != len(tangents):
        return None
    try:
        with frames.STAGING_LEVEL:
            rule = _stage(primitive, params, primals, tangents)
        body = recording.write_staged(rule.staged)
        step = None if body is None else _write(rule, body, tangents)
        if step is None or body is None:
            return None
        again = lz.LinearTrace(tr.EVAL)
        tracers = {id(t): again.new_inputs([t.aval])[0] for t in tangents if t is not None}
        inputs = [tracers.get(id(t)) for t in tangents]
        results = step(again, again, *chain(*zip(primals, inputs, strict=True)))
    except Exception:  # what needs data cannot be staged
        return None
    same_variables: dict[Atom, Atom] = {}
    for x, y in zip(tangents, inputs, strict=True):
        if x is not None and y is not None:
            same_variables[recorder.atom(x)] = y.binder
    repeats = _Comparison(recorder, again, same_variables, body.constants)
    return step if repeats(recorder.eqns[start:], outs, results) else None


def _stage(
    primitive: Primitive[Any],
    params: object,
    primals: Sequence[Array],
    tangents: Sequence[Array | None],
) -> _Rule:
    trace = recording.Replay(tr.EVAL)
    with tr.Running(trace):
        inputs = trace.new_inputs([x.aval for x in primals])
        linear = _Tangents(trace)
        with tr.Running(linear):
            tangents_in = [ZERO if t is None else linear.new_inputs([t.aval])[0] for t in tangents]
            outs, out_tangents = primitive.rules.jvp(inputs, tangents_in, params)
            atoms = [None if t is ZERO else linear.atom(t) for t in out_tangents]
        taken = set(map(id, inputs))
        values = [*outs, *[value for _, value in linear.consts.values()]]
        computed = {id(x): x for x in values if id(x) not in taken}
        staged = trace.build([*computed.values()])
    return _Rule(inputs, outs, atoms, linear, [*computed.values()], staged)


def _write(rule: _Rule, body: plans.Body, tangents: Sequence[Array | None]) -> Step | None:
    scope = body.scope
    scope |= {"Var": Var, "JaxprEqn": JaxprEqn, "JVPTracer": jv.JVPTracer, "Tracer": StagingTracer}
    scope["NotHereError"] = replay.NotHereError

    def add(value: object) -> str:
        name = f"g{len(scope)}"
        scope[name] = value
        return name

    places = range(len(rule.primals))
    present = [i for i, t in enumerate(tangents) if t is not None]
    parameters = ", ".join(["trace, linear", *[f"x{i}, s{i}" for i in places]])
    mine = [f"type(x{i}) is ConcreteArray" for i in places]
    mine += [f"s{i}._trace is linear" for i in present]
    head = [f"if not ({' and '.join(mine)}): raise NotHereError"]
    if body.lines:
        for i in places:
            head.append(f"a{i} = x{i}._host")
            head.append(f"if a{i} is None: a{i} = x{i}.host")
    tail = [f"o{i} = {text}" for i, text in enumerate(body.results)]
    names = {id(x): f"x{i}" for i, x in enumerate(rule.primals)}
    names |= {id(x): f"o{i}" for i, x in enumerate(rule.computed)}
    linear, atoms = rule.linear, dict[Atom, str]()
    for i, var in zip(present, linear.in_binders, strict=True):
        atoms[var] = f"s{i}.binder"
    for i, (var, value) in enumerate(linear.consts.values()):
        atoms[var] = f"k{i}"
        tail.append(f"k{i} = linear.atom({names[id(value)]})")
    for eqn in linear.eqns:
        inputs = [add(x) if isinstance(x, Lit) else atoms[x] for x in eqn.inputs]
        for var in eqn.out_binders:
            atoms[var] = f"w{len(atoms)}"
            tail.append(f"{atoms[var]} = Var({add(var.aval)})")
        binders = "".join(f"{atoms[var]}, " for var in eqn.out_binders)
        fields = f"{add(eqn.primitive)}, ({', '.join(inputs)},), {add(eqn.params)}, ({binders})"
        tail.append(f"linear.eqns.append(JaxprEqn({fields}))")
    results: list[str] = []
    for x, atom in zip(rule.outs, rule.out_tangents, strict=True):
        if isinstance(atom, Lit):
            return None
        tangent = "" if atom is None else f"Tracer(linear, {atoms[atom]}, {add(atom.aval)})"
        results.append(f"JVPTracer(trace, {names[id(x)]}, {tangent})" if tangent else names[id(x)])
    tail.append(f"return ({', '.join(results)},)")
    return body.function("step", parameters, tail, head)


class _Comparison:
    """Says whether a step repeats to the last bit what a rule did, and records the same."""

    def __init__(
        self,
        before: lz.LinearTrace,
        after: lz.LinearTrace,
        same_variables: dict[Atom, Atom],
        constants: Sequence[dtypes.HostArray],
    ) -> None:
        self._values = [dict(r.consts.values()) for r in (before, after)]
        self._after = after
        self._constants = constants
        #: The variables of the first recording, and those of the other.
        self._renamed = same_variables

    def __call__(
        self, eqns: Sequence[JaxprEqn], outs: Sequence[Array], results: Sequence[Array]
    ) -> bool:
        if len(eqns) != len(self._after.eqns) or len(outs) != len(results):
            return False
        return all(map(self._same_eqn, eqns, self._after.eqns)) and all(
            map(self._same_result, outs, results)
        )

    def _same_eqn(self, x: JaxprEqn, y: JaxprEqn) -> bool:
        alike = x.primitive is y.primitive and x.params == y.params
        if not alike or len(x.inputs) != len(y.inputs) or len(x.out_binders) != len(y.out_binders):
            return False
        if not all(map(self._same_atom, x.inputs, y.inputs)):
            return False
        self._renamed.update(zip(x.out_binders, y.out_binders, strict=True))
        return all(a.aval is b.aval for a, b in zip(x.out_binders, y.out_binders, strict=True))

    def _same_atom(self, x: Atom, y: Atom) -> bool:
        if x in self._renamed:
            return self._renamed[x] is y
        before, after = self._values
        if isinstance(x, Lit) or isinstance(y, Lit):
            return isinstance(x, Lit) and isinstance(y, Lit) and recording.same(x.value, y.value)
        first, second = before.get(x), after.get(y)
        return first is not None and second is not None and self._same_value(first, second)

    def _same_result(self, x: Array, y: Array) -> bool:
        if not isinstance(x, jv.JVPTracer) or not isinstance(y, jv.JVPTracer):
            return x is y or self._same_value(x, y)
        tangents = x.tangent, y.tangent
        if not all(isinstance(t, StagingTracer) for t in tangents):
            return False
        first, second = [t.binder for t in tangents if isinstance(t, StagingTracer)]
        return self._renamed.get(first) is second and self._same_value(x.primal, y.primal)

    def _same_value(self, x: Array, y: Array) -> bool:
        """Say whether two arrays are the same, and the second is not one of the step's own."""
        if x is y:
            return True
        if type(x) is not ConcreteArray or type(y) is not ConcreteArray or not recording.same(x, y):
            return False
        return not any(np.may_share_memory(y.concrete("data"), c) for c in self._constants)

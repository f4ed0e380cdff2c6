"""The modules that programs are compiled from, in which deep nests are flattened.

The time that XLA takes over nested conditionals grows with the cube of their depth. Each level of a
nest passes on all results from within, one for each residual of a derivative, so the program itself
grows with the square (docs/jaxlib.md). ``unnest`` flattens programs nested more than ``DEEPEST``
levels deep; XLA then compiles a list.

A call is inlined. A conditional whose branches hold other conditionals,
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import attrs

from tinyjax._base import frames, lazy, records
from tinyjax.core.lowering import Locate, write_module
from tinyjax.core.stablehlo.lowering import HostFunction
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.xla import compilation, products, updates

#: How many levels stay within each other: XLA is no slower with them, and what is not reached takes
#: no time at all.
DEEPEST: Final = 16

#: A conditional with a larger operand or result, in bytes, stays nested: flattened, each of its
#: parts fills arrays like them with zeros where it is not reached.
LARGEST: Final = 16_384


def unnest(jaxpr: jx.Jaxpr, deepest: int | None = None) -> jx.Jaxpr:
    """Flatten deep nests of conditionals.

    Args:
        jaxpr: the program.
        deepest: the levels of nesting that remain; ``DEEPEST`` by default.

    Returns:
        A program that computes the same, or ``jaxpr`` itself where nothing in it is nested deeply.
        Types in it may differ in weakness, which compilers ignore.
    """
    most = DEEPEST if deepest is None else deepest
    return _Flattening(jaxpr, most).flatten(jaxpr) if depth(jaxpr) > most else jaxpr


def depth(jaxpr: jx.Jaxpr) -> int:
    """Return the maximal depth of nested conditionals and calls."""
    return jaxpr.derive(
        "depth", lambda: max([_depth(e) for e in jaxpr.eqns if jx.subjaxprs(e.params)], default=0)
    )


def _depth(eqn: jx.JaxprEqn) -> int:
    inner = max(map(depth, jx.subjaxprs(eqn.params)))
    rules = eqn.primitive.rules.extensions
    return inner + 1 if program_rules.INLINING in rules or program_rules.CHOICE in rules else inner


def _is_small(eqn: jx.JaxprEqn) -> bool:
    avals = [x.aval for x in (*eqn.inputs, *eqn.out_binders)]
    return all(aval.nbytes <= LARGEST for aval in avals)


@attrs.frozen(eq=False, repr=False)
class _Arm(records.Printed):
    """A flattened branch: the equations before each conditional in it, and after the last."""

    segments: list[list[jx.JaxprEqn]]
    choices: list[_Choice]


@attrs.frozen(eq=False, repr=False)
class _Choice(records.Printed):
    """A conditional that is to be flattened.

    Attributes:
        eqn: the equation.
        index: its predicate or index.
        arms: its branches.
        results: its results, except those of one branch's inner conditional, with the values that
            each branch returns for them.
        end: the number of the first variable that is made after it.
    """

    eqn: jx.JaxprEqn
    index: jx.Atom
    arms: list[_Arm]
    results: list[tuple[jx.Var, list[jx.Atom]]]
    end: int


@attrs.frozen(eq=False, repr=False)
class _ConditionalStep(records.Printed):
    """A conditional in the list: equations for each branch.

    Attributes:
        eqn: the equation that it is a part of.
        index: its predicate or index.
        segments: the equations to run, by branch.
        results: its results, with the values that each branch returns for them, besides variables
            that equations in the segments bind.
    """

    eqn: jx.JaxprEqn
    index: jx.Atom
    segments: list[Sequence[jx.JaxprEqn]]
    results: list[tuple[jx.Var, list[jx.Atom]]]


_Item: TypeAlias = jx.JaxprEqn | _Choice


class _Flattening:
    """Programs being flattened; every variable of theirs gets a new one."""

    def __init__(self, program: jx.Jaxpr, deepest: int) -> None:
        self._deepest = deepest
        self._calls = _call_sites(program)
        self._flattened: dict[bytes, jx.Jaxpr] = {}
        # Views are equations that are inlined where they are used. They are passed on through a
        # nest like what they show.
        self._views: dict[jx.Atom, jx.JaxprEqn] = {}
        # the variables in the order of their making: those of a branch are next to each other
        self._numbers: dict[jx.Atom, int] = {}

    def flatten(self, jaxpr: jx.Jaxpr) -> jx.Jaxpr:
        """Flatten a program whose only operands are its parameters."""
        if depth(jaxpr) <= self._deepest:
            return jaxpr
        flat = self._flattened.get(jaxpr.digest)
        if flat is None:
            items: list[_Item] = []
            outs = [self._seen(x, items) for x in self._read(jaxpr, jaxpr.in_binders, items)]
            flat = jx.Jaxpr(
                jaxpr.in_binders, tuple(_live_equations(_listed(items), outs)), tuple(outs)
            )
            self._flattened[jaxpr.digest] = flat
        return flat

    def _new(self, aval: av.ShapedArray) -> jx.Var:
        var = jx.Var(aval)
        self._numbers[var] = len(self._numbers)
        return var

    def _seen(self, x: jx.Atom, items: list[_Item]) -> jx.Atom:
        """Return the atom that replaces an atom in an equation."""
        view = self._views.get(x)
        if view is None:
            return x
        var = self._new(x.aval)
        items.append(jx.JaxprEqn(view.primitive, view.inputs, view.params, (var,), view.source))
        return var

    def _read(
        self, jaxpr: jx.Jaxpr, operands: Sequence[jx.Atom], items: list[_Item]
    ) -> list[jx.Atom]:
        """Append what a program does with some operands, and return its results."""
        env: dict[jx.Atom, jx.Atom] = dict(zip(jaxpr.in_binders, operands, strict=True))
        with frames.LEVEL:
            for eqn in jaxpr.eqns:
                inputs = [env.get(x, x) for x in eqn.inputs]
                env.update(zip(eqn.out_binders, self._read_eqn(eqn, inputs, items), strict=True))
        return [env.get(x, x) for x in jaxpr.outs]

    def _read_eqn(
        self, eqn: jx.JaxprEqn, inputs: Sequence[jx.Atom], items: list[_Item]
    ) -> Sequence[jx.Atom]:
        primitive, params = eqn.primitive, eqn.params
        rules = primitive.rules.extensions
        if prim.VIEW in rules:
            first = self._views.get(inputs[0])
            if first is not None:
                inputs, params = first.inputs, primitive.rule(prim.VIEW)(first.params, params)
            var = jx.Var(eqn.out_binders[0].aval)
            self._views[var] = jx.JaxprEqn(primitive, tuple(inputs), params, (var,), eqn.source)
            return (var,)
        if program_rules.INLINING in rules:
            body = primitive.rule(program_rules.INLINING)(params)
            if body is not None and not self._is_shared(body, params):
                return self._read(body, inputs, items)
        if program_rules.CHOICE in rules and _depth(eqn) >= self._deepest and _is_small(eqn):
            return self._read_choice(eqn, inputs, items)
        operands = tuple([self._seen(x, items) for x in inputs])
        binders = tuple([self._new(v.aval) for v in eqn.out_binders])
        items.append(jx.JaxprEqn(primitive, operands, self._of_params(params), binders, eqn.source))
        return binders

    def _is_shared(self, body: jx.Jaxpr, params: Any) -> bool:
        """Return whether a program has several call sites: a function, which is emitted once."""
        # one that a rule has made is not, and its digest would be computed for this alone
        return any(body is x for x in jx.subjaxprs(params)) and self._calls[body.digest] > 1

    def _of_params(self, params: Any) -> Any:
        """Parameters with the programs in them taken apart, those of loops for example."""
        if all(depth(jaxpr) <= self._deepest for jaxpr in jx.subjaxprs(params)):
            return params
        return jx.with_subjaxprs(params, self.flatten)

    def _read_choice(
        self, eqn: jx.JaxprEqn, inputs: Sequence[jx.Atom], items: list[_Item]
    ) -> Sequence[jx.Atom]:
        index = self._seen(inputs[0], items)
        read: list[list[_Item]] = []
        columns: list[list[jx.Atom]] = []
        # the variables of each branch that are zero where it is not taken: all before the last step
        zero_elsewhere: list[range] = []
        for branch in jx.subjaxprs(eqn.params):
            first = len(self._numbers)
            inner: list[_Item] = []
            columns.append(self._read(branch, inputs[1:], inner))
            read.append(inner)
            ends = [item.end for item in inner if isinstance(item, _Choice)]
            zero_elsewhere.append(range(first, ends[-1] if ends else first))
        atoms: list[jx.Atom] = []
        results: list[tuple[jx.Var, list[jx.Atom]]] = []
        for row in zip(*columns, strict=True):
            others = [i for i, x in enumerate(row) if not _is_zero(x)]
            if not others:
                atoms.append(row[0])
            elif len(others) == 1 and self._number(row[others[0]]) in zero_elsewhere[others[0]]:
                atoms.append(row[others[0]])
            else:
                var = self._new(row[0].aval)
                results.append(
                    (var, [self._seen(x, inner) for x, inner in zip(row, read, strict=True)])
                )
                atoms.append(var)
        arms = [_arm(inner) for inner in read]
        items.append(_Choice(eqn, index, arms, results, len(self._numbers)))
        return atoms

    def _number(self, x: jx.Atom) -> int:
        """Return the number of a variable, or of what a view shows; -1 for what has none."""
        view = self._views.get(x)
        return self._numbers.get(x if view is None else view.inputs[0], -1)


def _call_sites(program: jx.Jaxpr) -> Counter[bytes]:
    """Return the number of equations that call each program, by its digest."""
    sites: Counter[bytes] = Counter()
    seen: set[bytes] = set()
    pending = [program]
    while pending:
        jaxpr = pending.pop()
        if jaxpr.digest in seen or not depth(jaxpr):
            continue
        seen.add(jaxpr.digest)
        for eqn in jaxpr.eqns:
            inner = jx.subjaxprs(eqn.params)
            if program_rules.INLINING in eqn.primitive.rules.extensions:
                sites.update([called.digest for called in inner])
            pending += inner
    return sites


def _is_zero(x: jx.Atom) -> bool:
    if isinstance(x, jx.Var):
        return False
    host = x.value.host
    # by its bits, so that -0.0 is none
    return not host.size or not any(opd.first_element(host).tobytes())


def _arm(items: Sequence[_Item]) -> _Arm:
    segments: list[list[jx.JaxprEqn]] = [[]]
    choices: list[_Choice] = []
    for item in items:
        if isinstance(item, _Choice):
            choices.append(item)
            segments.append([])
        else:
            segments[-1].append(item)
    return _Arm(segments, choices)


def _listed(items: Iterable[_Item]) -> list[jx.JaxprEqn | _ConditionalStep]:
    """Return conditionals one after another."""
    steps: list[jx.JaxprEqn | _ConditionalStep] = []
    for item in items:
        if isinstance(item, _Choice):
            _list_choice(item, item.index, False, steps)
        else:
            steps.append(item)
    return steps


def _list_choice(
    choice: _Choice, index: jx.Atom, is_nested: bool, steps: list[jx.JaxprEqn | _ConditionalStep]
) -> None:
    """Append the steps of a conditional; an inner one has a further branch, of zeros."""
    arms = choice.arms
    rounds = max(len(arm.choices) for arm in arms)
    nothing: list[list[jx.JaxprEqn]] = [[]] * is_nested
    with frames.LEVEL:
        for position in range(rounds):
            segments: list[list[jx.JaxprEqn]] = []
            inner: list[tuple[_Choice, jx.Var]] = []
            chosen: list[tuple[jx.Var, list[jx.Atom]]] = []
            for i, arm in enumerate(arms):
                if position >= len(arm.choices):
                    segments.append([])
                    continue
                segments.append(arm.segments[position])
                other = arm.choices[position]
                aval = other.index.aval
                column: list[jx.Atom] = [jx.splat_literal(len(other.arms), aval)]
                column *= len(arms) + is_nested
                column[i] = other.index
                selector = jx.Var(aval)
                inner.append((other, selector))
                chosen.append((selector, column))
            steps.append(_ConditionalStep(choice.eqn, index, [*segments, *nothing], chosen))
            for other, selector in inner:
                _list_choice(other, selector, True, steps)
    last = [arm.segments[-1] for arm in arms]
    results = [
        (var, [*column, jx.zero_literal(var.aval)] if is_nested else column)
        for var, column in choice.results
    ]
    steps.append(_ConditionalStep(choice.eqn, index, [*last, *nothing], results))


def _live_equations(
    steps: Sequence[jx.JaxprEqn | _ConditionalStep], outs: Iterable[jx.Atom]
) -> list[jx.JaxprEqn]:
    """Return the equations for live steps; every step passes on the values that later ones use."""
    live = {x for x in outs if isinstance(x, jx.Var)}
    eqns: list[jx.JaxprEqn] = []
    for step in reversed(steps):
        written = step if isinstance(step, jx.JaxprEqn) else _written_step(step, live)
        if not live.isdisjoint(written.out_binders) or jx.effects_of(written).any:
            eqns.append(written)
            live.update(x for x in written.inputs if isinstance(x, jx.Var))
    eqns.reverse()
    return eqns


def _written_step(step: _ConditionalStep, live: set[jx.Var]) -> jx.JaxprEqn:
    results = [(var, column) for var, column in step.results if var in live]
    binders: list[jx.Var] = [var for var, _ in results]
    columns = [column for _, column in results]
    branch_eqns: list[list[jx.JaxprEqn]] = []
    operands: dict[jx.Var, None] = {}
    for i, segment in enumerate(step.segments):
        used = {column[i] for column in columns}
        eqns: list[jx.JaxprEqn] = []
        for eqn in reversed(segment):
            exported = [v for v in eqn.out_binders if v in live]
            if exported or not used.isdisjoint(eqn.out_binders) or jx.effects_of(eqn).any:
                eqns.append(eqn)
                used.update(eqn.inputs)
            for var in exported:
                binders.append(var)
                column: list[jx.Atom] = [jx.zero_literal(var.aval)] * len(step.segments)
                column[i] = var
                columns.append(column)
        eqns.reverse()
        branch_eqns.append(eqns)
        bound = {v for eqn in eqns for v in eqn.out_binders}
        # in the order of use, which is the same in every process
        mentioned = [x for eqn in eqns for x in eqn.inputs] + [column[i] for column in columns]
        operands.update({x: None for x in mentioned if isinstance(x, jx.Var) and x not in bound})
    in_binders = tuple(operands)
    branches = tuple(
        [
            jx.Jaxpr(in_binders, tuple(eqns), tuple([column[i] for column in columns]))
            for i, eqns in enumerate(branch_eqns)
        ]
    )
    params = step.eqn.primitive.rule(program_rules.CHOICE)(branches)
    inputs = (step.index, *in_binders)
    return jx.JaxprEqn(step.eqn.primitive, inputs, params, tuple(binders), step.eqn.source)


def _has_loop(jaxpr: jx.Jaxpr) -> bool:
    """Return whether there is a loop in a program."""
    return jx.some_eqn(
        jaxpr, "has loop", lambda eqn: program_rules.STATE in eqn.primitive.rules.extensions
    )


#: What programs without a placement run on.
PLATFORM: Final = "cpu"


def lowered(
    jaxpr: jx.Jaxpr,
    name: str,
    aliases: Sequence[int | None] = (),
    locate: Locate | None = None,
    platform: str = PLATFORM,
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr, and the Python functions that it calls.

    Args:
        jaxpr: the program; deep nests in it are flattened.
        name: the module's name.
        aliases: for each parameter, which result may take its memory.
        locate: says where equations come from; nothing does by default.
        platform: the platform that it runs on.
    """
    with compilation.span("lower", program=name):
        if _has_loop(jaxpr) and (bounds := lazy.hook("index_bounds")):
            jaxpr = bounds.without_tests(jaxpr)
        if platform != PLATFORM:
            return write_module(unnest(jaxpr), name, aliases, platform, locate)
        apart = products.kept_apart(unnest(jaxpr))
        return write_module(apart, name, aliases, platform, locate, updates.schedule)

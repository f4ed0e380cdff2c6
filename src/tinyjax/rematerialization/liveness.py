"""How much memory a program needs at its peak, as XLA lays it out on CPU.

Values live from the equation that computes them to the last one that reads them. What XLA fuses
into the loops that read it is never in memory. An elementwise operation writes over an operand that
ends with it. The branches of a conditional and the body of a loop bring their own peak.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence

import attrs

from tinyjax.core.names import cfp, jx, pr, stg
from tinyjax.exploring.numbering import programs_run
from tinyjax.primitives.convolution import ConvParams, with_features_last
from tinyjax.rematerialization.fusion import Fusions, moves, writes_over


def inline(
    jaxpr: jx.Jaxpr, called: Callable[[jx.JaxprEqn], jx.Jaxpr | None], merge: bool = False
) -> jx.Jaxpr:
    """Write programs in the places of equations, with variables of their own.

    Args:
        jaxpr: the program.
        called: of an equation, the program that it stands for; None for one that stays.
        merge: whether equations that compute the same become one, as XLA has it.
    """
    eqns: list[jx.JaxprEqn] = []
    known: dict[Hashable, tuple[jx.Var, ...]] = {}

    def run(jaxpr: jx.Jaxpr, args: tuple[jx.Atom, ...]) -> tuple[jx.Atom, ...]:
        env: dict[jx.Atom, jx.Atom] = dict(zip(jaxpr.in_binders, args, strict=True))
        for eqn in jaxpr.eqns:
            inputs = tuple([env.get(x, x) for x in eqn.inputs])
            program = called(eqn)
            if program is None:
                binders = tuple([jx.Var(v.aval) for v in eqn.out_binders])
                same = binders
                if merge and not programs_run(eqn) and not jx.effects_of(eqn).any:
                    same = known.setdefault((eqn.primitive, eqn.params, *map(_key, inputs)), same)
                if same is binders:
                    eqns.append(attrs.evolve(eqn, inputs=inputs, out_binders=binders))
                env.update(zip(eqn.out_binders, same, strict=True))
            else:
                env.update(zip(eqn.out_binders, run(program, inputs), strict=True))
        return tuple([env.get(x, x) for x in jaxpr.outs])

    outs = run(jaxpr, jaxpr.in_binders)
    return jx.Jaxpr(jaxpr.in_binders, tuple(eqns), outs)


def _key(x: jx.Atom) -> Hashable:
    return x if isinstance(x, jx.Var) else (x.aval, x.value.host.ravel()[:1].tobytes())


def temporary_bytes(jaxpr: jx.Jaxpr, ending: tuple[int, ...] = ()) -> int:
    """Predict the peak of what a program holds besides its parameters and its results.

    Args:
        jaxpr: the program.
        ending: the parameters that nobody needs later, whose memory the program may write over.
    """

    def predict() -> int:
        program = inline(jaxpr, _inlined, merge=True)
        return _Program(program, [program.in_binders[i] for i in ending]).peak(False)

    return jaxpr.derive(("temporary bytes", ending), predict)


def needed_bytes(jaxpr: jx.Jaxpr) -> int:
    """Predict the peak of what a program holds besides its parameters.

    XLA has results in memory of their own, where other values are as long as there is room.
    """
    program = inline(jaxpr, _inlined, merge=True)
    peak = _Program(program, ()).peak(True)
    computed = {v for eqn in program.eqns for v in eqn.out_binders}
    return peak + sum(_size(x) for x in program.outs if x not in computed)


def _inlined(eqn: jx.JaxprEqn) -> jx.Jaxpr | None:
    if isinstance(eqn.params, ConvParams):
        moved = with_features_last(eqn.params)
        return moved and stg.stage(moved, [x.aval for x in eqn.inputs]).jaxpr
    rules = eqn.primitive.rules.extensions
    return eqn.primitive.rule(pr.INLINED)(eqn.params) if pr.INLINED in rules else None


def _size(x: jx.Atom) -> int:
    """The bytes of an array in memory, where it begins at a multiple of 64."""
    return -(-x.aval.nbytes // 64) * 64


def _is_conditional(eqn: jx.JaxprEqn) -> bool:
    return bool(programs_run(eqn)) and not isinstance(eqn.params, cfp.ScanParams | cfp.WhileParams)


@attrs.define(eq=False)
class _Buffer:
    """Memory, from the step that first writes it to the last one that reads it."""

    size: int
    start: int = 0
    stop: int = -1
    result: bool = False

    def overlaps(self, other: _Buffer) -> bool:
        return self.start <= other.stop and other.start <= self.stop


@attrs.frozen(eq=False)
class _Step:
    """An operation, with those that it computes on the way.

    Attributes:
        eqn: the operation.
        read: the values in memory that it reads.
        moved: those of them whose elements it does not read at their own places.
        made: its results.
    """

    eqn: jx.JaxprEqn
    read: frozenset[jx.Var]
    moved: frozenset[jx.Var]
    made: Sequence[jx.Var]


class _Program:
    """A program without calls, and where its values are."""

    def __init__(self, jaxpr: jx.Jaxpr, carried: Iterable[jx.Var]) -> None:
        self.carried = tuple(carried)
        self.eqns = jaxpr.eqns
        self.fusions = Fusions(jaxpr)
        self.results = self.fusions.results
        variables = (*jaxpr.in_binders, *[v for eqn in jaxpr.eqns for v in eqn.out_binders])
        self._places = {v: i for i, v in enumerate(variables)}
        self.turned: set[jx.Atom] = set()
        self.read: dict[jx.Var, tuple[frozenset[jx.Var], frozenset[jx.Var]]] = {}

    def _reading(self, x: jx.Atom) -> tuple[frozenset[jx.Var], frozenset[jx.Var]]:
        """The values in memory that reading an atom reads, and those of which elements move."""
        read = moved = frozenset[jx.Var]()
        for var in self.fusions.source(x):
            own = self.read.get(var) or (frozenset((var,)), frozenset())  # of a parameter
            read, moved = read | own[0], moved | own[1]
        return read, moved

    def _read_by(self, eqn: jx.JaxprEqn) -> tuple[frozenset[jx.Var], frozenset[jx.Var]]:
        """The values in memory that an equation reads, and those of which it moves elements."""
        none = frozenset[jx.Var]()
        pairs = [self._reading(x) for x in eqn.inputs]
        read = none.union(*[read for read, _ in pairs])
        if moves(eqn):
            return read, read
        return read, none.union(*[moved for _, moved in pairs])

    def _in_order(self, values: Iterable[jx.Var]) -> list[jx.Var]:
        """Values in the order of the program: sets have another one in each process."""
        return sorted(values, key=self._places.__getitem__)

    def _inside(self, eqn: jx.JaxprEqn, ending: frozenset[jx.Var]) -> int:
        """The peak of what an operation holds besides its operands and its results."""
        params = eqn.params
        if isinstance(params, cfp.WhileParams):
            return temporary_bytes(
                params.body, tuple(range(params.num_body, len(params.body.in_binders)))
            )
        if isinstance(params, cfp.ScanParams):
            first = params.num_consts
            return temporary_bytes(params.jaxpr, tuple(range(first, first + params.num_carry)))
        peak = 0
        for program in programs_run(eqn):
            operands = eqn.inputs[len(eqn.inputs) - len(program.in_binders) :]
            read = enumerate(self._reading(x)[0] for x in operands)
            over = tuple([i for i, buffers in read if buffers and buffers <= ending])
            peak = max(peak, temporary_bytes(program, over))
        return peak + sum(_size(x) for x in eqn.inputs if x in self.turned)

    def _steps(self) -> list[_Step]:
        """What XLA does one after the other: first come the operations that can, first served."""
        steps: list[_Step] = []
        readers: defaultdict[jx.Var, list[_Step]] = defaultdict(list)
        for eqn in self.eqns:
            # conditionals take what they are given in any order of axes, and copy it inside
            fusions = self.fusions
            turned = fusions.is_turned(eqn) and all(map(_is_conditional, fusions.readers[eqn]))
            self.turned.update(eqn.out_binders if turned else ())
            made = [] if turned or fusions.is_fused(eqn) else eqn.out_binders
            reading = self._read_by(eqn)
            self.read.update(dict.fromkeys(eqn.out_binders, reading))
            self.read.update({v: (frozenset((v,)), frozenset()) for v in made})
            if made:
                step = _Step(eqn, *reading, made)
                if not step.read and len(made) == 1 and made[0].aval.size == 1:  # a constant
                    self.read[made[0]] = step.read, step.read
                    continue
                steps.append(step)
                for v in self._in_order(step.read):
                    readers[v].append(step)
        waiting = {step: len(step.read) for step in steps}
        ready: deque[jx.Var | _Step] = deque(v for v in readers if v not in self.fusions.origin)
        ready.extend(step for step in steps if not step.read)
        order: list[_Step] = []
        while ready:
            node = ready.popleft()
            values = [node] if isinstance(node, jx.Var) else node.made
            if isinstance(node, _Step):
                order.append(node)
                if len(node.eqn.out_binders) > 1:
                    ready.extend(values)
                    continue
            for v in values:
                for step in readers[v]:
                    waiting[step] -= 1
                    if not waiting[step]:
                        ready.append(step)
        return order

    def peak(self, with_results: bool) -> int:
        """The most bytes in memory at once: without results, or with them and in their memory."""
        steps = self._steps()
        last: dict[jx.Var, int] = {}
        for i, step in enumerate(steps):
            last.update(dict.fromkeys((*step.read, *step.made), i))
        buffers = {v: _Buffer(0) for v in self.carried}
        inside: list[int] = []
        for i, step in enumerate(steps):
            eqn = step.eqn
            ending = [
                v
                for v in self._in_order(step.read)
                if v in buffers and last[v] == i and v not in self.results
            ]
            ending.sort(key=lambda v: buffers[v].size)
            inside.append(self._inside(eqn, frozenset(ending)))
            taken: dict[int, jx.Var] = {}
            if writes_over(eqn):
                taken = {_size(v): v for v in ending if v not in step.moved}
            for v in step.made:
                stop = len(steps) if v in self.results else last[v]
                under = taken.pop(_size(v), None)
                if under is not None and (with_results or v not in self.results):
                    buffers[v] = buffers[under]
                    buffers[v].stop, buffers[v].result = stop, v in self.results
                elif with_results or v not in self.results:
                    buffers[v] = _Buffer(_size(v), i, stop, v in self.results)
        distinct = {id(buffer): buffer for buffer in buffers.values()}.values()
        taking = [[buffer] for buffer in distinct if buffer.result]
        changes = [0] * (len(steps) + 2)
        for buffer in sorted(distinct, key=lambda buffer: -buffer.size):
            if buffer.result:
                continue
            for others in taking:
                if others[0].size >= buffer.size and not any(map(buffer.overlaps, others)):
                    others.append(buffer)
                    break
            else:
                changes[buffer.start] += buffer.size
                changes[buffer.stop + 1] -= buffer.size
        live = itertools.accumulate(changes)
        peak = max(map(operator.add, inside, live), default=0)
        return peak + sum(others[0].size for others in taking)

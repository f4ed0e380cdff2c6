"""The peak memory of a program, as XLA allocates it on CPU.

Values live from the equation that computes them to the last one that reads them. Values that XLA
fuses into their readers are never in memory. An elementwise operation writes over an operand that
ends with it. The branches of a conditional and the body of a loop have their own peak.
"""

from __future__ import annotations

import bisect
import operator
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from math import inf

import attrs

from tinyjax._extensions.costs import programs_run
from tinyjax._extensions.rematerialization.fusion import Fusions, is_in_loops, moves, writes_over
from tinyjax._primitives.convolution import ConvParams, with_features_last
from tinyjax._primitives.linear_maps import LinearMapParams
from tinyjax.core.control_flow.bodies import LoopBody
from tinyjax.core.control_flow.primitives import ScanParams, WhileParams
from tinyjax.core.tracing import jaxpr as jx, program_rules, staging


def _same(eqn: jx.JaxprEqn) -> Hashable | None:
    """Return a key that equal equations share, which XLA computes once; None if there is no key."""
    if programs_run(eqn) or jx.effects_of(eqn).any:
        return None
    return (eqn.primitive, eqn.params, *map(_key, eqn.inputs))


def _key(x: jx.Atom) -> Hashable:
    return x if isinstance(x, jx.Var) else (x.aval, x.value.host.ravel()[:1].tobytes())


def temporary_bytes(jaxpr: jx.Jaxpr) -> int:
    """Predict the peak memory of a program besides its parameters and its results.

    Before the results are there, their memory is free for other values.
    """

    def predict() -> int:
        return max(0, _room(_Program(jaxpr).buffers()) - sum(map(_size, jaxpr.outs)))

    return jaxpr.derive("temporary bytes", predict)


def _bytes_of_loop(body: LoopBody) -> int:
    """Predict the peak memory of a loop with this body besides its operands and its results."""
    jaxpr, first, count = body.jaxpr, body.num_consts, body.num_carry
    key = "bytes of loop", first, count
    return jaxpr.derive(key, lambda: _room(_Program(jaxpr, first, count).buffers()))


def needed_bytes(jaxpr: jx.Jaxpr) -> int:
    """Predict the peak memory of a program besides its parameters.

    XLA gives results memory of their own, which other values use as long as they fit.
    """
    program = _Program(jaxpr)
    buffers = program.buffers(inner=False)
    taking = [[buffer] for buffer in buffers if buffer.result]
    apart = [buffer for buffer in buffers if not buffer.result]
    for buffer in apart[:]:
        for taken in taking:
            if taken[0].size >= buffer.size and not any(map(buffer.overlaps, taken)):
                taken.append(buffer)
                apart.remove(buffer)
                break
    # a value that is a result twice is stored twice
    outs, origin = program.outs, program.fusions.origin
    results = [_size(x) for i, x in enumerate(outs) if x not in origin or x in outs[:i]]
    results += [taken[0].size for taken in taking]
    return _room(apart) + sum(results)


def _room(buffers: Iterable[_Buffer]) -> int:
    """Return the bytes that buffers take if each in turn is placed where it fits best."""
    placed: list[
        tuple[int, int, int, int]
    ] = []  # where each begins and ends, and from when to when
    for buffer in buffers:
        size, start, stop = buffer.size, buffer.start, buffer.stop
        end, best = 0, (inf, 0)
        for first, last, since, until in placed:  # all pairs are compared: no call in between
            if start <= until and since <= stop:
                if size <= first - end < best[0]:
                    best = first - end, end
                end = max(end, last)
        place = end if best[0] == inf else best[1]
        bisect.insort(placed, (place, place + size, start, stop), key=operator.itemgetter(0))
    return max([last for _, last, _, _ in placed], default=0)


def _inlined(eqn: jx.JaxprEqn) -> jx.Jaxpr | None:
    if isinstance(eqn.params, ConvParams):
        moved = with_features_last(eqn.params)
        return moved and staging.stage(moved, [x.aval for x in eqn.inputs]).jaxpr
    if isinstance(eqn.params, LinearMapParams):
        return eqn.params.forward
    rules = eqn.primitive.rules.extensions
    return (
        eqn.primitive.rule(program_rules.INLINING)(eqn.params)
        if program_rules.INLINING in rules
        else None
    )


def _size(x: jx.Atom) -> int:
    """Return the bytes of an array in memory, where it begins at a multiple of 64."""
    return -(-x.aval.nbytes // 64) * 64


def _is_conditional(eqn: jx.JaxprEqn) -> bool:
    return bool(programs_run(eqn)) and not isinstance(eqn.params, ScanParams | WhileParams)


@attrs.define(eq=False)
class _Buffer:
    """Memory, from the step that first writes it to the last one that reads it."""

    size: int
    start: int
    stop: int = -1
    result: bool = False

    def overlaps(self, other: _Buffer) -> bool:
        return self.start <= other.stop and other.start <= self.stop


@attrs.frozen(eq=False)
class _LiveOperation:
    """An operation, with the operations that its loop computes for it.

    Attributes:
        eqn: the operation.
        read: the values in memory that it reads.
        moved: the values among ``read`` of which it does not read each element at its own index.
        made: its results.
    """

    eqn: jx.JaxprEqn
    read: frozenset[jx.Var]
    moved: frozenset[jx.Var]
    made: Sequence[jx.Var]


def _of_convolution(node: jx.Var | _LiveOperation) -> int:
    """Return the bytes of a convolution's result; 0 for another equation."""
    if not isinstance(node, _LiveOperation) or not isinstance(node.eqn.params, ConvParams):
        return 0
    return _size(node.made[0])


class _Program:
    """A program without calls, and where its values are.

    Args:
        jaxpr: the program.
        first: for a loop's body, the first parameter that iterations carry; after the carried ones
            come parts of operands.
        count: the number of carried parameters.
    """

    def __init__(self, jaxpr: jx.Jaxpr, first: int | None = None, count: int = 0) -> None:
        jaxpr = program_rules.inlined(jaxpr, _inlined, _same)
        self.outs, self.eqns = jaxpr.outs, jaxpr.eqns
        self.fusions = Fusions(jaxpr)
        self.is_body = first is not None
        self.parts = frozenset(jaxpr.in_binders[(first or 0) + count :] if self.is_body else ())
        states = jaxpr.in_binders[first:][:count]
        self.states: dict[jx.Atom, jx.Var] = dict(zip(jaxpr.outs, states, strict=False))
        self.results = self.fusions.results
        variables = (*jaxpr.in_binders, *[v for eqn in jaxpr.eqns for v in eqn.out_binders])
        self._places = {v: i for i, v in enumerate(variables)}
        self.turned: set[jx.Atom] = set()
        self.read: dict[jx.Var, tuple[frozenset[jx.Var], frozenset[jx.Var]]] = {}

    def _reading(self, x: jx.Atom) -> tuple[frozenset[jx.Var], frozenset[jx.Var]]:
        """Return the values in memory read through an atom, and those whose elements move."""
        read = moved = frozenset[jx.Var]()
        for var in self.fusions.source(x):
            own = self.read.get(var) or (frozenset((var,)), frozenset())  # of a parameter
            read, moved = read | own[0], moved | own[1]
        return read, moved

    def _read_by(self, eqn: jx.JaxprEqn) -> tuple[frozenset[jx.Var], frozenset[jx.Var]]:
        """Return the values in memory that an equation reads, and those whose elements move."""
        none = frozenset[jx.Var]()
        pairs = [self._reading(x) for x in eqn.inputs]
        read = none.union(*[read for read, _ in pairs])
        return read, read if moves(eqn) else none.union(*[moved for _, moved in pairs])

    def _in_order(self, values: Iterable[jx.Var]) -> list[jx.Var]:
        """Sort values as the program computes them: sets differ in order between processes."""
        return sorted(values, key=self._places.__getitem__)

    def _inside(self, eqn: jx.JaxprEqn) -> int:
        """Return the peak memory of an operation besides its operands and its results."""
        params = eqn.params
        if isinstance(params, ScanParams | WhileParams):
            return _bytes_of_loop(params.loop_body)
        # a conditional holds its operands to its end
        peak = max(map(temporary_bytes, programs_run(eqn)), default=0)
        return peak + sum(_size(x) for x in eqn.inputs if x in self.turned)

    def _steps(self) -> list[_LiveOperation]:
        """Return XLA's steps in order: ready operations, first come, first served."""
        steps: list[_LiveOperation] = []
        readers: defaultdict[jx.Var, list[_LiveOperation]] = defaultdict(list)
        for eqn in self.eqns:
            # a conditional takes operands with any order of axes, and copies them inside
            fusions = self.fusions
            turned = fusions.is_turned(eqn) and all(map(_is_conditional, fusions.readers[eqn]))
            self.turned.update(eqn.out_binders if turned else ())
            made = [] if turned or fusions.is_fused(eqn) else eqn.out_binders
            reading = self._read_by(eqn)
            self.read.update(dict.fromkeys(eqn.out_binders, reading))
            self.read.update({v: (frozenset((v,)), frozenset()) for v in made})
            if made:
                step = _LiveOperation(eqn, *reading, made)
                if not step.read and len(made) == 1 and made[0].aval.size == 1:  # a constant
                    self.read[made[0]] = step.read, step.read
                    continue
                steps.append(step)
                for v in self._in_order(step.read):
                    readers[v].append(step)
        at = {step: i for i, step in enumerate(reversed(steps), 1)}
        for taking in readers.values():  # XLA makes loops of several operations from the end
            taking.sort(key=lambda step: is_in_loops(step.eqn) * at[step])
        waiting = {step: len(step.read) for step in steps}
        ready: deque[jx.Var | _LiveOperation] = deque(
            v for v in readers if v not in self.fusions.origin
        )
        ready.extend(step for step in steps if not step.read)
        order: list[_LiveOperation] = []
        while ready:
            node = ready[0]
            if _of_convolution(node):  # XLA may begin with any of them: assume the largest
                node = max(ready, key=_of_convolution)
            ready.remove(node)
            values = [node] if isinstance(node, jx.Var) else node.made
            if isinstance(node, _LiveOperation):
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

    def _overwritten(
        self, step: _LiveOperation, ending: Sequence[jx.Var], inner: bool
    ) -> dict[jx.Var, jx.Var]:
        """Return the results that take the memory of operands ending with them.

        The result of a loop or conditional is overwritten only by a loop whose carry starts from
        it. In an inner program, results take no operand's memory, and loops may take that of
        parameters.
        """
        eqn, loop = step.eqn, step.eqn.params
        if isinstance(loop, ScanParams | WhileParams):
            skip = loop.num_condition if isinstance(loop, WhileParams) else 0
            states = loop.loop_body.operands(eqn.inputs[skip:]).carry
            pairs = zip(eqn.out_binders, map(self.fusions.source, states), strict=False)
            ended = [(v, x) for v, read in pairs for x in read if inner or x in ending]
            return {v: x for v, x in ended if x in ending or x not in self.fusions.origin}
        if not writes_over(eqn):
            return {}
        origin = self.fusions.origin
        own = [v for v in ending if not (v in origin and programs_run(origin[v]))]
        by_size = {_size(v): v for v in own if v not in step.moved}
        made = [v for v in step.made if not (inner and v in self.results)]
        return {v: by_size.pop(_size(v)) for v in made if _size(v) in by_size}

    def buffers(self, inner: bool = True) -> list[_Buffer]:
        """Return the buffers in memory with their lifetimes, large ones first.

        For a loop's body, buffers of the loop's operands and results are not included.

        Args:
            inner: whether it is the program of an equation, whose results write over nothing.
        """
        steps = self._steps()
        last = {v: i for i, step in enumerate(steps) for v in (*step.read, *step.made)}
        buffers: dict[jx.Var, _Buffer] = {}
        for i, step in enumerate(steps):
            for state in [self.states[v] for v in step.made if v in self.states]:
                # the carry is copied, since it is read after the next one is written
                if last.get(state, -1) >= i + (writes_over(step.eqn) and state not in step.moved):
                    buffers[state] = _Buffer(_size(state), i, last[state])
        inside: list[_Buffer] = []
        for i, step in enumerate(steps):
            in_loops = is_in_loops(step.eqn)
            for v in () if in_loops else step.read & self.parts:  # is copied, to be read whole
                buffers.setdefault(v, _Buffer(_size(v), i)).stop = i
            # is of several arrays; two at a time are placed about as well as XLA places each
            part = 2 * max(map(_size, (*step.eqn.inputs, *step.eqn.out_binders))) or 1
            whole, rest = divmod(self._inside(step.eqn), part)
            inside += [_Buffer(size, i, i) for size in [*[part] * whole, rest]]
            read = self._in_order(step.read & buffers.keys() - self.results)
            ending = sorted((v for v in read if last[v] == i), key=lambda v: buffers[v].size)
            over = self._overwritten(step, ending, inner)
            for v in step.made:
                is_result = v in self.results
                # the next state, and what goes into a result of the loop
                if self.is_body and is_result and (v in self.states or (in_loops and last[v] == i)):
                    continue
                size = 0 if v in over else _size(v)
                buffers[v] = buffers.get(over.get(v, v)) or _Buffer(size, i)
                buffers[v].stop = len(steps) if is_result else last[v]
                buffers[v].result = is_result
        arrays = {id(buffer): buffer for buffer in buffers.values()}.values()
        return sorted((*arrays, *inside), key=lambda buffer: -buffer.size)

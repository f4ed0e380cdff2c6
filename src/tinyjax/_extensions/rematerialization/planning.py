"""The plan of a derivative under a memory budget: a chain of blocks, some of which run again.

A block ends at the narrowest point between two operations that are worth keeping, where the fewest
bytes are live. Its backward pass is a unit: it starts from the kept values and from the cotangents
of the block's results, and its temporary values end with it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import comb
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base import frames
from tinyjax._extensions.checkpointing import policies, transformation
from tinyjax._extensions.costs import estimate, iterations, programs_run, work_of
from tinyjax._extensions.rematerialization import cut, liveness
from tinyjax._extensions.rematerialization.chain import ChainPiece, cheapest, least_memory
from tinyjax.core.control_flow.primitives import ScanParams
from tinyjax.core.jit import program
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, staging
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.transforms.transpose import transpose_jaxpr
from tinyjax.core.values import Array

#: A program is divided into at most so many blocks, at its narrowest points.
_MOST_BLOCKS: Final = 128
#: The memory of a program differs from the sum over its blocks. So plans are made for at most so
#: many bounds on this sum, until the predicted memory of a plan's program is within the budget. The
#: first bound is this multiple of the budget; each later one is less, by a percentage that grows.
_MOST_CHOICES: Final = 20
_MORE_MEMORY: Final = 1.1
_LESS_MEMORY: Final = 0.993
#: The plan of least memory is that of the best of these multiples of the least possible bound.
_NEAR_THE_LEAST: Final = (1.0, 1.05, 1.1, 1.15, 1.2)
#: For a loop at most so many different numbers of kept states are tried; each is the one before
#: times a constant.
_NUMBERS_OF_STATES: Final = 100
_KEEP_CUT: Final = cut.KeepCut()
#: A loop is split into at most so many consecutive parts, with at most so many equations together.
_PARTS: Final = 16
_MOST_EQUATIONS: Final = 1000


@attrs.frozen
class Recomputation:
    """Part of a function that is computed again.

    Attributes:
        location: the line of its last operation; None where that is not known.
        operations: how many operations it has, loops counted as one.
        kept: bytes of the values that it starts from.
        way: its description, in words.
    """

    location: frames.Location | None
    operations: int
    kept: int
    way: str


@attrs.frozen(repr=False)
class MemoryPlan:
    """The plan of a derivative within a memory budget: what it keeps, and what it computes again.

    Bytes count results, gradients among them, and temporary values, but not the arguments.

    Attributes:
        budget: the available bytes.
        peak: the bytes that the compiled program is predicted to need at its peak.
        results: the number of these that are results.
        least: the least bytes for which there is a plan.
        kept: bytes kept from the forward pass to the backward pass.
        work: the recomputed work, as a fraction of the forward pass.
        again: the parts that are computed again.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def loss(ws, x):
        ...     for w in ws:
        ...         x = jnp.tanh(x @ w)
        ...     return jnp.sum(x)
        >>> ws, x = [jnp.ones((64, 64))] * 16, jnp.ones((512, 64))
        >>> plan = tinyjax.autodiff.memory_plan(loss, 1_500_000)(ws, x)
        >>> for line in str(plan).splitlines()[:4]:
        ...     print(line)
        memory budget 1.50 MB, predicted peak 1.44 MB
          0.26 MB are results
          0.79 MB are kept for the backward pass
          62% of the forward pass is computed again
    """

    budget: int
    peak: int
    results: int
    least: int
    kept: int
    work: float
    again: tuple[Recomputation, ...]

    def __repr__(self) -> str:
        lines = [
            f"memory budget {_size(self.budget)}, predicted peak {_size(self.peak)}",
            f"  {_size(self.results)} are results",
            f"  {_size(self.kept)} are kept for the backward pass",
            f"  {self.work:.0%} of the forward pass is computed again",
            f"  the least possible budget is {_size(self.least)}",
        ]
        for part, times in Counter(self.again).items():
            where = "" if part.location is None else f" to {part.location}: {part.location.text}"
            count = f"{times} x " if times > 1 else ""
            lines.append(
                f"  {count}{part.way}, from {_size(part.kept)}: {part.operations} operations{where}"
            )
        return "\n".join(lines)


def _size(count: int) -> str:
    if count < 10_000:
        return f"{count:,} bytes"
    return f"{count / 1e6:,.2f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


# Blocks


@attrs.frozen(eq=False)
class _Variant:
    """A way to process one block.

    Attributes:
        jaxpr: the block.
        saved: bytes of its results that are kept.
        inputs: the parameters that are kept.
        working: bytes that its backward pass needs, without cotangents that it returns.
        cotangents: for each parameter the bytes of its cotangent.
        nonzero_out: which results have a derivative.
        cost: the cost of recomputation besides cheap operations.
        cost_of_saved: the cost of computing the kept values from the parameters.
        way: its description, in words.
    """

    jaxpr: jx.Jaxpr
    saved: int
    inputs: tuple[int, ...]
    working: int
    cotangents: tuple[int, ...]
    nonzero_out: tuple[bool, ...]
    cost: float = 0.0
    cost_of_saved: float = 0.0
    way: str = ""


@attrs.frozen(eq=False)
class _Block:
    """Part of a program.

    Attributes:
        inputs: the variables that it reads.
        outs: its results that others read.
        variants: the ways to process it; the first keeps what is worth keeping.
        cost: the cost of the whole.
        eqns: its equations.
    """

    inputs: tuple[jx.Var, ...]
    outs: tuple[jx.Var, ...]
    variants: tuple[_Variant, ...]
    cost: float
    eqns: tuple[jx.JaxprEqn, ...]

    @property
    def differentiated(self) -> bool:
        return any(self.variants[0].nonzero_out)

    @property
    def location(self) -> frames.Location | None:
        sources = [eqn.source for eqn in self.eqns if eqn.source is not None]
        return sources[-1].location if sources else None


def _cost(jaxpr: jx.Jaxpr) -> float:
    """Estimate the cost of a program, in operations."""

    def count() -> float:
        total = 0.0
        for eqn in jaxpr.eqns:
            inner = sum(map(_cost, programs_run(eqn)))
            total += (iterations(eqn) or 1) * inner if inner else estimate(work_of(eqn))
        return total

    return jaxpr.derive("estimated cost", count)


def _divided(jaxpr: jx.Jaxpr) -> list[int]:
    """Return the places at which a program is divided: before which equation each block begins."""
    eqns = jaxpr.eqns
    last: dict[jx.Atom, int] = {x: i for i, eqn in enumerate(eqns) for x in eqn.inputs}
    last.update(dict.fromkeys(jaxpr.outs, len(eqns)))
    changes = [0] * (len(eqns) + 1)
    for i, eqn in enumerate(eqns):
        for v in eqn.out_binders:
            if v in last:
                changes[i] += v.aval.nbytes
                changes[last[v]] -= v.aval.nbytes
    widths = list(itertools.accumulate(changes))
    heavy = [i for i, eqn in enumerate(eqns) if transformation.materializes_eqn(eqn)]
    narrowest = [min((widths[i], i) for i in range(a, b)) for a, b in itertools.pairwise(heavy)]
    return sorted(i + 1 for _, i in sorted(narrowest)[: _MOST_BLOCKS - 1])


def _variant(
    jaxpr: jx.Jaxpr, nonzero: tuple[bool, ...], cost: float = 0.0, way: str = ""
) -> _Variant:
    """Return a block's variant: its kept values, and the memory of its backward pass."""
    linearized = transformation.linearize(jaxpr, nonzero, _KEEP_CUT)
    primal, tangent = linearized.primal, linearized.tangent
    results, skipped = len(linearized.nonzero_out), len(linearized.consts)
    saved = [x for x in primal.outs[results:] if x not in primal.outs[:results]]
    num_tangents = sum(nonzero)
    linear = [i >= len(tangent.in_binders) - num_tangents for i in range(len(tangent.in_binders))]
    transposed = transpose_jaxpr(tangent, tuple(linear), (True,) * len(tangent.outs))
    returned = iter(transposed.staged.jaxpr.out_avals)
    sizes = iter([next(returned).nbytes if has else 0 for has in transposed.nonzero_out])
    used = [i < results + len(saved) and i >= results for i in range(len(primal.outs))]
    return _Variant(
        jaxpr,
        sum(x.aval.nbytes for x in saved),
        tuple([i - skipped for i in linearized.operands if i >= skipped]),
        liveness.temporary_bytes(transposed.staged.jaxpr),
        tuple([next(sizes) if has else 0 for has in nonzero]),
        linearized.nonzero_out,
        cost,
        _cost(program_rules.dce(primal, used)) if any(used) else 0.0,
        way,
    )


def _loop_variants(jaxpr: jx.Jaxpr, nonzero: tuple[bool, ...]) -> Iterator[_Variant]:
    """Return variants of a block with a loop, which keep fewer residuals of its iterations."""
    for place, eqn in enumerate(jaxpr.eqns):
        params = eqn.params
        if not isinstance(params, ScanParams) or params.checkpoints or params.length < 2:
            continue

        def changed(place: int = place, **how: Any) -> jx.Jaxpr:
            eqns = list(jaxpr.eqns)
            eqns[place] = attrs.evolve(eqns[place], params=attrs.evolve(eqns[place].params, **how))
            return jx.Jaxpr(jaxpr.in_binders, tuple(eqns), jaxpr.outs)

        body, length = params.jaxpr, params.length
        for policy, times, way in (
            (_KEEP_CUT, 0, "each iteration keeps a minimal cut"),
            (policies.nothing_saveable, length, "each iteration is run again"),
        ):
            again = changed(jaxpr=_iteration(body, policy))
            yield _variant(again, nonzero, times * _cost(body), way)
        # kept bytes and working memory are linear in the number of kept states
        few, many = [_variant(changed(checkpoints=n), nonzero) for n in (1, length - 1)]
        tries = np.geomspace(1, length - 1, _NUMBERS_OF_STATES).round().astype(int).tolist()
        for states in sorted(set(tries)):
            part = (states - 1) / max(length - 2, 1)
            yield attrs.evolve(
                few,
                jaxpr=changed(checkpoints=states),
                saved=round(few.saved + part * (many.saved - few.saved)),
                working=round(few.working + part * (many.working - few.working)),
                cost=_iterations_again(length, states) * _cost(body),
                cost_of_saved=few.cost_of_saved + part * (many.cost_of_saved - few.cost_of_saved),
                way=f"the loop keeps {states:,} of {length:,} states",
            )


def _iterations_again(length: int, states: int) -> int:
    """Return the number of iterations that a loop runs again by ``checkpointing.schedule``."""
    r = next(r for r in itertools.count() if comb(states + r, r) >= length)
    return r * length - comb(states + r, r - 1) if r else 0


def _iteration(body: jx.Jaxpr, policy: policies.Policy) -> jx.Jaxpr:
    """Return a body of a loop that keeps the values of a policy."""
    outs = [jx.Var(x.aval) for x in body.outs]
    eqn = _checkpoint(body.in_binders, body, policy, outs, prevent_cse=False)
    return jx.Jaxpr(body.in_binders, (eqn,), eqn.out_binders)


def _checkpoint(
    inputs: Sequence[jx.Atom],
    jaxpr: jx.Jaxpr,
    policy: policies.Policy,
    outs: Sequence[jx.Var],
    prevent_cse: bool = True,
) -> jx.JaxprEqn:
    params = transformation.CheckpointParams(jaxpr, policy, prevent_cse, name="block")
    return jx.JaxprEqn(transformation.checkpoint_p, tuple(inputs), params, tuple(outs))


@attrs.frozen
class Chosen:
    """A program with chosen checkpoints, and its predicted memory.

    Attributes:
        pieces: the chosen pieces.
        jaxpr: the program.
        peak: bytes of its derivative's results and temporary values.
        results: bytes of the results.
    """

    pieces: tuple[ChainPiece, ...]
    jaxpr: jx.Jaxpr
    peak: int
    results: int

    @property
    def cost(self) -> float:
        """The recomputed work, in operations."""
        return sum(piece.cost for piece in self.pieces)


@attrs.frozen(eq=False, repr=False)
class BudgetParams(prim.Params):
    """A program with a memory budget for its derivative.

    Attributes:
        jaxpr: the program.
        budget: the bytes that its derivative may need besides the arguments.
        value: whether the first result is read.
        name: the function's name; programs that differ in name only are the same.
    """

    jaxpr: jx.Jaxpr
    budget: int
    value: bool
    name: str = attrs.field(default="f", eq=False)


def _called(eqn: jx.JaxprEqn) -> jx.Jaxpr | None:
    """Return the program of a call of ``jit`` or with a budget of its own; None for others."""
    params = eqn.params
    return params.jaxpr if isinstance(params, program.JitParams | BudgetParams) else None


def _in_parts(eqn: jx.JaxprEqn) -> jx.Jaxpr | None:
    """Return a loop split into consecutive parts; None for other equations, or with slices."""
    params = eqn.params
    if not isinstance(params, ScanParams) or params.observer or params.checkpoints:
        return None
    parts = min(_PARTS, params.length // 2, _MOST_EQUATIONS // max(len(params.jaxpr.eqns), 1))
    binders = tuple([jx.Var(x.aval) for x in eqn.inputs])
    operands = params.loop_body.operands(binders)
    if parts < 2 or operands.xs or len(eqn.out_binders) > params.num_carry:
        return None
    if jx.effects_of(eqn).any:
        return None
    state, eqns = tuple(operands.carry), []
    for i in range(parts):
        length = params.length * (i + 1) // parts - params.length * i // parts
        changed = attrs.evolve(params, length=length)
        outs = tuple([jx.Var(x.aval) for x in state])
        inputs = (*operands.consts, *state)
        eqns.append(attrs.evolve(eqn, inputs=inputs, params=changed, out_binders=outs))
        state = outs
    return jx.Jaxpr(binders, tuple(eqns), state)


def chains(jaxpr: jx.Jaxpr, nonzero: tuple[bool, ...], value: bool) -> list[Chain]:
    """Return the chains of a program: with loops whole and, if there are any, in parts."""
    whole = Chain(jaxpr, nonzero, value)
    own = frozenset(whole.jaxpr.eqns)
    divided = program_rules.inlined(whole.jaxpr, lambda eqn: _in_parts(eqn) if eqn in own else None)
    same = len(divided.eqns) == len(whole.jaxpr.eqns)
    return [whole] if same else [whole, Chain(divided, nonzero, value)]


def cheapest_within(among: Sequence[Chain], budget: int, name: str) -> tuple[Chain, Chosen]:
    """Return the cheapest plan for a budget, and its chain.

    Raises:
        MemoryBudgetError: there is none.
    """
    choices: list[tuple[Chain, Chosen]] = []
    failures: list[errors.MemoryBudgetError] = []
    for chain in among:
        try:
            choices.append((chain, chain.cheapest_plan(budget, name)))
        except errors.MemoryBudgetError as error:
            failures.append(error)
    if not choices:
        raise min(failures, key=lambda error: error.least) from None
    return min(choices, key=lambda choice: choice[1].cost)


class Chain:
    """A program as a chain of blocks.

    Args:
        jaxpr: the program.
        nonzero: the parameters that it is differentiated by.
        value: whether its first result is read.
    """

    def __init__(self, jaxpr: jx.Jaxpr, nonzero: tuple[bool, ...], value: bool) -> None:
        self.nonzero, self.value = nonzero, value
        self.jaxpr: jx.Jaxpr = program_rules.dce(program_rules.inlined(jaxpr, _called))
        self.arguments: frozenset[jx.Var] = frozenset(self.jaxpr.in_binders)
        self.blocks: tuple[_Block, ...] = tuple(self._blocks())
        self.pieces: tuple[ChainPiece, ...] = tuple(self._pieces())
        # memory in which every piece fits
        self.enough: int = sum(piece.saved_bytes + piece.working for piece in self.pieces) + 1
        self.solutions: dict[tuple[ChainPiece, ...], Chosen] = {}
        self.least_memory: int = least_memory(self.pieces, len(self.blocks), self.enough)

    def _blocks(self) -> Iterator[_Block]:
        jaxpr = self.jaxpr
        active = {v for v, has in zip(jaxpr.in_binders, self.nonzero, strict=True) if has}
        places = [0, *_divided(jaxpr), len(jaxpr.eqns)]
        read_later: list[frozenset[jx.Atom]] = [frozenset(jaxpr.outs)]
        for start, stop in reversed([*itertools.pairwise(places)][1:]):
            read_later.append(read_later[-1].union(*(e.inputs for e in jaxpr.eqns[start:stop])))
        blocks: dict[jx.Jaxpr, jx.Jaxpr] = {}
        for start, stop in itertools.pairwise(places):
            eqns = jaxpr.eqns[start:stop]
            later = read_later.pop()
            own = {v: None for eqn in eqns for v in eqn.out_binders}
            read = dict.fromkeys(x for eqn in eqns for x in eqn.inputs if isinstance(x, jx.Var))
            inputs = tuple([x for x in read if x not in own])
            outs = tuple([v for v in own if v in later])
            block = jx.Jaxpr(inputs, eqns, outs)
            block = blocks.setdefault(block, block)
            nonzero = tuple([x in active for x in inputs])
            variants = _variants(block, nonzero)
            active.update(prim.marked(outs, variants[0].nonzero_out))
            yield _Block(inputs, outs, variants, _cost(block), eqns)

    def _bytes(self, block: _Block, places: Iterable[int]) -> dict[jx.Var, int]:
        """Return the sizes of those inputs of a block that are not arguments."""
        inputs = [block.inputs[i] for i in places]
        return {x: x.aval.nbytes for x in inputs if x not in self.arguments}

    def _working(self, block: _Block, variant: _Variant) -> int:
        cotangents = zip(block.inputs, variant.cotangents, strict=True)
        return variant.working + sum(n for x, n in cotangents if x not in self.arguments)

    def _pieces(self) -> Iterator[ChainPiece]:
        for start, block in enumerate(self.blocks):
            for number, variant in enumerate(block.variants):
                kept = variant.saved + sum(self._bytes(block, variant.inputs).values())
                working = self._working(block, variant)
                yield ChainPiece(start, start + 1, kept, working, variant.cost, number)
            yield from self._sequences(start)

    def _sequences(self, start: int) -> Iterator[ChainPiece]:
        """Sequences of blocks that keep nothing inside."""
        own: set[jx.Var] = set()
        outside: dict[jx.Var, int] = {}
        cost, held, working = 0.0, 0, 0
        for stop, block in enumerate(self.blocks[start:], start + 1):
            variant = block.variants[0]
            if not block.differentiated:
                return
            everything = self._bytes(block, range(len(block.inputs)))
            needed = everything if variant.cost_of_saved else self._bytes(block, variant.inputs)
            held += variant.saved
            held += sum(n for x, n in self._bytes(block, variant.inputs).items() if x in own)
            working = max(working, held + self._working(block, variant))
            again = cost + variant.cost_of_saved
            if again:
                first = outside | {x: n for x, n in needed.items() if x not in own}
                yield ChainPiece(start, stop, sum(first.values()), working, again)
            outside |= {x: n for x, n in everything.items() if x not in own}
            own.update(block.outs)
            cost += block.cost

    def chosen(self, pieces: tuple[ChainPiece, ...]) -> Chosen:
        """Build the program of some pieces, and predict the memory of its derivative."""
        eqns: list[jx.JaxprEqn] = []
        for piece in pieces:
            blocks = self.blocks[piece.start : piece.stop]
            inner: list[jx.JaxprEqn] = []
            for block in blocks:
                if block.differentiated:
                    jaxpr = block.variants[piece.variant or 0].jaxpr
                    inner.append(_checkpoint(block.inputs, jaxpr, _KEEP_CUT, block.outs))
                else:
                    inner += block.eqns
            if piece.variant is not None:
                eqns += inner
                continue
            own = dict.fromkeys(v for block in blocks for v in block.outs)
            read = dict.fromkeys(x for eqn in inner for x in eqn.inputs if x not in own)
            inputs = [x for x in read if isinstance(x, jx.Var)]
            later = {x for block in self.blocks[piece.stop :] for x in block.inputs}
            outs = [v for v in own if v in later or v in self.jaxpr.outs]
            whole = jx.Jaxpr(tuple(inputs), tuple(inner), tuple(outs))
            nothing = policies.nothing_saveable
            eqns.append(_checkpoint(inputs, whole, nothing, outs))
        jaxpr = jx.Jaxpr(self.jaxpr.in_binders, tuple(eqns), self.jaxpr.outs)
        derivative = _derivative(jaxpr, self.nonzero, self.value)
        results = sum(x.aval.nbytes for x in derivative.outs)
        return Chosen(pieces, jaxpr, liveness.needed_bytes(derivative), results)

    def _choice(self, room: float) -> Chosen:
        """Return the cheapest plan for the sum of the blocks' predictions."""
        pieces = cheapest(self.pieces, len(self.blocks), int(room))
        assert pieces is not None, "there is a choice for the least room"
        if pieces not in self.solutions:
            self.solutions[pieces] = self.chosen(pieces)
        return self.solutions[pieces]

    def least(self) -> Chosen:
        """Return the plan that needs the least memory."""
        rooms = (*[self.least_memory * step for step in _NEAR_THE_LEAST], self.enough)
        return min(map(self._choice, rooms), key=lambda choice: choice.peak)

    def cheapest_plan(self, budget: int, name: str) -> Chosen:
        """Return the cheapest plan for a budget.

        Raises:
            MemoryBudgetError: there is none.
        """
        results = sum(v.aval.nbytes for v in prim.marked(self.jaxpr.in_binders, self.nonzero))
        room = min(_MORE_MEMORY * (budget - results), self.enough)
        for tries in range(1, _MOST_CHOICES + 1):
            if room <= self.least_memory:
                break
            choice = self._choice(room)
            if choice.peak <= budget:
                return choice
            room *= _LESS_MEMORY**tries
        least = self.least()
        if least.peak <= budget:
            return least
        raise errors.MemoryBudgetError(
            f"memory_budget={budget:,} is too little for the derivative of {name}: its results and "
            f"what it holds at least in between take {least.peak:,} bytes. Give at least so many.",
            least.peak,
        ) from None

    def plan(self, budget: int, choice: Chosen, least: int) -> MemoryPlan:
        """Describe the plan for a budget; ``least`` is the least possible budget."""
        again = []
        for piece in choice.pieces:
            blocks = self.blocks[piece.start : piece.stop]
            way = "runs again"
            if piece.variant is not None:
                way = blocks[0].variants[piece.variant].way
            if way:
                operations = sum(len(block.eqns) for block in blocks)
                again.append(Recomputation(blocks[-1].location, operations, piece.saved_bytes, way))
        return MemoryPlan(
            budget,
            choice.peak,
            choice.results,
            least,
            sum(piece.saved_bytes for piece in choice.pieces),
            choice.cost / max(_cost(self.jaxpr), 1.0),
            tuple(again),
        )


def _variants(jaxpr: jx.Jaxpr, nonzero: tuple[bool, ...]) -> tuple[_Variant, ...]:
    """Return the variants of a block."""

    def find() -> tuple[_Variant, ...]:
        first = _variant(jaxpr, nonzero)
        return (first, *_loop_variants(jaxpr, nonzero)) if any(first.nonzero_out) else (first,)

    return jaxpr.derive(("memory", nonzero), find)


def _derivative(jaxpr: jx.Jaxpr, nonzero: tuple[bool, ...], value: bool) -> jx.Jaxpr:
    """Return a program of the results, the first if it is read, and the parameters' cotangents."""

    def run(*args: Array) -> list[Array]:
        primals, cotangents = prim.split_list(args, len(nonzero))
        linearized = linearize_flat(lambda *xs: jx.eval_jaxpr(jaxpr, xs), primals, nonzero)
        if len(cotangents) == 1 and not cotangents[0].ndim:  # as of a gradient
            cotangents = [sh.full_like(cotangents[0], 1)]
        pulled = linearized.pull_back(cotangents)
        asked = zip(pulled, primals, nonzero, strict=True)
        cts = [sh.zeros_like(x) if ct is prim.ZERO else ct for ct, x, has in asked if has]
        return [*linearized.primals_out[not value :], *cts]

    cotangents = [aval.cotangent() for aval in jaxpr.out_avals]
    return program_rules.dce(staging.stage(run, [*jaxpr.in_avals, *cotangents]).jaxpr)

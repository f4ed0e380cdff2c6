"""Which tier computes a call: NumPy while a program is new, or what XLA has compiled.

Every primitive has a NumPy implementation, so a program that was traced can be evaluated, equation
by equation, before it is compiled: in a millisecond where the compiler takes a quarter of a second.
How often that is done depends on the program alone, on what it is estimated to cost to evaluate and
to compile (``costs``), never on how long either took: so a run can be repeated bit for
bit, but for the tier "ready", which is told so. Of loops of unknown length the iterations count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from itertools import count
from math import inf
from typing import Any, Final

import attrs

from tinyjax import config, records
from tinyjax.core import xla
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values import concrete as conc
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.xla import compilation, threads
from tinyjax.host import background, blas, costs

#: What evaluation may cost before the program is compiled, as a share of what that costs.
_SHARE: Final = 0.25
#: What a call costs besides its equations, in seconds.
_SECONDS_PER_CALL: Final = 2e-5
#: Who evaluates so many calls most likely makes another: the program is compiled in the background
#: after the last. Fewer calls are often all.
_REPEATED: Final = 8
#: Programs with more operations than this evaluate products of matrices that BLAS would divide.
_DIVIDED: Final = 2.0**18
#: Programs that are called by Python functions that evaluated programs call, and so on, so deep,
#: are compiled: that ends a recursion without end by a message.
_DEEPEST: Final = 8
#: Of so many programs it is known how far they have come.
_MOST_PROGRAMS: Final = 4096


@attrs.frozen(eq=False, repr=False)
class Decision(records.Record):
    """How many calls of a program are evaluated before it is compiled, and why.

    Attributes:
        evaluations: how many calls; none is compiled at once.
        reason: why, in words.
        equations: how many equations these calls may have, where loops are of unknown length.
    """

    evaluations: int
    reason: str
    equations: float = inf


def decide(jaxpr: jx.Jaxpr) -> Decision:
    """Decide how often a program is evaluated before it is compiled."""
    return jaxpr.derive("tier", lambda: _decide(jaxpr, costs.cost_of(jaxpr)))


def _decide(jaxpr: jx.Jaxpr, cost: costs.Cost) -> Decision:
    compiling, evaluating = cost.seconds_to_compile, _SECONDS_PER_CALL + cost.seconds_to_evaluate
    if not cost.bounded and jx.effects(jaxpr).any:
        # It could not be begun again.
        return Decision(0, "a loop of unknown length has effects")
    unknown = _without_rule(jaxpr)
    if unknown is not None:
        return Decision(0, f"'{unknown}' has no impl rule")
    about = f"about {1e3 * evaluating:.2g} ms to evaluate, {1e3 * compiling:.2g} ms to compile"
    times = int(_SHARE * compiling / evaluating)
    if not times:
        return Decision(0, f"{about}: it is compiled at once")
    calls = "the first call is" if times == 1 else f"the first {times} calls are"
    if cost.bounded:
        return Decision(times, f"{about}: {calls} evaluated")
    most = _SHARE * compiling * cost.evaluated / cost.seconds_to_evaluate
    return Decision(times, f"{about}: {calls} evaluated, up to {most:,.0f} equations", most)


def _without_rule(jaxpr: jx.Jaxpr) -> Primitive[Any] | None:
    """A primitive in a program that cannot be evaluated, if there is one."""

    def find() -> Primitive[Any] | None:
        for eqn in jaxpr.eqns:
            primitive = eqn.primitive
            if primitive.rules.evaluate is None and not primitive.has_rule("impl"):
                return eqn.primitive
        inner = [_without_rule(j) for eqn in jaxpr.eqns for j in jx.subjaxprs(eqn.params)]
        return next((one for one in inner if one is not None), None)

    lacking: Primitive[Any] | None = jaxpr.derive("without rule", find)
    return lacking


class Progress:
    """How far a program has come: it is evaluated at first, and compiled then."""

    __slots__ = ("calls", "decision", "left")

    def __init__(self, decision: Decision) -> None:
        self.decision: Decision = decision
        self.left: float = decision.equations  # how many may still be evaluated
        self.calls: Iterator[int] = count(1)  # of C's, which threads share


_depth: ContextVar[int] = ContextVar("tinyjax_evaluation_depth", default=0)
_programs: Final[dict[compilation.Compilation, Progress]] = {}


class TieredRunner(compilation.Runner):
    """Evaluates the first calls of a program, and has it compiled after them."""

    @classmethod
    def run(
        cls,
        request: compilation.Compilation,
        args: Sequence[Array],
        tier: config.Tier,
    ) -> tuple[Sequence[Array], xla.Executable | None]:
        if tier != "compiled" and _depth.get() < _DEEPEST:
            progress = _progress_of(request)
            times, calls = progress.decision.evaluations, next(progress.calls)
            try:
                if calls < times or (calls == times < _REPEATED and tier != "ready"):
                    return _evaluate(request, args, progress), None
                if calls == times:
                    # The last that is evaluated in any case. The compiler is set to work after it:
                    # beside it, loading jaxlib would slow it down.
                    with background.compile_afterwards(request):
                        return _evaluate(request, args, progress), None
                if times and _must_wait(tier, request):
                    progress.left = progress.decision.equations
                    return _evaluate(request, args, progress), None
            except jx.EndlessError:
                progress.decision = Decision(0, "a loop of unknown length went on for long")
        return super().run(request, args, tier)

    @classmethod
    def delay(cls, jaxpr: jx.Jaxpr) -> str:
        return decide(jaxpr).reason

    @classmethod
    def functions(cls, jaxpr: jx.Jaxpr) -> float:
        return costs.cost_of(jaxpr).functions

    @classmethod
    def forget(cls) -> None:
        _programs.clear()


def _must_wait(tier: config.Tier, request: compilation.Compilation) -> bool:
    """Whether a program is not compiled yet and must not be waited for."""
    return threads.lacks_threads() or (tier == "ready" and background.is_under_way(request))


def _progress_of(request: compilation.Compilation) -> Progress:
    progress = _programs.get(request)
    if progress is None:
        progress = _programs.setdefault(request, Progress(decide(request.jaxpr)))
        if len(_programs) > _MOST_PROGRAMS:
            with suppress(KeyError, RuntimeError):  # another thread has done it
                del _programs[next(iter(_programs))]
    return progress


def _evaluate(
    request: compilation.Compilation, args: Sequence[Array], progress: Progress
) -> list[Array]:
    jaxpr = request.jaxpr
    tr.check_concrete(args)
    conc.check_donated(args)
    taken = request.given_up
    if taken:
        conc.check_donated_once(args, taken, jaxpr.in_avals, request.name)
    trace = tr.eager[jx.ProgramTrace](progress.left)
    divided = costs.cost_of(jaxpr).flops > _DIVIDED
    token = _depth.set(_depth.get() + 1)
    try:
        with blas.one_thread() if divided else nullcontext(), tr.use_trace(trace):
            outs = jx.eval_jaxpr(jaxpr, args)
    finally:
        _depth.reset(token)
    progress.left = trace.left
    results: list[Array] = []
    for out, aval in zip(outs, jaxpr.out_avals, strict=True):
        assert isinstance(out, ConcreteArray), "evaluation gives data"
        results.append(ConcreteArray(out._host, aval, out._buffer))
    for i in taken:
        conc.give_up(args[i])
    return results


tr.eager[compilation.Runner] = TieredRunner

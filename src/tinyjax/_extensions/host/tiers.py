"""Tiers: which programs NumPy runs, and which ones XLA compiles meanwhile."""

from __future__ import annotations

import atexit
import os
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import count
from math import inf, prod
from threading import Condition, RLock, Thread
from time import monotonic
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

import attrs

from tinyjax import config, errors
from tinyjax._base import blas, forks, records
from tinyjax._extensions.costs import EAGER_ONLY, NUMPY, XLA, cost_of
from tinyjax._extensions.host import runs
from tinyjax.core import devices, xla
from tinyjax.core.stablehlo.types import MOST_AXES, MOST_ELEMENTS
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.tracing.kernels import current_rules
from tinyjax.core.values import Array, ConcreteArray, concrete, operands as opd
from tinyjax.core.xla import compilation
from tinyjax.core.xla.threads import in_background
from tinyjax.dtypes import HostArray

# Compilation in threads of its own, while Python goes on.
#
# XLA compiles without Python's lock. A thread that ended while Python shuts down would end the
# process with a message, so the end of a process waits for the programs that are being compiled,
# and drops those that have not been begun.


#: As many programs are compiled at once as there are cores, but one: the caller goes on.
_MOST_THREADS: Final = max(1, (os.cpu_count() or 2) - 1)
#: Compilation begins this many seconds after its request. At once, the thread would load jaxlib and
#: lower the program with Python's lock, which the caller needs to hand on its first result.
_HEAD_START: Final = 0.005


class _Workers:
    """Threads that wait for jobs, made when there are more jobs than threads to take them."""

    def __init__(self) -> None:
        """Begin without threads, as a forked process must: its parent's are not there."""
        # Python's lock, which an interrupt leaves free or held, and not in between
        self.lock: RLock = RLock()
        self.changed: Condition = Condition(self.lock)
        #: and when they may be begun
        self.jobs: deque[tuple[float, Callable[[], object]]] = deque()
        self.threads: list[Thread] = []
        self.idle: int = 0
        #: A browser's Python can start no threads.
        self.ending: bool = sys.platform == "emscripten"

    def prepare(self) -> None:
        """Have a thread for the next job, if there may be one more."""
        with self.lock:
            if self.ending:
                return
            # one whose start was interrupted is none
            self.threads = [thread for thread in self.threads if thread.is_alive()]
            if self.idle <= len(self.jobs) and len(self.threads) < _MOST_THREADS:
                thread = Thread(target=self.work, name="tinyjax compiler", daemon=True)
                self.threads.append(thread)
                thread.start()

    def submit(self, job: Callable[[], object]) -> None:
        """Give a thread a job. An interrupt, wherever it comes, loses it, or leaves it there."""
        with self.lock:
            if self.ending:
                return
            self.changed.notify_all()  # who waits looks for jobs when the lock is free
            self.jobs.append((monotonic() + _HEAD_START, job))

    def work(self) -> None:
        while True:
            with self.lock:
                self.idle += 1
                self.changed.wait_for(lambda: self.jobs or self.ending)
                self.idle -= 1
                if self.ending:
                    return
                begin, job = self.jobs.popleft()
                if self.changed.wait_for(lambda: self.ending, begin - monotonic()):
                    return
            # whoever needs the program compiles it, and gets the error
            with suppress(Exception), in_background():
                job()  # loads jaxlib, in the thread that needs it
            del job

    def end(self) -> None:
        """Drop the jobs that have not begun, and wait for the rest."""
        with self.lock:
            self.ending = True
            self.jobs.clear()
            self.changed.notify_all()
        for thread in self.threads:
            if thread.is_alive():
                thread.join()


_workers = _Workers()
#: The jobs that there are: one that is lost to an interrupt is not waited for.
_requests: Final[WeakValueDictionary[compilation.Compilation, partial[Any]]] = WeakValueDictionary()


@contextmanager
def compile_afterwards(request: compilation.Compilation) -> Iterator[None]:
    """Have a program compiled in the background when the block has been left.

    From the start of the block the program is under way, so that no other thread waits for it.
    """
    job = partial[Any](copy_context().run, _compile, request)
    _requests[request] = job
    # The program in the block may leave threads of BLAS that spin, and keep a new thread, which is
    # waited for, from its core for milliseconds.
    _workers.prepare()
    try:
        yield
    finally:
        _workers.submit(job)


def is_under_way(request: compilation.Compilation) -> bool:
    """Return whether a program was requested and is not compiled yet."""
    return request in _requests


def _begin_anew() -> None:
    _Workers.__init__(_workers)
    _requests.clear()


atexit.register(_workers.end)
forks.register(after_in_child=_begin_anew)


# Which tier computes a call: NumPy while a program is new, or what XLA has compiled.
#
# Every primitive has a NumPy implementation, so a program that was traced can be evaluated,
# equation by equation, before it is compiled: in a millisecond where the compiler takes a quarter
# of a second. How often that is done depends on the program alone, on what it is estimated to cost
# to evaluate and to compile (``costs``), never on how long either took: so a run can be repeated
# bit for bit, but for the tier "ready", which is told so. Of loops of unknown length the
# iterations count, each by what its program is estimated to take.


#: The time of evaluation before a program is compiled, as a share of the time to compile it: less
#: where loops are of unknown length, since one that has gone on for long most likely goes on.
#: (``python -m benchmarks.waiting``)
_SHARE: Final = 0.25
_SHARE_OF_UNKNOWN: Final = 0.15
#: Who evaluates so many calls most likely makes another: the program is compiled in the background
#: after the last. Fewer calls are often all.
_REPEATED: Final = 8
#: Programs of which so many calls are evaluated are never compiled in the tier "host".
_MOST_ON_HOST: Final = 200
#: Programs with more operations than this evaluate products of matrices that BLAS would divide.
_DIVIDED: Final = 2.0**18
#: Programs that are called by Python functions that evaluated programs call, and so on, so deep,
#: are compiled: that ends a recursion without end by a message.
_DEEPEST: Final = 8
#: Why all calls are evaluated.
_ABSENT: Final = "jaxlib cannot be loaded: all calls are evaluated"
#: Of so many programs it is known how far they have come.
_MOST_PROGRAMS: Final = 4096


@attrs.frozen(eq=False, repr=False)
class Decision(records.Record):
    """The number of calls of a program that are evaluated before it is compiled, and the reason.

    Attributes:
        evaluations: the number of calls; zero compiles at once.
        reason: why, in words.
        seconds: the estimated time that these calls may take, where loops are of unknown length.
    """

    evaluations: int
    reason: str
    seconds: float = inf


def decide(jaxpr: jx.Jaxpr) -> Decision:
    """Decide how often a program is evaluated before it is compiled."""
    return jaxpr.derive("tier", lambda: _decide(jaxpr))


def _in_words(seconds: float) -> str:
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.0995 else f"{seconds:.2g} s"


def _decide(jaxpr: jx.Jaxpr) -> Decision:
    cost = cost_of(jaxpr)
    compiling, evaluating = cost.seconds_to_compile, NUMPY.call + cost.seconds_to_evaluate
    if not cost.bounded and jx.effects(jaxpr).any:
        # It could not be begun again.
        return Decision(0, "a loop of unknown length has effects")
    obstacle = _obstacle(jaxpr)
    if obstacle:
        return Decision(0, obstacle)
    about = f"about {_in_words(evaluating)} to evaluate, {_in_words(compiling)} to compile"
    times = max(0, int((_SHARE * compiling - cost.planning) / evaluating))
    if not times:
        return Decision(0, f"{about}: it is compiled at once")
    calls = "the first call is" if times == 1 else f"the first {times} calls are"
    if cost.bounded:
        return Decision(times, f"{about}: {calls} evaluated")
    most = _SHARE_OF_UNKNOWN * compiling
    return Decision(times, f"{about}: {calls} evaluated, up to {_in_words(most)}", most)


def _obstacle(jaxpr: jx.Jaxpr) -> str:
    """Return why NumPy cannot evaluate a program; "" if it can."""

    def find() -> str:
        for eqn in jaxpr.eqns:
            primitive = eqn.primitive
            if primitive.rules.evaluate is None and not primitive.has_rule("impl"):
                return f"'{primitive}' has no impl rule"
            if EAGER_ONLY in primitive.rules.extensions:
                return f"'{primitive}' is evaluated in eager calls only"
            for out in eqn.out_binders:
                shape = out.aval.shape
                if len(shape) > MOST_AXES:
                    return f"NumPy has no arrays of {len(shape)} axes"
                # of the others alone the memory may not have so many
                if 0 in shape and prod(filter(None, shape)) > MOST_ELEMENTS:
                    return f"NumPy has no arrays of shape {errors.shortened(shape)}"
        inner = (_obstacle(j) for eqn in jaxpr.eqns for j in jx.subjaxprs(eqn.params))
        return next(filter(None, inner), "")

    obstacle: str = jaxpr.derive("obstacle", find)
    return obstacle


#: Computes results from arrays on the host.
_Evaluate: TypeAlias = Callable[[Sequence[Array]], Sequence[Array]]
_EvaluateHosts: TypeAlias = Callable[[Sequence[HostArray]], Sequence[HostArray]]


class TierProgress:
    """The progress of a program: it is evaluated at first, and compiled then.

    Attributes:
        decision: how often it is evaluated.
        remaining: the time in seconds that evaluation may still take.
        calls: the calls, numbered.
        evaluated: the number of those that were evaluated.
        entry: the key on disk of the compiled program; None until it has run.
        seconds_a_call: the estimated time to evaluate a call, where the lengths of loops are known.
        last: what an earlier process did with the program; None if it is not known.
        is_loaded: whether it did so well with it compiled that it is loaded at once.
        in_c: evaluates it in C, which it was compiled as after its evaluations.
    """

    def __init__(
        self,
        decision: Decision,
        seconds_a_call: float = 0.0,
        last: runs.EarlierUse | None = None,
        is_loaded: bool = False,
    ) -> None:
        self.decision: Decision = decision
        self.entry: bytes | None = None
        self.seconds_a_call: float = seconds_a_call
        self.last: runs.EarlierUse | None = last
        self.is_loaded: bool = is_loaded
        self.in_c: _EvaluateHosts | None = None
        self.remaining: float = decision.seconds
        self.calls: Iterator[int] = count(1)  # of C's, which threads share
        self.evaluated: int = 0

    def seconds_to_evaluate(self) -> float:
        """Estimate the time that evaluation took; it is infinite where XLA compiled at once."""
        if self.last is not None and self.is_loaded and not self.evaluated:
            return self.last.seconds
        if not self.decision.evaluations:
            return inf
        if self.decision.seconds < inf:
            return self.decision.seconds - self.remaining
        return self.evaluated * self.seconds_a_call


_depth: ContextVar[int] = ContextVar("tinyjax_evaluation_depth", default=0)
_programs: Final[dict[Hashable, TierProgress]] = {}


def run(
    request: compilation.Compilation,
    args: Sequence[Array],
    tier: config.Tier,
) -> tuple[Sequence[Array], xla.Executable | None]:
    """Evaluate the first calls of a program, and have it compiled after them; see ``xla.run``."""
    progress: TierProgress | None = None
    is_here = request.placement is None or devices.ops().is_on_host(request)
    in_c = _evaluation_in_c(request) if _compiler_of(request) == "c" else None
    if in_c is not None:
        return _on_host(request, args, _of_arrays(in_c, request.jaxpr)), None
    if tier != "compiled" and is_here and _depth.get() < _DEEPEST:
        progress = _progress_of(request)
        loads = progress.is_loaded and tier == "first"
        times, calls = 0 if loads else progress.decision.evaluations, next(progress.calls)
        if forks.lost_threads:
            progress.remaining = inf
            return _evaluate(request, args, progress), None
        if _stays_on_host(progress.decision, tier):
            return _evaluate(request, args, progress), None
        try:
            if calls < times or (calls == times < _REPEATED and tier != "ready"):
                return _evaluate(request, args, progress), None
            if calls == times:
                # The last that is evaluated in any case. The compiler is set to work after it:
                # beside it, loading jaxlib would slow it down.
                with compile_afterwards(request):
                    return _evaluate(request, args, progress), None
            if times and tier == "ready" and is_under_way(request):  # which it must not wait for
                progress.remaining = progress.decision.seconds
                return _evaluate(request, args, progress), None
        except jx.EndlessError:
            reason = f"{progress.decision.reason}, until loops had run for that long"
            progress.decision = Decision(0, reason)
    if tier != "compiled" and xla.is_absent():
        return _evaluate(request, args, TierProgress(Decision(0, _ABSENT))), None
    in_c = _evaluation_in_c(request) if _is_for_c_later(request) else None
    if in_c is not None:
        (progress or _progress_of(request)).in_c = in_c
        return _on_host(request, args, _of_arrays(in_c, request.jaxpr)), None
    outs, executable = xla.run_compiled(request, args)
    if progress is not None and executable is not None:
        progress.entry = executable.entry
    return outs, executable


def _compiler_of(request: compilation.Compilation) -> config.Compiler:
    """Return the compiler that the user chose; programs with flags or a placement are XLA's."""
    settings = config.settings()
    if request.placement is not None or settings.debugging:
        return "xla"
    match request.flags:
        case ():
            return settings.compiler
        case (("compiler", "auto" | "c" as compiler),):
            return compiler
        case _:
            return "xla"


def _is_for_c_later(request: compilation.Compilation) -> bool:
    """Return whether C compiles a program after its evaluations, since XLA would take too long."""

    def repeats() -> bool:
        many = _count_eqns(request.jaxpr) > XLA.most_fused
        return many and cost_of(request.jaxpr).repeated > 0

    return _compiler_of(request) == "auto" and bool(request.jaxpr.derive("repeats", repeats))


def _count_eqns(jaxpr: jx.Jaxpr) -> int:
    """Count the equations of a program, and of those that it runs."""
    inner = [program for eqn in jaxpr.eqns for program in jx.subjaxprs(eqn.params)]
    return len(jaxpr.eqns) + sum(map(_count_eqns, inner))


def _evaluation_in_c(request: compilation.Compilation) -> _EvaluateHosts | None:
    """Compile a program as C, and return the function that evaluates it; None if C has it not."""
    from tinyjax._extensions.c import tier  # noqa: PLC0415 - loaded with its first program

    return tier.evaluation(request.jaxpr)


def _compile(request: compilation.Compilation) -> None:
    """Compile a program that was evaluated."""
    if not _is_for_c_later(request) or _evaluation_in_c(request) is None:
        xla.compiled(request)


def _of_arrays(evaluate: _EvaluateHosts, jaxpr: jx.Jaxpr) -> _Evaluate:
    """Return the function of our arrays that a function of NumPy's is."""

    def results(args: Sequence[Array]) -> list[Array]:
        hosts = [opd.raw_host(x) for x in args if isinstance(x, ConcreteArray)]
        return [*map(ConcreteArray, evaluate(hosts), jaxpr.out_avals)]

    return results


def _stays_on_host(decision: Decision, tier: config.Tier) -> bool:
    """Return whether NumPy evaluates all calls of a program."""
    is_bounded = decision.seconds == inf
    return tier == "host" and is_bounded and decision.evaluations >= _MOST_ON_HOST


def evaluation(
    request: compilation.Compilation, consts: Sequence[Array], tier: config.Tier | None
) -> Callable[[Sequence[HostArray]], Sequence[HostArray] | None] | None:
    """Return what evaluates a program's further calls, as ``run`` does; None where that may not be.

    Only programs that are Python functions of NumPy's arrays are evaluated so: they call no other
    programs, and nothing of the user's.
    """
    # loaded with what evaluates programs
    from tinyjax._extensions.host.plans import written_alone  # noqa: PLC0415

    jaxpr, settings = request.jaxpr, config.settings()
    if settings.debugging or (tier or settings.tier) == "compiled" or request.donated:
        return None
    if request.placement is not None or not all(type(x) is ConcreteArray for x in consts):
        return None
    current = current_rules[0]
    fixed = [opd.raw_host(x) for x in consts if isinstance(x, ConcreteArray)]
    progress, tier = _progress_of(request), tier or settings.tier
    in_c = _evaluation_in_c(request) if _compiler_of(request) == "c" else progress.in_c
    if in_c is not None:
        return lambda hosts: in_c([*fixed, *hosts]) if current_rules[0] is current else None
    if progress.is_loaded and tier == "first":
        return None
    decision, is_bounded = progress.decision, progress.decision.seconds == inf
    last = inf if _stays_on_host(decision, tier) else decision.evaluations - 1
    written = written_alone(jaxpr) if is_bounded and cost_of(jaxpr).flops <= _DIVIDED else None
    if written is None:
        return None

    def evaluate(hosts: Sequence[HostArray]) -> Sequence[HostArray] | None:
        if progress.evaluated >= last or current_rules[0] is not current:
            return None
        next(progress.calls)
        progress.evaluated += 1
        return written(None, *fixed, *hosts)

    return evaluate


def history(request: compilation.Compilation) -> str:
    """Return the history and the present tier of a program's calls."""
    if _compiler_of(request) == "c":
        return _history_in_c(request.jaxpr)
    if xla.is_absent():
        return _ABSENT
    progress = _progress_of(request)
    if progress.in_c is not None:
        return f"{progress.decision.reason}; {_history_in_c(request.jaxpr)}"
    if progress.is_loaded and not progress.evaluated:
        return "the last run compiled it: it is loaded at the first call"
    if not progress.evaluated:
        return progress.decision.reason
    evaluated = f"{progress.evaluated} {'was' if progress.evaluated == 1 else 'were'} so far"
    # loaded with what evaluates programs
    from tinyjax._extensions.host.plans import unwritten  # noqa: PLC0415

    reason = unwritten(request.jaxpr)
    stepwise = f", equation by equation, since {reason}" if reason else ""
    return f"{progress.decision.reason}; {evaluated}{stepwise}"


def _history_in_c(jaxpr: jx.Jaxpr) -> str:
    """Return how a program was compiled as C."""
    from tinyjax._extensions.c import tier  # noqa: PLC0415 - loaded with its first program

    return tier.history(jaxpr)


def functions_in(jaxpr: jx.Jaxpr) -> float:
    """Estimate of how many elements a program evaluates functions such as ``exp``."""
    return cost_of(jaxpr).functions


def forget() -> None:
    """Evaluate every program at first again."""
    _programs.clear()
    in_c = sys.modules.get("tinyjax._extensions.c.tier")
    if in_c is not None:
        in_c.forget()


def _progress_of(request: compilation.Compilation) -> TierProgress:
    # by the digest: the program itself may hold objects of the user's
    key = request.jaxpr.digest, request.donated, request.flags, request.placement
    progress = _programs.get(key)
    if progress is None:
        progress = _programs.setdefault(key, _begin(request))
        if len(_programs) > _MOST_PROGRAMS:
            with suppress(KeyError, RuntimeError):  # another thread has done it
                del _programs[next(iter(_programs))]
    return progress


def _begin(request: compilation.Compilation) -> TierProgress:
    """Decide on a new program, by what the last run did with it where that is known."""
    decision, cost = decide(request.jaxpr), cost_of(request.jaxpr)
    seconds, folder = NUMPY.call + cost.seconds_to_evaluate, config.settings().cache_dir
    if not folder or request.placement is not None:
        return TierProgress(decision, seconds)
    log = runs.log_of(folder)
    key = runs.program_key(request.jaxpr.digest, request.donated, request.flags)
    last = log.last.get(key)
    is_loaded = last is not None and log.is_worth_loading(last)
    progress = log.programs[key] = TierProgress(decision, seconds, last, is_loaded)
    return progress


def _evaluate(
    request: compilation.Compilation, args: Sequence[Array], progress: TierProgress
) -> Sequence[Array]:
    jaxpr = request.jaxpr
    # loaded with the first program that is evaluated
    from tinyjax._extensions.host.plans import ProgramEvaluation  # noqa: PLC0415

    trace = ProgramEvaluation(progress.remaining)
    divided = cost_of(jaxpr).flops > _DIVIDED

    def evaluate(hosts: Sequence[Array]) -> Sequence[Array]:
        token = _depth.set(_depth.get() + 1)
        try:
            with blas.one_thread() if divided else nullcontext(), tr.use_trace(trace):
                return jx.eval_jaxpr(jaxpr, hosts)
        finally:
            _depth.reset(token)

    results = _on_host(request, args, evaluate)
    progress.remaining = trace.budget
    progress.evaluated += 1
    return results


def _on_host(
    request: compilation.Compilation, args: Sequence[Array], evaluate: _Evaluate
) -> Sequence[Array]:
    """Have a function compute a program's results from arrays on the host."""
    jaxpr = request.jaxpr
    tr.check_concrete(args)
    concrete.check_donated(args)
    taken = request.given_up
    if taken:
        concrete.check_donated_once(args, taken, jaxpr.in_avals, request.name)
    outs = evaluate(args if request.placement is None else devices.ops().on_host(args))
    results: list[Array] = []
    for out, aval in zip(outs, jaxpr.out_avals, strict=True):
        assert isinstance(out, ConcreteArray), "evaluation gives data"
        results.append(ConcreteArray(out._host, aval, out._buffer))
    for i in taken:
        args[i].delete()
    return results if request.placement is None else devices.ops().put_results(request, results)

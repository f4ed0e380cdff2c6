"""Times of each equation when NumPy evaluates them one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import inf
from time import perf_counter
from typing import Final

from tinyjax._base import frames
from tinyjax._extensions.host import plans
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.values import Array

#: The program is evaluated until this much time has passed, and at least once.
_SECONDS: Final = 0.5
_MOST_RUNS: Final = 5


class Stopwatch(plans.ProgramEvaluation):
    """Evaluates programs, and those that they run, and measures each equation.

    Attributes:
        seconds: for each equation, by identity, the time of all its runs; that of the equations it
            runs is theirs.
    """

    __slots__ = ("_inner_seconds", "seconds")

    def __init__(self) -> None:
        super().__init__(inf)
        self.seconds: defaultdict[int, float] = defaultdict(float)
        self._inner_seconds = 0.0

    def evaluate(self, jaxpr: jx.Jaxpr, args: Sequence[Array]) -> list[Array]:
        env: dict[jx.Var, Array] = dict(zip(jaxpr.in_binders, args, strict=True))
        with frames.LEVEL:
            for eqn in jaxpr.eqns:
                operands = [x.value if isinstance(x, jx.Lit) else env[x] for x in eqn.inputs]
                outer, self._inner_seconds = self._inner_seconds, 0.0
                start = perf_counter()
                outs = self.process(eqn.primitive, operands, eqn.params)
                passed = perf_counter() - start
                self.seconds[id(eqn)] += passed - self._inner_seconds
                self._inner_seconds = outer + passed
                env.update(zip(eqn.out_binders, outs, strict=True))
        return [env[x] if isinstance(x, jx.Var) else x.value for x in jaxpr.outs]


def measure(jaxpr: jx.Jaxpr, args: Sequence[Array]) -> dict[int, float]:
    """Evaluate a program equation by equation, a few times.

    Returns:
        For each equation, by identity, the shortest time that all its runs in one evaluation took.
    """
    best: dict[int, float] = {}
    start = perf_counter()
    for _ in range(_MOST_RUNS):
        watch = Stopwatch()
        with tr.use_trace(watch):
            watch.evaluate(jaxpr, args)
        for key, seconds in watch.seconds.items():
            best[key] = min(seconds, best.get(key, seconds))
        if perf_counter() - start > _SECONDS:
            break
    return best

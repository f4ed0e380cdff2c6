"""``jit`` of programs that decide by data: a program for each path, and guards that choose it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import lax, numpy as jnp, tree
from tinyjax.core.jit.function import JitFunction
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.errors import CaptureError, TinyjaxError, UndecidedError
from tinyjax.source.capturing import runs
from tinyjax.source.capturing.witness import Guard, WitnessTrace, WitnessTracer

#: So many programs of one signature are compiled; then calls run without.
MOST_PROGRAMS: Final = 32


@attrs.define(eq=False)
class Program:
    """A compiled program of one path.

    Attributes:
        function: the compiled function of the arguments. It returns the results, and the number of
            the first guard that differs.
        guards: the decisions of the path.
    """

    function: Callable[..., tuple[Any, Array]]
    guards: list[Guard] = attrs.field(factory=list)


class GuardedPrograms:
    """The programs of a jitted function that decides by data.

    Args:
        jitted: the function.
    """

    def __init__(self, jitted: JitFunction[..., Any]) -> None:
        self._jitted = jitted
        self._programs: dict[Any, list[Program]] = {}
        self._misses: Counter[str] = Counter()

    def call(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program whose guards hold, or stage another one."""
        programs = self._programs.setdefault(signature, [])
        for program in reversed(programs):
            try:
                result, first = program.function(*args, **kwargs)
            except TinyjaxError:  # of another path; if it is of this one, staging raises it
                continue
            if runs.example(first) is None:  # it is staged again, and says what decides
                break
            number = int(runs.decide(first))
            if number == len(program.guards):
                if program is not programs[-1]:
                    programs.remove(program)
                    programs.append(program)
                return result
            self._misses[program.guards[number].line] += 1
        if len(programs) >= MOST_PROGRAMS:
            return self._without_programs(args, kwargs)
        program = self._stage(args, kwargs)
        result, first = program.function(*args, **kwargs)
        programs.append(program)
        if int(runs.decide(first)) != len(program.guards):  # XLA has rounded another way
            return self._jitted._run(args, kwargs)
        return result

    def _without_programs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function itself, and say which lines decide most often."""
        lines = ", ".join(f"{line} ({count})" for line, count in self._misses.most_common(3))
        warnings.warn(
            f"{MOST_PROGRAMS} programs of {self._jitted} were compiled for as many paths, and this "
            f"call takes another one: it runs without. These lines decide: {lines}.",
            stacklevel=4,
        )
        return self._jitted._run(args, kwargs)

    def _stage(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """Prepare a program for the path of the data of some arguments.

        Raises:
            UndecidedError: an argument has no data: it is staged.
        """
        fun = self._jitted._fun
        data = [_data_of(leaf) for leaf in tree.leaves((args, kwargs))]
        guards: list[Guard] = []

        def staged(*args: Any, **kwargs: Any) -> tuple[Any, Array]:
            trace = WitnessTrace(tr.current_trace(), tr.EVAL)
            leaves, in_tree = tree.flatten((args, kwargs))
            witnesses = [
                WitnessTracer(trace, leaf, value.astype(leaf.dtype))
                if isinstance(leaf, tr.Tracer)
                else leaf
                for leaf, value in zip(leaves, data, strict=True)
            ]
            own_args, own_kwargs = tree.unflatten(in_tree, witnesses)
            try:
                with tr.Running(trace):
                    result = fun(*own_args, **own_kwargs)
            except UndecidedError as error:  # in a loop or a branch of tinyjax's
                raise CaptureError(error.message).at(error.location) from error
            finally:
                trace.live = False
            guards[:] = trace.guards
            return tree.map(_staged, result), _first_difference(guards)

        parameters = attrs.evolve(self._jitted._parameters, fun=staged)
        return Program(JitFunction(parameters), guards)


def _data_of(leaf: Any) -> HostArray:
    if not isinstance(leaf, (Array, np.ndarray, np.generic, int, float, complex)):
        return np.empty(0)  # a static argument
    data = runs.example(leaf)
    if data is None:
        raise UndecidedError(
            "a captured program decides by the value of an argument, which is staged by a "
            "transformation outside of jit. Apply jit outside of it."
        )
    return data


def _staged(leaf: Any) -> Any:
    return leaf.staged if type(leaf) is WitnessTracer else leaf


def _first_difference(guards: Sequence[Guard]) -> Array:
    """Return the number of the first guard that differs; that of guards if none does.

    It is chosen by one guard after the other. XLA takes several times as long to compile them as
    an array.
    """
    first = jnp.asarray(np.int32(len(guards)))
    for i, guard in reversed([*enumerate(guards)]):
        holds = _equal(jnp.asarray(guard.staged), guard.data)
        first = jnp.where(jnp.all(holds) if guard.data.ndim else holds, first, np.int32(i))
    return first


def _equal(value: Array, data: HostArray) -> Array:
    value = lax.stop_gradient(value)
    constant = jnp.asarray(data.astype(value.dtype))
    same = value == constant
    if data.dtype.kind in "fc" and np.isnan(data).any():
        same = same | ((value != value) & (constant != constant))  # noqa: PLR0124 (NaN)
    return same

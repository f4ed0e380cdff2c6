"""Programs: what they are, and what they mean on each side."""

from collections.abc import Callable, Sequence
from functools import partial

import attrs
import numpy as np

from fuzz.algebra import TWO_SIDED
from fuzz.equations import EQUATIONS
from fuzz.further import FURTHER
from fuzz.mixed import MIXED
from fuzz.nested import NESTED
from fuzz.plain import KINKED, MOST_NUMBER, OPERATIONS, Body
from fuzz.wider import KINKED_TOO, WIDER
from tinyjax.core.jit import jit
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import HostArray
from tinyjax.testing.random_programs import Step

Values = tuple[Array, ...]
Function = Callable[..., Values]

#: Steps that are operations, and those with a function inside.
ONE_SIDED = {**OPERATIONS, **WIDER, **MIXED}
PLAIN = (*ONE_SIDED, *TWO_SIDED)
WITH_BODY = {**NESTED, **FURTHER, **EQUATIONS}


@attrs.frozen
class Program:
    """Inputs by their shapes and by a seed, and what is done with them."""

    shapes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    seed: int = 0

    def inputs(self) -> list[HostArray]:
        rng = np.random.default_rng(self.seed)
        return [rng.uniform(-1.5, 1.5, shape) for shape in self.shapes]

    def function(self, with_jit: bool) -> Function:
        """The program; jit within it does nothing if not ``with_jit``."""

        def program(*xs: Array) -> Values:
            values = run(self.steps, [as_array(x) for x in xs], with_jit)
            return tuple(values[-2:]) if len(values) > len(xs) + 2 else (values[-1],)

        return program

    @property
    def smooth(self) -> bool:
        """Return whether a small step cannot cross a kink: no step has one."""
        return not _any_of((*KINKED, *KINKED_TOO, *MIXED), self.steps)


def _any_of(ops: Sequence[str], steps: Sequence[Step]) -> bool:
    return any(step.op in ops or _any_of(ops, step.body) for step in steps)


def run(steps: Sequence[Step], values: list[Array], with_jit: bool) -> list[Array]:
    values = list(values)
    for step in steps:
        a = values[-1 - step.a % len(values)]
        b = values[-1 - step.b % len(values)]
        if step.op in ONE_SIDED:
            values.append(ONE_SIDED[step.op](a, b, step.k))
        elif step.op in TWO_SIDED:
            values.append(TWO_SIDED[step.op](a, b, step.k, with_jit))
        else:
            nested = WITH_BODY[step.op]
            body = partial(_body, step.body, with_jit)
            whole = partial(_nested, nested, body, step.k, with_jit)
            # some within jit, where predicates and bounds have no values
            staged = with_jit and step.k >= MOST_NUMBER - 3
            values.append(ew.sin(jit(whole)(a, b) if staged else whole(a, b)))
    return values


def _nested(
    nested: Callable[..., Array], body: Body, k: int, with_jit: bool, a: Array, b: Array
) -> Array:
    return nested(body, a, b, k, with_jit)


def _body(steps: tuple[Step, ...], with_jit: bool, z: Array, closed_over: Array) -> Array:
    return run(steps, [closed_over, z], with_jit)[-1]

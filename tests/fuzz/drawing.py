"""Drawing programs and stacks."""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs
import hypothesis.strategies as st

from fuzz.equations import EQUATIONS
from fuzz.further import FURTHER
from fuzz.nested import NESTED
from fuzz.plain import MOST_NUMBER
from fuzz.programs import PLAIN, Program
from fuzz.stacks import REVERSE, TRANSFORMS
from tinyjax.testing.random_programs import Step
from tinyjax.testing.stacks import StackLayer

NUMBERS = st.integers(0, MOST_NUMBER)
PLAIN_STEPS = st.builds(Step, st.sampled_from(sorted(PLAIN)), NUMBERS, NUMBERS, NUMBERS)


def steps_with(
    ops: Iterable[str], inner: st.SearchStrategy[Step], most: int
) -> st.SearchStrategy[Step]:
    body = st.lists(inner, min_size=1, max_size=most).map(tuple)
    return st.builds(Step, st.sampled_from(sorted(ops)), NUMBERS, NUMBERS, NUMBERS, body)


def weighted(*choices: tuple[int, st.SearchStrategy[Step]]) -> st.SearchStrategy[Step]:
    """One of several kinds, each by its weight: ``one_of`` takes a strategy but once."""
    table = [steps for weight, steps in choices for _ in range(weight)]
    return st.integers(0, len(table) - 1).flatmap(table.__getitem__)


# Equations are the rarest: a program with several takes a minute to compile.
INNER_STEPS = weighted(
    (24, PLAIN_STEPS),
    (7, steps_with((*NESTED, *FURTHER), PLAIN_STEPS, 2)),
    (1, steps_with(EQUATIONS, PLAIN_STEPS, 1)),
)
STEPS = weighted(
    (23, PLAIN_STEPS),
    (8, steps_with((*NESTED, *FURTHER), INNER_STEPS, 3)),
    (1, steps_with(EQUATIONS, INNER_STEPS, 2)),
)
SHAPES = st.sampled_from([(), (2,), (3,), (2, 2), (2, 3), (1, 2)])
PROGRAMS = st.builds(
    Program,
    st.lists(SHAPES, min_size=1, max_size=3).map(tuple),
    st.lists(STEPS, min_size=2, max_size=9).map(tuple),
    NUMBERS,
)
LAYERS = st.builds(StackLayer, st.sampled_from(TRANSFORMS), NUMBERS)
STACKS = st.lists(LAYERS, min_size=1, max_size=3).map(tuple)


# Which steps may stand where: a loop of unknown length has no reverse mode, and a rule for reverse
# mode alone no forward mode.

REVERSING: Final = ("linearize", "transposed twice", *REVERSE)
TOOLS: Final = ("jacobian", "hvp", "other_mode", *EQUATIONS)
REVERSING_STEPS: Final = (
    *TOOLS,
    "grad",
    "grad_of_closed_over",
    "beside",
    "custom_vjp",
    "custom_derivative",
)
FORWARD_STEPS: Final = (
    *TOOLS,
    "jvp",
    "linear",
    "beside",
    "custom_jvp",
    "saved_otherwise",
    "custom_derivative",
)


def settle(steps: Sequence[Step], reversing: bool, forward: bool) -> tuple[Step, ...]:
    """Put others in the place of steps that the differentiation around them does not allow.

    Args:
        steps: of a program or a body.
        reversing: whether anything around it needs the tangents as a linear program.
        forward: whether a differentiation in forward mode may be the first to reach it.
    """
    found = []
    for step in steps:
        op = step.op
        if op == "while" and reversing:
            op = "fori"
        if op == "custom_vjp" and forward:
            op = "custom_jvp"
        # A nested grad does not differentiate by what its body closes over. The forward half of a
        # custom_vjp rule is a plain evaluation, which forward mode further out reaches first.
        pushes = forward or op in (*FORWARD_STEPS, "custom_vjp")
        body = settle(step.body, reversing or op in REVERSING_STEPS, pushes)
        found.append(attrs.evolve(step, op=op, body=body))
    return tuple(found)


@attrs.frozen
class Case:
    """A program and the stack it is put under."""

    program: Program
    layers: tuple[StackLayer, ...]

    @staticmethod
    def repaired(program: Program, layers: tuple[StackLayer, ...]) -> "Case":
        names = [layer.name for layer in layers if layer.name in (*REVERSING, "jvp")]
        reversing = any(name != "jvp" for name in names)
        forward = bool(names) and names[0] in ("jvp", "linearize")
        steps = settle(program.steps, reversing, forward)
        return Case(attrs.evolve(program, steps=steps), layers)


CASES = st.builds(Case.repaired, PROGRAMS, STACKS)

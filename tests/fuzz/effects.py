"""Random programs with callbacks and references, which call what a loop over examples calls.

A program is a nest of statements about a number ``x``, which stays a small whole one. It is written
once, for tinyjax and for Python, and notes what is called for which example with which number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np
from hypothesis import strategies as st

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import debug, lax

Note = tuple[str, int, int]

#: Statements that hold others, and how many bodies they have.
_BODIES: Final = {
    **dict.fromkeys(
        ("while", "for", "scan", "jit", "checkpoint", "vmap", "custom", "condition"), 1
    ),
    "cond": 2,
    "switch": 3,
}
_LEAVES: Final = ("debug", "ordered", "io", "change", "write", "read")
#: How programs are run: for one example after the other, or for all at once.
WAYS: Final[dict[str, Callable[[Any], Any]]] = {
    "eager": lambda f: lambda xs: [f(x) for x in xs],
    "jit": lambda f: lambda xs: [tinyjax.jit(f)(x) for x in xs],
    "vmap": tinyjax.vmap,
    "jit of vmap": lambda f: tinyjax.jit(tinyjax.vmap(f)),
    "vmap of jit": lambda f: tinyjax.vmap(tinyjax.jit(f)),
    "scan": lambda f: lambda xs: lax.scan(lambda c, x: (c, f(x)), 0, xs)[1],
}


@attrs.frozen
class Statement:
    """A statement about ``x``, with a number that selects its details."""

    kind: str
    k: int
    bodies: tuple[tuple[Statement, ...], ...] = ()


def _nested(inner: st.SearchStrategy[Statement]) -> st.SearchStrategy[Statement]:
    body = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        [
            st.builds(Statement, st.just(kind), st.integers(0, 5), st.tuples(*[body] * n))
            for kind, n in _BODIES.items()
        ]
    )


STATEMENTS: Final = st.recursive(
    st.builds(Statement, st.sampled_from(_LEAVES), st.integers(0, 5)), _nested, max_leaves=8
)
PROGRAMS: Final = st.lists(STATEMENTS, min_size=1, max_size=3).map(tuple)


class Runner:
    """Runs a program, by tinyjax or by Python alone."""

    def __init__(self, traced: bool) -> None:
        self.traced = traced
        self.notes: list[Note] = []

    def note(self, kind: str, name: str, example: Any, x: Any) -> None:
        def tell(example: Any, x: Any) -> None:
            self.notes.append((name, int(example), int(x)))

        if not self.traced:
            tell(example, x)
        elif kind == "io":
            tinyjax.io_callback(tell, None, example, x)
        else:
            debug.callback(tell, example, x, ordered=kind == "ordered")

    def run(
        self, program: tuple[Statement, ...], example: Any, x: Any, ref: Any, place: str
    ) -> Any:
        for i, statement in enumerate(program):
            x = self.step(statement, example, x, ref, f"{place}.{i}") % 7
        return x

    def step(self, s: Statement, example: Any, x: Any, ref: Any, place: str) -> Any:
        def body(i: int, y: Any, example: Any = example, ref: Any = ref) -> Any:
            return self.run(s.bodies[i], example, y, ref, f"{place}/{i}") + 0 * y

        match s.kind:
            case "debug" | "ordered" | "io":
                self.note(s.kind, f"{place} {s.kind}", example, x)
            case "change":
                return x * (s.k + 1) + s.k
            case "write":
                ref[...] = (ref[...] + x) % 5
            case "read":
                return x + ref[...]
            case "cond":
                choices = [lambda y, i=i: body(i, y) for i in (1, 0)]
                return self.choose((x + s.k) % 2, choices, x)
            case "switch":
                return self.choose((x + s.k) % 3, [lambda y, i=i: body(i, y) for i in range(3)], x)
            case "while" | "condition":

                def goes_on(c: Any) -> Any:
                    if s.kind == "condition":
                        self.note("debug", f"{place} condition", example, c[0])
                    return c[0] < (example + s.k) % 4

                return self.loop(goes_on, lambda c: (c[0] + 1, body(0, c[1]) % 7), (0, x))[1]
            case "for" | "scan":
                return self.repeat(s, lambda y: body(0, y) % 7, x)
            case "vmap":  # each has a reference of its own
                return self.each(lambda e, y: self.inside(s, e, y, f"{place}/0"), example, x)
            case "custom":

                def alone(e: Any, y: Any) -> Any:
                    return self.inside(s, e, y, f"{place}/0")

                return (_custom(alone) if self.traced else alone)(example, x)
            case "jit" if self.traced:
                return tinyjax.jit(lambda y: body(0, y))(x)
            case "checkpoint" if self.traced:
                return tinyjax.checkpoint(lambda y: body(0, y))(x)
            case _:
                return body(0, x)
        return x

    def inside(self, s: Statement, example: Any, x: Any, place: str) -> Any:
        """Run the body with a reference made for it."""
        return self.run(s.bodies[0], example, x, self.made(0 * x), place)

    def made(self, x: Any) -> Any:
        return tinyjax.new_ref(x) if self.traced else np.array(x)

    def choose(self, index: Any, choices: Any, x: Any) -> Any:
        return lax.switch(index, choices, x) if self.traced else choices[int(index)](x)

    def loop(self, goes_on: Any, step: Any, state: Any) -> Any:
        if self.traced:
            return lax.while_loop(goes_on, step, state)
        while goes_on(state):
            state = step(state)
        return state

    def repeat(self, s: Statement, step: Any, x: Any) -> Any:
        if self.traced and s.kind == "for":
            return lax.fori_loop(0, s.k % 4, lambda _, y: step(y), x)
        if self.traced:
            return lax.scan(lambda y, _: (step(y), None), x, None, s.k % 4)[0]
        for _ in range(s.k % 4):
            x = step(x)
        return x

    def each(self, fun: Any, example: Any, x: Any) -> Any:
        if self.traced:
            return tinyjax.vmap(fun)(example * 3 + 100 + jnp.arange(2), x + jnp.arange(2)).sum()
        return sum(fun(example * 3 + 100 + i, x + i) for i in range(2))


def _custom(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function a rule, which calls it once."""
    ruled = tinyjax.custom_vjp(fun)
    ruled.defvjp(lambda *args: (fun(*args), None), lambda _, ct: (None, None))
    return ruled


def check_effects(program: tuple[Statement, ...], way: str) -> None:
    """Compare what is called, for which example, with what, and the results."""
    examples = np.arange(3)

    def whole(runner: Runner) -> Callable[[Any], Any]:
        def fun(example: Any) -> Any:
            ref = runner.made(0 * example)
            return runner.run(program, example, example * 2 + 1, ref, "") * 10 + ref[...]

        return fun

    plain, traced = Runner(False), Runner(True)
    expected = [int(whole(plain)(int(e))) for e in examples]
    found = WAYS[way](whole(traced))(jnp.asarray(examples))
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert Counter(traced.notes) == Counter(plain.notes)
    for notes in (plain.notes, traced.notes):
        notes[:] = sorted([n for n in notes if n[0].endswith("ordered")], key=lambda n: n[1])
    assert traced.notes == plain.notes  # of each example, in order

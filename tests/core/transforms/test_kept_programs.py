"""Caches of derived programs: they are kept with the program, under all that they depend on."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from specs import all_specs
from tinyjax import P, lax
from tinyjax.core.control_flow.common import contains
from tinyjax.core.tracing.jaxpr import ClosedJaxpr, Jaxpr, Var, subjaxprs
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.errors import TinyjaxError


def alike(a: Any, b: Any) -> bool:
    """Return whether two results are equal, up to variables and functions, which are made anew."""
    match a:
        case Jaxpr():
            return bool(a == b)
        case Var():
            return isinstance(b, Var) and a.aval == b.aval
        case Array():
            return isinstance(b, Array) and a.aval == b.aval
        case tuple() | list():
            return len(a) == len(b) and all(map(alike, a, b))
        case _ if attrs.has(type(a)):
            return type(a) is type(b) and all(
                alike(getattr(a, field.name), getattr(b, field.name))
                for field in attrs.fields(type(a))
            )
        case _:
            return callable(a) or bool(a == b)


def transformed(program: ClosedJaxpr, operands: Sequence[Array], chosen: Sequence[int]) -> None:
    """Transform a program in some of its operands in three ways."""

    def fun(*part: Any) -> Any:
        given = dict(zip(chosen, part, strict=True))
        return program(*(given.get(i, x) for i, x in enumerate(operands)))

    def pulled(*part: Any) -> Any:
        outs, pull_back = tinyjax.vjp(fun, *part)
        return pull_back(outs)

    part = [operands[i] for i in chosen]
    many = [as_array(np.stack([np.asarray(x)] * 2)) for x in part]
    ways: list[tuple[Callable[..., Any], Sequence[Array]]] = [
        (lambda *xs: tinyjax.jvp(fun, xs, xs), part),
        (pulled, part),
        (tinyjax.vmap(fun), many),
        (tinyjax.vmap(pulled), many),
    ]
    for way, given in ways:
        try:
            tinyjax.make_jaxpr(way)(*given)
        except TinyjaxError:
            continue  # no derivative, or no operand that may be batched


def in_every_choice(program: ClosedJaxpr, operands: Sequence[Array]) -> None:
    for size in range(1, len(operands) + 1):
        for chosen in combinations(range(len(operands)), size):
            transformed(program, operands, chosen)


def test_what_is_kept_is_what_would_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is transformed in every choice of its operands, as often as it is kept."""
    plain = Jaxpr.derive
    found = Counter[object]()

    def derive(self: Jaxpr, key: Hashable, make: Callable[[], Any]) -> Any:
        is_kept = key in self._derived
        kept = plain(self, key, make)
        if is_kept and isinstance(key, tuple) and isinstance(key[0], str):
            found[key[0]] += 1
            assert alike(kept, make()), key
        return kept

    monkeypatch.setattr(Jaxpr, "derive", derive)
    for row in all_specs():
        cases = row.smooth_samples()
        if not cases or len(cases[0][2]) > 4:
            continue
        case, _, given = cases[0]
        operands = [as_array(x) for x in given]
        program = tinyjax.make_jaxpr(row.applied(case.params))(*operands)
        if not any(subjaxprs(eqn.params) for eqn in program.eqns):
            continue
        in_every_choice(program, operands)
    mesh = tinyjax.make_mesh((2,), ("d",))
    mapped = tinyjax.shard_map(
        lambda x, y: x * jnp.sin(y), mesh=mesh, in_specs=(P("d"), P("d")), out_specs=P("d")
    )
    operands = [jnp.arange(2.0), jnp.ones(2)]
    in_every_choice(tinyjax.make_jaxpr(mapped)(*operands), operands)
    assert found.keys() >= {"jvp", "linearize", "transpose", "batch", "prune", "split", "shard_map"}


def test_which_primitive_a_program_contains() -> None:
    program = tinyjax.make_jaxpr(lambda x: lax.while_loop(lambda x: x < 1, lambda x: x + 1, x))(
        0.0
    ).jaxpr
    assert not contains(program, "sin")
    assert contains(program, "while")

"""Typed programs drawn by a seed, and mistakes in their types, each of which must be refused."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.values import avals as av
from tinyjax.testing.random_programs import (
    DTYPES,
    MOST_NUMBER,
    OPERATIONS,
    WITH_BODY,
    Step,
    TypedProgram,
)


def drawn(seed: int, most: int = 8, depth: int = 2) -> TypedProgram:
    """Draw a program without hypothesis: the same one for the same seed.

    Args:
        seed: where choices come from.
        most: how many steps there are.
        depth: how deep calls, loops and branches are nested.
    """
    rng = np.random.default_rng(seed)

    def number() -> int:
        return int(rng.integers(MOST_NUMBER + 1))

    def steps(most: int, depth: int) -> tuple[Step, ...]:
        result = []
        for _ in range(most):
            nested = depth and rng.random() < 0.25
            op = str(rng.choice(sorted(WITH_BODY if nested else OPERATIONS)))
            body = steps(1 + number() % 3, depth - 1) if nested else ()
            result.append(Step(op, number(), number(), number(), body))
        return tuple(result)

    avals = [
        av.ShapedArray(((), (3,), (2, 3), (0,))[number() % 4], DTYPES[number() % len(DTYPES)])
        for _ in range(1 + number() % 3)
    ]
    return TypedProgram(tuple(avals), steps(most, depth), seed)


@attrs.frozen
class OtherParams(prim.Params):
    """Parameters of no primitive."""

    unknown: int = 0


def _replaced(jaxpr: jx.Jaxpr, place: int, eqn: jx.JaxprEqn) -> jx.Jaxpr:
    return jx.Jaxpr(
        jaxpr.in_binders, (*jaxpr.eqns[:place], eqn, *jaxpr.eqns[place + 1 :]), jaxpr.outs
    )


def _fresh(atom: jx.Atom) -> jx.Var:
    return jx.Var(atom.aval)


def _change(
    jaxpr: jx.Jaxpr, k: int, change: Callable[[jx.JaxprEqn], jx.JaxprEqn]
) -> jx.Jaxpr | None:
    """Change an equation with operands, if there is one."""
    places = [i for i, eqn in enumerate(jaxpr.eqns) if eqn.inputs]
    if not places:
        return None
    place = places[k % len(places)]
    return _replaced(jaxpr, place, change(jaxpr.eqns[place]))


def unbound_operand(jaxpr: jx.Jaxpr, k: int) -> jx.Jaxpr | None:
    def change(eqn: jx.JaxprEqn) -> jx.JaxprEqn:
        which = k % len(eqn.inputs)
        inputs = [_fresh(x) if i == which else x for i, x in enumerate(eqn.inputs)]
        return attrs.evolve(eqn, inputs=tuple(inputs))

    return _change(jaxpr, k, change)


def used_before(jaxpr: jx.Jaxpr, k: int) -> jx.Jaxpr | None:
    """The equations backwards, where one needs another."""
    bound = {var for eqn in jaxpr.eqns for var in eqn.out_binders}
    if not any(x in bound for eqn in jaxpr.eqns for x in eqn.inputs):
        return None
    return jx.Jaxpr(jaxpr.in_binders, jaxpr.eqns[::-1], jaxpr.outs)


def bound_twice(jaxpr: jx.Jaxpr, k: int) -> jx.Jaxpr | None:
    places = [i for i, eqn in enumerate(jaxpr.eqns) if eqn.out_binders]
    if not places:
        return None
    eqn = jaxpr.eqns[places[k % len(places)]]
    return jx.Jaxpr(jaxpr.in_binders, (*jaxpr.eqns, eqn), jaxpr.outs)


def unbound_result(jaxpr: jx.Jaxpr, k: int) -> jx.Jaxpr | None:
    return jx.Jaxpr(jaxpr.in_binders, jaxpr.eqns, (*jaxpr.outs, _fresh(jaxpr.outs[0])))


def other_params(jaxpr: jx.Jaxpr, k: int) -> jx.Jaxpr | None:
    if not jaxpr.eqns:
        return None
    place = k % len(jaxpr.eqns)
    return _replaced(jaxpr, place, attrs.evolve(jaxpr.eqns[place], params=OtherParams()))


def other_type(jaxpr: jx.Jaxpr, k: int) -> jx.Jaxpr | None:
    """A result that has another type than its primitive gives, everywhere."""
    bound = [var for eqn in jaxpr.eqns for var in eqn.out_binders]
    if not bound:
        return None
    var = bound[k % len(bound)]
    aval = var.aval
    other = (
        av.ShapedArray((*aval.shape, 2), aval.dtype),
        av.ShapedArray(aval.shape, dtypes.float32 if aval.dtype != dtypes.float32 else dtypes.int8),
        av.ShapedArray(aval.shape, aval.dtype, not aval.weak_type),
    )[k % 3]
    return substituted(jaxpr, {var: jx.Var(other)})


def other_operand_type(jaxpr: jx.Jaxpr, k: int) -> jx.Jaxpr | None:
    """A parameter that has another type, which not all that uses it may take."""
    if not jaxpr.in_binders:
        return None
    var = jaxpr.in_binders[k % len(jaxpr.in_binders)]
    aval = var.aval
    other = (
        av.ShapedArray((3, *aval.shape), aval.dtype),
        av.ShapedArray(aval.shape, DTYPES[k % len(DTYPES)]),
        av.ShapedArray(aval.shape[1:], aval.dtype),
    )[k % 3]
    return substituted(jaxpr, {var: jx.Var(other)})


def fewer_operands(jaxpr: jx.Jaxpr, k: int) -> jx.Jaxpr | None:
    return _change(jaxpr, k, lambda eqn: attrs.evolve(eqn, inputs=eqn.inputs[:-1]))


#: Ways of making a program ill-typed: of a program and a number; None where there is no place.
MISTAKES: Final[dict[str, Callable[[jx.Jaxpr, int], jx.Jaxpr | None]]] = {
    "an unbound operand": unbound_operand,
    "a value used before it is bound": used_before,
    "a variable bound twice": bound_twice,
    "an unbound result": unbound_result,
    "parameters of another class": other_params,
    "a result of another type": other_type,
    "an operand of another type": other_operand_type,
    "an operand left out": fewer_operands,
}


#: Those that leave some programs well-typed.
PERHAPS: Final = ("an operand of another type", "an operand left out")


def check_refused(program: TypedProgram, mistake: str, k: int) -> str:
    """Hold that a program with a mistake is refused, by an error that says why.

    Args:
        program: the program.
        mistake: which mistake is made in it: a name in ``MISTAKES``.
        k: where.

    Returns:
        The message; nothing where the program is still well-typed.

    Raises:
        AssertionError: it is not refused, or not by an error of ``tinyjax.errors``.
    """
    wrong = MISTAKES[mistake](program.jaxpr, k)
    if wrong is None:
        return ""
    try:
        jx.typecheck_jaxpr(wrong)
    except errors.TinyjaxError as error:
        if len(error.message) < 20:
            raise AssertionError(f"{mistake} is refused without a reason") from error
        return error.message
    except Exception as error:
        raise AssertionError(f"{mistake} ends in {type(error).__name__}: {error}") from error
    if mistake not in PERHAPS:
        raise AssertionError(f"{mistake} is taken:\n{wrong}")
    return ""


def substituted(jaxpr: jx.Jaxpr, other: Mapping[jx.Var, jx.Var]) -> jx.Jaxpr:
    """The program with other variables in the places of some."""

    def substitute(x: Any) -> Any:
        return other.get(x, x) if isinstance(x, jx.Var) else x

    eqns = tuple(
        [
            attrs.evolve(
                eqn,
                inputs=tuple(map(substitute, eqn.inputs)),
                out_binders=tuple(map(substitute, eqn.out_binders)),
            )
            for eqn in jaxpr.eqns
        ]
    )
    return jx.Jaxpr(
        tuple(map(substitute, jaxpr.in_binders)), eqns, tuple(map(substitute, jaxpr.outs))
    )

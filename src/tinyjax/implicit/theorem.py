"""The implicit function theorem as one rule.

Where ``F(c, x) = 0`` defines ``x`` as a function of ``c``, a tangent ``dc`` gives the ``dx`` with
``F_x dx = -F_c dc``. This is a linear map of ``dc``, whose transpose serves reverse mode, and it is
made of ``x`` again, so that it can be differentiated itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from tinyjax import numpy as jnp, tree
from tinyjax.core import api
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array
from tinyjax.custom_derivatives import SymbolicZero, custom_derivative
from tinyjax.implicit import linear_systems, vectors

#: How a search ended, a tree of arrays.
Info = TypeVar("Info")
#: A tangent, which may be known to be zero.
Direction: TypeAlias = Array | SymbolicZero
Directions: TypeAlias = list[Direction]


def solve_implicitly(
    problem: vectors.Equation,
    search: Callable[[Sequence[Array], Array], tuple[Array, Info]],
    linear_solver: linear_systems.LinearSolver,
    equations: vectors.VectorFunction | None = None,
    start: Array | None = None,
    is_solved: Callable[[Info], Array] | None = None,
) -> tuple[Array, Info]:
    """Find the ``x`` with ``equations(consts, x) = 0``, as a differentiable function of ``consts``.

    Args:
        problem: the user's function, with what it closes over and the first guess.
        search: finds the solution from constants and a first guess, and says how it ended. It is
            never differentiated, and closes over nothing traced.
        linear_solver: solves the systems of the derivatives.
        equations: is differentiated; nor does it close over such. By default the function's values.
        start: what the search begins with, if not the first guess; no solution depends on it.
        is_solved: tells a solution; without one the derivative is NaN. By default all are.
    """
    of_unknown = problem.values if equations is None else equations
    begin = problem.start if start is None else start
    if tr.current_trace().evaluates:  # nothing is differentiated
        return search(problem.consts, begin)

    @custom_derivative
    def solution(consts: list[Array], start: Array) -> tuple[Array, Info]:
        return search(consts, start)

    def rule(
        consts: list[Array], start: Array
    ) -> tuple[tuple[Array, Info], Callable[[Directions, Direction], tuple[object, object]]]:
        x, info = solution(consts, start)
        _, slope = api.linearize(lambda x: of_unknown(consts, x), x)
        solve = linear_systems.prepared(linear_solver, slope, problem.space)

        def tangent_map(of_consts: Directions, of_start: Direction) -> tuple[object, object]:
            if all(isinstance(t, SymbolicZero) for t in of_consts):
                return prim.ZERO, tree.map(lambda _: prim.ZERO, info)
            change = change_along(lambda *cs: of_unknown(cs, x), consts, of_consts)
            if is_solved is not None:
                change = change * jnp.where(is_solved(info), 1.0, jnp.nan)
            return solve(-change), tree.map(lambda _: prim.ZERO, info)

        return (x, info), tangent_map

    solution.defderivative(rule, symbolic_zeros=True)
    return solution(list(problem.consts), begin)


def change_along(
    fun: Callable[..., Any], primals: Sequence[Array], tangents: Sequence[Direction]
) -> Any:
    """Return the tangent of a function of several arrays, along tangents of these.

    It is differentiated only by those whose tangent is not known to be zero: in others it need not
    have a derivative.
    """
    moving = [i for i, t in enumerate(tangents) if not isinstance(t, SymbolicZero)]

    def of_moving(*chosen: Array) -> Any:
        full = [*primals]
        for i, x in zip(moving, chosen, strict=True):
            full[i] = x
        return fun(*full)

    _, change = api.linearize(of_moving, *[primals[i] for i in moving])
    return change(*[tangents[i] for i in moving])

"""The implicit function theorem as one rule.

Where ``F(c, x) = 0`` defines ``x`` as a function of ``c``, a tangent ``dc`` gives the ``dx`` with
``F_x dx = -F_c dc``. This is a linear map of ``dc``, whose transpose serves reverse mode, and it is
made of ``x`` again, so that it can be differentiated itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyjax import tree
from tinyjax.api import linearize
from tinyjax.core.array import Array
from tinyjax.core.primitive import ZERO
from tinyjax.custom_derivatives import custom_derivative
from tinyjax.implicit.information import Info
from tinyjax.implicit.linear_systems import LinearSolver, prepared
from tinyjax.implicit.vectors import Space, VectorFunction

#: Constants and a first guess to the solution.
Search = Callable[[Sequence[Array], Array], tuple[Array, Info]]


def solve_implicitly(
    equations: VectorFunction,
    search: Search,
    consts: Sequence[Array],
    start: Array,
    space: Space,
    linear_solver: LinearSolver,
) -> tuple[Array, Info]:
    """Find the ``x`` with ``equations(consts, x) = 0``, as a differentiable function of ``consts``.

    Args:
        equations: is differentiated; it closes over nothing that is traced.
        search: finds the solution, and is never differentiated; nor does it close over such.
        consts: what the equations depend on.
        start: the first guess, on which the solution does not depend.
        space: what the vectors stand for.
        linear_solver: solves the systems of the derivatives.
    """

    @custom_derivative
    def solution(consts: list[Array], start: Array) -> tuple[Array, Info]:
        return search(consts, start)

    @solution.defderivative
    def rule(
        consts: list[Array], start: Array
    ) -> tuple[tuple[Array, Info], Callable[[list[Array], Array], tuple[Array, object]]]:
        x, info = solution(consts, start)
        _, slope = linearize(lambda x: equations(consts, x), x)
        _, change = linearize(lambda *cs: equations(cs, x), *consts)
        solve = prepared(linear_solver, slope, space)

        def tangent_map(of_consts: list[Array], of_start: Array) -> tuple[Array, object]:
            return solve(-change(*of_consts)), tree.map(lambda _: ZERO, info)

        return (x, info), tangent_map

    return solution(list(consts), start)

"""``custom_linear_solve``: the solution of a linear system, however it is found.

``x`` solves ``A x = b``, where a function applies ``A`` to vectors. Derivatives do not depend on
how ``x`` is found: a tangent solves ``A dx = db - dA x`` with the same solver, and a cotangent
solves the transposed system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tinyjax import tree
from tinyjax._base import frames
from tinyjax._extensions.parallel import collective, mesh_rule
from tinyjax._extensions.parallel.fitting import refit
from tinyjax._extensions.parallel.types import Axes, across
from tinyjax.core.control_flow.common import stage_function
from tinyjax.core.jit.program import inline
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.primitives import elementwise as ew, rules, shape as sh
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import (
    bind,
    calling,
    checking,
    jaxpr as jx,
    primitive as prim,
    program_rules,
    staging,
)
from tinyjax.core.tracing.primitive import defined, of_undefined, present, split_list, with_zeros
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import jvp_flat
from tinyjax.core.transforms.linearize import linearize_flat, stage_linear
from tinyjax.core.transforms.transpose import transpose_jaxpr
from tinyjax.core.values import Array, ShapedArray
from tinyjax.errors import DifferentiationError
from tinyjax.implicit.vectors import begin, check_like, follow


@attrs.frozen(eq=False, repr=False)
class LinearSolveParams(prim.Params):
    """A linear system, whose operands are constants that all programs take, and the right side.

    Attributes:
        matvec: constants and a vector to a vector: the matrix.
        solve: constants and a right side to the solution, and perhaps more.
        transpose_solve: the same for the transposed system, if there is one.
        num_consts: the number of constants.
    """

    matvec: jx.Jaxpr
    solve: jx.Jaxpr
    transpose_solve: jx.Jaxpr | None
    num_consts: int

    @property
    def size(self) -> int:
        """The number of arrays in the solution."""
        return len(self.matvec.outs)


custom_linear_solve_p: prim.Primitive[LinearSolveParams] = prim.Primitive(
    "custom_linear_solve", LinearSolveParams
)


program_rules.def_evaluated(custom_linear_solve_p, lambda params: params.solve)


@custom_linear_solve_p.def_abstract_eval
def _solve_type(avals: prim.Avals, params: LinearSolveParams) -> prim.Avals:
    return params.solve.out_avals


def _fit_solve(
    params: LinearSolveParams, own_axes: Sequence[Axes]
) -> tuple[Sequence[Axes], LinearSolveParams]:
    n, k, back = params.num_consts, params.size, params.transpose_solve
    axes_in = mesh_rule.joined(mesh_rule.axes_of(params.solve.in_avals), own_axes)
    while True:  # until vectors vary along all axes along which the matrix makes them
        axes = mesh_rule.union(axes_in[n:])
        axes_in = (*axes_in[:n], *[axes] * k)
        matvec, solve = [refit(p, axes_in, [axes] * k) for p in (params.matvec, params.solve)]
        transposed = None if back is None else refit(back, axes_in, [axes] * k)
        outs = [*matvec.out_avals, *solve.out_avals[:k]]
        if transposed is not None:
            outs += transposed.out_avals[:k]
        after = mesh_rule.union(mesh_rule.axes_of(outs))
        if after == axes:
            return axes_in, LinearSolveParams(matvec, solve, transposed, n)
        axes_in = (*axes_in[:n], *[after] * k)


custom_linear_solve_p.def_rule(mesh_rule.MESH)(mesh_rule.MeshRule(fits=_fit_solve))


custom_linear_solve_p.def_rule(program_rules.LOWERED)(lambda eqn: eqn.params.solve)


@custom_linear_solve_p.def_lowering
def _solve_lowering(b: Lowering, operands: hlo.Values, params: LinearSolveParams) -> hlo.Values:
    return call_jaxpr(b, params.solve, "linear_solve", operands)


def _without_aux(params: LinearSolveParams) -> LinearSolveParams:
    def cut(jaxpr: jx.Jaxpr) -> jx.Jaxpr:
        return jx.Jaxpr(jaxpr.in_binders, jaxpr.eqns, jaxpr.outs[: params.size])

    back = params.transpose_solve
    return attrs.evolve(
        params, solve=cut(params.solve), transpose_solve=None if back is None else cut(back)
    )


def _sub(a: prim.Tangent, b: prim.Tangent) -> prim.Tangent:
    if b is prim.ZERO:
        return a
    return ew.neg(b) if a is prim.ZERO else rules.add_arrays(a, ew.neg(b))


@custom_linear_solve_p.def_jvp
def _solve_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: LinearSolveParams
) -> prim.JvpResult:
    n, k = params.num_consts, params.size
    outs = bind(custom_linear_solve_p, primals, params)
    consts, x = primals[:n], outs[:k]
    _, change = jvp_flat(
        lambda *cs: jx.eval_jaxpr(params.matvec, [*cs, *x]), consts, list(tangents[:n])
    )
    return outs, _tangent_solution(primals, tangents[n:], change, params)


def _tangent_solution(
    primals: Sequence[Array],
    of_b: Sequence[prim.Tangent],
    change: Sequence[prim.Tangent],
    params: LinearSolveParams,
) -> list[prim.Tangent]:
    n, k = params.num_consts, params.size
    more: list[prim.Tangent] = [prim.ZERO] * (len(params.solve.outs) - k)
    right = [_sub(a, b) for a, b in zip(of_b, change, strict=True)]
    if all(t is prim.ZERO for t in right):
        return [*([prim.ZERO] * k), *more]
    right_sides = [rules.instantiate(t, b) for t, b in zip(right, primals[n:], strict=True)]
    return [*bind(custom_linear_solve_p, (*primals[:n], *right_sides), _without_aux(params)), *more]


@custom_linear_solve_p.def_linearize
def _solve_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: LinearSolveParams
) -> prim.LinearizeResult:
    n, k = params.num_consts, params.size
    outs = bind(custom_linear_solve_p, primals, params)
    consts, x = primals[:n], outs[:k]
    change = linearize_flat(
        lambda *cs: jx.eval_jaxpr(params.matvec, [*cs, *x]), consts, list(nonzero[:n])
    )
    some = any(change.nonzero_out) or any(nonzero[n:])
    nonzero_out = [some] * k + [False] * (len(outs) - k)

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        of_consts, of_b = split_list(tangents, sum(nonzero[:n]))
        right = with_zeros(nonzero[n:], of_b)
        return present(_tangent_solution(primals, right, change.apply(of_consts), params))

    return outs, nonzero_out, tangent_map


def transposed(matvec: jx.Jaxpr, num_consts: int) -> staging.Staged:
    """Return the transpose of a program of constants and of a vector, in which it is linear."""

    def make() -> staging.Staged:
        size = len(matvec.outs)
        linear = (False,) * num_consts + (True,) * size
        transposed_matvec = transpose_jaxpr(matvec, linear, (True,) * size)
        avals = matvec.in_avals

        def run(*args: Array) -> list[Array]:
            outs = with_zeros(transposed_matvec.nonzero_out, inline(transposed_matvec.staged, args))
            return rules.instantiate_all(outs, avals[num_consts:])

        return staging.stage(run, [*avals[:num_consts], *matvec.out_avals])

    return matvec.derive(("transposed operator", num_consts), make)


def _bind_staged(
    programs: Sequence[staging.Staged], operands: Sequence[Array], num_consts: int
) -> Sequence[Array]:
    """Bind programs that take the same operands, after constants that each has of its own."""
    (of_matvec, of_solve, *back), own = staging.close_over(programs)
    params = LinearSolveParams(
        of_matvec, of_solve, back[0] if back else None, len(own) + num_consts
    )
    return bind(custom_linear_solve_p, (*own, *operands), params)


@custom_linear_solve_p.def_transpose
def _solve_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: LinearSolveParams
) -> prim.Cotangents:
    n = params.num_consts
    consts = defined(operands[:n])
    if len(consts) < n:
        raise rules.not_linear("custom_linear_solve", "its matrix")
    if params.transpose_solve is None:
        raise DifferentiationError(
            "custom_linear_solve was called without transpose_solve, which reverse mode (grad, "
            "vjp, jacrev) needs. Give it one, or say symmetric=True if the matrix is symmetric."
        )
    params = _without_aux(params)
    right_sides = rules.instantiate_all(cotangents[: params.size], [b.aval for b in operands[n:]])
    assert params.transpose_solve is not None, "asked above"
    symmetric = params.transpose_solve == params.solve
    matvec = staging.Staged(params.matvec, ()) if symmetric else transposed(params.matvec, n)
    back, forth = staging.Staged(params.transpose_solve, ()), staging.Staged(params.solve, ())
    solutions = _bind_staged([matvec, back, forth], [*consts, *right_sides], n)
    return [*[None] * n, *of_undefined(operands[n:], solutions)]


@custom_linear_solve_p.def_batch
def _solve_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: LinearSolveParams
) -> prim.BatchResult:
    n, size = params.num_consts, mapped.size
    right = [sh.move_batch_axis(x, a, 0, size) for x, a in zip(values[n:], axes[n:], strict=True)]
    places = (*axes[:n], *([0] * len(right)))

    def batched(jaxpr: jx.Jaxpr) -> staging.Staged:
        out_mapped = (True,) * len(jaxpr.outs)
        return batching.batch_jaxpr(jaxpr, mapped, places, out_mapped)[0]

    back = () if params.transpose_solve is None else (params.transpose_solve,)
    programs = [batched(jaxpr) for jaxpr in (params.matvec, params.solve, *back)]
    outs = _bind_staged(programs, [*values[:n], *right], n)
    return outs, [0] * len(outs)


# The function


def _operator(
    matvec: Callable[[Any], Any], in_tree: tree.PyTreeDef, leaves: Sequence[Array]
) -> tuple[list[Array], staging.Staged, tree.PyTreeDef]:
    """Record the operator for a right side of its results' types; return both, and their tree."""
    right = [begin(x) for x in leaves]
    while True:
        avals = [x.aval for x in right]
        operator, out_tree = _record(matvec, in_tree, avals)
        followed = follow(right, leaves, operator.jaxpr.out_avals)
        if [x.aval for x in followed] != avals:
            right = followed
            continue
        axes = mesh_rule.union(mesh_rule.axes_of([*avals, *operator.jaxpr.out_avals]))
        if all(axes == across(aval) for aval in avals):
            return right, operator, out_tree
        # of a matrix of which each device has its own, the solution is each device's own too
        right = [collective.pvary(x, axes) for x in right]


@checking.checked
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve ``matvec(x) = b`` with your own solver, which need not be differentiable.

    Derivatives in ``b`` and in what ``matvec`` closes over solve systems with the same matrix in
    forward mode, and with its transpose in reverse mode. They are differentiable too.

    Args:
        matvec: a linear function, of trees like ``b`` to trees like ``b``: the matrix.
        b: a tree of arrays.
        solve: ``solve(matvec, b)`` returns the solution.
        transpose_solve: ``transpose_solve(vecmat, b)`` returns the solution for the transpose
            (without conjugation), which ``vecmat`` applies. Reverse mode needs it.
        symmetric: whether the matrix is equal to its transpose, and ``solve`` serves for both.
        has_aux: whether ``solve`` and ``transpose_solve`` return ``(solution, aux)``; ``aux`` is
            not differentiated.

    Returns:
        The solution, a tree like ``b``; with ``has_aux``, the pair ``(solution, aux)``.

    Raises:
        ArgumentError: ``matvec`` or a solver returns what is not like ``b``.
        DifferentiationError: when differentiated in reverse, if there is no ``transpose_solve``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def halve(matvec, b):
        ...     return b / 2.0
        >>> solve = lambda a: tinyjax.lax.custom_linear_solve(
        ...     lambda x: a * x, jnp.ones(2), halve, symmetric=True
        ... )
        >>> tinyjax.jacrev(solve)(2.0)
        Array([-0.25, -0.25], dtype=float32, weak_type=True)
    """
    leaves, b_tree = tree.flatten(b)
    in_tree = tree.structure(((b,), {}))
    given = calling.as_arrays(leaves, matvec, in_tree)
    right, operator, out_tree = _operator(matvec, in_tree, given)
    avals = [x.aval for x in right]
    like = "b", b_tree, avals
    what = lambda: f"{frames.describe_function(matvec)}, the matvec of custom_linear_solve,"  # noqa: E731
    check_like(what, like, out_tree, operator.jaxpr.out_avals, exact=True)
    num_own = len(operator.consts)

    def apply(program: staging.Staged, x: Any) -> Any:
        leaves = calling.as_arrays(tree.leaves(x), matvec, in_tree)
        values = [
            ew.convert_element_type(leaf, aval.dtype)
            for leaf, aval in zip(leaves, avals, strict=True)
        ]
        consts = [*program.consts, *operator.consts]
        return tree.unflatten(b_tree, jx.eval_jaxpr(program.jaxpr, [*consts, *values]))

    aux_trees: list[tree.PyTreeDef] = []

    def staged_solver(
        solver: Callable[..., Any], name: str, multiply: Callable[[Any], Any]
    ) -> staging.Staged:
        @frames.wraps(solver)
        def run(right: Any) -> Any:
            result = solver(multiply, right)
            x, aux = calling.split_aux(solver, result) if has_aux else (result, None)
            return x, aux

        staged, out_tree = stage_function(run, in_tree, avals, "custom_linear_solve")
        x_tree, aux_tree = out_tree.children()
        what = lambda: f"{frames.describe_function(solver)}, the {name} of custom_linear_solve,"  # noqa: E731
        check_like(what, like, x_tree, staged.jaxpr.out_avals[: len(avals)], exact=True)
        aux_trees.append(aux_tree)
        return staged

    plain = staging.Staged(operator.jaxpr, ())
    programs = [operator, staged_solver(solve, "solve", lambda x: apply(plain, x))]
    if transpose_solve is not None:
        other = transposed(operator.jaxpr, num_own)
        multiply = lambda x: apply(other, x)  # noqa: E731
        programs.append(staged_solver(transpose_solve, "transpose_solve", multiply))
    elif symmetric:
        programs.append(programs[1])
    outs = _bind_staged(programs, right, 0)
    x = tree.unflatten(b_tree, outs[: len(avals)])
    return (x, tree.unflatten(aux_trees[0], outs[len(avals) :])) if has_aux else x


def _record(
    matvec: Callable[..., Any], in_tree: tree.PyTreeDef, avals: Sequence[ShapedArray]
) -> tuple[staging.Staged, tree.PyTreeDef]:
    """Record a linear function's operations on its argument; the rest is computed now, and once.

    So a derivative within it, of a function with programs inside, leaves tangents alone to be
    transposed.
    """
    flat = calling.FlatFunction(matvec, in_tree)
    staged = stage_linear(flat, avals, frames.Applied("custom_linear_solve", matvec))
    return staged, flat.out_tree

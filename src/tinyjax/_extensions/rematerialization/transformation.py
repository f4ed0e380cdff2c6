"""``memory_budget``: a function whose derivative keeps as much as fits into the budget."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames, tracebacks
from tinyjax._extensions.rematerialization.planning import (
    BudgetParams,
    MemoryPlan,
    chains,
    cheapest_within,
)
from tinyjax.core.api import arguments
from tinyjax.core.jit import program
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.stablehlo import Lowering, types as hlo
from tinyjax.core.tracing import calling, checking, primitive as prim, program_rules
from tinyjax.core.tracing.staging import call_staged, stage_call
from tinyjax.core.values import integers as ints

P = ParamSpec("P")
R = TypeVar("R")

budget_p: prim.Primitive[BudgetParams] = prim.Primitive("memory_budget", BudgetParams)
_bind_budget = program.def_call(
    budget_p,
    "a program with a memory budget",
    lambda params, jaxpr: attrs.evolve(params, jaxpr=jaxpr),
)
budget_p.def_rule(program_rules.INLINING)(lambda params: params.jaxpr)


@budget_p.def_lowering
def _budget_lowering(b: Lowering, operands: hlo.Values, params: BudgetParams) -> hlo.Values:
    return call_jaxpr(b, params.jaxpr, params.name, operands)


@budget_p.def_linearize
def _budget_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: BudgetParams
) -> prim.LinearizeResult:
    marks = tuple(nonzero)

    def choose() -> Any:
        among = chains(params.jaxpr, marks, params.value)
        return cheapest_within(among, params.budget, params.name)[1].jaxpr

    chosen = params.jaxpr.derive(("memory budget", params.budget, marks, params.value), choose)
    return program.linearize_of_call(chosen, primals, nonzero)


def budgeted(fun: Callable[P, R], memory_budget: int, value: bool = True) -> Callable[P, R]:
    """Return a function of the same values, whose reverse-mode derivative keeps to a budget.

    Args:
        fun: takes and returns arrays in any containers.
        memory_budget: the bytes that its derivative may need besides the arguments.
        value: whether its first result is read.
    """
    _check(memory_budget)
    name = getattr(fun, "__name__", type(fun).__name__)

    @partial(tracebacks.folded, named=fun)
    def within_budget(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, in_tree = tree.flatten((args, kwargs))
        arrays = calling.as_arrays(leaves, fun, in_tree)
        flat = calling.FlatFunction(fun, in_tree, user_fun=fun)
        staged = stage_call(flat, [x.aval for x in arrays], fun)
        params = BudgetParams(staged.jaxpr, memory_budget, value, name)
        outs = call_staged(staged, arrays, lambda staged, args: _bind_budget(staged, args, params))
        result: R = tree.unflatten(flat.out_tree, outs)
        return result

    return within_budget


def _check(memory_budget: int) -> None:
    if memory_budget < 1:
        raise errors.ArgumentError(
            f"memory_budget is a number of bytes, but it is {memory_budget}. Give a positive one."
        )


@checking.checked
def memory_plan(
    fun: Callable[..., Any], memory_budget: int, argnums: int | Sequence[int] = 0
) -> Callable[..., MemoryPlan]:
    """Return a function that returns the plan of ``grad(fun, argnums, memory_budget=...)``.

    Args:
        fun: returns arrays in any containers; it is staged, not run.
        memory_budget: the bytes that its derivative may need besides the arguments.
        argnums: which positional arguments to differentiate; an int, or several.

    Returns:
        A function of the arguments of ``fun``, each of which may be a ``ShapeDtypeStruct``. It
        returns a ``MemoryPlan``: ``peak`` is the predicted number of bytes, and its text lists what
        is kept and what is computed again.

    Raises:
        ArgumentError: the budget is less than the least possible one, which the message gives.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def loss(ws, x):
        ...     for w in ws:
        ...         x = jnp.tanh(x @ w)
        ...     return jnp.sum(x)
        >>> ws, x = [jnp.ones((64, 64))] * 16, jnp.ones((512, 64))
        >>> plan = tinyjax.autodiff.memory_plan(loss, 1_500_000)(ws, x)
        >>> plan.peak <= 1_500_000, plan.results, f"{plan.work:.0%}"
        (True, 262144, '62%')
    """
    _check(memory_budget)
    numbers = ints.integers(ints.one_or_more(argnums, "argnums"), "argnums")

    def planned(*args: Any, **kwargs: Any) -> MemoryPlan:
        arguments.pick_arguments("memory_plan", fun, numbers, args)
        leaves, in_tree = tree.flatten_arguments(args, kwargs)
        avals = calling.as_avals(leaves, fun, in_tree)
        staged = stage_call(
            calling.FlatFunction(fun, in_tree, user_fun=fun),
            avals,
            frames.Applied("memory_plan", fun),
        )
        chosen = {i % len(args) for i in numbers}
        marks = [i in chosen for i, arg in enumerate(args) for _ in tree.leaves(arg)]
        marks += [False] * (len(leaves) - len(marks))
        floats = [dtypes.is_inexact(aval.dtype) for aval in avals]
        nonzero = (*[False] * len(staged.consts), *map(operator.and_, marks, floats))
        name = getattr(fun, "__name__", type(fun).__name__)
        among = chains(staged.jaxpr, nonzero, value=False)
        chain, choice = cheapest_within(among, memory_budget, name)
        least = min(chain.least().peak for chain in among)
        return chain.plan(memory_budget, choice, least)

    return planned

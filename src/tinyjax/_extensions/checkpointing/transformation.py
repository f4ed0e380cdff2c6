"""The checkpointed program as a primitive: its derivative computes values again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames, tracebacks
from tinyjax._extensions.checkpointing import policies, rematerialize, split_loops as split_loops  # noqa: PLC0414 (rules)
from tinyjax.core.api import arguments
from tinyjax.core.jit.program import def_call
from tinyjax.core.lowering import call_jaxpr, from_branch, from_branches
from tinyjax.core.stablehlo import Lowering, types as hlo
from tinyjax.core.tracing import (
    calling,
    checking,
    jaxpr as jx,
    primitive as prim,
    program_rules,
    trace as tr,
)
from tinyjax.core.tracing.staging import Staged, call_staged, stage_call
from tinyjax.core.transforms.linearize import linearize_jaxpr
from tinyjax.core.values import Array, integers as ints


@attrs.frozen(eq=False, repr=False)
class CheckpointParams(prim.Params):
    """A program whose derivative computes values again.

    Attributes:
        jaxpr: the program.
        policy: decides which values are kept.
        prevent_cse: whether the compiler must not merge the recomputation with the first one.
        differentiated: whether this is a derivative, which computes values again.
        name: the function's name; programs that differ in name only are the same.
    """

    jaxpr: jx.Jaxpr
    policy: policies.Policy
    prevent_cse: bool
    differentiated: bool = False
    name: str = attrs.field(default="f", eq=False)


checkpoint_p: prim.Primitive[CheckpointParams] = prim.Primitive("checkpoint", CheckpointParams)


@checkpoint_p.def_lowering
def _checkpoint_lowering(b: Lowering, operands: hlo.Values, params: CheckpointParams) -> hlo.Values:
    always = _always(b, operands) if _kept_apart(params) else None
    if always is None:
        return call_jaxpr(b, params.jaxpr, params.name, operands)
    results, avals = b.results, params.jaxpr.out_avals

    def run(_: hlo.Values) -> hlo.Values:
        return from_branch(b, call_jaxpr(b, params.jaxpr, params.name, operands), avals)

    regions = b.region((), lambda _: [b.full(0, of) for of in results]), b.region((), run)
    # not ``if``, through which XLA does not tell how values are divided over devices
    index = b.convert(always, dtypes.int32)
    return from_branches(b, b.emit("stablehlo.case", (index,), results, {}, regions), avals)


@checkpoint_p.def_rule(program_rules.INLINING)
def _checkpoint_inlining(params: CheckpointParams) -> jx.Jaxpr | None:
    return None if _kept_apart(params) else params.jaxpr


def _kept_apart(params: CheckpointParams) -> bool:
    return (
        params.prevent_cse
        and params.differentiated
        and not jx.effects(params.jaxpr).ordered
        and materializes(params.jaxpr)
    )


# If a program has no such operation, XLA on CPU keeps nothing of it anyhow. It would turn the
# conditional into computing both sides, in 2.5 MB where none are needed (64 sines and tangents of
# 10,000 numbers).
def materializes(jaxpr: jx.Jaxpr) -> bool:
    """Return whether a program has operations whose results XLA keeps in memory."""
    return jaxpr.derive("materializes", lambda: any(map(materializes_eqn, jaxpr.eqns)))


def materializes_eqn(eqn: jx.JaxprEqn) -> bool:
    """Return whether XLA cannot fuse an equation, or one in its programs, with its neighbours."""
    is_kept = prim.MATERIALIZES in eqn.primitive.rules.extensions
    return is_kept or any(map(materializes, jx.subjaxprs(eqn.params)))


def _always(b: Lowering, operands: hlo.Values) -> hlo.SSAValue | None:
    """Write a condition that always holds, unknown to XLA; None where there is none.

    XLA drops ``optimization_barrier`` on CPU and then merges what the barrier separated. It does
    not merge across the border of a conditional, nor does it start a conditional before its
    condition is available. The condition is x = x or x != x. One x is the last operand, which is
    available when the derivative is needed; the other is a parameter of the function, since the
    last operand may be a constant. (For an element of another operand, XLA might keep the values
    that it is computed from.)

    Where operands are divided over devices, these elements would have to be sent to all devices but
    one. In a loop, whose counter is the same on all, the condition is that the counter is not
    negative.
    """
    if b.module.is_divided and b.counter is not None:
        return b.compare(b.counter, b.full(0, b.counter.type), "GE")
    last, first = [
        next((x for x in xs if x.size and dtypes.kind(x.dtype) in "fc"), None)
        for xs in (reversed(operands), (*b.parameters, *operands))
    ]
    if last is None or first is None:
        return None
    always = _equal_or_not(b, last)
    return always if first is last else b.and_(_equal_or_not(b, first), always)


def _equal_or_not(b: Lowering, x: hlo.SSAValue) -> hlo.SSAValue:
    """Write whether an array's first element is equal or unequal to itself."""
    if x.ndim:
        x = b.reshape(b.slice(x, (0,) * x.ndim, (1,) * x.ndim), ())
    return b.or_(b.compare(x, x, "EQ"), b.compare(x, x, "NE"))


bind_checkpoint: Callable[[Staged, Sequence[Array], CheckpointParams], Sequence[Array]] = def_call(
    checkpoint_p, "a checkpointed program", lambda params, jaxpr: attrs.evolve(params, jaxpr=jaxpr)
)


@attrs.frozen(eq=False, repr=False)
class Linearized:
    """A checkpointed program in two halves.

    Attributes:
        consts: the values of the first parameters of ``primal``.
        primal: takes ``consts`` and the operands; returns the results and then the values that the
            policy keeps.
        tangent: takes some parameters of ``primal``, the kept values and the nonzero tangents;
            recomputes the rest, and returns the tangents of the results.
        operands: the parameters of ``primal`` that ``tangent`` takes.
        nonzero_out: which results have a tangent.
    """

    consts: tuple[Array, ...]
    primal: jx.Jaxpr
    tangent: jx.Jaxpr
    operands: tuple[int, ...]
    nonzero_out: tuple[bool, ...]


def linearize(jaxpr: jx.Jaxpr, nonzero: tuple[bool, ...], policy: policies.Policy) -> Linearized:
    """Linearize a program, and recompute those residuals that the policy does not keep."""

    def make() -> Linearized:
        linearized = linearize_jaxpr(jaxpr, nonzero)
        primal, consts = linearized.primal.jaxpr, linearized.primal.consts
        num_results = len(linearized.nonzero_out)
        tangent = program_rules.dce(linearized.tangent)
        mentioned = {x for eqn in tangent.eqns for x in eqn.inputs} | set(tangent.outs)

        # the primal half's variable of each residual of the tangent map
        computed = iter(primal.outs[num_results:])
        residuals: dict[jx.Var, jx.Atom] = {}
        for var, place in zip(tangent.in_binders, linearized.forwarded, strict=False):
            value = next(computed) if place is None else primal.in_binders[len(consts) + place]
            if var in mentioned:
                residuals[var] = value

        needed = [x for x in residuals.values() if isinstance(x, jx.Var)]
        chosen = policy.saved(primal, needed) if isinstance(policy, policies.WholePolicy) else set()
        split = rematerialize.split_jaxpr(primal, needed, policies.PolicySaveable(policy), chosen)
        forward = program_rules.dce(
            jx.Jaxpr(primal.in_binders, split.forward, (*primal.outs[:num_results], *split.saved))
        )

        def rename(x: jx.Atom) -> jx.Atom:
            return residuals.get(x, x) if isinstance(x, jx.Var) else x

        again = jx.Jaxpr(
            (
                *(primal.in_binders[i] for i in split.params_in),
                *split.saved,
                *tangent.in_binders[len(linearized.forwarded) :],
            ),
            (
                *split.recomputed,
                *(attrs.evolve(e, inputs=tuple(map(rename, e.inputs))) for e in tangent.eqns),
            ),
            tuple(map(rename, tangent.outs)),
        )
        return Linearized(consts, forward, again, split.params_in, linearized.nonzero_out)

    return jaxpr.derive(("checkpoint", nonzero, policy), make)


@checkpoint_p.def_linearize
def _checkpoint_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: CheckpointParams
) -> prim.LinearizeResult:
    linearized = linearize(params.jaxpr, tuple(nonzero), params.policy)
    n = len(linearized.nonzero_out)
    operands = (*linearized.consts, *primals)
    # A call, into which the policy of a checkpoint around this one looks. Inlined, nested
    # checkpoints would make programs quadratic in their depth.
    outs = tr.bind(checkpoint_p, operands, attrs.evolve(params, jaxpr=linearized.primal))
    kept = [*(operands[i] for i in linearized.operands), *outs[n:]]

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        again = attrs.evolve(params, jaxpr=linearized.tangent, differentiated=True)
        return tr.bind(checkpoint_p, (*kept, *tangents), again)

    return outs[:n], linearized.nonzero_out, tangent_map


# ``checkpoint``: a function whose derivative computes values again.


P = ParamSpec("P")
R = TypeVar("R")


class Options(TypedDict, total=False):
    """Options of ``checkpoint``."""

    prevent_cse: bool | Sequence[Any]
    policy: policies.Policy | None
    static_argnums: int | Sequence[int]
    static_argnames: str | Iterable[str]
    memory_budget: int | None


@overload
def checkpoint(fun: Callable[P, R], **options: Unpack[Options]) -> Callable[P, R]: ...
@overload
def checkpoint(**options: Unpack[Options]) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@checking.checked
def checkpoint(
    fun: Callable[P, R] | None = None,
    *,
    prevent_cse: bool | Sequence[Any] = True,
    policy: policies.Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    memory_budget: int | None = None,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Make the derivative of a function compute values again instead of keeping them.

    The results do not change. Reverse mode keeps only the function's arguments, the arrays it
    closes over and what the policy allows. The backward pass first runs the rest of the function
    again: less memory for more work. A chain of ``n`` equal steps checkpointed in groups of
    ``sqrt(n)`` needs memory for about ``2 sqrt(n)`` steps and runs each step twice.

    The function is staged at each call. Its Python control flow may depend on shapes, dtypes and
    static arguments, but not on data.

    Args:
        fun: takes and returns arrays in any containers. Without it, ``checkpoint`` returns a
            decorator.
        prevent_cse: whether to keep the compiler from merging the recomputation with the first
            computation, which would need the memory again. You can turn it off where the two cannot
            meet, as in the body of a scan. A bool for each argument, or for each part of it in a
            prefix tree, turns it on if one of them is true.
        policy: ``policy(primitive, *avals, **params) -> bool`` says whether the results of an
            operation may be kept; see ``checkpoint_policies``. The default keeps the arguments
            only. The policy also decides about operations inside ``jit``, ``scan``, ``cond`` and
            ``switch``; values kept in the body of a scan are stacked. A ``while_loop`` counts as
            one operation, since its number of iterations is unknown. If the policy does not keep
            its results, the loop runs again, and keeps states by its own ``checkpoints``.
        static_argnums: positional arguments that are not arrays, or whose data the function's
            control flow needs.
        static_argnames: such arguments by name, given by position or by name.
        memory_budget: the bytes that the derivative may need besides the arguments, for its results
            and in between. The library, instead of a policy, then chooses which values to keep.

    Returns:
        A function of the same signature.

    Raises:
        ConcretizationError: when called, if the function needs the data of an argument.
        StaticArgumentError: when called, if there is no argument that ``static_argnums`` names.
        ArgumentError: there are both a policy and a memory budget; or, when differentiated, the
            policy returns no bool, or ``memory_budget`` is less than the least possible one.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.checkpoint
        ... def f(x):
        ...     return jnp.sin(jnp.sin(jnp.sin(x)))
        >>> tinyjax.print_saved_residuals(f, 1.0)
        float32[] 4 bytes, the argument x
        1 residual, 4 bytes
        >>> float(tinyjax.grad(f)(0.0))
        1.0
    """
    if fun is None:
        return partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            memory_budget=memory_budget,
        )
    if memory_budget is not None and policy is not None:
        raise errors.ArgumentError(
            "checkpoint was given both a policy and a memory_budget, for which the library chooses "
            "what is kept. Leave out one of them."
        )
    kept = policies.nothing_saveable if policy is None else policy
    policies.check_hashable(kept)
    names = {static_argnames} if isinstance(static_argnames, str) else {*static_argnames}
    checkpointed = _Checkpointed(
        fun,
        kept,
        prevent_cse if isinstance(prevent_cse, bool) else tuple(prevent_cse),
        ints.integers(ints.one_or_more(static_argnums, "static_argnums"), "static_argnums"),
        names,
        _places_of(names, fun) if names else [],
        memory_budget,
    )
    return tracebacks.folded(checkpointed, fun)


@attrs.frozen(eq=False, repr=False)
class _Checkpointed(Generic[P, R]):
    """A function under ``checkpoint``, with the options.

    Attributes:
        fun: the function.
        policy: decides which values may be kept.
        prevent_cse: whether nothing is merged with recomputed values; or a tree of bools.
        argnums: static arguments by position, as they were given.
        argnames: static arguments by name.
        places: the positions of these.
        memory_budget: the bytes that the derivative may need.
    """

    fun: Callable[P, R]
    policy: policies.Policy
    prevent_cse: bool | tuple[Any, ...]
    argnums: tuple[int, ...]
    argnames: set[str]
    places: list[int]
    memory_budget: int | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        fun = self.fun
        by_name = [i for i in self.places if i < len(args)]
        static = _static_places(fun, self.argnums, len(args)).union(by_name)
        dynamic = [arg for i, arg in enumerate(args) if i not in static]
        named: Any = {name: x for name, x in kwargs.items() if name in self.argnames}
        others = {name: x for name, x in kwargs.items() if name not in self.argnames}

        applied = frames.Applied("checkpoint", fun)

        @frames.wraps(applied)
        def call(*values: Any, **given_kwargs: Any) -> R:
            rest = iter(values)
            full: list[Any] = [args[i] if i in static else next(rest) for i in range(len(args))]
            user_fun: Callable[..., R] = fun
            return user_fun(*full, **named, **given_kwargs)

        if self.memory_budget is not None:
            value: R = arguments.within_budget(call, self.memory_budget)(*dynamic, **others)
            return value
        leaves, in_tree = tree.flatten((tuple(dynamic), others))
        apart = self.prevent_cse
        if not isinstance(apart, bool):
            marked = in_tree if others else in_tree.children()[0]
            apart = any(tree.flatten_prefix(apart, marked, None, "prevent_cse"))
        if calling.HOLDERS:
            both = _of_both(call)
            (rest,), held = calling.closed_over([both], (dynamic, others))
            if rest is not both:
                result: R = checkpoint(rest, prevent_cse=apart, policy=self.policy)(*held)
                return result
        arrays = calling.as_arrays(leaves, fun, in_tree, static)
        flat = calling.FlatFunction(call, in_tree, user_fun=fun)
        staged = stage_call(flat, [x.aval for x in arrays], applied)
        name = getattr(fun, "__name__", type(fun).__name__)
        params = CheckpointParams(staged.jaxpr, self.policy, apart, name=name)

        outs = call_staged(
            staged, arrays, lambda staged, args: bind_checkpoint(staged, args, params)
        )
        result = tree.unflatten(flat.out_tree, outs)
        return result


def _places_of(names: set[str], fun: Callable[..., Any]) -> list[int]:
    """Return the places of parameters that are known by name."""
    parameters = [*inspect.signature(fun).parameters]
    unknown = sorted(names.difference(parameters))
    if unknown:
        raise errors.StaticArgumentError(
            f"static_argnames has {', '.join(map(repr, unknown))}, but "
            f"{frames.describe_function(fun)} takes {', '.join(parameters) or 'nothing'}."
        )
    return [i for i, name in enumerate(parameters) if name in names]


def _of_both(call: Callable[..., R]) -> Callable[[Sequence[Any], dict[str, Any]], R]:
    """Return a function of its positional and of its keyword arguments."""
    return lambda args, kwargs: call(*args, **kwargs)


remat = checkpoint


def _static_places(
    fun: Callable[..., Any], static_argnums: Sequence[int], num_args: int
) -> frozenset[int]:
    for i in static_argnums:
        if not -num_args <= i < num_args:
            raise errors.StaticArgumentError(
                f"static_argnums of checkpoint names argument {i}, but "
                f"{frames.describe_function(fun)} was called with {num_args} positional arguments. "
                "Pass static arguments by position."
            )
    return frozenset(i + num_args if i < 0 else i for i in static_argnums)

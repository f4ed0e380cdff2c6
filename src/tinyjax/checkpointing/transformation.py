"""``checkpoint``: a function whose derivative computes values again."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar, overload

from tinyjax import errors, frames, tracebacks, tree
from tinyjax.checkpointing import policies, program
from tinyjax.core.tracing import calling, checking
from tinyjax.core.tracing.calling import HOLDERS, closed_over
from tinyjax.core.tracing.staging import call_staged, stage_call
from tinyjax.core.values import integers as ints

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool | Sequence[bool] = ...,
    policy: policies.Policy | None = ...,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Iterable[str] = ...,
) -> Callable[P, R]: ...
@overload
def checkpoint(
    *,
    prevent_cse: bool | Sequence[bool] = ...,
    policy: policies.Policy | None = ...,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Iterable[str] = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@checking.checked
def checkpoint(
    fun: Callable[P, R] | None = None,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: policies.Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
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
            meet, as in the body of a scan. Of a bool for each argument, one that is true is
            enough.
        policy: ``policy(primitive, *avals, **params) -> bool`` says whether the results of an
            operation may be kept; see ``checkpoint_policies``. The default keeps the arguments
            only. The policy also decides about operations inside ``jit``, ``scan``, ``cond`` and
            ``switch``; values kept in the body of a scan are stacked. A ``while_loop`` counts as
            one operation, since its number of iterations is unknown. If the policy does not keep
            its results, the loop runs again, and keeps states by its own ``checkpoints``.
        static_argnums: positional arguments that are not arrays, or whose data the function's
            control flow needs.
        static_argnames: such arguments by name, given by position or by name.

    Returns:
        A function of the same signature.

    Raises:
        ConcretizationError: when called, if the function needs the data of an argument.
        StaticArgumentError: when called, if there is no argument that ``static_argnums`` names.
        ArgumentError: when differentiated, if the policy returns no bool.

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

        def decorate(fun: Callable[P, R]) -> Callable[P, R]:
            return checkpoint(
                fun,
                prevent_cse=prevent_cse,
                policy=policy,
                static_argnums=static_argnums,
                static_argnames=static_argnames,
            )

        return decorate
    user_fun = fun
    guarded = prevent_cse if isinstance(prevent_cse, bool) else any(prevent_cse)
    chosen = ints.integers(ints.one_or_more(static_argnums, "static_argnums"), "static_argnums")
    names = {static_argnames} if isinstance(static_argnames, str) else {*static_argnames}
    if names:
        return _with_names(fun, chosen, names, guarded, policy)
    kept = policies.checkpoint_policies.nothing_saveable if policy is None else policy
    policies.check_hashable(kept)
    name = getattr(fun, "__name__", type(fun).__name__)

    @tracebacks.folded
    @frames.wraps(fun)
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        static = _static_places(user_fun, chosen, len(args))
        dynamic = [arg for i, arg in enumerate(args) if i not in static]

        @frames.wraps(fun)
        def call(*values: Any, **given_kwargs: Any) -> R:
            rest = iter(values)
            full: list[Any] = [args[i] if i in static else next(rest) for i in range(len(args))]
            return user_fun(*full, **given_kwargs)

        if HOLDERS:
            both = _of_both(call)
            (rest,), others = closed_over([both], (dynamic, kwargs))
            if rest is not both:
                result: R = checkpoint(rest, prevent_cse=guarded, policy=kept)(*others)
                return result
        leaves, in_tree = tree.flatten((tuple(dynamic), kwargs))
        arrays = calling.as_arrays(leaves, user_fun, in_tree, static)
        flat = calling.FlatFunction(call, in_tree, user_fun=user_fun)
        staged = stage_call(flat, [x.aval for x in arrays], user_fun)
        params = program.CheckpointParams(staged.jaxpr, kept, guarded, name=name)

        outs = call_staged(
            staged, arrays, lambda staged, args: program.bind_checkpoint(staged, args, params)
        )
        result = tree.unflatten(flat.out_tree, outs)
        return result

    return checkpointed


def _with_names(
    fun: Callable[P, R],
    static_argnums: Sequence[int],
    names: set[str],
    prevent_cse: bool,
    policy: policies.Policy | None,
) -> Callable[P, R]:
    """Checkpoint a function some of whose static arguments are known by name."""
    parameters = [*inspect.signature(fun).parameters]
    unknown = sorted(names.difference(parameters))
    if unknown:
        raise errors.StaticArgumentError(
            f"static_argnames has {', '.join(map(repr, unknown))}, but "
            f"{frames.describe_function(fun)} takes {', '.join(parameters) or 'nothing'}."
        )
    places = [i for i, name in enumerate(parameters) if name in names]

    @frames.wraps(fun)
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        static = {name: x for name, x in kwargs.items() if name in names}
        rest = {name: x for name, x in kwargs.items() if name not in names}
        with_all: Callable[..., R] = fun
        call = frames.imitate(partial(with_all, **static), fun)
        static_places = {*static_argnums, *(i for i in places if i < len(args))}
        positional: Callable[..., R] = checkpoint(
            call, prevent_cse=prevent_cse, policy=policy, static_argnums=[*static_places]
        )
        return positional(*args, **rest)

    return checkpointed


def _of_both(call: Callable[..., R]) -> Callable[[Sequence[Any], dict[str, Any]], R]:
    """A function of its positional and of its keyword arguments."""
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

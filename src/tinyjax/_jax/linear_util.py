"""``jax.extend.linear_util`` and ``jax.api_util``: functions of trees as functions of leaves."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any

import attrs

from tinyjax import errors, tree
from tinyjax.tree import PyTreeDef


@attrs.frozen(eq=False)
class WrappedFun:
    """A function that others have been put around; made by ``wrap_init``.

    Attributes:
        call_wrapped: the function.
    """

    call_wrapped: Callable[..., Any]


def wrap_init(f: Callable[..., Any], params: Any = None, debug_info: object = None) -> WrappedFun:
    """Wrap a function.

    Args:
        f: the function.
        params: keyword arguments of it.
        debug_info: of no account.
    """
    keywords = dict(params or {})
    return WrappedFun(lambda *args, **kwargs: f(*args, **keywords, **kwargs))


def transformation(steps: Callable[..., Generator[Any, Any, None]]) -> Callable[..., WrappedFun]:
    """Make a transformation of wrapped functions of a generator.

    Args:
        steps: takes its own arguments and those of a call; yields the arguments and the keyword
            arguments for the function, is sent its result, and yields that of the call.

    Returns:
        A function of a wrapped function and the own arguments.

    Example:
        >>> from tinyjax._jax.linear_util import transformation, wrap_init
        >>> @transformation
        ... def shifted(by, x):
        ...     y = yield (x + by,), {}
        ...     yield -y
        >>> shifted(wrap_init(lambda x: 10 * x), 1).call_wrapped(2)
        -30
    """

    def transformed(f: WrappedFun, *own: Any) -> WrappedFun:
        def call(*args: Any, **kwargs: Any) -> Any:
            running = steps(*own, *args, **kwargs)
            positional, named = next(running)
            return running.send(f.call_wrapped(*positional, **named))

        return WrappedFun(call)

    return transformed


def transformation_with_aux(
    steps: Callable[..., Generator[Any, Any, None]],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """Make a transformation that yields, beside the result of a call, something of its own.

    Args:
        steps: as of ``transformation``; the last yield is of the result and the other thing.

    Returns:
        A function of a wrapped function and the own arguments. It returns the transformed
        function, and what returns the other thing once that was called.

    Example:
        >>> from tinyjax._jax.linear_util import transformation_with_aux, wrap_init
        >>> @transformation_with_aux
        ... def counted(*args):
        ...     y = yield args, {}
        ...     yield y, len(args)
        >>> f, count = counted(wrap_init(lambda x, y: x + y))
        >>> f.call_wrapped(1, 2), count()
        (3, 2)
    """

    def transformed(f: WrappedFun, *own: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        beside: list[Any] = []

        @transformation
        def with_aux(*args: Any, **kwargs: Any) -> Generator[Any, Any, None]:
            running = steps(*own, *args, **kwargs)
            out, aux = running.send((yield next(running)))
            beside[:] = [aux]
            yield out

        return with_aux(f), lambda: beside[0]

    return transformed


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Fix the arguments of a function but for some.

    Args:
        f: the function.
        dyn_argnums: the positions of those that are not fixed; negative ones count from the end.
        args: all arguments.
        require_static_args_hashable: whether those that are fixed must be hashable.

    Returns:
        The function of those that are not fixed, and these, in the order of ``dyn_argnums``.

    Raises:
        StaticArgumentError: one that is fixed is not hashable.

    Example:
        >>> from tinyjax._jax.linear_util import argnums_partial, wrap_init
        >>> f, rest = argnums_partial(wrap_init(lambda x, y, z: (x, y, z)), (2, 0), (1, 2, 3))
        >>> rest, f.call_wrapped(30, 10)
        ((3, 1), (10, 2, 30))
    """
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else dyn_argnums
    places = [range(len(args))[i] for i in numbers]
    for i, x in enumerate(args):
        if require_static_args_hashable and i not in places and not isinstance(x, Hashable):
            raise errors.StaticArgumentError(
                f"argnums_partial fixes argument {i}, a {errors.type_name(x)}, which is not "
                "hashable."
            )

    def call(*values: Any, **kwargs: Any) -> Any:
        whole = [*args]
        for i, x in zip(places, values, strict=True):
            whole[i] = x
        return f.call_wrapped(*whole, **kwargs)

    return WrappedFun(call), tuple([args[i] for i in places])


def debug_info(*args: object, **kwargs: object) -> None:
    """Return nothing: messages find the names of functions themselves."""


def flatten_fun(f: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    """Make a function of ``args, kwargs`` one of their leaves, which returns those of its result.

    Args:
        f: the function.
        in_tree: the structure of ``(args, kwargs)``.

    Returns:
        The function of leaves, and what returns the structure of the result once it was called.

    Example:
        >>> from tinyjax import tree
        >>> from tinyjax._jax.linear_util import flatten_fun, wrap_init
        >>> flat, out_tree = flatten_fun(
        ...     wrap_init(lambda x, y: {"sum": x + y}), tree.structure(((0,), {"y": 0}))
        ... )
        >>> flat.call_wrapped(1, 2), out_tree()
        ([3], PyTreeDef({'sum': *}))
    """
    out_trees: list[PyTreeDef] = []

    def flat(*leaves: Any) -> list[Any]:
        args, kwargs = tree.unflatten(in_tree, leaves)
        results, out_tree = tree.flatten(f.call_wrapped(*args, **kwargs))
        out_trees[:] = [out_tree]
        return results

    return WrappedFun(flat), lambda: out_trees[0]


def flatten_fun_nokwargs(
    f: WrappedFun, in_tree: PyTreeDef
) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    """Do as ``flatten_fun``, for a function without keyword arguments.

    Args:
        f: the function.
        in_tree: the structure of the arguments.
    """
    with_none = WrappedFun(lambda args, **_: f.call_wrapped(*args))
    both = tree.structure(((tree.unflatten(in_tree, [0] * in_tree.num_leaves),), {}))
    return flatten_fun(with_none, both)

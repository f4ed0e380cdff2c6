"""``laplacian``, ``divergence`` and second derivatives along a direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames
from tinyjax._library.laplacians import numbering
from tinyjax._library.laplacians.rows import JacobianRows
from tinyjax._library.laplacians.trace import LaplacianTrace, run
from tinyjax.core.api import arguments, jacobians
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.tracing import calling, checking, primitive as prim, trace as tr
from tinyjax.core.tracing.watching import watched
from tinyjax.core.values import Array, avals as av, concrete, integers as ints

R = TypeVar("R")


class Laplacian(NamedTuple):
    """A function at a point.

    Attributes:
        value: what the function returns.
        jacobian: its first derivatives, in the layout of ``jacrev``: of a scalar the gradient.
        laplacian: a tree like the value, of sums of second derivatives.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import autodiff
        >>> at_point = autodiff.laplacian(lambda x: x[0] ** 2 * x[1])(jnp.array([2.0, 3.0]))
        >>> at_point.jacobian, at_point.laplacian
        (Array([12.,  4.], dtype=float32), Array(6., dtype=float32))
    """

    value: Any
    jacobian: Any
    laplacian: Any


@checking.checked
def laplacian(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, *, sparse: bool = True
) -> Callable[..., Laplacian]:
    """Return a function that computes value, first derivatives and Laplacian in one forward pass.

    The Laplacian is the sum of the second derivatives in each input, that is, in each element of
    the chosen arguments: the trace of the Hessian. It takes about the work of the first derivatives
    in forward mode, and never a matrix of second derivatives (R. Li et al., *A computational
    framework for neural network-based variational Monte Carlo with Forward Laplacian*, 2023).

    Each value in between carries its derivatives in the inputs that it depends on. Where the parts
    of a batch, such as particles or nodes, go through the same operations side by side, each has
    those in its own inputs only, until the parts meet.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several, whose Laplacians
            are added.
        sparse: whether to keep track of which inputs elements depend on. Otherwise all carry the
            derivatives in all of them.

    Returns:
        A function of the same signature. It returns a ``Laplacian``: the value, the first
        derivatives as ``jacrev`` lays them out, and the Laplacian of each result, of its type.

    Raises:
        DifferentiationError: when called, if an argument is not of real floats, or a result neither
            of floats nor of complex numbers.
        ArgumentError: when called, if an argument has a symbolic size.
        MissingRuleError: when called, if a primitive has no ``jvp`` rule.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import autodiff
        >>> x = jnp.array([1.0, 2.0, 3.0])
        >>> value, gradient, laplacian = autodiff.laplacian(lambda x: jnp.sum(x**3))(x)
        >>> gradient
        Array([ 3., 12., 27.], dtype=float32)
        >>> float(laplacian)  # 6 (1 + 2 + 3)
        36.0
    """
    choice = arguments.DifferentiatedArguments("laplacian", fun, argnums)

    @partial(watched, named=fun)
    def laplacian_at(*args: Any, **kwargs: Any) -> Laplacian:
        chosen, flat = _chosen(choice, args, kwargs)
        trace, outs = _forward(chosen, flat, True, sparse)
        for out in outs:
            if not dtypes.is_inexact(out.dtype):
                raise errors.DifferentiationError(
                    f"laplacian requires results of floats or complex numbers, but "
                    f"{frames.describe_function(fun)} returned {out.aval}. Convert it with "
                    ".astype(float)."
                )
        total = sum(x.size for x in chosen.primals)
        rows = [trace.rows_at(out, numbering.column(np.arange(total), out.ndim)) for out in outs]
        terms = [sh.squeeze(slicing.slice_in_dim(r, 0, 1), (0,)) for r in rows]
        blocks = [
            chosen.result(
                jacobians.split_inputs(
                    sh.moveaxis(slicing.slice_in_dim(r, 1, total + 1), 0, r.ndim - 1),
                    chosen.primals,
                )
            )
            for r in rows
        ]
        return Laplacian(
            tree.unflatten(flat.out_tree, [trace.primal(out) for out in outs]),
            tree.unflatten(flat.out_tree, blocks),
            tree.unflatten(flat.out_tree, terms),
        )

    return laplacian_at


@checking.checked
def divergence(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, *, sparse: bool = True
) -> Callable[..., Array]:
    """Return a function that computes the divergence of a vector field.

    It is the sum of the derivatives of each element of the field in the input of the same place:
    the trace of the Jacobian, in one forward pass. Elements carry their derivatives in the inputs
    that they depend on, as for ``laplacian``: of a field that works element by element there is one
    for each.

    Args:
        fun: returns a tree like the chosen argument, or like the tuple of several.
        argnums: which positional arguments are the point; an int, or several.
        sparse: whether to keep track of which inputs elements depend on.

    Returns:
        A function of the same signature that returns a scalar.

    Raises:
        DifferentiationError: when called, if an argument is not of real floats.
        ArgumentError: when called, if the result is not like the argument, or an argument has a
            symbolic size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import autodiff
        >>> field = lambda x: jnp.array([x[0] ** 2, x[0] * x[1]])
        >>> float(autodiff.divergence(field)(jnp.array([1.0, 2.0])))  # 2 x + x
        3.0
    """
    choice = arguments.DifferentiatedArguments("divergence", fun, argnums)

    @partial(watched, named=fun)
    def divergence_at(*args: Any, **kwargs: Any) -> Array:
        chosen, flat = _chosen(choice, args, kwargs)
        trace, outs = _forward(chosen, flat, False, sparse)
        (like,) = tree.structure((chosen.result(chosen.primals),)).children()
        shapes = [x.shape for x in chosen.primals]
        if flat.out_tree != like or [x.shape for x in outs] != shapes:
            raise errors.ArgumentError(
                f"divergence requires a result like the argument, {like} of shapes {shapes}, but "
                f"{frames.describe_function(fun)} returned {flat.out_tree} of shapes "
                f"{[x.shape for x in outs]}."
            )
        total: Array | None = None
        start = 0
        for out in outs:
            places = np.arange(start, start + out.size).reshape(1, *out.shape)
            start += out.size
            own = slicing.slice_in_dim(trace.rows_at(out, places), 1, 2)
            part = reduce_sum(own, tuple(range(own.ndim)))
            total = part if total is None else total + part
        return sh.full((), 0, dtypes.float32) if total is None else total

    return divergence_at


@checking.checked
def directional_derivatives(
    fun: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[R, R, R]:
    """Compute the first and the second derivative of a function along a direction.

    With the direction ``v`` these are the derivatives of ``fun(x + t v)`` at ``t = 0``; the second
    one of a scalar function is ``v^T H v`` with the Hessian ``H``. For many directions use ``vmap``
    over ``tangents``, and for derivatives of any order ``jet``.

    Args:
        fun: takes and returns arrays in any containers.
        primals: the point: a tuple or list of the positional arguments of ``fun``.
        tangents: the direction: as many trees, each like its primal.

    Returns:
        ``(value, first, second)``, three trees like the result of ``fun``.

    Raises:
        ArgumentError: primals or tangents are not tuples or lists.
        TreeMismatchError: the trees of primals and tangents differ.
        DifferentiationError: a tangent is not of its primal's type.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import autodiff
        >>> x, v = jnp.array([1.0, 2.0]), jnp.array([1.0, -1.0])
        >>> _, first, second = autodiff.directional_derivatives(lambda x: x[0] * x[1], (x,), (v,))
        >>> float(first), float(second)
        (1.0, -2.0)
    """
    arguments.check_per_argument("directional_derivatives", primals=primals, tangents=tangents)
    leaves, in_tree = tree.flatten_arguments(tuple(primals), {})
    args = calling.as_arrays(leaves, fun, in_tree)
    directions = arguments.as_tangents(
        tuple(tangents),
        in_tree.children()[0],
        [x.aval for x in args],
        "tangents",
        fun,
        lambda i: calling.argument_path(fun, in_tree, i),
        "jvp",
    )
    only = np.zeros(1, np.intp)
    rows = [
        None
        if v is prim.ZERO
        else JacobianRows(
            slicing.pad_in_dim(sh.expand_dims(v, (0,)), 1, 0, 0), numbering.column(only, x.ndim)
        )
        for x, v in zip(args, directions, strict=True)
    ]
    flat = calling.FlatFunction(fun, in_tree)
    applied = frames.Applied("directional_derivatives", fun)
    trace = LaplacianTrace(tr.current_trace(), True, applied)
    outs = run(trace, flat, args, rows)
    primals_out = [trace.primal(out) for out in outs]
    both = [
        trace.rows_at(out, numbering.column(only, out.ndim))
        if dtypes.is_inexact(out.dtype)
        else sh.zero_tangent(av.ShapedArray((2, *out.shape), out.dtype))
        for out in outs
    ]
    unflatten = partial(tree.unflatten, flat.out_tree)
    first, second = (unflatten([r[i] for r in both]) for i in (1, 0))
    return unflatten(primals_out), first, second


def _chosen(
    choice: arguments.DifferentiatedArguments, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[arguments.DifferentiatedCall, calling.FlatFunction]:
    """Return the chosen arguments, and the function of these on arrays."""
    chosen = arguments.DifferentiatedCall(choice, args, kwargs)
    chosen.check(allow_complex=False)
    for x in chosen.primals:
        if isinstance(x.size, ints.SymbolicSize):
            raise errors.ArgumentError(
                f"{choice.name} of {frames.describe_function(choice.fun)} numbers the elements of "
                f"its arguments, but one is of the symbolic shape {x.shape}. Export it for "
                "constant shapes, or map it with vmap over an axis of symbolic size."
            )
    return chosen, calling.FlatFunction(chosen, chosen.in_tree, user_fun=choice.fun)


def _forward(
    chosen: arguments.DifferentiatedCall, flat: calling.FlatFunction, second: bool, sparse: bool
) -> tuple[LaplacianTrace, list[Array]]:
    """Run a function on its arguments with their derivatives in themselves."""
    total = sum(x.size for x in chosen.primals)
    rows: list[JacobianRows] = []
    start = 0
    for x in chosen.primals:
        own = np.arange(start, start + x.size).reshape(1, *x.shape)
        start += x.size
        values = np.concatenate([np.zeros((1, *x.shape)), np.ones((1, *x.shape))])
        aval = av.ShapedArray((2, *x.shape), x.dtype, x.weak_type)
        identity = JacobianRows(concrete.ConcreteArray(values.astype(x.dtype), aval), own)
        if not sparse:
            every = numbering.column(np.arange(total), x.ndim)
            identity = JacobianRows(identity.expanded(every), every)
        rows.append(identity)
    trace = LaplacianTrace(tr.current_trace(), second, chosen.choice.applied)
    return trace, run(trace, flat, chosen.primals, rows)

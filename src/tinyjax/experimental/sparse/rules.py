"""``sparsify``: its rules, and derivatives of functions of sparse arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors, lax, tree
from tinyjax._base import frames, tracebacks
from tinyjax._extensions.checkpointing.transformation import checkpoint_p
from tinyjax.core import api, jit
from tinyjax.core.api import arguments
from tinyjax.core.control_flow.primitives import (
    CondParams,
    ScanParams,
    WhileParams,
    cond_p,
    scan_p,
    while_p,
)
from tinyjax.core.tracing import bind, calling, checking, jaxpr as jx, primitive as prim, staging
from tinyjax.core.values import Array, ArrayLike, avals as av, operands as opd
from tinyjax.experimental.sparse import base, bcoo, bcsr, operations
from tinyjax.lax import primitives

# Functions of dense arrays as functions of sparse ones.
#
# A function is traced, and its program is evaluated equation by equation: one whose operands are
# dense is bound, and one with a sparse operand has a rule here. There is none where a result would
# be dense at most places.


F = TypeVar("F", bound=Callable[..., Any])

Value: TypeAlias = Array | bcoo.BCOO
#: Parameters and operands, of which one is sparse, to results.
Rule: TypeAlias = Callable[..., Sequence[Value]]

#: What a primitive does to operands of which one is sparse.
SPARSE: Final[prim.RuleKey[Rule]] = prim.RuleKey("sparse")


@checking.explained
def sparsify(f: F, use_tracer: bool = False) -> F:
    """Return a function that takes sparse arrays where ``f`` takes dense ones.

    Its results are sparse where zeros of the operands stay zeros: products, sums, functions that
    are zero at zero, and what rearranges. A product of matrices, one of which is dense, is dense,
    and so is the sum over all axes. Matrices by rows (``BCSR``) are taken, too.

    Args:
        f: a function of arrays in any containers, with ``jit``, ``scan``, ``while_loop`` and
            ``cond`` in it.
        use_tracer: of no effect.

    Raises:
        SparseRuleError: when called, if a result of an operation would be dense.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> f = sparse.sparsify(lambda m, x: jnp.sin(2.0 * m) @ x)
        >>> f(sparse.eye(2), jnp.array([1.0, 2.0]))
        Array([0.9092974, 1.8185948], dtype=float32)
    """

    @partial(tracebacks.folded, named=f)
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        def is_sparse(x: object) -> bool:
            return isinstance(x, base.JAXSparse)

        leaves, in_tree = tree.flatten((args, kwargs), is_leaf=is_sparse)
        values: list[Value] = []
        for x in leaves:
            known = x.to_bcoo() if isinstance(x, bcsr.BCSR) else x
            values.append(known if isinstance(known, bcoo.BCOO) else opd.as_array(known))
        flat = calling.FlatFunction(f, in_tree)
        staged = staging.stage(flat, [_type_of(x) for x in values], frames.Applied("sparsify", f))
        outs = _evaluate(staged.jaxpr, [*staged.consts, *values])
        return tree.unflatten(flat.out_tree, outs)

    return cast("F", sparsified)


def _type_of(x: Value) -> av.ShapedArray:
    return av.ShapedArray(x.shape, x.dtype) if isinstance(x, bcoo.BCOO) else x.aval


def _evaluate(jaxpr: jx.Jaxpr, args: Sequence[Value]) -> list[Value]:
    env: dict[jx.Var, Value] = dict(zip(jaxpr.in_binders, args, strict=True))

    def read(atom: Any) -> Value:
        return env[atom] if isinstance(atom, jx.Var) else atom.value

    for eqn in jaxpr.eqns:
        operands = [read(x) for x in eqn.inputs]
        outs: Sequence[Value]
        if any(isinstance(x, bcoo.BCOO) for x in operands):
            rule = eqn.primitive.rules.extensions.get(SPARSE)
            if rule is None:
                raise _refusal(eqn.primitive.name)
            outs = rule(eqn.params, *operands)
        else:
            outs = bind(eqn.primitive, [x for x in operands if isinstance(x, Array)], eqn.params)
        env.update(zip(eqn.out_binders, outs, strict=True))
    return [read(x) for x in jaxpr.outs]


def _refusal(name: str) -> errors.SparseRuleError:
    return errors.SparseRuleError(
        f"{name} of a sparse array would be dense, or is not known of sparse arrays. Give it "
        "x.todense()."
    )


def _of_elements(primitive: prim.Primitive[Any], linear: bool) -> Rule:
    def rule(params: Any, x: bcoo.BCOO) -> list[Value]:
        known = x if linear else x.once()
        (data,) = bind(primitive, [known.data], params)
        return [known.with_data(data)]

    return rule


def _integer_pow(params: Any, x: bcoo.BCOO) -> Sequence[Value]:
    if params.exponent < 1:
        raise _refusal(f"the power {params.exponent}")
    return _of_elements(primitives.integer_pow_p, linear=False)(params, x)


def _add(params: Any, x: Value, y: Value) -> list[Value]:
    if isinstance(x, bcoo.BCOO) and isinstance(y, bcoo.BCOO):
        return [x + y]
    sparse, dense = (x, y) if isinstance(x, bcoo.BCOO) else (y, x)
    assert isinstance(sparse, bcoo.BCOO), "one of them is sparse"
    assert isinstance(dense, Array), "and one is not"
    return [sparse.added_to(dense)]


def _div(params: Any, x: Value, y: Value) -> list[Value]:
    if isinstance(y, bcoo.BCOO) or not isinstance(x, bcoo.BCOO):
        raise _refusal("division by an array")
    return [x / y]


# Sums, and what rearranges


def _dot(params: Any, x: Value, y: Value) -> list[Value]:
    numbers = ((params.lhs_contract, params.rhs_contract), (params.lhs_batch, params.rhs_batch))
    dtype = params.dtype
    result: Value = operations.bcoo_dot_general(
        x, y, dimension_numbers=numbers, preferred_element_type=dtype
    )
    return [result]


def _concatenate(params: Any, *xs: Value) -> list[Value]:
    if not all(isinstance(x, bcoo.BCOO) for x in xs):
        raise _refusal("concatenate of dense arrays and one")
    arrays = [x for x in xs if isinstance(x, bcoo.BCOO)]
    return [operations.bcoo_concatenate(arrays, dimension=params.axis)]


def _slice(params: Any, x: bcoo.BCOO) -> list[Value]:
    starts, limits = params.starts, params.limits
    return [
        operations.bcoo_slice(x, start_indices=starts, limit_indices=limits, strides=params.strides)
    ]


def _broadcast(params: Any, x: bcoo.BCOO) -> list[Value]:
    shape, dims = params.shape, params.dims
    return [operations.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=dims)]


# Programs within


def _call(params: Any, *operands: Value) -> Sequence[Value]:
    return _evaluate(params.jaxpr, operands)


def _cond(params: CondParams, index: Value, *operands: Value) -> Sequence[Value]:
    branches = [lambda *xs, b=branch: _evaluate(b, xs) for branch in params.branches]
    assert isinstance(index, Array), "it is a scalar"
    result: Sequence[Value] = lax.switch(index, branches, *operands)
    return result


def _scan(params: ScanParams, *operands: Value) -> Sequence[Value]:
    args = params.loop_body.operands(operands)
    if any(isinstance(x, bcoo.BCOO) for x in args.xs):
        raise _refusal("scan over the rows")

    def body(state: list[Value], slices: list[Value]) -> tuple[list[Value], list[Value]]:
        outs = _evaluate(params.jaxpr, [*args.consts, *state, *slices])
        return outs[: params.num_carry], outs[params.num_carry :]

    carry, xs = [*args.carry], [*args.xs]
    last, ys = lax.scan(body, carry, xs, params.length, params.reverse, params.unroll)
    return [*last, *ys]


def _while(params: WhileParams, *operands: Value) -> Sequence[Value]:
    fixed, args = params.operands(operands)

    def goes_on(state: list[Value]) -> Any:
        return _evaluate(params.condition, [*fixed, *state])[0]

    def body(state: list[Value]) -> list[Value]:
        return _evaluate(params.body, [*args.consts, *state])

    result: list[Value] = lax.while_loop(goes_on, body, [*args.carry])
    return result


_LINEAR: Final = (
    primitives.neg_p,
    primitives.real_p,
    primitives.imag_p,
    primitives.conj_p,
    primitives.copy_p,
    primitives.stop_gradient_p,
)
_ZERO_AT_ZERO: Final = (
    *(
        primitives.abs_p,
        primitives.sign_p,
        primitives.sqrt_p,
        primitives.cbrt_p,
        primitives.expm1_p,
        primitives.log1p_p,
        primitives.erf_p,
    ),
    *(
        primitives.erf_inv_p,
        primitives.sin_p,
        primitives.tan_p,
        primitives.asin_p,
        primitives.atan_p,
        primitives.sinh_p,
        primitives.tanh_p,
    ),
    *(
        primitives.asinh_p,
        primitives.atanh_p,
        primitives.floor_p,
        primitives.ceil_p,
        primitives.round_p,
    ),
    *(primitives.convert_element_type_p, primitives.reduce_precision_p),
)
for _primitive in _LINEAR:
    _primitive.def_rule(SPARSE)(_of_elements(_primitive, linear=True))
for _primitive in _ZERO_AT_ZERO:
    _primitive.def_rule(SPARSE)(_of_elements(_primitive, linear=False))
primitives.integer_pow_p.def_rule(SPARSE)(_integer_pow)
primitives.add_p.def_rule(SPARSE)(_add)
primitives.sub_p.def_rule(SPARSE)(lambda params, x, y: _add(params, x, -y))
primitives.mul_p.def_rule(SPARSE)(
    lambda params, x, y: [x * y if isinstance(x, bcoo.BCOO) else y * x]
)
primitives.div_p.def_rule(SPARSE)(_div)
primitives.reduce_sum_p.def_rule(SPARSE)(lambda params, x: [x.sum(params.axes)])
primitives.dot_general_p.def_rule(SPARSE)(_dot)
primitives.concatenate_p.def_rule(SPARSE)(_concatenate)
primitives.slice_p.def_rule(SPARSE)(_slice)
primitives.dynamic_slice_p.def_rule(SPARSE)(
    lambda params, x, *starts: [operations.bcoo_dynamic_slice(x, starts, params.sizes)]
)
primitives.rev_p.def_rule(SPARSE)(lambda params, x: [operations.bcoo_rev(x, params.axes)])
primitives.transpose_p.def_rule(SPARSE)(lambda params, x: [x.transpose(params.perm)])
primitives.reshape_p.def_rule(SPARSE)(lambda params, x: [x.reshape(params.shape)])
primitives.broadcast_in_dim_p.def_rule(SPARSE)(_broadcast)
jit.jit_p.def_rule(SPARSE)(_call)
checkpoint_p.def_rule(SPARSE)(_call)
cond_p.def_rule(SPARSE)(_cond)
scan_p.def_rule(SPARSE)(_scan)
while_p.def_rule(SPARSE)(_while)


# Functions that make sparse arrays, and derivatives in them.


Format = Literal["bcoo", "bcsr"]


def _formatted(matrix: bcoo.BCOO, sparse_format: Format) -> bcoo.BCOO | bcsr.BCSR:
    match sparse_format:
        case "bcoo":
            return matrix
        case "bcsr":
            return bcsr.BCSR.from_bcoo(matrix)
        case _:
            raise errors.ArgumentError(
                f"the formats are 'bcoo' and 'bcsr', but sparse_format is {sparse_format!r}."
            )


def empty(
    shape: Sequence[int],
    dtype: dtypes.DTypeLike = None,
    index_dtype: dtypes.DTypeLike = dtypes.int32,
    sparse_format: Format = "bcoo",
    *,
    nse: int = 0,
    n_batch: int = 0,
    n_dense: int = 0,
) -> bcoo.BCOO | bcsr.BCSR:
    """Return a sparse array of zeros.

    Args:
        shape: of the array.
        dtype: of the elements.
        index_dtype: of their indices.
        sparse_format: of the array: ``"bcoo"`` or ``"bcsr"``.
        nse: the number of stored elements.
        n_batch: how many axes in front are those of a batch.
        n_dense: how many of the last axes are dense: an element has all of them.

    Raises:
        ArgumentError: there is no such format, or there are not so many axes.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.empty((2, 3))
        BCOO(float32[2, 3], nse=0)
    """
    batch, sparse, dense = bcoo.parted("empty", shape, n_batch, n_dense)
    indices = jnp.full((*batch, nse, len(sparse)), jnp.array(sparse, dtypes.int64), index_dtype)
    matrix = bcoo.BCOO(
        (jnp.zeros((*batch, nse, *dense), dtype), indices),
        shape=(*batch, *sparse, *dense),
        indices_sorted=True,
        unique_indices=True,
    )
    return _formatted(matrix, sparse_format)


@checking.explained
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: dtypes.DTypeLike = None,
    index_dtype: dtypes.DTypeLike = dtypes.int32,
    sparse_format: Format = "bcoo",
) -> bcoo.BCOO | bcsr.BCSR:
    """Return a sparse matrix with ones on a diagonal, as ``jnp.eye`` makes dense ones.

    Raises:
        ArgumentError: there is no such format.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.eye(3, k=1).todense()
        Array([[0., 1., 0.],
               [0., 0., 1.],
               [0., 0., 0.]], dtype=float32)
    """
    columns = N if M is None else M
    first, shift = max(-k, 0), max(k, 0)
    count = max(min(N - first, columns - shift), 0)
    places = jnp.arange(count, dtype=index_dtype)
    indices = jnp.stack([places + first, places + shift], 1)
    matrix = bcoo.BCOO(
        (jnp.ones(count, dtype), indices),
        shape=(N, columns),
        indices_sorted=True,
        unique_indices=True,
    )
    return _formatted(matrix, sparse_format)


def todense(arr: bcoo.BCOO | bcsr.BCSR | ArrayLike) -> Array:
    """Return a sparse array as a dense one, and a dense one as it is.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.todense(sparse.eye(2))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return arr.todense() if isinstance(arr, (bcoo.BCOO, bcsr.BCSR)) else opd.as_array(arr)


def _split(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the differentiated part of an argument, and a function that puts it back."""
    if not isinstance(x, base.JAXSparse):
        return x, lambda value: value
    (data, *places), treedef = tree.flatten(x)
    return data, lambda data: treedef.unflatten((data, *places))


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes a scalar function and its gradient, at the elements it has.

    Args:
        fun: a function whose arguments may be sparse arrays.
        argnums: the positions of the arguments differentiated.
        has_aux: whether ``fun`` returns a pair, of which the second is handed on.

    Returns:
        A function that returns the value and, for each argument, its gradient: sparse, with the
        argument's places, where that is sparse.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> loss = lambda m: ((m @ jnp.ones(2)) ** 2).sum()
        >>> value, slope = sparse.value_and_grad(loss)(sparse.eye(2) * 3.0)
        >>> float(value), slope.data.tolist()
        (18.0, [6.0, 6.0])
    """
    choice = arguments.DifferentiatedArguments("value_and_grad", fun, argnums)

    def call(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        chosen = arguments.DifferentiatedCall(choice, args, kwargs)
        data, joins = zip(*map(_split, chosen.values), strict=True)

        def joined(data: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple([join(x) for join, x in zip(joins, data, strict=True)])

        @frames.wraps(choice.applied)
        def of_data(data: tuple[Any, ...]) -> Any:
            return chosen(*joined(data))

        value, slopes = api.value_and_grad(of_data, has_aux=has_aux)(data)
        trees = joined(slopes)
        return value, trees if choice.several else trees[0]

    return call


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return the gradient of a scalar function, at the elements its arguments have.

    Args:
        fun: a function whose arguments may be sparse arrays.
        argnums: the positions of the arguments differentiated.
        has_aux: whether ``fun`` returns a pair, of which the second is handed on.

    Returns:
        A function that returns the gradient, as ``value_and_grad`` does; with ``has_aux`` a pair of
        it and the second result.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> sparse.grad(lambda m: (m @ jnp.array([1.0, 2.0])).sum())(sparse.eye(2)).todense()
        Array([[1., 0.],
               [0., 2.]], dtype=float32)
    """
    both = value_and_grad(frames.Applied("grad", fun), argnums, has_aux)

    def call(*args: Any, **kwargs: Any) -> Any:
        value, slopes = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return call

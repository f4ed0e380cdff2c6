"""Functions of dense arrays as functions of sparse ones.

A function is traced, and its program is evaluated equation by equation: one whose operands are
dense is bound, and one with a sparse operand has a rule here. There is none where a result would be
dense at most places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast

from tinyjax import lax, tree
from tinyjax.checkpointing.transformation import checkpoint_p
from tinyjax.core.control_flow import primitives as cfp
from tinyjax.core.jit.program import jit_p
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.tracing.calling import FlatFunction
from tinyjax.core.tracing.checking import explained
from tinyjax.core.tracing.staging import stage
from tinyjax.core.tracing.trace import bind
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.errors import SparseRuleError
from tinyjax.experimental.sparse import base, bcoo, bcsr, operations as op
from tinyjax.frames import wraps
from tinyjax.lax import primitives as lxp

F = TypeVar("F", bound=Callable[..., Any])

Value: TypeAlias = Array | bcoo.BCOO
#: Parameters and operands, of which one is sparse, to results.
Rule: TypeAlias = Callable[..., Sequence[Value]]

#: What a primitive does to operands of which one is sparse.
SPARSE: Final[prim.RuleKey[Rule]] = prim.RuleKey("sparse")


@explained
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

    @wraps(f)
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        def is_sparse(x: object) -> bool:
            return isinstance(x, base.JAXSparse)

        leaves, in_tree = tree.flatten((args, kwargs), is_leaf=is_sparse)
        values: list[Value] = []
        for x in leaves:
            known = x.to_bcoo() if isinstance(x, bcsr.BCSR) else x
            values.append(known if isinstance(known, bcoo.BCOO) else as_array(known))
        flat = FlatFunction(f, in_tree)
        staged = stage(flat, [_type_of(x) for x in values], f)
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


def _refusal(name: str) -> SparseRuleError:
    return SparseRuleError(
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
    return _of_elements(lxp.integer_pow_p, linear=False)(params, x)


def _add(params: Any, x: Value, y: Value) -> list[Value]:
    if isinstance(x, bcoo.BCOO) and isinstance(y, bcoo.BCOO):
        return [x + y]
    sparse, dense = (x, y) if isinstance(x, bcoo.BCOO) else (y, x)
    assert isinstance(sparse, bcoo.BCOO), "one of them is sparse"
    assert isinstance(dense, Array), "and one is not"
    return [sparse.added_to(dense)]


def _sub(params: Any, x: Value, y: Value) -> list[Value]:
    return _add(params, x, -y)


def _mul(params: Any, x: Value, y: Value) -> list[Value]:
    return [x * y if isinstance(x, bcoo.BCOO) else y * x]


def _div(params: Any, x: Value, y: Value) -> list[Value]:
    if isinstance(y, bcoo.BCOO) or not isinstance(x, bcoo.BCOO):
        raise _refusal("division by an array")
    return [x / y]


# Sums, and what rearranges


def _sum(params: Any, x: bcoo.BCOO) -> list[Value]:
    return [x.sum(params.axes)]


def _dot(params: Any, x: Value, y: Value) -> list[Value]:
    numbers = ((params.lhs_contract, params.rhs_contract), (params.lhs_batch, params.rhs_batch))
    dtype = params.dtype
    result: Value = op.bcoo_dot_general(
        x, y, dimension_numbers=numbers, preferred_element_type=dtype
    )
    return [result]


def _concatenate(params: Any, *xs: Value) -> list[Value]:
    if not all(isinstance(x, bcoo.BCOO) for x in xs):
        raise _refusal("concatenate of dense arrays and one")
    arrays = [x for x in xs if isinstance(x, bcoo.BCOO)]
    return [op.bcoo_concatenate(arrays, dimension=params.axis)]


def _slice(params: Any, x: bcoo.BCOO) -> list[Value]:
    starts, limits = params.starts, params.limits
    return [op.bcoo_slice(x, start_indices=starts, limit_indices=limits, strides=params.strides)]


def _broadcast(params: Any, x: bcoo.BCOO) -> list[Value]:
    shape, dims = params.shape, params.dims
    return [op.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=dims)]


# Programs within


def _call(params: Any, *operands: Value) -> Sequence[Value]:
    return _evaluate(params.jaxpr, operands)


def _cond(params: cfp.CondParams, index: Value, *operands: Value) -> Sequence[Value]:
    branches = [lambda *xs, b=branch: _evaluate(b, xs) for branch in params.branches]
    assert isinstance(index, Array), "it is a scalar"
    result: Sequence[Value] = lax.switch(index, branches, *operands)
    return result


def _scan(params: cfp.ScanParams, *operands: Value) -> Sequence[Value]:
    n, m = params.num_consts, params.num_consts + params.num_carry
    consts, carry, xs = operands[:n], list(operands[n:m]), list(operands[m:])
    if any(isinstance(x, bcoo.BCOO) for x in xs):
        raise _refusal("scan over the rows")

    def body(state: list[Value], slices: list[Value]) -> tuple[list[Value], list[Value]]:
        outs = _evaluate(params.jaxpr, [*consts, *state, *slices])
        return outs[: params.num_carry], outs[params.num_carry :]

    last, ys = lax.scan(body, carry, xs, params.length, params.reverse, params.unroll)
    return [*last, *ys]


def _while(params: cfp.WhileParams, *operands: Value) -> Sequence[Value]:
    n, m = params.num_condition, params.num_condition + params.num_body
    fixed, other = operands[:n], operands[n:m]

    def goes_on(state: list[Value]) -> Any:
        return _evaluate(params.condition, [*fixed, *state])[0]

    def body(state: list[Value]) -> list[Value]:
        return _evaluate(params.body, [*other, *state])

    result: list[Value] = lax.while_loop(goes_on, body, list(operands[m:]))
    return result


_LINEAR: Final = (lxp.neg_p, lxp.real_p, lxp.imag_p, lxp.conj_p, lxp.copy_p, lxp.stop_gradient_p)
_ZERO_AT_ZERO: Final = (
    *(
        lxp.abs_p,
        lxp.sign_p,
        lxp.sqrt_p,
        lxp.cbrt_p,
        lxp.expm1_p,
        lxp.log1p_p,
        lxp.erf_p,
        lxp.erf_inv_p,
    ),
    *(
        lxp.sin_p,
        lxp.tan_p,
        lxp.asin_p,
        lxp.atan_p,
        lxp.sinh_p,
        lxp.tanh_p,
        lxp.asinh_p,
        lxp.atanh_p,
    ),
    *(lxp.floor_p, lxp.ceil_p, lxp.round_p, lxp.convert_element_type_p, lxp.reduce_precision_p),
)
for _primitive in _LINEAR:
    _primitive.def_rule(SPARSE)(_of_elements(_primitive, linear=True))
for _primitive in _ZERO_AT_ZERO:
    _primitive.def_rule(SPARSE)(_of_elements(_primitive, linear=False))
lxp.integer_pow_p.def_rule(SPARSE)(_integer_pow)
lxp.add_p.def_rule(SPARSE)(_add)
lxp.sub_p.def_rule(SPARSE)(_sub)
lxp.mul_p.def_rule(SPARSE)(_mul)
lxp.div_p.def_rule(SPARSE)(_div)
lxp.reduce_sum_p.def_rule(SPARSE)(_sum)
lxp.dot_general_p.def_rule(SPARSE)(_dot)
lxp.concatenate_p.def_rule(SPARSE)(_concatenate)
lxp.slice_p.def_rule(SPARSE)(_slice)
lxp.dynamic_slice_p.def_rule(SPARSE)(
    lambda params, x, *at: [op.bcoo_dynamic_slice(x, at, params.sizes)]
)
lxp.rev_p.def_rule(SPARSE)(lambda params, x: [op.bcoo_rev(x, params.axes)])
lxp.transpose_p.def_rule(SPARSE)(lambda params, x: [x.transpose(params.perm)])
lxp.reshape_p.def_rule(SPARSE)(lambda params, x: [x.reshape(params.shape)])
lxp.broadcast_in_dim_p.def_rule(SPARSE)(_broadcast)
jit_p.def_rule(SPARSE)(_call)
checkpoint_p.def_rule(SPARSE)(_call)
cfp.cond_p.def_rule(SPARSE)(_cond)
cfp.scan_p.def_rule(SPARSE)(_scan)
cfp.while_p.def_rule(SPARSE)(_while)

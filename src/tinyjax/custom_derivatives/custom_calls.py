"""Tangents and cotangents that are known to be zero, for rules with ``symbolic_zeros``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from typing import Any, NoReturn, Self, TypeVar

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames
from tinyjax.core.jit import program
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.primitives.rules import instantiate_all
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import checking, jaxpr as jx, primitive as prim, trace as tr
from tinyjax.core.tracing.program_rules import INLINING, LIVE_ROOT, def_evaluated, depends
from tinyjax.core.tracing.staging import Staged, stage
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import JVPTrace, jvp_flat
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.custom_derivatives import closures, differentiated_calls

T = TypeVar("T")


@attrs.frozen
class SymbolicZero(av.Typed):
    """Stand for a tangent or cotangent that is known to be zero, without data.

    Attributes:
        aval: its type.

    Example:
        >>> import tinyjax
        >>> @tinyjax.custom_jvp
        ... def product(x, y):
        ...     return x * y
        >>> def rule(primals, tangents):
        ...     print(isinstance(tangents[1], tinyjax.custom_derivatives.SymbolicZero))
        ...     return product(*primals), tangents[0] * primals[1]
        >>> _ = product.defjvp(rule, symbolic_zeros=True)
        >>> float(tinyjax.grad(product)(2.0, 3.0))
        True
        3.0
    """

    aval: av.ShapedArray

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """Return the zero tangent of a value.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.custom_derivatives import SymbolicZero
            >>> zero = SymbolicZero.from_primal_value(jnp.ones(3))
            >>> zero.shape, zero.dtype
            ((3,), dtype('float32'))
        """
        return SymbolicZero(opd.as_array(val).aval.tangent())


@attrs.frozen
class Zero:
    """A tangent or cotangent that is known to be zero, as rules of primitives meet it.

    It is a node of a tree, without leaves.

    Attributes:
        aval: its type.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import hijax
        >>> hijax.Zero.from_primal_value(jnp.ones(2))
        Zero(aval=ShapedArray(float32[2]))
    """

    aval: av.ShapedArray

    @staticmethod
    def from_primal_value(val: Any) -> Zero:
        """Return the zero tangent of a value.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental import hijax
            >>> hijax.Zero.from_primal_value(jnp.ones(2)).aval
            ShapedArray(float32[2])
        """
        return Zero(opd.as_array(val).aval.tangent())


tree.register_static(Zero)


def instantiate_zeros(tangent: Any) -> Any:
    """Return a tangent or cotangent as an array: of zeros, if it is known to be zero.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import hijax
        >>> hijax.instantiate_zeros(hijax.Zero.from_primal_value(jnp.ones(2)))
        Array([0., 0.], dtype=float32)
    """
    return sh.zero_tangent(tangent.aval) if isinstance(tangent, Zero) else tangent


@checking.explained
def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of a value.

    Args:
        val: arrays and numbers in any containers.
        symbolic_zeros: whether to return ``SymbolicZero`` in place of arrays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.custom_derivatives import zero_from_primal
        >>> zero_from_primal(jnp.ones(2))
        Array([0., 0.], dtype=float32)
    """
    if symbolic_zeros:
        return tree.map(SymbolicZero.from_primal_value, val)
    return tree.map(lambda leaf: sh.zero_tangent(opd.as_array(leaf).aval), val)


@attrs.frozen
class CustomVJPPrimal:
    """Pass an array to the forward rule of a ``custom_vjp`` with symbolic zeros.

    Attributes:
        value: the array.
        perturbed: whether a derivative is taken in it.

    Example:
        >>> import tinyjax
        >>> @tinyjax.custom_vjp
        ... def product(x, y):
        ...     return x * y
        >>> def forward(x, y):
        ...     print(x.perturbed, y.perturbed)
        ...     return x.value * y.value, y.value
        >>> product.defvjp(forward, lambda y, g: (g * y, None), symbolic_zeros=True)
        >>> float(tinyjax.grad(product)(2.0, 3.0))
        True False
        3.0
    """

    value: Array
    perturbed: bool


def custom_vjp_primal_tree_values(primals: Any) -> Any:
    """Replace each ``CustomVJPPrimal`` in a tree by its value.

    Raises:
        ArgumentError: a leaf is something else.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import custom_derivatives as cd
        >>> tree = {"w": cd.CustomVJPPrimal(jnp.float32(2.0), perturbed=True)}
        >>> cd.custom_vjp_primal_tree_values(tree)
        {'w': Array(2., dtype=float32)}
    """
    return tree.map(_value, primals)


def _value(leaf: object) -> Array:
    if not isinstance(leaf, CustomVJPPrimal):
        raise errors.ArgumentError(f"expected a CustomVJPPrimal, but got {errors.type_name(leaf)}.")
    return leaf.value


# The tangent map of a ``custom_vjp`` function: known only by its transpose.


class LogTree:
    """A record of the structure of the logs that a rule returned last."""

    def __init__(self) -> None:
        self.treedef: tree.PyTreeDef = tree.structure({})

    def leaves(self, logs: Any, rule: Callable[..., Any]) -> list[Array]:
        """Return the arrays of a dict of logs."""
        if not isinstance(logs, dict | None):
            raise errors.DifferentiationError(
                f"{frames.describe_function(rule)} must return its logs as a dict, or None, but "
                f"returned {errors.described(logs)}."
            )
        leaves, self.treedef = tree.flatten(logs or {})
        return [opd.as_array(x) for x in leaves]

    def split(self, result: Any, rule: Callable[..., Any]) -> tuple[Any, list[Array]]:
        """Return the cotangents and the logs of a rule's result."""
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise errors.DifferentiationError(
                f"{frames.describe_function(rule)} was given to defvjp_with_logs, and so must "
                f"return a pair of cotangents and logs, but returned {errors.described(result)}."
            )
        return result[0], self.leaves(result[1], rule)


#: Residuals and the cotangents of the results to those of the linear operands, and then to what the
#: rule logs.
Backward = Callable[[Sequence[Array], Sequence[prim.Tangent]], Sequence[prim.Tangent]]


@attrs.frozen(eq=False, repr=False)
class PullBackParams(prim.Params):
    """A linear map that is given by its transpose.

    Attributes:
        backward: the transpose.
        num_residuals: the number of the first operands, in which it is not linear.
        out_avals: the types of its results.
        name: the function whose derivative it is.
        logs: the structure of the rule's logs, if it has any.
        num_states: the number of the last operands, and results, that are backward states. These
            are the rule's state in references, which is not summed over examples.
        fills_zeros: whether the rule takes cotangents that are known to be zero as arrays.
    """

    backward: Backward
    num_residuals: int
    out_avals: tuple[av.ShapedArray, ...]
    name: str = attrs.field(eq=False)
    logs: LogTree | None = attrs.field(default=None, eq=False)
    num_states: int = 0
    fills_zeros: bool = attrs.field(default=False, eq=False)


custom_vjp_tangent_p: prim.Primitive[PullBackParams] = prim.Primitive(
    "custom_vjp_tangent", PullBackParams
)


def _refuse_forward_mode(*operands: Any) -> NoReturn:
    params: PullBackParams = operands[-1]
    raise errors.DifferentiationError(
        "can't apply forward-mode autodiff (jvp) to a custom_vjp function: the rule of "
        f"{params.name} serves reverse mode (grad, vjp, jacrev), but its derivative was asked for "
        "in forward mode (jvp, jacfwd, or a linearized function applied). Define it with "
        "custom_derivative or custom_jvp, whose rules serve both."
    )


custom_vjp_tangent_p.def_evaluate(_refuse_forward_mode)
custom_vjp_tangent_p.def_lowering(_refuse_forward_mode)
custom_vjp_tangent_p.def_jvp(_refuse_forward_mode)


# The transpose is the user's: of each operand it gives the cotangent as it is, summed or not.


custom_vjp_tangent_p.def_rule(LIVE_ROOT)(lambda params: True)


custom_vjp_tangent_p.def_abstract_eval(lambda avals, params: params.out_avals)


@custom_vjp_tangent_p.def_transpose
def _tangent_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: PullBackParams
) -> prim.Cotangents:
    n = params.num_residuals
    residuals = prim.defined(operands[:n])
    assert len(residuals) == n, "residuals are no tangents"
    of_operands = params.backward(residuals, cotangents)
    of_operands = of_operands[: len(operands) - n]  # logs are dropped that nobody collects
    return [*[None] * n, *prim.of_undefined(operands[n:], of_operands)]


def _gather(ct: Array, axis: int | None, out_axis: int | None, size: int) -> Array:
    """Bring a cotangent to the operand's batch axis; where it has none, all examples add."""
    if out_axis is not None:
        return sh.move_batch_axis(ct, axis, out_axis, size)
    return ew.mul(ct, sh.full_like(ct, size)) if axis is None else reduce_sum(ct, (axis,))


def pull_back_batch(
    pull: Callable[..., Sequence[prim.Tangent]],
    mapped: prim.MappedAxis,
    values: prim.Arrays,
    axes: prim.BatchAxes,
    out_axes: prim.BatchAxes,
    shared: Collection[int] = (),
) -> list[prim.Tangent]:
    """Pull cotangents back for each example.

    Args:
        pull: takes arrays of one example, and returns cotangents of its operands.
        mapped: the batch.
        values: the arrays, of all examples.
        axes: their batch axes.
        out_axes: the batch axes of the operands; that of what is logged is the first.
        shared: the operands whose cotangents are the same for all examples, and not added up.
    """
    run, nonzero = prim.only_present(pull)
    results, result_axes = batching.batch_flat(run, mapped, values, axes)
    pairs = iter(zip(results, result_axes, strict=True))
    places = [*out_axes, *[0] * (len(nonzero) - len(out_axes))]
    return [
        prim.ZERO
        if not has
        else _same_for_all(*next(pairs))
        if i in shared
        else _gather(*next(pairs), axis, mapped.size)
        for i, (has, axis) in enumerate(zip(nonzero, places, strict=True))
    ]


def _same_for_all(ct: Array, axis: int | None) -> Array:
    if axis is not None:
        raise errors.RefError(
            "a backward rule writes a value that depends on what vmap maps to a Ref of type "
            f"{batching.unbatched_aval(ct.aval, axis)} that is not mapped. Make the Ref an "
            "argument that vmap maps over, with a part for each example, or write what is the same "
            "for all."
        )
    return ct


@custom_vjp_tangent_p.def_batch
def _tangent_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: PullBackParams
) -> prim.BatchResult:
    n, size = params.num_residuals, mapped.size
    first = len(params.out_avals) - params.num_states
    of_states = axes[len(axes) - params.num_states :]
    out_axes = [0] * first + [None if axis is None else 0 for axis in of_states]

    def backward(
        residuals: Sequence[Array], cotangents: Sequence[prim.Tangent]
    ) -> list[prim.Tangent]:
        nonzero, cts = prim.nonzeros(cotangents), prim.present(cotangents)

        def pull(*operands: Array) -> Sequence[prim.Tangent]:
            return params.backward(operands[:n], prim.with_zeros(nonzero, operands[n:]))

        at = [*axes[:n], *prim.marked(out_axes, nonzero)]
        shared = {i for i in range(first, len(out_axes)) if out_axes[i] is None}
        moved = len(axes) - n - len(out_axes)
        alone = {i + moved for i in shared}
        return pull_back_batch(pull, mapped, [*residuals, *cts], at, axes[n:], alone)

    differentiated_calls.tell(mapped, lambda: _varying([x.aval for x in values], axes, params))
    out_avals = tuple(
        a if axis is None else batching.batched_aval(a, axis, size)
        for a, axis in zip(params.out_avals, out_axes, strict=True)
    )
    batched = attrs.evolve(params, backward=backward, out_avals=out_avals)
    return tr.bind(custom_vjp_tangent_p, values, batched), out_axes


def _varying(avals: prim.Avals, axes: prim.BatchAxes, params: PullBackParams) -> list[bool]:
    """Return the mask of results whose cotangents are multiplied by numbers of each example."""
    n, count = params.num_residuals, len(params.out_avals)
    linear = len(avals) - n
    run, nonzero = prim.only_present(lambda *xs: params.backward(xs[:n], xs[n:])[:linear])
    residuals = [
        a if axis is None else batching.unbatched_aval(a, axis)
        for a, axis in zip(avals[:n], axes[:n], strict=True)
    ]
    try:
        staged = stage(run, [*residuals, *params.out_avals])
    except Exception:
        return [True] * count
    batched = [axis is not None for axis in axes]
    from_outside = [isinstance(x, tr.Tracer) for x in staged.consts]
    none = [False] * count
    own = depends(staged.jaxpr, [*from_outside, *batched[:n], *none])
    there = prim.marked(batched[n:], nonzero)
    flags = []
    last = count - params.num_states
    for i in range(count):
        if i >= last:  # of a state that is not mapped, a rule says so where it runs
            flags.append(axes[len(axes) - count + i] is not None)
            continue
        alone = [False] * (len(from_outside) + n) + [i == j for j in range(count)]
        reached = depends(staged.jaxpr, alone)
        flags.append(any(r and (a or b) for r, a, b in zip(reached, own, there, strict=True)))
    return flags


# Calls with rules of their own, through every transformation.
#
# A call goes down the chain of traces with its callables, and each trace makes of it a call for
# the next (``Trace.process_custom_call``): ``vmap`` batches the function and its rule, a
# derivative applies the rule or, where the call has no tangent, passes it on. What user code
# closes over may belong to any trace of the chain, so it always runs under the trace that it was
# written under, put on top of the one it is called from. A recorder stages the function and writes
# ``custom_call``, whose rules make a call with callables again.


@attrs.frozen(eq=False)
class CustomFunctionCall(tr.CustomCall):
    """A call of a function that the user gave rules."""

    @property
    def closes_over_tracer(self) -> bool:
        return closures.holds_tracer(tuple(self.holds))

    def touches(self, trace: tr.Trace, args: Sequence[Array]) -> bool:
        return any(trace.owns(x) for x in args) or any(
            trace.owns(x) for x in closures.tracers_in((tuple(self.holds), tuple(self.consts)))
        )

    def in_context(
        self,
        context: Callable[[], AbstractContextManager[object]],
        convert: Callable[[Array], Array] | None = None,
    ) -> Self:
        def inside(rule: Callable[..., T], changed: Callable[[T], T]) -> Callable[..., T]:
            def run(*args: Any) -> T:
                with context():
                    return changed(rule(*args))

            return run

        def every(values: Sequence[prim.Tangent]) -> list[Any]:
            return [x if convert is None or x is prim.ZERO else convert(x) for x in values]

        jvp, batch = self.jvp, self.batch
        return attrs.evolve(
            self,
            fun=inside(self.fun, every),
            jvp=jvp and inside(jvp, lambda result: (every(result[0]), every(result[1]))),
            batch=batch and inside(batch, lambda result: (every(result[0]), result[1])),
        )

    def batched(self, trace: batching.BatchTrace, args: Sequence[Array]) -> Sequence[Array]:
        return differentiated_calls.batched(trace, self, args)

    def differentiated(self, trace: JVPTrace, args: Sequence[Array]) -> Sequence[Array]:
        return differentiated_calls.differentiated(trace, self, args)

    def record(self, trace: tr.Trace, args: Sequence[Array]) -> Sequence[Array]:
        return _record(trace, self, args)


# Recording

#: As ``DerivativeRule``, but what is closed over comes first.
_ClosedJvp = Callable[[prim.Arrays, prim.Arrays, prim.Tangents], prim.JvpResult]


@attrs.frozen(eq=False, repr=False)
class StagedRule:
    """The rule of a recorded call.

    Attributes:
        reopen: makes the call with callables again, of its function and of what is closed over.
        has_jvp: whether it defines the derivative, and not the batched form.
        reverse: as in ``CustomFunctionCall``.
        holds: as in ``CustomFunctionCall``; nothing where it was staged itself.
    """

    reopen: Callable[[Callable[..., Sequence[Array]], prim.Arrays], CustomFunctionCall]
    has_jvp: bool
    reverse: bool
    holds: Sequence[object] = ()

    @property
    def held_objects(self) -> tuple[object, ...]:
        """The rule, if it keeps objects of the user's alive."""
        return (self.reopen,) if closures.holds_objects(tuple(self.holds)) else ()

    def __repr__(self) -> str:
        return "jvp" if self.has_jvp else "vmap"


@attrs.frozen(eq=False, repr=False)
class CustomCallParams(prim.Params):
    """A recorded call.

    Attributes:
        jaxpr: the function; its first parameters are what it, or its rule, closes over.
        num_consts: how many those are.
        rule: its own rule; programs that differ in rules only compute the same.
        name: the function's name.
    """

    jaxpr: jx.Jaxpr
    num_consts: int
    rule: StagedRule = attrs.field(eq=False)
    name: str = attrs.field(eq=False)


custom_call_p: prim.Primitive[CustomCallParams] = prim.Primitive("custom_call", CustomCallParams)


def has_custom_rules(jaxpr: jx.Jaxpr) -> bool:
    """Return whether a program calls functions with rules of their own."""
    return jx.some_eqn(jaxpr, "custom rules", lambda eqn: eqn.primitive is custom_call_p)


# One primitive stands for both: a call says itself which rules it has.
custom_jvp_call_p: prim.Primitive[CustomCallParams] = custom_call_p
custom_vjp_call_p: prim.Primitive[CustomCallParams] = custom_call_p
# Of no equation: interpreters of jaxprs tell it from others.
remat_opt_p: prim.Primitive[prim.NoParams] = prim.Primitive("remat_opt", prim.NoParams)

# The rules being staged. One that applies its own function would be staged for ever; each level
# is one more order of derivatives of a rule that closes over a value traced by jit.
_staging: ContextVar[tuple[int, ...]] = ContextVar("tinyjax_rules_being_staged", default=())
_MOST_LEVELS = 2


def _record(trace: tr.Trace, call: CustomFunctionCall, args: Sequence[Array]) -> Sequence[Array]:
    avals = [x.aval for x in args]
    with tr.use_trace(trace), closures.each_searched_once():
        staged = stage(call.fun, avals)
        jaxpr, consts = staged.jaxpr, staged.consts
        if not args and call.batch is None:  # there is nothing that a rule could differentiate in
            return jx.eval_jaxpr(jaxpr, consts)
        name, reverse = call.name, call.reverse
        # what was staged stands in its place
        own = attrs.evolve(call, fun=frames.bare(call.fun), jvp=call.jvp and _once(call.jvp))
        rule = StagedRule(
            lambda fun, consts: attrs.evolve(own, fun=fun, consts=consts),
            call.jvp is not None,
            reverse,
            call.holds,
        )
        if call.jvp is not None and call.closes_over_tracer:
            # Later, when the derivative is wanted, the tracers it closes over may be gone.
            jvp, extra = _closed_rule(call, call.jvp, avals, len(consts))
            rule = StagedRule(
                lambda fun, consts: CustomFunctionCall(
                    fun, name, partial(jvp, consts), holds=consts, reverse=reverse, consts=consts
                ),
                True,
                reverse,
            )
            n, binders = len(consts), jaxpr.in_binders
            variables = tuple(jx.Var(c.aval) for c in extra)
            jaxpr = jx.Jaxpr((*binders[:n], *variables, *binders[n:]), jaxpr.eqns, jaxpr.outs)
            consts = (*consts, *extra)
    params = CustomCallParams(jaxpr, len(consts), rule, name)
    return trace.process(custom_call_p, (*consts, *args), params)


def flat_jvp(
    jvp: tr.DerivativeRule, count: int, nonzero: Sequence[bool]
) -> tuple[Callable[..., list[Array]], list[bool]]:
    """Make a derivative rule a function of arrays.

    Args:
        jvp: the rule.
        count: of how many primals.
        nonzero: which of them have tangents.

    Returns:
        A function that takes the primals and then their tangents, and returns the results and then
        the tangents that there are; and a list that tells, once it has run, which these are.
    """
    nonzero_out: list[bool] = []

    def run(*values: Array) -> list[Array]:
        outs, tangents = jvp(values[:count], prim.with_zeros(nonzero, values[count:]))
        nonzero_out[:] = prim.nonzeros(tangents)
        return [*outs, *prim.present(tangents)]

    return run, nonzero_out


def _once(jvp: tr.DerivativeRule) -> tr.DerivativeRule:
    """Return a derivative rule that is staged once for all programs that it becomes a part of.

    A loop stages the derivative of its body until it is known which values have tangents.
    """
    programs: dict[object, tuple[Staged, list[bool]]] = {}

    def rule(primals: prim.Arrays, tangents: prim.Tangents) -> prim.JvpResult:
        if any(map(tr.is_known, primals)):  # Python may choose by their data
            return jvp(primals, tangents)
        nonzero = tuple(prim.nonzeros(tangents))
        values = [*primals, *prim.present(tangents)]
        avals = [x.aval for x in values]
        key = nonzero, tuple(avals)
        if key not in programs:
            run, nonzero_out = flat_jvp(jvp, len(primals), nonzero)
            programs[key] = stage(run, avals), nonzero_out
        staged, nonzero_out = programs[key]
        if any(isinstance(x, tr.Tracer) for x in staged.consts):  # of a trace that may be gone
            return jvp(primals, tangents)
        outs = jx.eval_jaxpr(staged.jaxpr, [*staged.consts, *values])
        n = len(nonzero_out)
        return outs[:n], prim.with_zeros(nonzero_out, outs[n:])

    return rule


def _closed_rule(
    call: CustomFunctionCall, jvp: tr.DerivativeRule, avals: Sequence[av.ShapedArray], skip: int
) -> tuple[_ClosedJvp, Sequence[Array]]:
    """Stage the rule of a call; return it as a function of its closed-over values, and those.

    One that cannot be staged raises when it is applied.
    """
    nonzero = [dtypes.is_inexact(a.dtype) for a in avals]
    run, nonzero_out = flat_jvp(jvp, len(avals), nonzero)
    levels, key = _staging.get(), call.key
    if key is not None and levels.count(key) == _MOST_LEVELS:
        error = errors.DifferentiationError(
            f"{call.name} was staged (by jit or a loop) with a rule that closes over a traced "
            f"value and applies {call.name} itself. Such a rule has derivatives up to order "
            f"{_MOST_LEVELS + 1}; make the value an argument of {call.name} to take more."
        )
        return _failed(error), ()
    try:
        with tr.assigned(_staging, levels if key is None else (*levels, key)):
            staged = stage(run, [*avals, *prim.marked(avals, nonzero)])
    except Exception as reason:  # said where a derivative is taken, if one is
        return _failed(reason), ()
    jaxpr = staged.jaxpr  # the rule outlives the trace, whose tracers it must not hold

    def rule(consts: prim.Arrays, primals: prim.Arrays, tangents: prim.Tangents) -> prim.JvpResult:
        tangents_in = prim.marked(instantiate_all(tangents, avals), nonzero)
        outs = jx.eval_jaxpr(jaxpr, [*consts[skip:], *primals, *tangents_in])
        n = len(nonzero_out)
        return outs[:n], prim.with_zeros(nonzero_out, outs[n:])

    return rule, staged.consts


def _failed(error: Exception) -> _ClosedJvp:
    """Return a rule that could not be staged: it raises when it is applied."""
    error.__traceback__ = error.__context__ = error.__cause__ = None  # whose frames hold tracers

    def rule(consts: prim.Arrays, primals: prim.Arrays, tangents: prim.Tangents) -> prim.JvpResult:
        raise error.with_traceback(None)

    return rule


def reopened(params: CustomCallParams) -> Callable[..., Sequence[Array]]:
    """Return the function of all operands that makes the call with callables again."""
    n, jaxpr = params.num_consts, params.jaxpr

    def fun(*operands: Array) -> Sequence[Array]:
        consts, args = operands[:n], operands[n:]
        call = params.rule.reopen(lambda *xs: jx.eval_jaxpr(jaxpr, [*consts, *xs]), consts)
        return tr.current_trace().process_custom_call(call, args)

    return fun


def_evaluated(custom_call_p, lambda params: params.jaxpr)


custom_call_p.def_abstract_eval(lambda avals, params: params.jaxpr.out_avals)


custom_call_p.def_rule(INLINING)(lambda params: params.jaxpr)


custom_call_p.def_rule(LIVE_ROOT)(lambda params: params.rule.reverse)


@custom_call_p.def_lowering
def _custom_call_lowering(b: Lowering, operands: Values, params: CustomCallParams) -> Values:
    return call_jaxpr(b, params.jaxpr, params.name, operands)


@custom_call_p.def_jvp
def _custom_call_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: CustomCallParams
) -> prim.JvpResult:
    return jvp_flat(reopened(params), primals, tangents)


@custom_call_p.def_linearize
def _custom_call_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: CustomCallParams
) -> prim.LinearizeResult:
    linearized = linearize_flat(reopened(params), primals, nonzero)
    jaxpr, residuals = linearized.jaxpr, linearized.residuals
    return (
        linearized.primals_out,
        linearized.nonzero_out,
        lambda tangents: jx.eval_jaxpr(jaxpr, [*residuals, *tangents]),
    )


@custom_call_p.def_transpose
def _custom_call_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: CustomCallParams
) -> prim.Cotangents:
    return program.transpose_of_call(params.jaxpr, cotangents, operands)


@custom_call_p.def_batch
def _custom_call_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: CustomCallParams
) -> prim.BatchResult:
    return batching.batch_flat(reopened(params), mapped, values, axes)

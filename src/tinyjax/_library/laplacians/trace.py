"""The trace: every value carries its derivatives in the inputs, and its Laplacian term.

For ``z = f(x)`` with derivatives ``x_i`` of ``x`` in the inputs and the sum ``Lx`` of its second
derivatives, the chain rule gives ``z_i = Df(x)[x_i]`` and ``Lz = Df(x)[Lx] + sum_i D2f(x)[x_i,
x_i]``. ``Df(x)`` is the ``jvp`` rule of ``f``, and the second term the derivative of that rule. So
no primitive needs a rule of its own (R. Li et al., *A computational framework for neural
network-based variational Monte Carlo with Forward Laplacian*, 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from tinyjax import errors
from tinyjax._extensions import checkpointing
from tinyjax._library.laplacians import numbering
from tinyjax._library.laplacians.rows import (
    JacobianRows,
    Push,
    Rule,
    curved,
    elementwise_curvature,
    pushed,
    summed,
    with_term,
    zeros,
)
from tinyjax._primitives import dot
from tinyjax._primitives.convolution import conv_general_dilated_p
from tinyjax.autodiff import taylor
from tinyjax.core import jit
from tinyjax.core.control_flow import cond
from tinyjax.core.control_flow.scan import scan, scan_p
from tinyjax.core.control_flow.while_loop import while_loop, while_p
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import reduce_sum_p
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.tracing.program_rules import LIVE_ROOT
from tinyjax.core.transforms.jvp import jvp_flat
from tinyjax.core.values import Array, avals as av
from tinyjax.custom_derivatives import custom_calls, differentiated_calls
from tinyjax.dtypes import HostArray, is_float, is_inexact

P = TypeVar("P")


class LaplacianTracer(tr.Tracer):
    """A value and its derivatives."""

    __slots__ = ("primal", "rows")

    def __init__(self, trace: tr.Trace, primal: Array, rows: JacobianRows) -> None:
        self._trace = trace
        self.primal: Array = primal
        self.rows: JacobianRows = rows

    @property
    def aval(self) -> av.ShapedArray:
        return self.primal.aval

    def concrete(self, purpose: str) -> HostArray:
        return self.data_of(self.primal, purpose)

    def components(self) -> Sequence[Array]:
        return self.primal, self.rows.values


class LaplacianTrace(tr.Trace):
    """A trace that carries derivatives through values that depend on its tracers.

    Attributes:
        second: whether second derivatives are wanted.
    """

    __slots__ = ("second",)

    transformation = "laplacian"

    def __init__(
        self, parent: tr.Trace, second: bool, fun: Callable[..., object] | None = None
    ) -> None:
        super().__init__(parent, fun)
        self.second: bool = second

    def process(
        self, primitive: prim.Primitive[P], args: Sequence[Array], params: P
    ) -> Sequence[Array]:
        if not any(self.owns(x) for x in args):
            return self.parent.process(primitive, args, params)
        if primitive is jit.jit_p or primitive is checkpointing.checkpoint_p:
            program: Any = params
            with tr.use_trace(self):
                return jx.eval_jaxpr(program.jaxpr, args)
        if primitive is custom_calls.custom_call_p:
            recorded: Any = params
            with tr.use_trace(self):
                return custom_calls.reopened(recorded)(*args)
        side = primitive.rules.extensions.get(prim.ONE_SIDED)
        if side is not None and self.second:
            primitive = side()
        loop = _LOOPS.get(primitive)
        with tr.use_trace(self.parent):
            if loop is not None:
                return loop(self, args, params)
            return self._apply(primitive, args, params)

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        """Differentiate the derivative rule once more; look through a call that has none."""
        call, args = differentiated_calls.with_closed_over(self, call, args)
        if call.jvp is None or not any(self.owns(x) for x in args):
            return super().process_custom_call(call, args)
        with tr.use_trace(self.parent):
            rule = differentiated_calls.forward_rule(call)
            return self._with_rule(rule, args, taylor.push_forward)

    def _apply(
        self, primitive: prim.Primitive[P], args: Sequence[Array], params: P
    ) -> Sequence[Array]:
        primals = [self.primal(x) for x in args]
        rule: Rule = lambda xs, ts: primitive.rules.jvp(xs, ts, params)  # noqa: E731
        is_live = primitive.rules.extensions.get(LIVE_ROOT)
        if is_live is not None and is_live(params):
            rule = differentiated_calls.by_reverse_mode(lambda *xs: tr.bind(primitive, xs, params))
        avals = primitive.check_types([x.aval for x in primals], params)
        if avals is None:
            return self._with_rule(rule, args)
        call = numbering.NumberedOperands(primals, [self.numbers(x) for x in args], avals)
        plan = numbering.plan_of(primitive, params, call)
        if primitive is reduce_sum_p:
            (x,) = args
            assert isinstance(x, LaplacianTracer), "it has one operand"
            sums = summed(x.rows, numbering.over_axes(params), plan.results[0])
            if sums is not None:
                outs = tr.bind(primitive, primals, params)
                return self._joined(outs, [sums], plan.results)
        rows = self._rows(args, plan)
        real = len(avals) == 1 and all(map(is_float, [avals[0].dtype, *[x.dtype for x in primals]]))
        real = real and primitive is not ew.root_right  # whose second derivative is infinite at 0
        is_linear = prim.LINEAR in primitive.rules.extensions
        if (
            not self.second
            or is_linear
            or (primitive in _BILINEAR and any(r is None for r in rows))
        ):
            outs, out_rows = pushed(rule, primals, rows)
        elif prim.ELEMENTWISE in primitive.rules.extensions and real:
            outs, out_rows = pushed(rule, primals, rows)
            (changes,) = out_rows
            curvature = elementwise_curvature(rule, primals, rows)
            if changes is not None and curvature is not None:
                out_rows = [with_term(changes, curvature)]
        else:
            outs, out_rows = curved(rule, primals, rows)
        return self._joined(outs, out_rows, plan.results)

    def _with_rule(
        self, rule: Rule, args: Sequence[Array], push: Push = jvp_flat
    ) -> Sequence[Array]:
        """Apply a derivative rule, whatever it is of, and differentiate it by ``push``."""
        primals = [self.primal(x) for x in args]
        numbers = [self.numbers(x) for x in args]
        plan: numbering.Numbering | None = None
        if not all(n is None or numbering.shared(n) for n in numbers):
            outs = _outs_if_elementwise(rule, primals, [n is not None for n in numbers])
            if outs is not None:
                plan = numbering.elementwise(
                    None, numbering.NumberedOperands(primals, numbers, outs)
                )
        if plan is None:
            plan = numbering.same(numbering.NumberedOperands(primals, numbers, ()))
        rows_in = self._rows(args, plan)
        if self.second:
            results, rows = curved(rule, primals, rows_in, push)
        else:
            results, rows = pushed(rule, primals, rows_in)
        every = numbering.all_joined(plan.operands)
        shared = [numbering.column(every, out.ndim) for out in results]
        return self._joined(results, rows, plan.results or shared)

    def _rows(self, args: Sequence[Array], plan: numbering.Numbering) -> list[Array | None]:
        return [
            x.rows.expanded(numbers)
            if isinstance(x, LaplacianTracer) and self.owns(x) and numbers is not None
            else None
            for x, numbers in zip(args, plan.operands, strict=True)
        ]

    def _joined(
        self,
        outs: Sequence[Array],
        rows: Sequence[Array | None],
        numbers: Sequence[numbering.Numbers],
    ) -> list[Array]:
        return [
            out if r is None else LaplacianTracer(self, out, JacobianRows(r, n))
            for out, r, n in zip(outs, rows, numbers, strict=True)
        ]

    def primal(self, x: Array) -> Array:
        """Return the value alone."""
        return x.primal if isinstance(x, LaplacianTracer) and self.owns(x) else x

    def numbers(self, x: Array) -> numbering.Numbers | None:
        """Return which inputs a value depends on; None for a constant."""
        return x.rows.numbers if isinstance(x, LaplacianTracer) and self.owns(x) else None

    def rows_at(self, x: Array, numbers: numbering.Numbers) -> Array:
        """Return rows in these inputs; zeros for a constant."""
        if isinstance(x, LaplacianTracer) and self.owns(x):
            return x.rows.expanded(numbers)
        return zeros(x.aval, len(numbers) + 1)


#: What is linear in each operand, but not in both.
_BILINEAR: Final = frozenset((dot.dot_general_p, conv_general_dilated_p))


def _outs_if_elementwise(
    rule: Rule, primals: Sequence[Array], nonzero: Sequence[bool]
) -> list[av.ShapedArray] | None:
    """Return the types of the results of a rule that works element by element; else None."""
    n = len(primals)
    types: list[av.ShapedArray] = []

    def run(*args: Array) -> list[Array]:
        outs, tangents = rule(args[:n], prim.with_zeros(nonzero, args[n:]))
        types[:] = [out.aval for out in outs]
        return [*outs, *prim.present(tangents)]

    avals = [x.aval for x in primals]
    try:
        staged = staging.stage(run, [*avals, *[a.tangent() for a in prim.marked(avals, nonzero)]])
    except errors.ConcretizationError:  # it asks for data
        return None
    return types if numbering.works_elementwise(staged.jaxpr, len(staged.consts)) else None


def run(
    trace: LaplacianTrace,
    fun: Callable[..., Sequence[Array]],
    args: Sequence[Array],
    rows: Sequence[JacobianRows | None],
) -> list[Array]:
    """Apply a function of arrays to values with rows, under a trace that has not run.

    Returns:
        The results, which may be tracers.
    """
    with tr.Running(trace, args):
        tracers = [
            x if r is None else LaplacianTracer(trace, x, r)
            for x, r in zip(args, rows, strict=True)
        ]
        return list(fun(*tracers))


# Loops and conditionals of values with rows are again such. All values in them have rows of all
# inputs that an operand depends on, but for constants.

#: A value and its rows; of a value that has no derivatives, itself.
Pair = list[Array]


def _pairs(
    trace: LaplacianTrace,
    values: Sequence[Array],
    every: numbering.Numbers,
    constants: bool = False,
) -> list[Pair]:
    """Pair values with their rows; ``constants`` may stay without."""
    return [
        [trace.primal(x), trace.rows_at(x, numbering.column(every, x.ndim))]
        if is_inexact(x.dtype) and not (constants and trace.numbers(x) is None)
        else [x]
        for x in values
    ]


def _program(
    trace: LaplacianTrace, jaxpr: jx.Jaxpr, pairs: Sequence[Pair], every: numbering.Numbers
) -> list[Pair]:
    """Apply a program to values with rows and to constants; all results have rows."""
    rows = [
        JacobianRows(rest[0], numbering.column(every, x.ndim)) if rest else None
        for x, *rest in pairs
    ]
    inner = LaplacianTrace(tr.current_trace(), trace.second)
    outs = run(inner, lambda *xs: jx.eval_jaxpr(jaxpr, xs), [x for x, *_ in pairs], rows)
    return _pairs(inner, outs, every)


def _unpaired(
    trace: LaplacianTrace, pairs: Sequence[Pair], every: numbering.Numbers
) -> list[Array]:
    return [
        LaplacianTracer(trace, x, JacobianRows(rest[0], numbering.column(every, x.ndim)))
        if rest
        else x
        for x, *rest in pairs
    ]


def _every(trace: LaplacianTrace, values: Sequence[Array]) -> numbering.Numbers:
    return numbering.all_joined([trace.numbers(x) for x in values])


def _scan(trace: LaplacianTrace, args: Sequence[Array], params: Any) -> Sequence[Array]:
    every = _every(trace, args)
    operands = params.loop_body.operands(args)
    consts = _pairs(trace, operands.consts, every, constants=True)
    init, xs = [_pairs(trace, values, every) for values in (operands.carry, operands.xs)]

    def body(carry: Any, x: Any) -> Any:
        outs = _program(trace, params.jaxpr, [*consts, *carry, *x], every)
        return outs[: params.num_carry], outs[params.num_carry :]

    slices = [[x, *(sh.moveaxis(r, 1, 0) for r in rest)] for x, *rest in xs]
    last, stacked = scan(
        body,
        init,
        slices,
        params.length,
        params.reverse,
        params.unroll,
        checkpoints=params.checkpoints,
    )
    ys = [[y, *(sh.moveaxis(r, 1, 0) for r in rest)] for y, *rest in stacked]
    return _unpaired(trace, [*last, *ys], every)


def _while(trace: LaplacianTrace, args: Sequence[Array], params: Any) -> Sequence[Array]:
    every = _every(trace, args)
    fixed, operands = params.operands(args)
    of_condition = [trace.primal(x) for x in fixed]
    of_body = _pairs(trace, operands.consts, every, constants=True)
    init = _pairs(trace, operands.carry, every)

    def condition(state: Any) -> Any:
        values = [*of_condition, *[x for x, *_ in state]]
        return jx.eval_jaxpr(params.condition, values)[0]

    def body(state: Any) -> Any:
        return _program(trace, params.body, [*of_body, *state], every)

    return _unpaired(trace, while_loop(condition, body, init), every)


def _cond(trace: LaplacianTrace, args: Sequence[Array], params: Any) -> Sequence[Array]:
    every = _every(trace, args)
    index, *operands = args
    branches = [
        lambda pairs, branch=branch: _program(trace, branch, pairs, every)
        for branch in params.branches
    ]
    results = cond.switch(index, branches, _pairs(trace, operands, every, constants=True))
    return _unpaired(trace, results, every)


_LOOPS: Final[
    dict[prim.Primitive[Any], Callable[[LaplacianTrace, Sequence[Array], Any], Sequence[Array]]]
] = {
    scan_p: _scan,
    while_p: _while,
    cond.cond_p: _cond,
}

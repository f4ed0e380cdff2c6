"""Taylor mode: higher derivatives along a curve, all at once.

A value that depends on a parameter ``t`` is known by its derivatives at ``t = 0``: its series. For
``z = f(x)`` the ``jvp`` rule of a primitive ``f`` writes ``z'`` in terms of ``x`` and ``x'``, that
is, it gives a series whose terms are those of ``z``, one place later. So the rule, interpreted once
on series, tells every further term. No primitive needs a rule of its own for series.

The terms of the series in a rule are computed on demand. What the rule computes again is found
again: in the rule of ``tanh``, ``z' = (1 - z**2) x'``, the ``z`` is the series that is being
computed. This gives the recurrences known for the elementary functions, such as those of ``exp``,
``sin`` and ``cos`` in A. Griewank and A. Walther, *Evaluating Derivatives* (2008), chapter 13. (M.
D. McIlroy, *Power series, power serious*, Journal of Functional Programming 9(3), 1999, writes
series so.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from math import comb, factorial
from typing import Any, Final, TypeAlias, TypeVar

from tinyjax import errors, tree
from tinyjax._base import frames
from tinyjax._extensions import checkpointing
from tinyjax._primitives import dot
from tinyjax._primitives.convolution import conv_general_dilated_p
from tinyjax.core import jit
from tinyjax.core.api.arguments import as_tangents, check_per_argument
from tinyjax.core.control_flow import cond
from tinyjax.core.control_flow.scan import scan, scan_p
from tinyjax.core.control_flow.while_loop import while_loop, while_p
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.tracing import Primitive, calling, jaxpr as jx, trace as tr
from tinyjax.core.tracing.primitive import ONE_SIDED, ZERO, Tangent
from tinyjax.core.tracing.watching import watched
from tinyjax.core.values import Array, avals as av
from tinyjax.custom_derivatives import custom_calls, differentiated_calls
from tinyjax.dtypes import HostArray, is_inexact

P = TypeVar("P")


#: A value at ``t = 0`` and its derivatives there; of a constant, the value alone.
Series: TypeAlias = Sequence[Array]


class SeriesTracer(tr.Tracer):
    """A value and its derivatives, up to the requested order.

    Attributes:
        terms: those that are known.
    """

    __slots__ = ("_derivative", "_later", "terms")

    def __init__(
        self,
        trace: tr.Trace,
        terms: list[Array],
        later: Callable[[SeriesTracer, int], Array] | None = None,
    ) -> None:
        self._trace = trace
        self.terms: list[Array] = terms
        self._later = later
        self._derivative: SeriesTracer | None = None

    @property
    def aval(self) -> av.ShapedArray:
        return self.terms[0].aval

    def concrete(self, purpose: str) -> HostArray:
        return self.data_of(self.terms[0], purpose)

    def components(self) -> Sequence[Array]:
        return self.terms

    def term(self, k: int) -> Array:
        """Return the derivative of order ``k``."""
        while len(self.terms) <= k:
            assert self._later is not None, "no rule asks for more terms than were given"
            self.terms.append(self._later(self, len(self.terms)))
        return self.terms[k]

    @property
    def derivative(self) -> SeriesTracer:
        """The series of the derivative."""
        if self._derivative is None:
            self._derivative = SeriesTracer(
                self._trace, [self.term(1)], lambda _, k: self.term(k + 1)
            )
        return self._derivative


class NeedsAllTermsError(Exception):
    """A loop takes all terms of its operands, but some are not known yet."""


class SeriesTrace(tr.Trace):
    """A trace that computes Taylor series of values that depend on its tracers.

    Attributes:
        order: the number of derivatives to compute for each value.
        operations: while the terms of a result are computed, the operations in the rules.
        unknown: whether terms of arguments are computed on the way, so that none is read before.
    """

    __slots__ = ("operations", "order", "unknown")

    transformation = "jet"

    def __init__(self, parent: tr.Trace, order: int, fun: Callable[..., Any] | None) -> None:
        super().__init__(parent, fun)
        self.order: int = order
        self.operations: dict[Hashable, tuple[Sequence[Array], Sequence[Array]]] | None = None
        self.unknown: bool = False

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
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
        loop = _LOOPS.get(primitive)
        if loop is not None and self.unknown:
            raise NeedsAllTermsError
        if loop is not None and self.operations is None:
            with tr.use_trace(self.parent):
                results = loop(self.order, [self.series(x) for x in args], params)
            return [self.traced(series) for series in results]
        side = primitive.rules.extensions.get(ONE_SIDED)
        if side is not None and self.order > 1:
            primitive = side()
        key = (primitive, _identity(params), *map(id, args))
        if self.operations is not None and key in self.operations:
            return self.operations[key][0]
        primals = [self.split(x) for x in args]
        if side is not None and side() is primitive:
            with tr.use_trace(self.parent):
                outs = primitive.rules.jvp(primals, [self.tangent(x) for x in args], params)[0]
        else:
            outs = self.parent.process(primitive, primals, params)
        direct = _DIRECT.get(primitive)
        if direct is None:
            rule = primitive.rules.jvp
            return self._with_rule(key, args, outs, lambda xs, ts: rule(xs, ts, params))

        def later(_: int, out: SeriesTracer, k: int) -> Array:
            x, y = (self.terms(arg, k) for arg in args)
            with tr.use_trace(self.parent):
                operation: Operation = lambda a, b: tr.bind(primitive, (a, b), params)[0]  # noqa: E731
                return direct(operation, x, y, out.terms, k)

        return self._complete(key, args, outs, later)

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        """Apply the derivative rule to series; look through a call that has none."""
        # an argument may be what the call closes over, too: the rule must tell them apart
        args = [self.again(x) for x in args]
        call, args = differentiated_calls.with_closed_over(self, call, args)
        if call.jvp is None or not any(self.owns(x) for x in args):
            return super().process_custom_call(call, args)
        outs = self.parent.process_custom_call(call, [self.split(x) for x in args])
        return self._with_rule(object(), args, outs, differentiated_calls.forward_rule(call))

    def _with_rule(
        self,
        key: Hashable,
        args: Sequence[Array],
        outs: Sequence[Array],
        rule: Callable[..., tuple[Sequence[Array], Sequence[Tangent]]],
    ) -> Sequence[Array]:
        """Return series of results whose further terms follow from a ``jvp`` rule."""
        derivatives: list[Tangent] = []

        def later(place: int, out: SeriesTracer, k: int) -> Array:
            if not derivatives:
                tangents = [
                    x.derivative if isinstance(x, SeriesTracer) and self.owns(x) else ZERO
                    for x in args
                ]
                with tr.use_trace(self):
                    derivatives.extend(rule(args, tangents)[1])
            derivative = derivatives[place]
            if isinstance(derivative, SeriesTracer) and self.owns(derivative):
                return derivative.term(k - 1)
            if derivative is ZERO or k > 1:
                return sh.zero_tangent(out.aval)
            return derivative

        return self._complete(key, args, outs, later)

    def _complete(
        self,
        key: Hashable,
        args: Sequence[Array],
        outs: Sequence[Array],
        later: Callable[[int, SeriesTracer, int], Array],
    ) -> Sequence[Array]:
        """Make tracers of results, and compute their terms unless a rule is being interpreted."""
        results: list[Array] = [
            SeriesTracer(self, [out], partial(later, place)) if is_inexact(out.dtype) else out
            for place, out in enumerate(outs)
        ]
        # The operands are kept, so that no other array gets their identity.
        if self.operations is not None:
            self.operations[key] = results, args
            return results
        self.operations = {key: (results, args)}
        try:
            with tr.use_trace(self.parent):
                for result in results:
                    if isinstance(result, SeriesTracer):
                        result.term(self.order)
        finally:
            self.operations = None
        return [self.traced(self.series(result)) for result in results]

    def terms(self, x: Array, k: int) -> list[Array | None]:
        """Return the terms of a value up to order ``k``; of a constant, None for the others."""
        if isinstance(x, SeriesTracer) and self.owns(x):
            return [x.term(j) for j in range(k + 1)]
        return [x, *[None] * k]

    def split(self, x: Array) -> Array:
        """Return a value at ``t = 0``."""
        return x.terms[0] if isinstance(x, SeriesTracer) and self.owns(x) else x

    def tangent(self, x: Array) -> Tangent:
        """Return the first derivative of a value."""
        return x.term(1) if isinstance(x, SeriesTracer) and self.owns(x) else ZERO

    def again(self, x: Array) -> Array:
        """Return a value as another tracer, of the same terms."""
        if isinstance(x, SeriesTracer) and self.owns(x):
            return SeriesTracer(self, x.terms, x._later)
        return x

    def series(self, x: Array) -> Series:
        """Return all terms of a value; of a constant, one."""
        return x.terms if isinstance(x, SeriesTracer) and self.owns(x) else (x,)

    def traced(self, series: Series) -> Array:
        """Return a value whose terms are all known."""
        return SeriesTracer(self, list(series)) if len(series) > 1 else series[0]


def _identity(params: object) -> Hashable:
    """Return a key that distinguishes parameters, even if they have no hash."""
    try:
        hash(params)
    except TypeError:
        return id(params)
    return params


# Products and quotients, of which a rule of a derivative each time would write many more.

Operation: TypeAlias = Callable[[Array, Array], Array]
Terms: TypeAlias = Sequence[Array | None]


def _leibniz(
    operation: Operation, x: Terms, y: Terms, orders: Sequence[int], k: int
) -> Array | None:
    """Return the sum of Leibniz's terms of the ``k``-th derivative, for these orders of ``x``."""
    total: Array | None = None
    for j in orders:
        a, b = x[j], y[k - j]
        if a is None or b is None:
            continue
        part = operation(a, b)
        if comb(k, j) > 1:
            part = part * comb(k, j)
        total = part if total is None else ew.add(total, part)
    return total


def _product(operation: Operation, x: Terms, y: Terms, _: Terms, k: int) -> Array:
    total = _leibniz(operation, x, y, range(k + 1), k)
    assert total is not None, "one operand is no constant"
    return total


def _quotient(operation: Operation, x: Terms, y: Terms, z: Terms, k: int) -> Array:
    """Return the term of a quotient for which its product with the divisor is the dividend."""
    top, divisor = x[k], y[0]
    assert divisor is not None, "a value has a first term"
    less = _leibniz(ew.mul, z, y, range(k), k)
    if less is not None:
        top = ew.neg(less) if top is None else ew.sub(top, less)
    assert top is not None, "one operand is no constant"
    return operation(top, divisor)


_DIRECT: Final[dict[Primitive[Any], Callable[[Operation, Terms, Terms, Terms, int], Array]]] = {
    ew.mul: _product,
    dot.dot_general_p: _product,
    conv_general_dilated_p: _product,
    ew.div: _quotient,
}


def _instantiated(series: Series, order: int) -> list[Array]:
    """Return the terms of a value, with zeros for a constant; one term without derivatives."""
    first = series[0]
    if not is_inexact(first.dtype) or len(series) > order:
        return list(series)
    return [first, *(sh.zero_tangent(first.aval) for _ in range(order))]


def _run(
    fun: Callable[..., Sequence[Array]],
    order: int,
    args: Sequence[Series],
    user_fun: Callable[..., Any] | None = None,
) -> list[Series]:
    """Apply a function of arrays to series."""
    trace = SeriesTrace(tr.current_trace(), order, user_fun)
    with tr.Running(trace, [series[0] for series in args]):
        outs = fun(*[trace.traced(series) for series in args])
        return [trace.series(out) for out in outs]


def push_forward(
    fun: Callable[..., Sequence[Array]], primals: Sequence[Array], tangents: Sequence[Tangent]
) -> tuple[list[Array], list[Tangent]]:
    """Push tangents through a function of arrays, though rules be for reverse mode alone."""
    args = [(x,) if t is ZERO else (x, t) for x, t in zip(primals, tangents, strict=True)]
    outs = _run(fun, 1, args)
    return [out[0] for out in outs], [out[1] if len(out) > 1 else ZERO for out in outs]


def _of_program(jaxpr: jx.Jaxpr, order: int, args: Sequence[Series]) -> list[list[Array]]:
    """Apply a program to series; results have all their terms."""
    outs = _run(lambda *values: jx.eval_jaxpr(jaxpr, values), order, args)
    return [_instantiated(series, order) for series in outs]


# Loops and conditionals of series are again such: nothing grows with the order but their state.


def _scan(order: int, args: Sequence[Series], params: Any) -> Sequence[Series]:
    operands = params.loop_body.operands(args)

    def body(carry: Any, x: Any) -> Any:
        outs = _of_program(params.jaxpr, order, [*operands.consts, *carry, *x])
        return outs[: params.num_carry], outs[params.num_carry :]

    start = [_instantiated(series, order) for series in operands.carry]
    inputs = [list(series) for series in operands.xs]
    last, ys = scan(body, start, inputs, params.length, params.reverse, params.unroll)
    return [*last, *ys]


def _while(order: int, args: Sequence[Series], params: Any) -> Sequence[Series]:
    of_condition, operands = params.operands(args)

    def condition(state: Any) -> Any:
        values = [series[0] for series in (*of_condition, *state)]
        return jx.eval_jaxpr(params.condition, values)[0]

    def body(state: Any) -> Any:
        return _of_program(params.body, order, [*operands.consts, *state])

    result: Sequence[Series] = while_loop(
        condition, body, [_instantiated(series, order) for series in operands.carry]
    )
    return result


def _cond(order: int, args: Sequence[Series], params: Any) -> Sequence[Series]:
    (index,), *operands = args
    branches = [
        lambda curves, branch=branch: _of_program(branch, order, curves)
        for branch in params.branches
    ]
    result: Sequence[Series] = cond.switch(index, branches, [list(series) for series in operands])
    return result


_LOOPS: Final[dict[Primitive[Any], Callable[[int, Sequence[Series], Any], Sequence[Series]]]] = {
    scan_p: _scan,
    while_p: _while,
    cond.cond_p: _cond,
}


def solution(
    field: Callable[[Array, Array], Array], y: Array, time: Array, order: int
) -> list[Array]:
    """Return the derivatives of the solution of ``dy/dt = field(y, t)`` from a state and a time.

    A term of the state is the preceding term of the slope, which is computed from earlier terms of
    the state. So each is computed when it is needed, and all take as long as the slope's alone.

    Args:
        field: gives the slope of a state at a time.
        y: the state.
        time: the time.
        order: of the last derivative.

    Returns:
        The state and its derivatives of order 1 to ``order``.
    """
    one, zero = sh.full_like(time, 1), sh.full_like(time, 0)
    trace = SeriesTrace(tr.current_trace(), order, field)
    trace.operations, trace.unknown = {}, True
    slopes: list[Array] = []

    def later(_: SeriesTracer, k: int) -> Array:
        (slope,) = slopes
        if isinstance(slope, SeriesTracer) and trace.owns(slope):
            return slope.term(k - 1)
        return slope if k == 1 else sh.zero_tangent(slope.aval)

    state = SeriesTracer(trace, [y], later)
    clock = SeriesTracer(trace, [time, one], lambda *_: zero)
    try:
        with tr.Running(trace, [y]):
            slopes.append(field(state, clock))
            with tr.use_trace(trace.parent):
                state.term(order)
            return state.terms
    except NeedsAllTermsError:
        terms = [y]
        for k in range(order):
            times: Series = [time, one, *[zero] * (k - 1)][: k + 1]
            (slope,) = _run(lambda *xs: [field(*xs)], k, [terms, times])
            terms.append(_instantiated(slope, k)[k])
        return terms


@watched
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:
    """Compute higher derivatives along a curve: Taylor mode.

    The arguments are curves ``x(t)``, given by their derivatives at ``t = 0``. The result is the
    derivatives of ``fun(x(t))``. With ``series=((v, 0, 0),)`` these are the first three derivatives
    of ``fun`` at ``x`` in the direction ``v``. The cost grows with the square of their number, and
    not exponentially as that of nested ``jvp``.

    Args:
        fun: a function of arrays in any containers.
        primals: the arguments, as a tuple or list.
        series: for each argument the derivatives of order 1, 2 and so on, each of the argument's
            structure and types; as many for all arguments.
        factorial_scaled: whether terms are derivatives. Otherwise they are the coefficients of
            powers of ``t``: the ``k``-th derivatives divided by ``k!``.

    Returns:
        The result, and its structure with a list of terms in the place of each array.

    Raises:
        ArgumentError: the arguments have different numbers of terms.
        DifferentiationError: a term has another type than its argument.
        MissingRuleError: a primitive has no ``jvp`` rule.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import autodiff
        >>> value, (slope, bend) = autodiff.jet(jnp.sin, (0.5,), ((1.0, 0.0),))
        >>> [round(float(x), 4) for x in (value, slope, bend)]  # sin, cos, -sin
        [0.4794, 0.8776, -0.4794]
    """
    check_per_argument("jet", primals=primals, series=series)
    lengths = {len(terms) for terms in series}
    if len(primals) != len(series) or len(lengths) != 1:
        raise errors.ArgumentError(
            f"jet takes as many terms for each of the {len(primals)} arguments of "
            f"{frames.describe_function(fun)}, but series has {[len(terms) for terms in series]}."
        )
    (order,) = lengths
    leaves, in_tree = tree.flatten_arguments(tuple(primals), {})
    args = calling.as_arrays(leaves, fun, in_tree)

    def column(k: int) -> list[Tangent]:
        """Return the terms of one order."""
        return as_tangents(
            tuple(terms[k] for terms in series),
            in_tree.children()[0],
            [x.aval for x in args],
            "terms",
            fun,
            lambda i: f"order {k + 1} of {calling.argument_path(fun, in_tree, i)}",
            "jet",
        )

    columns = [column(k) for k in range(order)]
    curves: list[Series] = []
    for i, x in enumerate(args):
        if not is_inexact(x.dtype):
            curves.append((x,))
            continue
        terms = [x]
        for k, of_order in enumerate(columns, 1):
            term = of_order[i]
            assert term is not ZERO, "only integers have no terms"
            terms.append(term if factorial_scaled else term * factorial(k))
        curves.append(terms)
    flat = calling.FlatFunction(fun, in_tree)
    outs = _run(flat, order, curves, fun)
    terms_out = [list(out[1:]) or [sh.zero_tangent(out[0].aval)] * order for out in outs]
    if not factorial_scaled:
        terms_out = [
            [
                term / factorial(k) if is_inexact(term.dtype) else term
                for k, term in enumerate(terms, 1)
            ]
            for terms in terms_out
        ]
    return (
        tree.unflatten(flat.out_tree, [out[0] for out in outs]),
        tree.unflatten(flat.out_tree, terms_out),
    )

"""The checks in a program, and the primitive that reports their failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from enum import Enum
from functools import cache, reduce
from itertools import accumulate
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames
from tinyjax._extensions.costs import EAGER_ONLY
from tinyjax._extensions.parallel.program_keys import FIRST_CODE, RECORDED_IN
from tinyjax._primitives import arg_extrema, dynamic_slice, gather_scatter, scatter_mul
from tinyjax.core.control_flow import primitives
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, LoopResults
from tinyjax.core.control_flow.common import contains
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.elementwise import convert_element_type, div, eq, gt, lt, ne, or_, rem
from tinyjax.core.primitives.reduce import reduce_and, reduce_or
from tinyjax.core.primitives.rules import def_without_results
from tinyjax.core.primitives.slicing import concatenate
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.staging import stage
from tinyjax.core.values import Array, avals as av, concrete
from tinyjax.custom_derivatives.custom_calls import CustomFunctionCall, custom_call_p, flat_jvp


class Category(Enum):
    """A kind of error that ``checkify`` can look for.

    Of several in one operation the first is reported: a division of zero by zero is that, and not
    the NaN that it makes.

    Example:
        >>> from tinyjax.experimental import checkify
        >>> sorted(category.value for category in checkify.all_checks)
        ['division', 'index', 'nan', 'user']
    """

    USER = "user"
    INDEX = "index"
    DIVISION = "division"
    NAN = "nan"


@attrs.frozen
class Site:
    """A place in a program that can fail.

    Attributes:
        category: how.
        message: a format string, with a field for each value.
        payload: the structure of the values: ``(args, kwargs)`` of the format.
        avals: their types.
        location: the user's line.
    """

    category: Category
    message: str
    payload: tree.PyTreeDef
    avals: tuple[av.ShapedArray, ...]
    location: frames.Location | None

    def text(self, values: Sequence[Array]) -> str:
        """Fill in the message."""
        args, kwargs = tree.unflatten(self.payload, values)
        end = " (`check` failed)" if self.category is Category.USER else ""
        return self.message.format(*args, **kwargs) + end


@attrs.frozen(eq=False, repr=False)
class CheckParams(prim.Params):
    """A site; ``debug`` says that it counts only where a program is checked by ``checkify``."""

    site: Site
    debug: bool = False


check_p: prim.Primitive[CheckParams] = prim.Primitive("check", CheckParams, effectful=True)
def_without_results(check_p)
prim.mark(EAGER_ONLY, True, check_p)  # compiling it is a mistake, also where it holds


@check_p.def_impl
def _check_impl(operands: prim.Hosts, params: CheckParams) -> prim.Hosts:
    holds, *values = operands
    if not holds and not params.debug:
        raise failure(params.site.text([*map(concrete.ConcreteArray, values)]), params.site)
    return ()


def bind_check(operands: Sequence[Array], params: CheckParams) -> Sequence[Array]:
    """Bind the primitive to operands on the host: with known ones it raises at once."""
    return tr.bind(
        check_p,
        [x.gathered if isinstance(x, concrete.PlacedArray) else x for x in operands],
        params,
    )


def failure(message: str, site: Site) -> errors.CheckFailedError:
    """Make the error of a check that failed."""
    return errors.CheckFailedError(message).at(site.location)


@check_p.def_lowering
def _check_lowering(b: Lowering, operands: hlo.Values, params: CheckParams) -> hlo.Values:
    if params.debug:
        return ()
    raise errors.ArgumentError(
        f"the check {params.site.message!r} is compiled, but nobody looks at its outcome. Make "
        "checkify.checkify of the function, inside or outside of jit; or use tinyjax.error_if, "
        "which raises from compiled programs."
    ).at(params.site.location)


@check_p.def_batch
def _check_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: CheckParams
) -> prim.BatchResult:
    if not mapped.size:
        return (), ()
    moved = sh.batch_axes_in_front(values, axes)
    holds = sh.move_batch_axis(values[0], axes[0], 0, mapped.size)
    if mapped.active is not None:  # in a branch that some examples do not take
        mask = mapped.active.mask
        holds = ew.or_(holds, ew.not_(broadcast_in_dim(mask, holds.shape, (0,))))
    first = arg_extrema.argmax(ew.not_(holds), 0, dtypes.int32)
    of_first = [
        x if axis is None else dynamic_slice.dynamic_index_in_dim(x, first, 0, keepdims=False)
        for x, axis in zip(moved[1:], axes[1:], strict=True)
    ]
    return bind_check((reduce_and(holds, (0,)), *of_first), params), ()


# What can fail in an equation, by primitive: NaNs, divisions by zero, indices out of bounds.


#: The primitives that can make a NaN: those that jax asks.
_NAN_MAKERS: Final = (
    *("acos", "acosh", "add", "asin", "asinh", "atan2", "atan", "atanh", "cbrt"),
    *("conv_general_dilated", "cos", "cosh", "cumlogsumexp", "cummax", "cummin", "cumprod"),
    *("cumsum", "custom_linear_solve", "digamma", "div", "dot_general", "erf_inv", "erf", "erfc"),
    *("exp", "expm1", "integer_pow", "lgamma", "log1p", "log", "logistic", "mul", "pad", "pow"),
    *("psum", "reduce", "reduce_prod", "reduce_sum", "reduce_window", "reduce_window_sum", "rem"),
    *("rsqrt", "sin", "sinh", "sqrt", "sub", "tan", "tanh"),
)


def _any(mask: Array) -> Array:
    return reduce_or(mask, tuple(range(mask.ndim)))


def _nans(eqn: jx.JaxprEqn, args: Sequence[Array], outs: Sequence[Array]) -> list[Finding]:
    conditions = [_any(ne(x, x)) for x in outs if dtypes.is_inexact(x.dtype)]
    if not conditions:
        return []
    message = f"nan generated by primitive: {eqn.primitive.name}."
    return [(_site(Category.NAN, message, eqn), reduce(or_, conditions), ())]


def _site(category: Category, message: str, eqn: jx.JaxprEqn, values: Sequence[Array] = ()) -> Site:
    location = None if eqn.source is None else eqn.source.location
    payload = tree.structure((tuple(values), {}))
    return Site(category, message, payload, tuple([x.aval for x in values]), location)


def _zero_divisors(eqn: jx.JaxprEqn, args: Sequence[Array], outs: Sequence[Array]) -> list[Finding]:
    failed = _any(eq(args[1], sh.full_like(args[1], 0)))
    return [(_site(Category.DIVISION, "division by zero", eqn), failed, ())]


def _starts(eqn: jx.JaxprEqn, args: Sequence[Array], outs: Sequence[Array]) -> list[Finding]:
    """Check the starts of a slice that is read or written."""
    x = args[0]
    is_update = eqn.primitive is dynamic_slice.dynamic_update_slice_p
    sizes = args[1].shape if is_update else eqn.params.sizes
    starts = args[2 if is_update else 1 :]
    if not starts:
        return []
    indices = concatenate([sh.expand_dims(i, (0,)) for i in starts], 0)
    last = [n - size for n, size in zip(x.shape, sizes, strict=True)]
    return _out_of_bounds(eqn, x, indices, last, range(x.ndim))


def _gathered(eqn: jx.JaxprEqn, args: Sequence[Array], outs: Sequence[Array]) -> list[Finding]:
    x, indices = args
    windows = gather_scatter.gather_windows(x.shape, eqn.params)
    return _out_of_bounds(eqn, x, indices, windows.last_starts, windows.index_map)


def _scattered(eqn: jx.JaxprEqn, args: Sequence[Array], outs: Sequence[Array]) -> list[Finding]:
    x, indices, updates = args
    windows = gather_scatter.scatter_windows(x.shape, updates.shape, eqn.params)
    return _out_of_bounds(eqn, x, indices, windows.last_starts, windows.index_map)


def _out_of_bounds(
    eqn: jx.JaxprEqn, x: Array, indices: Array, last: Sequence[int], axes: Sequence[int]
) -> list[Finding]:
    """Index vectors along the last axis, against the greatest of each entry that is in bounds."""
    if not indices.size:
        return []
    most = min(int(np.iinfo(indices.dtype).max), max((*last, 0)))
    ends = _vector([min(i, most) for i in last], indices.dtype)
    ends = broadcast_in_dim(ends, indices.shape, (indices.ndim - 1,))
    wrong = or_(lt(indices, sh.full_like(indices, 0)), gt(indices, ends))
    flat = sh.reshape(wrong, (wrong.size,))
    first = arg_extrema.argmax(flat, 0, dtypes.int32)
    entry = rem(first, sh.full_like(first, len(axes)))
    axis = _entry(_vector(axes, dtypes.int32), entry)
    size = _entry(_vector([x.shape[i] for i in axes], dtypes.int32), entry)
    index = convert_element_type(_entry(sh.reshape(indices, (indices.size,)), first), dtypes.int32)
    message = f"out-of-bounds indexing for array of shape {x.shape}: "
    message += "index {} is out of bounds for axis {} with size {}. "
    values = (index, axis, size)
    return [(_site(Category.INDEX, message, eqn, values), _any(flat), values)]


def _vector(numbers: Sequence[int], dtype: dtypes.DType) -> Array:
    """Put numbers into an array; they are literals of the program, which has no constants."""
    return concatenate([sh.full((1,), n, dtype) for n in numbers], 0)


def _entry(x: Array, i: Array) -> Array:
    return dynamic_slice.dynamic_index_in_dim(x, i, 0, keepdims=False)


@cache
def register() -> None:
    """Give the primitives their rules, once."""
    for name in _NAN_MAKERS:
        if name in prim.registry:
            prim.registry[name].def_rule(CHECKS[Category.NAN])(_nans)
    div.def_rule(CHECKS[Category.DIVISION])(_zero_divisors)
    for primitive in (dynamic_slice.dynamic_slice_p, dynamic_slice.dynamic_update_slice_p):
        primitive.def_rule(CHECKS[Category.INDEX])(_starts)
    gather_scatter.gather_p.def_rule(CHECKS[Category.INDEX])(_gathered)
    scatters = (
        gather_scatter.scatter_add_p,
        scatter_mul.scatter_mul_p,
        gather_scatter.scatter_min_p,
        gather_scatter.scatter_max_p,
    )
    for scatter in (gather_scatter.scatter_p, *scatters):
        scatter.def_rule(CHECKS[Category.INDEX])(_scattered)


# Programs that return what fails in them: the transformation behind ``checkify``.
#
# A program is rewritten, equation by equation. The new one has the same parameters; after the
# results it returns a code, 0 or the number of the first site that failed, and the values of every
# site's message. Programs inside equations are rewritten in turn: a call returns its code, the
# branches of a ``cond`` share their numbers, and a loop carries the code of the first iteration
# that failed.


#: What can fail in an equation: of the equation, its operands and its results, a site, whether it
#: failed, and the values of its message.
Finding = tuple[Site, Array, Sequence[Array]]
ChecksRule = Callable[[jx.JaxprEqn, Sequence[Array], Sequence[Array]], Sequence[Finding]]
CHECKS: Final[dict[Category, prim.RuleKey[ChecksRule]]] = {
    category: prim.RuleKey(f"{category.value} checks") for category in Category
}


@attrs.frozen(eq=False)
class Discharged:
    """A program that returns its failures, and the sites that its codes number from 1."""

    jaxpr: jx.Jaxpr
    sites: tuple[Site, ...]


@attrs.define(eq=False)
class ErrorState:
    """The code of the first site that failed so far, and the values of the sites so far."""

    code: Array = attrs.field(factory=lambda: sh.full((), 0, dtypes.int32))
    sites: list[Site] = attrs.field(factory=list)
    values: list[Array] = attrs.field(factory=list)

    def add(self, site: Site, failed: Array, values: Sequence[Array]) -> None:
        """Add a site."""
        self.sites.append(site)
        self.values.extend(map(identities.stop_gradient, values))
        number = sh.full((), len(self.sites), dtypes.int32)
        self.code = ew.select(ew.and_(failed, _none(self.code)), number, self.code)

    def extend(self, sites: Sequence[Site], code: Array, values: Sequence[Array]) -> None:
        """Add the sites of a program that was run."""
        shifted = _shifted(code, len(self.sites))
        self.sites.extend(sites)
        self.values.extend(values)
        self.code = ew.select(_none(self.code), shifted, self.code)


def _none(code: Array) -> Array:
    return ew.eq(code, sh.full_like(code, 0))


def _shifted(code: Array, shift: int) -> Array:
    """Number sites from another one on."""
    return ew.select(_none(code), code, ew.add(code, sh.full_like(code, shift))) if shift else code


def discharge(jaxpr: jx.Jaxpr, enabled: frozenset[Category]) -> Discharged:
    """Rewrite a program so that it returns its failures.

    Args:
        jaxpr: the program.
        enabled: what to look for.
    """
    return jaxpr.derive(("checkify", enabled), lambda: _discharge(jaxpr, enabled))


def _discharge(jaxpr: jx.Jaxpr, enabled: frozenset[Category]) -> Discharged:
    sites: list[Site] = []

    def run(*args: Array) -> list[Array]:
        outcome = ErrorState()
        env: dict[jx.Var, Array] = dict(zip(jaxpr.in_binders, args, strict=True))

        def read(x: jx.Var | jx.Lit) -> Array:
            return x.value if isinstance(x, jx.Lit) else env[x]

        before = tr.evaluated_source()
        try:
            for eqn in jaxpr.eqns:
                if eqn.source is not None:
                    tr.set_evaluated_source(eqn.source)
                outs = _run(eqn, [read(x) for x in eqn.inputs], enabled, outcome)
                env.update(zip(eqn.out_binders, outs, strict=True))
        finally:
            tr.set_evaluated_source(before)
        sites.extend(outcome.sites)
        return [*map(read, jaxpr.outs), outcome.code, *outcome.values]

    staged = stage(run, jaxpr.in_avals)
    assert not staged.consts, "nothing but the program's own values takes part"
    return Discharged(staged.jaxpr, tuple(sites))


def _run(
    eqn: jx.JaxprEqn, args: Sequence[Array], enabled: frozenset[Category], outcome: ErrorState
) -> Sequence[Array]:
    """Run one equation, and record its failures."""
    primitive, params = eqn.primitive, eqn.params
    if primitive is check_p:
        if params.site.category in enabled:
            outcome.add(params.site, ew.not_(args[0]), args[1:])
        return ()
    if jx.subjaxprs(params):
        recorded = primitive.rules.extensions.get(RECORDED_IN)
        with nullcontext() if recorded is None else recorded(attrs.asdict(params, recurse=False)):
            inner = [discharge(program, enabled) for program in jx.subjaxprs(params)]
        has_checks = any(contains(program, "check") for program in jx.subjaxprs(params))
        if has_checks or any(program.sites for program in inner):
            held = _holder(primitive)
            if held is not None:
                return held(eqn, args, inner, outcome)
    outs = tr.bind(primitive, args, params)
    for category, key in CHECKS.items():
        if category in enabled and key in primitive.rules.extensions:
            for finding in primitive.rule(key)(eqn, args, outs):
                outcome.add(*finding)
    return outs


Holder = Callable[[jx.JaxprEqn, Sequence[Array], Sequence[Discharged], ErrorState], Sequence[Array]]


def _holder(primitive: prim.Primitive[Any]) -> Holder | None:
    """Return the function that runs an equation with programs; None for an opaque equation."""
    if primitive is primitives.scan_p:
        return _run_scan
    if primitive is primitives.while_p:
        return _run_while
    if program_rules.CHOICE in primitive.rules.extensions:
        return _run_choice
    if {program_rules.CALLED, FIRST_CODE} & primitive.rules.extensions.keys():
        return _run_call
    return _run_custom if primitive is custom_call_p else None


def _run_call(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: ErrorState
) -> Sequence[Array]:
    (program,), primitive, count = inner, eqn.primitive, len(eqn.out_binders)
    if program_rules.CALLED in primitive.rules.extensions:
        outs = tr.bind(
            primitive, args, primitive.rule(program_rules.CALLED)(eqn.params, program.jaxpr)
        )
    else:  # each device has a code of its own
        outs = primitive.rule(FIRST_CODE)(eqn.params, args, program.jaxpr, count)
    return _take(outs, count, program.sites, outcome)


def _run_custom(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: ErrorState
) -> Sequence[Array]:
    """Call a function with a rule of its own, and compute its failures beside the call.

    The two computations are one again once they are compiled.
    """
    (program,) = inner
    count = len(eqn.out_binders)
    results = jx.eval_jaxpr(program.jaxpr, args)
    if jx.effects(program.jaxpr).any:  # which happen once
        return _take(results, count, program.sites, outcome)
    _take([identities.stop_gradient(x) for x in results], count, program.sites, outcome)
    unchecked = program_rules.dce(program.jaxpr, [i < count for i in range(len(results))])
    rule = eqn.params.rule
    without = attrs.evolve(
        rule, reopen=lambda fun, consts: _without_checks(rule.reopen(fun, consts))
    )
    return tr.bind(custom_call_p, args, attrs.evolve(eqn.params, jaxpr=unchecked, rule=without))


def _without_checks(call: CustomFunctionCall) -> CustomFunctionCall:
    """Return a call whose rule makes no checks; those of its function are made beside it."""
    jvp = call.jvp
    if jvp is None:
        return call

    def rule(primals: prim.Arrays, tangents: prim.Tangents) -> prim.JvpResult:
        run, nonzero_out = flat_jvp(jvp, len(primals), prim.nonzeros(tangents))
        operands = [*primals, *prim.present(tangents)]
        staged = stage(run, [x.aval for x in operands])
        program = discharge(staged.jaxpr, frozenset()).jaxpr
        results = jx.eval_jaxpr(program, [*staged.consts, *operands])
        n = len(nonzero_out)
        return results[:n], prim.with_zeros(nonzero_out, results[n:])

    return attrs.evolve(call, jvp=rule)


def _take(
    outs: Sequence[Array], count: int, sites: Sequence[Site], outcome: ErrorState
) -> Sequence[Array]:
    """Record the additional results of a program, and return the others."""
    code, *values = outs[count:]
    outcome.extend(sites, code, values)
    return outs[:count]


def _run_choice(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: ErrorState
) -> Sequence[Array]:
    sites = [site for program in inner for site in program.sites]
    count = len(eqn.out_binders)

    def numbered(program: Discharged, first: int) -> jx.Jaxpr:
        """Return a branch that gives the values of all sites, and numbers its own from a first."""
        before, after = sites[:first], sites[first + len(program.sites) :]

        def run(*operands: Array) -> list[Array]:
            outs = jx.eval_jaxpr(program.jaxpr, operands)
            results, (code, *values) = outs[:count], outs[count:]
            return [*results, _shifted(code, first), *_zeros(before), *values, *_zeros(after)]

        return stage(run, program.jaxpr.in_avals).jaxpr

    firsts = accumulate([len(program.sites) for program in inner[:-1]], initial=0)
    params = eqn.primitive.rule(program_rules.CHOICE)(tuple(map(numbered, inner, firsts)))
    return _take(tr.bind(eqn.primitive, args, params), count, sites, outcome)


def _zeros(sites: Sequence[Site]) -> list[Array]:
    return [sh.full(aval.shape, 0, aval.dtype) for site in sites for aval in site.avals]


def _first(state: Sequence[Array], later: Sequence[Array]) -> list[Array]:
    """Keep the code and the values of the first failure."""
    keep = ew.gt(state[0], sh.full_like(state[0], 0))
    return [
        ew.select(broadcast_in_dim(keep, x.shape, ()), x, y)
        for x, y in zip(state, later, strict=True)
    ]


def _start(sites: Sequence[Site]) -> list[Array]:
    return [sh.full((), 0, dtypes.int32), *_zeros(sites)]


def _run_scan(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: ErrorState
) -> Sequence[Array]:
    (program,), params = inner, eqn.params
    body, start = params.loop_body, _start(program.sites)
    operands = body.operands(args)

    def iteration(args: LoopOperands[Array]) -> LoopResults[Array]:
        own, failed = args.divided(operands)
        outs = jx.eval_jaxpr(program.jaxpr, own.flat)
        results, later = outs[: len(body.jaxpr.outs)], outs[len(body.jaxpr.outs) :]
        after: LoopResults[Array] = body.results(results)
        return after + LoopResults(_first(failed.carry, later))

    avals = body.in_avals + LoopOperands((), [x.aval for x in start])
    checked = LoopBody.stage(iteration, avals)
    outs = primitives.bind_scan(checked, operands + LoopOperands((), start), params)
    results, failed = outs.divided(body.out_avals)
    outcome.extend(program.sites, failed.carry[0], failed.carry[1:])
    return results.flat


def _run_while(
    eqn: jx.JaxprEqn, args: Sequence[Array], inner: Sequence[Discharged], outcome: ErrorState
) -> Sequence[Array]:
    (condition, body), params = inner, eqn.params
    fixed, operands = params.operands(args)
    # the condition is looked at before the loop, and after each iteration
    _, *at_first = jx.eval_jaxpr(condition.jaxpr, [*fixed, *operands.carry])
    sites = [*condition.sites, *body.sites]
    of_condition = LoopOperands(fixed, ())
    state: LoopOperands[Array] = LoopOperands((), [*at_first, *_zeros(body.sites)])

    def iteration(args: LoopOperands[Array]) -> LoopResults[Array]:
        of_condition_, rest = args.divided(of_condition)
        before, failing = rest.divided(operands)
        outs = jx.eval_jaxpr(body.jaxpr, before.flat)
        after, (code, *values) = outs[: len(before.carry)], outs[len(before.carry) :]
        shifted = _shifted(code, len(condition.sites))
        failed = _first(failing.carry, [shifted, *_zeros(condition.sites), *values])
        _, *later = jx.eval_jaxpr(condition.jaxpr, [*of_condition_.consts, *after])
        return LoopResults([*after, *_first(failed, [*later, *_zeros(body.sites)])])

    def goes_on(*args: Array) -> list[Array]:
        return jx.eval_jaxpr(condition.jaxpr, args[: len(condition.jaxpr.in_binders)])[:1]

    all_operands = of_condition + operands + state
    avals = all_operands.each(lambda part: [x.aval for x in part])
    outs = primitives.bind_while(
        stage(goes_on, [*[x.aval for x in fixed], *avals.carry]),
        fixed,
        LoopBody.stage(iteration, avals),
        all_operands,
        attrs.evolve(params, observer=None, most=None),
    )
    last, (code, *values) = outs[: len(operands.carry)], outs[len(operands.carry) :]
    outcome.extend(sites, code, values)
    return last

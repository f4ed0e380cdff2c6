"""Patterns of Jacobians and Hessians: index sets on their way through a tangent map.

``linearize`` gives the tangent map of a function, and thereby what derivatives are taken with:
rules of custom derivatives are in it, and what has no derivative is not. Its residuals depend on
the arguments, so that only those count as known that are the same for all arguments; at a point all
are. Each value is then followed with the elements of the arguments that its elements depend on.

Loops run once for each iteration, as far as their patterns change; where it is not known how often
they run, until none changes any more. The branches of an unknown conditional count together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import count
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax._base import frames
from tinyjax._extensions.checkpointing import loops, transformation
from tinyjax._library.sparsity import pattern as sparsity_pattern
from tinyjax._library.sparsity.rules import Operand, rule_of
from tinyjax._primitives.linear_maps import linear_call_p
from tinyjax.core import api, jit
from tinyjax.core.api.arguments import DifferentiatedArguments, DifferentiatedCall
from tinyjax.core.control_flow.primitives import cond_p, scan_p, while_p
from tinyjax.core.tracing import (
    calling,
    checking,
    jaxpr as jx,
    primitive as prim,
    program_rules,
    staging,
    trace as tr,
)
from tinyjax.core.transforms.linearize import LinearizedFunction, linearize_flat
from tinyjax.core.values import Array, avals as av, concrete, integers as ints, operands as opd
from tinyjax.custom_derivatives.custom_calls import custom_call_p, custom_vjp_tangent_p
from tinyjax.dtypes import HostArray, is_inexact

#: Loops are followed iteration by iteration for their known values up to so many equations.
_MOST_EQUATIONS: Final = 30_000

#: After so many iterations of one that goes on until no pattern changes, more count as reached.
_MOST_FOLLOWED: Final = 8

#: An equation that holds programs, and its operands, to its results.
_Flow: TypeAlias = Callable[[jx.JaxprEqn, Sequence[Operand], int], list[Operand]]


# Through programs


def follow(jaxpr: jx.Jaxpr, operands: Sequence[Operand], n: int) -> list[Operand]:
    """Propagate the dependences of a program's values.

    Args:
        jaxpr: linear in the operands that are active.
        operands: what is known of its parameters.
        n: how many elements the arguments have on which values depend.
    """
    env: dict[jx.Atom, Operand] = dict(zip(jaxpr.in_binders, operands, strict=True))

    def read(x: jx.Atom) -> Operand:
        return Operand(x.aval, x.value.host) if isinstance(x, jx.Lit) else env[x]

    for eqn in jaxpr.eqns:
        env.update(
            zip(eqn.out_binders, _results(eqn, [read(x) for x in eqn.inputs], n), strict=True)
        )
    return [read(x) for x in jaxpr.outs]


def _results(eqn: jx.JaxprEqn, operands: Sequence[Operand], n: int) -> Sequence[Operand]:
    flow = _FLOWS.get(eqn.primitive)
    if not any(x.active for x in operands):
        values = [x.value is not None for x in operands]
        if flow in _PARTLY_KNOWN and any(values) and not all(values):
            return flow(eqn, operands, n)
        return _without_arguments(eqn, operands)
    if flow is not None:
        return flow(eqn, operands, n)
    results: list[Operand] = []
    for out, parts in zip(eqn.out_binders, rule_of(eqn.primitive)(eqn, operands), strict=True):
        depends: list[sparsity_pattern.SparsityPattern] = []
        for x, factors in zip(operands, parts, strict=True):
            if x.depends is not None and factors is not None:
                pattern = x.depends
                for factor in reversed(factors):
                    pattern = factor.times(pattern)
                depends.append(pattern)
        results.append(_depending(out.aval, depends))
    return results


def _depending(
    aval: av.ShapedArray, patterns: Sequence[sparsity_pattern.SparsityPattern]
) -> Operand:
    present = [x for x in patterns if x.nnz]
    if not present or not is_inexact(aval.dtype):
        return Operand(aval)
    return Operand(aval, None, present[0].also(*present[1:]))


def _without_arguments(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> list[Operand]:
    """Return the known values of results that depend on no argument."""
    unknown = [Operand(out) for out in eqn.out_avals]
    rules = eqn.primitive.rules
    if jx.effects_of(eqn).any or (rules.evaluate and program_rules.PROGRAM not in rules.extensions):
        return unknown  # what calls Python, or does more than compute
    open_atoms = {x for x, o in zip(eqn.inputs, operands, strict=True) if o.value is None}
    depends = program_rules.dependents([eqn], open_atoms)
    known = program_rules.independent_part(eqn, depends) if open_atoms else eqn
    if known is None:
        return unknown
    values = {x: o.value for x, o in zip(eqn.inputs, operands, strict=True)}
    arrays: list[Array] = []
    for x in known.inputs:
        value = values[x] if x in values else x.value.host if isinstance(x, jx.Lit) else None
        if value is None:
            return unknown
        arrays.append(concrete.ConcreteArray(value))
    with tr.use_trace(tr.EVAL):
        outs = tr.bind(known.primitive, arrays, known.params)
    hosts = {
        var: out.host
        for var, out in zip(known.out_binders, outs, strict=True)
        if type(out) is concrete.ConcreteArray
    }
    return [Operand(var.aval, hosts.get(var)) for var in eqn.out_binders]


def depends(
    eqn: jx.JaxprEqn, active: Sequence[int], values: Sequence[Array | None], position: int
) -> HostArray:
    """Return the pattern of dependences of a linear equation's result on one of its operands.

    Args:
        eqn: the equation.
        active: where the operand stands among all.
        values: the operands whose values are known.
        position: which result.
    """
    aval = eqn.inputs[active[0]].aval
    operands = [
        Operand(x.aval, None, sparsity_pattern.identity(aval.size)) if i in active
        else Operand(x.aval) if value is None else _closed_over_operand(value)
        for i, (x, value) in enumerate(zip(eqn.inputs, values, strict=True))
    ]  # fmt: skip
    out = _results(eqn, operands, aval.size)[position]
    return (out.depends or sparsity_pattern.none(out.aval.size, aval.size)).todense()


def _local(jaxpr: jx.Jaxpr, operands: Sequence[Operand]) -> list[Operand]:
    """Return the dependences of a program's results on its active operands' elements, in order."""
    n = sum(x.aval.size for x in operands if x.active)
    identity, first, own = sparsity_pattern.identity(n), 0, []
    for x in operands:
        if not x.active:
            own.append(x)
            continue
        last = first + x.aval.size
        own.append(Operand(x.aval, None, identity.select_rows(np.arange(first, last))))
        first = last
    return follow(jaxpr, own, n)


def _called(eqn: jx.JaxprEqn, operands: Sequence[Operand], n: int) -> list[Operand]:
    (jaxpr,) = jx.subjaxprs(eqn.params)
    return follow(jaxpr, operands, n)


def _linear_map(eqn: jx.JaxprEqn, operands: Sequence[Operand], n: int) -> list[Operand]:
    return follow(eqn.params.forward, operands, n)


def _choice(eqn: jx.JaxprEqn, operands: Sequence[Operand], n: int) -> list[Operand]:
    which, *rest = operands
    branches = eqn.params.branches
    if which.value is not None:
        place = min(max(int(which.value), 0), len(branches) - 1)
        return follow(branches[place], rest, n)
    results = zip(*[follow(branch, rest, n) for branch in branches], strict=True)
    return [_either(outs) for outs in results]


def _either(outs: Sequence[Operand]) -> Operand:
    return _depending(outs[0].aval, [x.depends for x in outs if x.depends is not None])


def _at_iteration(x: Operand, t: int) -> Operand:
    """Return the slice of an operand along the first axis."""
    aval = av.ShapedArray(x.aval.shape[1:], x.aval.dtype, x.aval.weak_type)
    value = None if x.value is None else x.value[t]
    depends = None
    if x.depends is not None:
        depends = x.depends.select_rows(np.arange(t * aval.size, (t + 1) * aval.size))
        depends = depends if depends.nnz else None
    return Operand(aval, value, depends)


def _scan(eqn: jx.JaxprEqn, operands: Sequence[Operand], n: int) -> list[Operand]:
    params = eqn.params
    jaxpr, length = params.jaxpr, params.length
    args = params.loop_body.operands(operands)
    carry, xs = args.carry, args.xs
    order = range(length)[::-1] if params.reverse else range(length)
    chooses = any(x.value is not None and not is_inexact(x.aval.dtype) for x in (*carry, *xs))
    by_value = chooses and length * len(jaxpr.eqns) <= _MOST_EQUATIONS
    body = _Body(jaxpr, n, by_value)
    slices: dict[int, list[Operand]] = {}
    state: Sequence[Operand] = carry
    for t in order:
        outs = body(args.consts, state, [_at_iteration(x, t) for x in xs])
        state, slices[t] = outs[: len(carry)], outs[len(carry) :]
    stacked = [
        _stacked(out.aval, [slices[t][i] for t in range(length)], n)
        for i, out in enumerate(eqn.out_binders[len(carry) :])
    ]
    return [*state, *stacked]


def _stacked(aval: av.ShapedArray, parts: Sequence[Operand], n: int) -> Operand:
    if not any(x.active for x in parts):
        return Operand(aval)
    rows = [sparsity_pattern.none(x.aval.size, n)
            if x.depends is None else x.depends for x in parts]  # fmt: skip
    return _depending(aval, [sparsity_pattern.stacked(rows, n)])


class _Body:
    """The program of a loop, followed once for each set of operands that are active.

    Args:
        jaxpr: the program.
        n: how many elements the arguments have.
        by_value: whether to follow it anew each time, for the values of its operands.
    """

    __slots__ = ("_jaxpr", "_locals", "_seen", "by_value", "n")

    def __init__(self, jaxpr: jx.Jaxpr, n: int, by_value: bool) -> None:
        self._jaxpr = jaxpr
        self.n: int = n
        self.by_value: bool = by_value
        self._locals: dict[tuple[bool, ...], list[Operand]] = {}
        self._seen: tuple[list[Operand], list[Operand]] | None = None

    def __call__(
        self, consts: Sequence[Operand], state: Sequence[Operand], xs: Sequence[Operand]
    ) -> list[Operand]:
        if self.by_value:
            return follow(self._jaxpr, [*consts, *state, *xs], self.n)
        varying = [Operand(x.aval, None, x.depends) for x in (*state, *xs)]
        operands = [*consts, *varying]
        if self._seen is not None and all(map(_alike, operands, self._seen[0])):
            return self._seen[1]
        outs = self._composed(operands)
        self._seen = operands, outs
        return outs

    def _composed(self, operands: Sequence[Operand]) -> list[Operand]:
        return [
            x if x.depends is None else _depending(x.aval, [x.depends.times(self._whole(operands))])
            for x in self.local(operands)
        ]

    def _whole(self, operands: Sequence[Operand]) -> sparsity_pattern.SparsityPattern:
        return sparsity_pattern.stacked(
            [x.depends for x in operands if x.depends is not None], self.n
        )

    def local(self, operands: Sequence[Operand]) -> list[Operand]:
        """Return the dependences of the results on the active operands' elements, in order."""
        key = tuple([x.active for x in operands])
        if key not in self._locals:
            self._locals[key] = _local(self._jaxpr, operands)
        return self._locals[key]


def _alike(x: Operand, y: Operand) -> bool:
    if x.depends is None or y.depends is None:
        return x.depends is y.depends
    return x.depends.equals(y.depends)


def _while(eqn: jx.JaxprEqn, operands: Sequence[Operand], n: int) -> list[Operand]:
    params = eqn.params
    fixed, args = params.operands(operands)
    consts, state = args.consts, args.carry
    size = len(params.body.eqns) + len(params.condition.eqns)
    outs: Sequence[Operand] = state
    for _ in range(_MOST_EQUATIONS // max(size, 1)):
        (goes_on,) = follow(params.condition, [*fixed, *outs], n)
        if goes_on.value is None:
            break
        if not goes_on.value:
            return [*outs]
        outs = follow(params.body, [*consts, *outs], n)
    # stacks of states have many elements, which depend on few
    active = sum(x.aval.size for x in (*consts, *state) if x.active)
    return _any_number_of_times(_Body(params.body, n, active > n), consts, state)


def _any_number_of_times(
    body: _Body, consts: Sequence[Operand], state: Sequence[Operand]
) -> list[Operand]:
    """Return the dependences of a state after any number of iterations."""
    now = [Operand(x.aval, None, x.depends) for x in state]
    for times in count(1):
        outs = body(consts, now, [])
        after = [_either(pair) for pair in zip(now, outs, strict=True)]
        if all(map(_alike, now, after)):
            break
        now = after
        if body.by_value and times % _MOST_FOLLOWED == 0:
            # it goes on from element to element: count all as reached that it can lead to
            patterns = [x.depends for x in now if x.depends is not None]
            linked = _linked(sparsity_pattern.stacked(patterns, body.n))
            now = [
                x if x.depends is None else _depending(x.aval, [x.depends.times(linked)])
                for x in now
            ]
    return now


def _linked(pattern: sparsity_pattern.SparsityPattern) -> sparsity_pattern.SparsityPattern:
    """Return the pattern of columns that share a row, directly or through other rows."""
    linked = pattern.T.times(pattern)
    while not linked.equals(more := linked.times(linked)):
        linked = more
    return linked


def _pulled_back(eqn: jx.JaxprEqn, operands: Sequence[Operand], n: int) -> list[Operand]:
    """Return the operand of a map given by its transpose, with that one's pattern transposed."""
    params = eqn.params
    n = params.num_residuals
    residuals, tangents = operands[:n], operands[n:]
    which = [i for i, x in enumerate(tangents) if x.active]

    def backward(*arrays: Array) -> list[Array]:
        results = params.backward([*arrays[:n]], [*arrays[n:]])
        return [_as_cotangent(results[i], tangents[i].aval) for i in which]

    staged = staging.stage(backward, [*[x.aval for x in residuals], *params.out_avals])
    consts = [_closed_over_operand(x) for x in staged.consts]
    cotangents = [
        Operand(
            aval, None, sparsity_pattern.identity(aval.size) if is_inexact(aval.dtype) else None
        )
        for aval in params.out_avals
    ]
    marked = _local(staged.jaxpr, [*consts, *residuals, *cotangents])
    size = sum(x.aval.size for x in cotangents if x.active)
    back = [
        sparsity_pattern.none(x.aval.size, size) if x.depends is None else x.depends for x in marked
    ]
    whole = sparsity_pattern.stacked(back, size).T.times(
        sparsity_pattern.stacked([x.depends for x in tangents if x.depends is not None], n)
    )
    first, results = 0, []
    for out in cotangents:
        last = first + (out.aval.size if out.active else 0)
        results.append(_depending(out.aval, [whole.select_rows(np.arange(first, last))]))
        first = last
    return results


def _as_cotangent(ct: prim.Tangent, aval: av.ShapedArray) -> Array:
    return opd.splat(0, aval) if ct is prim.ZERO else ct


def _closed_over_operand(x: Array) -> Operand:
    """Return the operand of an array that a program closes over."""
    return Operand(x.aval, x.host if type(x) is concrete.ConcreteArray else None)


_FLOWS: Final[dict[prim.Primitive[Any], _Flow]] = {
    jit.jit_p: _called,
    transformation.checkpoint_p: _called,
    custom_call_p: _called,
    linear_call_p: _linear_map,
    loops.loop_tangent_p: _linear_map,
    cond_p: _choice,
    scan_p: _scan,
    while_p: _while,
    custom_vjp_tangent_p: _pulled_back,
}

#: Those that may have results that are known where not all operands are.
_PARTLY_KNOWN: Final = (_called, _choice, _while)


# From functions to patterns


@attrs.frozen(eq=False)
class Detected:
    """A function of some arguments, and the pattern of its Jacobian.

    Attributes:
        chosen: the call, and which of its arguments are differentiated.
        pattern: of all elements of results by all of arguments.
        outs: the types of the results.
        out_tree: their structure.
        backward_only: whether the tangent map can be transposed and not applied.
        symmetric: whether the Jacobian is known to be symmetric.
    """

    chosen: DifferentiatedCall
    pattern: sparsity_pattern.SparsityPattern
    outs: tuple[av.ShapedArray, ...]
    out_tree: tree.PyTreeDef
    backward_only: bool
    symmetric: bool = False

    @property
    def ins(self) -> list[av.ShapedArray]:
        """The types of the arguments."""
        return [x.aval for x in self.chosen.primals]

    def blocks(self) -> Any:
        """Return the patterns of results by arguments, as trees of them."""
        return self.tree_of(self.block)

    def block(self, i: int, j: int) -> sparsity_pattern.SparsityPattern:
        """Return the pattern of a result by an argument, by their numbers."""
        row = sum(x.size for x in self.outs[:i])
        column = sum(x.size for x in self.ins[:j])
        rows = self.pattern.select_rows(np.arange(row, row + self.outs[i].size))
        return rows.between(column, column + self.ins[j].size)

    def tree_of(self, block: Callable[[int, int], Any]) -> Any:
        """Return the tree of a Jacobian, built from the numbers of each result and argument."""
        columns = range(len(self.ins))
        return tree.unflatten(
            self.out_tree,
            [self.chosen.result([block(i, j) for j in columns]) for i in range(len(self.outs))],
        )


def detect(
    choice: DifferentiatedArguments,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool = False,
    at_point: bool = False,
) -> Detected:
    """Find the pattern of a Jacobian.

    Args:
        choice: the function, and its differentiated arguments.
        args: the positional arguments; those that are differentiated may be types of arrays.
        kwargs: the others.
        has_aux: whether the function returns auxiliary data, too.
        at_point: whether the pattern is that at these arguments, or one for all.
    """
    chosen = _chosen(choice, args, kwargs, at_point)
    chosen.check(allow_complex=False)
    flat = calling.FlatFunction(chosen, chosen.in_tree, has_aux, choice.fun)
    avals = [x.aval for x in chosen.primals]
    for aval in avals:
        if any(isinstance(size, ints.SymbolicSize) for size in aval.shape):
            raise errors.ArgumentError(
                f"{choice.name} of {frames.describe_function(choice.fun)}: the pattern for {aval} "
                "depends on the sizes. Find it for sizes that are numbers."
            )
    staged = staging.Staged(jx.Jaxpr((), (), ()), ())
    if at_point:
        linearized = linearize_flat(flat, chosen.primals, None, choice.applied)
    else:
        records: list[LinearizedFunction] = []

        def run(*primals: Array) -> tuple[Array, ...]:
            records.append(linearize_flat(flat, primals, None, choice.applied))
            return records[0].residuals

        staged = staging.stage(run, avals, choice.applied)
        (linearized,) = records
    for out in linearized.primals_out:
        choice.check_result(out.aval)
    values = [*staged.consts, *(linearized.residuals if at_point else ())]
    key = _digest([staged.jaxpr, linearized.jaxpr], values)
    pattern = _FOUND.get(key)
    if pattern is None:
        residuals = [_closed_over_operand(x) for x in values]
        if not at_point:
            unknown = [Operand(aval) for aval in avals]
            residuals = follow(program_rules.dce(staged.jaxpr), [*residuals, *unknown], 0)
        pattern = _FOUND[key] = _pattern(linearized, residuals, avals)
        if len(_FOUND) > _MOST_FOUND:
            _FOUND.popitem(last=False)
    return Detected(
        chosen,
        pattern,
        tuple([out.aval for out in linearized.primals_out]),
        flat.out_tree,
        _has_backward_only(linearized.jaxpr),
    )


#: Patterns by the digest of programs and of what is known in them.
_FOUND: Final[OrderedDict[bytes, sparsity_pattern.SparsityPattern]] = OrderedDict()
_MOST_FOUND: Final = 64


def _digest(jaxprs: Sequence[jx.Jaxpr], consts: Sequence[Array]) -> bytes:
    state = blake2b(digest_size=32)
    for jaxpr in jaxprs:
        state.update(jaxpr.digest)
    for x in consts:
        value = _closed_over_operand(x).value
        state.update(repr((x.aval, value is None)).encode())
        if value is not None:
            state.update(np.ascontiguousarray(value).tobytes())
    return state.digest()


def _chosen(
    choice: DifferentiatedArguments, args: tuple[Any, ...], kwargs: dict[str, Any], at_point: bool
) -> DifferentiatedCall:
    """Return the call; outside of a point types stand for arrays."""
    if at_point:
        chosen = DifferentiatedCall(choice, args, kwargs)
        for x in chosen.primals:
            x.concrete("the point of a pattern")
        return chosen
    with tr.assigned(opd.of_type, lambda aval: opd.splat(0, aval)):
        return DifferentiatedCall(choice, args, kwargs)


def _pattern(
    linearized: LinearizedFunction, residuals: Sequence[Operand], avals: Sequence[av.ShapedArray]
) -> sparsity_pattern.SparsityPattern:
    """Return the pattern of a tangent map, of all its results by all its arguments."""
    n = sum(aval.size for aval in avals)
    identity, first, tangents = sparsity_pattern.identity(n), 0, []
    for aval, has in zip(avals, linearized.nonzero_in, strict=True):
        if has:
            rows = np.arange(first, first + aval.size)
            tangents.append(Operand(aval, None, identity.select_rows(rows)))
        first += aval.size
    outs = iter(follow(linearized.jaxpr, [*residuals, *tangents], n))
    parts: list[sparsity_pattern.SparsityPattern] = []
    for x, has in zip(linearized.primals_out, linearized.nonzero_out, strict=True):
        depends = next(outs).depends if has else None
        none = sparsity_pattern.none(x.size, n)
        parts.append(none if depends is None else depends)
    return sparsity_pattern.stacked(parts, n)


def _has_backward_only(jaxpr: jx.Jaxpr) -> bool:
    return jx.some_eqn(
        jaxpr, "backward tangents", lambda eqn: eqn.primitive is custom_vjp_tangent_p
    )


@checking.checked
def jacobian_sparsity(
    fun: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    at_point: bool = False,
    **kwargs: Any,
) -> Any:
    """Return where the Jacobian of a function may differ from zero.

    The pattern is that of the function's tangent map, whose values are followed with the elements
    of the arguments that their elements depend on, through loops, conditionals, gathers and rules
    of custom derivatives (A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd ed., 2008,
    chapter 7). What is zero for all arguments it finds to be zero unless that is so by
    cancellation, or indices depend on arguments.

    Args:
        fun: takes and returns arrays in any containers.
        args: its positional arguments. Of those that are differentiated only shapes and dtypes
            count, and a ``ShapeDtypeStruct`` may stand for an array; others count as constants.
        argnums: which positional arguments are differentiated; an int, or several.
        at_point: whether to find the pattern at these arguments, which may have fewer elements than
            the one that holds for all.
        kwargs: its keyword arguments, except ``argnums`` and ``at_point``.

    Returns:
        A ``SparsityPattern`` of shape (result.size, argument.size); or a tree like that of
        ``jacobian``, with one for each result by each argument.

    Raises:
        DifferentiationError: an argument or a result is not float.
        ArgumentError: the pattern is too large to be computed.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> fun = lambda x: x[1:] * x[:-1]
        >>> tinyjax.autodiff.jacobian_sparsity(fun, jnp.ones(100_000))
        SparsityPattern(99999×100000, nnz=199998)
    """
    choice = DifferentiatedArguments("jacobian_sparsity", fun, argnums)
    return detect(choice, args, kwargs, False, at_point).blocks()


@checking.checked
def hessian_sparsity(
    fun: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    at_point: bool = False,
    **kwargs: Any,
) -> Any:
    """Return where the Hessian of a function may differ from zero.

    It is the pattern of the gradient's Jacobian (``jacobian_sparsity``), less what is zero on the
    other side of the diagonal.

    Args:
        fun: takes arrays in any containers, and returns one float.
        args: its positional arguments, as ``jacobian_sparsity`` takes them.
        argnums: which positional arguments are differentiated; an int, or several.
        at_point: whether to find the pattern at these arguments.
        kwargs: its keyword arguments, except ``argnums`` and ``at_point``.

    Returns:
        A ``SparsityPattern`` of shape (argument.size, argument.size); or a tree like that of
        ``hessian``, with one for each pair of arguments.

    Raises:
        DifferentiationError: an argument or the result is not float, or the result has axes.
        ArgumentError: the pattern is too large to be computed.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> arrow = lambda x: x[0] * jnp.sum(x**2)
        >>> tinyjax.autodiff.hessian_sparsity(arrow, jnp.ones(4)).todense().astype(int)
        array([[1, 1, 1, 1],
               [1, 1, 0, 0],
               [1, 0, 1, 0],
               [1, 0, 0, 1]])
    """
    choice = DifferentiatedArguments("hessian_sparsity", fun, argnums)
    return detect_hessian(choice, args, kwargs, False, at_point).blocks()


def detect_hessian(
    choice: DifferentiatedArguments,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool = False,
    at_point: bool = False,
) -> Detected:
    """Find the pattern of a Hessian, as that of the gradient's Jacobian.

    It is symmetric, unless rules of custom derivatives contradict each other.
    """
    argnums = choice.numbers if choice.several else choice.numbers[0]
    gradient = api.grad(choice.applied, argnums, has_aux=has_aux)
    of_gradient = DifferentiatedArguments(choice.name, gradient, argnums)
    detected = detect(of_gradient, args, kwargs, has_aux, at_point)
    chosen = _chosen(choice, args, kwargs, at_point)
    flat = calling.FlatFunction(chosen, chosen.in_tree, has_aux, choice.fun)
    try:
        has_rules = _has_rules(staging.stage(flat, detected.ins, choice.applied).jaxpr)
    except errors.ConcretizationError:  # at a point Python may ask for values
        has_rules = True
    if has_rules:
        return detected
    symmetric = detected.pattern.meets(detected.pattern.T)
    return attrs.evolve(detected, pattern=symmetric, symmetric=True)


def _has_rules(jaxpr: jx.Jaxpr) -> bool:
    """Return whether a program has functions with their own rules for derivatives."""
    return jx.some_eqn(
        jaxpr,
        "derivative rules",
        lambda eqn: eqn.primitive is custom_call_p and eqn.params.rule.has_jvp,
    )

"""``checkpoint``: a derivative that computes values again instead of keeping them.

A checkpointed function is a program bound as one operation. Differentiating it runs the program
and keeps its arguments, and of the values inside only those that a policy allows; the tangent map
first computes the rest again. That map is a checkpointed program itself, so its transpose computes
them again too, just before it needs them, and higher derivatives do likewise.

``saved_residuals`` lists what a derivative keeps, and which line of the user's it comes from.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar, assert_never, overload

import attrs

from tinyjax import tree
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.calling import FlatFunction, argument_path, as_arrays, as_avals
from tinyjax.core.checking import checked
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var, effects, eval_jaxpr, subjaxprs
from tinyjax.core.primitive import (
    ZERO,
    MappedAxis,
    Params,
    Primitive,
    Tangent,
    field_names,
)
from tinyjax.core.stablehlo import Lowering, int_array
from tinyjax.core.staging import Staged, stage
from tinyjax.core.trace import bind
from tinyjax.dtypes import DType, bool_, kind
from tinyjax.errors import ArgumentError, StaticArgumentError
from tinyjax.frames import Location, describe_function
from tinyjax.primitives.convolution import conv_general_dilated_p
from tinyjax.primitives.dot import dot_general_p
from tinyjax.primitives.families import add_arrays
from tinyjax.primitives.name import NameParams, checkpoint_name, name_p
from tinyjax.transforms.batching import batch_jaxpr
from tinyjax.transforms.jvp import jvp_jaxpr
from tinyjax.transforms.linearize import linearize_flat, linearize_jaxpr
from tinyjax.transforms.rematerialize import CALLED, prune, split_jaxpr
from tinyjax.transforms.transpose import transpose_jaxpr

__all__ = [
    "Policy",
    "Residual",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]

P = ParamSpec("P")
R = TypeVar("R")

#: ``policy(primitive, *avals, **params)`` says whether the results of an operation may be kept.
Policy = Callable[..., bool]


# Policies


class _Keeps(Enum):
    """What the policies of this package keep."""

    EVERYTHING = "everything_saveable"
    NOTHING = "nothing_saveable"
    DOTS = "dots_saveable"
    DOTS_WITHOUT_BATCH = "dots_with_no_batch_dims_saveable"
    NAMED = "save_only_these_names"
    NAMED_EXCEPT = "save_any_names_but_these"
    ANYTHING_EXCEPT = "save_anything_except_these_names"
    EITHER = "save_from_both_policies"


def _strings(given: Sequence[str]) -> tuple[str, ...]:
    for name in given:
        if not isinstance(name, str):
            raise ArgumentError(
                f"a policy takes names as given to checkpoint_name, but got {name!r}. Write "
                "save_only_these_names('a', 'b')."
            )
    return tuple(given)


@attrs.frozen(repr=False)
class _BuiltinPolicy:
    """A record and not a function, so that a program with it has one digest in every process."""

    keeps: _Keeps
    names: tuple[str, ...] = attrs.field(default=(), converter=_strings)
    parts: tuple[Policy, ...] = ()

    def __call__(self, primitive: Primitive[Any], *avals: ShapedArray, **params: Any) -> bool:
        named = primitive is name_p and params["name"] in self.names
        match self.keeps:
            case _Keeps.EVERYTHING:
                return True
            case _Keeps.NOTHING:
                return False
            case _Keeps.DOTS:
                return primitive is dot_general_p or primitive is conv_general_dilated_p
            case _Keeps.DOTS_WITHOUT_BATCH:
                return primitive is dot_general_p and not params["lhs_batch"]
            case _Keeps.NAMED:
                return named
            case _Keeps.NAMED_EXCEPT:
                return primitive is name_p and not named
            case _Keeps.ANYTHING_EXCEPT:
                return not named
            case _Keeps.EITHER:
                return any(part(primitive, *avals, **params) for part in self.parts)
        assert_never(self.keeps)

    def __repr__(self) -> str:
        if not (self.names or self.parts):
            return self.keeps.value
        return f"{self.keeps.value}({', '.join(map(repr, self.names or self.parts))})"


class CheckpointPolicies:
    """The policies that come with the package.

    A policy is any function ``policy(primitive, *avals, **params) -> bool``: given an operation,
    the types of its operands and its parameters, whether the results may be kept for the
    derivative.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def sines(primitive, *avals, **params):
        ...     return primitive.name == "sin"
        >>> f = tinyjax.checkpoint(lambda x: jnp.sin(jnp.sin(jnp.sin(x))), policy=sines)
        >>> len(tinyjax.saved_residuals(f, 1.0))
        3
    """

    everything_saveable: Final[Policy] = _BuiltinPolicy(_Keeps.EVERYTHING)
    nothing_saveable: Final[Policy] = _BuiltinPolicy(_Keeps.NOTHING)
    dots_saveable: Final[Policy] = _BuiltinPolicy(_Keeps.DOTS)
    checkpoint_dots: Final[Policy] = dots_saveable
    dots_with_no_batch_dims_saveable: Final[Policy] = _BuiltinPolicy(_Keeps.DOTS_WITHOUT_BATCH)
    checkpoint_dots_with_no_batch_dims: Final[Policy] = dots_with_no_batch_dims_saveable

    @staticmethod
    @checked
    def save_only_these_names(*names: str) -> Policy:
        """Keep the values that ``checkpoint_name`` gave one of these names."""
        return _BuiltinPolicy(_Keeps.NAMED, names)

    @staticmethod
    @checked
    def save_any_names_but_these(*names: str) -> Policy:
        """Keep the values that have a name, unless it is one of these."""
        return _BuiltinPolicy(_Keeps.NAMED_EXCEPT, names)

    @staticmethod
    @checked
    def save_anything_except_these_names(*names: str) -> Policy:
        """Keep every value, unless it has one of these names."""
        return _BuiltinPolicy(_Keeps.ANYTHING_EXCEPT, names)

    @staticmethod
    @checked
    def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
        """Keep what either policy keeps."""
        return _BuiltinPolicy(_Keeps.EITHER, (), (policy_1, policy_2))


checkpoint_policies: Final = CheckpointPolicies()


def _saveable(policy: Policy) -> Callable[[JaxprEqn], bool]:
    """The policy as a question about equations."""

    def ask(eqn: JaxprEqn) -> bool:
        params = {name: getattr(eqn.params, name) for name in field_names(type(eqn.params))}
        answer = policy(eqn.primitive, *(x.aval for x in eqn.inputs), **params)
        if not isinstance(answer, bool):
            raise ArgumentError(
                f"a checkpointing policy must return True or False, but "
                f"{describe_function(policy)} returned {answer!r} for '{eqn.primitive}'. Write "
                "policy(primitive, *avals, **params) -> bool."
            )
        return answer

    return ask


# The primitive


@attrs.frozen(repr=False)
class CheckpointParams(Params):
    """A program whose derivative computes values again.

    Attributes:
        jaxpr: the program.
        policy: what is kept.
        prevent_cse: whether the compiler must not merge the recomputation with the first one.
        differentiated: whether this is a derivative, in which things are computed again.
        name: the function's name; programs that differ in name only are the same.
    """

    jaxpr: Jaxpr
    policy: Policy
    prevent_cse: bool
    differentiated: bool = False
    name: str = attrs.field(default="f", eq=False)


checkpoint_p: Primitive[CheckpointParams] = Primitive("checkpoint", CheckpointParams)


@checkpoint_p.def_evaluate
def _checkpoint_evaluate(args: Sequence[Array], params: CheckpointParams) -> Sequence[Array]:
    return eval_jaxpr(params.jaxpr, args)


@checkpoint_p.def_abstract_eval
def _checkpoint_type(
    avals: Sequence[ShapedArray], params: CheckpointParams
) -> Sequence[ShapedArray]:
    expected = params.jaxpr.in_avals
    if len(avals) != len(expected) or any(
        a.shape != b.shape or a.dtype != b.dtype for a, b in zip(avals, expected, strict=True)
    ):
        raise ArgumentError(
            f"a checkpointed program of type {params.jaxpr.type} was applied to "
            f"({', '.join(map(str, avals))})."
        )
    return params.jaxpr.out_avals


@checkpoint_p.def_lowering
def _checkpoint_lowering(
    lowering: Lowering, operands: Sequence[str], params: CheckpointParams
) -> Sequence[str]:
    jaxpr = params.jaxpr
    always: str | None = None
    if params.prevent_cse and params.differentiated and not effects(jaxpr).ordered:
        always = _always(lowering, operands, jaxpr.in_avals) if _materializes(jaxpr) else None
    if always is None:
        return lowering.call(jaxpr, params.name, operands)
    regions = (
        lowering.region((), lambda _: lowering.call(jaxpr, params.name, operands), jaxpr.out_avals),
        lowering.region(
            (), lambda _: [lowering.full(0, a) for a in jaxpr.out_avals], jaxpr.out_avals
        ),
    )
    return lowering.emit("stablehlo.if", (always,), (_BOOL,), jaxpr.out_avals, None, regions)


_BOOL: Final = ShapedArray((), bool_)

# What XLA on CPU does not fuse into the loops of its neighbours: the operations whose results are
# kept in memory. Of a program without any it keeps nothing anyhow, and would turn a conditional
# into computing both sides (2.5 MB where it needs none: 64 sines and tangents of 10,000 numbers).
_MATERIALIZED: Final = frozenset(
    (
        "cond",
        "conv_general_dilated",
        "cumlogsumexp",
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
        "dot_general",
        "dynamic_update_slice",
        "gather",
        "linear_recurrence",
        "pure_callback",
        "reduce_window_max",
        "reduce_window_min",
        "reduce_window_sum",
        "scan",
        "scatter",
        "scatter_add",
        "scatter_max",
        "scatter_min",
        "scatter_mul",
        "sort",
        "top_k",
        "while",
    )
)


def _materializes(jaxpr: Jaxpr) -> bool:
    """Whether a program has operations whose results XLA keeps in memory."""

    def find() -> bool:
        return any(
            eqn.primitive.name in _MATERIALIZED or any(map(_materializes, subjaxprs(eqn.params)))
            for eqn in jaxpr.eqns
        )

    return jaxpr.derive("materializes", find)


def _always(
    lowering: Lowering, operands: Sequence[str], avals: Sequence[ShapedArray]
) -> str | None:
    """Write a condition that always holds, which XLA does not know; None where there is none.

    XLA drops ``optimization_barrier`` on CPU and then merges what it kept apart. It does not merge
    across the border of a conditional, nor does it start a conditional before its condition is
    there. The condition is x = x or x != x: of the last operand, which is there when the derivative
    is wanted, and of the first, since the last may be a constant.
    """
    chosen = [i for i, a in enumerate(avals) if a.size and kind(a.dtype) in "fc"]
    if not chosen:
        return None
    last = _equal_or_not(lowering, operands[chosen[-1]], avals[chosen[-1]])
    if len(chosen) == 1:
        return last
    first = _equal_or_not(lowering, operands[chosen[0]], avals[chosen[0]])
    return lowering.op1("stablehlo.and", (first, last), (_BOOL, _BOOL), _BOOL)


def _equal_or_not(lowering: Lowering, x: str, aval: ShapedArray) -> str:
    """Write whether an array's first element is equal or unequal to itself."""
    if aval.ndim:
        one = aval.with_shape((1,) * aval.ndim)
        bounds = {
            "start_indices": int_array((0,) * aval.ndim),
            "limit_indices": int_array((1,) * aval.ndim),
            "strides": int_array((1,) * aval.ndim),
        }
        x = lowering.op1("stablehlo.slice", (x,), (aval,), one, bounds)
        aval = aval.with_shape(())
        x = lowering.op1("stablehlo.reshape", (x,), (one,), aval)

    def compare(direction: str) -> str:
        attributes = {"comparison_direction": f"#stablehlo<comparison_direction {direction}>"}
        return lowering.op1("stablehlo.compare", (x, x), (aval, aval), _BOOL, attributes)

    either = (compare("EQ"), compare("NE"))
    return lowering.op1("stablehlo.or", either, (_BOOL, _BOOL), _BOOL)


def _bind_checkpoint(
    staged: Staged, args: Sequence[Array], params: CheckpointParams
) -> Sequence[Array]:
    params = attrs.evolve(params, jaxpr=staged.jaxpr)
    return bind(checkpoint_p, (*staged.consts, *args), params)


@checkpoint_p.def_jvp
def _checkpoint_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: CheckpointParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    nonzero = tuple(t is not ZERO for t in tangents)
    staged, nonzero_out = jvp_jaxpr(params.jaxpr, nonzero)
    outs = _bind_checkpoint(staged, (*primals, *(t for t in tangents if t is not ZERO)), params)
    n = len(nonzero_out)
    rest = iter(outs[n:])
    return outs[:n], [next(rest) if has else ZERO for has in nonzero_out]


@attrs.frozen(eq=False, repr=False)
class _Linearized:
    """A checkpointed program in two halves.

    Attributes:
        consts: the values of the first parameters of ``primal``.
        primal: takes those and the operands; returns the results and then what the policy keeps.
        tangent: takes some parameters of ``primal``, what is kept, and the tangents there are;
            computes the rest again, and returns the tangents of the results.
        operands: the parameters of ``primal`` that ``tangent`` takes.
        nonzero_out: which results have a tangent.
    """

    consts: tuple[Array, ...]
    primal: Jaxpr
    tangent: Jaxpr
    operands: tuple[int, ...]
    nonzero_out: tuple[bool, ...]


def _linearize(jaxpr: Jaxpr, nonzero: tuple[bool, ...], policy: Policy) -> _Linearized:
    """Linearize a program, and compute again of its residuals what the policy does not keep."""

    def make() -> _Linearized:
        linearized = linearize_jaxpr(jaxpr, nonzero)
        primal, consts = linearized.primal.jaxpr, linearized.primal.consts
        num_results = len(linearized.nonzero_out)
        tangent = prune(linearized.tangent)
        mentioned = {x for eqn in tangent.eqns for x in eqn.inputs} | set(tangent.outs)

        # where a residual of the tangent map is found in the primal half
        computed = iter(primal.outs[num_results:])
        residuals: dict[Var, Atom] = {}
        for var, place in zip(tangent.in_binders, linearized.forwarded, strict=False):
            value = next(computed) if place is None else primal.in_binders[len(consts) + place]
            if var in mentioned:
                residuals[var] = value

        split = split_jaxpr(primal, list(residuals.values()), _saveable(policy))
        forward = prune(
            Jaxpr(primal.in_binders, split.forward, (*primal.outs[:num_results], *split.saved))
        )

        def rename(x: Atom) -> Atom:
            return residuals.get(x, x) if isinstance(x, Var) else x

        again = Jaxpr(
            (
                *(primal.in_binders[i] for i in split.kept),
                *split.saved,
                *tangent.in_binders[len(linearized.forwarded) :],
            ),
            (
                *split.recomputed,
                *(attrs.evolve(e, inputs=tuple(map(rename, e.inputs))) for e in tangent.eqns),
            ),
            tuple(map(rename, tangent.outs)),
        )
        return _Linearized(consts, forward, again, split.kept, linearized.nonzero_out)

    return jaxpr.derive(("checkpoint", nonzero, policy), make)


@checkpoint_p.def_linearize
def _checkpoint_linearize(
    primals: Sequence[Array], nonzero: Sequence[bool], params: CheckpointParams
) -> tuple[Sequence[Array], Sequence[bool], Callable[[Sequence[Array]], Sequence[Array]]]:
    linearized = _linearize(params.jaxpr, tuple(nonzero), params.policy)
    n = len(linearized.nonzero_out)
    operands = (*linearized.consts, *primals)
    # Inline: the policy of a checkpoint around this one is asked about the equations.
    outs = eval_jaxpr(linearized.primal, operands)
    kept = [*(operands[i] for i in linearized.operands), *outs[n:]]

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        if not any(linearized.nonzero_out):
            return ()
        again = attrs.evolve(params, jaxpr=linearized.tangent, differentiated=True)
        return bind(checkpoint_p, (*kept, *tangents), again)

    return outs[:n], linearized.nonzero_out, tangent_map


@checkpoint_p.def_transpose
def _checkpoint_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: CheckpointParams
) -> Sequence[Tangent | None]:
    linear = tuple(isinstance(x, Var) for x in operands)
    nonzero = tuple(ct is not ZERO for ct in cotangents)
    transposed = transpose_jaxpr(params.jaxpr, linear, nonzero, add_arrays)
    known = [x for x in operands if not isinstance(x, Var)]
    given = (*known, *(ct for ct in cotangents if ct is not ZERO))
    rest = iter(_bind_checkpoint(transposed.staged, given, params))
    results = iter([next(rest) if has else ZERO for has in transposed.nonzero_out])
    return [next(results) if is_linear else None for is_linear in linear]


@checkpoint_p.def_batch
def _checkpoint_batch(
    mapped: MappedAxis,
    values: Sequence[Array],
    axes: Sequence[int | None],
    params: CheckpointParams,
) -> tuple[Sequence[Array], Sequence[int | None]]:
    staged, out_axes = batch_jaxpr(params.jaxpr, mapped, tuple(axes))
    return _bind_checkpoint(staged, values, params), out_axes


# The public transformation


@overload
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool = ...,
    policy: Policy | None = ...,
    static_argnums: int | Sequence[int] = ...,
) -> Callable[P, R]: ...
@overload
def checkpoint(
    *,
    prevent_cse: bool = ...,
    policy: Policy | None = ...,
    static_argnums: int | Sequence[int] = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@checked
def checkpoint(
    fun: Callable[P, R] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Make the derivative of a function compute values again instead of keeping them.

    The function computes what it did before. When it is differentiated in reverse, only its
    arguments, the arrays it closes over and what the policy allows are kept until the backward
    pass, which first runs the rest of the function again: less memory for more work. A chain of
    ``n`` equal steps checkpointed in groups of ``sqrt(n)`` needs memory for about ``2 sqrt(n)``
    steps and runs each step twice.

    The function is staged at each call, so its Python control flow may depend on the shapes and
    dtypes of its arguments and on static ones, not on their data.

    Args:
        fun: takes and returns arrays in any containers. Without it, a decorator is returned.
        prevent_cse: whether to keep the compiler from merging the recomputation with the first
            computation, which would undo the saving of memory. It may be turned off where they
            cannot meet, as in the body of a scan.
        policy: says what may be kept, as ``policy(primitive, *avals, **params) -> bool``; see
            ``checkpoint_policies``. By default nothing but the arguments. Functions compiled
            with ``jit`` inside are kept piece by piece; the inside of a loop is not looked into:
            checkpoint the loop's body instead.
        static_argnums: positional arguments that are not arrays, or whose data the function's
            control flow needs.

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
                fun, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums
            )

        return decorate
    user_fun = fun
    chosen = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    kept = checkpoint_policies.nothing_saveable if policy is None else policy
    _check_hashable(kept)
    name = getattr(fun, "__name__", type(fun).__name__)

    @wraps(fun)
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        static = _static_places(user_fun, chosen, len(args))
        dynamic = [arg for i, arg in enumerate(args) if i not in static]

        def call(*given: Any, **given_kwargs: Any) -> R:
            rest = iter(given)
            full: list[Any] = [args[i] if i in static else next(rest) for i in range(len(args))]
            return user_fun(*full, **given_kwargs)

        leaves, in_tree = tree.flatten((tuple(dynamic), kwargs))
        arrays = as_arrays(leaves, user_fun, in_tree, static)
        flat = FlatFunction(call, in_tree, user_fun=user_fun)
        staged = stage(flat, [x.aval for x in arrays], user_fun)
        params = CheckpointParams(staged.jaxpr, kept, prevent_cse, name=name)
        result: R = tree.unflatten(flat.out_tree, _bind_checkpoint(staged, arrays, params))
        return result

    return checkpointed


remat = checkpoint


def _check_hashable(policy: Policy) -> None:
    try:
        hash(policy)
    except TypeError:
        raise ArgumentError(
            f"a checkpointing policy is compared and must be hashable, but got one of type "
            f"{type(policy).__name__}, which is not. Use a function, or a frozen class."
        ) from None


def _static_places(
    fun: Callable[..., Any], static_argnums: Sequence[int], num_args: int
) -> frozenset[int]:
    for i in static_argnums:
        if not -num_args <= i < num_args:
            raise StaticArgumentError(
                f"static_argnums of checkpoint names argument {i}, but {describe_function(fun)} "
                f"was called with {num_args} positional arguments. Pass static arguments by "
                "position."
            )
    return frozenset(i + num_args if i < 0 else i for i in static_argnums)


# What a derivative keeps


@attrs.frozen
class Residual:
    """A value that a derivative keeps from the forward pass for the backward pass.

    Attributes:
        shape: its shape.
        dtype: its dtype.
        argument: the path of the argument that it is, such as ``params['w']``; or None.
        primitive: the operation that computed it; None for what is not computed.
        name: what ``checkpoint_name`` called it; or None.
        location: the user's line that computed it; None where that is not known.
    """

    shape: tuple[int, ...]
    dtype: DType
    argument: str | None = None
    primitive: str | None = None
    name: str | None = None
    location: Location | None = None

    @property
    def aval(self) -> ShapedArray:
        """Its type."""
        return ShapedArray(self.shape, self.dtype)

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.aval.size * self.dtype.itemsize

    def __str__(self) -> str:
        if self.argument is not None:
            origin = f"the argument {self.argument}"
        elif self.primitive is None:
            origin = "a constant, or an array that the function closes over"
        else:
            origin = f"the result of {self.primitive}"
            if self.name is not None:
                origin = f"named '{self.name}'"
            if self.location is not None:
                origin += f" at {self.location}: {self.location.text}"
        return f"{self.aval} {_bytes(self.nbytes)}, {origin}"


def _bytes(count: int) -> str:
    return f"{count:,} byte{'' if count == 1 else 's'}"


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Residual]:
    """List what a reverse-mode derivative of a function keeps until its backward pass.

    Args:
        f: the function; it is staged, not run.
        args: its arguments; a ``ShapeDtypeStruct`` may stand for an array.
        kwargs: likewise.

    Returns:
        One record per residual, in the order of their computation, arguments first.

    Raises:
        ConcretizationError: the function needs the data of an argument.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> residuals = tinyjax.saved_residuals(lambda w, x: jnp.sin(w @ x), jnp.ones((2, 3)),
        ...                                     jnp.ones(3))
        >>> [(r.shape, r.argument, r.nbytes) for r in residuals]
        [((2, 3), 'w', 24), ((3,), 'x', 12), ((2,), None, 8)]
    """
    leaves, in_tree = tree.flatten((args, kwargs))
    avals = as_avals(leaves, f, in_tree)

    def residuals(*xs: Array) -> Sequence[Array]:
        return linearize_flat(FlatFunction(f, in_tree), xs, None, f).residuals

    staged = stage(residuals, avals)
    jaxpr = staged.jaxpr
    num_consts = len(staged.consts)
    places = {var: i for i, var in enumerate(jaxpr.in_binders)}
    computed = {v: i for i, v in enumerate(v for eqn in jaxpr.eqns for v in eqn.out_binders)}
    found: list[tuple[int, Residual]] = []
    for atom in dict.fromkeys(jaxpr.outs):
        if not isinstance(atom, Var):
            continue
        shape, dtype = atom.aval.shape, atom.aval.dtype
        if atom not in places:
            name, primitive, location = _origin(jaxpr, atom)
            residual = Residual(shape, dtype, None, primitive, name, location)
            found.append((len(places) + computed[atom], residual))
        elif places[atom] < num_consts:
            found.append((len(leaves) + places[atom], Residual(shape, dtype)))
        else:
            i = places[atom] - num_consts
            found.append((i, Residual(shape, dtype, argument_path(f, in_tree, i))))
    return [residual for _, residual in sorted(found, key=lambda pair: pair[0])]


def _origin(jaxpr: Jaxpr, var: Var) -> tuple[str | None, str | None, Location | None]:
    """The name of a computed value, and the operation and the line that computed it.

    A value from a called program is looked for inside it.
    """
    eqn = next(e for e in jaxpr.eqns if var in e.out_binders)
    location = None if eqn.source is None else eqn.source.location
    name = eqn.params.name if isinstance(eqn.params, NameParams) else None
    if CALLED in eqn.primitive.rules.extensions:
        (inner,) = subjaxprs(eqn.params)
        atom = inner.outs[eqn.out_binders.index(var)]
        if isinstance(atom, Var) and atom not in inner.in_binders:
            name, primitive, inside = _origin(inner, atom)
            return name, primitive, inside or location
    return name, eqn.primitive.name, location


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what a reverse-mode derivative of a function keeps until its backward pass.

    Args:
        f: the function; it is staged, not run.
        args: its arguments; a ``ShapeDtypeStruct`` may stand for an array.
        kwargs: likewise.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.print_saved_residuals(jnp.multiply, jnp.ones(3), jnp.ones(3))
        float32[3] 12 bytes, the argument x
        float32[3] 12 bytes, the argument y
        2 residuals, 24 bytes
    """
    found = saved_residuals(f, *args, **kwargs)
    for residual in found:
        print(residual)  # noqa: T201
    plural = "" if len(found) == 1 else "s"
    total = _bytes(sum(r.nbytes for r in found))
    print(f"{len(found)} residual{plural}, {total}")  # noqa: T201

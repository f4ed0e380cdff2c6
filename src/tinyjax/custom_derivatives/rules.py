"""Functions with rules: ``custom_jvp``, ``custom_vjp``, ``custom_derivative``, ``custom_batch``."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from types import MethodType
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    overload,
)

import attrs

from tinyjax import config, dtypes, errors, tree
from tinyjax._base import tracebacks
from tinyjax._base.frames import Function, describe_function, imitate, wraps
from tinyjax._base.pickling import PickledAsFunction
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.rules import add_arrays, instantiate_all
from tinyjax.core.tracing import bind, calling, jaxpr as jx, primitive as prim, staging
from tinyjax.core.tracing.trace import at_own_lines, current_trace
from tinyjax.core.values import Array, avals as av, integers as ints, operands as opd
from tinyjax.custom_derivatives import closures, custom_calls
from tinyjax.custom_derivatives.custom_calls import (
    CustomFunctionCall,
    CustomVJPPrimal,
    SymbolicZero,
)
from tinyjax.dtypes import DType, is_inexact, kind
from tinyjax.tree.treedef import in_words

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)
Ts = TypeVarTuple("Ts")
F = TypeVar("F", bound=Callable[..., Any])


#: The type of what stands in for a reference.
NO_DATA: Final = av.ShapedArray((), dtypes.bool_)


class WholeNumber(int):
    """An int that a function with rules was given: it has a dtype, as an array would."""

    dtype: DType

    def __new__(cls, value: int, dtype: DType) -> Self:
        number = super().__new__(cls, value)
        number.dtype = dtype
        return number

    def __reduce__(self) -> tuple[type[Self], tuple[int, DType]]:
        return type(self), (int(self), self.dtype)


class _Application:
    """One application of a custom function: its arguments' structure, and its result's.

    It outlives the application, with the rule that is recorded, and so does not hold the arguments.
    """

    def __init__(
        self,
        custom: "_Custom[..., Any]",
        leaves: Sequence[Any],
        in_tree: tree.PyTreeDef,
        static: dict[int, Any],
    ) -> None:
        self.custom = custom
        self.static = static
        self.in_tree = in_tree
        self.num_args = len(in_tree.children()) + len(static)
        #: What may close over traced values.
        self.holds: tuple[Any, ...] = (custom, *static.values())
        #: References, by their places, where something stands in for them.
        self.refs: dict[int, Any] = {i: leaves[i] for i in calling.whole_places(leaves)}
        for holder in {calling.HOLDERS[type(x)] for x in self.refs.values()}:
            holder.check_once([*self.refs.values()], custom.name)
        #: What those refer to.
        self.contents = tuple([ref.contents for ref in self.refs.values()])
        #: What function and rules use of references, where they are operands of the call.
        self.state: Any = None
        if calling.HOLDERS and custom.passes_state:
            kinds = [kind for kind, holder in calling.HOLDERS.items() if holder.is_one]
            given = (custom, *static.values(), *self.refs.values())
            if found := [*closures.held_in(given, kinds, {})]:
                self.state = calling.HOLDERS[type(found[0])].in_rules(found)
        else:
            self.holds += self.contents
        #: Ints and bools that were given, by their places, beside the arrays made of them.
        self.numbers: dict[int, tuple[int, Array]] = {}
        self.out_tree: tree.PyTreeDef | None = None
        self.out_types: list[av.ShapedArray] | None = None

    def arrays(self, leaves: Sequence[Any], dynamic: tuple[Any, ...]) -> list[Array]:
        """Return the arguments with arrays for these leaves. Ints and bools are kept, too."""
        structure = tree.structure((dynamic, {}))
        arrays = calling.as_arrays(leaves, self.custom.fun, structure, self.static)
        for i, x in enumerate(leaves):
            if type(x) is int or type(x) is WholeNumber:
                self.numbers[i] = WholeNumber(x, arrays[i].dtype), arrays[i]
            elif type(x) is bool:
                self.numbers[i] = x, arrays[i]
        return arrays

    def arguments(self, leaves: Sequence[Any]) -> Any:
        """Return the arguments but the static ones, as function and rules take them.

        An int or a bool is what it was, unless it is traced: it may be a static argument further
        in, a key of a dict, or the length of a loop.
        """
        if self.numbers:
            leaves = list(leaves)
            for i, (number, array) in self.numbers.items():
                if leaves[i] is array:
                    leaves[i] = number
        return tree.unflatten(self.in_tree, self.with_refs(leaves))

    def with_refs(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """Put the references in, where something stands in for them."""
        return [self.refs.get(i, x) for i, x in enumerate(leaves)] if self.refs else leaves

    def full(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the positional arguments, the static ones in their places."""
        rest = iter(self.arguments(leaves))
        return [self.static[i] if i in self.static else next(rest) for i in range(self.num_args)]

    def directions(self, primals: prim.Arrays, tangents: prim.Tangents) -> Any:
        """Return the tangents of the arguments, as rules take them."""
        symbolic = self.custom.symbolic_zeros
        filled = [_filled(p.aval, t, symbolic) for p, t in zip(primals, tangents, strict=True)]
        return tree.unflatten(self.in_tree, filled)

    def fun(self, *leaves: Array) -> list[Array]:
        if self.state is None:
            return self._plain(leaves)
        leaves, states, contents = self.state.split(leaves)
        outs, after = self.state.run(lambda: self._plain(leaves), states, contents)
        return [*outs, *states, *after]

    def _plain(self, leaves: Sequence[Array]) -> list[Array]:
        return self.results(self.custom.fun(*self.full(leaves)), self.custom.fun)

    def results(self, out: Any, rule: Callable[..., Any], batched: bool = False) -> list[Array]:
        """Flatten a result, which must be of the type that any other run's is of.

        Args:
            out: the result.
            rule: what returned it.
            batched: whether it may have one axis more.
        """
        leaves, out_tree = tree.flatten(out)
        if self.out_tree is None:
            self.out_tree = out_tree
        elif out_tree is not self.out_tree and out_tree != self.out_tree:
            raise self._wrong_result(
                rule,
                "of the same container/pytree structure",
                f"it was {in_words(out_tree)} where {self.custom.name} returns "
                f"{in_words(self.out_tree)}",
            )
        outs = [x if isinstance(x, Array) else _convert(x, rule) for x in leaves]
        if batched:
            return outs
        types = [out.aval for out in outs]
        if self.out_types is None:
            self.out_types = types
        for i, (a, b) in enumerate(zip(self.out_types, types, strict=True)):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise self._wrong_result(
                    rule,
                    "with leaves of the same shape/dtype",
                    f"{calling.leaf_path('result', out_tree, i)} was {b} where {self.custom.name} "
                    f"returns {a}",
                )
        return outs

    def _wrong_result(
        self, rule: Callable[..., Any], how: str, but: str
    ) -> errors.DifferentiationError:
        return errors.DifferentiationError(
            f"{_rule_of(self.custom, rule)} must produce a pair (list or tuple of length two) "
            "where the first element represents the primal output (equal in value to the output of "
            f"the {self.custom.kind}-decorated function {self.custom.name}, and in particular "
            f"{how}), but {but}. {_where(rule)}"
        )

    def tangents(
        self, tangent: Any, outs: Sequence[Array], rule: Callable[..., Any]
    ) -> list[prim.Tangent]:
        """Check and flatten a rule's tangent of the result."""
        leaves, own_tree = tree.flatten(tangent)
        assert self.out_tree is not None, "the result has been flattened"
        if own_tree is not self.out_tree and own_tree != self.out_tree:
            raise errors.DifferentiationError(
                f"{_rule_of(self.custom, rule)} must produce primal and tangent outputs with equal "
                f"container (pytree) structures, but got {self.out_tree} and {own_tree} "
                f"respectively. {_where(rule)}"
            )
        treedef = self.out_tree
        return [
            _fit(x, out.aval, rule, f"tangent{calling.leaf_path('', treedef, i)}")
            for i, (x, out) in enumerate(zip(leaves, outs, strict=True))
        ]


def _rule_of(custom: "_Custom[..., Any]", rule: Callable[..., Any]) -> str:
    """Begin a sentence about a rule, as JAX does."""
    name = getattr(rule, "__name__", type(rule).__name__)
    return f"Custom {_RULES[custom.kind]} {name} for function {custom.name}"


def _where(rule: Callable[..., Any]) -> str:
    return f"The rule is {describe_function(rule)}."


#: What the first rule of each kind of function is called.
_RULES: Final = {
    "custom_jvp": "JVP rule",
    "custom_derivative": "derivative rule",
    "custom_vjp": "VJP fwd rule",
    "custom_vmap": "vmap rule",
}


def _convert(leaf: object, fun: Callable[..., Any]) -> Array:
    try:
        return opd.as_array(leaf)
    except errors.TinyjaxError as error:
        raise type(error)(f"{describe_function(fun)} must return arrays: {error.message}") from None


#: The kinds of Python numbers that a float or a complex number holds.
_LOSSLESS = {"f": "if", "c": "ifc"}


def _fit(leaf: Any, like: av.ShapedArray, rule: Callable[..., Any], what: str) -> prim.Tangent:
    """Return a tangent or cotangent of a value, or say why it does not fit."""
    if not is_inexact(like.dtype) or leaf is prim.ZERO:
        return prim.ZERO
    if isinstance(leaf, SymbolicZero):
        if leaf.shape != like.shape:
            raise _misfit(like, leaf.aval, rule, what, symbolic=True)
        return prim.ZERO
    array = leaf if isinstance(leaf, Array) else _convert(leaf, rule)
    if (array.weak_type or like.weak_type) and array.dtype != like.dtype:
        # A tangent is a float where its value is; of a cotangent, 0 or 1 may be said.
        kinds = _LOSSLESS[kind(like.dtype)] if what.startswith("cotangent") else kind(like.dtype)
        if kind(array.dtype) in kinds:
            array = ew.convert_element_type(array, like.dtype)
    if array.shape != like.shape or array.dtype != like.dtype:
        if what.startswith("cotangent") and config.settings().disable_bwd_checks:
            return array
        raise _misfit(like, array.aval, rule, what)
    return array


def _misfit(
    like: av.ShapedArray,
    got: av.ShapedArray,
    rule: Callable[..., Any],
    what: str,
    symbolic: bool = False,
) -> errors.DifferentiationError:
    if what.startswith("cotangent"):
        advice = (
            "Consider just returning a None here instead of a SymbolicZero object."
            if symbolic
            else "Sum over what was broadcast, or broadcast what was summed."
        )
        return errors.DifferentiationError(
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of "
            f"the primal function, but at output{what.removeprefix('cotangent')} the bwd rule "
            f"produced an output of type {got} corresponding to an input of type {like}. "
            f"{_where(rule)} {advice}"
        )
    return errors.DifferentiationError(
        "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and "
        f"dtypes. Expected {like} (tangent type of {like}) but got {got}. It was the {what} that "
        f"{describe_function(rule)} returned."
    )


def _pair(
    value: Any, custom: "_Custom[..., Any]", rule: Callable[..., Any], parts: str
) -> tuple[Any, Any]:
    if not (isinstance(value, (tuple, list)) and len(value) == 2):
        kind = (
            f"{len(value)} values"
            if isinstance(value, (tuple, list))
            else f"a value of type {errors.type_name(value)}"
        )
        raise errors.DifferentiationError(
            f"{_rule_of(custom, rule)} must produce a pair (list or tuple of length two) "
            f"representing {parts}, but got {kind}. {_where(rule)}"
        )
    first, second = value
    return first, second


def _filled(aval: av.ShapedArray, tangent: prim.Tangent, symbolic_zeros: bool = False) -> Any:
    """Return a tangent for a rule: zeros where there is none, of dtype float0 for integers."""
    if is_inexact(aval.dtype) and tangent is not prim.ZERO:
        return tangent
    return SymbolicZero(aval.tangent()) if symbolic_zeros else sh.zero_tangent(aval)


#: Arguments that are not differentiated come first, at most three.
JVPRule: TypeAlias = (
    Callable[[Any, Any], tuple[R, R]]
    | Callable[[Any, Any, Any], tuple[R, R]]
    | Callable[[Any, Any, Any, Any], tuple[R, R]]
    | Callable[[Any, Any, Any, Any, Any], tuple[R, R]]
)
BackwardRule: TypeAlias = (
    Callable[[S, R], tuple[Any, ...]]
    | Callable[[Any, S, R], tuple[Any, ...]]
    | Callable[[Any, Any, S, R], tuple[Any, ...]]
    | Callable[[Any, Any, Any, S, R], tuple[Any, ...]]
)


class _AnyFunction(Protocol[R_co]):
    """A function whose parameters are not known to type checkers."""

    def __call__(self, *args: object, **kwargs: object) -> R_co: ...


#: The methods that set rules.
_SETTERS: Final = (
    *("def_vmap", "defderivative", "defjvp", "defjvps", "defvjp", "defvjp_with_logs"),
)


class _Custom(Generic[P, R], PickledAsFunction):
    """A function with a rule of its own."""

    kind: ClassVar[str]
    #: Whether its rules are told of zeros as such.
    symbolic_zeros: bool = False
    #: Whether its calls take and return what is in the references that it uses.
    passes_state: ClassVar[bool] = False
    #: Whether, outside of all transformations, a call is one of the function itself.
    is_called_directly: ClassVar[bool] = True
    __name__: str
    __wrapped__: Callable[P, R]

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        errors.check_function(self.kind, fun)
        imitate(self, fun)
        self.fun = fun
        for name in _SETTERS:  # of decorators on top of each other, any sets the rules of all
            if not hasattr(self, name) and hasattr(fun, name):
                setattr(self, name, getattr(fun, name))
        self.rule: Callable[..., Any] | None = None
        self.nondiff_argnums: tuple[int, ...] = ints.integers(nondiff_argnums, "nondiff_argnums")
        self.nondiff_argnums += _places(fun, nondiff_argnames)

    def _set_rule(self, rule: Callable[..., Any], symbolic_zeros: bool = False) -> None:
        self.rule = rule
        self.symbolic_zeros = symbolic_zeros

    @property
    def name(self) -> str:
        return getattr(self.fun, "__name__", type(self.fun).__name__)

    def __repr__(self) -> str:
        return f"<{self.kind} of {describe_function(self.fun)}>"

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Callable[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> calling.BoundMethod[Q, R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind as a method does."""
        return self if instance is None else MethodType(self, instance)

    @tracebacks.folded
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        positional = self._positional(args, kwargs)
        chosen = {i + len(positional) if i < 0 else i for i in self.nondiff_argnums}
        if not chosen.issubset(range(len(positional))):
            raise errors.ArgumentError(
                f"nondiff_argnums of {describe_function(self.fun)} is {self.nondiff_argnums}, but "
                f"it was called with {len(positional)} positional arguments."
            )
        if self.is_called_directly and self.rule is not None and current_trace().evaluates:
            call: Callable[..., R] = self.fun
            return call(*positional)
        static = {i: x for i, x in enumerate(positional) if i in chosen}
        dynamic = tuple(x for i, x in enumerate(positional) if i not in chosen)
        leaves, in_tree = tree.flatten(dynamic)
        flat = _Application(self, leaves, in_tree, static)
        for i in flat.refs:
            leaves[i] = opd.splat(False, NO_DATA)
        operands, state = flat.arrays(leaves, dynamic), flat.state
        held = [] if state is None else state.operands()
        outs = current_trace().process_custom_call(self._call(flat), [*operands, *held])
        if state is not None:
            outs = state.keep(held, outs)
        assert flat.out_tree is not None, "the function or its rule has run"
        result: R = tree.unflatten(flat.out_tree, outs)
        return result

    def _call(self, flat: _Application) -> CustomFunctionCall:
        raise NotImplementedError

    def _rule_by(self, how: str) -> Callable[..., Any]:
        """Return the rule, which a method sets."""
        if self.rule is not None:
            return self.rule
        rule = {"defjvp": "JVP", "defvjp": "VJP", "def_vmap": "batching rule"}.get(
            how, "derivative"
        )
        raise errors.UndefinedRuleError(
            f"No {rule} defined for {self.kind} function {self.name} using {how}. Give "
            f"{describe_function(self.fun)} a rule with {self.name}.{how}."
        )

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position, as the signature says."""
        try:
            # what a partial has bound by name is no argument any more
            signature = None if isinstance(self.fun, partial) else inspect.signature(self.fun)
        except (TypeError, ValueError):
            signature = None
        if signature is None and not kwargs:
            return args
        if signature is not None:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise self._unresolved(f"{error}.") from None
            bound.apply_defaults()
            if not bound.kwargs:
                return bound.args
            kwargs = bound.kwargs
        raise self._unresolved(
            "The following keyword arguments could not be resolved to positions: "
            f"{', '.join(kwargs)}. Rules are given arguments by position: make them positional."
        )

    def _unresolved(self, problem: str) -> errors.ArgumentError:
        return errors.ArgumentError(
            f"The input arguments to the {self.kind}-decorated function {self.name} could not be "
            "resolved to positional-only arguments. Binding failed with the error:\n"
            f"{problem} The function is {describe_function(self.fun)}."
        )


def _places(fun: Callable[..., Any], names: Sequence[str] | None) -> tuple[int, ...]:
    """Return the places of parameters that are named."""
    if names is None:
        return ()
    parameter_names = (names,) if isinstance(names, str) else ints.listed(names, "nondiff_argnames")
    if not parameter_names:
        return ()
    try:
        parameters = list(inspect.signature(fun).parameters)
    except ValueError:
        raise errors.ArgumentError(
            f"{describe_function(fun)} tells no names of parameters. Give nondiff_argnums."
        ) from None
    for name in parameter_names:
        if name not in parameters:
            raise errors.ArgumentError(
                f"nondiff_argnames has {errors.shortened(name)}, but {describe_function(fun)} "
                f"takes {', '.join(parameters) or 'nothing'}."
            )
    return tuple(parameters.index(name) for name in parameter_names)


class custom_jvp(_Custom[P, R]):  # noqa: N801
    """Give a function a rule for its derivative in forward mode.

    Higher derivatives differentiate the rule. Reverse mode transposes it, so it must be linear in
    the tangents. Outside ``jit``, function and rule run on data, and Python control flow may depend
    on it.

    Args:
        fun: takes arrays in any containers, by position, and returns such.
        nondiff_argnums: arguments that may be any Python values, and are not differentiated; the
            rule takes them first.
        nondiff_argnames: those arguments, by name.

    Raises:
        UndefinedRuleError: when called, if there is no rule.
        DifferentiationError: when called, if the rule's results do not fit.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.custom_jvp
        ... def log1pexp(x):
        ...     return jnp.log(1.0 + jnp.exp(x))
        >>> @log1pexp.defjvp
        ... def rule(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return log1pexp(x), t * (1.0 - 1.0 / (1.0 + jnp.exp(x)))
        >>> float(tinyjax.grad(log1pexp)(100.0))
        1.0
    """

    kind = "custom_jvp"

    def defjvp(self, jvp: JVPRule[R], symbolic_zeros: bool = False) -> Callable[..., tuple[R, R]]:
        """Set the rule: ``jvp(*nondiff, primals, tangents) -> (result, tangent)``.

        Args:
            jvp: the rule; linear in the tangents, which have dtype float0 for integers.
            symbolic_zeros: whether the rule takes tangents that are known to be zero as
                ``SymbolicZero``. It may return ``SymbolicZero`` too.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> @tinyjax.custom_jvp
            ... def f(x):
            ...     return jnp.abs(x)
            >>> _ = f.defjvp(lambda primals, tangents: (f(*primals), 5.0 * tangents[0]))
            >>> tinyjax.grad(f)(2.0)
            Array(5., dtype=float32, weak_type=True)
        """
        self._set_rule(jvp, symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule per argument: ``jvp(tangent, result, *primals) -> tangent``; None for zero.

        Example:
            >>> import tinyjax
            >>> @tinyjax.custom_jvp
            ... def f(x, y):
            ...     return x * y
            >>> f.defjvps(lambda t, out, x, y: 10.0 * t, None)
            >>> tinyjax.grad(f, (0, 1))(2.0, 3.0)
            (Array(10., dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
        """
        if self.nondiff_argnums:
            raise errors.ArgumentError(
                f"Can't use defjvps with nondiff_argnums, which {self.name} has: "
                "its rules take every argument. Give one rule with defjvp."
            )
        call: Callable[..., Any] = self

        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise errors.DifferentiationError(
                    f"defjvps of {self.name} was given {len(jvps)} rules, but {self.name} was "
                    f"called with {len(primals)} arguments. Give one for each; None for zero."
                )
            out = call(*primals)
            total: Any = tree.map(SymbolicZero.from_primal_value, out)
            for jvp, tangent in zip(jvps, tangents, strict=True):
                if jvp is None or all(isinstance(t, SymbolicZero) for t in tree.leaves(tangent)):
                    continue
                filled = tree.map(
                    lambda t: sh.zero_tangent(t.aval) if isinstance(t, SymbolicZero) else t, tangent
                )
                total = tree.map(_add, total, jvp(filled, out, *primals))
            return out, total

        self._set_rule(rule, symbolic_zeros=True)

    def _call(self, flat: _Application) -> CustomFunctionCall:
        rule = self._rule_by("defjvp")

        def jvp(primals: prim.Arrays, tangents: prim.Tangents) -> prim.JvpResult:
            directions = flat.directions(primals, tangents)
            pair = at_own_lines(rule, *flat.static.values(), flat.arguments(primals), directions)
            out, tangent = _pair(pair, self, rule, "primal and tangent outputs")
            outs = flat.results(out, rule)
            return outs, flat.tangents(tangent, outs, rule)

        return CustomFunctionCall(flat.fun, self.name, jvp, key=id(self), holds=flat.holds)


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, SymbolicZero):
        return b
    if isinstance(b, SymbolicZero):
        return a
    return add_arrays(opd.as_array(a), opd.as_array(b))


class custom_derivative(_Custom[P, R]):  # noqa: N801
    """Give a function a derivative as a linear map, which serves both modes.

    The rule takes the arguments, and returns the result and a linear function of their tangents.
    Forward mode applies that function, and reverse mode its transpose. Function and rule may close
    over traced values; the derivative in those is that of the function's own operations.

    Args:
        fun: takes arrays in any containers, by position, and returns such.
        nondiff_argnums: arguments that may be any Python values, and are not differentiated.
        nondiff_argnames: those arguments, by name.

    Raises:
        UndefinedRuleError: when called, if there is no rule.
        DifferentiationError: when called, if the rule's results do not fit.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.custom_derivative
        ... def exp(x):
        ...     return jnp.exp(x)
        >>> @exp.defderivative
        ... def rule(x):
        ...     y = exp(x)
        ...     return y, lambda t: t * y
        >>> _, tangent = tinyjax.jvp(exp, (0.0,), (2.0,))
        >>> float(tangent), float(tinyjax.grad(tinyjax.grad(exp))(0.0))
        (2.0, 1.0)
    """

    kind = "custom_derivative"

    def defderivative(
        self, rule: Callable[..., tuple[R, Callable[..., object]]], symbolic_zeros: bool = False
    ) -> Callable[..., tuple[R, Callable[..., object]]]:
        """Set the rule: ``rule(*args) -> (result, tangent_map)``.

        Args:
            rule: its ``tangent_map`` takes a tangent for each argument that is not in
                ``nondiff_argnums`` (of dtype float0 for integers), and returns the tangent of the
                result.
            symbolic_zeros: whether ``tangent_map`` takes tangents that are known to be zero as
                ``SymbolicZero``.

        Example:
            >>> import tinyjax
            >>> @tinyjax.custom_derivative
            ... def cube(x):
            ...     return x * x * x
            >>> @cube.defderivative
            ... def rule(x):
            ...     return cube(x), lambda t: 3.0 * x * x * t
            >>> tinyjax.grad(cube)(2.0)
            Array(12., dtype=float32, weak_type=True)
        """
        self._set_rule(rule, symbolic_zeros)
        return rule

    def _call(self, flat: _Application) -> CustomFunctionCall:
        rule = self._rule_by("defderivative")

        def jvp(primals: prim.Arrays, tangents: prim.Tangents) -> prim.JvpResult:
            pair = at_own_lines(rule, *flat.full(primals))
            out, tangent_map = _pair(pair, self, rule, "primal output and tangent map")
            outs = flat.results(out, rule)
            tangent = at_own_lines(tangent_map, *flat.directions(primals, tangents))
            return outs, flat.tangents(tangent, outs, rule)

        return CustomFunctionCall(flat.fun, self.name, jvp, key=id(self), holds=flat.holds)


def _residuals(
    saved: Any, fwd: Callable[..., Any]
) -> tuple[list[Array], list[Any], tree.PyTreeDef]:
    """Return the arrays that a forward rule saves, what comes as it is, and the tree of both."""
    leaves, saved_tree = tree.flatten(saved)
    # numbers come as they are: a rule may ask Python about them; references, too
    plain = {*opd.PYTHON_NUMBERS, WholeNumber, *calling.HOLDERS}
    numbers = [x if type(x) in plain else None for x in leaves]
    residuals = [
        x if isinstance(x, Array) else _convert(x, fwd)
        for x, number in zip(leaves, numbers, strict=True)
        if number is None
    ]
    return residuals, numbers, saved_tree


class custom_vjp(_Custom[P, R]):  # noqa: N801
    """Give a function a rule for its derivative in reverse mode.

    Args:
        fun: takes arrays in any containers, by position, and returns such.
        nondiff_argnums: arguments that may be any Python values, and are not differentiated; the
            backward rule takes them first.
        nondiff_argnames: those arguments, by name.

    Raises:
        UndefinedRuleError: when called, if there is no rule.
        DifferentiationError: when called, if the rule's results do not fit; or if a derivative in
            forward mode is taken, for which you need ``custom_jvp`` or ``custom_derivative``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.custom_vjp
        ... def clip_gradient(x):
        ...     return x
        >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))
        >>> float(tinyjax.grad(lambda x: 10.0 * clip_gradient(x))(2.0))
        1.0
    """

    kind = "custom_vjp"
    passes_state = True
    bwd: Callable[..., Any]
    logs: bool = False

    # By place, the function's arguments are told by its calls, not by its class.
    @overload
    def defvjp(
        self: Callable[[*Ts], R],
        fwd: Callable[[*Ts], tuple[R, S]],
        bwd: BackwardRule[S, R],
        symbolic_zeros: Literal[False] = ...,
        optimize_remat: bool = ...,
    ) -> None: ...
    @overload
    def defvjp(
        self: _AnyFunction[R],
        fwd: Function[tuple[R, S]],
        bwd: BackwardRule[S, R],
        symbolic_zeros: Literal[False] = ...,
        optimize_remat: bool = ...,
    ) -> None: ...
    @overload
    def defvjp(
        self,
        fwd: Function[tuple[R, S]],
        bwd: BackwardRule[S, R],
        symbolic_zeros: bool,
        optimize_remat: bool = ...,
    ) -> None: ...
    def defvjp(
        self,
        fwd: Function[tuple[R, S]],
        bwd: BackwardRule[S, R],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule.

        Args:
            fwd: takes the arguments and returns ``(result, residuals)``. The residuals are a tree
                of the arrays and Python numbers that the backward rule needs.
            bwd: ``bwd(*nondiff, residuals, cotangent)`` returns a tuple with a cotangent for each
                differentiated argument; None stands for zero, at any depth. If it closes over a
                traced value it is staged, and its Python control flow cannot depend on data.
            symbolic_zeros: whether ``fwd`` takes a ``CustomVJPPrimal`` for each array, which says
                whether a derivative is taken in it, and ``bwd`` takes cotangents that are known to
                be zero as ``SymbolicZero``. ``bwd`` may return ``SymbolicZero`` too.
            optimize_remat: has no effect: under ``checkpoint`` only what the derivative needs is
                computed again.

        Example:
            >>> import tinyjax
            >>> @tinyjax.custom_vjp
            ... def f(x):
            ...     return x * x
            >>> f.defvjp(lambda x: (f(x), x), lambda x, ct: (10.0 * x * ct,))
            >>> tinyjax.grad(f)(3.0)
            Array(30., dtype=float32, weak_type=True)
        """
        self._set_rule(fwd, symbolic_zeros)
        self.bwd = bwd
        self.logs = False

    def defvjp_with_logs(
        self,
        fwd: Function[tuple[R, Any]],
        bwd: Callable[..., tuple[Any, dict[str, Any] | None]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set a rule that also logs something of the backward pass.

        ``pull_back.with_logs(cotangent)`` returns the gradients, and a dict of what all rules
        logged. A pull-back that is called itself drops it, and so does ``grad``. Logs come out of
        ``jit`` and ``checkpoint`` as they are, and with an axis in front out of ``vmap`` and, of
        the size of its length, out of ``scan``. A branch that is not taken logs zeros under
        ``jit``, and nothing otherwise; where examples take different branches, what the others log
        means nothing.

        Args:
            fwd: as for ``defvjp``.
            bwd: returns a pair: the tuple of cotangents, as for ``defvjp``, and a dict from names
                to trees of arrays, or None.
            symbolic_zeros: as for ``defvjp``.
            optimize_remat: has no effect.

        Raises:
            DifferentiationError: when a derivative is taken, if what ``bwd`` returns does not fit.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> @tinyjax.custom_vjp
            ... def clip_gradient(x):
            ...     return x
            >>> clip_gradient.defvjp_with_logs(
            ...     lambda x: (x, None), lambda _, ct: ((jnp.clip(ct, -1.0, 1.0),), {"before": ct})
            ... )
            >>> _, pull_back = tinyjax.vjp(lambda x: 10.0 * clip_gradient(x), 2.0)
            >>> (gradient,), logs = pull_back.with_logs(1.0)
            >>> float(gradient), float(logs["before"])
            (1.0, 10.0)
        """
        self._set_rule(fwd, symbolic_zeros)
        self.bwd = bwd
        self.logs = True

    def _forward(
        self, flat: _Application, primals: prim.Arrays, tangents: prim.Tangents
    ) -> tuple[list[Array], Any]:
        """Apply the forward rule; return its results, and what it saves for the backward rule."""
        fwd = self._rule_by("defvjp")
        operands: Sequence[Any] = primals
        if self.symbolic_zeros:
            operands = [
                CustomVJPPrimal(p, t is not prim.ZERO)
                for p, t in zip(primals, tangents, strict=True)
            ]
        pair = at_own_lines(fwd, *flat.full(operands))
        out, saved = _pair(pair, self, fwd, "primal output and residuals")
        return flat.results(out, fwd), saved

    def _call(self, flat: _Application) -> CustomFunctionCall:
        fwd, bwd = self._rule_by("defvjp"), self.bwd

        state = flat.state

        def jvp(primals: prim.Arrays, tangents: prim.Tangents) -> prim.JvpResult:
            final_contents: Sequence[Array] = ()
            of_contents: prim.Tangents = ()
            of_states: Sequence[Array] = ()
            if state is None:
                outs, saved = self._forward(flat, primals, tangents)
            else:
                primals, states, contents = state.split(primals)
                tangents, pushed, of_contents = state.split(tangents)
                (outs, saved), after = state.run(
                    lambda: self._forward(flat, primals, tangents), states, contents
                )
                final_contents = [*states, *after]
                of_states = instantiate_all(pushed, state.avals)
            residuals, numbers, saved_tree = _residuals(saved, fwd)
            logs = custom_calls.LogTree() if self.logs else None
            pull_back: custom_calls.Backward = _backward(
                flat, bwd, (saved_tree, numbers), primals, outs, logs
            )
            has_tangent = [is_inexact(out.dtype) for out in outs]
            if closures.holds_tracer((bwd, *flat.static.values())):
                # which may be gone when the rule is applied
                pull_back, consts = _closed(
                    pull_back,
                    [x.aval for x in residuals],
                    [x.aval for x in (*outs, *of_states)],
                )
                residuals += consts
            avals = [p.aval for p in primals]
            marks = [is_inexact(aval.dtype) for aval in avals]
            linear = [*prim.marked(instantiate_all(tangents, avals), marks), *of_states]
            out_avals = [out.aval for out in prim.marked(outs, has_tangent)]
            params = custom_calls.PullBackParams(
                pull_back,
                len(residuals),
                (*out_avals, *[x.aval for x in of_states]),
                describe_function(self.fun),
                logs,
                len(of_states),
                not self.symbolic_zeros,
            )
            tangents_out = bind(custom_calls.custom_vjp_tangent_p, (*residuals, *linear), params)
            n = len(out_avals)
            of_outs = prim.with_zeros(has_tangent, tangents_out[:n])
            return [*outs, *final_contents], [*of_outs, *tangents_out[n:], *of_contents]

        return CustomFunctionCall(
            flat.fun, self.name, jvp, key=id(self), holds=flat.holds, reverse=True
        )


def _backward(
    flat: _Application,
    bwd: Callable[..., Any],
    saved: tuple[tree.PyTreeDef, Sequence[Any]],
    primals: Sequence[Array],
    outs: Sequence[Array],
    log_tree: custom_calls.LogTree | None,
) -> custom_calls.Backward:
    """Return the backward rule on arrays: of what is differentiable only, on either side, and logs.

    What was saved comes as the tree of it and its numbers, None standing for arrays.
    """
    in_avals, out_avals = [x.aval for x in primals], [x.aval for x in outs]
    in_tree, out_tree = flat.in_tree, flat.out_tree
    # of the call no more is kept than needed: it may hold tracers
    static, name, state = tuple(flat.static.values()), flat.custom.name, flat.state
    symbolic = flat.custom.symbolic_zeros
    saved_tree, numbers = saved
    assert out_tree is not None, "the result has been flattened"

    count = sum(is_inexact(a.dtype) for a in out_avals)

    def pull_back(residuals: Sequence[Array], cotangents: prim.Tangents) -> list[prim.Tangent]:
        if state is None:
            own, logged = pull_back_results(residuals, cotangents)
            return [*own, *logged]
        cotangents, of_states = cotangents[:count], cotangents[count:]
        (own, logged), after = state.run_backward(
            lambda: pull_back_results(residuals, cotangents), of_states, name
        )
        return [*own, *after, *logged]

    def pull_back_results(
        residuals: Sequence[Array], cotangents: prim.Tangents
    ) -> tuple[list[prim.Tangent], Sequence[Array]]:
        marks = [is_inexact(a.dtype) for a in out_avals]
        of_results = [
            _filled(a, ct, symbolic)
            for a, ct in zip(out_avals, prim.fill_list(marks, cotangents, prim.ZERO), strict=True)
        ]
        arrays = iter(residuals)
        leaves = [next(arrays) if number is None else number for number in numbers]
        operands = tree.unflatten(saved_tree, leaves), tree.unflatten(out_tree, of_results)
        with dtypes.beside(in_avals):
            of_arguments = at_own_lines(bwd, *static, *operands)
        logged: Sequence[Array] = ()
        if log_tree is not None:
            of_arguments, logged = log_tree.split(of_arguments, bwd)
        leaves = _cotangent_leaves(of_arguments, in_tree, bwd, name)
        cotangents_in = [
            prim.ZERO
            if leaf is None
            else _fit(leaf, aval, bwd, f"cotangent{calling.leaf_path('', in_tree, i)}")
            for i, (leaf, aval) in enumerate(zip(leaves, in_avals, strict=True))
            if is_inexact(aval.dtype)
        ]
        return cotangents_in, logged

    return pull_back


def _closed(
    pull_back: custom_calls.Backward,
    residuals: Sequence[av.ShapedArray],
    outs: Sequence[av.ShapedArray],
) -> tuple[custom_calls.Backward, Sequence[Array]]:
    """Stage a backward rule; return it with its closed-over values as more residuals."""
    cotangents = [a.cotangent() for a in outs if is_inexact(a.dtype)]
    count = len(residuals)
    run, nonzero_out = prim.only_present(lambda *xs: pull_back(xs[:count], xs[count:]))
    staged = staging.stage(run, [*residuals, *cotangents])
    jaxpr = staged.jaxpr  # the rule outlives the trace, whose tracers it must not hold

    def closed(values: Sequence[Array], cts: prim.Tangents) -> list[prim.Tangent]:
        own, consts = values[:count], values[count:]
        filled = [_filled(a, ct) for a, ct in zip(cotangents, cts, strict=True)]
        return prim.with_zeros(nonzero_out, jx.eval_jaxpr(jaxpr, [*consts, *own, *filled]))

    return closed, staged.consts


def _cotangent_leaves(
    result: Any, in_tree: tree.PyTreeDef, bwd: Callable[..., Any], name: str
) -> list[Any]:
    """One cotangent per array among the arguments; None where it is zero."""
    if isinstance(result, list):
        result = tuple(result)
    try:
        leaves = tree.flatten_prefix(result, in_tree, _is_none, "cotangents")
        own_leaves = [x for x in tree.leaves(result, _is_none) if x is not None]
        if isinstance(result, tuple) and len(own_leaves) == sum(x is not None for x in leaves):
            return leaves
        reason = f"it returned {in_words(tree.structure(result))}."
    except tree.TreeMismatchError as error:
        reason = error.message
    raise errors.DifferentiationError(
        f"Custom VJP bwd rule {describe_function(bwd)} for function {name} must produce a tuple "
        "with a cotangent for each differentiated argument, the same container (pytree) structure "
        f"as theirs, {in_words(in_tree)} (None for zero): {reason}"
    )


def _is_none(x: object) -> bool:
    return x is None


def custom_gradient(fun: Callable[P, tuple[R, Callable[..., Any]]]) -> custom_vjp[P, R]:
    """Make a function from one that returns its value and its pull-back.

    Args:
        fun: returns ``(result, pull_back)``. ``pull_back`` takes the result's cotangent and
            returns the argument's, or a tuple for several arguments. It may close over values that
            ``fun`` computes.

    Returns:
        A function that returns the result alone, and whose derivative is ``pull_back``.

    Example:
        >>> import tinyjax
        >>> @tinyjax.custom_gradient
        ... def f(x):
        ...     return x**2, lambda ct: ct * x
        >>> float(f(3.0)), float(tinyjax.grad(f)(3.0))
        (9.0, 3.0)
    """

    @wraps(fun)
    def value(*args: P.args, **kwargs: P.kwargs) -> R:
        return fun(*args, **kwargs)[0]

    def fwd(*args: Any) -> tuple[R, Any]:
        call: Callable[..., tuple[R, Callable[..., Any]]] = fun
        out, pull_back = call(*args)
        leaves, out_tree = tree.flatten(out)
        flat = calling.FlatFunction(pull_back, tree.structure(((out,), {})))
        staged = staging.stage(flat, [opd.as_array(x).aval for x in leaves], pull_back)
        return out, tree.Partial(_PullBack(staged.jaxpr, out_tree, flat.out_tree), *staged.consts)

    def bwd(pull_back: Any, cotangent: Any) -> tuple[Any, ...]:
        cotangents = pull_back(cotangent)
        return cotangents if isinstance(cotangents, tuple) else (cotangents,)

    custom = custom_vjp(value)
    custom.defvjp(fwd, bwd)
    return custom


@attrs.frozen
class _PullBack:
    """The staged pull-back that a ``custom_gradient`` function returned beside its value."""

    jaxpr: jx.Jaxpr
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef

    def __call__(self, *args: Any) -> Any:
        *consts, cotangent = args
        leaves = self.in_tree.flatten_up_to(cotangent, "cotangent")
        return self.out_tree.unflatten(
            jx.eval_jaxpr(self.jaxpr, [*consts, *map(opd.as_array, leaves)])
        )


class custom_batch(_Custom[P, R]):  # noqa: N801
    """Give a function a rule for ``vmap``.

    The rule applies if an argument is mapped. Under ``jvp`` it is differentiated, inside the
    ``vmap`` or around it. In reverse mode, a derivative taken inside the ``vmap`` is that of the
    function's own operations. If only values are mapped that the function closes over, or that it
    is given references to, its own operations are batched.

    Args:
        fun: takes arrays, and references to such, in any containers, by position, and returns
            arrays in any containers.

    Raises:
        ArgumentError: when called under ``vmap``, if the rule's result does not fit. Also if the
            rule closes over, or is given a reference to, a value that the same ``vmap`` maps, or
            that a ``jit`` or a loop between them traces.
        UndefinedRuleError: when called, if there is no rule.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.custom_batch
        ... def total(x):
        ...     return jnp.sum(x)
        >>> @total.def_vmap
        ... def rule(axis_size, in_batched, x):
        ...     return jnp.sum(x, axis=1), True
        >>> tinyjax.vmap(total)(jnp.ones((2, 3)))
        Array([3., 3.], dtype=float32)
    """

    kind = "custom_vmap"
    is_called_directly = False

    def __init__(self, fun: Callable[P, R]) -> None:
        super().__init__(fun)

    def def_vmap(self, rule: F) -> F:
        """Set the rule: ``rule(axis_size, in_batched, *args) -> (result, out_batched)``.

        Args:
            rule: takes the mapped arguments with the mapped axis in front; ``in_batched`` has the
                arguments' structure and says which are mapped. ``out_batched`` has the result's
                structure, or is one bool for all of it.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> @tinyjax.custom_batch
            ... def double(x):
            ...     return 2 * x
            >>> @double.def_vmap
            ... def rule(axis_size, in_batched, x):
            ...     return 2 * x + axis_size, True
            >>> tinyjax.vmap(double)(jnp.zeros(3))
            Array([3., 3., 3.], dtype=float32)
        """
        self._set_rule(rule)
        return rule

    def _call(self, flat: _Application) -> CustomFunctionCall:
        rule = self._rule_by("def_vmap")

        def batch(
            mapped: prim.MappedAxis, args: Sequence[Array], batched: Sequence[bool]
        ) -> tuple[Sequence[Array], Sequence[bool]]:
            in_batched = list(tree.unflatten(flat.in_tree, batched))
            arguments = tree.unflatten(flat.in_tree, flat.with_refs(args))
            result = at_own_lines(rule, mapped.size, in_batched, *arguments)
            out, out_batched = _pair(result, self, rule, "output values and batching specification")
            outs = flat.results(out, rule, batched=True)
            assert flat.out_tree is not None, "the result has been flattened"
            try:
                flags = tree.flatten_prefix(out_batched, flat.out_tree, None, "out_batched")
            except tree.TreeMismatchError as error:
                name = getattr(rule, "__name__", type(rule).__name__)
                raise errors.ArgumentError(
                    "structure of output value and output batching specification returned by "
                    f"custom vmap rule ({name}) do not match: {error.message}"
                ) from None
            for i, (x, flag) in enumerate(zip(outs, flags, strict=True)):
                if not isinstance(flag, bool) or (flag and x.shape[:1] != (mapped.size,)):
                    path = calling.leaf_path("result", flat.out_tree, i)
                    raise errors.ArgumentError(
                        f"{describe_function(rule)}, the vmap rule of {self.name}, says "
                        f"{flag!r} of {path}, of type {x.aval}. Say True where the first axis is "
                        f"the mapped one, of size {mapped.size}, and False where there is none."
                    )
            return outs, flags

        return CustomFunctionCall(
            flat.fun,
            self.name,
            batch=batch,
            key=id(self),
            holds=flat.holds,
            batch_rule=(rule, flat.contents),
        )

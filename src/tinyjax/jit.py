"""``jit``: staging a function once per signature, and compiling it once per program.

``jit`` is a higher-order primitive whose parameter is a jaxpr, so every transformation has a rule
for it: the rule transforms the jaxpr and binds the primitive again. Evaluating it compiles through
XLA. A call looks up its signature (the structure and types of its arguments, the values of static
ones, the settings); a signature seen before runs the compiled program at once.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from functools import update_wrapper
from types import MethodType
from typing import Any, Final, Generic, ParamSpec, TypeVar, overload

import attrs
from numpy import ndarray

from tinyjax import tree, xla
from tinyjax.config import settings
from tinyjax.core.array import Array, ConcreteArray, as_array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.calling import FlatFunction, as_arrays, as_avals
from tinyjax.core.checking import checked
from tinyjax.core.jaxpr import Jaxpr, Var
from tinyjax.core.primitive import ZERO, MappedAxis, Params, Primitive, Tangent
from tinyjax.core.stablehlo import Lowering, module_text
from tinyjax.core.staging import Staged, stage
from tinyjax.core.trace import EVAL, Tracer, bind, check_concrete, current_trace
from tinyjax.errors import ArgumentError, StaticArgumentError
from tinyjax.frames import describe_function
from tinyjax.primitives.families import add_arrays
from tinyjax.transforms.batching import batch_jaxpr, enclosing_axes
from tinyjax.transforms.jvp import jvp_jaxpr
from tinyjax.transforms.linearize import linearize_jaxpr
from tinyjax.transforms.rematerialize import CALLED
from tinyjax.transforms.transpose import transpose_jaxpr
from tinyjax.tree import PyTreeDef

P = ParamSpec("P")
R = TypeVar("R")

_MOST_SIGNATURES: Final = 4096


@attrs.frozen(repr=False)
class JitParams(Params):
    """A program to be compiled as a unit.

    Attributes:
        jaxpr: the program.
        name: the function's name; programs that differ in name only are the same.
        donated: the parameters whose memory may be reused.
    """

    jaxpr: Jaxpr
    name: str = attrs.field(default="f", eq=False)
    donated: tuple[int, ...] = ()


jit_p: Primitive[JitParams] = Primitive("jit", JitParams)


@jit_p.def_evaluate
def _jit_evaluate(args: Sequence[Array], params: JitParams) -> Sequence[Array]:
    return xla.executable_for(params.jaxpr, params.name, params.donated)(args)


@jit_p.def_abstract_eval
def _jit_type(avals: Sequence[ShapedArray], params: JitParams) -> Sequence[ShapedArray]:
    expected = params.jaxpr.in_avals
    if len(avals) != len(expected) or any(
        a.shape != b.shape or a.dtype != b.dtype for a, b in zip(avals, expected, strict=True)
    ):
        raise ArgumentError(
            f"a compiled program of type {params.jaxpr.type} was applied to "
            f"({', '.join(map(str, avals))})."
        )
    return params.jaxpr.out_avals


@jit_p.def_lowering
def _jit_lowering(lowering: Lowering, operands: Sequence[str], params: JitParams) -> Sequence[str]:
    return lowering.call(params.jaxpr, params.name, operands)


@jit_p.def_rule(CALLED)
def _jit_called(params: JitParams, jaxpr: Jaxpr) -> JitParams:
    return JitParams(jaxpr, params.name)


def _bind_jit(staged: Staged, name: str, args: Sequence[Array]) -> Sequence[Array]:
    return bind(jit_p, (*staged.consts, *args), JitParams(staged.jaxpr, name))


@jit_p.def_jvp
def _jit_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: JitParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    nonzero = tuple(t is not ZERO for t in tangents)
    staged, nonzero_out = jvp_jaxpr(params.jaxpr, nonzero)
    outs = _bind_jit(staged, params.name, (*primals, *(t for t in tangents if t is not ZERO)))
    n = len(nonzero_out)
    rest = iter(outs[n:])
    return outs[:n], [next(rest) if has else ZERO for has in nonzero_out]


@jit_p.def_linearize
def _jit_linearize(
    primals: Sequence[Array], nonzero: Sequence[bool], params: JitParams
) -> tuple[Sequence[Array], Sequence[bool], Callable[[Sequence[Array]], Sequence[Array]]]:
    linearized = linearize_jaxpr(params.jaxpr, tuple(nonzero))
    outs = _bind_jit(linearized.primal, params.name, primals)
    n = len(linearized.nonzero_out)
    residuals = linearized.residuals(primals, outs[n:])

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        return bind(jit_p, (*residuals, *tangents), JitParams(linearized.tangent, params.name))

    return outs[:n], linearized.nonzero_out, tangent_map


@jit_p.def_transpose
def _jit_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: JitParams
) -> Sequence[Tangent | None]:
    linear = tuple(isinstance(x, Var) for x in operands)
    nonzero = tuple(ct is not ZERO for ct in cotangents)
    transposed = transpose_jaxpr(params.jaxpr, linear, nonzero, add_arrays)
    known = [x for x in operands if not isinstance(x, Var)]
    outs = _bind_jit(
        transposed.staged, params.name, (*known, *(ct for ct in cotangents if ct is not ZERO))
    )
    rest = iter(outs)
    results = iter([next(rest) if has else ZERO for has in transposed.nonzero_out])
    return [next(results) if is_linear else None for is_linear in linear]


@jit_p.def_batch
def _jit_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: JitParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    staged, out_axes = batch_jaxpr(params.jaxpr, mapped, tuple(axes))
    return _bind_jit(staged, params.name, values), out_axes


# The public transformation


class Entry:
    """One signature of a jitted function: its program, and how to run it."""

    __slots__ = ("consts", "executable", "out_tree", "params", "settings")

    def __init__(self, params: JitParams, consts: tuple[Array, ...], out_tree: PyTreeDef) -> None:
        self.params = params
        self.consts = consts
        self.out_tree = out_tree
        self.settings = settings()
        self.executable: xla.Executable | None = None

    def run(self, operands: Sequence[Array]) -> Any:
        """Run the compiled program, compiling it the first time."""
        executable = self.executable
        if executable is None:
            params = self.params
            executable = xla.executable_for(params.jaxpr, params.name, params.donated)
            self.executable = executable
        outs = executable(operands)
        return outs[0] if self.out_tree is tree.LEAF else tree.unflatten(self.out_tree, outs)


class Lowered:
    """A function lowered to StableHLO for one signature, before it is compiled."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    @property
    def jaxpr(self) -> Jaxpr:
        """The program; arrays that the function closed over are its first parameters."""
        return self._entry.params.jaxpr

    def as_text(self) -> str:
        """The StableHLO module."""
        params = self._entry.params
        aliases = xla.match_donations(params.jaxpr, params.donated)
        return module_text(params.jaxpr, params.name, aliases)

    def compile(self) -> Compiled:
        """Compile it."""
        return Compiled(self._entry)


class Compiled:
    """A function compiled for one signature."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        params = entry.params
        self._executable = xla.executable_for(params.jaxpr, params.name, params.donated)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it on arguments of the types it was compiled for; static arguments are left out."""
        leaves, in_tree = tree.flatten((args, kwargs))
        arrays = as_arrays(leaves, self.__call__, in_tree)
        check_concrete(arrays)
        consts = self._entry.consts
        expected = self._executable.in_avals[len(consts) :]
        given = [a.aval for a in arrays]
        if [(a.shape, a.dtype) for a in given] != [(a.shape, a.dtype) for a in expected]:
            raise ArgumentError(
                f"this function was compiled for ({', '.join(map(str, expected))}), but was "
                "called with "
                f"({', '.join(map(str, given))})."
            )
        return tree.unflatten(self._entry.out_tree, self._executable((*consts, *arrays)))

    def as_text(self) -> str:
        """The optimised HLO."""
        return self._executable.loaded.get_hlo_text()

    def cost_analysis(self) -> dict[str, object]:
        """XLA's estimate of work: floating-point operations, bytes accessed, and more."""
        return dict(self._executable.loaded.cost_analysis())

    def memory_analysis(self) -> Any:
        """XLA's account of memory: of arguments, results, temporaries and code, in bytes."""
        return self._executable.loaded.get_compiled_memory_stats()


class JitFunction(Generic[P, R]):
    """A function that is compiled when called; made by ``jit``."""

    __name__: str
    __wrapped__: Callable[P, R]

    def __init__(
        self,
        fun: Callable[P, R],
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        donate_argnums: tuple[int, ...],
        donate_argnames: tuple[str, ...],
    ) -> None:
        update_wrapper(self, fun)
        self._fun = fun
        self._name = getattr(fun, "__name__", type(fun).__name__)
        self._static_argnums = static_argnums
        self._static_argnames = static_argnames
        self._donate_argnums = donate_argnums
        self._donate_argnames = donate_argnames
        self._plain = not (static_argnums or static_argnames)
        self._donates = bool(donate_argnums or donate_argnames)
        self._entries: OrderedDict[Any, Entry] = OrderedDict()
        self._fast: dict[tuple[ShapedArray, ...], Entry] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs and self._plain and current_trace() is EVAL:
            # Only arrays: 1 us above the execution itself, where the general way takes 5 us.
            operands: list[Array] = []
            avals: list[ShapedArray] = []
            for arg in args:
                array = arg
                if type(arg) is ndarray:
                    array = as_array(arg)
                if type(array) is not ConcreteArray:
                    break
                aval = array._aval
                operands.append(array)
                avals.append(array.aval if aval is None else aval)
            else:
                entry = self._fast.get(tuple(avals))
                if entry is not None and entry.settings is settings():
                    found: R = entry.run([*entry.consts, *operands] if entry.consts else operands)
                    return found
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        if self._plain:
            leaves, in_tree = tree.flatten((args, kwargs))
            static: Any = None
        else:
            leaves, in_tree, static = self._split_static(args, kwargs)
        arrays = as_arrays(leaves, self._fun, in_tree, _positions(static))
        key = (in_tree, tuple([x.aval for x in arrays]), static, settings(), enclosing_axes())
        entry = self._entries.get(key)
        if entry is None:
            entry = self._trace(key, in_tree, static)
        trace = current_trace()
        operands = (*entry.consts, *arrays)
        if trace is EVAL:
            check_concrete(operands)
            if (
                key in self._entries
                and self._plain
                and not kwargs
                and all(type(x) in (ConcreteArray, ndarray) for x in args)
            ):
                self._fast[key[1]] = entry
            evaluated: R = entry.run(operands)
            return evaluated
        outs = trace.process(jit_p, operands, entry.params)
        result: R = tree.unflatten(entry.out_tree, outs)
        return result

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]:
        """Bind as a method does, so that methods can be jitted."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {describe_function(self._fun)}>"

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Stage and lower the function for these arguments without running it.

        Args:
            args: as in a call; a ``ShapeDtypeStruct`` may stand for an array.
            kwargs: likewise.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> lowered = tinyjax.jit(jnp.sin).lower(1.0)
            >>> "stablehlo.sine" in lowered.as_text()
            True
        """
        leaves, in_tree, static = self._split_static(args, kwargs)
        avals = as_avals(leaves, self._fun, in_tree, _positions(static))
        key = (in_tree, tuple(avals), static, settings(), enclosing_axes())
        return Lowered(self._entries.get(key) or self._trace(key, in_tree, static))

    def clear_cache(self) -> None:
        """Forget every signature; compiled programs stay in the process-wide cache."""
        self._entries.clear()
        self._fast.clear()

    def _trace(self, key: Any, in_tree: PyTreeDef, static: Any) -> Entry:
        fun: Callable[..., Any] = self._fun
        if static is not None:
            fun = _with_static(fun, *static)
        flat = FlatFunction(fun, in_tree, user_fun=self._fun)
        staged = stage(flat, key[1], self._fun)
        donated: tuple[int, ...] = ()
        if self._donates:
            donated = self._donated_leaves(in_tree, len(staged.consts), _positions(static))
        params = JitParams(staged.jaxpr, self._name, donated)
        entry = Entry(params, staged.consts, flat.out_tree)
        # A closed-over tracer is good for this call only: the next call must trace again.
        if not any(isinstance(c, Tracer) for c in staged.consts):
            self._entries[key] = entry
            if len(self._entries) > _MOST_SIGNATURES:
                self._entries.popitem(last=False)
                self._fast.clear()
        return entry

    def _split_static(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], PyTreeDef, Any]:
        """Take the static arguments out; what is left is flattened."""
        if self._plain:
            leaves, in_tree = tree.flatten((args, kwargs))
            return leaves, in_tree, None
        nums, names = self._static_places(len(args))
        static_args = tuple((i, self._check_static(args[i], f"argument {i}")) for i in nums)
        static_kwargs = tuple(
            (name, self._check_static(kwargs[name], f"'{name}'"))
            for name in names
            if name in kwargs
        )
        dynamic_args = tuple(a for i, a in enumerate(args) if i not in nums)
        dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in names}
        leaves, in_tree = tree.flatten((dynamic_args, dynamic_kwargs))
        # equal values of different types, such as 1 and True, are different programs
        static = (_Static(static_args), _Static(static_kwargs))
        return leaves, in_tree, static

    def _static_places(self, num_args: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        parameters = self._positional_names()
        for i in self._static_argnums:
            if not -num_args <= i < num_args and i >= len(parameters) and not self._variadic():
                raise StaticArgumentError(
                    f"static_argnums names argument {i}, but {describe_function(self._fun)} takes "
                    f"{len(parameters)} positional arguments."
                )
        nums = {i + num_args if i < 0 else i for i in self._static_argnums}
        names = set(self._static_argnames)
        names.update(parameters[i] for i in nums if 0 <= i < len(parameters))
        nums.update(i for i, name in enumerate(parameters) if name in self._static_argnames)
        return tuple(sorted(i for i in nums if i < num_args)), tuple(sorted(names))

    def _positional_names(self) -> list[str]:
        try:
            parameters = inspect.signature(self._fun).parameters.values()
        except (TypeError, ValueError):
            return []
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [p.name for p in parameters if p.kind in kinds]

    def _variadic(self) -> bool:
        try:
            parameters = inspect.signature(self._fun).parameters.values()
        except (TypeError, ValueError):
            return True
        return any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)

    def _check_static(self, value: Any, place: str) -> Any:
        if isinstance(value, Array):
            raise StaticArgumentError(
                f"static {place} of {describe_function(self._fun)} is an array of type "
                f"{value.aval}. A "
                "static argument is compared by value at every call: leave arrays out of "
                "static_argnums, or pass a Python number."
            )
        try:
            hash(value)
        except TypeError:
            raise StaticArgumentError(
                f"static {place} of {describe_function(self._fun)} is of type "
                f"{type(value).__name__}, "
                "which is not hashable. Pass a tuple instead of a list, or a frozen class."
            ) from None
        return value

    def _donated_leaves(
        self, in_tree: PyTreeDef, num_consts: int, static: Collection[int]
    ) -> tuple[int, ...]:
        numbered_args, numbered_kwargs = tree.unflatten(in_tree, range(in_tree.num_leaves))
        names = self._positional_names()
        total = len(numbered_args) + len(static)
        donated = {i + total if i < 0 else i for i in self._donate_argnums}
        dynamic = [i for i in range(total) if i not in static]
        wanted: list[int] = []
        for i, value in zip(dynamic, numbered_args, strict=True):
            name = names[i] if i < len(names) else None
            if i in donated or name in self._donate_argnames:
                wanted += tree.leaves(value)
        for name, value in numbered_kwargs.items():
            position = names.index(name) if name in names else None
            if name in self._donate_argnames or position in donated:
                wanted += tree.leaves(value)
        return tuple(num_consts + i for i in sorted(wanted))


@attrs.frozen(eq=False)
class _Static:
    """Static arguments as a key: equal where values and types are, and 0.0 is not -0.0."""

    items: tuple[tuple[Any, Any], ...]

    def __hash__(self) -> int:
        return hash(self.items)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Static)
            and self.items == other.items
            and all(
                type(a) is type(b) and (type(a) is not float or str(a) == str(b))
                for (_, a), (_, b) in zip(self.items, other.items, strict=True)
            )
        )


def _positions(static: tuple[_Static, _Static] | None) -> tuple[int, ...]:
    """Which positional arguments are static."""
    return () if static is None else tuple([i for i, _ in static[0].items])


def _with_static(fun: Callable[..., Any], args: _Static, kwargs: _Static) -> Callable[..., Any]:
    """The function of the dynamic arguments alone."""

    def call(*dynamic: Any, **dynamic_kwargs: Any) -> Any:
        rest = iter(dynamic)
        static = dict(args.items)
        total = len(dynamic) + len(static)
        full = [static[i] if i in static else next(rest) for i in range(total)]
        return fun(*full, **dict(kwargs.items), **dynamic_kwargs)

    return call


@overload
def jit(
    fun: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    donate_argnames: str | Sequence[str] = ...,
) -> JitFunction[P, R]: ...
@overload
def jit(
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    donate_argnames: str | Sequence[str] = ...,
) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...
@checked
def jit(
    fun: Callable[P, R] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
) -> JitFunction[P, R] | Callable[[Callable[P, R]], JitFunction[P, R]]:
    """Compile a function with XLA.

    The function is run once per signature on tracers, to record the program it stands for; later
    calls run the compiled program. It must not depend on anything but its arguments and the arrays
    it closes over, and Python control flow in it may depend on static arguments only.

    Args:
        fun: takes and returns arrays in any containers. Without it, a decorator is returned.
        static_argnums: positional arguments that are not arrays: hashable Python values, for each
            of which the function is compiled anew.
        static_argnames: the same by name.
        donate_argnums: positional arguments that the caller gives up: their memory may hold the
            results, and the arrays passed cannot be used afterwards.
        donate_argnames: the same by name.

    Returns:
        A function of the same signature, with ``lower(*args)`` to look at the program.

    Raises:
        ConcretizationError: when called, if the function needs the data of an argument.
        StaticArgumentError: when called, if a static argument is an array or not hashable.
        ArgumentError: ``fun`` is not callable.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def selu(x):
        ...     return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)
        >>> selu(jnp.array([1.0, 2.0]))
        Array([1.05, 2.1 ], dtype=float32)
    """
    if fun is None:

        def decorate(fun: Callable[P, R]) -> JitFunction[P, R]:
            return jit(
                fun,
                static_argnums=static_argnums,
                static_argnames=static_argnames,
                donate_argnums=donate_argnums,
                donate_argnames=donate_argnames,
            )

        return decorate
    return JitFunction(
        fun,
        (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums),
        (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames),
        (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums),
        (donate_argnames,) if isinstance(donate_argnames, str) else tuple(donate_argnames),
    )

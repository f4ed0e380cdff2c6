"""The keys by which a call of a jitted function finds its program: its signature, and the function.

Calls with equal signatures run one program. A signature holds everything that a program can depend
on: the structure and the types of the arguments, the values of static ones, the settings, and the
named axes around the call.

Programs are cached by function, for all objects that ``jit`` makes of it. ``jit(f)(x)`` in a loop
makes a new object in each round, and so do libraries that call ``jit`` where they need it. The
function is the same, so its programs are found again. As in JAX, values that a function reads
besides its arguments are read when it is traced, and not again for another ``jit``.

A function is remembered as long as it lives. Functions are compared by identity. So are other
callable objects, unless they define equality themselves: these are not shared. Methods of one
object are equal to Python, but each access makes a new one, which seldom outlives the ``jit`` that
it was made for.
"""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from operator import attrgetter, is_
from types import FunctionType, MethodType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, Protocol, Self, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import attrs
from numpy import ndarray

from tinyjax import config, errors, tree
from tinyjax._base import forks, frames, lazy, records, tracebacks
from tinyjax.config import Process, local_settings
from tinyjax.core import devices, xla
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray, any_placed
from tinyjax.core.xla.compilation import Flags
from tinyjax.dtypes import DType, HostArray, allowed

if TYPE_CHECKING:
    from tinyjax.core.jit.program import JitParams
    from tinyjax.core.tracing import staging

P = ParamSpec("P")
R = TypeVar("R")

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@attrs.frozen(eq=False, repr=False)
class StaticArguments:
    """Static arguments as a key: equal where values and types are, and 0.0 is not -0.0.

    Attributes:
        positional: pairs of position and value.
        keywords: pairs of name and value.
    """

    positional: tuple[tuple[int, Any], ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the static positional arguments."""
        return tuple([i for i, _ in self.positional])

    def __hash__(self) -> int:
        return hash((self.positional, self.keywords))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StaticArguments)
            and same_value(self.positional, other.positional)
            and same_value(self.keywords, other.keywords)
        )

    def bind(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function of the other arguments alone; itself where none is static."""
        if not (self.positional or self.keywords):
            return fun
        static, keywords = dict(self.positional), dict(self.keywords)

        @frames.wraps(fun)
        def call(*dynamic: Any, **dynamic_keywords: Any) -> Any:
            rest = iter(dynamic)
            total = len(dynamic) + len(static)
            full = [static[i] if i in static else next(rest) for i in range(total)]
            return fun(*full, **keywords, **dynamic_keywords)

        return call


def same_value(a: Any, b: Any) -> bool:
    """Return whether two static arguments are equal, and all their parts have equal types.

    Equal values of different types, such as 1 and True, are different programs, and so are 0.0 and
    -0.0.
    """
    if a is b:
        return True
    if type(a) is tuple and type(b) is tuple:
        # Most are the same objects, which map finds without Python.
        return len(a) == len(b) and (all(map(is_, a, b)) or all(map(same_value, a, b)))
    if type(a) is not type(b):
        return False
    try:
        differ = bool(a != b)
    except Exception as error:
        raise errors.StaticArgumentError(
            f"static arguments are compared by == at every call, but comparing two of type "
            f"{type(a).__name__} raised {type(error).__name__}: {error}"
        ) from error
    if differ:
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return all(map(same_value, a, b))
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return {(type(x), repr(x)) for x in a} == {(type(x), repr(x)) for x in b}
    if names := _compared(type(a)):
        return all(same_value(getattr(a, name), getattr(b, name)) for name in names)
    return not isinstance(a, (float, complex)) or repr(a) == repr(b)


_compared_fields: Final[WeakKeyDictionary[type[Any], tuple[str, ...]]] = WeakKeyDictionary()
#: The files of ``==`` that dataclasses, attrs or this package wrote from the fields.
_WRITTEN: Final = ("<string>", "<attrs generated", records.__file__)


def _compared(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields that ``==`` compares, unless it is the user's own."""
    names = _compared_fields.get(kind)
    if names is None:
        code = getattr(kind.__eq__, "__code__", None)
        names = ()
        if code is not None and code.co_filename.startswith(_WRITTEN):
            from dataclasses import fields, is_dataclass  # noqa: PLC0415 (few need it)

            if is_dataclass(kind):
                names = tuple([field.name for field in fields(kind) if field.compare])
            elif records.has_fields(kind):
                names = tuple([field.name for field in records.fields(kind) if field.eq])
        _compared_fields[kind] = names
    return names


_NONE = StaticArguments()
#: Types of static arguments that need no look.
_HASHABLE: Final = frozenset((bool, int, float, complex, str, bytes, NoneType))


@attrs.frozen(cache_hash=True, repr=False)
class Signature:
    """The key of a call's program.

    Attributes:
        in_tree: the structure of ``(args, kwargs)``, less the static ones.
        avals: the types of the leaves.
        static: the static arguments.
        settings: the settings in force.
        axes: the named axes of each enclosing ``vmap``.
        adapters: the adapters of the trace.
    """

    in_tree: tree.PyTreeDef
    avals: tuple[av.ShapedArray, ...]
    static: StaticArguments
    settings: config.Settings
    axes: tuple[prim.MappedAxis, ...]
    adapters: tuple[tr.Adapter, ...]


def make_signature(
    in_tree: tree.PyTreeDef, avals: Iterable[av.ShapedArray], static: StaticArguments
) -> Signature:
    """Return the signature of a call that is made here."""
    here = config.settings(), tr.enclosing_axes(), tr.current_trace().adapters
    return Signature(in_tree, tuple(avals), static, *here)


@attrs.frozen(eq=False, repr=False)
class Parameters:
    """The function and the options of ``jit``.

    Attributes:
        fun: the function.
        static_argnums: the static ones by position.
        static_argnames: by name.
        donate_argnums: the donated ones by position.
        donate_argnames: by name.
        as_given: whether both argnums and argnames were given. Then argnums apply to positional
            arguments only, and argnames to keyword arguments only.
        tier: the evaluator of the first calls; None for that of the settings.
        flags: the user's flags for XLA.
        placed: the shardings of arguments and results; None where none is given.
        inline: whether it is inlined into programs that call it.
        padding: an extension's record of variable lengths; None where none was given.
    """

    fun: Callable[..., Any]
    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    as_given: bool = False
    tier: config.Tier | None = None
    flags: Flags = ()
    placed: devices.PlacedCall | None = None
    inline: bool = False
    padding: Hashable = None
    #: The static arguments' positions and names, by how many are passed by position.
    _places: dict[int, tuple[tuple[int, ...], tuple[str, ...]]] = attrs.field(
        factory=dict, init=False
    )
    #: What ``_parameters`` found. A ``cached_property`` would have attrs compile a ``__getattr__``.
    _read: list[tuple[inspect.Parameter, ...] | None] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        static = (self.static_argnums, self.static_argnames)
        donated = (self.donate_argnums, self.donate_argnames)
        if not any((*static, *donated)) or self._parameters is None:
            return
        self._check("static", *static, errors.StaticArgumentError)
        self._check("donate", *donated, errors.ArgumentError)
        both = self._named(*static) & self._named(*donated)
        if both:
            raise errors.ArgumentError(
                f"{' and '.join(sorted(both))} of {frames.describe_function(self.fun)} cannot be "
                "both static and donated, static_argnames and donate_argnames cannot intersect: "
                "what is static is no array, and has no memory to give up."
            )

    def _check(
        self,
        kind: str,
        numbers: tuple[int, ...],
        names: tuple[str, ...],
        error: type[errors.StaticArgumentError | errors.ArgumentError],
    ) -> None:
        """Raise where the function has no such argument."""
        kinds = {p.kind for p in self._parameters or ()}
        count = len(self._names)
        for i in numbers:
            if not -count <= i < count and inspect.Parameter.VAR_POSITIONAL not in kinds:
                raise error(
                    f"{kind}_argnums names argument {i}, but {frames.describe_function(self.fun)} "
                    f"only accepts {count} positional arguments."
                )
        by_name = [p.name for p in self._parameters or () if p.kind in _BY_NAME]
        others = {p.name for p in self._parameters or ()}.difference(by_name)
        for name in names:
            unknown = name not in by_name and inspect.Parameter.VAR_KEYWORD not in kinds
            if unknown or name in others:
                raise error(
                    f"invalid argnames: {kind}_argnames names '{name}', but "
                    f"{frames.describe_function(self.fun)} takes by name "
                    f"{', '.join(by_name) or 'nothing'}."
                )

    def _named(self, numbers: tuple[int, ...], names: tuple[str, ...]) -> set[str]:
        """Return the names of the parameters that are meant, where they have some."""
        count = len(self._names)
        kinds = {p.kind for p in self._parameters or ()}
        least = 0 if inspect.Parameter.VAR_POSITIONAL in kinds else -count
        return {*names, *[self._names[i] for i in numbers if least <= i < count]}

    @property
    def options(self) -> Hashable:
        """All options, without the function."""
        static = (self.static_argnums, self.static_argnames, self.as_given)
        donated = (self.donate_argnums, self.donate_argnames)
        places = self.placed and self.placed.options
        return (*static, *donated, self.tier, self.flags, places, self.inline, self.padding)

    @property
    def all_dynamic(self) -> bool:
        """Return whether no argument is static."""
        return not (self.static_argnums or self.static_argnames)

    @property
    def _parameters(self) -> tuple[inspect.Parameter, ...] | None:
        if not self._read:
            try:
                self._read.append(tuple(inspect.signature(self.fun).parameters.values()))
            except (TypeError, ValueError):
                self._read.append(None)
        return self._read[0]

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the positional parameters."""
        return tuple([p.name for p in self._parameters or () if p.kind in _POSITIONAL])

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], tree.PyTreeDef, StaticArguments]:
        """Split the static arguments from a call, and flatten the others.

        Raises:
            StaticArgumentError: one is an array, or not hashable.
        """
        if self.all_dynamic:
            leaves, in_tree = tree.flatten_arguments(args, kwargs)
            return leaves, in_tree, _NONE
        static, *dynamic = self.separate(args, kwargs)
        leaves, in_tree = tree.flatten(tuple(dynamic))
        return leaves, in_tree, static

    def separate(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[StaticArguments, tuple[Any, ...], dict[str, Any]]:
        """Return the static arguments of a call, and the others.

        Raises:
            StaticArgumentError: one is an array, or not hashable.
        """
        if self.all_dynamic:
            return _NONE, args, kwargs
        places = self._places.get(len(args))
        if places is None:
            places = self._places[len(args)] = self._static_places(len(args))
        nums, names = places
        positional = tuple([(i, self._hashable(args[i], i)) for i in nums])
        dynamic = args
        if nums:
            dynamic = tuple([a for i, a in enumerate(args) if i not in nums])
        if not kwargs:
            return StaticArguments(positional), dynamic, kwargs
        keywords = tuple([(n, self._hashable(kwargs[n], n)) for n in names if n in kwargs])
        rest = {k: v for k, v in kwargs.items() if k not in names}
        return StaticArguments(positional, keywords), dynamic, rest

    def _static_places(self, num_args: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        nums = {i + num_args if i < 0 else i for i in self.static_argnums}
        names = set(self.static_argnames)
        if self.as_given:
            return tuple(sorted([i for i in nums if i < num_args])), tuple(sorted(names))
        names.update(self._names[i] for i in nums if 0 <= i < len(self._names))
        nums.update(i for i, name in enumerate(self._names) if name in self.static_argnames)
        return tuple(sorted([i for i in nums if i < num_args])), tuple(sorted(names))

    def _hashable(self, value: Any, arg: int | str) -> Any:
        if type(value) in _HASHABLE:
            return value
        place = f"argument {arg}" if isinstance(arg, int) else f"'{arg}'"
        if isinstance(value, Array):
            raise errors.StaticArgumentError(
                f"static {place} of {frames.describe_function(self.fun)} is an array of type "
                f"{value.aval}. A static argument is compared by value at every call: leave arrays "
                "out of static_argnums, or pass a Python number."
            )
        try:
            hash(value)
        except TypeError:
            raise errors.StaticArgumentError(
                f"static {place} of {frames.describe_function(self.fun)} is of type "
                f"{type(value).__name__}, "
                "which is not hashable. Non-hashable static arguments cannot be told apart. Pass a "
                "tuple instead of a list, or a frozen class."
            ) from None
        return value

    def donated(self, in_tree: tree.PyTreeDef, static: StaticArguments) -> list[int]:
        """Return the indices of the donated leaves of ``(args, kwargs)``, less the static ones."""
        if not (self.donate_argnums or self.donate_argnames):
            return []
        return self.leaves_of(self.donate_argnums, self.donate_argnames, in_tree, static)

    def leaves_of(
        self,
        numbers: Collection[int],
        names: Collection[str],
        in_tree: tree.PyTreeDef,
        static: StaticArguments,
    ) -> list[int]:
        """Return the indices of arguments' leaves in ``(args, kwargs)``, less the static ones."""
        args, kwargs = in_tree.children()
        positions = static.positions
        total = len(args.children()) + len(positions)
        nums = {i + total if i < 0 else i for i in numbers}
        dynamic = [i for i in range(total) if i not in positions]
        leaves: list[int] = []
        first = 0
        for i, value in zip(dynamic, args.children(), strict=True):
            name = self._names[i] if i < len(self._names) else None
            if i in nums or name in names:
                leaves += range(first, first + value.num_leaves)
            first += value.num_leaves
        for name, value in zip(kwargs.metadata, kwargs.children(), strict=True):
            position = self._names.index(name) if name in self._names else None
            if name in names or position in nums:
                leaves += range(first, first + value.num_leaves)
            first += value.num_leaves
        return leaves


# What calls of a function have become


class Entry:
    """One signature of a jitted function: its program, and how to run it.

    Attributes:
        executable: the compiled program that the last call has run.
        evaluated: makes calls like one that NumPy has evaluated.
        on_host: evaluates such calls, of and to NumPy's arrays.
    """

    __slots__ = (
        *("consts", "evaluated", "executable", "on_host", "out_tree", "params", "settings"),
        "staged",
    )

    def __init__(self, params: JitParams, staged: staging.Staged, out_tree: tree.PyTreeDef) -> None:
        self.params: JitParams = params
        self.consts: tuple[Array, ...] = staged.consts
        self.staged: staging.Staged = staged
        self.out_tree: tree.PyTreeDef = out_tree
        self.settings: config.Settings = config.settings()
        self.executable: xla.Executable | None = None
        self.evaluated: ShortCall | None = None
        self.on_host: EvaluatedCall | None = None

    def run(self, operands: Sequence[Array]) -> Sequence[Array]:
        """Run the compiled program; evaluate or compile it the first time."""
        last = self.executable
        if last is not None and last.placement is None and not any_placed(operands):
            return last(operands)
        outs, self.executable = self.params.run(operands)
        return outs


#: A call by its positional and keyword arguments. NotImplemented leaves it to the usual way.
ShortCall: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Any]

#: Evaluates a program; None where it is to be compiled.
Evaluation: TypeAlias = Callable[[Sequence[HostArray]], Sequence[HostArray] | None]


@attrs.frozen(eq=False, repr=False)
class EvaluatedCall:
    """Calls that NumPy evaluates, of and to its own arrays.

    Attributes:
        evaluate: evaluates the program. What it returns may be memory of an argument.
        types: those of the arguments.
        is_tuple: whether the result is a tuple of arrays; otherwise it is one array.
    """

    evaluate: Evaluation
    types: Sequence[tuple[av.ShapedArray, DType, tuple[int, ...] | None]]
    is_tuple: bool

    def takes(self, operands: Sequence[Any]) -> bool:
        """Return whether arguments are of these types."""
        return all(map(_is_evaluated_quickly, operands)) and self.types == [
            _types_of(x) for x in operands
        ]


def no_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Leave every call to the usual way."""
    return NotImplemented


def _is_evaluated_quickly(x: Any) -> bool:
    return type(x) is ConcreteArray or (type(x) is ndarray and allowed(x.dtype) == x.dtype)


def _is_one(out_tree: tree.PyTreeDef) -> bool:
    return out_tree.num_nodes == out_tree.num_leaves == 1


def _is_tuple(out_tree: tree.PyTreeDef) -> bool:
    return out_tree.node_type is tuple and out_tree.num_nodes == out_tree.num_leaves + 1


def _evaluated_call(
    evaluate: Evaluation,
    leaves: Sequence[Any],
    in_tree: tree.PyTreeDef | None,
    out_tree: tree.PyTreeDef,
    avals: Sequence[av.ShapedArray],
) -> ShortCall:
    """Return a function for calls that NumPy evaluates, of the types of the present arguments.

    Args:
        evaluate: evaluates the program.
        leaves: the arguments.
        in_tree: their structure; None where each is a positional argument.
        out_tree: the structure of the result.
        avals: the types of the results.
    """
    types = [_types_of(x) for x in leaves]
    count, is_one, is_tuple = len(leaves), _is_one(out_tree), _is_tuple(out_tree)

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operands: Sequence[Any] = args
        if in_tree is not None:
            operands, structure = tree.flatten_arguments(args, kwargs)
            if structure != in_tree:
                return NotImplemented
        elif kwargs or len(args) != count:
            return NotImplemented
        hosts: list[HostArray] = []
        for x, (aval, dtype, shape) in zip(operands, types, strict=True):
            if type(x) is ConcreteArray:
                if (x._aval or x.aval) is not aval:
                    return NotImplemented
                hosts.append(opd.raw_host(x) if x._host is None else x._host)
            elif type(x) is not ndarray or x.dtype != dtype or x.shape != shape:
                return NotImplemented
            else:
                hosts.append(x.copy())  # the user may write to it later
        results = evaluate(hosts)
        if results is None:
            return NotImplemented
        outs = map(ConcreteArray, results, avals)
        if is_tuple:
            return tuple(outs)
        return next(outs) if is_one else tree.unflatten(out_tree, [*outs])

    return call


def _types_of(x: Any) -> tuple[av.ShapedArray, DType, tuple[int, ...] | None]:
    """Return the type of an operand, and the dtype and shape of NumPy's arrays of it.

    The shape is None where the type is weak, which no array of NumPy's has.
    """
    aval = x.aval if type(x) is ConcreteArray else av.ShapedArray(x.shape, x.dtype)
    return aval, aval.dtype, None if aval.weak_type else aval.shape


class StagedProgram(Protocol):
    """The data of a staged program that calls need.

    Attributes:
        consts: its first operands.
        out_tree: the structure of the result.
    """

    @property
    def consts(self) -> Sequence[Array]: ...
    @property
    def out_tree(self) -> tree.PyTreeDef: ...


class FastCalls:
    """The fast path, tried before the slow one, under one record of settings; this one is empty.

    Calls under other settings belong to another object, so a thread may go on using this one.

    Attributes:
        settings: the settings.
        last: makes calls like the last one.
    """

    __slots__ = ("last", "settings")

    def __init__(self, settings: config.Settings | None) -> None:
        self.settings: config.Settings | None = settings
        self.last: ShortCall = no_call

    def call(self, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call like an earlier one than the last, and the next ones like it."""
        return NotImplemented

    def learn(
        self,
        parameters: Parameters,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: Sequence[Any],
        in_tree: tree.PyTreeDef,
        static: StaticArguments,
        entry: StagedProgram,
        program: xla.Executable,
    ) -> None:
        """Prepare for calls like one that a compiled program has run.

        Args:
            parameters: the function's parameters and the options of ``jit``.
            args: the positional arguments.
            kwargs: the others.
            leaves: the leaves of both, without static ones.
            in_tree: their structure.
            static: the static arguments.
            entry: the program, as it was staged.
            program: the compiled program.
        """


#: For no settings, so that no call is made by them.
_NO_CALLS: Final = FastCalls(None)


class Traces:
    """The programs of a function's calls, under one set of ``jit``'s options.

    Attributes:
        entries: programs by signature, the oldest first. It is no ``OrderedDict``: copying one
            computes hashes, during which another thread may write to it.
            short: the fast path, tried before the slow one.
        fun: the function, if they are kept for as long as it lives.
    """

    __slots__ = ("__weakref__", "entries", "fun", "short")

    def __init__(self, fun: weakref.ref[Callable[..., Any]] | None = None) -> None:
        self.entries: dict[Signature, Entry] = {}
        self.short: FastCalls = _NO_CALLS
        self.fun: weakref.ref[Callable[..., Any]] | None = fun

    def add(self, signature: Signature, entry: Entry) -> None:
        """Remember the program of a signature, and forget the oldest of too many."""
        self.entries[signature] = entry
        held = entry.params.jaxpr.held_objects
        if held and self.fun is not None and _refer_to(self.fun(), held):
            _leave_to_owners(self)
        if len(self.entries) > MOST_SIGNATURES:
            for oldest in [*self.entries][:-MOST_SIGNATURES]:
                self.entries.pop(oldest, None)
            self.forget_short()
        if not next(_added) % _LOOKED_AFTER:
            _drop_oldest()

    def short_for(self, settings: config.Settings) -> FastCalls:
        """Try short calls under these settings from now on."""
        short = self.short
        if short.settings is not settings or type(short) is FastCalls:
            module = lazy.hook("fast_calls")
            made = FastCalls if module is None else module.SpecializedCalls
            short = self.short = made(settings)
        return short

    def learn_evaluated(
        self,
        entry: Entry,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: Sequence[Any],
        in_tree: tree.PyTreeDef,
    ) -> None:
        """Prepare for calls like one that NumPy has evaluated, once it is as quick as it gets.

        Args:
            entry: the program.
            args: the positional arguments.
            kwargs: the others.
            leaves: the leaves of both.
            in_tree: their structure.
        """
        if entry.evaluated is None:
            if not all(map(_is_evaluated_quickly, leaves)):
                return
            evaluate = xla.evaluation(entry.params.compilation, entry.consts, entry.params.tier)
            if evaluate is None:
                return
            is_flat = not kwargs and len(args) == len(leaves) and all(map(is_, args, leaves))
            structure, out_tree = None if is_flat else in_tree, entry.out_tree
            avals = entry.params.jaxpr.out_avals
            entry.evaluated = _evaluated_call(evaluate, leaves, structure, out_tree, avals)
            if is_flat and (_is_one(out_tree) or _is_tuple(out_tree)):
                types = [_types_of(x) for x in leaves]
                entry.on_host = EvaluatedCall(evaluate, types, _is_tuple(out_tree))
        if self.short.settings is not entry.settings:
            self.short = FastCalls(entry.settings)
        self.short.last = entry.evaluated

    def forget_short(self) -> None:
        """Forget how calls are made in short, and not the programs."""
        self.short = _NO_CALLS

    def clear(self) -> None:
        """Forget every program."""
        self.entries.clear()
        self.forget_short()


class Called(Generic[P, R]):
    """The function that a call uses on the fast path, where a call like it was made before."""

    # Not among the attributes, which functions made of this one copy, and which are pickled.
    __slots__ = ("__dict__", "__weakref__", "_traces")

    _parameters: Parameters
    _traces: Traces

    def __new__(cls, *_args: object, **_kwargs: object) -> Self:
        called = super().__new__(cls)
        called._traces = NO_TRACES
        return called

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            short = self._traces.short
            trace = tr.current_trace()
            if trace.evaluates and (short.settings is (local_settings() or Process.settings)):
                result: R = short.last(args, kwargs)
                if result is NotImplemented:
                    result = short.call(self._parameters, args, kwargs)
                if result is not NotImplemented:
                    return result
            return self._call(args, kwargs)
        except (Exception, KeyboardInterrupt) as error:
            tracebacks.fold(error, sys._getframe())
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        """Make a call in the usual way."""
        raise NotImplementedError


def host_call(fun: Called[..., Any], args: Sequence[Any]) -> EvaluatedCall | None:
    """Return what evaluates calls of a function like the last, if these arguments are like its own.

    It serves under the present settings, and saves what a call takes besides evaluation.
    """
    traces = fun._traces
    short = traces.short
    if short.settings is (local_settings() or Process.settings):
        for entry in [*traces.entries.values()]:
            call = entry.on_host
            if call is not None and entry.evaluated is short.last and call.takes(args):
                return call
    return None


_equality: Final = attrgetter("__eq__")
_BY_IDENTITY: Final = _equality(object)

#: What has not been called yet has none: it has no settings, so that a call finds its own.
NO_TRACES: Final = Traces()

MOST_SIGNATURES: Final = 4096
#: How many programs are kept for functions that ``jit`` may be given again, and after how many
#: more they are counted.
_MOST_PROGRAMS: Final = 4096
_LOOKED_AFTER: Final = 512
#: Of so many objects it is searched whether they refer to a function.
_MOST_SEARCHED: Final = 10_000
_LIVE_ANYWAY: Final = (ModuleType, type, prim.Primitive)
_added: Final = count(1)

_by_function: Final[OrderedDict[weakref.ref[Callable[..., Any]], dict[Hashable, Traces]]] = (
    OrderedDict()
)
_others: Final[weakref.WeakSet[Traces]] = weakref.WeakSet()


def traces_of(fun: Callable[..., Any], options: Hashable) -> Traces:
    """Return the programs of a function's calls, under given options of ``jit``.

    Args:
        fun: the function.
        options: everything else that its programs depend on. If it cannot be hashed, nothing is
            shared.
    """
    kind = type(fun)
    if kind is MethodType or _equality(kind) is _BY_IDENTITY:
        with suppress(TypeError):  # not hashable, or without weak references
            return _shared(fun, options)
    return own_traces()


def own_traces() -> Traces:
    """Return a place for the programs of one object's calls."""
    traces = Traces()
    _others.add(traces)
    return traces


def _shared(fun: Callable[..., Any], options: Hashable) -> Traces:
    known = _by_function.get(weakref.ref(fun))
    if known is None:
        # no Python runs when the function dies, where Ctrl-C would be lost and leave this behind
        known = _by_function.setdefault(weakref.ref(fun, _by_function.pop), {})
    cached = known.get(options)
    return known.setdefault(options, Traces(weakref.ref(fun))) if cached is None else cached


def _refer_to(fun: object, objects: Sequence[object]) -> bool:
    """Return whether objects refer to a function, so that a cache of theirs would keep it alive."""
    stack, seen = [*objects], {*map(id, objects)}
    while stack and len(seen) < _MOST_SEARCHED:
        x = stack.pop()
        if x is fun:
            return True
        left_out = x.__globals__ if isinstance(x, FunctionType) else None
        for part in gc.get_referents(x):
            is_container = gc.is_tracked(part) and not isinstance(part, _LIVE_ANYWAY)
            if is_container and part is not left_out and id(part) not in seen:
                seen.add(id(part))
                stack.append(part)
    return bool(stack)


def _leave_to_owners(traces: Traces) -> None:
    """Leave programs to the ``jit`` objects that have them, with which they die."""
    assert traces.fun is not None, "they are kept for a function"
    known = _by_function.get(traces.fun, {})
    for options in [options for options, x in known.items() if x is traces]:
        del known[options]
    traces.fun = None
    _others.add(traces)


def _all_shared() -> list[Traces]:
    return [traces for known in [*_by_function.values()] for traces in [*known.values()]]


def _drop_oldest() -> None:
    """Leave the programs of the functions that were jitted first to their ``jit`` objects.

    This bounds the compiled programs of a process.
    """
    programs = sum([len(traces.entries) for traces in _all_shared()])
    while programs > _MOST_PROGRAMS and len(_by_function) > 1:
        oldest = _by_function.popitem(last=False)[1]
        programs -= sum([len(traces.entries) for traces in oldest.values()])
        _others.update(oldest.values())


def clear_traces() -> None:
    """Forget every program of every function, so that each is traced at its next call."""
    for traces in [*_all_shared(), *_others]:
        traces.clear()


def _forget_executables() -> None:
    for traces in [*_all_shared(), *_others]:
        traces.forget_short()
        for entry in traces.entries.values():
            entry.executable = None


forks.register(after_in_child=_forget_executables)  # which the new process may not be able to run

"""What calls of a function have become: kept by function, for all that ``jit`` makes of it.

``jit(f)(x)`` in a loop makes a new object in each round, and so do libraries that call ``jit``
where they need it. The function is the same, so its programs are found again. As in JAX, what a
function reads beside its arguments is read when it is traced, and not again for another ``jit``.

A function is remembered as long as it lives. Functions are compared by identity; so are other
objects that can be called, unless they say themselves what equals them: these are not shared.
Methods of one object are equal to Python, but each access makes a new one, which seldom outlives
the ``jit`` that it was made for.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import count
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tinyjax import config, tree
from tinyjax.core import xla
from tinyjax.core.tracing.trace import eager
from tinyjax.core.values.concrete import any_placed

if TYPE_CHECKING:
    from tinyjax.core.jit.program import JitParams
    from tinyjax.core.jit.signatures import Parameters, Signature, StaticArguments
    from tinyjax.core.tracing import staging as stg
    from tinyjax.core.values.array import Array


class Entry:
    """One signature of a jitted function: its program, and how to run it."""

    __slots__ = ("consts", "executable", "out_tree", "params", "settings", "staged")

    def __init__(self, params: JitParams, staged: stg.Staged, out_tree: tree.PyTreeDef) -> None:
        self.params: JitParams = params
        self.consts: tuple[Array, ...] = staged.consts
        self.staged: stg.Staged = staged
        self.out_tree: tree.PyTreeDef = out_tree
        self.settings: config.Settings = config.settings()
        self.executable: xla.Executable | None = None

    def run(self, operands: Sequence[Array]) -> tuple[Sequence[Array], xla.Executable | None]:
        """Run the compiled program; evaluate or compile it the first time."""
        executable = self.executable
        if executable is not None and not any_placed(operands):
            return executable(operands), executable
        outs, program = self.params.run(operands)
        if program is not None and program.placement is None:
            self.executable = program
        return outs, program


#: A call by its positional and keyword arguments. NotImplemented leaves it to the usual way.
ShortCall: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def no_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Leave every call to the usual way."""
    return NotImplemented


class ShortCalls:
    """What is tried before the usual way, under one record of settings: here, nothing.

    A room may stand in for it (``trace.eager``). Calls under other settings are another object's: a
    thread that has this one goes on with it.

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
        entry: Entry,
        program: xla.Executable,
    ) -> None:
        """Prepare for calls like one that a compiled program has run.

        Args:
            parameters: what ``jit`` was told of the function.
            args: the positional arguments.
            kwargs: the others.
            leaves: the leaves of both, without static ones.
            in_tree: their structure.
            static: the static arguments.
            entry: the program, as it was traced.
            program: the compiled program.
        """


#: For no settings, so that no call is made by them.
_NO_CALLS: Final = ShortCalls(None)


class Traces:
    """What calls of a function have become, under one set of ``jit``'s options.

    Attributes:
        entries: programs by signature, the oldest first. It is no ``OrderedDict``, which cannot be
            read as a whole while another thread writes to it: that asks for hashes in between.
        short: what is tried before the usual way.
    """

    __slots__ = ("__weakref__", "entries", "short")

    def __init__(self) -> None:
        self.entries: dict[Signature, Entry] = {}
        self.short: ShortCalls = _NO_CALLS

    def add(self, signature: Signature, entry: Entry) -> None:
        """Remember the program of a signature, and forget the oldest of too many."""
        self.entries[signature] = entry
        if len(self.entries) > MOST_SIGNATURES:
            for oldest in [*self.entries][:-MOST_SIGNATURES]:
                self.entries.pop(oldest, None)
            self.forget_short()
        if not next(_added) % _LOOKED_AFTER:
            _drop_oldest()

    def short_for(self, settings: config.Settings) -> ShortCalls:
        """Try short calls under these settings from now on."""
        short = self.short
        if short.settings is not settings:
            short = self.short = eager[ShortCalls](settings)
        return short

    def forget_short(self) -> None:
        """Forget how calls are made in short, and not the programs."""
        self.short = _NO_CALLS

    def clear(self) -> None:
        """Forget every program."""
        self.entries.clear()
        self.forget_short()


_equality: Final = attrgetter("__eq__")
_BY_IDENTITY: Final = _equality(object)

#: What has not been called yet has none: it has no settings, so that a call finds its own.
NO_TRACES: Final = Traces()

MOST_SIGNATURES: Final = 4096
#: How many programs are kept for functions that ``jit`` may be given again, and after how many
#: more they are counted.
_MOST_PROGRAMS: Final = 4096
_LOOKED_AFTER: Final = 512
_added: Final = count(1)

_by_function: Final[OrderedDict[weakref.ref[Callable[..., Any]], dict[Hashable, Traces]]] = (
    OrderedDict()
)
_others: Final[weakref.WeakSet[Traces]] = weakref.WeakSet()


def traces_of(fun: Callable[..., Any], options: Hashable) -> Traces:
    """Return what calls of a function have become, under the options that ``jit`` was given.

    Args:
        fun: the function.
        options: all that its programs depend on beside it. Where they cannot be hashed, nothing is
            shared.
    """
    kind = type(fun)
    if kind is MethodType or _equality(kind) is _BY_IDENTITY:
        with suppress(TypeError):  # not hashable, or without weak references
            return _shared(fun, options)
    traces = Traces()
    _others.add(traces)
    return traces


def _shared(fun: Callable[..., Any], options: Hashable) -> Traces:
    known = _by_function.get(weakref.ref(fun))
    if known is None:
        # no Python runs when the function dies, where Ctrl-C would be lost and leave this behind
        known = _by_function.setdefault(weakref.ref(fun, _by_function.pop), {})
    cached = known.get(options)
    return known.setdefault(options, Traces()) if cached is None else cached


def _all_shared() -> list[Traces]:
    return [traces for known in [*_by_function.values()] for traces in [*known.values()]]


def _drop_oldest() -> None:
    """Leave the programs of the functions that were jitted first to the ``jit`` objects they have.

    A process cannot hold any number of compiled programs.
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

"""Compilation requests: the program, its placement, and observers of compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from math import inf
from time import perf_counter
from typing import Any, Final, TypeAlias

import attrs
from numpy import ndarray

from tinyjax import config
from tinyjax._base import frames, lazy
from tinyjax._base.records import Record
from tinyjax.core import devices, xla
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.dtypes import HostArray
from tinyjax.errors import MissingJaxlibError

#: Options of XLA's by name, and their values, as users give them.
CompilerOptions: TypeAlias = dict[str, Any]
Flag: TypeAlias = str | int | float | bool
#: Flags of XLA and their values, sorted by name.
Flags: TypeAlias = tuple[tuple[str, Flag], ...]


@attrs.frozen(eq=False, repr=False)
class Compilation(Record):
    """A program to be compiled; two are equal if the programs are, whatever their names.

    Attributes:
        jaxpr: the program.
        name: the name of its module.
        donated: the parameters whose memory may be reused.
        flags: the user's flags for XLA, besides those of the setting ``effort``.
        placement: its placement by an extension (``elsewhere``); None for the first device.
    """

    jaxpr: jx.Jaxpr
    name: str = attrs.field(eq=False)
    donated: tuple[int, ...] = ()
    flags: Flags = ()
    placement: Any = None

    @property
    def aliases(self) -> tuple[int | None, ...]:
        """For each parameter, which result may take over its memory: the next of the same type."""
        free: dict[tuple[Any, ...], list[int]] = {}
        for i, aval in enumerate(self.jaxpr.out_avals):
            free.setdefault((aval.shape, aval.dtype), []).append(i)
        aliases: list[int | None] = [None] * len(self.jaxpr.in_binders)
        for i in self.donated:
            aval = self.jaxpr.in_avals[i]
            candidates = free.get((aval.shape, aval.dtype))
            if candidates:
                aliases[i] = candidates.pop(0)
        return tuple(aliases)

    @property
    def given_up(self) -> tuple[int, ...]:
        """The parameters whose memory a result takes over."""
        aliases = self.aliases if self.donated else ()
        return tuple([i for i, alias in enumerate(aliases) if alias is not None])


@cache
def is_absent() -> bool:
    """Return whether jaxlib cannot be loaded, which is tried; if so, warn of it once."""
    try:
        return not xla.COMPILER
    except MissingJaxlibError as error:
        frames.warn_user(error.message)
        return True


def run_compiled(
    request: Compilation, args: Sequence[Array]
) -> tuple[Sequence[Array], xla.Executable | None]:
    """Run a program that says where it runs, as ``run`` does: it is compiled at its first call."""
    if request.placement is not None:
        outcome: tuple[Sequence[Array], xla.Executable | None] = devices.ops().run(request, args)
        return outcome
    executable = xla.compiled(request)
    return executable(args), executable


def history(request: Compilation) -> str:
    """Return the history of a program's calls; nothing if it is compiled at once."""
    tiers = lazy.hook("tiers")
    return "" if tiers is None else str(tiers.history(request))


def functions_in(jaxpr: jx.Jaxpr) -> float:
    """Estimate of how many elements a program evaluates functions such as ``exp``."""
    tiers = lazy.hook("tiers")
    return inf if tiers is None else float(tiers.functions_in(jaxpr))


def forget_programs() -> None:
    """Drop all compiled programs, and evaluate every program at first again."""
    tiers = lazy.hook("tiers")
    if tiers is not None:
        tiers.forget()
    if not is_absent():
        xla.cache_clear()


def place(request: Compilation, args: Sequence[Any]) -> tuple[Compilation, Sequence[Any]]:
    """Return a compilation with the placement that its arguments need, and the arguments.

    Args:
        request: the program, without a placement.
        args: arrays, or types that record their devices, one for each parameter.
    """
    are_here = _HERE.issuperset(map(type, args)) and not devices.may_be_elsewhere(config.settings())
    # before the extension is loaded, no program can have a placement
    is_plain = are_here and not (lazy.is_loaded("device_ops") and _says_where(request.jaxpr))
    if is_plain or "device_ops" not in lazy.HOOKS:
        return request, args
    return devices.ops().place(request, args)


#: Arguments that are on the first device, or go where they are wanted.
_HERE: Final = frozenset((ConcreteArray, ndarray, bool, int, float, complex))


def _says_where(jaxpr: jx.Jaxpr) -> bool:
    """Return whether a program has a placement of its own, by its types or by its equations."""
    if any(v.aval.where is not None for v in jaxpr.in_binders):
        return True
    return jx.some_eqn(
        jaxpr, "places", lambda eqn: program_rules.PLACES in eqn.primitive.rules.extensions
    )


def run(
    request: Compilation,
    args: Sequence[Array],
    tier: config.Tier,
) -> tuple[Sequence[Array], xla.Executable | None]:
    """Run a program: evaluate it, or compile it and run that.

    A program that runs on other devices than the first is always compiled, for its arguments'
    devices. A program on the first device may be evaluated.

    Args:
        request: the program, without a placement.
        args: arrays with data, one for each parameter.
        tier: "compiled" to wait for the compiler.

    Returns:
        The results, and the compiled program that was run.
    """
    request, args = place(request, args)
    tiers = lazy.hook("tiers")
    if tiers is None:
        return run_compiled(request, args)
    outcome: tuple[Sequence[Array], xla.Executable | None] = tiers.run(request, args, tier)
    return outcome


def evaluation(
    request: Compilation, consts: Sequence[Array], tier: config.Tier | None
) -> Callable[[Sequence[HostArray]], Sequence[HostArray] | None] | None:
    """Return the function that evaluates further calls of a program, after NumPy has evaluated one.

    It takes and returns arrays of NumPy's. It returns None when the program is to be compiled.

    Args:
        request: the program, without a placement.
        consts: its first operands.
        tier: the tier of the function; None for that of the settings.
    """
    tiers = lazy.hook("tiers")
    if tiers is None:
        return None
    evaluate: Callable[[Sequence[HostArray]], Sequence[HostArray] | None] | None
    evaluate = tiers.evaluation(request, consts, tier)
    return evaluate


def run_alone(primitive: Primitive[Any], args: Sequence[Array], params: Any) -> Sequence[Array]:
    """Compile a primitive as a program of its own, and run it.

    Args:
        primitive: the primitive.
        args: its operands, with data.
        params: its parameters.
    """
    jaxpr = jx.jaxpr_of(primitive, [x.aval for x in args], params)
    return run(Compilation(jaxpr, primitive.name), args, "compiled")[0]


# Who hears of it

#: Functions that hear how long something took.
durations: Final[list[Callable[..., Any]]] = []

#: Makes a block a span of a profile, of its name and of what else to show with it.
MakeSpan: TypeAlias = Callable[[str, dict[str, object]], AbstractContextManager[object]]

#: That of the profile that is being recorded, if one is.
spans: Final[list[MakeSpan]] = []

_NO_SPAN: Final = nullcontext()


@contextmanager
def timed(event: str) -> Iterator[None]:
    """Report how long a block took, to those who hear of it."""
    start = perf_counter()
    yield
    for listener in tuple(durations):
        listener(event, perf_counter() - start)


def span(name: str, **metadata: object) -> AbstractContextManager[object]:
    """Make a block a span of the profile that is being recorded, if one is.

    Args:
        name: its name.
        **metadata: further data to show with it.
    """
    return spans[0](name, metadata) if spans else _NO_SPAN

"""Staging: running a function on types to record its jaxpr, and calling that.

A recorder records the equations that it processes. ``StagingTrace`` passes nothing to its parent,
which it needs only for the names of enclosing axes. It records everything, operations on constants
too. The trace behind ``linearize`` records only operations that depend on its own tracers
(``core.transforms.linearize``).

``jit``, loops and the like record a user's function by ``stage_call`` and call its program by
``call_staged``. Extensions attach there by hooks (``Hook``). Their state is passed to the program
and returned from it, and they see its operands and results. With the setting ``disable_jit`` the
functions are called instead of recorded, where that is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import itemgetter
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

import attrs

from tinyjax._base.collecting import FEWER_FULL_COLLECTIONS
from tinyjax._base.frames import (
    STAGING_LEVEL,
    ScopedSource,
    Source,
    Transformation,
    describe_function,
    named_scopes,
    user_frame,
)
from tinyjax.config import Process, block, local_settings, settings
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, JaxprEqn, Lit, Var, typecheck_jaxpr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import (
    CustomCall,
    Running,
    Trace,
    Tracer,
    base_trace,
    current_trace,
    evaluated_source,
    leak_check,
    raise_leaked,
    raise_not_concrete,
    use_trace,
)
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray, PlacedArray
from tinyjax.core.values.operands import first_element, is_splat, splat
from tinyjax.errors import TinyjaxError

P = TypeVar("P")


class MutableCell(Hashable, Protocol):
    """A cell of mutable state, outside of the functions that read and write it."""

    @property
    def aval(self) -> ShapedArray:
        """Its type."""
        ...

    @property
    def contents(self) -> Array:
        """The array, as it is here."""
        ...

    def contents_in(self, objects: Sequence[Any]) -> Array:
        """Return the array for a call of a program with these objects as arguments."""
        ...


class Hook:
    """A hook of an extension around staging and calling one program.

    A recorder has at most one hook of each class, which the extension makes when it needs one. The
    program takes the outer state after its arguments, and returns the new state after its results.

    Attributes:
        lasting: whether later calls may use the program.
    """

    __slots__ = ()

    lasting: bool = True

    def cells_in(self) -> Sequence[tuple[MutableCell, Var]]:
        """Return the cells that the program reads, with their parameters."""
        return ()

    def cells_out(self) -> Sequence[tuple[Hashable, Array]]:
        """Return the cells that the program writes, with their final contents; recording ends."""
        return ()

    def restarted(self) -> Hook | None:
        """Return the first state of another staging, if one is needed; else None."""
        return None

    def moved(self, before: Jaxpr, after: Jaxpr) -> Hook:
        """Return this hook for another recording of the same program."""
        return self

    def serves(self, api_name: str, objects: Sequence[Any]) -> bool:
        """Return whether the program can be called here.

        Args:
            api_name: the function, for messages.
            objects: the arguments that hold arrays in place (``core.tracing.calling``).
        """
        return True

    @classmethod
    def before(cls, calls: Sequence[tuple[Hook, Jaxpr, Sequence[Array]]]) -> None:
        """Act on the operands before one of several programs runs, for all hooks of this class."""

    def repeats(self, loop: str, constants: Sequence[Var], carried: Sequence[Atom]) -> None:
        """Act before the program runs many times.

        Args:
            loop: the loop.
            constants: the parameters that are the same every time.
            carried: the results that the next iteration begins with.
        """

    def after(self, atoms: Sequence[Atom], outs: Sequence[Array]) -> None:
        """Act on the results of the program, given their variables."""

    @classmethod
    def keep(cls, state: Sequence[tuple[Hashable, Array]], objects: Sequence[Any]) -> None:
        """Put the final state of a program into its cells."""

    def cotangents(self) -> Sequence[Array]:
        """Return cotangents of a linear map's final state, before its transpose runs."""
        return ()

    def keep_cotangents(self, cotangents: Sequence[Any]) -> None:
        """Store the cotangents of a linear map's initial state, after its transpose has run."""


class Irrevocable:
    """The effects of extensions that are not undone when a recording is discarded.

    Attributes:
        count: their number.
        error: makes the exception for the last of these.
    """

    count: int = 0
    error: Callable[[], TinyjaxError]


#: The knowledge that a staged function has of mutable state outside: "nothing", where no caller
#: passes the state to its program; the "types" of the state; or also its present "data", until the
#: function writes to it. A program of tangents may pass on "cotangents" of it.
Outside: TypeAlias = Literal["nothing", "cotangents", "types", "data"]

#: A message names at most so many origins. Of more operands than these, first it is checked
#: whether all are this trace's.
FEW: Final = 6


_first: Final = itemgetter(0)
_second: Final = itemgetter(1)


class StagingTracer(Tracer):
    """A value in a jaxpr under construction: a type, and the variable that holds it."""

    __slots__ = ("aval", "binder")

    aval: ShapedArray
    binder: Var

    def __init__(self, trace: Trace, binder: Var, aval: ShapedArray) -> None:
        self._trace = trace
        self.binder = binder
        self.aval = aval

    def describe_trace(self) -> str:
        trace, origins = super().describe_trace(), self.origins()
        if not origins:
            line = self.line()
            return f"{trace}, and was created {line}" if line else trace
        which = "value of the argument" if len(origins) == 1 else "values of the arguments"
        if len(origins) > FEW:
            origins[FEW:] = [f"{len(origins) - FEW} more"]
        *first, last = origins
        return (
            f"{trace}, and depends on the {which} {', '.join(first)}{' and ' * bool(first)}{last}"
        )

    def describe_origin(self) -> str:
        trace, line = self._trace, self.line()
        if line:
            return f" That intermediate value was created {line}."
        if isinstance(trace, Recorder) and trace.argument and self.binder in trace.in_binders:
            return f" It is the argument {trace.argument(trace.in_binders.index(self.binder))}."
        return ""

    def line(self) -> str:
        """Name the operation that the value results from, and the user's line of this operation."""
        for eqn in self._trace.eqns if isinstance(self._trace, Recorder) else ():
            if self.binder in eqn.out_binders and eqn.source is not None:
                return f"by {eqn.primitive} on line {eqn.source.location}"
        return ""

    def origins(self) -> list[str]:
        """Name the arguments of the traced function that the value depends on."""
        trace = self._trace
        if not isinstance(trace, Recorder) or trace.argument is None:
            return []
        needed = self._needed()
        own = [trace.argument(i) for i, var in enumerate(trace.in_binders) if var in needed]
        outer = [
            f"{name} of {describe_function(value._trace.fun)}"
            for value in self._outer(needed)
            if value._trace.fun is not None
            for name in value.origins()
        ]
        return [*own, *outer]

    def _needed(self) -> set[Var]:
        """Return the variables that the value depends on, itself among them."""
        needed = {self.binder}
        for eqn in reversed(self._trace.eqns if isinstance(self._trace, Recorder) else ()):
            if not needed.isdisjoint(eqn.out_binders):
                needed.update(x for x in eqn.inputs if isinstance(x, Var))
        return needed

    def _outer(self, needed: set[Var]) -> list[StagingTracer]:
        """Return the values of outer programs that some of these variables stand for."""
        consts = self._trace.consts.values() if isinstance(self._trace, Recorder) else ()
        return [x for var, x in consts if var in needed and type(x) is StagingTracer]

    def origin_traces(self) -> Iterator[Trace]:
        needed = self._needed()
        if isinstance(self._trace, Recorder) and not needed.isdisjoint(self._trace.in_binders):
            yield self._trace
        for value in self._outer(needed):
            yield from value.origin_traces()


class Recorder(Trace):
    """A trace that records equations.

    Attributes:
        in_binders: the parameters made with ``new_inputs``.
        eqns: the equations so far.
        consts: by identity, every array from outside that the equations read, with its variable.
        literals: by identity, every array that is a literal in the equations.
        hooks: the hooks of extensions for the program, by class.
        outside: the available knowledge of state outside.
        argument: names a parameter by its position, as the user knows it.
    """

    __slots__ = ("argument", "consts", "eqns", "hooks", "in_binders", "literals", "outside")

    recording = True

    def __init__(self, parent: Trace, fun: Callable[..., object] | None = None) -> None:
        super().__init__(parent, fun)
        self.in_binders: list[Var] = []
        self.eqns: list[JaxprEqn] = []
        self.consts: dict[int, tuple[Var, Array]] = {}
        self.literals: dict[int, Lit] = {}
        self.hooks: dict[type[Hook], Hook] = {}
        self.outside: Outside = "nothing"
        self.argument: Callable[[int], str] | None = None

    def new_inputs(self, avals: Sequence[ShapedArray]) -> list[StagingTracer]:
        """Add parameters."""
        return [self.new_input(aval) for aval in avals]

    def new_input(self, aval: ShapedArray) -> StagingTracer:
        """Add a parameter."""
        for adapter in self.adapters:
            aval = adapter.parameter_type(self, aval)
        var = Var(aval)
        self.in_binders.append(var)
        return StagingTracer(self, var, aval)

    def atom(self, value: Array) -> Atom:
        """Return the atom of a value: its variable, a literal, or a constant's variable."""
        if type(value) is StagingTracer and value._trace is self:
            return value.binder
        if isinstance(value, Tracer):
            if not value._trace.live:
                raise_leaked(value)
        elif type(value) is not ConcreteArray and not isinstance(value, PlacedArray):
            raise_not_concrete(value)
        aval = outer = value._aval or value.aval
        for adapter in self.adapters:
            aval = adapter.constant_type(self, aval)
        if type(value) is ConcreteArray and is_splat(value):
            if aval is not outer:
                value = splat(first_element(value.host), aval)
            found_lit = self.literals[id(value)] = Lit(value, value.aval)
            return found_lit
        entry = self.consts.get(id(value))
        if entry is None:
            # a value of another recording keeps its variable, which is defined once here too
            var = value.binder if type(value) is StagingTracer and aval is outer else Var(aval)
            entry = self.consts[id(value)] = (var, value)
        return entry[0]

    def record(
        self, primitive: Primitive[P], args: Sequence[Array], params: P, source: Source | None
    ) -> Sequence[Array]:
        """Add an equation and return its results."""
        # Every equation passes here: loops and comprehensions are chosen by measurement.
        adapters = self.adapters
        for adapter in adapters:
            results = adapter.record(self, primitive, args, params, source)
            if results is not None:
                return results
        inputs: list[Atom] = []
        avals: list[ShapedArray] = []
        if len(args) > FEW:  # of programs that take residuals, most often all of this trace
            own = [x.binder for x in args if type(x) is StagingTracer and x._trace is self]
            if len(own) == len(args):
                inputs, avals, args = [*own], [var.aval for var in own], ()
        for arg in args:
            if type(arg) is StagingTracer and (arg._trace is self or not adapters):
                trace = arg._trace
                if trace is not self:  # as in ``atom``; a nest of functions has many
                    if not trace.live:
                        raise_leaked(arg)
                    self.consts[id(arg)] = (arg.binder, arg)
                inputs.append(arg.binder)
                avals.append(arg.aval)
            else:
                x = self.literals.get(id(arg)) or self.atom(arg)
                inputs.append(x)
                avals.append(x.aval)
        rules = primitive.rules
        out_avals: Sequence[ShapedArray] | None = None
        if rules.evaluate is None and rules.collective is None:
            # what the operands' types give is looked up, as in evaluation
            try:
                out_avals = rules.types[params, *avals][0]
            except (KeyError, TypeError):  # types not met before, parameters that have no hash
                out_avals = None
            if out_avals is None:  # not in the handler: what is raised here is not of its error
                out_avals = primitive.check_types(avals, params)
        if out_avals is None:
            out_avals = rules.abstract_eval(avals, params)
        if len(out_avals) == 1:  # nearly always, and faster than the loop
            (aval,) = out_avals
            var = Var(aval)
            self.eqns.append(JaxprEqn(primitive, tuple(inputs), params, (var,), source))
            return (StagingTracer(self, var, aval),)
        binders = [Var(aval) for aval in out_avals]
        self.eqns.append(JaxprEqn(primitive, tuple(inputs), params, tuple(binders), source))
        return [StagingTracer(self, var, var.aval) for var in binders]

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        return call.record(self, args)

    def mark(self) -> tuple[int, int, int]:
        """Remember how far the recording is."""
        return len(self.eqns), len(self.consts), Irrevocable.count

    def can_rewind(self, mark: tuple[int, int, int]) -> bool:
        """Return whether nothing else refers to the equations recorded since."""
        return Irrevocable.count == mark[2]

    def rewind(self, mark: tuple[int, int, int]) -> None:
        """Forget the equations recorded since; their results may not be used any more.

        Raises:
            TinyjaxError: something else holds some of it.
        """
        if not self.can_rewind(mark):
            raise Irrevocable.error()
        del self.eqns[mark[0] :]
        for key in [*self.consts][mark[1] :]:
            del self.consts[key]

    def build(self, outs: Sequence[Array]) -> Staged:
        """Close the recording: constants become the first parameters."""
        atoms = tuple(map(self.atom, outs))
        hooks = tuple(self.hooks.values())
        cells_in: Sequence[tuple[MutableCell, Var]] = ()
        cells_out: Sequence[tuple[Hashable, Atom]] = ()
        if hooks:
            cells_in = [pair for hook in hooks for pair in hook.cells_in()]
            cells_out = [(place, self.atom(x)) for hook in hooks for place, x in hook.cells_out()]
        consts = self.consts.values()
        binders = (*map(_first, consts), *self.in_binders, *map(_second, cells_in))
        jaxpr = Jaxpr(binders, tuple(self.eqns), (*atoms, *map(_second, cells_out)))
        if (local_settings() or Process.settings).check_jaxprs:
            typecheck_jaxpr(jaxpr)
        values, taken = tuple(map(_second, consts)), tuple(map(_first, cells_in))
        return Staged(jaxpr, values, hooks, taken, tuple(map(_first, cells_out)))


class StagingTrace(Recorder):
    """Records everything that is bound under it.

    Attributes:
        outer_scopes: how many names of scopes are those around the program.
    """

    __slots__ = ("outer_scopes",)

    transformation = "jit"
    stages = True

    def __init__(self, parent: Trace, fun: Callable[..., object] | None = None) -> None:
        super().__init__(parent, fun)
        self.keeps_lines = True
        self.outer_scopes: int = len(named_scopes.get())

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        source = evaluated_source()
        if source is None:
            frame = user_frame(2)
            if frame is not None:
                scopes, code, at = named_scopes.get(), frame.f_code, frame.f_lasti
                own = scopes[self.outer_scopes :] if scopes else ()
                source = ScopedSource(code, at, own) if own else Source(code, at)
        return self.record(primitive, args, params, source)


def scopes_here(outside: bool = False) -> tuple[str, ...]:
    """Return the names of the scopes in the program that is staged, and of the transformations.

    Args:
        outside: whether to include those around the program.
    """
    trace: Trace = current_trace()
    around: list[Transformation] = []
    while not isinstance(trace, StagingTrace) and trace.parent is not trace:
        if not trace.recording:
            name = trace.transformation
            around.append(Transformation("jvp" if name == "linearize" else name))
        trace = trace.parent
    scopes = named_scopes.get()
    own = scopes[trace.outer_scopes :] if isinstance(trace, StagingTrace) else scopes
    known = sum(isinstance(scope, Transformation) for scope in own)
    return (*(scopes if outside else own), *reversed(around[: max(len(around) - known, 0)]))


def scoped_source() -> Source | None:
    """Return the source of the current computation, if it is in a scope."""
    source = evaluated_source()
    if source is not None or not named_scopes.get():
        return source if type(source) is ScopedSource else None
    scopes, frame = scopes_here(), user_frame(2)
    return ScopedSource(frame.f_code, frame.f_lasti, scopes) if frame and scopes else None


def transposed_source(source: Source | None, line: Source | None) -> Source | None:
    """Return the source of an equation's transpose, which is computed here.

    Args:
        source: the equation's.
        line: what the user wrote that transposes it.
    """
    if not isinstance(source, ScopedSource):
        return line
    here, scopes = scopes_here(), source.scopes
    pairs = enumerate(zip(here, scopes, strict=False))
    n = next((i for i, (x, y) in pairs if x != y), min(len(here), len(scopes)))
    within = scopes[n:]
    if within and isinstance(within[0], Transformation):  # no program of its own
        within = (Transformation("transpose"), *within)
    line = source if line is None else line
    return ScopedSource(line.code, line.instruction, (*here, *within))


def extend(jaxpr: Jaxpr, fun: Callable[..., Sequence[Array]]) -> Jaxpr:
    """Return a program followed by a function of its results, which may close over scalars only.

    Only the function is recorded; the program's equations are taken as they are.
    """
    computed = [x for x in jaxpr.outs if isinstance(x, Var)]

    def of_computed(*values: Array) -> Sequence[Array]:
        # results that are literals are given as such, so that what is made of them is one as well
        rest = iter(values)
        return fun(*[next(rest) if isinstance(x, Var) else x.value for x in jaxpr.outs])

    staged = stage(of_computed, [x.aval for x in computed])
    assert not staged.consts, "nothing but the program's own values takes part"
    tail = staged.jaxpr
    names = dict(zip(tail.in_binders, computed, strict=True))

    def rename(x: Atom) -> Atom:
        return names.get(x, x) if isinstance(x, Var) else x

    eqns = [
        JaxprEqn(e.primitive, tuple(map(rename, e.inputs)), e.params, e.out_binders, e.source)
        for e in tail.eqns
    ]
    return Jaxpr(jaxpr.in_binders, (*jaxpr.eqns, *eqns), tuple(map(rename, tail.outs)))


#: The number of loops that were replaced by placeholders of the right types
#: (``core.control_flow.looping``). A program that was staged while it grew is not kept.
placeholders: ContextVar[int] = ContextVar("tinyjax_placeholders", default=0)


@attrs.frozen(eq=False, repr=False)
class Staged:
    """A jaxpr, and the values of its first parameters, which the function closed over.

    Attributes:
        jaxpr: the program.
        consts: the values.
        hooks: the hooks of extensions.
        cells_in: the cells that it takes after its arguments.
        cells_out: the cells that it returns after its results.
    """

    jaxpr: Jaxpr
    consts: tuple[Array, ...]
    hooks: tuple[Hook, ...] = ()
    cells_in: tuple[MutableCell, ...] = ()
    cells_out: tuple[Hashable, ...] = ()

    @property
    def num_results(self) -> int:
        """The number of results, without the final state."""
        return len(self.jaxpr.outs) - len(self.cells_out)

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the results, without the final state."""
        avals = self.jaxpr.out_avals
        return avals[: self.num_results] if self.cells_out else avals


def stage(
    fun: Callable[..., Sequence[Array]],
    avals: Sequence[ShapedArray],
    user_fun: Callable[..., object] | None = None,
    outside: Outside = "nothing",
    hooks: Mapping[type[Hook], Hook] | None = None,
) -> Staged:
    """Record a function of arrays.

    Args:
        fun: takes one array per type, positionally, and returns a sequence of arrays.
        avals: the types of its arguments.
        user_fun: the function to name in messages.
        outside: the available knowledge of state outside.
        hooks: the hooks of extensions that exist before.

    Returns:
        The jaxpr, whose first parameters are for the arrays that ``fun`` closed over, and those
        arrays.
    """
    parent, current = current_trace(), settings()
    trace = StagingTrace(parent, user_fun)
    trace.argument = getattr(fun, "argument", None)
    trace.outside = outside
    if hooks:
        trace.hooks.update(hooks)
    with STAGING_LEVEL, FEWER_FULL_COLLECTIONS, Running(trace, avals):
        args = trace.new_inputs(avals)
        outs = fun(*args)
        staged = trace.build(outs)
    if current.check_leaks and user_fun is not None:
        check = leak_check(trace, fun)
        del trace, args, outs
        check()
    return staged


def close_over(staged: Sequence[Staged]) -> tuple[list[Jaxpr], list[Array]]:
    """Give several jaxprs the same first parameters: the union of what they close over.

    Returns:
        The jaxprs, each with all constants first, and the constants.
    """
    consts: dict[int, Array] = {id(c): c for s in staged for c in s.consts}
    jaxprs = []
    for s in staged:
        own = {id(c): v for c, v in zip(s.consts, s.jaxpr.in_binders, strict=False)}
        binders = [own.get(key) or Var(value.aval) for key, value in consts.items()]
        rest = s.jaxpr.in_binders[len(s.consts) :]
        jaxprs.append(Jaxpr((*binders, *rest), s.jaxpr.eqns, s.jaxpr.outs))
    return jaxprs, list(consts.values())


# Users' functions, staged and called


def is_called() -> bool:
    """Return whether users' functions are called in place of programs: ``disable_jit`` is on."""
    return settings().disable_jit


def stage_call(
    fun: Callable[..., Sequence[Array]],
    avals: Sequence[ShapedArray],
    user_fun: Callable[..., object],
    *,
    often: bool = False,
) -> Staged:
    """Record a user's function, whose program is called by ``call_one_of`` or in a loop.

    Args:
        fun: takes one array per type, positionally, and returns a sequence of arrays.
        avals: the types of its arguments.
        user_fun: the function to name in messages.
        often: whether the program is for later calls, too.
    """
    restarted: dict[type[Hook], Hook] = {}
    while True:
        staged = stage(fun, avals, user_fun, "types" if often else "data", restarted)
        if not staged.hooks:
            return staged
        begun = [(type(hook), hook.restarted()) for hook in staged.hooks]
        restarted = {kind: hook for kind, hook in begun if hook is not None}
        if not restarted:
            return staged


def call_one_of(
    branches: Sequence[Staged],
    args: Sequence[Array],
    bind: Callable[[Sequence[Staged], Sequence[Array]], Sequence[Array]],
    objects: Sequence[Any] = (),
) -> Sequence[Array]:
    """Call one of several programs with the same types of arguments and results.

    Args:
        branches: the programs.
        args: their arguments.
        bind: chooses and calls one, given the programs and the arguments; the state of extensions
            is among arguments and results.
        objects: the arguments that hold arrays in place.
    """
    if not any(staged.hooks for staged in branches):
        return bind(branches, args)
    kinds = dict.fromkeys([type(hook) for staged in branches for hook in staged.hooks])
    branches = _with_same_state(branches)
    args = [*args, *[kept.contents_in(objects) for kept in branches[0].cells_in]]
    for kind in kinds:
        kind.before(
            [
                (hook, staged.jaxpr, (*staged.consts, *args))
                for staged in branches
                for hook in staged.hooks
                if type(hook) is kind
            ]
        )
    outs = bind(branches, args)
    for staged in branches:
        for hook in staged.hooks:
            hook.after(staged.jaxpr.outs, outs)
    n = branches[0].num_results
    left = [*zip(branches[0].cells_out, outs[n:], strict=True)]
    for kind in kinds:
        kind.keep(left, objects)
    return outs[:n]


def call_staged(
    staged: Staged,
    args: Sequence[Array],
    bind: Callable[[Staged, Sequence[Array]], Sequence[Array]],
    objects: Sequence[Any] = (),
) -> Sequence[Array]:
    """Call a program, as ``call_one_of`` does."""
    return call_one_of([staged], args, lambda only, args: bind(only[0], args), objects)


def _with_same_state(branches: Sequence[Staged]) -> Sequence[Staged]:
    """Let all programs take and return the state that some of them do."""
    if len(branches) == 1:
        return branches
    read = tuple(dict.fromkeys([cell for x in branches for cell in x.cells_in]))
    written = tuple([cell for cell in read if any(cell in x.cells_out for x in branches)])
    return [
        attrs.evolve(x, jaxpr=with_state(x, read, written), cells_in=read, cells_out=written)
        for x in branches
    ]


def with_state(
    staged: Staged, cells_in: Sequence[MutableCell], cells_out: Sequence[Hashable]
) -> Jaxpr:
    """Return a program that takes and returns this state, in this order, even if unchanged."""
    jaxpr, results = staged.jaxpr, staged.num_results
    first = len(jaxpr.in_binders) - len(staged.cells_in)
    own = dict(zip(staged.cells_in, jaxpr.in_binders[first:], strict=True))
    binders = {kept: own.get(kept) or Var(kept.aval) for kept in cells_in}
    outs: dict[Hashable, Atom] = dict(binders.items())
    outs.update(zip(staged.cells_out, jaxpr.outs[results:], strict=True))
    return Jaxpr(
        (*jaxpr.in_binders[:first], *binders.values()),
        jaxpr.eqns,
        (*jaxpr.outs[:results], *[outs[kept] for kept in cells_out]),
    )


Q = TypeVar("Q")


# Computing while a function is staged


class FoldingTrace(Trace):
    """A trace that evaluates operations on untraced values, and passes on all others."""

    __slots__ = ()

    transformation = "ensure_compile_time_eval"

    def process(self, primitive: Primitive[Q], args: Sequence[Array], params: Q) -> Sequence[Array]:
        trace = self.parent if any(isinstance(x, Tracer) for x in args) else base_trace()
        with use_trace(trace):
            return trace.process(primitive, args, params)

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        if any(isinstance(x, Tracer) for x in args):
            return self.parent.process_custom_call(call.under_trace(self), args)
        return call.fun(*args)


@block
@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Compute at once, while a function is staged, whatever depends on no traced value.

    Within the block operations on data give data, whose numbers Python can use, for shapes for
    example. Operations on traced values are recorded as ever.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def f(x):
        ...     with tinyjax.ensure_compile_time_eval():
        ...         n = int(jnp.sum(jnp.arange(3)))  # data, although the function is staged
        ...     return x**n
        >>> float(f(2.0))
        8.0
    """
    with use_trace(FoldingTrace(current_trace())):
        yield

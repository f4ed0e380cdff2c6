"""Functions whose calls a context interprets.

``with_context(context, f)`` runs the program of ``f`` (``ir_of``) and passes each call to the
context, whose result it uses. A context may have an effect, return another result, or proceed into
the function, whose calls it then gets in turn. Operators, attributes and subscripts are calls, of
the functions of ``operator`` and of ``getattr``. Making tuples and counting a loop's iterations are
not.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from contextvars import ContextVar
from types import FunctionType, MethodType
from typing import Any, Final, TypeVar

import attrs

from tinyjax import errors
from tinyjax._base import frames
from tinyjax.core.tracing import checking, trace as tr
from tinyjax.source.adjoint import pullbacks, standard_library
from tinyjax.source.adjoint.kinds import kind_of
from tinyjax.source.adjoint.rules import operators, registry
from tinyjax.source.ir import find, read, runtime
from tinyjax.source.ir.program import IR, RETURN, Atom, Statement, Variable
from tinyjax.source.staging import graph, session

C = TypeVar("C", bound="Context")


class Context:
    """An interpretation of the calls inside ``with_context``. Subclass it and override ``call``.

    Example:
        >>> import math
        >>> from tinyjax import source
        >>> class Degrees(source.Context):
        ...     def call(self, fun, *args, **kwargs):
        ...         if fun is math.sin:
        ...             return math.sin(math.radians(args[0]))
        ...         return self.proceed(fun, *args, **kwargs)
        >>> def height(length, angle):
        ...     return length * math.sin(angle)
        >>> round(source.with_context(Degrees(), height)(2.0, 30), 12)
        1.0
    """

    def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return the result of a call in the function; by default its ordinary result.

        Args:
            fun: what is called: a function of the user's, a built-in function, one of a library,
                or of ``operator`` for an operator.
            args: its arguments.
            kwargs: its keyword arguments.

        Example:
            >>> from tinyjax import source
            >>> class Doubling(source.Context):
            ...     def call(self, fun, *args, **kwargs):
            ...         result = self.proceed(fun, *args, **kwargs)
            ...         return 2 * result if fun is abs else result
            >>> source.with_context(Doubling(), lambda x: abs(x) + 1)(-3)
            7
        """
        return self.proceed(fun, *args, **kwargs)

    def proceed(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Proceed with a call: into a Python function, whose calls this context interprets.

        Functions of libraries, built-in functions and operators are run. Where there is an outer
        context, they are passed to it. To run a function without interpreting its calls, call it.

        Example:
            >>> from tinyjax import source
            >>> class Quiet(source.Context):
            ...     def call(self, fun, *args, **kwargs):
            ...         return None if fun is print else self.proceed(fun, *args, **kwargs)
            >>> source.with_context(Quiet(), lambda x: (print(x), x + 1))(3)
            (None, 4)
        """
        layer = _current.get()
        if layer is None or layer.context is not self:
            return fun(*args, **kwargs)
        return enter(layer, fun, args, kwargs)

    def own(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return the result of a function of this package, or ``NotImplemented`` for its usual one.

        Example:
            >>> from tinyjax import source
            >>> source.Context().own(abs, (-3,))
            NotImplemented
        """
        return NotImplemented

    @property
    def location(self) -> frames.Location | None:
        """The user's line of the current call."""
        layer = _current.get()
        return None if layer is None else _line.get()


@attrs.frozen(eq=False)
class Layer:
    """A context, and the one around it."""

    context: Context
    outer: Layer | None


#: The context that interprets the current call, and its location.
_current: ContextVar[Layer | None] = ContextVar("tinyjax_source_context", default=None)
_line: ContextVar[frames.Location | None] = ContextVar("tinyjax_source_line", default=None)


def with_context(context: Context, fun: Callable[..., Any]) -> Contextual:
    """Return a function that does what another does, with its calls interpreted by a context.

    Every call in the function goes to the context, and so do the calls in the Python functions that
    it calls, control flow included. Contexts nest: the calls that the inner one runs go to the
    outer one.

    The derivative (``source.grad``) of the function returned is that of ``fun``: the value is
    computed in the context, and the adjoint outside of it. A context around ``source.grad(fun)``
    sees the operations of the adjoint too.

    Args:
        context: interprets the calls.
        fun: a Python function, or one that ``grad``, ``vjp`` or ``with_context`` returned.

    Returns:
        A function of the same arguments.

    Raises:
        ArgumentError: one is no context, or the other no function.
        SourceError: a function uses a feature that ``tinyjax.source`` does not support.

    Example:
        >>> from tinyjax import source
        >>> from tinyjax.source.contexts import OperationCounter
        >>> def power(x, n):
        ...     r = 1.0
        ...     while n > 0:
        ...         n, r = n - 1, r * x
        ...     return r
        >>> counter = OperationCounter()
        >>> source.with_context(counter, power)(2.0, 5)
        32.0
        >>> counter.counts
        {'>': 6, '-': 5, '*': 5}
    """
    if not isinstance(context, Context):
        raise errors.ArgumentError(
            f"with_context takes a Context first, but got {errors.type_name(context)}. Give an "
            "instance of a subclass of tinyjax.source.Context."
        )
    errors.check_function("with_context", fun)
    return Contextual(context, fun)


@attrs.frozen(eq=False)
class Contextual:
    """The result of ``with_context``."""

    context: Context
    fun: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return in_context(self.context, self.fun, args, kwargs)


def in_context(
    context: Context, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function in a context that no other is around."""
    layer = Layer(context, None)
    try:
        return ask(layer, fun, args, kwargs) if is_leaf(fun) else enter(layer, fun, args, kwargs)
    except runtime.InPlaceError:
        raise find.refusal(
            "the derivative of a function that changes arrays which it may not have made is not "
            "taken in a context. Change arrays in the function that makes them."
        ) from None


@registry.adjoint_of(in_context)
def _in_context_adjoint(ct: Any, y: Any, context: Any, fun: Any, args: Any, kwargs: Any) -> Any:
    parts = pullbacks.pulled_back(ct, fun, *args, **kwargs)
    return None, *pullbacks.of_call(parts, args, kwargs)


def ask(layer: Layer, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a context's result for a call."""
    with tr.assigned(_current, layer):
        return layer.context.call(fun, *args, **kwargs)


# Going on into functions


def enter(layer: Layer, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function with its calls passed to a context."""
    if isinstance(fun, Contextual):
        return enter(Layer(fun.context, layer), fun.fun, args, kwargs)
    if fun is pullbacks.pull:  # finds out what to run; only that is the program's
        value, back = enter(layer, *pullbacks.route(args[0], args[1:], kwargs))
        return value, pullbacks.of_pull(back) if args[0] is pullbacks.pull else back
    if isinstance(fun, MethodType):
        return enter(layer, fun.__func__, (fun.__self__, *args), kwargs)
    if isinstance(fun, functools.partial):
        return meet(layer, fun.func, (*fun.args, *args), {**fun.keywords, **kwargs})
    if (written := standard_library.equivalent(fun)) is not None:
        return enter(layer, written, args, kwargs)
    if fun is getattr and len(args) == 2:
        getter = operators.getter_of(*args)
        if getter is not None and not is_leaf(getter):
            return meet(layer, getter, args[:1], {})
    if is_leaf(fun):
        if layer.outer is not None:
            return ask(layer.outer, fun, args, kwargs)
        with tr.assigned(_current, None):
            return fun(*args, **kwargs)
    if not isinstance(fun, FunctionType):
        return enter(layer, type(fun).__call__, (fun, *args), kwargs)
    ir = read.ir_of(fun)
    values = (fun, *find.bound(fun, args, kwargs).values)
    before = _line.get()
    try:
        return run_program(ir, values, Interpreter(layer, ir))
    finally:
        _line.set(before)


def meet(layer: Layer, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a call that a program makes: of the context, unless it is the machinery's own."""
    if is_own(fun):
        result = NotImplemented if kwargs else layer.context.own(fun, args)
        if result is not NotImplemented:
            return result
        is_known = registry.rule_of(fun) is not None or registry.is_inert(fun)
        if is_known and not runtime.is_in(fun, registry.slopes):
            return fun(*args, **kwargs)
        return enter(layer, fun, args, kwargs)
    return ask(layer, fun, args, kwargs)


_OWN: Final = f"{frames.PACKAGE_DIRECTORY}source/"
_CONTEXTS: Final = f"{_OWN}contexts.py"


def is_own(fun: Any) -> bool:
    """Return whether a function is part of this package, and was not generated by it."""
    if isinstance(fun, MethodType):
        return is_own(fun.__func__)
    if isinstance(fun, FunctionType):
        filename = fun.__code__.co_filename
        return filename.startswith(_OWN) and not filename.startswith((f"{_OWN}<", _CONTEXTS))
    kind = fun if isinstance(fun, type) else type(fun)
    return kind.__module__.startswith("tinyjax.source.") and not (
        kind is Contextual or kind.__module__.startswith("tinyjax.source.contexts")
    )


def is_leaf(fun: Any) -> bool:
    """Return whether the interpreter does not enter a function: a library's, or a built-in one."""
    if isinstance(fun, MethodType):
        return is_leaf(fun.__func__)
    if isinstance(fun, functools.partial) or standard_library.equivalent(fun) is not None:
        return False
    if isinstance(fun, FunctionType):
        filename = fun.__code__.co_filename
        own = filename.startswith(_OWN) and not filename.startswith(_CONTEXTS)
        return not (own or session.is_read(fun))
    if isinstance(fun, type):
        return True
    return is_leaf(call) if isinstance(call := type(fun).__call__, FunctionType) else True


# Programs


@checking.explained
def evaluate(ir: IR, *args: Any, **kwargs: Any) -> Any:
    """Run a program.

    Args:
        ir: the program of a function, from ``ir_of``.
        args: the function's arguments.
        kwargs: its keyword arguments.

    Returns:
        What the function returns.

    Raises:
        SourceError: the program changes a list, a dict or a NumPy array in place.

    Example:
        >>> from tinyjax import source
        >>> def power(x, n):
        ...     r = 1.0
        ...     while n > 0:
        ...         n, r = n - 1, r * x
        ...     return r
        >>> source.evaluate(source.ir_of(power), 2.0, 5)
        32.0
    """
    fun = ir.function
    values = args if fun is None else (fun, *find.bound(fun, args, kwargs).values)
    return run_program(ir, values)


#: Makes the call of a statement: the function, the arguments, the keyword arguments.
Apply = Callable[[Statement, Any, tuple[Any, ...], dict[str, Any]], Any]


def run_program(ir: IR, values: tuple[Any, ...], apply: Apply | None = None) -> Any:
    """Run a program on the values of its first block's parameters."""
    env: dict[Variable, Any] = {}

    def read(atom: Atom) -> Any:
        return env[atom] if isinstance(atom, Variable) else atom.value

    index = 0
    while True:
        block = ir.blocks[index]
        env.update(zip(block.arguments, values, strict=True))
        for statement in block.statements:
            call = statement.call
            fun, args = read(call.function), tuple([read(arg) for arg in call.args])
            kwargs = {name: read(value) for name, value in call.keywords}
            env[statement.variable] = (
                fun(*args, **kwargs) if apply is None else apply(statement, fun, args, kwargs)
            )
        for exit_ in block.exits:
            if exit_.target == RETURN:
                return read(exit_.args[0])
            if exit_.unless is None or not read(exit_.unless):
                index = exit_.target
                values = tuple([read(arg) for arg in exit_.args])
                break


class Interpreter:
    """Makes the calls of one program.

    Attributes:
        layer: the context that interprets them.
        ir: the program.
        own: whether it is this package's own, some of whose calls are of types and shapes only.
        counting: the variables that only count the iterations of ``for`` loops.
    """

    def __init__(self, layer: Layer, program: IR) -> None:
        self.layer = layer
        self.ir = program
        self.own: bool = is_own(program.function)
        self.counting: frozenset[Variable] = counting(program)

    def __call__(
        self, statement: Statement, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if statement.variable in self.counting:
            return fun(*args)
        if statement.line:
            _line.set(frames.Location(self.ir.filename, statement.line, self.ir.name))
        if fun is runtime.apply:
            return meet(self.layer, args[0], args[1], args[2])
        if fun is runtime.updated and not runtime.changes(args[0], args[1]):
            return meet(self.layer, args[0], args[1:], {})
        boxed = any(isinstance(x, runtime.Box) for x in args)
        if (
            self.own
            and not boxed
            and (registry.is_inert(fun) or not any(kind_of(x).active for x in args))
        ):
            return fun(*args, **kwargs)
        if fun is getattr and is_own(args[0]):
            return getattr(*args)
        if fun is runtime.contains:
            return ask(self.layer, operator.contains, args[::-1], {})
        if fun is runtime.lacks:
            return not ask(self.layer, operator.contains, args[::-1], {})
        if isinstance(fun, FunctionType) and fun.__module__ == runtime.__name__:
            return fun(*args, **kwargs)
        return meet(self.layer, fun, args, kwargs)


def counting(ir: IR) -> frozenset[Variable]:
    """Return the variables of a program that only count iterations of its ``for`` loops."""
    variables: set[Variable] = set()
    for block in ir.blocks:
        loop = graph.counting(block, graph.gone_through(ir))
        if loop is not None:
            index = block.arguments[loop.counter]
            uses = [s for s in ir.statements if s.call.args[:1] in ((loop.items,), (index,))]
            items = [s for s in uses if s.call.args[1:] == (index,)]
            steps = [s for s in uses if s.function is operator.add and s.variable.name == "index"]
            variables.update(s.variable for s in (*block.statements, *items, *steps))
    return frozenset(variables)

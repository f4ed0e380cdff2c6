"""``stage``: a function whose control flow may depend on traced values."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, Generic, ParamSpec, TypeVar

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax._base import frames, lazy
from tinyjax._base.pickling import PickledAsFunction
from tinyjax.core import jit
from tinyjax.core.api.staging import make_jaxpr
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array
from tinyjax.custom_derivatives import closures
from tinyjax.source import facts
from tinyjax.source.adjoint import cotangents, standard_library
from tinyjax.source.adjoint.aliases import Aliases
from tinyjax.source.adjoint.certainty import STAGING, Certainty
from tinyjax.source.adjoint.kinds import ACTIVE, ARRAY, Kind, infer, kind_of
from tinyjax.source.adjoint.lookups import KeySearch, lookups
from tinyjax.source.adjoint.ranks import Ranks
from tinyjax.source.adjoint.rules import methods
from tinyjax.source.ir import find, program as ir, randomness, read, runtime, syntax
from tinyjax.source.staging import (
    arrays,
    effects,
    exits,
    loops,
    opaque_calls,
    operators,
    values as staging_values,
)
from tinyjax.source.staging.graph import ControlFlowGraph
from tinyjax.source.staging.run import ProgramRun
from tinyjax.source.staging.session import Entered, Session, current_session, is_read

P = ParamSpec("P")
R = TypeVar("R")


class StagedFunction(Generic[P, R], PickledAsFunction):
    """A function whose control flow may depend on traced values; made by ``stage``.

    Example:
        >>> import tinyjax
        >>> from tinyjax import source
        >>> @source.stage
        ... def clipped(x):
        ...     return x if x > 0 else 0.0
        >>> isinstance(clipped, source.staging.StagedFunction), tinyjax.jit(clipped)(-3.0)
        (True, Array(0., dtype=float32, weak_type=True))
    """

    __name__: str
    __wrapped__: Callable[P, R]

    def __init__(self, fun: Callable[P, R]) -> None:
        frames.imitate(self, fun)
        self.fun = fun

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result: R = call(self.fun, args, kwargs)
        except Exception as error:
            reason = None if current_session.get() is not None else _reason_of(error)
            if reason is None:
                raise
            result = _captured(self.fun, args, kwargs, reason)
        return result

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]:
        """Bind as a method does."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<staging of {frames.describe_function(self.fun)}>"


def reason_of_capture(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exception | None:
    """Return why a function is captured, and not staged; None if it is staged.

    Integers and texts among its arguments are static.
    """
    leaves, structure = tree.flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _TRACED)]

    def program(*traced: Any) -> Any:
        values = dict(zip(places, traced, strict=True))
        now = [values.get(i, leaf) for i, leaf in enumerate(leaves)]
        return call(fun, *tree.unflatten(structure, now))

    try:
        make_jaxpr(program)(*[leaves[i] for i in places])
    except Exception as error:
        reason = _reason_of(error)
        if reason is None:
            raise
        return reason
    return None


def _reason_of(error: Exception) -> Exception | None:
    """Return why a program is captured whose staging raised an error; None if it is not.

    An operation may raise an error of Python's for a tracer only, and functions of tinyjax refuse
    arguments that NumPy's functions take.
    """
    if isinstance(error, staging_values.NotStagedError):
        return error.reason
    is_of_program = isinstance(error, errors.UndecidedError) or (
        isinstance(error, errors.TinyjaxError) and not isinstance(error, _OF_TRACERS)
    )
    return None if is_of_program or _is_fault(error) else error


def _is_fault(error: Exception) -> bool:
    """Return whether a name is missing in the code that stages, and not in the program."""
    if not isinstance(error, (AttributeError, NameError)) or error.name is None:
        return False
    code = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)][-1]
    return code.co_filename.startswith(_HOME) and code not in _ASKING


#: Errors of a call that NumPy may take: of tracers, or of arguments.
_OF_TRACERS: Final = (
    *(errors.ConcretizationError, errors.ArgumentError, errors.AxisError, errors.DtypeError),
    *(errors.PromotionError, errors.ShapeError),
)
_TRACED: Final = (float, complex, np.ndarray, np.generic, Array)


def stage(fun: Callable[P, R]) -> StagedFunction[P, R]:
    """Let a function's control flow depend on traced values.

    The function is read (``ir_of``), and so are the functions of the user's that it calls. Where a
    condition is traced, ``if``, conditional expressions, ``and`` and ``or`` become ``lax.cond``,
    ``while`` becomes ``lax.while_loop``, and ``for`` over a traced array ``lax.scan``, with
    ``break``, ``continue`` and early ``return`` anywhere. Python does everything that does not
    depend on traced values, and a call without traced values is a plain call of the function.

    A program is captured as a whole (``capture``) if a part of it cannot be read, or if it is not
    certain what the arrays that it changes share memory with. Then ``jit`` compiles a program for
    each path through it. ``explain`` says which of the two a program is, and why.

    Args:
        fun: a Python function, a lambda or a method.

    Returns:
        A function of the same signature, for use in and under any transformation.

    Raises:
        ArgumentError: ``fun`` is not callable.
        SourceError: when called, if the function uses data of traced values in Python, calls itself
            or has effects under a traced condition, or can be neither staged nor captured.
        UndecidedError: when called, if the program is captured and decides by traced values, where
            no ``jit`` is outermost, which knows their data.
        BranchTypeError: when called, if a variable's type depends on a traced condition; the
            message names the variable and both lines.
        CarryTypeError: when called, if a variable changes its type in a traced loop.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import source
        >>> @source.stage
        ... def root(x):
        ...     y = x
        ...     while abs(y * y - x) > 1e-6 * x:
        ...         y = (y + x / y) / 2
        ...     return y
        >>> tinyjax.vmap(root)(jnp.array([4.0, 9.0]))
        Array([2., 3.], dtype=float32)
        >>> round(float(tinyjax.jit(tinyjax.grad(root))(4.0)), 4)
        0.25
    """
    errors.check_function("stage", fun)
    return StagedFunction(fun)


def _captured(fun: Any, args: Any, kwargs: Any, reason: Exception) -> Any:
    """Call a captured function, which cannot be staged for a reason.

    Raises:
        Exception: the reason, if it cannot be captured either, or raises the same error then.
        UndecidedError: it decides by traced values, and no ``jit`` knows their data.
    """
    try:
        return lazy.hook("source").capture(fun)(*args, **kwargs)
    except errors.UndecidedError as undecided:
        raise undecided from reason
    except errors.CaptureError as error:
        if not isinstance(reason, errors.TinyjaxError):
            raise
        raise reason from error
    except Exception as error:
        if not isinstance(reason, type(error)):
            raise
        raise reason from error


def call(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a call, reading the function if it is the user's and is given something traced."""
    result, args, kwargs = _call_by_values(fun, args, kwargs)
    if result is not arrays.NOT_TAKEN:
        return result
    if runtime.is_in(fun, syntax.IN_PLACE) and np.ndim(args[0]):
        raise staging_values.not_staged(
            f"operator.{fun.__name__} by another name is not taken in a program that is "
            "staged, which is not to know whether it changes an array. Write x += y and the "
            "like."
        )
    match fun:
        case functools.partial():
            return call(fun.func, (*fun.args, *args), {**fun.keywords, **kwargs})
        case MethodType():
            return call(fun.__func__, (fun.__self__, *args), kwargs)
        case functools._lru_cache_wrapper() if staging_values.holds_tracer((args, kwargs)):
            raise staging_values.not_staged(find.OF_CACHE)
        case _ if is_read(fun):
            traced = staging_values.holds_tracer((args, kwargs)) or staging_values.holds_tracer(fun)
            if traced or (_is_conditional() and effects.effect_with(fun, args)):
                return _run(fun, args, kwargs)
            return fun(*args, **kwargs)
        case _ if fun is runtime.enter:
            _check_manager(*args)
            with _in_session() as session:
                return session.enter(*args)
        case _ if fun is runtime.leave:
            with _in_session() as session:
                return session.leave(*args)
        case _ if fun is print and (staging_values.holds_tracer(args) or _is_conditional()):
            if kwargs.get("file") not in (None, sys.stdout, sys.stderr):
                raise staging_values.not_staged("print() to a file is not staged.")
            return staging_values.print_when_run(tuple(opaque_calls.plain_arguments(args)), kwargs)
        case _ if _is_given_changing(fun, args, kwargs):
            raise staging_values.not_staged(
                "a function that may change arrays is given to one that is not read."
            )
        case _ if fun is getattr and is_read(getter := effects.property_of(*args[:2])):
            return call(getter, args[:1], {})
        case _ if (written := _python_version(fun)) is not None:
            if any(map(is_read, args)) or staging_values.holds_tracer((args, kwargs)):
                return _run_written(fun, written, args, kwargs)
            return _call_unread(fun, args, kwargs)
        case _:
            return _call_unread(fun, args, kwargs)


def _check_manager(manager: Any) -> None:
    """Check that a ``with`` statement may be staged.

    Raises:
        NotStagedError: it may catch exceptions, or texts.
        SourceError: it has effects under a traced condition.
    """
    if _is_conditional():
        effects.check_manager(manager)
    if isinstance(manager, runtime.REDIRECTING):
        raise staging_values.not_staged("redirected output is not staged.")
    if runtime.catches(manager):
        raise staging_values.not_staged(
            "a with statement may catch exceptions, which traced numbers do not raise. Test for "
            "the case with if."
        )


def _call_by_values(
    fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Make a call of arrays that change, or of values known in each iteration of a loop.

    Returns:
        The result; or ``NOT_TAKEN`` and the arguments for another way to call.
    """
    iterations = staging_values.current_iterations.get()
    if arrays.concerned(fun, args, kwargs):
        args, kwargs = _without_known(args, kwargs)
        return arrays.call(fun, args, kwargs), args, kwargs
    if iterations is None or not staging_values.holds_known((args, kwargs)) or _passes_on(fun):
        return arrays.NOT_TAKEN, args, kwargs
    iterations = staging_values.iterations_of((args, kwargs), iterations)
    result, args, kwargs = _call_known(iterations, fun, args, kwargs)
    is_known = result is not staging_values.NOT_KNOWN
    return result if is_known else arrays.NOT_TAKEN, args, kwargs


def _is_given_changing(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call is given a function that may change arrays which it closes over."""
    session, operands = current_session.get(), [*args, *kwargs.values()]
    operands += [x for value in operands if type(value) in (tuple, list) for x in value]
    functions = [x for x in operands if is_read(x)]
    is_own = getattr(fun, "__module__", None) == runtime.__name__
    if session is None or not functions or is_own or arrays.passes(fun, args):
        return False
    if not session.is_cautious:  # Python runs it on tracers, which never change
        return runtime.is_in(fun, facts.CALLERS)
    return any(map(_writes_outside, functions))


def _writes_outside(fun: FunctionType) -> bool:
    try:
        program = read.ir_of(fun)
    except errors.SourceError:
        return True
    kinds = tuple([ACTIVE for _ in program.blocks[0].arguments])
    return Aliases(program, kinds, is_cautious=True).writes_outside


#: Functions of Python's library that call others, or decide by what they are given.
_CALLING: Final = frozenset(
    (map, filter, functools.reduce, itertools.accumulate, itertools.compress, itertools.dropwhile,
     itertools.filterfalse, itertools.groupby, itertools.starmap, itertools.takewhile,
     operator.call)
)  # fmt: skip


def _python_version(fun: Any) -> Any:
    """Return the Python implementation that is staged for a standard function, or None."""
    known = runtime.is_in(fun, _CALLING) or isinstance(fun, staticmethod)
    return standard_library.equivalent(fun) if known else None


#: Functions that make containers or return their items.
_CONTAINERS: Final = frozenset(
    (*runtime.BUILDING, runtime.unpacked_star, runtime.defined, runtime.make_functions)
)


def _run_written(fun: Any, python_fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of Python's library as its equivalent in Python."""
    if isinstance(fun, staticmethod):
        return call(python_fun, args, kwargs)
    try:
        return _run(python_fun, args, kwargs)
    except (errors.BranchTypeError, errors.CarryTypeError) as error:
        if error.location is None or error.location.filename != standard_library.__file__:
            raise
        if not error.message.startswith(exits.COLLECTED):
            raise type(error)(error.message) from None
        raise type(error)(
            f"how many items {fun.__qualname__} gives depends on traced values, but arrays have "
            "fixed shapes. Choose each item by a conditional expression in a list comprehension, "
            "as in sum([x if x > 0 else 0 for x in xs]), or with jnp.where."
        ) from None


def _passes_on(fun: Any) -> bool:
    """Return whether a call only passes on values that are known in each iteration of a loop."""
    if isinstance(fun, functools.partial):
        return _passes_on(fun.func)
    if isinstance(fun, type):
        return issubclass(fun, BaseException)
    method = fun.__func__ if isinstance(fun, MethodType) else fun
    return is_read(method) or runtime.is_in(fun, _CONTAINERS)


def _call_known(
    iterations: staging_values.Iterations, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Call a function of values that are known in each iteration of a loop.

    Returns:
        The results, if they are known too; otherwise the arguments as traced values.
    """
    if fun is operator.getitem and not staging_values.holds_known(args[1]):
        return args[0][args[1]], args, kwargs
    sample = staging_values.replaced((args, kwargs), iterations, operator.methodcaller("item", 0))
    reads = fun is print or opaque_calls.takes_functions(fun) or opaque_calls.makes_text(fun)
    if not reads and not staging_values.holds_tracer(sample):
        effects.check_effects(fun, *sample)
        result = staging_values.in_each_iteration(iterations, fun, args, kwargs)
        if result is not staging_values.NOT_KNOWN:
            return result, args, kwargs
    if fun is slice and len(args) == 3 and args[2] is None:
        window = _window(iterations, args[0], args[1])
        if window is not None:
            return window, args, kwargs
    return staging_values.NOT_KNOWN, *_without_known(args, kwargs)


def _window(iterations: staging_values.Iterations, start: Any, stop: Any) -> slice | None:
    """Return a slice whose length is the same in each iteration of a loop."""
    bounds = (start, stop)
    if not all(isinstance(x, staging_values.Known) and x.complete for x in bounds):
        return None
    lengths = {stop.item(i) - start.item(i) for i in range(iterations.count)}
    if len(lengths) != 1 or any(start.item(i) < 0 for i in range(iterations.count)):
        return None
    first, length = start.array(), lengths.pop()
    end = call(operator.add, (first, length), {})
    arrays.note_name(operator.add, (first, length), end)
    return slice(first, end)


def _is_conditional() -> bool:
    """Return whether the current call is under a traced condition or loop."""
    session = current_session.get()
    return session is not None and session.conditions > 0


def _check_methods(fun: Any, args: tuple[Any, ...]) -> None:
    """Raise if a call is one of a method of an object's that is not staged."""
    if runtime.is_in(fun, syntax.OPERATORS):
        if staging_values.are_of_objects(*args):
            raise staging_values.not_staged(
                "NumPy gives the elements of an array to a method of an object, which is not "
                "staged."
            )
    elif runtime.is_in(fun, methods.UNFOLLOWED) and any(map(staging_values.is_object, args)):
        raise staging_values.not_staged(
            f"{fun.__name__} is a method of an object's here, which is not staged."
        )


def _call_unread(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an object that is no function of the user's, perhaps an instance of a user's class."""
    if runtime.heeds_warnings(fun, args, kwargs):
        raise staging_values.not_staged(
            "the program sees which errors numbers cause, and traced ones cause none. Test for the "
            "case with if."
        )
    if not arrays.passes(fun, args) and not _is_users(fun):
        args, kwargs = arrays.read_by(fun, args, kwargs)
    method = getattr(type(fun), "__call__", None)  # noqa: B004 - the class's own
    if is_read(method):
        return call(method, (fun, *args), kwargs)
    if isinstance(fun, type) and issubclass(fun, BaseException):
        return fun(*staging_values.as_texts(args), **kwargs)
    _check_methods(fun, args)
    other = opaque_calls.replacement(fun, args, kwargs)
    if other is not None or (args and isinstance(args[0], Array)):
        opaque_calls.check_call(fun, args, kwargs)
    if other is not None:
        return opaque_calls.with_class(fun, other(*args, **kwargs))
    if opaque_calls.takes_functions(fun):
        return fun(*map(_staged, args), **{name: _staged(v) for name, v in kwargs.items()})
    if _is_conditional():
        effects.check_effects(fun, args, kwargs)
    session = current_session.get()
    if session is not None and session.generators.repeats(fun, args):
        raise staging_values.not_staged(randomness.REFUSAL)
    if any(isinstance(x, _GROWING) for x in args) and effects.effect_with(fun, args):
        raise staging_values.not_staged(
            f"{effects.name_of(fun)} may change a list or the like, which is not staged."
        )
    if _is_of_package(fun) and staging_values.holds_tracer((args, kwargs)):
        raise staging_values.not_staged(
            f"{fun.__module__}.{fun.__qualname__} is not staged: it may change arrays in place."
        )
    result = opaque_calls.with_class(fun, fun(*opaque_calls.plain_arguments(args), **kwargs))
    if session is not None:
        session.generators.follow(fun, args, kwargs, result)
    return result


#: The code that stages, and that which takes the attributes that a program asks for.
_HOME: Final = str(Path(__file__).parent)
_ASKING: Final = tuple(
    fun.__code__
    for fun in (
        operators.attribute_of,
        operators.has_attribute,
        _call_unread,
        arrays.StagedArray.__getattr__,
    )
)
#: Containers that a function in C may change; a staged program passes a copy.
_GROWING: Final = (list, dict, set, collections.deque)


def _is_of_package(fun: Any) -> bool:
    """Return whether a function is one of another package's, which may be written for NumPy."""
    if not isinstance(fun, FunctionType) or not find.is_library(fun.__code__.co_filename):
        return False
    root = fun.__module__.partition(".")[0]
    return root not in effects.PURE_MODULES or root == "scipy"


def _is_users(fun: Any) -> bool:
    """Return whether it is a class that stores its arguments, or a callable instance of one."""
    kind = fun if isinstance(fun, type) else type(fun)
    if is_read(getattr(kind, "__init__", None)) or cotangents.is_declared(fun):
        return True
    return isinstance(fun, type) and (attrs.has(fun) or hasattr(fun, "__dataclass_fields__"))


def _without_known(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments with arrays in place of values known in each iteration of a loop."""
    iterations = staging_values.current_iterations.get()
    if iterations is None or not staging_values.holds_known((args, kwargs)):
        return args, kwargs
    replaced: tuple[tuple[Any, ...], dict[str, Any]] = staging_values.replaced(
        (args, kwargs), iterations, staging_values.Known.array
    )
    return replaced


def _staged(value: Any) -> Any:
    """Return an argument of a function of tinyjax: functions are staged when it runs them."""
    if type(value) in (tuple, list) and any(map(is_read, value)):
        return type(value)(map(_staged, value))
    return stage(value) if is_read(value) else value


@contextmanager
def _in_session() -> Iterator[Session]:
    """The staging that goes on, or a new one."""
    session = current_session.get()
    if session is not None:
        yield session
        return
    new_session = Session(call, loops.run_loop)
    with tr.assigned(current_session, new_session):
        yield new_session


def _run(fun: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Read a function and run it."""
    with _in_session() as session:
        try:
            program = read.ir_of(fun)
        except errors.SourceError as error:
            if _is_conditional():
                effects.check_effects(fun, args, kwargs)
            raise staging_values.NotStagedError(error) from None
        if "graph" not in program.derived:
            program.derived["graph"] = ControlFlowGraph(program)
        graph: ControlFlowGraph = program.derived["graph"]
        values = (fun, *find.bound(fun, args, kwargs).values)
        if session.entered:
            return _enter(session, program, graph, values)
        values = tuple(map(operators.widened, values))
        parts = staging_values.take_apart(values[1:])[0]
        session.layouts.ordered.update({id(x): x for x in parts if isinstance(x, Array)})
        rewind = session.mark()
        for session.is_cautious in (False, True):
            try:
                return arrays.at_now(_enter(session, program, graph, values))
            except runtime.InPlaceError:
                rewind()
            except Exception:
                rewind()
                raise
        raise staging_values.not_staged(
            "an array is changed in place that the program has not made: one that it closes "
            "over, or one of a module. Give it as an argument, or copy it first."
        )


def _enter(
    session: Session, program: ir.IR, graph: ControlFlowGraph, values: tuple[Any, ...]
) -> Any:
    """Run a program on the values of its parameters, the function first."""
    fun = values[0]
    kinds = tuple(map(_kind_of, values))
    aliases, buffers = _aliases_in(session, program, kinds, values), len(session.buffers)
    run = ProgramRun(session, program, graph, aliases, _lookups_in(program, kinds))
    if not session.entered and aliases.writes_outside:
        values = tuple(map(arrays.as_staged, values))
    parts, _ = staging_values.take_apart((_closed_over(fun), values[1:]))
    entered = Entered(fun.__code__, parts, session.conditions, buffers)
    session.check_recursion(entered)
    again = session.conditions and any(e.code is fun.__code__ for e in session.entered)
    session.entered.append(entered)
    managers = len(session.managers)
    try:
        if (
            again
            and not aliases.written_variables
            and not arrays.holds(values)
            and not _closes_over_tracers(fun, values)
        ):
            outcome = _run_shared(run, values)
        else:
            outcome = run.execute(0, values)
    finally:
        session.entered.pop()
        session.leave_all(managers)
    return outcome.arrivals[ir.RETURN][0] if outcome.arrivals else None


def _kind_of(value: Any) -> Kind:
    return ARRAY if isinstance(value, (Array, np.ndarray, arrays.StagedArray)) else kind_of(value)


def _lookups_in(
    program: ir.IR, kinds: tuple[Kind, ...]
) -> Mapping[ir.Variable, Sequence[KeySearch]]:
    """Return what a program looks for in what it may have kept, by the results."""
    by_result: dict[ir.Variable, list[KeySearch]] | None = program.derived.get(("lookups", kinds))
    if by_result is None:
        by_result = program.derived["lookups", kinds] = {}
        for lookup in lookups(program, kinds):
            by_result.setdefault(lookup.statement.variable, []).append(lookup)
    return by_result


def _aliases_in(
    session: Session, program: ir.IR, kinds: tuple[Kind, ...], values: tuple[Any, ...]
) -> Aliases:
    """Return the arrays of a program that share memory, and those that it changes in place."""
    own = frozenset([i for i, x in enumerate(values) if session.layouts.is_own(x)])
    key = ("aliases", session.is_cautious, kinds, own)
    if key not in program.derived:
        checked = _checked_aliases(program, kinds, own, is_cautious=session.is_cautious)
        program.derived[key] = checked
    aliases: Aliases = program.derived[key]
    return aliases


def _checked_aliases(
    program: ir.IR, kinds: tuple[Kind, ...], own: frozenset[int], *, is_cautious: bool
) -> Aliases:
    """Return which variables may share memory, if that is certain of the arrays that change.

    Raises:
        NotStagedError: it is not certain.
        InPlaceError: a called function's program has to be checked, too.
    """
    aliases = Aliases(program, kinds, own=own, is_cautious=is_cautious)
    if is_cautious or aliases.values:
        by_variable = infer(program, kinds, aliases.written_variables)
        ranks = Ranks(program, kinds)
        checked = Certainty(program, ranks, by_variable, aliases, STAGING, is_cautious=is_cautious)
        try:
            checked.check()
        except errors.SourceError as error:
            raise staging_values.NotStagedError(error) from None
    return aliases


def _closes_over_tracers(fun: FunctionType, values: tuple[Any, ...]) -> bool:
    """Return whether a call uses tracers that are not parts of its arguments."""
    parts, _ = staging_values.take_apart(values[1:])
    return staging_values.holds_tracer(
        [_closed_over(fun), [p for p in parts if not isinstance(p, Array)]]
    )


@attrs.frozen(eq=False)
class Shared:
    """The program of a recursive function, for calls that differ in arrays only.

    Attributes:
        code: the function.
        structure: the structure of its arguments.
        parts: the parts of its arguments and of the values it closes over; arrays among the
            arguments are represented by their types.
        piece: the program.
    """

    code: CodeType
    structure: tree.PyTreeDef
    parts: list[Any]
    piece: exits.StagedPiece

    def serves(self, code: CodeType, structure: tree.PyTreeDef, parts: list[Any]) -> bool:
        """Return whether a call may use the program."""
        same = self.code is code and self.structure == structure and len(self.parts) == len(parts)
        return same and all(map(staging_values.is_same, self.parts, parts))


def _run_shared(run: ProgramRun, values: tuple[Any, ...]) -> exits.Outcome:
    """Run a function that calls itself as a program that other calls of it may share.

    Otherwise a function that calls itself twice, down to a static depth ``n``, would be staged
    ``2**n`` times.
    """
    fun, *args = values
    parts, structure = staging_values.take_apart(args)
    arrays = [part for part in parts if isinstance(part, Array)]
    known = [part.aval if isinstance(part, Array) else part for part in parts]
    known += staging_values.take_apart(_closed_over(fun))[0]
    session = run.session
    serving = [shared for shared in session.shared if shared.serves(fun.__code__, structure, known)]
    if serving:
        piece: exits.StagedPiece = serving[0].piece
    else:

        def again(*arrays: Array) -> exits.Outcome:
            rest = iter(arrays)
            filled = [next(rest) if isinstance(part, Array) else part for part in parts]
            values = (fun, *tree.unflatten(structure, filled))
            return run.aside().execute(0, values)

        piece = exits.stage_piece(session.conditional(again), fun, [x.aval for x in arrays])
        session.shared.append(Shared(fun.__code__, structure, known, piece))
    staged = piece.staged
    outs = tr.bind(jit.jit_p, (*staged.consts, *arrays), jit.JitParams(staged.jaxpr, fun.__name__))
    return piece.outcome(outs)


def _closed_over(fun: FunctionType) -> list[Any]:
    return [value for value in closures.closed_over(fun) if not isinstance(value, FunctionType)]

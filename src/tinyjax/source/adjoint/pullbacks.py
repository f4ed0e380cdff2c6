"""Pullbacks of calls: of functions of tinyjax, and of functions known only at run time."""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import sys
import threading
from collections.abc import Callable, Hashable, Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any, Final, NoReturn, TypeAlias, TypeVar, cast, get_args

import attrs
import numpy as np

from tinyjax import config, dtypes, errors, tree
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.control_flow.common import is_filled
from tinyjax.core.values import Array, ConcreteArray
from tinyjax.core.values.array import IndexUpdate
from tinyjax.source.adjoint import (
    activity,
    certainty,
    closures,
    codegen,
    equivalents,
    shadows,
    standard_library,
)
from tinyjax.source.adjoint.cotangents import (
    UndefinedCotangent,
    accumulate,
    freeze,
    gradient_like,
    is_differentiable,
    like_sequence,
)
from tinyjax.source.adjoint.differentiate import Adjoint, differentiate
from tinyjax.source.adjoint.kinds import ITERATOR, kind_of
from tinyjax.source.adjoint.rules import arrays, containers, methods, registry
from tinyjax.source.ir import find, objects, plain_classes, read, runtime, syntax

_role = "interprets"  # see ``frames.Role``

# Functions of tinyjax, and those of NumPy that it has too: pulled through ``tinyjax.vjp``.
#
# A function of NumPy or ``scipy.special`` keeps its own value. Its pullback is that of the
# function of the same name in ``tinyjax.numpy``, and so of the rules of primitives; it is made
# when the cotangent is there, in double precision, and gives NumPy arrays for NumPy arrays.


_OWN = f"{frames.PACKAGE_DIRECTORY}source"


def name_of(fun: Any) -> str:
    """Return the name of a function for a message."""
    module = getattr(fun, "__module__", None)
    name = getattr(fun, "__qualname__", None) or repr(fun)
    owner = getattr(fun, "__self__", None)
    if isinstance(fun, BuiltinFunctionType) and owner is not None and not inspect.ismodule(owner):
        return f"the method {name} of {type(owner).__module__}.{type(owner).__name__}"
    return f"{module}.{name}" if module and module != "builtins" else name


def is_library(fun: Any) -> bool:
    """Return whether a function or callable object belongs to tinyjax and has its rules there."""
    if isinstance(fun, type) or inspect.ismodule(fun):
        return False
    if isinstance(fun, FunctionType):
        filename = fun.__code__.co_filename
        return filename.startswith(frames.PACKAGE_DIRECTORY) and not filename.startswith(_OWN)
    module = type(fun).__module__
    own = module.startswith("tinyjax.source") and not isinstance(fun, _OF_LIBRARY)
    return module.startswith("tinyjax.") and not own


R = TypeVar("R")
Forward: TypeAlias = Callable[..., tuple[Any, Any]]
Route: TypeAlias = tuple[Forward, tuple[Any, ...], dict[str, Any]]

# Functions of tinyjax


_WORDS: Final = frozenset((int, float, bool, str, type(None)))


@functools.lru_cache(maxsize=1024)
def _words_of(fun: Callable[..., Any]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the parameters, by position and by name, that are no arrays.

    Returns:
        Those whose strings select a mode: a number passed for one, as the order of a norm, has no
        derivative. And those that are numbers.
    """
    modes: set[str] = set()
    numbers: set[str] = set()
    try:
        parameters = [*inspect.signature(fun, eval_str=True).parameters.values()]
    except (NameError, TypeError, ValueError):
        parameters = []
    for i, parameter in enumerate(parameters):
        kinds = get_args(parameter.annotation) or (parameter.annotation,)
        if all(isinstance(kind, type) and kind in _WORDS for kind in kinds):
            (modes if str in kinds and len(kinds) > 1 else numbers).update((str(i), parameter.name))
    return frozenset(modes), frozenset(numbers)


def value_and_pullback(
    fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Return a call's value, and a map from its cotangent to those of ``args`` and ``kwargs``."""
    leaves, treedef = tree.flatten_arguments(args, kwargs)
    places = [i for i, leaf in enumerate(leaves) if is_differentiable(leaf)]

    def are_not(names: Iterable[str]) -> list[int]:
        paths = [path for path, _ in tree.leaves_with_path((args, kwargs))]
        return [i for i in places if tree.keystr(paths[i][1:2], simple=True) not in names]

    is_plain = isinstance(fun, Hashable) and not isinstance(fun, _OF_LIBRARY)
    if is_plain and (modes := _words_of(fun)[0]):
        places = are_not(modes)

    def filled(others: list[Any], values: tuple[Any, ...]) -> Any:
        merged = list(others)
        for place, leaf in zip(places, values, strict=True):
            merged[place] = leaf
        return tree.unflatten(treedef, merged)

    def call(*values: Any) -> Any:
        args, kwargs = filled(leaves, values)
        return fun(*args, **kwargs)

    undefined: list[Any] = [None] * len(leaves)
    try:
        value, back = api.vjp(call, *[leaves[place] for place in places])
    except errors.ConcretizationError as error:
        # numbers of Python's that have to be known, such as tolerances, have no derivative
        original = getattr(fun, "fun", fun)
        numbers = _words_of(original)[1] if isinstance(original, Hashable) else ()
        choices = [are_not(numbers), [i for i in places if not isinstance(leaves[i], float)]]
        for places in [chosen for chosen in choices if len(chosen) < len(places)]:
            with contextlib.suppress(errors.ConcretizationError):
                value, back = api.vjp(call, *[leaves[place] for place in places])
                break
        else:
            raise
        for i in set(range(len(leaves))).difference(places):
            undefined[i] = UndefinedCotangent(error) if isinstance(leaves[i], float) else None

    def pulled(ct: Any) -> Any:
        cotangents = back(conforming(ct, value))
        parts = ct if isinstance(ct, tuple | list) and isinstance(value, tuple) else ()
        used = [i for i, part in enumerate(parts) if part is not None]
        if len(used) < len(parts) and not _are_finite(cotangents):  # for zeros times infinities
            primals = [leaves[place] for place in places]
            partial = api.vjp(lambda *xs: [call(*xs)[i] for i in used], *primals)[1]
            cotangents = partial([conforming(parts[i], value[i]) for i in used])
        return filled(undefined, cotangents)

    return value, pulled


def _are_finite(cotangents: Iterable[Any]) -> bool:
    """Return whether all numbers are certainly finite."""
    arrays = tree.leaves(cotangents)
    is_known = all(isinstance(x, np.ndarray | np.generic | ConcreteArray) for x in arrays)
    return is_known and all(
        bool(np.all(np.isfinite(x))) for x in arrays if x.dtype != dtypes.float0
    )


@attrs.frozen
class LibraryTranspose:
    """The pullback of a function of tinyjax as a function of the cotangent and the arguments."""

    fun: Callable[..., Any]

    def __call__(self, ct: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        cotangents = value_and_pullback(self.fun, args, kwargs)[1](ct)
        return tree.map(lambda x: None if type(x) is UndefinedCotangent else x, cotangents)


_OF_LIBRARY: Final = (LibraryTranspose, closures.Closing, closures.Transformed)


def library_pullback(y: Any, back: Any, transpose: Any, args: Any, kwargs: Any) -> Any:
    """Return the pullback of a call of a function of tinyjax or NumPy.

    Args:
        y: the result.
        back: the pullback of ``tinyjax.vjp``; None if it is made when it is called.
        transpose: the same pullback as a function of the cotangent and the arguments.
        args: the arguments of the call.
        kwargs: those by keyword.
    """

    def pullback(ct: Any) -> Any:
        return in_order(transposed(back, transpose, ct, args, kwargs), kwargs)

    return of_values(pullback, y, args, kwargs)


def in_order(cotangents: Any, kwargs: Any) -> Any:
    """Return the cotangents of a function, its arguments, and its keyword arguments, in order."""
    of_args, of_kwargs = cotangents
    return (None, *of_args, *[containers.entry(of_kwargs, name) for name in kwargs])


def transposed(back: Any, transpose: Any, ct: Any, args: Any, kwargs: Any) -> Any:
    """Return the cotangents of arguments, and of those by keyword."""
    return transpose(ct, args, kwargs) if back is None else back(ct)


@registry.adjoint_of(transposed)
def _transposed_adjoint(
    ct: Any, y: Any, back: Any, transpose: Any, inner: Any, args: Any, kwargs: Any
) -> Any:
    parts = pulled_back(ct, transpose, inner, args, kwargs)
    return None, None, parts[1], parts[2], parts[3]


def conforming(ct: Any, value: Any) -> Any:
    """Return a cotangent as ``tinyjax.vjp`` takes it: of the result's type."""
    if isinstance(value, Array):
        if not dtypes.is_inexact(value.dtype):
            return np.zeros(value.shape, dtypes.float0)
        return gradient_like(ct, value)
    if isinstance(value, dict):
        return {k: conforming(None if ct is None else ct.get(k), v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [None] * len(value) if ct is None else ct
        items = [conforming(c, v) for c, v in zip(parts, value, strict=True)]
        return like_sequence(items, value)
    if value is None:
        return None
    raise find.refusal(
        f"a function of tinyjax returned a {errors.type_name(value)}, whose derivative is not "
        "taken here. Let it return arrays in tuples, lists or dicts."
    )


def library_forward(fun: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Call a function of tinyjax, whose arguments may be functions that close over variables.

    The functions that ``vmap`` and its kin return are differentiated when they are called.
    """
    leaves = tree.leaves((args, kwargs))
    if fun in (api.vjp, api.linearize) and any(map(is_differentiable, leaves)):
        instead = "source.vjp" if fun is api.vjp else "tinyjax.jvp"
        raise find.refusal(
            f"the function that tinyjax.{fun.__name__} returns has no derivative here. Call "
            f"{instead} in a function that tinyjax.source differentiates."
        )
    if any(closures.is_closure(leaf) for leaf in leaves):
        if not any(is_differentiable(leaf) for leaf in leaves):
            value = fun(*args, **kwargs)
            if callable(value):
                transformed = functools.partial(closures.Transformed(fun), args, kwargs)
                return transformed, lambda ct: in_order(ct["args"], kwargs)
        fun = closures.Closing(fun, args, kwargs)
        args, kwargs = tree.map(closures.opened, (args, kwargs))
    value, back = value_and_pullback(fun, args, kwargs)
    return value, library_pullback(value, back, LibraryTranspose(fun), args, kwargs)


# Functions of NumPy


@attrs.frozen
class OnHost:
    """A function of tinyjax in double precision, that gives NumPy arrays if it is given none."""

    fun: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            with config.default_dtypes("float64"):
                result = self.fun(*args, **kwargs)
        except errors.TinyjaxError as error:
            raise find.refusal(error.message) from error
        operands = tree.leaves((args, kwargs))
        return result if any(isinstance(x, Array) for x in operands) else tree.map(_on_host, result)


def _on_host(x: Any) -> Any:
    return np.asarray(x)[()] if isinstance(x, ConcreteArray) else x


def numpy_forward(fun: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Call a function of NumPy that tinyjax has too, or the pullback of one.

    Raises:
        SourceError: the function of tinyjax does not take these arguments.
    """
    ours = fun.fun if isinstance(fun, OnHost) else equivalents.list_counterpart(fun)
    if isinstance(ours, equivalents.ListCounterpart):
        arguments = ours.bound(args, kwargs)
        if arguments is None:
            parameters = equivalents.signature_of(ours.fun).parameters.values()
            raise registry.unknown_arguments(fun, len(args), tuple(kwargs), parameters)
        static = equivalents.static_number(arguments)
        if static is not None:
            raise find.refusal(f"no derivative is known of {fun.__name__} in {static}.")
    value = fun(*args, **kwargs)
    return value, library_pullback(value, None, OnHost(LibraryTranspose(ours)), args, kwargs)


@registry.adjoint_of(library_forward, numpy_forward)
def _library_adjoint(ct: Any, pair: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    parts = pull_back(pair[1], ct[0], 1 + len(args) + len(kwargs))
    if is_cautious():
        parts = shadows.gathered(parts, (fun, *args, *kwargs.values()))
        own = accumulate(ct[1], containers.entry(ct[1], "back"))  # of_values holds both
    else:
        own = ct[1]
    of_args = containers.entry(own, "args") or [None for _ in args]
    more = in_order((of_args, containers.entry(own, "kwargs")), kwargs)
    return tuple([accumulate(a, b) for a, b in zip(parts, more, strict=True)])


# Values with their pullbacks: what a call gives whose function is known only when it runs.
#
# ``pull(f, *args)`` is ``f(*args)`` with a pullback, which takes the cotangent of the value and
# gives those of ``f`` and of the arguments. How it is found depends on what ``f`` is: a function
# with a rule, one of tinyjax, a method, an instance, or a Python function, whose adjoint is
# generated. All of these are programs that can be differentiated themselves; the derivative of
# ``pull(f, x)`` is that of the program which ``pull`` would run.


@attrs.frozen(eq=False)
class Pullback:
    """The pullback of a Python function: a generated function and the residuals."""

    run: Callable[[Any, Any], tuple[Any, ...]]
    stack: Any

    def __call__(self, ct: Any) -> Any:
        return self.run(self.stack, ct)


def pull(fun: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Return a call's value and its pullback."""
    if type(fun) is FunctionType and not kwargs:  # as route does, in a third of the time
        plan = known_plan(fun, args)
        if plan is not None:
            result: tuple[Any, Any] = plan.forward(fun, *args)
            return result
    forward, inputs, keywords = route(fun, args, kwargs)
    value, back = forward(*inputs, **keywords)
    return value, of_pull(back) if fun is pull else back


def of_pull(back: Any) -> Any:
    """Return the pullback of a call of ``pull``, which has one argument more than its callee."""
    return lambda ct: (None, *back(ct)[1:])


def pull_back(back: Any, ct: Any, count: int, *values: Any, **kwargs: Any) -> Any:
    """Apply a pullback, or the rule of a call, unless the cotangent is zero."""
    return (None,) * count if ct is None else back(freeze(ct), *values, **kwargs)


def undo(back: Any, ct: Any, count: int) -> Any:
    """Apply a pullback, even to zero: it undoes its function's writes to arrays."""
    return back(freeze(ct))


def pulled_back(ct: Any, fun: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Return the cotangents of a function and its arguments, in a rule."""
    parts = pull(fun, *args, **kwargs)[1](ct)
    values = (fun, *args, *kwargs.values())
    return shadows.gathered(parts, values) if is_cautious() else parts


CALLEES: Final = activity.Callees(pull, pull_back, undo, Pullback)


# Functions that change arrays


_changing: Final[set[tuple[CodeType, ...]]] = set()


class _FullCollections:
    """Full collections of garbage, which are paused while residuals accumulate.

    No residual on the stack is garbage before its pullback ends, and each full collection would
    visit all of them. Young objects are collected as always.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._threshold = 0

    def pause(self) -> None:
        with self._lock:
            if not self._count:
                young, middle, self._threshold = gc.get_threshold()
                gc.set_threshold(young, middle, _NEVER)
            self._count += 1

    def resume(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                young, middle, _ = gc.get_threshold()
                gc.set_threshold(young, middle, self._threshold)


_collections: Final = _FullCollections()
#: A threshold that is not reached.
_NEVER: Final = 1_000_000


def attempt(run: Callable[..., R], fun: Any, *args: Any) -> R:
    """Return ``run(fun, *args)``; run again with caution if a function in it changes arrays.

    If it raises, all arrays are as they were before.
    """
    writes = runtime.writes
    if writes.log is not None:  # inside of another one
        return cast(R, standard_library.with_deep_stack(run, fun, *args))
    codes = _codes_of(fun)
    writes.log, writes.start, writes.copied = [], 0, {}
    _collections.pause()
    if codes in _changing:
        writes.is_cautious = True
    try:
        try:
            return run(fun, *args)
        except RecursionError:
            writes.undo()
            return cast(R, standard_library.with_deep_stack(run, fun, *args))
        except runtime.InPlaceError:
            writes.undo()
            writes.is_cautious = True
            if codes:
                _changing.add(codes)
            return cast(R, standard_library.with_deep_stack(run, fun, *args))
    except BaseException:
        writes.undo()
        raise
    finally:
        _collections.resume()
        writes.log = None
        if writes.is_cautious:
            writes.is_cautious = False


def _codes_of(fun: Any) -> tuple[CodeType, ...]:
    """Return the code of a function, and that of the functions that it closes over."""
    if not hasattr(fun, "__code__"):
        return ()
    values = [cell.cell_contents for cell in fun.__closure__ or () if is_filled(cell)]
    return fun.__code__, *[x.__code__ for x in values if isinstance(x, FunctionType)]


standard_library.WRITTEN[containers.with_entry] = containers.with_entry_of_copy
standard_library.WRITTEN[attempt] = lambda run, fun, *args: run(fun, *args)


def evaluated(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Return a call's value and its pullback, which leave all arrays as they were."""
    if is_cautious():
        shadows.check_apart(args, kwargs)
        args, kwargs = shadows.detached(args), shadows.detached(kwargs)
    value, back = pull(fun, *args, **kwargs)
    if not runtime.writes.log and not is_cautious():
        return value, back
    value = shadows.detached(value)
    runtime.writes.undo()
    return value, Repeated(fun, shadows.detached(args), shadows.detached(kwargs))


def evaluated_within(fun: Any, args: Any, kwargs: Any) -> Any:
    """Return the same in a function that is differentiated, which may change arrays in between."""
    count = written_count()
    value, back = pull(fun, *args, **kwargs)
    if written_count() != count:
        raise find.refusal(
            "source.vjp of a function that changes arrays in place is not taken in a function that "
            "is differentiated. Use source.grad there."
        )
    return value, back


def written_count() -> int:
    """Return the number of writes to arrays so far."""
    return len(runtime.writes.log or ())


def may_have_written() -> bool:
    """Return whether arrays may have been written to, which is unknown without a log."""
    log = runtime.writes.log
    return log is None or bool(log)


def is_cautious() -> bool:
    """Return whether functions may change arrays that they are given."""
    return runtime.writes.is_cautious


registry.inert.update((runtime.log_writes, written_count, may_have_written, is_cautious))
registry.inert.update(
    (runtime.check_overwrites_nothing, runtime.check_container, runtime.check_no_iterator)
)
standard_library.WRITTEN[evaluated] = evaluated_within


@attrs.frozen(eq=False)
class Repeated:
    """The pullback of a function that changes arrays: it calls the function once more."""

    fun: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, ct: Any) -> Any:
        return attempt(self._pulled_back, self.fun, ct)

    def _pulled_back(self, fun: Any, ct: Any) -> Any:
        args, kwargs = shadows.detached(self.args), shadows.detached(self.kwargs)
        _, back = pull(fun, *args, **kwargs)
        return shadows.swept(back, ct, (fun, *args, *kwargs.values()))


# What ``pull`` runs


def rule_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that has a rule."""
    places = registry.places(fun, len(args), tuple(kwargs))
    adjoint, y, count = registry.rule_adjoint(fun), fun(*args, **kwargs), len(args)

    def pullback(ct: Any) -> Any:
        parts = adjoint(ct, y, *args, **kwargs)
        if not places:
            return (None, *parts)
        return (None, *parts[:count], *[None if i is None else parts[i] for i in places])

    return y, of_values(pullback, y, args, kwargs)


def of_values(back: Any, y: Any, args: Any, kwargs: Any) -> Any:
    """Return a pullback of cotangents as one of shadows, where functions may change arrays."""
    if not is_cautious():
        return back

    def pullback(ct: Any) -> Any:
        ct = shadows.withdraw(ct, y, *args)
        if ct is None:
            return (None,) * (1 + len(args) + len(kwargs))
        parts, values = back(ct), (None, *args, *kwargs.values())
        return [shadows.deposit(values[i], parts[i]) for i in range(len(values))]

    return pullback


def zero_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function whose result has no derivative."""
    zeros = (None,) * (1 + len(args) + len(kwargs))
    y = fun(*args, **kwargs)
    if runtime.is_in(fun, methods.UNFOLLOWED):
        methods.check_native(y, *args)
    return y, lambda ct: zeros


def python_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a Python function with arguments that are not simply its parameters."""
    values = bound_values(fun, args, kwargs)
    run = generated(fun, values)
    y, back = run(fun, *values)
    bound = find.bound(fun, args, kwargs)

    def pullback(ct: Any) -> Any:
        parts = back(ct)
        own, *cotangents = unbound(parts[1:], bound)
        return (accumulate(parts[0], own), *cotangents)

    return y, pullback


def bound_values(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values of a function's parameters in a call."""
    return find.bound(fun, args, kwargs).values


@registry.adjoint_of(bound_values)
def _bound_values_adjoint(ct: Any, y: Any, fun: Any, args: Any, kwargs: Any) -> Any:
    return of_call(unbound(ct, find.bound(fun, args, kwargs)), args, kwargs)


def unbound(parts: Any, bound: Any) -> Any:
    """Bring one cotangent per parameter in the order of a call's arguments.

    The first of these is a dict: the cotangents of the parameters whose defaults were used.
    """
    own = {name: parts[i] for name, i in bound.defaults}
    return (own or None, *[item_of(parts[i], key) for i, key in bound.places])


def item_of(ct: Any, key: Any) -> Any:
    """Return an item of the cotangent of a parameter; all of it where there is no key."""
    if key is None or ct is None:
        return ct
    return ct.get(key) if isinstance(ct, dict) else ct[key]


def generated(fun: FunctionType, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function that gives a function's value and pullback."""
    return plan_of(fun, values).forward


def apply_forward(fun: Any, called: Any, args: Any, kwargs: Any) -> Any:
    """Call a function with arguments in a tuple and a dict."""
    y, back = pull(called, *args, **kwargs)
    return y, lambda ct: (None, *of_call(back(ct), args, kwargs))


def of_call(parts: Any, args: Any, kwargs: Any) -> Any:
    """Return the cotangents of a function, of its arguments, and of its keyword arguments."""
    end = 1 + len(args)
    return parts[0], tuple(parts[1:end]), {name: parts[end + i] for i, name in enumerate(kwargs)}


def method_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an object, whose cotangent is the method's."""
    y, back = pull(equivalents.method_function(fun), fun.__self__, *args, **kwargs)

    def pullback(ct: Any) -> Any:
        parts = back(ct)
        return ({"__self__": parts[1]}, *parts[2:])

    return y, pullback


def _updated(array: Array, index: Any, method: str, *args: Any, **options: Any) -> Any:
    """Call a method of ``array.at[index]``."""
    return getattr(array.at[index], method)(*args, **options)


def update_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of ``x.at[index]``, whose cotangent is that of ``x``."""
    update = fun.__self__
    operands = update._array, update._index, fun.__name__
    y, back = library_forward(_updated, *operands, *args, **kwargs)

    def pullback(ct: Any) -> Any:
        parts = back(ct)
        return ({"__self__": parts[1]}, *parts[1 + len(operands) :])

    return y, pullback


def instance_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call an object."""
    y, back = pull(call_of(fun), fun, *args, **kwargs)
    return y, lambda ct: back(ct)[1:]


def partial_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function with some arguments fixed."""
    whole, keywords = (*fun.args, *args), {**fun.keywords, **kwargs}
    y, back = pull(fun.func, *whole, **keywords)
    start = len(fun.args)

    def pullback(ct: Any) -> Any:
        func, parts, named = of_call(back(ct), whole, keywords)
        fixed = {name: named[name] for name in named if name not in kwargs}
        own = {"func": func, "args": parts[:start], "keywords": fixed}
        return (own, *parts[start:], *[named[name] for name in kwargs])

    return y, pullback


def call_of(instance: Any) -> Any:
    """Return the function that runs when an object is called."""
    return type(instance).__call__


registry.inert.update((generated, find.bound, registry.places, find.program_location, call_of))


@registry.adjoint_of(Pullback)
def _pullback_adjoint(ct: Any, y: Any, run: Any, stack: Any) -> Any:
    return None, ct.get("stack")


def _refuse(fun: Any, instead: str) -> NoReturn:
    raise find.refusal(f"no derivative is known of {name_of(fun)}. {instead}")


#: What a program can call instead.
_INSTEAD = (
    "Write it with operators and the functions of math, NumPy and tinyjax.numpy that are known, or "
    "give it a derivative with tinyjax.custom_vjp."
)
_AS_RECORD = (
    "Store the arguments in its constructor and compute nothing of them, as a dataclass does."
)
_IN_PLACE = "It may change its object in place. Build a new one: [*xs, x], {**d, k: v}."
#: Methods of containers and arrays whose results have no derivative.
_COUNTING: Final = frozenset(
    ("index", "count", "keys", "argmax", "argmin", "argsort", "nonzero", "any", "all",
     "searchsorted", "is_integer", "round")
)  # fmt: skip


def route(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Route:
    """Return the function to call for a call's value and pullback.

    Returns:
        The function to call instead, which returns a value and a pullback; its arguments, the first
        of which represents the original function; and its keyword arguments.

    Raises:
        SourceError: no derivative of the function is known.
    """
    if fun is pull:
        forward, inputs, keywords = route(args[0], args[1:], kwargs)
        return pull, (forward, *inputs), keywords
    if runtime.is_in(fun, syntax.IN_PLACE) and isinstance(args[0], np.ndarray):
        raise find.refusal(
            f"operator.{fun.__name__} by another name is not taken. Write x += y and the like."
        )
    if is_cautious():
        certainty.check_iteration(fun, args)
    if (written := standard_library.equivalent(fun)) is not None:
        return route(written, args, kwargs)
    if isinstance(fun, functools._lru_cache_wrapper) and _is_active(*args, *kwargs.values()):
        raise find.refusal(find.OF_CACHE)
    return forward_of(fun, args, kwargs), (fun, *args), kwargs


def forward_of(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Forward:
    """Return the function that gives the value and the pullback of a call."""
    if fun is runtime.apply:
        return apply_forward
    runtime.check_overwrites_nothing(fun, args, kwargs)
    if equivalents.rule_of_call(fun, len(args), (*kwargs,)) is not None:
        return rule_forward
    if registry.is_inert(fun):
        return zero_forward
    if isinstance(fun, OnHost) or equivalents.counterpart(fun) is not None:
        return numpy_forward
    if is_library(fun):
        return library_forward
    if isinstance(fun, MethodType):
        return update_forward if isinstance(fun.__self__, IndexUpdate) else method_forward
    if isinstance(fun, FunctionType):
        of_library = is_cautious() and find.is_library(fun.__code__.co_filename)
        if of_library and not _is_active(fun, *args, *kwargs.values()):
            return zero_forward
        plain = not kwargs and find.is_plain(fun, args)
        return plan_of(fun, args).forward if plain else python_forward
    if isinstance(fun, functools.partial):
        return partial_forward
    if isinstance(fun, type):
        if is_record_class(fun):
            return constructor_forward
    elif isinstance(fun, BuiltinFunctionType):
        if (forward := _forward_of_builtin(fun)) is not None:
            return forward
    elif isinstance(getattr(type(fun), "__call__", None), FunctionType):  # noqa: B004 - its type
        return instance_forward
    if not _is_active(fun, *args, *kwargs.values()):
        return zero_forward
    if not (isinstance(fun, type) and is_written_class(fun)):
        _refuse(fun, _INSTEAD)
    reason = objects.REASONS.get(fun)
    _refuse(fun, f"{_AS_RECORD} Its objects are no variables: {reason}" if reason else _AS_RECORD)


def _forward_of_builtin(fun: BuiltinFunctionType) -> Forward | None:
    """Return the function for a method of a built-in class; None where it has no derivative."""
    owner, name = fun.__self__, fun.__name__
    if isinstance(owner, str) or name in _COUNTING:
        return zero_forward
    if isinstance(owner, (list, dict, set, np.ndarray)) and name in syntax.WRITING:
        _refuse(fun, _IN_PLACE)
    return method_forward if _has_method(owner, name) else None


def _is_active(*values: Any) -> bool:
    return any(kind_of(x).active for x in values)


def _has_method(owner: Any, name: str) -> bool:
    """Return whether the derivative of a method of a container or a NumPy array is known."""
    if isinstance(owner, (np.ndarray, np.generic)):
        known = equivalents.counterpart(getattr(np, name, None))
        return name in arrays.METHODS or known is not None
    return (type(owner), name) in equivalents.CONTAINER_METHODS


# Constructors that store their arguments: of attrs classes, dataclasses, named tuples and others


def constructor_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Make an object that stores its arguments."""
    keys = constructed(fun, len(args), tuple(kwargs))

    def back(ct: Any) -> tuple[Any, ...]:
        return None, *[None if key is None else item_of(ct, key) for key in keys]

    return fun(*args, **kwargs), back


def constructed(kind: Any, count: int, names: tuple[str, ...]) -> tuple[str | int | None, ...]:
    """Return the attribute or item index that each argument of a constructor becomes, if any."""
    parameters = (*([*inspect.signature(kind).parameters][:count] if count else ()), *names)
    if (stored := plain_classes.stored_by(kind)) is not None:
        return tuple([stored.parameters.get(name) for name in parameters])
    if issubclass(kind, tuple):
        return tuple([kind._fields.index(name) for name in parameters])
    aliases = {field.alias: field.name for field in attrs.fields(kind)} if attrs.has(kind) else {}
    return tuple([aliases.get(name, name) for name in parameters])


def is_written_class(kind: type) -> bool:
    """Return whether a class is the user's own: made by a class statement, outside the library."""
    own = kind.__module__.partition(".")[0] not in sys.stdlib_module_names
    return bool(kind.__flags__ & (1 << 9)) and own


def is_record_class(kind: Any) -> bool:
    """Return whether the constructor of a class only stores its arguments."""
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    if kind in (contextlib.nullcontext, SimpleNamespace):
        return True
    if any(hasattr(kind, name) for name in ("__attrs_post_init__", "__post_init__")):
        return False
    if "__attrs_attrs__" in vars(kind):
        generated_init = kind.__init__.__code__.co_filename.startswith("<attrs generated")
        return generated_init and not any(
            f.converter or getattr(f.default, "takes_self", False) for f in attrs.fields(kind)
        )
    return plain_classes.has_generated_init(kind) or plain_classes.stored_by(kind) is not None


registry.inert.add(constructed)


# Generated functions


@attrs.frozen(eq=False)
class Plan:
    """The adjoint of a function for arguments of some kinds.

    Attributes:
        adjoint: its programs.
        forward: the first of them, compiled.
    """

    adjoint: Adjoint
    forward: FunctionType


def known_plan(fun: FunctionType, args: tuple[Any, ...]) -> Plan | None:
    """Return the adjoint of a function if it is cached, for arguments that are its parameters."""
    program = read.known_program(fun)
    if program is None:
        return None
    return program.derived.get((runtime.writes.is_cautious, kind_of(fun), *map(kind_of, args)))


def adjoint_of(fun: FunctionType, values: tuple[Any, ...]) -> Adjoint:
    """Return the adjoint of a function that may change arrays which it is given."""
    writes = runtime.writes
    try:
        return plan_of(fun, values).adjoint
    except runtime.InPlaceError:
        writes.is_cautious = True
        return plan_of(fun, values).adjoint
    finally:
        writes.is_cautious = False


def plan_of(fun: FunctionType, values: tuple[Any, ...]) -> Plan:
    """Return the adjoint of a Python function, generating it on first use.

    Raises:
        InPlaceError: it changes arrays, which the functions that call it do not expect.
    """
    kinds = (*map(kind_of, (fun, *values)),)
    if ITERATOR in kinds:
        runtime.check_no_iterator(values[kinds.index(ITERATOR) - 1])
    try:
        program = read.program_of(fun)
    except errors.SourceError:
        if find.is_library(fun.__code__.co_filename):  # which nobody can write otherwise
            _refuse(fun, _INSTEAD)
        raise
    is_cautious = runtime.writes.is_cautious
    key: tuple[Any, ...] = (is_cautious, *kinds)
    if not find.is_plain(fun, values):
        key = (None, *key)  # a key that nothing above looks up
    plan: Plan | None = program.derived.get(key)
    if plan is None:
        adjoint = differentiate(program, kinds, CALLEES, is_cautious=is_cautious)
        if adjoint.writes_outside and not is_cautious:
            raise runtime.InPlaceError
        plan = program.derived[key] = Plan(adjoint, codegen.compile_adjoint(adjoint, fun))
    return plan

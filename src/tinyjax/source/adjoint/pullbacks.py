"""How calls are pulled: those of functions of tinyjax, and those known only when they run."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Hashable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, Final, NoReturn, get_args

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import config, dtypes, errors, frames, tree
from tinyjax.core import api
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.source.adjoint import activity, codegen, cotangents as cts, equivalents
from tinyjax.source.adjoint.differentiate import Adjoint, differentiate
from tinyjax.source.adjoint.rules import arrays, containers, registry
from tinyjax.source.ir import find, program as ir, read, runtime

# Functions of tinyjax, and those of NumPy that it has too: pulled through ``tinyjax.vjp``.
#
# A function of NumPy or ``scipy.special`` keeps its own value. Its pullback is that of the
# function of the same name in ``tinyjax.numpy``, and so of the rules of primitives; it is made
# when the cotangent is there, in double precision, and gives NumPy arrays for NumPy arrays.


_OWN = f"{frames.PACKAGE_DIRECTORY}source"


def name_of(fun: Any) -> str:
    """What a function is called in a message."""
    module = getattr(fun, "__module__", None)
    name = getattr(fun, "__qualname__", None) or repr(fun)
    owner = getattr(fun, "__self__", None)
    if isinstance(fun, BuiltinFunctionType) and owner is not None and not inspect.ismodule(owner):
        return f"the method {name} of {type(owner).__module__}.{type(owner).__name__}"
    return f"{module}.{name}" if module and module != "builtins" else name


def is_library(fun: Any) -> bool:
    """Whether a function or a callable object is one of tinyjax, whose rules are known there."""
    if isinstance(fun, type) or inspect.ismodule(fun):
        return False
    if isinstance(fun, FunctionType):
        filename = fun.__code__.co_filename
        return filename.startswith(frames.PACKAGE_DIRECTORY) and not filename.startswith(_OWN)
    module = type(fun).__module__
    return module.startswith("tinyjax.") and not module.startswith("tinyjax.source")


# Functions of tinyjax


_WORDS: Final = frozenset((int, float, bool, str, type(None)))


def _modes_of(fun: Any) -> frozenset[int | str]:
    """Which parameters, by position and by name, may be texts: they say which function is meant.

    A number in such a place, as the order of a norm, has no derivative, and is not an array.
    """
    return _found_modes(fun) if isinstance(fun, Hashable) else frozenset()


@functools.lru_cache(maxsize=1024)
def _found_modes(fun: Callable[..., Any]) -> frozenset[int | str]:
    try:
        parameters = inspect.signature(fun, eval_str=True).parameters.values()
    except (NameError, TypeError, ValueError):
        return frozenset()
    modes: set[int | str] = set()
    for i, parameter in enumerate(parameters):
        kinds = set(get_args(parameter.annotation))
        if str in kinds and kinds <= _WORDS:
            modes |= {i, parameter.name}
    return frozenset(modes)


def value_and_pullback(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """A call's value, and a map from its cotangent to those of ``args`` and ``kwargs``."""
    modes = _modes_of(fun)
    given_args, given_kwargs = args, kwargs
    args = tuple([None if i in modes else arg for i, arg in enumerate(args)])
    kwargs = {name: None if name in modes else arg for name, arg in kwargs.items()}
    leaves, treedef = tree.flatten_arguments(args, kwargs)
    places = [i for i, leaf in enumerate(leaves) if cts.is_differentiable(leaf)]

    def filled(others: list[Any], values: tuple[Any, ...]) -> Any:
        merged = list(others)
        for place, leaf in zip(places, values, strict=True):
            merged[place] = leaf
        return tree.unflatten(treedef, merged)

    def call(*values: Any) -> Any:
        args, kwargs = filled(leaves, values)
        args = [given_args[i] if i in modes else arg for i, arg in enumerate(args)]
        kwargs = {name: given_kwargs[name] if name in modes else x for name, x in kwargs.items()}
        return fun(*args, **kwargs)

    value, back = api.vjp(call, *[leaves[place] for place in places])

    def pull_back(ct: Any) -> tuple[Any, ...]:
        cotangents: tuple[Any, ...] = filled([None] * len(leaves), back(_conforming(ct, value)))
        return cotangents

    return value, pull_back


@attrs.frozen
class LibraryTranspose:
    """The pullback of a function of tinyjax as a function of the cotangent and the arguments."""

    fun: Callable[..., Any]

    def __call__(self, ct: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return value_and_pullback(self.fun, args, kwargs)[1](ct)


@attrs.frozen(eq=False)
class LibraryPullback:
    """The pullback of a call of a function of tinyjax or NumPy.

    Attributes:
        transpose: the same as a function of the cotangent and the arguments.
        args: the arguments of the call.
        kwargs: those by keyword.
        back: what ``tinyjax.vjp`` has given; None where the pullback is made when it is called.
    """

    transpose: LibraryTranspose | OnHost
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    back: Callable[[Any], tuple[Any, ...]] | None = None

    def __call__(self, ct: Any) -> Any:
        if self.back is None:
            return self.in_order(self.transpose(ct, self.args, self.kwargs))
        return self.in_order(self.back(ct))

    def in_order(self, parts: Any) -> tuple[Any, ...]:
        """The cotangents of the function, the arguments, and those by keyword."""
        of_args, of_kwargs = parts
        return (None, *of_args, *[of_kwargs[name] for name in self.kwargs])


def _conforming(ct: Any, value: Any) -> Any:
    """A cotangent as ``tinyjax.vjp`` takes it: of the result's type."""
    if isinstance(value, Array):
        if not dtypes.is_inexact(value.dtype):
            return np.zeros(value.shape, dtypes.float0)
        if ct is None:
            return jnp.zeros_like(value)
        return jnp.broadcast_to(jnp.asarray(ct), value.shape).astype(value.dtype)
    if isinstance(value, dict):
        return {k: _conforming(None if ct is None else ct.get(k), v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [None] * len(value) if ct is None else ct
        items = [_conforming(c, v) for c, v in zip(parts, value, strict=True)]
        return cts.like_sequence(items, value)
    if value is None:
        return None
    raise find.refusal(
        f"a function of tinyjax returned a {type(value).__name__}, whose derivative is not taken "
        "here. Let it return arrays in tuples, lists or dicts."
    )


def library_forward(fun: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Call a function of tinyjax.

    Raises:
        SourceError: a function among the arguments closes over variables, whose derivatives would
            be lost.
    """
    for leaf in tree.leaves((args, kwargs)):
        if isinstance(leaf, FunctionType) and activity.kind_of(leaf).active:
            raise find.refusal(
                f"{name_of(fun)} was given the function {leaf.__qualname__}, which closes over "
                "variables: their derivatives would be lost. Use the transformation of the same "
                "name in tinyjax.source, or pass the values as arguments."
            )
    value, back = value_and_pullback(fun, args, kwargs)
    return value, LibraryPullback(LibraryTranspose(fun), args, kwargs, back)


def library_back_forward(back: LibraryPullback, ct: Any) -> Any:
    """Call the pullback of a function of tinyjax or NumPy."""
    forward = numpy_forward if isinstance(back.transpose, OnHost) else library_forward
    parts, inner = forward(back.transpose, ct, back.args, back.kwargs)
    return back.in_order(parts), LibraryBackPullback(inner, len(back.args), tuple(back.kwargs))


@attrs.frozen(eq=False)
class LibraryBackPullback:
    """The pullback of the pullback of a function of tinyjax or NumPy."""

    back: Any
    count: int
    names: tuple[str, ...]

    def __call__(self, ct: Any) -> Any:
        by_name = {name: ct[1 + self.count + i] for i, name in enumerate(self.names)}
        parts = self.back((ct[1 : 1 + self.count], by_name))
        return ({"args": parts[2], "kwargs": parts[3]}, parts[1])


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
    ours = fun.fun if isinstance(fun, OnHost) else equivalents.taking_lists(fun)
    if isinstance(ours, equivalents.TakingLists):
        try:
            ours.bind(args, kwargs)
        except TypeError:
            parameters = equivalents.signature_of(ours.fun).parameters.values()
            raise registry.unknown_arguments(fun, len(args), tuple(kwargs), parameters) from None
    value = fun(*args, **kwargs)
    return value, LibraryPullback(OnHost(LibraryTranspose(ours)), args, kwargs)


@registry.adjoint_of(library_forward, numpy_forward)
def _library_adjoint(ct: Any, pair: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    back = pair[1]
    count = 1 + len(args) + len(kwargs)
    parts = (None,) * count if ct[0] is None else back(ct[0])
    of_args, of_kwargs = containers.entry(ct[1], "args"), containers.entry(ct[1], "kwargs")
    more = [
        *([None for _ in args] if of_args is None else of_args),
        *[containers.entry(of_kwargs, name) for name in kwargs],
    ]
    return (None, *[cts.accumulate(a, b) for a, b in zip(parts[1:], more, strict=True)])


# Values with their pullbacks: what a call gives whose function is known only when it runs.
#
# ``pull(f, *args)`` is ``f(*args)`` with a pullback, which takes the cotangent of the value and
# gives those of ``f`` and of the arguments. How it is found depends on what ``f`` is: a function
# with a rule, one of tinyjax, a method, an instance, or a Python function, whose adjoint is
# generated. All of these are programs that can be differentiated themselves; the derivative of
# ``pull(f, x)`` is that of the program which ``pull`` would run.


@attrs.frozen(eq=False)
class Pullback:
    """The pullback of a Python function: a generated function and what the forward half kept."""

    run: Callable[[Any, Any], tuple[Any, ...]]
    stack: Any

    def __call__(self, ct: Any) -> Any:
        return self.run(self.stack, ct)


@attrs.frozen(eq=False)
class RulePullback:
    """The pullback of a function that has a rule."""

    adjoint: Callable[..., tuple[Any, ...]]
    value: Any
    args: tuple[Any, ...]
    keywords: dict[str, Any]
    places: tuple[int | None, ...] = ()

    def __call__(self, ct: Any) -> Any:
        parts = self.adjoint(ct, self.value, *self.args, **self.keywords)
        if not self.places:
            return (None, *parts)
        named = [None if i is None else parts[i] for i in self.places]
        return (None, *parts[: len(self.args)], *named)


@attrs.frozen(eq=False)
class OrderedPullback:
    """The pullback of a call that another call is made for.

    Attributes:
        back: the pullback of that.
        order: brings its cotangents in the order of the call's function and arguments.
        details: what else that takes.
    """

    back: Callable[[Any], tuple[Any, ...]]
    order: Callable[..., tuple[Any, ...]]
    details: tuple[Any, ...] = ()

    def __call__(self, ct: Any) -> Any:
        return self.order(self.back(ct), *self.details)


@attrs.frozen(eq=False)
class ZeroPullback:
    """The pullback of a call whose result has no derivative."""

    count: int

    def __call__(self, ct: Any) -> Any:
        return (None,) * self.count


@attrs.frozen(eq=False)
class Route:
    """How a call is pulled: as a call of another function, which gives a value and a pullback.

    Attributes:
        forward: that function.
        inputs: its arguments; the first stands for the function called.
    """

    forward: Callable[..., tuple[Any, Any]]
    inputs: tuple[Any, ...]
    keywords: dict[str, Any]


def pull(fun: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """A call's value and its pullback."""
    if type(fun) is FunctionType and not kwargs:  # as route does, in a third of the time
        plan = known_plan(fun, args)
        if plan is not None:
            result: tuple[Any, Any] = plan.forward(fun, *args)
            return result
    way = route(fun, args, kwargs)
    value, back = way.forward(*way.inputs, **way.keywords)
    return value, OrderedPullback(back, of_pull) if fun is pull else back


def of_pull(parts: Any) -> Any:
    """The cotangents of a call of ``pull``, which has one argument more than what it runs."""
    return (None, *parts[1:])


def pull_back(back: Any, ct: Any, count: int) -> Any:
    """Apply a pullback, unless the cotangent is zero."""
    return (None,) * count if ct is None else back(ct)


def guarded(adjoint: Any, count: int, ct: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a rule, unless the cotangent is zero."""
    return (None,) * count if ct is None else adjoint(ct, y, *args, **kwargs)


CALLEES: Final = activity.Callees(pull, pull_back, guarded, Pullback)


# What ``pull`` runs


def rule_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that has a rule."""
    positions = registry.places(fun, len(args), tuple(kwargs))
    y = fun(*args, **kwargs)
    return y, RulePullback(registry.rule_adjoint(fun), y, args, kwargs, positions)


def zero_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function whose result has no derivative."""
    return fun(*args, **kwargs), ZeroPullback(1 + len(args) + len(kwargs))


def python_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a Python function with arguments that are not simply its parameters."""
    values = bound_values(fun, args, kwargs)
    run = generated(fun, values)
    y, back = run(fun, *values)
    return y, OrderedPullback(back, _of_bound, (find.bound(fun, args, kwargs),))


def _of_bound(parts: Any, bound: find.Bound) -> Any:
    cotangents = unbind(bound, parts[1:])
    return (cts.accumulate(parts[0], cotangents[0]), *cotangents[1:])


def bound_values(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The values of a function's parameters in a call."""
    return find.bound(fun, args, kwargs).values


@registry.adjoint_of(bound_values)
def _bound_values_adjoint(ct: Any, y: Any, fun: Any, args: Any, kwargs: Any) -> Any:
    own, *parts = unbind(find.bound(fun, args, kwargs), ct)
    count = len(args)
    return own, tuple(parts[:count]), {name: parts[count + i] for i, name in enumerate(kwargs)}


def unbind(bound: find.Bound, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Bring one cotangent per parameter in the order of a call's arguments, after the defaults'."""
    return bound.unbind(parts)


def rebind(bound: find.Bound, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The other way around."""
    return bound.rebind(parts)


@registry.adjoint_of(unbind)
def _unbind_adjoint(ct: Any, y: Any, bound: Any, parts: Any) -> Any:
    return None, rebind(bound, ct)


@registry.adjoint_of(rebind)
def _rebind_adjoint(ct: Any, y: Any, bound: Any, parts: Any) -> Any:
    return None, unbind(bound, ct)


def generated(fun: FunctionType, values: tuple[Any, ...]) -> Callable[..., Any]:
    """The function that gives a function's value and pullback."""
    return plan_of(fun, values).forward


def apply_forward(fun: Any, called: Any, args: Any, kwargs: Any) -> Any:
    """Call a function with arguments in a tuple and a dict."""
    y, back = pull(called, *args, **kwargs)
    return y, OrderedPullback(back, _of_apply, (1 + len(args), tuple(kwargs)))


def _of_apply(parts: Any, end: int, names: tuple[str, ...]) -> Any:
    keywords = {name: parts[end + i] for i, name in enumerate(names)}
    return None, parts[0], parts[1:end], keywords


def method_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an object."""
    y, back = pull(fun.__func__, fun.__self__, *args, **kwargs)
    return y, OrderedPullback(back, _of_method)


def builtin_method_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an array or a container."""
    y, back = pull(equivalents.method_function(fun), fun.__self__, *args, **kwargs)
    return y, OrderedPullback(back, _of_method)


def _of_method(parts: Any) -> Any:
    """The object's cotangent is the method's."""
    return ({"__self__": parts[1]}, *parts[2:])


def instance_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call an object."""
    y, back = pull(call_of(fun), fun, *args, **kwargs)
    return y, OrderedPullback(back, _of_instance)


def _of_instance(parts: Any) -> Any:
    return parts[1:]


def partial_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function with some arguments fixed."""
    y, back = pull(fun.func, *fun.args, *args, **{**fun.keywords, **kwargs})
    names = (*fun.keywords, *[name for name in kwargs if name not in fun.keywords])
    return y, OrderedPullback(back, _of_partial, (len(fun.args), len(args), names, tuple(kwargs)))


def _of_partial(
    parts: Any, fixed: int, count: int, names: tuple[str, ...], own: tuple[str, ...]
) -> Any:
    start, end = 1 + fixed, 1 + fixed + count
    keywords = {name: parts[end + i] for i, name in enumerate(names)}
    rest = {k: keywords[k] for k in keywords if k not in own}
    ct = {"func": parts[0], "args": parts[1:start], "keywords": rest}
    return (ct, *parts[start:end], *[keywords[k] for k in own])


def call_of(instance: Any) -> Callable[..., Any]:
    """The function that runs when an object is called."""
    method: Callable[..., Any] = type(instance).__call__
    return method


registry.inert.update(
    (generated, find.bound, registry.places, find.program_location, call_of, ZeroPullback)
)


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
    "Make it a dataclass, an attrs class or a NamedTuple whose constructor only keeps its "
    "arguments."
)
_IN_PLACE = "It may change its object in place. Build a new one: [*xs, x], {**d, k: v}."
#: Methods of containers and arrays whose results have no derivative.
_COUNTING: Final = frozenset(
    ("index", "count", "keys", "argmax", "argmin", "argsort", "nonzero", "any", "all",
     "searchsorted", "is_integer", "round", "tobytes")
)  # fmt: skip
#: Those that change them.
_WRITING: Final = frozenset(
    ("append", "extend", "insert", "remove", "pop", "popitem", "clear", "sort", "reverse", "add",
     "discard", "update", "setdefault", "fill", "put", "partition", "resize", "itemset")
)  # fmt: skip


def route(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Route:
    """Find out how a call is pulled.

    Raises:
        SourceError: no derivative of the function is known.
    """
    if fun is pull:
        inner = route(args[0], args[1:], kwargs)
        return Route(pull, (inner.forward, *inner.inputs), inner.keywords)
    if equivalents.is_written(fun):
        return route(equivalents.WRITTEN[fun], args, kwargs)
    if fun is runtime.apply:
        return Route(apply_forward, (fun, *args), kwargs)
    if registry.rule_of(fun) is not None and (
        registry.fits(fun, len(args), (*kwargs,)) or not equivalents.counterpart(fun)
    ):
        return Route(rule_forward, (fun, *args), kwargs)
    if registry.is_inert(fun):
        return Route(zero_forward, (fun, *args), kwargs)
    if isinstance(fun, LibraryPullback):
        return Route(library_back_forward, (fun, *args), kwargs)
    if isinstance(fun, OnHost) or equivalents.counterpart(fun) is not None:
        return Route(numpy_forward, (fun, *args), kwargs)
    if is_library(fun):
        return Route(library_forward, (fun, *args), kwargs)
    if isinstance(fun, MethodType):
        written = isinstance(fun.__self__, tuple) and fun.__name__ == "_replace"
        forward = builtin_method_forward if written else method_forward
        return Route(forward, (fun, *args), kwargs)
    if isinstance(fun, FunctionType):
        binding = find.bound(fun, args, kwargs)
        if not binding.plain:
            return Route(python_forward, (fun, *args), kwargs)
        return Route(plan_of(fun, args).forward, (fun, *args), {})
    if isinstance(fun, functools.partial):
        return Route(partial_forward, (fun, *args), kwargs)
    if isinstance(fun, type):
        if is_record_class(fun):
            return Route(constructor_forward, (fun, *args), kwargs)
    elif isinstance(fun, BuiltinFunctionType):
        method = _route_method(fun, args, kwargs)
        if method is not None:
            return method
    elif isinstance(getattr(type(fun), "__call__", None), FunctionType):  # noqa: B004 - its type
        return Route(instance_forward, (fun, *args), kwargs)
    if not any(activity.kind_of(x).active for x in (fun, *args, *kwargs.values())):
        return Route(zero_forward, (fun, *args), kwargs)
    _refuse(fun, _AS_RECORD if isinstance(fun, type) and is_written_class(fun) else _INSTEAD)


def _route_method(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Route | None:
    """How a method of a container, a text or a NumPy array is pulled."""
    owner, name = fun.__self__, fun.__name__
    if isinstance(owner, str) or name in _COUNTING:
        return Route(zero_forward, (fun, *args), kwargs)
    if isinstance(owner, (list, dict, set, np.ndarray)) and name in _WRITING:
        _refuse(fun, _IN_PLACE)
    exists = (type(owner), name) in equivalents.CONTAINER_METHODS
    if isinstance(owner, (np.ndarray, np.generic)):
        counterpart = equivalents.counterpart(getattr(np, name, None))
        exists = name in arrays.METHODS or counterpart is not None
    if exists:
        return Route(builtin_method_forward, (fun, *args), kwargs)
    return None


# Constructors of objects with declared fields: attrs classes, dataclasses, named tuples


@attrs.frozen(eq=False)
class RecordPullback:
    """The pullback of a constructor: which field, or item, each argument becomes."""

    keys: tuple[str | int, ...]

    def __call__(self, ct: Any) -> Any:
        cotangents = [ct.get(key) if isinstance(ct, dict) else ct[key] for key in self.keys]
        return (None, *cotangents)


def constructor_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Make an attrs object, a dataclass or a named tuple."""
    return fun(*args, **kwargs), RecordPullback(constructed(fun, len(args), tuple(kwargs)))


def constructed(kind: Any, count: int, names: tuple[str, ...]) -> tuple[str | int, ...]:
    """Which field, or item, each argument of a constructor becomes."""
    parameters = (*[*inspect.signature(kind).parameters][:count], *names)
    if issubclass(kind, tuple):
        return tuple([kind._fields.index(name) for name in parameters])
    aliases = {field.alias: field.name for field in attrs.fields(kind)} if attrs.has(kind) else {}
    return tuple([aliases.get(name, name) for name in parameters])


def is_written_class(kind: type) -> bool:
    """Whether a class is the user's own: made by a class statement, and not of the library."""
    own = kind.__module__.partition(".")[0] not in sys.stdlib_module_names
    return bool(kind.__flags__ & (1 << 9)) and own


def is_record_class(kind: Any) -> bool:
    """Whether the constructor of a class only keeps its arguments."""
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    if any(hasattr(kind, name) for name in ("__attrs_post_init__", "__post_init__")):
        return False
    if "__attrs_attrs__" in vars(kind):
        generated_init = kind.__init__.__code__.co_filename.startswith("<attrs generated")
        return generated_init and not any(
            f.converter or getattr(f.default, "takes_self", False) for f in attrs.fields(kind)
        )
    return "__dataclass_fields__" in vars(kind) and vars(kind)["__dataclass_params__"].init


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


#: By code object: the program, its adjoints, and how many arguments are simply its parameters.
_plans: dict[CodeType, tuple[ir.IR, dict[tuple[activity.Kind, ...], Plan], int]] = {}


def known_plan(fun: FunctionType, args: tuple[Any, ...]) -> Plan | None:
    """The adjoint of a function if it is there already, for arguments that are its parameters."""
    entry = _plans.get(fun.__code__)
    if entry is None or len(args) != entry[2] or read.stale(fun):
        return None
    return entry[1].get((activity.kind_of(fun), *map(activity.kind_of, args)))


def plan_of(fun: FunctionType, values: tuple[Any, ...]) -> Plan:
    """The adjoint of a Python function, generated when first asked for."""
    entry = _plans.get(fun.__code__)
    if entry is None or read.stale(fun):
        # without the function: it may close over arrays, which are not to be kept
        program, count = attrs.evolve(read.ir_of(fun), function=None), fun.__code__.co_argcount
        plain = len(program.blocks[0].arguments) == 1 + count
        entry = _plans[fun.__code__] = (program, {}, count if plain else -1)
    kinds = (activity.kind_of(fun), *[activity.kind_of(value) for value in values])
    plan = entry[1].get(kinds)
    if plan is None:
        adjoint = differentiate(entry[0], kinds, CALLEES)
        plan = entry[1][kinds] = Plan(adjoint, codegen.compile_adjoint(adjoint, fun))
    return plan

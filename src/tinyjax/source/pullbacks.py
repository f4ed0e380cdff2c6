"""Values with their pullbacks: what a call gives whose function is known only when it runs.

``pull(f, *args)`` is ``f(*args)`` with a pullback, which takes the cotangent of the value and gives
those of ``f`` and of the arguments. How it is found depends on what ``f`` is: a function with a
rule, one of tinyjax, a method, an instance, or a Python function, whose adjoint is generated. All
of these are programs that can be differentiated themselves; the derivative of ``pull(f, x)`` is
that of the program which ``pull`` would run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, Final, NoReturn

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import tree
from tinyjax.api import vjp
from tinyjax.core.array import Array
from tinyjax.dtypes import float0, is_inexact
from tinyjax.errors import SourceError
from tinyjax.frames import PACKAGE_DIRECTORY
from tinyjax.source import runtime
from tinyjax.source.adjoint import Adjoint, Calls, differentiate
from tinyjax.source.codegen import compile_adjoint
from tinyjax.source.cotangents import accumulate, field_names, is_differentiable, is_record
from tinyjax.source.frontend import ir_of, stale
from tinyjax.source.ir import IR
from tinyjax.source.kinds import Kind, kind_of
from tinyjax.source.origins import program_location
from tinyjax.source.rules import (
    METHODS,
    adjoint_of,
    check_keywords,
    inert,
    is_inert,
    is_method,
    rule_adjoint,
    rule_of,
)
from tinyjax.source.signature import Bound, bound

_OWN = f"{PACKAGE_DIRECTORY}source"


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

    def __call__(self, ct: Any) -> Any:
        return (None, *self.adjoint(ct, self.value, *self.args, **self.keywords))


@attrs.frozen(eq=False)
class MethodPullback:
    """The pullback of a bound method: the object's cotangent is the method's."""

    back: Callable[[Any], tuple[Any, ...]]

    def __call__(self, ct: Any) -> Any:
        parts = self.back(ct)
        return ({"__self__": parts[1]}, *parts[2:])


@attrs.frozen(eq=False)
class InstancePullback:
    """The pullback of an object that is called."""

    back: Callable[[Any], tuple[Any, ...]]

    def __call__(self, ct: Any) -> Any:
        return self.back(ct)[1:]


@attrs.frozen(eq=False)
class FieldsPullback:
    """The pullback of a constructor: what each argument becomes."""

    names: tuple[str, ...]

    def __call__(self, ct: Any) -> Any:
        return (None, *[ct.get(name) for name in self.names])


@attrs.frozen(eq=False)
class ItemsPullback:
    """The pullback of a named tuple's constructor."""

    order: tuple[int, ...]

    def __call__(self, ct: Any) -> Any:
        return (None, *[ct[i] for i in self.order])


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
            found: tuple[Any, Any] = plan.forward(fun, *args)
            return found
    way = route(fun, args, kwargs)
    value, back = way.forward(*way.inputs, **way.keywords)
    return value, OuterPullback(back) if fun is pull else back


@attrs.frozen(eq=False)
class OuterPullback:
    """The pullback of ``pull``: it has one argument more than the function that it runs."""

    back: Callable[[Any], tuple[Any, ...]]

    def __call__(self, ct: Any) -> Any:
        return (None, *self.back(ct)[1:])


@attrs.frozen(eq=False)
class UnboundPullback:
    """A pullback whose results are brought in the order of a call's arguments."""

    back: Callable[[Any], tuple[Any, ...]]
    bound: Bound

    def __call__(self, ct: Any) -> Any:
        parts = self.back(ct)
        return (parts[0], *unbind(self.bound, parts[1:]))


def pull_back(back: Any, ct: Any, count: int) -> Any:
    """Apply a pullback, unless the cotangent is zero."""
    if ct is None:
        return (None,) * count
    return back(ct)


def guarded(adjoint: Any, count: int, ct: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a rule, unless the cotangent is zero."""
    if ct is None:
        return (None,) * count
    return adjoint(ct, y, *args, **kwargs)


CALLS: Final = Calls(pull, pull_back, guarded, Pullback)


# What ``pull`` runs


def rule_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that has a rule."""
    y = fun(*args, **kwargs)
    return y, RulePullback(rule_adjoint(fun), y, args, kwargs)


def zero_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function whose result has no derivative."""
    return fun(*args, **kwargs), ZeroPullback(1 + len(args) + len(kwargs))


def python_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a Python function with arguments that are not simply its parameters."""
    values = bound_values(fun, args, kwargs)
    run = generated(fun, values)
    y, back = run(fun, *values)
    return y, UnboundPullback(back, bound(fun, args, kwargs))


def bound_values(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The values of a function's parameters in a call."""
    return bound(fun, args, kwargs).values


@adjoint_of(bound_values)
def _bound_values_adjoint(ct: Any, y: Any, fun: Any, args: Any, kwargs: Any) -> Any:
    parts = unbind(bound(fun, args, kwargs), ct)
    count = len(args)
    return None, parts[:count], {name: parts[count + i] for i, name in enumerate(kwargs)}


def unbind(bound: Bound, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Bring one cotangent per parameter in the order of a call's arguments."""
    return bound.unbind(parts)


def rebind(bound: Bound, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The other way around."""
    return bound.rebind(parts)


@adjoint_of(unbind)
def _unbind_adjoint(ct: Any, y: Any, bound: Any, parts: Any) -> Any:
    return None, rebind(bound, ct)


@adjoint_of(rebind)
def _rebind_adjoint(ct: Any, y: Any, bound: Any, parts: Any) -> Any:
    return None, unbind(bound, ct)


def generated(fun: FunctionType, values: tuple[Any, ...]) -> Callable[..., Any]:
    """The function that gives a function's value and pullback."""
    return plan_of(fun, values).forward


def apply_forward(fun: Any, called: Any, args: Any, kwargs: Any) -> Any:
    """Call a function with arguments in a tuple and a dict."""
    y, back = pull(called, *args, **kwargs)
    return y, ApplyPullback(back, len(args), tuple(kwargs))


def method_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an object."""
    y, back = pull(fun.__func__, fun.__self__, *args, **kwargs)
    return y, MethodPullback(back)


def builtin_method_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an array or a container."""
    y, back = pull(method_function(fun), fun.__self__, *args, **kwargs)
    return y, MethodPullback(back)


def instance_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call an object."""
    y, back = pull(call_of(fun), fun, *args, **kwargs)
    return y, InstancePullback(back)


def partial_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function with some arguments fixed."""
    y, back = pull(fun.func, *fun.args, *args, **{**fun.keywords, **kwargs})
    names = (*fun.keywords, *[name for name in kwargs if name not in fun.keywords])
    return y, PartialPullback(back, len(fun.args), len(args), names, tuple(kwargs))


def constructor_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Make an attrs object, a dataclass or a named tuple."""
    return fun(*args, **kwargs), constructor_pullback(fun, args, tuple(kwargs))


@attrs.frozen(eq=False)
class ApplyPullback:
    """The pullback of a call with arguments in a tuple and a dict."""

    back: Callable[[Any], tuple[Any, ...]]
    count: int
    names: tuple[str, ...]

    def __call__(self, ct: Any) -> Any:
        parts = self.back(ct)
        end = 1 + self.count
        keywords = {name: parts[end + i] for i, name in enumerate(self.names)}
        return None, parts[0], parts[1:end], keywords


@attrs.frozen(eq=False)
class PartialPullback:
    """The pullback of a function with some arguments fixed."""

    back: Callable[[Any], tuple[Any, ...]]
    fixed: int
    count: int
    names: tuple[str, ...]
    given: tuple[str, ...]

    def __call__(self, ct: Any) -> Any:
        parts = self.back(ct)
        end = 1 + self.fixed + self.count
        keywords = {name: parts[end + i] for i, name in enumerate(self.names)}
        own = {
            "func": parts[0],
            "args": parts[1 : 1 + self.fixed],
            "keywords": {k: keywords[k] for k in keywords if k not in self.given},
        }
        return (own, *parts[1 + self.fixed : end], *[keywords[k] for k in self.given])


def method_function(method: Any) -> Callable[..., Any]:
    """The function that does what a method of an array or a container does."""
    name = method.__name__
    if not isinstance(method.__self__, (np.ndarray, np.generic)):
        return CONTAINER_METHODS[type(method.__self__), name]
    if name == "reshape":
        return reshaped
    if name == "transpose":
        return transposed
    return METHODS[name]


def dict_get(d: Any, key: Any, default: Any = None) -> Any:
    """``d.get(key, default)``."""
    if key in d:
        return d[key]
    return default


def dict_values(d: Any) -> Any:
    """``d.values()``."""
    return [d[key] for key in d]


def dict_items(d: Any) -> Any:
    """``d.items()``."""
    return [(key, d[key]) for key in d]


def dict_copy(d: Any) -> Any:
    """``d.copy()``."""
    return {**d}


def list_copy(items: Any) -> Any:
    """``xs.copy()``."""
    return [*items]


CONTAINER_METHODS: Final[dict[tuple[type, str], Callable[..., Any]]] = {
    (dict, "get"): dict_get,
    (dict, "values"): dict_values,
    (dict, "items"): dict_items,
    (dict, "copy"): dict_copy,
    (list, "copy"): list_copy,
}


def mapped(fun: Any, *parts: Any) -> Any:
    """``map(fun, *parts)``, at once."""
    return [fun(*items) for items in zip(*parts, strict=False)]


def filtered(fun: Any, items: Any) -> Any:
    """``filter(fun, items)``, at once."""
    return [item for item in items if (item if fun is None else fun(item))]


def reduced(fun: Any, items: Any, *start: Any) -> Any:
    """``functools.reduce(fun, items, *start)``."""
    everything = runtime.joined(start, runtime.items_of(items))
    total = everything[0]
    for item in everything[1:]:
        total = fun(total, item)
    return total


#: Functions of Python's that take functions, written in Python.
WRITTEN: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    map: mapped,
    filter: filtered,
    functools.reduce: reduced,
}


def reshaped(x: Any, *shape: Any) -> Any:
    """``x.reshape(...)``."""
    return np.reshape(x, shape[0] if len(shape) == 1 else shape)


def transposed(x: Any, *axes: Any) -> Any:
    """``x.transpose(...)``."""
    if not axes:
        return np.transpose(x)
    return np.transpose(x, axes[0] if len(axes) == 1 else axes)


def call_of(instance: Any) -> Callable[..., Any]:
    """The function that runs when an object is called."""
    found: Callable[..., Any] = type(instance).__call__
    return found


def constructor_pullback(
    kind: Any, args: tuple[Any, ...], names: tuple[str, ...]
) -> FieldsPullback | ItemsPullback:
    """Which field each argument of a constructor becomes."""
    parameters = list(inspect.signature(kind).parameters)[: len(args)]
    if issubclass(kind, tuple):
        fields = list(kind._fields)
        return ItemsPullback(tuple([fields.index(name) for name in (*parameters, *names)]))
    aliases = {field.alias: field.name for field in attrs.fields(kind)} if attrs.has(kind) else {}
    return FieldsPullback(tuple([aliases.get(name, name) for name in (*parameters, *names)]))


inert.update((generated, bound, method_function, call_of, constructor_pullback, ZeroPullback))


@adjoint_of(runtime.attribute)
def _attribute_adjoint(ct: Any, y: Any, value: Any, name: str) -> Any:
    if is_method(y):
        return ct["__self__"], None
    getter = getter_of(value, name)
    if getter is not None:
        return pull(getter, value)[1](ct)[1], None
    if name == "T" and isinstance(value, (np.ndarray, Array)):
        return ct.T, None
    if name == "real":
        return ct, None
    if is_plain_attribute(value, name):
        return None, None
    if isinstance(value, tuple):
        return tuple([ct if f == name else None for f in tuple_fields(value)]), None
    return {name: ct}, None


def getter_of(value: Any, name: str) -> Callable[[Any], Any] | None:
    """The function that computes an attribute, if it is a property."""
    found = inspect.getattr_static(type(value), name, None)
    if isinstance(found, property):
        return found.fget
    return found.func if isinstance(found, functools.cached_property) else None


def is_plain_attribute(value: Any, name: str) -> bool:
    """Whether an attribute of a number or an array has no derivative, as its shape.

    Raises:
        SourceError: it has one, but it is not known.
    """
    known = isinstance(value, (int, float, complex, np.ndarray, np.generic, Array))
    if known and name in ("imag", "flat", "mT", "at"):
        raise SourceError(f"the derivative of .{name} is not taken. Use a function in its place.")
    if is_record(value) and name not in field_names(type(value)) and name in dir(type(value)):
        return not hasattr(type(value), "__getattr__")
    return known


def tuple_fields(value: Any) -> tuple[str, ...]:
    """The names of a named tuple's fields."""
    names: tuple[str, ...] = type(value)._fields
    return names


inert.update((getter_of, is_plain_attribute, tuple_fields))


@adjoint_of(Pullback)
def _pullback_adjoint(ct: Any, y: Any, run: Any, stack: Any) -> Any:
    return None, ct.get("stack")


def _refuse(fun: Any, instead: str) -> NoReturn:
    raise SourceError(
        f"no derivative is known of {_name(fun)}. {instead}",
        program_location(),
    )


def _name(fun: Any) -> str:
    module = getattr(fun, "__module__", None)
    name = getattr(fun, "__qualname__", None) or repr(fun)
    owner = getattr(fun, "__self__", None)
    if isinstance(fun, BuiltinFunctionType) and owner is not None and not inspect.ismodule(owner):
        return f"the method {name} of {type(owner).__module__}.{type(owner).__name__}"
    return f"{module}.{name}" if module and module != "builtins" else name


#: What a program can call instead.
_INSTEAD = (
    "Write it with operators and the functions of math, NumPy and tinyjax.numpy that are known, or "
    "give it a derivative with tinyjax.custom_vjp."
)
_IN_PLACE = "It may change its object in place. Build a new one: [*xs, x], {**d, k: v}."
#: Methods of containers and arrays whose results have no derivative.
_COUNTING: Final = frozenset(("index", "count", "keys", "argmax", "argmin", "argsort"))
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
    if _is_written(fun):
        return route(WRITTEN[fun], args, kwargs)
    if fun is runtime.apply:
        return Route(apply_forward, (fun, *args), kwargs)
    rule = rule_of(fun)
    if rule is not None:
        if any(kind_of(value).active for value in kwargs.values()):
            check_keywords(fun, rule, len(args), tuple(kwargs))
        return Route(rule_forward, (fun, *args), kwargs)
    if is_inert(fun):
        return Route(zero_forward, (fun, *args), kwargs)
    if isinstance(fun, LibraryPullback):
        return Route(library_back_forward, (fun, *args), kwargs)
    if isinstance(fun, MethodType) and isinstance(fun.__self__, Array):
        return Route(array_forward, (fun, *args), kwargs)
    if is_library(fun):
        return Route(library_forward, (fun, *args), kwargs)
    if isinstance(fun, MethodType):
        return Route(method_forward, (fun, *args), kwargs)
    if isinstance(fun, FunctionType):
        found = bound(fun, args, kwargs)
        if not found.plain:
            return Route(python_forward, (fun, *args), kwargs)
        return Route(plan_of(fun, args).forward, (fun, *args), {})
    if isinstance(fun, functools.partial):
        return Route(partial_forward, (fun, *args), kwargs)
    if isinstance(fun, type):
        if _is_record_class(fun):
            return Route(constructor_forward, (fun, *args), kwargs)
    elif isinstance(fun, BuiltinFunctionType):
        method = _route_method(fun, args, kwargs)
        if method is not None:
            return method
    elif isinstance(getattr(type(fun), "__call__", None), FunctionType):  # noqa: B004 - its type
        return Route(instance_forward, (fun, *args), kwargs)
    if not any(kind_of(x).active for x in (fun, *args, *kwargs.values())):
        return Route(zero_forward, (fun, *args), kwargs)
    _refuse(fun, _INSTEAD)


def _route_method(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Route | None:
    """How a method of a container, a text or a NumPy array is pulled."""
    owner = fun.__self__
    if isinstance(owner, str) or fun.__name__ in _COUNTING:
        return Route(zero_forward, (fun, *args), kwargs)
    if (type(owner), fun.__name__) in CONTAINER_METHODS or (
        isinstance(owner, (np.ndarray, np.generic)) and fun.__name__ in METHODS
    ):
        return Route(builtin_method_forward, (fun, *args), kwargs)
    if isinstance(owner, (list, dict, set, np.ndarray)) and fun.__name__ in _WRITING:
        _refuse(fun, _IN_PLACE)
    return None


def _is_written(fun: Any) -> bool:
    try:
        return fun in WRITTEN
    except TypeError:  # it cannot be hashed
        return False


def _is_record_class(kind: Any) -> bool:
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    if any(hasattr(kind, name) for name in ("__attrs_post_init__", "__post_init__")):
        return False
    if "__attrs_attrs__" in vars(kind):
        generated_init = kind.__init__.__code__.co_filename.startswith("<attrs generated")
        return generated_init and not any(f.converter for f in attrs.fields(kind))
    return "__dataclass_fields__" in vars(kind) and vars(kind)["__dataclass_params__"].init


# Generated functions


@attrs.frozen(eq=False)
class Plan:
    """The adjoint of a function for arguments of some kinds.

    Attributes:
        adjoint: its programs.
        forward: the first of them, compiled.
        text: both as Python.
    """

    adjoint: Adjoint
    forward: FunctionType
    text: str


_plans: dict[CodeType, tuple[IR, dict[tuple[Kind, ...], Plan]]] = {}


def known_plan(fun: FunctionType, args: tuple[Any, ...]) -> Plan | None:
    """The adjoint of a function if it is there already, for arguments that are its parameters."""
    code = fun.__code__
    kept = _plans.get(code)
    if kept is None or len(args) + 1 != len(kept[0].blocks[0].parameters):
        return None
    if len(args) != code.co_argcount or stale(fun):
        return None
    return kept[1].get((kind_of(fun), *map(kind_of, args)))


def plan_of(fun: FunctionType, values: tuple[Any, ...]) -> Plan:
    """The adjoint of a Python function, generated when first asked for."""
    kept = _plans.get(fun.__code__)
    if kept is None or stale(fun):
        kept = _plans[fun.__code__] = (ir_of(fun), {})
    kinds = (kind_of(fun), *[kind_of(value) for value in values])
    plan = kept[1].get(kinds)
    if plan is None:
        adjoint = differentiate(kept[0], kinds, CALLS)
        plan = kept[1][kinds] = Plan(adjoint, *compile_adjoint(adjoint, fun))
    return plan


# Functions of tinyjax


def is_library(fun: Any) -> bool:
    """Whether a function or a callable object is one of tinyjax, whose rules are known there."""
    if isinstance(fun, FunctionType):
        filename = fun.__code__.co_filename
    elif isinstance(fun, type) or inspect.ismodule(fun):
        return False
    else:
        return type(fun).__module__.startswith("tinyjax.") and not type(fun).__module__.startswith(
            "tinyjax.source"
        )
    return filename.startswith(PACKAGE_DIRECTORY) and not filename.startswith(_OWN)


@attrs.frozen(eq=False)
class LibraryCall:
    """A function of tinyjax, applied to the leaves of its arguments that have derivatives."""

    fun: Callable[..., Any]
    treedef: tree.PyTreeDef
    places: tuple[int, ...]
    leaves: tuple[Any, ...]

    def arguments(self, leaves: Sequence[Any]) -> Any:
        """The arguments with other leaves."""
        found = list(self.leaves)
        for place, leaf in zip(self.places, leaves, strict=True):
            found[place] = leaf
        return tree.unflatten(self.treedef, found)

    def cotangents(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the arguments from those of the leaves."""
        found: list[Any] = [None] * len(self.leaves)
        for place, leaf in zip(self.places, leaves, strict=True):
            found[place] = leaf
        args, kwargs = tree.unflatten(self.treedef, found)
        return (*args, *kwargs.values())

    def __call__(self, *leaves: Any) -> Any:
        args, kwargs = self.arguments(leaves)
        return self.fun(*args, **kwargs)


@attrs.frozen(eq=False)
class LibraryTranspose:
    """The pullback of a function of tinyjax as a function of the point and the cotangent."""

    call: LibraryCall

    def __call__(self, leaves: tuple[Any, ...], ct: Any) -> Any:
        value, back = vjp(self.call, *leaves)
        return self.call.cotangents(back(_conforming(ct, value)))


@attrs.frozen(eq=False)
class LibraryPullback:
    """The pullback of a function of tinyjax.

    Attributes:
        call: the function and its arguments.
        leaves: those arguments' leaves that have derivatives.
        value: the result.
        back: what ``tinyjax.vjp`` has given.
    """

    call: LibraryCall
    leaves: tuple[Any, ...]
    value: Any
    back: Callable[[Any], tuple[Any, ...]]

    @property
    def transpose(self) -> LibraryTranspose:
        """The same as a function of tinyjax."""
        return LibraryTranspose(self.call)

    def __call__(self, ct: Any) -> Any:
        return (None, *self.call.cotangents(self.back(_conforming(ct, self.value))))


def _conforming(ct: Any, value: Any) -> Any:
    """A cotangent as ``tinyjax.vjp`` takes it: of the result's type."""
    if isinstance(value, Array):
        if not is_inexact(value.dtype):
            return np.zeros(value.shape, float0)
        if ct is None:
            return jnp.zeros_like(value)
        return jnp.broadcast_to(jnp.asarray(ct), value.shape).astype(value.dtype)
    if isinstance(value, dict):
        return {k: _conforming(None if ct is None else ct.get(k), v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [None] * len(value) if ct is None else ct
        items = [_conforming(c, v) for c, v in zip(parts, value, strict=True)]
        if isinstance(value, tuple) and type(value) is not tuple:
            return type(value)(*items)
        return type(value)(items)
    if value is None:
        return None
    raise SourceError(
        f"a function of tinyjax returned a {type(value).__name__}, whose derivative is not taken "
        "here. Let it return arrays in tuples, lists or dicts."
    )


def library_forward(fun: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Call a function of tinyjax.

    Raises:
        SourceError: a function among the arguments closes over variables, whose derivatives would
            be lost.
    """
    leaves, treedef = tree.flatten((args, kwargs))
    for leaf in leaves:
        if isinstance(leaf, FunctionType) and leaf.__closure__ is not None:
            raise SourceError(
                f"{_name(fun)} was given the function {leaf.__qualname__}, which closes over "
                "variables: their derivatives would be lost. Use the transformation of the same "
                "name in tinyjax.source, or pass the values as arguments.",
                program_location(),
            )
    places = tuple([i for i, leaf in enumerate(leaves) if is_differentiable(leaf)])
    call = LibraryCall(fun, treedef, places, tuple(leaves))
    given = tuple([leaves[place] for place in places])
    value, back = vjp(call, *given)
    return value, LibraryPullback(call, given, value, back)


@adjoint_of(library_forward)
def _library_adjoint(ct: Any, pair: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    back = pair[1]
    parts = pull_back(back, ct[0], 1 + len(args) + len(kwargs))
    if ct[1] is None:
        return parts
    more = library_parts(back, ct[1]["leaves"])
    return (None, *[accumulate(a, b) for a, b in zip(parts[1:], more, strict=True)])


def library_parts(back: LibraryPullback, leaves: Any) -> tuple[Any, ...]:
    """The cotangents of the arguments from those of the leaves that a pullback keeps."""
    return back.call.cotangents(leaves)


@adjoint_of(library_parts)
def _library_parts_adjoint(ct: Any, y: Any, back: Any, leaves: Any) -> Any:
    return None, library_leaves(back, ct)


def library_leaves(back: LibraryPullback, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The leaves of the cotangents of arguments; the other way around."""
    names = list(back.call.arguments(back.leaves)[1])
    count = len(parts) - len(names)
    flat = back.call.treedef.flatten_up_to(
        (tuple(parts[:count]), dict(zip(names, parts[count:], strict=True))), "cotangents"
    )
    return tuple([flat[place] for place in back.call.places])


@adjoint_of(library_leaves)
def _library_leaves_adjoint(ct: Any, y: Any, back: Any, parts: Any) -> Any:
    return None, library_parts(back, ct)


def array_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an array of tinyjax."""
    y, back = library_forward(ArrayMethod(fun.__name__), fun.__self__, *args, **kwargs)
    return y, ArrayMethodPullback(back)


def library_back_forward(back: Any, ct: Any) -> Any:
    """Call the pullback of a function of tinyjax."""
    parts, inner = library_forward(back.transpose, back.leaves, ct)
    return (None, *parts), LibraryBackPullback(inner)


@attrs.frozen(eq=False)
class LibraryBackPullback:
    """The pullback of the pullback of a function of tinyjax."""

    back: Any

    def __call__(self, ct: Any) -> Any:
        parts = self.back(ct[1:])
        return ({"leaves": parts[1]}, parts[2])


@attrs.frozen
class ArrayMethod:
    """A method of an array as a function of it."""

    name: str

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, self.name)(*args, **kwargs)


@attrs.frozen(eq=False)
class ArrayMethodPullback:
    """The pullback of an array's method."""

    back: Any

    def __call__(self, ct: Any) -> Any:
        parts = self.back(ct)
        return ({"__self__": parts[1]}, *parts[2:])


inert.add(ArrayMethod)

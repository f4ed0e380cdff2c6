"""Derivatives of calls.

A rule is a Python function of its own: from the cotangent and the result of a call and its
arguments to the cotangents of the arguments. It is in the language that is differentiated, so that
derivatives of any order need no further rules. Most are formulas, one for each argument, which a
pullback has written out where it can.
"""

from __future__ import annotations

import builtins
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from types import BuiltinFunctionType, MethodType
from typing import Any, Final, TypeVar

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.array import Array
from tinyjax.errors import SourceError
from tinyjax.frames import Location
from tinyjax.source import runtime
from tinyjax.source.cotangents import (
    accumulate,
    broadcast_like,
    gradient_like,
    is_complex,
    is_record,
    number,
    one_like,
    reduce_to,
)
from tinyjax.source.origins import write_function

Function = Callable[..., Any]
R = TypeVar("R", bound=Function)


@attrs.frozen(eq=False)
class Rule:
    """The derivative of a function.

    Attributes:
        adjoint: ``adjoint(ct, y, *args, **kwargs)`` gives a cotangent for each argument; None is
            zero.
        parameters: what formulas call the arguments.
        formulas: the cotangent of each argument, without regard to broadcasting; none where the
            rule is not of that form.
        scalar: whether floats give a float.
        library: the module of the functions that the formulas name.
    """

    adjoint: Function
    parameters: tuple[str, ...] = ()
    formulas: tuple[str | None, ...] = ()
    scalar: bool = False
    library: Any = None


#: The rules there are.
rules: dict[Function, Rule] = {}
#: Functions whose results have no derivative, or are the same whatever floats are near.
inert: set[Function] = set()


def check_keywords(
    fun: Function, rule: Rule, count: int, names: Sequence[str], location: Location | None = None
) -> None:
    """Check that arguments given by keyword are where the rule gives their cotangents.

    Raises:
        SourceError: they are in another order.
    """
    parameters = list(inspect.signature(rule.adjoint).parameters.values())[2:]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    for place, name in enumerate(names, count):
        if place >= len(parameters) or parameters[place].name != name:
            raise SourceError(
                f"{getattr(fun, '__name__', fun)} was given {name} by keyword, where it has a "
                "derivative. Give it by position.",
                location,
            )


def rule_of(fun: Any) -> Rule | None:
    """The rule of a function, if there is one."""
    try:
        return rules.get(fun)
    except TypeError:  # it cannot be hashed
        return None


def is_inert(fun: Any) -> bool:
    """Whether a function's results have no derivative."""
    try:
        return fun in inert
    except TypeError:
        return False


def formula(
    functions: Function | Sequence[Function],
    parameters: str,
    *formulas: str | None,
    library: Any = math,
) -> None:
    """Give functions their derivatives: an expression for each parameter, None for zero."""
    names = tuple(parameters.split())
    for fun in [functions] if callable(functions) else functions:
        name = f"{'np_' if isinstance(fun, np.ufunc) else ''}{fun.__name__.strip('_')}_adjoint"
        parts = [
            "None" if f is None else f"reduce_to({f}, {n})" if len(names) > 1 else f
            for n, f in zip(names, formulas, strict=True)
        ]
        text = f"def {name}(ct, y, {', '.join(names)}):\n    return ({', '.join(parts)},)\n"
        namespace = {"__name__": __name__, **SHARED, **vars_of(library)}
        adjoint = globals()[name] = write_function(name, text, namespace)
        rules[fun] = Rule(adjoint, names, formulas, scalar=True, library=library)


def vars_of(library: Any) -> dict[str, Any]:
    """The functions of a module that formulas may name."""
    return {name: getattr(library, name) for name in _NAMES if hasattr(library, name)}


_NAMES: Final = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "sign", "where")


def adjoint_of(*functions: Function) -> Callable[[R], R]:
    """Register a rule that is a function."""

    def register(adjoint: R) -> R:
        for fun in functions:
            rules[fun] = Rule(adjoint)
        return adjoint

    return register


# Helpers of the formulas, for numbers and arrays of all kinds


def slope_of_abs(x: Any) -> Any:
    """The derivative of the absolute value: 0 at 0."""
    if isinstance(x, Array):
        return jnp.sign(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return np.sign(x)
    return math.copysign(1.0, x) if x else 0.0


def log_of(x: Any) -> Any:
    """The logarithm in the derivative of a power with respect to its exponent: 0 at 0."""
    if isinstance(x, Array):
        return jnp.log(jnp.where(x == 0, 1, x))
    if isinstance(x, (np.ndarray, np.generic)):
        return np.log(np.where(np.equal(x, 0), 1.0, np.where(np.less(x, 0), np.nan, x)))
    if x < 0:
        return math.nan
    return 0.0 if x == 0 else math.log(x)


def power_slope(x: Any, n: Any) -> Any:
    """``n * x ** (n - 1)``, and 0 where n is 0."""
    if isinstance(n, (int, float)):
        return 0.0 if n == 0 else n * x ** (n - 1)
    if isinstance(x, Array) or isinstance(n, Array):
        return n * x ** jnp.where(n == 0, 1, n - 1)
    return n * x ** np.where(n == 0, 1.0, n - 1)


SHARED: Final[dict[str, Any]] = {
    f.__name__: f for f in (reduce_to, slope_of_abs, log_of, power_slope, accumulate)
}

formula((operator.neg, np.negative), "x", "-ct")
formula((operator.pos, np.positive), "x", "ct")
formula((operator.sub, np.subtract), "x y_", "ct", "-ct")
formula((operator.truediv, np.divide), "x d", "ct / d", "-ct * y / d")
formula(
    (operator.pow, np.power, np.float_power), "x n", "ct * power_slope(x, n)", "ct * y * log_of(x)"
)
formula(math.pow, "x n", "ct * power_slope(x, n)", "ct * y * log_of(x)")
formula((abs, math.fabs, np.abs, np.fabs), "x", "ct * slope_of_abs(x)")
formula((operator.mod, math.fmod, np.mod, np.fmod), "x d", "ct", "-ct * ((x - y) / d)")
formula(np.add, "x y_", "ct", "ct")
formula(np.multiply, "a b", "ct * b", "a * ct")
formula(math.hypot, "a b", "ct * a / y", "ct * b / y")
formula(np.hypot, "a b", "ct * a / y", "ct * b / y", library=np)
formula((math.atan2,), "b a", "ct * a / (a * a + b * b)", "-ct * b / (a * a + b * b)")
formula((np.arctan2,), "b a", "ct * a / (a * a + b * b)", "-ct * b / (a * a + b * b)", library=np)
formula(math.log1p, "x", "ct / (1 + x)")
for _library, _prefix in ((math, "a"), (np, "arc")):
    for _names, _formula in (
        ("sin", "ct * cos(x)"),
        ("cos", "-ct * sin(x)"),
        ("tan", "ct * (1 + y * y)"),
        ("sinh", "ct * cosh(x)"),
        ("cosh", "ct * sinh(x)"),
        ("tanh", "ct * (1 - y * y)"),
        ("exp", "ct * y"),
        ("expm1", "ct * (y + 1)"),
        ("sqrt", "ct / (2 * y)"),
        ("log2", f"ct / (x * {math.log(2)!r})"),
        ("log10", f"ct / (x * {math.log(10)!r})"),
        (f"{_prefix}sin", "ct / sqrt(1 - x * x)"),
        (f"{_prefix}cos", "-ct / sqrt(1 - x * x)"),
        (f"{_prefix}tan", "ct / (1 + x * x)"),
        (f"{_prefix}sinh", "ct / sqrt(1 + x * x)"),
        (f"{_prefix}cosh", "ct / sqrt(x * x - 1)"),
        (f"{_prefix}tanh", "ct / (1 - x * x)"),
    ):
        formula(getattr(_library, _names), "x", _formula, library=_library)
formula(np.log, "x", "ct / x", library=np)
formula(np.log1p, "x", "ct / (1 + x)", library=np)
formula(np.square, "x", "2 * ct * x", library=np)
formula(np.reciprocal, "x", "-ct * y * y", library=np)
formula(
    np.maximum,
    "a b",
    "ct * where(a > b, 1.0, where(a == b, 0.5, 0.0))",
    "ct * where(b > a, 1.0, where(a == b, 0.5, 0.0))",
    library=np,
)
formula(
    np.minimum,
    "a b",
    "ct * where(a < b, 1.0, where(a == b, 0.5, 0.0))",
    "ct * where(b < a, 1.0, where(a == b, 0.5, 0.0))",
    library=np,
)
formula(np.where, "c a b", None, "where(c, ct, 0.0)", "where(c, 0.0, ct)", library=np)


@adjoint_of(math.log)
def log_adjoint(ct: Any, y: Any, x: Any, base: Any = None) -> Any:
    """The derivative of math.log."""
    if base is None:
        return (ct / x,)
    scale = math.log(base)
    return ct / (x * scale), -ct * y / (base * scale)


@adjoint_of(math.fsum)
def fsum_adjoint(ct: Any, y: Any, items: Any) -> Any:
    """The derivative of math.fsum."""
    return ([ct] * len(items),)


@adjoint_of(math.prod)
def prod_adjoint(ct: Any, y: Any, items: Any, start: Any = 1) -> Any:
    """The derivative of math.prod."""
    return (
        [ct * start * math.prod(items[:i]) * math.prod(items[i + 1 :]) for i in range(len(items))],
        ct * math.prod(items),
    )


# Operators that containers have too


@adjoint_of(operator.add)
def add_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of operator.add."""
    if isinstance(y, (list, tuple)):
        return ct[: len(a)], ct[len(a) :]
    return reduce_to(ct, a), reduce_to(ct, b)


@adjoint_of(operator.mul)
def mul_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of operator.mul."""
    if isinstance(y, (list, tuple)):
        if isinstance(b, int):
            return repeated_adjoint(ct, a), None
        return None, repeated_adjoint(ct, b)
    return reduce_to(ct * b, a), reduce_to(a * ct, b)


def repeated_adjoint(ct: Any, items: Any) -> Any:
    """The cotangent of a sequence that was repeated."""
    total = None
    for start in range(0, len(ct), max(len(items), 1)):
        total = accumulate(total, ct[start : start + len(items)])
    return total


for _fun, _parameters, _formulas in (
    (operator.add, ("a", "b"), ("ct", "ct")),
    (operator.mul, ("a", "b"), ("ct * b", "a * ct")),
):
    rules[_fun] = attrs.evolve(
        rules[_fun], parameters=_parameters, formulas=_formulas, scalar=True, library=math
    )


@adjoint_of(runtime.updated)
def updated_adjoint(ct: Any, y: Any, operation: Any, value: Any, by: Any) -> Any:
    """The derivative of runtime.updated."""
    return (None, *rule_adjoint(operation)(ct, y, value, by))


def rule_adjoint(fun: Function) -> Function:
    """The adjoint of a function that has a rule."""
    return rules[fun].adjoint


@adjoint_of(operator.matmul, np.matmul, np.dot)
def matmul_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of operator.matmul, np.matmul and np.dot."""
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return ct @ b.T, a.T @ ct
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return reduce_to(ct * b, a), reduce_to(a * ct, b)
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return ct * b, ct * a
    if np.ndim(a) == 1:
        wide = ct[..., None, :]
        return (
            reduce_to((b @ ct[..., None])[..., 0], a),
            reduce_to(a[:, None] @ wide, b),
        )
    if np.ndim(b) == 1:
        tall = ct[..., None]
        return reduce_to(tall * b, a), reduce_to((a.swapaxes(-1, -2) @ tall)[..., 0], b)
    return reduce_to(ct @ b.swapaxes(-1, -2), a), reduce_to(a.swapaxes(-1, -2) @ ct, b)


# Containers


@adjoint_of(runtime.make_tuple)
def make_tuple_adjoint(ct: Any, y: Any, *items: Any) -> Any:
    """The derivative of runtime.make_tuple."""
    return tuple(ct)


@adjoint_of(runtime.make_list)
def make_list_adjoint(ct: Any, y: Any, *items: Any) -> Any:
    """The derivative of runtime.make_list."""
    return tuple(ct)


@adjoint_of(runtime.make_dict)
def make_dict_adjoint(ct: Any, y: Any, *items: Any) -> Any:
    """The derivative of runtime.make_dict."""
    return tuple([ct.get(items[i - 1]) if i % 2 else None for i in range(len(items))])


@adjoint_of(runtime.as_list, list, tuple, runtime.items_of)
def as_list_adjoint(ct: Any, y: Any, items: Any = ()) -> Any:
    """The derivative of runtime.as_list, list, tuple and runtime.items_of."""
    return (like_items(ct, items),)


def like_items(ct: Any, items: Any) -> Any:
    """Cotangents of the items of a sequence as the cotangent of the sequence."""
    if isinstance(items, (np.ndarray, Array)):
        return filled(ct, items)
    if isinstance(items, (range, dict, str)):
        return None
    return list(ct) if isinstance(items, list) else tuple(ct)


def filled(ct: Any, items: Any) -> Any:
    """Cotangents of the items of an array put together."""
    if isinstance(ct, (np.ndarray, Array)):
        return ct
    if isinstance(items, Array):
        return jnp.stack(
            [
                jnp.zeros_like(items[i]) if ct[i] is None else jnp.asarray(ct[i])
                for i in range(len(items))
            ]
        )
    return np.stack(
        [np.zeros_like(items[i]) if ct[i] is None else ct[i] for i in range(len(items))]
    )


@adjoint_of(runtime.joined)
def joined_adjoint(ct: Any, y: Any, *parts: Any) -> Any:
    """The derivative of runtime.joined."""
    starts = [sum([len(part) for part in parts[:i]]) for i in range(len(parts))]
    return tuple(
        [like_items(ct[s : s + len(part)], part) for s, part in zip(starts, parts, strict=True)]
    )


@adjoint_of(runtime.merged)
def merged_adjoint(ct: Any, y: Any, *parts: Any) -> Any:
    """The derivative of runtime.merged."""
    return tuple(
        [
            {k: ct.get(k) for k in part if not seen_later(k, parts[i + 1 :])}
            for i, part in enumerate(parts)
        ]
    )


@adjoint_of(operator.or_)
def or_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of operator.or_: that of merging dicts."""
    if isinstance(y, dict):
        return {k: ct.get(k) for k in a if k not in b}, {k: ct.get(k) for k in b}
    return None, None


def seen_later(key: Any, parts: Any) -> bool:
    """Whether a key is in one of several mappings."""
    return any(key in part for part in parts)


@adjoint_of(runtime.unpacked)
def unpacked_adjoint(ct: Any, y: Any, value: Any, count: int) -> Any:
    """The derivative of runtime.unpacked."""
    return like_items(ct, value), None


@adjoint_of(runtime.unpacked_star)
def unpacked_star_adjoint(ct: Any, y: Any, value: Any, before: int, after: int) -> Any:
    """The derivative of runtime.unpacked_star."""
    end = len(ct) - after
    middle = ct[before] if ct[before] is not None else [None] * len(y[before])
    return like_items([*ct[:before], *middle, *ct[end:]], value), None, None


@adjoint_of(runtime.collected)
def collected_adjoint(ct: Any, y: Any, chain: Any) -> Any:
    """The derivative of runtime.collected."""
    found: Any = None
    for item in ct:
        found = (found, item)
    return (found,)


@adjoint_of(runtime.collected_dict)
def collected_dict_adjoint(ct: Any, y: Any, chain: Any) -> Any:
    """The derivative of runtime.collected_dict."""
    found: Any = None
    keys = [key for key, _ in runtime.collected(chain)]
    for i, key in enumerate(keys):
        found = (found, (None, None if key in keys[i + 1 :] else ct.get(key)))
    return (found,)


@adjoint_of(dict)
def dict_adjoint(ct: Any, y: Any, items: Any = (), **entries: Any) -> Any:
    """The derivative of dict."""
    given = [ct.get(name) for name in entries]
    if isinstance(items, dict):
        return {k: ct.get(k) for k in items if k not in entries}, *given
    if isinstance(items, (list, tuple)):
        return like_items([(None, ct.get(key)) for key, _ in items], items), *given
    raise SourceError(
        f"dict() of a {type(items).__name__} has no derivative. Write {{k: v for k, v in ...}}."
    )


@adjoint_of(runtime.defined)
def defined_adjoint(ct: Any, y: Any, value: Any, name: str) -> Any:
    """The derivative of runtime.defined."""
    return ct, None


@adjoint_of(runtime.enter)
def enter_adjoint(ct: Any, y: Any, manager: Any) -> Any:
    """The derivative of runtime.enter."""
    raise SourceError(
        f"what a `with` statement binds ({type(manager).__name__}) cannot be differentiated. Use "
        "the value itself."
    )


@adjoint_of(runtime.captured)
def captured_adjoint(ct: Any, y: Any, fun: Any, name: str) -> Any:
    """The derivative of runtime.captured."""
    return {name: ct}, None


@adjoint_of(runtime.make_function)
def make_function_adjoint(
    ct: Any, y: Any, maker: Any, code: Any, defaults: Any, keyword_defaults: Any, *values: Any
) -> Any:
    """The derivative of runtime.make_function."""
    own = [name for i, name in enumerate(code.co_freevars) if values[i] is runtime.UNDEFINED]
    total = ct
    if own:  # it calls itself, and so has the cotangents of its inner calls
        total = None
        while ct is not None:
            total = accumulate(total, {k: ct[k] for k in ct if k != own[0]})
            ct = ct.get(own[0])
    return None, None, None, None, *[total.get(name) for name in code.co_freevars]


@adjoint_of(operator.getitem)
def getitem_adjoint(ct: Any, y: Any, container: Any, index: Any) -> Any:
    """The derivative of operator.getitem."""
    return placed(ct, container, index), None


def placed(ct: Any, container: Any, index: Any) -> Any:
    """The cotangent of a container, zero but at an index."""
    if isinstance(container, dict):
        return {index: ct}
    if isinstance(container, (list, tuple)):
        return placed_item(ct, container, index)
    if isinstance(container, Array):
        return jnp.zeros_like(container).at[index].add(ct)
    return placed_array(ct, container, index)


def placed_item(ct: Any, container: Any, index: Any) -> Any:
    """The cotangent of a sequence, zero but at an index."""
    places = range(len(container))[index]
    found: list[Any] = [None] * len(container)
    if isinstance(places, range):
        for i, place in enumerate(places):
            found[place] = ct[i]
    else:
        found[places] = ct
    return found if isinstance(container, list) else tuple(found)


@adjoint_of(placed_item)
def placed_item_adjoint(ct: Any, y: Any, value: Any, container: Any, index: Any) -> Any:
    """The derivative of placed_item."""
    return ct[index], None, None


def placed_array(ct: Any, container: Any, index: Any) -> Any:
    """The cotangent of a NumPy array, zero but at an index."""
    if isinstance(ct, Array):
        return jnp.zeros(container.shape, ct.dtype).at[index].add(ct)
    found = np.zeros(container.shape, np.result_type(container, ct))
    if _is_basic(index):
        found[index] = ct
    else:
        np.add.at(found, index, ct)
    return found


def _is_basic(index: Any) -> bool:
    if isinstance(index, tuple):
        return all(_is_basic(part) for part in index)
    return index is None or index is Ellipsis or isinstance(index, (int, slice, np.integer))


@adjoint_of(placed_array)
def placed_array_adjoint(ct: Any, y: Any, value: Any, container: Any, index: Any) -> Any:
    """The derivative of placed_array."""
    return ct[index], None, None


def is_method(value: Any) -> bool:
    """Whether a value is a function bound to an object, whose cotangent is then the object's."""
    return isinstance(value, (MethodType, BuiltinFunctionType))


@adjoint_of(builtins.sum)
def sum_adjoint(ct: Any, y: Any, items: Any, start: Any = 0) -> Any:
    """The derivative of builtins.sum."""
    parts = [reduce_to(ct, items[i]) for i in range(len(items))]
    return like_items(parts, items), reduce_to(ct, start)


@adjoint_of(builtins.max, builtins.min)
def extreme_adjoint(ct: Any, y: Any, *items: Any) -> Any:
    """The derivative of builtins.max and builtins.min."""
    if len(items) == 1:
        return (like_items(chosen_among(ct, y, items[0]), items[0]),)
    return tuple(chosen_among(ct, y, items))


def chosen_among(ct: Any, best: Any, items: Any) -> Any:
    """A cotangent for the first item that is the best."""
    first = place_of(best, items)
    return [ct if i == first else None for i in range(len(items))]


def place_of(best: Any, items: Any) -> int:
    """Which item it is, or the first that equals it."""
    for i in range(len(items)):
        if items[i] is best:
            return i
    return [bool(item == best) for item in items].index(True)


@adjoint_of(builtins.enumerate)
def enumerate_adjoint(ct: Any, y: Any, items: Any, start: int = 0) -> Any:
    """The derivative of builtins.enumerate."""
    parts = [None if pair is None else pair[1] for pair in ct]
    return like_items(parts, items), None


@adjoint_of(builtins.zip)
def zip_adjoint(ct: Any, y: Any, *parts: Any, strict: bool = False) -> Any:
    """The derivative of builtins.zip."""
    return (
        *[
            like_items(
                [ct[j][i] if j < len(ct) and ct[j] is not None else None for j in range(len(part))],
                part,
            )
            for i, part in enumerate(parts)
        ],
        None,
    )


@adjoint_of(builtins.reversed)
def reversed_adjoint(ct: Any, y: Any, items: Any) -> Any:
    """The derivative of builtins.reversed."""
    return (like_items(ct[::-1], items),)


@adjoint_of(builtins.sorted)
def sorted_adjoint(ct: Any, y: Any, items: Any, reverse: bool = False) -> Any:
    """The derivative of builtins.sorted."""
    order = ordering(items, reverse)
    parts = [ct[order.index(i)] for i in range(len(items))]
    return like_items(parts, items), None


def ordering(items: Any, reverse: bool) -> list[int]:
    """Which items those of the sorted sequence are."""
    return sorted(range(len(items)), key=lambda i: items[i], reverse=reverse)


@adjoint_of(float, np.float64)
def float_adjoint(ct: Any, y: Any, x: Any = 0.0) -> Any:
    """The derivative of float and np.float64."""
    return (ct,)


@adjoint_of(partial)
def partial_adjoint(ct: Any, y: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    """The derivative of partial."""
    keywords = ct.get("keywords")
    return (
        ct.get("func"),
        *(ct["args"] if ct.get("args") is not None else [None for _ in args]),
        *[None if keywords is None else keywords.get(name) for name in kwargs],
    )


@adjoint_of(gradient_like)
def gradient_like_adjoint(ct: Any, y: Any, found: Any, x: Any) -> Any:
    """The derivative of gradient_like."""
    if isinstance(x, (np.ndarray, np.generic, Array)) and found is not None:
        return reduce_to(ct, found), None
    return ct, None


# NumPy's functions


@adjoint_of(np.sum)
def np_sum_adjoint(ct: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The derivative of np.sum."""
    return np_spread(ct, x, axis, keepdims), None, None


@adjoint_of(np.mean)
def np_mean_adjoint(ct: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The derivative of np.mean."""
    return np_spread(ct, x, axis, keepdims) * (np.size(y) / np.size(x)), None, None


def np_spread(ct: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Repeat a cotangent along the axes that were summed over."""
    if axis is not None and not keepdims:
        ct = np.expand_dims(ct, axis)
    return np.broadcast_to(ct, np.shape(x))


@adjoint_of(np.prod)
def np_prod_adjoint(ct: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The derivative of np.prod."""
    return np_spread(ct * y, x, axis, keepdims) / x, None, None


@adjoint_of(np.max, np.min, np.amax, np.amin)
def np_extreme_adjoint(ct: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The derivative of np.max, np.min, np.amax and np.amin."""
    best = x == np_spread(y, x, axis, keepdims)
    share = best / np.sum(best, axis=axis, keepdims=True)
    return np_spread(ct, x, axis, keepdims) * share, None, None


@adjoint_of(np.expand_dims, np.squeeze, np.ravel, np.reshape)
def np_reshape_adjoint(ct: Any, y: Any, x: Any, *_rest: Any, **_keywords: Any) -> Any:
    """The derivative of np.expand_dims, np.squeeze, np.ravel and np.reshape."""
    return (np.reshape(ct, np.shape(x)), *[None for _ in _rest], *[None for _ in _keywords])


@adjoint_of(np.broadcast_to)
def np_broadcast_to_adjoint(ct: Any, y: Any, x: Any, shape: Any) -> Any:
    """The derivative of np.broadcast_to."""
    return reduce_to(ct, x), None


@adjoint_of(broadcast_like)
def broadcast_like_adjoint(ct: Any, y: Any, x: Any, shape: Any) -> Any:
    """The derivative of broadcast_like."""
    return reduce_to(ct, x), None


@adjoint_of(reduce_to)
def reduce_to_adjoint(ct: Any, y: Any, x: Any, like: Any) -> Any:
    """The derivative of reduce_to."""
    return reduce_to(spread_back(ct, x), x), None


def spread_back(ct: Any, x: Any) -> Any:
    """Repeat a cotangent over what a sum was taken of."""
    if np.ndim(x) == 0 or np.shape(ct) == np.shape(x):
        return ct
    return broadcast_like(ct, np.broadcast_shapes(np.shape(ct), np.shape(x)))


@adjoint_of(number)
def number_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """The derivative of number."""
    return (ct,)


@adjoint_of(np.transpose)
def np_transpose_adjoint(ct: Any, y: Any, x: Any, axes: Any = None) -> Any:
    """The derivative of np.transpose."""
    return np.transpose(ct, None if axes is None else np.argsort(axes)), None


@adjoint_of(np.swapaxes)
def np_swapaxes_adjoint(ct: Any, y: Any, x: Any, first: int, second: int) -> Any:
    """The derivative of np.swapaxes."""
    return np.swapaxes(ct, first, second), None, None


@adjoint_of(np.trace)
def np_trace_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """The derivative of np.trace."""
    return (ct * np.eye(*np.shape(x)),)


@adjoint_of(np.outer)
def np_outer_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of np.outer."""
    return ct @ b, a @ ct


@adjoint_of(np.vdot, np.inner)
def np_inner_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of np.vdot and np.inner."""
    return matmul_adjoint(ct, y, a, b if np.ndim(b) < 2 else b.T)


@adjoint_of(np.diag)
def np_diag_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """The derivative of np.diag."""
    if np.ndim(x) == 1 or np.shape(x)[0] == np.shape(x)[1]:
        return (np.diag(ct),)
    return (ct * np.eye(*np.shape(x)),)


@adjoint_of(np.cumsum)
def np_cumsum_adjoint(ct: Any, y: Any, x: Any, axis: Any = None) -> Any:
    """The derivative of np.cumsum."""
    if axis is None:
        return np.reshape(np.cumsum(ct[::-1])[::-1], np.shape(x)), None
    return np.flip(np.cumsum(np.flip(ct, axis), axis), axis), None


@adjoint_of(np.flip)
def np_flip_adjoint(ct: Any, y: Any, x: Any, axis: Any = None) -> Any:
    """The derivative of np.flip."""
    return np.flip(ct, axis), None


@adjoint_of(np.array, np.asarray)
def np_array_adjoint(ct: Any, y: Any, x: Any, dtype: Any = None) -> Any:
    """The derivative of np.array and np.asarray."""
    return nested_like(ct, x), None


def nested_like(ct: Any, x: Any) -> Any:
    """The cotangent of an array as that of the nested lists that it was made from."""
    if isinstance(x, (list, tuple)):
        parts = [nested_like(ct[i], x[i]) for i in range(len(x))]
        return parts if isinstance(x, list) else tuple(parts)
    return ct


@adjoint_of(np.stack)
def np_stack_adjoint(ct: Any, y: Any, parts: Any, axis: int = 0) -> Any:
    """The derivative of np.stack."""
    moved = np.moveaxis(ct, axis, 0)
    return like_items([moved[i] for i in range(len(parts))], parts), None


@adjoint_of(np.moveaxis)
def np_moveaxis_adjoint(ct: Any, y: Any, x: Any, source: Any, destination: Any) -> Any:
    """The derivative of np.moveaxis."""
    return np.moveaxis(ct, destination, source), None, None


@adjoint_of(np.concatenate)
def np_concatenate_adjoint(ct: Any, y: Any, parts: Any, axis: int = 0) -> Any:
    """The derivative of np.concatenate."""
    sizes = [np.shape(part)[axis] for part in parts]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    moved = np.moveaxis(ct, axis, 0)
    return (
        like_items(
            [
                np.moveaxis(moved[starts[i] : starts[i] + sizes[i]], 0, axis)
                for i in range(len(parts))
            ],
            parts,
        ),
        None,
    )


@adjoint_of(np.linalg.inv)
def np_inv_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """The derivative of np.linalg.inv."""
    turned = np.swapaxes(y, -1, -2)
    return (-(turned @ ct @ turned),)


@adjoint_of(np.linalg.solve)
def np_solve_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of np.linalg.solve."""
    found = np.linalg.solve(np.swapaxes(a, -1, -2), ct)
    if np.ndim(b) == 1:
        return -np.outer(found, y), found
    return -(found @ np.swapaxes(y, -1, -2)), found


@adjoint_of(np.linalg.det)
def np_det_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """The derivative of np.linalg.det."""
    return ((ct * y)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2),)


@adjoint_of(np.linalg.norm)
def np_norm_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """The derivative of np.linalg.norm."""
    return (ct * x / y,)


#: Functions of NumPy that do what a method of its arrays does.
METHODS: Final[dict[str, Function]] = {
    name: getattr(np, name)
    for name in (
        "cumsum", "dot", "max", "mean", "min", "prod", "ravel", "reshape", "squeeze", "sum",
        "swapaxes", "trace", "transpose",
    )
}  # fmt: skip

inert.update(
    (len, range, isinstance, issubclass, int, bool, str, repr, format, type, id, callable, hasattr,
     print, ascii, chr, ord, any, all, hash, slice, round,
     operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.is_,
     operator.is_not, operator.not_, operator.floordiv, operator.invert, operator.lshift,
     operator.rshift, operator.and_, operator.xor,
     runtime.contains, runtime.lacks, runtime.formatted, runtime.text, runtime.thrown,
     runtime.global_value, runtime.leave, AssertionError, ValueError, TypeError,
     ZeroDivisionError, ArithmeticError, RuntimeError, IndexError, KeyError,
     math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose,
     math.factorial, math.comb, math.gcd,
     np.shape, np.ndim, np.size, np.zeros, np.ones, np.empty, np.eye, np.identity, np.arange,
     np.zeros_like, np.ones_like, np.empty_like, np.argmax, np.argmin, np.argsort, np.sign,
     np.floor, np.ceil, np.round, np.rint, np.trunc, np.isnan, np.isinf, np.isfinite, np.equal,
     np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.logical_and,
     np.logical_or, np.logical_not, np.any, np.all, np.allclose, np.isclose, np.array_equal,
     np.searchsorted, np.count_nonzero, np.nonzero, np.result_type, np.broadcast_shapes,
     np.tri, np.indices, np.digitize, np.issubdtype,
     is_complex, is_record, one_like, slope_of_abs, place_of, ordering, rule_adjoint, is_method,
     seen_later)
)  # fmt: skip

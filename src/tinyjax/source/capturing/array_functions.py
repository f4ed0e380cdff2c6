"""NumPy's other functions, applied to values under capture.

The view of an array is found by NumPy itself (``memories``); what is computed is computed by
tinyjax's function of the name, or else by NumPy's own Python source.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, Final

import numpy as np

from tinyjax.errors import AxisError, DivergenceError, TinyjaxError, UndecidedError
from tinyjax.numpy import protocols
from tinyjax.source import facts
from tinyjax.source.capturing import memories, ndarrays, runs, signatures, squares, ufuncs
from tinyjax.source.ir import runtime

_role = "interprets"  # see ``frames.Role``


def apply_function(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Apply a function of NumPy's to arguments of which some are under capture."""
    result = apply_directly(func, args, kwargs)
    if result is not NotImplemented:
        return result
    operands = (*args, *kwargs.values())
    own = [*map(_in_its_class, operands)]
    if any(map(operator.is_not, own, operands)) and ndarrays.are_traced(args, kwargs):
        options = dict(zip(kwargs, own[len(args) :], strict=True))
        return apply_function(func, own[: len(args)], options)
    if any(ndarrays.is_array(x) and type(x).has_protocols for x in operands):
        return by_protocols(func, args, kwargs)
    for x in args:
        if ndarrays.is_array(x) and type(x) is not ndarrays.CapturedArray:
            result = _applied(func, args, kwargs)
            is_traced = ndarrays.are_traced(args, kwargs)
            return (
                in_class(result, ndarrays.example_of(func, args, kwargs), x)
                if is_traced
                else result
            )
        if type(x) in (list, tuple):
            _check_classes(func, x)
    return _applied(func, args, kwargs)


def _in_its_class(x: Any) -> Any:
    """Return an array of a subclass that the program has not made as one under capture.

    So the results of NumPy's functions are of its class; lists of such arrays are new ones.
    """
    if type(x) in (list, tuple):
        items = [*map(_in_its_class, x)]
        return type(x)(items) if any(map(operator.is_not, items, x)) else x
    if ndarrays.is_captured(x) or not ufuncs.is_of_other_class(x):
        return x
    return ndarrays.HANDLERS[np.ndarray.__array_finalize__](x)


def _check_classes(func: Any, arrays: Sequence[Any]) -> None:
    """Check that the result of a function of several arrays is no array of their class.

    Raises:
        CaptureError: it may be one, which ``__array_finalize__`` gets no array for.
    """
    for x in arrays:
        if type(x) in (list, tuple):
            _check_classes(func, x)
        if ndarrays.is_array(x) and type(x) is not ndarrays.CapturedArray:
            kind = ndarrays.class_of(x)
            priority = kind.__array_priority__
            if isinstance(priority, (int, float)) and priority > 0.0:
                what = f"{getattr(func, '__name__', func)} of arrays of {kind.__name__}"
                raise runs.refusal(what, "Call it with numpy.asarray(x).")


def by_protocols(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Apply a function of NumPy's to arrays of a subclass whose protocols it calls.

    Raises:
        CaptureError: it calls them not only with what it gives.
    """
    result = ndarrays.HANDLERS[np.ndarray.__array_function__](func, args, kwargs)
    if result is NotImplemented:
        names = {ndarrays.class_of(x).__name__ for x in args if ndarrays.is_array(x)} - {"ndarray"}
        raise runs.refusal(
            f"{getattr(func, '__name__', func)} of {', '.join(names)}, whose protocols it calls,",
            "Call it with numpy.asarray(x).",
        )
    return result


def _applied(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    if func in facts.OF_SEQUENCES and args and ndarrays.has_objects(args[0]):
        args = ([*args[0]], *args[1:])  # arrays, which are the objects
    handler = ndarrays.HANDLERS.get(func)
    if handler is not None:
        return handler(*args, **kwargs)
    if (
        func in facts.VIEWS
        and args
        and (ndarrays.is_array(args[0]) or type(args[0]) in (list, tuple))
    ):
        rest, options = (
            ndarrays.mapped(_as_key, ndarrays.known_sizes(x)) for x in (args[1:], kwargs)
        )
        if ndarrays.is_array(array := ndarrays.to_array(args[0])):
            by_order = any(type(x) is str and x in "KA" for x in (*rest, *options.values()))
            apply = ndarrays.in_order_of_memory if by_order else ndarrays.view_by
            return apply(array, lambda a: func(a, *rest, **options))
    if not ndarrays.are_traced(args, kwargs):
        return with_data(func, args, kwargs)
    if any(map(ndarrays.has_objects, args)):
        return func(*map(ndarrays.as_objects, args), **kwargs)
    if not facts.is_fresh(func, len(args), [name for name in kwargs if name != "out"]):
        result = from_source[0](func, args, kwargs)  # which says what its result shares
        if result is not NotImplemented:
            return result
    return _with_checks(func, args, kwargs, apply_to_traced(func, args, kwargs))


def _with_checks(func: Any, args: Sequence[Any], kwargs: Any, result: Any) -> Any:
    """Return the result of a function of NumPy's, after what is noted and checked of it."""
    if not kwargs.keys() - {"axis", "keepdims"} and ndarrays.is_captured(result):
        squares.follow(func, [*map(ndarrays.unwrap, args)], result._captured_value)
    for check in runs.checks:
        check(func, args, kwargs, result)
    return result


def apply_directly(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Apply a function to such arguments as it took before; NotImplemented for others."""
    if func in ndarrays.HANDLERS or func not in facts.FRESH:
        return NotImplemented
    result = _as_before(func, args, kwargs, signatures.key_of_call(func, args, kwargs))
    return result if result is NotImplemented else _with_checks(func, args, kwargs, result)


def in_class(result: Any, model: Any, owner: ndarrays.CapturedArray) -> Any:
    """Return a result in the class of an example of it, which may be that of an argument."""
    if isinstance(result, (list, tuple)) and isinstance(model, (list, tuple)):
        parts = [in_class(*pair, owner) for pair in zip(result, model, strict=True)]
        return result._make(parts) if hasattr(result, "_make") else type(result)(parts)
    if isinstance(model, np.generic) and ndarrays.is_array(result):
        return result[()]
    if not isinstance(model, np.ndarray) or not isinstance(result, (np.ndarray, np.generic)):
        return result
    array = (
        ndarrays.to_array(result)
        if ndarrays.is_captured(result)
        else ndarrays.array_of(np.array(result))
    )
    plain: ndarrays.CapturedArray = array._captured_plain()
    return plain if type(model) is np.ndarray else ndarrays.like(owner, plain)


def with_data(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function with data, and follow its result, or return what it has written.

    The ``__array_function__`` of arrays under capture has been called before.
    """
    out = kwargs.get("out")
    function = getattr(func, "_implementation", func) if any(map(ndarrays.is_array, args)) else func
    result = function(*map(ndarrays.plain, args), **ndarrays.mapped(ndarrays.plain, kwargs))
    operands = [getattr(func, "__self__", None), *args, *kwargs.values()]
    return followed(result, operands) if out is None else out


def followed(result: Any, operands: Sequence[Any]) -> Any:
    """Return what a function gave for data, where it may have given its arguments.

    Arrays that share memory with one under capture are views of it. Those that do with an array
    from outside stay as they are.
    """
    if type(result) in (tuple, list) or hasattr(type(result), "_make"):
        return ndarrays.mapped(lambda part: followed(part, operands), result)
    if not issubclass(type(result), np.ndarray):
        return ndarrays.follow(result)
    for x in _arrays_in(operands):
        view = x._captured_view if ndarrays.is_array(x) else x
        if not memories.is_view_of(result, view):
            continue
        if view is x:
            return result
        if result is view:
            return x
        if type(result) is np.ndarray and result.dtype == view.dtype:
            return ndarrays.CapturedArray(x._captured_memory, result, x)
        x._captured_memory.is_shared = True
    return ndarrays.follow(result)


def _arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the arrays among values, and in containers of these."""
    for x in values:
        if type(x) in ndarrays.CONTAINERS or issubclass(type(x), tuple):
            yield from _arrays_in(ndarrays.items_of(x))
        elif ndarrays.is_array(x) or isinstance(x, np.ndarray):
            yield x


def _as_key(x: Any) -> Any:
    return ndarrays.key_of(x) if ndarrays.holds_captured(x) else x


#: Runs the Python source of a function of NumPy's that tinyjax has not; set by ``calls``.
from_source: Final[list[Callable[[Any, Sequence[Any], Any], Any]]] = []

#: Errors of functions of tinyjax that do not take their arguments.
REFUSALS: Final = (TinyjaxError, TypeError, ValueError, NotImplementedError)


def apply_to_traced(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Apply tinyjax's function of the name, or NumPy's own Python source, to traced arguments."""
    key = signatures.key_of_call(func, args, kwargs)
    result = _as_before(func, args, kwargs, key)
    if result is not NotImplemented:
        return result
    args, kwargs = by_place(func, args, kwargs, 1)
    if len(args) > (position := position_of_out(func)):
        names = [*parameters_by_name(func)][position:]
        if {*names[: len(args) - position]} & {*kwargs} or len(args) - position > len(names):
            func(*args, **kwargs)  # which raises
        kwargs.update(zip(names, args[position:], strict=False))
        args = args[:position]
    out = kwargs.pop("out", None)
    signatures.check_call(func, args, kwargs)
    if out is not None and func in facts.ACCUMULATING and len(args) < 3:
        kwargs["dtype"] = kwargs.get("dtype") or out.dtype
    try:
        if ndarrays.any_holds((args, kwargs), ndarrays.is_single):
            lists = (list,) if func is np.select else ()
            args = [
                ndarrays.mapped(ndarrays.as_weak, x)
                if isinstance(x, lists)
                else ndarrays.as_weak(x)
                for x in args
            ]
            kwargs = ndarrays.mapped(ndarrays.as_weak, kwargs)
        result = ndarrays.wrap(with_values(func, args, kwargs))
        is_single = ndarrays.any_holds(result, ndarrays.is_single)
        needs_model = is_single or func in facts.REORDERING
        is_direct = not needs_model
        if needs_model or ndarrays.any_holds((args, kwargs), ndarrays.is_permuted):
            model = ndarrays.example_of(func, args, kwargs)
            if is_single and ndarrays.is_wider(model, result):
                result = ndarrays.wrap(
                    with_values(func, ndarrays.widened(args), ndarrays.widened(kwargs))
                )
            computed, result = result, ndarrays.as_model(result, model)
            is_direct = is_direct and result is computed and model is not None
        if (
            is_direct
            and signatures.SOUND.get(key) is False
            and not ndarrays.any_holds((args, kwargs), _is_special)
        ):
            signatures.DIRECT.add(key)
        if func in facts.POINTS and isinstance(result, (ndarrays.Captured, np.generic)):
            result = ndarrays.to_array(result)
    except REFUSALS as error:
        result = _apply_otherwise(func, args, kwargs, error)
    if out is None:
        return result
    ufuncs.check_outs(func, args, kwargs, (out,), result)
    return ufuncs.put_out(out, result, None, "unsafe")


def _is_special(x: Any) -> bool:
    """Return whether the class or the dtype of an argument changes what is done."""
    return type(x) not in signatures.PLAIN_ARGUMENTS or ndarrays.is_single(x)


def _as_before(func: Any, args: Sequence[Any], kwargs: Any, key: Any) -> Any:
    """Apply tinyjax's function where that was all for such a call; otherwise NotImplemented."""
    if key not in signatures.DIRECT:
        return NotImplemented
    try:
        result = ndarrays.wrap(
            func(*map(ndarrays.unwrap, args), **ndarrays.mapped(ndarrays.unwrap, kwargs))
        )
    except REFUSALS:  # what it does not take is tried otherwise
        return NotImplemented
    if ndarrays.any_holds(result, ndarrays.is_single):
        return NotImplemented
    is_point = func in facts.POINTS and isinstance(result, (ndarrays.Captured, np.generic))
    return ndarrays.to_array(result) if is_point else result


def _apply_otherwise(func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
    """Apply a function that refuses its arguments to arrays for lists, and to known sizes."""
    is_private = func.__name__.startswith("_")  # NumPy's own, which does not check its arguments
    arrays = args if is_private else [_as_argument(func, x) for x in args]
    has_sizes = ndarrays.any_holds((args, kwargs), ndarrays.is_size)
    if any(x is not y for x, y in zip(args, arrays, strict=True)):
        try:
            result = apply_to_traced(func, arrays, kwargs)
        except REFUSALS:
            if not has_sizes:
                raise
        else:
            if ndarrays.is_array(result) and any(map(is_of_subclass, args)):
                raise error  # NumPy may give an array of the class
            return result
    if isinstance(error, (DivergenceError, UndecidedError)):
        raise error
    if isinstance(error, AxisError) and not getattr(args[0], "ndim", 1):
        model = ndarrays.example_of(func, args, kwargs)  # some functions take an axis of a number
        if model is not None:
            result = apply_to_traced(func, (np.atleast_1d(args[0]), *args[1:]), kwargs)
            return np.reshape(result, np.shape(model))[()]
    if has_sizes:
        return apply_function(func, ndarrays.known_sizes(args), ndarrays.known_sizes(kwargs))
    result = from_source[0](func, args, kwargs)
    if result is NotImplemented and type(func) is BuiltinFunctionType:
        raise runs.refusal(f"{func.__module__}.{func.__name__}") from error
    if result is NotImplemented:
        raise error
    return result


@functools.cache
def parameters_by_name(func: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function, of which those that may have no name are first."""
    try:
        return inspect.signature(func).parameters
    except (TypeError, ValueError):  # it is in C, and has none
        return {}


def by_place(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], count: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, of which so many go by place that may go by name."""
    ordered, named = [*args], dict(kwargs)
    for name in [*parameters_by_name(func)][len(args) : count] if kwargs else ():
        if name not in named:
            break
        ordered.append(named.pop(name))
    return (*ordered,), named


@functools.cache
def position_of_out(func: Any) -> int:
    """Return where ``out`` is among the arguments of a function: after all, where it has none."""
    place = runtime.place_of_out(func)
    return sys.maxsize if place is None else place


def _as_argument(func: Any, x: Any) -> Any:
    """Return nested lists of traced numbers as an array, or a sequence of arrays."""
    if is_of_subclass(x):
        return x.view(np.ndarray)
    if type(x) not in (list, tuple) or not ndarrays.is_traced(x):
        return x
    if func not in facts.OF_SEQUENCES:
        return ndarrays.to_array(x)
    items = [_as_argument(None, item) for item in x]
    return x if all(map(operator.is_, x, items)) else items


def is_of_subclass(x: Any) -> bool:
    """Return whether a value is an array of numbers of a class without operators of its own."""
    kind: Any = type(x)
    return _is_plain_subclass(kind) and not x.dtype.hasobject


@functools.cache
def _is_plain_subclass(kind: type) -> bool:
    if kind is np.ndarray or not issubclass(kind, np.ndarray):
        return False
    names = ("__array_ufunc__", "__array_function__", *ufuncs.METHODS_OF_OPERATORS)
    return all(getattr(kind, name) is getattr(np.ndarray, name) for name in names)


def _valued(x: Any) -> Any:
    is_function = callable(x) and not isinstance(x, type)
    is_ours = runtime.module_of_class(type(x)).startswith("tinyjax.")
    return ndarrays.functions[0](x) if is_function and not is_ours else ndarrays.unwrap(x)


def with_values(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function of tinyjax's with traced values, and functions of them.

    NumPy itself hands over for those among the first arguments, and not for ``initial=``.
    """
    values = [*map(_valued, args)]
    options = ndarrays.mapped(_valued, kwargs)
    if hasattr(func, "_implementation") and not ndarrays.is_traced(values):
        return protocols.array_function(None, func, (), values, options)
    return func(*values, **options)


ndarrays.Captured._captured_function = staticmethod(apply_function)

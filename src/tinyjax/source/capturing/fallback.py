"""Functions that cannot be read are captured; ``explain`` says which.

Values and cotangents are NumPy's arrays and Python's numbers, as where a function is read.
"""

from __future__ import annotations

import dis
import functools
import inspect
import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, Final

import numpy as np

from tinyjax import errors, tree
from tinyjax._base import frames
from tinyjax.core.api import derivatives
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values import Array
from tinyjax.source import api
from tinyjax.source.adjoint import pullbacks, shadows
from tinyjax.source.adjoint.cotangents import (
    field_names,
    is_differentiable,
    is_record,
    like_sequence,
    one_like,
    with_fields,
)
from tinyjax.source.capturing import calls, ndarrays, rewriting
from tinyjax.source.capturing.api import capture
from tinyjax.source.ir import find
from tinyjax.source.staging.function import StagedFunction, reason_of_capture

#: Errors that say more than why the source cannot be read, or are for ``jit``.
_OF_PROGRAM: Final = (errors.DifferentiationError, errors.UndecidedError, errors.DivergenceError)
Pullback = Callable[[Any], tuple[Any, ...]]


def pull(
    error: errors.SourceError | None,
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    active: tuple[int, ...],
    *,
    has_aux: bool = False,
    is_scalar: bool = False,
) -> tuple[Any, Pullback]:
    """Return the value of a captured function and its pullback.

    Args:
        error: says why the function could not be read; None if an argument is traced.
        fun: the function.
        args: its arguments. Arrays and containers of them are copied.
        kwargs: its keyword arguments.
        active: the positions of the arguments to differentiate with respect to.
        has_aux: whether it returns a pair of its result and auxiliary data.
        is_scalar: whether the result has to be a real number.

    Returns:
        The value; and the map from its cotangent to None, for the function itself, and the
        cotangent of each argument.

    Raises:
        SourceError: capture refuses the function, too, or no argument has a derivative.
        TinyjaxError: capture refuses it, and an argument is traced.
    """
    chosen = sorted({i % len(args) for i in active})
    kinds: list[Any] = []

    def program(*values: Any) -> Any:
        rest = iter(values)
        given = [_copied(x, rest if i in chosen else None) for i, x in enumerate(args)]
        options = {name: _copied(x) for name, x in kwargs.items()}
        result = calls.call(fun, *given, **options)
        arrays = [x for x in tree.leaves(given, is_leaf=ndarrays.is_array) if ndarrays.is_array(x)]
        if any(x._captured_memory.version for x in arrays):
            shadows.check_apart(args, kwargs)
        if is_scalar:
            one_like(result[0] if has_aux else result)
        class_of = operator.attrgetter("__class__")
        kinds[:] = [tree.map(class_of, result, is_leaf=ndarrays.is_captured)]
        return result

    frames.imitate(program, fun)
    leaves: list[Any] = []
    for i in chosen:
        _by_leaves(args[i], leaves.append)
    values = [*map(_in_double, leaves)]
    if not values:
        raise error or errors.SourceError("no argument has a derivative.")
    vjp: Any = derivatives.vjp
    try:
        result, back, *aux = vjp(capture(program), *values, has_aux=has_aux)
    except errors.TinyjaxError as refusal:
        if error is None or isinstance(refusal, _OF_PROGRAM):
            raise
        raise error from refusal

    def pullback(ct: Any) -> tuple[Any, ...]:
        if has_aux:
            ct = ct[0]
        parts = iter([_as_data(x, np.ndarray) for x in back(pullbacks.conforming(ct, result))])
        own = [x if i in chosen else None for i, x in enumerate(args)]
        return None, *[_by_leaves(x, lambda leaf: next(parts)) for x in own]

    return tree.map(_as_data, (result, *aux) if has_aux else result, kinds[0]), pullback


def _by_leaves(x: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the numbers and arrays of an argument that have derivatives.

    Returns:
        The results in the structure of a cotangent of the argument.
    """
    if is_differentiable(x):
        return function(x)
    if isinstance(x, (tuple, list)):
        return [_by_leaves(item, function) for item in x]
    if isinstance(x, dict):
        return {name: _by_leaves(item, function) for name, item in x.items()}
    if is_record(x):
        return {name: _by_leaves(getattr(x, name), function) for name in field_names(type(x))}
    return None


def _copied(x: Any, values: Iterator[Any] | None = None) -> Any:
    """Return an argument that the program may change: arrays and containers are copies.

    Args:
        x: the argument.
        values: values under capture to put in place of its leaves, if it has a derivative.
    """
    if values is not None and is_differentiable(x):
        value = next(values)
        if type(x) is np.ndarray and ndarrays.is_array(value):
            if not x.flags.c_contiguous:
                value = _with_strides(value, x)
            return value if x.flags.writeable else ndarrays.read_only(value)
        return ndarrays.number(value) if type(x) in (float, complex) else value
    if type(x) is np.ndarray:
        return ndarrays.follow(x.copy("K"))
    if isinstance(x, (tuple, list)):
        return like_sequence([_copied(item, values) for item in x], x)
    if isinstance(x, dict):
        return _dict_like({name: _copied(item, values) for name, item in x.items()}, x)
    if values is not None and is_record(x):
        fields = field_names(type(x))
        return with_fields(x, {name: _copied(getattr(x, name), values) for name in fields})
    return ndarrays.wrap(x)


def _with_strides(value: Any, model: np.ndarray) -> Any:
    """Return a copy whose elements are as far apart as an array's, in a memory with gaps."""
    low, high = np.lib.array_utils.byte_bounds(model)
    start, size = model.__array_interface__["data"][0] - low, high - low
    if any(n % model.itemsize for n in (start, size, *model.strides)):
        return ndarrays.laid_out(value._captured_value, model)

    def view(whole: np.ndarray) -> np.ndarray:
        strides = [n // model.itemsize * whole.itemsize for n in model.strides]
        after = whole[start // model.itemsize :]
        return np.lib.stride_tricks.as_strided(after, model.shape, strides)

    whole = ndarrays.array_of(np.zeros(size // model.itemsize, value.dtype))
    part = ndarrays.view_by(whole, view)
    ndarrays.write(part, ..., value)
    return part


def _dict_like(items: dict[Any, Any], x: dict[Any, Any]) -> dict[Any, Any]:
    if type(x) is dict:
        return items
    copy = x.copy()
    copy.update(items)
    return copy


def _in_double(x: Any) -> Any:
    return np.float64(x) if type(x) is float else np.complex128(x) if type(x) is complex else x


def _as_data(x: Any, kind: type[Any]) -> Any:
    """Return a result of a class that the program has given it; a traced one stays as it is."""
    if not isinstance(x, Array) or isinstance(x, Tracer):
        return x
    data = np.array(x)
    if issubclass(kind, np.ndarray):
        return data
    return data[()] if issubclass(kind, np.generic) else data.item()


# What is read, and what is captured


def explain(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Say whether ``source.grad`` reads a function or captures it, and which functions it calls.

    A function is read as a whole, with all that it calls, or captured as a whole. So is one that
    ``jit(fun, control_flow="source")`` or ``stage(fun)`` returns: staged, or captured.

    Args:
        fun: a Python function, or a staged one. It is called, with its derivative: twice if it is
            captured. A staged one is staged.
        args: its arguments. All that have derivatives count as variables.
        kwargs: its keyword arguments.

    Returns:
        A text: whether the function is read or captured, or neither; the reason, with the line that
        cannot be read; and the functions of Python's that were called in this way, with counts. For
        a staged function, whether it is staged or captured, and the reason.

    Example:
        >>> from tinyjax import source
        >>> def halved(x):
        ...     return x / 2
        >>> def small(x):
        ...     try:
        ...         return halved(halved(x))
        ...     except OverflowError:
        ...         return 0.0
        >>> print(source.explain(halved, 1.0))
        halved (...) is read. Called are:
          halved (...): 1 call
        >>> print(source.explain(small, 1.0).splitlines()[0])
        small (...) is captured: try with except is not taken by tinyjax.source. ...
    """
    errors.check_function("explain", fun)
    name = frames.describe_function(fun)
    staged = inspect.unwrap(fun, stop=lambda inner: isinstance(inner, StagedFunction))
    if isinstance(staged, StagedFunction):
        reason = reason_of_capture(staged.fun, args, kwargs)
        return f"{name} is staged." if reason is None else f"{name} is captured: {reason}"
    read = _Calls(_read_function)
    try:
        with read:
            api.forward(fun, *args, **kwargs)
    except errors.SourceError as error:
        captured = _Calls(_captured_function)
        try:
            with captured:
                pull(error, fun, args, kwargs, tuple(range(len(args))))
        except errors.SourceError:
            why = error.__cause__ or "no argument has a derivative."
            return f"{name} is not read: {error}\nIt is not captured either: {why}"
        return f"{name} is captured: {error}\n{captured}"
    return f"{name} is read. {read}"


#: The file, the line and the name of a function.
_Function = tuple[str, int, str]


class _Calls:
    """A context that counts calls of Python's functions.

    Args:
        function_of: gives the function that code is of; None if it is not counted.
    """

    def __init__(self, function_of: Callable[[CodeType], _Function | None]) -> None:
        self._function_of = function_of
        self._counts: Counter[_Function] = Counter()
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        sys.setprofile(self._note)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        function = self._function_of(frame.f_code)
        if function is not None and frame.f_lasti <= _start(frame.f_code):
            self._counts[function] += 1

    def __str__(self) -> str:
        lines = [
            f"  {name} ({frames.place(file, line)}): {count} {'call' if count == 1 else 'calls'}"
            for (file, line, name), count in self._counts.items()
        ]
        return "\n".join(["Called are:", *lines]) if lines else "No function of Python's is called."


#: Functions that the compiler makes of comprehensions.
_INNER: Final = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


@functools.cache
def _start(code: CodeType) -> int:
    """Return where a call begins; a generator that goes on is further."""
    return next(i.offset for i in dis.get_instructions(code) if i.opname == "RESUME")


def _captured_function(code: CodeType) -> _Function | None:
    if not rewriting.is_rewritten(code) or code.co_name in _INNER:
        return None
    return code.co_filename, code.co_firstlineno, code.co_qualname


def _read_function(code: CodeType) -> _Function | None:
    origin = find.origin_of(code.co_filename)
    if origin is None or not code.co_name.startswith("forward_of_"):
        return None
    return origin.filename, origin.line, origin.function

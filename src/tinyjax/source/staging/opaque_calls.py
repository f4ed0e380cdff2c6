"""Calls of functions that are not read, on traced values.

Operators and the functions of tinyjax accept tracers as they are. A built-in function or one of
``math`` or NumPy would request the data of a tracer. It is replaced by the function of tinyjax that
does the same.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, tree
from tinyjax.core.values import Array
from tinyjax.numpy import protocols
from tinyjax.numpy.promotion import convert, strong
from tinyjax.source import numeric, numpy_errors
from tinyjax.source.adjoint.equivalents import ListCounterpart, counterpart, list_counterpart
from tinyjax.source.ir import runtime, syntax
from tinyjax.source.staging import number_functions, operators, values as staging_values
from tinyjax.source.staging.session import arrays_in, current_session, this_session
from tinyjax.source.staging.values import (
    TracedText,
    holds_tracer,
    is_undecided,
    places,
    text_of,
    truth,
)

Leaf = Callable[..., Any]


def plain_arguments(values: Sequence[Any]) -> list[Any]:
    """Return arguments with sequences in place of ``Items``, for functions that take no ``Items``.

    Raises:
        SourceError: the number of items depends on a traced value.
    """
    return [operators.expanded(x) if isinstance(x, operators.Items) else x for x in values]


def of_items(function: Leaf) -> Leaf:
    """Return a function that iterates over all its arguments."""
    return lambda *args, **options: function(*plain_arguments(args), **options)


def of_floats(function: Leaf) -> Leaf:
    """Return a function of ``math``, which takes integers for floats."""
    return lambda *args, **options: function(*map(operators.floating, args), **options)


def complex_of(real: Any = 0.0, imag: Any = 0.0) -> Any:
    """``complex``."""
    parts = [x if jnp.iscomplexobj(x) else operators.floating(x) for x in (real, imag)]
    return convert(numeric.complex_of(*parts), dtypes.scalar_dtype(complex), weak_type=True)


def of_points(function: Leaf) -> Leaf:
    """Return a function of ``math`` that takes sequences of floats."""
    return lambda *points: function(*[[*map(operators.floating, p)] for p in points])


def of_complex(function: Leaf) -> Leaf:
    """Return a function of ``cmath``, which takes real numbers for complex ones."""
    return lambda *args, **options: function(
        *[x if jnp.iscomplexobj(x) else x + 0j for x in args], **options
    )


def item_of(value: Any, index: Any) -> Any:
    """``value[index]`` where either is traced."""
    match value:
        case operators.Current():
            return value.value
        case operators.Items():
            return value.item(index)
        case tuple() | list() | range() | dict() if is_undecided(index):
            return operators.item_at(value, index)
        case Array() if id(value) in this_session().layouts.flat:
            return value[places(value, index)]
        case np.ndarray() | Array():
            _check_index(value, index)
            return jnp.asarray(value)[_of_arrays(index)]
        case tuple() | list() | range() | dict() if operators.is_scalar(index):
            index_value: Any = index.item()
            return value[index_value]
        case _:
            return value[index]


def _check_index(array: Any, index: Any) -> None:
    """Check that an index that is known is one of an array; tinyjax's are indexed as JAX's are.

    Raises:
        IndexError: it is out of bounds.
    """
    if not holds_tracer(index) and not this_session().layouts.is_own(array):
        np.broadcast_to(np.False_, array.shape)[index]


def _of_arrays(index: Any) -> Any:
    """Return an index of an array, in which NumPy takes lists for arrays."""
    if isinstance(index, tuple):
        return tuple(map(_of_arrays, index))
    return jnp.array(index) if isinstance(index, list) else index


def matrix_product(x: Any, y: Any) -> Any:
    """``x @ y``, of which one may be a list."""
    with_lists = isinstance(x, _NUMPYS) or isinstance(y, _NUMPYS)
    return (of_lists(operator.matmul) if with_lists else operator.matmul)(x, y)


def of_lists(function: Leaf) -> Leaf:
    """Return an operator between an array and a list, which NumPy takes for an array."""

    def applied(*operands: Any) -> Any:
        return function(*[jnp.array(x) if isinstance(x, (list, tuple)) else x for x in operands])

    return applied


def single(array: Array, *index: int) -> Any:
    """``array.item``."""
    if index:
        item = item_of(*((array, index) if len(index) > 1 else (jnp.ravel(array), index[0])))
    elif array.size == 1:
        item = jnp.reshape(array, ())
    else:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return operators.python_number(item)


def number_of_numpy(kind: Any, x: Any = 0) -> Any:
    """Return what a class of NumPy's numbers makes of a number or an array."""
    value = staging_values.as_array(x) if operators.is_scalar(x) else jnp.asarray(x)
    operators.check_range(value, kind)
    return cast(value, kind)


def cast(array: Array, dtype: Any, *args: Any, **options: Any) -> Array:
    """``array.astype``; an array of tinyjax's becomes integers as JAX's do."""
    if this_session().layouts.is_own(array) or not issubclass(np.dtype(dtype).type, np.integer):
        return array.astype(dtype, *args, **options)
    return numeric.cast(array, dtype)


def viewed(array: Array, dtype: Any = None) -> Array:
    """``array.view``.

    Raises:
        NotStagedError: the bits are read as another dtype, and so have no derivative.
    """
    if dtype is not None and np.dtype(dtype) != array.dtype:
        raise staging_values.not_staged("a view of a traced array as another dtype is not staged.")
    return array.view()


def identified(value: Any) -> int:
    """``id(value)``.

    Raises:
        NotStagedError: the value is traced.
    """
    raise staging_values.not_staged(f"id() of {type(value).__name__} is not staged.")


def listed(array: Array) -> Any:
    """``array.tolist``."""
    if array.ndim:
        return [listed(array[i]) for i in range(array.shape[0])]
    return operators.python_number(array)


operators.METHODS.update(
    bit_length=number_functions.bit_length, bit_count=number_functions.bit_count
)
#: Replacements of functions of numbers, for calls in which a number is traced.
NUMERIC: Final[dict[Any, Leaf]] = {
    operator.add: operators.add,
    operator.sub: operators.subtract,
    operator.mul: operators.multiply,
    operator.truediv: operators.divide,
    operator.floordiv: operators.floor_divide,
    operator.mod: operators.modulo,
    operator.pow: operators.power,
    operator.lshift: operators.shift_left,
    operator.rshift: operators.shift_right,
    **{f: operators.bitwise(f) for f in (operator.and_, operator.or_, operator.xor)},
    **{f: operators.unary(f) for f in (operator.neg, operator.pos, abs)},
    operator.invert: operators.invert,
    operator.is_: operators.same,
    operator.is_not: lambda x, y: not operators.same(x, y),
    **dict.fromkeys(runtime.AUGMENTING, operators.changed),
    builtins.pow: operators.power,
    **dict.fromkeys((builtins.divmod, np.divmod), operators.quotient_and_remainder),
    np.floor_divide: operators.floor_divide,
    np.remainder: operators.remainder,
    np.power: functools.partial(numeric.power, np.power),
    builtins.type: operators.class_of,
    builtins.isinstance: operators.is_instance,
    np.isscalar: operators.is_number,
    builtins.hasattr: operators.has_attribute,
    builtins.getattr: operators.attribute_of,
    **{f: operators.compare(f) for f in (operator.eq, operator.ne, operator.lt, operator.le)},
    **{f: operators.compare(f) for f in (operator.gt, operator.ge)},
}
#: Functions that make texts.
_TEXTS: Final[frozenset[Callable[..., str]]] = frozenset(
    (runtime.formatted, runtime.text, str, repr, ascii, format)
)
#: Replacements of functions, for calls in which an argument is traced.
REPLACED: Final[dict[Any, Leaf]] = {
    operator.not_: operators.negated,
    operator.truth: truth,
    operator.countOf: operators.count_of,
    operator.indexOf: operators.index_of,
    operator.index: number_functions.of_integers(lambda n: n),
    operator.getitem: item_of,
    operator.matmul: matrix_product,
    Array.item: single,
    Array.view: viewed,
    Array.astype: cast,
    Array.std: protocols.std,
    Array.var: protocols.var,
    builtins.id: identified,
    Array.tolist: listed,
    operator.contains: lambda container, item: operators.contained(item, container),
    runtime.contains: operators.contained,
    runtime.lacks: lambda item, container: operators.negated(operators.contained(item, container)),
    runtime.items_of: operators.items_of,
    **{f: text_of(f) for f in _TEXTS},
    builtins.any: of_items(operators.any_of),
    builtins.all: of_items(operators.all_of),
    builtins.min: of_items(operators.least),
    builtins.max: of_items(operators.greatest),
    builtins.sorted: of_items(operators.in_order),
    builtins.sum: of_items(operators.total),
    builtins.int: operators.to_integer(jnp.trunc),
    builtins.float: operators.floating,
    builtins.complex: complex_of,
    builtins.bool: truth,
    builtins.round: number_functions.rounded,
    builtins.len: operators.length_of,
    builtins.range: operators.traced_range,
    builtins.enumerate: operators.enumerated,
    builtins.zip: operators.zipped,
    builtins.reversed: operators.in_reverse,
    **{f: of_floats(ours) for f, ours in numeric.REAL.items()},
    **{f: of_complex(ours) for f, ours in numeric.COMPLEX.items()},
    cmath.polar: of_complex(lambda z: (jnp.abs(z), jnp.angle(z))),
    cmath.rect: lambda r, phi: r * (jnp.cos(phi) + 1j * jnp.sin(phi)),
    math.comb: number_functions.combinations,
    math.factorial: number_functions.factorial,
    math.gcd: number_functions.greatest_divisor,
    math.isqrt: number_functions.integer_root,
    math.lcm: number_functions.least_multiple,
    math.perm: number_functions.arrangements,
    math.frexp: of_floats(jnp.frexp),
    math.modf: of_floats(jnp.modf),
    math.floor: operators.to_integer(jnp.floor),
    math.ceil: operators.to_integer(jnp.ceil),
    math.trunc: operators.to_integer(jnp.trunc),
    math.dist: of_points(numeric.distance),
    math.fsum: lambda xs: numeric.total([operators.floating(x) for x in runtime.items_of(xs)]),
    math.ldexp: jnp.ldexp,
    math.prod: operators.product,
}
#: Replaced functions that work as they are on a tracer whose data is known.
_DECIDING: Final = frozenset(
    (operator.not_, operator.truth, operator.contains, runtime.contains, runtime.lacks, any, all,
     min, max, sorted, bool, range, math.floor, math.ceil, math.trunc, int)
)  # fmt: skip
#: Replaced functions of an iterable, which counts as traced only if it is itself an array.
_GOING_THROUGH: Final = frozenset((enumerate, zip, reversed, len, runtime.items_of))
_NUMPYS: Final = (Array, np.ndarray)


def replacement(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Leaf | None:
    """Return the function to call in a function's place, or None for the function itself."""
    try:
        numeric = NUMERIC.get(function)
        substitute = REPLACED.get(function) if numeric is None else None
    except TypeError:  # it cannot be hashed
        return None
    if numeric is not None:
        has_options = isinstance(function, np.ufunc) and bool(kwargs)  # which NumPy understands
        if has_options or not any(map(_holds_array, args)):
            return None
        lists = any(isinstance(x, (list, tuple)) for x in args)
        return of_lists(numeric) if lists and any(map(_has_axes, args)) else numeric
    operands = (*args, *kwargs.values())
    if substitute is not None:
        return substitute if _concerns(function, operands) else None
    owner = function.__self__ if isinstance(function, BuiltinFunctionType) else None
    if isinstance(owner, (str, list, tuple, np.ndarray)):
        return _replaced_method(owner, function, operands)
    if isinstance(function, type) and issubclass(function, np.generic):
        return functools.partial(number_of_numpy, function) if holds_tracer(operands) else None
    if _is_method(function) and any(isinstance(x, (list, tuple)) for x in operands):
        return ListCounterpart(function, ())
    function = _widening(function)
    if counterpart(function) is None or not _is_computed(function, operands):
        return None
    if {*kwargs} & {"kind", "order"} and hasattr(function, "_implementation"):
        return None  # options that change no values
    ours = list_counterpart(function)
    if ours.bound(tuple(args), kwargs) is None:
        return None  # NumPy's protocols know its options
    return _converting(function, ours) if runtime.is_in(function, _MAKING) else ours


def _widening(function: Any) -> Any:
    """Return NumPy's function for a method, if its integers have other bits than the method's."""
    is_widening = _is_method(function) and function.__name__ in protocols.WIDENING
    return getattr(np, function.__name__) if is_widening else function


def _is_computed(function: Any, operands: tuple[Any, ...]) -> bool:
    """Return whether a function of NumPy's is computed by its counterpart, and not by methods."""
    is_widening = getattr(function, "__name__", None) in protocols.WIDENING
    return holds_tracer(operands) or (is_widening and any(isinstance(x, Array) for x in operands))


def _converting(function: Any, ours: Leaf) -> Leaf:
    """Return a function that makes arrays, of which floats become integers as NumPy's do."""

    def made(*args: Any, **kwargs: Any) -> Any:
        dtype = _dtype_of_integers(function, args, kwargs)
        if dtype is None:
            return ours(*args, **kwargs)
        rest = [x for x in args if not isinstance(x, (np.dtype, type))]
        number = [kwargs["fill_value"]] if "fill_value" in kwargs else rest[1:]
        kwargs["dtype"] = jnp.result_type(*number) if number else None
        return numeric.cast(ours(*rest, **kwargs), dtype)

    return made


def check_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise what NumPy raises for a call: now, or when the program runs."""
    session = current_session.get()
    operands = arrays_in((*args, *kwargs.values()))
    if session is None or any(map(session.layouts.is_own, operands)):
        return
    dtype = _dtype_of_integers(function, args, kwargs) if _is_of_numpy(function) else None
    is_list = runtime.is_in(function, _ARRAYS) and any(
        isinstance(x, (list, tuple)) for x in args[:1]
    )
    for x in operands if dtype is not None else ():
        if is_list or (operators.is_of_python(x) and operators.is_integer(x)):
            operators.check_range(x, dtype)
    is_elementwise = runtime.is_in(function, syntax.ARITHMETIC) or isinstance(function, np.ufunc)
    if is_elementwise or runtime.is_in(function, _OF_ONE_DTYPE):
        integers = [x for x in operands if operators.is_of_python(x) and operators.is_integer(x)]
        for x, other in itertools.product(integers, operands):
            operators.check_range(x, other.dtype)
    example = functools.partial(_example, (args, kwargs))
    for failed, error in numpy_errors.check_call(function, args, kwargs, example):
        operators.check(numpy_errors.is_any(failed), error)


def _dtype_of_integers(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the dtype of integers to which a call of NumPy converts numbers; None if to none."""
    like = _example(args[0], 1) if function is np.full_like and args else 1.0
    for option in (kwargs.get("dtype", np.asarray(like).dtype), *args):
        is_dtype = isinstance(option, (np.dtype, type)) and option is not bool
        if is_dtype and issubclass(np.dtype(option).type, np.integer):
            return np.dtype(option)
    return None


_ARRAYS: Final = (np.array, np.asarray, np.asanyarray)
_MAKING: Final = (*_ARRAYS, np.full, np.full_like)
#: Functions that convert numbers to the dtype of an array.
_OF_ONE_DTYPE: Final = (np.clip, np.append, np.insert, np.pad, np.dot)


def _example(value: Any, fill: int) -> Any:
    """Return a value with data in place of what is traced."""
    if isinstance(value, (tuple, list)):
        return type(value)([_example(part, fill) for part in value])
    if isinstance(value, dict):
        return {key: _example(part, fill) for key, part in value.items()}
    if not isinstance(value, Array):
        return value
    if operators.is_of_python(value):
        return operators.number_class(value)(fill)
    data = np.full(value.shape, fill, value.dtype)
    return data if value.shape or this_session().layouts.is_point(value) else data[()]


def _is_of_numpy(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").startswith("numpy")


def with_class(function: Any, result: Any) -> Any:
    """Return the result of a call, in which NumPy gives no numbers of Python's."""
    if not _is_of_numpy(function):
        return result
    return tree.map(lambda x: strong(x) if isinstance(x, Array) else x, result)


def _replaced_method(owner: Any, method: Any, operands: tuple[Any, ...]) -> Leaf | None:
    """Return the function to call in place of a method of a text, a sequence or an array."""
    name = method.__name__
    if isinstance(owner, (list, tuple)):
        compared = name in ("count", "index") and len(operands) == 1
        if not compared or not holds_tracer((owner, operands), undecided=True):
            return None
        of_items = operators.count_of if name == "count" else operators.index_of
        return functools.partial(of_items, owner)
    if not holds_tracer(operands):
        return None
    if isinstance(owner, str):
        return text_of(method) if name in ("format", "format_map", "join") else None
    own: Leaf = getattr(jnp.asarray(owner), name)
    return own


def _is_method(function: Any) -> bool:
    """Return whether a function is a method of arrays."""
    name = getattr(function, "__name__", None)
    return isinstance(name, str) and getattr(Array, name, None) is function


def _holds_array(value: Any) -> bool:
    """Return whether an operand is an array or a traced text, or a sequence that holds one."""
    if isinstance(value, (tuple, list)):
        return any(map(_holds_array, value))
    return isinstance(value, (Array, TracedText))


def _has_axes(value: Any) -> bool:
    return isinstance(value, _NUMPYS) and bool(value.ndim)


def _concerns(function: Any, operands: tuple[Any, ...]) -> bool:
    """Return whether the traced operands of a replaceable function need its replacement."""
    if any(isinstance(x, (operators.Items, operators.Current)) for x in operands):
        return True
    if function in _TEXTS:
        return any(map(_holds_array, operands)) or holds_tracer(operands)
    if function in _GOING_THROUGH:
        return any(is_undecided(x) and x.shape for x in operands)
    if function is operator.getitem:
        if isinstance(operands[0], Array):
            return True
        if operators.is_scalar(operands[1]) and operands[1].dtype.kind == "b":
            return True
        return holds_tracer(operands[1], undecided=not isinstance(operands[0], np.ndarray))
    return holds_tracer(operands, undecided=function in _DECIDING)


def makes_text(function: Any) -> bool:
    """Return whether a function formats its arguments as a string."""
    method = isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, str)
    return method or runtime.is_in(function, _TEXTS)


def takes_functions(function: Any) -> bool:
    """Return whether a function of tinyjax runs the functions that it is given."""
    module = (function if isinstance(function, FunctionType) else type(function)).__module__
    return module.startswith("tinyjax.") and not module.startswith(
        ("tinyjax.source", "tinyjax.tree")
    )

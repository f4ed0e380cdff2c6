"""NumPy's universal functions and their methods, applied to values under capture."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from tinyjax import lax, numpy as jnp
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.numpy import protocols
from tinyjax.source import numeric, numpy_errors
from tinyjax.source.adjoint import equivalents
from tinyjax.source.capturing import ndarrays, runs, signatures, squares
from tinyjax.source.ir import syntax

_role = "interprets"  # see ``frames.Role``


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Any) -> Any:
    """Apply a universal function, or one of its methods, to values of which some are captured."""
    if ufunc in ndarrays.EQUALITIES and method == "__call__":
        ndarrays.check_no_key(*inputs[:2])
    if method == "__call__" and not options:
        for x in inputs:
            if type(x) in _FOREIGN_FREE:
                continue
            if is_foreign(x):
                return NotImplemented
            if is_of_other_class(x):
                return ndarrays.HANDLERS[np.ndarray.__array_ufunc__](ufunc, method, inputs, {})
        handler = ndarrays.HANDLERS.get(ufunc)
        return wrap_ufunc(ufunc, inputs) if handler is None else handler(*inputs)
    return _ufunc_with_options(ufunc, method, inputs, dict(options))


def wrap_ufunc(ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """Apply a universal function to values without foreign classes among them."""
    values = [x._captured_value if issubclass(type(x), ndarrays.Captured) else x for x in inputs]
    if not ndarrays.CONTAINERS.isdisjoint(map(type, values)):
        values = [
            ndarrays.unwrap(ndarrays.to_array(x)) if type(x) in ndarrays.CONTAINERS else x
            for x in values
        ]
    return of_values(ufunc, inputs, values, ufunc)


def of_values(
    ufunc: np.ufunc, inputs: Sequence[Any], values: Sequence[Any], apply: Callable[..., Any]
) -> Any:
    """Return what a universal function gives for values, as the program sees it.

    Args:
        ufunc: the function.
        inputs: its operands, as the program sees them.
        values: their values.
        apply: the function, or an operator that is the same.
    """
    is_double = True
    for value in values:  # a loop runs faster than a generator, and most values are of 64 bits
        if getattr(value, "dtype", _DOUBLE) is not _DOUBLE:
            is_double = False
    if not is_double and any(map(ndarrays.has_objects, values)):
        return apply(*map(ndarrays.as_objects, inputs))
    if ufunc is np.power and (base := _base_of_root(apply, *inputs)) is not None:
        return wrap_ufunc(np.sqrt, (base,))
    if not is_double:
        apply = with_dtypes_of_numpy(ufunc, inputs, apply)
    if ufunc is np.power and _has_integer_exponent(*values):
        result = values[0] ** int(values[1])
    elif ufunc is np.multiply or ufunc is np.true_divide:
        result = _scaled(apply, values[0], values[1], ufunc is np.true_divide)
    else:
        result = apply(*values)
    result = squares.follow(ufunc, values, signed(ufunc, values, result))
    for check in runs.checks:
        check(ufunc, inputs, {}, result)
    if not isinstance(result, Array):
        return (
            ndarrays.in_order_of(inputs, result)
            if ndarrays.is_traced(result)
            else ndarrays.follow(result)
        )
    if result.ndim < 2 or ufunc.signature is not None:
        return ndarrays.wrap(result)
    return ndarrays.in_order_of(inputs, result)


def _base_of_root(operation: Callable[..., Any], x: Any, y: Any) -> Any:
    """Return what a power is the root of in NumPy; None if it is none."""
    is_number = ndarrays.isinstance_of(x, ndarrays.CapturedScalar)
    if not ndarrays.is_captured(x) or not numeric.is_root(
        operation, ndarrays.unwrap(x), ndarrays.unwrap(y), is_number
    ):
        return None
    dtype = np.result_type(x.dtype, ndarrays.unwrap(y))
    return x if x.dtype == dtype else x.astype(dtype)  # which may lay it out in another order


#: What gives zeros the signs that they have in NumPy.
_SIGNED: Final[dict[Any, Callable[..., Any]]] = {
    np.floor_divide: numeric.signed_quotient,
    np.remainder: numeric.signed_rest,
}


def signed(ufunc: np.ufunc, operands: Sequence[Any], result: Any) -> Any:
    """Return the result of a function with the sign of zero that NumPy gives it."""
    is_signed = ufunc in _SIGNED and isinstance(result, Array) and result.dtype.kind == "f"
    return _SIGNED[ufunc](result, *operands) if is_signed else result


def _scaled(apply: Callable[[Any, Any], Any], x: Any, y: Any, is_quotient: bool) -> Any:
    """Return a product or quotient; where data make it infinite it does not vary.

    Its slope is infinite there. A program that overwrites the element, or takes an exponential of
    it, has a finite derivative.
    """
    if type(x) is not np.ndarray and type(y) is not np.ndarray:
        return apply(x, y)
    for data, other, is_divisor in ((x, y, False), (y, x, is_quotient)):
        if type(data) is np.ndarray and isinstance(other, Tracer) and data.dtype.kind in "biufc":
            infinite = data == 0 if is_divisor else ~np.isfinite(data)
            if infinite.any():
                finite = np.where(infinite, data.dtype.type(1), data)
                pairs = [(lax.stop_gradient(other), data), (other, finite)]
                fixed, varying = [(b, a) if data is x else (a, b) for a, b in pairs]
                return jnp.where(infinite, apply(*fixed), apply(*varying))
    return apply(x, y)


_DOUBLE: Final = np.dtype(np.float64)
#: The numeric dtypes of NumPy that tinyjax has.
_OF_NUMPY: Final = "?bBhHiIlLqQefdFD"
#: Functions that give 0 for integers that are divided by 0.
_DIVIDING: Final = (np.floor_divide, np.remainder, np.fmod)


def with_dtypes_of_numpy(
    ufunc: np.ufunc, inputs: Sequence[Any], apply: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a universal function of values that computes in the dtypes of NumPy's.

    Args:
        ufunc: the function.
        inputs: its operands, as the program sees them.
        apply: the function of values.
    """

    def applied(*values: Any, **options: Any) -> Any:
        kinds = tuple(map(_kind_of_operand, inputs, values))
        if ufunc in _OF_TRUTHS and {*kinds} == {np.dtype(bool)}:
            for value in values:
                runs.check_no_flag(value, "an operator")
        if ufunc is np.power:
            runs.raise_failures(numpy_errors.power(*values))
        *dtypes, out = _loop(ufunc, kinds)
        operands = [
            value
            if getattr(value, "dtype", dtype) == dtype
            else ndarrays.as_jax(value).astype(dtype)
            for value, dtype in zip(values, dtypes, strict=True)
        ]
        function = equivalents.reciprocal if ufunc is np.reciprocal else apply
        result = function(*operands, **options)
        if not isinstance(result, Array) or out is None:
            return result
        if ufunc in _DIVIDING and out.kind in "iu":
            result = jnp.where(operands[1] == 0, 0, result)
        return result if result.dtype == out else result.astype(out)

    return applied


def _kind_of_operand(x: Any, value: Any) -> Any:
    """Return the dtype of an operand; of a number of Python's its class."""
    if type(x) is ndarrays.CapturedFloat:
        return ndarrays.class_of(x)
    return np.dtype(bool) if type(x) is bool else getattr(value, "dtype", type(value))


@functools.lru_cache(maxsize=1024)
def _loop(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> Sequence[Any]:
    """Return the dtypes of operands, and that of the first result.

    Integers alone of which floats are computed become floats.

    Raises:
        TypeError: NumPy does not take operands of these kinds.
    """
    try:
        dtypes = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError:
        chars = [getattr(kind, "char", "") for kind in kinds if kind not in (int, float, complex)]
        if all(char and char in _OF_NUMPY for char in chars):
            raise
        return (*kinds, None)
    *operands, out = dtypes[: ufunc.nin + 1]
    is_quotient = out.kind in "fc" and all(x.kind in "biu" for x in operands)
    return [*[out if is_quotient else x for x in operands], out]


def is_of_other_class(x: Any) -> bool:
    """Return whether a value is an array of numbers of a subclass; data with gaps is not taken."""
    is_other = isinstance(x, np.ndarray) and type(x) not in _FOREIGN_FREE
    has_gaps = is_other and issubclass(type(ndarrays.unmasked(x)), np.ma.MaskedArray)
    return is_other and not (has_gaps or ndarrays.has_objects(x))


_FOREIGN_FREE: Final = {
    ndarrays.CapturedArray,
    ndarrays.CapturedScalar,
    ndarrays.CapturedFloat,
    float,
    int,
    np.ndarray,
}


#: Powers that are products.
_SMALL: Final = 9


def _has_integer_exponent(base: Any, exponent: Any) -> bool:
    """Return whether a power is a product of few factors, of the dtype of its base."""
    if not isinstance(exponent, (int, float, np.number)) or isinstance(
        exponent, np.complexfloating
    ):
        return False
    value: Any = exponent
    if not abs(value) < _SMALL or value != int(value):
        return False
    return not hasattr(base, "dtype") or np.result_type(base.dtype, exponent) == base.dtype


def is_foreign(x: Any) -> bool:
    """Return whether another library's class has operators or protocols of its own."""
    kind = type(x)
    if issubclass(kind, (ndarrays.Captured, np.generic, int, float, complex, list, tuple, Array)):
        return False
    if issubclass(kind, np.ndarray):
        return kind.__array_ufunc__ is not np.ndarray.__array_ufunc__
    protocol = getattr(kind, "__array_ufunc__", np)
    priority: float = getattr(kind, "__array_priority__", 0.0)
    return protocol is None or protocol is not np or priority > 0.0


def text_of(form: str, values: Any) -> str:
    """Return what ``form % values`` gives, which is not to be read as a number again."""
    text: str = form % _data_of_text(values)
    if ndarrays.is_traced(values):
        runs.note_text(text)
    return text


def _data_of_text(x: Any) -> Any:
    if not ndarrays.is_captured(x):
        return ndarrays.mapped(_data_of_text, x) if type(x) in ndarrays.CONTAINERS else x
    data = runs.decide(ndarrays.value_of(x), "text")
    return (
        data
        if ndarrays.is_array(x)
        else data.item()
        if ndarrays.isinstance_of(x, ndarrays.CapturedFloat)
        else data[()]
    )


def is_object(x: Any) -> bool:
    """Return whether NumPy makes an array of objects of a value, of which it calls methods."""
    kind = type(x)
    is_known = issubclass(
        kind, (ndarrays.Captured, np.generic, np.ndarray, int, float, complex, str, Array)
    )
    is_sequence = not issubclass(kind, (dict, set, frozenset))
    return not is_known and not (is_sequence and any(hasattr(kind, x) for x in _OF_ARRAY_LIKES))


#: What a class has of which NumPy makes arrays.
_OF_ARRAY_LIKES: Final = ("__array__", "__array_interface__", "__array_struct__", "__len__")


def _ufunc_with_options(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Any) -> Any:
    inputs = (*inputs, *[options.pop(name) for name in ("array", "indices") if name in options])
    outs = options.pop("out", None)
    if outs is ...:  # the result is an array, also without axes
        return ndarrays.to_array(apply_ufunc(ufunc, method, inputs, options))
    outs = outs if isinstance(outs, tuple) or outs is None else (outs,)
    operands = (*inputs, *(outs or ()))
    if any(map(is_foreign, operands)):
        return NotImplemented
    if any(map(is_of_other_class, operands)):
        options = options if outs is None else {**options, "out": outs}
        return ndarrays.HANDLERS[np.ndarray.__array_ufunc__](ufunc, method, inputs, options)
    where = options.pop("where", True)
    where = ndarrays.to_array(where) if type(where) is list else where
    if ndarrays.is_captured(where):
        where = runs.decide(where._captured_value, "where")
    if method == "at":
        return _apply_at(ufunc, inputs)
    if any(map(ndarrays.has_objects, operands)):
        outs = None if outs is None else {"out": outs}
        return getattr(ufunc, method)(*map(ndarrays.as_objects, inputs), **(outs or {}), **options)
    if not ndarrays.are_traced(operands, options):
        options = options if where is True else {**options, "where": where}
        return _plain_ufunc(getattr(ufunc, method), inputs, outs, options)
    return _ufunc_of_traced(ufunc, method, inputs, outs, where, options)


def _ufunc_of_traced(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], outs: Any, where: Any, options: Any
) -> Any:
    """Apply a universal function, or one of its methods, to traced values."""
    if ufunc is np.power and method == "__call__":
        base = _base_of_root(ufunc, *inputs)
        ufunc, inputs = (ufunc, inputs) if base is None else (np.sqrt, [base])
    order = options.pop("order", "K") if method == "__call__" else "K"
    casting = options.get("casting", "same_kind")
    if isinstance(options.get("dtype"), type(np.dtype)):  # a class of dtypes
        options["dtype"] = options["dtype"]()
    inputs = [*map(ndarrays.to_array, inputs)] if method == "outer" else inputs
    options = _checked(ufunc, inputs, options) if method == "__call__" else options
    values = [
        ndarrays.unwrap(ndarrays.to_array(x))
        if type(x) in ndarrays.CONTAINERS
        else ndarrays.unwrap(x)
        for x in inputs
    ]
    if where is not True and method == "__call__":
        return _apply_where(ufunc, values, outs, np.asarray(where), options, casting)
    if where is not True:
        options["where"] = where
    if method in ("reduce", "accumulate", "reduceat"):
        signatures.check_call(getattr(ufunc, method), inputs, options)
        if not getattr(values[0], "ndim", 1):  # of a number, which has an axis here
            options["axis"] = None
    if method in ("reduce", "accumulate", "reduceat") and outs and outs[0] is not None:
        options["dtype"] = options.get("dtype") or outs[0].dtype
    function: Callable[..., Any] = getattr(ufunc, method)
    if method in ("__call__", "outer") and not {"dtype", "signature"} & {*options}:
        function = with_dtypes_of_numpy(ufunc, inputs, function)
    if "initial" in options:  # for which NumPy does not hand over
        options["initial"] = ndarrays.unwrap(options["initial"])
        value = protocols.array_ufunc(None, ufunc, method, *values, **options)
    else:
        value = function(*values, **options)
    models = inputs if method in ("__call__", "accumulate") and ufunc.signature is None else ()
    check_outs(getattr(ufunc, method), inputs, options, outs, value)
    return _put_outs(outs, ndarrays.in_order_of(models, value, order), None, casting)


def check_outs(func: Any, args: Sequence[Any], kwargs: Any, outs: Any, result: Any) -> None:
    """Raise what NumPy raises where a result has another shape than the array that it goes to."""
    results = result if isinstance(result, tuple) else (result,)
    pairs = [(out, x) for out, x in zip(outs or (), results, strict=False) if out is not None]
    if any(out.shape != np.shape(x) for out, x in pairs):
        models = tuple([None if out is None else np.zeros(out.shape, out.dtype) for out in outs])
        options = {
            **ndarrays.mapped(ndarrays.model, kwargs),
            "out": models if outs[1:] else models[0],
        }
        with np.errstate(all="ignore"):
            func(*map(ndarrays.model, args), **options)


def _put_outs(outs: Any, result: Any, mask: HostArray | None, casting: Any) -> Any:
    if outs is None or all(out is None for out in outs):
        return result
    if len(outs) == 1:
        return put_out(outs[0], result, mask, casting)
    pairs = zip(outs, result, strict=True)
    return tuple([r if out is None else put_out(out, r, mask, casting) for out, r in pairs])


def _checked(ufunc: np.ufunc, inputs: Sequence[Any], options: Any) -> Any:
    """Return options without those of types, which NumPy checks on arrays of the same types."""
    options = {name: x for name, x in options.items() if name != "subok"}
    if not {"casting", "signature"} & {*options}:
        return options
    checked = ufunc(*[_of_type(x, ufunc.signature is None) for x in inputs], **options)
    rest = {name: x for name, x in options.items() if name not in ("casting", "signature")}
    if "signature" in options and isinstance(checked, np.ndarray) and checked.dtype.kind in "fc":
        rest["dtype"] = checked.dtype
    return rest


def _of_type(x: Any, is_elementwise: bool) -> Any:
    """Return an operand of the type of another, without its elements."""
    if ndarrays.isinstance_of(x, ndarrays.CapturedFloat) or type(x) in (int, float, complex, bool):
        return type(x)(1) if not ndarrays.is_captured(x) else 1.0
    array = ndarrays.to_array(x)
    if not array.ndim and not ndarrays.is_array(x):
        return array.dtype.type(1)
    return np.ones(0 if is_elementwise else array.shape, array.dtype)


def _plain_ufunc(function: Any, inputs: Sequence[Any], outs: Any, options: Any) -> Any:
    """Apply a universal function to data, and write it where the result is to be."""
    values = [*map(ndarrays.plain, inputs)]
    if outs is None:
        return ndarrays.follow(function(*values, **options))
    result = function(*values, out=tuple([ndarrays.plain(out) for out in outs]), **options)
    if len(outs) == 1:
        return ndarrays.follow(result) if outs[0] is None else outs[0]
    pairs = zip(outs, result, strict=True)
    return tuple([ndarrays.follow(r) if out is None else out for out, r in pairs])


def _apply_at(ufunc: np.ufunc, inputs: Sequence[Any]) -> None:
    target, key, *values = inputs
    if not ndarrays.is_traced(inputs):
        ufunc.at(ndarrays.plain(target), ndarrays.plain(key), *[ndarrays.plain(x) for x in values])
        return
    key, shape = ndarrays.key_of(key), np.shape(target)
    if ufunc is np.subtract:
        ndarrays.write(target, key, -ndarrays.to_array(values[0]), "add")
    elif ufunc in ndarrays.WRITING.values():
        ndarrays.write(
            target, key, values[0], next(x for x, y in ndarrays.WRITING.items() if y is ufunc)
        )
    elif not ndarrays.is_traced(key) and _are_distinct(key, shape):
        ndarrays.write(target, key, apply_ufunc(ufunc, "__call__", (target[key], *values), {}))
    else:
        raise runs.refusal(f"np.{ufunc.__name__}.at")


def _are_distinct(key: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an index has no element twice."""
    numbers = np.ravel(np.arange(math.prod(shape)).reshape(shape)[key])
    return len(np.unique(numbers)) == len(numbers)


def _apply_where(
    ufunc: np.ufunc, values: Sequence[Any], outs: Any, where: HostArray, options: Any, casting: Any
) -> Any:
    """Compute under the mask only, so that no NaN comes from the other elements."""
    arrays = [x if isinstance(x, Array) else np.asarray(x) for x in values]
    given = [np.shape(out) for out in outs or () if out is not None]
    shape = np.broadcast_shapes(*[x.shape for x in arrays], where.shape, *given)
    for out in given:
        if out != shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {out} doesn't match the broadcast "
                f"shape {shape}"
            )
    mask = np.broadcast_to(where, shape)
    result = ndarrays.wrap(ufunc(*[jnp.broadcast_to(x, shape)[mask] for x in arrays], **options))
    results = result if type(result) is tuple else (result,)
    outs = outs or (None,) * len(results)
    made = [
        ndarrays.array_of(np.zeros(shape, r.dtype)) if out is None else out
        for out, r in zip(outs, results, strict=True)
    ]
    written = [put_out(out, r, mask, casting) for out, r in zip(made, results, strict=True)]
    return written[0] if len(written) == 1 else tuple(written)


def put_out(
    out: Any, result: Any, mask: HostArray | None = None, casting: Any = "same_kind"
) -> Any:
    """Write a result where ``out=`` says, and return that."""
    dtype = getattr(result, "dtype", None)
    if dtype is not None and not np.can_cast(dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc output from {dtype!r} to {out.dtype!r} with casting rule "
            f"{casting!r}"
        )
    ndarrays.write(out, ... if mask is None else mask, result)
    return out


BITWISE: Final = {np.bitwise_and, np.bitwise_or, np.bitwise_xor}


class _Operand(np.ndarray):
    """An array that says which function of NumPy's an operator is."""

    def __array_ufunc__(self, ufunc: np.ufunc, *unused: Any, **options: Any) -> Any:
        return ufunc


def ufuncs_of(functions: Iterable[Callable[..., Any]], count: int = 2) -> dict[str, np.ufunc]:
    """Return the universal functions of operators, by the names of their methods."""
    operands: Any = [np.ones(1).view(_Operand)] * count
    return {function.__name__.strip("_"): function(*operands) for function in functions}


METHODS_OF_OPERATORS: Final = [
    f"__{prefix}{function.__name__.strip('_')}__"
    for function in syntax.BINARY.values()
    for prefix in ("", "r", "i")
    if hasattr(np.ndarray, f"__{prefix}{function.__name__.strip('_')}__")
]
ARITHMETIC: Final = ufuncs_of(syntax.BINARY.values())
#: Operators of truth values that Python takes as integers, and NumPy does not.
_OF_TRUTHS: Final = {np.invert, *ARITHMETIC.values()} - {*BITWISE, np.true_divide}


ndarrays.Captured._captured_ufunc = staticmethod(apply_ufunc)

"""Functions that have a meaning of their own under capture: they make, write or look at arrays."""

from __future__ import annotations

import abc
import cmath
import functools
import importlib
import inspect
import itertools
import math
import operator
import statistics
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, Final

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.values import Array
from tinyjax.source import facts, numeric
from tinyjax.source.adjoint import equivalents
from tinyjax.source.capturing import (
    array_functions,
    memories,
    ndarrays,
    overwriting,
    raising,
    rewriting,
    runs,
    signatures,
    squares,
    subclasses,
    ufuncs,
)
from tinyjax.source.capturing.calls import (
    applied,
    around,
    by_source,
    call,
    iterate,
    may_reach_captured,
    native,
    number_of,
    with_array,
)
from tinyjax.source.capturing.ndarrays import (
    HANDLERS,
    CapturedArray,
    follow,
    is_array,
    is_captured,
    is_traced,
    plain,
    to_array,
    view_by,
    wrap,
    write,
)
from tinyjax.source.ir import runtime

#: Modules of NumPy's with functions that its Python source calls; they have no types.
_MULTIARRAY: Final[Any] = importlib.import_module("numpy._core._multiarray_umath")
_STRIDE_TRICKS: Final[Any] = importlib.import_module("numpy.lib._stride_tricks_impl")


def handles(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions do under capture."""

    def register(handler: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register


# Making arrays


def as_array(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    copy: Any = None,
    subok: bool = False,
    ndmin: int = 0,
    **unused: Any,
) -> Any:
    """Return an array as ``np.asarray`` and its kin do: the same one where they do.

    Raises:
        TypeError: there is an option that they do not have.
    """
    if unused.keys() - {"device", "like", "ndmax"}:
        raise TypeError(f"no function that makes an array has the options {[*unused]}")
    copy = None if type(a) is ndarrays.FlatIterator else copy  # NumPy makes none
    a = _array_like(a)
    if is_array(a) and type(a) is not CapturedArray and not subok:
        a = a._captured_plain()
    is_of_objects = dtype is not None and np.dtype(dtype) == object
    if dtype is not None and not is_of_objects:
        items = a.tolist() if ndarrays.has_objects(a) else a
        a = _as_dtype(items, np.dtype(dtype))
    if not (is_captured(a) or is_traced(a)):
        return _of_data(a, dtype, order, copy, subok, ndmin)
    if is_of_objects:
        return ndarrays.objects_by(lambda x: np.array(x, object, ndmin=ndmin), a)
    copy = None if copy is np._CopyMode.IF_NEEDED else copy
    made = a if is_array(a) else to_array(a)
    if dtype is not None and np.dtype(dtype) != made.dtype:
        made = ndarrays.Captured.astype(made, dtype, order=order or "K")
    elif copy and made is a:
        made = made._captured_copy(order or "K")
    if order in ("C", "F") and not made.flags[f"{order}_CONTIGUOUS"]:
        made = made._captured_copy(order)
    if copy is False and made is not a:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    missing = ndmin - made.ndim
    return CapturedArray.reshape(made, (1,) * missing + made.shape) if missing > 0 else made


@handles(np.array)
def _array(object: Any, dtype: Any = None, *, copy: Any = True, **options: Any) -> Any:
    return as_array(object, dtype, copy=copy, **options)


def _array_like(a: Any) -> Any:
    """Return what NumPy makes an array of: of an iterator over elements, or by a method."""
    if type(a) is ndarrays.FlatIterator:
        flat: Any = np.ravel(a.array)
        is_view = flat._captured_memory is a.array._captured_memory
        return flat if is_view else ndarrays.read_only(flat)
    protocol = getattr(type(a), "__array__", None)
    return call(protocol, a) if rewriting.is_captured_function(protocol) else with_array(a)


def _as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return what becomes an array of a dtype, whose numbers must fit in it."""
    if type(x) in (list, tuple):
        ndarrays.check_number(x, dtype)
    return _numbers_of(x) if dtype.kind == "f" else x


def _numbers_of(x: Any) -> Any:
    """Return the numbers that objects, in nested lists, are by a method of the user's."""
    if type(x) is list or type(x) is tuple:
        return [_numbers_of(item) for item in x]
    return number_of(x)


def _of_data(x: Any, dtype: Any, order: Any, copy: Any, subok: bool, ndmin: int) -> Any:
    if dtype is not None:
        runs.check_no_text(x)
    made = np.array(plain(x), dtype, copy=copy, order=order or "K", subok=subok, ndmin=ndmin)
    return x if made is plain(x) else follow(made)


HANDLERS[np.asarray] = HANDLERS[ndarrays.Captured.__array__] = as_array
HANDLERS[np.asanyarray] = functools.partial(as_array, subok=True)
HANDLERS[np.ascontiguousarray] = functools.partial(as_array, order="C", ndmin=1)
HANDLERS[np.asfortranarray] = functools.partial(as_array, order="F", ndmin=1)


@handles(np.arange)
def _arange(*args: Any, **kwargs: Any) -> Any:
    args = tuple(map(ndarrays.known_sizes, args))
    if not is_traced(args) or kwargs:
        return array_functions.with_data(np.arange, args, kwargs)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    count = max(int(np.ceil((stop - start) / step)), 0)
    return start + step * follow(np.arange(float(count)))


@around(np.empty, np.zeros)
def _made(function: Any, before: Any, shape: Any, *args: Any, **options: Any) -> Any:
    return array_functions.with_data(function, (ndarrays.known_sizes(shape), *args), options)


@around(np.empty_like, np.zeros_like, np.ones_like, np.full_like)
def _like(function: Any, before: Any, *args: Any, **options: Any) -> Any:
    args, options = array_functions.by_place(function, args, options, 1)
    prototype, *rest = args
    if "shape" in options:
        options["shape"] = ndarrays.known_sizes(options["shape"])
    if is_traced(rest) or is_traced(options):
        if function is np.empty_like:  # whose source is in C
            raise runs.refusal("an option of np.empty_like")
        return by_source(function, prototype, *rest, **options)
    model = to_array(prototype)
    if not is_array(model):
        return array_functions.with_data(function, (model, *rest), options)
    made = array_functions.with_data(function, (model._captured_view, *rest), options)
    return ndarrays.like(model, made) if options.get("subok", True) else made


@handles(np.einsum)
def _einsum(*operands: Any, **options: Any) -> Any:
    if len(operands) == 2 and is_array(operands[1]) and not options:
        view = operands[1]._captured_view
        if memories.is_view_of(np.einsum(operands[0], view), view):
            return view_by(operands[1], lambda a: np.einsum(operands[0], a))
    path = options.get("optimize")
    if type(path) is list and path[:1] == ["einsum_path"] and is_traced(operands):
        options["optimize"] = path[1:]  # without the name that NumPy has before it
    if not options:  # C code, which takes and gives no arrays of a subclass
        operands = tuple([x.view(np.ndarray) if isinstance(x, np.ndarray) else x for x in operands])
    return applied(np.einsum, operands, options)


@handles(np.take)
def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    shape = to_array(a).shape
    size = math.prod(shape) if axis is None else shape[axis]
    indices = _in_bounds(indices, size, mode)
    is_known = mode == "raise" and not is_captured(ndarrays.key_of(indices))
    options = {} if mode == "raise" and not is_known else {"mode": "clip" if is_known else mode}
    result = applied(np.take, (a, indices, axis), options)
    if out is None:
        return result
    ufuncs.check_outs(np.take, (a, indices, axis), {}, (out,), result)
    return ufuncs.put_out(out, result)


def _in_bounds(indices: Any, size: int, mode: str = "raise") -> Any:
    """Return indices from 0, if they are known.

    Raises:
        IndexError: one of them is out of bounds.
    """
    key = ndarrays.key_of(indices)
    if mode != "raise" or is_captured(key) or not size:
        return indices
    numbers = np.asarray(key)
    if numbers.dtype.kind not in "biu":
        return indices
    outside = numbers[(numbers < -size) | (numbers >= size)]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of bounds for axis with size {size}")
    return np.where(numbers < 0, numbers + size, numbers)[()]


@around(np.choose, np.ravel_multi_index)
def _look_first(function: Any, before: Any, *args: Any, **options: Any) -> Any:
    """Look at traced indices, which are taken as they are then."""
    args, options = array_functions.by_place(function, args, options, 2)
    if function is np.choose and len(args) == 2:
        number, choices = ndarrays.to_array(args[0]), args[1]
        is_several = type(choices) in (list, tuple) and is_traced(choices)
        args = (
            number.astype(int) if number.dtype == bool else args[0],
            np.broadcast_arrays(*choices) if is_several else choices,
        )
    if len(args) == 2 and is_traced(args[0]) and options.get("mode", "raise") == "raise":
        signatures.check_call(function, args, options)
        options["mode"] = "clip"
    return before(*args, **options)


@handles(np.broadcast)
def _broadcast(*arrays: Any) -> Any:
    if not is_traced(arrays):
        return native(np.broadcast, arrays, {})
    known = np.broadcast(*[np.empty(np.shape(to_array(x))) for x in arrays])
    names = ("shape", "ndim", "nd", "size", "numiter")
    made = _Broadcast(**{name: getattr(known, name) for name in names})
    made.items = zip(*[np.broadcast_to(to_array(x), known.shape).flat for x in arrays], strict=True)
    return made


class _Broadcast(SimpleNamespace):
    """An iterator over traced arrays, with the attributes of ``np.broadcast``."""

    def __iter__(self) -> Iterator[Any]:
        items: Iterator[Any] = self.items
        return items

    def __next__(self) -> Any:
        return next(self.items)


@handles(_STRIDE_TRICKS._broadcast_to)
def _broadcast_to(array: Any, shape: Any, subok: bool, readonly: bool) -> Any:
    def step(a: Any) -> Any:
        if isinstance(a, Array):
            return jnp.broadcast_to(a, shape)
        return _STRIDE_TRICKS._broadcast_to(a, shape, subok=subok, readonly=readonly)

    shape, array = ndarrays.key_of(shape), as_array(array, subok=subok)
    return view_by(array, step) if is_array(array) else step(array)


class _ArrayConverter:
    """The arguments of a function of NumPy's, which makes arrays of them, and wraps its result."""

    def __init__(self, *inputs: Any) -> None:
        self._inputs = inputs
        self.scalar_input = tuple(map(np.isscalar, inputs))

    def __getitem__(self, i: int) -> Any:
        return as_array(self._inputs[i], subok=True)

    def as_arrays(self, subok: bool = True, pyscalars: str = "convert_if_no_array") -> Any:
        """Return the arguments as arrays; numbers of Python's beside an array as they are."""
        numbers = [type(x) in ndarrays.NUMBERS for x in self._inputs]
        keeps = pyscalars == "preserve" or (pyscalars != "convert" and not all(numbers))
        pairs = zip(self._inputs, numbers, strict=True)
        return tuple([x if keeps and is_so else as_array(x, subok=subok) for x, is_so in pairs])

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> Any:
        """Return the dtype that the arguments have together."""
        dtypes = [*self._inputs, *([0.0] if ensure_inexact else [])]
        return _result_type(*dtypes, *([] if extra_dtype is None else [extra_dtype]))

    def wrap(self, array: Any, /, to_scalar: bool | None = None) -> Any:
        """Return a result in the class of the arguments."""
        return_scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        owner = subclasses.owner_of_results(self._inputs)
        if return_scalar or owner is None or array.__class__ is not owner.__class__:
            return subclasses.wrap(array if owner is None else owner, array, None, return_scalar)
        return array


if hasattr(_MULTIARRAY, "_array_converter"):  # from NumPy 2.1
    HANDLERS[_MULTIARRAY._array_converter] = _ArrayConverter


HANDLERS.update({function: functools.partial(by_source, function) for function in facts.BY_SOURCE})


@around(np.diag)
def _diag(function: Any, before: Any, v: Any, k: Any = 0) -> Any:
    """Make a matrix of a vector at once; of a matrix the Python source gives a view."""
    is_vector = getattr(v, "ndim", 0) == 1 and type(k) is int
    return applied(function, (v, k), {}) if is_vector else before(v, k)


_ARRAY_SETS: Final[Any] = importlib.import_module("numpy.lib._arraysetops_impl")
if hasattr(_ARRAY_SETS, "_unique_hash"):  # from NumPy 2.3
    HANDLERS[_ARRAY_SETS._unique_hash] = lambda x, **options: (
        NotImplemented if is_traced(x) else native(_ARRAY_SETS._unique_hash, (x,), options)
    )


@handles(np.unique)
def _unique(ar: Any, *args: Any, **options: Any) -> Any:
    if len(args) < 4 and options.get("axis") is None:
        return by_source(np.unique, ar, *args, **options)
    if is_traced(ar) and runs.data(ndarrays.unwrap(ar)) is None:  # how many there are is a decision
        bound = inspect.signature(np.unique).bind(ar, *args, **options).arguments
        rows = jnp.moveaxis(ndarrays.value_of(ar), bound["axis"], 0)
        columns = rows.reshape(len(rows), -1).T
        columns = columns[:, jnp.lexsort(columns[::-1])]
        differ = jnp.any(columns[:, 1:] != columns[:, :-1], axis=0)
        bound["ar"] = ndarrays.unwrap(ar)
        return wrap(jnp.unique(**bound, size=int(runs.decide(jnp.sum(differ))) + 1))
    return applied(np.unique, (ar, *args), options)


@around(np.partition)
def _partition(
    _: Any, before: Any, a: Any, kth: Any, axis: Any = -1, *args: Any, **options: Any
) -> Any:
    kth = ndarrays.plain(kth)
    if not np.ndim(kth):
        return before(a, kth, axis, *args, **options)
    np.partition(np.zeros(np.shape(a)), kth, axis)  # checks the places
    return applied(np.sort, (a, axis), {})


@around(np.argmax, np.argmin)
def _argument(
    function: Any, before: Any, a: Any, axis: Any = None, *out: Any, **options: Any
) -> Any:
    """Return where the largest or least element is: of complex ones by their real parts first."""
    if is_traced(a) and to_array(a).dtype.kind == "c":
        extreme = (np.max if function is np.argmax else np.min)(a, axis, keepdims=True)
        return np.argmax(np.isnan(a) | (a == extreme), axis, *out, **options)
    return before(a, axis, *out, **options)


@around(_MULTIARRAY._monotonicity)
def _monotonicity(function: Any, before: Any, x: Any) -> Any:
    """Return 1 if elements increase, -1 if they decrease, which is a decision, and 0 otherwise."""
    if not is_traced(x):
        return before(x)
    return 1 if np.all(x[:-1] <= x[1:]) else -int(np.all(x[:-1] >= x[1:]))


@handles(np.bincount)
def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    return applied(np.bincount, (ndarrays.decided(x), weights, minlength), {})


# Writing


@handles(np.copyto)
def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    src = ndarrays.to_array(src) if type(src) in (list, tuple) else src
    if hasattr(src, "dtype"):
        np.copyto(np.empty(0, dst.dtype), np.empty(0, src.dtype), casting)  # which may raise
    if where is True:
        write(dst, ..., ndarrays.to_array(src) if is_captured(src) else src)
        return
    mask = ndarrays.key_of(where)
    ndarrays.write_by(dst, src, lambda a, v: np.copyto(a, v, casting, mask))


def _writing(function: Any, *names: str) -> None:
    """Register a function that writes its third argument where the second says."""

    def handler(*args: Any, **options: Any) -> None:
        named = [options.pop(name) for name in names[len(args) :] if name in options]
        target, where, values, *mode = (*args, *named)
        where = ndarrays.key_of(where)
        if is_captured(where):
            raise runs.refusal(f"np.{function.__name__} at traced places")
        ndarrays.write_by(target, values, lambda a, v: function(a, where, v, *mode, **options))

    HANDLERS[function] = handler


_writing(np.place, "arr", "mask", "vals")
_writing(np.putmask, "a", "mask", "values")
_writing(np.put, "a", "ind", "v", "mode")


@around(np.median, np.percentile, np.quantile, np.nanmedian, np.nanpercentile, np.nanquantile)
def _in_any_order(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    """Leave out the option that lets NumPy leave an argument in any order."""
    arrays = overwriting.overwritten(function, args, kwargs)
    kwargs.pop("overwrite_input", None)
    result = before(*args, **kwargs)
    overwriting.undefine(arrays)
    return result


# Looking at arrays


def _type_of(x: Any) -> Any:
    if is_array(x):
        return x.dtype if not x.ndim else np.empty(0, x.dtype)
    return x.dtype if is_captured(x) else x


@handles(np.result_type)
def _result_type(*arrays_and_dtypes: Any) -> Any:
    return np.result_type(*map(_type_of, arrays_and_dtypes))


@handles(np.min_scalar_type)
def _min_scalar_type(a: Any) -> Any:
    array = to_array(a)
    if array.ndim:
        return array.dtype
    return np.min_scalar_type(ndarrays.decided(array, "np.min_scalar_type"))


@handles(np.from_dlpack)
def _from_dlpack(x: Any, /, **options: Any) -> Any:
    if is_traced(x):
        raise runs.refusal("np.from_dlpack")
    return follow(np.from_dlpack(plain(x), **options))


@handles(np.shares_memory, np.may_share_memory)
def _shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    a, b = [to_array(x) if type(x) in (list, tuple) else x for x in (a, b)]
    memories = {x._captured_memory for x in (a, b) if is_array(x)}
    roots = {memory.root for memory in memories}
    if a is not b and len(roots) == 1 < len(memories):
        raise runs.refusal("np.shares_memory of a view at a traced index")
    views = [x._captured_view if is_array(x) else x for x in (a, b)]
    if any(is_captured(x) for x in views):
        return False
    return bool(np.shares_memory(*views))


@handles(np.ndenumerate)
def _ndenumerate(arr: Any) -> Any:
    if not is_captured(arr):
        return np.ndenumerate(arr)
    return zip(np.ndindex(*arr.shape), ndarrays.FlatIterator(arr), strict=True)


@handles(np.nditer)
def _nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    if is_array(op) and not args and not kwargs:
        flags = op._captured_view.flags
        if flags.c_contiguous or flags.f_contiguous:
            return _Reading(op if flags.c_contiguous else op.T)
    if ndarrays.holds_captured(op):
        raise runs.refusal("np.nditer with options, or of a strided array,")
    return native(np.nditer, (op, *args), kwargs)


class _Reading(ndarrays.FlatIterator):
    """An iterator of ``np.nditer`` that is only iterated over: of views without axes."""

    __slots__ = ()

    def _item(self, where: tuple[int, ...]) -> Any:
        return ndarrays.read_only(self.array[(*where, ...)])

    def __getattr__(self, name: str) -> Any:
        raise runs.refusal(f"np.nditer.{name}")


# Functions whose result has the shape that the data says


@handles(np.nonzero)
def _nonzero(a: Any) -> Any:
    return np.nonzero(ndarrays.decided(a))


@handles(np.where)
def _where(condition: Any, *choices: Any) -> Any:
    if not choices:  # how many elements there are is a decision
        return HANDLERS[np.nonzero](condition)
    return applied(np.where, (condition, *choices), {})


@around(np.convolve, np.correlate)
def _products(function: Any, before: Any, a: Any, v: Any, *args: Any, **options: Any) -> Any:
    """Multiply integers as NumPy does, in their dtype."""
    arrays = [*map(to_array, (a, v))]
    if not is_traced(arrays) or np.result_type(*[x.dtype for x in arrays]).kind not in "biu":
        return before(a, v, *args, **options)
    ours = equivalents.counterpart(function)
    return wrap(ours(*map(ndarrays.unwrap, arrays), *args, **options))


@around(np.polymul)
def _polymul(_: Any, before: Any, a1: Any, a2: Any) -> Any:
    """Multiply polynomials, of which NumPy drops leading zeros."""
    return before(*[call(np.trim_zeros, call(np.atleast_1d, x), "f") for x in (a1, a2)])


@handles(np.compress)
def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    mask = np.asarray(ndarrays.key_of(condition))
    a = a._captured_plain() if ndarrays.is_array(a) else a
    return applied(np.compress, (mask, a), {"axis": axis, "out": out})


# Functions that raise where the data says


@around(
    *(np.linalg.inv, np.linalg.solve, np.linalg.cholesky, np.linalg.svd, np.linalg.eig),
    *(np.linalg.eigvals, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.pinv, np.linalg.lstsq),
    *(np.linalg.matrix_power, np.linalg.tensorinv, np.linalg.tensorsolve),
)
def _of_matrices(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    """Raise ``LinAlgError`` where NumPy does."""
    result = before(*args, **kwargs)
    raising.check_finite(function, args, kwargs, result)
    return result


@around(np.quantile, np.nanquantile, np.percentile, np.nanpercentile)
def _of_quantiles(function: Any, before: Any, a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    """Let NumPy check the quantiles; whether traced ones are any is a decision."""
    most = 100 if "percentile" in function.__name__ else 1
    numbers = ndarrays.unwrap(to_array(q))
    is_outside = (numbers < 0) | (numbers > most)
    if runs.decide(jnp.any(is_outside)) if is_traced(q) else np.any(is_outside):
        function([0.0], -1)  # which raises what NumPy raises
    return before(a, q, *args, **kwargs)


# Functions whose result is real where the data says


@around(np.linalg.eig, np.linalg.eigvals)
def _real_where_it_is(function: Any, before: Any, a: Any) -> Any:
    """Return real results where all imaginary parts are zero."""
    result = before(a)
    values = ndarrays.unwrap([*result] if isinstance(result, tuple) else [result])
    if np.iscomplexobj(a) or not is_traced(values):
        return result
    if runs.data(values[0]) is None or not runs.decide(jnp.all(jnp.imag(values[0]) == 0)):
        return result
    real = [wrap(jnp.real(value)) for value in values]
    return type(result)(*real) if isinstance(result, tuple) else real[0]


# Functions that call functions


@handles(np.vectorize.__call__)
def _vectorized(self: Any, *args: Any, **kwargs: Any) -> Any:
    if self.signature is not None or kwargs or self.excluded:
        own: Any = np.vectorize.__call__
        return (rewriting.rewritten(own) or own)(self, *args, **kwargs)
    if not is_traced(args) and not may_reach_captured(self.pyfunc):
        return np.vectorize.__call__(self, *args, **kwargs)
    arrays = np.broadcast_arrays(*[as_array(x) for x in args])
    if not arrays[0].size:
        return np.vectorize.__call__(self, *[np.zeros(x.shape) for x in arrays])
    if not (self.otypes or self.cache):  # NumPy asks for the dtype, before it reads the others
        call(self.pyfunc, *[np.ravel(x)[0] for x in arrays])
    rows = [*zip(*map(np.ravel, arrays), strict=True)]
    results = [call(self.pyfunc, *row) for row in rows]
    are_several = isinstance(results[0], tuple)
    columns = zip(*results, strict=True) if are_several else [results]
    shape, dtypes = arrays[0].shape, self.otypes or itertools.repeat(None)
    pairs = zip(columns, dtypes, strict=False)
    made = [np.reshape(_of_one_dtype([*column], dtype), shape) for column, dtype in pairs]
    made = [ndarrays.in_order_of(arrays, ndarrays.unwrap(x)) for x in made]
    return tuple(made) if are_several else made[0]


def _of_one_dtype(numbers: list[Any], dtype: Any) -> Any:
    """Return numbers as an array of a dtype, which is by default that of the first."""
    dtype = np.dtype(dtype or to_array(numbers[0]).dtype.char)
    made = to_array(numbers)
    if made.dtype.kind == "c" and dtype.kind in "biuf":
        raise TypeError("real numbers were expected, not complex ones")
    return as_array(made, dtype)


@handles(np.fromiter)
def _fromiter(iter: Any, dtype: Any, count: int = -1, **options: Any) -> Any:
    items = list(iter)[: count if count >= 0 else None]
    return as_array(items, dtype) if is_traced(items) else follow(np.fromiter(items, dtype))


# Errors of floating point


@around(*runtime.OF_WARNINGS)
def _heeding(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    """Let NumPy's functions show which errors numbers cause, where the program sees them."""
    if runtime.heeds_warnings(function, args, kwargs):
        of_small = (*args, kwargs.get("all"), kwargs.get("under"))
        if function in (np.errstate, np.seterr) and not runtime.SEEN.isdisjoint(of_small):
            name = f"{function.__module__}.{function.__name__}"
            raise runs.refusal(f"{name}, which shows that numbers are too small,")
        raising.begin_to_see()
    return function(*args, **kwargs)


# The stack, in which dispatchers are left out

_FOLDER: Final = str(Path(__file__).parent)


def _is_of_program(filename: str) -> bool:
    return not filename.startswith(_FOLDER)


@around(sys._getframe, inspect.currentframe)
def _frame(function: Any, before: Any, depth: int = 0) -> FrameType:
    frames = (frame for frame, _ in traceback.walk_stack(sys._getframe(1)))
    own = (frame for frame in frames if _is_of_program(frame.f_code.co_filename))
    for frame in itertools.islice(own, max(depth, 0), None):
        return frame
    raise ValueError("call stack is not deep enough")


@handles(inspect.stack)
def _stack(context: int = 1) -> list[inspect.FrameInfo]:
    return [x for x in inspect.stack(context) if _is_of_program(x.filename)]


@around(traceback.extract_stack, traceback.extract_tb)
def _extracted(function: Any, before: Any, *args: Any, **options: Any) -> Any:
    args, options = array_functions.by_place(function, args, options, 2)
    limit = options.get("limit", args[1] if len(args) > 1 else None)
    lines = [x for x in function(*args[:1]) if _is_of_program(x.filename)]
    if limit is not None:
        from_end = (limit >= 0) == (function is traceback.extract_stack)
        lines = lines[-abs(limit) or len(lines) :] if from_end else lines[: abs(limit)]
    return traceback.StackSummary.from_list(lines)


# Text


@around(np.array2string, np.array_repr, np.array_str)
def _as_text(function: Any, before: Any, *args: Any, **kwargs: Any) -> str:
    args, kwargs = array_functions.by_place(function, args, kwargs, 1)
    a, *rest = args

    def write_text(data: Any) -> str:
        return str(function(data, *rest, **kwargs))

    return a._captured_text(write_text) if is_captured(a) else write_text(a)


@around(np.loadtxt, np.genfromtxt, np.fromfile, np.fromregex)
def _read_numbers(_: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    """Read a file that has no text of a traced value."""
    runs.check_no_texts()
    return before(*args, **kwargs)


# Python's functions


def _complex(kind: Any, real: Any = 0.0, imag: Any = 0.0) -> Any:
    """Return a complex number of the class; Python's takes complex numbers as parts, too."""
    values = [ndarrays.unwrap(x) for x in (real, imag)]
    is_any = kind is complex
    parts = [_scalar(x, complex if is_any and jnp.iscomplexobj(x) else float) for x in values]
    z = wrap(numeric.complex_of(*parts))
    return ndarrays.number(z) if kind is complex else z.astype(kind)


def _conversion(kind: Any, dtype: Any) -> None:
    def handler(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(number_of, args)) if dtype.kind in "fc" and kind is not float else args
        has_parts = dtype.kind == "c" and (len(args) > 1 or (kwargs and kind is complex))
        if has_parts and is_traced((args, kwargs)):
            return _complex(kind, *args, **kwargs)
        if not args or not is_traced(args[0]):
            if args and isinstance(args[0], (bytes, str)):
                runs.check_no_texts()
            return kind(*[plain(x) for x in args], **kwargs)
        x = args[0]
        if ndarrays.is_captured(x):
            if kind in (float, complex) and ndarrays.class_of(x) is kind:
                return x  # as Python does
            if type(x) is ndarrays.CapturedFloat and x.dtype.kind == "c" and kind is float:
                raise TypeError("float() argument must be a real number, not 'complex'")
            cast = ndarrays.cast_to(x._captured_value, dtype)
            if kind in (float, complex):
                if x.size != 1:
                    raise TypeError("only length-1 arrays can be converted to Python scalars")
                return ndarrays.number(wrap(cast.reshape(())))
            return wrap(cast) if x.ndim == 0 else x.astype(dtype, copy=False)
        return as_array(x, dtype)

    HANDLERS[kind] = handler


_conversion(float, np.dtype(np.float64))
_conversion(complex, np.dtype(np.complex128))
for _kind in (np.float64, np.float32, np.complex128, np.complex64, np.int64, np.int32, np.bool_):
    _conversion(_kind, np.dtype(_kind))


@handles(type)
def _type(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1:
        if type(args[0]) is ndarrays.CapturedScalar:
            runs.check_no_flag(args[0]._value, "the class")
        return args[0].__class__ if is_captured(args[0]) else type(args[0])
    return type(*args, **kwargs)


@handles(isinstance)
def _isinstance(x: Any, classes: Any) -> bool:
    if type(x) is ndarrays.CapturedScalar:
        runs.check_no_flag(x._value, "the class")
    if type(classes) is tuple:
        return any(_isinstance(x, one) for one in classes)
    if isinstance(classes, abc.ABCMeta) and is_captured(x):  # which has more methods than it shows
        kind: Any = x.__class__
        if kind.__module__ in ("builtins", "numpy"):
            x = np.ones((1, 1)).view(kind) if issubclass(kind, np.ndarray) else kind(1)
    return isinstance(x, classes)


#: Functions that values under capture have the methods for.
_OF_METHODS: Final = (int, math.floor, math.ceil, math.trunc)
HANDLERS.update(zip(_OF_METHODS, _OF_METHODS, strict=True))


# The modules math, cmath and statistics


def _scalar(x: Any, kind: Any = float) -> Any:
    """Return a number, or an array of one element, in 64 bits; lists of them as such."""
    if type(x) in (list, tuple):
        return [_scalar(item, kind) for item in x]
    value = ndarrays.unwrap(x)
    if isinstance(value, Array):
        if kind is float and value.dtype.kind == "c":
            raise TypeError("must be real number, not complex")
        return ndarrays.cast_to(value.reshape(()) if value.shape else value, kind)
    return kind(value) if isinstance(value, (int, np.generic, np.ndarray)) else value


def _register_numeric(
    functions: dict[Any, Any], kind: Any = float, *, iterates: bool = False
) -> None:
    """Register counterparts of functions of numbers, which raise what these raise.

    Args:
        functions: the functions, and their counterparts, of traced numbers or lists of them.
        kind: the class of the numbers.
        iterates: whether the functions iterate over their arguments.
    """

    def handler(function: Any, ours: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple([list(iterate(x)) if iterates else number_of(x) for x in args])
        if not ndarrays.are_traced(args, kwargs):
            return function(*map(plain, args), **kwargs)
        options = {name: _scalar(x, kind) for name, x in kwargs.items()}
        scalars = _scalar(args, kind)
        value = ours(*scalars, **options)
        if function is math.sqrt:
            value = squares.follow(np.sqrt, scalars, value)
        operands = [*args, *kwargs.values()]
        known = ndarrays.known_data(operands)
        if known is ndarrays.UNKNOWN and runs.is_handling():
            raising.decide_signs(operands, value)
            known = ndarrays.known_data(operands, runs.example)
        if known is not ndarrays.UNKNOWN:
            named = dict(zip(kwargs, known[len(args) :], strict=True))
            try:
                function(*known[: len(args)], **named)
            except (ValueError, OverflowError, ZeroDivisionError):
                raising.decide_signs(operands, value)
                raise
            if runs.is_staged(value) and value.dtype.kind in "fc":
                runs.decide(jnp.isfinite(value))  # it raises elsewhere
        return ndarrays.number(wrap(value))

    for function, ours in functions.items():
        HANDLERS[function] = functools.partial(handler, function, ours)


@handles(math.prod)
def _product(xs: Any, *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, xs, start)


def _stacked(xs: Sequence[Any]) -> Any:
    return jnp.stack([jnp.asarray(x, np.float64) for x in xs])


def _statistic(function: Callable[..., Any], formula: Callable[[Any], Any]) -> Callable[..., Any]:
    def ours(xs: Sequence[Any], *options: Any, **named: Any) -> Any:
        if options or named:
            raise runs.refusal("a statistic with weights or a given mean")
        function([1.0] * min(len(xs), 2))  # which raises what Python raises for too few
        return formula(_stacked(xs))

    return ours


_STATISTICS: Final[dict[Callable[..., Any], Callable[[Any], Any]]] = {
    **dict.fromkeys((statistics.mean, statistics.fmean), lambda x: numeric.total([*x]) / len(x)),
    statistics.geometric_mean: lambda x: jnp.exp(jnp.mean(jnp.log(x))),
    statistics.harmonic_mean: lambda x: 1.0 / jnp.mean(1.0 / x),
    statistics.pvariance: jnp.var,
    statistics.pstdev: jnp.std,
    statistics.variance: lambda x: jnp.var(x, ddof=1),
    statistics.stdev: lambda x: jnp.std(x, ddof=1),
}


_register_numeric({**numeric.REAL, math.ldexp: lambda x, i: x * 2.0 ** int(i)})
_register_numeric(dict(numeric.COMPLEX), complex)
_register_numeric(
    {
        math.fsum: numeric.total,
        math.dist: numeric.distance,
        **{f: _statistic(f, formula) for f, formula in _STATISTICS.items()},
    },
    iterates=True,
)
if hasattr(math, "sumprod"):  # from Python 3.12
    _register_numeric(
        {math.sumprod: lambda p, q: numeric.total([*map(operator.mul, p, q)])}, iterates=True
    )


@around(math.frexp, math.modf)
def _in_parts(function: Any, before: Any, x: Any) -> Any:
    """Return the parts of a number; one that is an integer is a decision."""
    if not is_traced(x):
        return function(plain(x))
    parts = getattr(jnp, function.__name__)(call(float, x)._captured_value)
    return tuple([ndarrays.number(wrap(part)) for part in parts])


@handles(cmath.polar)
def _polar(x: Any) -> Any:
    return abs(x), call(cmath.phase, x)


@handles(cmath.rect)
def _rect(r: Any, phi: Any) -> Any:
    return call(complex, r * call(math.cos, phi), r * call(math.sin, phi))


@around(np.select)
def _select(
    _: Any, before: Any, condlist: Any, choicelist: Any, default: Any = 0, **options: Any
) -> Any:
    for place, condition in enumerate(condlist):
        if ndarrays.to_array(condition).dtype != bool:
            raise TypeError(f"invalid entry {place} in condlist: should be boolean ndarray")
    return before(condlist, choicelist, default, **options)


# Comparisons, by which caches find what they have kept


@around(np.array_equal, np.array_equiv, np.isin, np.setdiff1d, np.setxor1d, np.intersect1d)
def _compare(function: Any, before: Any, *args: Any, **options: Any) -> Any:
    args, options = array_functions.by_place(function, args, options, 2)
    ndarrays.check_no_key(*args[:2])
    return before(*args, **options)


@around(np.isclose, np.allclose)
def _compare_closely(_: Any, before: Any, a: Any, b: Any, *args: Any, **options: Any) -> Any:
    if np.ndim(a) and np.ndim(b):  # numbers are compared with constants, too
        ndarrays.check_no_key(a, b)
    return before(a, b, *args, **options)

"""NumPy's own functions on traced arrays, by its protocols (NEP 13 and NEP 18).

NumPy hands a call that meets a traced array to ``array_ufunc`` or ``array_function``. The function
of the same name in ``tinyjax.numpy``, its ``linalg`` or its ``fft`` computes the result, and for a
ufunc of SciPy's that in ``tinyjax.scipy.special``.

The differences between NumPy and ``tinyjax.numpy`` are resolved here, and nowhere else:

- dtypes follow the operators: ``np.add(x, y)`` is ``x + y``, and promotes as JAX does. On 64-bit
  data that is what NumPy does; integers of fewer bits become the default float.
- but positions and counts (``_POSITIONS``) are int64, and sums, products and means compute bools
  and narrow integers in 64 bits (``_WIDENED``), as NumPy does. So ``np.mean(x > 0)`` is a float64.
- lists and tuples of numbers are taken for arrays, and several results are tuples.
- variances of too few elements are divided by zero, so that they are infinite.
- of Hermitian matrices one triangle is read, as LAPACK does.
- nothing is written: ``out=`` and functions that change an argument raise. ``a += x`` rebinds the
  name ``a`` to a traced array.
- options about memory (``order``, ``subok``, ``casting="same_kind"``) are ignored where they
  change no values, and other options that ``tinyjax.numpy`` lacks raise.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from opcode import opmap
from types import FrameType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, numpy as jnp, tree
from tinyjax.core.values import Array
from tinyjax.errors import ArgumentError, DtypeError, TinyjaxError, TracerArrayConversionError
from tinyjax.numpy import promotion as pm

_role = "passes on"  # see ``frames.Role``


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INT64: Final[dtypes.DType] = np.dtype(np.int64)
_UINT64: Final[dtypes.DType] = np.dtype(np.uint64)

#: The modules of NumPy's functions, and what has their names here.
_HOMES: Final = {
    "numpy": "tinyjax.numpy",
    "numpy.linalg": "tinyjax.numpy.linalg",
    "numpy.fft": "tinyjax.numpy.fft",
}
#: Functions of other names here: those that copy nothing, and ufuncs of SciPy's.
_NAMES: Final = {
    "asanyarray": "asarray",
    "ascontiguousarray": "asarray",
    "asfortranarray": "asarray",
    "psi": "digamma",
}
#: Ufuncs of SciPy's that are functions of NumPy's, too.
_OF_BOTH: Final = _names("cbrt exp2 expm1 log1p")
#: Parameters of other names here.
_PARAMETERS: Final = {
    "clip": {"a": "arr", "a_min": "min", "a_max": "max"},
    "matrix_rank": {"A": "M"},
}
#: Functions whose integers are positions or counts: int64, as in NumPy.
_POSITIONS: Final = _names(
    "argmax argmin argpartition argsort argwhere bincount count_nonzero diag_indices_from digitize "
    "flatnonzero lexsort matrix_rank nanargmax nanargmin nonzero ravel_multi_index searchsorted "
    "tril_indices_from triu_indices_from unravel_index"
)
#: Functions that compute bools and narrow integers in 64 bits, as in NumPy.
_WIDENED: Final = _names(
    "average cumprod cumsum cumulative_prod cumulative_sum mean median nancumprod nancumsum "
    "nanmean nanmedian nanpercentile nanprod nanquantile nanstd nansum nanvar percentile prod "
    "quantile std sum trace var"
)
#: Functions whose integers have more bits here than in ``tinyjax.numpy``.
WIDENING: Final = _POSITIONS | _WIDENED
#: Functions that take sequences of arrays, whose elements may be lists.
_OF_SEQUENCES: Final = _names(
    "column_stack concatenate dstack hstack lexsort multi_dot piecewise select stack vstack"
)
#: Functions of several arrays, each of which keeps its dtype, that of a number, too.
_APART: Final = _names("atleast_1d atleast_2d atleast_3d broadcast_arrays meshgrid")
#: Functions with several results, which are lists in ``tinyjax.numpy`` and tuples in NumPy.
_TUPLES: Final = _APART | {"gradient"}
#: Functions that NumPy hands over where ``like=`` is a traced array.
_LIKE: Final = _names(
    "arange array asanyarray asarray ascontiguousarray asfortranarray empty eye frombuffer "
    "fromfile fromfunction fromiter fromstring full genfromtxt identity loadtxt ones require tri "
    "zeros"
)
#: The dtypes of what functions count without weights.
_COUNTS: Final = {
    "histogram": _INT64,
    "histogram2d": np.dtype(np.float64),
    "histogramdd": np.dtype(np.float64),
}
_ADAPTED: Final = (_POSITIONS, _OF_SEQUENCES, _TUPLES, _LIKE, _COUNTS)
#: Parameters whose lists are no arrays.
_NUMBERS: Final = _names("axis axes shape s")
#: Functions that change an argument, and what to write instead.
_IN_PLACE: Final = {
    "copyto": "x = x.at[...].set(values)",
    "fill_diagonal": "x = jnp.fill_diagonal(x, value, inplace=False)",
    "place": "x = jnp.place(x, mask, values, inplace=False)",
    "put_along_axis": "x = jnp.put_along_axis(x, indices, values, axis, inplace=False)",
    "putmask": "x = jnp.where(mask, values, x)",
}
#: What to use in place of functions that there are not, by their names or their modules.
_INSTEAD: Final = {
    "array2string": "Print it when there is data: tinyjax.debug.print('{x}', x=x).",
    "min_scalar_type": "Use x.dtype.",
    "numpy.lib.scimath": "Make the argument complex: jnp.sqrt(x.astype(complex)).",
    "numpy.lib.recfunctions": "Use a dict of arrays: arrays have no fields here.",
    "real_if_close": "Use x.real.",
    "save": "Return the array from the function, and save the result.",
    "savez": "Return the array from the function, and save the result.",
    "savetxt": "Return the array from the function, and save the result.",
    "savez_compressed": "Return the array from the function, and save the result.",
}
#: Values of options that change nothing here.
_NEUTRAL: Final[dict[str, tuple[object, ...]]] = {
    "allow_pickle": (True, False),
    "casting": ("same_kind", "unsafe"),
    "order": (None, "K", "A", "C"),
    "out": (None,),
    "subok": (True, False),
}
#: Parameters whose values may mean something else here.
_MEMORY: Final = _names("dtype order out")
#: Of these the order of memory changes no values; the results of others depend on it.
_LAYOUT_ONLY: Final = _names(
    "array asanyarray asarray ascontiguousarray asfortranarray copy empty empty_like eye full "
    "full_like identity ones ones_like zeros zeros_like"
)
#: How Python's interpreter writes ``+=`` and its kin, of which the argument is 13 or more.
_BINARY_OP: Final = opmap["BINARY_OP"]


#: Stands for a second operand where there is none.
_ABSENT: Final[Any] = object()


def array_ufunc(
    self: Array | None,
    ufunc: np.ufunc,
    method: str,
    x: Any,
    y: Any = _ABSENT,
    *others: Any,
    **options: Any,
) -> Any:
    """Compute a universal function of NumPy's or SciPy's, or one of its methods (NEP 13).

    ``ndarray + traced`` comes here, too. To name the operands takes 0.1 us of 5.5 us less than to
    gather them.
    """
    if method == "__call__" and not options and not others:
        try:
            return _UFUNCS[ufunc](x) if y is _ABSENT else _UFUNCS[ufunc](x, y)
        except TinyjaxError:
            pass
    inputs = [x, *(() if y is _ABSENT else (y,)), *others]
    outs = options.pop("out", ())
    if _are_foreign(map(type, (*inputs, *outs)), "__array_ufunc__"):
        return NotImplemented
    name = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
    if any(out is not None for out in outs) and not _is_in_place(sys._getframe(1)):
        raise _unwritable(name, "Use the result.")
    inputs = [_listed(x) for x in inputs]
    if method == "__call__":
        return _called(name, ufunc, inputs, options)
    if method == "at":
        raise _unwritable(name, "Write x = x.at[indices].add(values), or the method of that name.")
    return _method(name, ufunc, method, inputs, options)


def array_function(
    self: Array | None,
    func: Callable[..., Any],
    types: Iterable[type],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Compute a function of NumPy's that is no universal function (NEP 18)."""
    counterpart = _FUNCTIONS.get(func)
    if counterpart is not None and not kwargs and len(args) <= counterpart.simple:
        if len(args) == 1:
            return counterpart.function(args[0])
        try:
            return counterpart.function(*args)
        except ArgumentError:
            pass
    if _are_foreign(types, "__array_function__"):
        return NotImplemented
    return _FUNCTIONS[func](args, kwargs)


def _are_foreign(types: Iterable[type], protocol: str) -> bool:
    """Return whether another library's class is among some, which implements a protocol."""
    for kind in types:
        if not issubclass(kind, Array):
            method = getattr(kind, protocol, None)
            if method is not None and method is not getattr(np.ndarray, protocol):
                return True
    return False


def _is_in_place(frame: FrameType) -> bool:
    """Return whether code is at an operator such as ``+=``, which takes what is returned."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == _BINARY_OP and 13 <= code[at + 1] < 26


def _unwritable(name: str, instead: str) -> TracerArrayConversionError:
    return TracerArrayConversionError(
        f"{name} cannot write a traced value into an array of NumPy's, or into a traced one. "
        f"{instead} tinyjax.source.capture takes programs that write into NumPy's arrays."
    )


def _absent(name: str, why: str = "") -> TracerArrayConversionError:
    hint = why or (
        "There is none in tinyjax. Compute it outside of the function, or by tinyjax.pure_callback."
    )
    return TracerArrayConversionError(f"{name} does not take traced arrays. {hint}")


def _listed(x: Any, kinds: tuple[type, ...] = (list, tuple)) -> Any:
    """Make an array of a list or a tuple, as NumPy's functions do; pass on other values."""
    make: Any = jnp.asarray if _have_arrays(x) else np.asarray
    return make(x) if isinstance(x, kinds) else x


def _have_arrays(values: Any) -> bool:
    return any(isinstance(leaf, Array) for leaf in tree.leaves(values))


# Universal functions


#: The universal function that methods of subclasses of ``ndarray`` are called with.
_CLIP: Final = vars(import_module("numpy._core.umath"))["clip"]


class _Ufuncs(dict[np.ufunc, Callable[..., Any]]):
    """The counterparts of universal functions, found when they are first used."""

    def __missing__(self, ufunc: np.ufunc) -> Callable[..., Any]:
        name = ufunc.__name__
        special: Any = sys.modules.get("scipy.special")
        if getattr(np, name, None) is ufunc or ufunc is _CLIP:
            home = "tinyjax.numpy"
        elif getattr(special, name, None) is ufunc:
            home = "tinyjax.numpy" if name in _OF_BOTH else "tinyjax.scipy.special"
        else:
            raise _absent(f"the universal function {name}")
        ours = self[ufunc] = _find(home, name)
        return ours


_UFUNCS: Final = _Ufuncs()


def _find(home: str, name: str) -> Callable[..., Any]:
    """Find a function in a namespace by NumPy's name."""
    module = import_module(home)
    ours = _NAMES.get(name, name)
    if ours not in module.__all__:
        raise _absent(name if home == "tinyjax.numpy" else home.rpartition(".")[2] + "." + name)
    function: Callable[..., Any] = getattr(module, ours)
    return function


def _called(name: str, ufunc: np.ufunc, inputs: list[Any], options: dict[str, Any]) -> Any:
    ours, dtype = _UFUNCS[ufunc], options.pop("dtype", None)
    if options.pop("where", True) is not True:
        raise ArgumentError(
            f"{name}: without out=, elements where where= is False have no value. Use "
            "jnp.where(condition, f(x), other)."
        )
    _drop_neutral(name, options, {"order"}, inspect.signature(ours).parameters)
    if dtype is not None and np.dtype(dtype) != np.bool_:
        arrays = [pm.array_of(name, x) for x in inputs]
        for x in arrays:
            if not np.can_cast(x.dtype, dtype, "same_kind"):
                raise DtypeError(f"{name}: {x.dtype} does not become {np.dtype(dtype)}.")
        inputs = [pm.convert(x, dtypes.allowed(np.dtype(dtype))) for x in arrays]
    return ours(*inputs, **options)


def _method(
    name: str, ufunc: np.ufunc, method: str, inputs: list[Any], options: dict[str, Any]
) -> Any:
    ours: Any = _UFUNCS[ufunc]
    if not hasattr(ours, method):
        ours = jnp.frompyfunc(ours, 2, 1, identity=ufunc.identity)
    if method != "outer":
        if options.get("where") is True:
            del options["where"]
        if ufunc in (np.add, np.multiply):
            inputs[0] = widened(inputs[0])
        elif ufunc in (np.logical_and, np.logical_or, np.logical_xor):
            inputs[0] = inputs[0].astype(bool)
    _drop_neutral(name, options, set(), inspect.signature(getattr(jnp.ufunc, method)).parameters)
    return getattr(ours, method)(*inputs, **options)


# Other functions


@attrs.frozen(eq=False, repr=False)
class _Counterpart:
    """A function of ``tinyjax.numpy`` that is called as NumPy's.

    Attributes:
        name: NumPy's, with its module.
        function: what computes.
        names: NumPy's positional parameters.
        agreeing: the number of them that have the same positions in both.
        accepted: the parameters of the function.
        direct: those that mean the same in both.
        simple: the numbers of positional arguments for which, without others, the result is
            NumPy's.
    """

    name: str
    function: Callable[..., Any]
    names: tuple[str, ...]
    agreeing: int
    accepted: Mapping[str, inspect.Parameter]
    direct: frozenset[str]
    simple: int

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        short = self.name.rpartition(".")[2]
        if short in _LIKE and not _have_arrays((args, kwargs)):
            return jnp.asarray(getattr(np, short)(*args, **kwargs))
        fits = len(args) <= self.agreeing
        for key, value in kwargs.items():
            fits = fits and key in self.direct and value is not _NO_VALUE
        if not fits:
            args, kwargs = self._fitted(short, args, kwargs)
        if short in _OF_SEQUENCES:
            args = [_each_listed(x) for x in args]
        elif short in _APART:
            args = [_listed(x, (list, tuple, float, int, complex)) for x in args]
        try:
            result = self.function(*args, **kwargs)
        except ArgumentError:
            named = {**dict(zip(self.accepted, args, strict=False)), **kwargs}
            lists = {key: x for key, x in named.items() if isinstance(x, list | tuple)}
            lists = {key: _listed(x) for key, x in lists.items() if key not in _NUMBERS}
            if not lists or len(named) < len(args) + len(kwargs):
                raise
            args = [lists.get(key, x) for key, x in zip(self.accepted, args, strict=False)]
            kwargs = {key: lists.get(key, x) for key, x in kwargs.items()}
            result = self.function(*args, **kwargs)
        if short in _COUNTS and kwargs.get("weights") is None and not kwargs.get("density"):
            return result[0].astype(dtypes.allowed(_COUNTS[short])), *result[1:]
        return tuple(result) if short in _TUPLES and isinstance(result, list) else result

    def _fitted(
        self, short: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Pass arguments by the names that they have here, without those that change nothing."""
        renamed = _PARAMETERS.get(short, {})
        named = dict(zip(self.names[self.agreeing :], args[self.agreeing :], strict=False))
        named.update(kwargs)
        options = {renamed.get(k, k): v for k, v in named.items() if v is not _NO_VALUE}
        if isinstance(options.get("dtype"), type):  # Python's types are NumPy's here
            options["dtype"] = dtypes.allowed(np.dtype(options["dtype"]))
        if options.get("out") is not None:
            raise _unwritable(self.name, "Use the result.")
        layout = {"order"} if short in _LAYOUT_ONLY else set()
        _drop_neutral(self.name, options, layout, self.accepted)
        return args[: self.agreeing], options


_ARRAYS: Final = (Array, np.ndarray)
_NO_VALUE: Final[Any] = inspect.signature(np.sum).parameters["keepdims"].default


class _Functions(dict[Callable[..., Any], _Counterpart]):
    """The counterparts of other functions, found when they are first used."""

    def __missing__(self, func: Callable[..., Any]) -> _Counterpart:
        module, name = func.__module__, func.__name__
        module = module.replace("._scimath_impl", ".scimath")  # as NumPy 2.1 calls it
        full = module.replace("numpy", "np", 1) + "." + name
        if name in _IN_PLACE:
            raise _unwritable(full, f"Write {_IN_PLACE[name]}.")
        own = _OWN.get(name)
        home = _HOMES.get(module)
        if (
            name in _INSTEAD
            or (own is None and home is None)
            or (own is None and _NAMES.get(name, name) not in import_module(str(home)).__all__)
        ):
            raise _absent(full, _INSTEAD.get(name) or _INSTEAD.get(module, ""))
        ours = own or _find(str(home), name)
        accepted = inspect.signature(ours).parameters
        direct = frozenset(accepted) - _MEMORY - {"kind"}
        names, agreeing = _agreement(func, name, accepted)
        simple = 1 if name in _WIDENED else agreeing
        simple = 0 if any(name in names for names in _ADAPTED) else simple
        function = with_wide_integers(name, ours)
        made = self[func] = _Counterpart(full, function, names, agreeing, accepted, direct, simple)
        return made


def _agreement(
    func: Callable[..., Any], name: str, accepted: Mapping[str, inspect.Parameter]
) -> tuple[tuple[str, ...], int]:
    """Return NumPy's positional parameters, and how many of them have the same places here."""
    try:
        parameters = inspect.signature(func).parameters.values()
    except ValueError:  # written in C: before NumPy 2.4 these have no signature
        return (), sys.maxsize
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return (), sys.maxsize
    theirs = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
    ours = [p.name for p in accepted.values() if p.kind is not p.KEYWORD_ONLY]
    renamed = _PARAMETERS.get(name, {})
    count = 0
    for mine, other in zip(ours, theirs, strict=False):
        if mine != renamed.get(other, other) or mine in _MEMORY:
            break
        count += 1
    return theirs, max(count, 1)


def _drop_neutral(
    name: str,
    options: dict[str, Any],
    ignored: set[str],
    accepted: Mapping[str, inspect.Parameter],
) -> None:
    """Drop options that change nothing, in place; raise for others that are not accepted."""
    open_ended = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
    for key in [*options]:
        value = options[key]
        if key == "kind":
            del options[key]  # which algorithm sorts, where all are stable
        elif key == "order" and value in ("K", "A"):
            del options[key]
        elif key in accepted or open_ended:
            continue
        elif key in ignored or value is None or value in _NEUTRAL.get(key, ()):
            del options[key]
        else:
            raise ArgumentError(f"{name}: {key}={value!r} is not supported for traced arrays.")


def widened(x: Any) -> Any:
    """Return bools and narrow integers in 64 bits; other values as they are."""
    if not isinstance(x, _ARRAYS):
        return x
    dtype = x.dtype
    if dtype.kind not in "biu" or dtype.itemsize == 8:
        return x
    return x.astype(dtypes.allowed(_UINT64 if dtype.kind == "u" else _INT64))


@functools.cache
def with_wide_integers(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose positions, counts and sums of integers have 64 bits, as NumPy's."""
    if name in _WIDENED:

        def summed(a: Any, *args: Any, **kwargs: Any) -> Any:
            return function(widened(a), *args, **kwargs)

        return functools.wraps(function)(summed)
    if name in _POSITIONS:

        def counted(*args: Any, **kwargs: Any) -> Any:
            return tree.map(widened, function(*args, **kwargs))

        return functools.wraps(function)(counted)
    return function


def _each_listed(x: Any) -> Any:
    return [_listed(item) for item in x] if isinstance(x, list | tuple) else x


def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, writeable: bool = False
) -> Array:
    if writeable:
        raise _unwritable("np.lib.stride_tricks.sliding_window_view", "Windows are no views here.")
    array = pm.array_of("sliding_window_view", x)
    sizes = window_shape if isinstance(window_shape, list | tuple) else (window_shape,)
    axes = (
        range(array.ndim) if axis is None else axis if isinstance(axis, list | tuple) else (axis,)
    )
    ndim = array.ndim  # axes are added at the end
    for at, size in zip((i % ndim for i in axes), sizes, strict=True):
        starts = np.arange(array.shape[at] - size + 1)
        windows = jnp.take(array, starts[:, None] + np.arange(size), axis=at)
        array = jnp.moveaxis(windows, at + 1, -1)
    return array


def _common_type(*arrays: Any) -> Any:
    return np.common_type(*[np.empty(0, x.dtype) for x in arrays])


def _astype(x: Array, dtype: Any, copy: bool = True, device: Any = None) -> Array:
    return x.astype(dtype, device=device)


def _shown(a: Any, *args: Any, **options: Any) -> str:
    return repr(a)


def _nan_to_num(x: Any, copy: bool = True, *args: Any, **options: Any) -> Any:
    if not copy:
        raise _unwritable("np.nan_to_num", "Leave copy=False out, and use the result.")
    return jnp.nan_to_num(x, copy, *args, **options)


def of_triangle(a: Any, *, upper: bool) -> Array:
    """Return the Hermitian matrices of which one triangle is a matrix's: NumPy reads no more."""
    x = jnp.asarray(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return x  # which the functions refuse
    strict = jnp.triu(x, 1) if upper else jnp.tril(x, -1)
    diagonal = jnp.where(np.eye(x.shape[-1], dtype=bool), jnp.real(x), 0)
    return strict + jnp.conj(jnp.swapaxes(strict, -1, -2)) + diagonal


def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """Compute ``np.linalg.cholesky``, which reads one triangle."""
    return jnp.linalg.cholesky(of_triangle(a, upper=upper), upper=upper)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Compute ``np.linalg.eigh``, which reads one triangle."""
    return jnp.linalg.eigh(of_triangle(a, upper=UPLO.upper() == "U"))


def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Compute ``np.linalg.eigvalsh``, which reads one triangle."""
    return jnp.linalg.eigvalsh(of_triangle(a, upper=UPLO.upper() == "U"))


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Compute ``np.linalg.lstsq``, which gives no residuals of a matrix of fewer rows than columns.

    Those of a matrix of less than full rank, of which NumPy gives none either, are NaN.
    """
    solution, residuals, rank, singular = jnp.linalg.lstsq(a, b, rcond)
    rows, columns = jnp.shape(a)
    if rows <= columns:
        return solution, residuals[:0], rank, singular
    return solution, jnp.where(rank < columns, jnp.nan, residuals), rank, singular


def _spread(name: str) -> Callable[..., Any]:
    """Return ``np.var`` or ``np.std``, which divide by zero where ``tinyjax.numpy`` gives NaN."""

    @functools.wraps(getattr(np, name))
    def computed(a: Any, *args: Any, **options: Any) -> Any:
        ours, named = getattr(jnp, name), {**dict(zip(_OF_SPREADS, args, strict=False)), **options}
        result, where = ours(a, **named), named.get("where")
        less = named.pop("correction", None) or named.pop("ddof", 0)
        if isinstance(less, Array) or less <= 0 or not result.size:
            return result
        count: Any = np.size(a) // result.size
        if where is not None:
            mask = jnp.broadcast_to(where, np.shape(a))
            count = jnp.sum(mask, named.get("axis"), keepdims=named.get("keepdims", False))
        elif count > less:
            return result
        return jnp.where(count > less, result, ours(a, **named) * jnp.inf)

    return computed


_OF_SPREADS: Final = ("axis", "dtype", "out", "ddof", "keepdims")
var, std = _spread("var"), _spread("std")


#: What there is for functions that ``tinyjax.numpy`` lacks, or that differ there.
_OWN: Final[dict[str, Callable[..., Any]]] = {
    "astype": _astype,
    "array_repr": _shown,
    "array_str": _shown,
    "cholesky": cholesky,
    "eigh": eigh,
    "eigvalsh": eigvalsh,
    "common_type": _common_type,
    "lstsq": lstsq,
    "nan_to_num": _nan_to_num,
    "sliding_window_view": _sliding_window_view,
    "std": std,
    "var": var,
}
_FUNCTIONS: Final = _Functions()

"""Facts about NumPy: what the results of its functions share memory with, and what they are.

A test asks NumPy about every name, for arrays in all layouts and all values of options
(``tests/source/test_facts.py``). What is not here is not known: it is captured, or refused.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from tinyjax.source.ir import runtime, syntax

_FRESH: Final = """
all amax amin angle any append apply_along_axis arange argmax argmin argpartition argsort argwhere
around array_equal array_equiv average bartlett bincount blackman block bmat choose clip
column_stack compress concatenate convolve copy corrcoef correlate count_nonzero cov cross cumprod
cumsum cumulative_prod cumulative_sum delete diag_indices diag_indices_from diagflat digitize dot
dstack ediff1d empty empty_like extract eye fix flatnonzero full full_like geomspace gradient
hamming hanning histogram histogram2d histogram_bin_edges histogramdd hstack i0 identity indices
inner insert interp intersect1d isclose iscomplex isin isneginf isposinf isreal kaiser kron
lexsort linspace logspace max mean median min nanargmax nanargmin nancumprod nancumsum nanmax
nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar nonzero ones
ones_like outer packbits pad partition percentile piecewise poly polyadd polyfit polymul polysub
polyval prod ptp quantile ravel_multi_index repeat resize roll roots round searchsorted select
setdiff1d setxor1d sinc sort sort_complex stack std sum take take_along_axis tensordot tile trace
trapezoid tri tril tril_indices tril_indices_from triu triu_indices triu_indices_from union1d
unique unique_all unique_counts unique_inverse unique_values unpackbits unravel_index unwrap
vander var vdot vstack where zeros zeros_like
fft.fft fft.fftfreq fft.fftshift fft.hfft fft.ifft fft.ifftshift fft.ihfft fft.irfft fft.irfft2
fft.irfftn fft.rfft fft.rfft2 fft.rfftfreq fft.rfftn
lib.scimath.arccos lib.scimath.arcsin lib.scimath.arctanh lib.scimath.log lib.scimath.log10
lib.scimath.log2 lib.scimath.logn lib.scimath.power lib.scimath.sqrt
linalg.cholesky linalg.cond linalg.cross linalg.det linalg.eig linalg.eigh linalg.eigvals
linalg.eigvalsh linalg.inv linalg.lstsq linalg.matmul linalg.matrix_norm linalg.matrix_rank
linalg.multi_dot linalg.norm linalg.outer linalg.pinv linalg.qr linalg.slogdet linalg.solve
linalg.svd linalg.svdvals linalg.tensordot linalg.tensorinv linalg.tensorsolve linalg.trace
linalg.vecdot linalg.vector_norm
"""
#: Functions that give views of the first argument, or of what ``np.asarray`` makes of it; or that.
_VIEWS: Final = """
array_split atleast_1d atleast_2d atleast_3d broadcast_to diagonal dsplit expand_dims flip fliplr
flipud hsplit imag matrix_transpose moveaxis permute_dims ravel real reshape rollaxis rot90 split
squeeze swapaxes transpose unstack vsplit
lib.stride_tricks.as_strided lib.stride_tricks.sliding_window_view
linalg.diagonal linalg.matrix_transpose
"""
#: Functions of which the operands' numbers of axes, and the types of their numbers, determine both
#: for the result. So do those of ufuncs and operators.
_DETERMINED: Final = """
argmax argmin ascontiguousarray clip convolve copy diff dot empty_like max mean min ones_like outer
prod round searchsorted std sum tril triu var vdot where zeros_like
"""
#: Functions whose results hold no floats and no complex numbers, whatever they are given. Nor do
#: those of ufuncs that have no such type.
_DISCRETE: Final = """
all allclose any argmax argmin argsort argwhere array2string array_equal array_equiv
broadcast_shapes count_nonzero diag_indices diag_indices_from digitize flatnonzero isclose iscomplex
iscomplexobj isin isneginf isposinf isreal isrealobj isscalar issubdtype lexsort linalg.matrix_rank
nanargmax nanargmin ndim nonzero ravel_multi_index searchsorted shape size tril_indices
tril_indices_from triu_indices triu_indices_from unravel_index
"""
#: Functions whose results without axes are arrays, and no numbers.
_POINTS: Final = """
block copy cov cross empty empty_like full full_like i0 isin linalg.tensordot
linalg.tensorsolve ones ones_like pad piecewise roll tensordot where zeros zeros_like
"""
#: Functions whose results may have another order of axes in memory than their arguments.
_REORDERING: Final = "cross histogram2d linspace nanpercentile nanquantile unique"
#: Functions that compute in the dtype of ``out``.
_ACCUMULATING: Final = "cumprod cumsum mean prod sum"
#: Functions of a sequence of arrays, which may have several shapes.
_OF_SEQUENCES: Final = "block column_stack concatenate dstack hstack stack vstack"
#: Functions whose Python source, of functions of these modules, says all that they do.
_BY_SOURCE: Final = """
allclose apply_along_axis apply_over_axes argwhere array_equal array_equiv astype atleast_1d
atleast_2d atleast_3d average broadcast_arrays common_type copy diag diag_indices_from digitize
extract fill_diagonal flatnonzero geomspace histogramdd i0 imag insert intersect1d iscomplexobj
isrealobj kron logspace nan_to_num ndim piecewise poly polydiv put_along_axis real roots setdiff1d
setxor1d shape size take_along_axis tril_indices_from trim_zeros triu_indices_from union1d
unique_all unique_counts unique_inverse unique_values
linalg.matrix_power linalg.multi_dot linalg.tensorinv linalg.tensorsolve
"""
#: Functions that write into their first argument.
_WRITERS: Final = "copyto fill_diagonal place put put_along_axis putmask"
#: Functions that call functions they are given.
_CALLERS: Final = "apply_along_axis apply_over_axes fromfunction frompyfunc piecewise"
#: Functions that read or change what is no argument: files and settings.
_OUTSIDE: Final = """
fromfile fromregex genfromtxt get_printoptions geterr geterrcall getbufsize load loadtxt
printoptions save savetxt savez savez_compressed set_printoptions setbufsize seterr seterrcall
"""
#: Functions that make arrays of bytes, iterators and texts.
_READING: Final = "frombuffer fromiter fromstring"
#: Functions that give texts of numbers.
_TEXTS: Final = "array2string array_repr array_str"
#: Functions that give an array, a view of it or a copy, as its dtype and its layout decide.
_AT_TIMES: Final = "array asanyarray asarray ascontiguousarray require"
#: Functions of numbers, real or complex, whose results are constant, but for jumps.
_STEPS: Final = "ceil floor floor_divide rint round trunc"
#: Elementwise functions that give one of their operands.
_CHOOSING: Final = "clip fmax fmin maximum minimum"


def _functions(names: str) -> Iterator[Any]:
    """Yield the functions of names, but for those that an older NumPy has not."""
    for name in names.split():
        home, _, last = name.rpartition(".")
        module = functools.reduce(getattr, home.split(".") if home else (), np)
        if hasattr(module, last):
            yield getattr(module, last)


#: Functions whose results share memory with nothing, whatever they are given but ``out``.
FRESH: Final[frozenset[Any]] = frozenset(_functions(_FRESH))
#: Functions that give views of their first argument, if not the array itself.
VIEWS: Final[frozenset[Any]] = frozenset(_functions(_VIEWS))
#: Functions of which ``result_of`` knows the result.
DETERMINED: Final[frozenset[Any]] = frozenset((*_functions(_DETERMINED), *syntax.OPERATORS))
#: Functions that make matrices of floats, and of a shape arrays of floats, or of the value's type,
#: unless a dtype is given.
MATRICES: Final[frozenset[Any]] = frozenset(_functions("eye identity"))
MAKERS: Final = MATRICES | {*_functions("empty full ndarray ones zeros")}
_UFUNCS: Final = frozenset(x for x in vars(np).values() if isinstance(x, np.ufunc))
_OF_FLOATS: Final = {x for x in _UFUNCS if any({*"efdgFDG"} & {*t.split(">")[1]} for t in x.types)}
DISCRETE: Final = (_UFUNCS - _OF_FLOATS) | {*_functions(_DISCRETE)}
POINTS: Final[frozenset[Any]] = frozenset(_functions(_POINTS))
STEPS: Final[frozenset[Any]] = frozenset(_functions(_STEPS))
CHOOSING: Final[frozenset[Any]] = frozenset(_functions(_CHOOSING))
REORDERING: Final[frozenset[Any]] = frozenset(_functions(_REORDERING))
ACCUMULATING: Final[frozenset[Any]] = frozenset(_functions(_ACCUMULATING))
OF_SEQUENCES: Final[frozenset[Any]] = frozenset(_functions(_OF_SEQUENCES))
BY_SOURCE: Final[frozenset[Any]] = frozenset(_functions(_BY_SOURCE))
WRITERS: Final[frozenset[Any]] = frozenset(_functions(_WRITERS))
CALLERS: Final[frozenset[Any]] = frozenset(_functions(_CALLERS))
OUTSIDE: Final[frozenset[Any]] = frozenset(_functions(_OUTSIDE))
READING: Final[frozenset[Any]] = frozenset(_functions(_READING))
TEXTS: Final[frozenset[Any]] = frozenset(_functions(_TEXTS))
#: Functions whose results may be views of an argument, or the argument.
VIEWING: Final[frozenset[Any]] = VIEWS | frozenset(_functions(_AT_TIMES))
#: Functions that reduce arrays, by the elementwise function that they apply.
REDUCTIONS: Final = MappingProxyType(
    {
        getattr(np, name): ufunc
        for name, ufunc in (
            *(("sum", np.add), ("prod", np.multiply), ("max", np.maximum), ("min", np.minimum)),
            *(("any", np.logical_or), ("all", np.logical_and)),
        )
    }
)
#: Functions and methods of which that holds without an option, by the option and its position.
FRESH_WITHOUT: Final = MappingProxyType(
    {np.array: ("copy", 7), np.diff: ("n", 1), np.nan_to_num: ("copy", 1), "astype": ("copy", 4)}
)
#: Methods of arrays whose results share memory with nothing.
FRESH_METHODS: Final = frozenset(
    """
    all any argmax argmin argpartition argsort choose clip compress copy cumprod cumsum dot flatten
    item max mean min nonzero prod repeat round searchsorted std sum take tolist trace var
    """.split()  # noqa: SIM905
)
#: Methods of arrays that are NumPy's functions of their names.
METHODS_AS_FUNCTIONS: Final = frozenset(
    """
    all any argmax argmin argpartition argsort choose cumprod cumsum diagonal dot max mean min
    nonzero prod ravel repeat round searchsorted squeeze std sum swapaxes take trace var
    """.split()  # noqa: SIM905
)
#: Methods of arrays that give views, if not the array itself.
VIEW_METHODS: Final = frozenset(
    ["diagonal", "ravel", "reshape", "squeeze", "swapaxes", "transpose", "view"]
)
#: Attributes of arrays that are views of them.
VIEW_ATTRIBUTES: Final = frozenset(["T", "imag", "mT", "real"])
#: Attributes of arrays that are no arrays.
PLAIN_ATTRIBUTES: Final = frozenset(["dtype", "itemsize", "nbytes", "ndim", "shape", "size"])


def is_fresh(function: Any, count: int = 1, names: Sequence[str] = ()) -> bool:
    """Return whether a function of NumPy's gives what shares memory with nothing.

    Args:
        function: the function, or the name of a method of arrays.
        count: the number of positional arguments; those of a method without the array.
        names: the names of keyword arguments.
    """
    if "out" in names:
        return False
    if isinstance(function, str):
        known = function in FRESH_METHODS
    else:
        known = isinstance(function, np.ufunc) or runtime.is_in(function, FRESH)
    if not known and runtime.is_in(function, FRESH_WITHOUT):
        option, position = FRESH_WITHOUT[function]
        return option not in names and count <= position
    return known


def neutral_of(function: Any) -> float:
    """Return the number that changes no result of a reduction."""
    infinite: dict[Any, float] = {np.maximum: -np.inf, np.minimum: np.inf}
    ufunc: Any = REDUCTIONS[function]
    return infinite[ufunc] if ufunc in infinite else float(ufunc.identity)


def is_determined(function: Any) -> bool:
    """Return whether ``result_of`` may know the result of a function."""
    if not isinstance(function, np.ufunc):
        return runtime.is_in(function, DETERMINED)
    return function in _UFUNCS and function.nout == 1


@functools.cache
def result_of(
    function: Any, operands: tuple[tuple[int, type], ...], *, has_axis: bool = False
) -> tuple[int, type] | None:
    """Return the number of axes and the type of the numbers of a result; None if not known.

    The function is called with operands of one element. The types are float, int and bool. What is
    without axes is a number: where NumPy gives an array without axes, the result is not known.

    Args:
        function: a function that ``is_determined``.
        operands: the number of axes, and the type of the numbers, of each operand.
        has_axis: whether it is called with ``axis``, an integer.
    """
    arrays: list[Any] = [np.ones((1,) * axes, kind)[()] for axes, kind in operands]
    try:
        with np.errstate(all="ignore"):
            result = function(*arrays, **({"axis": 0} if has_axis else {}))
    except (TypeError, ValueError):  # NumPy does not take such operands
        return None
    is_known = isinstance(result, np.generic) or (isinstance(result, np.ndarray) and result.ndim)
    kind = _TYPES.get(result.dtype.kind) if is_known else None
    return None if kind is None else (result.ndim, kind)


_TYPES: Final = MappingProxyType({"f": float, "i": int, "u": int, "b": bool})

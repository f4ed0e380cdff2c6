"""SciPy's functions under capture: tinyjax's of the name, otherwise their own Python source."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any, Final

import numpy as np

import tinyjax.scipy
from tinyjax import lax, numpy as jnp, tree
from tinyjax.errors import CaptureError, DivergenceError, UndecidedError
from tinyjax.source.capturing import (
    array_functions,
    calls,
    distances,
    integrals,
    interpolation,
    lapack,
    ndarrays,
    numexpr,
    overwriting,
    raising,
    results,
    rewriting,
    runs,
    sparse,
)
from tinyjax.source.capturing.options import IN_FULL, for_counterpart, in_full

_HOMES: Final = (
    *("special", "linalg", "stats", "integrate", "interpolate", "optimize", "signal", "ndimage"),
    *("fft", "spatial.distance", "sparse.linalg"),
)
#: The functions whose counterparts gave their values, by the kinds of arguments.
_verified: Final[set[Any]] = set()


def _riccati(g: Any, a: Any, b: Any, q: Any, r: Any, *args: Any, **kwargs: Any) -> Any:
    """Solve a Riccati equation by SciPy, and differentiate two steps of Newton's from there.

    A step doubles the number of right derivatives of the solution (Kleinman, "On an iterative
    technique for Riccati equation computations", IEEE Trans. Automatic Control 13, 1968).
    """
    if args or any(x is not None for n, x in kwargs.items() if n in ("e", "s")):
        return NotImplemented
    matrices = [ndarrays.value_of(x) for x in (a, b, q, r)]
    shape = tinyjax.ShapeDtypeStruct(matrices[0].shape, jnp.result_type(*matrices))
    x = tinyjax.pure_callback(
        lambda *data: g(*map(np.asarray, data)).astype(shape.dtype),
        shape,
        *map(lax.stop_gradient, matrices),
        vmap_method="sequential",
    )
    step = _NEWTON_STEPS[g.__name__]
    return ndarrays.wrap(step(step(x, *matrices), *matrices))


def _continuous_step(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
    gain = jnp.linalg.solve(r, b.conj().T @ x)
    closed = a - b @ gain
    cost = q + gain.conj().T @ r @ gain
    return tinyjax.scipy.linalg.solve_continuous_lyapunov(closed.conj().T, -cost)


def _discrete_step(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
    adjoint = b.conj().T @ x
    gain = jnp.linalg.solve(r + adjoint @ b, adjoint @ a)
    closed = a - b @ gain
    system = jnp.eye(a.size) - jnp.kron(closed.conj().T, closed.T)
    return jnp.linalg.solve(system, jnp.ravel(q + gain.conj().T @ r @ gain)).reshape(a.shape)


_NEWTON_STEPS: Final = {
    "solve_continuous_are": _continuous_step,
    "solve_discrete_are": _discrete_step,
}


def _where_equal(ours: Any) -> Any:
    """Return what applies a function, where its value is that of SciPy's function."""

    def own(g: Any, *args: Any, **kwargs: Any) -> Any:
        result = array_functions.with_values(ours, args, kwargs)
        if not _agrees(g, args, kwargs, result):
            return NotImplemented
        raising.check_finite(g, args, kwargs, result)
        return ndarrays.wrap(result)

    return own


def _bracketed(g: Any, *args: Any, **options: Any) -> Any:
    """Find a root between two numbers, by one of SciPy's methods in C."""
    f, a, b, arguments, xtol, rtol, maxiter, is_full, _ = _bound(g, args, options)
    arguments = arguments if type(arguments) is tuple else (arguments,)
    problem = (f, arguments, g.__name__, (a, b))
    limits = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    result = array_functions.with_values(tinyjax.scipy.optimize.root_scalar, problem, limits)
    if ndarrays.known_data(result.converged, runs.example) == np.False_:
        raise runs.refusal(f"{g.__name__} that does not converge")
    root, converged, *counts = map(ndarrays.wrap, result)
    if not is_full:
        return root
    report = importlib.import_module("scipy.optimize").RootResults(root, *counts, 0, g.__name__)
    report.converged = converged
    return root, report


def _bound(g: Any, args: Sequence[Any], options: dict[str, Any]) -> Iterator[Any]:
    """Yield the arguments of a function, also those that it has by default."""
    bound = inspect.signature(g).bind(*args, **options)
    bound.apply_defaults()
    yield from bound.arguments.values()


def _fractional_power(a: Any, p: Any) -> Any:
    linalg = tinyjax.scipy.linalg
    return linalg.expm(p * linalg.logm(a))


def _rq(a: Any, mode: str = "full") -> Any:
    """Decompose by ``qr`` of the conjugate transpose, from the other side."""
    q, r = jnp.linalg.qr(a[::-1, ::-1].conj().T, "reduced" if mode == "economic" else "complete")
    r = r.conj().T[::-1, ::-1]
    return r if mode == "r" else (r, q.conj().T[::-1, ::-1])


_decided: Final = functools.partial(ndarrays.decided, purpose="the neighbors of points")


def _squareform(g: Any, x: Any, force: str = "no", checks: bool = True) -> Any:
    if np.ndim(x) == 1:
        numbers = g(np.arange(1, len(x) + 1))
        return np.where(numbers == 0, 0.0, x[np.maximum(numbers - 1, 0)])
    return x[np.triu_indices(x.shape[0], 1)]


def _peaks(g: Any, x: Any, *args: Any) -> Any:
    """Find peaks, or choose among them, which is a decision."""
    return g(_decided(x), *map(_decided, args))


def _prominences(g: Any, x: Any, peaks: Any, wlen: Any) -> Any:
    peaks = _decided(peaks)
    _, left, right = g(_decided(x), peaks, _decided(wlen))
    return x[peaks] - np.maximum(x[left], x[right]), left, right


def _of_mask(g: Any, mask: Any, *args: Any) -> Any:
    """Look at truth values, or at integers made of them, which is a decision."""
    is_mask = ndarrays.is_captured(mask) and mask.dtype.kind in "biu"
    if not is_mask or ndarrays.is_traced(args):
        return NotImplemented
    return calls.native(g, (_decided(mask), *args), {})


_OF_MASKS: Final = (
    "_ni_label._label",
    "scipy.ndimage._nd_image.binary_erosion",
    "scipy.ndimage._nd_image.binary_erosion2",
    "scipy.ndimage._nd_image.distance_transform_bf",
    "scipy.ndimage._nd_image.euclidean_feature_transform",
)


class NeighborTree:
    """A tree of traced points. Indices of neighbors are decisions; distances are refused.

    Args:
        kind: the class of SciPy's.
        points: the points.
        args: further arguments of the class.
        options: keyword arguments of the class.
    """

    def __init__(self, kind: Any, points: Any, *args: Any, **options: Any) -> None:
        self._tree = kind(_decided(points), *args, **options)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._tree, name)
        if name not in ("query_ball_point", "query_pairs", "count_neighbors", "n", "m"):
            raise runs.refusal(f"{type(self._tree).__name__}.{name}")
        if not callable(method):
            return method
        return lambda *args, **options: method(
            *map(_decided, args), **ndarrays.mapped(_decided, options)
        )


#: Functions of SciPy's with a counterpart made here.
_OWN: Final[dict[str, Any]] = {
    "scipy.spatial.distance.squareform": _squareform,
    "scipy.spatial._ckdtree.cKDTree": NeighborTree,
    "scipy.spatial._kdtree.KDTree": NeighborTree,
    "scipy.linalg._solvers.solve_continuous_are": _riccati,
    "scipy.linalg._solvers.solve_discrete_are": _riccati,
    "scipy.linalg._decomp_qr.rq": _where_equal(_rq),
    "scipy.linalg._matfuncs.fractional_matrix_power": _where_equal(_fractional_power),
    **{
        f"scipy.optimize._zeros_py.{x}": _bracketed
        for x in ("bisect", "brenth", "brentq", "ridder")
    },
    **dict.fromkeys(_OF_MASKS, _of_mask),
    "scipy.signal._peak_finding_utils._local_maxima_1d": _peaks,
    "scipy.signal._peak_finding_utils._select_by_peak_distance": _peaks,
    "scipy.signal._peak_finding_utils._peak_prominences": _prominences,
    **distances.COUNTERPARTS,
    **interpolation.COUNTERPARTS,
    **lapack.COUNTERPARTS,
    **numexpr.COUNTERPARTS,
    **sparse.COUNTERPARTS,
}


#: What applies functions of SciPy's where a function that they are given decides by its argument.
_BY_DECISIONS: Final[dict[str, Any]] = {"scipy.integrate._quadpack_py.quad": integrals.quad}
#: Functions of SciPy's whose Python source computes more than a counterpart of tinyjax's.
_BY_SOURCE: Final = frozenset({"scipy.linalg.cho_factor", "scipy.linalg.eigh"})
#: Functions whose second argument is a vector to SciPy, if it is a number.
_OF_VECTORS: Final = frozenset({"fsolve", "odeint", "root"})


@functools.cache
def _counterpart(g: Any) -> Any:
    """Return the function of ``tinyjax.scipy`` for one of SciPy's; None where there is none."""
    name = getattr(g, "__name__", "")
    module = (getattr(g, "__module__", "") or "").split(".")
    if "array_api_compat" in module and module[-1] == "linalg":
        return getattr(np.linalg, name, None)
    if module[0] == "numpy" or ".".join([*module[:2], name]) in _BY_SOURCE:
        return None
    if module[0] == "bottleneck":
        return getattr(np, name, None)
    for home in dict.fromkeys([*module[1:2], *_HOMES]):
        theirs = sys.modules.get(f"scipy.{home}")
        if theirs is not None and getattr(theirs, name, None) is g:
            ours = "fft" if home == "fftpack" else home
            try:
                return getattr(importlib.import_module(f"tinyjax.scipy.{ours}"), name, None)
            except ImportError:
                return None
    return None


def _of_distribution(g: MethodType) -> Any:
    kind = type(g.__self__).__name__
    if not kind.endswith("_gen"):
        return None
    ours = getattr(tinyjax.scipy.stats, getattr(g.__self__, "name", kind[:-4]), None)
    return getattr(ours, g.__name__, None)


def _module(g: Any) -> str:
    """Return the module of a function; those in Fortran and methods in C have none."""
    own = "builtins" if hasattr(g, "__name__") else type(g).__module__
    module: str = getattr(g, "__module__", None) or own
    return lapack.FORTRAN if type(g).__name__ == "fortran" else module


def _name(g: Any) -> str:
    """Return the name of a function, or of the class of an object that can be called.

    Functions in Fortran have it in the last word, and those of pybind11 behind its version.
    """
    name: str = getattr(g, "__qualname__", "") or getattr(g, "__name__", type(g).__name__)
    if name.startswith("pybind11"):
        return name.rpartition(".")[2]
    return name.rpartition(" ")[2] if type(g).__name__ == "fortran" else name


def counterpart_of(g: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Apply the counterpart of a function of SciPy's, where it gives the value of the function.

    Returns:
        The result; NotImplemented where there is no counterpart, nothing is traced, or the values
        differ.
    """
    if any(g is cls for cls in results.made_by_source):
        return NotImplemented
    if kwargs and type(g) is FunctionType:  # what is solved stands first, and then its data
        args, kwargs = array_functions.by_place(g, args, kwargs, 2)
    given = (*args, *kwargs.values())
    if not ndarrays.are_traced(args, kwargs) and not any(map(_reaches_captured, given)):
        if not any(callable(x) and calls.may_reach_captured(x) for x in given):
            return NotImplemented
        result = _of_data(g, args, kwargs)
        if result is not NotImplemented:
            return result
    module = _module(g)
    if module.endswith("_cy") and module.startswith("scipy.spatial.transform"):
        python = importlib.import_module(f"{module.removesuffix('_cy')}_xp")
        return calls.call(getattr(python, g.__name__), *args, **kwargs)
    own = _OWN.get(f"{module}.{_name(g)}")
    if own is not None:
        result = own(g, *args, **kwargs)
        if result is not NotImplemented:
            return result
    if type(g).__hash__ is None:
        return NotImplemented
    ours = _of_distribution(g) if type(g) is MethodType else _counterpart(g)
    if ours is None:
        return NotImplemented
    return _by_counterpart(g, ours, args, kwargs)


def _by_counterpart(g: Any, ours: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Apply the counterpart of a function; NotImplemented where it does not give the value."""
    module, call = _module(g), (args, kwargs)
    if getattr(g, "__name__", "") in _OF_VECTORS and len(args) > 1:
        args = (args[0], calls.call(np.atleast_1d, args[1]), *args[2:])
    overwritten = overwriting.overwritten(g, args, kwargs)
    arguments = args, kwargs
    args, kwargs = for_counterpart(g, args, kwargs)
    is_full = getattr(g, "__name__", "") in IN_FULL and kwargs.pop("full_output", False)
    run = runs.current.get()
    refused = len(run.refusals) if run is not None else 0
    try:
        result = array_functions.with_values(ours, args, kwargs)
    except array_functions.REFUSALS as error:
        if isinstance(error, DivergenceError):
            raise
        if run is not None:
            del run.refusals[refused:]
        result = _by_decisions(f"{module}.{_name(g)}", error, args, kwargs)
        is_full = is_full and result is not NotImplemented
        return in_full(g.__name__, result, args, kwargs) if is_full else result
    if not any(callable(x) for x in args):
        raising.check_finite(g, *arguments, result)
    elif not _converged(result):
        return NotImplemented
    key = (ours, len(args), *map(_kind, args), *[(n, _kind(x)) for n, x in kwargs.items()])
    if key not in _verified:
        if not _agrees(g, args, kwargs, result):
            return NotImplemented
        _verified.add(key)
    if is_full:
        return ndarrays.wrap(in_full(g.__name__, result, args, kwargs))
    result = results.completed(g, *call, ndarrays.wrap(result))
    overwriting.undefine(overwritten)
    return result


def _by_decisions(name: str, error: Exception, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Apply a function whose counterpart refused to decide, in a way that takes decisions.

    Returns:
        The result; NotImplemented where the counterpart refused something else.

    Raises:
        UndecidedError: there is no such way.
    """
    if not isinstance(error, UndecidedError):
        return NotImplemented
    by_decisions = _BY_DECISIONS.get(name)
    result = NotImplemented if by_decisions is None else by_decisions(*args, **kwargs)
    if result is NotImplemented:
        raise runs.note_refusal(error) from None
    return result


def _of_data(g: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what the source of a function gives; NotImplemented if its callbacks give no data."""
    fun, run = rewriting.rewritten(g), runs.current.get()
    refused = len(run.refusals) if run is not None else 0
    try:
        return NotImplemented if fun is None else fun(*args, **kwargs)
    except CaptureError:
        if run is not None:
            del run.refusals[refused:]
        return NotImplemented


def _reaches_captured(x: Any) -> bool:
    return ndarrays.holds_captured(calls.objects_of(x)) or (
        callable(x) and calls.reaches_captured(x)
    )


def _kind(x: Any) -> Any:
    if isinstance(x, (str, bool, int)) or x is None:  # an option
        return x
    return type(x).__name__, *((np.ndim(x), x.dtype.kind) if ndarrays.is_captured(x) else ())


def _agrees(g: Any, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> bool:
    """Compare with the value of the function itself, where the data is known."""
    known = ndarrays.known_data((args, kwargs, result), runs.example)
    if known is ndarrays.UNKNOWN or any(map(callable, known[0])):
        return True
    data, options, value = known
    try:
        theirs = g(*data, **options)
    except Exception:
        return False
    return _close(theirs, value)


def _converged(result: Any) -> bool:
    """Return whether no number is NaN, which solvers return where they do not converge."""
    if hasattr(result, "t_events"):  # which end with NaN
        result = result._replace(t_events=None, y_events=None)
    known = [np.asarray(ndarrays.known_data(x, runs.example)) for x in tree.leaves(result)]
    return not any(np.isnan(x).any() for x in known if x.dtype.kind in "fc")


def _close(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, tuple):
        return isinstance(ours, tuple) and all(map(_close, theirs, ours))
    try:
        first, second = np.asarray(theirs), np.asarray(ours)
        return first.shape == second.shape and bool(
            np.allclose(first, second, rtol=1e-7, atol=1e-10, equal_nan=True)
        )
    except TypeError:
        return True


calls.counterparts.append(counterpart_of)


def rule(function: Any, ours: Any) -> None:
    """Say which function of arrays of tinyjax's computes what a function does, under capture.

    It is for functions in C, whose program cannot be captured.

    Args:
        function: a function that captured programs call.
        ours: a function of the same arguments, made of functions of tinyjax or NumPy; it may have
            rules of its own (``custom_jvp``), or call the function by ``pure_callback``.

    Example:
        >>> import operator
        >>> import numpy as np
        >>> import tinyjax
        >>> from tinyjax import source
        >>> measure = operator.methodcaller("tobytes")  # in C
        >>> source.rule(measure, lambda x: np.sum(x**2))
        >>> tinyjax.grad(source.capture(lambda x: 3.0 * measure(x)))(np.ones(2))
        Array([6., 6.], dtype=float64)
    """
    ndarrays.HANDLERS[function] = functools.partial(_ruled, function, ours)


def _ruled(function: Any, ours: Any, *args: Any, **kwargs: Any) -> Any:
    if not ndarrays.are_traced(args, kwargs):
        return array_functions.with_data(function, args, kwargs)
    return ndarrays.wrap(array_functions.with_values(ours, args, kwargs))

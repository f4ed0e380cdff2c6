"""Differentiable replacements for functions without a derivative of their own.

Methods are written in Python, so that they can be differentiated. Functions of NumPy,
``scipy.special`` and some of ``math`` have counterparts in tinyjax.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, MethodType
from typing import Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.numpy import protocols
from tinyjax.scipy import special
from tinyjax.source import facts
from tinyjax.source.adjoint.rules import arrays, registry
from tinyjax.source.ir import runtime


def method_function(method: Any) -> Any:
    """Return the function that is equivalent to an object's method."""
    owner, name = method.__self__, method.__name__
    if isinstance(method, MethodType):
        written = isinstance(owner, tuple) or (isinstance(owner, type) and issubclass(owner, tuple))
        return (_NAMED.get(name) if written else None) or method.__func__
    if not isinstance(owner, (np.ndarray, np.generic)):
        return CONTAINER_METHODS[type(owner), name]
    return arrays.METHODS.get(name) or getattr(np, name)


def tuple_replace(value: Any, **changes: Any) -> Any:
    """``value._replace(**changes)`` of a named tuple."""
    names = value._fields
    return type(value)(*[changes.get(name, value[i]) for i, name in enumerate(names)])


#: Methods of named tuples.
_NAMED: Final[dict[str, Callable[..., Any]]] = {
    "_replace": tuple_replace,
    "_asdict": lambda value: {name: getattr(value, name) for name in value._fields},
    "_make": lambda kind, items: kind(*items),
}


def dict_get(d: Any, key: Any, default: Any = None) -> Any:
    """``d.get(key, default)``."""
    if key in d:
        return d[key]
    return default


#: By class and name: functions that do what methods of containers do.
CONTAINER_METHODS: Final[dict[tuple[type, str], Callable[..., Any]]] = {
    (dict, "get"): dict_get,
    (dict, "values"): lambda d: [d[key] for key in d],
    (dict, "items"): lambda d: [(key, d[key]) for key in d],
    (dict, "copy"): lambda d: {**d},
    (list, "copy"): lambda items: [*items],
    **{(kind, "conjugate"): lambda number: number for kind in (int, float)},
    (complex, "conjugate"): lambda number: complex(number.real, -number.imag),
}


def is_ufunc_method(fun: Any) -> bool:
    """Return whether a function is a method of a ufunc, and no in-place one."""
    is_method = isinstance(fun, BuiltinFunctionType) and isinstance(fun.__self__, np.ufunc)
    return is_method and fun.__name__ != "at"


registry.inert.add(method_function)


# Functions of NumPy


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """As ``np.convolve``, which takes numbers for vectors of one."""
    return _of_products(jnp.convolve, a, v, mode)


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """As ``np.correlate``, which takes numbers for vectors of one."""
    return _of_products(jnp.correlate, a, v, mode)


def _of_products(function: Callable[..., Any], a: Any, v: Any, mode: Any) -> Any:
    """Return sums of products in NumPy's dtype: integers may wrap, and truth values stay such."""
    x, y = (z if z.ndim else z[None] for z in map(jnp.asarray, (a, v)))
    dtype = np.result_type(x.dtype, y.dtype)
    if dtype.kind not in "biu":
        return function(x, y, mode)
    sums = function(x.astype(np.float64), y.astype(np.float64), mode)
    return sums != 0 if dtype.kind == "b" else sums.astype(np.int64).astype(dtype)


def reciprocal(x: Any) -> Any:
    """As ``np.reciprocal``, which gives integers for integers."""
    array = jnp.asarray(x)
    if array.dtype.kind not in "biu":
        return jnp.reciprocal(array)
    with np.errstate(divide="ignore"):
        of_zero = np.reciprocal(np.zeros((), array.dtype))
    array = array.astype(of_zero.dtype)
    return jnp.where(array == 0, of_zero, jnp.where(jnp.abs(array) == 1, array, 0))


def where(condition: Any, *others: Any) -> Any:
    """As ``np.where``, which gives positions of 64 bits."""
    if others:
        return jnp.where(condition, *others)
    return tuple(map(protocols.widened, jnp.nonzero(condition)))


def vander(x: Any, *args: Any, **kwargs: Any) -> Any:
    """As ``np.vander``, which multiplies small integers in wider ones."""
    return jnp.vander(protocols.widened(jnp.asarray(x)), *args, **kwargs)


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """As ``np.histogramdd``, which takes a list of columns for a matrix."""
    points = jnp.array(sample).T if isinstance(sample, (list, tuple)) else sample
    return jnp.histogramdd(points, bins, range, weights, density)


def einsum(subscripts: Any, /, *operands: Any, optimize: Any = True) -> Any:
    """As ``np.einsum``, which takes lists for arrays; the order of products changes no value."""
    if isinstance(subscripts, str):
        operands = tuple([jnp.asarray(x) for x in operands])
    return jnp.einsum(subscripts, *operands)


def own_rows(index: Any) -> Any:
    """As ``np.r_[index]``."""
    return jnp.r_[index]


def own_columns(index: Any) -> Any:
    """As ``np.c_[index]``."""
    return jnp.c_[index]


def of_ufunc(method: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a ufunc, which takes lists for arrays."""
    return method(*[jnp.array(x) if isinstance(x, list) else x for x in args], **kwargs)


#: What is no function of ``tinyjax.numpy`` as it is.
_WRITTEN: Final[dict[Any, Callable[..., Any]]] = {
    np.convolve: convolve,
    np.correlate: correlate,
    np.reciprocal: reciprocal,
    np.vander: vander,
    np.where: where,
    np.histogramdd: histogramdd,
    np.linalg.cholesky: protocols.cholesky,
    np.linalg.eigh: protocols.eigh,
    np.linalg.eigvalsh: protocols.eigvalsh,
    np.linalg.lstsq: protocols.lstsq,
    np.einsum: einsum,
    # whose results are as long as the numbers make them
    np.polydiv: functools.partial(jnp.polydiv, trim_leading_zeros=True),
    np.polymul: functools.partial(jnp.polymul, trim_leading_zeros=True),
    np.std: protocols.std,
    np.var: protocols.var,
    runtime.by_rows: own_rows,
    runtime.by_columns: own_columns,
    math.gamma: special.gamma,
    math.lgamma: special.gammaln,
}
#: What calls a function that may close over active values, writes to an array, or gives no array.
_NONE: Final = facts.CALLERS | facts.WRITERS | facts.OUTSIDE | facts.READING | facts.TEXTS


def counterpart(fun: Any) -> Any:
    """Return tinyjax's counterpart of a function of NumPy or ``scipy.special``, if any."""
    name = getattr(fun, "__name__", None)
    if not isinstance(name, str) or isinstance(fun, type):
        return None
    if runtime.is_in(fun, _WRITTEN):
        return _WRITTEN[fun]
    if is_ufunc_method(fun):
        method = getattr(counterpart(fun.__self__), name, None)
        if method is not None and fun.__self__ in (np.add, np.multiply) and name != "outer":
            method = protocols.with_wide_integers("sum", method)
        return None if method is None else functools.partial(of_ufunc, method)
    for theirs, ours in (
        (np, jnp),
        (np.linalg, jnp.linalg),
        (np.fft, jnp.fft),
        (sys.modules.get("scipy.special"), special),
    ):
        if getattr(theirs, name, None) is fun and fun not in _NONE:
            function = getattr(ours, name, None)
            return None if function is None else protocols.with_wide_integers(name, function)
    return None


def rule_of_call(fun: Any, count: int, names: tuple[str, ...]) -> registry.Rule | None:
    """Return the rule of a function, unless only its counterpart takes these arguments."""
    rule = registry.rule_of(fun)
    fits = rule is None or registry.fits(fun, count, names)
    return rule if fits or counterpart(fun) is None else None


@attrs.frozen
class ListCounterpart:
    """A function of tinyjax that takes lists for arrays, as NumPy's do.

    Attributes:
        fun: the function.
        renamed: its names of arguments, by those of NumPy.
    """

    fun: Callable[..., Any]
    renamed: tuple[tuple[str, str], ...]

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, whose signature is this one's too."""
        return self.fun

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """Bind arguments that are called as NumPy calls them.

        Raises:
            TypeError: the function does not take them.
        """
        names = dict(self.renamed)
        by_name = {names.get(name, name): x for name, x in kwargs.items()}
        return signature_of(self.fun).bind(*args, **by_name)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments | None:
        """Bind arguments that are called as NumPy calls them; None if it does not take them."""
        try:
            return self.bind(args, kwargs)
        except TypeError:
            return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = self.bind(args, kwargs)
        for name, value in arguments.arguments.items():
            parameter = arguments.signature.parameters[name]
            several = parameter.kind is parameter.VAR_POSITIONAL
            annotation = f"Sequence[{parameter.annotation}]" if several else parameter.annotation
            arguments.arguments[name] = _as_arrays(value, annotation)
        return self.fun(*arguments.args, **arguments.kwargs)


signature_of: Final = functools.cache(inspect.signature)


def static_number(arguments: inspect.BoundArguments) -> str | None:
    """Return the name of a parameter that has no derivative and is given a fraction.

    The value may depend on what is differentiated.
    """
    for name, value in arguments.arguments.items():
        if isinstance(value, (float, np.floating)):
            annotation = str(arguments.signature.parameters[name].annotation)
            if not any(kind in annotation for kind in ("Array", "Any", "_empty")):
                return name
    return None


def _as_arrays(x: Any, annotation: str) -> Any:
    """Arrays for lists, where a parameter with this annotation is one or takes several."""
    if not isinstance(x, (list, tuple)) or "ArrayLike" not in annotation:
        return x
    if "Sequence" in annotation:
        return type(x)([_as_arrays(item, "ArrayLike") for item in x])
    return jnp.array(x)


@functools.cache
def list_counterpart(fun: Any) -> ListCounterpart:
    """Return tinyjax's counterpart of a function of NumPy, with NumPy's calling convention."""
    replacement = counterpart(fun)
    assert replacement is not None, "it is asked for where there is one"
    if isinstance(fun, np.ufunc) or is_ufunc_method(fun):
        return ListCounterpart(replacement, ())
    theirs, ours = [*signature_of(fun).parameters], [*signature_of(replacement).parameters]
    renamed = [(a, b) for a, b in zip(theirs, ours, strict=False) if a not in ours]
    return ListCounterpart(replacement, tuple(renamed))

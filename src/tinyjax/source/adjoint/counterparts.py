"""The functions of tinyjax that do what functions of NumPy and ``scipy.special`` do."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.scipy import special


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """As ``np.convolve``, which takes numbers for vectors of one."""
    x, y = (jnp.asarray(z) for z in (a, v))
    return jnp.convolve(x if x.ndim else x[None], y if y.ndim else y[None], mode)


def einsum(subscripts: Any, /, *operands: Any, **options: Any) -> Any:
    """As ``np.einsum``, which takes lists for arrays."""
    if isinstance(subscripts, str):
        operands = tuple([jnp.asarray(x) for x in operands])
    return jnp.einsum(subscripts, *operands, **options)


#: What NumPy takes more for than tinyjax.numpy does.
_WRITTEN: Final[dict[Any, Callable[..., Any]]] = {np.convolve: convolve, np.einsum: einsum}


def by_rows(*parts: Any) -> Any:
    """As ``np.r_[parts]``."""
    return np.r_[parts]


def by_columns(*parts: Any) -> Any:
    """As ``np.c_[parts]``."""
    return np.c_[parts]


def _own_rows(*parts: Any) -> Any:
    return jnp.r_[parts]


def _own_columns(*parts: Any) -> Any:
    return jnp.c_[parts]


#: Objects whose items are computed of the index: the functions of its parts that do that, NumPy's
#: and tinyjax's.
INDEXED: Final[tuple[tuple[Any, Callable[..., Any], Callable[..., Any]], ...]] = (
    (np.r_, by_rows, _own_rows),
    (np.c_, by_columns, _own_columns),
)

#: What calls a function that may close over active values, writes to an array, or gives no array.
_NONE: Final = frozenset(
    {
        *(np.apply_along_axis, np.apply_over_axes, np.fromfunction, np.frompyfunc, np.piecewise),
        *(np.fill_diagonal, np.place, np.put, np.put_along_axis),
        *(np.array_repr, np.array_str, np.get_printoptions, np.printoptions, np.set_printoptions),
        *(np.frombuffer, np.fromfile, np.fromiter, np.fromstring, np.load, np.save, np.savez),
    }
)


def counterpart(fun: Any) -> Callable[..., Any] | None:
    """The function of tinyjax that does what one of NumPy or ``scipy.special`` does, if any."""
    name = getattr(fun, "__name__", None)
    if not isinstance(name, str) or isinstance(fun, type):
        return None
    for _, indexed, own in INDEXED:
        if fun is indexed:
            return own
    for theirs, ours in (
        (np, jnp),
        (np.linalg, jnp.linalg),
        (np.fft, jnp.fft),
        (sys.modules.get("scipy.special"), special),
    ):
        if getattr(theirs, name, None) is fun and fun not in _NONE:
            replacement: Callable[..., Any] | None = getattr(ours, name, None)
            return _WRITTEN.get(fun, replacement)
    return None


@attrs.frozen
class TakingLists:
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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = self.bind(args, kwargs)
        for name, value in arguments.arguments.items():
            parameter = arguments.signature.parameters[name]
            several = parameter.kind is parameter.VAR_POSITIONAL
            annotation = f"Sequence[{parameter.annotation}]" if several else parameter.annotation
            arguments.arguments[name] = _as_arrays(value, annotation)
        return self.fun(*arguments.args, **arguments.kwargs)


signature_of: Final = functools.cache(inspect.signature)


def _as_arrays(x: Any, annotation: str) -> Any:
    """Arrays for lists, where a parameter with this annotation is one or takes several."""
    if not isinstance(x, (list, tuple)) or "ArrayLike" not in annotation:
        return x
    if "Sequence" in annotation:
        return type(x)([_as_arrays(item, "ArrayLike") for item in x])
    return jnp.array(x)


@functools.cache
def taking_lists(fun: Any) -> TakingLists:
    """The function of tinyjax that does what one of NumPy does, called as that is."""
    replacement = counterpart(fun)
    assert replacement is not None, "it is asked for where there is one"
    if isinstance(fun, np.ufunc):
        return TakingLists(replacement, ())
    theirs, ours = [*signature_of(fun).parameters], [*signature_of(replacement).parameters]
    renamed = [(a, b) for a, b in zip(theirs, ours, strict=False) if a not in ours]
    return TakingLists(replacement, tuple(renamed))

"""Generalized universal functions: of arrays of a few axes, over all the axes before them.

Signatures are those of NumPy's generalized ufuncs, such as ``"(m,n),(n)->(m)"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

from tinyjax import errors, frames
from tinyjax.core.api import mapping
from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints
from tinyjax.core.values.array import Array
from tinyjax.numpy import creation as cr, manipulation as mn, promotion as pm

#: The names of the core axes of each array.
_Cores: TypeAlias = Sequence[tuple[str, ...]]

_AXES: Final = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*,?)?\s*\)"
_ARRAYS: Final = rf"{_AXES}(?:\s*,\s*{_AXES})*"
_SIGNATURE: Final = re.compile(rf"\s*{_ARRAYS}\s*->\s*{_ARRAYS}\s*")


def _parse(signature: Any) -> tuple[_Cores, _Cores]:
    if not isinstance(signature, str) or not _SIGNATURE.fullmatch(signature):
        raise errors.ArgumentError(
            f"vectorize: '{signature}' is no signature of a generalized ufunc, such as "
            "'(m,n),(n)->(m)'."
        )
    sides = [
        [tuple(re.findall(r"\w+", axes)) for axes in re.findall(_AXES, side)]
        for side in signature.split("->")
    ]
    return sides[0], sides[1]


@checking.explained
def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Map a function over the leading axes of its arguments, which broadcast.

    Args:
        pyfunc: takes and returns arrays: as many as the signature says.
        excluded: positions and names of arguments to pass on unchanged.
        signature: the names of the axes of each array that ``pyfunc`` takes and returns, as in
            ``"(m,n),(n)->(m)"``; by default it takes and returns scalars.

    Returns:
        A function of arrays with any number of axes in front of these.

    Raises:
        ArgumentError: the signature cannot be read, or ``excluded`` holds something else; when
            called, there are more or fewer arguments or results than it says.
        ShapeError: when called, if axes do not broadcast, or two of one name differ in size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> product = jnp.vectorize(jnp.dot, signature="(m,n),(n)->(m)")
        >>> product(jnp.ones((4, 1, 2, 3)), jnp.ones((5, 3))).shape
        (4, 5, 2)
    """
    excluded = {*ints.listed(excluded, "excluded")}
    if any(not isinstance(x, (int, str)) for x in excluded):
        raise errors.ArgumentError(
            "vectorize: excluded holds positions and names of arguments, "
            f"but got {errors.shortened(excluded)}."
        )
    cores = None if signature is None else _parse(signature)

    @frames.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        mapped = [i for i in range(len(args)) if i not in excluded]
        names = [name for name in kwargs if name not in excluded]
        values = [*(args[i] for i in mapped), *(kwargs[name] for name in names)]
        present = [i for i, value in enumerate(values) if value is not None]
        cores_in, cores_out = cores or ([()] * len(values), None)
        if len(cores_in) != len(values):
            raise errors.ArgumentError(
                f"vectorize: the signature '{signature}' is for {len(cores_in)} arrays, but the "
                f"function was called with {len(values)}."
            )

        def core(*arrays: Array) -> Any:
            filled: list[Any] = [None] * len(values)
            for i, array in zip(present, arrays, strict=True):
                filled[i] = array
            positions, named = dict(enumerate(args)), dict(kwargs)
            positions.update(zip(mapped, filled, strict=False))
            named.update(zip(names, filled[len(mapped) :], strict=True))
            outs = pyfunc(*[positions[i] for i in range(len(args))], **named)
            _check_results(outs, cores_out, dims)
            return outs

        arrays = [cr.asarray(values[i]) for i in present]
        dims: dict[str, int] = {}
        for array, axes in zip(arrays, [cores_in[i] for i in present], strict=True):
            _note_sizes(array, axes, dims)
        leads = [x.shape[: x.ndim - len(cores_in[i])] for i, x in zip(present, arrays, strict=True)]
        shape = pm.broadcast_shapes(*leads)
        return _map_leading(core, arrays, leads, shape)

    return vectorized


def _note_sizes(array: Array, axes: tuple[str, ...], dims: dict[str, int]) -> None:
    """Write down how long the named axes of an array are."""
    if array.ndim < len(axes):
        raise errors.ShapeError(
            f"vectorize: an array of the axes ({', '.join(axes)}) was wanted, but the shape is "
            f"{array.shape}."
        )
    for name, size in zip(axes, array.shape[array.ndim - len(axes) :], strict=True):
        if dims.setdefault(name, size) != size:
            raise errors.ShapeError(
                f"vectorize: the axis '{name}' is {dims[name]} long in one array, and {size} in "
                f"another, of shape {array.shape}."
            )


def _check_results(outs: Any, cores: _Cores | None, dims: dict[str, int]) -> None:
    if cores is None:
        return
    results = outs if isinstance(outs, tuple) else (outs,)
    if len(results) != len(cores):
        raise errors.ArgumentError(
            f"vectorize: the signature says that there are {len(cores)} results, but the function "
            f"returned {len(results)}."
        )
    sizes = dict(dims)
    for out, axes in zip(results, cores, strict=True):
        array = cr.asarray(out)
        if array.ndim != len(axes):
            raise errors.ShapeError(
                f"vectorize: the signature says that a result has the axes ({', '.join(axes)}), "
                f"but its shape is {array.shape}."
            )
        _note_sizes(array, axes, sizes)


def _map_leading(
    fun: Callable[..., Any],
    arrays: Sequence[Array],
    leads: Sequence[tuple[int, ...]],
    shape: tuple[int, ...],
) -> Any:
    """Map over axes that lead in some of the arrays; what is one long there is shared."""
    mapped, squeezed = fun, list(arrays)
    for back in range(1, len(shape) + 1):  # the innermost first
        axes = []
        for lead in leads:
            here = len(lead) >= back and (lead[-back] != 1 or shape[-back] == 1)
            axes.append(0 if here else None)
        mapped = mapping.vmap(mapped, tuple(axes), axis_size=shape[-back])
    for i, (array, lead) in enumerate(zip(arrays, leads, strict=True)):
        front = len(shape) - len(lead)
        alone = [k for k, size in enumerate(lead) if size == 1 and shape[front + k] != 1]
        squeezed[i] = mn.squeeze(array, tuple(alone))
    return mapped(*squeezed)

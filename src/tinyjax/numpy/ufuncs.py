"""NumPy's universal functions: functions of numbers or of a few axes, mapped over arrays.

Generalized ones are of arrays of a few axes, and are mapped over all the axes before them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import prod
from typing import Any, Final, TypeAlias

from tinyjax import dtypes, errors
from tinyjax._base import frames, tracebacks
from tinyjax.core.api import mapping
from tinyjax.core.control_flow import loops
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.core.values.array import IndexUpdate, Indices
from tinyjax.errors import ArgumentError
from tinyjax.numpy import (
    creation,
    elementwise,
    manipulation,
    promotion as pm,
    reductions,
    sorting,
    taking,
)

_role = "passes on"  # see ``frames.Role``

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

    @partial(tracebacks.folded, named=pyfunc)
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

        @frames.wraps(frames.Applied("vectorize", pyfunc))
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

        arrays = [creation.operand(values[i]) for i in present]
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
        array = creation.asarray(out)
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
        squeezed[i] = manipulation.squeeze(array, tuple(alone))
    return mapped(*squeezed)


class ufunc:  # noqa: N801 (NumPy's name)
    """A function of numbers that is mapped over arrays, which broadcast.

    Made by ``frompyfunc``. Those with two operands and one result can reduce and accumulate.

    Attributes:
        nin: the number of operands.
        nout: the number of results.
        nargs: the number of operands.
        identity: the neutral element, if there is one.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> add = jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
        >>> add.accumulate(jnp.arange(4))
        Array([0, 1, 3, 6], dtype=int32)
    """

    #: Whether other functions of the namespace do at once what it does with many elements.
    _is_known: bool = False

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        identity: Any = None,
    ) -> None:
        self._func = func
        self._mapped = vectorize(frames.Applied("frompyfunc", func))
        named = name if isinstance(name, str) else getattr(func, "__name__", "ufunc")
        self.__name__: str = str(named)
        self.__doc__ = func.__doc__
        self.nin: int = nin
        self.nout: int = nout
        self.nargs: int = nin
        self.identity: Any = identity

    def _key(self) -> tuple[Any, ...]:
        return self._func, self.__name__, self.nin, self.nout, self.identity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ufunc) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<tinyjax.numpy.ufunc '{self.__name__}'>"

    def __call__(self, *args: ArrayLike, out: None = None, where: None = None) -> Any:
        """Apply the function to every element.

        Raises:
            ArgumentError: there are more or fewer operands, or ``out`` or ``where`` is given.
        """
        elementwise.no_out(self.__name__, out)
        if where is not None:
            raise ArgumentError(f"{self.__name__}: where= is not supported. Use jnp.where.")
        if len(args) != self.nin:
            raise ArgumentError(f"{self.__name__} takes {self.nin} operands, but got {len(args)}.")
        return self._mapped(*[pm.array_of(self.__name__, x) for x in args])

    def _binary(self, method: str) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ArgumentError(
                f"{method} is for functions of two operands with one result, but "
                f"{self.__name__} has {self.nin} and {self.nout}."
            )

    def _computed(self, x: Array, dtype: dtypes.DTypeLike) -> dtypes.DType:
        """Return the dtype that the function gives of two operands of an array's."""
        if dtype is not None:
            return dtypes.check(dtype)
        one = sh.full((), 1, x.dtype)
        result: dtypes.DType = creation.asarray(self._func(one, one)).dtype
        return result

    def reduce(
        self,
        a: ArrayLike,
        axis: ints.Axis = 0,
        dtype: dtypes.DTypeLike = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Combine the elements along an axis, from the first to the last.

        Args:
            a: the elements.
            axis: along which; None for all. Several axes need a function with an identity.
            dtype: in which to compute.
            out: not supported.
            keepdims: whether to keep the axis, with size 1.
            initial: the first operand; by default the identity, or the first element.
            where: which elements take part; there must be something to begin with.

        Raises:
            ArgumentError: the function has not two operands and one result, or there is nothing to
                begin with.
            AxisError: there is no such axis.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> greatest = jnp.frompyfunc(jnp.maximum, 2, 1)
            >>> greatest.reduce(jnp.array([[3, 1], [2, 7]]), axis=1)
            Array([3, 7], dtype=int32)
        """
        self._binary("reduce")
        elementwise.no_out(self.__name__, out)
        whole = _REDUCTIONS.get(self.__name__) if self._is_known and dtype is None else None
        if whole is not None:
            return whole(a, axis, keepdims=keepdims, where=where, initial=initial)
        x = pm.array_of(self.__name__, a)
        mask = None if where is None else pm.array_of(self.__name__, where)
        if mask is not None:
            mask = pm.broadcast_to_shape(mask, x.shape)
        if isinstance(axis, Sequence):
            return self._reduce_axes(x, mask, axis, keepdims, dtype=dtype, initial=initial)
        shape = (1,) * x.ndim
        if axis is None:
            x, along = sh.reshape(x, (x.size,)), 0
            mask = None if mask is None else sh.reshape(mask, x.shape)
        else:
            along = ints.canonical_axis(axis, x.ndim)
            shape = (*x.shape[:along], 1, *x.shape[along + 1 :])
        result_dtype = self._computed(x, dtype)
        rows = manipulation.moveaxis(pm.convert(x, result_dtype), along, 0)
        flags = None if mask is None else manipulation.moveaxis(mask, along, 0)
        start = self.identity if initial is None else initial
        if start is None and (flags is not None or not rows.shape[0]):
            raise ArgumentError(
                f"{self.__name__}.reduce has nothing to begin with: give initial=..., since the "
                "function has no identity."
            )
        if start is None:
            first, rows = rows[0], rows[1:]
        else:
            first = pm.convert(pm.array_of(self.__name__, start), result_dtype)
            first = pm.broadcast_to_shape(first, rows.shape[1:])

        def step(carry: Array, row: tuple[Array, ...]) -> tuple[Array, None]:
            joined = pm.convert(creation.asarray(self(carry, row[0])), result_dtype)
            return (joined if len(row) == 1 else elementwise.pick(row[1], joined, carry)), None

        result, _ = scan(step, first, (rows,) if flags is None else (rows, flags))
        return sh.reshape(result, shape) if keepdims else result

    def _reduce_axes(
        self, x: Array, mask: Array | None, axis: Sequence[int], keepdims: bool, **options: Any
    ) -> Array:
        axes = ints.canonical_axes(axis, x.ndim)
        if len(axes) > 1 and self.identity is None:
            raise ArgumentError(
                f"{self.__name__}.reduce takes one axis, since the order matters, but got {axis}."
            )
        rest = [n for i, n in enumerate(x.shape) if i not in axes]

        def in_front(operand: Array) -> Array:
            whole = manipulation.moveaxis(operand, axes, range(len(axes)))
            return sh.reshape(whole, (prod(x.shape[i] for i in axes), *rest))

        flags = None if mask is None else in_front(mask)
        result = self.reduce(in_front(x), 0, where=flags, **options)
        return manipulation.expand_dims(result, axes) if keepdims else result

    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: dtypes.DTypeLike = None, out: None = None
    ) -> Array:
        """Return the results of combining the elements up to each one along an axis.

        Args:
            a: the elements.
            axis: along which.
            dtype: in which to compute.
            out: not supported.

        Raises:
            ArgumentError: the function has not two operands and one result.
            AxisError: there is no such axis.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> greatest = jnp.frompyfunc(jnp.maximum, 2, 1)
            >>> greatest.accumulate(jnp.array([3, 1, 7, 2]))
            Array([3, 3, 7, 7], dtype=int32)
        """
        self._binary("accumulate")
        elementwise.no_out(self.__name__, out)
        running = _RUNNING.get(self.__name__) if self._is_known else None
        if running is not None:
            return running(a, ints.integer(axis, "axis"), dtype)
        x = pm.array_of(self.__name__, a)
        along = ints.canonical_axis(axis, x.ndim)
        result_dtype = self._computed(x, dtype)
        x = pm.convert(x, result_dtype)
        if not x.size:
            return x
        rows = manipulation.moveaxis(x, along, 0)

        def step(carry: Array, row: Array) -> tuple[Array, Array]:
            joined = pm.convert(creation.asarray(self(carry, row)), result_dtype)
            return joined, joined

        _, rest = scan(step, rows[0], rows[1:])
        return manipulation.moveaxis(manipulation.append(rows[:1], rest, 0), 0, along)

    def at(
        self, a: ArrayLike, indices: Indices, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """Return a copy with the function applied at indices, as often as each occurs.

        Args:
            a: the array.
            indices: an index of it.
            b: the second operand, if there is one; broadcasts to what the index selects.
            inplace: must be given as False, since arrays are immutable.

        Raises:
            ArgumentError: ``inplace`` is not False, or there are too many or too few operands.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> add = jnp.frompyfunc(lambda x, y: x + y, 2, 1)
            >>> add.at(jnp.zeros(3), jnp.array([0, 0, 2]), 1.0, inplace=False)
            Array([2., 0., 1.], dtype=float32)
        """
        pm.not_in_place(f"{self.__name__}.at", inplace)
        if self.nin != (1 if b is None else 2) or self.nout != 1:
            raise ArgumentError(
                f"{self.__name__}.at needs {self.nin} operands, and a function with one result."
            )
        x = pm.array_of(self.__name__, a)
        more = [] if b is None else [pm.array_of(self.__name__, b)]
        update = _UPDATES.get(self.__name__) if self._is_known else None
        if update is not None and dtypes.result_type(x, *more) == x.dtype != dtypes.bool_:
            return update(x.at[indices], *more)
        places = sh.reshape(sh.iota((x.size,), dtypes.check(int), 0), x.shape)[indices]
        one = sh.full((), 1, x.dtype)
        result_dtype = creation.asarray(
            self._func(one, *[sh.full((), 1, y.dtype) for y in more])
        ).dtype
        start = manipulation.ravel(pm.convert(x, result_dtype))
        values = [
            manipulation.ravel(pm.broadcast_to_shape(pm.convert(y, result_dtype), places.shape))
            for y in more
        ]

        def step(carry: Array, row: tuple[Array, ...]) -> tuple[Array, None]:
            place, *others = row
            return carry.at[place].set(
                pm.convert(creation.asarray(self(carry[place], *others)), result_dtype)
            ), None

        result, _ = scan(step, start, (manipulation.ravel(places), *values))
        return sh.reshape(result, x.shape)

    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: dtypes.DTypeLike = None,
        out: None = None,
    ) -> Array:
        """Reduce slices along an axis, each from one index up to the next.

        Args:
            a: the elements.
            indices: a vector of integers: the beginnings. Where the next one is not greater, the
                element itself is the result.
            axis: along which.
            dtype: in which to compute.
            out: not supported.

        Raises:
            ArgumentError: the function has not two operands and one result.
            ShapeError: the indices are no vector.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> add = jnp.frompyfunc(lambda x, y: x + y, 2, 1)
            >>> add.reduceat(jnp.arange(6), jnp.array([0, 3, 5]))
            Array([3, 7, 5], dtype=int32)
        """
        self._binary("reduceat")
        elementwise.no_out(self.__name__, out)
        x = pm.array_of(self.__name__, a)
        starts = pm.vector("reduceat", indices, "a vector of indices")
        along = ints.canonical_axis(axis, x.ndim)
        result_dtype = x.dtype if dtype is None else dtypes.check(dtype)
        rows = manipulation.moveaxis(pm.convert(x, result_dtype), along, 0)
        n, k = rows.shape[0], starts.size
        ends = manipulation.append(slicing.slice_in_dim(starts, 1, k), n) if k else starts
        tall = (k,) + (1,) * (rows.ndim - 1)

        def step(i: Array, carry: Array) -> Array:
            joined = pm.convert(
                creation.asarray(self(carry, manipulation.expand_dims(rows[i], 0))), result_dtype
            )
            return elementwise.pick(
                sh.reshape(elementwise.logical_and(starts < i, i < ends), tall), joined, carry
            )

        return manipulation.moveaxis(
            loops.fori_loop(0, n, step, taking.take(rows, starts, axis=0)), 0, along
        )

    @frames.has_operands
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """Apply the function to all pairs of elements of two arrays.

        Returns:
            An array with the axes of both.

        Raises:
            ArgumentError: the function has not two operands and one result.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> power = jnp.frompyfunc(lambda x, y: x**y, 2, 1)
            >>> power.outer(jnp.array([2, 3]), jnp.array([1, 2]))
            Array([[2, 4],
                   [3, 9]], dtype=int32)
        """
        self._binary("outer")
        x, y = pm.array_of(self.__name__, A), pm.array_of(self.__name__, B)
        result: Array = creation.asarray(self(sh.reshape(x, x.shape + (1,) * y.ndim), y))
        return result


def _all(a: ArrayLike, axis: ints.Axis, *, initial: ArrayLike | None, **options: Any) -> Array:
    result = reductions.all(a, axis, **options)
    return result if initial is None else elementwise.logical_and(result, initial)


def _any(a: ArrayLike, axis: ints.Axis, *, initial: ArrayLike | None, **options: Any) -> Array:
    result = reductions.any(a, axis, **options)
    return result if initial is None else elementwise.logical_or(result, initial)


_REDUCTIONS: Final[dict[str, Callable[..., Array]]] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
    "logical_and": _all,
    "logical_or": _any,
}
_RUNNING: Final[dict[str, Callable[..., Array]]] = {
    "add": sorting.cumsum,
    "multiply": sorting.cumprod,
}
_UPDATES: Final[dict[str, Callable[[IndexUpdate, Array], Array]]] = {
    "add": IndexUpdate.add,
    "subtract": IndexUpdate.subtract,
    "multiply": IndexUpdate.multiply,
    "maximum": IndexUpdate.max,
    "minimum": IndexUpdate.min,
}


def ufunc_of(fun: Any) -> ufunc:
    """Make the universal function that a function of the namespace is."""
    function = ufunc(fun, fun.nin, fun.nout, name=fun.__name__, identity=fun.identity)
    function._mapped, function._is_known = fun, True
    return function


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Make a universal function from a function of numbers.

    Args:
        func: takes and returns numbers.
        nin: how many it takes.
        nout: how many it returns.
        identity: the neutral element, if there is one.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> larger = jnp.frompyfunc(jnp.maximum, 2, 1)
        >>> larger.outer(jnp.arange(2), jnp.arange(3))
        Array([[0, 1, 2],
               [1, 1, 2]], dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)

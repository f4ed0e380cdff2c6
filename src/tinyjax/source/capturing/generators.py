"""Methods of random generators under capture: they order arrays, choose from them, or draw numbers.

An array of positions is shuffled in place of the array: the generator draws the same numbers. So it
does where a location and a scale are traced: those of the numbers are applied to what it draws.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.dtypes import HostArray
from tinyjax.source.capturing import ndarrays, runs, ufuncs
from tinyjax.source.capturing.calls import around, construct, native
from tinyjax.source.capturing.ndarrays import HANDLERS, is_array, is_traced, plain, write
from tinyjax.source.ir.randomness import MAKERS

_Generator = np.random.Generator | np.random.RandomState


def _positions_along(shape: tuple[int, ...], axis: int) -> HostArray:
    """Return an array of a shape that has the position along an axis in each element."""
    sizes = [-1 if i == axis % len(shape) else 1 for i in range(len(shape))]
    numbers = np.arange(shape[axis], dtype=np.intp).reshape(sizes)
    return np.broadcast_to(numbers, shape).copy()


def _along(numbers: HostArray, axis: int) -> HostArray:
    """Return the positions along an axis, which are the same at all others."""
    return np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1)[:, 0]


def _shuffle(method: Any, owner: _Generator, x: Any, axis: int = 0) -> None:
    options = {"axis": axis} if axis else {}
    if not is_array(x) or not x.size:
        method(owner, plain(x), **options)
        return
    numbers = _positions_along(x.shape, axis)
    method(owner, numbers, **options)
    write(x, ..., np.take(x.copy(), _along(numbers, axis), axis))


def _permutation(method: Any, owner: _Generator, x: Any, axis: int = 0) -> Any:
    options = {"axis": axis} if axis else {}
    if not is_traced(x):
        return ndarrays.follow(method(owner, plain(x), **options))
    array = ndarrays.to_array(x)
    if not array.ndim:
        return method(owner, int(array))
    numbers = method(owner, _positions_along(array.shape, axis), **options)
    return np.take(array, _along(numbers, axis), axis)


def _permuted(
    method: Any, owner: _Generator, x: Any, *, axis: int | None = None, out: Any = None
) -> Any:
    array = ndarrays.to_array(x)
    numbers = np.arange(array.size).reshape(array.shape)
    result = np.reshape(np.ravel(array)[np.ravel(method(owner, numbers, axis=axis))], array.shape)
    return result if out is None else ufuncs.put_out(out, result)


def _choice(
    method: Any,
    owner: _Generator,
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    **options: Any,
) -> Any:
    p = ndarrays.decided(p, "the probabilities of a choice")
    if not is_traced(a):
        options = {**options, **({"axis": axis} if axis else {})}
        return ndarrays.follow(method(owner, plain(a), size, replace, p, **options))
    array = ndarrays.to_array(a)
    if not array.ndim:
        return method(owner, int(array), size, replace, p, **options)
    numbers = method(owner, array.shape[axis], size, replace, p, **options)
    return np.take(array, numbers, axis)


#: By the names of methods, their parameters and what these are by default; the last one scales.
_FAMILIES: Final[dict[str, dict[str, float]]] = {
    **{name: {"loc": 0.0, "scale": 1.0} for name in ("normal", "laplace", "gumbel", "logistic")},
    **{name: {"scale": 1.0} for name in ("exponential", "rayleigh")},
    "lognormal": {"mean": 0.0, "sigma": 1.0},
    "uniform": {"low": 0.0, "high": 1.0},
}


def _drawn(method: Any, owner: _Generator, /, *args: Any, **kwargs: Any) -> Any:
    """Return numbers of a family that a location and a scale describe."""
    if not ndarrays.are_traced(args, kwargs):
        return native(method, (owner, *args), kwargs)
    family = _FAMILIES[method.__name__]
    options = dict(zip((*family, "size"), args, strict=False)) | kwargs
    parameters = [jnp.asarray(ndarrays.unwrap(options.get(x, family[x]))) for x in family]
    shape = size = plain(options.get("size"))
    if size is None:
        shape = np.broadcast_shapes(*[x.shape for x in parameters])
    *location, scale = parameters
    is_uniform, is_exponential = "low" in family, "sigma" in family
    if is_uniform:
        scale = scale - location[0]
    has_sign = is_uniform and isinstance(owner, np.random.RandomState)
    if not has_sign and runs.data(scale) is not None and runs.decide(jnp.any(scale < 0)):
        raise ValueError(f"{' - '.join(reversed(family)) if is_uniform else [*family][-1]} < 0")
    draw: Any = owner.normal if is_exponential else functools.partial(method, owner)
    numbers = scale * jnp.asarray(draw(*family.values(), size=shape)) + sum(location)
    result = ndarrays.wrap(jnp.exp(numbers) if is_exponential else numbers)
    return ndarrays.number(result) if size is None else result


def _multivariate_normal(
    method: Any, owner: _Generator, /, mean: Any, *args: Any, **kwargs: Any
) -> Any:
    """Return numbers that are moved by their mean; those about zero have no derivative."""
    if not is_traced(mean):
        return native(method, (owner, mean, *args), kwargs)
    return native(method, (owner, np.zeros(np.shape(mean)), *args), kwargs) + ndarrays.to_array(
        mean
    )


for _class in (np.random.Generator, np.random.RandomState):
    for _handler in (_shuffle, _permutation, _permuted, _choice, _multivariate_normal):
        _draw = getattr(_class, _handler.__name__[1:], None)
        if _draw is not None:
            HANDLERS[_draw] = functools.partial(_handler, _draw)
    for _name in _FAMILIES:
        HANDLERS[getattr(_class, _name)] = functools.partial(_drawn, getattr(_class, _name))


def _is_certain(method: Any, args: Any, kwargs: Any) -> bool:
    """Return whether numbers of a family are its location, as those of noise of level zero are."""
    family = _FAMILIES.get(method.__name__, {})
    if not family or "low" in family:
        return False
    scale = plain((dict(zip(family, args, strict=False)) | kwargs).get([*family][-1], 1.0))
    return type(scale) in (int, float, np.float64) and scale == 0


def _checked(method: Any, handler: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Refuse to draw numbers that a compiled program would repeat."""
    if not _is_certain(method, args[1:], kwargs):
        runs.check_draw(method, args)
    return native(method, args, kwargs) if handler is None else handler(*args, **kwargs)


for _draw in (
    np.random.seed,
    *[
        method
        for kind in (np.random.Generator, np.random.RandomState)
        for name, method in vars(kind).items()
        if callable(method) and not name.startswith("_")
    ],
):
    HANDLERS[_draw] = functools.partial(_checked, _draw, HANDLERS.get(_draw))


@around(*MAKERS)
def _made(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a generator, and note whether that is of a seed."""
    make = construct if isinstance(function, type) else native
    result = make(function, args, kwargs)
    run = runs.current.get()
    if run is not None:
        run.generators.follow(function, args, kwargs, result)
    return result

"""Distances that SciPy computes in C: of weights, and of metrics with parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.values import Array
from tinyjax.source.capturing import ndarrays, ufuncs
from tinyjax.source.capturing.ndarrays import value_of, wrap, write

_Metric = Callable[..., Array]


def _root(x: Array, p: Any = 2.0) -> Array:
    """Return a root whose derivative at zero is zero, as that of a distance."""
    return jnp.where(x == 0, 0, jnp.where(x == 0, 1, x) ** (1 / p))


def _canberra(u: Array, v: Array, w: Any) -> Array:
    total = jnp.abs(u) + jnp.abs(v)
    return jnp.sum(w * jnp.where(total > 0, jnp.abs(u - v) / jnp.where(total > 0, total, 1), 0), -1)


#: Of two stacks of vectors and weights, by the names of metrics.
_METRICS: Final[dict[str, _Metric]] = {
    "braycurtis": lambda u, v, w: jnp.sum(w * jnp.abs(u - v), -1) / jnp.sum(w * jnp.abs(u + v), -1),
    "canberra": _canberra,
    "chebyshev": lambda u, v, w: jnp.max(jnp.where(w > 0, jnp.abs(u - v), 0), -1),
    "cityblock": lambda u, v, w: jnp.sum(w * jnp.abs(u - v), -1),
    "euclidean": lambda u, v, w: _root(jnp.sum(w * (u - v) ** 2, -1)),
    "minkowski": lambda u, v, w, p=2.0: _root(jnp.sum(w * jnp.abs(u - v) ** p, -1), p),
    "sqeuclidean": lambda u, v, w: jnp.sum(w * (u - v) ** 2, -1),
}
#: Of two stacks of vectors and the parameter.
_WITH_PARAMETER: Final[dict[str, _Metric]] = {
    "seuclidean": lambda u, v, V: _root(jnp.sum((u - v) ** 2 / V, -1)),
    "mahalanobis": lambda u, v, VI: _root(jnp.sum(((u - v) @ VI) * (u - v), -1)),
}


def _pairs(*matrices: Any) -> tuple[Array, Array]:
    """Return the vectors of each pair of rows: of two matrices, or of one."""
    x, *others = [value_of(a) for a in matrices]
    x = x.astype(jnp.result_type(x, np.float64))
    if others:
        return x[:, None], others[0][None]
    first, second = np.triu_indices(len(x), 1)
    return x[first], x[second]


def _weighted(
    count: int, metric: _Metric, function: Any, *args: Any, w: Any = None, out: Any = None, **p: Any
) -> Any:
    """Return distances of rows of one or two matrices, which are the first arguments."""
    matrices, rest = args[:count], args[count:]
    w, out = (*rest, w, out)[:2] if rest else (w, out)
    u, v = _pairs(*matrices)
    weights = jnp.ones(u.shape[-1]) if w is None else value_of(w)
    result = wrap(metric(u, v, weights, **ndarrays.mapped(ndarrays.unwrap, p)))
    return result if out is None else ufuncs.put_out(out, result)


def _parametrized(count: int, metric: _Metric, function: Any, *args: Any, **options: Any) -> None:
    """Write distances into the argument behind the matrices."""
    values = [value_of(x) for x in options.values()]
    write(args[count], ..., wrap(metric(*_pairs(*args[:count]), *values)))


COUNTERPARTS: Final[dict[str, Any]] = {}
for _prefix, _count in (("cdist", 2), ("pdist", 1)):
    for _name, _metric in _METRICS.items():
        _own = functools.partial(_weighted, _count, _metric)
        COUNTERPARTS[f"scipy.spatial._distance_pybind.{_prefix}_{_name}"] = _own
    for _name, _metric in _WITH_PARAMETER.items():
        _own = functools.partial(_parametrized, _count, _metric)
        COUNTERPARTS[f"scipy.spatial._distance_wrap.{_prefix}_{_name}_double_wrap"] = _own

"""Collectives, each within the ``vmap`` whose axis it names.

A batched collective is an ordinary operation, so none is left in the jaxprs of these rows.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import tinyjax
from specs import ArraySpec, Case, Spec
from tinyjax._extensions.parallel import collective
from tinyjax.dtypes import HostArray

GONE = {"jaxpr": "the vmap turns the collective into other operations"}


def mapped(fun: Callable[..., Any], in_axes: int = 0) -> Callable[..., Any]:
    return tinyjax.vmap(fun, in_axes=in_axes, axis_name="i")


def jax_mapped(fun: Callable[..., Any], in_axes: int = 0) -> Callable[..., Any]:
    result: Callable[..., Any] = jax.vmap(fun, in_axes=in_axes, axis_name="i")
    return result


def repeated(x: HostArray, n: int) -> HostArray:
    return np.stack([x] * n)


def permuted(x: HostArray) -> HostArray:
    out = np.zeros_like(x)
    for source, target in SHIFT:
        out[target] = x[source]
    return out


def times_sum(x: Any) -> Any:
    return x * collective.psum(x, "i")


SHIFT = [(0, 2), (1, 0), (3, 1)]

SPECS: list[Spec] = [
    Spec(
        "psum",
        collective.psum_p,
        mapped(lambda x: collective.psum(x, "i")),
        [Case(ArraySpec((3,))), Case(ArraySpec((4, 2)))],
        numpy=lambda x: repeated(np.sum(x.astype(np.float64), 0).astype(x.dtype), len(x)),
        jax=jax_mapped(lambda x: jax.lax.psum(x, "i")),
        dtypes=["float32", "float64", "int32"],
        grad=2,
        linear=(0,),
        skip=GONE,
    ),
    Spec(
        "psum of another axis",
        collective.psum_p,
        mapped(tinyjax.vmap(times_sum), 1),
        [Case(ArraySpec((3, 4)))],
        jax=jax_mapped(jax.vmap(lambda x: x * jax.lax.psum(x, "i")), 1),
        dtypes=["float64"],
        grad=2,
        skip=GONE,
    ),
    Spec(
        "pmax",
        collective.pmax_p,
        mapped(lambda x: collective.pmax(x, "i")),
        [Case(ArraySpec((3,))), Case(ArraySpec((4, 2)))],
        numpy=lambda x: repeated(np.max(x, 0), len(x)),
        jax=jax_mapped(lambda x: jax.lax.pmax(x, "i")),
        dtypes=["float32", "float64", "int32"],
        grad=2,
        skip=GONE,
    ),
    Spec(
        "pmin",
        collective.pmin_p,
        mapped(lambda x: collective.pmin(x, "i")),
        [Case(ArraySpec((3,))), Case(ArraySpec((4, 2)))],
        numpy=lambda x: repeated(np.min(x, 0), len(x)),
        jax=jax_mapped(lambda x: jax.lax.pmin(x, "i")),
        dtypes=["float32", "float64", "int32"],
        grad=2,
        skip=GONE,
    ),
    Spec(
        "axis_index",
        collective.axis_index_p,
        mapped(lambda x: x * collective.axis_index("i")),
        [Case(ArraySpec((3,)))],
        numpy=lambda x: x * np.arange(3, dtype=np.int32),
        dtypes=["int32"],
        skip=GONE,
    ),
    Spec(
        "all_gather",
        collective.all_gather_p,
        mapped(lambda x: collective.all_gather(x, "i", axis=1)),
        [Case(ArraySpec((3, 2)))],
        numpy=lambda x: repeated(x.T, len(x)),
        jax=jax_mapped(lambda x: jax.lax.all_gather(x, "i", axis=1)),
        dtypes=["float32", "float64"],
        grad=2,
        linear=(0,),
        skip=GONE,
    ),
    Spec(
        "psum_scatter",
        collective.psum_scatter_p,
        mapped(lambda x: collective.psum_scatter(x, "i", scatter_dimension=1)),
        [Case(ArraySpec((3, 2, 3)))],
        numpy=lambda x: x.sum(0).T,
        jax=jax_mapped(lambda x: jax.lax.psum_scatter(x, "i", scatter_dimension=1)),
        dtypes=["float32", "float64"],
        grad=2,
        linear=(0,),
        skip=GONE,
    ),
    Spec(
        "all_to_all",
        collective.all_to_all_p,
        mapped(lambda x: collective.all_to_all(x, "i", 0, 1)),
        [Case(ArraySpec((3, 3, 2)))],
        jax=jax_mapped(lambda x: jax.lax.all_to_all(x, "i", 0, 1)),
        numpy=lambda x: x.transpose(1, 2, 0),
        dtypes=["float32", "float64"],
        grad=2,
        linear=(0,),
        skip=GONE,
    ),
    Spec(
        "ppermute",
        collective.ppermute_p,
        mapped(lambda x: collective.ppermute(x, "i", SHIFT)),
        [Case(ArraySpec((4,))), Case(ArraySpec((4, 2)))],
        numpy=permuted,
        dtypes=["float32", "float64"],
        grad=2,
        linear=(0,),
        skip=GONE,
    ),
]

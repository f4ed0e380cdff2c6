"""A NaN on one device is in the extremum of an array that is divided among several."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import lax, numpy as jnp, sharding
from tinyjax.sharding import PartitionSpec as P

AXES = jnp.arange(8) % 2

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(jnp, name)
        for name in (
            *("max", "min", "ptp", "argmax", "argmin", "nanmax", "nanmin", "nanargmax", "sort"),
            *("argsort", "median", "nanmedian", "sum", "prod", "mean", "var", "any", "all"),
        )
    },
    "norm": lambda x: jnp.linalg.norm(x, jnp.inf),
    "least norm": lambda x: jnp.linalg.norm(x, -jnp.inf),
    "logsumexp": tinyjax.nn.logsumexp,
    "softmax": tinyjax.nn.softmax,
    "cummax": lax.cummax,
    "cummin": lax.cummin,
    "reduce": lambda x: lax.reduce(x, np.array(-np.inf, x.dtype), lax.max, (0,)),
    "window": lambda x: lax.reduce_window(
        x, np.array(-np.inf, x.dtype), lax.max, (3,), (1,), "SAME"
    ),
    "segment_max": lambda x: tinyjax.ops.segment_max(x, AXES, 2),
    "segment_min": lambda x: tinyjax.ops.segment_min(x, AXES, 2),
    "at": lambda x: jnp.zeros(2, x.dtype).at[AXES].max(x),
    "rows": lambda x: jnp.max(jnp.stack([x, -x]), 1),
    "where": lambda x: jnp.max(x, where=x != 3, initial=-5),
    "top_k": lambda x: lax.top_k(x, 3)[0],
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_divided_arrays_have_the_same_extrema(dtype: str) -> None:
    mesh = sharding.Mesh(np.array(tinyjax.devices()[:4]), ("i",))

    def program(x: Any) -> Any:
        return {name: f(x) for name, f in FUNCTIONS.items()}

    compiled, tolerance = tinyjax.jit(program, tier="compiled"), 4 * float(jnp.finfo(dtype).eps)
    numbers = [2.0, -0.0, 0.0, -7.0, np.inf, 3.0, -np.inf, 1.0]
    with tinyjax.enable_x64(True):
        for place in (None, 0, 3, 7):
            x = np.array(numbers)
            if place is not None:
                x[place] = np.nan
            host = jnp.asarray(x).astype(dtype)
            outs = compiled(tinyjax.device_put(host, sharding.NamedSharding(mesh, P("i"))))
            for name, evaluated in program(host).items():
                out, right = (np.asarray(z).astype(float) for z in (outs[name], evaluated))
                np.testing.assert_allclose(out, right, tolerance, err_msg=f"{name} {place}")


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_collective_extrema_keep_nans(dtype: str) -> None:
    mesh = sharding.Mesh(np.array(tinyjax.devices()[:4]), ("i",))
    with tinyjax.enable_x64(True):
        for collective in (lax.pmax, lax.pmin):
            f = partial(collective, axis_name="i")
            ways = {
                "jit": tinyjax.jit(
                    tinyjax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P()),
                    tier="compiled",
                ),
                "pmap": tinyjax.pmap(f, axis_name="i", devices=tinyjax.devices()[:4]),
            }
            for numbers in (
                [1, 2, 3, np.nan],
                [np.nan, 2, 3, 4],
                [-0.0, -5, 2, 1],
                [1, -np.inf] * 2,
            ):
                x = jnp.asarray(np.array(numbers)).astype(dtype)
                right = (np.max if collective is lax.pmax else np.min)(numbers)
                for name, way in ways.items():
                    out = np.asarray(way(x)).astype(float)
                    np.testing.assert_array_equal(out, np.full_like(out, right), f"{f} {name}")

"""A NaN or an infinity is in those results of a convolution that it is a term of, in no other."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import lax, numpy as jnp, sharding

GROUPS = [(1, 1), (2, 1), (1, 2), (4, 1), (1, 4)]
#: Padding, the stride, and how far apart the elements are.
WAYS = [(0, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)]


def by_definition(
    x: Any, w: Any, groups: int, batches: int, pad: int, stride: int, spread: int
) -> Any:
    (batch, _, n), (outputs, inputs, k) = x.shape, w.shape
    batch, each = batch // batches, outputs // (groups * batches)
    width = (spread * (n - 1) + 1 + 2 * pad - k) // stride + 1
    out = np.zeros((batch, outputs, width), x.dtype)
    for b, o, s, i, j in product(*map(range, (batch, outputs, width, inputs, k))):
        place, rest = divmod(s * stride + j - pad, spread)
        if 0 <= place < n and not rest:
            group = o // each
            row = x[b, group * inputs + i] if batches == 1 else x[group * batch + b, i]
            out[b, o, s] += row[place] * w[o, i, j]
    return out


def kinds(x: Any) -> Any:
    """Return 2 for NaN, the sign of infinities, and 0 for finite numbers."""
    wide = np.asarray(x).astype(np.complex128)
    if not np.any(wide.imag != 0):
        return np.where(np.isnan(wide), 2, np.where(np.isinf(wide), np.sign(wide.real), 0))
    return np.isfinite(wide)


@pytest.mark.parametrize("tier", ["host", "compiled"])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "float16"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_infinities_and_nans_go(dtype: str, tier: Any) -> None:
    draw, cases, rights = np.random.default_rng(0), [], []
    narrow = tier == "compiled" and dtype in {"float32", "float16"}
    for (groups, batches), (pad, stride, spread), in_kernel in product(GROUPS, WAYS, (0, 1)):
        if narrow and in_kernel and pad:
            continue  # XLA multiplies the kernel with zeros there
        x, w = draw.uniform(1, 2, (4, 4, 5)), draw.uniform(1, 2, (4, 4 // groups, 3))
        (x, w)[in_kernel][1, 0, 1] = np.nan
        (x, w)[in_kernel][2, 0, 2] = np.inf
        x, w = x.astype(dtype), w.astype(dtype)
        how = groups, batches, pad, stride, spread
        wide = "complex128" if dtype == "complex128" else "float64"
        cases.append((x, w, how))
        rights.append(by_definition(x.astype(wide), w.astype(wide), *how))

    def program(operands: Any) -> Any:
        return [
            lax.conv_general_dilated(
                pair[0],
                pair[1],
                (stride,),
                [(pad, pad)],
                (spread,),
                feature_group_count=groups,
                batch_group_count=batches,
            )
            for pair, (_, _, (groups, batches, pad, stride, spread)) in zip(
                operands, cases, strict=True
            )
        ]

    with tinyjax.enable_x64(True):
        outs = tinyjax.jit(program, tier=tier)([case[:2] for case in cases])
    for out, right, (_, _, how) in zip(outs, rights, cases, strict=True):
        np.testing.assert_array_equal(kinds(out), kinds(right), str(how))
        finite = np.isfinite(right)
        tolerance = 20 * float(jnp.finfo(dtype).eps)
        np.testing.assert_allclose(np.asarray(out)[finite], right[finite], tolerance)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "convolve": jnp.convolve,
    "correlate": jnp.correlate,
    "polymul": jnp.polymul,
    "conv": lambda x, k: lax.conv(x.reshape(1, 2, -1), k.reshape(1, 2, -1), (1,), "VALID"),
    "transposed": lambda x, k: lax.conv_transpose(
        x.reshape(1, -1, 1), k.reshape(-1, 1, 1), (2,), "SAME"
    ),
    "batch groups": lambda x, k: lax.conv_general_dilated(
        x.reshape(2, 1, -1), k.reshape(2, 1, -1), (1,), "VALID", batch_group_count=2
    ),
}


@pytest.mark.parametrize("tier", ["host", "compiled"])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
def test_no_example_makes_nans_of_another(dtype: str, tier: Any) -> None:
    draw = np.random.default_rng(1)
    xs, ks = draw.uniform(1, 2, (3, 10)).astype(dtype), draw.uniform(1, 2, (3, 4)).astype(dtype)
    infinite = [(xs.copy(), ks), (xs, ks.copy())]
    infinite[0][0][1, 3] = np.nan
    infinite[1][1][1, 2] = np.inf

    def program(xs: Any, ks: Any) -> Any:
        def all_of(f: Any) -> Any:
            def total(x: Any, k: Any) -> Any:
                return jnp.sum(jnp.abs(f(x, k)) ** 2)

            gradient = tinyjax.grad(total, (0, 1))
            second = tinyjax.grad(lambda x, k: jnp.sum(jnp.abs(gradient(x, k)[0])))
            return tinyjax.vmap(lambda x, k: (f(x, k), gradient(x, k), second(x, k)))(xs, ks)

        return [all_of(f) for f in FUNCTIONS.values()]

    with tinyjax.enable_x64(True):
        compiled = tinyjax.jit(program, tier=tier)
        right = tinyjax.tree.leaves(compiled(xs, ks))
        for operands in infinite:
            for out, finite in zip(tinyjax.tree.leaves(compiled(*operands)), right, strict=True):
                assert not np.all(np.isfinite(out[1]))
                tolerance = 20 * float(jnp.finfo(dtype).eps)
                np.testing.assert_allclose(out[::2], finite[::2], tolerance)


def test_nans_stay_in_their_example_on_several_devices() -> None:
    x, w = np.ones((4, 2, 6)), np.ones((2, 1, 3))
    x[1, 0, 2] = np.nan
    mesh = sharding.Mesh(np.array(tinyjax.devices()[:2]), ("i",))
    f = tinyjax.jit(
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=2),
        tier="compiled",
    )
    divided = sharding.NamedSharding(mesh, sharding.PartitionSpec("i"))
    with tinyjax.enable_x64(True):
        out = np.asarray(f(tinyjax.device_put(x, divided), w))
    np.testing.assert_array_equal(out, by_definition(x, w, 2, 1, 0, 1, 1))

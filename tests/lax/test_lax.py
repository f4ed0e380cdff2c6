"""The lax namespace: names, signatures and meaning as jax has them, and errors that say more."""

import inspect
import re
from collections.abc import Callable
from enum import Enum
from functools import partial
from types import ModuleType
from typing import Any

import jax
import jax.lax
import ml_dtypes
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import lax
from tinyjax.dtypes import HostArray
from tinyjax.errors import (
    ArgumentError,
    AxisError,
    DtypeError,
    ShapeError,
    TinyjaxError,
)
from tinyjax.test_util import check_grads

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 0.9, (2, 3)).astype(np.float32)
Y = RNG.uniform(0.1, 0.9, (2, 3)).astype(np.float32)
Z = (X + 1j * Y).astype(np.complex64)
N = np.array([[1, -5, 7], [100, 0, 3]], np.int32)
M = np.array([[2, 3, 1], [4, 5, 6]], np.int32)
B = np.array([[True, False, True], [False, False, True]])


def same(got: Any, expected: Any) -> None:
    got, expected = jax.tree.leaves(got, is_leaf=is_leaf), jax.tree.leaves(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        kind = np.complex128 if a.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(a.astype(kind), b.astype(kind), rtol=2e-6, atol=1e-6)


def is_leaf(x: Any) -> bool:
    return isinstance(x, tinyjax.Array)


# For each function the calls to make: operands, then parameters.
Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]


def args(*operands: Any, **params: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return operands, params


FLOAT_UNARY = (  # noqa: SIM905 (a list would take a page)
    "exp exp2 expm1 log log1p sqrt rsqrt cbrt logistic sin cos tan asin acos atan sinh cosh "
    "tanh asinh atanh floor ceil is_finite erf erfc erf_inv lgamma digamma neg sign abs "
    "square reciprocal round"
).split()
FLOAT_BINARY = (  # noqa: SIM905 (a list would take a page)
    "add sub mul div rem max min atan2 nextafter pow eq ne lt le gt ge polygamma"
).split()
INT_BINARY = (  # noqa: SIM905 (a list would take a page)
    "add sub mul div rem max min bitwise_and bitwise_or bitwise_xor shift_left "
    "shift_right_arithmetic shift_right_logical eq lt ge"
).split()

CALLS: dict[str, Calls] = {
    **{name: [args(X)] for name in FLOAT_UNARY},
    **{name: [args(X, Y)] for name in FLOAT_BINARY},
    "acosh": [args(X + 1)],
    "zeta": [args(X + 2, Y)],
    "complex": [args(X, Y)],
    "real": [args(Z)],
    "imag": [args(Z)],
    "conj": [args(Z), args(X)],
    "bitwise_not": [args(N), args(B)],
    "population_count": [args(N)],
    "integer_pow": [args(X, 3), args(X, -2), args(N, 2)],
    "select": [
        args(B, X, Y),
        args(np.True_, X, Y),
        args(True, X, Y),
        args(M % 3 - 1, X, Y),
        args(np.int32(2), X, Y),
    ],
    "select_n": [
        args(B, X, Y),
        args(M % 3, X, Y, X + Y),
        args(np.int32(1), X, Y),
        args(M % 4 - 1, X, Y),
        args((M % 3).astype("int8"), X, Y),
    ],
    "clamp": [args(0.2, X, 0.7), args(np.float32(0.2), X, Y), args(X, Y, X + 1)],
    "convert_element_type": [
        args(X, "int32"),
        args(N, "float32"),
        args(B, "int8"),
        args(3.7, "int32"),
    ],
    "bitcast_convert_type": [
        args(X, "int32"),
        args(N, "uint8"),
        args(N.view(np.uint32), "float32"),
    ],
    "broadcast": [args(X, (4, 1))],
    "broadcast_in_dim": [
        args(X, (2, 4, 3), (0, 2)),
        args(X[:1], (5, 3), (0, 1)),
        args(2.0, (3,), ()),
    ],
    "broadcast_like": [args(X[:1], X), args(1.0, X)],
    "broadcast_to_rank": [args(X, 4)],
    "broadcast_shapes": [args((2, 1), (3,))],
    "reshape": [args(X, (3, 2)), args(X, (6,), (1, 0))],
    "collapse": [
        args(X, 0),
        args(X.reshape(2, 3, 1), 1, 3),
        args(X.reshape(1, 2, 3), 0, -1),
    ],
    "expand_dims": [args(X, (0,)), args(X, (0, -1)), args(X, (1, 3))],
    "squeeze": [args(X.reshape(1, 2, 3, 1), (0, -1)), args(X.reshape(1, 2, 3, 1), (3,))],
    "transpose": [args(X, (1, 0))],
    "rev": [args(X, (0,)), args(X, (0, 1))],
    "slice": [args(X, (0, 1), (2, 3)), args(X, (0, 0), (2, 3), (1, 2))],
    "slice_in_dim": [
        args(X, 1, None),
        args(X, None, -1, 1, 1),
        args(X, 0, 3, stride=2, axis=1),
    ],
    "index_in_dim": [args(X, 1), args(X, -1, 1, keepdims=False)],
    "pad": [args(X, 0.0, [(1, -1, 0), (0, 2, 1)]), args(N, 7, [(0, 0, 0), (1, 0, 0)])],
    "concatenate": [args([X, Y], 1), args((X, Y, X), 0)],
    "stack": [args([X, Y]), args([X, Y], -1)],
    "unstack": [args(X), args(X, 1)],
    "split": [args(X, (1, 2), 1), args(X, (1, 0, 1))],
    "tile": [args(X, (2, 1))],
    "iota": [args("int32", 4), args("float32", 0)],
    "broadcasted_iota": [args("int32", (2, 3), 1)],
    "full": [args((2, 3), 7.0), args((2,), 7, "float32"), args((), np.int8(3))],
    "full_like": [args(X, 3), args(X, 3, "int32"), args(X, 2.0, None, (2,))],
    "empty": [args((0, 2), "float32")],
    "dtype": [],
    "argmax": [args(X, 1, "int32"), args(N, 0, "int8")],
    "argmin": [args(X, 1, "int32"), args(N, 0, "uint32")],
    **{
        f"reduce_{k}": [args(X, (0,)), args(X, (1, 0)), args(N, (1,))]
        for k in ("sum", "prod", "max", "min")
    },
    **{f"reduce_{k}": [args(B, (0,)), args(N, (0, 1))] for k in ("and", "or", "xor")},
    **{
        f"cum{k}": [args(X), args(X, 1, reverse=True)]
        for k in ("sum", "prod", "max", "min", "logsumexp")
    },
    "sort": [
        args(X),
        args(X, 0),
        args((N, X), 0),
        args((N, M, X), num_keys=2),
        args([N, X]),
    ],
    "sort_key_val": [args(N, X), args(X, N, 0)],
    "top_k": [args(X, 2), args(X, 1, axis=0)],
    "approx_max_k": [args(X, 2)],
    "approx_min_k": [args(X, 2)],
    "dot": [
        args(X, Y.T),
        args(X[0], Y[0]),
        args(X, Y[0]),
        args(X, Y, dimension_numbers=(((1,), (1,)), ((), ()))),
    ],
    "dot_general": [
        args(X, Y, (((1,), (1,)), ((), ()))),
        args(X, Y, (((1,), (1,)), ((0,), (0,)))),
        args(N, M, (((0,), (0,)), ((), ())), preferred_element_type="float32"),
        args(X, N, (((1,), (1,)), ((), ()))),
        args(
            X.astype(ml_dtypes.float8_e5m2),
            Y.astype(ml_dtypes.float8_e4m3fn),
            (((1,), (1,)), ((), ())),
            preferred_element_type="float32",
        ),
    ],
    "batch_matmul": [args(X.reshape(2, 1, 3), Y.reshape(2, 3, 1))],
    "conv": [args(X.reshape(1, 2, 3), Y.reshape(1, 2, 3)[:, :, :2], (1,), "SAME")],
    "conv_with_general_padding": [
        args(X.reshape(1, 2, 3), Y.reshape(1, 2, 3), (1,), [(3, 2)], (1,), (2,)),
        args(X.reshape(1, 2, 3), Y.reshape(1, 2, 3), (2,), [(3, 2)], (2,), None),
    ],
    "conv_general_dilated": [
        args(X.reshape(1, 2, 3), Y.reshape(1, 2, 3), (1,), padding)
        for padding in ("SAME", "VALID", "SAME_LOWER", "same", [(1, 2)])
    ]
    + [
        args(
            RNG.uniform(size=(2, 5, 6, 3)).astype(np.float32),
            RNG.uniform(size=(3, 2, 3, 4)).astype(np.float32),
            (2, 1),
            "SAME",
            rhs_dilation=(1, 2),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        ),
        args(
            np.zeros((0, 2, 5), np.float32),
            np.ones((2, 2, 3), np.float32),
            (1,),
            "SAME",
            batch_group_count=2,
        ),
    ],
    "conv_transpose": [
        args(
            RNG.uniform(size=(1, 4, 2)).astype(np.float32),
            RNG.uniform(size=(3, 2, 3)).astype(np.float32),
            (stride,),
            padding,
            **how,
        )
        for stride in (1, 2, 4)
        for padding, how in (
            ("SAME", {}),
            ("VALID", {}),
            ([(1, 2)], {}),
            ("SAME", {"rhs_dilation": (2,)}),
        )
    ]
    + [
        args(
            RNG.uniform(size=(1, 4, 4, 3)).astype(np.float32),
            RNG.uniform(size=(2, 3, 2, 3)).astype(np.float32),
            (2, 2),
            "VALID",
            transpose_kernel=True,
        )
    ],
    "padtype_to_pads": [args((5, 5), (2, 3), (1, 2), p) for p in ("SAME", "VALID", "SAME_LOWER")],
    "dynamic_slice": [args(X, (np.int32(1), np.int32(1)), (1, 2))],
    "dynamic_slice_in_dim": [args(X, np.int32(1), 2, 1)],
    "dynamic_index_in_dim": [args(X, np.int32(1), 1, False)],
    "dynamic_update_slice": [args(X, Y[:1, :2], (np.int32(1), np.int32(1)))],
    "dynamic_update_slice_in_dim": [args(X, Y[:1], np.int32(1), 0)],
    "dynamic_update_index_in_dim": [args(X, Y[0], np.int32(1), 0)],
}
INTEGER_CALLS: dict[str, Calls] = {
    **{name: [args(N, M)] for name in INT_BINARY},
    **{name: [args(N)] for name in ("neg", "sign", "abs", "square")},
}
# Those with tests of their own: in this file, with the collectives, with gather and scatter.
ELSEWHERE = {
    "platform_dependent",  # tests/lax/test_more_of_lax.py
    *("after_all", "create_token"),  # tests/extend/test_extending.py
    "pcast",  # tests/extensions/parallel
    *("custom_linear_solve", "custom_root"),  # tests/implicit/test_implicit.py
    # tests/core/control_flow/test_control_flow.py
    "associative_scan",
    "cond",
    "fori_loop",
    "map",
    "scan",
    "switch",
    "while_loop",
    "reduce",
    "reduce_window",
    "stop_gradient",
    "conv_dimension_numbers",
    "gather",
    "index_take",
    *(f"scatter{kind}" for kind in ("", "_add", "_sub", "_apply", "_mul", "_min", "_max")),
    *(["psum", "pmean", "pmax", "pmin", "ppermute", "pshuffle", "pswapaxes", "psum_scatter"]),
    *(["all_gather", "all_to_all", "axis_index", "axis_size"]),
    # tests/specs
    *(["clz", "mulhi"]),
    *(["bessel_i0e", "bessel_i1e", "betainc", "igamma", "igamma_grad_a", "igammac"]),
    "random_gamma_grad",
    # tests/lax/test_names_of_lax.py
    *(["composite", "fft", "optimization_barrier", "pbroadcast", "pcast", "ragged_dot"]),
    *(["dce_sink", "ragged_dot_general", "rng_bit_generator", "scaled_dot", "stage"]),
    *(["reduce_precision", "shape_as_value", "with_sharding_constraint"]),
    *(["conv_general_dilated_local", "conv_general_dilated_patches"]),
    *(["conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple"]),
    *(["conv_transpose_shape_tuple", "reduce_window_shape_tuple"]),
}
TYPES = {"ConvGeneralDilatedDimensionNumbers", "DotDimensionNumbers", "PrecisionLike"}
FUNCTIONS = [
    name
    for name in lax.__all__
    if name not in TYPES and not isinstance(getattr(lax, name), (type, ModuleType))
]


def mapped(x: Any, convert: Callable[[Any], Any]) -> Any:
    """Apply to the arrays among arguments."""
    if isinstance(x, np.ndarray | np.generic):
        return convert(x)
    return type(x)(mapped(v, convert) for v in x) if isinstance(x, tuple | list) else x


def test_every_function_is_tested() -> None:
    assert set(FUNCTIONS) == set(CALLS) | set(INTEGER_CALLS) | ELSEWHERE


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted({**CALLS, **INTEGER_CALLS}))
def test_agrees_with_jax(name: str) -> None:
    ours, theirs = getattr(lax, name), getattr(jax.lax, name)
    for operands, params in CALLS.get(name, []) + INTEGER_CALLS.get(name, []):
        got = ours(*operands, **params)
        with jax.disable_jit():
            expected = theirs(*mapped(operands, jax.numpy.asarray), **params)
        same(got, expected)


@pytest.mark.usefixtures("each_tier")
def test_agrees_compiled() -> None:
    """All calls in one program, with the arrays among the operands as its arguments."""
    flat = [
        (name, operands, params)
        for table in (CALLS, INTEGER_CALLS)
        for name, calls in sorted(table.items())
        for operands, params in calls
        if name not in ("broadcast_shapes", "padtype_to_pads")
    ]
    arrays: list[Any] = []

    def numbered(x: Any) -> Place:
        arrays.append(x)
        return Place(len(arrays) - 1)

    places = [mapped(operands, numbered) for _, operands, _ in flat]

    def run(arrays: list[Any]) -> list[Any]:
        return [
            getattr(lax, name)(*placed(operands, arrays), **params)
            for (name, _, params), operands in zip(flat, places, strict=True)
        ]

    for (name, operands, params), got in zip(flat, tinyjax.jit(run)(arrays), strict=True):
        expected = getattr(lax, name)(*operands, **params)
        same(got, [np.asarray(x) for x in jax.tree.leaves(expected, is_leaf=is_leaf)])


class Place(int):
    """The position of an operand among the arguments."""


def placed(x: Any, arrays: list[Any]) -> Any:
    if isinstance(x, Place):
        return arrays[x]
    return type(x)(placed(v, arrays) for v in x) if isinstance(x, tuple | list) else x


#: Parameters of jax's that are about devices or hints, or not supported.
IGNORED = {
    "accuracy",
    "out_sharding",
    "sharding",
    "out_dtype",
    "to",
    "reduction_input_size_override",
    "aggregate_to_topk",
    "shapes",
    "args",
    "kwargs",
    # jax's older way to pass what comes after *operands, and a tuning knob of its own
    "operand",
    "linear",
    "_split_transpose",
    # more than jax has
    "checkpoints",
    "memory",
}
RENAMED = {"nextafter", "polygamma", "zeta"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signatures_are_those_of_jax(name: str) -> None:
    if name == "random_gamma_grad":  # jax's names none
        return
    ours = inspect.signature(getattr(lax, name)).parameters
    theirs = inspect.signature(getattr(jax.lax, name)).parameters
    expected = [n for n in theirs if n not in IGNORED]
    given = [n for n in ours if n not in IGNORED]
    assert len(given) == len(expected)
    if name not in RENAMED:
        assert given == expected
        for n in given:
            if not isinstance(theirs[n].default, Enum):
                assert ours[n].default == theirs[n].default, n


# What is not compared in bulk


def test_python_numbers_take_the_dtype_of_arrays() -> None:
    for dtype in ("float64", "float16", "int8"):
        x = np.ones(3, dtype)
        assert lax.add(x, 2).dtype == dtype
    assert lax.mul(np.ones(3), 2.0).dtype == np.float64
    assert lax.add(1, 2).weak_type
    assert lax.max(0.0, np.ones(2, np.float16)).dtype == np.float16
    same(lax.add(X, np.float32(1)), X + 1)
    same(lax.add(X[:, :1], X[:1]), X[:, :1] + X[:1])


def test_dtypes_of_values_and_by_name() -> None:
    for x in (1, 1.0, True, float, np.int16, "uint8", np.dtype("float16"), np.ones(1, np.int8)):
        assert lax.dtype(x) == jax.lax.dtype(x)
    assert lax.dtype(tinyjax.numpy.bfloat16) == jax.lax.dtype(jax.numpy.bfloat16)


def test_rounding() -> None:
    x = np.array([0.5, 1.5, -0.5, -2.5, 0.49999997, 2.4, 8388609.0, np.inf, np.nan], np.float32)
    same(lax.round(x), jax.lax.round(x))
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    same(lax.round(x, even), jax.lax.round(x, jax.lax.RoundingMethod.TO_NEAREST_EVEN))


def test_stop_gradient() -> None:
    same(tinyjax.grad(lambda x: x * lax.stop_gradient(x))(3.0), np.float32(3))
    kept = lax.stop_gradient({"a": X, "n": 3})
    assert kept["n"] == 3
    same(kept["a"], X)


REDUCTIONS: list[tuple[Any, Any, Any]] = [
    (lax.add, jax.lax.add, 0.0),
    (lax.mul, jax.lax.mul, 2.0),
    (lax.max, jax.lax.max, 0.4),
    (lambda x, y: lax.min(y, x), jax.lax.min, np.inf),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(("ours", "theirs", "start"), REDUCTIONS)
def test_reduce(ours: Any, theirs: Any, start: float) -> None:
    first = np.float32(start)
    for axes in ((0,), (0, 1), ()):
        same(lax.reduce(X, first, ours, axes), jax.lax.reduce(X, first, theirs, axes))
    got = tinyjax.jit(lambda x: lax.reduce(x, first, ours, (1,)))(X)
    same(got, jax.lax.reduce(X, first, theirs, (1,)))


def test_reduce_by_bits() -> None:
    same(lax.reduce(B, False, lax.bitwise_or, (1,)), B.any(1))
    same(lax.reduce(N, np.int32(-1), lax.bitwise_and, (0,)), np.bitwise_and.reduce(N, 0))


WINDOWS: list[dict[str, Any]] = [
    {"window_dimensions": (1, 2)},
    {"window_dimensions": (2, 2), "window_strides": (2, 1), "padding": "SAME"},
    {"window_dimensions": (2, 2), "padding": [(1, 0), (1, 1)], "base_dilation": (2, 1)},
    {"window_dimensions": (1, 2), "window_dilation": (1, 2)},
    {"window_dimensions": (1 << 30, 1 << 10)},  # which has no place
]


@pytest.mark.parametrize("how", WINDOWS)
def test_reduce_window(how: dict[str, Any]) -> None:
    for ours, theirs, start in (
        (lax.add, jax.lax.add, 0.0),
        (lax.max, jax.lax.max, -np.inf),
        (lax.min, jax.lax.min, np.inf),
        (lax.max, jax.lax.max, 0.3),
        (lax.add, jax.lax.add, 1.0),
        (lax.mul, jax.lax.mul, 1.0),
        (*(lambda x, y: x + y + x * y,) * 2, 0.0),
    ):
        expected = jax.lax.reduce_window(X, np.float32(start), theirs, **how)
        same(lax.reduce_window(X, np.float32(start), ours, **how), expected)


@pytest.mark.usefixtures("each_tier")
def test_windows_of_two_arrays() -> None:
    """The greatest elements and where they are, and their derivative."""

    def greater(x: Any, y: Any) -> Any:
        jnp = jax.numpy if isinstance(x[0], jax.Array) else tinyjax.numpy
        left = x[0] >= y[0]
        return jnp.where(left, x[0], y[0]), jnp.where(left, x[1], y[1])

    def pooled(lib: Any, x: Any) -> Any:
        start = (-np.float32(np.inf), np.int32(-1))
        where = np.arange(x.size, dtype=np.int32).reshape(x.shape)
        return lib.lax.reduce_window((x, where), start, greater, (2, 2), (1, 2), "VALID")

    for found, expected in zip(pooled(tinyjax, X), pooled(jax, X), strict=True):
        same(found, expected)
    _, where = pooled(jax, X)
    slope = tinyjax.jit(tinyjax.grad(lambda x: pooled(tinyjax, x)[0].sum()))(X)
    counts = np.bincount(np.asarray(where).ravel(), minlength=X.size)
    same(slope, counts.reshape(X.shape).astype(np.float32))


@pytest.mark.usefixtures("each_tier")
def test_gradient_of_max_pooling() -> None:
    x = RNG.permutation(np.linspace(-1, 1, 48)).reshape(1, 6, 4, 2).astype(np.float32)

    def pooled(lib: Any, x: Any) -> Any:
        return lib.reduce_window(x, -np.inf, lib.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")

    def loss(x: Any) -> Any:
        y = pooled(lax, x)
        return lax.reduce_sum(lax.mul(y, y), (0, 1, 2, 3))

    expected = jax.grad(lambda x: (pooled(jax.lax, x) ** 2).sum())(x)
    same(tinyjax.grad(loss)(x), expected)
    same(tinyjax.jit(tinyjax.grad(loss))(x), expected)
    check_grads(lambda x: pooled(lax, x), (x.astype(np.float64),), 2)


def test_gradients_of_convolutions_like_jax() -> None:
    x = RNG.uniform(size=(2, 5, 6, 3)).astype(np.float32)
    w = RNG.uniform(size=(3, 2, 3, 4)).astype(np.float32)

    def through(lib: Any) -> Callable[..., Any]:
        def conv(x: Any, w: Any) -> Any:
            return lib.conv_general_dilated(
                x, w, (2, 1), "SAME", None, (1, 2), ("NHWC", "HWIO", "NHWC")
            )

        return conv

    out, pull_back = tinyjax.vjp(through(lax), x, w)
    expected, jax_pull_back = jax.vjp(through(jax.lax), x, w)
    same(out, expected)
    ct = RNG.uniform(size=out.shape).astype(np.float32)
    for got, want in zip(pull_back(ct), jax_pull_back(ct), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("each_tier")
def test_convolutions_in_conditionals_have_the_axes_that_xla_is_fast_for() -> None:
    """By XLA's text: anywhere but at the top of a program it moves no axes."""

    def loss(x: Any, w: Any) -> Any:
        y = lax.cond(x[0, 0, 0, 0] > 0, lambda: lax.conv(x, w, (1, 2), "SAME"), lambda: x[..., ::2])
        return (y**2).sum()

    args = np.ones((2, 3, 5, 6), np.float32), np.ones((3, 3, 3, 2), np.float32)
    text = tinyjax.jit(tinyjax.grad(loss, (0, 1))).lower(*args).compile().as_text()
    layouts = re.findall(r"dim_labels=(\S+?)[,\s]", text)
    assert len(layouts) >= 3
    assert set(layouts) == {"b01f_01io->b01f"}


def test_dimension_numbers_are_strings_or_permutations() -> None:
    given = ("NHWC", "HWIO", "NCHW")
    ours = lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), given)
    theirs = jax.lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), given)
    assert (ours.lhs_spec, ours.rhs_spec, ours.out_spec) == tuple(theirs)
    assert lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), ours) is ours
    assert tuple(ours) == tuple(theirs)


def test_scatter_sub() -> None:
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    x = np.ones(4, np.float32)
    where, what = np.array([[1], [1]]), np.array([2.0, 3.0], np.float32)
    same(lax.scatter_sub(x, where, what, numbers), np.array([1, -4, 1, 1], np.float32))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("mode", ["fill", "clip"])
def test_windows_without_coordinates_all_lie_at_the_start(mode: str, size: int) -> None:
    numbers = lax.ScatterDimensionNumbers((), (0,), ())
    x, nowhere = np.full(5, 9, np.float32), np.zeros((size, 0), np.int32)
    what = np.arange(1, 1 + size, dtype=np.float32)
    expected = {"scatter": what[-1], "scatter_add": 9 + what.sum(), "scatter_min": 1}
    for name, first in expected.items():
        fun = partial(getattr(lax, name), dimension_numbers=numbers, mode=mode)
        for way in (fun, tinyjax.jit(fun), tinyjax.jit(fun, tier="first")):
            same(way(x, nowhere, what), np.array([first, 9, 9, 9, 9], np.float32))


@pytest.mark.usefixtures("each_tier")
def test_the_derivative_of_factors_that_meet_is_the_product_of_the_others() -> None:
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    where = np.array([[1], [9], [1], [2], [1]])
    start, factors = np.array([2.0, 3.0, 5.0]), np.array([2.0, 7.0, 0.0, 4.0, 5.0])

    def product(start: Any, where: Any, factors: Any) -> Any:
        return lax.scatter_mul(start, where, factors, numbers).sum()

    over_factors = partial(tinyjax.grad(product, 2), start)  # indices that are known, and traced
    ways = (over_factors, tinyjax.jit(over_factors), tinyjax.jit(over_factors, tier="compiled"))
    second = tinyjax.hessian(product, 2)(start, where, factors)
    for way in ways:
        same(way(where, factors), np.array([0.0, 0.0, 30.0, 5.0, 0.0]))
    expected = np.zeros((5, 5))
    expected[0, 2] = expected[2, 0] = 15
    expected[2, 4] = expected[4, 2] = 6
    same(second, expected)
    ids, ct = np.array([0, 0, 2, 2, 2, 3]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    data = np.array([1.0, 2.0, 3.0, 0.0, 5.0, -1.0])
    slope = tinyjax.grad(lambda x: (tinyjax.ops.segment_prod(x, ids, 5) * ct).sum())(data)
    same(slope, np.array([2.0, 1.0, 0.0, 45.0, 0.0, 4.0]))


def conv(x: HostArray, w: HostArray, **how: Any) -> Any:
    return lax.conv_general_dilated(x, w, **{"window_strides": (1,), "padding": "SAME"} | how)


def scatter_of(updates: HostArray) -> Any:
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    return lax.scatter_add(np.ones(3, np.float32), np.array([[1]]), updates, numbers)


X3 = X.reshape(1, 2, 3)
ERRORS: list[tuple[Callable[[], Any], type[TinyjaxError], str]] = [
    (lambda: lax.sin(1), DtypeError, r"sin does not accept dtype int32"),
    (lambda: lax.sin(N), DtypeError, r"sin does not accept dtype int32"),
    (lambda: lax.add(X, N), DtypeError, r"float32\[2,3\] and int32\[2,3\]"),
    (lambda: lax.add(N, 1.5), DtypeError, r"same dtypes, but got int32\[2,3\] and float32"),
    (lambda: lax.add(X, X[0]), ShapeError, r"as many axes"),
    (lambda: lax.add(X, X[:, :2]), ShapeError, r"broadcast"),
    (lambda: lax.select(B, X, N), DtypeError, r"arguments to have the same dtypes"),
    (lambda: lax.select(X, X, X), DtypeError, r"bool predicate"),
    (lambda: lax.select(B[0], X, X), ShapeError, r"predicate"),
    (lambda: lax.select_n(B, X, X, X), ArgumentError, r"only two"),
    (lambda: lax.select_n(B), ArgumentError, r"at least one"),
    (lambda: lax.select_n(X, X, X), DtypeError, r"integers"),
    (lambda: lax.reshape(X, (4, 2)), ShapeError, r"6 elements"),
    (lambda: lax.transpose(X, (0, 0)), ShapeError, r"permutation"),
    (lambda: lax.broadcast_in_dim(X, (2, 4), (0, 1)), ShapeError, r"cannot make"),
    (lambda: lax.squeeze(X, (0,)), ShapeError, r"size not equal to one"),
    (lambda: lax.squeeze(X, (5,)), AxisError, r"5"),
    (lambda: lax.expand_dims(X, (0, 0)), ShapeError, r"distinct"),
    (lambda: lax.slice(X, (0, 0), (3, 3)), ShapeError, r"limit 3"),
    (lambda: lax.index_in_dim(X, 2), ArgumentError, r"index 2"),
    (lambda: lax.pad(X, 0.0, [(0, 0, 0)]), ShapeError, r"each axis"),
    (lambda: lax.concatenate([], 0), ArgumentError, r"at least one"),
    (lambda: lax.concatenate([X, Y[:1]], 1), ShapeError, r"concatenate"),
    (lambda: lax.split(X, (1, 1), 1), ShapeError, r"add up"),
    (lambda: lax.tile(X, (2,)), ShapeError, r"each axis"),
    (lambda: lax.full((2,), X), ShapeError, r"scalar"),
    (lambda: lax.reduce_sum(X, (2,)), AxisError, r"2"),
    (lambda: lax.reduce_sum(X, (0, 0)), ShapeError, r"distinct"),
    (lambda: lax.reduce_and(X, (0,)), DtypeError, r"reduce_and"),
    (lambda: lax.cumsum(X, 2), AxisError, r"2"),
    (lambda: lax.cumsum(B), DtypeError, r"cumsum"),
    (
        lambda: lax.dynamic_slice(X, (np.int8(1), np.int32(1)), (1, 1)),
        DtypeError,
        r"integers of the same type, but got int8, int32",
    ),
    (
        lambda: lax.dynamic_update_slice(X, X[:1], (np.uint32(1), np.int32(1))),
        DtypeError,
        r"integers of the same type, but got uint32, int32",
    ),
    (lambda: lax.sort(()), ArgumentError, r"at least one"),
    (lambda: tinyjax.jit(lambda x: lax.reshape(x, (7, 11)))(X), ShapeError, "cannot make shape"),
    (lambda: lax.sort((X, N), num_keys=3), ArgumentError, r"from 1 to 2 keys"),
    (lambda: lax.sort((X, N[0])), ShapeError, r"one shape"),
    (lambda: lax.top_k(X, 4), ShapeError, r"k=4"),
    (
        lambda: scatter_of(np.ones(1, np.int32)),
        DtypeError,
        "scatter_add needs updates of the dtype",
    ),
    (lambda: lax.top_k(X + 1j, 1), DtypeError, r"top_k"),
    (lambda: lax.dot(X, Y), ShapeError, r"float32\[2,3\]"),
    (lambda: lax.dot_general(X, Y, (((0,), (1,)), ((), ()))), ShapeError, r"contracted"),
    (lambda: lax.batch_matmul(X, X3), ShapeError, r"as many axes"),
    (lambda: lax.reduce_window(X, 0.0, lax.add, (2,)), ShapeError, r"window_dimensions"),
    (lambda: lax.reduce_window(X, 0.0, lax.add, (1, 2), padding="some"), ArgumentError, r"'some'"),
    (lambda: lax.bitcast_convert_type(X, "float64"), ShapeError, r"size 2"),
    (lambda: lax.bitcast_convert_type(B, "int8"), DtypeError, r"bool"),
    (lambda: conv(X3, X3, padding="odd"), ArgumentError, r"'odd'"),
    (lambda: conv(X3, X3, lhs_dilation=(2,)), ArgumentError, r"conv_transpose"),
    (lambda: conv(X3, X3[:, :1]), ShapeError, r"2 features"),
    (lambda: conv(X3, X), ShapeError, r"as many axes"),
    (lambda: conv(X3, X3, window_strides=(1, 1)), ShapeError, r"window_strides has 2"),
    (lambda: conv(X3, X3, window_strides=(0,)), ShapeError, r"positive"),
    (lambda: conv(X3, X3.astype(np.float64)), DtypeError, r"one dtype"),
    (lambda: conv(X3, X3, feature_group_count=2, batch_group_count=2), ArgumentError, r"not both"),
    (lambda: conv(X3, X3[:, :1], feature_group_count=2), ShapeError, r"divide"),
    (lambda: conv(X3, X3, dimension_numbers=("NCH", "OIW", "NCH")), ArgumentError, r"'NCH'"),
    (lambda: conv(X3, X3, dimension_numbers=("NCHW", "OIHW", "NCHW")), ArgumentError, r"4 axes"),
    (lambda: lax.conv_transpose(X3, X3, (1,), "some"), ArgumentError, r"'some'"),
]


@pytest.mark.usefixtures("each_tier")
def test_rows_are_sorted_by_one_key_after_another() -> None:
    rng = np.random.default_rng(0)
    keys = [rng.integers(0, 3, 60).astype(np.float32) for _ in range(4)]
    order = np.lexsort(keys[::-1])

    def rows(*keys: Any) -> Any:
        return lax.sort(keys, num_keys=4)

    for sort in (rows, tinyjax.jit(rows)):
        for found, key in zip(sort(*keys), keys, strict=True):
            np.testing.assert_array_equal(found, key[order])


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(("call", "error", "says"), ERRORS)
def test_errors(call: Callable[[], Any], error: type[Exception], says: str) -> None:
    with raises(error, match=says):
        call()


@pytest.mark.parametrize("fun", [lax.add, lax.mul, lax.max, lax.pow, lax.atan2, lax.eq, lax.dot])
def test_wide_operands_of_one_dtype_where_32_bits_are_the_default(fun: Any) -> None:
    """They were said to be of two dtypes, both the same."""
    with tinyjax.config.scoped(default_dtypes="float64", wide_dtypes=True):
        x = tinyjax.numpy.array([1.0, 2.0, 3.0])
        expected = np.asarray(fun(x, x))
    with tinyjax.config.scoped(default_dtypes="float32", wide_dtypes=False):
        out = fun(x, x)
        assert out.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(out), expected)


def test_precisions_have_names() -> None:
    """Those of jax, which libraries call them by."""
    for name in (None, "default", "fastest", "bfloat16", "high", "tensorfloat32", "highest", 1):
        assert lax.Precision(name).name == jax.lax.Precision(name).name
    nothings: list[Any] = ["low", 7, []]
    for nothing in nothings:
        with raises(ValueError, match="is not a valid Precision"):
            lax.Precision(nothing)

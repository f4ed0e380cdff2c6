"""Functions of tinyjax.nn from -1e4 to 1e4 in four dtypes, and two derivatives: by mpmath."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import nn
from tinyjax.dtypes import HostArray
from tinyjax.scipy import special

# All of them are numbers of every dtype.
POSITIVE = (*(1e-3, 0.3, 0.9, 2.2, 4.7, 8.5, 12.3), *(20.7, 37.9, 60.1, 93.0, 150.7, 1e3, 1e4))
POINTS = np.array([*(-x for x in POSITIVE), *POSITIVE]).astype(jnp.bfloat16).astype(float)
DTYPES = ("float16", "bfloat16", "float32", "float64")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def elu(x: Any, alpha: float = 1.0) -> Any:
    return x if x > 0 else alpha * mp.expm1(x)


# The constants are the float64 ones of the formulas.
SMOOTH: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sigmoid": (nn.sigmoid, sigmoid),
    "tanh": (nn.tanh, mp.tanh),
    "softplus": (nn.softplus, softplus),
    "log_sigmoid": (nn.log_sigmoid, lambda x: -softplus(-x)),
    "silu": (nn.silu, lambda x: x * sigmoid(x)),
    "mish": (nn.mish, lambda x: x * mp.tanh(softplus(x))),
    "gelu": (
        nn.gelu,
        lambda x: x * sigmoid(mp.sqrt(8 / mp.pi) * (x + mp.mpf("0.044715") * x**3)),
    ),
    "gelu, exact": (lambda x: nn.gelu(x, approximate=False), lambda x: x * mp.ncdf(x)),
    "elu": (nn.elu, elu),
    "selu": (
        nn.selu,
        lambda x: mp.mpf("1.0507009873554804934") * elu(x, mp.mpf("1.6732632423543772848")),
    ),
    "celu": (lambda x: nn.celu(x, 2.0), lambda x: x if x > 0 else 2 * mp.expm1(x / 2)),
    "squareplus": (nn.squareplus, lambda x: (x + mp.sqrt(x * x + 4)) / 2),
    "squareplus, narrow": (
        lambda x: nn.squareplus(x, 0.25),
        lambda x: (x + mp.sqrt(x * x + mp.mpf(0.25))) / 2,
    ),
    "soft_sign": (nn.soft_sign, lambda x: x / (1 + abs(x))),
    "log1mexp": (lambda x: nn.log1mexp(abs(x)), lambda x: mp.log(-mp.expm1(-abs(x)))),
    "hard_tanh": (nn.hard_tanh, lambda x: max(min(x, 1), -1)),
    "relu": (nn.relu, lambda x: max(x, 0)),
    "relu6": (nn.relu6, lambda x: min(max(x, 0), 6)),
    "leaky_relu": (lambda x: nn.leaky_relu(x, 0.25), lambda x: x if x > 0 else x / 4),
    "hard_sigmoid": (nn.hard_sigmoid, lambda x: min(max(x + 3, 0), 6) / 6),
    "hard_silu": (nn.hard_silu, lambda x: x * min(max(x + 3, 0), 6) / 6),
    "sparse_plus": (
        nn.sparse_plus,
        lambda x: mp.mpf(0) if x <= -1 else x if x >= 1 else (x + 1) ** 2 / 4,
    ),
    "sparse_sigmoid": (nn.sparse_sigmoid, lambda x: min(max(x + 1, 0), 2) / 2),
}


@cache
def exact(name: str) -> HostArray:
    """Return values and three derivatives at the points."""
    with mp.workdps(150):
        rows = [[mp.diff(SMOOTH[name][1], mp.mpf(x), order) for order in range(4)] for x in POINTS]
        return np.array(rows, float)


def derivatives(x: Any) -> list[Any]:
    """Return of each function values and two derivatives at some points."""

    def all_of(fun: Any) -> Any:
        slope: Any = tinyjax.grad(fun)
        return tinyjax.vmap(lambda x: (fun(x), slope(x), tinyjax.grad(slope)(x)))(x)

    return [all_of(fun) for fun, _ in SMOOTH.values()]


@pytest.mark.parametrize("dtype", DTYPES)
def test_activations_and_two_derivatives_are_right_everywhere(dtype: str) -> None:
    points = POINTS.astype(dtype)
    info = jnp.finfo(dtype)
    eps, tiny, greatest = float(info.eps), max(float(info.tiny), 1e-140), float(info.max)
    calls = [derivatives]
    if dtype == "float32":
        calls.append(tinyjax.jit(derivatives, tier="compiled"))
    bad = []
    for name, outs in [row for call in calls for row in zip(SMOOTH, call(points), strict=True)]:
        for order, out in enumerate(outs):
            assert out.dtype == points.dtype
            value, right = np.asarray(out, float), exact(name)[:, order]
            # as much as one unit of the argument changes, and one unit of the result
            size = np.abs(right) + np.abs(POINTS * exact(name)[:, order + 1])
            error = np.abs(value - right) / (eps * size + tiny)
            error[(np.abs(right) > greatest) & (value == np.copysign(np.inf, right))] = 0
            if not error.max() < 16:
                i = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
                bad.append((name, order, float(points[i]), float(value[i]), right[i], error[i]))
    assert not bad, "\n".join(map(str, bad))


STEEPNESS = {"sigmoid": 1, "tanh": 2}


def with_slope(name: str, x: Any) -> Any:
    return tinyjax.jvp(SMOOTH[name][0], (x,), (jnp.ones_like(x),))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", STEEPNESS)
def test_compiled_slopes_have_all_digits_wherever_they_are_numbers(name: str, dtype: str) -> None:
    info, steepness = jnp.finfo(dtype), STEEPNESS[name]
    end = -0.95 * np.log(float(info.tiny)) / steepness
    x = jnp.linspace(-end, end, 601, dtype=dtype)
    slopes = tinyjax.jit(partial(with_slope, name), tier="compiled")(x)[1]
    assert slopes.dtype == x.dtype
    half = mp.mpf(steepness) / 2
    right = [half**2 / mp.cosh(half * float(at)) ** 2 for at in np.asarray(x, float)]
    np.testing.assert_allclose(np.asarray(slopes, float), np.array(right, float), 5 * info.eps)


@pytest.mark.parametrize("name", STEEPNESS)
def test_compiled_slopes_at_infinities_and_nan(name: str) -> None:
    x = jnp.array([-jnp.inf, -1e30, 1e30, jnp.inf, jnp.nan], "float32")
    slopes = tinyjax.jit(partial(with_slope, name), tier="compiled")(x)[1]
    np.testing.assert_array_equal(slopes, [0, 0, 0, 0, np.nan])


@pytest.mark.parametrize(("name", "divisions", "tanhs"), [("sigmoid", 1, 0), ("tanh", 0, 1)])
def test_a_value_and_its_slope_take_one_exponential(name: str, divisions: int, tanhs: int) -> None:
    x = jnp.ones(1000, "float32")
    text = tinyjax.jit(partial(with_slope, name)).lower(x).compile().as_text()
    counts = [text.count(f" {operation}(") for operation in ("exponential", "divide", "tanh")]
    assert counts == [1, divisions, tanhs]


ROWS = (
    *((37.42994775023705, 0.0, -3.0), (60.0, 0.0, 1.0), (-1.0, 2.0, 1.5), (5.0, 17.0, 16.9)),
    *((0.0, 90.0, 50.0), (3.0, 3.0, -20.0)),
)
REDUCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "log_softmax": (nn.log_softmax, lambda i, *x: x[i] - mp.log(sum(map(mp.exp, x)))),
    "softmax": (nn.softmax, lambda i, *x: mp.exp(x[i]) / sum(map(mp.exp, x))),
    "log_softmax of scipy": (
        special.log_softmax,
        lambda i, *x: x[i] - mp.log(sum(map(mp.exp, x))),
    ),
    "softmax of scipy": (special.softmax, lambda i, *x: mp.exp(x[i]) / sum(map(mp.exp, x))),
    "logsumexp": (nn.logsumexp, lambda _, *x: mp.log(sum(map(mp.exp, x)))),
    "logmeanexp": (nn.logmeanexp, lambda _, *x: mp.log(sum(map(mp.exp, x)) / len(x))),
}


@cache
def exact_slopes(name: str, i: int, order: int) -> HostArray:
    """Return partial derivatives of a result for each row."""
    with mp.workdps(120):
        units = np.eye(3, dtype=int)
        places = units if order == 1 else [x + y for x in units for y in units]
        fun = partial(REDUCTIONS[name][1], i)
        outs = [[mp.diff(fun, row, tuple(map(int, n))) for n in places] for row in ROWS]
    return np.array(outs, float)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_slopes_of_shares_that_round_to_one(name: str) -> None:
    fun = REDUCTIONS[name][0]

    def part(i: int) -> Callable[[Any], Any]:
        return lambda x: fun(x)[i] if "soft" in name else fun(x)

    def slopes(x: Any) -> Any:
        f, g = part(0), part(1)
        first = tinyjax.grad(f)(x), tinyjax.grad(g)(x), tinyjax.jacfwd(f)(x), tinyjax.jacfwd(g)(x)
        return first, (tinyjax.hessian(f)(x), tinyjax.jacrev(tinyjax.grad(g))(x))

    for call in (tinyjax.vmap(slopes), tinyjax.jit(tinyjax.vmap(slopes), tier="compiled")):
        first, second = call(np.array(ROWS))
        for found, i in zip(first, (0, 1, 0, 1), strict=True):
            np.testing.assert_allclose(found, exact_slopes(name, i, 1), 1e-13)
        for found, i in zip(second, (0, 1), strict=True):
            right = exact_slopes(name, i, 2)
            # of shares of nearly a half the second derivative cancels, which no formula mends
            np.testing.assert_allclose(np.reshape(found, right.shape)[:-1], right[:-1], 1e-12)
        narrow = call(np.array(ROWS[:1], np.float32))[0]
        for found, i in zip(narrow, (0, 1, 0, 1), strict=True):
            np.testing.assert_allclose(found, exact_slopes(name, i, 1)[:1], 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_reductions_of_16_bits_sum_in_32(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = np.stack([np.linspace(-3, 10, 100_000), rng.normal(size=100_000) * 3]).astype(dtype)
    wide, large = x.astype(float), np.arange(1000).reshape(2, 500) * 60.0
    mask, factors = rng.random(x.shape) < 0.7, rng.random(x.shape).astype(dtype)
    exact_factors = factors.astype(float)
    masked = np.where(mask, wide, -np.inf)
    rows: list[tuple[Any, Any]] = [
        (nn.logsumexp(x, -1), scipy.special.logsumexp(wide, -1)),
        (nn.logsumexp(x, where=mask), scipy.special.logsumexp(masked)),
        (
            nn.logsumexp(x, -1, b=factors),
            scipy.special.logsumexp(wide, -1, b=exact_factors),
        ),
        (nn.logmeanexp(x, 1), scipy.special.logsumexp(wide, 1) - np.log(100_000)),
        (
            nn.logmeanexp(x, 1, where=mask),
            scipy.special.logsumexp(masked, 1) - np.log(mask.sum(1)),
        ),
        (nn.log_softmax(x), scipy.special.log_softmax(wide, -1)),
        (nn.log_softmax(x, where=mask)[mask], scipy.special.log_softmax(masked, -1)[mask]),
        (special.log_softmax(x, axis=1), scipy.special.log_softmax(wide, 1)),
        (special.softmax(x), scipy.special.softmax(wide)),
        (nn.softmax(x), scipy.special.softmax(wide, -1)),
        (jnp.std(large.astype(dtype), 1), large.astype(dtype).astype(float).std(1)),
        (jnp.nanstd(large.astype(dtype), ddof=1), large.astype(dtype).astype(float).std(ddof=1)),
        (
            jnp.std(large.astype(dtype), where=large > 9000),
            large.astype(dtype).astype(float).std(where=large > 9000),
        ),
    ]
    eps = float(jnp.finfo(dtype).eps)
    for i, (found, right) in enumerate(rows):
        assert found.dtype == dtype
        np.testing.assert_allclose(np.asarray(found, float), right, eps, 1e-7, err_msg=str(i))


@pytest.mark.parametrize("dtype", DTYPES)
def test_standardize_far_from_zero(dtype: str) -> None:
    scale = 0.03 if dtype == "bfloat16" else 1.0 if dtype == "float16" else 1e-3
    x = (1 + scale * np.random.default_rng(1).normal(size=(3, 400))).astype(dtype)
    wide = x.astype(float)
    right = (wide - wide.mean(-1, keepdims=True)) / wide.std(-1, keepdims=True)
    found = nn.standardize(x * np.array(300, dtype), epsilon=0.0) if scale == 1 else None
    for out in (nn.standardize(x, epsilon=0.0), nn.standardize(x, epsilon=0.0, algorithm="stable")):
        assert out.dtype == dtype
        tolerance = max(4 * float(jnp.finfo(dtype).eps), 1e-3 if dtype == "float32" else 0)
        np.testing.assert_allclose(np.asarray(out, float), right, tolerance, tolerance)
    # squares of these overflow in float16
    assert found is None or abs(np.asarray(found, float).std() - 1) < 1e-3


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"mask": True}, {"bias": True}])
def test_attention_of_float64_has_all_digits(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 6, 2, 4)) for _ in range(3))
    mask = rng.random((1, 2, 6, 6)) < 0.7 if "mask" in options else np.ones((1, 2, 6, 6), bool)
    mask[..., 0] = True
    bias = rng.normal(size=(1, 2, 6, 6)) if "bias" in options else np.zeros((1, 2, 6, 6))
    is_causal = "is_causal" in options

    def reference(q: HostArray) -> HostArray:
        s = np.einsum("btnh,bsnh->bnts", q, k) / 2 + bias
        s = np.where(mask & (np.tri(6, dtype=bool) if is_causal else True), s, -np.inf)
        p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
        return np.asarray(np.einsum("bnts,bsnh->btnh", p, v))

    def attend(q: Any) -> Any:
        return nn.dot_product_attention(q, k, v, bias, mask, is_causal=is_causal)

    for call in (attend, tinyjax.jit(attend, tier="compiled")):
        np.testing.assert_allclose(call(q), reference(q), 1e-12, 1e-14)
        slope = tinyjax.grad(lambda x, f=call: (f(x) ** 2).sum())(q)
        direction, step = rng.normal(size=q.shape), 1e-5
        ends = [(reference(q + h * direction) ** 2).sum() for h in (step, -step)]
        np.testing.assert_allclose((slope * direction).sum(), (ends[0] - ends[1]) / 2 / step, 1e-7)

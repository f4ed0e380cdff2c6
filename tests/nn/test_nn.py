"""Activations, normalisations and initial weights, against jax."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import nn
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, AxisError, DtypeError, ShapeError
from tinyjax.nn import initializers

pytestmark = pytest.mark.usefixtures("each_tier")

RNG = np.random.default_rng(3)

ACTIVATIONS = (
    "celu",
    "elu",
    "gelu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
)
KINKS = (0.0, 1.0, -1.0, 3.0, -3.0, 6.0)
X = np.r_[RNG.normal(size=40) * 3, KINKS, 100.0, -100.0, 1e4, -1e4]


Pair = tuple[Any, Any]


def unknown(name: str) -> Any:
    """A name that the types forbid."""
    return name


def with_slope(api: Any, fun: Callable[[Any], Any], x: Any, weights: Any = 1.0) -> Pair:
    """The value, and the derivative of its weighted sum."""
    return fun(x), api.grad(lambda x: (fun(x) * weights).sum())(x)


@cache
def activations_of_jax(dtype: Any) -> dict[str, Pair]:
    def all_of_them(x: Any) -> dict[str, Pair]:
        return {name: with_slope(jax, getattr(jax.nn, name), x) for name in ACTIVATIONS}

    with jax.enable_x64(True):
        pairs: dict[str, Pair] = jax.jit(all_of_them)(X.astype(dtype))
    return pairs


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_and_its_derivative_are_those_of_jax(name: str) -> None:
    fun = getattr(nn, name)
    for dtype in (np.float32, np.float64):
        eps = float(np.finfo(dtype).eps)
        value, slope = activations_of_jax(dtype)[name]
        got, found = with_slope(tinyjax, fun, tinyjax.numpy.asarray(X.astype(dtype)))
        assert got.dtype == value.dtype
        if name == "squareplus":  # jax's is 0 far to the left
            right = X >= -100.0
            got, value, found, slope = (np.asarray(v)[right] for v in (got, value, found, slope))
        np.testing.assert_allclose(got, value, 16 * eps, 16 * eps)
        np.testing.assert_allclose(found, slope, 64 * eps, 64 * eps)
        assert np.isnan(float(fun(dtype(np.nan))))


def test_activations_compile() -> None:
    def all_of_them(x: Any) -> dict[str, Any]:
        return {name: getattr(nn, name)(x) for name in ACTIVATIONS}

    x = X.astype(np.float32)
    expected = all_of_them(x)
    for name, value in tinyjax.jit(all_of_them)(x).items():
        np.testing.assert_allclose(value, expected[name], 1e-5, 1e-6, err_msg=name)


def test_second_derivatives_of_smooth_activations() -> None:
    def all_of_them(api: Any, module: Any, x: Any) -> dict[str, Any]:
        def second(fun: Callable[..., Any]) -> Any:
            return api.grad(lambda x: api.grad(lambda x: fun(x).sum())(x).sum())(x)

        names = ("gelu", "silu", "softplus", "mish", "log_sigmoid", "squareplus")
        return {name: second(getattr(module, name)) for name in names}

    x = X[:40]
    with jax.enable_x64(True):
        expected = jax.jit(lambda x: all_of_them(jax, jax.nn, x))(x)
    for name, value in all_of_them(tinyjax, nn, x).items():
        np.testing.assert_allclose(value, expected[name], 1e-9, 1e-12, err_msg=name)


def test_the_derivative_of_relu_at_zero_is_zero() -> None:
    assert float(tinyjax.grad(nn.relu)(0.0)) == 0.0
    assert float(tinyjax.grad(nn.relu6)(6.0)) == 0.0
    assert float(tinyjax.grad(nn.hard_tanh)(1.0)) == 1.0


def test_relu_keeps_integers() -> None:
    got = nn.relu(np.array([-3, 4], np.int32))
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, [0, 4])
    np.testing.assert_array_equal(nn.hard_tanh(np.array([0, 1, 200], np.uint8)), [0, 1, 1])
    np.testing.assert_array_equal(nn.hard_tanh(np.array([True, False])), [1, 0])


def test_activations_with_parameters() -> None:
    x = X[:40].astype(np.float32)
    slope = np.linspace(0.1, 2, 40, dtype=np.float32)
    for name, args in {
        "leaky_relu": (slope,),
        "elu": (slope,),
        "celu": (slope,),
        "squareplus": (slope,),
        "gelu": (False,),
        "glu": (),
    }.items():
        expected = getattr(jax.nn, name)(x, *args)
        np.testing.assert_allclose(getattr(nn, name)(x, *args), expected, 1e-5, 1e-6, err_msg=name)
    with raises(ShapeError, match="odd"):
        nn.glu(x[:3])


# Normalisations

LOGITS = RNG.normal(size=(4, 5)).astype(np.float32)
MASK = RNG.random((4, 5)) > 0.4
MASK[0] = False
INFINITE = LOGITS.copy()
INFINITE[1] = -np.inf
INFINITE[2, 2] = np.inf
INFINITE[3, 1] = -np.inf
WEIGHTS = RNG.normal(size=(4, 5)).astype(np.float32)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("where", [None, MASK], ids=["all", "masked"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "logmeanexp"])
def test_a_normalisation_and_its_derivative_are_those_of_jax(
    name: str, where: HostArray | None
) -> None:
    def along(api: Any, module: Any, axis: Any, x: Any) -> Pair:
        def fun(x: Any) -> Any:
            return getattr(module, name)(x, axis=axis, where=where)

        shape = getattr(jax.nn, name)(LOGITS, axis=axis).shape
        weights = WEIGHTS.reshape(-1)[: math.prod(shape)].reshape(shape)
        return with_slope(api, fun, x, weights)

    def everywhere(api: Any, module: Any, x: Any) -> list[Pair]:
        return [along(api, module, axis, x) for axis in (-1, 0, (0, 1), None)]

    theirs = jax.jit(lambda x: everywhere(jax, jax.nn, x))
    for x in (LOGITS, 1000 * LOGITS, INFINITE):
        ours = everywhere(tinyjax, nn, tinyjax.numpy.asarray(x))
        for (got, found), (value, slope) in zip(ours, theirs(x), strict=True):
            np.testing.assert_allclose(got, value, 1e-5, 1e-6)
            np.testing.assert_allclose(found, slope, 1e-4, 1e-5)


def test_softmax_and_its_derivatives_do_not_overflow() -> None:
    x = np.array([1e4, 0.0, -1e4], np.float32)
    jacobian = tinyjax.jacrev(nn.softmax)(x)
    assert np.isfinite(jacobian).all()
    hessian = tinyjax.hessian(nn.logsumexp)(x)
    assert np.isfinite(hessian).all()


def test_normalisations_compile_and_map() -> None:
    for fun in (nn.softmax, nn.log_softmax, nn.standardize):
        expected = fun(LOGITS)
        np.testing.assert_allclose(tinyjax.jit(fun)(LOGITS), expected, 1e-5, 1e-6)
        np.testing.assert_allclose(tinyjax.vmap(fun)(LOGITS), expected, 1e-5, 1e-6)


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"axis": 0},
        {"where": RNG.random((4, 5)) > 0.2},
        {"algorithm": "stable"},
        {"mean": 0.5, "variance": 2.0},
        {"variance": np.ones((4, 1), np.float32), "epsilon": 0.1},
    ],
)
def test_standardize(keywords: dict[str, Any]) -> None:
    expected = jax.nn.standardize(LOGITS, **keywords)
    np.testing.assert_allclose(nn.standardize(LOGITS, **keywords), expected, 1e-4, 1e-5)


@pytest.mark.wrong_types
def test_standardize_has_two_algorithms() -> None:
    with raises(ArgumentError, match="'fast' or 'stable'"):
        nn.standardize(LOGITS, algorithm=unknown("slow"))
    # a large mean makes the difference of squares negative, and then 0
    x = np.array([1e4, 1e4 + 1e-3], np.float32)
    assert np.isfinite(nn.standardize(x)).all()


def test_one_hot() -> None:
    places = np.array([[0, 2], [5, -1]])
    for axis in (-1, 0, 1):
        expected = jax.nn.one_hot(places, 4, axis=axis)
        np.testing.assert_array_equal(nn.one_hot(places, 4, axis=axis), expected)
    assert nn.one_hot(places, 4).dtype == np.float32
    assert nn.one_hot(places, 4, dtype=np.int8).dtype == np.int8
    assert nn.one_hot(1, 3).shape == (3,)
    np.testing.assert_array_equal(nn.one_hot(places.tolist(), 4), nn.one_hot(places, 4))
    mapped = tinyjax.vmap(lambda i: nn.one_hot(i, 4))(places)
    np.testing.assert_array_equal(mapped, nn.one_hot(places, 4))
    for dtype in (np.uint8, np.int8, np.float16, np.bool_):  # which cannot count to 300
        narrow = np.array([1, 0, 44]).astype(dtype)
        expected = np.arange(300) == narrow.astype(np.float64)[:, None]
        np.testing.assert_array_equal(nn.one_hot(narrow, 300), expected)
    with pytest.raises(AxisError):
        nn.one_hot(places, 4, axis=3)
    with raises(ArgumentError, match="at least 0"):
        nn.one_hot(places, -1)


# Initial weights

KEY = np.array([7, 8], np.uint32)
MAKERS: dict[str, Callable[[Any], Any]] = {
    "glorot_uniform": lambda m: m.glorot_uniform(),
    "glorot_normal": lambda m: m.glorot_normal(),
    "xavier_uniform": lambda m: m.xavier_uniform(),
    "xavier_normal": lambda m: m.xavier_normal(),
    "lecun_uniform": lambda m: m.lecun_uniform(in_axis=0, out_axis=1),
    "lecun_normal": lambda m: m.lecun_normal(in_axis=(0, 1), out_axis=2),
    "he_uniform": lambda m: m.he_uniform(batch_axis=0),
    "he_normal": lambda m: m.he_normal(batch_axis=(0,)),
    "kaiming_uniform": lambda m: m.kaiming_uniform(),
    "kaiming_normal": lambda m: m.kaiming_normal(),
    "geometric mean": lambda m: m.variance_scaling(0.7, "fan_geo_avg", "normal"),
    "outputs": lambda m: m.variance_scaling(0.7, "fan_out", "normal"),
    "uniform": lambda m: m.uniform(0.3),
    "normal": lambda m: m.normal(0.3),
    "truncated_normal": lambda m: m.truncated_normal(0.3, lower=-1.0, upper=2.0),
    "complex": lambda m: m.he_normal(dtype="complex64"),
    "complex in a disk": lambda m: m.glorot_uniform(dtype="complex64"),
    "orthogonal": lambda m: m.orthogonal(0.3),
    "orthogonal rows": lambda m: m.orthogonal(column_axis=1),
    "delta_orthogonal": lambda m: m.delta_orthogonal(2.0),
    "constant": lambda m: m.constant(0.3),
    "zeros": lambda m: m.zeros,
    "ones": lambda m: m.ones,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MAKERS)
def test_initial_weights_are_those_of_jax(name: str) -> None:
    shape = (3, 4, 5)
    ours, theirs = MAKERS[name](initializers), MAKERS[name](jax.nn.initializers)
    expected = np.asarray(jax.jit(lambda key: theirs(key, shape))(KEY))
    got = ours(KEY, shape)
    assert got.dtype == expected.dtype
    # a unit or two in the last place of what the numbers are made of
    np.testing.assert_allclose(got, expected, 2e-6, 2e-6)


@pytest.mark.parametrize("name", ["glorot_uniform", "he_normal", "normal", "uniform"])
def test_compiled_initial_weights_are_those_of_jax_to_the_last_bit(name: str) -> None:
    shape = (30, 40)
    ours, theirs = getattr(initializers, name)(), getattr(jax.nn.initializers, name)()
    expected = jax.jit(lambda key: theirs(key, shape))(KEY)
    found = tinyjax.jit(lambda key: ours(key, shape), tier="compiled")(KEY)
    np.testing.assert_array_equal(found, expected)


def test_initial_weights_take_dtypes() -> None:
    assert initializers.zeros(KEY, (2,)).dtype == np.float32
    assert initializers.he_normal()(KEY, (2, 3), np.float64).dtype == np.float64
    assert initializers.he_normal(dtype=np.float16)(KEY, (2, 3)).dtype == np.float16
    assert initializers.normal(dtype=np.complex64)(KEY, (2, 3)).dtype == np.complex64
    with raises(DtypeError, match="draws floats"):
        initializers.he_normal()(KEY, (2, 3), np.int32)


@pytest.mark.wrong_types
def test_weights_that_cannot_be_scaled() -> None:
    with raises(ShapeError, match="at least two axes"):
        initializers.he_normal()(KEY, (3,))
    with raises(ShapeError, match="no elements"):
        initializers.he_normal()(KEY, (0, 3))
    with raises(ArgumentError, match="mode of variance_scaling"):
        initializers.variance_scaling(1.0, unknown("fan"), "normal")
    with raises(ArgumentError, match="distribution of variance_scaling"):
        initializers.variance_scaling(1.0, "fan_in", unknown("cauchy"))


def test_shapes_that_are_not_orthogonal() -> None:
    with raises(ShapeError, match="at least two axes"):
        initializers.orthogonal()(KEY, (3,))
    with raises(ShapeError, match="one to three axes"):
        initializers.delta_orthogonal()(KEY, (3, 2))
    with raises(ShapeError, match="in is at most out"):
        initializers.delta_orthogonal()(KEY, (3, 2, 1))
    assert initializers.orthogonal()(KEY, (0, 3)).shape == (0, 3)


def test_an_initializer_is_differentiable_in_its_scale() -> None:
    slope = tinyjax.grad(lambda s: initializers.normal(s)(KEY, (3,)).sum())(2.0)
    np.testing.assert_allclose(slope, tinyjax.random.normal(KEY, (3,)).sum(), 1e-6)


def test_tanh_and_log1mexp() -> None:
    # further out jax's slope of tanh has no digits: ``test_everywhere``
    x = np.r_[1e-30, 1e-8, 0.1, np.log(2.0), 1.0, 3.0]
    with jax.enable_x64(True):
        for name in ("tanh", "log1mexp"):
            ours, theirs = getattr(nn, name), getattr(jax.nn, name)
            for a, b in zip(with_slope(tinyjax, ours, x), with_slope(jax, theirs, x), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)


def test_products_with_scales_of_blocks() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 3, 8)), rng.standard_normal((2, 5, 8))
    a, b = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 5, 1))

    def expected(x: Any, y: Any, a: Any, b: Any) -> Any:
        return np.einsum("bmk,bnk->bmn", x * np.repeat(a, 2, 2), y * np.repeat(b, 8, 2))

    for call in (nn.scaled_matmul, tinyjax.jit(nn.scaled_matmul)):
        out = call(x, y, a, b)
        assert out.dtype == np.float32
        np.testing.assert_allclose(out, expected(x, y, a, b), 1e-5, 1e-5)
    assert nn.scaled_matmul(x, y, a, b, jnp.bfloat16).dtype == jnp.bfloat16
    narrow = x.astype(jnp.float8_e4m3fn)
    wide = narrow.astype(np.float64)
    np.testing.assert_allclose(
        nn.scaled_matmul(narrow, y, a, b), expected(wide, y, a, b), 1e-5, 1e-5
    )
    slopes = tinyjax.grad(lambda a: nn.scaled_matmul(x, y, a, b).sum())(a)
    np.testing.assert_allclose(
        slopes, (x * (np.repeat(b, 8, 2) * y).sum(1, keepdims=True)).reshape(2, 3, 4, 2).sum(-1),
        1e-4, 1e-4,
    )  # fmt: skip
    each = tinyjax.vmap(nn.scaled_matmul, (0, None, None, None))(np.stack([x, -x]), y, a, b)
    np.testing.assert_allclose(each[1], -each[0])
    numbers = (((2,), (2,)), ((0,), (0,)))
    np.testing.assert_allclose(
        nn.scaled_dot_general(x, y, numbers), jax.nn.scaled_dot_general(x, y, numbers), 1e-5, 1e-5
    )
    with raises(ShapeError, match="scaled_matmul takes shapes"):
        nn.scaled_matmul(x, y, a, a)


@pytest.mark.wrong_types
def test_formats_of_scales_are_refused() -> None:
    x, numbers = jnp.ones((1, 2, 3)), (((2,), (2,)), ((0,), (0,)))
    configs: Any = [None]
    with raises(ArgumentError, match="takes no configs"):
        nn.scaled_dot_general(x, x, numbers, configs=configs)


def test_logarithms_of_sums_of_complex_numbers() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(2, 50, 2)) * 5).view(np.complex128)[..., 0]
    for way in (jnp.logaddexp, tinyjax.jit(jnp.logaddexp, tier="compiled")):
        np.testing.assert_allclose(way(a, b), np.log(np.exp(a) + np.exp(b)), 1e-12)
    slope = tinyjax.grad(lambda z: jnp.real(jnp.logaddexp(z, b[0])))(a[0])
    np.testing.assert_allclose(slope, 1 / (1 + np.exp(b[0] - a[0])), 1e-12)
    np.testing.assert_allclose(nn.softplus(1 + 2j), np.log1p(np.exp(1 + 2j)), 1e-6)
    nothing, inf = complex(-np.inf, np.inf), np.inf
    for z, expected in (([nothing, 1], 1), ([complex(inf, 0), 1], inf), ([nothing], -inf)):
        for sum_of in (nn.logsumexp, tinyjax.jit(nn.logsumexp, tier="compiled")):
            assert sum_of(np.array(z, complex)) == expected

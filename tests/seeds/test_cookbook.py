"""The programs of "The Autodiff Cookbook", and the figures it prints, to the digits printed."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, config, grad, hessian, jacfwd, jacrev, jit, jvp, random, vjp, vmap
from tinyjax.dtypes import HostArray
from tinyjax.test_util import check_grads

# float32: a few units in the last of eight digits
RTOL, ATOL = 1e-6, 2e-7


@pytest.fixture(autouse=True)
def older_stream() -> Iterator[None]:
    """The figures come from the older of JAX's two random streams."""
    with config.scoped(threefry_partitionable=False):
        yield


def printed(got: Any, expected: Any, rtol: float = RTOL, atol: float = ATOL) -> None:
    got = np.asarray(got)
    assert got.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(got, np.asarray(expected), rtol, atol)


# Logistic regression

FEATURES = np.array(
    [[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]],
    np.float32,
)
LABELS = np.array([True, True, False, True])
W_SLOPE = [-0.16965583, -0.8774644, -1.4901346]
B_SLOPE = -0.29227245
JACOBIAN = [
    [0.05981758, 0.12883787, 0.08857603],
    [0.04015916, -0.04928625, 0.00684531],
    [0.12188288, 0.01406341, -0.3047072],
    [0.00140431, -0.00472531, 0.00263782],
]
B_JACOBIAN = [0.11503381, 0.04563541, 0.23439017, 0.00189771]
HESSIANS = [
    [
        [0.02285465, 0.04922541, 0.03384247],
        [0.04922541, 0.10602397, 0.07289147],
        [0.03384247, 0.07289147, 0.05011288],
    ],
    [
        [-0.03195215, 0.03921401, -0.00544639],
        [0.03921401, -0.04812629, 0.00668421],
        [-0.00544639, 0.00668421, -0.00092836],
    ],
    [
        [-0.01583708, -0.00182736, 0.03959271],
        [-0.00182736, -0.00021085, 0.00456839],
        [0.03959271, 0.00456839, -0.09898177],
    ],
    [
        [-0.00103524, 0.00348343, -0.00194457],
        [0.00348343, -0.01172127, 0.0065432],
        [-0.00194457, 0.0065432, -0.00365263],
    ],
]


def probability(weights: Any, bias: Any) -> Array:
    """Of each example's being positive; the logistic function, by way of tanh."""
    return 0.5 * (jnp.tanh((jnp.dot(FEATURES, weights) + bias) / 2) + 1)


def loss(weights: Any, bias: Any) -> Array:
    """The labels' negative log-likelihood."""
    p = probability(weights, bias)
    return -jnp.sum(jnp.log(p * LABELS + (1 - p) * (1 - LABELS)))


@attrs.frozen
class Model:
    """The coefficients drawn, and the key for what is drawn next."""

    key: Any
    weights: Any
    bias: Any


@pytest.fixture
def model() -> Model:
    key, weights_key, bias_key = random.split(random.key(0), 3)
    return Model(key, random.normal(weights_key, (3,)), random.normal(bias_key, ()))


@pytest.mark.parametrize(
    ("order", "expected"), [(1, 0.070650816), (2, -0.13621868), (3, 0.25265405)]
)
def test_derivatives_of_tanh(order: int, expected: float) -> None:
    fun: Callable[..., Any] = jnp.tanh
    for _ in range(order):
        fun = grad(fun)
    printed(fun(2.0), expected)
    printed(jit(fun)(2.0), expected)


def test_gradients_by_argument(model: Model) -> None:
    point = (model.weights, model.bias)
    printed(grad(loss)(*point), W_SLOPE)
    printed(grad(loss, argnums=0)(*point), W_SLOPE)
    printed(grad(loss, 1)(*point), B_SLOPE)
    of_both = grad(loss, (0, 1))(*point)
    printed(of_both[0], W_SLOPE)
    printed(of_both[1], B_SLOPE)


def test_gradients_of_containers(model: Model) -> None:
    slopes = grad(lambda d: loss(d["W"], d["b"]))({"W": model.weights, "b": model.bias})
    assert sorted(slopes) == ["W", "b"]
    printed(slopes["W"], W_SLOPE)
    printed(slopes["b"], B_SLOPE)


def test_value_and_gradient(model: Model) -> None:
    value, (of_weights, of_bias) = tinyjax.value_and_grad(loss, (0, 1))(model.weights, model.bias)
    printed(value, 3.0519385)
    printed(loss(model.weights, model.bias), 3.0519385)
    printed(of_weights, W_SLOPE)
    printed(of_bias, B_SLOPE)


def test_numerical_differences(model: Model) -> None:
    step = 1e-4
    # A difference in float32 has a rounding error of 1e-7 / 1e-4 times the loss.
    rounding = 3.0 * float(np.finfo(np.float32).eps) * 3.05 / step

    def difference(fun: Callable[[float], Any]) -> Any:
        return (fun(step / 2) - fun(-step / 2)) / step

    weights, bias = model.weights, model.bias
    printed(difference(lambda t: loss(weights, bias + t)), -0.29325485, 0, rounding)
    _, subkey = random.split(model.key)
    direction = random.normal(subkey, weights.shape)
    unit = direction / jnp.sqrt(jnp.vdot(direction, direction))
    printed(difference(lambda t: loss(weights + t * unit, bias)), -0.2002716, 0, rounding)
    printed(jnp.vdot(grad(loss)(weights, bias), unit), -0.19909117)
    check_grads(loss, (weights, bias), order=2)


# Jacobians and Hessians


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_jacobians(model: Model, jacobian: Callable[..., Any]) -> None:
    found = jacobian(lambda w: probability(w, model.bias))(model.weights)
    assert found.shape == (4, 3)
    printed(found, JACOBIAN)


def test_jacobians_of_containers(model: Model) -> None:
    point = {"W": model.weights, "b": model.bias}
    found = jacrev(lambda d: probability(d["W"], d["b"]))(point)
    printed(found["W"], JACOBIAN)
    printed(found["b"], B_JACOBIAN)


def test_hessians(model: Model) -> None:
    def fun(w: Any) -> Array:
        return probability(w, model.bias)

    for second in (hessian(fun), jacfwd(jacrev(fun)), jacrev(jacfwd(fun))):
        found = second(model.weights)
        assert found.shape == (4, 3, 3)
        # 1 - tanh(x)^2 has an error of 1e-7 where tanh is near 1, times the squares of features
        printed(found, HESSIANS, RTOL, 1e-6)


# Products with Jacobians and Hessians


def test_pushing_forward_and_pulling_back(model: Model) -> None:
    _, first = random.split(model.key)
    v = random.normal(first, model.weights.shape)
    u = random.normal(random.split(first)[1], (4,))
    fun = partial(lambda b, w: probability(w, b), model.bias)
    value, pushed = jvp(fun, (model.weights,), (v,))
    printed(pushed, np.asarray(JACOBIAN) @ np.asarray(v), 1e-4)
    again, pull_back = vjp(fun, model.weights)
    np.testing.assert_array_equal(value, again)
    printed(pull_back(u)[0], np.asarray(u) @ np.asarray(JACOBIAN), 1e-4, 1e-6)


def test_a_vector_valued_gradient() -> None:
    y, pull_back = vjp(lambda x: 3 * x**2, jnp.ones((2, 2)))
    np.testing.assert_array_equal(pull_back(jnp.ones(y.shape))[0], np.full((2, 2), 6.0))


def sum_of_squares(x: Any) -> Array:
    return jnp.sum(jnp.tanh(x) ** 2)


def forward_over_reverse(x: Any, v: Any) -> Any:
    return jvp(grad(sum_of_squares), (x,), (v,))[1]


def reverse_over_forward(x: Any, v: Any) -> Any:
    return grad(lambda y: jvp(sum_of_squares, (y,), (v,))[1])(x)


def reverse_over_reverse(x: Any, v: Any) -> Any:
    return grad(lambda y: jnp.vdot(grad(sum_of_squares)(y), v))(x)


@pytest.mark.parametrize(
    "product", [forward_over_reverse, reverse_over_forward, reverse_over_reverse]
)
def test_products_with_a_hessian(model: Model, product: Callable[..., Any]) -> None:
    _, x_key, v_key = random.split(model.key, 3)
    x, v = random.normal(x_key, (30, 40)), random.normal(v_key, (30, 40))
    dense = jnp.tensordot(hessian(sum_of_squares)(x), v, 2)
    assert bool(jnp.allclose(product(x, v), dense, 1e-4, 1e-4))


def test_products_with_matrices(model: Model) -> None:
    """Mapping over directions is a loop over them."""

    def fun(w: Any) -> Array:
        return probability(w, model.bias)

    rows = random.normal(random.key(0), (128, 4))
    _, pull_back = vjp(fun, model.weights)
    looped = jnp.vstack([pull_back(row)[0] for row in rows])
    assert bool(jnp.allclose(looped, vmap(pull_back)(rows)[0]))

    def push(v: Any) -> Any:
        return jvp(fun, (model.weights,), (v,))[1]

    directions = random.normal(random.key(0), (128, 3))
    looped = jnp.vstack([push(v) for v in directions])
    assert bool(jnp.allclose(looped, vmap(push)(directions)))
    # the Jacobian is the product with the identity
    np.testing.assert_allclose(vmap(pull_back)(jnp.eye(4))[0], jacrev(fun)(model.weights), 1e-6)
    np.testing.assert_allclose(
        vmap(push, in_axes=1, out_axes=1)(jnp.eye(3)), jacfwd(fun)(model.weights), 1e-6
    )


def test_compiling_the_linear_part() -> None:
    """Python's control flow in the function, exceptions too, is done with by then."""

    def fun(x: Any) -> Any:
        try:
            return [2 * x**3][int(x >= 3)]
        except IndexError:
            return jnp.pi * x

    _, pull_back = vjp(fun, 4.0)
    (slope,) = jit(pull_back)(1.0)
    assert slope.weak_type
    printed(slope, 3.1415927)
    printed(vjp(fun, 2.0)[1](1.0)[0], 24.0)


# Complex numbers


@attrs.frozen
class Plane:
    """A real linear map of the complex numbers, and a point and a direction."""

    matrix: HostArray
    point: HostArray
    direction: HostArray

    def __call__(self, z: Any) -> Any:
        (a, b), (c, d) = self.matrix
        x, y = jnp.real(z), jnp.imag(z)
        return (a * x + b * y) + (c * x + d * y) * 1j


@pytest.fixture(params=[0, 1, 2])
def plane(request: pytest.FixtureRequest) -> Plane:
    key = random.key(request.param)
    drawn: list[HostArray] = []
    for shape in ((2, 2), (2,), (2,)):
        key, subkey = random.split(key)
        drawn.append(np.asarray(random.uniform(subkey, shape)))
    return Plane(*drawn)


def test_the_jvp_of_a_map_of_the_plane(plane: Plane) -> None:
    z, t = (jnp.asarray(p[0] + 1j * p[1]) for p in (plane.point, plane.direction))
    u, v = plane.matrix @ plane.direction
    printed(jvp(plane, (z,), (t,))[1], u + 1j * v)


def test_the_vjp_of_a_map_of_the_plane(plane: Plane) -> None:
    z, ct = (jnp.asarray(p[0] + 1j * p[1]) for p in (plane.point, plane.direction))
    c, d = plane.direction
    first, second = np.array([c, -d]) @ plane.matrix
    printed(vjp(plane, z)[1](ct)[0], first - 1j * second)


def test_the_gradient_of_a_real_function_of_a_complex_number() -> None:
    slope = grad(lambda z: jnp.real(z) ** 2 + jnp.imag(z) ** 2)(3.0 + 4j)
    assert complex(slope) == 6 - 8j
    assert slope.dtype == np.complex64


def test_holomorphic_gradients() -> None:
    slope = grad(jnp.sin, holomorphic=True)(3.0 + 4j)
    assert slope.weak_type
    printed(slope, -27.034946 - 3.8511534j)
    # of the real part alone, since the conjugate is not holomorphic
    assert complex(grad(jnp.conjugate, holomorphic=True)(3.0 + 4j)) == 1
    with raises(TypeError, match="holomorphic"):
        grad(jnp.sin)(3.0 + 4j)


@pytest.mark.parametrize("compiled", [False, True])
def test_through_a_complex_cholesky_factor(compiled: bool) -> None:
    a = jnp.array(
        [[5.0, 2.0 + 3j, 5j], [2.0 - 3j, 7.0, 1.0 + 7j], [-5j, 1.0 - 7j, 12.0]], jnp.complex64
    )

    def fun(x: Any) -> Array:
        factor = jnp.linalg.cholesky(x)
        return jnp.sum((factor - jnp.sin(factor)) ** 2)

    slope = grad(fun, holomorphic=True)
    found = np.asarray((jit(slope) if compiled else slope)(a))
    expected = [
        [-0.7534186, -3.0509028 - 10.940544j, 5.9896846 + 3.5423026j],
        [-3.0509028 + 10.940544j, -8.904491, -5.1351523 - 6.559373j],
        [5.9896846 - 3.5423026j, -5.1351523 + 6.559373j, 0.01320427],
    ]
    # the matrix has a condition number of 190, by which float32's errors grow
    printed(found, expected, 0, 5e-5)
    np.testing.assert_array_equal(np.diagonal(found).imag, np.zeros(3))

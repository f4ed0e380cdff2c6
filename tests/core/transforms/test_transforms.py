"""The transformations alone and composed: containers, axes, closures, threads, exceptions."""

import asyncio
import copy
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import attrs
import jax
import jax.numpy
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import (
    float0,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    linearize,
    make_jaxpr,
    tree,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.core.tracing.primitive import ZERO, registry
from tinyjax.core.tracing.trace import EVAL, current_trace
from tinyjax.errors import ArgumentError, DifferentiationError

Fun = Callable[..., Any]
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    assert current_trace() is EVAL
    yield
    assert current_trace() is EVAL


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape)  # float64, which stays float64


def agree(actual: Any, expected: Any, rtol: float = 1e-12) -> None:
    """Assert that two trees have the same structure, shapes, dtypes and values."""
    leaves, treedef = tree.flatten(actual)
    expected_leaves, expected_treedef = jax.tree.flatten(expected)
    assert str(jax.tree.structure(actual)) == str(expected_treedef)
    assert treedef.num_leaves == len(expected_leaves)
    for a, b in zip(leaves, expected_leaves, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-13)


@pytest.fixture
def x64() -> Iterator[None]:
    with jax.enable_x64(True), tinyjax.default_dtypes("float64"):
        yield


class Layer(NamedTuple):
    w: Any
    b: Any


def model(lib: Any) -> Fun:
    """A small network, over ``tinyjax.numpy`` or ``jax.numpy``."""

    def predict(params: dict[str, Any], x: Any, *, scale: Any = 1.0) -> Any:
        for layer in params["layers"]:
            x = lib.tanh(lib.dot(x, layer.w) + layer.b)
        return {"out": x * scale, "norm": [lib.sum(x * x)]}

    return predict


def loss(lib: Any) -> Fun:
    predict = model(lib)

    def total(params: dict[str, Any], x: Any, *, scale: Any = 1.0) -> Any:
        found = predict(params, x, scale=scale)
        return lib.sum(found["out"]) + found["norm"][0] * 0.5

    return total


PARAMS = {
    "layers": [Layer(normal(3, 4), normal(4)), Layer(normal(4, 2), normal(2))],
    "unused": None,
}
DIRECTION = {
    "layers": [Layer(normal(3, 4), normal(4)), Layer(normal(4, 2), normal(2))],
    "unused": None,
}
X = normal(3)


# Each transformation on containers, against jax


def test_jvp(x64: None) -> None:
    found = jvp(model(jnp), (PARAMS, X), (DIRECTION, X))
    agree(found, jax.jvp(model(jax.numpy), (PARAMS, X), (DIRECTION, X)))


def test_linearize(x64: None) -> None:
    value, tangent_map = linearize(model(jnp), PARAMS, X)
    expected, expected_map = jax.linearize(model(jax.numpy), PARAMS, X)
    agree(value, expected)
    for factor in (1.0, -2.0):
        direction = tree.map(functools.partial(np.multiply, factor), DIRECTION)
        agree(tangent_map(direction, X), expected_map(direction, X))


def test_vjp(x64: None) -> None:
    value, pull_back = vjp(model(jnp), PARAMS, X)
    expected, expected_back = jax.vjp(model(jax.numpy), PARAMS, X)
    agree(value, expected)
    cotangent = {"out": normal(2), "norm": [np.float64(0.5)]}
    agree(pull_back(cotangent), expected_back(cotangent))


@pytest.mark.parametrize("argnums", [0, 1, -1, -2, (0,), (1, 0), (0, -1)])
def test_grad_argnums(x64: None, argnums: Any) -> None:
    found = grad(loss(jnp), argnums)(PARAMS, X, scale=2.0)
    if isinstance(argnums, int):
        expected = jax.grad(loss(jax.numpy), argnums % 2)(PARAMS, X, scale=2.0)
    else:
        expected = jax.grad(loss(jax.numpy), tuple(i % 2 for i in argnums))(PARAMS, X, scale=2.0)
    agree(found, expected)


@pytest.mark.parametrize("transform", [copy.copy, copy.deepcopy])
def test_traced_values_are_copied(x64: None, transform: Fun) -> None:
    def fun(x: Any) -> Any:
        return transform({"a": transform(x)})["a"] ** 2

    x = normal(3)
    agree(jit(fun)(x), x**2)
    agree(vmap(grad(fun))(x), 2 * x)
    agree(jax.jit(jax.vmap(jax.grad(fun)))(x), jit(vmap(grad(fun)))(x))


WITH_ARGNUMS: list[Any] = [
    pytest.param(fun, id=f"{module.__name__}.{fun.__name__}")
    for module in (tinyjax, tinyjax.autodiff, tinyjax.source)
    for fun in (getattr(module, name) for name in module.__all__)
    if callable(fun)
    and fun is not tinyjax.fwd_and_bwd
    and "argnums" in getattr(fun, "__annotations__", ())
]


#: Those that take the arguments beside the function.
DIRECT: Final = (tinyjax.autodiff.jacobian_sparsity, tinyjax.autodiff.hessian_sparsity)


def test_transformations_with_argnums_are_found() -> None:
    assert len(WITH_ARGNUMS) > 8


@pytest.mark.parametrize("transformation", WITH_ARGNUMS)
@pytest.mark.parametrize("argnums", [(0, 0), (0, -2), (-1, 1), (1, 0, -1)])
def test_an_argument_is_differentiated_once(transformation: Fun, argnums: tuple[int, ...]) -> None:
    """In jax the second replaces the first by None, and the function fails on that."""

    def applied() -> Any:
        fun: Fun = lambda x, y: x * x * y  # noqa: E731
        if transformation in DIRECT:
            return transformation(fun, 2.0, 3.0, argnums=argnums)
        if transformation is tinyjax.autodiff.memory_plan:
            return transformation(fun, 1_000_000, argnums)(2.0, 3.0)
        return transformation(fun, argnums=argnums)(2.0, 3.0)

    with raises(TypeError, match=r"argument '[xy]' twice: argnums is") as caught:
        applied()
    assert isinstance(caught.value, ArgumentError)
    with pytest.raises(TypeError):
        jax.grad(lambda x, y: x * x * y, argnums=argnums)(2.0, 3.0)


def test_value_and_grad(x64: None) -> None:
    agree(
        value_and_grad(loss(jnp))(PARAMS, X),
        jax.value_and_grad(loss(jax.numpy))(PARAMS, X),
    )


def test_has_aux(x64: None) -> None:
    def with_aux(lib: Any) -> Fun:
        def fun(x: Any) -> Any:
            y = lib.sin(x)
            return lib.sum(y * x), {"y": y, "x": [x], "n": 3}

        return fun

    ours, theirs = with_aux(jnp), with_aux(jax.numpy)
    (value, aux), gradient = value_and_grad(ours, has_aux=True)(X)
    (expected, expected_aux), expected_gradient = jax.value_and_grad(theirs, has_aux=True)(X)
    agree((value, gradient), (expected, expected_gradient))
    assert aux["n"] == 3
    agree(aux["y"], expected_aux["y"])
    agree(grad(ours, has_aux=True)(X)[0], expected_gradient)
    for found in (
        jvp(ours, (X,), (X,), has_aux=True)[2],
        vjp(ours, X, has_aux=True)[2],
        linearize(ours, X, has_aux=True)[2],
        jacrev(ours, has_aux=True)(X)[1],
        jacfwd(ours, has_aux=True)(X)[1],
        hessian(ours, has_aux=True)(X)[1],
    ):
        agree(found["y"], expected_aux["y"])


def test_auxiliary_data_of_nested_derivatives(x64: None) -> None:
    def inner(x: Any) -> Any:
        return x * x * x, 7.0 * x

    def outer(x: Any) -> Any:
        slope, aux = grad(inner, has_aux=True)(x)
        return slope + aux  # aux depends on the outer variable

    assert float(grad(outer)(2.0)) == 6 * 2.0 + 7.0
    slope, _ = jit(grad(inner, has_aux=True))(2.0)
    assert float(slope) == 12.0


def test_holomorphic(x64: None) -> None:
    z = np.complex128(0.3 + 0.4j)
    agree(
        grad(jnp.sin, holomorphic=True)(z),
        jax.grad(jax.numpy.sin, holomorphic=True)(z),
    )
    zs = np.array([0.1 + 1j, 2.0 - 1j])
    for ours, theirs in ((jacfwd, jax.jacfwd), (jacrev, jax.jacrev)):
        agree(
            ours(lambda x: x * x, holomorphic=True)(zs),
            theirs(lambda x: x * x, holomorphic=True)(zs),
        )


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_jacobians_of_containers(x64: None, name: str, argnums: Any) -> None:
    ours, theirs = getattr(tinyjax, name), getattr(jax, name)
    agree(
        ours(model(jnp), argnums)(PARAMS, X),
        jax.jit(theirs(model(jax.numpy), argnums))(PARAMS, X),
    )


def test_hessians_of_containers(x64: None) -> None:
    params = {"layers": [Layer(normal(3, 2), normal(2))]}
    agree(
        hessian(loss(jnp))(params, X),
        jax.jit(jax.hessian(loss(jax.numpy)))(params, X),
        rtol=1e-10,
    )


def test_jacobians_of_matrices(x64: None) -> None:
    x = normal(2, 3)
    for ours, theirs in ((jacfwd, jax.jacfwd), (jacrev, jax.jacrev)):
        agree(ours(lambda x: x @ x.T)(jnp.asarray(x)), jax.jit(theirs(lambda x: x @ x.T))(x))
    agree(
        hessian(lambda x: jnp.sum(x * x * x))(x),
        jax.jit(jax.hessian(lambda x: jax.numpy.sum(x * x * x)))(x),
    )


# Integers, and results that do not depend on the arguments


def test_integer_arguments_have_float0_tangents() -> None:
    n = np.arange(3, dtype=np.int32)

    def fun(n: Any, x: Any) -> Any:
        return n * x

    value, pull_back = vjp(fun, n, 2.0)
    ct_n, ct_x = pull_back(jnp.ones(3))
    assert ct_n.dtype == float0
    assert ct_n.shape == (3,)
    assert float(ct_x) == 3.0
    _, tangent = jvp(fun, (n, 2.0), (np.zeros(3, float0), 1.0))
    np.testing.assert_array_equal(tangent, n)
    _, tangent_map = linearize(fun, n, 2.0)
    np.testing.assert_array_equal(tangent_map(np.zeros(3, float0), 3.0), 3.0 * n)
    assert value.dtype == np.float32


def test_grad_with_allow_int() -> None:
    gradient = grad(lambda n, x: jnp.sum(n * x), (0, 1), allow_int=True)(np.arange(3), 2.0)
    assert gradient[0].dtype == float0
    assert gradient[0].shape == (3,)
    assert float(gradient[1]) == 3.0


@pytest.mark.parametrize("transformation", [grad, value_and_grad])
def test_axes_are_summed_over_by_the_function(transformation: Any) -> None:
    assert jax.tree.leaves(transformation(lambda x: x**2, reduce_axes=())(3.0))[-1] == 6.0
    with raises(ArgumentError, match=r"lax\.psum"):
        transformation(lambda x: x**2, reduce_axes=("i",))


def test_integer_results_have_float0_tangents() -> None:
    value, tangent = jvp(lambda x: (jnp.argmax(x), x > 1), (jnp.arange(3.0),), (jnp.ones(3),))
    assert tangent[0].dtype == tangent[1].dtype == float0
    assert tangent[1].shape == (3,)
    assert int(value[0]) == 2
    _, pull_back = vjp(jnp.argmax, jnp.arange(3.0))
    np.testing.assert_array_equal(pull_back(np.zeros((), float0))[0], np.zeros(3))
    for whole in (value[0], True, 2.0):  # ignored, as in JAX
        np.testing.assert_array_equal(jit(pull_back)(whole)[0], np.zeros(3))
    with raises(DifferentiationError, match="float0"):
        pull_back(jnp.arange(2))


def test_derivatives_that_are_zero() -> None:
    constant = jnp.ones(2)
    for fun in (lambda x: 3.0, lambda x: jnp.sum(constant), lambda x: jnp.sum(jnp.sign(x))):
        np.testing.assert_array_equal(grad(fun)(jnp.ones(2)), np.zeros(2))
        np.testing.assert_array_equal(jit(grad(fun))(jnp.ones(2)), np.zeros(2))
        np.testing.assert_array_equal(jvp(fun, (jnp.ones(2),), (jnp.ones(2),))[1], 0.0)
        np.testing.assert_array_equal(jacfwd(fun)(jnp.ones(2)), np.zeros(2))
        np.testing.assert_array_equal(jacrev(fun)(jnp.ones(2)), np.zeros(2))
        np.testing.assert_array_equal(hessian(fun)(jnp.ones(2)), np.zeros((2, 2)))


def test_zeros_are_not_computed_with() -> None:
    # of ten inputs one has a tangent: only its product is differentiated
    def fun(x: Any, *others: Any) -> Any:
        return sum((other * other for other in others), x * x)

    jaxpr = make_jaxpr(grad(fun))(1.0, *[2.0] * 9).jaxpr
    plain = make_jaxpr(fun)(1.0, *[2.0] * 9).jaxpr
    assert len(jaxpr.eqns) <= len(plain.eqns) + 3
    _, tangent_map = linearize(lambda x: (x, jnp.sin(3.0)), 1.0)
    assert [float(t) for t in tangent_map(2.0)] == [2.0, 0.0]


def test_the_derivative_of_an_argument_itself() -> None:
    assert float(grad(lambda x: x)(3.0)) == 1.0
    assert float(grad(lambda x, y: y)(3.0, 4.0)) == 0.0
    np.testing.assert_array_equal(jacrev(lambda x: x)(jnp.ones(2)), np.eye(2))
    np.testing.assert_array_equal(jacfwd(lambda x: [x, x])(jnp.ones(2))[1], np.eye(2))


# vmap


def check_vmap(fun: Fun, *args: Any, in_axes: Any = 0, out_axes: Any = 0, **options: Any) -> None:
    """Hold our vmap against jax's of the same function, written with operators only."""
    found = vmap(fun, in_axes, out_axes, **options)(*args)
    expected = jax.vmap(fun, in_axes, out_axes, **options)(*args)
    agree(found, expected)
    agree(jit(vmap(fun, in_axes, out_axes, **options))(*args), expected)


@pytest.mark.parametrize(
    ("in_axes", "out_axes"),
    [
        (0, 0),
        (0, 1),
        (0, -1),
        (1, 0),
        (-1, 2),
        (-3, -3),
        ((0, None), 0),
        ((None, 1), 1),
        ((0, -2), 0),
        ([1, 0], 0),
    ],
)
def test_vmap_axes(x64: None, in_axes: Any, out_axes: Any) -> None:
    sizes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes, in_axes)
    x, y = (
        normal(3, 3) if axis is None else np.moveaxis(normal(5, 3, 3), 0, axis) for axis in sizes
    )
    in_axes = in_axes if isinstance(in_axes, int) else tuple(in_axes)
    check_vmap(lambda x, y: x * y + x @ y, x, y, in_axes=in_axes, out_axes=out_axes)


@pytest.mark.parametrize("x", [jnp.ones(3), lax.full((3,), 1.0)], ids=["strong", "weak"])
def test_an_example_is_as_weak_as_the_batch(x: Any) -> None:
    is_weak = x.weak_type

    def weak(x: Any) -> Any:
        assert x.aval.weak_type == is_weak  # read first, so that it is known
        assert x.weak_type == is_weak
        return x + jnp.float16(1)

    assert vmap(weak)(x).dtype == (x + jnp.float16(1)).dtype


def test_vmap_of_trees_of_axes(x64: None) -> None:
    args = {"a": normal(4, 2), "b": [normal(2, 4), normal(2)]}
    in_axes = ({"a": 0, "b": [1, None]},)
    check_vmap(
        lambda t: {"sum": t["a"] + t["b"][0], "parts": (t["b"][1], t["a"])},
        args,
        in_axes=in_axes,
        out_axes={"sum": 1, "parts": (None, 0)},
    )
    check_vmap(lambda t, s: t["a"] * s, {"a": normal(4, 2)}, 2.0, in_axes=(0, None))
    check_vmap(lambda t, s: t["a"] * s, {"a": normal(4, 2)}, 2.0, in_axes=({"a": 0}, None))


def test_vmap_of_keyword_arguments(x64: None) -> None:
    x, y = normal(4), normal(4)
    agree(vmap(lambda x, *, y: x * y)(x, y=y), x * y)
    agree(vmap(lambda x, *, y: x * y, in_axes=(None,))(2.0, y=y), 2 * y)


@pytest.mark.parametrize("in_axes", [1, -1, (1,), [-1], None])
def test_vmap_maps_keyword_arguments_along_axis_0(x64: None, in_axes: Any) -> None:
    def f(x: Any, *, y: Any, z: Any = None) -> Any:
        return 2 * x - y + (0 if z is None else z["u"])

    x, y = normal(4) if in_axes is None else normal(4, 3), normal(3, 4)
    for keywords in ({"y": y}, {"y": y, "z": {"u": y**2}}):
        expected = jax.vmap(f, in_axes=in_axes)(x, **keywords)
        agree(vmap(f, in_axes=in_axes)(x, **keywords), expected)
        agree(jit(vmap(f, in_axes=in_axes))(x, **keywords), expected)


def test_vmap_with_nothing_to_map_over() -> None:
    found = vmap(lambda x: x + 1, in_axes=None, axis_size=3)(1.0)
    np.testing.assert_array_equal(found, [2.0, 2.0, 2.0])
    assert float(vmap(lambda x, y: x, (None, 0), None)(5.0, jnp.ones(3))) == 5.0
    np.testing.assert_array_equal(vmap(lambda x: 7.0)(jnp.ones(3)), [7.0] * 3)
    assert vmap(lambda x: (None, x), (0,))(jnp.ones(0))[1].shape == (0,)


def test_nested_vmap(x64: None) -> None:
    x, y = normal(4, 3), normal(5, 3)
    outer = vmap(vmap(jnp.dot, (None, 0)), (0, None))
    np.testing.assert_allclose(outer(x, y), x @ y.T, rtol=1e-12)
    swapped = vmap(vmap(jnp.dot, (None, 0)), (0, None), 1)
    np.testing.assert_allclose(swapped(x, y), (x @ y.T).T, rtol=1e-12)
    agree(
        vmap(lambda a: vmap(lambda b: a * b, out_axes=1)(a[:, None] * a))(x),
        jax.vmap(lambda a: jax.vmap(lambda b: a * b, out_axes=1)(a[:, None] * a))(x),
    )


def test_vmap_over_the_second_argument_of_a_closure(x64: None) -> None:
    matrix = normal(3, 3)

    def fun(x: Any) -> Any:
        return vmap(lambda row: jnp.dot(row, x))(jnp.asarray(matrix))

    np.testing.assert_allclose(vmap(fun)(np.eye(3)), matrix.T, rtol=1e-12)


def chunked_and_whole(chunk_size: int) -> list[Fun]:
    def fun(x: Any, w: Any) -> Any:
        return jnp.sin(x @ w["a"]) * x, 2.0 * w["a"], (x.sum(), 7.0)

    axes: dict[str, Any] = {"in_axes": (1, None), "out_axes": (-1, None, 0)}
    return [vmap(fun, **axes, chunk_size=chunk_size), vmap(fun, **axes)]


@pytest.mark.parametrize("chunk_size", [1, 3, 7, 8])
def test_vmap_in_chunks(x64: None, chunk_size: int) -> None:
    x, w = normal(3, 7), {"a": normal(3)}
    chunked, whole = chunked_and_whole(chunk_size)
    agree(chunked(x, w), whole(x, w))
    agree(jit(chunked)(x, w), whole(x, w))


@pytest.mark.parametrize("chunk_size", [2, 7])
def test_derivatives_of_vmap_in_chunks(x64: None, chunk_size: int) -> None:
    x, w = normal(3, 7), {"a": normal(3)}

    def loss(fun: Fun) -> Fun:
        return lambda x, w: sum(jnp.sum(jnp.cos(y)) for y in tree.leaves(fun(x, w)))

    chunked, whole = map(loss, chunked_and_whole(chunk_size))
    expected = grad(whole, (0, 1))(x, w)
    agree(grad(chunked, (0, 1))(x, w), expected, rtol=1e-10)
    agree(jit(grad(chunked, (0, 1)))(x, w), expected, rtol=1e-10)
    agree(jvp(chunked, (x, w), (x, w)), jvp(whole, (x, w), (x, w)), rtol=1e-10)
    xs = np.stack([x, 2 * x])
    agree(vmap(chunked, (0, None))(xs, w), vmap(whole, (0, None))(xs, w), rtol=1e-10)


def test_vmap_in_chunks_without_examples_and_without_arguments() -> None:
    assert vmap(jnp.sin, chunk_size=2)(jnp.ones((0, 3))).shape == (0, 3)
    found = vmap(lambda x: x + 1, None, axis_size=5, chunk_size=2)(1.0)
    np.testing.assert_array_equal(found, [2.0] * 5)


@pytest.mark.parametrize("options", [{"chunk_size": 0}, {"chunk_size": 2, "axis_name": "i"}])
def test_chunks_that_cannot_be(options: dict[str, Any]) -> None:
    with raises(ArgumentError, match="chunk_size"):
        vmap(jnp.sin, **options)


def test_columns_of_jacobians_are_not_transposed(x64: None) -> None:
    w = normal(4, 9)

    def fun(lib: Any) -> Fun:
        def along(x: Any) -> Any:
            y = lib.roll(x, 1, 0) * x[:, ::-1] + lib.tanh(x).sum() * x
            pooled = y.reshape(2, 3, 2, 3).max((1, 3)).reshape(4)
            return pooled * lib.concatenate([w @ y.reshape(36)[:9], y[0, :0]])

        return along

    x = normal(6, 6)
    agree(jit(jacfwd(fun(jnp)))(x), jax.jacfwd(fun(jax.numpy))(x), rtol=1e-10)
    assert "transpose" not in str(make_jaxpr(jacfwd(fun(jnp)))(x))
    chunked = jacfwd(fun(jnp), chunk_size=32)
    agree(jit(chunked)(x), jax.jacfwd(fun(jax.numpy))(x), rtol=1e-10)


def of_two_arrays(lib: Any) -> Fun:
    def fun(x: Any, w: Any) -> Any:
        return {"y": lib.sin(x) * (x @ w["a"]), "z": lib.tanh(w["b"]).sum()}

    return fun


JACOBIANS: dict[str, Fun] = {
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "hessian": hessian,
    "jacobian": tinyjax.jacobian,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("chunk_size", [1, 4, 5, 100])
@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians_in_chunks(x64: None, name: str, chunk_size: int) -> None:
    x, w = normal(5), {"a": normal(5, 5), "b": normal(3)}
    expected = (jax.jacrev if name == "jacobian" else getattr(jax, name))(
        of_two_arrays(jax.numpy), (0, 1)
    )(x, w)
    chunked = JACOBIANS[name](of_two_arrays(jnp), (0, 1), chunk_size=chunk_size)
    agree(chunked(x, w), expected, rtol=1e-10)
    agree(jit(chunked)(x, w), expected, rtol=1e-10)


@pytest.mark.parametrize("name", JACOBIANS)
def test_derivatives_of_jacobians_in_chunks(x64: None, name: str) -> None:
    def loss(transform: Fun, **options: int) -> Fun:
        rows = transform(lambda x: jnp.exp(jnp.sin(x)) * x[0], **options)
        return lambda x: jnp.sum(jnp.cos(rows(x)))

    x = normal(5)
    chunked, whole = loss(JACOBIANS[name], chunk_size=2), loss(JACOBIANS[name])
    agree(grad(chunked)(x), grad(whole)(x), rtol=1e-10)
    agree(jvp(chunked, (x,), (x,)), jvp(whole, (x,), (x,)), rtol=1e-10)
    xs = normal(3, 5)
    agree(jit(vmap(chunked))(xs), vmap(whole)(xs), rtol=1e-10)


@pytest.mark.parametrize("name", JACOBIANS)
def test_auxiliary_data_of_jacobians_in_chunks(x64: None, name: str) -> None:
    def fun(x: Any) -> Any:
        y = jnp.sin(x)
        return y * x, {"y": y, "name": "sine", "n": [3, x * y.sum()]}

    x = normal(5)
    rows, aux = JACOBIANS[name](fun, has_aux=True, chunk_size=2)(x)
    expected, expected_aux = JACOBIANS[name](fun, has_aux=True)(x)
    agree(rows, expected)
    assert aux.pop("name") == expected_aux.pop("name") == "sine"
    agree(aux, expected_aux)


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_memory_of_jacobians_follows_the_chunks(name: str) -> None:
    size, width = 64, 4096
    matrix = normal(width, size).astype(np.float32)

    def fun(x: Any) -> Any:  # what it computes on the way is wide
        return jnp.tanh(jnp.sin(matrix @ x) @ matrix)

    def temporary(chunk_size: int | None) -> int:
        rows = jit(JACOBIANS[name](fun, chunk_size=chunk_size))
        compiled = rows.lower(np.ones(size, np.float32)).compile()
        return int(compiled.memory_analysis().temp_size_in_bytes)

    wide, result = 4 * width, 4 * size * size  # which a loop may hold twice
    assert temporary(None) >= size * wide
    for chunk_size in (1, 8, 16):
        assert temporary(chunk_size) < result + (2 * chunk_size + 4) * wide


@pytest.mark.parametrize("name", JACOBIANS)
def test_chunks_of_jacobians_are_positive(name: str) -> None:
    with raises(ArgumentError, match=f"chunk_size of {name} must be positive"):
        JACOBIANS[name](jnp.sin, chunk_size=0)


# Compositions


def chain(lib: Any) -> Fun:
    return lambda x: lib.sum(lib.sin(x) * lib.exp(-x * x) + x**3)


COMPOSITIONS: dict[str, Callable[[Any, Fun], Fun]] = {
    "grad": lambda lib, f: lib.grad(f),
    "grad of grad": lambda lib, f: lib.grad(lambda x: lib.grad(f)(x)[0]),
    "jvp of grad": lambda lib, f: lambda x: lib.jvp(lib.grad(f), (x,), (x,)),
    "grad of jvp": lambda lib, f: lib.grad(lambda x: lib.jvp(f, (x,), (x,))[1]),
    "vjp of vjp": lambda lib, f: lambda x: lib.vjp(lambda y: lib.vjp(f, y)[1](1.0)[0], x)[1](x),
    "jvp of jvp": lambda lib, f: lambda x: lib.jvp(lambda y: lib.jvp(f, (y,), (x,))[1], (x,), (x,)),
    "linearize of grad": lambda lib, f: lambda x: lib.linearize(lib.grad(f), x)[1](x),
    "vmap of grad": lambda lib, f: lambda x: lib.vmap(lib.grad(f))(x * x[:, None]),
    "grad of vmap": lambda lib, f: lib.grad(lambda x: lib.vmap(f)(x * x[:, None]).sum()),
    "vmap of jvp": lambda lib, f: (
        lambda x: lib.vmap(lambda t: lib.jvp(f, (x,), (t,))[1])(x * x[:, None])
    ),
    "jvp of vmap": lambda lib, f: (
        lambda x: lib.jvp(lambda y: lib.vmap(f)(y * y[:, None]), (x,), (x,))
    ),
    "vmap of vmap of grad": lambda lib, f: (
        lambda x: lib.vmap(lib.vmap(lib.grad(f)))(x * x[:, None] * x[:, None, None])
    ),
    "vmap of hessian": lambda lib, f: lambda x: lib.vmap(lib.hessian(f))(x * x[:, None]),
    "jit of grad of jit": lambda lib, f: lib.jit(lib.grad(lib.jit(f))),
    "grad of jit of grad": lambda lib, f: lib.grad(
        lambda x: lib.jit(lib.grad(lib.jit(f)))(x).sum()
    ),
    "vmap of jit of grad": lambda lib, f: lambda x: lib.vmap(lib.jit(lib.grad(f)))(x * x[:, None]),
    "jit of vmap of jvp of jit": lambda lib, f: lib.jit(
        lambda x: lib.vmap(lambda t: lib.jvp(lib.jit(f), (x,), (t,))[1])(x * x[:, None])
    ),
    "jacfwd of jacrev": lambda lib, f: lib.jacfwd(lib.jacrev(f)),
    "jacrev of jacfwd": lambda lib, f: lib.jacrev(lib.jacfwd(f)),
    "third derivative": lambda lib, f: lib.jacfwd(lib.jacrev(lib.jacfwd(f))),
    "linearize of jit of vmap": lambda lib, f: (
        lambda x: lib.linearize(lib.jit(lib.vmap(lib.jit(f))), x * x[:, None])[1](x * x[:, None])
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions_agree_with_jax(x64: None, name: str) -> None:
    compose = COMPOSITIONS[name]
    x = np.array([0.3, -0.7])
    ours = compose(tinyjax, chain(jnp))
    expected = jax.jit(compose(jax, chain(jax.numpy)))(x)
    agree(ours(jnp.asarray(x)), expected, rtol=1e-10)
    agree(jit(ours)(x), expected, rtol=1e-10)


def test_closures_over_traced_values_of_every_level(x64: None) -> None:
    def program(lib: Any, np_like: Any) -> Fun:
        def fun(a: Any) -> Any:
            def level_1(b: Any) -> Any:
                def level_2(c: Any) -> Any:
                    def level_3(d: Any) -> Any:
                        return np_like.sin(a * d) + b * c * d + np_like.cos(c)

                    return lib.grad(lib.jit(level_3))(a * c) * b

                return lib.jvp(level_2, (a * b,), (b,))[1] + level_2(b)

            return lib.vmap(level_1)(np_like.stack([a, a * a])).sum()

        return fun

    ours, theirs = program(tinyjax, jnp), program(jax, jax.numpy)
    agree(jit(ours)(0.7), jax.jit(theirs)(0.7))
    agree(grad(ours)(0.7), jax.jit(jax.grad(theirs))(0.7))
    agree(jit(grad(grad(ours)))(0.7), jax.jit(jax.grad(jax.grad(theirs)))(0.7), rtol=1e-10)
    xs = np.array([0.2, 0.5])
    agree(jit(vmap(grad(ours)))(xs), jax.jit(jax.vmap(jax.grad(theirs)))(xs), rtol=1e-10)


def test_perturbations_of_different_levels_are_kept_apart() -> None:
    assert float(grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert float(grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0)) == 6.0
    value, slope = jvp(lambda x: x * jvp(lambda y: x * y, (2.0,), (1.0,))[1], (3.0,), (1.0,))
    assert (float(value), float(slope)) == (9.0, 6.0)


def test_a_linear_map_used_inside_other_transformations() -> None:
    _, tangent_map = linearize(jnp.sin, jnp.arange(3.0))
    _, pull_back = vjp(jnp.sin, jnp.arange(3.0))
    basis = jnp.eye(3)
    expected = np.diag(np.cos(np.arange(3.0)))
    np.testing.assert_allclose(vmap(tangent_map)(basis), expected, rtol=1e-6)
    np.testing.assert_allclose(vmap(pull_back)(basis)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(jit(vmap(tangent_map))(basis), expected, rtol=1e-6)
    # and within the derivative that made it
    slope = grad(lambda x: linearize(jnp.sin, x)[1](x))(0.5)
    np.testing.assert_allclose(slope, np.cos(0.5) - 0.5 * np.sin(0.5), rtol=1e-6)


# What may be transformed


def test_callables_of_all_kinds() -> None:
    @attrs.frozen
    class Scaled:
        factor: float

        def __call__(self, x: Any) -> Any:
            return self.factor * x * x

        def method(self, x: Any) -> Any:
            return self.factor * x * x

        @classmethod
        def of_class(cls, x: Any) -> Any:
            return 3.0 * x * x

        @staticmethod
        def of_none(x: Any) -> Any:
            return 3.0 * x * x

    def plain(factor: Any, x: Any) -> Any:
        return factor * x * x

    def by_generator(x: Any) -> Any:
        return sum(factor * x * x for factor in (1.0, 2.0))

    scaled = Scaled(3.0)
    for fun in (
        scaled,
        scaled.method,
        Scaled.of_class,
        Scaled.of_none,
        functools.partial(plain, 3.0),
        functools.partial(plain, factor=3.0),
        functools.partial(scaled),
        by_generator,
        jit(scaled),
        functools.lru_cache(plain).__wrapped__.__get__(3.0),
    ):
        if isinstance(fun, functools.partial) and fun.keywords:
            assert float(grad(lambda x, fun=fun: fun(x=x))(2.0)) == 12.0
            continue
        assert float(grad(fun)(2.0)) == 12.0
        assert float(jvp(fun, (2.0,), (1.0,))[1]) == 12.0
        assert float(vmap(fun)(jnp.full(2, 2.0))[1]) == 12.0
        assert float(jit(fun)(2.0)) == 12.0


def test_primitive_functions_may_be_transformed_themselves() -> None:
    assert float(grad(jnp.sin)(0.0)) == 1.0
    assert float(grad(grad(jnp.sin))(0.0)) == 0.0
    np.testing.assert_array_equal(vmap(jnp.negative)(jnp.arange(2.0)), [0.0, -1.0])


def test_functions_keep_their_names() -> None:
    def documented(x: Any) -> Any:
        """Return the argument."""
        return x

    for transform in (grad, value_and_grad, vmap, jacfwd, jacrev, hessian, make_jaxpr, jit):
        made: Any = transform(documented)
        assert made.__name__ == "documented"
        assert made.__doc__ == "Return the argument."


def test_generators_as_arguments_are_consumed_in_the_function() -> None:
    def fun(x: Any) -> Any:
        powers = (x**n for n in range(1, 4))
        return sum(powers)

    assert float(grad(fun)(2.0)) == 1 + 4 + 12
    assert float(jit(fun)(2.0)) == 14.0


def test_python_control_flow_on_primals() -> None:
    def newton(x: Any) -> Any:
        guess = x
        while abs(guess * guess - x) > 1e-6:
            guess = 0.5 * (guess + x / guess)
        return guess

    with tinyjax.default_dtypes("float64"):
        np.testing.assert_allclose(grad(newton)(2.0), 0.5 / np.sqrt(2.0), rtol=1e-6)
        np.testing.assert_allclose(jvp(newton, (2.0,), (1.0,))[0], np.sqrt(2.0), rtol=1e-6)


def test_numpy_is_a_constant_to_a_derivative_of_another_argument() -> None:
    table = np.arange(4.0, dtype=np.float32)
    gradient = grad(lambda x: jnp.sum(x * np.sin(table)))(2.0)
    np.testing.assert_allclose(gradient, np.sin(table).sum(), rtol=1e-6)


# Contexts: exceptions, threads, tasks


def test_an_exception_inside_any_transformation_leaves_nothing_behind() -> None:
    def failing(x: Any) -> Any:
        jnp.sin(x)
        raise RuntimeError("inside")

    calls: list[Callable[[], object]] = [
        lambda: grad(failing)(1.0),
        lambda: jvp(failing, (1.0,), (1.0,)),
        lambda: vmap(failing)(jnp.ones(2)),
        lambda: jit(failing)(1.0),
        lambda: make_jaxpr(failing)(1.0),
        lambda: jit(grad(vmap(jit(failing))))(jnp.ones(2)),
        lambda: vmap(lambda x: jvp(failing, (x,), (x,)))(jnp.ones(2)),
    ]
    for call in calls:
        with raises(RuntimeError, match="inside"):
            call()
        assert current_trace() is EVAL
        assert float(jnp.sin(0.0)) == 0.0


def test_an_exception_may_be_caught_inside() -> None:
    def guarded(x: Any) -> Any:
        try:
            grad(undefined)(x)
        except ZeroDivisionError:
            return x * 2.0
        return x

    def undefined(y: Any) -> Any:
        raise ZeroDivisionError

    assert float(grad(guarded)(1.0)) == 2.0
    assert float(jit(guarded)(1.0)) == 2.0


def test_generators_suspended_within_a_transformation() -> None:
    def values(x: Any) -> Iterator[Any]:
        yield jnp.sin(x)
        yield jnp.cos(x)

    def fun(x: Any) -> Any:
        first, second = values(x)
        return first * second

    np.testing.assert_allclose(grad(fun)(0.3), np.cos(0.6), rtol=1e-6)


def test_threads_transform_independently() -> None:
    barrier = threading.Barrier(3)
    results: dict[str, Any] = {}

    def fun(x: Any) -> Any:
        y = jnp.sin(x)
        barrier.wait(timeout=20)  # all three are inside their transformations now
        return y * x

    def run(name: str, call: Callable[[], Any]) -> None:
        results[name] = call()

    threads = [
        threading.Thread(target=run, args=("grad", lambda: grad(fun)(0.5))),
        threading.Thread(target=run, args=("vmap", lambda: vmap(fun)(jnp.full(2, 0.5)))),
        threading.Thread(target=run, args=("jit", lambda: jit(fun)(0.5))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(results["grad"], np.sin(0.5) + 0.5 * np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(results["vmap"], np.full(2, 0.5 * np.sin(0.5)), rtol=1e-6)
    np.testing.assert_allclose(results["jit"], 0.5 * np.sin(0.5), rtol=1e-6)


def test_tasks_transform_independently() -> None:
    # A function is transformed while its body is suspended: each task steps through its own.
    async def derivative(x: float, pauses: int) -> float:
        for _ in range(pauses):
            await asyncio.sleep(0)
        found = float(grad(lambda y: jnp.sin(y) * y)(x))
        await asyncio.sleep(0)
        assert current_trace() is EVAL
        return found

    async def all_of_them() -> list[float]:
        return await asyncio.gather(*(derivative(0.1 * k, k % 3) for k in range(6)))

    xs = 0.1 * np.arange(6)
    np.testing.assert_allclose(
        asyncio.run(all_of_them()), np.sin(xs) + xs * np.cos(xs), rtol=1e-5, atol=1e-6
    )


def test_a_thread_started_inside_evaluates() -> None:
    # a thread has its own context, where nothing is being transformed
    seen: list[Any] = []

    def fun(x: Any) -> Any:
        thread = threading.Thread(target=lambda: seen.append(float(jnp.sin(0.5))))
        thread.start()
        thread.join()
        return x * 2.0

    assert float(grad(fun)(1.0)) == 2.0
    np.testing.assert_allclose(seen, [np.sin(0.5)], rtol=1e-6)


def test_no_rule_is_asked_where_everything_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contract of Primitive, on which rules rely."""
    asked = set()

    def watched(name: str, rule: Any) -> Any:
        def check(first: Any, *rest: Any) -> Any:
            tangents = rest[0] if name == "jvp" else first
            assert any(t is not ZERO for t in tangents)
            asked.add(name)
            return rule(first, *rest)

        return check

    for primitive in registry.values():
        for name in ("jvp", "transpose"):
            monkeypatch.setattr(
                primitive.rules, name, watched(name, getattr(primitive.rules, name))
            )

    def iteration(carry: Any, x: Any) -> Any:
        a, b, n = carry
        y = lax.cond(n > 1, lambda: jnp.sin(a) * x, lambda: lax.stop_gradient(a))
        return (jnp.where(x > 0, y, 1.0), jnp.concatenate([b[1:], y[None]]), n + 1), b * 2.0

    def fun(x: Any) -> Any:
        last, ys = lax.scan(iteration, (x, jnp.zeros(3), 0), jnp.arange(4.0) - 1.0)
        values, _ = lax.top_k(jnp.split(ys.reshape(-1), 2)[0] * x, 2)
        return last[0] + values.sum() + jnp.sort(ys[-1])[0]

    for f in (fun, tinyjax.jit(fun), tinyjax.checkpoint(fun)):
        tinyjax.grad(f)(0.7)
        tinyjax.jvp(tinyjax.grad(f), (0.7,), (1.0,))
        tinyjax.vmap(tinyjax.grad(f))(jnp.array([0.3, 0.6]))
    assert asked == {"jvp", "transpose"}


def test_vmap_hands_on_what_it_does_not_map_over() -> None:
    def f(x: Any, how: Any, count: Any) -> Any:
        assert type(count) is int
        return how(x) * count

    got = tinyjax.vmap(f, in_axes=(0, None, None))(jnp.arange(3.0), jnp.cos, 2)
    np.testing.assert_allclose(got, 2 * np.cos(np.arange(3.0)), rtol=1e-6)


def test_a_function_whose_shape_is_asked_for_may_return_a_type() -> None:
    struct = tinyjax.ShapeDtypeStruct((2,), np.float32)
    assert tinyjax.eval_shape(lambda: (struct, 1)) == tinyjax.eval_shape(lambda: (jnp.ones(2), 1))
    assert jnp.shape(struct) == (2,)
    assert jnp.size(struct) == 2
    assert not jnp.iscomplexobj(struct)


#: Functions of a module of JAX's names and a type, which stands for an array within ``eval_shape``.
OF_A_TYPE: dict[str, Callable[[Any, Any], Any]] = {
    "jit": lambda m, x: m.jit(lambda v: v * 2)(x),
    "jit of a tree": lambda m, x: m.jit(lambda d: d["a"] + 1)({"a": x}),
    "numpy": lambda m, x: m.numpy.sin(x),
    "reduction": lambda m, x: m.numpy.sum(x),
    "lax": lambda m, x: m.lax.sin(x),
    "two": lambda m, x: m.numpy.dot(x, x),
    "vmap": lambda m, x: m.vmap(lambda v: v + 1)(x),
    "vmap, closed over": lambda m, x: m.vmap(lambda v: v + m.numpy.sin(x))(m.numpy.ones((2, 3))),
    "grad": lambda m, x: m.grad(lambda v: (v * v).sum())(x),
    "checkpoint": lambda m, x: m.checkpoint(m.numpy.sin)(x),
    "scan": lambda m, x: m.lax.scan(lambda c, v: (c + v, v), 0.0, x),
    "cond": lambda m, x: m.lax.cond(True, m.numpy.sin, m.numpy.cos, x),
    "closed over by jit": lambda m, x: m.jit(lambda: m.numpy.sin(x))(),
}


@pytest.mark.parametrize("name", OF_A_TYPE)
def test_a_type_stands_for_an_array_where_only_types_are_asked_for(name: str) -> None:
    def types(m: Any) -> list[tuple[Any, Any]]:
        struct = m.ShapeDtypeStruct((3,), np.float32)
        result = m.eval_shape(lambda: OF_A_TYPE[name](m, struct))
        return [(x.shape, x.dtype) for x in m.tree.leaves(result)]

    assert types(tinyjax) == types(jax)


@pytest.mark.wrong_types
def test_a_type_that_stood_for_an_array_is_not_computed_with() -> None:
    struct: Any = tinyjax.ShapeDtypeStruct((3,), np.float32)
    closed = tinyjax.jit(lambda: jnp.cos(struct))
    assert tinyjax.eval_shape(closed).shape == (3,)
    with raises(TypeError, match="It has no data"):
        closed()
    with raises(TypeError, match="traced"):
        tinyjax.eval_shape(lambda: jnp.ones(int(jnp.sum(struct))))

    def constant() -> Any:
        with tinyjax.ensure_compile_time_eval():
            return jnp.cos(struct)

    with raises(TypeError, match="has no data"):
        tinyjax.eval_shape(constant)


@pytest.mark.wrong_types
def test_operators_are_left_to_the_other_operand() -> None:
    class Marker:
        def __rpow__(self, other: Any) -> str:
            return "taken over"

    x: Any = jnp.ones(2)
    assert x ** Marker() == "taken over"
    with pytest.raises(TypeError):
        x * Marker()


@pytest.mark.parametrize(("size", "is_large"), [(40, False), (100, True)])
def test_directions_come_first_where_large_arrays_are_summed_along_several_axes(
    size: int, is_large: bool
) -> None:
    """Else they come last, where innermost loops run over them; XLA keeps such arrays then."""

    def energy(x: Any) -> Any:
        return jnp.sum(jnp.tanh(jnp.outer(x, x)))

    x = np.linspace(0.1, 1.0, size)
    for derivative in (hessian(energy), jacfwd(grad(energy))):
        eqns = [e for e in make_jaxpr(derivative)(x).eqns if e.primitive.name == "reduce_sum"]
        axes = {eqn.params.axes for eqn in eqns if eqn.inputs[0].aval.ndim == 3}
        assert ((1,) in axes, (2,) in axes, (0,) in axes) == (True, is_large, not is_large)
        # sum over i, j of f(x_i x_j): second derivatives in closed form
        product = np.outer(x, x)
        first, second = 1 / np.cosh(product) ** 2, -2 * np.tanh(product) / np.cosh(product) ** 2
        expected = 2 * (first + product * second) + np.diag(2 * second @ x**2)
        agree(jit(derivative)(x), expected, 1e-9)

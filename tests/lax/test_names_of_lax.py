"""Functions of ``tinyjax.lax`` made of several primitives, and the primitives by their names."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.lax import primitives
from tinyjax.test_util import check_grads

pytestmark = pytest.mark.usefixtures("each_tier")


@pytest.mark.parametrize("name", primitives.__all__)
def test_primitives_have_the_names_of_jax(name: str) -> None:
    assert isinstance(getattr(lax, name), Primitive)
    assert hasattr(jax.lax, name)


def test_an_equation_is_of_the_primitive_named() -> None:
    jaxpr = tinyjax.make_jaxpr(lambda x: lax.mul(lax.sin(x), x))(1.0)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [lax.sin_p, lax.mul_p]


def test_a_name_that_is_none() -> None:
    with raises(AttributeError, match="no attribute 'squeeze_p'"):
        getattr(lax, "squeeze_p")  # noqa: B009 (a type checker would find it)


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def same(ours: Any, theirs: Callable[[], Any], tol: float = 1e-12) -> None:
    with jax.enable_x64(True):
        expected = np.asarray(theirs())
    assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(ours, expected, tol, tol)


@pytest.mark.parametrize("kind", list(lax.FftType))
@pytest.mark.parametrize("lengths", [(), (6,), (5,), (4, 6), (3, 2, 5)])
def test_fft(kind: Any, lengths: tuple[int, ...]) -> None:
    if not lengths and kind.name in ("RFFT", "IRFFT"):
        return
    shape = (2, *lengths)
    if kind.name == "IRFFT":
        shape = (*shape[:-1], shape[-1] // 2 + 1)
    x = random(*shape) if kind.name == "RFFT" else random(*shape) + 1j * random(*shape, seed=1)
    for call in (lax.fft, tinyjax.jit(lax.fft, static_argnums=(1, 2))):
        same(call(x, kind, lengths), lambda: jax.lax.fft(x, kind.name, lengths))
    same(lax.fft(x, kind.name, lengths), lambda: jax.lax.fft(x, kind.name, lengths))


CONVOLUTIONS: list[tuple[tuple[str, str, str] | None, tuple[int, ...], Sequence[int]]] = [
    (None, (2, 3, 7), (2,)),
    (("NHWC", "HWIO", "NHWC"), (2, 6, 5, 3), (3, 2)),
    (("NCHW", "IWHO", "WNCH"), (2, 3, 6, 5), (2, 3)),
]


@pytest.mark.parametrize(("numbers", "shape", "window"), CONVOLUTIONS)
def test_patches(numbers: Any, shape: tuple[int, ...], window: Sequence[int]) -> None:
    x = random(*shape)
    strides = (2,) * len(window)
    each: list[dict[str, Any]] = [{}, {"rhs_dilation": (2,) * len(window)}]
    for options in each:
        given = partial(jax.lax.conv_general_dilated_patches, dimension_numbers=numbers, **options)
        got = lax.conv_general_dilated_patches(
            x, window, strides, "SAME", dimension_numbers=numbers, **options
        )
        same(got, partial(given, x, window, strides, "SAME"))


@pytest.mark.parametrize(("numbers", "shape", "window"), CONVOLUTIONS)
def test_kernels_that_differ_from_place_to_place(
    numbers: Any, shape: tuple[int, ...], window: Sequence[int]
) -> None:
    x = random(*shape)
    named = lax.conv_dimension_numbers(shape, (1, 1, *window), numbers)
    patches = lax.conv_general_dilated_patches(
        x, window, (1,) * len(window), "VALID", dimension_numbers=numbers
    )
    sizes = [0] * len(shape)
    sizes[named.rhs_spec[0]], sizes[named.rhs_spec[1]] = 4, patches.shape[named.out_spec[1]]
    for own, out in zip(named.rhs_spec[2:], named.out_spec[2:], strict=True):
        sizes[own] = patches.shape[out]
    kernel = random(*sizes, seed=1)
    arguments = (kernel, (1,) * len(window), "VALID", window)
    got = lax.conv_general_dilated_local(x, *arguments, dimension_numbers=numbers)
    same(
        got,
        lambda: jax.lax.conv_general_dilated_local(x, *arguments, dimension_numbers=numbers),
    )


def test_shapes_of_windows() -> None:
    numbers = ("NHWC", "HWIO", "NHWC")
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("conv_general_permutations", (numbers,)),
        ("conv_shape_tuple", ((4, 3, 8, 9), (5, 3, 3, 2), (1, 2), "SAME")),
        ("conv_shape_tuple", ((4, 3, 8, 9), (5, 3, 3, 2), (1, 2), [(0, 1), (1, 1)], 2)),
        ("conv_general_shape_tuple", ((4, 8, 9, 3), (3, 2, 3, 5), (1, 2), "VALID", numbers)),
        *(
            ("conv_transpose_shape_tuple", ((4, 8, 9, 3), (3, 2, 3, 5), (1, 4), pads, numbers))
            for pads in ("VALID", "SAME")
        ),
        ("reduce_window_shape_tuple", ((7, 8), (2, 3), (2, 1), [(0, 0), (1, 1)])),
        ("reduce_window_shape_tuple", ((7, 8), (2, 3), (2, 1), [(0, 0)] * 2, (2, 1), (1, 2))),
    ]
    for name, arguments in calls:
        assert getattr(lax, name)(*arguments) == getattr(jax.lax, name)(*arguments), name


def test_ragged_products() -> None:
    x, y, sizes = random(7, 3), random(3, 3, 2), np.array([2, 0, 4])
    for call in (lax.ragged_dot, tinyjax.jit(lax.ragged_dot)):
        same(call(x, y, sizes), lambda: jax.lax.ragged_dot(x, y, sizes))
    check_grads(lambda x, y: lax.ragged_dot(x, y, sizes), (x, y), 2)
    batched = tinyjax.vmap(lax.ragged_dot, (0, None, 0))(
        np.stack([x, -x]), y, np.array([[2, 0, 4], [1, 1, 1]])
    )
    np.testing.assert_allclose(batched[1], lax.ragged_dot(-x, y, np.array([1, 1, 1])))


def test_derivatives_of_rounding_are_rounded() -> None:
    _, tangent = tinyjax.jvp(lambda x: lax.reduce_precision(x, 8, 7), (1.2,), (1.001,))
    assert float(tangent) == 1.0
    assert float(tinyjax.grad(lambda x: lax.reduce_precision(x, 8, 7))(1.2)) == 1.0


Axes = tuple[int, ...]
RAGGED: list[tuple[Axes, Axes, Axes, Any, Axes, Axes]] = [
    # the shapes of both operands and of the sizes, axes, the divided axis, and the groups'
    ((5, 3), (2, 3, 4), (2,), (((1,), (1,)), ((), ())), (0,), (0,)),
    ((2, 6, 5, 3), (3, 2, 3, 4), (3,), (((3,), (2,)), ((0,), (1,))), (2,), (0,)),
    ((2, 6, 5, 3), (3, 2, 3, 4), (2, 6, 3), (((3,), (2,)), ((0,), (1,))), (2,), (0,)),
    ((2, 6, 5, 3), (5, 2, 3, 4), (2, 3, 3), (((3, 2), (2, 0)), ((0,), (1,))), (2,), ()),
    ((6, 5, 3), (5, 3, 2), (4,), (((1, 2), (0, 1)), ((), ())), (1,), ()),
    ((2, 6, 5, 3), (5, 2, 3, 4), (2,), (((3, 2), (2, 0)), ((0,), (1,))), (0,), ()),
]


@pytest.mark.parametrize(("lhs", "rhs", "groups", "dots", "divided", "group"), RAGGED)
def test_ragged_products_over_any_axes(
    lhs: Axes, rhs: Axes, groups: Axes, dots: Any, divided: Axes, group: Axes
) -> None:
    x, y = random(*lhs), random(*rhs, seed=1)
    sizes = np.random.default_rng(2).integers(0, 3, groups, np.int32)
    numbers = lax.RaggedDotDimensionNumbers(dots, divided, group)
    theirs = jax.lax.RaggedDotDimensionNumbers(dots, divided, group)

    def product(x: Any, y: Any) -> Any:
        return lax.ragged_dot_general(x, y, sizes, numbers)

    for call in (product, tinyjax.jit(product)):
        same(call(x, y), lambda: jax.lax.ragged_dot_general(x, y, sizes, theirs))
    check_grads(product, (x, y), 2)
    stacked = tinyjax.vmap(product)(np.stack([x, -x]), np.stack([y, y]))
    np.testing.assert_allclose(stacked, np.stack([product(x, y), -product(x, y)]), 1e-12, 1e-12)


SCALED: list[tuple[Axes, Axes, Axes | None, Axes | None, Any]] = [
    ((3, 8), (8, 4), (3, 2), (4, 4), None),
    ((2, 3, 8), (2, 8, 4), None, (2, 1, 4), None),
    ((8, 3, 2), (4, 2, 8), (2, 3, 2), None, (((0,), (2,)), ((2,), (1,)))),
]


@pytest.mark.parametrize(("lhs", "rhs", "lhs_scales", "rhs_scales", "numbers"), SCALED)
@pytest.mark.parametrize("dtype", [None, "float32"])
def test_scaled_products(
    lhs: Axes, rhs: Axes, lhs_scales: Axes | None, rhs_scales: Axes | None, numbers: Any, dtype: Any
) -> None:
    x, y = (random(*shape).astype(jnp.float8_e4m3fn) for shape in (lhs, rhs))
    a, b = (None if s is None else np.exp2(np.round(random(*s))) for s in (lhs_scales, rhs_scales))
    if dtype is None and a is None:
        x = np.round(np.float32(x))  # so that no rounding depends on the order of a sum

    def product(m: Any, x: Any, y: Any) -> Any:
        return m.scaled_dot(
            x,
            y,
            lhs_scale=a,
            rhs_scale=b,
            dimension_numbers=numbers,
            preferred_element_type=dtype,
        )

    for call in (product, tinyjax.jit(product, static_argnums=0)):
        ours = np.float32(call(lax, x, y))
        np.testing.assert_allclose(ours, np.float32(product(jax.lax, x, y)), 1e-2, 1e-2)
    slope = tinyjax.grad(lambda x: product(lax, x, y).sum().astype("float32"))(np.float32(x))
    assert slope.shape == x.shape


def test_bits_of_xla() -> None:
    words = np.array([1, 2**31, 3, 4], np.uint32)
    for state, dtype in ((words, "uint8"), (words, "uint64"), (words.view("uint64"), "uint32")):
        ours = lax.rng_bit_generator(state, (2, 3), dtype)
        with jax.enable_x64(True):
            theirs = jax.lax.rng_bit_generator(state, (2, 3), np.dtype(dtype))
        for x, y in zip(ours, theirs, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)
    assert str(lax.RandomAlgorithm.RNG_PHILOX) == "RNG_PHILOX"
    assert [*map(int, lax.RandomAlgorithm)] == [*map(int, jax.lax.RandomAlgorithm)]


def test_scatter_apply() -> None:
    x, at = random(5), np.array([[1], [7], [3], [-1]])
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))

    def apply(x: Any) -> Any:
        return lax.scatter_apply(x, at, lambda x: x * x, numbers, update_shape=(4,))

    theirs = jax.lax.ScatterDimensionNumbers((), (0,), (0,))
    for call in (apply, tinyjax.jit(apply)):
        same(
            call(x),
            lambda: jax.lax.scatter_apply(x, at, lambda x: x * x, theirs, update_shape=(4,)),
        )
    check_grads(apply, (x,), 2)


def test_a_value_is_staged_and_kept() -> None:
    def program(x: Any) -> Any:
        lax.dce_sink({"a": [lax.sin(x)]})
        return lax.stage(2.0)

    jaxpr = tinyjax.make_jaxpr(program)(1.0)
    assert [e.primitive.name for e in jaxpr.eqns] == ["sin", "dce_sink", "stage"]
    assert tinyjax.jit(program)(1.0) == program(1.0) == 2.0
    assert tinyjax.grad(program)(1.0) == 0.0


def test_a_barrier_keeps_containers() -> None:
    assert lax.optimization_barrier({"a": 1, "b": ()}) == {"a": 1, "b": ()}
    assert lax.optimization_barrier(()) == ()
    assert "optimization_barrier" in tinyjax.jit(lax.optimization_barrier).lower(1.0).as_text()


def test_one_example_in_all() -> None:
    x = {"a": random(3, 2)}

    def of_second(call: Any) -> Any:
        return lambda x: call(x, "i", 1)

    got = tinyjax.vmap(of_second(lax.pbroadcast), axis_name="i")(x)
    np.testing.assert_array_equal(got["a"], np.stack([x["a"][1]] * 3))
    with raises(IndexError, match="source is 3"):
        tinyjax.vmap(lambda x: lax.pbroadcast(x, "i", 3), axis_name="i")(x["a"])
    gradient = tinyjax.grad(
        lambda x: tinyjax.vmap(of_second(lax.pbroadcast), axis_name="i")(x).sum()
    )
    np.testing.assert_array_equal(gradient(x["a"])[:, 0], [0.0, 3.0, 0.0])


def test_what_is_of_no_effect() -> None:
    x = random(3)
    near = lax.Tolerance(rtol=1e-3), lax.AccuracyMode.HIGHEST
    for accuracy in near:
        np.testing.assert_array_equal(lax.exp(x, accuracy=accuracy), lax.exp(x))
    assert {p.name for p in lax.DotAlgorithmPreset} == {p.name for p in jax.lax.DotAlgorithmPreset}
    assert lax.with_sharding_constraint(x, None) is x
    np.testing.assert_array_equal(lax.shape_as_value((2, 3)), jax.lax.shape_as_value((2, 3)))
    with raises(OverflowError, match="shape holds 1099511627776"):
        lax.shape_as_value((2**40,))
    assert lax.composite(jnp.sin, "sine") is jnp.sin


@pytest.mark.wrong_types
def test_arguments_are_checked() -> None:
    any_pairs: Any = (1,)
    x, whole = jnp.ones((2, 3)), jnp.array([1, 1])

    def ragged(divided: Axes, group: Axes, sizes: Any) -> Any:
        numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), divided, group)
        return lax.ragged_dot_general(x, x, sizes, numbers)

    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: lax.fft(x, "DCT", (3,)), ArgumentError, "for fft_type"),
        (lambda: lax.fft(x, "RFFT", (4,)), ShapeError, "last axes are"),
        (lambda: lax.fft(x, "RFFT", (1, 2, 3)), ShapeError, "over 3 axes"),
        (lambda: lax.fft(x + 1j, "RFFT", (3,)), DtypeError, "takes real numbers"),
        (lambda: lax.reduce_precision(x, 0, 1), ArgumentError, "at least 1"),
        (lambda: lax.ragged_dot(x, x, x), ShapeError, "takes shapes"),
        (lambda: lax.ragged_dot(x, x[None].mT, jnp.ones(1)), DtypeError, "takes integers"),
        (
            lambda: lax.ragged_dot(x, x[None].mT, jnp.ones(1, int), group_offset=0),
            ArgumentError,
            "no group_offset",
        ),
        (lambda: ragged((0,), (), jnp.ones(1)), DtypeError, "takes integers"),
        (lambda: ragged((0, 1), (), whole), ArgumentError, "one axis for lhs_ragged"),
        (lambda: ragged((0,), (1,), whole), ShapeError, "neither contracted nor aligned"),
        (lambda: ragged((1,), (0,), whole), ArgumentError, "only where lhs's divided axis"),
        (lambda: ragged((1,), (), whole[None]), ShapeError, r"of shape \(\) before"),
        (lambda: ragged((1,), (), 1), ShapeError, "is a scalar"),
        (lambda: lax.RaggedDotDimensionNumbers(any_pairs, (), ()), ArgumentError, "lhs_contract"),
        (lambda: lax.scaled_dot(x[0], x), ShapeError, "as many axes"),
        (lambda: lax.scaled_dot(x, x.T, lhs_scale=x), ShapeError, "for each two or more"),
        (lambda: lax.rng_bit_generator(x, (1,), "uint32", 1), ArgumentError, "by Threefry"),
        (
            lambda: unchecked(lax.dce_sink)(x, prevent_mlir_dce=True),
            ArgumentError,
            "not in compiled",
        ),
        (lambda: lax.conv_shape_tuple((1, 1, 3), (1, 1, 2), (1,), []), ShapeError, "0 pads"),
        (
            lambda: lax.conv_shape_tuple((1, 1, 3), (1, 1, 2), (1,), [(-4, 0)]),
            ShapeError,
            "cut off",
        ),
        (
            lambda: lax.conv_transpose_shape_tuple(
                (1, 3, 1), (2, 1, 1), (1,), "UP", ("NHC", "HIO", "NHC")
            ),
            ArgumentError,
            "'SAME', 'VALID' or pairs",
        ),
    ]
    for call, error, message in calls:
        with raises(error, match=message):
            call()

"""The autodiff toolbox, against jax, closed forms, finite differences, and other ways to do it."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import attrs
import jax
import jax.numpy
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, jit, lax, nn, tree, vmap
from tinyjax._primitives.dot import dot_general_p
from tinyjax.autodiff import (
    Order,
    accumulation,
    elimination,
    gauss_newton_vp,
    hutchinson_trace,
    hvp,
    jacobian,
    jvp_from_vjp,
    multiplications,
    vjp_from_jvp,
)
from tinyjax.core.primitives.elementwise import mul
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.errors import ArgumentError, DifferentiationError

Fun = Callable[..., Any]
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


def agree(actual: Any, expected: Any, rtol: float = 1e-10) -> None:
    """Assert that two trees have the same leaves, in shape, dtype and value."""
    ours, theirs = tree.leaves(actual), jax.tree.leaves(expected)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol, rtol)


# hvp


def energy(x: Any) -> Any:
    return jnp.sum(jnp.tanh(x) ** 2) + jnp.prod(jnp.cos(x))


def test_hessian_vector_products() -> None:
    x, v = normal(3, 2), normal(3, 2)
    hessian = tinyjax.hessian(energy)(x)
    agree(hvp(energy, (x,), (v,)), jnp.tensordot(hessian, v, 2))
    agree(jit(lambda x, v: hvp(energy, (x,), (v,)))(x, v), jnp.tensordot(hessian, v, 2))


def test_hvp_of_several_arguments_in_containers() -> None:
    def fun(p: Any, y: Any) -> Any:
        return jnp.sum(jnp.sin(p["w"]) * y) * p["b"] ** 2

    p, y = {"w": normal(3), "b": normal()}, normal(3)
    dp, dy = {"w": normal(3), "b": normal()}, normal(3)
    step = 1e-5
    gradient = tinyjax.grad(fun, (0, 1))

    def moved(step: float) -> Any:
        return gradient(tree.map(lambda a, b: a + step * b, p, dp), y + step * dy)

    slopes = tree.map(lambda a, b: (a - b) / (2 * step), moved(step), moved(-step))
    agree(hvp(fun, (p, y), (dp, dy)), slopes, 1e-8)


def test_hvp_under_vmap_is_the_hessian() -> None:
    x = normal(4)
    rows = vmap(lambda v: hvp(energy, (x,), (v,)))(np.eye(4))
    agree(rows, tinyjax.hessian(energy)(x))


# gauss_newton_vp


def test_gauss_newton_products() -> None:
    x, v = normal(5), normal(5)
    w = normal(3, 5)

    def model(x: Any) -> dict[str, Array]:
        return {"a": jnp.tanh(w @ x), "b": x[0] * x[1]}

    def loss(y: Any) -> Any:
        return jnp.sum(jnp.exp(y["a"])) + y["b"] ** 4

    j = tinyjax.jacrev(model)(x)
    value = model(x)
    expected = j["a"].T @ (jnp.exp(value["a"]) * (j["a"] @ v)) + j["b"] * 12 * value["b"] ** 2 * (
        j["b"] @ v
    )
    agree(gauss_newton_vp(model, loss, (x,), (v,)), expected)
    agree(jit(lambda v: gauss_newton_vp(model, loss, (x,), (v,)))(v), expected)


def test_gauss_newton_is_the_hessian_of_a_loss_of_a_linear_model() -> None:
    w, b = normal(3, 4), normal(3)
    dw, db = normal(3, 4), normal(3)
    x = normal(4)

    def loss(y: Any) -> Any:
        return nn.logsumexp(y)

    def model(w: Any, b: Any) -> Any:
        return w @ x + b

    product = gauss_newton_vp(model, loss, (w, b), (dw, db))
    agree(product, hvp(lambda w, b: loss(model(w, b)), (w, b), (dw, db)))


def test_gauss_newton_evaluates_the_model_once() -> None:
    calls = 0

    def model(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return jnp.sin(x)

    x = normal(3)
    matrix = vmap(lambda v: gauss_newton_vp(model, lambda y: jnp.sum(y**2) / 2, (x,), (v,)))
    agree(matrix(np.eye(3)), np.diag(np.cos(x) ** 2))
    assert calls == 1


# hutchinson_trace


def test_the_trace_of_a_diagonal_matrix_is_exact() -> None:
    x, y = normal(6), normal(2, 2)
    key = tinyjax.random.key(0)
    found = hutchinson_trace(
        lambda x, y: jnp.sum(x**4) + jnp.sum(jnp.cos(y)), (x, y), key, samples=3
    )
    agree(found, np.sum(12 * x**2) - np.sum(np.cos(y)))


def test_the_trace_is_right_on_average() -> None:
    m = normal(8, 8)
    symmetric = m + m.T
    off = symmetric - np.diag(np.diag(symmetric))
    x, samples = normal(8), 4000
    estimate = jit(
        lambda key: hutchinson_trace(lambda x: x @ (symmetric @ x) / 2, (x,), key, samples)
    )
    found = [float(estimate(tinyjax.random.key(seed))) for seed in range(4)]
    deviation = np.sqrt(2 * np.sum(off**2) / samples)
    errors = (np.array(found) - np.trace(symmetric)) / deviation
    assert np.all(np.abs(errors) < 4)
    assert len(set(found)) == 4, "the key decides"


# One mode from the other


def several(x: Any, y: Any) -> dict[str, Array]:
    return {"a": jnp.sin(x) * y["p"], "b": jnp.cumsum(x) @ y["q"]}


def test_forward_mode_from_reverse_mode() -> None:
    args = normal(3), {"p": normal(), "q": normal(3)}
    ts = normal(3), {"p": normal(), "q": normal(3)}
    expected = tinyjax.jvp(several, args, ts)
    agree(jvp_from_vjp(several, args, ts), expected)
    agree(jit(lambda a, t: jvp_from_vjp(several, a, t))(args, ts), expected)
    complex_sin = jvp_from_vjp(jnp.sin, (1.0 + 2.0j,), (0.5 - 1.0j,))
    agree(complex_sin, tinyjax.jvp(jnp.sin, (1.0 + 2.0j,), (0.5 - 1.0j,)), 1e-6)


def test_forward_mode_where_there_is_only_a_rule_for_reverse_mode() -> None:
    @tinyjax.custom_vjp
    def clipped(x: Any) -> Any:
        return x * x

    clipped.defvjp(lambda x: (x * x, x), lambda x, ct: (jnp.clip(2 * x, -1, 1) * ct,))
    x, t = np.array([-3.0, 0.25, 2.0]), np.array([1.0, 2.0, 3.0])
    with pytest.raises(DifferentiationError):
        tinyjax.jvp(clipped, (x,), (t,))
    value, tangent = jvp_from_vjp(clipped, (x,), (t,))
    agree(value, x * x)
    agree(tangent, np.array([-1.0, 1.0, 3.0]))


def test_integers_go_through_forward_mode_from_reverse_mode() -> None:
    zero = np.zeros((), tinyjax.float0)
    value, tangent = jvp_from_vjp(lambda x, n: (x**n, n), (2.0, 3), (1.0, zero))
    assert (float(value[0]), int(value[1]), float(tangent[0])) == (8.0, 3, 12.0)
    assert tangent[1].dtype == tinyjax.float0


def test_reverse_mode_from_forward_mode() -> None:
    args = normal(3), {"p": normal(), "q": normal(3)}
    ct = {"a": normal(3), "b": normal()}
    value, pull_back = vjp_from_jvp(several, *args)
    expected_value, expected = tinyjax.vjp(several, *args)
    agree(value, expected_value)
    agree(pull_back(ct), expected(ct))
    agree(jit(pull_back)(ct), expected(ct))


def test_programs_inside_are_transposed_in_the_tangents_alone() -> None:
    """A compiled program's derivative computes values too, in which nothing is linear."""

    def fun(x: Any) -> Any:
        return (
            jit(jnp.sin)(x)
            * tinyjax.checkpoint(jnp.cos)(x)
            * lax.fori_loop(0, 2, lambda _, c: jnp.sin(c * x), x)
        )

    x, ct = normal(3), normal(3)
    agree(vjp_from_jvp(fun, x)[1](ct), tinyjax.vjp(fun, x)[1](ct))
    agree(jit(lambda x: vjp_from_jvp(fun, x)[1](ct))(x), tinyjax.vjp(fun, x)[1](ct))


def _scanned(x: Any) -> Any:
    last, ys = lax.scan(lambda c, y: (jnp.sin(c) * y, c * y), x, jnp.arange(1.0, 4.0))
    return last * jnp.sum(ys)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: jnp.cos(jit(jit(jnp.sin))(x) * x),
        lambda x: jnp.cos(lax.cond(x[0] > 0, jnp.sin, jnp.cos, x) * x),
        lambda x: jnp.cos(lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) * x, x) * x),
        lambda x: lax.cond(x[0] > 0, jit(_scanned), _scanned, x) ** 2,
        _scanned,
    ],
    ids=["jit", "cond", "fori_loop", "nested", "scan"],
)
def test_a_compiled_push_forward_is_transposed(fun: Any) -> None:
    """Of a program in it that gives a value and its tangent, the value is computed."""
    x, ct = normal(3), normal(3)
    expected = tinyjax.vjp(fun, x)[1](ct)
    for push in (
        jit(lambda t: tinyjax.jvp(fun, (x,), (t,))[1]),
        tinyjax.checkpoint(jit(lambda t: tinyjax.jvp(fun, (x,), (t,))[1])),
    ):
        transposed = tinyjax.linear_transpose(push, x)
        agree(transposed(ct), expected)
        agree(jit(transposed)(ct), expected)


def test_reverse_mode_of_a_rule_for_forward_mode_only() -> None:
    @tinyjax.custom_jvp
    def steep(x: Any) -> Any:
        return jnp.sin(x)

    @steep.defjvp
    def steep_jvp(primals: Any, tangents: Any) -> Any:
        return steep(*primals), 10.0 * tangents[0]

    assert float(vjp_from_jvp(steep, 1.0)[1](2.0)[0]) == 20.0


# linear_transpose


def test_linear_transpose_against_jax() -> None:
    w = normal(3, 4)

    def ours(x: Any, y: Any) -> Any:
        return {"a": w @ x["u"] - 2.0 * y, "b": (jnp.cumsum(x["u"])[::-1], x["v"].sum())}

    def theirs(x: Any, y: Any) -> Any:
        jaxs = jax.numpy
        return {"a": w @ x["u"] - 2.0 * y, "b": (jaxs.cumsum(x["u"])[::-1], x["v"].sum())}

    args = {"u": normal(4), "v": normal(2, 2)}, normal(3)
    ct = {"a": normal(3), "b": (normal(4), normal())}
    with jax.enable_x64(True):
        expected = jax.tree.map(np.asarray, jax.linear_transpose(theirs, *args)(ct))
    transposed = tinyjax.linear_transpose(ours, *args)
    agree(transposed(ct), expected)
    agree(jit(transposed)(ct), expected)
    twice = tinyjax.linear_transpose(transposed, ct)
    agree(twice(args)[0], ours(*args))


def test_linear_transpose_takes_types_and_complex_numbers() -> None:
    struct = tinyjax.ShapeDtypeStruct((2,), np.dtype("complex128"))
    times = np.array([1.0 + 2.0j, 3.0j])
    (found,) = tinyjax.linear_transpose(lambda z: times * z, struct)(np.array([1.0j, 2.0]))
    agree(found, times * np.array([1.0j, 2.0]))
    (conjugated,) = tinyjax.linear_transpose(jnp.conj, struct)(np.array([1.0j, 2.0]))
    agree(conjugated, np.array([-1.0j, 2.0]))


def test_what_a_linear_function_closes_over_can_be_differentiated() -> None:
    def pulled(a: Any) -> Any:
        (ct,) = tinyjax.linear_transpose(lambda x: jnp.sin(a) * x, 1.0)(3.0)
        return ct

    assert float(tinyjax.grad(pulled)(0.5)) == pytest.approx(3 * np.cos(0.5))


def test_what_has_no_transpose() -> None:
    with raises(DifferentiationError, match=r"applies 'sin' to what depends"):
        tinyjax.linear_transpose(lambda x: 2 * jnp.sin(x), 1.0)(1.0)
    with raises(DifferentiationError, match="the divisor"):
        tinyjax.linear_transpose(lambda x: 2 / x, 1.0)(1.0)
    with raises(DifferentiationError, match="is int32"):
        tinyjax.linear_transpose(lambda n: n * 2.0, 1)
    with raises(DifferentiationError, match=r"returned int32\[\] at result\['n'\]"):
        tinyjax.linear_transpose(lambda x: {"n": x.astype(jnp.int32)}, 1.0)
    with pytest.raises(tree.TreeMismatchError):
        tinyjax.linear_transpose(lambda x: (x, x), 1.0)(1.0)
    with raises(DifferentiationError, match="cotangent of result"):
        tinyjax.linear_transpose(lambda x: 2 * x, 1.0)(normal(3))


# closure_convert


def test_closure_convert_hands_over_what_is_traced() -> None:
    table = jnp.array([1.0, 2.0])

    def fun(a: Any, n: Any) -> Any:
        converted, closed_over = tinyjax.closure_convert(
            lambda x, y: {"z": a * x + table.sum() * y["k"] + n}, 1.0, {"k": 1.0}
        )
        assert len(closed_over) == 1, "not the array at hand, nor the integer"
        slope = tinyjax.grad(lambda *args: converted(*args)["z"], 2)(5.0, {"k": 2.0}, *closed_over)
        return slope + converted(5.0, {"k": 2.0}, *closed_over)["z"]

    # d/da x = x, and the value itself
    assert float(jit(fun)(3.0, 4)) == 5 + 15 + 6 + 4
    assert float(tinyjax.grad(fun)(3.0, 4)) == 5.0


def test_closure_convert_in_a_custom_rule() -> None:
    """A rule takes what the function given to it closes over, and gives its derivative."""

    def doubled(fun: Fun, x: Any) -> Any:
        converted, consts = tinyjax.closure_convert(fun, x)

        @tinyjax.custom_vjp
        def call(x: Any, *consts: Any) -> Any:
            return converted(x, *consts)

        def forward(x: Any, *consts: Any) -> Any:
            return converted(x, *consts), (x, *consts)

        def backward(args: Any, ct: Any) -> Any:
            return tree.map(lambda g: 2 * g, tinyjax.vjp(converted, *args)[1](ct))

        call.defvjp(forward, backward)
        return call(x, *consts)

    slope = tinyjax.grad(lambda a: doubled(lambda x: jnp.sin(a * x), 2.0))(0.25)
    assert float(slope) == pytest.approx(2 * 2.0 * np.cos(0.5), rel=1e-6)


def test_closure_convert_says_what_does_not_fit() -> None:
    converted, closed_over = tinyjax.closure_convert(lambda x: x * 2, np.ones(3))
    assert closed_over == []
    with raises(ArgumentError, match=r"takes 1 arguments and the 0 values"):
        converted()
    with raises(ArgumentError, match=r"x of .*<lambda> .* for float64\[3\], is float64\["):
        converted(np.ones(2))


# Jacobians by elimination


@attrs.frozen
class Example:
    """A function, where to differentiate it, and whether less than either mode is expected."""

    name: str
    fun: Fun
    x: Any
    saves: bool = False


V10, TARGET = normal(10), normal(16)
A, B, C, D = normal(4, 16), normal(16, 4), normal(3, 16), normal(12, 3)
M6 = normal(6, 6)


def lighthouse(p: Any) -> Any:
    speed, offset, turn, time = p
    at = speed * jnp.tan(turn * time) / (offset - jnp.tan(turn * time))
    return jnp.stack([at, offset * at])


def spherical(p: Any) -> Any:
    r, theta, phi = p
    ring = r * jnp.sin(theta)
    return jnp.stack([ring * jnp.cos(phi), ring * jnp.sin(phi), r * jnp.cos(theta)])


def arm(angles: Any) -> Any:
    """The hand of a robot with four joints."""
    pose = jnp.eye(3)
    for i in range(4):
        c, s, zero = jnp.cos(angles[i]), jnp.sin(angles[i]), 0 * angles[i]
        rows = [jnp.stack(row) for row in ([c, -s, zero + 1], [s, c, zero], [zero, zero, zero + 1])]
        pose = pose @ jnp.stack(rows)
    return pose[:2, 2]


def predators(y: Any) -> Any:
    a, b = y
    for _ in range(3):
        a, b = a + 0.1 * (a - a * b), b + 0.1 * (a * b - b)
    return jnp.stack([a, b])


def lorenz(y: Any) -> Any:
    """A step of the classical Runge-Kutta method."""

    def slope(y: Any) -> Any:
        return jnp.stack(
            [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]
        )

    h = 0.01
    first = slope(y)
    second = slope(y + h / 2 * first)
    third = slope(y + h / 2 * second)
    return y + h / 6 * (first + 2 * second + 2 * third + slope(y + h * third))


def heat(u: Any) -> Any:
    for _ in range(2):
        u = u.at[1:-1].add(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1])
    return u


def normalized(x: Any, axis: int) -> Any:
    centred = x - x.mean(axis, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(axis, keepdims=True) + 1e-5)


def projected(x: Any) -> Any:
    return (x - (x @ V10) / (V10 @ V10) * V10) / jnp.sqrt(x @ x)


EXAMPLES: Final = (
    Example("narrow", lambda x: jnp.sin(x.sum()) * jnp.cos(x.sum()) * x, normal(20), saves=True),
    Example("layer norm", lambda x: normalized(x, 0), normal(12), saves=True),
    Example("group norm", lambda x: normalized(x.reshape(3, 4), 1), normal(12), saves=True),
    Example(
        "bottlenecks",
        lambda x: jnp.tanh(D @ jnp.tanh(C @ jnp.tanh(B @ jnp.tanh(A @ x)))),
        normal(16),
        saves=True,
    ),
    Example("robot arm", arm, normal(4)),
    Example("scaled", lambda x: (D @ (C @ x)) * jnp.sum((D @ (C @ x)) ** 2), TARGET, saves=True),
    Example("projection", projected, normal(10), saves=True),
    Example(
        "mean field",
        lambda x: jnp.tanh(x * jnp.sin(x.mean()) + jnp.cos(x.mean())),
        normal(10),
        saves=True,
    ),
    Example("unit vector", lambda x: x / jnp.sqrt(jnp.sum(x**2)), normal(12)),
    Example("softmax", nn.softmax, normal(8)),
    Example("logsumexp", nn.logsumexp, normal(8)),
    Example("autoencoder", lambda x: jnp.tanh(B @ jnp.tanh(A @ x)), normal(16)),
    Example("perceptron", lambda x: jnp.tanh(A @ jnp.tanh(B @ x)), normal(4)),
    Example("lighthouse", lighthouse, np.array([0.5, 2.0, 0.3, 0.7])),
    Example("spherical", spherical, normal(3)),
    Example("predators", predators, np.array([1.0, 0.5])),
    Example("lorenz", lorenz, normal(3)),
    Example(
        "rosenbrock",
        lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        normal(6),
    ),
    Example("heat", heat, normal(8)),
    Example("outer", lambda x: jnp.outer(jnp.sin(x), jnp.cos(x)), normal(4)),
    Example("padded", lambda x: jnp.pad(jnp.sin(x), 1, constant_values=3.0) ** 2, normal(4)),
    Example("quadratic forms", lambda x: jnp.stack([x @ (M6 @ x), x @ x]), normal(6)),
    Example("products", lambda x: jnp.cumprod(jnp.exp(x)), normal(6)),
    Example("matrix", lambda x: jnp.sin(x @ x), normal(3, 3)),
    Example("attention", lambda q: nn.softmax(q @ q.T) @ q, normal(4, 2)),
    Example("cholesky", lambda x: jnp.linalg.cholesky(jnp.outer(x, x) + 4 * jnp.eye(3)), normal(3)),
)
ORDERS: Final[tuple[Order, ...]] = ("auto", "forward", "reverse")

examples = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


@pytest.mark.sampled(4)
@examples
def test_every_order_gives_the_jacobian(example: Example) -> None:
    expected = tinyjax.jacfwd(example.fun)(example.x)
    for order in ORDERS:
        agree(jacobian(example.fun, order=order)(example.x), expected)
    agree(jit(jacobian(example.fun))(example.x), expected)


@examples
def test_auto_takes_no_more_than_the_better_mode(example: Example) -> None:
    auto, forward, reverse = (
        multiplications(example.fun, order=order)(example.x) for order in ORDERS
    )
    assert auto <= min(forward, reverse)
    if example.saves:
        assert auto <= 0.9 * min(forward, reverse)


def test_an_order_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For programs of one structure; where zeros are elsewhere, the program is another."""
    searched: list[int] = []
    search = elimination._search

    def counting(graph: elimination.Graph) -> tuple[int, ...]:
        searched.append(len(graph.inner))
        return search(graph)

    monkeypatch.setattr(elimination, "_search", counting)
    monkeypatch.setattr(elimination, "_FOUND", OrderedDict())

    def picked(places: list[int]) -> Fun:
        return lambda x: jnp.sin(x[np.array(places)]) * jnp.sum(jnp.cos(x))

    x, y = normal(4), normal(4)
    for places, times in (([0, 1], 1), ([0, 1], 1), ([3, 3], 2)):
        for point in (x, y):
            agree(jit(jacobian(picked(places)))(point), tinyjax.jacfwd(picked(places))(point))
        assert len(searched) == times


def test_enough_examples() -> None:
    assert len(EXAMPLES) >= 20
    assert sum(example.saves for example in EXAMPLES) >= 5


def work_of(jaxpr: Jaxpr) -> int:
    """The multiplications that a program makes, as one sees them in it."""
    found = 0
    for eqn in jaxpr.eqns:
        (out, *_) = eqn.out_binders
        if eqn.primitive is mul:
            found += out.aval.size
        elif eqn.primitive is dot_general_p:
            left, right = (x.aval.size for x in eqn.inputs)
            found += round((left * right * out.aval.size) ** 0.5)
        found += sum(work_of(inner) for inner in subjaxprs(eqn.params))
    return found


@pytest.mark.sampled(3)
@examples
def test_the_count_is_what_the_program_multiplies(example: Example) -> None:
    """Orders differ in their programs' multiplications as they differ in the count."""
    work: list[int] = []
    counted: list[int] = []
    for order in ORDERS:

        def counting(x: Any, order: Order = order) -> Any:
            # here, since a program that is being staged knows less of its masks and indices
            counted.append(multiplications(example.fun, order=order)(x))
            return jacobian(example.fun, order=order)(x)

        work.append(work_of(tinyjax.make_jaxpr(counting)(example.x).jaxpr))
    assert np.diff(work).tolist() == np.diff(counted).tolist()
    assert counted[0] <= min(counted)


def test_counts_by_hand() -> None:
    p, q, r = normal(7, 2), normal(2, 5), normal(5, 3)
    x = normal(3)
    chain = lambda x: p @ (q @ (r @ x))  # noqa: E731
    # matrices of 7 by 2, 2 by 5 and 5 by 3, multiplied from the right, or from the left
    assert multiplications(chain, order="forward")(x) == 2 * 5 * 3 + 7 * 2 * 3
    assert multiplications(chain, order="reverse")(x) == 7 * 2 * 5 + 7 * 5 * 3
    assert multiplications(chain)(x) == 2 * 5 * 3 + 7 * 2 * 3
    # rows of zeros are not multiplied
    bordered = lambda x: normal(7, 3) @ jnp.pad(q @ (r @ x), (1, 0))  # noqa: E731
    assert multiplications(bordered, order="forward")(x) == 2 * 5 * 3 + 7 * 2 * 3
    # a diagonal matrix times another, of five elements each; and what only moves elements is free
    assert multiplications(lambda x: jnp.sin(jnp.cos(x)))(normal(5)) == 5
    assert multiplications(lambda x: -x[::-1].reshape(5, 1) + 1.0)(normal(5)) == 0


def test_jacobians_of_containers_by_argnums() -> None:
    args = {"w": normal(2, 3), "b": normal(2)}, normal(3)

    def fun(p: Any, x: Any) -> Any:
        return {"y": jnp.tanh(p["w"] @ x + p["b"]), "n": jnp.sum(x**2), "const": 1.0, "x": x}

    for argnums in (0, 1, (0, 1), (-1,)):
        found = jacobian(fun, argnums)(*args)
        expected = tinyjax.jacrev(fun, argnums)(*args)
        assert tree.structure(found) == tree.structure(expected)
        agree(found, expected)


def test_jacobian_with_aux_and_integers() -> None:
    found, aux = jacobian(lambda x, n: (x * n, n + 1), (0, 1), True, allow_int=True)(normal(2), 3)
    agree(found[0], 3.0 * np.eye(2))
    assert found[1].dtype == tinyjax.float0
    assert int(aux) == 4


def recomputed(x: Any) -> Any:
    return jnp.sin(jnp.cos(x)) * x


CONTROL: Final[dict[str, Fun]] = {
    "scan": lambda x: lax.scan(lambda c, t: (jnp.sin(c) * t, c * 2), x[0], x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) * x, x),
    "while_loop": lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: c * (1 + x**2), x),
    "cond": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "checkpoint": tinyjax.checkpoint(recomputed),
    "jit": jit(lambda x: jit(jnp.sin)(x) * jit(jnp.cos)(x.sum())),
    "sort": lambda x: (jnp.sort(x), jnp.max(x), x[jnp.argsort(x)]),
    "where": lambda x: jnp.where(x > 0, x**2, jnp.sin(x)),
    "complex within": lambda x: jnp.abs(jnp.exp(1j * x) * x + x) ** 2,
    "inverse": lambda x: jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(4)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CONTROL)
def test_jacobians_of_programs_with_programs_inside(name: str) -> None:
    fun, x = CONTROL[name], np.array([0.5, 1.25, -0.75, 2.0])
    expected = tinyjax.jacrev(fun)(x)
    for order in ORDERS:
        agree(jacobian(fun, order=order)(x), expected)
    agree(jit(jacobian(fun))(x), expected)


def test_jacobian_of_a_rule_for_reverse_mode_only() -> None:
    @tinyjax.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, ct: (3 * x**2 * ct,))
    x = normal(3)
    agree(jacobian(lambda x: jnp.sin(cube(x)))(x), np.diag(np.cos(x**3) * 3 * x**2))

    @tinyjax.custom_vjp
    def product(x: Any, y: Any) -> Any:
        return x * y

    product.defvjp(lambda x, y: (x * y, y), lambda y, ct: (y * ct, None))
    found = jacobian(lambda x, y: jnp.sin(product(x, y)), (0, 1))(x, x + 1)
    agree(found, (np.diag(np.cos(x * (x + 1)) * (x + 1)), np.zeros((3, 3))))


def test_jacobians_compose() -> None:
    def fun(x: Any) -> Any:
        return jnp.sin(x) * jnp.sum(x**2)

    x = normal(3)
    expected = tinyjax.hessian(fun)(x)
    agree(jacobian(jacobian(fun))(x), expected)
    agree(tinyjax.jacfwd(jacobian(fun))(x), expected)
    agree(tinyjax.jacrev(jit(jacobian(fun)))(x), expected)
    many = normal(4, 3)
    agree(vmap(jacobian(fun))(many), vmap(tinyjax.jacrev(fun))(many))


def test_complex_arguments_are_as_in_jacrev() -> None:
    z = normal(3) + 1j * normal(3)

    def fun(z: Any) -> Any:
        return jnp.abs(z) ** 2 * jnp.real(z * z)

    agree(jacobian(fun)(z), tinyjax.jacrev(fun)(z))

    def through_one_number(z: Any) -> Any:
        return jnp.abs(jnp.dot(z, np.array([1j, 2 - 1j, 3])) - 1) ** 2 * jnp.real(z)

    for order in ORDERS:
        agree(jacobian(through_one_number, order=order)(z), tinyjax.jacrev(through_one_number)(z))


def test_a_function_too_large_for_patterns_takes_a_mode() -> None:
    x = normal(5000)
    fun = lambda x: jnp.sum(jnp.sin(x))  # noqa: E731
    agree(jacobian(fun)(x), np.cos(x))
    wide = jacobian(lambda t: jnp.sin(t * jnp.ones(5000)) * jnp.arange(5000.0))(np.array(0.5))
    assert wide.shape == (5000,)
    factors = np.linspace(0, 1, 5000)
    holomorphic = jacobian(lambda t: jnp.sin(t * factors), holomorphic=True)
    agree(holomorphic(np.array(0.5j)), factors * np.cos(0.5j * factors))
    with raises(ArgumentError, match="more than the 16777216"):
        multiplications(fun)(x)


def test_jacobians_of_and_in_nothing() -> None:
    for fun in (lambda x: jnp.sin(jnp.cos(x)) * x, lambda x: jnp.sum(jnp.sin(x) * x)):
        agree(jacobian(fun)(np.zeros(0)), tinyjax.jacrev(fun)(np.zeros(0)))
    scanned = jacobian(lambda x: lax.scan(lambda c, y: (c, jnp.sin(y) * y), 0.0, x)[1])
    agree(scanned(np.zeros(0)), np.zeros((0, 0)))
    agree(jacobian(lambda x: jnp.sin(jnp.sin(x)[:0]))(normal(2)), np.zeros((0, 2)))
    assert jacobian(lambda x: {})(normal(2)) == {}
    agree(jacobian(lambda x: 3.0)(normal(2)), np.zeros(2))

    def turned_by_none(x: Any) -> Any:
        last, ys = lax.scan(lambda c, _: (jnp.sin(c), c), x, None, 0)
        return last * jnp.sin(jnp.sum(ys) + x)

    for order in ORDERS:
        x = normal(3)
        agree(vmap(jacobian(turned_by_none, order=order))(x), np.sin(x) + x * np.cos(x))


def test_jacobian_says_what_it_cannot_differentiate() -> None:
    with raises(DifferentiationError, match="which are floats, but x of"):
        jacobian(lambda x: x * 1.0)(1)
    with raises(DifferentiationError, match="jacobian requires real-valued outputs"):
        jacobian(lambda x: x * 1j)(1.0)


# Jacobians and Hessians of containers


def test_blocks_are_nested_as_the_containers_are() -> None:
    """Results first, then arguments, as in jax, for tuples of argnums too."""

    def fun(np_: Any) -> Fun:
        def inner(a: Any, b: Any) -> Any:
            return {"u": a["x"] * np_.sum(b[0]), "v": (np_.outer(a["x"], b[1]), a["y"])}

        return inner

    args = {"x": normal(2), "y": normal()}, (normal(3), normal(2))
    changes: list[Any] = [(tinyjax.jacfwd, jax.jacfwd), (tinyjax.jacrev, jax.jacrev)]
    changes.append((tinyjax.hessian, jax.hessian))
    for ours, theirs in changes:
        for argnums in (0, (1, 0)):
            with jax.enable_x64(True):
                expected = jax.jit(theirs(fun(jax.numpy), argnums))(*args)
            found = ours(fun(jnp), argnums)(*args)
            assert str(jax.tree.structure(found)) == str(jax.tree.structure(expected))
            agree(found, expected)


@pytest.mark.parametrize("compiled", [False, True])
def test_products_that_take_longer_than_whole_arrays_are_not_made(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of dense matrices and of loops; outside ``jit`` those of any of these."""
    made: list[int] = []
    accumulate = accumulation._accumulate

    def counting(blocks: Any, order: Any) -> Any:
        made.append(len(blocks))
        return accumulate(blocks, order)

    monkeypatch.setattr(accumulation, "_accumulate", counting)
    matrix, x, y = normal(128, 128) / 8, normal(128), normal(300)

    def looped(x: Any) -> Any:
        return lax.fori_loop(0, 5, lambda _, c: jnp.sin(c) * jnp.sum(c), x)

    rows: list[tuple[Fun, Any, bool]] = [
        (lambda x: jnp.tanh(matrix @ jnp.sin(matrix @ x)), x, False),
        (lambda x: looped(looped(x)), y, False),
        (lambda x: jnp.sin(x[1:] * x[:-1]), y, True),
        (lambda x: jnp.sin(jnp.sin(jnp.sum(x))) * y, y, True),
    ]
    for fun, point, pays in rows:
        found = (jit(jacobian(fun)) if compiled else jacobian(fun))(point)
        agree(found, tinyjax.jacfwd(fun)(point), 1e-9)
        assert bool(made) == (pays and compiled)
        made.clear()


def test_jacobian_remembers_its_mode_and_takes_another_where_that_has_no_derivative() -> None:
    @tinyjax.custom_vjp
    def square(x: Any) -> Any:
        return x**2

    square.defvjp(lambda x: (x**2, x), lambda x, ct: (2 * x * ct,))
    calls, is_custom = 0, False

    def fun(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return jnp.outer(square(x) if is_custom else x**2, jnp.ones(40))

    x, jacobian = jnp.arange(1.0, 31.0), tinyjax.jacobian(fun)
    expected = tinyjax.jacrev(lambda x: jnp.outer(x**2, jnp.ones(40)))(x)
    calls = 0
    np.testing.assert_array_equal(jacobian(x), expected)
    first, calls = calls, 0
    np.testing.assert_array_equal(jacobian(x), expected)
    assert (first, calls) == (2, 1)
    is_custom = True
    np.testing.assert_array_equal(jacobian(x), expected)

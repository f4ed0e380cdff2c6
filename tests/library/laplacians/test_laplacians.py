"""Laplacians in one forward pass: against dense Hessians, nested ``jvp`` and closed forms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from specs import Spec, all_specs
from tinyjax import float0, grad, jacfwd, jacrev, jit, jvp, lax, make_jaxpr, nn, tree, vmap
from tinyjax.autodiff import directional_derivatives, divergence, laplacian
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.core.values.array import Array
from tinyjax.dtypes import is_inexact
from tinyjax.errors import ArgumentError, DifferentiationError
from tinyjax.scipy import special
from tinyjax.testing.stacks import realified

RNG = np.random.default_rng(0)
X = np.linspace(0.3, 1.2, 6).reshape(3, 2)
MATRICES = [RNG.normal(size=shape) for shape in ((2, 3), (3, 3), (3, 2))]


@tinyjax.custom_jvp
def with_a_rule(x: Array) -> Array:
    if x.sum() > 0:  # on data
        return jnp.log1p(jnp.exp(x))
    return x


@with_a_rule.defjvp
def _with_a_rule_jvp(primals: Any, tangents: Any) -> Any:
    return with_a_rule(*primals), nn.sigmoid(primals[0]) * tangents[0]


@tinyjax.custom_jvp
def doubled(x: Array) -> Array:
    return x * 2


doubled.defjvp(lambda primals, tangents: (doubled(*primals), tangents[0] * 2))


@tinyjax.custom_vjp
def reversed_rule(x: Array) -> Array:
    return x**2


reversed_rule.defvjp(lambda x: (x**2, x), lambda x, ct: (2 * x * ct,))


def closes_over(x: Array) -> Array:
    @tinyjax.custom_jvp
    def scaled(y: Array) -> Array:
        return y * x.sum()

    scaled.defjvp(lambda primals, tangents: (scaled(*primals), tangents[0] * x.sum()))
    return scaled(x**2)


def layers(x: Array) -> Array:
    for matrix in MATRICES:
        x = jnp.tanh(x @ matrix + 0.1)
    return x


def attention(x: Array) -> Array:
    return nn.softmax(x @ x.T, axis=-1) @ x


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "elementwise": lambda x: jnp.sin(x) * jnp.exp(x) / (1 + x**2),
    "powers": lambda x: x**2.5 + 2.0**x + x ** (x + 1),
    "special functions": lambda x: special.gammaln(x) * special.erf(x),
    "normalisation": lambda x: nn.logsumexp(x) * nn.softmax(x),
    "nodes": layers,
    "nodes that meet": lambda x: jnp.tanh(layers(x).sum(0)),
    "pairs": lambda x: jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 0.1),
    "attention": attention,
    "products": lambda x: x @ jnp.outer(x.sum(0), x[0] * x[1]) @ x.T,
    "convolution": lambda x: jnp.convolve(x[:, 0], x.reshape(-1)),
    "system": lambda x: jnp.linalg.solve(3 * jnp.eye(3) + x @ x.T, x),
    "determinant": lambda x: jnp.log(abs(jnp.linalg.det(x.T @ x))),
    "kinks": lambda x: (
        jnp.maximum(x, 0.5) * abs(x) * jnp.floor(x + 0.5) + jnp.where(x > 1, x, x**2)
    ),
    "order": lambda x: jnp.cumprod(jnp.sort(x**2, axis=0), axis=1),
    "cumulative": lambda x: jnp.cumsum(x**2, axis=1) * jnp.cumsum(x, axis=0),
    "indices": lambda x: x[jnp.argsort(-x[:, 0])].at[1].multiply(x[2]),
    "moves": lambda x: jnp.concatenate([jnp.flip(x.T**2, 1), jnp.pad(x[1:], ((0, 0), (1, 0)))]),
    "blocks": lambda x: jnp.stack(jnp.split(x**2, 3), 1) * jnp.roll(x, 1, 0),
    "complex": lambda x: abs(jnp.exp(1j * x) + x) + jnp.fft.fft(x, axis=0).real ** 2,
    "complex result": lambda x: jnp.exp(1j * x) * x.sum(),
    "fori_loop": lambda x: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * x + i, x),
    "scan": lambda x: lax.scan(lambda c, a: (c * a, jnp.sin(c)), x[0], x, reverse=True)[1],
    "while_loop": lambda x: lax.while_loop(
        lambda c: c[0].sum() < 9, lambda c: (c[0] * (1 + x), c[1] + 1), (x, 0)
    )[0],
    "cond": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "choice under vmap": vmap(lambda x: lax.cond(x[0] > 0.7, lambda x: x**3, jnp.exp, x)),
    "jit": jit(lambda x: jnp.sin(x) ** 2),
    "checkpoint": tinyjax.checkpoint(lambda x: jnp.sin(x) ** 2),
    "custom rule": with_a_rule,
    "custom rule in a loop": lambda x: lax.fori_loop(0, 3, lambda _, c: nn.relu(c * x - 0.3), x),
    "rule for reverse mode in a loop": lambda x: lax.fori_loop(
        0, 3, lambda _, c: reversed_rule(c * x), x
    ),
    "custom rule of a closure": closes_over,
    "rule for reverse mode": lambda x: jnp.sin(reversed_rule(x) * x),
    "rule for reverse mode, compiled": jit(lambda x: jnp.sin(reversed_rule(x) * x)),
    "gradient": grad(lambda x: jnp.sum(jnp.sin(x) * x**2)),
    "Laplacian": lambda x: laplacian(lambda x: jnp.sin(x).prod() * x)(x).laplacian,
    "constant": lambda x: 0.0 * x + 1.0,
    "no dependence": lambda x: jnp.ones(3),
}


def dense(fun: Callable[[Array], Any], x: Any) -> Any:
    """The Laplacian as the trace of all second derivatives."""

    def parts(flat: Array) -> Any:
        out = jnp.asarray(fun(flat.reshape(x.shape)))
        return (jnp.real(out), jnp.imag(out)) if jnp.iscomplexobj(out) else (out, 0.0 * out)

    real, imag = [jnp.trace(h, 0, -2, -1) for h in jacfwd(jacrev(parts))(x.reshape(-1))]
    return real + 1j * imag if jnp.iscomplexobj(fun(jnp.asarray(x))) else real


@pytest.mark.sampled(4)
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_laplacian_is_the_trace_of_the_hessian(name: str, sparse: bool) -> None:
    fun = FUNCTIONS[name]
    value, jacobian, sums = laplacian(fun, sparse=sparse)(X)
    np.testing.assert_allclose(value, fun(jnp.asarray(X)), 1e-12)
    np.testing.assert_allclose(sums, dense(fun, X), 1e-9, 1e-9)
    if not jnp.iscomplexobj(value):
        np.testing.assert_allclose(jacobian, jacrev(fun)(X), 1e-9, 1e-9)
    if name != "custom rule":  # which asks for data
        compiled = jit(laplacian(fun, sparse=sparse))(X)
        np.testing.assert_allclose(compiled.laplacian, sums, 1e-9, 1e-9)
        np.testing.assert_allclose(compiled.jacobian, jacobian, 1e-9, 1e-9)


def cases() -> list[Any]:
    rows = [spec for spec in all_specs() if spec.grad >= 2 and "grad" not in spec.skip]
    return [pytest.param(spec, id=spec.name) for spec in rows]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("spec", cases())
def test_every_primitive_with_second_derivatives(spec: Spec) -> None:
    """By rules derived from those of jvp: against jacfwd of jacfwd."""
    samples = [s for s in spec.smooth_samples(spec.grad_cases) if sum(x.size for x in s[2])]
    case, _, operands = min(samples, key=lambda sample: sum(x.size for x in sample[2]))
    chosen = [i for i, x in enumerate(operands) if is_inexact(x.dtype)]
    side = realified(spec.applied(case.params), operands, chosen)
    args, places = side.args, tuple(range(len(chosen) + sum(x.dtype.kind == "c" for x in operands)))
    sums = laplacian(side.fun, places)(*args).laplacian
    seconds = jacfwd(jacfwd(side.fun, places), places)(*args)
    for total, of_result in zip(sums, seconds, strict=True):
        traces = [
            np.asarray(of_result[i][i])
            .reshape(*total.shape, args[i].size, args[i].size)
            .trace(axis1=-2, axis2=-1)
            for i in places
        ]
        scale = max(1.0, *(float(np.abs(t).max(initial=0)) for t in traces))
        np.testing.assert_allclose(total, sum(traces), 1e-8, 1e-9 * scale)


# Closed forms


def gaussian(x: Array) -> Array:
    return jnp.exp(-(x @ x) / 2)


CLOSED: dict[str, tuple[Callable[[Array], Array], Callable[[Any], Any]]] = {
    "harmonic: the fundamental solution": (lambda x: 1 / jnp.linalg.norm(x), lambda x: 0.0),
    "harmonic: real part of a power": (
        lambda x: jnp.real((x[0] + 1j * x[1]) ** 5),
        lambda x: 0.0,
    ),
    "harmonic: exponential times sine": (lambda x: jnp.exp(x[0]) * jnp.sin(x[1]), lambda x: 0.0),
    "Gaussian": (gaussian, lambda x: (x @ x - 3) * np.exp(-(x @ x) / 2)),
    "power of the radius": (  # p (p + n - 2) r^(p - 2)
        lambda x: jnp.linalg.norm(x) ** 3.5,
        lambda x: 3.5 * 4.5 * np.linalg.norm(x) ** 1.5,
    ),
    "plane wave": (lambda x: jnp.exp(2j * x.sum()), lambda x: -12 * np.exp(2j * x.sum())),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name: str) -> None:
    fun, expected = CLOSED[name]
    x = np.array([0.7, -0.4, 1.1])
    np.testing.assert_allclose(laplacian(fun)(x).laplacian, expected(x), 1e-12, 1e-12)


# Composition


def quartic(x: Array) -> Array:
    return jnp.sum(x**4) + x[0] ** 2 * x[1]


def test_it_composes() -> None:
    def sums(x: Any) -> Any:  # 12 |x|^2 + 2 x1
        return laplacian(quartic)(x).laplacian

    points = RNG.normal(size=(4, 3))
    expected = 12 * (points**2).sum(1) + 2 * points[:, 1]
    slopes = 24 * points + np.array([0.0, 2.0, 0.0])
    np.testing.assert_allclose(vmap(sums)(points), expected, 1e-12)
    np.testing.assert_allclose(jit(vmap(sums))(points), expected, 1e-12)
    np.testing.assert_allclose(vmap(grad(sums))(points), slopes, 1e-12)
    np.testing.assert_allclose(jit(vmap(jacfwd(sums)))(points), slopes, 1e-12)
    np.testing.assert_allclose(vmap(sums, -1)(points.T), expected, 1e-12)
    _, in_scan = lax.scan(lambda c, x: (c, sums(x)), 0.0, jnp.asarray(points))
    np.testing.assert_allclose(in_scan, expected, 1e-12)
    checkpointed = grad(tinyjax.checkpoint(sums))(points[0])
    np.testing.assert_allclose(checkpointed, slopes[0], 1e-12)


def test_rules_of_functions_tell_their_derivatives() -> None:
    """A rule that is not that of the function says what is used, in either mode."""
    square = tinyjax.custom_jvp(lambda x: x**2)
    square.defjvp(lambda primals, tangents: (square(*primals), primals[0] ** 3 * tangents[0]))
    back = tinyjax.custom_vjp(lambda x: x**2)
    back.defvjp(lambda x: (x**2, x), lambda x, ct: (x**3 * ct,))
    for fun in (square, back, jit(square), jit(back)):
        assert tuple(map(float, laplacian(fun)(2.0))) == (4.0, 8.0, 12.0)


def test_containers_and_argnums() -> None:
    def fun(p: dict[str, Array], n: int, y: Array) -> dict[str, Array]:
        return {"a": p["w"] ** n * y, "b": p["w"].sum() * p["v"] ** 2}

    p = {"w": jnp.array([1.0, 2.0]), "v": jnp.array(3.0)}
    two = jnp.array(2.0)
    value, jacobian, sums = laplacian(fun)(p, 3, two)
    np.testing.assert_allclose(sums["a"], [12.0, 24.0])  # 6 w y
    np.testing.assert_allclose(sums["b"], 6.0)  # 2 (w0 + w1)
    expected = jacrev(fun)(p, 3, two)
    tree.map(np.testing.assert_allclose, jacobian, expected)
    assert tree.structure(value) == tree.structure(sums)
    _, (of_p, of_y), sums = laplacian(lambda p, y: fun(p, 3, y)["a"], (0, 1))(p, two)
    np.testing.assert_allclose(of_y, [1.0, 8.0])
    np.testing.assert_allclose(sums, [12.0, 24.0])
    tree.map(np.testing.assert_allclose, of_p, expected["a"])


def test_precisions() -> None:
    for dtype in (jnp.float32, jnp.float16, jnp.bfloat16):
        out = laplacian(lambda x: jnp.sum(jnp.sin(x) * 2))(jnp.ones(3, dtype))
        assert {x.dtype for x in out} == {jnp.dtype(dtype)}
        np.testing.assert_allclose(float(out.laplacian), -6 * np.sin(1), 0.02)
    assert float(laplacian(lambda x: x**3)(2.0).laplacian) == 12.0


def test_nothing_at_all() -> None:
    value, gradient, total = laplacian(lambda x: x.sum())(np.zeros((0, 2)))
    assert (float(value), gradient.shape, float(total)) == (0.0, (0, 2), 0.0)
    assert float(divergence(lambda x: x)(np.zeros(0))) == 0.0


# Sparsity


def largest_product(jaxpr: Jaxpr) -> int:
    """The most elements of a product: rows are widened where nodes meet, and then only added."""
    inner = [largest_product(sub) for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params)]
    products = [e for e in jaxpr.eqns if e.primitive.name in ("mul", "dot_general")]
    return max([v.aval.size for eqn in products for v in eqn.out_binders] + inner)


SIDE_BY_SIDE: dict[str, Callable[[Array], Array]] = {
    "sum over nodes": lambda x: layers(x).sum(),
    "bias and mask": lambda x: jnp.where(x > 0, layers(x) * 2 + jnp.ones(2), 0.0).sum(),
    "normalised": lambda x: nn.softmax(layers(x), -1).sum(0),
    "transposed": lambda x: (layers(x).T ** 2).reshape(2, 5, 2).sum((0, 1)),
    "split": lambda x: jnp.stack([y.sum() for y in jnp.split(layers(x), 2)]),
    "custom rule": lambda x: layers(doubled(x)).sum(),
    "staged custom rule": jit(lambda x: layers(doubled(x)).sum()),
    "mapped": lambda x: vmap(lambda x: layers(x) @ x)(x).sum(),
}


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_nodes_carry_their_own_derivatives_only(name: str) -> None:
    """Ten nodes of two inputs and three features: three rows are enough, not twenty-one."""
    fun = SIDE_BY_SIDE[name]
    x = RNG.normal(size=(10, 2))
    by_nodes = make_jaxpr(lambda x: laplacian(fun)(x)[::2])(x).jaxpr
    by_all = make_jaxpr(lambda x: laplacian(fun, sparse=False)(x)[::2])(x).jaxpr
    assert largest_product(by_nodes) <= 3 * 10 * 3 < 21 * 10 * 3 <= largest_product(by_all)
    np.testing.assert_allclose(laplacian(fun)(x).laplacian, dense(fun, x), 1e-9, 1e-9)


# Divergence, and derivatives along a direction


def test_divergence_is_the_trace_of_the_jacobian() -> None:
    def field(x: Array) -> Array:
        return jnp.sin(x) * x.sum() + x[::-1]

    trace = jnp.trace(jacfwd(lambda flat: field(flat.reshape(3, 2)).ravel())(X.reshape(-1)))
    for of_field in (divergence(field), divergence(field, sparse=False), jit(divergence(field))):
        np.testing.assert_allclose(of_field(X), trace, 1e-12)
    swap = lambda x, y: (y * x, x + y**2)  # noqa: E731
    np.testing.assert_allclose(divergence(swap, (0, 1))(X, X), (3 * X).sum(), 1e-12)
    np.testing.assert_allclose(
        divergence(grad(gaussian))(X[0]), laplacian(gaussian)(X[0]).laplacian, 1e-12
    )
    elementwise = make_jaxpr(divergence(lambda x: jnp.sin(x) ** 2))(np.zeros(50)).jaxpr
    assert largest_product(elementwise) == 100
    assert float(divergence(lambda x: jnp.ones(2))(X[0])) == 0.0


def test_derivatives_along_a_direction() -> None:
    v = RNG.normal(size=X.shape)
    for name in ("elementwise", "attention", "scan", "custom rule", "complex result", "constant"):
        fun = FUNCTIONS[name]

        def slope(x: Any, fun: Callable[[Array], Array] = fun) -> Any:
            return jvp(fun, (x,), (v,))[1]

        value, first, second = directional_derivatives(fun, (X,), (v,))
        np.testing.assert_allclose(value, fun(jnp.asarray(X)), 1e-12)
        np.testing.assert_allclose(first, slope(X), 1e-9, 1e-9)
        np.testing.assert_allclose(second, jvp(slope, (X,), (v,))[1], 1e-9, 1e-9)
    _, _, count = directional_derivatives(lambda x, n: n + 1, (X, 1), (v, np.zeros((), float0)))
    assert count.dtype == float0


def test_constants_of_choices_and_loops_have_no_derivatives() -> None:
    """With zero derivatives, operations without derivatives would be refused on constants."""
    places, factors, x = jnp.array([1, 0, 1]), jnp.array([2.0, 3.0, 4.0]), jnp.array([1.0, 2.0])

    def scaled(x: Any) -> Any:
        return (x**3).at[places].multiply(factors)

    def chosen(x: Any) -> Any:
        return lax.cond(x.sum() > 0, scaled, jnp.sin, x)

    def once(x: Any) -> Any:
        return lax.fori_loop(0, 1, lambda i, y: scaled(y), x)

    def scanned(x: Any) -> Any:
        return lax.scan(lambda y, _: (scaled(y), None), x, None, length=1)[0]

    for fun in (scaled, chosen, once, scanned):
        result = jit(laplacian(fun))(x).laplacian
        np.testing.assert_allclose(result, [3 * 6 * 1.0, 8 * 6 * 2.0], rtol=1e-6)


def test_wrong_arguments() -> None:
    with raises(DifferentiationError, match=r"real-valued inputs.* Take real and imaginary parts"):
        laplacian(jnp.sin)(1j)
    with raises(DifferentiationError, match=r"laplacian requires real-valued inputs"):
        laplacian(jnp.sin)(1)
    with raises(DifferentiationError, match=r"results of floats .* returned int"):
        laplacian(lambda x: x.astype(int))(1.0)
    with raises(ArgumentError, match=r"result like the argument"):
        divergence(jnp.sum)(X)
    with raises(DifferentiationError, match=r"tangent of x of sin"):
        directional_derivatives(jnp.sin, (1.0,), (np.ones(3),))

"""Patterns of derivatives, colourings, and sparse Jacobians and Hessians, against dense ones."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from fuzz.drawing import CASES, Case
from fuzz.forgetting import forget_sometimes
from raising import raises
from specs import Spec, all_specs
from tinyjax import dtypes, errors, lax
from tinyjax._library.sparsity import colouring
from tinyjax._library.sparsity.pattern import of_pairs, picked
from tinyjax.autodiff import SparsityPattern, hessian_sparsity, jacobian_sparsity
from tinyjax.core.tracing.primitive import NoParams, Primitive
from tinyjax.dtypes import HostArray
from tinyjax.experimental.sparse import BCOO
from tinyjax.extend import SPARSITY, bind1, def_linear
from tinyjax.testing.stacks import StackLayer

X = jnp.asarray(np.random.default_rng(0).uniform(0.5, 1.5, 12))
LOWER = np.random.default_rng(1).uniform(1, 2, (5, 12)) * np.eye(5, 12, 2)


# Patterns of primitives


def differentiable(row: Spec) -> bool:
    return bool(row.grad or row.linear)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "row", [row for row in all_specs() if differentiable(row)], ids=lambda row: row.name
)
def test_patterns_cover_the_derivatives_of_primitives(row: Spec) -> None:
    """Whatever the operands, what differs from zero is in the pattern, and in that at the point."""
    for case, _, operands in row.smooth_samples(row.grad_cases):
        kinds = [np.asarray(x).dtype for x in operands]
        floats = [i for i, dtype in enumerate(kinds) if dtypes.is_float(dtype)]
        if any(map(dtypes.is_complex, kinds)) or not all(map(np.size, operands)):
            continue  # refused; nothing to be seen
        fun = real(row.applied(case.params))
        dense = tinyjax.jacrev(fun, floats)(*operands)
        for at_point in (False, True):
            patterns = jacobian_sparsity(fun, *operands, argnums=floats, at_point=at_point)
            assert_covers(patterns, dense)


def real(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The results of a function that have a derivative, as real arrays."""

    def of_floats(*args: Any) -> list[Any]:
        outs = tinyjax.tree.leaves(fun(*args))
        parts = [[jnp.real(x), jnp.imag(x)] if dtypes.is_complex(x.dtype) else [x] for x in outs]
        return [x for part in parts for x in part if dtypes.is_float(x.dtype)]

    return of_floats


def assert_covers(patterns: Any, dense: Any) -> None:
    for pattern, block in zip(
        tinyjax.tree.leaves(patterns), tinyjax.tree.leaves(dense), strict=True
    ):
        matrix = np.asarray(block).reshape(pattern.shape)
        assert not (np.nan_to_num(matrix) != 0)[~pattern.todense()].any(), pattern


# Patterns that are known exactly


@tinyjax.custom_jvp
def straight_through(x: Any) -> Any:
    return jnp.round(x)


straight_through.defjvp(lambda primals, tangents: (jnp.round(primals[0]), tangents[0]))


@tinyjax.custom_vjp
def reversed_back(x: Any) -> Any:
    return jnp.round(x)


reversed_back.defvjp(lambda x: (jnp.round(x), None), lambda residuals, ct: (ct[::-1],))


def sequential(x: Any) -> Any:
    return lax.fori_loop(0, 5, lambda i, c: c.at[i].set(c[i + 1] * c[i]), x)


def brusselator(u: Any, n: int = 3) -> Any:
    u, v = u.reshape(2, n, n)

    def laplacian(z: Any) -> Any:
        sides = jnp.roll(z, 1, 0) + jnp.roll(z, -1, 0) + jnp.roll(z, 1, 1) + jnp.roll(z, -1, 1)
        return sides - 4.0 * z

    reaction = u * u * v
    return jnp.stack([1 + reaction - 4.4 * u + laplacian(u), 3.4 * u - reaction + laplacian(v)])


EXACT: dict[str, Callable[[Any], Any]] = {
    "slices": lambda x: x[1:] * x[:-1],
    "one for all": lambda x: jnp.sin(x) * x[0],
    "cumsum": lambda x: jnp.cumsum(x)[::2],
    "cumprod, reversed": lambda x: lax.cumprod(x, reverse=True),
    "rolled": lambda x: jnp.roll(x, 1) * x - jnp.roll(x, -1),
    "product of matrices": lambda x: x.reshape(3, 4) @ x.reshape(4, 3),
    "constant sparse matrix": lambda x: LOWER @ x,
    "batched product": lambda x: jnp.einsum(
        "bij,bjk->bik", x.reshape(3, 2, 2), jnp.ones((3, 2, 5))
    ),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.roll(c, 1) * c, x),
    "loop by its index": sequential,
    "running product": lambda x: lax.scan(lambda c, a: (c * a, c * a), 1.0 + 0 * X[0], x)[1],
    "backwards": lambda x: lax.scan(lambda c, a: (c * a, c), x[0], x, reverse=True)[1],
    "mapped": lambda x: lax.map(lambda a: jnp.sin(a) * a, x),
    "vmapped": lambda x: tinyjax.vmap(lambda a: jnp.stack([a[0] * a[1], a[0]]))(x.reshape(6, 2)),
    "called": tinyjax.jit(lambda x: tinyjax.jit(jnp.diff)(x) * 2.0),
    "checkpointed": tinyjax.checkpoint(lambda x: jnp.sin(x[1:]) * x[:-1]),
    "known while": lambda x: lax.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, jnp.roll(c[1], 1) * x), (0, x)
    )[1],
    "gather": lambda x: x[np.array([3, 1, 1, 0])] ** 2,
    "scatter": lambda x: jnp.zeros(6).at[np.array([1, 4, 1])].add(x[:3]) * 2.0,
    "set": lambda x: x.at[np.array([1, 4])].set(x[0]),
    "masked by a constant": lambda x: x * np.arange(12).clip(0, 3) % 1.0 + x * (np.arange(12) > 4),
    "chosen by a constant": lambda x: jnp.where(np.arange(12) % 3 == 0, x, x[::-1]),
    "product of rows": lambda x: jnp.prod(x.reshape(3, 4), 1),
    "convolution": lambda x: jnp.convolve(x, np.array([1.0, 0.0, 2.0]), mode="same"),
    "window": lambda x: lax.reduce_window(x, 0.0, lax.add, (3,), (2,), "VALID"),
    "no derivative": lambda x: jnp.floor(x) + jnp.sign(x) + lax.stop_gradient(x),
    "custom jvp": straight_through,
    "custom vjp": lambda x: reversed_back(x) * 2.0,
    "custom vjp, one result unused": lambda x: reversed_back(x)[:3],
    "pairs": lambda x: jnp.linalg.solve(
        x[:8].reshape(2, 2, 2) + 3 * jnp.eye(2), jnp.ones((2, 2, 1))
    ),
    "Brusselator": lambda x: brusselator(jnp.concatenate([x, x[:6] * 2])),
    "complex on the way": lambda x: jnp.real((x[:6] + 1j * x[6:]) ** 2),
    "padded": lambda x: jnp.pad(x.reshape(3, 4), 1)[1:-1, 2:],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", EXACT)
def test_patterns_are_exact(name: str) -> None:
    fun = EXACT[name]
    pattern = jacobian_sparsity(fun, X)
    expected = np.asarray(tinyjax.jacrev(fun)(X)).reshape(pattern.shape) != 0
    np.testing.assert_array_equal(pattern.todense(), expected)
    for kind in (True, "scipy"):
        got = tinyjax.jacobian(fun, sparse=kind)(X)
        dense = tinyjax.jacrev(fun)(X)
        np.testing.assert_allclose(got.todense().reshape(dense.shape), dense, 1e-12, 1e-12)


#: The number of elements of patterns that hold for all arguments, and of those at X.
CONSERVATIVE: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "an index that depends on x": (lambda x: x[jnp.argmax(x)] * jnp.ones(2), 24, 2),
    "a row that depends on x": (lambda x: x.reshape(3, 4)[jnp.argmax(x[:3])], 12, 4),
    "a slice": (
        lambda x: lax.dynamic_slice(x.reshape(3, 4), (jnp.argmax(x[:3]), 0), (1, 4)),
        12,
        4,
    ),
    "an update": (lambda x: x.reshape(3, 4).at[jnp.argmax(x[:3])].set(x[:4]), 20, 12),
    "a choice": (lambda x: jnp.where(x > 1, x, x[::-1]), 24, 12),
    "a branch": (lambda x: lax.cond(x[0] > 100, jnp.sin, lambda x: jnp.cos(x[::-1]), x), 24, 12),
    "maximum": (lambda x: jnp.maximum(x[:6], x[6:]), 12, 6),
    "sort of rows": (lambda x: jnp.sort(x.reshape(3, 4), 1), 48, 12),
    "a while loop": (
        lambda x: lax.while_loop(lambda c: c.sum() < 14, lambda c: c + jnp.roll(c, 4), x),
        36,
        24,
    ),
}


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_patterns_hold_for_all_arguments_or_at_a_point(name: str) -> None:
    fun, for_all, here = CONSERVATIVE[name]
    pattern, at_point = jacobian_sparsity(fun, X), jacobian_sparsity(fun, X, at_point=True)
    assert (pattern.nnz, at_point.nnz) == (for_all, here)
    dense = tinyjax.jacrev(fun)(X)
    assert_covers(pattern, dense)
    np.testing.assert_array_equal(at_point.todense(), np.asarray(dense).reshape(pattern.shape) != 0)


HESSIANS: dict[str, Callable[[Any], Any]] = {
    "chain": lambda x: jnp.sum(jnp.sin(x[1:] * x[:-1])),
    "arrow": lambda x: x[0] * jnp.sum(x**2),
    "sum of cubes": lambda x: jnp.sum(x**3),
    "linear": lambda x: jnp.sum(3.0 * x),
    "bilinear": lambda x: x[:6] @ x[6:],
    "loop": lambda x: lax.fori_loop(0, 2, lambda i, c: jnp.roll(c, 1) * c, x).sum(),
    "scan": lambda x: lax.scan(lambda c, a: (c + jnp.sin(a) ** 2, None), 0.0 * X[0], x)[0],
    "grid": lambda x: (
        jnp.sum(jnp.diff(x.reshape(3, 4), axis=0) ** 4)
        + jnp.sum(jnp.diff(x.reshape(3, 4), axis=1) ** 4)
    ),
    "gather": lambda x: jnp.sum(x[np.array([1, 2, 3])] ** 2 * x[np.array([4, 4, 5])]),
    # of unknown lengths, whose states reverse mode keeps
    "while": lambda x: jnp.sum(shrunk(x) ** 2),
    "few states": lambda x: jnp.sum(shrunk(x, checkpoints=2) ** 2),
    "while of pairs": lambda x: jnp.sum(
        lax.while_loop(
            lambda c: jnp.sum(c[0] ** 2) > 0.01,
            lambda c: (jnp.sin(c[0]) / 2, c[1] * jnp.cos(c[0])),
            (x, x),
        )[1]
    ),
    "while of groups": lambda x: jnp.sum(shrunk(x, lambda c: c + jnp.roll(c, 4) / 4) ** 2),
    "while in while": lambda x: jnp.sum(shrunk(x, shrunk) ** 2),
    "while in scan": lambda x: jnp.sum(
        lax.scan(lambda c, _: (3 * shrunk(c), None), x, None, length=2)[0] ** 2
    ),
}


def shrunk(x: Any, then: Any = jnp.sin, checkpoints: int | None = None) -> Any:
    return lax.while_loop(
        lambda c: jnp.sum(c**2) > 0.01, lambda c: then(jnp.sin(c)) / 2, x, checkpoints=checkpoints
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", HESSIANS)
def test_patterns_of_hessians_are_exact(name: str) -> None:
    fun = HESSIANS[name]
    dense = np.asarray(tinyjax.hessian(fun)(X))
    np.testing.assert_array_equal(hessian_sparsity(fun, X).todense(), dense != 0)
    for transform in (
        tinyjax.hessian(fun, sparse=True),
        tinyjax.jit(tinyjax.hessian(fun, sparse=True)),
    ):
        np.testing.assert_allclose(transform(X).todense(), dense, 1e-12, 1e-12)


@tinyjax.custom_vjp
def shifted_back(x: Any) -> Any:
    return x**2


shifted_back.defvjp(lambda x: (x**2, x), lambda x, ct: (ct * jnp.roll(x, 1),))

#: Functions whose rules are not the derivatives of their values.
NOT_SYMMETRIC: dict[str, Callable[[Any], Any]] = {
    "cotangents elsewhere": lambda x: jnp.sum(shifted_back(x) * jnp.arange(1.0, 13.0)),
    "straight through": lambda x: jnp.sum(straight_through(x)[1:] * x[:-1] ** 2),
    "within loops": lambda x: lax.fori_loop(0, 2, lambda i, c: shifted_back(c), x).sum(),
    "within calls": tinyjax.jit(lambda x: tinyjax.checkpoint(shifted_back)(x).sum()),
}


@pytest.mark.parametrize("name", NOT_SYMMETRIC)
def test_hessians_of_contradicting_rules_are_whole(name: str) -> None:
    fun = NOT_SYMMETRIC[name]
    dense = np.asarray(tinyjax.jacrev(tinyjax.grad(fun))(X))
    if name != "straight through":
        assert np.abs(dense - dense.T).max() > 0.1
    for at_point in (False, True):
        assert_covers(hessian_sparsity(fun, X, at_point=at_point), dense)
    sparse = tinyjax.hessian(fun, sparse=True)
    for transform in (sparse, tinyjax.jit(sparse)):
        np.testing.assert_allclose(transform(X).todense(), dense, 1e-12, 1e-12)


def test_the_pattern_of_random_programs_covers_their_jacobians() -> None:
    """A few; ``nox -s fuzz`` searches."""

    @settings(max_examples=8, deadline=None)
    @given(CASES)
    def search(case: Case) -> None:
        check_program(case)

    search()


@pytest.mark.fuzz
@given(CASES)
def test_the_pattern_of_random_programs_covers_their_jacobians_at_length(case: Case) -> None:
    check_program(case)
    forget_sometimes()


def check_program(case: Case) -> None:
    """Hold pattern and sparse Jacobian of a program against its dense one."""
    program = Case.repaired(case.program, (StackLayer("grad"),)).program
    xs = [jnp.asarray(x) for x in program.inputs()]
    argnums = tuple(range(len(xs)))
    fun = program.function(with_jit=True)
    dense = tinyjax.jacrev(fun, argnums)(*xs)
    for at_point in (False, True):
        assert_covers(jacobian_sparsity(fun, *xs, argnums=argnums, at_point=at_point), dense)
    sparse = tinyjax.tree.map(
        lambda x: x.todense(),
        tinyjax.jacobian(fun, argnums, sparse=True)(*xs),
        is_leaf=lambda x: isinstance(x, BCOO),
    )
    for got, block in zip(
        tinyjax.tree.leaves(sparse), map(np.asarray, tinyjax.tree.leaves(dense)), strict=True
    ):
        scale = float(np.max(np.abs(block), initial=1.0, where=np.isfinite(block)))
        np.testing.assert_allclose(got, block, 1e-6, 1e-9 * scale)


# Colourings


def pattern_of(dense: HostArray) -> SparsityPattern:
    rows, columns = np.nonzero(dense)
    return of_pairs(rows, columns, dense.shape)


def banded(n: int, width: int) -> HostArray:
    near: HostArray = np.tri(n, k=width) * np.tri(n, k=width).T > 0
    return near


def arrow(n: int) -> HostArray:
    whole: HostArray = np.eye(n, dtype=bool)
    whole[0] = whole[:, 0] = True
    return whole


def five_points(n: int) -> HostArray:
    line = banded(n, 1) & ~np.eye(n, dtype=bool)
    whole: HostArray = np.kron(line, np.eye(n)) + np.kron(np.eye(n), line) + np.eye(n * n) > 0
    return whole


#: Matrices, and how few products give them, as they are and as symmetric ones.
OPTIMAL: dict[str, tuple[HostArray, int, int]] = {
    "diagonal": (np.eye(9, dtype=bool), 1, 1),
    "three bands": (banded(50, 1), 3, 3),
    "seven bands": (banded(50, 3), 7, 7),
    "arrow": (arrow(40), 3, 2),
    "five points": (five_points(12), 5, 5),
    "a full row": (np.arange(30)[:, None] * np.ones(30) == 0, 1, 2),
    "full": (np.ones((6, 6), bool), 6, 6),
    "zeros": (np.zeros((4, 4), bool), 0, 0),
}


@pytest.mark.parametrize("name", OPTIMAL)
def test_colourings_take_as_few_products_as_can_be(name: str) -> None:
    dense, fewest, of_symmetric = OPTIMAL[name]
    assert colouring.coloured(pattern_of(dense)).products == fewest
    assert colouring.symmetric(pattern_of(dense | dense.T)).products == of_symmetric


@st.composite
def matrices(draw: st.DrawFn) -> HostArray:
    m, n = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dense: HostArray = rng.random((m, n)) < draw(st.sampled_from([0.03, 0.1, 0.3, 0.8]))
    dense[: draw(st.integers(0, 2))] = True
    dense[:, : draw(st.integers(0, 2))] = True
    return dense


@given(matrices(), st.sampled_from([(True, True), (True, False), (False, True)]))
def test_products_by_colours_hold_every_element(dense: HostArray, modes: tuple[bool, bool]) -> None:
    pattern = pattern_of(dense)
    values = dense * np.random.default_rng(0).normal(size=dense.shape)
    elements = values[pattern.rows, pattern.columns]
    colours = colouring.coloured(pattern, *modes)
    np.testing.assert_allclose(products(values, colours)[colours.places], elements)
    assert not (colours.width and not modes[0]) | (colours.height and not modes[1])
    side = min(dense.shape)
    square = dense[:side, :side] | dense[:side, :side].T
    values = square * np.add.outer(np.arange(1.0, side + 1), np.arange(side)) ** 2
    values += values.T
    pattern = pattern_of(square)
    colours = colouring.symmetric(pattern)
    elements = values[pattern.rows, pattern.columns]
    np.testing.assert_allclose(products(values, colours)[colours.places], elements)
    assert_no_path_of_four_has_two_colours(square, colouring.star_colours(pattern))


def products(values: HostArray, colours: colouring.Colouring) -> HostArray:
    """Return the sums of columns, and then of rows, of each colour."""
    columns = (colours.columns[:, None] == np.arange(colours.width)).astype(float)
    rows = (colours.rows[:, None] == np.arange(colours.height)).astype(float)
    return np.concatenate([(values @ columns).T.ravel(), (rows.T @ values).ravel()])


def assert_no_path_of_four_has_two_colours(dense: HostArray, colours: HostArray) -> None:
    edges = dense & ~np.eye(len(dense), dtype=bool)
    a, b = np.nonzero(edges)
    assert (colours[a] != colours[b]).all()
    for v, w in zip(a.tolist(), b.tolist(), strict=True):
        before = [x for x in np.nonzero(edges[v])[0] if x != w and colours[x] == colours[w]]
        after = [x for x in np.nonzero(edges[w])[0] if x != v and colours[x] == colours[v]]
        assert not [1 for x in before for y in after if x != y]


# Derivatives


def chain(x: Any) -> Any:
    return jnp.sin(x[1:]) * x[:-1]


def energy(x: Any) -> Any:
    return jnp.sum(jnp.sin(x[1:] * x[:-1])) + x[0] * jnp.sum(x**3)


def rolled(x: Any) -> Any:
    return lax.fori_loop(0, 2, lambda i, c: c * jnp.roll(c, 1), x)


def slopes(x: Any) -> Any:
    return tinyjax.jacobian(chain, sparse=True)(x).data


curvature = tinyjax.hessian(energy, sparse=True)

COMPOSED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "jit": (
        tinyjax.jit(lambda x: tinyjax.jacobian(chain, sparse=True)(x).todense()),
        tinyjax.jacfwd(chain),
    ),
    "vmap": (
        tinyjax.vmap(lambda x: tinyjax.jacobian(chain, sparse=True)(x) @ jnp.ones(4)),
        tinyjax.vmap(lambda x: tinyjax.jacfwd(chain)(x) @ jnp.ones(4)),
    ),
    "grad": (
        tinyjax.grad(lambda x: jnp.sum(tinyjax.jacobian(chain, sparse=True)(x).data ** 2)),
        tinyjax.grad(lambda x: jnp.sum(tinyjax.jacfwd(chain)(x) ** 2)),
    ),
    "jvp of a Hessian": (
        lambda x: tinyjax.jvp(lambda x: curvature(x).todense(), (x,), (x,))[1],
        lambda x: tinyjax.jvp(tinyjax.hessian(energy), (x,), (x,))[1],
    ),
    "in a loop": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c - 0.1 * (curvature(c) @ c), x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: c - 0.1 * (tinyjax.hessian(energy)(c) @ c), x),
    ),
    "of a loop": (
        lambda x: tinyjax.jacobian(rolled, sparse=True)(x).todense(),
        tinyjax.jacfwd(rolled),
    ),
    "of a Jacobian": (
        lambda x: tinyjax.jacobian(slopes, sparse=True)(x).todense(),
        tinyjax.jacfwd(slopes),
    ),
    "in chunks": (
        lambda x: tinyjax.jacobian(chain, sparse=True, chunk_size=1)(x).todense(),
        tinyjax.jacfwd(chain),
    ),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_sparse_derivatives_compose(name: str) -> None:
    sparse, dense = COMPOSED[name]
    x = X.reshape(3, 4) if name == "vmap" else X[:5]
    np.testing.assert_allclose(sparse(x), dense(x), 1e-9, 1e-12)
    np.testing.assert_allclose(tinyjax.jit(sparse)(x), dense(x), 1e-9, 1e-12)


def test_trees_several_arguments_and_auxiliary_data() -> None:
    def fun(a: Any, b: Any, scale: float) -> Any:
        out = {"y": a["w"].astype("float64") * b[:3], "z": jnp.stack([b.sum(), a["v"]])}
        return out, {"note": "kept", "scale": scale * b}

    a = {"w": jnp.array([1.0, 2.0, 3.0], "float32"), "v": jnp.float64(4.0)}
    b = jnp.asarray(np.arange(4.0))
    got, aux = tinyjax.jacobian(fun, (0, 1), has_aux=True, sparse=True)(a, b, 2.0)
    dense, expected = tinyjax.jacobian(fun, (0, 1), has_aux=True)(a, b, 2.0)
    assert aux["note"] == expected["note"]
    np.testing.assert_array_equal(aux["scale"], expected["scale"])
    blocks = tinyjax.tree.map(lambda x: x.todense(), got, is_leaf=lambda x: isinstance(x, BCOO))
    assert tinyjax.tree.structure(blocks) == tinyjax.tree.structure(dense)
    for block, matrix in zip(tinyjax.tree.leaves(blocks), tinyjax.tree.leaves(dense), strict=True):
        assert block.dtype == matrix.dtype
        np.testing.assert_array_equal(block, matrix)
    patterns = jacobian_sparsity(lambda a, b: fun(a, b, 2.0)[0], a, b, argnums=(0, 1))
    assert [x.shape for x in tinyjax.tree.leaves(patterns)] == [
        (3, 1),
        (3, 3),
        (3, 4),
        (2, 1),
        (2, 3),
        (2, 4),
    ]

    def loss(a: Any, b: Any) -> Any:
        return jnp.sum(a["w"] ** 2 * a["v"]) + jnp.sum(b**3)

    second = tinyjax.hessian(loss, (0, 1), sparse=True)(a, b)
    reference = tinyjax.hessian(loss, (0, 1))(a, b)
    second = tinyjax.tree.map(lambda x: x.todense(), second, is_leaf=lambda x: isinstance(x, BCOO))
    for block, matrix in zip(
        tinyjax.tree.leaves(second), tinyjax.tree.leaves(reference), strict=True
    ):
        np.testing.assert_array_equal(block, matrix)


def test_a_compiled_jacobian_takes_no_more_products_than_it_has_colours() -> None:
    """The compiled program applies the tangent map to three directions, whatever the size."""

    def fun(x: Any) -> Any:
        return jnp.sin(x) * jnp.roll(x, 1) + jnp.roll(x, -1)

    text = str(tinyjax.make_jaxpr(tinyjax.jacobian(fun, sparse=True))(jnp.ones(99, "float32")))
    assert "float32[3,99]" in text
    assert "float32[4,99]" not in text
    assert "99,99" not in text


def test_only_shapes_count() -> None:
    struct = tinyjax.ShapeDtypeStruct((10**5,), np.float32)
    assert jacobian_sparsity(lambda x: x[1:] * x[:-1], struct).nnz == 2 * (10**5 - 1)
    assert hessian_sparsity(energy, struct).shape == (10**5, 10**5)


def test_patterns_as_other_arrays() -> None:
    pattern = jacobian_sparsity(chain, X)
    np.testing.assert_array_equal(np.asarray(pattern), pattern.todense())
    np.testing.assert_array_equal(pattern.to_scipy().todense(), pattern.todense())
    np.testing.assert_array_equal(pattern.T.todense(), pattern.todense().T)
    assert repr(pattern) == "SparsityPattern(11×12, nnz=22)"


def test_elimination_uses_these_patterns() -> None:
    """Of a loop, and where indices are traced: the loop's derivative is a diagonal matrix."""

    def looped(x: Any) -> Any:
        return jnp.cos(lax.map(lambda a: jnp.sin(a) * a, x))

    assert tinyjax.autodiff.multiplications(looped)(X) == 12
    np.testing.assert_allclose(tinyjax.jacobian(looped)(X), tinyjax.jacfwd(looped)(X), 1e-12)

    def rows(x: Any, i: Any) -> Any:
        return jnp.sin(x.reshape(3, 4)[i]) ** 2

    jacobian: Callable[..., Any] = tinyjax.jacobian(rows)
    compiled: Callable[..., Any] = tinyjax.jit(jacobian)
    dense: Callable[..., Any] = tinyjax.jacfwd(rows)
    for transform in (jacobian, compiled):
        np.testing.assert_allclose(transform(X, 1), dense(X, 1), 1e-12)


# With SciPy's solvers


def test_least_squares_by_sparse_jacobians() -> None:
    def residuals(x: Any) -> Any:
        return jnp.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])

    jacobian = tinyjax.jacobian(residuals, sparse="scipy")
    start = np.full(30, 0.5)
    found = scipy.optimize.least_squares(residuals, start, jac=jacobian)
    np.testing.assert_allclose(found.x, 1, 1e-6)
    pattern = jacobian_sparsity(residuals, start).to_scipy()
    by_differences = scipy.optimize.least_squares(residuals, start, jac_sparsity=pattern)
    np.testing.assert_allclose(by_differences.x, 1, 1e-6)


def test_stiff_equations_by_sparse_jacobians() -> None:
    def flow(t: Any, u: Any) -> Any:
        return brusselator(u, 4).ravel()

    u = np.random.default_rng(0).uniform(1, 3, 32)
    of_time = tinyjax.jacobian(flow, 1, sparse="scipy")
    sparse = scipy.integrate.solve_ivp(flow, (0, 1), u, "Radau", jac=of_time, rtol=1e-8, atol=1e-8)
    dense = scipy.integrate.solve_ivp(flow, (0, 1), u, "LSODA", rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sparse.y[:, -1], dense.y[:, -1], 1e-5)


@pytest.mark.parametrize("method", ["trust-constr", "Newton-CG"])
def test_minimisation_by_sparse_hessians(method: str) -> None:
    def rosenbrock(x: Any) -> Any:
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    found = scipy.optimize.minimize(
        rosenbrock,
        np.full(20, 0.8),
        method=method,
        jac=tinyjax.grad(rosenbrock),
        hess=tinyjax.hessian(rosenbrock, sparse="scipy"),
    )
    np.testing.assert_allclose(found.x, 1, 1e-3)


# Primitives of other packages


def test_a_rule_of_a_primitive_of_its_own() -> None:
    swap_p: Primitive[NoParams] = Primitive("swap_halves", NoParams)
    swap_p.def_numpy(lambda x: np.roll(x, len(x) // 2))
    swap_p.def_abstract_eval(lambda avals, params: avals)
    def_linear(swap_p)

    def swap(x: Any) -> Any:
        return bind1(swap_p, (x,), NoParams())

    assert jacobian_sparsity(swap, X).nnz == 144

    @swap_p.def_rule(SPARSITY)
    def _swapped(eqn: Any, operands: Any) -> Any:
        n = operands[0].aval.size
        return [[(picked(np.roll(np.arange(n), n // 2), n),)]]

    tinyjax.clear_caches()

    def swap_too(x: Any) -> Any:
        return swap(x) * 1.0

    np.testing.assert_array_equal(
        jacobian_sparsity(swap_too, X).todense(), np.roll(np.eye(12), 6, 0) != 0
    )


# What is refused


def too_many(x: Any) -> Any:
    return x * jnp.sum(x)


def refused_in_little(fun: Callable[..., Any], x: HostArray) -> None:
    """Ask for a sparse Hessian that is refused, and look at how much memory that takes."""
    tracemalloc.start()
    try:
        tinyjax.hessian(fun, sparse=True)(x)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50e6, peak


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "integers": (
        lambda: jacobian_sparsity(chain, np.arange(3)),
        errors.DifferentiationError,
        "int64",
    ),
    "too many": (
        lambda: jacobian_sparsity(too_many, np.ones(10**5)),
        errors.ArgumentError,
        "not sparse",
    ),
    "too many results": (  # refused before any is numbered: a byte for each is 100 MB
        lambda: refused_in_little(lambda x: jnp.sum(jnp.outer(x, x)), np.ones(10**4)),
        errors.ArgumentError,
        "100000000 elements or more",
    ),
    "holomorphic": (
        lambda: tinyjax.jacobian(chain, holomorphic=True, sparse=True),
        errors.ArgumentError,
        "holomorphic",
    ),
    "order": (
        lambda: tinyjax.jacobian(chain, order="reverse", sparse=True),
        errors.ArgumentError,
        "order",
    ),
    "allow_int": (
        lambda: tinyjax.jacobian(chain, allow_int=True, sparse=True),
        errors.ArgumentError,
        "allow_int",
    ),
    "of SciPy's under jit": (
        lambda: tinyjax.jit(tinyjax.jacobian(chain, sparse="scipy"))(X),
        errors.ArgumentError,
        "sparse=True",
    ),
    "a traced point": (
        lambda: tinyjax.jit(lambda x: jacobian_sparsity(chain, x, at_point=True).nnz * x)(X),
        errors.ConcretizationError,
        "pattern",
    ),
    "vector": (lambda: hessian_sparsity(chain, X), errors.DifferentiationError, "scalar"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, error, text = REFUSED[name]
    with raises(error, match=text):
        call()

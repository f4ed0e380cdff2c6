"""Loops that read and update arrays at several places: an iteration copies none of them."""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax, source
from tinyjax.core.lowering import Schedule
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.xla import updates
from tinyjax.source import vectorization
from tinyjax.source.vectorization.loops import Obstacle

pytestmark = pytest.mark.usefixtures("compiled")

N = 1000


def swept(u: Any) -> Any:
    """A sweep of Gauss and Seidel: each element is that of its new and its old neighbour."""
    return lax.fori_loop(
        1, N - 1, lambda i, u: u.at[i].set((u[i - 1] + u[i + 1]) / 2 + u[i] / 10), u
    )


def powers(a: Any) -> Any:
    """Powers of a number, each from the one before, and from nothing else."""
    start = jnp.zeros(N).at[0].set(1.0)
    return lax.fori_loop(1, N, lambda i, y: y.at[i].set(y[i - 1] * a + 0 * y[i - 2]), start)


def counted(x: Any) -> Any:
    """Each element is exchanged for the one behind it."""
    return lax.fori_loop(0, N - 1, lambda i, x: x.at[i].set(x[i + 1]).at[i + 1].set(x[i]), x)


def gradient(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    slope: Callable[[Any], Any] = tinyjax.grad(lambda x: jnp.sum(fun(x) ** 2))
    return slope


ARRAY, NUMBER = jnp.linspace(0.0, 1.0, N), jnp.float32(0.99)


def orders() -> Iterator[str]:
    """Orders of up to three reads and up to three updates: ``RUR`` is a read, an update, a read."""
    for reads, writes in itertools.product(range(4), range(1, 4)):
        for places in itertools.combinations(range(reads + writes), reads):
            yield "".join("R" if i in places else "U" for i in range(reads + writes))


@attrs.frozen
class Pattern:
    """A loop that reads and updates elements of an array in an order.

    Attributes:
        order: the order.
        reads_old: whether reads are of the array as it was before the iteration.
    """

    order: str
    reads_old: bool

    def _iteration(self, i: Any, x: Any, updated: Callable[[Any, Any, Any], Any]) -> Any:
        rng = np.random.default_rng(list(f"{self.order}{self.reads_old}".encode()))
        first, values = x, []
        for k, operation in enumerate(self.order):
            place = i + int(rng.integers(4))
            if operation == "R":
                values.append((first if self.reads_old else x)[place])
            else:
                used = [value / 4 for value in values if rng.random() < 0.6]
                x = updated(x, place, sum(used, np.float32(k)))
        return x, sum(values, np.float32(0))

    def run(self, x: Any) -> Any:
        def step(x: Any, i: Any) -> Any:
            return self._iteration(i, x, lambda x, place, value: x.at[place].set(value))

        return lax.scan(step, x, jnp.arange(N - 4))

    def run_with_numpy(self, x: Any) -> Any:
        def updated(x: Any, place: Any, value: Any) -> Any:
            x = x.copy()
            x[place] = value
            return x

        sums = []
        for i in range(N - 4):
            x, total = self._iteration(i, x, updated)
            sums.append(total)
        return x, np.array(sums, np.float32)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("reads_old", [False, True])
@pytest.mark.parametrize("order", [*orders()])
def test_no_order_of_reads_and_updates_copies_an_array(order: str, reads_old: bool) -> None:
    """Nor do gradients, also of what reads the array as it was before the iteration."""
    pattern, x = Pattern(order, reads_old), np.linspace(-1, 1, N, dtype=np.float32)
    for result, expected in zip(
        tinyjax.jit(pattern.run)(x), pattern.run_with_numpy(x), strict=True
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    assert copies(pattern.run, x) == 0
    sums = tinyjax.grad(lambda x: sum(jnp.sum(out**2) for out in pattern.run(x)))
    assert copies(sums, x) == 0


def copies(fun: Callable[[Any], Any], x: Any, shape: str = f"f32\\[{N}\\]") -> int:
    """Count where iterations of a compiled program's loops copy an array of so many elements."""
    text = tinyjax.jit(fun).lower(x).compile().as_text()
    computations = [part for part in text.split("\n\n") if not part.lstrip().startswith("ENTRY")]
    return sum(len(re.findall(rf"{shape}\S* copy\(", part)) for part in computations)


def unscheduled(body: jx.Jaxpr) -> Schedule:
    return Schedule(body.eqns, {}, (), frozenset())


@pytest.mark.parametrize(
    ("fun", "x"), [(gradient(swept), ARRAY), (gradient(powers), NUMBER), (counted, ARRAY)]
)
def test_an_iteration_copies_no_array(
    fun: Callable[[Any], Any], x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copies(fun, x) == 0
    monkeypatch.setattr(updates, "schedule", unscheduled)
    assert copies(lambda x: fun(x) + 0, x) > 0


WEIGHTS = np.cos(np.arange(65 * 65.0)).reshape(65, 65)
SECOND = np.linspace(0.0, 1.0, 65 * 80).reshape(65, 80)


def triangular(a: Any, b: Any) -> Any:
    """Multiply by a triangular matrix, in place."""
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return np.sum(b * b)


def of_pair(ab: Any) -> Any:
    """Give the gradient of such products in both matrices, one beside the other."""
    slopes = tinyjax.grad(source.stage(triangular), (0, 1))(ab[:, :65], ab[:, 65:])
    return jnp.concatenate(slopes, axis=1)


def eliminated(a: Any) -> Any:
    """Divide each element by the pivot above it, after it is updated."""
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[:j, j])
            a[i, j] /= a[j, j]
    return np.sum(a)


@pytest.mark.parametrize(
    ("fun", "x", "shape"),
    [
        (of_pair, np.concatenate([WEIGHTS, SECOND], axis=1), r"f64\[65,80\]"),
        (source.stage(eliminated), WEIGHTS + 65 * np.eye(65), r"f64\[65,65\]"),
    ],
)
def test_what_reads_behind_a_scatter_copies_no_array(
    fun: Callable[[Any], Any], x: Any, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as loops, of which the inner one of the first would be arrays
    monkeypatch.setattr(vectorization, "independent", lambda loop: Obstacle.LONG)
    with tinyjax.default_dtypes("float64"):
        assert copies(fun, x, shape) == 0
        monkeypatch.setattr(updates, "schedule", unscheduled)
        assert copies(lambda x: 2 * fun(x), x, shape) > 0


def test_slopes_of_a_product_in_place_are_the_matrix_form() -> None:
    with tinyjax.default_dtypes("float64"):
        slope = tinyjax.jit(of_pair)(np.concatenate([WEIGHTS, SECOND], axis=1))[:, 65:]
    lower = np.tril(WEIGHTS, -1).T + np.eye(65)
    np.testing.assert_allclose(slope, 2 * lower.T @ lower @ SECOND, 1e-9, 1e-9)


def relaxed(a: Any) -> Any:
    def step(_: Any, a: Any) -> Any:
        near = a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        return a.at[1:-1, 1:-1].set((a[1:-1, 1:-1] + near) / 5)

    return lax.fori_loop(0, 9, step, a)


@pytest.mark.parametrize(("shape", "are_fused"), [((150, 150), False), ((30, 30), True)])
def test_cotangents_of_slices_are_added_in_place_to_large_arrays(
    shape: tuple[int, int], are_fused: bool
) -> None:
    x = np.cos(np.arange(np.prod(shape))).reshape(shape).astype(np.float32)
    slopes = tinyjax.jit(tinyjax.grad(lambda a: jnp.sum(relaxed(a) ** 2)))
    text = slopes.lower(x).compile().as_text()
    assert (" pad(" in text) == are_fused
    direction = np.sin(np.arange(x.size)).reshape(shape).astype(np.float32)
    result, along = tinyjax.jvp(relaxed, (x,), (direction,))
    np.testing.assert_allclose(np.sum(slopes(x) * direction), 2 * np.sum(result * along), rtol=1e-4)


def computed_whole(fun: Callable[[Any], Any], x: Any) -> list[str]:
    """Find where iterations of a compiled program's loops compute arrays of so many elements.

    Of fusions these are all that do not end in an update, or in a scatter.
    """
    text = tinyjax.jit(fun).lower(x).compile().as_text()
    parts = dict(re.findall(r"^%?([\w.-]+) \([^\n]*\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE))
    fusions = [
        (line.strip(), called)
        for name in re.findall(r"body=%?([\w.-]+)", text)
        for line, called in re.findall(
            rf"^(.* = \w+\[{N}\]\S* (?:fusion\(.*calls=%?|add\(%?)([\w.-]+).*)$",
            parts[name],
            re.MULTILINE,
        )
    ]
    updating = r"ROOT .* (dynamic-update-slice|scatter)\("
    return [line for line, called in fusions if not re.search(updating, parts.get(called, ""))]


def windows(x: Any) -> Any:
    """Read at two places, and by indices, and update."""
    places = jnp.array([0, 2, 5])

    def step(i: Any, x: Any) -> Any:
        return x.at[i + 1].set(x[i] * x[i + 7] + jnp.prod(x[i + places]))

    return lax.fori_loop(0, N - 8, step, x)


def products(x: Any, are_triangular: bool = False) -> Any:
    """Sum products of elements, by a loop in a loop."""

    def row(i: Any, total: Any) -> Any:
        end = i + 2 if are_triangular else 40
        return lax.fori_loop(0, end, lambda k, total: total + x[i] * x[k + 1], total)

    return lax.fori_loop(0, 50, row, 0.0)


@pytest.mark.parametrize(
    "fun",
    [
        gradient(swept),
        gradient(windows),
        gradient(products),
        gradient(lambda x: products(x, are_triangular=True)),
        gradient(lambda x: jnp.where(jnp.arange(N) % 3 > 0, swept(x), 0)),
        gradient(lambda x: jnp.where(jnp.arange(N) % 3 > 0, windows(x), 0)),
        gradient(lambda x: lax.fori_loop(0, N - 8, lambda i, s: s + x[i] * x[i + 3] * x[7], 1.0)),
    ],
)
def test_an_iteration_computes_no_whole_array(fun: Callable[[Any], Any]) -> None:
    """Cotangents are added in place, and masks of choices are, however many an array has."""
    assert computed_whole(fun, ARRAY) == []


def test_what_is_read_by_what_an_update_gave_is_read_where_it_stands() -> None:
    """Its place is known only behind the update, and it is of the array before."""

    def step(i: Any, x: Any) -> Any:
        new = x.at[i].set(x[i] + 1)
        place = new[i].astype(int) % N
        return new.at[place].set(x[i] + x[place])

    x = np.arange(N, dtype=np.float32) * 7 % 50
    expected = x.copy()
    for i in range(N):
        old = expected.copy()
        expected[i] += 1
        place = int(expected[i]) % N
        expected[place] = old[i] + old[place]
    result = tinyjax.jit(lambda x: lax.fori_loop(0, N, step, x))(x)
    np.testing.assert_array_equal(result, expected)


def test_values() -> None:
    np.testing.assert_allclose(
        tinyjax.jit(tinyjax.grad(lambda a: powers(a)[50]))(NUMBER), 50 * 0.99**49, rtol=1e-4
    )
    u = np.linspace(0, 1, N)
    for i in range(1, N - 1):
        u[i] = (u[i - 1] + u[i + 1]) / 2 + u[i] / 10
    np.testing.assert_allclose(tinyjax.jit(swept)(ARRAY), u, rtol=1e-4)
    # The sum is linear in what the sweep begins with: the gradient is the same everywhere.
    with tinyjax.default_dtypes("float64"):
        slopes = tinyjax.jit(tinyjax.grad(lambda u: jnp.sum(swept(u))))(np.linspace(0, 1, N))
        other = np.linspace(1, 3, N) ** 2
        total = tinyjax.jit(lambda u: jnp.sum(swept(u)))
        np.testing.assert_allclose(total(other) - total(other - 1), slopes.sum(), rtol=1e-10)


def equations(jaxpr: jx.Jaxpr) -> list[jx.JaxprEqn]:
    inner = [x for eqn in jaxpr.eqns for x in jx.subjaxprs(eqn.params)]
    return [*jaxpr.eqns, *[eqn for each in inner for eqn in equations(each)]]


def test_gradients_of_loops_in_loops() -> None:
    """The sum of an inner loop begins with the sum so far."""
    with tinyjax.default_dtypes("float64"):
        x = np.linspace(0.0, 1.0, N)
        for triangular in (False, True):
            ends = [i + 2 if triangular else 40 for i in range(50)]
            expected = np.zeros(N)
            for i, end in enumerate(ends):
                expected[i] += x[1 : end + 1].sum()
                expected[1 : end + 1] += x[i]
            slope = tinyjax.grad(lambda x, triangular=triangular: products(x, triangular))
            np.testing.assert_allclose(tinyjax.jit(slope)(x), expected, rtol=1e-12)


def test_cotangents_of_constants_of_loops_are_added_in_their_place() -> None:
    """Of a matrix whose rows a loop reads, each iteration adds to two places of one sum."""
    n = 30

    def solved(matrix: Any, b: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return x.at[i].set((b[i] - jnp.dot(matrix[i], x)) / matrix[i, i])

        return lax.fori_loop(0, n, step, jnp.zeros(n))

    fun = tinyjax.grad(lambda matrix, b: jnp.sum(solved(matrix, b)), argnums=(0, 1))
    rng = np.random.default_rng(0)
    matrix, b = np.tril(rng.uniform(size=(n, n))) + n * np.eye(n), rng.uniform(size=n)
    eqns = equations(tinyjax.make_jaxpr(fun)(matrix, b).jaxpr)
    zeros = {
        eqn.out_binders[0]
        for eqn in eqns
        if eqn.primitive.name == "dynamic_update_slice" and isinstance(eqn.inputs[0], jx.Lit)
    }
    adding = [
        eqn for eqn in eqns if eqn.primitive.name == "add" and not zeros.isdisjoint(eqn.inputs)
    ]
    whole = [eqn for eqn in adding if eqn.out_binders[0].aval.shape == (n, n)]
    assert len(whole) == 2
    assert not any(zeros.issuperset(eqn.inputs) for eqn in whole)
    inverse = np.linalg.inv(np.asarray(matrix, np.float64))
    into = inverse.T @ np.ones(n)
    of_matrix, of_b = tinyjax.jit(fun)(matrix, b)
    np.testing.assert_allclose(of_b, into, rtol=1e-4)
    np.testing.assert_allclose(
        of_matrix, -np.tril(np.outer(into, inverse @ b)), rtol=1e-3, atol=1e-6
    )

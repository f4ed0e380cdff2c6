"""Reverse mode through loops whose states are stacked: against derivatives by hand, in NumPy."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from raising import raises
from tinyjax import lax
from tinyjax._extensions.checkpointing import schedule
from tinyjax._extensions.checkpointing.schedule import integer, plus
from tinyjax.core.control_flow.while_loop import while_p
from tinyjax.core.primitives.elementwise import lt
from tinyjax.errors import ArgumentError

#: Room for so many states, and a matrix, a state and an input for each iteration.
ROOMS: Final = (64, 65, 100, 256, None)
Case = tuple[int | None, list[int], int, int]
CASES: Final = st.tuples(
    st.sampled_from(ROOMS),
    st.lists(st.integers(0, 600), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(0, 999),
)


def run(room: int | None, n: Any, w: Any, x: Any, c: Any) -> Any:
    """Iterate ``y = sin(w y + c k)``, from x on, n times; k counts."""

    def step(state: Any) -> Any:
        y, k = state
        return jnp.sin(w @ y + c * k), k + 1

    return lax.while_loop(lambda state: state[1] < n, step, (x, 0), checkpoints=room)[0]


def by_hand(n: int, w: Any, x: Any, c: Any, ct: Any) -> tuple[Any, Any, Any]:
    """The derivatives of ``ct`` times the result, in ``w``, ``x`` and ``c``."""
    states = [x]
    for k in range(n):
        states.append(np.sin(w @ states[-1] + c * k))
    into_w, into_c = np.zeros_like(w), np.zeros_like(c)
    for k in reversed(range(n)):
        slope = ct * np.cos(w @ states[k] + c * k)
        into_w, into_c, ct = into_w + np.outer(slope, states[k]), into_c + slope * k, w.T @ slope
    return into_w, ct, into_c


def agrees(case: Case) -> None:
    room, lengths, size, seed = case
    rng = np.random.default_rng(seed)
    w, x, c, ct = rng.normal(size=(size, size)), *rng.normal(size=(3, size))
    w *= 0.9 / np.linalg.norm(w, 2)

    def loss(n: Any, w: Any, x: Any, c: Any) -> Any:
        return ct @ run(room, n, w, x, c)

    slopes = tinyjax.grad(loss, (1, 2, 3))
    expected = [by_hand(n, w, x, c, ct) for n in lengths]
    everywhere = tinyjax.vmap(slopes, (0, None, None, None))
    each = tinyjax.jit(slopes)
    batched: list[Callable[..., Any]] = [everywhere, tinyjax.jit(everywhere)]
    for fun in batched[seed % 2 :][:1]:
        for values, results in zip(
            zip(*expected, strict=True), fun(np.array(lengths), w, x, c), strict=True
        ):
            np.testing.assert_allclose(results, np.stack(values), 1e-9, 1e-9)
    for n, values in zip(lengths, expected, strict=True):
        for value, result in zip(values, each(n, w, x, c), strict=True):
            np.testing.assert_allclose(result, value, 1e-9, 1e-9)


@settings(max_examples=3)
@given(CASES)
def test_gradients(case: Case) -> None:
    agrees(case)


@pytest.mark.fuzz
@given(CASES)
def test_gradients_of_loops_at_length(case: Case) -> None:
    agrees(case)
    forget_sometimes()


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 128, 64 * 64 - 1, 64 * 64, 64 * 64 + 1, 9000])
def test_lengths_at_which_states_are_dropped(n: int) -> None:
    """With 64 slots: where all are kept, where some are, and beyond the square."""
    w, x, c, ct = np.array([[0.9]]), np.array([0.3]), np.array([1e-3]), np.ones(1)
    fun = tinyjax.jit(tinyjax.grad(lambda n, w, x, c: run(64, n, w, x, c).sum(), (1, 2, 3)))
    for value, result in zip(by_hand(n, w, x, c, ct), fun(n, w, x, c), strict=True):
        np.testing.assert_allclose(result, value, 1e-9, 1e-12)


@pytest.mark.parametrize(("n", "stride"), [(0, 1), (7, 1), (8, 1), (9, 2), (16, 2), (17, 4)])
def test_which_states_are_kept(n: int, stride: int) -> None:
    """With 8 slots: all, of a loop that has no more; none is dropped before the loop goes on."""

    def record(x: Any) -> Any:
        return schedule.record(
            lambda state: lt(state[0], integer(n)), lambda state: [plus(state[0], 1)], [x], tuple, 8
        )

    _, iterations, kept = tinyjax.jit(record)(integer(0))
    assert (iterations, kept.stride) == (n, stride)
    np.testing.assert_array_equal(kept.rows[0][: -(-n // stride)], np.arange(0, n, stride))


def power(x: Any, n: Any) -> Any:
    return lax.while_loop(lambda s: s[1] < n, lambda s: (s[0] * x, s[1] + 1), (x, 0))[0]


#: Three derivatives in reverse take XLA ten seconds.
@pytest.mark.sampled(9, always=("jacfwd-grad", "grad-jacfwd"))
@pytest.mark.parametrize("inner", ["grad", "jacfwd"])
@pytest.mark.parametrize("outer", ["grad", "jacfwd"])
def test_derivatives_of_the_third_order(outer: str, inner: str) -> None:
    slope = tinyjax.grad(tinyjax.jit(lambda x: power(x, 6)))
    third = getattr(tinyjax, outer)(getattr(tinyjax, inner)(slope))
    np.testing.assert_allclose(third(np.float64(1.1)), 210 * 1.1**4)


def test_derivatives_of_higher_order_and_loops_in_loops() -> None:
    def outer(x: Any, _: Any) -> Any:
        return power(x, 2) * 0.5, None

    x = np.float64(1.1)
    seventh = tinyjax.jit(lambda x: power(x, 6))
    slope = tinyjax.grad(seventh)
    np.testing.assert_allclose(slope(x), 7 * x**6)
    np.testing.assert_allclose(tinyjax.grad(slope)(x), 42 * x**5)
    np.testing.assert_allclose(tinyjax.jacfwd(slope)(x), 42 * x**5)
    cubes = tinyjax.grad(lambda x: lax.scan(outer, x, None, 2)[0])
    np.testing.assert_allclose(cubes(x), 9 * x**8 / 2**4, 1e-12)
    np.testing.assert_allclose(tinyjax.vmap(cubes)(np.array([x, 2.0])), [cubes(x), cubes(2.0)])


def test_only_what_derivatives_need_is_stacked() -> None:
    """No counter, and no stack of the backward pass, which a derivative would square."""
    x = jnp.array([0.3, 0.7], jnp.float32)

    def fun(x: Any) -> Any:
        start = (0, x, jnp.ones((7,), jnp.float32))
        last = lax.while_loop(
            lambda s: s[0] ** 2 < 9,  # which does not say how often
            lambda s: (s[0] + 1, jnp.sin(s[1]) * x, s[2] * 0.5),
            start,
        )
        return last[1].sum() + last[2].sum()

    slope = tinyjax.grad(fun)
    program = str(tinyjax.make_jaxpr(slope)(x))
    assert "float32[257,2]" in program
    assert "int32[257]" not in program
    assert "float32[257,7]" not in program
    curvature = tinyjax.jit(tinyjax.grad(lambda x: (slope(x) ** 2).sum()))
    program = str(tinyjax.make_jaxpr(curvature)(x))
    assert "float32[257,2]" in program
    assert "257,257" not in program
    plain = tinyjax.grad(lambda x: lax.fori_loop(0, 3, lambda _, s: jnp.sin(s) * x, x).sum())
    product = tinyjax.jacfwd(plain)(x) @ plain(x)
    np.testing.assert_allclose(curvature(x), 2 * product, 1e-5)


@pytest.mark.parametrize(
    ("shape", "memory", "room"),
    [((), None, 256), ((1000,), None, 131), ((1 << 18,), None, 32), ((1000,), 1 << 24, 2097)],
)
def test_room_for_states(shape: tuple[int, ...], memory: int | None, room: int) -> None:
    """A mebibyte for two stacks of float32, but no fewer than 32 states and no more than 256."""
    program = tinyjax.make_jaxpr(
        lambda x: lax.while_loop(lambda x: x.sum() < 3, lambda x: x * 2, x, memory=memory)
    )(jnp.ones(shape, jnp.float32))
    (eqn,) = program.eqns
    assert eqn.primitive is while_p
    assert eqn.params.checkpoints == room


def test_no_negative_memory() -> None:
    with raises(ArgumentError, match="memory of while_loop must not be negative"):
        lax.while_loop(lambda x: x < 1, lambda x: x + 1, 0.0, memory=-1)


def updating(n: Any, x: Any) -> Any:
    """Update an array at one place in each of n iterations, which data determine."""
    size = x.shape[0]

    def step(state: Any) -> Any:
        x, i = state
        place = i % size
        value = jnp.sin(x[place] + x[(7 * i + 3) % size]) * x[0]
        return x.at[place].set(value), i + 1

    return jnp.sum(lax.while_loop(lambda state: state[1] < n, step, (x, 0))[0] ** 2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [0, 1, 40, 1023, 1024, 1025, 3000])
def test_residuals_are_stacked_where_states_are_larger(n: int) -> None:
    """Up to as many iterations as the stacks have places, and beyond."""
    x = np.cos(np.arange(40.0)) + 0.3
    direction, h = np.sin(np.arange(40.0)), 1e-6
    slope = tinyjax.jit(tinyjax.grad(updating, 1))
    text = str(tinyjax.make_jaxpr(tinyjax.grad(updating, 1))(n, x))
    assert "float64[1024]" in text
    along = slope(n, x) @ direction
    difference = (updating(n, x + h * direction) - updating(n, x - h * direction)) / (2 * h)
    np.testing.assert_allclose(along, difference, 1e-5, 1e-8)
    lengths = np.array([n, 17, 0, n + 1])
    each = [slope(m, x) for m in lengths]
    many = tinyjax.jit(tinyjax.vmap(tinyjax.grad(updating, 1), (0, None)))(lengths, x)
    np.testing.assert_allclose(many, each, 1e-9, 1e-12)
    _, push = tinyjax.linearize(lambda x: updating(n, x), x)
    np.testing.assert_allclose(push(direction), along, 1e-9, 1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [1000, 1024, 1025, 1500])
def test_residuals_of_the_first_iterations_alone_are_stacked(n: int) -> None:
    """Of more than 1,024 iterations whose residuals are small, each is run again, the last too."""
    weights = np.random.default_rng(1).uniform(0.9, 1.1, 1500)

    def fun(x: Any) -> Any:
        def step(state: Any) -> Any:
            i, table, t = state
            t = jnp.sin(t * jnp.asarray(weights)[i]) + 0.1 * table[i // 2]
            return i + 1, table.at[i].set(t), t

        start = (0, jnp.full(4096, x), x)
        last = lax.while_loop(lambda state: state[0] ** 2 < n**2, step, start)
        return last[2] ** 2

    def by_hand(x: float) -> tuple[float, float]:
        """Return the result and its slope, with the slopes of all values beside them."""
        values, slopes, t, slope = np.full(4096, x), np.ones(4096), x, 1.0
        for i in range(n):
            w = weights[i]
            slope = np.cos(t * w) * w * slope + 0.1 * slopes[i // 2]
            t = np.sin(t * w) + 0.1 * values[i // 2]
            values[i], slopes[i] = t, slope
        return t**2, 2 * t * slope

    with tinyjax.default_dtypes("float64"):
        value, slope = tinyjax.jit(tinyjax.value_and_grad(fun))(0.7)
        np.testing.assert_allclose((value, slope), by_hand(0.7), 1e-9)
        along = tinyjax.jvp(fun, (0.7,), (1.0,))[1]
        np.testing.assert_allclose(along, slope, 1e-9)
        second = tinyjax.grad(tinyjax.grad(fun))(0.7)
        difference = (by_hand(0.7 + 1e-5)[1] - by_hand(0.7 - 1e-5)[1]) / 2e-5
        np.testing.assert_allclose(second, difference, 1e-5)
        both = tinyjax.vmap(tinyjax.grad(fun))(np.array([0.7, 0.8]))
        np.testing.assert_allclose(both, [slope, by_hand(0.8)[1]], 1e-9)

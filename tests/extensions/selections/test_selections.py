"""Derivatives of selections: unselected values do not count, where formulas have no derivative.

The table gives the derivative by hand: that of what is taken, whatever the rest is. Each case is
differentiated in every way, and once more by all ways in one program.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from tinyjax import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    extend,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    vjp,
    vmap,
)
from tinyjax._extensions.selections import backward

Fun = Callable[..., Any]
inf, nan = math.inf, math.nan


@attrs.frozen
class Case:
    """A function of a number, its first and its second derivative there, and why these."""

    fun: Fun
    point: float
    first: float
    second: float | None
    why: str


def nested(x: Any) -> Any:
    return jnp.where(x >= 0, jnp.where(x > 0, jnp.sqrt(x), 3 * x), -x)


def moved(x: Any) -> Any:
    """The root is repeated, moved, cut and padded before a choice takes none of it."""
    roots = jnp.broadcast_to(jnp.sqrt(x), (2, 3))
    rows = jnp.pad(jnp.concatenate([roots.T, roots.T[::-1]])[1:5, None], ((1, 0), (0, 0), (0, 1)))
    rows = rows.at[0].set(x)[jnp.array([0, 3, 3, 1])].reshape(-1)
    return jnp.cumsum(jnp.where(x > 0, lax.dynamic_slice(rows, (x.astype(int),), (6,)), x))[-1]


def used_twice(x: Any) -> Any:
    """Both uses of the root are choices, of which the second takes it at 4."""
    root = jnp.sqrt(x)
    return jnp.where(x > 5, root, x * x) + jnp.where(x > 3, root, 2 * x)


def called(x: Any) -> Any:
    root = jit(lambda x: jnp.sqrt(x) * x**0.25)
    return jit(lambda x, y: jnp.where(x > 0, y * x, 5 * x) + jit(jnp.sin)(x))(x, root(x))


def looped(x: Any) -> Any:
    """The choice after a loop is not to take what all its iterations compute."""
    return jnp.where(x > 0, lax.scan(lambda c, t: (jnp.sqrt(c) * t, c), x, jnp.ones(3))[0], x)


def looped_rows(x: Any) -> Any:
    rows = lax.scan(lambda c, t: (c, jnp.sqrt(c * t)), x, jnp.array([0.0, 1.0, 0.0]))[1]
    return jnp.sum(jnp.where(jnp.array([False, True, False]), rows, x))


def from_iteration_to_iteration(x: Any) -> Any:
    """Select in the last iteration between values computed in earlier ones."""

    def body(state: Any, t: Any) -> Any:
        count, root = state
        return (count + 1, jnp.where((count < 2) | (x > 0), jnp.sqrt(root), x)), None

    return lax.scan(body, (0, x), jnp.arange(3.0))[0][1]


def looped_while(x: Any) -> Any:
    """The choice after a loop of unknown length takes nothing of all its iterations."""
    return jnp.where(x > 0, lax.fori_loop(0, 2 + (x > 9), lambda _, c: jnp.sqrt(c), x), x)


def looped_while_around(x: Any) -> Any:
    """The loop uses the root at every iteration, and its last one is not to take any."""

    def body(state: Any) -> Any:
        count, root = state
        return count + 1, jnp.where((count < 2) | (x > 0), jnp.sqrt(root), x)

    return lax.while_loop(lambda state: state[0] < 3, body, (0, x))[1]


def branched(x: Any) -> Any:
    return jnp.where(x > 0, lax.cond(x > -1, jnp.sqrt, lambda x: x, x), 7 * x)


def kept_apart(x: Any) -> Any:
    """A checkpointed program with a product of matrices, which stays a program of its own."""
    inner = checkpoint(lambda x: jnp.sqrt(x) * jnp.sum(jnp.eye(2) @ jnp.full((2, 2), x)))
    return jnp.where(x > 0, inner(x), x)


@custom_jvp
def doubtful(x: Any) -> Any:
    return jnp.sqrt(x)


@doubtful.defjvp
def _doubtful_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return jnp.sqrt(x), t * 0.5 / jnp.sqrt(x)


def of_a_vector(x: Any) -> Any:
    """A sum of squares is one number, of whose operands none is taken where it is not."""
    xs = jnp.stack([jnp.sqrt(x), 1 / x])
    return jnp.where(x > 0, jnp.dot(xs, xs), x)


def of_matrix(fun: Fun, *rows: Sequence[float]) -> Fun:
    """The sum of a function of a matrix of polynomials, singular at 0, and x times as much there.

    The rows are of pairs: the coefficients of x and of 1.
    """
    coefficients = np.array(rows, np.float64).reshape(2, 2, 2)

    def chosen(x: Any) -> Any:
        value = fun(coefficients[..., 0] * x + coefficients[..., 1])
        return jnp.sum(jnp.where(x > 0, value, x / value.size))

    return chosen


def of_system(fun: Fun) -> Fun:
    """Of a matrix with the determinant x - x², the sum of whose inverse is 1 / x."""
    return of_matrix(fun, (1, 0, 2, 0), (1, 0, 1, 1))


inverse: Final = of_system(jnp.linalg.inv)
logarithm: Final = of_system(lambda a: jnp.linalg.slogdet(a)[1])
#: The factor has three roots of x.
factor: Final = of_matrix(jnp.linalg.cholesky, (1, 0, 1, 0), (1, 0, 2, 0))


def padded(x: Any) -> Any:
    """The root is an element of what is padded, and what it is padded with."""
    root = jnp.sqrt(x)
    rows = lax.pad(root * jnp.arange(3.0), root, [(1, 1, 0)])
    return jnp.sum(jnp.where((x > 0) & jnp.array([1, 0, 1, 1, 0], bool), rows, 3 * x))


def scattered(x: Any) -> Any:
    """Of the two roots in one place one is written, or both are added."""
    rows, places = jnp.sqrt(x) * jnp.arange(3.0), jnp.array([1, 1, 3])
    zeros = jnp.zeros(4, rows.dtype)
    both = jnp.stack([zeros.at[places].set(rows), zeros.at[places].add(rows)])
    return jnp.sum(jnp.where(x > 0, both, 3 * x))


#: Somebody else's primitive, by which the halves of a vector change places.
halves_p: Final = extend.Primitive("halves_in_turn", extend.NoParams)
halves_p.def_impl(lambda operands, params: [np.roll(operands[0], len(operands[0]) // 2)])
halves_p.def_abstract_eval(lambda avals, params: avals)
extend.def_linear(halves_p, repeats=False)
extend.def_transposes(halves_p, lambda ct, x: extend.bind1(halves_p, [ct], extend.NO_PARAMS))


def of_others(x: Any) -> Any:
    rows = extend.bind1(halves_p, [jnp.sqrt(x) * jnp.arange(1.0, 5.0)], extend.NO_PARAMS)
    return jnp.sum(jnp.where(x > jnp.array([0, 1, 2, 3]), rows, 3 * x))


CASES: Final[dict[str, Case]] = {
    case.why: case
    for case in (
        Case(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), 0.0, 0.0, 0.0, "a constant"),
        Case(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), 4.0, 0.25, -1 / 32, "a root"),
        Case(lambda x: jnp.where(x > 0, x * jnp.log(x), x), 0.0, 1.0, 0.0, "x, not x log x"),
        Case(lambda x: jnp.where(x == 0, 1 - x * x / 6, jnp.sin(x) / x), 0.0, 0.0, -1 / 3, "sinc"),
        Case(lambda x: jnp.where(x > 0, x**1.5 / x, x**2), 0.0, 0.0, 2.0, "a square"),
        Case(lambda x: jnp.where(x > 0, x * inf, 3 * x), 0.0, 3.0, 0.0, "no infinite number"),
        Case(lambda x: jnp.where(x > 0, x / 0.0, 3 * x), 0.0, 3.0, 0.0, "no division by zero"),
        Case(lambda x: jnp.where(x > 0, doubtful(x), x), 0.0, 1.0, 0.0, "no rule of the user's"),
        Case(nested, 0.0, 3.0, 0.0, "the inner of two choices"),
        Case(nested, -1.0, -1.0, 0.0, "the outer of two choices"),
        Case(lambda x: jnp.maximum(jnp.log(x), x - 1), 0.0, 1.0, 0.0, "the greater one"),
        Case(lambda x: jnp.clip(1 / x, -2.0, 2.0) * x, 0.0, 2.0, 0.0, "an end, times x"),
        Case(
            lambda x: jnp.select([x > 1, x > 0], [jnp.sqrt(x - 1), jnp.sqrt(x)], x),
            1.0,
            0.5,
            -0.25,
            "the second of three",
        ),
        Case(moved, 0.0, 6.0, 0.0, "x, six times"),
        Case(used_twice, 0.0, 2.0, 2.0, "neither use"),
        Case(used_twice, 4.0, 8.25, 2 - 1 / 32, "one use of two"),
        Case(called, 0.0, 6.0, 0.0, "no call"),
        Case(called, 1.0, 1.75 + math.cos(1), 1.3125 - math.sin(1), "two calls"),
        Case(looped, 0.0, 1.0, 0.0, "no loop"),
        Case(looped, 1.0, 0.125, -7 / 64, "an eighth root"),
        Case(looped_rows, 1.0, 2.5, -0.25, "one row of a loop"),
        Case(from_iteration_to_iteration, 0.0, 1.0, 0.0, "not the iterations before"),
        Case(from_iteration_to_iteration, 1.0, 0.125, -7 / 64, "all iterations"),
        Case(looped_while, 0.0, 1.0, 0.0, "no loop of unknown length"),
        Case(looped_while, 1.0, 0.25, -3 / 16, "a fourth root"),
        Case(looped_while_around, 0.0, 1.0, 0.0, "not the iterations before, of unknown length"),
        Case(looped_while_around, 1.0, 0.125, -7 / 64, "all iterations of a while_loop"),
        Case(branched, 0.0, 7.0, 0.0, "no branch"),
        Case(kept_apart, 0.0, 1.0, 0.0, "no checkpointed program"),
        Case(of_a_vector, 0.0, 1.0, None, "no sum of squares"),
        Case(logarithm, 0.0, 1.0, 0.0, "no determinant"),
        Case(logarithm, 0.25, 8 / 3, -160 / 9, "a determinant"),
        Case(inverse, 0.0, 1.0, 0.0, "no inverse"),
        Case(inverse, 0.5, -4.0, 16.0, "an inverse"),
        Case(of_system(lambda a: jnp.linalg.inv(a) @ a[0]), 0.0, 1.0, 0.0, "no inverse, times a"),
        Case(of_system(lambda a: jnp.linalg.solve(a, a + 1)), 0.0, 1.0, 0.0, "no solution"),
        Case(factor, 0.0, 1.0, 0.0, "no factor"),
        Case(factor, 4.0, 0.75, -3 / 32, "a factor"),
        Case(padded, 0.0, 15.0, 0.0, "no padding"),
        Case(padded, 4.0, 7.0, -1 / 8, "padding"),
        Case(scattered, 0.0, 24.0, 0.0, "nothing scattered"),
        Case(scattered, 4.0, 1.5, -6 / 32, "what is scattered"),
    )
}


def in_scan(fun: Fun) -> Fun:
    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, _: (fun(c), None), x, None, length=1)[0]

    return scanned


def in_while_loop(fun: Fun, checkpoints: int | None = None) -> Fun:
    def looped(x: Any) -> Any:
        state = (0, x)
        return lax.while_loop(
            lambda s: s[0] < 1, lambda s: (s[0] + 1, fun(s[1])), state, checkpoints=checkpoints
        )[1]

    return looped


def in_checkpointed_scan(fun: Fun) -> Fun:
    """The second of two outputs."""

    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, _: (c, fun(c)), x, None, length=2, checkpoints=1)[1][1]

    return scanned


def over_examples(change: Fun) -> Fun:
    """The derivative at the second of three examples."""

    def changed(fun: Fun) -> Fun:
        return lambda x: change(fun)(jnp.stack([x + 1, x, x + 2]))[1]

    return changed


def of_sum(fun: Fun) -> Fun:
    def summed(xs: Any) -> Any:
        return jnp.sum(vmap(fun)(xs))

    derivative: Fun = grad(summed)
    return derivative


WAYS: Final[dict[str, Fun]] = {
    "grad": grad,
    "grad of jit": lambda fun: grad(jit(fun)),
    "vmap of grad": over_examples(lambda fun: vmap(grad(fun))),
    "grad of vmap": over_examples(of_sum),
    "grad of jit of vmap": over_examples(lambda fun: grad(lambda xs: jnp.sum(jit(vmap(fun))(xs)))),
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "grad of checkpoint": lambda fun: grad(checkpoint(fun)),
    "grad of scan": lambda fun: grad(in_scan(fun)),
    "grad of while_loop": lambda fun: grad(in_while_loop(fun)),
    "grad of while_loop with few states": lambda fun: grad(in_while_loop(fun, 2)),
    "grad of checkpointed scan": lambda fun: grad(in_checkpointed_scan(fun)),
    "grad of vmap of while_loop": over_examples(lambda fun: of_sum(in_while_loop(fun))),
    "vmap of grad of while_loop": over_examples(lambda fun: vmap(grad(in_while_loop(fun)))),
    "scan of grad": lambda fun: in_scan(grad(fun)),
    "grad of cond": lambda fun: grad(lambda x: lax.cond(x < 9, fun, lambda x: x, x)),
}
SECOND: Final[dict[str, Fun]] = {
    "grad of grad": lambda fun: grad(grad(fun)),
    "hessian": hessian,
    "forward over reverse": lambda fun: lambda x: jvp(grad(fun), (x,), (jnp.ones_like(x),))[1],
    "reverse over forward": lambda fun: grad(jacfwd(fun)),
    "vmap of hessian": over_examples(lambda fun: vmap(hessian(fun))),
    "grad of sum of vmap of grad": over_examples(
        lambda fun: grad(lambda xs: jnp.sum(vmap(grad(fun))(xs)))
    ),
    "grad of grad of scan": lambda fun: grad(grad(in_scan(fun))),
    "grad of grad of while_loop": lambda fun: grad(grad(in_while_loop(fun))),
    "grad of grad of checkpointed scan": lambda fun: grad(grad(in_checkpointed_scan(fun))),
    "grad of grad of checkpoint": lambda fun: grad(grad(checkpoint(fun))),
}


def agree(values: Sequence[Any], expected: Sequence[float | None]) -> None:
    got = dict(zip(CASES, map(float, values), strict=True))
    wrong = {
        why: (got[why], wanted)
        for why, wanted in zip(CASES, expected, strict=True)
        if wanted is not None and not math.isclose(got[why], wanted, rel_tol=1e-10, abs_tol=1e-12)
    }
    assert not wrong


@pytest.mark.sampled(6)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("way", [*WAYS, *SECOND])
def test_derivatives_are_those_of_what_is_taken(way: str, compiled: bool) -> None:
    change = {**WAYS, **SECOND}[way]
    points = [jnp.asarray(np.float64(case.point)) for case in CASES.values()]

    def everything(points: Any) -> Any:
        return [change(case.fun)(x) for case, x in zip(CASES.values(), points, strict=True)]

    values = (jit(everything) if compiled else everything)(points)
    agree(values, [c.first if way in WAYS else c.second for c in CASES.values()])


def test_what_is_repeated_is_the_same() -> None:
    """Eagerly a backward pass is written as a program once it was often made."""
    for case in [*CASES.values()][:15]:
        x = jnp.asarray(np.float64(case.point))
        found = {float(grad(case.fun)(x)) for _ in range(70)}
        assert len(found) == 1


HONEST: Final[dict[str, tuple[Fun, float]]] = {
    # a zero that comes of arithmetic is not a choice
    "a product with zero": (lambda x: jnp.sqrt(x) * x, nan),
    "a product of roots": (lambda x: jnp.sqrt(x) * jnp.sqrt(x), nan),
    "a root of a square": (lambda x: jnp.sqrt(x * x), nan),
    "a mask as a factor": (lambda x: jnp.sqrt(x) * jnp.floor(x), nan),
    # what is taken
    "a root that is taken": (lambda x: jnp.where(x >= 0, jnp.sqrt(x), 0.0), inf),
    "a root that is used elsewhere": (
        lambda x: sum(jnp.where(place, jnp.sqrt(x), 0.0) for place in (x > 0, x == 0)),
        inf,
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_only_choices_choose(name: str) -> None:
    fun, expected = HONEST[name]
    for change in (grad, lambda fun: jit(grad(fun)), lambda fun: grad(jit(fun))):
        np.testing.assert_equal(float(change(fun)(jnp.zeros(()))), expected)


def test_masks_go_through_primitives_of_others() -> None:
    assert float(grad(of_others)(0.0)) == 12.0
    assert float(grad(of_others)(1.0)) == 0.5 * 3 + 9.0


@pytest.mark.parametrize("way", ["grad in vmap", "vmap in grad", "shard_map"])
def test_what_others_take_counts(way: str) -> None:
    """A sum over examples is taken by some, and what the others give it counts: by hand."""

    def fun(x: Any) -> Any:
        total = lax.psum(jnp.exp(x) ** 2, "i")
        return jnp.where(x > 0.5, total * x, 0.0)

    def summed(xs: Any) -> Any:
        if way == "shard_map":
            mesh = tinyjax.make_mesh((1,), ("i",))
            spec = tinyjax.P("i")
            whole = tinyjax.shard_map(vmap(fun), mesh=mesh, in_specs=spec, out_specs=spec)
            return jnp.sum(whole(xs[1:2])) + 3 * jnp.sum(jnp.exp(xs) ** 2)
        return jnp.sum(vmap(fun, axis_name="i")(xs))

    xs = np.array([0.0, 1.0, 2.0])
    change = vmap(grad(fun), axis_name="i") if way == "grad in vmap" else grad(summed)
    squares = np.exp(2 * xs)
    expected = 2 * squares * 3 + np.where(xs > 0.5, np.sum(squares), 0.0)
    if way == "shard_map":
        expected = 6 * squares + np.array([0.0, 3 * squares[1], 0.0])
    np.testing.assert_allclose(change(jnp.asarray(xs)), expected, 1e-12)


# Rules of ``custom_vjp`` functions, and bodies of ``shard_map``


def ruled(fun: Fun) -> Fun:
    """Return a function with the rule that its operations would have."""
    custom = custom_vjp(fun)
    custom.defvjp(lambda *args: (fun(*args), args), lambda args, ct: vjp(fun, *args)[1](ct))
    return custom


def divided(fun: Fun) -> Fun:
    """Return a function that each device of a mesh of one runs."""
    spec = tinyjax.P("i")
    mesh = tinyjax.make_mesh((1,), ("i",), axis_types=(tinyjax.sharding.AxisType.Auto,))
    mapped: Fun = tinyjax.shard_map(fun, mesh=mesh, in_specs=spec, out_specs=spec)
    return mapped


def rows_of(x: Any, w: Any) -> Any:
    """Repeated, moved, multiplied by another argument, and summed along an axis."""
    return jnp.cumsum(jnp.sqrt(x)[::-1, None] * w, axis=1).T.reshape(2, -1)


def choosing(x: Any) -> Any:
    return jnp.where(x == 0, jnp.stack([x, x])[0], jnp.log(x)) * 2


#: Functions of a vector, some elements of which are 0, with functions that ``made`` may give rules.
OF_VECTORS: Final[dict[str, Callable[[Fun], Fun]]] = {
    "elements": lambda made: lambda x: jnp.where(x > 0, made(jnp.sqrt)(x), x),
    "two in a chain": lambda made: (
        lambda x: jnp.where(x > 0, made(jnp.log)(made(jnp.sqrt)(x) * 2), x)
    ),
    "rows": lambda made: (
        lambda x: jnp.where((x > 0)[::-1], made(rows_of)(x, jnp.stack([x, x + 1], 1))[1], x)
    ),
    "a choice inside": lambda made: lambda x: jnp.where(x >= 0, made(choosing)(x) * x, x),
    "a call inside": lambda made: lambda x: jnp.where(x > 0, made(jit(jnp.sqrt))(x), x),
    "one result of two": lambda made: (
        lambda x: jnp.where(x > 0, made(lambda x: (x * x, jnp.sin(x)))(jnp.sqrt(x))[0], x)
    ),
    "both results": lambda made: (
        lambda x: sum(
            jnp.where(x > i, y, x)
            for i, y in enumerate(made(lambda x: (jnp.sqrt(x), jnp.sqrt(abs(x - 1))))(x))
        )
    ),
    "in a call": lambda made: lambda x: jnp.where(x > 0, jit(made(jnp.sqrt))(x), x),
    "in a checkpoint": lambda made: lambda x: jnp.where(x > 0, checkpoint(made(jnp.sqrt))(x), x),
    "in a scan": lambda made: (
        lambda x: jnp.where(x > 0, lax.scan(lambda c, _: (made(jnp.sqrt)(c), c), x, None, 2)[0], x)
    ),
    "in a branch": lambda made: (
        lambda x: jnp.where(x > 0, lax.cond(x[0] > -1, made(jnp.sqrt), jnp.sin, x), x)
    ),
}
BACKWARD: Final[dict[str, Fun]] = {
    "grad": lambda fun: grad(lambda x: jnp.sum(fun(x) * jnp.cos(x))),
    "grad of jit": lambda fun: grad(jit(lambda x: jnp.sum(fun(x) * jnp.cos(x)))),
    "jit of grad": lambda fun: jit(grad(lambda x: jnp.sum(fun(x) * jnp.cos(x)))),
    "grad of vmap": lambda fun: (
        lambda x: grad(lambda xs: jnp.sum(vmap(fun)(xs)))(jnp.stack([x, x[::-1]]))
    ),
    "vmap of grad": lambda fun: (
        lambda x: vmap(grad(lambda x: jnp.sum(fun(x))))(jnp.stack([x, x[::-1]]))
    ),
    "jacrev": jacrev,
    "grad of scan": lambda fun: grad(
        lambda x: jnp.sum(lax.scan(lambda c, _: (fun(c), None), x, None, 1)[0])
    ),
    "grad of grad": lambda fun: grad(
        lambda x: jnp.sum(grad(lambda x: jnp.sum(fun(x) * jnp.cos(x)))(x) * x)
    ),
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("made", [ruled, divided, lambda fun: divided(ruled(fun))])
@pytest.mark.parametrize("way", BACKWARD)
@pytest.mark.parametrize("name", OF_VECTORS)
def test_masks_go_through_rules_and_parts(name: str, way: str, made: Fun) -> None:
    """The function as it is has the same derivatives, also where JAX has NaN."""
    fun, change = OF_VECTORS[name], BACKWARD[way]
    for xs in ([0.0, 1.0, 4.0], [2.0, 3.0, 4.0]):
        x = jnp.asarray(np.array(xs))
        expected = np.asarray(change(fun(lambda plain: plain))(x))
        assert np.all(np.isfinite(expected))
        np.testing.assert_allclose(change(fun(made))(x), expected, 1e-12, 1e-12)


def checked(ct: Any) -> Any:
    assert isinstance(float(ct[0]), float), "a rule sees data"
    return ct


#: What a rule makes of a cotangent, and of that of the root that is taken of 4 and not of 0.
RULES: Final[dict[str, tuple[Fun, list[float]]]] = {
    "doubled": (lambda ct: 2 * ct, [0, 0.5]),
    "clipped": (lambda ct: jnp.clip(ct, -0.5, 0.5), [0, 0.125]),
    "of length one": (lambda ct: ct / jnp.sqrt(jnp.sum(ct**2)), [0, 0.25]),
    "its sign": (lambda ct: ct / abs(ct), [0, 0.25]),
    "data": (checked, [0, 0.25]),
    "with zeros": (lambda ct: jnp.zeros(3).at[:2].add(ct)[:2], [0, 0.25]),
    # what is not taken counts where the rule says so
    "reversed": (lambda ct: ct[::-1], [inf, 0]),
    "something added": (lambda ct: ct + 1, [inf, 0.5]),
    "a number": (jnp.ones_like, [inf, 0.25]),
    "an exponential": (jnp.exp, [inf, 0.25 * math.e]),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_what_counts(name: str) -> None:
    """By hand."""
    rule, expected = RULES[name]
    calls = []

    @custom_vjp
    def scaled(x: Any) -> Any:
        return x

    def backward(_: None, ct: Any) -> tuple[Any]:
        calls.append(type(ct).__name__)
        return (rule(ct),)

    scaled.defvjp(lambda x: (x, None), backward)
    change = grad(lambda x: jnp.sum(jnp.where(x > 0, scaled(jnp.sqrt(x)), 0.0)))
    np.testing.assert_allclose(change(jnp.array([0.0, 4.0])), expected, 1e-6)
    assert calls == ["ConcreteArray"]
    if name != "data":
        np.testing.assert_allclose(jit(change)(jnp.array([0.0, 4.0])), expected, 1e-6)


def test_nothing_is_chosen_that_was_not_multiplied() -> None:
    """Of a network with ``relu`` the derivative has the choices of ``relu`` and no more."""

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = jnp.where(x @ w > 0, x @ w, 0.0)
        return jnp.sum(x)

    program = tinyjax.make_jaxpr(grad(loss))([jnp.ones((3, 3))] * 4, jnp.ones((2, 3)))
    assert str(program).count("select") == 8
    assert "not" not in [eqn.primitive.name for eqn in program.eqns]


def test_what_has_no_mask_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks are looked for where a choice is, however much is computed before and behind."""
    visits: list[int] = []
    add = backward.MaskedTransposer._added

    def added(self: Any, *args: Any) -> Any:
        visits.append(1)
        return add(self, *args)

    monkeypatch.setattr(backward.MaskedTransposer, "_added", added)

    def chosen(x: Any, n: int) -> Any:
        y = jnp.where(x > 0, jnp.sqrt(x) * x, x)
        for _ in range(n):
            y = jnp.sin(y) * 0.5 + y * y
        return jnp.sum(y)

    counts = []
    for n in (2, 30):
        visits.clear()
        grad(chosen)(jnp.array([0.5, 2.0]), n)
        counts.append(len(visits))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("way", [lambda f: f, jit], ids=["eager", "compiled"])
def test_choices_of_one_value_may_be_many(moves: bool, way: Callable[[Fun], Fun]) -> None:
    def chosen(x: Any) -> Any:
        y = jnp.sqrt(x)
        total: Any = 0.0
        for k in range(400):
            total = total + jnp.where(x > 0.01 * k, y, 0.0)
            x, y = (x[::-1], y[::-1]) if moves else (x, y)
        return jnp.sum(total)

    x = np.array([0.3, 0.705, 2.5, 0.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(x > 0, np.ceil(100 * x) / (2 * np.sqrt(x)), 0.0)
    np.testing.assert_allclose(way(grad(chosen))(x), slope, 1e-5)


def test_elements_are_chosen_one_by_one() -> None:
    """Of arrays: against jax, whose operand is replaced where the choice does not take it."""
    xs = np.array([[0.0, 1.0, -1.0], [4.0, 0.0, 2.0]])

    def ours(x: Any) -> Any:
        scaled = jnp.sqrt(x)[:, ::-1].T * jnp.arange(1.0, 3.0)
        return jnp.sum(jnp.where(x[:, ::-1].T > 0, scaled / x[:, ::-1].T, 0.0))

    def theirs(x: Any) -> Any:
        safe = jax.numpy.where(x > 0, x, 1.0)
        scaled = jax.numpy.sqrt(safe) * jax.numpy.arange(1.0, 3.0)[:, None]
        return jax.numpy.sum(jax.numpy.where(x > 0, scaled / safe, 0.0))

    for change in (grad, jacrev, jacfwd):
        np.testing.assert_allclose(change(ours)(xs), jax.grad(theirs)(xs), 1e-6)


# Losses that are not taken where they are not finite


def convolved(x: Any, w: Any) -> Any:
    images, kernels = x.reshape(1, 1, 3, 4), w[:2, :2].reshape(1, 1, 2, 2)
    return lax.conv(images, kernels, (1, 1), "SAME").reshape(3, 4) @ w


def attending(x: Any, w: Any) -> Any:
    scores = jnp.einsum("ij,kj->ik", x @ w, x)
    return jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True)) @ x


def rotated(x: Any, w: Any) -> Any:
    return jnp.sin(x @ w) * x


#: Layers of networks, of a matrix of activations and one of weights.
LAYERS: Final[dict[str, Fun]] = {
    "a product": lambda x, w: jnp.tanh(x @ w) + x,
    "relu": lambda x, w: jnp.where(x @ w > 0, x @ w, 0.0) * x,
    "a convolution": convolved,
    "attention": attending,
    "a call": jit(rotated),
    "a checkpoint": checkpoint(rotated),
    "a scan": lambda x, w: lax.scan(lambda c, _: (jnp.tanh(c @ w) * c, None), x, None, 2)[0],
    "a sort": lambda x, w: jnp.sort(x @ w, axis=0) + jnp.cumsum(x, axis=0),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("spoilt", [None, math.inf, nan])
def test_a_loss_that_is_not_taken_has_no_gradient(name: str, spoilt: float | None) -> None:
    """By hand: zero where the loss is not finite, and elsewhere the gradient of the loss."""
    random = np.random.default_rng(0)
    x, *weights = (0.5 * random.standard_normal(shape) for shape in [(3, 4), (4, 4), (4, 4)])
    if spoilt is not None:
        x[1, 2] = spoilt

    def loss(x: Any, weights: Any) -> Any:
        for w in weights:
            x = LAYERS[name](x, w)
        return jnp.mean((x - 1.0) ** 2)

    def chosen(x: Any, weights: Any) -> Any:
        value = loss(x, weights)
        return jnp.where(jnp.isfinite(value), value, 0.0)

    def per_example(x: Any, weights: Any) -> Any:
        both = jnp.stack([jnp.ones_like(x), x])
        return jax.tree.map(lambda g: g[1], vmap(gradient, (0, None))(both, weights))

    gradient = grad(chosen, (0, 1))
    along = (x if spoilt is None else np.ones_like(x), weights)
    expected = grad(loss, (0, 1))(x, weights)
    expected_along = jvp(grad(loss, (0, 1)), (x, weights), along)[1]
    if spoilt is not None:
        expected, expected_along = (jax.tree.map(np.zeros_like, (x, weights)) for _ in range(2))
    for change in (gradient, jit(gradient), grad(jit(chosen), (0, 1)), per_example):
        for got, right in zip(*map(jax.tree.leaves, (change(x, weights), expected)), strict=True):
            np.testing.assert_allclose(got, right, 1e-9, 1e-12)
    got_along = jvp(gradient, (x, weights), along)[1]
    for got, right in zip(*map(jax.tree.leaves, (got_along, expected_along)), strict=True):
        np.testing.assert_allclose(got, right, 1e-9, 1e-12)


# A search: choices among functions that are singular where they are not taken


@attrs.frozen
class Tree:
    """A function put together at random; ``chosen`` is it without what is not chosen there."""

    fun: Fun
    chosen: Fun


#: Functions that have infinite derivatives, or none, at the integer in the second place.
SINGULAR: Final[tuple[Fun, ...]] = (
    lambda x, point: jnp.sqrt(x - point),
    lambda x, point: jnp.log(x - point),
    lambda x, point: 1 / (x - point),
    lambda x, point: (x - point) ** 0.3,
    lambda x, point: jnp.arctan2(x - point, 0 * x),
    lambda x, point: jnp.cbrt(x - point) * jnp.exp(x),
    lambda x, point: jnp.sum(jnp.stack([x, x]) / jnp.sqrt(jnp.sum(jnp.stack([x, x]) - point))),
    lambda x, point: jit(lambda x: jnp.sqrt(x - point) * jnp.cos(x))(x),
    lambda x, point: lax.scan(lambda c, _: (jnp.sqrt(c - point) * c, None), x, None, length=2)[0],
)
SMOOTH: Final[tuple[Fun, ...]] = (
    jnp.sin,
    lambda x: x * x,
    lambda x: jnp.exp(-x),
    jnp.tanh,
    lambda x: 3.0 - x,
    jit(lambda x: jnp.cos(x) * x),
    lambda x: jnp.sum(jnp.flip(jnp.stack([x, 2 * x]).reshape(2, 1))[1:]),
)
JOINED: Final[tuple[Fun, ...]] = (
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: jnp.sum(jnp.concatenate([a[None], b[None]]) * jnp.array([2.0, 3.0])),
)


@st.composite
def trees(draw: st.DrawFn, point: int, depth: int) -> Tree:
    """A function of numbers near an integer; where it chooses, it takes the rest of it there."""
    kind = draw(st.sampled_from(("choose", "apply", "join", "leaf") if depth else ("leaf",)))
    if kind == "leaf":
        leaf = draw(st.sampled_from(SMOOTH))
        return Tree(leaf, leaf)
    inner = draw(trees(point, depth - 1))
    if kind == "apply":
        f: Fun = draw(st.sampled_from(SMOOTH))
        return Tree(lambda x: f(inner.fun(x)), lambda x: f(inner.chosen(x)))
    if kind == "join":
        join: Fun = draw(st.sampled_from(JOINED))
        other = draw(trees(point, depth - 1))
        return Tree(
            lambda x: join(inner.fun(x), other.fun(x)),
            lambda x: join(inner.chosen(x), other.chosen(x)),
        )
    bad_fun: Fun = draw(st.sampled_from(SINGULAR))
    outside: Fun = draw(st.sampled_from(SMOOTH))
    beside = draw(trees(point, depth - 1))
    within = draw(st.booleans())

    def fun(x: Any) -> Any:
        bad = outside(bad_fun(x, point)) * beside.fun(x)
        if within:
            return jit(lambda x, bad, good: jnp.where(x != point, bad, good))(x, bad, inner.fun(x))
        return jnp.where(x != point, bad, inner.fun(x))

    return Tree(fun, inner.chosen)


def check_tree(tree: Tree, point: int) -> None:
    x = jnp.asarray(np.float64(point))
    for ways in (WAYS, SECOND):
        right: Fun = grad(tree.chosen) if ways is WAYS else hessian(tree.chosen)
        expected = right(x)
        for way in ways:
            change: Fun = ways[way]
            np.testing.assert_allclose(change(tree.fun)(x), expected, 1e-9, 1e-9)
    np.testing.assert_allclose(jit(grad(tree.fun))(x), grad(tree.chosen)(x), 1e-9, 1e-9)


@settings(max_examples=4)
@given(st.data(), st.integers(-2, 2))
def test_random_choices(data: st.DataObject, point: int) -> None:
    check_tree(data.draw(trees(point, 2)), point)


@pytest.mark.fuzz
@given(st.data(), st.integers(-2, 2))
def test_random_choices_at_length(data: st.DataObject, point: int) -> None:
    check_tree(data.draw(trees(point, 3)), point)
    forget_sometimes()

"""``error_if`` in branches and loops that vmap maps over: only those who take part can fail."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import error_if, jit, lax, vmap
from tinyjax.errors import CheckFailedError


def positive(x: Any) -> Any:
    return error_if(x, x < 0, "negative")


#: What a branch or an iteration may do with a check inside; each is the identity where it succeeds.
BODIES: Final[dict[str, Callable[[Any], Any]]] = {
    "plain": positive,
    "jit": jit(positive),
    "scan": lambda x: lax.scan(lambda c, _: (positive(c), None), x, None, length=2)[0],
    "fori_loop": lambda x: lax.fori_loop(0, 2, lambda i, c: positive(c), x),
    "while_loop": lambda x: lax.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, positive(c[1])), (0, x)
    )[1],
    "mapped while_loop": lambda x: lax.while_loop(lambda c: c < -3, lambda c: positive(c) + 9, x),
    "cond": lambda x: lax.cond(x != 3, positive, lambda x: x, x),
    "switch": lambda x: lax.switch((x != 3).astype(int), [lambda x: x, positive], x),
    "checkpoint": tinyjax.checkpoint(positive),
    "grad": lambda x: tinyjax.grad(lambda y: positive(y) * x)(x),
    "vmap": lambda x: jnp.mean(vmap(lambda y: positive(x) * y)(jnp.ones(3))),
    "map": lambda x: jnp.mean(lax.map(lambda y: positive(x) * y, jnp.ones(3))),
}

#: Ways in which only some examples do what is in a body: those of TAKEN.
PARTIAL: Final[dict[str, Callable[[Callable[[Any], Any]], Callable[[Any, Any], Any]]]] = {
    "cond": lambda body: lambda predicate, x: lax.cond(predicate, body, lambda x: x, x),
    "switch": lambda body: (
        lambda predicate, x: lax.switch(predicate.astype(int), [lambda x: x, body, body], x)
    ),
    "nested cond": lambda body: (
        lambda predicate, x: lax.cond(
            predicate, lambda x: lax.cond(x != 100, body, lambda x: x, x), lambda x: x, x
        )
    ),
    "while_loop": lambda body: (
        lambda predicate, x: lax.while_loop(
            lambda c: c[0], lambda c: (c[0] & False, body(c[1])), (predicate, x)
        )[1]
    ),
    "fori_loop": lambda body: (
        lambda predicate, x: lax.fori_loop(0, predicate.astype(int), lambda i, c: body(c), x)
    ),
}


def jit_of_vmap(fun: Callable[..., Any]) -> Callable[..., Any]:
    return jit(vmap(fun))


TRANSFORMED: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "vmap": vmap,
    "jit of vmap": jit_of_vmap,
    "vmap of jit": lambda fun: vmap(jit(fun)),
    "vmap of grad": lambda fun: jit(vmap(tinyjax.grad(fun, 1))),
    "jvp of vmap": lambda fun: jit(lambda p, x: tinyjax.jvp(lambda x: vmap(fun)(p, x), (x,), (x,))),
}

TAKEN: Final = np.array([False, True, False, True, True])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("partial", PARTIAL)
@pytest.mark.parametrize("body", BODIES)
def test_only_examples_that_take_part_fail(body: str, partial: str) -> None:
    fun = PARTIAL[partial](BODIES[body])
    every = partial == "cond" or body == "plain"
    for name, transform in TRANSFORMED.items() if every else [("jit of vmap", jit_of_vmap)]:
        if "grad" in name and "fori_loop" in (body, partial):
            continue  # of which the bounds are not known
        mapped = transform(fun)
        # those that take no part would fail
        fine = np.array([-1.0, 2.0, -3.0, 4.0, 5.0])
        mapped(TAKEN, fine)
        mapped(np.zeros(5, bool), -np.abs(fine))
        # and are not counted
        with raises(CheckFailedError, match=r"negative \(in (2 of 5|6 of 15) places, the fi"):
            mapped(TAKEN, np.array([-1.0, 2.0, -3.0, -4.0, -5.0]))
        with raises(CheckFailedError, match=r"the first at index (3|\(3, 0\))\)"):
            mapped(TAKEN, np.array([-1.0, 2.0, -3.0, -4.0, 5.0]))


@pytest.mark.parametrize("kind", [int, float])
def test_a_branch_that_nobody_takes_checks_nothing(kind: type) -> None:
    """Even where what it checks is the same for all."""

    @jit
    def outer(x: Any) -> Any:
        return vmap(lambda p: lax.cond(p, positive, lambda x: x, x))(np.zeros(3, bool))

    np.testing.assert_array_equal(outer(kind(-1)), [-1, -1, -1])


def test_two_maps_count_all_examples() -> None:
    def fun(p: Any, x: Any) -> Any:
        return lax.cond(p, positive, lambda x: x, x)

    p = np.array([[True, False], [True, True]])
    x = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for transform in (lambda f: f, jit):
        twice = transform(vmap(vmap(fun)))
        with raises(CheckFailedError, match=r"in 1 of 4 places, the first at index \(1, 0\)"):
            twice(p, x)
        np.testing.assert_array_equal(twice(x > 0, x), x)


def test_integers_that_a_loop_has_done_with_are_not_checked() -> None:
    def count(limit: Any) -> Any:
        return lax.while_loop(
            lambda n: n < limit, lambda n: error_if(n + 1, n >= limit, "after the end"), 0
        )

    for mapped in (vmap(count), jit(vmap(count))):
        np.testing.assert_array_equal(mapped(np.array([1, 5, 0])), [1, 5, 0])

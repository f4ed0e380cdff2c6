"""vectorize, against jax."""

from typing import Any

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import tinyjax as tj
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, ShapeError

pytestmark = pytest.mark.usefixtures("each_tier")

CASES: list[tuple[str | None, Any, list[tuple[int, ...]]]] = [
    (None, lambda np, x, y: x * y + 1, [(3, 1), (4,)]),
    (None, lambda np, x, y: (x + y, x), [(2, 1, 3), (5, 1)]),
    ("(n),(n)->()", lambda np, x, y: np.dot(x, y), [(4, 1, 3), (2, 3)]),
    ("(m,n),(n)->(m)", lambda np, x, y: np.dot(x, y), [(2, 3), (5, 1, 3)]),
    ("(m,n),(n,p)->(m,p)", lambda np, x, y: x @ y, [(1, 4, 2, 3), (6, 1, 3, 2)]),
    ("(n)->(),(n)", lambda np, x: (x.sum(), x[::-1]), [(2, 3, 4)]),
    ("(),()->()", lambda np, x, y: np.where(x > y, x, y), [(), (3,)]),
    ("(n)->(k)", lambda np, x: x[:2], [(3, 1, 4)]),
]


@pytest.mark.parametrize(
    ("signature", "fun", "shapes"),
    CASES,
    ids=[f"{signature}-{shapes}" for signature, _, shapes in CASES],
)
def test_vectorize_maps_over_the_other_axes(signature: Any, fun: Any, shapes: Any) -> None:
    xs = [np.sin(np.arange(np.prod(shape))).reshape(shape).astype(np.float32) for shape in shapes]
    wanted = jax_numpy.vectorize(lambda *xs: fun(jax_numpy, *xs), signature=signature)(*xs)
    ours = jnp.vectorize(lambda *xs: fun(jnp, *xs), signature=signature)
    for got in (ours(*xs), tj.jit(ours)(*xs)):
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(np.asarray(a), b, 1e-6, 1e-6)  # sums of terms near 1


def test_excluded_arguments_are_handed_on() -> None:
    def poly(p: Any, x: Any, power: int = 1) -> Any:
        assert p == [1, 2]
        return (p[0] * x + p[1]) ** power

    ours = jnp.vectorize(poly, excluded={0, "power"})
    np.testing.assert_allclose(ours([1, 2], np.arange(3.0), power=2), [4, 9, 16])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: jnp.vectorize(abs, signature="n->n"), ArgumentError),
        (lambda: jnp.vectorize(abs, signature="(n),(n)->()")(jnp.ones(2)), ArgumentError),
        (lambda: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(jnp.ones(2), jnp.ones(3)), None),
        (lambda: jnp.vectorize(abs, signature="(n)->(n)")(1.0), ShapeError),
        (lambda: jnp.vectorize(abs, signature="(n)->()")(jnp.ones(2)), ShapeError),
        (lambda: jnp.vectorize(abs, signature="(n)->(),()")(jnp.ones(2)), ArgumentError),
    ],
)
def test_what_does_not_fit_is_an_error(make: Any, error: type[Exception] | None) -> None:
    with raises(error or ShapeError, match="vectorize"):
        make()

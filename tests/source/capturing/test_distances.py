"""Distances of SciPy's with weights and parameters: gradients against central differences."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy.spatial import distance

import tinyjax
from tinyjax import source

WEIGHTS: Final = np.array([0.5, 1.0, 2.0])
INVERSE: Final = np.array([[2.0, 0.1, 0.0], [0.1, 1.0, 0.3], [0.0, 0.3, 1.5]])
POINTS: Final = np.array([[0.3, 1.2, -0.5], [1.1, -0.4, 0.2], [-0.7, 0.6, 0.9], [0.4, 0.1, -1.3]])
OTHERS: Final = np.array([[1.05, 2.0, -0.33], [0.37, -0.46, 1.17]])
OPTIONS: Final[list[tuple[str, dict[str, Any]]]] = [
    *[(name, {}) for name in ("euclidean", "minkowski", "canberra", "braycurtis", "seuclidean")],
    *[(name, {"w": WEIGHTS}) for name in ("euclidean", "cityblock", "canberra", "braycurtis")],
    *[(name, {"w": WEIGHTS}) for name in ("chebyshev", "sqeuclidean", "cosine")],
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": 1.5, "w": WEIGHTS}),
    ("seuclidean", {"V": WEIGHTS}),
    ("mahalanobis", {"VI": INVERSE}),
]
PROGRAMS: Final[dict[str, Callable[..., Any]]] = {
    "from others": lambda x, *args, **options: distance.cdist(x, OTHERS, *args, **options),
    "to others": lambda x, *args, **options: distance.cdist(OTHERS, x, *args, **options),
    "from each other": distance.pdist,
    "from itself": lambda x, *args, **options: distance.cdist(x, x, *args, **options),
    "into an array": lambda x, *args, **options: distance.cdist(
        x, OTHERS, *args, out=np.empty((4, 2)), **options
    ),
    "by its own weights": lambda x, metric, **options: distance.cdist(
        x, OTHERS, metric, **{**options, **({"w": np.abs(x[0])} if "w" in options else {})}
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("metric", "options"), OPTIONS)
def test_distances(name: str, metric: str, options: dict[str, Any]) -> None:
    def total(x: Any) -> Any:
        distances = PROGRAMS[name](x, metric, **options)
        return np.sum(np.sin(distances) * np.arange(np.size(distances)).reshape(distances.shape))

    slopes = np.zeros(POINTS.shape)
    for place in np.ndindex(POINTS.shape):
        step = np.zeros(POINTS.shape)
        step[place] = 1e-6
        slopes[place] = (total(POINTS + step) - total(POINTS - step)) / 2e-6
    gradient = tinyjax.grad(source.capture(total))(POINTS)
    np.testing.assert_allclose(gradient, slopes, atol=1e-5)

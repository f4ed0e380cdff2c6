"""Errors where SciPy's own function is given a traced array: they name the one of tinyjax."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

import tinyjax
from raising import raises
from tinyjax.errors import ConcretizationError

A: Final = np.eye(2) * 2
CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "linalg.expm": lambda x: scipy.linalg.expm(A * x),
    "linalg.inv": lambda x: scipy.linalg.inv(A * x),
    "linalg.det": lambda x: scipy.linalg.det(A * x),
    "linalg.solve": lambda x: scipy.linalg.solve(A * x, A[0]),
    "stats.norm.pdf": lambda x: scipy.stats.norm.pdf(2 * x),
    "stats.gamma.cdf": lambda x: scipy.stats.gamma.cdf(x, 2.0),
    "stats.rankdata": lambda x: scipy.stats.rankdata(A[0] * x),
    "stats.gmean": lambda x: scipy.stats.gmean(A[0] * x),
    "stats.gaussian_kde": lambda x: scipy.stats.gaussian_kde(A[0] * x),
    "integrate.quad": lambda x: scipy.integrate.quad(lambda t: t * x, 0, 1)[0],
    "integrate.simpson": lambda x: scipy.integrate.simpson(A[0] * x),
    "integrate.odeint": lambda x: scipy.integrate.odeint(lambda y, t: -x * y, [1.0], [0, 1.0]),
    "signal.lfilter": lambda x: scipy.signal.lfilter([1.0], [1.0], A[0] * x),
    "signal.convolve": lambda x: scipy.signal.convolve(A[0] * x, A[0]),
    "interpolate.CubicSpline": lambda x: scipy.interpolate.CubicSpline([0, 1], A[0] * x)(0.5),
    "interpolate.interp1d": lambda x: scipy.interpolate.interp1d([0, 1.0], A[0])(x / 2),
    "ndimage.gaussian_filter": lambda x: scipy.ndimage.gaussian_filter(A * x, 1.0),
    "fft.fft": lambda x: scipy.fft.fft(A * x),
    "spatial.distance.cdist": lambda x: scipy.spatial.distance.cdist(A * x, A),
    "special.logsumexp": lambda x: scipy.special.logsumexp(A * x),
    "cluster.vq.whiten": lambda x: scipy.cluster.vq.whiten(A * x),
}


@pytest.mark.parametrize("path", [*CALLS])
def test_functions_of_scipy_that_tinyjax_has(path: str) -> None:
    fun = CALLS[path]
    words = rf"Write tinyjax\.scipy\.{path} in place of scipy\.{path}\."
    runs: list[Callable[[], Any]] = [
        lambda: tinyjax.jit(fun)(1.5),
        lambda: tinyjax.grad(lambda x: fun(x).sum())(1.5),
        lambda: tinyjax.vmap(fun)(np.ones(2)),
    ]
    for run in runs:
        with raises(ConcretizationError, match=words) as error:
            run()
        location = error.value.location
        assert location is not None
        assert location.filename == __file__  # not SciPy's


def test_functions_of_scipy_that_tinyjax_lacks() -> None:
    words = r"scipy\.linalg\.cossin takes no traced arrays, and tinyjax\.scipy has no such function"
    with raises(ConcretizationError, match=words):
        tinyjax.jit(lambda x: scipy.linalg.cossin(np.eye(4) * x, 2, 2))(1.0)


def test_conversions_of_the_user_keep_their_advice() -> None:
    with raises(ConcretizationError, match=r"Write jnp\.asarray in place of np\.asarray"):
        tinyjax.jit(lambda x: np.asarray(x * 2))(1.0)
    with raises(ConcretizationError, match=r"NumPy's functions and tinyjax\.numpy's take it"):
        tinyjax.jit(lambda x: float(x * 2))(1.0)

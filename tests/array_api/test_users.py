"""Libraries written for the array API standard take our arrays."""

import os
import subprocess
import sys
from typing import Final

import array_api_compat
import numpy as np
import pytest

import tinyjax.numpy as jnp

#: SciPy reads its setting when it is imported, so that these run in a process of their own.
PROGRAM: Final = """
import sys
if "as jax" in sys.argv:
    import tinyjax.as_jax
import numpy as np, scipy.cluster.vq, scipy.fft, scipy.integrate, scipy.signal, scipy.special
import scipy.stats, sklearn, tinyjax as tj, tinyjax.numpy as jnp
from sklearn.decomposition import PCA
from sklearn.metrics import mean_squared_error

X = np.random.default_rng(0).normal(size=(30, 4))
CALLS = [
    lambda x: scipy.special.softmax(x, axis=1),
    lambda x: scipy.special.erf(x),
    lambda x: scipy.stats.skew(x, axis=0),
    lambda x: scipy.stats.kurtosis(x, axis=0),
    lambda x: scipy.stats.gmean(x * x),
    lambda x: scipy.stats.ttest_1samp(x, 0.1).pvalue,
    lambda x: scipy.cluster.vq.vq(x, x[:3])[0],
    lambda x: scipy.signal.detrend(x, axis=0),
    lambda x: scipy.signal.fftconvolve(x, x[:3]),
    lambda x: scipy.integrate.trapezoid(x, axis=0),
    lambda x: scipy.fft.fft(x),
    lambda x: PCA(2, svd_solver="full").fit(x).explained_variance_,
]
if "as jax" in sys.argv:  # SciPy knows then that arrays cannot be written to, and has their at[]
    CALLS += [
        lambda x: scipy.special.logsumexp(x, axis=0),
        lambda x: scipy.stats.zscore(x),
        lambda x: scipy.stats.pearsonr(x[:, 0], x[:, 1]).pvalue,
        lambda x: scipy.stats.false_discovery_control(x[:, 0] ** 2 / 99),
        lambda x: scipy.signal.welch(x[:, 0], nperseg=16)[1],
    ]
    ones = jnp.ones(3)
    assert ones.__array_namespace__().__name__ == "jax.numpy"
    assert ones.__array_namespace__(api_version="2024.12") is sys.modules["jax.numpy"]
    x = tj.jit(lambda x: scipy.special.ndtri(scipy.special.ndtr(x)))(ones)
    np.testing.assert_allclose(x, 1, rtol=1e-5)
with sklearn.config_context(array_api_dispatch=True), tj.enable_x64(True):
    for call in CALLS:
        got, wanted = call(jnp.asarray(X)), call(X)
        assert isinstance(got, jnp.ndarray), type(got)
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-9, atol=1e-12)
    x = jnp.asarray(X)
    assert mean_squared_error(x, x + 1) == 1
"""


def test_array_api_compat_finds_the_namespace() -> None:
    x = jnp.asarray(np.ones((3, 2)))
    assert array_api_compat.array_namespace(x, x) is jnp
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.size(x) == 6
    assert array_api_compat.to_device(x, array_api_compat.device(x)) is x


@pytest.mark.sampled(9, always=("tinyjax",))
@pytest.mark.parametrize("name", ["tinyjax", "as jax"])
def test_scipy_and_sklearn_compute_with_our_arrays(name: str) -> None:
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, name],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

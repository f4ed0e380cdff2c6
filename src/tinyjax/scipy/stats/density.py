"""Estimates of densities by kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import tinyjax.numpy as jnp
from tinyjax import dtypes, random, tree
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ArgumentError, DtypeError, ShapeError, shortened
from tinyjax.numpy import promotion as pm
from tinyjax.scipy import linalg, special

_LOG_2PI: Final = math.log(2 * math.pi)

#: How wide the kernels are: a rule's name, a factor, or what gives one for an estimate.
Bandwidth: TypeAlias = str | ArrayLike | Callable[[Any], ArrayLike] | None


@tree.register_pytree_node_class
class gaussian_kde:  # noqa: N801 (SciPy's name)
    """Estimate a density from points, as the mean of a Gaussian around each.

    The Gaussians have the covariance of the points times the square of a factor: D. W. Scott,
    "Multivariate density estimation" (1992), and B. W. Silverman, "Density estimation for
    statistics and data analysis" (1986). An estimate is a tree of its arrays, so that it can be an
    argument and a result of transformed functions, and is differentiable in the points and weights.

    Args:
        dataset: real numbers, of shape ``(n,)``, or ``(d, n)`` for ``n`` points of ``d``
            coordinates.
        bw_method: the factor: a scalar, ``"scott"`` for ``neff ** (-1 / (d + 4))``, the default,
            ``"silverman"`` for that of ``neff * (d + 2) / 4``, or a function of the estimate, whose
            ``dataset``, ``weights``, ``neff``, ``n`` and ``d`` are known then.
        weights: of the points, of shape ``(n,)``; all equal by default.

    Attributes:
        dataset: of shape ``(d, n)``.
        weights: which sum to one.
        neff: the effective number of points, one over the sum of the squared weights.
        covariance: of the Gaussians, of shape ``(d, d)``.
        inv_cov: its inverse.

    Raises:
        ShapeError: there are fewer than two numbers, or the weights do not fit.
        DtypeError: the numbers are complex.
        ArgumentError: there is no such ``bw_method``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> kde = stats.gaussian_kde(jnp.array([0.0, 1.0, 5.0]))
        >>> kde.evaluate(jnp.array([0.5, 3.0])).round(3)
        Array([0.128, 0.103], dtype=float32)
    """

    def __init__(
        self, dataset: ArrayLike, bw_method: Bandwidth = None, weights: ArrayLike | None = None
    ) -> None:
        data = pm.strong(_real("dataset", dataset))
        data = data if data.ndim > 1 else data.reshape(1, -1)
        if data.ndim > 2 or data.size < 2:
            needs = "a dataset of shape (n,) or (d, n), of two numbers at least"
            raise ShapeError.got(f"gaussian_kde needs {needs}", data)
        if weights is None:
            shares = jnp.full(data.shape[1], 1 / data.shape[1], data.dtype)
        else:
            masses = pm.strong(_real("weights", weights))
            if masses.shape != data.shape[1:]:
                raise ShapeError.got(
                    f"gaussian_kde needs a weight for each of {data.shape[1]} points", masses
                )
            dtype = jnp.result_type(data, masses)
            data, shares = data.astype(dtype), (masses / masses.sum()).astype(dtype)
        self.dataset: Array = data
        self.weights: Array = shares
        self.neff: Array = 1 / jnp.sum(shares**2)
        factor = self._factor(bw_method)
        scatter = jnp.cov(data, aweights=shares, bias=False).reshape(self.d, self.d)
        self.covariance: Array = scatter * factor**2
        self.inv_cov: Array = jnp.linalg.inv(self.covariance)

    def _factor(self, method: Bandwidth) -> Array:
        if method is None or (isinstance(method, str) and method == "scott"):
            return self.neff ** (-1 / (self.d + 4))
        if isinstance(method, str):
            if method != "silverman":
                raise ArgumentError(
                    "bw_method of gaussian_kde is 'scott', 'silverman', a number or a function, "
                    f"but got {shortened(method)}."
                )
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        factor = _real("bw_method", method(self) if callable(method) else method)
        if factor.shape:
            raise ShapeError.got("gaussian_kde needs a scalar for the factor of bw_method", factor)
        return pm.convert(factor, self.dataset.dtype)

    def tree_flatten(self) -> tuple[tuple[Array, ...], None]:
        """Return the estimate's arrays.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
            >>> len(stats.gaussian_kde(jnp.arange(9.0)).tree_flatten()[0])
            5
        """
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> gaussian_kde:
        """Make an estimate of its arrays.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
            >>> arrays, _ = stats.gaussian_kde(jnp.arange(9.0)).tree_flatten()
            >>> stats.gaussian_kde.tree_unflatten(None, arrays).n
            9
        """
        estimate = cls.__new__(cls)
        estimate.neff, estimate.dataset, estimate.weights, estimate.covariance, estimate.inv_cov = (
            children
        )
        return estimate

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def evaluate(self, points: ArrayLike) -> Array:
        """Return the density at points.

        Args:
            points: of shape ``(m,)``, or ``(d, m)``.

        Returns:
            Shape ``(m,)``.

        Raises:
            ShapeError: they have another number of coordinates.
            DtypeError: they are complex.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.scipy.stats import gaussian_kde
            >>> gaussian_kde(jnp.array([0.0, 1.0, 2.0])).evaluate(jnp.array([1.0, 100.0])).round(4)
            Array([0.3182, 0.    ], dtype=float32)
        """
        exponents = self._exponents(self._points(points))
        return jnp.sum(self.weights * jnp.exp(exponents), -1)

    __call__ = evaluate

    def pdf(self, x: ArrayLike) -> Array:
        """Return the density at points; see ``evaluate``.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
            >>> stats.gaussian_kde(jnp.array([0.0, 1.0, 2.0])).pdf(1.0).round(4)
            Array([0.3182], dtype=float32)
        """
        return self.evaluate(x)

    def logpdf(self, x: ArrayLike) -> Array:
        """Return the logarithm of the density at points; see ``evaluate``.

        It stays finite where the density underflows.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
            >>> stats.gaussian_kde(jnp.array([0.0, 1.0, 2.0])).logpdf(1.0).round(4)
            Array([-1.1452], dtype=float32)
        """
        return special.logsumexp(self._exponents(self._points(x)), -1, self.weights)

    def _points(self, points: ArrayLike) -> Array:
        array = _real("points", points)
        if array.ndim < 2:
            array = array.reshape(1, -1)
            if array.shape[1] == self.d > 1:
                array = array.T
        if array.ndim != 2 or array.shape[0] != self.d:
            needs = f"points of shape ({self.d}, m)"
            raise ShapeError.got(
                f"gaussian_kde of {self.d} coordinates is evaluated at {needs}", array
            )
        return array

    def _exponents(self, points: Array) -> Array:
        """The logarithm of each Gaussian at each point, of shape ``(m, n)``."""
        lower = jnp.linalg.cholesky(self.covariance)
        at = linalg.solve_triangular(lower, points, lower=True)
        means = linalg.solve_triangular(lower, self.dataset, lower=True)
        distances = jnp.sum((at[:, :, None] - means[:, None, :]) ** 2, 0)
        scale = jnp.log(jnp.diagonal(lower)).sum() + self.d / 2 * _LOG_2PI
        return -distances / 2 - scale

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """Return the integral of the density times that of a Gaussian.

        Args:
            mean: of the Gaussian, of shape ``(d,)``.
            cov: its covariance, of shape ``(d, d)``; a scalar for one coordinate.

        Raises:
            ShapeError: the shapes do not fit.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.scipy.stats import gaussian_kde
            >>> gaussian_kde(jnp.array([0.0, 1.0, 2.0])).integrate_gaussian(1.0, 1e-4).round(4)
            Array(0.3181, dtype=float32)
        """
        centre, spread = _real("mean", mean), _real("cov", cov)
        centre = centre if centre.shape else centre.reshape(1)
        spread = spread if spread.ndim > 1 else spread.reshape(1, -1)
        if centre.shape != (self.d,) or spread.shape != (self.d, self.d):
            needs = f"a mean of shape ({self.d},) and a covariance of shape ({self.d}, {self.d})"
            raise ShapeError.got(f"integrate_gaussian takes {needs}", centre, spread)
        return self._overlap(centre[:, None], self.covariance + spread)[0]

    def _overlap(self, points: Array, covariance: Array) -> Array:
        """The weighted sum of Gaussians around the dataset, at each point."""
        factor = linalg.cho_factor(covariance)
        differences = self.dataset[:, None, :] - points[:, :, None]
        flat = differences.reshape(self.d, -1)
        energies = jnp.sum(flat * linalg.cho_solve(factor, flat), 0).reshape(differences.shape[1:])
        scale = jnp.log(jnp.abs(jnp.diagonal(factor[0]))).sum() + self.d / 2 * _LOG_2PI
        return jnp.sum(self.weights * jnp.exp(-energies / 2 - scale), -1)

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Return the probability of an interval, where there is one coordinate.

        Args:
            low: a scalar.
            high: a scalar.

        Raises:
            ShapeError: there are more coordinates, or a bound is not a scalar.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.scipy.stats import gaussian_kde
            >>> gaussian_kde(jnp.array([0.0, 1.0, 2.0])).integrate_box_1d(-100.0, 1.0).round(4)
            Array(0.5, dtype=float32)
        """
        ends = _real("low", low), _real("high", high)
        if self.d != 1 or any(end.shape for end in ends):
            raise ShapeError(
                "integrate_box_1d takes two scalars, of an estimate of one coordinate, but got "
                f"{ends[0].aval} and {ends[1].aval}, and there are {self.d} coordinates."
            )
        places = (jnp.stack(ends)[:, None] - self.dataset[0]) / jnp.sqrt(self.covariance[0, 0])
        below = special.ndtr(places)
        return jnp.sum(self.weights * (below[1] - below[0]))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """Return the integral of the product of two densities.

        Raises:
            ShapeError: their points have different numbers of coordinates.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
            >>> x = stats.gaussian_kde(jnp.array([0.0, 1.0, 2.0]))
            >>> x.integrate_kde(x).round(4)
            Array(0.2396, dtype=float32)
        """
        if other.d != self.d:
            raise ShapeError(
                f"integrate_kde needs as many coordinates in both, but got {self.d} and {other.d}."
            )
        overlaps = self._overlap(other.dataset, self.covariance + other.covariance)
        return jnp.sum(overlaps * other.weights)

    def resample(self, key: ArrayLike, shape: tuple[int, ...] = ()) -> Array:
        """Draw points from the density.

        Args:
            key: a key.
            shape: how many.

        Returns:
            Shape ``(d, *shape)``.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
            >>> stats.gaussian_kde(jnp.arange(9.0)).resample(tinyjax.random.key(0), (5,)).shape
            (1, 5)
        """
        for_points, for_noise = random.split(key)
        chosen = random.choice(for_points, self.n, shape, p=self.weights)
        centre = jnp.zeros(self.d, self.dataset.dtype)
        noise = random.multivariate_normal(
            for_noise, centre, self.covariance, shape, self.dataset.dtype
        )
        return self.dataset[:, chosen] + jnp.moveaxis(noise, -1, 0)

    def integrate_box(
        self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: int | None = None
    ) -> Array:
        """Refuse to integrate over a box of several coordinates, as JAX does.

        Raises:
            ArgumentError: always.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
            >>> try:
            ...     stats.gaussian_kde(jnp.arange(9.0)).integrate_box(0.0, 1.0)
            ... except tinyjax.errors.ArgumentError as error:
            ...     print(error.message)
            integrate_box is not there; integrate_box_1d takes one coordinate.
        """
        raise ArgumentError("integrate_box is not there; integrate_box_1d takes one coordinate.")

    def set_bandwidth(self, bw_method: Bandwidth = None) -> None:
        """Refuse to change the estimate, as JAX does.

        Raises:
            ArgumentError: always.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
            >>> try:
            ...     stats.gaussian_kde(jnp.arange(9.0)).set_bandwidth(0.5)
            ... except tinyjax.errors.ArgumentError as error:
            ...     print(error.message)
            an estimate does not change: make another, gaussian_kde(dataset, bw_method).
        """
        raise ArgumentError(
            "an estimate does not change: make another, gaussian_kde(dataset, bw_method)."
        )


def _real(name: str, x: ArrayLike) -> Array:
    array = pm.inexact(x, "gaussian_kde")
    if dtypes.is_complex(array.dtype):
        raise DtypeError(f"{name} of gaussian_kde must be real, but got {array.aval}.")
    return array

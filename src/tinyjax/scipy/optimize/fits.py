"""``least_squares``, ``curve_fit`` and ``nnls``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from math import isinf
from types import FunctionType
from typing import Any, Final, Literal, NamedTuple

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, tree
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, avals as av
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.implicit import vectors
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.linalg.factors import cholesky, solve_triangular
from tinyjax.scipy.optimize import on_host

#: Functions of squared residuals, as SciPy defines them.
_LOSSES: Final[Mapping[str, Callable[[Array], Array]]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (jnp.sqrt(1 + z) - 1),
    "huber": lambda z: jnp.where(z <= 1, z, 2 * jnp.sqrt(jnp.where(z <= 1, 1, z)) - 1),
    "cauchy": jnp.log1p,
    "arctan": jnp.arctan,
}


#: Jacobians of more parameters are computed at once.
_MOST_ROWS: Final = 16


class LeastSquaresResult(NamedTuple):
    """The minimum that ``least_squares`` found.

    Attributes:
        x: the minimum.
        cost: half the sum of the losses of the squared residuals there.
        fun: the residuals there.
        jac: their Jacobian.
        grad: the gradient of the cost.
        success: whether SciPy's method says that it is a minimum.
        status: SciPy's code of how the search ended.
        nfev: the number of evaluations of the residuals.
        njev: the number of evaluations of the Jacobian.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> fit = optimize.least_squares(lambda x: jnp.stack([x[0] - 1, x[0] - 3]), jnp.zeros(1))
        >>> fit.x.round(3), round(float(fit.cost), 3)
        (Array([2.], dtype=float32), 1.0)
    """

    x: Array
    cost: Array
    fun: Array
    jac: Array
    grad: Array
    success: Array
    status: Array
    nfev: Array
    njev: Array


@attrs.frozen(cache_hash=True)
class _Residuals(on_host.StagedObjective):
    """Residuals and the sum of their losses. The last two constants are the bounds, if any hold."""

    loss: str
    scale: float
    is_bounded: bool

    def _unbounded(self, consts: Sequence[Array]) -> Sequence[Array]:
        return consts[:-2] if self.is_bounded else consts

    def values(self, consts: Sequence[Array], x: Array) -> Array:
        """The residuals."""
        (value,) = self.fun.flat(self._unbounded(consts), x)
        return value.astype(x.dtype)

    def slopes(self, consts: Sequence[Array], x: Array) -> Array:
        """Their Jacobian."""
        matrix: Array = api.jacfwd(lambda x: self.values(consts, x))(x)
        return matrix

    def both(self, consts: Sequence[Array], x: Array) -> tuple[Array, Array]:
        """The cost and its gradient."""

        def cost(x: Array) -> Array:
            losses = _LOSSES[self.loss]((self.values(consts, x) / self.scale) ** 2)
            return 0.5 * self.scale**2 * losses.sum()

        both: tuple[Array, Array] = api.value_and_grad(cost)(x)
        return both

    def all(self, consts: Sequence[Array], x: Array) -> tuple[Array, ...]:
        """The residuals and their Jacobian, the cost and its gradient."""
        return (self.values(consts, x), self.slopes(consts, x), *self.both(consts, x))

    def equations(self, consts: Sequence[Array], x: Array) -> Array:
        """The gradient, or the distance to a bound that holds."""
        slope = self.both(consts, x)[1]
        return on_host.within_bounds(x, slope, *consts[-2:]) if self.is_bounded else slope


@attrs.frozen(cache_hash=True)
class _Fit(_Residuals):
    """Residuals of a function of scalar parameters.

    The last constants are the data, their deviations or the factor of their covariance, if there
    are any, and the bounds.
    """

    has_sigma: bool
    is_absolute: bool

    def _weighed(self, residuals: Array, consts: Sequence[Array]) -> Array:
        """Divide residuals, or rows of such, by deviations."""
        if not self.has_sigma:
            return residuals
        scale = self._unbounded(consts)[-1]
        if scale.ndim == 2:
            return solve_triangular(scale, residuals.T, lower=True).T
        return residuals / scale

    def _fitted(self, consts: Sequence[Array], parameters: Sequence[Array]) -> Array:
        closed_over = self._unbounded(consts)[: -2 if self.has_sigma else -1]
        (value,) = self.fun.flat(closed_over, *parameters)
        return value

    def values(self, consts: Sequence[Array], x: Array) -> Array:
        """The residuals, divided by their deviations."""
        data = self._unbounded(consts)[-2 if self.has_sigma else -1]
        return self._weighed(self._fitted(consts, list(x)) - data, consts)

    def slopes(self, consts: Sequence[Array], x: Array) -> Array:
        """Their Jacobian."""
        return self._rows(consts, x).T

    def _rows(self, consts: Sequence[Array], x: Array) -> Array:
        """Their derivatives, one after the other: most parts depend on few parameters."""
        if len(x) > _MOST_ROWS:
            return super().slopes(consts, x).T
        ps, one = list(x), jnp.ones((), x.dtype)

        def slope(i: int) -> Array:
            of_one = lambda p: self._fitted(consts, [*ps[:i], p, *ps[i + 1 :]])  # noqa: E731
            tangent: Array = api.jvp(of_one, (ps[i],), (one,))[1]
            return tangent.astype(x.dtype)

        return self._weighed(jnp.stack([slope(i) for i in range(len(x))]), consts)

    def values_and_rows(self, consts: Sequence[Array], x: Array) -> tuple[Array, Array]:
        """The residuals and their derivatives, of which most share parts."""
        return self.values(consts, x), self._rows(consts, x)

    def covariance(self, consts: Sequence[Array], x: Array) -> Array:
        """The parameters' covariance; infinite where the data do not determine them."""
        slopes = self.slopes(consts, x)
        m, n = slopes.shape
        if m < n or (m == n and not self.is_absolute):
            return jnp.full((n, n), jnp.inf, x.dtype)
        triangle = jnp.linalg.qr(slopes, mode="r")
        inverse = solve_triangular(triangle, jnp.eye(n, dtype=x.dtype))
        scale = 1.0 if self.is_absolute else (self.values(consts, x) ** 2).sum() / (m - n)
        covariance = inverse @ inverse.T * scale
        return jnp.where(jnp.isfinite(covariance).all(), covariance, jnp.inf)

    def result(self, consts: Sequence[Array], x: Array, is_success: Array) -> tuple[Array, Array]:
        """The parameters and their covariance; NaN where they were not found."""
        covariance = self.covariance(consts, x)
        return jnp.where(is_success, x, jnp.nan), jnp.where(is_success, covariance, jnp.nan)


@pm.in_double
@checking.explained
def least_squares(  # noqa: PLR0913
    fun: frames.Function[ArrayLike],
    x0: ArrayLike,
    *,
    bounds: Any = (-np.inf, np.inf),
    method: Literal["trf", "dogbox", "lm"] = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = None,
    loss: Literal["linear", "soft_l1", "huber", "cauchy", "arctan"] = "linear",
    f_scale: float = 1.0,
    max_nfev: int | None = None,
    args: tuple[Any, ...] = (),
) -> LeastSquaresResult:
    """Minimise a sum of squares between bounds, by ``scipy.optimize.least_squares``.

    It runs on the host, in double precision, with the compiled Jacobian, under ``vmap`` for one
    example after the other. The minimum is differentiable in ``args``, in bounds that are arrays,
    and in all that ``fun`` closes over: the cost's gradient is zero there, in unknowns that no
    bound holds. Its derivative in ``x0`` is zero, and that of a search without success NaN.

    Args:
        fun: takes a vector of ``n`` unknowns and ``args``; returns a vector of ``m`` residuals.
        x0: the first guess, of shape ``(n,)``.
        bounds: a pair of lower and upper ends, each a number or of shape ``(n,)``; or SciPy's
            ``Bounds``.
        method: ``"trf"``, ``"dogbox"``, or, without bounds, ``"lm"``.
        ftol: by how much the cost has to fall, relative to it.
        xtol: how long the steps must be, relative to the unknowns.
        gtol: how long the gradient may be.
        x_scale: the sizes of the unknowns, or ``"jac"``; SciPy's default where it is None.
        loss: a function of squared residuals: ``"linear"``, ``"soft_l1"``, ``"huber"``,
            ``"cauchy"`` or ``"arctan"``.
        f_scale: the residual from which on a loss other than ``"linear"`` grows more slowly.
        max_nfev: the most evaluations.
        args: further arguments.

    Returns:
        The minimum, with the residuals and derivatives there.

    Raises:
        ArgumentError: ``fun`` returns no vector, or SciPy refuses an argument.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.scipy.optimize import least_squares
        >>> times = jnp.array([0.25, 0.5, 1.0])
        >>> def rate(noise):
        ...     data = jnp.exp(-2 * times) + noise
        ...     return least_squares(lambda k: jnp.exp(-k * times) - data, jnp.ones(1)).x[0]
        >>> rate(jnp.zeros(3)).round(3), tinyjax.grad(rate)(jnp.zeros(3)).round(2)
        (Array(2., dtype=float32), Array([-2.02, -2.45, -1.8 ], dtype=float32))
    """
    x, dtype = on_host.first_guess("least_squares", x0)
    pm.check_option("least_squares", "loss", loss, _LOSSES)
    valued = on_host.array_valued(fun)
    residuals, consts = vectors.close(lambda x: valued(x, *args), x)
    count = residuals.jaxpr.out_avals
    if x.ndim != 1 or len(count) != 1 or count[0].ndim != 1:
        raise ArgumentError(
            f"{frames.describe_function(fun)}, the function of least_squares, must take and return "
            f"a vector, but x0 is {x.aval} and it returned {', '.join(map(str, count))}."
        )
    scale, is_bounded = 1.0 if loss == "linear" else float(f_scale), not _is_free(_ends(bounds))
    program = _Residuals(residuals, loss, scale, is_bounded)
    options: dict[str, Any] = {"ftol": ftol, "xtol": xtol, "gtol": gtol, "max_nfev": max_nfev}
    options |= {"loss": loss, "f_scale": f_scale}
    if x_scale is not None:
        options["x_scale"] = x_scale
    x, problem, report = _minimum("least_squares", program, consts, x, bounds, method, options)
    fun_at, jac_at, cost_at, grad_at = program.compiled("all")(*problem.consts, x)
    x, cost_at, fun_at, jac_at, grad_at = on_host.in_dtype(
        dtype, x, cost_at, fun_at, jac_at, grad_at
    )
    return LeastSquaresResult(x, cost_at, fun_at, jac_at, grad_at, *report[:4])


def _minimum(
    name: str,
    program: _Residuals,
    consts: Sequence[Array],
    x: Array,
    bounds: Any,
    method: str,
    options: Mapping[str, Any],
) -> tuple[Array, vectors.Equation, on_host.SciPyReport]:
    """Return the least sum of squares, its problem, and SciPy's account.

    Args:
        name: what the user called.
        program: the residuals.
        consts: their constants, but for the bounds.
        x: the first guess.
        bounds: as ``least_squares`` takes them.
        method: one of SciPy's ``least_squares``; or ``"leastsq"``, which is a function of its own.
        options: those of the method.
    """
    is_bounded = program.is_bounded
    ends = [
        jnp.broadcast_to(jnp.asarray(end, x.dtype), x.shape)
        for end in (_ends(bounds) if is_bounded else ())
    ]
    space = vectors.VectorSpace(tree.structure(x), (x.aval,), x.dtype)
    problem = vectors.Equation(program.fun, space, [*consts, *ends], x)
    is_shared = method == "leastsq"
    names = ("values_and_rows",) if is_shared else ("values", "slopes")
    compiled = [program.compiled(name) for name in names]

    def search(consts: Sequence[Array], start: HostArray) -> tuple[HostArray, Any]:
        optimize = on_host.scipy_optimize()
        if is_shared:
            values, slopes = on_host.both_for_scipy(compiled[0], consts)
            x, status = optimize.leastsq(values, start, Dfun=slopes, col_deriv=True, **options)
            return x, {"status": status, "success": status in _CONVERGED}
        values, slopes = (on_host.for_scipy(fun, consts) for fun in compiled)
        ends = tuple(map(np.asarray, consts[-2:])) if is_bounded else (-np.inf, np.inf)
        found = optimize.least_squares(values, start, slopes, ends, method, **options)
        return found.x, found

    x, report = on_host.solve(name, problem, search, program.equations)
    return x, problem, report


#: The states of MINPACK that are solutions.
_CONVERGED: Final = (1, 2, 3, 4)


@pm.in_double
def leastsq(
    func: frames.Function[ArrayLike],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    ftol: float = 1.49012e-8,
    xtol: float = 1.49012e-8,
    gtol: float = 1e-15,
) -> tuple[Array, Array]:
    """Return the ``x`` of ``least_squares`` by MINPACK, or NaN, and the number that SciPy gives.

    That is 1 to 4 where it finds a minimum.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> optimize.leastsq(lambda x: jnp.stack([x[0] - 1, x[0] - 3]), jnp.zeros(1))[0].round(3)
        Array([2.], dtype=float32)
    """
    result = least_squares(func, x0, method="lm", args=args, ftol=ftol, xtol=xtol, gtol=gtol)
    of_minpack = jnp.array([5, 4, 1, 2, 3, 0])[result.status]
    return jnp.where(result.success, result.x, jnp.nan), of_minpack


@pm.in_double
def lsq_linear(
    A: ArrayLike, b: ArrayLike, bounds: Any = (-np.inf, np.inf), *, tol: float = 1e-14
) -> LeastSquaresResult:
    """Minimise ``0.5 * ||A x - b||^2`` between bounds, by ``least_squares``; errors are its own.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> optimize.lsq_linear(jnp.eye(2), jnp.array([0.5, 3.0]), bounds=(0.0, 1.0)).x.round(3)
        Array([0.5, 1. ], dtype=float32)
    """
    (matrix, _), (right, _) = (on_host.first_guess("lsq_linear", v) for v in (A, b))
    start = _start(_ends(bounds), matrix.shape[-1])
    return least_squares(
        lambda x: matrix @ x - right, start, bounds=bounds, ftol=tol, xtol=tol, gtol=tol
    )


def _ends(bounds: Any) -> Sequence[Any]:
    return (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds


def _is_free(ends: Sequence[Any]) -> bool:
    return all(
        np.isinf(end).all() if isinstance(end, np.ndarray) else type(end) is float and isinf(end)
        for end in ends
    )


@pm.in_double
@checking.explained
def curve_fit(  # noqa: PLR0913
    f: frames.Function[ArrayLike],
    xdata: ArrayLike,
    ydata: ArrayLike,
    p0: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = (-np.inf, np.inf),
    method: Literal["lm", "trf", "dogbox"] | None = None,
    max_nfev: int | None = None,
) -> tuple[Array, Array]:
    """Fit a function's parameters to data, by least squares, as ``scipy.optimize.curve_fit``.

    Parameters and covariance are differentiable in the data, in ``sigma``, and in all that ``f``
    closes over, as the minimum of ``least_squares`` is. They are NaN where SciPy finds no fit, for
    which its own function raises an error; by ``"lm"`` SciPy warns of it.

    Args:
        f: takes ``xdata`` and ``n`` parameters, each a scalar; returns an array like ``ydata``.
        xdata: whatever ``f`` takes: an array of any shape.
        ydata: the values to fit, of shape ``(m,)``.
        p0: the first guess, of shape ``(n,)``; by default ones for all parameters that ``f`` has,
            or what is between their bounds.
        sigma: the standard deviations of ``ydata``, of shape ``()`` or ``(m,)``; or their
            covariance, ``(m, m)``.
        absolute_sigma: whether ``sigma`` is what it says; by default the covariance is scaled by
            the residuals, and only the ratios within ``sigma`` count.
        bounds: as ``least_squares`` takes them.
        method: ``"lm"``, the default without bounds, ``"trf"``, the default with bounds, or
            ``"dogbox"``.
        max_nfev: the most evaluations.

    Returns:
        ``(popt, pcov)``: the parameters, of shape ``(n,)``, and their covariance, ``(n, n)``, which
        is infinite where the data do not determine them.

    Raises:
        ArgumentError: the number of parameters is not known, ``f`` returns what is not like
            ``ydata``, or SciPy refuses an argument.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> x, y = jnp.arange(4.0), jnp.array([1.0, 3.0, 4.0, 6.0])
        >>> line = lambda x, slope, level: slope * x + level
        >>> parameters, covariance = optimize.curve_fit(line, x, y)
        >>> parameters.round(3), jnp.sqrt(jnp.diag(covariance)).round(3)
        (Array([1.6, 1.1], dtype=float32), Array([0.141, 0.265], dtype=float32))
        >>> tinyjax.jacobian(lambda y: optimize.curve_fit(line, x, y)[0][0])(y).round(3)
        Array([-0.3, -0.1,  0.1,  0.3], dtype=float32)
    """
    y, dtype = on_host.first_guess("curve_fit", ydata)
    start = _start(_ends(bounds), _parameters(f)) if p0 is None else jnp.atleast_1d(p0)
    x, _ = on_host.first_guess("curve_fit", start)
    types = [av.ShapedArray((), x.dtype)] * x.size
    at = jnp.asarray(xdata) if isinstance(xdata, (list, tuple)) else xdata
    fitted, consts = vectors.close(lambda *ps: jnp.asarray(f(at, *ps)), *types)
    (value,) = fitted.jaxpr.out_avals
    if value.shape != y.shape or y.ndim != 1:
        raise ArgumentError(
            f"{frames.describe_function(f)}, the function of curve_fit, must return a vector "
            f"like ydata, {y.aval}, but returned {value}."
        )
    is_bounded = not _is_free(_ends(bounds))
    program = _Fit(fitted, "linear", 1.0, is_bounded, sigma is not None, absolute_sigma)
    weights = [] if sigma is None else [_scale(sigma, y)]
    chosen = method or ("trf" if is_bounded else "lm")
    options = {"maxfev": max_nfev or 0} if chosen == "lm" else {"max_nfev": max_nfev}
    name = "leastsq" if chosen == "lm" else chosen
    x, problem, report = _minimum(
        "curve_fit", program, [*consts, y, *weights], x, bounds, name, options
    )
    result = program.compiled("result")(*problem.consts, x, report.success)
    parameters, covariance = on_host.in_dtype(dtype, *result)
    return parameters, covariance


def _start(ends: Sequence[Any], count: int) -> ArrayLike:
    if _is_free(ends):
        return np.ones(count)
    low, high = (jnp.broadcast_to(jnp.asarray(end, float), count) for end in ends)
    is_low, is_high = jnp.isfinite(low), jnp.isfinite(high)
    one_sided = jnp.where(is_low, low + 1, jnp.where(is_high, high - 1, 1.0))
    return jnp.where(is_low & is_high, (low + high) / 2, one_sided)


_TAKES_MORE: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _parameters(f: Callable[..., Any]) -> int:
    if isinstance(f, FunctionType) and not f.__dict__:  # ten times as quick as by its signature
        code = f.__code__
        if not code.co_kwonlyargcount and not code.co_flags & _TAKES_MORE:
            return code.co_argcount - 1
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    if not parameters or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise ArgumentError(
            f"curve_fit cannot tell how many parameters {frames.describe_function(f)} has. Give "
            "p0, a first guess of each."
        )
    return len(parameters) - 1


def _scale(sigma: ArrayLike, y: Array) -> Array:
    """Return the deviations of data, or the factor of their covariance."""
    deviations, _ = on_host.first_guess("curve_fit", sigma)
    if deviations.shape in ((), y.shape):
        return deviations
    if deviations.shape != (y.size, y.size):
        raise ArgumentError(
            f"sigma of curve_fit must be of shape (), {y.shape} or {(y.size, y.size)}, but it is "
            f"{deviations.aval}."
        )
    return cholesky(deviations, lower=True)


@pm.in_double
def nnls(A: ArrayLike, b: ArrayLike, *, maxiter: int | None = None) -> tuple[Array, Array]:
    """Solve a least squares problem without negative unknowns, by ``scipy.optimize.nnls``.

    It is differentiable in both arguments, with the unknowns that are zero held there.

    Args:
        A: a matrix of shape ``(m, n)``.
        b: a vector of shape ``(m,)``.
        maxiter: the most iterations, ``3 * n`` by default.

    Returns:
        ``(x, rnorm)``: the unknowns, of shape ``(n,)``, and the Euclidean norm of ``A @ x - b``.
        After too many iterations they are NaN.

    Raises:
        ShapeError: the shapes do not fit.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> A = jnp.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> optimize.nnls(A, jnp.array([2.0, 1.0, -1.0]))[0]
        Array([1.5, 0. ], dtype=float32)
        >>> tinyjax.jacobian(lambda b: optimize.nnls(A, b)[0])(jnp.array([2.0, 1.0, -1.0])) + 0.0
        Array([[0.5, 0.5, 0. ],
               [0. , 0. , 0. ]], dtype=float32)
    """
    (matrix, dtype), (right, other) = (on_host.first_guess("nnls", v) for v in (A, b))
    if matrix.ndim != 2 or matrix.shape[:1] != right.shape:
        raise ShapeError(
            f"nnls takes a matrix and a vector of as many rows, but got {matrix.aval} and "
            f"{right.aval}."
        )
    start = jnp.zeros(matrix.shape[1], matrix.dtype)

    def equations(consts: Sequence[Array], x: Array) -> Array:
        matrix, right = consts
        slope = matrix.T @ (matrix @ x - right)
        return on_host.within_bounds(x, slope, jnp.zeros_like(x), jnp.full_like(x, jnp.inf))

    def search(consts: Sequence[Array], start: HostArray) -> tuple[HostArray, Any]:
        try:
            x, _ = on_host.scipy_optimize().nnls(*map(np.asarray, consts), maxiter=maxiter)
        except RuntimeError:  # too many iterations
            return np.full_like(start, np.nan), {"success": False}
        return x, {"success": True}

    closed, _ = vectors.close(lambda x: x, start)
    space = vectors.space_of(closed.out_tree, [start.aval], "x of nnls")
    x, _ = on_host.solve(
        "nnls", vectors.Equation(closed, space, [matrix, right], start), search, equations
    )
    residual = matrix @ x - right
    square = residual @ residual
    norm = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), square)
    dtype = dtypes.promote([(dtype, False), (other, False)])[0]
    return x.astype(dtype), norm.astype(dtype)

"""``root`` and ``root_scalar``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError
from tinyjax.implicit import vectors
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.optimize import on_host

#: SciPy's methods for systems, and whether they take the Jacobian.
_METHODS: Final = {
    "hybr": True,
    "lm": True,
    **dict.fromkeys(
        ("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing"), False
    ),
    **dict.fromkeys(("krylov", "df-sane"), False),
}
#: SciPy's methods for scalars, and how many derivatives they take.
_SCALAR_METHODS: Final = {
    **dict.fromkeys(("bisect", "brentq", "brenth", "ridder", "toms748", "secant"), 0),
    "newton": 1,
    "halley": 2,
}


class RootResult(NamedTuple):
    """The root that ``root`` found.

    Attributes:
        x: the root.
        success: whether SciPy's method says that it is one.
        status: SciPy's code of how the search ended.
        fun: the function's value there.
        nfev: the number of evaluations of the function.
        njev: the number of evaluations of the Jacobian.
        nit: the number of iterations, where the method counts them.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> result = optimize.root(lambda x: x**3 - 8.0, jnp.ones(1))
        >>> result.x.round(3), bool(result.success)
        (Array([2.], dtype=float32), True)
    """

    x: Array
    success: Array
    status: Array
    fun: Array
    nfev: Array
    njev: Array
    nit: Array


class RootResults(NamedTuple):
    """The root that ``root_scalar`` found.

    Attributes:
        root: the root.
        converged: whether SciPy's method says that it is one.
        iterations: the number of iterations.
        function_calls: the number of evaluations of the function and its derivatives.

    Example:
        >>> from tinyjax.scipy.optimize import root_scalar
        >>> result = root_scalar(lambda x: x**3 - 8.0, bracket=(0.0, 3.0))
        >>> round(float(result.root), 3), bool(result.converged)
        (2.0, True)
    """

    root: Array
    converged: Array
    iterations: Array
    function_calls: Array


@attrs.frozen(cache_hash=True)
class _Equations(on_host.StagedObjective):
    """Equations of a vector, and their derivatives."""

    space: vectors.VectorSpace

    def values(self, consts: Sequence[Array], x: Array) -> Array:
        """The values of the equations, which are to be zero."""
        return self.space.join(self.fun.flat(consts, *self.space.split(x)))

    def slopes(self, consts: Sequence[Array], x: Array) -> Array:
        """The Jacobian."""
        matrix: Array = api.jacfwd(lambda x: self.values(consts, x))(x)
        return matrix

    def bends(self, consts: Sequence[Array], x: Array) -> Array:
        """The Jacobian of the Jacobian."""
        matrix: Array = api.jacfwd(lambda x: self.slopes(consts, x))(x)
        return matrix


@pm.in_double
@checking.explained
def root(
    fun: frames.Function[ArrayLike],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> RootResult:
    """Find a root of a system of equations, by ``scipy.optimize.root``.

    It runs on the host, in double precision, under ``vmap`` for one example after the other. The
    root is differentiable in ``args`` and in all that ``fun`` closes over, by the implicit function
    theorem; its derivative in ``x0`` is zero, and that of a search without success NaN.

    Args:
        fun: takes an array like ``x0`` and ``args``; returns an array of its shape.
        x0: the first guess: an array of real numbers, of any shape.
        args: further arguments.
        method: ``"hybr"`` or ``"lm"``, which get the compiled Jacobian; or ``"broyden1"``,
            ``"broyden2"``, ``"anderson"``, ``"linearmixing"``, ``"diagbroyden"``,
            ``"excitingmixing"``, ``"krylov"`` or ``"df-sane"``.
        tol: how exact the root must be.
        options: those of the method.

    Raises:
        ArgumentError: the method is another one, ``fun`` returns what is not like ``x0``, or SciPy
            refuses an argument.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.scipy.optimize import root
        >>> def crossing(r):  # of a circle and a line
        ...     return root(lambda x: jnp.stack([x @ x - r**2, x[0] - x[1]]), jnp.ones(2)).x
        >>> crossing(2.0).round(3), tinyjax.jacobian(crossing)(jnp.float32(2.0)).round(3)
        (Array([1.414, 1.414], dtype=float32), Array([0.707, 0.707], dtype=float32))
    """
    pm.check_option("root", "method", method, _METHODS)
    x, dtype = on_host.first_guess("root", x0)
    problem = vectors.equation("root", on_host.array_valued(fun), x, args)
    program = _Equations(problem.fun, problem.space)
    values, slopes = program.compiled("values"), program.compiled("slopes")

    def search(consts: Sequence[Array], start: HostArray) -> tuple[HostArray, Any]:
        jac = on_host.for_scipy(slopes, consts) if _METHODS[method] else None
        if jac is not None and not np.all(np.isfinite(jac(start))):
            jac = None  # a difference is finite, as where x**0.8 is zero
        found = on_host.scipy_optimize().root(
            on_host.for_scipy(values, consts),
            start,
            method=method,
            jac=jac,
            tol=tol,
            options=options,
        )
        return found.x, found

    solution, report = on_host.solve("root", problem, search, program.values)
    value = values(*problem.consts, solution)
    if x.ndim != 1:
        solution, value = solution.reshape(x.shape), value.reshape(x.shape)
    at, fun_at = on_host.in_dtype(dtype, solution, value)
    return RootResult(at, report.success, report.status, fun_at, *report[2:])


@pm.in_double
@checking.explained
def root_scalar(  # noqa: PLR0913
    f: frames.Function[ArrayLike],
    args: tuple[Any, ...] = (),
    method: str | None = None,
    bracket: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    x0: ArrayLike | None = None,
    x1: ArrayLike | None = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
) -> RootResults:
    """Find a root of a function of a scalar, by ``scipy.optimize.root_scalar``.

    It is differentiable as that of ``root`` is.

    Args:
        f: takes a scalar and ``args``; returns a real scalar.
        args: further arguments.
        method: ``"brentq"`` (the default with a bracket), ``"brenth"``, ``"bisect"``, ``"ridder"``
            or ``"toms748"``; or ``"newton"`` (the default without one), ``"halley"`` or
            ``"secant"``, which need ``x0``. Newton's and Halley's get compiled derivatives.
        bracket: two numbers where ``f`` differs in sign.
        x0: the first guess.
        x1: the second one, for ``"secant"``, which must be known when the search begins: not
            computed inside ``jit`` or ``vmap``.
        xtol: how exact the root must be.
        rtol: the same, relative to the root.
        maxiter: the most iterations.

    Raises:
        ArgumentError: the method is another one, ``f`` returns no scalar, or SciPy refuses an
            argument, such as a bracket where the sign does not change.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax
        >>> from tinyjax.scipy.optimize import root_scalar
        >>> sqrt = lambda a: root_scalar(lambda x: x * x - a, bracket=(0.0, 10.0)).root
        >>> round(float(sqrt(2.0)), 4), round(float(tinyjax.grad(sqrt)(4.0)), 4)
        (1.4142, 0.25)
    """
    chosen = method or ("newton" if bracket is None else "brentq")
    pm.check_option("root_scalar", "method", chosen, _SCALAR_METHODS)
    if bracket is None and x0 is None:
        raise ArgumentError("root_scalar needs a bracket, or x0, a first guess.")
    is_array, number = isinstance(x0, Array), 0.0 if x0 is None else x0
    guess = jnp.reshape(number, 1) if is_array else np.ones(1) * np.asarray(number)
    x, dtype = on_host.first_guess("root_scalar", guess)
    second = None if x1 is None else on_host.concrete("x1", x1)
    problem = vectors.equation(
        "root_scalar", lambda x, *args: jnp.reshape(f(x[0], *args), 1), x, args
    )
    ends = [] if bracket is None else [jnp.asarray(end, x.dtype) for end in bracket]
    count, has_guess = len(problem.consts), x0 is not None
    problem = attrs.evolve(problem, consts=[*problem.consts, *ends])
    program = _Equations(problem.fun, problem.space)
    names = ("values", "slopes", "bends")[: _SCALAR_METHODS[chosen] + 1]
    compiled = [program.compiled(name) for name in names]

    def search(consts: Sequence[Array], start: HostArray) -> tuple[HostArray, Any]:
        scalars = [on_host.number_for_scipy(fun, consts[:count]) for fun in compiled]
        found = on_host.scipy_optimize().root_scalar(
            scalars[0],
            method=chosen,
            bracket=[float(end) for end in consts[count:]] or None,
            fprime=scalars[1] if scalars[1:] else None,
            fprime2=scalars[2] if scalars[2:] else None,
            x0=float(start[0]) if has_guess else None,
            x1=second,
            xtol=xtol,
            rtol=rtol,
            maxiter=maxiter,
        )
        counts = {"success": found.converged, "nfev": found.function_calls, "nit": found.iterations}
        return np.reshape(found.root, 1), counts

    at, report = on_host.solve(
        "root_scalar", problem, search, lambda consts, x: program.values(consts[:count], x)
    )
    (number,) = on_host.in_dtype(dtype, at.reshape(()))
    return RootResults(number, report.success, report.nit, report.nfev)


def fsolve(
    func: frames.Function[ArrayLike],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    fprime: None = None,
    xtol: float = 1.49012e-8,
    maxfev: int = 0,
    factor: float = 100.0,
) -> Array:
    """Return the ``x`` of ``root``; NaN where SciPy finds none.

    ``fprime`` has to be None: it is computed.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> optimize.fsolve(lambda x: x**2 - 4.0, jnp.ones(1)).round(3)
        Array([2.], dtype=float32)
    """
    on_host.refuse("fsolve", fprime=fprime)
    options = {"xtol": xtol, "maxfev": maxfev, "factor": factor}
    result = root(func, x0, args, options=options)
    return jnp.where(result.success, result.x, jnp.nan)


def brentq(
    f: frames.Function[ArrayLike],
    a: ArrayLike,
    b: ArrayLike,
    args: tuple[Any, ...] = (),
    xtol: float = 2e-12,
    rtol: float = 8.881784197001252e-16,
    maxiter: int = 100,
) -> Array:
    """Return the root between ``a`` and ``b``, where ``f`` differs in sign; see ``root_scalar``.

    Example:
        >>> from tinyjax.scipy.optimize import brentq
        >>> round(float(brentq(lambda x: x**2 - 4.0, 0.0, 5.0)), 3)
        2.0
    """
    return root_scalar(f, args, "brentq", (a, b), xtol=xtol, rtol=rtol, maxiter=maxiter).root


def newton(
    func: frames.Function[ArrayLike],
    x0: ArrayLike,
    fprime: None = None,
    args: tuple[Any, ...] = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
) -> Array:
    """Return a root near ``x0``; NaN where Newton's method finds none; see ``root_scalar``.

    ``fprime`` has to be None: it is computed.

    Example:
        >>> from tinyjax.scipy.optimize import newton
        >>> round(float(newton(lambda x: x**2 - 4.0, 1.0)), 3)
        2.0
    """
    on_host.refuse("newton", fprime=fprime)
    result = root_scalar(func, args, "newton", x0=x0, xtol=tol, maxiter=maxiter)
    return jnp.where(result.converged, result.root, jnp.nan)


def fixed_point(
    func: Callable[..., ArrayLike],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
) -> Array:
    """Return a point that ``func`` maps to itself, by ``fsolve``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> optimize.fixed_point(jnp.cos, 1.0).round(3)
        Array(0.739, dtype=float64)
    """
    fun = on_host.array_valued(func)
    return fsolve(lambda x, *args: fun(x, *args) - x, x0, args, xtol=xtol, maxfev=maxiter)

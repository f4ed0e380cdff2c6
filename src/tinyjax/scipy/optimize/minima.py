"""``minimize`` and ``minimize_scalar``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, tree
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, shortened
from tinyjax.implicit import vectors
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.optimize import bfgs, on_host

#: What SciPy's methods take, by their names in lower case.
_METHODS: Final = {
    "nelder-mead": "bounds",
    "powell": "bounds",
    "cg": "jac",
    "newton-cg": "jac hessp",
    "l-bfgs-b": "jac bounds",
    "tnc": "jac bounds",
    "cobyla": "bounds constraints",
    "cobyqa": "bounds constraints",
    "slsqp": "jac bounds constraints",
    "trust-constr": "jac hessp bounds constraints",
    "dogleg": "jac hess",
    "trust-ncg": "jac hessp",
    "trust-krylov": "jac hessp",
    "trust-exact": "jac hess",
}
#: Pairs, or SciPy's ``Bounds``.
Bounds: TypeAlias = Any


@pm.in_double
@checking.explained
def minimize(  # noqa: PLR0913, PLR0917 (the signature of SciPy)
    fun: frames.Function[ArrayLike],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    jac: None = None,
    hess: None = None,
    hessp: None = None,
    bounds: Bounds = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: None = None,
    options: Mapping[str, Any] | None = None,
) -> bfgs.OptimizeResults:
    """Find a local minimum of ``fun(x, *args)`` by BFGS, or by a method of SciPy's.

    BFGS and L-BFGS by JAX's name are traced, and work under ``jit`` and ``vmap``. All other methods
    are those of ``scipy.optimize.minimize``, run on the host, under ``vmap`` for one example after
    the other. They compute in double precision, and get compiled derivatives of ``fun``. Their
    result is differentiable in ``args``, in bounds that are arrays, and in all arrays that ``fun``
    and the constraints close over. The derivative is that of the conditions of Karush, Kuhn and
    Tucker, with the same bounds and constraints active (Nocedal and Wright, "Numerical
    Optimization", section 12.3). It is zero in ``x0``, and NaN after a search without success.

    Args:
        fun: takes a vector and ``args``; returns a real scalar.
        x0: the first guess: a vector of floats. For traced methods also one of complex numbers, of
            which the real and the imaginary parts are the unknowns; ``hess_inv`` is theirs.
        args: further arguments.
        method: ``"BFGS"``; or L-BFGS, which has JAX's name for it,
            ``"l-bfgs-experimental-do-not-rely-on-this"``, and needs memory for a few vectors only;
            or SciPy's ``"L-BFGS-B"``, ``"TNC"``, ``"SLSQP"``, ``"trust-constr"``, ``"COBYLA"``,
            ``"COBYQA"``, ``"Nelder-Mead"``, ``"Powell"``, ``"CG"``, ``"Newton-CG"``,
            ``"trust-ncg"``, ``"trust-krylov"``, ``"trust-exact"`` or ``"dogleg"``. The first eight
            of these take bounds. None is SLSQP with constraints, L-BFGS-B with bounds, and else
            BFGS.
        jac: has to be None, as ``hess`` and ``hessp``: derivatives are computed.
        hess: has to be None.
        hessp: has to be None.
        bounds: a pair ``(low, high)`` for each unknown, where None is no bound; or SciPy's
            ``Bounds``.
        constraints: for SLSQP, trust-constr, COBYLA and COBYQA: one or several dictionaries. In
            each ``"fun"`` is a function of ``x`` and ``"args"``, whose result is zero if
            ``"type"`` is ``"eq"``, and not negative if it is ``"ineq"``. SciPy's
            ``NonlinearConstraint`` and ``LinearConstraint`` do, too.
        tol: how exact the result must be; of BFGS how long the gradient may be, as the option
            ``gtol``, 1e-5 by default.
        callback: has to be None.
        options: those of SciPy's method. Traced methods have ``gtol``; ``norm``, the order of the
            gradient's norm (infinity by default; 2 for L-BFGS); ``maxiter`` (200 for each unknown);
            ``line_search_maxiter`` (10). L-BFGS has ``maxls`` (20) for the last one, ``maxcor``,
            how many steps are remembered (10), ``ftol``, by how much the value has to fall (2e-9),
            ``maxfun`` and ``maxgrad``.

    Returns:
        The minimum; ``status`` is SciPy's where its method ran.

    Raises:
        ArgumentError: the method or an option is another one; ``x0`` is not a vector of floats; the
            method does not take bounds or constraints; or SciPy refuses an argument.
        PlatformError: the method is SciPy's, and SciPy is not installed.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.scipy.optimize import minimize
        >>> def rosenbrock(x):
        ...     return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        >>> result = minimize(rosenbrock, jnp.zeros(2), method="BFGS", tol=1e-3)
        >>> bool(result.success), result.x.round(2)
        (True, Array([1., 1.], dtype=float32))
        >>> def nearest(p):  # on the line where the sum is 1
        ...     on_line = {"type": "eq", "fun": lambda x: x.sum() - 1}
        ...     distance = lambda x: jnp.sum((x - p) ** 2)
        ...     return minimize(distance, jnp.zeros(2), method="SLSQP", constraints=on_line).x
        >>> nearest(jnp.array([2.0, 2.0])).round(3)
        Array([0.5, 0.5], dtype=float32)
        >>> tinyjax.jacobian(nearest)(jnp.array([2.0, 2.0])).round(3)
        Array([[ 0.5, -0.5],
               [-0.5,  0.5]], dtype=float32)
    """
    on_host.refuse("minimize", jac=jac, hess=hess, hessp=hessp, callback=callback)
    several = [constraints] if _is_constraint(constraints) else list(constraints)
    if method is None:
        method = "SLSQP" if several else "BFGS" if bounds is None else "L-BFGS-B"
    name = method.lower()
    pm.check_option("minimize", "method", name, (*bfgs.OPTIONS, *_METHODS))
    takes = _METHODS.get(name, "")
    for what, given in (("bounds", bounds is not None), ("constraints", bool(several))):
        if given and what not in takes:
            fitting = [key for key, words in _METHODS.items() if what in words]
            raise ArgumentError(
                f"the method {method!r} of minimize takes no {what}. Choose one of "
                f"{', '.join(fitting)}."
            )
    if name in bfgs.OPTIONS:
        return bfgs.minimize(fun, x0, args, name, tol, options)
    x, dtype = on_host.first_guess("minimize", x0)
    if x.ndim != 1:
        raise ArgumentError(
            "minimize starts from a vector of floats or complex numbers, but x0 is "
            f"{x.aval}. Flatten trees with tinyjax.flatten_util.ravel_pytree."
        )
    problem, staged = program("minimize", fun, x, args, bounds, several)
    is_bounded = bounds is not None
    call = staged.compiled("both" if "jac" in takes else "value")
    curvature = staged.compiled("hessp" if "hessp" in takes else "hess")

    def search(consts: Sequence[Array], start: HostArray) -> tuple[HostArray, Any]:
        settings: dict[str, Any] = {"method": method, "tol": tol, "options": options}
        if "jac" in takes:
            value, settings["jac"] = on_host.both_for_scipy(call, consts)
        else:
            value = on_host.for_scipy(call, consts)
        if "hess" in takes:
            key = "hessp" if "hessp" in takes else "hess"
            settings[key] = on_host.for_scipy(curvature, consts)
        if is_bounded:
            settings["bounds"] = on_host.scipy_optimize().Bounds(*map(np.asarray, consts[-2:]))
        if staged.staged_constraints is not None:
            settings["constraints"] = staged.host_constraints(consts, "hess" in takes)
        start = start[: staged.size]
        found = on_host.scipy_optimize().minimize(value, start, **settings)
        return staged.with_multipliers(consts, found.x), found

    return staged.result("minimize", problem, search, dtype)


@pm.in_double
@checking.explained
def minimize_scalar(
    fun: frames.Function[ArrayLike],
    bracket: Sequence[ArrayLike] | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> bfgs.OptimizeResults:
    """Find a local minimum of a function of a scalar, by ``scipy.optimize.minimize_scalar``.

    It is differentiable as that of ``minimize`` by a method of SciPy's is.

    Args:
        fun: takes a scalar and ``args``; returns a real scalar.
        bracket: two or three numbers, between or near which the search begins; not computed inside
            ``jit`` or ``vmap``.
        bounds: two numbers, between which the minimum must be.
        args: further arguments.
        method: ``"brent"``, ``"golden"``, or, which takes bounds, ``"bounded"``.
        tol: how exact the result must be.
        options: those of the method.

    Returns:
        The minimum, of shape ``()``; ``jac`` is the slope there.

    Raises:
        ArgumentError: ``fun`` returns no scalar, or SciPy refuses an argument.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax
        >>> from tinyjax.scipy.optimize import minimize_scalar
        >>> lowest = lambda a: minimize_scalar(lambda x: x**4 / 4 - a * x).x
        >>> round(float(lowest(8.0)), 3), round(float(tinyjax.grad(lowest)(8.0)), 4)
        (2.0, 0.0833)
    """
    near = None if bracket is None else [on_host.concrete("bracket", x) for x in bracket]
    x, dtype = on_host.first_guess("minimize_scalar", np.zeros(1))
    pairs = None if bounds is None else [bounds]
    problem, staged = program("minimize_scalar", lambda x, *args: fun(x[0], *args), x, args, pairs)
    call, is_bounded = staged.compiled("value"), bounds is not None

    def search(consts: Sequence[Array], start: HostArray) -> tuple[HostArray, Any]:
        found = on_host.scipy_optimize().minimize_scalar(
            on_host.number_for_scipy(call, consts),
            near,
            [float(end[0]) for end in consts[-2:]] if is_bounded else None,
            method=method,
            tol=tol,
            options=options,
        )
        return np.reshape(found.x, 1), found

    found = staged.result("minimize_scalar", problem, search, dtype)
    return found._replace(x=found.x[0], jac=found.jac[0])


@pm.in_double
def fmin(
    func: frames.Function[ArrayLike],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    xtol: float = 1e-4,
    ftol: float = 1e-4,
    maxiter: int | None = None,
    maxfun: int | None = None,
    *,
    disp: bool = False,
) -> Array:
    """Return the ``x`` of ``minimize`` by Nelder and Mead's method; NaN where there is none.

    The options are SciPy's, which prints a report with ``disp``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> optimize.fmin(lambda x: jnp.sum((x - 2.0) ** 2), jnp.ones(1)).round(3)
        Array([2.], dtype=float32)
    """
    options = {"xatol": xtol, "fatol": ftol, "maxiter": maxiter, "maxfev": maxfun, "disp": disp}
    result = minimize(func, x0, args, "Nelder-Mead", options=options)
    return jnp.where(result.success, result.x, jnp.nan)


@pm.in_double
def differential_evolution(  # noqa: PLR0913, PLR0917 (the signature of SciPy)
    func: frames.Function[ArrayLike],
    bounds: Bounds,
    args: tuple[Any, ...] = (),
    strategy: str = "best1bin",
    maxiter: int = 1000,
    popsize: int = 15,
    tol: float = 0.01,
    mutation: float | tuple[float, float] = (0.5, 1.0),
    recombination: float = 0.7,
    rng: Any = None,
    callback: None = None,
    disp: bool = False,
    polish: bool = True,
    init: Any = "latinhypercube",
    atol: float = 0.0,
    updating: Literal["immediate", "deferred"] = "immediate",
    *,
    x0: Any = None,
    seed: Any = None,
) -> bfgs.OptimizeResults:
    """Find the least minimum between bounds, by ``scipy.optimize.differential_evolution``.

    Args:
        func: takes a vector and ``args``; returns a real scalar.
        bounds: as ``minimize`` takes them.
        args: further arguments.
        strategy: one of SciPy's; so are all other options.
        maxiter: the most generations.
        popsize: the number of candidates, for each unknown.
        tol: how exact the result must be, relative to the candidates' mean.
        mutation: the weight of differences, or its ends.
        recombination: the probability of crossing.
        rng: what draws numbers, or a number of which the result is the same each time.
        callback: has to be None.
        disp: whether SciPy prints each generation.
        polish: whether L-BFGS-B improves the last candidate.
        init: how the first candidates are chosen, or these.
        atol: how exact the result must be.
        updating: when better candidates take part.
        x0: one of the first candidates.
        seed: another name of ``rng``.

    Returns:
        The minimum, differentiable as that of ``minimize`` is.

    Raises:
        ArgumentError: ``func`` returns no scalar, or SciPy refuses an argument.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> wave = lambda x: jnp.sum(x**2 - jnp.cos(9 * x))
        >>> optimize.differential_evolution(wave, [(-4.0, 5.0)], seed=0).x.round(3) + 0.0
        Array([0.], dtype=float64)
    """
    on_host.refuse("differential_evolution", callback=callback)
    options: dict[str, Any] = {
        "strategy": strategy,
        "maxiter": maxiter,
        "popsize": popsize,
        "tol": tol,
        "mutation": mutation,
        "recombination": recombination,
        "disp": disp,
        "polish": polish,
        "init": init,
        "atol": atol,
        "updating": updating,
        "x0": x0,
        "rng" if seed is None else "seed": rng if seed is None else seed,
    }
    size = np.size(bounds.lb) if hasattr(bounds, "lb") else len(bounds)
    name, lows = "differential_evolution", _bounds_of(bounds, size)[0]
    x, dtype = on_host.first_guess(name, jnp.zeros_like(lows))
    problem, staged = program(name, func, x, args, bounds, [])
    value = staged.compiled("value")

    def search(consts: Sequence[Array], start: HostArray) -> tuple[HostArray, Any]:
        ends = on_host.scipy_optimize().Bounds(*map(np.asarray, consts[-2:]))
        at = on_host.for_scipy(value, consts)
        found = on_host.scipy_optimize().differential_evolution(
            lambda x: float(at(x)), ends, **options
        )
        return found.x, found

    return staged.result(name, problem, search, dtype)


def _is_constraint(constraint: Any) -> bool:
    return isinstance(constraint, Mapping) or hasattr(constraint, "lb")


def _bounds_of(bounds: Bounds, size: int) -> tuple[Any, Any]:
    """Return both ends of the bounds of each unknown; infinite where there are none."""
    if hasattr(bounds, "lb"):
        return np.broadcast_to(bounds.lb, size), np.broadcast_to(bounds.ub, size)
    try:
        pairs = [(low, high) for low, high in bounds]
    except (TypeError, ValueError):
        pairs = []
    if len(pairs) != size:
        raise ArgumentError(
            f"bounds must be {size} pairs (low, high), one for each unknown, but got "
            f"{shortened(bounds)}."
        )
    lows = [-np.inf if low is None else low for low, _ in pairs]
    highs = [np.inf if high is None else high for _, high in pairs]
    return jnp.asarray(lows), jnp.asarray(highs)


def _constraint_functions(constraint: Any, x: Array) -> tuple[list[Any], list[Any]]:
    """Return functions of ``x`` that are to be zero, and such that are not to be negative."""
    if isinstance(constraint, Mapping):
        kind, fun, args = constraint.get("type"), constraint.get("fun"), constraint.get("args", ())
        if kind not in ("eq", "ineq") or not callable(fun):
            raise ArgumentError(
                "a constraint of minimize must have 'type', 'eq' or 'ineq', and 'fun', a function, "
                f"but it is {shortened(constraint)}."
            )
        functions = [lambda x: fun(x, *args)]
        return (functions, []) if kind == "eq" else ([], functions)
    if not hasattr(constraint, "lb"):
        raise ArgumentError(
            "constraints of minimize must be dictionaries, NonlinearConstraint or "
            f"LinearConstraint, but got {shortened(constraint)}."
        )
    of = constraint.fun if hasattr(constraint, "fun") else lambda x: np.asarray(constraint.A) @ x
    (value,) = tree.leaves(api.eval_shape(of, x))
    low, high = (
        np.broadcast_to(end, value.shape).ravel() for end in (constraint.lb, constraint.ub)
    )
    same, above = low == high, (low != high) & (low > -np.inf)
    below = (low != high) & (high < np.inf)
    return [lambda x: jnp.ravel(of(x))[same] - low[same]], [
        lambda x: jnp.ravel(of(x))[above] - low[above],
        lambda x: high[below] - jnp.ravel(of(x))[below],
    ]


@attrs.frozen(cache_hash=True)
class MinimizationProblem(on_host.StagedObjective):
    """A function to be minimised and its constraints, as functions of constants and a vector.

    Constants are those of the function, those of the constraints, and the bounds; unknowns those of
    the function, and the constraints' multipliers.

    Attributes:
        size: the number of the function's unknowns.
        consts: how many constants the function has.
        staged_constraints: the staged constraints, first those that are to be zero.
        equalities: their number.
    """

    size: int
    consts: int
    staged_constraints: vectors.Closed | None = None
    equalities: int = 0

    def parts(self) -> Sequence[vectors.Closed]:
        """The function, and the constraints."""
        return (
            (self.fun,) if self.staged_constraints is None else (self.fun, self.staged_constraints)
        )

    def value(self, consts: Sequence[Array], x: Array) -> Array:
        """The function's value."""
        (value,) = self.fun.flat(consts[: self.consts], x)
        return value

    def both(self, consts: Sequence[Array], x: Array) -> tuple[Array, Array]:
        """The value and the gradient."""
        both: tuple[Array, Array] = api.value_and_grad(lambda x: self.value(consts, x))(x)
        return both

    def hessp(self, consts: Sequence[Array], x: Array, direction: Array) -> Array:
        """The Hessian times a vector."""
        product: Array = api.jvp(lambda x: self.both(consts, x)[1], (x,), (direction,))[1]
        return product

    def hess(self, consts: Sequence[Array], x: Array) -> Array:
        """The Hessian."""
        matrix: Array = api.jacfwd(lambda x: self.both(consts, x)[1])(x)
        return matrix

    def constraints(self, consts: Sequence[Array], x: Array) -> Array:
        """The values of the constraints."""
        if self.staged_constraints is None:
            return jnp.zeros(0, x.dtype)
        (value,) = self.staged_constraints.flat(consts[self.consts : -2], x)
        return value

    def slopes(self, consts: Sequence[Array], x: Array) -> Array:
        """The Jacobian of the constraints."""
        matrix: Array = api.jacrev(lambda x: self.constraints(consts, x))(x)
        return matrix

    def equations(self, consts: Sequence[Array], unknowns: Array) -> Array:
        """The conditions of Karush, Kuhn and Tucker."""
        x, multipliers = unknowns[: self.size], unknowns[self.size :]
        slope = self.both(consts, x)[1]
        if self.staged_constraints is None:
            return on_host.within_bounds(x, slope, *consts[-2:])
        values, pull = api.vjp(lambda x: self.constraints(consts, x), x)
        rows = on_host.within_bounds(x, slope - pull(multipliers)[0], *consts[-2:])
        is_equality = np.arange(len(multipliers)) < self.equalities
        held = jnp.where(is_equality | (multipliers > values), values, multipliers)
        return jnp.concatenate([rows, held])

    def curvature(self, consts: Sequence[Array], x: Array, multipliers: Array) -> Array:
        """The Hessian of a linear combination of the constraints."""
        slope = api.grad(lambda x: self.constraints(consts, x) @ multipliers)
        matrix: Array = api.jacfwd(slope)(x)
        return matrix

    def host_constraints(self, consts: Sequence[Array], with_hess: bool) -> list[Any]:
        """The constraints for SciPy, with their Hessians where it takes them."""
        values, slopes, curvature = (
            on_host.for_scipy(self.compiled(name), consts)
            for name in ("constraints", "slopes", "curvature")
        )
        assert self.staged_constraints is not None, "constraints"
        all_ = np.arange(self.staged_constraints.jaxpr.out_avals[0].size)
        constraints: list[Any] = []
        for kind, which in (("eq", all_ < self.equalities), ("ineq", all_ >= self.equalities)):

            def value(x: HostArray, which: HostArray = which) -> Any:
                return values(x)[which]

            def slope(x: HostArray, which: HostArray = which) -> Any:
                return slopes(x)[which]

            def hess(x: HostArray, v: HostArray, which: HostArray = which) -> Any:
                full = np.zeros(len(which))
                full[which] = v
                return curvature(x, full)

            if not which.any():
                continue
            if with_hess:
                high = 0 if kind == "eq" else np.inf
                make = on_host.scipy_optimize().NonlinearConstraint
                constraints.append(make(value, 0, high, jac=slope, hess=hess))
            else:
                constraints.append({"type": kind, "fun": value, "jac": slope})
        return constraints

    def with_multipliers(self, consts: Sequence[Array], x: HostArray) -> HostArray:
        """Append the constraints' multipliers to a minimum.

        With those of the bounds they make the gradient, as nearly as they can with small products
        of multipliers and distances.
        """
        if self.staged_constraints is None:
            return x
        slope = on_host.for_scipy(self.compiled("both"), consts)(x)[1]
        values = on_host.for_scipy(self.compiled("constraints"), consts)(x)
        slopes = on_host.for_scipy(self.compiled("slopes"), consts)(x)
        low, high = (np.asarray(end) for end in consts[-2:])
        m, n = self.equalities, len(x)
        columns = np.concatenate([slopes, -slopes[:m], np.eye(n), -np.eye(n)])
        distances = np.concatenate([np.zeros(m), values[m:], np.zeros(m), x - low, high - x])
        columns, distances = columns[np.isfinite(distances)], distances[np.isfinite(distances)]
        rows = np.concatenate([columns.T, np.diag(np.maximum(distances, 0))])
        right = np.concatenate([slope, np.zeros(len(distances))])
        found, _ = on_host.scipy_optimize().nnls(rows, right)
        multipliers = found[: len(values)]
        multipliers[:m] -= found[len(values) : len(values) + m]
        return np.concatenate([x, multipliers])

    def result(
        self,
        name: str,
        problem: vectors.Equation,
        search: on_host.Search,
        dtype: dtypes.DType,
    ) -> bfgs.OptimizeResults:
        """Search, and return the minimum."""
        unknowns, report = on_host.solve(name, problem, search, self.equations)
        x = unknowns[: self.size]
        value, slope = self.compiled("both")(*problem.consts, x)
        x, value, slope = on_host.in_dtype(dtype, x, value, slope)
        return bfgs.OptimizeResults(x, *report[:2], value, slope, None, *report[2:])


def program(
    name: str,
    fun: Callable[..., Any],
    x: Array,
    args: tuple[Any, ...],
    bounds: Bounds,
    constraints: Sequence[Any] = (),
) -> tuple[vectors.Equation, MinimizationProblem]:
    """Stage a function to be minimised, and its constraints.

    Args:
        name: what the user called, for messages.
        fun: takes a vector and ``args``.
        x: the first guess.
        args: further arguments.
        bounds: as ``minimize`` takes them.
        constraints: as ``minimize`` takes them.
    """
    problem = vectors.equation(name, fun, x, args, scalar=True)
    ends: list[Array] = [opd.splat(end, x.aval) for end in (-np.inf, np.inf)]
    if bounds is not None:
        ends = [jnp.asarray(end, x.dtype) for end in _bounds_of(bounds, x.size)]
    kinds = [_constraint_functions(given, x) for given in constraints]
    zero, positive = ([fun for kind in kinds for fun in kind[i]] for i in (0, 1))
    if not constraints:
        consts = [*problem.consts, *ends]
        whole = vectors.Equation(problem.fun, problem.space, consts, problem.start)
        return whole, MinimizationProblem(problem.fun, x.size, len(problem.consts))

    def values(functions: Sequence[Callable[[Array], Any]], x: Array) -> Array:
        parts = [jnp.ravel(jnp.asarray(fun(x), x.dtype)) for fun in functions]
        return jnp.concatenate([jnp.zeros(0, x.dtype), *parts])

    count = api.eval_shape(lambda x: values(zero, x), x).shape[0]
    held, consts = vectors.close(lambda x: values([*zero, *positive], x), x)
    m = held.jaxpr.out_avals[0].shape[0]
    start = jnp.concatenate([x, jnp.zeros(m, x.dtype)])
    space = vectors.space_of(problem.space.treedef, [start.aval], f"x0 of {name}")
    full = [*problem.consts, *consts, *ends]
    whole = vectors.Equation(problem.fun, space, full, start)
    return whole, MinimizationProblem(problem.fun, x.size, len(problem.consts), held, count)

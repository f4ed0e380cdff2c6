"""``odeint``: the solution of an ordinary differential equation at given times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

import attrs

from tinyjax import custom_derivatives, dtypes, numpy as jnp, tree
from tinyjax._base import frames
from tinyjax._extensions.parallel import collective, mesh_rule
from tinyjax._primitives.linear_maps import linear_call
from tinyjax.core import api
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import checking, primitive as prim, trace as tr
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError
from tinyjax.implicit import runge_kutta, taylor_series, vectors
from tinyjax.implicit.krylov import Info
from tinyjax.implicit.vectors import strong
from tinyjax.numpy.promotion import check_option

T = TypeVar("T")

#: The derivative of a state, of what the field depends on, the state, and the time.
Flow = Callable[[Sequence[Array], Array, Array], Array]


class OdeOptions(TypedDict, total=False):
    """Options of ``odeint``."""

    rtol: float
    atol: float
    mxstep: float
    hmax: float
    gradient: Literal["adjoint", "checkpointed"]
    checkpoints: int
    taylor_order: int | None


class PlainOdeOptions(OdeOptions, total=False):
    """Those of a call that returns no information beside the result."""

    has_aux: Literal[False]


@overload
def odeint(
    func: Callable[[Array, Array], object],
    y0: ArrayLike,
    t: ArrayLike,
    **options: Unpack[PlainOdeOptions],
) -> Array: ...
@overload
def odeint(
    func: Callable[[T, Array], object], y0: T, t: ArrayLike, **options: Unpack[PlainOdeOptions]
) -> T: ...
@overload
def odeint(
    func: frames.Function[object],
    y0: ArrayLike,
    t: ArrayLike,
    arg: Any,
    /,
    *args: Any,
    **options: Unpack[PlainOdeOptions],
) -> Array: ...
@overload
def odeint(
    func: frames.Function[object],
    y0: T,
    t: ArrayLike,
    arg: Any,
    /,
    *args: Any,
    **options: Unpack[PlainOdeOptions],
) -> T: ...
@overload
def odeint(
    func: frames.Function[object],
    y0: Any,
    t: ArrayLike,
    *args: Any,
    has_aux: bool,
    **options: Unpack[OdeOptions],
) -> Any: ...
@checking.checked
def odeint(  # noqa: PLR0913
    func: Callable[..., Any],
    y0: Any,
    t: ArrayLike,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = float("inf"),
    hmax: float = float("inf"),
    gradient: Literal["adjoint", "checkpointed"] = "adjoint",
    checkpoints: int = 32,
    taylor_order: int | None = None,
    has_aux: bool = False,
) -> Any:
    """Solve ``dy/dt = func(y, t, *args)`` from ``y0`` at ``t[0]``.

    The method is Dormand and Prince's, of order five, with steps chosen by the error of an embedded
    formula of order four. The states between the steps are interpolated. With ``taylor_order`` it
    is Taylor's, of that order: for small tolerances fewer steps, each of which computes as many
    derivatives of the solution by Taylor mode (À. Jorba and M. Zou, 2005).

    The solution is differentiable, in both modes and repeatedly, with respect to ``y0``, ``t``,
    ``args`` and what ``func`` closes over, in one of two ways. The adjoint is the derivative of the
    equation: forward mode solves the variational equation along with this one, and reverse mode the
    adjoint equation backwards (Pontryagin; Chen et al., "Neural Ordinary Differential Equations",
    2018), in memory that does not depend on the number of steps; its error is that of ``rtol`` and
    ``atol``. The checkpointed derivative is that of the steps as they were made: exact for these,
    and each step is made again a few times.

    Args:
        func: takes a state, a time and ``args``; returns a tree like the state, or one of as many
            numbers, in the same order.
        y0: the first state, a tree of arrays.
        t: the times, ascending or descending.
        *args: further arguments, trees of arrays.
        rtol: the error allowed in a step, relative to the state.
        atol: the error allowed in any case.
        mxstep: the most steps between two times; where more are needed, the states are NaN.
        hmax: the longest step.
        gradient: how it is differentiated.
        checkpoints: how many states the checkpointed derivative keeps between two times.
        taylor_order: the order of Taylor's method, at least two; None for Dormand and Prince's.
        has_aux: whether to return also how many steps were tried, and whether that was enough.

    Returns:
        The states at the times, like ``y0`` with a first axis added; or a pair ``(states, Info)``,
        whose residual is zero.

    Raises:
        ArgumentError: ``func`` returns what is not like its state, ``t`` is not a vector of at
            least one time, ``y0`` has no numbers, or a setting is out of its range.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.implicit import odeint
        >>> decay = lambda k: odeint(lambda y, t: -k * y, 1.0, jnp.array([0.0, 1.0]))[-1]
        >>> round(float(decay(1.0)), 4), round(float(tinyjax.grad(decay)(1.0)), 4)
        (0.3679, -0.3679)
    """
    _check_settings(rtol, atol, mxstep, hmax, gradient, checkpoints)
    if taylor_order is not None and ints.integer(taylor_order, "taylor_order of odeint") < 2:
        raise ArgumentError(
            f"taylor_order of odeint must be at least two, but it is {taylor_order}."
        )
    times = strong(jnp.asarray(t))
    if times.ndim != 1 or not times.shape[0] or dtypes.is_complex(times.dtype):
        raise ArgumentError(
            f"t of odeint must be a vector of at least one real time, but it is {times.aval}."
        )
    problem = _stage(func, y0, times, args)
    closed, space = problem.fun, problem.space
    varying = [
        i
        for i, c in enumerate(problem.consts)
        if isinstance(c, tr.Tracer) and dtypes.is_inexact(c.dtype)
    ]
    # Where slopes differ between devices, so do states and steps, and the cotangents of the rest.
    axes = mesh_rule.union(mesh_rule.axes_of(closed.jaxpr.out_avals))
    operands = (problem.start, times, *problem.consts)
    state, times, *consts = [collective.pvary(x, axes) for x in operands]
    real = dtypes.real_part(space.dtype)
    times = times.astype(dtypes.promote_types(times.dtype, real))
    # time always increases: where it does not, the equation is turned round
    sign = jnp.where(times[-1] < times[0], -1, 1).astype(times.dtype)

    def flow(consts: Sequence[Array], y: Array, time: Array) -> Array:
        *inner, sign = consts
        directed_time = ew.convert_element_type(sign * time, time.dtype)
        slope = space.join(closed.flat(inner, *space.split(y), directed_time))
        return sign.astype(slope.dtype) * slope

    steps = runge_kutta.StepControl(rtol, atol, mxstep, hmax, checkpoints, taylor_order)
    all_consts = [*consts, sign]
    if gradient == "checkpointed":
        states, info = _integrate(
            lambda y, time: flow(all_consts, y, time), state, sign * times, steps
        )
    else:
        states, info = solve_flow(flow, state, sign * times, all_consts, steps, varying)
    ys = space.unflatten(states)
    return (ys, info) if has_aux else ys


def _integrate(
    field: runge_kutta.Field, y0: Array, times: Array, steps: runge_kutta.StepControl
) -> tuple[Array, Info]:
    if steps.taylor_order is None:
        return runge_kutta.integrate(field, y0, times, steps)
    return taylor_series.integrate(field, y0, times, steps.taylor_order, steps)


def _check_settings(
    rtol: float, atol: float, mxstep: float, hmax: float, gradient: str, checkpoints: int
) -> None:
    settings = {"mxstep": mxstep, "hmax": hmax, "checkpoints": checkpoints}
    for name, value in settings.items():
        if not value > 0:
            raise ArgumentError(f"{name} of odeint must be positive, but it is {value}.")
    if not (rtol >= 0 and atol >= 0 and rtol + atol > 0):
        raise ArgumentError(
            f"rtol and atol of odeint must not be negative, nor both zero, but they are {rtol} and "
            f"{atol}."
        )
    check_option("odeint", "gradient", gradient, ("adjoint", "checkpointed"))


def _stage(
    func: Callable[..., Any], y0: Any, times: Array, args: tuple[Any, ...]
) -> vectors.Equation:
    """Stage the field: a function of its closed-over values, the state's leaves and the time."""

    def slope(y: Any, t: Array) -> Any:
        return _like_state(func(y, t, *args), y0)

    def stage(treedef: tree.PyTreeDef, arrays: Sequence[Array]) -> vectors.Stage:
        real = [dtypes.real_part(x.dtype) for x in arrays]
        dtype, _ = dtypes.promote([(times.dtype, False), *((d, False) for d in real)])
        closed, consts = vectors.close(
            slope,
            tree.unflatten(treedef, arrays),
            times[0].astype(dtype),
            original=frames.Applied("odeint", func),
        )
        what = lambda: f"{frames.describe_function(func)}, the derivative in odeint,"  # noqa: E731
        like, outs = ("y0", treedef, [x.aval for x in arrays]), closed.jaxpr.out_avals
        vectors.check_like(what, like, closed.out_tree, outs)
        return closed, consts, outs

    return vectors.equation_staged_by(stage, func, y0, "y0 of odeint")


def _like_state(slope: Any, y0: Any) -> Any:
    """Give a derivative the state's tree, if it has as many numbers in another one."""
    leaves, treedef = tree.flatten(y0)
    parts = tree.leaves(slope)
    sizes = [jnp.size(x) for x in leaves]
    if tree.structure(slope) == treedef or sum(map(jnp.size, parts)) != sum(sizes):
        return slope
    flat = jnp.concatenate([jnp.ravel(x) for x in parts])
    pieces = jnp.split(flat, list(accumulate(sizes))[:-1])
    shaped = [jnp.reshape(p, jnp.shape(x)) for p, x in zip(pieces, leaves, strict=True)]
    return tree.unflatten(treedef, shaped)


def solve_flow(
    flow: Flow,
    y0: Array,
    times: Array,
    consts: Sequence[Array],
    steps: runge_kutta.StepControl,
    varying: Sequence[int],
) -> tuple[Array, Info]:
    """Solve an equation; the derivative of the solution solves equations in its turn.

    What is differentiated by is part of the state of these, by which their steps are chosen: a
    table that holds a NaN, or is large, is no part of it.

    Args:
        flow: takes what the field depends on, the state and the time; it closes over nothing that
            is traced.
        y0: the first state.
        times: where the states are wanted; they increase.
        consts: what the field depends on.
        steps: how the steps are chosen.
        varying: which of these may have derivatives.
    """
    linear = _Variation(flow, len(consts), steps, varying)

    @custom_derivatives.custom_derivative
    def solution(y0: Array, times: Array, consts: list[Array]) -> tuple[Array, Info]:
        return _integrate(lambda y, time: flow(consts, y, time), y0, times, steps)

    @solution.defderivative
    def rule(
        y0: Array, times: Array, consts: list[Array]
    ) -> tuple[tuple[Array, Info], Callable[[Array, Array, list[Array]], tuple[Array, object]]]:
        states, info = solution(y0, times, consts)
        slopes = api.vmap(lambda y, time: flow(consts, y, time))(states, times)
        residuals = [states, times, *consts]

        def tangent_map(
            of_y0: Array, of_times: Array, of_consts: list[Array]
        ) -> tuple[Array, object]:
            dtype = states.dtype
            moved = of_y0 - slopes[0] * of_times[0].astype(dtype)
            directions = [of_consts[i] for i in varying]
            (changes,) = linear_call(linear.push, linear.pull, residuals, [moved, *directions])
            return (
                changes + slopes * of_times.astype(dtype)[:, None],
                tree.map(lambda _: prim.ZERO, info),
            )

        return (states, info), tangent_map

    return solution(y0, times, list(consts))


@attrs.frozen(eq=False)
class _Variation:
    """The derivative of a solution in the first state and in constants, and its transpose.

    Attributes:
        flow: the field.
        count: the number of constants.
        steps: how the steps are chosen.
        varying: which of the constants have derivatives.
    """

    flow: Flow
    count: int
    steps: runge_kutta.StepControl
    varying: Sequence[int]

    def _field(
        self, consts: Sequence[Array], chosen: Sequence[Array], y: Array, time: Array
    ) -> Array:
        """Return the field's value, with other values of the varying constants."""
        full = list(consts)
        for i, c in zip(self.varying, chosen, strict=True):
            full[i] = c
        return self.flow(full, y, time)

    def push(self, residuals: Sequence[Array], operands: Sequence[Array]) -> list[Array]:
        """Push a change of the first state and of the constants along the solution."""
        states, times, *consts = residuals
        change, *directions = operands
        n = change.shape[0]

        def both(consts: Sequence[Array], y: Array, time: Array) -> Array:
            inner, directions = consts[: self.count], consts[self.count :]
            slope, slope_change = api.jvp(
                lambda y, *cs: self._field(inner, cs, y, time),
                (y[:n], *(inner[i] for i in self.varying)),
                (y[n:], *directions),
            )
            return jnp.concatenate([slope, slope_change])

        start = jnp.concatenate([states[0], change])
        varying = [*self.varying, *range(self.count, self.count + len(self.varying))]
        consts = [*consts, *directions]
        solution, _ = solve_flow(both, start, times, consts, self.steps, varying)
        return [solution[:, n:]]

    def pull(self, residuals: Sequence[Array], cotangents: Sequence[Array]) -> list[Array]:
        """Pull cotangents of the states back along the solution."""
        states, times, *consts = residuals
        (cts,) = cotangents
        n = cts.shape[1]
        chosen = [consts[i] for i in self.varying]
        avals = tuple([c.aval for c in chosen])
        constants = vectors.VectorSpace(tree.structure(chosen), avals, cts.dtype)

        def back(consts: Sequence[Array], y: Array, time: Array) -> Array:
            # with time turned round; of a constant the cotangent adds up along the way
            value, pull = api.vjp(
                lambda y, *cs: self._field(consts, cs, y, -time),
                y[:n],
                *(consts[i] for i in self.varying),
            )
            of_y, *of_chosen = pull(y[n : 2 * n])
            parts = [-value, of_y, *(c.reshape(-1).astype(y.dtype) for c in of_chosen)]
            return jnp.concatenate(parts)

        def segment(
            carry: tuple[Array, Array], xs: tuple[Array, Array, Array, Array]
        ) -> tuple[tuple[Array, Array], None]:
            ct, total = carry
            state, at_start, end, begin = xs
            start = jnp.concatenate([state, ct, total])
            both = jnp.stack([-end, -begin])
            solution, _ = solve_flow(back, start, both, consts, self.steps, self.varying)
            return (solution[1, n : 2 * n] + at_start, solution[1, 2 * n :]), None

        total = jnp.zeros(constants.size, cts.dtype)
        segments = (states[1:], cts[:-1], times[1:], times[:-1])
        (ct, total), _ = scan(segment, (cts[-1], total), segments, reverse=True)
        return [ct, *constants.split(total)]

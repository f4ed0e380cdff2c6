"""Solutions that SciPy finds on the host, differentiated by the equations that they fulfil."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax._extensions.callbacks.pure import pure_callback
from tinyjax._library.special.declaring import of_scipy
from tinyjax.core.jit.decorator import jit
from tinyjax.core.jit.function import JitFunction
from tinyjax.core.jit.signatures import EvaluatedCall, host_call
from tinyjax.core.primitives import identities
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ArrayLike, ConcreteArray, avals as av, operands as opd
from tinyjax.dtypes import HostArray
from tinyjax.implicit import theorem, vectors

#: Calls SciPy, with constants and a first guess; returns the solution and SciPy's result.
Search: TypeAlias = Callable[[Sequence[Array], HostArray], tuple[HostArray, Any]]


class SciPyReport(NamedTuple):
    """SciPy's account of a search; what a method does not count is 0."""

    success: Any
    status: Any
    nfev: Any
    njev: Any
    nit: Any


def scipy_optimize() -> Any:
    """Import SciPy's optimisers, as ``of_scipy`` does."""
    return of_scipy("optimize", "this is solved")


def first_guess(name: str, x0: Any) -> tuple[Array, dtypes.DType]:
    """Return a first guess in double precision, as SciPy computes, and the result's dtype.

    That of Python's numbers and of integers has double precision, too.

    Raises:
        ArgumentError: the guess is not real.
    """
    x, wide = opd.as_array(x0), dtypes.allowed(dtypes.float64)
    if x.dtype == wide:
        return x, wide
    if dtypes.is_complex(x.dtype):
        raise errors.ArgumentError(
            f"SciPy's {name} takes real numbers, but x0 is {x.aval}. Take the real and the "
            "imaginary part as unknowns."
        )
    dtype = x.dtype if dtypes.is_float(x.dtype) and not x.weak_type else wide
    return in_dtype(wide, x)[0], dtype


def refuse(name: str, **arguments: object) -> None:
    """Raise unless arguments of SciPy's that a function does without are None.

    Raises:
        ArgumentError: one is not.
    """
    for parameter, value in arguments.items():
        if value is not None:
            why = "is not supported" if parameter == "callback" else "is computed from the function"
            raise errors.ArgumentError(f"{parameter} of {name} {why}: leave it out.")


def array_valued(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with arrays for the lists that it returns."""

    def call(*args: Any) -> Any:
        value = fun(*args)
        return jnp.asarray(value) if isinstance(value, (list, tuple)) else value

    return frames.imitate(call, fun)


def concrete(name: str, x: ArrayLike) -> float:
    """Return a number that SciPy's search begins with, of which the result has no derivative.

    Raises:
        ArgumentError: it has no value, since it is computed inside ``jit`` or ``vmap``.
    """
    if not isinstance(x, Array):
        return float(np.asarray(x))
    value = x if opd.is_constant(x) else identities.stop_gradient(x)
    if not opd.is_constant(value):
        raise errors.ArgumentError(
            f"{name} must be a number that is known when the search begins, but it is computed "
            f"inside jit or vmap: {value.aval}. Give a number that does not depend on arguments, "
            "or search from x0, which may depend on them."
        )
    return float(opd.raw_host(value))


def in_dtype(dtype: dtypes.DType, *values: Array) -> list[Array]:
    """Convert results to a dtype."""
    return [x if x.dtype == dtype else x.astype(dtype) for x in values]


def for_scipy(fun: JitFunction[..., Any], consts: Sequence[Array]) -> Callable[..., Any]:
    """Make a function of vectors that SciPy calls, of a compiled one, with these constants.

    What NumPy evaluates is called without what a call of a jitted function takes besides.
    """
    on_host: EvaluatedCall | None = None
    hosts: list[HostArray] = []
    shapes: list[tuple[int, ...]] = []

    def call(*xs: HostArray | Sequence[float]) -> Any:
        nonlocal on_host, hosts, shapes
        operands = [np.asarray(x, float) for x in xs]
        if on_host is None:
            on_host = host_call(fun, [*consts, *operands])
            if on_host is not None:
                hosts, shapes = [*map(_data, consts)], [x.shape for x in operands]
        if on_host is not None and [x.shape for x in operands] == shapes:
            results = on_host.evaluate(hosts + operands)
            if results is not None:
                copies = [x.copy() if x.ndim else x[()] for x in results]
                return tuple(copies) if on_host.is_tuple else copies[0]
        out = fun(*consts, *operands)
        return tuple(map(_own, out)) if type(out) is tuple else _own(out)

    return call


def number_for_scipy(
    fun: JitFunction[..., Any], consts: Sequence[Array]
) -> Callable[[float], float]:
    """Make a function of a number that SciPy calls, of one of a vector of one element."""
    call, vector = for_scipy(fun, consts), np.empty(1)

    def value(x: float) -> float:
        vector[0] = x  # a new array takes ten times as long
        number: float = call(vector).item()
        return number

    return value


def _own(x: Any) -> Any:
    """Return data that SciPy may write to; a number of NumPy's for an array without axes."""
    host = opd.raw_host(x)
    return host.copy() if host.ndim else host[()]


def both_for_scipy(
    fun: JitFunction[..., Any], consts: Sequence[Array]
) -> list[Callable[[HostArray], Any]]:
    """Make two functions of a vector of one that returns two values, and is called once for both.

    SciPy asks for both at each vector, and compares vectors in five times the time.
    """
    call = for_scipy(fun, consts)
    last: bytes | None = None
    values: Sequence[Any] = ()

    def first(x: HostArray) -> Any:
        nonlocal last, values
        key = x.tobytes()
        if key != last:
            last, values = key, call(x)
        return values[0]

    def second(x: HostArray) -> Any:
        if x.tobytes() != last:
            first(x)
        return values[1]

    return [first, second]


@attrs.frozen
class StagedObjective:
    """A staged function and what is computed of it, as methods of constants and a vector.

    Two are equal if they compute the same: then they share what is compiled.
    """

    fun: vectors.Closed

    def parts(self) -> Sequence[vectors.Closed]:
        """All functions that it holds."""
        return (self.fun,)

    def compiled(self, name: str) -> JitFunction[..., Any]:
        """Compile the method of this name, of all constants and vectors, once for equal programs.

        What holds objects of the user's, such as callbacks, dies with its call.
        """
        holds_objects = any(part.jaxpr.held_objects for part in self.parts())
        return (_compiled.__wrapped__ if holds_objects else _compiled)(self, name)


@lru_cache(maxsize=256)
def _compiled(program: StagedObjective, name: str) -> JitFunction[..., Any]:
    method = getattr(program, name)
    count = len(inspect.signature(method).parameters) - 1

    def of_operands(*operands: Array) -> Any:
        return method(operands[:-count], *operands[-count:])

    return jit(of_operands, tier="host")


def solve(
    name: str,
    problem: vectors.Equation,
    search: Search,
    equations: vectors.VectorFunction,
) -> tuple[Array, SciPyReport]:
    """Let SciPy find a solution, as a differentiable function of the problem's constants.

    Args:
        name: the function that the user called.
        problem: what the search begins with, and what the user's functions close over.
        search: calls SciPy, and closes over nothing traced.
        equations: are zero at the solution. They close over nothing traced either.

    Raises:
        PlatformError: SciPy is not installed.
        ArgumentError: SciPy refuses an argument.
    """
    scipy_optimize()
    space = problem.space  # the callback outlives the problem's arrays

    def run(start: HostArray, *consts: HostArray) -> tuple[HostArray, SciPyReport]:
        x, report = _searched(name, search, [*map(opd.as_array, consts)], start)
        return x.astype(space.dtype), report

    def find(consts: Sequence[Array], start: Array) -> tuple[Array, Any]:
        if tr.current_trace().evaluates:
            with tr.use_trace(tr.EVAL):
                x, report = _searched(name, search, consts, _data(start))
            host = x.astype(space.dtype)
            return ConcreteArray(host), SciPyReport(*[ConcreteArray(np.asarray(y)) for y in report])
        number = av.ShapeDtypeStruct((), dtypes.default_int())
        declared = (
            av.ShapeDtypeStruct((space.size,), space.dtype),
            SciPyReport(av.ShapeDtypeStruct((), dtypes.bool_), *[number] * 4),
        )
        result: tuple[Array, Any] = pure_callback(
            run, declared, start, *consts, vmap_method="sequential"
        )
        return result

    return theorem.solve_implicitly(
        problem, find, "dense", equations, is_solved=lambda report: report.success
    )


def _searched(
    name: str, search: Search, consts: Sequence[Array], start: HostArray
) -> tuple[HostArray, SciPyReport]:
    """Return what a search finds, and NumPy's numbers; NaN where its arithmetic fails."""
    try:
        x, found = search(consts, np.array(start, np.float64))
    except errors.TinyjaxError:
        raise
    except (TypeError, ValueError) as error:
        raise errors.ArgumentError(f"SciPy refuses what {name} was given: {error}") from error
    except ArithmeticError:  # as of an iteration that diverges
        x, found = np.full(start.size, np.nan), {"success": False}
    number = dtypes.default_int().type
    counts = [number(found.get(key) or 0) for key in SciPyReport._fields[1:]]
    return x, SciPyReport(np.bool_(found["success"]), *counts)


def _data(x: Array) -> HostArray:
    """Return an array's data, which is not to be written to."""
    return opd.raw_host(x) if type(x) is ConcreteArray else x.concrete("data")


def within_bounds(x: Array, slope: Array, low: Array, high: Array) -> Array:
    """Return what is zero at a minimum between bounds.

    It is the gradient; where this pushes an unknown to a bound, it is the distance to that.
    """
    pushed = x - slope
    at_ends = jnp.where(pushed <= low, x - low, x - high)
    return jnp.where((pushed > low) & (pushed < high), slope, at_ends)

"""Solutions that SciPy finds on the host, differentiated by the equations that they fulfil."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._extensions.callbacks.pure import pure_callback
from tinyjax._library.special.declaring import of_scipy
from tinyjax.core.jit.decorator import jit
from tinyjax.core.jit.function import JitFunction
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ConcreteArray, avals as av, operands as opd
from tinyjax.dtypes import HostArray
from tinyjax.implicit import theorem, vectors

#: Calls SciPy, with constants and a first guess; returns the solution and SciPy's result.
Search: TypeAlias = Callable[[Sequence[Array], HostArray], tuple[HostArray, Any]]


class Report(NamedTuple):
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

    Raises:
        ArgumentError: the guess is not real.
    """
    x = opd.as_array(x0)
    if dtypes.is_complex(x.dtype):
        raise errors.ArgumentError(
            f"SciPy's {name} takes real numbers, but x0 is {x.aval}. Take the real and the "
            "imaginary part as unknowns."
        )
    wide = dtypes.allowed(dtypes.float64)
    dtype = x.dtype if dtypes.is_float(x.dtype) else wide
    return in_dtype(wide, x)[0], dtype


def in_dtype(dtype: dtypes.DType, *values: Array) -> list[Array]:
    """Convert results to a dtype."""
    return [x if x.dtype == dtype else x.astype(dtype) for x in values]


def for_scipy(fun: Callable[..., Any], consts: Sequence[Array]) -> Callable[..., Any]:
    """Make a function of vectors that SciPy calls, of a compiled one, with these constants."""

    def call(*xs: HostArray | Sequence[float]) -> Any:
        out = fun(*consts, *[np.asarray(x, float) for x in xs])
        return tuple(map(_own, out)) if type(out) is tuple else _own(out)

    return call


def _own(x: Any) -> Any:
    """Return data that SciPy may write to; a number of NumPy's for an array without axes."""
    host = opd.raw_host(x)
    return host.copy() if host.ndim else host[()]


def both_for_scipy(fun: Callable[..., Any], consts: Sequence[Array]) -> list[Callable[..., Any]]:
    """Make two functions of a vector of one that returns two values, and is called once for both.

    SciPy asks for both at each vector, and compares vectors in five times the time.
    """
    call, last = for_scipy(fun, consts), [b""]
    values: list[Any] = []

    def part(i: int, x: HostArray) -> Any:
        key = x.tobytes()
        if key != last[0]:
            last[0], values[:] = key, call(x)
        return values[i]

    return [partial(part, 0), partial(part, 1)]


@attrs.frozen
class Program:
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
def _compiled(program: Program, name: str) -> JitFunction[..., Any]:
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
) -> tuple[Array, Report]:
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
    of_count = dtypes.default_int()

    def searched(consts: Sequence[Array], start: HostArray) -> tuple[HostArray, Report]:
        try:
            x, found = search(consts, np.array(start, np.float64))
        except errors.TinyjaxError:
            raise
        except (TypeError, ValueError) as error:
            raise errors.ArgumentError(f"SciPy refuses what {name} was given: {error}") from error
        except ArithmeticError:  # as of an iteration that diverges
            x, found = np.full(space.size, np.nan), {"success": False}
        counts = [of_count.type(found.get(key) or 0) for key in Report._fields[1:]]
        return x.astype(space.dtype), Report(np.bool_(found["success"]), *counts)

    def run(start: HostArray, *consts: HostArray) -> tuple[HostArray, Report]:
        return searched([*map(opd.as_array, consts)], start)

    def find(consts: Sequence[Array], start: Array) -> tuple[Array, Any]:
        if tr.current_trace().evaluates:
            with tr.use_trace(tr.EVAL):
                x, report = searched(consts, start.concrete("data"))
                return ConcreteArray(x), Report(*[ConcreteArray(np.asarray(y)) for y in report])
        number = av.ShapeDtypeStruct((), of_count)
        declared = (
            av.ShapeDtypeStruct((space.size,), space.dtype),
            Report(av.ShapeDtypeStruct((), dtypes.bool_), *[number] * 4),
        )
        result: tuple[Array, Any] = pure_callback(
            run, declared, start, *consts, vmap_method="sequential"
        )
        return result

    return theorem.solve_implicitly(
        problem, find, "dense", equations, is_solved=lambda report: report.success
    )


def within_bounds(x: Array, slope: Array, low: Array, high: Array) -> Array:
    """Return what is zero at a minimum between bounds.

    It is the gradient; where this pushes an unknown to a bound, it is the distance to that.
    """
    pushed = x - slope
    at_ends = jnp.where(pushed <= low, x - low, x - high)
    return jnp.where((pushed > low) & (pushed < high), slope, at_ends)

"""Options of SciPy's functions, as their counterparts take them.

Options that are as by default, that change no value, or that say how a solution is searched for,
are left out: a counterpart computes derivatives itself, and what converges is the same.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from tinyjax import numpy as jnp
from tinyjax.core.api import jacfwd
from tinyjax.source.capturing import ndarrays, runs
from tinyjax.source.capturing.array_functions import parameters_by_name
from tinyjax.source.capturing.calls import call

#: Options that change no value where the counterpart has one.
_NEUTRAL: Final = frozenset({"allow_singular", "check_finite", "overwrite_a", "overwrite_b"})
#: Options by which a solution is searched for, unless they say that a function gives its slope.
_OF_SEARCH: Final = frozenset(
    {
        *("Dfun", "band", "col_deriv", "diag", "diff_step", "disp", "epsfcn", "fprime", "fprime2"),
        *("hess", "hessp", "jac", "jac_sparsity", "tr_options", "tr_solver", "verbose", "workers"),
    }
)
#: What options are that have a value by default.
_OF_DATA: Final = (bool, int, float, str, type(None))


def for_counterpart(g: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return the arguments of a function as its counterpart takes them.

    Args:
        g: a function of SciPy's.
        args: arguments by place. Those that stand behind one that is left out get their names.
        kwargs: arguments by name.
    """
    parameters = parameters_by_name(g).values()
    defaults = {x.name: x.default for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD}
    named = dict(zip(defaults, args, strict=False)) | kwargs
    module = getattr(g, "__module__", None) or ""
    neutral = _NEUTRAL
    if module.startswith("scipy.optimize"):
        named = _problem(named)
    if module.startswith(("scipy.optimize", "scipy.integrate")):
        neutral |= {name for name in _OF_SEARCH if named.get(name) is not True}
    options = {
        name: x
        for name, x in named.items()
        if name not in neutral and not _is_default(x, defaults.get(name, inspect.Parameter.empty))
    }
    by_place: list[Any] = []
    for name in [*defaults][: len(args)]:
        if name not in options:
            break
        by_place.append(options.pop(name))
    return (*by_place, *args[len(defaults) :]), options


def _is_default(x: Any, default: Any) -> bool:
    return type(x) is type(default) and type(x) in _OF_DATA and x == default


def _problem(named: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a solver, in the forms that are the most common."""
    named = dict(named)
    if "args" in named and type(named["args"]) is not tuple:
        named["args"] = (named["args"],)
    if named.get("kwargs"):
        named["fun"] = functools.partial(named["fun"], **named.pop("kwargs"))
    if named.get("jac") is True:
        named["fun"] = functools.partial(_first, named["fun"])
        del named["jac"]
    constraints = named.get("constraints")
    if isinstance(constraints, (dict, list, tuple)):
        several = [constraints] if isinstance(constraints, dict) else constraints
        named["constraints"] = [_constraint(x) if isinstance(x, dict) else x for x in several]
    return named


def _first(fun: Callable[..., Any], *args: Any) -> Any:
    """Return the value of a function that returns its slope, too."""
    return call(fun, *args)[0]


def _constraint(constraint: dict[str, Any]) -> dict[str, Any]:
    """Return a constraint of ``minimize`` with a function of traced values."""
    fun = ndarrays.functions[0](constraint["fun"])
    return {**{name: x for name, x in constraint.items() if name != "jac"}, "fun": fun}


class _Report(dict[str, Any]):
    """Refuses what a solver says of its search where a counterpart does not know it."""

    def __missing__(self, name: str) -> NoReturn:
        raise runs.refusal(f"{name!r} in what full_output gives")


def in_full(name: str, result: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a solver of SciPy's returns by ``full_output``, where it has converged.

    Args:
        name: of the solver.
        result: what its counterpart returned.
        args: the arguments of the counterpart by place.
        kwargs: those by name.
    """
    if name in ("quad", "odeint"):
        return (*(result if name == "quad" else (result,)), _Report())
    if name == "curve_fit":
        return (*result, _Report(), _CONVERGED, 1)
    x = result if name == "fsolve" else result[0]
    (further,) = args[2:3] or (kwargs.get("args", ()),)
    fun = functools.partial(_values, args[0], further)
    report = _Report(fvec=ndarrays.wrap(fun(x)))
    if name == "fsolve":
        return x, report, 1, _CONVERGED
    slopes = jacfwd(fun)(x)
    return x, jnp.linalg.inv(slopes.T @ slopes), report, _CONVERGED, 1


_CONVERGED: Final = "The solution converged."
#: Solvers that give more by ``full_output``.
IN_FULL: Final = frozenset({"curve_fit", "fsolve", "leastsq", "odeint", "quad"})


def _values(fun: Callable[..., Any], further: tuple[Any, ...], x: Any) -> Any:
    """Return the values at a solution of the function that was solved."""
    return ndarrays.functions[0](fun)(x, *ndarrays.unwrap(further))

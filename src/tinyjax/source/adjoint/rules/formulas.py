"""Rules that are formulas: those of operators, of ``math``, ``cmath`` and NumPy's ufuncs.

A formula is an expression for the cotangent of each argument. A pullback inlines it where it can.
Formulas are the mathematics of the primitives' declarations in terms of what Python and NumPy have.
They are written here and not derived: declarations compute with what XLA has, such as ``rsqrt`` and
``select``, and that of ``hypot`` takes 60 operations in place of the call of one function.
``tests/source/test_declared_derivatives.py`` compares the two, over the whole table and at edges.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.values import Array
from tinyjax.source.adjoint.cotangents import (
    has_own_operators,
    is_complex,
    reduce_to,
    require_data,
)
from tinyjax.source.adjoint.rules import registry
from tinyjax.source.ir import find, runtime


def formula(
    functions: registry.Function | Sequence[registry.Function],
    parameters: str,
    *formulas: str | None,
    scalar: bool = True,
) -> None:
    """Give functions their derivatives: an expression for each parameter, None for zero.

    Those of operators first try the rules that the operands define themselves.
    """
    names, operands = tuple(parameters.split()), ", ".join(parameters.split())
    parts = [
        "None" if f is None else f"reduce_to({f}, {n})" if len(names) > 1 else f
        for n, f in zip(names, formulas, strict=True)
    ]
    for fun in [functions] if callable(functions) else functions:
        overloaded = fun is abs or getattr(operator, fun.__name__, None) is fun
        definite = [i for i, f in enumerate(formulas) if f is not None and not overloaded]
        text = f"def {registry.adjoint_name(fun)}(ct, y, {operands}):\n"
        if overloaded:
            called = fun.__name__ if fun is abs else f"operator.{fun.__name__}"
            rule = f"registry.rule_adjoint(by_method)(ct, y, {called}, {operands})"
            text += f"    if is_overloaded({operands}):\n        return {rule}[1:]\n"
        elif len(names) > 1:
            text += f"    require_data({operands})\n"
        text += f"    return ({', '.join(parts)},)\n"
        _tables[fun] = text, names, formulas, scalar, overloaded, tuple(definite)


_tables: Final[dict[registry.Function, tuple[Any, ...]]] = {}


def by_method(fun: registry.Function, *operands: Any) -> Any:
    """Apply an operator to objects that have a method for it; its rule is in ``operators``."""
    return fun(*operands)


#: The types whose operators are known.
_NATIVE: Final = (int, float, complex, np.ndarray, list, tuple, dict, str, bytes, range)
_KNOWN: Final = frozenset((*_NATIVE, bool, type(None), np.float64))
_OWN: Final = (*_NATIVE, np.generic, Array, runtime.Box)


def is_overloaded(*operands: Any) -> bool:
    """Return whether an operator may be a method that is written in Python."""
    return not _KNOWN.issuperset(map(type, operands)) and any(map(is_foreign, operands))


def is_foreign(x: Any) -> bool:
    """Return whether an object is neither a number, nor an array, nor a container of Python's.

    Nor is an array or a number of a class with operators of its own.
    """
    kind = type(x)
    return kind not in _KNOWN and (not isinstance(x, _OWN) or has_own_operators(kind))


registry.inert.update((is_overloaded, is_foreign, require_data))

# Helpers of the formulas, for numbers and arrays of all kinds


def slope_of_abs(x: Any) -> Any:
    """Return the derivative of the absolute value: 0 at 0."""
    if isinstance(x, (int, float)):
        return math.copysign(1.0, x) if abs(x) > 0 else x * 0.0
    if isinstance(x, Array):
        return jnp.conj(jnp.sign(x))
    if is_complex(x):
        return np.conj(x) / np.where(np.equal(x, 0), 1.0, np.abs(x))
    return np.sign(x)


def slope_of_length(a: Any, b: Any, y: Any) -> Any:
    """Return the derivative of a length ``y`` in the first of its coordinates: 0 where it is 0."""
    if isinstance(y, (int, float)):
        if y == math.inf:
            return a / b if abs(b) == math.inf else math.copysign(1.0, a)
        return a / (y or 1.0)
    library: Any = jnp if isinstance(y, Array) else np
    slope = a / library.where(y == 0, 1.0, y)
    if library is np and not np.any(y == math.inf):
        return slope
    ahead, beside = np.abs(a) == math.inf, np.abs(b) == math.inf
    share_of_a = library.where(beside, library.where(ahead, math.nan, 0.0), 1.0)
    return library.where(y == math.inf, np.copysign(1.0, a) * share_of_a, slope)


def over_square(a: Any, b: Any) -> Any:
    """``a / (a * a + b * b)``, though the squares overflow or vanish; NaN at the origin."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        length = math.hypot(a, b)
        return a / length / length if length else math.nan
    square = a * a + b * b
    if isinstance(square, np.ndarray) and np.all((square > 1e-30) & (square < 1e30)):
        return a / square
    length = np.hypot(a, b)
    return a / length / length


def root_beside_one(x: Any) -> Any:
    """``sqrt(1 + x * x)``, though the square of a real number overflows."""
    square = x * x
    is_exact = is_complex(x) or (isinstance(square, np.ndarray) and np.all(square < math.inf))
    return np.sqrt(1 + square) if is_exact else np.hypot(1.0, x)


def slope_of_tanh(x: Any, y: Any) -> Any:
    """``1 - tanh(x) ** 2``, with its digits where the tangent ``y`` rounds to 1."""
    if isinstance(x, (int, float)):
        if -0.75 < y < 0.75:
            return 1 - y * y
        decay = math.exp(-2 * abs(x))
        return 4 * decay / ((1 + decay) * (1 + decay))
    if type(y) is np.ndarray and y.dtype.kind == "f":
        slope, is_far = 1 - y * y, np.abs(y) >= 0.75
        if np.any(is_far):
            slope[is_far] = sech_squared(np.asarray(x)[is_far])
        return slope
    return sech_squared(x)


def sech_squared(x: Any) -> Any:
    """``1 - tanh(x) ** 2`` of an array, by exponentials."""
    decay = np.exp(-2 * (np.where(np.real(x) < 0, -x, x) if is_complex(x) else np.abs(x)))
    return 4 * decay / ((1 + decay) * (1 + decay))


@registry.adjoint_of(slope_of_tanh)
def slope_of_tanh_adjoint(ct: Any, y: Any, x: Any, tangent: Any) -> Any:
    """Return the cotangents of the arguments of slope_of_tanh, which is one of the first."""
    return -2 * ct * y * tangent, None


def apart(a: Any, b: Any) -> Any:
    """``a - b``, and 0 for equal infinities."""
    library: Any = jnp if isinstance(a, Array) or isinstance(b, Array) else np
    equal = (a == b) & (np.abs(a) == math.inf)
    if library is np and not np.any(equal):
        return np.subtract(a, b)
    return library.where(equal, 0.0, a) - library.where(equal, 0.0, b)


def logistic(x: Any) -> Any:
    """``1 / (1 + exp(-x))``, without overflow."""
    library: Any = jnp if isinstance(x, Array) else np
    decay = np.exp(-np.abs(x))
    return library.where(x < 0, decay, 1.0) / (1 + decay)


@registry.adjoint_of(logistic)
def logistic_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """Return the cotangent of the argument of logistic."""
    return (ct * y * logistic(-x),)


def slope_of_copysign(x: Any, sign: Any) -> Any:
    """Return the derivative of ``copysign``: 1 where it leaves the sign, -1 where not, 0 at 0."""
    if isinstance(x, (int, float)) and isinstance(sign, (int, float)):
        return math.copysign(1.0, x) * math.copysign(1.0, sign) if x else 0.0
    return np.copysign(1.0, x) * np.copysign(1.0, sign) * np.not_equal(x, 0)


def share(y: Any, x: Any, other: Any) -> Any:
    """Return the derivative of max or min by its first operand: one half if the two tie."""
    if isinstance(y, (Array, np.ndarray)):
        where: Any = jnp.where if isinstance(y, Array) else np.where
        return where(y == x, where(y == other, 0.5, 1.0), 0.0)
    if y != x:
        return 0.0
    return 0.5 if y == other else 1.0


def exceeds(a: Any, b: Any) -> Any:
    """Return whether ``np.fmax`` takes its first operand; of two that tie it takes the second."""
    return np.greater(a, b) | np.isnan(b)


def falls_below(a: Any, b: Any) -> Any:
    """Return whether ``np.fmin`` takes its first operand."""
    return np.less(a, b) | np.isnan(b)


registry.inert.update((slope_of_copysign, share, exceeds, falls_below))
registry.slopes.update((slope_of_tanh, logistic, slope_of_copysign, exceeds, falls_below))


def exponent_slope(ct: Any, y: Any, x: Any, n: Any) -> Any:
    """Return the cotangent of a power's exponent: 0 if the base is 0, NaN if it is negative.

    A power of a negative base has no derivative in its exponent. An integer has no cotangent.
    """
    if isinstance(n, int):
        return None
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        if x < 0:
            return math.nan
        return ct * y * math.log(x or 1.0)
    if isinstance(x, Array) or isinstance(y, Array):
        return ct * y * jnp.log(jnp.where(x == 0, 1, x))
    if is_complex(y):
        base = np.where(np.equal(x, 0), 1.0, x)
        return ct * y * np.log(base if is_complex(x) else base + 0j)  # -0j is on a side of the cut
    slope = ct * y * np.log(np.where(np.less_equal(x, 0), 1.0, x))
    return np.where(np.less(x, 0), math.nan, slope)


def power_slope(x: Any, n: Any) -> Any:
    """``n * x ** (n - 1)``, and 0 where n is 0."""
    if isinstance(n, (int, float)):
        return 0.0 if n == 0 else n * x ** (n - 1)
    if isinstance(x, Array) or isinstance(n, Array):
        return n * jnp.where(n == 0, 1, x) ** jnp.where(n == 0, 1, n - 1)
    constant = np.equal(n, 0)
    if not np.any(constant):
        return n * x ** np.subtract(n, 1.0)
    return n * np.where(constant, 1.0, x) ** np.where(constant, 1.0, np.subtract(n, 1))


formula((operator.neg, np.negative), "x", "-ct")
formula((operator.pos, np.positive), "x", "ct")
formula((operator.sub, np.subtract), "x y_", "ct", "-ct")
formula((operator.truediv, np.divide), "x d", "ct / d", "-ct * y / d")
formula(
    (operator.pow, math.pow, np.power, np.float_power),
    "x n",
    "ct * power_slope(x, n)",
    "exponent_slope(ct, y, x, n)",
)
formula((abs, math.fabs, np.abs, np.fabs), "x", "ct * slope_of_abs(x)")
formula(operator.mod, "x d", "ct", "-ct * (x // d)")
formula(np.mod, "x d", "ct", "-ct * np.floor_divide(x, d)")
formula((math.fmod, math.remainder, np.fmod), "x d", "ct", "-ct * ((x - y) / d)")
formula(np.add, "x y_", "ct", "ct")
formula(np.multiply, "a b", "ct * b", "a * ct")
formula((math.copysign, np.copysign), "x s", "ct * slope_of_copysign(x, s)", None)
formula(np.hypot, "a b", "ct * slope_of_length(a, b, y)", "ct * slope_of_length(b, a, y)")
formula(math.ldexp, "x i", "ct * 2.0**i", None)
formula(np.ldexp, "x i", "np.ldexp(ct, i)", None)
formula(math.nextafter, "x y_", "ct", None)
formula((math.atan2, np.arctan2), "b a", "ct * over_square(a, b)", "-ct * over_square(b, a)")
formula((math.log1p, np.log1p), "x", "ct / (1 + x)")
formula(math.erf, "x", f"ct * {2 / math.sqrt(math.pi)!r} * math.exp(-x * x)")
formula(math.erfc, "x", f"-ct * {2 / math.sqrt(math.pi)!r} * math.exp(-x * x)")
for _home, _prefix, _root in (
    ("math", "a", "math.hypot(1.0, x)"),
    ("cmath", "a", "cmath.sqrt(1 + x * x)"),
    ("np", "arc", "root_beside_one(x)"),
):
    for _names, _formula in (
        ("sin", f"ct * {_home}.cos(x)"),
        ("cos", f"-ct * {_home}.sin(x)"),
        ("tan", "ct * (1 + y * y)"),
        ("sinh", f"ct * {_home}.cosh(x)"),
        ("cosh", f"ct * {_home}.sinh(x)"),
        ("tanh", "ct * slope_of_tanh(x, y)"),
        ("exp", "ct * y"),
        ("exp2", f"ct * y * {math.log(2)!r}"),
        ("expm1", f"ct * {_home}.exp(x)"),
        ("sqrt", "ct / (2 * y)"),
        ("cbrt", "ct / (3 * y * y)"),
        ("log2", f"ct / (x * {math.log(2)!r})"),
        ("log10", f"ct / (x * {math.log(10)!r})"),
        ("degrees", f"ct * {180 / math.pi!r}"),
        ("radians", f"ct * {math.pi / 180!r}"),
        (f"{_prefix}sin", f"ct / {_home}.sqrt((1 - x) * (1 + x))"),
        (f"{_prefix}cos", f"-ct / {_home}.sqrt((1 - x) * (1 + x))"),
        (f"{_prefix}tan", "ct / (1 + x * x)"),
        (f"{_prefix}sinh", f"ct / {_root}"),
        (f"{_prefix}cosh", f"ct / ({_home}.sqrt(x - 1) * {_home}.sqrt(x + 1))"),
        (f"{_prefix}tanh", "ct / ((1 - x) * (1 + x))"),
    ):
        if hasattr(globals()[_home], _names):
            if _home == "cmath":  # of a float, too
                _formula = f"reduce_to({_formula}, x)"
            formula(getattr(globals()[_home], _names), "x", _formula)
formula(np.rad2deg, "x", f"ct * {180 / math.pi!r}")
formula(np.deg2rad, "x", f"ct * {math.pi / 180!r}")
formula(np.log, "x", "ct / x")
formula(np.square, "x", "2 * ct * x")
formula(np.reciprocal, "x", "-ct * y * y")
formula(np.logaddexp, "a b", "ct * logistic(apart(a, b))", "ct * logistic(apart(b, a))")
formula(
    np.logaddexp2,
    "a b",
    f"ct * logistic({math.log(2)!r} * apart(a, b))",
    f"ct * logistic({math.log(2)!r} * apart(b, a))",
)
formula((np.maximum, np.minimum), "a b", "ct * share(y, a, b)", "ct * share(y, b, a)")
formula(np.fmax, "a b", "ct * exceeds(a, b)", "ct * (1 - exceeds(a, b))")
formula(np.fmin, "a b", "ct * falls_below(a, b)", "ct * (1 - falls_below(a, b))")
formula(np.where, "c a b", None, "np.where(c, ct, 0.0)", "np.where(c, 0.0, ct)", scalar=False)
formula(np.conj, "x", "np.conj(ct)")
find.run_text("rules", "".join([text for text, *_ in _tables.values()]), globals())
for _fun, (_, *_parts) in _tables.items():
    registry.rules[_fun] = registry.Rule(globals()[registry.adjoint_name(_fun)], *_parts)


@registry.adjoint_of(math.log, cmath.log, definite=(0,))
def log_adjoint(ct: Any, y: Any, x: Any, base: Any = None) -> Any:
    """Return the derivative of math.log and cmath.log."""
    if base is None:
        return reduce_to(ct / x, x), None
    scale = cmath.log(base) if is_complex(y) else math.log(base)
    return reduce_to(ct / (x * scale), x), reduce_to(-ct * y / (base * scale), base)


@registry.adjoint_of(builtins.pow)
def power_adjoint(ct: Any, y: Any, base: Any, exp: Any, mod: Any = None) -> Any:
    """Return the cotangents of the arguments of builtins.pow; with three, all are integers."""
    if mod is not None:
        return None, None, None
    of_exponent = reduce_to(exponent_slope(ct, y, base, exp), exp)
    return reduce_to(ct * power_slope(base, exp), base), of_exponent, None


@registry.adjoint_of(builtins.divmod, np.divmod)
def divmod_adjoint(ct: Any, y: Any, x: Any, d: Any) -> Any:
    """Return the derivative of builtins.divmod and np.divmod: the quotient is a whole number."""
    if ct[1] is None:
        return None, None
    return reduce_to(ct[1], x), reduce_to(-ct[1] * y[0], d)


@registry.adjoint_of(
    math.hypot,
    parameters=("a", "b"),
    formulas=("ct * slope_of_length(a, b, y)", "ct * slope_of_length(b, a, y)"),
    scalar=True,
)
def hypot_adjoint(ct: Any, y: Any, *coordinates: Any) -> Any:
    """Return the cotangents of the arguments of math.hypot."""
    return tuple(slopes_of_length(ct, y, coordinates))


def slopes_of_length(ct: Any, y: Any, coordinates: Any) -> Any:
    """Return the cotangents of the coordinates of a length."""
    count = sum([abs(x) == math.inf for x in coordinates])
    return [
        ct * slope_of_length(x, math.inf if count > (abs(x) == math.inf) else 0.0, y)
        for x in coordinates
    ]


@registry.adjoint_of(math.modf, np.modf)
def modf_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """Return the derivative of math.modf and np.modf."""
    return (ct[0],)


@registry.adjoint_of(math.frexp)
def frexp_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """Return the cotangents of the arguments of math.frexp."""
    return (None if ct[0] is None else ct[0] / 2.0 ** y[1],)


@registry.adjoint_of(math.fsum, definite=(0,))
def fsum_adjoint(ct: Any, y: Any, items: Any) -> Any:
    """Return the cotangents of the arguments of math.fsum."""
    return ([ct] * len(items),)


@registry.adjoint_of(math.prod, definite=(1,))
def prod_adjoint(ct: Any, y: Any, items: Any, start: Any = 1) -> Any:
    """Return the cotangents of the arguments of math.prod."""
    return (
        [ct * start * math.prod(items[:i]) * math.prod(items[i + 1 :]) for i in range(len(items))],
        ct * math.prod(items),
    )


@registry.adjoint_of(math.dist)
def dist_adjoint(ct: Any, y: Any, p: Any, q: Any) -> Any:
    """Return the cotangents of the arguments of math.dist."""
    slopes = slopes_of_length(ct, y, [a - b for a, b in zip(p, q, strict=True)])
    return slopes, [-part for part in slopes]


@registry.adjoint_of(complex, definite=(0, 1))
def complex_adjoint(ct: Any, y: Any, real: Any = 0.0, imag: Any = 0.0) -> Any:
    """Return the cotangents of the arguments of complex."""
    return reduce_to(ct, real), reduce_to(ct * 1j, imag)


def nested_like(ct: Any, x: Any) -> Any:
    """Return the cotangent of an array as that of the nested lists that it was made from."""
    if isinstance(x, (list, tuple)):
        parts = [nested_like(ct[i], x[i]) for i in range(len(x))]
        return parts if isinstance(x, list) else tuple(parts)
    return ct


@registry.adjoint_of(np.matmul, definite=(0, 1))
def matmul_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of the arguments of np.matmul, of arrays."""
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        parts = matmul_adjoint(ct, y, np.array(a), np.array(b))
        return nested_like(parts[0], a), nested_like(parts[1], b)
    require_data(a, b)
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return ct @ b.T, a.T @ ct
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return reduce_to(ct * b, a), reduce_to(a * ct, b)
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return ct * b, ct * a
    if np.ndim(a) == 1:
        wide = ct[..., None, :]
        return reduce_to((b @ ct[..., None])[..., 0], a), reduce_to(a[:, None] @ wide, b)
    if np.ndim(b) == 1:
        tall = ct[..., None]
        return reduce_to(tall * b, a), reduce_to((a.swapaxes(-1, -2) @ tall)[..., 0], b)
    return reduce_to(ct @ b.swapaxes(-1, -2), a), reduce_to(a.swapaxes(-1, -2) @ ct, b)


@registry.adjoint_of(np.dot, definite=(0, 1))
def np_dot_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of the arguments of np.dot."""
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        parts = np_dot_adjoint(ct, y, np.array(a), np.array(b))
        return nested_like(parts[0], a), nested_like(parts[1], b)
    require_data(a, b)
    if np.ndim(a) <= 2 and np.ndim(b) <= 2:
        return matmul_adjoint(ct, y, a, b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return reduce_to(ct * b, a), reduce_to(a * ct, b)
    before = [*range(np.ndim(a) - 1)]
    if np.ndim(b) == 1:
        return ct[..., None] * b, np.tensordot(a, ct, (before, before))
    last = [*range(np.ndim(a) - 1, np.ndim(ct))]
    others = [axis for axis in range(np.ndim(b)) if axis != np.ndim(b) - 2]
    of_b = np.tensordot(a, ct, (before, before))
    return np.tensordot(ct, b, (last, others)), np.moveaxis(of_b, 0, -2)


if TYPE_CHECKING:

    def __getattr__(name: str) -> registry.Function:
        """Return the adjoints that are generated here, for the texts that import them."""

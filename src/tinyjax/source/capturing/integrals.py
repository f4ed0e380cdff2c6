"""Integrals of functions that decide by their argument, as a curve of several pieces does.

Such a function has no program for all arguments. It is called with each point of Gauss and
Legendre's formulas, between the limits or halves of these. Where to halve is a decision. The
function may take none by traced values: where it jumps would move, and that has a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax.core.api import eval_shape
from tinyjax.source.capturing import ndarrays
from tinyjax.source.capturing.calls import call

#: Points and weights of the formula that counts, and of the one that it is compared with.
_FINE: Final = np.polynomial.legendre.leggauss(21)
_COARSE: Final = np.polynomial.legendre.leggauss(10)
_Piece = tuple[Any, Any, Any, Any]


def quad(
    func: Any,
    a: Any,
    b: Any,
    args: tuple[Any, ...] = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    **options: Any,
) -> Any:
    """Integrate as ``scipy.integrate.quad`` does; NotImplemented where it is not known how."""
    if full_output or options or np.isinf(a) or np.isinf(b):
        return NotImplemented
    arguments = args if type(args) is tuple else (args,)

    def of_program(x: Any) -> Any:
        return call(float, call(func, call(float, x), *arguments))

    def value_at(x: Any) -> Any:
        eval_shape(lambda: ndarrays.unwrap(of_program(x)))  # which takes no decisions
        return of_program(x)

    pieces = [_piece(value_at, a, b)]
    while len(pieces) < limit:
        value, error = sum(p[2] for p in pieces), sum(p[3] for p in pieces)
        if error <= epsabs or error <= epsrel * abs(value):
            return value, error
        worst = max(range(len(pieces)), key=lambda i: pieces[i][3])
        low, high, *_ = pieces.pop(worst)
        middle = (low + high) / 2
        pieces += [_piece(value_at, low, middle), _piece(value_at, middle, high)]
    return NotImplemented


def _piece(value_at: Callable[[Any], Any], low: Any, high: Any) -> _Piece:
    """Return the limits of a piece, the integral over it, and an estimate of its error."""
    middle, half = (low + high) / 2, (high - low) / 2
    values = [value_at(middle + half * float(x)) for x in _FINE[0]]
    value = half * sum(float(w) * v for w, v in zip(_FINE[1], values, strict=True))
    coarse = half * sum(
        float(w) * value_at(middle + half * float(x)) for x, w in zip(*_COARSE, strict=True)
    )
    mean = value / (high - low)
    spread = abs(half) * sum(
        float(w) * abs(v - mean) for w, v in zip(_FINE[1], values, strict=True)
    )
    error = abs(value - coarse)
    return (
        low,
        high,
        value,
        spread * (200 * error / spread) ** 1.5 if spread > 200 * error else error,
    )

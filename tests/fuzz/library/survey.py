"""Many calls of many functions."""

from collections.abc import Sequence
from typing import Final

from fuzz.forgetting import forget_sometimes
from fuzz.library.derivatives import check_derivatives
from fuzz.library.signatures import draw_call
from tinyjax.testing.libraries.check import Mismatch, check_call
from tinyjax.testing.libraries.drawing import Draw
from tinyjax.testing.libraries.drawn_calls import Library
from tinyjax.testing.libraries.signatures import PublicFunction

#: Names of dtypes that the reference has only where its defaults are 64 bits wide.
ONLY_WIDE: Final = frozenset(
    f"numpy.{name}"
    for name in ("cdouble", "complex128", "double", "float64", "int64", "longlong", "uint64")
)


def plan(
    functions: Sequence[PublicFunction], calls: int, seed: str
) -> list[tuple[PublicFunction, str]]:
    """Share calls out among functions, more to those with more parameters; at least one to each."""
    weights = [3 + len(function.parameters) for function in functions]
    return [
        (function, f"{seed}/{function.path}/{turn}")
        for function, weight in zip(functions, weights, strict=True)
        for turn in range(max(1, round(calls * weight / sum(weights))))
    ]


def compare(
    function: PublicFunction, seed: str, library: Library, reference: Library
) -> list[Mismatch]:
    """Draw a call by a seed, and compare it."""
    forget_sometimes()
    mode = Draw(f"{seed}/mode")
    is_wide = mode.chance(0.75) or function.path in ONLY_WIDE
    draw = Draw(seed, wide=is_wide, smooth=mode.chance(0.3))
    call = draw_call(function, draw)
    mismatches = check_call(call, library, reference)
    if not mismatches and call.smooth:
        mismatches = check_derivatives(call, library, reference)
    return mismatches

"""Loops whose iterations do not depend on each other, as operations on whole arrays.

A compiled loop takes some nanoseconds for each number, and multiplies vectors where matrices would
be faster. If each iteration reads and writes only its own part of the arrays that the loop changes,
all iterations become one program of arrays with one more axis, as by ``vmap``. In other loops, the
products that depend on no other iteration become products of matrices before the loop. These are
the vectorization and the distribution of Allen and Kennedy, "Automatic Translation of FORTRAN
Programs to Vector Form", 1987.

An iteration has a part of its own if every index along one axis is the counter plus one constant,
as in ``a[:, i + 1]``. Other patterns are not recognized.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tinyjax._base.frames import Location
from tinyjax.config import settings
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands
from tinyjax.core.control_flow.primitives import ScanParams
from tinyjax.core.control_flow.scan import bind_scan
from tinyjax.core.values import Array
from tinyjax.source.vectorization.distribution import distributed
from tinyjax.source.vectorization.independence import IndependentIterations, independent
from tinyjax.source.vectorization.loops import CountedLoop, Obstacle


def run(
    loop: CountedLoop, place: Callable[[], Location]
) -> tuple[Sequence[Array], Sequence[Array]]:
    """Run a loop; where it is faster, all iterations at once.

    With the setting ``explain`` the logger ``tinyjax`` says whether they are, and why not.

    Args:
        loop: the loop.
        place: returns where it is, for the logger.

    Returns:
        The last carry, and the other results of iterations, stacked along a first axis.
    """
    at_once, whole = independent(loop), loop
    if isinstance(at_once, Obstacle):
        loop = distributed(whole)
        at_once = at_once if loop is whole else independent(loop)
    if settings().explain:
        _log(f"the loop in {place()}", at_once, loop is not whole)
    if not isinstance(at_once, Obstacle):
        return at_once.run()
    operands = LoopOperands[Array]((), loop.state, loop.rows)
    body = LoopBody.closing_over(loop.body, operands)
    params = ScanParams(body.jaxpr, len(loop.body.consts), len(loop.state), loop.length)
    results = bind_scan(body, operands, params)
    return results.carry, results.ys


def _log(name: str, result: IndependentIterations | Obstacle, is_distributed: bool) -> None:
    """Tell the logger ``tinyjax`` whether a loop is one of arrays, and why if not."""
    made = "its products and sums are made before it; " if is_distributed else ""
    reason = result.value if isinstance(result, Obstacle) else "its iterations are made at once"
    logging.getLogger("tinyjax").warning(f"{name}: {made}{reason}")

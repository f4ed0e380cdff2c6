"""Sums of which each device keeps its part, because their results are to be ``unreduced``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import attrs

from tinyjax.core.primitives import broadcast as bc
from tinyjax.core.values.avals import ShapedArray
from tinyjax.parallel import types as ty
from tinyjax.primitives.dot import DotParams
from tinyjax.records import field_names

#: The axes of the mesh over which sums are not completed here.
_unreduced: Final[ContextVar[frozenset[str]]] = ContextVar("tinyjax_unreduced", default=frozenset())


@contextmanager
def keeping_sums(names: frozenset[str]) -> Iterator[None]:
    """Leave to each device, within a block, its part of sums over axes of the mesh."""
    token = _unreduced.set(names)
    try:
        yield
    finally:
        _unreduced.reset(token)


@attrs.frozen(eq=False, repr=False)
class PartialReduceParams(bc.ReduceParams):
    """The parameters of a sum that devices do not complete.

    Attributes:
        unreduced: the axes of the mesh over which what is summed is divided.
    """

    unreduced: tuple[str, ...]


@attrs.frozen(cache_hash=True, repr=False)
class PartialDotParams(DotParams):
    """The parameters of a product where devices do not add the products that they have parts of.

    Attributes:
        unreduced: the axes of the mesh over which the contracted axes are divided.
    """

    unreduced: tuple[str, ...]


def of_sum(params: Any, avals: Sequence[ShapedArray]) -> Any:
    """Return parameters of a sum or of a product, by which it keeps parts, where that is wanted.

    Args:
        params: its parameters.
        avals: the types of the operands.
    """
    names = _unreduced.get()
    if not names:
        return params
    kind: type[Any] = PartialDotParams
    if isinstance(params, bc.ReduceParams):
        kind, (aval,) = PartialReduceParams, avals
        if not names <= {name for axis in params.axes for name in ty.entries(aval)[axis]}:
            return params
    fields = {name: getattr(params, name) for name in field_names(kind) if name != "unreduced"}
    return kind(**fields, unreduced=tuple(sorted(names)))

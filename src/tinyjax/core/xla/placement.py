"""On which devices a program runs, and how its arguments and results lie there."""

from __future__ import annotations

import attrs

from tinyjax.core.devices import Sharding
from tinyjax.records import Printed, Record


@attrs.frozen(eq=False, repr=False)
class Written(Record):
    """How shardings of a program were written: ``P("x", None)`` means what ``P("x")`` does.

    Attributes:
        outs: how each result was said to lie; None where it was not.
        first: how the first argument lies that lies on devices; None where none does.
        ndim: how many axes it has.
    """

    outs: tuple[Sharding | None, ...]
    first: Sharding | None = None
    ndim: int = 0


@attrs.frozen(cache_hash=True, repr=False)
class Placement(Printed):
    """How the arguments and the results of a program lie on devices.

    Attributes:
        ids: the numbers of the devices, in the order of the mesh.
        ins: how each parameter lies.
        outs: how each result is to lie; None leaves that to XLA.
        is_abstract: whether the mesh has no devices, so that the program is not run.
        whole: how a result lies that is not divided, where neither arguments nor results tell.
        written: how these were written, on which no compiled program depends.
    """

    ids: tuple[int, ...]
    ins: tuple[Sharding, ...]
    outs: tuple[Sharding | None, ...]
    is_abstract: bool = False
    whole: Sharding | None = attrs.field(default=None, eq=False)
    written: Written | None = attrs.field(default=None, eq=False)

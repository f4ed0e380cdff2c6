"""The cheapest values from which a backward pass can recompute all that it reads.

Recomputing a value needs its operands, or values that these are computed from, back to values that
must not be recomputed. A cut is a set of values with one on every path from the latter to the
values that the backward pass reads. A cut of the fewest bytes is the dual of a maximal flow
(L. R. Ford and D. R. Fulkerson, "Maximal flow through a network", Canadian Journal of Mathematics
8, 1956), found here along shortest paths. PyTorch chooses residuals by such a cut, too
(``min_cut_rematerialization_partition``).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from math import inf
from typing import Any, Final

import attrs

from tinyjax._extensions.checkpointing import policies, transformation
from tinyjax.core.tracing import jaxpr as jx, primitive as prim

#: A place in the network: a value as it is computed (False) and as it is read (True).
_Place = tuple[jx.Var | None, bool]
_SOURCE: Final[_Place] = (None, False)
_SINK: Final[_Place] = (None, True)
_Capacities = defaultdict[_Place, defaultdict[_Place, float]]


def cut(jaxpr: jx.Jaxpr, outs: Iterable[jx.Var]) -> frozenset[jx.Var]:
    """Find the values of fewest bytes from which others can be computed again.

    Args:
        jaxpr: the program.
        outs: the values that are read later. Where values are equally good, those nearest to these
            are chosen, from which there is the least to compute.

    Returns:
        Values, some of which may be parameters. No operation that ``materializes`` is between them
        and ``outs``.
    """
    capacities: _Capacities = defaultdict(lambda: defaultdict(float))
    origin = {v: eqn for eqn in jaxpr.eqns for v in eqn.out_binders}
    waiting, seen = [*outs], set(outs)
    for var in seen:
        capacities[var, True][_SINK] = inf
    while waiting:
        var = waiting.pop()
        capacities[var, False][var, True] = float(var.aval.nbytes)
        eqn = origin.get(var)
        if eqn is None or transformation.materializes_eqn(eqn) or jx.effects_of(eqn).any:
            capacities[_SOURCE][var, False] = inf
            continue
        for x in eqn.inputs:
            if isinstance(x, jx.Var):
                capacities[x, True][var, False] = inf
                if x not in seen:
                    seen.add(x)
                    waiting.append(x)
    while path := _path(capacities):
        least = min(capacities[a][b] for a, b in path)
        for a, b in path:
            capacities[a][b] -= least
            capacities[b][a] += least
    beyond = _reaching_sink(capacities)
    return frozenset(v for v in seen if (v, True) in beyond and (v, False) not in beyond)


def _path(capacities: _Capacities) -> list[tuple[_Place, _Place]]:
    """Return a shortest augmenting path of the flow; empty where there is none."""
    before: dict[_Place, _Place] = {_SOURCE: _SOURCE}
    queue = deque((_SOURCE,))
    while queue:
        place = queue.popleft()
        if place == _SINK:
            path = []
            while place != _SOURCE:
                path.append((before[place], place))
                place = before[place]
            return path
        for following, capacity in capacities[place].items():
            if capacity > 0 and following not in before:
                before[following] = place
                queue.append(following)
    return []


def _reaching_sink(capacities: _Capacities) -> set[_Place]:
    """Return the places from which more could flow to the sink."""
    predecessors: defaultdict[_Place, list[_Place]] = defaultdict(list)
    for place, following in capacities.items():
        for other, capacity in following.items():
            if capacity > 0:
                predecessors[other].append(place)
    reached, waiting = {_SINK}, [_SINK]
    while waiting:
        for place in predecessors[waiting.pop()]:
            if place not in reached:
                reached.add(place)
                waiting.append(place)
    return reached


@attrs.frozen(repr=False)
class KeepCut(policies.WholePolicy):
    """Keep a minimal cut, so that nothing that is worth keeping is computed again."""

    def __call__(self, primitive: prim.Primitive[Any], *avals: Any, **params: Any) -> bool:
        return False

    def saved(self, jaxpr: jx.Jaxpr, outs: Iterable[jx.Var]) -> frozenset[jx.Var]:
        return cut(jaxpr, outs)

    def __repr__(self) -> str:
        return "a minimal cut"

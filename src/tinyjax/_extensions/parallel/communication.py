"""XLA's text of a compiled program: its computations, and the collectives between devices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from tinyjax._base import records
from tinyjax._extensions.parallel.named_sharding import NamedSharding
from tinyjax._extensions.parallel.placement import Placement

# XLA's text of a compiled program: its computations, and which of them an instruction runs.


_HEADING: Final = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_CALLS: Final = re.compile(
    r"\b(?:calls|body|condition|to_apply|true_computation|false_computation)=%?([\w.\-]+)"
    r"|\bbranch_computations=\{([^}]*)\}"
)


@attrs.frozen(eq=False, repr=False)
class HloComputation(records.Record):
    """A computation of a module.

    Attributes:
        name: its name.
        heading: its first line, without the brace.
        is_entry: whether it is the program.
        instructions: its lines.
    """

    name: str
    heading: str
    is_entry: bool
    instructions: list[str] = attrs.field(factory=list)


def computations_of(hlo: str) -> list[HloComputation]:
    """Read the computations of a module, in the order of its text."""
    computations: list[HloComputation] = []
    for line in hlo.splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            computations.append(
                HloComputation(heading[2], line.removesuffix(" {"), heading[1] is not None)
            )
        elif line.startswith("  ") and computations:
            computations[-1].instructions.append(line.strip())
    return computations


def called_by(instruction: str) -> list[str]:
    """Return the names of the computations that an instruction runs."""
    return [
        name.strip().lstrip("%")
        for one, several in _CALLS.findall(instruction)
        for name in (one or several).split(",")
    ]


# What the devices of a compiled program tell each other, read from XLA's text of it.


#: Devices in the order of the mesh, one group in each row.
Groups = NDArray[np.int64]


@attrs.frozen(eq=False, repr=False)
class Collective(records.Record):
    """A collective: an operation by which devices communicate.

    Attributes:
        kind: ``"all-reduce"``, ``"all-gather"``, ``"reduce-scatter"``, ``"all-to-all"``,
            ``"collective-permute"`` or ``"collective-broadcast"``.
        bytes: the size of each device's operand.
        group_size: the number of devices in a group; of a ``collective-permute``, those that send.
        groups: the number of groups.
        axes: the axes of the mesh; None where no axes express it.
        count: the number of times that it runs in a call of the program.

    Example:
        >>> from tinyjax.stages import Collective
        >>> gradients = Collective("all-reduce", 4000, group_size=4, groups=1, axes=("x",), count=1)
        >>> gradients.bytes_sent
        6000
    """

    kind: str
    bytes: int
    group_size: int
    groups: int
    axes: tuple[str, ...] | None
    count: int

    @property
    def bytes_sent(self) -> int:
        """The bytes that each device sends each time, if each sends to its neighbour in a ring.

        No algorithm sends less (Patarasuk and Yuan, 2009).
        """
        n = self.group_size
        match self.kind:
            case "all-reduce":
                return 2 * self.bytes * (n - 1) // n
            case "all-gather":
                return self.bytes * (n - 1)
            case "reduce-scatter" | "all-to-all":
                return self.bytes * (n - 1) // n
            case _:
                return self.bytes


@attrs.frozen(eq=False, repr=False)
class Communication(records.Record):
    """The communication between the devices of a program, and the memory of each device.

    Attributes:
        collectives: in the order of the program.
        is_exact: whether the number of times of each is known. Otherwise there is a loop whose
            length depends on the data, and collectives in it are counted once.
        memory: the bytes that each device needs for arguments, results and temporary values.

    Example:
        >>> from tinyjax.stages import Collective, Communication
        >>> sums = Collective("all-reduce", 4000, group_size=4, groups=1, axes=("x",), count=10)
        >>> Communication((sums,), is_exact=True, memory=8000).counts
        {'all-reduce': 10}
    """

    collectives: tuple[Collective, ...]
    is_exact: bool
    memory: int

    @property
    def bytes_sent(self) -> int:
        """The bytes that each device sends in a call."""
        return sum([c.count * c.bytes_sent for c in self.collectives])

    @property
    def counts(self) -> dict[str, int]:
        """The number of collectives of each kind in a call."""
        result: dict[str, int] = {}
        for c in self.collectives:
            result[c.kind] = result.get(c.kind, 0) + c.count
        return result


#: What XLA calls operations for which devices wait for each other.
COLLECTIVES: Final[tuple[str, ...]] = (
    *("all-reduce", "all-gather", "reduce-scatter", "all-to-all"),
    *("collective-permute", "collective-broadcast"),
)
_COLLECTIVE: Final = re.compile(rf"= (.*?) ({'|'.join(COLLECTIVES)})\(")
_TYPE: Final = re.compile(r"\b([a-z]+\d*\w*)\[([\d,]*)\]")
_LISTED: Final = re.compile(r"replica_groups=\{(\{[\d,{}]*\})\}")
_COUNTED: Final = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_NAMED: Final = re.compile(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}")
_AXIS: Final = re.compile(r"'([^']+)'=(\d+)")
#: A name of an axis; of a part of one, the size of what is above it, and its own.
_PART: Final = re.compile(r"'([^']+)'(?::\((\d+)\)(\d+))?")
_PAIRS: Final = re.compile(r"source_target_pairs=\{(\{[\d,{}]*\})\}")
_TRIPS: Final = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_BITS: Final = re.compile(r"\d+")


def collectives_of(hlo: str, mesh: Mapping[str, int]) -> tuple[tuple[Collective, ...], bool]:
    """Read the collectives in XLA's text of a program.

    Args:
        hlo: the text.
        mesh: the axes of the mesh and their sizes.

    Returns:
        The collectives, and whether it is known how often each is done.
    """
    computations = computations_of(hlo)
    bodies = {x.name: x.instructions for x in computations}
    devices = prod(mesh.values())
    collectives: list[Collective] = []
    exact = True

    def walk(name: str, times: int) -> None:
        nonlocal exact
        for line in bodies.get(name, ()):
            match = _COLLECTIVE.search(line)
            if match:
                collectives.append(_collective(line, match, mesh, devices, times))
                continue
            again = 1
            if " while(" in line:
                trips = _TRIPS.search(line)
                again = int(trips[1]) if trips else 1
                exact = exact and trips is not None
            for called in called_by(line):
                walk(called, times * again)

    for x in computations:
        if x.is_entry:
            walk(x.name, 1)
    return tuple(collectives), exact


def _collective(
    line: str, match: re.Match[str], mesh: Mapping[str, int], devices: int, times: int
) -> Collective:
    kind, size = match[2], sum(map(_bytes, _TYPE.findall(match[1])))
    pairs = _PAIRS.search(line)
    if pairs:
        sent = _listed(pairs[1])
        return Collective(kind, size, len(sent), 1, _axes_of_pairs(sent, mesh), times)
    groups = _groups(line, devices)
    count, n = groups.shape
    size = size // n if kind == "all-gather" else size * n if kind == "reduce-scatter" else size
    return Collective(kind, size, n, count, _axes_of_groups(groups, mesh), times)


def _bytes(tensor: tuple[str, str]) -> int:
    dtype, shape = tensor
    elements = prod([int(n) for n in shape.split(",") if n])
    bits = _BITS.search(dtype)
    return elements * max(1, int(bits[0]) if bits else 8) // 8 if dtype != "pred" else elements


def _listed(text: str) -> Groups:
    rows = [[int(n) for n in row.split(",")] for row in text.strip("{}").split("},{")]
    return np.array(rows, np.int64)


def _ints(text: str) -> tuple[int, ...]:
    return tuple([int(n) for n in text.split(",")])


def _groups(line: str, devices: int) -> Groups:
    listed = _LISTED.search(line)
    if listed:
        return _listed(listed[1])
    named = _NAMED.search(line)
    if named:
        return _of_axes(
            {name: int(n) for name, n in _AXIS.findall(named[1])}, _PART.findall(named[2])
        )
    counted = _COUNTED.search(line)
    if counted is None:
        return np.arange(devices, dtype=np.int64)[None]
    numbers = np.arange(prod(_ints(counted[2])), dtype=np.int64).reshape(_ints(counted[2]))
    order = _ints(counted[3]) if counted[3] else tuple(range(numbers.ndim))
    return numbers.transpose(order).reshape(_ints(counted[1]))


def _of_axes(sizes: Mapping[str, int], parts: Sequence[tuple[str, str, str]]) -> Groups:
    """Return the groups of devices that differ along axes of a mesh, or along parts of axes."""
    shape: list[int] = []
    chosen: list[int] = []
    for name, size in sizes.items():
        done = 1
        own = sorted((int(above or 1), int(n or size)) for axis, above, n in parts if axis == name)
        for above, n in own:
            shape += [above // done, n]
            chosen.append(len(shape) - 1)
            done = above * n
        shape.append(size // done)
    rest = [i for i in range(len(shape)) if i not in chosen]
    numbers = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    return numbers.transpose([*rest, *chosen]).reshape(-1, prod([shape[i] for i in chosen]))


def _axes_of_groups(groups: Groups, mesh: Mapping[str, int]) -> tuple[str, ...] | None:
    """Return the axes of the mesh along which the devices of each group differ, if complete."""
    target = _as_set(groups)
    names, grid = [*mesh], np.arange(prod(mesh.values())).reshape(tuple(mesh.values()))
    for count in range(len(names) + 1):
        for chosen in combinations(range(len(names)), count):
            rest = [i for i in range(len(names)) if i not in chosen]
            size = prod([grid.shape[i] for i in chosen])
            if _as_set(grid.transpose([*rest, *chosen]).reshape(-1, size)) == target:
                return tuple([names[i] for i in chosen])
    return None


def _as_set(groups: Groups) -> set[tuple[int, ...]]:
    return {tuple(sorted(row)) for row in groups.tolist()}


def _axes_of_pairs(pairs: Groups, mesh: Mapping[str, int]) -> tuple[str, ...]:
    places: Sequence[Groups] = np.unravel_index(pairs, tuple(mesh.values()))
    differs = [bool((x[:, 0] != x[:, 1]).any()) for x in places]
    return tuple([name for name, moves in zip(mesh, differs, strict=True) if moves])


def communication_of(text: str, placement: Placement | None, memory: Any) -> Communication:
    """Return the communication between the devices of a compiled program.

    Args:
        text: the program, as XLA prints it.
        placement: where it runs; None for the first device.
        memory: XLA's account of its memory.
    """
    shardings = () if placement is None else (*placement.ins, *placement.outs)
    meshes = [x.mesh.shape for x in shardings if isinstance(x, NamedSharding)]
    count = 1 if placement is None else len(placement.ids)
    mesh: Mapping[str, int] = meshes[0] if meshes else {"devices": count}
    collectives, exact = collectives_of(text, mesh)
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes
    held += memory.temp_size_in_bytes - memory.alias_size_in_bytes
    return Communication(collectives, exact, held)

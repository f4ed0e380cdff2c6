"""The parts of arrays that the iterations of a loop read and write, also in loops inside.

A read and a write are within the same part if their indices along an axis are the counter plus one
constant, as in ``a[:, i + 1]``. If all reads and writes of an array are within one part, the
program can take this part in place of the array.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from typing import Any

import attrs
import numpy as np

from tinyjax import dtypes, lax
from tinyjax._primitives.dynamic_slice import DynamicSliceParams, dynamic_update_slice_p
from tinyjax._primitives.gather_scatter import ScatterParams, scatter_p
from tinyjax._primitives.wrap_index import WrapIndexParams
from tinyjax.core.control_flow.primitives import ScanParams
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import Array


@attrs.frozen(eq=False)
class Access:
    """A read of a part of an array, or a write to it.

    Attributes:
        array: the array.
        starts: where the part begins along each axis.
        sizes: how long it is along each.
        value: what is written; None for a read.
    """

    array: jx.Atom
    starts: tuple[jx.Atom | int, ...]
    sizes: tuple[int, ...]
    value: jx.Atom | None = None


@attrs.frozen
class OwnPart:
    """The part of an array that is an iteration's own: one element long along an axis.

    Attributes:
        axis: the axis.
        offset: its index along the axis in the first iteration.
    """

    axis: int
    offset: int

    def variable(self, x: jx.Atom) -> jx.Var:
        """Return a variable for the part of an array."""
        shape = x.aval.shape
        return jx.Var(x.aval.with_shape((*shape[: self.axis], 1, *shape[self.axis + 1 :])))

    def all_of(self, x: Array, length: int, starts: Sequence[Array | int] = ()) -> Array:
        """Return the parts of all iterations, along an axis of their own."""
        parts = slicing.slice_in_dim(x, self.offset, self.offset + length, 1, self.axis)
        return sh.expand_dims(parts, (self.axis + 1,))

    def updated(self, x: Array, parts: Array, length: int, starts: Sequence[Array | int]) -> Array:
        """Return an array with other parts in all iterations."""
        new = sh.squeeze(parts, (self.axis + 1,))
        if new.shape == x.shape:
            return new
        at = [self.offset if axis == self.axis else 0 for axis in range(x.ndim)]
        return lax.dynamic_update_slice(x, new, at)


@attrs.frozen(eq=False)
class OwnWindow:
    """A window of a part, which has the same place in each iteration.

    Attributes:
        part: the part.
        starts: where the window begins along each axis other than the part's.
        sizes: its lengths along each axis.
    """

    part: OwnPart
    starts: tuple[jx.Atom | int, ...]
    sizes: tuple[int, ...]

    @property
    def axis(self) -> int:
        """The axis along which iterations have their parts."""
        return self.part.axis

    @property
    def others(self) -> list[jx.Atom | int]:
        """The starts of the window along all axes, zero along the part's."""
        return [0 if i == self.axis else start for i, start in enumerate(self.starts)]

    def variable(self, x: jx.Atom) -> jx.Var:
        """Return a variable for the elements of an array."""
        return jx.Var(x.aval.with_shape(self.sizes))

    def all_of(self, x: Array, length: int, starts: Sequence[Array | int]) -> Array:
        """Return the elements of all iterations, along an axis of their own."""
        axis = self.axis
        at = [self.part.offset if i == axis else start for i, start in enumerate(starts)]
        sizes = (*self.sizes[:axis], length, *self.sizes[axis + 1 :])
        return sh.expand_dims(
            lax.dynamic_slice(x, at, sizes, allow_negative_indices=False), (axis + 1,)
        )

    def updated(
        self, x: Array, elements: Array, length: int, starts: Sequence[Array | int]
    ) -> Array:
        """Return an array with other elements in all iterations; none outside of the array."""
        axis = self.axis
        index: list[Any] = []
        axes: list[int] = []
        for i, (start, size) in enumerate(zip(starts, self.sizes, strict=True)):
            if i == axis:
                index.append(slice(self.part.offset, self.part.offset + length))
            elif size == x.shape[i]:
                index.append(slice(None))
            else:
                index.append(start)
                continue
            axes.append(i)
        new = sh.squeeze(elements, (axis + 1,))
        new = new.reshape([new.shape[i] for i in axes])
        updated: Array = x.at[tuple(index)].set(new, mode="drop", wrap_negative_indices=False)
        return updated


class Indices:
    """The indices in a program, as a loop's counter plus constants.

    Args:
        program: the program.
        length: the number of iterations of the loop.
        ahead: for parameters that are the counter plus a constant, the constant.
    """

    def __init__(self, program: jx.Jaxpr, length: int, ahead: Mapping[jx.Var, int]) -> None:
        self.program = program
        self.length = length
        self.definitions: dict[jx.Atom, jx.JaxprEqn] = {
            var: eqn for eqn in program.eqns for var in eqn.out_binders
        }
        self._offsets: dict[jx.Atom, int | None] = dict(ahead.items())
        self._names: dict[jx.Atom | int, Hashable] = {}

    def offset(self, x: jx.Atom | int) -> int | None:
        """Return an integer minus the counter; None if that may differ between iterations."""
        if isinstance(x, int):
            return None
        if x not in self._offsets:
            self._offsets[x] = self._offset(x)
        return self._offsets[x]

    def _offset(self, x: jx.Atom) -> int | None:
        eqn = self.definitions.get(x)
        if eqn is None or len(eqn.out_binders) != 1 or x.aval.shape:
            return None
        ahead, numbers = [self.offset(y) for y in eqn.inputs], [_number(y) for y in eqn.inputs]
        match eqn.primitive, eqn.params, ahead, numbers:
            case ew.add, _, [int(n), None], [None, int(by)]:
                return n + by
            case ew.add, _, [None, int(n)], [int(by), None]:
                return n + by
            case ew.sub, _, [int(n), None], [None, int(by)]:
                return n - by
            case ew.convert_element_type_p, _, [int(n)], _:
                return n if dtypes.is_integer(x.aval.dtype) else None
            case _, WrapIndexParams(size), [int(n)], _:
                return n if 0 <= n <= size - self.length else None
            case _:
                return None

    def access(self, eqn: jx.JaxprEqn) -> Access | None:
        """Return the read or write of an array that an equation is; None for other equations."""
        match eqn.primitive, eqn.params:
            case _, DynamicSliceParams(sizes):
                return Access(eqn.inputs[0], eqn.inputs[1:], sizes)
            case _, ScatterParams() as params if eqn.primitive is scatter_p:
                return self._of_scatter(eqn.inputs, params)
            case _ if eqn.primitive is dynamic_update_slice_p:
                array, value, *starts = eqn.inputs
                return Access(array, tuple(starts), value.aval.shape, value)
            case _:
                return None

    def _of_scatter(self, inputs: Sequence[jx.Atom], params: ScatterParams) -> Access | None:
        """Return the write of one window; None where it is another scatter."""
        array, indices, value = inputs
        numbers, starts = params.dimension_numbers, self._entries(indices)
        if starts is None or numbers.operand_batching_dims:
            return None
        lengths = iter(value.aval.shape)
        axes = range(array.aval.ndim)
        sizes = tuple([1 if i in numbers.inserted_window_dims else next(lengths) for i in axes])
        places = dict(zip(numbers.scatter_dims_to_operand_dims, starts, strict=True))
        return Access(array, tuple([places.get(axis, 0) for axis in axes]), sizes, value)

    def _entries(self, vector: jx.Atom) -> Sequence[jx.Atom] | None:
        """Return the numbers that an index vector is concatenated from."""
        if vector.aval.ndim != 1:
            return None
        if isinstance(vector, jx.Lit):
            aval = vector.aval.with_shape(())
            return [jx.splat_literal(int(n), aval) for n in np.asarray(vector.value)]
        eqn = self.definitions.get(vector)
        if eqn is None:
            return None
        if isinstance(eqn.params, sh.ReshapeParams) and not eqn.inputs[0].aval.shape:
            return eqn.inputs
        if eqn.primitive is not slicing.concatenate_p:
            return None
        entries = [self._entries(x) for x in eqn.inputs]
        return None if None in entries else [x for part in entries for x in part or ()]

    def parts(self, access: Access) -> set[OwnPart]:
        """Return the parts, by their axes, that an access stays within."""
        pairs = zip(access.starts, access.sizes, access.array.aval.shape, strict=True)
        ways = [(self.offset(start), size, n) for start, size, n in pairs]
        return {
            OwnPart(axis, ahead)
            for axis, (ahead, size, n) in enumerate(ways)
            if ahead is not None and size == 1 and 0 <= ahead <= n - self.length
        }

    def name(self, x: jx.Atom | int) -> Hashable:
        """Return a key that equal integers share, as far as the equations tell."""
        number = x if isinstance(x, int) else _number(x)
        if number is not None:
            return number
        if isinstance(x, jx.Var) and x not in self._names:
            eqn = self.definitions.get(x)
            is_plain = eqn is not None and eqn.primitive.repeatable and not x.aval.shape
            named: Hashable = x
            if eqn is not None and is_plain and all(not y.aval.shape for y in eqn.inputs):
                named = eqn.primitive, eqn.params, tuple(map(self.name, eqn.inputs))
            self._names[x] = named
        return self._names.get(x, x)

    def inside(self, eqn: jx.JaxprEqn) -> Indices | None:
        """Return the indices in the body, if an equation is a loop; None for other equations."""
        params = eqn.params
        if not isinstance(params, ScanParams):
            return None
        constants = params.jaxpr.in_binders[: params.num_consts]
        pairs = zip(constants, map(self.offset, eqn.inputs), strict=False)
        ahead = {binder: offset for binder, offset in pairs if offset is not None}
        return Indices(params.jaxpr, self.length, ahead)


def _number(x: jx.Atom) -> int | None:
    is_number = isinstance(x, jx.Lit) and not x.aval.shape and dtypes.is_integer(x.aval.dtype)
    return int(x.value) if isinstance(x, jx.Lit) and is_number else None


# The uses of arrays in programs


@attrs.define(eq=False)
class ArrayUses:
    """The uses of some parameters of a program.

    Attributes:
        owners: for each parameter, and each array that writes to it give, the parameter.
        parts: for each parameter that is used, the parts that all uses are within.
        accesses: the uses outside of inner loops.
        inside: the parameters that inner loops use.
    """

    owners: dict[jx.Atom, jx.Var]
    parts: dict[jx.Var, set[OwnPart]] = attrs.field(factory=dict)
    accesses: dict[jx.Var, list[Access]] = attrs.field(factory=dict)
    inside: set[jx.Var] = attrs.field(factory=set)

    def window(
        self, x: jx.Var, part: OwnPart, indices: Indices, own: Set[jx.Atom]
    ) -> OwnPart | OwnWindow:
        """Return the window of a part that all uses are within, if there is one; else the part.

        Args:
            x: the array.
            part: the part.
            indices: the indices in the program.
            own: the values that differ between iterations.
        """
        if x in self.inside:
            return part
        windows = [OwnWindow(part, access.starts, access.sizes) for access in self.accesses[x]]
        others = [axis for axis in range(x.aval.ndim) if axis != part.axis]
        names = {
            (window.sizes, *[indices.name(window.starts[axis]) for axis in others])
            for window in windows
        }
        window = windows[0]
        is_single = all(window.sizes[i] in (1, x.aval.shape[i]) for i in others)
        differs = not own.isdisjoint([window.starts[i] for i in others])
        return part if len(names) > 1 or differs or not is_single else window

    def add(self, x: jx.Atom, parts: set[OwnPart]) -> None:
        """Add a use of an array."""
        owner = self.owners[x]
        self.parts[owner] = self.parts[owner] & parts if owner in self.parts else parts


def uses_of(indices: Indices, binders: Sequence[jx.Var]) -> ArrayUses:
    """Return the uses of some parameters of a program."""
    uses = ArrayUses({x: x for x in binders})
    for eqn in indices.program.eqns:
        if uses.owners.keys().isdisjoint(eqn.inputs):
            continue
        access, inside = indices.access(eqn), indices.inside(eqn)
        if inside is not None:
            _add_uses_inside(uses, eqn, inside)
            continue
        for place, x in enumerate(eqn.inputs):
            if x in uses.owners and access is not None and not place:
                uses.add(x, indices.parts(access))
                uses.accesses.setdefault(uses.owners[x], []).append(access)
            elif x in uses.owners:
                uses.add(x, set())
        if access is not None and access.value is not None and access.array in uses.owners:
            uses.owners[eqn.out_binders[0]] = uses.owners[access.array]
    return uses


def _add_uses_inside(uses: ArrayUses, eqn: jx.JaxprEqn, inside: Indices) -> None:
    """Add the uses of arrays in an inner loop."""
    binders = inside.program.in_binders
    inner = uses_of(inside, binders)
    first, last = eqn.params.num_consts, eqn.params.num_consts + eqn.params.num_carry
    for place, (x, binder) in enumerate(zip(eqn.inputs, binders, strict=True)):
        if x not in uses.owners:
            continue
        uses.inside.add(uses.owners[x])
        is_carried, is_row = first <= place < last, place >= last
        after = inside.program.outs[place - first] if is_carried else binder
        if is_row or inner.owners.get(after) is not binder:
            uses.add(x, set())
        elif binder in inner.parts:
            uses.add(x, inner.parts[binder])
        if is_carried:
            uses.owners[eqn.out_binders[place - first]] = uses.owners[x]


# Programs of parts


@attrs.define(eq=False)
class PartProgram:
    """A program under construction that takes parts of arrays in place of the arrays.

    Attributes:
        indices: the indices of the original program.
        constants: the parameters that the original program does not change.
        parts: for each replaced array, its part.
        names: the variables of these parts.
        reads: the variables of parts of constants, which are further parameters.
        eqns: the equations.
    """

    indices: Indices
    constants: Sequence[jx.Var]
    parts: dict[jx.Atom, OwnPart | OwnWindow]
    names: dict[jx.Atom, jx.Var] = attrs.field(factory=dict)
    reads: dict[tuple[jx.Var, OwnPart], jx.Var] = attrs.field(factory=dict)
    eqns: list[jx.JaxprEqn] = attrs.field(factory=list)

    @classmethod
    def make(
        cls,
        indices: Indices,
        parts: Mapping[jx.Var, OwnPart | OwnWindow],
        constants: Sequence[jx.Var],
    ) -> PartProgram:
        """Make the program with parts in place of some parameters."""
        made = cls(indices, constants, dict(parts.items()))
        made.names.update((x, part.variable(x)) for x, part in parts.items())
        for eqn in indices.program.eqns:
            made.eqns += made._rewritten(eqn)
        return made

    @property
    def outs(self) -> tuple[jx.Atom, ...]:
        """The results."""
        return tuple([self.names.get(out, out) for out in self.indices.program.outs])

    def _rewritten(self, eqn: jx.JaxprEqn) -> list[jx.JaxprEqn]:
        inside = self.indices.inside(eqn)
        if inside is not None:
            return [self._loop(eqn, inside)]
        access = self.indices.access(eqn)
        if access is None:
            return [eqn]
        (out,) = eqn.out_binders
        part: OwnPart | OwnWindow
        if access.array in self.parts:
            part, operand = self.parts[access.array], self.names[access.array]
        else:
            chosen = self._chosen(access.array, self.indices.parts(access))
            if chosen is None or access.value is not None:
                return [eqn]
            part, operand = chosen, self._read(access.array, chosen)
        if access.value is not None:
            self.parts[out], self.names[out] = part, part.variable(out)
            out = self.names[out]
        return [*_of_part(eqn, access, part, operand, out)]

    def _chosen(self, array: jx.Atom, parts: set[OwnPart]) -> OwnPart | None:
        """Return the part that replaces a constant; None if the whole constant is needed."""
        if array not in self.constants:
            return None
        return min(parts, default=None, key=lambda part: part.axis)

    def _read(self, array: jx.Atom, part: OwnPart) -> jx.Var:
        assert isinstance(array, jx.Var), "a constant is a parameter"
        return self.reads.setdefault((array, part), part.variable(array))

    def _loop(self, eqn: jx.JaxprEqn, inside: Indices) -> jx.JaxprEqn:
        """Return an inner loop with parts in place of its operands."""
        binders, params = inside.program.in_binders, eqn.params
        uses = uses_of(inside, binders)
        parts: dict[jx.Var, OwnPart | OwnWindow] = {}
        inputs = [*eqn.inputs]
        for place, (x, binder) in enumerate(zip(eqn.inputs, binders, strict=True)):
            if x in self.parts:
                parts[binder], inputs[place] = self.parts[x], self.names[x]
            elif place < params.num_consts:
                chosen = self._chosen(x, uses.parts.get(binder, set()))
                if chosen is not None:
                    parts[binder], inputs[place] = chosen, self._read(x, chosen)
        if not parts:
            return eqn
        inner = PartProgram.make(inside, parts, ())
        names = tuple([inner.names.get(x, x) for x in binders])
        program = jx.Jaxpr(names, tuple(inner.eqns), inner.outs)
        outs = [*eqn.out_binders]
        for place in range(params.num_carry):
            part = parts.get(binders[params.num_consts + place])
            if part is not None:
                out = outs[place]
                self.parts[out], self.names[out] = part, part.variable(out)
                outs[place] = self.names[out]
        evolved = attrs.evolve(params, jaxpr=program)
        return jx.JaxprEqn(eqn.primitive, tuple(inputs), evolved, tuple(outs), eqn.source)


def _of_part(
    eqn: jx.JaxprEqn, access: Access, part: OwnPart | OwnWindow, operand: jx.Var, out: jx.Var
) -> Iterator[jx.JaxprEqn]:
    """Write the equations of a read of a part of an array, or a write to it.

    Args:
        eqn: the equation.
        access: the read or write that it is.
        part: the part.
        operand: the variable of the part before the equation.
        out: the variable of the result.
    """
    value = operand if access.value is None else access.value
    if operand.aval.shape == access.sizes:  # it is the whole part
        params = sh.ReshapeParams(out.aval.shape)
        yield jx.JaxprEqn(sh.reshape_p, (value,), params, (out,), eqn.source)
        return
    assert isinstance(part, OwnPart), "a window is used whole"
    index = next(x for x in access.starts if isinstance(x, jx.Atom)).aval
    starts = [0 if axis == part.axis else x for axis, x in enumerate(access.starts)]
    atoms = [jx.splat_literal(x, index) if isinstance(x, int) else x for x in starts]
    if not isinstance(eqn.params, ScatterParams):
        inputs = (operand, *eqn.inputs[1 : len(eqn.inputs) - len(atoms)], *atoms)
        yield attrs.evolve(eqn, inputs=inputs, out_binders=(out,))
        return
    vector = jx.Var(eqn.inputs[1].aval)
    entries: list[jx.Atom] = []
    for axis in eqn.params.dimension_numbers.inserted_window_dims:
        entry = jx.Var(vector.aval.with_shape((1,)))
        entries.append(entry)
        params = sh.ReshapeParams((1,))
        yield jx.JaxprEqn(sh.reshape_p, (atoms[axis],), params, (entry,), eqn.source)
    joined = slicing.ConcatenateParams(0)
    yield jx.JaxprEqn(slicing.concatenate_p, tuple(entries), joined, (vector,), eqn.source)
    yield attrs.evolve(eqn, inputs=(operand, vector, value), out_binders=(out,))

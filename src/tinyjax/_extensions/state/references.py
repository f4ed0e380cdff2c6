"""Discharge of state: a staged function that uses references becomes one of their contents.

A recorder may belong to a caller that passes on state. Only there can a reference be used that was
made outside of the recorded function: the recorder has a cell of its own for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import EllipsisType, MappingProxyType
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames, records
from tinyjax._extensions.parallel.sharding import Sharding
from tinyjax._primitives.bitcast import BitcastParams, bitcast_convert_type_p
from tinyjax.core.api import derivatives
from tinyjax.core.tracing import Tracer, bind, jaxpr as jx, staging
from tinyjax.core.tracing.calling import HOLDERS, Holder, leaf_path, split_aux, whole_places
from tinyjax.core.tracing.trace import EvalTrace, Trace, current_trace
from tinyjax.core.transforms.jvp import JVPTrace, JVPTracer
from tinyjax.core.values import Array, ArrayLike, avals as av, concrete, operands as opd

_role = "indexes"  # see ``frames.Role``

T = TypeVar("T")


class RefCell:
    """The contents of a reference, within one staged function or outside of all.

    Attributes:
        value: the contents.
        trace: the trace whose values these are, or its parents'.
        is_written: whether it has been modified.
    """

    __slots__ = ("is_written", "trace", "value")

    def __init__(self, value: Array, trace: Trace) -> None:
        self.value: Array = value
        self.trace: Trace = trace
        self.is_written: bool = False


class ForeignCell(RefCell):
    """The contents of a reference that are kept in an object of another class."""

    __slots__ = ("_get", "_put")

    def __init__(self, get: Callable[[], Array], put: Callable[[Array], None], home: Trace) -> None:
        self._get = get
        self._put = put
        self.trace = home
        self.is_written = False

    @property
    def value(self) -> Array:
        """The contents."""
        return self._get()

    @value.setter
    def value(self, value: Array) -> None:
        self._put(value)


class RefForm(Hashable, Protocol):
    """The structure of an object that holds arrays in place, without the arrays."""

    @property
    def is_one(self) -> bool:
        """Return whether it holds one array, whose path is the object's own."""
        ...

    def make(self, refs: Sequence[Any]) -> object:
        """Make an object of this form, which reads and writes these references."""
        ...

    def put(self, target: Any, contents: Sequence[Array]) -> None:
        """Give an object this form, and these arrays to hold."""
        ...


#: How objects are taken apart, by class.
OPENERS: Final[dict[type, Opener]] = {}


def parts_of(x: Any) -> tuple[Sequence[Ref], RefForm]:
    """Return references to the contents of an object, and its form."""
    return OPENERS[type(x)](x)


@attrs.frozen
class _Part:
    """A place for a result: part of an object that a function was given.

    Attributes:
        place: which object.
        index: which part.
        form: the new form of the object, if its form changed.
    """

    place: int
    index: int
    form: RefForm | None = None


@attrs.frozen
class ArgumentState:
    """The backward state of a reference that a program was given.

    Attributes:
        place: which object.
        aval: its type.
    """

    place: int
    aval: av.ShapedArray

    @property
    def contents(self) -> Array:
        """The placeholder where there is no argument."""
        return opd.splat(0, self.aval)

    def contents_in(self, objects: Sequence[Any]) -> Array:
        """Return the operand that is passed to the program."""
        return parts_of(objects[self.place])[0][0].backward.contents if objects else self.contents


class UsedRefs(staging.Hook):
    """The references that a staged function uses: made outside of it, or passed to it.

    The contents of a reference that is only read may be known while the function is staged. If it
    turns out that the function writes to it, the function is staged again.

    Attributes:
        cells: of references made outside.
        holders: the objects made in place of arguments, and their forms, by place.
    """

    __slots__ = (
        *("_closed", "_given_cells", "_written_refs", "_parameters", "_traced", "cells", "holders"),
    )

    lasting = False

    def __init__(self, traced: frozenset[Ref] = frozenset()) -> None:
        self._traced: frozenset[Ref] = traced
        self._parameters: dict[staging.MutableCell, jx.Var] = {}
        self._given_cells: dict[int, RefCell] = {}
        self._written_refs: set[Ref] = set()
        self._closed: tuple[Ref, ...] = ()
        self.cells: dict[Ref, RefCell] = {}
        self.holders: dict[int, tuple[Any, RefForm]] = {}

    def enter(self, ref: Ref, outer: RefCell, recorder: staging.Recorder) -> RefCell:
        """Give a reference a cell in a recorder."""
        value = outer.value
        known = ref.may_be_data and recorder.outside == "data" and not isinstance(value, Tracer)
        if not known or ref in self._traced:
            var = self._parameters[ref] = jx.Var(ref.aval)
            value = staging.StagingTracer(recorder, var, ref.aval)
        cell = self.cells[ref] = RefCell(value, recorder)
        return cell

    def enter_given(self, place: int, aval: av.ShapedArray, recorder: staging.Recorder) -> RefCell:
        """Give the backward state of a reference that was made in place of an argument a cell."""
        var = self._parameters[ArgumentState(place, aval)] = jx.Var(aval)
        cell = self._given_cells[place] = RefCell(
            staging.StagingTracer(recorder, var, aval), recorder
        )
        return cell

    def cells_in(self) -> Sequence[tuple[staging.MutableCell, jx.Var]]:
        return [*self._parameters.items()]

    def cells_out(self) -> Sequence[tuple[Hashable, Array]]:
        written = [(ref, cell.value) for ref, cell in self.cells.items() if cell.is_written]
        self._written_refs = {ref for ref, _ in written}.difference(self._parameters)
        outs: list[tuple[Hashable, Array]] = [*written]
        for place, (holder, before) in self.holders.items():
            refs, form = parts_of(holder)
            changed = None if form == before else form
            for i, ref in enumerate(refs):
                if changed is not None or ref.is_written:
                    outs.append((_Part(place, i, changed), ref.contents))
        for place, cell in self._given_cells.items():
            if cell.is_written:
                outs.append((ArgumentState(place, cell.value.aval), cell.value))
        # what was traced is kept no longer
        self._closed, self.cells, self.holders = tuple(self.cells), {}, {}
        self._given_cells = {}
        return outs

    def restarted(self) -> UsedRefs | None:
        return UsedRefs(self._traced | self._written_refs) if self._written_refs else None

    def serves(self, api_name: str, objects: Sequence[Any]) -> bool:
        if not all(ref._is_usable for ref in self._closed):
            return False
        check_given_once([*self._closed, *[r for x in objects for r in parts_of(x)[0]]], api_name)
        return True

    @classmethod
    def keep(cls, state: Sequence[tuple[Hashable, Array]], objects: Sequence[Any]) -> None:
        refilled: dict[tuple[int, RefForm], list[Array]] = {}
        for key, value in state:
            if isinstance(key, Ref):
                key._write(value)
            elif isinstance(key, ArgumentState):
                parts_of(objects[key.place])[0][0].backward._write(value)
            elif isinstance(key, _Part) and key.form is None:
                parts_of(objects[key.place])[0][key.index]._write(value)
            elif isinstance(key, _Part) and key.form is not None:
                refilled.setdefault((key.place, key.form), []).append(value)
        for (place, form), contents in refilled.items():
            form.put(objects[place], contents)


def used_in(recorder: staging.Recorder) -> UsedRefs:
    """Return the references that a recorder's function has used so far."""
    hook = recorder.hooks.get(UsedRefs)
    if not isinstance(hook, UsedRefs):
        hook = recorder.hooks[UsedRefs] = UsedRefs()
    return hook


def cells_in(recorder: staging.Recorder) -> Mapping[Ref, RefCell]:
    """Return the cells of references that a recorder has."""
    hook = recorder.hooks.get(UsedRefs)
    return hook.cells if isinstance(hook, UsedRefs) else {}


def check_given_once(refs: Sequence[Ref], api_name: str) -> None:
    """Raise where a function is given a reference twice, or one that it uses besides."""
    if len({*refs}) < len(refs):
        raise errors.RefError(
            f"{api_name} is given a Ref twice, or one that it uses from outside as well. It may "
            "know a Ref by one name only."
        )


# References: arrays that are written in place.
#
# A reference is a cell that holds an array, and a write puts another array in it. So within one
# trace no more is needed: what is recorded are the reads' and the writes' own operations, and
# derivatives and batches are theirs. Where a function is staged apart, as a loop's body or a
# jitted function, and uses references made outside of it, it becomes a function of their contents,
# which returns what it wrote (state is discharged).


class Ref(av.Typed):
    """An array that is written in place; made by ``new_ref``.

    ``ref[index]`` reads a part of it, ``ref[...]`` reads all of it, and ``ref[index] = value``
    writes to it.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> ref = tinyjax.new_ref(jnp.zeros(3))
        >>> ref[1] = 5.0
        >>> ref[...], isinstance(ref, tinyjax.Ref)
        (Array([0., 5., 0.], dtype=float32), True)
    """

    __slots__ = ("__weakref__", "_backward", "_cell", "_ended", "_origin", "_parts", "aval")

    aval: av.ShapedArray
    #: Whether a function that is staged may know the contents, and need not take them.
    may_be_data: ClassVar[bool] = True

    def __init__(self, value: Array) -> None:
        if not isinstance(value, Array):
            raise errors.ArgumentError(
                f"Ref holds an array, but got {errors.described(value)}: see new_ref."
            )
        self.aval = value.aval.strip_weak()
        self._cell = RefCell(value, current_trace())
        self._ended = ""
        self._backward: BackwardState | None = None
        #: The argument that it was made for, and its record.
        self._origin: tuple[UsedRefs, int] | None = None
        #: What it is one of, if there no backward state is passed yet.
        self._parts: RefParts | None = None

    @classmethod
    def elsewhere(cls, get: Callable[[], Array], put: Callable[[Array], None], home: Trace) -> Ref:
        """Make a reference to contents in an object of another class.

        Args:
            get: returns the contents.
            put: takes them.
            home: the trace that was current when the object was made.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.core.tracing.trace import current_trace
            >>> from tinyjax._extensions.state.references import Ref
            >>> box = {"x": jnp.zeros(2)}
            >>> ref = Ref.elsewhere(lambda: box["x"], lambda x: box.update(x=x), current_trace())
            >>> ref[0] = 5.0
            >>> box["x"]
            Array([5., 0.], dtype=float32)
        """
        ref = cls(get())
        ref._cell = ForeignCell(get, put, home)
        return ref

    @property
    def at(self) -> _At:
        """Parts of it to read and write: ``ref.at[index]`` is a ``RefView``."""
        return _At(self)

    @property
    def is_written(self) -> bool:
        """Return whether something was written to it."""
        return self._cell.is_written

    @property
    def sharding(self) -> Sharding:
        """The sharding of its contents."""
        return self.contents.sharding

    @property
    def committed(self) -> bool:
        """Return whether its contents were put elsewhere than on the first device."""
        return self.contents.committed

    def __len__(self) -> int:
        if not self.shape:
            raise errors.ArgumentError("a Ref without axes has no length.")
        return self.shape[0]

    @property
    def contents(self) -> Array:
        """The array that it holds, for a program: to give that to a user would let it be donated.

        Raises:
            RefError: the reference cannot be used here.
        """
        return self._own().value

    def contents_in(self, objects: Sequence[Any]) -> Array:
        """Return the contents, for a program that is given objects made in place of references.

        Example:
            >>> import tinyjax
            >>> float(tinyjax.new_ref(2.0).contents_in([]))
            2.0
        """
        return self.contents

    @property
    def backward(self) -> BackwardState:
        """The state of the backward pass that calls pass on, where rules use the reference."""
        if self._backward is None:
            self._backward = BackwardState(self)
        return self._backward

    def __getitem__(self, index: Any) -> Array:
        value = self.contents
        part = value
        if not isinstance(index, EllipsisType):
            _check_bounds(index, self.aval)
            part = value[index]
        return _another(part) if part is value else part

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        _check_bounds(index, self.aval)
        self._write(self._own().value.at[index].set(value))

    def __iter__(self) -> Iterator[Array]:
        return iter(self[...])

    def __jax_array__(self) -> Array:
        raise errors.RefError(
            f"a Ref of type {self.aval} is no array: read it, ref[...]. One can be an argument of "
            "what jit, vmap, scan, cond, switch, checkpoint and custom_vjp make of a function and "
            "of jvp, and of no other transformation's."
        )

    def addupdate(self, x: ArrayLike, idx: Any = ...) -> None:
        """Add to the contents.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> ref = tinyjax.new_ref(jnp.zeros(3))
            >>> ref.addupdate(2.0, 1)
            >>> ref
            Ref([0., 2., 0.], dtype=float32)
        """
        _check_bounds(idx, self.aval)
        self._write(self._own().value.at[idx].add(x))

    def __repr__(self) -> str:
        value = self._ended or self._cell.value
        if isinstance(value, concrete.ConcreteArray):
            return repr(value).replace("Array", "Ref", 1)
        return f"Ref<{self.aval}>" if isinstance(value, Array) else f"Ref<{self.aval}, {value}>"

    def _own(self) -> RefCell:
        """Return the cell to read and write here.

        Raises:
            RefError: there is none.
        """
        bound, trace = bound_cells.get().get(self), current_trace()
        if self._ended and bound is None:
            raise errors.RefError(f"a Ref of type {self.aval} is used {self._ended}.")
        cell = self._cell if bound is None else bound
        home = cell.trace
        crossed: list[staging.Recorder] = []
        above: Trace | None = None
        while trace is not home:
            if isinstance(trace, EvalTrace) and isinstance(home, EvalTrace):
                break
            if (passed := self._passed_on(trace, above)) is not None:
                cell = passed
                break
            if isinstance(trace, staging.Recorder) and trace.outside in ("types", "data"):
                own = cells_in(trace).get(self)
                if own is not None:
                    cell = own
                    break
                crossed.append(trace)
            elif trace.stages:
                raise errors.RefError(
                    f"a Ref of type {self.aval} that was made outside is used in the "
                    f"{trace.describe()}, which keeps no state. jit, scan, while_loop, fori_loop, "
                    "map, cond, switch and checkpoint do; control flow that is staged from its "
                    "source does not. Elsewhere make the Ref inside, or pass in ref[...] and "
                    "return the new value."
                )
            elif trace.parent is trace:
                raise errors.RefError(
                    f"a Ref of type {self.aval} that was made in the {home.describe()} is used "
                    "outside of it. Return ref[...], an array."
                )
            trace, above = trace.parent, trace
        for recorder in reversed(crossed):
            cell = used_in(recorder).enter(self, cell, recorder)
        return cell

    def _passed_on(self, trace: Trace, above: Trace | None) -> RefCell | None:
        """Return the cell that it has where tangents are recorded, if it has one."""
        return None

    @property
    def _is_usable(self) -> bool:
        try:
            self._own()
        except errors.RefError:
            return False
        return True

    def _write(self, value: Array) -> None:
        cell = self._own()
        if (value.shape, value.dtype) != (self.shape, self.dtype):
            raise errors.RefError(
                f"a Ref of type {self.aval} keeps its type, but {value.aval} was to be written."
            )
        if isinstance(value, Tracer) and not _is_within(value._trace, cell.trace):
            raise errors.RefError(
                f"a value that depends on what is transformed by the {value._trace.describe()} was "
                f"to be written to a Ref of type {self.aval} that was made outside of it. Make the "
                "Ref inside, or return the value; lax.stop_gradient(value) has no derivative, and "
                "vmap writes to each example's part of a Ref that is mapped as an argument."
            )
        cell.value, cell.is_written = value.astype(value.dtype) if value.weak_type else value, True
        staging.Irrevocable.count += 1
        staging.Irrevocable.error = _written_twice


#: References in functions and rules that are given the contents as an operand, and their cells.
bound_cells: ContextVar[Mapping[Ref, RefCell]] = ContextVar(
    "tinyjax_bound_cells", default=MappingProxyType({})
)


class BackwardState(Ref):
    """The contents of a reference in the backward pass.

    Rules run in reverse order there, and each may read what a later one has stored. So a state goes
    forward through the calls of functions whose rules use the reference, as though they changed it.
    Its value does not matter: the contents are the cotangent of its tangent.

    Attributes:
        ref: the reference.
    """

    __slots__ = ("ref",)

    may_be_data = False

    def __init__(self, ref: Ref) -> None:
        if ref._parts is not None:
            raise StateNeededError(ref._parts)
        aval = av.ShapedArray(ref.shape, _float_for(ref.dtype))
        super().__init__(opd.splat(0, aval))
        self.ref = ref
        if ref._origin is not None and isinstance(ref._cell.trace, staging.Recorder):
            hook, place = ref._origin
            self._cell = hook.enter_given(place, aval, ref._cell.trace)
        else:
            self._cell.trace = ref._cell.trace

    def _write(self, value: Array) -> None:
        cell = self._own()
        # without a tangent, or with one that goes nowhere, nothing is passed on
        if isinstance(value, Tracer) and _is_within(value._trace, cell.trace):
            cell.value, cell.is_written = value, True

    def _passed_on(self, trace: Trace, above: Trace | None) -> RefCell | None:
        if not (isinstance(trace, staging.Recorder) and trace.outside == "cotangents"):
            return None
        if not (isinstance(above, JVPTrace) and above.parent is trace):
            return None
        hook = trace.hooks.setdefault(BackwardHook, BackwardHook())
        assert isinstance(hook, BackwardHook), "it was asked for by its class"
        return hook.enter(self, above, trace)


class StateNeededError(Exception):
    """Raised where a function that is mapped over references needs their backward states."""

    def __init__(self, parts: RefParts) -> None:
        super().__init__()
        self.parts = parts


class BackwardHook(staging.Hook):
    """The state that rules of a differentiated function keep in references made outside of it."""

    __slots__ = ("_cells", "_saved", "_vars")

    def __init__(self) -> None:
        self._vars: dict[BackwardState, jx.Var] = {}
        self._cells: dict[BackwardState, RefCell] = {}
        self._saved: list[tuple[Ref, Array]] = []

    def enter(self, state: BackwardState, trace: Trace, recorder: staging.Recorder) -> RefCell:
        """Give a state a cell, and a tangent to begin with."""
        if state not in self._cells:
            var = self._vars[state] = jx.Var(state.aval)
            tangent = staging.StagingTracer(recorder, var, state.aval)
            tracer = JVPTracer(trace, opd.splat(0, state.aval), tangent)
            self._cells[state] = RefCell(tracer, trace)
        return self._cells[state]

    def cells_in(self) -> Sequence[tuple[staging.MutableCell, jx.Var]]:
        return [*self._vars.items()]

    def cells_out(self) -> Sequence[tuple[Hashable, Array]]:
        last = {state: cell.value for state, cell in self._cells.items()}
        self._cells = {}
        return [(x, t.tangent) for x, t in last.items() if isinstance(t, JVPTracer)]

    def cotangents(self) -> Sequence[Array]:
        self._saved = [(state.ref, encoded(state.ref.contents)) for state in self._vars]
        return [x for _, x in self._saved]

    def keep_cotangents(self, cotangents: Sequence[Any]) -> None:
        held, self._saved = self._saved, []
        for (ref, before), after in zip(held, cotangents, strict=True):
            if after is not before and isinstance(after, Array):
                ref._write(decoded(after, ref.aval))


def _float_for(dtype: dtypes.DType) -> dtypes.DType:
    """Return the dtype of cotangents that contents of a dtype are passed as."""
    if dtypes.is_inexact(dtype):
        return dtype
    return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)


def encoded(x: Array) -> Array:
    """Return contents as a cotangent: integers by their bits."""
    if dtypes.is_inexact(x.dtype):
        return x
    to = _float_for(x.dtype)
    return _with_bits(x, to) if _has_bits_of(x.dtype, to) else x.astype(to)


def decoded(x: Array, aval: av.ShapedArray) -> Array:
    """Return the contents that a cotangent is."""
    to = aval.dtype
    return _with_bits(x, to) if _has_bits_of(to, x.dtype) else x.astype(to)


def _has_bits_of(dtype: dtypes.DType, other: dtypes.DType) -> bool:
    return dtypes.kind(dtype) in "iu" and dtype.itemsize == other.itemsize


def _with_bits(x: Array, dtype: dtypes.DType) -> Array:
    (out,) = bind(bitcast_convert_type_p, (x,), BitcastParams(dtype))
    return out


def _written_twice() -> errors.RefError:
    return errors.RefError(
        "a Ref is written to in control flow that is staged from its source, where it may "
        "be staged twice. Use scan, while_loop, fori_loop or cond of tinyjax.lax there."
    )


def _another(x: Array) -> Array:
    """Return an array that stays when ``x`` is deleted or donated, as a traced one cannot be."""
    return x if isinstance(x, Tracer) else x.copy()


def _check_bounds(index: Any, aval: av.ShapedArray) -> None:
    """Refuse Python's and NumPy's ints beyond the ends of an axis."""
    listed = index if isinstance(index, tuple) else (index,)
    parts = [x[()] if isinstance(x, np.ndarray) and not x.shape else x for x in listed]
    axis = 0
    for i, part in enumerate(parts):
        if part is None:
            continue
        if isinstance(part, EllipsisType):
            axis = aval.ndim - sum(x is not None for x in parts[i + 1 :])
            continue
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            size = aval.shape[axis] if axis < aval.ndim else None
            if size is not None and not -size <= part < size:
                raise errors.IndexingError(
                    f"index {part} is out of bounds for axis {axis}, of size {size}, of a Ref of "
                    f"type {aval}."
                )
        elif not isinstance(part, slice):
            return  # an array: what is beyond the ends is known when it runs
        axis += 1


class _At:
    """The value of ``ref.at``: indexed, it returns a part of a reference."""

    __slots__ = ("_target",)

    def __init__(self, target: Ref | RefView) -> None:
        self._target = target

    def __getitem__(self, index: Any) -> RefView:
        return RefView(self._target, index)


class RefView(av.Typed):
    """A part of a reference, read and written as a reference is; made by ``ref.at[index]``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> ref = tinyjax.new_ref(jnp.zeros((2, 2)))
        >>> row = ref.at[1]
        >>> row[0] = 3.0
        >>> row[...], ref
        (Array([3., 0.], dtype=float32), Ref([[0., 0.],
             [3., 0.]], dtype=float32))
    """

    __slots__ = ("_index", "_target")

    def __init__(self, target: Ref | RefView, index: Any) -> None:
        self._target: Ref | RefView = target
        self._index: Any = index

    @property
    def aval(self) -> av.ShapedArray:
        """The type of its contents."""
        return self[...].aval

    @property
    def at(self) -> _At:
        """Parts of it."""
        return _At(self)

    def __jax_array__(self) -> Array:
        raise errors.RefError(
            f"a part of a Ref, of type {self.aval}, is no array: read it, ref.at[...][...]."
        )

    def __len__(self) -> int:
        return len(self[...])

    def __iter__(self) -> Iterator[Array]:
        return iter(self[...])

    def __getitem__(self, index: Any) -> Array:
        value = self._target[self._index]
        return value if isinstance(index, EllipsisType) else value[index]

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        if not isinstance(index, EllipsisType):
            value = self[...].at[index].set(value)
        self._target[self._index] = value

    def addupdate(self, x: ArrayLike, idx: Any = ...) -> None:
        """Add to the contents.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> ref = tinyjax.new_ref(jnp.zeros(3))
            >>> ref.at[1].addupdate(2.0)
            >>> ref
            Ref([0., 2., 0.], dtype=float32)
        """
        if isinstance(idx, EllipsisType):
            self._target.addupdate(x, self._index)
        else:
            self._target[self._index] = self[...].at[idx].add(x)

    def __repr__(self) -> str:
        return f"{self._target!r}.at[{self._index!r}]"


@attrs.frozen(eq=False, repr=False)
class AbstractRef(av.Typed, records.Record):
    """The type of a reference, which ``typeof`` gives.

    Attributes:
        inner_aval: the type of its contents.
        memory_space: None: there is one memory.
        kind: not used.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> print(tinyjax.typeof(tinyjax.new_ref(jnp.zeros(2))))
        Ref{float32[2]}
    """

    inner_aval: av.ShapedArray
    memory_space: None = None
    kind: object = None

    @property
    def aval(self) -> av.ShapedArray:
        """The type of its contents."""
        return self.inner_aval

    def __str__(self) -> str:
        return f"Ref{{{self.inner_aval}}}"


def end(ref: Ref, why: str) -> None:
    """Let a reference be used no more."""
    ref._ended = why


def _is_within(owner: Trace, home: Trace) -> bool:
    """Return whether values of a trace can be kept in another, which is that trace or inside it."""
    trace = home
    while trace is not owner:
        if trace.parent is trace:
            return False
        trace = trace.parent
    return True


def new_ref(init_val: ArrayLike, *, memory_space: None = None, kind: str | None = None) -> Ref:
    """Make an array that is written in place.

    Any function may read and write references. ``jit``, ``scan``, ``while_loop``, ``fori_loop``,
    ``map``, ``cond``, ``switch`` and ``checkpoint`` stage functions that may use references made
    outside of them. Derivatives and ``vmap`` pass through references that are made inside the
    transformed function. To a reference made outside of it, the function cannot write a value that
    depends on what is differentiated or mapped over.

    The function and the rules of a ``custom_vjp`` may write to references under all of these. So a
    backward rule may collect statistics of gradients under ``grad``, ``value_and_grad`` and
    ``vjp``.

    References may be arguments of functions that are transformed by ``jit``, ``vmap``, ``scan``,
    ``cond``, ``switch``, ``checkpoint`` and ``custom_vjp``. Where ``vmap`` or ``scan`` maps over
    one, each example or iteration reads and writes its own part.

    Args:
        init_val: the first contents; the reference keeps its shape and dtype.
        memory_space: must be None.
        kind: not used.

    Raises:
        ArgumentError: ``init_val`` is not an array, or there is a memory space.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> total = tinyjax.new_ref(jnp.zeros(2))
        >>> @tinyjax.jit
        ... def add(x):
        ...     total[...] += x
        ...     total[0] = 7.0
        >>> add(3.0)
        >>> add(1.0)
        >>> total
        Ref([7., 4.], dtype=float32)
        >>> def f(x):
        ...     ref = tinyjax.new_ref(x)
        ...     tinyjax.lax.fori_loop(0, 3, lambda i, _: ref.__setitem__(..., ref[...] * x), None)
        ...     return tinyjax.freeze(ref)
        >>> float(f(2.0)), float(tinyjax.grad(f)(2.0))
        (16.0, 32.0)
    """
    if memory_space is not None:
        raise errors.ArgumentError(
            f"new_ref takes no memory_space, but got {errors.shortened(memory_space)}."
        )
    array = opd.as_array(init_val)
    if array is init_val:
        array = _another(array)
    return Ref(array.astype(array.dtype) if array.weak_type else array)


def freeze(ref: Ref) -> Array:
    """End a reference and return its contents.

    Raises:
        RefError: it has ended before, or was made outside of the function that is being staged.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> ref = tinyjax.new_ref(jnp.arange(3))
        >>> ref[1] = 7
        >>> tinyjax.freeze(ref)
        Array([0, 7, 2], dtype=int32)
    """
    return _end(ref, "freeze")


def free_ref(ref: Ref) -> None:
    """End a reference.

    Raises:
        RefError: it has ended before, or was made outside of the function that is being staged.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = tinyjax.new_ref(jnp.zeros(3))
        >>> tinyjax.free_ref(x)
        >>> try:
        ...     x[0]
        ... except tinyjax.errors.RefError as error:
        ...     print("it has ended")
        it has ended
    """
    _end(ref, "free_ref")


def _end(ref: Ref, name: str) -> Array:
    if not isinstance(ref, Ref):
        raise errors.ArgumentError(f"{name} takes a Ref, but got {errors.type_name(ref)}.")
    cell = ref._own()
    if cell is not ref._cell or current_trace() is not cell.trace:
        raise errors.RefError(
            f"{name} of a Ref of type {ref.aval} is called in another function than made it, which "
            "may not be run, or be run many times. Call it where the Ref was made."
        )
    ref._ended = f"after {name}"
    return cell.value


def keep(ref: Ref, value: Array) -> None:
    """Write the final contents that a program returns to a reference."""
    ref._write(value)


class RefParts:
    """The references that a function is mapped over: each example has a reference to its part.

    Attributes:
        places: their indices among the leaves of the arguments.
        written_leaves: those that the function wrote to in its last run.
    """

    __slots__ = ("_leaves", "_passes", "places", "written_leaves")

    def __init__(self, leaves: Sequence[Any], places: Sequence[int], api_name: str) -> None:
        check_given_once([leaves[i] for i in places], api_name)
        self._leaves = leaves
        #: Whether backward states follow the leaves; None where they never do.
        self._passes: bool | None = None
        self.places: Sequence[int] = places
        self.written_leaves: list[int] = []

    def with_states(self, call: Callable[[Sequence[Array]], T]) -> T:
        """Call with the backward states of the references, if the function needs them."""
        self._passes = False
        try:
            return call(())
        except StateNeededError as needed:
            if needed.parts is not self:
                raise
        self._passes = True
        return call([self._leaves[i].backward.contents for i in self.places])

    def own(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves for one example, with a reference for each part."""
        count = len(self._leaves)
        own = [Ref(x) if i in self.places else x for i, x in enumerate(leaves[:count])]
        for i, state in zip(self.places, leaves[count:], strict=False):
            own[i].backward._cell = RefCell(state, current_trace())
        if self._passes is False:
            for i in self.places:
                own[i]._parts = self
        return own

    def final_contents(self, own: Sequence[Any]) -> list[Array]:
        """End an example's references, and return the contents of those that were modified."""
        self.written_leaves = [i for i in self.places if own[i].is_written]
        values = [freeze(own[i]) for i in self.written_leaves]
        for j, i in enumerate(self.places):
            if self._passes and own[i].backward.is_written:
                self.written_leaves.append(len(self._leaves) + j)
                values.append(own[i].backward._cell.value)
        return values

    def keep(self, values: Sequence[Array]) -> None:
        """Write the final contents of all examples to the references."""
        count = len(self._leaves)
        for i, value in zip(self.written_leaves, values, strict=True):
            if i < count:
                self._leaves[i]._write(value)
            else:
                self._leaves[self.places[i - count]].backward._write(value)

    @contextmanager
    def mapped(self, api_name: str) -> Iterator[None]:
        """Refuse them as wholes while the function runs."""
        refs: list[Ref] = [self._leaves[i] for i in self.places]
        for ref in refs:
            ref._ended = (
                f"from outside by what {api_name} gives a part of it, which knows it as an argument"
            )
        try:
            yield
        finally:
            for ref in refs:
                ref._ended = ""


@attrs.frozen
class _ParameterForm:
    """The form of an object that a function gets in place of one that holds arrays in place."""

    form: RefForm

    @property
    def is_one(self) -> bool:
        """Return whether the other form holds one array."""
        return self.form.is_one

    def make(self, place: int, contents: Sequence[Array]) -> object:
        """Make the object, and record that it is the function's own."""
        refs = [Ref(x) for x in contents]
        holder, trace = self.form.make(refs), current_trace()
        if isinstance(trace, staging.Recorder) and trace.outside != "nothing":
            hook = used_in(trace)
            hook.holders[place] = holder, self.form
            if self.is_one:
                refs[0]._origin = hook, place
        return holder


class RefsHolder(Holder):
    """The protocol of objects whose contents are held in references."""

    def opened(self, x: Any) -> tuple[Sequence[Array], _ParameterForm]:
        refs, form = parts_of(x)
        return [ref.contents for ref in refs], _ParameterForm(form)

    def check_once(self, objects: Sequence[Any], api_name: str) -> None:
        check_given_once([ref for x in objects for ref in parts_of(x)[0]], api_name)


#: Takes an object apart: references to its contents, and its form.
Opener: TypeAlias = Callable[[Any], tuple[Sequence[Ref], RefForm]]


def hold(kind: type, opener: Opener, holder: Holder | None = None) -> None:
    """Register a class of objects that hold arrays in place, and its flattening."""
    OPENERS[kind] = opener
    HOLDERS[kind] = RefsHolder() if holder is None else holder


@attrs.frozen
class _RefForm:
    """The form of a reference as an argument."""

    is_one: ClassVar[bool] = True

    def make(self, refs: Sequence[Ref]) -> Ref:
        """Return the reference that a function is given."""
        (ref,) = refs
        return ref

    def put(self, target: Ref, contents: Sequence[Array]) -> None:
        """Write to it."""
        (value,) = contents
        target._write(value)


class _RefHolder(RefsHolder):
    """The protocol of references."""

    is_one = True

    def parts(self, leaves: Sequence[Any], places: Sequence[int], api_name: str) -> RefParts:
        return RefParts(leaves, places, api_name)

    def jvp(
        self, fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool
    ) -> tuple[Any, ...]:
        leaves, treedef = tree.flatten(tuple(primals))
        directions = treedef.flatten_up_to(tuple(tangents), "tangents")
        places, by = whole_places(leaves), f"the jvp of {frames.describe_function(fun)}"
        for i in places:
            if dtypes.is_inexact(leaves[i].dtype) and not isinstance(directions[i], Ref):
                raise errors.RefError(
                    f"{by}: {leaf_path('primals', treedef, i)} is a Ref, and so its tangent must "
                    f"be one, but got {errors.described(directions[i])}. Write new_ref(tangent)."
                )
        held = [x for x in directions if isinstance(x, Ref)]
        check_given_once([*[leaves[i] for i in places], *held], by)
        parts = RefParts(leaves, places, by)

        def run(*values: Any) -> tuple[Any, Any]:
            own = parts.own(values)
            out = fun(*tree.unflatten(treedef, own))
            value, aux = split_aux(fun, out) if has_aux else (out, None)
            return (value, parts.final_contents(own)), aux

        starts, along = [
            [x.contents if isinstance(x, Ref) else x for x in given]
            for given in (leaves, directions)
        ]
        with parts.mapped("jvp"):
            (value, left), (tangent, moved), aux = derivatives.jvp(run, starts, along, has_aux=True)
        parts.keep(left)
        for i, x in zip(parts.written_leaves, moved, strict=True):
            if isinstance(directions[i], Ref):
                keep(directions[i], x)
        return (value, tangent, aux) if has_aux else (value, tangent)


hold(Ref, lambda ref: ([ref], _RefForm()), _RefHolder())

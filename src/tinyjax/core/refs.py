"""References: arrays that are written in place.

A reference is a cell that holds an array, and a write puts another array in it. So within one trace
no more is needed: what is recorded are the reads' and the writes' own operations, and derivatives
and batches are theirs. Where a function is staged apart, as a loop's body or a jitted function, and
uses references made outside of it, it becomes a function of their contents, which returns what it
wrote (state is discharged). For this it is staged in a frame. An open frame notes which references
are used; a closed one has cells of its own for them. Who stages a function without a frame finds
that the cell is not its own, which is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import EllipsisType
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakSet

import attrs
import numpy as np

from tinyjax import dtypes, records, tree
from tinyjax.core.devices import Sharding
from tinyjax.core.tracing.trace import EvalTrace, Trace, Tracer, current_trace
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import as_array
from tinyjax.errors import ArgumentError, RefError, described, shortened
from tinyjax.frames import imitate

R = TypeVar("R")


class _Cell:
    """What a reference holds, within one frame or outside of all.

    Attributes:
        value: the contents.
        trace: the trace whose values these are, or its parents'.
        written: whether it was written to.
    """

    __slots__ = ("trace", "value", "written")

    def __init__(self, value: Array, trace: Trace) -> None:
        self.value: Array = value
        self.trace: Trace = trace
        self.written: bool = False


class _CellElsewhere(_Cell):
    """What a reference holds whose contents are kept in an object of another class."""

    __slots__ = ("_get", "_put")

    def __init__(self, get: Callable[[], Array], put: Callable[[Array], None], home: Trace) -> None:
        self._get = get
        self._put = put
        self.trace = home
        self.written = False

    @property
    def value(self) -> Array:
        """The contents."""
        return self._get()

    @value.setter
    def value(self, value: Array) -> None:
        self._put(value)


class Frame:
    """References made outside of a function that is being staged, with cells that are its own.

    Attributes:
        cells: by reference.
        trace: the trace under which the function is staged.
        is_open: whether a reference gets a cell when it is first used.
        number: tells references made before it from those made after.
    """

    __slots__ = ("cells", "is_open", "number", "trace")

    def __init__(self, cells: dict[Ref, _Cell], is_open: bool) -> None:
        self.cells: dict[Ref, _Cell] = cells
        self.trace: Trace = current_trace()
        self.is_open: bool = is_open
        self.number: int = next(_numbers)


_numbers: Final = itertools.count()
_frames: ContextVar[tuple[Frame, ...]] = ContextVar("tinyjax_ref_frames", default=())


class _Writes:
    """How many writes there have been, by which what is staged twice is found out."""

    count: int = 0


def writes() -> int:
    """Return how many writes there have been so far."""
    return _Writes.count


class _Typed:
    """What is said of an array that is known by its type."""

    __slots__ = ()

    @property
    def aval(self) -> ShapedArray:
        """The type of its contents."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return self.aval.shape

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of its elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of its elements."""
        return self.aval.size


class Ref(_Typed):
    """An array that is written in place; made by ``new_ref``.

    It is read by ``ref[index]``, where ``ref[...]`` is all of it, and written by
    ``ref[index] = value``.
    """

    __slots__ = ("__weakref__", "_cell", "_ended", "_number", "aval")

    aval: ShapedArray

    def __init__(self, value: Array) -> None:
        if not isinstance(value, Array):
            raise ArgumentError(f"Ref holds an array, but got {described(value)}: see new_ref.")
        self.aval = value.aval.strip_weak()
        self._cell = _Cell(value, current_trace())
        self._number = next(_numbers)
        self._ended = ""
        _alive.add(self)

    @classmethod
    def elsewhere(
        cls,
        get: Callable[[], Array],
        put: Callable[[Array], None],
        home: Trace,
        number: int,
    ) -> Ref:
        """Make a reference to what an object of another class holds.

        Args:
            get: returns the contents.
            put: takes them.
            home: the trace that was current when the object was made.
            number: what ``count`` returned then.
        """
        ref = cls(get())
        ref._cell = _CellElsewhere(get, put, home)
        ref._number = number
        return ref

    @property
    def at(self) -> _At:
        """Parts of it to read and write: ``ref.at[index]`` is a ``RefView``."""
        return _At(self)

    @property
    def is_written(self) -> bool:
        """Whether there is something in it that was written."""
        return self._cell.written

    @property
    def sharding(self) -> Sharding:
        """How its contents lie on devices."""
        return self.contents.sharding

    @property
    def committed(self) -> bool:
        """Whether its contents were put elsewhere than on the first device."""
        return self.contents.committed

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("a Ref without axes has no length.")
        return self.shape[0]

    @property
    def contents(self) -> Array:
        """The array that it holds, for a program: to give that to a user would let it be donated.

        Raises:
            RefError: the reference cannot be used here.
        """
        return self._own().value

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
        raise RefError(
            f"a Ref of type {self.aval} is no array: read it, ref[...]. One can be an argument of "
            "what jit, vmap, scan, cond, switch, checkpoint and custom_vjp make of a function, and "
            "of no other transformation's."
        )

    def addupdate(self, x: ArrayLike, idx: Any = ...) -> None:
        """Add to what is there."""
        _check_bounds(idx, self.aval)
        self._write(self._own().value.at[idx].add(x))

    def __repr__(self) -> str:
        value = self._ended or self._cell.value
        if isinstance(value, ConcreteArray):
            return repr(value).replace("Array", "Ref", 1)
        return f"Ref<{self.aval}>" if isinstance(value, Array) else f"Ref<{self.aval}, {value}>"

    def _own(self) -> _Cell:
        """Return the cell to read and write here.

        Raises:
            RefError: there is none.
        """
        if self._ended:
            raise RefError(f"a Ref of type {self.aval} is used {self._ended}.")
        return self._cell_in(_frames.get(), current_trace())

    def _cell_in(self, frames: Sequence[Frame], trace: Trace) -> _Cell:
        cell = self._cell
        frame = frames[-1] if frames else None
        if frame is not None and frame.number > self._number:
            own = frame.cells.get(self)
            if own is None:
                if not frame.is_open:
                    raise RefError(
                        f"a Ref of type {self.aval} is used by a function that did not use it when "
                        "it was staged before. It must use the same ones every time."
                    )
                outer = self._cell_in(frames[:-1], frame.trace.parent)
                own = frame.cells[self] = _Cell(outer.value, frame.trace)
            cell = own
        home = cell.trace
        while trace is not home:
            if isinstance(trace, EvalTrace) and isinstance(home, EvalTrace):
                break
            if trace.stages:
                raise RefError(
                    f"a Ref of type {self.aval} that was made outside is used in the "
                    f"{trace.describe()}, which keeps no state. jit, scan, while_loop, fori_loop, "
                    "map, cond, switch and checkpoint do. Elsewhere make the Ref inside, or pass "
                    "in ref[...] and return the new value."
                )
            if trace.parent is trace:
                raise RefError(
                    f"a Ref of type {self.aval} that was made in the {home.describe()} is used "
                    "outside of it. Return ref[...], an array."
                )
            trace = trace.parent
        return cell

    def _write(self, value: Array) -> None:
        cell = self._own()
        if (value.shape, value.dtype) != (self.shape, self.dtype):
            raise RefError(
                f"a Ref of type {self.aval} keeps its type, but {value.aval} was to be written."
            )
        if isinstance(value, Tracer) and not _is_within(value._trace, cell.trace):
            raise RefError(
                f"a value that depends on what is transformed by the {value._trace.describe()} was "
                f"to be written to a Ref of type {self.aval} that was made outside of it. Make the "
                "Ref inside, or return the value; lax.stop_gradient(value) has no derivative, and "
                "vmap writes to each example's part of a Ref that is mapped as an argument."
            )
        cell.value, cell.written = value.astype(value.dtype) if value.weak_type else value, True
        _Writes.count += 1


def _another(x: Array) -> Array:
    """Return an array that stays when ``x`` is deleted or donated, as a traced one cannot be."""
    return x if isinstance(x, Tracer) else x.copy()


def _check_bounds(index: Any, aval: ShapedArray) -> None:
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
                raise RefError(
                    f"index {part} is out of bounds for axis {axis}, of size {size}, of a Ref of "
                    f"type {aval}."
                )
        elif not isinstance(part, slice):
            return  # an array: what is beyond the ends is known when it runs
        axis += 1


class _At:
    """What ``ref.at`` is: indexed, it gives a part of a reference."""

    __slots__ = ("_of",)

    def __init__(self, of: Ref | RefView) -> None:
        self._of = of

    def __getitem__(self, index: Any) -> RefView:
        return RefView(self._of, index)


class RefView(_Typed):
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

    __slots__ = ("_index", "_of")

    def __init__(self, of: Ref | RefView, index: Any) -> None:
        self._of: Ref | RefView = of
        self._index: Any = index

    @property
    def aval(self) -> ShapedArray:
        """The type of its contents."""
        return self[...].aval

    @property
    def at(self) -> _At:
        """Parts of it."""
        return _At(self)

    def __jax_array__(self) -> Array:
        raise RefError(
            f"a part of a Ref, of type {self.aval}, is no array: read it, ref.at[...][...]."
        )

    def __len__(self) -> int:
        return len(self[...])

    def __iter__(self) -> Iterator[Array]:
        return iter(self[...])

    def __getitem__(self, index: Any) -> Array:
        value = self._of[self._index]
        return value if isinstance(index, EllipsisType) else value[index]

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        if not isinstance(index, EllipsisType):
            value = self[...].at[index].set(value)
        self._of[self._index] = value

    def addupdate(self, x: ArrayLike, idx: Any = ...) -> None:
        """Add to what is there."""
        if isinstance(idx, EllipsisType):
            self._of.addupdate(x, self._index)
        else:
            self._of[self._index] = self[...].at[idx].add(x)

    def __repr__(self) -> str:
        return f"{self._of!r}.at[{self._index!r}]"


@attrs.frozen(eq=False, repr=False)
class AbstractRef(_Typed, records.Record):
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

    inner_aval: ShapedArray
    memory_space: None = None
    kind: object = None

    @property
    def aval(self) -> ShapedArray:
        """The type of its contents."""
        return self.inner_aval

    def __str__(self) -> str:
        return f"Ref{{{self.inner_aval}}}"


class Form(Hashable, Protocol):
    """What is known of an object that holds arrays in place, but for these."""

    def make(self, refs: Sequence[Ref]) -> object:
        """Make an object of this form, which reads and writes these references."""
        ...

    def put(self, into: Any, contents: Sequence[Array]) -> None:
        """Give an object this form, and these arrays to hold."""
        ...


#: Classes of objects that hold arrays in place, as libraries declare them: of an object the
#: references to its contents, and its form.
HOLDERS: Final[dict[type, Callable[[Any], tuple[Sequence[Ref], Form]]]] = {}

_alive: Final[WeakSet[Ref | type]] = WeakSet()


def expect(kind: type) -> None:
    """Note that there are objects of a class of ``HOLDERS``."""
    _alive.add(kind)


def in_use() -> bool:
    """Say whether there is any reference, so that functions may use some."""
    return bool(_alive)


@attrs.frozen(eq=False, repr=False)
class _Opened(records.Printed):
    """A node of a tree: what holds arrays in place, as references to these.

    Attributes:
        form: what else is known of it.
        place: which one among the arguments it is.
        refs: its references.
    """

    form: Form
    place: int
    refs: Sequence[Any]

    @staticmethod
    def closed(known: tuple[Form, int], refs: Sequence[Any]) -> Any:
        """Make what is given to a function that is staged, if these are references."""
        form, place = known
        if not all(isinstance(x, Ref) for x in refs):
            return _Opened(form, place, refs)
        holder, holders = form.make(refs), _given.get()
        if holders is not None:
            holders[place] = holder, form
        return holder


@attrs.frozen(eq=False, repr=False)
class Refilled(records.Printed):
    """A node of a tree: what is left of an object that has got another form.

    Attributes:
        form: that form.
        place: which one among the arguments it is.
        contents: the arrays that it holds.
    """

    form: Form
    place: int
    contents: Sequence[Any]


tree.register_pytree_node(_Opened, lambda x: (x.refs, (x.form, x.place)), _Opened.closed)
tree.register_pytree_node(
    Refilled, lambda x: (x.contents, (x.form, x.place)), lambda known, xs: Refilled(*known, xs)
)

#: What a function that is being staged was given for objects that hold arrays in place, and what
#: form it had: by place.
_given: ContextVar[dict[int, tuple[Any, Form]] | None] = ContextVar(
    "tinyjax_given_holders", default=None
)


@contextmanager
def refilled() -> Iterator[list[Refilled]]:
    """Stage a function, and find which objects among its arguments it gives another form."""
    changes: list[Refilled] = []
    holders: dict[int, tuple[Any, Form]] = {}
    token = _given.set(holders)
    try:
        yield changes
    finally:
        _given.reset(token)
    for place, (value, before) in holders.items():
        refs, form = HOLDERS[type(value)](value)
        if form != before:
            changes.append(Refilled(form, place, [freeze(ref) for ref in refs]))


class Holders:
    """The objects among the leaves of arguments that hold arrays in place; true if there are any.

    References are such, too. A function that is staged is given others, of the same form. It may
    give them another form: that is a part of the program's result.

    Attributes:
        leaves: of the arguments, with references to what these objects hold in their place.
        in_tree: the structure of the arguments with that.
    """

    __slots__ = ("_objects", "in_tree", "leaves")

    def __init__(self, leaves: Sequence[Any], in_tree: tree.PyTreeDef) -> None:
        self._objects: list[Any] = [x for x in leaves if type(x) in HOLDERS]
        self.leaves: Sequence[Any] = leaves
        self.in_tree: tree.PyTreeDef = in_tree
        if self._objects:
            places = itertools.count()
            mixed = [_open(x, next(places)) if type(x) in HOLDERS else x for x in leaves]
            self.leaves, self.in_tree = tree.flatten(tree.unflatten(in_tree, mixed))

    def __bool__(self) -> bool:
        return bool(self._objects) or any(isinstance(x, Ref) for x in self.leaves)

    @property
    def refs(self) -> list[Ref]:
        """The references among the leaves."""
        return [x for x in self.leaves if isinstance(x, Ref)]

    @property
    def values(self) -> list[Any]:
        """The leaves, with the contents of references in their place."""
        return [x.contents if isinstance(x, Ref) else x for x in self.leaves]

    def keep(self, closed: Sequence[Ref], outcome: tuple[dict[int, Array], Sequence[Any], R]) -> R:
        """Write what a program has left of references and objects, and return its result.

        Args:
            closed: the references that the function uses beside its arguments.
            outcome: the contents that were written, by the references' numbers, the objects that
                got another form, and the result.
        """
        left, changed, result = outcome
        refs = [*closed, *self.refs]
        for i, value in left.items():
            keep(refs[i], value)
        for x in changed:
            x.form.put(self._objects[x.place], x.contents)
        return result


def _open(x: Any, place: int) -> _Opened:
    refs, form = HOLDERS[type(x)](x)
    return _Opened(form, place, refs)


def count() -> int:
    """Return a number that tells what is made now from what is made in other frames."""
    return next(_numbers)


def is_outermost(trace: Trace) -> bool:
    """Say whether a trace evaluates, and no function with references is being staged."""
    return isinstance(trace, EvalTrace) and not _frames.get()


def is_own(trace: Trace, number: int) -> bool:
    """Say whether something was made here: under this trace, and in the innermost frame."""
    frames = _frames.get()
    return trace is current_trace() and not (frames and frames[-1].number > number)


def end(ref: Ref, why: str) -> None:
    """Let a reference be used no more."""
    ref._ended = why


def _is_within(owner: Trace, home: Trace) -> bool:
    """Say whether values of a trace can be kept where those of another are: it is that or outer."""
    trace = home
    while trace is not owner:
        if trace.parent is trace:
            return False
        trace = trace.parent
    return True


def new_ref(init_val: ArrayLike, *, memory_space: None = None, kind: str | None = None) -> Ref:
    """Make an array that is written in place.

    Reads and writes may stand in any function. One that is staged apart may use references made
    outside of it in ``jit``, ``scan``, ``while_loop``, ``fori_loop``, ``map``, ``cond``, ``switch``
    and ``checkpoint``. Derivatives and ``vmap`` go through references that are made inside the
    function they are taken of. To one made outside of that, nothing can be written that depends on
    what is differentiated or mapped over.

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
        raise ArgumentError(f"new_ref takes no memory_space, but got {shortened(memory_space)}.")
    array = as_array(init_val)
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
    """
    _end(ref, "free_ref")


def _end(ref: Ref, name: str) -> Array:
    if not isinstance(ref, Ref):
        raise ArgumentError(f"{name} takes a Ref, but got {type(ref).__name__}.")
    cell = ref._own()
    if cell is not ref._cell or current_trace() is not cell.trace:
        raise RefError(
            f"{name} of a Ref of type {ref.aval} is called in another function than made it, which "
            "may not be run, or be run many times. Call it where the Ref was made."
        )
    ref._ended = f"after {name}"
    return cell.value


# What stages functions with them


def places_of_refs(leaves: Sequence[object]) -> list[int]:
    """Say which leaves of arguments are references: of no cost where there is none alive."""
    return [i for i, x in enumerate(leaves) if isinstance(x, Ref)] if in_use() else []


def check_given_once(refs: Sequence[Ref], by: str) -> None:
    """Raise where a function is given a reference twice, or one that it uses besides."""
    if len({*refs}) < len(refs):
        raise RefError(
            f"{by} is given a Ref twice, or one that it uses from outside as well. It may know a "
            "Ref by one name only."
        )


def closed_over(
    funs: Sequence[Callable[..., Any]], args: tuple[Any, ...]
) -> tuple[list[Callable[..., Any]], tuple[Any, ...]] | None:
    """Make functions of trees with references functions of the rest, which close over these.

    Returns:
        The functions, and the other leaves; None where there are no references.
    """
    leaves, in_tree = tree.flatten(args)
    refs = {i: x for i, x in enumerate(leaves) if isinstance(x, Ref) or type(x) in HOLDERS}
    if not refs:
        return None

    def closed(fun: Callable[..., Any]) -> Callable[..., Any]:
        def call(*rest: Any) -> Any:
            values = iter(rest)
            mixed = [refs[i] if i in refs else next(values) for i in range(len(leaves))]
            return fun(*tree.unflatten(in_tree, mixed))

        return imitate(call, fun)

    return [closed(fun) for fun in funs], tuple([x for i, x in enumerate(leaves) if i not in refs])


class Parts:
    """The references that a function is mapped over: each example has a reference to its part.

    Attributes:
        places: which leaves of the arguments they are.
        written: which of these the function wrote to, when it last ran.
    """

    __slots__ = ("_leaves", "places", "written")

    def __init__(self, leaves: Sequence[Any], places: Sequence[int], by: str) -> None:
        check_given_once([leaves[i] for i in places], by)
        self._leaves = leaves
        self.places: Sequence[int] = places
        self.written: list[int] = []

    def own(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves for one example, with a reference for each part."""
        return [Ref(x) if i in self.places else x for i, x in enumerate(leaves)]

    def left(self, own: Sequence[Any]) -> list[Array]:
        """End an example's references, and return the contents of those written to."""
        self.written = [i for i in self.places if own[i].is_written]
        return [freeze(own[i]) for i in self.written]

    def keep(self, values: Sequence[Array]) -> None:
        """Write what all examples have left of the references written to."""
        for i, value in zip(self.written, values, strict=True):
            keep(self._leaves[i], value)

    @contextmanager
    def mapped(self, by: str) -> Iterator[None]:
        """Refuse them as wholes while the function runs."""
        refs: list[Ref] = [self._leaves[i] for i in self.places]
        for ref in refs:
            ref._ended = f"from outside by what {by} maps over it, which knows it as an argument"
        try:
            yield
        finally:
            for ref in refs:
                ref._ended = ""


@contextmanager
def _entered(frame: Frame) -> Iterator[Frame]:
    token = _frames.set((*_frames.get(), frame))
    try:
        yield frame
    finally:
        _frames.reset(token)


def keep(ref: Ref, value: Array) -> None:
    """Write what a program has left of a reference's contents."""
    ref._write(value)


def can_be_used(ref: Ref) -> bool:
    """Say whether a reference can be read and written here."""
    try:
        ref._own()
    except RefError:
        return False
    return True


def discharge(
    fun: Callable[[], R], contents: Mapping[Ref, Array], others: list[Ref] | None = None
) -> tuple[dict[Ref, Array], R]:
    """Call a function that uses references made outside of it.

    Args:
        fun: the function.
        contents: what the references hold to it.
        others: where references are noted that it uses besides; None where it must not.

    Returns:
        What it leaves of those that it writes to, and its result.
    """
    trace = current_trace()
    cells = {ref: _Cell(value, trace) for ref, value in contents.items()}
    with _entered(Frame(cells, is_open=others is not None)):
        out = fun()
    if others is not None:
        others.extend(ref for ref in cells if ref not in contents)
    return {ref: cell.value for ref, cell in cells.items() if cell.written}, out


class Watch:
    """The references made outside of functions that these use, and whether they write to them."""

    __slots__ = ("_writes",)

    def __init__(self) -> None:
        self._writes: dict[Ref, bool] = {}

    def __bool__(self) -> bool:
        return bool(self._writes)

    @property
    def refs(self) -> list[Ref]:
        """All of them, in the order of their use."""
        return [*self._writes]

    @property
    def written(self) -> list[Ref]:
        """Those that are written to."""
        return [ref for ref, written in self._writes.items() if written]

    def include(self, other: Watch) -> None:
        """Note what another one has noted."""
        for ref, written in other._writes.items():
            self._writes[ref] = written or self._writes.get(ref, False)

    def over(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which notes those that it uses when it is staged."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            used: list[Ref] = []
            written, out = discharge(lambda: fun(*args, **kwargs), {}, used)
            for ref in used:
                self._writes[ref] = ref in written or self._writes.get(ref, False)
            return out

        return imitate(watched, fun)

    def contents(self) -> list[Array]:
        """Read those that are written to: the state that a program of the functions starts from."""
        return [ref.contents for ref in self.written]

    def keep(self, state: Sequence[Array]) -> None:
        """Write what a program has left of the state."""
        for ref, value in zip(self.written, state, strict=True):
            keep(ref, value)

    def discharged(self, fun: Callable[..., Any]) -> Callable[..., tuple[list[Array], Any]]:
        """Return a function of the state and the arguments, which returns the state and the result.

        What is only read is closed over.
        """
        written = self.written
        known = {ref: ref.contents for ref in self.refs if ref not in written}

        def stateful(state: Sequence[Array], *args: Any, **kwargs: Any) -> tuple[list[Array], Any]:
            before = dict(zip(written, state, strict=True))
            left, out = discharge(lambda: fun(*args, **kwargs), {**known, **before})
            return [left.get(ref, before[ref]) for ref in written], out

        return imitate(stateful, fun)

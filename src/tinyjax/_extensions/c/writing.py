"""The text of a function in C while it is written: values, loops, and where arrays are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax._base import frames
from tinyjax._extensions.c import syntax
from tinyjax._extensions.c.syntax import Index
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.dtypes import HostArray

Shape: TypeAlias = tuple[int, ...]
#: From an index to the expression of an element.
Element: TypeAlias = Callable[[Sequence[Index]], str]

#: So many elements are written one by one, as variables; more, where no memory is read for them.
_UNROLLED: Final = 16
_UNROLLED_VARIABLES: Final = 64
#: Both where sizes vary, so that most sizes have texts of one form.
_FEW: Final = 4
#: Expressions of more operations are divided, so that they can be read.
_LONG: Final = 12
_SHORT: Final = 2
_LONG_IN_LOOPS: Final = 60


@attrs.define(eq=False)
class CLine:
    """A statement, which is dropped where nothing reads the variable that it ``fills``."""

    text: str
    fills: str = ""
    source: frames.Source | None = None


@attrs.define(eq=False)
class CBlock:
    """Statements in braces after a head, or without either; ``repeats`` says that it is a loop."""

    head: str = ""
    lines: list[CLine | CBlock] = attrs.field(factory=list)
    repeats: bool = False
    source: frames.Source | None = None


@attrs.define(eq=False)
class CBuffer:
    """An array in memory, or a variable.

    Attributes:
        name: its name in C.
        shape: its shape.
        dtype: the type of its elements.
        block: the block that made it, and may write to it again; None for arguments and constants.
        is_variable: whether it is a variable of C with one element.
        is_kept: whether it is read after the text that writes to it, in the next iteration of a
            loop or by the caller.
    """

    name: str
    shape: Shape
    dtype: dtypes.DType
    block: CBlock | None = None
    is_variable: bool = False
    is_kept: bool = False


@attrs.frozen(eq=False)
class Storage:
    """A place in a buffer where an array lies in rows."""

    buffer: CBuffer
    shape: Shape
    offset: Index = attrs.field(factory=Index)

    @property
    def pointer(self) -> str:
        """The address of its first element."""
        name = self.buffer.name
        at = str(self.offset)
        return f"&{name}" if self.buffer.is_variable else name if at == "0" else f"({name} + {at})"

    def element(self, index: Sequence[Index]) -> str:
        """Write an element."""
        if self.buffer.is_variable:
            return self.buffer.name
        return f"{self.buffer.name}[{self.offset + syntax.linear(index, self.shape)}]"


@attrs.frozen(eq=False)
class CValue:
    """The value of a variable of a program.

    Attributes:
        shape: its shape; keys have an axis of two words more.
        dtype: its dtype; that of the words for keys.
        element: writes an element.
        cost: how many operations an element takes; 0 where it is only read.
        reads: the buffers that elements are read from.
        storage: where it is in memory, if it is.
        constant: its elements, where it is a constant.
    """

    shape: Shape
    dtype: dtypes.DType
    element: Element
    cost: int = 0
    reads: frozenset[CBuffer] = frozenset()
    storage: Storage | None = None
    constant: HostArray | None = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def first(self) -> str:
        """Write the first element, of a value that has one."""
        return self.element([Index()] * len(self.shape))

    def moved(self, shape: Shape, element: Element, cost: int = 0) -> CValue:
        """Return a value whose elements are elements of this one."""
        return CValue(shape, self.dtype, element, self.cost + cost, self.reads)

    def indexed(self, shape: Shape, place: Callable[[Sequence[Index]], Sequence[Index]]) -> CValue:
        """Return a value whose elements are those of this one at the places of their indices."""
        return self.moved(shape, lambda index: self.element(place(index)))

    def pinned(self, text: Callable[[int], str]) -> CValue:
        """Return the value with other texts for elements whose number is known."""

        def element(index: Sequence[Index]) -> str:
            place = syntax.linear(index, self.shape)
            return self.element(index) if place.terms else text(place.offset)

        return attrs.evolve(self, element=element)


@attrs.define
class _OpenLoop:
    """A loop over all indices of a shape, to which statements may be added.

    Attributes:
        inner: its innermost block.
        shape: the shape.
        index: the index of an iteration.
        variables: by buffer that it writes to, the place in it, and the variable with the element.
    """

    inner: CBlock
    shape: Shape
    index: list[Index]
    variables: dict[CBuffer, tuple[Storage, str]]


@attrs.define(eq=False)
class ValueScope:
    """The values of a program's variables, and how often each is still to be read."""

    values: dict[jx.Atom, CValue]
    remaining: Counter[jx.Atom]


class Writer:
    """Writes the body of a function.

    Attributes:
        body: the outermost block.
        block: the block that is written.
        source: the user's line that is written.
        name: the name that the user's line gives its result.
        targets: where results of the equation belong, by number.
        scopes: the programs that are being written, the innermost last.
        carried: the names of what loops carry, which is read by later iterations.
        constants: definitions of arrays of constants, by their names.
        assume_finite: whether a product with zero is zero, and a sum with zero the other term.
        sizes_vary: whether the text should have one form for many sizes.
        has_library: whether ``numbers`` begin with the addresses of functions of BLAS.
        most_unrolled: the number of elements that are written one by one.
        most_variables: the same where they are variables.
        tables: constant arrays that are arguments, by name, where sizes vary.
    """

    def __init__(
        self, assume_finite: bool = False, sizes_vary: bool = False, has_library: bool = False
    ) -> None:
        self.has_library = has_library
        self.assume_finite = assume_finite
        self.sizes_vary = sizes_vary
        self.most_unrolled = _FEW if sizes_vary else _UNROLLED
        self.most_variables = _FEW if sizes_vary else _UNROLLED_VARIABLES
        self.tables: dict[str, HostArray] = {}
        self.body = self.block = CBlock()
        self.source: frames.Source | None = None
        self.name = ""
        self.targets: dict[int, Storage] = {}
        self.scopes: list[ValueScope] = []
        self.carried: set[str] = set()
        self.constants: dict[str, str] = {}
        self.buffers: dict[str, CBuffer] = {}
        self._loop: _OpenLoop | None = None
        self._names: set[str] = set(syntax.RESERVED)
        self._counters: list[str] = []
        self._reads: list[bool] = []
        self._accesses: list[tuple[CBuffer, Index]] = []
        self._declarations: set[str] = set()

    # names and memory

    def new_name(self, base: str = "") -> str:
        """Return a name that nothing has, like another one."""
        stem = re.sub(r"\W", "_", base or self.name or "v") or "v"
        stem = f"v{stem}" if stem[0].isdigit() else stem
        name, n = stem, 1
        while name in self._names or syntax.helper(name):
            n += 1
            name = f"{stem}_{n}"
        self._names.add(name)
        return name

    def buffer(self, shape: Shape, dtype: dtypes.DType, name: str = "") -> CBuffer:
        """Return a new array of the block."""
        made = CBuffer(self.new_name(name), shape, dtype, self.block)
        self.buffers[made.name] = made
        return made

    def result(self, shape: Shape, dtype: dtypes.DType, number: int = 0) -> Storage:
        """Return where a result of the equation is to be written."""
        target = self.targets.get(number)
        return Storage(self.buffer(shape, dtype), shape) if target is None else target

    def variable(self, dtype: dtypes.DType, name: str = "") -> CBuffer:
        """Return a new variable of C, which is not declared yet."""
        return CBuffer(self.new_name(name), (), dtype, self.block, is_variable=True)

    def value(self, storage: Storage) -> CValue:
        """Return the value that a place in memory has."""
        buffer = storage.buffer

        def element(index: Sequence[Index]) -> str:
            loop = self._loop
            self._accesses.append((buffer, storage.offset + syntax.linear(index, storage.shape)))
            if loop is not None and buffer in loop.variables:
                place, variable = loop.variables[buffer]
                same = (storage.shape, storage.offset) == (place.shape, place.offset)
                same = same and [*index] == loop.index
                self._reads.append(same)
                if same:
                    return variable
            return storage.element(index)

        return CValue(storage.shape, buffer.dtype, element, 0, frozenset([buffer]), storage)

    def _counter(self, name: str, inside: Sequence[str] = ()) -> str:
        """Return the name of a loop's counter, which no loop around it and no value has."""
        taken = {*self._counters, *inside}
        names = "ijkl" if name == "i" else [name]  # which no value has
        return next((x for x in names if x not in taken), "") or self.new_name(name)

    # statements

    def line(self, text: str, fills: str = "") -> None:
        """Write a statement."""
        self.close()
        self.block.lines.append(CLine(text, fills, self.source))

    def line_if(self, test: str, text: str, fills: str = "") -> None:
        """Write a statement after a test; without the test, where it always holds."""
        self.line(f"if ({test}) {text}" if test else text, fills)

    def put(self, storage: Storage, index: Sequence[Index], text: str) -> None:
        """Write an element of a result."""
        self.line(f"{storage.element(index)} = {bare(text)};", self.filled(storage))

    def filled(self, storage: Storage) -> str:
        """Return the name of what statements fill that are dropped where nothing reads it."""
        buffer = storage.buffer
        return "" if buffer.is_kept and buffer.name not in self.carried else buffer.name

    def close(self) -> None:
        """End the loop over elements that is open, if one is."""
        self._loop = None

    @contextmanager
    def inside(self, head: str, repeats: bool = False) -> Iterator[CBlock]:
        """Write a block after ``head``."""
        self.close()
        outer, self.block = self.block, CBlock(head, [], repeats, self.source)
        outer.lines.append(self.block)
        try:
            yield self.block
        finally:
            self.close()
            self.block = outer

    @contextmanager
    def loop(self, size: int, name: str = "i", is_kept: bool = False) -> Iterator[Index]:
        """Write a loop with a counter; none is needed where there is one iteration."""
        if size == 1 and not is_kept:
            yield Index()
            return
        counter = self._counter(name)
        head = f"for (int {counter} = 0; {counter} < {size}; ++{counter})"
        with self.inside(head, repeats=True):
            self._counters.append(counter)
            yield Index(((counter, 1),), 0, 0, max(size - 1, 0))
            self._counters.pop()

    @contextmanager
    def loops(self, shape: Sequence[int], name: str = "i") -> Iterator[list[Index]]:
        """Write loops over all indices of a shape, the last innermost."""
        if not shape:
            yield []
            return
        with self.loop(shape[0], name) as first, self.loops(shape[1:], name) as rest:
            yield [first, *rest]

    # values in variables and in memory

    def _element_text(self, value: CValue, index: Sequence[Index]) -> tuple[str, bool, bool]:
        """Write an element; say whether it reads the open loop's variables, and others of them."""
        outer, self._reads = self._reads, []
        text = value.element(index)
        reads, self._reads = self._reads, outer
        outer.extend(reads)
        return text, bool(reads), not all(reads)

    def scalar(self, value: CValue, name: str = "") -> CValue:
        """Return a value of one element as one that costs nothing: a variable of C."""
        if not value.cost and not value.reads:
            return value
        text, depends, _ = self._element_text(value, [Index()] * len(value.shape))
        if depends:
            self.close()
            text = value.first()
        made = self._declared(text, value.dtype, name)
        return CValue(value.shape, value.dtype, lambda index: made)

    def _declared(self, text: str, dtype: dtypes.DType, name: str) -> str:
        """Return the name of a constant of C with a value; a number, or such a name, as it is."""
        is_known = isinstance(text, syntax.IndexText) or syntax.number(text) is not None
        if text in self._declarations or is_known:
            return text
        name = self.new_name(name)
        self._declarations.add(name)
        declared = f"const {syntax.c_type(dtype)} {name} = {bare(text)};"
        place = len(self.block.lines) - (self._loop is not None)
        self.block.lines.insert(place, CLine(declared, name, self.source))
        return name

    def stored(self, value: CValue, target: Storage | None = None, name: str = "") -> CValue:
        """Write a value into memory, or a variable, unless it is there.

        Args:
            value: the value.
            target: where it belongs; anywhere by default.
            name: its name.
        """
        if target is None:
            if value.storage is not None or not value.size:
                return value
            if value.size == 1:
                return self.scalar(value, name)
            target = Storage(self.buffer(value.shape, value.dtype, name), value.shape)
        if value.size and value.constant is None and self.unrolls(value.size, value):
            return self._spread(value, target)
        if value.storage is not None and value.size > 1:
            self._copy(value, value.storage, target)
        elif value.size:
            self._fill(value, target)
        return self.value(target)

    def unrolls(self, size: int, *operands: CValue) -> bool:
        """Return whether so many elements are written one by one, given what they are made of."""
        if size <= self.most_unrolled or size > self.most_variables:
            return size <= self.most_unrolled
        return any("[" not in x.first() for x in operands if x.size)

    def _spread(self, value: CValue, target: Storage) -> CValue:
        """Write elements one by one, each as a constant of C that is stored, too."""
        self.close()
        texts = []
        for number, index in enumerate(syntax.places(value.shape)):
            text = value.element(index)
            texts.append(self._declared(text, value.dtype, f"{target.buffer.name}_e{number}"))
            self.put(target, index, texts[-1])
        return self.value(target).pinned(texts.__getitem__)

    def unrolled(
        self, shape: Shape, dtype: dtypes.DType, element: Element, operands: Sequence[CValue]
    ) -> CValue:
        """Return a result of the equation whose elements are written one by one."""
        reads = frozenset[CBuffer]().union(*[x.reads for x in operands])
        value = CValue(shape, dtype, element, 1, reads)
        return (
            self.scalar(value)
            if value.size == 1
            else self._spread(value, self.result(shape, dtype))
        )

    def viewed(self, value: CValue, shape: Shape) -> CValue:
        """Return a value in memory under another shape."""
        assert value.storage is not None, "arrays of several elements are stored in memory"
        view = self.value(Storage(value.storage.buffer, shape, value.storage.offset))
        return view.pinned(
            lambda n: value.element(
                [*map(Index.constant, map(int, np.unravel_index(n, value.shape)))]
            )
        )

    def apart(self, value: CValue, other: CValue) -> CValue:
        """Return a value that reads nothing of what another one reads, which is to be changed."""
        if not value.reads & other.reads:
            return value
        if value.size == 1:
            return self.scalar(value)
        return self.stored(value, Storage(self.buffer(value.shape, value.dtype), value.shape))

    def cheap(self, value: CValue) -> CValue:
        """Return a value whose elements may be read several times."""
        return self.stored(value) if value.cost else value

    def settle(self, value: CValue, uses: int, name: str = "") -> CValue:
        """Return a value that is used so often: in memory, or still to be written."""
        if not value.cost or not value.size:
            return value
        if value.cost <= _SHORT and not value.reads and value.size > 1:
            return value  # a comparison of indices takes less than memory
        most = _LONG if value.size <= self.most_unrolled else _LONG_IN_LOOPS
        return self.stored(value, name=name) if uses > 1 or value.cost > most else value

    def may_overwrite(self, value: CValue, others: Sequence[CValue] = ()) -> bool:
        """Return whether a result may take the memory of a value, which nothing reads any more.

        Values that are still to be written, and small parts, are written now.

        Args:
            value: the value.
            others: values that are read later, too.
        """
        storage = value.storage
        if storage is None or storage.buffer.block is not self.block or storage.buffer.is_variable:
            return False
        pending = [
            (scope, var, x)
            for scope in self.scopes
            for var, x in scope.values.items()
            if scope.remaining[var] > 0 and storage.buffer in x.reads
        ]
        if any(storage.buffer in x.reads for x in others) or any(
            not x.cost and 2 * x.size > value.size for *_, x in pending
        ):
            return False
        for scope, var, x in pending:
            scope.values[var] = self.apart(x, value)
        return True

    def is_aligned(self, value: CValue, place: Storage) -> bool:
        """Return whether elements of a value read memory of a place in their own places alone."""
        index = [Index.term(f"@{axis}", n) for axis, n in enumerate(value.shape)]
        outer, self._accesses = self._accesses, []
        value.element(index)
        accesses, self._accesses = self._accesses, outer
        own = place.offset + syntax.linear(index, place.shape)
        return all(at == own for buffer, at in accesses if buffer is place.buffer)

    def _copy(self, value: CValue, source: Storage, target: Storage) -> None:
        self.line(
            f"memcpy({target.pointer}, {source.pointer}, "
            f"{value.size} * sizeof({syntax.c_type(value.dtype)}));",
            self.filled(target),
        )

    def _fill(self, value: CValue, target: Storage) -> None:
        loop, text, conflict = self._loop, "", True
        if loop is not None and loop.shape == value.shape:
            text, _, conflict = self._element_text(value, loop.index)
        if loop is None or conflict:
            loop = self._open(value.shape)
            text = value.element(loop.index)
            self._loop = loop
        name = self.new_name(f"{target.buffer.name}_e")
        declared = f"const {syntax.c_type(value.dtype)} {name} = {bare(text)};"
        loop.inner.lines += [
            CLine(declared, name, self.source),
            CLine(f"{target.element(loop.index)} = {name};", self.filled(target), self.source),
        ]
        loop.variables[target.buffer] = target, name

    def _open(self, shape: Shape) -> _OpenLoop:
        self.close()
        inner, index, counters = self.block, list[Index](), list[str]()
        for n in shape:
            if n == 1:
                index.append(Index())
                continue
            counters.append(self._counter("i", counters))
            head = f"for (int {counters[-1]} = 0; {counters[-1]} < {n}; ++{counters[-1]})"
            block = CBlock(head, [], repeats=True, source=self.source)
            inner.lines.append(block)
            inner = block
            index.append(Index.term(counters[-1], n))
        return _OpenLoop(inner, shape, index, {})


def bare(text: str) -> str:
    """Return an expression without the parentheses around all of it."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth and place < len(text) - 1:
            return text
    return text[1:-1]

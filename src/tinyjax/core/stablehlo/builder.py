"""A function of StableHLO under construction.

Operations are methods. Their operands and results are values that carry their types, so that the
type of a result is given only where it does not follow. All are printed in MLIR's generic form,
which needs one printer for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, Protocol, Self, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax.core.stablehlo.types import SSAValue, TensorType, dense, int_array, integer, tensor

Scalar: TypeAlias = bool | int | float | complex
#: Writes a block: takes its parameters, returns what the block returns.
Block: TypeAlias = Callable[[list[SSAValue]], Sequence[SSAValue]]


_BYTE: Final = dtypes.uint8
_WORD: Final = dtypes.uint32
_HALVED: Final = frozenset(d for d, held in dtypes.PHYSICAL.items() if held == dtypes.complex128)


class _Writer(Protocol):
    """The interface of the builder that the methods below use; the builder inherits from them."""

    def op(
        self, name: str, *operands: SSAValue, result: TensorType | None = None, **attributes: str
    ) -> SSAValue: ...


def _unary(name: str) -> Callable[[_Writer, SSAValue], SSAValue]:
    def write(self: _Writer, x: SSAValue) -> SSAValue:
        return self.op(name, x)

    return write


def _binary(name: str) -> Callable[[_Writer, SSAValue, SSAValue], SSAValue]:
    def write(self: _Writer, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.op(name, x, y)

    return write


def _part(name: str) -> Callable[[_Writer, SSAValue], SSAValue]:
    def write(self: _Writer, x: SSAValue) -> SSAValue:
        return self.op(name, x, result=tensor(x.shape, dtypes.real_part(x.dtype)))

    return write


class ModuleBuilder:
    """A builder of operations.

    Attributes:
        lines: the operations so far.
        orders: for values that are elementwise in a transposed value, by name, the axes in the
            order in which XLA has them in memory.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.orders: dict[str, tuple[int, ...]] = {}
        self._count = 0
        self._constants: dict[tuple[str, str], SSAValue] = {}
        self._host_values: dict[str, dtypes.HostArray] = {}
        self._iotas = set[str]()
        self._regions: list[str] = []

    # Elementwise operations on operands of one type

    neg: ClassVar[Callable[[_Writer, SSAValue], SSAValue]] = _unary("stablehlo.negate")
    exp: ClassVar[Callable[[_Writer, SSAValue], SSAValue]] = _unary("stablehlo.exponential")
    log1p: ClassVar[Callable[[_Writer, SSAValue], SSAValue]] = _unary("stablehlo.log_plus_one")
    not_: ClassVar[Callable[[_Writer, SSAValue], SSAValue]] = _unary("stablehlo.not")
    real: ClassVar[Callable[[_Writer, SSAValue], SSAValue]] = _part("stablehlo.real")
    imag: ClassVar[Callable[[_Writer, SSAValue], SSAValue]] = _part("stablehlo.imag")
    abs: ClassVar[Callable[[_Writer, SSAValue], SSAValue]] = _part("stablehlo.abs")
    add: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary("stablehlo.add")
    sub: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary("stablehlo.subtract")
    div: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary("stablehlo.divide")
    pow: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary("stablehlo.power")
    and_: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary("stablehlo.and")
    or_: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary("stablehlo.or")
    xor: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary("stablehlo.xor")
    shift_left: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary(
        "stablehlo.shift_left"
    )
    shift_right_logical: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary(
        "stablehlo.shift_right_logical"
    )
    shift_right_arithmetic: ClassVar[Callable[[_Writer, SSAValue, SSAValue], SSAValue]] = _binary(
        "stablehlo.shift_right_arithmetic"
    )

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """Write a product.

        XLA assumes that no square is negative, although that of an integer may wrap around. So a
        square of integers is written as a product of unsigned ones.
        """
        if x.name == y.name and dtypes.kind(x.dtype) == "i":
            bits = self.bitcast(x, np.dtype(f"u{x.dtype.itemsize}"))
            return self.bitcast(self.op("stablehlo.multiply", bits, bits), x.dtype)
        return self.op("stablehlo.multiply", x, y)

    def max(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """Write the greater of two; see ``_extremum`` for complex numbers."""
        return self._extremum("maximum", "GT", x, y)

    def min(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """Write the lesser of two; see ``_extremum`` for complex numbers."""
        return self._extremum("minimum", "LT", x, y)

    def _extremum(self, name: str, direction: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """Write an extremum of two values.

        XLA does not order complex numbers: the greater one has the greater real part, or where
        these are equal the greater imaginary one. A NaN in either wins, as among real numbers.
        """
        if x.dtype.kind != "c":
            return self.op(f"stablehlo.{name}", x, y)
        a, b = self.real(x), self.real(y)
        imaginary = self.compare(self.imag(x), self.imag(y), direction.replace("T", "E"))
        tied = self.and_(self.compare(a, b, "EQ"), imaginary)
        first = self.or_(self.compare(a, b, direction), tied)
        first = self.and_(first, self.compare(y, y, "EQ"))
        return self.select(self.or_(first, self.compare(x, x, "NE")), x, y)

    def compare(self, x: SSAValue, y: SSAValue, direction: str, *, total: bool = False) -> SSAValue:
        """Write a comparison: ``EQ``, ``NE``, ``LT``, ``LE``, ``GT`` or ``GE``.

        Args:
            x: the left operand.
            y: the right operand.
            direction: the comparison.
            total: whether floats are compared in their total order, which has places for NaN.
        """
        if x.dtype in _HALVED:  # the halves of a number that is only moved are no floats
            same, both = ("NE", self.or_) if direction == "NE" else ("EQ", self.and_)
            halves = zip(self._halves(x), self._halves(y), strict=True)
            return both(*[self.compare(a, b, same) for a, b in halves])
        if x.dtype in dtypes.STORED:
            x, y = self.unpack(x), self.unpack(y)
        floats = not total and dtypes.kind(x.dtype) == "f"
        if floats and direction in ("GE", "LE") and not (self.nonzero(x) or self.nonzero(y)):
            # XLA takes it for true that what has no sign, as ``abs(x)``, is at least 0; it may be
            # NaN.
            strictly = self.compare(x, y, direction.replace("E", "T"))
            return self.or_(strictly, self.compare(x, y, "EQ"))
        kind = "TOTALORDER" if total else "FLOAT"
        order = {"f": kind, "c": kind, "i": "SIGNED"}.get(dtypes.kind(x.dtype), "UNSIGNED")
        return self.op(
            "stablehlo.compare",
            x,
            y,
            result=tensor(x.shape, dtypes.bool_),
            comparison_direction=f"#stablehlo<comparison_direction {direction}>",
            compare_type=f"#stablehlo<comparison_type {order}>",
        )

    def select(self, predicate: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        """Emit an elementwise selection."""
        return self.op("stablehlo.select", predicate, on_true, on_false, result=on_true.type)

    def convert(self, x: SSAValue, dtype: dtypes.DType) -> SSAValue:
        """Write a conversion to another element type; none where that is the same."""
        if x.dtype == dtype:
            return x
        return self.op("stablehlo.convert", x, result=tensor(x.shape, dtype))

    def bitcast(self, x: SSAValue, dtype: dtypes.DType) -> SSAValue:
        """Write the reading of the bits as another type of the same size."""
        return self.op("stablehlo.bitcast_convert", x, result=tensor(x.shape, dtype))

    # Integers of 2 and 4 bits, each of which is held in the low bits of a byte

    def pack(self, x: SSAValue, dtype: dtypes.DType) -> SSAValue:
        """Write a conversion to a type in ``dtypes.STORED``: floats saturate, integers wrap."""
        info = dtypes.iinfo(dtype)
        if dtypes.is_float(x.dtype):
            x = self.convert(x, _BYTE if info.min == 0 else dtypes.int8)
            x = self.max(x, self.full_like(x, int(info.min)))
            x = self.min(x, self.full_like(x, int(info.max)))
        bits = self.bitcast(x, _BYTE) if x.dtype == dtypes.int8 else self.convert(x, _BYTE)
        mask = self.full_like(bits, (1 << dtypes.STORED[dtype]) - 1)
        return SSAValue(self.and_(bits, mask).name, tensor(x.shape, dtype))

    def unpack(self, x: SSAValue) -> SSAValue:
        """Write numbers of a type in ``dtypes.STORED`` as integers of 8 bits."""
        bits = SSAValue(x.name, tensor(x.shape, _BYTE))
        if dtypes.iinfo(x.dtype).min == 0:
            return bits
        signed = self.bitcast(bits, dtypes.int8)
        by = self.full_like(signed, 8 - dtypes.STORED[x.dtype])
        return self.shift_right_arithmetic(self.shift_left(signed, by), by)

    # Keys of random numbers, which are held in one number each (``dtypes.PHYSICAL``)

    def unwrap_key(self, x: SSAValue) -> SSAValue:
        """Write the words of keys, along a new last axis."""
        shape = (*x.shape, x.dtype.itemsize // 4)
        result = tensor(shape, dtypes.uint32)
        if x.dtype not in _HALVED:
            return self.op("stablehlo.bitcast_convert", x, result=result)
        halves = [self.reshape(half, (*x.shape, 1)) for half in self._halves(x)]
        words = [
            self.op("stablehlo.bitcast_convert", half, result=tensor((*half.shape, 2), _WORD))
            for half in halves
        ]
        return self.reshape(
            self.op(
                "stablehlo.concatenate",
                *words,
                result=tensor((*x.shape, 2, 2), _WORD),
                dimension=integer(x.ndim),
            ),
            shape,
        )

    def wrap_key(self, words: SSAValue, dtype: dtypes.DType) -> SSAValue:
        """Write the keys whose words lie along the last axis."""
        shape = words.shape[:-1]
        result = tensor(shape, dtype)
        if dtype not in _HALVED:
            return self.op("stablehlo.bitcast_convert", words, result=result)
        halves = self.reshape(words, (*shape, 2, 2))
        wide = tensor((*shape, 2), dtypes.float64)
        floats = self.op("stablehlo.bitcast_convert", halves, result=wide)
        zeros = (0,) * len(shape)
        parts = [
            self.reshape(self.slice(floats, (*zeros, i), (*shape, i + 1)), shape) for i in range(2)
        ]
        return self.op("stablehlo.complex", *parts, result=result)

    def _halves(self, x: SSAValue) -> list[SSAValue]:
        """Write the two halves of keys of 128 bits, as integers."""
        halves = tensor(x.shape, dtypes.float64)
        return [
            self.bitcast(self.op(f"stablehlo.{part}", x, result=halves), dtypes.uint64)
            for part in ("real", "imag")
        ]

    # Constants

    def constant(self, value: dtypes.HostArray) -> SSAValue:
        """Write a constant, once per value and block."""
        kind = tensor(value.shape, value.dtype)
        text = dense(value)
        entry = self._constants.get((text, kind.text))
        if entry is None:
            entry = self._constants[text, kind.text] = self.fresh(kind)
            self._host_values[entry.name] = value
            self.lines.append(
                f'{entry.name} = "stablehlo.constant"() '
                f"{{value = {text} : {kind.text}}} : () -> {kind.text}"
            )
        return entry

    def data_of(self, value: SSAValue) -> dtypes.HostArray | None:
        """Return the data of a value, where it is a constant."""
        return self._host_values.get(value.name)

    def nonzero(self, value: SSAValue) -> bool:
        """Return whether a value is a constant none of whose elements is 0."""
        host = self.data_of(value)
        return host is not None and bool(dtypes.without_repeats(host).all())

    def scalar(self, value: Scalar, dtype: dtypes.DType) -> SSAValue:
        """Write a scalar constant."""
        return self.constant(np.asarray(value, dtype))

    def full(self, value: Scalar, result: TensorType) -> SSAValue:
        """Write a constant of one element, repeated."""
        host = np.array(value, result.dtype)
        if result.shape:
            host = np.ndarray(result.shape, result.dtype, host, 0, (0,) * len(result.shape))
        return self.constant(host)

    def full_like(self, x: SSAValue, value: Scalar) -> SSAValue:
        """Write a constant of the type of a value."""
        return self.full(value, x.type)

    def iota(self, result: TensorType, axis: int) -> SSAValue:
        """Write an array whose elements are their own index along an axis."""
        out = self.op("stablehlo.iota", result=result, iota_dimension=integer(axis))
        if len(result.shape) == 1:
            self._iotas.add(out.name)
        return out

    def is_iota(self, x: SSAValue) -> bool:
        """Return whether the elements of a vector are their own indices."""
        return x.name in self._iotas

    # Rearrangements

    def reshape(self, x: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """Write the same elements in another shape."""
        return self.op("stablehlo.reshape", x, result=tensor(shape, x.dtype))

    def transpose(self, x: SSAValue, perm: Sequence[int]) -> SSAValue:
        """Write the same elements with axes in another order: axis ``i`` was axis ``perm[i]``."""
        of = tensor(tuple([x.shape[i] for i in perm]), x.dtype)
        out = self.op("stablehlo.transpose", x, result=of, permutation=int_array(perm))
        order = self.orders.get(x.name, range(x.ndim))
        self.orders[out.name] = tuple([order[i] for i in perm])
        return out

    def broadcast_in_dim(
        self, x: SSAValue, shape: tuple[int, ...], dims: Sequence[int]
    ) -> SSAValue:
        """Write a broadcast: axis ``i`` of the operand becomes axis ``dims[i]``."""
        return self.op(
            "stablehlo.broadcast_in_dim",
            x,
            result=tensor(shape, x.dtype),
            broadcast_dimensions=int_array(dims),
        )

    def slice(
        self, x: SSAValue, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] = ()
    ) -> SSAValue:
        """Write a slice with fixed bounds; the strides are ones by default."""
        steps = strides or (1,) * x.ndim
        sizes = [-((a - b) // s) for a, b, s in zip(starts, limits, steps, strict=True)]
        return self.op(
            "stablehlo.slice",
            x,
            result=tensor(tuple(sizes), x.dtype),
            start_indices=int_array(starts),
            limit_indices=int_array(limits),
            strides=int_array(steps),
        )

    def dynamic_slice(
        self, x: SSAValue, starts: Sequence[SSAValue], sizes: tuple[int, ...]
    ) -> SSAValue:
        """Write a slice that starts where scalars say."""
        result = tensor(sizes, x.dtype)
        name = "stablehlo.dynamic_slice"
        return self.op(name, x, *starts, result=result, slice_sizes=int_array(sizes))

    def dynamic_update_slice(
        self, x: SSAValue, update: SSAValue, starts: Sequence[SSAValue]
    ) -> SSAValue:
        """Write an array with a slice replaced that starts where scalars say."""
        return self.op("stablehlo.dynamic_update_slice", x, update, *starts)

    # Operations with regions

    def reduce(
        self,
        operands: Sequence[SSAValue],
        initial: Sequence[SSAValue],
        axes: Sequence[int],
        combine: Callable[[Self, list[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """Write a reduction of several arrays together.

        Args:
            operands: the arrays.
            initial: for each array a scalar, the identity of ``combine``.
            axes: the reduced axes.
            combine: writes one step, given the scalars so far and the next ones, one for each
                array.
        """
        shape = tuple([n for i, n in enumerate(operands[0].shape) if i not in axes])
        scalars = [x.type for x in initial]
        region = self.region((*scalars, *scalars), lambda args: combine(self, args))
        return self.emit(
            "stablehlo.reduce",
            (*operands, *initial),
            [tensor(shape, x.dtype) for x in operands],
            {"dimensions": int_array(axes)},
            (region,),
        )

    def while_(self, state: Sequence[SSAValue], condition: Block, body: Block) -> list[SSAValue]:
        """Write a loop; the condition and the body take the state."""
        types = [x.type for x in state]
        regions = [self.region(types, condition), self.region(types, body)]
        return self.emit("stablehlo.while", state, types, {}, regions)

    # Any operation

    def op(
        self, name: str, *operands: SSAValue, result: TensorType | None = None, **attributes: str
    ) -> SSAValue:
        """Write an operation with one result, by default of the type of the first operand."""
        of = operands[0].type if result is None else result
        return self.emit(name, operands, (of,), attributes)[0]

    def emit(
        self,
        name: str,
        operands: Sequence[SSAValue],
        results: Sequence[TensorType],
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[str] = (),
    ) -> list[SSAValue]:
        """Write an operation, given the types of its results."""
        names: list[str] = []
        in_types: list[str] = []
        for x in operands:
            names.append(x.name)
            in_types.append(x.type.text)
        text = f'"{name}"({", ".join(names)})'
        if regions:
            text += f" ({', '.join(regions)})"
        if attributes:
            text += " {" + ", ".join(map(" = ".join, attributes.items())) + "}"
        text += f" : ({', '.join(in_types)}) -> "
        if len(results) == 1:  # nearly always
            self._count += 1
            out = SSAValue(f"%{self._count}", results[0])
            self.lines.append(f"{out.name} = {text}({results[0].text})")
            if self.orders and not attributes and not regions:
                for x in operands:
                    if x.name in self.orders and x.shape == out.shape:
                        self.orders[out.name] = self.orders[x.name]
            return [out]
        text += f"({', '.join([of.text for of in results])})"
        if not results:
            self.lines.append(text)
            return []
        self._count += 1
        self.lines.append(f"%{self._count}:{len(results)} = {text}")
        return [SSAValue(f"%{self._count}#{i}", of) for i, of in enumerate(results)]

    def fresh(self, result: TensorType) -> SSAValue:
        """Return a value whose name was not used before in this function."""
        self._count += 1
        return SSAValue(f"%{self._count}", result)

    def region(
        self, parameters: Sequence[TensorType], body: Block, end: str = "stablehlo.return"
    ) -> str:
        """Write a region: one block with parameters of the given types, and how it ends."""
        values = [self.fresh(of) for of in parameters]
        outer_lines, outer_constants = self.lines, self._constants
        # constants that are emitted inside stay inside
        lines: list[str] = []
        self.lines, self._constants = lines, dict(outer_constants)
        try:
            self.emit(end, body(values), ())
        finally:
            self.lines, self._constants = outer_lines, outer_constants
        header = ", ".join([f"{x.name}: {x.type.text}" for x in values])
        block = f"^bb0({header}):\n      " if values else "\n      "
        self._regions.append("{\n    " + block + "\n      ".join(lines) + "\n    }")
        return f"\0{len(self._regions) - 1}\0"

    def assembled(self, text: str) -> str:
        """Return a text in which marks are replaced by their regions.

        A region is stored once, however many others it is in: with each copied into the next, a
        thousand nested loops took seven times as long.
        """
        pieces: list[str] = []
        pending = [iter(text.split("\0"))]
        while pending:
            # text, the number of a region, text, and so on
            for part in pending[-1]:
                pieces.append(part)
                number = next(pending[-1], None)
                if number is not None:
                    pending.append(iter(self._regions[int(number)].split("\0")))
                    break
            else:
                pending.pop()
        return "".join(pieces)

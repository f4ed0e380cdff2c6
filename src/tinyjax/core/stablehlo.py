"""Writing StableHLO: from a jaxpr to the text of an MLIR module.

A ``Lowering`` is a function under construction. For each equation it holds the types of the
operands and results, and the primitive's lowering rule writes operations through ``op``. All
operations are written in MLIR's generic form, which needs one printer for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import splat
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, Lit, Var, effects
from tinyjax.core.primitive import HostArray, HostResult
from tinyjax.dtypes import DType
from tinyjax.errors import EffectOrderError

#: Takes one NumPy array per operand, and returns one per result, of exactly the types declared.
HostFunction = Callable[..., Sequence[HostArray]]

_ELEMENT_TYPES: Mapping[DType, str] = {
    dtypes.bool_: "i1",
    **{d: f"i{d.itemsize * 8}" for d in dtypes.SIGNED},
    **{d: f"ui{d.itemsize * 8}" for d in dtypes.UNSIGNED},
    dtypes.float8_e4m3fn: "f8E4M3FN",
    dtypes.float8_e5m2: "f8E5M2",
    dtypes.float8_e4m3b11fnuz: "f8E4M3B11FNUZ",
    dtypes.float8_e4m3fnuz: "f8E4M3FNUZ",
    dtypes.float8_e5m2fnuz: "f8E5M2FNUZ",
    dtypes.bfloat16: "bf16",
    dtypes.float16: "f16",
    dtypes.float32: "f32",
    dtypes.float64: "f64",
    dtypes.complex64: "complex<f32>",
    dtypes.complex128: "complex<f64>",
}

_type_texts: dict[ShapedArray, str] = {}


def element_type(dtype: DType) -> str:
    """Return MLIR's name of an element type."""
    return _ELEMENT_TYPES[dtype]


def tensor_type(aval: ShapedArray) -> str:
    """Return MLIR's name of a type, such as ``tensor<2x3xf32>``."""
    found = _type_texts.get(aval)
    if found is None:
        dims = "".join(f"{d}x" for d in aval.shape)
        found = _type_texts[aval] = f"tensor<{dims}{_ELEMENT_TYPES[aval.dtype]}>"
    return found


def int_array(values: Sequence[int]) -> str:
    """Write an attribute such as ``array<i64: 0, 1>``."""
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def bool_array(values: Sequence[bool]) -> str:
    """Write an attribute such as ``array<i1: true, false>``."""
    return f"array<i1: {', '.join(map(_bool, values))}>" if values else "array<i1>"


def pairs(values: Sequence[tuple[int, int]]) -> str:
    """Write a dense ``n x 2`` attribute, such as padding."""
    if not values:
        return "dense<> : tensor<0x2xi64>"
    body = ", ".join(f"[{a}, {b}]" for a, b in values)
    return f"dense<[{body}]> : tensor<{len(values)}x2xi64>"


def integer(value: int, width: int = 64) -> str:
    """Write an integer attribute."""
    return f"{value} : i{width}"


def boolean(value: bool) -> str:
    """Write a boolean attribute."""
    return _bool(value)


def _bool(value: object) -> str:
    return "true" if value else "false"


def _element(value: HostResult, dtype: DType) -> str:
    if dtype == dtypes.bool_:
        return _bool(value)
    if dtype.kind in "iu":
        return str(int(value))
    if dtype.kind == "c":
        part = dtypes.real_part(dtype)
        real, imag = np.asarray(value.real, part), np.asarray(value.imag, part)
        return f"({_element(real, part)}, {_element(imag, part)})"
    # The bits, so that every value including NaN is written exactly.
    return "0x" + np.asarray(value, dtype).tobytes()[::-1].hex().upper()


def dense(value: HostArray) -> str:
    """Write an array as a dense attribute without its type."""
    dtype = value.dtype
    if value.size == 0:
        return "dense<>"
    if not any(value.strides):  # a scalar, or one repeated
        return f"dense<{_element(value.flat[0], dtype)}>"
    if dtype == dtypes.bool_:
        return f"dense<{_nested(value)}>"
    return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'


def _nested(value: HostArray) -> str:
    if value.ndim == 0:
        return _bool(value)
    return "[" + ", ".join(_nested(v) for v in value) + "]"


class Module:
    """The functions of a module under construction, one for each distinct jaxpr that is called.

    Attributes:
        host_functions: the Python functions that it calls, by their number.
    """

    def __init__(self) -> None:
        self.host_functions: list[HostFunction] = []
        self._functions: list[str] = []
        self._names: dict[bytes, str] = {}

    def function(self, jaxpr: Jaxpr, name: str) -> str:
        """Return the name of the function for a jaxpr, writing it first where there is none."""
        digest = jaxpr.digest
        found = self._names.get(digest)
        if found is None:
            found = self._names[digest] = f"{_identifier(name)}_{len(self._names)}"
            self.define(jaxpr, found, "private", ())
        return found

    def define(
        self, jaxpr: Jaxpr, name: str, visibility: str, aliases: Sequence[int | None]
    ) -> None:
        """Write a function; ``aliases`` says which result may take a parameter's memory."""
        lowering = Lowering(self)
        operands = [f"%arg{i}" for i in range(len(jaxpr.in_binders))]
        outs = lowering.lower(jaxpr, operands)
        out_types = ", ".join(tensor_type(a) for a in jaxpr.out_avals)
        parameters = []
        for i, (operand, aval) in enumerate(zip(operands, jaxpr.in_avals, strict=True)):
            alias = aliases[i] if aliases else None
            attribute = "" if alias is None else f" {{tf.aliasing_output = {alias} : i32}}"
            parameters.append(f"{operand}: {tensor_type(aval)}{attribute}")
        returned = f"func.return {', '.join(outs)} : {out_types}" if outs else "func.return"
        body = "\n".join(f"    {line}" for line in (*lowering.lines, returned))
        self._functions.append(
            f"  func.func {visibility} @{name}({', '.join(parameters)}) -> ({out_types}) "
            f"{{\n{body}\n  }}"
        )

    def text(self, name: str) -> str:
        functions = "\n".join(reversed(self._functions))
        return f"module @{_identifier(name)} {{\n{functions}\n}}\n"


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "f"


class Lowering:
    """A function under construction, and the equation being lowered.

    Attributes:
        module: the module it belongs to.
        lines: the operations written so far.
        avals_in: the types of the current equation's operands.
        avals_out: the types of its results.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self.avals_in: Sequence[ShapedArray] = ()
        self.avals_out: Sequence[ShapedArray] = ()
        self._count = 0
        self._constants: dict[tuple[str, str], str] = {}
        # What the ordered callbacks written so far in this block leave to the next one.
        self._turn: str | None = None
        # Whether an operation before this place has ordered callbacks in its regions.
        self._turn_lost = False
        self._ordered_within = False

    def fresh(self) -> str:
        """Return a name not used before in this function."""
        self._count += 1
        return f"%{self._count}"

    def lower(self, jaxpr: Jaxpr, operands: Sequence[str]) -> list[str]:
        """Write the equations of a jaxpr here, inline, and return the names of its results."""
        env: dict[Var, str] = dict(zip(jaxpr.in_binders, operands, strict=True))
        saved = self.avals_in, self.avals_out
        for eqn in jaxpr.eqns:
            names = [
                self.constant(x.value.host) if isinstance(x, Lit) else env[x] for x in eqn.inputs
            ]
            self.avals_in = [x.aval for x in eqn.inputs]
            self.avals_out = [v.aval for v in eqn.out_binders]
            outs = eqn.primitive.rules.lowering(self, names, eqn.params)
            if self._ordered_within:
                self._lose_turn(eqn.primitive.name)
            env.update(zip(eqn.out_binders, outs, strict=True))
        self.avals_in, self.avals_out = saved
        return [self.constant(x.value.host) if isinstance(x, Lit) else env[x] for x in jaxpr.outs]

    def constant(self, value: HostArray) -> str:
        """Write a constant, once per value and function."""
        kind = tensor_type(ShapedArray(value.shape, value.dtype))
        text = dense(value)
        found = self._constants.get((text, kind))
        if found is None:
            found = self._constants[text, kind] = self.fresh()
            self.lines.append(
                f'{found} = "stablehlo.constant"() {{value = {text} : {kind}}} : () -> {kind}'
            )
        return found

    def scalar(self, value: bool | int | float | complex, dtype: DType) -> str:
        """Write a scalar constant."""
        return self.constant(np.asarray(value, dtype))

    def full(self, value: bool | int | float | complex, aval: ShapedArray) -> str:
        """Write an array that holds one value everywhere."""
        return self.constant(splat(value, aval).host)

    def broadcast(
        self, operand: str, aval: ShapedArray, out: ShapedArray, dims: Sequence[int]
    ) -> str:
        """Write ``broadcast_in_dim``: axis ``i`` of the operand becomes axis ``dims[i]``."""
        attributes = {"broadcast_dimensions": int_array(dims)}
        return self.op1("stablehlo.broadcast_in_dim", (operand,), (aval,), out, attributes)

    def op(
        self,
        name: str,
        operands: Sequence[str],
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[str] = (),
    ) -> list[str]:
        """Write one operation with the current equation's operand and result types."""
        return self.emit(name, operands, self.avals_in, self.avals_out, attributes, regions)

    def op1(
        self,
        name: str,
        operands: Sequence[str],
        avals_in: Sequence[ShapedArray],
        aval_out: ShapedArray,
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[str] = (),
    ) -> str:
        """Write one operation with types of its own and one result."""
        (out,) = self.emit(name, operands, avals_in, (aval_out,), attributes, regions)
        return out

    def emit(
        self,
        name: str,
        operands: Sequence[str],
        avals_in: Sequence[ShapedArray],
        avals_out: Sequence[ShapedArray],
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[str] = (),
    ) -> list[str]:
        """Write one operation in generic form and return the names of its results."""
        in_types = ", ".join([tensor_type(a) for a in avals_in])
        out_types = ", ".join([tensor_type(a) for a in avals_out])
        text = f'"{name}"({", ".join(operands)})'
        if regions:
            text += f" ({', '.join(regions)})"
        if attributes:
            text += " {" + ", ".join([f"{k} = {v}" for k, v in attributes.items()]) + "}"
        text += f" : ({in_types}) -> ({out_types})"
        if not avals_out:
            self.lines.append(text)
            return []
        result = self.fresh()
        if len(avals_out) == 1:
            self.lines.append(f"{result} = {text}")
            return [result]
        self.lines.append(f"{result}:{len(avals_out)} = {text}")
        return [f"{result}#{i}" for i in range(len(avals_out))]

    def region(
        self,
        avals: Sequence[ShapedArray],
        body: Callable[[list[str]], Sequence[str]],
        out_avals: Sequence[ShapedArray],
    ) -> str:
        """Write a region: a block whose parameters have the given types.

        ``body`` writes the operations, given the parameters' names, and returns the names of what
        the block returns.
        """
        parameters = [self.fresh() for _ in avals]
        with self._block() as lines:
            outs = body(parameters)
            self.emit("stablehlo.return", outs, out_avals, ())
        header = ", ".join(f"{p}: {tensor_type(a)}" for p, a in zip(parameters, avals, strict=True))
        block = f"^bb0({header}):\n      " if parameters else "\n      "
        return "{\n    " + block + "\n      ".join(lines) + "\n    }"

    @contextmanager
    def _block(self) -> Iterator[list[str]]:
        """Collect what is written into lines of its own; constants written inside stay inside."""
        outer_lines, outer_constants = self.lines, self._constants
        outer_turn, outer_lost = self._turn, self._turn_lost
        outer_within = self._ordered_within
        self.lines, self._constants = [], dict(outer_constants)
        self._turn, self._turn_lost, self._ordered_within = None, False, False
        try:
            yield self.lines
        finally:
            within = self._has_ordered()
            self.lines, self._constants = outer_lines, outer_constants
            self._turn, self._turn_lost = outer_turn, outer_lost
            self._ordered_within = outer_within or within

    def call(self, jaxpr: Jaxpr, name: str, operands: Sequence[str]) -> list[str]:
        """Write a call of the function for a jaxpr.

        One with ordered effects is written inline, where its callbacks take their turns among the
        others.
        """
        if effects(jaxpr).ordered:
            return self.lower(jaxpr, operands)
        function = self.module.function(jaxpr, name)
        attributes = {"callee": f"@{function}"}
        return self.emit("func.call", operands, jaxpr.in_avals, jaxpr.out_avals, attributes)

    def host_call(
        self,
        fun: HostFunction,
        operands: Sequence[str],
        effectful: bool = False,
        ordered: bool = False,
    ) -> list[str]:
        """Write a call of a Python function, with the current equation's types.

        Args:
            fun: the function; it is called on the host while the program runs.
            operands: the names of its arguments.
            effectful: whether it must be called even where its results are not used.
            ordered: whether it must be called after the ordered ones written before it.

        Raises:
            EffectOrderError: it is ordered, and earlier ones are inside a loop or a branch.
        """
        avals_in, avals_out = tuple(self.avals_in), tuple(self.avals_out)
        if ordered:
            if self._turn_lost:
                raise EffectOrderError(_ORDER_LOST)
            # Data that each call hands to the next: the one order that XLA keeps. What it is, only
            # the call knows, so that nothing can be simplified.
            fun = _passing_turn(fun)
            operands = (self._turn or self.scalar(0, dtypes.int32), *operands)
            avals_in, avals_out = (_TURN, *avals_in), (_TURN, *avals_out)
        self.module.host_functions.append(fun)
        attributes = {
            "call_target_name": '"xla_ffi_python_cpu_callback"',
            "api_version": integer(4, 32),
            "has_side_effect": boolean(effectful or ordered),
            "backend_config": f"{{index = {len(self.module.host_functions) - 1} : ui64}}",
            "operand_layouts": _row_major(avals_in),
            "result_layouts": _row_major(avals_out),
        }
        outs = self.emit("stablehlo.custom_call", operands, avals_in, avals_out, attributes)
        if not ordered:
            return outs
        self._turn = outs[0]
        return outs[1:]

    def _has_ordered(self) -> bool:
        return self._turn is not None or self._turn_lost

    def _lose_turn(self, name: str) -> None:
        """Note that ordered callbacks are called inside the operation just written.

        Among themselves they keep their order, but nothing says when the operation runs.
        """
        if self._has_ordered():
            raise EffectOrderError(_ORDER_LOST)
        self._turn_lost, self._ordered_within = True, False


_TURN = ShapedArray((), dtypes.int32)
_ORDER_LOST = (
    "a compiled program has ordered callbacks inside a loop or a branch, and others before or "
    "after it: XLA would not keep their order. Use ordered=False, compile the parts apart, or "
    "run the function without jit."
)


def _passing_turn(fun: HostFunction) -> HostFunction:
    def call(turn: HostArray, *args: HostArray) -> Sequence[HostArray]:
        return (turn, *fun(*args))

    return call


def _row_major(avals: Sequence[ShapedArray]) -> str:
    """Write the layouts of arrays as NumPy has them."""
    texts = []
    for aval in avals:
        dims = ", ".join(map(str, reversed(range(aval.ndim))))
        texts.append(f"dense<{f'[{dims}]' if dims else ''}> : tensor<{aval.ndim}xindex>")
    return f"[{', '.join(texts)}]"


def module_text(jaxpr: Jaxpr, name: str = "main", aliases: Sequence[int | None] = ()) -> str:
    """Return the StableHLO module that computes a jaxpr, its entry point called ``main``."""
    return write_module(jaxpr, name, aliases)[0]


def write_module(
    jaxpr: Jaxpr, name: str = "main", aliases: Sequence[int | None] = ()
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr, and the Python functions that it calls."""
    module = Module()
    module.define(jaxpr, "main", "public", aliases)
    return module.text(name), tuple(module.host_functions)

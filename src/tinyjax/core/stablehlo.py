"""Writing StableHLO: from a jaxpr to the text of an MLIR module.

A ``Lowering`` is a function under construction. For each equation it holds the types of the
operands and results, and the primitive's lowering rule writes operations through ``op``. All
operations are written in MLIR's generic form, which needs one printer for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import first_element, splat
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, Lit, Var, effects
from tinyjax.core.nesting import LEVEL
from tinyjax.core.primitive import HostArray, HostResult
from tinyjax.core.unnest import unnest
from tinyjax.dtypes import DType
from tinyjax.errors import EffectOrderError

#: Takes one NumPy array per operand, and returns one per result, of exactly the types declared.
HostFunction = Callable[..., Sequence[HostArray]]

#: The axes of an array in memory, the one whose elements lie next to each other first.
Layout = tuple[int, ...]

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
        return f"dense<{_element(first_element(value), dtype)}>"
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
        body = lowering.assembled("\n".join(f"    {line}" for line in (*lowering.lines, returned)))
        self._functions.append(
            f"  func.func {visibility} @{name}({', '.join(parameters)}) -> ({out_types}) "
            f"{{\n{body}\n  }}"
        )

    def embed(self, key: bytes, read: Callable[[], str], name: str) -> str:
        """Return the name of another module's entry point, writing its functions where not done.

        Args:
            key: which module that is.
            read: returns its text.
            name: what to call its entry point, ``main``.
        """
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = f"{_identifier(name)}_{len(self._names)}"
            self._functions.append(_functions_of(read(), found))
        return found

    def text(self, name: str) -> str:
        functions = "\n".join(reversed(self._functions))
        return f"module @{_identifier(name)} {{\n{functions}\n}}\n"


_DEFINITION: Final = re.compile(r"func\.func (?:public |private )?@([\w$.-]+)")
# What has an @ and is no function of the module is matched as well, and left as it is.
_STRING_OR_SYMBOL: Final = re.compile(r'"(?:[^"\\]|\\.)*"|custom_call @|@([\w$.-]+)')


def _functions_of(module: str, entry: str) -> str:
    """Return the functions in a module's text under names that no other module's have."""
    first = module.index("\n", module.index("module ")) + 1
    functions = module[first : module.rindex("}")].rstrip()
    defined = frozenset(_DEFINITION.findall(functions))

    def rename(found: re.Match[str]) -> str:
        name = found[1]
        if name not in defined:
            return found[0]
        # no name of ours has a dot in it
        return f"@{entry}" if name == "main" else f"@{entry}.{name}"

    renamed = _STRING_OR_SYMBOL.sub(rename, functions)
    return renamed.replace("func.func public ", "func.func private ")


def _identifier(name: str) -> str:
    """Return a name that MLIR takes; Python's may begin with a digit, or have other letters."""
    letters = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{letters}" if letters[:1].isdigit() else letters or "f"


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
        self._values: dict[str, HostArray] = {}
        self._regions: list[str] = []
        # What the ordered callbacks written so far in this block leave to the next one.
        self._turn: str | None = None

    def fresh(self) -> str:
        """Return a name not used before in this function."""
        self._count += 1
        return f"%{self._count}"

    def lower(self, jaxpr: Jaxpr, operands: Sequence[str]) -> list[str]:
        """Write the equations of a jaxpr here, inline, and return the names of its results."""
        env: dict[Var, str] = dict(zip(jaxpr.in_binders, operands, strict=True))
        saved = self.avals_in, self.avals_out
        with LEVEL:
            self._write(jaxpr, env)
        self.avals_in, self.avals_out = saved
        return [self.constant(x.value.host) if isinstance(x, Lit) else env[x] for x in jaxpr.outs]

    def _write(self, jaxpr: Jaxpr, env: dict[Var, str]) -> None:
        for eqn in jaxpr.eqns:
            names = [
                self.constant(x.value.host) if isinstance(x, Lit) else env[x] for x in eqn.inputs
            ]
            self.avals_in = eqn.in_avals
            self.avals_out = eqn.out_avals
            outs = eqn.primitive.rules.lowering(self, names, eqn.params)
            env.update(zip(eqn.out_binders, outs, strict=True))

    def constant(self, value: HostArray) -> str:
        """Write a constant, once per value and function."""
        kind = tensor_type(ShapedArray(value.shape, value.dtype))
        text = dense(value)
        found = self._constants.get((text, kind))
        if found is None:
            found = self._constants[text, kind] = self.fresh()
            self._values[found] = value
            self.lines.append(
                f'{found} = "stablehlo.constant"() {{value = {text} : {kind}}} : () -> {kind}'
            )
        return found

    def known(self, name: str) -> HostArray | None:
        """The value behind a name, where it is that of a constant."""
        return self._values.get(name)

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

        Raises:
            EffectOrderError: ordered callbacks are called inside, and the block does not return the
                turn (``turn``), so that nothing says which callbacks outside come after.
        """
        parameters = [self.fresh() for _ in avals]
        with self._block() as lines:
            outs = body(parameters)
            if self._turn is not None and self._turn not in outs:
                raise EffectOrderError(_ORDER_LOST)
            self.emit("stablehlo.return", outs, out_avals, ())
        header = ", ".join(f"{p}: {tensor_type(a)}" for p, a in zip(parameters, avals, strict=True))
        block = f"^bb0({header}):\n      " if parameters else "\n      "
        self._regions.append("{\n    " + block + "\n      ".join(lines) + "\n    }")
        return f"\0{len(self._regions) - 1}\0"

    def assembled(self, text: str) -> str:
        """Return a text with the regions that its marks stand for.

        A region is written once, however many others it is in: with each copied into the next, a
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

    @contextmanager
    def _block(self) -> Iterator[list[str]]:
        """Collect what is written into lines of its own; constants written inside stay inside."""
        outer_lines, outer_constants = self.lines, self._constants
        outer_turn = self._turn
        self.lines, self._constants, self._turn = [], dict(outer_constants), None
        try:
            yield self.lines
        finally:
            self.lines, self._constants, self._turn = outer_lines, outer_constants, outer_turn

    # Ordered callbacks. Each hands data to the next, the one order that XLA keeps: what it is, only
    # the call knows, so that nothing can be simplified. Loops carry it, and branches return it.

    @property
    def turn(self) -> str:
        """What the last ordered callback before this place left, of type ``TURN``."""
        return self._turn or self.scalar(0, TURN.dtype)

    @turn.setter
    def turn(self, name: str) -> None:
        self._turn = name

    def loop(
        self,
        operands: Sequence[str],
        avals: Sequence[ShapedArray],
        condition: Callable[[list[str]], Sequence[str]],
        body: Callable[[list[str]], Sequence[str]],
        ordered: bool,
    ) -> list[str]:
        """Write a ``while``.

        Args:
            operands: the first state.
            avals: its types.
            condition: writes the condition, given the state; a bool.
            body: writes a turn of the loop, given the state; the new state.
            ordered: whether the body makes ordered callbacks; the condition must not.

        Returns:
            The last state.
        """
        if not ordered:
            regions = [self.region(avals, condition, (_FLAG,)), self.region(avals, body, avals)]
            return self.emit("stablehlo.while", operands, avals, avals, None, regions)

        def ordered_body(names: list[str]) -> list[str]:
            *state, self.turn = names
            return [*body(state), self.turn]

        carried = [*avals, TURN]
        regions = [
            self.region(carried, lambda names: condition(names[:-1]), (_FLAG,)),
            self.region(carried, ordered_body, carried),
        ]
        given = (*operands, self.turn)
        *state, self.turn = self.emit("stablehlo.while", given, carried, carried, None, regions)
        return state

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
        """
        avals_in, avals_out = tuple(self.avals_in), tuple(self.avals_out)
        if ordered:
            fun = _passing_turn(fun)
            operands = (self.turn, *operands)
            avals_in, avals_out = (TURN, *avals_in), (TURN, *avals_out)
        self.module.host_functions.append(fun)
        outs = self.custom_call(
            "xla_ffi_python_cpu_callback",
            operands,
            avals_in,
            avals_out,
            {"index": f"{len(self.module.host_functions) - 1} : ui64"},
            effectful=effectful or ordered,
        )
        if not ordered:
            return outs
        self.turn = outs[0]
        return outs[1:]

    def custom_call(
        self,
        target: str,
        operands: Sequence[str],
        avals_in: Sequence[ShapedArray],
        avals_out: Sequence[ShapedArray],
        config: Mapping[str, str],
        layouts: tuple[Sequence[Layout], Sequence[Layout]] | None = None,
        effectful: bool = False,
    ) -> list[str]:
        """Write a call of a function of XLA's foreign function interface.

        Args:
            target: the name it is registered under.
            operands: the names of its arguments.
            avals_in: their types.
            avals_out: the types of its results.
            config: its attributes.
            layouts: of the arguments and of the results; by default as NumPy has them.
            effectful: whether it must be called even where its results are not used.
        """
        if layouts is None:
            layouts = [_row_major(a) for a in avals_in], [_row_major(a) for a in avals_out]
        attributes = {
            "call_target_name": f'"{target}"',
            "api_version": integer(4, 32),
            "has_side_effect": boolean(effectful),
            "backend_config": f"{{{', '.join(f'{k} = {v}' for k, v in config.items())}}}",
            "operand_layouts": _layout_texts(layouts[0]),
            "result_layouts": _layout_texts(layouts[1]),
        }
        return self.emit("stablehlo.custom_call", operands, avals_in, avals_out, attributes)


#: The type of what an ordered callback leaves to the next.
TURN: Final = ShapedArray((), dtypes.int32)
_FLAG: Final = ShapedArray((), dtypes.bool_)
_ORDER_LOST = (
    "a primitive's lowering rule writes a region that makes ordered callbacks and does not return "
    "the turn, so that their order among others would be lost. Return lowering.turn from the "
    "region and set it from the operation's result, as cond does, or write a loop with "
    "lowering.loop."
)


def _passing_turn(fun: HostFunction) -> HostFunction:
    def call(turn: HostArray, *args: HostArray) -> Sequence[HostArray]:
        return (turn, *fun(*args))

    return call


def _row_major(aval: ShapedArray) -> Layout:
    return tuple(reversed(range(aval.ndim)))


def _layout_texts(layouts: Sequence[Layout]) -> str:
    texts = []
    for axes in layouts:
        dims = ", ".join(map(str, axes))
        texts.append(f"dense<{f'[{dims}]' if dims else ''}> : tensor<{len(axes)}xindex>")
    return f"[{', '.join(texts)}]"


def module_text(jaxpr: Jaxpr, name: str = "main", aliases: Sequence[int | None] = ()) -> str:
    """Return the StableHLO module that computes a jaxpr, its entry point called ``main``."""
    return write_module(jaxpr, name, aliases)[0]


def write_module(
    jaxpr: Jaxpr, name: str = "main", aliases: Sequence[int | None] = ()
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr, and the Python functions that it calls."""
    module = Module()
    module.define(unnest(jaxpr), "main", "public", aliases)
    return module.text(name), tuple(module.host_functions)

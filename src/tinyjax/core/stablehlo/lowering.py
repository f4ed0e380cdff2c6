"""The builder of lowering rules, which knows its context, and its module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.builder import Block, ModuleBuilder
from tinyjax.dtypes import DType, HostArray

#: Takes one NumPy array per operand, and returns one per result, of exactly the types declared.
HostFunction = Callable[..., Sequence[HostArray]]


class Interrupter:
    """A Python function that ends the program which calls it, at the next call after a request.

    Such programs run on the first device alone.
    """

    def __call__(self, *args: HostArray) -> Sequence[HostArray]:
        """Return the values for the program to go on with, given those it has computed."""
        raise NotImplementedError

    def stop(self) -> None:
        """Learn that the program failed, or is to end."""
        raise NotImplementedError


class Module:
    """The functions of a module under construction.

    Attributes:
        host_functions: the Python functions that it calls, by their number.
        divided: for a program for several devices, its lowering (``parallel.lowering``).
        schedule: orders the equations in the bodies of loops; None where they stay as they are.
        declared: the declarations of that lowering, whose text stands before the functions.
    """

    def __init__(self, divided: Any = None, schedule: Any = None) -> None:
        self.divided: Any = divided
        self.schedule: Any = schedule
        self.declared: object = ""
        self.host_functions: list[HostFunction] = []
        self._functions: list[str] = []
        self._names: dict[bytes, str] = {}

    @property
    def is_divided(self) -> bool:
        """Return whether it is a program for several devices, which call no Python functions."""
        return self.divided is not None

    def define(self, text: str) -> None:
        """Add a function."""
        self._functions.append(text)

    def called(self, key: bytes, name: str, define: Callable[[str], None]) -> str:
        """Return the name of a function, which the first call defines.

        Args:
            key: the identity of the function.
            name: the beginning of its name.
            define: adds it, given its name.
        """
        full_name = self._names.get(key)
        if full_name is None:
            full_name = self._names[key] = f"{_identifier(name)}_{len(self._names)}"
            define(full_name)
        return full_name

    def embed(self, key: bytes, read: Callable[[], str], name: str) -> str:
        """Return the name of another module's entry point; the first call writes its functions.

        Args:
            key: the identity of the module.
            read: returns its text.
            name: the new name of its entry point, ``main``.
        """
        return self.called(key, name, lambda entry: self.define(_functions_of(read(), entry)))

    def text(self, name: str) -> str:
        functions = "\n".join(reversed(self._functions))
        return f"module @{_identifier(name)} {{\n{self.declared}{functions}\n}}\n"


_DEFINITION: Final = r"func\.func (?:public |private )?@([\w$.-]+)"
# What has an @ and is no function of the module is matched as well, and left as it is.
_STRING_OR_SYMBOL: Final = r'"(?:[^"\\]|\\.)*"|custom_call @|@([\w$.-]+)'


def _functions_of(module: str, entry: str) -> str:
    """Return the functions in a module's text under names that no other module's have."""
    first = module.index("\n", module.index("module ")) + 1
    functions = module[first : module.rindex("}")].rstrip()
    defined = frozenset(re.findall(_DEFINITION, functions))

    def rename(match: re.Match[str]) -> str:
        name = match[1]
        if name not in defined:
            return match[0]
        # no name of ours has a dot in it
        return f"@{entry}" if name == "main" else f"@{entry}.{name}"

    renamed = re.sub(_STRING_OR_SYMBOL, rename, functions)
    return renamed.replace("func.func public ", "func.func private ")


def _identifier(name: str) -> str:
    """Return a name that MLIR takes; Python's may begin with a digit, or have other letters."""
    letters = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{letters}" if letters[:1].isdigit() else letters or "f"


class Lowering(ModuleBuilder):
    """A function under construction, and the equation being lowered.

    Attributes:
        module: the module that the function belongs to.
        platform: the platform that the program runs on, such as ``"cpu"``.
        part: an extension's record of the function, where each device runs it on values of its own.
        results: the types of the current equation's results.
        is_apart: whether a barrier follows the current equation, so that XLA joins it to no other.
        counter: the number of the iteration, in the body of a loop that counts.
        is_entry: whether it is the function that is called from outside.
        parameters: the parameters of the function.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> double_p = extend.elementwise(
        ...     "double_of_x",
        ...     lambda x: x + x,
        ...     lambda builder, x: builder.add(x, x),  # an extend.Lowering
        ...     "f",
        ...     lambda t, out, x: t + t,
        ... )
        >>> tinyjax.jit(double_p)(jnp.float32(3.0))
        Array(6., dtype=float32)
    """

    def __init__(self, module: Module, platform: str, part: Any = None) -> None:
        super().__init__()
        self.module = module
        self.platform = platform
        self.part: Any = part
        self.results: Sequence[hlo.TensorType] = ()
        self.is_apart = False
        self.counter: hlo.SSAValue | None = None
        self.is_entry = False
        self.parameters: Sequence[hlo.SSAValue] = ()
        # The token that the ordered callbacks so far in this block pass to the next one.
        self._token: hlo.SSAValue | None = None

    def beside(self) -> Lowering:
        """Return a builder of another function of the same module."""
        return Lowering(self.module, self.platform, self.part)

    # Ordered callbacks. Each hands data to the next, the one order that XLA keeps: what it is, only
    # the call knows, so that nothing can be simplified. Loops carry it, and branches return it.

    @property
    def token(self) -> hlo.SSAValue:
        """The token of the last ordered callback before this place; an int32."""
        return self._token or self.scalar(0, dtypes.int32)

    @token.setter
    def token(self, value: hlo.SSAValue) -> None:
        self._token = value

    def region(
        self, parameters: Sequence[hlo.TensorType], body: Block, end: str = "stablehlo.return"
    ) -> str:
        """Write a region: one block with parameters of the given types.

        Raises:
            EffectOrderError: ordered callbacks are called inside, and the block does not return the
                token (``token``), so that nothing says which callbacks outside come after.
        """

        def ordered(values: list[hlo.SSAValue]) -> Sequence[hlo.SSAValue]:
            outs = body(values)
            if self._token is not None and self._token not in outs:
                raise errors.EffectOrderError(_ORDER_LOST)
            return outs

        outer, self._token = self._token, None
        try:
            return super().region(parameters, ordered, end)
        finally:
            self._token = outer

    def loop(
        self, state: Sequence[hlo.SSAValue], condition: Block, body: Block, ordered: bool
    ) -> list[hlo.SSAValue]:
        """Write a ``while``.

        Args:
            state: the first state.
            condition: writes the condition, given the state; a bool.
            body: writes an iteration, given the state; the new state.
            ordered: whether the body makes ordered callbacks; the condition must not.

        Returns:
            The last state.
        """
        if not ordered:
            return self.while_(state, condition, body)

        def ordered_body(values: list[hlo.SSAValue]) -> list[hlo.SSAValue]:
            *state, self.token = values
            return [*body(state), self.token]

        initial = (*state, self.token)
        *last, self.token = self.while_(
            initial, lambda values: condition(values[:-1]), ordered_body
        )
        return last

    def host_call(
        self,
        fun: HostFunction,
        operands: Sequence[hlo.SSAValue],
        results: Sequence[hlo.TensorType],
        effectful: bool = False,
        ordered: bool = False,
    ) -> list[hlo.SSAValue]:
        """Emit a call of a Python function.

        Args:
            fun: the function; it is called on the host while the program runs.
            operands: its arguments.
            results: the types of its results.
            effectful: whether it must be called even where its results are not used.
            ordered: whether it must be called after the ordered ones before it.
        """
        if any(of.dtype in dtypes.PHYSICAL for of in (*(x.type for x in operands), *results)):
            fun = _of_own_types(fun, [x.dtype for x in operands], [of.dtype for of in results])
        if ordered:
            fun, operands = _passing_token(fun), (self.token, *operands)
            results = [hlo.tensor((), dtypes.int32), *results]
        self.module.host_functions.append(fun)
        outs = self.custom_call(
            f"xla_ffi_python_{'gpu' if self.platform == 'cuda' else 'cpu'}_callback",
            operands,
            results,
            {"index": f"{len(self.module.host_functions) - 1} : ui64"},
            effectful=effectful or ordered,
        )
        if not ordered:
            return outs
        self.token = outs[0]
        return outs[1:]

    @property
    def is_divided(self) -> bool:
        """Return whether XLA divides these operations over devices."""
        divided = self.module.divided
        return divided is not None and bool(divided.is_divided(self))

    def undivided(self, x: hlo.SSAValue, axes: Iterable[int]) -> hlo.SSAValue:
        """Return a value some of whose axes are not divided over devices.

        It is for operations that XLA refuses to divide so, or divides wrongly.
        """
        divided = self.module.divided
        whole: hlo.SSAValue = x if divided is None else divided.undivided(self, x, axes)
        return whole

    def outlined(
        self,
        name: str,
        operands: Sequence[hlo.SSAValue],
        results: Sequence[hlo.TensorType],
        write: Callable[[Lowering, list[hlo.SSAValue]], Sequence[hlo.SSAValue]],
    ) -> list[hlo.SSAValue]:
        """Emit a call of a function that XLA compiles separately.

        XLA puts other called functions into their callers, and elementwise operations once more
        into each operation that reads them. What is long and read often is better computed once.

        Args:
            name: the function's name. A module has one function for a name and types.
            operands: its arguments.
            results: the types of its results.
            write: writes it, given its parameters.
        """

        def define(name: str) -> None:
            b = self.beside()
            parameters = [hlo.SSAValue(f"%arg{i}", x.type) for i, x in enumerate(operands)]
            outs = write(b, parameters)
            self.module.define(function_text(b, f"private @{name}", parameters, outs))

        types = [name, *[x.type.text for x in operands], *[of.text for of in results]]
        function = self.module.called("\0".join(types).encode(), name, define)
        attributes = {
            "callee": f"@{function}",
            "mhlo.frontend_attributes": '{inlineable = "false"}',
        }
        return self.emit("func.call", operands, results, attributes)

    def barrier(self, operands: Sequence[hlo.SSAValue]) -> list[hlo.SSAValue]:
        """Emit a barrier between values and their readers, for a CPU.

        XLA drops ``optimization_barrier`` before it fuses operations, but it keeps calls.
        """
        # The call has its operands by rows, and what was transposed would be moved for it.
        orders = [self.orders.get(x.name, ()) for x in operands]
        backs = [sorted(range(len(order)), key=order.__getitem__) for order in orders]
        pairs = zip(operands, backs, strict=True)
        rows = [self.transpose(x, back) if back else x for x, back in pairs]
        types = [x.type for x in rows]

        def write(b: Lowering, operands: list[hlo.SSAValue]) -> Sequence[hlo.SSAValue]:
            return b.emit("stablehlo.optimization_barrier", operands, types)

        outs = zip(self.outlined("optimization_barrier", rows, types, write), orders, strict=True)
        return [self.transpose(out, order) if order else out for out, order in outs]

    def custom_call(  # noqa: PLR0913 (as StableHLO has it)
        self,
        target: str,
        operands: Sequence[hlo.SSAValue],
        results: Sequence[hlo.TensorType],
        config: Mapping[str, str] | str,
        layouts: tuple[Sequence[hlo.Layout], Sequence[hlo.Layout]] | None = None,
        effectful: bool = False,
        aliases: Sequence[tuple[int, int]] = (),
        version: int = 4,
        *,
        batch: int = 0,
    ) -> list[hlo.SSAValue]:
        """Write a call of a function of XLA's foreign function interface.

        Args:
            target: the name it is registered under.
            operands: its arguments.
            results: the types of its results.
            config: its attributes; the text that it is given where the version is below 4.
            layouts: of the arguments and of the results; by default as NumPy has them.
            effectful: whether it must be called even where its results are not used.
            aliases: pairs of an argument and a result that share memory.
            version: of the interface.
            batch: how many axes all have in front that count problems, each of which is by itself:
                devices may divide these.
        """
        if layouts is None:
            layouts = (
                [row_major(x.shape) for x in operands],
                [row_major(of.shape) for of in results],
            )
        if isinstance(config, str):
            config_text = hlo.string(config)
        else:
            config_text = f"{{{', '.join(f'{k} = {v}' for k, v in config.items())}}}"
        attributes = {
            "call_target_name": hlo.string(target),
            "api_version": hlo.integer(version, 32),
            "has_side_effect": hlo.boolean(effectful),
            "backend_config": config_text,
            "operand_layouts": hlo.layout_list(layouts[0]),
            "result_layouts": hlo.layout_list(layouts[1]),
        }
        if aliases:
            several = len(results) > 1
            texts = [
                f"#stablehlo.output_operand_alias<output_tuple_indices = [{j if several else ''}], "
                f"operand_index = {i}, operand_tuple_indices = []>"
                for i, j in aliases
            ]
            attributes["output_operand_aliases"] = f"[{', '.join(texts)}]"
        types = [*[x.type for x in operands], *results]
        if batch and self.module.divided is not None and all(0 not in of.shape for of in types):
            attributes.update(self.module.divided.batched(self, types, len(operands), batch))
        return self.emit("stablehlo.custom_call", operands, results, attributes)


def function_text(
    b: Lowering,
    name: str,
    parameters: Sequence[hlo.SSAValue],
    outs: Sequence[hlo.SSAValue],
    attributes: Sequence[str] = (),
    result_attributes: Sequence[str] = (),
) -> str:
    """Return the text of a function.

    Args:
        b: the builder of its operations.
        name: with its visibility, such as ``"private @f"``.
        parameters: its parameters.
        outs: its results.
        attributes: for each parameter its attributes, or an empty text; none by default.
        result_attributes: the same for each result.
    """
    out_types = ", ".join([x.type.text for x in outs])
    results = [x.type.text for x in outs]
    if result_attributes:
        results = [head + text for head, text in zip(results, result_attributes, strict=True)]
    heads = [f"{x.name}: {x.type.text}" for x in parameters]
    if attributes:
        heads = [head + text for head, text in zip(heads, attributes, strict=True)]
    names = ", ".join([x.name for x in outs])
    returned = f"func.return {names} : {out_types}" if outs else "func.return"
    body = b.assembled("\n".join([f"    {line}" for line in (*b.lines, returned)]))
    heading = f"func.func {name}({', '.join(heads)}) -> ({', '.join(results)})"
    return f"  {heading} {{\n{body}\n  }}"


_ORDER_LOST: Final = (
    "a primitive's lowering rule writes a region that makes ordered callbacks and does not return "
    "the token, so that their order among others would be lost. Return lowering.token from the "
    "region and set it from the operation's result, as cond does, or write a loop with "
    "lowering.loop."
)


def _passing_token(fun: HostFunction) -> HostFunction:
    def call(token: HostArray, *args: HostArray) -> Sequence[HostArray]:
        return (token, *fun(*args))

    return call


def _of_own_types(fun: HostFunction, ins: Sequence[DType], outs: Sequence[DType]) -> HostFunction:
    """Give a function data of the types it knows, where XLA holds them otherwise."""

    def call(*args: HostArray) -> Sequence[HostArray]:
        arrays = [
            dtypes.of_physical(x, dtype) if dtype in dtypes.PHYSICAL else x
            for x, dtype in zip(args, ins, strict=True)
        ]
        return [
            dtypes.to_physical(np.asarray(x)) if dtype in dtypes.PHYSICAL else x
            for x, dtype in zip(fun(*arrays), outs, strict=True)
        ]

    return call


def row_major(shape: tuple[int, ...]) -> hlo.Layout:
    """Return how NumPy lays out an array: the elements along the last axis are neighbours."""
    return tuple(reversed(range(len(shape))))

"""The stages of a jitted function: an explanation of a call, and its program.

``jit(f).lower(...)`` gives the program, before and after it is compiled.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, runtime_checkable

import attrs

from tinyjax import config, tree
from tinyjax._base import lazy, records
from tinyjax.core import devices, xla
from tinyjax.core.jit import signatures
from tinyjax.core.jit.signatures import Signature
from tinyjax.core.lowering import location_text
from tinyjax.core.tracing import calling, checking, jaxpr as jx, trace as tr
from tinyjax.core.tracing.primitive import split_list
from tinyjax.core.tracing.staging import Staged, call_staged
from tinyjax.core.tracing.watching import watched
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import PlacedArray, any_placed
from tinyjax.core.values.integers import is_one_of
from tinyjax.errors import ArgumentError, PlatformError, RefError, described, shortened
from tinyjax.tree.treedef import first_difference

if TYPE_CHECKING:
    from tinyjax.core import device_types


#: What there is to know of a compiled function's parameters: none is static.
_DYNAMIC: Final = signatures.Parameters(lambda *args, **kwargs: None)


@attrs.frozen(eq=False, repr=False)
class Explanation(records.Record):
    """An explanation of what a call of a jitted function would do.

    Attributes:
        function: the function, and where it is defined.
        traces: whether the call would run the Python function, to record its program.
        compiles: whether XLA would compile the program.
        differences: the differences to the most similar earlier call: a line for each argument,
            static value or setting that differs.
        reasons: other reasons to trace or compile.
    """

    function: str
    traces: bool
    compiles: bool
    differences: tuple[str, ...]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        match self.traces, self.compiles:
            case True, True:
                verdict = "is traced and compiled"
            case True, False:
                verdict = "is traced, but not compiled"
            case False, True:
                verdict = "was traced before, and is compiled"
            case _:
                verdict = "runs a program that was traced and compiled before"
        lines = [f"this call of {self.function} {verdict}"]
        return "\n".join([*lines, *(f"  {line}" for line in (*self.differences, *self.reasons))])

    def log(self) -> None:
        """Tell the logger ``tinyjax``, as the setting ``explain`` asks for."""
        logging.getLogger("tinyjax").warning(str(self))


def differences(
    fun: Callable[..., Any], signature: Signature, earlier: Iterable[Signature]
) -> tuple[str, ...]:
    """Return the differences between a call and the most similar earlier one.

    Args:
        fun: the function, for the names of its parameters.
        signature: the call.
        earlier: the signatures of earlier calls.
    """
    explaining = lazy.hook("explaining")
    if explaining is None:
        return ()
    lines: tuple[str, ...] = explaining.differences(fun, signature, earlier)
    return lines


T = TypeVar("T")


# Programs


@runtime_checkable
class Wrapped(Protocol):
    """The methods of a jitted function that look at it without a call.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import stages
        >>> isinstance(tinyjax.jit(jnp.sin), stages.Wrapped), isinstance(jnp.sin, stages.Wrapped)
        (True, False)
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Return the program for arguments of these types: arrays, or ``ShapeDtypeStruct``.

        Static arguments are given as they are. Nothing is compiled, and no data is needed.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> x = tinyjax.ShapeDtypeStruct((2,), jnp.float32)
            >>> tinyjax.jit(lambda x: 2 * x).trace(x).jaxpr
            { lambda a:float32[2] .
              let b:float32[2] = mul 2.0 a
              in ( b ) }
        """

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the program as StableHLO, which ``compile()`` compiles.

        Static arguments are given as they are; arrays, or ``ShapeDtypeStruct`` where there is no
        data yet.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> x = tinyjax.ShapeDtypeStruct((2,), jnp.float32)
            >>> double = tinyjax.jit(lambda x: 2 * x).lower(x).compile()
            >>> double(jnp.ones(2))
            Array([2., 2.], dtype=float32)
        """


@attrs.frozen(eq=False, repr=False)
class ArgInfo(av.Typed, records.Record):
    """The type of an argument, and whether its memory may be reused.

    Attributes:
        aval: the type: ``shape`` and ``dtype`` are attributes, too.
        donated: whether results may take the memory.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> lowered = tinyjax.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.ones(2))
        >>> ((info,), _) = lowered.args_info
        >>> info.shape, info.donated
        ((2,), True)
    """

    aval: av.ShapedArray
    donated: bool


class _Stage:
    """The attributes of a program that every stage has."""

    @property
    def lowered(self) -> Lowered:
        """The lowered program."""
        raise NotImplementedError

    @property
    def in_tree(self) -> tree.PyTreeDef:
        """The structure of ``(args, kwargs)``, less the static ones."""
        return self.lowered.in_tree

    @property
    def out_tree(self) -> tree.PyTreeDef:
        """The structure of the result."""
        return self.lowered.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in their structure."""
        return tree.unflatten(self.in_tree, self.lowered.arguments)

    @property
    def args_info(self) -> Any:
        """The types of the arguments and whether they are donated, in their structure."""
        lowered = self.lowered
        first = lowered.num_captured
        infos = [
            ArgInfo(aval, first + i in lowered.donated) for i, aval in enumerate(lowered.arguments)
        ]
        return tree.unflatten(self.in_tree, infos)

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the results, in their structure."""
        outs = self._of_result(self.lowered.jaxpr.out_avals)
        return tree.unflatten(self.out_tree, [av.ShapeDtypeStruct.like(aval) for aval in outs])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The indices of the donated arguments, counted by their leaves."""
        return tuple([i - self.lowered.num_captured for i in self.lowered.donated])

    def _of_result(self, outs: Sequence[T]) -> Sequence[T]:
        """Drop the results that are the final state of extensions."""
        return outs[: self.out_tree.num_leaves]


@attrs.frozen(eq=False, repr=False)
class Traced(_Stage):
    """A function traced for one signature, before it is lowered.

    ``jit(f).trace(*args)`` makes it: ``jaxpr`` is the program, ``lower()`` writes it as StableHLO.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> traced = tinyjax.jit(lambda x: 2 * x).trace(jnp.ones(2))
        >>> traced.fun_name, len(traced.jaxpr.eqns)
        ('<lambda>', 1)
        >>> traced.lower().compile()(jnp.ones(2))
        Array([2., 2.], dtype=float32)
    """

    _lowered: Lowered

    @property
    def lowered(self) -> Lowered:
        return self._lowered

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self.lowered.name

    @property
    def jaxpr(self) -> jx.ClosedJaxpr:
        """The program."""
        program = self.lowered.staged
        n = len(program.jaxpr.in_binders) - len(program.cells_in)
        consts, arguments, taken = split_list(program.jaxpr.in_binders, len(program.consts), n)
        jaxpr = jx.Jaxpr((*consts, *taken, *arguments), program.jaxpr.eqns, program.jaxpr.outs)
        return jx.close(jaxpr, (*program.consts, *[kept.contents for kept in program.cells_in]))

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lower the program to StableHLO.

        Args:
            lowering_platforms: for which platforms; "cpu" is the only one.

        Raises:
            PlatformError: for another platform.

        Example:
            >>> import tinyjax
            >>> traced = tinyjax.jit(lambda x: 2 * x).trace(1.0)
            >>> "stablehlo.multiply" in traced.lower().as_text()
            True
        """
        if lowering_platforms not in (None, ["cpu"], ("cpu",)):
            raise PlatformError(f"programs are lowered for 'cpu', not for {lowering_platforms}.")
        return self.lowered


@attrs.frozen(eq=False, repr=False)
class Lowered(_Stage):
    """A function lowered to StableHLO for one signature, before it is compiled.

    Attributes:
        compilation: the program, and the donated arguments; the arrays that the function closed
            over are its first parameters.
        staged: the program as it was recorded.
        in_tree: the structure of ``(args, kwargs)``, less the static ones.
        out_tree: the structure of the result.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> lowered = tinyjax.jit(lambda x: 2 * x).lower(jnp.ones(2))
        >>> "stablehlo.multiply" in lowered.as_text()
        True
        >>> lowered.compile()(jnp.ones(2))
        Array([2., 2.], dtype=float32)
    """

    compilation: xla.Compilation
    staged: Staged
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef

    @property
    def consts(self) -> tuple[Array, ...]:
        """The arrays that the function closed over."""
        return self.staged.consts

    @property
    def lowered(self) -> Lowered:
        return self

    @property
    def jaxpr(self) -> jx.Jaxpr:
        """The program; its first parameters are the constants."""
        return self.compilation.jaxpr

    @property
    def name(self) -> str:
        """The function's name."""
        return self.compilation.name

    @property
    def donated(self) -> tuple[int, ...]:
        """The parameters whose memory may be reused."""
        return self.compilation.donated

    @property
    def arguments(self) -> tuple[av.ShapedArray, ...]:
        """The types of the arguments, in the order of ``in_tree``."""
        return self.jaxpr.in_avals[self.num_captured :][: self.in_tree.num_leaves]

    @property
    def num_captured(self) -> int:
        """The number of parameters before the arguments."""
        return len(self.consts)

    def operands(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Return the operands of the program: the arguments, and the closed-over values.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> weights = jnp.array([2.0, 3.0])
            >>> lowered = tinyjax.jit(lambda x: weights * x).lower(1.0)
            >>> lowered.operands([jnp.float32(1.0)])
            (Array([2., 3.], dtype=float32), Array(1., dtype=float32))
        """
        return (*self.consts, *arrays, *[kept.contents for kept in self.staged.cells_in])

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the program's text.

        Args:
            dialect: "stablehlo", or None for that; or "hlo": the same program as HLO, before XLA's
                passes.
            debug_info: whether each operation says which line of yours it comes from, and by which
                primitive: ``loc("sin"("loss"("model.py":7:11 to 7:21)))``. HLO has no place for it.

        Raises:
            ArgumentError: it is another dialect.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> lowered = tinyjax.jit(lambda x: 2 * jnp.sin(x)).lower(1.0)
            >>> "stablehlo.sine" in lowered.as_text(), "HloModule" in lowered.as_text("hlo")
            (True, True)
        """
        if is_one_of(dialect, ("hlo",)):
            return xla.to_computation(self.as_text()).as_hlo_text()
        if not is_one_of(dialect, (None, "stablehlo")):
            raise ArgumentError(
                f"programs are lowered to 'stablehlo' or 'hlo', not to {shortened(dialect)}. The "
                "HLO after XLA's passes is compile().as_text()."
            )
        locate = location_text if debug_info else None
        if self.compilation.placement is not None:
            return devices.ops().lowered(self.compilation, locate)
        return xla.lowered(self.jaxpr, self.name, self.compilation.aliases, locate)[0]

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the program as one of jaxlib's objects.

        Args:
            dialect: "stablehlo", or None for that, gives a module of MLIR; "hlo" an
                ``XlaComputation``, which has ``as_hlo_text()`` and ``as_hlo_dot_graph()``.

        Raises:
            ArgumentError: it is another dialect.

        Example:
            >>> import tinyjax
            >>> lowered = tinyjax.jit(lambda x: x * x).lower(2.0)
            >>> "multiply(" in lowered.compiler_ir("hlo").as_hlo_text()
            True
        """
        if dialect == "hlo":
            return xla.to_computation(self.as_text())
        return xla.parse(self.as_text(dialect))

    def cost_analysis(self) -> dict[str, object]:
        """Compile the program, and return XLA's estimate of its work.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> lowered = tinyjax.jit(jnp.dot).lower(jnp.ones((8, 8)), jnp.ones((8, 8)))
            >>> lowered.cost_analysis()["flops"] >= 2 * 8 * 8 * 7
            True
        """
        return self.compile().cost_analysis()

    def compile(self, compiler_options: xla.CompilerOptions | None = None) -> Compiled:
        """Compile the program.

        Args:
            compiler_options: XLA flags and their values, besides those given to ``jit``.

        Raises:
            ArgumentError: XLA has no such flag, or it does not take the value; or the function was
                given ``compiler="c"``.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> lowered = tinyjax.jit(jnp.sin).lower(1.0)
            >>> quick = lowered.compile({"xla_backend_optimization_level": 0})
            >>> print(f"{quick(1.0):.4f}")
            0.8415
        """
        flags = {**dict(self.compilation.flags), **(compiler_options or {})}
        if flags.pop("compiler", "xla") == "c":
            raise ArgumentError(
                "lower(...).compile() compiles by XLA: leave compiler='c' out of jit, or write "
                "export.c(f)(*args).compile()."
            )
        compilation = attrs.evolve(self.compilation, flags=xla.as_flags(flags, "compile"))
        return Compiled(attrs.evolve(self, compilation=compilation))


class Compiled(signatures.Called[..., Any], _Stage):
    """A function compiled for one signature.

    ``jit(f).lower(*args).compile()`` makes it.
    A call runs the program on arguments of the types it was compiled for, without static arguments.
    It raises ``ArgumentError`` where they are of another structure or of other types, or traced.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> compiled = tinyjax.jit(lambda x: 2 * x).lower(jnp.ones(2)).compile()
        >>> compiled(jnp.array([3.0, 4.0]))
        Array([6., 8.], dtype=float32)
        >>> try:
        ...     compiled(jnp.ones(3))
        ... except tinyjax.errors.ArgumentError:
        ...     print("of another type")
        of another type
    """

    def __init__(self, lowered: Lowered, executable: xla.Executable | None = None) -> None:
        if not isinstance(lowered, Lowered):
            raise ArgumentError(f"Compiled takes a Lowered, but got {described(lowered)}.")
        self._lowered = lowered
        self._executable = executable or xla.compiled(lowered.compilation)
        self._parameters = _DYNAMIC
        self._traces = signatures.own_traces()

    @property
    def lowered(self) -> Lowered:
        return self._lowered

    @property
    def _placement(self) -> Any:
        """The program's placement, with XLA's choices; None for the first device."""
        return self._executable.placement

    @watched
    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        lowered = self.lowered
        leaves, in_tree = tree.flatten_arguments(args, kwargs)
        leaves, in_tree, objects = calling.opened(leaves, in_tree)
        arrays = self._arguments(leaves, in_tree)
        for note in lowered.staged.hooks:
            note.serves(f"'{lowered.name}'", objects)
        outs = call_staged(lowered.staged, arrays, lambda _, args: self._run(args), objects)
        settings = config.settings()
        if not (
            lowered.staged.hooks or settings.debugging or any_placed((*lowered.consts, *arrays))
        ):
            call = args, kwargs, leaves, in_tree, signatures.StaticArguments()
            short = self._traces.short_for(settings)
            short.learn(self._parameters, *call, lowered, self._executable)
        return tree.unflatten(lowered.out_tree, outs)

    def _arguments(self, leaves: Sequence[Any], in_tree: tree.PyTreeDef) -> Sequence[Array]:
        lowered = self.lowered
        arrays = calling.as_arrays(leaves, self.__call__, in_tree)
        for x in arrays:
            if isinstance(x, tr.Tracer) and x._trace.live:
                raise ArgumentError(
                    f"'{lowered.name}' is compiled, which leaves nothing to transform, but was "
                    f"called with a value traced by {x._trace.describe()}. Call the jitted "
                    "function instead."
                )
        tr.check_concrete(arrays)
        check_arguments(
            lowered.name, "compiled", lowered.in_tree, lowered.arguments, in_tree, arrays
        )
        return arrays

    def _run(self, args: Sequence[Array]) -> Sequence[Array]:
        lowered = self.lowered
        operands = (*lowered.consts, *args)
        if lowered.compilation.placement is not None:
            return self._executable(operands)
        operands = tuple(
            [x.gathered if isinstance(x, PlacedArray) and not x.committed else x for x in operands]
        )
        is_plain = not (lowered.donated or jx.effects(lowered.jaxpr).any)
        if not (is_plain and config.settings().debugging):
            return self._executable(operands)
        evaluate = partial(jx.eval_jaxpr, lowered.jaxpr)
        outs: Sequence[Array] = lazy.hook("debugging").run_program(
            self._executable, evaluate, operands
        )
        return outs

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the results, and how they lie, in their structure."""
        if self._placement is None:
            return super().out_info
        lies = zip(self.lowered.jaxpr.out_avals, self._placement.outs, strict=True)
        outs = [
            av.ShapeDtypeStruct(
                aval.shape, aval.dtype, aval.weak_type, sharding=sharding and sharding.plain
            )
            for aval, sharding in lies
        ]
        return tree.unflatten(self.out_tree, self._of_result(outs))

    @property
    def input_shardings(self) -> Any:
        """The shardings of the arguments that the program takes, in their structure."""
        placement = self._placement
        lowered = self.lowered
        first = lowered.num_captured
        shardings = (
            (devices.ops().on_first(),) * len(lowered.arguments)
            if placement is None
            else [x.plain for x in placement.ins[first:]]
        )
        return tree.unflatten(self.in_tree, shardings)

    @property
    def output_shardings(self) -> Any:
        """The shardings of the results, in their structure: where none was given, XLA's choice."""
        placement = self._placement
        if placement is None:
            first = devices.ops().on_first()
            return tree.unflatten(self.out_tree, (first,) * self.out_tree.num_leaves)
        outs = self._of_result(placement.outs)
        return tree.unflatten(self.out_tree, [x and x.plain for x in outs])

    def runtime_executable(self) -> Any:
        """XLA's own executable.

        It is an object of jaxlib's, whose methods may change with jaxlib.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> compiled = tinyjax.jit(jnp.sin).lower(1.0).compile()
            >>> "HloModule" in compiled.runtime_executable().get_hlo_text()
            True
        """
        return self._executable.loaded

    def as_text(self, *, debug_info: bool = False) -> str:
        """Return the optimised HLO.

        Args:
            debug_info: whether its metadata names your lines (``source_file``, ``source_line``).
                The program is compiled once more for that; the setting ``locations`` has them in
                what runs.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> compiled = tinyjax.jit(lambda x: jnp.sin(x) + 1).lower(jnp.ones(3)).compile()
            >>> "f32[3]" in compiled.as_text()
            True
        """
        executable = self._executable
        if debug_info:
            executable = xla.compile_anew(self.lowered.compilation, location_text)
        text: str = executable.loaded.get_hlo_text()
        return text

    def cost_analysis(self) -> dict[str, object]:
        """XLA's estimate of work: floating-point operations, bytes accessed, and more.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> compiled = tinyjax.jit(lambda x: x + 1).lower(jnp.ones(100)).compile()
            >>> compiled.cost_analysis()["bytes accessed"] >= 2 * 4 * 100
            True
        """
        return dict(self._executable.loaded.cost_analysis())

    def memory_analysis(self) -> Any:
        """XLA's account of memory: of arguments, results, temporaries and code, in bytes.

        For a program on several devices, these are the bytes of each device.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> compiled = tinyjax.jit(lambda x: x + 1).lower(jnp.ones(100)).compile()
            >>> compiled.memory_analysis().argument_size_in_bytes
            400
        """
        return self._executable.loaded.get_compiled_memory_stats()

    def communication_analysis(self) -> device_types.Communication:
        """Return the communication between the program's devices, and the memory that each needs.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((64,), "data"), P("data"))
            >>> x = tinyjax.ShapeDtypeStruct((1024, 8), jnp.float32, sharding=rows)
            >>> compiled = tinyjax.jit(lambda x: x.sum(0)).lower(x).compile()
            >>> analysis = compiled.communication_analysis()
            >>> c = analysis.collectives[0]
            >>> c.kind, c.axes, c.bytes, c.bytes_sent
            ('all-reduce', ('data',), 32, 63)
            >>> analysis.memory >= 1024 * 8 * 4 // 64
            True
        """
        analysis: device_types.Communication = devices.ops().communication_of(
            self.as_text(), self._placement, self.memory_analysis()
        )
        return analysis


@checking.explained
def precompile(*programs: Lowered) -> list[Compiled]:
    """Compile several programs in parallel; later calls of their functions find them compiled.

    Args:
        programs: the results of ``lower``, for all functions and types that you will need.

    Returns:
        The compiled programs, in the same order.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> step, loss = tinyjax.jit(lambda x: x * 0.9), tinyjax.jit(lambda x: (x**2).sum())
        >>> x = tinyjax.ShapeDtypeStruct((3,), jnp.float32)
        >>> _ = tinyjax.precompile(step.lower(x), loss.lower(x))
        >>> step.explain(jnp.ones(3)).compiles
        False
    """
    xla.compile_all([program.compilation for program in programs])
    return [Compiled(program) for program in programs]


def check_arguments(
    name: str,
    verb: str,
    in_tree: tree.PyTreeDef,
    in_avals: Sequence[av.ShapedArray],
    given_tree: tree.PyTreeDef,
    operands: Sequence[Array],
) -> None:
    """Check that a program is called with the structure and the types it was made for.

    Args:
        name: the function's name.
        verb: what made the program: "compiled", or "exported".
        in_tree: the structure of ``(args, kwargs)`` that it takes.
        in_avals: the types it takes.
        given_tree: the structure it was given.
        operands: the arrays.

    Raises:
        ArgumentError: the structures or the types differ.
        RefError: an argument is a reference and was none, or was one and is none.
    """
    if given_tree != in_tree:
        marks = [calling.held_leaves(x) for x in (in_tree, given_tree)]
        if len(marks[0]) == len(marks[1]) and marks[0] != marks[1]:
            i = [a == b for a, b in zip(*marks, strict=True)].index(False)
            made_for, came = ["a Ref" if mark[i] else "an array" for mark in marks]
            raise RefError(
                f"'{name}' was {verb} for {made_for} at {_place(in_tree, i)}, but was called with "
                f"{came}."
            )
        both = zip(("args", "kwargs"), in_tree.children(), given_tree.children(), strict=True)
        place, made_for, came = next(first_difference(a, b, x) for x, a, b in both if a != b)
        raise ArgumentError(
            f"'{name}' was {verb} for {made_for} at {place}, but was called with {came}."
        )
    for i, (x, expected) in enumerate(zip(operands, in_avals, strict=True)):
        if x.aval is not expected and (x.shape, x.dtype) != (expected.shape, expected.dtype):
            raise ArgumentError(
                f"'{name}' was {verb} for {expected} at {_place(in_tree, i)}, but was called with "
                f"{x.aval}."
            )


def _place(in_tree: tree.PyTreeDef, position: int) -> str:
    """Name a leaf of ``(args, kwargs)``, such as ``args[0]['w']``."""
    which, *rest = calling.leaf_keys(in_tree, position)
    return tree.path_str("args" if which == tree.SequenceKey(0) else "kwargs", rest)

"""The public ``jit``: checks of its options, and defaults.

The jitted function is loaded with the first one (``function.py``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import EllipsisType
from typing import Any, Literal, ParamSpec, TypeVar, overload

from tinyjax import config
from tinyjax._base import frames, lazy
from tinyjax.core import devices, jit as core_jit, xla
from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints
from tinyjax.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")

ControlFlow = Literal["python", "source"]
#: How a length is rounded up: to a multiple, to one of some lengths, to a power of two, or to what
#: a function returns.
Rounding = int | Sequence[int] | Literal["powers of two"] | Callable[[int], int]
#: The same for all arguments, or by the names of those that vary; there also by axis.
PadTo = Rounding | Mapping[str, Rounding | Mapping[int, Rounding]]


@overload
def jit(
    fun: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Sequence[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Sequence[str] | None = ...,
    control_flow: ControlFlow = ...,
    pad_to: PadTo | None = ...,
    tier: config.Tier | None = ...,
    compiler: config.Compiler | None = ...,
    compiler_options: xla.CompilerOptions | None = ...,
    inline: bool = ...,
    keep_unused: bool = ...,
    device: devices.Placement = ...,
    backend: str | None = ...,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
) -> core_jit.JitFunction[P, R]: ...
@overload
def jit(
    *,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Sequence[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Sequence[str] | None = ...,
    control_flow: ControlFlow = ...,
    pad_to: PadTo | None = ...,
    tier: config.Tier | None = ...,
    compiler: config.Compiler | None = ...,
    compiler_options: xla.CompilerOptions | None = ...,
    inline: bool = ...,
    keep_unused: bool = ...,
    device: devices.Placement = ...,
    backend: str | None = ...,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
) -> Callable[[Callable[P, R]], core_jit.JitFunction[P, R]]: ...
@checking.checked
def jit(  # noqa: PLR0913 (JAX's signature)
    fun: Callable[P, R] | EllipsisType = ...,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    control_flow: ControlFlow = "python",
    pad_to: PadTo | None = None,
    tier: config.Tier | None = None,
    compiler: config.Compiler | None = None,
    compiler_options: xla.CompilerOptions | None = None,
    inline: bool = False,
    keep_unused: bool = False,
    device: devices.Placement = None,
    backend: str | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> core_jit.JitFunction[P, R] | Callable[[Callable[P, R]], core_jit.JitFunction[P, R]]:
    """Compile a function with XLA.

    The first call with a signature runs the function on tracers, to record its program. Later calls
    run the compiled program, also those of another ``jit`` of this function with the same options.
    The function may depend only on its arguments and on the arrays it closes over. Anything else is
    read when the function is traced, and again after ``clear_caches``. Its Python control flow may
    depend only on static arguments, except with ``control_flow="source"``.

    Args:
        fun: takes and returns arrays in any containers. Without it, ``jit`` returns a decorator.
        static_argnums: positional arguments that are not arrays but hashable Python values. Each
            new value compiles the function again.
        static_argnames: static arguments by name; without ``static_argnums`` also where they are
            given by position.
        donate_argnums: positional arguments whose memory may be reused for the results; the arrays
            passed for them cannot be used afterwards. A warning tells which cannot be reused.
        donate_argnames: donated arguments by name.
        control_flow: "source" reads the source of the function, and of functions that it calls,
            and turns ``if``, ``while`` and ``for`` that depend on traced values into ``cond``,
            ``while_loop`` and ``scan`` (``tinyjax.source.stage``). What cannot be read is captured
            (``tinyjax.source.capture``).
        pad_to: the rule that rounds up the lengths of first axes. Then calls with many lengths run
            few programs. It rounds to a multiple of an int, to one of several ints, to "powers of
            two", or to the result of a function of the length. ``{"x": 64}`` is for the argument
            ``x`` and all arrays in it, ``{"x": {1: 64}}`` of its second axis. Results are those
            without padding. Lengths that are equal in a call, and are rounded alike, are one
            length.
        tier: the evaluator of the first calls. With "first", NumPy evaluates as many calls as cost
            a quarter of compiling. With "compiled", they wait for the compiler, and all calls round
            alike. With "ready", NumPy evaluates calls until the compiled program is ready. With
            "host", it always evaluates programs so small that it would evaluate 200 calls at first:
            that is quicker where NumPy reads each result at once. The default is the setting
            ``tier``, which is "first" if you set nothing, and "compiled" with ``compiler_options``.
            ``explain`` tells how many calls NumPy evaluates.
        compiler: with "c", the system's compiler of C compiles programs at their first calls, for
            all sizes that do not change their form; XLA compiles what C has not, and ``explain``
            tells why. The default is the setting ``compiler``, which is "auto" if you set nothing.
        compiler_options: XLA flags and their values. They apply where the function is compiled on
            its own and not as a part of another.
        inline: write the operations of the function into a program that calls it, and not the
            call.
        keep_unused: has no effect: unused parameters are kept.
        device: the device to run on; by default the one where the arguments are.
        backend: the platform to run on, such as "cpu" or "gpu": on its first device.
        in_shardings: the shardings of the positional arguments: a sharding for all of them, or a
            tuple of shardings or of trees of them, each for all leaves below it. An argument that
            is divided otherwise is moved; None leaves it where it is. A ``PartitionSpec`` is one of
            the current mesh.
        out_shardings: the sharding of the result, likewise; where it is None, XLA chooses.

    Returns:
        A function of the same signature, with ``lower(*args)`` to look at the program.

    Raises:
        ConcretizationError: when called, if the function needs the data of an argument.
        StaticArgumentError: the function has no such static argument; or when called, if a static
            argument is an array or not hashable.
        SourceError: when called, if ``control_flow`` is "source" and the function can be neither
            staged nor captured.
        ArgumentError: ``fun`` is not callable, or a generator function; ``control_flow``,
            ``tier`` or ``compiler`` is none of the words above, or ``compiler`` is "c" beside
            ``compiler_options``; ``pad_to`` is no such rule, or names no argument;
            what is donated is static, or no argument of the function; or there is no such backend.
            When called, if a compiler option is none of XLA's.
        ShardingError: when called, if there is no such device, an array cannot be divided in this
            way, or arguments are on different devices.
        PaddingError: when called, if an operation along an axis that ``pad_to`` rounds up is
            impossible with padded arrays.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def selu(x):
        ...     return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)
        >>> selu(jnp.array([1.0, 2.0]))
        Array([1.05, 2.1 ], dtype=float32)
    """
    if isinstance(fun, EllipsisType):

        def decorate(fun: Callable[P, R]) -> core_jit.JitFunction[P, R]:
            return jit(
                fun,
                static_argnums=static_argnums,
                static_argnames=static_argnames,
                donate_argnums=donate_argnums,
                donate_argnames=donate_argnames,
                control_flow=control_flow,
                pad_to=pad_to,
                tier=tier,
                compiler=compiler,
                compiler_options=compiler_options,
                inline=inline,
                keep_unused=keep_unused,
                device=device,
                backend=backend,
                in_shardings=in_shardings,
                out_shardings=out_shardings,
            )

        return decorate
    _check_function(fun)
    placed = _placed(in_shardings, out_shardings, device, backend)
    if control_flow != "python":
        read: Callable[P, R] = lazy.hook(control_flow).stage(fun)
        fun = read
    # what most jitted functions are made of: their first calls need not wait for it
    for module in lazy.HOOKS.pop("with jit", "").split():
        import_module(module)
    parameters = core_jit.Parameters(
        fun,
        _positions("static_argnums", static_argnums),
        _names(static_argnames),
        _positions("donate_argnums", donate_argnums),
        _names(donate_argnames),
        static_argnums is not None and static_argnames is not None,
        tier or ("compiled" if compiler_options else None),
        _flags(compiler, compiler_options),
        placed,
        inline,
    )
    if pad_to is not None:
        padded: core_jit.JitFunction[P, R] = lazy.hook("pad_to").padded(parameters, pad_to)
        return padded
    return core_jit.JitFunction(parameters)


def _flags(
    compiler: config.Compiler | None, compiler_options: xla.CompilerOptions | None
) -> xla.Flags:
    """Return the flags of ``jit``: XLA's, or the compiler."""
    flags = xla.as_flags(compiler_options, "jit") if compiler_options else ()
    if compiler == "c" and flags:
        raise ArgumentError("compiler_options are XLA's: leave them out, or compiler='c'.")
    return (("compiler", compiler),) if compiler and not flags else flags


def _check_function(fun: Callable[..., object]) -> None:
    """Raise where a function that can be called cannot be jitted."""
    if isinstance(fun, staticmethod):
        raise ArgumentError(
            "jit takes a function and not a staticmethod of it: put @staticmethod above @jit."
        )
    if inspect.isgeneratorfunction(fun):
        raise ArgumentError(
            f"jit takes a function that returns arrays, but got a generator function: "
            f"{frames.describe_function(fun)}. Return a list."
        )


def _positions(name: str, numbers: int | Sequence[int] | None) -> tuple[int, ...]:
    return () if numbers is None else ints.integers(ints.one_or_more(numbers, name), name)


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def _placed(
    ins: Any, outs: Any, device: devices.Placement, backend: str | None
) -> devices.PlacedCall | None:
    """Return the shardings of arguments and results; None where none is given."""
    if backend is not None:
        first, *_ = devices.devices_on(backend)
        device = first if device is None and first != devices.first_device() else device
    if device is not None and (ins is not None or outs is not None):
        raise ArgumentError("jit takes a device or shardings of arguments and results, not both.")
    if isinstance(ins, list):  # as in JAX, for the tuple of arguments
        ins = tuple(ins)
    if ins is outs is device is None:
        return None
    ins, outs = (device if places is None else places for places in (ins, outs))
    return devices.ops().placed_call(ins, outs)

"""Options of XLA's compiler: the effort of optimization, and flags of the user's.

XLA:CPU emits fusions through MLIR, which takes half the time of a compilation. Without it, a loop
whose result takes the memory of an operand goes through one element at a time. ``exp`` of many
elements then takes eight times as long, and most other operations little longer. With MLIR, fewer
fusions are faster to compile and to run: those with several results. XLA also divides a module
among several threads, which costs a small one more than it gains. Two thirds of the remaining time
is LLVM's optimisation. ``docs/performance-tables.md`` has the gain from each.

XLA:CPU runs the operations of a loop's body one by one, at some microseconds each, unless the body
touches few bytes: then the whole loop is one function of machine code. XLA's own bound is 1 KiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from jaxlib.xla_client import CompileOptions

from tinyjax import config, errors
from tinyjax.core.values.concrete import raise_as_ours
from tinyjax.core.xla import compilation, updates, versions

#: Programs that evaluate functions such as ``exp`` of so many elements keep the fusions of MLIR.
_WORTH_FUSING: Final = 1e5

_ONE_THREAD: Final[tuple[str, compilation.Flag]] = ("xla_cpu_parallel_codegen_split_count", 1)
_UNOPTIMIZED: Final[tuple[str, compilation.Flag]] = ("xla_backend_optimization_level", 0)

#: The body of a loop becomes one function if it touches no more bytes.
_WHOLE_LOOPS: Final[tuple[str, compilation.Flag]] = (
    "xla_cpu_small_while_loop_byte_threshold",
    updates.WHOLE_LOOP,
)
#: Makes fewer fusions, those of several results, and takes no second way to write them.
_FEWER_FUSIONS: Final[compilation.Flags] = (
    ("xla_cpu_disable_tiled_emitter", True),
    ("xla_cpu_use_multi_output_fusion", True),
)
#: The flags that are options of XLA:CPU alone: a table in XLA's record of options. Of those that
#: are true or false, the ones in it are on.
_BACKEND_OPTIONS: Final = frozenset({_WHOLE_LOOPS[0], *dict(_FEWER_FUSIONS)})
#: The numbers of the fields in XLA's messages that lead to that table: from ``CompileOptionsProto``
#: to ``ExecutableBuildOptionsProto``, ``DebugOptions`` and an entry, whose fields are 1 and 2.
_PATH_TO_BACKEND_OPTIONS: Final = (3, 3, 500)


def as_flags(options: Mapping[str, object], taker: str) -> compilation.Flags:
    """Return compiler options as flags.

    Args:
        options: the options.
        taker: the function that takes them, for messages.

    Raises:
        ArgumentError: a name does not begin with "xla_", or a value is neither number nor text.
    """
    flags: list[tuple[str, compilation.Flag]] = []
    for name, value in options.items():
        if not name.startswith("xla_"):
            raise errors.ArgumentError(
                f"compiler_options of {taker} are flags of XLA, whose names begin with 'xla_', but "
                f"got {errors.shortened(name)}."
            )
        if not isinstance(value, (bool, int, float, str)):
            raise errors.ArgumentError(
                f"compiler_options of {taker} has {value!r} for '{name}': values are numbers, "
                "bools or texts."
            )
        # as in the environment, where all are texts
        flags.append((name, value == "true" if value in ("true", "false") else value))
    return tuple(sorted(flags))


def flags_for(request: compilation.Compilation) -> compilation.Flags:
    """Return the flags that a program for the processor is compiled with.

    They are those of the setting ``effort``, and the user's.
    """
    chosen: list[tuple[str, compilation.Flag]]
    match config.settings().effort:
        case "low":
            chosen = [_WHOLE_LOOPS, *versions.PLAIN_LOOPS, _ONE_THREAD, _UNOPTIMIZED]
        case "medium" if compilation.functions_in(request.jaxpr) < _WORTH_FUSING:
            chosen = [_WHOLE_LOOPS, *versions.PLAIN_LOOPS, _ONE_THREAD]
        case "medium":
            chosen = [_WHOLE_LOOPS, *_FEWER_FUSIONS, _ONE_THREAD]
        case _:
            chosen = [_WHOLE_LOOPS]
    flags = {**dict(chosen), **dict(request.flags)}
    flags.pop("compiler", None)  # which is XLA
    return tuple(sorted(flags.items()))


@contextmanager
def compiling(flags: compilation.Flags) -> Iterator[None]:
    """Compile within this block: errors of XLA are raised as errors of ours.

    Raises:
        ArgumentError: XLA has no such flag, or it does not take the value.
        JaxRuntimeError: it fails otherwise.
    """
    try:
        yield
    except RuntimeError as error:
        said = str(error)
        if flags and ("compile option" in said or "While setting option" in said):
            raise errors.ArgumentError(f"compiler_options: {said.partition(': ')[2]}") from None
        raise_as_ours(error)


def compile_options(flags: compilation.Flags) -> CompileOptions:
    """Return XLA's record of options with these flags."""
    options = CompileOptions()
    entries = [
        _entry(name, value)
        for name, value in flags
        if name in _BACKEND_OPTIONS and value is not False
    ]
    if entries:  # a message in wire format is continued by what is added to it
        options = CompileOptions.ParseFromString(b"".join([options.SerializeAsString(), *entries]))
    others = [flag for flag in flags if flag[0] not in _BACKEND_OPTIONS]
    if others:
        options.env_option_overrides = others
    return options


def _entry(name: str, value: compilation.Flag) -> bytes:
    """Return a record of options, in protobuf's wire format, with one of ``_BACKEND_OPTIONS``."""
    message = _field(1, name.encode()) + _field(2, str(value).lower().encode())
    for number in reversed(_PATH_TO_BACKEND_OPTIONS):
        message = _field(number, message)
    return message


def _field(number: int, content: bytes) -> bytes:
    """Return a field of bytes in protobuf's wire format."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first; all but the last are marked."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)

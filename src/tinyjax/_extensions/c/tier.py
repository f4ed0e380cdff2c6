"""C as a tier: ``jit(compiler="c")`` has the system's C compiler compile programs, and not XLA.

A program is written as a function of C for the sizes of its first call. When it is called with
others, it is written in a form with few decisions by sizes: then the texts for two sizes mostly
differ in numbers alone. These become arguments of a function, whose binary serves all sizes.
Whether it serves one more is decided by the text for it, which must be that of the binary with
other numbers in these places; so nothing is assumed of how numbers depend on sizes.
"""

from __future__ import annotations

import ctypes
import platform
import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from itertools import count
from threading import RLock
from time import perf_counter
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import config, dtypes, errors
from tinyjax._base import records
from tinyjax._extensions.c import compiling, exporting, syntax
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.xla.disk_cache import disk_cache, program_key
from tinyjax.dtypes import HostArray

#: Evaluates a program in C.
Evaluate: TypeAlias = Callable[[Sequence[HostArray]], list[HostArray]]

#: -O3 takes thrice as long; for texts of more characters -O1 takes half as long. For those that are
#: yet longer, and have a loop in so many characters at most, -O0 takes a tenth, and calls as long.
_LONG_TEXT: Final = 60_000
_LONGER_TEXT: Final = 200_000
_WITHOUT_LOOPS: Final = 2000
_OF_ALL: Final = (*compiling.COMMON_FLAGS.split(), "-fvect-cost-model=dynamic")
FLAGS: Final = ("-O2", *_OF_ALL)
_FLAGS_FOR_LONG: Final = ("-O1", "-ftree-loop-vectorize", *_OF_ALL)
_FLAGS_FOR_NUMBERS: Final = ("-O0", *_OF_ALL)
#: Functions of which GNU's library for x86 has some for whole vectors, right to four units of the
#: last place, and the version that has them all.
_VECTOR_FUNCTIONS: Final = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc"),
    *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh"),
)
_VECTOR_VERSION: Final = (2, 35)
_COMMENT: Final = re.compile(r"\s*/\*.*?\*/", re.DOTALL)
#: The place in a function's text where numbers are declared that are arguments.
_DECLARATIONS: Final = "@declarations@"
#: Words, and numbers; of these, a float has a point or a power.
_TOKEN: Final = re.compile(
    r"[A-Za-z_]\w*|(?P<float>-?0x[\da-f.]+p[+-]?\d+f?|\d+\.\d*(?:e[+-]?\d+)?f?|\d+e[+-]?\d+f?)"
    r"|(?P<int>\d+)\b"
)
_MOST_INT: Final = 2**31 - 1
_MOST_PROGRAMS: Final = 1024


@attrs.frozen(eq=False, repr=False)
class _SourceText(records.Record):
    """The text of a program for some sizes.

    Attributes:
        before: what is the same for all sizes: functions, tables.
        pieces: the text of the functions between numbers.
        kinds: the types of the numbers.
        numbers: the numbers.
        text: all of it.
    """

    before: str
    pieces: tuple[str, ...]
    kinds: tuple[str, ...]
    numbers: tuple[str, ...] = attrs.field(eq=False)
    text: exporting.CText = attrs.field(eq=False)


@attrs.define(eq=False)
class _Binary:
    """A compiled text.

    Attributes:
        numbers: the numbers in it, and None in the places of arguments.
        places: for each argument the first place of the number that it is.
        same: for each place of an argument the argument.
        function: ``python_call`` of ``calling.c``.
        seconds: the time that the compiler took.
    """

    numbers: list[str | None]
    places: list[int]
    same: dict[int, int]
    function: Any
    seconds: float

    def arguments(self, numbers: Sequence[str]) -> Any:
        """Return the arguments for the text with these numbers; None where they do not fit."""
        for i, (mine, other) in enumerate(zip(self.numbers, numbers, strict=True)):
            if mine != other and (mine is not None or other != numbers[self.places[self.same[i]]]):
                return None
        values = [*blas(), *[_bits(numbers[i]) for i in self.places]]
        return (ctypes.c_int64 * len(values))(*values)


@attrs.define(eq=False)
class _TextForm:
    """The texts that differ in numbers alone.

    Attributes:
        numbers: those of the first.
        binaries: what was compiled for several.
    """

    numbers: tuple[str, ...]
    binaries: list[_Binary] = attrs.field(factory=list)


@attrs.frozen(eq=False, repr=False)
class CTierProgram(records.Record):
    """A program that was to be compiled as C.

    Attributes:
        evaluate: evaluates it; None where XLA compiles it.
        history: how it was compiled, or why XLA compiles it.
    """

    evaluate: Evaluate | None
    history: str


#: Held while a program is written, which may run others.
_lock: Final = RLock()
#: Programs by digest.
_programs: Final[dict[bytes, CTierProgram]] = {}
#: Forms of texts, by what is the same for all sizes.
_forms: Final[dict[_SourceText, _TextForm]] = {}
#: By operations of a program the first one that has them, and None after the second one.
_firsts: Final[dict[tuple[object, ...], jx.Jaxpr | None]] = {}
_CACHES: Final[tuple[dict[Any, Any], ...]] = (_programs, _forms, _firsts)


def evaluation(jaxpr: jx.Jaxpr) -> Evaluate | None:
    """Return the function that evaluates a program in C, which is compiled if that was not done.

    It takes and returns arrays of the types of the program. None is for programs that C has not.
    """
    program = _programs.get(jaxpr.digest)
    if program is None:
        with _lock:
            program = _programs.get(jaxpr.digest) or _compile(jaxpr)
            _programs[jaxpr.digest] = program
            for cache in _CACHES:
                while len(cache) > _MOST_PROGRAMS:
                    del cache[next(iter(cache))]
    return program.evaluate


def history(jaxpr: jx.Jaxpr) -> str:
    """Return how a program was compiled."""
    program = _programs.get(jaxpr.digest)
    return "the compiler of C compiles it at the first call" if program is None else program.history


def forget() -> None:
    """Forget all programs."""
    with _lock:
        for cache in _CACHES:
            cache.clear()


def _compile(jaxpr: jx.Jaxpr) -> CTierProgram:
    if any(dtypes.is_key(aval.dtype) for aval in (*jaxpr.in_avals, *jaxpr.out_avals)):
        return CTierProgram(None, "XLA compiles it, since keys are not passed to C")
    try:
        source, binary = None, None
        operations = _operations(jaxpr)
        if operations not in _firsts:
            _firsts[operations] = jaxpr  # one for these sizes is quicker
        else:
            first, _firsts[operations] = _firsts[operations], None
            if first is not None:
                _binary_for(_source_text(first, sizes_vary=True))
            source = _source_text(jaxpr, sizes_vary=True)
            binary = _binary_for(source)
        if source is None or binary is None:
            source = _source_text(jaxpr)
            binary = _compiled(source, {})
    except (errors.ExportError, errors.PlatformError) as error:
        return CTierProgram(None, f"XLA compiles it: {error.message}")
    types = [aval.dtype for aval in jaxpr.in_avals]
    shapes = [(aval.shape, aval.dtype) for aval in jaxpr.out_avals]
    text, arguments = source.text, binary.arguments(source.numbers)
    tables = text.tables
    function, python, empty = binary.function, ctypes.addressof(compiling.PYTHON), np.empty

    def evaluate(hosts: Sequence[HostArray]) -> list[HostArray]:
        results: list[HostArray] = [empty(shape, dtype) for shape, dtype in shapes]
        status = function(python, [*hosts, *tables, *results], arguments)
        if status > 0:  # one is not in rows
            rows = [np.array(x, t, order="C") for x, t in zip(hosts, types, strict=True)]
            status = function(python, [*rows, *tables, *results], arguments)
        if status:
            raise MemoryError(f"a program in C needs {text.layout.nbytes} bytes.")
        return results

    sizes = f", for all sizes, by {len(binary.places)} arguments" if binary.places else ""
    return CTierProgram(evaluate, f"compiled as C in {binary.seconds:.2g} s{sizes}")


def _operations(jaxpr: jx.Jaxpr) -> tuple[object, ...]:
    """Return the operations of a program, of whatever sizes."""
    return tuple(
        [(eqn.primitive, *map(_operations, jx.subjaxprs(eqn.params))) for eqn in jaxpr.eqns]
    )


def _source_text(jaxpr: jx.Jaxpr, sizes_vary: bool = False) -> _SourceText:
    """Write a program, and part the text into what is the same for all sizes, and numbers."""
    ins = [f"in{i}" for i in range(len(jaxpr.in_avals))]
    outs = [f"out{i}" for i in range(len(jaxpr.out_avals))]
    kinds_of_text = {"sizes_vary": sizes_vary, "has_library": bool(blas())}
    text = exporting.write_function("program", jaxpr, (), ins, outs, **kinds_of_text)
    fields = [f"    {syntax.c_type(dtype)} *{syntax.suffix(dtype)};" for dtype in text.layout.sizes]
    workspace = "\n".join(["struct program_workspace {", *fields, "};"]) if fields else ""
    function = _COMMENT.sub("", f"{text.function}\n{_calling(text)}")
    for head in (f"int {text.name}(", "int python_call("):
        start = function.index("{\n", function.index(head)) + 2
        function = f"{function[:start]}{_DECLARATIONS}{function[start:]}"
    function = function.replace(f"int {text.name}(", f"int {text.name}(const int64_t *numbers, ", 1)
    pieces: list[str] = []
    kinds: list[str] = []
    numbers: list[str] = []
    end = 0
    for token in _TOKEN.finditer(function):
        if token["float"] or (token["int"] and int(token["int"]) <= _MOST_INT):
            pieces.append(function[end : token.start()])
            kinds.append(_kind(token[0]))
            numbers.append(token[0])
            end = token.end()
    constants = [x.table for x in text.results]
    before = "\n\n".join([exporting.INCLUDES, text.before, *constants, workspace])
    pieces.append(function[end:])
    shared = _COMMENT.sub("", before), tuple(pieces), tuple(kinds)
    return _SourceText(*shared, tuple(numbers), text)


def _calling(text: exporting.CText) -> str:
    """Write the function by which Python calls a program."""
    count = len(text.arguments) + len(text.results)
    data, places = [f"views[{i}].data" for i in range(count)], []
    size = 0
    for dtype, length in text.layout.sizes.items():
        places.append(f"({syntax.c_type(dtype)} *)((char *)workspace + {size})")
        size += -(-length * dtype.itemsize // 64) * 64
    first = [f"&(struct program_workspace){{{', '.join(places)}}}"] if places else []
    types = [
        f'{{"{np.empty((), x.aval.dtype).data.format}", -1, 0}}'
        for x in (*text.arguments, *text.results)
    ]
    call = f"{text.name}({', '.join(['numbers', *first, *data])})"
    return compiling.calling(types, size, call, ", const int64_t *numbers")


def _binary_for(source: _SourceText) -> _Binary | None:
    """Return a binary for many sizes that serves for a text; None where that is the first."""
    form = _forms.get(source)
    if form is None:
        _forms[source] = _TextForm(source.numbers)
        return None
    for binary in form.binaries:
        if binary.arguments(source.numbers) is not None:
            return binary
    last = form.binaries[-1] if form.binaries else None
    earlier: Sequence[str | None] = last.numbers if last else form.numbers
    groups: dict[tuple[object, str], int] = {}
    same: dict[int, int] = {}
    for i, (mine, other) in enumerate(zip(earlier, source.numbers, strict=True)):
        if mine != other:  # numbers that were equal, and are, are one argument
            before = last.same[i] if last and mine is None else mine
            same[i] = groups.setdefault((before, other), len(groups))
    try:
        binary = _compiled(source, same)
    except errors.PlatformError:  # a number that must be a constant of C
        return None
    form.binaries.append(binary)
    return binary


def _compiled(source: _SourceText, same: dict[int, int]) -> _Binary:
    """Compile a text, of whose numbers some are arguments."""
    start = perf_counter()
    pieces, firsts = source.pieces, dict[int, int]()
    for i, k in same.items():
        firsts.setdefault(k, i)
    places = [*firsts.values()]
    prefix = next(p for p in (f"n{'_' * k}" for k in count()) if f" {p}" not in "".join(pieces))
    numbers: list[str | None] = [None if i in same else x for i, x in enumerate(source.numbers)]
    parts = [f"{prefix}{same[i]}" if x is None else x for i, x in enumerate(numbers)]
    first = len(blas())
    declared = [_declared(f"{prefix}{k}", first + k, source.kinds[i]) for k, i in enumerate(places)]
    text = "".join([piece + part for piece, part in zip(pieces, [*parts, ""], strict=True)])
    text = text.replace(_DECLARATIONS, "".join(declared))
    file = f"{source.before}\n\n{text}\n"
    library = compiling.load_library(_code(file), ctypes.PyDLL)
    function = library["python_call"]
    function.argtypes = ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    return _Binary(numbers, places, same, function, perf_counter() - start)


def _kind(number: str) -> str:
    """Return the type of a number in C."""
    if number.isdecimal():
        return "int"
    return "float" if number.endswith("f") else "double"


def _declared(name: str, k: int, kind: str) -> str:
    """Declare a number that is an argument."""
    if kind == "int":
        return f"    const int {name} = (int)numbers[{k}];\n"
    bits = "int32_t" if kind == "float" else "int64_t"
    read = f"const {bits} {name}_bits = ({bits})numbers[{k}];"
    return f"    {kind} {name};\n    {read}\n    memcpy(&{name}, &{name}_bits, sizeof {name});\n"


def _bits(number: str) -> int:
    """Return a number as an argument: a float by its bits."""
    kind = _kind(number)
    if kind == "int":
        return int(number)
    digits = number.removesuffix("f")
    value = float.fromhex(digits) if "x" in digits else float(digits)
    code, bits = ("<f", "<i") if kind == "float" else ("<d", "<q")
    return int(struct.unpack(bits, struct.pack(code, value))[0])


@cache
def blas() -> tuple[int, ...]:
    """Return the addresses of functions that NumPy has loaded; none where it has other ones."""
    loaded = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    try:
        found = [loaded[f"scipy_{x}{f}_64_"] for f in ("gemm", "potrf", "trsm") for x in "ds"]
    except AttributeError:
        return ()
    return tuple([ctypes.cast(x, ctypes.c_void_p).value or 0 for x in found])


@cache
def _version() -> str:
    """Return what the compiler says of itself."""
    return compiling.run_compiler("--version")


@cache
def _vector_functions() -> str:
    """Declare functions for whole vectors, where there are some."""
    library, version = platform.libc_ver()
    numbers = [*map(int, re.findall(r"\d+", version)[:2])]
    has_some = platform.machine() == "x86_64" and library == "glibc" and "Free Soft" in _version()
    if not has_some or numbers < [*_VECTOR_VERSION]:
        return ""
    kinds = ("double", ""), ("float", "f")
    return "\n".join(
        [
            f'__attribute__((simd("notinbranch"), const)) {kind} {name}{end}({kind});'
            for name in _VECTOR_FUNCTIONS
            for kind, end in kinds
        ]
    )


def _code(source: str) -> bytes:
    """Return the machine code of a file, from the cache on disk where that has it."""
    vectors = _vector_functions()
    flags = FLAGS if len(source) < _LONG_TEXT else _FLAGS_FOR_LONG
    if len(source) > max(_LONGER_TEXT, _WITHOUT_LOOPS * source.count("for (")):
        flags = _FLAGS_FOR_NUMBERS
    flags = (*flags, "-mprefer-vector-width=256", "-lmvec") if vectors else flags
    source = source.replace(exporting.LIBRARY, f"{exporting.LIBRARY}\n{vectors}", 1)
    if not config.settings().cache_dir:
        return compiling.library_code("program", source, flags)
    key = program_key(source, " ".join(flags).encode(), f"{compiling.compiler()} {_version()}")
    folder = disk_cache()
    code = folder.load(key)
    if code is None:
        code = compiling.library_code("program", source, flags)
        folder.store(key, code)
    return code

"""A program in C as a function of NumPy's arrays, by the system's compiler and ``ctypes``."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax._base import records
from tinyjax._extensions.c import rules, syntax
from tinyjax.core.values import ShapedArray
from tinyjax.dtypes import HostArray

#: No product is added in one rounding, as in the library; the names of errors are not set.
FLAGS: Final = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno")


@attrs.frozen(eq=False, repr=False)
class CParameter(records.Record):
    """An argument or a result of a function in C.

    Attributes:
        name: its name.
        aval: its type.
        table: its constant elements as a table of C, for a result that depends on no argument.
    """

    name: str
    aval: ShapedArray
    table: str = ""

    @property
    def size(self) -> int:
        """The number of elements of C."""
        return prod(rules.shape_of(self.aval))

    @property
    def ctype(self) -> str:
        """The type of an element in C."""
        return syntax.c_type(rules.dtype_of(self.aval))


@attrs.frozen(eq=False, repr=False)
class CFunction(records.Printed):
    """The parts of a program in C that its calls need: see ``CProgram``."""

    name: str
    source: str
    arguments: Sequence[CParameter]
    results: Sequence[CParameter]
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef
    workspace_bytes: int


def compiled(program: CFunction, flags: Sequence[str]) -> Callable[..., Any]:
    """Compile a program; see ``CProgram.compile``."""
    function = _function(program, flags)
    frames = threading.local()
    in_tree, unflatten = program.in_tree, program.out_tree.unflatten

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten_arguments(args, kwargs)
        if structure is not in_tree and structure != in_tree:
            raise errors.ArgumentError(
                f"{program.name} takes arguments of the structure {in_tree}, but got {structure}."
            )
        frame: _Frame | None = getattr(frames, "frame", None)
        if frame is None:
            frame = frames.frame = _Frame(program)
        return unflatten(frame.call(function, leaves))

    return call


def call_in_c(program: CFunction, args: Sequence[Any]) -> Callable[[], int]:
    """Compile a program, and return a function that calls it with the same arrays each time."""
    function, frame = _function(program, FLAGS), _Frame(program)
    frame.call(function, tree.leaves(args))
    return lambda: function(*frame.addresses)  # which keeps the memory alive


class _Frame:
    """The memory of a thread's calls. Small arrays are copied, so that their addresses stay."""

    def __init__(self, program: CFunction) -> None:
        size = program.workspace_bytes
        self._program = program
        self._ins = [_Slot(x.aval) for x in program.arguments]
        self._outs = [_Slot(x.aval) for x in program.results]
        self._workspace = np.empty(size // 8 + 1, np.uint64)
        arrays = [x.array for x in (*self._ins, *self._outs)]
        self.addresses = [_address(x) for x in [*[self._workspace] * bool(size), *arrays]]
        self._first = int(bool(size))
        self._large = [i for i, x in enumerate((*self._ins, *self._outs)) if x.is_large]

    def call(self, function: Callable[..., Any], leaves: Sequence[Any]) -> list[HostArray]:
        """Call a function with data, and return its results."""
        arrays = []
        for i, (leaf, slot) in enumerate(zip(leaves, self._ins, strict=True)):
            x = leaf if type(leaf) is np.ndarray else _as_array(leaf, slot)
            if x.shape != slot.shape or x.dtype != slot.dtype:
                parameter = self._program.arguments[i]
                raise errors.ArgumentError(
                    f"{self._program.name} was written for {parameter.name} of type "
                    f"{parameter.aval}, but got {x.dtype.name}{[*x.shape]}."
                )
            if slot.is_large:
                arrays.append(np.ascontiguousarray(x))
            else:
                slot.array[...] = x
        if not self._large:
            function(*self.addresses)
            return [slot.array.copy() for slot in self._outs]
        outs = [np.empty_like(slot.array) if slot.is_large else slot.array for slot in self._outs]
        arrays += [out for out, slot in zip(outs, self._outs, strict=True) if slot.is_large]
        addresses = [*self.addresses]
        for i, x in zip(self._large, arrays, strict=True):
            addresses[self._first + i] = _address(x)
        function(*addresses)
        return [x if slot.is_large else x.copy() for x, slot in zip(outs, self._outs, strict=True)]


#: Arrays of so many bytes are not copied.
_LARGE: Final = 1 << 14


class _Slot:
    """A place for an array of a type."""

    def __init__(self, aval: ShapedArray) -> None:
        self.array = np.empty(aval.shape, aval.dtype)
        self.shape, self.dtype = self.array.shape, self.array.dtype
        self.is_large = self.array.nbytes >= _LARGE


def _address(x: HostArray) -> ctypes.c_void_p:
    return ctypes.c_void_p(x.ctypes.data)


def _as_array(leaf: Any, slot: _Slot) -> HostArray:
    is_number = isinstance(leaf, bool | int | float) and not slot.shape
    return np.asarray(leaf, slot.dtype) if is_number else np.asarray(leaf)


def _function(program: CFunction, flags: Sequence[str]) -> Callable[..., int]:
    compiler = os.environ.get("CC") or next(
        filter(None, map(shutil.which, ("cc", "gcc", "clang"))), ""
    )
    if not compiler:
        raise errors.PlatformError(
            "compile needs a C compiler, but there is neither cc nor gcc nor clang. Install one, "
            "or name it in the environment variable CC; program.source is the file itself."
        )
    name = program.name
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, f"{name}.c"), Path(folder, f"{name}.so")
        source.write_text(program.source, encoding="utf-8")
        command = [compiler, "-std=c99", *flags, "-shared", "-fPIC", str(source), "-o", str(binary)]
        done = subprocess.run([*command, "-lm"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise errors.PlatformError(
                f"{compiler} could not compile {name}: {done.stderr.strip()}"
            )
        library = ctypes.CDLL(str(binary))
    function: Callable[..., int] = library[f"{name}_in" if program.workspace_bytes else name]
    return function

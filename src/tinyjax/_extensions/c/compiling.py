"""A program in C as a function of NumPy's arrays, by the system's compiler and ``ctypes``."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from itertools import repeat
from math import prod
from pathlib import Path
from string import Template
from typing import Any, Final, TypeVar

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax._base import records
from tinyjax._extensions.c import rules, syntax
from tinyjax.core.values import ShapedArray
from tinyjax.dtypes import HostArray

L = TypeVar("L", bound=ctypes.CDLL)

#: No product is added in one rounding, as in the library; the names of errors are not set.
COMMON_FLAGS: Final = "-march=native -ffp-contract=off -fno-math-errno -fno-tree-slp-vectorize"
FLAGS: Final = ("-O3", *COMMON_FLAGS.split())


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
    arrays = [np.empty(x.aval.shape, x.aval.dtype) for x in (*program.arguments, *program.results)]
    function = _library(program, flags, _calling(program, arrays))["python_call"]
    function.argtypes = ctypes.c_void_p, ctypes.py_object
    python = ctypes.addressof(PYTHON)
    result_types = [(x.shape, x.dtype) for x in arrays[len(program.arguments) :]]
    in_tree, unflatten, empty = program.in_tree, program.out_tree.unflatten, np.empty
    count = len(program.arguments)
    flat_count = count if in_tree == tree.flatten_arguments((0,) * count, {})[1] else -1

    def call(*args: Any, **kwargs: Any) -> Any:
        outs = [empty(shape, dtype) for shape, dtype in result_types]
        if kwargs or len(args) != flat_count or function(python, [*args, *outs]):
            leaves, structure = tree.flatten_arguments(args, kwargs)
            if structure is not in_tree and structure != in_tree:
                raise errors.ArgumentError(
                    f"{program.name} takes arguments of the structure {in_tree}, but got "
                    f"{structure}."
                )
            if function(python, [*leaves, *outs]):
                leaves = [*map(_converted, repeat(program), program.arguments, leaves)]
                if function(python, [*leaves, *outs]):
                    raise MemoryError(f"{program.name} needs {program.workspace_bytes} bytes.")
        return unflatten(outs)

    return call


def call_in_c(program: CFunction, args: Sequence[Any]) -> Callable[[], int]:
    """Compile a program, and return a function that calls it with the same arrays each time."""
    outs = [np.empty(x.aval.shape, x.aval.dtype) for x in program.results]
    workspace = [np.empty(program.workspace_bytes, np.uint8)] * bool(program.workspace_bytes)
    arrays = [*workspace, *map(np.ascontiguousarray, tree.leaves(args)), *outs]
    function = _library(program, FLAGS)[f"{program.name}{'_in' * bool(workspace)}"]
    addresses = [x.ctypes.data_as(ctypes.c_void_p) for x in arrays]  # which keep them alive
    return lambda: function(*addresses)


#: The functions of Python that ``calling.c`` calls.
PYTHON: Final = (ctypes.c_void_p * 6)(
    *[
        ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value
        for name in (
            *("PyObject_GetBuffer", "PyBuffer_Release", "PyErr_Clear", "PyList_GetItem"),
            *("PyEval_SaveThread", "PyEval_RestoreThread"),
        )
    ]
)


def _calling(program: CFunction, arrays: Sequence[HostArray]) -> str:
    """Write the function by which Python calls a program with arrays of these types."""
    types = []
    for x in arrays:
        sizes = ", ".join(map(str, x.shape)) or "0"
        types.append(f'{{"{x.data.format}", {x.ndim}, (const ptrdiff_t[]){{{sizes}}}}}')
    first = ["workspace"] * bool(program.workspace_bytes)
    data = ", ".join([*first, *[f"views[{i}].data" for i in range(len(arrays))]])
    return calling(types, program.workspace_bytes, f"{program.name}{'_in' * bool(first)}({data})")


def calling(types: Sequence[str], workspace_bytes: int, call: str, parameters: str = "") -> str:
    """Write the function by which Python calls a program, ``calling.c``.

    Args:
        types: the types of its arrays.
        workspace_bytes: the size of ``workspace``.
        call: the call of the program with the data of ``views``.
        parameters: further parameters of the function, which the call names.
    """
    template = Template((Path(__file__).parent / "calling.c").read_text(encoding="utf-8"))
    return template.substitute(
        types=", ".join([*types, "{0}"]),
        workspace_bytes=workspace_bytes,
        call=call,
        parameters=parameters,
    )


def _converted(program: CFunction, parameter: CParameter, leaf: Any) -> HostArray:
    """Return an argument as an array in rows.

    Raises:
        ArgumentError: it has another type than the program.
    """
    shape, dtype = parameter.aval.shape, parameter.aval.dtype
    is_number = isinstance(leaf, bool | int | float) and not shape
    x = np.asarray(leaf, dtype) if is_number else np.asarray(leaf)
    if x.shape != shape or x.dtype != dtype:
        raise errors.ArgumentError(
            f"{program.name} was written for {parameter.name} of type {parameter.aval}, but got "
            f"{x.dtype.name}{[*x.shape]}."
        )
    return x.astype(dtype, order="C")


def _library(program: CFunction, flags: Sequence[str], call: str = "") -> ctypes.CDLL:
    code = library_code(program.name, program.source + call, flags)
    return load_library(code, ctypes.PyDLL if call else ctypes.CDLL)


def compiler() -> str:
    """Return the path of the system's C compiler.

    Raises:
        PlatformError: there is none.
    """
    path = os.environ.get("CC") or next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "")
    if not path:
        raise errors.PlatformError(
            "compile needs a C compiler, but there is neither cc nor gcc nor clang. Install one, "
            "or name it in the environment variable CC; program.source is the file itself."
        )
    return path


def run_compiler(*arguments: str) -> str:
    """Run the system's C compiler, and return what it prints.

    Raises:
        PlatformError: there is none, or it fails.
    """
    command = [compiler(), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except OSError as error:
        raise errors.PlatformError(f"{command[0]} cannot be run: {error}.") from error
    except subprocess.CalledProcessError as error:
        raise errors.PlatformError(f"{command[0]} failed: {error.stderr.strip()}") from error
    return done.stdout


def library_code(name: str, source: str, flags: Sequence[str]) -> bytes:
    """Compile a file of C to a library.

    Raises:
        PlatformError: there is no compiler, or it refuses the file.
    """
    with tempfile.TemporaryDirectory() as folder:
        file, binary = Path(folder, f"{name}.c"), Path(folder, f"{name}.so")
        file.write_text(source, encoding="utf-8")
        run_compiler("-std=c99", "-shared", "-fPIC", str(file), *flags, "-o", str(binary), "-lm")
        return binary.read_bytes()


def load_library(code: bytes, kind: type[L]) -> L:
    """Load a library, of which no file stays."""
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder, "library.so")
        binary.write_bytes(code)
        return kind(str(binary))

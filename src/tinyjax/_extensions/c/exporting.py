"""``export.c``: a function, and its derivatives, as a file of C99."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import attrs

from tinyjax import errors, tree
from tinyjax._base import records
from tinyjax._extensions.c import (
    compiling,
    control,
    elementwise,
    matrices,
    moving,
    reducing,
    rendering,
    rules,
    syntax,
)
from tinyjax._extensions.c.compiling import CFunction, CParameter
from tinyjax._extensions.c.syntax import Index
from tinyjax._extensions.c.writing import CBuffer, CValue, Storage, Writer
from tinyjax.core.api import make_jaxpr
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.values import Array, ShapedArray
from tinyjax.dtypes import HostArray

#: What files begin with.
INCLUDES: Final = "#include <stdbool.h>\n#include <stdint.h>"
#: The modules whose rules are registered when this one is loaded.
RULES: Final = (control, elementwise, matrices, moving, reducing)
LIBRARY: Final = "#include <math.h>\n#include <string.h>"


@attrs.frozen(eq=False, repr=False)
class CProgram(CFunction):
    """A function in C, made by ``export.c``.

    Attributes:
        name: its name.
        source: the file, which needs no other.
        header: its declarations, with the sizes of arguments, results and workspace.
        arguments: the arguments.
        results: the results.
        in_tree: the structure of ``(args, kwargs)``.
        out_tree: the structure of the result.
        workspace_bytes: the size of the workspace.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> def energy(x):
        ...     return jnp.sum(x * x)
        >>> program = export.c(energy)(jnp.zeros(3))
        >>> program
        <C program energy: (float32[3]) -> (float32[])>
        >>> float(program.compile()(jnp.array([1.0, 2.0, 3.0])))
        14.0
    """

    header: str

    def __repr__(self) -> str:
        ins, outs = (
            ", ".join([str(x.aval) for x in part]) for part in (self.arguments, self.results)
        )
        return f"<C program {self.name}: ({ins}) -> ({outs})>"

    def compile(self, flags: Sequence[str] = compiling.FLAGS) -> Callable[..., Any]:
        """Compile it by the system's C compiler, which ``CC`` names in the environment.

        Args:
            flags: options of the compiler.

        Returns:
            A function of NumPy's arrays, of the types and the structure that the program is for.
            It returns new arrays, and may be called from several threads.

        Raises:
            PlatformError: there is no compiler, or it refuses the program.

        Example:
            >>> import numpy as np, tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import export
            >>> double = export.c(lambda x: 2 * x)(np.zeros(2, np.float32)).compile()
            >>> double(np.float32([1, 2]))
            array([2., 4.], dtype=float32)
        """
        return compiling.compiled(self, flags)


def c(
    fun: Callable[..., Any], name: str | None = None, assume_finite: bool = False
) -> Callable[..., CProgram]:
    """Return a function that writes ``fun`` as a file of C99, for arguments of given types.

    The file needs ``math.h`` and ``string.h``, allocates nothing and keeps nothing between calls:
    ``int NAME(const T *in, ..., T *out, ...)`` returns 0. Arrays lie in rows, and must not overlap.
    What is too large for the stack is in a workspace, ``struct NAME_workspace``, which is static:
    ``NAME_in`` takes one as its first argument instead, so that several threads can call it.

    Args:
        fun: the function, with all transformations that it has: ``grad``, ``vmap``, ``jit`` ...
        name: the name of the function in C; that of ``fun`` by default.
        assume_finite: take products with constant zeros for zero, and sums with them for the other
            term, as finite numbers allow. Infinities and NaNs then get lost, and the signs of zeros
            may change.

    Returns:
        A function of arguments, or of ``ShapeDtypeStruct``s in their places.

    Raises:
        ExportError: the program has an operation that cannot be written, such as a callback, or
            numbers that C has not, such as complex ones.
        ArgumentError: ``name`` is no name in C.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> def swing(angle):
        ...     return -9.81 * jnp.sin(angle)
        >>> print(export.c(swing)(jnp.float32(0.0)).header)  # doctest: +ELLIPSIS
        /* swing: ...
        int swing(const float *restrict angle, float *restrict out);
        ...
    """
    own = re.sub(r"\W", "_", getattr(fun, "__name__", "")) if name is None else name
    if name is not None and not re.fullmatch(r"[A-Za-z]\w*", name):
        raise errors.ArgumentError(
            f"export.c: {name!r} is no name in C. Write letters, digits and underscores."
        )
    own = own if re.match(r"[A-Za-z]", own) else "program"
    if own in syntax.TAKEN or syntax.helper(own):
        own += "_"

    def write(*args: Any, **kwargs: Any) -> CProgram:
        closed, out = make_jaxpr(fun, return_shape=True)(*args, **kwargs)
        _, in_tree = tree.flatten_arguments(args, kwargs)
        names = _paths(fun, args, kwargs), _result_paths(out)
        text = write_function(own, closed.jaxpr, closed.consts, *names, assume_finite)
        ins, outs, layout = text.arguments, text.results, text.layout
        header = _header(own, ins, outs, layout)
        source = _source(text, header)
        size = layout.nbytes
        return CProgram(own, source, ins, outs, in_tree, tree.structure(out), size, header)

    return write


@attrs.frozen(eq=False, repr=False)
class CText(records.Record):
    """The text of a function in C.

    Attributes:
        name: the name of the function, which takes its workspace first if it has one.
        arguments: the arguments.
        results: the results.
        layout: the layout of the workspace.
        tables: the data of the last arguments, where sizes vary.
        before: the functions and tables that it needs.
        function: the function.
    """

    name: str
    arguments: Sequence[CParameter]
    results: Sequence[CParameter]
    layout: rendering.WorkspaceLayout
    tables: Sequence[HostArray]
    before: str
    function: str


def write_function(
    name: str,
    jaxpr: jx.Jaxpr,
    consts: Sequence[Array],
    in_names: Sequence[str],
    out_names: Sequence[str],
    assume_finite: bool = False,
    sizes_vary: bool = False,
    has_library: bool = False,
) -> CText:
    """Write a program as a function of C.

    Args:
        name: the name of the function.
        jaxpr: the program.
        consts: its first operands, which become constants.
        in_names: the names of the others.
        out_names: the names of the results.
        assume_finite: as for ``c``.
        sizes_vary: whether the text should have one form for many sizes.
        has_library: as for ``Writer``.

    Raises:
        ExportError: it cannot be written.
    """
    jaxpr = program_rules.dce(jaxpr)
    rules.check(jaxpr)
    w = Writer(assume_finite, sizes_vary, has_library)
    w.new_name(name)
    ins = _parameters(w, in_names, jaxpr.in_avals[len(consts) :])
    outs = _parameters(w, out_names, jaxpr.out_avals)
    values = [rules.constant(w, x, a) for x, a in zip(consts, jaxpr.in_avals, strict=False)]
    layout, local = _write_body(w, name, jaxpr, values, ins, outs)
    return _text(name, w, ins, outs, layout, local)


def _paths(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """Return where the leaves of arguments are, by the names of the parameters."""
    try:
        names = [*inspect.signature(fun).parameters]
    except (TypeError, ValueError):
        names = []
    paths = []
    pairs, _ = tree.flatten_with_path((tuple(args), kwargs))
    for path, _leaf in pairs:
        where = tree.keystr(path[1:], simple=True, separator="_")
        number, _, rest = where.partition("_")
        if number.isdecimal():
            place = int(number)
            number = names[place] if place < len(names) else f"in{number}"
        paths.append(f"{number}_{rest}" if rest else number)
    return paths


def _result_paths(out: Any) -> list[str]:
    pairs, _ = tree.flatten_with_path(out)
    return [
        "_".join(["out", *filter(None, [tree.keystr(path, simple=True, separator="_")])])
        for path, _ in pairs
    ]


def _parameters(w: Writer, paths: Sequence[str], avals: Sequence[ShapedArray]) -> list[CParameter]:
    return [CParameter(w.new_name(path), aval) for path, aval in zip(paths, avals, strict=True)]


def _write_body(
    w: Writer,
    name: str,
    jaxpr: jx.Jaxpr,
    consts: Sequence[CValue],
    ins: Sequence[CParameter],
    outs: list[CParameter],
) -> tuple[rendering.WorkspaceLayout, list[CBuffer]]:
    operands = [*consts]
    for x in ins:
        shape = rules.shape_of(x.aval)
        buffer = CBuffer(x.name, shape, rules.dtype_of(x.aval))
        value = w.value(Storage(buffer, shape))
        operands.append(w.scalar(value, f"{x.name}_0") if value.size == 1 else value)
    places = []
    for x in outs:
        shape = rules.shape_of(x.aval)
        buffer = CBuffer(x.name, shape, rules.dtype_of(x.aval), is_kept=True)
        places.append(Storage(buffer, shape))
    results = rules.write_program(
        w, jaxpr, operands, {i: x for i, x in enumerate(places) if prod(x.shape) > 1}
    )
    for i, (place, value) in enumerate(zip(places, results, strict=True)):
        if value.storage is place or not value.size:
            continue
        if (
            value.storage is not None
            and value.storage.buffer.name in w.constants
            and not w.sizes_vary
        ):
            buffer, table = value.storage.buffer, f"{name}_{outs[i].name}"
            text = w.constants[buffer.name].replace(f" {buffer.name}[", f" {table}[")
            outs[i], buffer.name = attrs.evolve(outs[i], table=text), table
        if value.size == 1:
            w.put(place, [Index()] * len(place.shape), value.first())
        else:
            w.stored(value, place)
    w.close()
    carried = w.carried
    rendering.pruned(w.body, {*carried})
    while not carried <= (read := rendering.read_words(w.body)):
        carried = carried & read
        rendering.pruned(w.body, {*carried})
    rendering.joined(w.body, rendering.words_of(w.body))
    return rendering.laid_out(
        w.body, w.buffers, w.most_unrolled if w.sizes_vary else rendering.LOCAL
    )


def _prototype(name: str, ins: Sequence[CParameter], outs: Sequence[CParameter], first: str) -> str:
    parameters = [first] if first else []
    parameters += [f"const {x.ctype} *restrict {x.name}" for x in ins]
    parameters += [f"{x.ctype} *restrict {x.name}" for x in outs]
    return f"int {name}({', '.join(parameters) or 'void'})"


def _header(
    name: str,
    ins: Sequence[CParameter],
    outs: Sequence[CParameter],
    layout: rendering.WorkspaceLayout,
) -> str:
    guard = f"{name.upper()}_H"
    lines = [f"/* {name}: a program in C99. Arrays lie in rows and must not overlap; returns 0."]
    for what, part in (("in", ins), ("out", outs)):
        lines += [f"   {what:4}{x.name}: {x.aval}" for x in part]
    lines += ["*/", f"#ifndef {guard}", f"#define {guard}", "", INCLUDES, ""]
    lines += [f"#define {name.upper()}_SIZE_{x.name} {x.size}" for x in (*ins, *outs)]
    lines += [f"\n/* {x.name} is always the same */\n{x.table}" for x in outs if x.table]
    if layout.sizes:
        fields = [
            f"    {syntax.c_type(dtype)} {syntax.suffix(dtype)}[{size}];"
            for dtype, size in layout.sizes.items()
        ]
        lines += ["", f"/* {layout.nbytes} bytes, of which nothing is kept between calls */"]
        lines += [f"struct {name}_workspace {{", *fields, "};"]
        lines += [
            "",
            f"{_prototype(f'{name}_in', ins, outs, f'struct {name}_workspace *workspace')};",
        ]
    lines += ["", f"{_prototype(name, ins, outs, '')};", "", f"#endif /* {guard} */", ""]
    return "\n".join(lines)


def _text(
    name: str,
    w: Writer,
    ins: Sequence[CParameter],
    outs: Sequence[CParameter],
    layout: rendering.WorkspaceLayout,
    local: Sequence[CBuffer],
) -> CText:
    text = "\n".join(rendering.rendered(w.body, 1, local))
    workspace = f"struct {name}_workspace *workspace" if layout.sizes else ""
    pointers = [
        f"    {syntax.c_type(w.buffers[x].dtype)} *const {x} = "
        f"workspace->{syntax.suffix(w.buffers[x].dtype)} + {place};"
        for x, place in layout.places.items()
    ]
    words = rendering.words_of(w.body)
    unused = [f"    (void){x.name};" for x in (*ins, *outs) if x.name not in words]
    constants = [text for name, text in w.constants.items() if name in words]
    before = [LIBRARY, "\n".join(syntax.definitions(text)), "\n\n".join(constants)]
    own = f"{name}_in" if layout.sizes else name
    tables = [CParameter(x, ShapedArray(a.shape, a.dtype)) for x, a in w.tables.items()]
    head = _prototype(own, [*ins, *tables], outs, workspace) + " {"
    function = "\n".join([head, *pointers, *unused, text, "    return 0;", "}"])
    return CText(
        own,
        [*ins, *tables],
        outs,
        layout,
        [*w.tables.values()],
        "\n\n".join(filter(None, before)),
        function,
    )


def _source(text: CText, header: str) -> str:
    parts = [header.rstrip(), text.before, text.function]
    if text.layout.sizes:
        name = text.name.removesuffix("_in")
        call = ", ".join(["&workspace", *[x.name for x in (*text.arguments, *text.results)]])
        prototype = _prototype(name, text.arguments, text.results, "")
        parts.append(
            f"{prototype} {{\n    static struct {name}_workspace workspace;\n"
            f"    return {text.name}({call});\n}}"
        )
    return "\n\n".join(parts) + "\n"

"""Jaxprs as Python: a text that a person can read, save and run, and its way back."""

from __future__ import annotations

import builtins
import keyword
import math
import string
import textwrap
from collections.abc import Iterator, MutableMapping
from enum import Enum
from itertools import count, product
from types import FunctionType, MethodType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors, records, tree
from tinyjax.core.names import Array, av, ck, conc, jx, opd, prim, tr
from tinyjax.source.ir.find import run_text
from tinyjax.source.jaxprs.text_runtime import WEAK, TypedFunction, bits_of, literal
from tinyjax.source.text.layout import Doc, flat, group, laid_out, prefixed
from tinyjax.source.text.names import import_block, place_of, quoted

_RUNTIME: Final = "tinyjax.source.jaxprs.text_runtime"
#: How wide lines of numbers are.
_WIDTH: Final = 90


def jaxpr_source(
    jaxpr: jx.Jaxpr | jx.ClosedJaxpr, objects: MutableMapping[str, Any] | None = None
) -> str:
    """Write a jaxpr as Python.

    The text imports what it needs and runs on its own. It calls primitives by name on arrays (or
    tracers), so that it can be evaluated, changed, and transformed.

    Args:
        jaxpr: the program, from ``make_jaxpr`` for instance.
        objects: where this is given, what has no text (functions that are no module's, such as
            callbacks and the rules of custom derivatives) is put here, under the name that the text
            has for it.

    Returns:
        The text, which defines ``main``, a function of arrays that returns a tuple of arrays.

    Raises:
        SourceError: a parameter holds what has no text, and ``objects`` is not given.
        ArgumentError: ``jaxpr`` is no jaxpr.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import source
        >>> jaxpr = tinyjax.make_jaxpr(lambda x: 2 * jnp.sin(x).sum())(jnp.ones(3))
        >>> print(source.jaxpr_source(jaxpr.jaxpr))
        from tinyjax import Array
        from tinyjax.source.jaxprs.text_runtime import literal, op, program
        <BLANKLINE>
        <BLANKLINE>
        @program("float32[3]")
        def main(a: Array) -> tuple[Array, ...]:
            b = op.sin(a)
            c = op.reduce_sum(b, axes=(0,))
            d = op.mul(literal("float32[]", 2.0), c)
            return (d,)
        <BLANKLINE>
    """
    writer = ModuleWriter(objects)
    if isinstance(jaxpr, jx.ClosedJaxpr):
        return writer.module(jaxpr.jaxpr, jaxpr.consts)
    if isinstance(jaxpr, jx.Jaxpr):
        return writer.module(jaxpr, None)
    raise errors.ArgumentError(
        f"jaxpr_source takes a jaxpr, but got {errors.type_name(jaxpr)}. Make one of a function "
        "with tinyjax.make_jaxpr."
    )


@ck.explained
def jaxpr_of_source(
    text: str, objects: MutableMapping[str, Any] | None = None
) -> jx.Jaxpr | jx.ClosedJaxpr:
    """Read a jaxpr from the text that ``jaxpr_source`` has written, perhaps edited.

    The text is run: do not read one from somebody you do not trust.

    Args:
        text: the text.
        objects: what the text only names, as ``jaxpr_source`` has given it.

    Returns:
        A jaxpr equal to the one that was written; a ``ClosedJaxpr`` where that was one.

    Raises:
        SourceError: the text defines no program.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import source
        >>> jaxpr = tinyjax.make_jaxpr(jnp.sin)(1.0).jaxpr
        >>> source.jaxpr_of_source(source.jaxpr_source(jaxpr)) == jaxpr
        True
    """
    try:
        main = run_text("jaxpr", text, dict(objects or {})).get("main")
    except NameError as error:
        raise errors.SourceError(f"the text uses what it does not define: {error}.") from None
    if not isinstance(main, TypedFunction):
        raise errors.SourceError(
            "the text defines no program called main. Give jaxpr_of_source what jaxpr_source has "
            "written."
        )
    return main.jaxpr if main.constants is None else main.closed


class ModuleWriter:
    """Writes one module."""

    def __init__(self, objects: MutableMapping[str, Any] | None) -> None:
        self.objects = objects
        self.imports: set[tuple[str, str]] = {("tinyjax", "Array"), (_RUNTIME, "program")}
        #: Modules that are only imported for the primitives that they define.
        self.modules: set[str] = set()
        self.taken: set[str] = {*_RESERVED, "Array", "literal", "lying", "program"}

    def module(self, jaxpr: jx.Jaxpr, consts: tuple[Array, ...] | None) -> str:
        constants: list[str] = []
        names: list[Doc] = []
        for i, value in enumerate(consts or ()):
            name = self.fresh(f"constant_{i + 1}")
            names.append(name)
            constants += self.constant(name, value)
        constants_doc = None if consts is None else group("constants=(", names, ")")
        body = self.function(jaxpr, "main", constants_doc, 0)
        declared = [f"{name}: Any  # given when the text is run" for name in self.objects or ()]
        if declared:
            self.imports.add(("typing", "Any"))
        parts = [self.header()]
        parts += ["\n".join(lines) for lines in (declared, constants) if lines]
        return "\n\n".join(parts) + "\n\n\n" + "\n".join(body) + "\n"

    def header(self) -> str:
        plain = {f"import {name}  # noqa: F401 - defines primitives" for name in self.modules}
        plain |= {f"import {name}" for module, name in self.imports if not module}
        return import_block(plain, {(m, name) for m, name in self.imports if m})

    def fresh(self, stem: str) -> str:
        names = (stem if i == 1 else f"{stem}_{i}" for i in count(1))
        name = next(n for n in names if n not in self.taken and not keyword.iskeyword(n))
        self.taken.add(name)
        return name

    def constant(self, name: str, value: Array) -> list[str]:
        if isinstance(value, tr.Tracer):
            raise errors.SourceError(
                "a constant of this jaxpr is a tracer, which has no value to write. Make the jaxpr "
                "outside of the transformation."
            )
        self.imports.add((_RUNTIME, "array"))
        host = np.ascontiguousarray(np.asarray(value.concrete("the source of a jaxpr")))
        numbers = " ".join([_number(element).strip('"') for element in host.reshape(-1)])
        lines = textwrap.wrap(numbers, _WIDTH, break_long_words=False, break_on_hyphens=False)
        kind = self.kind(value.aval)
        if len(lines) <= 1:
            return laid_out(group(f"{name} = array(", [kind, f'"{"".join(lines)}"'], ")"))
        block = "\n".join(["", *[f"    {line}" for line in lines], ""])
        *first, last = laid_out(kind, 4, 1)
        return [f"{name} = array(", *first, f"{last},", f'    """{block}    """,', ")"]

    def kind(self, aval: av.ShapedArray) -> Doc:
        """A type: its text, and where values lie if it says so."""
        if aval.told is None:
            return f'"{_type(aval)}"'
        self.imports.add((_RUNTIME, "lying"))
        where = Parameter(Scope(self), "a type", "sharding", 0, []).write(aval.sharding)
        return group("lying(", [f'"{_type(aval.plain)}"', where], ")")

    # Functions

    def function(self, jaxpr: jx.Jaxpr, name: str, constants: Doc | None, depth: int) -> list[str]:
        scope = Scope(self)
        types: list[Doc] = [self.kind(v.aval) for v in jaxpr.in_binders]
        if constants is not None:
            types.append(constants)
        parameters: list[Doc] = [f"{scope.define(v)}: Array" for v in jaxpr.in_binders]
        indent = 4 * depth
        lines = laid_out(group("@program(", types, ")"), indent)
        lines += laid_out(group(f"def {name}(", parameters, ") -> tuple[Array, ...]:"), indent)
        for eqn in jaxpr.eqns:
            lines += self.equation(eqn, scope, depth + 1)
        outs = group("(", [scope.read(x) for x in jaxpr.outs], ")")
        return [*lines, *laid_out(prefixed("return ", outs), indent + 4)]

    def equation(self, eqn: jx.JaxprEqn, scope: Scope, depth: int) -> list[str]:
        name = eqn.primitive.name
        lines: list[str] = []
        operands = [scope.read(x) for x in eqn.inputs]
        keywords: list[Doc] = []
        for field in attrs.fields(type(eqn.params)):
            value = getattr(eqn.params, field.name)
            if _is_default(field.default, value):
                continue
            where = f"the parameter {field.name} of {name}"
            hint = f"{field.name}_of_{name}"
            text = Parameter(scope, where, hint, depth, lines).write(value)
            keywords.append(prefixed(f"{field.name.removeprefix('_')}=", text))
        outs = ", ".join([scope.define(v) for v in eqn.out_binders])
        target = f"{outs} = " if outs else ""
        call = group(f"{target}{self.operation(eqn.primitive)}(", [*operands, *keywords], ")")
        return [*lines, *laid_out(call, 4 * depth)]

    def operation(self, primitive: prim.Primitive[Any]) -> str:
        if prim.registry.get(primitive.name) is not primitive:
            raise errors.SourceError(
                f"the primitive '{primitive.name}' of this jaxpr was defined again since. Make the "
                "jaxpr anew."
            )
        self.imports.add((_RUNTIME, "op"))
        home = primitive.params.__module__
        if home.partition(".")[0] not in ("tinyjax", "__main__", "builtins"):
            self.modules.add(home)
        name = primitive.name
        if not name.isidentifier():
            return f'op["{name}"]'
        return f"op.{name}_" if keyword.iskeyword(name) or name.endswith("_") else f"op.{name}"


class Scope:
    """The names of one function."""

    def __init__(self, writer: ModuleWriter) -> None:
        self.writer = writer
        self.names: dict[jx.Var, str] = {}
        self.fresh: Iterator[str] = _letters()
        self.programs: dict[int, str] = {}

    def define(self, var: jx.Var) -> str:
        name = self.names[var] = next(self.fresh)
        return name

    def read(self, atom: jx.Atom) -> Doc:
        if isinstance(atom, jx.Var):
            return self.names[atom]
        self.writer.imports.add((_RUNTIME, "literal"))
        value = atom.value
        kind = self.writer.kind(value.aval)
        element = opd.first_element(value.host) if value.host.size else value.dtype.type(0)
        return group("literal(", [kind, _number(element)], ")")


@attrs.frozen(eq=False)
class Parameter:
    """The value of a parameter being written.

    Attributes:
        scope: of the function.
        where: names the parameter.
        hint: what a nested program, or an object without a text, is called.
        depth: how deep the equation stands.
        lines: what has to stand before the equation.
    """

    scope: Scope
    where: str
    hint: str
    depth: int
    lines: list[str]

    def write(self, value: Any) -> Doc:
        match value:
            case Enum():
                return f"{flat(self.imported(type(value), value))}.{value.name}"
            case np.generic():  # before the numbers: some are Python's too
                return self.scalar(value)
            case None | bool() | int() | bytes():
                return repr(value)
            case str():
                return quoted(value)
            case float():
                return self.real(value)
            case complex():
                return group("complex(", [self.real(value.real), self.real(value.imag)], ")")
            case tuple() if type(value) is tuple:
                return group("(", [self.write(item) for item in value], ")")
            case frozenset():
                items = sorted(value, key=repr)
                return group("frozenset((", [self.write(x) for x in items], "))")
            case jx.Jaxpr():
                return self.nested(value)
            case av.ShapedArray():
                kind = self.scope.writer.kind(value)
                if value.told is not None:
                    return kind
                self.scope.writer.imports.add((_RUNTIME, "aval"))
                return group("aval(", [kind], ")")
            case np.dtype():
                return self.dtype(value)
            case conc.ConcreteArray():
                return self.array(value)
            case tree.PyTreeDef():
                return self.treedef(value)
            case type():
                return self.imported(value, value)
            case _:
                return self.record(value)

    def real(self, value: float) -> str:
        if math.isfinite(value):
            return repr(value)
        self.scope.writer.imports.add(("", "math"))
        return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"

    def scalar(self, value: np.generic) -> Doc:
        self.scope.writer.imports.add(("", "numpy as np"))
        return group(f"np.{type(value).__name__}(", [self.write(value.item())], ")")

    def dtype(self, value: np.dtype[Any]) -> str:
        self.scope.writer.imports.add(("tinyjax", "dtypes"))
        if dtypes.is_key(value):
            return f"dtypes.named({dtypes.dtype_name(value)!r})"
        return f"dtypes.{value.name}" + ("_" if value.name == "bool" else "")

    def array(self, value: conc.ConcreteArray) -> Doc:
        name = self.scope.writer.fresh(self.hint)
        indent = " " * 4 * self.depth
        self.lines.extend([indent + line for line in self.scope.writer.constant(name, value)])
        return name

    def nested(self, jaxpr: jx.Jaxpr) -> str:
        known = self.scope.programs.get(id(jaxpr))
        if known is not None:
            return known
        name = self.scope.programs[id(jaxpr)] = self.scope.writer.fresh(self.hint)
        function = self.scope.writer.function(jaxpr, name, None, self.depth)
        self.lines.extend([*([] if self.lines else [""]), *function, ""])
        return name

    def treedef(self, value: tree.PyTreeDef) -> Doc:
        example = value.unflatten([0] * value.num_leaves)
        if not _is_plain(example) or tree.structure(example) != value:
            return self.given(value)
        self.scope.writer.imports.add(("tinyjax", "tree"))
        return f"tree.structure({example!r})"

    def record(self, value: Any) -> Doc:
        make: Any = type(value)
        if not (records.has_fields(make) and "__eq__" in vars(make)):
            return self.imported(value, value)
        if "__attrs_init__" in vars(make):  # it is made of other arguments than its fields
            make, arguments = value.__reduce__()
            parts = [self.write(item) for item in arguments]
        else:
            fields = [(field, getattr(value, field.name)) for field in records.fields(make)]
            parts = [
                prefixed(f"{field.alias}=", self.write(item))
                for field, item in fields
                if field.init and not _is_default(field.default, item)
            ]
        return group(f"{flat(self.imported(make, value))}(", parts, ")")

    def imported(self, named: Any, value: Any) -> Doc:
        """The name of a class or a function of a module, or of what is given."""
        home, name = None, ""
        if isinstance(named, (type, FunctionType)):
            home, name = place_of(named)
        if home in (None, "__main__") or name in self.scope.writer.taken:
            return self.given(value)
        if home != "builtins":
            self.scope.writer.imports.add((home, name))
        return name

    def given(self, value: Any) -> str:
        """The name of something that has no text."""
        objects = self.scope.writer.objects
        if objects is None:
            what = "the function" if isinstance(value, (FunctionType, MethodType)) else "a value"
            shown = getattr(value, "__qualname__", None) or type(value).__qualname__
            raise errors.SourceError(
                f"{self.where} is {what} {shown}, which cannot be written as text. Give "
                "jaxpr_source(jaxpr, objects) a dict: it is put there, and jaxpr_of_source(text, "
                "objects) takes it from there."
            )
        for name, known in objects.items():
            if known is value:
                return name
        name = self.scope.writer.fresh(self.hint)
        objects[name] = value
        return name


def _number(element: np.generic) -> str:
    """A number, exactly: its value, or its bits where the value does not tell them."""
    value: Any = complex(element) if dtypes.kind(element.dtype) == "c" else element.item()
    if not isinstance(value, (bool, int, float, complex)):
        value = float(value)
    text = repr(value)
    if isinstance(value, complex) or not math.isfinite(value):
        text = f'"{text.strip("()")}"'
    read = literal(f"{element.dtype.name}[]", text.strip('"') if text[0] == '"' else value)
    bits = np.asarray(element)
    return text if np.asarray(read).tobytes() == bits.tobytes() else f'"{bits_of(bits)}"'


def _type(aval: av.ShapedArray) -> str:
    return f"{WEAK if aval.weak_type else ''}{aval}"


def _letters() -> Iterator[str]:
    """``a``, ``b``, ..., ``z``, ``aa``, ..."""
    for length in count(1):
        for name in map("".join, product(string.ascii_lowercase, repeat=length)):
            if not (keyword.iskeyword(name) or name in _RESERVED or hasattr(builtins, name)):
                yield name


def _is_default(default: object, value: object) -> bool:
    """Whether a field of this default need not be given this value."""
    return type(default) is type(value) and bool(default == value)


def _is_plain(value: object) -> bool:
    """Whether a value prints as it is written."""
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(isinstance(key, (str, int)) and _is_plain(v) for key, v in value.items())
    return value is None or type(value) is int


#: What a text calls other things, and a letter that looks like a number.
_RESERVED: Final = frozenset(("l", "np", "math", "dtypes", "op", "tree", "aval", "array", "main"))

"""Jaxprs as Python: a text that a person can read, save and run, and the inverse."""

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

from tinyjax import dtypes, errors, tree
from tinyjax._base import pycode, records
from tinyjax._base.pycode import Expression, Literal, Name, StatementNode
from tinyjax.core.tracing import checking, jaxpr as jx, primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, concrete, operands as opd
from tinyjax.source.ir.find import run_text
from tinyjax.source.jaxprs.text_runtime import WEAK, TypedFunction, bits_of, literal
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


@checking.explained
def jaxpr_of_source(
    text: str, objects: MutableMapping[str, Any] | None = None
) -> jx.Jaxpr | jx.ClosedJaxpr:
    """Return the jaxpr of a text by ``jaxpr_source``, which may have been edited.

    The text is run: do not read one from somebody you do not trust.

    Args:
        text: the text.
        objects: the objects that the text only names, as returned by ``jaxpr_source``.

    Returns:
        A jaxpr equal to the original; a ``ClosedJaxpr`` where that was one.

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
        self.used_names: set[str] = {*_RESERVED, "Array", "literal", "lying", "program"}

    def module(self, jaxpr: jx.Jaxpr, consts: tuple[Array, ...] | None) -> str:
        constants: list[StatementNode] = []
        names: list[Name] = []
        for i, value in enumerate(consts or ()):
            names.append(self.fresh(f"constant_{i + 1}"))
            constants.append(self.constant(names[-1], value))
        given = None if consts is None else pycode.tuple_of(names)
        body = str(_printed(self.function(jaxpr, "main", given)))
        declared = [f"{name}: Any  # given when the text is run" for name in self.objects or ()]
        if declared:
            self.imports.add(("typing", "Any"))
        parts = [self.header()]
        shown = _printed(*constants).texts
        parts += ["\n".join(lines) for lines in (declared, shown) if lines]
        return "\n\n".join(parts) + "\n\n\n" + body

    def header(self) -> str:
        plain = {f"import {name}  # noqa: F401 - defines primitives" for name in self.modules}
        plain |= {f"import {name}" for module, name in self.imports if not module}
        return import_block(plain, {(m, name) for m, name in self.imports if m})

    def fresh(self, stem: str) -> Name:
        names = (stem if i == 1 else f"{stem}_{i}" for i in count(1))
        name = next(n for n in names if n not in self.used_names and not keyword.iskeyword(n))
        self.used_names.add(name)
        return Name(name)

    def constant(self, name: Name, value: Array) -> StatementNode:
        if isinstance(value, tr.Tracer):
            raise errors.SourceError(
                "a constant of this jaxpr is a tracer, which has no value to write. Make the jaxpr "
                "outside of the transformation."
            )
        self.imports.add((_RUNTIME, "array"))
        host = np.ascontiguousarray(np.asarray(value.concrete("the source of a jaxpr")))
        numbers = " ".join([_number(element).strip('"') for element in host.reshape(-1)])
        lines = textwrap.wrap(numbers, _WIDTH, break_long_words=False, break_on_hyphens=False)
        block = f'"{"".join(lines)}"'
        if len(lines) > 1:
            block = "\n".join(['"""', *lines, '"""'])
        kind = self.kind(value.aval)
        return pycode.Assign(name, pycode.call("array", kind, Literal(block)))

    def kind(self, aval: av.ShapedArray) -> Expression:
        """Return a type: its text, with its sharding if it has one."""
        if aval.sharding_or_none is None:
            return Literal(f'"{_type(aval)}"')
        self.imports.add((_RUNTIME, "lying"))
        where = Parameter(FunctionNames(self), "a type", "sharding", []).write(aval.sharding)
        return pycode.call("lying", Literal(f'"{_type(aval.plain)}"'), where)

    # Functions

    def function(
        self, jaxpr: jx.Jaxpr, name: str, constants: Expression | None = None
    ) -> pycode.FunctionDefinition:
        scope = FunctionNames(self)
        keywords = () if constants is None else (("constants", constants),)
        types = tuple([self.kind(v.aval) for v in jaxpr.in_binders])
        declared = pycode.CallExpression(Name("program"), types, keywords)
        parameters = tuple([f"{scope.define(v).name}: Array" for v in jaxpr.in_binders])
        body = [line for eqn in jaxpr.eqns for line in self.equation(eqn, scope)]
        body.append(pycode.returned(pycode.tuple_of(map(scope.read, jaxpr.outs))))
        return pycode.FunctionDefinition(name, parameters, body, "tuple[Array, ...]", (declared,))

    def equation(self, eqn: jx.JaxprEqn, scope: FunctionNames) -> list[StatementNode]:
        name = eqn.primitive.name
        lines: list[StatementNode] = []
        operands = tuple(map(scope.read, eqn.inputs))
        keywords: list[tuple[str, Expression]] = []
        for field in attrs.fields(type(eqn.params)):
            value = getattr(eqn.params, field.name)
            if _is_default(field.default, value):
                continue
            where = f"the parameter {field.name} of {name}"
            parameter = Parameter(scope, where, f"{field.name}_of_{name}", lines)
            keywords.append((field.name.removeprefix("_"), parameter.write(value)))
        call = pycode.CallExpression(self.operation(eqn.primitive), operands, tuple(keywords))
        outs = [scope.define(v) for v in eqn.out_binders]
        if not outs:
            return [*lines, pycode.evaluated(call)]
        target = outs[0] if len(outs) == 1 else pycode.tuple_of(outs)
        return [*lines, pycode.Assign(target, call)]

    def operation(self, primitive: prim.Primitive[Any]) -> Expression:
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
            return pycode.Subscript(Name("op"), Literal(f'"{name}"'))
        is_escaped = keyword.iskeyword(name) or name.endswith("_")
        return Name("op").attr(f"{name}_" if is_escaped else name)


class FunctionNames:
    """The names of one function."""

    def __init__(self, writer: ModuleWriter) -> None:
        self.writer = writer
        self.names: dict[jx.Var, Name] = {}
        self.fresh: Iterator[str] = _letters()
        self.programs: dict[int, Name] = {}

    def define(self, var: jx.Var) -> Name:
        name = self.names[var] = Name(next(self.fresh))
        return name

    def read(self, atom: jx.Atom) -> Expression:
        if isinstance(atom, jx.Var):
            return self.names[atom]
        self.writer.imports.add((_RUNTIME, "literal"))
        value = atom.value
        kind = self.writer.kind(value.aval)
        element = opd.first_element(value.host) if value.host.size else value.dtype.type(0)
        return pycode.call("literal", kind, Literal(_number(element)))


@attrs.frozen(eq=False)
class Parameter:
    """The value of a parameter while its text is generated.

    Attributes:
        scope: of the function.
        where: names the parameter.
        hint: what a nested program, or an object without a text, is called.
        lines: what has to stand before the equation.
    """

    scope: FunctionNames
    where: str
    hint: str
    lines: list[StatementNode]

    def write(self, value: Any) -> Expression:
        match value:
            case Enum():
                return self.imported(type(value), value).attr(value.name)
            case np.generic():  # before the numbers: some are Python's too
                return self.scalar(value)
            case None | bool() | int() | bytes():
                return pycode.value(value)
            case str():
                return Literal(quoted(value))
            case float():
                return self.real(value)
            case complex():
                return pycode.call("complex", self.real(value.real), self.real(value.imag))
            case tuple() if type(value) is tuple:
                return pycode.tuple_of(map(self.write, value))
            case frozenset():
                items = sorted(value, key=repr)
                return pycode.call("frozenset", pycode.tuple_of(map(self.write, items)))
            case jx.Jaxpr():
                return self.nested(value)
            case av.ShapedArray():
                kind = self.scope.writer.kind(value)
                if value.sharding_or_none is not None:
                    return kind
                self.scope.writer.imports.add((_RUNTIME, "aval"))
                return pycode.call("aval", kind)
            case np.dtype():
                return self.dtype(value)
            case concrete.ConcreteArray():
                return self.array(value)
            case tree.PyTreeDef():
                return self.treedef(value)
            case type():
                return self.imported(value, value)
            case _:
                return self.record(value)

    def real(self, value: float) -> Literal:
        if math.isfinite(value):
            return pycode.value(value)
        self.scope.writer.imports.add(("", "math"))
        return Literal(
            "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
        )

    def scalar(self, value: np.generic) -> Expression:
        self.scope.writer.imports.add(("", "numpy as np"))
        return Name("np").attr(type(value).__name__).call(self.write(value.item()))

    def dtype(self, value: np.dtype[Any]) -> Expression:
        self.scope.writer.imports.add(("tinyjax", "dtypes"))
        if dtypes.is_key(value):
            return pycode.call("dtypes.named", pycode.value(dtypes.dtype_name(value)))
        return Name("dtypes").attr(value.name + ("_" if value.name == "bool" else ""))

    def array(self, value: concrete.ConcreteArray) -> Name:
        name = self.scope.writer.fresh(self.hint)
        self.lines.append(self.scope.writer.constant(name, value))
        return name

    def nested(self, jaxpr: jx.Jaxpr) -> Name:
        known = self.scope.programs.get(id(jaxpr))
        if known is not None:
            return known
        name = self.scope.programs[id(jaxpr)] = self.scope.writer.fresh(self.hint)
        self.lines.append(self.scope.writer.function(jaxpr, name.name))
        return name

    def treedef(self, value: tree.PyTreeDef) -> Expression:
        example = value.unflatten([0] * value.num_leaves)
        if not _is_plain(example) or tree.structure(example) != value:
            return self.parameter(value)
        self.scope.writer.imports.add(("tinyjax", "tree"))
        return pycode.call("tree.structure", pycode.value(example))

    def record(self, value: Any) -> Expression:
        make: Any = type(value)
        if not (records.has_fields(make) and "__eq__" in vars(make)):
            return self.imported(value, value)
        if "__attrs_init__" in vars(make):  # it is made of other arguments than its fields
            make, arguments = value.__reduce__()
            return self.imported(make, value).call(*map(self.write, arguments))
        fields = [(field, getattr(value, field.name)) for field in records.fields(make)]
        keywords = tuple(
            [
                (str(field.alias), self.write(item))
                for field, item in fields
                if field.init and not _is_default(field.default, item)
            ]
        )
        return pycode.CallExpression(self.imported(make, value), (), keywords)

    def imported(self, named: Any, value: Any) -> Name:
        """Return the name of a class or a function of a module, or of a given object."""
        home, name = None, ""
        if isinstance(named, (type, FunctionType)):
            home, name = place_of(named)
        if home in (None, "__main__") or name in self.scope.writer.used_names:
            return self.parameter(value)
        if home != "builtins":
            self.scope.writer.imports.add((home, name))
        return Name(name)

    def parameter(self, value: Any) -> Name:
        """Return the name of something that has no text."""
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
                return Name(name)
        fresh = self.scope.writer.fresh(self.hint)
        objects[fresh.name] = value
        return fresh


def _printed(*statements: StatementNode) -> pycode.PrintedLines:
    return pycode.printed(statements, pycode.WIDTH)


def _number(element: np.generic) -> str:
    """Return a number exactly: its value, or its bits where the value is ambiguous."""
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
    """Return whether a field's value is its default, and need not be given."""
    return type(default) is type(value) and bool(default == value)


def _is_plain(value: object) -> bool:
    """Return whether the repr of a value is its source."""
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(isinstance(key, (str, int)) and _is_plain(v) for key, v in value.items())
    return value is None or type(value) is int


#: What a text calls other things, and a letter that looks like a number.
_RESERVED: Final = frozenset(("l", "np", "math", "dtypes", "op", "tree", "aval", "array", "main"))

"""The names in a generated text: type annotations, variables and imports."""

from __future__ import annotations

import builtins
import cmath
import keyword
import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax._base.pycode import WIDTH, Assign, Expression, Literal, Name, Simple, printed, tuple_of
from tinyjax.core.values.array import Array
from tinyjax.source.ir import analysis, runtime
from tinyjax.source.ir.program import IR, Atom, Block, Call, Constant, Statement, Variable, value_of
from tinyjax.source.ir.syntax import INFIX, PREFIX

# The types that generated functions are annotated with: ``float``, ``int``, arrays, or ``Any``.
#
# A variable that a type checker infers rightly has no annotation.


ANY: Final = "Any"
#: A list or a dict without items, of which a checker asks what its items would be.
_EMPTY: Final = "empty"
_NUMBERS: Final = ("bool", "int", "float")
_ARITHMETIC: Final = frozenset(
    (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.neg,
     operator.pos, abs)
)  # fmt: skip
_COMPARISONS: Final = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def type_of(value: Any) -> str:
    """Return the type of an argument, as an annotation."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, float)):
        return "int" if isinstance(value, int) else "float"
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return f"NDArray[np.{value.dtype.name}]"
    return "Array" if isinstance(value, Array) else ANY


def joined(types: Iterable[str]) -> str:
    """Return the type of a value that is of one of several types."""
    kinds = set(types)
    if len(kinds) == 1:
        (only,) = kinds
        return ANY if only in ("tuple", "None", _EMPTY) else only
    return "float" if kinds <= {"int", "float"} and kinds else ANY


@attrs.frozen(eq=False)
class Annotations:
    """The types of one program.

    Attributes:
        ir: the program.
        types: the types of its variables, as far as they are known.
        result: the type of its result.
    """

    ir: IR
    types: dict[Variable, str]
    result: str

    def _of_name(self, called: dict[Variable, str]) -> dict[str, list[str]]:
        """Return the types of everything that is assigned to each name."""
        kinds: dict[str, list[str]] = {}
        for v, name in called.items():
            kinds.setdefault(name, []).append(self.types.get(v, ANY))
        for parameter, atom in self.ir.passes:
            if not isinstance(atom, Variable) or called.get(atom) != called[parameter]:
                kinds[called[parameter]].append(self.type_of(atom))
        return kinds

    def type_of(self, atom: Atom) -> str:
        """Return the type of a value."""
        if isinstance(atom, Variable):
            return self.types.get(atom, ANY)
        return constant_type(atom)

    def of_names(self, called: dict[Variable, str]) -> tuple[dict[str, str], set[str]]:
        """Return the types of names, and those that a checker would take for something narrower."""
        names, narrower = {}, set()
        for name, types in self._of_name(called).items():
            # no other value has such cotangents
            floats = name.startswith(COTANGENT) and "float" in types and "None" not in types
            names[name] = "float" if floats else joined(types)
            several = len(types) > 1 and (len(set(types)) > 1 or types[0] not in _NUMBERS)
            if several or _EMPTY in types:
                narrower.add(name)
        return names, narrower


def constant_type(constant: Constant) -> str:
    """Return the type of a constant."""
    value = constant.value
    if value == {} and isinstance(value, dict):
        return _EMPTY
    return "None" if value is None else "tuple" if isinstance(value, tuple) else type_of(value)


def annotated(
    ir: IR, parameters: Sequence[str], result: str, conventions: Conventions
) -> Annotations:
    """Find the types of a program's variables from those of its parameters."""
    known = dict(zip(ir.blocks[0].arguments, parameters, strict=True))

    def of_call(call: Call, types: list[str]) -> str:
        return call_type(call, types[1 : 1 + len(call.args)], conventions)

    types = analysis.propagate(ir, known, constant_type, of_call, lambda a, b: joined([a, b]))
    return Annotations(ir, types, result)


def call_type(call: Call, args: list[str], conventions: Conventions) -> str:
    """Return the type of a result, from those of the arguments."""
    function = value_of(call.function)
    numeric = bool(args) and all(kind in _NUMBERS for kind in args)
    if function is runtime.make_tuple:
        return _EMPTY if _EMPTY in args else "tuple"
    if function in (runtime.make_list, runtime.make_dict) and not args:
        return _EMPTY
    if function in runtime.WHOLE:
        return "int"
    if function is runtime.updated and len(args) == 3:
        return call_type(Call(call.args[0], call.args[1:]), args[1:], conventions)
    if not numeric or call.keywords:
        return ANY
    if function in _COMPARISONS:
        return "bool"
    if function in _ARITHMETIC:
        return "float" if "float" in args else "int"
    if function in (operator.truediv, float):
        return "float"
    if function is operator.pow:
        return "float" if args == ["float", "int"] else ANY
    if function in (builtins.min, builtins.max):
        return joined(args) if len(args) > 1 else ANY
    scalar = getattr(function, "__module__", "") == "math" and conventions.is_scalar(function)
    return "float" if scalar else ANY


# Which variables of a program get a name in its text, and which share one.
#
# A value that is used once is inlined where it is used, unless the user has a name for it.
# Variables that are called alike share the name where none is needed any more when another gets its
# value; so a loop changes its variables, as the user wrote it, and sums of cotangents grow in
# place.


#: What is computed alike wherever in a block it stands.
_PURE: Final = frozenset(
    (*INFIX, *PREFIX, slice, len, range, operator.getitem, runtime.make_tuple, getattr)
)
#: How many operations an expression may have.
_LONGEST: Final = 6


@attrs.frozen(eq=False)
class Conventions:
    """The known properties of the functions that a program calls, for the writer of its text.

    Attributes:
        is_scalar: whether a function returns a float for floats, and has no effect.
        adds: the functions that add cotangents.
        count: the number of items that a call returns; None where it is not known.
        is_ordered: whether calls may change arrays, so that statements which read them cannot move.
    """

    is_scalar: Callable[[Any], bool]
    adds: frozenset[Callable[..., Any]]
    count: Callable[[Call], int | None]
    is_ordered: bool = False

    def is_pure(self, call: Call) -> bool:
        """Return whether the result of a call is the same wherever it stands in a block."""
        function = value_of(call.function)
        return function in _PURE or self.is_scalar(function)

    def gives_items(self, statement: Statement) -> bool:
        """Return whether a statement defines a tuple without a name."""
        return statement.variable.name is None and not self.is_pure(statement.call)


def taken_apart(ir: IR, conventions: Conventions) -> dict[Variable, tuple[int, int]]:
    """Return, for each tuple of which only items are used, its first used item and their number."""
    parts: dict[Variable, tuple[int, int]] = {}
    times = ir.uses
    for block in ir.blocks:
        for place, statement in enumerate(block.statements):
            if not conventions.gives_items(statement):
                continue
            whole = statement.variable
            items = taken_items(block.statements[place + 1 :], whole)
            indices = [index for index, v in items if v in times]  # the others have no uses
            uses = times[whole] - (len(items) - len(indices))
            start = indices[0] if indices else 0
            if indices == list(range(start, start + uses)) and uses:
                parts[whole] = (start, uses)
    return parts


def taken_from(call: Call) -> Variable | None:
    """Return the variable that a call takes an item of."""
    if value_of(call.function) is not operator.getitem or not isinstance(call.args[0], Variable):
        return None
    return call.args[0] if type(value_of(call.args[1])) is int else None


def taken_items(statements: Sequence[Statement], source: Variable) -> list[tuple[int, Variable]]:
    """Return the items of a variable that consecutive statements take, with their indices."""
    items = []
    for statement in statements:
        if taken_from(statement.call) is not source:
            break
        items.append((value_of(statement.call.args[1]), statement.variable))
    return items


def choose_inlined(ir: IR, conventions: Conventions) -> dict[Variable, Call]:
    """Return the calls that are inlined where their values are used."""
    everywhere = ir.uses
    snapshots = {s.variable for s in ir.statements if s.function is runtime.items_of}
    inlined: dict[Variable, Call] = {}
    for block in ir.blocks:
        once = {v for v in block.uses if everywhere[v] == 1}
        added = [s for s in block.statements if s.function in conventions.adds]
        sums = {v: s.variable.name for s in added for v in s.call.variables}
        pairs = [pair for branch in block.branches for pair in ir.passed(branch)]
        passed = {a for p, a in pairs if isinstance(a, Variable) and a.name == p.name}
        sizes: dict[Variable, int] = {}
        wholes = {s.variable for s in block.statements if conventions.gives_items(s)}
        for statement in block.statements:
            v, call = statement.variable, statement.call
            sizes[v] = 1 + sum([sizes.get(used, 0) for used in call.variables if used in inlined])
            nameless = v.name in (None, STACK, TAG)
            summand = v.name is not None and v.name.startswith(COTANGENT) and sums.get(v) == v.name
            if v not in everywhere and value_of(call.function) is operator.getitem:
                # the item of a loop that does not use it, or one of several that a call gives
                if call.args[0] in snapshots or taken_from(call) in wholes:
                    inlined[v] = call
            elif (
                v in once
                and (nameless or summand or v in passed)
                and sizes[v] <= _LONGEST
                and conventions.is_pure(call)
                and taken_from(call) not in wholes
                and (v.name == TAG or not _takes_apart(call))
            ):
                inlined[v] = call
        if conventions.is_ordered:
            _keep_order(block, inlined, conventions)
    return inlined


def _keep_order(block: Block, inlined: dict[Variable, Call], conventions: Conventions) -> None:
    """Give names to values whose inlining would move them behind a call that changes arrays."""
    written = len(block.statements)  # the position of the next statement upwards
    places: dict[Variable, int] = dict.fromkeys(block.used_at_end, written)
    changing = [
        i for i, s in enumerate(block.statements)
        if s.variable not in inlined and not conventions.is_pure(s.call)
    ]  # fmt: skip
    for i in range(len(block.statements) - 1, -1, -1):
        statement = block.statements[i]
        v = statement.variable
        place = places.get(v, i) if v in inlined else i
        if any(i < other < place for other in changing) and not is_fixed(statement.call):
            del inlined[v]
            place = i
        for used in statement.call.variables:
            places.setdefault(used, place)


def is_fixed(call: Call) -> bool:
    """Return whether a call's result does not depend on the contents of arrays."""
    return value_of(call.function) in (runtime.make_tuple, slice, range, len)


def _takes_apart(call: Call) -> bool:
    """Return whether a call reads an entry of the stack, all of which are read together."""
    stack = any(isinstance(a, Variable) and a.name == STACK for a in call.args)
    return stack and value_of(call.function) is operator.getitem


class Coalescing:
    """The names of a program's variables."""

    def __init__(self, ir: IR, inlined: dict[Variable, Call], conventions: Conventions) -> None:
        self.ir = ir
        self.apart: dict[Variable, tuple[int, int]] = taken_apart(ir, conventions)
        self.unused: set[Variable] = {s.variable for s in ir.statements}.difference(ir.uses)
        self.inlined = inlined
        self.conflicts: dict[Variable, set[Variable]] = {}
        live = analysis.liveness(ir.blocks, self._used_by, self._used_at_end)
        for block, after in zip(ir.blocks, live.exit, strict=True):
            self._conflicts(block, after | self._used_at_end(block))

    def names(self, names: Names) -> dict[Variable, str]:
        """Give every variable its name."""
        called: dict[Variable, str] = {}
        shades: dict[tuple[str, int], str] = {}
        preferences = {
            s.variable: "items" for s in self.ir.statements if s.function is runtime.items_of
        }
        preferences[self.ir.blocks[0].arguments[0]] = "fun"
        for v in [v for v in self.ir.variables if v not in self.inlined and v not in self.apart]:
            preferred = v.name.lstrip(".") if v.name else preferences.get(v, TEMPORARY)
            if v.name in (None, f"{COTANGENT}{TEMPORARY}", "back"):  # it shares no other's name
                called[v] = names.fresh(preferred)
                continue
            others = {called[o] for o in self.conflicts.get(v, ()) if o in called}
            shade = 0
            while shades.get((preferred, shade)) in others:
                shade += 1
            if (preferred, shade) not in shades:
                shades[preferred, shade] = names.fresh(preferred)
            called[v] = shades[preferred, shade]
        return called

    def used(self, variables: list[Variable]) -> set[Variable]:
        """Return the named variables that the expressions of some variables read."""
        named: set[Variable] = set()
        todo = list(variables)
        while todo:
            v = todo.pop()
            if v in self.inlined:
                todo += self.inlined[v].variables
            else:
                named.add(v)
        return named

    def _used_by(self, statement: Statement) -> set[Variable]:
        inlined = statement.variable in self.inlined
        return set() if inlined else self.used(statement.call.variables)

    def _used_at_end(self, block: Block) -> set[Variable]:
        return self.used(block.used_at_end)

    def _conflicts(self, block: Block, live: set[Variable]) -> None:
        """Record which variables are live while another is defined."""
        for statement in reversed(block.statements):
            if statement.variable not in self.inlined:
                self._conflict(statement.variable, live)
                live = (live - {statement.variable}) | self._used_by(statement)
        together = live | set(block.arguments)
        for parameter in block.arguments:
            self._conflict(parameter, together)

    def _conflict(self, variable: Variable, others: set[Variable]) -> None:
        for other in others - {variable}:
            self.conflicts.setdefault(variable, set()).add(other)
            self.conflicts.setdefault(other, set()).add(variable)


# The names of a generated text, and what those are that it does not define itself: its imports.


#: What the variables are called that hold the residuals; no user can say so.
STACK: Final = ".stack"
#: And the variables that hold which block it was that has kept them.
TAG: Final = ".block"
#: What the variables are called that the user has no name for.
TEMPORARY: Final = "t"
#: What cotangents are called, before the name of their variable.
COTANGENT: Final = "d_"
_STANDARD: Final[dict[str, ModuleType]] = {"math": math, "np": np, "operator": operator}


class Names:
    """The names of a text.

    Attributes:
        scope: finds what a name is in the user's module.
        namespace: the values that the text names without defining them.
        used_names: the names that it defines.
        counts: the last suffix of each name that was requested more than once.
    """

    def __init__(self, scope: Callable[[str], Any]) -> None:
        self.scope = scope
        self.namespace: dict[str, Any] = {}
        self.used_names: set[str] = set()
        self.counts: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        count = self.counts.get(stem, 0)
        name = f"{stem}_{count}" if count else stem
        while (
            name in self.used_names
            or name in self.namespace
            or keyword.iskeyword(name)
            or hasattr(builtins, name)
        ):
            count += 1
            name = f"{stem}_{count}"
        self.counts[stem] = count
        self.used_names.add(name)
        return name

    def constant(self, constant: Constant) -> Expression:
        """Write a constant."""
        value = constant.value
        return Literal(literal(value)) if is_literal(value) else Name(self._path(constant))

    def _path(self, constant: Constant) -> str:
        """Name a constant that is no literal."""
        value = constant.value
        root, *rest = constant.text.split(".")
        for known_value in (self.namespace.get(root), self.scope(root), _STANDARD.get(root)):
            if (
                known_value is not None
                and reduce(lambda x, name: getattr(x, name, None), rest, known_value) is value
                and self._free(root, known_value)
            ):
                if not (hasattr(builtins, root) and getattr(builtins, root) is known_value):
                    self.namespace[root] = known_value
                return constant.text
        own = "".join(c if c.isalnum() or c == "_" else "_" for c in constant.text).strip("_")
        own = own if own.isidentifier() else "constant"
        for name, known_value in self.namespace.items():
            if known_value is value:
                return name
        if not self._free(own, value):
            own = self.fresh(own)
        self.namespace[own] = value
        return own

    def _free(self, name: str, value: Any) -> bool:
        if name in self.used_names or not name.isidentifier() or keyword.iskeyword(name):
            return False
        if name in self.namespace:
            return self.namespace[name] is value
        return not hasattr(builtins, name) or getattr(builtins, name) is value


def is_literal(value: Any) -> bool:
    """Return whether a value is written as a literal."""
    if isinstance(value, tuple):
        return all(is_literal(item) for item in value) and type(value) is tuple
    if type(value) in (float, complex):
        return cmath.isfinite(value)
    if type(value) is dict:
        return not value
    return type(value) in (int, str, bytes, bool, type(None)) or value is Ellipsis


def literal(value: Any) -> str:
    """Write a value that ``is_literal``."""
    if isinstance(value, tuple):
        items = [literal(item) for item in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if value is Ellipsis:
        return "..."
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """Return a string in double quotes where these need no escapes."""
    literal = repr(text)
    return f'"{literal[1:-1]}"' if literal[0] == "'" and '"' not in text else literal


# The import statements of generated modules

#: What annotations may name.
_ANNOTATIONS: Final = {"Any": "typing", "NDArray": "numpy.typing", "Array": "tinyjax"}


def header(names: dict[str, Any], body: str, fun: FunctionType) -> str:
    """Return the beginning of a module: imports, and declarations of names without one.

    Args:
        names: the values that the text names without defining them.
        body: the text.
        fun: the function whose adjoint it is, which holds the code of its nested functions.
    """
    plain: set[str] = set()
    named: set[tuple[str, str]] = set()
    declared: list[str] = []
    if any(code_of(value, fun) for value in names.values()):
        names = {**names, fun.__name__: fun}
    for name, value in names.items():
        if isinstance(value, ModuleType):
            whole = value.__name__
            plain.add(f"import {whole}" if whole == name else f"import {whole} as {name}")
            continue
        home, real = place_of(value)
        code = code_of(value, fun)
        if code is not None:
            declared += printed([Assign(Name(name), code, "Any")], WIDTH).texts
        elif home is None:
            described = getattr(value, "__qualname__", None) or type(value).__name__
            declared.append(f"{name}: Any  # given when the text is run: {described}")
        elif home != "builtins" or real != name:
            named.add((home, real if real == name else f"{real} as {name}"))
    whole = "\n".join([*declared, body])
    for name, home in _ANNOTATIONS.items():
        if re.search(rf"\b{name}\b", whole) and name not in names:
            named.add((home, name))
    if "np." in whole and "np" not in names:
        plain.add("import numpy as np")
    imports = import_block(plain, named)
    return "\n\n".join([imports, "\n".join(declared)]) if declared else imports


def place_of(value: Any) -> tuple[str | None, str]:
    """Return the module and the name to import a value from; no module where there is none."""
    home = getattr(value, "__module__", None) or type(value).__module__
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):  # perhaps the only one of its class
        names = [name for name, v in vars(import_module(home)).items() if v is value]
        return (home, names[0]) if names else (None, "")
    public = home.lstrip("_")  # as of operator, whose functions say _operator
    for candidate in (public, home) if public in sys.stdlib_module_names else (home,):
        try:
            if getattr(import_module(candidate), name, None) is value:
                return candidate, name
        except ImportError:
            continue
    return None, name


def code_of(value: Any, fun: FunctionType) -> Expression | None:
    """Return an expression for the code of functions that are defined inside another one."""
    if isinstance(value, tuple) and value:
        parts = [code_of(item, fun) for item in value]
        known = [part for part in parts if part is not None]
        return tuple_of(known) if len(known) == len(parts) else None
    if not isinstance(value, CodeType) or place_of(fun)[0] is None:
        return None
    todo = [(fun.__code__, f"{fun.__name__}.__code__")]
    while todo:
        code, text = todo.pop()
        if code is value:
            return Name(text)
        inner = enumerate(code.co_consts)
        todo += [(c, f"{text}.co_consts[{i}]") for i, c in inner if isinstance(c, CodeType)]
    return None


def import_block(plain: set[str], named: set[tuple[str, str]]) -> str:
    """Import statements, in the usual order."""
    sections: dict[bool, list[str]] = {True: [], False: []}
    for line in sorted(plain):
        sections[_is_standard(line.split()[1])].append(line)
    for home in sorted({home for home, _ in named}):
        names = sorted({name for module, name in named if module == home}, key=_order)
        line = f"from {home} import {', '.join(names)}"
        broken = Simple(f"from {home} import", tuple_of(map(Name, names)))
        lines = [line] if len(line) <= WIDTH else printed([broken], WIDTH).texts
        sections[_is_standard(home)] += lines
    return "\n\n".join("\n".join(lines) for lines in (sections[True], sections[False]) if lines)


def _is_standard(module: str) -> bool:
    root = module.partition(".")[0]
    return root in sys.stdlib_module_names or root in vars(builtins)


def _order(name: str) -> tuple[int, str]:
    """Constants first, then classes, then the rest."""
    plain = name.strip("_")
    return (0 if plain.isupper() else 1 if plain[:1].isupper() else 2), name

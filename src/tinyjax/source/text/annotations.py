"""The types that generated functions are annotated with: ``float``, ``int``, arrays, or ``Any``.

A variable that a type checker infers rightly has no annotation.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs
import numpy as np

from tinyjax.core.values.array import Array
from tinyjax.source.ir import analysis, runtime
from tinyjax.source.ir.program import IR, Atom, Call, Constant, Variable, value_of
from tinyjax.source.text import coalescing, names

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
    """The type of an argument, as an annotation."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, float)):
        return "int" if isinstance(value, int) else "float"
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return f"NDArray[np.{value.dtype.name}]"
    return "Array" if isinstance(value, Array) else ANY


def joined(types: Iterable[str]) -> str:
    """The type of what is of one of several."""
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
        types: of its variables, as far as they are known.
        result: of what it returns.
    """

    ir: IR
    types: dict[Variable, str]
    result: str

    def _of_name(self, called: dict[Variable, str]) -> dict[str, list[str]]:
        """The types of everything that is assigned to each name."""
        kinds: dict[str, list[str]] = {}
        for v, name in called.items():
            kinds.setdefault(name, []).append(self.types.get(v, ANY))
        for block in self.ir.blocks:
            for parameter, atom in [pair for b in block.branches for pair in self.ir.passed(b)]:
                if not isinstance(atom, Variable) or called.get(atom) != called[parameter]:
                    kinds[called[parameter]].append(self.of(atom))
        return kinds

    def of(self, atom: Atom) -> str:
        """The type of a value."""
        if isinstance(atom, Variable):
            return self.types.get(atom, ANY)
        return constant_type(atom)

    def of_names(self, called: dict[Variable, str]) -> dict[str, str]:
        """The types of names."""
        return {name: self._joined(name, types) for name, types in self._of_name(called).items()}

    def declared(self, called: dict[Variable, str]) -> dict[str, str]:
        """The types of the names that a checker would take for something narrower."""
        return {
            name: self._joined(name, types)
            for name, types in self._of_name(called).items()
            if _EMPTY in types
            or (len(types) > 1 and (len(set(types)) > 1 or types[0] not in _NUMBERS))
        }

    def _joined(self, name: str, types: list[str]) -> str:
        whole = "float" in types and "None" not in types
        if name.startswith(names.COTANGENT) and whole:  # no other value has such cotangents
            return "float"
        return joined(types)


def constant_type(constant: Constant) -> str:
    """The type of a constant."""
    value = constant.value
    if value == {} and isinstance(value, dict):
        return _EMPTY
    return "None" if value is None else "tuple" if isinstance(value, tuple) else type_of(value)


def annotated(
    ir: IR, parameters: Sequence[str], result: str, conventions: coalescing.Conventions
) -> Annotations:
    """Find the types of a program's variables from those of its parameters."""
    known = dict(zip(ir.blocks[0].arguments, parameters, strict=True))

    def of_call(call: Call, types: list[str]) -> str:
        return call_type(call, types[1 : 1 + len(call.args)], conventions)

    types = analysis.propagate(ir, known, constant_type, of_call, lambda a, b: joined([a, b]))
    return Annotations(ir, types, result)


def call_type(call: Call, args: list[str], conventions: coalescing.Conventions) -> str:
    """The type of a result, from those of the arguments."""
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

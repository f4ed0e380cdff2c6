"""Programs for many sizes, or for several devices, as JSON, and back.

The programs are a list; those in parameters of equations come before the programs with these
equations. Each is a list of parameters, equations and results. Variables are numbered in the order
of their binding. The key of a primitive is the module of this package that defines it.

The classes of parameters determine the allowed values: a value that does not fit its field is
refused on both ways. So functions and other objects of a process are never written, and reading a
program calls nothing but the classes of parameters. At the end the types of all programs are
checked.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from math import prod
from typing import Any, Final, TypeVar

import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import records
from tinyjax._extensions.parallel import meshes, named_sharding, types
from tinyjax._extensions.parallel.sharding import PartitionSpec
from tinyjax._extensions.parallel.types import OnMesh, Share, with_varying
from tinyjax._primitives import fft, gather_scatter, modes
from tinyjax._primitives.convolution import ConvDimensionNumbers
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.values import avals as av, integers as ints, operands as opd
from tinyjax.export import dims, parsing, symbolic_programs, unsized

T = TypeVar("T")

#: Packages whose primitives may stand in a program; no other module is imported.
_FOLDERS: Final = (
    *("_extensions.checkpointing.", "core.control_flow.", "core.jit.", "custom_derivatives."),
    *(
        "core.primitives.",
        "implicit.",
        "lax.",
        "numpy.",
        "_primitives.",
        "random.",
        "_library.special.",
    ),
    *("export.", "_extensions.parallel."),
)
_OWN: Final = "tinyjax."
#: Programs nested deeper, and larger numbers, are refused.
_DEEPEST: Final = 200
_LARGEST: Final = 2**64
_MOST_DEVICES: Final = 2**16

_RECORDS: Final[dict[str, type]] = {
    kind.__name__: kind
    for kind in (
        ConvDimensionNumbers,
        gather_scatter.GatherDimensionNumbers,
        gather_scatter.ScatterDimensionNumbers,
    )
}
_CHOICES: Final[dict[str, type[Enum]]] = {
    kind.__name__: kind for kind in (fft.FftKind, modes.GatherScatterMode)
}


def _is_size(x: object) -> bool:
    return type(x) is int or isinstance(x, ints.SymbolicSize)


def _is_sharding(x: object) -> bool:
    return type(x) is named_sharding.NamedSharding and x.is_abstract


def _kind(kind: type) -> Callable[[object], bool]:
    return lambda x: type(x) is kind


def _tupleof_type(test: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda x: type(x) is tuple and all(map(test, x))


def _sizes(count: int) -> Callable[[object], bool]:
    return lambda x: type(x) is tuple and len(x) == count and all(map(_is_size, x))


#: What stands before a name in an annotation: the module that the name is from.
_MODULE: Final = re.compile(r"\b\w+\.(?=\w)")
#: By the annotation of a field, without modules, what it may hold. Other fields hold nothing.
_FITS: Final[dict[str, Callable[[object], bool]]] = {
    "bool": lambda x: type(x) is bool,
    "int": _is_size,
    "int | None": lambda x: x is None or _is_size(x),
    "float": lambda x: type(x) is float,
    "str": lambda x: type(x) is str,
    "DType": lambda x: isinstance(x, np.dtype),
    "Scalar | None": lambda x: x is None or type(x) in (bool, int, float, complex),
    "Sharding": _is_sharding,
    "Sharding | None": lambda x: x is None or _is_sharding(x),
    "AnyMesh": _kind(meshes.AbstractMesh),
    "Hashable": _kind(str),  # the name of an axis
    "Specs": _tupleof_type(_kind(PartitionSpec)),
    "Jaxpr": lambda x: type(x) is jx.Jaxpr,
    "Jaxpr | None": lambda x: x is None or type(x) is jx.Jaxpr,
    "Axes": _tupleof_type(_is_size),
    "tuple[int, ...]": _tupleof_type(_is_size),
    "tuple[str, ...]": _tupleof_type(lambda x: type(x) is str),
    "tuple[Jaxpr, ...]": _tupleof_type(lambda x: type(x) is jx.Jaxpr),
    "tuple[tuple[int, int], ...]": _tupleof_type(_sizes(2)),
    "tuple[tuple[int, int, int], ...]": _tupleof_type(_sizes(3)),
    **{name: _kind(kind) for name, kind in (*_RECORDS.items(), *_CHOICES.items())},
}


def _checked(record: Any, owner: str) -> Any:
    """Return a record of parameters, if each field holds a permitted value.

    Raises:
        ExportError: one does not.
    """
    for field in records.fields(type(record)):
        value = getattr(record, field.name)
        kind = field.type
        said = kind.__name__ if isinstance(kind, type) else str(kind)
        fits = _FITS.get(_MODULE.sub("", said))
        if not (value in (None, ()) if fits is None else fits(value)):
            raise errors.ExportError(
                f"'{owner}' has the parameter {field.name} = {value!r:.100}, which a program for "
                "symbolic sizes, or for several devices, cannot be written with. Export it for "
                "sizes that are numbers, and for one device."
            )
    return record


# Writing


def encode_program(jaxpr: jx.Jaxpr) -> str:
    """Write a program for many sizes.

    Raises:
        ExportError: it holds something of this process, or a primitive of another package.
    """
    return json.dumps(_JaxprEncoder().encode(jaxpr), separators=(",", ":"))


class _JaxprEncoder:
    def __init__(self) -> None:
        self._names: dict[prim.Primitive[Any], tuple[str, str]] = _names_of_primitives()
        self._numbers: dict[int, int] = {}
        self._programs: list[Any] = []

    def encode(self, jaxpr: jx.Jaxpr) -> list[Any]:
        pending = [jaxpr]
        while pending:
            program = pending[-1]
            inner = [p for eqn in program.eqns for p in jx.subjaxprs(eqn.params)]
            missing = [p for p in inner if id(p) not in self._numbers]
            if not missing:
                pending.pop()
                if id(program) not in self._numbers:
                    self._programs.append(self._program(program))
                    self._numbers[id(program)] = len(self._numbers)
            pending += missing
        return self._programs

    def _program(self, jaxpr: jx.Jaxpr) -> list[Any]:
        numbers: dict[jx.Var, int] = {}

        def binder(var: jx.Var) -> Any:
            numbers[var] = len(numbers)
            return encode_aval(var.aval)

        def atom(x: jx.Atom) -> Any:
            if isinstance(x, jx.Var):
                return numbers[x]
            return [encode_aval(x.aval), opd.first_element(x.value.host).tobytes().hex()]

        ins = [binder(var) for var in jaxpr.in_binders]
        eqns = [
            [
                self._primitive(eqn),
                [atom(x) for x in eqn.inputs],
                self._fields(_checked(eqn.params, eqn.primitive.name)),
                [binder(var) for var in eqn.out_binders],
            ]
            for eqn in jaxpr.eqns
        ]
        return [ins, eqns, [atom(x) for x in jaxpr.outs]]

    def _primitive(self, eqn: jx.JaxprEqn) -> list[str]:
        names = self._names.get(eqn.primitive)
        if names is None or type(eqn.params) is not eqn.primitive.params:
            raise errors.ExportError(
                f"'{eqn.primitive.name}' cannot be in a program for symbolic sizes, or for several "
                "devices, that is written: another process would not know it, or it does more than "
                "compute. Export for sizes that are numbers, and for one device."
            )
        return [*names]

    def _fields(self, record: Any) -> dict[str, Any]:
        return {
            field.alias or field.name: self._value(getattr(record, field.name))
            for field in records.fields(type(record))
        }

    def _value(self, value: Any) -> Any:
        match value:
            case ints.SymbolicSize():
                return {"size": str(value)}
            case None | bool() | int() | str():
                return value
            case tuple():
                return [self._value(item) for item in value]
            case jx.Jaxpr():
                return {"program": self._numbers[id(value)]}
            case _:
                for tag, (tagged, write, _) in _TAGS.items():
                    if isinstance(value, tagged):
                        return {tag: write(value)}
                kind = type(value).__name__
                return {"record": [kind, self._fields(_checked(value, kind))]}


def _names_of_primitives() -> dict[prim.Primitive[Any], tuple[str, str]]:
    """Return where the primitives are that may be in a program: all that are in one are loaded."""
    names: dict[prim.Primitive[Any], tuple[str, str]] = {}
    for name, module in sorted(sys.modules.items()):
        home = name.removeprefix(_OWN)
        if home != name and home.startswith(_FOLDERS):
            declared = vars(module).get("__annotations__", {})
            for attribute, value in vars(module).items():  # not where it is imported
                if isinstance(value, prim.Primitive) and attribute in declared:
                    names.setdefault(value, (home, attribute))
    return names


def _differing(name: Any) -> str | Share:
    """Return an axis along which devices have different values, or share one."""
    match name:
        case ["U" | "R" as letter, axis]:
            return Share(letter, of_type(str, axis))
        case _:
            return of_type(str, name)


def encode_aval(aval: av.ShapedArray) -> list[Any]:
    """Write a type; symbolic sizes are texts."""
    shape = [str(n) if isinstance(n, ints.SymbolicSize) else n for n in aval.shape]
    entry = [dtypes.dtype_name(aval.dtype), shape, aval.weak_type]
    if types.across(aval):
        varies = sorted([of_type(str, name) for name in aval.varying])
        shares = [
            [x.letter, of_type(str, x.name)] for x in types.across(aval) if isinstance(x, Share)
        ]
        entry.append([*varies, *sorted(shares)])
    if aval.sharding_or_none is not None:
        sharding = aval.sharding
        assert isinstance(sharding, named_sharding.NamedSharding), "types name the axes of a mesh"
        entry.append({"sharding": encode_sharding(sharding)})
    return entry


def encode_sharding(sharding: named_sharding.NamedSharding) -> list[Any]:
    """Write how a value lies on a mesh without devices."""
    return [_encode_mesh(sharding.mesh), _encode_spec(sharding.spec), sharding.memory_kind]


def _encode_mesh(mesh: meshes.AnyMesh) -> list[Any]:
    return [[*mesh.axis_sizes], [*mesh.axis_names], [kind.value for kind in mesh.axis_types]]


def _encode_spec(spec: PartitionSpec) -> list[Any]:
    entries = [
        False if entry is PartitionSpec.UNCONSTRAINED else [*spec.axes(i)]
        for i, entry in enumerate(spec)
    ]
    return [entries, sorted(spec.unreduced), sorted(spec.reduced)]


# Reading


def decode_program(text: str, scope: dims.SymbolicScope | None) -> jx.Jaxpr:
    """Read a program for many sizes, or for several devices.

    Args:
        text: what ``encode_program`` wrote, or anything else.
        scope: what its sizes belong to, if some are symbolic.

    Raises:
        ExportError: it is no program.
        Exception: likewise; it may be any.
    """
    programs: list[jx.Jaxpr] = []
    depths: dict[int, int] = {}
    for entry in of_type(list, json.loads(text)):
        program = _Reader(scope, programs).program(entry)
        inner = [p for eqn in program.eqns for p in jx.subjaxprs(eqn.params)]
        depths[id(program)] = 1 + max([depths[id(p)] for p in inner], default=0)
        if depths[id(program)] > _DEEPEST:
            raise ValueError("programs are nested too deep")
        programs.append(program)
    jaxpr = programs[-1]
    symbolic_programs.check(jaxpr, "as it is written")
    if jx.effects(jaxpr).any:
        raise ValueError("the program does more than compute")
    return jaxpr


def of_type(kind: type[T], x: object) -> T:
    """Return a value that was read, if it is of a type."""
    if type(x) is not kind:
        raise TypeError(f"{x!r:.100} is no {kind.__name__}")
    return x


def _number(x: object) -> int:
    number = of_type(int, x)
    if abs(number) >= _LARGEST:
        raise ValueError("a number is too large")
    return number


class _Reader:
    def __init__(self, scope: dims.SymbolicScope | None, programs: list[jx.Jaxpr]) -> None:
        self._scope = scope
        self._programs = programs

    def program(self, entry: object) -> jx.Jaxpr:
        ins, eqns, outs = of_type(list, entry)
        bound: list[jx.Var] = []

        def binder(aval: object) -> jx.Var:
            var = jx.Var(decode_aval(aval, self._scope))
            bound.append(var)
            return var

        def atom(x: object) -> jx.Atom:
            if type(x) is int:
                return bound[x if x >= 0 else len(bound)]
            aval, element = of_type(list, x)
            literal_aval = decode_aval(aval, self._scope)
            data = bytes.fromhex(of_type(str, element))
            if len(data) != literal_aval.dtype.itemsize:
                raise ValueError("a literal is not one number")
            return jx.Lit(
                unsized.literal_splat(np.frombuffer(data, literal_aval.dtype)[0], literal_aval),
                literal_aval,
            )

        in_binders = tuple([binder(x) for x in of_type(list, ins)])
        equations: list[jx.JaxprEqn] = []
        for eqn in of_type(list, eqns):
            name, inputs, params, results = of_type(list, eqn)
            primitive = _primitive(*of_type(list, name))
            operands = tuple([atom(x) for x in of_type(list, inputs)])
            values = self._fields(params)
            fields = _checked(primitive.params(**values), primitive.name)
            equations.append(
                jx.JaxprEqn(
                    primitive, operands, fields, tuple([binder(x) for x in of_type(list, results)])
                )
            )
        return jx.Jaxpr(in_binders, tuple(equations), tuple([atom(x) for x in of_type(list, outs)]))

    def _fields(self, entry: object) -> dict[str, Any]:
        return {name: self._value(value) for name, value in of_type(dict, entry).items()}

    def _value(self, entry: object) -> Any:
        if entry is None or type(entry) in (bool, str):
            return entry
        if type(entry) is int:
            return _number(entry)
        if type(entry) is list:
            return tuple([self._value(item) for item in entry])
        ((tag, value),) = of_type(dict, entry).items()
        match tag:
            case "size" if self._scope is not None:
                (size,) = parsing.parse_shape(of_type(str, value), self._scope)
                return size
            case "program":
                return self._programs[of_type(int, value) if value >= 0 else len(self._programs)]
            case "record":
                kind, fields = of_type(list, value)
                return _checked(_RECORDS[kind](**self._fields(fields)), kind)
            case _:
                return _TAGS[tag][2](value)


def _primitive(module: object, attribute: object) -> prim.Primitive[Any]:
    home = of_type(str, module)
    if not home.startswith(_FOLDERS):
        raise ValueError(f"no primitives are taken from {home!r:.100}")
    try:
        primitive = vars(import_module(_OWN + home)).get(of_type(str, attribute))
    except (ImportError, errors.TinyjaxError):
        primitive = None
    if not isinstance(primitive, prim.Primitive) or primitive.effectful:
        raise errors.ExportError(
            f"what was exported uses {_OWN}{home!s:.100}.{attribute!s:.100}, which this version of "
            "tinyjax does not have. Programs for symbolic sizes are loaded by the version that "
            "exported them: load it with that, or export it anew."
        )
    return primitive.with_rules()


def decode_aval(entry: object, scope: dims.SymbolicScope | None) -> av.ShapedArray:
    """Read a type; sizes that are texts are of a scope."""
    dtype, shape, weak_type, *lies = of_type(list, entry)
    sizes: list[int] = []
    for n in of_type(list, shape):
        if type(n) is str and scope is not None:
            (size,) = parsing.parse_shape(n, scope)
        else:
            size = _number(n)
        if not isinstance(size, ints.SymbolicSize) and size < 0:
            raise ValueError(f"{shape!r:.100} is no shape")
        sizes.append(size)
    aval = av.ShapedArray(tuple(sizes), dtypes.named(of_type(str, dtype)), of_type(bool, weak_type))
    if lies and type(lies[0]) is list:
        aval = with_varying(aval, frozenset(map(_differing, lies.pop(0))))
    match lies:
        case []:
            return aval
        case [{"sharding": where}]:
            sharding = decode_sharding(where)
            sharding.check(aval.shape)
            across = types.across(aval)
            return aval.with_where(OnMesh(sharding, across))
        case _:
            raise ValueError(f"{lies!r:.100} is no place")


def decode_sharding(entry: object) -> named_sharding.NamedSharding:
    """Read how a value lies on a mesh without devices."""
    mesh, spec, kind = of_type(list, entry)
    return named_sharding.NamedSharding(
        _decode_mesh(mesh), _decode_spec(spec), memory_kind=of_type(str, kind)
    )


def _decode_mesh(entry: object) -> meshes.AbstractMesh:
    sizes, names, kinds = [of_type(list, part) for part in of_type(list, entry)]
    lengths = [_number(n) for n in sizes]
    if prod(lengths) > _MOST_DEVICES:
        raise ValueError("a mesh has too many devices")
    types = [meshes.AxisType(of_type(str, kind)) for kind in kinds]
    return meshes.AbstractMesh(lengths, [of_type(str, name) for name in names], types)


def _decode_spec(spec: object) -> PartitionSpec:
    entries, unreduced, reduced = [of_type(list, part) for part in of_type(list, spec)]
    return PartitionSpec(
        *[
            PartitionSpec.UNCONSTRAINED if entry is False else tuple(of_type(list, entry))
            for entry in entries
        ],
        unreduced={of_type(str, name) for name in unreduced},
        reduced={of_type(str, name) for name in reduced},
    )


def _decode_float(text: object) -> float:
    return float.fromhex(of_type(str, text))


def _decode_choice(entry: object) -> Enum:
    kind, name = of_type(list, entry)
    return _CHOICES[kind][name]


#: Values that are stored under a tag: their type, and the functions that write and read them.
_TAGS: Final[dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "float": (float, float.hex, _decode_float),
    "complex": (
        complex,
        lambda x: [x.real.hex(), x.imag.hex()],
        lambda parts: complex(*map(_decode_float, of_type(list, parts))),
    ),
    "dtype": (np.dtype, dtypes.dtype_name, lambda name: dtypes.named(of_type(str, name))),
    "sharding": (named_sharding.NamedSharding, encode_sharding, decode_sharding),
    "mesh": (meshes.AbstractMesh, _encode_mesh, _decode_mesh),
    "spec": (PartitionSpec, _encode_spec, _decode_spec),
    "choice": (Enum, lambda x: [type(x).__name__, x.name], _decode_choice),
}

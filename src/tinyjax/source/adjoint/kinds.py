"""Kinds of values in a differentiated program: which have a derivative.

A value is inert where it has no derivative: an integer, a string, the result of a comparison, and
whatever is made of such. Of an active value we know whether it is a float. The cotangent of a float
is a float, and nothing was broadcast. ``ranks`` finds what values are; ``infer`` says which of them
are active.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Container, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np

from tinyjax.source.adjoint.rules import registry
from tinyjax.source.ir import analysis, program as ir, runtime

Form: TypeAlias = Literal[
    "any", "number", "array", "other array", "range", "slice", "dtype", "shape"
]


@attrs.frozen(eq=False)
class Kind:
    """The kind of a value: what is known of it. A kind is one object, and equal to itself only.

    Attributes:
        form: what the value is; any other array has a derivative and no known number of axes.
        axes: the number of axes of an array; that of the sizes in a shape.
        scalar: the type of a number, or of an array's elements: float, int or bool; None if it may
            be float or int, and for what is neither.
        active: whether the value may have a cotangent, or hold what has one.
    """

    form: Form = "any"
    axes: int = 0
    scalar: type | None = None
    active: bool = True

    @property
    def is_array(self) -> bool:
        """Return whether the value is certainly an array of NumPy."""
        return self.form in ("array", "other array")

    @property
    def numeric(self) -> bool:
        """Return whether the value is a Python number or a NumPy scalar."""
        return self.form == "number"

    @property
    def is_real_array(self) -> bool:
        """Return whether the value is an array of floats whose number of axes is known."""
        return self.form == "array" and self.scalar is float

    @property
    def is_real(self) -> bool:
        """Return whether the value is a real number, or an array of floats."""
        return self.form == "number" or (self.form == "array" and self.scalar is float)

    @property
    def is_index(self) -> bool:
        """Return whether the value is an integer or a slice."""
        return self.form == "slice" or (self.form == "number" and self.scalar is int)

    @property
    def holds_arrays(self) -> bool:
        """Return whether the value may be, or hold, an array with a derivative."""
        return self.active and self.form != "number"

    @property
    def shares_nothing(self) -> bool:
        """Return whether the value is certainly a number, a shape, a range or the like."""
        return self.form not in ("any", "array", "other array")


#: A number without a derivative; one that is certainly an integer; a float with a derivative.
NUMBER: Final = Kind("number", active=False)
INTEGER: Final = Kind("number", scalar=int, active=False)
FLOAT: Final = Kind("number", scalar=float)
#: Anything without a derivative, and anything that may have one.
INERT: Final = Kind(active=False)
ACTIVE: Final = Kind()
#: What can be gone through once only.
ITERATOR: Final = Kind()
#: An array of which the number of axes is not known, or that is complex.
ARRAY: Final = Kind("other array")
RANGE: Final = Kind("range", active=False)
SLICE: Final = Kind("slice", active=False)
#: The dtype of an array of floats.
DTYPE: Final = Kind("dtype", active=False)


@functools.cache
def array(axes: int, scalar: type = float) -> Kind:
    """Return the kind of an array of floats, integers or truth values with known axes."""
    return Kind("array", axes, scalar, active=scalar is float)


@functools.cache
def shape(sizes: int) -> Kind:
    """Return the kind of the shape of an array with this number of axes."""
    return Kind("shape", sizes, active=False)


#: Looked up first, since every argument of every call is looked up.
_BY_TYPE: Final[dict[type, Kind]] = {
    float: FLOAT,
    complex: ACTIVE,
    int: INTEGER,
    **dict.fromkeys((bool, str, bytes, type(None), range, slice), INERT),
}
_INERT_TYPES: Final = (str, bytes, type, ModuleType, np.dtype, np.bool_, np.ufunc)


def kind_of(value: Any) -> Kind:
    """Return the kind of an argument."""
    kind = type(value)
    if kind is np.ndarray:
        return _of_array(value)
    by_type = _BY_TYPE.get(kind)
    if by_type is not None:
        return by_type
    if kind is FunctionType:
        return _of_function(value)
    if isinstance(value, np.ndarray):
        return _of_dtype(value.dtype)
    if isinstance(value, np.floating):
        return FLOAT
    if isinstance(value, np.integer):
        return INTEGER
    if isinstance(value, _INERT_TYPES) or value is Ellipsis or value is runtime.UNDEFINED:
        return INERT
    if isinstance(value, BuiltinFunctionType):
        return ACTIVE if kind_of(value.__self__).active else INERT
    if isinstance(value, (tuple, list)):
        few = len(value) <= _FEW and not any(isinstance(item, (tuple, list)) for item in value)
        return INERT if few and not any(kind_of(i).active for i in value) else ACTIVE
    return ITERATOR if isinstance(value, Iterator) else ACTIVE


def _of_array(value: np.ndarray[Any, Any]) -> Kind:
    scalar = _SCALARS.get(value.dtype.kind)
    if scalar is not None and value.ndim:
        return array(value.ndim, scalar)
    return ARRAY if value.dtype.kind in "fc" else _of_dtype(value.dtype)


#: The types of elements by the kinds of dtypes.
_SCALARS: Final = {"f": float, "i": int, "u": int, "b": bool}


def _of_dtype(dtype: np.dtype[Any]) -> Kind:
    return ACTIVE if dtype.kind in "fcO" else INERT


def _of_function(fun: FunctionType) -> Kind:
    """Return the kind of a function: active if it has closed-over values or active defaults."""
    if not fun.__closure__ and fun.__defaults__ is None and fun.__kwdefaults__ is None:
        return INERT
    defaults = (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values())
    if fun.__closure__ or any(kind_of(value).active for value in defaults):
        return ACTIVE
    return INERT


#: Longer containers, and those of containers, are not looked through: a stack is a deep one.
_FEW: Final = 8


def infer(
    program: ir.IR,
    arguments: tuple[Kind, ...],
    active: Container[ir.Variable] = (),
    assumed: Mapping[ir.Variable, Kind] | None = None,
) -> dict[ir.Variable, Kind]:
    """Find the kind of every variable of a program: that which is assumed, if it is active.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
        active: variables that are active whatever they are computed of.
        assumed: the kinds of some variables, if they are active.
    """
    known = dict(zip(program.blocks[0].arguments, arguments, strict=True))
    assumed = assumed or {}
    pinned = {s.call for s in program.statements if s.variable in active}
    never = {s.call for s in program.statements if not assumed.get(s.variable, ACTIVE).active}

    def is_active(call: ir.Call, operands: list[bool]) -> bool:
        function = ir.value_of(call.function)
        if function in runtime.AUGMENTING and isinstance(call.args[0], ir.Constant):
            function = call.args[0].value
        depends = any(operands) and not registry.is_inert(function)
        return call not in never and (depends or call in pinned or function is runtime.captured)

    flags = {variable: kind.active for variable, kind in known.items()}
    flags = analysis.propagate(program, flags, lambda _: False, is_active, operator.or_)
    kinds = {v: assumed.get(v, ACTIVE) if is_active else INERT for v, is_active in flags.items()}
    return kinds | known

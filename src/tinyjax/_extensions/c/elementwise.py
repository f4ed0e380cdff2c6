"""Elementwise operations: expressions of their operands' elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.c import rules, syntax
from tinyjax._extensions.c.rules import C, CRule, dtype_of, shape_of
from tinyjax._extensions.c.syntax import Index
from tinyjax._extensions.c.writing import CValue, Writer, bare
from tinyjax._primitives import bitcast, bits, random_bits, special, wrap_index
from tinyjax._primitives.compiled_formulas import polynomial
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.values import Array

_Forms: TypeAlias = dict[prim.Primitive[Any], str]

# Expressions of operands in braces, by the kind of dtype. ``$`` stands for the suffix of the dtype,
# ``#`` for its type.

_COMPARISONS: Final[_Forms] = {
    p: f"({{}} {operator} {{}})"
    for p, operator in zip(
        (ew.eq, ew.tie, ew.ne, ew.lt, ew.le, ew.gt, ew.ge),
        ("==", "==", "!=", "<", "<=", ">", ">="),
        strict=True,
    )
}
_TOTAL: Final[_Forms] = {ew.eq_to: "==", ew.lt_to: "<", ew.le_to: "<="}
_IN_TOTAL_ORDER: Final[_Forms] = {p: f"({{}} {operator} {{}})" for p, operator in _TOTAL.items()}
_FLOATS: Final[_Forms] = {
    ew.add: "({} + {})",
    ew.sub: "({} - {})",
    ew.mul: "({} * {})",
    ew.div: "({} / {})",
    ew.neg: "(-{})",
    ew.is_finite: "(isfinite({}) != 0)",
    **_COMPARISONS,
    **{p: f"(ordinal_$({{}}) {operator} ordinal_$({{}}))" for p, operator in _TOTAL.items()},
    **dict.fromkeys((ew.max_, ew.max_right), "max_$({}, {})"),
    **dict.fromkeys((ew.min_, ew.min_right), "min_$({}, {})"),
    **dict.fromkeys((ew.sign, ew.abs_slope), "sign_$({})"),
    **{p: f"{p.name}_$({{}})" for p in (ew.rsqrt, ew.logistic, ew.logistic_slope, ew.sech_squared)},
    ew.logaddexp: "logaddexp_$({}, {})",
}
_INTEGERS: Final[_Forms] = {
    **{p: f"{p.name}_$({{}}, {{}})" for p in (ew.add, ew.sub, ew.mul, ew.div, ew.rem)},
    **{p: f"{p.name}_$({{}}, {{}})" for p in (ew.max_, ew.min_, ew.shift_left, bits.power)},
    **{p: f"{p.name}_$({{}})" for p in (ew.sign, ew.abs_, ew.population_count)},
    ew.neg: "sub_$(0, {})",
    ew.not_: "(#)~{}",
    **_COMPARISONS,
    **_IN_TOTAL_ORDER,
    ew.and_: "(#)({} & {})",
    ew.or_: "(#)({} | {})",
    ew.xor_: "(#)({} ^ {})",
    ew.shift_right_logical: "shift_right_$({}, {})",
    ew.shift_right_arithmetic: "shift_arithmetic_$({}, {})",
}
_BOOLS: Final[_Forms] = {
    **dict.fromkeys((ew.add, ew.or_, ew.max_), "({} || {})"),
    **dict.fromkeys((ew.mul, ew.and_, ew.min_), "({} && {})"),
    ew.xor_: "({} != {})",
    ew.not_: "!{}",
    **_COMPARISONS,
    **_IN_TOTAL_ORDER,
}
#: Functions of ``math.h``, which have an ``f`` at the end for float32.
_OF_MATH: Final[_Forms] = {
    **{p: p.name for p in (ew.exp, ew.exp2, ew.expm1, ew.log, ew.log1p, ew.sqrt, ew.cbrt)},
    **{p: p.name for p in (ew.sin, ew.cos, ew.tan, ew.asin, ew.acos, ew.atan, ew.atan2)},
    **{p: p.name for p in (ew.sinh, ew.cosh, ew.tanh, ew.asinh, ew.acosh, ew.atanh)},
    **{p: p.name for p in (ew.floor, ew.ceil, ew.pow_, ew.nextafter)},
    **{p: p.name for p in (special.erf, special.erfc, special.lgamma)},
    ew.round_: "rint",
    ew.root: "sqrt",
    ew.root_right: "sqrt",
    ew.rem: "fmod",
    ew.abs_: "fabs",
    ew.abs_right: "fabs",
}


def form(w: Writer, primitive: prim.Primitive[Any], dtype: dtypes.DType) -> Callable[..., str]:
    """Return a function that writes a primitive's result, given the texts of its operands."""
    write = _form(primitive, dtype)
    if dtype.kind in "iu" and primitive in _OF_INDICES:
        return lambda *xs: _of_indices(primitive, dtype, *map(syntax.index_of, xs)) or write(*xs)
    if dtype.kind != "f" or primitive not in _ARITHMETIC:
        return write

    def folded(*xs: str) -> str:
        numbers = [syntax.number(x) for x in xs]
        if None not in numbers:
            with np.errstate(all="ignore"):
                value = _ARITHMETIC[primitive](*np.array(numbers, dtype))
            return syntax.constant(value, dtype) if np.isfinite(value) else write(*xs)
        return _identity(primitive, xs, numbers, w.assume_finite) or write(*xs)

    return folded


_ARITHMETIC: Final[dict[prim.Primitive[Any], Callable[..., Any]]] = {
    ew.add: operator.add,
    ew.sub: operator.sub,
    ew.mul: operator.mul,
    ew.div: operator.truediv,
    ew.neg: operator.neg,
}


#: Operations of indices; whether a comparison holds for all, or for none.
_OF_INDICES: Final[dict[prim.Primitive[Any], Callable[[Index, Index], Index | bool | None]]] = {
    ew.add: operator.add,
    ew.sub: lambda x, y: x + y * -1,
    ew.mul: lambda x, y: x * y.offset if not y.terms else None if x.terms else y * x.offset,
    ew.lt: lambda x, y: _holds(x.most < y.least, x.least >= y.most),
    ew.le: lambda x, y: _holds(x.most <= y.least, x.least > y.most),
    ew.gt: lambda x, y: _holds(x.least > y.most, x.most <= y.least),
    ew.ge: lambda x, y: _holds(x.least >= y.most, x.most < y.least),
    ew.max_: lambda x, y: x if x.least >= y.most else y if y.least >= x.most else None,
    ew.min_: lambda x, y: x if x.most <= y.least else y if y.most <= x.least else None,
}


def _holds(always: bool, never: bool) -> bool | None:
    return True if always else False if never else None


def _of_indices(
    primitive: prim.Primitive[Any], dtype: dtypes.DType, x: Index | None, y: Index | None
) -> str | None:
    """Write an operation of integers that are known as indices; None where it is not known."""
    made = None if x is None or y is None else _OF_INDICES[primitive](x, y)
    if made is None or isinstance(made, Index):
        return None if made is None else syntax.index_text(made, dtype)
    return syntax.constant(made, dtypes.bool_)


def _identity(
    primitive: prim.Primitive[Any],
    xs: Sequence[str],
    numbers: Sequence[float | None],
    assume_finite: bool,
) -> str:
    """Return what an operation with zero or one is, where that is simpler."""
    a, b = numbers[0], numbers[-1]
    if b == 1 and primitive in (ew.mul, ew.div):
        return xs[0]
    if a == 1 and primitive is ew.mul:
        return xs[1]
    if primitive is ew.sub and str(b) == "0.0":
        return xs[0]
    if not assume_finite or 0 not in numbers:
        return ""
    if primitive is ew.sub:
        return xs[0] if b == 0 else f"(-{xs[1]})"
    # of a sum the other term, of a product or a quotient zero
    is_first = (a == 0) != (primitive is ew.add)
    return "" if primitive is ew.div and b == 0 else xs[0 if is_first else 1]


def _form(primitive: prim.Primitive[Any], dtype: dtypes.DType) -> Callable[..., str]:
    if dtype.kind == "f" and primitive in _OF_MATH:
        name = _OF_MATH[primitive] + "f" * (dtype == dtypes.float32)
        return lambda *xs: f"{name}({', '.join(map(bare, xs))})"
    forms = _FLOATS if dtype.kind == "f" else _BOOLS if dtype == dtypes.bool_ else _INTEGERS
    text = forms[primitive].replace("$", syntax.suffix(dtype)).replace("#", syntax.c_type(dtype))
    return (lambda *xs: text.format(*map(bare, xs))) if text[0].isalpha() else text.format


def _applied(
    operands: Sequence[CValue], dtype: dtypes.DType, write: Callable[..., str], cost: int = 1
) -> CValue:
    """Return the value of an operation on elements of operands of one shape."""

    def element(index: Sequence[Index]) -> str:
        return write(*[x.element(index) for x in operands])

    shape, reads = operands[0].shape, frozenset[Any]().union(*[x.reads for x in operands])
    cost += sum(x.cost for x in operands)
    if dtype.kind in "iu" and 0 not in shape:
        text = element([Index.term("@", n) for n in shape])
        cost = 0 if isinstance(text, syntax.IndexText) else cost
    return CValue(shape, dtype, element, cost, reads)


def elementwise(write: Callable[[jx.JaxprEqn], Callable[..., str]]) -> CRule:
    """Return the rule of an elementwise primitive.

    Args:
        write: takes the equation; returns a function of the operands' expressions.
    """

    def rule(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
        return (_applied(operands, eqn.out_binders[0].aval.dtype, write(eqn)),)

    return rule


def _erf_inv(x: Array) -> Sequence[Array]:
    """Return the inverse of ``erf`` by the library's polynomials for double precision."""
    dtype = x.dtype
    y = ew.convert_element_type(x, dtypes.float64)
    size, half = ew.abs_(y), sh.full_like(y, 0.5)

    def ratio(z: Array, fraction: Sequence[tuple[float, ...]]) -> Array:
        return ew.div(*[polynomial(z, part) for part in fraction])

    def less(z: Array, number: float) -> Array:
        return ew.sub(z, sh.full_like(z, number))

    quarter = ew.mul(ew.mul(y, y), sh.full_like(y, -0.25))
    near = ew.mul(ew.mul(y, half), ratio(less(quarter, -0.180625), special.WICHURA_NEAR))
    r = ew.sqrt(ew.neg(ew.log(ew.mul(ew.neg(less(size, 1.0)), half))))
    middle = ratio(less(r, 1.6), special.WICHURA_MIDDLE)
    far = ratio(less(r, 5.0), special.WICHURA_FAR)
    tail = ew.mul(ew.select(ew.le(r, sh.full_like(r, 5.0)), middle, far), ew.sign(y))
    points = ew.select(ew.le(size, sh.full_like(y, 0.85)), near, tail)
    one, no_number = sh.full_like(y, 1.0), sh.full_like(y, np.nan)
    ends = ew.select(ew.eq(size, one), ew.mul(y, sh.full_like(y, np.inf)), no_number)
    out = ew.div(points, sh.full_like(y, math.sqrt(2)))
    return [ew.convert_element_type(ew.select(ew.lt(size, one), out, ends), dtype)]


special.erf_inv.def_rule(C)(rules.by_formula(_erf_inv))

for _primitive in {**_FLOATS, **_INTEGERS, **_BOOLS, **_OF_MATH}:
    _primitive.def_rule(C)(
        lambda w, operands, eqn: (
            _applied(
                operands,
                eqn.out_binders[0].aval.dtype,
                form(w, eqn.primitive, eqn.inputs[0].aval.dtype),
            ),
        )
    )


def _convert(eqn: jx.JaxprEqn) -> Callable[..., str]:
    source, dtype = eqn.inputs[0].aval.dtype, eqn.params.dtype
    if source == dtype:
        return lambda x: x
    if dtype == dtypes.bool_:
        return lambda x: f"({x} != 0)"
    if source.kind == "f" and dtype.kind in "iu":
        return lambda x: f"saturated_{syntax.suffix(dtype)}({x})"

    def write(x: str) -> str:
        index = syntax.index_of(x) if source.kind in "iu" and dtype.kind in "iu" else None
        known = index and syntax.index_text(index, dtype)
        if known:
            return known
        number = syntax.number(x) if dtype.kind == "f" else None
        if number is None or abs(number) > 1 << 53:  # which may be rounded already
            return f"({syntax.c_type(dtype)}){x}"
        return syntax.constant(dtype.type(number), dtype)

    return write


ew.convert_element_type_p.def_rule(C)(elementwise(_convert))
ew.select_p.def_rule(C)(elementwise(lambda eqn: _selected))


def _selected(test: str, x: str, y: str) -> str:
    return {"true": x, "false": y}.get(test) or f"({test} ? {x} : {y})"


ew.integer_pow_p.def_rule(C)(
    elementwise(
        lambda eqn: lambda x: _integer_power(x, eqn.params.exponent, eqn.inputs[0].aval.dtype)
    )
)


def _integer_power(x: str, exponent: int, dtype: dtypes.DType) -> str:
    if exponent == 0:
        return syntax.constant(1, dtype)
    power = f"power_{abs(exponent)}_{syntax.suffix(dtype)}({x})"
    return power if exponent > 0 else f"(1 / {power})"


def _wrapped(eqn: jx.JaxprEqn) -> Callable[..., str]:
    dtype, size = eqn.inputs[0].aval.dtype, eqn.params.size

    def write(x: str) -> str:
        index = syntax.index_of(x)
        if index is not None and (index.least >= 0 or index.most < 0):
            return x if index.least >= 0 else syntax.index_text(index + size, dtype) or x
        return f"wrapped_{syntax.suffix(dtype)}({x}, {size})"

    return write


wrap_index.wrap_index_p.def_rule(C)(elementwise(_wrapped))


@bitcast.bitcast_convert_type_p.def_rule(C)
def _bitcast(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    (x,), dtype = operands, eqn.params.dtype
    if x.dtype.itemsize != dtype.itemsize:
        rules.refuse(eqn, f"{x.dtype.name} and {dtype.name} have different sizes")
    name = f"bits_{syntax.suffix(x.dtype)}_{syntax.suffix(dtype)}"
    return (_applied(operands, dtype, lambda text: f"{name}({text})"),)


def _halves(pairs: CValue) -> list[CValue]:
    """Return the upper and lower words of numbers of 64 bits."""
    write = ("(uint32_t)({} >> 32)".format, "(uint32_t){}".format)
    return [_applied([pairs], dtypes.uint32, half) for half in write]


@random_bits.threefry2x32_p.def_rule(C)
def _threefry(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    hashed = "threefry_u64({}, {}, {}, {})".format
    return _halves(w.stored(_applied(operands, dtypes.uint64, hashed)))


@random_bits.random_bits_p.def_rule(C)
def _random_bits(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    words, params = w.cheap(operands[0]), eqn.params
    dtype, n = params.dtype, len(words.shape) - 1

    def hashed(index: Sequence[Index]) -> str:
        key = [words.element([*index[:n], Index.constant(i)]) for i in range(2)]
        counter = syntax.linear(index[n:], params.shape)
        return f"threefry_u64({key[0]}, {key[1]}, 0, (uint32_t)({counter}))"

    def element(index: Sequence[Index]) -> str:
        if dtypes.is_key(dtype):
            return f"(uint32_t)({hashed(index[:-1])} >> ({index[-1] * -32 + 32}))"
        if dtype == dtypes.uint64:
            return hashed(index)
        return f"({syntax.c_type(dtype)})folded_u32({hashed(index)})"

    aval = eqn.out_binders[0].aval
    value = CValue(shape_of(aval), dtype_of(aval), element, 1, words.reads)
    return (w.stored(value),)


for _same in (
    *(random_bits.random_wrap_p, random_bits.random_unwrap_p),
    *(identities.optimization_barrier_p, identities.dce_sink_p),
):
    _same.def_rule(C)(lambda w, operands, eqn: operands)

"""Checks of the rules of primitives that are declared outside of this package.

A rule that gives another type than ``abstract_eval`` says is an error of its author, and shows far
from it: compiled code reads bytes as another dtype. The primitives of this package are held to
their types by its tests, and are not checked at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base import frames
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray

Rule = Callable[..., Any]
#: A primitive, which is declared in a module that imports this one.
Primitive = Any


def _refuse(primitive: Primitive, rule: str, types: Iterable[object], says: str) -> None:
    shown = ", ".join(map(str, types)) or "nothing"
    raise errors.JaxprTypeError(
        f"the {rule} rule of '{primitive}' gives {shown}, but {says}: they must agree."
    )


def _differ(aval: object, other: object) -> bool:
    """Return whether two types of arrays differ in more than being weak."""
    if not isinstance(aval, ShapedArray) or not isinstance(other, ShapedArray):
        return False
    return aval.dtype != other.dtype or aval.shape != other.shape


def _check(
    primitive: Primitive,
    rule: str,
    outs: Sequence[Any],
    avals: Sequence[ShapedArray] | None,
    says: str,
) -> None:
    """Raise where arrays are of other types, or more or fewer; symbolic zeros have no type."""
    if avals is None:
        return
    for out, aval in zip(outs, avals, strict=False):
        if isinstance(out, Array) and _differ(out.aval, aval):
            break
    else:
        if len(outs) == len(avals):
            return
    types = [out.aval if isinstance(out, Array) else "zero" for out in outs]
    _refuse(primitive, rule, types, f"{says} {', '.join(map(str, avals))}")


_TYPES: Final = "its abstract_eval rule says"


def _types(
    primitive: Primitive, avals: Sequence[ShapedArray], params: Any
) -> Sequence[ShapedArray] | None:
    """Return the types of results; None where the primitive has no rule for them."""
    known = primitive.rules.types.get((params, *avals))
    types: Sequence[ShapedArray] | None = (
        known[0] if known else primitive.check_types(avals, params)
    )
    return types


def lowering(primitive: Primitive, rule: Rule) -> Rule:
    """Return a lowering rule that raises where its values are not of the equation's types."""

    def call(b: Any, values: Any, params: Any) -> Any:
        results, is_whole = b.results, b.module.divided is None  # or sizes are those of parts
        outs = rule(b, values, params)
        agree = len(outs) == len(results) and all(
            out.dtype == result.dtype and (out.shape == result.shape or not is_whole)
            for out, result in zip(outs, results, strict=True)
        )
        if results and not agree:
            shown = ", ".join(str(result.text) for result in results)
            _refuse(primitive, "lowering", [out.type.text for out in outs], f"{_TYPES} {shown}")
        return outs

    return call


def host(primitive: Primitive, rule: Rule) -> Rule:
    """Return a host rule whose functions raise where their results are of other types.

    Ufuncs stay ufuncs: the dtype of their results is checked at once, with empty arrays.
    """

    def call(avals: Sequence[ShapedArray], params: Any) -> Any:
        made = rule(avals, params)
        fun = getattr(made, "call", made)
        if fun is None or not primitive.has_rule("abstract_eval"):
            return made
        expected = [
            (aval.shape, aval.dtype) for aval in primitive.rules.abstract_eval(avals, params)
        ]

        def check(result: Any, with_shapes: bool = True) -> Any:
            outs = result if isinstance(result, (list, tuple)) else [result]
            types = [(np.shape(out), getattr(out, "dtype", type(out))) for out in outs]
            pairs = zip(types, expected, strict=False)
            if len(types) != len(expected) or any(
                own[1] != said[1] or (own[0] != said[0] and with_shapes) for own, said in pairs
            ):
                shown = [f"{dtype}{list(shape)}" for shape, dtype in types]
                says = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in expected)
                _refuse(primitive, "host", shown, f"{_TYPES} {says}")
            return result

        if isinstance(fun, np.ufunc):
            check(fun(*[np.empty(0, aval.dtype) for aval in avals]), with_shapes=False)
            return made

        @frames.wraps(fun)
        def checked(*operands: Any) -> Any:
            return check(fun(*operands))

        return checked if fun is made else attrs.evolve(made, call=checked)

    return call


def jvp(primitive: Primitive, rule: Rule) -> Rule:
    """Return a jvp rule that raises where results, or their tangents, are of other types."""

    def call(primals: Sequence[Array], tangents: Sequence[Any], params: Any) -> Any:
        outs, out_tangents = rule(primals, tangents, params)
        avals = _types(primitive, [x.aval for x in primals], params)
        _check(primitive, "jvp", outs, avals, _TYPES)
        own = [out.aval.tangent() for out in outs]
        _check(primitive, "jvp", out_tangents, own, "the tangents of its results are of types")
        return outs, out_tangents

    return call


def transpose(primitive: Primitive, rule: Rule) -> Rule:
    """Return a transpose rule that raises where cotangents are not of the operands' types."""

    def call(cotangents: Any, operands: Sequence[Any], params: Any) -> Any:
        outs = rule(cotangents, operands, params)
        avals = [x.aval for x in operands]
        _check(primitive, "transpose", outs, avals, "its operands are of types")
        return outs

    return call


def batch(primitive: Primitive, rule: Rule) -> Rule:
    """Return a batch rule that raises where results without their batch axis are of other types."""

    def call(
        mapped: Any, operands: Sequence[Array], axes: Sequence[int | None], params: Any
    ) -> Any:
        outs, out_axes = rule(mapped, operands, axes, params)
        if len(outs) != len(out_axes):
            given = f"{len(outs)} results, and {len(out_axes)} batch axes"
            _refuse(primitive, "batch", [given], "each result has one, or None")
        wrong = [
            f"axis {axis} of {out.aval}"
            for out, axis in zip(outs, out_axes, strict=True)
            if axis is not None and not (0 <= axis < out.ndim and out.shape[axis] == mapped.size)
        ]
        if wrong:
            _refuse(primitive, "batch", wrong, f"a batch axis has the size {mapped.size}")
        avals = _types(primitive, [*map(_example, operands, axes)], params)
        examples = [*map(_example, outs, out_axes)]
        is_wrong = avals is not None and (
            len(examples) != len(avals) or any(map(_differ, examples, avals))
        )
        if avals is not None and is_wrong:
            says = f"without batch axes {_TYPES} {', '.join(map(str, avals))}"
            _refuse(primitive, "batch", [out.aval for out in outs], says)
        return outs, out_axes

    return call


def _example(x: Array, axis: int | None) -> ShapedArray:
    """Return the type of one example."""
    aval = x.aval
    if axis is None:
        return aval
    return ShapedArray(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype, aval.weak_type)

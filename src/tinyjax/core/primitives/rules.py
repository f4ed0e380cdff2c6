"""Rules made of formulas: derivatives and transposes as tables, one formula per operand.

A formula takes arrays, and the parameters last where the primitive has any. So the declaration of a
primitive has its own formulas, and the common part of all such rules is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from tinyjax import dtypes, errors
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array

P = TypeVar("P")

#: ``(tangent, result, *operands) -> tangent of the result``.
Derivative = Callable[..., prim.Tangent]
#: ``(*cotangents, *operands) -> cotangent of an operand``, of which those the primitive is linear
#: in are undefined; or the name of an operand that it is not linear in.
Transpose = Callable[..., prim.Tangent] | str

_KIND_NAMES = {
    "b": "bool",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "float",
    "c": "complex",
    "k": "keys",
    "V": "float0",
    "s": "integers of 2 and 4 bits",
}


def check_kind(name: str, aval: av.ShapedArray, kinds: str) -> None:
    """Raise unless the dtype's kind is one of ``kinds``."""
    if dtypes.kind(aval.dtype) not in kinds:
        shown = f"bitwise_{name}" if name in ("and", "not", "or", "xor") else name
        raise errors.DtypeError(
            f"{shown} does not accept dtype {dtypes.dtype_name(aval.dtype)}: it takes "
            f"{', '.join(_KIND_NAMES[k] for k in kinds)}. Convert the operand with .astype(...)."
        )


def check_not_made_real(name: str, operand: dtypes.DType, result: dtypes.DType) -> None:
    """Raise where a product of complex numbers is to have a real result."""
    if dtypes.is_complex(operand) and not dtypes.is_complex(result):
        raise errors.DtypeError(
            f"{name} of {operand} has no result of {result}: it would lose the imaginary part. "
            "Take .real or .imag of the result."
        )


def has_params(primitive: Primitive[P]) -> bool:
    """Return whether a primitive has parameters, which its formulas then take last."""
    return primitive.params is not prim.NoParams


# Derivatives


def def_without_results(primitive: Primitive[P]) -> None:
    """Register the types and the jvp of a primitive that returns nothing: it has effects alone."""
    primitive.def_abstract_eval(lambda avals, params: ())

    @primitive.def_jvp
    def jvp_without_results(
        primals: prim.Arrays, tangents: prim.Tangents, params: P
    ) -> prim.JvpResult:
        return tr.bind(primitive, primals, params), ()


def def_constant(primitive: Primitive[P]) -> None:
    """Register the jvp of a primitive whose derivative is zero everywhere.

    Its tangents are symbolic zeros, so that nothing is computed or recorded for them.

    Args:
        primitive: such as a comparison, a rounding, or one with integer results.

    Example:
        >>> import numpy as np
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.extend import NO_PARAMS, NoParams, Primitive, bind1, def_constant
        >>> steps_p = Primitive("steps_of_x", NoParams)
        >>> _ = steps_p.def_impl(lambda operands, params: [np.floor(operands[0])])
        >>> def_constant(steps_p)
        >>> steps = lambda x: bind1(steps_p, [x], NO_PARAMS)
        >>> tinyjax.jvp(steps, (jnp.float32(1.5),), (jnp.float32(1.0),))
        (Array(1., dtype=float32), Array(0., dtype=float32))
    """

    @primitive.def_jvp
    def constant_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: P) -> prim.JvpResult:
        outs = tr.current_trace().process(primitive, primals, params)
        return outs, [prim.ZERO] * len(outs)


def def_no_derivative(primitive: Primitive[P], advice: str) -> None:
    """Register an error as the jvp of a primitive, which names the one to use.

    Args:
        primitive: the primitive.
        advice: what to differentiate in its place, as a sentence.
    """

    @primitive.def_jvp
    def no_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: P) -> prim.JvpResult:
        raise errors.DifferentiationError(f"{primitive.name} has no derivative. {advice}")


def def_identity(primitive: Primitive[P]) -> None:
    """Register the values, types and lowering of a primitive whose results are its operands."""
    prim.mark(prim.IDENTITY, True, primitive)
    primitive.def_impl(lambda operands, params: operands)
    primitive.def_abstract_eval(lambda avals, params: avals)
    primitive.def_lowering(lambda b, operands, params: operands)


def def_linear(primitive: Primitive[P], *places: int, repeats: bool | None = None) -> None:
    """Register the jvp of a primitive that is linear in some operands together.

    Args:
        primitive: the primitive; its other operands have no tangents.
        places: the operands in which it is linear; all by default.
        repeats: for a primitive that moves and adds elements, but multiplies none: whether an
            element of its operands may be in several of its results.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.extend import NO_PARAMS, NoParams, Primitive, bind1, def_linear
        >>> thrice_p = Primitive("thrice_of_x", NoParams)
        >>> _ = thrice_p.def_impl(lambda operands, params: [operands[0] * 3])
        >>> def_linear(thrice_p)
        >>> thrice = lambda x: bind1(thrice_p, [x], NO_PARAMS)
        >>> tinyjax.jvp(thrice, (jnp.float32(1.0),), (jnp.float32(10.0),))
        (Array(3., dtype=float32), Array(30., dtype=float32))
    """
    prim.mark(prim.LINEAR, places, primitive)
    if repeats is not None:
        prim.mark(prim.MOVES, repeats, primitive)

    @primitive.def_jvp
    def linear_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: P) -> prim.JvpResult:
        tangents_in: prim.Arrays
        if len(primals) == 1:
            (t,) = tangents
            assert t is not prim.ZERO, "a rule is asked where there is a tangent"
            tangents_in = (t,)
        else:
            tangents_in = [
                x if places and i not in places else instantiate(t, x)
                for i, (x, t) in enumerate(zip(primals, tangents, strict=True))
            ]
        process = tr.current_trace().process
        return process(primitive, primals, params), process(primitive, tangents_in, params)


def def_derivatives(
    primitive: Primitive[P],
    *formulas: Derivative,
    prepare: Callable[[Array], Array] | None = None,
) -> None:
    """Register the jvp of a primitive with one result, by a formula for each operand.

    Args:
        primitive: the primitive.
        formulas: the derivatives. With parameters, the last operands may have none, and then no
            tangents.
        prepare: prepares the operands of the formulas, if all have tangents. If formulas compare
            them with the result, or with each other, it is ``identities.once``: then equal numbers
            stay equal.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.extend import NO_PARAMS, NoParams, Primitive, bind1, def_derivatives
        >>> product_p = Primitive("product_of_x_and_y", NoParams)
        >>> _ = product_p.def_impl(lambda operands, params: [operands[0] * operands[1]])
        >>> def_derivatives(product_p, lambda t, out, x, y: t * y, lambda t, out, x, y: t * x)
        >>> product = lambda x, y: bind1(product_p, [x, y], NO_PARAMS)
        >>> x, y = jnp.float32(2.0), jnp.float32(5.0)
        >>> tinyjax.jvp(product, (x, y), (jnp.float32(1.0), jnp.float32(0.0)))
        (Array(10., dtype=float32), Array(5., dtype=float32))
    """
    with_params = has_params(primitive)
    first, second = formulas[0], formulas[-1]

    def jvp(primals: prim.Arrays, tangents: prim.Tangents, params: P) -> prim.JvpResult:
        if prepare is not None and all(t is not prim.ZERO for t in tangents):
            primals = [prepare(x) for x in primals]
        (out,) = tr.current_trace().process(primitive, primals, params)
        arguments = (*primals, params) if with_params else primals
        total: prim.Tangent = prim.ZERO
        for formula, t in zip(formulas, tangents, strict=False):
            if t is not prim.ZERO:
                part = formula(t, out, *arguments)
                total = part if total is prim.ZERO else add_tangents(total, part)
        return (out,), (total,)

    def jvp_of_two(primals: prim.Arrays, tangents: prim.Tangents, params: P) -> prim.JvpResult:
        (out,) = tr.current_trace().process(primitive, primals, params)
        (x, y), (tx, ty) = primals, tangents
        if ty is prim.ZERO:
            return (out,), (first(tx, out, x, y),)
        if tx is prim.ZERO:
            return (out,), (second(ty, out, x, y),)
        return (out,), (add_tangents(first(tx, out, x, y), second(ty, out, x, y)),)

    def jvp_of_one(primals: prim.Arrays, tangents: prim.Tangents, params: P) -> prim.JvpResult:
        (out,) = tr.current_trace().process(primitive, primals, params)
        return (out,), (first(tangents[0], out, primals[0]),)

    # these two are nearly all, and need no loop
    few = {1: jvp_of_one, 2: jvp_of_two}
    rule = jvp if with_params or prepare else few.get(len(formulas), jvp)
    primitive.def_jvp(rule)


# Transposes


def def_transposes(primitive: Primitive[P], *formulas: Transpose, bilinear: bool = False) -> None:
    """Register the transpose, by a formula for each operand.

    Args:
        primitive: the primitive.
        formulas: the transposes; operands without one, the last ones, have no tangents.
        bilinear: whether it is linear in each operand, but not in both together.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> fivefold_p = extend.Primitive("fivefold_of_x", extend.NoParams)
        >>> _ = fivefold_p.def_impl(lambda operands, params: [operands[0] * 5])
        >>> _ = fivefold_p.def_abstract_eval(lambda avals, params: avals)
        >>> extend.def_linear(fivefold_p)
        >>> extend.def_transposes(fivefold_p, lambda cotangent, x: cotangent * 5)
        >>> fivefold = lambda x: extend.bind1(fivefold_p, [x], extend.NO_PARAMS)
        >>> tinyjax.grad(fivefold)(jnp.float32(1.0))
        Array(5., dtype=float32)
    """
    with_params = has_params(primitive)
    functions = [_refuse(primitive, f) if isinstance(f, str) else f for f in formulas]
    first, second = functions[0], functions[-1]

    def transpose(cotangents: prim.Tangents, operands: prim.Operands, params: P) -> prim.Cotangents:
        if bilinear and all(type(x) is prim.UndefinedPrimal for x in operands):
            raise not_linear(primitive.name, "both operands at once")
        arguments = (*cotangents, *operands, params) if with_params else (*cotangents, *operands)
        results: list[prim.Tangent | None] = [None] * len(operands)
        for i, (x, function) in enumerate(zip(operands, functions, strict=False)):
            if type(x) is prim.UndefinedPrimal:
                results[i] = function(*arguments)
        return results

    def transpose_of_one(
        cotangents: prim.Tangents, operands: prim.Operands, params: P
    ) -> prim.Cotangents:
        if len(operands) != 1:
            return transpose(cotangents, operands, params)
        if with_params:
            return (first(*cotangents, operands[0], params),)
        return (first(*cotangents, operands[0]),)

    def transpose_of_two(
        cotangents: prim.Tangents, operands: prim.Operands, params: P
    ) -> prim.Cotangents:
        if len(operands) != 2:
            return transpose(cotangents, operands, params)
        (ct,), (x, y) = cotangents, operands
        if type(x) is not prim.UndefinedPrimal:
            return None, second(ct, x, y)
        if type(y) is not prim.UndefinedPrimal:
            return first(ct, x, y), None
        if bilinear:
            return transpose(cotangents, operands, params)
        return first(ct, x, y), second(ct, x, y)

    # these two are nearly all, and need no loop
    rule = transpose
    if len(formulas) == 1:
        rule = transpose_of_one
    elif len(formulas) == 2 and not with_params:
        rule = transpose_of_two
    primitive.def_transpose(rule)


def _refuse(primitive: Primitive[P], operand: str) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        raise not_linear(primitive.name, operand)

    return refuse


def not_linear(primitive: str, operand: str) -> errors.DifferentiationError:
    """Return the error of a transpose rule for an operand in which it is not linear."""
    return errors.DifferentiationError(
        f"'{primitive}' is not linear in {operand}, so it has no transpose there. A function "
        "given to a transposition must be linear in the arguments that are transposed."
    )


# Tangents


def instantiate(tangent: prim.Tangent, primal: Array) -> Array:
    """Return the tangent itself, or zeros where it is ``ZERO``."""
    return opd.splat(0, primal.aval) if tangent is prim.ZERO else tangent


def instantiate_all(tangents: prim.Tangents, avals: Sequence[av.ShapedArray]) -> list[Array]:
    """Return tangents, with zeros of the given types where one is ``ZERO``."""
    return [opd.splat(0, a) if t is prim.ZERO else t for t, a in zip(tangents, avals, strict=True)]


_adder: list[Primitive[prim.NoParams]] = []


def declare_addition(primitive: Primitive[prim.NoParams]) -> None:
    """Name the primitive that adds tangents; elementwise.add, declared above."""
    _adder.append(primitive)


def add_arrays(x: Array, y: Array) -> Array:
    """Add two tangents of one type."""
    (total,) = tr.current_trace().process(_adder[0], (x, y), prim.NO_PARAMS)
    return total


def add_tangents(x: prim.Tangent, y: prim.Tangent) -> prim.Tangent:
    """Add two tangents, either of which may be ``ZERO``."""
    if x is prim.ZERO:
        return y
    if y is prim.ZERO:
        return x
    return add_arrays(x, y)

"""Elementwise primitives, each one declaration.

A declaration has NumPy's implementation, StableHLO's name, the accepted kinds of dtype (``b`` bool,
``i`` and ``u`` integers, ``f`` floats, ``c`` complex), and the derivatives. Operands have equal
shapes and dtypes; broadcasting and promotion happen before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import attrs
import numpy as np

from tinyjax.core.primitives import rules
from tinyjax.core.primitives.shape import move_batch_axis
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import SSAValue, Values
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing.primitive import ELEMENTWISE, NO_PARAMS
from tinyjax.core.tracing.trace import EVAL, IGNORE, bind, current_trace, reset_errors, set_errors
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.dtypes import DType, HostArray, is_inexact, kind
from tinyjax.errors import DtypeError, ShapeError

P = TypeVar("P")

HostFunction = Callable[..., HostArray]
#: ``(builder, *operands) -> result``.
HloFormula = Callable[..., SSAValue]


def all_hold(x: HostArray) -> bool:
    """Return whether all elements are nonzero; for few elements, three times as fast as ``all``."""
    return int(np.count_nonzero(x)) == x.size


@attrs.frozen(eq=False, repr=False)
class Elementwise(prim.Primitive[Any]):
    """A primitive that works element by element, applied by a call: ``sin(x)``."""

    @property
    def multiple_results(self) -> bool:
        """Return whether ``bind`` returns a list: it returns the one result."""
        return False

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *operands: Array) -> Array:
        """Apply it to arrays of one shape and dtype; ``bind1`` does where there are parameters."""
        (out,) = current_trace().process(self, operands, NO_PARAMS)
        return out


def elementwise(  # noqa: PLR0913 (a primitive whole)
    name: str,
    impl: HostFunction,
    hlo: str | HloFormula,
    kinds: str | prim.AbstractEvalRule[Any],
    *derivatives: rules.Derivative,
    transposes: Sequence[rules.Transpose] = (),
    bilinear: bool = False,
    params: type[Any] = prim.NoParams,
    broadcasts: bool = False,
    repeatable: bool = False,
) -> Elementwise:
    """Declare an elementwise primitive with one operand, or two of one type.

    Functions and formulas take the operands, and the parameters last where there are any.

    Args:
        name: the primitive's name.
        impl: the NumPy function.
        hlo: the StableHLO (or CHLO) operation, or ``(builder, *operands) -> result``.
        kinds: the kinds of dtype it takes, and gives; or its typing rule.
        derivatives: for each operand ``(tangent, out, *operands) -> tangent``. Without any it is
            linear if it has transposes, and its derivative is zero everywhere if not.
        transposes: for each operand that it is linear in ``(cotangent, *operands) -> cotangent``,
            for each other one its name for errors.
        bilinear: whether it is linear in either operand, but not in both together.
        params: the class of its parameters.
        broadcasts: whether ``impl`` broadcasts, as NumPy's own functions do.
        repeatable: as for ``Primitive``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> half_p = extend.elementwise(
        ...     "half_of_x",
        ...     lambda x: x / 2,
        ...     extend.composed(lambda x: x / 2),
        ...     "f",
        ...     lambda t, out, x: t / 2,
        ... )
        >>> half_p(jnp.float32(3.0)), tinyjax.jit(tinyjax.grad(half_p))(jnp.float32(3.0))
        (Array(1.5, dtype=float32), Array(0.5, dtype=float32))
    """
    primitive = without_derivatives(name, impl, hlo, kinds, params, broadcasts, repeatable)
    if derivatives:
        rules.def_derivatives(primitive, *derivatives)
    elif transposes:
        rules.def_linear(primitive)
    else:
        rules.def_constant(primitive)
    if transposes:
        rules.def_transposes(primitive, *transposes, bilinear=bilinear)
    return primitive


#: Declares one whose rules do the same each time, as those of this package do.
declared: Final = partial(elementwise, repeatable=True)


def without_derivatives(
    name: str,
    impl: HostFunction,
    hlo: str | HloFormula,
    kinds: str | prim.AbstractEvalRule[Any],
    params: type[Any] = prim.NoParams,
    broadcasts: bool = False,
    repeatable: bool = True,
) -> Elementwise:
    """Declare an elementwise primitive, whose derivatives are registered afterwards."""
    primitive = Elementwise(name, params, repeatable=repeatable)
    if rules.has_params(primitive):
        primitive.def_impl(lambda hosts, params: (impl(*hosts, params),))
    else:
        primitive.def_numpy(impl)
    primitive.def_abstract_eval(type_rule(name, kinds) if isinstance(kinds, str) else kinds)
    def_elementwise_lowering(primitive, hlo)
    def_elementwise_batch(primitive, broadcasts or isinstance(impl, np.ufunc))
    return primitive


def type_rule(
    name: str, kinds: str, result: Callable[[DType], DType] | None = None
) -> prim.AbstractEvalRule[Any]:
    """Make the typing rule for operands of one type.

    Args:
        name: the primitive's name.
        kinds: the kinds of dtype that it takes.
        result: the dtype of the result; that of the operands by default.
    """

    def rule(avals: prim.Avals, params: Any) -> prim.Avals:
        x = avals[0]
        if x is not avals[-1] or kind(x.dtype) not in kinds:  # hardly ever
            x = elementwise_type(name, avals, kinds)
        if result is None:
            return (x,)
        dtype = result(x.dtype)
        weak = x.weak_type and (dtype == x.dtype or is_inexact(dtype))
        return (ShapedArray(x.shape, dtype, weak),)

    return rule


def elementwise_type(name: str, avals: prim.Avals, kinds: str) -> ShapedArray:
    """Return the common type of operands that must have one shape and dtype.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of the kinds taken.
    """
    first = avals[0]
    for aval in avals:
        if aval is first:
            continue
        if aval.shape != first.shape:
            raise ShapeError(
                f"{name} needs operands of one shape, but got {' and '.join(map(str, avals))}. "
                f"The function of tinyjax.numpy broadcasts; this primitive does not."
            )
        if aval.dtype != first.dtype:
            raise DtypeError(
                f"{name} needs operands of one dtype, but got {' and '.join(map(str, avals))}. "
                "The function of tinyjax.numpy promotes; this primitive does not."
            )
    rules.check_kind(name, first, kinds)
    if first.weak_type and not all(a.weak_type for a in avals):
        return first.strip_weak()
    return first


def def_elementwise_batch(primitive: prim.Primitive[P], broadcasts: bool = False) -> None:
    """Register how a primitive that works element by element is batched.

    Args:
        primitive: the primitive.
        broadcasts: whether its ``impl`` rule broadcasts as NumPy does. Operands without a batch
            axis are then passed as they are, beside those that have it in front.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> twice_p = extend.Primitive("twice_of_x", extend.NoParams)
        >>> @twice_p.def_impl
        ... def impl(operands, params):
        ...     return [2 * operands[0]]
        >>> extend.def_elementwise_batch(twice_p)
        >>> twice = lambda x: extend.bind1(twice_p, [x], extend.NO_PARAMS)
        >>> tinyjax.vmap(twice)(jnp.arange(3))
        Array([0, 2, 4], dtype=int32)
    """
    primitive.def_rule(ELEMENTWISE)(lambda: True)

    @primitive.def_batch
    def elementwise_batch(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: P
    ) -> prim.BatchResult:
        first = axes[0]
        axis = first if first is not None else next(a for a in axes if a is not None)
        if len(values) > 1:
            if broadcasts and axis == 0:
                result = _evaluate_broadcast(primitive, values, axes, params)
                if result is not None:
                    return (result,), (0,)
            # a loop runs faster than a comprehension's frame
            moved: list[Array] = []
            for x, a in zip(values, axes, strict=True):
                moved.append(x if a == axis else move_batch_axis(x, a, axis, mapped.size))
            values = moved
        outs = bind(primitive, values, params)
        return outs, [axis] * len(outs)


def _evaluate_broadcast(
    primitive: prim.Primitive[P], values: prim.Arrays, axes: prim.BatchAxes, params: P
) -> Array | None:
    """Evaluate a primitive whose ``impl`` broadcasts on operands with a batch axis in front.

    Operands without one are the same for all examples.

    Returns:
        The result; None under a transformation, where types are computed too, and if an operand is
        on other devices than the first.
    """
    if current_trace() is not EVAL:
        return None
    hosts: list[HostArray] = []
    for x, axis in zip(values, axes, strict=True):
        if axis or type(x) is not ConcreteArray or x.weak_type:
            return None
        host = x._host
        hosts.append(x.host if host is None else host)
    token = set_errors(IGNORE)
    try:
        (out,) = primitive.rules.impl(hosts, params)
    except MemoryError:
        return None  # the usual way, where the error says of which types
    finally:
        reset_errors(token)
    return ConcreteArray(out if type(out) is np.ndarray else np.asarray(out))


def def_elementwise_lowering(primitive: prim.Primitive[P], hlo: str | HloFormula) -> None:
    """Register the lowering to one operation without attributes, or by a formula."""
    if isinstance(hlo, str):
        primitive.def_lowering(lambda b, operands, params: b.emit(hlo, operands, b.results))
    elif rules.has_params(primitive):
        primitive.def_lowering(lambda b, operands, params: (hlo(b, *operands, params),))
    else:
        primitive.def_lowering(lambda b, operands, params: (hlo(b, *operands),))


def composed(fun: Callable[..., Array]) -> HloFormula:
    """Make a formula of StableHLO of a function that applies other primitives.

    Args:
        fun: takes the operands, and returns the one result.

    Example:
        >>> import numpy as np
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> square_p = extend.elementwise(
        ...     "square_of_x",
        ...     np.square,
        ...     extend.composed(lambda x: x * x),
        ...     "f",
        ...     lambda t, out, x: 2 * x * t,
        ... )
        >>> tinyjax.jit(square_p)(jnp.float32(3.0))
        Array(9., dtype=float32)
    """

    def formula(b: Lowering, *operands: SSAValue) -> SSAValue:
        (out,) = lower_formula(b, lambda *xs: [fun(*xs)], operands)
        return out

    return formula


def lower_formula(b: Lowering, fun: Callable[..., Sequence[Array]], operands: Values) -> Values:
    """Lower a function by other primitives.

    Args:
        b: the builder.
        fun: takes and returns arrays.
        operands: its arguments.
    """
    from tinyjax.core.lowering import lower_jaxpr  # noqa: PLC0415 (for programs to compile)
    from tinyjax.core.tracing.staging import stage  # noqa: PLC0415

    staged = stage(fun, [ShapedArray(x.shape, x.dtype) for x in operands], fun)
    assert not staged.consts, "the formula of a lowering holds scalars only"
    return lower_jaxpr(b, staged.jaxpr, operands)

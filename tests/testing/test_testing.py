"""The kit of ``tinyjax.testing``: it passes what is right, and says which rule is wrong."""

from collections.abc import Callable
from itertools import count
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax.core.lowering import lower_jaxpr
from tinyjax.core.primitives import reduce
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.elementwise import add, conj, cos, mul, neg, sin, tanh
from tinyjax.core.primitives.shape import full_like
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing.primitive import (
    ZERO,
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Hosts,
    JvpResult,
    MappedAxis,
    NoParams,
    Primitive,
    Tangents,
    present,
)
from tinyjax.core.tracing.staging import stage
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.avals import ShapedArray
from tinyjax.errors import ArgumentError
from tinyjax.extend import NO_PARAMS, composed, def_transposes, elementwise
from tinyjax.testing import (
    ArraySpec,
    Case,
    CheckError,
    check_function,
    check_library,
    check_primitive,
    check_transform,
)
from website.blocks import primitives_put_back

X = np.linspace(0.3, 1.4, 6).reshape(2, 3)
Y = X[::-1] - 2.0
Z = X + 1j * Y


#: Programs are kept by the names of their primitives.
NUMBER = count()


def conjugate(x: Array) -> Array:
    return conj(x) if x.dtype.kind == "c" else x


def sine(**wrong: Any) -> Primitive[Any]:
    """A sine, right but for what is given."""
    rules: dict[str, Any] = {
        "impl": np.sin,
        "hlo": "stablehlo.sine",
        "derivative": lambda t, z, x: mul(t, cos(x)),
        **wrong,
    }
    return elementwise(
        f"my_sine_{next(NUMBER)}", rules["impl"], rules["hlo"], "fc", rules["derivative"]
    )


def product(**wrong: Any) -> Primitive[Any]:
    """``x conj(y)``, right but for what is given."""
    rules: dict[str, Any] = {
        "x": lambda t, z, x, y: mul(t, conjugate(y)),
        "y": lambda t, z, x, y: mul(x, conjugate(t)),
        **wrong,
    }
    hlo = composed(lambda x, y: mul(x, conjugate(y)))
    return elementwise(
        f"my_product_{next(NUMBER)}", lambda x, y: x * np.conj(y), hlo, "fc", rules["x"], rules["y"]
    )


def quotient(**wrong: Any) -> Primitive[Any]:
    """``x / y``, right but for what is given."""
    rules: dict[str, Any] = {
        "x": lambda t, z, x, y: jnp.divide(t, y),
        "y": lambda t, z, x, y: neg(mul(t, jnp.divide(z, y))),
        **wrong,
    }
    return elementwise(
        f"my_quotient_{next(NUMBER)}", np.divide, "stablehlo.divide", "fc", rules["x"], rules["y"]
    )


def turn(transpose: Callable[..., Any], derivative: str = "linear") -> Primitive[Any]:
    """``(2 + 1j) x``, or ``2 x`` of real numbers, with a transpose."""

    def factor(dtype: Any) -> Any:
        return dtype.type(2 + 1j if dtype.kind == "c" else 2)

    def by_hlo(b: Lowering, x: Any) -> Any:
        return b.mul(x, b.full_like(x, factor(x.dtype).item()))

    return elementwise(
        f"my_turn_{next(NUMBER)}",
        lambda x: x * factor(x.dtype),
        by_hlo,
        "fc",
        transposes=[transpose],
    )


def turned(ct: Array, x: Any) -> Array:
    return mul(ct, full_like(ct, 2 + 1j if ct.dtype.kind == "c" else 2))


def total(
    batch: Callable[..., Any] | None = None,
    impl: Callable[..., Any] | None = None,
    types: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
) -> Primitive[Any]:
    """The sum along the last axis, with every rule given explicitly."""
    p: Primitive[NoParams] = Primitive(f"my_total_{next(NUMBER)}", NoParams)

    @p.def_impl
    def total_impl(operands: Hosts, params: NoParams) -> Hosts:
        (x,) = operands
        return (np.asarray(x.sum(-1, dtype=x.dtype) if impl is None else impl(x)),)

    @p.def_abstract_eval
    def total_type(avals: Avals, params: NoParams) -> Avals:
        (x,) = avals
        if not x.ndim:
            raise ArgumentError("my_total takes arrays with axes.")
        return (ShapedArray(x.shape[:-1], x.dtype, x.weak_type) if types is None else types(x),)

    @p.def_lowering
    def total_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
        (x,) = operands
        return composed_total(b, x)

    @p.def_jvp
    def total_jvp(primals: Arrays, tangents: Tangents, params: NoParams) -> JvpResult:
        (x,), (t,) = primals, present(tangents)
        return (bind1(p, (x,), params),), (bind1(p, (t,), params) if jvp is None else jvp(t),)

    def_transposes(
        p, lambda ct, x: broadcast_in_dim(ct, x.aval.shape, tuple(range(x.aval.ndim - 1)))
    )

    @p.def_batch
    def total_batch(
        mapped: MappedAxis, operands: Arrays, axes: BatchAxes, params: NoParams
    ) -> BatchResult:
        (x,), (axis,) = operands, axes
        assert axis is not None, "there is one operand"
        if batch is not None:
            result: BatchResult = batch(p, x, axis)
            return result
        return (bind1(p, (jnp.moveaxis(x, axis, 0),), params),), (0,)

    return p


def composed_total(b: Lowering, x: Any) -> Values:
    aval = ShapedArray(x.shape, x.dtype)
    staged = stage(lambda y: [reduce_sum(y, (len(x.shape) - 1,))], [aval])
    return lower_jaxpr(b, staged.jaxpr, [x])


def dropping(operand: int) -> Callable[[], Primitive[Any]]:
    """A product whose jvp forgets a tangent if the other one is known to be zero."""

    def make() -> Primitive[Any]:
        p = elementwise(f"my_mul_{next(NUMBER)}", np.multiply, "stablehlo.multiply", "fc")

        @p.def_jvp
        def jvp(primals: Arrays, tangents: Tangents, params: Any) -> JvpResult:
            (x, y), (tx, ty) = primals, tangents
            if tangents[1 - operand] is ZERO:
                return (p(x, y),), (ZERO,)
            parts = [p(t, other) for t, other in ((tx, y), (ty, x)) if t is not ZERO]
            return (p(x, y),), (parts[0] if len(parts) == 1 else add(*parts),)

        return p

    return make


def at_its_own_axis(p: Primitive[Any], x: Array, axis: int) -> BatchResult:
    """Sum over the batch axis where it was the last one."""
    return (bind1(p, (x,), NO_PARAMS),), (axis,)


def at_the_wrong_place(p: Primitive[Any], x: Array, axis: int) -> BatchResult:
    return (bind1(p, (jnp.moveaxis(x, axis, 0),), NO_PARAMS),), (x.ndim - 2,)


def writing(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    total = x.sum(-1, dtype=x.dtype)
    x[...] = 0
    return np.asarray(total)


@attrs.frozen
class Wrong:
    """A primitive with one wrong rule.

    Attributes:
        make: makes it.
        example: operands.
        rule: which rule is to be blamed, as a pattern.
        operands: what the message must say of the operands.
    """

    make: Callable[[], Primitive[Any]]
    example: Any
    rule: str
    operands: str = "float64[2, 3]"


WRONG: dict[str, Wrong] = {
    "sign": Wrong(lambda: sine(derivative=lambda t, z, x: neg(mul(t, cos(x)))), X, "jvp"),
    "scale of a derivative": Wrong(
        lambda: sine(derivative=lambda t, z, x: mul(full_like(t, 1.0001), mul(t, cos(x)))), X, "jvp"
    ),
    # of which a finite difference does not know, but a complex step does
    "last places of a derivative": Wrong(
        lambda: sine(derivative=lambda t, z, x: mul(full_like(t, 1 + 1e-11), mul(t, cos(x)))),
        X,
        "jvp",
    ),
    "second derivative": Wrong(
        lambda: sine(derivative=lambda t, z, x: mul(t, tinyjax.lax.stop_gradient(cos(x)))),
        X,
        "jvp",
    ),
    "axis of a sum": Wrong(lambda: total(batch=at_its_own_axis), X, "batch", "mapped over [2]"),
    "swapped operands": Wrong(
        lambda: quotient(x=lambda t, z, x, y: jnp.divide(t, x)), (X, Y), "jvp", "tangents of [0]"
    ),
    "swapped derivatives": Wrong(
        lambda: product(x=lambda t, z, x, y: mul(t, x)), (X, Y), "jvp", "tangents of [0]"
    ),
    "missing conjugate": Wrong(
        lambda: product(x=lambda t, z, x, y: mul(t, y)),
        (Z, Z[::-1]),
        "jvp",
        "(complex128[2, 3], complex128[2, 3]), with tangents of [0]",
    ),
    "conjugate of a transpose": Wrong(
        lambda: turn(lambda ct, x: turned(conj(ct), x)), Z, "transpose", "complex128[2, 3]"
    ),
    "scale of a transpose": Wrong(lambda: turn(lambda ct, x: ct), X, "transpose", "linear in [0]"),
    "dtype of impl": Wrong(
        lambda: sine(impl=lambda x: np.sin(x.astype(np.float64))), X, "impl or ", "bfloat16[2, 3]"
    ),
    "shape of abstract_eval": Wrong(
        lambda: total(types=lambda x: ShapedArray((1, *x.shape[:-1]), x.dtype)),
        X,
        "impl or ",
        "[2, 3]",
    ),
    "weakness of abstract_eval": Wrong(
        lambda: total(types=lambda x: ShapedArray(x.shape[:-1], x.dtype, True)), X, "abstract_eval"
    ),
    "dropped symbolic zero": Wrong(
        dropping(0), (X, Y), "jvp", "with tangents of [0]; other tangents are"
    ),
    "the other dropped symbolic zero": Wrong(
        dropping(1), (X, Y), "jvp", "tangents of [1]; other tangents are"
    ),
    "place of the batch axis": Wrong(
        lambda: total(batch=at_the_wrong_place), ArraySpec((2, 3, 4)), "batch", "mapped over ["
    ),
    "impl and lowering that disagree": Wrong(
        lambda: sine(hlo=composed(lambda x: sin(mul(x, full_like(x, 1.001))))),
        X,
        "lowering or ",
        "[2, 3]",
    ),
    "impl that writes": Wrong(lambda: total(impl=writing), X, "impl", "[2, 3]"),
    "impl that raises for no elements": Wrong(
        lambda: sine(impl=lambda x: np.sin(x) + 0 * x.flat[0]), X, "impl", "[0, 3]"
    ),
    "derivative that raises": Wrong(
        lambda: sine(derivative=lambda t, z, x: mul(t, jnp.zeros(7))), X, "jvp"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_found_and_named(name: str) -> None:
    row = WRONG[name]
    found = raises(CheckError, match=rf"^my_\w+: ({row.rule}).* on .*")
    with primitives_put_back(), found as e:
        check_primitive(row.make(), row.example, stacks=0)
    assert row.operands in e.value.operands


RIGHT: dict[str, tuple[Callable[[], Primitive[Any]], Any, Any]] = {
    "sine": (sine, X, np.sin),
    "product": (product, (X, Y), None),
    "product of complex numbers": (product, (Z, Z[::-1]), lambda x, y: x * np.conj(y)),
    "quotient": (quotient, (X, Y), np.divide),
    "turn": (lambda: turn(turned), Z, None),
    "total": (total, X, lambda x: x.sum(-1)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name: str) -> None:
    make, example, reference = RIGHT[name]
    with primitives_put_back():
        report = check_primitive(make(), example, reference=reference, stacks=2, tol=2)
    assert {"values", "lowering", "batch", "derivatives", "stacks"} <= {*report.checked}
    assert {*report.missing} <= {"transpose"}


def test_a_wrong_reference_is_found() -> None:
    with raises(CheckError, match=r"tanh: impl is wrong on \(bfloat16\[2, 3\]\)"):
        check_primitive(tanh, X, reference=np.sin, stacks=0)


def test_what_a_primitive_lacks_is_reported() -> None:
    with primitives_put_back():
        lonely: Primitive[NoParams] = Primitive("lonely", NoParams)
        lonely.def_impl(lambda operands, params: (operands[0] + 1,))
        lonely.def_abstract_eval(lambda avals, params: (avals[0],))
        report = check_primitive(lonely, X)
    assert {*report.missing} == {"lowering", "jvp", "transpose", "batch"}
    assert report.checked == ("values", "host", "weak types", "jaxpr")
    assert "no batch rule: it is not mapped by vmap" in str(report)
    assert "not checked, stacks: there is no lowering rule" in str(report)


def test_mistakes_in_the_call() -> None:
    with raises(ArgumentError, match="needs operands"):
        check_primitive(tanh)
    with raises(ArgumentError, match="no dtype of kind 'f'"):
        check_primitive(reduce.reduce_prod_p, X)


def test_parameters_of_a_case() -> None:
    report = check_primitive(
        reduce.reduce_prod_p,
        Case(ArraySpec((2, 3), None, 0.5, 1.5), axes=(1,)),
        reference=lambda x, axes: x.prod(axes),
        kinds="f",
        stacks=2,
    )
    assert not report.left_out.keys() - {"complex step"}


# Functions


def loss(params: dict[str, Array], x: Array) -> Array:
    return jnp.sum(jnp.tanh(x @ params["w"]))


def leaky(x: Any) -> Any:
    """A function whose derivative is that of another."""
    return x + lax.stop_gradient(jnp.sin(x))


FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "a derivative that is left out": (leaky, "jvp"),
    "a wider result": (lambda x: x.astype("float64"), "the type of a result"),
    "a weak result": (lambda x: jnp.asarray(1.0), "impl or abstract_eval"),
    "a result by a value": (lambda x: x * float(x[0, 0]), "abstract_eval"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_wrong_with_a_function_is_found(name: str) -> None:
    fun, rule = FUNCTIONS[name]
    with pytest.raises(CheckError) as error:
        check_function(fun, (X,))
    assert error.value.rule == rule


@pytest.mark.wrong_types
def test_a_function_of_trees_passes() -> None:
    report = check_function(loss, ({"w": X[0]}, Y), stacks=3)
    assert "derivatives" in report.checked
    with raises(ArgumentError, match="tuple of arguments"):
        check_function(loss, unchecked([X]))
    report = check_function(jnp.sign, (X,), order=0, vmap=False, stacks=1)
    assert {*report.left_out} == {"derivatives", "vmap"}


# Transformations


def slope(fun: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: tinyjax.jvp(fun, (x,), (jnp.ones_like(x),))[1]


TRANSFORMS: dict[str, tuple[Callable[..., Any], str]] = {
    "that needs data": (lambda fun: lambda x: fun(x) if float(x[0, 0]) > 0 else x, "jit of it"),
    "that calls twice": (lambda fun: lambda x: (fun(x), fun(x)), "an effect of the function"),
    "that does not call": (lambda fun: jnp.sin, "an effect of the function"),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_wrong_transformation_is_found(name: str) -> None:
    transform, rule = TRANSFORMS[name]
    with pytest.raises(CheckError) as error:
        check_transform(transform, jnp.sin, (X,), through=("jit",))
    assert error.value.rule.startswith(rule)


def test_transformations_of_our_own_pass() -> None:
    ways = ("jit", "checkpoint", "cond", "scan", "while")
    assert "through while" in check_transform(slope, jnp.sin, (X,), through=ways).checked
    assert "effects" in check_transform(tinyjax.checkpoint, jnp.cos, (X,)).checked
    with raises(CheckError, match="through custom_jvp, it is wrong"):
        check_transform(slope, jnp.sin, (X,), through=("custom_jvp",))
    with raises(ArgumentError, match="no way called"):
        check_transform(slope, jnp.sin, (X,), through=("pmap",))


# Libraries


def library(**functions: Callable[..., Any]) -> ModuleType:
    module = ModuleType("library")
    vars(module).update(functions)
    return module


def narrow(a: ArrayLike) -> Array:
    return jnp.negative(a).astype("float32")


def positive(a: ArrayLike) -> Array:
    return jnp.abs(a)


@pytest.mark.wrong_types
def test_a_library_is_held_against_a_reference() -> None:
    names = ["negative", "transpose", "ravel", "isnan"]
    assert check_library(jnp, np, names, calls=4).checked == tuple(names)
    for wrong in (narrow, positive):
        with raises(CheckError, match="reference: ") as error:
            check_library(library(negative=wrong), np)
        assert error.value.rule == "negative"
    everything = check_library(library(negative=narrow), np, known=lambda mismatch: True)
    assert everything.checked == ("negative",)
    with raises(ArgumentError, match="do not both have"):
        check_library(jnp, np, ["no_such_function"])

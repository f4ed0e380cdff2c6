"""Rows of the elementwise primitives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from specs import KINDS, ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax._primitives import bits
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.dtypes import HostArray

F = ArraySpec((2, 3))
EXTREME = ArraySpec((16,), extremes=True)
EMPTY = ArraySpec((0, 2))
SCALAR = ArraySpec(())

Reference = Callable[..., Any]


def in_wide(reference: Reference) -> Reference:
    """A reference for narrow floats: computed in float64 and rounded once."""

    def rounded(*operands: HostArray, **params: Any) -> HostArray:
        dtype = operands[-1].dtype
        if not dtypes.is_narrow_float(dtype):
            return np.asarray(reference(*operands, **params))
        out = np.asarray(reference(*(x.astype(np.float64) for x in operands), **params))
        return out.astype(dtype) if out.dtype == np.float64 else out

    return rounded


def one(
    primitive: Primitive[Any],
    fun: Callable[..., Any],
    numpy: Reference | None,
    jax_fun: Reference | None,
    dtypes: str = "fc",
    low: float | None = None,
    high: float | None = None,
    grad: int = 2,
    **more: Any,
) -> Spec:
    """A row of a primitive with one operand: smooth values, extremes, a scalar and none at all."""
    cases = [Case(ArraySpec((2, 3), None, low, high)), Case(EXTREME), Case(SCALAR), Case(EMPTY)]
    return Spec(
        primitive.name,
        primitive,
        fun,
        cases,
        None if numpy is None else in_wide(numpy),
        jax=jax_fun,
        dtypes=dtypes,
        grad=grad,
        grad_cases=(0, 3),
        **more,
    )


BOTH = ("float64", "complex128")


def truncated_quotient(x: HostArray, y: HostArray) -> HostArray:
    """Integer division in Python's integers: toward zero, x / 0 = -1, modulo the type's range."""
    if dtypes.kind(x.dtype) not in "iu":
        return np.asarray(x / y)
    bits = 8 * x.dtype.itemsize

    def divide(a: int, b: int) -> int:
        if b == 0:
            return (1 << bits) - 1
        size = abs(a) // abs(b)
        return (size if (a < 0) == (b < 0) else -size) % (1 << bits)

    flat = [divide(int(a), int(b)) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return np.array(flat, f"u{x.dtype.itemsize}").view(x.dtype).reshape(x.shape)


def truncated_remainder(x: HostArray, y: HostArray) -> HostArray:
    if dtypes.kind(x.dtype) not in "iu":
        return np.asarray(np.fmod(x, y))

    def remain(a: int, b: int) -> int:
        if b == 0:
            return a
        return abs(a) % abs(b) * (-1 if a < 0 else 1)

    flat = [remain(int(a), int(b)) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return np.array(flat, x.dtype).reshape(x.shape)


def shifted(how: str) -> Reference:
    """Shifts in Python's integers, which have no width."""

    def shift(x: HostArray, y: HostArray) -> HostArray:
        bits = 8 * x.dtype.itemsize
        unsigned = np.dtype(f"u{x.dtype.itemsize}")
        out = []
        for a, by in zip(x.reshape(-1), y.reshape(-1).view(unsigned), strict=True):
            if how == "left":
                value = int(a) << min(int(by), bits)
            elif how == "logical":
                value = (int(a) % (1 << bits)) >> min(int(by), bits)
            else:
                signed = (int(a) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
                value = signed >> min(int(by), bits)
            out.append(value % (1 << bits))
        return np.array(out, unsigned).view(x.dtype).reshape(x.shape)

    return shift


def modular_power(x: HostArray, y: HostArray) -> HostArray:
    """Powers in Python's integers, modulo the width; what is no integer is 0."""
    width = 1 << 8 * x.dtype.itemsize

    def one(a: int, n: int) -> int:
        return pow(a, n, width) if n >= 0 else (a ** (n % 2) if abs(a) == 1 else 0)

    flat = [one(int(a), int(n)) % width for a, n in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return np.array(flat, f"u{x.dtype.itemsize}").view(x.dtype).reshape(x.shape)


def power_cases() -> list[Case]:
    """All pairs of 8 bits; else pairs of small numbers, powers of two and the ends."""
    cases = []
    for dtype in dtypes.INTEGERS:
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        near = {k + i for k in (0, 8, 64, 100, 4096, least, most) for i in range(-3, 4)}
        numbers = range(least, most + 1) if dtype.itemsize == 1 else sorted(near)
        x = np.array([n for n in numbers if least <= n <= most], dtype)
        cases.append(Case(*(np.ravel(side) for side in np.meshgrid(x, x))))
    return cases


AMOUNTS = np.array([0, 1, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127], np.int64)


def shift_cases() -> list[Case]:
    """Every integer type, shifted by less and by more than its width, and by less than nothing."""
    rng = np.random.default_rng(0)
    cases = []
    for dtype in dtypes.INTEGERS:
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, AMOUNTS.shape, dtype=dtype, endpoint=True)
        cases.append(Case(x, AMOUNTS.astype(dtype)))
        cases.append(Case(x, (-AMOUNTS).astype(dtype)))
    return cases


def shift(primitive: Primitive[Any], fun: Callable[..., Any], how: str, jax_fun: Reference) -> Spec:
    return Spec(
        primitive.name, primitive, fun, shift_cases(), shifted(how), jax=jax_fun, dtypes="iu"
    )


def pairs(
    primitive: Primitive[Any],
    fun: Callable[..., Any],
    numpy: Reference | None,
    jax_fun: Reference | None,
    dtypes: str,
    grad: int = 2,
    x: ArraySpec = F,
    y: ArraySpec = F,
    **more: Any,
) -> Spec:
    """A row of a primitive with two operands of one type."""
    cases = [Case(x, y), Case(EXTREME, EXTREME), Case(SCALAR, SCALAR), Case(EMPTY, EMPTY)]
    return Spec(
        primitive.name,
        primitive,
        fun,
        cases,
        None if numpy is None else in_wide(numpy),
        jax=jax_fun,
        dtypes=dtypes,
        grad=grad,
        grad_cases=(0, 3),
        **more,
    )


POSITIVE = ArraySpec((2, 3), None, 0.3, 2.5)
NONZERO = ArraySpec((2, 3), None, 0.5, 3.0)


def comparison(
    primitive: Primitive[Any],
    fun: Callable[..., Any],
    numpy: Reference,
    jax_fun: Reference,
    dtypes: str = "biufe",
) -> Spec:
    same = np.array([[0, 1, 2], [3, 0, 5]])
    ties = [Case(same, same[::-1].copy())]
    row = pairs(primitive, fun, numpy, jax_fun, dtypes, 0)
    return Spec(row.name, primitive, fun, [*row.cases, *ties], numpy, jax=jax_fun, dtypes=dtypes)


def rank(x: HostArray) -> HostArray:
    """Floats with numbers for NaN, and for zeros that differ."""
    wide = x.astype(np.float64)
    negative = np.signbit(wide)
    wide = np.where(wide == 0, np.where(negative, -1e-320, 1e-320), wide)
    wide = np.where(np.isinf(wide), np.where(negative, -1e308, 1e308), wide)
    return np.where(np.isnan(wide), np.where(negative, -np.inf, np.inf), wide)


def in_total_order(compare: Reference) -> Reference:
    """A comparison of places in the order -NaN, ..., -0.0, 0.0, ..., NaN."""

    def compared(x: HostArray, y: HostArray) -> HostArray:
        if dtypes.kind(x.dtype) != "f":
            return np.asarray(compare(x, y))
        return np.asarray(compare(rank(x), rank(y)))

    return compared


# Conversion between all types

CONVERTED = {
    "b": np.array([True, False]),
    "i": np.array([0, 1, -1, 5, -7, 100, -128, 127]),
    "u": np.array([0, 1, 5, 100, 127, 200, 255], np.uint64),
    "f": np.concatenate(
        [
            [0.0, -0.0, 0.49, 0.5, -0.5, 1.5, 2.5, -3.7, 126.6, 129.0, -129.0, 255.5, 256.0],
            [-1.0, 3e4, 7e4, -4e9, 4.5e9, 2.0**31, 2.0**32, 2.0**63, -(2.0**63), 2.0**64],
            [1e19, 1e30, np.inf, -np.inf, np.nan],
        ]
    ),
    "c": np.array([1.5 - 2j, 0.0 + 1j, -3.7 + 0j, 300.0 + 1j, complex(np.nan, 1)]),
}


CONVERTIBLE = (*dtypes.INTEGERS, *KINDS["b"], *KINDS["e"], *KINDS["f"], *KINDS["c"])


def conversion_cases(sources: tuple[np.dtype[Any], ...]) -> list[Case]:
    cases = []
    with np.errstate(all="ignore"):
        for source in sources:
            x = CONVERTED[dtypes.kind(source)].astype(source)
            cases += [Case(x, dtype=target) for target in CONVERTIBLE if target != source]
    return cases


def converted(x: HostArray, dtype: np.dtype[Any]) -> HostArray:
    """NumPy's conversion, with what C leaves undefined put in: saturation, and 0 for NaN."""
    if dtype == dtypes.bool_:
        return np.asarray(x != 0)
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = x.real
    if not (dtypes.is_float(x.dtype) and dtypes.is_integer(dtype)):
        return x.astype(dtype)
    info = np.iinfo(dtype)

    def integer(value: float) -> int:
        if np.isnan(value):
            return 0
        if np.isinf(value):
            return int(info.max if value > 0 else info.min)
        return min(max(int(value), int(info.min)), int(info.max))

    return np.array([integer(float(v)) for v in x.astype(np.float64)], dtype)


def jax_converted(x: Any, dtype: np.dtype[Any]) -> Any:
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        # jax.lax drops the imaginary part even for bool, jax.numpy does not, nor do we
        x = x != 0 if dtype == dtypes.bool_ else jnp.real(x)
    return jax.lax.convert_element_type(x, dtype)


def jax_exp2(x: Any) -> Any:
    """Rounded once for narrow floats; jax rounds log 2 to them first."""
    if not dtypes.is_narrow_float(np.dtype(x.dtype)):
        return jax.lax.exp2(x)
    return jax.lax.exp2(x.astype(np.float32)).astype(x.dtype)


def jax_power(x: Any, exponent: int) -> Any:
    return jax.lax.integer_pow(x, exponent)


def power(x: HostArray, exponent: int) -> HostArray:
    if dtypes.kind(x.dtype) in "iu":
        result = np.ones_like(x)
        for _ in range(exponent):
            result = result * x
        return result
    if dtypes.is_narrow_float(x.dtype):
        return np.asarray(x.astype(np.float64) ** exponent).astype(x.dtype)
    return np.asarray(x ** x.real.dtype.type(exponent)).astype(x.dtype)


def complex_sign(x: HostArray) -> HostArray:
    if not dtypes.is_complex(x.dtype):
        return np.asarray(np.sign(x))
    return np.array([v / abs(v) if v else 0 for v in x.reshape(-1)], x.dtype).reshape(x.shape)


def bit_count(x: HostArray) -> HostArray:
    mask = (1 << 8 * x.dtype.itemsize) - 1
    flat = [(int(v) & mask).bit_count() for v in x.reshape(-1)]
    return np.array(flat, x.dtype).reshape(x.shape)


def leading_zeros(x: HostArray) -> HostArray:
    bits = 8 * x.dtype.itemsize
    flat = [bits - (int(v) & ((1 << bits) - 1)).bit_length() for v in x.reshape(-1)]
    return np.array(flat, x.dtype).reshape(x.shape)


def upper_half(x: HostArray, y: HostArray) -> HostArray:
    bits = 8 * x.dtype.itemsize
    flat = [(int(a) * int(b)) >> bits for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return np.array(flat, x.dtype).reshape(x.shape)


def logistic(x: HostArray) -> HostArray:
    if dtypes.is_complex(x.dtype):
        return np.asarray(1 / (1 + np.exp(-x)))
    return np.asarray(scipy.special.expit(x))


# On both sides of each cut.
CUTS = np.array(
    [
        complex(x, y)
        for x in (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
        for y in (0.3, -0.3, 1.0, -1.0, 2.0, -2.0)
    ]
)
# On the cuts themselves, with zeros of either sign, which tell the sides apart.
REAL_AXIS = (-2.5, -0.5, 0.5, 2.5)
ON_CUTS = np.array(
    [complex(x, 0.0) for x in REAL_AXIS] + [complex(0.0, y) for y in REAL_AXIS], np.complex128
)
BELOW_CUTS = np.array(
    [complex(x, -0.0) for x in REAL_AXIS] + [complex(-0.0, y) for y in REAL_AXIS], np.complex128
)
XLA_SIGNED_ZERO = "on a cut XLA takes -0.0 for 0.0, as it does under jax; NumPy tells them apart"


def cuts(name: str, fun: Callable[..., Any], primitive: Primitive[Any], numpy: Reference) -> Spec:
    """Branch cuts of complex functions, in both precisions."""
    cases = [Case(v.astype(d)) for v in (CUTS, ON_CUTS) for d in dtypes.COMPLEXES]
    jax_fun = getattr(jax.lax, name)
    skip = {"compose": "the row of smooth values does"}
    return Spec(f"{name}, branch cuts", primitive, fun, cases, numpy, jax=jax_fun, tol=4, skip=skip)


def below_cuts(
    name: str, fun: Callable[..., Any], primitive: Primitive[Any], numpy: Reference
) -> Spec:
    """The same for zeros below zero, where only eager evaluation says what NumPy says."""
    cases = [Case(BELOW_CUTS.astype(d)) for d in dtypes.COMPLEXES]
    skip = {"compiled": XLA_SIGNED_ZERO, "compose": XLA_SIGNED_ZERO}
    return Spec(f"{name}, below its cuts", primitive, fun, cases, numpy, dtypes="c", skip=skip)


CUT_FUNCTIONS: list[tuple[str, Callable[..., Any], Primitive[Any], Reference]] = [
    ("sqrt", ew.sqrt, ew.sqrt, np.sqrt),
    ("rsqrt", ew.rsqrt, ew.rsqrt, lambda x: 1 / np.sqrt(x)),
    ("log", ew.log, ew.log, np.log),
    ("log1p", ew.log1p, ew.log1p, np.log1p),
    ("asin", ew.asin, ew.asin, np.arcsin),
    ("acos", ew.acos, ew.acos, np.arccos),
    ("atan", ew.atan, ew.atan, np.arctan),
    ("asinh", ew.asinh, ew.asinh, np.arcsinh),
    ("acosh", ew.acosh, ew.acosh, np.arccosh),
    ("atanh", ew.atanh, ew.atanh, np.arctanh),
    ("sign", ew.sign, ew.sign, complex_sign),
    ("abs", ew.abs_, ew.abs_, np.abs),
]


def rsqrt(x: HostArray) -> HostArray:
    return np.asarray(1 / np.sqrt(x)).astype(x.dtype)


def exp2(x: HostArray) -> HostArray:
    return np.asarray(np.exp(x * x.real.dtype.type(np.log(2)))).astype(x.dtype)


def select(predicate: HostArray, x: HostArray, y: HostArray) -> HostArray:
    return np.where(predicate, x, y)


def to_complex(x: HostArray, y: HostArray) -> HostArray:
    return np.asarray(x + 1j * y).astype(dtypes.to_complex(x.dtype))


MASK = ArraySpec((2, 3), np.bool_)

SPECS = [
    # Arithmetic
    pairs(ew.add, ew.add, np.add, jnp.add, "biufce", linear=(0, 1), grad_dtypes=BOTH),
    pairs(ew.sub, ew.sub, np.subtract, jax.lax.sub, "iufce", linear=(0, 1), grad_dtypes=BOTH),
    pairs(ew.mul, ew.mul, np.multiply, jnp.multiply, "biufce", linear=(0,), grad_dtypes=BOTH),
    pairs(
        ew.div,
        ew.div,
        truncated_quotient,
        jax.lax.div,
        "iuf",
        y=NONZERO,
        linear=(0,),
        grad_dtypes=("float64",),
    ),
    Spec(
        "div, complex",
        ew.div,
        ew.div,
        [Case(F, NONZERO)],
        np.true_divide,
        jax=jax.lax.div,
        dtypes="c",
        grad=2,
        grad_dtypes=("complex128",),
        linear=(0,),
    ),
    pairs(ew.rem, ew.rem, truncated_remainder, jax.lax.rem, "iuf", y=NONZERO),
    pairs(ew.max_, ew.max_, np.maximum, jax.lax.max, "biufc"),
    pairs(ew.min_, ew.min_, np.minimum, jax.lax.min, "biufc"),
    # Signs and rounding
    one(ew.neg, ew.neg, np.negative, jax.lax.neg, "iufce", linear=(0,), grad_dtypes=BOTH),
    one(ew.sign, ew.sign, complex_sign, jax.lax.sign, "iufc", grad_dtypes=BOTH, low=0.2),
    one(ew.abs_, ew.abs_, np.abs, jnp.abs, "iufc", grad_dtypes=BOTH, low=0.2),
    # Parts of derivatives at kinks, which have no others in JAX
    one(ew.abs_right, ew.abs_right, np.abs, jnp.abs, grad_dtypes=BOTH, low=0.2),
    one(ew.abs_slope, ew.abs_slope, complex_sign, jax.lax.sign, grad_dtypes=BOTH, low=0.2),
    one(ew.root, ew.root, np.sqrt, jax.lax.sqrt, "f", low=0.2),
    one(ew.root_right, ew.root_right, np.sqrt, jax.lax.sqrt, "f", low=0.2),
    pairs(ew.max_right, ew.max_right, np.maximum, jax.lax.max, "fc"),
    pairs(ew.min_right, ew.min_right, np.minimum, jax.lax.min, "fc"),
    comparison(ew.tie, ew.tie, np.equal, jax.lax.eq, "biufc"),
    one(ew.floor, ew.floor, np.floor, jax.lax.floor, "f", grad=0),
    one(ew.ceil, ew.ceil, np.ceil, jax.lax.ceil, "f", grad=0),
    one(
        ew.round_,
        ew.round_,
        np.rint,
        lambda x: jax.lax.round(x, jax.lax.RoundingMethod.TO_NEAREST_EVEN),
        "f",
        grad=0,
    ),
    one(ew.is_finite, ew.is_finite, np.isfinite, jax.lax.is_finite, "f", grad=0),
    # Exponentials and roots
    one(ew.exp, ew.exp, np.exp, jax.lax.exp, grad_dtypes=BOTH),
    one(ew.exp2, ew.exp2, exp2, jax_exp2, grad_dtypes=BOTH),
    one(ew.expm1, ew.expm1, np.expm1, jax.lax.expm1, grad_dtypes=BOTH),
    one(ew.log, ew.log, np.log, jax.lax.log, low=0.2, grad_dtypes=BOTH),
    one(ew.log1p, ew.log1p, np.log1p, jax.lax.log1p, low=-0.6, grad_dtypes=BOTH),
    one(ew.sqrt, ew.sqrt, np.sqrt, jax.lax.sqrt, low=0.2, grad_dtypes=BOTH),
    one(ew.rsqrt, ew.rsqrt, rsqrt, jax.lax.rsqrt, low=0.2, grad_dtypes=BOTH),
    one(ew.cbrt, ew.cbrt, np.cbrt, jax.lax.cbrt, "f", low=0.2),
    one(ew.logistic, ew.logistic, logistic, jax.lax.logistic, grad_dtypes=BOTH),
    # Trigonometry
    one(ew.sin, ew.sin, np.sin, jax.lax.sin, grad_dtypes=BOTH),
    one(ew.cos, ew.cos, np.cos, jax.lax.cos, grad_dtypes=BOTH),
    one(ew.tan, ew.tan, np.tan, jax.lax.tan, low=-1.2, high=1.2, grad_dtypes=BOTH),
    one(ew.asin, ew.asin, np.arcsin, jax.lax.asin, low=-0.8, high=0.8, grad_dtypes=BOTH),
    one(ew.acos, ew.acos, np.arccos, jax.lax.acos, low=-0.8, high=0.8, grad_dtypes=BOTH),
    one(ew.atan, ew.atan, np.arctan, jax.lax.atan, low=-0.8, high=0.8, grad_dtypes=BOTH),
    one(ew.sinh, ew.sinh, np.sinh, jax.lax.sinh, grad_dtypes=BOTH),
    one(ew.cosh, ew.cosh, np.cosh, jax.lax.cosh, grad_dtypes=BOTH),
    one(ew.tanh, ew.tanh, np.tanh, jax.lax.tanh, low=-1.2, high=1.2, grad_dtypes=BOTH),
    one(
        ew.sech_squared,
        ew.sech_squared,
        lambda x: np.cosh(x) ** -2,
        lambda x: 4 * jax.lax.logistic(2 * x) * jax.lax.logistic(-2 * x),
        low=-1.2,
        high=1.2,
        tol=4,
        grad_dtypes=BOTH,
    ),
    one(
        ew.logistic_slope,
        ew.logistic_slope,
        lambda x: logistic(x) * logistic(-x),
        lambda x: jax.lax.logistic(x) * jax.lax.logistic(-x),
        tol=4,
        grad_dtypes=BOTH,
    ),
    one(ew.asinh, ew.asinh, np.arcsinh, jax.lax.asinh, low=-0.8, high=0.8, grad_dtypes=BOTH),
    one(ew.acosh, ew.acosh, np.arccosh, jax.lax.acosh, low=1.2, high=3.0, grad_dtypes=BOTH),
    one(ew.atanh, ew.atanh, np.arctanh, jax.lax.atanh, low=-0.8, high=0.8, grad_dtypes=BOTH),
    pairs(ew.atan2, ew.atan2, np.arctan2, jax.lax.atan2, "f", y=NONZERO),
    pairs(ew.logaddexp, ew.logaddexp, np.logaddexp, jax.numpy.logaddexp, "f", tol=4),
    # Branch cuts
    *(cuts(*function) for function in CUT_FUNCTIONS),
    *(below_cuts(*function) for function in CUT_FUNCTIONS[:-2]),
    # Powers
    pairs(ew.pow_, ew.pow_, np.power, jax.lax.pow, "f", x=POSITIVE, tol=4),
    Spec(
        "pow, complex",
        ew.pow_,
        ew.pow_,
        [Case(POSITIVE, F)],
        np.power,
        jax=jax.lax.pow,
        dtypes="c",
        grad=2,
        grad_dtypes=("complex128",),
        tol=4,
    ),
    Spec(
        "integer_pow",
        ew.integer_pow_p,
        ew.integer_pow,
        [Case(ArraySpec((2, 3), None, 0.8, 2.0), exponent=n) for n in (0, 2, 3, 7, -1, -2, -5)]
        + [Case(EMPTY, exponent=3)],
        power,
        jax=jax_power,
        dtypes="fc",
        grad=2,
        grad_dtypes=BOTH,
        grad_cases=(1, 2, 3, 4, 5, 6, 7),
        tol=8,
    ),
    Spec(
        "integer_pow, of integers",
        ew.integer_pow_p,
        ew.integer_pow,
        [Case(EXTREME, exponent=n) for n in (0, 2, 3, 9)],
        power,
        jax=jax_power,
        dtypes="iu",
    ),
    Spec("power", bits.power, bits.power, power_cases(), modular_power, dtypes="iu"),
    # Bits and booleans
    one(ew.not_, ew.not_, np.invert, jax.lax.bitwise_not, "biu", grad=0),
    one(
        ew.population_count,
        ew.population_count,
        bit_count,
        jax.lax.population_count,
        "iu",
        grad=0,
    ),
    one(bits.clz, bits.clz, leading_zeros, jax.lax.clz, "iu", grad=0),
    pairs(bits.mulhi, bits.mulhi, upper_half, jax.lax.mulhi, "iu", 0),
    pairs(ew.and_, ew.and_, np.bitwise_and, jax.lax.bitwise_and, "biu", 0),
    pairs(ew.or_, ew.or_, np.bitwise_or, jax.lax.bitwise_or, "biu", 0),
    pairs(ew.xor_, ew.xor_, np.bitwise_xor, jax.lax.bitwise_xor, "biu", 0),
    shift(ew.shift_left, ew.shift_left, "left", jax.lax.shift_left),
    shift(
        ew.shift_right_logical,
        ew.shift_right_logical,
        "logical",
        jax.lax.shift_right_logical,
    ),
    shift(
        ew.shift_right_arithmetic,
        ew.shift_right_arithmetic,
        "arithmetic",
        jax.lax.shift_right_arithmetic,
    ),
    Spec(
        "nextafter",
        ew.nextafter,
        ew.nextafter,
        [Case(EXTREME, EXTREME), Case(F, F), Case(EMPTY, EMPTY)],
        None,
        jax=jax.lax.nextafter,
        dtypes="f",
        tol=0,
    ),
    # Comparison and selection
    comparison(ew.eq, ew.eq, np.equal, jax.lax.eq, "biufce"),
    comparison(ew.ne, ew.ne, np.not_equal, jax.lax.ne, "biufce"),
    comparison(ew.lt, ew.lt, np.less, jax.lax.lt),
    comparison(ew.le, ew.le, np.less_equal, jax.lax.le),
    comparison(ew.gt, ew.gt, np.greater, jax.lax.gt),
    comparison(ew.ge, ew.ge, np.greater_equal, jax.lax.ge),
    comparison(ew.eq_to, ew.eq_to, in_total_order(np.equal), jax.lax.eq_to_p.bind),
    comparison(ew.lt_to, ew.lt_to, in_total_order(np.less), jax.lax.lt_to_p.bind),
    comparison(ew.le_to, ew.le_to, in_total_order(np.less_equal), jax.lax.le_to_p.bind),
    Spec(
        "select",
        ew.select_p,
        ew.select,
        [
            Case(MASK, F, F),
            Case(ArraySpec((), np.bool_), SCALAR, SCALAR),
            Case(ArraySpec((0, 2), np.bool_), EMPTY, EMPTY),
        ],
        select,
        jax=jax.lax.select,
        dtypes="biufce",
        grad=2,
        grad_dtypes=BOTH,
        linear=(1, 2),
    ),
    # Complex numbers
    one(ew.real, ew.real, np.real, jax.lax.real, "c", grad_dtypes=("complex128",), linear=(0,)),
    one(ew.imag, ew.imag, np.imag, jax.lax.imag, "c", grad_dtypes=("complex128",), linear=(0,)),
    one(
        ew.conj,
        ew.conj,
        np.conj,
        jax.lax.conj,
        "c",
        grad_dtypes=("complex128",),
        linear=(0,),
    ),
    Spec(
        "complex",
        ew.complex_,
        ew.complex_,
        [Case(F, F), Case(EMPTY, EMPTY), Case(SCALAR, SCALAR)],
        to_complex,
        jax=jax.lax.complex,
        dtypes=("float32", "float64"),
        grad=2,
        linear=(0, 1),
    ),
    # Conversion
    Spec(
        "convert_element_type",
        ew.convert_element_type_p,
        ew.convert_element_type,
        conversion_cases(CONVERTIBLE),
        converted,
        skip=dict.fromkeys(("vmap", "jaxpr", "compose"), "hundreds of pairs: the next rows do"),
    ),
    Spec(
        "convert_element_type, as jax does",
        ew.convert_element_type_p,
        ew.convert_element_type,
        conversion_cases((dtypes.int64, dtypes.float32, dtypes.complex64)),
        jax=jax_converted,
    ),
    Spec(
        "convert_element_type, of floats",
        ew.convert_element_type_p,
        ew.convert_element_type,
        [
            Case(ArraySpec((2, 3), np.float64), dtype=np.dtype(np.complex128)),
            Case(ArraySpec((2, 3), np.complex128), dtype=np.dtype(np.float64)),
            Case(ArraySpec((0, 2), np.float64), dtype=np.dtype(np.complex128)),
        ],
        grad=2,
        linear=(0,),
    ),
    Spec(
        "convert_element_type, to a weak type",
        ew.convert_element_type_p,
        lambda x: ew.convert_element_type(x, x.dtype, True),
        [Case(F)],
        lambda x: x,
        jax=None,
        dtypes="biufc",
        skip={"weak": "its results are weakly typed whatever the operand is"},
    ),
]

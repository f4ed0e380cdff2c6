"""The specifications of primitives: specs, comparisons, and the errors of checks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, ClassVar, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.values import operands as opd
from tinyjax.dtypes import DType, DTypeLike, HostArray

# What the checks raise.


class CheckError(errors.TinyjaxError, AssertionError):
    """A check has failed.

    Attributes:
        subject: the name of the primitive, function, transformation or library.
        rule: what is wrong: ``"batch"``, ``"jvp"``, ``"impl and lowering"``.
        operands: the operands, by their types, and how they were given.
        detail: what was expected and what came.

    Example:
        >>> import numpy as np
        >>> import tinyjax
        >>> from tinyjax import testing
        >>> @tinyjax.custom_jvp
        ... def double(x):
        ...     return 2 * x
        >>> double.defjvps(lambda t, result, x: 3 * t)
        >>> try:
        ...     testing.check_function(double, (np.ones(2),), stacks=1)
        ... except testing.CheckError as error:
        ...     error.rule
        'jvp'

        Give it the right rule:

        >>> double.defjvps(lambda t, result, x: 2 * t)
        >>> testing.check_function(double, (np.ones(2),), stacks=1).checked
        ('values', 'jit', 'types', 'derivatives', 'vmap', 'stacks')
    """

    def __init__(self, subject: str, rule: str, operands: str, detail: str) -> None:
        super().__init__(f"{subject}: {rule} is wrong on {operands}: {detail}")
        self.subject = subject
        self.rule = rule
        self.operands = operands
        self.detail = detail


@contextmanager
def blaming(subject: str, rule: str, operands: str) -> Iterator[None]:
    """Add the rule and the operands to all errors in a block.

    Args:
        subject: what is checked.
        rule: what is wrong if anything is.
        operands: the operands.

    Raises:
        CheckError: anything was raised inside, except for a missing rule and other such errors.
    """
    try:
        yield
    except (CheckError, errors.MissingRuleError):
        raise
    except AssertionError as error:
        detail = error.message if isinstance(error, errors.TinyjaxError) else str(error)
        raise CheckError(subject, rule, operands, detail.strip()) from error
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        raise CheckError(subject, rule, operands, detail) from error


# Whether two results are the same: types exactly, values up to the rounding of their type.


def tolerance(dtype: dtypes.DType, tol: float) -> float:
    """Some units in the last place of a type; exact where it holds no fractions."""
    match dtypes.real_part(dtype):
        case dtypes.float64:
            return 64 * 2.0**-52 * tol
        case dtypes.float32:
            return 32 * 2.0**-23 * tol
        case dtypes.float16:
            return 3 * 2.0**-10 * tol
        case dtypes.bfloat16:
            return 3 * 2.0**-7 * tol
        case narrow if narrow in dtypes.FLOAT8:
            return 0.26 * tol
        case _:
            return 0.0


def epsilon(dtype: DType) -> float:
    """Return the distance from 1 to the next number of a type; 0 for integers."""
    if not dtypes.is_inexact(dtype):
        return 0.0
    return float(dtypes.finfo(dtypes.real_part(dtype)).eps)


def wide(x: dtypes.HostArray) -> dtypes.HostArray:
    """Return the same numbers in NumPy's own widest type, with which NumPy computes."""
    kind = dtypes.kind(x.dtype)
    if kind == "f":
        return x.astype(np.float64)
    return x.astype(np.complex128) if kind == "c" else x


def assert_close(got: dtypes.HostArray, expected: Any, rtol: float, what: str) -> None:
    """Hold shape and dtype equal, and values within a tolerance; NaN and infinities in one place.

    Args:
        got: the one array.
        expected: the other.
        rtol: relative tolerance; nothing asks for equal values.
        what: of what they are results, for the message.

    Raises:
        AssertionError: they differ.
    """
    expected = np.asarray(expected)
    if got.shape != expected.shape:
        raise AssertionError(f"{what}: shape {got.shape}, expected {expected.shape}")
    if got.dtype != expected.dtype:
        raise AssertionError(f"{what}: dtype {got.dtype}, expected {expected.dtype}")
    if rtol == 0.0:
        np.testing.assert_array_equal(wide(got), wide(expected), err_msg=what)
    else:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                wide(got), wide(expected), rtol, atol_of(expected, rtol), err_msg=what
            )


def atol_of(expected: dtypes.HostArray, rtol: float) -> float:
    """Return the absolute tolerance: sums and sines near zero have errors of their terms' size."""
    sizes = np.abs(wide(expected))
    sizes = sizes[np.isfinite(sizes)]
    return rtol * min(1.0, float(sizes.max())) if sizes.size else rtol


def hosts(value: Any) -> list[dtypes.HostArray]:
    """Return the arrays of a result, which may be an array or a tree of them."""
    return [x if isinstance(x, np.ndarray) else np.asarray(x) for x in tree.leaves(value)]


def compare(got: Any, expected: Any, tol: float, what: str) -> None:
    """Hold the arrays of two results equal up to rounding.

    Args:
        got: an array, or a tree of arrays.
        expected: the same.
        tol: by how much tolerances are widened.
        what: of what they are results, for the message.

    Raises:
        AssertionError: they differ.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.testing import compare
        >>> compare(tinyjax.jit(jnp.sin)(1.0), jnp.sin(1.0), 1.0, "sin, compiled")
    """
    got, expected = hosts(got), hosts(expected)
    if len(got) != len(expected):
        raise AssertionError(f"{what}: {len(got)} results, expected {len(expected)}")
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        place = f"{what}, result {i}" if len(got) > 1 else what
        assert_close(a, b, tolerance(b.dtype, tol), place)


def assert_types(got: Any, expected: Any, what: str) -> None:
    """Hold the types of arrays equal, with their weakness.

    Args:
        got: arrays, or descriptions of arrays.
        expected: the same.
        what: of what they are results, for the message.

    Raises:
        AssertionError: they differ.
    """
    mine, theirs = tree.leaves(got), tree.leaves(expected)
    if len(mine) != len(theirs):
        raise AssertionError(f"{what}: {len(mine)} results, expected {len(theirs)}")
    for i, (x, y) in enumerate(zip(mine, theirs, strict=True)):
        a, b = (type_text(v) for v in (x, y))
        if a != b:
            place = f" of result {i}" if len(mine) > 1 else ""
            raise AssertionError(f"{what}: type {a}{place}, expected {b}")


def type_text(x: Any) -> str:
    """Return the type of an array or of a description of one: ``float32[3], weak``."""
    x = x if hasattr(x, "weak_type") else opd.as_array(x)
    return f"{x.dtype}{list(x.shape)}" + (", weak" if x.weak_type else "")


def describe(params: Mapping[str, Any], operands: Sequence[Any]) -> str:
    """Name operands, arrays or descriptions of them, by their types, with the parameters."""
    types = ", ".join(f"{x.dtype}{list(x.shape)}" for x in operands)
    return f"({types}) {dict(params) or ''}".rstrip()


# Directions


def tangent_like(rng: np.random.Generator, x: dtypes.HostArray) -> dtypes.HostArray:
    """Return a random tangent of the type of an array."""
    direction: dtypes.HostArray = np.asarray(rng.standard_normal(x.shape))
    if dtypes.is_complex(x.dtype):
        direction = np.asarray(direction + 1j * rng.standard_normal(x.shape))
    return direction.astype(x.dtype)


def rounded(
    hosts: Sequence[dtypes.HostArray], relative: float, turn: int
) -> list[dtypes.HostArray]:
    """Return the operands, each element moved by about so much in a direction of its own."""
    rng = np.random.default_rng(turn)
    result: list[dtypes.HostArray] = []
    for x in hosts:
        if not dtypes.is_inexact(x.dtype):
            result.append(x)
            continue
        by = max(relative, epsilon(x.dtype))
        with np.errstate(all="ignore"):
            values = wide(x)
            step = rng.choice([-1.0, 1.0], x.shape) * by
            if x.dtype.kind == "c":
                step = step + 1j * rng.choice([-1.0, 1.0], x.shape) * by
                moved = values + np.abs(values) * step
            else:
                moved = values * (1 + step)
            result.append(np.where(np.isfinite(values), moved, values).astype(x.dtype))
    return result


def pairing(xs: Sequence[dtypes.HostArray], ys: Sequence[dtypes.HostArray]) -> float:
    """``Re sum(x y)``: the pairing under which a pull-back is the transpose of the derivative."""
    return sum(
        float(np.sum(wide(x) * wide(y)).real)
        for x, y in zip(xs, ys, strict=True)
        if dtypes.is_inexact(x.dtype) and dtypes.is_inexact(y.dtype)
    )


# What ``vmap`` means: a loop. And which operands to map over, along which axes.


__all__ = ["axes_to_map", "loop", "stacked"]

Axes: TypeAlias = tuple[int | None, ...]


def stacked(rng: np.random.Generator, x: HostArray, axis: int | None, size: int) -> HostArray:
    """Several operands in one: the operand with its elements in another order, ``size`` times."""
    if axis is None:
        return x
    copies = [rng.permutation(x.reshape(-1)).reshape(x.shape) for _ in range(size)]
    return np.stack(copies, axis)


def loop(
    fun: Callable[..., Any], axes: Sequence[int | None], size: int, operands: Sequence[HostArray]
) -> list[HostArray]:
    """Apply a function to every slice, and stack the results.

    Args:
        fun: takes arrays, and returns a tree of them.
        axes: of each operand that from which slices are taken; None gives it whole.
        size: of the mapped axis.
        operands: what to take slices of.

    Returns:
        The arrays of the result, each with the mapped axis in front.
    """
    outs = [
        hosts(
            fun(
                *(
                    x if axis is None else np.take(x, i, axis)
                    for x, axis in zip(operands, axes, strict=True)
                )
            )
        )
        for i in range(size)
    ]
    return [np.stack([out[k] for out in outs]) for k in range(len(outs[0]))]


def axes_to_map(ndims: Sequence[int], most: int, rng: np.random.Generator) -> list[Axes]:
    """Return the ways to map over operands: which of them, and along which axes.

    Args:
        ndims: how many axes each operand has before it is mapped.
        most: of more ways than these, some are drawn: all operands along the first axis, all along
            the last, and each alone, are among them.
        rng: where they are drawn from.
    """
    every: list[Axes] = [
        axes
        for axes in product(*[(None, *range(n + 1)) for n in ndims])
        if any(axis is not None for axis in axes)
    ]
    if len(every) <= most:
        return every
    first: list[Axes] = [(0,) * len(ndims), tuple(ndims)]
    first += [
        tuple([n if i == k else None for i in range(len(ndims))]) for k, n in enumerate(ndims)
    ]
    places = rng.permutation(len(every))[: max(0, most - len(first))]
    return [*dict.fromkeys([*first, *[every[i] for i in places]])]


# What a primitive is held to: the function that applies it, operands to try, and references.
#
#     Spec(
#         "sin", sin_p, lax.sin,
#         [Case(ArraySpec((3,)), ArraySpec(()))],   # or, with parameters: Case(x, axes=(0, 2))
#         numpy=np.sin, dtypes="fc", grad=2,
#     )
#
# Operands of an ``ArraySpec`` without a dtype are tried in each of the spec's dtypes, in turn;
# NumPy arrays and specs with a dtype are taken as they are. The keyword arguments of a case go to
# the function and to the references.


#: The dtypes a row's letters stand for; "e" is float8, which "f" leaves out.
KINDS: Final[dict[str, tuple[DType, ...]]] = {
    "b": (dtypes.bool_,),
    "i": dtypes.SIGNED,
    "u": dtypes.UNSIGNED,
    "e": (dtypes.float8_e4m3fn, dtypes.float8_e5m2),
    "f": (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64),
    "c": dtypes.COMPLEXES,
}

#: The checks of ``tinyjax.testing.rules``, which a spec may skip by name.
CHECKS: Final = (
    "host",  # the host rule gives the bits of impl
    "numpy",  # eager evaluation against the reference, and the types that abstract_eval says
    "dtypes",  # whether it is refused, by type, eagerly, compiled and mapped, in every dtype
    "compiled",  # the lowering against eager evaluation
    "grad",  # derivatives against finite differences, to the spec's order, in both modes
    "linear",  # f(a x + b y) = a f(x) + b f(y), and <J t, ct> = <t, J^T ct>
    "vmap",  # against a loop, over subsets of operands and several axes, nested too
    "compose",  # stacks of transformations
    "jaxpr",  # types, evaluation, printing, digest
    "sizes",  # arrays without elements, and without axes
    "weak",  # weak types: eagerly what abstract_eval says
)

_RANGES = {"f": (-2.0, 2.0), "c": (-2.0, 2.0), "i": (-100, 100), "u": (0, 200), "b": (0, 1)}
_EXTREMES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 1e-3, 100.0)


def _ints(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(values)


def _values(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(values)


def _dtype(dtype: DTypeLike) -> DType | None:
    return None if dtype is None else np.dtype(dtype)


@attrs.frozen
class ArraySpec:
    """A random operand.

    Attributes:
        shape: its shape.
        dtype: its dtype; None for each of the row's in turn.
        low: the least value drawn (for complex numbers, of either part).
        high: the greatest.
        special: values put in besides the random ones, except where derivatives are checked.
        extremes: whether to put in, likewise, the values at which formulas break: zeros of both
            signs, ones, infinities and NaN; for integers the least and the greatest.

    Example:
        >>> import numpy as np
        >>> from tinyjax import testing
        >>> spec = testing.ArraySpec((2, 3), "float32", low=0.0, high=1.0)
        >>> spec.sample(np.random.default_rng(0)).shape
        (2, 3)
    """

    shape: tuple[int, ...] = attrs.field(converter=_ints)
    dtype: DType | None = attrs.field(default=None, converter=_dtype)
    low: float | None = None
    high: float | None = None
    special: tuple[Any, ...] = attrs.field(default=(), converter=_values)
    extremes: bool = False

    def sample(
        self, rng: np.random.Generator, dtype: DType | None = None, special: bool = True
    ) -> HostArray:
        """Draw values; ``dtype`` is the row's, which is taken where the spec has none.

        Example:
            >>> import numpy as np
            >>> from tinyjax import testing
            >>> rng = np.random.default_rng(0)
            >>> testing.ArraySpec((2, 3)).sample(rng, np.dtype("float32")).shape
            (2, 3)
        """
        dtype = dtype if self.dtype is None else self.dtype
        if dtype is None:
            raise errors.ArgumentError("an operand without a dtype belongs to a spec with dtypes.")
        kind = dtypes.kind(dtype)
        low, high = _RANGES[kind]
        low = low if self.low is None else self.low
        high = high if self.high is None else self.high
        values: HostArray
        if kind == "b":
            values = rng.integers(0, 2, self.shape).astype(np.bool_)
        elif kind in "iu":
            info = np.iinfo(dtype)
            # int64's ends are beyond what a float holds exactly
            least, most = max(int(info.min), round(low)), min(int(info.max), round(high))
            values = rng.integers(least, most, self.shape, dtype=dtype, endpoint=True)
        else:
            values = rng.uniform(low, high, self.shape)
            if kind == "c":
                values = np.asarray(values + 1j * rng.uniform(low, high, self.shape))
        values = np.array(values).astype(dtype)
        specials = self._special(dtype) if special else ()
        if specials and values.size:
            flat = values.reshape(-1)
            places = rng.permutation(flat.size)[: len(specials)]
            with np.errstate(all="ignore"):
                chosen = np.array(specials)[rng.permutation(len(specials))[: len(places)]]
                flat[places] = chosen.astype(dtype)
            values = flat.reshape(self.shape)
        return values

    def _special(self, dtype: DType) -> tuple[Any, ...]:
        if not self.extremes:
            return self.special
        match dtypes.kind(dtype):
            case "f":
                return (*self.special, *_EXTREMES)
            case "i" | "u":
                info = np.iinfo(dtype)
                ends = (info.min, info.min + 1, info.max, info.max - 1, 0, 1)
                return (*self.special, *(np.array(v, dtype) for v in ends))
            case _:
                return self.special


@attrs.frozen(eq=False)
class Values:
    """An operand with given values, in each of the spec's dtypes in turn."""

    values: HostArray

    dtype: ClassVar[None] = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def sample(
        self, rng: np.random.Generator, dtype: DType | None = None, special: bool = True
    ) -> HostArray:
        """Give the values in a dtype; of a complex number a real dtype keeps the real part."""
        if dtype is None:
            return self.values
        real = dtypes.is_complex(self.values.dtype) and not dtypes.is_complex(dtype)
        with np.errstate(all="ignore"):
            return (self.values.real if real else self.values).astype(dtype)


Operand: TypeAlias = ArraySpec | Values | HostArray


@attrs.frozen(init=False, eq=False)
class Case:
    """Operands to try a function on, and the keyword arguments that go with them.

    Example:
        >>> from tinyjax import testing
        >>> case = testing.Case(testing.ArraySpec((2,)), axis=0)
        >>> case.params, case.generic
        ({'axis': 0}, True)
    """

    operands: tuple[Operand, ...]
    params: dict[str, Any]

    def __init__(self, *operands: Operand, **params: Any) -> None:
        self.__attrs_init__(operands, params)

    def sample(
        self, rng: np.random.Generator, dtype: DType | None, special: bool = True
    ) -> tuple[HostArray, ...]:
        """Draw the operands.

        Example:
            >>> import numpy as np
            >>> from tinyjax import testing
            >>> case = testing.Case(testing.ArraySpec((2,)), testing.ArraySpec((2,)))
            >>> [x.shape for x in case.sample(np.random.default_rng(0), np.dtype("float32"))]
            [(2,), (2,)]
        """
        return tuple(
            x if isinstance(x, np.ndarray) else x.sample(rng, dtype, special) for x in self.operands
        )

    @property
    def generic(self) -> bool:
        """Return whether an operand takes the row's dtypes."""
        return any(not isinstance(x, np.ndarray) and x.dtype is None for x in self.operands)


#: A case, the dtype it is drawn in, and its operands.
Sample: TypeAlias = tuple[Case, DType | None, tuple[HostArray, ...]]


def expanded(letters: str | Iterable[Any]) -> tuple[DType, ...]:
    """Return the dtypes of kinds, given as letters, or those that are given."""
    if isinstance(letters, str):
        return tuple(dtype for letter in letters for dtype in KINDS[letter])
    return tuple(np.dtype(dtype) for dtype in letters)


def _cases(cases: Iterable[Case]) -> tuple[Case, ...]:
    return tuple(cases)


@attrs.frozen(eq=False)
class Spec:
    """One row.

    Attributes:
        name: of the row; the primitive's, or that and how it is used.
        primitive: the primitive that the row is about.
        fun: takes the operands (and a case's keyword arguments); returns an array or several.
        cases: the operands to try it on.
        numpy: an independent reference on NumPy arrays, called as ``fun`` is.
        dtypes: the dtypes for operands without one of their own: letters of ``KINDS``, or dtypes.
        grad: the order to which derivatives are checked; 0 where there are none.
        grad_dtypes: the row's dtypes in which they are checked.
        grad_cases: the cases (by number) on which derivatives are checked; all by default.
        linear: the operands in which, jointly, it is linear; those that a case has.
        tol: the factor by which tolerances are widened, where rounding errors accumulate.
        skip: checks not made, with the reason.

    Example:
        >>> import numpy as np
        >>> from tinyjax import testing
        >>> from tinyjax.core.primitives import elementwise as ew
        >>> cases = [testing.Case(testing.ArraySpec((3,)))]
        >>> row = testing.Spec("sine", ew.sin, ew.sin, cases, numpy=np.sin, grad=2)
        >>> row.primitive, row.grad, len(row.cases)
        (sin, 2, 1)
    """

    name: str
    primitive: prim.Primitive[Any]
    fun: Callable[..., Any]
    cases: tuple[Case, ...] = attrs.field(converter=_cases)
    numpy: Callable[..., Any] | None = None
    dtypes: tuple[DType, ...] = attrs.field(default="f", converter=expanded)
    grad: int = 0
    grad_dtypes: tuple[DType, ...] = attrs.field(default=("float64",), converter=expanded)
    grad_cases: tuple[int, ...] | None = None
    linear: tuple[int, ...] = attrs.field(default=(), converter=_ints)
    tol: float = 1.0
    skip: dict[str, str] = attrs.field(factory=dict)

    #: The checks that ``skip`` may name.
    checks: ClassVar[tuple[str, ...]] = CHECKS

    @skip.validator
    def _check_skip(self, _attribute: object, value: dict[str, str]) -> None:
        unknown = set(value) - set(self.checks)
        if unknown:
            raise errors.ArgumentError(
                f"there are no checks called {unknown}; the checks are {self.checks}."
            )

    def applied(self, params: dict[str, Any]) -> Callable[..., Any]:
        """Return the function on Arrays, which NumPy operands are made into first.

        Example:
            >>> import numpy as np
            >>> from tinyjax import testing
            >>> from tinyjax.core.primitives import elementwise as ew
            >>> cases = [testing.Case(testing.ArraySpec((3,)))]
            >>> row = testing.Spec("sine", ew.sin, ew.sin, cases, numpy=np.sin)
            >>> row.applied({})(np.zeros(2, np.float32))
            Array([0., 0.], dtype=float32)
        """

        def fun(*operands: Any) -> Any:
            return self.fun(*(opd.as_array(x) for x in operands), **params)

        return fun

    def rng(self, purpose: str = "") -> np.random.Generator:
        """Return the row's own random numbers: the same in every run, whatever the other rows.

        Example:
            >>> import numpy as np
            >>> from tinyjax import testing
            >>> from tinyjax.core.primitives import elementwise as ew
            >>> cases = [testing.Case(testing.ArraySpec((3,)))]
            >>> row = testing.Spec("sine", ew.sin, ew.sin, cases, numpy=np.sin)
            >>> row.rng().random() == row.rng().random()
            True
        """
        seed = hashlib.sha256(f"{self.name}/{purpose}".encode()).digest()
        return np.random.default_rng(list(seed[:8]))

    def samples(self, most: int | None = None) -> list[Sample]:
        """Every case in every dtype, with operands that include the special values.

        Args:
            most: of how many dtypes, in turn, cases after the first two are drawn; where a sample
                is to be compiled, all of them would take too long.

        Example:
            >>> import numpy as np
            >>> from tinyjax import testing
            >>> from tinyjax.core.primitives import elementwise as ew
            >>> cases = [testing.Case(testing.ArraySpec((3,)))]
            >>> row = testing.Spec("sine", ew.sin, ew.sin, cases, numpy=np.sin)
            >>> len(row.samples(most=2))
            4
        """
        rng = self.rng("values")
        result: list[Sample] = []
        for i, case in enumerate(self.cases):
            row: Sequence[DType | None] = self.dtypes if case.generic else (None,)
            if most is not None and i > 1 and len(row) > most:
                row = [row[(i * most + k) % len(row)] for k in range(most)]
            result.extend((case, dtype, case.sample(rng, dtype)) for dtype in row)
        return result

    def smooth_samples(self, cases: Sequence[int] | None = None) -> list[Sample]:
        """Every case in the dtypes for derivatives, without the special values.

        Example:
            >>> import numpy as np
            >>> from tinyjax import testing
            >>> from tinyjax.core.primitives import elementwise as ew
            >>> cases = [testing.Case(testing.ArraySpec((3,)))]
            >>> row = testing.Spec("sine", ew.sin, ew.sin, cases, numpy=np.sin)
            >>> len(row.smooth_samples([0])) > 0
            True
        """
        rng = self.rng("smooth")
        chosen = range(len(self.cases)) if cases is None else cases
        row = self.grad_dtypes if self.grad or self.linear else self.dtypes[-1:]
        return [
            (case, dtype, case.sample(rng, dtype, special=False))
            for case in (self.cases[i] for i in chosen)
            for dtype in (row if case.generic else (None,))
        ]

"""What a primitive is held to: the function that applies it, operands to try, and references.

    Spec(
        "sin", sin_p, lax.sin,
        [Case(ArraySpec((3,)), ArraySpec(()))],   # or, with parameters: Case(x, axes=(0, 2))
        numpy=np.sin, dtypes="fc", grad=2,
    )

Operands of an ``ArraySpec`` without a dtype are tried in each of the spec's dtypes, in turn; NumPy
arrays and specs with a dtype are taken as they are. The keyword arguments of a case go to the
function and to the references.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.values import operands as opd
from tinyjax.dtypes import DType, DTypeLike, HostArray

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
        dtype: its dtype; None stands for each of the row's in turn.
        low: the least value drawn (for complex numbers, of either part).
        high: the greatest.
        special: values put in besides the random ones, except where derivatives are checked.
        extremes: whether to put in, likewise, the values at which formulas break: zeros of both
            signs, ones, infinities and NaN; for integers the least and the greatest.
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
        """Draw values; ``dtype`` is the row's, which is taken where the spec has none."""
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
    """Operands to try a function on, and the keyword arguments that go with them."""

    operands: tuple[Operand, ...]
    params: dict[str, Any]

    def __init__(self, *operands: Operand, **params: Any) -> None:
        self.__attrs_init__(operands, params)

    def sample(
        self, rng: np.random.Generator, dtype: DType | None, special: bool = True
    ) -> tuple[HostArray, ...]:
        """Draw the operands."""
        return tuple(
            x if isinstance(x, np.ndarray) else x.sample(rng, dtype, special) for x in self.operands
        )

    @property
    def generic(self) -> bool:
        """Whether an operand takes the row's dtypes."""
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
        primitive: what the row is about.
        fun: takes the operands (and a case's keyword arguments); returns an array or several.
        cases: what to try it on.
        numpy: an independent reference on NumPy arrays, called as ``fun`` is.
        dtypes: what operands without a dtype of their own are tried in: letters of ``KINDS``, or
            dtypes.
        grad: to which order derivatives are checked; 0 where there are none.
        grad_dtypes: in which of the row's dtypes.
        grad_cases: which cases (by number) derivatives are checked on; all by default.
        linear: the operands in which, jointly, it is linear; those that a case has.
        tol: by how much the tolerances are widened, where rounding errors pile up.
        skip: checks not made, with the reason.
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
        """The function on Arrays, which NumPy operands are made into first."""

        def fun(*operands: Any) -> Any:
            return self.fun(*(opd.as_array(x) for x in operands), **params)

        return fun

    def rng(self, purpose: str = "") -> np.random.Generator:
        """The row's own random numbers: the same in every run, whatever other rows there are."""
        seed = hashlib.sha256(f"{self.name}/{purpose}".encode()).digest()
        return np.random.default_rng(list(seed[:8]))

    def samples(self, most: int | None = None) -> list[Sample]:
        """Every case in every dtype, with operands that include the special values.

        Args:
            most: of how many dtypes, in turn, cases after the first two are drawn; where a sample
                is to be compiled, all of them would take too long.
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
        """Every case in the dtypes for derivatives, without the special values."""
        rng = self.rng("smooth")
        chosen = range(len(self.cases)) if cases is None else cases
        row = self.grad_dtypes if self.grad or self.linear else self.dtypes[-1:]
        return [
            (case, dtype, case.sample(rng, dtype, special=False))
            for case in (self.cases[i] for i in chosen)
            for dtype in (row if case.generic else (None,))
        ]

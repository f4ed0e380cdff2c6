"""Classes whose ``__array_wrap__`` NumPy calls with what its functions give."""

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError
from tools import modules

pytestmark = pytest.mark.usefixtures("double_precision")

TEXT = '''import numpy as np


class Plain(np.ndarray):
    """Gives arrays of NumPy's, which hold a copy."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.array(array)


class Rebuilt(np.ndarray):
    """Makes new ones, but for numbers and for what its constructor refuses."""

    def __new__(cls, array):
        if np.ndim(array) != 1:
            raise ValueError("of one axis")
        return np.asarray(array).view(cls)

    def __array_finalize__(self, array):
        self.count = self.size

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if return_scalar:
            return array[()]
        try:
            return type(self)(array)
        except ValueError:
            return array


class Numbers(np.ndarray):
    """Hands on to NumPy's, but for arrays without axes."""

    def __array_wrap__(self, array, context=None, *args, **kwargs):
        if array.ndim:
            return np.ndarray.__array_wrap__(self, array, context, *args, **kwargs)
        return array[()]


class Above(np.ndarray):
    """Hands on to the class above, with a name that follows the values."""

    def __array_finalize__(self, array):
        self.label = getattr(array, "label", "new")

    def __array_wrap__(self, array, context=None, return_scalar=False):
        made = super().__array_wrap__(array, context, return_scalar)
        made.label = "wrapped " + self.label
        return made


class Shaped(np.ndarray):
    """Is of another class by its shape."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if return_scalar or not array.shape:
            return array.dtype.type(array)
        if array.shape != self.shape:
            return array.view(type=np.ndarray)
        return array.view(Shaped)


class Doubled(np.ndarray):
    """Changes what it is called with, so that values tell how often that is."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array) * 2.0


class Contextual(np.ndarray):
    """Computes with what NumPy was called with."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        array = np.asarray(array)
        if context is None:
            return array + 1.0
        ufunc, operands, place = context
        return array + len(ufunc.__name__) + place + np.sum(np.asarray(operands[0]))


class Old(np.ndarray):
    """Has the signature of NumPy 1."""

    def __array_wrap__(self, array, context=None):
        return array.view(np.ndarray) * 3.0


class First(np.ndarray):
    __array_priority__ = 10.0

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array) + 0.25


class Last(np.ndarray):
    """Is wrapped only beside no other array."""

    __array_priority__ = -5.0

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array) + 0.5


class Protocol(np.ndarray):
    """Has the protocol of universal functions, and wraps what others give."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        operands = [x.view(np.ndarray) if isinstance(x, Protocol) else x for x in inputs]
        options.pop("out", None)
        result = super().__array_ufunc__(ufunc, method, *operands, **options)
        if result is NotImplemented or method == "at":
            return NotImplemented
        return np.asarray(result).view(Protocol) if ufunc.nout == 1 else result

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array) * 5.0


class Inherited(np.ndarray):
    """Has the protocol of universal functions, and NumPy's wrapping."""

    def __array_finalize__(self, array):
        self.label = getattr(array, "label", "new")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        operands = [np.asarray(x) if type(x) is Inherited else x for x in inputs]
        if "out" in options:
            options["out"] = tuple(np.asarray(x) for x in options["out"])
        return getattr(ufunc, method)(*operands, **options)


class Handing(np.ndarray):
    """Hands on its own arrays, which NumPy does not take."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return super().__array_ufunc__(ufunc, method, *inputs, **options)


class Method(np.ndarray):
    """Has another mean, too."""

    def mean(self, *args, **options):
        return super().mean(*args, **options) * 7.0

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array[()] if return_scalar else array.view(Method)


class Duck:
    """Is no array, and becomes one."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array) + 0.125


def made(kind, x):
    return Duck(x) if kind is Duck else x.view(kind)


def described(r):
    if isinstance(r, (tuple, list)):
        return [described(item) for item in r]
    return type(r).__name__, np.shape(r), getattr(r, "label", None), getattr(r, "count", None)


def number(r):
    if isinstance(r, (tuple, list)):
        return sum(number(item) for item in r)
    return np.sum(np.cos(np.asarray(r) * 1.0))


kinds = []
'''
KINDS = (
    *("Plain", "Rebuilt", "Numbers", "Above", "Shaped", "Doubled", "Contextual", "Old"),
    *("First", "Last", "Protocol", "Inherited", "Handing", "Method", "Duck"),
)
CALLS = (
    """
r + 1.0; 1.0 + r; -r; abs(r); r * r; r ** 2; r / d; d / r; r - s; s - r; r @ r; m @ m; r == r
r > 0.5; np.add(r, 1.0); np.exp(r); np.sin(r); np.multiply(d, r); np.add(r, s); np.add(s, r)
np.add(r, r, out=np.ones(4) * r0); np.add(d, 1.0, out=r); np.add(r, 1.0, out=r); np.modf(r)
np.divmod(r, 0.3); np.frexp(r)[0]; np.hypot(r, d); np.arctan2(r, 2.0); np.maximum(r, 0.5)
np.add(r, 1.0, subok=False); np.multiply(r, 2.0, where=[True, False, True, True], out=np.zeros(4))
r.sum(); m.sum(axis=0); np.sum(r); np.sum(m, axis=1); r.sum(keepdims=True); r.mean(); np.mean(m, 0)
np.mean(r); r.std(); np.var(m, axis=1); np.std(r); r.max(); np.min(m, axis=0); r.prod(); r.cumsum()
np.cumsum(r); np.cumprod(m, axis=1); np.ptp(r); np.median(r); np.average(r); np.percentile(r, 30)
np.add.reduce(r); np.add.accumulate(r); np.multiply.outer(r, d); np.add.reduceat(r, [0, 2])
np.maximum.reduce(r); np.round(r, 1); r.round(); np.clip(r, 0.2, 0.9); r.clip(0.2, 0.9); np.fix(r)
np.trace(m); m.trace(); np.dot(r, r); np.dot(m, r[:2]); np.inner(r, r); np.vdot(r, d)
np.outer(r, d); np.einsum("i,i", r, r); np.tensordot(m, m, 1); np.linalg.inv(m); np.linalg.det(m)
np.linalg.solve(m, r[:2]); np.linalg.solve(m, d[:2]); np.linalg.norm(r); np.linalg.pinv(m)
np.linalg.cholesky(m @ m.T); np.linalg.matrix_power(m, 2); np.linalg.qr(m)[1]; np.linalg.eigvalsh(m)
np.where(r > 0.5, r, 0.0); np.concatenate([r, r]); np.stack([r, d]); np.append(r, 1.0); r.copy()
np.insert(r, 0, 1.0); np.delete(r, 0); r[1:] * 2.0; r[1] * 2.0; r.T * 1.0; r.reshape(2, 2) + 1.0
np.diff(r); np.gradient(r); np.kron(r, r); np.cross(r[:3], d[:3]); np.interp(0.5, r, r)
np.trapezoid(r); np.sinc(r); np.nan_to_num(r); np.polyval([1.0, 2.0], r); np.tile(r, 2)
np.roll(r, 1); np.flip(r) * 1.0; np.sort(r) * 1.0; np.take(r, [0, 1]) + 0.0; np.repeat(r, 2) + 0.0
np.nansum(r); np.nanmean(r); np.isclose(r, r); np.unwrap(r); np.select([r > 0.5], [r])
np.zeros_like(r) + d; np.full_like(r, 2.0) * d; np.asarray(r) * 2.0; np.array(r) * 2.0
np.array(r, subok=True) * 2.0; np.asanyarray(r) * 2.0; np.apply_along_axis(np.sum, 0, m)
np.square(r); np.real(r) * 1.0; np.conj(r); np.tril(m); np.diag(m) * 1.0; np.cov(m)
np.vecdot(r, r); np.matvec(m, r[:2]); np.fft.fft(r).real; np.any(r > 0.5); r.astype(float) + 1.0
np.atleast_2d(r) * 2.0; np.expand_dims(r, 0) * 2.0; np.broadcast_to(r, (2, 4)) * 1.0; r + fixed
fixed * r; np.exp(fixed) * d; fixed + d; np.add(d, fixed); np.sum(fixed) * d; np.float64(2.0) * r
np.sum(fixed * d); np.add(r[0, ...], 1.0); (r + 1.0) * r; (r + r) - d; np.exp(r) + r.sum()
np.full(4, d[0]) + r; np.ma.sum(r); np.heaviside(r, 1.0); np.sum(r, out=np.zeros(())); r + [1.0] * 4
np.sum(r, where=[True, False, True, True]); np.ldexp(r, 2); np.matmul(m, m, out=np.zeros((2, 2)))
""".strip()
    .replace("\n", ";")
    .split(";")
)
INPLACE = (
    *("r += 1.0", "r *= r", "r -= d", "r /= 2.0", "r **= 2", "r[0] = d[1]", "r[:] = r + d"),
    *("r[1:] += r[:-1]", "d += r", "d *= r", "np.add.at(r, [0, 0], d[0])", "r.fill(d[2])"),
    *("r.sort()", "np.copyto(r, d)", "m[0] += r[:2]", "r[r > 0.5] *= 2.0"),
)
FUNCTION = """

def f{number}(x):
    d = x * 1.5
    r0 = x[0]
    r, s = made({kind}, x * 1.0), made({other}, x + 0.5)
    m = (np.eye(2) * 2.0 + x.reshape(2, 2) * x[0]).view({matrix})
    fixed = made({kind}, np.array([0.3, 0.6, 0.9, 1.2]))
    {statement}
    kinds.append(described(r))
    return number(r)
"""
POINT = np.array([0.7, 0.31, 1.43, 0.52])


def functions(folder: Path, draw: random.Random, count: int) -> list[tuple[str, Any, Any]]:
    """Return drawn programs: what they are, the functions, and the list of what they have met."""
    programs = []
    for number in range(count):
        kind, other = draw.choice(KINDS), draw.choice(KINDS)
        call = draw.choice((*CALLS, *INPLACE)).strip()
        statement = call if call in INPLACE else f"r = {call}"
        matrix = "Plain" if kind == "Duck" else kind
        fields = {"kind": kind, "other": other, "matrix": matrix, "statement": statement}
        programs.append((f"{kind} {other} {call}", FUNCTION.format(number=number, **fields)))
    text = TEXT + "".join(text for _, text in programs)
    module = modules.module_of(text, folder / f"wrapping_{draw.randrange(10**9)}.py")
    named = enumerate(name for name, _ in programs)
    return [(name, getattr(module, f"f{i}"), module.kinds) for i, name in named]


def outcome(fun: Any, kinds: list[Any]) -> str:
    """Return how a captured program compares with the plain one."""
    kinds.clear()
    try:
        expected = fun(POINT.copy())
    except Exception as error:
        expected = error
    plain = [*kinds]
    kinds.clear()
    try:
        actual, slope = tinyjax.value_and_grad(source.capture(fun))(POINT)
    except TinyjaxError as error:
        return f"refused: {error}"
    except Exception as error:
        return "raises" if isinstance(expected, Exception) else f"wrong: {error!r}"
    if isinstance(expected, Exception):
        return f"wrong: does not raise {expected!r}"
    if kinds != plain:
        return f"wrong: {kinds}, not {plain}"
    if not np.allclose(actual, expected, rtol=1e-12, atol=1e-12, equal_nan=True):
        return f"wrong: {actual}, not {expected}"
    direction = np.array([0.3, -0.7, 0.2, 0.5])
    step = 1e-6
    change = (fun(POINT + step * direction) - fun(POINT - step * direction)) / (2 * step)
    if not np.allclose(np.asarray(slope) @ direction, change, rtol=1e-6, atol=1e-6):
        return f"wrong: slope {np.asarray(slope) @ direction}, not {change}"
    return "right"


@pytest.mark.parametrize("seed", range(4))
def test_arrays_are_wrapped_as_numpy_wraps_them(seed: int, tmp_path: Path) -> None:
    outcomes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, fun, kinds in functions(tmp_path, random.Random(seed), 40):
            result = outcome(fun, kinds)
            assert not result.startswith("wrong"), (name, result)
            outcomes.append(result)
    refused = [result for result in outcomes if result.startswith("refused")]
    assert len(refused) < 0.2 * len(outcomes)


class Shape:
    def __new__(cls, size: Any) -> Any:
        return super().__new__(Square if cls is Shape else cls)

    def __init__(self, size: Any) -> None:
        self.area = size


class Square(Shape):
    def __init__(self, size: Any) -> None:
        super().__init__(size * size)


class Samples(np.ndarray):
    scale: Any

    def __new__(cls, x: Any) -> Any:
        return np.asarray(x).view(Scaled if cls is Samples else cls)

    def __init__(self, x: Any) -> None:
        self.scale = 1.0


class Scaled(Samples):
    def __init__(self, x: Any) -> None:
        self.scale = x[0] * 3.0


class Pair:
    def __new__(cls, x: Any) -> Any:
        return [x, x * x]

    def __init__(self, x: Any) -> None:
        raise AssertionError("a list has been made")


def made_of_subclasses(x: Any) -> Any:
    total = np.sum(Samples(x) * 1.0) * Samples(x).scale
    pair: Any = Pair(x[2])
    return Shape(x[0]).area + Square(x[1]).area + total + pair[1]


def test_constructors_run_of_the_class_that_new_makes() -> None:
    x = POINT[:3]
    value, slope = tinyjax.value_and_grad(source.capture(made_of_subclasses))(x)
    assert value == made_of_subclasses(x)
    of_product = 3 * (x[0] + np.array([np.sum(x), 0, 0]))
    np.testing.assert_allclose(slope, of_product + 2 * x, rtol=1e-14)


class Named(np.ndarray):
    """An array that says what it was made of."""

    def __array_finalize__(self, array: Any) -> None:
        self.scale = 2.0 if array is None else getattr(array, "scale", 3.0) + 1.0


@pytest.mark.parametrize("buffer", [False, True])
def test_new_arrays_are_finalized_by_none(buffer: bool) -> None:
    def scaled(x: Any) -> Any:
        made = np.ndarray.__new__(Named, x.shape, buffer=x if buffer else None)
        made[...] = x
        return np.sum(made) * made.scale + np.sum(x.view(Named)) * x.view(Named).scale

    slope = tinyjax.grad(source.capture(scaled))(np.array([0.5, 1.5]))
    np.testing.assert_allclose(slope, 2.0 + 4.0)

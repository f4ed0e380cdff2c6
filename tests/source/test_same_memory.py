"""Arrays by several names, of which a program does not say whether they are one.

A program takes an array, gives it to an operation that copies it or hands it on, and writes traced
numbers to the result. It is right, or refused, in each of the ways in which it may run.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from zlib import crc32

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

HEAD: Final = """
import collections
import copy
import dataclasses
import functools
import operator

import numpy as np

FREE = np.zeros(3)
VIEW = np.zeros((2, 3))[0]
PART = np.zeros(8)[2:5]
OF_NUMBER = np.float64(0.0)[None]
LIST = [np.zeros(3)]


class Box:
    def __init__(self, a):
        self.a = a


BOX = Box(np.zeros(3))
Pair = collections.namedtuple("Pair", "first second")
VALUES = [None]


@dataclasses.dataclass
class Data:
    a: object


@functools.lru_cache
def value():
    return VALUES[0]


def cached(a):
    VALUES[0] = a
    value.cache_clear()
    return value()


def made():
    return np.zeros(3)


def same(a):
    return a


def later(a):
    return functools.partial(same, a)


def reset():
    for array in (FREE, VIEW, PART, OF_NUMBER, LIST[0], BOX.a):
        array[...] = 0.0

"""
#: Arrays from outside of the program, and new ones.
ARRAYS: Final = (
    *("FREE", "VIEW", "PART", "OF_NUMBER", "LIST[0]", "BOX.a", "made()", "np.zeros(3)"),
    *("np.float64(0.0)[None]", "np.float64(0.0).reshape(1)", "np.atleast_1d(0.0)", "np.ravel(0.0)"),
    *("np.zeros((2, 3))[0]", "np.zeros(6).reshape(2, 3)[1]", "np.array(0.0)[None]"),
    *("np.asarray([0.0, 0, 0])", "np.linspace(0, 0, 3)", "np.broadcast_to(0.0, 3).copy()"),
)
#: Operations that hand an array on, give a view of it, or copy it.
OPERATIONS: Final = tuple(
    """
a; a.astype(float, copy=False); np.asarray(a); np.ascontiguousarray(a); np.require(a)
np.atleast_1d(a); np.asanyarray(a); np.nan_to_num(a, copy=False); np.real(a); a.real
np.array(a, copy=None); np.array(a, copy=False); a.__array__(); np.broadcast_arrays(a)[0]
a.squeeze(); a.T; a[:]; a[...]; a.view(); a.ravel(); a.reshape(-1); np.squeeze(a); np.ravel(a)
np.transpose(a); a.reshape(a.shape); np.asfortranarray(a); memoryview(a).obj; max([a], key=id)
copy.copy([a])[0]; operator.itemgetter(0)([a]); dict(a=a)["a"]; [*[a]][0]
list(zip([a]))[0][0]; next(iter([a])); sorted([a], key=id)[0]; Box(a).a; same(a); later(a)()
np.lib.stride_tricks.as_strided(a); np.ndarray(a.shape, buffer=a); np.frombuffer(a)
np.moveaxis(a, 0, 0); np.flip(a)[::-1]; a.swapaxes(0, 0); np.astype(a, float, copy=False)
np.asarray_chkfinite(a); np.atleast_2d(a)[0]; np.expand_dims(a, 0)[0]; a.getfield(np.float64)
np.split(a, 1)[0]; np.rollaxis(a, 0); a.conj(); np.conjugate(a); a.conjugate(); +a; np.positive(a)
a.copy(); np.array(a); np.copy(a); a.flatten(); a + 0; a.take([0]); a.clip(-9, 9); a.astype(float)
np.where(True, a, 0); np.pad(a, 0); np.roll(a, 0); np.insert(a, 0, []); np.delete(a, [])
np.resize(a, a.shape); np.sort(a); a.round(); np.around(a); np.concatenate([a]); np.stack([a])[0]
np.hstack([a]); np.repeat(a, 1); np.tile(a, 1); np.append(a, []); a[np.ones(a.shape, bool)]
np.diff(a, n=0); np.fix(a); np.unwrap(a); np.real_if_close(a); np.nan_to_num(a); np.cumsum(a)
np.array(a, ndmin=1, copy=None); np.array(a, subok=True, copy=None); np.asarray(a, dtype=float)
Pair(a, 0)._replace(second=1).first; dataclasses.replace(Data(a)).a; dataclasses.astuple(Data(a))[0]
cached(a); collections.deque([a]).pop(); {}.setdefault("a", a); functools.reduce(same, [a])
np.add(a, 0.0, out=a); np.trim_zeros(a + 1) - 1; a.__copy__(); copy.copy(a); copy.deepcopy(a)
""".strip()
    .replace("\n", ";")
    .split(";")
)
WRITES: Final = (
    *("z[0] = x * 2", "z += x", "z[...] = x", "z[:2] *= x", "np.multiply(z, x, out=z)"),
    *("np.copyto(z, x)", "z.fill(x)", "z[0] += x", "np.add.at(z, 0, x)"),
)
#: Arrays without axes, and numbers.
POINTS: Final = (
    *("np.array(np.sin(np.ravel(x)[7]))", "np.asarray(np.sin(x[1, 2]))", "np.array(x[1, 1])"),
    *("np.sum(x, keepdims=True)[0, 0, ...]", "np.sin(x)[1, 2, ...]", "np.zeros(())"),
    *("np.zeros(()) + x[0, 0] * np.ones(())", "np.squeeze(np.sin(x)[:1, :1])", "np.sin(x[0, 1])"),
    *("np.zeros(()) * 0 + 0", "np.float64(0.5)", "np.max(x)", "x[2, 2]"),
)
VIEWS: Final = (
    *("w.reshape(1)", "np.reshape(w, (1,))", "np.atleast_1d(w)", "w[None]", "w.ravel()"),
    *("np.ravel(w)", "np.expand_dims(w, 0)", "w[np.newaxis, ...]", "w.reshape(1, 1)[0]"),
    *("np.atleast_2d(w)[0]", "w.flatten()", "np.array([w])"),
)

OF_ARRAY: Final = "    return np.sum(a) * x + 5.0 * np.sum(z * [1.0, 2.0, 3.0][: len(z)])\n"
OF_POINT: Final = "    return np.sum(a) + 3.0 * np.sum(z) + 5.0 * np.sum(w)\n"

Function = Callable[[Any], Any]


def programs(seed: int) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of programs: each array with each operation, and a write."""

    def write_to(*parts: str) -> str:
        return WRITES[crc32(repr((seed, parts)).encode()) % len(WRITES)]

    number = 0
    for array in ARRAYS:
        for operation in OPERATIONS:
            number += 1
            write = write_to(array, operation)
            text = f"    a = {array}\n    z = {operation.strip()}\n    {write}\n{OF_ARRAY}"
            yield f"array{number}", text
    for point in POINTS:
        for view in VIEWS:
            for operation in OPERATIONS:
                number += 1
                write = (
                    write_to(point, view, operation)
                    .replace("x", "x[1, 1]")
                    .replace("np.x[1, 1]", "np.x")
                )
                text = (
                    f"    w = {point}\n    a = {view}\n    z = {operation.strip()}\n    {write}\n"
                )
                yield f"point{number}", text + OF_POINT


def load(texts: list[tuple[str, str]], folder: Path) -> ModuleType:
    functions = [f"def {name}(x):\n{text}\n\n" for name, text in texts]
    return module_of(HEAD + "".join(functions), folder / "same_memory_programs.py")


WAYS: Final[dict[str, Callable[[Function, Any], Any]]] = {
    "captured": lambda f, x: tinyjax.grad(source.capture(f))(x),
    "source.grad": lambda f, x: source.grad(f)(x),
    "staged": lambda f, x: tinyjax.grad(tinyjax.jit(f, control_flow="source"))(x),
    "captured and compiled": lambda f, x: tinyjax.jit(tinyjax.grad(source.capture(f)))(x),
}


@pytest.mark.parametrize(
    "seed", [0, *[pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(1, 9)]]
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore")
def test_writes_by_another_name(way: str, seed: int, tmp_path: Path) -> None:
    """One program of twenty in a plain run, and all, with other writes, in a search."""
    texts = [
        (name, text)
        for name, text in programs(seed)
        if crc32((way + text).encode()) % (4 if seed else 20) == seed % 4
    ]
    module = load(texts, tmp_path)
    wrong: list[str] = []
    right = 0
    for name, text in texts:
        function = getattr(module, name)
        x = 0.7 if name.startswith("array") else np.linspace(0.11, 0.97, 9).reshape(3, 3)
        slopes: list[float] = []
        for i in range(np.size(x)):
            values = []
            for h in (1e-6, -1e-6):
                moved = np.array(x)
                moved.reshape(-1)[i] += h
                module.reset()
                try:
                    values.append(function(moved if moved.ndim else float(moved)))
                except (TypeError, ValueError, IndexError, AttributeError):
                    break
            if len(values) == 2:
                slopes.append((values[0] - values[1]) / 2e-6)
        module.reset()
        if len(slopes) < np.size(x):
            continue  # NumPy refuses it
        try:
            gradient = WAYS[way](function, x)
        except tinyjax.errors.TinyjaxError:
            continue
        if not np.allclose(np.ravel(gradient), slopes, atol=1e-5):
            wrong.append(text)
        right += 1
    assert not wrong
    assert right > len(texts) // 3


#: Arrays whose axes are, or are not, in the order of those of ``A``, the transpose of an argument.
ORDERED: Final = tuple(
    """
A * 1.0; np.copy(A); A.copy(); A.copy('K'); copy.copy(A); copy.deepcopy(A); np.sort(A, 0); abs(A)
np.stack([A, A], -1); np.concatenate([A, A]); np.where(A > 0.5, A, 0.0); np.cumsum(A, axis=0)
np.add.accumulate(A); np.vectorize(float)(A); A.astype(float); np.zeros_like(A) + 1.0; A @ A.T
np.roll(A, 1); np.einsum('ij->ij', A) * 1.0; A[[0, 1]]; A[:, [0, 1]]; np.array([A, A]); np.tril(A)
np.moveaxis(np.stack([A, A]), 0, -1) * 1; np.clip(A, 0, 1); np.array(x, order='F'); A.repeat(2, 0)
np.asfortranarray(x); functools.reduce(operator.add, [A, A]); np.pad(A, 1); np.linalg.pinv(A)
""".strip()
    .replace("\n", ";")
    .split(";")
)
VIEWED: Final = (
    *("y.reshape(-1)[0] = 2.0", "y.ravel()[-1] = 3.0", "y.T.reshape(-1)[1:2] *= 0.5"),
    *("np.ascontiguousarray(y)[..., 0] = 0.3", "y.ravel('K')[0] = 2.0", "y.ravel('F')[1] = 2.0"),
    *("y.reshape(y.shape[::-1])[..., 0] = 0.5", "y = np.array(y.ravel('K'))"),
)
#: Arguments in other layouts.
LAYOUTS: Final[dict[str, Callable[[np.ndarray], np.ndarray]]] = {
    "rows": np.copy,
    "columns": np.asfortranarray,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "apart": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "apart and transposed": lambda x: np.repeat(x.T, 3, axis=0)[::3].T,
    "within": lambda x: np.pad(x, 1)[1:-1, 1:-1],
    "within, backwards": lambda x: np.pad(x[::-1, ::-1], ((1, 0), (0, 2)))[:0:-1, -3::-1],
}


@pytest.mark.parametrize("way", ["captured", "source.grad", "staged"])
@pytest.mark.filterwarnings("ignore")
def test_order_of_axes(way: str, tmp_path: Path) -> None:
    """A function keeps the order of axes where NumPy's does, which decides what is a view."""
    texts = [
        (f"order{i}_{k}", f"    A = x.T\n    y = {made.strip()}\n    {write}\n    {OF_ORDER}")
        for i, made in enumerate(ORDERED)
        for k, write in enumerate(VIEWED)
        if crc32((way + made + write).encode()) % 4 == 0
    ]
    module = load(texts, tmp_path)
    x = np.linspace(0.11, 0.97, 6).reshape(2, 3)
    for name, text in texts:
        function = getattr(module, name)
        assert np.isclose(VALUE[way](function, x.copy()), function(x.copy())), text


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.filterwarnings("ignore")
def test_arguments_in_other_layouts(layout: str, tmp_path: Path) -> None:
    """``source.grad`` gives a program an argument as far apart as it is."""
    made = ("np.copy(x)", "x.copy()", "x * 1.0", "x", "np.zeros_like(x) + x", "x[::-1]")
    texts = [
        (f"layout{i}_{k}", f"    y = {array}\n    {write}\n    {OF_ORDER}")
        for i, array in enumerate(made)
        for k, write in enumerate(VIEWED)
    ]
    module = load(texts, tmp_path)
    x = np.linspace(0.11, 0.97, 6).reshape(2, 3)
    for name, text in texts:
        function, lay = getattr(module, name), LAYOUTS[layout]
        actual = source.value_and_grad(function)(lay(x))[0]
        assert np.isclose(actual, function(lay(x))), text


OF_ORDER: Final = "return np.sum(y * np.cos(np.arange(y.size)).reshape(y.shape)) * x[0, 0]"
VALUE: Final[dict[str, Callable[[Function, Any], Any]]] = {
    "captured": lambda f, x: tinyjax.value_and_grad(source.capture(f))(x)[0],
    "source.grad": lambda f, x: source.value_and_grad(f)(x)[0],
    "staged": lambda f, x: tinyjax.jit(f, control_flow="source")(x),
}

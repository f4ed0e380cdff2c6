"""Random programs of views, aliases and writes, as Python source.

A program is drawn statement by statement. Each statement is executed as it is drawn, so that the
shapes of all arrays are known to the next one. Statements that raise, or whose arrays hold large
numbers, are dropped. Functions are smooth, except for sorting and comparisons.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import numpy as np

#: What every module of programs begins with.
PREAMBLE: Final = '''\
import functools
import itertools
import math
import operator
from contextlib import contextmanager

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

TABLE = np.cos(np.arange(24.0))
SCRATCH = np.zeros(24)


class Holder:
    """An object with an array."""

    def __init__(self, array):
        self.array = array

    @property
    def first(self):
        return self.array[0]

    def scale(self, factor):
        self.array *= factor

    def put(self, key, value):
        self.array[key] = value

    def __getitem__(self, key):
        return self.array[key]

    def __setitem__(self, key, value):
        self.array[key] = value

    def __iadd__(self, other):
        self.array += other
        return self


class Slotted(Holder):
    """An object with another array, kept in a slot."""

    __slots__ = ("second",)

    def __init__(self, array):
        super().__init__(array)
        self.second = array[::-1]


def write(array, key, value):
    array[key] = value


def scaled(array, factor=0.9):
    array *= factor
    return array


def swapped(array, i, j):
    array[i], array[j] = array[j], array[i]
    return array


def weigh(array):
    values = np.sin(np.ravel(array))
    return np.dot(values, np.cos(np.arange(values.size)))


def rows(array):
    yield from array


@contextmanager
def restored(array):
    saved = array.copy()
    yield array
    array[...] = 0.5 * array + 0.5 * saved
'''
SHAPES: Final = ((6,), (7,), (8,), (12,), (24,), (2, 3), (3, 3), (3, 4), (4, 4), (4, 6), (2, 3, 4))
LARGEST: Final = 20.0
MOST_ELEMENTS: Final = 200
NAMES: Final = tuple("abcdeghjkmnpqrtuvwyz")


class UnfitError(Exception):
    """There is no operand for a statement of this kind."""


@dataclass(frozen=True)
class Program:
    """A function of an array: its statements, and the terms of the sum that it returns."""

    name: str
    statements: tuple[str, ...]
    terms: tuple[str, ...]
    point: np.ndarray

    def __str__(self) -> str:
        lines = "".join(map(_indented, self.statements))
        total = "\n    + ".join(self.terms) or "0.0"
        return f"def {self.name}(x):\n{lines}    return (\n{_indented(total)}    )\n"

    def shortened(self, line: int) -> "Program":
        """Return the program without the statement or the term of a line, or the last of them.

        Args:
            line: the line, counted from that of ``def``.
        """
        after = 1
        for i, statement in enumerate(self.statements):
            after += statement.count("\n") + 1
            if line < after:
                return replace(self, statements=self.statements[:i] + self.statements[i + 1 :])
        i = line - after - 1
        if 0 <= i < len(self.terms):
            return replace(self, terms=self.terms[:i] + self.terms[i + 1 :])
        if self.statements:
            return replace(self, statements=self.statements[:-1])
        return replace(self, terms=self.terms[:-1])


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


class Drawing:
    """A program that is being drawn, and the values of its names after the last statement."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        shape = self.random.choice(SHAPES)
        numbers = [self.random.uniform(0.2, 1.2) for _ in range(math.prod(shape))]
        self.point = np.reshape(numbers, shape)
        self.statements: list[str] = []
        self.writes_to_argument = self.random.random() < 0.1
        self.values: dict[str, object] = {}
        self._inputs: frozenset[str] = frozenset()
        self.restart()

    def restart(self) -> None:
        """Execute the statements drawn so far, from the beginning."""
        self.values = {"__name__": "drawing"}
        exec(PREAMBLE, self.values)
        self._inputs = frozenset(self.values)
        self.values["x"] = self.point.copy()
        for statement in self.statements:
            exec(statement, self.values)

    def add(self, statement: str) -> bool:
        """Execute and keep a statement, if it raises nothing and its numbers stay small."""
        try:
            exec(statement, self.values)
            fits = all(map(self._is_small, self.values.values()))
        except Exception:
            fits = False
        if fits:
            self.statements.append(statement)
        else:
            self.restart()
        return fits

    def _is_small(self, value: object) -> bool:
        if isinstance(value, float | complex | np.ndarray):
            array = np.asarray(value)
            return array.size <= MOST_ELEMENTS and bool(np.all(np.abs(array) < LARGEST))
        return True

    def read(self, text: str) -> np.ndarray:
        """Return the array that an expression has now."""
        return np.asarray(eval(text, self.values))

    def places(self) -> list[str]:
        """Return the expressions that hold arrays: names, items and attributes."""
        names: list[str] = []
        for name, value in self.values.items():
            if name in self._inputs or name == "__builtins__":
                continue
            if isinstance(value, np.ndarray):
                is_complex = np.iscomplexobj(value)
                names += [f"{name}.real", f"{name}.imag"] if is_complex else [name]
            elif isinstance(value, list | tuple):
                names += [
                    f"{name}[{i}]" for i, item in enumerate(value) if isinstance(item, np.ndarray)
                ]
            elif isinstance(value, dict):
                names += [f"{name}[{key!r}]" for key in value if isinstance(value[key], np.ndarray)]
            elif type(value).__name__ in ("Holder", "Slotted"):
                names.append(f"{name}.array")
                if type(value).__name__ == "Slotted":
                    names.append(f"{name}.second")
        return [place for place in names if self.read(place).dtype.kind == "f"]

    def numbers(self) -> list[str]:
        """Return the names of numbers."""
        return [
            name
            for name, value in self.values.items()
            if isinstance(value, float) and name not in self._inputs
        ]

    def array(self, ndim: int | None = None, least: int = 1, writeable: bool = False) -> str:
        """Choose an array of so many axes and at least so many elements."""
        names = [
            place
            for place in self.places()
            for array in [self.read(place)]
            if ndim in (None, array.ndim)
            and array.size >= least
            and (
                not writeable
                or (array.flags.writeable and (place != "x" or self.writes_to_argument))
            )
        ]
        if writeable and not self.writes_to_argument:
            x = self.values["x"]
            assert isinstance(x, np.ndarray)
            names = [place for place in names if not np.may_share_memory(self.read(place), x)]
        if not names:
            raise UnfitError
        recent = names[-3:] if self.random.random() < 0.5 else names
        return self.random.choice(recent)

    def fresh(self) -> str:
        """Return a name, of those without a value where there are some."""
        unused = [name for name in NAMES if name not in self.values]
        return self.random.choice(unused or NAMES)

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def number(self) -> str:
        return f"{self.random.uniform(-1.2, 1.2):.3f}"

    def factor(self) -> str:
        return self.pick("0.5", "0.9", "1.1", "-0.7", "1.3", "(0.3 + x.flat[0])")

    def element(self, place: str | None = None) -> str:
        """Return an element of an array, which is a number."""
        place = place or self.array()
        array = self.read(place)
        if not array.ndim:
            return self.pick(f"{place}[()]", f"float({place})", f"{place}.item()")
        indices = [self.random.randrange(-n, n) for n in array.shape]
        index = ", ".join(map(str, indices))
        flat = self.random.randrange(array.size)
        chained = "".join(f"[{i}]" for i in indices)
        return self.pick(
            f"{place}[{index}]",
            f"{place}[{index}]",
            f"{place}{chained}",
            f"{place}.flat[{flat}]",
            f"{place}.item({flat})",
            f"np.ravel({place})[{flat}]",
        )

    def scalar(self) -> str:
        """Return an expression of a number."""
        numbers = self.numbers()
        if numbers and self.random.random() < 0.3:
            return self.random.choice(numbers)
        element = self.element()
        return self.pick(
            element,
            f"math.sin({element})",
            f"np.sin({element})",
            f"{element} * {self.element()}",
            f"0.5 * {element} + {self.number()}",
            f"math.exp(0.1 * {element})",
            f"float({element})",
            f"np.sum({self.array()}) * 0.05",
            f"abs({element})",
            f"{element} / (2.0 + np.cos({element}))",
        )

    def fitted(self, shape: tuple[int, ...]) -> str:
        """Return an array of this shape: another one, or elements of it."""
        same = [p for p in self.places() if self.read(p).shape == shape]
        if same and self.random.random() < 0.6:
            return self.random.choice(same)
        size = math.prod(shape)
        try:
            place = self.array(least=size)
        except UnfitError:
            return f"np.resize({self.array()}, {shape})"
        if not shape:
            return self.element(place)
        start = self.random.randrange(self.read(place).size - size + 1)
        flat = self.pick(f"np.ravel({place})", f"{place}.reshape(-1)", f"{place}.flatten()")
        part = f"{flat}[{start}:{start + size}]"
        return part if shape == (size,) else f"{part}.reshape{shape}"

    def expression(self, shape: tuple[int, ...], depth: int = 2) -> str:
        """Return an expression whose value is broadcast to a shape."""
        if self.random.random() < 0.15:
            return self.scalar()
        if shape and self.random.random() < 0.15:
            return self.expression(shape[1:], depth)
        if len(shape) == 1 and shape[0] <= 6 and self.random.random() < 0.1:
            return f"[{', '.join(self.scalar() for _ in range(shape[0]))}]"
        a = self.fitted(shape)
        if not depth or self.random.random() < 0.3:
            # a copy, since NumPy's assignments from one slice of an array to another with other
            # steps read what they have written: y[::2] = y[:3]
            return self.pick(f"+{a}", f"{a}.copy()")
        b = self.fitted(shape)
        options = [
            f"np.sin({a})",
            f"np.exp(0.1 * {a})",
            f"{a} * {b}",
            f"{a} + 0.5 * {b}",
            f"{a} - {self.scalar()}",
            f"{a} / (2.0 + np.cos({b}))",
            f"np.where({a} > {self.number()}, {a}, {b})",
            f"np.tanh({a}) ** 2",
            f"-{a}",
            f"np.maximum({a}, {self.number()})",
            f"np.hypot({a}, 1.0 + {b} ** 2)",
            f"{a}.copy()",
            f"({a} > {self.number()}) * {b}",
        ]
        if len(shape) == 1:
            options += [f"+{a}[::-1]", f"np.cumsum({a}) * 0.1", f"np.sort({a})", f"np.roll({a}, 1)"]
        if len(shape) == 2:
            options += [f"{a}[::-1, ::-1]", f"np.outer({a}[:, 0], {b}[0])"]
            if shape[0] == shape[1]:
                options += [f"{a}.T", f"0.2 * ({a} @ {b})", f"({a} + {a}.T)"]
        return self.random.choice(options)

    def index(self, size: int) -> str:
        """Return an index of one axis."""
        start, stop = sorted(self.random.randint(-size, size) for _ in range(2))
        return self.pick(
            str(self.random.randrange(size)),
            str(self.random.randrange(-size, 0)),
            ":",
            "::-1",
            "::2",
            "1::2",
            f"{self.random.randrange(size)}:",
            f":{self.random.randrange(1, size + 1)}",
            f"{start}:{stop}",
            f"{size - 1}::-2",
            f":{-1 if size > 1 else 1}",
        )

    def key(self, shape: tuple[int, ...]) -> str:
        """Return a basic index."""
        items = [self.index(n) for n in shape[: self.random.randint(0, len(shape))]]
        if self.random.random() < 0.2:
            items.insert(self.random.randint(0, len(items)), "None")
        if self.random.random() < 0.25 or not items:
            items.append("...")
            if len(items) == 2 and len(shape) > 1 and self.random.random() < 0.5:
                items = ["...", self.index(shape[-1])]
        return ", ".join(items)

    def view(self, place: str) -> str:
        """Return a view of an array, or in some cases a copy of its elements."""
        array = self.read(place)
        shape, n, size = array.shape, array.ndim, array.size
        options = [
            *(f"{place}[{self.key(shape)}]" for _ in range(4)),
            f"{place}.T",
            f"{place}.reshape(-1)",
            f"np.ravel({place})",
            f"{place}.ravel(order='F')",
            f"np.expand_dims({place}, {self.random.randint(-n - 1, n)})",
            f"np.squeeze({place})",
            f"np.atleast_{self.random.randint(1, 3)}d({place})",
            f"{place}.view()",
            f"{place}.real",
            f"np.real({place})",
            f"np.asarray({place})",
            f"np.asanyarray({place})",
            f"np.ascontiguousarray({place})",
            f"{place}.astype(float, copy=False)",
            f"np.broadcast_to({place}, {(2, *shape)})",
            f"np.flip({place})",
            f"np.require({place})",
        ]
        options += [f"{place}.reshape({d}, -1)" for d in (2, 3) if size % d == 0]
        options += [f"np.reshape({place}, (-1, {d}), order='F')" for d in (2, 3) if size % d == 0]
        if n:
            axis = self.random.randrange(n)
            options += [
                f"np.moveaxis({place}, {axis}, 0)",
                f"np.swapaxes({place}, 0, {axis})",
                f"np.rollaxis({place}, {axis})",
                f"np.array_split({place}, 2)[{self.random.randrange(2)}]",
                f"[*{place}][0]",
                f"next(iter({place}))",
                f"list(rows({place}))[-1]",
                f"np.flipud({place})",
                f"np.lib.stride_tricks.as_strided({place}, {(shape[0],)}, ({place}.strides[0],))",
                f"np.broadcast_arrays({place}, {self.number()})[0]",
            ]
            if shape[-1] > 2:
                options += [
                    f"sliding_window_view({place}, 2, axis=-1)",
                    f"sliding_window_view({place}, 3, axis=-1, writeable=True)",
                ]
        if n == 1 and size > 3:
            options.append(f"as_strided({place}, ({size - 2}, 2), ({place}.strides[0],) * 2)")
        if n >= 2:
            axes = self.random.sample(range(n), n)
            options += [
                f"np.transpose({place}, {tuple(axes)})",
                f"{place}.transpose({', '.join(map(str, axes))})",
                f"{place}.swapaxes(0, -1)",
                f"np.diagonal({place})",
                f"{place}.diagonal()",
                f"np.rot90({place}, {self.random.randint(1, 3)})",
                f"np.fliplr({place})",
                f"{place}.mT",
                f"np.hsplit({place}, [1])[{self.random.randrange(2)}]",
                f"np.permute_dims({place}, {tuple(axes)})",
            ]
            if n == 2:
                i = self.random.randrange(shape[1])
                options += [f"[column for column in {place}.T][{i}]", f"{place}.T[{i}]"]
                if shape[0] == shape[1]:
                    options.append(f"np.einsum('ii->i', {place})")
                options.append(f"np.einsum('ij->ji', {place})")
        return self.random.choice(options)

    def target(self, ndim: int | None = None) -> str:
        """Return an array to write to: one that is held, or a view of it."""
        place = self.array(ndim, writeable=True)
        if self.random.random() < 0.45:
            return place
        for _ in range(5):
            text = self.view(place)
            try:
                view = eval(text, self.values)
            except (ValueError, TypeError, IndexError):
                continue
            if (
                isinstance(view, np.ndarray)
                and view.size
                and view.flags.writeable
                and ndim in (None, view.ndim)
                and np.may_share_memory(view, self.read(place))
            ):
                return text
        return place


# Arrays, views and aliases


def creation(d: Drawing) -> str:
    shape = d.random.choice(((3,), (4,), (6,), (2, 3), (3, 3), (3, 2), (2, 2, 2), ()))
    name, a = d.fresh(), d.array()
    list_shape = d.random.choice(((3,), (4,)))
    numbers = ", ".join(d.scalar() for _ in range(list_shape[0]))
    pairs = ", ".join(f"[{d.scalar()}, {d.number()}]" for _ in range(3))
    value = d.pick(
        f"np.zeros({shape})",
        f"np.zeros({shape})",
        f"np.ones({shape})",
        f"np.full({shape}, {d.number()})",
        f"np.full({shape}, {d.scalar()})",
        "np.arange(6.0) * 0.1",
        "np.linspace(0.0, 1.0, 5)",
        "np.eye(3)",
        f"np.array([{numbers}])",
        f"np.array([{pairs}])",
        f"np.array({a})",
        f"np.copy({a})",
        f"{a}.copy()",
        f"{a} * 1.0",
        f"np.sin({a})",
        f"np.zeros_like({a})",
        f"np.ones_like({a}) * {d.scalar()}",
        f"np.full_like({a}, {d.number()})",
        f"np.concatenate([np.ravel({a})[:3], np.ravel({d.array()})[:3]])",
        f"np.stack([np.ravel({a})[:2], np.ravel({d.array()})[:2]])",
        f"np.array({d.scalar()})",
        f"TABLE[:{shape[0] if shape else 5}].copy()",
        f"np.asarray([{numbers}])",
        f"{a} + 0.5",
        f"np.tile({a}, 2)",
        f"np.repeat({a}, 2)",
        f"{a}.astype(float)",
        f"np.array({a}, copy=True)",
        f"np.fromiter((v * 0.5 for v in {a}.flat), float)",
        f"np.array([math.sin(v) for v in {a}.flat])",
        f"np.array(list(map(float, np.ravel({a})[:4])))",
        f"np.array({a}.tolist())",
    )
    if d.random.random() < 0.12:
        return f"{name} = np.empty({shape}); {name}.fill({d.scalar()})"
    if d.random.random() < 0.1:
        return f"{name} = np.empty_like({a}); {name}[...] = {a}"
    return f"{name} = {value}"


def view(d: Drawing) -> str:
    return f"{d.fresh()} = {d.view(d.array())}"


def view_of_view(d: Drawing) -> str:
    name, other = d.fresh(), d.view(d.array())
    if not (isinstance(array := eval(other, d.values), np.ndarray) and array.size):
        raise UnfitError
    d.values[name] = array
    return f"{name} = {other}\n{name} = {d.view(name)}"


def unpacking(d: Drawing) -> str:
    a = d.array(least=2)
    array = d.read(a)
    if not array.ndim or not 2 <= len(array) <= 4:
        half = a if array.ndim and len(array) % 2 == 0 else f"{a}.reshape(2, -1)"
        return f"{d.fresh()}, {d.fresh()} = np.split({half}, 2)"
    names = d.random.sample(NAMES, len(array))
    if d.random.random() < 0.3:
        return f"{names[0]}, *others = {a}"
    return f"{', '.join(names)} = {d.pick(a, f'rows({a})', f'[*{a}]', f'{a}[::-1]')}"


def alias(d: Drawing) -> str:
    name, a, b = d.fresh(), d.array(), d.array()
    return d.pick(
        f"{name} = {a}",
        f"{name} = [{a}, {b}]",
        f"{name} = {{'p': {a}, 'q': {b}}}",
        f"{name} = Holder({a})",
        f"{name} = Slotted({a})" if d.read(a).ndim else f"{name} = Holder({a})",
        f"{name} = (lambda: {a})()",
        f"{name} = (lambda v={a}: v)()",
        f"{name} = [{a}, [{b}]]",
        f"{name} = dict(p={a})",
        f"{name} = {a} if {d.element()} > {d.number()} else {b}",
        f"{name} = [v for v in ({a}, {b})]",
        f"{name} = list(map(np.asarray, ({a}, {b})))",
        f"{name} = max(({a}, {b}), key=lambda v: v.flat[0])",
        f"{name} = next(v for v in [{a}])",
    )


def complex_array(d: Drawing) -> str:
    a = d.array()
    name, shape = d.fresh(), d.read(a).shape
    return d.pick(
        f"{name} = np.zeros({shape}, dtype=complex)\n{name}.real = {a}",
        f"{name} = {a} + 1j * {d.fitted(shape)}",
        f"{name} = np.zeros({shape}, dtype=complex)\n{name}.imag[...] = {a}",
        f"{name} = {a} * (0.5 - 0.5j)\n{name} *= 1j",
        f"{name} = {a} + 0j\n{name}.imag += {d.expression(shape)}\n{name} = {name}.conj()",
        f"{name} = np.exp(1j * {a})",
    )


def deletion(d: Drawing) -> str:
    names = [name for name in d.values if name in NAMES]
    if len(names) < 3:
        raise UnfitError
    return f"del {d.random.choice(names)}"


# Writes


def assignment(d: Drawing) -> str:
    a = d.target()
    shape = d.read(a).shape
    key = d.key(shape)
    names = np.asarray(eval(f"{a}[{key}]", d.values)).shape
    return f"{a}[{key}] = {d.expression(names)}"


def whole_assignment(d: Drawing) -> str:
    a = d.target()
    shape = d.read(a).shape
    key = d.pick("...", ":") if shape else d.pick("...", "()")
    return f"{a}[{key}] = {d.expression(shape)}"


def overlapping_assignment(d: Drawing) -> str:
    a = d.target()
    n = d.read(a).ndim
    if not n:
        raise UnfitError
    return d.pick(
        f"{a}[:] = {a}[::-1]",
        f"{a}[1:] = {a}[:-1]",
        f"{a}[:-1] = {a}[1:]",
        f"{a}[1:] += {a}[:-1]",
        f"{a}[:-1] *= {a}[1:]",
        f"{a}[::-1] -= 0.5 * {a}",
        f"{a}[0], {a}[-1] = {a}[-1], {a}[0]",
        f"{a}[0], {a}[-1] = {a}[-1].copy(), {a}[0].copy()",
        f"{a}[[0, -1]] = {a}[[-1, 0]]",
        f"swapped({a}, 0, -1)",
        f"{a}[...] = {a}.T" if n == 2 else f"{a}[...] = np.sin({a})",
        f"{a} += {a}.T" if n == 2 and a.isidentifier() else f"{a}[...] += {a}",
    )


def operator_assignment(d: Drawing) -> str:
    a = d.array(writeable=True)
    shape = d.read(a).shape
    if d.random.random() < 0.5:
        key = d.key(shape)
        a, shape = f"{a}[{key}]", np.asarray(eval(f"{a}[{key}]", d.values)).shape
    sign = d.pick("+=", "-=", "*=", "/=", "**=")
    if sign == "/=":
        return f"{a} /= 2.0 + np.cos({d.fitted(shape)})"
    if sign == "**=":
        return f"{a} **= {d.pick('2', '1', '3')}"
    return f"{a} {sign} {d.expression(shape)}"


def fancy_assignment(d: Drawing) -> str:
    a = d.target()
    array = d.read(a)
    if not array.ndim or not array.size:
        raise UnfitError
    n = len(array)
    some = [d.random.randrange(-n, n) for _ in range(d.random.randint(1, 3))]
    some = list({i % n: i for i in some}.values())
    mask = [d.random.random() < 0.5 for _ in range(n)]
    shape = (len(some), *array.shape[1:])
    value, sign = d.expression(shape), d.pick("=", "+=", "*=")
    b = d.fitted(array.shape)
    options = [
        f"{a}[{some}] {sign} {value}",
        f"{a}[np.array({some})] {sign} {value}",
        f"{a}[np.array({mask})] {sign} {d.scalar()}",
        f"{a}[{mask}] *= {d.number()}",
        f"{a}[{a} > {d.number()}] {sign} {d.scalar()}",
        f"{a}[{b} < {d.number()}] = {d.number()}",
        f"{a}[~({a} > {d.number()})] *= 0.5",
        f"{a}[np.argsort({a}, axis=0, kind='stable')[0]] *= 0.7"
        if array.ndim == 1
        else f"{a}[...] *= 0.7",
        f"{a}[np.where({a} > {d.number()})] {sign} {d.number()}",
        f"{a}[[0, 0]] += {d.scalar()}",
        f"{a}[{a} > {d.number()}] = 0.5 * {a}[{a} > {d.number()}].sum()",
    ]
    if array.ndim == 2:
        i, j = (d.random.randrange(k) for k in array.shape)
        options += [
            f"{a}[np.ix_([0, {n - 1}], [{j}])] {sign} {d.scalar()}",
            f"{a}[[0, {i}], [{j}, 0]] = {d.scalar()}",
            f"{a}[:, [{j}]] {sign} {d.scalar()}",
            f"{a}[np.tril_indices({min(array.shape)})] *= 0.8",
            f"{a}[np.diag_indices({min(array.shape)})] = {d.scalar()}",
        ]
    return d.random.choice(options)


def function_with_output(d: Drawing) -> str:
    a = d.array(writeable=True)
    shape = d.read(a).shape
    if _overlaps(d.read(a)):
        raise UnfitError
    x, y = d.fitted(shape), d.fitted(shape)
    mask = f"{d.fitted(shape)} > {d.number()}"
    options = [
        f"np.sin({x}, out={a})",
        f"np.add({x}, {y}, out={a})",
        f"np.multiply({a}, {d.scalar()}, out={a})",
        f"np.multiply({x}, {y}, {a})",
        f"np.negative({a}, out={a}, where={mask})",
        f"np.add({x}, {y}, out={a}, where={mask})",
        f"np.subtract({a}, {d.number()}, {a})",
        f"np.copyto({a}, {d.expression(shape)})",
        f"np.copyto({a}, {d.scalar()}, where={mask})",
        f"{d.fresh()} = np.cos({x}, out={a})",
        f"np.clip({a}, -0.81, 0.83, out={a})",
        f"{a}.clip(-0.71, 0.73, out={a})",
        f"functools.partial(np.multiply, out={a})({x}, 0.9)",
        f"np.maximum({x}, {y}, out=({a},))",
        f"np.nan_to_num({a}, copy=False)",
    ]
    if shape:
        options += [
            f"np.cumsum({x} * 0.2, axis=0, out={a})",
            f"np.stack([+{x}[0], *+{y}[1:]], out={a})",
            f"np.concatenate([+{x}[:1], +{y}[1:]], out={a})",
            f"np.take(+{x}, {list(range(shape[0]))[::-1]}, axis=0, out={a})",
        ]
    if len(shape) == 2 and shape[0] == shape[1]:
        options += [
            f"np.matmul({x} * 0.3, {y}, out={a})",
            f"np.dot({x} * 0.3, {y}.T, out={a})" if a not in (x, y) else f"{a} *= 0.4",
        ]
    return d.random.choice(options)


def _overlaps(array: np.ndarray) -> bool:
    """Return whether elements of an array share memory with others of it."""
    strides = [s * np.arange(n) for s, n in zip(array.strides, array.shape, strict=True)]
    offsets = sum(np.ix_(*strides), np.zeros(array.shape)) if strides else np.zeros(())
    return len(np.unique(offsets)) < array.size


def function_that_writes(d: Drawing) -> str:
    a = d.target()
    array = d.read(a)
    if not array.size or _overlaps(array):  # NumPy says nothing of what these do then
        raise UnfitError
    shape, size = array.shape, array.size
    i = d.random.randrange(size)
    mask = f"{a} > {d.number()}"
    options = [
        f"np.place({a}, {mask}, [{d.scalar()}, {d.number()}])",
        f"np.putmask({a}, {mask}, {d.scalar()})",
        f"np.putmask({a}, {mask}, {d.fitted(shape)})",
        f"np.put({a}, [{i}], {d.scalar()})",
        f"{a}.put([{i}, 0], [{d.scalar()}, {d.number()}])",
        f"{a}.fill({d.scalar()})",
        f"{a}.flat[{i}] = {d.scalar()}",
        f"{a}.flat[{i}:] = {d.scalar()}",
        f"{a}.flat[[0, {i}]] = {d.scalar()}",
        f"{a}.flat = {d.fitted((size,))}.copy()" if not a.endswith(")") else f"{a}.fill(0.5)",
        f"write({a}, {d.pick('...', '()')}, {d.expression(shape)})",
        f"scaled({a}, {d.factor()})",
        f"np.add.at(np.ravel({a}), [0, {i}, {i}], {d.scalar()})",
        f"operator.setitem({a}, ..., {d.scalar()})",
        f"{a}.__setitem__(..., {d.scalar()})",
        f"{a}.__imul__({d.factor()})",
        f"operator.imul({a}, {d.factor()})",
    ]
    if shape:
        first = list(range(shape[0]))
        options += [
            f"{a}.sort()",
            f"{a}.sort(axis=0)",
            f"np.add.at({a}, [0, 0, -1], {d.scalar()})",
            f"np.multiply.at({a}, [0, 0], {d.factor()})",
            f"np.subtract.at({a}, {first}, {d.scalar()})",
            f"np.put_along_axis({a}, np.argmax({a}, axis=0, keepdims=True), {d.scalar()}, axis=0)",
            f"operator.setitem({a}, 0, {d.scalar()})",
        ]
    if len(shape) == 1 and size > 2:
        k = size // 2
        options.append(
            f"{a}.partition({k})\n"
            f"{a}[:{k}] = np.mean(np.sin({a}[:{k}]))\n"
            f"{a}[{k + 1}:] = np.mean({a}[{k + 1}:])"
        )
    if len(shape) == 2:
        options.append(f"np.fill_diagonal({a}, {d.scalar()})")
        options.append(f"np.fill_diagonal({a}, {d.expression((min(shape),))})")
    return d.random.choice(options)


def loop(d: Drawing) -> str:
    a = d.target()
    array = d.read(a)
    if not array.ndim or len(array) > 8:
        raise UnfitError
    n, name = len(array), d.fresh()
    c = d.fitted((n,))
    return d.pick(
        f"for i in range({n}):\n    {a}[i] = np.sin({a}[i - 1]) + {d.number()}",
        f"for i in range({n}):\n    {a}[i] *= {c}[i]",
        f"for i in range(1, {n}):\n    {a}[i] += 0.5 * {a}[i - 1]",
        f"for i, v in enumerate({a}):\n    {a}[-1 - i] = 0.5 * v + {d.scalar()}",
        f"for i, v in zip(range({n}), {c}):\n    {a}[i] = {a}[i] * v",
        f"i = 0\nwhile i < {n}:\n    {a}[i] -= {c}[i]\n    i += 1",
        f"for row in {a}.reshape({n}, -1):\n    row *= {d.factor()}",
        f"for row in {a}.reshape({n}, -1):\n    row[...] = np.sin(row) + {d.scalar()}",
        f"for row in rows({a}.reshape({n}, -1)):\n    row[0] = {d.scalar()}",
        f"for i in np.ndindex({a}.shape):\n    {a}[i] = math.sin({a}[i])",
        f"for i, v in np.ndenumerate({a}):\n    {a}[i] = 0.5 * v",
        f"{name} = [v * 0.5 for v in {a}]\n{a}[0] = {name}[-1]",
        f"for i in range({n}):\n"
        f"    if {a}.reshape({n}, -1)[i, 0] > {d.number()}:\n        {a}[i] *= 0.6",
        f"for i in reversed(range({n})):\n    {a}[i], {a}[0] = {a}[0], {a}[i]",
        f"{name} = {d.element()}\nfor v in {a}.flat:\n    {name} = 0.5 * {name} + v",
        f"{name} = functools.reduce(lambda s, v: 0.4 * s + v, {a}.ravel())",
        f"{name} = list(itertools.accumulate({a}.flat, lambda s, v: 0.4 * s + v))[-1]",
        f"{name} = np.zeros({n + 1})\nfor i in range({n}):\n"
        f"    {name}[i + 1] = 0.5 * {name}[i] + {c}[i]",
    )


def nested_function(d: Drawing) -> str:
    a = d.target()
    shape, name = d.read(a).shape, d.fresh()
    value = d.expression(shape)
    held = d.array(writeable=True)
    return d.pick(
        f"def change():\n    {a}[...] = {value}\nchange()",
        f"def change(v={held}):\n    v *= {d.factor()}\nchange()\nchange()",
        f"def change(v, *others, key=...):\n    v[key] = np.sin(v[key])\nchange({a})",
        f"def change(v):\n    v = v * 2.0\n    v += 1.0\n    return v\n"
        f"{name} = 0.3 * change({held})",
        f"(lambda v: v.__setitem__(..., {value}))({a})",
        f"def total():\n    t = {d.element()}\n    def step():\n        nonlocal t\n"
        f"        t = 0.5 * t + {d.element()}\n"
        f"    step()\n    step()\n    return t\n{name} = total()",
        f"def change():\n    try:\n        return {held}\n    finally:\n"
        f"        {held}[...] *= 0.5\n{name} = change()",
        f"try:\n    {a}[...] = {value}\n    {a}[1000] = 0.0\nexcept IndexError:\n"
        f"    {a}[...] *= 0.5",
        f"with restored({held}) as {name}:\n    {name} *= {d.factor()}",
        f"h = Holder({held})\nh.scale({d.factor()})",
        f"h = Holder({held})\nh.put(..., {d.scalar()})",
        f"h = Holder({held})\nh.array *= {d.factor()}",
        f"h = Holder({held})\nh += {d.scalar()}",
        f"h = Holder({held})\nh[...] = {d.scalar()}",
        f"h = Holder({held})\nh.array = h.array * 0.5\nh.array[...] += {d.scalar()}",
        f"{name} = [{held}] * 2\n{name}[0][...] = {d.scalar()}\n{name}[1] *= 0.5",
        f"{name} = {{'p': {held}}}\n{name}['p'] += {d.scalar()}",
        f"for v in [{held}, {d.array(writeable=True)}]:\n    v *= 0.8",
        f"{name} = setattr(Holder({held}), 'array', 0) or {held}\n{name} -= {d.number()}",
    )


def scratch(d: Drawing) -> str:
    a = d.array(ndim=1)
    n = d.read(a).size
    name = d.fresh()
    if n > 24:
        raise UnfitError
    return f"SCRATCH[:{n}] = {a}\n{name} = SCRATCH[:{n}] * TABLE[:{n}]"


def shape_assignment(d: Drawing) -> str:
    name, a = d.fresh(), d.array()
    size = d.read(a).size
    if size % 2:
        raise UnfitError
    return f"{name} = {a}.copy()\n{name}.shape = (2, {size // 2})"


#: The kinds of statements, and how often each is drawn.
KINDS: Final[dict[Callable[[Drawing], str], int]] = {
    creation: 8,
    view: 10,
    view_of_view: 3,
    unpacking: 3,
    alias: 6,
    complex_array: 1,
    deletion: 1,
    assignment: 9,
    whole_assignment: 4,
    overlapping_assignment: 5,
    operator_assignment: 8,
    fancy_assignment: 6,
    function_with_output: 6,
    function_that_writes: 8,
    loop: 6,
    nested_function: 6,
    scratch: 1,
}


def drawn(seed: int) -> Program:
    """Draw a program."""
    d = Drawing(seed)
    kinds, weights = [*KINDS], [*KINDS.values()]
    count = d.random.randint(2, 14)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        d.add(creation(d))
        for _ in range(6 * count):
            if len(d.statements) >= count:
                break
            try:
                text = d.random.choices(kinds, weights)[0](d)
            except Exception:
                d.restart()
                continue
            d.add(text)
        d.restart()
        return Program(f"program_{seed}", tuple(d.statements), _terms(d), d.point)


def _terms(d: Drawing) -> tuple[str, ...]:
    """Return smooth numbers that depend on every array and number that has a name."""
    names: list[str] = []
    for a in d.places():
        size = d.read(a).size
        if not size:
            continue
        names.append(
            d.pick(
                f"weigh({a})",
                f"weigh({a})",
                f"float(np.sum(np.sin({a})) * 0.7)",
                f"np.dot(np.ravel({a}), np.cos(np.arange({size}.0)))",
                f"sum(0.3 * math.sin((1 + i) * v) for i, v in enumerate({a}.flat))",
                f"np.sum({a} ** 2 * np.cos(np.arange({size}.0)).reshape({a}.shape))",
                f"np.mean(np.cos({a} + 0.1 * np.arange({size}.0).reshape({a}.shape)))",
                f"{a}.sum() * {a}.flat[0]",
                f"np.linalg.norm(0.5 + {a} ** 2)",
            )
        )
    names += [d.pick(f"math.sin({s})", f"0.5 * {s}", f"np.cos({s}) * 0.2") for s in d.numbers()]
    return tuple(names)

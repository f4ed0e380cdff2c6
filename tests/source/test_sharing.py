"""Programs that hand on arrays, or change what they are given, by every way that Python has.

Each is read (``source.grad``) and staged (``jit`` with ``control_flow="source"``): what cannot be
is captured. NumPy says what is right.
"""

import collections
import contextlib
import contextvars
import copy
import dataclasses
import functools
import itertools
import math
import operator
import queue
import types
import typing
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import attrs
import numpy as np
import pytest
from random_programs import compiled

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

pytestmark = pytest.mark.usefixtures("double_precision")

POINT: Final = np.array([0.5, 1.5, -2.0])
STEP: Final = 1e-6


@dataclasses.dataclass
class Data:
    v: Any


@attrs.frozen
class Frozen:
    v: Any


class Pair(NamedTuple):
    v: Any
    w: Any


class Holder:
    """An object that gives what it holds by every method that Python calls."""

    def __init__(self, v: Any) -> None:
        self.v = v

    def get(self) -> Any:
        return self.v

    @property
    def value(self) -> Any:
        return self.v

    @functools.cached_property
    def cached(self) -> Any:
        return self.v

    @staticmethod
    def same(v: Any) -> Any:
        return v

    @classmethod
    def of_class(cls, v: Any) -> Any:
        return v

    def __getitem__(self, i: int) -> Any:
        return self.v

    def __iter__(self) -> Iterator[Any]:
        return iter([self.v])

    def __enter__(self) -> Any:
        return self.v

    def __exit__(self, *args: object) -> None:
        pass

    __call__ = __neg__ = get

    def __matmul__(self, other: object) -> Any:
        return self.v


class Heir(Holder):
    def get(self) -> Any:
        return super().get()


class Twice:
    """A descriptor."""

    def __get__(self, owner: Any, kind: type) -> Any:
        return owner.v * 2


class Computing:
    """An object whose methods compute, also those that Python calls itself."""

    twice = Twice()

    def __init__(self, v: Any) -> None:
        self.v = v

    def triple(self, other: Any = 1) -> Any:
        return self.v * 3

    __neg__ = __pos__ = __invert__ = __abs__ = __round__ = __floor__ = __ceil__ = __trunc__ = triple
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = (
        triple
    )
    __radd__ = __rmul__ = __rsub__ = __rtruediv__ = __lshift__ = __rshift__ = __and__ = triple
    __or__ = __xor__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __call__ = triple
    __eq__ = __ne__ = triple
    value = property(triple)
    cached = functools.cached_property(triple)

    def __divmod__(self, other: Any) -> Any:
        return self.v * 4, other

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.v * 5


NAMES: Final = {
    **{m.__name__: m for m in (attrs, collections, contextlib, contextvars, copy, dataclasses)},
    **{m.__name__: m for m in (functools, itertools, operator, queue, types, typing, np)},
    **{c.__name__: c for c in (Data, Frozen, Pair, Holder, Heir, Computing)},
    "np": np,
    "math": math,
}
#: Expressions that give ``a``, a view of it or a copy.
EXPRESSIONS: Final = """
a
functools.partial(lambda b: b, a)()
types.SimpleNamespace(v=a).v
collections.deque([a]).pop()
{"u": a}.get("u")
{"u": a}.pop("u")
{}.setdefault("u", a)
list({"u": a}.values())[0]
[v for _, v in {"u": a}.items()][0]
next(iter([a]))
list(zip([a], [1]))[0][0]
list(enumerate([a]))[0][1]
list(map(lambda b: b, [a]))[0]
list(filter(lambda b: True, [a]))[0]
list(reversed([1, a]))[0]
sorted([a], key=len)[0]
max([a, a], key=len)
min((a,), key=lambda b: 1)
functools.reduce(lambda p, q: p, [a, 1.0])
list(itertools.chain([a]))[0]
operator.itemgetter(0)([a])
operator.attrgetter("v")(Pair(a, 1))
operator.methodcaller("get")(Holder(a))
getattr(Data(a), "v")
dataclasses.replace(Data(1.0), v=a).v
attrs.evolve(Frozen(1.0), v=a).v
attrs.astuple(Frozen(a), recurse=False)[0]
attrs.asdict(Frozen(a), recurse=False)["v"]
Data(a).__dict__["v"]
Pair(1, 1)._replace(v=a).v
Holder(a).v
Holder(a)()
Holder(a).get()
Holder(a).value
Holder(a).cached
Holder(a)[3]
list(Holder(a))[0]
Holder(a) @ 1
-Holder(a)
Holder.same(a)
Holder(1).of_class(a)
Heir(a).get()
copy.copy([a])[0]
copy.copy(a)
copy.deepcopy(a)
typing.cast(float, a)
a if len(a) else None
None or a
True and a
(b := a)
types.MappingProxyType({"u": a})["u"]
collections.ChainMap({"u": a})["u"]
collections.OrderedDict(u=a)["u"]
vars(Holder(a))["v"]
[1, a][1:][0]
((a,) + (1,))[0]
([a] * 2)[1]
[b for b in [a]][0]
{k: a for k in "u"}["u"]
next(b for b in [a])
sum([[a]], [])[0]
sum([[x], [a]], [])[1]
sum(((x, a), (x,)), ())[1]
sum([[[a]]], start=[])[0][0]
sum([{0: [a]}[0]], [x])[1]
(sum([(a,)], (x,)) * 2)[3]
(lambda: a)()
(lambda b=a: b)()
(lambda **k: k["u"])(u=a)
(lambda *k: k[0])(a)
np.asarray(a)
np.asanyarray(a)
np.atleast_1d(a)
np.atleast_2d(a)[0]
a.ravel()
np.reshape(a, (3, 1))[:, 0]
a.reshape(-1)
a.T
np.squeeze(a[None])
np.expand_dims(a, 0)[0]
a.real
np.real(a)
a.view()
np.flip(a)
a[::-1]
np.split(a, 1)[0]
np.array_split(a, 2)[0]
np.swapaxes(a[None], 0, 1)[:, 0]
np.moveaxis(a[None], 0, 1)[:, 0]
a.astype(float, copy=False)
a.astype(float)
np.array(a, copy=None)
np.array(a)
np.require(a, float)
np.ascontiguousarray(a)
np.nan_to_num(a, copy=False)
np.einsum("i->i", a)
+a
np.positive(a)
a.conj()
np.conjugate(a)
a.round(3)
np.clip(a, -9, 9)
a[...]
a[None][0]
a[np.ones(3, bool)]
a[[0, 1, 2]]
np.take(a, [0, 1, 2])
np.where(a > 9, 0.0, a)
np.stack([a])[0]
np.lib.stride_tricks.sliding_window_view(a, 3, writeable=True)[0]
a.__array__()
np.add(a, 0.0, out=a)
np.cumsum(a, out=a)
a[0:3]
contextlib.nullcontext(a).__enter__()
""".strip().splitlines()
#: Statements that bind ``b`` to it.
STATEMENTS: Final = [
    "with contextlib.nullcontext(a) as b: pass",
    "with Holder(a) as b: pass",
    "try: b = a\nfinally: pass",
    "for b in {0: a}.values(): pass",
    "b, *c = [a, 1]",
    "b, c = a, a * 2\nb, c = c, b\nb = c",
    "d = collections.defaultdict(list)\nd['u'].append(a)\nb = d['u'][0]",
    "v = contextvars.ContextVar('v')\nv.set(a)\nb = v.get()",
    "q = queue.Queue()\nq.put(a)\nb = q.get()",
    "match [a]:\n    case [b]: pass",
    "match Data(a):\n    case Data(v=b): pass",
    "b = None\ndef bind():\n    nonlocal b\n    b = a\nbind()",
    *[f"b = {expression}" for expression in EXPRESSIONS],
]
#: Statements that change ``b``.
CHANGES: Final = [
    "b += 1.0",
    "b[0] = 5.0",
    "np.multiply(b, 2.0, out=b)",
    "b[1:] *= 3.0",
]
#: The same, and others, as functions of ``a`` do it.
FUNCTIONS: Final = [
    *[change.replace("b", "a") for change in CHANGES],
    "try: a += 1\nexcept ValueError: pass",
    "for v in (i for i in range(2)): a[v] *= 2",
    "a.sort()",
    "np.put(a, [0], 5.0)",
    "np.copyto(a, a * 2)",
    "np.negative(a, out=a, where=a > 0)",
    "c = a\ndel c\na[0] = 7.0",
    "o = Holder(a)\no.v += 1",
    "o = Holder(1)\nsetattr(o, 'v', a)\no.v *= 2",
    "a.fill(2.0)",
    "a.flat[1] = 4.0",
    "c = a[::-1]\ntry: c[0] = 9.0\nfinally: pass",
    "a.__setitem__(0, 3.0)",
    "operator.iadd(a, 1.0)",
    "functools.reduce(operator.imul, [a, 2.0, 3.0])",
    "match 1:\n    case 1: a -= 1",
    "a[:] = a[np.argsort(a)]",
    "np.add.at(a, [0, 0], 1.0)",
    "(lambda c: c.__iadd__(1.0))(a)",
    "np.place(a, a > 0, [10.0])",
    "np.fill_diagonal(a.reshape(1, 3), 6.0)",
    "def inner():\n    nonlocal a\n    a += 1\ninner()",
    "[*c] = [a]\nc[0] += 2",
    "d = dict(u=a)\nd['u'] += 3",
    "[a].pop().__imul__(2)",
    "if (c := a) is not None: c += 1",
    "with contextlib.nullcontext(a) as c: c *= 2",
    "i = 0\nwhile True:\n    try:\n        a[i] += 1\n        i += 1\n    except IndexError: break",
    "c = copy.copy(a)\nc += 1",
    "a[0], a[1] = a[1], a[0]",
    "np.vectorize(lambda v: v)(a)\na += 1",
]
#: Programs with a place for statements that bind ``b`` to ``a``, and for one that changes ``b``.
BINDING: Final = {
    "changed": "a = x * 1.0\n{bind}\n{change}\nreturn (a * W).sum() + 7 * np.sum(np.array(b) * W)",
    "changed at its owner": (
        "a = x * 1.0\n{bind}\nb, c = a, b\n{change}\n"
        "return (b * W).sum() + 7 * np.sum(np.asarray(c) * W)"
    ),
    "a part": (
        "y = np.concatenate([x, x])\na = y[1:4]\n{bind}\nfor _ in range(2):\n{inner}\n"
        "return (y * np.arange(1.0, 7.0)).sum()"
    ),
    "in a branch": "a = x * 1.0\n{bind}\nif x[0] > 0:\n{inner}\nreturn (a * W).sum()",
    "an argument": "a = x\n{bind}\n{change}\nreturn (x * W).sum()",
}
#: Programs that call a function that changes its argument.
CALLING: Final = {
    "called": "a = x * 1.0\nchange(a)\nreturn (a * W).sum()",
    "of an argument": "change(x)\nreturn (x * W).sum()",
    "of a view": (
        "y = np.concatenate([x, x])\nchange(y[1:4])\nreturn (y * np.arange(1.0, 7.0)).sum()"
    ),
    "in a list": "u = [x * 2.0, x * 3.0]\nchange(u[0])\nreturn (u[0] * u[1] * W).sum()",
    "in a branch": "a = x * 1.0\nif x[0] > 0: change(a)\nreturn (a * W).sum()",
    "in a loop": (
        "a = x * 1.0\nfor _ in range(3):\n    change(a)\n    a = a * 1.0\nreturn (a * W).sum()"
    ),
    "of two names": "a = x * 1.0\nb = a\nchange(b)\nreturn (a * b).sum()",
    "closing over": "a = x * 1.0\ndef g(): change(a)\ng()\nreturn (a * W).sum()",
    "mapped": "a = x * 1.0\nlist(map(change, [a]))\nreturn (a * W).sum()",
    "partial": "a = x * 1.0\nfunctools.partial(change, a)()\nreturn (a * W).sum()",
}


#: What methods of an object compute.
COMPUTED: Final = (
    """
-h, +h, ~h, abs(h), round(h), math.floor(h), math.ceil(h), math.trunc(h), divmod(h; 2)[0]
h + 1.0, h - 1.0, h * 2.0, h / 2.0, h // 2.0, h % 2.0, h ** 2, h @ 1.0
1.0 + h, 2.0 * h, 1.0 - h, 1.0 / h, h << 1, h >> 1, h & 1, h | 1, h ^ 1
h < 1, h <= 1, h > 1, h >= 1, h == 1, h != 1, h[2]
h.value, h.cached, h.twice, h.computed, h.triple(), getattr(h; "value"), getattr(h; "other")
operator.lt(h; 1), operator.floordiv(h; 2), operator.attrgetter("value")(h)
""".replace("\n", ", ")
    .strip(", ")
    .split(", ")
)
#: Programs with a place for such an expression.
COMPUTING: Final = {
    "no change": "h = Computing(x * 1.0)\nb = {e}\nreturn np.sum(b * W)",
    "of the result": "h = Computing(x * 1.0)\nb = {e}\nb[0] = x[1]\nreturn np.sum(b * W)",
    "of the array": (
        "a = x * 1.0\nh = Computing(a)\nb = {e}\na[0] = x[1]\nreturn np.sum(b * W) + np.sum(a)"
    ),
    "of the array before": (
        "a = x * 1.0\nh = Computing(a)\na[0] = x[1]\nb = {e}\nreturn np.sum(b * W) + np.sum(a)"
    ),
    "in a function": (
        "def f(h):\n    return {e}\na = x * 1.0\nb = f(Computing(a))\nb[1] = 2.0\n"
        "return np.sum(b * W) + np.sum(a)"
    ),
    "closing over": (
        "h = Computing(x * 1.0)\ndef f():\n    b = {e}\n    return b * x\nreturn np.sum(f() * W)"
    ),
    "in a loop": (
        "h = Computing(x * 1.0)\ntotal = 0.0\nfor i in range(3):\n    b = {e}\n"
        "    total = total + b[i] * x[i]\nreturn total"
    ),
}


def function(body: str, name: str = "program", parameter: str = "x") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"def {name}({parameter}):\n{lines}"


def check(text: str) -> tuple[str, ...]:
    """Compare a program with NumPy: read, staged, the gradients of both, and transformed ones."""
    program = compiled(text, **NAMES, W=np.array([1.0, 2.0, 3.0]))
    try:
        expected = program(POINT.copy())
    except ValueError:  # it is read-only
        return ()
    steps = STEP * np.eye(3)
    slopes = [(program(POINT + e) - program(POINT - e)) / (2 * STEP) for e in steps]
    compiled_program = tinyjax.jit(program, control_flow="source")
    read = source.grad(program)
    refused = []
    for name, fun, value in (
        ("read", read, slopes),
        ("read under jit", tinyjax.jit(read), slopes),
        ("read under vmap", lambda x: tinyjax.vmap(read)(x[None])[0], slopes),
        ("value under grad", tinyjax.grad(lambda x: source.vjp(program, x)[0]), slopes),
        ("staged", compiled_program, expected),
        ("staged gradient", tinyjax.jit(tinyjax.grad(compiled_program)), slopes),
        ("gradient", tinyjax.grad(compiled_program), slopes),
    ):
        try:
            result = fun(POINT.copy())
        except TinyjaxError:
            refused.append(name)
        else:
            np.testing.assert_allclose(result, value, 1e-6, 1e-6, err_msg=f"{name}\n{text}")
    return tuple(refused)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("bind", STATEMENTS)
def test_arrays_that_are_handed_on(bind: str) -> None:
    for template in BINDING.values():
        for change in CHANGES:
            inner = f"    {change}"
            assert not check(function(template.format(bind=bind, change=change, inner=inner)))


#: What capture refuses: effects under a traced condition, and the item of a list that changes.
REFUSED: Final = ("put(", "setattr", "place(", "[*c]", "[a].pop()")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("change", FUNCTIONS)
def test_arrays_that_functions_change(change: str) -> None:
    for name, template in CALLING.items():
        refused = check(function(change, "change", "a") + function(template))
        may_be = name == "in a branch" or "[*c]" in change
        assert not refused or (may_be and any(part in change for part in REFUSED))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("expression", COMPUTED)
def test_methods_that_python_calls_itself(expression: str) -> None:
    for template in COMPUTING.values():
        assert not check(function(template.format(e=expression.replace(";", ","))))

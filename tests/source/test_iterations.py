"""Arrays that change while a program goes through them, and functions by other names.

A loop over an array sees what is written to the elements that it has not come to. That holds
whatever goes through the array, whatever changes it, and however the function is reached that does.
"""

import copy
import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from random_programs import compiled

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

pytestmark = [
    pytest.mark.usefixtures("double_precision"),
    pytest.mark.filterwarnings("ignore"),
]

POINT: Final = np.array([0.3, 1.1, 2.1])
#: Statements that go through an array: CHANGE stands for what changes it, for an element ``r``.
ITERATIONS: Final = """
for r in y: CHANGE; t += r
for r in y[:2]: CHANGE; t += r
for r in y[::-1]: CHANGE; t = t * 0.5 + r
for i, r in enumerate(y): CHANGE; t += r * (i + 1)
for i, r in enumerate(y, 1): CHANGE; t += r * i
for r, q in zip(y, x): CHANGE; t += r * q
for r, q in zip(x, y[::-1]): CHANGE; t += r * q
for r in reversed(y): CHANGE; t = t * 0.5 + r
for r in list(y): CHANGE; t += r
for r in tuple(y): CHANGE; t += r
for r in iter(y): CHANGE; t += r
for r in y.flat: CHANGE; t += r
for r in y.tolist(): CHANGE; t += r
for r in np.nditer(y): CHANGE; t += r
for (i,), r in np.ndenumerate(y): CHANGE; t += r * (i + 1)
for r in itertools.chain(y, x): CHANGE; t += r
for r in itertools.islice(y, 2): CHANGE; t += r
for r, q in itertools.pairwise(y): CHANGE; t += r * q
for r, q in itertools.product(y, x): CHANGE; t += r * q
for r in map(np.sin, y): CHANGE; t += r
for r in filter(None, y): CHANGE; t += r
for r in (q * 2 for q in y): CHANGE; t += r
for r in [q * 2 for q in y]: CHANGE; t += r
for r in sorted(y): CHANGE; t += r
for i in range(3): r = y[i]; CHANGE; t += r
for i in range(len(y)): CHANGE; t += y[i] * (i + 1)
for r in (y, y[1:]): CHANGE; t += r.sum()
for row in np.outer(y, x): r = row; CHANGE; t += row.sum()
r, *rest = y; CHANGE; t += r + sum(rest)
p, q, r = y; CHANGE; t += p + q * r
it = iter(y); r = next(it); CHANGE; t += r + next(it)
k = 0; r = y[0]; CHANGE; t += r + max(y) + min(y)
"""
#: What changes the array, or does not.
CHANGES: Final = """
y += 1
y *= 1.5
y[0] += 1
y[2] = t
y[1:] *= 2
y[:] = y + 1
grow(y)
grow(y[1:])
np.add(y, 1, out=y)
np.copyto(y, x)
v += 1
w[0] += 1
d["y"] += 1
box.grow()
box.array += 1
add = lambda: grow(y); add()
[grow][0](y)
z = y; z += 1
z = y + 1; z += 1
y = y + 1
y = y.copy(); y += 1
"""
PREAMBLE: Final = """
class Box:
    def __init__(self, array):
        self.array = array
    def grow(self):
        self.array += 1
def grow(array):
    array += 1
    return 1.0
"""
START: Final = 'y = x * 2; v = y[1:]; w = [y]; d = {"y": y}; box = Box(y); t = 0.0'
NAMESPACE: Final = {
    "np": np,
    "functools": functools,
    "itertools": itertools,
    "operator": operator,
    "copy": copy,
}


def texts() -> list[str]:
    """Return the programs of all iterations and changes."""
    made = []
    for iteration in filter(None, ITERATIONS.splitlines()):
        for change in filter(None, CHANGES.splitlines()):
            statements = iteration.replace("CHANGE", change)
            if statements.startswith("for"):
                statements = statements.replace(": ", ":\n        ", 1)
            lines = ["def program(x):", START, statements, "return t + y.sum()"]
            made.append(PREAMBLE + "\n    ".join(lines) + "\n")
    return made


#: Functions and programs that use one, called ``F``.
USES: Final = """
np.asarray: y = F(x); y += 1; return x.sum()
np.copyto: y = x * 2; F(y, 1.5 * x); return y.sum()
np.ravel: y = F(x); y *= 2; return (x * y).sum()
np.add: y = x * 2; F(y, 1, out=y); return y.sum()
np.put: y = x * 2; F(y, [0], x[1]); return y.sum()
np.reshape: y = x * 2; z = F(y, (3, 1)); z += 1; return y.sum()
np.sort: y = x[::-1] * 2; z = F(y); z += 1; return (y * np.arange(3)).sum()
np.split: y = x * 2; z = F(y, 3)[0]; z += 1; return y.sum()
np.maximum: y = x * 2; F(y, 3, y); return y.sum()
np.sum: y = x * 2; s = F(y); y += 1; return s
np.diagonal: y = np.outer(x, x); z = F(y); y += 1; return z.sum()
np.broadcast_to: y = x * 2; z = F(y, (2, 3)); y += 1; return z.sum()
np.concatenate: y = x * 2; z = F([y, y]); y += 1; return z.sum()
np.fill_diagonal: y = np.outer(x, x); F(y, 0.0); return y.sum()
np.nditer: y = x * 2; return sum([q * grow(y) for q in F(y)])
np.vectorize: y = x * 2; return F(lambda b: b * grow(y))(y).sum()
np.apply_along_axis: y = np.outer(x, x); return F(lambda b: b * grow(y), 0, y).sum()
functools.reduce: y = x * 2; return F(lambda a, b: a + b * grow(y), y)
itertools.chain: y = x * 2; return sum([q * grow(y) for q in F(y, y)])
itertools.islice: y = x * 2; return sum([q * grow(y) for q in F(y, 2)])
itertools.accumulate: y = x * 2; return sum(F(y, lambda a, b: a + b * grow(y)))
itertools.starmap: y = x * 2; return sum(F(lambda a, b: a * b * grow(y), zip(y, y)))
operator.iadd: y = x * 2; F(y, 1); return y.sum()
operator.setitem: y = x * 2; F(y, 0, x[1]); return y.sum()
operator.getitem: y = x * 2; z = F(y, slice(1)); z += 1; return y.sum()
copy.copy: y = x * 2; w = [y]; z = F(w); z[0] += 1; return y.sum()
builtins.list: y = x * 2; return sum([q * grow(y) for q in F(y)])
builtins.zip: y = x * 2; return sum([p * q * grow(y) for p, q in F(y, y)])
builtins.iter: y = x * 2; return sum([q * grow(y) for q in F(y)])
builtins.reversed: y = x * 2; return sum([q * grow(y) for q in F(y)])
builtins.enumerate: y = x * 2; return sum([q * grow(y) for _, q in F(y)])
builtins.map: y = x * 2; return sum(F(lambda b: b * grow(y), y))
builtins.filter: y = x * 2; return sum(F(lambda b: grow(y) > 0, y))
builtins.sorted: y = x * 2; return sum(F(y, key=lambda b: b * grow(y)))
builtins.max: y = x * 2; return F(y, key=lambda b: b * grow(y)) + y.sum()
"""
#: How a program reaches a function: M stands for its module, N for its name.
WAYS: Final = {
    "by its name": ("", "M.N"),
    "an import inside": ("import M", "M.N"),
    "from an import inside": ("from M import N as function", "function"),
    "a variable": ("function = M.N", "function"),
    "getattr": ('function = getattr(M, "N")', "function"),
    "a list": ("functions = [M.N]", "functions[0]"),
    "a conditional": ("function = M.N if len(x) else None", "function"),
    "an argument": ("", "(lambda function: function)(M.N)"),
    "a module's variable": ("module = M", "module.N"),
    "a wrapper": ("def function(*args, **options): return M.N(*args, **options)", "function"),
    "a partial": ("function = functools.partial(M.N)", "function"),
    "a default": ("def inner(x, function=M.N):", "function"),
    "a default module": ("def inner(x, module=M):", "module.N"),
    "an argument of another function": ("def inner(x, function):", "function"),
    "a module as an argument": ("def inner(x, module):", "module.N"),
}


def reached() -> list[str]:
    """Return the programs of all uses and ways."""
    made = []
    for use in filter(None, USES.splitlines()):
        function, _, body = use.partition(": ")
        module, _, name = function.rpartition(".")
        for start, call in WAYS.values():
            home = "numpy" if module == "np" else module
            start = start.replace("from M", f"from {home}").replace(
                "import M", f"import {home} as {module}"
            )
            start, other = [x.replace("M", module).replace("N", name) for x in (start, call)]
            lines = body.replace("F(", f"{other}(").split("; ")
            if start.endswith(":"):  # of a function inside
                given = "" if "=" in start else f", {module if 'module' in start else function}"
                lines = [start, *[f"    {line}" for line in lines], f"return inner(x{given})"]
                start = ""
            text = "\n    ".join([*filter(None, [start]), *lines])
            made.append(f"{PREAMBLE}import builtins\ndef program(x):\n    {text}\n")
    return made


def check(text: str) -> None:
    """Compare the value and the gradient of a program in all modes with Python."""
    f: Callable[[Any], Any] = compiled(text, **NAMESPACE)
    try:
        expected = float(f(POINT.copy()))
    except Exception:  # of a variable that is not there
        return
    steps = 1e-6 * np.eye(3)
    slopes = [(float(f(POINT + step)) - float(f(POINT - step))) / 2e-6 for step in steps]
    modes: dict[str, Callable[[], Any]] = {
        "read": lambda: source.value_and_grad(f)(POINT.copy()),
        "staged": lambda: tinyjax.value_and_grad(tinyjax.jit(f, control_flow="source"))(POINT),
        "captured": lambda: tinyjax.value_and_grad(source.capture(f))(POINT),
    }
    for mode, run in modes.items():
        try:
            value, gradient = run()
        except TinyjaxError:
            continue
        assert float(value) == pytest.approx(expected, rel=1e-12), (mode, text)
        near = pytest.approx(np.array(slopes), rel=1e-6, abs=1e-7)
        assert np.asarray(gradient) == near, (mode, text)


ALL: Final = [*texts(), *reached()]


@pytest.mark.parametrize("text", ALL[::7])
def test_some_programs(text: str) -> None:
    check(text)


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(13))
def test_all_programs(start: int) -> None:
    for text in ALL[start::13]:
        check(text)


def test_most_programs_run() -> None:
    run = 0
    for text in ALL[::7]:
        try:
            compiled(text, **NAMESPACE)(POINT.copy())
            run += 1
        except Exception:  # of a variable that is not there
            continue
    assert run > 0.8 * len(ALL[::7])

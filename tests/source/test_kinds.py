"""The kinds of a program's numbers and arrays, compared with the values that it computes."""

import contextlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from capturing.drawing import drawn
from capturing.drawn import load
from programs import PROGRAMS
from random_programs import compiled

from tinyjax import source
from tinyjax.errors import SourceError
from tinyjax.source.adjoint import kinds, lowering
from tinyjax.source.adjoint.ranks import Ranks
from tinyjax.source.ir import program as ir
from tinyjax.source.ir.runtime import InPlaceError

POINT: Final = np.array([1.3, 2.2, -0.7])
#: The kinds of dtypes.
TYPES: Final[dict[type | None, str]] = {float: "f", int: "iu", bool: "b", None: "iuf"}
INDICES: Final = np.array([2, 0, 1])


def describes(kind: kinds.Kind, value: Any) -> bool:
    """Return whether a kind is right of a value."""
    numbers = np.asarray(value).dtype.kind if kind.form in ("number", "array") else ""
    match kind.form:
        case "number":  # np.where gives arrays without axes
            is_number = not isinstance(value, (bool, np.bool_)) and np.ndim(value) == 0
            return is_number and numbers in TYPES[kind.scalar]
        case "array":
            is_array = type(value) is np.ndarray and value.ndim == kind.axes
            return is_array and numbers in TYPES[kind.scalar]
        case "shape":
            return isinstance(value, tuple) and len(value) == kind.axes
        case "dtype":
            return isinstance(value, np.dtype) and value.kind == "f"
        case "range" | "slice":
            return isinstance(value, range if kind.form == "range" else (slice, type(...)))
        case _:
            return True


def values_of(program: ir.IR, args: tuple[Any, ...]) -> list[tuple[ir.Variable, Any]]:
    """Run a program; return its variables with all values that they have had."""
    seen: list[tuple[ir.Variable, Any]] = []
    values: dict[ir.Atom, Any] = {}
    block, given = program.blocks[0], args

    def value(atom: ir.Atom) -> Any:
        return atom.value if isinstance(atom, ir.Constant) else values[atom]

    while True:
        values.update(zip(block.arguments, given, strict=True))
        for statement in block.statements:
            call = statement.call
            keywords = {name: value(x) for name, x in call.keywords}
            result = value(call.function)(*map(value, call.args), **keywords)
            values[statement.variable] = result
        seen += [(v, values[v]) for v in block.defined]
        exits = [e for e in block.exits if e.unless is None or not value(e.unless)]
        given = tuple(map(value, exits[0].args))
        if exits[0].target == ir.RETURN:
            return seen
        block = program.blocks[exits[0].target]


def check(fun: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Compare the kinds of a function's variables with their values; return how many are known."""
    first = source.ir_of(fun)
    given = (fun, *args)
    arguments = tuple(map(kinds.kind_of, given))
    known = 0
    for program in (first, lowering.lowered(first, arguments, is_cautious=True)):
        ranks = Ranks(program, arguments)
        copies = tuple([x.copy() if isinstance(x, np.ndarray) else x for x in given])
        for variable, value in values_of(program, copies):
            kind = ranks.kind_of(variable)
            assert describes(kind, value), f"{variable} in {program}: {kind}, and not {value!r}"
            known += kind is not kinds.ACTIVE
    return known


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_kinds_of_programs(program: Any) -> None:
    for args in program.args:
        assert check(program.fun, args) > 0


EXPRESSIONS: Final = """
k * 2; k * 2.0; k + k; k * x; k * x[0]; k * n; k / 2; k // 2; k ** 2; k ** 0.5; -k; abs(k); k % 2
x ** n; n ** x; 2 ** x; 2 ** k; n ** n; n ** -n; x[0] ** 0.5; x ** 2; x[0] ** n; n / n; k.sum()
k.mean(); k.max(); k.std(); k.copy(); k.round(); k.prod(axis=0); k.argmax(); k.dot(k); x.sum(axis=0)
m.sum(axis=0); m.mean(axis=1); m.argmax(axis=0); m.sum(0); m.max(n - 2); k.clip(0, 1); x.clip(0, 1)
x.round(1); x.round(); x.searchsorted(1); x.dot(m); m.T; m.real; m.shape; m.dtype; np.tril(x)
np.triu(m); np.diff(x); np.diff(m, axis=0); np.copy(x); np.zeros_like(k); np.ones_like(m)
np.full(3, 0); np.full(3, 0.0); np.full(3, n); np.full((2, 3), x[0]); np.full(3, 1, float)
np.zeros(n); np.zeros((n, n)); np.zeros(x.shape); np.zeros(m.shape, int); np.ones(3, dtype=x.dtype)
np.empty((2, n), np.float64); np.ndarray(3); np.eye(3); np.eye(3, dtype=int); np.identity(n)
np.identity(n, int); np.outer(k, k); np.outer(x, n); np.convolve(k, k); np.convolve(x, 2)
np.vdot(k, k); np.vdot(x, k); np.searchsorted(x, k); np.searchsorted(x, 0.5); np.argmin(m)
np.argmax(k); np.max(k, axis=0); np.min(m, axis=-1); np.sum(k) * k; np.var(m); np.sign(k)
np.floor(x); np.bitwise_and(k, k); np.sin(k); np.sin(n); np.dot(m, x); np.dot(k, k); np.matmul(m, m)
x @ m; k @ k; np.dot(2, x); np.power(n, 2); np.abs(n); np.maximum(k, n); np.maximum(k, x)
np.clip(k, 0, 1); np.clip(x, n, 2); np.round(x); np.round(n); np.round(x[0], 1)
np.ascontiguousarray(m); np.ascontiguousarray(n); np.std(k); math.floor(x[0]); math.sqrt(n)
math.hypot(x[0], n); len(x); int(x[0]); float(n); min(n, 2); min(n, 2.0); max(x[0], n); range(n)
range(n)[1]; x[n - 1]; x[k]; k[k]; m[0]; m[0, 1]; m[:, 1]; m[...]; m[0, ...]; m[k]; m[n - 2:]; x[()]
m.shape[0]; x.size; x.ndim; x[0].real; x[0].shape; n << 1; n & 1; ~k; +n; n // 2; n % 2.0
np.where(x > 0, x, k); np.where(k > 0, k, 1); np.zeros(3, bool); np.eye(3, 3, 1, int); np.isnan(x)
np.equal(k, k); x > 0; k == k; x[x > 0]; m[x > 0]; np.clip(x, k, 2); np.argmax(x > 0); np.sum(x > 0)
(x > 0) & (k > 0); ~(x > 0); np.argmax([1, n]); (x > 0) * x; (x > 0).sum(); (x > 0).mean()
"""


#: Those of which nothing is known: a truth value, an array without axes, or by values only.
UNKNOWN: Final = """
n ** 0.5; np.copy(n); np.zeros_like(x[0]); np.where(n > 0, 1, 2); np.where(n > 0, 1.0, 2)
np.where(x[0] > 0, x[0], 1); np.where(k > 0); np.zeros(()); np.sum(True); math.modf(x[0])
math.frexp(x[0]); math.isnan(x[0]); max(x); m[0, 0, ...]; m[k, k]; m[m > 0]; m[[0, 1]]; x[True]
x[None]; np.frexp(x); np.divmod(k, 2); not n; np.sum([1, 2]); np.sum([x[0], 1]); np.mean([1, n])
np.max(x > 0); (x > 0)[0]; (x > 0).any(); n > 0
"""


def several(texts: str) -> list[str]:
    """Return the expressions of a text."""
    return [text.strip() for text in re.split("[;\n]", texts) if text.strip()]


@pytest.mark.parametrize("text", several(EXPRESSIONS + UNKNOWN))
def test_kinds_of_expressions(text: str) -> None:
    fun = compiled(f"def program(x, m, k, n):\n    return {text}\n", np=np, math=math)
    assert check(fun, (POINT, np.outer(POINT, POINT), INDICES, 3)) > 0
    program = source.ir_of(fun)
    arguments = (kinds.INERT, kinds.array(1), kinds.array(2), kinds.array(1, int))
    (block,) = program.blocks
    assert block.returned is not None
    kind = Ranks(program, (*arguments, kinds.INTEGER)).kind_of(block.returned)
    assert (kind is kinds.ACTIVE) == (text in several(UNKNOWN))


def test_kinds_of_drawn_programs(tmp_path: Path) -> None:
    """The values of random programs that change arrays have the kinds that are found."""
    programs = [drawn(seed) for seed in range(100)]
    module = load(programs, tmp_path)
    known = 0
    for program in programs:
        with contextlib.suppress(SourceError, InPlaceError):
            known += check(getattr(module, program.name), (program.point,))
    assert known > 5000


#: Programs whose results depend on the types of arrays, or on indices that are truth values.
STATEMENTS: Final = (
    "a = k * 2; a[0] = x[0] * 3",
    "a = k.round(); a[:2] = x[:2]",
    "a = np.max(k) * k; a[n - 1] = x[0]",
    "a = np.outer(k, k)[0]; a[0] = x[0]",
    "a = np.convolve(k, k)[:3]; a += 1; a[0] = x[0]",
    "a = np.full(3, n); a[0] = x[0]",
    "a = np.tril(x); a[0] = x[1]; a = a[0] + a[1]",
    "a = x.copy(); b = a[np.max(x > 0)]; b[0] += x[1]; a[1] += np.sum(b * b)",
    "m[0] = np.max(m, axis=1); a = m.sum(axis=0); a[0] += x[0]",
)


@pytest.mark.parametrize("statements", STATEMENTS)
def test_gradients_by_kinds(statements: str) -> None:
    """Arrays of integers that are written to have the gradients that differences show."""
    text = f"def program(x, m, k, n):\n    {statements}\n    return np.sum(a * x) + np.sum(a)\n"
    fun = compiled(text, np=np)

    def value(x: Any) -> float:
        return float(fun(x, np.outer(POINT, POINT), INDICES + 1, 3))

    found = source.grad(fun)(POINT.copy(), np.outer(POINT, POINT), INDICES + 1, 3)
    steps = 1e-6 * np.eye(3)
    slopes = [(value(POINT + step) - value(POINT - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(found, slopes, rtol=1e-5, atol=1e-5)

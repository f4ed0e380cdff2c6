"""The table of edges, held eagerly, compiled, by every order of transformations, and by jax."""

import math
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy
import jax.scipy.special
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from numerics.edges import SECTIONS, Point, Row
from numerics.page import DOCUMENT, text
from tinyjax import dtypes, lax, nn
from tinyjax.scipy import special

OURS: Final = {"jnp": jnp, "lax": lax, "nn": nn, "special": special}
THEIRS: Final = {"jnp": jax.numpy, "lax": jax.lax, "nn": jax.nn, "special": jax.scipy.special}
#: Errors of this many units in the last place are rounding, and no edge.
ULPS: Final = 64


def _function(row: Row, names: dict[str, Any], lib: Any) -> Callable[..., Any]:
    """The row's expression as a function of all of its points at once."""
    code = compile(row.expression, row.expression, "eval")

    def one(*operands: Any) -> Any:
        return eval(code, names, dict(zip("xy", operands, strict=False)))

    return lib.vmap(one) if isinstance(row.points[0].operands[0], list) else one


def _operands(row: Row) -> tuple[np.ndarray[Any, Any], ...]:
    dtype = np.dtype(getattr(dtypes, row.dtype))
    with np.errstate(over="ignore"):
        return tuple(
            np.array(column, dtype)
            for column in zip(*[p.operands for p in row.points], strict=True)
        )


def _everything(row: Row, lib: Any, fun: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Value, derivatives in either mode, and the second derivative, of all points at once."""
    slopes = any(p.slopes for p in row.points)
    second = any(p.second is not None for p in row.points)

    def ones(x: Any) -> Any:
        return lib.numpy.ones_like(x)

    def forward(operands: tuple[Any, ...], i: int) -> Any:
        def of_one(x: Any) -> Any:
            return fun(*operands[:i], x, *operands[i + 1 :])

        x = operands[i]
        if x.ndim == 1:
            return lib.jvp(of_one, (x,), (ones(x),))[1]
        basis = np.eye(x.shape[1], dtype=x.dtype)
        along = [lib.jvp(of_one, (x,), (ones(x) * e,))[1] for e in basis]
        return lib.numpy.stack(along, axis=-1)

    def backward(*operands: Any) -> Any:
        out, pull = lib.vjp(fun, *operands)
        return pull(ones(out))

    def everything(*operands: Any) -> dict[str, Any]:
        results: dict[str, Any] = {"value": fun(*operands)}
        if slopes:
            results["forward"] = tuple(forward(operands, i) for i in range(len(operands)))
            results["reverse"] = backward(*operands)
        if second:
            tangents = tuple(map(ones, operands))
            results["second"] = lib.jvp(lambda *xs: backward(*xs)[0], operands, tangents)[1]
        return results

    return everything


Found = dict[str, Any]


def _results(way: str, rows: tuple[Row, ...]) -> list[Found]:
    """Return the results of all rows of a section, in one program if compiled together."""
    names, of = (THEIRS, jax) if way == "jax" else (OURS, tinyjax)
    columns = [_operands(row) for row in rows]
    functions = [_function(row, names, of) for row in rows]
    if way == "grad(jit)":
        functions = [tinyjax.jit(fun, tier="compiled") for fun in functions]
    programs = [_everything(row, of, fun) for row, fun in zip(rows, functions, strict=True)]

    def all_of_them(columns: Any) -> Any:
        return [program(*column) for program, column in zip(programs, columns, strict=True)]

    if way in ("eager", "grad(jit)"):
        found = all_of_them([[jnp.asarray(x) for x in column] for column in columns])
    elif way == "jax":
        found = jax.jit(all_of_them)(columns)
    else:
        found = tinyjax.jit(all_of_them, tier="first" if way == "first" else "compiled")(columns)
    return [of.tree.map(np.asarray, one) for one in found]


def _is(actual: Any, expected: Any, signs: bool) -> bool:
    """Return whether a number is the expected one; with ``signs`` a zero must have its sign."""
    if isinstance(expected, list):
        return all(_is(a, b, signs) for a, b in zip(actual, expected, strict=True))
    if np.iscomplexobj(actual) or isinstance(expected, complex):
        pairs = ((actual.real, expected.real), (actual.imag, expected.imag))
        return all(_is(a, b, False) for a, b in pairs)
    if actual.dtype.kind in "biu":
        return bool(actual == expected)
    a, b = float(actual), float(expected)
    if np.isnan(a) or np.isnan(b) or np.isinf(a) or np.isinf(b):
        return a == b or (np.isnan(a) and np.isnan(b))
    if a == b:
        return not signs or bool(np.signbit(a) == np.signbit(b)) or a != 0
    eps = float(dtypes.finfo(actual.dtype).eps)
    return abs(a - b) <= ULPS * eps * (abs(b) if b else 1)


def _wrong(point: Point, i: int, results: Found, way: str) -> list[str]:
    wrong: list[str] = []
    expected = point.value if way == "eager" or point.compiled is None else point.compiled
    signs = way != "jax" and not np.iscomplexobj(results["value"])
    # NumPy evaluates the operations of a program, some of which are those of an eager call
    allowed = (expected, point.value) if way == "first" else (expected,)
    if not any(_is(results["value"][i], value, signs) for value in allowed):
        wrong.append(f"value {results['value'][i]}, not {expected}")
    for mode in ("forward", "reverse"):
        for k, slope in enumerate(point.slopes or ()):
            if slope is not None and not _is(results[mode][k][i], slope, False):
                wrong.append(f"{mode} slope {results[mode][k][i]} in operand {k}, not {slope}")
    if point.second is not None and not _is(results["second"][i], point.second, False):
        wrong.append(f"second derivative {results['second'][i]}, not {point.second}")
    return wrong


def _all_wrong(way: str, rows: tuple[Row, ...]) -> list[tuple[str, list[str]]]:
    with np.errstate(all="ignore"):
        found = _results(way, rows)
    return [
        (f"{row.expression} [{row.dtype}] at {point.operands}", _wrong(point, i, one, way))
        for row, one in zip(rows, found, strict=True)
        for i, point in enumerate(row.points)
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["eager", "first", "jit(grad)"])
@pytest.mark.parametrize("section", SECTIONS)
def test_values_and_derivatives_are_those_of_the_table(section: str, way: str) -> None:
    wrong = _all_wrong(way, SECTIONS[section])
    assert not [(place, found) for place, found in wrong if found]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("section", SECTIONS)
def test_derivatives_of_compiled_functions_are_those_of_the_table(section: str) -> None:
    wrong = _all_wrong("grad(jit)", SECTIONS[section])
    assert not [(place, found) for place, found in wrong if found]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("section", SECTIONS)
def test_jax_has_the_same_but_where_the_table_says_so(section: str) -> None:
    rows = SECTIONS[section]
    with jax.enable_x64(True):
        wrong = _all_wrong("jax", rows)
    declared = [bool(p.jax) for row in rows for p in row.points]
    assert not {
        place: found for (place, found), d in zip(wrong, declared, strict=True) if bool(found) != d
    }


def test_the_page_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == text(), "run `python -m numerics.page` in tests/"


def test_the_slope_of_a_complex_size_is_its_direction_at_infinity() -> None:
    slope = tinyjax.grad(jnp.abs)
    for z in (complex(math.inf, 2), complex(1, -math.inf), complex(-math.inf, -0.0)):
        for way in (slope, tinyjax.jit(slope), tinyjax.jit(slope, tier="compiled")):
            assert way(np.complex128(z)) == np.conj(np.sign(z))

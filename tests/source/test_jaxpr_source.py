"""Jaxprs as Python, and back."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from specs import Spec, all_specs
from tinyjax import lax, source
from tinyjax.core.tracing.jaxpr import ClosedJaxpr, Jaxpr, typecheck_jaxpr
from tinyjax.core.values.operands import as_array
from tinyjax.errors import ArgumentError, SourceError
from tinyjax.source.jaxprs.text_runtime import aval, op


def equal_again(closed: ClosedJaxpr) -> str:
    """Write a jaxpr and read it back; give the text."""
    objects: dict[str, Any] = {}
    text = source.jaxpr_source(closed, objects)
    again = source.jaxpr_of_source(text, objects)
    assert isinstance(again, ClosedJaxpr)
    typecheck_jaxpr(again.jaxpr)
    assert again.jaxpr == closed.jaxpr, text
    assert str(again.jaxpr) == str(closed.jaxpr)
    for mine, theirs in zip(again.consts, closed.consts, strict=True):
        assert mine.aval is theirs.aval
        assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()
    return text


def calls(row: Spec) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    def applied(params: dict[str, Any]) -> Callable[..., Any]:
        return lambda *operands: row.fun(*(as_array(x) for x in operands), **params)

    return [(applied(case.params), operands) for case, _, operands in row.samples(most=2)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", all_specs(), ids=[row.name for row in all_specs()])
def test_the_programs_of_every_primitive(row: Spec) -> None:
    for fun, operands in calls(row):
        equal_again(tinyjax.make_jaxpr(fun)(*operands))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "row", [row for row in all_specs() if row.grad], ids=[r.name for r in all_specs() if r.grad]
)
def test_the_programs_of_derivatives(row: Spec) -> None:
    for case, _, operands in row.smooth_samples(row.grad_cases)[:2]:

        def total(*operands: Any, params: dict[str, Any] = case.params) -> Any:
            outs = tinyjax.tree.leaves(row.fun(*operands, **params))
            return [x for x in outs if x.dtype.kind == "f"]

        def pulled(*operands: Any) -> Any:
            outs, back = tinyjax.vjp(total, *operands)
            return back([jnp.ones_like(x) for x in outs])

        arrays = [as_array(x) for x in operands]
        if all(x.dtype.kind == "f" for x in arrays):
            equal_again(tinyjax.make_jaxpr(pulled)(*arrays))


WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def newton(a: Any) -> Any:
    def step(state: Any) -> Any:
        x, _ = state
        return x - (x * x - a) / (2 * x), x

    return lax.while_loop(lambda s: jnp.abs(s[0] - s[1]) > 1e-6, step, (a, a + 1.0))[0]


def smoothed(xs: Any) -> Any:
    def iteration(carry: Any, x: Any) -> Any:
        carry = lax.cond(x > carry, lambda: 0.9 * carry + 0.1 * x, lambda: carry)
        return carry, carry**2

    return lax.scan(iteration, 0.0, xs)


def last_smoothed(xs: Any) -> Any:
    return smoothed(xs)[1].sum()


def waves(x: Any) -> Any:
    return jnp.sin(jnp.cos(x))


def layer(x: Any) -> Any:
    return jnp.tanh(WEIGHTS @ x)


def logarithm(a: Any) -> Any:
    return jnp.linalg.slogdet(a)[1]


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (newton, (2.0,)),
    (tinyjax.grad(newton), (2.0,)),
    (smoothed, (np.ones(5, np.float32),)),
    (tinyjax.grad(last_smoothed), (np.ones(5, np.float32),)),
    (tinyjax.vmap(newton), (np.ones(3, np.float32),)),
    (tinyjax.jit(tinyjax.checkpoint(waves)), (1.0,)),
    (tinyjax.grad(tinyjax.checkpoint(waves)), (1.0,)),
    (layer, (np.ones(4, np.float32),)),
    (tinyjax.jacfwd(layer), (np.ones(4, np.float32),)),
    (jnp.linalg.slogdet, (np.eye(3, dtype=np.float32),)),
    (tinyjax.hessian(logarithm), (np.eye(2, dtype=np.float32),)),
    (lambda: (), ()),
    (lambda x: (x, x, 1), (2.0,)),
]


@pytest.mark.parametrize(("fun", "args"), PROGRAMS)
def test_programs_with_control_flow_and_constants(
    fun: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    equal_again(tinyjax.make_jaxpr(fun)(*args))


def test_the_text_of_a_program() -> None:
    def program(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) * WEIGHTS[0, :2], x), x.astype(bool)

    closed = tinyjax.make_jaxpr(program)(np.ones(2, np.float32))
    assert (
        source.jaxpr_source(closed)
        == """\
from tinyjax import Array, dtypes
from tinyjax.source.jaxprs.text_runtime import array, literal, op, program

constant_1 = array("float32[2]", "-1.0 -0.8181818127632141")


@program("float32[2]", "float32[2]", constants=(constant_1,))
def main(a: Array, b: Array) -> tuple[Array, ...]:

    @program("float32[2]", "weak int32[]", "float32[2]")
    def jaxpr_of_scan(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        d = op.add(b, literal("weak int32[]", 1))
        e = op.sin(c)
        f = op.mul(e, a)
        return (d, f)

    c, d = op.scan(
        a, literal("weak int32[]", 0), b, jaxpr=jaxpr_of_scan, num_consts=1, num_carry=2, length=3
    )
    e = op.convert_element_type(b, dtype=dtypes.bool_, weak_type=False)
    return (d, e)
"""
    )


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("float32", [np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45, 0.1]),
        ("bfloat16", [np.nan, -0.0, 0.1, 3e38]),
        ("float8_e4m3fn", [np.nan, 0.5]),
        ("float64", [0.1, np.nextafter(1, 2), 1e308]),
        ("complex64", [complex(-0.0, 0.0), complex(0.0, -0.0), complex(np.nan, np.inf), 1 - 2j]),
        ("int8", [-128, 127]),
        ("uint64", [2**64 - 1]),
        ("bool", [True, False]),
    ],
)
def test_literals_and_constants_keep_their_bits(dtype: str, values: list[Any]) -> None:
    array = np.array(values).astype(aval(f"{dtype}[]").dtype)
    equal_again(tinyjax.make_jaxpr(lambda: as_array(array))())
    for value in array:
        equal_again(tinyjax.make_jaxpr(lambda v=value: (as_array(v), jnp.full((2, 3), v)))())


def test_an_unusual_nan_keeps_its_bits() -> None:
    (value,) = np.array([0x7FC12345], np.uint32).view(np.float32)
    assert "0x4523c17f" in equal_again(tinyjax.make_jaxpr(lambda: as_array(value))())


def test_the_text_runs_on_its_own(tmp_path: Path) -> None:
    """It can be saved and run, and its program evaluated and transformed."""
    text = source.jaxpr_source(tinyjax.make_jaxpr(newton)(2.0))
    (tmp_path / "saved.py").write_text(
        f"{text}\nimport tinyjax\n"
        "print(*main(2.0), *tinyjax.jit(main)(9.0), tinyjax.grad(lambda x: main(x)[0])(4.0))\n",
        encoding="utf-8",
    )
    found = subprocess.run(
        [sys.executable, tmp_path / "saved.py"], capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(
        [float(word) for word in found.stdout.split()], [2**0.5, 3.0, 0.25], rtol=1e-6
    )


def test_an_edited_text_is_another_program() -> None:
    jaxpr = tinyjax.make_jaxpr(jnp.sin)(1.0).jaxpr
    text = source.jaxpr_source(jaxpr)
    edited = source.jaxpr_of_source(text.replace("op.sin", "op.cos"))
    assert isinstance(edited, Jaxpr)
    assert edited == tinyjax.make_jaxpr(jnp.cos)(1.0).jaxpr


def test_functions_are_given_apart() -> None:
    def printed(x: Any) -> Any:
        return tinyjax.pure_callback(lambda v: v + 1, x, x)

    closed = tinyjax.make_jaxpr(printed)(1.0)
    with raises(SourceError, match=r"callback of pure_callback .* cannot be written"):
        source.jaxpr_source(closed)
    objects: dict[str, Any] = {}
    text = source.jaxpr_source(closed, objects)
    assert list(objects) == ["callback_of_pure_callback"]
    again = source.jaxpr_of_source(text, objects)
    assert isinstance(again, ClosedJaxpr)
    assert again.jaxpr == closed.jaxpr
    np.testing.assert_allclose(np.asarray(again(as_array(1.0))[0]), 2.0)


def test_what_is_no_text_of_a_jaxpr() -> None:
    with raises(SourceError, match="defines no program called main"):
        source.jaxpr_of_source("x = 1\n")
    with raises(AttributeError, match="no primitive 'sine'"):
        op.sine  # noqa: B018
    for text in ("float32", "float[3]", "float32[3"):
        with raises(ArgumentError, match="a type is written as"):
            aval(text)


@pytest.mark.wrong_types
def test_what_is_no_jaxpr() -> None:
    with raises(ArgumentError, match="takes a jaxpr, but got function"):
        unchecked(source.jaxpr_source)(newton)

"""Sizes known by name: their arithmetic, and programs exported for all of them."""

import copy
import itertools
import json
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
import pytest
from jax import export as jax_export

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import export, jit, lax, nn
from tinyjax.errors import (
    ArgumentError,
    DifferentiationError,
    ExportError,
    InconclusiveDimensionOperation,
)
from tinyjax.export import jaxprs, parsing, polynomials, symbolic_programs
from tinyjax.export.dims import SymbolicScope, substituted

RNG: Final = np.random.default_rng(0)
F32: Final = np.float32


def struct(text: str, dtype: Any = F32, **options: Any) -> Any:
    return tinyjax.ShapeDtypeStruct(export.symbolic_shape(text, **options), dtype)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(F32)


def close(actual: Any, expected: Any) -> None:
    tinyjax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, 2e-5, 1e-5), actual, expected)


# Sizes

#: What is computed with sizes, in the words of a user; JAX says what comes out.
ARITHMETIC: Final = (
    *("a + b", "b + a + 1", "2 * a - b", "-a", "7 - a", "a * b * a", "a ** 3", "a - a", "a // 1"),
    *("(a * b + a) // (b + 1)", "(6 * a + 4) % 3", "a // 2", "a % 2", "7 // a", "divmod(a, 2)"),
    *("(a + b) // a", "a // b * b + a % b", "sum((a, b, 3))", "math.prod((a, 2, b))"),
    *("np.prod((a, 3, b))", "np.sum((a, b))", "np.int64(3) * a", "(4 * a) // 2", "a // -1"),
    *("a == b", "a != 1", "a == a + 0", "b + b == 2 * b", "a in (b, a)", "bool(a)"),
    *("hash(a + 0) == hash(a)", "-a // 2 + b", "max(a, 1)", "min(1, b) + a"),
    *("a >= 1", "a > 0", "2 * a + b >= 3", "a // 4 >= 0", "a ** 2 >= 1", "a % 3 < 3", "a <= 0"),
    *("a >= 2", "a >= b", "a - b >= 0", "a < 5", "int(a)", "float(a)", "range(a)", "np.zeros(a)"),
    *("[0] * a", "a * 0", "b * 1", "(a + 1) * (b - 1)", "a % 1", "a ** -1", "a // 0", "a % a"),
)  # fmt: skip


@pytest.mark.parametrize("text", ARITHMETIC)
def test_arithmetic_is_jaxs(text: str) -> None:
    results: list[Any] = []
    for module in (export, jax_export):
        a, b = module.symbolic_shape("a, b")
        names = {"a": a, "b": b, "np": np, "math": math}
        try:
            results.append(str(eval(text, names)))
        except Exception as error:
            results.append(error)
    found, expected = results
    if isinstance(expected, Exception):
        assert isinstance(found, (TypeError, ValueError, ArithmeticError))
    else:
        assert found == expected


def test_what_is_decided_holds() -> None:
    """Comparisons and bounds, of random sizes with random constraints, against all small sizes."""
    rng = np.random.default_rng(1)

    def draw(depth: int) -> str:
        if depth == 0 or rng.random() < 0.3:
            return str(rng.choice(["a", "b", "2", "3", "1"]))
        x, y = draw(depth - 1), draw(depth - 1)
        kind = rng.choice(["+", "-", "*", "floordiv", "mod", "max", "min"])
        if kind in ("+", "-"):
            return f"{x} {kind} {y}"
        if kind == "*":
            return f"{rng.choice(['a', 'b', '2'])}*{rng.choice(['a', 'b', '3'])}"
        return f"{kind}({x}, {rng.choice(['2', '3', 'a']) if kind in ('floordiv', 'mod') else y})"

    decided = 0
    for case in range(60):
        given = [(), ("a >= b",), ("b >= 3",), ("mod(a, 2) == 0",), ("a <= b + 2",)][case % 5]
        scope = SymbolicScope(given)
        text = f"{draw(2)}, {draw(1)}"
        x, y = export.symbolic_shape(text, scope=scope)
        least, greatest = scope.bounds(parsing.polynomial(x))
        try:
            at_least: bool | None = bool(x >= y)
            decided += 1
        except InconclusiveDimensionOperation:
            at_least = None
        for a, b in itertools.product(range(1, 6), repeat=2):
            sizes = {"a": a, "b": b}
            truths = [polynomials.evaluate(c.difference, sizes) for c in scope.constraints]
            if any(v != 0 if c.equal else v < 0 for v, c in zip(truths, scope.constraints)):  # noqa: B905
                continue
            value = substituted(x, sizes)
            assert least is None or least <= value, (text, given, sizes)
            assert greatest is None or value <= greatest, (text, given, sizes)
            assert at_least is None or at_least == (value >= substituted(y, sizes)), (text, given)
    assert decided > 20


@pytest.mark.parametrize(
    ("claim", "constraints"),
    [
        ("a >= b + 7", ["a >= b + 8"]),
        ("a + 2*b >= 32", ["a >= 16", "b >= 8"]),
        ("a >= 9", ["a >= b + 8"]),  # which JAX does not find
        ("a*b >= a", []),
        ("a >= mod(a, 3)", []),
        ("max(a, b) >= min(a, b)", []),
        ("a >= floordiv(a + 1, 2)", []),
        ("a >= max(b, c)", ["a >= b", "a >= c"]),
        ("6 >= b", ["2*b <= 13"]),
        ("4 >= floordiv(a, 4)", ["a <= 19"]),
    ],
)
def test_constraints_decide(claim: str, constraints: list[str]) -> None:
    left, right = claim.split(">=")
    x, y = export.symbolic_shape(f"{left}, {right}", constraints=constraints)
    assert x >= y
    assert not x < y


def test_equations_replace() -> None:
    scope = SymbolicScope(["a*b == c", "mod(d, 4) == 0"])
    a, b, c, d = export.symbolic_shape("a, b, c, d", scope=scope)
    assert a * b == c
    assert 2 * a * b * d == 2 * c * d
    assert d % 4 == 0
    assert d // 4 * 4 == d


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,, b", {}, "a number is expected"),
        ("a b", {}, "',' is expected"),
        ("(a", {}, "'\\)' is expected"),
        ("a ? b", {}, "'\\?' is unknown"),
        ("a, ...", {}, "none is given"),
        ("a, _", {"like": (3,)}, "which is not there"),
        ("4", {"like": (3,)}, "the array has the shape"),
        ("floordiv(a)", {}, "',' is expected"),
        ("mod(a, 0)", {}, "divides by zero"),
        ("a^99", {}, "powers are from 1"),
        ("9" * 40, {}, "at most 30 digits"),
        ("max(" * 60 + "a", {}, "nested deeper"),
        ("a+" * 6000 + "a", {}, "longer than"),
        ("*".join(f"(a{i})" for i in range(3)), {}, "it should end here"),
        ("a", {"constraints": "a >= 2"}, "as a sequence"),
        ("a", {"constraints": 2}, "as a sequence"),
        ("a", {"constraints": ["a > 2"]}, "write two sizes with"),
        ("a", {"constraints": ["a + b == 2"]}, "must have a product"),
        ("a", {"constraints": ["1 >= 2"]}, "never holds"),
        ("a", {"constraints": ["a == 2", "a == 3"]}, "state one|never holds"),
        ("a", {"constraints": ["a >= 2"], "scope": SymbolicScope()}, "or a scope"),
    ],
)
def test_texts_that_are_no_shapes(text: str, options: dict[str, Any], message: str) -> None:
    with raises(ArgumentError, match=message):
        export.symbolic_shape(text, **options)


def test_sizes_by_name_are_no_numbers() -> None:
    (a,) = export.symbolic_shape("a")
    as_any: Any = a  # to type checkers it is an int
    assert not isinstance(as_any, int)
    assert export.is_symbolic_dim(a)
    assert not export.is_symbolic_dim(3)
    assert f"{a + 1}" == "a + 1"
    for wrong in (jnp.ones, pickle.dumps, np.arange, list("ab").__getitem__):
        with pytest.raises(InconclusiveDimensionOperation):
            wrong(a)
    (other,) = export.symbolic_shape("a")
    assert a != other
    with raises(ArgumentError, match="different scopes"):
        a + other


# Programs


def many(x: Any, y: Any) -> Any:
    """Functions that ask for sizes in different ways; x is of (b, 4), y of (n,)."""
    b, n = x.shape[0], y.shape[0]
    sequence, _ = lax.scan(lambda c, v: (jnp.tanh(c + v), c), jnp.zeros(4), x)
    return {
        "mean": x.sum(0) / b + jnp.mean(x) + jnp.var(x, 0) + x.size,
        "float": 5.0 + b + np.arange(3) * b - np.float32(2.0) * n,
        "counted": x * jnp.arange(b)[:, None] + jnp.ones(x.shape) + jnp.full((b, 4), b),
        "counted from": jnp.arange(2, 2 + n) + jnp.arange(n, 3 * n, 2)[0],
        "shape": jnp.array(x.shape),
        "joined": jnp.concatenate([x, x[:1]]).reshape(-1, 2).reshape(b + 1, 4),
        "reshaped": x.reshape(np.prod(x.shape)) @ jnp.ones(4 * b),
        "slices": (x[-1], x[1:], x[::2, 1], x[::-1], x[: b // 2], y[2:-1], x[b - 1]),
        "place": x[2],  # which may be out of bounds
        "updated": x.at[0].set(1.0).at[-1].set(4.0).at[:, 1].add(2.0).at[1:].multiply(3.0),
        "taken": x[jnp.array([0, -1])] + jnp.take_along_axis(x, jnp.argsort(x, 0), 0)[:1],
        "sorted": (jnp.sort(y), jnp.argmax(x, 0), jnp.median(y), jnp.cumsum(y)),
        "searched": (jnp.searchsorted(jnp.sort(y), x, side="right"), jnp.digitize(x, jnp.sort(y))),
        "rolled": (jnp.roll(y, 2), jnp.roll(x, (1, -1), (0, 1)), jnp.fft.fftshift(y)),
        "places": (jnp.nonzero(x > 0, size=5, fill_value=-1), jnp.argwhere(y > 0, size=b)),
        "unravelled": jnp.unravel_index(jnp.arange(6), (b, n, 2)),
        "outer": jnp.outer(y, x[:, 0]) + jnp.linspace(0, 1, n)[:, None],
        "square": jnp.tril(x @ x.T) + jnp.eye(b),
        "padded": jnp.pad(x, ((1, 2), (0, 0)), constant_values=3.0),
        "scan": sequence,
        "loop": lax.fori_loop(0, b, lambda i, s: s + x[i], jnp.zeros(4)),
        "choice": lax.cond(x.sum() > 0, lambda: x, lambda: -x),
        "gradient": tinyjax.grad(lambda x: jnp.mean(nn.softmax(x) ** 2))(x),
        "jacobian": tinyjax.jacfwd(lambda y: jnp.cumsum(y) * n)(y),
        "mapped": tinyjax.vmap(lambda row: row / row.shape[0] + n)(x),
        "called": jit(lambda z: nn.gelu(z) * z.shape[0])(x),
        "noise": tinyjax.random.uniform(tinyjax.random.key(0), (b, 2)),
        "transform": jnp.abs(jnp.fft.fft(x)),
    }


def convolutional(x: Any, w: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    y = nn.relu(lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=numbers))
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return y, y.mean((1, 2))


def attention(q: Any) -> Any:
    return nn.dot_product_attention(q, q, q, is_causal=True)


SQUARE: Final = normal(3, 3, 2, 3)


@pytest.mark.parametrize(
    ("fun", "specs", "calls"),
    [
        (many, ("b, 4", "n + 3"), [((5, 4), (4,)), ((1, 4), (7,))]),
        (
            convolutional,
            ("b, h + 4, 9, 2", "3, 3, 2, 3"),
            [((2, 8, 9, 2), (3, 3, 2, 3)), ((1, 5, 9, 2), (3, 3, 2, 3))],
        ),
        (attention, ("b, t, 2, 4",), [((2, 5, 2, 4),), ((1, 1, 2, 4),)]),
    ],
    ids=["many", "convolutional", "attention"],
)
def test_programs_for_all_sizes(fun: Any, specs: Any, calls: Any) -> None:
    scope = SymbolicScope()
    structs: list[Any] = [struct(text, scope=scope) for text in specs]
    there = export.deserialize(export.export(jit(fun))(*structs).serialize())
    for shapes in calls:
        args = [normal(*shape) for shape in shapes]
        close(there.call(*args), fun(*map(jnp.asarray, args)))  # by NumPy


W: Final = normal(3, 2)


def model(w: Any, x: Any) -> Any:
    return jnp.mean(nn.silu(x @ w + W[0]) ** 2, 0)


def beside_arrays(x: Any) -> Any:
    n, y = x.shape[0], x[0]
    found = [n + y, y + n, n - y, y - n, n * y, y * n, n / y, y / n, n // y, y // n, n % y, y % n]
    found += [*divmod(n, y), *divmod(y, n), n**y, y**n, +n * y, abs(n) * y, abs(-n) * y]
    return [*found, copy.copy(n) * y, copy.deepcopy(n) * y, n * 1.0]


def test_sizes_beside_arrays() -> None:
    program = export.export(jit(beside_arrays))(struct("n"))
    for n in (1, 4):
        x = normal(n) + 3
        close(program.call(x), beside_arrays(x))


def test_under_transformations() -> None:
    spec: Any = tinyjax.ShapeDtypeStruct((3, 2), F32)
    here = export.export(jit(model))(spec, struct("b, 3"))
    there = export.deserialize(here.serialize(vjp_order=2))
    assert str(there) == "<exported model: (float32[3,2], float32[b,3]) -> (float32[2])>"
    assert there.serialize(vjp_order=2) == here.serialize(vjp_order=2)
    x, batches = normal(5, 3), normal(2, 4, 3)

    def slope(call: Callable[..., Any]) -> Any:
        return tinyjax.grad(lambda w: call(w, x).sum())(W)

    def curvature(call: Callable[..., Any]) -> Any:
        return tinyjax.grad(lambda w: jnp.sum(tinyjax.grad(lambda w: call(w, x)[0])(w) ** 2))(W)

    def mapped(call: Callable[..., Any]) -> Any:
        return tinyjax.vmap(lambda x: tinyjax.grad(lambda w: call(w, x)[1])(W))(batches)

    for way in (slope, jit(slope, static_argnums=0), curvature, mapped):
        close(way(there.call), way(model))
    with raises(DifferentiationError, match="without its derivative"):
        slope(export.deserialize(here.serialize()).call)


def test_one_within_another() -> None:
    inner = export.deserialize(
        export.export(jit(lambda x: nn.silu(x).reshape(-1) * x.shape[0]))(
            struct("2*a, b")
        ).serialize(1)
    )
    outer = export.export(jit(lambda x: inner.call(jnp.concatenate([x, x])) + 1))(struct("n, 3"))
    there = export.deserialize(outer.serialize(vjp_order=1))
    assert str(there.out_avals[0]) == "float32[6*n]"
    x = normal(2, 3)

    def fun(x: Any) -> Any:
        y = jnp.concatenate([x, x])
        return nn.silu(y).reshape(-1) * y.shape[0] + 1

    close(there.call(x), fun(x))
    close(*[tinyjax.grad(lambda x, f=f: f(x).sum())(x) for f in (there.call, fun)])
    assert there.variables == ("n",)
    assert "tensor<12xf32>" in there.with_sizes({"n": 2}).mlir_module()
    with raises(ExportError, match="with_sizes"):
        there.mlir_module()
    with raises(ArgumentError, match="none for 'n'"):
        there.with_sizes({"m": 2})
    with raises(ExportError, match="less than 2\\*\\*31"):
        there.with_sizes({"n": 2**31})


def test_specs_from_examples() -> None:
    args = ({"w": normal(3, 2), "b": normal(3)}, normal(4, 3))
    specs = export.symbolic_args_specs(args, ({"w": "m, n", "b": None}, "batch, ..."))
    shapes = [str(x.shape) for x in tinyjax.tree.leaves(specs)]
    theirs = jax_export.symbolic_args_specs(args, ({"w": "m, n", "b": None}, "batch, ..."))
    assert (
        shapes
        == [str(x.shape) for x in jax.tree.leaves(theirs)]
        == ["(3,)", "(m, n)", "(batch, 3)"]
    )
    found = tinyjax.eval_shape(lambda p, x: x @ x.T, *specs)
    assert str(found.shape) == "(batch, batch)"


#: What is refused: when it is exported, or called with arrays of these shapes.
REFUSED: Final[dict[str, tuple[Callable[[Any], Callable[..., Any]], str, Any]]] = {
    "other sizes": (lambda np: lambda x, y: x + y, "v; 4", None),
    "a product of matrices": (lambda np: lambda x: np.matmul(x, x), "v, 4", None),
    "a comparison": (lambda np: lambda x: 0 if x.shape[0] + 1 >= x.shape[1] else 1, "a, b", None),
    "an odd size halved": (lambda np: lambda x: x.reshape(2, -1), "b", None),
    "an array as a size": (lambda np: lambda x: x.reshape(np.array(x.shape[0])), "b", None),
    "a number that is wanted": (lambda np: lambda x: [x] * x.shape[0], "b", None),
    "a size that cannot be told": (lambda np: lambda x: x.shape[0], "a*a", None),
    "a size that does not fit": (lambda np: lambda x: x, "b, b, 2*d", [(3, 3, 5)]),
    "two sizes for one": (lambda np: lambda x: x, "b, b, 2*d", [(3, 4, 6)]),
    "a size of zero": (lambda np: lambda x: x, "b", [(0,)]),
    "other axes": (lambda np: lambda x: x, "b", [(3, 3)]),
    "a constraint": (lambda np: lambda x: x, "c, d", [(3, 4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_of_jaxs_kinds(name: str) -> None:
    make, text, shapes = REFUSED[name]
    errors: list[Exception] = []
    for module, lib in ((export, tinyjax), (jax_export, jax)):
        scope: Any = module.SymbolicScope(["c >= d"])
        specs = [
            lib.ShapeDtypeStruct(module.symbolic_shape(part, scope=scope), np.int32)
            for part in text.split(";")
        ]
        exporter: Any = module.export(lib.jit(make(lib.numpy)))
        try:
            exporter(*specs).call(*[np.ones(shape, np.int32) for shape in shapes or ()])
        except Exception as error:
            errors.append(error)
    found, expected = errors
    builtin = next(c for c in type(expected).__mro__ if c.__module__ == "builtins")
    assert isinstance(found, builtin)
    assert isinstance(found, tinyjax.errors.TinyjaxError)


def test_sizes_from_elsewhere() -> None:
    k, c = export.symbolic_shape("k, c", constraints=["k <= 10"])
    x = normal(4, 10)
    with raises(ArgumentError, match="'k' is in the shape of no argument"):
        export.export(jit(lambda y: lax.top_k(x, k)[0] + y.sum()))(
            tinyjax.ShapeDtypeStruct((c,), F32)
        )
    with raises(ArgumentError, match="none of its arguments has any"):
        export.export(jit(lambda y: jnp.ones((k,))))(x)
    empty: Any = tinyjax.ShapeDtypeStruct((0, k), F32)
    there = export.export(jit(lambda size, x: lax.top_k(x, size.shape[1])[0]))(empty, x)
    close(there.call(np.zeros((0, 3), F32), x), lax.top_k(x, 3)[0])
    with raises(ArgumentError, match=r"the constraint 'k <= 10' does not hold"):
        there.call(np.zeros((0, 11), F32), x)
    with raises(ArgumentError, match="different scopes"):
        export.export(jit(lambda x, y: x.sum() + y.sum()))(struct("a"), struct("a"))
    with raises(InconclusiveDimensionOperation, match="so it is not compiled"):
        jit(jnp.sin).lower(struct("a")).compile()
    with raises(ExportError, match="calls Python"):
        export.export(jit(lambda x: tinyjax.debug.print("{}", x)))(struct("a"))


# Programs from elsewhere

PROGRAM: Final = jaxprs.encode_program(
    symbolic_programs.closed(
        jit(lambda x: jnp.sin(x)[1:] * x.shape[0]).lower(struct("b + 1")).jaxpr
    )
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("core.primitives.elementwise", "core.values.array"),
        ("core.primitives.elementwise", "core.primitives.elementwise.os"),
        ('"sin"', '"Elementwise"'),
        ('"sin"', '"no_such_p"'),
        ('"b + 1"', '"b + 2"'),
        ('"b + 1"', '"b +"'),
        ('"b + 1"', "-1"),
        ('"b + 1"', "1e400"),
        ('{"size":"b + 1"}', '"b"'),
        ('{"size":"b + 1"}', '{"program":0}'),
        ('{"size":"b + 1"}', '{"record":["GatherDimensionNumbers",{}]}'),
        ("false", "0"),
        ('"float32"', '"float33"'),
        ("[0]", "[7]"),
        ("[0]", "[-1]"),
    ],
)
def test_programs_that_were_tampered_with(old: str, new: str) -> None:
    assert jaxprs.encode_program(jaxprs.decode_program(PROGRAM, SymbolicScope())) == PROGRAM
    assert old in PROGRAM
    with pytest.raises(Exception) as told:  # noqa: PT011 (``deserialize`` makes one of all)
        jaxprs.decode_program(PROGRAM.replace(old, new, 1), SymbolicScope())
    assert isinstance(told.value, (ValueError, TypeError, LookupError))


def test_programs_that_are_nested_too_deep() -> None:
    (inner,) = json.loads(PROGRAM)
    call: Any = ["core.jit.program", "jit_p"]
    nest = [inner]
    for i in range(300):
        params: Any = {
            "jaxpr": {"program": i},
            "name": "f",
            "donated": [],
            "tier": None,
            "flags": [],
        }
        nest.append([inner[0], [[call, [0], params, [inner[1][-1][3][0]]]], [1]])
    with raises(ValueError, match="nested too deep"):
        jaxprs.decode_program(json.dumps(nest), SymbolicScope())


def test_functions_are_not_written() -> None:
    fun = tinyjax.custom_jvp(jnp.sin)
    fun.defjvps(lambda t, out, x: t * jnp.cos(x))
    jaxpr = jit(fun).lower(struct("b")).jaxpr
    with raises(ExportError, match="cannot be written with"):
        jaxprs.encode_program(jaxpr)
    jaxprs.encode_program(symbolic_programs.closed(jaxpr))


def test_another_process_loads_what_a_program_needs(tmp_path: Path) -> None:
    def grown(x: Any) -> Any:
        return lax.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, x)

    def chosen(x: Any) -> Any:
        return lax.cond(x.sum() > 0, grown, jnp.cos, x)

    file = tmp_path / "program"
    file.write_bytes(export.export(jit(chosen))(struct("b")).serialize())
    code = f"""
import numpy as np
from pathlib import Path
from tinyjax import export
print(export.deserialize(Path({str(file)!r}).read_bytes()).call(np.ones(3, np.float32)))
from tinyjax.source.jaxprs.text_runtime import op
print([op[name] is not None for name in ("cond", "scan", "while")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[3. 3. 3.]\n[True, True, True]\n"

"""Jaxprs: well-formedness, printing, equality up to renaming, digests, simplification."""

import copy
import html
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import attrs
import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, P, config, grad, jit, jvp, lax, make_jaxpr, vmap
from tinyjax._extensions.parallel.types import with_varying
from tinyjax.core.primitives.broadcast import ReduceParams, reduce_sum_p
from tinyjax.core.primitives.elementwise import mul, sin
from tinyjax.core.tracing.encoding import encode
from tinyjax.core.tracing.jaxpr import (
    Jaxpr,
    JaxprEqn,
    Lit,
    Var,
    eval_jaxpr,
    print_jaxpr,
    subjaxprs,
    typecheck_jaxpr,
)
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.program_rules import dce, depends
from tinyjax.core.tracing.staging import stage
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import scalar
from tinyjax.errors import ArgumentError, JaxprTypeError

FLOAT = ShapedArray((), np.dtype("float32"))
VECTOR = ShapedArray((3,), np.dtype("float32"))
_ONE = scalar(1.0, np.dtype("float32"))
ONE = Lit(_ONE, _ONE.aval)


def staged(fun: Callable[..., Any], *args: Any) -> Jaxpr:
    return make_jaxpr(fun)(*args).jaxpr


def eqn(primitive: Primitive[Any], inputs: Sequence[Var | Lit], *outs: Var) -> JaxprEqn:
    return JaxprEqn(primitive, tuple(inputs), NO_PARAMS, tuple(outs))


# Well-formedness


def test_a_well_formed_jaxpr_has_its_type() -> None:
    a, b = Var(VECTOR), Var(FLOAT)
    total = JaxprEqn(reduce_sum_p, (a,), ReduceParams((0,)), (b,))
    jaxpr = Jaxpr((a,), (total,), (b, ONE, a))
    assert str(typecheck_jaxpr(jaxpr)) == "(float32[3]) -> (float32[], float32[], float32[3])"


def test_programs_of_all_kinds_are_well_formed() -> None:
    def fun(x: Any) -> Any:
        return jnp.sum(jit(jnp.sin)(x) * x)

    x = jnp.ones(3)
    for program in (
        fun,
        grad(fun),
        jit(grad(fun)),
        vmap(lambda y: y * fun(x)),
        lambda x: jvp(grad(fun), (x,), (x,)),
    ):
        with config.scoped(check_jaxprs=True):
            jaxpr = staged(program, x)
        typecheck_jaxpr(jaxpr)
        for equation in jaxpr.eqns:
            for inner in subjaxprs(equation.params):
                typecheck_jaxpr(inner)


A, B, C = Var(FLOAT), Var(FLOAT), Var(FLOAT)
ILL_FORMED = {
    "unbound in an equation": (
        Jaxpr((A,), (eqn(mul, (A, C), B),), (B,)),
        (
            "a variable of type float32[] is used but not bound in the equation "
            "'c:float32[] = mul a b'."
        ),
    ),
    "unbound in the results": (
        Jaxpr((A,), (), (B,)),
        "a variable of type float32[] is used but not bound in the results.",
    ),
    "used before it is bound": (
        Jaxpr((A,), (eqn(sin, (B,), C), eqn(sin, (A,), B)), (C,)),
        "a variable of type float32[] is used but not bound in the equation 'b:float32[] = sin a'.",
    ),
    "bound twice by equations": (
        Jaxpr((A,), (eqn(sin, (A,), B), eqn(sin, (A,), B)), (B,)),
        (
            "a variable of type float32[] is bound twice, the second time in the equation "
            "'b:float32[] = sin a'."
        ),
    ),
    "bound twice by the parameters": (
        Jaxpr((A, A), (), (A,)),
        "a variable of type float32[] is bound twice, the second time in the parameters.",
    ),
    "a binder of the wrong type": (
        Jaxpr((A,), (eqn(sin, (A,), Var(VECTOR)),), (A,)),
        (
            "the equation 'b:float32[3] = sin a' binds types (ShapedArray(float32[3])), "
            "but its primitive gives (ShapedArray(float32[]))."
        ),
    ),
    "too many binders": (
        Jaxpr((A,), (eqn(sin, (A,), B, C),), (A,)),
        (
            "the equation 'b:float32[] c:float32[] = sin a' binds types (ShapedArray(float32[]), "
            "ShapedArray(float32[])), but its primitive gives (ShapedArray(float32[]))."
        ),
    ),
    "parameters of another primitive": (
        Jaxpr((A,), (JaxprEqn(sin, (A,), ReduceParams((0,)), (B,)),), (B,)),
        (
            "the equation 'b:float32[] = sin [ axes=(0,) ] a' has parameters of type "
            "ReduceParams, but 'sin' takes NoParams."
        ),
    ),
    "an operand less than its primitive takes": (
        Jaxpr((), (JaxprEqn(reduce_sum_p, (), ReduceParams((0,)), (B,)),), (B,)),
        (
            "the equation 'a:float32[] = reduce_sum [ axes=(0,) ]' has operands of types (), which "
            "'reduce_sum' does not take: not enough values to unpack (expected 1, got 0)."
        ),
    ),
}


@pytest.mark.parametrize("name", ILL_FORMED)
def test_an_ill_formed_jaxpr_is_rejected(name: str) -> None:
    jaxpr, message = ILL_FORMED[name]
    with pytest.raises(JaxprTypeError) as caught:
        typecheck_jaxpr(jaxpr)
    assert caught.value.message == message


def test_evaluation_wants_as_many_arguments_as_parameters() -> None:
    jaxpr = staged(lambda x, y: x + y, 1.0, 2.0)
    with raises(ArgumentError, match=r"takes 2 arguments, but got 1: its type is \(float"):
        eval_jaxpr(jaxpr, [jnp.ones(())])


def test_a_closed_jaxpr_is_a_function() -> None:
    weights = jnp.arange(3.0)
    closed = make_jaxpr(lambda x: {"out": x * weights})(2.0)
    assert closed.consts == (weights,)
    assert closed.in_avals == (ShapedArray((), np.dtype("float32"), True),)
    assert closed.out_avals == (VECTOR,)
    np.testing.assert_array_equal(closed(jnp.asarray(2.0))[0], [0.0, 2.0, 4.0])


def test_return_shape() -> None:
    _, shape = make_jaxpr(lambda x: {"sum": jnp.sum(x)}, return_shape=True)(jnp.ones(3))
    assert shape == {"sum": tinyjax.ShapeDtypeStruct((), np.dtype("float32"))}
    assert tinyjax.eval_shape(lambda x: [x], tinyjax.ShapeDtypeStruct((2, 3), "int8")) == [
        tinyjax.ShapeDtypeStruct((2, 3), np.dtype("int8"))
    ]


# Printing


def test_printing() -> None:
    inner = jit(lambda x: jnp.sin(x) * 2.0)
    inner.__name__ = inner._name = "inner"
    jaxpr = staged(lambda x: (jnp.sum(inner(x), axis=0), 3), jnp.ones((2, 3)))
    assert str(jaxpr) == (
        "{ lambda a:float32[2,3] .\n"
        "  let b:float32[2,3] = jit [ name=inner donated=() tier=None flags=() ] a\n"
        "        jaxpr={ lambda a:float32[2,3] .\n"
        "            let b:float32[2,3] = sin a\n"
        "                c:float32[2,3] = mul b 2.0\n"
        "            in ( c ) }\n"
        "      c:float32[3] = reduce_sum [ axes=(0,) ] b\n"
        "  in ( c, 3 ) }"
    )


def test_printing_in_colour() -> None:
    jaxpr = staged(jnp.sin, 1.0)
    assert jaxpr.pretty_print(use_color=False) == print_jaxpr(jaxpr, colour=False)
    closed = tinyjax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
    first, second = re.findall(
        r"= (\w+).*# (?:.*):\d+ in .*lambda", closed.pretty_print(source_info=True)
    )
    assert (first, second) == ("sin", "mul")
    coloured = print_jaxpr(jaxpr, colour=True)
    assert "\x1b[1;34msin\x1b[0m" in coloured
    plain = print_jaxpr(jaxpr, colour=False)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    assert str(jaxpr) == repr(jaxpr) == plain  # no terminal here


def test_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    jaxpr = staged(jnp.sin, 1.0)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b" in print_jaxpr(jaxpr)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in print_jaxpr(jaxpr)


def test_names_beyond_z() -> None:
    def chain(x: Any) -> Any:
        for _ in range(28):
            x = jnp.sin(x)
        return x

    lines = str(staged(chain, 1.0)).splitlines()
    assert lines[25] == "      z:float32[] = sin y"
    assert lines[26] == "      aa:float32[] = sin z"
    assert lines[27] == "      ab:float32[] = sin aa"


def test_equations_know_the_line_they_come_from() -> None:
    def fun(x: Any) -> Any:
        return jnp.sin(x)  # this line

    (equation,) = staged(fun, 1.0).eqns
    assert equation.source is not None
    location = equation.source.location
    assert location.filename == __file__
    assert location.text == "return jnp.sin(x)  # this line"


# Equality up to renaming


def test_equal_programs_are_equal() -> None:
    def one(x: Any, y: Any) -> Any:
        return jnp.sin(x) * y + 1.0

    def other(first: Any, right: Any) -> Any:
        wave = jnp.sin(first)
        scaled = wave * right
        return scaled + 1.0

    first, second = staged(one, 1.0, 2.0), staged(other, 3.0, 4.0)
    assert first is not second
    assert first == second
    assert hash(first) == hash(second)
    assert first.digest == second.digest
    assert len(first.digest) == 16
    assert {first: "found"}[second] == "found"


def test_names_of_called_programs_do_not_matter() -> None:
    def one(x: Any) -> Any:
        return x + 1

    def other(x: Any) -> Any:
        return x + 1

    assert staged(jit(one), 1.0) == staged(jit(other), 1.0)


X = jnp.ones((2, 2))
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "x * 2.0": (lambda x: x * 2.0, (X,)),
    "x * 3.0": (lambda x: x * 3.0, (X,)),
    "x * 0.0": (lambda x: x * 0.0, (X,)),
    "x * -0.0": (lambda x: x * -0.0, (X,)),
    "x * nan": (lambda x: x * float("nan"), (X,)),
    "x + 2.0": (lambda x: x + 2.0, (X,)),
    "2.0 * x": (lambda x: 2.0 * x, (X,)),
    "x * 2.0 of a weak scalar": (lambda x: x * 2.0, (1.0,)),
    "x * 2.0 of a scalar": (lambda x: x * 2.0, (jnp.ones(()),)),
    "x * 2.0 of float64": (lambda x: x * 2.0, (X.astype("float64"),)),
    "x * 2.0 of another shape": (lambda x: x * 2.0, (jnp.ones((2, 3)),)),
    "two parameters": (lambda x, y: x * 2.0, (X, X)),
    "the other parameter": (lambda y, x: x * 2.0, (X, X)),
    "two results": (lambda x: (x, x * 2.0), (X,)),
    "two results, swapped": (lambda x: (x * 2.0, x), (X,)),
    "sum of axis 0": (lambda x: jnp.sum(x, 0), (X,)),
    "sum of axis 1": (lambda x: jnp.sum(x, 1), (X,)),
    "a literal result": (lambda x: 2.0, (X,)),
    "another literal result": (lambda x: 2, (X,)),
    "identity": (lambda x: x, (X,)),
    "jit": (jit(lambda x: x * 2.0), (X,)),
    "jit of another": (jit(lambda x: x * 3.0), (X,)),
}


def test_programs_that_differ_are_unequal() -> None:
    jaxprs = {name: staged(fun, *args) for name, (fun, args) in PROGRAMS.items()}
    digests: dict[bytes, str] = {}
    for name, jaxpr in jaxprs.items():
        assert jaxpr.digest not in digests, f"{name} and {digests[jaxpr.digest]} share a digest"
        digests[jaxpr.digest] = name
    assert jaxprs["identity"] != "identity"


def test_a_primitive_defined_anew_is_another_primitive() -> None:
    def define() -> Primitive[NoParams]:
        primitive: Primitive[NoParams] = Primitive("test_defined_twice", NoParams)
        primitive.def_abstract_eval(lambda avals, params: avals)
        return primitive

    first, second = define(), define()
    del registry["test_defined_twice"]

    def program(primitive: Primitive[NoParams]) -> Jaxpr:
        return staged(lambda x: bind1(primitive, (x,), NO_PARAMS), X)

    assert program(first) == program(first)
    assert program(first) != program(second)


PRINT_DIGESTS = """
import tinyjax, tinyjax.numpy as jnp
from tinyjax import grad, jit, make_jaxpr, vmap
def fun(x, p):
    return jnp.sum(jit(jnp.sin)(x) * p["w"] + p["b"], axis=0)
p = {"w": jnp.ones(3), "b": 2.0}
mapped = vmap(fun, (0, None))
for f in (fun, grad(fun), mapped, jit(grad(fun))):
    print(make_jaxpr(f)(jnp.ones((3, 3)) if f is mapped else jnp.ones(3), p).jaxpr.digest.hex())
"""


@pytest.mark.slow
def test_digests_agree_between_processes() -> None:
    def run(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PRINT_DIGESTS],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    found = run("1")
    assert found == run("2")
    assert len(set(found.split())) == 4


class Colour(Enum):
    RED = 1


@attrs.frozen
class Record:
    x: int
    name: str = attrs.field(default="", eq=False)


def test_encodings_of_parameters() -> None:
    values: list[Any] = [
        *(None, True, False, 1, 0, -1, 1.0, 0.0, -0.0, float("nan"), 1j, "", "1", b"1"),
        *(np.int32(1), np.int64(1), np.float32(1), np.bool_(True)),
        *((), (1,), ((1,),), (1, 2), ("12",), ("1", "2")),
        *(Colour.RED, FLOAT, VECTOR, np.dtype("int8"), Record(1), Record(2), Record),
        *(tinyjax.tree.structure([0]), tinyjax.tree.structure((0,)), staged(jnp.sin, 1.0)),
        *(jnp.ones(3), jnp.ones(2), jnp.arange(3.0), scalar(1.0, np.dtype("float32"))),
    ]
    encodings = [encode(value) for value in values]
    assert len(set(encodings)) == len(values)
    assert encode(Record(1, "a")) == encode(Record(1, "b"))  # a name is no part of the value
    assert encode(len) == encode(len) != encode(abs)
    with raises(ArgumentError, match="holds a list, which has no structural encoding"):
        encode([1])


def test_a_constant_array_has_one_encoding_however_it_is_stored() -> None:
    filled = np.full(3, 2.0, np.float32)
    assert encode(jnp.asarray(filled)) == encode(ConcreteArray(filled))
    assert staged(lambda x: x + jnp.ones(3), 1.0) == staged(lambda x: x + jnp.ones(3), 2.0)


def test_types_are_interned_and_survive_copies() -> None:
    again = ShapedArray((3,), np.dtype("float32"))
    assert again is VECTOR
    assert pickle.loads(pickle.dumps(VECTOR)) == VECTOR
    assert copy.deepcopy(VECTOR) == VECTOR
    assert VECTOR != FLOAT
    weak = ShapedArray((4,), np.dtype("float32"), weak_type=True)
    mesh = tinyjax.make_mesh((1,), ("i",), axis_types=(tinyjax.sharding.AxisType.Explicit,))
    where = tinyjax.sharding.NamedSharding(mesh, P("i"))
    placed = tinyjax.typeof(tinyjax.device_put(jnp.ones(4), where))
    assert isinstance(placed, ShapedArray)
    for aval in (weak, placed):
        for one in (aval, with_varying(aval, frozenset({"i"})), aval.with_dtype(aval.dtype, True)):
            copied = pickle.loads(pickle.dumps(one))
            assert (type(copied), copied, copied.weak_type) == (type(one), one, one.weak_type)
    assert str(VECTOR) == "float32[3]"


# Staging


def test_closed_over_arrays_become_the_first_parameters_once() -> None:
    weights = jnp.arange(3.0)
    found = stage(lambda x: [x * weights + weights], [FLOAT])
    assert found.consts == (weights,)
    assert found.jaxpr.in_avals == (VECTOR, FLOAT)


def test_scalars_become_literals() -> None:
    half = jnp.asarray(0.5)
    found = stage(lambda x: [x * half], [FLOAT])
    assert found.consts == ()
    assert isinstance(found.jaxpr.eqns[0].inputs[1], Lit)


def test_the_classes_of_the_model_are_frozen() -> None:
    jaxpr = staged(lambda x: jnp.sin(x) * 2.0, 1.0)
    eqn = jaxpr.eqns[-1]
    literals = [x for x in eqn.inputs if isinstance(x, Lit)]
    model = (eqn, *literals, *eqn.out_binders, eqn.primitive, eqn.out_binders[0].aval, jaxpr)
    for instance in (*model, tinyjax.tree.structure((1, 2))):
        kind: Any = type(instance)
        field = attrs.fields(kind)[0].name
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(instance, field, None)


# Simplification


def test_dead_code_is_dropped() -> None:
    def fun(x: Any, y: Any) -> Any:
        jnp.exp(y)
        used = jnp.sin(x)
        jnp.cos(used)
        return used, x * y

    jaxpr = staged(fun, 1.0, 2.0)
    assert len(jaxpr.eqns) == 4
    live = dce(jaxpr)
    assert [e.primitive.name for e in live.eqns] == ["sin", "mul"]
    assert live.in_binders == jaxpr.in_binders
    only_first = dce(jaxpr, [True, False])
    assert [e.primitive.name for e in only_first.eqns] == ["sin"]
    assert len(only_first.outs) == 1
    typecheck_jaxpr(live)
    typecheck_jaxpr(only_first)
    assert dce(live) == live


def test_loops_drop_what_only_results_not_used_need() -> None:
    def fun(x: Any, y: Any, z: Any) -> Any:
        def body(state: Any) -> Any:
            i, a, b, c = state
            return i + 1, jnp.sin(a) * y, b * a, jnp.cos(c) * z

        return lax.while_loop(lambda s: s[0] < 3, body, (0, x, x, x))

    jaxpr = staged(fun, 1.0, 2.0, 3.0)
    for used, states in (((0, 0, 0, 1), 2), ((0, 1, 0, 0), 2), ((0, 0, 1, 0), 3), ((1,) * 4, 4)):
        smaller = dce(jaxpr, [bool(mark) for mark in used])
        typecheck_jaxpr(smaller)
        assert [len(eqn.out_binders) for eqn in smaller.eqns] == [states]
        args = [jnp.asarray(value) for value in (1.0, 2.0, 3.0)]
        full = [x for x, mark in zip(eval_jaxpr(jaxpr, args), used, strict=True) if mark]
        np.testing.assert_array_equal(eval_jaxpr(smaller, args), full)


def test_simplified_programs_compute_the_same() -> None:
    def fun(x: Any) -> Any:
        y = jnp.sin(x) * jnp.cos(x)
        jnp.exp(y)
        return jnp.sum(grad(lambda z: jnp.sum(jnp.sin(z) * z))(y) + jnp.sin(x))

    x = jnp.asarray(np.linspace(0, 1, 4, dtype=np.float32))
    jaxpr = staged(grad(fun), x)
    smaller = dce(jaxpr)
    typecheck_jaxpr(smaller)
    assert len(smaller.eqns) < len(jaxpr.eqns)
    np.testing.assert_array_equal(eval_jaxpr(smaller, [x])[0], eval_jaxpr(jaxpr, [x])[0])


def test_results_of_eval_jaxpr_may_be_parameters_and_literals() -> None:
    jaxpr = staged(lambda x: (x, 2.0), 1.0)
    results: list[Array] = eval_jaxpr(jaxpr, [jnp.asarray(7.0)])
    assert [float(x) for x in results] == [7.0, 2.0]


def test_parameters_read_as_those_of_jax_do() -> None:
    def read(lib: Any) -> Any:
        def total(x: Any) -> Any:
            return lib.lax.scan(lambda c, a: (c + a, None), x, lib.numpy.arange(3.0))[0]

        params = lib.make_jaxpr(total)(1.0).eqns[-1].params
        shared = {"jaxpr", "length", "reverse", "unroll"}
        names = shared & set(params)
        assert dict(params.items()) == dict(zip(params.keys(), params.values(), strict=True))
        some = {name: value for name, value in params.items() if name in names - {"jaxpr"}}
        return some, "length" in params, "missing" in params, params.get("missing", 3)

    assert read(tinyjax) == read(jax)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "complex64", "bfloat16"])
def test_short_texts_of_types(dtype: str) -> None:
    def texts(lib: Any) -> list[str]:
        aval = lib.typeof(lib.numpy.zeros((3, 2), dtype))
        shape = lib.jit(lambda x: x).eval_shape(lib.numpy.zeros((3, 2), dtype))
        return [aval.str_short(), aval.str_short(short_dtypes=True), repr(shape)]

    assert texts(tinyjax) == texts(jax)


@pytest.mark.parametrize("lib", [tinyjax, jax], ids=["tinyjax", "jax"])
def test_shapes_of_results_are_weak_where_the_results_are(lib: Any) -> None:
    assert lib.jit(lambda x: x + 1).eval_shape(1.0).weak_type
    assert repr(lib.eval_shape(lambda x: x, 1.0)).endswith("dtype=float32, weak_type=True)")


def test_a_jaxpr_in_a_notebook() -> None:
    def f(x: Any, steps: int) -> Any:
        for _ in range(steps):
            x = jnp.where(x < 1, jnp.sin(x), x)
        return x

    closed = tinyjax.make_jaxpr(lambda x: tinyjax.jit(f, static_argnums=1)(x, 2))(1.0)
    text = closed._repr_html_()
    assert text == closed.jaxpr._repr_html_()
    bare = html.unescape(re.sub(r"</?(?:pre|span)[^>]*>", "", text))
    assert bare == print_jaxpr(closed.jaxpr, colour=False)
    assert text.count("<span ") == text.count("</span>") > 0
    long = tinyjax.make_jaxpr(lambda x: f(x, 1_000))(1.0)._repr_html_()
    assert "more lines" in long
    assert len(long) < 40_000
    assert long.endswith(" }</pre>")


def test_results_of_a_conditional_depend_on_what_chooses_and_on_what_branches_use() -> None:
    def f(chosen: Any, x: Any, y: Any) -> Any:
        return tinyjax.lax.cond(chosen, lambda x, y: (x, 1.0), lambda x, y: (x + y, 2.0), x, y)

    jaxpr = make_jaxpr(f)(True, 1.0, 2.0).jaxpr
    found = [depends(jaxpr, [i == place for i in range(3)]) for place in range(3)]
    assert found == [(True, True), (True, False), (True, False)]

"""Exported programs: used without their source, under transformations, and when damaged."""

import json
import pickle
import re
import subprocess
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import attrs
import jax
import jax.export
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import jit, lax, tree
from tinyjax.core.values.avals import ShapeDtypeStruct
from tinyjax.errors import ArgumentError, DifferentiationError, ExportError
from tinyjax.export import (
    DisabledSafetyCheck,
    Exported,
    deserialize,
    export,
    format,
    maximum_supported_calling_convention_version,
    register_namedtuple_serialization,
    register_pytree_node_serialization,
    symbolic_shape,
)
from tinyjax.scipy import linalg as slinalg

RNG: Final = np.random.default_rng(0)
W: Final = RNG.normal(size=(3, 2))
PARAMS: Final = {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=2)}
X: Final = RNG.normal(size=(4, 3))


def network(params: Any, x: Any, *, scale: Any) -> Any:
    hidden = jit(jnp.tanh)(x @ params["w"] + params["b"] + W[0])
    return {"y": hidden * scale, "n": scale + 1}


def loaded(fun: Any, *args: Any, vjp_order: int = 0, **kwargs: Any) -> Exported:
    return deserialize(export(jit(fun))(*args, **kwargs).serialize(vjp_order))


@pytest.fixture(autouse=True)
def registrations_stay_as_they_were() -> Iterator[None]:
    before = dict(format._by_type), dict(format._by_name)
    yield
    for table, was in zip((format._by_type, format._by_name), before, strict=True):
        unchecked(table).clear()
        unchecked(table).update(was)


# Calling


def test_a_program_is_what_it_was() -> None:
    exported = export(jit(network))(PARAMS, X, scale=3)
    there = deserialize(exported.serialize())
    for found in (exported, there):
        assert found.fun_name == "network"
        assert found.in_tree == tree.structure(((PARAMS, X), {"scale": 3}))
        assert found.out_tree == tree.structure({"y": 0, "n": 0})
        assert [str(a) for a in found.in_avals] == [
            *("float64[2]", "float64[3,2]", "float64[4,3]", "int32[]")
        ]
        assert [str(a) for a in found.out_avals] == ["int32[]", "float64[4,2]"]
        assert "float64[4,2]" in repr(found)
        assert "stablehlo.tanh" in found.mlir_module()
        out = found.call(PARAMS, X, scale=3)
        expected = np.tanh(X @ PARAMS["w"] + PARAMS["b"] + W[0]) * 3
        np.testing.assert_allclose(out["y"], expected, rtol=1e-12)
        assert int(out["n"]) == 4
    assert there.serialize() == exported.serialize()


@pytest.mark.slow
def test_it_runs_where_there_is_nothing_of_its_source(tmp_path: Path) -> None:
    data = export(jit(network))(PARAMS, X, scale=3).serialize(vjp_order=1)
    (tmp_path / "program").write_bytes(data)
    np.savez(tmp_path / "arrays", x=X, w=PARAMS["w"], b=PARAMS["b"])
    script = """
import sys
import numpy as np
import tinyjax
from tinyjax import export

program = export.deserialize(open("program", "rb").read())
arrays = np.load("arrays.npz")
params = {"w": arrays["w"], "b": arrays["b"]}
out = program.call(params, arrays["x"], scale=3)
slope = tinyjax.grad(lambda p: program.call(p, arrays["x"], scale=3)["y"].sum())(params)
np.savez("results", y=out["y"], n=out["n"], **slope)
assert "jax" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], cwd=tmp_path, check=True)
    results = np.load(tmp_path / "results.npz")
    expected = jit(network, tier="compiled")(PARAMS, X, scale=3)
    np.testing.assert_array_equal(results["y"], expected["y"])
    assert results["n"] == 4
    y = np.tanh(X @ PARAMS["w"] + PARAMS["b"] + W[0])
    np.testing.assert_allclose(results["w"], X.T @ (3 * (1 - y**2)), rtol=1e-10)
    np.testing.assert_allclose(results["b"], (3 * (1 - y**2)).sum(0), rtol=1e-10)


def test_types_may_stand_for_arguments() -> None:
    there = loaded(lambda x: x * 2, ShapeDtypeStruct((3,), np.float32))
    np.testing.assert_array_equal(there.call(np.ones(3, np.float32)), np.full(3, 2.0))


def test_arrays_closed_over_are_kept_as_they_are() -> None:
    large = RNG.normal(size=(100, 100))
    narrow = jnp.asarray([1.5, -2.0], jnp.bfloat16)
    exported = export(jit(lambda x: (x @ large, narrow * 2)))(X[:, :1] @ np.ones((1, 100)))
    data = exported.serialize()
    assert len(data) < large.nbytes + 5000  # as data, not as text in the program
    out, doubled = deserialize(data).call(X[:, :1] @ np.ones((1, 100)))
    np.testing.assert_allclose(out, X[:, :1] @ np.ones((1, 100)) @ large, rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(doubled, np.float64), [3.0, -4.0])
    assert doubled.dtype == jnp.bfloat16


@pytest.mark.parametrize("shape", [(), (0, 2), (3,)])
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "bfloat16", "float16", "float64", "complex64"]
)
def test_types(shape: tuple[int, ...], dtype: str) -> None:
    x = jnp.ones(shape, dtype)
    captured = jnp.asarray(RNG.integers(0, 2, shape)).astype(dtype)
    there = loaded(lambda x: (x, captured), x)
    for found, expected in zip(there.call(x), (x, captured), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_weak_types_stay_weak() -> None:
    there = loaded(lambda x, y: (x * 2, y * 2), 1.0, jnp.float32(1.0))
    weak, strong = there.call(1.0, jnp.float32(1.0))
    assert weak.weak_type
    assert not strong.weak_type


def test_control_flow_and_special_functions() -> None:
    from tinyjax.scipy import special

    def fun(x: Any) -> Any:
        total = lax.fori_loop(0, 5, lambda i, s: s + special.erf(x) * i, x)
        return lax.cond(x[0] > 0, lambda: jnp.sort(total), lambda: special.gammaln(x))

    for sign in (1.0, -1.0):
        x = sign * np.array([0.5, -0.2, 2.0])
        there = loaded(fun, x)
        assert "chlo.erf %" not in there.mlir_module()  # of what no promise is made
        np.testing.assert_allclose(there.call(x), jit(fun)(x), rtol=1e-12)


def test_linear_algebra() -> None:
    a = np.array([[2.0, 1.0], [1.0, 3.0]])

    def fun(a: Any) -> Any:
        return jnp.linalg.svd(a)[1], jit(jnp.linalg.det)(a)

    there = loaded(fun, a, vjp_order=1)
    for call in (there.call, jit(there.call)):
        values, determinant = call(a)
        np.testing.assert_allclose(values, (5 + np.array([1, -1]) * np.sqrt(5)) / 2, rtol=1e-12)
        np.testing.assert_allclose(determinant, 5.0, rtol=1e-12)
    slope = tinyjax.grad(lambda a: there.call(a)[1])(a)
    np.testing.assert_allclose(slope, [[3.0, -1.0], [-1.0, 2.0]], rtol=1e-12)


def test_static_arguments_are_fixed_and_left_out() -> None:
    power = jit(lambda x, n: x**n, static_argnums=1)
    there = deserialize(export(power)(np.array([2.0]), 3).serialize())
    np.testing.assert_array_equal(there.call(np.array([2.0])), [8.0])


def test_donated_arguments() -> None:
    add = jit(lambda x, y: x + y + W[0, 0], donate_argnums=1)
    there = deserialize(export(add)(X, X).serialize())
    assert there.donated == (1,)
    x, y = jnp.asarray(X), jnp.asarray(X)
    np.testing.assert_allclose(there.call(x, y), 2 * X + W[0, 0], rtol=1e-12)
    assert y.is_deleted()
    assert not x.is_deleted()
    # within another program nothing is given up
    kept = jnp.asarray(X)
    jit(there.call)(kept, kept)
    assert not kept.is_deleted()


# Trees


class Interval(NamedTuple):
    low: Any
    high: Any


@tree.register_dataclass
@attrs.frozen
class Layer:
    weight: Any
    name: str = attrs.field(metadata={"static": True})


class Box:
    def __init__(self, content: Any, label: complex) -> None:
        self.content, self.label = content, label


tree.register_pytree_node(Box, lambda b: ((b.content,), b.label), lambda label, c: Box(c[0], label))


@pytest.mark.parametrize(
    "example",
    [
        1.0,
        (),
        [],
        {},
        None,
        (1.0, [2.0, {"a": 3.0, "b": (None,)}]),
        {1: 1.0, 2: 2.0},
        {(1, "a"): 1.0, (2, "b"): 2.0},
        {True: 1.0, False: 2.0},
        {0.5: 1.0, float("inf"): 2.0},
        {"a": {"b": {}}, "é\n": 1.0},
        OrderedDict([("z", 1.0), ("a", (2.0,))]),
        defaultdict(float, a=1.0),
        defaultdict(None, a=1.0),
    ],
    ids=repr,
)
def test_trees_of_built_in_containers(example: Any) -> None:
    there = loaded(lambda x: (x, [x]), example)
    assert there.in_tree == tree.structure(((example,), {}))
    out = there.call(example)
    assert tree.structure(out) == tree.structure((example, [example]))
    assert [float(x) for x in tree.leaves(out)] == [float(x) for x in tree.leaves([example] * 2)]
    if isinstance(example, defaultdict):
        assert out[0].default_factory is example.default_factory


def test_a_tree_deeper_than_python_recurses() -> None:
    deep: Any = 1.0
    for _ in range(5000):
        deep = [deep]
    there = loaded(lambda x: x, deep)
    assert tree.leaves(there.call(deep)) == [1.0]


def test_classes_that_have_a_name() -> None:
    assert register_namedtuple_serialization(Interval, serialized_name="interval") is Interval
    assert register_pytree_node_serialization(Layer, serialized_name="layer") is Layer
    register_pytree_node_serialization(
        Box,
        serialized_name="box",
        serialize_auxdata=lambda label: repr(label).encode(),
        deserialize_auxdata=lambda data: complex(data.decode()),
    )
    given = Interval(Layer(X, "first"), Box([1.0], 2j))
    there = loaded(lambda i: Interval(i.high, i.low), given)
    assert there.in_tree == tree.structure(((given,), {}))
    out = there.call(given)
    assert isinstance(out, Interval)
    assert isinstance(out.low, Box)
    assert out.low.label == 2j
    np.testing.assert_array_equal(out.high.weight, X)
    assert out.high.name == "first"
    said = r"for Layer with static name='first' at args\[0\]\.low, .* name='second'"
    with raises(ArgumentError, match=said):
        there.call(Interval(Layer(X, "second"), Box([1.0], 2j)))


def test_named_tuples_of_the_package_need_no_name() -> None:
    matrix = X[:3] @ X[:3].T
    there = loaded(jnp.linalg.eigh, matrix)
    found = there.call(matrix)
    assert type(found) is jnp.linalg.EighResult
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(matrix), 1e-6, 1e-6)
    data = format.encode_tree(there.out_tree, "the results")
    data[-1][2][1] = "NoResult"
    with raises(ExportError, match=r"numpy.linalg.NoResult, which this version"):
        format.decode_tree(data)


def test_pickling() -> None:
    exported = export(jit(network))(PARAMS, X, scale=3)
    there = pickle.loads(pickle.dumps(exported))
    np.testing.assert_array_equal(
        there.call(PARAMS, X, scale=3)["y"], exported.call(PARAMS, X, scale=3)["y"]
    )
    assert not there.has_vjp()


def test_classes_that_have_none() -> None:
    for example, function in (
        (Interval(1.0, 2.0), "register_namedtuple_serialization"),
        (Layer(1.0, "a"), "register_pytree_node_serialization"),
    ):
        for fun, which in ((lambda x: 1.0, "the arguments"), (lambda x: x, "the arguments")):
            with raises(ExportError, match=f"{which} hold a .*{function}"):
                export(jit(fun))(example).serialize()
    with raises(ExportError, match="the results hold a Interval"):
        export(jit(lambda x: Interval(x, x)))(1.0).serialize()


def test_a_name_that_is_not_known_where_it_is_loaded() -> None:
    register_namedtuple_serialization(Interval, serialized_name="interval")
    data = export(jit(lambda x: x))(Interval(1.0, 2.0)).serialize()
    format._by_name.clear()
    with raises(ExportError, match="nodes called 'interval'"):
        deserialize(data)


class Colour(str):
    pass


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({Colour("red"): 1.0}, "a key of the arguments is 'red', a Colour"),
        ({b"a": 1.0}, "a key of the arguments is b'a', a bytes"),
        (defaultdict(unchecked(Interval), a=1.0), "a defaultdict of"),
        (tinyjax.tree.Partial(jnp.sin, 1.0), "the arguments hold a Partial"),
    ],
    ids=["key of a class of its own", "key of bytes", "defaultdict", "Partial"],
)
def test_trees_that_another_process_would_not_know(example: Any, message: str) -> None:
    with raises(ExportError, match=message):
        export(jit(lambda x: 1.0))(example).serialize()


def test_registering_twice_and_what_is_no_node() -> None:
    register_namedtuple_serialization(Interval, serialized_name="interval")
    with raises(ArgumentError, match="already registered"):
        register_namedtuple_serialization(Interval, serialized_name="other")
    with raises(ArgumentError, match="already registered"):
        register_pytree_node_serialization(Layer, serialized_name="interval")
    with raises(ArgumentError, match="is not a pytree node"):
        register_pytree_node_serialization(Colour, serialized_name="colour")
    with raises(ArgumentError, match="named tuples"):
        register_namedtuple_serialization(Layer, serialized_name="layer")
    with raises(ArgumentError, match="together, or neither"):
        register_pytree_node_serialization(
            Layer, serialized_name="layer", serialize_auxdata=lambda _: b""
        )


# Under transformations

THERE: Final = loaded(network, PARAMS, X, scale=3.0, vjp_order=2)


def loss(call: Callable[..., Any], params: Any, x: Any) -> Any:
    return jnp.sum(call(params, x, scale=3.0)["y"] ** 2)


def close(actual: Any, expected: Any) -> None:
    tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), actual, expected)


WAYS: Final[dict[str, Callable[[Callable[..., Any]], Any]]] = {
    "jit": lambda call: jit(lambda p, x: loss(call, p, x))(PARAMS, X),
    "jit, twice": lambda call: jit(
        lambda p, x: loss(call, p, x) + jit(lambda: loss(call, p, 2 * x))()
    )(PARAMS, X),
    "grad": lambda call: tinyjax.grad(lambda p: loss(call, p, X))(PARAMS),
    "grad by both": lambda call: tinyjax.grad(lambda p, x: loss(call, p, x), (0, 1))(PARAMS, X),
    "jit of grad": lambda call: jit(tinyjax.grad(lambda p: loss(call, p, X)))(PARAMS),
    "grad of jit": lambda call: tinyjax.grad(jit(lambda p: loss(call, p, X)))(PARAMS),
    "vmap": lambda call: tinyjax.vmap(lambda x: loss(call, PARAMS, x))(np.stack([X, 2 * X])),
    "vmap of jit": lambda call: tinyjax.vmap(jit(lambda x: loss(call, PARAMS, x)), 1)(
        np.stack([X, 2 * X], 1)
    ),
    "vmap of grad": lambda call: tinyjax.vmap(tinyjax.grad(lambda x: loss(call, PARAMS, x)))(
        np.stack([X, 2 * X])
    ),
    "grad of vmap": lambda call: tinyjax.grad(
        lambda p: jnp.sum(
            tinyjax.vmap(lambda x: loss(call, p, x))(jnp.stack([X, 2 * X])) * jnp.arange(2.0)
        )
    )(PARAMS),
    "vmap of jit of grad": lambda call: tinyjax.vmap(
        jit(tinyjax.grad(lambda x: loss(call, PARAMS, x)))
    )(np.stack([X, 2 * X])),
    "jacrev of grad": lambda call: tinyjax.jacrev(
        tinyjax.grad(lambda b: loss(call, {**PARAMS, "b": b}, X))
    )(PARAMS["b"]),
    "in a loop": lambda call: lax.fori_loop(
        0, 3, lambda i, x: x + call(PARAMS, x, scale=3.0)["y"][:, :1], jnp.asarray(X)
    ),
    "grad of a loop": lambda call: tinyjax.grad(
        lambda x: jnp.sum(
            lax.scan(lambda x, _: (x * call(PARAMS, x, scale=3.0)["y"][:, :1], None), x, None, 3)[0]
        )
    )(X),
    "checkpoint": lambda call: tinyjax.grad(tinyjax.checkpoint(lambda p: loss(call, p, X)))(PARAMS),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", list(WAYS))
def test_transformed_it_is_as_the_function_itself(way: str) -> None:
    close(WAYS[way](THERE.call), WAYS[way](network))


def test_within_a_program_it_is_one_function() -> None:
    text = jit(lambda x: THERE.call(PARAMS, x, scale=3.0)["y"][0, 0] + loss(THERE.call, PARAMS, x))
    lowered = text.lower(X).as_text()
    assert lowered.count("stablehlo.tanh") == 1
    assert lowered.count("func.func") == 3


def test_a_jaxpr_shows_the_name_and_not_the_bytes() -> None:
    there = loaded(jnp.sin, 1.0)
    assert "call_exported [ program=sin ] a" in str(tinyjax.make_jaxpr(there.call)(1.0))


def test_an_exported_program_in_an_exported_program() -> None:
    outer = loaded(lambda x: loss(THERE.call, PARAMS, x), X, vjp_order=1)
    close(outer.call(X), loss(network, PARAMS, X))
    close(tinyjax.grad(outer.call)(X), tinyjax.grad(lambda x: loss(network, PARAMS, x))(X))


def test_integers_have_no_derivative() -> None:
    def fun(x: Any, i: Any) -> Any:
        return x[i] * x, i + 1

    there = loaded(fun, np.arange(3.0), 1, vjp_order=1)
    for call in (fun, there.call):
        slope = tinyjax.grad(lambda x, c=call: jnp.sum(c(x, 1)[0]))(np.arange(3.0))
        np.testing.assert_allclose(slope, [1.0, 3.0 + 1.0, 1.0])
    assert [str(a) for a in there.vjp().in_avals] == ["float64[3]", "int32[]", "float64[3]"]
    assert [str(a) for a in there.vjp().out_avals] == ["float64[3]"]


def test_the_derivative_as_a_program() -> None:
    exported = export(jit(jnp.sin))(1.0)
    for found in (exported, deserialize(exported.serialize(vjp_order=1))):
        assert found.has_vjp()
        (slope,) = found.vjp().call(1.0, 2.0)
        np.testing.assert_allclose(slope, 2 * np.cos(1.0), rtol=1e-6)


def test_orders_of_derivatives() -> None:
    exported = export(jit(jnp.sin))(1.0)
    for order in range(4):
        there = deserialize(exported.serialize(vjp_order=order))
        fun = there.call
        for _ in range(order):
            fun = tinyjax.grad(fun)
        expected = (np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x))[order](1.0)
        np.testing.assert_allclose(fun(1.0), expected, rtol=1e-5)
        with raises(DifferentiationError, match="without its derivative"):
            tinyjax.grad(fun)(1.0)


# Mistakes


def test_a_derivative_that_was_not_exported() -> None:
    there = loaded(jnp.sin, 1.0)
    assert not there.has_vjp()
    with raises(DifferentiationError, match=r"'sin' .*serialize\(vjp_order=1\)"):
        tinyjax.grad(there.call)(1.0)
    with raises(ExportError, match="without its derivative"):
        there.vjp()
    with raises(ExportError, match="without its derivative"):
        there.serialize(vjp_order=1)


def test_forward_mode() -> None:
    there = loaded(jnp.sin, 1.0, vjp_order=1)
    for fun in (there.call, jit(there.call)):
        for run in (
            lambda f=fun: tinyjax.jvp(f, (1.0,), (1.0,)),
            lambda f=fun: jit(tinyjax.jacfwd(f))(1.0),
            lambda f=fun: tinyjax.linearize(f, 1.0)[1](1.0),
            lambda f=fun: tinyjax.vmap(tinyjax.linearize(f, 1.0)[1])(np.ones(2, np.float32)),
        ):
            with raises(DifferentiationError, match=r"'sin' .* reverse mode"):
                run()


def test_arguments_of_another_kind() -> None:
    there = loaded(network, PARAMS, X, scale=3)
    with raises(ArgumentError, match=r"'network' was exported for .*'scale'\] at kwargs, but"):
        there.call(PARAMS, X)
    with raises(ArgumentError, match=r"exported for float64\[4,3\] at args\[1\]"):
        there.call(PARAMS, X[1:], scale=3)
    with raises(ArgumentError, match=r"exported for float64\[2\] at args\[0\]\['b'\]"):
        there.call({**PARAMS, "b": PARAMS["b"].astype(np.float32)}, X, scale=3)
    with raises(ArgumentError, match=r"exported for int32\[\] at kwargs\['scale'\]"):
        jit(lambda scale: there.call(PARAMS, X, scale=scale))(3.0)


def test_programs_that_call_python() -> None:
    def prints(x: Any) -> Any:
        tinyjax.debug.print("{}", x)
        return x

    def calls(x: Any) -> Any:
        return tinyjax.pure_callback(np.sin, ShapeDtypeStruct((), np.float32), x)

    for fun in (prints, calls, jit(prints)):
        with raises(ExportError, match=r"'\w+' calls Python functions"):
            export(jit(fun))(np.float32(1.0))


def test_a_program_that_closes_over_a_traced_value() -> None:
    def outer(x: Any) -> Any:
        export(jit(lambda y: x * y))(1.0)
        return x

    with raises(ExportError, match="closes over a value that is being traced"):
        tinyjax.grad(outer)(1.0)


def test_functions_of_the_library() -> None:
    exporter: Any = export
    exported = exporter(jnp.sin)(X)
    np.testing.assert_allclose(exported.call(X), np.sin(X), rtol=1e-6)
    assert exported.fun_name == "sin"


@pytest.mark.wrong_types
def test_what_cannot_be_exported_or_loaded() -> None:
    with raises(ArgumentError, match="export takes a jitted function"):
        export(unchecked(lambda x: x))
    with raises(ArgumentError, match="deserialize takes bytes, but got a str"):
        deserialize(unchecked("program"))


DATA: Final = export(jit(lambda x: x + W[0]))(X[0, :2]).serialize()


def test_every_byte_counts() -> None:
    for place in range(len(DATA)):
        with pytest.raises(ExportError):
            deserialize(DATA[:place] + bytes([DATA[place] ^ 1]) + DATA[place + 1 :])


def test_every_truncation_is_found_out() -> None:
    for size in range(len(DATA)):
        with pytest.raises(ExportError):
            deserialize(DATA[:size])
    with pytest.raises(ExportError):
        deserialize(DATA + b"x")


def test_bytes_that_are_something_else() -> None:
    for other in (b"", b"PK\x03\x04", b"TINYJAXC" + bytes(100)):
        with raises(ExportError, match="no exported program"):
            deserialize(other)


def resealed(change: Callable[[dict[str, Any]], None], version: int = format.VERSION) -> bytes:
    """The program with another header, and a checksum that fits."""
    size = format._FRAME.size
    _, _, length = format._FRAME.unpack_from(DATA)
    header = json.loads(DATA[size : size + length])
    change(header)
    told = json.dumps(header).encode()
    body = format._FRAME.pack(format._MAGIC, version, len(told)) + told + DATA[size + length : -32]
    return body + sha256(body).digest()


def test_another_version_of_the_format() -> None:
    deserialize(resealed(lambda header: None))
    with raises(ExportError, match="version 4 of the format, and here only version 3"):
        deserialize(resealed(lambda header: None, version=4))


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("name"),
        lambda header: header.update(program=1 << 40),
        lambda header: header.update(program=10),
        lambda header: header.update(consts=[]),
        lambda header: header.update(in_avals=[]),
        lambda header: header.update(in_avals=[["float65", [2], False]]),
        lambda header: header.update(in_tree=[["*", 0, None], ["set", 1, None]]),
        lambda header: header.update(in_tree=[["tuple", 1, None]]),
        lambda header: header.update(in_tree=3),
        lambda header: header.update(vjp=5),
    ],
)
def test_a_header_that_makes_no_sense(change: Callable[[dict[str, Any]], None]) -> None:
    with raises(ExportError, match="does not hold what it should"):
        deserialize(resealed(change)).mlir_module()


def test_more_elements_than_memory_has_addresses() -> None:
    def change(header: dict[str, Any]) -> None:
        header["in_avals"][0][1] = [1 << 32, 1 << 32]

    with raises(ExportError, match="more elements than memory has addresses"):
        deserialize(resealed(change))


def test_another_byte_order() -> None:
    other = {"little": "big", "big": "little"}[sys.byteorder]
    with raises(ExportError, match=f"on a {other}-endian machine"):
        deserialize(resealed(lambda header: header.update(byteorder=other)))


def test_a_module_that_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    exported = deserialize(DATA)
    broken = attrs.evolve(exported, portable="no module")
    with raises(ExportError, match="the program in what was exported cannot be read"):
        broken.call(X[0, :2])
    capfd.readouterr()  # MLIR writes its opinion to standard error


# Programs from elsewhere

KEY: Final = b"a secret of sixteen bytes or more"


def test_a_signature() -> None:
    exported = export(jit(lambda x: jnp.sum(x**2)))(X[0])
    signed = exported.serialize(vjp_order=1, key=KEY)
    there = deserialize(signed, key=KEY)
    np.testing.assert_allclose(tinyjax.grad(there.call)(X[0]), 2 * X[0])
    with raises(ExportError, match="is signed: give the key"):
        deserialize(signed)
    with raises(ExportError, match="not signed with this key, or was changed"):
        deserialize(signed, key=KEY[1:])
    with raises(ExportError, match="not signed, and a key was given"):
        deserialize(exported.serialize(), key=KEY)
    for place in range(8, len(signed), 97):
        changed = signed[:place] + bytes([signed[place] ^ 1]) + signed[place + 1 :]
        with pytest.raises(ExportError):
            deserialize(changed, key=KEY)


def retyped(exported: Exported, old: str, new: str) -> str:
    """The message that refuses a program in which something was put in another's place."""
    assert old in exported.portable
    with raises(ExportError, match="refused") as told:
        attrs.evolve(exported, portable=exported.portable.replace(old, new)).mlir_module()
    return told.value.message


def test_a_program_of_other_types_than_it_says() -> None:
    exported = export(jit(jnp.sin))(X[0])
    message = retyped(exported, "3x!vhlo", "4x!vhlo")
    assert "of type (tensor<4xf64>) -> tensor<4xf64>, and is said to be" in message


def test_a_program_that_reaches_outside() -> None:
    exported = export(jit(jnp.linalg.cholesky))(np.eye(3))
    assert "calls 'system'" in retyped(exported, "lapack_dpotrf_ffi", "system")
    assert "'xla_ffi_python_cpu_callback'" in retyped(
        exported, "lapack_dpotrf_ffi", "xla_ffi_python_cpu_callback"
    )


def test_brackets_that_are_nested_too_deep() -> None:
    exported = export(jit(lambda x: x * 2))(X[0])
    for text in ("[" * 10**6, "(" * 600, "// ]\n[" * 600, "-" * 10**6):
        with raises(ExportError, match=r"nested|minus"):
            attrs.evolve(exported, portable=text).mlir_module()


@pytest.mark.parametrize(
    ("element", "other"),
    [
        ("dense<2.000000e+00>", "dense<(2.0,0.0)>"),
        ("dense<2.000000e+00>", "dense\n< // of <\n(2.0,0x7FC00000)>"),
    ],
)
def test_pairs_that_are_not_complex(element: str, other: str) -> None:
    exported = export(jit(lambda x: x * 2))(X[0])
    assert "pairs of numbers" in retyped(exported, element, other)
    assert "pairs of numbers" in retyped(exported, element + " : ", other + " : !f //complex")
    export(jit(lambda x: x * (2 + 1j)))(X[0]).mlir_module()


def matrices(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape) + (np.eye(shape[-1]) if shape[-1] == shape[-2] else 0)


#: Everything that calls LAPACK, and what it is called with.
LAPACK: Final[dict[str, tuple[Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]]] = {
    "cholesky": (jnp.linalg.cholesky, (np.eye(3),)),
    "eig": (jnp.linalg.eig, (matrices(3, 3),)),
    "eig of complex": (jnp.linalg.eig, (matrices(3, 3) + 0j,)),
    "eigh": (jnp.linalg.eigh, (matrices(2, 3, 3),)),
    "eigh of complex": (jnp.linalg.eigh, (matrices(3, 3) + 0j,)),
    "hessenberg": (slinalg.hessenberg, (matrices(3, 3),)),
    "householder": (lax.linalg.householder_product, (matrices(4, 3), matrices(1, 2)[0])),
    "lstsq": (lambda a, b: jnp.linalg.lstsq(a, b)[0], (matrices(4, 3), matrices(4, 2))),
    "qr": (jnp.linalg.qr, (matrices(2, 4, 3),)),
    "qr, complete": (lambda a: jnp.linalg.qr(a, mode="complete"), (matrices(4, 3),)),
    "qr, pivoting": (lambda a: slinalg.qr(a, pivoting=True), (matrices(4, 3),)),
    "qr of complex": (jnp.linalg.qr, (matrices(3, 4) + 0j,)),
    "qr_multiply": (slinalg.qr_multiply, (matrices(4, 3), matrices(2, 4))),
    "qr_multiply, left": (
        lambda a, c: slinalg.qr_multiply(a, c, "left"),
        (matrices(4, 3), matrices(3, 2)),
    ),
    "schur": (slinalg.schur, (matrices(3, 3),)),
    "schur of complex": (slinalg.schur, (matrices(3, 3) + 0j,)),
    "solve": (jnp.linalg.solve, (matrices(3, 3), matrices(3, 2))),
    "solve_triangular": (slinalg.solve_triangular, (matrices(3, 3), matrices(3, 2))),
    "svd": (jnp.linalg.svd, (matrices(3, 4),)),
    "svd, reduced": (lambda a: jnp.linalg.svd(a, full_matrices=False), (matrices(2, 4, 3),)),
    "svd, values": (lambda a: jnp.linalg.svd(a, compute_uv=False), (matrices(3, 4),)),
    "tridiagonal": (lax.linalg.tridiagonal, (matrices(3, 3),)),
    "tridiagonal of complex": (lax.linalg.tridiagonal, (matrices(3, 3) + 0j,)),
    "tridiagonal_solve": (
        lax.linalg.tridiagonal_solve,
        (matrices(1, 3)[0], matrices(1, 3)[0], matrices(1, 3)[0], matrices(3, 2)),
    ),
}


@pytest.mark.parametrize("name", LAPACK)
def test_calls_of_lapack_are_of_its_shapes(name: str) -> None:
    """Any other shape of a result would have LAPACK write beyond it."""
    fun, args = LAPACK[name]
    exported = export(jit(fun))(*args)
    assert "custom_call" in deserialize(exported.serialize()).mlir_module()
    call = re.compile(r'"vhlo.custom_call_v1".*$', re.MULTILINE)
    (whole, *_) = call.findall(exported.portable)
    results = whole.rindex("->")
    sizes = [*re.finditer(r"\d+(?=x)", whole[results:])]
    for size in sizes:
        smaller = whole[: results + size.start()] + "1" + whole[results + size.end() :]
        broken = exported.portable.replace(whole, smaller)
        if size[0] != "1":
            with pytest.raises(ExportError):
                attrs.evolve(exported, portable=broken).mlir_module()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64"])
def test_no_remainder_of_an_integer_is_by_zero(dtype: str) -> None:
    """XLA would end the process where it folds one of constants."""
    divisors = np.array([3, 0, 5], dtype)
    x = jnp.asarray(np.array([7, 8, 9], dtype))
    by_constants = export(jit(lambda x: lax.rem(x, divisors)))(x)
    np.testing.assert_array_equal(deserialize(by_constants.serialize()).call(x), [1, 8, 4])
    by_number = export(jit(lambda x: x % 3))(x)
    np.testing.assert_array_equal(deserialize(by_number.serialize()).call(x), [1, 2, 0])
    exported = export(jit(lax.rem))(x, divisors)
    np.testing.assert_array_equal(deserialize(exported.serialize()).call(x, divisors), [1, 8, 4])
    remainder = re.search(r'"vhlo.remainder_v1"\((%\w+), (%\w+)\)', exported.portable)
    zero = re.search(r"(%\w+) = .*dense<0>", exported.portable)
    assert remainder is not None
    assert zero is not None
    for divisor in ("%arg1", zero[1], remainder[1]):
        unguarded = remainder[0].replace(f", {remainder[2]})", f", {divisor})")
        assert "divisor may be zero" in retyped(exported, remainder[0], unguarded)
    assert "divisor may be zero" in retyped(exported, "direction_v1 EQ", "direction_v1 NE")
    assert "divisor may be zero" in retyped(exported, "dense<1>", "dense<0>")


def test_transforms_are_of_the_lengths_of_their_arrays() -> None:
    """The routine that XLA calls ends the process at any other."""

    def transforms(x: Any) -> Any:
        both = jnp.fft.fft(x), jnp.fft.rfft(x.real), jnp.fft.irfft(x), jnp.fft.ifft2(x)
        return *both, jnp.fft.rfftn(x.real), jnp.fft.irfftn(x), jnp.fft.irfft(x, n=5)

    exported = export(jit(transforms))(np.ones((2, 4, 6), np.complex64))
    assert deserialize(exported.serialize()).mlir_module().count("stablehlo.fft") > 6
    for length in re.finditer(r"fft_length = .*?dense<(.*?)>", exported.portable):
        for wrong in ("65536", "-1", "0", "[[2]]", "[6, 4]"):
            portable = exported.portable
            broken = portable[: length.start(1)] + wrong + portable[length.end(1) :]
            with pytest.raises(ExportError):
                attrs.evolve(exported, portable=broken).mlir_module()


@pytest.mark.parametrize("spatial", [1, 2])
def test_convolutions_have_the_axes_of_their_arrays(spatial: int) -> None:
    """An error that shows a convolution of other axes ends the process."""
    x, w = np.ones((1, 2, *(5,) * spatial)), np.ones((3, 2, *(2,) * spatial))
    exported = export(jit(lambda x, w: lax.conv(x, w, (1,) * spatial, "SAME")))(x, w)
    assert "convolution" in deserialize(exported.serialize()).mlir_module()
    roles = list(
        re.finditer(r"(?:input|kernel|output)_\w+_dimensions? = \S+?<(\S+)", exported.portable)
    )
    assert len(roles) == 9
    for role in roles:
        for wrong in ("7", "-1"):
            number = re.compile(r"\d+(?= :|\]?>)").search(exported.portable, role.start(1))
            assert number
            at, end = number.span()
            broken = exported.portable[:at] + wrong + exported.portable[end:]
            with pytest.raises(ExportError):
                attrs.evolve(exported, portable=broken).mlir_module()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (": i64>", ": i74>"),  # of which the passes would take 64 bits
        ("(%0)", "(%0#2147483647)"),  # for which the parser would allocate memory
        ("(%0)", "(%0#" + "9" * 5000 + ")"),
        ("%0 =", "%0:2147483647 ="),
        ("(%0)", "(%0#1)"),
    ],
)
def test_what_parsers_and_passes_do_not_survive(old: str, new: str) -> None:
    exported = export(jit(lambda x: jnp.sin(jnp.cos(x)) + lax.iota(int, 3)))(1.0)
    assert old in exported.portable
    broken = attrs.evolve(exported, portable=exported.portable.replace(old, new))
    with pytest.raises(ExportError):
        broken.mlir_module()


def test_arguments_are_a_tuple_and_a_dict() -> None:
    exported = export(jit(jnp.sin))(1.0)
    others: list[Any] = [[0], (0,), ([0], {}), ((0,), {}, ())]
    for wrong in others:
        broken = attrs.evolve(exported, in_tree=tree.structure(wrong))
        with raises(ExportError, match="no tuple and dict"):
            deserialize(broken.serialize())


def test_what_jax_lets_one_say() -> None:
    check = DisabledSafetyCheck.custom_call("lapack")
    assert (str(check), check.is_custom_call()) == ("custom_call:lapack", "lapack")
    assert DisabledSafetyCheck.platform().is_custom_call() is None
    exporter = export(jit(jnp.sin), platforms=["cpu"], disabled_checks=[check])
    exported = deserialize(exporter(jnp.ones(2)).serialize())
    assert exported.calling_convention_version == maximum_supported_calling_convention_version
    assert exported.disabled_safety_checks == (check,)


# Platforms


def by_platform(x: Any) -> Any:
    return 2 * jit(lambda x: lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos, default=jnp.tan))(
        x
    )


def operations(exported: Exported) -> list[str]:
    modules = [exported.mlir_module(platform) for platform in exported.platforms]
    return [op for text in modules for op in ("cosine", "sine", "tan") if f"hlo.{op} " in text]


def test_programs_for_several_platforms() -> None:
    here = export(jit(by_platform), platforms=["tpu", "cpu", "cuda"])(X)
    for exported in (here, deserialize(here.serialize(1))):
        assert exported.platforms == ("tpu", "cpu", "cuda")
        assert operations(exported) == ["cosine", "sine", "tan"]
        assert exported.mlir_module() == exported.mlir_module("cpu")
        np.testing.assert_allclose(jit(exported.call)(X), 2 * np.sin(X))
        slope = tinyjax.grad(lambda x, e=exported: e.call(x).sum())(X)
        np.testing.assert_allclose(slope, 2 * np.cos(X), rtol=1e-12)
    # one within another is of the other's platform
    around = export(jit(lambda x: here.call(x) + 1), platforms=["tpu", "cuda"])(X)
    assert operations(around) == ["cosine", "tan"]
    with raises(ArgumentError, match="for 'tpu', 'cpu', 'cuda', but is called on 'rocm'"):
        export(jit(here.call), platforms=["rocm"])(X)
    sized: Any = ShapeDtypeStruct(symbolic_shape("b, 3"), np.float64)
    several = deserialize(export(jit(jnp.sin), platforms=["cpu", "tpu"])(sized).serialize())
    np.testing.assert_allclose(several.call(X), np.sin(X))
    assert operations(several.with_sizes({"b": 2})) == ["sine", "sine"]
    with raises(ExportError, match="different things on different platforms"):
        export(jit(by_platform), platforms=["cpu", "tpu"])(sized)


def test_programs_for_other_platforms() -> None:
    there = export(jit(by_platform), platforms=["tpu"])(X)
    theirs = jax.export.export(jax.jit(jax.numpy.sin), platforms=["tpu"])(X)
    for exported in (there, theirs):
        with raises(ValueError, match=r"tpu.*cpu"):
            exported.call(X)
    check = DisabledSafetyCheck.platform()
    unchecked = export(jit(by_platform), platforms=["tpu"], disabled_checks=[check])(X)
    np.testing.assert_allclose(deserialize(unchecked.serialize()).call(X), 2 * np.cos(X))
    with raises(ArgumentError, match="its program for 'cpu' is asked for"):
        there.mlir_module("cpu")
    with raises(ArgumentError, match=r"each once, but got \['gpu', 'cpu'\]"):
        export(jit(jnp.sin), platforms=["gpu", "cpu"])
    for platform, target in {"cuda": "cusolver_getrf_ffi", "tpu": "lapack_dgetrf_ffi"}.items():
        with raises(ExportError, match=f"'{target}'. Whoever loads"):
            export(jit(jnp.linalg.inv), platforms=["cpu", platform])(np.eye(3))
    with raises(ExportError, match="not a program for each platform"):
        deserialize(attrs.evolve(there, platforms=("tpu", "cpu")).serialize())

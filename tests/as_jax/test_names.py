"""Modules by JAX's names, held against the installed jax."""

import dataclasses
import inspect
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from importlib import import_module
from typing import Any

import attrs
import jax
import jax.dlpack
import jax.flatten_util
import jax.numpy as jaxnp
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import dlpack, dtypes, errors, flatten_util, ops, tree_util

Point = namedtuple("Point", "x y")
TREES = [
    1.0,
    (),
    None,
    {"b": [1, (2, None)], "a": Point(3, {"c": 4})},
    OrderedDict(b=1, a=[2]),
]


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or whether a type or a value is wrong."""
    try:
        return call()
    except (TypeError, ValueError):
        return "an error"


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees_come_apart_as_in_jax(tree: Any) -> None:
    ours, theirs = tree_util, jax.tree_util
    assert ours.tree_leaves(tree) == theirs.tree_leaves(tree)
    assert [(ours.keystr(path), leaf) for path, leaf in ours.tree_leaves_with_path(tree)] == [
        (theirs.keystr(path), leaf) for path, leaf in theirs.tree_leaves_with_path(tree)
    ]
    assert ours.is_tree_node(type(tree)) == theirs.default_registry.is_node(type(tree))
    assert ours.all_leaves([tree]) == theirs.all_leaves([tree])
    structure, other = ours.tree_structure(tree), theirs.tree_structure(tree)
    assert ours.treedef_is_leaf(structure) == theirs.treedef_is_leaf(other)
    assert len(ours.treedef_children(structure)) == len(theirs.treedef_children(other))


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_one_level_at_a_time(tree: Any) -> None:
    ours = outcome(lambda: tree_util.flatten_one_level(tree))
    theirs = outcome(lambda: jax.tree_util.default_registry.flatten_one_level(tree))
    if theirs is None:
        assert ours == "an error"
        assert tree_util.default_registry.flatten_one_level(tree) is None
    else:
        assert list(ours[0]) == list(theirs[0])
        with_keys = tree_util.flatten_one_level_with_keys(tree)[0]
        assert [x for _, x in with_keys] == list(theirs[0])


def stop_at_c(path: Any, node: Any) -> bool:
    return bool(path) and isinstance(node, dict)


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_what_is_a_leaf_may_depend_on_its_path(tree: Any) -> None:
    ours = tree_util.tree_leaves_with_path(tree, stop_at_c, is_leaf_takes_path=True)
    theirs = jax.tree_util.tree_leaves_with_path(tree, stop_at_c, is_leaf_takes_path=True)
    assert [(tree_util.keystr(p), x) for p, x in ours] == [
        (jax.tree_util.keystr(p), x) for p, x in theirs
    ]
    show = lambda path, x: f"{len(path)} {x}"  # noqa: E731
    options: dict[str, Any] = {"is_leaf": stop_at_c, "is_leaf_takes_path": True}
    assert tree_util.tree_map_with_path(show, tree, **options) == (
        jax.tree_util.tree_map_with_path(show, tree, **options)
    )


@pytest.mark.parametrize("size", range(6))
def test_reduce_associative(size: int) -> None:
    def join(a: str, b: str) -> str:
        return f"({a}{b})"

    letters = list("abcdef"[:size])
    assert tinyjax.tree.reduce_associative(join, letters, identity="") == (
        jax.tree.reduce_associative(join, letters, identity="")
    )
    if not size:
        with raises(TypeError, match="identity"):
            tree_util.tree_reduce_associative(join, letters)


def test_a_field_declared_static_is_metadata() -> None:
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        weight: Any
        name: str = tinyjax.tree.static(default="dense", metadata={"doc": "its name"})

    assert tree_util.tree_leaves(Layer(1.0)) == [1.0]
    assert dataclasses.fields(Layer)[1].metadata == {"static": True, "doc": "its name"}


@pytest.mark.parametrize(
    "tree",
    [1.0, [1.0, 2.0], [1, 2], [1.0, np.ones(2, np.float32)], [1, 2.0], [np.float32(1), 2], [True]],
    ids=repr,
)
def test_vectors_of_trees_are_as_weakly_typed_as_these(tree: Any) -> None:
    def weak(m: Any, ravel: Any) -> list[bool]:
        vector, unravel = ravel(tree)
        strong = unravel(m.numpy.ones(vector.shape, vector.dtype))
        values = [vector, *m.tree.leaves((unravel(vector), strong))]
        return [m.typeof(x).weak_type for x in values]

    assert weak(tinyjax, flatten_util.ravel_pytree) == weak(jax, jax.flatten_util.ravel_pytree)


def test_ravel_pytree() -> None:
    tree = {"b": np.float32(3.0), "w": np.arange(6, dtype=np.int16).reshape(2, 3), "n": ()}
    ours, unravel = flatten_util.ravel_pytree(tree)
    theirs, their_unravel = jax.flatten_util.ravel_pytree(tree)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, np.asarray(theirs))
    again, expected = unravel(2 * ours), their_unravel(2 * theirs)
    assert tree_util.tree_leaves(tree_util.tree_map(lambda x: (x.shape, x.dtype), again)) == (
        jax.tree_util.tree_leaves(jax.tree_util.tree_map(lambda x: (x.shape, x.dtype), expected))
    )
    for key in tree:
        np.testing.assert_array_equal(np.asarray(again[key]), np.asarray(expected[key]))
    assert flatten_util.ravel_pytree(())[0].shape == (0,)
    # one structure is one function, of which jit compiles once
    other = flatten_util.ravel_pytree(tree)[1]
    assert (unravel == other, hash(unravel) == hash(other)) == (True, True)
    make = tinyjax.jit(lambda vector, unravel: unravel(vector), static_argnums=1)
    assert str(make(ours, unravel)) == str(tinyjax.jit(lambda v, u: u(v))(ours, other))
    with raises(ValueError, match=r"shape \(7,\)"):
        unravel(jnp.ones(6))
    with raises(TypeError, match="float64"):
        unravel(jnp.ones(7, np.float64))


@pytest.mark.parametrize("tree", [{"a": 1.0, "b": np.float16(2)}, [np.ones(2, np.float32), 3.0]])
def test_dtypes_of_ravel_pytree(tree: Any) -> None:
    ours, unravel = flatten_util.ravel_pytree(tree)
    theirs, their_unravel = jax.flatten_util.ravel_pytree(tree)
    assert ours.dtype == theirs.dtype
    for dtype in (np.float32, np.complex64):
        try:
            expected = [x.dtype for x in jax.tree.leaves(their_unravel(theirs.astype(dtype)))]
        except TypeError:
            with raises(TypeError, match="several dtypes"):
                unravel(ours.astype(dtype))
        else:
            assert [x.dtype for x in jax.tree.leaves(unravel(ours.astype(dtype)))] == expected


def test_unravel_goes_through_jit_and_grad() -> None:
    vector, unravel = flatten_util.ravel_pytree((1.0, jnp.ones(2)))

    @tinyjax.jit
    def loss(unravel: Any, x: Any) -> Any:
        a, b = unravel(x)
        return a * jnp.sum(b**2)

    np.testing.assert_allclose(tinyjax.grad(loss, 1)(unravel, vector), [2.0, 2.0, 2.0])


IDS = np.array([0, 2, -1, 2, 5, 0])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", dir(ops))
@pytest.mark.parametrize("dtype", ["int32", "float32", "bool"])
@pytest.mark.parametrize(
    "options", [{}, {"num_segments": 4}, {"num_segments": 7, "bucket_size": 4}, {"mode": "clip"}]
)
def test_segments(name: str, dtype: str, options: Any) -> None:
    data = np.arange(12).reshape(6, 2).astype(dtype)
    ours = outcome(lambda: getattr(ops, name)(data, IDS, **options))
    theirs = outcome(lambda: getattr(jax.ops, name)(data, IDS, **options))
    if isinstance(theirs, str):
        return  # JAX has no sums of bools
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    assert ours.dtype == theirs.dtype


def test_the_number_of_segments_must_be_known() -> None:
    with raises(errors.ConcretizationTypeError, match="num_segments"):
        tinyjax.jit(ops.segment_sum)(np.ones(6), IDS)
    with raises(ValueError, match="negative"):
        ops.segment_sum(np.ones(6), IDS, -1)


def test_each_entry_has_an_id() -> None:
    with raises(errors.ShapeError, match=r"segment_ids of shape .* ids of shape \(4,\)"):
        ops.segment_sum(np.ones((4, 2)), IDS, 3)
    np.testing.assert_array_equal(
        ops.segment_sum(np.ones((1, 2)), np.array([0, 1, 1]), 2), [[1, 1], [2, 2]]
    )


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
def test_dlpack(dtype: str) -> None:
    assert dlpack.is_supported_dtype(dtype)
    assert jax.dlpack.is_supported_dtype(dtype)
    data = jaxnp.arange(3).astype(dtype)
    found = dlpack.from_dlpack(data)
    assert found.dtype == data.dtype
    assert np.asarray(found).ctypes.data == data.unsafe_buffer_pointer()
    np.testing.assert_array_equal(found, data)
    there = jnp.arange(4).astype(dtype)
    for x in (there, there[1], there[::2], tinyjax.jit(lambda x: x[None])(there)):
        back = jax.dlpack.from_dlpack(x)
        assert (back.shape, back.dtype) == (x.shape, x.dtype)
        np.testing.assert_array_equal(back, x)


def test_dlpack_of_bfloat16_is_read_only_or_a_copy() -> None:
    x: Any = jnp.arange(3).astype("bfloat16")
    for options in ({"max_version": (1, 0)}, {}):
        again = dlpack.from_dlpack(Exporting(x, options))
        assert again.dtype == x.dtype
        assert np.shares_memory(np.asarray(again), np.asarray(x)) == bool(options)
    with raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)


@attrs.frozen
class Exporting:
    """An object that exports an array as for a certain consumer."""

    x: Any
    options: dict[str, Any]

    def __dlpack__(self, **_: Any) -> Any:
        return self.x.__dlpack__(**self.options)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


DTYPES = ["bool", "int8", "uint64", "bfloat16", "float16", "float64", "complex64", float, int]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: Any) -> None:
    with jax.enable_x64(True), tinyjax.default_dtypes("float64"):
        assert dtypes.canonicalize_dtype(dtype) == jax.dtypes.canonicalize_dtype(dtype)
        assert dtypes.itemsize_bits(dtype) == 8 * np.dtype(dtypes.check(dtype)).itemsize
        assert dtypes.scalar_type_of(dtypes.check(dtype)) == (
            jax.dtypes.scalar_type_of(dtypes.check(dtype))
        )
        for kind in (np.floating, np.integer, np.number, np.complexfloating, np.generic):
            assert dtypes.issubdtype(dtype, kind) == jax.dtypes.issubdtype(dtype, kind)
        for other in DTYPES:
            assert dtypes.result_type(dtype, other) == jax.dtypes.result_type(dtype, other)


@pytest.mark.parametrize("x", [True, 1, 1.5, 1j, np.float16(1), np.ones(2, np.int8)], ids=repr)
def test_types_of_values(x: Any) -> None:
    assert dtypes.result_type(x) == jax.dtypes.result_type(x)
    assert dtypes.scalar_type_of(x) == jax.dtypes.scalar_type_of(x)
    assert dtypes.result_type(x, jnp.ones(1, "bfloat16")) == (
        jax.dtypes.result_type(x, jaxnp.ones(1, "bfloat16"))
    )


USES: dict[str, Callable[[Any, Any], Any]] = {
    "bool": lambda x, np: bool(x),
    "if": lambda x, np: 1 if x > 0 else 2,
    "int": lambda x, np: int(x),
    "float": lambda x, np: float(x),
    "complex": lambda x, np: complex(x),
    "index": lambda x, np: [1, 2, 3][x],
    "range": lambda x, np: list(range(x)),
    "numpy": lambda x, np: __import__("numpy").array([x, x]),
    "asarray": lambda x, np: __import__("numpy").asarray(x),
    "mask": lambda x, np: np.arange(3)[np.arange(3) > x],
    "shape": lambda x, np: np.zeros(x),
    "nonzero": lambda x, np: np.nonzero(x + np.zeros(3)),
}


@pytest.mark.parametrize("name", USES)
def test_errors_of_tracers_have_the_classes_of_jax(name: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 whatever it is
        jax.jit(lambda x: USES[name](x, jaxnp))(1)
    with pytest.raises(Exception) as ours:  # noqa: PT011
        tinyjax.jit(lambda x: USES[name](x, jnp))(1)
    for kind in theirs.type.__mro__:
        if found := getattr(errors, kind.__name__, None):
            assert isinstance(ours.value, found), (kind, ours.type)


def test_a_leaked_tracer_is_unexpected() -> None:
    leaked: list[Any] = []
    tinyjax.jit(leaked.append)(1.0)
    with pytest.raises(errors.UnexpectedTracerError):
        _ = leaked[0] + 1


MODULES = ["tree_util", "flatten_util", "typing", "dlpack", "image", "ops"]


@pytest.mark.parametrize("module", MODULES)
def test_all_names_of_the_module_exist(module: str) -> None:
    theirs = import_module(f"jax.{module}")
    ours = import_module(f"tinyjax.{module}")
    assert getattr(tinyjax, module) is ours
    assert module in dir(tinyjax)
    names = {n for n in dir(theirs) if not n.startswith("_")}
    names -= {n for n in names if inspect.ismodule(getattr(theirs, n))}
    assert names <= set(ours.__all__) == {n for n in ours.__all__ if hasattr(ours, n)}

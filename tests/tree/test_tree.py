"""Pytrees, held against ``jax.tree_util`` where it has the same function."""

import copy
import dataclasses
import functools
import pickle
import sys
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import attrs
import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax import tree_util as oracle
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import jit, tree
from tinyjax._base import records
from tinyjax.errors import ArgumentError, TinyjaxError
from tinyjax.experimental import sparse
from tinyjax.tree import node, treedef


class Point(NamedTuple):
    x: Any
    y: Any


@attrs.frozen
class Layer:
    weight: Any
    bias: Any
    name: Any


tree.register_dataclass(Layer, ["weight", "bias"], ["name"])
oracle.register_pytree_with_keys(
    Layer,
    lambda x: (
        ((oracle.GetAttrKey("weight"), x.weight), (oracle.GetAttrKey("bias"), x.bias)),
        (x.name,),
    ),
    lambda meta, children: Layer(*children, *meta),
)


class Interval:
    def __init__(self, low: Any, high: Any, tag: Any = None) -> None:
        self.low, self.high, self.tag = low, high, tag

    def __repr__(self) -> str:  # also names tests, which must be the same in each process
        return f"Interval({self.low}, {self.high}, {self.tag!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interval) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.tag)


def _flatten_interval(x: Interval) -> tuple[tuple[Any, Any], Any]:
    return (x.low, x.high), x.tag


def _unflatten_interval(tag: Any, children: Iterable[Any]) -> Interval:
    low, high = children
    return Interval(low, high, tag)


tree.register_pytree_node(Interval, _flatten_interval, _unflatten_interval)
oracle.register_pytree_node(Interval, _flatten_interval, _unflatten_interval)


def _identity(x: Any) -> Any:
    return x


def is_none(x: Any) -> bool:
    return x is None


def _grow(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    few = st.lists(children, max_size=3)
    by_name = st.dictionaries(st.sampled_from("abc"), children, max_size=3)
    by_number = st.dictionaries(st.integers(-2, 2), children, max_size=3)
    return st.one_of(
        few,
        few.map(tuple),
        by_name,
        by_number,
        by_name.map(OrderedDict),
        by_name.map(lambda items: defaultdict(list, items)),
        st.builds(Point, children, children),
        st.builds(Layer, children, children, st.sampled_from("ab")),
        st.builds(Interval, children, children, st.sampled_from([None, 0, (1, "a")])),
    )


LEAVES = st.integers(0, 9) | st.text("xy", max_size=2)
TREES = st.recursive(LEAVES | st.none(), _grow, max_leaves=12)

EXAMPLES: list[Any] = [
    1,
    None,
    (),
    [],
    {},
    (1,),
    [1, (2, None)],
    {"b": 1, "a": [2, {"c": 3}]},
    {3: 1, 1: 2, 2: 3},
    {(1, "a"): 1, (0, "b"): 2},
    OrderedDict(b=1, a=2),
    OrderedDict([(1, 2), ("a", 3)]),
    defaultdict(list, b=1, a=(2,)),
    Point(1, [2, 3]),
    Layer(1, Point(2, 3), "a"),
    Interval(1, (2,), "tag"),
    np.ones(2),
    {"w": [{"x": None}, Layer([], {}, "n")]},
]


# Flatten and unflatten.


@pytest.mark.parametrize("x", EXAMPLES, ids=repr)
def test_flatten_agrees_with_jax(x: Any) -> None:
    leaves, structure = tree.flatten(x)
    expected, expected_structure = oracle.tree_flatten(x)
    assert all(a is b for a, b in zip(leaves, expected, strict=True))
    assert structure.num_leaves == expected_structure.num_leaves == len(leaves)
    assert structure.num_nodes == expected_structure.num_nodes
    assert len(structure.children()) == len(expected_structure.children())
    assert tree.leaves(x) == leaves
    assert tree.structure(x) == structure


@given(TREES)
def test_round_trip(x: Any) -> None:
    leaves, structure = tree.flatten(x)
    built = tree.unflatten(structure, leaves)
    assert built == x
    assert type(built) is type(x)
    assert tree.structure(built) == structure
    assert leaves == oracle.tree_leaves(x)
    assert structure.num_nodes == oracle.tree_structure(x).num_nodes


@given(TREES)
def test_round_trip_with_any_leaf_type(x: Any) -> None:
    holes = tree.map(lambda _: object(), x)
    assert tree.structure(holes) == tree.structure(x)


def asking(is_leaf: Callable[[Any], bool]) -> tuple[Callable[..., bool], list[Any]]:
    """The same function, of a node behind its path if there is one, and its arguments so far."""
    calls: list[Any] = []

    def ask(*where: Any) -> bool:
        calls.append(where)
        return is_leaf(where[-1])

    return ask, calls


@given(TREES)
def test_is_leaf_agrees_with_jax(x: Any) -> None:
    """It is called on leaves, too, and on nothing below a leaf."""
    for is_leaf in (is_none, lambda x: isinstance(x, list | Point), lambda x: True):
        (ours, asked), (theirs, expected) = asking(is_leaf), asking(is_leaf)
        leaves, structure = tree.flatten(x, ours)
        assert leaves == oracle.tree_leaves(x, theirs)
        assert asked == expected
        assert structure.unflatten(leaves) == x
        (ours, asked), (theirs, expected) = asking(is_leaf), asking(is_leaf)
        tree.leaves_with_path(x, ours, is_leaf_takes_path=True)
        oracle.tree_leaves_with_path(x, theirs, is_leaf_takes_path=True)
        assert [(tree.keystr(p), n) for p, n in asked] == [
            (oracle.keystr(p), n) for p, n in expected
        ]


def test_unflatten_takes_any_iterable() -> None:
    assert tree.unflatten(tree.structure([0, (0,)]), iter("ab")) == ["a", ("b",)]


def test_dictionaries_come_back_sorted_as_in_jax() -> None:
    x = {"b": 1, "a": 2}
    assert list(tree.map(_identity, x)) == ["a", "b"] == list(oracle.tree_map(_identity, x))
    assert list(tree.map(_identity, OrderedDict(b=1, a=2))) == ["b", "a"]


def test_defaultdict_keeps_its_factory() -> None:
    tree_of_counts: Any = defaultdict(list, a=1)
    built = tree.map(_identity, tree_of_counts)
    assert type(built) is defaultdict
    assert built["new"] == []


@pytest.mark.parametrize("cls", [dict, list, tuple, OrderedDict])
def test_a_subclass_of_a_container_is_a_leaf(cls: type) -> None:
    sub = type("Sub", (cls,), {})()
    assert tree.leaves(sub) == [sub] == oracle.tree_leaves(sub)


def test_a_class_is_a_leaf_until_it_is_registered() -> None:
    class Late:
        pass

    x = Late()
    assert tree.leaves((x, x)) == [x, x]
    tree.register_pytree_node(Late, lambda x: ((), None), lambda _, __: Late())
    assert tree.leaves((x, x)) == []


class Color(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({1: 0}, {True: 0}),
        ({"red": 0}, {Color.RED: 0}),
        ({1: 0}, {1.0: 0}),
        ({"red": [0]}, {Color.RED: [0]}),
        (OrderedDict({1: 0}), OrderedDict({True: 0})),
        (Interval(0, 0, 1), Interval(0, 0, True)),
        (Layer(0, 0, (1,)), Layer(0, 0, (True,))),
        (Layer(0, 0, 1), Layer(0, 0, True)),
        (Layer([0], 0, "red"), Layer([0], 0, Color.RED)),
    ],
    ids=repr,
)
def test_sharing_structures_does_not_mix_up_metadata_that_is_equal(a: Any, b: Any) -> None:
    def types(x: Any) -> Any:
        if isinstance(x, dict):
            return [type(key) for key in x]
        return type(x.tag if isinstance(x, Interval) else x.name)

    for x in (a, b, a, b):
        assert types(tree.map(_identity, x)) == types(x)
    assert tree.structure(a) == tree.structure(b)
    assert hash(tree.structure(a)) == hash(tree.structure(b))


def test_leaf_types_are_not_remembered_for_ever() -> None:
    for i in range(5000):
        cls = type(f"C{i}", (), {})
        pair: Any = namedtuple("pair", ["x"])
        assert tree.leaves([pair(cls), cls()])[0] is cls
    assert len(node.KINDS) < 5000
    assert len(node.LEAF_TYPES) < 5000
    assert tree.leaves([Point(1, 2), {"a": Interval(3, 4)}]) == [1, 2, 3, 4]


# Structures.


@given(TREES, TREES)
def test_equality_agrees_with_jax(a: Any, b: Any) -> None:
    for x, y in ((a, b), (a, copy.deepcopy(a)), ([a, a], [a, b]), ({"a": a}, {"b": a})):
        ours, theirs = tree.structure(x), tree.structure(y)
        equal = oracle.tree_structure(x) == oracle.tree_structure(y)
        assert (ours == theirs) is equal
        assert (ours != theirs) is not equal
        if equal:
            assert hash(ours) == hash(theirs)


@given(TREES)
def test_equality_does_not_rest_on_sharing(x: Any) -> None:
    first = tree.structure(x)
    treedef._table.clear()
    treedef._flat_table.clear()
    node._plans.clear()
    second = tree.structure(x)
    assert first == second
    assert hash(first) == hash(second)
    assert first.flatten_up_to(x) == tree.leaves(x)


@pytest.mark.parametrize(
    "make",
    [
        lambda: (1, 2),
        lambda: [1, (2, {"a": 3, "b": None})],
        lambda: ((1, 2), {"key": [1]}),
        lambda: OrderedDict(b=1, a=2),
        lambda: Point(1, {"a": 2}),
        lambda: [Layer(1, 2, "n"), Interval(1, 2)],
    ],
)
def test_equal_structures_are_one_object(make: Callable[[], Any]) -> None:
    assert tree.structure(make()) is tree.structure(make())
    assert tree.structure(make(), is_none) == tree.structure(make(), is_none)


def test_a_flat_structure_is_one_object_however_it_is_made() -> None:
    first = tree.structure((1, 2))
    assert tree.treedef_tuple([tree.LEAF, tree.LEAF]) is first
    assert tree.structure((1, 2), is_none) is first
    assert tree.structure((object(), type("New", (), {})())) is first
    assert tree.structure((1,)).compose(first).children()[0] is first


class Absent:
    """A mark in metadata for an absent value."""


ABSENT = Absent()


def test_a_structure_with_a_sentinel_in_its_metadata_is_one_object() -> None:
    marked = tree.structure(Interval(1, 2, (ABSENT, 3, "n")))
    assert tree.structure(Interval(1, 2, (ABSENT, 3, "n"))) is marked
    assert tree.structure(Interval(1, 2, (Absent(), 3, "n"))) != marked
    assert tree.structure(Interval(1, 2, (ABSENT, True, "n"))) is not marked
    assert tree.structure(Interval(1, 2, (ABSENT, 3.0, "n"))) == marked


def test_a_structure_with_values_in_its_metadata_keeps_none_of_them_alive() -> None:
    class Tag:
        pass

    before = len(treedef._table), len(treedef._flat_table)
    for _ in range(10):
        tree.structure([Interval(1, 2, Tag()), (1, Interval(1, (), Tag()))])
        tree.structure([tree.Partial(lambda: None, 1)])
    assert (len(treedef._table), len(treedef._flat_table)) <= (before[0] + 2, before[1] + 2)


def test_a_structure_is_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        unchecked(tree.LEAF).num_leaves = 2


REPRS: dict[str, Any] = {
    "*": 1,
    "None": None,
    "()": (),
    "(*,)": (1,),
    "{'a': *, 'b': [*, (*, None)]}": {"a": 1, "b": [2, (3, None)]},
    "{1: *, 2: {}}": {1: 0, 2: {}},
    "CustomNode(OrderedDict[('b', 'a')], [*, *])": OrderedDict(b=1, a=2),
    "CustomNode(defaultdict[(<class 'list'>, ('a',))], [*])": defaultdict(list, a=1),
    "CustomNode(namedtuple[Point], [*, [*]])": Point(1, [2]),
    "CustomNode(Layer[('a',)], [*, ()])": Layer(1, (), "a"),
    "CustomNode(Interval[None], [*, *])": Interval(1, 2),
    "CustomNode(Interval[tag], [*, *])": Interval(1, 2, "tag"),
    f"CustomNode(Partial[{_identity}], [(*,), {{'k': *}}])": tree.Partial(_identity, 1, k=2),
}


@pytest.mark.parametrize("text", REPRS, ids=range(len(REPRS)))
def test_repr(text: str) -> None:
    structure = tree.structure(REPRS[text])
    assert repr(structure) == str(structure) == f"PyTreeDef({text})"


@pytest.mark.parametrize(
    "x",
    [
        *((), [], {}, None, 1, (1, [2, {"a": 3}]), {"b": (1,), "a": None}),
        *(OrderedDict(b=1, a=2), defaultdict(int, a=1), Point(1, [2]), {1: ()}),
    ],
)
def test_repr_agrees_with_jax(x: Any) -> None:
    assert repr(tree.structure(x)) == repr(oracle.tree_structure(x))


def test_node_data_and_children() -> None:
    structure = tree.structure({"b": (1, 2), "a": 3})
    assert structure.node_data() == (dict, ("a", "b"))
    assert structure.node_type is dict
    assert structure.children() == [tree.LEAF, tree.structure((1, 2))]
    assert tree.LEAF.node_data() is None
    assert tree.LEAF.node_type is None
    assert tree.LEAF.children() == []
    assert tree.LEAF is tree.structure(5)
    assert tree.structure(None).node_data() == (type(None), None)


@given(TREES, TREES)
def test_compose_agrees_with_jax(outer: Any, inner: Any) -> None:
    composed = tree.structure(outer).compose(tree.structure(inner))
    assert composed == tree.structure(tree.map(lambda _: inner, outer))
    expected = oracle.tree_structure(outer).compose(oracle.tree_structure(inner))
    assert (composed.num_leaves, composed.num_nodes) == (expected.num_leaves, expected.num_nodes)


@given(st.lists(TREES, max_size=3))
def test_treedef_tuple(trees: list[Any]) -> None:
    joined = tree.treedef_tuple(tree.structure(x) for x in trees)
    assert joined == tree.structure(tuple(trees))


@given(TREES)
def test_a_structure_can_be_copied_and_pickled(x: Any) -> None:
    structure = tree.structure(x)
    for again in (copy.deepcopy(structure), pickle.loads(pickle.dumps(structure))):
        assert again == structure
        assert hash(again) == hash(structure)
    assert pickle.loads(pickle.dumps(tree.LEAF)) is tree.LEAF


# Map, reduce and their kin.


@given(TREES)
def test_map_agrees_with_jax(x: Any) -> None:
    def wrap(*values: Any) -> Any:
        return (len(values), *values)

    assert tree.map(wrap, x) == oracle.tree_map(wrap, x)
    assert tree.map(wrap, x, x, x) == oracle.tree_map(wrap, x, x, x)
    assert tree.map(wrap, x, is_leaf=is_none) == oracle.tree_map(wrap, x, is_leaf=is_none)


def test_map_passes_on_what_lies_below_a_leaf() -> None:
    assert tree.map(lambda a, b: (a, b), [1, 2], [{"a": 3}, None]) == [(1, {"a": 3}), (2, None)]


def test_map_passes_on_what_the_function_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        tree.map(lambda x: 1 / x, [1, 0])


@given(TREES, TREES)
def test_map_fails_where_jax_fails(a: Any, b: Any) -> None:
    def pair(x: Any, y: Any) -> Any:
        return (x, y)

    try:
        expected = oracle.tree_map(pair, a, b)
    except (ValueError, TypeError):
        with pytest.raises(tree.TreeMismatchError):
            tree.map(pair, a, b)
    else:
        assert tree.map(pair, a, b) == expected


def test_all() -> None:
    assert tree.all(())
    assert tree.all([True, {"a": 1}])
    assert not tree.all([True, {"a": 0}])
    assert not tree.all([None], is_leaf=is_none)


def test_reduce() -> None:
    x = {"b": [2, 3], "a": 1}
    assert tree.reduce(lambda text, leaf: text + str(leaf), x, "") == "123"
    assert tree.reduce(lambda a, b: 10 * a + b, x) == 123
    assert tree.reduce(lambda a, b: a, (), None) is None
    assert tree.reduce(lambda a, b: a + (b is None), [None], 0, is_none) == 1
    with pytest.raises(ArgumentError) as error:
        tree.reduce(lambda a, b: a, [()])
    assert (
        error.value.message == "reduce: PyTreeDef([()]) has no leaves, so it needs an initializer."
    )


@given(TREES, TREES)
def test_transpose_agrees_with_jax(outer: Any, inner: Any) -> None:
    counter = iter(range(1000))
    x = tree.map(lambda _: tree.map(lambda _: next(counter), inner), outer)
    ours = tree.transpose(tree.structure(outer), tree.structure(inner), x)
    assert tree.structure(ours) == tree.structure(inner).compose(tree.structure(outer))
    assert tree.transpose(tree.structure(inner), tree.structure(outer), ours) == x
    if tree.leaves(outer):  # jax cannot do it without
        assert tree.transpose(tree.structure(outer), None, x) == ours
        assert ours == oracle.tree_transpose(
            oracle.tree_structure(outer), oracle.tree_structure(inner), x
        )


class Flattened:
    """A node that keeps the leaves of what it is made of, and its structure as metadata."""

    def __init__(self, value: Any, library: Any) -> None:
        self.leaves, treedef = library.flatten(value)
        self.metadata = (treedef, library)

    @staticmethod
    def build(metadata: Any, leaves: Any) -> "Flattened":
        treedef, library = metadata
        return Flattened(library.unflatten(treedef, leaves), library)


@pytest.mark.parametrize("library", [tree, jax.tree])
def test_transpose_where_metadata_depends_on_what_is_below(library: Any) -> None:
    register: Any = tree if library is tree else jax.tree_util
    node = type("Node", (Flattened,), {})
    register.register_pytree_node(node, lambda x: (x.leaves, x.metadata), Flattened.build)
    pairs = node({"a": [1, 2], "b": [3, 4]}, library)
    outer = library.structure(node({"a": 0, "b": 0}, library))
    one, other = library.transpose(outer, library.structure([0, 0]), pairs)
    assert (one.leaves, other.leaves) == ([1, 3], [2, 4])


@pytest.mark.parametrize("value", [{"b": 2, "a": 1, "c": {"b": (2, None)}}, 1, [(), (3, 4)]])
def test_walk_agrees_with_jax(value: Any) -> None:
    seen: list[list[Any]] = []
    for library in (tree, jax.tree):
        leaves, treedef = library.flatten(value)
        order: list[Any] = []
        treedef.walk(
            lambda parts, data, order=order: order.append((parts, data)), order.append, leaves
        )
        seen.append(order)
    assert seen[0] == seen[1]


def test_transpose_without_leaves_cannot_infer() -> None:
    with raises(ArgumentError, match="pass inner_treedef"):
        tree.transpose(tree.structure(()), None, ())


def test_transpose_names_where_the_tree_differs() -> None:
    with pytest.raises(tree.TreeMismatchError) as error:
        tree.transpose(tree.structure([0, 0]), tree.structure({"a": 0}), [{"a": 1}, {"b": 1}])
    assert error.value.path == "tree[1]"


# Paths.


@given(TREES)
def test_paths_agree_with_jax(x: Any) -> None:
    pairs, structure = tree.flatten_with_path(x)
    expected, _ = oracle.tree_flatten_with_path(x)
    assert [tree.keystr(path) for path, _ in pairs] == [
        jax.tree_util.keystr(p) for p, _ in expected
    ]
    assert [tree.keystr(path, simple=True, separator="/") for path, _ in pairs] == [
        jax.tree_util.keystr(p, simple=True, separator="/") for p, _ in expected
    ]
    assert [leaf for _, leaf in pairs] == [leaf for _, leaf in expected]
    assert structure == tree.structure(x)
    assert tree.leaves_with_path(x) == pairs


@given(TREES)
def test_paths_with_is_leaf_agree_with_jax(x: Any) -> None:
    ours = tree.leaves_with_path(x, is_none)
    expected = oracle.tree_leaves_with_path(x, is_none)
    assert [(tree.keystr(p), leaf) for p, leaf in ours] == [
        (oracle.keystr(p), leaf) for p, leaf in expected
    ]


@given(TREES)
def test_map_with_path_agrees_with_jax(x: Any) -> None:
    ours = tree.map_with_path(lambda p, a, b: (tree.keystr(p), a, b), x, x)
    assert ours == oracle.tree_map_with_path(lambda p, a, b: (oracle.keystr(p), a, b), x, x)


def test_keys() -> None:
    path = (tree.DictKey("w"), tree.SequenceKey(0), tree.GetAttrKey("bias"))
    assert tree.keystr(path) == "['w'][0].bias"
    assert tree.keystr(()) == ""
    assert tree.path_str("params", path[:2]) == "params['w'][0]"
    assert tree.keystr((tree.FlattenedIndexKey(1),)) == "[<flat index 1>]"
    assert tree.keystr(path, simple=True, separator=".") == "w.0.bias"
    assert tree.leaves_with_path({"w": [1]}) == [((tree.DictKey("w"), tree.SequenceKey(0)), 1)]
    assert len({tree.SequenceKey(0), tree.SequenceKey(0), tree.FlattenedIndexKey(0)}) == 2
    unlike = [tree.SequenceKey(1), tree.DictKey(1), tree.FlattenedIndexKey(1), tree.DictKey(True)]
    assert [unlike.index(key) for key in unlike] == [0, 1, 2, 1]
    assert len(set(map(hash, unlike))) == 3


def test_the_keys_of_a_partial_are_its_attributes() -> None:
    pairs = tree.leaves_with_path(tree.Partial(_identity, 1, k=2))
    assert [tree.keystr(path) for path, _ in pairs] == [".args[0]", ".keywords['k']"]


def test_a_class_can_bring_its_own_kind_of_key() -> None:
    class Holder:
        pass

    tree.register_pytree_with_keys(
        Holder, lambda x: ((("<mine>", 1),), None), lambda _, __: Holder()
    )
    [(path, _)] = tree.leaves_with_path([Holder()])
    assert tree.keystr(path) == "[0]<mine>"
    assert tree.keystr(path, simple=True, separator="/") == "0/<mine>"


# Prefixes.

PREFIXES: list[tuple[Any, Any]] = [
    (0, (1, [2, 3])),
    ((0, 1), (1, [2, 3])),
    ((0, [1, 2]), (1, [2, 3])),
    ({"a": 0, "b": (1, 2)}, {"a": [1, 2, None], "b": (3, {"c": (4, 5)})}),
    ((0, None), (1, None)),
    ((0, 1), (1, None)),
    ((), ()),
    (Layer(0, 1, "n"), Layer([1, 2], {"a": 3}, "n")),
]


@pytest.mark.parametrize(("prefix", "full"), PREFIXES, ids=repr)
def test_broadcast_agrees_with_jax(prefix: Any, full: Any) -> None:
    structure = tree.structure(full)
    values = tree.flatten_prefix(prefix, structure)
    assert len(values) == structure.num_leaves
    assert structure.unflatten(values) == jax.tree.broadcast(prefix, full)
    assert tree.broadcast(prefix, full) == jax.tree.broadcast(prefix, full)


def test_none_in_a_prefix_is_a_value_where_is_leaf_says_so() -> None:
    structure = tree.structure(({"w": 0, "b": 0}, 0))
    assert tree.flatten_prefix(None, structure, is_leaf=is_none) == [None] * 3
    assert tree.flatten_prefix((None, 0), structure, is_none) == [None, None, 0]
    assert tree.flatten_prefix(({"w": 1, "b": None}, 0), structure, is_none) == [None, 1, 0]
    assert tree.broadcast((None, 0), ([1, 2], 3), is_none) == ([None, None], 0)
    with raises(tree.TreeMismatchError, match="None is a node without leaves"):
        tree.flatten_prefix((None, 0), structure)


@given(TREES, TREES)
def test_broadcast_fails_where_jax_fails(prefix: Any, full: Any) -> None:
    try:
        expected = jax.tree.broadcast(prefix, full)
    except (ValueError, TypeError):
        with pytest.raises(tree.TreeMismatchError):
            tree.broadcast(prefix, full)
    else:
        assert tree.broadcast(prefix, full) == expected


@given(TREES, TREES)
def test_flatten_up_to_agrees_with_jax(prefix: Any, full: Any) -> None:
    whole = tree.map(lambda _: full, prefix)
    subtrees = tree.structure(prefix).flatten_up_to(whole)
    assert subtrees == [full] * len(tree.leaves(prefix))
    assert subtrees == oracle.tree_structure(prefix).flatten_up_to(whole)


# Registration.


def test_register_pytree_node() -> None:
    x = [Interval(1, {"a": 2}, "tag")]
    assert tree.map(lambda leaf: leaf + 1, x) == [Interval(2, {"a": 3}, "tag")]
    assert [tree.keystr(p) for p, _ in tree.leaves_with_path(x)] == [
        "[0][<flat index 0>]",
        "[0][<flat index 1>]['a']",
    ]


def test_children_may_be_any_iterable_and_come_back_as_a_tuple() -> None:
    class Bag:
        def __init__(self, *items: Any) -> None:
            self.items = items

    came: list[Any] = []

    def unflatten(_: None, children: tuple[Any, ...]) -> Bag:
        came.append(children)
        return Bag(*children)

    tree.register_pytree_node(Bag, lambda bag: (iter(bag.items), None), unflatten)
    assert tree.map(_identity, Bag(1, [2])).items == (1, [2])
    assert came == [(1, [2])]


def test_register_pytree_with_keys() -> None:
    class Box:
        def __init__(self, content: Any) -> None:
            self.content = content

    calls: list[str] = []

    def with_keys(box: Box) -> tuple[list[tuple[Any, Any]], None]:
        calls.append("keys")
        return [(tree.GetAttrKey("content"), box.content)], None

    def without_keys(box: Box) -> tuple[list[Any], None]:
        calls.append("plain")
        return [box.content], None

    tree.register_pytree_with_keys(Box, with_keys, lambda _, c: Box(*c), without_keys)
    assert tree.leaves(Box([1])) == [1]
    assert calls == ["plain"]
    assert [tree.keystr(p) for p, _ in tree.leaves_with_path(Box([1]))] == [".content[0]"]
    with pytest.raises(tree.TreeMismatchError) as error:
        tree.map(lambda a, b: a, [Box([1])], [Box([1, 2])])
    assert error.value.path == "rest[0][0].content"


def test_register_pytree_node_class() -> None:
    @tree.register_pytree_node_class
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

        def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
            return (self.a, self.b), None

        @classmethod
        def tree_unflatten(cls, metadata: None, children: tuple[Any, Any]) -> "Pair":
            return cls(*children)

    assert tree.map(lambda x: -x, Pair(1, 2)).b == -2


def test_register_pytree_with_keys_class() -> None:
    @tree.register_pytree_with_keys_class
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

        def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
            return (self.a, self.b), None

        def tree_flatten_with_keys(self) -> tuple[tuple[tuple[Any, Any], ...], None]:
            return ((tree.GetAttrKey("a"), self.a), (tree.GetAttrKey("b"), self.b)), None

        @classmethod
        def tree_unflatten(cls, metadata: None, children: tuple[Any, Any]) -> "Pair":
            return cls(*children)

    assert [tree.keystr(p) for p, _ in tree.leaves_with_path(Pair(1, [2]))] == [".a", ".b[0]"]


def test_register_dataclass_with_its_defaults() -> None:
    @tree.register_dataclass
    @dataclasses.dataclass
    class Model:
        w: Any
        steps: int = dataclasses.field(default=3, metadata={"static": True})
        cache: Any = dataclasses.field(default=None, init=False)

    model = Model([1, 2])
    assert tree.leaves(model) == [1, 2]
    assert tree.map(lambda x: 2 * x, model) == Model([2, 4])
    assert repr(tree.structure(model)) == "PyTreeDef(CustomNode(Model[(3,)], [[*, *]]))"
    assert tree.structure(model) != tree.structure(Model([1, 2], 4))


def test_register_dataclass_for_attrs_with_slots_private_and_keyword_fields() -> None:
    @tree.register_dataclass(meta_fields=["_mode"])
    @attrs.frozen(kw_only=True)
    class Model:
        _w: Any
        _mode: str = "train"
        b: Any = 0

    model = Model(w=1, mode="test", b=(2,))
    assert tree.flatten(model)[0] == [1, 2]
    assert tree.map(lambda x: 2 * x, model) == Model(w=2, mode="test", b=(4,))
    assert [tree.keystr(p) for p, _ in tree.leaves_with_path(model)] == ["._w", ".b[0]"]


def test_register_dataclass_takes_fields_in_the_order_given() -> None:
    @functools.partial(tree.register_dataclass, data_fields=["b", "a"], drop_fields=["c"])
    @dataclasses.dataclass
    class Model:
        a: Any
        b: Any
        mode: str
        c: Any = "default"

    model = Model(1, 2, "m", "dropped")
    assert tree.leaves(model) == [2, 1]
    assert tree.map(_identity, model) == Model(1, 2, "m", "default")


def test_a_dataclass_without_fields() -> None:
    @tree.register_dataclass
    @attrs.frozen
    class Empty:
        pass

    assert tree.flatten([Empty()])[0] == []
    assert tree.map(_identity, Empty()) == Empty()


@dataclasses.dataclass
class Unregistered:
    a: Any
    b: Any


@attrs.frozen
class AlsoUnregistered:
    a: Any


def test_a_plain_class_is_registered_by_its_fields() -> None:
    class Plain:
        def __init__(self, x: Any, name: str = "") -> None:
            self.x, self.name = x, name

    tree.register_dataclass(Plain, ["x"], ["name"])
    jax.tree_util.register_dataclass(Plain, ["x"], ["name"])
    for library in (tree, jax.tree):
        mapped: Any = library.map(lambda x: x + 1, Plain(1, "a"))
        assert (mapped.x, mapped.name) == (2, "a")


def test_dataclasses_are_leaves_until_registered() -> None:
    for x in (Unregistered(1, 2), AlsoUnregistered(1)):
        assert tree.leaves([x]) == [x]


def test_register_static() -> None:
    @tree.register_static
    @attrs.frozen
    class Mode:
        name: str

    x = (Mode("train"), 1)
    leaves, structure = tree.flatten(x)
    assert leaves == [1]
    assert structure.unflatten([2]) == (Mode("train"), 2)
    assert structure == tree.structure((Mode("train"), 3))
    assert structure != tree.structure((Mode("test"), 3))
    assert repr(structure) == f"PyTreeDef((CustomNode(Mode[{Mode('train')}], []), *))"


def test_static_instances_that_cannot_be_hashed() -> None:
    @tree.register_static
    class Options(dict[str, int]):
        pass

    traced: list[Options] = []

    @jit
    def scaled(x: float, options: Options) -> Any:
        traced.append(options)
        return x * options["scale"]

    for x, scale in [(1.0, 2), (3.0, 2), (3.0, 4)]:
        assert scaled(x, Options(scale=scale)) == x * scale
    assert traced == [{"scale": 2}, {"scale": 4}]
    structure = tree.structure(Options(scale=2))
    assert (structure.num_leaves, repr(structure)) == (
        0,
        "PyTreeDef(CustomNode(Options[{'scale': 2}], []))",
    )


def test_namedtuples() -> None:
    class Odd(Point):
        """Its constructor takes other arguments than its fields."""

        def __new__(cls) -> "Odd":
            return super().__new__(cls, 1, 2)

    assert tree.map(lambda x: 10 * x, Odd()) == (10, 20)
    assert type(tree.map(_identity, Odd())) is Odd
    assert tree.structure(Odd()) != tree.structure(Point(1, 2))
    assert tree.structure(Point(1, 2)) != tree.structure((1, 2))


def test_a_namedtuple_may_be_registered_otherwise() -> None:
    class Span(NamedTuple):
        x: Any
        y: Any

    assert tree.leaves(Span(1, 2)) == [1, 2]
    tree.register_pytree_node(Span, lambda s: ((s.y,), s.x), lambda x, c: Span(x, *c))
    assert tree.leaves(Span(1, 2)) == [2]
    assert tree.map(lambda y: 10 * y, Span(1, 2)) == Span(1, 20)


# Partial.


def test_partial() -> None:
    scale = tree.Partial(pow, 3)
    leaves, structure = tree.flatten(scale)
    assert leaves == [3]
    assert scale(2) == 9
    assert structure.unflatten([4])(2) == 16
    assert structure == tree.structure(tree.Partial(pow, 5))
    assert structure != tree.structure(tree.Partial(max, 3))
    assert hash(structure) == hash(tree.structure(tree.Partial(pow, 5)))
    assert isinstance(scale, functools.partial)


def test_partial_keeps_what_functools_bound_out_of_the_leaves() -> None:
    inner = functools.partial(pow, 2)
    outer = tree.Partial(inner, 3)
    assert outer() == 8
    assert tree.leaves(outer) == [3] == oracle.tree_leaves(oracle.Partial(inner, 3))
    assert tree.structure(outer) == tree.structure(tree.Partial(inner, 4))
    assert hash(tree.structure(outer)) == hash(tree.structure(tree.Partial(inner, 4)))
    assert tree.structure(outer) != tree.structure(tree.Partial(functools.partial(pow, 2), 3))
    assert tree.map(lambda x: x + 1, outer)() == 16


def test_a_partial_compares_as_what_functools_bound() -> None:
    bound = functools.partial(print, 1)
    one, other = tree.Partial(bound, 2), tree.Partial(bound, 3)
    assert one.func == bound
    assert bound == one.func == other.func
    assert hash(one.func) == hash(other.func)
    assert one.func != functools.partial(print, 1)


def test_partial_merges_a_partial() -> None:
    merged: tree.Partial[dict[str, int]] = tree.Partial(tree.Partial(dict, a=1, b=2), b=3)
    assert merged() == {"a": 1, "b": 3}
    assert tree.leaves(merged) == [1, 3]


def test_partial_leaves_every_keyword_to_the_function() -> None:
    assert tree.map(lambda x: -x, tree.Partial(dict, func=1, f=2))() == {"func": -1, "f": -2}


def test_partial_copies_and_pickles() -> None:
    scale = tree.Partial(pow, 3)
    for again in (copy.deepcopy(scale), pickle.loads(pickle.dumps(scale))):
        assert again(2) == 9
        assert tree.structure(again) == tree.structure(scale)


# Depth.


def nest(depth: int, wrap: Callable[[Any], Any]) -> Any:
    x: Any = 1
    for _ in range(depth):
        x = wrap(x)
    return x


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: (x,),
        lambda x: [x, 2],
        lambda x: {"a": x, "b": None},
        lambda x: Point(0, x),
        lambda x: Layer(x, 1, "n"),
        lambda x: Interval(x, 1, frozenset({1})),
    ],
    ids=["tuple", "list", "dict", "namedtuple", "attrs", "custom"],
)
@pytest.mark.parametrize("depth", [500, 5000])
def test_depth(wrap: Callable[[Any], Any], depth: int) -> None:
    assert sys.getrecursionlimit() <= 1000
    x, same = nest(depth, wrap), nest(depth, wrap)
    leaves, structure = tree.flatten(x)
    other = tree.structure(same, is_none)
    treedef._table.clear()  # so that the next is another object
    again = tree.structure(same)
    built = structure.unflatten(leaves)
    assert tree.leaves(built) == leaves
    assert structure == again
    assert hash(structure) == hash(again)
    assert structure.num_nodes >= depth
    assert structure.num_leaves == other.num_leaves - (isinstance(x, dict) and depth)
    assert structure.flatten_up_to(same) == leaves
    assert structure.compose(tree.LEAF) == structure
    assert tree.flatten_prefix(x, structure) == leaves
    if len(leaves) < 10:
        doubled = jit(lambda x: tree.map(lambda leaf: 2 * leaf, x))
        for _ in range(2):  # the second call is dispatched by what the first left
            given, given_structure = tree.flatten(doubled(x))
            assert ([int(i) for i in given], given_structure) == ([2 * i for i in leaves], again)
        deep = jit(lambda leaf: structure.unflatten([leaf] * len(leaves)))
        assert all(tree.structure(deep(1)) == structure for _ in range(2))
    if depth == 500:  # the text of paths and structures grows with the square of the depth
        assert repr(structure).count("*") == structure.num_leaves
        assert len(tree.leaves_with_path(x)) == len(leaves)


def test_a_container_that_holds_itself() -> None:
    x: list[Any] = []
    x.append({"a": x})
    with pytest.raises(tree.TreeDepthError) as error:
        tree.flatten(x)
    assert error.value.message == (
        "a tree is more than 10000 levels deep: tree[0]['a'][0]['a'][0]['a'][0]... Probably a "
        "container holds itself; take it out, or make it a leaf with is_leaf."
    )


# Errors, word for word.


class Loose:
    def __init__(self, *children: Any) -> None:
        self.children = children


tree.register_pytree_node(Loose, lambda x: (x.children, None), lambda _, c: Loose(*c))

NONE_HINT = (
    "None is a node without leaves: have it in both trees, or make it a leaf with "
    "is_leaf=lambda x: x is None."
)
NUMBER_HINT = "Give both the same number of children."
METADATA_HINT = "What they hold besides their children (metadata) must be equal, too."

MISMATCHES: list[tuple[Any, Any, str]] = [
    (
        {"w": [1, (2, 3)]},
        {"w": [1, (2, 3, 4)]},
        "Tuple arity mismatch: 3 != 2; tuple: (2, 3, 4). "
        "Trees differ at rest[0]['w'][1]: expected tuple of length 2, but got tuple of length 3. "
        + NUMBER_HINT,
    ),
    (
        {"w": [1, (2, 3)]},
        {"w": [1, [2, 3]]},
        (
            "Expected tuple, got [2, 3]. "
            "Trees differ at rest[0]['w'][1]: expected tuple of length 2, but got list of length "
            "2. Give a tuple here: containers must be of the same type."
        ),
    ),
    (
        [Layer((1,), 2, "a")],
        [Layer(5, 2, "a")],
        (
            "Expected tuple, got 5. "
            "Trees differ at rest[0][0].weight: expected tuple of length 1, but got a leaf of type "
            "int. Give a whole tuple here."
        ),
    ),
    (
        [Layer(1, 2, "a")],
        [Layer(1, 2, "b")],
        "Mismatch custom node data. "
        "Trees differ at rest[0][0]: expected Layer with static name='a', but got Layer with "
        "static name='b'. " + METADATA_HINT,
    ),
    (
        (1, [2]),
        (1, None),
        "Expected list, got None. "
        "Trees differ at rest[0][1]: expected list of length 1, but got None. " + NONE_HINT,
    ),
    (
        (1, None),
        (1, 2),
        "Expected None, got 2. "
        "Trees differ at rest[0][1]: expected None, but got a leaf of type int. " + NONE_HINT,
    ),
    (
        {"w": 1, "b": 2},
        {"w": 1, "c": 2, "d": 3},
        (
            "Dict key mismatch. "
            "Trees differ at rest[0]: expected dict with keys ['b', 'w'], but got dict with keys "
            "['c', 'd', 'w']. Give both the same keys: missing ['b'] and unknown ['c', 'd']."
        ),
    ),
    (
        dict.fromkeys(range(20), 0),
        {},
        (
            "Dict key mismatch. "
            "Trees differ at rest[0]: expected dict with keys [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and "
            "10 more], but got dict with keys []. Give both the same keys: missing [0, 1, 2, 3, 4, "
            "5, 6, 7, 8, 9, and 10 more]."
        ),
    ),
    (
        OrderedDict(a=1, b=2),
        OrderedDict(b=1, a=2),
        (
            "Mismatch custom node data. "
            "Trees differ at rest[0]: expected OrderedDict with keys ['a', 'b'], but got "
            "OrderedDict with keys ['b', 'a']. Give both the same keys in the same order."
        ),
    ),
    (
        defaultdict(list, a=1),
        defaultdict(int, a=1),
        "Mismatch custom node data. "
        "Trees differ at rest[0]: expected defaultdict of list with keys ['a'], but got "
        "defaultdict of int with keys ['a']. " + METADATA_HINT,
    ),
    (
        Point(1, 2),
        (1, 2),
        (
            "Expected named tuple, got (1, 2). "
            "Trees differ at rest[0]: expected Point, but got tuple of length 2. Give a Point "
            "here: containers must be of the same type."
        ),
    ),
    (
        tree.Partial(max, 1),
        tree.Partial(min, 1),
        "Mismatch custom node data. "
        "Trees differ at rest[0]: expected Partial of max, but got Partial of min. "
        + METADATA_HINT,
    ),
    (
        Loose(1),
        Loose(1, 2),
        "Mismatch custom node data. "
        "Trees differ at rest[0]: expected Loose with 1 children, but got Loose with 2 children. "
        + NUMBER_HINT,
    ),
]


@pytest.mark.parametrize(("x", "y", "message"), MISMATCHES)
def test_mismatch(x: Any, y: Any, message: str) -> None:
    with pytest.raises(tree.TreeMismatchError) as error:
        tree.map(lambda a, b: a, x, y)
    assert error.value.message == message
    assert isinstance(error.value, TinyjaxError)
    assert isinstance(error.value, ValueError)
    for part in (error.value.path, error.value.expected, error.value.got, error.value.hint):
        assert part in message
    with raises(tree.TreeMismatchError, match="rest\\[1\\]"):
        tree.map_with_path(lambda p, a, b, c: a, x, x, y)


def test_mismatch_below_the_given_name() -> None:
    structure = tree.structure({"w": [(1,)]})
    with pytest.raises(tree.TreeMismatchError) as error:
        structure.flatten_up_to({"w": [[1]]}, "params")
    assert error.value.path == "params['w'][0]"


PREFIX_MISMATCHES: list[tuple[Any, Any, str]] = [
    (
        (0, {"a": 0}),
        ([1, 2], {"a": 1, "b": 2}),
        (
            "in_axes must be a tree prefix of the corresponding value; "
            "pytree structure error: different numbers of pytree children at key path\n    "
            "in_axes[1]: expected dict with keys ['a', 'b'], but got dict with "
            "keys ['a']. Give both the same keys: missing ['b']."
        ),
    ),
    (
        (0, [None]),
        ([1, 2], [1]),
        "in_axes must be a tree prefix of the corresponding value; "
        "pytree structure error: different types at key path\n    "
        "in_axes[1][0]: expected a leaf, but got None. " + NONE_HINT,
    ),
    (
        (0, [0]),
        ([1, 2], 1),
        (
            "in_axes must be a tree prefix of the corresponding value; "
            "pytree structure error: different types at key path\n    "
            "in_axes[1]: expected a leaf, but got list of length 1. The tree it "
            "belongs to has a leaf here: give one value."
        ),
    ),
    (
        [0, 0],
        (1, 2),
        (
            "in_axes must be a tree prefix of the corresponding value; "
            "pytree structure error: different types at key path\n    "
            "in_axes: expected tuple of length 2, but got list of length 2. Give a "
            "tuple here: containers must be of the same type."
        ),
    ),
]


@pytest.mark.parametrize(("prefix", "full", "message"), PREFIX_MISMATCHES)
def test_prefix_mismatch(prefix: Any, full: Any, message: str) -> None:
    with pytest.raises(tree.TreeMismatchError) as error:
        tree.flatten_prefix(prefix, tree.structure(full), name="in_axes")
    assert error.value.message == message


def test_leaf_count() -> None:
    with pytest.raises(tree.LeafCountError) as error:
        tree.unflatten(tree.structure((1, [2])), [1])
    assert error.value.message == (
        "Too few leaves for unflatten: expected 2, but got 1. Each * takes one, in this order: "
        "PyTreeDef((*, [*]))."
    )
    assert (error.value.expected, error.value.got) == (2, 1)
    with raises(tree.LeafCountError, match="expected 1, but got 0"):
        tree.unflatten(tree.LEAF, [])
    with pytest.raises(tree.LeafCountError) as error:
        tree.unflatten(tree.structure([0] * 1000), [])
    assert len(error.value.message) < 600


@pytest.mark.wrong_types
def test_unflatten_with_its_arguments_swapped() -> None:
    with pytest.raises(ArgumentError) as error:
        tree.unflatten(unchecked([1]), unchecked(tree.LEAF))
    assert error.value.message == (
        "the first argument of unflatten, before the leaves, must be a PyTreeDef, as "
        "tree.structure returns it, but got [1] (list)."
    )


@pytest.mark.parametrize("is_leaf", [None, is_none])
def test_unsortable_keys(is_leaf: Any) -> None:
    with pytest.raises(tree.UnsortableKeysError) as error:
        tree.flatten((1, {"a": [2, {1: 3, "b": 4}]}), is_leaf)
    assert error.value.message == (
        "Comparator raised exception while sorting pytree dictionary keys: those of the dict at "
        "tree[1]['a'][1] have types int, str. Leaves are ordered by key: use keys that compare "
        "with <, or a collections.OrderedDict, whose order is that of insertion."
    )
    assert error.value.keys == (1, "b")
    with raises(tree.UnsortableKeysError, match="dict at tree have types"):
        tree.flatten({1: 0, None: 0})


def test_metadata_that_cannot_be_compared() -> None:
    a, b = (tree.structure(Layer(1, 2, np.arange(3))) for _ in range(2))
    with raises(tree.MetadataError, match="the metadata of Layer nodes cannot be compared"):
        assert a == b
    assert hash(a) == hash(b)
    assert a == a  # noqa: PLR0124


def _bad_fields(**fields: Any) -> Callable[[], Any]:
    return lambda: tree.register_dataclass(Unregistered, **fields)


REGISTRATIONS: list[tuple[Callable[[], Any], type[TinyjaxError], str]] = [
    (
        lambda: tree.register_pytree_node(tuple, lambda x: (x, None), lambda _, c: c),
        tree.RegistrationError,
        "tuple is already a pytree node: register a class once, where it is defined.",
    ),
    (
        lambda: tree.register_static(Layer),
        tree.RegistrationError,
        "Layer is already a pytree node: register a class once, where it is defined.",
    ),
    (
        _bad_fields(data_fields=["a"], meta_fields=[]),
        tree.RegistrationError,
        (
            "data_fields and meta_fields must include all dataclass fields that the initialiser of "
            "Unregistered takes, once, and only them. Missing fields: {'b'}. It takes: a, b. "
            "Those in drop_fields keep their defaults."
        ),
    ),
    (
        _bad_fields(data_fields=["a", "b", "c"], meta_fields=["b"]),
        tree.RegistrationError,
        (
            "data_fields and meta_fields must include all dataclass fields that the initialiser of "
            "Unregistered takes, once, and only them. Unexpected fields: {'c'}. Named twice: "
            "{'b'}. It takes: a, b. Those in drop_fields keep their defaults."
        ),
    ),
    (
        lambda: tree.register_dataclass(Color),
        ArgumentError,
        (
            "register_dataclass: data_fields and meta_fields are required when nodetype is not a "
            "dataclass. Got nodetype=<enum 'Color'>, which is neither a dataclass nor an attrs "
            "class. Put the decorator above @dataclass, or give both, which the class takes by "
            "name."
        ),
    ),
    (
        lambda: tree.register_pytree_node_class(Color),
        ArgumentError,
        (
            "register_pytree_node_class: <enum 'Color'> lacks the method tree_flatten and "
            "tree_unflatten."
        ),
    ),
    (
        lambda: tree.register_pytree_node(unchecked(1), lambda x: ((), None), lambda _, c: 1),
        ArgumentError,
        "register_pytree_node takes a class, but got 1 (int).",
    ),
    (
        lambda: tree.register_pytree_node(Color, unchecked(None), lambda _, c: Color.RED),
        ArgumentError,
        "flatten_func of register_pytree_node must be a function (callable), but got None.",
    ),
    (
        lambda: tree.Partial(unchecked(3)),
        ArgumentError,
        "func of Partial must be a function (callable), but got 3 (int).",
    ),
    *(
        (
            functools.partial(unchecked(function), 3, [1]),
            ArgumentError,
            f"{parameter} of tree.{name} must be a function (callable), but got 3 (int).",
        )
        for name, parameter, function in (
            ("map", "f", tree.map),
            ("map_with_path", "f", tree.map_with_path),
            ("reduce", "function", tree.reduce),
        )
    ),
]


@pytest.mark.wrong_types
@pytest.mark.parametrize(("register", "error", "message"), REGISTRATIONS)
def test_what_is_no_function_or_class(
    register: Callable[[], Any], error: type[TinyjaxError], message: str
) -> None:
    with pytest.raises(error) as caught:
        register()
    assert caught.value.message == message


def test_a_flatten_function_that_returns_no_pair() -> None:
    class Wrong:
        pass

    tree.register_pytree_node(Wrong, unchecked(lambda x: [1, 2, 3]), lambda _, c: Wrong())
    with raises(tree.RegistrationError, match=r"should return a .children, aux_data. tuple"):
        tree.flatten(Wrong())


def test_a_flatten_function_whose_children_are_none() -> None:
    class Wrong:
        pass

    tree.register_pytree_node(Wrong, unchecked(lambda x: (7, None)), lambda _, c: Wrong())
    with raises(tree.RegistrationError, match="the children that it returned are 7"):
        tree.flatten(Wrong())


def test_flatten_functions_that_disagree() -> None:
    class Wrong:
        pass

    tree.register_pytree_node(
        Wrong, lambda x: ((1, 2), None), lambda _, c: Wrong(), lambda x: ((("k", 1),), None)
    )
    with raises(tree.RegistrationError, match="has 2 children but 1 keys"):
        tree.flatten_with_path(Wrong())


def test_a_flatten_function_that_changes_its_mind() -> None:
    class Moody:
        pass

    counter = iter(range(100))
    tree.register_pytree_node(Moody, lambda x: ((), next(counter) == 1), lambda _, c: Moody())
    structure = tree.structure(Moody())
    with raises(tree.RegistrationError, match="must give the same result"):
        structure.flatten_up_to(Moody())


def test_a_class_that_flattens_with_keys_alone() -> None:
    @tree.register_pytree_with_keys_class
    class Alone:
        def __init__(self, content: Any) -> None:
            self.content = content

        def tree_flatten_with_keys(self) -> Any:
            return ((tree.GetAttrKey("content"), self.content),), None

        @classmethod
        def tree_unflatten(cls, metadata: Any, children: Any) -> Any:
            return cls(*children)

    assert tree.leaves(tree.map(lambda x: x + 1, Alone(1))) == [2]
    assert tree.leaves_with_path(Alone(1)) == [((tree.GetAttrKey("content"),), 1)]


def test_messages_make_no_object_of_a_class_with_keys() -> None:
    made: list[Any] = []

    class Made:
        def __init__(self, names: Any, contents: Any) -> None:
            self.names, self.contents = names, contents

    def make(names: Any, children: Any) -> Any:
        made.append(children)
        return Made(names, children)

    kinds: list[Any] = [tree.GetAttrKey, tree.DictKey]
    for key in kinds:

        class Own(Made):
            key_of = key

        tree.register_pytree_with_keys(
            Own,
            lambda x: (list(zip(map(x.key_of, x.names), x.contents, strict=True)), x.names),
            make,
        )
        for names in (("a", "b"), ("c", "d")):
            own = Own(names, (1, (2, 3)))
            structure = tree.structure(own)
            path = treedef.leaf_paths(structure)[2]
            known = (
                names if key is tree.DictKey else ("a", "b")
            )  # names of attributes are a class's
            assert path == (key(known[1]), tree.SequenceKey(1))
            with raises(ArgumentError, match=r"x(\.[bd]|\['[bd]'\])\[1\] of "):
                tinyjax.grad(lambda x: x)(Own(names, (1.0, (2.0, "text"))))
    assert made == []


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, (1, 2), ("x", "a leaf", "tuple of length 2")),
        ([1, (2,)], [1, (2, 3)], ("x[1]", "tuple of length 1", "tuple of length 2")),
        ({"a": 1, "b": [2, 3]}, {"a": 1, "b": [2, None]}, ("x['b'][1]", "a leaf", "None")),
        (
            Point(0, {"p": 1}),
            Point(0, {"q": 1}),
            ("x.y", "dict with keys ['p']", "dict with keys ['q']"),
        ),
        (
            {str(i): i for i in range(30)},
            {str(i): i for i in range(31)},
            ("x", "dict without ['30']", "dict with keys ['30']"),
        ),
        ([Point(0, 1)], [(0, 1)], ("x[0]", "Point", "tuple of length 2")),
        (
            {"l": Layer(1, [2], "one")},
            {"l": Layer(1, 2, "one")},
            ("x['l'].bias", "list of length 1", "a leaf"),
        ),
        (
            (Layer(1, 2, "one"), 3),
            (Layer(1, 2, "two"), (3, 4)),
            ("x[0]", "Layer with static name='one'", "Layer with static name='two'"),
        ),
    ],
)
def test_the_first_difference_of_two_structures(a: Any, b: Any, expected: Any) -> None:
    found = treedef.first_difference(tree.structure(a), tree.structure(b), "x")
    assert found == expected


def test_values_that_trees_hold_look_like_no_containers() -> None:
    """Libraries know containers by these marks; tests/libraries asks dm-tree and optree."""
    mesh = tinyjax.make_mesh((1,), ("x",), devices=tinyjax.devices()[:1])
    place = tinyjax.NamedSharding(mesh, tinyjax.P("x"))
    x, matrix = jnp.ones(2), jnp.eye(2)
    traced: list[object] = []
    jit(traced.append)(x)
    values: list[Any] = [
        *(x, tinyjax.random.key(0), tinyjax.device_put(x, place), tinyjax.new_ref(x), *traced),
        *(tinyjax.ShapeDtypeStruct((2,), "float32"), x.format, x.format.layout),
        *(place, place.spec, mesh, mesh.abstract_mesh, x.sharding, tinyjax.devices()[0]),
        *(sparse.BCOO.fromdense(matrix), sparse.BCSR.fromdense(matrix)),
    ]
    for value in values:
        kind = type(value)
        assert not isinstance(value, (Mapping, Sequence, tuple, list, dict)), kind
        for mark in ("_fields", "__attrs_attrs__", "__dataclass_fields__"):
            assert not hasattr(kind, mark), (kind, mark)
        if records.has_fields(kind):
            assert len(records.fields(kind)) == len(records.field_names(kind))
    for value in (place, place.spec, mesh.abstract_mesh, x.format):
        again = pickle.loads(pickle.dumps(value))
        assert (again, hash(again)) == (value, hash(value))

"""Values that users hold in trees are leaves to libraries that know containers of their own."""

from typing import Any

import numpy as np
import optree
import pytest
import tree as dm_tree

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import sharding
from tinyjax.experimental import sparse

MESH = tinyjax.make_mesh((1,), ("x",))
PLACE = sharding.NamedSharding(MESH, sharding.PartitionSpec("x"))
VALUES = {
    "array": jnp.ones(2),
    "key": tinyjax.random.key(0),
    "array on a mesh": tinyjax.device_put(jnp.ones(2), PLACE),
    "ShapeDtypeStruct": tinyjax.ShapeDtypeStruct((2,), jnp.float32),
    "PartitionSpec": PLACE.spec,
    "NamedSharding": PLACE,
    "SingleDeviceSharding": jnp.ones(2).sharding,
    "Mesh": MESH,
    "Device": tinyjax.devices()[0],
    "Format": jnp.ones(2).format,
    "BCOO": sparse.BCOO.fromdense(jnp.eye(2)),
    "Ref": tinyjax.new_ref(jnp.ones(2)),
}


@pytest.mark.parametrize("name", VALUES)
def test_they_are_leaves(name: str) -> None:
    value = VALUES[name]
    nest = {"a": [value, (value, 1)]}
    assert not dm_tree.is_nested(value)
    assert [*map(type, dm_tree.flatten(nest))] == [type(value), type(value), int]
    assert dm_tree.map_structure(lambda x: x, nest)["a"][0] is value
    assert optree.tree_is_leaf(value)
    assert optree.tree_leaves(nest)[0] is value


def test_tracers_are_leaves() -> None:
    def look(x: Any) -> Any:
        assert not dm_tree.is_nested(x)
        assert optree.tree_is_leaf(x)
        return dm_tree.map_structure(lambda x: 2 * x, [x])[0] + optree.tree_map(lambda x: x, [x])[0]

    np.testing.assert_array_equal(tinyjax.jit(tinyjax.vmap(look))(jnp.ones(2)), [3.0, 3.0])
    assert tinyjax.grad(look)(1.0) == 3.0

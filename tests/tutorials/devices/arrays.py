"""Distributed arrays and automatic parallelization: shardings, and where results lie."""

from functools import partial
from typing import Any

import numpy as np

from tutorials.devices import grid, lies, refuses, submodule


def one_device(jax: Any) -> Any:
    x = jax.numpy.arange(32.0).reshape(4, 8)
    return (
        len(x.devices()),
        x.sharding.num_devices,
        x.sharding.is_fully_replicated,
        x.sharding.is_fully_addressable,
        x.is_fully_addressable,
        x.is_fully_replicated,
        x.sharding.device_set == {jax.devices()[0]},
        lies(x),
    )


def named(jax: Any) -> Any:
    P, NamedSharding = jax.sharding.PartitionSpec, jax.sharding.NamedSharding
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), axis_names=("a", "b"))
    x = jax.random.normal(jax.random.key(0), (8, 8))
    found = []
    for spec in [("a", "b"), ("b", "a"), ("a", None), (None, "b"), (None, "a"), (("a", "b"), None)]:
        sharding = NamedSharding(mesh, P(*spec))
        y = jax.device_put(x, sharding)
        found += [
            lies(y),
            sharding.shard_shape(x.shape),
            {d.id: str(i) for d, i in sharding.devices_indices_map(x.shape).items()},
            len(sharding.addressable_devices_indices_map(x.shape)),
            y.sharding == sharding,
            sharding.is_equivalent_to(y.sharding, 2),
            [d.id for d in sorted(y.devices(), key=lambda d: d.id)],
            tuple(sharding.spec),
            y.is_fully_replicated,
        ]
    return found


def meshes(jax: Any) -> Any:
    utils = submodule(jax, "experimental.mesh_utils")
    devices = utils.create_device_mesh((2, 2))
    mesh = jax.sharding.Mesh(devices, ("x", "y"))
    again = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    return (
        mesh.devices.shape,
        [d.id for d in mesh.devices.flat],
        dict(mesh.shape),
        mesh.axis_names,
        mesh.size,
        mesh.empty,
        mesh.shape_tuple,
        mesh.is_multi_process,
        [d.id for d in mesh.local_devices],
        mesh == jax.sharding.Mesh(devices, ("x", "y")),
        hash(mesh) == hash(jax.sharding.Mesh(devices, ("x", "y"))),
        dict(again.shape),
        again.device_ids,
        dict(mesh.abstract_mesh.shape),
        mesh.abstract_mesh.axis_names,
        mesh.abstract_mesh == grid(jax).abstract_mesh,
    )


def follows(jax: Any) -> Any:
    """Computation follows data."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    by = partial(jax.sharding.NamedSharding, grid(jax))
    x = jax.device_put(jnp.arange(64.0).reshape(8, 8) / 64, by(P("x", "y")))
    rows = jax.device_put(x, by(P("x", None)))
    columns = jax.device_put(x, by(P(None, "y")))
    product = jnp.dot(rows, columns)
    return lies(jnp.sin(x)), lies(product), lies(jnp.copy(product)), lies(jnp.sin(x).T)


def mixed(jax: Any) -> Any:
    """Arrays on other devices are an error; what was put nowhere goes along."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    devices = jax.devices()
    first = jax.sharding.Mesh(np.array(devices[:2]), ("i",))
    last = jax.sharding.Mesh(np.array(devices[2:]), ("i",))
    x = jax.device_put(np.arange(8.0, dtype=np.float32), jax.sharding.NamedSharding(first, P("i")))
    y = jax.device_put(np.arange(8.0, dtype=np.float32), jax.sharding.NamedSharding(last, P("i")))
    z = jax.device_put(jnp.ones(8), devices[3])
    return (
        refuses(lambda: x + y, ValueError),
        refuses(lambda: jax.jit(jnp.add)(x, z), ValueError),
        lies(x + jnp.ones(8)),
        lies(y * np.arange(8, dtype=np.float32)),
        lies(jnp.add(x, 1.0)),
    )


def constrained(jax: Any) -> Any:
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    mesh = grid(jax)
    sharding = jax.sharding.NamedSharding(mesh, P("x", "y"))

    @jax.jit
    def f(x: Any) -> Any:
        x = x + 1
        return jax.lax.with_sharding_constraint(x, sharding)

    @jax.jit
    def g(x: Any) -> Any:
        return jax.lax.with_sharding_constraint(x + 1, jax.sharding.NamedSharding(mesh, P()))

    @jax.jit
    def rows(x: Any) -> Any:
        return jax.lax.with_sharding_constraint(x * 2, P("x", None))

    @jax.jit
    def open_(x: Any) -> Any:
        return jax.lax.with_sharding_constraint(x * 2, P(P.UNCONSTRAINED, "y"))

    x = jax.device_put(jnp.arange(16.0).reshape(4, 4), sharding)
    with jax.set_mesh(mesh):
        within = rows(x), open_(x)
        also = rows(x), jax.device_put(x, P("y")), jax.jit(jnp.sin, out_shardings=P(None, "x"))(x)
    outside = jax.lax.with_sharding_constraint(x, jax.sharding.NamedSharding(mesh, P("y")))
    return [lies(y) for y in (f(x), g(x), *within, *also, outside)]


def layers(jax: Any) -> Any:
    """A network, data and tensor parallel."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), ("batch", "model"))
    by = partial(jax.sharding.NamedSharding, mesh)

    def predict(params: Any, inputs: Any) -> Any:
        outputs = inputs
        for w, b in params:
            outputs = jnp.dot(inputs, w) + b
            inputs = jnp.maximum(outputs, 0)
        return outputs

    def loss(params: Any, batch: Any) -> Any:
        inputs, targets = batch
        return jnp.mean(jnp.sum((predict(params, inputs) - targets) ** 2, axis=-1))

    loss_jit, gradfun = jax.jit(loss), jax.jit(jax.grad(loss))

    def init_layer(key: Any, n_in: int, n_out: int) -> Any:
        k1, k2 = jax.random.split(key)
        w = jax.random.normal(k1, (n_in, n_out)) / jnp.sqrt(n_in)
        return w, jax.random.normal(k2, (n_out,))

    keys = jax.random.split(jax.random.key(0), 4)
    sizes = [8, 16, 16, 8, 4]
    params = [init_layer(*a) for a in zip(keys, sizes[:-1], sizes[1:], strict=True)]
    kx, ky = jax.random.split(jax.random.key(1))
    batch = jax.random.normal(kx, (16, 8)), jax.random.normal(ky, (16, 4))

    parallel = jax.device_put(batch, by(P("batch")))
    copies = jax.device_put(params, by(P()))
    by_batch = loss_jit(copies, parallel), gradfun(copies, parallel)
    stepped = jax.tree.map(lambda p, g: p - 1e-2 * g, copies, gradfun(copies, parallel))

    (w0, b0), (w1, b1), (w2, b2), (w3, b3) = params
    divided = [
        (jax.device_put(w0, by(P())), jax.device_put(b0, by(P()))),
        (jax.device_put(w1, by(P(None, "model"))), jax.device_put(b1, by(P("model")))),
        (jax.device_put(w2, by(P("model", None))), jax.device_put(b2, by(P()))),
        (jax.device_put(w3, by(P())), jax.device_put(b3, by(P()))),
    ]
    by_model = loss_jit(divided, batch), gradfun(divided, batch)
    both = loss_jit(divided, parallel), gradfun(divided, parallel)
    return loss(params, batch), by_batch, stepped, by_model, both


def generators(jax: Any) -> Any:
    """Random numbers: the same however keys or results are divided."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    by = partial(jax.sharding.NamedSharding, mesh)

    @jax.jit
    def f(key: Any, x: Any) -> Any:
        return x + jax.random.uniform(key, x.shape)

    x = jax.device_put(jnp.arange(16.0), by(P("x")))
    key = jax.random.key(42)
    keys = jax.device_put(jax.random.split(key, 4), by(P("x")))
    drawn = jax.jit(lambda key: jax.random.normal(key, (8, 4)), out_shardings=by(P("x")))(key)
    return (
        lies(f(key, x)),
        lies(drawn),
        lies(jax.vmap(lambda key: jax.random.normal(key, (3,)))(keys)),
        jax.random.key_data(keys),
        np.asarray(jax.random.normal(key, (8, 4))),
        np.asarray(jax.random.permutation(key, x)),
    )


def made_there(jax: Any) -> Any:
    """Functions that say where their result is made."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    sharding = jax.sharding.NamedSharding(grid(jax), P("x", "y"))
    vector = jax.sharding.NamedSharding(grid(jax), P("y"))
    return [
        lies(x)
        for x in (
            jnp.zeros((4, 4), device=sharding),
            jnp.ones((4, 4), jnp.int32, device=sharding),
            jnp.full((4, 4), 7.0, device=sharding),
            jnp.empty((4, 4), device=sharding) * 0,
            jnp.zeros_like(np.ones((4, 4)), device=sharding),
            jnp.ones_like(np.ones((4, 4), np.float32), device=sharding),
            jnp.full_like(np.ones((4, 4), np.float32), 3, device=sharding),
            jnp.arange(8, device=vector),
            jnp.linspace(0, 1, 8, device=vector),
            jnp.eye(4, device=sharding),
            jnp.asarray(np.arange(16.0, dtype=np.float32).reshape(4, 4), device=sharding),
            jnp.array(np.arange(16.0, dtype=np.float32).reshape(4, 4), device=sharding),
            jnp.zeros(3, device=jax.devices()[2]),
            jnp.arange(3, device=jax.devices()[1]),
            jax.device_put(np.arange(3), jax.devices()[3]),
            jnp.arange(16.0).reshape(4, 4).to_device(sharding),
        )
    ]


def assembled(jax: Any) -> Any:
    """Arrays from what each device is to hold."""
    P = jax.sharding.PartitionSpec
    sharding = jax.sharding.NamedSharding(grid(jax), P("x", "y"))
    whole = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    called = jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])
    parts = [
        jax.device_put(whole[index], device)
        for device, index in sharding.addressable_devices_indices_map(whole.shape).items()
    ]
    joined = jax.make_array_from_single_device_arrays(whole.shape, sharding, parts)
    local = jax.make_array_from_process_local_data(sharding, whole)
    copies = jax.make_array_from_callback(
        (8, 8), jax.sharding.NamedSharding(grid(jax), P(None, "x")), lambda i: whole[i]
    )
    sent = jax.device_put({"a": whole, "b": whole[0]}, {"a": sharding, "b": jax.devices()[1]})
    fetched = jax.device_get({"called": called, "joined": joined})
    return (
        [lies(x) for x in (called, joined, local, copies, sent["a"], sent["b"])],
        fetched,
        [str(s.index) for s in called.global_shards],
        called.addressable_data(1),
        [type(x).__name__ for x in fetched.values()],
    )


def seen(jax: Any) -> Any:
    """Pictures of where arrays lie are printed, and shardings inside of programs are told."""
    P = jax.sharding.PartitionSpec
    x = jax.device_put(np.ones((8, 8), np.float32), jax.sharding.NamedSharding(grid(jax), P("x")))
    shardings: list[Any] = []
    jax.debug.inspect_array_sharding(x, callback=shardings.append)
    if jax.__name__ != "jax":  # which needs one more package for this
        jax.debug.visualize_array_sharding(x)
        jax.debug.visualize_sharding(x.shape, x.sharding)
    return [sharding.shard_shape(x.shape) for sharding in shardings]

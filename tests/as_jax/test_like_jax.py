"""Small things that jax does, one row each: the same program under jax and under tinyjax.

A program that raises must raise under both, an error of the same built-in class.
"""

import collections
import enum
import io
from array import array
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.experimental.checkify
import jax.extend.core
import jax.scipy.signal
import jax.scipy.stats
import numpy as np
import pytest

import tinyjax
import tinyjax.experimental.checkify
import tinyjax.extend.core


class Pair(NamedTuple):
    a: Any
    b: Any


class Axis(enum.IntEnum):
    BATCH = 0
    CHANNEL = 1


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and self.value == other.value


class Node:
    def __init__(self, x: Any, metadata: object) -> None:
        self.x = x
        self.metadata = metadata


class Other(Node):
    pass


for module, cls in ((jax, Node), (tinyjax, Other)):
    module.tree_util.register_pytree_node(
        cls, lambda n: ((n.x,), n.metadata), lambda metadata, xs, cls=cls: cls(xs[0], metadata)
    )


def holding(m: Any, x: Any) -> Any:
    return type("Held", (), {"__jax_array__": lambda self: x})()


def node(m: Any, x: Any, value: int) -> Any:
    return (Node if m is jax else Other)(x, Unhashable(value))


def two_axes(m: Any, f: Callable[[Any], Any]) -> Any:
    return m.vmap(m.vmap(f, axis_name="i"), axis_name="j")(m.numpy.arange(6.0).reshape(2, 3))


def printed(m: Any) -> list[str]:
    """Return the output of debug prints, in the form of one call and in that of two."""
    seen: list[str] = []

    def note(*args: Any, **kwargs: Any) -> None:
        seen.append(f"{[float(x) for x in args]} { {k: float(x) for k, x in kwargs.items()} }")

    out = io.StringIO()
    with redirect_stdout(out):

        def f(x: Any) -> Any:
            m.debug.callback(note, x, ordered=True, k=x)
            m.debug.callback(ordered=True)(note, x, ordered=x)
            m.debug.print("one {} {y}", x, ordered=True, partitioned=False, y=x)
            m.debug.print(ordered=True)("two {} {ordered}", x, ordered=x)
            m.debug.print(skip_format_check=True, ordered=True)("three {}", x, x)
            return x

        m.jit(f)(np.float32(2))
        m.effects_barrier()
    return [*seen, *out.getvalue().splitlines()]


def operation_by_operation(m: Any) -> Any:
    """Return the values that Python sees in loops and branches while ``disable_jit`` is set."""
    seen: list[float] = []

    def see(x: Any, result: Any) -> Any:
        seen.append(float(x))
        return result

    with m.disable_jit():
        return (
            m.lax.scan(lambda c, x: (see(c, c + x), c), np.float32(0), m.numpy.arange(3.0)),
            m.lax.scan(
                lambda c, x: (see(x, c + x), c), np.float32(0), m.numpy.arange(3.0), reverse=True
            ),
            m.lax.while_loop(lambda c: c < 3, lambda c: see(c, c + 1), 0),
            m.lax.fori_loop(0, 2, lambda i, c: see(i, c + 1), 0),
            m.lax.cond(m.numpy.array(True), lambda: see(1, 1), lambda: see(2, 2)),
            m.lax.switch(m.numpy.array(1), [lambda: see(1, 1), lambda: see(2, 2)]),
            m.lax.map(lambda x: see(x, x), m.numpy.arange(2.0)),
            m.grad(lambda x: m.lax.fori_loop(0, 3, lambda i, c: c * x, 1.0))(2.0),
            m.vmap(lambda x: m.lax.while_loop(lambda c: c < 9, lambda c: 2 * c, x))(
                np.arange(1, 4)
            ),
            seen,
        )


def times_traced(m: Any) -> int:
    traced: list[Any] = []

    def body(c: Any) -> Any:
        traced.append(c)
        return c + 1

    def condition(c: Any) -> Any:
        return c < 3

    for _ in range(3):
        m.lax.while_loop(condition, body, 0)
    return len(traced)


def closed_over(m: Any) -> Any:
    step, found = 1, []

    def body(c: Any) -> Any:
        return c + step

    def condition(c: Any) -> Any:
        return c < 9

    for step in (1, 4):  # noqa: B007 (the body reads it)
        found += [m.lax.while_loop(condition, partial(body), 0)]
    return found


def of_a_partial(m: Any) -> Any:
    f = m.custom_jvp(partial(lambda x, *, p: x**p, p=2))
    f.defjvp(lambda primals, tangents: (f(*primals), 2 * primals[0] * tangents[0]))
    return m.grad(f)(3.0)


def rule_that_fails(m: Any) -> Any:
    def closing_over(x: Any) -> Any:
        f = m.custom_jvp(lambda y: x * y)
        f.defjvp(lambda primals, tangents: (f(*primals), 0))
        return f(2.0)

    return m.vmap(m.jit(closing_over))(np.arange(3, dtype=np.float32))


def deleted(m: Any, use: Callable[[Any], Any]) -> Any:
    x = m.numpy.arange(3.0)
    kept = x.copy()
    x.delete()
    x.delete()
    return kept, x.is_deleted(), use(x)


def mixed_within(m: Any) -> list[Any]:
    """Call functions whose own arithmetic mixes shapes and dtypes, where callers must not."""
    jnp, ones = m.numpy, m.numpy.ones(3)
    results = []
    for wanted in (m.numpy_rank_promotion("raise"), m.numpy_dtype_promotion("strict")):
        with wanted:
            results += [
                m.random.categorical(m.random.key(0), jnp.zeros(5), shape=(3,)),
                jnp.packbits(ones > 0),
                jnp.add.outer(ones, ones),
                jnp.frexp(ones)[1],
                jnp.ldexp(ones, jnp.arange(3)),
                [
                    whether_it_raises(partial(op, ones, y))
                    for op in (
                        jnp.add,
                        jnp.maximum,
                        lambda x, y: x * y,
                        *[f(jnp.add) for f in (m.jit, m.vmap, m.checkpoint)],
                        partial(m.eval_shape, jnp.add),
                        m.named_scope("sum")(jnp.add),
                        m.profiler.annotate_function(jnp.add),
                        partial(m.tree.map, jnp.add),
                        lambda x, y: m.tree.reduce(jnp.add, [x, y]),
                    )
                    for y in (jnp.ones((2, 3)), jnp.ones(3, int))
                ],
            ]
    return results


def whether_it_raises(call: Callable[[], Any]) -> str:
    """Say whether a call raises."""
    try:
        call()
    except (TypeError, ValueError):
        return "raises"
    return "returns"


def type_in_place_of_an_array(m: Any) -> Any:
    x = m.ShapeDtypeStruct((2, 3), np.float32)
    other = x.update(shape=(4,), dtype=np.int8)
    return len(x), other.shape, str(other.dtype), x.update() == x


def programs_with_other_parts(m: Any) -> Any:
    closed = m.make_jaxpr(lambda x: m.numpy.sin(m.numpy.cos(x)) * TABLE)(1.5)
    first, second, *_ = closed.jaxpr.eqns
    swapped = [
        first.replace(primitive=second.primitive, params=second.params),
        second.replace(primitive=first.primitive, params=first.params),
    ]
    jaxpr = closed.jaxpr.replace(eqns=swapped, outvars=second.outvars, constvars=[])
    other = closed.replace(jaxpr=jaxpr, consts=[])
    names = [eqn.primitive.name for eqn in other.eqns]
    parts = [len(closed.constvars), len(closed.invars), len(other.outvars), len(other.constvars)]
    return names, parts, m.extend.core.jaxpr_as_fun(other)(np.float32(1.5))


def infinite(m: Any) -> Any:
    with m.debug_infs(True):
        return m.jit(m.numpy.exp)(m.numpy.float32(1000.0))


def without_leaks(m: Any) -> Any:
    f = m.custom_jvp(lambda x: 2 * x)
    f.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    with m.checking_leaks():
        return m.jit(lambda x: f(x) + 1)(3.0), m.grad(m.jit(f))(3.0)


def exchanged(m: Any) -> Any:
    x = np.arange(6 * 12.0).reshape(2, 3, 12, 1)

    def over_both(f: Callable[[Any], Any]) -> Any:
        return m.vmap(m.vmap(f, axis_name="j"), axis_name="i")

    exchange = partial(m.lax.all_to_all, axis_name=("i", "j"))
    return [
        over_both(partial(exchange, split_axis=split, concat_axis=concat, tiled=tiled))(x)
        for x, split, tiled in ((x, 0, True), (x.reshape(2, 3, 2, 6), 1, False))
        for concat in (0, 1)
    ]


def without_arguments(m: Any) -> Any:
    def call(f: Any, *args: Any) -> Any:
        f = m.custom_jvp(f)
        f.defjvp(lambda primals, tangents: (f(*primals), sum(tangents)))
        return f(*args)

    return m.jit(m.vmap(lambda x: call(lambda: x) + call(lambda y: x * y, x)))(np.arange(3.0))


def custom_twice(m: Any) -> Any:
    f = m.custom_vjp(m.custom_batching.custom_vmap(lambda x: x + 1))
    f.def_vmap(lambda size, batched, x: (x + 2, True))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * x,))
    return m.vmap(f)(np.arange(3.0)), m.grad(f)(2.0)


def of_a_complex_number(kind: Callable[[Any], Any], m: Any) -> Any:
    return kind(m.numpy.array(1j))


def of_one_element(kind: Callable[[Any], Any], m: Any) -> Any:
    return kind(m.numpy.ones((1,)))


def with_types(*values: Any) -> list[Any]:
    return [(x, str(x.dtype), x.weak_type) for x in values]


def reduced(m: Any) -> Any:
    f = m.numpy.frompyfunc(lambda x, y: x * y + 1, 2, 1)
    same = [f == other for other in (f, m.numpy.frompyfunc(max, 2, 1), 3)]
    return [
        f.reduce(TABLE + 1),
        f.accumulate(np.zeros((0, 2), np.float32)),
        with_types(f.reduce(TABLE + 1, dtype=np.float16)),
        *same,
        hash(f) == hash(f),
    ]


def first_error(m: Any) -> Any:
    """The error of mapped examples, checked outside."""
    checked = m.experimental.checkify.checkify(
        lambda x: m.experimental.checkify.check(x < 2, "{} is not below 2", x)
    )
    error, _ = m.vmap(checked)(m.numpy.arange(4.0))
    return m.experimental.checkify.check_error(error)


def incomparable(m: Any) -> Any:
    f = m.jit(lambda x, kind: x, static_argnums=1)
    kind = type("Kind", (), {"__hash__": lambda self: 1, "__eq__": lambda self, other: 1 / 0})
    return f(1.0, kind()), f(1.0, kind())


def lying(m: Any) -> Any:
    """Return the descriptions of an array over several devices."""
    mesh = m.make_mesh((2,), ("x",))
    x = m.device_put(TABLE[:2], m.NamedSharding(mesh, m.P("x")))
    told = [
        x.device == x.sharding,
        x.on_device_size_in_bytes(),
        {d.id for d in x.sharding.addressable_devices},
        [s.data for s in x.global_shards],
        x.sharding.is_equivalent_to(m.sharding.SingleDeviceSharding(m.devices()[0]), 1),
        mesh.local_mesh.shape == mesh.shape,
        mesh.local_devices == [*mesh.devices],
        mesh.is_multi_process,
        x.is_ready(),
        x.block_until_ready() is x,
    ]
    return told


def devices(m: Any) -> Any:
    device = m.devices()[1]
    memory = device.default_memory()
    return [
        *(device.local_hardware_id, memory.platform, memory.process_index),
        [d.id for d in memory.addressable_by_devices()],
        [*m.P("x", None, "y")[1:]],
        m.P("x")[0],
    ]


def types(m: Any) -> Any:
    kind = m.core.ShapedArray([2, 3], "float32")
    like = m.ShapeDtypeStruct((2, 3), np.float32)
    return [
        str(kind.to_tangent_aval()),
        str(m.core.ShapedArray((2,), np.int32).to_tangent_aval().dtype),
        *(like.ndim, like.size, kind.ndim, kind.size),
        kind == m.core.ShapedArray((2, 3), np.dtype("float32")),
    ]


FLOAT0 = np.zeros((), jax.float0)
OF_32 = np.dtype(np.float32)
AXES = [("i", 4), ("j", 2)]

TABLE = np.arange(3, dtype=np.float32)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
EIGHT = CUBE.ravel()[:8].reshape(4, 2)
MATRIX = np.array([[4.0, 1.0, 2.0], [0.5, 3.0, 1.0], [1.0, 0.0, 2.0]], np.float32)

# loops whose carries begin as numbers of Python's
FROM_NUMBERS: tuple[Callable[[Any], Any], ...] = (
    lambda m: m.lax.scan(lambda c, a: (c + a, c), 0.0, np.ones(3, np.float32)),
    lambda m: m.lax.scan(lambda c, a: (c + 0.5, c), 0, None, 3),
    lambda m: m.lax.fori_loop(0, 3, lambda i, c: c * 1.5, 1),
    lambda m: m.lax.while_loop(lambda c: c < 3, lambda c: c + 0.5, 0),
    lambda m: m.lax.scan(lambda c, a: (c * a, c), 1.0, m.numpy.ones(3, "bfloat16")),
)

ITERABLES: tuple[Callable[[list[Any]], Any], ...] = (set, frozenset, iter)

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "treedef": lambda m: [
        str(m.tree.structure(x))
        for x in (
            *({"a": 1, "b": (2, [3, None])}, 1, None, (), (1,), {}, Pair(1, [2])),
            *(collections.OrderedDict(b=1, a=2), collections.defaultdict(int, a=1)),
        )
    ],
    "arguments are named by any iterable": lambda m: [
        [
            m.jit(lambda x, y: x + y if y > 0 else x, static_argnames=kind(["y"]))(1.0, y=2),
            m.jit(lambda x, y: x + y if y > 0 else x, static_argnums=kind([1]))(1.0, 2),
            m.jit(lambda x, y: x + y, donate_argnames=kind(["y"]))(1.0, y=m.numpy.ones(2)),
            m.grad(lambda x, y: x * y, argnums=kind([1]))(3.0, 2.0),
            m.make_jaxpr(lambda x, y: x + y, static_argnums=kind([1]))(1.0, 2).in_avals[0].shape,
        ]
        for kind in ITERABLES
    ],
    "places by NumPy's numbers": lambda m: [
        m.jit(lambda x, y: x + y if y > 0 else x, static_argnums=places)(1.0, 2)
        for places in (np.array([1]), (np.int64(1),), np.int64(1), m.numpy.array([1]))
    ],
    "axes and sizes by any iterable": lambda m: [
        [
            m.numpy.sum(m.numpy.ones((2, 3)), axis=kind([0])),
            m.numpy.squeeze(m.numpy.ones((1, 3)), axis=kind([0])),
            m.numpy.ones((2, 3)).reshape(kind([6])),
            m.random.normal(m.random.key(0), kind([3])).shape,
        ]
        for kind in ITERABLES
    ],
    "enumerated ints are axes and sizes": lambda m: [
        m.numpy.sum(m.numpy.ones((2, 3)), axis=Axis.CHANNEL),
        m.numpy.zeros(Axis.CHANNEL),
        m.numpy.zeros((2, Axis.CHANNEL)),
        m.numpy.moveaxis(m.numpy.ones((2, 3)), 0, Axis.CHANNEL),
        m.random.normal(m.random.key(0), Axis.CHANNEL).shape,
        m.nn.softmax(m.numpy.ones((2, 3)), axis=Axis.CHANNEL),
        m.numpy.ones((2, 3)).sum(Axis.CHANNEL),
    ],
    "a number in an array without axes": lambda m: [
        m.lax.scan(lambda c, _: (c + 1, c), 0, None, length=np.array(3)),
        m.grad(lambda x, y: x * y, argnums=np.array(1))(2.0, 3.0),
    ],
    "arrays of a dict are joined": lambda m: [
        m.numpy.stack({"a": m.numpy.ones(2)}.values()),
        m.numpy.hstack({"a": m.numpy.ones(2)}.values()),
    ],
    "a dict's values are branches": lambda m: [
        m.lax.switch(1, {"a": lambda x: x, "b": lambda x: -x}.values(), 3.0),
        m.numpy.concatenate({"a": m.numpy.ones(2), "b": m.numpy.zeros(1)}.values()),
        m.numpy.select({"a": m.numpy.ones(2) > 0}.values(), {"a": m.numpy.ones(2)}.values()),
    ],
    "a text is no sequence of arrays": lambda m: m.numpy.stack("ab"),
    "a dict is no sequence of arrays": lambda m: m.numpy.stack({"a": m.numpy.ones(2)}),
    "metadata without a hash is compared": lambda m: [
        m.tree.structure(node(m, 1, 1)) == m.tree.structure(node(m, 1, i)) for i in (1, 2)
    ],
    "metadata without a hash under map": lambda m: (
        m.tree.map(lambda a, b: a + b, node(m, 1, 1), node(m, 2, 1)).x
    ),
    "other metadata under map": lambda m: m.tree.map(min, node(m, 1, 1), node(m, 2, 2)),
    "metadata without a hash under jit": lambda m: m.jit(lambda n: n.x)(node(m, 1, 1)),
    "metadata without a hash under grad": lambda m: m.grad(lambda n: n.x**2)(node(m, 3.0, 1)).x,
    "metadata without a hash in scan": lambda m: m.lax.scan(
        lambda c, x: (c, x), node(m, 1.0, 1), m.numpy.arange(2.0)
    )[0].x,
    "psum": lambda m: two_axes(m, lambda x: m.lax.psum(x, ("i", "j"))),
    "psum of a number": lambda m: two_axes(m, lambda x: m.lax.psum(1, ("i", "j"))),
    "pmean": lambda m: two_axes(m, lambda x: m.lax.pmean(x, ("i", "j"))),
    "pmax": lambda m: two_axes(m, lambda x: m.lax.pmax(x, ("i", "j"))),
    "pmin": lambda m: two_axes(m, lambda x: m.lax.pmin(x, ("i", "j"))),
    "axis_index": lambda m: two_axes(m, lambda x: m.lax.axis_index(("i", "j"))),
    "axis_index, otherwise": lambda m: two_axes(m, lambda x: m.lax.axis_index(("j", "i"))),
    "axis_size": lambda m: two_axes(m, lambda x: m.lax.axis_size(("i", "j"))),
    "grad of psum": lambda m: m.grad(
        lambda s: two_axes(m, lambda x: m.lax.psum((s * x) ** 2, ("i", "j"))).sum()
    )(2.0),
    "float0 into jit": lambda m: m.jit(lambda t: t)(np.zeros(3, jax.float0)).dtype == jax.float0,
    "float0 within jit": lambda m: m.jit(
        lambda x, t: m.jvp(lambda x, i: x * i, (x, 2), (1.0, t))
    )(1.0, FLOAT0),
    "float0 out of jit": lambda m: m.jit(m.grad(lambda i, x: x * i, (0, 1), allow_int=True))(
        2, 1.0
    )[1],
    "zeros of float0": lambda m: m.numpy.zeros((2,), m.float0).dtype == jax.float0,
    "float0 compared": lambda m: [
        m.grad(lambda i, x: x * i, allow_int=True)(2, 1.0) == FLOAT0,
        m.numpy.zeros(2, m.float0) != np.zeros(2, jax.float0),
    ],
    "a rule that fails and is not used": rule_that_fails,
    "disable_jit": operation_by_operation,
    "branches get arrays": lambda m: m.lax.cond(
        True, lambda x: isinstance(x, m.Array), lambda x: False, 1.0
    ),
    "cond gives arrays": lambda m: isinstance(m.lax.cond(False, lambda: 1, lambda: 2), m.Array),
    "a tangent of int": lambda m: m.jvp(lambda x: x, (1.0,), (1,)),
    "a tangent of int32": lambda m: m.jvp(lambda x: x, (1.0,), (np.int32(1),)),
    "static_argnames": lambda m: m.jit(lambda x: x, static_argnames=("nope",))(1),
    "static_argnums": lambda m: m.jit(lambda x: x, static_argnums=(3,))(1),
    "donate_argnames": lambda m: m.jit(lambda x: x, donate_argnames=("nope",))(1),
    "custom_jvp of a partial": of_a_partial,
    "vjp with an integer output": lambda m: m.vjp(lambda x: (2 * x, np.int32(3)), 1.0)[1](
        (1.0, FLOAT0)
    ),
    "fori_loop to a float": lambda m: m.lax.fori_loop(0, np.float32(3), lambda i, c: c + 1, 0),
    "fori_loop from a narrow int": lambda m: m.lax.fori_loop(
        0, np.int8(3), lambda i, c: c + i, 0
    ),
    "a loop is traced once": times_traced,
    "a loop sees what it closes over": closed_over,
    "debug_infs": infinite,
    "programs with other parts": programs_with_other_parts,
    "a deleted array": lambda m: deleted(m, lambda x: x.is_deleted()),
    "a sum of a deleted array": lambda m: deleted(m, lambda x: x + 1),
    "data of a deleted array": lambda m: deleted(m, np.asarray),
    "delete a traced array": lambda m: m.jit(lambda x: x.delete())(1.0),
    "bytes on a device": lambda m: m.numpy.ones((2, 3)).on_device_size_in_bytes(),
    "empty arrays": lambda m: [repr(m.numpy.zeros(s)) for s in ((0,), (0, 5), (2, 0))],
    "a type in place of an array": type_in_place_of_an_array,
    "length of a type without axes": lambda m: len(m.ShapeDtypeStruct((), np.float32)),
    "what functions mix within": mixed_within,
    "jit of no function": lambda m: m.jit(None),
    "jit without a function": lambda m: m.jit(static_argnums=0)(lambda n, x: x * n)(2, 3.0),
    "types as text": lambda m: [
        repr(x) for x in m.make_jaxpr(lambda x, y: (x, y))(1.0, np.ones(3, "f")).in_avals
    ],
    "what can be lowered": lambda m: isinstance(m.jit(abs), m.stages.Wrapped),
    "kinds of what no array holds": lambda m: [
        m.dtypes.issubdtype(np.dtype(a), b) for a in "OU" for b in (np.number, np.generic)
    ],
    "result types with weakness": lambda m: [
        m.dtypes.result_type(*args, return_weak_type_flag=True)
        for args in ((1, 2.0), (np.int8(1), 2.0), (np.float16, 1), (float,))
    ],
    "partition specs": lambda m: [
        (*p, p.index("x"), p.count("x"))
        for p in (m.P("y") + m.P("x", None), m.P(None) + m.P("x", "y"))
    ],
    "mul into another dtype": lambda m: [
        m.lax.mul(x, y, out_dtype=dtype)
        for x, y, dtype in (
            (np.int8(100), np.int8(100), np.int32),
            (np.float32(2.5), np.float16(3), np.float32),
            (2.0, 3.0, np.float16),
        )
    ],
    "grad of mul into another dtype": lambda m: m.grad(
        lambda x: m.lax.mul(x, 2 * x, out_dtype=np.float32)
    )(np.float16(3)),
    "an operand by name": lambda m: [
        m.lax.switch(i, [lambda x: x, lambda x: 2 * x], operand=3.0) for i in (0, 1)
    ],
    "operands in both ways": lambda m: m.lax.switch(0, [lambda x: x], 1.0, operand=3.0),
    "arrays put where they lie": lambda m: [
        m.lax.full_like(m.lax.full((2,), 1.5, sharding=s), 2, sharding=s).sharding == s
        for s in [m.sharding.SingleDeviceSharding(m.devices()[0])]
    ],
    "parts of factors": lambda m: [
        np.round(np.asarray(x), 4)
        for x in (
            m.numpy.linalg.svd(
                MATRIX, compute_uv=False, full_matrices=False, subset_by_index=(0, 3)
            ),
            m.numpy.linalg.svd(MATRIX, subset_by_index=(0, 3)).S,
            m.numpy.linalg.slogdet(MATRIX, method="qr").logabsdet,
            m.scipy.linalg.eigh(MATRIX + MATRIX.T, turbo=False, eigvals_only=True),
        )
    ],
    "another method": lambda m: m.numpy.linalg.slogdet(MATRIX, method="svd"),
    "effects of a program": lambda m: [
        len(m.make_jaxpr(f)(1.0).effects)
        for f in (
            m.numpy.sin,
            m.jit(lambda x: m.lax.cond(x > 0, lambda: m.debug.print("{}", x), lambda: None)),
        )
    ],
    "weak types of tangents": lambda m: [
        bool(y.weak_type)
        for x in (1.0, m.numpy.float32(1), m.numpy.asarray(1.0))
        for f in (m.numpy.sin, lambda x: 2 * x, lambda x: x * np.float32(2), lambda x: x**2)
        for y in (
            *m.jvp(f, (x,), (1.0,)),
            m.linearize(f, x)[1](1.0),
            *m.vjp(f, x)[1](1.0),
            m.jit(lambda x, t, f=f: m.jvp(f, (x,), (t,))[1])(x, 1.0),
        )
    ],
    "debugging in two calls": printed,
    "rounding by Python": lambda m: [
        (y, str(y.dtype))
        for x in (m.numpy.float32([1.5, 2.5]), m.numpy.int8(3))
        for y in (round(x), round(x, None), round(x, 0), m.jit(round)(x))
    ],
    "updates by lists": lambda m: [
        m.numpy.zeros(3).at[m.numpy.array([0, 2])].set([1, 2.5]),
        m.numpy.zeros(3).at[:2].add((m.numpy.float32(1), 2)),
    ],
    "jacobians of Python numbers": lambda m: [
        f(lambda x: x**2)(1.0).weak_type for f in (m.jacfwd, m.jacrev, m.hessian)
    ],
    "eval_shape of what has a shape": lambda m: m.eval_shape(
        m.numpy.dot, *[SimpleNamespace(shape=s, dtype=OF_32) for s in ((2, 3), (3, 4))]
    ).shape,
    "linear_transpose of what has a shape": lambda m: m.linear_transpose(
        lambda x: 2 * x, SimpleNamespace(shape=(2,), dtype=OF_32)
    )(np.ones(2, np.float32)),
    "make_jaxpr of what has a shape": lambda m: (
        str(m.make_jaxpr(lambda x: x)(SimpleNamespace(shape=(), dtype=OF_32)).in_avals[0].shape)
    ),
    **{
        f"{kind.__name__} of one element": partial(of_one_element, kind)
        for kind in (bool, int, float, complex)
    },
    "named axes of a program": lambda m: (
        "psum" in str(m.make_jaxpr(lambda x: m.lax.psum(x, ("i", "j")), (), AXES)(2.0))
    ),
    "program of a loop": lambda m: len(
        m.make_jaxpr(lambda x: m.lax.fori_loop(0, 3, lambda i, c: m.numpy.sin(c), x))(1.0)
        .eqns[0].params["jaxpr"].jaxpr.eqns
    ),
    "how a ShapeDtypeStruct prints": lambda m: [
        repr(m.ShapeDtypeStruct((2,), "float32", sharding=sharding, weak_type=weak))
        for sharding in (
            None,
            m.sharding.SingleDeviceSharding(m.devices()[0]),
            m.sharding.NamedSharding(m.make_mesh((1,), ("x",)), m.P("x")),
        )
        for weak in (False, True)
    ],
    "length of a ShapeDtypeStruct": lambda m: len(m.ShapeDtypeStruct((2, 3), np.float32)),
    "device_put shares": lambda m: [
        m.device_put(x, may_alias=alias) is x
        for x in [m.numpy.ones(3)]
        for alias in (None, True, False)
    ],
    "deleted arrays": lambda m: [(x.delete(), x.is_deleted())[1] for x in [m.numpy.ones(3) + 1]],
    "no leak of custom_jvp": without_leaks,
    "all_to_all over two axes": exchanged,
    "numbers that integers cannot hold, in floats": lambda m: with_types(
        *[
            f(m.numpy.arange(1, 4, dtype=dtype), number)
            for dtype, number in (("uint8", -2), ("int8", 300), ("uint32", -1))
            for f in (m.numpy.true_divide, m.numpy.arctan2, m.numpy.hypot, m.numpy.copysign)
        ]
    ),
    "known integers as exponents": lambda m: with_types(
        *[x**p for x in (m.numpy.arange(3, dtype="int8"), np.float32(-2)) for p in (np.int64(2),)],
        m.numpy.arange(3.0) ** m.numpy.int32(3),
        m.numpy.power(m.numpy.int8(3), np.array(2, np.int32)),
    ),
    "known negative exponents of integers": lambda m: m.numpy.arange(3) ** m.numpy.int32(-1),
    "round": lambda m: with_types(
        *[round(m.numpy.float32(2.5), *n) for n in ((), (1,))], round(m.numpy.arange(3.0) / 2)
    ),
    "piecewise": lambda m: m.numpy.piecewise(
        TABLE, [TABLE > 0, TABLE > 1, TABLE < 2], [10.0, 20.0, 30.0, 40.0]
    ),
    "diagonals that are traced": lambda m: [
        m.jit(lambda k: (m.numpy.eye(3, 4, k), m.numpy.tri(2, 3, k, dtype=int)))(k)
        for k in (-2, 0, np.int8(1), 5)
    ],
    "a diagonal that is a float": lambda m: m.jit(lambda k: m.numpy.eye(3, k=k))(1.0),
    "integers at steps of floats": lambda m: with_types(
        *[
            m.numpy.arange(*ends, dtype=dtype)
            for ends in ((1.2, 4.8, 0.24), (5.5, 0, -1.5))
            for dtype in (int, "int8")
        ]
    ),
    **{
        f"{kind.__name__} of a complex number": partial(of_a_complex_number, kind)
        for kind in (int, float, complex)
    },
    "an average over two axes": lambda m: [
        np.round(np.asarray(m.numpy.average(CUBE, axis, weights)), 4)
        for axis, weights in (((1, 2), CUBE[0] % 3), ((2, 0), EIGHT))
    ],
    "keys by their dtype": lambda m: [
        m.random.key_data(x)
        for dtype in ("threefry2x32", m.random.key_dtype("threefry2x32"))
        for x in (
            m.random.key(7, dtype=dtype),
            m.random.wrap_key_data(np.array([1, 2], np.uint32), dtype=dtype),
        )
    ],
    "memory as an array": lambda m: with_types(
        m.numpy.array(bytearray(b"ab"), ndmin=2),
        m.numpy.asarray(memoryview(b"abc")),
        m.numpy.asarray(array("i", [1, 2])),
        m.numpy.asarray(SimpleNamespace(__array_interface__=TABLE.__array_interface__)),
    ),
    "bytes as an array": lambda m: m.numpy.array(b"ab"),
    "repeated scalars": lambda m: with_types(
        m.numpy.repeat(np.float32(3), 2, axis=0),
        m.numpy.repeat(m.numpy.zeros((0, 2)), 2, axis=0, total_repeat_length=3),
    ),
    "bools as indices": lambda m: m.numpy.take(TABLE, np.array([True, False])),
    "indices out of bounds, one-hot": lambda m: with_types(
        *[
            m.numpy.take_along_axis(x, np.array([-1, -4, 5, 1]), 0, mode="one_hot")
            for x in (TABLE, np.arange(3, dtype=np.int32))
        ]
    ),
    "elements of a scalar along an axis": lambda m: m.numpy.take(np.float32(2), np.array([0]), -1),
    "an item by a tuple": lambda m: m.numpy.asarray(MATRIX).item((1, 0)),
    "a view as no other dtype": lambda m: with_types(m.numpy.arange(4, dtype="int16").view()),
    "grids of slices without an end": lambda m: with_types(
        m.numpy.mgrid[:], m.numpy.mgrid[()], m.numpy.ogrid[:], m.numpy.mgrid[:, :2], m.numpy.r_[:]
    ),
    "matrices of rows and columns": lambda m: [
        joined[how, [1, 2, 3], [4, 5, 6]] for joined in (m.numpy.r_, m.numpy.c_) for how in "rc"
    ] + [m.numpy.r_["r", MATRIX, MATRIX]],
    "the median of equal elements": lambda m: [
        m.grad(f)(np.array([1.0, 3, 2, 2], np.float32))
        for f in (m.numpy.median, lambda x: m.numpy.quantile(x, 0.4))
    ],
    "quantiles with weights": lambda m: [
        f(MATRIX, q, axis=axis, weights=weights, method="inverted_cdf")
        for f, q in ((m.numpy.quantile, 0.4), (m.numpy.nanpercentile, np.array([10, 70])))
        for axis in (None, 0, 1)
        for weights in (None, np.abs(MATRIX))
    ],
    "variances about a mean": lambda m: [
        f(np.where(MATRIX < 1, np.nan, MATRIX), axis=0, mean=np.ones((1, 3), np.float32))
        for f in (m.numpy.nanvar, m.numpy.nanstd)
    ],
    "interpolation": lambda m: [
        m.numpy.interp(np.arange(-3, 9, dtype=np.float32), xp, fp, **options)
        for xp, fp in ((TABLE, TABLE**2), (TABLE[::-1] * 2, 1j * TABLE), (TABLE, np.arange(3)))
        for options in ({"period": 4.5}, {"left": "extrapolate"} if xp is TABLE else {"period": -7})
    ],
    "interpolation with a text": lambda m: m.numpy.interp(0.5, TABLE, TABLE, right="nearest"),
    "interpolation with periods": lambda m: m.numpy.interp(0.5, TABLE, TABLE, period=TABLE),
    "polynomials and phases of numbers": lambda m: with_types(
        m.numpy.polyval(TABLE, 2), m.numpy.unwrap(np.arange(3, dtype=np.int8))
    ),
    "flat indices": lambda m: [
        m.numpy.ravel_multi_index((i, i), (2, 3), mode=mode, dtype=np.int16)
        for i in [np.array([0, 1], np.int8)]
        for mode in ("raise", "ignore")
    ],
    "a custom function without arguments": without_arguments,
    "rules of a function that is custom twice": custom_twice,
    "equality with what stands for an array": lambda m: [
        found
        for x in [m.numpy.arange(3)]
        for held in [holding(m, x), m.new_ref(x)]
        for found in (x == held, x != held, held == x)
    ],
    "shifts that stand for arrays": lambda m: m.numpy.roll(
        m.numpy.arange(6), holding(m, m.numpy.array([2]))
    ),
    "arrays like what has a type": lambda m: [
        [*with_types(like(x), m.numpy.full_like(x, 2)), str(m.numpy.iscomplexobj(x))]
        for like in (m.numpy.zeros_like, m.numpy.ones_like, m.numpy.empty_like)
        for x in [SimpleNamespace(shape=(2, 3), dtype=np.dtype("int8"))]
    ],
    "Python's types in questions about dtypes": lambda m: [
        str(m.numpy.finfo(float).eps),
        str(m.numpy.iinfo(int).max),
        [
            (m.numpy.issubdtype(a, b), m.numpy.issubdtype(b, a), m.numpy.can_cast(a, b))
            for a in (np.int32, np.float32, np.float64, np.complex64)
            for b in (int, float, complex, bool)
        ],
    ],
    "running sums of a number": lambda m: [
        with_types(f(5.0, axis=axis))
        for f in (m.numpy.cumsum, m.numpy.cumprod, m.numpy.nancumsum, m.numpy.nancumprod)
        for axis in (0, -1, None)
    ],
    "names of operands": lambda m: [
        m.lax.zeta(x=EIGHT[1:, 0], q=EIGHT[1:, 0]) * 100 // 1,
        m.lax.polygamma(m=EIGHT[1:, 0], x=EIGHT[1:, 1]) * 1000 // 1,
        m.lax.nextafter(x1=EIGHT, x2=EIGHT + 1),
    ],
    "quantiles of coins": lambda m: [
        with_types(m.scipy.stats.bernoulli.ppf(m.numpy.array([0.2, 0.9], d), 0.4))
        for d in ("bfloat16", "float16", "float32")
    ],
    "order of a series": lambda m: m.scipy.special.log_ndtr(1.0, 31),
    "order of a series below 0": lambda m: m.scipy.special.log_ndtr(1.0, series_order=-1),
    "order of a series by place": lambda m: m.scipy.special.log_ndtr(0.0, 2),
    "carries that begin as numbers": lambda m: [
        with_types(*m.tree.leaves(run(m)))
        for run in FROM_NUMBERS
    ],
    "what is made of no elements": lambda m: [
        with_types(found)
        for x in [m.numpy.zeros((0,))]
        for found in (
            *(m.numpy.resize(x, (0, 2)), m.numpy.resize(x, (2,)), m.numpy.isin(x, TABLE)),
            *(m.numpy.isin(TABLE, x), m.numpy.place(x, x > 0, TABLE, inplace=False)),
            *(m.numpy.put(x, np.zeros(0, int), TABLE, inplace=False), m.numpy.delete(x, 0)),
            *(m.numpy.put(TABLE, np.zeros(0, int), TABLE, inplace=False), m.numpy.cov(x)),
            *(m.numpy.delete(TABLE, np.zeros(0, int)), m.numpy.unwrap(x), m.numpy.sort(x)),
            *(m.numpy.cov(np.zeros((2, 0))), m.numpy.cov(np.zeros((0, 2)), y=np.zeros((0, 2)))),
            m.numpy.fill_diagonal(np.zeros((0, 3)), 1.0, inplace=False),
            m.numpy.put_along_axis(TABLE, np.zeros(0, int), 0.0, 0, inplace=False),
            *m.numpy.intersect1d(x, TABLE, return_indices=True),
        )
    ],
    "statistics of no elements": lambda m: with_types(
        *m.tree.leaves(m.scipy.stats.mode(np.zeros((2, 0), np.float32), axis=1)),
        m.scipy.stats.rankdata(np.zeros(0, np.float32)),
    ),
    "transforms along many axes": lambda m: [
        m.numpy.round(100 * transform(x)) + 0.0
        for x in [m.numpy.cos(m.numpy.arange(48.0)).reshape(2, 3, 2, 2, 2)]
        for transform in (
            *(m.numpy.fft.fftn, m.numpy.fft.ifftn, m.numpy.fft.rfftn, m.numpy.fft.irfftn),
            lambda x: m.numpy.fft.rfftn(x, (2, 2, 2, 4)),
        )
    ],
    "transforms along no axes": lambda m: [
        with_types(transform(2.0), transform(TABLE, axes=()))
        for transform in (m.numpy.fft.fftn, m.numpy.fft.ifftn, m.numpy.fft.rfftn)
    ],
    "parts of decompositions": lambda m: [
        m.numpy.round(100 * m.numpy.abs(part))
        for part in (
            m.numpy.linalg.pinv(MATRIX, rcond=0.2),
            m.numpy.linalg.tensorsolve(MATRIX.reshape(3, 1, 3), TABLE[:, None], axes=(2,)),
            *m.numpy.linalg.lstsq(np.zeros((0, 2), np.float32), np.zeros((0, 3), np.float32)),
        )
    ],
    "ranks by tolerances": lambda m: m.numpy.linalg.matrix_rank(
        np.stack([MATRIX, MATRIX]), tol=np.array([0.1, 3.0], np.float32)
    ),
    "covariances of a dtype": lambda m: [
        with_types(m.numpy.round(100 * m.numpy.cov(x, dtype=dtype, aweights=weights)))
        for x, dtype in ((MATRIX, np.float16), (MATRIX + 1j, np.complex64))
        for weights in (None, TABLE + 1)
    ],
    "correlations of numbers and of complex ones": lambda m: [
        m.numpy.corrcoef(TABLE),
        m.numpy.round(100 * m.numpy.corrcoef(MATRIX + 1j * MATRIX.T)),
    ],
    "one point on a line": lambda m: m.numpy.linspace(2.0, 3.0, 1, retstep=True),
    "powers along another axis": lambda m: m.numpy.round(
        m.numpy.geomspace(TABLE + 1, TABLE + 8, 3, axis=1)
    ),
    "polynomials with zeros in front": lambda m: [
        m.numpy.polymul(TABLE, np.r_[TABLE, TABLE], trim_leading_zeros=True),
        m.numpy.polydiv(
            np.array([1, 3, 2, 5], np.float32), TABLE[1:], trim_leading_zeros=True
        ),
    ],
    "sets of a size": lambda m: [
        m.numpy.unique(np.array([3, 1, 3, 2]), return_counts=True, size=5),
        m.numpy.intersect1d(TABLE, TABLE[::-1], size=2, return_indices=True),
    ],
    "functions of two, reduced and compared": reduced,
    "the first error of mapped examples": first_error,
    "static arguments that cannot be compared": incomparable,
    "arrays over several devices": lying,
    "arguments of shard_map that are not divided": lambda m: [
        transform(
            m.shard_map(
                lambda x, tree: x * tree["a"].sum() + tree["b"],
                mesh=m.make_mesh((2,), ("x",), axis_types=(m.sharding.AxisType.Auto,)),
                in_specs=(m.P("x"), None),
                out_specs=m.P("x"),
            )
        )(TABLE[:2], {"a": TABLE, "b": 1.0})
        for transform in (lambda f: f, m.jit)
    ],
    "devices and their memories": devices,
    "types of lists and names": types,
    "padding of transposed convolutions": lambda m: [
        m.lax.conv_transpose(
            CUBE,
            np.arange(12, dtype=np.float32).reshape(3, 4, 1) % 5,
            (2,),
            padding,
            dimension_numbers=("NHC", "HIO", "NHC"),
            use_consistent_padding=True,
        )
        for padding in ("SAME", [(0, 0)], [(1, 0)])
    ],
    "signals of few numbers": lambda m: [
        m.scipy.signal.convolve(np.float32(2), np.float32(3)),
        m.scipy.signal.detrend(np.ones((2, 1), np.float32)),
        m.scipy.signal.detrend(TABLE, type="constant"),
        *m.scipy.signal.welch(TABLE, window=np.ones(2, np.float32), detrend=lambda x: x * 0),
    ],
    "a window longer than the signal": lambda m: m.scipy.signal.welch(
        TABLE, window=np.ones(5, np.float32)
    ),
    "flat places that are unsigned": lambda m: [
        m.numpy.unravel_index(np.array([1, 5, 200], np.uint8), (2, 3)),
        m.numpy.ravel_multi_index((np.array([1, 3]), np.array([2, -1])), (2, 3), mode="wrap"),
        m.numpy.ravel_multi_index((np.array([1, 3]), np.array([2, -1])), (2, 3), mode="clip"),
    ],
    "rows by letters": lambda m: [
        m.numpy.r_["c", TABLE],
        m.numpy.r_["r", TABLE],
        m.numpy.r_["0,2,0", TABLE, TABLE],
        m.numpy.r_["-1,2", 1.0, 2.0],
        m.numpy.ogrid[1:4],
        m.numpy.r_["0,0", TABLE],
    ],
    "elements along an axis, not wrapped": lambda m: [
        m.numpy.take_along_axis(TABLE, np.array([0, -1, 5]), 0, mode=mode, **options)
        for mode in ("fill", "clip", "promise_in_bounds")
        for options in ({}, {"wrap_negative_indices": False}, {"wrap_negative_indices": True})
        if mode != "promise_in_bounds" or options
    ],
    "generators of keys": lambda m: [
        str(m.random.key_impl(m.random.PRNGKey(0))),
        m.random.key(1, impl=m.random.key(0).dtype),
    ],
    "a key of three words": lambda m: m.random.key_impl(np.zeros(3, np.uint32)),
    "axes that are given nothing to map": lambda m: [
        m.vmap(f, in_axes=axes)(np.zeros((0, 4, 3), np.float32), np.zeros((0, 2), np.int32))
        for axes in (0, (0, 0))
        for f in (lambda x, i: x[i], lambda x, i: x.at[i].set(1.0))
    ],
    "text as often as an array says": lambda m: [
        "=" * m.numpy.int32(3),
        m.numpy.asarray(2) * "ab",
        list(b"ab" * m.numpy.uint8(2)),
    ],
    "text as often as a float says": lambda m: "=" * m.numpy.float32(3),
    "a list as often as an array says": lambda m: [1] * m.numpy.int32(3),
    "where the lines of printed arrays end": lambda m: [
        repr(m.numpy.asarray(np.arange(7 * n).reshape(shape).astype(dtype) * scale))
        for n in range(1, 7)
        for shape in ((7 * n,), (7, n))
        for scale in (1, 100, 12345)
        for dtype in ("int32", "float32", "complex64")
    ],
    "a callback that says nothing of examples": lambda m: m.vmap(
        lambda x: m.pure_callback(np.sin, x, x)
    )(TABLE),
}  # fmt: skip


def outcome(program: Callable[[Any], Any], m: Any) -> Any:
    try:
        found = m.tree.map(lambda x: x if isinstance(x, str) else np.asarray(x), program(m))
    except Exception as error:
        return error
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_does_as_jax_does(name: str) -> None:
    theirs = outcome(PROGRAMS[name], jax)
    for tier in ("first", "compiled"):
        with tinyjax.config.scoped(tier=tier):
            ours = outcome(PROGRAMS[name], tinyjax)
        if isinstance(theirs, Exception):
            builtin = next(c for c in type(theirs).__mro__ if c.__module__ == "builtins")
            assert isinstance(ours, builtin), (ours, theirs)
        else:
            assert not isinstance(ours, Exception), ours
            np.testing.assert_equal(ours, theirs)


@pytest.mark.parametrize("name", [n for n in dir(jax.errors) if n[0].isupper()])
def test_error_classes_are_of_the_same_kinds(name: str) -> None:
    ours, theirs = (getattr(m.errors, name) for m in (tinyjax, jax))
    for kind in theirs.__mro__:
        if kind.__module__ == "builtins":
            assert issubclass(ours, kind)
    for other in dir(jax.errors):
        if isinstance(getattr(jax.errors, other), type):
            is_one = issubclass(theirs, getattr(jax.errors, other))
            assert not is_one or issubclass(ours, getattr(tinyjax.errors, other))

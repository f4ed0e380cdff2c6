"""References, arrays that are written in place: against jax, and what they refuse."""

from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax._extensions.state.references import Ref
from tinyjax.errors import ArgumentError, ExportError, OuterRefError, RefError
from tinyjax.test_util import check_grads

pytestmark = pytest.mark.usefixtures("each_tier")

X: Final = np.array([1.0, -2.0, 3.0], np.float32)


def eagerly(m: Any, x: Any) -> Any:
    ref = m.new_ref(x)
    ref[0] = 5.0
    ref[1:] *= 2
    before = m.ref.swap(ref, 1, 7.0)
    m.ref.addupdate(ref, slice(1, 3), x[:2])
    m.ref.set(ref, 2, m.ref.get(ref, 2) + 1)
    return before, m.ref.get(ref), m.freeze(ref)


def in_a_scan(m: Any, x: Any) -> Any:
    ref, seen = m.new_ref(x), m.new_ref(m.numpy.zeros_like(x))

    def body(carry: Any, i: Any) -> Any:
        seen[i] = ref[i] * carry
        ref[...] = ref[...] * 2 + seen[i]
        return carry + ref[0], ref[1]

    last, ys = m.lax.scan(body, x[0], m.numpy.arange(3))
    return last, ys, m.freeze(ref), m.freeze(seen)


def in_a_while_loop(m: Any, x: Any) -> Any:
    ref, steps = m.new_ref(x), m.new_ref(m.numpy.zeros_like(x))

    def body(i: Any) -> Any:
        ref[...] = ref[...] * 1.5
        steps[i % 3] += 1.0
        return i + 1

    limit = m.new_ref(5 + 0 * x)  # jax has no reference in both functions of the loop
    last = m.lax.while_loop(lambda i: i < limit[1], body, 0)
    return last, m.freeze(ref), m.freeze(steps)


def in_branches(m: Any, x: Any) -> Any:
    ref, other = m.new_ref(x), m.new_ref(2 * x)

    def double() -> Any:
        ref[0] = ref[0] * other[0]
        return ref[1]

    def keep() -> Any:
        other[1] = 9.0
        return other[2]

    first = m.lax.cond(x[0] > 0, double, keep)
    second = m.lax.cond(x[1] > 0, double, keep)
    m.lax.switch(
        m.numpy.int32(2) * (x[0] > 0),
        [lambda: ref[0], lambda: ref[1], lambda: m.ref.swap(ref, 2, x[1])],
    )
    return first, second, m.freeze(ref), m.freeze(other)


def in_nested_loops(m: Any, x: Any) -> Any:
    ref = m.new_ref(m.numpy.zeros((3, 3), x.dtype))

    def outer(i: Any, total: Any) -> Any:
        def inner(j: Any, part: Any) -> Any:
            ref[i, j] = x[i] * x[j] + part
            return part + ref[j, i]

        return total + m.lax.fori_loop(0, 3, inner, total)

    total = m.lax.fori_loop(0, 3, outer, x[0])
    return total, m.freeze(ref)


def in_jit(m: Any, x: Any) -> Any:
    ref = m.new_ref(x)

    def closes_over(y: Any) -> Any:
        ref[0] += y
        return ref[...].sum()

    def takes(r: Any, y: Any) -> Any:
        old = r[1]
        r[...] = r[...] * y
        return old

    add, scale = m.jit(closes_over), m.jit(takes)
    outs = [add(x[1]), scale(ref, 2.0), add(x[2]), scale(ref, x[0])]
    return outs, m.freeze(ref)


def made_in_the_body(m: Any, x: Any) -> Any:
    def body(carry: Any, y: Any) -> Any:
        ref = m.new_ref(m.numpy.zeros(2, x.dtype))
        ref[0] = y

        def inner(c: Any, z: Any) -> Any:
            ref[1] = ref[0] * z + ref[1]
            return c, None

        m.lax.scan(inner, None, x)
        return carry + m.freeze(ref), None

    return m.lax.scan(body, m.numpy.zeros(2, x.dtype), x)[0]


def in_parts(m: Any, x: Any) -> Any:
    ref = m.new_ref(x)

    def write(r: Any, y: Any) -> Any:
        tail = r.at[1:]
        tail[1] = y[0]
        m.ref.addupdate(r.at[0], ..., y[1])
        before = m.ref.get(tail.at[0], ...)
        tail.at[0][...] = before * 2
        return before, tail[...]

    return m.jit(write)(ref, x), m.freeze(ref)  # where jax has views


def mapped_over(m: Any, x: Any) -> Any:
    rows, others = m.new_ref(m.numpy.outer(x, x)), m.new_ref(m.numpy.outer(x + 1, x))

    def one(row: Any, other: Any, i: Any, y: Any) -> Any:
        row[i] = y + other[0]
        other[...] = other[...] * y
        return row[0] + other[1]

    places = m.numpy.array([0, 2, 1])
    first = m.vmap(one)(rows, others, places, x)
    second = m.vmap(m.jit(one), in_axes=(0, 0, None, 0))(rows, others, 1, x)
    third = m.jit(m.vmap(lambda r: r[0] * 2))(rows)

    def steps(r: Any, y: Any) -> Any:
        def body(i: Any, _: Any) -> Any:
            r[i] = r[i] * y

        m.lax.fori_loop(0, 3, body, None)

    m.vmap(steps)(rows, x)
    return first, second, third, m.freeze(rows), m.freeze(others)


def scanned_over(m: Any, x: Any) -> Any:
    ref, only_read = m.new_ref(m.numpy.outer(x, x)), m.new_ref(x)

    def body(carry: Any, row_and_y: Any) -> Any:
        row, y, z = row_and_y
        row[0] = row[1] + carry
        return carry + row[2] * y[...], row[0] + z

    last, ys = m.lax.scan(body, x[0], (ref, only_read, x))
    return last, ys, m.freeze(ref)


def checkpointed(m: Any, x: Any) -> Any:
    ref = m.new_ref(x)

    def closes_over(y: Any) -> Any:
        ref[0] = ref[0] * y.sum()
        return m.numpy.sin(ref[...])

    return m.checkpoint(closes_over)(2 * x), m.freeze(ref)


PROGRAMS: Final[list[Callable[[Any, Any], Any]]] = [
    eagerly,
    in_a_scan,
    in_a_while_loop,
    in_branches,
    in_nested_loops,
    in_jit,
    made_in_the_body,
    in_parts,
    mapped_over,
    scanned_over,
    checkpointed,
]
programs = pytest.mark.parametrize("program", PROGRAMS)


def same(ours: Any, theirs: Any) -> None:
    ours, theirs = tinyjax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, 1e-5, 1e-5)


@programs
def test_values(program: Any) -> None:
    expected = program(jax, jax.numpy.asarray(X))
    x = jnp.asarray(X)
    same(program(tinyjax, x), expected)
    same(tinyjax.jit(lambda x: program(tinyjax, x))(x), expected)
    with tinyjax.disable_jit():
        same(program(tinyjax, x), expected)


@pytest.mark.sampled(4)
@programs
def test_derivatives(program: Any) -> None:
    def total(x: Any) -> Any:
        leaves = tinyjax.tree.leaves(program(tinyjax, x))
        return sum(jnp.sum(jnp.sin(0.1 * leaf)) for leaf in leaves)

    x = X.astype(np.float64) / 2 + 1.2
    check_grads(total, (x,), 2, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(total))(x), tinyjax.grad(total)(x), 1e-6)
    for outer in (lambda f: f, tinyjax.checkpoint):
        np.testing.assert_allclose(
            tinyjax.grad(outer(total))(x), tinyjax.grad(total)(x), 1e-6, 1e-6
        )


@pytest.mark.sampled(2)
@programs
def test_jacobians_are_the_same_in_either_mode(program: Any) -> None:
    def fun(x: Any) -> Any:
        leaves = tinyjax.tree.leaves(program(tinyjax, x))
        return jnp.concatenate([jnp.ravel(jnp.sin(0.1 * leaf)) for leaf in leaves])

    x = X.astype(np.float64) / 2 + 1.2
    backwards = tinyjax.jacrev(fun)(x)
    for forwards in (tinyjax.jacfwd(fun), tinyjax.jit(tinyjax.jacfwd(fun))):
        same(forwards(x), backwards)
    columns = [tinyjax.linearize(fun, x)[1](e) for e in np.eye(x.size)]
    same(jnp.stack(columns, 1), backwards)
    same(tinyjax.vmap(tinyjax.jacfwd(fun))(np.stack([x, x])), np.stack([backwards, backwards]))


def test_derivatives_in_what_stands_beside_a_reference() -> None:
    def fun(x: Any, ref: Ref) -> Any:
        ref[...] = ref[...] + 1.0
        return x**2 * ref[...]

    for derivative, expected in (
        (tinyjax.grad, 16.0),
        (tinyjax.jacfwd, 16.0),
        (tinyjax.jacrev, 16.0),
        (tinyjax.hessian, 8.0),
    ):
        ref = tinyjax.new_ref(3.0)
        assert float(derivative(fun)(2.0, ref)) == expected
        assert float(ref[...]) == 4  # it ran once


def written_along(m: Any, outer: Callable[[Any], Any]) -> Any:
    """A function that reads and writes references, and its derivative in their directions, too."""

    def fun(x: Any, whole: Any, parts: Any) -> Any:
        whole[...] = whole[...] * x
        parts["table"][0] += whole[...]
        return m.numpy.sin(x) * parts["table"][1], parts["unwritten"][...] * x

    def push(x: Any, dx: Any) -> Any:
        def arguments(a: float, b: Any, c: float) -> Any:
            refs = {"table": m.new_ref(m.numpy.array(b)), "unwritten": m.new_ref(c * x)}
            return m.new_ref(a * x), refs

        primals, tangents = arguments(3.0, [1.0, 2.0], 4.0), arguments(0.5, [0.0, 1.0], -1.0)
        outs = m.jvp(fun, (x, *primals), (dx, *tangents))
        contents = [ref[...] for w, p in (primals, tangents) for ref in (w, *p.values())]
        return outs, contents

    return outer(push)(m.numpy.float32(2.0), m.numpy.float32(1.5))


@pytest.mark.parametrize("how", ["eager", "jit", "vmap"])
def test_a_jvp_along_references(how: str) -> None:
    def outer(m: Any) -> Any:
        if how == "vmap":
            return lambda push: (
                lambda x, dx: m.vmap(push)(m.numpy.stack([x, -x]), m.numpy.stack([dx, dx]))
            )
        return m.jit if how == "jit" else lambda push: push

    same(written_along(tinyjax, outer(tinyjax)), written_along(jax, outer(jax)))


def test_what_a_jvp_along_references_takes() -> None:
    def fun(x: Any, ref: Ref, count: Ref) -> Any:
        count[...] += 1
        ref[...] = x * ref[...]
        return ref[...] ** 2, count[...]

    x, ref, count = jnp.float32(2.0), tinyjax.new_ref(3.0), tinyjax.new_ref(0)
    float0: Any = np.zeros((), jax.dtypes.float0)
    along = tinyjax.new_ref(1.0)
    value, tangent, aux = tinyjax.jvp(fun, (x, ref, count), (x, along, float0), has_aux=True)
    assert (value, tangent, aux) == (36, 96, 1)
    assert [float(r[...]) for r in (ref, along, count)] == [6, 8, 1]
    number: Any = 1.0
    with raises(RefError, match=r"primals\[1\] is a Ref, and so its tangent must be one"):
        tinyjax.jvp(fun, (x, ref, count), (x, number, float0))
    with raises(RefError, match="twice"):
        tinyjax.jvp(fun, (x, ref, count), (x, ref, float0))
    # a second derivative, through the first one's references
    slope = tinyjax.grad(lambda x: tinyjax.jvp(fun, *started(x), has_aux=True)[1])(x)
    step = 1e-2
    ahead, behind = (tinyjax.jvp(fun, *started(x + h), has_aux=True)[1] for h in (step, -step))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), 1e-3)


def started(x: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    refs = tinyjax.new_ref(3.0), tinyjax.new_ref(0)
    return (x, *refs), (x, tinyjax.new_ref(1.0), np.zeros((), jax.dtypes.float0))


@programs
def test_batches(program: Any) -> None:
    xs = np.stack([X, X[::-1], 0.5 * X])
    each = [program(tinyjax, jnp.asarray(x)) for x in xs]
    expected = tinyjax.tree.map(lambda *rows: np.stack([np.asarray(r) for r in rows]), *each)
    mapped = tinyjax.vmap(lambda x: program(tinyjax, x))
    for call in (mapped, tinyjax.jit(mapped)):
        same(call(xs), expected)


def test_a_loop_until_a_reference_says_so(outer: Ref) -> None:
    def step(i: Any) -> Any:
        outer[0] += i
        return i + 1

    run = tinyjax.jit(lambda: lax.while_loop(lambda i: outer[0] < 10, step, 0))
    assert (int(run()), float(outer[0]), int(run())) == (5, 10.0, 0)


@pytest.fixture
def outer() -> Ref:
    return tinyjax.new_ref(jnp.zeros(3))


def test_shapes_of_what_takes_a_reference() -> None:
    def count(refs: dict[str, Any], step: Any) -> Any:
        refs["a"][...] += step
        return refs["a"][...], refs["a"].shape[0] * step

    for m, of in ((tinyjax, jnp), (jax, jax.numpy)):
        ref = m.new_ref(of.arange(3.0))
        found = m.eval_shape(count, {"a": ref}, m.ShapeDtypeStruct((3,), "float32"))
        assert [(x.shape, x.dtype) for x in found] == [((3,), np.dtype("float32"))] * 2
        np.testing.assert_array_equal(ref[...], [0, 1, 2])


def test_what_is_staged_once_is_used_again(outer: Ref) -> None:
    traced = []

    @tinyjax.jit
    def add(x: Any, where: Any) -> Any:
        traced.append(x)
        outer[where] += x
        return 2 * x

    assert [float(add(i, 0)) for i in range(4)] == [0, 2, 4, 6]
    assert float(add(1.5, 1)) == 3.0
    np.testing.assert_array_equal(outer[...], [6.0, 1.5, 0.0])
    first = len(traced)
    add(7, 2)
    add(2.5, 2)
    assert len(traced) == first
    other = tinyjax.new_ref(jnp.ones(2))
    both = []

    @tinyjax.jit
    def move(a: Any, b: Any) -> None:
        both.append(a)
        a[0], b[0] = b[0], a[0]

    move(outer, other)
    move(other, outer)
    assert len(both) == 2  # one shape each
    move(outer, other)
    assert len(both) == 2
    assert (float(outer[0]), float(other[0])) == (1.0, 6.0)


def test_what_does_not_depend_on_the_transformation_is_written(outer: Ref) -> None:
    def counted(x: Any) -> Any:
        outer[0] += 1
        outer[1] = lax.stop_gradient(x)
        return x * x

    assert tinyjax.grad(counted)(3.0) == 6.0
    tinyjax.vmap(lambda x: tinyjax.ref.swap(outer, 2, 4.0) + x)(jnp.ones(2))
    np.testing.assert_array_equal(outer[...], [1.0, 3.0, 4.0])


def test_a_read_is_the_value_at_that_time(outer: Ref) -> None:
    before = outer[...]
    outer[0] = 1.0
    assert before[0] == 0.0
    data = np.zeros(2)
    ref = tinyjax.new_ref(data)
    ref[0] = 1.0
    assert data[0] == 0.0


def test_a_reference_of_each_type() -> None:
    weak = tinyjax.new_ref(1)
    assert not weak[...].weak_type
    weak[...] += 1
    weak[...] = jnp.asarray(2) * 1
    assert not weak[...].weak_type
    assert (weak.shape, weak.dtype.name, weak.ndim, weak.size) == ((), "int32", 0, 1)
    assert repr(weak) == "Ref(2, dtype=int32)"
    keys = tinyjax.new_ref(tinyjax.random.split(tinyjax.random.key(0), 3))
    keys[0] = tinyjax.random.key(9)
    assert tinyjax.random.key_data(keys[0])[1] == 9
    assert len(keys) == 3
    empty = tinyjax.empty_ref(tinyjax.ShapeDtypeStruct((2,), "bool"))
    empty[1] = True
    assert empty[...].tolist() == [False, True]
    tinyjax.free_ref(empty)
    assert repr(empty) == "Ref<bool[2], after free_ref>"
    with raises(ArgumentError, match="without axes"):
        len(weak)


def refused(outer: Ref) -> list[tuple[Callable[[], Any], type[Exception], str]]:
    ended = tinyjax.new_ref(1.0)
    tinyjax.freeze(ended)
    leaks: list[Any] = []
    wrong: Any = outer
    part: Any = outer.at[1:]
    number: Any = 1.0
    table = tinyjax.new_ref(jnp.zeros((2, 3)))

    @tinyjax.jit
    def takes(r: Ref) -> Any:
        return r[0] + outer[1]

    twice = tinyjax.custom_vjp(lambda r, s: r[0] + s[0])
    twice.defvjp(lambda r, s: (r[0] + s[0], None), lambda _, ct: (None, None))

    def write(x: Any) -> Any:
        outer[0] = x
        return x

    def condition(i: Any) -> Any:
        write(1.0)
        return i < 3

    def late() -> Any:
        tinyjax.jit(lambda: leaks.append(tinyjax.new_ref(1.0)))()
        return leaks[0][...]

    return [
        (lambda: ended[...], RefError, "after freeze"),
        (lambda: tinyjax.freeze(ended), RefError, "after freeze"),
        (lambda: tinyjax.grad(write)(1.0), RefError, "grad of .*write"),
        (lambda: tinyjax.jvp(write, (1.0,), (1.0,)), RefError, "jvp of .*write"),
        (lambda: tinyjax.grad(tinyjax.jit(write))(1.0), RefError, "depends on"),
        (lambda: tinyjax.vmap(write)(jnp.ones(2)), RefError, "vmap of .*write"),
        (lambda: tinyjax.vmap(tinyjax.jit(write))(jnp.ones(2)), RefError, "depends on"),
        (lambda: tinyjax.make_jaxpr(write)(1.0), RefError, "keeps no state"),
        (lambda: tinyjax.eval_shape(lambda: outer[0]), RefError, "keeps no state"),
        (lambda: tinyjax.grad(tinyjax.checkpoint(write))(1.0), RefError, "depends on"),
        (lambda: tinyjax.vmap(lambda r: r + outer[0])(outer), RefError, "from outside by what vm"),
        (lambda: tinyjax.vmap(lambda r, s: r[0])(outer, outer), RefError, "twice"),
        (lambda: jnp.sin(part), RefError, "no array"),
        (lambda: tinyjax.jit(write).explain(1.0), OuterRefError, "pass in"),
        (lambda: tinyjax.export.export(tinyjax.jit(write))(1.0), ExportError, "uses a Ref"),
        (lambda: tinyjax.make_jaxpr(takes)(outer), RefError, "r of .*takes.* is no array"),
        (late, RefError, "outside of it"),
        (lambda: tinyjax.jit(lambda a, b: None)(outer, outer), RefError, "twice"),
        (lambda: takes(outer), RefError, "twice"),
        (lambda: tinyjax.jvp(lambda x: x * twice(outer, outer), (1.0,), (1.0,)), RefError, "twice"),
        (tinyjax.jit(lambda: tinyjax.freeze(outer)), RefError, "Call it where"),
        (tinyjax.jit(lambda: tinyjax.new_ref(1.0)), RefError, "no array"),
        (lambda: jnp.sin(wrong), RefError, "read it, ref"),
        (lambda: lax.scan(lambda c, x: (c, x), outer, None, length=2), RefError, "no array"),
        (lambda: lax.while_loop(condition, lambda i: i + 1, 0), RefError, "Let the body"),
        (lambda: outer.__setitem__(0, 1j), Exception, "without loss"),
        (lambda: tinyjax.new_ref(1.0, memory_space=number), ArgumentError, "memory_space"),
        (lambda: tinyjax.freeze(number), ArgumentError, "takes a Ref"),
        (lambda: tinyjax.ref.get(number), ArgumentError, "expected a Ref"),
        (lambda: table[0, 3], IndexError, "index 3 .* axis 1, of size 3"),
        (lambda: table[..., 1, 3], IndexError, "index 3 .* axis 1, of size 3"),
        (lambda: table[:, -4], IndexError, "index -4 .* axis 1, of size 3"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(i, marks=[pytest.mark.wrong_types] * (i in (12, 22, 26, 27, 28)))
        for i in range(32)
    ],
)
def test_refused(outer: Ref, number: int) -> None:
    call, error, message = refused(outer)[number]
    with raises(error, match=message):
        call()


def test_a_mask_stands_for_several_axes() -> None:
    data = np.arange(20.0).reshape(2, 2, 5)
    mask = np.array([[True, False], [False, True]])
    assert tinyjax.new_ref(jnp.asarray(data))[mask, 4].tolist() == data[mask, 4].tolist()


def test_a_branch_that_is_staged_from_source(outer: Ref) -> None:
    @tinyjax.jit(control_flow="source")
    def program(x: Any) -> Any:
        if x > 0:
            tinyjax.ref.set(outer, 0, x)
        return x

    with pytest.raises(RefError):
        program(1.0)


@pytest.mark.parametrize(("mode", "most"), [("eager", 6), ("jit", 1)])
def test_the_body_of_nested_loops_is_staged_once_a_loop_at_most(mode: str, most: int) -> None:
    total, staged = tinyjax.new_ref(0.0), []

    def nest(depth: int) -> None:
        def body(i: Any, _: None) -> None:
            if depth:
                return nest(depth - 1)
            staged.append(depth)
            total[...] += 1.0
            return None

        lax.fori_loop(0, 2, body, None)

    call = tinyjax.jit(nest, static_argnums=0) if mode == "jit" else nest
    call(4)
    assert float(total[...]) == 2.0**5
    assert len(staged) <= most


def test_a_function_forgets_references_that_ended() -> None:
    box = [tinyjax.new_ref(0.0)]

    @tinyjax.jit
    def count() -> Any:
        box[0][...] += 1
        return box[0][...]

    assert [float(count()), float(count())] == [1.0, 2.0]
    tinyjax.freeze(box[0])
    box[0] = tinyjax.new_ref(10.0)
    assert float(count()) == 11.0
    assert float(box[0][...]) == 11.0


@pytest.mark.parametrize("how", ["eager", "jit", "vmap"])
def test_cotangents_are_written_to_an_argument_of_a_custom_vjp(how: str) -> None:
    def program(m: Any) -> Any:
        stash = m.custom_vjp(lambda ref, x: x)

        def bwd(ref: Any, ct: Any) -> Any:
            ref[...] = ct
            return None, ct

        stash.defvjp(lambda ref, x: (x, ref), bwd)

        def f(x: Any, ref: Any) -> Any:
            return m.numpy.sin(stash(ref, m.numpy.cos(x)) ** 2)

        derivative = m.grad(f)
        if how == "vmap":
            ref = m.new_ref(m.numpy.zeros(3))
            return m.vmap(derivative)(m.numpy.arange(3.0), ref), ref[...]
        ref = m.new_ref(m.numpy.float32(0.0))
        return (m.jit(derivative) if how == "jit" else derivative)(1.0, ref), ref[...]

    found = program(tinyjax)
    same(found, program(jax))
    assert not found[1].weak_type


def test_functions_that_take_references_besides_other_arguments() -> None:
    ref = tinyjax.new_ref(jnp.array([1.0, 2.0]))

    def f(r: Ref, x: Any) -> Any:
        r[0] += 1.0
        return r[1] * x

    assert float(tinyjax.checkpoint(f)(ref, 3.0)) == 6.0
    assert float(tinyjax.grad(tinyjax.checkpoint(f), argnums=1)(ref, 3.0)) == 2.0
    branches = [f, lambda r, x: x]
    chosen = tinyjax.jit(lambda i, r, x: lax.switch(i, branches, r, x))
    assert [float(chosen(i, ref, 5.0)) for i in (0, 1)] == [10.0, 5.0]
    assert ref[...].tolist() == [4.0, 2.0]
    assert [float(x) for x in ref] == [4.0, 2.0]
    assert [float(x) for x in ref.at[...]] == [4.0, 2.0]
    view = ref.at[1:]
    assert (view.shape, view.dtype, view.ndim, view.size, len(view)) == ((1,), ref.dtype, 1, 1, 1)
    assert repr(view).startswith("Ref([4., 2.], dtype=float32).at[slice(1")


def test_references_given_to_a_function_with_a_rule_for_vmap() -> None:
    def program(m: Any) -> Any:
        scale = m.custom_batching.custom_vmap(lambda ref, x: x * ref[...])
        scale.def_vmap(lambda size, in_batched, ref, x: (10.0 * x * ref[...], True))
        x = np.arange(3, dtype=np.float32)
        ref = m.new_ref(m.numpy.float32(3.0))
        mapped = m.vmap(scale, (None, 0))
        return scale(ref, x[2]), mapped(ref, x), m.jit(mapped)(ref, x)

    same(program(tinyjax), program(jax))


def test_examples_whose_references_a_rule_for_vmap_cannot_be_given() -> None:
    """As where only what the function closes over is mapped, its own operations are applied."""
    scale = tinyjax.custom_batch(lambda ref, x: x * ref[...])
    scale.def_vmap(lambda size, in_batched, ref, x: (10.0 * x * ref[...], True))
    x = np.arange(3.0)
    mapped = tinyjax.vmap(scale, (0, None))
    for run in (mapped, tinyjax.jit(mapped)):
        np.testing.assert_array_equal(run(tinyjax.new_ref(x), 2.0), 2 * x)
    with raises(ArgumentError, match="same vmap maps, or is given a reference to it"):
        tinyjax.vmap(scale)(tinyjax.new_ref(x), x)


def test_examples_in_chunks_write_to_their_parts() -> None:
    ref = tinyjax.new_ref(jnp.zeros((2, 5)))

    def f(r: Ref, x: Any) -> Any:
        r[0] = x
        return r[...].sum()

    mapped = tinyjax.vmap(f, in_axes=(1, 0), chunk_size=2)
    assert mapped(ref, jnp.arange(5.0)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert ref[0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_type_of_a_reference() -> None:
    ours, theirs = (m.typeof(m.new_ref(m.numpy.zeros((2, 3)))) for m in (tinyjax, jax))
    assert str(ours) == str(theirs) == "Ref{float32[2,3]}"
    assert ours == tinyjax.ref.AbstractRef(tinyjax.typeof(jnp.zeros((2, 3))))
    assert (ours.shape, ours.ndim, ours.size) == (theirs.shape, theirs.ndim, theirs.size)
    assert ours.dtype == np.dtype(theirs.dtype)
    ref = tinyjax.new_ref(jnp.zeros(2))
    assert (ref.sharding, ref.committed) == (ref[...].sharding, False)
    mesh = tinyjax.make_mesh((1,), ("i",))
    ref = tinyjax.new_ref(
        tinyjax.device_put(jnp.zeros(2), tinyjax.NamedSharding(mesh, tinyjax.P("i")))
    )
    assert (ref.sharding, ref.committed) == (tinyjax.NamedSharding(mesh, tinyjax.P("i")), True)


def test_loops_that_use_no_reference_are_staged_once_though_there_are_some(outer: Ref) -> None:
    staged: list[str] = []
    x = jnp.arange(3.0)

    def plain(c: Any, y: Any) -> Any:
        staged.append("scan")
        return c + y, None

    def body(i: Any) -> Any:
        staged.append("while")
        return i + 1

    def writing(c: Any, y: Any) -> Any:
        staged.append("writing")
        outer[0] += y
        return c, None

    for _ in range(3):
        assert float(lax.scan(plain, 0.0, x)[0]) == 3.0
        assert int(lax.while_loop(lambda i: i < 5, body, 0)) == 5
        lax.scan(writing, 0.0, x)
    assert float(outer[0]) == 9.0
    assert (staged.count("scan"), staged.count("while")) == (1, 1)


def test_which_argument_is_a_reference() -> None:
    """Arguments of the same types, of which another is a reference, are another program."""

    @tinyjax.jit
    def f(a: Any, b: Any) -> Any:
        if isinstance(a, Ref):
            a[...] += 1
        else:
            b[...] += 10
        return a[...] - b[...]

    first, second = tinyjax.new_ref(jnp.float32(1)), tinyjax.new_ref(jnp.float32(2))
    assert float(f(first, jnp.float32(5))) == -3
    assert float(f(jnp.float32(5), second)) == -7
    assert (float(first[...]), float(second[...])) == (2, 12)


def lowered_with_an_argument(m: Any) -> Any:
    r = m.new_ref(m.numpy.asarray(X))
    f = m.jit(lambda r, x: (r.__setitem__(..., r[...] * x), r[0] + x)[1])
    compiled = f.lower(r, 2.0).compile()
    other = m.new_ref(m.numpy.ones(3))
    return compiled(r, 2.0), compiled(other, 5.0), compiled(r, 3.0), r[...], other[...]


def lowered_with_one_from_outside(m: Any) -> Any:
    r, read = m.new_ref(m.numpy.asarray(X)), m.new_ref(m.numpy.ones(()))

    def f(x: Any) -> Any:
        r[1:] = r[1:] + x * read[...]
        return {"first": r[0], "last": x}

    lowered = m.jit(f).lower(m.ShapeDtypeStruct((2,), np.float32))
    compiled = lowered.compile()
    outs = [compiled(X[:2])]
    read[...] = read[...] + 9.0
    outs.append(compiled(X[:2]))
    return outs, r[...], [leaf.shape for leaf in m.tree.leaves(m.jit(f).eval_shape(X[:2]))]


def lowered_with_containers(m: Any) -> Any:
    refs = {name: m.new_ref(m.numpy.float32(k)) for k, name in enumerate("ab")}

    def f(refs: Any, x: Any, n: int) -> Any:
        for _ in range(n):
            refs["a"][...] += x * refs["b"][...]

    compiled = m.jit(f, static_argnums=2).lower(refs, 3.0, 2).compile()
    assert compiled(refs, 3.0) is None
    compiled(refs, 5.0)
    return refs["a"][...], refs["b"][...]


@pytest.mark.parametrize(
    "program",
    [lowered_with_an_argument, lowered_with_one_from_outside, lowered_with_containers],
)
def test_what_is_lowered_and_compiled_takes_references(program: Any) -> None:
    found, expected = program(tinyjax), program(jax)
    for a, b in zip(tinyjax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b)


def test_what_is_lowered_with_a_reference_says_of_its_arguments_and_results(outer: Ref) -> None:
    lowered = tinyjax.jit(lambda r, x: (outer[0] + r[0], r.__setitem__(0, x))[:1]).lower(
        tinyjax.new_ref(X), 2.0
    )
    assert [str(x.aval) for x in lowered.args_info[0]] == ["float32[3]", "float32[]"]
    assert lowered.out_info == (tinyjax.ShapeDtypeStruct((), "float32"),)
    compiled = lowered.compile()
    assert len(tinyjax.tree.leaves(compiled.input_shardings)) == 2
    assert len(compiled.output_shardings) == 1
    for args, message in [
        ((X, 2.0), "compiled for a Ref at args.0., but .* an array"),
        ((tinyjax.new_ref(X), tinyjax.new_ref(1.0)), r"for an array at args.1., but .* a Ref"),
        ((outer, 2.0), "twice, or one that it uses from outside"),
    ]:
        with raises(RefError, match=message):
            compiled(*args)


ROWS, MASK = np.array([0, 1]), np.array([True, False, True, True])
#: Of an array of shape (2, 3, 4).
PARTS: Final[list[Any]] = [
    (ROWS, slice(None), ..., ROWS),
    (ROWS, 0, ..., ROWS),
    (np.array(1), ROWS),
    (..., MASK),
    (..., MASK[:3], slice(None)),
    (..., np.stack([MASK] * 3)),
    (slice(None), [0, 2]),
    (True, ..., None, np.array(-1)),
    (slice(None, None, -1), ..., slice(3, 0, -2)),
]


@pytest.mark.parametrize("index", PARTS, ids=repr)
def test_parts_are_numpys(index: Any) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    replaced, added = x.copy(), x.copy()
    replaced[index] = 7
    np.add.at(added, index, 1)

    def parts(x: Any) -> Any:
        read, written, viewed, summed = [tinyjax.new_ref(x) for _ in range(4)]
        written[index] = 7.0
        viewed.at[index][...] = 7.0
        summed.addupdate(1.0, index)
        return read[index], read.at[index][...], written[...], viewed[...], summed[...]

    for results in (parts(x), tinyjax.jit(parts)(x)):
        expected = (x[index], x[index], replaced, replaced, added)
        for result, array in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, array, strict=True)


def test_scalars_of_numpy_beyond_the_end_are_refused() -> None:
    for index in (np.array(3), (..., np.array(-4)), (None, np.int64(3))):
        with raises(IndexError, match="out of bounds for axis 0, of size 3"):
            tinyjax.new_ref(X)[index]


def test_messages_name_a_reference_and_not_what_it_holds() -> None:
    def fun(params: Any) -> Any:
        return 1.0 if params["r"][...].sum() > 0 else 2.0

    with raises(tinyjax.errors.TracerBoolConversionError, match=r"argument params\['r'\]\."):
        tinyjax.jit(fun)({"r": tinyjax.new_ref(X)})

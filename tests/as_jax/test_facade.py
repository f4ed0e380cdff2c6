"""Primitives written in JAX's way: their rules, and that programs with them are programs."""

import functools
import inspect
import itertools
from typing import Any

import jax
import numpy as np
import pytest
import scipy.special
from jax.experimental import io_callback

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax._jax import ad, batching, callbacks, internals, mlir, toplevel
from tinyjax._jax.core import eval_jaxpr
from tinyjax._jax.ffi import ffi_lowering
from tinyjax._jax.layout import Layout
from tinyjax._jax.modules import JaxModule
from tinyjax._jax.primitives import KeywordParams, Primitive
from tinyjax._jax.xla import apply_primitive
from tinyjax._library.ufuncs.table import TABLE
from tinyjax.core.tracing.primitive import registry
from tinyjax.errors import ArgumentError, MissingRuleError
from tinyjax.extend.core import Primitive as OwnPrimitive, mapped_aval, unmapped_aval


def test_libraries_look_up_how_nodes_are_taken_apart() -> None:
    from jax._src.tree_util import _registry as theirs

    for value in ([1, 2], (1, 2), {"b": 1, "a": 2}):
        ours, other = internals._registry[type(value)], theirs[type(value)]
        (children, metadata), (expected, keys) = ours.to_iter(value), other.to_iter(value)
        assert [*children] == [*expected]
        assert ours.from_iter(metadata, children) == other.from_iter(keys, expected) == value
    assert int not in internals._registry
    with pytest.raises(KeyError):
        internals._registry[int]


def test_libraries_name_parameters_by_position_or_by_name() -> None:
    from jax._src.api_util import infer_argnums_and_argnames as theirs

    def both(a: int, b: int, /, c: int, *args: int, d: int, e: int = 1, **kw: int) -> None: ...
    def plain(x: int, y: int, z: int = 3) -> None: ...

    numbers = (None, 0, 1, (0, 2), (1,), (-1,), (-2, 0), (4,), (9,), ())
    names = (None, "x", "c", ("x", "y"), ("d",), ("kw",), ("missing",), ())
    for signature in (inspect.signature(both), inspect.signature(plain)):
        for argnums, argnames in itertools.product(numbers, names):
            expected = theirs(signature, argnums, argnames)
            found = internals.infer_argnums_and_argnames(signature, argnums, argnames)
            assert tuple(map(set, found)) == tuple(map(set, expected)), (argnums, argnames)


@pytest.mark.parametrize(
    "name", ["promote_dtypes", "promote_dtypes_inexact", "promote_dtypes_complex"]
)
def test_libraries_promote_to_common_dtypes(name: str) -> None:
    from jax._src.numpy import util

    for xs in (
        (1.0,),
        (1, 2),
        (np.float32(1), np.int32(2)),
        (np.ones(2, np.complex64), 1),
        (True,),
    ):
        found, expected = getattr(internals, name)(*xs), getattr(util, name)(*xs)
        assert [x.dtype for x in found] == [x.dtype for x in expected]
        for ours, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, other)


def test_libraries_take_lists_and_axes_apart() -> None:
    from jax._src import util
    from jax.api_util import flatten_axes as theirs

    for ours, other in ((internals.safe_map, util.safe_map), (internals.safe_zip, util.safe_zip)):
        first = (max,) if ours is internals.safe_map else ()
        assert ours(*first, [1, 5], (4, 2)) == other(*first, [1, 5], (4, 2))
        with raises(ValueError, match="shorter"):
            ours(*first, [1, 5], [4])
    assert internals.unzip2([(1, "a"), (2, "b")]) == util.unzip2([(1, "a"), (2, "b")])
    value = {"a": (1.0, 2.0), "b": 3.0}
    for axes in (0, None, {"a": 1, "b": None}, {"a": (None, 2), "b": 0}):
        found = internals.flatten_axes("axes", tinyjax.tree.structure(value), axes)
        assert found == theirs("axes", jax.tree.structure(value), axes)
    internals.check_arraylike("f", 1.0, np.ones(2))


@pytest.mark.wrong_types
def test_what_is_no_array_is_refused_by_name() -> None:
    with raises(TypeError, match="f: expected an array"):
        internals.check_arraylike("f", "text")


def declare(name: str) -> Primitive:
    primitive = Primitive(name)
    del registry[name]  # the suite's table has no row for it
    return primitive


def scaled_sums() -> Primitive:
    """``factor * (x + y)`` and ``x``, linear in both; ``factor`` is a parameter."""
    primitive = declare("scaled_sums")
    primitive.multiple_results = True

    def impl(x: Any, y: Any, *, factor: float) -> Any:
        return [factor * (x + y), x]

    def jvp(primals: Any, tangents: Any, *, factor: float) -> Any:
        outs = primitive.bind(*primals, factor=factor)
        filled = [ad.instantiate_zeros(t) for t in tangents]
        return outs, primitive.bind(*filled, factor=factor)

    def transpose(cotangents: Any, x: Any, y: Any, *, factor: float) -> Any:
        first, second = map(ad.instantiate_zeros, cotangents)
        return [
            factor * first + second if ad.is_undefined_primal(x) else None,
            factor * first if ad.is_undefined_primal(y) else None,
        ]

    def batch(operands: Any, axes: Any, **params: Any) -> Any:
        size = next(x.shape[a] for x, a in zip(operands, axes, strict=True) if a is not None)
        full = [
            jnp.broadcast_to(x, (size, *x.shape)) if a is None else jnp.moveaxis(x, a, 0)
            for x, a in zip(operands, axes, strict=True)
        ]
        return primitive.bind(*full, **params), [0, 0]

    primitive.def_impl(impl)
    primitive.def_abstract_eval(lambda x, y, **params: [x, x])
    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = batch
    mlir.register_lowering(primitive, mlir.lower_fun(impl, multiple_results=True))
    return primitive


def test_a_primitive_with_all_rules() -> None:
    primitive = scaled_sums()

    def f(x: Any, y: Any) -> Any:
        a, b = primitive.bind(jnp.sin(x), y, factor=3.0)
        return jnp.sum(a * b)

    def plain(x: Any, y: Any) -> Any:
        return jnp.sum(3.0 * (jnp.sin(x) + y) * jnp.sin(x))

    x, y = jnp.arange(3.0), jnp.array([1.0, -1.0, 0.5])
    transforms: list[Any] = [
        lambda g: g,
        tinyjax.jit,
        tinyjax.grad,
        lambda g: tinyjax.jit(tinyjax.grad(g, argnums=(0, 1))),
        tinyjax.vmap,
        lambda g: tinyjax.vmap(tinyjax.grad(g)),
        lambda g: tinyjax.jit(tinyjax.hessian(g)),
        lambda g: lambda x, y: tinyjax.jvp(g, (x, y), (y, x)),
    ]
    for transform in transforms:
        wanted = tinyjax.tree.leaves(transform(plain)(x, y))
        for got, value in zip(tinyjax.tree.leaves(transform(f)(x, y)), wanted, strict=True):
            np.testing.assert_allclose(got, value, rtol=1e-5)


def test_equations_hold_keywords() -> None:
    primitive = scaled_sums()
    closed = tinyjax.make_jaxpr(lambda x: primitive.bind(x, x, factor=2.0))(1.0)
    (eqn,) = closed.eqns
    assert eqn.primitive is primitive
    assert dict(eqn.params.items()) == {"factor": 2.0} == {**eqn.params}
    again = eqn.primitive.bind(3.0, 4.0, **eqn.primitive.get_bind_params(eqn.params))
    np.testing.assert_array_equal(again, [14.0, 3.0])
    np.testing.assert_array_equal(eval_jaxpr(closed.jaxpr, closed.consts, 1.0), [4.0, 1.0])


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ({"x": 1}, {"x": 1}, True),
        ({"x": 1}, {"x": True}, False),
        ({"x": 1}, {"y": 1}, False),
        ({"x": (len, {1, 2})}, {"x": (len, {1, 2})}, False),  # no hash: not known to be equal
        ({"x": slice(1)}, {"x": slice(1)}, False),
        ({"x": frozenset({1})}, {"x": frozenset({1})}, True),
    ],
)
def test_parameters_are_equal_where_they_are_known_to_be(a: Any, b: Any, equal: bool) -> None:
    assert (KeywordParams.from_mapping(a) == KeywordParams.from_mapping(b)) == equal


def test_one_result_comes_alone() -> None:
    primitive = declare("doubled")
    primitive.def_impl(lambda x: 2 * x)
    primitive.def_abstract_eval(lambda x: x)
    ad.deflinear2(primitive, lambda ct, x: [primitive.bind(ct)])
    batching.defvectorized(primitive)
    mlir.register_lowering(primitive, mlir.lower_fun(lambda x: 2 * x, multiple_results=False))
    run = tinyjax.jit(tinyjax.vmap(tinyjax.value_and_grad(primitive.bind)))
    np.testing.assert_array_equal(run(jnp.arange(3.0)), [[0, 2, 4], [2, 2, 2]])


@pytest.mark.parametrize("offset", [0.1, np.linspace(0.0, 0.1, 3)])
def test_a_primitive_made_of_others_is_evaluated_as_their_program(offset: Any) -> None:
    calls = []

    def impl(x: Any, *, power: int) -> Any:
        calls.append(type(x).__name__)
        return x**power + offset

    made_p = declare(f"made_of_others_{np.ndim(offset)}")
    made_p.def_impl(impl)
    made_p.def_abstract_eval(lambda x, *, power: x)
    mlir.register_lowering(made_p, mlir.lower_fun(impl, multiple_results=False))

    def repeat(x: Any) -> Any:
        step = lambda i, x: made_p.bind(x, power=2) / 2  # noqa: E731
        return tinyjax.lax.fori_loop(0, 20, step, x)

    x = np.linspace(0.1, 0.5, 3)
    expected = x
    for _ in range(20):
        expected = (expected**2 + offset) / 2
    np.testing.assert_allclose(tinyjax.jit(repeat, tier="first")(x), expected)
    # the array that it closes over is no part of a program's text
    assert calls.count("ConcreteArray") == (20 if np.ndim(offset) else 0)


def test_a_lowering_rule_may_call_back() -> None:
    primitive = declare("called_back")

    def rule(ctx: Any, x: Any) -> Any:
        outs, _, kept = mlir.emit_python_callback(
            ctx,
            lambda x: (np.sin(x),),
            None,
            [x],
            ctx.avals_in,
            ctx.avals_out,
            has_side_effect=False,
        )
        ctx.module_context.add_keepalive(kept)
        return outs

    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, rule)
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_allclose(tinyjax.jit(primitive.bind)(x), np.sin(x))


@pytest.mark.parametrize("name", ["pure_callback", "io_callback", "debug.callback"])
@pytest.mark.parametrize(
    "pair",
    [
        (jax, (jax.pure_callback, io_callback, jax.debug.callback)),
        (tinyjax, (callbacks.pure_callback, callbacks.io_callback, callbacks.callback)),
    ],
    ids=["jax", "tinyjax"],
)
def test_callbacks_take_arrays_of_the_library(pair: Any, name: str) -> None:
    library, (pure, io, debug) = pair
    x, kinds = np.arange(3, dtype=np.float32), []

    def sine(x: Any, options: Any) -> Any:
        kinds.extend([isinstance(x, library.Array), isinstance(options["scale"], library.Array)])
        return np.sin(x) * np.asarray(options["scale"])

    def call(x: Any) -> Any:
        if name == "debug.callback":
            debug(sine, x, {"scale": x})
            debug(ordered=True)(sine, x, {"scale": x})
            return library.numpy.sin(x) * x
        function = pure if name == "pure_callback" else io
        return function(sine, library.ShapeDtypeStruct((3,), x.dtype), x, {"scale": x})

    for run in (call, library.jit(call), library.jit(call)):
        np.testing.assert_allclose(run(library.numpy.asarray(x)), np.sin(x) * x, 1e-6)
    library.effects_barrier()
    assert kinds == [True] * (12 if name == "debug.callback" else 6)


def test_jax_names_of_callbacks_are_those_that_take_arrays() -> None:
    for module, name in (("jax", "pure_callback"), ("jax.debug", "callback")):
        assert getattr(JaxModule(module), name) is getattr(callbacks, name)
    assert JaxModule("jax.experimental").io_callback is callbacks.io_callback
    with raises(ArgumentError, match="callback of pure_callback must be a function"):
        callbacks.pure_callback(3, np.float32(0))


@pytest.mark.parametrize("name", ["binom", "bdtr", "huber", "pdtr", "spherical_jn", "agm"])
@pytest.mark.parametrize("whole", ["int32", "int64"])
def test_functions_of_scipy_promote_as_its_own(name: str, whole: str) -> None:
    count = len(TABLE[name].parameters)
    x = np.array([0.25, 0.5], np.float32)
    arguments = [x, np.ones(2, whole), x] if count == 3 else [np.ones(2, whole), x]
    theirs = getattr(scipy.special, name)(*arguments)
    function = getattr(JaxModule("jax.scipy.special"), name)
    for run in (function, tinyjax.jit(function)):
        ours = run(*map(jnp.asarray, arguments))
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, 1e-6)
    assert not hasattr(JaxModule("jax.scipy.special"), "missing")


@pytest.mark.parametrize("layouts", [[(0, 1)], [Layout((1, 0))]], ids=["axes", "layout"])
def test_a_lowering_rule_may_call_a_foreign_function(layouts: Any) -> None:
    primitive = declare("factored")
    primitive.multiple_results = True
    rule = ffi_lowering(
        "lapack_spotrf_ffi",
        operand_layouts=layouts,
        result_layouts=[*layouts, None],
        operand_output_aliases={0: 0},
    )
    primitive.def_impl(functools.partial(apply_primitive, primitive))
    primitive.def_abstract_eval(lambda x, uplo: [x, tinyjax.typeof(np.int32(0))])
    mlir.register_lowering(primitive, rule)
    x = np.array([[4.0, 2.0], [2.0, 5.0]], np.float32)
    for run in (primitive.bind, tinyjax.jit(primitive.bind, static_argnames="uplo")):
        factor, status = run(x, uplo=np.uint8(ord("L")))
        np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(x))
        assert status == 0
    with raises(ArgumentError, match="takes no extra_attributes"):
        ffi_lowering("f", extra_attributes={})


def test_tangents_are_added_where_there_are_some() -> None:
    zero = ad.p2tz(jnp.ones(2))
    assert ad.add_tangents(zero, zero) is zero
    for x, y in ((zero, 2.0), (2.0, zero), (1.0, 1.0)):
        assert ad.add_tangents(x, y) == 2.0


def test_missing_rules_are_named() -> None:
    primitive = declare("bare")
    with raises(MissingRuleError, match="'bare' has no impl rule"):
        primitive.impl(1.0)
    with raises(MissingRuleError, match="'bare' has no jvp rule"):
        ad.primitive_jvps[primitive]


def test_types_of_examples_and_batches() -> None:
    aval = tinyjax.typeof(jnp.ones((2, 3)))
    assert mapped_aval(3, 1, aval).shape == (2,)
    assert unmapped_aval(4, 0, aval).shape == (4, 2, 3)
    assert mapped_aval(3, None, aval) is aval
    assert issubclass(Primitive, OwnPrimitive)


def test_functions_of_trees_as_functions_of_leaves() -> None:
    from tinyjax._jax.linear_util import flatten_fun_nokwargs, wrap_init

    in_tree = tinyjax.tree.structure(({"a": 0}, 0))
    flat, out_tree = flatten_fun_nokwargs(
        wrap_init(lambda x, y, z: (x["a"] * y, z), {"z": 5}), in_tree
    )
    assert flat.call_wrapped(2, 3) == [6, 5]
    assert out_tree() == tinyjax.tree.structure((0, 0))


#: What is done with an array of one repeated number, given the modules and one more array.
USES: list[Any] = [
    lambda api, z, x: x + z,
    lambda api, z, x: (api.numpy.arange(4) + z) % 4,
    lambda api, z, x: (z - 1) % 4,
    lambda api, z, x: x[z],
    lambda api, z, x: x.at[z].set(1.0),
    lambda api, z, x: api.numpy.where(z > 0, x, z),
    lambda api, z, x: z.astype(float),
    lambda api, z, x: api.numpy.stack([z, z]),
    lambda api, z, x: api.numpy.full((3,), z),
    lambda api, z, x: api.numpy.broadcast_to(z, (4,)),
    lambda api, z, x: api.lax.scan(lambda c, a: (c + z, a * z), 0, x),
    lambda api, z, x: api.lax.cond(x[0] > 0, lambda: z, lambda: z + 1),
    lambda api, z, x: api.vmap(lambda y: y + z)(x),
    lambda api, z, x: z,
]


@pytest.mark.parametrize("use", range(len(USES)))
@pytest.mark.parametrize("dtype", [None, "int32", "int8"])
def test_a_jaxpr_has_as_constants_what_is_closed_over(use: int, dtype: str | None) -> None:
    def consts(api: Any, make: Any) -> list[Any]:
        z = api.numpy.array(0, dtype)
        unused = api.numpy.zeros(2)
        held = {"z": z, "unused": unused}
        closed = make(lambda x: USES[use](api, held["z"], x))(api.numpy.ones(3))
        assert all(c is z for c in closed.consts)
        return [np.asarray(c) for c in closed.consts]

    wanted, got = consts(jax, jax.make_jaxpr), consts(tinyjax, toplevel.make_jaxpr)
    assert len(got) == len(wanted) == 1
    np.testing.assert_array_equal(got[0], wanted[0])


def test_after_a_jaxpr_was_made_numbers_are_literals_again() -> None:
    zeros = jnp.zeros(3)
    toplevel.make_jaxpr(lambda x: x + zeros)(zeros)
    assert not tinyjax.make_jaxpr(lambda x: x + zeros)(zeros).consts
    with pytest.raises(ZeroDivisionError):
        toplevel.make_jaxpr(lambda x: (x + zeros) * (1 // 0))(zeros)
    assert not tinyjax.make_jaxpr(lambda x: x + zeros)(zeros).consts


def scaling(m: Any) -> Any:
    """Return a program for devices with a collective, an index along the axis, and a container."""

    def scaled(tree: Any, factor: Any, *, shift: Any = 0.0) -> Any:
        own = tree["x"] * factor + m.lax.axis_index("i") + shift
        return {"sum": m.lax.psum(tree["x"], "i"), "own": own}

    return scaled


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(
    ("in_axes", "out_axes"),
    [((0, None), 0), (({"x": 1}, 0), 1), ((0, None), {"sum": None, "own": 0})],
)
def test_devices_compute_what_vmap_does(size: int, in_axes: Any, out_axes: Any) -> None:
    x = np.float32(np.random.default_rng(0).normal(size=(size, size)))
    by = np.float32(2) if in_axes[1] is None else np.arange(size, dtype=np.float32)
    shift = np.arange(size, dtype=np.float32)
    on_devices = tinyjax.pmap(scaling(tinyjax), "i", in_axes=in_axes, out_axes=out_axes)
    whole = jax.vmap(scaling(jax), in_axes, out_axes, axis_name="i")
    expected = whole({"x": x}, by, shift=shift)
    found = on_devices({"x": x}, by, shift=shift)
    for run in (on_devices, tinyjax.jit(on_devices)):
        got = run({"x": x}, by, shift=shift)
        for name, value in expected.items():
            np.testing.assert_allclose(got[name], value, 1e-6)
    struct = tinyjax.ShapeDtypeStruct((size, size), np.float32)
    for given in (x, struct):
        lowered = on_devices.lower({"x": given}, by, shift=shift)
        compiled = lowered.compile()({"x": x}, by, shift=shift)
        np.testing.assert_array_equal(compiled["own"], found["own"])
    assert len(found["own"].devices()) == size
    if size > 1:
        axis = 1 if out_axes == 1 else 0
        assert found["own"].sharding.shard_shape((size, size))[axis] == 1

    def loss(run: Any, lib: Any) -> Any:
        return lambda x: lib.sum(lib.sin(run({"x": x}, by, shift=shift)["own"]))

    np.testing.assert_allclose(
        tinyjax.grad(loss(on_devices, jnp))(x), jax.grad(loss(whole, jax.numpy))(x), 1e-5
    )


def test_devices_are_chosen_and_some_arguments_are_no_arrays() -> None:
    wanted = tinyjax.devices()[1:3]
    run = tinyjax.pmap(lambda f, x: f(x), static_broadcasted_argnums=0, devices=wanted)
    x = np.array([1, 2], np.float32)
    found = run(jnp.sin, x)
    np.testing.assert_allclose(found, np.sin(x), 1e-6)
    assert found.devices() == {*wanted}
    assert np.asarray(tinyjax.pmap(lambda: jnp.ones(2), axis_size=2)()).shape == (2, 2)
    for refused, said in (
        (1.0, "an argument with an axis"),
        (np.ones(1000), "1000 elements.*num_cpu_devices"),
    ):
        with raises(ValueError, match=said):
            tinyjax.pmap(jnp.sin)(refused)


def test_libraries_ask_whether_devices_can_still_be_divided() -> None:
    assert tinyjax.devices()
    assert (*internals._backends, len(internals._backends)) == ("cpu", 1)
    assert internals._backends["cpu"] == "cpu"
    assert internals._backends.get("gpu") is None


def test_keys_stay_keys_on_the_host() -> None:
    key = tinyjax.random.key(0)
    arrays: dict[str, Any] = {"key": key, "x": jnp.ones(2)}
    found = tinyjax.device_get(arrays)
    assert found["key"] is key
    assert isinstance(found["x"], np.ndarray)
    for lib in (jax, tinyjax):  # what is traced stays, too
        slope = lib.jit(lib.grad(lambda x, lib=lib: lib.device_get({"x": x})["x"] ** 2))
        assert float(slope(3.0)) == 6.0


def test_what_is_static_by_number_and_by_name_is_not_looked_up() -> None:
    """A wrapper has the signature of what it wraps, and takes other arguments."""

    def fun(x: Any, count: int, factor: int = 1) -> Any:
        return x * factor

    for m in (tinyjax, jax):

        @functools.wraps(fun)
        def wrapper(mode: str, state: list[Any], *args: Any, **kwargs: Any) -> Any:
            return state, fun(*args, **kwargs)

        run = m.jit(wrapper, static_argnums=0, static_argnames=("count", "factor"))
        state, found = run("mode", [np.ones(1)], np.ones(2), 3, factor=2)
        np.testing.assert_array_equal(found, [2, 2])
        np.testing.assert_array_equal(state, [[1]])


def test_signatures_of_compiled_functions() -> None:
    def fun(x: Any, n: int = 2, *, k: int) -> Any: ...

    for jit in (tinyjax.jit, jax.jit):
        for follow in (True, False):
            found = inspect.signature(jit(fun, static_argnames="k"), follow_wrapped=follow)
            assert found == inspect.signature(fun)
    assert callable(tinyjax.jit(max))


def test_listeners_hear_what_they_hear_in_jax() -> None:
    def heard(lib: Any) -> list[Any]:
        calls: list[Any] = []
        monitoring = lib.monitoring

        def listener(*args: Any, **kwargs: Any) -> None:
            calls.append((args, kwargs))

        kinds = {
            "event": ("event", ()),
            "event_duration_secs": ("event_duration", (1.5,)),
            "event_time_span": ("event_time_span", (1.5, 2.5)),
            "scalar": ("scalar", (3,)),
        }
        for name, (_, values) in kinds.items():
            getattr(monitoring, f"register_{name}_listener")(listener)
            getattr(monitoring, f"record_{name}")(f"/a/{name}", *values, word="x")
        for name, (short, values) in kinds.items():
            getattr(monitoring, f"unregister_{short}_listener")(listener)
            getattr(monitoring, f"record_{name}")(f"/b/{name}", *values)
        return calls

    assert heard(tinyjax) == heard(jax)


def test_a_scalar_is_an_instance_of_bfloat16_of_dtypes() -> None:
    ours = JaxModule("jax.dtypes").bfloat16
    assert ours is jax.dtypes.bfloat16
    assert isinstance(np.ones((), ours)[()], ours)
    assert jnp.ones(2, ours).dtype == ours

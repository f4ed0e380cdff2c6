"""Each argument of each function, replaced by what is none: the error is one that says so.

The functions are called with good arguments (``invalid.calls``), of which one at a time gives way
to a text, a float, None and other things that it can seldom be.
"""

import ast
import inspect
import itertools
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.nn.initializers
import tinyjax.numpy as jnp
import tinyjax.scipy.linalg
import tinyjax.scipy.special
import tinyjax.scipy.stats
from invalid.calls import CALLS
from raising import raises
from tinyjax import custom_derivatives, lax, random, scipy
from tinyjax.errors import (
    ArgumentError,
    AxisError,
    DtypeError,
    PlatformError,
    ShapeError,
    ShardingError,
    SourceError,
    TinyjaxError,
)
from tinyjax.tree import RegistrationError
from website import reference


def on_mesh(run: Callable[[], Any]) -> Any:
    with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("i",))):
        return run()


NAMES: dict[str, Any] = {
    "jax": tinyjax,
    "jnp": jnp,
    "lax": lax,
    "np": np,
    "scipy": scipy,
    "A": jnp.array([[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]]),
    "V": jnp.array([1.0, 2.0, 3.0]),
    "I": jnp.array([0, 1, 2]),
    "C": jnp.array([1j]),
    "S": jnp.eye(3) * 2 + 1,
    "K": random.key(0),
    "X": jnp.ones((1, 1, 5)),
    "W": jnp.ones((1, 1, 3)),
    "F": lambda x: x + 1,
    "O": object(),
    "NONE": np.array(None),
    "M": on_mesh,
}
#: What no axis is.
NO_AXIS = ['"a"', '"01"', "1.5", "True", "1j", "(1.5,)", '("a",)', "(True,)", "O", "F", "{}"]
JUNK = [*NO_AXIS, "None", "-9", "[]", "()", "A", "[[1, 2], [3]]", "slice(2)", 'float("nan")']
JUNK += ['{"x": "y"}', 'np.array("a")', "np.ones((2, 2))"]
#: Parameters that are axes.
AXES = {"axis", "axes", "axis1", "axis2", "dimension", "dimensions", "source", "destination"}
AXES |= {"permutation", "reduction_dimension", "scatter_dimension", "split_axis", "concat_axis"}
AXES |= {"in_axis", "out_axis", "batch_axis", "in_axes", "out_axes"}

#: What Python says of a call that does not fit a function, or of what is none.
OWN = re.compile(
    r"missing \d+ required|positional argument|unexpected keyword|multiple values|is not callable"
)
PACKAGE = str(Path(tinyjax.__file__).parent)


def variants(call: str) -> Iterator[tuple[str, str | None]]:
    """Calls with one bad argument each, and the parameter's name where it is given by name."""
    nodes = [node for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Call)]
    for number, node in enumerate(nodes):
        for place in range(len(node.args) + len(node.keywords)):
            for junk in JUNK:
                tree = ast.parse(call, mode="eval")
                found = [n for n in ast.walk(tree) if isinstance(n, ast.Call)][number]
                value = ast.parse(junk, mode="eval").body
                name = None
                if place < len(found.args):
                    found.args[place] = value
                else:
                    keyword = found.keywords[place - len(found.args)]
                    keyword.value, name = value, keyword.arg
                yield ast.unparse(tree), name if junk in NO_AXIS else None


def outcome(program: str) -> Exception | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(program, NAMES)
        except Exception as error:
            return error
    return None


def is_own(error: Exception) -> bool:
    """Return whether an error is Python's own, or was raised by the caller's code."""
    if isinstance(error, TypeError) and OWN.search(str(error)):
        return True
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return frame.filename in ("<string>", __file__)


@pytest.mark.sampled(3)
@pytest.mark.wrong_types
@pytest.mark.parametrize("call", CALLS.strip().split("\n"))
def test_bad_arguments(call: str) -> None:
    assert outcome(call) is None
    for program, name in variants(call):
        error = outcome(program)
        if error is not None and not isinstance(error, TinyjaxError) and not is_own(error):
            raise AssertionError(f"{program} raises a raw error") from error
        if name in AXES:
            assert isinstance(error, TinyjaxError), f"{program} takes it for an axis"
            assert isinstance(error, TypeError)
            assert re.search(r"ax[ie]s|dimension|permutation|source|destination", error.message)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.wrong_types
@pytest.mark.parametrize("junk", [nested(5000), 10**5000, -(10**5000)], ids=["list", "int", "less"])
@pytest.mark.parametrize(
    "call",
    [
        jnp.sin,
        lambda x: lax.add(x, jnp.ones(2)),
        lambda x: tinyjax.device_put(1.0, x),
        lambda x: jnp.zeros(3, device=x),
        lambda x: lax.psum(1.0, x),
        tinyjax.tree.keystr,
        scipy.linalg.helmert,
        lambda x: lax.linalg.eig(jnp.eye(2), implementation=x),
        lambda x: lax.dot_general(jnp.eye(2), jnp.eye(2), x),
        tinyjax.P,
        lambda x: random.t(NAMES["K"], x, dtype=jnp.bfloat16),
        lambda x: tinyjax.print_saved_residuals(x, np.array("a")),
    ],
)
def test_what_cannot_be_shown(call: Callable[[Any], Any], junk: Any) -> None:
    """Python raises an error of its own where a message is to show it."""
    with pytest.raises(TinyjaxError):
        call(junk)


@pytest.mark.parametrize(
    "call",
    [
        jnp.zeros,
        lambda shape: random.normal(NAMES["K"], shape),
        lambda shape: jnp.ones(()).reshape(shape),
        lambda shape: jnp.broadcast_to(1.0, shape),
        lambda shape: jnp.expand_dims(1.0, range(len(shape))),
        lambda shape: jnp.multiply.outer(jnp.ones(shape[:40]), jnp.ones(shape[40:])),
        lambda shape: lax.broadcast_to_rank(1.0, len(shape)),
        lambda shape: jnp.diag_indices(1, len(shape))[0],
    ],
)
def test_more_axes_than_numpy_has(call: Callable[[tuple[int, ...]], Any]) -> None:
    assert call((1,) * 64).size == 1
    with raises(ShapeError, match="at most 64"):
        call((1,) * 65)


def test_more_axes_within_a_program() -> None:
    summed = tinyjax.jit(lambda x: x.reshape((1,) * 70 + (3,)).sum())(NAMES["V"])
    assert summed == 6


@pytest.mark.wrong_types
def test_arguments_that_are_compared() -> None:
    """An array where a name is wanted: comparing it gives an array, which is no truth value."""
    wrong: Any = np.ones(3)
    with raises(PlatformError, match="array"):
        tinyjax.process_indices(wrong)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("pivoting of qr", lambda x: lax.linalg.qr(NAMES["S"], pivoting=x)),
        ("inplace of place", lambda x: jnp.place(NAMES["V"], NAMES["V"] > 1, 0.0, inplace=x)),
        ("inplace of put", lambda x: jnp.put(NAMES["V"], 0, 0.0, inplace=x)),
        ("array", tinyjax.monitoring.unregister_event_listener),
        ("name of", tinyjax.ffi.register_ffi_target_as_batch_partitionable),
        ("name of", lambda x: tinyjax.ffi.register_ffi_type(x, {})),
        ("compute_schur_vectors", lambda x: lax.linalg.schur(NAMES["S"], compute_schur_vectors=x)),
        ("density", lambda x: jnp.histogram(NAMES["V"], density=x)),
        ("return_indices", lambda x: jnp.intersect1d(NAMES["V"], NAMES["V"], return_indices=x)),
        ("assume_unique", lambda x: jnp.setdiff1d(NAMES["V"], NAMES["V"], assume_unique=x)),
        ("assume_unique", lambda x: jnp.isin(NAMES["V"], NAMES["V"], assume_unique=x, invert=x)),
        (
            "assume_unique_indices",
            lambda x: jnp.delete(NAMES["V"], NAMES["I"][:1], 0, assume_unique_indices=x),
        ),
        ("weak_type_flag", lambda x: jnp.result_type(1, return_weak_type_flag=x)),
        ("nondiff_argnames", lambda x: tinyjax.custom_jvp(jnp.sin, nondiff_argnames=x)),
        ("strip_zeros", lambda x: jnp.roots(NAMES["V"], strip_zeros=x)),
        ("copy", lambda x: jnp.astype(NAMES["V"], int, copy=x)),
        ("donate", lambda x: tinyjax.device_put(1.0, donate=x, may_alias=x)),
        ("is_leaf_takes_path", lambda x: tinyjax.tree.leaves_with_path([1], bool, x)),
        ("simple", lambda x: tinyjax.tree.keystr((tinyjax.tree.DictKey("a"),), simple=x)),
        ("return_string", tinyjax.print_environment_info),
        ("prevent_mlir_dce", lambda x: lax.dce_sink(1.0, prevent_mlir_dce=x)),
        (
            "perturb_singular",
            lambda x: lax.linalg.tridiagonal_solve(x, x, x, x, perturb_singular=x),
        ),
        ("at_point", lambda x: tinyjax.autodiff.jacobian_sparsity(jnp.sin, 1.0, at_point=x)),
        ("at_point", lambda x: tinyjax.autodiff.hessian_sparsity(jnp.sin, 1.0, at_point=x)),
        ("symbolic_zeros", lambda x: custom_derivatives.zero_from_primal(1.0, x)),
    ],
)
def test_arrays_where_a_word_or_a_flag_is_wanted(name: str, call: Callable[[Any], Any]) -> None:
    with raises(ArgumentError, match=name):
        call(np.ones(3))


class Endless:
    """Has a length, and never ends."""

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, i: int) -> int:
        return 0


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("axes", lambda x: lax.reduce_prod(NAMES["V"], x)),
        ("shape", jnp.zeros),
        ("argnums of grad", lambda x: tinyjax.grad(jnp.sin, x)),
        ("all_leaves", tinyjax.tree_util.all_leaves),
        ("fun of multiplications", tinyjax.autodiff.multiplications),
    ],
)
def test_what_never_ends(name: str, call: Callable[[Any], Any]) -> None:
    for never in (Endless(), itertools.count()):
        with raises(ArgumentError, match=name):
            call(never)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("iterations", lambda: lax.fori_loop(0, np.uint64(2**64 - 1), lambda i, c: c, 0.0)),
        ("iterations", lambda: lax.scan(lambda c, x: (c, x), 0.0, None, 2**63)),
        ("d=", lambda: scipy.special.multigammaln(1.0, 2**31)),
        ("at most 1,000,000 times", lambda: tinyjax.explore(jnp.sin, runs=2**70)),
        ("ord", lambda: jnp.linalg.norm(NAMES["V"], 10**400)),
        ("0 to 63", lambda: tinyjax.smap(jnp.sin, out_axes=1 << 33, axis_name="i")),
    ],
)
def test_more_than_can_be_counted_or_written(name: str, call: Callable[[], Any]) -> None:
    with raises(ArgumentError, match=name):
        call()


def test_triangles_of_more_elements_than_memory_has() -> None:
    for indices in (jnp.triu_indices, jnp.tril_indices):
        with raises(ShapeError, match="more elements"):
            indices(2**60)


def test_local_convolution_of_scalars() -> None:
    with raises(ShapeError, match="conv_general_dilated_local"):
        lax.conv_general_dilated_local(1.0, 2.0, (1,), "SAME", (1,))


NAMES["E"] = Endless()

#: What a message says, the error, and the call.
WRONG: dict[str, tuple[type[TinyjaxError], str, Callable[[], Any]]] = {
    "numbers as nodes": (
        RegistrationError,
        "numbers are leaves",
        lambda: tinyjax.tree_util.register_static(int),
    ),
    "capsules": (
        ArgumentError,
        "type_registration",
        lambda: tinyjax.ffi.register_ffi_type("t", {"a": 1}),
    ),
    "mesh of too many axes": (
        ShardingError,
        "32 axes",
        lambda: tinyjax.sharding.Mesh(np.array(nested(40), object), "i"),
    ),
    "mesh of negative sizes": (ShardingError, "takes 1", lambda: tinyjax.make_mesh((-1, -1), "ij")),
    "devices of a mesh": (
        ArgumentError,
        "devices",
        lambda: tinyjax.make_mesh((1,), "i", devices=NAMES["O"]),
    ),
    "keys": (DtypeError, "key", lambda: jnp.floor_divide(NAMES["K"], NAMES["K"])),
    "least of keys": (DtypeError, "key", lambda: jnp.nanmin(NAMES["K"][None])),
    "no frequencies": (ArgumentError, "n=0", lambda: jnp.fft.rfftfreq(0)),
    "no operands": (ArgumentError, "operands", lambda: lax.reduce([], [], lax.add, (0,))),
    "path of a subscript": (
        ArgumentError,
        "einsum_path",
        lambda: jnp.einsum_path("ij", NAMES["V"]),
    ),
    "items": (ArgumentError, "fromiter", lambda: jnp.fromiter(["a"], int)),
    "bytes": (ArgumentError, "frombuffer", lambda: jnp.frombuffer((1, 2), int)),
    "places": (ArgumentError, "obj", lambda: jnp.delete(NAMES["V"], slice("a", 2))),
    "more places": (ArgumentError, "obj", lambda: jnp.insert(NAMES["V"], slice("a", 2), 0.0)),
    "repeats": (ShapeError, "more elements", lambda: jnp.repeat(NAMES["V"], 2**62)),
    "repeats of 64 bits": (
        ShapeError,
        "more elements",
        lambda: jnp.repeat(NAMES["V"], np.uint64(2**64 - 1)),
    ),
    "ndmin": (ShapeError, "ndmin", lambda: jnp.array(1.0, ndmin=2**45)),
    "devices without end": (
        ShardingError,
        "devices of a mesh",
        lambda: tinyjax.sharding.Mesh(NAMES["E"], "i"),
    ),
    "many repeats": (
        ShapeError,
        "more elements",
        lambda: jnp.repeat(NAMES["V"], np.array([2**62] * 3)),
    ),
    "ones": (ShapeError, "memory has addresses", lambda: jnp.tri(0, 2**60)),
    "convolution": (
        ShapeError,
        "more elements",
        lambda: lax.conv_general_dilated(
            NAMES["X"], NAMES["W"], (1,), [(0, 0)], lhs_dilation=(2**60,)
        ),
    ),
    "excluded": (ArgumentError, "excluded", lambda: jnp.vectorize(len, excluded="ab")),
    "names of none": (
        ArgumentError,
        "nondiff_argnums",
        lambda: tinyjax.custom_jvp(int, nondiff_argnames=("x",)),
    ),
    "source": (SourceError, "define", lambda: tinyjax.source.jaxpr_of_source("float31")),
    "permutation": (
        ShapeError,
        "permutation_size",
        lambda: lax.linalg.lu_pivots_to_permutation(NAMES["I"], 1 << 33),
    ),
    "aliases": (
        ArgumentError,
        "input_output_aliases",
        lambda: tinyjax.ffi.ffi_call("f", [], input_output_aliases=NAMES["O"]),
    ),
    "numbers that no float is": (
        ArgumentError,
        "finite numbers",
        lambda: jnp.arange(10**400, 10**401, 0.5, float),
    ),
    "axes of scaled_dot": (
        ArgumentError,
        "of scaled_dot are",
        lambda: lax.scaled_dot(NAMES["S"], NAMES["S"], dimension_numbers=NAMES["O"]),
    ),
    "scope": (
        ArgumentError,
        "scope",
        lambda: tinyjax.export.symbolic_shape("a", scope=NAMES["O"]),
    ),
    "sorter": (
        ShapeError,
        "sorter",
        lambda: jnp.searchsorted(NAMES["V"], 1.0, sorter=jnp.array(1)),
    ),
    "branches without axes": (
        ArgumentError,
        "branches",
        lambda: lax.switch(0, NAMES["NONE"], 1.0),
    ),
    "buckets": (
        ShapeError,
        "bucket_size",
        lambda: tinyjax.ops.segment_sum(1.0, 0, 2, bucket_size=2),
    ),
    "numbers of any length": (ShapeError, "elements", lambda: jnp.arange(0.0, 1e16)),
    "names of axes": (
        ShardingError,
        "axis_names",
        lambda: tinyjax.sharding.AbstractMesh((1, 1), NAMES["A"].tolist()),
    ),
    "integrals": (ArgumentError, "at most 10,000", lambda: jnp.polyint(NAMES["V"], 2**45)),
    "axis of many bits": (AxisError, "axis", lambda: jnp.take(NAMES["V"], 0, axis=10**400)),
    "depth": (ArgumentError, "depth", lambda: tinyjax.draw(jnp.sin, depth=NAMES["O"])),
    "an axis of no elements beside one of too many": (
        ShapeError,
        "more elements",
        lambda: tinyjax.jit(lambda x: x.reshape(0, 2**63 - 1))(jnp.zeros(0)),
    ),
    "branches": (ArgumentError, "branches", lambda: lax.switch(0, NAMES["O"], 1.0)),
    "columns": (ShapeError, "more elements", lambda: jnp.tril_indices(0, 0, 2**62)),
    "tangents": (
        ArgumentError,
        "tangents",
        lambda: tinyjax.autodiff.jvp_from_vjp(jnp.sin, (1.0,), NAMES["O"]),
    ),
    "function to draw": (ArgumentError, "draw", lambda: tinyjax.draw(NAMES["O"])),
}


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name: str) -> None:
    error, said, call = WRONG[name]
    with raises(error, match=said):
        call()


def signature_of(fun: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except ValueError:  # written in C
        return None


def test_functions_refuse_arguments_that_they_do_not_have() -> None:
    """Also those that have the parameters of others, and hand on what they are given."""
    entries = [entry for rows in reference.entries().values() for entry in rows]
    functions = {x.path: x.value for x in entries if inspect.isroutine(x.value)}
    refused = set()
    for path, fun in functions.items():
        signature = signature_of(fun)
        parameters = [] if signature is None else [*signature.parameters.values()]
        if signature is None or any(p.kind is p.VAR_KEYWORD for p in parameters):
            continue
        required = [
            p for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
        ]
        options = {p.name: jnp.ones((2, 2)) for p in required if p.kind is p.KEYWORD_ONLY}
        positional = [jnp.ones((2, 2))] * (len(required) - len(options))
        with pytest.raises((TypeError, TinyjaxError)):  # of the placeholders, or of this
            fun(*positional, **options, nonsense=1)
        refused.add(path)
    assert len(refused) > 1000


def test_programs_of_more_than_memory_has_are_written_at_once() -> None:
    """A divisor that is one value, 2^45 times, is looked at once."""
    f = tinyjax.jit(lambda x: jnp.flatnonzero(x, size=2**45))
    assert "stablehlo.divide" in f.lower(NAMES["V"]).as_text()


def test_offsets_of_triangles_beyond_any_matrix() -> None:
    for k in (-(2**70), 2**70):
        for ours, numpys in (
            (jnp.tril_indices, np.tril_indices),
            (jnp.triu_indices, np.triu_indices),
        ):
            for found, expected in zip(ours(3, k), numpys(3, 9 if k > 0 else -9), strict=True):
                np.testing.assert_array_equal(found, expected)


def test_keys_are_not_infinite() -> None:
    for f in (jnp.isinf, jnp.isposinf, jnp.isneginf):
        assert not f(NAMES["K"])


#: What messages call an int, and what takes it.
INTS: dict[str, Callable[[int], Any]] = {
    "axis_size": lambda n: tinyjax.vmap(lambda x: x, None, axis_size=n)(jnp.ones(3)),
    "length": lambda n: lax.scan(lambda c, x: (c, x), 0.0, None, n),
    "argnums": lambda n: tinyjax.grad(jnp.sin, n)(1.0),
    "each of argnums": lambda n: tinyjax.jacfwd(jnp.sin, (n,))(1.0),
    "static_argnums": lambda n: tinyjax.jit(jnp.sin, static_argnums=n),
    "donate_argnums": lambda n: tinyjax.jit(lambda x: x, donate_argnums=(n,)),
    "each of static_argnums": lambda n: tinyjax.checkpoint(lambda x: x, static_argnums=n)(1.0),
    "nondiff_argnums": lambda n: tinyjax.custom_jvp(lambda x: x, nondiff_argnums=(n,))(1.0),
    "repeat": lambda n: jnp.repeat(NAMES["V"], n),
    "pad": lambda n: jnp.pad(NAMES["V"], n),
    "cuts": lambda n: jnp.split(NAMES["V"], n),
    "to cut at": lambda n: jnp.split(NAMES["V"], [n]),
    "reshape": lambda n: jnp.reshape(NAMES["V"], n),
    "new_sizes": lambda n: lax.reshape(NAMES["V"], (n, n)),
    "k": lambda n: lax.top_k(NAMES["V"], n),
    "kth": lambda n: jnp.partition(NAMES["V"], n),
    "num_keys": lambda n: lax.sort((NAMES["V"], NAMES["V"]), num_keys=n),
    "limit": lambda n: lax.slice_in_dim(NAMES["V"], 0, n),
    "slice_sizes": lambda n: lax.dynamic_slice(NAMES["V"], (0,), (n,)),
    "each of n": lambda n: jnp.diag_indices(n, 2),
    "ndim": lambda n: jnp.diag_indices(2, n),
    "window_dimensions": lambda n: lax.reduce_window(NAMES["V"], 0.0, lax.add, (n,), (1,), "SAME"),
    "axis_shapes": lambda n: tinyjax.make_mesh((n,), ("x",)),
}


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", INTS)
def test_ints_of_more_digits_than_python_prints(name: str) -> None:
    for n in (10**5000, -(10**5000)):
        with raises(TinyjaxError, match=name):
            INTS[name](n)


def test_more_elements_than_an_int32_counts() -> None:
    shape = (1 << 33,)  # the place of each in a loop of all
    drawn = tinyjax.eval_shape(lambda key: random.gamma(key, 1.0, shape), random.key(0))
    assert drawn.shape == shape
    low, high = (int(random.randint(NAMES["K"], (), n, n)) for n in (-(10**400), 10**400))
    assert (low, high) == (-(2**31), 2**31 - 1)


MODULES: dict[str, ModuleType] = {
    "jnp": jnp,
    "jnp.linalg": jnp.linalg,
    "lax": lax,
    "jax": tinyjax,
    "jax.nn": tinyjax.nn,
    "jax.nn.initializers": tinyjax.nn.initializers,
    "jax.random": random,
    "scipy.linalg": scipy.linalg,
    "scipy.special": scipy.special,
}


def test_all_functions_with_axes_are_there() -> None:
    def parameters(fun: Callable[..., Any]) -> set[str]:
        try:
            return set(inspect.signature(fun).parameters)
        except (TypeError, ValueError):
            return set()

    called = {ast.unparse(n.func) for n in ast.walk(ast.parse(CALLS)) if isinstance(n, ast.Call)}
    functions = {eval(name, NAMES) for name in called if not re.search(r"[(\[]", name)}
    for module, found in MODULES.items():
        for name in found.__all__:
            fun = getattr(found, name)
            if callable(fun) and parameters(fun) & AXES:
                assert fun in functions, f"{module}.{name}"

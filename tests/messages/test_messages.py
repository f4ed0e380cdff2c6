"""Calls that no program should make: each error is one of ours, and says what was wrong.

On the left is what the message must hold, on the right the call.
"""

import gc
import io
import pkgutil
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as scipy_sparse
from unchecked import unchecked

import tinyjax
import tinyjax.export
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import P, implicit, lax, random, scipy, tree
from tinyjax.core.tracing.jaxpr import subjaxprs
from tinyjax.errors import TinyjaxError
from tinyjax.experimental import checkify, sparse
from tinyjax.scipy.spatial.transform import Rotation
from tinyjax.sharding import Mesh, NamedSharding

MESSAGES = r"""
twice                         | tinyjax.grad(lambda x: x, (0, -1))(1.0)
contradict|same time          | tinyjax.device_put(1.0, donate=True, may_alias=True)
must be positive              | tinyjax.vmap(jnp.sin, chunk_size=0)(V)
named axis needs all          | tinyjax.vmap(jnp.sin, axis_name="i", chunk_size=2)(V)
threads .* must be positive   | tinyjax.vmap(jnp.sin, threads=0)(V)
threads and the axis_name     | tinyjax.vmap(jnp.sin, axis_name="i", threads=2)(V)
takes one cotangent           | tinyjax.vjp(jnp.sin, 1.0)[1](1.0, 2.0)
must be a function            | tinyjax.shard_map(3, mesh=None, in_specs=P(), out_specs=P())
must be a function            | checkify.checkify(3)
must be a function            | tinyjax.jvp(1, (1.0,), (1.0,))
must be a function            | tinyjax.vjp(1, 1.0)
must be a function            | tinyjax.linearize(1, 1.0)
must be a function            | tinyjax.linear_transpose(1, 1.0)
must be a function            | tinyjax.closure_convert(1, 1.0)
must be a function            | tinyjax.eval_shape(1, 1.0)
axis 0 lies before axis 1     | lax.collapse(jnp.ones((3, 3)), 1, 0)
axis 1 lies before axis 2     | lax.collapse(jnp.ones((2, 3, 4)), -1, -2)
must not be negative          | lax.scan(lambda c, x: (c, c), 1.0, None, length=-1)
must be one of the sets user_ | checkify.checkify(jnp.sin, errors=3)
nan_checks.*got {'nan'}       | checkify.checkify(jnp.sin, errors={"nan"})
takes a format string         | tinyjax.debug.log(3)
'folded' or 'full'            | config(tracebacks="short")
'standard' or 'strict'        | config(dtype_promotion="loose")
'warn' or 'raise'             | config(rank_promotion="never")
default_prng_impl takes       | config(default_prng_impl="mersenne")
a number of bytes             | config(cache_max_bytes="few")
without axes                  | len(jnp.asarray(1.0))
masked arrays                 | jnp.asarray(np.ma.masked_array([1.0, 2.0], [True, False]))
takes an array, a number      | tinyjax.ShapeDtypeStruct.like("a")
PartitionSpec takes           | P(3.5)
every device at most once     | Mesh([tinyjax.devices()[0]] * 2, ("x",))
must be a Mesh                | NamedSharding(3, P())
must be a PartitionSpec       | NamedSharding(tinyjax.make_mesh((1,), ("x",)), 3)
takes a Mesh or None          | tinyjax.set_mesh(3)
lie on one device each        | ARRAY_OF((3,), FIRST, [np.ones(3)])
one array for each device     | ARRAY_OF((3,), FIRST, [])
derivative of an integer      | jnp.zeros(3, tinyjax.dtypes.float0) + 1
finfo describes floats        | jnp.finfo(jnp.int32)
method of fixed_point         | implicit.fixed_point(jnp.cos, 1.0, method="guess")
method of linear_solve        | implicit.linear_solve(lambda x: x, V, method="guess")
linear_solver of root         | implicit.root(jnp.cos, 1.0, linear_solver="guess")
method of minimize            | implicit.minimize(lambda x: x**2, 1.0, method="guess")
history of minimize           | implicit.minimize(lambda x: x**2, 1.0, history=0)
gradient of odeint            | implicit.odeint(lambda y, t: y, 1.0, V, gradient="guess")
method of root                | implicit.root(jnp.cos, 1.0, method="guess")
platform 'abacus'             | tinyjax.jit(jnp.sin, backend="abacus")
generator function            | tinyjax.jit(GENERATOR)
state of four words           | lax.rng_bit_generator(jnp.ones(3, jnp.uint32), (2,))
does not sort eigenvalues     | lax.linalg.schur(S, sort_eig_vals=True)
full_matrices=False           | lax.linalg.svd(S, subset_by_index=(0, 1))
full_matrices=False           | jnp.linalg.svd(S, subset_by_index=(0, 1))
iota counts in numbers        | lax.broadcasted_iota(bool, (3,), 0)
frexp needs real numbers      | jnp.frexp(1j)
spacing needs real numbers    | jnp.spacing(1j)
needs a sample along axis     | jnp.trapezoid(jnp.ones((2, 0)))
at most two axes              | jnp.cov(jnp.ones((2, 2, 2)))
must be a float or complex    | jnp.cov(S, dtype=int)
must be integers              | jnp.cov(S, fweights=V)
must hold 3 numbers           | jnp.cov(S, aweights=jnp.ones(2))
does not fit in               | jnp.full(3, 300, jnp.uint8)
at most .* columns            | jnp.vander(V, 10**9)
have more axes than           | jnp.insert(V, 0, jnp.ones((2, 2, 2)), axis=0)
mask of 3 elements            | jnp.place(V, jnp.ones(2, bool), 1.0, inplace=False)
at least one value            | jnp.place(V, V > 0, jnp.ones(0), inplace=False)
integer places                | jnp.put(V, 0.5, 1.0, inplace=False)
'clip' or 'wrap'              | jnp.put(V, 0, 1.0, mode="raise", inplace=False)
leave out wrap                | jnp.fill_diagonal(S, 1.0, wrap=True, inplace=False)
at least one value            | jnp.fill_diagonal(S, jnp.ones(0), inplace=False)
incompatible shapes           | jnp.piecewise(V, [jnp.ones(2, bool)], [1.0])
positions and names           | jnp.vectorize(jnp.sin, excluded=(1.5,))
an int, or a vector           | jnp.histogram(V, S)
at least one bin              | jnp.histogram(V, 0)
no elements needs             | jnp.histogram(jnp.ones(0))
must hold two numbers         | jnp.histogram(V, 3, (0.0, 1.0, 2.0))
needs a weight for each       | jnp.histogram(V, 3, weights=jnp.ones(2))
a point in each row           | jnp.histogramdd(jnp.ones((2, 2, 2)))
needs a weight for each       | jnp.histogramdd(S, weights=jnp.ones(2))
for each of 3 columns         | jnp.histogramdd(S, (2, 2))
at least one array            | jnp.r_[()]
two axes or more              | jnp.diag_indices_from(V)
would be empty                | jnp.array_split(V, 10**8)
no element to pad with        | jnp.pad(jnp.ones(0), 1, "edge")
mode of ravel_multi_index     | jnp.ravel_multi_index((0,), (3,), mode="guess")
has no coefficients           | jnp.polydiv(V, jnp.ones(0))
must not be below zero        | jnp.polyint(V, -1)
needs 2 constants             | jnp.polyint(V, 2, jnp.ones(3))
a vector or a square matrix   | jnp.poly(jnp.ones((2, 3)))
must not be below zero        | jnp.polyfit(V, V, -1)
needs a vector of points      | jnp.polyfit(V, jnp.ones(2), 1)
needs 3 weights               | jnp.polyfit(V, V, 1, w=jnp.ones(2))
more than 3 points            | jnp.polyfit(V, V, 2, cov=True)
go with a condition alone     | jnp.where(V > 0, V, V, size=2)
'auto', 'compare_all'         | jnp.isin(V, V, method="guess")
out= is not supported         | jnp.take(V, 0, out=V)
out= is not supported         | jnp.compress(V > 0, V, out=V)
where= is not supported       | UFUNC(V, V, where=V > 0)
takes 2 operands              | UFUNC(V)
cannot change an array        | UFUNC.at(V, 0, 1.0)
and a function with one       | UFUNC.at(V, 0, inplace=False)
a vector of indices           | UFUNC.reduceat(V, S.astype(int))
makes integers and floats     | lax.bitcast_convert_type(1.0, bool)
up to three spatial axes      | lax.conv_transpose(X6, X6, (1,), "SAME")
at least as many rows         | lax.linalg.householder_product(jnp.ones((2, 3)), jnp.ones(2))
at least one row              | lax.linalg.tridiagonal(jnp.ones((0, 0)))
takes int32                   | lax.linalg.lu_pivots_to_permutation(V, 3)
distinct axes                 | lax.rev(S, (0, 0))
negative shape                | lax.pad(V, 0.0, [(-2, -2, 0)])
symmetric_product adds        | lax.linalg.symmetric_product(jnp.ones((2, 3)), jnp.ones((3, 3)))
cholesky_update needs         | lax.linalg.cholesky_update(S, jnp.ones(2))
needs operands of one dtype   | lax.linalg.cholesky_update(S, jnp.ones(3, "float64"))
an alpha of shape             | random.dirichlet(KEY, 1.0)
takes a scalar p              | random.ball(KEY, 2, V)
along the last axis           | random.wrap_key_data(jnp.ones(3, jnp.uint32))
leave out eigvals             | scipy.linalg.eigh(S, eigvals=(0, 1))
type 1, .* but type is        | scipy.linalg.eigh(S, type=2)
block_diag takes matrices     | scipy.linalg.block_diag(jnp.ones((2, 2, 2)))
matrices of shape             | Rotation.from_matrix(jnp.ones((2, 2)))
along the last axis           | Rotation.from_quat(V)
takes real numbers            | Rotation.from_quat(jnp.ones(4) * 1j)
must be at least 0            | scipy.special.bessel_jn(1.0, v=-1)
takes real numbers            | scipy.special.bessel_jn(1j, v=1)
diff_n                        | scipy.special.sph_harm_y(0, 0, 0.1, 0.1, diff_n=1)
n of bernoulli                | scipy.special.bernoulli(-1)
alpha of dirichlet            | scipy.stats.dirichlet.logpdf(V / 6, 1.0)
does not take allow_singular  | scipy.stats.multivariate_normal.logpdf(V, V, S, allow_singular=True)
nan_policy of sem             | scipy.stats.sem(V, nan_policy="guess")
no derivative in its          | tinyjax.grad(lambda x: scipy.special.zeta(x, 1.5))(2.5)
separator of keystr           | tree.keystr((), separator=3)
takes a class                 | tree.register_static(3)
a tuple and a dictionary      | tree.flatten_arguments([], {})
must be a sequence            | tree.unflatten_arguments(tree.structure(((1,), {})), 3)
needs identity                | tree.reduce_associative(lambda x, y: x, ())
outer tree has no leaves      | tree.transpose(tree.structure(()), None, ())
'cpu' branch .* a callable    | lax.platform_dependent(1.0, cpu=1)
must be a function            | lax.fori_loop(0, 3, 1, 1.0)
walk|leaves                   | tree.structure((1, 2)).walk(lambda x: x, lambda x: x, [1])
are PyTreeDefs                | tree.treedef_tuple([3])
hears of no events            | tinyjax.monitoring.unregister_event_listener(print)
a symbolic constraint is      | tinyjax.export.SymbolicScope([3])
given as a string or None     | tinyjax.export.symbolic_shape(3)
takes no modulus              | pow(SIZE, 2, 3)
of sizes needs an int         | SIZE.maximum("a")
a power greater than          | SIZE ** 10**6
is expected                   | tinyjax.export.symbolic_shape("max a")
powers are from 1 to          | tinyjax.export.symbolic_shape("a^0")
needs one start for each      | lax.dynamic_slice(S, (0,), (1, 1))
have the same dtypes          | lax.dynamic_update_slice(S, jnp.ones((1, 1), int), (0, 0))
there are 3                   | lax.dynamic_slice(S, (0, 0), (1, 1), allow_negative_indices=[1] * 3)
nested so deep                | jnp.array(DEEP)
in one place must have equal  | jnp.array([jnp.ones(2), jnp.ones(3)])
does not fit in               | jnp.arange(300, 302, dtype="uint8")
must be a function            | tinyjax.sharding.auto_axes(3, axes="x")
takes an AbstractMesh         | tinyjax.sharding.use_abstract_mesh(3).__enter__()
takes slices                  | jnp.mgrid[0:3, 2]
a callback with a declared    | tinyjax.pure_callback(np.sin, V, V, derivative=jnp.cos, a=1)
for each of the 3 elements    | jnp.repeat(V, jnp.ones((2, 2), int), total_repeat_length=3)
a condition .* does not       | jnp.piecewise(V, [jnp.ones((2, 3), bool)], [1.0])
operands of one shape but     | lax.linalg.triangular_solve(jnp.ones((2, 3, 3)), S)
RaggedDotDimensionNumbers     | lax.ragged_dot_general(S, S, V.astype(int), 3)
does not broadcast to shape   | lax.broadcast_like(S, V)
permutations of the 3 axes    | CONV(X3, X3, (1,), "SAME")
holds an array                | tinyjax.Ref(3)
load takes a file             | jnp.load(io.BytesIO(b"PK nothing"))
is made of 2 arrays           | sparse.BCOO((V,), shape=(3,))
mat of bcoo_sort_indices must | sparse.bcoo_sort_indices([V])
operands of bcoo_concatenate  | sparse.bcoo_concatenate((V,), dimension=0)
requires at least 3           | sparse.grad(jnp.sum, -3)(1.0)
file of save must be str      | jnp.save(1j, V)
mode of take must be str      | jnp.take(V, 0, mode=np.zeros((0, 3)))
d1 of max_dim must be int     | tinyjax.export.max_dim(tinyjax, 3)
must be of one length         | lax.padtype_to_pads((1, 2), (1,), (1,), "SAME")
more elements than memory     | scipy.linalg.hadamard(1 << 33)
the axis_names of AbstractMesh | tinyjax.sharding.AbstractMesh((2,), np.sin)
must return arrays of the     | lax.associative_scan(lambda x, y: (x + y).astype(int), V)
defderivative                 | tinyjax.custom_derivative(jnp.sin)(1.0)
takes data                    | tinyjax.jit(ASSEMBLED)(V)
and global_shape              | tinyjax.make_array_from_process_local_data(FIRST, V, (3, 1))
the step of a slice           | EXPORT(lambda x: x[::x.shape[0]])
the step of a slice           | EXPORT(lambda x: x[:x.shape[0]:0])
an int32 scalar to choose by  | BOUND("cond", CHOICE, 1.0, 1.0)
a branch of type              | BOUND("cond", CHOICE, jnp.int32(0), S)
a loop with condition         | BOUND("while", COUNTED, S)
given an input of type        | BOUND("scan", SUMS, 0.0, jnp.ones(4))
a loop body of type           | BOUND("scan", SUMS, V, V)
a program for each device     | BOUND("shard_map", PARTED, S)
values along the last axes    | BOUND("fft", jnp.fft.fft, jnp.ones(5, complex))
operands of one dtype and     | BOUND("ormqr", REFLECTED, S, V, 1j * S)
keys of two uint32 words      | BOUND("random_bits", BITS, V)
as many right-hand sides'     | BOUND("solve", SOLVED, S, jnp.ones((4, 1)))
matrices of one size          | BOUND("rsf2csf", COMPLEX, 1j * S, jnp.eye(4) * 1j)
"""


def generator(x: Any) -> Any:
    yield x


def bound(name: str, fun: Any, *operands: Any) -> Any:
    """The operation of that name in a function of V, applied to other operands."""
    with tinyjax.default_dtypes("float32"):
        jaxpr = tinyjax.make_jaxpr(fun)(NAMES["V"]).jaxpr
    (eqn, *_) = [eqn for eqn in all_eqns(jaxpr) if eqn.primitive.name == name]
    params = eqn.primitive.get_bind_params(eqn.params)
    return tinyjax.eval_shape(lambda *args: eqn.primitive.bind(*args, **params), *operands)


def all_eqns(jaxpr: Any) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in subjaxprs(eqn.params):
            yield from all_eqns(inner)


def exported(fun: Any) -> Any:
    x = tinyjax.ShapeDtypeStruct(tinyjax.export.symbolic_shape("n"), "float32")
    return tinyjax.export.export(tinyjax.jit(fun))(x)


DEEP: list[Any] = []
for _ in range(2000):
    DEEP = [DEEP]


def config(**settings: Any) -> None:
    for name, value in settings.items():
        unchecked(tinyjax.config.update)(name, value)


ONE = tinyjax.make_mesh((1,), ("x",))

NAMES: dict[str, Any] = {
    "tinyjax": tinyjax,
    "jnp": jnp,
    "np": np,
    "lax": lax,
    "random": random,
    "scipy": scipy,
    "tree": tree,
    "implicit": implicit,
    "checkify": checkify,
    "Rotation": Rotation,
    "P": P,
    "Mesh": Mesh,
    "NamedSharding": NamedSharding,
    "config": config,
    "V": jnp.array([1.0, 2.0, 3.0]),
    "S": jnp.eye(3) * 2 + 1,
    "X6": jnp.ones((1,) * 6),
    "KEY": random.key(0),
    "FIRST": tinyjax.sharding.SingleDeviceSharding(tinyjax.devices()[0]),
    "GENERATOR": generator,
    "ARRAY_OF": tinyjax.make_array_from_single_device_arrays,
    "io": io,
    "sparse": sparse,
    "DEEP": DEEP,
    "SIZE": tinyjax.export.symbolic_shape("n")[0],
    "EXPORT": exported,
    "BOUND": bound,
    "CHOICE": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x[0]),
    "COUNTED": lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * 2, x[0]),
    "SUMS": lambda x: lax.scan(lambda c, a: (c + a, c), x[0], x),
    "PARTED": tinyjax.shard_map(jnp.sin, mesh=ONE, in_specs=P("x"), out_specs=P("x")),
    "REFLECTED": lambda x: lax.linalg.ormqr(jnp.eye(3), x[:3], jnp.eye(3)),
    "X3": jnp.ones((1, 1, 5)),
    "CONV": partial(
        lax.conv_general_dilated,
        dimension_numbers=lax.ConvDimensionNumbers((0, 1, 1), (0, 1, 2), (0, 1, 2)),
    ),
    "ASSEMBLED": lambda x: tinyjax.make_array_from_callback((3,), NAMES["FIRST"], lambda i: x),
    "BITS": lambda x: random.bits(random.key(x[0].astype(int))),
    "SOLVED": lambda x: jnp.linalg.solve(jnp.eye(3), x),
    "COMPLEX": lambda x: scipy.linalg.rsf2csf(jnp.eye(3), jnp.eye(3) * x),
    "UFUNC": jnp.frompyfunc(jnp.add, 2, 1, identity=0),
}


@pytest.fixture
def without_collection() -> Iterator[None]:
    """Disable garbage collection: with a full stack, callbacks of weak references could not run."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.wrong_types
@pytest.mark.usefixtures("without_collection")
def test_messages() -> None:
    wrong: list[str] = []
    for line in MESSAGES.strip().split("\n"):
        said, _, call = line.rpartition(" | ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wrong.append(f"{call} gives {eval(call, NAMES)}")
            except TinyjaxError as error:
                if not re.search(said.strip(), error.message):
                    wrong.append(f"{call} raises {error}")
            except Exception as error:
                wrong.append(f"{call} raises {error!r}")
    assert not wrong, "\n".join(wrong)


class Mixed:
    """A container that flattens by the kinds of its items, and cannot hold anything else."""

    def __init__(self, *items: Any) -> None:
        assert not any(type(item) is object for item in items), "a message builds it"
        self.items = items


def opened(box: Mixed) -> tuple[list[Any], tuple[Any, ...]]:
    arrays = [x for x in box.items if isinstance(x, tinyjax.Array)]
    return arrays, tuple([None if isinstance(x, tinyjax.Array) else x for x in box.items])


def closed(metadata: tuple[Any, ...], arrays: Any) -> Mixed:
    rest = iter(arrays)
    return Mixed(*[next(rest) if x is None else x for x in metadata])


tinyjax.tree.register_pytree_node(Mixed, opened, closed)


@pytest.mark.parametrize(
    "transform",
    [
        tinyjax.jit,
        tinyjax.vmap,
        tinyjax.make_jaxpr,
        tinyjax.checkpoint,
        lambda f: tinyjax.jit(tinyjax.grad(f)),
        lambda f: tinyjax.lax.scan(lambda box, _: (f(box), None), Mixed(jnp.ones(3), 2), length=2),
    ],
)
def test_messages_build_no_object_of_the_user(transform: Any) -> None:
    box = Mixed(jnp.ones((3, 2)), 2)
    uses: list[Callable[[Any], Any]] = [
        lambda b: np.asarray(b.items[0]),
        lambda b: bool(b.items[0].sum() > 0),
        lambda b: float(b.items[0][0]),
        lambda b: jnp.zeros(b.items[0].sum().astype(int)),
        lambda b: (b, b),
    ]
    for use in uses:
        with suppress(TinyjaxError):  # no other error
            result = transform(use)
            if callable(result):
                result(box)


class Kept:
    """A class of the user's, with a field."""

    def __init__(self, value: Any) -> None:
        self.value = value


def registered(value: Kept) -> Kept:
    tree.register_dataclass(Kept, ["value"], [])
    return value


#: Values that are no arrays, a part of the advice for each, and what follows it.
ADVICE: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (deque([1.0, 2.0]), "jnp.array(list(...))", lambda x: jnp.array(list(x))),
    ({1.0, 2.0}, "jnp.array(list(...))", lambda x: jnp.array(list(x))),
    (iter([1.0]), "jnp.array(list(...))", lambda x: jnp.array(list(x))),
    (Fraction(1, 2), "float(...)", float),
    (Decimal(2), "float(...)", float),
    (SimpleNamespace(a=1.0), "vars(...)", vars),
    (scipy_sparse.eye(2, format="csr"), "x.toarray()", lambda x: x.toarray()),
    (
        scipy_sparse.eye(2, format="csr"),
        "BCOO.from_scipy_sparse",
        sparse.BCOO.from_scipy_sparse,
    ),
    (np.random.default_rng(0), "tinyjax.random.key(seed)", lambda _: random.key(0)),
    (Kept(1.0), "tinyjax.tree.register_dataclass", registered),
    (tinyjax.ShapeDtypeStruct((), "float32"), "give an array", lambda _: jnp.ones(())),
]


@pytest.mark.wrong_types
@pytest.mark.parametrize(("value", "advice", "follow"), ADVICE)
def test_advice_about_values_is_true(value: Any, advice: str, follow: Callable[[Any], Any]) -> None:
    uses: list[Callable[[Any], Any]] = [tinyjax.jit(lambda x: x)]
    for use in (*uses, jnp.sin):
        if advice == "give an array" and use is jnp.sin:
            continue
        with pytest.raises(TinyjaxError) as caught:
            use(value)
        assert advice in caught.value.message
    followed = follow(value)
    for use in uses:
        use(followed)


@pytest.mark.parametrize("use", [float, int, bool, range, complex])
def test_advice_of_vmap_is_of_arguments_that_are_shared(use: Any) -> None:
    def f(x: Any, n: Any) -> Any:
        return x * len([*use(n)]) if use is range else x * use(n)

    x, n = jnp.ones(2), jnp.ones(2, int)
    with pytest.raises(TinyjaxError) as caught:
        tinyjax.vmap(f)(x, n)
    assert "in_axes=None" in caught.value.message
    assert "static_argnums" not in caught.value.message
    np.testing.assert_array_equal(tinyjax.vmap(f, (0, None))(x, 1), x)


@pytest.mark.parametrize(
    ("module", "name", "path"),
    [
        (tinyjax, "optim", "tinyjax.example_libraries.optimizers"),
        (tinyjax.nn, "Linear", "tinyjax.example_libraries.stax"),
        (tinyjax, "randn", "tinyjax.random.normal"),
        (random, "rand", "tinyjax.random.uniform"),
    ],
)
def test_a_name_of_another_library_says_where_to_look(module: Any, name: str, path: str) -> None:
    with raises(AttributeError, match=path):
        getattr(module, name)
    assert pkgutil.resolve_name(path)


@pytest.mark.parametrize(
    ("transform", "name"),
    [
        (tinyjax.grad, "argnum"),
        (tinyjax.value_and_grad, "argnum"),
        (tinyjax.jacfwd, "argnum"),
        (tinyjax.vmap, "in_axis"),
        (tinyjax.jit, "static_argnum"),
        (tinyjax.checkpoint, "prevent_sce"),
    ],
)
def test_an_argument_that_is_like_another_is_named(transform: Any, name: str) -> None:
    with raises(TypeError, match=r"unexpected keyword argument '\w+'. Did you mean '\w+'"):
        transform(jnp.sum, **{name: 1})

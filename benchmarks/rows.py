"""The rows of the table: for each, what every contender does, and what is to be reached.

Every call returns with its result computed: JAX and compiled code, which run in the background, are
waited for. Where a call must be a first one, a new function or a new shape is made for it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, Final

import attrs
import numpy as np

from benchmarks.adbench.numerics import NUMERICS
from benchmarks.adbench.problem import Problem
from benchmarks.adbench.vision import VISION
from benchmarks.laplacian import laplacian, taylor
from benchmarks.libraries import OWN, Library, library
from benchmarks.measure import Call, Effort, Samples, Script, in_subprocesses, interleaved
from benchmarks.programs import chain, descend, mlp_data, mlp_loss
from benchmarks.real_programs import PROGRAMS, Program
from benchmarks.sparse import derivative, preparation


@attrs.frozen
class Bar:
    """A bar for tinyjax: at most ``most`` times the peer's time."""

    peer: str
    most: float


@attrs.frozen
class Floor:
    """A lower bound on everybody's time, measured beside the row.

    Attributes:
        what: names it.
        contender: makes the call, or is the script.
    """

    what: str
    contender: Callable[[], Call] | Script


@attrs.frozen
class Row:
    """One line of the table.

    Attributes:
        title: what is measured.
        contender: what a library does for it; or, where they cannot share a process, its scripts.
        peers: whom tinyjax is measured beside.
        bars: what is to be reached.
        once: whether every call must be a first one.
        floor: what nobody can go below.
    """

    title: str
    contender: Callable[[Library], Call] | Mapping[str, Script]
    peers: tuple[str, ...]
    bars: tuple[Bar, ...] = ()
    once: bool = False
    floor: Floor | None = None

    def measure(self, effort: Effort) -> Samples:
        """Measure tinyjax, its peers and the floor, taking turns."""
        return self._measure(effort, (OWN, *self.peers), self.floor)

    def measure_own(self, effort: Effort) -> list[float]:
        """Measure tinyjax alone."""
        return self._measure(effort, (OWN,), None)[OWN]

    def _measure(self, effort: Effort, names: tuple[str, ...], floor: Floor | None) -> Samples:
        make = self.contender
        if isinstance(make, Mapping):
            scripts = {name: make[name] for name in names}
            if floor is not None and isinstance(floor.contender, Script):
                scripts["floor"] = floor.contender
            return in_subprocesses(scripts, effort)
        calls = {name: make(library(name)) for name in names}
        if floor is not None and not isinstance(floor.contender, Script):
            calls["floor"] = floor.contender()
        return interleaved(calls, effort, self.once)


_X: Final = np.linspace(0.1, 1.0, 10, dtype=np.float32)


# Starting


_IMPORTS: Final = {
    "tinyjax": Script("import tinyjax.numpy as jnp; (jnp.arange(3.0) + 1).block_until_ready()"),
    "jax": Script("import jax.numpy as jnp; (jnp.arange(3.0) + 1).block_until_ready()"),
    "torch": Script("import torch; torch.arange(3.0) + 1"),
}


# Eager evaluation


def _add(lib: Library) -> Call:
    x = lib.array(_X)
    return lib.until_ready(lambda: x + x)


def _numpy_add() -> Call:
    return lambda: _X + _X


def _new_shape(lib: Library) -> Call:
    sizes = count(1000)
    return lib.until_ready(
        lambda: chain(lib.sin, lib.array(np.ones(next(sizes), np.float32)), 3),
    )


def _numpy_new_shape() -> Call:
    sizes = count(1000)
    return lambda: chain(np.sin, np.ones(next(sizes), np.float32), 3)


_SMALL_MLP: Final = ((64, 64, 64, 64), 32)


def _eager_mlp(lib: Library) -> Call:
    return lib.gradient(partial(mlp_loss, lib.tanh), *lib.arrays(mlp_data(*_SMALL_MLP)))


def _numpy_mlp() -> Call:
    layers, x, y = mlp_data(*_SMALL_MLP)
    return lambda: mlp_loss(np.tanh, layers, x, y)


def _chain_gradient(lib: Library) -> Call:
    return lib.gradient(lambda x: chain(lib.sin, x, 300).mean(), lib.array(_X))


def _numpy_chain() -> Call:
    return lambda: chain(np.sin, _X, 300).mean()


_ROWS_OF_X: Final = np.tile(_X, (8, 1))


def _chain_vmap(lib: Library) -> Call:
    x = lib.array(_ROWS_OF_X)
    mapped = lib.module.vmap(lambda x: chain(lib.sin, x, 300))
    return lib.until_ready(lambda: mapped(x))


def _numpy_chain_of_rows() -> Call:
    return lambda: chain(np.sin, _ROWS_OF_X, 300)


# Tracing. A new function each time: JAX remembers the jaxpr of a function it has seen.


def _trace(lib: Library) -> Call:
    x = lib.array(_X)
    return lambda: lib.module.make_jaxpr(lambda x: chain(lib.sin, x, 3000))(x)


def _trace_gradient(lib: Library) -> Call:
    x = lib.array(_X)

    def trace() -> object:
        gradient = lib.module.grad(lambda x: chain(lib.sin, x, 3000).mean())
        return lib.module.make_jaxpr(gradient)(x)

    return trace


class _Recorder:
    """As little as an operation on a tracer can do: append to a list."""

    __slots__ = ("program",)

    def __init__(self, program: list[Any]) -> None:
        self.program = program

    def __mul__(self, other: Any) -> "_Recorder":
        return _record("mul", self, other)

    def __add__(self, other: Any) -> "_Recorder":
        return _record("add", self, other)


def _record(name: str, x: _Recorder, *others: Any) -> _Recorder:
    out = _Recorder(x.program)
    x.program.append((name, (x, *others), out))
    return out


def _recorded() -> Call:
    return partial(chain, partial(_record, "sin"), _Recorder([]), 3000)


def _lower(lib: Library) -> Call:
    x = lib.array(_X)
    if lib.name == OWN:
        # Each as far as the form that its compiler is handed: text here, a module there.
        return lambda: lib.module.jit(lambda x: chain(lib.sin, x, 3000)).lower(x).as_text()
    return lambda: lib.module.jit(lambda x: chain(lib.sin, x, 3000)).lower(x)


# The compiler


def _normals(lib: Library, key: Any) -> list[Any]:
    keys = lib.module.random.split(key, 10)
    return [lib.module.random.normal(keys[i], (100,)) for i in range(10)]


def _images(lib: Library, key: Any) -> Any:
    """A picture of 36 random images, each turned."""
    images = lib.module.random.bernoulli(key, 0.3, (36, 28, 28))
    rows = [[images[6 * i + j].T for j in range(6)] for i in range(6)]
    return lib.module.numpy.vstack([lib.module.numpy.hstack(row) for row in rows])


def _compile_random(draw: Callable[[Library, Any], Any], lib: Library) -> Call:
    key, numbers = lib.module.random.key(0), count(1)

    def call() -> object:
        size = next(numbers)  # a program that was not compiled before
        program = lib.module.jit(lambda key: (draw(lib, key), lib.module.numpy.zeros(size)))
        return program.lower(key).compile()

    return call


# Compiled code


def _attend(lib: Library) -> Call:
    x = lib.array(np.random.default_rng(0).normal(size=(1, 8192, 1, 64)).astype(np.float32))
    attention = lib.module.nn.dot_product_attention
    gradient = lib.module.jit(lib.module.grad(lambda x: attention(x, x, x, is_causal=True).sum()))
    return lambda: gradient(x).block_until_ready()


def _call_arrays(lib: Library) -> Call:
    x, add = lib.array(_X), lib.module.jit(lambda x, y: x + y)
    return lambda: add(x, x).block_until_ready()


def _call_numpy(lib: Library) -> Call:
    add = lib.module.jit(lambda x, y: x + y)
    return lambda: add(_X, _X).block_until_ready()


def _calls_numpy(size: int, times: int, lib: Library) -> Call:
    """Make calls with an array of NumPy's one after another, and wait for the last."""
    # not aligned to 64 bytes, as arrays of NumPy's are not; an aligned one JAX does not copy
    memory = np.ones(size + 32, np.float32)
    start = (16 - memory.ctypes.data) % 64 // 4
    x = memory[start : start + size]
    total = lib.module.jit(lib.functions.sum)

    def call() -> object:
        for _ in range(times):
            result = total(x)
        return result.block_until_ready()

    return call


def _call_tree(lib: Library) -> Call:
    def shifted(leaves: Any) -> Any:
        a, (b, c), d = leaves["a"], leaves["b"], leaves["c"]
        return {"a": a + b, "b": (b + c, c + d), "c": d + a}

    tree = lib.arrays({"a": _X, "b": (_X, _X), "c": _X})
    compiled = lib.module.jit(shifted)

    def call() -> object:
        outs = compiled(tree)
        return outs["c"].block_until_ready()

    return call


def _execute(fun: Callable[..., Any], arguments: int) -> Call:
    import jax

    x = jax.numpy.asarray(_X)
    executable = jax.jit(fun).lower(*[x] * arguments).compile().runtime_executable()
    buffers = [x] * arguments
    return lambda: executable.execute_sharded(buffers)


def _execute_four(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a + b, b + c, c + d, d + a


def _fresh_function(lib: Library) -> Call:
    x = lib.array(_X)
    return lambda: lib.module.jit(lambda x: chain(lib.sin, x, 3))(x).block_until_ready()


_SETUP: Final = """\
import {name}
import {name}.numpy as jnp
from functools import partial
from benchmarks.programs import chain, descend, mlp_data, mlp_loss
gradient = {name}.grad(partial(mlp_loss, jnp.tanh))
step = {name}.jit(lambda layers, x, y: descend(layers, gradient(layers, x, y)))
small = {name}.jit(lambda x: chain(jnp.sin, x, 3))
"""
_SMALL: Final = "small(jnp.ones(10)).block_until_ready()\n"
_STEP: Final = "{name}.block_until_ready(step(*mlp_data((64, 64, 64, 64), 32)))\n"
#: So that what is timed next finds a process in which compiled code has run.
_STARTED: Final = "{name}.jit(lambda x: x + 1)(jnp.ones(10)).block_until_ready()\n"
_CACHES: Final = {
    "tinyjax": {"TINYJAX_CACHE_DIR": "{folder}/tinyjax"},
    "jax": {
        "JAX_COMPILATION_CACHE_DIR": "{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    },
}


def _cached(program: str, setup: str = "") -> dict[str, Script]:
    """A program in processes that find it, compiled, on disk."""
    return {
        name: Script(program.format(name=name), setup.format(name=name), environment)
        for name, environment in _CACHES.items()
    }


def _deserialise(lowered: str, arguments: str) -> Script:
    """Make the script of XLA's part of a first call: nothing is traced, lowered or looked up."""
    return Script(
        "outs = client.deserialize_executable(blob, devices, CompileOptions()).execute_sharded("
        "leaves).disassemble_into_single_device_arrays()\n"
        "[out[0].block_until_ready() for out in outs]",
        f"""{_SETUP}{_STARTED}
from jaxlib._jax import DeviceList
from jaxlib.xla_client import CompileOptions
device = jax.devices()[0]
client, devices = device.client, DeviceList((device,))
leaves = [jnp.asarray(x) for x in jax.tree.leaves({arguments})]
blob = {lowered}.compile().runtime_executable().serialize()
""".format(name="jax"),
    )


def _compiled_step(widths: tuple[int, ...], batch: int, lib: Library) -> Call:
    arguments = lib.arrays(mlp_data(widths, batch))
    gradient = lib.module.grad(partial(mlp_loss, lib.tanh))
    step = lib.module.jit(lambda layers, x, y: descend(layers, gradient(layers, x, y)))
    return lambda: lib.module.block_until_ready(step(*arguments))


#: As good as the peer, but for what a median of many turns leaves uncertain.
LEVEL: Final = 1.03

ROWS: Final = (
    Row(
        "import, first operation",
        _IMPORTS,
        ("jax", "torch"),
        (Bar("jax", 0.2),),
        floor=Floor("import NumPy", Script("import numpy")),
    ),
    Row(
        "eager x + y, 10 elements",
        _add,
        ("jax", "torch"),
        (Bar("jax", 0.2), Bar("torch", 1.0)),
        floor=Floor("NumPy", _numpy_add),
    ),
    Row(
        "eager, 3 operations at a new shape",
        _new_shape,
        ("jax", "torch"),
        (Bar("jax", 1e-3),),
        once=True,
        floor=Floor("NumPy", _numpy_new_shape),
    ),
    Row(
        "eager grad, MLP 3 x 64, batch 32",
        _eager_mlp,
        ("jax", "autograd", "torch"),
        (Bar("jax", 0.05), Bar("autograd", 0.5), Bar("torch", 1.0)),
        floor=Floor("NumPy, forward", _numpy_mlp),
    ),
    Row(
        "eager grad, chain of 300",
        _chain_gradient,
        ("jax", "autograd", "torch"),
        (Bar("torch", 1.0),),
        floor=Floor("NumPy, forward", _numpy_chain),
    ),
    Row(
        "eager vmap, chain of 300",
        _chain_vmap,
        ("jax", "torch"),
        (Bar("jax", 0.1),),
        floor=Floor("NumPy", _numpy_chain_of_rows),
    ),
    Row(
        "make_jaxpr, chain of 3000",
        _trace,
        ("jax",),
        (Bar("jax", 0.08),),
        once=True,
        floor=Floor("append to a list", _recorded),
    ),
    Row(
        "make_jaxpr of grad, chain of 3000",
        _trace_gradient,
        ("jax",),
        (Bar("jax", 0.08),),
        once=True,
    ),
    Row("trace and lower, chain of 3000", _lower, ("jax",), (Bar("jax", 0.15),), once=True),
    Row(
        "compile ten normals of keys split",
        partial(_compile_random, _normals),
        ("jax",),
        (Bar("jax", 1.0),),
        once=True,
    ),
    Row(
        "compile a picture of 36 random images",
        partial(_compile_random, _images),
        ("jax",),
        (Bar("jax", 1.0),),
        once=True,
    ),
    Row("grad of attention, length 8192", _attend, ("jax",), (Bar("jax", 1.05),)),
    Row(
        "jit call, two small arrays",
        _call_arrays,
        ("jax",),
        (Bar("jax", 1.1),),
        floor=Floor("execute", lambda: _execute(lambda x, y: x + y, 2)),
    ),
    Row(
        "jit call, tree of four arrays in and out",
        _call_tree,
        ("jax",),
        (Bar("jax", 0.8),),
        floor=Floor("execute", lambda: _execute(_execute_four, 4)),
    ),
    Row(
        "jit, fresh lambda, same program", _fresh_function, ("jax",), (Bar("jax", 0.03),), once=True
    ),
    Row(
        "second process, disk cache warm, same program",
        _cached(_SMALL, _SETUP + _STARTED),
        ("jax",),
        (Bar("jax", 0.3),),
        floor=Floor("load, execute", _deserialise("small.lower(jnp.ones(10))", "jnp.ones(10)")),
    ),
    Row(
        "second process, disk cache warm, grad of MLP",
        _cached(_STEP, _SETUP + _STARTED),
        ("jax",),
        (Bar("jax", 0.3),),
        floor=Floor(
            "load, execute",
            _deserialise(
                "step.lower(*mlp_data((64, 64, 64, 64), 32))", "mlp_data((64, 64, 64, 64), 32)"
            ),
        ),
    ),
    Row("from import on, disk cache warm, grad of MLP", _cached(_SETUP + _STEP), ("jax",)),
    Row(
        "compiled training step, MLP 3 x 64, batch 32",
        partial(_compiled_step, *_SMALL_MLP),
        ("jax",),
        (Bar("jax", LEVEL),),
    ),
)


#: Calls of jitted functions with arrays of NumPy's.
ARGUMENT_ROWS: Final = (
    Row(
        "jit call, NumPy arguments",
        _call_numpy,
        ("jax",),
        (Bar("jax", 0.7),),
        floor=Floor("execute", lambda: _execute(lambda x, y: x + y, 2)),
    ),
    *[
        Row(
            f"{times} jit calls, {name} of NumPy",
            partial(_calls_numpy, size, times),
            ("jax",),
            (Bar("jax", 1.0),),
        )
        for name, size, times in (
            *(("16 KB", 4_000, 100), ("20 KB", 5_000, 100), ("80 KB", 20_000, 50)),
            *(("400 KB", 100_000, 20), ("4 MB", 1_000_000, 5)),
        )
    ],
)


def _run(program: Program, lib: Library) -> Call:
    compiled = lib.module.jit(program.build(lib.module))
    arguments = lib.arrays(program.data())
    return lambda: lib.module.block_until_ready(compiled(*arguments))


#: The time of real programs, compiled; what else there is to compare is in ``compiled``.
PROGRAM_ROWS: Final = tuple(
    Row(program.title, partial(_run, program), ("jax",), (Bar("jax", LEVEL),))
    for program in PROGRAMS
)


# Derivatives of ADBench and GradBench


def _differentiate(problem: Problem, lib: Library) -> Call:
    arguments = lib.arrays(problem.data())
    if problem.loss is not None and lib.name in {"autograd", "torch"}:
        return lib.gradient(problem.loss(lib.functions), *arguments)
    compiled = lib.module.jit(problem.build(lib.module))
    return lambda: lib.module.block_until_ready(compiled(*arguments))


def _first_derivative(problem: Problem, lib: Library) -> Call:
    arguments, sizes = lib.arrays(problem.data()), count(1)

    def call() -> object:
        derivative, size = problem.build(lib.module), next(sizes)  # a program of its own
        compiled = lib.module.jit(lambda *a: (derivative(*a), lib.module.numpy.zeros(size)))
        return lib.module.block_until_ready(compiled(*arguments))

    return call


#: Derivatives of ADBench and GradBench: the first call, and the calls after it.
ADBENCH_ROWS: Final = tuple(
    row
    for problem in (*VISION, *NUMERICS)
    for row in (
        Row(
            f"adbench, {problem.title}: first call",
            partial(_first_derivative, problem),
            ("jax",),
            (Bar("jax", 0.9),),
            once=True,
        ),
        Row(
            f"adbench, {problem.title}",
            partial(_differentiate, problem),
            ("jax",) if problem.loss is None else ("jax", "autograd", "torch"),
            (Bar("jax", LEVEL),),
        ),
    )
)


#: Forward Laplacians, and derivatives along a direction by Taylor mode and by nested jvp.
LAPLACIAN_ROWS: Final = (
    Row(
        "laplacian, network on 20 nodes, without sparsity",
        partial(laplacian, "network", False),
        ("jax", "folx"),
        (Bar("jax", 0.6), Bar("folx", 0.93)),
    ),
    Row(
        "laplacian, network on 20 nodes",
        partial(laplacian, "network", True),
        ("jax", "folx"),
        (Bar("jax", 0.1), Bar("folx", 0.97)),
    ),
    Row(
        "laplacian, pairs of 20 particles",
        partial(laplacian, "particles", True),
        ("jax", "folx"),
        (Bar("jax", 0.2), Bar("folx", LEVEL)),
    ),
    *(
        Row(
            f"laplacian, Taylor mode of order {order}",
            partial(taylor, order, False),
            ("jax",),
            (Bar("jax", LEVEL),),
        )
        for order in (2, 4, 6, 8, 10)
    ),
    *(
        Row(f"laplacian, nested jvp of order {order}", partial(taylor, order, True), ("jax",))
        for order in (2, 4, 6)
    ),
)


#: Sparse matrices of derivatives, and what comes before the first: pattern, colours, compilation.
SPARSE_ROWS: Final = (
    Row(
        "sparse, Brusselator of 2 x 32 x 32",
        partial(derivative, "Brusselator"),
        ("jax", "asdex"),
        (Bar("jax", 0.001), Bar("asdex", 1.1)),
    ),
    *(
        Row(f"sparse, {name}", partial(derivative, name), ("asdex",), (Bar("asdex", LEVEL),))
        for name in (
            "banded",
            "five points",
            "Hessian, banded",
            "Hessian, arrow",
            "Hessian, five points",
        )
    ),
    Row("sparse, arrow", partial(derivative, "arrow"), ()),
    *(
        Row(
            f"sparse, preparation: {name}",
            partial(preparation, name),
            ("asdex",),
            () if name == "Brusselator" else (Bar("asdex", 0.5),),
            once=True,
        )
        for name in ("Brusselator", "banded", "five points", "Hessian, five points")
    ),
)

"""Advice in messages is true: who does what a message says succeeds, and what it names exists.

Of each two lines of advice.txt the first is a program that is refused, and the second what its
message says to write instead. A sentence of the package that tells what to do belongs to such a
program, or stands in advice_untried.txt, where there is none: what needs a GPU, or a fork.
"""

import ast
import ctypes
import inspect
import itertools
import linecache
import math
import os
import pickle
import re
import socket
import subprocess
import sys
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, redirect_stderr, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256
from importlib import import_module, reload
from io import StringIO
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final
from unittest import mock

import advised_sources
import numpy as np
import pytest
import scipy.linalg as scipy_linalg
import scipy.sparse as scipy_sparse
from values_in_place import LIBRARIES

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import (
    P,
    autodiff,
    config,
    debug,
    export,
    implicit,
    lax,
    nn,
    profiler,
    random,
    scipy,
    source,
    testing,
    tree,
)
from tinyjax._library.ufuncs import host
from tinyjax._tools.exploring.command import main as explore
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.xla import versions
from tinyjax.distributed import gathering
from tinyjax.example_libraries import stax
from tinyjax.experimental import checkify, checkpoints, mesh_utils, serialize_executable, sparse
from tinyjax.experimental.hijax import VJPHiPrimitive
from tinyjax.experimental.random import stateful_rng
from tinyjax.export import format
from tinyjax.profiler import recording
from tinyjax.scipy.spatial.transform import Rotation
from tinyjax.sharding import AbstractMesh, NamedSharding
from tinyjax.tree.node import KINDS

HERE: Final = Path(__file__).parent
PACKAGE: Final = Path(tinyjax.__file__).parent
LINES: Final = (HERE / "advice.txt").read_text(encoding="utf-8").splitlines()
PROGRAMS: Final = list(zip(LINES[::2], map(str.strip, LINES[1::2]), strict=True))
UNTRIED: Final = HERE / "advice_untried.txt"

#: What advice begins with, or a clause of it does.
VERBS: Final = (
    "Add|Apply|Ask|Assign|Bind|Broadcast|Build|Call|Cast|Catch|Change|Choose|Compile|Compute|Convert"
    "|Count|Create|Declare|Define|Differentiate|Divide|Drop|Encode|Export|Fill|Give|Import|Index"
    "|Install|Keep|Leave|Load|Loop|Lower|Make|Map|Move|Multiply|Name|Pad|Pass|Pickle|Print|Put"
    "|Raise|Read|Reduce|Register|Remove|Replace|Reshape|Return|Run|Save|Say|Set|Sort|Split|Stage"
    "|Start|Stop|Store|Sum|Take|Trace|Transpose|Turn|Update|Use|Wrap|Write"
)
ADVICE: Final = re.compile(
    rf"^(?:{VERBS}|For)\b(?! Tracer)|[:;,] (?:or |and )?(?:{VERBS.lower()}) (?!of\b|is\b)"
)


# What the programs use


class Plain:
    def __init__(self, x: Any) -> None:
        self.x = x


class Doubled:
    def __init__(self, x: Any) -> None:
        self.x = 2 * x


class PlainToo(Plain):
    pass


class Other(Plain):
    pass


class Labelled(np.ndarray):
    """Arrays that are more than data."""

    def __mul__(self, other: Any) -> Any:
        return np.asarray(self) * other

    __rmul__ = __mul__


LABELLED: Final = np.ones(2).view(Labelled)


def labelled(x: Any) -> Any:
    return np.dot(x, LABELLED)


def unlabelled(x: Any) -> Any:
    return np.dot(x, np.asarray(LABELLED))


def wider(x: Any) -> Any:
    y = np.zeros((2, 2))
    np.multiply(x, 2.0, out=y)
    return np.sum(y)


def doubled(x: Any) -> Any:
    y = np.zeros((2, 2))
    y[...] = 2.0 * x
    return np.sum(y)


def added_in_place(x: Any) -> Any:
    y = np.zeros(2)
    y += LABELLED
    return np.sum(x * y)


def added_as_data(x: Any) -> Any:
    y = np.zeros(2)
    y += np.asarray(LABELLED)
    return np.sum(x * y)


def overwriting(x: Any, **options: Any) -> Any:
    return np.sum(np.nan_to_num(x * np.ones(2), **options))


def not_overwriting(x: Any) -> Any:
    return np.sum(np.nan_to_num(x * np.ones(2)))


@tree.register_dataclass
@dataclass
class Registered:
    x: Any


@dataclass
class Held(Registered):
    def __enter__(self) -> Any:
        return self.x

    def __exit__(self, *_: object) -> None:
        pass


@dataclass
class Saving:
    def __call__(self, *_: Any, **__: Any) -> bool:
        return True


@dataclass(frozen=True)
class FrozenSaving:
    def __call__(self, *_: Any, **__: Any) -> bool:
        return True


REF: Final = tinyjax.new_ref(1.0)
X_TYPE: Final = tinyjax.typeof(jnp.float32(0.5))
MESH: Final = tinyjax.make_mesh((1,), ("x",))
GRID: Final = tinyjax.make_mesh((2, 2), ("x", "y"))
ITSELF: Final[list[Any]] = []
ITSELF.append(ITSELF)


def generator(x: Any) -> Any:
    yield x


def donated() -> Any:
    x = jnp.ones(3)
    tinyjax.jit(lambda x: x + 1, donate_argnums=0)(x)
    return x


def leaked() -> Any:
    leaks: list[Any] = []

    def keep(x: Any) -> Any:
        leaks.append(x * 2)
        return x

    tinyjax.jit(keep)(1.0)
    return leaks[0]


def writing(x: Any) -> Any:
    REF[...] = x
    return x


def put(x: Any, *spec: Any, mesh: Any = GRID) -> Any:
    return tinyjax.device_put(x, NamedSharding(mesh, P(*spec)))


def mapped(fun: Callable[..., Any], in_specs: Any, out_specs: Any, *axes: str) -> Any:
    """Return ``fun`` for the devices of a mesh along some axes."""
    options: dict[str, Any] = {"axis_names": {*axes}} if axes else {}
    return tinyjax.shard_map(fun, mesh=GRID, in_specs=in_specs, out_specs=out_specs, **options)


def sized(*shape: Any) -> Any:
    return tinyjax.ShapeDtypeStruct(shape or export.symbolic_shape("n"), "float32")


def batching(fun: Callable[..., Any], rule: Callable[..., Any]) -> Any:
    found = tinyjax.custom_batch(fun)
    found.def_vmap(rule)
    return found


def batched_by(rule: Callable[..., Any]) -> Any:
    return tinyjax.vmap(batching(lambda x: x, rule))(jnp.arange(3.0))


def custom(method: str, *rules: Any) -> Any:
    """Return the identity with rules of its own."""
    fun = getattr(
        tinyjax, {"defjvps": "custom_jvp", "defjvp": "custom_jvp"}.get(method, "custom_vjp")
    )(lambda x: x)
    getattr(fun, method)(*rules)
    return fun


def stashing(ref: Any, x: Any) -> Any:
    """Return ``x``; the derivative's cotangent is written to the reference."""
    fun = tinyjax.custom_vjp(lambda ref, x: x)

    def bwd(ref: Any, ct: Any) -> Any:
        ref[...] = ct
        return None, ct

    fun.defvjp(lambda ref, x: (x, ref), bwd)
    return fun(ref, x)


def tripled(x: Any, c: Any) -> Any:
    """Return ``x * c``, whose rule closes over ``c`` and applies the function itself."""
    fun = tinyjax.custom_derivative(lambda x: x * c)
    fun.defderivative(lambda x: (fun(x), lambda t: 2.0 * t * c))
    return fun(x)


def tripled_of_both(x: Any, c: Any) -> Any:
    fun = tinyjax.custom_derivative(lambda x, c: x * c)
    fun.defderivative(lambda x, c: (fun(x, c), lambda t, u: 2.0 * t * c + u * x))
    return fun(x, c)


def nest(n: int, x: Any, compiled: int = 99) -> Any:
    """Call compiled programs, so many at most, inside of each other's callbacks."""
    if n == 0:
        return x
    wrap = tinyjax.jit if compiled > 0 else lambda fun: fun
    inside = lambda x: np.asarray(nest(n - 1, x, compiled - 1))  # noqa: E731
    return wrap(lambda x: tinyjax.pure_callback(inside, x, x))(x)


def many_sines(x: Any) -> Any:
    for i in range(600):
        x = jnp.sin(x) * float(i)
    return x


def by_platform(x: Any) -> Any:
    return lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)


class Late(Plain):
    """A class that is registered as a node only at times."""


def unpickled(*, registered: bool) -> Any:
    """Return a structure that was pickled where the class of a node was registered."""
    tree.register_dataclass(Late, ("x",), ())
    try:
        data = pickle.dumps(tree.structure(Late(1)))
        if registered:
            return pickle.loads(data)
    finally:
        del KINDS[Late]
    return pickle.loads(data)


def named(*names: str) -> Any:
    """Return a new class of named tuples, registered for export under these names."""
    kind = namedtuple("kind", "x")
    for name in names:
        export.register_namedtuple_serialization(kind, serialized_name=name)
    return kind


def taking(thing: np.float32) -> Any:
    return jnp.sin(thing)


class Twice(VJPHiPrimitive):
    def __init__(self) -> None:
        self.in_avals, self.out_aval, self.params = (X_TYPE,), X_TYPE, {}
        super().__init__()

    def expand(self, x: Any) -> Any:
        return 2.0 * x


class Structured(Twice):
    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        return self(*args), (), True, {"at": args[0]}


class StructuredWithRetval(Structured):
    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        return (2 * outgrad,)


class StructuredWithBwd(Structured):
    def vjp_bwd(self, res: Any, structured: Any, outgrad: Any, *arg_accums: Any) -> None:
        arg_accums[0].accum(2 * outgrad)


@partial(tree.register_dataclass, data_fields=("x",), meta_fields=("about",))
@dataclass
class Described:
    x: Any
    about: Any


@tree.register_dataclass
@dataclass
class DescribedByData(Described):
    pass


class TwiceWithJvp(Twice):
    def jvp(self, primals: Any, tangents: Any) -> Any:
        return self(*primals), self(*tangents)


@partial(tinyjax.custom_vjp, nondiff_argnums=(1, 2))
def squared(x: Any, name: str, whole: bool = False) -> Any:
    return x * x


squared.defvjp_with_logs(
    lambda x, name, whole: (x * x, x),
    lambda name, whole, x, ct: ((2 * x * ct,), {name: ct.astype(int) if whole else ct}),
)


def loudly(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def cached(mode: int) -> Any:
    """Compile a program where the folder of the cache has this mode."""
    folder = Path(scope()["FOLDER"]) / f"cache of mode {mode}"
    folder.mkdir(exist_ok=True)
    folder.chmod(mode)
    with config.scoped(cache_dir=str(folder)):
        return tinyjax.jit(lambda x: x * mode, tier="compiled")(2.0)


def unprofiled(call: Callable[[], Any]) -> Any:
    """Call what tells of profiles where none has been recorded."""
    with suppress(tinyjax.errors.ProfilerError):
        profiler.stop_trace()
    recording._recorded.clear()
    return call()


def without_module(module: str, call: Callable[[], Any]) -> Any:
    """Call what needs a module as if it were not installed."""
    return call_within(mock.patch.dict(sys.modules, {module: None}), call)


def elsewhere(code: str, **environment: str) -> None:
    """Run a program in another process, which names its error if it has one."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise tinyjax.errors.ArgumentError(done.stderr)


def meet(*processes: tuple[int, int], port_is_used: bool = False) -> None:
    """Let processes meet, given their numbers and how many they think they are: threads of ours."""
    probe = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{probe.getsockname()[1]}"
    if not port_is_used:
        probe.close()

    def come(number: int, size: int) -> str:
        mine = gathering.Handshake(number, size, 1, "")
        try:
            if number:
                found = gathering.approach(address, mine, 60.0)
            else:
                found = gathering.gather(gathering.listener(address), mine, 60.0)
                gathering.begin(found)
        except tinyjax.errors.DistributedError as error:
            return error.message
        for line in found.lines.values():
            line.close()
        return ""

    with probe, ThreadPoolExecutor(len(processes)) as pool:
        said = [*filter(None, pool.map(come, *zip(*processes, strict=True)))]
    if said:
        raise tinyjax.errors.ArgumentError("\n".join(said))


def meet_another_program() -> None:
    """Come, as process 1 of 2, to the port of another program."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: gathering.JsonConnection(server.accept()[0]).send({"hello": "world"}))
        mine = gathering.Handshake(1, 2, 1, "")
        gathering.approach(f"127.0.0.1:{server.getsockname()[1]}", mine, 60.0)


#: What programs for two processes begin with.
TOGETHER: Final = """
import time
import numpy as np
import tinyjax
from tinyjax import P
from tinyjax.experimental import multihost_utils
from tinyjax.sharding import NamedSharding
tinyjax.distributed.initialize(shutdown_timeout_seconds={})
number, data = tinyjax.process_index(), np.arange(4.0)
by_rows = NamedSharding(tinyjax.make_mesh((2,), ("x",)), P("x"))
"""


def together(code: str, shutdown_timeout_seconds: int = 60) -> None:
    """Run a program in two processes, which name their errors if they have some."""
    script = Path(scope()["FOLDER"]) / "together.py"
    script.write_text(TOGETHER.format(shutdown_timeout_seconds) + code, encoding="utf-8")
    arguments = ["-n", "2", str(script)]
    launch = f"from tinyjax.distributed.launch import main; exit(main({arguments}))"
    elsewhere(launch, TINYJAX_NUM_CPU_DEVICES="1")


#: A function that XLA can call, in place of one of a shared library.
HANDLER: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda out, ins: None)


def changed(exported: export.Exported, old: bytes, new: bytes, version: int = 3) -> bytes:
    """Return what is exported with another text in it, and a checksum that fits."""
    size = format._FRAME.size
    data = exported.serialize()
    length = format._FRAME.unpack_from(data)[2]
    header = data[size : size + length].replace(old, new)
    rest = data[size + length : -32].replace(old, new)
    body = format._FRAME.pack(format._MAGIC, version, len(header)) + header + rest
    return body + sha256(body).digest()


def declaring(call: Callable[[Callable[..., Any], Any], Any]) -> Any:
    """Return what ``call`` returns of a primitive that is declared for it."""
    primitive: Primitive[NoParams] = Primitive("advised", NoParams)
    primitive.def_abstract_eval(lambda avals, params: avals)
    primitive.def_lowering(lambda b, operands, params: operands)
    try:
        return call(lambda x: bind1(primitive, (x,), NO_PARAMS), primitive)
    finally:
        del registry["advised"]


def calling_in_region(b: Any, operands: Any, returns_token: bool) -> Any:
    """Write an ordered callback in a region, which may return what keeps the order."""
    before = b.token

    def body(_: Any) -> Any:
        b.token = before
        b.host_call(lambda x: (), operands, [], True, True)
        return [*operands, b.token] if returns_token else operands

    results = [*b.results, before.type] if returns_token else b.results
    zero = b.scalar(0, np.dtype(np.int32))
    outs = b.emit("stablehlo.case", [zero], results, {}, [b.region((), body)])
    if returns_token:
        *outs, b.token = outs
    return outs


def calling_in_loop(b: Any, operands: Any) -> Any:
    """Write an ordered callback in a loop of one iteration."""
    zero, one = [b.scalar(i, np.dtype(np.int32)) for i in (0, 1)]

    def body(state: Any) -> Any:
        b.host_call(lambda x: (), state[1:], [], True, True)
        return [b.add(state[0], one), *state[1:]]

    return b.loop([zero, *operands], lambda s: [b.compare(s[0], one, "LT")], body, True)[1:]


def on_command_line(main: Callable[[Any], int], *arguments: str) -> None:
    """Run a program of the package, which names its mistakes on standard error."""
    said = StringIO()
    try:
        with redirect_stderr(said):
            main(arguments)
    except SystemExit:
        raise tinyjax.errors.ArgumentError(said.getvalue()) from None


def annotated(x: "Path") -> Any:
    return x


def delete(x: Any) -> None:
    del x[0]


def program(text: str) -> Any:
    """Return the function of ``x`` with this body, whose source can be read."""
    lines = ["def program(x):\n", *[f"    {line}\n" for line in text.splitlines()]]
    name = f"<program {len(linecache.cache)}>"
    linecache.cache[name] = len(text), None, lines, name
    namespace: dict[str, Any] = dict(scope())
    exec(compile("".join(lines), name, "exec"), namespace)  # as if it were in a file
    return namespace["program"]


def staged(text: str, *, static: tuple[int, ...] = ()) -> Any:
    return tinyjax.jit(program(text), control_flow="source", static_argnums=static)


def equal(result: Any, expected: Any) -> None:
    """Check the leaves of what a program returns."""
    tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5), result, expected)


def call_within(context: AbstractContextManager[Any], call: Callable[[], Any]) -> Any:
    with context:
        return call()


def strictly(call: Callable[[], Any]) -> Any:
    return call_within(tinyjax.numpy_dtype_promotion("strict"), call)


def with_older_scipy(call: Callable[[], Any]) -> Any:
    """Call with a SciPy that has none of its functions yet."""
    older = SimpleNamespace(_ufuncs=SimpleNamespace())
    for cache_of in (host.kinds, host._loop):  # by programs that ran before
        cache_of.cache_clear()
    host.host_ufunc_p.rules.types.clear()
    patch = mock.patch("tinyjax._library.ufuncs.host.scipy_special", return_value=older)
    return call_within(patch, call)


def with_mesh(call: Callable[[], Any]) -> Any:
    return call_within(tinyjax.set_mesh(MESH), call)


def on_grid(call: Callable[[], Any]) -> Any:
    return call_within(tinyjax.set_mesh(GRID), call)


def narrow(call: Callable[[], Any]) -> Any:
    return call_within(config.scoped(wide_dtypes=False), call)


@cache
def scope() -> dict[str, Any]:
    with_jvp, with_vjp = tinyjax.custom_jvp(lambda x: x), tinyjax.custom_vjp(lambda x: x)
    with_jvp.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    with_vjp.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    with_both = tinyjax.custom_derivative(lambda x: x)
    with_both.defderivative(lambda x: (x, lambda t: t))
    return {
        **{name: value for name, value in vars(advised_sources).items() if name[0] != "_"},
        **{name: value for name, value in globals().items() if name[0] != "_"},
        "itertools": itertools,
        "math": math,
        "np": np,
        "dumps": pickle.dumps,
        "Fraction": Fraction,
        "OrderedDict": OrderedDict,
        "defaultdict": defaultdict,
        "deque": deque,
        "P": P,
        "AbstractMesh": AbstractMesh,
        "BOX": LIBRARIES[tinyjax](1.0),
        "BOX_OF": LIBRARIES[tinyjax],
        "mock": mock,
        "explore": explore,
        "import_module": import_module,
        "reload": reload,
        "checkpoints": checkpoints,
        "accuracy": tinyjax.accuracy,
        "serialize_executable": serialize_executable,
        "SimpleNamespace": SimpleNamespace,
        "TRIANGLE": (sized(3, 3), tinyjax.ShapeDtypeStruct((), np.int32)),
        "ctypes": ctypes,
        "mesh_utils": mesh_utils,
        "stateful_rng": stateful_rng,
        "NamedSharding": NamedSharding,
        "Rotation": Rotation,
        "checkify": checkify,
        "profiler": profiler,
        "source": source,
        "stax": stax,
        "testing": testing,
        "V": jnp.arange(3.0),
        "X": jnp.float32(0.5),
        "S": jnp.eye(3),
        "COMPILED": serialize_executable.serialize(
            tinyjax.jit(jnp.sin).lower(jnp.float32(0.5)).compile()
        ),
        "LONGS": np.arange(3).reshape(1, 1, 3),
        "A": jnp.arange(16.0).reshape(4, 4),
        "KEY": random.key(0),
        "SHOWN": MappingProxyType({"a": 2.0}),
        "OUTSIDE": np.zeros(2),
        "scipy_linalg": scipy_linalg,
        "versions": versions,
        "SPACE": SimpleNamespace(x=jnp.arange(3.0)),
        "SCIPY_SPARSE": scipy_sparse.eye(3),
        "SPARSE": sparse.BCOO.fromdense(jnp.eye(3)),
        "UFUNC": jnp.frompyfunc(lambda x, y: x + y, 2, 1),
        "SIZED": sized(),
        "OTHER_SIZED": sized(),
        "EXPORTED": export.export(tinyjax.jit(jnp.sin))(jnp.float32(0.5)),
        "WITH_JVP": with_jvp,
        "WITH_VJP": with_vjp,
        "WITH_BOTH": with_both,
    }


# What the package says


@cache
def texts() -> list[tuple[str, str]]:
    """Return all texts of the package but documentation, with the files that they are in."""
    return [
        (path.relative_to(PACKAGE).as_posix(), text)
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))
        if " " in text
    ]


def texts_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    text = text_of(node)
    if text is not None:
        yield text
        return
    for child in ast.iter_child_nodes(node):
        yield from texts_of(child)


def text_of(node: ast.AST) -> str | None:
    """Return a text, with {} for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join([(text_of(x) or "") if is_text(x) else "{}" for x in values])
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            both = text_of(left), text_of(right)
            return None if both == (None, None) else "".join([x or "{}" for x in both])
        case _:
            return None


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


@cache
def sentences() -> dict[str, re.Pattern[str]]:
    """Return what tells to do something, with what finds it in a message."""
    found = [
        sentence
        for _, text in texts()
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z{])", text.strip())
        if ADVICE.search(sentence)
    ]
    return {x: re.compile(re.escape(x).replace(r"\{\}", ".+?"), re.DOTALL) for x in found}


@cache
def advice_of(program: str) -> frozenset[str]:
    """Return the advice that a program is given."""
    with pytest.raises(
        (tinyjax.errors.TinyjaxError, AttributeError, TypeError, ImportError, Warning)
    ) as caught:
        eval(program, scope())
    notes = getattr(caught.value, "__notes__", [])
    text = "\n".join([getattr(caught.value, "message", str(caught.value)), *notes])
    return frozenset(x for x, pattern in sentences().items() if pattern.search(text))


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("refused", "advised"), PROGRAMS, ids=[x[:60] for x, _ in PROGRAMS])
def test_who_follows_advice_succeeds(
    refused: str, advised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(scope(), "FOLDER", str(tmp_path))
    with np.errstate():  # which one of them sets
        assert advice_of(refused)
        eval(advised, scope())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.wrong_types
def test_all_advice_is_followed_or_known_to_be_untried(tmp_path: Path) -> None:
    """New advice needs a program that follows it, in advice.txt."""
    scope()["FOLDER"] = str(tmp_path)
    with np.errstate():  # which one of them sets
        tried = frozenset[str]().union(*[advice_of(refused) for refused, _ in PROGRAMS])
    untried = {x.replace("\n", " ") for x in sentences().keys() - tried}
    assert untried == set(UNTRIED.read_text(encoding="utf-8").splitlines())


NAMESPACES: Final[dict[str, Any]] = {
    "tinyjax": tinyjax,
    "jnp": jnp,
    "lax": lax,
    "random": random,
    "autodiff": autodiff,
    "np": np,
    "export": export,
}
NAMED: Final = re.compile(
    rf"(?<![\w.'\"/`{{-])({'|'.join(NAMESPACES)})((?:\.[a-z]\w*)+)\b(?![./-])"
)


def exists(namespace: Any, path: str) -> bool:
    for part in path.split(".")[1:]:
        try:
            namespace = getattr(namespace, part)
        except AttributeError:
            try:
                namespace = import_module(f"{namespace.__name__}.{part}")
            except (AttributeError, ModuleNotFoundError):
                return False
    return True


def test_what_texts_name_exists() -> None:
    missing = [
        (file, first + rest)
        for file, text in texts()
        if not file.startswith(("_jax/", "as_jax"))  # which name what is JAX's
        for first, rest in NAMED.findall(text)
        if not exists(NAMESPACES[first], rest)
    ]
    assert missing == []


def parameters() -> set[str]:
    """Return the names of the parameters of all that is public."""
    spaces = [
        tinyjax,
        jnp,
        jnp.linalg,
        lax,
        lax.linalg,
        random,
        autodiff,
        implicit,
        debug,
        nn,
        sparse,
        tree,
    ]
    functions = [getattr(space, name) for space in [*spaces, export] for name in space.__all__]
    methods = [export.Exported.serialize, scipy.interpolate.RegularGridInterpolator]
    names: set[str] = set()
    for function in [*functions, *methods]:
        with suppress(TypeError, ValueError):  # what has no signature
            names.update(inspect.signature(function).parameters)
    return names


def test_options_that_advice_names_exist() -> None:
    known = parameters() | {"rng"}  # of functions that stax makes
    named = {name for text in sentences() for name in re.findall(r"\b([a-z]\w+)=(?!=)", text)}
    assert named <= known

"""The stubs under ``typings/`` against the installed jaxlib.

jaxlib makes no promise about the parts that tinyjax uses, so a new release may move any of them.
Every name in the stubs is looked up at run time, and every stubbed call must be one that jaxlib
accepts: nanobind keeps the C++ signatures of a function, as text, in ``__nb_signature__``; Python
functions are read through ``inspect``. Where a stub promises more than jaxlib's own signature
(``ArrayImpl`` for ``object``), a compiled program is run and looked at.

A comment such as ``# jaxlib < 0.11.2`` on a line of a stub says which releases have what it
declares. With others it is left out.
"""

import ast
import enum
import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import attrs
import jaxlib
import ml_dtypes
import numpy as np
import pytest
from jaxlib import _jax, lapack, xla_client as xc
from jaxlib._jax import config

from tinyjax.core.xla.versions import UNCHECKED, Release, release_of

TYPINGS = Path(__file__).resolve().parents[2] / "typings"
INSTALLED = release_of(jaxlib.__version__)
#: How a line of a stub says which releases have what it declares.
RELEASES = re.compile(r"# jaxlib (<|>=) ([\d.]+)$")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@attrs.frozen
class Parameter:
    """One parameter of a function, as far as a caller can tell."""

    name: str
    positional: bool
    keyword: bool
    optional: bool


@attrs.frozen
class Signature:
    """A function's parameters, and the text of its result (empty where that is not known)."""

    parameters: tuple[Parameter, ...]
    returns: str
    variadic: bool = False

    def __str__(self) -> str:
        words = [f"{p.name}{'=...' if p.optional else ''}" for p in self.parameters]
        return f"({', '.join(words)}) -> {self.returns or '?'}"


@attrs.frozen
class Stub:
    """One name in a stub file: the nodes that declare it (several for overloads) and its path."""

    module: str
    path: tuple[str, ...]
    nodes: tuple[ast.stmt, ...]

    @property
    def label(self) -> str:
        return ".".join((self.module, *self.path))


# Reading the stubs


def stub_modules() -> Iterator[tuple[str, Path]]:
    for file in sorted(TYPINGS.rglob("*.pyi")):
        parts = file.relative_to(TYPINGS).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


def names_declared(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.ImportFrom(names=aliases):
            # Only ``import x as x`` re-exports from a stub.
            return [alias.name for alias in aliases if alias.asname == alias.name]
        case _:
            return []


def is_type_variable(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec"))):
            return True
        case _:
            return False


def is_in_release(line: str, release: Release) -> bool:
    """Return whether a release has a line's declaration, by its comment."""
    if not (found := RELEASES.search(line)):
        return True
    bound = release_of(found[2])
    return release < bound if found[1] == "<" else release >= bound


def stubs_in(
    module: str, body: list[ast.stmt], lines: list[str], path: tuple[str, ...] = ()
) -> Iterator[Stub]:
    declared: dict[str, list[ast.stmt]] = {}
    for node in body:
        if not is_type_variable(node) and is_in_release(lines[node.lineno - 1], INSTALLED):
            for name in names_declared(node):
                declared.setdefault(name, []).append(node)
    for name, nodes in declared.items():
        yield Stub(module, (*path, name), tuple(nodes))
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                yield from stubs_in(module, node.body, lines, (*path, name))


def all_stubs() -> list[Stub]:
    return [
        stub
        for module, file in stub_modules()
        for text in [file.read_text(encoding="utf-8")]
        for stub in stubs_in(module, ast.parse(text).body, text.splitlines())
    ]


STUBS = all_stubs()
ATTRIBUTES = [s for s in STUBS if not isinstance(s.nodes[0], Function)]
FUNCTIONS = [s for s in STUBS if isinstance(s.nodes[0], Function)]


def decorators(node: ast.stmt) -> set[str]:
    assert isinstance(node, Function), "only functions have the decorators asked for here"
    return {d.id for d in node.decorator_list if isinstance(d, ast.Name)}


def signature_of_stub(node: ast.stmt, *, drop_self: bool) -> Signature:
    assert isinstance(node, Function), "a signature was asked of something else than a function"
    arguments = node.args
    positional = arguments.posonlyargs + arguments.args
    required = len(positional) - len(arguments.defaults)
    parameters = [
        Parameter(
            name=argument.arg,
            positional=True,
            keyword=index >= len(arguments.posonlyargs),
            optional=index >= required,
        )
        for index, argument in enumerate(positional)
    ]
    parameters += [
        Parameter(argument.arg, positional=False, keyword=True, optional=default is not None)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    rest = [("*", arguments.vararg), ("**", arguments.kwarg)]  # as nanobind writes them
    parameters += [
        Parameter(stars + argument.arg, positional=True, keyword=True, optional=False)
        for stars, argument in rest
        if argument is not None
    ]
    returns = "" if node.returns is None else ast.unparse(node.returns)
    return Signature(tuple(parameters[drop_self:]), returns)


# Asking jaxlib


def runtime_object(stub: Stub) -> object:
    value: object = importlib.import_module(stub.module)
    for name in stub.path:
        value = getattr(value, name)
    return value


def split_outside_brackets(text: str) -> list[str]:
    pieces, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            pieces.append(text[start:index].strip())
            start = index + 1
    return [*pieces, text[start:].strip()] if text[start:].strip() else pieces


def signature_of_text(text: str) -> Signature:
    """Read a nanobind signature: ``def f(x: int, y: object | None = None, /) -> list[int]``."""
    head, arrow, returns = text.rpartition(" -> ")
    if not arrow:
        head, returns = text, ""
    inside = head[head.index("(") + 1 : head.rindex(")")]
    parameters: list[Parameter] = []
    keyword_only = False
    for piece in split_outside_brackets(inside):
        if piece == "/":
            parameters = [attrs.evolve(p, keyword=False) for p in parameters]
        elif piece == "*":
            keyword_only = True
        else:
            name = piece.partition(":")[0].partition("=")[0].strip()
            optional = any("=" in part for part in split_defaults(piece))
            parameters.append(Parameter(name, not keyword_only, True, optional))
    return Signature(tuple(parameters), returns.strip())


def split_defaults(piece: str) -> list[str]:
    """Return what stands outside brackets: ``dtype=int`` within them is no default."""
    outside, depth = [""], 0
    for character in piece:
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif depth == 0:
            outside[-1] += character
    return outside


def signature_of_python(function: object) -> Signature:
    assert callable(function), f"{function!r} was stubbed as a function, and is none"
    found = inspect.signature(function)
    kinds = inspect.Parameter
    named = [
        p
        for p in found.parameters.values()
        if p.kind not in (kinds.VAR_KEYWORD, kinds.VAR_POSITIONAL)
    ]
    parameters = tuple(
        Parameter(
            name=p.name,
            positional=p.kind is not kinds.KEYWORD_ONLY,
            keyword=p.kind is not kinds.POSITIONAL_ONLY,
            optional=p.default is not kinds.empty,
        )
        for p in named
    )
    returns = found.return_annotation
    return Signature(
        parameters, returns if isinstance(returns, str) else "", len(named) < len(found.parameters)
    )


def signatures_at_runtime(value: object, *, drop_self: bool) -> list[Signature]:
    texts = getattr(value, "__nb_signature__", None)
    if texts is None:
        signatures = [signature_of_python(value)]
    else:
        assert isinstance(texts, tuple), "nanobind changed the shape of __nb_signature__"
        signatures = [signature_of_text(overload[0]) for overload in texts]
    return [attrs.evolve(s, parameters=s.parameters[drop_self:]) for s in signatures]


# Comparing


def accepts(runtime: Signature, stub: Signature) -> bool:
    """Return whether every call that the stub allows is one that the runtime allows."""
    by_name = {p.name: p for p in runtime.parameters if p.keyword}
    by_place = [p for p in runtime.parameters if p.positional]
    met = set()
    for place, parameter in enumerate(stub.parameters):
        candidates = []
        if parameter.positional:
            if place >= len(by_place):
                return False
            candidates.append(by_place[place])
        if parameter.keyword:
            if parameter.name not in by_name:
                return False
            candidates.append(by_name[parameter.name])
        if len({c.name for c in candidates}) != 1:
            return False
        if parameter.optional and not candidates[0].optional:
            return False
        met.add(candidates[0].name)
    return all(p.optional or p.name in met for p in runtime.parameters)


def same_type(runtime: str, stub: str) -> bool:
    """Return whether a stub's return type is jaxlib's, or narrower where jaxlib has ``object``."""
    try:
        left = ast.parse(runtime, mode="eval").body
    except SyntaxError:  # nanobind's own notation, as ``ndarray[dtype=int32, shape=(*, *)]``
        return True
    return same_type_tree(left, ast.parse(stub, mode="eval").body)


def same_type_tree(runtime: ast.expr, stub: ast.expr) -> bool:
    match runtime, stub:
        case ast.Attribute(attr=name), _:
            return same_type_tree(ast.Name(name), stub)
        case _, ast.Attribute(attr=name):
            return same_type_tree(runtime, ast.Name(name))
        case ast.Name(id="object" | "Any"), _:
            return True
        case ast.Name(id="Array"), ast.Name(id="ArrayImpl"):
            return True
        case ast.Name(id=name), ast.Subscript(value=ast.Name(id=other)):
            return name == other  # jaxlib leaves out the arguments of a generic type
        case ast.Name(id="T" | "_T"), ast.Name(id="T" | "_T"):
            return True  # a type variable: its name changed
        case ast.Name(id=name), ast.Name(id=other):
            return other in (name, "Self")
        case ast.Constant(value=value), ast.Constant(value=other):
            return value == other
        case ast.Subscript(value=a, slice=b), ast.Subscript(value=c, slice=d):
            return same_type_tree(a, c) and same_type_tree(b, d)
        case ast.Tuple(elts=a), ast.Tuple(elts=b):
            return len(a) == len(b) and all(map(same_type_tree, a, b))
        case ast.BinOp(left=a, right=b), ast.BinOp(left=c, right=d):
            return same_type_tree(a, c) and same_type_tree(b, d)
        case _:
            return False


@pytest.mark.parametrize("module", [name for name, _ in stub_modules()])
def test_module_exists(module: str) -> None:
    assert isinstance(importlib.import_module(module), ModuleType)


@pytest.mark.parametrize("stub", ATTRIBUTES, ids=lambda stub: stub.label)
def test_attribute_exists(stub: Stub) -> None:
    found = runtime_object(stub)
    match stub.nodes[0]:
        case ast.ClassDef(bases=bases):
            assert isinstance(found, type), f"{stub.label} is not a class"
            # nanobind's metaclasses put the module into ``__name__``.
            names = {c.__name__.rpartition(".")[2] for c in found.__mro__[1:]}
            for base in bases:
                name = ast.unparse(base).rpartition(".")[2].partition("[")[0]
                # ``Generic`` is the stub's alone: nanobind's classes take no subscripts.
                assert name in names | {"Generic"}, f"{stub.label} does not derive from {name}"
            if issubclass(found, enum.Enum):
                stubbed = {s.path[-1] for s in STUBS if s.label.rpartition(".")[0] == stub.label}
                assert stubbed == set(found.__members__)
        case ast.AnnAssign() if len(stub.path) > 1 and isinstance(found, property):
            assert found.fset is not None, f"{stub.label} cannot be set: stub it as a property"
        case _:
            pass


@pytest.mark.parametrize("stub", FUNCTIONS, ids=lambda stub: stub.label)
def test_signature(stub: Stub) -> None:
    if stub.path[-1] == "__buffer__" and sys.version_info < (3, 12):
        return  # the protocol has no name in Python yet: test_the_protocol_for_buffers tries it
    found = runtime_object(stub)
    words = decorators(stub.nodes[0])
    if "property" in words:
        assert isinstance(found, property), f"{stub.label} is not a property"
        texts = getattr(found.fget, "__nb_signature__", None)
        returns = signature_of_stub(stub.nodes[0], drop_self=True).returns
        if texts is not None:
            declared = signature_of_text(texts[0][0]).returns
            assert same_type(declared, returns), f"{stub.label} is {declared}, not {returns}"
        return
    method = len(stub.path) > 1 and "staticmethod" not in words
    if stub.path[-1] in ("__init__", "__hash__") and not hasattr(found, "__nb_signature__"):
        assert callable(found)
        return
    runtime = signatures_at_runtime(found, drop_self=method)
    for node in stub.nodes:
        declared_here = signature_of_stub(node, drop_self=method)
        matching = [s for s in runtime if accepts(s, declared_here)]
        listing = "\n".join(map(str, runtime))
        assert matching, f"{stub.label}: no signature takes {declared_here}. There are:\n{listing}"
        assert any(
            not s.returns or same_type(s.returns, declared_here.returns) for s in matching
        ), f"{stub.label}: returns {matching[0].returns}, not {declared_here.returns}"


# The checks themselves must be able to fail.


@pytest.mark.parametrize(
    ("text", "stub", "expected"),
    [
        ("def f(x: int) -> int", "def f(x: int) -> int: ...", True),
        ("def f(x: int) -> int", "def f(y: int) -> int: ...", False),
        ("def f(x: int, y: int = \\0) -> int", "def f(x: int) -> int: ...", True),
        ("def f(x: int, y: int) -> int", "def f(x: int) -> int: ...", False),
        ("def f(x: int, y: int) -> int", "def f(x: int, y: int = ...) -> int: ...", False),
        ("def f(arg: int, /) -> int", "def f(anything: int, /) -> int: ...", True),
        ("def f(arg: int, /) -> int", "def f(arg: int) -> int: ...", False),
        ("def f(*, x: int) -> int", "def f(x: int) -> int: ...", False),
        ("def f(a: nd[dtype=int, shape=(*, *)]) -> int", "def f(a: int = ...) -> int: ...", False),
        (
            "def f(a: list[int], b: int = {}) -> int",
            "def f(a: int, b: int = ...) -> int: ...",
            True,
        ),
        ("def f(a: int, b: int) -> int", "def f(b: int, a: int) -> int: ...", False),
    ],
)
def test_a_stub_that_disagrees_is_found(text: str, stub: str, *, expected: bool) -> None:
    declared = signature_of_stub(ast.parse(stub).body[0], drop_self=False)
    assert accepts(signature_of_text(text), declared) is expected


@pytest.mark.parametrize(
    ("runtime", "stub", "expected"),
    [
        ("jaxlib._jax.Client", "Client", True),
        ("list[jaxlib._jax.Device]", "list[Device]", True),
        ("list[Device]", "list[Client]", False),
        ("object", "ArrayImpl", True),
        ("Client", "object", False),
        ("int | None", "int", False),
        ("collections.abc.Iterator", "Iterator[Device]", True),
    ],
)
def test_a_return_type_that_disagrees_is_found(runtime: str, stub: str, *, expected: bool) -> None:
    assert same_type(runtime, stub) is expected


@pytest.mark.parametrize(
    ("line", "release", "expected"),
    [
        ("f: int", (0, 11, 2), True),
        ("f: int  # jaxlib < 0.11.2", (0, 11, 1), True),
        ("f: int  # jaxlib < 0.11.2", (0, 11, 2), False),
        ("f: int  # jaxlib >= 0.11.2", (0, 11, 1), False),
        ("f: int  # jaxlib >= 0.11.2", (0, 12, 0, 1), True),
    ],
)
def test_a_stub_is_of_some_releases(line: str, release: Release, *, expected: bool) -> None:
    assert is_in_release(line, release) is expected


# Where the stubs say more than jaxlib's signatures do


@attrs.frozen
class Aval:
    """The interface of an array's type that jaxlib uses."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.float32]
    weak_type: bool = False


class OneDevice(xc.SingleDeviceSharding):
    """A sharding as jaxlib wants to see it: it asks these names of Python, not of C++."""

    def __init__(self, device: xc.Device) -> None:
        super().__init__(device)
        self._devices = xc.DeviceList((device,))

    @property
    def memory_kind(self) -> str | None:
        return None

    @property
    def _internal_device_list(self) -> xc.DeviceList:
        return self._devices

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> xc.HloSharding:
        del num_dimensions
        return xc.HloSharding.replicate()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


PROGRAM = """module @add {
  func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %y = stablehlo.add %x, %x : tensor<3xf32>
    return %y : tensor<3xf32>
  }
}"""


def test_what_the_stubs_promise_beyond_the_signatures() -> None:
    client = xc.make_cpu_client()
    device = client.devices()[0]
    devices = xc.DeviceList((device,))
    assert list(devices) == [device]
    assert isinstance(device.id, int)
    assert client.platform == device.platform == "cpu"

    executable = client.compile_and_load(PROGRAM.encode(), devices, xc.CompileOptions())
    assert isinstance(executable.fingerprint, bytes | None)
    assert isinstance(executable.cost_analysis()["flops"], float)
    assert executable.get_compiled_memory_stats().argument_size_in_bytes == 12
    assert executable.hlo_modules()[0].to_string() == executable.get_hlo_text()

    buffer = a_buffer(device)
    handler = xc.array_result_handler(buffer.aval, buffer._sharding, True, **UNCHECKED)
    (result,) = executable.execute_sharded([buffer]).consume_with_handlers([handler])
    assert isinstance(result, xc.ArrayImpl)
    assert isinstance(result.block_until_ready(), xc.ArrayImpl)
    xc.batched_block_until_ready([result])
    assert result.is_ready()
    host, copied = result._single_device_array_to_np_array_did_copy()
    assert isinstance(host, np.ndarray)
    assert isinstance(copied, bool)
    np.testing.assert_array_equal(host, np.array([2, 4, 6], np.float32))

    loaded = client.deserialize_executable(executable.serialize(), devices, xc.CompileOptions())
    ((again,),) = loaded.execute_sharded([buffer]).disassemble_into_single_device_arrays()
    assert isinstance(again, xc.ArrayImpl)
    assert again.on_device_size_in_bytes() == 12

    assert not result.is_deleted()
    result.delete()
    assert result.is_deleted()


def a_buffer(device: xc.Device) -> xc.ArrayImpl:
    # With ``enable_x64`` given, the process-wide setting that jax shares need not be touched.
    aval = Aval((3,), np.dtype(np.float32))
    host = np.array([1, 2, 3], np.float32)
    buffer = xc.batched_device_put(aval, OneDevice(device), [host], [device], enable_x64=True)
    assert isinstance(buffer, xc.ArrayImpl)
    return buffer


def test_dlpack_both_ways() -> None:
    device = xc.make_cpu_client().devices()[0]
    host = np.arange(16, dtype=np.float32)
    buffer = _jax.dlpack_managed_tensor_to_buffer(host.__dlpack__(), device, None)
    assert isinstance(buffer, xc.ArrayImpl)
    capsule = _jax.buffer_to_dlpack_managed_tensor(buffer)
    assert type(capsule) is type(host.__dlpack__())


def test_the_protocol_for_buffers() -> None:
    device = xc.make_cpu_client().devices()[0]
    view = memoryview(a_buffer(device))
    assert view.readonly
    np.testing.assert_array_equal(np.asarray(view), np.array([1, 2, 3], np.float32))
    narrow = xc.batched_device_put(
        Aval((2,), np.dtype(ml_dtypes.bfloat16)),
        OneDevice(device),
        [np.ones(2, ml_dtypes.bfloat16)],
        [device],
        enable_x64=True,
    )
    with pytest.raises(BufferError):
        memoryview(narrow)


def test_config_holds_its_value() -> None:
    setting = config.Config("test_typings_setting", True)
    assert setting.value is True
    assert setting.get_global() is True


def test_errors_are_runtime_errors() -> None:
    client = xc.make_cpu_client()
    with pytest.raises(xc.XlaRuntimeError):
        client.compile_and_load(b"this is no module", xc.DeviceList((client.devices()[0],)))


def test_lapack_targets() -> None:
    (platform,) = lapack.registrations()
    assert platform == "cpu"
    names = {name for name, _, _ in lapack.registrations()[platform]}
    target = lapack.prepare_lapack_call("getrf_ffi", np.dtype(np.float32))
    assert target in names

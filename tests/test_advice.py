"""Advice in messages is true: who does what a message says succeeds, and what it names exists.

Of each two lines of advice.txt the first is a program that is refused, and the second what its
message says to write instead. A sentence of the package that tells what to do belongs to such a
program, or stands in advice_untried.txt, where there is none: what several devices, other
processes and damaged files call for among them.
"""

import ast
import inspect
import itertools
import linecache
import math
import pickle
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import advised_sources
import numpy as np
import pytest
import scipy.sparse as scipy_sparse

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
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.trace import bind1
from tinyjax.example_libraries import stax
from tinyjax.experimental import checkify, mesh_utils, sparse
from tinyjax.experimental.random import stateful_rng
from tinyjax.scipy.spatial.transform import Rotation
from tinyjax.sharding import AbstractMesh, NamedSharding

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
    rf"^(?:{VERBS}|For)\b|[:;,] (?:or |and )?(?:{VERBS.lower()}) (?!of\b|is\b)"
)


# What the programs use


class Plain:
    def __init__(self, x: Any) -> None:
        self.x = x


class PlainToo(Plain):
    pass


class Other(Plain):
    pass


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
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x * 2)
        return x

    tinyjax.jit(keep)(1.0)
    return kept[0]


def writing(x: Any) -> Any:
    REF[...] = x
    return x


def put(x: Any, *spec: Any, mesh: Any = GRID) -> Any:
    return tinyjax.device_put(x, NamedSharding(mesh, P(*spec)))


def mapped(fun: Callable[..., Any], in_specs: Any, out_specs: Any, *axes: str) -> Any:
    """Return ``fun`` for the devices of a mesh along some axes."""
    options: dict[str, Any] = {"axis_names": {*axes}} if axes else {}
    return tinyjax.shard_map(fun, mesh=GRID, in_specs=in_specs, out_specs=out_specs, **options)


def sized() -> Any:
    return tinyjax.ShapeDtypeStruct(export.symbolic_shape("n"), "float32")


def batched_by(rule: Callable[..., Any]) -> Any:
    fun = tinyjax.custom_batch(lambda x: x)
    fun.def_vmap(rule)
    return tinyjax.vmap(fun)(jnp.arange(3.0))


@partial(tinyjax.custom_vjp, nondiff_argnums=(1, 2))
def squared(x: Any, name: str, whole: bool = False) -> Any:
    return x * x


squared.defvjp_with_logs(
    lambda x, name, whole: (x * x, x),
    lambda name, whole, x, ct: ((2 * x * ct,), {name: ct.astype(int) if whole else ct}),
)


def declaring(call: Callable[[Callable[..., Any]], Any]) -> Any:
    """Return what ``call`` returns of a primitive that is declared for it."""
    primitive: Primitive[NoParams] = Primitive("advised", NoParams)
    primitive.def_abstract_eval(lambda avals, params: avals)
    try:
        return call(lambda x: bind1(primitive, (x,), NO_PARAMS))
    finally:
        del registry["advised"]


def annotated(x: "Path") -> Any:
    return x


def delete(x: Any) -> None:
    del x[0]


def program(text: str) -> Any:
    """Return the function of ``x`` with this body, whose source can be read."""
    lines = ["def program(x):\n", *[f"    {line}\n" for line in text.splitlines()]]
    name = f"<program {len(linecache.cache)}>"
    linecache.cache[name] = len(text), None, lines, name
    found: dict[str, Any] = dict(scope())
    exec(compile("".join(lines), name, "exec"), found)  # as if it were in a file
    return found["program"]


def staged(text: str, *, static: tuple[int, ...] = ()) -> Any:
    return tinyjax.jit(program(text), control_flow="source", static_argnums=static)


def equal(result: Any, expected: Any) -> None:
    """Check the leaves of what a program returns."""
    tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5), result, expected)


def within(context: AbstractContextManager[Any], call: Callable[[], Any]) -> Any:
    with context:
        return call()


def strictly(call: Callable[[], Any]) -> Any:
    return within(tinyjax.numpy_dtype_promotion("strict"), call)


def with_mesh(call: Callable[[], Any]) -> Any:
    return within(tinyjax.set_mesh(MESH), call)


def on_grid(call: Callable[[], Any]) -> Any:
    return within(tinyjax.set_mesh(GRID), call)


def narrow(call: Callable[[], Any]) -> Any:
    return within(config.scoped(wide_dtypes=False), call)


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
        "deque": deque,
        "P": P,
        "AbstractMesh": AbstractMesh,
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
        "A": jnp.arange(16.0).reshape(4, 4),
        "KEY": random.key(0),
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
    with pytest.raises((tinyjax.errors.TinyjaxError, AttributeError, TypeError)) as caught:
        eval(program, scope())
    text = getattr(caught.value, "message", str(caught.value))
    return frozenset(x for x, pattern in sentences().items() if pattern.search(text))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("refused", "advised"), PROGRAMS, ids=[x[:60] for x, _ in PROGRAMS])
def test_who_follows_advice_succeeds(
    refused: str, advised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(scope(), "FOLDER", str(tmp_path))
    assert advice_of(refused)
    eval(advised, scope())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.wrong_types
def test_all_advice_is_followed_or_known_to_be_untried(tmp_path: Path) -> None:
    """New advice needs a program that follows it, in advice.txt."""
    scope()["FOLDER"] = str(tmp_path)
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
        if not file.startswith(("facade/", "as_jax"))  # which name what is JAX's
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
    found: set[str] = set()
    for function in [*functions, *methods]:
        with suppress(TypeError, ValueError):  # what has no signature
            found.update(inspect.signature(function).parameters)
    return found


def test_options_that_advice_names_exist() -> None:
    known = parameters() | {"rng"}  # of functions that stax makes
    named = {name for text in sentences() for name in re.findall(r"\b([a-z]\w+)=(?!=)", text)}
    assert named <= known

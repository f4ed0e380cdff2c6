"""Public functions called with wrong arguments: the error is one of the package's, and says so.

A call that is right (``fuzz.library``) is made wrong in one place, or a function is called with
anything at all.
"""

import inspect
import math
import random
import re
import tempfile
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from os import chdir
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from fuzz.library.libraries import JAX, TINYJAX
from fuzz.library.signatures import draw_call, functions
from hostile.isolation import Subject, explanation
from tinyjax.errors import TinyjaxError
from tinyjax.testing.libraries.drawing import Draw
from tinyjax.testing.libraries.drawn_calls import DrawnCall, FromLibrary, Library
from tinyjax.testing.libraries.signatures import PublicFunction

OURS, PYTHONS, TAKEN, UNNAMED = (
    "an error of the package's",
    "an error of Python's",
    "taken",
    "an error that does not say what is wrong",
)

#: What Python says of a call that does not fit a function, or of what is none.
OWN: Final = re.compile(
    r"missing \d+ required|positional argument|unexpected keyword|multiple values|is not callable"
    r"|takes exactly one argument|positional-only arguments passed"
    r"|^(float|int)\(\) argument must be"
)


TESTS: Final = str(Path(__file__).parent.parent)


class OwnError(Exception):
    """An exception raised by an object of the user's."""


class Raising:
    """An object of the user's whose every method raises."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise OwnError

    __array__ = __index__ = __len__ = __iter__ = __getitem__ = __call__ = __float__ = _fail
    __bool__ = __eq__ = __fspath__ = __add__ = __lt__ = _fail

    def __hash__(self) -> int:
        raise OwnError


class Endless:
    """An iterable without end, which has a length all the same."""

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, i: int) -> int:
        return 1


def _nested(depth: int) -> Any:
    nested: Any = 1
    for _ in range(depth):
        nested = [nested]
    return nested


def _looped() -> Any:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def _numbers() -> Iterator[int]:
    yield 1
    yield 2


#: What is given in the place of an argument, as it is written.
JUNK: Final[tuple[str, ...]] = (
    *("None", "'a'", "'\\ud800'", "'x' * 10**5", "b'x'", "object()", "{}", "{'x': 1}", "set()"),
    *("[[1, 2], [3]]", "[]", "()", "[[]]", "lambda x: x", "_numbers()", "int", "float"),
    *("float('nan')", "float('inf')", "1e300", "1.5", "1j", "True", "2**70", "-2**70", "-1"),
    *(
        "-3",
        "2**45",
        "2**60",
        "2**63 - 1",
        "-2**63",
        "10**5000",
        "0",
        "7",
        "(0, 0)",
        "(-1, -1)",
    ),
    *("(0, 1, 2, 3, 4)", "(2**60,)", "(2**40, 2**40)", "(-1, 2)", "(1.5,)", "(None,)"),
    *("[None, None]", "('a', 'b')", "slice(None)", "slice('a', 2)", "...", "range(3)"),
    *("np.ones((2, 3, 4, 5))", "np.zeros((0, 3))", "np.array('a')", "np.array(None)"),
    *("np.array([{}, 1], object)", "np.array(['2020'], 'M8[D]')", "np.zeros(2, 'i4,f4')"),
    *("np.array([True, False])", "np.array(1 + 1j)", "np.int8(3)", "np.float64(2)", "np.nan"),
    *("np.array([2**62])", "np.array([-5, 99])", "np.arange(300)", "np.longdouble(1)"),
    *("np.ma.array([1, 2], mask=[0, 1])", "np.array([b'ab'])", "np.array([], object)"),
    *("jnp.ones((2, 2), 'int8')", "jnp.zeros((3, 0))", "tinyjax.random.key(0)", "jnp.float32"),
    *("tinyjax.random.key(0)[None]", "jnp.array([1j, 2])", "jnp.bfloat16(1)", "np.dtype('O')"),
    *("'float32'", "'nope'", "np.dtype('i4,f4')", "'M8'", "Fraction(1, 3)", "Decimal(1)"),
    *("Raising()", "Endless()", "_nested(50)", "_nested(5000)", "_looped()", "Ellipsis", "np"),
    *("OrderedDict(a=1)", "np.ones(3)[::-1]", "memoryview(b'\\1\\2')", "bytearray(3)", "type"),
    *("NotImplemented", "complex('nan')", "1 << 33", "[1, 'a']", "[1, [2]]", "{1: 2, 'a': 3}"),
    *("math.sin", "print", "[object()]", "(lambda: 1,)", "np.uint64(2**64 - 1)", "{1, 2}"),
    *(
        "tinyjax.ShapeDtypeStruct((3,), np.float32)",
        "tinyjax",
        "frozenset([1])",
        "zip([1], [2])",
    ),
)


def made(text: str) -> Any:
    """Return the object of a text of ``JUNK``."""
    return eval(text, NAMES)


def _made_for(text: str, _: Library) -> Any:
    return made(text)


#: What these texts use.
NAMES: Final[dict[str, Any]] = {
    "np": np,
    "jnp": jnp,
    "tinyjax": tinyjax,
    "math": math,
    "Fraction": Fraction,
    "Decimal": Decimal,
    "OrderedDict": OrderedDict,
    "Raising": Raising,
    "Endless": Endless,
    "_nested": _nested,
    "_looped": _looped,
    "_numbers": _numbers,
}


@cache
def chosen() -> list[PublicFunction]:
    """The functions that calls are drawn of."""
    return functions(TINYJAX, JAX)


#: What is not called with anything at all, by the beginning of its name: why.
NOT_CALLED: Final = {
    "distributed.": "waits for other processes",
    "profiler.": "listens at a port",
    "make_c_api_client": "loads a library",
    "as_jax": "changes what other modules are",
    "debug.breakpoint": "waits for its user",
    "tree.all": "asks the user's leaves whether they are true",
    "tree_util.tree_all": "likewise",
    "config.": "changes what later cases do",
    "test_util.": "raises AssertionError, which is its purpose",
    "errors.": "classes of errors",
    "extend.": "takes what its types say",
    "core.": "takes what its types say",
    "numpy.set_printoptions": "is NumPy's",
    "testing.": "raises AssertionError, which is its purpose",
}


@cache
def public() -> dict[str, Any]:
    """The public callables of the package's public modules, by name."""
    functions: dict[str, Any] = {}
    seen: set[str] = set()
    waiting: list[tuple[str, ModuleType]] = [("", tinyjax)]
    more = ("experimental.checkify", "experimental.checkpoints", "experimental.sparse")
    waiting += [(f"{name}.", import_module(f"tinyjax.{name}")) for name in more]
    while waiting:
        prefix, module = waiting.pop()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if isinstance(value, ModuleType):
                if value.__name__.startswith("tinyjax"):
                    waiting.append((f"{prefix}{name}.", value))
            elif callable(value) and not _is_left_out(f"{prefix}{name}", value):
                functions[f"{prefix}{name}"] = value
    return functions


def _is_left_out(path: str, value: Any) -> bool:
    """Return whether it is not called with anything, is NumPy's, or a class that nobody calls."""
    if any(path.startswith(beginning) for beginning in NOT_CALLED):
        return True
    if value is Any or value.__module__ in ("numpy", "typing"):
        return True
    is_kind = isinstance(value, type) and issubclass(value, BaseException | Enum)
    return is_kind or getattr(value, "_is_protocol", False)


def _is_own(error: BaseException) -> bool:
    """Return whether an error is Python's own, or was raised by an object of the user's."""
    if isinstance(error, OwnError):
        return True
    if isinstance(error, OSError | UnicodeEncodeError):  # of files, and of texts to be shown
        return True
    if isinstance(error, MemoryError | RuntimeError):  # NumPy and XLA say how much there is not
        return any(text in str(error) for text in ("Unable to allocate", "Out of memory"))
    frames = traceback.extract_tb(error.__traceback__)
    if frames[-1].filename.startswith(TESTS):  # a function that calls are drawn of
        return True
    return isinstance(error, TypeError) and OWN.search(str(error)) is not None


#: What may be called as the user's, and raises without a frame of its own.
BUILTINS: Final = re.compile(r"[=:,] ?(int|float|type|print|math\.sin)(?!\w)")


def outcome(call: Callable[[], Any], names: list[str], text: str) -> str:
    """Make a call, and say what became of it.

    Args:
        call: makes it.
        names: one of them must be in what an error of the package's says.
        text: the call as it is written.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tinyjax.block_until_ready(call())
        except BaseException as error:
            if isinstance(error, TinyjaxError):
                text = error.message
                return OURS if any(name in text for name in names) else UNNAMED
            of_users = isinstance(error, TypeError | ValueError) and BUILTINS.search(text)
            return PYTHONS if of_users or _is_own(error) else explanation(error)
    return TAKEN


class Arguments(Subject):
    """Public functions with wrong arguments."""

    batch = 400

    @property
    def expected(self) -> Sequence[str]:
        return (OURS, PYTHONS, TAKEN, UNNAMED)

    def __init__(self) -> None:
        chosen()

    def run(self, case: str, stage: Callable[[str], None]) -> str:
        chdir(tempfile.gettempdir())
        draw = random.Random(case)
        if draw.random() < 0.7:
            return self.one_wrong(draw, case, stage)
        return self.anything(draw, stage)

    def one_wrong(self, draw: random.Random, case: str, stage: Callable[[str], None]) -> str:
        """Make one argument of a call wrong, or give one that there is not."""
        call, text, name = self.drawn(draw, case)
        compiled = draw.random() < 0.35
        stage(f"{'jit ' if compiled else ''}{text}")
        program = call.program(TINYJAX)
        if compiled:
            program = tinyjax.jit(program)
        with TINYJAX.precise(call.wide):
            found = outcome(
                lambda: program(call.arrays(TINYJAX)), [name, call.path.rpartition(".")[2]], text
            )
        return found if found in self.expected else f"{call.path}: {found}"

    def drawn(self, draw: random.Random, case: str) -> tuple[DrawnCall, str, str]:
        """A call with a wrong argument, how it is written, and the name of the argument."""
        while True:
            function = draw.choice(chosen())
            call = draw_call(function, Draw(case, wide=draw.random() < 0.5))
            args, kwargs = [*call.args], dict(call.kwargs)
            text = draw.choice(JUNK)
            if call.path == "lax.fori_loop" and text in ("1 << 33", "2**45", "2**60"):
                continue  # which takes a while
            junk = FromLibrary(partial(_made_for, text), text)  # made when it is called
            names = [p.name for p in function.parameters]
            if draw.random() < 0.05:
                name = draw.choice(["nope", *names])
                kwargs[name] = junk
            elif draw.random() < 0.3 and names:
                name = draw.choice(names)
                position = names.index(name)
                if position < len(args):
                    args[position] = junk
                else:
                    kwargs[name] = junk
            elif args:
                position = draw.randrange(len(args))
                inner = args[position]
                if type(inner) is tuple and inner and draw.random() < 0.5:
                    i = draw.randrange(len(inner))
                    args[position] = (*inner[:i], junk, *inner[i + 1 :])
                else:
                    args[position] = junk
                name = (
                    names[position]
                    if position < len(names)
                    else names[-1]
                    if names
                    else str(position)
                )
            else:
                continue
            wrong = DrawnCall(call.path, tuple(args), kwargs, call.then, call.wide)
            return wrong, f"{call.path}, {name}: {text}", name

    def anything(self, draw: random.Random, stage: Callable[[str], None]) -> str:
        """Call a function with anything at all."""
        path, fun = draw.choice([*public().items()])
        texts: list[str] = []
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        try:
            parameters = [*inspect.signature(fun).parameters.values()]
        except (TypeError, ValueError):
            parameters = []
        for p in parameters:
            if p.default is not p.empty and draw.random() < 0.6:
                continue
            text = draw.choice(JUNK)
            if p.kind is p.VAR_POSITIONAL:
                args.append(made(text))
            elif p.kind is p.VAR_KEYWORD:
                continue
            elif p.kind is p.KEYWORD_ONLY or len(args) < len(texts):
                kwargs[p.name] = made(text)
            elif p.default is p.empty:
                args.append(made(text))
            else:
                kwargs[p.name] = made(text)
            texts.append(f"{p.name}={text}")
        stage(f"{path}({', '.join(texts)})")
        names = [path.rpartition(".")[2], *(p.name for p in parameters)]

        def call() -> Any:
            found = fun(*args, **kwargs)
            # of a transformation, the transformed function is called, too
            if inspect.isfunction(found) or type(found).__name__ == "JitFunction":
                return found(1.0)
            return None

        found = outcome(call, names, f"({', '.join(texts)})")
        return found if found in self.expected else f"{path}: {found}"

    def describe(self, case: str) -> str:
        draw = random.Random(case)
        if draw.random() < 0.7:
            return f"{case}, {self.drawn(draw, case)[1]}"
        texts: list[str] = []
        self.describe_anything(draw, texts)
        return f"{case}, {' '.join(texts)}"

    def describe_anything(self, draw: random.Random, texts: list[str]) -> None:
        """The call, which is not made."""

        def stop(text: str) -> None:
            texts.append(text)
            raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            self.anything(draw, stop)

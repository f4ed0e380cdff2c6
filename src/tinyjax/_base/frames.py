"""Locations in the user's program, results that callers discard, and space on Python's stack.

A frame belongs to the user when its file lies outside this package. Errors and staged equations
name that frame, so that readers see a line they wrote.

A program inside a program is staged, transformed, lowered and printed by recursive functions, at up
to 25 frames of Python's a level. Python's limit of 1,000 frames would be reached at a depth of 40.
So each level but the outermost ones raises the limit for its own frames and lowers it again. The
outermost levels, which suffice for nearly all programs, cost an addition. The limit is one for all
threads, so the levels of all of them add up. Endless recursion still ends in a ``RecursionError``
before the stack of the process overflows: staging takes 2.3 KB of it a level, where 8 MB are usual.
"""

from __future__ import annotations

import contextlib
import dis
import importlib
import inspect
import linecache
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Container, Iterable, Iterator
from contextvars import ContextVar
from functools import partial, update_wrapper
from itertools import count, islice
from threading import Lock, local
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeAlias, TypeVar

import attrs

from tinyjax._base.records import Record

_role = "passes on"  # see ``Role``

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

#: A function of one argument or more, of any types. Not ``Callable[..., R]``, which leaves the
#: parameters of a lambda unknown to type checkers.
Function: TypeAlias = (
    Callable[[Any], R]
    | Callable[[Any, Any], R]
    | Callable[[Any, Any, Any], R]
    | Callable[Concatenate[Any, Any, Any, Any, ...], R]
)

PACKAGE_DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Nor is a frame the user's that lies between theirs and ours: the body of a context manager, of an
# attrs class's constructor, of an import.
_PASSED_OVER = (
    PACKAGE_DIRECTORY,
    contextlib.__file__,
    importlib.__file__,
    "<frozen importlib",
    attrs.evolve.__code__.co_filename,
    "<attrs generated",
)


_wrappers: Final[set[CodeType]] = set()
_with_operands: Final[set[CodeType]] = set()
# Files that were looked at: staging asks at every equation.
_ours: set[str] = set()
_theirs: set[str] = set()


def place(filename: str, lineno: int) -> str:
    """Name a line as its author knows it: ``file.py:2``, ``Cell In[12], line 2``.

    Example:
        >>> from tinyjax._base.frames import place
        >>> place("model.py", 2)
        'model.py:2'
    """
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    cell = shell and shell.compile.format_code_name(filename)
    if cell:
        return f"{' '.join(cell)}, line {lineno}"
    return f"{filename}:{lineno}"


@attrs.frozen(eq=False, repr=False)
class Location(Record):
    """A place in a program: file, line number and the function that holds the line."""

    filename: str
    lineno: int
    function: str

    def __str__(self) -> str:
        return f"{place(self.filename, self.lineno)} in {self.function}"

    @property
    def text(self) -> str:
        """The source line itself, stripped; empty where the file cannot be read."""
        return linecache.getline(self.filename, self.lineno).strip()


def user_frame(depth: int = 1) -> FrameType | None:
    """Return the innermost frame outside this package, skipping ``depth`` callers first."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        filename = frame.f_code.co_filename
        if filename not in _ours:
            if filename in _theirs:
                return frame
            if not filename.startswith(_PASSED_OVER):
                _theirs.add(filename)
                return frame
            _ours.add(filename)
        frame = frame.f_back
    return None


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame is this package's, or lies between the user's and ours."""
    return frame.f_code.co_filename.startswith(_PASSED_OVER)


def is_called_by_user() -> bool:
    """Return whether the user calls what runs here; not a module of ours that is being loaded."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame):
        if frame.f_code.co_name == "<module>":
            return False
        frame = frame.f_back
    return True


def is_called_in(package: str) -> bool:
    """Return whether the user's line called a function of ours in a package of this name."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame):
        if frame.f_globals["__name__"].startswith(package):
            return True
        frame = frame.f_back
    return False


def run_text(folder: str, name: str, text: str, scope: dict[str, Any]) -> str:
    """Run the text of functions of ours, and keep it where debuggers and tracebacks look for it.

    It is kept as long as any of the functions is.

    Args:
        folder: the package that the text counts as one of.
        name: what tracebacks call the text.
        text: defines functions.
        scope: what its names stand for; what it defines is added.

    Returns:
        the name of the file that its functions are said to be in.
    """
    filename = os.path.join(PACKAGE_DIRECTORY, folder, f"<{name} {next(_texts)}>")
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope[filename] = owner = _Owner()  # functions hold their scope
    weakref.finalize(owner, _forget, filename).atexit = False
    exec(compile(text, filename, "exec"), scope)
    return filename


class _Owner:
    """Lives as long as the functions of a text."""

    __slots__ = ("__weakref__",)


def _forget(filename: str) -> None:
    linecache.cache.pop(filename, None)
    _ours.discard(filename)


_texts: Final = count()


# The roles of functions
#
# Some settings refuse operands or indices of the user's, and not those inside a function of this
# package. Whose they are follows from the roles of the functions that are being called, which
# their modules declare by ``_role``. They prepare operands, compute with them, or index. They pass
# on operands and indices of others, as context managers do; or they apply the function that a
# transformation was given, which may be an operator itself. They interpret a program for NumPy, in
# which NumPy's types mix. Others have operands of their own.

Role: TypeAlias = Literal[
    "prepares", "computes", "indexes", "passes on", "applies", "interprets", ""
]


def is_inner_arithmetic() -> bool:
    """Return whether the current arithmetic belongs to another function of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _role_of(frame) == "prepares":
        frame = frame.f_back
    if frame is None or _role_of(frame) != "computes":
        return False
    return _is_inner(frame, ("prepares", "computes", "passes on"), ("applies",))


def is_inner_indexing() -> bool:
    """Return whether the current indexing belongs to another function of this package."""
    return _is_inner(sys._getframe(1), ("indexes", "passes on"), ("applies", "interprets"))


def _is_inner(frame: FrameType | None, passes: Container[Role], users: Container[Role]) -> bool:
    """Return whether a function with operands of its own is met before the user's code is."""
    while frame is not None and is_ours(frame):
        role, code = _role_of(frame), frame.f_code
        if role in users:
            return False
        if code in _with_operands or not (role in passes or code in _wrappers):
            return True
        frame = frame.f_back
    return False


def _role_of(frame: FrameType) -> Role:
    if frame.f_code.co_filename == contextlib.__file__:
        return "passes on"
    role: Role = frame.f_globals.get("_role", "")
    return role


def has_operands(fun: F) -> F:
    """Mark a function that has operands of its own, in a module that passes on those of others."""
    if isinstance(fun, FunctionType):
        _with_operands.add(fun.__code__)
    return fun


def subject(value: object, name: str = "") -> str:
    """Name the argument that is at fault, for the beginning of a message: ``x of sin: ``.

    Args:
        value: what was given.
        name: of the function that was called, where the stack does not tell it.

    Returns:
        The argument and the function; only one of them, or nothing, where that is all there is.
    """
    parameter = _parameter(value)
    if " of " not in parameter and name:
        parameter = f"{parameter} of {name}" if parameter else name
    return f"{parameter}: " if parameter else ""


def _parameter(value: object) -> str:
    """Return the name of the parameter that a value is, and of the user's called function."""
    frame: FrameType | None = sys._getframe(2)
    ours: list[FrameType] = []
    while frame is not None and is_ours(frame):
        ours.append(frame)
        frame = frame.f_back
    for frame in reversed(ours):
        code = frame.f_code
        is_inner = "<locals>" in code.co_qualname  # a decorator's, or of a function that makes some
        if code.co_name.startswith("_") and not is_inner:
            break
        passed_over = {"self"} if value is not None else {"self", *_optional(frame)}
        for parameter in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            if frame.f_locals.get(parameter) is value and parameter not in passed_over:
                return parameter if is_inner else f"{parameter} of {code.co_name}"
        if code.co_qualname == _LENT:
            for parameter, x in _lent_arguments(**frame.f_locals):
                if x is value:
                    return f"{parameter} of {frame.f_locals['call'].__name__}"
        if not is_inner:
            break
    return ""


#: The call of a function that has the parameters of another (``like``).
_LENT: Final = "like.<locals>.give.<locals>.call"


def _lent_arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], **others: object
) -> Iterable[tuple[str, Any]]:
    """Pair the arguments of a call that fits a signature with their names."""
    try:
        return signature.bind(*args, **kwargs).arguments.items()
    except TypeError:
        return ()


def _optional(frame: FrameType) -> Iterator[str]:
    """Name the parameters of a module's function that are None where they are not given."""
    code = frame.f_code
    function = frame.f_globals.get(code.co_name)
    while function is not None and getattr(function, "__code__", None) is not code:
        function = getattr(function, "__wrapped__", None)
    if function is None:
        return
    defaults = function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    for parameters in (zip(names, defaults, strict=True), (function.__kwdefaults__ or {}).items()):
        for name, default in parameters:
            if default is None:
                yield name


def user_location() -> Location | None:
    """Return the user's innermost line, or None when no frame is the user's."""
    frame = user_frame(2)
    if frame is None:
        return None
    return Location(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)


@attrs.frozen(eq=False, repr=False)
class Span(Record):
    """The part of a file that an expression takes.

    Attributes:
        line: its first line.
        column: where it begins there, in bytes of UTF-8 from 0.
        end_line: its last line.
        end_column: where it ends there.
    """

    line: int
    column: int
    end_line: int
    end_column: int


class Transformation(str):
    """The name of a transformation among those of scopes: of the scopes within it, or before it."""

    __slots__ = ()


#: The names of the blocks of ``named_scope`` that run here, and those of the transformations that
#: they are in, the outermost first.
named_scopes: Final[ContextVar[tuple[str, ...]]] = ContextVar("tinyjax_named_scopes", default=())


@attrs.define(eq=False, repr=False)  # not frozen, which would double the cost of making one
class Source:
    """The location where an equation was staged: code and instruction, so that staging stays cheap.

    The line number is computed on request.
    """

    code: CodeType
    instruction: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the line; another process has no use for the code."""
        where = self.location
        return _source_at, (where.filename, where.lineno, where.function)

    @property
    def name_stack(self) -> str:
        """The names of the blocks of ``named_scope`` around it, as JAX writes them."""
        return ""

    @property
    def traceback(self) -> None:
        """There is no traceback: the line alone is kept."""

    @property
    def span(self) -> Span:
        """The lines and columns of the expression; those of the line's start where not known."""
        positions = islice(self.code.co_positions(), self.instruction // 2, None)
        line, end_line, column, end_column = next(positions, (None,) * 4)
        if line is None:
            line = self.location.lineno
        if end_line is None or column is None or end_column is None:
            return Span(line, 0, line, 0)
        return Span(line, column, end_line, end_column)

    @property
    def location(self) -> Location:
        lines = (
            line
            for start, end, line in self.code.co_lines()
            if start <= self.instruction < end and line is not None
        )
        return Location(
            self.code.co_filename,
            next(lines, self.code.co_firstlineno),
            self.code.co_qualname,
        )


def _source_at(filename: str, line: int, function: str) -> Source:
    code = compile("None", filename, "eval")
    return Source(code.replace(co_firstlineno=line, co_qualname=function, co_linetable=b""), 0)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, once for each line unless Python's filters say otherwise."""
    frame = user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        message, category, frame.f_code.co_filename, frame.f_lineno, registry=registry
    )


@attrs.define(eq=False, repr=False)
class ScopedSource(Source):
    """The source of an equation within blocks of ``named_scope``, whose names it has."""

    scopes: tuple[str, ...]

    @property
    def name_stack(self) -> str:
        """The names of the blocks of ``named_scope`` around it, as JAX writes them."""
        names: list[str] = []
        around = "{}"
        for scope in self.scopes:
            if isinstance(scope, Transformation):
                around = around.format(f"{scope}({{}})")
            else:
                names.append(around.format(scope))
                around = "{}"
        return "/".join(names)


#: The source of equations that were made of nobody's line.
NO_SOURCE: Final = Source(compile("", "<unknown>", "exec"), 0)


def user_source() -> Source | None:
    """Return the user's innermost line as a source, or None when no frame is the user's."""
    frame = user_frame(2)
    return None if frame is None else Source(frame.f_code, frame.f_lasti)


#: Which computation of a line is meant: its own, that of its tangent, or that of its cotangents.
Direction = Literal["forward", "tangent", "backward"]


@attrs.frozen(eq=False, repr=False)
class ExampleAxis:
    """The batch axis of a ``vmap`` in a result.

    Attributes:
        axis: the axis.
        size: the number of examples.
        vmap: the ``vmap``, by identity.
    """

    axis: int
    size: int
    vmap: object

    def shifted(self, axis: int) -> ExampleAxis:
        """Return the same where the result has one more axis."""
        return attrs.evolve(self, axis=self.axis + 1) if self.axis >= axis else self


@attrs.define(eq=False, repr=False)
class TracedSource(Source):
    """The further properties of an equation for the setting ``debug_nans``.

    Attributes:
        direction: the pass of the line's computation that the equation belongs to.
        examples: the batch axes of its results, the outermost ``vmap`` first.
        transposed: whether the loops of the line run from their ends.
    """

    direction: Direction = "forward"
    examples: tuple[ExampleAxis, ...] = ()
    transposed: bool = False


def traced_source(
    source: Source | None, direction: Direction = "forward", depth: int = 2
) -> TracedSource | None:
    """Return a source with its direction; None stands for the user's line that is being run.

    What belongs to a backward pass stays there, and what to a tangent is not forward again.
    """
    if isinstance(source, TracedSource):
        if direction == "forward" or source.direction == "backward":
            return source
        return attrs.evolve(source, direction=direction)
    if source is not None:
        return TracedSource(source.code, source.instruction, direction)
    frame = user_frame(depth)
    return None if frame is None else TracedSource(frame.f_code, frame.f_lasti, direction)


def stands_in(wrapper: Callable[..., object]) -> None:
    """Mark a function as the replacement of another, without arithmetic of its own."""
    if isinstance(wrapper, FunctionType):
        _wrappers.add(wrapper.__code__)


def _is_of_package(kind: type) -> bool:
    return any(base.__module__.startswith("tinyjax.") for base in kind.__mro__)


def imitate(wrapper: F, fun: Callable[..., object]) -> F:
    """Give a function the name, documentation and signature of the one that it replaces.

    As ``functools.update_wrapper``; but the one may be an object that has an attribute where a
    function has its name, which is left out. Of an object of this package's the attributes are its
    own state; those of the function that it stands for are taken.
    """
    stands_in(wrapper)
    model: Any = fun
    while hasattr(model, "__wrapped__") and _is_of_package(type(model)):
        model = model.__wrapped__
    try:
        update_wrapper(wrapper, fun, updated=())
    except TypeError:
        model = None
    wrapper.__dict__.update(getattr(model, "__dict__", {}))
    wrapper.__dict__["__wrapped__"] = fun
    return wrapper


def wraps(fun: Callable[..., object]) -> Callable[[F], F]:
    """Return a decorator that does so."""
    return partial(imitate, fun=fun)


def like(model: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Return a decorator that gives a function the parameters of another.

    The function takes ``*args`` and ``**kwargs``, and hands them on. A call that does not fit the
    parameters raises Python's ``TypeError``, which names the function itself.

    Example:
        >>> from tinyjax._base.frames import like
        >>> def root(x: float, places: int = 2) -> float:
        ...     return round(x**0.5, places)
        >>> @like(root)
        ... def twice_the_root(*args, **kwargs):
        ...     return 2 * root(*args, **kwargs)
        >>> twice_the_root(4.0, place=1)
        Traceback (most recent call last):
            ...
        TypeError: twice_the_root() got an unexpected keyword argument 'place'
    """

    def give(fun: Callable[..., R]) -> Callable[P, R]:
        annotations = {**model.__annotations__, "return": fun.__annotations__.get("return")}
        signature = inspect.signature(model).replace(return_annotation=annotations["return"])

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return fun(*args, **kwargs)
            except TypeError:
                try:
                    signature.bind(*args, **kwargs)
                except TypeError as error:
                    raise TypeError(f"{call.__qualname__}() {error}") from None
                raise

        imitation: Any = imitate(call, fun)
        imitation.__signature__, imitation.__annotations__ = signature, annotations
        return call

    return give


class Applied:
    """A function together with the name of the transformation that the user applied to it.

    It is called as the function is, and traces that are given it name the transformation in
    messages in place of their own. Of nested ones the innermost is what the user wrote: the
    library's functions hand on what they were given.

    Attributes:
        api_name: the name.
    """

    __slots__ = ("__weakref__", "__wrapped__", "api_name")

    def __init__(self, api_name: str, fun: Callable[..., Any]) -> None:
        self.api_name: str = api_name
        self.__wrapped__: Callable[..., Any] = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __reduce__(self) -> tuple[type[Applied], tuple[str, Callable[..., Any]]]:
        return Applied, (self.api_name, self.__wrapped__)


def applied_by(fun: Callable[..., object], transformation: str) -> str:
    """Return the transformation that the user applied to a function; by default the given one."""
    while hasattr(fun, "__wrapped__"):
        if type(fun) is Applied:
            transformation = fun.api_name
        fun = fun.__wrapped__
    return transformation


def bare(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a substitute that messages describe as the function, without its closed-over values.

    It is not to be called. Objects that are called as functions are returned as they are.
    """
    api_name: str | None = None
    while hasattr(fun, "__wrapped__"):
        if type(fun) is Applied:
            api_name = fun.api_name
        fun = fun.__wrapped__
    match fun:
        case FunctionType():
            code = fun.__code__
            cells = tuple([CellType() for _ in code.co_freevars])
            name = fun.__qualname__
            fun = FunctionType(code, {}, fun.__name__, None, cells)
            fun.__qualname__ = name
        case MethodType():
            fun = MethodType(bare(fun.__func__), object())
        case partial():
            fun = partial(bare(fun.func), *[None] * len(fun.args), **dict.fromkeys(fun.keywords))
        case _:
            pass
    return fun if api_name is None else Applied(api_name, fun)


def describe_function(fun: Callable[..., object]) -> str:
    """Name a function and where it is defined, for error messages."""
    while hasattr(fun, "__wrapped__"):
        fun = fun.__wrapped__
    fun = getattr(fun, "func", fun)
    name = getattr(fun, "__qualname__", None) or type(fun).__qualname__
    code = getattr(fun, "__code__", None)
    if not isinstance(code, CodeType):
        return name
    return f"{name} ({place(code.co_filename, code.co_firstlineno)})"


# What a caller does with a result


def discards_result(frame: FrameType, *names: str) -> bool:
    """Return whether a frame's current call is a statement, whose result nobody reads.

    Args:
        frame: the frame that calls.
        *names: names that the function has there. A call under another name, or by a function
            such as ``list.extend``, is then none. Without names every call counts.

    Example:
        >>> import sys
        >>> from tinyjax._base.frames import discards_result
        >>> def look():
        ...     results.append(discards_result(sys._getframe(1), "look"))
        >>> results = []
        >>> def f():
        ...     look()
        ...     [].extend(map(lambda x: x, [look()]))
        ...     return look()
        >>> f()
        >>> results
        [True, False, False]
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    after = at + 2
    while code[after] in _PASSED:
        after += 2
    if code[after] != _POP_TOP or not names:
        return code[after] == _POP_TOP
    positions = [*frame.f_code.co_positions()]
    start = positions[at // 2][::2]  # where the call begins, and so the function that it names
    callee = ""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset > at - 2:
            break
        if positions[instruction.offset // 2][::2] == start and isinstance(instruction.argval, str):
            callee = instruction.argval
    return None not in start and callee in names


def is_statement(frame: FrameType) -> bool:
    """Return whether a frame's current call is a whole statement.

    Its result is dropped, or a prompt or a notebook shows it.

    Example:
        >>> import sys
        >>> from tinyjax._base.frames import is_statement
        >>> look = lambda: print(is_statement(sys._getframe(1)))
        >>> look()
        True
        >>> _ = look()
        False
    """
    code, after = frame.f_code.co_code, frame.f_lasti + 2
    while code[after] in _PASSED:
        after += 2
    return (code[after] in _SHOWS and (code[after] != _INTRINSIC or code[after + 1] == 1)) or (
        discards_result(frame)
    )


#: The instruction, or the function of the interpreter, by which a prompt shows a result.
_INTRINSIC: Final = dis.opmap.get("CALL_INTRINSIC_1", -1)
_SHOWS: Final = (_INTRINSIC, dis.opmap.get("PRINT_EXPR", -1))
_POP_TOP: Final = dis.opmap["POP_TOP"]
#: What stands between a call and what becomes of its result.
_PASSED: Final = (dis.opmap["CACHE"], dis.opmap["NOP"])


# Space on the stack

_FRAMES: Final = 40
#: By weight; this many levels fit into Python's own limit.
_FREE: Final = 6
#: By weight; a program at a depth of 500 whose derivative is taken comes to 3,500.
_MOST: Final = 6000


class _Depth(local):
    weight = 0


_depth: Final = _Depth()
_lock: Final = Lock()


class _Level:
    """A level of nesting, for ``with``; its weight is its share of the stack."""

    __slots__ = ("_weight",)

    def __init__(self, weight: int) -> None:
        self._weight = weight

    def __enter__(self) -> None:
        weight = _depth.weight
        if weight >= _FREE:
            if weight >= _MOST:
                raise RecursionError(
                    "programs are nested thousands of levels deep, or a traced function calls "
                    "itself without end. A traced function may call itself only under a condition "
                    "that Python decides, such as the shape of an argument."
                )
            raise_limit(_FRAMES)
        _depth.weight = weight + self._weight

    def __exit__(self, *_: object) -> None:
        weight = _depth.weight = _depth.weight - self._weight
        if weight >= _FREE:
            raise_limit(-_FRAMES)


def raise_limit(amount: int) -> None:
    """Raise Python's recursion limit, or lower it again."""
    with _lock:
        sys.setrecursionlimit(sys.getrecursionlimit() + amount)


LEVEL: Final = _Level(1)
#: A level at which the user's function runs.
STAGING_LEVEL: Final = _Level(3)

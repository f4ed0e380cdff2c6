"""Settings: process-wide by ``update``, local to a block by ``scoped``, or from the environment.

A setting called ``name`` is read from ``TINYJAX_NAME`` when the package is imported, or else from
JAX's variable for it. All settings form one frozen record, so that a compiled function can remember
the record it was traced under.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, Token
from functools import lru_cache
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    get_args,
    overload,
)

import attrs

from tinyjax._base.frames import imitate, is_statement, warn_user
from tinyjax._base.jax_settings import (
    ABSENT,
    FIXED,
    IDLE,
    PRECISIONS,
    RENAMED,
    TRANSFERS,
    OneMeaning,
)
from tinyjax._base.lazy import did_you_mean
from tinyjax._base.records import Printed
from tinyjax._base.tracebacks import shown_whole
from tinyjax.errors import ArgumentError, shortened

_T = TypeVar("_T")
_P = ParamSpec("_P")
DefaultDtypes = Literal["float32", "float64", "mixed"]
Tracebacks = Literal["folded", "full"]
Tier = Literal["compiled", "first", "host", "ready"]
Compiler = Literal["auto", "c", "xla"]
Effort = Literal["low", "medium", "full"]
DtypePromotion = Literal["standard", "strict"]
RankPromotion = Literal["allow", "warn", "raise"]
#: What becomes of transfers of data, in JAX's words: those of the second two are of explicit ones,
#: which ``device_put`` makes, as well.
Transfers = Literal["allow", "log", "disallow", "log_explicit", "disallow_explicit"]
#: The generators of ``tinyjax.random``.
Generator = Literal["threefry2x32", "rbg", "unsafe_rbg"]


_TRUTHS: Final = {
    **dict.fromkeys(("1", "true", "t", "on", "yes", "y"), True),
    **dict.fromkeys(("0", "false", "f", "off", "no", "n", ""), False),
}


def _read(name: str, value: object, read: Callable[[Any], _T], takes: str) -> _T:
    try:
        return read(value)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ArgumentError(f"{name} takes {takes}, but got {shortened(value)}.") from None


def _setting(default: _T, read: Callable[[Any], _T], takes: str) -> _T:
    """Return a setting: its default, the parser of its values, and its description."""

    def convert(value: object, field: attrs.Attribute[Any]) -> _T:
        return _read(field.name, value, read, takes)

    field: Any = attrs.field(default=default, converter=attrs.Converter(convert, takes_field=True))
    setting: _T = field
    return setting


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    return _read("a boolean setting", value, lambda x: _TRUTHS[str(x).lower()], "True or False")


def _switch(default: bool) -> bool:
    field: Any = attrs.field(default=default, converter=_boolean)
    setting: bool = field
    return setting


def _choice(kind: object, default: _T) -> _T:
    """Return a setting that takes one of the texts of a ``Literal``, or a type of that name."""
    *others, last = choices = get_args(kind)
    takes = f"{', '.join(map(repr, others))} or {last!r}"
    return _setting(default, lambda value: choices[choices.index(value)], takes)


def _default_dtypes(value: object) -> DefaultDtypes:
    names: dict[str, DefaultDtypes] = {name: name for name in get_args(DefaultDtypes)}
    return names[getattr(value, "__name__", None) or str(value)]


def _number(least: int, *others: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        number = int(str(value))
        if number < least and number not in others:
            raise ValueError
        return number

    return read


def _folder(value: str | os.PathLike[str]) -> str:
    path = os.path.expanduser(os.fspath(value))
    if "\0" in path:
        raise ValueError
    # "" is no folder; a relative path is meant from where we are now
    return os.path.abspath(path) if path else ""


def _device(value: object) -> Hashable:
    """Take a device, the sharding of one, or the name of a platform, for its first device."""
    device = getattr(value, "device", value)
    if device is None or isinstance(device, str):
        return device or None
    if not hasattr(device, "addressable_memories"):
        raise TypeError
    return device


#: What names a precision of products.
_PRECISION: Final = (
    "a name of lax.Precision, such as 'tensorfloat32', or of lax.DotAlgorithmPreset, or None"
)
#: What names the device on which arrays lie by default.
_DEVICE: Final = "a device, such as tinyjax.devices()[0], the name of a platform, or None"
_Contexts: TypeAlias = tuple[tuple[int, Hashable], ...]


def _numbered(value: object) -> _Contexts:
    if not isinstance(value, tuple):
        raise TypeError
    return value


def _precision(value: object) -> str | None:
    if value is None or value == "":
        return None
    text = str(value)
    return PRECISIONS[PRECISIONS.index(text)]


def _platforms(value: str) -> str:
    return ",".join([name.strip().lower() for name in value.split(",") if name.strip()])


@attrs.frozen(eq=False, repr=False)
class Settings(Printed):
    """All settings at one moment; those in force are one object while their values are the same.

    Attributes:
        default_dtypes: ``"float32"`` (with int32 and complex64) or ``"float64"`` (with int64 and
            complex128): the types of Python scalars and of constructors without a dtype. Or
            ``"mixed"``: Python's numbers have 64 bits, and constructors such as ``zeros`` 32.
            Transformations of 64-bit floats set that for the function that they call.
        wide_dtypes: whether arrays may have 64-bit types; where they may not, 64-bit data and
            dtypes become 32-bit ones, as in JAX without ``jax_enable_x64``.
        dtype_promotion: ``"standard"``, so that operands of two dtypes are promoted to a common
            one; or ``"strict"``, so that they are refused, other than Python numbers of the same
            or a lesser kind.
        rank_promotion: what happens where an operation of two operands broadcasts one that has
            fewer axes, but has some: ``"allow"``, nothing; ``"warn"``; or ``"raise"``.
        threefry_partitionable: which of JAX's two random streams ``tinyjax.random`` draws.
        default_prng_impl: the generator of raw keys, and of keys that are made without naming one.
        default_matmul_precision: how exactly GPUs and TPUs compute products whose ``precision`` is
            not given: a name of ``lax.Precision``, such as ``"tensorfloat32"``, or of
            ``lax.DotAlgorithmPreset``; None for full precision.
        check_leaks: look for tracers that outlive their transformation as soon as it ends.
        check_jaxprs: typecheck every jaxpr that is staged.
        debug_nans: raise ``NanError`` where a NaN that originates in an operation reaches a result,
            naming the line, the direction, the iterations of loops and the examples of ``vmap``.
        debug_infs: the same of infinities.
        debug_bounds: raise ``OutOfBoundsError`` where an index of yours is out of bounds, unless it
            has a ``mode`` for that.
        debug_key_reuse: raise ``KeyReuseError`` where a typed key of random numbers is used twice.
        explain: tell the logger ``tinyjax`` why a call of a jitted function traces or compiles.
        cache_dir: the folder in which compiled programs are kept for other processes; ``""`` where
            they are not.
        cache_max_bytes: the bound on the size of the programs in that folder.
        disable_jit: run jitted functions operation by operation, so that prints and debuggers see
            data.
        disable_bwd_checks: take cotangents of any type from backward rules of ``custom_vjp``.
        interruptible: run compiled programs so that Ctrl-C is heard while they run; a call takes
            0.1 ms more.
        tier: the evaluator of the first calls of a jitted function: ``"first"``, so that NumPy
            evaluates as many calls as cost a quarter of compiling; ``"compiled"``, so that they
            wait for the compiler, and all calls round alike; ``"ready"``, so that NumPy goes on
            until the compiled program is there; or ``"host"``, so that NumPy always evaluates small
            programs, whose results NumPy reads at once.
        compiler: the compiler of jitted functions: ``"xla"``; or ``"c"``, the system's compiler of
            C, which takes a fraction of the time, and one binary for many sizes. By ``"auto"`` it
            compiles programs of more than 400 connected operations on few elements, for which XLA
            takes minutes; XLA compiles all others. What C has not, XLA compiles.
        progress: show how far compiled loops have come, in a terminal or a notebook; see
            ``tinyjax.debug.progress``.
        announce: say on a terminal (standard error) what is compiled, and for how long, once that
            takes over two seconds.
        effort: the compiler's effort: ``"full"``; ``"medium"``, which compiles a nearly as fast
            program in about half the time; ``"low"``, which takes a tenth of the time for a program
            that takes two or three times as long.
        locations: write your lines into programs when they are compiled, so that XLA's dumps and
            profiles name them; programs that the process has compiled stay as they are.
        tracebacks: ``"folded"``, so that tracebacks show the user's frames, or ``"full"``, so that
            they show this package's too.
        typecheck: instrument the whole package with runtime type checks when it is imported.
        num_cpu_devices: the number of devices that the processor is divided into; -1 for as many as
            ``--xla_force_host_platform_device_count`` in ``XLA_FLAGS`` says, or one. It is read
            when the devices are first listed.
        default_device: the device of arrays and programs that are put nowhere else: a device, or
            the name of a platform, for its first one; None for the first device of the first of
            ``platforms``.
        platforms: the platforms of devices, with commas between them, the default one first. Where
            it is ``""``, that is a GPU, if there are one and the plugin for it, or else the
            processor.
        transfers_to_device: the treatment of data of NumPy's or Python's that becomes an array
            without ``device_put``; see ``transfer_guard``.
        transfers_between_devices: the same of arrays that are moved.
        transfers_to_host: the same of reading arrays, which on the CPU moves nothing.
        user_contexts: the values of contexts of ``make_user_context``, by their numbers.
        guarding: whether transfers are looked at; it follows from the settings of transfers.
        debugging: whether NaNs or infinities are followed; it follows from ``debug_nans`` and
            ``debug_infs``.

    Example:
        >>> import tinyjax
        >>> tinyjax.config.settings().default_dtypes
        'float32'
    """

    default_dtypes: DefaultDtypes = _setting(
        "float32", _default_dtypes, "float32, float64 or mixed"
    )
    wide_dtypes: bool = _switch(True)
    dtype_promotion: DtypePromotion = _choice(DtypePromotion, "standard")
    rank_promotion: RankPromotion = _choice(RankPromotion, "allow")
    threefry_partitionable: bool = _switch(True)
    default_prng_impl: Generator = _choice(Generator, "threefry2x32")
    default_matmul_precision: str | None = _setting(None, _precision, _PRECISION)
    check_leaks: bool = _switch(False)
    check_jaxprs: bool = _switch(False)
    debug_nans: bool = _switch(False)
    debug_infs: bool = _switch(False)
    debug_bounds: bool = _switch(False)
    debug_key_reuse: bool = _switch(False)
    explain: bool = _switch(False)
    cache_dir: str = _setting("", _folder, "the path of a folder")
    cache_max_bytes: int = _setting(1 << 29, _number(0), "a number of bytes")
    disable_jit: bool = _switch(False)
    disable_bwd_checks: bool = _switch(False)
    interruptible: bool = _switch(False)
    tier: Tier = _choice(Tier, "first")
    compiler: Compiler = _choice(Compiler, "auto")
    progress: bool = _switch(False)
    announce: bool = _switch(True)
    effort: Effort = _choice(Effort, "full")
    locations: bool = _switch(False)
    tracebacks: Tracebacks = _choice(Tracebacks, "folded")
    typecheck: bool = _switch(False)
    num_cpu_devices: int = _setting(-1, _number(1, -1), "the number of devices, or -1")
    default_device: Hashable = _setting(None, _device, _DEVICE)
    platforms: str = _setting("", _platforms, "names of platforms, such as 'cuda,cpu'")
    transfers_to_device: Transfers = _choice(Transfers, "allow")
    transfers_between_devices: Transfers = _choice(Transfers, "allow")
    transfers_to_host: Transfers = _choice(Transfers, "allow")
    user_contexts: _Contexts = _setting((), _numbered, "what is set by make_user_context's results")
    guarding: bool = attrs.field(init=False)

    @guarding.default
    def _is_guarding(self) -> bool:
        return {self.transfers_to_device, self.transfers_between_devices} != {"allow"}

    debugging: bool = attrs.field(init=False)

    @debugging.default
    def _is_debugging(self) -> bool:
        return self.debug_nans or self.debug_infs


_NAMES = tuple(field.name for field in attrs.fields(Settings) if field.init)


class Process:
    """The settings of the whole process, which no block and no thread overrides.

    Example:
        >>> import tinyjax
        >>> type(tinyjax.config.Process.settings).__name__
        'Settings'
    """

    settings: Settings = Settings()


#: Whether ``import jax`` means tinyjax (``tinyjax.as_jax``): a few operations then do as JAX does.
follows_jax = False

_local: ContextVar[Settings | None] = ContextVar("tinyjax_settings", default=None)


#: The settings of this context, where it has its own. A call of a compiled function asks for
#: ``local_settings() or Process.settings`` itself, and saves the call of ``settings``.
local_settings: Callable[[], Settings | None] = _local.get


def settings() -> Settings:
    """Return the settings in force here: those of the block, or else of the process.

    The record is frozen, and one object while nothing changes, so that it can be a key.

    Example:
        >>> import tinyjax
        >>> with tinyjax.config.scoped(default_dtypes="float64"):
        ...     tinyjax.config.settings().default_dtypes
        'float64'
        >>> tinyjax.config.settings().default_dtypes
        'float32'
        >>> tinyjax.config.settings() is tinyjax.config.settings()
        True
    """
    return _local.get() or Process.settings


def _values(record: Settings) -> tuple[object, ...]:
    return tuple([getattr(record, name) for name in _NAMES])


#: Records of equal values are one object, so that whoever remembers one compares by identity.
_records: dict[tuple[object, ...], Settings] = {_values(Process.settings): Process.settings}


#: What JAX's settings of tracebacks are here.
_TRACEBACKS_OF_JAX: Final[dict[object, Tracebacks]] = {
    None: "folded",
    "auto": "folded",
    "quiet_remove_frames": "folded",
    "remove_frames": "folded",
    "tracebackhide": "folded",
    "off": "full",
}


def _own(name: str, value: object) -> dict[str, object]:
    """Return the changes of our settings that a change of one of JAX's or ours means."""
    if name == "jax_enable_x64":
        wide = _boolean(value)
        return {"default_dtypes": "float64" if wide else "float32", "wide_dtypes": wide}
    if name == "jax_transfer_guard":
        return dict.fromkeys(TRANSFERS, "allow" if value is None else value)
    if RENAMED.get(name, name) in TRANSFERS and value is None:
        value = "allow"
    if name in RENAMED:
        if name == "jax_traceback_filtering":
            value = _TRACEBACKS_OF_JAX.get(value, value)
        if name == "jax_compilation_cache_max_size" and value in (-1, "-1"):
            value = sys.maxsize
        return {RENAMED[name]: "" if value is None else value}
    if name == "jax_enable_compilation_cache":
        return {} if _boolean(value) else {"cache_dir": ""}
    if name in IDLE:
        return {}
    if name in FIXED:
        taken, why = FIXED[name]
        if value not in taken:
            raise ArgumentError(f"'{name}' cannot be {value!r}: {why}.")
        return {}
    if name in ABSENT:
        raise ArgumentError(f"there is no setting '{name}': {ABSENT[name]}.")
    if name.startswith("jax_"):
        raise ArgumentError(
            f"there is no setting '{name}': if JAX has it, it is for what tinyjax does not have, "
            f"and can be left out.{did_you_mean(name, (*RENAMED, *IDLE, *FIXED))} The settings "
            f"are: {', '.join(_NAMES)}."
        )
    return {name: value}


def read(name: str) -> Any:
    """Return the value of a setting, by its name or by that of JAX's.

    Raises:
        ArgumentError: there is no such setting.

    Example:
        >>> from tinyjax import config
        >>> config.read("jax_enable_x64"), config.read("default_dtypes")
        (False, 'float32')
    """
    if name in FIXED:
        return FIXED[name][0][0]
    if name in IDLE:
        return IDLE[name]
    if name == "jax_enable_compilation_cache":
        return bool(settings().cache_dir)
    own_name = RENAMED.get(name, name)
    if own_name not in _NAMES:
        raise ArgumentError(f"there is no setting '{name}'. The settings are: {', '.join(_NAMES)}.")
    value = getattr(settings(), own_name)
    if name == "jax_traceback_filtering":
        return "off" if value == "full" else "auto"
    if name in ("jax_compilation_cache_dir", "jax_platforms"):
        return value or None
    return value == "float64" if name == "jax_enable_x64" else value


def _evolve(current: Settings, changes: dict[str, Any]) -> Settings:
    for name in changes:
        if name not in _NAMES:
            raise ArgumentError(
                f"there is no setting '{name}'.{did_you_mean(name, _NAMES)} The settings are: "
                f"{', '.join(_NAMES)}."
            )
    changed = attrs.evolve(current, **changes)
    for name, value in _process_values.items():
        if name in changes and getattr(changed, name) != value:
            raise ArgumentError(
                f"'{name}' was read as {value!r} and cannot change any more. Set it before "
                "anything is compiled, or in the environment: "
                f"TINYJAX_{name.upper()}={changes[name]}."
            )
    return _records.setdefault(_values(changed), changed)


#: Settings that were read once for all.
_process_values: Final[dict[str, Any]] = {}


def settle(name: str) -> Any:
    """Return a setting that is read once: from now on it cannot be changed.

    A later ``update`` raises an error that says what had already read it.

    Example:
        >>> from tinyjax import config
        >>> count = config.settle("num_cpu_devices")  # as the first device does
        >>> config.settle("num_cpu_devices") == count
        True
    """
    return _process_values.setdefault(name, getattr(settings(), name))


#: Puts a change of settings into force elsewhere, in this thread or task; returns what undoes it.
Follower = Callable[[Settings], Callable[[], None]]

_followers: list[Follower] = []


def _shows_whole_tracebacks() -> bool:
    return settings().tracebacks == "full"


shown_whole[:] = [_shows_whole_tracebacks]


def follow(follower: Follower) -> None:
    """Call a function with the settings now in force here, and whenever they change.

    So an extension keeps other settings in step, such as those of a library's threads.

    Args:
        follower: takes the settings, puts them into force elsewhere, and returns what undoes that,
            which is called at the end of a block.

    Example:
        >>> from tinyjax import config
        >>> seen = []
        >>> def follower(settings):
        ...     seen.append(settings.explain)
        ...     return lambda: None
        >>> config.follow(follower)
        >>> with config.scoped(explain=True):
        ...     seen
        [False, True]
    """
    _followers.append(follower)
    follower(settings())


# fmt: off
_Switch: TypeAlias = Literal[
    "wide_dtypes", "threefry_partitionable", "check_leaks", "check_jaxprs", "debug_nans",
    "debug_infs", "debug_bounds", "debug_key_reuse", "explain", "disable_jit", "disable_bwd_checks",
    "interruptible", "progress", "announce", "locations", "typecheck", "jax_enable_x64",
    "jax_debug_nans", "jax_debug_infs", "jax_debug_key_reuse", "jax_check_tracer_leaks",
    "jax_enable_checks", "jax_threefry_partitionable", "jax_explain_cache_misses",
    "jax_log_compiles", "jax_disable_jit", "jax_disable_bwd_checks", "jax_enable_compilation_cache",
]
_Guard: TypeAlias = Literal[
    "transfers_to_device", "transfers_between_devices", "transfers_to_host", "jax_transfer_guard",
    "jax_transfer_guard_host_to_device", "jax_transfer_guard_device_to_device",
    "jax_transfer_guard_device_to_host",
]
_Number: TypeAlias = Literal[
    "cache_max_bytes", "jax_compilation_cache_max_size", "num_cpu_devices", "jax_num_cpu_devices",
]
#: What takes objects, or JAX's words for ours.
_Other: TypeAlias = Literal[
    "default_dtypes", "default_device", "jax_default_device", "jax_traceback_filtering",
    "default_matmul_precision", "jax_default_matmul_precision", "user_contexts",
]
# fmt: on


@overload
def update(name: _Switch, value: bool) -> None: ...
@overload
def update(
    name: Literal["dtype_promotion", "jax_numpy_dtype_promotion"], value: DtypePromotion
) -> None: ...
@overload
def update(
    name: Literal["rank_promotion", "jax_numpy_rank_promotion"], value: RankPromotion
) -> None: ...
@overload
def update(
    name: Literal["default_prng_impl", "jax_default_prng_impl"], value: Generator
) -> None: ...
@overload
def update(name: Literal["tier"], value: Tier) -> None: ...
@overload
def update(name: Literal["compiler"], value: Compiler) -> None: ...
@overload
def update(name: Literal["effort"], value: Effort) -> None: ...
@overload
def update(name: Literal["tracebacks"], value: Tracebacks) -> None: ...
@overload
def update(name: _Guard, value: Transfers | None) -> None: ...
@overload
def update(name: _Number, value: int) -> None: ...
@overload
def update(
    name: Literal["cache_dir", "jax_compilation_cache_dir", "platforms", "jax_platforms"],
    value: str | os.PathLike[str] | None,
) -> None: ...
@overload
def update(name: OneMeaning | _Other, value: object) -> None: ...
def update(name: str, value: object) -> None:
    """Change one setting for the whole process.

    Args:
        name: the setting, or one of JAX's, such as "jax_enable_x64".
        value: what to set it to.

    Raises:
        ArgumentError: there is no such setting, or it does not take this value.

    Example:
        >>> from tinyjax import config
        >>> config.update("threefry_partitionable", True)
    """
    changes = _own(name, value)
    Process.settings = _evolve(Process.settings, changes)
    local = _local.get()
    if local is not None:
        _local.set(_evolve(local, changes))
    for follower in _followers:
        follower(settings())


#: Variables of JAX's that have been heeded, and their values.
_heeded: Final[dict[str, str]] = {}


def heed_environment(warn: bool = True) -> None:
    """Apply the settings in JAX's variables of the environment, as ``update`` does.

    A variable changes nothing if it is empty, if it was heeded before with this value, or if our
    own variable of the same setting is set.

    Args:
        warn: warn of values that have no effect here; otherwise they raise, as in ``update``.

    Raises:
        ArgumentError: a variable has a value that its setting does not take.

    Example:
        >>> from tinyjax import config
        >>> config.heed_environment()
    """
    found = {name.lower(): x for name, x in os.environ.items() if name.startswith("JAX") and x}
    # the last one undoes what others say of the cache
    for name in (*RENAMED, *FIXED, *ABSENT, "jax_enable_compilation_cache") if found else ():
        if name not in found or _heeded.get(name) == found[name]:
            continue
        own = os.environ.get(f"TINYJAX_{RENAMED.get(name, name).upper()}")
        if own or _heed(name.upper(), name, found[name], warn):
            _heeded[name] = found[name]


def _heed(variable: str, name: str, text: str, warn: bool) -> bool:
    """Set the setting of a variable; return whether it needs nothing further."""
    value: Any = text
    setting: Any = name
    try:
        taken, why = FIXED.get(name) or ((text,), ABSENT.get(name, ""))
        if isinstance(taken[0], bool):
            value = _boolean(text)
        elif isinstance(taken[0], int):
            value = _read(name, text, int, "a whole number")
        if name in ABSENT or (warn and value not in taken):
            warn_user(f"{variable}={text} in the environment has no effect: {why}.")
            return name in ABSENT
        update(setting, value)
    except ArgumentError as error:
        raise ArgumentError(f"{variable}={text} in the environment: {error.message}") from None
    return True


def block(fun: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let a function that makes a context manager refuse to be a statement, without effect.

    Raises:
        ArgumentError: a call of the function is a whole statement.

    Example:
        >>> import tinyjax
        >>> try:
        ...     tinyjax.debug_nans(True)
        ... except TypeError as error:
        ...     print(error.message)
        debug_nans takes effect in a block, and does nothing as a statement. Write 'with
        debug_nans(...):' and the block, or for the whole program
        tinyjax.config.update('debug_nans', ...).
    """
    name = fun.__qualname__.removesuffix(".__call__")
    own = next((x for x in (name, f"jax_{name}") if x in _NAMES or x in RENAMED), None)
    instead = f", or for the whole program tinyjax.config.update('{own}', ...)" if own else ""

    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if is_statement(sys._getframe(1)):
            raise ArgumentError(
                f"{name} takes effect in a block, and does nothing as a statement. Write 'with "
                f"{name}(...):' and the block{instead}."
            )
        return fun(*args, **kwargs)

    return imitate(call, fun)


@block
def scoped(**changes: object) -> AbstractContextManager[Settings]:
    """Change settings within a ``with`` block, in this thread or task only.

    They are back as they were when the block ends, whatever ends it. Threads that are started
    within have the settings of the process. Several may be given at once.

    Raises:
        ArgumentError: there is no such setting, or it does not take this value.

    Example:
        >>> from tinyjax import config
        >>> with config.scoped(default_dtypes="float64") as settings:
        ...     settings.default_dtypes
        'float64'
    """
    return _scope(lambda: _evolve(settings(), changes))


@contextmanager
def _scope(make: Callable[[], Settings]) -> Iterator[Settings]:
    """Put settings in force for a block, computed when it is entered."""
    current = make()
    token = _local.set(current)
    undo = [follower(current) for follower in _followers]
    try:
        yield current
    finally:
        for restore in undo:
            restore()
        _local.reset(token)


_mixed: Final[dict[Settings, Settings]] = {}


class Mixed:
    """A block in which ``default_dtypes`` is ``"mixed"``, if it was ``"float32"``.

    A class is faster here than a generator as a context manager.

    Args:
        is_on: whether it is so; otherwise nothing changes.

    Example:
        >>> from tinyjax import config
        >>> with config.Mixed():
        ...     config.settings().default_dtypes
        'mixed'
    """

    __slots__ = ("_is_on", "_token")

    def __init__(self, is_on: bool = True) -> None:
        self._is_on = is_on
        self._token: Token[Settings | None] | None = None

    def __enter__(self) -> None:
        if not self._is_on:
            return
        current = settings()
        if current.default_dtypes == "float32" and current.wide_dtypes:
            mixed = _mixed.get(current)
            if mixed is None:
                mixed = _mixed[current] = _evolve(current, {"default_dtypes": "mixed"})
            self._token = _local.set(mixed)

    def __exit__(self, *exception: object) -> None:
        if self._token is not None:
            _local.reset(self._token)


@block
@contextmanager
def default_dtypes(dtype: object) -> Iterator[Settings]:
    """Make ``float32`` or ``float64`` (and their int and complex kin) the default in a block.

    The default is what Python's numbers and constructors without a dtype get; data that has a dtype
    keeps it. Functions that were compiled under another default are traced again.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.default_dtypes(jnp.float64):
        ...     jnp.ones(2).dtype
        dtype('float64')
        >>> with tinyjax.default_dtypes(jnp.float64):
        ...     jnp.array(1).dtype, jnp.float32(1.0).dtype
        (dtype('int64'), dtype('float32'))
    """
    with scoped(default_dtypes=dtype) as current:
        yield current


# JAX's settings as contexts, by JAX's names


@contextmanager
def _named(name: str, value: object) -> Iterator[None]:
    with scoped(**_own(name, value)):
        yield


@block
def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """Make 64-bit types the default in a block; with ``False``, make them 32-bit types there.

    As a function of JAX's it may be called without an argument. With ``False`` data of 64 bits
    becomes data of 32 bits, as in JAX by default; here 64-bit data otherwise keeps its type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.enable_x64(True):
        ...     jnp.ones(2).dtype
        dtype('float64')
        >>> import numpy as np
        >>> jnp.asarray(np.ones(2)).dtype
        dtype('float64')
        >>> with tinyjax.enable_x64(False):
        ...     jnp.asarray(np.ones(2)).dtype
        dtype('float32')
    """
    return _named("jax_enable_x64", new_val)


@block
def debug_nans(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``debug_nans`` for a block: a NaN that an operation makes raises ``NanError``.

    The error names your line, the operation and what it was given, the iteration of a loop and the
    example of a ``vmap``. A NaN that was already in the data is not reported, nor one that does not
    reach a result. Under it functions are traced again and run more slowly.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.debug_nans():
        ...     try:
        ...         jnp.log(jnp.float32(-1.0))
        ...     except tinyjax.errors.NanError as error:
        ...         print(str(error)[:36])
        a NaN was born in log: log(-1.0). It
    """
    return _named("jax_debug_nans", new_val)


@block
def debug_infs(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``debug_infs`` for a block: an infinity that an operation makes raises ``NanError``.

    Everything else is as for ``debug_nans``. Infinities that were in the data, such as ``-jnp.inf``
    in a mask, are not reported.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.debug_infs():
        ...     try:
        ...         1 / jnp.float32(0.0)
        ...     except tinyjax.errors.NanError as error:
        ...         print(str(error)[:43])
        an infinity was born in div: div(1.0, 0.0).
    """
    return _named("jax_debug_infs", new_val)


@block
def debug_bounds(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``debug_bounds`` for a block: an index out of bounds raises ``OutOfBoundsError``.

    Otherwise what is read there is taken from elsewhere or filled in, and what is written is moved
    or dropped. The error names your line, the index, its axis and the example of a ``vmap``; it
    comes from compiled programs as well. An index with a ``mode``, such as
    ``x.at[i].get(mode="clip")``, may be out of bounds, unless the mode is ``"promise_in_bounds"``;
    so may indices that the library makes itself. Under it functions are traced again.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> third = tinyjax.jit(lambda x, i: x[i])
        >>> third(jnp.arange(3), 3)
        Array(2, dtype=int32)
        >>> with tinyjax.debug_bounds():
        ...     try:
        ...         third(jnp.arange(3), 3)
        ...     except IndexError as error:
        ...         print(str(error)[:46])
        index 3 is out of bounds for axis 0 of size 3.
    """
    return _named("debug_bounds", new_val)


@block
def check_tracer_leaks(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``check_leaks`` for a block: a tracer that outlives its transformation is an error.

    The error comes when the transformation ends, and not when the tracer is used.

    Example:
        >>> import tinyjax
        >>> leaks = []
        >>> with tinyjax.check_tracer_leaks():
        ...     try:
        ...         tinyjax.grad(lambda x: leaks.append(x) or x)(1.0)
        ...     except tinyjax.errors.LeakedTracerError:
        ...         print("a tracer was kept")
        a tracer was kept
    """
    return _named("jax_check_tracer_leaks", new_val)


@block
def checking_leaks() -> AbstractContextManager[None]:
    """Look, in a block, for tracers that outlive their transformation.

    It is ``check_tracer_leaks(True)``.

    Example:
        >>> import tinyjax
        >>> with tinyjax.checking_leaks():
        ...     tinyjax.grad(lambda x: x**2)(3.0)
        Array(6., dtype=float32, weak_type=True)
    """
    return _named("jax_check_tracer_leaks", True)


@block
def enable_checks(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``check_jaxprs`` for a block: every jaxpr that is staged is typechecked.

    That finds faults of rules, such as those of a primitive of your own.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.enable_checks():
        ...     tinyjax.jit(jnp.sin)(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    return _named("jax_enable_checks", new_val)


@block
def log_compiles(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``explain`` for a block: the logger ``tinyjax`` reports why calls trace or compile.

    The message names your line, and the argument whose shape, dtype or value was new. It is the
    same as ``explain_cache_misses``.

    Example:
        >>> import tinyjax
        >>> import logging
        >>> logging.getLogger("tinyjax").addHandler(logging.NullHandler())
        >>> with tinyjax.log_compiles():
        ...     tinyjax.jit(lambda x: x + 1)(0)
        Array(1, dtype=int32, weak_type=True)
    """
    return _named("jax_log_compiles", new_val)


@block
def explain_cache_misses(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``explain`` for a block: the logger ``tinyjax`` reports why calls trace or compile.

    The message names your line, and the argument whose shape, dtype or value was new. It is the
    same as ``log_compiles``.

    Example:
        >>> import tinyjax
        >>> with tinyjax.explain_cache_misses():
        ...     tinyjax.config.settings().explain
        True
    """
    return _named("jax_explain_cache_misses", new_val)


@block
def threefry_partitionable(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``threefry_partitionable`` for a block: which of JAX's two random streams is drawn.

    Of one key they draw different numbers; JAX drew the older ones by default until its release
    0.5.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import random
        >>> key = random.key(0)
        >>> with tinyjax.threefry_partitionable(False):
        ...     older = random.bits(key, (2,))
        >>> jnp.array_equal(older, random.bits(key, (2,)))
        Array(False, dtype=bool)
    """
    return _named("jax_threefry_partitionable", new_val)


@block
def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Run jitted functions operation by operation in a block.

    Then ``print`` and debuggers see data, and errors come from the line at which they occur. Loops
    of ``lax`` run in Python, too. It is slow, and rounds as eager evaluation does.

    Example:
        >>> import tinyjax
        >>> @tinyjax.jit
        ... def f(x):
        ...     print("x is", float(x))
        ...     return 2 * x
        >>> with tinyjax.disable_jit():
        ...     _ = f(3.0)
        x is 3.0
    """
    return _named("jax_disable_jit", disable)


@block
def default_matmul_precision(new_val: str | None) -> AbstractContextManager[None]:
    """Set, in a block, the precision of products on GPUs and TPUs without a ``precision``.

    The processor computes all of them in the full precision of their dtype. So does every platform
    by default: JAX's default is ``"default"`` here, TensorFloat-32 on GPUs and bfloat16 on TPUs.

    Args:
        new_val: a name of ``lax.Precision``, such as ``"tensorfloat32"``, or of
            ``lax.DotAlgorithmPreset``; None for full precision.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> product = tinyjax.jit(lambda x: x @ x)
        >>> with tinyjax.default_matmul_precision("bfloat16_3x"):
        ...     "precision HIGH>" in product.lower(jnp.ones((2, 2))).as_text()
        True
    """
    return _named("jax_default_matmul_precision", new_val)


@block
def numpy_rank_promotion(new_val: RankPromotion) -> AbstractContextManager[None]:
    """Set what happens where an operand with fewer axes is broadcast.

    Args:
        new_val: "allow", as in NumPy; "warn"; or "raise".

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.numpy_rank_promotion("raise"):
        ...     try:
        ...         jnp.ones((2, 2)) - jnp.ones(2)
        ...     except ValueError as error:
        ...         "different numbers of axes" in str(error)
        True
    """
    return _named("jax_numpy_rank_promotion", new_val)


@block
def numpy_dtype_promotion(new_val: DtypePromotion) -> AbstractContextManager[None]:
    """Set whether operands of two dtypes are promoted to a common one.

    Args:
        new_val: "standard"; or "strict", so that they are refused, other than Python numbers.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.numpy_dtype_promotion("strict"):
        ...     jnp.ones(2) + 1, jnp.ones(2).astype(int) + jnp.arange(2)
        (Array([2., 2.], dtype=float32), Array([1, 2], dtype=int32))
    """
    return _named("jax_numpy_dtype_promotion", new_val)


@block
def default_prng_impl(new_val: Generator) -> AbstractContextManager[None]:
    """Choose the generator of raw keys, and of keys that are made without naming one.

    "threefry2x32" is the default; "rbg" and "unsafe_rbg" are the others. Each draws the numbers
    that JAX draws by it. A key keeps its generator.

    Example:
        >>> import tinyjax
        >>> from tinyjax import random
        >>> with tinyjax.default_prng_impl("rbg"):
        ...     random.key(0).dtype == random.key(0, impl="rbg").dtype
        True
    """
    return _named("jax_default_prng_impl", new_val)


@block
def enable_custom_prng(new_val: bool = False) -> AbstractContextManager[None]:
    """Set whether ``PRNGKey`` makes typed keys: it never does, ``random.key`` does.

    Example:
        >>> import tinyjax
        >>> from tinyjax import random
        >>> with tinyjax.enable_custom_prng(False):
        ...     random.PRNGKey(0).dtype
        dtype('uint32')
    """
    return _named("jax_enable_custom_prng", new_val)


@block
def legacy_prng_key(new_val: str = "allow") -> AbstractContextManager[None]:
    """Set the treatment of raw keys: "allow", the only value, accepts them.

    Example:
        >>> import tinyjax
        >>> from tinyjax import random
        >>> with tinyjax.legacy_prng_key("allow"):
        ...     random.bits(random.PRNGKey(0), ()).dtype
        dtype('uint32')
    """
    return _named("jax_legacy_prng_key", new_val)


@block
def debug_key_reuse(new_val: bool = True) -> AbstractContextManager[None]:
    """Set ``debug_key_reuse`` for a block: a typed key that is used twice is an error.

    It finds two uses of one array of keys, in eager code and in ``jit``, loops and branches, and a
    key that every iteration of a loop uses. It does not find uses of equal keys that were made or
    indexed separately, nor uses of raw keys. ``random.fold_in`` does not use a key, and
    ``random.clone`` makes another one.

    Example:
        >>> import tinyjax
        >>> with tinyjax.debug_key_reuse():
        ...     key = tinyjax.random.key(0)
        ...     x = tinyjax.random.normal(key)
        ...     try:
        ...         y = tinyjax.random.uniform(key)
        ...     except tinyjax.errors.KeyReuseError as error:
        ...         print(error.message[:36])
        a key is used by uniform at <doctest
    """
    return _named("jax_debug_key_reuse", new_val)


@block
def softmax_custom_jvp(new_val: bool = True) -> AbstractContextManager[None]:
    """Set whether the derivative of softmax is the stable one: it always is.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> with tinyjax.softmax_custom_jvp(True):
        ...     tinyjax.grad(lambda x: nn.softmax(x)[0])(jnp.array([1000.0, 1000.0]))
        Array([ 0.25, -0.25], dtype=float32)
    """
    return _named("jax_softmax_custom_jvp", new_val)


@block
def jax2tf_associative_scan_reductions(new_val: bool = False) -> AbstractContextManager[None]:
    """Set how a converter to TensorFlow writes reductions: there is none.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.jax2tf_associative_scan_reductions(False):
        ...     jnp.cumsum(jnp.arange(3))
        Array([0, 1, 3], dtype=int32)
    """
    return _named("jax2tf_associative_scan_reductions", new_val)


class UserContext:
    """A setting of the user's; made by ``make_user_context``.

    Called in a ``with`` statement it has another value, in this thread and task only; ``jit`` keeps
    a program for each.

    Example:
        >>> import tinyjax
        >>> tag = tinyjax.make_user_context("none")
        >>> with tag("inner"):
        ...     tag.value
        'inner'
        >>> tag.value
        'none'
    """

    def __init__(self, default_value: Hashable) -> None:
        self._default = default_value
        self._number = next(_contexts)

    @property
    def value(self) -> Any:
        """The value that it has here."""
        return dict(settings().user_contexts).get(self._number, self._default)

    @block
    def __call__(self, value: Hashable) -> AbstractContextManager[Settings]:
        """Set the value for a block.

        Raises:
            ArgumentError: it has no hash.
        """
        try:
            hash(value)
        except TypeError:
            raise ArgumentError(
                f"the value of a user context must have a hash, but got {shortened(value)}."
            ) from None
        return _scope(lambda: _with_context(settings(), self._number, value))


@lru_cache(maxsize=256)
def _with_context(current: Settings, number: int, value: Hashable) -> Settings:
    others = {**dict(current.user_contexts), number: value}
    contexts = tuple(sorted(others.items(), key=lambda item: item[0]))
    return _evolve(current, {"user_contexts": contexts})


_contexts: Final = itertools.count()


def make_user_context(default_value: Hashable = None) -> UserContext:
    """Make a setting of your own: another value makes ``jit`` trace functions again.

    Args:
        default_value: its value outside of all blocks; any that has a hash.

    Example:
        >>> import tinyjax
        >>> width = tinyjax.make_user_context(1)
        >>> @tinyjax.jit
        ... def scaled(x):
        ...     return x * width.value
        >>> float(scaled(3.0))
        3.0
        >>> with width(5):
        ...     float(scaled(3.0))
        15.0
    """
    return UserContext(default_value)


@block
def allow_f16_reductions(new_val: bool = True) -> AbstractContextManager[None]:
    """Set whether sums of 16-bit floats are allowed: they are, and are kept in 32 bits.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.allow_f16_reductions():
        ...     jnp.sum(jnp.ones(4096, jnp.bfloat16))
        Array(4096, dtype=bfloat16)
    """
    return _named("jax_allow_f16_reductions", new_val)


_tracing_is_forbidden: Final = ContextVar("tinyjax_no_tracing", default=False)


@block
@contextmanager
def no_tracing(new_val: bool = True) -> Iterator[None]:
    """Make it an error, for a block, that a jitted function is traced.

    Functions that were called before with arguments of the same types run. It is no setting, and so
    no reason to trace again.

    Args:
        new_val: False allows it again.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> double = tinyjax.jit(lambda x: x * 2)
        >>> double(1.0)
        Array(2., dtype=float32, weak_type=True)
        >>> with tinyjax.no_tracing():
        ...     double(3.0)
        Array(6., dtype=float32, weak_type=True)
    """
    token = _tracing_is_forbidden.set(new_val)
    try:
        yield
    finally:
        _tracing_is_forbidden.reset(token)


def is_tracing_forbidden() -> bool:
    """Return whether ``no_tracing`` is in force here.

    Functions that are jitted then raise an error where they would have to be traced, so that a
    program can be held to what it has compiled.

    Example:
        >>> import tinyjax
        >>> from tinyjax import config
        >>> with tinyjax.no_tracing():
        ...     config.is_tracing_forbidden()
        True
    """
    return _tracing_is_forbidden.get()


@block
def no_execution(new_val: bool = False) -> AbstractContextManager[None]:
    """Set whether running a program is an error: False is the only value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.no_execution(False):
        ...     tinyjax.jit(jnp.sin)(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    return _named("jax_no_execution", new_val)


@block
def array_garbage_collection_guard(new_val: str | None = "allow") -> AbstractContextManager[None]:
    """Set the treatment of arrays in cycles: "allow" is the only value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.array_garbage_collection_guard("allow"):
        ...     jnp.ones(2)
        Array([1., 1.], dtype=float32)
    """
    return _named("jax_array_garbage_collection_guard", new_val)


@block
def thread_guard(new_val: bool = False) -> AbstractContextManager[None]:
    """Set whether one thread alone may use arrays: False is the only value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.thread_guard(False):
        ...     jnp.ones(2)
        Array([1., 1.], dtype=float32)
    """
    return _named("jax_thread_guard", new_val)


@block
def transfer_guard(new_val: Transfers | None) -> AbstractContextManager[None]:
    """Set the treatment of transfers of data to devices and between them, in a block.

    A transfer is implicit where a function receives data of NumPy's or Python's in place of an
    array, or arrays that it has to move to several devices. It is also implicit where a function
    needs constants of its own on the device in JAX, as indexing and ``jnp.zeros`` do. It is
    explicit by ``device_put``. Within jitted functions there are none. Under a guard functions are
    traced again, and run more slowly.

    Args:
        new_val: "allow"; "log", so that the logger ``tinyjax`` is told of implicit ones;
            "disallow", so that these raise ``TransferError``; "log_explicit" or
            "disallow_explicit", the same of explicit ones as well; None is "allow".

    Example:
        >>> import numpy as np, tinyjax
        >>> double = tinyjax.jit(lambda x: 2 * x)
        >>> x = np.ones(2, np.float32)
        >>> with tinyjax.transfer_guard("disallow"):
        ...     double(tinyjax.device_put(x))
        ...     try:
        ...         double(x)
        ...     except tinyjax.errors.TransferError as error:
        ...         print("Disallowed host-to-device transfer" in error.message)
        Array([2., 2.], dtype=float32)
        True
    """
    return _named("jax_transfer_guard", new_val)


@block
def transfer_guard_host_to_device(new_val: Transfers | None) -> AbstractContextManager[None]:
    """Set the treatment of transfers to the device; see ``transfer_guard``.

    The values are "allow", "log", "disallow", and with "_explicit" those that ``device_put`` makes
    as well.

    Example:
        >>> import numpy as np
        >>> import tinyjax
        >>> with tinyjax.transfer_guard_host_to_device("allow"):
        ...     tinyjax.device_put(np.ones(2))
        Array([1., 1.], dtype=float64)
        >>> with tinyjax.transfer_guard_host_to_device("disallow"):
        ...     try:
        ...         tinyjax.jit(lambda x: x)(np.ones(2))
        ...     except tinyjax.errors.TransferError as error:
        ...         print("Disallowed host-to-device transfer" in error.message)
        True
    """
    return _named("jax_transfer_guard_host_to_device", new_val)


@block
def transfer_guard_device_to_device(new_val: Transfers | None) -> AbstractContextManager[None]:
    """Set the treatment of transfers between devices; see ``transfer_guard``.

    With one device there are none. The values are "allow", "log", "disallow", and with "_explicit"
    those that ``device_put`` makes as well.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.transfer_guard_device_to_device("disallow"):
        ...     jnp.ones(2) + 1
        Array([2., 2.], dtype=float32)
    """
    return _named("jax_transfer_guard_device_to_device", new_val)


@block
def transfer_guard_device_to_host(new_val: Transfers | None) -> AbstractContextManager[None]:
    """Set the treatment of transfers to the host: on the CPU reading an array is none.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.transfer_guard_device_to_host("disallow"):
        ...     float(jnp.ones(()))
        1.0
    """
    return _named("jax_transfer_guard_device_to_host", new_val)


def config_with_absl() -> None:
    """Declare JAX's settings as flags of the package absl, which sets them when its app starts.

    Raises:
        ModuleNotFoundError: absl is not installed (absl-py).

    Example:
        >>> from tinyjax import config
        >>> from importlib.util import find_spec
        >>> if find_spec("absl"):
        ...     config.config_with_absl()
    """
    if not _flags:
        flags: Any = import_module("absl.flags")
        for name in (*RENAMED, *FIXED):
            now = read(name)
            define = flags.DEFINE_string
            if isinstance(now, int):
                define = flags.DEFINE_bool if isinstance(now, bool) else flags.DEFINE_integer
            _flags[name] = define(name, now, "see tinyjax.config")
        app: Any = import_module("absl.app")
        app.call_after_init(_set_as_flags)


def parse_flags_with_absl() -> None:
    """Declare flags as ``config_with_absl``, and read those given to this program.

    Only arguments that begin with ``--jax`` are read, and none behind ``--``.

    Raises:
        ModuleNotFoundError: absl is not installed (absl-py).
        ArgumentError: a setting does not take the value given.

    Example:
        >>> from tinyjax import config
        >>> from importlib.util import find_spec
        >>> if find_spec("absl"):
        ...     config.parse_flags_with_absl()
    """
    config_with_absl()
    flags: Any = import_module("absl.flags")
    arguments = itertools.takewhile(lambda x: x != "--", sys.argv)
    flags.FLAGS(["", *(x for x in arguments if x.startswith("--jax"))], known_only=True)
    _set_as_flags()


#: The flags that have been declared.
_flags: Final[dict[str, Any]] = {}


def _set_as_flags() -> None:
    for name, flag in _flags.items():
        if flag.present:
            setting: Any = name
            update(setting, flag.value)


heed_environment()
for _name in _NAMES:
    # what is empty is not set, as in the shell's ${NAME:-...}
    if _text := os.environ.get(_variable := f"TINYJAX_{_name.upper()}"):
        _heed(_variable, _name, _text, warn=False)


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake

    def __getattr__(name: str) -> Any:
        if name in RENAMED or name in FIXED or name in IDLE:
            return read(name)
        if name == "x64_enabled":
            return read("jax_enable_x64")
        raise AttributeError(f"module 'tinyjax.config' has no attribute '{name}'")

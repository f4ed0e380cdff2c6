"""Settings: process-wide by ``update``, local to a block by ``scoped``, or from the environment.

A setting called ``name`` is read from ``TINYJAX_NAME`` when the package is imported. All settings
form one frozen record, so that a compiled function can remember the record it was traced under.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import attrs

from tinyjax.errors import ArgumentError

DefaultDtypes = Literal["float32", "float64"]


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    match str(value).lower():
        case "1" | "true" | "on" | "yes":
            return True
        case "0" | "false" | "off" | "no" | "":
            return False
        case _:
            raise ArgumentError(f"a boolean setting takes True or False, but got {value!r}.")


def _default_dtypes(value: object) -> DefaultDtypes:
    match getattr(value, "__name__", None) or str(value):
        case "float32":
            return "float32"
        case "float64":
            return "float64"
        case _:
            raise ArgumentError(f"default_dtypes takes float32 or float64, but got {value!r}.")


def _folder(value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentError(f"cache_dir takes the path of a folder, but got {value!r}.")
    path = os.path.expanduser(os.fspath(value))
    # "" is no folder; a relative path is meant from where we are now
    return os.path.abspath(path) if path else ""


def _size(value: object) -> int:
    try:
        size = int(str(value))
    except ValueError:
        size = -1
    if size < 0:
        raise ArgumentError(f"cache_max_bytes takes a number of bytes, but got {value!r}.")
    return size


@attrs.frozen(cache_hash=True)
class Settings:
    """All settings at one moment.

    Attributes:
        default_dtypes: ``"float32"`` (with int32 and complex64) or ``"float64"`` (with int64 and
            complex128): the types of Python scalars and of constructors without a dtype.
        threefry_partitionable: which of JAX's two random streams ``tinyjax.random`` draws.
        check_leaks: look for tracers that outlive their transformation as soon as it ends.
        check_jaxprs: typecheck every jaxpr that is staged.
        debug_nans: raise ``NanError`` where a NaN that an operation gave birth to reaches a result,
            naming the line, the direction, the turns of loops and the lanes of ``vmap``.
        explain: tell the logger ``tinyjax`` why a call of a jitted function traces or compiles.
        cache_dir: the folder in which compiled programs are kept for other processes; ``""`` where
            they are not.
        cache_max_bytes: what the programs in that folder may take.
        typecheck: instrument the whole package with runtime type checks when it is imported.
    """

    default_dtypes: DefaultDtypes = attrs.field(default="float32", converter=_default_dtypes)
    threefry_partitionable: bool = attrs.field(default=True, converter=_boolean)
    check_leaks: bool = attrs.field(default=False, converter=_boolean)
    check_jaxprs: bool = attrs.field(default=False, converter=_boolean)
    debug_nans: bool = attrs.field(default=False, converter=_boolean)
    explain: bool = attrs.field(default=False, converter=_boolean)
    cache_dir: str = attrs.field(default="", converter=_folder)
    cache_max_bytes: int = attrs.field(default=1 << 29, converter=_size)
    typecheck: bool = attrs.field(default=False, converter=_boolean)


_NAMES = tuple(field.name for field in attrs.fields(Settings))


def _from_environment() -> Settings:
    found: dict[str, Any] = {}
    for name in _NAMES:
        value = os.environ.get(f"TINYJAX_{name.upper()}")
        if value is not None:
            found[name] = value
    return Settings(**found)


class _Process:
    """What holds for the whole process."""

    settings: Settings = _from_environment()


_local: ContextVar[Settings | None] = ContextVar("tinyjax_settings", default=None)


def settings() -> Settings:
    """Return the settings in force here."""
    return _local.get() or _Process.settings


#: Equal records are one object, so that whoever remembers one compares by identity.
_records: dict[Settings, Settings] = {_Process.settings: _Process.settings}


def _evolve(current: Settings, changes: dict[str, Any]) -> Settings:
    for name in changes:
        if name not in _NAMES:
            raise ArgumentError(
                f"there is no setting '{name}'. The settings are: {', '.join(_NAMES)}."
            )
    found = attrs.evolve(current, **changes)
    return _records.setdefault(found, found)


#: Puts a change of settings into force elsewhere, in this thread or task; returns what undoes it.
Follower = Callable[[Settings], Callable[[], None]]

_followers: list[Follower] = []


def follow(follower: Follower) -> None:
    """Call a function with the settings now in force here, and whenever they change."""
    _followers.append(follower)
    follower(settings())


def update(name: str, value: object) -> None:
    """Change one setting for the whole process.

    Example:
        >>> from tinyjax import config
        >>> config.update("threefry_partitionable", True)

    Raises:
        ArgumentError: there is no such setting, or it does not take this value.
    """
    _Process.settings = _evolve(_Process.settings, {name: value})
    local = _local.get()
    if local is not None:
        _local.set(_evolve(local, {name: value}))
    for follower in _followers:
        follower(settings())


@contextmanager
def scoped(**changes: object) -> Iterator[Settings]:
    """Change settings within a ``with`` block, in this thread or task only.

    Example:
        >>> from tinyjax import config
        >>> with config.scoped(default_dtypes="float64") as settings:
        ...     settings.default_dtypes
        'float64'

    Raises:
        ArgumentError: there is no such setting, or it does not take this value.
    """
    current = _evolve(settings(), changes)
    token = _local.set(current)
    undo = [follower(current) for follower in _followers]
    try:
        yield current
    finally:
        for restore in undo:
            restore()
        _local.reset(token)


@contextmanager
def default_dtypes(dtype: object) -> Iterator[Settings]:
    """Make ``float32`` or ``float64`` (and their int and complex kin) the default in a block.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.default_dtypes(jnp.float64):
        ...     jnp.ones(2).dtype
        dtype('float64')
    """
    with scoped(default_dtypes=dtype) as current:
        yield current

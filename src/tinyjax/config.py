"""Settings: process-wide by ``update``, local to a block by ``scoped``, or from the environment.

A setting called ``name`` is read from ``TINYJAX_NAME`` when the package is imported. All settings
form one frozen record, so that a compiled function can remember the record it was traced under.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
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


@attrs.frozen(cache_hash=True)
class Settings:
    """All settings at one moment.

    Attributes:
        default_dtypes: ``"float32"`` (with int32 and complex64) or ``"float64"`` (with int64 and
            complex128): the types of Python scalars and of constructors without a dtype.
        threefry_partitionable: which of JAX's two random streams ``tinyjax.random`` draws.
        check_leaks: look for tracers that outlive their transformation as soon as it ends.
        check_jaxprs: typecheck every jaxpr that is staged.
        typecheck: instrument the whole package with runtime type checks when it is imported.
    """

    default_dtypes: DefaultDtypes = attrs.field(default="float32", converter=_default_dtypes)
    threefry_partitionable: bool = attrs.field(default=True, converter=_boolean)
    check_leaks: bool = attrs.field(default=False, converter=_boolean)
    check_jaxprs: bool = attrs.field(default=False, converter=_boolean)
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


def _evolve(current: Settings, changes: dict[str, Any]) -> Settings:
    for name in changes:
        if name not in _NAMES:
            raise ArgumentError(
                f"there is no setting '{name}'. The settings are: {', '.join(_NAMES)}."
            )
    return attrs.evolve(current, **changes)


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
    try:
        yield current
    finally:
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

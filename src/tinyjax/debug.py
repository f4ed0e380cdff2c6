"""Looking into programs while they run: ``tinyjax.debug``.

All functions work in eager and in compiled code and under every transformation: ``jit`` keeps the
call, ``vmap`` makes it once for each example, and a derivative makes it once, with the primals.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from string import Formatter
from typing import Any

from tinyjax import tree
from tinyjax.callbacks import debug_callback
from tinyjax.core.array import Array
from tinyjax.core.jaxpr import Effect
from tinyjax.errors import ArgumentError, TinyjaxError
from tinyjax.frames import user_frame

__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "log", "print"]


class DebugEffect(Effect):
    """The effect of ``callback`` and kin, for signatures."""


class OrderedDebugEffect(Effect):
    """The effect of ordered ones, for signatures."""


def callback(
    callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any
) -> None:
    """Call a Python function with values of the program, and ignore its results.

    Args:
        callback: takes NumPy arrays, read-only, in place of the arrays among the arguments.
        args: its arguments: arrays in any containers, and other objects unchanged.
        ordered: whether to keep the program's order among ordered calls.
        kwargs: more arguments for ``callback``.

    Raises:
        ArgumentError: ``callback`` is not callable.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> seen = []
        >>> def f(x):
        ...     tinyjax.debug.callback(lambda x: seen.append(float(x)), x)
        ...     return x**2
        >>> tinyjax.grad(tinyjax.jit(f))(3.0)
        Array(6., dtype=float32, weak_type=True)
        >>> seen
        [3.0]
    """
    debug_callback(callback, args, kwargs, ordered)


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print values of the program when it runs.

    Args:
        fmt: a format string, with a field such as ``{}`` or ``{x:.3f}`` for every argument; not an
            f-string, which would be filled in while the program is traced.
        args: arrays, and other objects unchanged.
        ordered: whether to keep the program's order among ordered calls.
        kwargs: the same for fields with names.

    Raises:
        ArgumentError: the fields of ``fmt`` are not those of the arguments.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def f(x):
        ...     tinyjax.debug.print("x = {x}, of {}", x.ndim, x=x)
        ...     return x + 1
        >>> _ = f(jnp.array([1.0, 2.0]))
        x = [1. 2.], of 1
    """
    if not isinstance(fmt, str):
        raise ArgumentError(
            f"debug.print takes a format string first, but got {type(fmt).__name__}. Write "
            "debug.print('x = {}', x)."
        )
    _check_format(fmt, args, kwargs)
    debug_callback(_write, (fmt, *args), kwargs, ordered)


def log(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Log values of the program when it runs: to the logger ``tinyjax.debug``, at the level INFO.

    Args:
        fmt: a format string, as for ``print``.
        args: arrays, and other objects unchanged.
        ordered: whether to keep the program's order among ordered calls.
        kwargs: the same for fields with names.

    Raises:
        ArgumentError: the fields of ``fmt`` are not those of the arguments.

    Example:
        >>> import logging, sys, tinyjax
        >>> handler = logging.StreamHandler(sys.stdout)
        >>> logger = logging.getLogger("tinyjax.debug")
        >>> logger.addHandler(handler); logger.setLevel("INFO")
        >>> @tinyjax.jit
        ... def f(x):
        ...     tinyjax.debug.log("x = {}", x)
        ...     return x + 1
        >>> _ = f(1.0)
        x = 1.0
        >>> logger.removeHandler(handler)
    """
    if not isinstance(fmt, str):
        raise ArgumentError(f"debug.log takes a format string first, but got {type(fmt).__name__}.")
    _check_format(fmt, args, kwargs)
    debug_callback(_tell, (fmt, *args), kwargs, ordered)


def _tell(fmt: str, /, *args: object, **kwargs: object) -> None:
    logging.getLogger("tinyjax.debug").info("%s", fmt.format(*args, **kwargs))


def _write(fmt: str, /, *args: object, **kwargs: object) -> None:
    sys.stdout.write(fmt.format(*args, **kwargs) + "\n")


def _check_format(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check that every field has an argument, and every argument a field."""
    used: set[str] = set()
    try:
        _Fields(used).vformat(fmt, args, kwargs)
    except (ValueError, IndexError, KeyError) as error:
        raise ArgumentError(
            f"debug.print cannot fill in the format {fmt!r} from {len(args)} positional arguments "
            f"and the names {sorted(kwargs)}: {type(error).__name__}: {error}."
        ) from None
    unused = [name for name in (*map(str, range(len(args))), *kwargs) if name not in used]
    if unused:
        raise ArgumentError(
            f"debug.print was given the arguments {', '.join(unused)}, which the format {fmt!r} "
            "does not use. Write a field for each, such as '{}', and no f-string, which is filled "
            "in when the program is traced."
        )


class _Fields(Formatter):
    """Goes through a format string without formatting, and notes the arguments it asks for."""

    def __init__(self, used: set[str]) -> None:
        self.used = used

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[str, str]:
        name = field_name.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0]
        self.get_value(int(name) if name.isdigit() else name, args, kwargs)
        self.used.add(name)
        return "", name

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value


def breakpoint(*, ordered: bool = False) -> None:
    """Stop in Python's debugger when the program gets here, with the caller's variables.

    Arrays among the variables are NumPy arrays then, so this works in compiled code too. It starts
    the debugger of ``sys.breakpointhook``.

    Args:
        ordered: whether to keep the program's order among ordered calls.

    Example:
        >>> import sys, tinyjax
        >>> def hook():
        ...     sys.stdout.write(f"x = {sys._getframe(1).f_locals['x']}")
        >>> @tinyjax.jit
        ... def f(x):
        ...     tinyjax.debug.breakpoint()
        ...     return x + 1
        >>> sys.breakpointhook = hook
        >>> _ = f(2.0)
        x = 2.0
        >>> sys.breakpointhook = sys.__breakpointhook__
    """
    frame = user_frame()
    variables = {} if frame is None else frame.f_locals
    arrays = {name: value for name, value in variables.items() if _holds_array(value)}
    others = {name: value for name, value in variables.items() if name not in arrays}
    names = {} if frame is None else frame.f_globals

    def stop(found: dict[str, Any]) -> None:
        # so that the debugger stops in a frame that has the caller's variables
        exec("__import__('sys').breakpointhook()", names, {**others, **found})

    debug_callback(stop, (arrays,), {}, ordered)


def _holds_array(value: object) -> bool:
    try:
        return any(isinstance(leaf, Array) for leaf in tree.leaves(value))
    except TinyjaxError:  # a container that cannot be taken apart
        return False

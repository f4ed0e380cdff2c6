"""Looking into programs while they run: ``tinyjax.debug``.

All functions work in eager and in compiled code and under every transformation: ``jit`` keeps the
call, ``vmap`` makes it once for each example, and a derivative makes it once, with the primals.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from string import Formatter
from typing import Any, ParamSpec, TextIO, TypedDict, TypeVar, Unpack, overload

from tinyjax import config, dtypes, errors, tree
from tinyjax._base import frames, tracebacks
from tinyjax._base.display import ArrayPicture
from tinyjax._base.lazy import answer_for
from tinyjax._extensions.callbacks import debug_callback
from tinyjax._extensions.inspecting import Printer, run_printing
from tinyjax._extensions.parallel.sharding import Sharding, holders
from tinyjax._extensions.progress import runs
from tinyjax.core.tracing import calling, checking, jaxpr as jx, staging
from tinyjax.core.values import Array, concrete, operands as opd

answer_for(
    __name__,
    "DebugEffect OrderedDebugEffect breakpoint callback inspect inspect_array_sharding log print "
    "progress visualize_array visualize_array_sharding visualize_sharding",
)


P = ParamSpec("P")
R = TypeVar("R")


class DebugEffect(jx.Effect):
    """The effect of ``callback`` and kin, for signatures: jaxprs name the primitive instead.

    Example:
        >>> import tinyjax
        >>> issubclass(tinyjax.debug.DebugEffect, tinyjax.extend.core.Effect)
        True
    """


class OrderedDebugEffect(jx.Effect):
    """The effect of ordered callbacks, for signatures: jaxprs name the primitive instead.

    Example:
        >>> import tinyjax
        >>> issubclass(tinyjax.debug.OrderedDebugEffect, tinyjax.extend.core.Effect)
        True
    """


@overload
def callback(
    callback: None = None, *, ordered: bool = False, partitioned: bool = False
) -> Callable[..., None]: ...


@overload
def callback(
    callback: Callable[..., Any],
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> None: ...


def callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Call a Python function with values of the program, and ignore its results.

    Without a function it returns one that takes the function and its arguments, all of them the
    function's: ``callback(ordered=True)(fun, *args, **kwargs)``.

    Args:
        callback: takes NumPy arrays, read-only, in place of the arrays among the arguments.
        args: its arguments: arrays in any containers, and other objects unchanged.
        ordered: whether to keep the program's order among ordered calls.
        partitioned: of no effect: an array on several devices is handed over whole.
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
    return _now_or_later(partial(_call_back, ordered), callback, args, kwargs)


class PrintOptions(TypedDict, total=False):
    """Options of ``print`` and ``log``."""

    ordered: bool
    partitioned: bool
    skip_format_check: bool


@overload
def print(fmt: None = None, **options: Unpack[PrintOptions]) -> Callable[..., None]: ...


@overload
def print(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None: ...


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Print values of the program when it runs.

    Without a format it returns a function that takes the format and its arguments, all of them the
    format's: ``print(ordered=True)("x = {x}", x=x)``.

    Args:
        fmt: a format string, with a field such as ``{}`` or ``{x:.3f}`` for every argument; not an
            f-string, which would be filled in while the program is traced.
        args: arrays, and other objects unchanged.
        ordered: whether to keep the program's order among ordered calls.
        partitioned: of no effect: an array on several devices is printed whole.
        skip_format_check: whether the fields may be others than the arguments, of which those in
            excess are not printed.
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
    say = partial(_call_with_format, "print", _write, ordered, skip_format_check)
    return _now_or_later(say, fmt, args, kwargs)


@overload
def log(fmt: None = None, **options: Unpack[PrintOptions]) -> Callable[..., None]: ...


@overload
def log(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None: ...


def log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Log values of the program when it runs: to the logger ``tinyjax.debug``, at the level INFO.

    Args:
        fmt: a format string, as for ``print``; without one it returns a function, as ``print``.
        args: arrays, and other objects unchanged.
        ordered: whether to keep the program's order among ordered calls.
        partitioned: of no effect: an array on several devices is logged whole.
        skip_format_check: as for ``print``.
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
    say = partial(_call_with_format, "log", _tell, ordered, skip_format_check)
    return _now_or_later(say, fmt, args, kwargs)


def _now_or_later(
    call: Callable[..., None], first: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[..., None] | None:
    """Call a function with its options, or return it for a later call if there are only options."""
    if first is None and not args and not kwargs:
        return call
    call(first, *args, **kwargs)
    return None


def _call_back(ordered: bool, callback: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    debug_callback(callback, args, kwargs, ordered)


def _call_with_format(
    name: str,
    say: Callable[..., None],
    ordered: bool,
    skip_format_check: bool,
    fmt: object,
    /,
    *args: Any,
    **kwargs: Any,
) -> None:
    if not isinstance(fmt, str):
        raise errors.ArgumentError(
            f"debug.{name} takes a format string first, but got {errors.type_name(fmt)}. Write "
            f"debug.{name}('x = {{}}', x)."
        )
    if not skip_format_check:
        _check_format(name, fmt, args, kwargs)
    debug_callback(say, (fmt, *args), kwargs, ordered)


def _tell(fmt: str, /, *args: object, **kwargs: object) -> None:
    logging.getLogger("tinyjax.debug").info("%s", fmt.format(*args, **kwargs))


def _write(fmt: str, /, *args: object, **kwargs: object) -> None:
    sys.stdout.write(fmt.format(*args, **kwargs) + "\n")


def _check_format(name: str, fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check that every field has an argument, and every argument a field."""
    used: set[str] = set()
    try:
        _Fields(used).vformat(fmt, args, kwargs)
    except (ValueError, IndexError, KeyError) as error:
        raise errors.ArgumentError(
            f"debug.{name} cannot fill in the format {fmt!r} from {len(args)} positional arguments "
            f"and the names {sorted(kwargs)}: {type(error).__name__}: {error}."
        ) from None
    unused = [name for name in (*map(str, range(len(args))), *kwargs) if name not in used]
    if unused:
        raise errors.ArgumentError(
            f"debug.{name} was given the arguments {', '.join(unused)}, which the format {fmt!r} "
            "does not use. Write a field for each, such as '{}', and no f-string, which is filled "
            "in when the program is traced."
        )


class _Fields(Formatter):
    """A formatter that only records the arguments that a format string uses."""

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
    frame = frames.user_frame()
    variables = {} if frame is None else frame.f_locals
    arrays = {name: value for name, value in variables.items() if _holds_array(value)}
    others = {name: value for name, value in variables.items() if name not in arrays}
    names = {} if frame is None else frame.f_globals
    code = compile("__import__('sys').breakpointhook()", "<breakpoint>", "exec")
    if frame is not None:  # so that the debugger shows the caller's lines
        caller = frame.f_code
        code = code.replace(
            co_filename=caller.co_filename, co_name=caller.co_name, co_firstlineno=frame.f_lineno
        )

    def stop(variables: dict[str, Any]) -> None:
        # so that the debugger stops in a frame that has the caller's variables
        exec(code, names, {**others, **variables})

    debug_callback(stop, (arrays,), {}, ordered)


def _holds_array(value: object) -> bool:
    try:
        return any(isinstance(leaf, Array) for leaf in tree.leaves(value))
    except errors.TinyjaxError:  # a container that cannot be taken apart
        return False


# Values


def inspect(fun: Callable[P, R]) -> Callable[P, R]:
    """Make a function that prints each of its lines with the values that the line computes.

    Lines of jitted functions, and of the bodies of loops and branches, are printed when they run.
    The function is traced when it is called, so a line that Python runs several times is printed
    several times. It works under every transformation, as ``print`` does.

    Args:
        fun: a function of trees of arrays.

    Raises:
        ConcretizationError: the function needs the data of an argument while it is traced.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def f(x):
        ...     y = jnp.sin(x)
        ...     return y * 2
        >>> _ = tinyjax.debug.inspect(f)(jnp.zeros(3))  # doctest: +ELLIPSIS
        f (...)
            2  y = jnp.sin(x)
               → [0., 0., 0.]
            3  return y * 2
               → [0., 0., 0.]
    """

    @partial(tracebacks.folded, named=fun)
    def inspected(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, in_tree = tree.flatten_arguments(args, kwargs)
        arrays = calling.as_arrays(leaves, fun, in_tree)
        flat = calling.FlatFunction(fun, in_tree)
        staged = staging.stage(flat, [x.aval for x in arrays], frames.Applied("inspect", fun))
        outs = run_printing(staged.jaxpr, [*staged.consts, *arrays], Printer())
        result: R = tree.unflatten(flat.out_tree, outs)
        return result

    return inspected


def visualize_array(arr: Any) -> None:
    """Show an array: its type, its range, and a picture of letters, or one of HTML in a notebook.

    In a compiled function it is shown when the program runs.

    Args:
        arr: an array; of one with more than two axes the first matrix is shown.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.debug.visualize_array(jnp.tril(jnp.ones((4, 8))))
        float32[4,8], 128 bytes, from 0 to 1
        █░░░░░░░
        ██░░░░░░
        ███░░░░░
        ████░░░░
    """
    debug_callback(_draw, (opd.as_array(arr),), {}, False)


def _draw(x: dtypes.HostArray) -> None:
    shown = ArrayPicture(x)
    if runs.in_notebook():
        import_module("IPython.display").display(shown)
    else:
        sys.stdout.write(f"{shown!r}\n")


# Progress


@config.block
@contextmanager
def progress(*, file: TextIO | None = None, after: float = runs.AFTER) -> Iterator[None]:
    """Show how far compiled loops have come, in a block or in a function that this decorates.

    Every ``scan``, ``fori_loop``, ``while_loop`` and ``map`` that starts in the block has a bar;
    one with an unknown number of iterations has a counter. Of nested loops the outermost has it.
    Under ``vmap`` there is one bar for all examples. A derivative has one bar for the forward pass
    and one for the backward pass. Ctrl-C stops a loop that has a bar.

    Bars are drawn in a notebook, in a terminal on standard error (by rich, where it is installed),
    or where you say; nowhere else. A loop reports at most ten times a second, which costs less than
    1% where an iteration takes 100 us. Jitted functions are traced and compiled again for the
    block, once. The setting ``progress`` shows the bars of a whole process. Loops on several
    devices have none.

    Args:
        file: a stream to write to, a terminal or not.
        after: after how many seconds of a loop its bar appears.

    Example:
        >>> import io, tinyjax
        >>> from tinyjax import lax
        >>> @tinyjax.jit
        ... def train(x):
        ...     return lax.fori_loop(0, 1000, lambda i, x: 0.5 * x + 1.0, x)
        >>> output = io.StringIO()
        >>> with tinyjax.debug.progress(file=output, after=0):
        ...     _ = train(3.0)
        >>> print(output.getvalue().splitlines()[-1])
        fori_loop of ...: 100% ████████████████████████ 1,000/1,000 [00:00, ...]
    """
    display = runs.choose_display(file)
    if display is None:  # nobody would see a bar, so nothing is compiled for it
        yield
        return
    with runs.shown_on(runs.Screen(display, after)), config.scoped(progress=True):
        yield


# Where arrays lie


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with how each of several arrays lies on devices.

    Args:
        value: arrays with data, in any containers.
        callback: takes a sharding.

    Raises:
        ShardingError: an array is traced: XLA chooses where it lies when the program is compiled.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> shardings = []
        >>> tinyjax.debug.inspect_array_sharding(jnp.ones(3), callback=shardings.append)
        >>> shardings
        [SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)]
    """
    for leaf in tree.leaves(value):
        callback(_sharding_of(opd.as_array(leaf), "inspect_array_sharding"))


@checking.explained
def visualize_array_sharding(arr: Array, **kwargs: Any) -> None:
    """Print which device holds which part of an array, as a picture.

    Args:
        arr: an array with data, of one axis or two.
        kwargs: as for ``visualize_sharding``.

    Raises:
        ShardingError: the array is traced, or has no axes or more than two.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.debug.visualize_array_sharding(jnp.ones((4, 4)))
        ┌───────┐
        │ CPU 0 │
        └───────┘
    """
    visualize_sharding(arr.shape, _sharding_of(arr, "visualize_array_sharding"), **kwargs)


@checking.explained
def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = False,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: object = None,
) -> None:
    """Print which device holds which part of an array, as a picture.

    Args:
        shape: the shape of the array, which has one axis or two.
        sharding: how the array lies.
        use_color: of no effect, as are ``scale`` and ``color_map``.
        scale: see ``use_color``.
        min_width: how wide a part of the picture is at least, in letters, with its frame.
        max_width: how wide the picture is at most; longer lists of devices are cut off.
        color_map: see ``use_color``.

    Raises:
        ShardingError: the array has no axes or more than two, or cannot lie so.

    Example:
        >>> import tinyjax
        >>> from tinyjax import NamedSharding, P
        >>> rows = NamedSharding(tinyjax.make_mesh((2,), ("rows",)), P("rows"))
        >>> tinyjax.debug.visualize_sharding((4, 4), rows)
        ┌───────┐
        │ CPU 0 │
        ├───────┤
        │ CPU 1 │
        └───────┘
    """
    if len(shape) not in (1, 2):
        raise errors.ShardingError(
            f"visualize_sharding shows arrays of one axis or two, but the shape is {tuple(shape)}. "
            "sharding.devices_indices_map(shape) tells the same of any array."
        )
    cells = holders(sharding, shape)
    rows: list[list[str]] = cells.reshape(-1, cells.shape[-1]).tolist()
    count, widest_name = len(rows[0]), max(len(name) for row in rows for name in row)
    widest = max(1, (max_width - 1) // count - 1)
    width = min(widest, max(min_width - 2, widest_name))
    bar = "─" * width
    lines = [f"├{'┼'.join([bar] * count)}┤"] * (2 * len(rows) + 1)
    lines[0], lines[-1] = f"┌{'┬'.join([bar] * count)}┐", f"└{'┴'.join([bar] * count)}┘"
    lines[1::2] = [f"│{'│'.join([name[:width].center(width) for name in row])}│" for row in rows]
    sys.stdout.write("\n".join(lines) + "\n")


def _sharding_of(x: Array, function: str) -> Sharding:
    if isinstance(x, concrete.ConcreteArray | concrete.PlacedArray):
        return x.sharding
    raise errors.ShardingError(
        f"{function} was called within a program that is traced, where XLA has not chosen yet how "
        "values lie. Return the value and look at its sharding."
    )

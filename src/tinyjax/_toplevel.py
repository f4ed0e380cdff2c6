"""The names of JAX's top level besides transformations: devices, scopes, and live arrays."""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from tinyjax import config, errors
from tinyjax._base import frames
from tinyjax.core import api, jit, xla
from tinyjax.core.api import arguments
from tinyjax.core.devices import (
    Device,
    Placement,
    check_default,
    check_platform,
    default_platform,
    devices_of,
    devices_on,
    group,
)
from tinyjax.core.tracing import calling, checking, staging, trace as tr
from tinyjax.core.values import Array, avals as av, concrete, integers as ints, operands as opd

if TYPE_CHECKING:
    from tinyjax._extensions.state import references

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def devices(backend: str | None = None) -> list[Device]:
    """Return the devices of all processes.

    Each has as many as the setting ``num_cpu_devices`` divides its CPU into.

    Args:
        backend: the platform; "cpu", or None for the default one.

    Raises:
        PlatformError: there is no such platform, which is a RuntimeError, as in JAX.

    Example:
        >>> import tinyjax
        >>> tinyjax.devices()[0]
        CpuDevice(id=0)
    """
    return [*devices_on(backend)]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Return the devices of one process.

    Args:
        process_index: the number of the process; by default this one.
        backend: the platform; "cpu", or None for the default one.
        host_id: the number of the process, by an old name.

    Raises:
        ArgumentError: there is no such process.
        PlatformError: there is no such platform.

    Example:
        >>> import tinyjax
        >>> len(tinyjax.local_devices(backend="cpu")) >= 1
        True
    """
    number = group().process_index if host_id is None else host_id
    number = ints.integer(number if process_index is None else process_index, "process_index")
    check_platform(backend)
    if not 0 <= number < group().size:
        raise errors.ArgumentError(
            f"local_devices: there is no process {errors.shortened(number)}: the processes are "
            f"{process_indices()}."
        )
    return devices_of(number, backend)


def device_count(backend: str | None = None) -> int:
    """Return the number of devices of all processes.

    Args:
        backend: the platform; None for the default one.

    Raises:
        PlatformError: there is no such platform.

    Example:
        >>> import tinyjax
        >>> tinyjax.device_count() == len(tinyjax.devices())
        True
    """
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Return the number of devices of this process.

    Args:
        backend: the platform; None for the default one.

    Raises:
        PlatformError: there is no such platform.

    Example:
        >>> import tinyjax
        >>> tinyjax.local_device_count() == len(tinyjax.local_devices())
        True
    """
    return len(local_devices(backend=backend))


def host_count(backend: str | None = None) -> int:
    """Return the number of processes, by an old name: see ``process_count``.

    Example:
        >>> import tinyjax
        >>> tinyjax.host_count()
        1
    """
    return process_count(backend)


def host_id(backend: str | None = None) -> int:
    """Return the number of this process, by an old name: see ``process_index``.

    Example:
        >>> import tinyjax
        >>> tinyjax.host_id()
        0
    """
    return process_index(backend)


def host_ids(backend: str | None = None) -> list[int]:
    """Return the numbers of all processes, by an old name: see ``process_indices``.

    Example:
        >>> import tinyjax
        >>> tinyjax.host_ids()
        [0]
    """
    return process_indices(backend)


def copy_to_host_async(x: T) -> T:
    """Start copying arrays to the host, where they are: on the CPU nothing is copied.

    Args:
        x: arrays in any containers.

    Returns:
        The same.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = jnp.ones(2)
        >>> tinyjax.copy_to_host_async(x) is x
        True
    """
    return x


def process_index(backend: str | None = None) -> int:
    """Return the number of this process: 0, unless it is one of several.

    ``tinyjax.distributed`` makes several processes one.

    Example:
        >>> import tinyjax
        >>> tinyjax.process_index()
        0
    """
    check_platform(backend)
    return group().process_index


def process_count(backend: str | None = None) -> int:
    """Return the number of processes that ``tinyjax.distributed`` has joined: 1 without it.

    A process may have several devices. Programs that run on all of them must be started by all
    processes, in the same order.

    Example:
        >>> import tinyjax
        >>> tinyjax.process_count()
        1
    """
    check_platform(backend)
    return group().size


def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of all processes.

    They count from 0; ``process_index`` is that of this one.

    Example:
        >>> import tinyjax
        >>> tinyjax.process_indices()
        [0]
    """
    check_platform(backend)
    return [*range(group().size)]


def default_backend() -> str:
    """Return the platform on which programs run by default: "cpu" or "gpu".

    It is the first that the setting ``platforms`` names (in the environment ``JAX_PLATFORMS``).
    Where that is not set, it is "gpu" if the machine shows a GPU, and the plugin for it is
    installed.

    Raises:
        PlatformError: the setting names a platform that is not there.

    Example:
        >>> import tinyjax
        >>> tinyjax.default_backend() in ("cpu", "gpu")
        True
    """
    return default_platform().name


@config.block
@contextmanager
def default_device(device: Placement | str) -> Iterator[None]:
    """Choose, for a block, the device of arrays that are put nowhere.

    Arrays are made there, and programs run there, other than those of arrays that were put
    elsewhere. Outside of the block arrays that were made in it go where they are wanted, as all do
    that were put nowhere.

    Args:
        device: the device, or a platform, for its first one; None for that of the process.

    Raises:
        ArgumentError: it is no device.
        PlatformError: there is no such platform.
        ShardingError: there is no such device.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.default_device(tinyjax.devices()[-1]):
        ...     len(jnp.ones(3).devices())
        1
    """
    with config.scoped(default_device=device):
        check_default()
        yield


def live_arrays(platform: str | None = None) -> list[Array]:
    """Return the arrays in this process that hold data and are not deleted.

    It looks at every object of the process; use it to find what holds memory.

    Args:
        platform: where they are; None for anywhere.

    Raises:
        PlatformError: there is no such platform.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = jnp.ones(2)
        >>> any(array is x for array in tinyjax.live_arrays())
        True
    """
    name = None if platform is None else devices(platform)[0].platform
    with_data = (concrete.ConcreteArray, concrete.PlacedArray)
    arrays: list[Array] = [x for x in gc.get_objects() if isinstance(x, with_data)]
    return [x for x in arrays if not x.is_deleted() and name in (None, x.platform())]


def effects_barrier() -> None:
    """Wait for the effects of programs: there are none to wait for.

    A program with callbacks returns when these are done.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.jit(lambda x: tinyjax.debug.print("x is {}", x))(jnp.int32(3))
        x is 3
        >>> tinyjax.effects_barrier()
    """


def clear_caches() -> None:
    """Forget every compiled program of this process, and the traces of jitted functions.

    Each is traced again at its next call, and reads then what it reads beside its arguments.

    Example:
        >>> import tinyjax
        >>> scale = 2
        >>> times = tinyjax.jit(lambda x: scale * x)
        >>> first = times(1)
        >>> scale = 3
        >>> int(times(1))
        2
        >>> tinyjax.clear_caches()
        >>> int(times(1))
        3
    """
    jit.clear_traces()
    xla.forget_programs()


@overload
def typeof(x: references.Ref) -> references.AbstractRef: ...
@overload
def typeof(x: Any) -> av.ShapedArray: ...
def typeof(x: Any) -> av.ShapedArray | references.AbstractRef:
    """Return the type of an array, a number or a reference.

    That of an array has its shape, its dtype and whether that is weak.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> str(tinyjax.typeof(jnp.ones((2, 3))))
        'float32[2,3]'
    """
    if type(x) in calling.HOLDERS:
        from tinyjax._extensions.state.references import AbstractRef, Ref  # noqa: PLC0415 (once there is one)

        if isinstance(x, Ref):
            return AbstractRef(x.aval)
    return x.aval if isinstance(x, av.ShapeDtypeStruct) else opd.as_array(x).aval


@config.block
@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Name a part of a program: its equations have the names in ``eqn.source_info.name_stack``.

    Scopes may be nested, and one can be a decorator, too. The first of those within a
    transformation names it, as ``vmap(attention)`` or ``transpose(jvp(attention))``. Equations
    that are in no scope have no names, where JAX writes ``jvp()``.

    Raises:
        ArgumentError: the name is no text.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> with tinyjax.named_scope("attention"):
        ...     jnp.ones(2) + 1
        Array([2., 2.], dtype=float32)
    """
    if not isinstance(name, str):
        raise errors.ArgumentError(f"named_scope takes a text, but got {errors.shortened(name)}.")
    with tr.assigned(frames.named_scopes, (*staging.scopes_here(outside=True), name)):
        yield


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """Return a function in a ``named_scope``: by default, its own name.

    Raises:
        ArgumentError: this is not a function.

    Example:
        >>> import tinyjax
        >>> @tinyjax.named_call
        ... def layer(x):
        ...     return x + 1
        >>> layer(1)
        2
    """
    errors.check_function("named_call", fun)
    scope = getattr(fun, "__name__", "fun") if name is None else name

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return frames.imitate(call, fun)


@checking.explained
def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[[Any, Any], Any]]:
    """Return a function's forward pass and its backward pass, each compiled.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate in.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.
        jitted: whether both are compiled.

    Returns:
        ``(fwd, bwd)``. ``fwd(*args)`` returns ``(result, residuals)``, or ``(result, residuals,
        aux)``; ``bwd(residuals, cotangent)`` returns the cotangents of the arguments chosen.

    Example:
        >>> import tinyjax
        >>> fwd, bwd = tinyjax.fwd_and_bwd(lambda x, y: x * y, argnums=0)
        >>> out, residuals = fwd(2.0, 3.0)
        >>> float(out), float(bwd(residuals, 1.0))
        (6.0, 3.0)
    """
    choice = arguments.DifferentiatedArguments("fwd_and_bwd", fun, argnums)

    def fwd(*args: Any) -> tuple[Any, ...]:
        chosen = arguments.DifferentiatedCall(choice, args, {})
        result: tuple[Any, ...] = api.vjp(chosen.function, *chosen.values, has_aux=has_aux)
        return result

    def bwd(residuals: Callable[[Any], tuple[Any, ...]], cotangent: Any) -> Any:
        cotangents = residuals(cotangent)
        return cotangents if choice.several else cotangents[0]

    return (jit.jit(fwd), jit.jit(bwd)) if jitted else (fwd, bwd)


@checking.explained
def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions and the machine, for reports of faults.

    Args:
        return_string: return the text instead.

    Example:
        >>> import tinyjax
        >>> tinyjax.print_environment_info(return_string=True).startswith("tinyjax: ")
        True
    """
    versions = [
        f"{name}: {next((x.version for x in metadata.distributions(name=name)), 'not installed')}"
        for name in ("tinyjax", "jaxlib", "numpy")
    ]
    settings = [f"{k}={v}" for k, v in os.environ.items() if k.startswith(("TINYJAX_", "XLA_"))]
    devices_here = f"{default_backend()}-{device_count()}, {local_device_count()} local devices"
    info = "\n".join(
        [
            *versions,
            f"python: {sys.version}".replace("\n", " "),
            f"device info: {devices_here}",
            f"process_count: {process_count()}",
            f"platform: {platform.uname()}",
            *settings,
        ]
    )
    if return_string:
        return info
    sys.stdout.write(info + "\n")
    return None

"""Compiled programs, one for each distinct program in the process.

The cache in memory is keyed on the structural digest of the jaxpr (which holds the types of its
parameters), the device and the options. So a fresh lambda that expresses a known program compiles
nothing. The cache is bounded; the least recently used programs are dropped first. A missing program
may be in the cache on disk (``disk_cache``), if the settings enable one; otherwise XLA compiles it.

Programs call LAPACK by name. Loading SciPy's copy of it takes longer than loading tinyjax, so it
happens when a program that calls it is first compiled or loaded. The same functions are registered
by jax under the same names, before or after. XLA accepts a name twice if it names the same
function.
"""

from __future__ import annotations

import ctypes
import gc
import os
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from importlib import import_module
from itertools import cycle, repeat
from sys import getrefcount
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias
from weakref import WeakValueDictionary

import attrs
import numpy as np
from jaxlib import lapack, xla_client
from jaxlib._jax import collect_garbage
from jaxlib.xla_client import ArrayImpl, CompileOptions, DeviceList, LoadedExecutable

from tinyjax import config
from tinyjax._base import forks, lazy
from tinyjax._base.records import Record
from tinyjax.core import xla
from tinyjax.core.devices import ops
from tinyjax.core.lowering import Locate, location_text
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import avals as av, concrete
from tinyjax.core.values.array import Array
from tinyjax.core.xla import backend, lowering, options, threads
from tinyjax.core.xla.compilation import Compilation, Flags, timed
from tinyjax.core.xla.options import compiling
from tinyjax.errors import CallbackError

if TYPE_CHECKING:
    from tinyjax.core.xla.disk_cache import DiskCache

#: Runs a compiled program on buffers; the results may still be under way when it returns.
Execute: TypeAlias = Callable[[list[Any]], list[ArrayImpl]]

#: jaxlib defers the release of Python objects, one for each execution and the host memory of
#: buffers, until it is told to. Python's garbage collector tells it (``_release``); so does one
#: execution in so many, since a loop that makes no garbage starts no collection.
_RELEASE_EVERY: Final = 256
#: Says of an execution whether it is that one; an iterator of C's takes half of what counting does.
is_release_due: Final[Callable[[], bool]] = cycle(
    [*repeat(False, _RELEASE_EVERY - 1), True]
).__next__


# Whenever Python collects garbage, what jaxlib has kept is released. Signals that arrive during a
# collection are handled by the first Python code after it, and the exceptions of callbacks are
# ignored: a function of Python's here would lose Ctrl-C. So C calls C, which leaves alone the two
# arguments of a callback.
_call: Final = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.py_object] * 3)(
    ("PyObject_CallNoArgs", ctypes.pythonapi)
)
gc.callbacks.append(partial(_call, collect_garbage))


class Executable(ABC):
    """A compiled program.

    Attributes:
        name: the name of its module.
        loaded: XLA's executable, or its description.
        placement: its placement by an extension; None for the first device.
        calls_python: whether it calls Python functions.
        entry: its key in the cache on disk; None where it is not there.
    """

    __slots__ = ("loaded", "name")

    name: str
    loaded: Any
    placement: Any = None
    entry: bytes | None = None
    calls_python: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, args: Sequence[Array]) -> list[Array]:
        """Run the program; the results may still be under way when this returns.

        Args:
            args: arrays with data, of the types of the parameters.

        Raises:
            DonatedArrayError: one was donated to an earlier call.
            JaxRuntimeError: there is not enough memory, or XLA fails otherwise.
        """

    def as_requested(self, request: Compilation) -> Executable:
        """Return the program for a request that is equal to the one it was compiled for."""
        return self


class DeviceExecutable(Executable):
    """A compiled program on the first device.

    Attributes:
        backend: the device it runs on.
        execute: runs it on buffers.
        in_avals: the types of its parameters.
        out_avals: the types of its results.
        donated: the parameters whose memory is given up, by position.
    """

    __slots__ = ("backend", "donated", "entry", "execute", "in_avals", "out_avals")

    def __init__(self, request: Compilation, b: backend.Backend, loaded: LoadedExecutable) -> None:
        jaxpr = request.jaxpr
        self.name: str = request.name
        self.backend: backend.Backend = b
        self.loaded: LoadedExecutable = loaded
        self.in_avals: tuple[av.ShapedArray, ...] = jaxpr.in_avals
        self.out_avals: tuple[av.ShapedArray, ...] = jaxpr.out_avals
        self.donated: tuple[int, ...] = request.given_up
        self.entry: bytes | None = None
        run, handlers = loaded.execute_sharded, b.handlers(jaxpr.out_avals)

        def execute(buffers: list[Any]) -> list[ArrayImpl]:
            if is_release_due():
                collect_garbage()
            return run(buffers).consume_with_handlers(handlers)

        self.execute: Execute = execute

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        if forks.lost_threads:
            threads.check_threads(self.name)
        buffers: list[Any] = []
        for arg in args:
            buffer = arg._buffer
            buffers.append(backend.buffer_of(arg, self.backend) if buffer is None else buffer)
        if self.donated:
            buffer = None
            concrete.check_donated_once(args, self.donated, self.in_avals, self.name)
            for i in self.donated:
                buffers[i] = None  # one reference less
                buffers[i] = self.take(args[i])
        try:
            outs = self.executing()(buffers)
        except (RuntimeError, TypeError, ValueError) as error:
            concrete.check_donated(args)
            concrete.raise_as_ours(error)
        for i in self.donated:
            give_up_taken(args[i])
        results: list[Array] = []
        for aval, out in zip(self.out_avals, outs, strict=True):
            results.append(concrete.ConcreteArray(None, aval, out))
        return results

    def take(self, array: Array) -> Any:
        """Return the buffer of an array that is donated, which no other array has."""
        buffer = backend.buffer_of(array, self.backend)
        # besides the array, this variable and this call
        shared = getrefcount(buffer) > 3 and not array.is_deleted()
        if shared and isinstance(array, concrete.ConcreteArray):
            buffer = array._buffer = self.backend.copy(buffer)
        return buffer

    def executing(self) -> Execute:
        """Return the function that runs the program under the settings in force."""
        if not config.settings().interruptible:
            return self.execute
        return threads.interruptible(self.execute)


def give_up_taken(array: Array) -> None:
    """Forget the data of an array whose memory a program has taken."""
    buffer = array._buffer
    if buffer is not None and buffer.is_deleted():
        concrete.give_up(array)


@attrs.frozen(eq=False, repr=False)
class CompileKey(Record):
    """The key of an executable."""

    digest: bytes
    donated: tuple[int, ...]
    flags: Flags
    placement: Hashable


@attrs.define
class CacheInfo:
    """Statistics of the cache of compiled programs.

    Attributes:
        hits: programs found.
        misses: programs compiled.
        size: programs held.
        capacity: programs held at most.
    """

    hits: int = 0
    misses: int = 0
    size: int = 0
    capacity: int = 1024


#: Programs for the first device, and for those that their placement names.
_cache: OrderedDict[CompileKey, Executable] = OrderedDict()
_info: Final = CacheInfo()
_lock = Lock()


#: A lock for each program that threads want, held by the one that compiles it. A lock need not be
#: taken out again, which an interrupt could prevent.
_turns: WeakValueDictionary[CompileKey, Lock] = WeakValueDictionary()


def compiled(request: Compilation) -> Executable:
    """Return a compiled program, compiling it where the process has not done so.

    If another thread is compiling it, this waits for the result.

    Raises:
        ForkError: this process was forked from one that runs XLA. The program would wait for
            threads that are not there.
    """
    return _compiled(request).as_requested(request)


def _compiled(request: Compilation) -> Executable:
    threads.check_threads(request.name)
    key, jaxpr = _key(request), request.jaxpr
    with _lock:
        cached = _look_up(jaxpr, key)
        if cached is not None:
            return cached
        turn = _turns.get(key)
        if turn is None:
            turn = _turns[key] = Lock()
    with turn:
        with _lock:
            cached = _look_up(jaxpr, key)  # of a thread that had its turn before
        if cached is not None:
            return cached
        with timed("/jax/core/compile/backend_compile_duration"):
            locate = location_text if config.settings().locations else None
            with threads.announced(request):
                executable = _compile(request, key.flags, locate)
        with _lock:
            _info.misses += 1
            holds = jaxpr.held_objects and not isinstance(executable, DeviceExecutable)
            executables = _own_cache(jaxpr) if holds else _cache
            executables[key] = executable
            while len(_cache) > _info.capacity:
                _cache.popitem(last=False)
            _info.size = len(_cache)
    return executable


def _own_cache(jaxpr: jx.Jaxpr) -> OrderedDict[CompileKey, Executable]:
    """Return the cache of a program, which dies with the functions of the user's that it calls."""
    return jaxpr.derive("executables", OrderedDict[CompileKey, Executable])


def _caches_of(jaxpr: jx.Jaxpr) -> Sequence[OrderedDict[CompileKey, Executable]]:
    return (_cache, _own_cache(jaxpr)) if jaxpr.held_objects else (_cache,)


def _look_up(jaxpr: jx.Jaxpr, key: CompileKey) -> Executable | None:
    """Return a program that the process has, and mark it as the last used."""
    for executables in _caches_of(jaxpr):
        cached = executables.get(key)
        if cached is not None:
            executables.move_to_end(key)
            _info.hits += 1
            return cached
    return None


threads.hold_at_forks(_lock)
forks.register(after_in_child=_turns.clear)  # of threads that the new process does not have


def compile_anew(request: Compilation, locate: Locate | None = None) -> Executable:
    """Compile a program whether or not this was done before; the cache in memory stays as it is.

    Args:
        request: the program.
        locate: says where equations come from, in the metadata of the compiled program.
    """
    threads.check_threads(request.name)
    with threads.announced(request):
        return _compile(request, _flags_for(request), locate)


def compile_all(
    requests: Sequence[Compilation],
) -> list[Executable]:
    """Compile programs at once, on all cores.

    Raises:
        Exception: what the first that cannot be compiled raises, when the others are done.
    """
    pending = deque(enumerate(requests))
    executables: dict[int, Executable] = {}
    errors: dict[int, Exception] = {}

    def work() -> None:
        while True:
            try:
                i, one = pending.popleft()
            except IndexError:
                return
            try:
                executables[i] = compiled(one)
            except Exception as error:
                errors[i] = error

    # this thread works too, so that it hears Ctrl-C between two programs
    others = [
        Thread(target=copy_context().run, args=(work,), name="tinyjax compiler")
        for _ in range(min(os.cpu_count() or 1, len(requests)) - 1)
    ]
    for thread in others:
        thread.start()
    try:
        work()
    finally:
        pending.clear()
        for thread in others:
            thread.join()
    if errors:
        raise errors[min(errors)]
    return [executables[i] for i in range(len(requests))]


def is_compiled(request: Compilation) -> bool:
    """Return whether the process has a compiled program."""
    key = _key(request)
    with _lock:
        return any(key in executables for executables in _caches_of(request.jaxpr))


def executables_of(jaxpr: jx.Jaxpr) -> list[Executable]:
    """Return the executables of a program, for all devices and with all flags."""
    with _lock:
        found = [item for executables in _caches_of(jaxpr) for item in executables.items()]
        return [x for key, x in found if key.digest == jaxpr.digest]


def _flags_for(request: Compilation) -> Flags:
    if request.placement is None:
        return options.flags_for(request)
    flags: Flags = ops().flags_for(request)
    return flags


def _key(request: Compilation) -> CompileKey:
    digest, placement = request.jaxpr.digest, request.placement
    return CompileKey(digest, request.donated, _flags_for(request), placement)


def _compile(request: Compilation, flags: Flags, locate: Locate | None) -> Executable:
    """Compile a program with these flags, whether or not this was done before."""
    if request.placement is not None:
        executable: Executable = ops().compile(request, flags, locate)
        return executable
    jaxpr, name, on = request.jaxpr, request.name, backend.backend()
    text, host_functions = lowering.lowered(jaxpr, name, request.aliases, locate)
    if host_functions:
        programs = lazy.hook("calling_programs")
        if programs is None:
            raise CallbackError(
                f"'{name}' calls Python functions, which tinyjax._extensions.callbacks does."
            )
        calling: Executable = programs.HostProgram(request, flags, locate)
        return calling
    compiled_options = options.compile_options(flags)
    loaded, entry = load_or_compile(on, text, name, flags, compiled_options, on.devices)
    executable = DeviceExecutable(request, on, loaded)
    executable.entry = entry
    return executable


def cache_info() -> CacheInfo:
    """Return how often programs were found and compiled."""
    with _lock:
        return attrs.evolve(_info)


def cache_clear() -> None:
    """Drop every compiled program, and count from zero."""
    with _lock:
        _cache.clear()
        _info.hits = _info.misses = _info.size = 0


# How XLA compiles or loads one

_MARK: Final = "lapack_"
#: Functions of the plugin for GPUs that compute on the processor.
_MARK_OF_GPUS: Final = "cuhybrid_"


def prepare_calls(text: str) -> None:
    """Make LAPACK ready where a program calls it."""
    if _MARK in text:
        _prepare()
    if _MARK_OF_GPUS in text:
        _prepare_for_gpus()


@cache
def _prepare_for_gpus() -> None:
    of_plugins: Any = import_module("jaxlib.gpu_solver")  # which looks for them when it is loaded
    of_plugins.initialize_hybrid_kernels()


@cache
def _prepare() -> None:
    for platform, targets in lapack.registrations().items():
        for name, function, version in targets:
            xla_client.register_custom_call_target(name, function, platform, version)
    for name in lapack.batch_partitionable_targets():
        xla_client.register_custom_call_as_batch_partitionable(name)
    # Any routine's name will do: asking for one is what loads SciPy's library.
    lapack.prepare_lapack_call("potrf_ffi", np.float32)


#: The identities of programs that were loaded, and of some that took the place of one that died.
_not_compiled: Final[set[int]] = set()


def load_or_compile(
    target: backend.Backend,
    text: str,
    name: str,
    flags: Flags,
    options: CompileOptions,
    devices: DeviceList,
) -> tuple[LoadedExecutable, bytes | None]:
    """Load a program from the cache on disk, or compile it if the cache does not have it.

    It returns the program's key there, too; None where the settings name no folder.

    Args:
        target: the client.
        text: the program's module.
        name: the program's name.
        flags: XLA's, and their values.
        options: the compiler's, the flags among them.
        devices: those that it runs on.

    Raises:
        ArgumentError: XLA has no such flag, or it does not take the value.
    """
    with compiling(flags):
        kept = _place(target, text, options) if config.settings().cache_dir else None
        key = None if kept is None else kept[1]
        if kept is not None:
            loaded = threads.step("load", name, lambda: _load(target, text, kept, options, devices))
            if loaded is not None:
                return loaded, key
        return threads.step(
            "compile", name, lambda: _compile_text(target, text, kept, options, devices)
        ), key


def _place(target: backend.Backend, text: str, options: CompileOptions) -> tuple[DiskCache, bytes]:
    """Return the cache on disk, and the program's key there."""
    return xla.disk_cache_place(text, options.SerializeAsString(), target.compiler)


def _load(
    target: backend.Backend,
    text: str,
    entry: tuple[DiskCache, bytes],
    options: CompileOptions,
    devices: DeviceList,
) -> LoadedExecutable | None:
    prepare_calls(text)
    folder, key = entry
    code = folder.load(key)
    if code is not None:
        try:
            return from_code(target, code, options, devices)
        except (RuntimeError, ValueError) as error:  # whole, but not to XLA's liking
            folder.discard(key, str(error))
    return None


def from_code(
    target: backend.Backend, code: bytes, options: CompileOptions, devices: DeviceList
) -> LoadedExecutable:
    """Load a program from its machine code."""
    loaded: LoadedExecutable = target.client.deserialize_executable(code, devices, options)
    _not_compiled.add(id(loaded))
    return loaded


def is_compiled_here(loaded: LoadedExecutable) -> bool:
    """Return whether a program can be serialised: XLA's text of a loaded program does not run."""
    return id(loaded) not in _not_compiled


def _compile_text(
    target: backend.Backend,
    text: str,
    entry: tuple[DiskCache, bytes] | None,
    options: CompileOptions,
    devices: DeviceList,
) -> LoadedExecutable:
    prepare_calls(text)
    with threads.without_python():
        loaded = target.client.compile_and_load(text.encode(), devices, options)
    if entry is not None:
        folder, key = entry
        with suppress(RuntimeError):  # one that XLA cannot serialise, every process compiles
            folder.store(key, loaded.serialize())
    return loaded

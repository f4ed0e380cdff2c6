"""Products of matrices in one thread, while programs are evaluated.

OpenBLAS, which NumPy and SciPy bring along, divides a product of more than 64 x 64 x 64 operations
among all cores, and its threads spin while they wait for each other. Beside other work a product of
512 x 64 by 64 x 192 takes 1.8 ms of processor time in two threads, and 0.19 in one. What one thread
gives does not depend on the number of cores, either.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Final, TypeAlias
from weakref import WeakSet

#: Get, and set, how many threads a library uses.
_Control: TypeAlias = tuple[Callable[[], int], Callable[[int], None]]
#: Modules that are linked with the library: NumPy's, and SciPy's, if that is loaded.
_LINKED: Final = ("numpy.linalg._umath_linalg", "scipy.linalg._flapack")
_NAMES: Final = (
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)


class _SingleThreaded:
    """A block that is being run: it dies with its frame, should an interrupt lose its end."""

    __slots__ = ("__weakref__",)


_lock: Final = RLock()
_running: Final[WeakSet[_SingleThreaded]] = WeakSet()
_controls: Final[dict[str, _Control | None]] = {}
#: What to set again when no block runs any more: a library's control, and its number of threads.
_before: Final[dict[str, int]] = {}


def _control(module: str) -> _Control | None:
    try:
        library = ctypes.CDLL(getattr(sys.modules[module], "__file__", None))
    except (OSError, TypeError):  # linked into Python, or a system without dynamic loading
        return None
    for name in _NAMES:
        if hasattr(library, name.format("set")):
            return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None  # another library, such as Apple's


@contextmanager
def one_thread() -> Iterator[None]:
    """Have NumPy's and SciPy's linear algebra work in one thread in a block, in all threads."""
    block = _SingleThreaded()
    with _lock:
        _running.add(block)
        for module in _LINKED:
            if module in sys.modules and module not in _controls:
                _controls[module] = _control(module)
            control = _controls.get(module)
            if control is not None and module not in _before:
                get, set_ = control
                _before[module] = get()
                set_(1)
    try:
        yield
    finally:
        with _lock:
            _running.discard(block)
            if not _running:
                while _before:
                    module, threads = _before.popitem()
                    control = _controls[module]
                    assert control is not None, "it was set by it"
                    control[1](threads)

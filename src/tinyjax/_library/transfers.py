"""Transfers of data to devices and between them, under the settings of ``transfer_guard``.

A transfer to the device is implicit where a function receives data of NumPy's or Python's in place
of an array: the converted data is, by identity, among the arguments of the user's call. It is
explicit where that function is ``device_put``. In programs, and where only types matter, nothing is
transferred.

It is loaded when a guard is first set. One table has the replacements of the functions by which
data becomes an array, or arrays are moved. Without a guard in any thread, nothing is replaced.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from tinyjax import errors, tree
from tinyjax._base.frames import is_ours, user_location, wraps
from tinyjax._extensions.parallel import putting
from tinyjax._extensions.parallel.sharding import Sharding
from tinyjax.config import Process, Settings, local_settings, settings
from tinyjax.core import devices, xla
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import Primitive, trace as tr
from tinyjax.core.values import Array, avals as av, concrete, operands as opd
from tinyjax.numpy import creation, promotion
from tinyjax.random import keys

P = TypeVar("P")

#: What is made of a function: what stands in for it while a guard is set.
Stand: TypeAlias = Callable[[Any], object]

#: Functions that transfer their arguments explicitly.
_EXPLICIT: Final = frozenset(("device_put", "Array.to_device"))
#: Functions to which Python's numbers are no operands in JAX.
_STATIC: Final = frozenset(("allclose", "permutation"))
#: Functions that transfer numbers of their own in JAX, and those that choose elements of arrays.
_NAMES: Final = """
Array.__getitem__ IndexUpdate.set IndexUpdate.add IndexUpdate.subtract IndexUpdate.multiply
IndexUpdate.divide IndexUpdate.power IndexUpdate.min IndexUpdate.max IndexUpdate.get
empty empty_like eye frombuffer identity logspace make_array_from_callback ones ones_like tri
zeros zeros_like
grad value_and_grad jacfwd jacrev hessian
PRNGKey key choice randint uniform _initializer
argwhere associative_scan bincount choose compress diagflat dynamic_slice extract flatnonzero
hfft histogram histogram2d histogram_bin_edges histogramdd ihfft intersect1d isneginf isposinf
nonzero pad piecewise polydiv roots setdiff1d setxor1d slice std union1d unique unique_all
unique_counts unique_inverse unique_values var
gelu logsumexp softmax
beta betaln boxcox boxcox1p comb dawsn entr erfcx exp1 factorial fresnel kl_div log_ndtr logit
ndtr ndtri owens_t poch rel_entr spence wofz xlog1py xlogy Family._public
circulant companion fiedler_companion hankel toeplitz
"""
_OWN: Final = frozenset(_NAMES.split())
#: Functions of this package that lie between the user and the function called.
_WRAPPERS: Final = frozenset(
    ("explained", "checked", "folded", "watched", "_replaying", "placed", "at_once", "like")
)
#: What an index does that needs no numbers.
_WITHOUT_INDICES: Final = frozenset(("reshape", "broadcast_in_dim", "rev", "squeeze"))


def _frames() -> list[FrameType]:
    """Return the frames of this package up to the user's, that of the function called first."""
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_ours(frame):
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _called(frames: Sequence[FrameType]) -> FrameType | None:
    """Return the frame of the function called, inside of its wrappers."""
    return next((frame for frame in frames if _name(frame) not in _WRAPPERS), None)


def _name(frame: FrameType | None) -> str:
    return "" if frame is None else frame.f_code.co_qualname.partition(".<locals>")[0]


def _is_argument(value: object, frame: FrameType) -> bool:
    """Return whether a value is, by identity, among the arguments that a frame was called with."""
    arguments = [frame.f_locals.get(name) for name in _parameters(frame.f_code)]
    return any(value is leaf for leaf in tree.leaves(arguments, lambda x: x is value))


def _parameters(code: CodeType) -> Sequence[str]:
    varied = bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + varied]


def _is_idle() -> bool:
    """Return whether transfers are not checked here."""
    return not settings().guarding or tr.is_in_program() or opd.of_type.get() is not None


def _to_device(value: object) -> None:
    """Tell of data of the host that becomes an array, where the user gave it."""
    if _is_idle():
        return
    frames = _frames()
    called = _called(frames)
    if (
        called is None
        or _name(called) in _STATIC
        or (_name(called) == "arange" and called.f_locals["stop"] is None)
        or any(frame.f_code.co_name == "as_avals" for frame in frames)
    ):
        return
    if _name(called) in _OWN or _is_argument(value, frames[0]):
        _tell("host-to-device", errors.shortened(value), called)


def _tell(direction: str, what: str, called: FrameType | None) -> None:
    """Do with a transfer as the settings say.

    Args:
        direction: "host-to-device" or "device-to-device".
        what: is transferred.
        called: the frame of the function that the user called.

    Raises:
        TransferError: it is disallowed.
    """
    current = settings()
    level = current.transfers_between_devices
    if direction == "host-to-device":
        level = current.transfers_to_device
    explicit = _name(called) in _EXPLICIT
    if explicit and not level.endswith("_explicit"):
        return
    name = _name(called).rpartition(".")[2]
    message = f"{direction} transfer{'' if name.startswith('_') else f' by {name}'} of {what}"
    if level.startswith("log"):
        logging.getLogger("tinyjax").warning("%s at %s", message, user_location())
    elif level.startswith("disallow"):
        way_out = "Put it on a device before, x = tinyjax.device_put(x), or compute within jit."
        if explicit:
            way_out = "Do it before, or allow it: with tinyjax.transfer_guard('allow')."
        raise errors.TransferError(f"Disallowed {message}: the guard is {level!r}. {way_out}")


class GuardTrace(tr.PlacedTrace):
    """A trace that evaluates, and reports functions that transfer constants in JAX."""

    __slots__ = ()

    evaluates = False

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        _own(primitive, params)
        return super().process(primitive, args, params)


def _own(primitive: object = None, params: object = None) -> None:
    """Tell of a function that transfers numbers of its own; of an index, where it chooses."""
    if _is_idle():
        return
    called = _called(_frames())
    name = _name(called)
    if name == "Array.__getitem__" and isinstance(primitive, Primitive):
        strided = max(getattr(params, "strides", ()), default=1) > 1
        if strided or primitive.name in _WITHOUT_INDICES:
            return
    if name in _OWN:
        _tell("host-to-device", "numbers of its own", called)


class _SplatCache(dict[tuple[object, type, av.ShapedArray], Array]):
    """A cache of splats that stays empty while a guard is set."""

    def get(self, key: Any, default: Any = None) -> Any:
        return default if settings().guarding else opd.met_splats.get(key, default)


def _first(tell: Callable[..., None]) -> Stand:
    """Return a function that reports the arguments of another before it runs."""

    def stand(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            tell(*args)
            return original(*args, **kwargs)

        return call

    return stand


def _made(x: object, *_: object) -> None:
    if not all(isinstance(leaf, Array) for leaf in tree.leaves(x)):
        _to_device(x)


def _moved(x: Array, sharding: Sharding) -> None:
    """Tell of an array that the user gave, and a program has moved."""
    if not settings().guarding or not isinstance(x, concrete.ConcreteArray | concrete.PlacedArray):
        return
    if x.sharding.ids != sharding.ids:
        frames = _frames()
        called = _called(frames)
        if _name(called) not in _EXPLICIT and frames and _is_argument(x, frames[0]):
            _tell("device-to-device", str(x.aval), called)


def _explicit_transfer(original: Callable[..., Any]) -> Callable[..., Any]:
    """Report an explicit transfer."""

    def put(leaf: Any, where: devices.Placement, function: str) -> Array:
        result: Array = original(leaf, where, function)
        if not settings().guarding or not isinstance(
            leaf, concrete.ConcreteArray | concrete.PlacedArray
        ):
            return result
        if result.sharding != leaf.sharding:
            several = len(leaf.sharding.ids) > 1  # these go by way of the host
            direction = "host-to-device" if several else "device-to-device"
            _tell(direction, str(leaf.aval), _called(_frames()))
        return result

    return put


def _table() -> Iterator[tuple[Any, str, Stand]]:
    yield opd, "copied", _first(lambda value, *_: _to_device(value))
    yield opd, "scalar", _first(lambda value, *_: _to_device(value))
    yield creation, "_make", _first(_made)
    yield sh, "full", _first(lambda *_: _own())
    yield keys, "_generator", _first(lambda *_: _own())
    yield promotion, "_made", _first(lambda name, value, *_: _to_device(value))
    if not xla.is_absent():
        yield import_module("tinyjax._extensions.parallel.xla.moving"), "moved", _first(_moved)
    yield putting, "put", _explicit_transfer


@attrs.define(eq=False)
class _Attachment:
    """The state of the replacements: they are attached only while a guard is set.

    Attributes:
        pairs: the functions and their replacements, by the functions' names.
        scopes: the number of blocks that set a guard, in all threads.
        is_attached: whether the replacements are attached.
        places: the names of modules that refer to the functions.
        loaded: the number of modules when these were found.
        lock: is held while blocks are counted.
    """

    pairs: Sequence[tuple[str, Any, Any]]
    scopes: int = 0
    is_attached: bool = False
    places: Sequence[tuple[dict[str, Any], str, Any, Any]] = ()
    loaded: int = 0
    lock: threading.Lock = attrs.field(factory=threading.Lock)

    def count(self, change: int) -> None:
        with self.lock:
            self.scopes += change
            is_wanted = self.scopes > 0 or Process.settings.guarding
            if is_wanted is not self.is_attached:
                self.is_attached = is_wanted
                if self.loaded != len(sys.modules):
                    self.places, self.loaded = list(self.find()), len(sys.modules)
                for scope, name, function, stand in self.places:
                    scope[name] = stand if is_wanted else function

    def find(self) -> Iterator[tuple[dict[str, Any], str, Any, Any]]:
        """Find where the functions have been imported by name."""
        for scope in [vars(m) for name, m in [*sys.modules.items()] if name.startswith("tinyjax.")]:
            for name, function, stand in self.pairs:
                if any(scope.get(name) is known for known in (function, stand)):
                    yield scope, name, function, stand
        # and not in the operators, whose shortcut no guarded trace takes
        yield vars(promotion), "met_splats", opd.met_splats, _SplatCache()


_attachment: Final = _Attachment(
    [(name, vars(owner)[name], stand(vars(owner)[name])) for owner, name, stand in _table()]
)
#: The trace that evaluates while transfers are looked at.
base: Final = GuardTrace()


def hold(current: Settings) -> Callable[[], None]:
    """Look at transfers as the settings of a block, or of the process, say; return the undoing."""
    own = int(current.guarding and local_settings() is current)
    _attachment.count(own)
    return lambda: _attachment.count(-own)

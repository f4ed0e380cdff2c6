"""``jax.experimental.hijax``: values of the user's own classes that hold arrays in place.

A library declares such a class with its type (``register_hitype``), and primitives that make, read
and write its values (``HiPrimitive``). A primitive is applied by its ``to_lojax`` or ``impl``, to
arrays as they are in each transformation.

Where a staged function closes over a value, or receives one, its contents are references
(``tinyjax.new_ref``). So the rules of references apply. The structure and the types of its contents
stay. It may be used in ``jit``, ``scan``, ``while_loop``, ``fori_loop``, ``map``, ``cond``,
``switch`` and ``checkpoint``. An argument of ``jit`` may get another structure.

Values that do not change, and primitives of arrays alone, are not in tinyjax: for the first there
are trees, for the second ``tinyjax.experimental.hijax.VJPHiPrimitive``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Final, Protocol, TypeVar
from weakref import WeakValueDictionary

import attrs

from tinyjax import errors
from tinyjax._base import lazy
from tinyjax._extensions.state import references
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, operands as opd

lazy.answer_for(
    __name__,
    "HiPrimitive HiType MutableHiType aval_method aval_property "
    "control_flow_allowed_effects cur_qdd register_hitype",
)

F = TypeVar("F", bound=Callable[..., Any])


class HiType:
    """A type of one's own, of values that do not change."""

    has_qdd: bool = False


class MutableHiType:
    """A type of one's own, of values that hold arrays in place.

    What a value holds is told by a state, besides the arrays: their structure and types.
    """

    has_qdd: bool = True

    def new_from_loval(self, state: Any, /, *vals: Any) -> Any:
        """Make a value of a state and arrays."""
        raise NotImplementedError

    def read_loval(self, state: Any, val: Any, /) -> Sequence[Any]:
        """Return the arrays that a value holds."""
        raise NotImplementedError

    def update_from_loval(self, state: Any, val: Any, /, *lo_vals: Any) -> None:
        """Let a value hold other arrays."""
        raise NotImplementedError


class _Value(Protocol):
    """A value of a mutable type."""

    def cur_qdd(self) -> Any:
        """Return its state."""
        ...


_types: Final[dict[type, Callable[[Any], Any]]] = {}

_raw: ContextVar[bool] = ContextVar("tinyjax_hijax_raw", default=False)


def _as_it_is() -> AbstractContextManager[None]:
    """Let primitives take the values themselves, and not references to them."""
    return tr.assigned(_raw, True)


def _mutable_type(x: object) -> MutableHiType | None:
    """Return the type of a value that holds arrays in place, or None for anything else."""
    to_aval = _types.get(type(x))
    aval = to_aval and to_aval(x)
    return aval if aval and aval.has_qdd else None


def _normal(state: Any) -> Any:
    return state.normalize() if hasattr(state, "normalize") else state


def _alike(state: Any, other: Any) -> bool:
    return bool(_normal(state) == _normal(other))


@attrs.frozen
class _Form:
    """The structure of a value of the user's own class, without its arrays."""

    aval: Any
    state: Any
    is_one: ClassVar[bool] = False

    def make(self, refs: Sequence[references.Ref]) -> object:
        """Make a value that stands for one outside of the function that is being staged."""
        value = self.with_contents([ref.contents for ref in refs])
        _note(value, _Link(value, self, refs))
        return value

    def put(self, target: Any, contents: Sequence[Array]) -> None:
        """Give a value this state, and these arrays."""
        with _unfolded(target, self.aval, "the function") as own, _as_it_is():
            self.aval.update_from_loval(self.state, own, *contents)

    def with_contents(self, arrays: Sequence[Array]) -> Any:
        with _as_it_is():
            return self.aval.new_from_loval(self.state, *arrays)

    def contents(self, value: _Value) -> list[Any]:
        with _as_it_is():
            return [*self.aval.read_loval(value.cur_qdd(), value)]


class _Link:
    """A value, and references to its contents.

    Attributes:
        value: the value, which lives as long as these.
        form: what is known of it.
        refs: the references.
    """

    __slots__ = ("__weakref__", "form", "refs", "value")

    def __init__(self, value: Any, form: _Form, refs: Sequence[references.Ref]) -> None:
        self.value = value
        self.form = form
        self.refs: Sequence[references.Ref] = refs

    def reference(self, i: int, home: tr.Trace) -> references.Ref:
        """Make a reference to a part of the value's own contents."""

        def get() -> Array:
            array = opd.as_array(self.form.contents(self.value)[i])
            return array.astype(array.dtype) if array.weak_type else array

        def put(array: Array) -> None:
            contents = self.form.contents(self.value)
            contents[i] = array
            with _as_it_is():
                self.form.aval.update_from_loval(self.form.state, self.value, *contents)

        return references.Ref.elsewhere(get, put, home)


@attrs.frozen
class _TracedValue:
    """A value that was made while a function was transformed or staged.

    Attributes:
        value: the value.
        link: its references, if it stands for a value outside.
    """

    value: Any
    link: _Link | None


#: What was made under each trace that still runs, by identity.
_made: Final[dict[tr.Trace, dict[int, _TracedValue]]] = {}

#: The references to what values outside hold, by the values' identity.
_links: Final[WeakValueDictionary[int, _Link]] = WeakValueDictionary()


def _note(value: Any, link: _Link | None = None) -> None:
    """Record that a value was made here."""
    trace = tr.current_trace()
    if isinstance(trace, tr.EvalTrace):
        return
    for ended in [x for x in [*_made] if not x.live]:
        _made.pop(ended, None)
    _made.setdefault(trace, {})[id(value)] = _TracedValue(value, link)


def _origin(value: object) -> tuple[_TracedValue | None, tr.Trace]:
    """Return where a value was made: under a trace that still runs, or outside of all."""
    trace = tr.current_trace()
    while True:
        entry = _made.get(trace, {}).get(id(value))
        if entry is not None:
            return entry, trace
        if trace.parent is trace:
            return None, tr.base_trace()
        trace = trace.parent


def _link_of(value: Any, aval: MutableHiType) -> _Link:
    """Return references to the contents of a value that was made elsewhere."""
    origin, home = _origin(value)
    if origin is not None and origin.link is not None:
        return origin.link
    form = _Form(aval, value.cur_qdd())
    link = _links.get(id(value))
    if link is not None:
        if _alike(link.form.state, form.state):
            return link
        _cut(link)
    link = _links[id(value)] = _Link(value, form, ())
    link.refs = [link.reference(i, home) for i in range(len(form.contents(value)))]
    return link


def _cut(link: _Link) -> None:
    """Invalidate the references to a value's contents."""
    _links.pop(id(link.value), None)
    for ref in link.refs:
        references.end(ref, "after what holds it was given contents of another structure")


def _opened(value: Any) -> tuple[Sequence[references.Ref], _Form]:
    aval = _mutable_type(value)
    if aval is None:
        raise NotImplementedError(
            f"a {type(value).__name__} that does not change is no argument of what jit makes of a "
            "function: in tinyjax arguments are arrays, trees of them, and what holds arrays in "
            "place."
        )
    link = _link_of(value, aval)
    return link.refs, _Form(aval, _normal(link.form.state))


@contextmanager
def _unfolded(value: Any, aval: MutableHiType, name: str) -> Iterator[Any]:
    """Yield the holder of a value's contents here: itself, or one whose changes are stored back.

    Raises:
        RefError: it cannot hold here what it is given.
    """
    trace = tr.current_trace()
    if isinstance(trace, tr.EvalTrace):
        yield value
        link = _links.get(id(value))
        if link is not None and not _alike(value.cur_qdd(), link.form.state):
            _cut(link)
        return
    origin, home = _origin(value)
    own = origin is not None and home is trace
    if own and origin is not None and origin.link is None:
        yield value
        return
    link = _link_of(value, aval)
    before = [ref.contents for ref in link.refs]
    box = link.form.with_contents(before)
    before = link.form.contents(box)
    yield box
    after, state = link.form.contents(box), box.cur_qdd()
    if not _alike(state, link.form.state):
        if not own:
            raise errors.RefError(
                f"{name} gives a {type(value).__name__} that was made outside contents of another "
                f"structure or type than it has there: {_normal(state)} instead of "
                f"{_normal(link.form.state)}. Pass it as an argument to what jit makes of the "
                "function, or return the new contents."
            )
        link.form = _Form(aval, state)
        with _as_it_is():  # it tells its state itself
            aval.update_from_loval(state, value, *after)
        link.refs = [references.new_ref(opd.as_array(x)) for x in after]
        return
    for ref, old, new in zip(link.refs, before, after, strict=True):
        if new is not old:
            references.keep(ref, opd.as_array(new))


class HiPrimitive:
    """A primitive that makes, reads or writes values of one's own."""

    multiple_results: bool = False

    def __init__(self, name: str = "") -> None:
        self.name: Final = name

    def impl(self, *args: Any, **params: Any) -> Any:
        """Do it."""
        return self.to_lojax(*args, **params)

    def to_lojax(self, *args: Any, **params: Any) -> Any:
        """Do it with arrays."""
        raise NotImplementedError(f"{type(self).__name__} defines neither impl nor to_lojax.")

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply it.

        Raises:
            NotImplementedError: neither an operand nor the result is of a class of one's own.
            RefError: it writes to a value outside of the function that is being staged what that
                cannot hold.
        """
        if _raw.get():
            return self.impl(*args, **params)
        with ExitStack() as stack:
            operands = [
                x if aval is None else stack.enter_context(_unfolded(x, aval, self.name))
                for x, aval in [(x, _mutable_type(x)) for x in args]
            ]
            with _as_it_is():
                out = self.impl(*operands, **params)
        results = out if self.multiple_results else [out]
        if not any(type(x) in _types for x in [*args, *results]):
            raise NotImplementedError(
                f"{self.name}: a HiPrimitive of tinyjax makes, reads or writes values of a class "
                "that is registered by register_hitype. One of arrays is a subclass of "
                "VJPHiPrimitive."
            )
        for x in results:
            if _mutable_type(x) is not None:
                _note(x)
        return out


class _Effects:
    def add_type(self, effect: type) -> None:
        """Take an effect, which no primitive has."""


control_flow_allowed_effects: Final = _Effects()


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Declare a class of values of one's own.

    Args:
        val_cls: the class.
        typeof_fn: returns the type of a value: a ``MutableHiType``, or another object whose
            ``has_qdd`` is False.
    """
    _types[val_cls] = typeof_fn
    references.hold(val_cls, _opened)


def cur_qdd(x: _Value) -> Hashable:
    """Return the state of a value that holds arrays in place."""
    state: Hashable = x.cur_qdd()
    return state


def aval_method(fun: F) -> F:
    """Return the function."""
    return fun


class aval_property:  # noqa: N801 (its name in JAX)
    """A property of types."""

    def __init__(self, fget: Callable[[Any], Any]) -> None:
        self.fget: Final = fget

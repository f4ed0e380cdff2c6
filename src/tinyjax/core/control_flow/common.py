"""The common part of the control-flow primitives: staging of trees, reshaping of jaxprs, observers.

An extension observes loops by a rule under ``OBSERVER``, which is called where a loop is staged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from types import CellType, FunctionType
from typing import Any, Final, Self, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import attrs

from tinyjax import config, errors, tree
from tinyjax._base import frames
from tinyjax.core import xla
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.stablehlo.builder import Block
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import SSAValue
from tinyjax.core.tracing import calling, trace as tr
from tinyjax.core.tracing.jaxpr import Jaxpr, effects, jaxpr_of, some_eqn
from tinyjax.core.tracing.primitive import ActiveMask, BatchAxes, MappedAxis, Primitive, RuleKey
from tinyjax.core.tracing.program_rules import ITERATIONS, ProgramRule, def_program
from tinyjax.core.tracing.staging import Staged, placeholders, stage_call
from tinyjax.core.transforms.batching import communicating
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array

T = TypeVar("T")
P = TypeVar("P")


# The classes of this module are spelled out, since the first loop of a process waits for them:
# attrs would have to compile each.


class Body:
    """A loop's body that is made of a user's function, which messages are to name.

    Attributes:
        call: the body.
        fun: the user's function.
        loop: the loop that the user wrote.
        place: the part of the carry that is the user's.
    """

    __slots__ = ("call", "fun", "loop", "place")

    def __init__(
        self, call: Callable[..., Any], fun: Callable[..., Any], loop: str, place: int = 0
    ) -> None:
        self.call: Callable[..., Any] = call
        self.fun: Callable[..., Any] = fun
        self.loop: str = loop
        self.place: int = place

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)

    def own_keys(self, keys: tree.KeyPath) -> tree.KeyPath:
        """Return where the user's function has a leaf that the body has at these keys."""
        kind, _, *rest = keys
        if not self.place:  # the carry is empty
            return (kind, tree.SequenceKey(0), *rest)
        counter = getattr(rest[0], "idx", 0) < self.place
        return (kind, tree.SequenceKey(0 if counter else 1), *rest[1:])


def stage_function(
    fun: Callable[..., Any], in_tree: tree.PyTreeDef, avals: Sequence[av.ShapedArray], api_name: str
) -> tuple[Staged, tree.PyTreeDef]:
    """Stage a user's function of trees.

    Args:
        fun: the function.
        in_tree: the structure of ``(args, kwargs)``.
        avals: the types of their leaves.
        api_name: the function of the API that it was passed to, for messages.
    """
    user_fun = fun
    if isinstance(fun, Body):
        user_fun, api_name = fun.fun, fun.loop
    programs: dict[Hashable, _Kept] | None = None
    key: Hashable = None
    cells: Sequence[object] = ()
    if type(fun) is FunctionType or _is_kept_object(fun):  # made for the call, it dies with it
        cells = _held_by(fun)
        here = config.settings(), tr.enclosing_axes(), tr.current_trace().adapters
        key = (in_tree, *avals, *here, *map(id, cells))
        programs = _staged_programs.setdefault(fun, {})
        cached = programs.get(key)
        if cached is not None:
            return cached[:2]
    before = placeholders.get()
    flat = calling.FlatFunction(fun, in_tree, user_fun=user_fun)
    staged = stage_call(flat, avals, frames.Applied(api_name, user_fun))
    lasting = all(note.lasting for note in staged.hooks) and placeholders.get() == before
    if programs is not None and lasting and not staged.consts:
        if len(programs) >= _MOST_KEPT:
            programs.clear()
        programs[key] = staged, flat.out_tree, cells
    return staged, flat.out_tree


def _is_kept_object(fun: Callable[..., Any]) -> bool:
    """Return whether a callable object is the same for JAX only where it is the same object."""
    kind: Any = type(fun)
    by_identity = config.follows_jax and kind.__hash__ is object.__hash__
    return by_identity and bool(kind.__weakrefoffset__)


def _held_by(fun: Callable[..., Any]) -> list[object]:
    """Return the closed-over values of a function, or the contents of a callable object."""
    if type(fun) is not FunctionType:
        return [*getattr(fun, "__dict__", {}).values()]
    return [cell.cell_contents for cell in fun.__closure__ or () if is_filled(cell)]


#: What a function was staged as, with the structure of its results; and what it closed over then,
#: whose identities are the key.
_Kept: TypeAlias = tuple[Staged, tree.PyTreeDef, Sequence[object]]
#: By function, what it was staged as, where it used no array that it closes over.
_staged_programs: Final[WeakKeyDictionary[Callable[..., Any], dict[Hashable, _Kept]]] = (
    WeakKeyDictionary()
)
_MOST_KEPT: Final = 64


def is_filled(cell: CellType) -> bool:
    """Return whether a variable that a function closes over has a value yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def def_loop(
    primitive: Primitive[P], rule: ProgramRule[P], iterations: Callable[[P], int | None]
) -> None:
    """Register the rules for a loop's programs, and for its number of iterations.

    A user who writes a loop wants it staged, so a call of the loop runs it compiled.

    Args:
        primitive: the loop.
        rule: its ``PROGRAM`` rule.
        iterations: gives the number of iterations for parameters, or None.
    """

    @primitive.def_evaluate
    def evaluate(args: Sequence[Array], params: P) -> Sequence[Array]:
        jaxpr = jaxpr_of(primitive, [x.aval for x in args], params)
        return xla.run(xla.Compilation(jaxpr, primitive.name), args, config.settings().tier)[0]

    def_program(primitive, rule)
    primitive.def_rule(ITERATIONS)(iterations)


def convert_all(values: Sequence[Array], avals: Sequence[av.ShapedArray]) -> list[Array]:
    """Convert arrays to the dtypes, and the weakness, of types of the same shapes.

    Arrays are moved to the devices that these types record, if they do.
    """
    return [
        aval.with_layout_of(ew.convert_element_type(x, aval.dtype, aval.weak_type))
        for x, aval in zip(values, avals, strict=True)
    ]


def at_front(batched: Sequence[bool]) -> tuple[int | None, ...]:
    """Return the batch axes of values that are batched along their first axis, or not at all."""
    return tuple([0 if b else None for b in batched])


def with_mask(mapped: MappedAxis, mask: Array, program: Jaxpr) -> MappedAxis:
    """Return the axis to map a program over, which only the examples execute where a mask holds.

    The mask matters only for the program's effects.
    """
    if not effects(program).any:
        return mapped
    outer = mapped.active
    both = mask if outer is None else ew.and_(outer.mask, mask)
    return attrs.evolve(mapped, active=ActiveMask(both))


def meets_others(mapped: MappedAxis, program: Jaxpr) -> bool:
    """Return whether a collective combines values of examples, of this ``vmap`` or an outer one.

    Axes in step need no check.
    """
    names, axes = communicating(program), (mapped, *tr.enclosing_axes())
    return bool(names) and any(axis.name in names and not axis.in_step for axis in axes)


def contains(jaxpr: Jaxpr, *primitives: str) -> bool:
    """Return whether a program, or one inside it, has an equation of one of these primitives."""
    key = ("contains", *primitives)
    return some_eqn(jaxpr, key, lambda eqn: eqn.primitive.name in primitives)


def batched_state(
    mapped: MappedAxis, state: Sequence[Array], axes: BatchAxes, batched: Sequence[bool]
) -> list[Array]:
    """Put a batch axis in front of those parts of a first state that some iteration batches."""
    return [
        sh.move_batch_axis(x, axis, 0, mapped.size) if is_batched else x
        for x, axis, is_batched in zip(state, axes, batched, strict=True)
    ]


def check_checkpoints(name: str, checkpoints: int) -> None:
    """Raise unless reverse mode through a loop has a place for its first state."""
    if checkpoints < 1:
        raise errors.ArgumentError(
            f"checkpoints of {name} must be at least 1, but it is {checkpoints}: the first state "
            "takes one."
        )


W = TypeVar("W", bound="Observer")


# Observers


class Observer:
    """An observer of a running loop. It is a parameter of the loop, and so a frozen attrs class.

    Attributes:
        place: the index of the iteration count in a ``while`` loop's state; None where they are
            counted.
    """

    __slots__ = ()

    place: int | None

    def while_staging(self) -> AbstractContextManager[object]:
        """Return the context in which the functions of the loop are staged."""
        raise NotImplementedError

    def follow(self, iterations: Iterable[T]) -> Iterable[T]:
        """Go through the iterations of a loop that Python makes."""
        raise NotImplementedError

    def write_loop(
        self,
        b: Lowering,
        state: Sequence[SSAValue],
        condition: Block,
        body: Block,
        ordered: bool,
        place: int | None,
    ) -> list[SSAValue]:
        """Write a loop as ``Lowering.loop`` does; its condition may make ordered callbacks, too.

        Args:
            b: the builder.
            state: the first state.
            condition: writes the condition, given the state; a bool.
            body: writes an iteration, given the state; the new state.
            ordered: whether body or condition make ordered callbacks.
            place: the value of the state that is the number of iterations so far; None to count
                them.
        """
        raise NotImplementedError

    def in_phase(self, phase: str) -> Self:
        """Return the observer of a loop of a derivative, of its "tangent" or "backward" part."""
        raise NotImplementedError

    def reading(self, place: int) -> Self:
        """Return the observer of a ``while`` loop that reads its iteration from the state."""
        raise NotImplementedError


#: The rule of a loop that makes its observers: takes the name of the function that makes the loop,
#: the user's function, and the number of iterations, where that is known.
Observe: TypeAlias = Callable[[str, Callable[..., Any], int | None], Observer | None]
OBSERVER: Final[RuleKey[Observe]] = RuleKey("observer")


def observer_of(
    primitive: Primitive[Any], loop: str, fun: Callable[..., Any], total: int | None = None
) -> Observer | None:
    """Return the observer of a loop, if it has one.

    Args:
        primitive: the loop's primitive.
        loop: the function that makes the loop.
        fun: its body.
        total: the number of iterations, where it is known.
    """
    rule: Observe | None = primitive.rules.extensions.get(OBSERVER)
    if rule is None:
        return None
    return rule(fun.loop, fun.fun, total) if isinstance(fun, Body) else rule(loop, fun, total)


def in_phase(observer: W | None, phase: str) -> W | None:
    """Return the observer of a loop that is part of the derivative of an observed one."""
    return None if observer is None else observer.in_phase(phase)

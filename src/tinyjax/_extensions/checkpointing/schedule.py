"""The schedule of checkpoints: which states of a loop reverse mode keeps, and what it reruns.

Let a segment have ``n`` iterations, with ``s`` states kept at a time, its first among them. Its
backward pass takes at least ``t(n, s) = r n - C(s + r, r - 1)`` further evaluations. Here ``r`` is
the least number with ``C(s + r, r) >= n`` (Griewank and Walther, "Algorithm 799: revolve", ACM
Transactions on Mathematical Software 26(1), 2000). ``advance`` places states so that it takes no
more, wherever the end of a segment is known.

Where the end is not known, ``OnlineStore`` saves states as they pass. When all slots are used, it
keeps those states that would make the backward pass cheapest if the loop ended after one more
iteration.

The arithmetic is part of the compiled program, whose size does not depend on the number of
iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

import attrs

from tinyjax import dtypes, tree
from tinyjax._primitives import arg_extrema, cumulative, dynamic_slice
from tinyjax.core.control_flow.common import Observer, convert_all, in_phase
from tinyjax.core.control_flow.primitives import run_while
from tinyjax.core.primitives import elementwise as ew, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.reduce import reduce_min, reduce_or
from tinyjax.core.primitives.shape import full, full_like, iota
from tinyjax.core.tracing.primitive import Arrays
from tinyjax.core.values import Array, ShapedArray

S = TypeVar("S")

#: The dtype of numbers of iterations, and of costs of schedules.
INT: Final = dtypes.int64


def integer(value: int) -> Array:
    """Return a number of iterations, or of places."""
    return full((), value, INT)


def plus(x: Array, value: int) -> Array:
    """Add a Python number to an integer."""
    return ew.add(x, full_like(x, value))


# The binomial schedule


def _repetitions(iterations: Array, slots: Array) -> tuple[Array, Array]:
    """Return the least ``r`` with ``C(s + r, r)`` at least the iterations, and that coefficient.

    With one slot it is the number of iterations less one, which needs no loop.
    """
    one, ones = ew.eq(slots, full_like(slots, 1)), full_like(slots, 1)
    start = (
        ew.select(one, plus(iterations, -1), full_like(iterations, 0)),
        ew.select(one, iterations, ones),
    )
    axes = tuple(range(len(iterations.shape)))

    def iteration(now: tuple[Array, Array]) -> tuple[Array, Array]:
        r, coefficient = now
        short, following = ew.lt(coefficient, iterations), plus(r, 1)
        larger = ew.div(ew.mul(coefficient, ew.add(slots, following)), following)
        return ew.select(short, following, r), ew.select(short, larger, coefficient)

    return run_while(lambda now: reduce_or(ew.lt(now[1], iterations), axes), iteration, start, 1)


def cost(iterations: Array, slots: Array) -> Array:
    """Return the least number of evaluations to go back through a segment, elementwise."""
    r, coefficient = _repetitions(iterations, slots)
    # C(s + r, r - 1) is C(s + r, r) times r over s + 1
    return ew.sub(ew.mul(r, iterations), ew.div(ew.mul(coefficient, r), plus(slots, 1)))


def _cost_with_two(iterations: Array) -> Array:
    """``cost`` where there are two slots, in closed form: it is needed in every iteration."""
    x = ew.convert_element_type(iterations, dtypes.float64)
    root = ew.sqrt(ew.add(ew.mul(x, full_like(x, 8)), full_like(x, 1)))
    # At C(r + 2, 2) iterations, where r jumps, both values of r give the same cost.
    r = ew.ceil(ew.div(ew.sub(root, full_like(x, 3)), full_like(x, 2)))
    r = ew.convert_element_type(r, INT)
    product = ew.mul(ew.mul(r, plus(r, 1)), plus(r, 2))
    return ew.sub(ew.mul(r, iterations), ew.div(product, full_like(r, 6)))


def advance(iterations: Array, slots: Array) -> Array:
    """Return how far to go from the start of a segment to the next state that is kept.

    The backward pass through the two parts then costs at most ``r`` and ``r - 1`` evaluations per
    iteration, which is the least for the segment. If the next state is not the last one of the
    segment, it is kept in a second slot. A segment of one iteration is passed as a whole.
    """
    iterations = ew.max_(iterations, full_like(iterations, 2))
    r, coefficient = _repetitions(iterations, slots)
    fewer = ew.div(ew.mul(coefficient, r), ew.add(slots, r))  # C(s + r - 1, r - 1)
    rest = ew.div(ew.mul(fewer, slots), plus(ew.add(slots, r), -1))  # C(s + r - 2, r - 1)
    return ew.min_(fewer, ew.sub(iterations, rest))


# The states kept


#: Makes an iteration: takes its number and the state; returns the next state.
Step: TypeAlias = Callable[[Array, Arrays], Arrays]
#: Pulls cotangents back through an iteration. Takes its number, the state before it, the sums and
#: collected cotangents so far, and the cotangents of the state after it. Returns the new sums and
#: the cotangents of the state before it.
Pull: TypeAlias = Callable[[Array, Arrays, S, Arrays], tuple[S, Arrays]]


@tree.register_dataclass
@attrs.frozen(eq=False, repr=False)
class StateStore:
    """The states of a loop that are kept, in the order of their iterations.

    The state before the first iteration is always known, so the first slot is free for another one.
    When the loop has ended, that slot may hold the state before the last iteration; later it is
    unused.

    Attributes:
        positions: the iteration that follows each state, in ascending order.
        places: its index in ``slots``; a permutation.
        last: the iteration that follows the state in the first slot.
        depth: the number of kept states, the first included. The slots after them are free.
        slots: an array of states for every part of the state.
    """

    positions: Array
    places: Array
    last: Array
    depth: Array
    slots: Arrays

    @classmethod
    def start(cls, state: Arrays, size: int) -> StateStore:
        """Keep nothing but the first state."""
        places, none = iota((size,), INT, 0), integer(0)
        return cls(full((size,), 0, INT), places, none, integer(1), stacks(state, size))

    @property
    def size(self) -> int:
        return self.positions.shape[0]

    @property
    def free(self) -> Array:
        """The slots of a segment that starts at the latest state: its own and the free ones."""
        return ew.sub(integer(self.size + 1), self.depth)

    @property
    def latest(self) -> Array:
        """The position of the latest state."""
        return element(self.positions, plus(self.depth, -1))

    def write(self, place: Array, state: Arrays) -> Arrays:
        """Return the slots with a state in one place."""
        return write(self.slots, state, place)

    def push(self, position: Array, state: Arrays, keep: Array) -> StateStore:
        """Keep a state after the others, if it is marked; else overwrite the first slot."""
        zero = full_like(self.depth, 0)
        place = ew.select(keep, element(self.places, self.depth), zero)
        here = ew.eq(iota((self.size,), INT, 0), _everywhere(self.depth, self.size))
        here = ew.and_(here, _everywhere(keep, self.size))
        positions = ew.select(here, _everywhere(position, self.size), self.positions)
        depth = ew.add(self.depth, ew.convert_element_type(keep, INT))
        last = ew.select(keep, self.last, position)
        return StateStore(positions, self.places, last, depth, self.write(place, state))

    def load(self, init: Arrays, iterations: Array, end: Array) -> tuple[Array, list[Array]]:
        """Return the position of the state nearest before an iteration, and the state.

        Args:
            init: the first state.
            iterations: how many the loop made.
            end: how many are still to be gone back through.
        """
        latest, target = self.latest, plus(end, -1)
        is_kept = ew.and_(ew.eq(self.last, target), ew.lt(latest, target))
        last = ew.and_(ew.eq(end, iterations), is_kept)
        place = element(self.places, plus(self.depth, -1))
        place = ew.select(last, full_like(place, 0), place)
        first = ew.eq(place, full_like(place, 0))
        first = ew.and_(first, ew.eq(last, full_like(last, False)))
        stored = read(self.slots, place, [x.aval for x in init])
        return ew.select(last, target, latest), [
            ew.select(_everywhere(first, *x.shape), x, y) for x, y in zip(init, stored, strict=True)
        ]

    def pop(self, target: Array) -> StateStore:
        """Free the latest state if it is at this position; the first one stays."""
        done = ew.and_(ew.eq(self.latest, target), ew.gt(self.depth, integer(1)))
        return attrs.evolve(self, depth=ew.sub(self.depth, ew.convert_element_type(done, INT)))

    def go_back(
        self,
        iterations: Array,
        init: Arrays,
        step: Step,
        pull: Pull[S],
        sums: S,
        cotangents: Arrays,
        size: int,
        observer: Observer | None,
    ) -> tuple[S, Arrays]:
        """Pull cotangents back through the iterations of a loop, the last one first.

        Each iteration starts from the nearest state kept before it. Further states are kept in the
        slots that have become free.

        Args:
            iterations: how many there were.
            init: the first state.
            step: makes an iteration.
            pull: goes back through one.
            sums: the initial values of the sums and collections of ``pull``.
            cotangents: of the last state.
            size: the number of states that are kept at a time.
            observer: the observer of the loop.

        Returns:
            The sums and the cotangents of the first state.
        """

        def iteration(
            now: tuple[Array, StateStore, S, Arrays],
        ) -> tuple[Array, StateStore, S, Arrays]:
            end, kept, sums, cts = now
            target = plus(end, -1)
            position, loaded = kept.load(init, iterations, end)
            state: Arrays = loaded

            def segment(now: tuple[Array, Arrays, StateStore]) -> tuple[Array, Arrays, StateStore]:
                start, state, kept = now
                stop = ew.add(start, advance(ew.sub(end, start), kept.free))

                def one(now: tuple[Array, Arrays]) -> tuple[Array, Arrays]:
                    i, state = now
                    return plus(i, 1), step(i, state)

                _, state = run_while(lambda now: ew.lt(now[0], stop), one, (start, state), size)
                return stop, state, kept.push(stop, state, ew.lt(stop, target))

            _, before, kept = run_while(
                lambda now: ew.lt(now[0], target), segment, (position, state, kept), size
            )
            sums, cts = pull(target, before, sums, cts)
            return target, kept.pop(target), sums, cts

        start = (iterations, self, sums, cotangents)
        backward = in_phase(observer, "backward")
        _, _, sums, cts = run_while(
            lambda now: ew.gt(now[0], integer(0)), iteration, start, size, backward
        )
        return sums, cts


def _everywhere(x: Array, *shape: int) -> Array:
    return broadcast_in_dim(x, shape, ())


def _strong(x: Array) -> Array:
    return ew.convert_element_type(x, x.dtype)


# Stacks: arrays with a first axis more, whose dtypes are strong


def stacks(state: Arrays, size: int) -> list[Array]:
    """Stack a state so many times."""
    return [
        broadcast_in_dim(_strong(x), (size, *x.shape), tuple(range(1, x.ndim + 1))) for x in state
    ]


def element(x: Array, i: Array) -> Array:
    """Read an array at a place of its first axis."""
    return dynamic_slice.dynamic_index_in_dim(x, i, 0, keepdims=False, allow_negative_indices=False)


def read(stacked: Arrays, place: Array, avals: Sequence[ShapedArray]) -> list[Array]:
    """Read a state, of these types, from stacks."""
    return convert_all([element(x, place) for x in stacked], avals)


def write(stacked: Arrays, state: Arrays, place: Array) -> list[Array]:
    """Write a state to stacks."""
    return [
        dynamic_slice.dynamic_update_index_in_dim(
            x, _strong(value), place, 0, allow_negative_indices=False
        )
        for x, value in zip(stacked, state, strict=True)
    ]


# Loops whose number of iterations is not known


@tree.register_dataclass
@attrs.frozen(eq=False, repr=False)
class OnlineStore:
    """The kept states of a running loop, and the one that can best be spared.

    Attributes:
        victim: of the states, without the first and the latest, the one that is cheapest to spare.
        loss: the additional evaluations of the backward pass without it.
        checkpoints: the states.
    """

    victim: Array
    loss: Array
    checkpoints: StateStore

    @classmethod
    def start(cls, state: Arrays, size: int) -> OnlineStore:
        kept = StateStore.start(state, size)
        return cls(integer(0), integer(_UNAFFORDABLE), kept)

    def offer(self, position: Array, state: Arrays) -> OnlineStore:
        """Decide whether to keep a state that comes after all others.

        A state that is not kept goes to the first slot, since it may be the last one.
        """
        kept, size = self.checkpoints, self.checkpoints.size
        if size == 1:
            slots = kept.write(integer(0), state)
            return attrs.evolve(self, checkpoints=attrs.evolve(kept, last=position, slots=slots))
        taken = ew.eq(kept.depth, integer(size))
        spared, worth = self._sparing(position)
        keep = ew.and_(ew.gt(position, integer(0)), ew.select(taken, worth, full_like(worth, True)))
        leaves = ew.select(taken, spared, kept.depth)
        end = ew.min_(kept.depth, integer(size - 1))
        place = ew.select(keep, element(kept.places, leaves), integer(0))
        index = iota((size,), INT, 0)

        def moved_up(x: Array, last: Array) -> Array:
            following = slicing.concatenate(
                [slicing.slice_(x, (1,), (size,)), slicing.slice_(x, (0,), (1,))], 0
            )
            after = ew.select(ew.ge(index, _everywhere(leaves, size)), following, x)
            after = ew.select(ew.eq(index, _everywhere(end, size)), _everywhere(last, size), after)
            return ew.select(_everywhere(keep, size), after, x)

        positions = moved_up(kept.positions, position)
        # While there are free slots no state is dropped, and kept states stay in their slots.
        moved = moved_up(kept.places, place)
        places = ew.select(_everywhere(taken, size), moved, kept.places)
        depth = ew.min_(ew.add(kept.depth, ew.convert_element_type(keep, INT)), integer(size))
        changed = ew.and_(keep, ew.eq(depth, integer(size)))
        victim, loss = _cheapest(positions, changed, self.victim, self.loss)
        last, slots = ew.select(keep, kept.last, position), kept.write(place, state)
        return OnlineStore(victim, loss, StateStore(positions, places, last, depth, slots))

    def _sparing(self, position: Array) -> tuple[Array, Array]:
        """Return the state to drop for one at this position, and whether that lowers the cost."""
        positions, size = self.checkpoints.positions, self.checkpoints.size
        latest = element(positions, integer(size - 1))
        before = element(positions, integer(size - 2))
        new, joined, old = (
            ew.sub(position, latest),
            ew.sub(position, before),
            ew.sub(latest, before),
        )
        # Assume that the loop ends after the iteration that follows this position.
        earlier = ew.add(self.loss, _cost_with_two(new))
        later = ew.sub(_cost_with_two(joined), _cost_with_two(old))
        none = ew.div(ew.mul(new, plus(new, 1)), full_like(new, 2))
        spared = ew.select(ew.le(earlier, later), self.victim, integer(size - 1))
        return spared, ew.lt(ew.min_(earlier, later), none)


#: The loss where no state can be dropped: more than any other loss, and far from overflow.
_UNAFFORDABLE: Final = 2**61


def _cheapest(positions: Array, changed: Array, victim: Array, loss: Array) -> tuple[Array, Array]:
    """Find the state that is cheapest to drop, if any state has changed since the last time."""
    size = positions.shape[0]
    if size < 3:
        return victim, loss
    segments = ew.sub(
        slicing.slice_(positions, (1,), (size,)), slicing.slice_(positions, (0,), (size - 1,))
    )
    slots = ew.sub(full((size - 1,), size, INT), iota((size - 1,), INT, 0))

    def search(_: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        # The cost of a segment now, with one more free slot, and joined to the segment before.
        left, right = (
            slicing.slice_(segments, (0,), (size - 2,)),
            slicing.slice_(segments, (1,), (size - 1,)),
        )
        fewer = slicing.slice_(slots, (0,), (size - 2,))
        costs = cost(
            slicing.concatenate([segments, segments, ew.add(left, right)], 0),
            slicing.concatenate([slots, plus(slots, 1), fewer], 0),
        )
        own = slicing.slice_(costs, (0,), (size - 1,))
        gains = ew.sub(slicing.slice_(costs, (size - 1,), (2 * size - 2,)), own)
        joined = slicing.slice_(costs, (2 * size - 2,), (3 * size - 4,))
        following = ew.sub(cumulative.cumsum(gains, 0, reverse=True), gains)
        losses = ew.sub(
            joined,
            ew.add(slicing.slice_(own, (0,), (size - 2,)), slicing.slice_(own, (1,), (size - 1,))),
        )
        losses = ew.add(losses, slicing.slice_(following, (1,), (size - 1,)))
        return (
            full((), False, dtypes.bool_),
            plus(arg_extrema.argmin(losses, 0, INT), 1),
            reduce_min(losses, (0,)),
        )

    # A loop of one iteration or none, so that batching it computes nothing where no example needs
    # it.
    start = changed, victim, loss
    return run_while(lambda now: now[0], search, start, 1)[1:]


# Reverse mode through loops of unknown length that keep many states, at the price of a ``scan``.
#
# The states of all iterations are stacked while they fit. When they do not, every other state is
# dropped, and every other one is kept from then on: the states kept are always equally far apart.
# The backward pass goes by blocks of as many iterations as fit. Unless all states were kept, those
# of a block are computed again, once, from the nearest one kept before it.
#
# A loop of ``n`` iterations with capacity ``s`` runs none again if ``n <= s``, each once if
# ``n <= s * s`` and ``s`` is a power of two, and else each ``1 + n / (s * s)`` times at most, in
# the mean. An iteration costs a write and a read, whatever the capacity.


@tree.register_dataclass
@attrs.frozen(eq=False, repr=False)
class Stacked:
    """The states of a loop that are kept, equally far apart.

    Attributes:
        stride: the number of iterations between two of them.
        rows: a stack for every part of the state, with one more row for states that are dropped.
    """

    stride: Array
    rows: Arrays

    def go_back(
        self,
        iterations: Array,
        init: Arrays,
        step: Step,
        pull: Pull[S],
        sums: S,
        cotangents: Arrays,
        size: int,
        observer: Observer | None,
    ) -> tuple[S, Arrays]:
        """Pull cotangents back through the iterations of a loop, as ``StateStore.go_back`` does.

        It goes by blocks of as many iterations as there is space for. Nobody observes it.
        """
        room, kept_all = integer(size), ew.eq(self.stride, integer(1))
        avals = [x.aval for x in init]

        def block(now: tuple[Array, S, Arrays]) -> tuple[Array, S, Arrays]:
            end, sums, cts = now
            start = ew.mul(ew.div(plus(end, -1), room), room)
            nearest = ew.div(start, self.stride)

            def again(now: tuple[Array, Arrays, Arrays]) -> tuple[Array, Arrays, Arrays]:
                i, state, rows = now
                place = ew.select(ew.lt(i, start), room, ew.sub(i, start))
                return plus(i, 1), step(i, state), write(rows, state, place)

            first = ew.select(kept_all, end, ew.mul(nearest, self.stride))
            nearest_state: Arrays = read(self.rows, nearest, avals)
            _, _, rows = run_while(
                lambda now: ew.lt(now[0], end), again, (first, nearest_state, self.rows), size
            )

            def back(now: tuple[Array, S, Arrays]) -> tuple[Array, S, Arrays]:
                i, sums, cts = now
                last = plus(i, -1)
                return last, *pull(last, read(rows, ew.sub(last, start), avals), sums, cts)

            return run_while(lambda now: ew.gt(now[0], start), back, (end, sums, cts), size)

        state = (iterations, sums, cotangents)
        return run_while(lambda now: ew.gt(now[0], integer(0)), block, state, size)[1:]


#: A loop that runs: its state, the number of iterations, and the states kept.
_Run: TypeAlias = tuple[Arrays, Array, Stacked]


def record(
    goes_on: Callable[[Arrays], Array],
    step: Callable[[Arrays], Arrays],
    init: Arrays,
    part: Callable[[Arrays], Arrays],
    size: int,
) -> _Run:
    """Run a loop, and stack parts of its states.

    Args:
        goes_on: the condition, of the state.
        step: the body.
        init: the first state.
        part: takes a state; returns the part of it to keep.
        size: the capacity, in states.
    """
    room = integer(size)

    def has_room(now: _Run) -> Array:
        state, n, kept = now
        return ew.and_(goes_on(state), ew.lt(n, ew.mul(kept.stride, room)))

    def iteration(now: _Run) -> _Run:
        state, n, kept = now
        place = ew.div(n, kept.stride)
        place = ew.select(ew.eq(ew.mul(place, kept.stride), n), place, room)
        after, count = step(state), plus(n, 1)
        return after, count, Stacked(kept.stride, write(kept.rows, part(state), place))

    def until_full(now: _Run) -> _Run:
        state, n, kept = now
        full = ew.eq(n, ew.mul(kept.stride, room))

        def drop(now: tuple[Array, Arrays]) -> tuple[Array, Arrays]:
            i, stacked = now
            rows = [element(x, ew.mul(i, integer(2))) for x in stacked]
            return plus(i, 1), write(stacked, rows, i)

        # before the loop goes on, so that one that ends at full capacity keeps its states
        end = ew.select(full, integer((size + 1) // 2), integer(1))
        start = (integer(1), kept.rows)
        _, rows = run_while(lambda now: ew.lt(now[0], end), drop, start, size)
        stride = ew.select(full, ew.mul(kept.stride, integer(2)), kept.stride)
        return run_while(has_room, iteration, (state, n, Stacked(stride, rows)), size)

    start = (init, integer(0), Stacked(integer(1), stacks(part(init), size + 1)))
    return run_while(lambda now: goes_on(now[0]), until_full, start, size)

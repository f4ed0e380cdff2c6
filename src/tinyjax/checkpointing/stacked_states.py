"""Reverse mode through loops of unknown length that keep many states, at the price of a ``scan``.

The states of all iterations are stacked while there is room. When there is none, every other state
is dropped, and every other one is kept from then on: the states kept are always equally far apart.
The way back goes by blocks of as many iterations as there is room for. Unless all states were kept,
those of a block are computed again, once, from the nearest one kept before it.

A loop of ``n`` iterations with room for ``s`` states runs none again if ``n <= s``, each once if
``n <= s * s`` and ``s`` is a power of two, and else each ``1 + n / (s * s)`` times at most, in the
mean. An iteration costs a write and a read, however many states there is room for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyjax.checkpointing.schedule import element, integer, plus, read, stacks, write
from tinyjax.core.control_flow.primitives import run_while
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing.primitive import split_list
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray

#: Makes an iteration: from a state to the next.
Step = Callable[..., Sequence[Array]]
#: Pulls cotangents back through an iteration: takes the state before it, what has been summed so
#: far, and the cotangents of the state after it; returns the latter two.
Pull = Callable[
    [Sequence[Array], Sequence[Array], Sequence[Array]], tuple[Sequence[Array], Sequence[Array]]
]


def record(
    goes_on: Callable[..., Array], step: Step, init: Sequence[Array], size: int
) -> list[Array]:
    """Run a loop, and stack its states.

    Args:
        goes_on: the condition, of the state.
        step: the body.
        init: the first state.
        size: for how many states there is room.

    Returns:
        The last state, the number of iterations, how many of these lie between two states kept, and
        the stacks, which have a row more for what is not kept.
    """
    m, room = len(init), integer(size)

    def has_room(*args: Array) -> Array:
        state, (n, stride), _ = split_list(args, m, 2)
        return ew.and_(goes_on(*state), ew.lt(n, ew.mul(stride, room)))

    def iteration(*args: Array) -> list[Array]:
        state, (n, stride), stacked = split_list(args, m, 2)
        place = ew.div(n, stride)
        place = ew.select(ew.eq(ew.mul(place, stride), n), place, room)
        return [*step(*state), plus(n, 1), stride, *write(stacked, state, place)]

    def until_full(*args: Array) -> list[Array]:
        state, (n, stride), stacked = split_list(args, m, 2)
        full = ew.eq(n, ew.mul(stride, room))

        def drop(i: Array, *stacked: Array) -> list[Array]:
            rows = [element(x, ew.mul(i, integer(2))) for x in stacked]
            return [plus(i, 1), *write(stacked, rows, i)]

        # before the loop goes on, so that one that ends when the room is full keeps its states
        end = ew.select(full, integer((size + 1) // 2), integer(1))
        stacked = list(run_while(lambda i, *_: ew.lt(i, end), drop, [integer(1), *stacked], size))[
            1:
        ]
        stride = ew.select(full, ew.mul(stride, integer(2)), stride)
        return list(run_while(has_room, iteration, [*state, n, stride, *stacked], size))

    start = [*init, integer(0), integer(1), *stacks(init, size + 1)]
    return list(run_while(lambda *args: goes_on(*args[:m]), until_full, start, size))


def go_back(
    kept: Sequence[Array],
    avals: Sequence[ShapedArray],
    step: Step,
    pull: Pull,
    sums: Sequence[Array],
    cotangents: Sequence[Array],
) -> list[Array]:
    """Pull cotangents back through the iterations of a loop, the last one first.

    Args:
        kept: what ``record`` returns after the last state.
        avals: the types of a state.
        step: the body.
        pull: goes back through one iteration.
        sums: what ``pull`` sums up, at the start.
        cotangents: of the last state.

    Returns:
        The sums and the cotangents of the first state.
    """
    (iterations, stride), stacked = split_list(kept, 2)
    m, size = len(stacked), stacked[0].shape[0] - 1
    room, kept_all = integer(size), ew.eq(stride, integer(1))

    def block(end: Array, *args: Array) -> list[Array]:
        rows, cotangents = split_list(args, m)
        start = ew.mul(ew.div(plus(end, -1), room), room)
        nearest = ew.div(start, stride)

        def again(i: Array, *args: Array) -> list[Array]:
            state, rows = split_list(args, m)
            place = ew.select(ew.lt(i, start), room, ew.sub(i, start))
            return [plus(i, 1), *step(*state), *write(rows, state, place)]

        first = ew.select(kept_all, end, ew.mul(nearest, stride))
        state = [first, *read(stacked, nearest, avals), *rows]
        rows = list(run_while(lambda i, *_: ew.lt(i, end), again, state, size))[1 + m :]

        def back(i: Array, *args: Array) -> list[Array]:
            sums_, cts = split_list(args, len(sums))
            last = plus(i, -1)
            sums_after, cts_before = pull(read(rows, ew.sub(last, start), avals), sums_, cts)
            return [last, *sums_after, *cts_before]

        outs = run_while(lambda i, *_: ew.gt(i, start), back, [end, *cotangents], size)
        return [outs[0], *rows, *outs[1:]]

    start = [iterations, *stacked, *sums, *cotangents]
    outs = run_while(lambda end, *_: ew.gt(end, integer(0)), block, start, size)
    return list(outs[1 + m :])

"""Vertex elimination: in which order the local derivatives of a program are multiplied.

A program is a graph. Its vertices are the values on which a result depends by way of the arguments,
its edges carry the derivative of one value in another. To eliminate a vertex is to multiply each
edge out of it with each into it, and to add the product to the edge between their other ends. When
none but arguments and results are left, the edges are the Jacobian, whatever the order. Forward
mode eliminates in the order of the program, reverse mode in the opposite one. An order that needs
the fewest multiplications is hard to find, but taking the vertex that needs the fewest next, which
is Markowitz's rule, is often better than both (A. Griewank and A. Walther, *Evaluating
Derivatives*, 2nd ed., 2008, chapters 9 and 10).

A vertex here is an array, and an edge a matrix of which it is known where its zeros are. Products
with what is zero are not counted, and not made; nor are those with matrices of ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, Generic, TypeVar

import attrs
import numpy as np

#: How many moves are tried, how many vertices are eliminated for that, and how many
#: elements of patterns there may be in all the graphs that this is tried on.
_MOST_TRIES: Final = 200
_MOST_STEPS: Final = 4000
_MOST_ELEMENTS: Final = 2**22

#: Orders found before, by the graph's digest: an eager call finds its order again in a hundredth of
#: the time that the search took. The oldest go first.
_FOUND: Final[OrderedDict[bytes, tuple[int, ...]]] = OrderedDict()
_MOST_FOUND: Final = 1024

Mask = np.ndarray[Any, np.dtype[np.bool_]]
E = TypeVar("E")
#: An edge: from which vertex, to which.
Ends = tuple[int, int]


@attrs.frozen(eq=False)
class Pattern:
    """The known properties of a matrix before its elements are known.

    Attributes:
        nonzero: the mask of elements that may differ from zero.
        sign: 1 or -1 where all of these are that number; 0 where nothing is known.
    """

    nonzero: Mask
    sign: int = 0

    @property
    def size(self) -> int:
        """The number of elements that may differ from zero."""
        return int(np.count_nonzero(self.nonzero))

    @property
    def full(self) -> bool:
        """Return whether all elements may differ from zero."""
        return bool(self.nonzero.all())

    @property
    def single(self) -> bool:
        """Return whether no row has more than one element that may differ from zero."""
        return bool((np.count_nonzero(self.nonzero, axis=1) <= 1).all())


def identity(n: int) -> Pattern:
    """Return the pattern of an identity matrix."""
    return Pattern(np.eye(n, dtype=np.bool_), 1)


def product(lhs: Pattern, rhs: Pattern) -> Pattern:
    """Return the pattern of a product of matrices."""
    if lhs.full and rhs.full and lhs.nonzero.shape[1] > 1:
        return Pattern(np.ones((lhs.nonzero.shape[0], rhs.nonzero.shape[1]), np.bool_))
    if lhs.single and lhs.nonzero.shape[1]:  # each row is one of the other matrix, or zero
        rows = rhs.nonzero[lhs.nonzero.argmax(axis=1)]
        rows[np.count_nonzero(lhs.nonzero, axis=1) == 0] = False
        return Pattern(rows, lhs.sign * rhs.sign)
    terms = lhs.nonzero.astype(np.float32) @ rhs.nonzero.astype(np.float32)
    unsummed = bool((terms <= 1).all())
    return Pattern(terms > 0, lhs.sign * rhs.sign if unsummed else 0)


def total(lhs: Pattern, rhs: Pattern) -> Pattern:
    """Return the pattern of a sum of matrices."""
    disjoint = not (lhs.nonzero & rhs.nonzero).any()
    sign = lhs.sign if disjoint and lhs.sign == rhs.sign else 0
    return Pattern(lhs.nonzero | rhs.nonzero, sign)


def multiplications_of(lhs: Pattern, rhs: Pattern) -> int:
    """Return the number of multiplications of a product of matrices."""
    if lhs.sign or rhs.sign:
        return 0
    columns = np.count_nonzero(lhs.nonzero, axis=0)
    rows = np.count_nonzero(rhs.nonzero, axis=1)
    return int(columns.astype(np.int64) @ rows.astype(np.int64))


@attrs.frozen(eq=False)
class Graph:
    """A program's derivatives before any are multiplied.

    Attributes:
        inputs: the vertices that are arguments.
        inner: those in between, in the order of the program.
        outputs: those that are results; no edge leaves them.
        edges: the patterns of the derivatives.
    """

    inputs: tuple[int, ...]
    inner: tuple[int, ...]
    outputs: tuple[int, ...]
    edges: Mapping[Ends, Pattern]

    def digest(self) -> bytes:
        """Return a hash of the vertices and of the patterns between them."""
        state = blake2b(repr((self.inputs, self.inner, self.outputs)).encode(), digest_size=32)
        for ends, pattern in self.edges.items():
            state.update(repr((ends, pattern.nonzero.shape, pattern.sign)).encode())
            state.update(np.packbits(pattern.nonzero).tobytes())
        return state.digest()


class Elimination(Generic[E]):
    """A graph under vertex elimination, with edges of any kind.

    Attributes:
        edges: those there are now.
    """

    __slots__ = ("_add", "_multiply", "edges", "predecessors", "successors")

    def __init__(
        self, edges: Mapping[Ends, E], multiply: Callable[[E, E], E], add: Callable[[E, E], E]
    ) -> None:
        self.edges: dict[Ends, E] = dict(edges)
        self.predecessors: dict[int, list[int]] = {}
        self.successors: dict[int, list[int]] = {}
        self._multiply = multiply
        self._add = add
        for u, w in self.edges:
            self._connect(u, w)

    def _connect(self, u: int, w: int) -> None:
        self.successors.setdefault(u, []).append(w)
        self.predecessors.setdefault(w, []).append(u)

    def before(self, v: int) -> Sequence[int]:
        """Return the vertices with an edge into one."""
        return self.predecessors.get(v, ())

    def after(self, v: int) -> Sequence[int]:
        """Return the vertices with an edge out of one."""
        return self.successors.get(v, ())

    def eliminate(self, v: int) -> None:
        """Replace a vertex by edges between its neighbours."""
        before, after = self.predecessors.pop(v, []), self.successors.pop(v, [])
        for u in before:
            self.successors[u].remove(v)
        for w in after:
            self.predecessors[w].remove(v)
        into = {u: self.edges.pop((u, v)) for u in before}
        for w in after:
            last = self.edges.pop((v, w))
            for u, first in into.items():
                edge = self._multiply(last, first)
                parallel = self.edges.get((u, w))
                if parallel is None:
                    self._connect(u, w)
                    self.edges[u, w] = edge
                else:
                    self.edges[u, w] = self._add(parallel, edge)


class _SymbolicElimination(Elimination[Pattern]):
    """An elimination of patterns, which counts."""

    __slots__ = ()

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.edges, product, total)

    def price(self, v: int) -> int:
        """Return the number of multiplications for the elimination of a vertex now."""
        return sum(
            multiplications_of(self.edges[v, w], self.edges[u, v])
            for w in self.after(v)
            for u in self.before(v)
        )

    def fill(self, v: int) -> int:
        """By how many elements that are multiplied with the edges grow by the elimination."""
        grown = 0
        for w in self.after(v):
            for u in self.before(v):
                pattern = product(self.edges[v, w], self.edges[u, v])
                parallel = self.edges.get((u, w))
                grown += _weight(pattern) if parallel is None else _weight(total(parallel, pattern))
                grown -= 0 if parallel is None else _weight(parallel)
        gone = [(v, w) for w in self.after(v)] + [(u, v) for u in self.before(v)]
        return grown - sum(_weight(self.edges[ends]) for ends in gone)


def _weight(pattern: Pattern) -> int:
    return 0 if pattern.sign else pattern.size


def count(graph: Graph, order: Iterable[int]) -> int:
    """Return the number of multiplications for an order of the inner vertices."""
    plan, multiplications = _SymbolicElimination(graph), 0
    for v in order:
        multiplications += plan.price(v)
        plan.eliminate(v)
    return multiplications


#: What the elimination of a vertex is taken to cost.
Score = Callable[[_SymbolicElimination, int], int]


def _greedy(graph: Graph, score: Score, last_first: bool) -> tuple[int, ...]:
    """Return the order that takes the vertex of the least score next, with ties to one side."""
    plan = _SymbolicElimination(graph)
    places = {v: -i if last_first else i for i, v in enumerate(graph.inner)}
    keys = {v: (score(plan, v), places[v]) for v in graph.inner}
    order: list[int] = []
    while keys:
        v = min(keys, key=keys.__getitem__)
        del keys[v]
        neighbours = {*plan.before(v), *plan.after(v)}
        plan.eliminate(v)
        order.append(v)
        for u in neighbours & keys.keys():
            keys[u] = score(plan, u), places[u]
    return tuple(order)


def _last_prices(graph: Graph) -> dict[int, int]:
    """Return the price of each vertex if all others were eliminated before it."""
    plan = _SymbolicElimination(graph)
    into = _starts(graph, graph.inputs, axis=1)  # from all arguments to the vertex
    out_of = _starts(graph, graph.outputs, axis=0)  # from the vertex to all results
    for v in graph.inner:
        for u in plan.before(v):
            if u in into:
                pattern = product(plan.edges[u, v], into[u])
                into[v] = total(into[v], pattern) if v in into else pattern
    for v in reversed(graph.inner):
        for w in plan.after(v):
            if w in out_of:
                pattern = product(out_of[w], plan.edges[v, w])
                out_of[v] = total(out_of[v], pattern) if v in out_of else pattern
    return {
        v: multiplications_of(out_of[v], into[v]) if v in into and v in out_of else 0
        for v in graph.inner
    }


def _starts(graph: Graph, vertices: Sequence[int], axis: int) -> dict[int, Pattern]:
    """Identities of the vertices, cut out of the identity of all of them together."""
    sizes = {u: p.nonzero.shape[1] for (u, _), p in graph.edges.items()}
    sizes |= {w: p.nonzero.shape[0] for (_, w), p in graph.edges.items()}
    connected = [v for v in vertices if v in sizes]
    whole = np.eye(sum(sizes[v] for v in connected), dtype=np.bool_)
    places = np.cumsum([sizes[v] for v in connected])[:-1]
    parts = np.split(whole, places, axis=1 - axis) if connected else []
    return {v: Pattern(part, 1) for v, part in zip(connected, parts, strict=True)}


def _candidates(graph: Graph) -> list[tuple[int, ...]]:
    """Forward and reverse mode, and greedy orders by several scores."""
    last = _last_prices(graph)
    scores: tuple[Score, ...] = (
        lambda plan, v: plan.price(v),
        lambda plan, v: plan.price(v) + plan.fill(v),  # ahead by one step
        lambda plan, v: plan.price(v) - last[v],  # what it costs to do it now and not at the end
    )
    return [
        graph.inner,
        graph.inner[::-1],
        *[_greedy(graph, score, last_first) for score in scores for last_first in (False, True)],
    ]


def cheapest(graph: Graph) -> tuple[int, ...]:
    """Return an order that needs few multiplications: no more than forward and reverse mode.

    The best of several, with vertices moved about at random for as long as that helps. The same
    graph has the same order, always.
    """
    key = graph.digest()
    order = _FOUND.get(key)
    if order is None:
        order = _FOUND[key] = _search(graph)
        if len(_FOUND) > _MOST_FOUND:
            _FOUND.popitem(last=False)
    return order


def _search(graph: Graph) -> tuple[int, ...]:
    counts = {order: count(graph, order) for order in _candidates(graph)}
    best = min(counts, key=counts.__getitem__)
    fewest = counts[best]
    rng = np.random.default_rng(0)
    elements = sum(pattern.nonzero.size for pattern in graph.edges.values())
    tries = min(_MOST_TRIES, _MOST_STEPS // max(1, len(best)), _MOST_ELEMENTS // max(1, elements))
    for _ in range(tries if best else 0):
        old, new = rng.integers(len(best), size=2).tolist()
        tried = [*best[:old], *best[old + 1 :]]
        tried.insert(new, best[old])
        multiplications = count(graph, tried)
        if multiplications <= fewest:
            best, fewest = tuple(tried), multiplications
    return best

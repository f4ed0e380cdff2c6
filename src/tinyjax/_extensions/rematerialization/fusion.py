"""XLA's fusion of operations into loops on CPU: values inside a loop are never in memory.

An operation goes into the loops of its readers where that computes nothing costly twice: cheap
operations go into several. (``cpu_instruction_fusion.cc`` and ``instruction_fusion.cc`` of XLA.)
Before that, large sums and extrema are given to YNNPACK, with products and some operations that
nobody else reads (``ynn_matcher.h``, ``library_rewriter.cc``). This describes jaxlib 0.10.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from typing import Any, Final, cast

from tinyjax._extensions import costs
from tinyjax.core.primitives.broadcast import ReduceParams
from tinyjax.core.tracing import jaxpr as jx, primitive as prim

#: YNNPACK computes sums, maxima and minima of at least ``_LARGE`` elements, and such operands of
#: them as these primitives give. Other operands are in memory.
_OF_LIBRARY: Final = frozenset(
    [
        *("broadcast_in_dim", "dot_general", "add", "sub", "mul", "div", "pow", "max", "min"),
        *("neg", "abs", "sign", "floor", "ceil", "round", "integer_pow", "sqrt", "rsqrt"),
        *("exp", "expm1", "log", "log1p", "erf", "logistic", "tan", "tanh"),
    ]
)
_LARGE: Final = 4096
#: XLA computes other reductions. It fuses those of at most so many elements with other operations.
_SHORT: Final = 32
#: XLA stores the results of these primitives rather than compute them in several loops.
_COSTLY: Final = frozenset(("concatenate", "gather", "pad"))
#: A loop computes an element at most so often, and an element of these primitives once.
_MOST_TIMES: Final = 15
_ONCE: Final = frozenset(("concatenate", "pad"))
#: Primitives that may read an element several times.
_REPEATING: Final = frozenset(("broadcast_in_dim", "gather"))
#: Primitives whose operands are small, or that have none.
_MADE: Final = frozenset(("broadcast_in_dim", "iota"))
#: Functions that XLA computes again in each loop that reads them.
_CHEAP_FUNCTIONS: Final = frozenset(("cos", "sin"))


def _has(eqn: jx.JaxprEqn, *marks: prim.RuleKey[Any]) -> bool:
    return any(mark in eqn.primitive.rules.extensions for mark in marks)


def moves(eqn: jx.JaxprEqn) -> bool:
    """Return whether an operation computes nothing, and can be fused into its readers."""
    return _has(eqn, prim.FUSES) or eqn.primitive.name in ("dynamic_slice", "gather")


def writes_over(eqn: jx.JaxprEqn) -> bool:
    """Return whether results take the memory of an operand that ends with them."""
    is_kept = _has(eqn, prim.MATERIALIZES)
    return _has(eqn, prim.ELEMENTWISE) or (is_kept and eqn.primitive.rule(prim.MATERIALIZES)())


def _aliases(eqn: jx.JaxprEqn) -> bool:
    """Return whether results alias operands."""
    return _has(eqn, prim.VIEW, prim.IDENTITY)


def _is_large_reduction(eqn: jx.JaxprEqn) -> bool:
    name, aval = eqn.primitive.name, eqn.inputs[0].aval if eqn.inputs else None
    if aval is None or name not in ("reduce_max", "reduce_min", "reduce_sum"):
        return False
    return aval.size >= _LARGE and aval.dtype.kind == "f"


def _is_of_library(eqn: jx.JaxprEqn) -> bool:
    """Return whether YNNPACK can do an operation on the way to a reduction."""
    return eqn.primitive.name in _OF_LIBRARY or _is_large_reduction(eqn)


def is_in_loops(eqn: jx.JaxprEqn) -> bool:
    """Return whether XLA fuses an operation into a loop with others."""
    if isinstance(eqn.params, ReduceParams):
        shape = eqn.inputs[0].aval.shape
        return not _is_large_reduction(eqn) and all(shape[i] <= _SHORT for i in eqn.params.axes)
    return _has(eqn, prim.ELEMENTWISE) or moves(eqn)


class Fusions:
    """For each operation of a program without calls, the operations whose loops compute it."""

    def __init__(self, jaxpr: jx.Jaxpr) -> None:
        self.origin = {v: eqn for eqn in jaxpr.eqns for v in eqn.out_binders}
        self.results = {v for x in jaxpr.outs for v in self.source(x)}
        self._eqns = [eqn for eqn in jaxpr.eqns if not _aliases(eqn)]
        self.readers: defaultdict[jx.JaxprEqn, list[jx.JaxprEqn]] = defaultdict(list)
        for eqn in self._eqns:
            for operand in self._operands(eqn):
                if not self._is_by_reciprocal(eqn, operand):
                    self.readers[operand].append(eqn)
        self._library = set(map(self._end_of_library, filter(_is_large_reduction, self._eqns)))
        kept = self._in_memory(self._in_memory(frozenset()))
        self._places: dict[jx.JaxprEqn, frozenset[jx.JaxprEqn]] = {}
        self._times: dict[jx.JaxprEqn, int] = {}
        self._homes: dict[jx.JaxprEqn, frozenset[jx.JaxprEqn]] = {}
        for eqn in reversed(self._eqns):
            homes = frozenset[jx.JaxprEqn]()
            if not (eqn in self._library or eqn in kept or self.results & set(eqn.out_binders)):
                homes = self._homes_of_readers(eqn)
            self._homes[eqn] = homes or frozenset((eqn,))
            self._times[eqn] = self._times[eqn] if homes else 1

    def source(self, x: jx.Atom) -> tuple[jx.Var, ...]:
        """Return the variable whose memory an atom is in."""
        while isinstance(x, jx.Var):
            eqn = self.origin.get(x)
            if eqn is None or not _aliases(eqn):
                return (x,)
            x = eqn.inputs[0]
        return ()

    def is_fused(self, eqn: jx.JaxprEqn) -> bool:
        """Return whether an operation is computed in its readers, and not kept in memory."""
        return _aliases(eqn) or eqn not in self._homes[eqn]

    def is_turned(self, eqn: jx.JaxprEqn) -> bool:
        """Return whether the result is an array in memory, with its axes in another order."""
        x = eqn.inputs[0] if eqn.primitive.name == "transpose" else None
        return x in self.origin and not self.is_fused(self.origin[x])

    def _operands(self, eqn: jx.JaxprEqn) -> Iterable[jx.JaxprEqn]:
        sources = dict.fromkeys(v for x in eqn.inputs for v in self.source(x))
        return dict.fromkeys(self.origin[v] for v in sources if v in self.origin)

    def _is_by_reciprocal(self, eqn: jx.JaxprEqn, operand: jx.JaxprEqn) -> bool:
        """Return whether a product is divided by a broadcast: XLA repeats the reciprocals."""
        if eqn.primitive.name != "div" or operand.primitive.name != "broadcast_in_dim":
            return False
        return any(o.primitive.name == "dot_general" for o in self._operands(eqn))

    def _homes_of_readers(self, eqn: jx.JaxprEqn) -> frozenset[jx.JaxprEqn]:
        """Return the operations whose loops can compute another; none if it is in memory."""
        none, readers = frozenset[jx.JaxprEqn](), self.readers[eqn]
        homes = none.union(*[self._homes[reader] for reader in readers])
        # the operations whose loops have their own index, and how often each computes an element
        places = none.union(
            *[
                self._places[r]
                if _has(r, prim.ELEMENTWISE) and self.is_fused(r)
                else frozenset((r,))
                for r in readers
            ]
        )
        times = sum(self._times[place] for place in places)
        self._places[eqn], self._times[eqn] = places, times
        if self._library & homes:
            return homes if len(homes) == 1 and _is_of_library(eqn) else none
        if times > (1 if eqn.primitive.name in _ONCE else _MOST_TIMES):
            return none
        fits = all(self._fits(eqn, reader, len(homes) > 1) for reader in readers)
        return homes if fits else none

    def _end_of_library(self, eqn: jx.JaxprEqn) -> jx.JaxprEqn:
        """Return the last operation that YNNPACK does with a reduction."""
        while len(self.readers[eqn]) == 1:
            (reader,) = self.readers[eqn]
            large = reader.inputs[0].aval.size >= _LARGE and _is_of_library(reader)
            if reader.primitive.name != "broadcast_in_dim" and not large:
                break
            eqn = reader
        return eqn

    def _in_memory(self, fixed: Container[jx.JaxprEqn]) -> frozenset[jx.JaxprEqn]:
        """Return operations of several operands that XLA stores, since several others read them.

        If the readers' loops computed such an operation, they would read its operands more often,
        unless one loop has everything between the operation and its readers.

        Args:
            fixed: operations that are known to be stored.
        """
        # as bits: the operations that depend on each, and the stored ones that each depends on
        bits = {eqn: 1 << i for i, eqn in enumerate(self._eqns)}
        behind, apart = dict(bits), dict.fromkeys(bits, 0)
        for eqn in reversed(self._eqns):
            for operand in self._operands(eqn):
                behind[operand] |= behind[eqn]
        for eqn in self._eqns:
            for operand in self._operands(eqn):
                apart[eqn] |= apart[operand]
                several = len(self.readers[operand]) > 1
                if operand in fixed or not self._fits(operand, eqn, several):
                    apart[eqn] |= bits[operand]
        return frozenset(
            eqn
            for eqn in self._eqns
            if len(self.readers[eqn]) > 1
            and self._reads_several(eqn)
            and any(apart[reader] & behind[eqn] for reader in self.readers[eqn])
        )

    def _fits(self, eqn: jx.JaxprEqn, reader: jx.JaxprEqn, several: bool) -> bool:
        """Return whether the loop of a reader can include an operation that loops read."""
        if not is_in_loops(eqn) or not is_in_loops(reader):
            return False
        return not (self._is_costly(eqn) and (several or reader.primitive.name in _REPEATING))

    def _reads_several(self, eqn: jx.JaxprEqn) -> bool:
        size = eqn.out_binders[0].aval.size
        repeated = {
            v for o in self._operands(eqn) if o.primitive.name in _MADE for v in o.out_binders
        }
        inputs = {x for x in eqn.inputs if isinstance(x, jx.Var) and x.aval.size >= size}
        if eqn.primitive.name in ("ge", "le") and eqn.inputs[0].aval.dtype.kind == "f":
            return True  # XLA makes two comparisons of one of floats
        return len(inputs - repeated) > 1

    def _is_costly(self, eqn: jx.JaxprEqn) -> bool:
        """Return whether XLA keeps a result rather than computing it in several loops."""
        name = eqn.primitive.name
        if name == "div":  # XLA multiplies by the reciprocal of a broadcast divisor
            divisor = self.origin.get(cast(jx.Var, eqn.inputs[1]))
            return divisor is not None and divisor.primitive.name != "broadcast_in_dim"
        if name in _CHEAP_FUNCTIONS:
            return False
        reduction = isinstance(eqn.params, ReduceParams)
        return reduction or name in _COSTLY or costs.is_function(eqn.primitive)

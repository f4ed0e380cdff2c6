"""References in functions and rules of ``custom_vjp``, whose contents are operands and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import attrs

from tinyjax._extensions.state import references
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av
from tinyjax.errors import RefError

T = TypeVar("T")


@attrs.frozen(eq=False)
class RuleState:
    """The references that a call's function and rules use, as far as the caller sees them.

    The call takes their backward states, and then their contents, after its arguments. It returns
    both after its results.

    Attributes:
        refs: the references.
    """

    refs: Sequence[references.Ref]

    @property
    def avals(self) -> list[av.ShapedArray]:
        """The types of the backward states."""
        return [ref.backward.aval for ref in self.refs]

    def operands(self) -> list[Array]:
        """Return the operands of the call."""
        return [ref.contents for ref in self._all()]

    def _all(self) -> list[references.Ref]:
        return [*[ref.backward for ref in self.refs], *self.refs]

    def split(self, values: Sequence[T]) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
        """Return the arguments or results, the states, and the contents."""
        k = len(self.refs)
        n = len(values) - 2 * k
        return values[:n], values[n : n + k], values[n + k :]

    def run(
        self, fun: Callable[[], T], states: Sequence[Array], contents: Sequence[Array]
    ) -> tuple[T, list[Array]]:
        """Call a function with these contents, and return the final ones."""
        trace = tr.current_trace()
        values = zip(self._all(), (*states, *contents), strict=True)
        cells = {ref: references.RefCell(x, trace) for ref, x in values}
        return _run_with_cells(cells, fun), [cells[ref].value for ref in self.refs]

    def run_backward(
        self, fun: Callable[[], T], cotangents: prim.Tangents, name: str
    ) -> tuple[T, list[prim.Tangent]]:
        """Call a backward rule.

        Args:
            fun: calls it.
            cotangents: the cotangents of the states, which are their contents.
            name: the function whose rule it is.

        Returns:
            Its result, and the new cotangents.
        """
        trace = tr.current_trace()
        cells: dict[references.Ref, references.RefCell] = {}
        for ref, ct in zip(self.refs, cotangents, strict=True):
            if isinstance(ct, Array):
                cells[ref] = references.RefCell(references.decoded(ct, ref.aval), trace)
            else:
                cells[ref] = _refusing(ref, name, trace)
        result = _run_with_cells(cells, fun)
        after = [
            ct
            if not isinstance(ct, Array) or not cell.is_written
            else references.encoded(cell.value)
            for cell, ct in zip(cells.values(), cotangents, strict=True)
        ]
        return result, after

    def keep(self, before: Sequence[Array], outs: Sequence[Array]) -> Sequence[Array]:
        """Write the final contents of a call, and return its results."""
        results = self.split(outs)[0]
        for ref, old, new in zip(self._all(), before, outs[len(results) :], strict=True):
            if new is not old:
                ref._write(new)
        return results


def _run_with_cells(cells: Mapping[references.Ref, references.RefCell], fun: Callable[[], T]) -> T:
    with tr.assigned(references.bound_cells, {**references.bound_cells.get(), **cells}):
        return fun()


def _refusing(ref: references.Ref, name: str, trace: tr.Trace) -> references.RefCell:
    def refuse(*_: Any) -> NoReturn:
        raise RefError(
            f"the backward rule of {name} uses a Ref of type {ref.aval}, but nothing passes on "
            "what it writes here. Make the Ref outside of the function that grad, value_and_grad, "
            "vjp or jacrev differentiates, and let vmap map over it as an argument."
        )

    return references.ForeignCell(refuse, refuse, trace)

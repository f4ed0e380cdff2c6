"""Indices within bounds: what a compiled program need not test, by the intervals of its integers.

``a[i]`` counts from the end where ``i`` is negative, and a write outside of an array is dropped.
Where ``i`` is a loop's counter, its interval often decides both: then a compiled program only reads
and writes.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tinyjax._extensions.checkpointing.scopes import IntegerScope
from tinyjax._extensions.checkpointing.trip_counts import Analysis, unknown_arguments
from tinyjax._primitives.gather_scatter import scatter_p
from tinyjax._primitives.wrap_index import wrap_index_p
from tinyjax.core.control_flow.primitives import scan_p, while_p
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.tracing import jaxpr as jx


def without_tests(program: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program without the tests of indices that are known to be within bounds."""

    def rewrite() -> jx.Jaxpr:
        return Analysis(_rewrite).program(program, unknown_arguments(program))[0]

    return program.derive("without tests", rewrite) if _has_loops(program) else program


def _has_loops(program: jx.Jaxpr) -> bool:
    """Return whether a loop in a program tests indices."""

    def find() -> bool:
        return any(
            any(map(_tests if eqn.primitive in (scan_p, while_p) else _has_loops, inner))
            for eqn in program.eqns
            if (inner := jx.subjaxprs(eqn.params))
        )

    return program.derive("has loops with tests", find)


def _tests(program: jx.Jaxpr) -> bool:
    """Return whether a program tests indices."""
    return jx.some_eqn(
        program, "tests indices", lambda eqn: eqn.primitive in (wrap_index_p, scatter_p)
    )


def _rewrite(eqn: jx.JaxprEqn, scope: IntegerScope) -> Sequence[jx.JaxprEqn]:
    if eqn.primitive is wrap_index_p and scope.range(eqn.inputs[0])[0] >= 0:
        aval = eqn.out_binders[0].aval
        params = ew.ConvertParams(aval.dtype, aval.weak_type)
        return (attrs.evolve(eqn, primitive=ew.convert_element_type_p, params=params),)
    return _write(eqn, scope) if eqn.primitive is scatter_p else (eqn,)


def _write(eqn: jx.JaxprEqn, scope: IntegerScope) -> Sequence[jx.JaxprEqn]:
    """Return a write of one window, which says so if it is known to be within bounds."""
    array, indices, value = eqn.inputs
    numbers, ndim = eqn.params.dimension_numbers, array.aval.ndim
    starts = _entries(indices, scope.makers)
    if starts is None or numbers.operand_batching_dims:
        return (eqn,)
    lengths = iter(value.aval.shape)
    sizes = [1 if i in numbers.inserted_window_dims else next(lengths) for i in range(ndim)]
    for axis, start in zip(numbers.scatter_dims_to_operand_dims, starts, strict=True):
        low, high = scope.range(start)
        if low < 0 or high > array.aval.shape[axis] - sizes[axis]:
            return (eqn,)
    return (attrs.evolve(eqn, params=attrs.evolve(eqn.params, in_bounds=True)),)


def _entries(vector: jx.Atom, makers: dict[jx.Var, jx.JaxprEqn]) -> Sequence[jx.Atom] | None:
    """Return the numbers that an index vector is concatenated from; None if it is another."""
    if vector.aval.ndim != 1 or not isinstance(vector, jx.Var) or vector not in makers:
        return None
    eqn = makers[vector]
    if eqn.primitive is sh.reshape_p and not eqn.inputs[0].aval.shape:
        return eqn.inputs
    if eqn.primitive is not slicing.concatenate_p:
        return None
    entries = [_entries(x, makers) for x in eqn.inputs]
    return None if None in entries else [x for part in entries for x in part or ()]

"""The derivatives of a value: its Laplacian term, and its derivatives in the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, numpy as jnp
from tinyjax._library.laplacians import numbering
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import jvp_flat
from tinyjax.core.values import Array, avals as av
from tinyjax.custom_derivatives.custom_calls import flat_jvp

P = TypeVar("P")

#: ``(primals, tangents) -> results, their tangents``, as ``jvp`` rules are.
Rule = tr.DerivativeRule
#: Pushes tangents through a function of arrays, as ``jvp_flat``.
Push = Callable[..., tuple[list[Array], list[prim.Tangent]]]


@attrs.frozen(eq=False)
class JacobianRows:
    """The derivatives of a value.

    Attributes:
        values: of shape ``(1 + k, *shape)``: first the Laplacian term, which a linear function
            treats as it does the derivatives, then ``k`` derivatives of each element.
        numbers: in which inputs these are.
    """

    values: Array
    numbers: numbering.Numbers

    def expanded(self, numbers: numbering.Numbers) -> Array:
        """Return the term and the derivatives in other inputs, which include those there are."""
        have, want = self.numbers, numbers
        if have is want or (have.shape == want.shape and bool((have == want).all())):
            return self.values
        matches = (have[:, None] == want[None]) & (have[:, None] != numbering.NONE)
        present, sources = matches.any(axis=0), matches.argmax(axis=0) + 1
        axes = tuple(range(1, sources.ndim))
        greatest = np.where(present, sources, 0).max(axis=axes, initial=0)
        least = np.where(present, sources, len(have) + 1).min(axis=axes, initial=len(have) + 1)
        shape = self.values.shape[1:]
        if bool((greatest <= least).all()):  # each row comes from one
            rows = np.concatenate([[0], np.maximum(greatest, 1)])
            whole = np.array_equal(rows, np.arange(len(have) + 1))
            taken = self.values if whole else self.values[rows]
        else:
            first = np.zeros((1, *sources.shape[1:]), sources.dtype)
            places = np.broadcast_to(np.concatenate([first, sources]), (len(want) + 1, *shape))
            taken = jnp.take_along_axis(self.values, jnp.asarray(places), axis=0)
        if bool(present.all()):
            return taken
        kept = np.concatenate([np.ones((1, *present.shape[1:]), np.bool_), present])
        mask = jnp.asarray(np.broadcast_to(kept, taken.shape))
        return ew.select(mask, taken, sh.full_like(taken, 0))


def summed(rows: JacobianRows, axes: Sequence[int], numbers: numbering.Numbers) -> Array | None:
    """Add elements along axes: those with a derivative in an input, and not zeros of all others.

    Returns:
        The rows of the sums; None where it is better to widen rows before.
    """
    shape = rows.values.shape[1:]
    found = numbering.addends(rows.numbers, shape, axes, numbers)
    if found is None:
        return None
    places, present = found
    rest = [a + 1 for a in range(len(shape)) if a not in axes]
    ordered = sh.transpose(rows.values, [0, *(a + 1 for a in axes), *rest])
    of_rest = tuple([ordered.shape[len(axes) + 1 + i] for i in range(len(rest))])
    size = prod(shape[a] for a in axes)
    terms = sh.reshape(slicing.slice_in_dim(ordered, 0, 1), (size, *of_rest))
    rows_of_elements = slicing.slice_in_dim(ordered, 1, ordered.shape[0])
    flat = sh.reshape(rows_of_elements, (size * (ordered.shape[0] - 1), *of_rest))
    parts = flat[places]
    if not bool(present.all()):
        mask = np.broadcast_to(present.reshape(*present.shape, *[1] * len(rest)), parts.shape)
        parts = ew.select(jnp.asarray(mask), parts, sh.full_like(parts, 0))
    sums = [reduce_sum(terms, (0,)), reduce_sum(parts, (1,))]
    return slicing.concatenate([sh.expand_dims(sums[0], (0,)), sums[1]], 0)


def zeros(aval: av.ShapedArray, size: int) -> Array:
    """Return rows of a constant."""
    zero = sh.zero_tangent(aval)
    return broadcast_in_dim(zero, (size, *aval.shape), tuple(range(1, 1 + aval.ndim)))


def with_term(rows: Array, term: Array) -> Array:
    """Add to the Laplacian term by a selection, which takes two thirds of the time of a padding."""
    places = sh.iota(rows.shape, dtypes.int32, 0)
    spread = broadcast_in_dim(term, rows.shape, tuple(range(1, rows.ndim)))
    is_term = ew.eq(places, sh.full_like(places, 0))
    return ew.add(rows, ew.select(is_term, spread, sh.full_like(rows, 0)))


def _over_rows(
    fun: Callable[..., Sequence[Array]], size: int, shared: Sequence[Array], rows: Sequence[Array]
) -> list[tuple[Array, bool]]:
    """Apply a function to the shared operands and each row; return also which results have rows."""
    mapped = prim.MappedAxis(size, of_basis=True)
    axes = [*[None] * len(shared), *[0] * len(rows)]
    outs, out_axes = batching.batch_flat(fun, mapped, [*shared, *rows], axes)
    return [
        (out, False) if axis is None else (sh.move_batch_axis(out, axis, 0, size), True)
        for out, axis in zip(outs, out_axes, strict=True)
    ]


def _results(
    pairs: Sequence[tuple[Array, bool]], nonzero: Sequence[bool], size: int
) -> tuple[list[Array], list[Array | None]]:
    """Part results from their rows, which follow them where there are any."""
    n = len(nonzero)
    outs = [sh.squeeze(slicing.slice_in_dim(x, 0, 1), (0,)) if has else x for x, has in pairs[:n]]
    found = iter([x if has else sh.move_batch_axis(x, None, 0, size) for x, has in pairs[n:]])
    return outs, [next(found) if has else None for has in nonzero]


def pushed(
    rule: Rule, primals: Sequence[Array], rows: Sequence[Array | None]
) -> tuple[list[Array], list[Array | None]]:
    """Apply a derivative to each row: all there is to a linear function.

    Args:
        rule: the derivative rule.
        primals: the operands.
        rows: theirs; None for constants.

    Returns:
        The results, and their rows; None for one without derivatives.
    """
    run, nonzero_out = flat_jvp(rule, len(primals), [r is not None for r in rows])
    present = [r for r in rows if r is not None]
    size = present[0].shape[0]
    return _results(_over_rows(run, size, primals, present), nonzero_out, size)


def multiplied(
    primitive: prim.Primitive[P], params: P, primals: Sequence[Array], rows: Sequence[Array | None]
) -> tuple[list[Array], list[Array | None]]:
    """Multiply one operand with rows by a constant: linear rules treat the value as a row."""
    ((i, own),) = [(i, r) for i, r in enumerate(rows) if r is not None]
    stacked = slicing.concatenate([sh.expand_dims(primals[i], (0,)), own], 0)
    size = stacked.shape[0]

    def multiply(x: Array) -> Sequence[Array]:
        return tr.bind(primitive, [x if k == i else p for k, p in enumerate(primals)], params)

    ((products, _),) = _over_rows(multiply, size, [], [stacked])
    out = sh.squeeze(slicing.slice_in_dim(products, 0, 1), (0,))
    return [out], [slicing.slice_in_dim(products, 1, size)]


def curved(
    rule: Rule,
    primals: Sequence[Array],
    rows: Sequence[Array | None],
    push: Push = jvp_flat,
) -> tuple[list[Array], list[Array | None]]:
    """Apply a derivative to each row, and add the second derivatives along them to the terms.

    The second derivative along ``v`` is the derivative along ``v`` of ``x -> rule(x, v)``.

    Args:
        rule: the derivative rule.
        primals: the operands.
        rows: theirs; None for constants.
        push: differentiates it.

    Returns:
        The results, and their rows; None for one without derivatives.
    """
    nonzero_in = tuple([r is not None for r in rows])
    nonzero: list[bool] = []
    bent: list[bool] = []
    n = len(primals)

    def run(*args: Array) -> list[Array]:
        tangents, moves = prim.split_list(args[n:], sum(nonzero_in))

        def slope(*moved: Array) -> list[Array]:
            rest = iter(moved)
            point = [next(rest) if has else x for x, has in zip(args[:n], nonzero_in, strict=True)]
            outs, out_tangents = rule(point, prim.with_zeros(nonzero_in, tangents))
            nonzero[:] = prim.nonzeros(out_tangents)
            return [*outs, *prim.present(out_tangents)]

        active = prim.marked(args[:n], nonzero_in)
        results, changes = push(slope, active, moves)
        seconds = changes[len(nonzero) :]  # those of the tangents, not of the results
        bent[:] = prim.nonzeros(seconds)
        return [*results, *prim.present(seconds)]

    present = [r for r in rows if r is not None]
    size = present[0].shape[0]
    moves = [_without_term(r) for r in present]
    pairs = _over_rows(run, size, primals, [*present, *moves])
    count = len(nonzero) + sum(nonzero)
    outs, outs_rows = _results(pairs[:count], nonzero, size)
    seconds = iter(pairs[count:])
    flags = iter(bent)
    for i, r in enumerate(outs_rows):
        if r is not None and next(flags):
            second, has_rows = next(seconds)
            if has_rows:  # one for all rows is that along the first one: along zeros, so zero
                outs_rows[i] = with_term(r, reduce_sum(second, (0,)))
    return outs, outs_rows


def _without_term(rows: Array) -> Array:
    """Put zero in the place of the Laplacian term."""
    return slicing.pad_in_dim(slicing.slice_in_dim(rows, 1, rows.shape[0]), 1, 0, 0)


def elementwise_curvature(
    rule: Rule, primals: Sequence[Array], rows: Sequence[Array | None]
) -> Array | None:
    """Return the sum of the second derivatives of a real elementwise function along the rows.

    It is the sum over pairs of operands of a second partial derivative times the scalar product of
    their rows, so that the derivative is computed once for all rows.
    """
    total: Array | None = None
    places = [i for i, r in enumerate(rows) if r is not None]
    for k, i in enumerate(places):
        for j in places[k:]:
            partial = _second_partial(rule, primals, i, j)
            if partial is None:
                continue
            part = ew.mul(partial, _scalar_product(rows[i], rows[j]))
            if i != j:
                part = ew.add(part, part)
            total = part if total is None else ew.add(total, part)
    return total


def _second_partial(rule: Rule, primals: Sequence[Array], i: int, j: int) -> Array | None:
    def slope(x: Array) -> list[Array]:
        point = [x if k == j else p for k, p in enumerate(primals)]
        one = sh.full_like(primals[i], 1)
        _, tangents = rule(point, [one if k == i else prim.ZERO for k in range(len(primals))])
        return prim.present(tangents)

    _, seconds = jvp_flat(slope, [primals[j]], [sh.full_like(primals[j], 1)])
    present = prim.present(seconds)
    return present[0] if present else None


def _scalar_product(x: Array | None, y: Array | None) -> Array:
    assert x is not None, "an operand with rows"
    assert y is not None, "an operand with rows"
    size = x.shape[0]
    first, second = slicing.slice_in_dim(x, 1, size), slicing.slice_in_dim(y, 1, size)
    return reduce_sum(ew.mul(first, second), (0,))

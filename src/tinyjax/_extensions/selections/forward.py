"""Masks that go forward, through the operations of a user's rule for reverse mode.

The rule of a ``custom_vjp`` function computes the cotangents of its operands by operations of its
own. So their masks are found as the rule runs: an element of a result was selected if one of the
elements that it is computed from was. The operations of the function itself do not matter, for the
rule need not match them: it may reverse the order of elements, and clip or scale them.

A mask goes through linear operations, so that an unselected zero stays zero, or becomes NaN if the
other factor is infinite. A nonlinear operation keeps the mask where its result is zero. A value
that does not depend on cotangents counts as selected, as where a rule adds some number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from typing import TypeVar

import attrs

from tinyjax import dtypes
from tinyjax._extensions.selections.masks import (
    Mask,
    as_bools,
    as_mask,
    as_number,
    both,
    choose,
    either,
)
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, staging, trace as tr
from tinyjax.core.values import Array, avals as av, operands as opd

P = TypeVar("P")


@attrs.frozen(eq=False)
class _Masked:
    """A value, and the mask of its selected elements.

    Attributes:
        value: the value, kept alive since its identity is the key.
        mask: its mask.
        is_raw: whether it may be infinite or NaN where it was not selected.
    """

    value: Array
    mask: Mask
    is_raw: bool


class MaskTrace(tr.Trace):
    """A trace that computes the masks of values which depend on masked values.

    Masked values are not tracers: they are recognised by identity. So Python sees data in a rule
    wherever it did without masks.
    """

    __slots__ = ("_masked",)

    transformation = "the backward pass"

    def __init__(self, parent: tr.Trace) -> None:
        super().__init__(parent)
        self._masked: dict[int, _Masked] = {}

    def add(self, value: Array, mask: Mask, is_raw: bool = False) -> None:
        """Record the mask of a value."""
        self._masked[id(value)] = _Masked(value, mask, is_raw)

    def mask(self, value: prim.Tangent | None) -> Mask | None:
        """Return the mask of a value, if it has one."""
        found = self._masked.get(id(value))
        return None if found is None else found.mask

    def process(
        self, primitive: prim.Primitive[P], args: Sequence[Array], params: P
    ) -> Sequence[Array]:
        rules = primitive.rules.extensions
        if all(id(x) not in self._masked for x in args):
            with tr.use_trace(self.parent):
                return self.parent.process(primitive, args, params)
        if program_rules.CALLED in rules:
            return self._call(primitive, args, params)
        with tr.use_trace(self.parent):
            stays_raw = self._keeps_places(primitive, args)
            operands = args if stays_raw else [self.chosen(x) for x in args]
            outs = self.parent.process(primitive, operands, params)
            for out, mask in zip(outs, self._masks(primitive, operands, params, outs), strict=True):
                if mask is not None and dtypes.is_inexact(out.dtype):
                    self.add(out, mask, stays_raw)
            return outs

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        with tr.use_trace(self.parent):
            return self.parent.process_custom_call(call, [self.chosen(x) for x in args])

    def _call(
        self, primitive: prim.Primitive[P], args: Sequence[Array], params: P
    ) -> Sequence[Array]:
        """Call a program that takes the masks of its operands and returns those of its results."""
        (program,) = jx.subjaxprs(params)
        with tr.use_trace(self.parent):
            operands = [self.chosen(x) for x in args]
            has_mask = tuple([self.mask(x) is not None for x in operands])
            called, out_has_mask = _with_masks(program, has_mask)
            numbers = [self.number(x) for x in prim.marked(operands, has_mask)]
            params = primitive.rule(program_rules.CALLED)(params, called)
            results = self.parent.process(primitive, (*operands, *numbers), params)
            outs = results[: len(out_has_mask)]
            for out, number in zip(
                prim.marked(outs, out_has_mask), results[len(outs) :], strict=True
            ):
                if (mask := as_mask(number)) is not None:
                    self.add(out, mask)
            return outs

    def chosen(self, x: Array) -> Array:
        """Return a value with zeros where it was not chosen."""
        found = self._masked.get(id(x))
        if found is None or not found.is_raw:
            return x
        chosen = choose(x, found.mask)
        self.add(chosen, found.mask)
        return chosen

    def _keeps_places(self, primitive: prim.Primitive[P], args: Sequence[Array]) -> bool:
        """Return whether each element depends only on those in its place, linearly or by NaN."""
        if primitive is ew.div:
            return id(args[0]) in self._masked
        is_linear = {prim.ELEMENTWISE, prim.LINEAR} <= {*primitive.rules.extensions}
        return primitive in (ew.mul, ew.select_p) or (is_linear and len(args) == 1)

    def _masks(
        self,
        primitive: prim.Primitive[P],
        args: Sequence[Array],
        params: P,
        outs: Sequence[Array],
    ) -> Sequence[Mask | None]:
        """Return the masks of results, where some operands have masks."""
        rules = primitive.rules.extensions
        none = [None] * len(outs)
        if prim.MOVES in rules:
            moved = cache(
                lambda: tr.current_trace().process(primitive, [*map(self.number, args)], params)
            )
            return [cache(lambda i=i: as_bools(moved()[i])) for i in range(len(outs))]
        found = [self.mask(x) for x in args]
        present = [mask for mask in found if mask is not None]
        if prim.ELEMENTWISE not in rules or any(x.shape != outs[0].shape for x in args):
            return none
        if primitive is ew.select_p:
            return [
                cache(lambda: ew.select(args[0], *[as_bools(self.number(x)) for x in args[1:]]))
            ]
        if primitive is ew.mul:
            return [reduce(both, present)]
        if primitive is ew.div and found[0] is not None:
            return [found[0]]
        some = reduce(either, present)
        if prim.LINEAR not in rules:
            return [either(some, lambda: ew.ne(outs[0], sh.zeros_like(outs[0])))]
        return (
            [some]
            if all(mask is not None or _is_zero(x) for x, mask in zip(args, found, strict=True))
            else none
        )

    def number(self, x: Array) -> Array:
        """Return a mask as numbers; without one, all count that are not known to be zero."""
        if not dtypes.is_inexact(x.dtype):
            return x
        mask = self.mask(x)
        if mask is None and _is_zero(x):
            return opd.splat(0, x.aval.with_dtype(dtypes.float32))
        return as_number(mask, x)


def _with_masks(program: jx.Jaxpr, has_mask: tuple[bool, ...]) -> tuple[jx.Jaxpr, tuple[bool, ...]]:
    """Return a program with masks, as numbers, behind its operands and its results.

    Args:
        program: the program.
        has_mask: which operands have masks.

    Returns:
        The program, and which results have masks.
    """

    def make() -> tuple[jx.Jaxpr, tuple[bool, ...]]:
        out_has_mask: list[bool] = []
        avals = program.in_avals

        def run(*values: Array) -> list[Array]:
            trace, args = MaskTrace(tr.current_trace()), values[: len(avals)]
            for x, number in zip(prim.marked(args, has_mask), values[len(avals) :], strict=True):
                trace.add(x, cache(lambda number=number: as_bools(number)))
            with tr.use_trace(trace):
                outs = jx.eval_jaxpr(program, args)
            chosen = [trace.chosen(x) for x in outs]
            out_has_mask[:] = [trace.mask(x) is not None for x in chosen]
            return [*chosen, *[trace.number(x) for x in prim.marked(chosen, out_has_mask)]]

        numbers = [aval.with_dtype(dtypes.float32) for aval in prim.marked(avals, has_mask)]
        staged = staging.stage(run, [*avals, *numbers])
        assert not staged.consts, "a program is closed"
        return staged.jaxpr, tuple(out_has_mask)

    return program.derive(("masks forward", has_mask), make)


def _is_zero(x: Array) -> bool:
    return opd.is_splat(x) and not x.host.any()


def _nowhere(aval: av.ShapedArray) -> Mask:
    return lambda: opd.splat(False, aval.with_dtype(dtypes.bool_))


def pull_back(
    eqn: jx.JaxprEqn,
    cotangents: prim.Tangents,
    operands: prim.Operands,
    masks: Sequence[Mask | None],
    rule: prim.ApplyTranspose,
) -> tuple[prim.Cotangents, Sequence[Mask | None]]:
    """Apply a user's rule for reverse mode to cotangents that have masks.

    Args:
        eqn: the equation.
        cotangents: the cotangents of its results.
        operands: its operands.
        masks: the masks of its results.
        rule: applies the rules of equations.

    Returns:
        The cotangents of the operands, which may be infinite or NaN where they were not chosen, and
        the masks of these.
    """
    trace = MaskTrace(tr.current_trace())
    mask_of: dict[int, Mask | None] = {id(x): None for x in operands}
    seeds: list[prim.Tangent] = []
    for var, ct, mask in zip(eqn.out_binders, cotangents, masks, strict=True):
        seed = ct
        if isinstance(seed, prim.ZeroTangent) and eqn.params.fills_zeros:
            seed = sh.zero_tangent(var.aval)
            trace.add(seed, _nowhere(var.aval))
        elif isinstance(seed, Array) and mask is not None:
            if mask_of.setdefault(id(seed), mask) is not mask:
                seed = choose(seed, mask)  # one array has one mask
            trace.add(seed, mask)
        seeds.append(seed)
    with tr.use_trace(trace):
        results = rule(eqn, seeds, operands)
    return results, [trace.mask(x) for x in results]

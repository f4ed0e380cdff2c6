"""What can fail in a program, and the primitive that says so."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import attrs

from tinyjax import dtypes, errors, frames, tree
from tinyjax.core.primitives import broadcast as bc, elementwise as ew, reduce as rd, shape as sh
from tinyjax.core.primitives.rules import def_without_results
from tinyjax.core.stablehlo import lowering as lw, types as hlo
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import avals as av, concrete as conc
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import PlacedArray
from tinyjax.primitives.arg_extrema import argmax
from tinyjax.primitives.dynamic_slice import dynamic_index_in_dim


class Category(Enum):
    """A kind of error that ``checkify`` can look for.

    Of several in one operation the first is reported: a division of zero by zero is that, and not
    the NaN that it makes.
    """

    USER = "user"
    INDEX = "index"
    DIVISION = "division"
    NAN = "nan"


@attrs.frozen
class Site:
    """A place in a program that can fail.

    Attributes:
        category: how.
        message: a format string, with a field for each value.
        payload: the structure of the values: ``(args, kwargs)`` of the format.
        avals: their types.
        location: the user's line.
    """

    category: Category
    message: str
    payload: tree.PyTreeDef
    avals: tuple[av.ShapedArray, ...]
    location: frames.Location | None

    def text(self, values: Sequence[Array]) -> str:
        """Fill in the message."""
        args, kwargs = tree.unflatten(self.payload, values)
        end = " (`check` failed)" if self.category is Category.USER else ""
        return self.message.format(*args, **kwargs) + end


@attrs.frozen(eq=False, repr=False)
class CheckParams(prim.Params):
    """A site; ``debug`` says that it counts only where a program is checked by ``checkify``."""

    site: Site
    debug: bool = False


check_p: prim.Primitive[CheckParams] = prim.Primitive("check", CheckParams, effectful=True)
def_without_results(check_p)


@check_p.def_impl
def _check_impl(operands: prim.Hosts, params: CheckParams) -> prim.Hosts:
    holds, *values = operands
    if not holds and not params.debug:
        raise failure(params.site.text([*map(conc.ConcreteArray, values)]), params.site)
    return ()


def bind_check(operands: Sequence[Array], params: CheckParams) -> Sequence[Array]:
    """Bind the primitive, to operands on the host: what knows them raises at once."""
    return tr.bind(
        check_p, [x.gathered if isinstance(x, PlacedArray) else x for x in operands], params
    )


def failure(message: str, site: Site) -> errors.CheckFailedError:
    """Make the error of a check that failed."""
    return errors.CheckFailedError(message).at(site.location)


@check_p.def_lowering
def _check_lowering(b: lw.Lowering, operands: hlo.Values, params: CheckParams) -> hlo.Values:
    if params.debug:
        return ()
    raise errors.ArgumentError(
        f"the check {params.site.message!r} is compiled, but nobody looks at its outcome. Make "
        "checkify.checkify of the function, inside or outside of jit; or use tinyjax.error_if, "
        "which raises from compiled programs."
    ).at(params.site.location)


@check_p.def_batch
def _check_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: CheckParams
) -> prim.BatchResult:
    moved = sh.batch_axes_in_front(values, axes)
    holds = sh.move_batch_axis(values[0], axes[0], 0, mapped.size)
    if mapped.taking_part is not None:  # in a branch that some examples do not take
        mask = mapped.taking_part.mask
        holds = ew.or_(holds, ew.not_(bc.broadcast_in_dim(mask, holds.shape, (0,))))
    first = argmax(ew.not_(holds), 0, dtypes.int32)
    of_first = [
        x if axis is None else dynamic_index_in_dim(x, first, 0, keepdims=False)
        for x, axis in zip(moved[1:], axes[1:], strict=True)
    ]
    return bind_check((rd.reduce_and(holds, (0,)), *of_first), params), ()

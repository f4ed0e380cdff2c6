"""``error_if``: an error that a program raises when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.rules import def_without_results
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import Primitive, checking, primitive as prim, trace as tr
from tinyjax.core.values import operands as opd

V = TypeVar("V")


@attrs.frozen(eq=False, repr=False)
class ErrorIfParams(prim.Params):
    """The message for a true operand, and the user's line of the check."""

    message: str
    location: frames.Location | None

    def batched(self) -> ErrorIfParams:
        """Return the parameters of operands that have one more batch axis in front."""
        return self

    def failure(self, failed: dtypes.HostArray, *values: dtypes.HostArray) -> errors.TinyjaxError:
        """Make the error to raise, where something failed."""
        where = ""
        if failed.ndim:
            first = tuple(int(i) for i in np.argwhere(failed)[0])
            where = (
                f" (in {int(failed.sum())} of {failed.size} places, the first at index "
                f"{first if len(first) > 1 else first[0]})"
            )
        return errors.CheckFailedError(f"{self.message}{where}")


error_if_p: Primitive[ErrorIfParams] = Primitive("error_if", ErrorIfParams, effectful=True)
def_without_results(error_if_p)


@error_if_p.def_impl
def _error_if_impl(operands: prim.Hosts, params: ErrorIfParams) -> prim.Hosts:
    if operands[0].any():
        raise params.failure(*operands).at(params.location)
    return ()


@error_if_p.def_lowering
def _error_if_lowering(b: Lowering, operands: hlo.Values, params: ErrorIfParams) -> hlo.Values:
    failed = operands[0]

    def check(*args: dtypes.HostArray) -> Sequence[dtypes.HostArray]:
        _error_if_impl(args, params)
        return ()

    def raised(_: list[hlo.SSAValue]) -> hlo.Values:
        return b.host_call(check, operands, b.results, effectful=True)

    # Python is called where it fails alone: a call takes longer than the check
    (fails,) = (
        b.reduce(
            (failed,),
            (b.scalar(False, dtypes.bool_),),
            range(failed.ndim),
            lambda b, pair: (b.or_(*pair),),
        )
        if failed.ndim
        else (failed,)
    )
    branches = [b.region((), lambda _: ()), b.region((), raised)]
    return b.emit("stablehlo.case", (b.convert(fails, dtypes.int32),), (), {}, branches)


@error_if_p.def_batch
def _error_if_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: ErrorIfParams
) -> prim.BatchResult:
    failed, *others = sh.batch_axes_in_front(values, axes)
    if mapped.active is not None:  # in a branch that some examples do not take
        failed = ew.and_(failed, broadcast_in_dim(mapped.active.mask, failed.shape, (0,)))
    return tr.bind(error_if_p, (failed, *others), params.batched()), ()


@checking.checked
def error_if(x: V, predicate: Any, message: str) -> V:
    """Raise an error at run time where ``predicate`` is true, and return ``x``.

    It works under every transformation. Compiled code raises when the call returns, ``vmap`` if the
    predicate is true for any example, and derivatives pass through ``x``.

    Args:
        x: arrays in any containers, which are returned unchanged.
        predicate: a bool, or an array of them of any shape.
        message: the message of the error.

    Returns:
        ``x``.

    Raises:
        CheckFailedError: at run time, if an element of ``predicate`` is true; it names the line
            that called this function.
        DtypeError: ``predicate`` is not of type bool.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def safe_log(x):
        ...     return jnp.log(tinyjax.error_if(x, x <= 0, "log of what is not positive"))
        >>> safe_log(jnp.array([1.0, -1.0]))
        Traceback (most recent call last):
            ...
        tinyjax.errors.CheckFailedError: log of what is not positive (in 1 of 2 places, ...
    """
    failed = opd.as_array(predicate)
    if failed.dtype != dtypes.bool_:
        raise errors.DtypeError(
            f"the predicate of error_if must be of type bool, but got {failed.aval}. Write a "
            "comparison, such as x < 0."
        )
    tr.bind(error_if_p, (failed,), ErrorIfParams(message, frames.user_location()))
    return x

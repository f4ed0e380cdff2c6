"""Masked arrays under capture: those without a masked element; others are refused."""

from __future__ import annotations

import inspect
from typing import Any, Final

import numpy as np

from tinyjax.source.capturing import ndarrays, rewriting, runs
from tinyjax.source.capturing.calls import around, call
from tinyjax.source.capturing.functions import as_array, handles
from tinyjax.source.capturing.subclasses import (
    CLASSES,
    CapturedSubclass,
    as_subclass,
    isinstance_of_subclass,
)

_DOMAINS: Final[dict[np.ufunc, Any]] = vars(np.ma.core)["ufunc_domain"]
_GAPS: Final = "Fill the gaps: x.filled(value)."


def check_mask(mask: Any) -> None:
    """Refuse a mask that masks an element: what is computed of its value would count.

    Raises:
        CaptureError: an element is masked.
    """
    if np.any(ndarrays.key_of(mask)):
        raise runs.refusal("a masked array with masked elements", _GAPS)


class CapturedMasked(CapturedSubclass):
    """A masked array under capture, of which no element is masked.

    Attributes:
        shared_mask: the program's array of truth values that is its mask, and may change.
    """

    subclass = np.ma.MaskedArray
    shared_mask: Any = np.ma.nomask
    _baseclass: Any = np.ndarray

    def take_over(self, model: Any) -> None:
        """Take over the mask, of which this array has a part."""
        if isinstance(model, CapturedMasked) and model._captured_memory is self._captured_memory:
            self.shared_mask = model.shared_mask

    @property
    def _captured_value(self) -> Any:
        check_mask(self.shared_mask)
        return super()._captured_value

    @property
    def mask(self) -> Any:
        """The mask, in which no element is true."""
        return self.shared_mask

    @mask.setter
    def mask(self, mask: Any) -> None:
        check_mask(mask)

    _mask = mask

    @property
    def data(self) -> Any:
        """The array of ``numpy.ndarray``."""
        return self._captured_plain()

    _data = data

    def __getattr__(self, name: str) -> Any:
        """Refuse what masked arrays have, and those under capture have not."""
        if (name[:1] != "_" or name == "__setmask__") and hasattr(np.ma.MaskedArray, name):
            raise runs.refusal(f"MaskedArray.{name}", "Give it an array: x.filled(value).")
        raise AttributeError(f"'MaskedArray' object has no attribute {name!r}")

    def _update_from(self, obj: Any) -> None:
        """Take nothing over: there is no mask, and no other attribute."""

    filled: Any = np.ma.MaskedArray.filled
    compressed: Any = np.ma.MaskedArray.compressed
    count: Any = np.ma.MaskedArray.count

    def __setitem__(self, key: Any, value: Any) -> None:
        if value is np.ma.masked:
            check_mask(True)
        ndarrays.write(self, key, value)


CLASSES[np.ma.MaskedArray] = CapturedMasked


@around(np.ndarray.__array_ufunc__)
def _ufunc_in_domain(
    _: Any, before: Any, ufunc: np.ufunc, method: str, inputs: Any, options: Any
) -> Any:
    """Apply a universal function where NumPy masks no element for being outside of its domain."""
    result = before(ufunc, method, inputs, options)
    if method == "__call__" and any(isinstance(x, CapturedMasked) for x in inputs):
        domain = _DOMAINS.get(ufunc)
        operands = [x.data if isinstance(x, CapturedMasked) else x for x in inputs]
        if domain is not None:
            check_mask(call(domain, *operands))
        elif ufunc is np.power:
            check_mask(~np.isfinite(np.power(*operands)))
    return result


@around(np.ma.array, np.ma.asarray, np.ma.asanyarray)
@around(np.ma.getdata, np.ma.getmask, np.ma.getmaskarray)
def _by_source(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    """Run the Python source, also for arrays without anything traced: the result may be a view."""
    return (rewriting.rewritten(function) or function)(*args, **kwargs)


@handles(np.ma.masked_array)
def _masked(*args: Any, **kwargs: Any) -> Any:
    """Return what ``numpy.ma.MaskedArray`` does; other options are those of gaps."""
    make: Any = np.ma.MaskedArray
    bound = inspect.signature(make).bind(*args, **kwargs).arguments
    data = bound.get("data")
    if not ndarrays.is_captured(data) and not ndarrays.is_traced(data):
        return make(*map(ndarrays.plain, args), **ndarrays.mapped(ndarrays.plain, kwargs))
    mask = bound.get("mask", np.ma.nomask)
    check_mask(mask)
    if type(data) is not CapturedMasked and isinstance_of_subclass(data):
        name = ndarrays.class_of(data).__name__
        raise runs.refusal(f"numpy.ma of {name}", "Call it with numpy.asarray(x).")
    options = {name: bound[name] for name in ("dtype", "order", "ndmin") if name in bound}
    array = as_array(data, copy=bound.get("copy") or None, **options)
    made = as_subclass(array, np.ma.MaskedArray, data)
    if ndarrays.is_array(mask) or type(mask) is np.ndarray:
        made.shared_mask = np.ma.nomask if bound.get("copy") or mask.dtype != bool else mask
    return made

"""Masked arrays under capture: those without a masked element; others are refused."""

from __future__ import annotations

import inspect
from typing import Any, Final

import numpy as np

from tinyjax.source.capturing import ndarrays, runs
from tinyjax.source.capturing.functions import as_array, handles
from tinyjax.source.capturing.subclasses import CLASSES, CapturedSubclass, as_subclass

_GAPS: Final = "Fill the gaps: x.filled(value)."


def check_mask(mask: Any) -> None:
    """Refuse a mask that masks an element: what is computed of its value would count.

    Raises:
        CaptureError: an element is masked.
    """
    if np.any(ndarrays.key_of(mask)):
        raise runs.refusal("a masked array with masked elements", _GAPS)


class CapturedMasked(CapturedSubclass):
    """A masked array under capture, of which no element is masked."""

    subclass = np.ma.MaskedArray

    @property
    def mask(self) -> Any:
        """The mask: there is none."""
        return np.ma.nomask

    @mask.setter
    def mask(self, mask: Any) -> None:
        check_mask(mask)

    _mask = mask

    @property
    def data(self) -> Any:
        """The array of ``numpy.ndarray``."""
        return self._captured_plain()

    _data = data

    def _update_from(self, obj: Any) -> None:
        """Take nothing over: there is no mask, and no other attribute."""

    def filled(self, fill_value: Any = None) -> Any:
        """Return the array, which has no gaps."""
        return self._captured_plain()

    def compressed(self) -> Any:
        """Return all elements, with one axis."""
        return self._captured_plain().flatten()

    def count(self, axis: Any = None, keepdims: Any = False) -> Any:
        """Return how many elements are not masked: all."""
        return np.ma.count(np.ma.zeros(self.shape), axis, keepdims)

    def __setitem__(self, key: Any, value: Any) -> None:
        if value is np.ma.masked:
            check_mask(True)
        ndarrays.write(self, key, value)


CLASSES[np.ma.MaskedArray] = CapturedMasked


@handles(np.ma.masked_array)
def _masked(
    data: Any = None,
    mask: Any = np.ma.nomask,
    dtype: Any = None,
    copy: Any = False,
    subok: Any = True,
    ndmin: int = 0,
    *args: Any,
    order: Any = None,
    **options: Any,
) -> Any:
    """Return what ``numpy.ma.MaskedArray`` does; other options are those of gaps."""
    if not ndarrays.is_captured(data) and not ndarrays.is_traced(data):
        make: Any = np.ma.MaskedArray
        own = (ndarrays.plain(data), ndarrays.plain(mask), dtype, copy, subok, ndmin, *args)
        return make(*own, order=order, **options)
    check_mask(mask)
    array = as_array(data, dtype, order, copy=copy or None, ndmin=ndmin)
    return as_subclass(array, np.ma.MaskedArray)


@handles(np.ma.array)
def _masked_by_function(*args: Any, **kwargs: Any) -> Any:
    """Return what ``numpy.ma.array`` does, which takes its arguments in another order."""
    return _masked(**inspect.signature(np.ma.array).bind(*args, **kwargs).arguments)


@handles(np.ma.asarray, np.ma.asanyarray)
def _as_masked(a: Any, dtype: Any = None, order: Any = None) -> Any:
    return _masked(a, dtype=dtype, order=order)


@handles(np.ma.getmask)
def _getmask(a: Any) -> Any:
    return np.ma.nomask if ndarrays.is_captured(a) else np.ma.getmask(a)


@handles(np.ma.getmaskarray)
def _getmaskarray(a: Any) -> Any:
    return np.zeros(a.shape, bool) if ndarrays.is_captured(a) else np.ma.getmaskarray(a)


@handles(np.ma.getdata)
def _getdata(a: Any, subok: bool = True) -> Any:
    if ndarrays.is_captured(a):
        return a._captured_plain() if ndarrays.is_array(a) else a
    return np.ma.getdata(a)

"""Masked arrays under capture: those without a masked element; others are refused."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tinyjax.source.capturing import ndarrays, runs
from tinyjax.source.capturing.functions import as_array
from tinyjax.source.capturing.ndarrays import HANDLERS
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


def _masked(
    data: Any, dtype: Any = None, *args: Any, mask: Any = np.ma.nomask, **options: Any
) -> Any:
    if not ndarrays.is_captured(data) and not ndarrays.is_traced(data):
        make: Any = np.ma.array
        return make(ndarrays.plain(data), dtype, *args, mask=ndarrays.plain(mask), **options)
    check_mask(mask)
    return as_subclass(as_array(data, dtype), np.ma.MaskedArray)


def _getmask(a: Any) -> Any:
    return np.ma.nomask if ndarrays.is_captured(a) else np.ma.getmask(a)


def _getmaskarray(a: Any) -> Any:
    return np.zeros(a.shape, bool) if ndarrays.is_captured(a) else np.ma.getmaskarray(a)


def _getdata(a: Any, subok: bool = True) -> Any:
    if ndarrays.is_captured(a):
        return a._captured_plain() if ndarrays.is_array(a) else a
    return np.ma.getdata(a)


HANDLERS.update(
    {
        np.ma.array: _masked,
        np.ma.masked_array: _masked,
        np.ma.asarray: _masked,
        np.ma.asanyarray: _masked,
        np.ma.getmask: _getmask,
        np.ma.getmaskarray: _getmaskarray,
        np.ma.getdata: _getdata,
    }
)

"""DLPack of bfloat16, which NumPy does not exchange.

The data goes as integers of 16 bits, and the code of the type is changed in the record that the
capsule holds. The layout of that record is DLPack's own, versions 0.8 and 1.0.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from tinyjax.dtypes import HostArray, bfloat16

#: The codes of types.
UNSIGNED: Final = 1
BFLOAT: Final = 4

#: Where in the record the code of the type is, by the name of the capsule: behind the pointer to
#: the data, the device and the number of axes; a version, the context, the deleter and flags come
#: before them in a versioned one.
_PLACES: Final = {b"dltensor": 20, b"dltensor_versioned": 52}

_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_record_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def type_code(capsule: object) -> ctypes.c_uint8:
    """Return the code of the data's type, which can be written to."""
    name = _name_of(capsule)
    return ctypes.c_uint8.from_address(_record_of(capsule, name) + _PLACES[name])


def known(host: HostArray) -> HostArray:
    """Return the data with a dtype that NumPy exchanges."""
    return host.view(np.uint16) if host.dtype == bfloat16 else host


def called(host: HostArray, capsule: Any) -> Any:
    """Return a capsule of ``known(host)`` that says the dtype of ``host``."""
    if host.dtype == bfloat16:
        type_code(capsule).value = BFLOAT
    return capsule

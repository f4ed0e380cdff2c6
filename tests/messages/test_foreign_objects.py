"""No message advises to register a class of Python's own, of which no object is a dataclass."""

import collections
import datetime
import enum
import pathlib
import threading
import types
import weakref
from typing import Any

import pytest

import tinyjax
from tinyjax import errors, lax


class Kind(enum.Enum):
    FIRST = 1


async def awaited() -> float:
    return 1.0


def objects() -> dict[str, list[Any]]:
    """Return objects by the advice for them."""
    table = {"a": 1.0}
    coroutine = awaited()
    coroutine.close()
    return {
        "dict(...)": [
            types.MappingProxyType(table),
            collections.ChainMap(table),
            collections.UserDict(table),
        ],
        "array(list(...))": [
            *(table.values(), table.keys(), table.items(), iter([1.0]), map(float, [1])),
            *((x for x in [1.0]), {1.0}, collections.deque([1.0])),
        ],
        "awaited": [coroutine],
        "static argument": [
            *(Kind.FIRST, datetime.date(2026, 1, 1), pathlib.Path(), threading.Lock(), ...),
            *(slice(1, 2), ValueError("x"), NotImplemented, weakref.ref(Kind), types.CellType(1)),
            *(awaited.__code__, list[int], len, Kind),
        ],
    }


def test_advice_fits_objects_of_pythons() -> None:
    for advice, values in objects().items():
        for value in values:
            for call in (
                tinyjax.jit(lambda x: 1.0),
                lambda value: tinyjax.make_jaxpr(lambda x: value)(1.0),
                lambda value: lax.scan(lambda c, _: (c, None), value, None, 2),
                tinyjax.vmap(lambda x: x),
            ):
                with pytest.raises(errors.ArgumentError) as caught:
                    call(value)
                assert advice in str(caught.value), value
                assert "register_dataclass" not in str(caught.value)

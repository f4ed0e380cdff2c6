"""Results that lie where an argument ``device`` or ``out_sharding`` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from tinyjax import tree
from tinyjax.core.array import Array, put
from tinyjax.core.devices import Placement
from tinyjax.frames import imitate

F = TypeVar("F", bound=Callable[..., Any])


#: Lets an array's type say nothing of where it lies, handed in by ``primitives.constraint``.
hider: Final[list[Callable[[Array], Array]]] = []


def put_result(fun: Callable[..., Array], where: Placement, *args: Any, **kwargs: Any) -> Array:
    """Apply a function and put its result where an argument of it says.

    So the types of the arguments need not say how the result lies.
    """
    unsaid = tree.map(lambda x: hider[0](x) if isinstance(x, Array) else x, args)
    return put(fun(*unsaid, **kwargs), where, fun.__name__)


def placed(fun: F) -> F:
    """Decorate a function so that its result lies where its ``device`` or ``out_sharding`` says.

    The function itself leaves these arguments alone, which are given by name.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        where = kwargs.get("device", kwargs.get("out_sharding")) if kwargs else None
        return fun(*args, **kwargs) if where is None else put_result(fun, where, *args, **kwargs)

    stands_in: Any = imitate(call, fun)
    placing: F = stands_in
    return placing

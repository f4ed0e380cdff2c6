"""A row of the table of programs."""

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


@attrs.frozen(init=False)
class Program:
    """A function, and what it is tried on.

    Attributes:
        fun: a function of floats and NumPy arrays, with a float as its result.
        args: tuples of arguments.
        argnums: which of them have derivatives.
        curved: whether it is worth while to compare second derivatives.
        traced: whether it runs on tracers too, where `math` and `np` are `tinyjax.numpy`.
    """

    fun: Callable[..., Any]
    args: tuple[tuple[Any, ...], ...]
    argnums: tuple[int, ...]
    curved: bool
    traced: bool

    def __init__(
        self,
        fun: Callable[..., Any],
        *args: tuple[Any, ...],
        argnums: tuple[int, ...] = (0,),
        curved: bool = True,
        traced: bool = True,
    ) -> None:
        self.__attrs_init__(fun, args, argnums, curved, traced)

    @property
    def name(self) -> str:
        return self.fun.__name__

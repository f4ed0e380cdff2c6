"""The hook of a plane by which arrays lie elsewhere than on the first device, whole or in parts.

The core asks it where a user names a place or asks for one, and where an array is a
``PlacedArray``. What the answers mean is the plane's alone: ``tinyjax.parallel``, which
``tinyjax.startup`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from typing import Any, Final, Protocol

from tinyjax.core.devices import Placement
from tinyjax.errors import ShardingError


class PlacedCall(Protocol):
    """Where a function's arguments and results are to lie."""

    def around(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its arguments and results put there."""

    @property
    def options(self) -> Hashable:
        """What tells it from others."""


class Plane(Protocol):
    """What the core asks of the plane."""

    def evaluate(self, primitive: Any, args: Sequence[Any], params: Any) -> Sequence[Any]:
        """Apply a primitive to arrays with data, where they lie."""

    def put(self, leaf: Any, where: Placement, function: str) -> Any:
        """Return an array or a number as an array that lies where an argument of a function says.

        None stands for where it lies, and for data of the host for the default device.
        """

    def put_made(self, array: Any) -> Any:
        """Return an array that was made of data of the host where the default device is."""

    def put_like(self, array: Any, aval: Any, told: Any, where: Placement, function: str) -> Any:
        """Return an array where it is wanted: by default as one of a type lies, if it can."""

    def put_result(self, fun: Callable[..., Any], where: Placement, args: Any, kwargs: Any) -> Any:
        """Apply a function and put its result where an argument of it says."""

    def on_first(self) -> Any:
        """Return how arrays lie that are put nowhere."""

    def declared(self, where: Any) -> Any:
        """Return how arrays lie by what a ``ShapeDtypeStruct`` is given."""

    def manual_axis_type(self, aval: Any) -> Any:
        """Return what devices share of values of a type, as JAX tells it."""

    def communication_of(self, text: str, placement: Any, memory: Any) -> Any:
        """Return what devices of a compiled program tell each other.

        Args:
            text: the program, as XLA prints it.
            placement: where it runs; None for the first device.
            memory: XLA's account of its memory.
        """

    def format_of(self, x: Any) -> Any:
        """Return how an array lies, and in which order its elements are."""

    def shards_of(self, x: Any) -> Any:
        """Return the parts of an array on the devices of this process."""

    def placed_call(self, ins: Any, outs: Any) -> PlacedCall | None:
        """Return where arguments and results of a function lie by prefixes of them; None if freely.

        Args:
            ins: of the tuple of the positional arguments.
            outs: of the result.
        """

    def place(self, request: Any, args: Sequence[object]) -> tuple[Any, Sequence[Any]]:
        """Return a program as it is compiled for arguments that lie as these do, and these.

        Where it runs on the first device it has no placement, and all arguments are there.
        """

    def run(self, request: Any, args: Sequence[Any]) -> Any:
        """Run a program that has a placement; return what ``xla.run`` does."""

    def compile(self, request: Any, flags: Any, locate: Any) -> Any:
        """Compile a program that has a placement."""

    def flags_for(self, request: Any) -> Any:
        """Return the flags that a program with a placement is compiled with."""

    def lowered(self, request: Any, locate: Any) -> str:
        """Return the module of a program that has a placement."""

    def call_parts(self, program: Any, consts: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """Return what a written call needs of a compiled program that has a placement."""


class Default:
    """Where arrays lie that are put nowhere.

    Attributes:
        moved: whether that has ever been elsewhere.
    """

    moved: bool = False


#: The module that answers, if there is one: it is loaded when it is first asked.
home: Final[list[str]] = []


def plane() -> Plane:
    """Return the plane.

    Raises:
        ShardingError: there is none.
    """
    if not home:
        raise ShardingError("arrays lie on the first device: tinyjax.parallel puts them elsewhere.")
    module: Any = import_module(home[0])
    answers: Plane = module
    return answers

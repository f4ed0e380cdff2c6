"""What the types of derivatives are said with.

Of a function with annotations a derivative has the parameters, and the gradient of a tree is such a
tree. Where the parameter is a number, or has no annotation as in a lambda, the argument decides:
the gradient of a number is an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from tinyjax.core.array import Array, ArrayLike

T = TypeVar("T")
P = ParamSpec("P")


class OfNumber(Protocol):
    """A function that takes a number first."""

    def __call__(self, x: float, /) -> object: ...


F = TypeVar("F", bound=OfNumber)

#: So that the parameter of a lambda is known to be Any; a function that returns has no such type.
Unannotated: TypeAlias = Callable[[Any], Never]


class GradientOfNumber(Protocol):
    """The gradient where the argument decides on its type."""

    @overload
    def __call__(self, x: ArrayLike, /, *args: Any, **kwargs: Any) -> Array: ...
    @overload
    def __call__(self, x: T, /, *args: Any, **kwargs: Any) -> T: ...


class ValueAndGradientOfNumber(Protocol):
    """The value and the gradient where the argument decides on its type."""

    @overload
    def __call__(self, x: ArrayLike, /, *args: Any, **kwargs: Any) -> tuple[Array, Array]: ...
    @overload
    def __call__(self, x: T, /, *args: Any, **kwargs: Any) -> tuple[Array, T]: ...


class JacobianOfNumber(Protocol):
    """The Jacobian where the argument decides on its type."""

    @overload
    def __call__(self, x: ArrayLike, /, *args: Any, **kwargs: Any) -> Array: ...
    @overload
    def __call__(self, x: object, /, *args: Any, **kwargs: Any) -> Any: ...


class JacobianOf(Protocol[P]):
    """A Jacobian whose type Python cannot say."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...

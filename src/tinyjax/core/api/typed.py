"""The types of derivatives.

The derivative of an annotated function has its parameters, and the gradient of a tree is a tree of
the same type. Where the parameter is a number, or has no annotation as in a lambda, the argument
decides: the gradient of a number is an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import (
    Any,
    Concatenate,
    Literal,
    Never,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)

from tinyjax.core.values.array import Array, ArrayLike

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A", bound=Any)
I_contra = TypeVar("I_contra", contravariant=True)
O_contra = TypeVar("O_contra", contravariant=True)
S_contra = TypeVar("S_contra", contravariant=True)
V_contra = TypeVar("V_contra", contravariant=True)
H_contra = TypeVar("H_contra", contravariant=True)
K = TypeVar("K")
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class NumberFunction(Protocol[R_co]):
    """A function that takes a number first."""

    def __call__(self, x: float, /) -> R_co: ...


F = TypeVar("F", bound=NumberFunction[object])
L = TypeVar("L", bound=NumberFunction[ArrayLike])


class ArrayFunction(Protocol):
    """A function of any numbers."""

    def __call__(self, x: ArrayLike, /) -> ArrayLike: ...


M = TypeVar("M", bound=ArrayFunction)

#: So that the parameter of a lambda is known to be Any; a function that returns has no such type.
Unannotated: TypeAlias = Callable[[Any], Never]
#: Whether derivatives are sparse arrays, and of which kind: ``True`` for ``BCOO``, or
#: ``"scipy"`` for ``scipy.sparse.csr_array``.
Sparse: TypeAlias = bool | Literal["scipy"]


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


class GradientLike(Protocol):
    """The gradient, of the argument's type, of a function that takes any numbers."""

    def __call__(self, x: T, /, *args: Any, **kwargs: Any) -> T: ...


class ValueAndGradientLike(Protocol):
    """The value, and the gradient of the argument's type."""

    def __call__(self, x: T, /, *args: Any, **kwargs: Any) -> tuple[Any, T]: ...


class JacobianOfNumber(Protocol):
    """The Jacobian where the argument decides on its type."""

    @overload
    def __call__(self, x: ArrayLike, /, *args: Any, **kwargs: Any) -> Array: ...
    @overload
    def __call__(self, x: object, /, *args: Any, **kwargs: Any) -> Any: ...


class JacobianOf(Protocol[P]):
    """A Jacobian whose type Python cannot say."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...


class Jacobians(Protocol[I_contra, O_contra, S_contra, V_contra, H_contra]):
    """A maker of Jacobians; an option that it does not have is Never.

    The Jacobian in an array has the structure of the result. In a tree it is such a tree, where the
    result is a ``V_contra``, which is Never for second derivatives. In a dictionary or a list it
    has the structure twice, where the result is an ``H_contra``, which is Never for first
    derivatives. Otherwise, and where it is sparse, it has no type in Python.
    """

    @overload
    def __call__(
        self,
        fun: F | Unannotated,
        argnums: Literal[0] = ...,
        has_aux: Literal[False] = ...,
        holomorphic: bool = ...,
        allow_int: I_contra = ...,
        *,
        chunk_size: int | None = ...,
        order: O_contra = ...,
    ) -> JacobianOfNumber: ...
    @overload
    def __call__(
        self,
        fun: Callable[Concatenate[Array, P], R],
        argnums: Literal[0] = ...,
        has_aux: bool = ...,
        holomorphic: bool = ...,
        allow_int: I_contra = ...,
        *,
        chunk_size: int | None = ...,
        order: O_contra = ...,
    ) -> Callable[Concatenate[ArrayLike, P], R]: ...
    @overload
    def __call__(
        self,
        fun: Callable[Concatenate[A, Array, P], R],
        argnums: Literal[1],
        has_aux: bool = ...,
        holomorphic: bool = ...,
        allow_int: I_contra = ...,
        *,
        chunk_size: int | None = ...,
        order: O_contra = ...,
    ) -> Callable[Concatenate[A, ArrayLike, P], R]: ...
    @overload
    def __call__(
        self,
        fun: Callable[Concatenate[A, P], V_contra],
        argnums: Literal[0] = ...,
        has_aux: Literal[False] = ...,
        holomorphic: bool = ...,
        allow_int: I_contra = ...,
        *,
        chunk_size: int | None = ...,
        order: O_contra = ...,
    ) -> Callable[Concatenate[A, P], A]: ...
    @overload
    def __call__(
        self,
        fun: Callable[Concatenate[dict[K, Array], P], H_contra],
        argnums: Literal[0] = ...,
        has_aux: Literal[False] = ...,
        holomorphic: bool = ...,
        *,
        chunk_size: int | None = ...,
    ) -> Callable[Concatenate[dict[K, Array], P], dict[K, dict[K, Array]]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[Concatenate[list[Array], P], H_contra],
        argnums: Literal[0] = ...,
        has_aux: Literal[False] = ...,
        holomorphic: bool = ...,
        *,
        chunk_size: int | None = ...,
    ) -> Callable[Concatenate[list[Array], P], list[list[Array]]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[P, object],
        argnums: int | Sequence[int] = ...,
        has_aux: bool = ...,
        holomorphic: bool = ...,
        allow_int: I_contra = ...,
        *,
        chunk_size: int | None = ...,
        order: O_contra = ...,
        sparse: S_contra = ...,
    ) -> JacobianOf[P]: ...

"""The public functions of ``tinyjax.source``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar, overload

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax._base import frames
from tinyjax.core.api import arguments, typed
from tinyjax.core.tracing import checking
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values import ArrayLike
from tinyjax.source.adjoint import codegen, pullbacks, shadows, standard_library
from tinyjax.source.adjoint.cotangents import gradient_like, is_differentiable, is_record, one_like
from tinyjax.source.adjoint.rules import arrays, containers, formulas, operators, registry
from tinyjax.source.ir import find

P = ParamSpec("P")
X = TypeVar("X")
R = TypeVar("R")
A = TypeVar("A", bound=Any)

#: Modules of rules: loaded here, and so registered.
_RULES: Final = (arrays, containers, formulas, operators)


def forward(
    fun: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]:
    """Evaluate a function and return its value and its pullback.

    The adjoint is generated once for each function and kinds of arguments, as Python code.

    Args:
        fun: a Python function, or anything else that can be called and has a known derivative.
        args: its arguments: numbers, arrays, and containers of them.
        kwargs: its keyword arguments.

    Returns:
        ``(value, pullback)``. The pullback takes the cotangent of the value and returns a tuple:
        the cotangent of the function itself (a dict of those of the variables that it closes
        over), and one for each argument. None is zero. The work is a small multiple of that of
        ``fun``.

    Raises:
        SourceError: the function does what is not taken, or calls what has no known derivative.

    Example:
        >>> from tinyjax import source
        >>> value, pullback = source.forward(lambda x, y: x * y, 2.0, 3.0)
        >>> value, pullback(1.0)
        (6.0, (None, 3.0, 2.0))
    """
    return pullbacks.attempt(pullbacks.evaluated, fun, args, kwargs)


def vjp(fun: Callable[..., R], *primals: Any) -> tuple[R, Callable[[Any], tuple[Any, ...]]]:
    """Evaluate a function and return the map that pulls cotangents back to its arguments.

    Args:
        fun: a Python function.
        primals: its positional arguments.

    Returns:
        ``(value, pull_back)``. ``pull_back`` takes a cotangent of the value and returns a tuple
        with a cotangent for each argument, of its structure; None for what has no derivative.

    Raises:
        SourceError: the function can be neither read nor captured.

    Example:
        >>> from tinyjax import source
        >>> value, pull_back = source.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> pull_back(1.0)
        (3.0, 2.0)
    """
    value, back = pulled_or_captured(fun, primals)
    return value, Transpose(back, primals)


@attrs.frozen(eq=False)
class Transpose:
    """The result of ``vjp``: a pullback without the function's own cotangent."""

    back: Callable[[Any], tuple[Any, ...]]
    primals: tuple[Any, ...]

    def __call__(self, ct: Any) -> tuple[Any, ...]:
        parts = standard_library.with_deep_stack(self.back, ct)[1:]
        return tuple([gradient_like(parts[i], self.primals[i]) for i in range(len(self.primals))])


@overload
def value_and_grad(
    fun: typed.M | typed.Unannotated, argnums: Literal[0] = ..., has_aux: Literal[False] = ...
) -> typed.ValueAndGradientLike: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, P], R], argnums: Literal[0] = ..., has_aux: Literal[False] = ...
) -> Callable[Concatenate[A, P], tuple[R, A]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, P], tuple[R, X]],
    argnums: Literal[0] = ...,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[A, P], tuple[tuple[R, X], A]]: ...
@overload
def value_and_grad(
    fun: Callable[..., ArrayLike], argnums: int | Sequence[int] = ..., has_aux: Literal[False] = ...
) -> Any: ...
@overload
def value_and_grad(
    fun: Callable[..., tuple[ArrayLike, object]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: bool,
) -> Any: ...
@checking.explained
def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes both the value and the gradient of a scalar function.

    Args:
        fun: a Python function that returns a float, or a pair of one and auxiliary data.
        argnums: which positional arguments to differentiate with respect to.
        has_aux: whether ``fun`` returns a pair.

    Returns:
        A function of the same arguments that returns ``(value, gradient)``. The gradient is of the
        structure of the argument; a tuple of gradients where ``argnums`` is a sequence.

    Raises:
        DifferentiationError: the value is not a real scalar, or an argument has no derivative.
        SourceError: the function can be neither read nor captured.

    Example:
        >>> from tinyjax import source
        >>> def power(x, n):
        ...     r = 1.0
        ...     while n > 0:
        ...         n, r = n - 1, r * x
        ...     return r
        >>> source.value_and_grad(power)(2.0, 5)
        (32.0, 80.0)
    """
    errors.check_function("value_and_grad", fun)
    return _value_and_gradient_of(fun, argnums, has_aux)


@overload
def grad(
    fun: typed.M | typed.Unannotated, argnums: Literal[0] = ..., has_aux: Literal[False] = ...
) -> typed.GradientLike: ...
@overload
def grad(
    fun: Callable[Concatenate[A, P], ArrayLike],
    argnums: Literal[0] = ...,
    has_aux: Literal[False] = ...,
) -> Callable[Concatenate[A, P], A]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, P], tuple[ArrayLike, X]],
    argnums: Literal[0] = ...,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[A, P], tuple[A, X]]: ...
@overload
def grad(
    fun: Callable[..., ArrayLike], argnums: int | Sequence[int] = ..., has_aux: Literal[False] = ...
) -> Any: ...
@overload
def grad(
    fun: Callable[..., tuple[ArrayLike, object]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: bool,
) -> Any: ...
@checking.explained
def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of a scalar function.

    Args:
        fun: a Python function that returns a float, or a pair of one and auxiliary data.
        argnums: which positional arguments to differentiate with respect to.
        has_aux: whether ``fun`` returns a pair; the result is then ``(gradient, aux)``.

    Returns:
        A function of the same arguments that returns the gradient, of the structure of the
        argument. It can be differentiated in its turn.

    Raises:
        DifferentiationError: the value is not a real scalar, or an argument has no derivative.
        SourceError: the function can be neither read nor captured.

    Example:
        >>> from tinyjax import source
        >>> source.grad(lambda x: x**3 if x > 0 else -x)(2.0)
        12.0
        >>> source.grad(source.grad(lambda x: x**3))(2.0)
        12.0
    """
    errors.check_function("grad", fun)
    return _gradient_of(fun, argnums, has_aux)


@attrs.frozen(eq=False)
class Gradient:
    """The result of ``grad`` and ``value_and_grad``."""

    fun: Callable[..., Any]
    argnums: int | tuple[int, ...]
    has_aux: bool
    with_value: bool

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        value, gradient = read_or_captured(self.fun, self.argnums, self.has_aux, args, kwargs)
        if self.with_value:
            return value, gradient
        return (gradient, value[1]) if self.has_aux else gradient


def _gradient_of(fun: Any, argnums: Any = 0, has_aux: Any = False) -> Gradient:
    """Make ``grad(fun)``, where ``fun`` may close over differentiated values."""
    return Gradient(fun, argnums if isinstance(argnums, int) else tuple(argnums), has_aux, False)


def _value_and_gradient_of(fun: Any, argnums: Any = 0, has_aux: Any = False) -> Gradient:
    """Make ``value_and_grad(fun)``, likewise."""
    return Gradient(fun, argnums if isinstance(argnums, int) else tuple(argnums), has_aux, True)


standard_library.WRITTEN[grad] = _gradient_of
standard_library.WRITTEN[value_and_grad] = _value_and_gradient_of


def read_or_captured(
    fun: Any, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the value of a function and its gradient, captured where its source cannot be read.

    Raises:
        SourceError: capture cannot take the function either.
    """
    reason = None
    if not _are_traced(*args, *kwargs.values()):
        try:
            return pullbacks.attempt(value_and_gradient, fun, argnums, has_aux, args, kwargs)
        except Exception as error:
            reason = _reason_of(error)
            if reason is None:
                raise
    active = (argnums,) if isinstance(argnums, int) else argnums
    value, back = _fallback().pull(
        reason, fun, args, kwargs, active, has_aux=has_aux, is_scalar=True
    )
    ct = (one_like(value[0]), None) if has_aux else one_like(value)
    return value, _of_arguments(back(ct)[1:], argnums, args)


def pulled_or_captured(fun: Any, primals: tuple[Any, ...]) -> Any:
    """Return the value of a function and its pullback, likewise."""
    reason = None
    if not _are_traced(*primals):
        try:
            return pullbacks.attempt(pullbacks.evaluated, fun, primals, {})
        except Exception as error:
            reason = _reason_of(error)
            if reason is None:
                raise
    return _fallback().pull(reason, fun, primals, {}, tuple(range(len(primals))))


def _reason_of(error: Exception) -> errors.SourceError | None:
    """Return why a function that raised is captured; None if it is not.

    What raises an error of Python's may do so as it is read, and not as it is written.
    """
    if isinstance(error, errors.SourceError):
        return error
    if isinstance(error, errors.TinyjaxError):
        return None
    return find.refusal(f"it raises {type(error).__name__} as it is read: {error}.")


def _are_traced(*args: Any) -> bool:
    """Return whether an argument is traced: it does not change in place as an array of NumPy's."""
    others = [x for x in args if type(x) not in _DATA]
    return bool(others) and any(isinstance(x, Tracer) for x in tree.leaves(others))


#: Classes of most arguments, none of which is traced.
_DATA: Final = frozenset((float, int, np.ndarray))


def _fallback() -> Any:
    """Return the module of the fallback, which is loaded where a function cannot be read."""
    return importlib.import_module("tinyjax.source.capturing.fallback")


def value_and_gradient(
    fun: Any, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the value of a function and its gradient, as a program that can be differentiated."""
    check_arguments(fun, argnums, args)
    is_cautious = pullbacks.is_cautious()
    if is_cautious:  # an array that the function closes over, too, is another one
        shadows.check_apart(args, kwargs)
        args = shadows.detached(args)
    value, back = pullbacks.pull(fun, *args, **kwargs)
    ct = (one_like(value[0]), None) if has_aux else one_like(value)
    if is_cautious or pullbacks.may_have_written():
        value = shadows.detached(value)
        parts = shadows.swept(back, ct, (fun, *args))[1:]
    else:
        parts = back(ct)[1:]
    return value, _of_arguments(parts, argnums, args)


def _of_arguments(parts: Any, argnums: Any, args: tuple[Any, ...]) -> Any:
    """Return the gradient with respect to the chosen arguments."""
    if isinstance(argnums, int):
        return gradient_like(parts[argnums], args[argnums])
    return tuple([gradient_like(parts[i], args[i]) for i in argnums])


standard_library.WRITTEN[read_or_captured] = value_and_gradient
standard_library.WRITTEN[pulled_or_captured] = lambda fun, primals: pullbacks.evaluated(
    fun, primals, {}
)


def check_arguments(fun: Callable[..., Any], argnums: Any, args: tuple[Any, ...]) -> None:
    """Check that the arguments to differentiate with respect to are there and have derivatives."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    picked = arguments.pick_arguments("source.grad", fun, numbers, args)
    for i, x in zip(numbers, picked, strict=True):
        if type(x) is np.ndarray and x.dtype.kind == "f":  # as most are
            continue
        if not (is_differentiable(x) or isinstance(x, (tuple, list, dict)) or is_record(x)):
            raise errors.DifferentiationError(
                f"argument {i} of {frames.describe_function(fun)} is of type "
                f"{errors.type_name(x)}, "
                "which has no derivative. Give a float, or an array of floats."
            )


registry.inert.add(check_arguments)


def adjoint_source(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Write the derivative of a function as Python.

    Args:
        fun: a Python function.
        args: arguments of the kinds that the derivative is for. Without them the kinds follow from
            defaults and annotations of the parameters; all others are floats.
        kwargs: keyword arguments.

    Returns:
        The text of two functions with the user's names: the pullback, and the function that gives
        the value and what the pullback needs.

    Raises:
        ArgumentError: ``fun`` is no Python function, or the kind of a parameter does not follow
            from its annotation.
        SourceError: the function uses an unsupported feature.

    Example:
        >>> import math
        >>> from tinyjax import source
        >>> def wave(x):
        ...     y = x * x
        ...     return math.sin(y)
        >>> print(source.adjoint_source(wave))
        import math
        from typing import Any
        <BLANKLINE>
        from tinyjax.source.adjoint.pullbacks import Pullback
        <BLANKLINE>
        <BLANKLINE>
        def pullback_of_wave(stack: tuple[float, float], ct: float) -> tuple[None, float]:
            y, x = stack
            d_y = ct * math.cos(y)
            d_x = d_y * x + x * d_y
            return (None, d_x)
        <BLANKLINE>
        <BLANKLINE>
        def forward_of_wave(fun: Any, x: float) -> tuple[float, Pullback]:
            y = x * x
            back = Pullback(pullback_of_wave, (y, x))
            return (math.sin(y), back)
        <BLANKLINE>
    """
    if isinstance(fun, MethodType):
        return adjoint_source(fun.__func__, fun.__self__, *args, **kwargs)
    if not isinstance(fun, FunctionType):
        raise errors.ArgumentError(
            f"adjoint_source takes a Python function, but got {errors.type_name(fun)}."
        )
    if not args and not kwargs:
        args = codegen.sample_arguments(fun)
    values = find.bound(fun, args, kwargs).values
    return codegen.adjoint_text(pullbacks.adjoint_of(fun, values), fun, values)

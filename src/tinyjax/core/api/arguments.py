"""Which arguments a derivative is taken in, and whether they and the results are fit for it.

Every transformation with ``argnums`` differentiates a function of the chosen arguments alone; here
that function is made, once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax import dtypes, errors, frames, tree
from tinyjax.core.tracing import calling
from tinyjax.core.values import integers as ints
from tinyjax.core.values.array import Array

# The two classes are written out, since the first derivative of a process waits for them: attrs
# would have to compile each.


class Choice:
    """What a transformation is asked to differentiate.

    Attributes:
        name: the transformation, for messages.
        fun: the user's function.
        numbers: which positional arguments.
        several: whether they were given as a sequence, so that results are tuples.
        holomorphic: whether the function is taken to be complex-differentiable.
    """

    __slots__ = ("fun", "holomorphic", "name", "numbers", "several")

    def __init__(
        self,
        name: str,
        fun: Callable[..., Any],
        argnums: int | Sequence[int],
        holomorphic: bool,
    ) -> None:
        self.name: str = name
        self.fun: Callable[..., Any] = fun
        self.several: bool = not isinstance(argnums, int)
        self.numbers: tuple[int, ...] = (
            (ints.integer(argnums, "argnums"),)
            if isinstance(argnums, int)
            else ints.integers(argnums, "argnums")
        )
        self.holomorphic: bool = holomorphic

    def check_result(self, out: Array) -> None:
        """Raise DifferentiationError where a result has no such derivative."""
        dtype = out.dtype
        if dtypes.is_complex(dtype) if self.holomorphic else dtypes.is_float(dtype):
            return
        returned = f"{frames.describe_function(self.fun)} returned {out.aval}."
        if self.holomorphic:
            raise errors.DifferentiationError(
                f"{self.name} with holomorphic=True requires outputs with complex dtype, but "
                f"{returned}"
            )
        raise errors.DifferentiationError(
            f"{self.name} requires real-valued outputs, which are floats, but {returned} "
            + (
                "For a holomorphic function pass holomorphic=True; else use tinyjax.vjp."
                if dtypes.is_complex(dtype)
                else "Convert it with .astype(float)."
            )
        )


def check_argnums(
    name: str, fun: Callable[..., Any], numbers: Sequence[int], num_args: int
) -> None:
    """Raise ArgumentError unless each number is a positional argument, and each another one."""
    seen: set[int] = set()
    for i in numbers:
        if not -num_args <= i < num_args:
            raise errors.ArgumentError(
                f"{name} of {frames.describe_function(fun)}: differentiating with respect to "
                f"argnums={i} requires at least {i + 1 if i >= 0 else -i} positional arguments "
                f"to be passed by the caller, but got only {num_args}."
            )
        if i % num_args in seen:
            raise errors.ArgumentError(
                f"{name} of {frames.describe_function(fun)} differentiates argument "
                f"'{calling.parameter_name(fun, i % num_args)}' twice: argnums is "
                f"{tuple(numbers)}. Name "
                "each argument once."
            )
        seen.add(i % num_args)


class Chosen:
    """A call, of whose arguments some are differentiated.

    Raises:
        ArgumentError: there are not so many arguments as were chosen, or one is named twice.

    Attributes:
        choice: which.
        args: all positional arguments.
        kwargs: all keyword arguments.
        in_tree: the structure of ``(the chosen ones, {})``.
        primals: their leaves.
    """

    __slots__ = ("args", "choice", "in_tree", "kwargs", "primals")

    def __init__(self, choice: Choice, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        check_argnums(choice.name, choice.fun, choice.numbers, len(args))
        values = tuple([args[i] for i in choice.numbers])
        self.choice: Choice = choice
        self.args: tuple[Any, ...] = args
        self.kwargs: dict[str, Any] = kwargs
        leaves, self.in_tree = tree.flatten_arguments(values, {})
        self.primals: list[Array] = calling.as_arrays(leaves, choice.fun, self.in_tree)

    @property
    def values(self) -> tuple[Any, ...]:
        """The chosen arguments, with arrays for leaves."""
        return self.unflatten(self.primals)

    def unflatten(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """A tuple with a tree for each chosen argument."""
        return tree.unflatten_arguments(self.in_tree, leaves)[0]

    def result(self, leaves: Sequence[Any]) -> Any:
        """A tree like the chosen argument, or a tuple of such where several were asked for."""
        chosen, _ = tree.unflatten_arguments(self.in_tree, leaves)
        return chosen if self.choice.several else chosen[0]

    def __call__(self, *values: Any) -> Any:
        """The user's function of the chosen arguments alone."""
        full: list[Any] = list(self.args)
        for i, value in zip(self.choice.numbers, values, strict=True):
            full[i] = value
        return self.choice.fun(*full, **self.kwargs)

    @property
    def function(self) -> Callable[..., Any]:
        """The same under the name of the user's function, for messages."""

        @frames.wraps(self.choice.fun)
        def of_chosen(*values: Any) -> Any:
            return self(*values)

        return of_chosen

    def check(self, allow_int: bool = False, allow_complex: bool = True) -> None:
        """Raise DifferentiationError where an argument has no such derivative.

        Args:
            allow_int: whether integers may be asked for: their derivative is of dtype float0.
            allow_complex: whether complex numbers may be where ``holomorphic`` was not said.
        """
        holomorphic = self.choice.holomorphic
        for i, x in enumerate(self.primals):
            if dtypes.is_float(x.dtype) and not holomorphic:
                continue
            if allow_int and not dtypes.is_inexact(x.dtype):
                continue
            if dtypes.is_complex(x.dtype) and (holomorphic or allow_complex):
                continue
            name = self.choice.name
            which = f"{self._path(i)} of {frames.describe_function(self.choice.fun)} is {x.aval}."
            if holomorphic:
                raise errors.DifferentiationError(
                    f"{name} with holomorphic=True requires inputs with complex dtype, but {which}"
                )
            if dtypes.is_complex(x.dtype):
                raise errors.DifferentiationError(
                    f"{name} requires real-valued inputs, but {which} For a holomorphic function "
                    "pass holomorphic=True."
                )
            advice = (
                "Pass a float, such as 1.0, convert it with .astype(float)"
                if x.aval.weak_type and not x.shape  # as a Python number is
                else "Convert it with .astype(float)"
            )
            raise errors.DifferentiationError(
                f"{name} requires {'real- or complex' if allow_complex else 'real'}-valued inputs, "
                f"which are floats, but {which} "
                f"{advice}, or differentiate another argument with argnums."
            )

    def _path(self, position: int) -> str:
        numbered = tree.unflatten(self.in_tree, range(self.in_tree.num_leaves))
        (_, first, *rest), _ = tree.leaves_with_path(numbered)[position]
        number = self.choice.numbers[getattr(first, "idx", 0)]
        if number < 0:
            number += len(self.args)
        return tree.path_str(calling.parameter_name(self.choice.fun, number), rest)

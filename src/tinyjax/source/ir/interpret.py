"""Evaluation of programs, statement by statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.tracing.checking import explained
from tinyjax.source.ir.program import IR, Atom, Return, Statement, Variable
from tinyjax.source.ir.signature import bound


@explained
def evaluate(ir: IR, *args: Any, **kwargs: Any) -> Any:
    """Run a program.

    Args:
        ir: the program of a function, from ``ir_of``.
        args: the function's arguments.
        kwargs: its keyword arguments.

    Returns:
        What the function returns.

    Raises:
        SourceError: the program changes a list, a dict or a NumPy array in place.

    Example:
        >>> from tinyjax import source
        >>> def power(x, n):
        ...     r = 1.0
        ...     while n > 0:
        ...         n, r = n - 1, r * x
        ...     return r
        >>> source.evaluate(source.ir_of(power), 2.0, 5)
        32.0
    """
    if ir.function is None:
        values: tuple[Any, ...] = args
    else:
        values = (ir.function, *bound(ir.function, args, kwargs).values)
    return run(ir, values)


#: Makes the call of a statement: the function, the arguments, the keyword arguments.
Apply = Callable[[Statement, Any, tuple[Any, ...], dict[str, Any]], Any]


def apply_plainly(
    _statement: Statement, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Make the call itself."""
    return fun(*args, **kwargs)


def run(ir: IR, values: tuple[Any, ...], apply: Apply = apply_plainly) -> Any:
    """Run a program on the values of its first block's parameters."""
    env: dict[Variable, Any] = {}

    def read(atom: Atom) -> Any:
        return env[atom] if isinstance(atom, Variable) else atom.value

    index = 0
    while True:
        block = ir.blocks[index]
        env.update(zip(block.arguments, values, strict=True))
        for statement in block.statements:
            call = statement.call
            env[statement.variable] = apply(
                statement,
                read(call.function),
                tuple([read(arg) for arg in call.args]),
                {name: read(value) for name, value in call.keywords},
            )
        for exit_ in block.exits:
            if isinstance(exit_, Return):
                return read(exit_.value)
            if exit_.unless is None or not read(exit_.unless):
                index = exit_.target
                values = tuple([read(arg) for arg in exit_.args])
                break

"""Which variables of a function its nested functions share with it (``nonlocal``)."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Final

#: Code that Python makes for what is no function of the user's.
COMPREHENSIONS: Final = frozenset(("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"))


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """The functions that a function defines, those in its comprehensions included."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name in COMPREHENSIONS:
                yield from nested_codes(constant)
            else:
                yield constant


def assigned_outside(code: CodeType) -> set[str]:
    """The variables outside of a function that it assigns, or that a function inside it does."""
    names = {
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("STORE_DEREF", "DELETE_DEREF")
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= assigned_outside(constant)
    return names.intersection(code.co_freevars)


def shared_names(code: CodeType, is_shared: Callable[[str], bool]) -> tuple[set[str], set[str]]:
    """What of a function's own must be known where its nested functions are called.

    Args:
        code: the function.
        is_shared: whether a variable from outside is such.

    Returns:
        The variables that nested functions assign, and the nested functions that use one.
    """
    nested = list(nested_codes(code))
    variables = {name for inner in nested for name in assigned_outside(inner)}
    variables.intersection_update(code.co_cellvars)
    functions: set[str] = set()
    while True:
        known = variables | functions
        more = {
            inner.co_name
            for inner in nested
            if inner.co_name != "<lambda>"
            and any(
                name in known if name in code.co_cellvars else is_shared(name)
                for name in inner.co_freevars
            )
        }
        if more <= functions:
            return variables, functions
        functions |= more

"""Listings of programs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from tinyjax.source import runtime
from tinyjax.source.ir import IR, Branch, Call, Constant, Return, value_of

#: How operators are written.
INFIX: Final[dict[Callable[..., Any], str]] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.lshift: "<<",
    operator.rshift: ">>",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
    operator.is_: "is",
    operator.is_not: "is not",
    runtime.contains: "in",
    runtime.lacks: "not in",
}
PREFIX: Final[dict[Callable[..., Any], str]] = {
    operator.neg: "-",
    operator.pos: "+",
    operator.invert: "~",
    operator.not_: "not ",
}


def show_call(call: Call, args: Sequence[str], function: str, keywords: Sequence[str]) -> str:
    """Write a call whose parts are written already, as Python writes it."""
    known = value_of(call.function)
    if known in INFIX and len(args) == 2:
        return f"{args[0]} {INFIX[known]} {args[1]}"
    if known in PREFIX:
        return f"{PREFIX[known]}{args[0]}"
    if known is operator.getitem:
        return f"{args[0]}[{args[1]}]"
    if known is runtime.attribute and isinstance(call.args[1], Constant):
        return f"{args[0]}.{call.args[1].value}"
    if known is runtime.make_tuple:
        return f"({', '.join(args)}{',' if len(args) == 1 else ''})"
    if known is runtime.make_list:
        return f"[{', '.join(args)}]"
    given = [*args, *[f"{name}={v}" for (name, _), v in zip(call.keywords, keywords, strict=True)]]
    return f"{function}({', '.join(given)})"


def listing(ir: IR) -> str:
    """Print a program: blocks with their parameters, definitions, branches."""
    lines = []
    for index, block in enumerate(ir.blocks):
        parameters = ", ".join(map(repr, block.parameters))
        lines.append(f"{index + 1}: ({parameters})" if parameters else f"{index + 1}:")
        for statement in block.statements:
            call = statement.call
            function = repr(call.function)
            written = show_call(
                call,
                [repr(arg) for arg in call.args],
                f"({function})" if isinstance(call.function, Constant) else function,
                [repr(value) for _, value in call.keywords],
            )
            lines.append(f"  {statement.variable!r} = {written}")
        if not block.exits:
            continue
        *conditional, last = block.exits
        lines += [f"  {_show_exit(exit_)}" for exit_ in conditional]
        falls = isinstance(last, Branch) and not last.args and last.target == index + 1
        if not (conditional and falls):  # a block goes on to the next
            lines.append(f"  {_show_exit(last)}")
    return "\n".join(lines)


def _show_exit(exit_: Branch | Return) -> str:
    if isinstance(exit_, Return):
        return f"return {exit_.value!r}"
    args = f" ({', '.join(map(repr, exit_.args))})" if exit_.args else ""
    unless = "" if exit_.unless is None else f" unless {exit_.unless!r}"
    return f"br {exit_.target + 1}{args}{unless}"

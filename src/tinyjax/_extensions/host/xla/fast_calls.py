"""Fast calls of jitted functions, found by their arguments' types and specialized in Python."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import is_not
from typing import Any

from tinyjax import config, tree
from tinyjax._extensions.host.xla import call_writer
from tinyjax.core import xla
from tinyjax.core.jit import signatures
from tinyjax.core.values import ConcreteArray


class SpecializedCalls(signatures.FastCalls):
    """The specialized calls of a function.

    Attributes:
        calls: makers of calls by the structure and types of their arguments; None where there is
            only the slow path.
    """

    __slots__ = ("calls",)

    def __init__(self, settings: config.Settings | None) -> None:
        super().__init__(settings)
        self.calls: dict[tuple[Hashable, ...], signatures.ShortCall | None] = {}

    def call(
        self, parameters: signatures.Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        key = _key(parameters, args, kwargs) if self.calls else None
        call = None if key is None else self.calls.get(key[1])
        if call is None:
            return NotImplemented
        self.last = call
        return call(args, kwargs)

    def learn(
        self,
        parameters: signatures.Parameters,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: Sequence[Any],
        in_tree: tree.PyTreeDef,
        static: signatures.StaticArguments,
        entry: signatures.StagedProgram,
        program: xla.Executable,
    ) -> None:
        if program.calls_python:
            return
        key = _key(parameters, args, kwargs, in_tree)
        if key is None or len(key[0]) != len(leaves) or any(map(is_not, key[0], leaves)):
            return  # the function changed its arguments while it was traced
        if key[1] in self.calls:
            return  # the call was made in the usual way all the same
        call = call_writer.written_call(
            program,
            entry.consts,
            in_tree,
            entry.out_tree,
            leaves,
            (*static.positional, *static.keywords),
        )
        if len(self.calls) >= signatures.MOST_SIGNATURES:
            self.calls.clear()
        self.calls[key[1]] = call
        self.last = call or signatures.no_call


def _key(
    parameters: signatures.Parameters,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_tree: tree.PyTreeDef | None = None,
) -> tuple[Sequence[Any], tuple[Hashable, ...]] | None:
    """Return the leaves of a call's arguments, and the key of its specialization, if there is one.

    Args:
        parameters: the function's parameters and the options of ``jit``.
        args: the positional arguments.
        kwargs: the others.
        in_tree: the structure, if it may be new.
    """
    # types suffice where every argument is an array: a structure takes twice as long
    avals = tuple([x._aval or x.aval for x in args if type(x) is ConcreteArray])
    if not kwargs and len(avals) == len(args):
        return args, avals
    if parameters.all_dynamic:
        return call_writer.call_key(args, kwargs, in_tree)
    static, dynamic, keywords = parameters.separate(args, kwargs)
    key = call_writer.call_key(dynamic, keywords, in_tree)
    return key and (key[0], (*key[1], static))

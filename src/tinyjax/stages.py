"""What ``jit(f).lower(...)`` gives: a program before it is compiled, and after."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs

from tinyjax import tree, xla
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.calling import as_arrays, watched
from tinyjax.core.jaxpr import Jaxpr, effects, eval_jaxpr
from tinyjax.core.trace import base_trace, check_concrete
from tinyjax.errors import ArgumentError
from tinyjax.tree import PyTreeDef, SequenceKey, path_str


@attrs.frozen(eq=False, repr=False)
class Lowered:
    """A function lowered to StableHLO for one signature, before it is compiled.

    Attributes:
        jaxpr: the program; arrays that the function closed over are its first parameters.
        name: the function's name.
        donated: the parameters whose memory may be reused.
        consts: the arrays that the function closed over.
        in_tree: the structure of ``(args, kwargs)``, less the static ones.
        out_tree: the structure of the result.
    """

    jaxpr: Jaxpr
    name: str
    donated: tuple[int, ...]
    consts: tuple[Array, ...]
    in_tree: PyTreeDef
    out_tree: PyTreeDef

    @property
    def in_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the arguments, in the order of ``in_tree``."""
        return self.jaxpr.in_avals[len(self.consts) :]

    def as_text(self) -> str:
        """The StableHLO module."""
        aliases = xla.match_donations(self.jaxpr, self.donated)
        return xla.lowered(self.jaxpr, self.name, aliases)[0]

    def compile(self) -> Compiled:
        """Compile it."""
        return Compiled(self)


class Compiled:
    """A function compiled for one signature."""

    def __init__(self, lowered: Lowered) -> None:
        self._lowered = lowered
        self._executable = xla.executable_for(lowered.jaxpr, lowered.name, lowered.donated)

    @watched
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it on arguments of the types it was compiled for; static arguments are left out.

        Raises:
            ArgumentError: the arguments are of another structure or of other types.
        """
        lowered = self._lowered
        leaves, in_tree = tree.flatten_arguments(args, kwargs)
        arrays = as_arrays(leaves, self.__call__, in_tree)
        check_concrete(arrays)
        check_arguments(
            lowered.name, "compiled", lowered.in_tree, lowered.in_avals, in_tree, arrays
        )
        operands = (*lowered.consts, *arrays)
        if lowered.donated or effects(lowered.jaxpr).any:
            return tree.unflatten(lowered.out_tree, self._executable(operands))
        evaluate = partial(eval_jaxpr, lowered.jaxpr)
        outs = base_trace().run_program(self._executable, evaluate, operands)
        return tree.unflatten(lowered.out_tree, outs)

    def as_text(self) -> str:
        """The optimised HLO."""
        return self._executable.loaded.get_hlo_text()

    def cost_analysis(self) -> dict[str, object]:
        """XLA's estimate of work: floating-point operations, bytes accessed, and more."""
        return dict(self._executable.loaded.cost_analysis())

    def memory_analysis(self) -> Any:
        """XLA's account of memory: of arguments, results, temporaries and code, in bytes."""
        return self._executable.loaded.get_compiled_memory_stats()


def check_arguments(
    name: str,
    verb: str,
    in_tree: PyTreeDef,
    in_avals: Sequence[ShapedArray],
    given_tree: PyTreeDef,
    given: Sequence[Array],
) -> None:
    """Check that a program is called with what it was made for.

    Args:
        name: the function's name.
        verb: what made the program: "compiled", or "exported".
        in_tree: the structure of ``(args, kwargs)`` that it takes.
        in_avals: the types it takes.
        given_tree: the structure it was given.
        given: the arrays.

    Raises:
        ArgumentError: the structures or the types differ.
    """
    if given_tree != in_tree:
        raise ArgumentError(
            f"'{name}' was {verb} for (args, kwargs) of the structure {in_tree}, but was called "
            f"with {given_tree}."
        )
    for i, (x, expected) in enumerate(zip(given, in_avals, strict=True)):
        if x.aval is not expected and (x.shape, x.dtype) != (expected.shape, expected.dtype):
            (which, *rest), _ = tree.leaves_with_path(
                tree.unflatten(in_tree, range(in_tree.num_leaves))
            )[i]
            place = path_str("args" if which == SequenceKey(0) else "kwargs", rest)
            raise ArgumentError(
                f"'{name}' was {verb} for {expected} at {place}, but was called with {x.aval}."
            )

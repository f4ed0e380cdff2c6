"""Programs that are called with data: where they run, and what runs them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Final

from numpy import ndarray

from tinyjax import config
from tinyjax.core import devices as dev, elsewhere, xla
from tinyjax.core.tracing import jaxpr as jx, nesting, program_rules as pr, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.xla import compilation


class Runner:
    """Runs programs on the first device: they are compiled when they are first called.

    A room may stand in for it (``trace.eager``).
    """

    @classmethod
    def run(
        cls,
        request: compilation.Compilation,
        args: Sequence[Array],
        tier: config.Tier,
    ) -> tuple[Sequence[Array], xla.Executable | None]:
        """Run a program, as ``run`` does."""
        executable = xla.compiled(request)
        return executable(args), executable

    @classmethod
    def delay(cls, jaxpr: jx.Jaxpr) -> str:
        """Say when a program is compiled that may be evaluated before; nothing if at once."""
        return ""

    @classmethod
    def functions(cls, jaxpr: jx.Jaxpr) -> float:
        """Estimate of how many elements a program evaluates functions such as ``exp``."""
        return inf

    @classmethod
    def forget(cls) -> None:
        """Begin anew with every program: it is evaluated at first again."""


def place(
    request: compilation.Compilation, args: Sequence[Any]
) -> tuple[compilation.Compilation, Sequence[Any]]:
    """Return a program as it is compiled for where its arguments lie, and where they are taken.

    Args:
        request: the program, without a placement.
        args: arrays, or types that say where they lie, one for each parameter.
    """
    are_here = _HERE.issuperset(map(type, args)) and not dev.may_be_elsewhere(config.settings())
    if not elsewhere.home or (are_here and not _says_where(request.jaxpr)):
        return request, args
    return elsewhere.plane().place(request, args)


#: Arguments that are on the first device, or go where they are wanted.
_HERE: Final = frozenset((ConcreteArray, ndarray, bool, int, float, complex))


def _says_where(jaxpr: jx.Jaxpr) -> bool:
    """Whether a program says of itself where it runs, by its types or by its equations."""

    def find() -> bool:
        for eqn in jaxpr.eqns:
            rules = eqn.primitive.rules
            if pr.PLACES in rules.extensions:
                return True
            if rules.evaluate is not None and _calls_what_says(eqn):
                return True
        return any(v.aval.where is not None for v in jaxpr.in_binders)

    return jaxpr.derive("says where", find)


def _calls_what_says(eqn: jx.JaxprEqn) -> bool:
    with nesting.LEVEL:
        return any(map(_says_where, jx.subjaxprs(eqn.params)))


def run(
    request: compilation.Compilation,
    args: Sequence[Array],
    tier: config.Tier,
) -> tuple[Sequence[Array], xla.Executable | None]:
    """Run a program: evaluate it, or compile it and run that.

    One that runs on other devices than the first is always compiled, for where its arguments lie.

    Args:
        request: the program, without a placement.
        args: arrays with data, one for each parameter.
        tier: "compiled" to wait for the compiler.

    Returns:
        The results, and the compiled program that was run.
    """
    request, args = place(request, args)
    if request.placement is not None:
        outcome: tuple[Sequence[Array], xla.Executable | None] = elsewhere.plane().run(
            request, args
        )
        return outcome
    runner: type[Runner] = tr.eager[Runner]
    return runner.run(request, args, tier)


def run_alone(primitive: Primitive[Any], args: Sequence[Array], params: Any) -> Sequence[Array]:
    """Compile a primitive as a program of its own, and run it.

    Args:
        primitive: the primitive.
        args: its operands, with data.
        params: its parameters.
    """
    jaxpr = jx.jaxpr_of(primitive, [x.aval for x in args], params)
    return run(compilation.Compilation(jaxpr, primitive.name), args, "compiled")[0]

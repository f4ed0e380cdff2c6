"""Steps of a linearization, and the program of their backward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import attrs

from tinyjax import dtypes
from tinyjax.config import Process, local_settings
from tinyjax.core.tracing import Primitive, kernels
from tinyjax.core.tracing.jaxpr import Atom, JaxprEqn, Lit, Var
from tinyjax.core.tracing.kernels import KernelCache, KernelError, Key
from tinyjax.core.tracing.primitive import ZERO, Kernel, Tangent
from tinyjax.core.transforms.linearize import LinearizeTrace, LinearTrace
from tinyjax.core.transforms.transpose import Transposer
from tinyjax.core.values import Array, ConcreteArray

# Steps of a linearization that are repeated: what a primitive's jvp rule does, without asking it.
#
# A jvp rule composes primitives, and each of them finds its trace, looks up types and wraps its
# result. The types of operands and tangents decide all of that. So where a rule has been called
# several times about the same types, under the linearization of values at hand, it is staged: what
# it computes of the primals becomes a function of NumPy arrays, and what it does to tangents
# equations that are recorded as they are.


P = TypeVar("P")


def is_replayable(primitive: Primitive[Any]) -> bool:
    """Return whether the work of a primitive's rules may be repeated without calling them."""
    rules = primitive.rules
    return (
        primitive.repeatable
        and rules.evaluate is None
        and rules.collective is None
        and rules.linearize is None
        and not primitive.effectful
    )


#: The steps of all primitives: they take the trace of a linearization and the one that records its
#: tangents, and the operands. They return the results.
steps: Final[KernelCache[Kernel]] = KernelCache(4096)


class EagerLinearizeTrace(LinearizeTrace):
    """A linearization over concrete primals, which replays frequent steps (``steps``)."""

    __slots__ = ()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        rules = primitive.rules
        # programs, and the user's functions, are no part of a key
        if not primitive.repeatable or rules.evaluate is not None or rules.linearize is not None:
            return super().process(primitive, args, params)
        signature: list[object] = [primitive, id(local_settings() or Process.settings), params]
        for x in args:
            signature.append(type(x))
            signature.append(x._aval or x.aval)
        key, linear = tuple(signature), self.parent
        try:
            step = steps.kernels.get(key)
        except TypeError:  # parameters without a hash
            return super().process(primitive, args, params)
        outs: Sequence[Array]
        if step is not None:
            try:
                outs = step(self, linear, *args)
            except KernelError:  # other operands of the same types
                pass
            else:
                return outs
        assert isinstance(linear, LinearTrace), "it records the tangents"
        start = len(linear.eqns)
        outs = super().process(primitive, args, params)
        if next(steps.calls[key]) in kernels.CALLS and is_replayable(primitive):
            # loaded with what records programs
            from tinyjax._extensions.host.recording import make_step  # noqa: PLC0415

            steps.make(key, make_step, primitive, params, args, self, start, outs)
        return outs


# Backward passes of values at hand that are repeated, as Python functions of NumPy arrays.


#: A backward pass of fewer equations takes no longer than it takes to find its program.
_FEWEST: Final = 3
#: The programs of backward passes.
backward_passes: Final[KernelCache[Kernel]] = KernelCache()


class EagerTransposer(Transposer):
    """Transposition of concrete values by a cached program, once such equations were repeated.

    A backward pass depends on the equations and on the types of the values in them. The types of
    computed values follow from the equations. So the types of the others are the program's key:
    linear inputs, known values and cotangents. The values are its arguments, literals among them.
    The user's rules, and programs, are not replayed: they may act differently each time.
    """

    def pull_back(self, cotangents: Sequence[Tangent]) -> list[Tangent]:
        """Pull cotangents back by a program for such equations, or by their rules."""
        signature = None
        if self.rule is None and len(self.eqns) >= _FEWEST:
            signature = _signature(self, cotangents)
        if signature is None:
            return super().pull_back(cotangents)
        key, operands, hosts = signature
        try:
            program = backward_passes.kernels.get(key)
        except TypeError:  # parameters without a hash
            return super().pull_back(cotangents)
        if program is not None:
            try:
                by_place = program(*hosts)
                return [by_place.get(i, ZERO) for i in range(len(self.linear_inputs))]
            except KernelError:  # the rules say what is wrong
                pass

        results = super().pull_back(cotangents)
        if next(backward_passes.calls[key]) in kernels.CALLS:
            # loaded with what records programs
            from tinyjax._extensions.host.recording import make_program  # noqa: PLC0415

            def pull(*values: Array) -> dict[int, Array]:
                rest = iter(values)
                again = _substituted(self, rest)
                cts: list[Tangent] = [ZERO if ct is ZERO else next(rest) for ct in cotangents]
                return _by_place(Transposer.pull_back(again, cts))

            expected = _by_place(results)
            backward_passes.make(key, make_program, pull, operands, {}, hosts, expected)
        return results


def _signature(
    transposer: Transposer, cotangents: Sequence[Tangent]
) -> tuple[Key, list[Array], list[dtypes.HostArray]] | None:
    """Return the key of a backward pass, the values in it and their data.

    Returns:
        None if it cannot be replayed.
    """
    known = transposer.residuals
    operands: list[Array] = []
    literals: list[Lit] = []
    key: list[object] = [id(local_settings() or Process.settings)]
    places: dict[Atom, int] = {}
    for var in transposer.linear_inputs:
        places[var] = len(places)
        key.append(var.aval)
    choosing = False
    for eqn in transposer.eqns:
        primitive = eqn.primitive
        if not primitive.repeatable or primitive.rules.evaluate is not None:
            return None
        choosing = choosing or primitive.selects
        key.append(primitive)
        key.append(eqn.params)
        for x in eqn.inputs:
            place = places.get(x)
            if place is None:
                place = places[x] = len(places)
                key.append(x.aval)
                if type(x) is Lit:
                    literals.append(x)
                    operands.append(x.value)
                elif x in known:
                    operands.append(known[x])
                else:  # a linear input whose cotangent nobody needs
                    key.append(ZERO)
            key.append(place)
        for x in eqn.out_binders:
            places[x] = len(places)
    key.append("results")  # of the last equation there may be any number of operands
    for x, cotangent in zip(transposer.outs, cotangents, strict=True):
        key.append(places.get(x))
        if cotangent is ZERO:
            key.append(None)
        else:
            key.append(cotangent._aval or cotangent.aval)
            operands.append(cotangent)
    if choosing:
        key += [x.is_regular for x in literals]
    hosts: list[dtypes.HostArray] = []
    for value in operands:
        if type(value) is not ConcreteArray:
            return None
        host = value._host
        hosts.append(value.host if host is None else host)
    return tuple(key), operands, hosts


def _substituted(transposer: Transposer, values: Iterator[Array]) -> Transposer:
    """Return a backward pass through the same equations, with other known values.

    Args:
        transposer: the backward pass.
        values: those values, and the literals, in the order in which the equations read them.
    """
    residuals: dict[Var, Array] = {}
    numbers: set[Atom] = set()
    eqns: list[JaxprEqn] = []
    variables: dict[Atom, Atom] = {}
    for eqn in transposer.eqns:
        for x in eqn.inputs:
            if x not in variables and (isinstance(x, Lit) or x in transposer.residuals):
                var = variables[x] = Var(x.aval) if isinstance(x, Lit) else x
                residuals[var] = next(values)
                if isinstance(x, Lit) and x.is_regular:
                    numbers.add(var)
        inputs = tuple([variables.get(x, x) for x in eqn.inputs])
        eqns.append(attrs.evolve(eqn, inputs=inputs))
    return attrs.evolve(transposer, eqns=eqns, residuals=residuals, numbers=numbers)


def _by_place(tangents: Sequence[Tangent]) -> dict[int, Array]:
    return {i: t for i, t in enumerate(tangents) if t is not ZERO}

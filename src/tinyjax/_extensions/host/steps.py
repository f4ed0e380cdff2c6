"""Steps of a linearization, and the program of their backward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import attrs

from tinyjax import dtypes
from tinyjax._extensions.host import fall_back, replay
from tinyjax.config import Process, local_settings
from tinyjax.core.tracing import Primitive
from tinyjax.core.tracing.jaxpr import Atom, JaxprEqn, Lit, Var
from tinyjax.core.tracing.primitive import ZERO, Tangent, on_replaced
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


class PrimitiveSteps(replay.ReplayPrograms):
    """The steps of one primitive, by the keys of its calls.

    Attributes:
        repeatable: whether the work of its rules may be repeated without calling them.
    """

    __slots__ = ("repeatable",)

    def __init__(self, primitive: Primitive[Any]) -> None:
        super().__init__()
        rules = primitive.rules
        self.repeatable: bool = (
            primitive.repeatable
            and rules.evaluate is None
            and rules.collective is None
            and rules.linearize is None
            and not primitive.effectful
        )


class _StepsOf(dict[Primitive[Any], PrimitiveSteps]):
    """The steps of each primitive."""

    def __missing__(self, primitive: Primitive[Any]) -> PrimitiveSteps:
        steps = PrimitiveSteps(primitive)
        if steps.repeatable:  # others may be gone tomorrow
            self[primitive] = steps
        return steps


#: The steps of every primitive that was linearized.
steps_of: Final = _StepsOf()
on_replaced.append(steps_of.clear)


class EagerLinearizeTrace(LinearizeTrace):
    """A linearization over concrete primals, which replays frequent steps (``steps``)."""

    __slots__ = ()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        linear, steps = self.parent, steps_of[primitive]
        if not steps.repeatable:
            return super().process(primitive, args, params)
        here = id(local_settings() or Process.settings)
        key: tuple[object, ...]
        try:
            if len(args) == 2:  # inlined, in half the time
                x, y = args
                key = (here, params, type(x), x._aval or x.aval, type(y), y._aval or y.aval)
            elif len(args) == 1:
                (x,) = args
                key = (here, params, type(x), x._aval or x.aval)
            else:
                key = (here, params, *map(type, args), *[x._aval or x.aval for x in args])
            step = steps.entries.get(key)
        except TypeError:  # parameters without a hash
            return super().process(primitive, args, params)
        if step is not None:
            results: Sequence[Array]
            try:
                results = step(self, linear, *args)
            except Exception as error:  # let the rule say what is wrong
                results = super().process(primitive, args, params)
                fall_back(error)
            return results
        assert isinstance(linear, LinearTrace), "it records the tangents"
        start = len(linear.eqns)
        outs = super().process(primitive, args, params)
        if steps.is_due(key):
            # loaded with what records programs
            from tinyjax._extensions.host.recording import make_step  # noqa: PLC0415

            steps.keep(key, make_step(primitive, params, args, self, start, outs))
        return outs


# Backward passes of values at hand that are repeated, as Python functions of NumPy arrays.


#: A backward pass of fewer equations takes no longer than it takes to find its program.
_FEWEST: Final = 3
_programs: Final = replay.ReplayPrograms()


class EagerTransposer(Transposer):
    """Transposition of concrete values by a cached program, once such equations were repeated.

    A backward pass depends on the equations and on the types of the values in them. The types of
    computed values follow from the equations. So the types of the others are the program's key:
    linear inputs, known values and cotangents. The values are its arguments, literals among them.
    The user's rules, and programs, are not replayed: they may act differently each time.
    """

    def pull_back(self, cotangents: Sequence[Tangent]) -> list[Tangent]:
        """Pull cotangents back by a program for such equations, or by their rules.

        It is one function, since a call of another would be made for each equation.
        """
        eqns, known = self.eqns, self.residuals
        linear_inputs, outs = self.linear_inputs, self.outs
        if self.rule is not None or len(eqns) < _FEWEST:
            return super().pull_back(cotangents)
        places: dict[Atom, int] = {}
        operands: list[Array] = []
        literals: list[Lit] = []
        choosing = False
        key: list[object] = [id(local_settings() or Process.settings)]
        for var in linear_inputs:
            places[var] = len(places)
            key.append(var.aval)
        for eqn in eqns:
            primitive = eqn.primitive
            if not primitive.repeatable or primitive.rules.evaluate is not None:
                return super().pull_back(cotangents)
            choosing = choosing or primitive.selects
            key.append(primitive)
            key.append(eqn.params)
            for x in eqn.inputs:
                if type(x) is Lit:
                    literals.append(x)
                    operands.append(x.value)
                    key.append(x.aval)
                    continue
                place = places.get(x)
                if place is None:
                    place = places[x] = len(places)
                    if x in known:
                        operands.append(known[x])
                        key.append(x.aval)
                key.append(place)
            for x in eqn.out_binders:
                places[x] = len(places)
        key.append("results")  # of the last equation there may be any number of operands
        for x, cotangent in zip(outs, cotangents, strict=True):
            key.append(places.get(x) if isinstance(x, Var) else None)
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
                return super().pull_back(cotangents)
            host = value._host
            hosts.append(value.host if host is None else host)
        by_place: dict[int, Array]
        key_of_call = tuple(key)
        try:
            program = _programs.entries.get(key_of_call)
        except TypeError:  # parameters without a hash
            return super().pull_back(cotangents)
        if program is not None:
            try:
                by_place = program(*hosts)
            except Exception as error:  # let the rules say what is wrong
                cotangents_in = super().pull_back(cotangents)
                fall_back(error)
                return cotangents_in
            return [by_place.get(i, ZERO) for i in range(len(linear_inputs))]

        def pull(*values: Array) -> dict[int, Array]:
            left = iter(values)
            again = _substituted(self, left)
            cts: list[Tangent] = [ZERO if ct is ZERO else next(left) for ct in cotangents]
            return _by_place(Transposer.pull_back(again, cts))

        results = super().pull_back(cotangents)
        if _programs.is_due(key_of_call):
            _programs.make(key_of_call, pull, operands, {}, hosts, _by_place(results))
        return results


def _substituted(transposer: Transposer, values: Iterator[Array]) -> Transposer:
    """Return a backward pass through the same equations, with other known values.

    Args:
        transposer: the backward pass.
        values: those values, and the literals, in the order in which the equations read them.
    """
    residuals: dict[Var, Array] = {}
    numbers: set[Atom] = set()
    eqns: list[JaxprEqn] = []
    for eqn in transposer.eqns:
        inputs: list[Var] = []
        for x in eqn.inputs:
            var = Var(x.aval) if isinstance(x, Lit) else x
            if isinstance(x, Lit) or (x in transposer.residuals and x not in residuals):
                residuals[var] = next(values)
            if isinstance(x, Lit) and x.is_regular:
                numbers.add(var)
            inputs.append(var)
        eqns.append(attrs.evolve(eqn, inputs=tuple(inputs)))
    return attrs.evolve(transposer, eqns=eqns, residuals=residuals, numbers=numbers)


def _by_place(tangents: Sequence[Tangent]) -> dict[int, Array]:
    return {i: t for i, t in enumerate(tangents) if t is not ZERO}

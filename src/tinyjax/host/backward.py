"""Backward passes of values at hand that are repeated, as Python functions of NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from tinyjax import config, dtypes
from tinyjax.core.tracing.jaxpr import Atom, JaxprEqn, Lit, Var
from tinyjax.core.tracing.primitive import ZERO, Primitive, Tangent, on_replaced
from tinyjax.core.tracing.trace import eager
from tinyjax.core.transforms import transpose as tp
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.host.replay import Programs, may_be_repeated

#: A backward pass of fewer equations takes no longer than it takes to find its program.
_FEWEST: Final = 3
_programs: Final = Programs()


#: Primitives whose transpose rules need not be asked again.
_repeatable: Final[set[Primitive[Any]]] = set()
on_replaced.append(_repeatable.clear)


def _is_repeatable(primitive: Primitive[Any]) -> bool:
    if not may_be_repeated(primitive, primitive.rules.transpose):
        return False
    _repeatable.add(primitive)
    return True


class EagerTransposer(tp.Transposer):
    """Pulls back values at hand by a program, if it has often been done through such equations.

    What a backward pass does depends on the equations and on the types of the values in them. Those
    that are computed follow from the equations, so the types of the others are the program's key,
    of linear inputs, known values and cotangents; the values are its arguments, literals among
    them. The user's rules, and programs, are not replayed: they may do other things each time.
    """

    def pull_back(self, cotangents: Sequence[Tangent]) -> list[Tangent]:
        eqns, known = self.eqns, self.known
        linear_inputs, outs = self.linear_inputs, self.outs
        if self.rule is not None or len(eqns) < _FEWEST:
            return super().pull_back(cotangents)
        places: dict[Atom, int] = {}
        operands: list[Array] = []
        key: list[object] = [id(config.settings())]
        for var in linear_inputs:
            places[var] = len(places)
            key.append(var.aval)
        for eqn in eqns:
            primitive = eqn.primitive
            if primitive not in _repeatable and not _is_repeatable(primitive):
                return super().pull_back(cotangents)
            key.append(primitive)
            key.append(eqn.params)
            for x in eqn.inputs:
                if type(x) is Lit:
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
                key.append(cotangent.aval)
                operands.append(cotangent)
        hosts: list[dtypes.HostArray] = []
        for value in operands:
            if type(value) is not ConcreteArray:
                return super().pull_back(cotangents)
            host = value._host
            hosts.append(value.host if host is None else host)
        by_place: dict[int, Array]
        key_of_call = tuple(key)
        try:
            program = _programs.known.get(key_of_call)
            if program is not None:
                by_place = program(*hosts)
                return [by_place.get(i, ZERO) for i in range(len(linear_inputs))]
        except Exception:  # parameters without a hash; or let the rules say what is wrong
            return super().pull_back(cotangents)

        def pull(*values: Array) -> dict[int, Array]:
            left = iter(values)
            there: dict[Var, Array] = {}
            substituted: list[JaxprEqn] = []
            for eqn in eqns:
                inputs: list[Var] = []
                for x in eqn.inputs:
                    var = Var(x.aval) if isinstance(x, Lit) else x
                    if isinstance(x, Lit) or (x in known and x not in there):
                        there[var] = next(left)
                    inputs.append(var)
                substituted.append(attrs.evolve(eqn, inputs=tuple(inputs)))
            cts: list[Tangent] = [ZERO if ct is ZERO else next(left) for ct in cotangents]
            return _by_place(tp.Transposer(substituted, there, linear_inputs, outs).pull_back(cts))

        results = super().pull_back(cotangents)
        if _programs.is_due(key_of_call):
            _programs.make(key_of_call, pull, operands, {}, hosts, _by_place(results))
        return results


def _by_place(tangents: Sequence[Tangent]) -> dict[int, Array]:
    return {i: t for i, t in enumerate(tangents) if t is not ZERO}


eager[tp.Transposer] = EagerTransposer

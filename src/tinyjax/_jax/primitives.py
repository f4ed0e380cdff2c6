"""Primitives as JAX has them: keyword parameters, one result or several, rules in tables.

Each is a primitive of tinyjax whose parameters are a mapping, and a rule that is written in JAX's
way is one of tinyjax's that converts operands and results.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax.core.lowering import lower_jaxpr
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import (
    bind,
    encoding,
    jaxpr as jx,
    primitive as prim,
    program_rules,
    staging,
)
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.custom_derivatives.custom_calls import Zero
from tinyjax.experimental.hijax.primitives import number_of


def _key(value: object) -> bytes:
    """Return bytes that are equal only for parameters that are equal."""
    if isinstance(value, tuple):
        return b"(%s)" % b"".join(map(_key, value))
    try:
        return encoding.encode(value)
    except (errors.ArgumentError, TypeError):
        return b"v%d;" % number_of(value)


@attrs.frozen(eq=False, repr=False)
class KeywordParams(prim.Params):
    """Parameters given by keywords, whatever they are; a mapping of them.

    Attributes:
        key: what they are compared by.
        keywords: the parameters.
    """

    key: bytes
    keywords: Mapping[str, Any] = attrs.field(eq=False)

    @staticmethod
    def from_mapping(values: Mapping[str, Any]) -> KeywordParams:
        """Make parameters of keyword arguments."""
        parts = [b"%s=%s" % (name.encode(), _key(value)) for name, value in values.items()]
        return KeywordParams(b",".join(parts), values)

    def keys(self) -> tuple[str, ...]:
        return tuple(self.keywords)

    def __getitem__(self, name: str) -> Any:
        return self.keywords[name]

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name}={value!r}' for name, value in self.keywords.items())}}}"


tree.register_pytree_node(
    prim.UndefinedPrimal, lambda z: ((), z.aval), lambda aval, _: prim.UndefinedPrimal(aval)
)


class _OfJax(type):
    """Makes every primitive an instance of ``Primitive``, as equations' primitives are in JAX."""

    def __instancecheck__(cls, instance: object) -> bool:
        kind = prim.Primitive if cls is Primitive else cls
        return issubclass(type(instance), kind)


class Primitive(prim.Primitive[KeywordParams], metaclass=_OfJax):
    """An operation with JAX's way of writing rules.

    Attributes:
        multiple_results: whether rules and ``bind`` have a list of results, or one result.
        impl: the rule that evaluates it.
        abstract_eval: the rule that types it.

    Example:
        >>> import tinyjax
        >>> from tinyjax._jax import ad
        >>> from tinyjax._jax.primitives import Primitive
        >>> cube_p = Primitive("cube_of_doc")
        >>> _ = cube_p.def_impl(lambda x, *, times: times * x**3)
        >>> ad.defjvp(cube_p, lambda t, x, *, times: 3 * times * x**2 * t)
        >>> tinyjax.grad(lambda x: cube_p.bind(x, times=2))(2.0)
        Array(24., dtype=float32, weak_type=True)
    """

    multiple_results = False
    call_primitive = False
    map_primitive = False
    impl: Callable[..., Any]
    abstract_eval: Callable[..., Any]

    def __init__(self, name: str) -> None:
        super().__init__(name, KeywordParams)
        self.impl = self._missing("impl")
        self.abstract_eval = self._missing("abstract_eval")

    def _missing(self, rule: str) -> Callable[..., Any]:
        def refuse(*args: Any, **params: Any) -> Any:
            raise errors.MissingRuleError(self.name, rule, self.rule_names)

        return refuse

    # What the declaration of a primitive sets, such as ``multiple_results``, is set on it.
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def bind(self, *args: Any, **params: Any) -> Any:
        outs = bind(self, [opd.as_array(x) for x in args], KeywordParams.from_mapping(params))
        return _unpack(self, outs)

    def def_impl(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register how it is evaluated: ``rule(*operands, **params)``."""
        self.impl = rule

        def evaluate(args: prim.Arrays, params: KeywordParams) -> prim.Arrays:
            return [opd.as_array(out) for out in _pack(self, rule(*args, **params.keywords))]

        self.def_evaluate(evaluate)
        return rule

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register its typing rule: ``rule(*avals, **params)``."""
        self.abstract_eval = rule

        def types(avals: prim.Avals, params: KeywordParams) -> prim.Avals:
            return tuple(_pack(self, rule(*avals, **params.keywords)))

        super().def_abstract_eval(types)
        return rule


def several(primitive: prim.Primitive[Any]) -> bool:
    """Return whether rules of a primitive have a list of results."""
    return issubclass(type(primitive), Primitive) and primitive.multiple_results


def _mapping(params: Any) -> Mapping[str, Any]:
    return {name: params[name] for name in params.keys()}  # noqa: SIM118 (no mapping otherwise)


def _pack(primitive: prim.Primitive[Any], out: Any) -> Sequence[Any]:
    return out if several(primitive) else (out,)


def _unpack(primitive: prim.Primitive[Any], outs: Sequence[Any]) -> Any:
    return list(outs) if several(primitive) else outs[0]


def _tangent(tangent: Any) -> prim.Tangent:
    """Convert a rule's result for a tangent or cotangent."""
    if tangent is None or isinstance(tangent, Zero) or tangent is Zero:
        return prim.ZERO
    array = opd.as_array(tangent)
    return prim.ZERO if array.aval.tangent() is not array.aval else array


def register_jvp(primitive: prim.Primitive[Any], rule: Callable[..., Any]) -> None:
    """Register a derivative in JAX's way: ``rule(primals, tangents, **params)``."""

    def jvp(primals: prim.Arrays, tangents: prim.Tangents, params: Any) -> prim.JvpResult:
        tangents_in = [
            Zero(x.aval.tangent()) if t is prim.ZERO else t
            for x, t in zip(primals, tangents, strict=True)
        ]
        outs, out_tangents = rule(tuple(primals), tuple(tangents_in), **_mapping(params))
        return (
            [opd.as_array(out) for out in _pack(primitive, outs)],
            [_tangent(t) for t in _pack(primitive, out_tangents)],
        )

    primitive.def_jvp(jvp)


def register_transpose(primitive: prim.Primitive[Any], rule: Callable[..., Any]) -> None:
    """Register a transpose in JAX's way: ``rule(cotangents, *operands, **params)``."""

    def transpose(
        cotangents: prim.Tangents, operands: prim.Operands, params: Any
    ) -> prim.Cotangents:
        types = primitive.rules.abstract_eval([x.aval for x in operands], params)
        cotangents_in = [
            Zero(aval.tangent()) if ct is prim.ZERO else ct
            for ct, aval in zip(cotangents, types, strict=True)
        ]
        results = rule(_unpack(primitive, cotangents_in), *operands, **_mapping(params))
        if results is Zero or isinstance(results, Zero):
            results = [None] * len(operands)
        return [
            _tangent(ct) if isinstance(x, prim.UndefinedPrimal) else None
            for ct, x in zip(results, operands, strict=True)
        ]

    primitive.def_transpose(transpose)


def register_batch(
    primitive: prim.Primitive[Any], rule: Callable[..., Any], *, takes_axis: bool
) -> None:
    """Register a batching rule in JAX's way.

    Args:
        primitive: what it is for.
        rule: ``rule(operands, axes, **params)``, or after the axis' size, its name, and None.
        takes_axis: whether the rule takes those three.
    """

    def batch(
        axis: prim.MappedAxis, args: prim.Arrays, axes: prim.BatchAxes, params: Any
    ) -> prim.BatchResult:
        front = (axis.size, axis.name, None) if takes_axis else ()
        outs, out_axes = rule(*front, tuple(args), tuple(axes), **_mapping(params))
        return (
            [opd.as_array(out) for out in _pack(primitive, outs)],
            list(_pack(primitive, out_axes)),
        )

    primitive.def_batch(batch)


def register_lowering_of(
    primitive: prim.Primitive[Any], fun: Callable[..., Any], multiple_results: bool
) -> None:
    """Register a function of arrays whose program is the lowering of the primitive."""

    def staged_for(avals: prim.Avals, params: Any) -> staging.Staged:
        def flat(*args: Array) -> prim.Arrays:
            out = fun(*args, **_mapping(params))
            return [opd.as_array(x) for x in (out if multiple_results else (out,))]

        return staging.stage(flat, avals, fun)

    def lowering(b: Lowering, operands: hlo.Values, params: Any) -> hlo.Values:
        staged = staged_for([av.ShapedArray(x.type.shape, x.type.dtype) for x in operands], params)
        consts = [b.constant(opd.as_array(c).concrete("data")) for c in staged.consts]
        return lower_jaxpr(b, staged.jaxpr, [*consts, *operands])

    def composition(avals: prim.Avals, params: Any) -> jx.Jaxpr | None:
        staged = staged_for(avals, params)
        return None if staged.consts else staged.jaxpr

    primitive.def_lowering(lowering)
    primitive.def_rule(program_rules.COMPOSITION)(composition)


# Tables: what is put there is registered


class RuleTable(UserDict[prim.Primitive[Any], Callable[..., Any]]):
    """The rules of one kind in JAX's form; those of tinyjax's own form are not there.

    Args:
        kind: what kind of rule it is.
        register: makes one of tinyjax's rules of such a rule.
    """

    def __init__(
        self, kind: str, register: Callable[[prim.Primitive[Any], Callable[..., Any]], None]
    ) -> None:
        super().__init__()
        self.kind = kind
        self.register = register

    def __setitem__(self, primitive: prim.Primitive[Any], rule: Callable[..., Any]) -> None:
        self.register(primitive, rule)
        super().__setitem__(primitive, rule)

    def __missing__(self, primitive: prim.Primitive[Any]) -> Callable[..., Any]:
        raise errors.MissingRuleError(primitive.name, self.kind, primitive.rule_names)


class ArrayTypes(UserDict[type, Callable[[Any], Array]]):
    """The types whose values are taken as arrays, each with the function that makes one of a value.

    A type that is put there is given ``__jax_array__``, if it lacks it.
    """

    def __setitem__(self, kind: type, convert: Callable[[Any], Array]) -> None:
        super().__setitem__(kind, convert)
        if kind is not np.ndarray and not hasattr(kind, "__jax_array__"):
            marked: Any = kind
            marked.__jax_array__ = convert


#: ``jax.core.pytype_aval_mappings``, and ``jax.interpreters.xla.canonicalize_dtype_handlers``.
pytype_aval_mappings: Final = ArrayTypes({np.ndarray: lambda x: opd.as_array(np.asarray(x))})

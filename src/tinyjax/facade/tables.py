"""Tables of JAX's, of rules by primitive and of types: what is put there is registered."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax import errors
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array


class RuleTable(UserDict[prim.Primitive[Any], Callable[..., Any]]):
    """The rules of one kind that were written in JAX's way; those of tinyjax's own are not there.

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

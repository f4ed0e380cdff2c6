"""Tables of rules by primitive, as JAX has them: what is put there is registered."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from typing import Any

from tinyjax.core.primitive import Primitive
from tinyjax.errors import MissingRuleError


class RuleTable(UserDict[Primitive[Any], Callable[..., Any]]):
    """The rules of one kind that were written in JAX's way; those of tinyjax's own are not there.

    Args:
        kind: what kind of rule it is.
        register: makes one of tinyjax's rules of such a rule.
    """

    def __init__(
        self, kind: str, register: Callable[[Primitive[Any], Callable[..., Any]], None]
    ) -> None:
        super().__init__()
        self.kind = kind
        self.register = register

    def __setitem__(self, primitive: Primitive[Any], rule: Callable[..., Any]) -> None:
        self.register(primitive, rule)
        super().__setitem__(primitive, rule)

    def __missing__(self, primitive: Primitive[Any]) -> Callable[..., Any]:
        raise MissingRuleError(primitive.name, self.kind, primitive.rule_names)

"""Policies: which values a derivative may keep instead of computing them again.

A policy is any function ``policy(primitive, *avals, **params) -> bool``. It takes an operation, the
types of its operands and its parameters, and says whether the derivative may keep the results.

Example:
    >>> import tinyjax, tinyjax.numpy as jnp
    >>> def sines(primitive, *avals, **params):
    ...     return primitive.name == "sin"
    >>> f = tinyjax.checkpoint(lambda x: jnp.sin(jnp.sin(jnp.sin(x))), policy=sines)
    >>> len(tinyjax.saved_residuals(f, 1.0))
    3
"""

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import Enum
from typing import Any, Final, NamedTuple, assert_never

import attrs

from tinyjax import errors
from tinyjax._base import frames, records
from tinyjax._primitives import dot
from tinyjax._primitives.convolution import conv_general_dilated_p
from tinyjax.core.primitives.identities import name_p
from tinyjax.core.tracing import checking, jaxpr as jx, primitive as prim
from tinyjax.core.values import ShapedArray


class Offloadable(NamedTuple):
    """A result of a policy for a value: keep it, in another memory.

    There is one memory, so the value is kept.

    Attributes:
        src: the memory that the value is in.
        dst: the memory that it is to be kept in.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import Offloadable
        >>> def policy(primitive, *avals, **params):
        ...     return Offloadable(src="device", dst="pinned_host")
        >>> tinyjax.grad(tinyjax.checkpoint(lambda x: jnp.sin(x) ** 2, policy=policy))(0.0)
        Array(0., dtype=float32, weak_type=True)
    """

    src: str
    dst: str


#: The results of a policy for a value: to compute it again, or to save it.
Recompute: Final = False
Saveable: Final = True

#: ``policy(primitive, *avals, **params)`` says whether the results of an operation may be kept.
Policy = Callable[..., bool | Offloadable]


class WholePolicy(abc.ABC):
    """A policy that looks at a program as a whole, and not at one operation after the other."""

    @abc.abstractmethod
    def __call__(self, primitive: prim.Primitive[Any], *avals: ShapedArray, **params: Any) -> bool:
        """Return the general policy's result for an operation in a called program."""

    @abc.abstractmethod
    def saved(self, jaxpr: jx.Jaxpr, outs: Iterable[jx.Var]) -> Set[jx.Var]:
        """Return the values to keep of a program, to compute ``outs`` again from."""


class _Saveable(Enum):
    """The values that a policy of this package keeps."""

    EVERYTHING = "everything_saveable"
    NOTHING = "nothing_saveable"
    DOTS = "dots_saveable"
    DOTS_WITHOUT_BATCH = "dots_with_no_batch_dims_saveable"
    ANYTHING_EXCEPT = "save_anything_except_these_names"
    EITHER = "save_from_both_policies"


def _strings(names: Iterable[str]) -> frozenset[str]:
    listed: list[Any]
    try:
        listed = [*names]
    except TypeError:
        listed = [names]
    for name in listed:
        if not isinstance(name, str):
            raise errors.ArgumentError(
                f"a policy takes names as given to checkpoint_name, but got "
                f"{errors.shortened(name)}. Write save_only_these_names('a', 'b')."
            )
    return frozenset(listed)


def _is_named(primitive: prim.Primitive[Any], params: Mapping[str, Any], names: Set[str]) -> bool:
    return primitive is name_p and params["name"] in names


@attrs.frozen
class SaveOnlyTheseNames:
    """Keep the values that ``checkpoint_name`` gave one of these names.

    It is what ``save_only_these_names`` returns, as a class whose fields can be looked at.

    Attributes:
        saveable_names: the names.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     y = checkpoint_name(jnp.sin(x), "y")
        ...     return jnp.sin(checkpoint_name(jnp.sin(y), "z"))
        >>> policy = tinyjax.checkpoint_policies.SaveOnlyTheseNames(["y"])
        >>> saved = tinyjax.saved_residuals(tinyjax.checkpoint(f, policy=policy), 1.0)
        >>> [value.argument or value.name or value.primitive for value in saved]
        ['x', 'y']
    """

    saveable_names: frozenset[str] = attrs.field(converter=_strings)

    def __call__(self, primitive: prim.Primitive[Any], *avals: ShapedArray, **params: Any) -> bool:
        return _is_named(primitive, params, self.saveable_names)


@attrs.frozen
class SaveAnyNamesButThese:
    """Keep the values that have a name, unless it is one of these.

    Attributes:
        names: the names.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     y = checkpoint_name(jnp.sin(x), "y")
        ...     return jnp.sin(checkpoint_name(jnp.sin(y), "z"))
        >>> policy = tinyjax.checkpoint_policies.SaveAnyNamesButThese(["y"])
        >>> saved = tinyjax.saved_residuals(tinyjax.checkpoint(f, policy=policy), 1.0)
        >>> [value.argument or value.name or value.primitive for value in saved]
        ['x', 'z']
    """

    names: frozenset[str] = attrs.field(converter=_strings)

    def __call__(self, primitive: prim.Primitive[Any], *avals: ShapedArray, **params: Any) -> bool:
        return primitive is name_p and not _is_named(primitive, params, self.names)


@attrs.frozen
class SaveAndOffloadOnlyTheseNames:
    """Keep the values of either names: there is one memory, to which nothing is moved.

    Attributes:
        names_which_can_be_saved: as given to ``checkpoint_name``.
        names_which_can_be_offloaded: others.
        offload_src: of no effect.
        offload_dst: of no effect.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     y = checkpoint_name(jnp.sin(x), "y")
        ...     return jnp.sin(checkpoint_name(jnp.sin(y), "z"))
        >>> policy = tinyjax.checkpoint_policies.SaveAndOffloadOnlyTheseNames(
        ...     ["y"], ["z"], "device", "pinned_host"
        ... )
        >>> saved = tinyjax.saved_residuals(tinyjax.checkpoint(f, policy=policy), 1.0)
        >>> [value.argument or value.name or value.primitive for value in saved]
        ['x', 'y', 'z']
    """

    names_which_can_be_saved: frozenset[str] = attrs.field(converter=_strings)
    names_which_can_be_offloaded: frozenset[str] = attrs.field(converter=_strings)
    offload_src: str
    offload_dst: str

    def __call__(
        self, primitive: prim.Primitive[Any], *avals: ShapedArray, **params: Any
    ) -> bool | Offloadable:
        if _is_named(primitive, params, self.names_which_can_be_offloaded):
            return Offloadable(self.offload_src, self.offload_dst)
        return _is_named(primitive, params, self.names_which_can_be_saved)


@attrs.frozen(repr=False)
class _BuiltinPolicy:
    """A record and not a function, so that a program with it has one digest in every process."""

    keeps: _Saveable
    names: frozenset[str] = attrs.field(default=(), converter=_strings)
    parts: tuple[Policy, ...] = ()

    def __call__(self, primitive: prim.Primitive[Any], *avals: ShapedArray, **params: Any) -> bool:
        match self.keeps:
            case _Saveable.EVERYTHING:
                return True
            case _Saveable.NOTHING:
                return False
            case _Saveable.DOTS:
                return primitive is dot.dot_general_p or primitive is conv_general_dilated_p
            case _Saveable.DOTS_WITHOUT_BATCH:
                return primitive is dot.dot_general_p and not params["lhs_batch"]
            case _Saveable.ANYTHING_EXCEPT:
                return not _is_named(primitive, params, self.names)
            case _Saveable.EITHER:
                return any(part(primitive, *avals, **params) is not False for part in self.parts)
        assert_never(self.keeps)

    def __repr__(self) -> str:
        if not (self.names or self.parts):
            return self.keeps.value
        return f"{self.keeps.value}({', '.join(map(repr, sorted(self.names) or self.parts))})"


everything_saveable: Final[Policy] = _BuiltinPolicy(_Saveable.EVERYTHING)
nothing_saveable: Final[Policy] = _BuiltinPolicy(_Saveable.NOTHING)
dots_saveable: Final[Policy] = _BuiltinPolicy(_Saveable.DOTS)
checkpoint_dots: Final[Policy] = dots_saveable
dots_with_no_batch_dims_saveable: Final[Policy] = _BuiltinPolicy(_Saveable.DOTS_WITHOUT_BATCH)
checkpoint_dots_with_no_batch_dims: Final[Policy] = dots_with_no_batch_dims_saveable


@checking.checked
def save_only_these_names(*names: str) -> Policy:
    """Keep the values that ``checkpoint_name`` gave one of these names.

    All other values are computed again in the backward pass, from the kept ones and the
    arguments. Naming a value changes nothing else.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     y = checkpoint_name(jnp.sin(x), "y")
        ...     return jnp.sin(checkpoint_name(jnp.sin(y), "z"))
        >>> policy = tinyjax.checkpoint_policies.save_only_these_names("y")
        >>> saved = tinyjax.saved_residuals(tinyjax.checkpoint(f, policy=policy), 1.0)
        >>> [value.argument or value.name or value.primitive for value in saved]
        ['x', 'y']
    """
    return SaveOnlyTheseNames(names)


@checking.checked
def save_any_names_but_these(*names: str) -> Policy:
    """Keep the values that have a name, unless it is one of these.

    Values without a name are computed again in the backward pass.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     y = checkpoint_name(jnp.sin(x), "y")
        ...     return jnp.sin(checkpoint_name(jnp.sin(y), "z"))
        >>> policy = tinyjax.checkpoint_policies.save_any_names_but_these("y")
        >>> saved = tinyjax.saved_residuals(tinyjax.checkpoint(f, policy=policy), 1.0)
        >>> [value.argument or value.name or value.primitive for value in saved]
        ['x', 'z']
    """
    return SaveAnyNamesButThese(names)


@checking.checked
def save_anything_except_these_names(*names: str) -> Policy:
    """Keep every value, unless it has one of these names.

    Values with one of these names are computed again in the backward pass, and so are values that
    only these are computed from. In the example no sine is kept, but the cosines, which the
    derivative multiplies by.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     y = checkpoint_name(jnp.sin(x), "y")
        ...     return jnp.sin(checkpoint_name(jnp.sin(y), "z"))
        >>> policy = tinyjax.checkpoint_policies.save_anything_except_these_names("y")
        >>> saved = tinyjax.saved_residuals(tinyjax.checkpoint(f, policy=policy), 1.0)
        >>> [value.argument or value.name or value.primitive for value in saved]
        ['cos', 'cos', 'cos']
    """
    return _BuiltinPolicy(_Saveable.ANYTHING_EXCEPT, names)


@checking.checked
def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Keep the values of either names: there is one memory, to which nothing is moved.

    Args:
        names_which_can_be_saved: as given to ``checkpoint_name``.
        names_which_can_be_offloaded: others.
        offload_src: of no effect.
        offload_dst: of no effect.

    Raises:
        ArgumentError: a name is among both.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     y = checkpoint_name(jnp.sin(x), "y")
        ...     return jnp.sin(checkpoint_name(jnp.sin(y), "z"))
        >>> policy = tinyjax.checkpoint_policies.save_and_offload_only_these_names(
        ...     names_which_can_be_saved=["y"],
        ...     names_which_can_be_offloaded=["z"],
        ...     offload_src="device",
        ...     offload_dst="pinned_host",
        ... )
        >>> saved = tinyjax.saved_residuals(tinyjax.checkpoint(f, policy=policy), 1.0)
        >>> [value.argument or value.name or value.primitive for value in saved]
        ['x', 'y', 'z']
    """
    policy = SaveAndOffloadOnlyTheseNames(
        names_which_can_be_saved, names_which_can_be_offloaded, offload_src, offload_dst
    )
    both = sorted(policy.names_which_can_be_saved & policy.names_which_can_be_offloaded)
    if both:
        raise errors.ArgumentError(
            f"save_and_offload_only_these_names was told both to save and to offload {both}. "
            "Give each name once."
        )
    return policy


@checking.checked
def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Keep the same values as ``dots_with_no_batch_dims_saveable``: nothing is moved.

    Args:
        offload_src: of no effect.
        offload_dst: of no effect.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> offload = tinyjax.checkpoint_policies.offload_dot_with_no_batch_dims
        >>> policy = offload("device", "pinned_host")
        >>> f = tinyjax.checkpoint(lambda x: jnp.sin(jnp.sin(x @ x)), policy=policy)
        >>> len(tinyjax.saved_residuals(f, jnp.ones((2, 2))))
        2
    """
    return dots_with_no_batch_dims_saveable


@checking.checked
def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keep the values that either policy keeps.

    Each policy sees every value, so that policies can be composed from smaller ones.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     y = checkpoint_name(jnp.sin(x), "y")
        ...     return jnp.sin(checkpoint_name(jnp.sin(y), "z"))
        >>> policy = tinyjax.checkpoint_policies.save_from_both_policies(
        ...     tinyjax.checkpoint_policies.save_only_these_names("y"),
        ...     tinyjax.checkpoint_policies.save_only_these_names("z"),
        ... )
        >>> saved = tinyjax.saved_residuals(tinyjax.checkpoint(f, policy=policy), 1.0)
        >>> [value.argument or value.name or value.primitive for value in saved]
        ['x', 'y', 'z']
    """
    return _BuiltinPolicy(_Saveable.EITHER, (), (policy_1, policy_2))


@attrs.frozen(repr=False)
class PolicySaveable:
    """The policy as a question about equations; equal where the policies are."""

    policy: Policy

    def __call__(self, eqn: jx.JaxprEqn) -> bool:
        params = {name: getattr(eqn.params, name) for name in records.field_names(type(eqn.params))}
        answer = self.policy(eqn.primitive, *(x.aval for x in eqn.inputs), **params)
        if not isinstance(answer, bool | Offloadable):
            raise errors.ArgumentError(
                "a checkpointing policy must return True or False, but "
                f"{frames.describe_function(self.policy)} returned {answer!r} for "
                f"'{eqn.primitive}'. Write policy(primitive, *avals, **params) -> bool."
            )
        return answer is not False


def check_hashable(policy: Policy) -> None:
    """Raise unless a policy can be compared."""
    try:
        hash(policy)
    except TypeError:
        raise errors.ArgumentError(
            f"a checkpointing policy is compared and must be hashable, but got one of type "
            f"{type(policy).__name__}, which is not. Use a function, or a frozen class."
        ) from None

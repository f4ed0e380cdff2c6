"""The identity that gives a value a name, by which a checkpointing policy knows it."""

from typing import TypeVar

import attrs

from tinyjax import tree
from tinyjax.core.primitives import families as fam, rules as ru
from tinyjax.core.tracing import checking, primitive as prim, trace as tr
from tinyjax.core.values import operands as opd

T = TypeVar("T")


@attrs.frozen(eq=False, repr=False)
class NameParams(prim.Params):
    """The name."""

    name: str


name_p: prim.Primitive[NameParams] = prim.Primitive("name", NameParams)


ru.def_identity(name_p)


@name_p.def_jvp
def _name_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: NameParams) -> prim.JvpResult:
    # the name is the value's, not its tangent's: no policy asks for what depends on tangents
    return tr.bind(name_p, primals, params), tangents


ru.def_transposes(name_p, lambda ct, x, params: ct)


fam.def_elementwise_batch(name_p)


@checking.checked
def checkpoint_name(x: T, name: str) -> T:
    """Return ``x``, known by a name to the policies of ``checkpoint``.

    Only the value returned has the name: a function that goes on with ``x`` itself uses a value
    that the policy does not know.

    Args:
        x: an array, or several in any containers.
        name: the name; several values may share one.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.checkpoint(policy=tinyjax.checkpoint_policies.save_only_these_names("s"))
        ... def f(x):
        ...     return jnp.sin(tinyjax.checkpoint_name(jnp.sin(x), "s"))
        >>> [r.name for r in tinyjax.saved_residuals(f, 1.0)]
        [None, 's']
    """
    params = NameParams(name)
    named: T = tree.map(lambda leaf: tr.bind1(name_p, (opd.as_array(leaf),), params), x)
    return named

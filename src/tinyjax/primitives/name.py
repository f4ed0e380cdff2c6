"""The identity that gives a value a name, by which a checkpointing policy knows it."""

from collections.abc import Sequence
from typing import TypeVar

import attrs

from tinyjax import tree
from tinyjax.core.array import Array, as_array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.checking import checked
from tinyjax.core.jaxpr import Var
from tinyjax.core.primitive import Params, Primitive, Tangent
from tinyjax.core.trace import bind, bind1
from tinyjax.dtypes import HostArray
from tinyjax.primitives.families import def_elementwise_batch
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values

T = TypeVar("T")


@attrs.frozen(repr=False)
class NameParams(Params):
    """The name."""

    name: str


name_p: Primitive[NameParams] = Primitive("name", NameParams)


@name_p.def_impl
def _name_impl(operands: Sequence[HostArray], params: NameParams) -> Sequence[HostArray]:
    return operands


@name_p.def_abstract_eval
def _name_type(avals: Sequence[ShapedArray], params: NameParams) -> Sequence[ShapedArray]:
    return avals


@name_p.def_lowering
def _name_lowering(b: Lowering, operands: Values, params: NameParams) -> Values:
    return operands


@name_p.def_jvp
def _name_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: NameParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    # the name is the value's, not its tangent's: no policy asks for what depends on tangents
    return bind(name_p, primals, params), tangents


@name_p.def_transpose
def _name_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NameParams
) -> Sequence[Tangent | None]:
    return cotangents


def_elementwise_batch(name_p)


@checked
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
    named: T = tree.map(lambda leaf: bind1(name_p, (as_array(leaf),), params), x)
    return named

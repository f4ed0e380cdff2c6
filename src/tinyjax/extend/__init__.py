"""What a new primitive, a new family of primitives or a new transformation is written with.

Everything here is what tinyjax itself is written with; ``docs/new-primitive.md`` and
``docs/transformations.md`` use it in full.

- ``Primitive``, ``Params``, ``NoParams``, ``NO_PARAMS``: an operation, and its parameters
- ``RuleKey``: a kind of rule that a new transformation asks primitives for
- ``elementwise``, ``composed``: elementwise primitives; a lowering made of others
- ``def_derivatives``, ``def_transposes``: rules as tables, a formula for each operand
- ``def_linear``, ``def_constant``: derivatives of what is linear, and of what has none
- ``Lowering``, ``Values``: writes StableHLO, for a primitive's lowering rule; what it writes
- ``UndefinedPrimal``: an operand of a transpose rule that has no value
- ``def_simple_batch``, ``def_elementwise_batch``: batch rules: bring the batch to the front
- ``Hosts``, ``Avals``, ``Arrays``: what rules take and return: NumPy arrays, types, arrays
- ``bind``, ``bind1``: apply a primitive under the current trace
- ``Trace``, ``Tracer``: an interpreter of primitives, and the values it interprets them on
- ``Running``, ``use_trace``, ``current_trace``: make a trace the current one; which it is
- ``CustomCall``: a function with rules of its own, as traces meet it
- ``Array``, ``as_array``, ``ShapedArray``: a value, what makes one of a number, its type
- ``Tangent``, ``ZERO``: a tangent, and the one that is known to be zero
- ``Jaxpr``, ``JaxprEqn``, ``Var``, ``Lit``: a program, its equations, and their operands
- ``subjaxprs``, ``eval_jaxpr``: the programs inside an equation; run a program
- ``core``: what interpreters of jaxprs read, by the names of ``jax.extend.core``
"""

from typing import TYPE_CHECKING

from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Lit, Var, eval_jaxpr, subjaxprs
from tinyjax.core.operands import as_array
from tinyjax.core.primitive import (
    NO_PARAMS,
    ZERO,
    Arrays,
    Avals,
    Hosts,
    NoParams,
    Params,
    Primitive,
    RuleKey,
    Tangent,
    UndefinedPrimal,
)
from tinyjax.core.trace import (
    CustomCall,
    Running,
    Trace,
    Tracer,
    bind,
    bind1,
    current_trace,
    use_trace,
)
from tinyjax.lazy import loader
from tinyjax.primitives.families import composed, def_elementwise_batch, elementwise
from tinyjax.primitives.rules import def_constant, def_derivatives, def_linear, def_transposes
from tinyjax.primitives.shape import def_simple_batch
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values

if TYPE_CHECKING:
    from tinyjax.extend import core as core

__all__ = [
    "NO_PARAMS",
    "ZERO",
    "Array",
    "Arrays",
    "Avals",
    "CustomCall",
    "Hosts",
    "Jaxpr",
    "JaxprEqn",
    "Lit",
    "Lowering",
    "NoParams",
    "Params",
    "Primitive",
    "RuleKey",
    "Running",
    "ShapedArray",
    "Tangent",
    "Trace",
    "Tracer",
    "UndefinedPrimal",
    "Values",
    "Var",
    "as_array",
    "bind",
    "bind1",
    "composed",
    "core",
    "current_trace",
    "def_constant",
    "def_derivatives",
    "def_elementwise_batch",
    "def_linear",
    "def_simple_batch",
    "def_transposes",
    "elementwise",
    "eval_jaxpr",
    "subjaxprs",
    "use_trace",
]


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, {"": "core"})

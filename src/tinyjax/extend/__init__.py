"""What a new primitive, a new family of primitives or a new transformation is written with.

Everything here is what tinyjax itself is written with; ``docs/new-primitive.md`` and
``docs/transformations.md`` use it in full.

- ``Primitive``, ``Params``, ``NoParams``, ``NO_PARAMS``: an operation, and its parameters
- ``RuleKey``: a kind of rule that a new transformation asks primitives for
- ``elementwise``, ``composed``: elementwise primitives; a lowering made of others
- ``def_derivatives``, ``def_transposes``: rules as tables, a formula for each operand
- ``def_linear``, ``def_constant``: derivatives of what is linear, and of what has none
- ``Lowering``, ``Values``: writes StableHLO, for a primitive's lowering rule; what it writes
- ``mark``: a rule that is a constant; ``SOLVES``, ``FUSES``, ``MATERIALIZES``: kinds of these
- ``UndefinedPrimal``: an operand of a transpose rule that has no value
- ``def_simple_batch``, ``def_elementwise_batch``: batch rules: bring the batch to the front
- ``Hosts``, ``Avals``, ``Arrays``: what rules take and return: NumPy arrays, types, arrays
- ``HostCall``: what NumPy does for operands of given types
- ``bind``, ``bind1``: apply a primitive under the current trace
- ``Trace``, ``Tracer``: an interpreter of primitives, and the values it interprets them on
- ``Running``, ``use_trace``, ``current_trace``: make a trace the current one; which it is
- ``Machine``: which classes transformations above a trace are made of
- ``CustomCall``: a function with rules of its own, as traces meet it
- ``Array``, ``as_array``, ``ShapedArray``: a value, what makes one of a number, its type
- ``Tangent``, ``ZERO``: a tangent, and the one that is known to be zero
- ``Jaxpr``, ``JaxprEqn``, ``Var``, ``Lit``: a program, its equations, and their operands
- ``subjaxprs``, ``eval_jaxpr``: the programs inside an equation; run a program
- ``MESH``, ``MeshRule``: how the results of a primitive lie on the devices of a mesh
- ``SPARSITY``, ``SparsityRule``: where the derivative of a primitive is zero
- ``PADDING``, ``PaddingRule``: what a primitive does with arrays longer than they say
- ``numpy_text``: the program of NumPy that a function becomes
- ``core``: what interpreters of jaxprs read, by the names of ``jax.extend.core``
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.core.values.array": "Array",
        "tinyjax.core.values.avals": "ShapedArray",
        "tinyjax.core.tracing.jaxpr": "Jaxpr JaxprEqn Lit Var eval_jaxpr subjaxprs",
        "tinyjax.core.values.operands": "as_array",
        "tinyjax.core.tracing.primitive": (
            "Arrays Avals FUSES HostCall Hosts MATERIALIZES NO_PARAMS NoParams Params Primitive "
            "RuleKey SOLVES Tangent UndefinedPrimal ZERO mark"
        ),
        "tinyjax.core.tracing.trace": (
            "CustomCall Machine Running Trace Tracer bind bind1 current_trace use_trace"
        ),
        "tinyjax._tools.exploring.numbering": "numpy_text",
        "tinyjax.core.primitives.families": "composed def_elementwise_batch elementwise",
        "tinyjax.core.primitives.rules": "def_constant def_derivatives def_linear def_transposes",
        "tinyjax.core.primitives.shape": "def_simple_batch",
        "tinyjax.core.stablehlo.lowering": "Lowering",
        "tinyjax.core.stablehlo.types": "Values",
        "tinyjax._extensions.parallel.mesh_rule": "MESH MeshRule",
        "tinyjax._library.sparsity.rules": "SPARSITY SparsityRule",
        "tinyjax._library.padding.programs": "PADDING PaddingRule",
        "": "core",
    },
)

"""The interface for a new primitive, a new family of primitives or a new transformation.

tinyjax itself uses all of it; ``docs/new-primitive.md`` and ``docs/transformations.md`` show it in
full.

- ``Primitive``, ``Params``, ``NoParams``, ``NO_PARAMS``: an operation, and its parameters
- ``RuleKey``: a kind of rule that a new transformation asks primitives for
- ``elementwise``, ``composed``: elementwise primitives; a lowering made of others
- ``def_derivatives``, ``def_transposes``: rules as tables, a formula for each operand
- ``def_linear``, ``def_constant``: derivatives of what is linear, and of what has none
- ``Lowering``, ``Values``: writes StableHLO, for a primitive's lowering rule; what it writes
- ``mark``: a rule that is a constant; ``SOLVES``, ``FUSES``, ``MATERIALIZES``: kinds of these
- ``UndefinedPrimal``: an operand of a transpose rule that has no value
- ``def_simple_batch``, ``def_elementwise_batch``: batch rules: bring the batch to the front
- ``Hosts``, ``Avals``, ``Arrays``: operands and results of rules: NumPy arrays, types, arrays
- ``HostCall``: NumPy's implementation for operands of given types
- ``bind``, ``bind1``: apply a primitive under the current trace
- ``Trace``, ``Tracer``: an interpreter of primitives, and the values it interprets them on
- ``Running``, ``use_trace``, ``current_trace``: make a trace the current one; which it is
- ``Adapter``: additions of an extension to the transformations above a trace
- ``CustomCall``: a function with rules of its own, as traces meet it
- ``Array``, ``as_array``, ``ShapedArray``: a value, what makes one of a number, its type
- ``Tangent``, ``ZERO``: a tangent, and the one that is known to be zero
- ``Jaxpr``, ``JaxprEqn``, ``Var``, ``Lit``: a program, its equations, and their operands
- ``subjaxprs``, ``eval_jaxpr``: the programs inside an equation; run a program
- ``MESH``, ``MeshRule``: the shardings of a primitive's results on the devices of a mesh
- ``SPARSITY``, ``SparsityRule``: where the derivative of a primitive is zero
- ``PADDING``, ``PaddingRule``: a primitive on arrays with padding
- ``C``, ``CRule``: an equation in C, for ``export.c``
- ``numpy_text``: the program of NumPy that a function becomes
- ``core``: the interface for interpreters of jaxprs, by the names of ``jax.extend.core``
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
            "Adapter CustomCall Running Trace Tracer bind bind1 current_trace use_trace"
        ),
        "tinyjax._tools.exploring.numbering": "numpy_text",
        "tinyjax.core.primitives.families": "composed def_elementwise_batch elementwise",
        "tinyjax.core.primitives.rules": "def_constant def_derivatives def_linear def_transposes",
        "tinyjax.core.primitives.shape": "def_simple_batch",
        "tinyjax.core.stablehlo.lowering": "Lowering",
        "tinyjax.core.stablehlo.types": "Values",
        "tinyjax._extensions.parallel.mesh_rule": "MESH MeshRule",
        "tinyjax._library.sparsity.rules": "SPARSITY SparsityRule",
        "tinyjax._extensions.c.rules": "C CRule",
        "tinyjax._library.padding.programs": "PADDING PaddingRule",
        "": "core",
    },
)

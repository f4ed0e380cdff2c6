# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.c.rules import C as C
from tinyjax._extensions.c.rules import CRule as CRule
from tinyjax._extensions.parallel.mesh_rule import MESH as MESH
from tinyjax._extensions.parallel.mesh_rule import MeshRule as MeshRule
from tinyjax._library.padding.programs import PADDING as PADDING
from tinyjax._library.padding.programs import PaddingRule as PaddingRule
from tinyjax._library.sparsity.rules import SPARSITY as SPARSITY
from tinyjax._library.sparsity.rules import SparsityRule as SparsityRule
from tinyjax._tools.exploring.numbering import numpy_text as numpy_text
from tinyjax.core.primitives.families import composed as composed
from tinyjax.core.primitives.families import def_elementwise_batch as def_elementwise_batch
from tinyjax.core.primitives.families import elementwise as elementwise
from tinyjax.core.primitives.rules import def_constant as def_constant
from tinyjax.core.primitives.rules import def_derivatives as def_derivatives
from tinyjax.core.primitives.rules import def_linear as def_linear
from tinyjax.core.primitives.rules import def_transposes as def_transposes
from tinyjax.core.primitives.shape import def_simple_batch as def_simple_batch
from tinyjax.core.stablehlo.lowering import Lowering as Lowering
from tinyjax.core.stablehlo.types import Values as Values
from tinyjax.core.tracing.jaxpr import Jaxpr as Jaxpr
from tinyjax.core.tracing.jaxpr import JaxprEqn as JaxprEqn
from tinyjax.core.tracing.jaxpr import Lit as Lit
from tinyjax.core.tracing.jaxpr import Var as Var
from tinyjax.core.tracing.jaxpr import eval_jaxpr as eval_jaxpr
from tinyjax.core.tracing.jaxpr import subjaxprs as subjaxprs
from tinyjax.core.tracing.primitive import Arrays as Arrays
from tinyjax.core.tracing.primitive import Avals as Avals
from tinyjax.core.tracing.primitive import FUSES as FUSES
from tinyjax.core.tracing.primitive import HostCall as HostCall
from tinyjax.core.tracing.primitive import Hosts as Hosts
from tinyjax.core.tracing.primitive import MATERIALIZES as MATERIALIZES
from tinyjax.core.tracing.primitive import NO_PARAMS as NO_PARAMS
from tinyjax.core.tracing.primitive import NoParams as NoParams
from tinyjax.core.tracing.primitive import Params as Params
from tinyjax.core.tracing.primitive import Primitive as Primitive
from tinyjax.core.tracing.primitive import RuleKey as RuleKey
from tinyjax.core.tracing.primitive import SOLVES as SOLVES
from tinyjax.core.tracing.primitive import Tangent as Tangent
from tinyjax.core.tracing.primitive import UndefinedPrimal as UndefinedPrimal
from tinyjax.core.tracing.primitive import ZERO as ZERO
from tinyjax.core.tracing.primitive import mark as mark
from tinyjax.core.tracing.trace import Adapter as Adapter
from tinyjax.core.tracing.trace import CustomCall as CustomCall
from tinyjax.core.tracing.trace import Running as Running
from tinyjax.core.tracing.trace import Trace as Trace
from tinyjax.core.tracing.trace import Tracer as Tracer
from tinyjax.core.tracing.trace import bind as bind
from tinyjax.core.tracing.trace import bind1 as bind1
from tinyjax.core.tracing.trace import current_trace as current_trace
from tinyjax.core.tracing.trace import use_trace as use_trace
from tinyjax.core.values.array import Array as Array
from tinyjax.core.values.avals import ShapedArray as ShapedArray
from tinyjax.core.values.operands import as_array as as_array
from tinyjax.extend import core as core

__all__ = [
    'Adapter',
    'Array',
    'Arrays',
    'Avals',
    'C',
    'CRule',
    'CustomCall',
    'FUSES',
    'HostCall',
    'Hosts',
    'Jaxpr',
    'JaxprEqn',
    'Lit',
    'Lowering',
    'MATERIALIZES',
    'MESH',
    'MeshRule',
    'NO_PARAMS',
    'NoParams',
    'PADDING',
    'PaddingRule',
    'Params',
    'Primitive',
    'RuleKey',
    'Running',
    'SOLVES',
    'SPARSITY',
    'ShapedArray',
    'SparsityRule',
    'Tangent',
    'Trace',
    'Tracer',
    'UndefinedPrimal',
    'Values',
    'Var',
    'ZERO',
    'as_array',
    'bind',
    'bind1',
    'composed',
    'core',
    'current_trace',
    'def_constant',
    'def_derivatives',
    'def_elementwise_batch',
    'def_linear',
    'def_simple_batch',
    'def_transposes',
    'elementwise',
    'eval_jaxpr',
    'mark',
    'numpy_text',
    'subjaxprs',
    'use_trace',
]

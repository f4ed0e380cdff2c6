# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.core.array import Array as Array
from tinyjax.core.avals import ShapedArray as ShapedArray
from tinyjax.core.jaxpr import Jaxpr as Jaxpr
from tinyjax.core.jaxpr import JaxprEqn as JaxprEqn
from tinyjax.core.jaxpr import Lit as Lit
from tinyjax.core.jaxpr import Var as Var
from tinyjax.core.jaxpr import eval_jaxpr as eval_jaxpr
from tinyjax.core.jaxpr import subjaxprs as subjaxprs
from tinyjax.core.operands import as_array as as_array
from tinyjax.core.primitive import Arrays as Arrays
from tinyjax.core.primitive import Avals as Avals
from tinyjax.core.primitive import HostCall as HostCall
from tinyjax.core.primitive import Hosts as Hosts
from tinyjax.core.primitive import NO_PARAMS as NO_PARAMS
from tinyjax.core.primitive import NoParams as NoParams
from tinyjax.core.primitive import Params as Params
from tinyjax.core.primitive import Primitive as Primitive
from tinyjax.core.primitive import RuleKey as RuleKey
from tinyjax.core.primitive import Tangent as Tangent
from tinyjax.core.primitive import UndefinedPrimal as UndefinedPrimal
from tinyjax.core.primitive import ZERO as ZERO
from tinyjax.core.trace import CustomCall as CustomCall
from tinyjax.core.trace import Running as Running
from tinyjax.core.trace import Trace as Trace
from tinyjax.core.trace import Tracer as Tracer
from tinyjax.core.trace import bind as bind
from tinyjax.core.trace import bind1 as bind1
from tinyjax.core.trace import current_trace as current_trace
from tinyjax.core.trace import use_trace as use_trace
from tinyjax.exploring.numpy_text import numpy_text as numpy_text
from tinyjax.extend import core as core
from tinyjax.primitives.families import composed as composed
from tinyjax.primitives.families import def_elementwise_batch as def_elementwise_batch
from tinyjax.primitives.families import elementwise as elementwise
from tinyjax.primitives.rules import def_constant as def_constant
from tinyjax.primitives.rules import def_derivatives as def_derivatives
from tinyjax.primitives.rules import def_linear as def_linear
from tinyjax.primitives.rules import def_transposes as def_transposes
from tinyjax.primitives.shape import def_simple_batch as def_simple_batch
from tinyjax.stablehlo.lowering import Lowering as Lowering
from tinyjax.stablehlo.types import Values as Values

__all__ = [
    'Array',
    'Arrays',
    'Avals',
    'CustomCall',
    'HostCall',
    'Hosts',
    'Jaxpr',
    'JaxprEqn',
    'Lit',
    'Lowering',
    'NO_PARAMS',
    'NoParams',
    'Params',
    'Primitive',
    'RuleKey',
    'Running',
    'ShapedArray',
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
    'numpy_text',
    'subjaxprs',
    'use_trace',
]

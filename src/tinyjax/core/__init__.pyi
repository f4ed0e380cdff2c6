# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.core.tracing.jaxpr import Atom as Atom
from tinyjax.core.tracing.jaxpr import ClosedJaxpr as ClosedJaxpr
from tinyjax.core.tracing.jaxpr import Jaxpr as Jaxpr
from tinyjax.core.tracing.jaxpr import JaxprEqn as JaxprEqn
from tinyjax.core.tracing.jaxpr import Var as Var
from tinyjax.core.tracing.jaxpr import eval_jaxpr as eval_jaxpr
from tinyjax.core.tracing.primitive import ParamDict as ParamDict
from tinyjax.core.tracing.primitive import Primitive as Primitive
from tinyjax.core.tracing.staging import ensure_compile_time_eval as ensure_compile_time_eval
from tinyjax.core.tracing.trace import Trace as Trace
from tinyjax.core.tracing.trace import Tracer as Tracer
from tinyjax.core.tracing.trace import eval_context as eval_context
from tinyjax.core.values.array import Value as Value
from tinyjax.core.values.avals import ShapedArray as AbstractValue
from tinyjax.core.values.avals import ShapedArray as ShapedArray
from tinyjax.core.values.integers import larger as max_dim
from tinyjax.core.values.integers import smaller as min_dim

__all__ = [
    'AbstractValue',
    'Atom',
    'ClosedJaxpr',
    'Jaxpr',
    'JaxprEqn',
    'ParamDict',
    'Primitive',
    'ShapedArray',
    'Trace',
    'Tracer',
    'Value',
    'Var',
    'ensure_compile_time_eval',
    'eval_context',
    'eval_jaxpr',
    'max_dim',
    'min_dim',
]

# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.core.array import Value as Value
from tinyjax.core.avals import ShapedArray as AbstractValue
from tinyjax.core.avals import ShapedArray as ShapedArray
from tinyjax.core.folding import ensure_compile_time_eval as ensure_compile_time_eval
from tinyjax.core.integers import larger as max_dim
from tinyjax.core.integers import smaller as min_dim
from tinyjax.core.jaxpr import Atom as Atom
from tinyjax.core.jaxpr import ClosedJaxpr as ClosedJaxpr
from tinyjax.core.jaxpr import Jaxpr as Jaxpr
from tinyjax.core.jaxpr import JaxprEqn as JaxprEqn
from tinyjax.core.jaxpr import Var as Var
from tinyjax.core.jaxpr import eval_jaxpr as eval_jaxpr
from tinyjax.core.primitive import ParamDict as ParamDict
from tinyjax.core.primitive import Primitive as Primitive
from tinyjax.core.trace import Trace as Trace
from tinyjax.core.trace import Tracer as Tracer
from tinyjax.core.trace import eval_context as eval_context

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

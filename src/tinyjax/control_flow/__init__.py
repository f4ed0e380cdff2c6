"""Control flow that is part of the program: conditionals and loops as primitives.

Each takes functions, stages them to jaxprs, and binds a primitive whose parameters those are. What
the functions close over, arrays and tracers alike, becomes operands. The rules of the primitives
transform the jaxprs and bind the primitive again.
"""

from tinyjax.control_flow.cond import cond, switch
from tinyjax.control_flow.declared import cond_p, scan_p, while_p
from tinyjax.control_flow.loop_tangent import loop_tangent_p
from tinyjax.control_flow.loops import associative_scan, fori_loop
from tinyjax.control_flow.loops import map_ as map
from tinyjax.control_flow.scan import scan
from tinyjax.control_flow.while_loop import while_loop

__all__ = [
    "associative_scan",
    "cond",
    "cond_p",
    "fori_loop",
    "loop_tangent_p",
    "map",
    "scan",
    "scan_p",
    "switch",
    "while_loop",
    "while_p",
]

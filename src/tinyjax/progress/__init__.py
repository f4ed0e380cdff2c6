"""Bars of loops: how far they have come, where the setting ``progress`` asks for that.

The room is loaded when the setting is first switched on, and attached by a rule of the loops'
primitives, ``OBSERVER``.
"""

from tinyjax.core.control_flow.common import OBSERVER
from tinyjax.core.control_flow.primitives import scan_p, while_p
from tinyjax.progress.runs import progress_of

scan_p.def_rule(OBSERVER)(progress_of)
while_p.def_rule(OBSERVER)(progress_of)

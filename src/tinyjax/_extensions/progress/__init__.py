"""Progress bars of loops, under the setting ``progress``.

The extension is loaded when the setting is first switched on, and attached by a rule of the loops'
primitives, ``OBSERVER``.
"""

from tinyjax._extensions.progress.runs import progress_of
from tinyjax.core.control_flow.common import OBSERVER
from tinyjax.core.control_flow.primitives import scan_p, while_p

scan_p.def_rule(OBSERVER)(progress_of)
while_p.def_rule(OBSERVER)(progress_of)

"""``python -m tinyjax.explore module:function --args ...``: the explorer from a shell.

To Python this module is the function ``tinyjax.explore``, whose name it has.
"""

from __future__ import annotations

import sys
from types import ModuleType

from tinyjax._tools.exploring import explore


class _Explore(ModuleType):
    """A module that is called like the function of its name."""

    __call__ = staticmethod(explore)


sys.modules[__name__].__class__ = _Explore

if __name__ == "__main__":
    # whoever imports the module needs no command line
    from tinyjax._tools.exploring.command import main

    sys.exit(main(sys.argv[1:]))

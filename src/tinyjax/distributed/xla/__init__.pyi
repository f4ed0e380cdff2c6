# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.distributed.xla import connecting as connecting

__all__ = [
    'connecting',
]

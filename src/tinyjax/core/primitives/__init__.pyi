# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.core.primitives.reduce import reduce_and as reduce_and
from tinyjax.core.primitives.slicing import concatenate as concatenate
from tinyjax.core.primitives.slicing import pad as pad
from tinyjax.core.primitives.slicing import slice_ as slice_

__all__ = [
    'concatenate',
    'pad',
    'reduce_and',
    'slice_',
]

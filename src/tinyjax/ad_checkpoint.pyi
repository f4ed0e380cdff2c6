# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax import checkpoint_policies as checkpoint_policies
from tinyjax._extensions.checkpointing import checkpoint as checkpoint
from tinyjax._extensions.checkpointing import checkpoint_name as checkpoint_name
from tinyjax._extensions.checkpointing import print_saved_residuals as print_saved_residuals
from tinyjax._extensions.checkpointing import remat as remat
from tinyjax._extensions.checkpointing import saved_residuals as saved_residuals
from tinyjax._extensions.checkpointing.policies import Offloadable as Offloadable
from tinyjax._extensions.checkpointing.policies import Recompute as Recompute
from tinyjax._extensions.checkpointing.policies import Saveable as Saveable

__all__ = [
    'Offloadable',
    'Recompute',
    'Saveable',
    'checkpoint',
    'checkpoint_name',
    'checkpoint_policies',
    'print_saved_residuals',
    'remat',
    'saved_residuals',
]

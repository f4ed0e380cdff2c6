# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.checkpointing.policies import Policy as Policy
from tinyjax._extensions.checkpointing.residuals import Residual as Residual
from tinyjax._extensions.checkpointing.residuals import print_saved_residuals as print_saved_residuals
from tinyjax._extensions.checkpointing.residuals import saved_residuals as saved_residuals
from tinyjax._extensions.checkpointing.transformation import checkpoint as checkpoint
from tinyjax._extensions.checkpointing.transformation import checkpoint_p as checkpoint_p
from tinyjax._extensions.checkpointing.transformation import remat as remat
from tinyjax.core.primitives.identities import checkpoint_name as checkpoint_name

__all__ = [
    'Policy',
    'Residual',
    'checkpoint',
    'checkpoint_name',
    'checkpoint_p',
    'print_saved_residuals',
    'remat',
    'saved_residuals',
]

# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.checkpointing.policies import Policy as Policy
from tinyjax.checkpointing.residuals import Residual as Residual
from tinyjax.checkpointing.residuals import print_saved_residuals as print_saved_residuals
from tinyjax.checkpointing.residuals import saved_residuals as saved_residuals
from tinyjax.checkpointing.transformation import checkpoint as checkpoint
from tinyjax.checkpointing.transformation import checkpoint_p as checkpoint_p
from tinyjax.checkpointing.transformation import remat as remat
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

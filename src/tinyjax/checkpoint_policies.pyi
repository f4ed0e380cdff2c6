# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.checkpointing.policies import SaveAndOffloadOnlyTheseNames as SaveAndOffloadOnlyTheseNames
from tinyjax._extensions.checkpointing.policies import SaveAnyNamesButThese as SaveAnyNamesButThese
from tinyjax._extensions.checkpointing.policies import SaveOnlyTheseNames as SaveOnlyTheseNames
from tinyjax._extensions.checkpointing.policies import checkpoint_dots as checkpoint_dots
from tinyjax._extensions.checkpointing.policies import checkpoint_dots_with_no_batch_dims as checkpoint_dots_with_no_batch_dims
from tinyjax._extensions.checkpointing.policies import dots_saveable as dots_saveable
from tinyjax._extensions.checkpointing.policies import dots_with_no_batch_dims_saveable as dots_with_no_batch_dims_saveable
from tinyjax._extensions.checkpointing.policies import everything_saveable as everything_saveable
from tinyjax._extensions.checkpointing.policies import nothing_saveable as nothing_saveable
from tinyjax._extensions.checkpointing.policies import offload_dot_with_no_batch_dims as offload_dot_with_no_batch_dims
from tinyjax._extensions.checkpointing.policies import save_and_offload_only_these_names as save_and_offload_only_these_names
from tinyjax._extensions.checkpointing.policies import save_any_names_but_these as save_any_names_but_these
from tinyjax._extensions.checkpointing.policies import save_anything_except_these_names as save_anything_except_these_names
from tinyjax._extensions.checkpointing.policies import save_from_both_policies as save_from_both_policies
from tinyjax._extensions.checkpointing.policies import save_only_these_names as save_only_these_names

__all__ = [
    'SaveAndOffloadOnlyTheseNames',
    'SaveAnyNamesButThese',
    'SaveOnlyTheseNames',
    'checkpoint_dots',
    'checkpoint_dots_with_no_batch_dims',
    'dots_saveable',
    'dots_with_no_batch_dims_saveable',
    'everything_saveable',
    'nothing_saveable',
    'offload_dot_with_no_batch_dims',
    'save_and_offload_only_these_names',
    'save_any_names_but_these',
    'save_anything_except_these_names',
    'save_from_both_policies',
    'save_only_these_names',
]

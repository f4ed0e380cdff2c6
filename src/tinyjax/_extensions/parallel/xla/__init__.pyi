# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.parallel.xla import lowering as lowering
from tinyjax._extensions.parallel.xla import moving as moving
from tinyjax._extensions.parallel.xla import plugins as plugins
from tinyjax._extensions.parallel.xla import sharded_executable as sharded_executable
from tinyjax._extensions.parallel.xla.lowering import lowered as lowered
from tinyjax._extensions.parallel.xla.plugins import load as load
from tinyjax._extensions.parallel.xla.sharded_executable import call_parts as call_parts
from tinyjax._extensions.parallel.xla.sharded_executable import compile_request as compile
from tinyjax._extensions.parallel.xla.sharded_executable import evaluate as evaluate
from tinyjax._extensions.parallel.xla.sharded_executable import flags_of as flags_for
from tinyjax._extensions.parallel.xla.sharded_executable import put_results as put_results
from tinyjax._extensions.parallel.xla.sharded_executable import run_sharded as run

__all__ = [
    'call_parts',
    'compile',
    'evaluate',
    'flags_for',
    'load',
    'lowered',
    'lowering',
    'moving',
    'plugins',
    'put_results',
    'run',
    'sharded_executable',
]

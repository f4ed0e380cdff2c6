# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.core.xla.backend import backend_of as backend_of
from tinyjax.core.xla.backend import has_started as has_started
from tinyjax.core.xla.backend import load as load
from tinyjax.core.xla.compilation import Compilation as Compilation
from tinyjax.core.xla.compilation import CompilerOptions as CompilerOptions
from tinyjax.core.xla.compilation import Flags as Flags
from tinyjax.core.xla.compilation import evaluation as evaluation
from tinyjax.core.xla.compilation import forget_programs as forget_programs
from tinyjax.core.xla.compilation import functions_in as functions_in
from tinyjax.core.xla.compilation import history as history
from tinyjax.core.xla.compilation import is_absent as is_absent
from tinyjax.core.xla.compilation import place as place
from tinyjax.core.xla.compilation import run as run
from tinyjax.core.xla.compilation import run_alone as run_alone
from tinyjax.core.xla.compilation import run_compiled as run_compiled
from tinyjax.core.xla.disk_cache import DiskCacheInfo as DiskCacheInfo
from tinyjax.core.xla.disk_cache import disk_cache_clear as disk_cache_clear
from tinyjax.core.xla.disk_cache import disk_cache_info as disk_cache_info
from tinyjax.core.xla.disk_cache import disk_cache_place as disk_cache_place
from tinyjax.core.xla.disk_cache import own_secret as own_secret
from tinyjax.core.xla.executable import CacheInfo as CacheInfo
from tinyjax.core.xla.executable import DeviceExecutable as DeviceExecutable
from tinyjax.core.xla.executable import Executable as Executable
from tinyjax.core.xla.executable import cache_clear as cache_clear
from tinyjax.core.xla.executable import cache_info as cache_info
from tinyjax.core.xla.executable import compile_all as compile_all
from tinyjax.core.xla.executable import compile_anew as compile_anew
from tinyjax.core.xla.executable import compiled as compiled
from tinyjax.core.xla.executable import executables_of as executables_of
from tinyjax.core.xla.executable import is_compiled as is_compiled
from tinyjax.core.xla.lowering import lowered as lowered
from tinyjax.core.xla.modules import parse as parse
from tinyjax.core.xla.modules import to_computation as to_computation
from tinyjax.core.xla.options import as_flags as as_flags
from tinyjax.core.xla.versions import COMPILER as COMPILER

__all__ = [
    'COMPILER',
    'CacheInfo',
    'Compilation',
    'CompilerOptions',
    'DeviceExecutable',
    'DiskCacheInfo',
    'Executable',
    'Flags',
    'as_flags',
    'backend_of',
    'cache_clear',
    'cache_info',
    'compile_all',
    'compile_anew',
    'compiled',
    'disk_cache_clear',
    'disk_cache_info',
    'disk_cache_place',
    'evaluation',
    'executables_of',
    'forget_programs',
    'functions_in',
    'has_started',
    'history',
    'is_absent',
    'is_compiled',
    'load',
    'lowered',
    'own_secret',
    'parse',
    'place',
    'run',
    'run_alone',
    'run_compiled',
    'to_computation',
]

# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.errors import CheckFailedError as JaxRuntimeError
from tinyjax.experimental.checkify.api import Error as Error
from tinyjax.experimental.checkify.api import all_checks as all_checks
from tinyjax.experimental.checkify.api import automatic_checks as automatic_checks
from tinyjax.experimental.checkify.api import check as check
from tinyjax.experimental.checkify.api import check_error as check_error
from tinyjax.experimental.checkify.api import checkify as checkify
from tinyjax.experimental.checkify.api import debug_check as debug_check
from tinyjax.experimental.checkify.api import div_checks as div_checks
from tinyjax.experimental.checkify.api import float_checks as float_checks
from tinyjax.experimental.checkify.api import index_checks as index_checks
from tinyjax.experimental.checkify.api import init_error as init_error
from tinyjax.experimental.checkify.api import nan_checks as nan_checks
from tinyjax.experimental.checkify.api import user_checks as user_checks
from tinyjax.experimental.checkify.discharge import Category as ErrorCategory

__all__ = [
    'Error',
    'ErrorCategory',
    'JaxRuntimeError',
    'all_checks',
    'automatic_checks',
    'check',
    'check_error',
    'checkify',
    'debug_check',
    'div_checks',
    'float_checks',
    'index_checks',
    'init_error',
    'nan_checks',
    'user_checks',
]

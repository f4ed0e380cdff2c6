# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.callbacks.checks import error_if as error_if
from tinyjax._extensions.callbacks.checks import error_if_p as error_if_p
from tinyjax._extensions.callbacks.effects import debug_callback as debug_callback
from tinyjax._extensions.callbacks.effects import debug_callback_p as debug_callback_p
from tinyjax._extensions.callbacks.effects import io_callback as io_callback
from tinyjax._extensions.callbacks.effects import io_callback_p as io_callback_p
from tinyjax._extensions.callbacks.pure import pure_callback as pure_callback
from tinyjax._extensions.callbacks.pure import pure_callback_p as pure_callback_p

__all__ = [
    'debug_callback',
    'debug_callback_p',
    'error_if',
    'error_if_p',
    'io_callback',
    'io_callback_p',
    'pure_callback',
    'pure_callback_p',
]

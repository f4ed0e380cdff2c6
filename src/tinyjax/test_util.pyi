# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.testing.derivatives import DerivativeMismatchError as DerivativeMismatchError
from tinyjax.testing.derivatives import check_grads as check_grads
from tinyjax.testing.derivatives import check_jvp as check_jvp
from tinyjax.testing.derivatives import check_vjp as check_vjp

__all__ = [
    'DerivativeMismatchError',
    'check_grads',
    'check_jvp',
    'check_vjp',
]

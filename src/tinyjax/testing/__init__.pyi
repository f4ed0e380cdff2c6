# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.testing import strategies as strategies
from tinyjax.testing.libraries import check_library as check_library
from tinyjax.testing.primitives import Report as Report
from tinyjax.testing.primitives import check_function as check_function
from tinyjax.testing.primitives import check_primitive as check_primitive
from tinyjax.testing.primitives import check_transform as check_transform
from tinyjax.testing.specs import ArraySpec as ArraySpec
from tinyjax.testing.specs import Case as Case
from tinyjax.testing.specs import CheckError as CheckError
from tinyjax.testing.specs import KINDS as KINDS
from tinyjax.testing.specs import Spec as Spec
from tinyjax.testing.specs import compare as compare

__all__ = [
    'ArraySpec',
    'Case',
    'CheckError',
    'KINDS',
    'Report',
    'Spec',
    'check_function',
    'check_library',
    'check_primitive',
    'check_transform',
    'compare',
    'strategies',
]

"""Linear algebra by SciPy's names: factors used several times, matrix functions, special matrices.

Matrices may come in stacks: the axes before the last two are the batch's. As in
``tinyjax.numpy.linalg``, results are NaN where there are none. ``overwrite_a``, ``overwrite_b`` and
``check_finite`` are taken for the sake of programs that give them: arrays are immutable, and
nothing is checked.
"""

from __future__ import annotations

from tinyjax.scipy.linalg import factors, forms, functions, special_matrices
from tinyjax.scipy.linalg.factors import *
from tinyjax.scipy.linalg.forms import *
from tinyjax.scipy.linalg.functions import *
from tinyjax.scipy.linalg.special_matrices import *

__all__: list[str] = []
__all__ += factors.__all__
__all__ += forms.__all__
__all__ += functions.__all__
__all__ += special_matrices.__all__

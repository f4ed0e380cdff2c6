"""Special functions, with broadcasting and promotion; integers become floats.

Results are NaN outside a function's domain. All have derivatives, of any order, unless said.
"""

from __future__ import annotations

from tinyjax.scipy.special import basic, bessel, gammas, hypergeometric, integrals
from tinyjax.scipy.special.basic import *
from tinyjax.scipy.special.bessel import *
from tinyjax.scipy.special.gammas import *
from tinyjax.scipy.special.hypergeometric import *
from tinyjax.scipy.special.integrals import *

__all__: list[str] = []
__all__ += basic.__all__
__all__ += bessel.__all__
__all__ += gammas.__all__
__all__ += hypergeometric.__all__
__all__ += integrals.__all__

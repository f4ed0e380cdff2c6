"""The numbers of ``tinyjax.numpy``, and the version of the standard that it follows."""

from __future__ import annotations

import math
from typing import Final

pi: float = math.pi
e: float = math.e
inf: float = math.inf
nan: float = math.nan
euler_gamma: float = 0.57721566490153286061
newaxis = None
__array_api_version__: Final = "2025.12"

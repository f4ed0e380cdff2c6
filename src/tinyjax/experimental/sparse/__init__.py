"""Sparse arrays: ``BCOO``, by coordinates, and ``BCSR``, by rows.

They are trees of dense arrays, so that they go through ``jit``, ``vmap`` (over the data) and
derivatives. Their methods and operators are all that takes them: functions of ``tinyjax.numpy`` do
not, and there is no ``sparsify``. All axes are sparse: there are no batch axes and no dense ones.
"""

from __future__ import annotations

from tinyjax.experimental.sparse.base import JAXSparse
from tinyjax.experimental.sparse.bcoo import BCOO
from tinyjax.experimental.sparse.bcsr import BCSR
from tinyjax.experimental.sparse.transformations import empty, eye, grad, todense, value_and_grad

__all__ = ["BCOO", "BCSR", "JAXSparse", "empty", "eye", "grad", "todense", "value_and_grad"]

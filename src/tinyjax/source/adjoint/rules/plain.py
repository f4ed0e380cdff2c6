"""Functions without derivatives: of the language, of ``operator`` and of ``math``."""

from __future__ import annotations

import math
import operator

from tinyjax.source.adjoint import cotangents as ct
from tinyjax.source.adjoint.rules.registry import inert
from tinyjax.source.ir import origins, runtime

inert.update(
    (len, range, isinstance, issubclass, int, bool, str, repr, format, type, id, callable, hasattr,
     print, ascii, chr, ord, any, all, hash, slice, round, bin, hex, oct,
     operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.is_,
     operator.is_not, operator.not_, operator.floordiv, operator.invert, operator.lshift,
     operator.rshift, operator.and_, operator.xor,
     runtime.contains, runtime.lacks, runtime.formatted, runtime.text, runtime.thrown,
     runtime.global_value, runtime.leave, AssertionError, ValueError, TypeError,
     ZeroDivisionError, ArithmeticError, RuntimeError, IndexError, KeyError, OverflowError,
     NotImplementedError, StopIteration, Exception,
     math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose,
     math.factorial, math.comb, math.perm, math.gcd, math.lcm, math.isqrt, math.ulp,
     ct.is_complex, ct.is_record, ct.one_like, origins.program_location, origins.refusal)
)  # fmt: skip

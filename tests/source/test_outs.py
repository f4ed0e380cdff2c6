"""Universal functions with ``out`` and ``where``, and masked arrays, in every entry of tinyjax.

Operands and results are data, traced, or were data until something traced was written there. Each
program is right, or refused.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import entries
import pytest
from capturing.misleading import IMPORTS

pytestmark = [
    pytest.mark.usefixtures("double_precision"),
    pytest.mark.filterwarnings("ignore"),
]

#: Calls that write to ``p``, ``q`` or ``k`` what they compute of ``A`` and ``B``.
OUTS: Final = """
np.divmod(A, B, p, q)
np.divmod(A, B, out=(p, q))
np.divmod(A, B, out=(None, q)); p[1] = s
np.divmod(A, B, p)
np.modf(A, p, q)
np.modf(A, out=(p, None))
np.frexp(A, p, k)
np.divmod(A, B, out=(p, q), where=M)
np.modf(A, out=(p, q), where=M)
np.modf(A, out=(None, q), where=M)
np.add(A, B, out=p, where=M)
np.add(A, 1, p, where=M[0])
np.add(A[0], B[0], out=p[0], where=M[0])
np.add(A[0], B[0], out=p, where=M)
np.multiply(A, B, out=p.T, where=M.T)
np.sqrt(A, out=p[::-1], where=M)
np.greater(A, B, out=p, casting='unsafe')
np.add(A, B, out=k, casting='unsafe')
np.add.reduce(A, out=p[0])
np.add.reduce(A, 1, out=p[:, 0])
np.add.reduce(A, where=M, out=p[0])
np.add.reduce(A, where=M[0], out=p[0])
np.add.reduce(A, 1, where=M[0], out=p[:, 0])
np.sum(A, 0, where=M, out=p[1])
np.sum(A, 0, where=M[1], out=p[1])
np.max(A, 0, where=M[1], initial=0.5, out=p[1])
A.sum(0, out=p[1], where=M[1])
A.mean(0, out=p[1], where=M)
np.mean(A, 0, out=p[1])
np.std(A, 0, out=p[1])
np.add.accumulate(A, 0, out=p)
np.cumsum(A, 0, out=p)
np.add.outer(A[0], B[0], out=p)
np.add.reduceat(A, [0, 1, 0, 1], 0, out=p)
np.matmul(A, B, out=p)
np.dot(A, B, out=p)
np.einsum('ij,jk', A, B, out=p)
np.clip(A, 0.2, 0.7, out=p)
np.round(A, 1, out=p)
np.take(A, [1, 0, 1, 0], 0, out=p)
np.concatenate([A[:2], B[2:]], out=p)
np.stack([A[0]] * 4, out=p)
np.median(A, 0, out=p[0])
np.quantile(A, 0.3, 0, out=p[0])
np.choose([0, 1, 0, 1], [A, B], out=p)
np.compress([1, 1, 1, 1], A, 0, out=p)
np.copyto(p, A, where=M)
np.copyto(p, A[0], where=M)
np.nan_to_num(p, copy=False)
np.logical_and(A > 1, B > 1, out=k > 5)
np.multiply(A, s, out=k, casting='unsafe')
np.add(k, s, out=p)
np.floor_divide(A, s, out=p)
np.outer(A[0], B[0], out=p)
np.maximum.reduce(A, 0, out=p[2])
np.logaddexp.reduce(A, 0, out=p[2])
np.var(A, axis=1, out=p[:, 1], where=M)
np.cumprod(A, 1, out=p.T)
np.trace(A, out=p[0, 0:1].reshape(()))
np.add(A, B, p); np.subtract(p, A, p)
"""
#: What the operands are, and how often the call is made.
OPERANDS: Final = """
A, B = D, np.ones((4, 4)) * 0.3; CALL
A, B = D, np.outer(x, x) + 0.1; CALL
A, B = np.outer(x, x), 0.3 * np.ones((4, 4)); CALL
A, B = D, np.ones((4, 4)) * 0.3; p[0, 0] = s; q[:] = s; CALL; CALL
A, B = p, p + 0.2; p[:] = np.outer(x, x[::-1]); CALL
A, B = p, p + 0.2; p[:] = D; q[0] = s; CALL
"""
OUT_PROGRAM: Final = """
D = np.arange(16.0).reshape(4, 4) / 7
M = np.array([[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 0, 0]], bool)

def f(x):
    p, q, k = np.full((4, 4), 0.3), np.full((4, 4), 0.7), np.full((4, 4), 2)
    s = x[0] * 1.0
{}
    return np.sum(np.sin(p) * x[::-1]) + np.sum(np.cos(q) * x) + np.sum(k * x)
"""
#: Masked arrays of an array ``a`` and of data.
MASKED: Final = """
q = np.ma.masked_array(a, [0, 1, 0, 0]); s = q.mean()
q = np.ma.masked_array(a, [0, 0, 0, 0]); s = q.mean() + (q * s).sum()
q = np.ma.masked_array(a, a > 9); q[0] = s; s = a[0] * 2
q = np.ma.MaskedArray(a, False, float, True); q[0] = 5.0; s = q.sum()
q = np.ma.array(a, copy=True); q[0] = 5.0; s = q.sum()
q = np.ma.array(a, float, True); q[0] = 5.0; s = q.sum()
q = np.ma.array(a, None, False, None, [0, 1, 0, 0]); s = q.sum()
q = np.ma.array(a, None, False, None, [0, 0, 0, 0]); s = q.sum()
q = np.ma.array(a, None, False, None, a > 9, 7.0); s = q.sum()
q = np.ma.array(a, ndmin=2); s = q.shape[0] * q.sum() + q.ndim
q = np.ma.array(a); q[1] = s; s = a[1] * 3
q = np.ma.array([s, a[0], 2.0]); q[1] *= 2; s = q.sum()
q = np.ma.array([s, a[0], 2.0], mask=[0, 0, 0]); s = q.sum() * q[0]
q = np.ma.array(np.ones(4), mask=[0, 1, 0, 0]); s = s * q.sum()
q = np.ma.array(np.ones(4), mask=[0, 1, 0, 0]) * a; s = q.sum()
q = np.ma.masked_array(np.ones(4), [0, 1, 0, 0]); s = s * q.sum()
q = np.ma.masked_array(np.ones(4), a > 0.6); s = s * q.sum()
q = np.ma.array(np.ones(4), None, True, None, [0, 1, 0, 0]); s = s * q.sum()
q = np.ma.asarray(a); q[1] = s; s = a[1] * 3
q = np.ma.asanyarray(a, float, 'F'); q[1] = s; s = a[1] * 3
q = np.ma.array(a, dtype=np.float32); q[1] = s; s = a[1] * 3 + q[0] * 0
q = np.ma.array(a, hard_mask=True, fill_value=3.0); s = q.filled().sum()
q = np.ma.zeros(4); q[:] = a; s = q.sum()
q = np.ma.empty_like(a); q[:] = a; s = q.sum()
q = np.ma.concatenate([a, a]); s = q.sum()
q = np.ma.where(a > 0.5, a, 0.0); s = q.sum()
q = np.ma.average(a, weights=x); s = s * q
q = np.ma.masked_where(a > 9, a); s = q.sum()
q = np.ma.masked_where(a > 0.6, a); s = q.sum()
q = np.ma.masked_equal(a, 9); s = q.sum()
q = np.ma.masked_invalid(a); s = q.sum() + q.std()
q = np.ma.fix_invalid(a); s = q.sum()
q = np.ma.masked_inside(a, 0.4, 0.6); s = q.sum()
q = np.ma.array(a); q[a > 0.6] = np.ma.masked; s = q.sum()
q = np.ma.array(a); q.mask = [0, 1, 0, 0]; s = q.sum()
q = np.ma.array(a); q[1] = np.ma.masked; s = q.sum()
q = np.ma.array(x, mask=[0, 0, 0, 0]); q[0] = 7.0; s = x[0] * a[1]
"""
MASKED_CONTEXTS: Final = """
CALL
b = a; CALL; b[1] += 0.3
s = a[0]; if x[0] > 0.5: (: CALL :)
"""
MASKED_PROGRAM: Final = """
def f(x):
    a = x * 1.0
    s = x[0] * 1.0
{}
    return np.sum(np.sin(a) * x[::-1]) + s
"""


def laid_out(statements: str) -> str:
    """Return statements on lines of their own; ``(:`` and ``:)`` are around those of a block."""
    lines, depth = [], 1
    for part in statements.replace(" (: ", "; (:; ").replace(" :)", "; :)").split("; "):
        depth += (part == "(:") - (part == ":)")
        if part not in ("(:", ":)"):
            lines.append("    " * depth + part)
    return "\n".join(lines)


def check(text: str, folder: Path) -> None:
    entries.check(f"{IMPORTS}\n\n{text}", folder)


def programs(template: str, contexts: str, call: str) -> Iterator[str]:
    """Yield programs of a call in each context."""
    for context in contexts.strip().splitlines():
        yield template.format(laid_out(context.replace("CALL", call)))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("call", OUTS.strip().splitlines())
def test_results_written_where_out_says(call: str, tmp_path: Path) -> None:
    for text in programs(OUT_PROGRAM, OPERANDS, call):
        check(text, tmp_path)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("call", MASKED.strip().splitlines())
def test_masked_arrays(call: str, tmp_path: Path) -> None:
    for text in programs(MASKED_PROGRAM, MASKED_CONTEXTS, call):
        check(text, tmp_path)

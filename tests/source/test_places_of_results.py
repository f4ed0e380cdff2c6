"""Results that have other axes than the places which they are written to, and two such places.

NumPy takes some of these programs, and raises in others. Every entry does what it does.
"""

from pathlib import Path
from typing import Final

import entries
import numpy as np
import pytest

HEAD: Final = """
import numpy as np

def f(x):
    a = x * 1.0
    b = x.reshape(2, 2) * 1.0
    w = x.reshape(1, 4)
    o = np.ones((1, 1, 4))
    {statement}
    return np.sum(a * x) + np.sum(b ** 2)
"""
#: Values with more axes than their places.
AXES: Final = """
a += w | a *= o | a -= np.ones((1,4)) | a[...] = w | a[:] = o | a[1:] = w[:, 1:]
a[[0,1]] = w[:, :2] | a[x > 0.5] = np.ones((1, 1)) | b += x.reshape(1,2,2)
b[0] = x.reshape(1,4)[:, :2] | b[0, 0] = x[:1] | b[0, 0] = x[:1].reshape(1,1) | a[0] = x[1:2]
a[0] = w[:, 1:2] | a[0] += x[1:2] | a[0] += w[:, :1] | b[0] += w[:, :2] | np.copyto(a, w)
a.fill(x[:1]) | np.add(a, x, out=b) | np.add(a, w, out=a) | np.sin(w, out=a)
np.sum(x.reshape(1,2,2), 1, out=a[:2]) | a[a > 0] *= w[:, :4] | a.flat = w | a.flat[:] = w
a.flat[[0,1]] = w[:, :2] | np.put(a, [0,1], w[:, :2]) | np.place(a, a > 0, w)
np.putmask(a, a > 0, w) | a[::2] = np.ones((1, 2)) | a[None] = w | a[None] += w
a[0:1] = np.float64(3) | a[:] = [[1.0, 2.0, 3.0, 4.0]] | a += [[1.0, 2.0, 3.0, 4.0]]
a[:2] = [x[:2]] | a[:2] = [[x[0], x[1]]] | a[0] = [x[1]] | a[0] = [[x[1]]] | a = a + 0; a **= w
b @= x.reshape(1,2,2) | b @= x.reshape(2,2) | b.T[...] = x.reshape(1,2,2) | b[:, 0] = w[:, :2]
b[[0,1],[1,0]] = w[:, :2] | b[[0,1],[1,0]] += w[:, :2]
b[np.ix_([0,1],[0])] = x.reshape(1,2,2)[..., :1] | a.put([0], w[:, :1])
np.clip(w, 0, 1, out=a) | w.clip(0, 1, out=a) | np.cumsum(w, 1, out=a)
np.take(w, [0,1,2,3], 1, out=a) | np.dot(w, b.repeat(2, 0).repeat(2,1)[:4,:4], out=a)
np.matmul(w, np.eye(4), out=a) | np.einsum("ij->ij", w, out=a) | np.concatenate([w], out=a)
np.stack([x], out=a) | np.where(w > 0, w, 0); a[...] = np.where(w > 0, w, 0)
np.add.at(a, [0, 1], w[:, :2]) | np.add.at(a, [0], w[:, :1]) | np.fill_diagonal(b, w)
np.put_along_axis(b, np.array([[0],[1]]), x.reshape(1,2,2)[:, :, :1], 1) | np.multiply(w, w, a)
np.negative(o, a) | np.round(w, 1, out=a) | np.sum(w, 0, out=a)
np.sum(w, 0, keepdims=True, out=a) | np.mean(o, (0, 1), keepdims=True, out=a)
np.maximum.reduce(w, axis=0, keepdims=True, out=a) | b[...] = x[:2] | a[...] = x[:1]
a[...] = x[0] | a[1] = np.array([x[0]]) | a[...] = np.array(3.0) | a[:0] = w[:, :0]
a[:0] += w[:, :0] | a[0:1] = o[..., :1]
"""
#: Where results are to be written is said twice, or there are too many arguments.
TWICE: Final = """
np.sqrt(x, b.reshape(4), out=a) | np.add(x, x, b.reshape(4), out=a)
np.sum(b, 0, None, b[0], out=a[:2]) | np.add(x, x, a, b) | np.sin(x, a, b)
np.divmod(x, 2, a, b.reshape(4), a) | np.divmod(x, 2, a, out=(a, b)) | np.modf(x, a, out=(a, a))
np.modf(x, a) | np.clip(x, 0, 1, a, out=a) | x.clip(0, 1, a, out=a)
x.sum(0, None, a[0:1].reshape(()), out=a[0:1].reshape(())) | np.dot(b, b, b, out=b)
np.cumsum(x, 0, None, a, out=a) | np.take(x, [0,1,2,3], 0, a, out=a) | np.round(x, 1, a, out=a)
np.add.reduce(b, 0, None, a[:2], out=a[:2]) | np.add.accumulate(x, 0, None, a, out=a)
np.sum(b, 0, None, a[:2]) | np.add(x, x, out=a, where=x > 0.5, dtype=float)
np.add(x, x, out=None) | np.add(x, x, None) | np.add(x, x, None, out=a)
np.sqrt(x, None, out=a) | np.sum(b, 0, None, None, out=a[:2])
np.sum(b, axis=0, out=a[:2], dtype=float) | np.matmul(b, b, b * 1, out=b)
np.mean(b, 0, None, a[:2], out=a[:2]) | np.std(b, 0, None, a[:2], out=a[:2])
np.fft.fft(x, 4, 0, None, a, a) | b.dot(b, b, out=b) | np.concatenate([x], 0, a, out=a)
np.maximum(x, x, a, a) | a.max(0, None, False, 0.0, True, 3)
"""


def statements() -> list[str]:
    lines = (AXES + TWICE).split("\n")
    return [statement for line in lines if line for statement in line.split(" | ")]


def check_statement(statement: str, folder: Path) -> None:
    entries.check(HEAD.format(statement=statement), folder)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", range(4))
def test_some_results_go_where_numpy_writes_them(share: int, tmp_path: Path) -> None:
    for statement in np.random.default_rng(share).choice(statements(), 6, replace=False):
        check_statement(statement, tmp_path)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("statement", statements())
def test_all_results_go_where_numpy_writes_them(statement: str, tmp_path: Path) -> None:
    check_statement(statement, tmp_path)

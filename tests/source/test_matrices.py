"""Parts of matrices: what NumPy shares is shared, also where only the trace knows the part.

Programs take a part of an array, change the part or the array, and read both; captured, staged and
read, with and without a decision, batched and differentiated.
"""

import copy
import functools
import itertools
import operator
import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest
from random_programs import compiled

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

pytestmark = [
    pytest.mark.usefixtures("double_precision"),
    pytest.mark.filterwarnings("ignore"),
]

PARTS: Final = """
a[i]
a[i, :]
a[:, i]
a[i, 0:2]
a[i, ::-1]
a[..., i]
a[i, ...]
a[None, i]
a[:, i, None]
a[i, k, ...]
a[i][k:]
a[-1 - i]
a.T[i]
a.T[:, i]
a[::-1][i]
a[1:][i % 2]
a[0:2, i]
a[::2, i]
a[i].T
a[i].ravel()
a[:, i].ravel()
a[i].reshape(3, 1)
a[i:i + 1]
a[i][None]
a[i].view()
a.real[i]
c[i].real
c.imag[i]
c.real[:, i]
np.squeeze(a[i])
np.asarray(a[i])
np.atleast_2d(a[i])
np.split(a[i], [1])[1]
np.swapaxes(a, 0, 1)[i]
np.asfortranarray(a)[i]
np.broadcast_to(a, (3, 3))[i]
cube[i]
cube[:, i]
cube[:, i].ravel()
cube[:, :, i]
cube[:, :, i].reshape(-1)
cube[i, :, k]
cube[i][:, k]
cube[i][k]
cube[i].T
cube[i].T.ravel()
cube[i].reshape(3, 3)[k]
cube[k][i, 0:2]
a[np.array(i)]
a[[i]]
a[[i, k]]
a[i, [0, 2]]
a[i].copy()
a[i] + 0
np.take(a, i, 0)
a.take(i, 1)
[*a][int(i)]
list(a)[i]
(a, a.T)[i % 2][k]
next(row for j, row in enumerate(a) if j == i)
a[i.astype(int)]
a[np.int64(i)]
a[int(i)]
a[i, np.int64(k)]
a.diagonal()[i:]
np.ascontiguousarray(a[:, i])
"""
#: The rows of an array, and arrays, that are handed on.
ROWS: Final = """
list(a)[1]
[*a][1]
tuple(a)[1]
list(reversed(a))[0]
list(zip(a, a))[1][0]
list(zip(a, [a, a, a]))[1][1]
list(enumerate(a))[1][1]
list(map(np.asarray, a))[1]
list(filter(lambda r: True, a))[1]
sorted(a, key=lambda r: 0)[0]
[r for r in a][1]
[r for r in a][i]
{j: r for j, r in enumerate(a)}[1]
{0: a, 1: a.T}.get(i * 0)
[a, a][i % 2]
dict(enumerate(a))[1]
next(iter(a))
next(r for r in a)
max(a, key=lambda r: r[0])
min(list(a), key=lambda r: 0)
list(a[::-1])[i]
np.split(a, 3)[i]
np.array_split(a, 2)[0]
list({0: a}.values())[0]
dict(zip([0, 1, 2], a))[1]
dict(zip([0, 1, 2], a))[i]
(lambda q, *rest: q)(*a)
(lambda *rest: rest)(*a)[1]
operator.itemgetter(1)(a)
operator.itemgetter(1)(list(a))
list(itertools.chain(a, a))[1]
list(itertools.islice(a, 2))[1]
list(itertools.accumulate(a))[0]
list(itertools.zip_longest(a, a))[0][0]
functools.reduce(lambda p, q: p, a)
[p + q for p, q in zip(a, a)][0]
np.vsplit(a, 3)[1][0]
np.broadcast_arrays(a, a)[0][1]
copy.copy([a])[0]
copy.deepcopy([a])[0]
sum([[a]], [])[0]
sum([[r] for r in a], [])[1]
([a] * 2)[1]
"""
#: What functions, methods and attributes give of an array.
RESULTS: Final = """
np.require(a)
np.require(a, requirements="W")
np.require(a, requirements="F")
np.require(a[::2])
np.asarray_chkfinite(a)
np.asmatrix(a)
np.meshgrid(a[0], a[1], copy=False)[0]
np.meshgrid(a[0], a[1], copy=False, sparse=True)[0]
np.meshgrid(a[0], a[1])[0]
np.real_if_close(a)
np.polyder(a[0], 0)
np.polyint(a[0], 0)
np.fft.fft2(a).real
np.frombuffer(a)
np.fromfunction(lambda i, j: a, (3, 2))
np.row_stack([a])
np.einsum("ij->ji", a)
np.einsum("ij", a)
np.einsum("ii->i", a[:2])
np.einsum("ij->", a) * a
np.nan_to_num(a, copy=False)
np.array(a, copy=None)
np.array(a, copy=False, ndmin=3)
np.array(a, subok=True)
np.asfortranarray(a.T)
np.lib.stride_tricks.as_strided(a, (2, 2), (24, 8))
np.lib.stride_tricks.sliding_window_view(a, (2, 2), writeable=True)
np.broadcast_arrays(a, a)[1]
np.broadcast_to(a, (2, 3, 2))
np.trim_zeros(a[0])
np.atleast_3d(a)
np.unstack(a)[1]
np.vectorize(lambda r: r, signature="(n)->(n)")(a)
np.piecewise(a, [a > 1], [lambda r: r, 0])
np.select([a > 9], [a], a)
np.choose(0, [a, a])
np.nditer(a, op_flags=["readwrite"]).operands[0]
next(np.nditer(a, flags=["external_loop"], op_flags=["readwrite"]))
np.ndarray(a.shape, a.dtype, a)
np.ndarray.view(a)
np.ndarray.__getitem__(a, 1)
a.__getitem__(1)
a.view(np.ndarray)
a.view("f8")
a.view("c16").real
a.view("f4")
a.astype(float, copy=False)
a.__array__()
np.array(memoryview(a))
np.asarray(memoryview(a))
a.swapaxes(0, 1)
a.newbyteorder() if hasattr(a, "newbyteorder") else a
a.byteswap().byteswap()
a.getfield("f8")
np.rec.array(a)
np.ma.asarray(a).data
np.ma.getdata(a)
np.poly1d(a[0]).coef
np.polynomial.Polynomial(a[0]).coef
np.polynomial.polynomial.polyadd(a[0], [0.0])
np.polynomial.polyutils.trimseq(a[0])
np.polynomial.polyutils.as_series([a[0]])[0]
np.matrix(a, copy=False)
np.bmat([[a]])
np.r_[a]
np.c_[a]
np.s_[1:] and a[np.s_[1:]]
np.index_exp[1] and a[np.index_exp[1]]
np.ix_([0, 1], [0]) and a[np.ix_([0, 1], [0])]
np.array_split(a, 2)[1]
np.tril(a)
np.diag(a[:2])
np.diagonal(a)
np.fill_diagonal(a, 9.0) or a
np.copyto(a[0], 1.0) or a
np.put(a, [0], 4.0) or a
np.linalg.matrix_transpose(a)
np.linalg.diagonal(a)
np.permute_dims(a, (1, 0))
np.concatenate([a], axis=None)
np.take(a, [0], axis=0, out=a[2:3])
np.add(a, 1, out=a[...])
np.ravel(a)
a.flat
a.base if a.base is not None else a
"""
LOOPS: Final = """
r = x[0] * 1.0; j = 0; while j < k: (: r = a[j]; j += 1 :)
r = x[0] * 1.0; j = 0; while a[j, 0] < 1: (: r = a[j]; j += 1 :)
r = x[0] * 1.0; for j in range(k): (: r = a[j] :)
r = x[0] * 1.0; for j in range(3): (: r = a[j] :)
r = x[0] * 1.0; for q in a: (: r = q :)
r = x[0] * 1.0; for q in a: (: r = q if q[0] > 0.5 else r :)
r = x[0] * 1.0; b = a[1]; for j in range(k): (: r, b = b, r :)
r = x[0] * 1.0; for j in range(k): (: CHANGE; r = a[j] :)
r = x[0] * 1.0; for j in range(3): (: CHANGE; r = a[j] :)
r = x[0] * 1.0; for q in a: (: CHANGE; r = q :)
r = x[0] * 1.0; b = x[1] * 1.0; j = 0; while j < k: (: r = b; b = a[j]; j += 1 :)
r = x[0] * 1.0; for j in range(k): (: r = [q for q in a][j] :)
c = [x[0] * 1.0]; j = 0; while j < k: (: c = [a[j]]; j += 1 :); r = c[0]
c = (x[0] * 1.0, 0.0); j = 0; while j < k: (: c = (a[j], 1.0); j += 1 :); r = c[0]
r = a[1] if x[0, 1] > 0 else x[0] * 1.0
r = x[0] * 1.0; if x[0, 1] > 0: (: r = a[1] :)
r = a[0]; if x[0, 1] > 0: (: r = r[::-1] :)
"""
CHANGES: Final = """
r += 1.5
r *= 2
r[...] = 3 * x[0, 0]
r[0] = 5.0
r[..., -1] = x[0, 1]
r[r > 0.5] = 0.25
r.fill(0.75)
r.sort()
np.add(r, 1, out=r)
np.copyto(r, 4.0)
q = r[..., 0:1]; q += 2
r.flat[0] = 2.0
r.T[...] = r.T * r.T
a *= 3
a[i] += 1
a[i][k] *= x[1, 1]
a[k, i] = 2.0
a[0] = a[1] * 1.0
c += 1
cube[k] = 0.5
cube *= a
r[..., i % r.shape[-1]] = 6.0
a[:, k] = np.sin(a[:, k]); r -= 1
"""
TEMPLATE: Final = """
def program(x):
    a = x * 1.0
    c = x + 1j
    cube = np.stack([x, 2 * x, x * x])
    i = np.argmax(x[:, 0])
    k = np.argmin(x[0])
{before}
{part}
    {change}
    total = (a * W).sum() + np.sum(np.cos(np.asarray(r))) + (c.real * W).sum() + (c.imag * W).sum()
    return total + (cube * W * A3).sum()
"""
POINT: Final = np.array([[0.3, 0.9, 0.7], [1.1, 0.2, 0.4], [0.8, 0.6, 1.3]])
OTHER: Final = POINT[::-1, ::-1] + 0.05
NAMES: Final[dict[str, Any]] = {
    **{m.__name__: m for m in (copy, functools, itertools, operator)},
    "np": np,
    "W": np.arange(1.0, 10.0).reshape(3, 3),
    "A3": np.arange(1.0, 4.0)[:, None, None],
}
BEFORE: Final = ("    pass", "    if x[0, 0] > -9:\n        a = a + 0.0")
ALONG: Final = np.cos(1.3 * np.arange(9.0)).reshape(3, 3)


def statements(text: str) -> list[str]:
    return text.strip().splitlines()


def check(text: str) -> tuple[str, ...]:
    """Compare a program with NumPy and differences; return the modes that refuse it."""
    program = compiled(text, **NAMES)
    try:
        values = [program(point.copy()) for point in (POINT, OTHER)]
    except (ValueError, IndexError, TypeError, AttributeError):  # NumPy refuses it
        return ()
    step = 1e-5
    slopes = [
        (program(point + step * ALONG) - program(point - step * ALONG)) / (2 * step)
        for point in (POINT, OTHER)
    ]
    captured = source.capture(program)
    refused = []

    def batched(fun: Any) -> Any:
        return tinyjax.vmap(fun)(np.stack([POINT, OTHER]))

    def slope_of(gradients: Any) -> Any:
        return np.tensordot(np.asarray(gradients), ALONG, 2)

    jitted = tinyjax.jit(tinyjax.grad(captured))
    for name, run, expected in (
        ("jit", lambda: [tinyjax.jit(captured)(p.copy()) for p in (POINT, OTHER)], values),
        ("gradient", lambda: slope_of([jitted(p.copy()) for p in (POINT, OTHER)]), slopes),
        ("vmap", lambda: batched(captured), values),
        ("gradients", lambda: slope_of(batched(tinyjax.grad(captured))), slopes),
        ("read", lambda: slope_of([source.grad(program)(POINT)] * 2), slopes[:1] * 2),
        ("staged", lambda: tinyjax.jit(program, control_flow="source")(POINT), values[0]),
    ):
        try:
            actual = run()
        except TinyjaxError:
            refused.append(name)
        else:
            np.testing.assert_allclose(actual, expected, 1e-6, 1e-6, err_msg=f"{name}\n{text}")
    return tuple(refused)


def laid_out(statements: str) -> str:
    """Return statements on lines of their own; ``(:`` and ``:)`` are around those of a block."""
    lines, depth = [], 1
    for token in re.split(r"(; | \(: | :\))", statements):
        depth += (token == " (: ") - (token == " :)")
        if token not in ("", "; ", " (: ", " :)"):
            lines.append("    " * depth + token.strip())
    return "\n".join(lines)


def programs(part: str) -> Iterator[str]:
    """Yield programs that take a part of an array, and change it or the array."""
    for change in statements(CHANGES):
        for before in BEFORE:
            lines = laid_out(part.replace("CHANGE", change))
            after = "pass" if "CHANGE" in part else change
            yield TEMPLATE.format(before=before, part=lines, change=after)


@pytest.mark.sampled(60)
@pytest.mark.parametrize("part", [x for text in (PARTS, ROWS, RESULTS) for x in statements(text)])
def test_parts_that_are_changed(part: str) -> None:
    for text in programs(f"r = {part}"):
        check(text)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("part", statements(LOOPS))
def test_parts_that_loops_and_branches_choose(part: str) -> None:
    for text in programs(part):
        check(text)

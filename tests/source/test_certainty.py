"""Programs that change arrays: read where it is certain what shares memory, captured elsewhere."""

import functools
import itertools
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from capturing.drawing import PREAMBLE, Program
from capturing.drawn import load, outcomes

import tinyjax
from raising import raises
from tinyjax import source
from tinyjax.errors import DifferentiationError, TinyjaxError

pytestmark = pytest.mark.usefixtures("double_precision")

Function = Callable[[Any], Any]
POINT: Final = np.array([0.7, -1.3, 0.4, 1.1])
ALONG: Final = np.cos(1.3 * np.arange(4) + 0.2)
PROGRAMS: Final[list[Function]] = []


def program(fun: Function) -> Function:
    """Add a program of an array."""
    PROGRAMS.append(fun)
    return fun


@program
def new_axis(x: Any) -> Any:
    a = x * x
    c = a[:, None]
    c[1, 0] = x[0] ** 3
    return np.sum(a)


@program
def flattened(x: Any) -> Any:
    a = x * x
    r = a.flatten()
    r[0] = 100.0
    return np.sum(a) * r[1]


@program
def transposed_and_flat(x: Any) -> Any:
    a = np.outer(x, x)
    r = a.T.ravel()
    r[1] = 100.0
    return np.sum(a) + r[2]


@program
def flat_in_another_order(x: Any) -> Any:
    a = np.outer(x, x)
    r, s, t = a.ravel("F"), np.ravel(a, "F"), a.reshape(-1, order="F")
    a[0, 1] = x[2] ** 3
    return np.sum(r * s * t * np.arange(16.0)) + np.sum(a)


@program
def more_axes_of_one(x: Any) -> Any:
    u = x * x
    u[1:] = (x[0:1] * 3).reshape(1, 1)
    return np.sum(u)


@program
def enumerated_from_one(x: Any) -> Any:
    u = np.zeros(4)
    for i, p in enumerate(x[::-1], 1):
        u[i - 1] += p * p
    return np.sum(u * u)


@program
def enumerated_by_name(x: Any) -> Any:
    s = 0.0
    for i, a in enumerate(x, start=2):
        s += a * i
    return s


@program
def item_after_the_loop(x: Any) -> Any:
    y = 0.0
    for i in range(3):
        y = x[i] ** 2
    return y + x[i]


def product(*a: Any) -> Any:
    return a[0] * a[1]


@program
def starred(x: Any) -> Any:
    x[0] = 3.0
    return product(*(x * 2))


@program
def reduced(x: Any) -> Any:
    x[0] = 3.0
    return functools.reduce(operator.mul, x * 2)


@program
def combined(x: Any) -> Any:
    x[1] = x[0] ** 2
    return sum([a * b for a, b in itertools.combinations(x * 2, 2)])


@program
def taken_apart(x: Any) -> Any:
    u = x * 1.0
    u[0] = 3.0
    a, b, c, _ = u
    return a * b * c


@program
def taken_apart_with_star(x: Any) -> Any:
    u = x * 1.0
    u[0] = x[1] ** 2
    a, *b = u
    return a * b[0] * b[2]


@program
def listed(x: Any) -> Any:
    u = x * 1.0
    u[0] = 3.0
    items = list(u)
    return items[1] * items[2]


@program
def conjugate_of_real(x: Any) -> Any:
    a = x * 1.0
    c = a.conj()
    c[0] = 100.0
    return np.sum(a)


@program
def no_axes(x: Any) -> Any:
    s = np.zeros(())
    s[()] = x[0] * 2
    return float(s)


def scaled(a: Any, factor: float) -> None:
    a *= factor


@program
def no_axes_in_a_function(x: Any) -> Any:
    j = np.full((), x[0] ** 2)
    scaled(j, 0.5)
    return j + x[1]


@program
def filled_without_axes(x: Any) -> Any:
    p = np.empty(())
    p.fill(x[0] ** 2)
    return np.sum(p) * x[1]


@program
def diagonal(x: Any) -> Any:
    a = np.outer(x, x)
    d = np.diagonal(a)
    a[0, 0] = 7.0 * x[1]
    return np.sum(d)


def widened(a: Any) -> Any:
    return np.broadcast_to(a, (2, 4))


@program
def view_of_a_function(x: Any) -> Any:
    a = x * 1.0
    c = widened(a)
    a *= x[0]
    return np.sum(c)


@program
def mesh(x: Any) -> Any:
    a = np.outer(x, x)
    c = np.meshgrid(a[0], a[1], copy=False)[0]
    a[0, 0] = 7.0 * x[1]
    return np.sum(c)


@program
def default(x: Any) -> Any:
    u = x * 1.0

    def put(v: Any, arr: Any = u) -> None:
        arr[0] = v

    put(x[1])
    return np.sum(u * u)


@program
def ellipsis(x: Any) -> Any:
    u = x * 1.0
    u[..., 1] += 2 * x[0]
    return np.sum(u * u)


@program
def array_in_a_dict(x: Any) -> Any:
    t = np.sin(x)
    q = {"p": t}
    q["p"] += x[1]
    return np.sum(t * t)


@program
def array_in_a_list(x: Any) -> Any:
    t = np.sin(x)
    q = [t, x * 2]
    q[0] *= x[1]
    q[-1] += t
    return np.sum(t * t * np.arange(4.0)) + np.sum(q[1] ** 2)


@program
def out_under_a_mask(x: Any) -> Any:
    m = x * 1.0
    np.add(m, m[::-1], out=m, where=m > 0.5)
    return np.sum(m * m)


@program
def operator_in_place(x: Any) -> Any:
    b = x + 0.5
    add: Any = operator
    add.iadd(b, x[1])
    return np.sum(b)


@program
def operator_in_place_by_another_name(x: Any) -> Any:
    b = x + 0.5
    in_place: Any = operator.imul
    in_place(b, x[1])
    return np.sum(b)


@program
def no_copy(x: Any) -> Any:
    u = x * 1.0
    u.astype(float, copy=False)[:-1] *= x[0]
    return np.sum(u)


@program
def part_of_complex(x: Any) -> Any:
    m = x.T + 0j
    m.imag += np.sin(x)
    return np.sum(m.imag * x)


@program
def loop_over_what_it_changes(x: Any) -> Any:
    u = x.copy()
    s = 0.0
    for i, v in enumerate(u):
        u[(i + 1) % 3] = v * 2
        s += v
    return s


@program
def seen_from_behind(x: Any) -> Any:
    n = 1 + int(x[0] > 0)
    return np.sum(x[-n:] ** 2)


@program
def kept_in_a_list_of_rows(x: Any) -> Any:
    a = x.reshape(2, 2) * 1.0
    rows = [*a]
    a[0, 1] = x[2] ** 2
    return np.sum(rows[0] * rows[1])


def slope(fun: Function) -> float:
    step = 1e-6 * ALONG
    return float(fun(POINT + step) - fun(POINT - step)) / 2e-6


@pytest.mark.parametrize("fun", PROGRAMS)
def test_gradients(fun: Function) -> None:
    """``source.grad`` is right, and so is the gradient of a gradient."""
    x = POINT.copy()
    value, gradient = source.value_and_grad(fun)(x)
    assert value == pytest.approx(float(fun(POINT.copy())), rel=1e-13)
    assert gradient @ ALONG == pytest.approx(slope(fun), rel=1e-7, abs=1e-8)
    assert np.array_equal(x, POINT)
    second = source.grad(lambda x: source.grad(fun)(x) @ ALONG)(POINT.copy())
    expected = slope(lambda x: source.grad(fun)(x) @ ALONG)
    assert second @ ALONG == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_staged(fun: Function) -> None:
    """``jit(control_flow="source")`` is right, or refuses the program."""
    staged = tinyjax.jit(fun, control_flow="source")
    try:
        value, gradient = tinyjax.value_and_grad(staged)(POINT.copy())
    except TinyjaxError:
        return
    assert float(value) == pytest.approx(float(fun(POINT.copy())), rel=1e-12)
    assert np.asarray(gradient) @ ALONG == pytest.approx(slope(fun), rel=1e-7, abs=1e-8)


#: A loop that a traced condition ends.
LOOP: Final = "for i in range(100):\n    if i > 9 * x[3]:\n        break\n"
#: Statements of programs by what may go wrong in them where they are staged; each sets r.
KINDS: Final[dict[str, list[str]]] = {
    "an array without axes": [
            "y = np.array(x[0]); z = y; z += 1; r = y + z",
            "y = np.array(1.0); z = y; z += x[0]; r = y + z",
            "y = x[0, ...]; y += 2.0; r = np.sum(x) + y",
            "a = x * 1.0; z = a[0, ...]; a[0] = 5.0; r = z + x[1]",
            "a = x * 1.0; z = np.squeeze(a[:1]); a[0] = 5.0; r = z + x[1]",
            "a = x * 1.0; z = a[:1].reshape(()); a[0] = 5.0; z += 1; r = z + a[0]",
            "s = x.sum(keepdims=True).reshape(()); t = s; t += 1; r = s",
            "s = np.full((), x[0]); t = (s, s); u = t[0]; u *= 3; r = t[1]",
            "s = np.squeeze(x[:1] * 2); t = s; t += 1; r = s",
            "s = np.where(x[0] > 0, x[1], x[2]); t = s; t += 1; r = s",
            "s = np.tensordot(x, x, 1); t = s; t += 1; r = s",
            "s = np.einsum('i,i->', x, x); t = s; t += 1; r = s",
            "s = np.copy(x[0]); t = s; t += 1; r = s",
            "s = np.zeros_like(x[0]); t = s; t += x[1]; r = s",
            "s = np.full((), x[0]); t = s.T; t += 1; r = s",
            "s = np.full((), x[0]); t = s.real; t += 1; r = s",
            "s = np.full((), x[0]); t = s[...]; t += 1; r = s",
            "s = np.full((), x[0]); t = s.reshape(1); t += 1; r = s",
            "s = np.full((), x[0]); t = s; np.add(s, 1, out=s); r = t",
            "s = np.full((), x[0]); t = s; s[()] = 3.0; r = t",
            "s = np.full((), x[0]); t = s; s[...] *= 3.0; r = t",
            "s = np.full((), x[0]); t = s; s.fill(2.0); r = t + x[1]",
            "s = np.full((), x[0]); t = s; operator.iadd(s, 2.0); r = t",
            "s = np.full((), x[0]); t = s; s += 1; r = t * (1 if isinstance(s, float) else 2)",
            "s = np.zeros((), np.float32); t = s; s += 3.0; r = t * x[0]",
            "s = np.sum(x); t = s; t += 1; r = s",
            "s = x.min(); t = s; t += 1; r = s",
            "s = x[3]; t = s; t += 1; r = s + np.sum(x)",
            "s = np.array([x[0]]).sum(keepdims=False); t = s; t += 1; r = s",
            "s = np.mean(np.full((), x[0]), keepdims=True); t = s; t += 1; r = s",
            "s = np.zeros(()); t = s\nfor i in range(3):\n    t += x[i]\nr = s",
            "s = np.array(x[1])\nfor v in [s, s]:\n    v *= 0.8\nr = s",
            "s = np.full((), x[1]); t = s\nwhile t < 2 * x[0]:\n    t += 1.0\nr = s",
            "s = np.full((), x[0])\ndef f():\n    t = s\n    t += 1\nf()\nr = s",
            "s = np.full((), x[0])\ndef f(v=s):\n    v += 1\nf()\nr = s",
            "s = np.array(x[0]); o = []\nfor k in range(3):\n    s *= 2\n    o.append(s)\nr = o[0]",
            "s = np.array(x[0]); s *= 2; t = s; s *= 3; r = t",
            "s = np.array(x[0]); s *= 2; t = (s, s); s **= 3; r = t[1]",
            "s = np.array(x[0]); s *= 2; t = s.T; s -= 3; r = t",
            "s = np.full((), x[0]); scaled(s, 0.5); r = s + x[1]",
            "s = np.full((), x[0]); scaled(s[...], 0.5); r = s + x[1]",
            "h = Holder(np.array(x[0])); s = h.array; h.scale(0.5); r = s + x[1]",
            "s = np.array(x[0]); h = Holder(s); h.array *= 0.5; r = s + x[1]",
            "s = np.array(x[0]); d = {'p': s}; d['p'] += x[1]; r = s",
            "s = np.array(x[0]); d = [s, s]; d[0] += x[1]; r = d[1]",
            "s = np.full((), x[0]); r = s * (1 if isinstance(s, float) else 2)",
            "s = np.full((), x[0]); r = s * (1 if type(s) is float else 2)",
            "y = np.asarray(x[0]); z = [y]; z[0] += 1; r = y * 2",
            "s = np.full((), x[0]); t = max(s, -100.0); t += 1; r = s",
            "s = np.full((), x[0]); t = s if x[1] > 0 else np.full((), x[2]); t += 1; r = s",
    ],
    "an array of NumPy under a traced condition": [
            "y = np.ones(3); z = y\nif x[0] < 0:\n    z += 1\nr = np.sum(y + z) + x[1]",
            "y = np.array(1.0); z = y\nif x[0] > 0:\n    z += 1\nr = y + z + x[1]",
            "y = np.array(1.0)\nif x[0] < 0:\n    y += 1\nr = y + x[1]",
            "y = np.ones(4)\nr = np.sum((y if x[0] < 0 else 2 * y)) + x[1]",
            f"s = np.zeros(2); t = s\n{LOOP}    s += i * 2.0\nr = t[0] + x[0]",
            f"s = np.zeros(2)[::-1]; t = s[1:]\n{LOOP}    s += i * 2.0\nr = t[0] + x[0]",
            f"s = np.zeros(2); t = [s]\n{LOOP}    s -= i * 2.0\nr = t[0][1] + x[0]",
            f"s = np.zeros(2); t = s[:1]\n{LOOP}    s[int(i > 0)] += 2.0\nr = t[0] + x[0]",
            "s = np.zeros(2); t = s\nif x[0] > 0:\n    s += x[1]\nelse:\n    s -= x[1]\nr = t[1]",
            f"s = np.zeros(()); t = s\n{LOOP}    s[()] = i * 2.0\nr = t + x[0]",
            "s = np.arange(3.0)\nwhile s[0] < x[3]:\n    s += 1.0\nr = np.sum(s) + x[0]",
            f"s = np.zeros(2)\n{LOOP}    s.put([0], i)\nr = s[0] + x[0]",
    ],
    "the order in memory": [
            "b = np.outer(x, x).T.copy(); q = b.ravel(); q[1] = 5; r = np.sum(b)",
            "b = np.vstack([x, x]); q = b.ravel(); q[1] = 5; r = np.sum(b)",
            "b = np.stack([x, x], axis=1); q = b.ravel(); q[1] = 5; r = np.sum(b)",
            "b = np.zeros((2, 2)); b[:] = x[:2]; q = b.T.reshape(-1); q[1] = 5; r = np.sum(b)",
            "b = np.outer(x, x) @ np.eye(4).T; q = b.ravel(); q[1] = 100.0; r = np.sum(b)",
            "b = np.outer(x, x)[::2]; q = b.reshape(-1); b[0] = 2.0; r = np.sum(q)",
            "b = np.outer(x, x) * 1.0; q = b.T.ravel('F'); q[1] = 9.0; r = np.sum(b)",
            "b = np.outer(x, x) * 1.0; q = np.ascontiguousarray(b); q[0] = 9.0; r = np.sum(b)",
            "b = np.outer(x, x) * 1.0; q = np.ascontiguousarray(b.T); q[0] = 9.0; r = np.sum(b)",
            "b = np.outer(x, x).T * 1.0; q = b.ravel(); q[1] = 100.0; r = np.sum(b) + q[2]",
            "b = np.sin(np.outer(x, x).T); q = b.reshape(-1); b[0, 1] = 100.0; r = np.sum(q)",
            "b = np.zeros_like(np.outer(x, x).T); q = b.reshape(-1); q[1] = x[0]; r = np.sum(b)",
            "b = np.copy(np.outer(x, x).T); q = b.ravel(); q[1] = x[0]; r = np.sum(b)",
            "b = np.outer(x, x[:3]).T + 1; c = b.reshape(12); c[1] = x[0]; r = np.sum(b)",
            "b = x.reshape(2, 2)[:, [1, 0]]; b[0, 0] = 3; q = b.ravel(); q[1] = 9.0; r = np.sum(b)",
            "a = np.outer(x, x).T; b = np.where(a > 0, a, 1); q = b.ravel(); q[1] = 9; r = b.sum()",
            "b = np.concatenate([np.outer(x, x).T] * 2); q = b.ravel(); q[1] = 5; r = np.sum(b)",
            "b = np.tile(x, (2, 1)).T + 0; q = b.ravel(); q[1] = 5; r = np.sum(b)",
            "b = -np.outer(x, x).T; q = b.reshape(16); q[1] = 5; r = np.sum(b)",
    ],
    "one of several arrays": [
            "a, b = x * 1.0, np.sin(x); m = sorted((a[0], b[0]))[0]; m += 1; r = np.sum(a)",
            "a, b = x * 1.0, np.sin(x); m = max((a, b), key=lambda v: v[0]); m += 1; r = np.sum(a)",
            "a, b = x * 1.0, np.sin(x); m = max((a, b), key=len); m += 1; r = np.sum(a)",
            "a = x * 1.0; m = min(a, x, key=lambda v: v[0]); a[0] = 7; r = np.sum(m)",
            "m = max((x, np.broadcast_to(x, (2, 4))), key=lambda v: v.flat[0]); r = np.sum(m)",
            "a = x * 1.0; m = operator.itemgetter(0)([a]); a[0] = 7; r = np.sum(m)",
    ],
    "items of an array": [
            "d, *o = (e := x.reshape(2, 2) * 1.0); e *= 2; r = np.sum(o[0]) + np.sum(d)",
            "e = x.reshape(2, 2) * 1.0; d, *o = e; e[...] *= 2; r = np.sum(o[0]) + np.sum(d)",
            "e = x.reshape(2, 2) * 1.0; a = list(e); e[0] = 3.0; r = np.sum(a[0]) + x[1]",
            "e = x.reshape(2, 2) * 1.0; a = [*e]; a[1] *= 3.0; r = np.sum(e)",
            "e = x.reshape(2, 2) * 1.0; a = tuple(e); a[1][0] *= 3.0; r = np.sum(e)",
            "e = x * 1.0; a = list(e); e[0] = 3.0; r = a[0] + a[1]",
            "e = x * 1.0; s = sum(e); e[0] = 3.0; r = s + sum(e)",
            "e = x * 1.0; f = e.flat; e[0] = 2.0; r = f[0] + x[1]",
            "e = x * 1.0; z = e[[0, 1]]; z[0] = 9.0; e[1] = 4.0; r = np.sum(e) + np.sum(z)",
            "e = x * 1.0; z = e[e > 9.0]; r = np.sum(z) + x[0]",
            "e = np.outer(x, x); z = e[np.ix_([0, 1], [1, 2])]; z[0] = 9; r = np.sum(e) * z[1, 1]",
            "e = np.asarray([x[0], x[1]]); z = e; z[0] = 9.0; r = np.sum(e)",
            "e = np.array(x[0]); f = np.flip(e); e[...] = 2.0; r = f + x[1]",
            "e = x * 1.0; b = e.flat[1:3]; b[0] = 7.0; e[3] = 1.0; r = np.sum(e)",
            "e = np.asarray(x[0]); z = e; z[...] = 9.0; r = e + x[1]",
            "e = np.asarray(TABLE); e[0] = x[0]; r = TABLE[0]",
            "e = np.asarray(TABLE[3:]); e[:] = x[0]; r = TABLE[3]",
    ],
    "functions and methods that Python runs": [
            "y = x * 1.0; z = attempted(y); z *= 2; r = np.sum(y)",
            "y = x * 1.0; z = [Holder(y), Holder(y)]\nfor h in z:\n    h.scale(2.0)\nr = np.sum(y)",
            "y = x * 1.0; z = [Holder(y)]; z[0].scale(2.0); r = np.sum(y)",
            "y = x * 1.0\nfor v in rows(y.reshape(2, 2)):\n    v *= 2\nr = np.sum(y)",
            "y = x.reshape(2, 2) * 1.0; a, b = rows(y); b *= 2; r = np.sum(y)",
            "y = x * 1.0; attempt_to_change(y); r = np.sum(y)",
            "y = x * 1.0; y.__imul__(2.0); r = np.sum(y)",
            "y = x * 1.0; y.put([0], 2.0); r = np.sum(y)",
            "y = x * 1.0; y.clip(-0.5, 0.5, out=y); r = np.sum(y)",
            "y = x * 1.0; functools.partial(np.multiply, out=y)(y, 2.0); r = np.sum(y)",
            "y = x * 1.0; (lambda v: v.__iadd__(1.0))(y); r = np.sum(y)",
            "r = np.sum(x) * x.strides[0]",
            "y = np.ones(4); operator.setitem(y, 0, x[0]); r = np.sum(y)",
            "y = np.ones(4); y.put([1, 0], x[0]); r = np.sum(y)",
            "h = x * 1.0; h = Holder(h); h.scale(0.5); r = np.sum(x)",
    ],
    "views by functions": [
            f"y = np.outer(x, x); v = {view}; v[...] *= 2.0; y[1] += 1.0; r = y[1:].sum() * v.sum()"
            for view in (
                "np.squeeze(y[:1])", "y.T", "np.flip(y)",
                "np.fliplr(y)", "np.flipud(y)", "np.rot90(y)", "np.expand_dims(y, 1)",
                "np.atleast_3d(y)", "np.split(y, 2)[1]", "np.array_split(y, 3)[0]",
                "np.hsplit(y, 2)[1]", "np.vsplit(y, 2)[0]", "np.rollaxis(y, 1)", "y.mT",
                "np.moveaxis(y, 0, 1)", "np.permute_dims(y, (1, 0))", "np.asarray(y)",
                "np.asanyarray(y)", "y.view()", "y.astype(float, copy=False)", "np.require(y)",
                "np.reshape(y, (2, 8))", "y.reshape(2, 2, 4)[:, 0]", "y.swapaxes(0, 1)[1]",
                "np.array(y, copy=False)", "y.real", "np.real(y)", "y[None, ..., 1]",
                "np.asarray(y, dtype=float)", "y.squeeze()", "np.ravel(y)", "y[1:, ::-2].T",
                "np.array(y)", "y.astype(float)", "y.T.ravel()", "y[:, 1:].reshape(-1)",
            )
    ],
}  # fmt: skip
HELPERS: Final = """

def attempted(array):
    try:
        return array
    except ValueError:
        pass


def attempt_to_change(array):
    try:
        array *= 2.0
    except ValueError:
        pass
"""


#: What is neither staged nor captured: arrays of the module that change; and, of values without
#: axes, what depends on whether they are numbers of Python's.
REFUSED: Final = (
    *("TABLE", "isinstance(", "type(s)", "z = [y]; z[0] += 1", "np.full((), x[2]); t += 1"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_staged_kinds(kind: str, tmp_path: Path) -> None:
    """Programs of one kind are right in every mode: staged, or captured."""
    texts = enumerate(KINDS[kind])
    programs = [Program(f"program_{i}", (text,), ("r",), POINT) for i, text in texts]
    module = load(programs, tmp_path, PREAMBLE + HELPERS)
    for program in programs:
        checks = ("staged", "staged_gradient")
        found = [*outcomes(program, getattr(module, program.name), checks)]
        may_be = ("right", "refused") if any(t in str(program) for t in REFUSED) else ("right",)
        assert all(outcome.kind in may_be for outcome in found), f"{found}\n{program}"


@pytest.mark.parametrize(
    "text",
    [
        "y = np.array(1); y += x[0]; r = y",
        "y = np.array([1, 2]); y += x[:2]; r = np.sum(y)",
        "y = np.full((), x[0]); y += x; r = np.sum(y)",
        "y = np.zeros(3); y += x[None, :3]; r = np.sum(y)",
        "y = np.zeros(4); y[0] = 1j * x[0]; r = np.sum(y)",
        "y = x * 1.0; y += 1j * x; r = np.sum(y)",
        "y = x * 1.0; y[0] = 2.0; f = y.flat; f += 1.0; r = np.sum(f)",
        "y = np.outer(x, x); v = np.diagonal(y); v[0] = 1.0; y[1] = 2.0; r = np.sum(v)",
        "y = x * 1.0; v = np.broadcast_to(y, (2, 4)); v[0] = 1.0; y[1] = 2.0; r = np.sum(v)",
    ],
)
def test_what_numpy_refuses_is_refused(text: str, tmp_path: Path) -> None:
    program = Program("program", (text,), ("r",), POINT)
    fun = load([program], tmp_path).program
    with pytest.raises((TypeError, ValueError)):
        fun(POINT.copy())
    with pytest.raises((TinyjaxError, TypeError, ValueError)):
        tinyjax.jit(fun, control_flow="source")(POINT)


def continuing(x: Any) -> Any:
    u, v = x * 1.0, np.sin(x)
    for _ in range(3):
        q = v[[3, 1, 1, 0]]
        u[0] = u[0] * q[-1]
        if -0.3 < x[0] < 0.9:
            continue
        v[::-1] = v.copy()
    return np.sum(v)


def test_compiled_gradient_of_a_staged_loop_that_continues() -> None:
    gradient = tinyjax.jit(tinyjax.grad(source.stage(continuing)))(POINT)
    np.testing.assert_allclose(gradient, np.cos(POINT), rtol=1e-14)


def changing(a: Any, b: Any) -> Any:
    a[0] = b[1] * 2
    return np.sum(a * b)


def test_arguments_that_share_memory() -> None:
    x = POINT.copy()
    for pair in ((x, x), (x, x[::-1]), (x[:3], x[1:])):
        with raises(
            DifferentiationError, match="two arguments share memory, and the function changes"
        ):
            source.value_and_grad(changing, (0, 1))(*pair)
    value, _ = source.value_and_grad(changing, (0, 1))(x, x.copy())
    assert value == changing(POINT.copy(), POINT.copy())
    reading = source.grad(lambda a, b: np.sum(a * b))(x, x)
    np.testing.assert_array_equal(reading, POINT)


def test_read_only_arguments_stay_so() -> None:
    x = POINT.copy()
    x.flags.writeable = False

    def changes(a: Any) -> Any:
        a[0] = 3.0
        return np.sum(a)

    with raises(ValueError, match="assignment destination is read-only"):
        source.grad(changes)(x)


def test_a_method_of_an_object_that_changes_an_array_is_captured() -> None:
    class Matrix:
        def __init__(self, a: Any) -> None:
            self.a = a

        def __getitem__(self, i: int) -> Any:
            return self.a[i]

        def __setitem__(self, i: int, v: Any) -> None:
            self.a[i] = v

    def program(x: Any) -> Any:
        m = Matrix(x.copy())
        m[0] = m[1] * 2.0
        return np.sum(m.a)

    compiled = tinyjax.jit(program, control_flow="source")
    assert float(compiled(POINT)) == program(POINT)
    assert "is captured: an array that changes is used by code" in source.explain(compiled, POINT)


def test_one_closure_leaves_another_of_the_same_code_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def total_of(fun: Function) -> Function:
        def total(*args: Any) -> Any:
            return np.sum(fun(*args))

        return total

    def halve(rows: Any) -> None:
        rows[0] = rows[1] / 2

    def changed(x: Any) -> Any:
        rows = np.outer(x, x)
        halve(rows)
        return rows

    def product(x: Any) -> Any:
        b = np.outer(x, 1 + x)
        for i in range(4):
            b[i, 0] += np.dot(x[i + 1 :], b[i + 1 :, 1])
        return b

    source.grad(total_of(changed))(POINT)
    monkeypatch.setattr("tinyjax.source.capturing.fallback.pull", None)  # what is read needs it not
    gradient = source.grad(total_of(product))(POINT)
    expected = tinyjax.grad(source.capture(total_of(product)))(POINT)
    np.testing.assert_allclose(gradient, expected, rtol=1e-13)


def _fill(a: Any, b: Any) -> Any:
    a[0] = 3 * b[1]
    return a


def _apply(fun: Callable[..., Any], *args: Any) -> Any:
    out = fun(*args)
    args[0][2] = args[1][1] ** 2
    return out


def _first_changed(*args: Any) -> tuple[Any, ...]:
    first, *others = args
    first[0] = others[0][1]
    return args


def _sum_of(*args: Any) -> Any:
    out = list(args)
    out[0][3] = 7 * args[1][1]
    return sum(np.sum(a) for a in out)


#: Programs that take and pass on several arrays, which change, and whether they are read: of
#: ``*args`` the items are arrays, and not the whole.
OF_SEVERAL: Final[dict[str, tuple[Function, bool]]] = {
    "passed on": (lambda x: np.sum(_apply(_fill, a := np.zeros(4), x) * x) + np.sum(a), True),
    "returned": (lambda x: np.sum(np.stack(_first_changed(a := x * 1.0, x)) * a), True),
    "in a list": (lambda x: _sum_of(a := x * 2.0, x) + np.sum(a**2), True),
    "rows": (lambda x: np.sum(_fill(*np.outer(x, x)[:2]) * x), False),
}


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_several_arrays_as_arguments(name: str) -> None:
    function, is_read = OF_SEVERAL[name]
    slopes = [(function(POINT + h) - function(POINT - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(source.grad(function)(POINT), slopes, rtol=1e-7, atol=1e-8)
    assert ("is read" in str(source.explain(function, POINT))) is is_read

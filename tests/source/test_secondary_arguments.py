"""Arrays of data with traced values in arguments by which NumPy hands over to nobody else."""

from pathlib import Path
from typing import Final

import entries
import numpy as np
import pytest

HEAD: Final = """
import numpy as np

class Plain(np.ndarray):
    pass

K = np.array([[3.0, 4.0], [5.0, 7.0]]).view({kind})

def f(x):
    t, x = x[0] * 1.01, x.reshape(2, 2)
    r = np.asarray({call})
    return np.sum(r * np.cos(np.arange(r.size)).reshape(r.shape))
"""
CALLS: Final = """
np.sum(K, 0, initial=t); np.sum(K, 0, initial=t, keepdims=True); np.prod(K, 0, initial=t)
np.max(K, 0, initial=t); np.min(K, initial=t); np.nansum(K, 0, initial=t)
np.nanmax(K, 0, initial=t); np.add.reduce(K, 0, initial=t); np.maximum.reduce(K, initial=t)
K.sum(initial=t); K.max(0, initial=t); K.prod(initial=t); K.clip(t); K.clip(max=t)
np.clip(K, None, t); np.clip(K, a_min=t, a_max=9); np.pad(K, 1, constant_values=t)
np.pad(K, 1, mode="linear_ramp", end_values=t); np.nan_to_num(K / 0, posinf=t)
np.trapezoid(K, dx=t); np.trapezoid(K, x=x[0]); np.gradient(K, t, axis=0)
np.diff(K, prepend=t); np.ediff1d(K, to_end=t); np.interp(K, [0, 3.5], [1, 2], left=t)
np.interp(K, [0, 3.5], [1, 2], right=t); np.interp(K, [0, 1.5], [1, 2], period=t + 1)
np.quantile(K, t / 9); np.percentile(K, x[0], axis=0); np.var(K, 0, mean=x[:1])
np.average(K, weights=x); np.insert(K, 0, t); np.insert(K, 0, x[0], axis=1)
np.select([K > 4], [K], default=t); np.select([K > 4], [t], default=0.0); np.where(K > 4, K, t)
np.piecewise(K, [K > 4], [t, 1.0]); np.piecewise(K, [K > 4], [lambda v: v * t, 1.0])
np.apply_along_axis(lambda r: r * t, 0, K); np.apply_over_axes(lambda a, i: np.sum(a, i) * t, K, 0)
np.vectorize(lambda k: k * t)(K); np.histogram(K, 3, weights=x)[0]; np.cov(K, aweights=x[0])
np.bincount([0, 1], weights=x[0]); np.polyfit(K[0], K[1], 1, w=x[0]); np.full_like(K, t)
np.polyfit(K[0], x[0], 1); np.logspace(0, 1, 3, base=t); np.heaviside(K - 3.5, t)
np.fill_diagonal(c := K.copy(), t) or c; np.putmask(c := K.copy(), K > 4, t) or c
np.put(c := K.copy(), [0], t) or c; (c := K.copy()).put([0], t) or c
(c := K.copy()).put(indices=[0], values=t) or c; np.copyto(c := K.copy(), t) or c
np.place(c := K.copy(), K > 4, [t]) or c; x.conjugate(c := K.copy()); x.sum(0, out=(c := K[0] * 1))
"""
#: Not taken of arrays of a subclass that the program has not made itself.
OWN_ONLY: Final = ("copy()", "lambda v", "K[0] * 1")


def programs() -> list[tuple[str, str]]:
    calls = CALLS.replace("\n", "; ").strip("; ").split("; ")
    return [(kind, call) for kind in ("np.ndarray", "Plain") for call in calls]


def check_call(kind: str, call: str, folder: Path) -> None:
    subject = entries.Subject(HEAD.format(kind=kind, call=call), folder)
    results = dict(entries.outcomes(subject))
    mistakes = {name: x for name, x in results.items() if x and not x.startswith("refused")}
    assert not mistakes, (call, mistakes)
    if kind == "np.ndarray" or not any(text in call for text in OWN_ONLY):
        assert not results["captured"], call


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", range(4))
def test_some_secondary_arguments(share: int, tmp_path: Path) -> None:
    for kind, call in programs()[share::12]:
        check_call(kind, call, tmp_path)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "call"), programs())
def test_all_secondary_arguments(kind: str, call: str, tmp_path: Path) -> None:
    check_call(kind, call, tmp_path)


OUT: Final = """
import numpy as np

class Dropping(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        operands = [np.asarray(x) if isinstance(x, Dropping) else x for x in inputs]
        return getattr(ufunc, method)(*operands, **options)

class Doubling(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        operands = [np.asarray(x) if isinstance(x, Doubling) else x for x in inputs]
        result = 2 * getattr(ufunc, method)(*operands, **options)
        for array in out:
            np.asarray(array)[...] = result
        return out[0] if out else result

def f(x):
    x = x.reshape(2, 2)
    c = ({start}).view({kind})
    {call}
    return np.sum(np.asarray(c) * np.arange(1.0, c.size + 1).reshape(c.shape))
"""
REDUCTIONS: Final = ("sum", "mean", "prod", "max", "min", "std", "var")
OUT_CALLS: Final = [
    *(f"x.{name}(0, out=c)" for name in REDUCTIONS),
    *(f"np.{name}(x, 0, out=c)" for name in REDUCTIONS),
    *(f"np.nan{name}(x, axis=0, out=c)" for name in REDUCTIONS),
    *(f"np.{name}(x, 0, out=c)" for name in ("median", "ptp", "all", "any", "add.reduce")),
    *("x.sum(0, None, c)", "x.mean(0, None, c)", "np.amax(x, 0, c)"),
]
#: Into an array of two axes.
OUT_CALLS_OF_TWO: Final = """
x.cumsum(0, out=c); np.cumprod(x, 0, out=c); np.nancumsum(x, 0, out=c); x.clip(0.4, 1.0, out=c)
np.clip(x, 0.4, 1.0, out=c); x.clip(0.4, 1.0, c); x.round(1, out=c); np.round(x, 0, out=c)
x.dot(x, out=c); np.dot(x, x, out=c); x.take([0, 1], 0, out=c); x.conjugate(c); np.sin(x, out=c)
np.sin(x, c); np.add(x, x, c); np.add.accumulate(x, 0, out=c); np.matmul(x, x, out=c)
np.concatenate([x[:1], x[1:]], out=c); np.einsum("ij,jk", x, x, out=c); np.outer(x[0], x[1], out=c)
np.choose([[0, 1], [1, 0]], [x, 2 * x], out=c); np.compress([True, True], x, 0, out=c)
x.compress([True, True], 0, out=c); np.fix(x, out=c); np.isposinf(x, out=c); np.copyto(c, x)
np.put(c, [0, 1], x[0]); np.putmask(c, x > 0.5, x); np.fill_diagonal(c, x[0]); c.fill(x[0, 0])
np.multiply.outer(x[0], x[1][:1], out=c[:, :1]); np.add.reduceat(x, [0, 1], 0, out=c)
"""


def outs() -> list[tuple[str, str, str]]:
    calls_of_two = OUT_CALLS_OF_TWO.replace("\n", "; ").strip("; ").split("; ")
    shapes = {**dict.fromkeys(OUT_CALLS, "2"), **dict.fromkeys(calls_of_two, "(2, 2)")}
    return [
        (kind, f"np.zeros({shape}){start}", call)
        for call, shape in shapes.items()
        for start in ("", " + x.sum() / 7")
        for kind in ("Dropping", "Doubling")
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", range(4))
def test_some_outs_of_classes(share: int, tmp_path: Path) -> None:
    """``out=`` is an array whose class does with results what it likes."""
    cases = outs()
    for i in np.random.default_rng(share).choice(len(cases), 6, replace=False):
        kind, start, call = cases[i]
        entries.check(OUT.format(kind=kind, start=start, call=call), tmp_path)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "start", "call"), outs())
def test_all_outs_of_classes(kind: str, start: str, call: str, tmp_path: Path) -> None:
    entries.check(OUT.format(kind=kind, start=start, call=call), tmp_path)

"""NumPy's functions of arrays of a subclass that overrides methods which they call."""

import functools
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError
from tools import modules

pytestmark = pytest.mark.usefixtures("double_precision")

METHODS = (
    *("all", "any", "argmax", "argmin", "argsort", "astype", "choose", "clip", "compress", "conj"),
    *("conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min"),
    *(
        "nonzero",
        "partition",
        "prod",
        "ravel",
        "repeat",
        "reshape",
        "round",
        "searchsorted",
        "sort",
    ),
    *("squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var", "view"),
)
CALLS = (
    """
np.sum(r); np.mean(r); np.max(r); np.amin(r); np.cumsum(r); np.take(r, [0, 1]); np.std(r)
np.reshape(r, (2, 2)); np.round(r); np.around(r, 1); np.ravel(r); np.transpose(m)
np.clip(r, 0, 1); np.dot(r, r); np.copy(r, subok=True); np.argmax(r); np.sort(r); np.trace(m)
np.squeeze(r[None]); np.prod(r); np.var(r); np.repeat(r, 2); np.swapaxes(m, 0, 1); np.ptp(r)
np.compress([1, 0, 1, 0], r); np.cumprod(r); np.median(r); np.average(r); np.diff(r)
np.percentile(r, 30); np.atleast_2d(r); np.any(r > 0.5); np.all(r); np.nonzero(r); np.flip(r)
np.roll(r, 1); np.tile(r, 2); np.nansum(r); np.nanmax(r); np.nanmedian(r); np.linalg.norm(r)
np.where(r > 0.5, r, 0); np.concatenate([r, r]); np.stack([r, r]); np.outer(r, r); np.gradient(r)
np.append(r, 1.0); np.delete(r, 0); np.insert(r, 0, 1.0); np.searchsorted(r, 0.5); np.real(r)
np.angle(r); np.trim_zeros(r); np.vander(r); np.cov(r); np.cross(r[:3], r[:3]); np.trapezoid(r)
np.kron(r, r); np.inner(r, r); np.vdot(r, r); np.tensordot(r, r, 1); np.flatnonzero(r)
np.unique(r); np.broadcast_to(r, (2, 4)); np.expand_dims(r, 0); np.moveaxis(m, 0, 1)
np.rollaxis(m, 1); np.fliplr(m); np.rot90(m); np.vstack([r, r]); np.hstack([r, r])
np.split(r, 2)[0]; np.nan_to_num(r); np.diag(r); np.diagonal(m); np.tril(m); np.resize(r, 6)
np.select([r > 0.5], [r]); np.unwrap(r); np.sinc(r); np.polyval([1.0, 2.0], r); np.partition(r, 1)
np.argsort(r); np.argmin(r); np.permute_dims(m); np.matrix_transpose(m)
np.extract([1, 0, 1, 0], r); np.quantile(r, 0.3); np.apply_along_axis(np.sum, 0, m)
np.linalg.trace(m); np.linalg.outer(r, r); np.cumulative_sum(r); np.ma.filled(r)
np.interp(0.5, r, r); r.sum(); r.copy(); m.reshape(4); m.T.ravel(); r.std(); r.max()
np.histogram(r)[0]; np.fft.fft(r).real
""".strip()
    .replace("\n", ";")
    .split(";")
)
TEXT = """import numpy as np


class Doubling(np.ndarray):
    def {method}(self, *args, **kwargs):
        result = super().{method}(*args, **kwargs)
        calls.append(result)
        return result if isinstance(result, (tuple, type(None))) else result * 2


calls = []
"""
FUNCTION = """

def f{number}(x):
    r = x.view(Doubling)
    m = (np.ones((2, 2)) * x[0]).view(Doubling)
    m[0, 1] = x[1]
    return np.asarray({call}) * 1.0
"""
POINT = np.array([0.7, 0.31, 1.43, 0.52])


def module_of(method: str, folder: Path) -> ModuleType:
    calls = enumerate(map(str.strip, CALLS))
    functions = [FUNCTION.format(number=i, call=call) for i, call in calls]
    text = TEXT.format(method=method) + "".join(functions)
    return modules.module_of(text, folder / f"doubling_{method}.py")


def outcome(fun: Any, expected: np.ndarray) -> str:
    try:
        actual = tinyjax.vjp(source.capture(fun), POINT)[0]
    except TinyjaxError:
        return "refused"
    same = np.shape(actual) == expected.shape
    same = same and np.allclose(np.asarray(actual), expected, equal_nan=True)
    return "right" if same else f"{actual}, not {expected}"


@functools.cache
def affected(module: ModuleType) -> list[Any]:
    """Return the functions of a module that call the method."""
    functions = [fun for name, fun in vars(module).items() if name[:1] == "f"]
    kept = []
    for fun in functions:
        module.calls.clear()
        try:
            fun(POINT.copy())
        except Exception:  # of a method that gives something unexpected
            continue
        if module.calls:
            kept.append(fun)
    return kept


def test_most_functions_run(tmp_path: Path) -> None:
    functions = affected(module_of("sum", tmp_path))
    outcomes = [outcome(fun, fun(POINT.copy())) for fun in functions]
    assert outcomes.count("right") > 0.8 * len(outcomes) >= 4


@pytest.mark.parametrize("method", METHODS)
def test_functions_call_the_methods_of_a_subclass(method: str, tmp_path: Path) -> None:
    module = module_of(method, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fun in affected(module):
            result = outcome(fun, fun(POINT.copy()))
            assert result in ("right", "refused"), (method, CALLS[int(fun.__name__[1:])])

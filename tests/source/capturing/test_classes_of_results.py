"""The classes of what NumPy's functions give for arrays of subclasses, made inside or outside."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy_calls
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError
from tools.modules import module_of

HEAD: Final = """
import math
import numpy as np
import numpy_calls

class Plain(np.ndarray):
    pass

class Named(np.ndarray):
    def __array_finalize__(self, other):
        self.name = getattr(other, "name", "new")

class Preferred(np.ndarray):
    __array_priority__ = 5.0
    def __getitem__(self, index):
        return np.ndarray.__getitem__(self, index) * 1.0

class Dispatching(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        options.pop("out", None)
        operands = [np.asarray(x) if isinstance(x, Dispatching) else x for x in inputs]
        return getattr(ufunc, method)(*operands, **options)

class Answering(np.ndarray):
    def __array_function__(self, func, types, args, kwargs):
        return -1.0  # which methods do not ask for

KINDS = Plain, Named, Preferred, Dispatching, Answering
MAKERS = {
    **{c.__name__: lambda a, c=c: a.view(c) for c in KINDS},
    "MaskedArray": np.ma.array,
}
OUTSIDE = {
    kind: [make(np.array(numpy_calls.OTHERS[name])) for name in "YVI"]
    for kind, make in MAKERS.items()
}
Y, V, I = (np.array(numpy_calls.OTHERS[name]) for name in "YVI")
CLASSES = []

def classes(result):
    if isinstance(result, (list, tuple)):
        return type(result).__name__, [classes(x) for x in result]
    return result.__class__.__name__, getattr(result, "name", "")
"""
INSIDE: Final = """
def function(array, kind):
    x = MAKERS[kind](array)
    k = (array * 10).astype(int)
    b = array > 0.5
    CLASSES.append(classes({call}))
    return np.sum(array)
"""
OUTSIDE: Final = """
def function(x, kind):
    Y, V, I = OUTSIDE[kind]
    k = (x * 10).astype(int)
    b = x > 0.5
    CLASSES.append(classes({call}))
    return np.sum(x)
"""
#: Where arrays of a subclass are made, and in which calls their class is lost.
PLACES: Final = {"inside": INSIDE, "outside": OUTSIDE}
KINDS: Final = ("Plain", "Named", "Preferred", "Dispatching", "Answering", "MaskedArray")
#: Methods of arrays of data, with arguments that are traced.
METHODS: Final = """
Y.dot(x.T); V.dot(x[0]); Y[0].dot(x[1]); Y.clip(x, 9); Y.clip(max=x[0]); Y.clip(x[0, 0])
Y.sum(initial=x[0, 0]); Y.sum(0, initial=x[0, 0]); Y.max(0, initial=x[0, 0]); Y.mean(0, where=b)
Y.prod(axis=1, initial=x[0, 0]); Y.sum(0, where=b); (Y > 0.5).astype(int).choose([x, 2 * x])
V.searchsorted(x); Y.compress(x[0] > 0.2, axis=1); Y.compress(condition=x[0] > 0.2, axis=1)
Y.take(k); Y.repeat(k[0], axis=1); Y[b]; V[k // 4]; V[x[0].argsort()]; Y.__add__(x)
Y.__radd__(x); Y.__matmul__(x.T); np.ndarray.dot(Y, x.T)
"""
CALLS: Final = [
    *(call.lstrip("?!") for calls in numpy_calls.TABLE.values() for call in calls if call != "-"),
    *METHODS.replace("\n", "; ").strip("; ").split("; "),
]
LOST: Final = {("Dispatching", "np.ediff1d(x[0], to_begin=0.0, to_end=[1.0, 2.0])")}


def classes_by(run: Callable[[], object], module: ModuleType) -> Any:
    """Return the classes that a program notes; None if it raises."""
    module.CLASSES.clear()
    try:
        run()
    except Exception as error:
        if isinstance(error, TinyjaxError):
            return "refused"
        return None
    return module.CLASSES[0]


def check_call(call: str, place: str, kind: str, path: Path) -> None:
    module: Any = module_of(HEAD + PLACES[place].format(call=call), path)
    x = numpy_calls.X  # which some of the calls write
    expected = classes_by(lambda: module.function(x.copy(), kind), module)
    gradient = tinyjax.grad(source.capture(module.function))
    result = classes_by(lambda: gradient(x.copy(), kind), module)
    assert result in (expected, "refused") or expected is None, (call, place, kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_some_classes_of_results(place: str, kind: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(len(kind) + len(place))
    for i, call in enumerate(generator.choice(CALLS, 12, replace=False)):
        if (kind, call) not in LOST:
            check_call(call, place, kind, tmp_path / f"classes{i}.py")


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_all_classes_of_results(call: str, place: str, kind: str, tmp_path: Path) -> None:
    if (kind, call) not in LOST:
        check_call(call, place, kind, tmp_path / "classes.py")

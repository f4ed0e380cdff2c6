"""Python integers that no integer dtype holds are taken wherever the result can hold them.

Every public function that takes a number is given one. It must be taken for the float that it is,
unless the result is of integers, or ``REFUSED`` says why it is not.
"""

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from hostile.arguments import public
from tinyjax._library.ufuncs.host import kinds
from tinyjax._library.ufuncs.table import TABLE
from tinyjax.errors import NumberRangeError, TinyjaxError
from tinyjax.scipy import special

#: Calls that take no number are tried, too.
pytestmark = pytest.mark.wrong_types

LONG: Final = 10**30
X: Final = np.array([1.0, 2.0, 3.0], np.float32)

#: What a function is called with, for a number.
CALLS: Final[list[Callable[[Any], tuple[Any, ...]]]] = [
    lambda n: (n,),
    lambda n: (n, X),
    lambda n: (X, n),
    lambda n: (X, X, n),
    lambda n: (n, 0.5),
    lambda n: (0.5, n),
    lambda n: ([n, 0.5],),
    lambda n: ([n, X[0]], [0.5, n]),
]

#: Functions, by the beginning of their names, that refuse such a number: why.
REFUSED: Final[dict[str, str]] = {
    "lax.after_all": "makes a token of an array, which has a dtype of its own",
    "lax.optimization_barrier": "returns each array in its own dtype",
    "lax.stop_gradient": "returns each array in its own dtype",
    "numpy.atleast_": "returns each array in its own dtype",
    "numpy.broadcast_arrays": "returns each array in its own dtype",
    "numpy.meshgrid": "returns each array in its own dtype",
    "lax.dynamic_index_in_dim": "takes it for an index",
    "numpy.take": "takes it for an index, as NumPy does, which refuses it too",
    "lax.select_n": "takes it for the number of a case",
    "numpy.histogram": "takes it for the number of bins",
    "numpy.ldexp": "takes it for an exponent, as NumPy does, which refuses it too",
    "scipy.stats.rankdata": "ranks integers in their dtype, as sort does",
}

#: Functions of SciPy's with arguments that are whole numbers, such as an order.
OF_ORDERS: Final = {
    f"scipy.special.{name}" for name in special.__all__ if name in TABLE and "i" in kinds(name)
} | {"scipy.special.lambertw"}

#: Functions that are not called, by the beginning of their names: why.
NOT_CALLED: Final[dict[str, str]] = {
    "numpy.diff": "repeats itself so often",
    "scipy.special.hyp0f1": "code of SciPy's that divides by zero at such a number",
    "scipy.special.obl_": "code of SciPy's that ends the process at such a number",
    "scipy.special.pb": "code of SciPy's that runs out of memory at such a number",
    "scipy.special.pro_": "code of SciPy's that ends the process at such a number",
}


def outcome(fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return the arrays that a call gives, the error that refuses a number, or None."""
    try:
        return [np.asarray(x) for x in tinyjax.tree.leaves(fun(*args))]
    except NumberRangeError as error:
        return error
    except (TinyjaxError, ArithmeticError, MemoryError, TypeError, ValueError, AttributeError):
        return None


def holds(x: Any) -> bool:
    """Return whether an array could hold the number, or says something of it."""
    return x.dtype == bool or jnp.issubdtype(x.dtype, jnp.inexact)


NAMES: Final = [
    name
    for name in public()
    if name.partition(".")[0] in ("image", "lax", "nn", "numpy", "scipy")
    and not any(map(name.startswith, NOT_CALLED))
]


def refusals(name: str) -> list[tuple[Any, ...]]:
    """Call a function with a long number, and return the arguments of the calls that refuse it.

    Where the number is taken, the results are those of the float.
    """
    refused: list[tuple[Any, ...]] = []
    fun = public()[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in CALLS:
            small = outcome(fun, call(3))
            if not isinstance(small, list) or not any(map(holds, small)):
                continue
            found, expected = outcome(fun, call(LONG)), outcome(fun, call(float(LONG)))
            if isinstance(found, NumberRangeError):
                refused.append(call(LONG))
            elif isinstance(found, list) and isinstance(expected, list):
                for x, y in zip(found, expected, strict=True):
                    if x.dtype == y.dtype:
                        x, y = x.astype(complex), y.astype(complex)
                        np.testing.assert_allclose(x, y, 1e-5, err_msg=repr(call(LONG)))
    return refused


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
def test_a_number_of_any_size_is_taken_where_the_result_holds_it(name: str) -> None:
    is_known = name in OF_ORDERS or any(map(name.startswith, REFUSED))
    assert not refusals(name) or is_known


@pytest.mark.parametrize("beginning", REFUSED)
def test_what_is_refused_is_refused(beginning: str) -> None:
    assert any(refusals(name) for name in NAMES if name.startswith(beginning))

"""Floats made of integers and of Python's numbers, for all public functions.

64-bit integers give float64, narrower ones the default float. Functions are called with integers in
all of the ways that ``calls`` knows. Those that return floats must follow the rule, and must return
what the same call gives for floats. And a Python float beside a float64 loses nothing.
"""

import inspect
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import errors, lax, nn, tree
from tinyjax._library.ufuncs.host import kinds
from tinyjax._library.ufuncs.table import TABLE
from tinyjax.core.values.array import Array
from tinyjax.dtypes import DType
from tinyjax.scipy import linalg, special
from tinyjax.scipy.stats import norm

#: Every function is called with arguments that it may not take.
pytestmark = pytest.mark.wrong_types

ARITHMETIC: Final = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)
METHODS: Final = ("mean", "std", "var")


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (jnp, jnp.linalg, nn, special, linalg, norm):
        for name in getattr(module, "__all__", None) or dir(module):
            found = getattr(module, name)
            if inspect.isfunction(found) and not name.startswith("_"):
                yield f"{module.__name__.removeprefix('tinyjax.')}.{name}", found
    for fun in ARITHMETIC:
        yield f"operator.{fun.__name__}", fun
    for name in METHODS:
        yield f"Array.{name}", lambda x, name=name: getattr(jnp.asarray(x), name)()


FUNCTIONS: Final = dict(_functions())

#: Their floats are of no operand's type.
OF_THEIR_OWN: Final = {
    *(f"numpy.{name}" for name in ("empty", "eye", "identity", "ones", "tri", "zeros")),
    *(f"numpy.{name}" for name in ("bartlett", "blackman", "hamming", "hanning")),
    *(
        f"scipy.linalg.{name}"
        for name in (
            "dft",
            "helmert",
            "hilbert",
            "invhilbert",
            "invpascal",
            "pascal",
        )
    ),
    "nn.one_hot",
    "scipy.special.bernoulli",
}
#: What takes types, shapes and functions, or does nothing but what ``indexing`` does.
NOT_CALLED: Final = {
    *(f"numpy.{name}" for name in (
        "broadcast_shapes", "can_cast", "finfo", "iscomplexobj", "isdtype", "isrealobj", "isscalar",
        "issubdtype", "ndim", "promote_types", "ravel_multi_index", "result_type", "shape", "size",
        "getitem", "update_at", "view", "load", "save",
    )),
    # with inplace=False only
    *(f"numpy.{name}" for name in ("fill_diagonal", "place", "put", "put_along_axis")),
    *(f"numpy.{name}" for name in (
        "apply_along_axis", "apply_over_axes", "fromfunction", "mask_indices", "unpackbits",
    )),
    *("numpy.histogram", "numpy.histogram_bin_edges"),  # the values say the type, not the edges
    "nn.dot_product_attention",  # of arrays with four axes
    *("nn.scaled_matmul", "nn.scaled_dot_general"),  # the result has the type of the option
    "scipy.linalg.funm",
    *(f"numpy.{name}" for name in (  # of files, buffers and printing
        "array_repr", "array_str", "from_dlpack", "frombuffer", "fromfile", "fromiter",
        "fromstring", "get_printoptions", "iterable", "printoptions", "savez", "set_printoptions",
    )),
    *(f"scipy.special.{name}" for name in ("bessel_jn", "hyp2f1", "sph_harm_y")),
    "scipy.special.factorial",  # the second argument is a flag
}  # fmt: skip

#: Functions of SciPy's with arguments that are whole numbers of any bits, such as an order.
#: The branch of ``lambertw`` is one, too.
OF_ORDERS: Final = {
    f"scipy.special.{name}" for name in special.__all__ if name in TABLE and "i" in kinds(name)
} | {"scipy.special.lambertw"}

SPD: Final = np.array([[4, 1, 0], [1, 5, 2], [0, 2, 6]])
ROW: Final = np.array([1, 2, 3])
CUBE: Final = np.stack([SPD, SPD, SPD], axis=2)


def calls(dtype: DType) -> list[tuple[Any, ...]]:
    """Ways to call a function that is not known, with arrays of a dtype."""
    m, v, c, s = (jnp.asarray(x.astype(dtype)) for x in (SPD, ROW, CUBE, np.array(2)))
    above = v > 1
    return [
        (v,), (m,), (s,), (c,),
        (v, v), (m, v), (m, m), (s, s), (v, m), (s, v),
        (v, v, v), (m, m, m), (s, s, s), (s, v, v), (s, s, 3), (s, s, s, s), (s, s, s, s, s),
        ([v, v],), ([m, m],), ((v, v),), ((m, v), v), ((m, True), v), ((m, np.arange(3)), v),
        (v, 2), (2, v), (v, 2, 1), (m, 0, 1), (m, (1, 0)), (v, (3,)), (c, 3),
        (above, v, v), (above, v), ([above], [v]), ("i,i", v, v), (m[:, :2],),
        (v, v[:2]), (v, v, 1),
    ]  # fmt: skip


def with_a_float(dtype: DType) -> list[tuple[Any, ...]]:
    v = jnp.asarray(ROW.astype(dtype))
    return [(v, 0.1), (0.1, v), (v, v, 0.1), (v > 1, v, 0.1), ([v > 1], [v], 0.1), ([v, 0.1],)]


#: Their fractions say where to look, and nothing of the result's type.
QUANTILES: Final = {
    *(f"numpy.{name}" for name in ("percentile", "quantile", "nanpercentile", "nanquantile"))
}

#: Each of their results has the type of one operand, or the other is a shape, or something else.
BESIDE_A_FLOAT_NOT: Final = {
    *(f"numpy.{name}" for name in (
        "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "copy", "ediff1d", "meshgrid",
        "nan_to_num", "roll", "take", "full_like", "clip", "broadcast_to", "full", "resize", "tile",
        "setdiff1d",
    )),
    *QUANTILES,
}  # fmt: skip


def outcome(fun: Callable[..., Any], args: tuple[Any, ...]) -> list[Array] | None:
    """The arrays that a call gives; None where it cannot be made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = fun(*args)
        except (errors.TinyjaxError, TypeError, ValueError, IndexError):
            return None
    return [leaf for leaf in tree.leaves(found) if isinstance(leaf, Array)]


def is_inexact(x: Array) -> bool:
    return bool(jnp.issubdtype(x.dtype, np.inexact))


def of_arrays(fun: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, list[Array]]:
    """The call as a function of its arrays alone, and these."""
    leaves, structure = tree.flatten(args)

    def call(*arrays: Array) -> list[Array]:
        rest = iter(arrays)
        whole = [next(rest) if isinstance(x, Array) else x for x in leaves]
        found = fun(*tree.unflatten(structure, whole))
        return [x for x in tree.leaves(found) if isinstance(x, Array)]

    return call, [x for x in leaves if isinstance(x, Array)]


WIDE: Final = {"float32": "float64", "complex64": "complex128"}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_64_bit_integers_become_float64(name: str) -> None:
    fun = FUNCTIONS[name]
    tables = [calls] if name in BESIDE_A_FLOAT_NOT else [calls, with_a_float]
    if name in OF_THEIR_OWN | NOT_CALLED | QUANTILES | OF_ORDERS:
        tables = []
    was_called = not tables
    for table in tables:
        for narrow, wide, unsigned, exact in zip(
            *(table(np.dtype(d)) for d in ("int32", "int64", "uint64", "float64")), strict=True
        ):
            results = outcome(fun, narrow)
            was_called = was_called or results is not None
            if results is None or not any(map(is_inexact, results)):
                continue
            types = [x.dtype.name for x in results]
            assert {x.dtype.name for x in results if is_inexact(x)} <= set(WIDE), (narrow, types)
            found = outcome(fun, wide)
            assert found is not None
            for x, t in zip(found, types, strict=True):
                assert x.dtype == WIDE.get(t, x.dtype), (wide, x)
            for x in outcome(fun, unsigned) or ():
                assert x.dtype.name not in WIDE, (unsigned, x)
            expected = outcome(fun, exact)
            for x, y in zip(found, expected or found, strict=True):
                if is_inexact(x):  # computed in float64 and not only returned in it
                    np.testing.assert_allclose(x, y, 1e-12, 1e-12, err_msg=str(wide))
            _is_the_same_when_transformed(fun, wide, found)
            with tinyjax.default_dtypes("float64"):
                for x, y in zip(outcome(fun, wide) or (), found, strict=True):
                    assert not is_inexact(x) or x.dtype == y.dtype
    assert was_called, f"no call of {name} is known: add one to calls()"


def _is_the_same_when_transformed(
    fun: Callable[..., Any], args: tuple[Any, ...], results: list[Array]
) -> None:
    call, arrays = of_arrays(fun, args)
    try:
        staged = tinyjax.eval_shape(call, *arrays)
    except errors.ConcretizationError:
        return
    for x, y in zip(staged, results, strict=True):
        assert (x.dtype, x.weak_type) == (y.dtype, y.weak_type)
    pairs = [jnp.stack([x, x]) for x in arrays]
    if pairs:
        for x, y in zip(tinyjax.eval_shape(tinyjax.vmap(call), *pairs), results, strict=True):
            assert x.dtype == y.dtype


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", sorted(FUNCTIONS.keys() - BESIDE_A_FLOAT_NOT - NOT_CALLED - OF_ORDERS)
)
def test_a_python_float_beside_a_float64_is_not_rounded_before(name: str) -> None:
    fun = FUNCTIONS[name]
    for args in with_a_float(np.dtype("float64")):
        results = outcome(fun, args)
        if results is None:
            continue
        same = tree.map(lambda x: np.float64(x) if isinstance(x, float) else x, args)
        for x, y in zip(results, outcome(fun, same) or (), strict=True):
            np.testing.assert_allclose(x, y, 1e-14, 1e-14, err_msg=str(args))


def test_a_python_float_in_a_list_or_beside_an_axis_is_not_rounded_before() -> None:
    x = jnp.asarray(np.array([1.0, 2.0]))
    tenth = np.float64(0.1)
    pairs: list[tuple[Any, Any]] = [
        (jnp.array([x[0], 0.1]), [1.0, tenth]),
        (jnp.pad(x, 1, constant_values=0.1), [tenth, 1.0, 2.0, tenth]),
        (jnp.pad(x, (1, 0), constant_values=[(0.1, 0.2)]), [tenth, 1.0, 2.0]),
        (jnp.diff(x, prepend=0.1), [1.0 - tenth, 1.0]),
        (jnp.ediff1d(x, to_end=0.1), [1.0, tenth]),
        (x.at[0].set(0.1), [tenth, 2.0]),
        (x.at[0].multiply(0.1), [tenth, 2.0]),
        (jnp.sum(x, initial=0.1), 3.0 + tenth),
        (jnp.trapezoid(x, dx=0.1), 1.5 * tenth),
        (jnp.nan_to_num(x / 0 * 0, nan=0.1), [tenth, tenth]),
        (jnp.take(x, 5, mode="fill", fill_value=0.1), tenth),
        (lax.pad(x, 0.1, [(1, 0, 0)]), [tenth, 1.0, 2.0]),
        (lax.add(x, 0.1), [1.0 + tenth, 2.0 + tenth]),
        (lax.full_like(x, 0.1), [tenth, tenth]),
        (lax.convert_element_type(0.1, np.float64), tenth),
    ]
    for i, (found, expected) in enumerate(pairs):
        assert found.dtype == np.float64, i
        np.testing.assert_array_equal(found, expected, err_msg=str(i))

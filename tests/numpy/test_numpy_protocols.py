"""NumPy's own functions on traced arrays: every public name of NumPy's is right, or raises.

``numpy_calls`` has a line for each name, with calls of traced arguments, which are held against
plain NumPy's values and dtypes, and their gradients against central differences. A name that NumPy
gains and the table lacks fails.
"""

import linecache
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy_calls import GONE, OTHERS, TABLE, WITHOUT_ARRAYS, X, Y, public

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.errors import TinyjaxError

pytestmark = pytest.mark.usefixtures("each_tier")

CASES = [(name, call) for name, calls in TABLE.items() for call in calls]
#: NumPy gives floats where all of them happen to be real.
COMPLEX = {"linalg.eig", "linalg.eigvals", "roots"}
#: Gradients that differ from central differences, and why.
OTHER_GRADIENTS = {
    "np.nextafter(x, Y)": "0, as JAX's",
    "np.spacing(x)": "the difference to a constant",
}


def function(call: str) -> Callable[[Any], Any]:
    """Make a function of ``x`` from a line of the table."""
    call = call.lstrip("?!")
    file = f"<{call}>"
    linecache.cache[file] = len(call), None, [call], file
    code = compile(call, file, "eval")

    def fun(x: Any) -> Any:
        scope = {**OTHERS, "X": X, "x": x}
        if re.search(r"\bk\b", call):
            scope["k"] = np.floor(x * 10).astype(np.int64)
        if re.search(r"\bb\b", call):
            scope["b"] = x > 0.5
        with np.errstate(all="ignore"):
            return eval(code, scope)

    return fun


def leaves(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [np.asarray(value)]
    return [
        leaf
        for leaf in tinyjax.tree.leaves(value)
        if isinstance(leaf, np.ndarray | np.generic | jnp.ndarray)
    ]


def same(got: Any, want: Any, call: str, exact: bool = True) -> None:
    """Compare results: their containers, dtypes or kinds of dtypes, shapes and values."""
    if isinstance(want, tuple | list):
        assert type(got) is type(want) or isinstance(got, tuple), (type(got), type(want))
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other, call, exact)
        return
    if not isinstance(want, np.ndarray | np.generic):
        assert got == want
        return
    value = np.asarray(got)
    if any(f"np.{name}(" in call for name in COMPLEX):
        value, want = value.astype(complex), want.astype(complex)
    assert value.shape == want.shape
    if exact:
        assert value.dtype == want.dtype
    assert value.dtype.kind == want.dtype.kind
    rtol = 1e-5 if value.dtype in (np.float32, np.complex64) else 1e-9
    np.testing.assert_allclose(value, want, rtol=rtol, atol=rtol / 10)


def weighted(value: Any, traced: Any) -> Any:
    """A number of all the floats of a result."""
    total = traced.sum() * 0.0
    for n, leaf in enumerate(leaves(value)):
        if leaf.dtype.kind in "fc":
            weights = np.cos(np.arange(leaf.size) + n).reshape(leaf.shape)
            total = (
                total + (leaf.real * weights).sum() + (leaf.imag * weights[..., ::-1]).sum()
                if (leaf.dtype.kind == "c" and leaf.ndim)
                else total + (leaf.real * weights).sum()
            )
    return total


def central(fun: Callable[[Any], Any], size: float) -> Any:
    gradient = np.zeros_like(X)
    for index in np.ndindex(*X.shape):
        step = np.zeros_like(X)
        step[index] = size
        gradient[index] = (fun(X + step) - fun(X - step)) / (2 * size)
    return gradient


def test_every_name_of_numpy_is_known() -> None:
    names = {*public(np), *public(np.linalg), *public(np.fft)} - GONE
    assert names - set(TABLE) - set(WITHOUT_ARRAYS) == set()
    others = {name for name in TABLE if not name.startswith("lib.")}
    assert others - names == set() or np.__version__ < "2.4"


def refuses(name: str, call: str) -> None:
    """Check that a call of traced arrays raises, and names what cannot be done."""
    fun, pair = function(call), np.stack([X, X])

    def called(x: Any) -> Any:
        fun(x)
        return x.sum()

    ways: list[tuple[Any, Any]] = [(tinyjax.jit, X), (tinyjax.vmap, pair)]
    if not re.search(r"\b[bk]\b", call):  # which are data while a derivative is computed
        ways.append((tinyjax.grad, X))
    for transform, value in ways:
        with pytest.raises((TinyjaxError, AttributeError)) as caught:
            transform(called)(jnp.asarray(value))
        if isinstance(caught.value, TinyjaxError):  # others name an attribute that arrays lack
            assert name.rpartition(".")[2] in str(caught.value)


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "call"),
    [  # NumPy's functions take lists for arrays, and hand them on
        pytest.param(name, call, marks=[pytest.mark.wrong_types] * ("([" in call), id=call)
        for name, call in CASES
    ],
)
def test_it_is_right_under_each_transformation(name: str, call: str) -> None:
    if call.startswith("!"):
        refuses(name, call)
        return
    fun, x = function(call), jnp.asarray(X)
    want = fun(X)
    if name in ("allclose", "array_equal", "array_equiv"):  # a bool, which is data
        want = np.asarray(want)
    static = not leaves(want)
    values: list[Any] = []

    def keeping(x: Any) -> Any:
        value = fun(x)
        values.append(value)
        return leaves(value) if static else value

    got = tinyjax.jvp(keeping, (x,), (x,))[0]
    same(values.pop() if static else got, want, call, exact=False)  # bools are not traced here
    if any(leaf.dtype.kind in "fc" for leaf in leaves(want)) and call not in OTHER_GRADIENTS:
        narrow = any(leaf.dtype == np.float32 for leaf in leaves(want))
        gradient = tinyjax.grad(lambda x: weighted(fun(x), x))(x)
        expected = central(lambda x: weighted(fun(x), x), 1e-3 if narrow else 1e-6)
        rtol = 1e-3 if narrow else 1e-5
        np.testing.assert_allclose(gradient, expected, rtol=rtol, atol=rtol / 10)
    if call.startswith("?"):
        with pytest.raises(TinyjaxError):
            tinyjax.jit(fun)(x)
        return
    got = tinyjax.jit(keeping)(x)
    same(values.pop() if static else got, want, call)
    pair = np.stack([X, X[::-1] * 0.9])
    got = tinyjax.vmap(keeping)(jnp.asarray(pair))
    if static:
        same(values.pop(), want, call)
        return
    for i, one in enumerate(pair):
        for mine, other in zip(leaves(got), leaves(fun(one)), strict=True):
            same(mine[i], np.asarray(other), call)


#: What a program does with a result, beside Python's numbers: of each kind of dtype.
USES: dict[str, Callable[[Any], Any]] = {
    "r / 3.0": lambda r: r / 3.0,
    "where(r > 0.2, 1.0, 1 / 3)": lambda r: np.where(r > 0.2, 1.0, 1 / 3),
    "(r > 0.2) * 1.0 / 3": lambda r: (r > 0.2) * 1.0 / 3,
    "r.astype(float) / 3": lambda r: r.astype(float) / 3,
    "sum(r > 0.2) / 3.0": lambda r: (r > 0.2).sum() / 3.0,
    "sqrt(sum(r > 0.2))": lambda r: np.sqrt((r > 0.2).sum() + 2),
    "maximum(r > 0.2, 0.1)": lambda r: np.maximum(r > 0.2, 0.1),
    "[0.1, 0.2] + sum(r > 0.2)": lambda r: np.add((r > 0.2).sum(), [0.1, 0.2]) / 3,
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")
@pytest.mark.sampled(2)
@pytest.mark.wrong_types  # lists are handed on
@pytest.mark.parametrize("turn", range(8))
def test_numbers_beside_results_have_64_bits(turn: int) -> None:
    calls = [call for name, call in CASES if call[0] not in "!?" and name not in COMPLEX]
    functions = {call: function(call) for call in calls[turn::8]}
    uses = [*USES]

    def program(x: Any) -> dict[str, Any]:
        sums: dict[str, Any] = {}
        for n, (call, fun) in enumerate(functions.items()):
            use = uses[(n + turn) % len(uses)]
            for leaf in leaves(fun(x)):
                if leaf.dtype.kind in "bi" or leaf.dtype == np.float64:
                    value = np.sum(USES[use](leaf)) * x[0, 0]
                    sums[f"{use} of {call}"] = sums.get(f"{use} of {call}", 0.0) + value
        return sums

    want, other = program(X), program(X * 0.9)
    ways = {
        "jvp": tinyjax.jvp(program, (X,), (X,))[0],
        "vjp": tinyjax.vjp(program, X)[0],
        "jit": tinyjax.jit(program)(X),
    }
    mapped = tinyjax.vmap(program)(np.stack([X, X * 0.9]))
    for use, value in want.items():
        for way, got in ways.items():
            assert_digits(got[use], value, f"{way}: {use}")
        assert_digits(mapped[use], [value, other[use]], f"vmap: {use}")


def assert_digits(got: Any, want: Any, what: str) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13, err_msg=what)
    assert np.asarray(got).dtype == np.float64, what


# Methods of universal functions

METHODS = """
np.{name}.reduce({x}); np.{name}.reduce({x}, axis=1, keepdims=True); np.{name}.accumulate({x}, 1)
np.{name}.reduceat({x}, [0, 2], axis=1); np.{name}.outer({x}[0], {x}[1])
np.{name}.outer({x}, [1, 2]); !np.{name}.at({x}, 0, 1)
"""
BINARY = sorted(
    {
        ufunc.__name__
        for ufunc in map(np.__dict__.get, np.__all__)
        if isinstance(ufunc, np.ufunc)
        and (ufunc.nin, ufunc.nout, ufunc.signature) == (2, 1, None)
        # NumPy reduces by arctan2 of the first and the last element alone, on some processors
        and ufunc.__name__ not in ("ldexp", "nextafter", "arctan2")
    }
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", BINARY)
def test_methods_of_universal_functions(name: str) -> None:
    letter = "x" if any("dd" in types for types in getattr(np, name).types) else "k"
    for call in METHODS.strip().replace("\n", "; ").format(name=name, x=letter).split("; "):
        try:
            call.startswith("!") or function(call)(X)
        except TypeError:  # NumPy has no loop that gives what it takes
            continue
        test_it_is_right_under_each_transformation(f"{name}.at", call)


@pytest.mark.parametrize(
    "call",
    [
        "np.add.reduce(x, axis=(0, 1))",
        "np.add.reduce(x, None, initial=2.0)",
        "np.add.reduce(x, where=Y > 0.3)",
        "np.add.reduce(b)",
        "np.multiply.reduce(k, axis=1)",
        "np.maximum.reduce(x, axis=1, initial=0.5, where=Y > 0.3)",
        "np.logical_or.reduce(b, axis=None)",
        "np.add.accumulate(b, axis=1)",
        "np.sin(x, dtype=np.float32)",
        "np.add(k, k, dtype=float)",
        "np.sqrt(x, casting='same_kind', order='K', subok=False)",
        "np.multiply(x, [1.0, 2.0, 3.0])",
        "np.add([[1.0, 2.0, 3.0]], x, where=True)",
        "2.0 * np.float64(3) * x + Y - Y * x",
        "np.float64(2) ** x / np.float32(4)",
        "divmod(Y, x)",
        "(Y < x) & (x >= np.float64(0.3))",
        "Y @ x.T",
    ],
)
def test_options_and_operators(call: str) -> None:
    test_it_is_right_under_each_transformation("", call)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("np.sin(x, out=np.zeros((2, 3)))", r"np\.sin cannot write .*tinyjax\.source"),
        ("np.sin(x, where=Y > 0.3)", r"np\.sin: .*jnp\.where"),
        ("np.sin(x, casting='no')", r"np\.sin: casting='no'"),
        ("np.sin(x, signature='d->d')", r"np\.sin: signature="),
        ("np.sum(x, out=np.zeros(()))", r"np\.sum cannot write .*tinyjax\.source"),
        ("np.sum(x, 0, None, np.zeros(3))", r"np\.sum cannot write .*tinyjax\.source"),
        ("np.add(k, k, dtype=np.float32) + np.add(x, x, dtype=np.int8)", "does not become int8"),
        ("np.add.at(np.zeros(3), [0], x[0])", r"np\.add\.at cannot write .*tinyjax\.source"),
        ("np.concatenate([x, x], casting='no')", r"np\.concatenate: casting='no'"),
        ("np.sort(x, order='a')", "order"),
        ("np.median(x, overwrite_input=True)", "leave overwrite_input out"),
        ("np.nanquantile(x, 0.5, overwrite_input=True)", "leave overwrite_input out"),
        ("np.nan_to_num(x, copy=False)", r"np\.nan_to_num cannot write .*copy=False"),
        ("np.nan_to_num(x, False)", r"np\.nan_to_num cannot write .*copy=False"),
        ("np.unravel_index(k, (5, 2), order='F')", r"np\.unravel_index: order='F'"),
        ("np.busday_count(x, x)", r"np\.busday_count does not take traced arrays\. There is none"),
        ("np.emath.sqrt(x)", r"np\.lib\.scimath\.sqrt .*astype\(complex\)"),
        ("np.frompyfunc(float, 1, 1)(x)", "float"),
        ("np.array([x[0], x[1]])", r"Write jnp\.array in place of np\.array"),
        ("np.asanyarray(x)", r"Write jnp\.asarray in place of np\.asanyarray"),
        ("np.float64(x[0, 0])", r"Write x\.astype\(np\.float64\)"),
        ("np.random.default_rng(0).normal(x)", r"tinyjax\.random"),
        ("np.arange(3)[k]", r"jnp\.asarray\(table\)\[x\]"),
        ("math.sin(x[0, 0])", "NumPy's functions? "),
    ],
)
def test_what_cannot_be_done_says_what_to_write(call: str, words: str) -> None:
    with pytest.raises(TinyjaxError, match=words):
        tinyjax.jit(function(call))(X)


def test_writing_into_an_array_of_numpys_names_source() -> None:
    def mutating(x: Any) -> Any:
        a = np.zeros(3)
        a[0] = x[0]
        return a.sum()

    def added(x: Any) -> Any:
        a = np.zeros(3)
        a[:2] += x[:2]
        return a.sum()

    for transform in (tinyjax.jit, tinyjax.grad):
        with pytest.raises(ValueError, match="setting an array element") as caught:
            transform(mutating)(X[0])
        assert "tinyjax.source" in "".join(caught.value.__notes__)
        with pytest.raises(TinyjaxError, match=r"tinyjax\.source"):
            transform(added)(X[0])
    assert tinyjax.source.grad(mutating)(X[0]).tolist() == [1.0, 0.0, 0.0]


#: Statements that change an array of NumPy's.
IN_PLACE = """
y.sort() | y.sort(axis=0) | y.sort(kind="stable") | y.partition(1) | y.fill(1.0) | y.put(0, 1.0)
y.resize(2) | y.byteswap(True) | y.byteswap(inplace=True) | y.setfield(1, float) | y[0] = 1.0
y.setflags(write=False) | np.put(y, 0, 1.0) | np.copyto(y, 1.0) | np.place(y, y > 2, 1.0)
np.putmask(y, y > 2, 1.0) | np.random.default_rng(0).permuted(y, out=y) | random.shuffle(y)
np.sin(y, out=y) | np.add.at(y, 0, 1.0) | np.fill_diagonal(y, 1.0) | y.clip(0, 1, out=y)
np.put_along_axis(y, np.array([0]), 1.0, 0) | np.sum(y, out=y[0]) | y.sum(out=y[0])
y.round(0, out=y) | y.cumsum(out=y) | np.clip(y, 0, 1, out=y) | np.take(y, [0, 1, 0], out=y)
y.shape = 3, 1 | y.dtype = int | y.real = 1.0 | y.imag = 1.0 | y.flat = 1.0 | y.flat[0] = 1.0
y.T[0] = 1.0 | y.real[0] = 1.0 | np.nan_to_num(y, copy=False) | np.ndarray.sort(y) | del y[0]
np.median(y, overwrite_input=True) | np.einsum("i->i", y, out=y) | y.data[0] = 1.0
"""


@pytest.mark.parametrize("statement", [x for x in re.split(r" \| |\n", IN_PLACE) if x])
def test_no_statement_fails_to_change_an_array_in_silence(statement: str) -> None:
    scope: dict[str, Any] = {"np": np, "random": random}
    exec(f"def f(x):\n    y = x * 1.0\n    {statement}\n    return y", scope)
    x = np.array([3.0, 1.0, 2.0])
    for transform in (tinyjax.jit, tinyjax.vmap, lambda f: lambda x: tinyjax.jvp(f, (x,), (x,))):
        with pytest.raises((TinyjaxError, AttributeError, TypeError, ValueError)):
            transform(scope["f"])(np.stack([x, x]) if transform is tinyjax.vmap else x)
    with pytest.raises((TinyjaxError, AttributeError, TypeError, ValueError)):
        scope["f"](jnp.asarray(x))


def test_a_method_that_sorts_returns_another_array() -> None:
    def f(x: Any) -> Any:
        return x.sort().sort(descending=True) + next(map(jnp.ndarray.sort, [x[None]]))

    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(tinyjax.jit(f)(x), [[4.0, 4.0, 4.0]])
    with pytest.raises(TinyjaxError, match=r"write x = x\.sort\(\)"):
        jnp.asarray(x).sort()


def test_an_operator_in_place_rebinds_the_name() -> None:
    def total(x: Any) -> Any:
        a = np.ones(3)
        a += x
        a *= np.float64(2)
        a -= np.sin(x)
        return (a**2).sum()

    np.testing.assert_allclose(tinyjax.jit(total)(X[0]), total(X[0]))
    np.testing.assert_allclose(
        tinyjax.grad(total)(X[0]), 2 * (2 - np.cos(X[0])) * (2 + 2 * X[0] - np.sin(X[0]))
    )


def test_classes_of_others_compute_with_traced_arrays() -> None:
    class Named:
        """A class that wraps arrays, as pint's quantities do."""

        def __init__(self, value: Any) -> None:
            self.value = value

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            values = [x.value if isinstance(x, Named) else x for x in inputs]
            return Named(getattr(ufunc, method)(*values, **options))

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            values = [x.value if isinstance(x, Named) else x for x in args]
            return Named(func(*values, **kwargs))

        def __rmul__(self, other: Any) -> Any:
            return Named(other * self.value)

    def fun(x: Any) -> Any:
        named: Any = Named(Y)
        rows: Any = Named(x[1])
        every: Any = Named(x)
        both = np.multiply(x, named), np.multiply(named, x), np.add.reduce(every), x * named
        chosen: Any = np.where(x > 0.5, named, 0.0)
        total = chosen.value.sum() + np.dot(x[0], rows).value
        return total + sum(one.value.sum() for one in both)

    want = 3 * (X * Y).sum() + X.sum() + Y[X > 0.5].sum() + X[0] @ X[1]
    np.testing.assert_allclose(tinyjax.jit(fun)(X), want)
    np.testing.assert_allclose(tinyjax.grad(fun)(X), 3 * Y + 1 + X[::-1])


def test_special_functions_of_scipy() -> None:
    import scipy.special

    names = "erf erfc expit gammaln logit ndtr psi xlogy i0e log1p expm1 entr"
    for name in names.split():
        ufunc = getattr(scipy.special, name)
        args = (X, X[::-1]) if ufunc.nin == 2 else (X,)
        np.testing.assert_allclose(tinyjax.jit(ufunc)(*args), ufunc(*args), rtol=1e-12)
        slope = (ufunc(args[0] + 1e-6, *args[1:]) - ufunc(args[0] - 1e-6, *args[1:])) / 2e-6
        gradient = tinyjax.grad(lambda x, *rest, f=ufunc: f(x, *rest).sum())(*args)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6)
    other = np.frompyfunc(lambda x: x, 1, 1)  # which nobody knows
    with pytest.raises(TinyjaxError, match=r"\(vectorized\) does not take traced"):
        tinyjax.jit(other)(X)


# Programs written with NumPy alone

W = np.array([[0.3, -0.2], [0.5, 0.8], [-0.7, 0.1]])
T = np.linspace(0.0, 1.0, 7)


def softmax(v: Any) -> Any:
    e = np.exp(v - np.max(v, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def network(x: Any) -> Any:
    hidden = np.tanh(np.dot(x.reshape(2, 3), W) + np.array([0.1, -0.1]))
    return np.mean(np.square(hidden @ np.ones(2) - np.array([0.2, 0.4])))


def ridge(x: Any) -> Any:
    a = np.vander(T, 4)
    y = np.sin(3 * T) * x[0] + x[1]
    w = np.linalg.solve(a.T @ a + np.exp(x[2]) * np.eye(4), a.T @ y)
    return np.sum((a @ w - y) ** 2) + np.linalg.norm(w)


def gaussian_process(x: Any) -> Any:
    k = np.exp(-(np.subtract.outer(T, T) ** 2) / (2 * x[0] ** 2)) * x[1] + x[2] * np.eye(7)
    y = np.cos(4 * T)
    c = np.linalg.cholesky(k)
    half = np.linalg.solve(c, y)
    return 0.5 * half @ half + np.sum(np.log(np.diag(c)))


def runge_kutta(x: Any) -> Any:
    state, h = np.stack([x[0], x[1]]), 0.1

    def slope(s: Any) -> Any:
        return np.stack([s[1], -x[2] * s[0]])

    for _ in range(5):
        k1 = slope(state)
        k2 = slope(state + h / 2 * k1)
        state = state + h * k2
    return np.sum(state**2)


def heat(x: Any) -> Any:
    u = np.sin(np.pi * T) * x[0]
    for _ in range(4):
        inner = u[1:-1] + x[1] * np.diff(u, n=2)
        u = np.concatenate([[0.0], inner, [0.0]])
    return np.trapezoid(u**2, T)


def kalman(x: Any) -> Any:
    mean, variance, total = 0.0, 1.0, 0.0
    for y in np.cos(T):
        variance = variance + x[0] ** 2
        gain = variance / (variance + np.abs(x[1]))
        mean = mean + gain * (y - mean)
        variance = (1 - gain) * variance
        total = total + np.log(variance) + np.square(y - mean)
    return total


def rotation(x: Any) -> Any:
    a, b = np.cos(x[0]), np.sin(x[0])
    r = np.block(
        [
            [np.reshape(a, (1, 1)), np.reshape(-b, (1, 1))],
            [np.reshape(b, (1, 1)), np.reshape(a, (1, 1))],
        ]
    )
    return np.einsum("ij,j,i->", r, np.array([1.0, 2.0]), x[1:3])


def mixture(x: Any) -> Any:
    weights = softmax(x[:3])
    parts = np.log(weights) - 0.5 * (T[:, None] - x[3:6]) ** 2
    top = np.max(parts, axis=1, keepdims=True)
    return -np.sum(np.log(np.sum(np.exp(parts - top), axis=1)) + top[:, 0])


def spectrum(x: Any) -> Any:
    signal = np.sin(2 * np.pi * np.outer(T, x[:3])).sum(axis=1)
    power = np.abs(np.fft.rfft(signal * np.hanning(7))) ** 2
    return np.log(power + 1e-3).sum()


def robust(x: Any) -> Any:
    r = np.polyval([1.0, -2.0, 0.5], x)
    return np.where(np.abs(r) < 0.5, 0.5 * r**2, 0.5 * (np.abs(r) - 0.25)).sum()


def distances(x: Any) -> Any:
    p = x.reshape(3, 2)
    d = p[:, None, :] - p[None, :, :]
    r = np.sqrt(np.sum(d * d, axis=-1) + 1e-2)
    return np.triu(1 / r, k=1).sum()


def kepler(x: Any) -> Any:
    e = x[0]
    for _ in range(5):
        e = e - (e - x[1] * np.sin(e) - x[0]) / (1 - x[1] * np.cos(e))
    return np.arctan2(np.sqrt(1 - x[1] ** 2) * np.sin(e), np.cos(e) - x[1])


def power_iteration(x: Any) -> Any:
    a = x.reshape(2, 3).T @ x.reshape(2, 3) + np.diag([3.0, 1.0, 0.5])
    v = np.ones(3)
    for _ in range(10):
        v = a @ v
        v = v / np.linalg.norm(v)
    return np.vdot(v, a @ v)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: np.sum(softmax(x) * np.arange(6)),
    "network": network,
    "ridge": ridge,
    "gaussian process": gaussian_process,
    "Runge-Kutta": runge_kutta,
    "heat": heat,
    "Kalman": kalman,
    "rotation": rotation,
    "mixture": mixture,
    "spectrum": spectrum,
    "robust": robust,
    "distances": distances,
    "Kepler": kepler,
    "power iteration": power_iteration,
    "logistic": lambda x: np.log1p(np.exp(-(T[:, None] * x).sum(axis=1))).mean(),
    "normal": lambda x: np.sum(-0.5 * ((T - x[0]) / x[1]) ** 2 - np.log(x[1])),
    "entropy": lambda x: -np.sum(softmax(x) * np.log(softmax(x))),
    "variance": lambda x: np.var(x) / np.mean(x) + np.std(x, ddof=1) + np.ptp(x),
    "median": lambda x: np.median(x) + np.percentile(x, 30) + np.quantile(x, 0.9),
    "sorted": lambda x: np.sum(np.sort(x) * np.arange(6)) + np.sort(x)[np.argsort(T[:6])[0]],
    "gini": lambda x: np.abs(np.subtract.outer(x, x)).sum() / (2 * x.size**2 * np.mean(x)),
    "trapezoid": lambda x: np.trapezoid(np.interp(T, [0.0, 0.5, 1.0], x[:3]), T),
    "spline": lambda x: np.interp(x, T, np.cos(T)).sum(),
    "convolution": lambda x: np.sum(np.convolve(x, [1.0, -2.0, 1.0], mode="same") ** 2),
    "moving average": lambda x: np.sum(np.cumsum(x)[3:] - np.cumsum(x)[:-3]),
    "clip": lambda x: (
        np.clip(x, 0.3, 0.7).sum() + np.maximum(x, 0.5).prod() + np.minimum(x, 0.4).sum()
    ),
    "piecewise": lambda x: np.piecewise(
        x, [x < 0.5, x >= 0.5], [lambda v: v**2, lambda v: 1 - v]
    ).sum(),
    "select": lambda x: np.select([x < 0.3, x < 0.6], [x, x**2], default=np.sqrt(x)).sum(),
    "polynomial": lambda x: (
        np.polyval(np.polymul(x[:3], [1.0, 2.0]), 0.7) + np.polyval(np.polyder(x), 0.3)
    ),
    "determinant": lambda x: np.linalg.slogdet(np.outer(x[:3], x[3:]) + np.eye(3))[1],
    "eigenvalues": lambda x: np.linalg.eigvalsh(np.outer(x[:3], x[:3]) + np.diag([1.0, 2.0, 4.0]))[
        1
    ],
    "inverse": lambda x: np.trace(np.linalg.inv(np.outer(x[:2], x[2:4]) + 2 * np.eye(2))),
    "least squares": lambda x: np.linalg.lstsq(np.vander(T, 2), T**2 * x[0], rcond=None)[0] @ x[:2],
    "cross": lambda x: np.dot(np.cross(x[:3], x[3:]), np.array([1.0, 2.0, 3.0])),
    "tensor": lambda x: (
        np.tensordot(x.reshape(2, 3), np.ones((2, 3)), axes=2) * np.kron(x, [1.0, 2.0]).sum()
    ),
    "complex": lambda x: (
        np.abs(np.exp(1j * x).sum()) ** 2 + np.angle(x[0] + 1j * x[1]) + np.real(x).sum()
    ),
    "roll": lambda x: np.sum(np.gradient(x) * np.roll(x, 1)) + np.flip(x)[0] * np.tile(x, 2)[7],
    "padded": lambda x: np.sum(np.pad(x, 2, mode="reflect") * np.arange(10)),
    "factorials": lambda x: (
        np.prod(np.arange(1, 4) * x[:3]) + np.add.reduce(np.multiply.accumulate(x))
    ),
    "hyperbolic": lambda x: np.hypot(np.sinh(x), np.cosh(x)).sum() + np.logaddexp(x, x[::-1]).sum(),
    "masked mean": lambda x: (
        np.mean(x > 0.4) * np.sum(x) + np.average(x, weights=np.arange(1.0, 7.0))
    ),
    "norms": lambda x: sum(np.linalg.norm(x, ord=n) for n in (1, 2, 3, np.inf)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=1).max(),
    "stacked": lambda x: np.vstack([x, x**2]).max(axis=0).sum() + np.hstack((x, 1.0)).sum(),
    "histogram": lambda x: (
        np.histogram(T, 3, (0.0, 1.0), weights=np.append(x, 0.5))[0] @ np.arange(3)
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_numpy_alone(name: str) -> None:
    fun, x = PROGRAMS[name], X.ravel()
    want = fun(x)
    slope = np.array([(fun(x + d) - fun(x - d)) / 2e-6 for d in 1e-6 * np.eye(6)])
    same(tinyjax.jit(fun)(x), want, "")
    same(tinyjax.jvp(fun, (x,), (x,))[0], want, "")
    for gradient in (tinyjax.grad(fun), tinyjax.jit(tinyjax.grad(fun))):
        np.testing.assert_allclose(gradient(x), slope, rtol=1e-6, atol=1e-7)
    pair = np.stack([x, x[::-1]])
    np.testing.assert_allclose(tinyjax.vmap(fun)(pair), [fun(one) for one in pair], rtol=1e-9)
    np.testing.assert_allclose(
        tinyjax.jit(tinyjax.vmap(tinyjax.grad(fun)))(pair)[0], slope, rtol=1e-6, atol=1e-7
    )
    turned = tinyjax.jvp(tinyjax.grad(fun), (x,), (x,))[1]  # forward over reverse
    back = tinyjax.grad(lambda x: np.dot(tinyjax.grad(fun)(x), X.ravel()))(x)
    np.testing.assert_allclose(turned, back, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("upper", [False, True])
def test_one_triangle_of_hermitian_matrices_is_read(dtype: Any, upper: bool) -> None:
    """NaN in the other one does no harm."""
    a = np.random.default_rng(0).normal(size=(2, 3, 3)).astype(dtype)
    if dtype is np.complex128:
        a += 1j * a[::-1]
    positive = a @ np.conj(a.swapaxes(1, 2)) + np.eye(3)
    rows, columns = np.tril_indices(3, -1) if upper else np.triu_indices(3, 1)
    a[:, rows, columns] = positive[:, rows, columns] = np.nan
    uplo: Any = "U" if upper else "L"
    for fun, x in (
        (lambda x: np.linalg.eigvalsh(x, uplo), a),
        (lambda x: np.abs(np.linalg.eigh(x, uplo)[1]), a),
        (lambda x: np.linalg.cholesky(x, upper=upper), positive),
    ):
        np.testing.assert_allclose(tinyjax.jit(fun)(x), fun(x), rtol=1e-10, atol=1e-12)

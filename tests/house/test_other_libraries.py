"""Functions of NumPy, SciPy, pandas and scikit-learn on arrays of ours: what they give on NumPy's.

A call is a function of three arrays: a vector, a square matrix and a vector of integers.
"""

import io
import json
import pickle
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.special
import scipy.stats

import tinyjax.numpy as jnp

V = np.array([0.5, 2.0, 1.0, 3.0], np.float32)
M = np.array([[4.0, 1.0, 0.0, 0.5], [1.0, 3.0, 0.2, 0.0], [0.0, 0.2, 2.0, 0.1], [0.5, 0, 0.1, 5]])
M = M.astype(np.float32)
N = np.array([3, 1, 2, 0], np.int32)

Call = Callable[[Any, Any, Any], Any]


def _named(module: Any, name: str, operands: str) -> Call:
    """A call of a function on some of the three arrays."""
    function = getattr(module, name)

    def call(v: Any, m: Any, n: Any) -> Any:
        given = {"m": (m,), "v": (v,), "v, v[::-1]": (v, v[::-1])}[operands]
        return function(*given)

    return call


NUMPY: dict[str, Call] = {
    **{
        name: _named(np, name, "m")
        for name in (
            [
                "sum",
                "prod",
                "mean",
                "std",
                "var",
                "min",
                "max",
                "argmin",
                "argmax",
                "any",
                "all",
                "cumsum",
                "cumprod",
                "ptp",
                "median",
                "sort",
                "argsort",
                "ravel",
                "transpose",
                "squeeze",
                "diag",
                "diagonal",
                "trace",
                "tril",
                "triu",
                "flip",
                "fliplr",
                "flipud",
                "rot90",
                "copy",
                "nonzero",
                "count_nonzero",
                "flatnonzero",
                "argwhere",
                "unique",
                "sin",
                "cos",
                "exp",
                "log",
                "sqrt",
                "abs",
                "sign",
                "floor",
                "ceil",
                "rint",
                "isnan",
                "isinf",
                "isfinite",
                "square",
                "negative",
                "reciprocal",
                "real",
                "imag",
                "conj",
                "angle",
                "nan_to_num",
                "nansum",
                "nanmean",
                "nanmax",
                "nanmin",
                "nanstd",
                "shape",
                "ndim",
                "size",
                "asarray",
                "array",
                "ascontiguousarray",
                "asfortranarray",
                "atleast_1d",
                "atleast_2d",
                "atleast_3d",
                "zeros_like",
                "ones_like",
                "empty_like",
                "diff",
                "gradient",
                "cov",
                "corrcoef",
                "average",
                "round",
                "array_str",
                "isreal",
                "iscomplex",
                "isrealobj",
                "iscomplexobj",
                "array2string",
                "logical_not",
                "expm1",
                "log1p",
                "tanh",
                "cbrt",
                "nanmedian",
                "linalg_norm",
            ]
        )
        if name not in ("empty_like", "linalg_norm")
    },
    **{
        f"linalg.{name}": _named(np.linalg, name, "m")
        for name in [
            "inv",
            "det",
            "norm",
            "eigvalsh",
            "cholesky",
            "matrix_rank",
            "cond",
            "pinv",
            "slogdet",
            "svd",
            "qr",
            "eigh",
        ]
    },
    **{
        name: _named(np, name, "v, v[::-1]")
        for name in (
            [
                "add",
                "subtract",
                "multiply",
                "divide",
                "power",
                "maximum",
                "minimum",
                "dot",
                "vdot",
                "inner",
                "outer",
                "cross_",
                "arctan2",
                "hypot",
                "equal",
                "not_equal",
                "less",
                "greater",
                "logical_and",
                "logical_or",
                "allclose",
                "isclose",
                "array_equal",
                "convolve",
                "correlate",
                "kron",
                "polyval",
                "interp_",
                "append",
                "hstack_",
                "isin",
                "union1d",
                "intersect1d",
                "setdiff1d",
                "fmax",
                "fmin",
                "copysign",
                "nextafter",
                "heaviside",
                "mod",
                "floor_divide",
                "logaddexp",
                "array_equiv",
            ]
        )
        if not name.endswith("_")
    },
    "concatenate": lambda v, m, n: np.concatenate([v, v]),
    "stack": lambda v, m, n: np.stack([v, v]),
    "vstack": lambda v, m, n: np.vstack([v, v]),
    "hstack": lambda v, m, n: np.hstack([v, v]),
    "dstack": lambda v, m, n: np.dstack([v, v]),
    "column_stack": lambda v, m, n: np.column_stack([v, v]),
    "block": lambda v, m, n: np.block([[m, m], [m, m]]),
    "split": lambda v, m, n: np.split(v, 2),
    "array_split": lambda v, m, n: np.array_split(v, 3),
    "where": lambda v, m, n: np.where(v > 1, v, 0),
    "where of one": lambda v, m, n: np.where(v > 1),
    "select": lambda v, m, n: np.select([v > 1, v > 0], [v, -v]),
    "choose": lambda v, m, n: np.choose(n, [v, v, v, v]),
    "clip": lambda v, m, n: np.clip(v, 0.6, 2.0),
    "take": lambda v, m, n: np.take(v, n),
    "take_along_axis": lambda v, m, n: np.take_along_axis(v, n, 0),
    "reshape": lambda v, m, n: np.reshape(m, (2, 8)),
    "moveaxis": lambda v, m, n: np.moveaxis(m, 0, 1),
    "swapaxes": lambda v, m, n: np.swapaxes(m, 0, 1),
    "expand_dims": lambda v, m, n: np.expand_dims(v, 0),
    "broadcast_to": lambda v, m, n: np.broadcast_to(v, (2, 4)),
    "tile": lambda v, m, n: np.tile(v, 2),
    "repeat": lambda v, m, n: np.repeat(v, 2),
    "roll": lambda v, m, n: np.roll(v, 1),
    "pad": lambda v, m, n: np.pad(v, 1),
    "insert": lambda v, m, n: np.insert(v, 1, 5.0),
    "delete": lambda v, m, n: np.delete(v, 1),
    "searchsorted": lambda v, m, n: np.searchsorted(np.arange(5.0), v),
    "digitize": lambda v, m, n: np.digitize(v, np.arange(3.0)),
    "histogram": lambda v, m, n: np.histogram(v, 3),
    "bincount": lambda v, m, n: np.bincount(n),
    "percentile": lambda v, m, n: np.percentile(v, 30),
    "quantile": lambda v, m, n: np.quantile(v, [0.1, 0.9]),
    "interp": lambda v, m, n: np.interp(v, np.arange(4.0), v),
    "trapezoid": lambda v, m, n: np.trapezoid(v),
    "polyfit": lambda v, m, n: np.polyfit(n, v, 1),
    "einsum": lambda v, m, n: np.einsum("ij,j->i", m, v),
    "tensordot": lambda v, m, n: np.tensordot(m, v, 1),
    "matmul": lambda v, m, n: np.matmul(m, v),
    "vecdot": lambda v, m, n: np.vecdot(m, v) if hasattr(np, "vecdot") else None,
    "apply_along_axis": lambda v, m, n: np.apply_along_axis(np.sum, 0, m),
    "vectorize": lambda v, m, n: np.vectorize(lambda x: x + 1)(v),
    "fromiter": lambda v, m, n: np.fromiter(v, float),
    "lexsort": lambda v, m, n: np.lexsort((v, n)),
    "partition": lambda v, m, n: np.partition(v, 2),
    "argpartition": lambda v, m, n: np.argpartition(v, 2)[2],
    "meshgrid": lambda v, m, n: np.meshgrid(v, n),
    "ix_": lambda v, m, n: m[np.ix_(n, n)],
    "index of NumPy's": lambda v, m, n: np.arange(10.0)[n],
    "fft": lambda v, m, n: np.fft.fft(v),
    "rfft": lambda v, m, n: np.fft.rfft(v),
    "linalg.solve": lambda v, m, n: np.linalg.solve(m, v),
    "linalg.lstsq": lambda v, m, n: np.linalg.lstsq(m, v)[0],
    "linalg.matrix_power": lambda v, m, n: np.linalg.matrix_power(m, 2),
    "linalg.multi_dot": lambda v, m, n: np.linalg.multi_dot([m, m, v]),
    "result_type": lambda v, m, n: np.result_type(v, n),
    "can_cast": lambda v, m, n: np.can_cast(v.dtype, np.float64),
    "ufunc.reduce": lambda v, m, n: np.add.reduce(v),
    "ufunc.accumulate": lambda v, m, n: np.multiply.accumulate(v),
    "ufunc.outer": lambda v, m, n: np.add.outer(v, v),
    "ufunc.at": lambda v, m, n: _scatter(n, v),
    "assignment": lambda v, m, n: _assigned(v),
    "in-place sum": lambda v, m, n: _added(v),
    "NumPy times ours": lambda v, m, n: np.asarray(np.ones(4) * np.asarray(v)),
    "testing": lambda v, m, n: np.testing.assert_allclose(v, v),
    "save": lambda v, m, n: _saved(v),
    "savetxt": lambda v, m, n: _text(m),
    "array of arrays": lambda v, m, n: np.array([v, v]),
    "array of scalars": lambda v, m, n: np.array([v[0], v[1]]),
    "float64": lambda v, m, n: np.float64(v[0]),
    "full": lambda v, m, n: np.full(3, v[0]),
    "linspace": lambda v, m, n: np.linspace(v[0], v[1], 5),
    "arange": lambda v, m, n: np.arange(n[0]),
    "zeros": lambda v, m, n: np.zeros(n[0]),
    "nditer": lambda v, m, n: [plain(x) for x in np.nditer(v)],
    "ndenumerate": lambda v, m, n: [(i, float(x)) for i, x in np.ndenumerate(v)],
    "shares_memory": lambda v, m, n: np.shares_memory(v, np.ones(3)),
    "rng.choice": lambda v, m, n: np.random.default_rng(0).choice(v, 2),
    "rng.permutation": lambda v, m, n: np.random.default_rng(0).permutation(v),
    "rng.multivariate_normal": lambda v, m, n: np.random.default_rng(0).multivariate_normal(v, m),
}


def _scatter(n: Any, v: Any) -> Any:
    total = np.zeros(4)
    np.add.at(total, n, v)
    return total


def _added(v: Any) -> Any:
    total = np.ones(4)
    total += v
    return total


def _assigned(v: Any) -> Any:
    made = np.zeros(4)
    made[:] = v
    return made


def _saved(v: Any) -> Any:
    file = io.BytesIO()
    np.save(file, v)
    file.seek(0)
    return np.load(file)


def _text(m: Any) -> str:
    file = io.StringIO()
    np.savetxt(file, m)
    return file.getvalue()


PYTHON: dict[str, Call] = {
    "sum": lambda v, m, n: sum(v),
    "max": lambda v, m, n: max(v),
    "sorted": lambda v, m, n: sorted(v),
    "list": lambda v, m, n: list(v),
    "zip": lambda v, m, n: dict(zip(range(4), v, strict=True)),
    "index": lambda v, m, n: [1, 2, 3, 4][n[0]],
    "range": lambda v, m, n: list(range(n[0])),
    "round": lambda v, m, n: round(v[0], 1),
    "divmod": lambda v, m, n: divmod(v, 2.0),
    "pow": lambda v, m, n: pow(v, 2),
    "format": lambda v, m, n: f"{v[0]:.3f}",
    "json": lambda v, m, n: json.dumps(v.tolist()),
    "pickle": lambda v, m, n: pickle.loads(pickle.dumps(v)),
    "bytes": lambda v, m, n: bytes(n),
    # before Python 3.12 no class of Python's has the protocol of buffers
    **(
        {"memoryview": lambda v, m, n: memoryview(v).tolist()}
        if sys.version_info >= (3, 12)
        else {}
    ),
    "statistics": lambda v, m, n: statistics.fmean(v),
    "in": lambda v, m, n: 2.0 in v,
    "reversed": lambda v, m, n: list(reversed(v)),
    "enumerate": lambda v, m, n: list(enumerate(v)),
    "complex": lambda v, m, n: complex(v[0]),
}

SCIPY: dict[str, Call] = {
    **{
        f"linalg.{name}": _named(scipy.linalg, name, "m")
        for name in [
            "inv",
            "det",
            "norm",
            "eigvalsh",
            "cholesky",
            "expm",
            "lu",
            "qr",
            "svdvals",
            "pinv",
        ]
    },
    **{
        f"special.{name}": _named(scipy.special, name, "v")
        for name in [
            "gamma",
            "gammaln",
            "erf",
            "expit",
            "logit_",
            "j0",
            "softmax",
            "logsumexp",
            "digamma",
        ]
        if not name.endswith("_")
    },
    **{
        f"stats.{name}": _named(scipy.stats, name, "v")
        for name in [
            "describe",
            "skew",
            "kurtosis",
            "zscore",
            "rankdata",
            "gmean",
            "mode",
            "iqr",
            "sem",
        ]
    },
    "linalg.solve": lambda v, m, n: scipy.linalg.solve(m, v),
    "linalg.lstsq": lambda v, m, n: scipy.linalg.lstsq(m, v)[0],
    "linalg.cho_solve": lambda v, m, n: scipy.linalg.cho_solve(scipy.linalg.cho_factor(m), v),
    "linalg.block_diag": lambda v, m, n: scipy.linalg.block_diag(m, m),
    "optimize.minimize": lambda v, m, n: (
        scipy.optimize.minimize(lambda x: ((x - 1) ** 2).sum(), v).x
    ),
    "optimize.root": lambda v, m, n: scipy.optimize.root(lambda x: x - 1, v).x,
    "optimize.curve_fit": lambda v, m, n: scipy.optimize.curve_fit(lambda x, a: a * x, n, v)[0],
    "optimize.linear_sum_assignment": lambda v, m, n: scipy.optimize.linear_sum_assignment(m),
    "optimize.nnls": lambda v, m, n: scipy.optimize.nnls(m, v)[0],
    "integrate.trapezoid": lambda v, m, n: scipy.integrate.trapezoid(v),
    "integrate.simpson": lambda v, m, n: scipy.integrate.simpson(v),
    "integrate.odeint": lambda v, m, n: scipy.integrate.odeint(lambda y, t: -y, v, [0.0, 1.0]),
    "integrate.solve_ivp": lambda v, m, n: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), v).y,
    "interpolate.interp1d": lambda v, m, n: scipy.interpolate.interp1d(np.arange(4.0), v)(1.5),
    "interpolate.CubicSpline": lambda v, m, n: scipy.interpolate.CubicSpline(np.arange(4.0), v)(
        1.5
    ),
    "signal.convolve": lambda v, m, n: scipy.signal.convolve(v, v),
    "signal.detrend": lambda v, m, n: scipy.signal.detrend(v),
    "signal.lfilter": lambda v, m, n: scipy.signal.lfilter([1.0], [1.0, 0.5], v),
    "fft.fft": lambda v, m, n: scipy.fft.fft(v),
    "fft.dct": lambda v, m, n: scipy.fft.dct(v),
    "sparse.csr_matrix": lambda v, m, n: scipy.sparse.csr_matrix(m).toarray(),
    "sparse times ours": lambda v, m, n: scipy.sparse.csr_matrix(M) @ v,
    "spatial.cdist": lambda v, m, n: scipy.spatial.distance.cdist(m, m),
    "spatial.KDTree": lambda v, m, n: scipy.spatial.KDTree(m).query(m)[1],
    "stats.pearsonr": lambda v, m, n: scipy.stats.pearsonr(v, n)[0],
    "stats.ttest_ind": lambda v, m, n: scipy.stats.ttest_ind(v, v + 1).statistic,
    "stats.norm.logpdf": lambda v, m, n: scipy.stats.norm.logpdf(v),
    "stats.gaussian_kde": lambda v, m, n: scipy.stats.gaussian_kde(v)(v),
}


def fitted(name: str, *arguments: Any) -> Callable[[Any, Any, Any], Any]:
    def call(v: Any, m: Any, n: Any) -> Any:
        sklearn = pytest.importorskip("sklearn")
        del sklearn
        from sklearn import cluster, decomposition, linear_model, neighbors, preprocessing, tree

        for module in (cluster, decomposition, linear_model, neighbors, preprocessing, tree):
            if hasattr(module, name):
                model = getattr(module, name)(*arguments).fit(m, n)
                use = getattr(model, "predict", None) or model.transform
                return use(m)
        raise AssertionError(name)

    return call


SKLEARN: dict[str, Call] = {
    "LinearRegression": fitted("LinearRegression"),
    "Ridge": fitted("Ridge"),
    "LogisticRegression": fitted("LogisticRegression"),
    "PCA": fitted("PCA", 2),
    "StandardScaler": fitted("StandardScaler"),
    "MinMaxScaler": fitted("MinMaxScaler"),
    "KNeighborsClassifier": fitted("KNeighborsClassifier", 1),
    "DecisionTreeClassifier": fitted("DecisionTreeClassifier"),
}


def of_pandas(call: Callable[[Any, Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda v, m, n: call(pytest.importorskip("pandas"), v, m, n)


PANDAS: dict[str, Call] = {
    "Series": of_pandas(lambda pd, v, m, n: pd.Series(v)),
    "Series with an index": of_pandas(lambda pd, v, m, n: pd.Series(v, index=n).sort_index()),
    "DataFrame": of_pandas(lambda pd, v, m, n: pd.DataFrame(m)),
    "DataFrame of columns": of_pandas(lambda pd, v, m, n: pd.DataFrame({"v": v, "n": n})["n"]),
    "a new column": of_pandas(lambda pd, v, m, n: pd.DataFrame({"n": N}).assign(v=v)["v"]),
    "arithmetic": of_pandas(lambda pd, v, m, n: pd.Series(V) + v),
    "a mask": of_pandas(lambda pd, v, m, n: pd.Series(V)[np.asarray(v > 1)]),
    "iloc": of_pandas(lambda pd, v, m, n: pd.Series(V).iloc[np.asarray(n)]),
    "isin": of_pandas(lambda pd, v, m, n: pd.Series(V).isin(np.asarray(v))),
    "cut": of_pandas(lambda pd, v, m, n: pd.cut(v, 3, labels=False)),
    "qcut": of_pandas(lambda pd, v, m, n: pd.qcut(v, 2, labels=False)),
    "factorize": of_pandas(lambda pd, v, m, n: pd.factorize(np.asarray(v))[0]),
    "groupby": of_pandas(lambda pd, v, m, n: pd.Series(V).groupby(np.asarray(n)).sum()),
    "Index": of_pandas(lambda pd, v, m, n: pd.Index(n)),
}


def plain(value: Any) -> Any:
    """A result as nested lists, whatever holds it."""
    if isinstance(value, (str, bytes, bool, type(None), np.dtype)):
        return value
    if hasattr(value, "_asdict"):
        return plain(tuple(value))
    if isinstance(value, dict):
        return {k: plain(x) for k, x in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(x) for x in value]
    return np.asarray(value).tolist()


CALLS = {
    f"{kind} {name}": call
    for kind, calls in (
        ("np", NUMPY),
        ("python", PYTHON),
        ("scipy", SCIPY),
        ("sklearn", SKLEARN),
        ("pandas", PANDAS),
    )
    for name, call in calls.items()
}


def agree(actual: Any, expected: Any) -> None:
    """Compare nested lists of numbers; where these are numbers throughout, as arrays."""
    if isinstance(expected, (list, dict)):
        pairs = (
            zip(actual.values(), expected.values(), strict=True)
            if isinstance(expected, dict)
            else None
        )
        assert len(actual) == len(expected)
        for a, b in pairs or zip(actual, expected, strict=True):
            agree(a, b)
    elif isinstance(expected, (float, complex)):
        np.testing.assert_allclose(actual, expected, rtol=2e-3, atol=1e-4)
    else:
        assert actual == expected


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_results_are_those_on_arrays_of_numpy(name: str) -> None:
    call = CALLS[name]
    wanted = plain(call(V, M, N))
    agree(plain(call(jnp.asarray(V), jnp.asarray(M), jnp.asarray(N))), wanted)

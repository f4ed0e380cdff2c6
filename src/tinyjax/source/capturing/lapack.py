"""LAPACK under capture: what the Python source of ``scipy.linalg`` calls.

Derivatives are in the elements that LAPACK reads: those of a triangle, or of bands. Signs and
phases of eigenvectors are those of LAPACK's own.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax import lax, numpy as jnp
from tinyjax._extensions.callbacks.pure import pure_callback
from tinyjax.core.values import Array
from tinyjax.core.values.avals import ShapeDtypeStruct
from tinyjax.dtypes import HostArray
from tinyjax.scipy import linalg
from tinyjax.source.capturing import ndarrays, overwriting, raising, runs
from tinyjax.source.capturing.ndarrays import plain, value_of, wrap

#: What computes functions in Fortran or C, by their modules and names, if an argument is traced.
COUNTERPARTS: Final[dict[str, Callable[..., Any]]] = {}
#: The module of functions in Fortran, which have none.
FORTRAN: Final = "fortran"


def _computes(*names: str) -> Callable[[Any], Any]:
    """Register what computes functions of LAPACK's of all four kinds of numbers.

    It takes the arguments by LAPACK's names, and returns the results but the last, ``info``.
    """

    def register(apply: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            for kind in "sdcz":
                COUNTERPARTS[f"{FORTRAN}.{kind}{name}"] = functools.partial(_called, apply)
        return apply

    return register


@functools.cache
def _parameters(signature: str) -> list[str]:
    """Return the names of parameters, of a text as ``x,info = dtrtrs(a,b,[lower])``."""
    return re.findall(r"\w+", signature.partition("(")[2])


def _called(apply: Any, function: Any, *args: Any, **options: Any) -> Any:
    names = _parameters(function.__doc__.partition("\n")[0])
    arguments = {**dict(zip(names, args, strict=False)), **options}
    values = {n: value_of(x) if np.ndim(x) else plain(x) for n, x in arguments.items()}
    results = wrap(apply(function, **values))
    failure = raising.check_finite(function, args, options, results)
    overwriting.undefine(
        [
            array
            for name, array in arguments.items()
            if plain(arguments.get(overwriting.PREFIX + name)) and ndarrays.is_array(array)
        ]
    )
    return *results, 0 if failure is None else failure[-1]


def _function(module: str, *names: str) -> Callable[[Any], Any]:
    """Register what computes functions of Python's or in C, of a module of SciPy's."""

    def register(apply: Callable[..., Any]) -> Callable[..., Any]:
        def checked(g: Any, *args: Any, **options: Any) -> Any:
            result = wrap(apply(g, *args, **options))
            if result is not NotImplemented:
                raising.check_finite(g, args, options, result)
            return result

        for name in names:
            COUNTERPARTS[f"scipy.linalg.{module}.{name}"] = checked
        return apply

    return register


def _conj_transposed(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _hermitian(a: Array, lower: Any) -> Array:
    """Return the Hermitian matrix of which a triangle is known."""
    strict = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    return strict + _conj_transposed(strict) + jnp.diag(jnp.real(jnp.diagonal(a)))


def _put_triangle(a: Array, triangle: Array, lower: Any) -> Array:
    """Return a matrix with another triangle in its own."""
    mask = np.tri(a.shape[0], a.shape[1]) != 0
    return jnp.where(mask if lower else mask.T, triangle, a)


# Bands: element (i, j) of a matrix is in column j, in row ``above + i - j``.


def _diagonal(ab: Array, above: int, offset: int) -> Array:
    """Return the elements (j + offset, j) of a matrix in bands."""
    n = ab.shape[1]
    return ab[above + offset, max(0, -offset) : n - max(0, offset)]


def _in_column(diagonal: Array, offset: int, n: int) -> Array:
    """Return elements (j + offset, j) of a matrix, each in the place of its column."""
    before = min(max(0, -offset), n)
    return jnp.pad(diagonal, (before, n - before - diagonal.shape[0]))


def _transposed_bands(ab: Array, above: int) -> Array:
    below = ab.shape[0] - 1 - above
    rows = [
        _in_column(_diagonal(ab, above, -offset), offset, ab.shape[1])
        for offset in range(-below, above + 1)
    ]
    return jnp.stack(rows)


def _hermitian_bands(ab: Array, lower: Any) -> Array:
    """Return all bands of a Hermitian matrix, of those of a triangle."""
    if not lower:
        ab = jnp.conj(_transposed_bands(ab, ab.shape[0] - 1))
    return jnp.concatenate(
        [jnp.conj(_transposed_bands(ab, 0))[:-1], jnp.real(ab[:1]).astype(ab.dtype), ab[1:]]
    )


def _dense(ab: Array, above: int) -> Array:
    """Return a matrix of its bands."""
    n = ab.shape[1]
    offsets = np.subtract.outer(np.arange(n), np.arange(n))
    rows = above + offsets
    inside = (rows >= 0) & (rows < ab.shape[0])
    return jnp.where(inside, ab[np.where(inside, rows, 0), np.arange(n)], 0)


def _bands(a: Array | HostArray, count: int, lower: Any) -> Array:
    """Return the bands of a triangle of a matrix."""
    n = a.shape[0]
    offsets = range(count) if lower else range(1 - count, 1)
    return jnp.stack([_in_column(jnp.diagonal(a, -k), k, n) for k in offsets])


def _solve_by_hermitian(ab: HostArray, above: int, b: HostArray) -> HostArray:
    solution: HostArray = _scipy().solveh_banded(ab[: above + 1], b)
    return solution


def _solve_by_general(ab: HostArray, above: int, b: HostArray) -> HostArray:
    solution: HostArray = _scipy().solve_banded((len(ab) - 1 - above, above), ab, b)
    return solution


def _scipy() -> Any:
    return importlib.import_module("scipy.linalg")


def _solve_bands(ab: Array, above: int, b: Array, solve: Any = _solve_by_general) -> Array:
    """Solve a system with a matrix in bands, by SciPy; NaN where it raises."""
    dtype = jnp.result_type(ab, b)
    ab, b = ab.astype(dtype), b.astype(dtype)

    def on_host(matrix: Any, right: Any, above: int) -> HostArray:
        matrix, right = np.asarray(matrix), np.asarray(right)
        try:
            solution: HostArray = solve(matrix, above, right).astype(right.dtype)
        except (np.linalg.LinAlgError, ValueError):
            solution = np.full_like(right, np.nan)
        return solution

    def solver(ab: Array, above: int) -> Callable[[Any, Array], Any]:
        return lambda _, right: pure_callback(
            functools.partial(on_host, above=above),
            ShapeDtypeStruct(right.shape, right.dtype),
            lax.stop_gradient(ab),
            right,
            vmap_method="sequential",
        )

    def product(x: Array) -> Array:
        columns = x.reshape(x.shape[0], -1)
        n = len(columns)
        total = jnp.zeros_like(columns)
        for offset in range(max(-above, 1 - n), min(ab.shape[0] - above, n)):
            factors = _diagonal(ab, above, offset)[:, None]
            start = max(0, -offset)
            terms = factors * columns[start : start + len(factors)]
            total = total.at[start + offset : start + offset + len(factors)].add(terms)
        return total.reshape(x.shape)

    transposed = _transposed_bands(ab, above), ab.shape[0] - 1 - above
    solution: Array = lax.custom_linear_solve(product, b, solver(ab, above), solver(*transposed))
    return solution


@_computes("gbsv")
def _gbsv(_: Any, kl: int, ku: int, ab: Array, b: Array, **options: Any) -> Any:
    return None, None, _solve_bands(ab[kl:], ku, b)


@_computes("gtsv")
def _gtsv(_: Any, dl: Array, d: Array, du: Array, b: Array, **options: Any) -> Any:
    n = d.shape[0]
    ab = jnp.stack([_in_column(x, k, n) for x, k in ((du, -1), (d, 0), (dl, 1))])
    return None, None, None, _solve_bands(ab, 1, b)


@_computes("ptsv")
def _ptsv(_: Any, d: Array, e: Array, b: Array, **options: Any) -> Any:
    ab = _hermitian_bands(jnp.stack([d.astype(e.dtype), jnp.pad(e, (0, 1))]), True)
    return None, None, _solve_bands(ab, 1, b, _solve_by_hermitian)


@_computes("pbsv")
def _pbsv(_: Any, ab: Array, b: Array, lower: Any = False, **options: Any) -> Any:
    matrix = _hermitian_bands(ab, lower)
    return None, _solve_bands(matrix, ab.shape[0] - 1, b, _solve_by_hermitian)


@_computes("pbtrf")
def _pbtrf(_: Any, ab: Array, lower: Any = False, **options: Any) -> Any:
    above = ab.shape[0] - 1
    factor = linalg.cholesky(_dense(_hermitian_bands(ab, lower), above), bool(lower))
    inside = _bands(np.ones(factor.shape, bool), ab.shape[0], lower)
    return (jnp.where(inside, _bands(factor, ab.shape[0], lower), ab),)


@_computes("pbtrs")
def _pbtrs(_: Any, ab: Array, b: Array, lower: Any = False, **options: Any) -> Any:
    above = ab.shape[0] - 1
    factor = jnp.conj(_transposed_bands(ab, 0)) if lower else ab
    inner = _solve_bands(jnp.conj(_transposed_bands(factor, above)), 0, b)
    return (_solve_bands(factor, above, inner),)


# Triangles and factors


@_computes("potrf")
def _potrf(_: Any, a: Array, lower: Any = False, clean: Any = True, **options: Any) -> Any:
    factor = linalg.cholesky(_hermitian(a, lower), bool(lower))
    return (factor if clean else _put_triangle(a, factor, lower),)


@_computes("potrs")
def _potrs(_: Any, c: Array, b: Array, lower: Any = False, **options: Any) -> Any:
    return (linalg.cho_solve((c, bool(lower)), b),)


@_computes("potri")
def _potri(_: Any, c: Array, lower: Any = False, **options: Any) -> Any:
    inverse = linalg.cho_solve((c, bool(lower)), jnp.eye(c.shape[0], dtype=c.dtype))
    return (_put_triangle(c, inverse, lower),)


@_computes("trtrs")
def _trtrs(
    _: Any, a: Array, b: Array, lower: Any = False, trans: Any = 0, unitdiag: Any = 0, **o: Any
) -> Any:
    return (linalg.solve_triangular(a, b, int(trans), bool(lower), bool(unitdiag)),)


@_computes("trtri")
def _trtri(_: Any, c: Array, lower: Any = False, unitdiag: Any = 0, **options: Any) -> Any:
    eye = jnp.eye(c.shape[0], dtype=c.dtype)
    inverse = linalg.solve_triangular(c, eye, 0, bool(lower), bool(unitdiag))
    inverse = _put_triangle(c, inverse, lower)
    return (jnp.where(eye != 0, c, inverse) if unitdiag else inverse,)


@_computes("getrf")
def _getrf(_: Any, a: Array, **options: Any) -> Any:
    return linalg.lu_factor(a)


@_computes("getrs")
def _getrs(_: Any, lu: Array, piv: Array, b: Array, trans: Any = 0, **options: Any) -> Any:
    return (linalg.lu_solve((lu, piv), b, int(trans)),)


@_computes("gesv")
def _gesv(_: Any, a: Array, b: Array, **options: Any) -> Any:
    factors = linalg.lu_factor(a)
    return *factors, linalg.lu_solve(factors, b)


# Eigenvalues


def _eigh(function: Any, a: Array, arguments: dict[str, Any], factor: Array | None = None) -> Any:
    """Return eigenvalues in a range and their vectors, with the signs of a function's.

    Args:
        function: the function, whose second result has the vectors in its columns.
        a: the matrix.
        arguments: those of the function.
        factor: the triangular ``L`` of a general problem, whose vectors are those of ``a`` after
            the inverse of ``L^H``.
    """
    values, vectors = jnp.linalg.eigh(a, symmetrize_input=False)
    chosen: Any = slice(None)
    kind = arguments.get("range", "A")
    if kind in (1, "V"):
        low, high = arguments["vl"], arguments["vu"]
        chosen = np.flatnonzero(runs.decide((values > low) & (values <= high)))
    elif kind in (2, "I"):
        chosen = slice(arguments["il"] - 1, arguments["iu"])
    values, vectors = values[chosen], vectors[:, chosen]
    if not arguments.get("compute_v", 1) or arguments.get("jobz") == "N":
        return values, None, len(values)
    if factor is not None:
        vectors = linalg.solve_triangular(factor, vectors, 2, lower=True)
    arrays = {name: x for name, x in arguments.items() if isinstance(x, Array)}

    def theirs(*data: Any) -> HostArray:
        given = {**arguments, **dict(zip(arrays, map(np.asarray, data), strict=True))}
        given |= {name: 0 for name in given if name.startswith(overwriting.PREFIX)}
        signed: HostArray = function(**given)[1]
        return signed[:, : vectors.shape[1]]

    signs = pure_callback(
        theirs,
        ShapeDtypeStruct(vectors.shape, vectors.dtype),
        *map(lax.stop_gradient, arrays.values()),
        vmap_method="sequential",
    )
    products = jnp.sum(jnp.conj(lax.stop_gradient(vectors)) * signs, axis=0)
    return values, vectors * (products / jnp.abs(products)), len(values)


@_computes(*[f"{kind}ev{way}" for kind in ("sy", "he") for way in ("", "d")])
def _syev(function: Any, **arguments: Any) -> Any:
    return _eigh(function, _hermitian(arguments["a"], arguments.get("lower")), arguments)[:2]


@_computes(*[f"{kind}ev{way}" for kind in ("sy", "he") for way in ("r", "x")])
def _syevr(function: Any, **arguments: Any) -> Any:
    a = _hermitian(arguments["a"], arguments.get("lower"))
    return *_eigh(function, a, arguments), None


@_computes(*[f"{kind}gv{way}" for kind in ("sy", "he") for way in ("", "d", "x")])
def _sygv(function: Any, **arguments: Any) -> Any:
    if arguments.get("itype", 1) != 1:
        raise runs.refusal("scipy.linalg.eigh with type=2 or 3")
    lower = arguments.get("uplo", "L") == "L"
    factor = linalg.cholesky(_hermitian(arguments["b"], lower), lower=True)
    half = linalg.solve_triangular(factor, _hermitian(arguments["a"], lower), lower=True)
    a = linalg.solve_triangular(factor, _conj_transposed(half), lower=True)
    values, vectors, count = _eigh(function, _hermitian(a, True), arguments, factor)
    return (values, vectors, count, None) if "x" in function.__name__[-1] else (values, vectors)


@_computes("sbevd", "hbevd")
def _sbevd(function: Any, **arguments: Any) -> Any:
    return _sbevx(function, **arguments)[:2]


@_computes("sbevx", "hbevx")
def _sbevx(function: Any, **arguments: Any) -> Any:
    ab = arguments["ab"]
    a = _dense(_hermitian_bands(ab, arguments.get("lower")), ab.shape[0] - 1)
    return *_eigh(function, a, arguments), None


@_function("_decomp", "eigh_tridiagonal")
def _eigh_tridiagonal(
    g: Any,
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = "a",
    *args: Any,
    **options: Any,
) -> Any:
    bounds: Any = args[0] if args else options.get("select_range")
    diagonal, below = value_of(d), value_of(e)
    arguments: dict[str, Any] = {"d": diagonal, "e": below, "compute_v": not eigvals_only}
    if select in {"v", 1}:
        arguments |= {"range": "V", "vl": plain(bounds[0]), "vu": plain(bounds[1])}
    elif select in {"i", 2}:
        arguments |= {"range": "I", "il": plain(bounds[0]) + 1, "iu": plain(bounds[1]) + 1}
    matrix = jnp.diag(diagonal) + jnp.diag(below, 1) + jnp.diag(below, -1)

    def theirs(d: Any, e: Any, **unused: Any) -> Any:
        return g(d, e, False, select, *args, **options)

    values, vectors, _ = _eigh(theirs, matrix, arguments)
    return values if eigvals_only else (values, vectors)


# Functions of scipy.linalg


@_function("_basic", "lstsq")
def _lstsq(
    g: Any,
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    matrix, right = value_of(a), value_of(b)
    is_by_values = lapack_driver != "gelsy"  # which takes each threshold as it is
    is_part = cond is None or 0 < plain(cond) < 1
    if matrix.ndim != 2 or not matrix.size or not (is_by_values or is_part):
        return NotImplemented
    dtype = jnp.result_type(matrix, right, np.float32)
    matrix, right = matrix.astype(dtype), right.astype(dtype)
    m, n = matrix.shape
    threshold = np.finfo(dtype).eps if cond is None else plain(cond)
    x, _, count, values = jnp.linalg.lstsq(matrix, right, threshold)
    rank = np.int64(runs.decide(count))
    residuals = jnp.zeros(0, dtype)
    if is_by_values and m > n == rank:
        residuals = jnp.sum(jnp.abs(right - matrix @ x) ** 2, axis=0)
    options = {"overwrite_a": overwrite_a, "overwrite_b": overwrite_b}
    overwriting.undefine(overwriting.overwritten(g, (a, b), options))
    return x, residuals, rank, values if is_by_values else None


@_function("_solve_toeplitz", "levinson")
def _levinson(g: Any, diagonals: Any, b: Any) -> Any:
    """Solve with a Toeplitz matrix, of its diagonals from the upper right."""
    n = np.size(b)
    places = n - 1 + np.subtract.outer(np.arange(n), np.arange(n))
    return jnp.linalg.solve(value_of(diagonals)[places], value_of(b)), None


@_function("_cythonized_array_utils", "bandwidth", "issymmetric", "ishermitian")
def _structure(g: Any, a: Any, *args: Any, **options: Any) -> Any:
    """Decide on the structure of a matrix by its elements that are not zero, or by differences."""
    x = value_of(a)
    if g.__name__ == "bandwidth":
        return g(np.asarray(runs.decide(x != 0), np.float64))
    other = _conj_transposed(x) if g.__name__ == "ishermitian" else x.T
    rtol, atol = (plain(options.get(name)) or 0.0 for name in ("rtol", "atol"))
    if args or x.shape[0] != x.shape[1]:
        return NotImplemented
    return bool(runs.decide(jnp.allclose(x, other, rtol, atol)))


_MATRIX: Final = 2
#: Of a matrix, what solvers of a structure read: by the numbers that ``scipy.linalg.solve`` has.
_READ: Final[dict[int, Callable[[Array, bool], Array]]] = {
    0: lambda a, lower: a,
    11: lambda a, lower: jnp.diag(jnp.diagonal(a)),
    21: lambda a, lower: jnp.triu(a),
    22: lambda a, lower: jnp.tril(a),
    31: lambda a, lower: jnp.triu(jnp.tril(a, 1), -1),
    101: _hermitian,
    211: _hermitian,
}


@_function("_basic", "solve0")
def _solve_banded(g: Any, a: Any, b: Any, *args: Any, **options: Any) -> Any:
    """Solve with a matrix in which SciPy looks for bands, so that it reads all elements."""
    if args or options["assume_a"] != "banded" or options["transposed"] or np.ndim(a) > _MATRIX:
        return NotImplemented
    return jnp.linalg.solve(value_of(a), value_of(b))


def _solve(g: Any, a: Any, b: Any, structure: int, lower: Any, transposed: Any, *args: Any) -> Any:
    x, y = value_of(a), value_of(b)
    if structure not in _READ or x.ndim > _MATRIX:
        return NotImplemented
    matrix = _READ[structure](x, bool(lower))
    solution = wrap(jnp.linalg.solve(matrix.T if transposed else matrix, y))
    arguments = (a, b, structure, lower, transposed, *args)
    failure = raising.check_finite(g, arguments, {}, solution)
    return solution, [] if failure is None else failure[1]


COUNTERPARTS["scipy.linalg._batched_linalg._solve"] = _solve

"""Calls of every function of the array API standard, drawn by hypothesis.

A call is a name within the namespace, and arguments in which NumPy arrays stand for arrays.
"""

from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

Args = tuple[tuple[Any, ...], dict[str, Any]]
Strategy = st.SearchStrategy[Args]

BOOL: Final = ("bool",)
SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
WHOLE: Final = (*SIGNED, *UNSIGNED)
FLOAT: Final = ("float32", "float64")
COMPLEX: Final = ("complex64", "complex128")
INEXACT: Final = (*FLOAT, *COMPLEX)
REAL: Final = (*WHOLE, *FLOAT)
NUMERIC: Final = (*WHOLE, *INEXACT)
ANY: Final = (*BOOL, *NUMERIC)

SHAPES: Final = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
FULL: Final = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3)

SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 3.0)


def elements(dtype: str, plain: bool = False) -> st.SearchStrategy[Any]:
    """Values of a dtype; special ones too, unless plain ones are wanted."""
    if dtype == "bool":
        return st.booleans()
    if dtype.startswith(("int", "uint")):
        ends = np.iinfo(dtype)
        low = max(int(ends.min), -5)
        return st.integers(low, 5) if plain else st.integers(int(ends.min), int(ends.max))
    part = st.sampled_from([k / 4 for k in range(-12, 13)])
    if not plain:
        part = st.one_of(st.sampled_from(SPECIAL), part)
    return part if dtype.startswith("float") else st.builds(complex, part, part)


def array(
    dtypes: tuple[str, ...], shapes: Any = SHAPES, plain: bool = False
) -> st.SearchStrategy[Any]:
    """An array of one of some dtypes, which may be a view with other strides."""
    made = st.sampled_from(dtypes).flatmap(
        lambda d: hnp.arrays(d, shapes, elements=elements(d, plain), fill=st.nothing())
    )
    return st.builds(lambda x, turn: x.T.copy().T if turn else x, made, st.booleans())


def calls(*args: Any, **kwargs: Any) -> Strategy:
    """Calls whose arguments are drawn from strategies."""
    return st.tuples(st.tuples(*args), st.fixed_dictionaries(kwargs))


def unary(dtypes: tuple[str, ...], plain: bool = False) -> Strategy:
    return calls(array(dtypes, plain=plain))


@st.composite
def pairs(draw: Any, dtypes: tuple[str, ...], plain: bool = False) -> Args:
    """Two arrays that broadcast and promote, or an array and a number."""
    first = draw(st.sampled_from(dtypes))
    group = next(g for g in (BOOL, SIGNED, UNSIGNED, INEXACT) if first in g)
    second = draw(st.sampled_from([d for d in dtypes if d in group]))
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    x, y = [
        draw(hnp.arrays(d, shape, elements=elements(d, plain)))
        for d, shape in zip((first, second), shapes.input_shapes, strict=True)
    ]
    return (x, y), {}


def divided(call: Args) -> Args:
    """The same without zeros among integers to divide by, of which the standard says nothing."""
    (x, y), _ = call
    return (x, np.where(y == 0, 1, y).astype(y.dtype) if y.dtype.kind in "iu" else y), {}


@st.composite
def with_axis(
    draw: Any,
    /,
    dtypes: tuple[str, ...],
    several: bool = True,
    required: bool = False,
    shapes: Any = FULL,
    plain: bool = True,
    **options: Any,
) -> Args:
    """An array and an axis, or several of them, or none."""
    x = draw(array(dtypes, shapes, plain))
    one: st.SearchStrategy[Any] = st.integers(-x.ndim, x.ndim - 1)
    kinds: list[st.SearchStrategy[Any]] = [one] if required else [one, st.none()]
    if several:
        kinds.append(st.permutations(range(x.ndim)).map(lambda p: tuple(p[: len(p) // 2 + 1])))
    kwargs = {k: draw(v) for k, v in options.items()}
    return (x,), {"axis": draw(st.one_of(*kinds)), **kwargs}


@st.composite
def joined(draw: Any, stack: bool) -> Args:
    shape = draw(FULL)
    dtype = draw(st.sampled_from(NUMERIC))
    count = draw(st.integers(1, 3))
    parts = [draw(hnp.arrays(dtype, shape, elements=elements(dtype, True))) for _ in range(count)]
    n = len(shape) + stack
    return (parts,), {"axis": draw(st.integers(-n, n - 1))}


@st.composite
def products(draw: Any, name: str) -> Args:
    """Operands of a product of vectors or matrices."""
    dtype = draw(st.sampled_from(NUMERIC))
    m, k, n = [draw(st.integers(1, 3)) for _ in range(3)]
    shapes = {
        "matmul": [((m, k), (k, n)), ((k,), (k, n)), ((2, m, k), (k, n)), ((k,), (k,))],
        "vecdot": [((m, k), (k,)), ((k,), (k,))],
        "tensordot": [((m, k), (k, n)), ((k,), (k,))],
    }[name]
    x, y = [
        draw(hnp.arrays(dtype, shape, elements=elements(dtype, True)))
        for shape in draw(st.sampled_from(shapes))
    ]
    return (x, y), {"axes": 1} if name == "tensordot" else {}


@st.composite
def reshaped(draw: Any) -> Args:
    x = draw(array(ANY, FULL, True))
    target = draw(st.sampled_from([(x.size,), (-1,), (1, x.size), x.shape[::-1], (-1, 1)]))
    return (x, target), {}


@st.composite
def moved(draw: Any) -> Args:
    x = draw(array(ANY, FULL, True))
    axis = st.integers(-x.ndim, x.ndim - 1)
    return (x, draw(axis), draw(axis)), {}


@st.composite
def permuted(draw: Any) -> Args:
    x = draw(array(ANY, FULL, True))
    return (x, tuple(draw(st.permutations(range(x.ndim))))), {}


@st.composite
def indexed(draw: Any, along: bool) -> Args:
    x = draw(array(ANY, FULL, True))
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    shape = list(x.shape) if along else [draw(st.integers(0, 3))]
    n = x.shape[axis]
    places = draw(hnp.arrays("int64", tuple(shape), elements=st.integers(0, n - 1)))
    return (x, places), {"axis": axis}


@st.composite
def rolled(draw: Any) -> Args:
    x = draw(array(ANY, FULL, True))
    axis = draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    return (x, draw(st.integers(-4, 4))), {"axis": axis}


@st.composite
def clipped(draw: Any) -> Args:
    x = draw(array(REAL, SHAPES, True))
    low, high = sorted([draw(elements(str(x.dtype), True)) for _ in range(2)])
    ends = [draw(st.sampled_from([None, v, np.asarray(v, x.dtype)])) for v in (low, high)]
    return (x, *ends), {}


@st.composite
def shifts(draw: Any) -> Args:
    x = draw(array(WHOLE))
    bits = 8 * x.dtype.itemsize
    return (x, draw(hnp.arrays(x.dtype, x.shape, elements=st.integers(0, bits - 1)))), {}


@st.composite
def searched(draw: Any) -> Args:
    dtype = draw(st.sampled_from(REAL))
    x = draw(hnp.arrays(dtype, st.integers(1, 4), elements=elements(dtype, True)))
    v = draw(hnp.arrays(dtype, SHAPES, elements=elements(dtype, True)))
    return (np.sort(x), v), {"side": draw(st.sampled_from(["left", "right"]))}


@st.composite
def ranges(draw: Any) -> Args:
    number = st.integers(-5, 5)
    step = draw(st.sampled_from([1, 2, -1, 0.5]))
    return (draw(number), draw(number), step), {
        "dtype": draw(st.sampled_from([None, "float32", "float64"]))
    }


@st.composite
def repeated(draw: Any) -> Args:
    x = draw(array(ANY, FULL, True))
    axis = draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    return (x, draw(st.integers(0, 3))), {"axis": axis}


def dtype_or(*others: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([*others, *NUMERIC])


#: A matrix that has an inverse, or several.
REGULAR: Final = st.sampled_from(INEXACT).flatmap(
    lambda d: hnp.arrays(
        d, st.sampled_from([(2, 2), (3, 3), (2, 3, 3)]), elements=elements(d, True)
    ).map(lambda x: (x + 20 * np.eye(x.shape[-1])).astype(d))
)
#: The same, symmetric or Hermitian, and positive definite.
DEFINITE: Final = REGULAR.map(lambda x: (x + x.conj().swapaxes(-1, -2)).astype(x.dtype))
MATRIX: Final = array(INEXACT, hnp.array_shapes(min_dims=2, max_dims=3, max_side=3), True)
ANY_MATRIX: Final = array(NUMERIC, hnp.array_shapes(min_dims=2, max_dims=3, max_side=3), True)
LINE: Final = array(NUMERIC, st.tuples(st.integers(1, 3)), True)
FLAG: Final = st.booleans()
SHAPE: Final = st.sampled_from([(), (2,), (0, 2), (2, 3)])
OFFSET: Final = st.integers(-3, 3)

_NAMES: Final[dict[tuple[str, ...], str]] = {
    INEXACT: "acos acosh asin asinh atan atanh cos cosh exp log log1p log2 log10 sin sinh sqrt",
    NUMERIC: "abs negative positive square sign round isfinite isinf isnan real conj",
    REAL: "ceil floor trunc",
    COMPLEX: "imag",
    FLOAT: "signbit reciprocal",
    (*BOOL, *WHOLE): "bitwise_invert",
    BOOL: "logical_not",
}
_PAIRS: Final[dict[tuple[str, ...], str]] = {
    NUMERIC: "add subtract multiply",
    INEXACT: "divide",
    FLOAT: "atan2 copysign hypot logaddexp nextafter",
    REAL: "maximum minimum less less_equal greater greater_equal",
    ANY: "equal not_equal",
    (*BOOL, *WHOLE): "bitwise_and bitwise_or bitwise_xor",
    BOOL: "logical_and logical_or logical_xor",
}

#: Every function of the standard, and the calls of it.
CALLS: Final[dict[str, Strategy]] = {
    **{name: unary(kinds) for kinds, names in _NAMES.items() for name in names.split()},
    **{name: pairs(kinds) for kinds, names in _PAIRS.items() for name in names.split()},
    # of infinite complex numbers strict's have NumPy's values, which are not the standard's
    **{
        name: st.one_of(unary(FLOAT), unary(COMPLEX, plain=True))
        for name in ("expm1", "tan", "tanh")
    },
    "floor_divide": pairs(REAL).map(divided),
    "remainder": pairs(REAL).map(divided),
    "pow": pairs(INEXACT, True),
    "bitwise_left_shift": shifts(),
    "bitwise_right_shift": shifts(),
    "clip": clipped(),
    # creation
    "arange": ranges(),
    "asarray": calls(array(ANY), dtype=st.none(), copy=st.sampled_from([None, True])),
    "empty": calls(SHAPE, dtype=dtype_or(None)),
    "empty_like": calls(array(ANY), dtype=dtype_or(None)),
    "eye": calls(st.integers(0, 3), st.integers(0, 3), k=OFFSET, dtype=dtype_or(None)),
    "full": calls(SHAPE, st.sampled_from([True, 2, 0.5, 1j])),
    "full_like": calls(array(REAL), st.integers(0, 3)),
    "linspace": calls(st.integers(-3, 3), st.integers(-3, 3), num=st.integers(0, 5), endpoint=FLAG),
    "meshgrid": calls(LINE, LINE.map(np.copy), indexing=st.sampled_from(["xy", "ij"])).map(
        lambda call: ((call[0][0], call[0][0]), call[1])
    ),
    "ones": calls(SHAPE, dtype=dtype_or(None)),
    "ones_like": calls(array(ANY), dtype=dtype_or(None)),
    "tril": calls(ANY_MATRIX, k=OFFSET),
    "triu": calls(ANY_MATRIX, k=OFFSET),
    "zeros": calls(SHAPE, dtype=dtype_or(None)),
    "zeros_like": calls(array(ANY), dtype=dtype_or(None)),
    # reductions and searching
    "max": with_axis(REAL, keepdims=FLAG),
    "min": with_axis(REAL, keepdims=FLAG),
    "mean": with_axis(INEXACT, keepdims=FLAG),
    "prod": with_axis(NUMERIC, shapes=SHAPES.filter(len), keepdims=FLAG),
    "sum": with_axis(NUMERIC, shapes=SHAPES.filter(len), keepdims=FLAG),
    "std": with_axis(FLOAT, keepdims=FLAG, correction=st.sampled_from([0, 0.5])),
    "var": with_axis(FLOAT, keepdims=FLAG, correction=st.sampled_from([0, 0.5])),
    "all": with_axis(ANY, shapes=SHAPES.filter(len), plain=False, keepdims=FLAG),
    "any": with_axis(ANY, shapes=SHAPES.filter(len), plain=False, keepdims=FLAG),
    "count_nonzero": with_axis(ANY, keepdims=FLAG),
    "argmax": with_axis(REAL, several=False, keepdims=FLAG),
    "argmin": with_axis(REAL, several=False, keepdims=FLAG),
    "cumulative_sum": with_axis(NUMERIC, several=False, required=True, include_initial=FLAG),
    "cumulative_prod": with_axis(NUMERIC, several=False, required=True, include_initial=FLAG),
    "diff": with_axis(NUMERIC, several=False, required=True, n=st.integers(0, 2)),
    "nonzero": calls(array(ANY, FULL)),
    "searchsorted": searched(),
    "where": st.tuples(array(BOOL, FULL), st.sampled_from(NUMERIC)).map(
        lambda t: ((t[0], np.ones(t[0].shape, t[1]), np.zeros((), t[1])), {})
    ),
    "argsort": with_axis(REAL, several=False, required=True, descending=FLAG, stable=st.just(True)),
    "sort": with_axis(REAL, several=False, required=True, descending=FLAG, stable=FLAG),
    # sets
    "isin": pairs(WHOLE, True),
    "unique_all": unary(REAL, plain=True),
    "unique_counts": unary(REAL),
    "unique_inverse": unary(REAL, plain=True),
    "unique_values": unary(REAL),
    # shapes
    "broadcast_arrays": pairs(NUMERIC, True),
    "broadcast_shapes": calls(st.just((2, 1)), st.sampled_from([(3,), (2, 3), ()])),
    "broadcast_to": calls(array(ANY, st.just((2, 1))), st.sampled_from([(2, 3), (3, 2, 1)])),
    "concat": joined(False),
    "expand_dims": with_axis(ANY, several=False, required=True),
    "flip": with_axis(ANY),
    "moveaxis": moved(),
    "permute_dims": permuted(),
    "repeat": repeated(),
    "reshape": reshaped(),
    "roll": rolled(),
    "squeeze": calls(array(ANY, st.just((2, 1, 1))), st.sampled_from([1, -1, (1, 2), ()])),
    "stack": joined(True),
    "tile": calls(array(ANY, FULL, True), st.sampled_from([(2,), (1, 2), (), (2, 1, 1)])),
    "unstack": with_axis(ANY, several=False, required=True),
    "take": indexed(False),
    "take_along_axis": indexed(True),
    # dtypes
    "astype": calls(array((*BOOL, *REAL), plain=True), st.sampled_from(("int64", *INEXACT))),
    "can_cast": st.sampled_from([BOOL, WHOLE, FLOAT, COMPLEX]).flatmap(
        lambda kind: calls(st.sampled_from(kind), st.sampled_from(kind))
    ),
    "isdtype": calls(
        st.sampled_from(ANY),
        st.sampled_from(
            [
                *("bool", "signed integer", "unsigned integer", "integral", "real floating"),
                *("complex floating", "numeric", ("bool", "integral")),
            ]
        ),
    ),
    "result_type": pairs(NUMERIC, True),
    # linear algebra
    "matmul": products("matmul"),
    "tensordot": products("tensordot"),
    "vecdot": products("vecdot"),
    "matrix_transpose": calls(ANY_MATRIX),
    "linalg.matmul": products("matmul"),
    "linalg.tensordot": products("tensordot"),
    "linalg.vecdot": products("vecdot"),
    "linalg.matrix_transpose": calls(ANY_MATRIX),
    "linalg.cholesky": calls(DEFINITE, upper=FLAG),
    "linalg.cross": st.sampled_from(NUMERIC).map(
        lambda d: ((np.arange(6, dtype=d).reshape(2, 3), np.ones((2, 3), d)), {})
    ),
    "linalg.det": calls(REGULAR),
    "linalg.diagonal": calls(ANY_MATRIX, offset=OFFSET),
    "linalg.eigvalsh": calls(DEFINITE),
    "linalg.inv": calls(REGULAR),
    "linalg.matrix_norm": calls(MATRIX, keepdims=FLAG, ord=st.sampled_from(["fro", 1, np.inf])),
    "linalg.matrix_power": calls(REGULAR, st.integers(-2, 3)),
    "linalg.matrix_rank": calls(REGULAR),
    "linalg.outer": calls(LINE).map(lambda call: ((call[0][0], call[0][0]), {})),
    "linalg.pinv": calls(REGULAR),
    "linalg.slogdet": calls(REGULAR),
    "linalg.solve": calls(REGULAR).map(lambda call: ((call[0][0], call[0][0][..., :1]), {})),
    "linalg.svdvals": calls(MATRIX),
    "linalg.trace": calls(ANY_MATRIX, offset=OFFSET),
    "linalg.vector_norm": with_axis(FLOAT, keepdims=FLAG, ord=st.sampled_from([0, 1, 2, np.inf])),
    # Fourier transforms
    **{
        f"fft.{name}": calls(
            array(COMPLEX, FULL, True), norm=st.sampled_from(["backward", "ortho", "forward"])
        )
        for name in ("fft", "ifft", "fftn", "ifftn")
    },
    **{
        f"fft.{name}": calls(array(FLOAT, FULL, True), n=st.sampled_from([None, 4]))
        for name in ("rfft", "ihfft")
    },
    **{
        f"fft.{name}": calls(array(COMPLEX, FULL, True), n=st.sampled_from([3, 4]))
        for name in ("irfft", "hfft")
    },
    "fft.rfftn": calls(array(FLOAT, FULL, True)),
    "fft.irfftn": calls(array(COMPLEX, st.just((2, 3)), True)),
    "fft.fftfreq": calls(st.integers(1, 5), d=st.sampled_from([1.0, 0.5])),
    "fft.rfftfreq": calls(st.integers(1, 5), d=st.sampled_from([1.0, 0.5])),
    "fft.fftshift": calls(array(INEXACT, FULL, True)),
    "fft.ifftshift": calls(array(INEXACT, FULL, True)),
}

#: Functions of the standard that other tests hold, and why.
OTHERWISE: Final[dict[str, str]] = {
    "finfo": "gives an object",
    "iinfo": "gives an object",
    "from_dlpack": "takes arrays of others",
    "linalg.eigh": "its vectors are unique up to a factor",
    "linalg.qr": "its factors are unique up to signs",
    "linalg.svd": "its factors are unique up to signs",
    "linalg.eig": "its vectors are unique up to a factor",
    "linalg.eigvals": "they come in no order",
}

"""Programs that look valid, with parameters and data at the edges: XLA is to compile and run them.

Each is compiled twice: with its arrays as arguments, and with them as constants, which XLA folds.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from hostile.isolation import Subject, explanation
from tinyjax import dtypes, lax
from tinyjax.errors import JaxRuntimeError, TinyjaxError

REFUSED, COMPILER, DONE = "refused", "refused by the compiler", "done"


@attrs.frozen(eq=False)
class Program:
    """A function, and what it is called with.

    Attributes:
        text: says what it is.
        fun: takes the arrays.
        arrays: NumPy's.
        runs: whether it is run, and not only compiled.
    """

    text: str
    fun: Callable[..., Any]
    arrays: tuple[Any, ...]
    runs: bool = True


#: What has more elements as its result is only compiled.
_MOST: Final = 1 << 20

# Data

_INTEGERS: Final = tuple(
    np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
)
_FLOATS: Final = (np.dtype("float16"), np.dtype("float32"), np.dtype("float64"), dtypes.bfloat16)
_COMPLEX: Final = (np.dtype("complex64"), np.dtype("complex128"))
_ODD: Final = tuple(d for d in dtypes.ALL if d not in (*_INTEGERS, *_FLOATS, *_COMPLEX, np.bool_))
_ALL: Final = (*_INTEGERS, *_FLOATS, *_COMPLEX, np.dtype(bool), *_ODD)
_LAPACK: Final = (*_FLOATS[1:3], *_COMPLEX)
_SIZES: Final = (0, 1, 1, 2, 3, 5)


def shape(draw: random.Random, ndim: int | None = None) -> tuple[int, ...]:
    """A small shape, with axes without elements."""
    count = draw.choice([0, 1, 1, 2, 2, 3]) if ndim is None else ndim
    return tuple(draw.choice(_SIZES) for _ in range(count))


def data(draw: random.Random, dtype: Any, sizes: tuple[int, ...]) -> Any:
    """An array of edges: ends of ranges, infinities, NaN of any payload, subnormals, any bits."""
    count = int(np.prod(sizes))
    if dtype == np.bool_:
        return np.array([draw.random() < 0.5 for _ in range(count)], bool).reshape(sizes)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        pool = [ends.min, ends.max, 0, 1, 2, ends.max - 1, ends.min + 1, 31, 32, 64]
        pool += [-1] if ends.min else []
        chosen = [min(max(draw.choice(pool), ends.min), ends.max) for _ in range(count)]
        return np.array(chosen, dtype).reshape(sizes)
    if draw.random() < 0.4:  # any bits
        return np.frombuffer(draw.randbytes(count * dtype.itemsize), dtype).reshape(sizes)
    parts = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-40,
        5e-324,
        1e30,
        3e38,
        -7.0,
    ]
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            both = [complex(draw.choice(parts), draw.choice(parts)) for _ in range(count)]
            return np.array(both, np.complex128).astype(dtype).reshape(sizes)
        found = np.array([draw.choice(parts) for _ in range(count)], np.float64)
        return found.astype(dtype).reshape(sizes)


def one(draw: random.Random, ndim: int | None = None, pool: Sequence[Any] = _ALL) -> Any:
    return data(draw, draw.choice(pool), shape(draw, ndim))


def extreme(draw: random.Random) -> int:
    """A number for a parameter."""
    return draw.choice([-3, -1, 0, 0, 1, 1, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**33, 2**62, -(2**31)])


# Families

_UNARY: Final = (
    *(
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "bessel_i0e",
        "bessel_i1e",
        "bitwise_not",
    ),
    *(
        "cbrt",
        "ceil",
        "clz",
        "conj",
        "cos",
        "cosh",
        "digamma",
        "erf",
        "erf_inv",
        "erfc",
        "exp",
        "exp2",
    ),
    *(
        "expm1",
        "floor",
        "imag",
        "is_finite",
        "lgamma",
        "log",
        "log1p",
        "logistic",
        "neg",
        "population_count",
    ),
    *("real", "round", "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
)
_BINARY: Final = (
    *(
        "add",
        "atan2",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "div",
        "eq",
        "ge",
        "gt",
        "le",
        "lt",
    ),
    *("max", "min", "mul", "ne", "nextafter", "pow", "rem", "rem", "shift_left"),
    *(
        "shift_right_arithmetic",
        "shift_right_logical",
        "sub",
        "igamma",
        "igammac",
        "random_gamma_grad",
    ),
    *("polygamma", "zeta", "div", "complex"),
)
_REDUCTIONS: Final = (
    "reduce_sum",
    "reduce_prod",
    "reduce_max",
    "reduce_min",
    "reduce_and",
    "reduce_or",
)
_CUMULATIVE: Final = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")


def unary(draw: random.Random) -> Program:
    name, x = draw.choice(_UNARY), one(draw)
    return Program(f"{name} {x.dtype}{x.shape}", getattr(lax, name), (x,))


def binary(draw: random.Random) -> Program:
    name, dtype, sizes = draw.choice(_BINARY), draw.choice(_ALL), shape(draw)
    arrays = (data(draw, dtype, sizes), data(draw, dtype, sizes))
    return Program(f"{name} {dtype}{sizes}", getattr(lax, name), arrays)


def power(draw: random.Random) -> Program:
    x, n = one(draw), extreme(draw)
    return Program(f"integer_pow {x.dtype} {n}", lambda x: lax.integer_pow(x, n), (x,))


def conversion(draw: random.Random) -> Program:
    x, to = one(draw), draw.choice(_ALL)
    name = draw.choice(["convert_element_type", "bitcast_convert_type"])
    return Program(f"{name} {x.dtype}{x.shape} {to}", lambda x: getattr(lax, name)(x, to), (x,))


def precision(draw: random.Random) -> Program:
    x, e, m = (
        one(draw, pool=_FLOATS),
        draw.choice([1, 2, 8, 11, 20, 64, 2**31]),
        draw.choice([0, 1, 23, 52, 99]),
    )
    return Program(
        f"reduce_precision {x.dtype} {e} {m}", lambda x: lax.reduce_precision(x, e, m), (x,)
    )


def reduction(draw: random.Random) -> Program:
    x = one(draw)
    axes = tuple(i for i in range(x.ndim) if draw.random() < 0.6)
    name = draw.choice([*_REDUCTIONS, "argmax", "argmin"])
    if name.startswith("arg"):
        to = draw.choice([*_INTEGERS])
        axis = draw.randrange(max(x.ndim, 1))
        return Program(
            f"{name} {x.dtype}{x.shape} {to}", lambda x: getattr(lax, name)(x, axis, to), (x,)
        )
    return Program(f"{name} {x.dtype}{x.shape} {axes}", lambda x: getattr(lax, name)(x, axes), (x,))


def cumulation(draw: random.Random) -> Program:
    x, name, back = one(draw), draw.choice(_CUMULATIVE), draw.random() < 0.5
    axis = draw.randrange(max(x.ndim, 1))
    text = f"{name} {x.dtype}{x.shape} {axis} {back}"
    return Program(text, lambda x: getattr(lax, name)(x, axis, reverse=back), (x,))


def sorting(draw: random.Random) -> Program:
    sizes = shape(draw, draw.choice([1, 1, 2]))
    arrays = tuple(data(draw, draw.choice(_ALL), sizes) for _ in range(draw.choice([1, 1, 2, 3])))
    axis, keys = draw.randrange(len(sizes)), draw.randrange(1, len(arrays) + 1)
    stable = draw.random() < 0.5
    text = f"sort {[x.dtype.name for x in arrays]}{sizes} {axis} {keys} {stable}"
    k = draw.choice([0, 1, sizes[-1], sizes[-1] + 1, 2**31, -1])
    if draw.random() < 0.4:
        text = f"top_k {arrays[0].dtype}{sizes} {k}"
        return Program(text, lambda *xs: lax.top_k(xs[0], k), arrays)

    def fun(*xs: Any) -> Any:
        return lax.sort(xs, dimension=axis, is_stable=stable, num_keys=keys)

    return Program(text, fun, arrays)


def windows(draw: random.Random) -> Program:
    x = one(draw, draw.choice([1, 2]))
    n = x.ndim
    dims, strides = (
        tuple(draw.choice([1, 1, 2, 3, 9, 2**31, 0]) for _ in range(n)) for _ in range(2)
    )
    pads = tuple(
        (draw.choice([0, 0, 1, -1, -3, 5, 100]), draw.choice([0, 0, 1, -1, -9, 5]))
        for _ in range(n)
    )
    base, apart = (tuple(draw.choice([1, 1, 2, 5, 2**31, 0]) for _ in range(n)) for _ in range(2))
    name = draw.choice(["add", "max", "min", "mul"])
    start = {"add": 0, "mul": 1}.get(name)
    init = start if start is not None else data(draw, x.dtype, ())
    text = f"reduce_window {name} {x.dtype}{x.shape} {dims} {strides} {pads} {base} {apart}"

    def fun(x: Any) -> Any:
        first = jnp.asarray(init, x.dtype)
        return lax.reduce_window(x, first, getattr(lax, name), dims, strides, pads, base, apart)

    return Program(text, fun, (x,))


def pooling(draw: random.Random) -> Program:
    x = one(draw, 2, _FLOATS)
    dims, strides = (tuple(draw.choice([1, 2, 3]) for _ in range(2)) for _ in range(2))
    pads = tuple((draw.choice([0, 1, -1, 5]), draw.choice([0, 1, -1])) for _ in range(2))

    def pooled(x: Any) -> Any:
        return lax.reduce_window(x, -np.inf, lax.max, dims, strides, pads)

    def fun(x: Any) -> Any:
        return tinyjax.vjp(pooled, x)[1](pooled(x))

    return Program(f"max pool's vjp {x.dtype}{x.shape} {dims} {strides} {pads}", fun, (x,))


def convolution(draw: random.Random) -> Program:
    n, dtype = draw.choice([0, 1, 1, 2]), draw.choice(_ALL)
    groups = draw.choice([1, 1, 2])
    features = draw.choice([0, 1, 2, 4])
    x = data(draw, dtype, (draw.choice([0, 1, 2]), features * groups, *shape(draw, n)))
    outs = draw.choice([0, 1, 2, 4])
    w = data(draw, dtype, (outs * groups, features, *shape(draw, n)))
    strides, left, right = (
        tuple(draw.choice([1, 1, 2, 7, 2**31, 0]) for _ in range(n)) for _ in range(3)
    )
    pads = [(draw.choice([0, 1, -1, -4, 9]), draw.choice([0, 1, -2, 3])) for _ in range(n)]
    text = f"conv {dtype} {x.shape} {w.shape} {strides} {pads} {left} {right} {groups}"

    def fun(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x, w, strides, pads, left, right, feature_group_count=groups
        )

    return Program(text, fun, (x, w))


def product(draw: random.Random) -> Program:
    batch, k = shape(draw, draw.choice([0, 0, 1])), draw.choice(_SIZES)
    dtype, other = draw.choice(_ALL), draw.choice(_ALL)
    if draw.random() < 0.7:
        other = dtype
    wanted = draw.choice([None, None, np.dtype("float32"), np.dtype("int32"), *_ALL])
    x = data(draw, dtype, (*batch, *shape(draw, draw.choice([0, 1, 2])), k))
    y = data(draw, other, (*batch, k, *shape(draw, draw.choice([0, 1, 2]))))
    b = tuple(range(len(batch)))
    numbers = (((x.ndim - 1,), (len(batch),)), (b, b))
    text = f"dot {dtype}{x.shape} {other}{y.shape} {wanted}"
    return Program(
        text, lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=wanted), (x, y)
    )


def indexing(draw: random.Random) -> Program:
    x, where = one(draw, draw.choice([1, 2])), one(draw, draw.choice([0, 1, 2]), _INTEGERS)
    mode = draw.choice(["clip", "fill", "promise_in_bounds", None])
    if mode == "promise_in_bounds":
        where = np.zeros_like(where) if x.shape[0] else where[..., :0] if where.ndim else where
    kind = draw.choice(["get", "set", "add", "max", "multiply"])
    unique, ordered = draw.random() < 0.2, draw.random() < 0.2
    text = f"x.at[i].{kind} {x.dtype}{x.shape} {where.dtype}{where.shape} {mode} {unique} {ordered}"
    options = {"mode": mode, "unique_indices": unique, "indices_are_sorted": ordered}
    if kind == "get":
        return Program(text, lambda x, i: x.at[i].get(**options), (x, where))
    new = data(draw, x.dtype, (*where.shape, *x.shape[1:]))
    return Program(text, lambda x, i, y: getattr(x.at[i], kind)(y, **options), (x, where, new))


def slicing(draw: random.Random) -> Program:
    x = one(draw, draw.choice([1, 2, 3]))
    starts = tuple(one(draw, 0, _INTEGERS) for _ in range(x.ndim))
    sizes = tuple(draw.choice([0, n, min(1, n), n // 2]) for n in x.shape)
    text = f"dynamic_slice {x.dtype}{x.shape} {[s.dtype.name + str(s) for s in starts]} {sizes}"
    if draw.random() < 0.5:
        return Program(text, lambda x, *s: lax.dynamic_slice(x, s, sizes), (x, *starts))
    y = data(draw, x.dtype, sizes)
    return Program(
        f"{text}, update", lambda x, y, *s: lax.dynamic_update_slice(x, y, s), (x, y, *starts)
    )


def padding(draw: random.Random) -> Program:
    x = one(draw)
    low = [
        (
            draw.choice([0, 1, -1, -7, 3, 2**31, 2**62]),
            draw.choice([0, -1, 2]),
            draw.choice([0, 1, 5, -1]),
        )
        for _ in x.shape
    ]
    value = data(draw, x.dtype, ())
    return Program(f"pad {x.dtype}{x.shape} {low}", lambda x, v: lax.pad(x, v, low), (x, value))


def moving(draw: random.Random) -> Program:
    x = one(draw)
    perm = draw.sample(range(x.ndim), x.ndim)
    axes = tuple(i for i in range(x.ndim) if draw.random() < 0.5)
    huge = draw.choice([(0, 2**62), (2**31, 0, 2**31), (2**62,), (2**31 + 1, 2), (0, 2**31, 2**31)])
    kind = draw.choice(
        ["transpose", "rev", "broadcast", "reshape", "iota", "concatenate", "stack", "split"]
    )
    fun: Callable[..., Any] = {
        "transpose": lambda x: lax.transpose(x, perm),
        "rev": lambda x: lax.rev(x, axes),
        "broadcast": lambda x: lax.broadcast_in_dim(jnp.sum(x), huge, ()),
        "reshape": lambda x: lax.reshape(x, (x.size, *(1,) * draw.randrange(9))),
        "iota": lambda x: lax.broadcasted_iota(x.dtype, huge, 0),
        "concatenate": lambda x: lax.concatenate([x, x, x[:0]], 0),
        "stack": lambda x: jnp.stack([x] * 3, -1),
        "split": lambda x: lax.split(x, [0, *x.shape[:1], 0]),
    }[kind]
    runs = kind not in ("broadcast", "iota")
    return Program(f"{kind} {x.dtype}{x.shape} {perm} {axes} {huge}", fun, (x,), runs)


def transform(draw: random.Random) -> Program:
    kind = draw.choice(["FFT", "IFFT", "RFFT", "IRFFT"])
    x = one(draw, draw.choice([1, 2, 3]), _FLOATS[1:3] if kind == "RFFT" else _COMPLEX)
    n = draw.randrange(0, min(x.ndim, 3) + 1)
    lengths = list(x.shape[x.ndim - n :])
    if kind == "IRFFT" and lengths:
        lengths[-1] = draw.choice([2 * (lengths[-1] - 1), 2 * lengths[-1] - 1, lengths[-1]])
    return Program(
        f"fft {kind} {x.dtype}{x.shape} {lengths}", lambda x: lax.fft(x, kind, lengths), (x,)
    )


def loops(draw: random.Random) -> Program:
    dtype = draw.choice(_INTEGERS)
    ends = np.iinfo(dtype)
    pool = [0, 1, 3, ends.max, ends.min, ends.max - 1]
    start, stop = draw.choice(pool), draw.choice(pool)
    step = draw.choice([1, 1, 2, 3, ends.max, -1 if ends.min else 1, 0])
    compare = draw.choice(["lt", "le", "gt", "ge", "ne"])
    x = one(draw, 1, _FLOATS)

    def fun(x: Any, start: Any, stop: Any) -> Any:
        def more(c: Any) -> Any:
            return getattr(lax, compare)(c[0], stop)

        def turn(c: Any) -> Any:
            return c[0] + jnp.asarray(step, dtype), c[1] * x

        return lax.while_loop(more, turn, (start, x))

    text = f"while i {compare} {stop}: i += {step}, from {start} {dtype} {x.dtype}{x.shape}"
    return Program(text, fun, (x, dtype.type(start), dtype.type(stop)), runs=False)


def scans(draw: random.Random) -> Program:
    n = draw.choice([0, 1, 3])
    x = data(draw, draw.choice(_FLOATS), (n, *shape(draw, 1)))
    back, unroll = draw.random() < 0.5, draw.choice([1, 2, 7, True])

    def fun(x: Any) -> Any:
        return lax.scan(lambda c, a: (c + a, c), x[:1].sum(0), x, reverse=back, unroll=unroll)

    return Program(f"scan {x.dtype}{x.shape} {back} {unroll}", fun, (x,))


def branches(draw: random.Random) -> Program:
    which, x = one(draw, 0, _INTEGERS), one(draw)
    count = draw.choice([1, 2, 3])
    several = [partial(lambda k, x: lax.mul(x, x) if k else x, k) for k in range(count)]
    return Program(
        f"switch {which.dtype}{which} {count} {x.dtype}",
        lambda i, x: lax.switch(i, several, x),
        (which, x),
    )


_SQUARE: Final = (
    "cholesky",
    "eigh",
    "eig",
    "lu",
    "schur",
    "hessenberg",
    "tridiagonal",
    "inv",
    "slogdet",
    "expm",
)


def matrices(draw: random.Random) -> Program:
    name, n = (
        draw.choice([*_SQUARE, "svd", "qr", "triangular_solve", "solve", "lstsq", "pinv"]),
        draw.choice([0, 1, 2, 3, 5]),
    )
    m = draw.choice([0, 1, 2, 4]) if name in ("svd", "qr", "lstsq", "pinv") else n
    dtype = draw.choice(_LAPACK)
    x, b = data(draw, dtype, (m, n)), data(draw, dtype, (m, draw.choice([0, 1, 3])))
    if draw.random() < 0.3:
        x = np.full((m, n), draw.choice([0, 1, np.nan, np.inf, 1e-40, 3e38]), dtype)
    fun: Callable[..., Any] = {
        "inv": lambda x, b: jnp.linalg.inv(x),
        "slogdet": lambda x, b: jnp.linalg.slogdet(x),
        "expm": lambda x, b: tinyjax.scipy.linalg.expm(x),
        "triangular_solve": lambda x, b: lax.linalg.triangular_solve(x, b, left_side=True),
        "solve": jnp.linalg.solve,
        "lstsq": jnp.linalg.lstsq,
        "pinv": lambda x, b: jnp.linalg.pinv(x),
    }.get(name, lambda x, b: getattr(lax.linalg, name)(x))
    return Program(f"{name} {dtype}{x.shape} {b.shape}", fun, (x, b))


def draws(draw: random.Random) -> Program:
    name = draw.choice(
        ["normal", "gamma", "poisson", "binomial", "randint", "permutation", "categorical", "bits"]
    )
    sizes = draw.choice([(), (0,), (3,), (0, 2**31)])
    p = one(draw, 0, _FLOATS[1:3])

    def fun(p: Any) -> Any:
        key = tinyjax.random.key(0)
        match name:
            case "gamma" | "poisson":
                return getattr(tinyjax.random, name)(key, p, sizes)
            case "binomial":
                return tinyjax.random.binomial(key, p, p, sizes)
            case "randint":
                return tinyjax.random.randint(key, sizes, -5, p.astype("int32"))
            case "permutation":
                return tinyjax.random.permutation(key, jnp.ones(sizes[:1] or 3) * p)
            case "categorical":
                return tinyjax.random.categorical(key, jnp.ones(3) * p, shape=sizes)
            case _:
                return getattr(tinyjax.random, name)(key, sizes)

    return Program(f"random.{name} {sizes} {p.dtype}({p})", fun, (p,))


def selection(draw: random.Random) -> Program:
    sizes, dtype = shape(draw), draw.choice(_ALL)
    x, y, z = (data(draw, dtype, sizes) for _ in range(3))
    if draw.random() < 0.5:
        return Program(f"clamp {dtype}{sizes}", lax.clamp, (x, y, z))
    which = data(draw, draw.choice([np.dtype("int32"), np.dtype(bool)]), sizes)
    return Program(f"select_n {which.dtype} {dtype}{sizes}", lax.select_n, (which, x, y))


FAMILIES: Final = (
    *(
        unary,
        binary,
        binary,
        power,
        conversion,
        conversion,
        precision,
        reduction,
        cumulation,
        sorting,
    ),
    *(windows, windows, pooling, convolution, convolution, product, product, indexing, indexing),
    *(
        slicing,
        padding,
        moving,
        transform,
        loops,
        loops,
        scans,
        branches,
        matrices,
        draws,
        selection,
    ),
)


class Programs(Subject):
    """Programs with edges, compiled with arguments and with constants."""

    batch = 100

    @property
    def expected(self) -> Sequence[str]:
        return (REFUSED, COMPILER, DONE)

    def drawn(self, case: str) -> Program:
        draw = random.Random(case)
        return draw.choice(FAMILIES)(draw)

    def describe(self, case: str) -> str:
        return f"{case}, {self.drawn(case).text}"

    def run(self, case: str, stage: Callable[[str], None]) -> str:
        program = self.drawn(case)
        arrays = program.arrays
        told = [
            self.outcome(program, program.fun, arrays, lambda now: stage(f"{now} with arguments")),
            self.outcome(
                program,
                lambda: program.fun(*[jnp.asarray(x) for x in arrays]),
                (),
                lambda now: stage(f"{now} with constants"),
            ),
        ]
        return next((found for found in told if found not in self.expected), told[0])

    def outcome(
        self,
        program: Program,
        fun: Callable[..., Any],
        arrays: Sequence[Any],
        stage: Callable[[str], None],
    ) -> str:
        """Compile and run, and say what became of it."""
        family = program.text.split()[0]
        stage(f"{family}, staging")
        with np.errstate(all="ignore"):
            try:
                lowered = tinyjax.jit(fun).lower(*[jnp.asarray(x) for x in arrays])
            except (TinyjaxError, MemoryError):  # NumPy says how much memory there is not
                return REFUSED
            except BaseException as error:
                return f"{family}: {explanation(error)}"
            stage(f"{family}, compiling")
            sizes = [x.size for x in tinyjax.tree.leaves(tinyjax.eval_shape(fun, *arrays))]
            try:
                compiled = lowered.compile()
                if program.runs and sum(sizes) < _MOST:
                    stage(f"{family}, running")
                    tinyjax.block_until_ready(compiled(*[jnp.asarray(x) for x in arrays]))
            except JaxRuntimeError as error:
                return f"{family}: the compiler says: {str(error)[:150]}"
            except TinyjaxError:
                return REFUSED
            except BaseException as error:
                return f"{family}: {explanation(error)}"
        return DONE

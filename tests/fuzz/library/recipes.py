"""Whole calls of functions whose arguments hang together: contractions, windows, loops."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from fuzz.library.strategies import initializer_shape, made, named
from tinyjax import dtypes
from tinyjax.testing.libraries.drawn_calls import DrawnArray, DrawnCall, FromLibrary, Library
from tinyjax.testing.libraries.parameters import Drawn, axis, key

Given = tuple[tuple[Any, ...], dict[str, Any]]
Recipe = Callable[[Drawn], Given]

# Contractions

SUBSCRIPTS: Final[tuple[tuple[Any, ...], ...]] = (
    ("ij,jk->ik", (2, 3), (3, 3)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("ij->ji", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("i,i", (3,), (3,)),
    ("i,j->ij", (3,), (3,)),
    ("...j,j", (2, 3), (3,)),
    ("ijk,kl,l->ij", (2, 2, 3), (3, 3), (3,)),
    ("ij,kj->", (2, 3), (3, 3)),
    ("ij,jk", (2, 3), (2, 3)),
    ("ij->", (2, 0)),
)


def einsum(call: Drawn) -> Given:
    subscripts, *shapes = call.draw.one(SUBSCRIPTS)
    operands = [call.operand(s, call.dtype if call.draw.chance(0.8) else None) for s in shapes]
    return (subscripts, *operands), {}


def dot_general(call: Drawn) -> Given:
    d = call.draw
    left, right, numbers = d.one(
        [
            ((2, 3), (3, 3), (((1,), (0,)), ((), ()))),
            ((2, 3), (2, 3), (((1,), (1,)), ((0,), (0,)))),
            ((2, 2, 3), (2, 3, 3), (((2,), (1,)), ((0,), (0,)))),
            ((3,), (3,), (((0,), (0,)), ((), ()))),
            ((2, 0), (0, 3), (((1,), (0,)), ((), ()))),
            ((2, 3), (3,), (((), ()), ((), ()))),
            ((2, 3), (2, 3), (((1,), (0,)), ((), ()))),
        ]
    )
    kwargs = {}
    if d.chance(0.3):
        kwargs["preferred_element_type"] = d.dtype("fi")
    return (call.operand(left), call.operand(right), numbers), kwargs


def lax_dot(call: Drawn) -> Given:
    left, right = call.draw.one([((2, 3), (3, 3)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3))])
    return (call.operand(left), call.operand(right)), {}


def conv(call: Drawn) -> Given:
    d = call.draw
    padding = d.one(("SAME", "VALID"))
    kinds = "f" if d.chance(0.9) else "ic"
    shape = d.one(((1, 2, 4), (2, 2, 5)))
    # what becomes of infinities beside the zeros of the padding depends on the algorithm
    image = call.operand(shape, kinds=kinds, plain=True)
    return (image, call.operand((3, 2, 2), plain=True), (d.randint(1, 2),), padding), {}


def conv_general_dilated(call: Drawn) -> Given:
    args, _ = conv(call)
    d = call.draw
    kwargs: dict[str, Any] = {}
    if d.chance(0.4):
        args = (*args[:3], [(d.randint(-1, 2), d.randint(0, 2))])
    if d.chance(0.4):
        kwargs["lhs_dilation"] = (d.randint(1, 2),)
    if d.chance(0.4):
        kwargs["rhs_dilation"] = (d.randint(1, 2),)
    if d.chance(0.2):
        return (args[0], call.operand((2, 1, 2), plain=True), *args[2:]), {
            **kwargs,
            "feature_group_count": 2,
        }
    return args, kwargs


def conv_with_general_padding(call: Drawn) -> Given:
    args, kwargs = conv_general_dilated(call)
    kwargs.pop("feature_group_count", None)
    left, right = (kwargs.get(k) for k in ("lhs_dilation", "rhs_dilation"))
    return (*args[:3], [(1, 1)], left, right), {}


def conv_transpose(call: Drawn) -> Given:
    d = call.draw
    image = call.operand((1, 4, 2), kinds="f", plain=True)
    kernel = call.operand((2, 2, 3), plain=True)
    return (image, kernel, (d.randint(1, 2),), d.one(("SAME", "VALID"))), {}


# Gather and scatter

GATHERS: Final = (
    # operand, indices, offset dims, collapsed, start index map, slice sizes
    ((3, 3), (2, 1), (1,), (0,), (0,), (1, 3)),
    ((3,), (2, 1), (), (0,), (0,), (1,)),
    ((2, 3), (2, 2), (), (0, 1), (0, 1), (1, 1)),
    ((2, 2, 3), (3, 1), (0, 2), (1,), (1,), (2, 1, 3)),
    ((2, 3), (1,), (0, 1), (), (1,), (2, 2)),
    ((3,), (0, 1), (), (0,), (0,), (1,)),
)
MODES: Final = ("clip", "fill", "promise_in_bounds", None)


def gather(call: Drawn) -> Given:
    shape, where, offset, collapsed, index_map, sizes = call.draw.one(GATHERS)
    numbers = made("lax.GatherDimensionNumbers", offset, collapsed, index_map)
    d = call.draw
    mode = d.one(MODES)
    low, high = (0, 0) if mode == "promise_in_bounds" else (-2, 4)
    places = DrawnArray(d.array(where, d.dtype("i"), low, high, plain=True))
    kwargs: dict[str, Any] = {"mode": mode}
    if mode == "fill" and d.chance(0.3):
        kwargs["fill_value"] = 7
    return (call.operand(shape), places, numbers, sizes), kwargs


def scatter(call: Drawn) -> Given:
    shape, where, offset, collapsed, index_map, sizes = call.draw.one(GATHERS)
    numbers = made("lax.ScatterDimensionNumbers", offset, collapsed, index_map)
    d = call.draw
    mode = d.one(MODES)
    # which of several updates at one place is kept is not defined: so each has its own
    flat = list(range(max(1, int(np.prod(where)))))
    d.shuffle(flat)
    host = np.array(flat[: int(np.prod(where))], np.int32).reshape(where)
    if mode == "promise_in_bounds":
        host = np.minimum(host, 1)
    window = [n for i, n in enumerate(sizes) if i not in collapsed]
    lead = iter(where[:-1])
    rest = iter(window)
    axes = range(len(where) - 1 + len(window))
    shape_out = [next(rest) if i in offset else next(lead) for i in axes]
    operand = call.operand(shape)
    values = call.operand(tuple(shape_out), call.dtype if d.chance(0.9) else None)
    return (operand, DrawnArray(host), values, numbers), {"mode": mode}


# Windows and reductions with a function

MONOIDS: Final = (("add", 0), ("max", -np.inf), ("min", np.inf), ("mul", 1))


def reduce(call: Drawn) -> Given:
    name, start = call.draw.one(MONOIDS)
    operand = call.operand(kinds="fi")
    dtype = operand.host.dtype
    if dtypes.is_integer(dtype) and not np.isfinite(start):
        start = np.iinfo(dtype).min if start < 0 else np.iinfo(dtype).max
    dims = tuple(call.draw.some(range(call.ndim), 2))
    with np.errstate(all="ignore"):
        host = np.array(start).astype(dtype)
    init = FromLibrary(lambda library: library.array(host), f"{host!r}")
    return (operand, init, named(f"lax.{name}"), dims), {}


def reduce_window(call: Drawn) -> Given:
    d = call.draw
    (operand, init, fun, _), _ = reduce(call)
    n = call.ndim
    sizes = tuple(d.randint(1, 2) for _ in range(n))
    kwargs: dict[str, Any] = {"window_strides": tuple(d.randint(1, 2) for _ in range(n))}
    kwargs["padding"] = d.one(("SAME", "VALID", tuple((d.randint(0, 1), 1) for _ in range(n))))
    if d.chance(0.3):
        kwargs["base_dilation"] = tuple(d.randint(1, 2) for _ in range(n))
    if d.chance(0.3):
        kwargs["window_dilation"] = tuple(d.randint(1, 2) for _ in range(n))
    return (operand, init, fun, sizes), kwargs


# Control flow

Body = Callable[[Library], Callable[..., Any]]


def from_library(text: str, make: Body) -> FromLibrary:
    return FromLibrary(make, text)


def sine_of(library: Library) -> Callable[..., Any]:
    return lambda x: library.root.numpy.sin(x) * 0.5


def half_of(library: Library) -> Callable[..., Any]:
    return lambda x: library.root.numpy.cos(x) + 0.25


SINE: Final = from_library("sine", sine_of)
HALF: Final = from_library("half", half_of)


def cond(call: Drawn) -> Given:
    predicate = call.draw.one((True, False, DrawnArray(np.array(call.draw.chance(0.5)))))
    return (predicate, SINE, HALF, call.operand()), {}


def switch(call: Drawn) -> Given:
    index = DrawnArray(np.array(call.draw.randint(-1, 3), np.int32))
    return (index, [SINE, HALF, SINE], call.operand()), {}


def scan(call: Drawn) -> Given:
    step = from_library(
        "c, x: (c * 0.5 + sin(x), c)",
        lambda library: lambda c, x: (c * 0.5 + library.root.numpy.sin(x), c),
    )
    shape = call.draw.one(((3,), (2, 3), (0,), (2, 0)))
    dtype = call.draw.dtype("f")
    kwargs = {"reverse": True} if call.draw.chance(0.3) else {}
    return (step, call.operand(shape[1:], dtype), call.operand(shape, dtype)), kwargs


def fori_loop(call: Drawn) -> Given:
    body = from_library(
        "i, x: sin(x) + 0.5", lambda library: lambda i, x: library.root.numpy.sin(x) + 0.5
    )
    return (call.draw.randint(0, 2), call.draw.randint(0, 4), body, call.operand(kinds="f")), {}


def while_loop(call: Drawn) -> Given:
    test = from_library("s: s[0] < 3", lambda library: lambda s: s[0] < 3)
    body = from_library(
        "s: (s[0] + 1, sin(s[1]))",
        lambda library: lambda s: (s[0] + 1, library.root.numpy.sin(s[1])),
    )
    return (test, body, (call.draw.randint(0, 4), call.operand(kinds="fc"))), {}


def mapped(call: Drawn) -> Given:
    shape = call.draw.one(((3,), (2, 3), (0,), (2, 0), ()))
    return (SINE, call.operand(shape)), {}


def associative_scan(call: Drawn) -> Given:
    fun = named(f"numpy.{call.draw.one(('add', 'maximum', 'multiply'))}")
    kwargs = {"reverse": call.draw.chance(0.3)}
    operand = call.operand(call.draw.one(((3,), (2, 3), (4,), (1,))), plain=True)
    return (fun, operand), {**kwargs, "axis": axis(call)}


# Creation and classes


def block(call: Drawn) -> Given:
    rows = [
        [call.operand((2, 2)), call.operand((2, 1))],
        [call.operand((1, 2)), call.operand((1, 1))],
    ]
    return (
        call.draw.one((rows, rows[0], [call.operand((2,)), call.operand(())], call.operand())),
    ), {}


def piecewise_dimensions(call: Drawn) -> Given:
    return (
        (2, 3, 4, 5),
        (3, 3, 2, 2),
        call.draw.one((None, ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"))),
    ), {}


def fields(library: Library, fun: Any) -> Any:
    """Take the fields of what a function gives."""

    def then(*args: Any) -> Any:
        found = fun(*args)
        return tuple(tuple(getattr(found, name)) for name in ("lhs_spec", "rhs_spec", "out_spec"))

    return then


def variance_scaling(call: Drawn) -> Given:
    d = call.draw
    return (
        1.0,
        d.one(("fan_in", "fan_out", "fan_avg")),
        d.one(("normal", "uniform", "truncated_normal")),
    ), {}


def initializer(*args: Any) -> Recipe:
    return lambda call: (args, {})


def initialize(shape: Any, seed: DrawnArray, dtype: Any) -> Callable[[Library, Any], Any]:
    """Call what an initializer's maker gives."""

    def then(library: Library, make: Any) -> Any:
        return lambda *args, **kwargs: make(*args, **kwargs)(seed.host, shape, dtype)

    return then


INITIALIZERS: Final[dict[str, tuple[Any, ...]]] = {
    "constant": (2.5,),
    **{
        f"{name}_{kind}": (0, 1)
        for name in ("glorot", "he", "kaiming", "lecun", "xavier")
        for kind in ("normal", "uniform")
    },
    "normal": (0.5,),
    "orthogonal": (2.0,),
    "delta_orthogonal": (2.0,),
    "truncated_normal": (0.5,),
    "uniform": (0.5,),
}


# Collectives


def over_axis(library: Library, fun: Any) -> Any:
    """Map over the first axis, which has a name."""
    return lambda x, *args, **kwargs: library.root.vmap(
        lambda row: fun(row, "i", *args, **kwargs), axis_name="i"
    )(x)


def collective(*more: Callable[[Drawn], Any]) -> Recipe:
    def recipe(call: Drawn) -> Given:
        return (call.operand(call.draw.one(((3,), (2, 3), (3, 3)))), *(m(call) for m in more)), {}

    return recipe


def no_row(library: Library, fun: Any) -> Any:
    return library.root.vmap(lambda row: row + fun("i"), axis_name="i")


COLLECTIVES: Final[dict[str, Recipe]] = {
    **{name: collective() for name in ("psum", "pmax", "pmin", "pmean", "all_gather")},
    "ppermute": collective(lambda call: [(0, 1), (1, 0)]),
    "pshuffle": collective(lambda call: [1, 0] if (call.shape or (0,))[0] == 2 else [2, 0, 1]),
    "all_to_all": collective(lambda call: 0, lambda call: 0),
    "psum_scatter": collective(),
    "pswapaxes": collective(lambda call: 0),
    "axis_index": collective(),
    "axis_size": collective(),
}


RECIPES: Final[dict[str, Recipe]] = {
    "numpy.einsum": einsum,
    "numpy.block": block,
    "lax.dot_general": dot_general,
    "lax.dot": lax_dot,
    "lax.conv": conv,
    "lax.conv_general_dilated": conv_general_dilated,
    "lax.conv_with_general_padding": conv_with_general_padding,
    "lax.conv_transpose": conv_transpose,
    "lax.conv_dimension_numbers": piecewise_dimensions,
    "lax.gather": gather,
    **{f"lax.scatter{kind}": scatter for kind in ("", "_add", "_sub", "_mul", "_min", "_max")},
    "lax.reduce": reduce,
    "lax.reduce_window": reduce_window,
    "lax.cond": cond,
    "lax.switch": switch,
    "lax.scan": scan,
    "lax.fori_loop": fori_loop,
    "lax.while_loop": while_loop,
    "lax.map": mapped,
    "lax.associative_scan": associative_scan,
    "nn.initializers.variance_scaling": variance_scaling,
    **{f"nn.initializers.{name}": initializer(*args) for name, args in INITIALIZERS.items()},
    **{f"lax.{name}": recipe for name, recipe in COLLECTIVES.items()},
}


def build(path: str, call: Drawn, smooth: bool) -> DrawnCall:
    """Draw a call of a function that has a recipe."""
    args, kwargs = RECIPES[path](call)
    then = None
    name = path.rpartition(".")[2]
    if path.startswith("nn.initializers"):
        then = initialize(initializer_shape(call), key(call), call.draw.dtype("f"))
    elif name == "conv_dimension_numbers":
        then = fields
    elif name in ("axis_index", "axis_size"):
        then = no_row
    elif path == f"lax.{name}" and name in COLLECTIVES:
        then = over_axis
    return DrawnCall(path, args, kwargs, then, call.draw.wide, smooth)

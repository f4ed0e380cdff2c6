"""The functions that two libraries have in common, and random calls of them."""

import inspect
import re
from typing import Any, Final

import attrs

from fuzz.library.calls import Call, Library
from fuzz.library.drawing import Draw
from fuzz.library.functions import BY_FUNCTION
from fuzz.library.parameters import BY_ANNOTATION, BY_NAME, UNSET, Drawn, Strategy, fixed
from fuzz.library.recipes import RECIPES, build

#: Where public functions are.
MODULES: Final = (
    "numpy",
    "numpy.linalg",
    "lax",
    "lax.linalg",
    "nn",
    "nn.initializers",
    "random",
    "scipy.special",
    "scipy.linalg",
    "scipy.stats.norm",
)

#: Public names that are not called with arrays and parameters.
NOT_CALLED: Final[dict[str, str]] = {
    "scipy.special.sph_harm_y": "takes vectors of one length, and knows the highest degree",
    "scipy.special.hyp2f1": "jax's does not end for infinite parameters: test_special.py",
    **dict.fromkeys(("numpy.gcd", "numpy.lcm"), "jax's do not end at the least of all integers"),
    **dict.fromkeys(("lax.after_all", "lax.create_token"), "tokens: tests/test_extending.py"),
    "scipy.linalg.funm": "takes a function: tests/scipy/test_scipy_linalg.py",
    "numpy.load": "reads a file",
    "numpy.save": "writes a file",
    **dict.fromkeys(
        (
            f"numpy.{name}"
            for name in (
                *("array_repr", "array_str", "get_printoptions", "iterable", "printoptions"),
                *("set_printoptions", "frombuffer", "fromfile", "fromiter", "fromstring"),
                *("savez", "einsum_path", "from_dlpack", "ComplexWarning"),
            )
        ),
        "neither takes nor gives arrays by their values: tests/numpy/test_files.py",
    ),
    "numpy.frompyfunc": "takes a function: tests/numpy/test_samples.py",
    "numpy.mask_indices": "takes a function: tests/numpy/test_samples.py",
    "numpy.ufunc": "a class",
    "numpy.vectorize": "takes a function: tests/numpy/test_generalized.py",
    **dict.fromkeys(
        (
            f"numpy.{name}"
            for name in ("apply_along_axis", "apply_over_axes", "fromfunction", "piecewise")
        ),
        "takes a function: tests/numpy/test_editing.py",
    ),
    **dict.fromkeys(
        (
            f"numpy.{name}"
            for name in (
                "complexfloating",
                "floating",
                "generic",
                "inexact",
                "integer",
                "number",
                "ndarray",
                "signedinteger",
                "unsignedinteger",
                "dtype",
                "finfo",
                "iinfo",
            )
        ),
        "a class",
    ),
    **dict.fromkeys(
        (
            f"lax.{name}"
            for name in (
                "AccuracyMode",
                "ConvDimensionNumbers",
                "DotDimensionNumbers",
                "GatherDimensionNumbers",
                "GatherScatterMode",
                "Precision",
                "RaggedDotDimensionNumbers",
                "RandomAlgorithm",
                "RoundingMethod",
                "ScatterDimensionNumbers",
                "DotAlgorithm",
                "DotAlgorithmPreset",
                "FftType",
                "Tolerance",
            )
        ),
        "a class, which the functions that take it are given",
    ),
    "nn.initializers.Initializer": "a protocol",
    "numpy.empty": "its elements are not defined",
    "numpy.empty_like": "its elements are not defined",
    "lax.empty": "its elements are not defined",
    "lax.optimization_barrier": "takes trees",
    "lax.composite": "takes a function",
    "lax.scatter_apply": "takes a function: tests/lax",
    "lax.dce_sink": "takes trees",
    **dict.fromkeys(
        ("lax.ragged_dot_general", "lax.scaled_dot", "nn.scaled_dot_general", "nn.scaled_matmul"),
        "takes shapes that fit each other: tests/lax and tests/nn",
    ),
    "lax.rng_bit_generator": "takes a state of four words: tests/lax",
    **dict.fromkeys(
        (
            f"lax.{name}"
            for name in (
                *("conv_general_dilated_local", "conv_general_dilated_patches"),
                *("conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple"),
                *("conv_transpose_shape_tuple", "fft", "reduce_window_shape_tuple"),
            )
        ),
        "takes windows, paddings or kinds by name: tests/lax",
    ),
    "lax.pbroadcast": "takes a named axis",
    "lax.pcast": "takes a named axis",
    "lax.with_sharding_constraint": "takes trees",
    **dict.fromkeys(
        (
            f"lax.linalg.{name}"
            for name in ("EigImplementation", "EighImplementation", "SvdAlgorithm")
        ),
        "a class",
    ),
    "lax.platform_dependent": "what it gives depends on where it runs",
}


@attrs.frozen(eq=False)
class Function:
    """A public function of both libraries.

    Attributes:
        path: where it is found.
        parameters: those that both have, as the first library declares them.
    """

    path: str
    parameters: tuple[inspect.Parameter, ...]


def functions(library: Library, reference: Library) -> list[Function]:
    """The public functions of a library that its reference has too; of aliases the first."""
    found: list[Function] = []
    seen: set[int] = set()
    for module in MODULES:
        ours, theirs = library.find(module), reference.find(module)
        for name in sorted(getattr(ours, "__all__", None) or dir(ours)):
            path = f"{module}.{name}"
            fun, other = getattr(ours, name), getattr(theirs, name, None)
            if (
                not name.startswith("_")
                and callable(fun)
                and callable(other)
                and path not in NOT_CALLED
            ):
                if id(fun) not in seen:
                    found.append(Function(path, _common(fun, other) if path not in RECIPES else ()))
                seen.add(id(fun))
    return found


def _common(fun: Any, other: Any) -> tuple[inspect.Parameter, ...]:
    parameters = inspect.signature(fun).parameters.values()
    try:
        theirs = list(inspect.signature(other).parameters.values())
    except (TypeError, ValueError):
        theirs = []
    named = {p.name: p for p in theirs}
    positions = [p for p in theirs if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    anything = not named or any(p.kind is p.VAR_POSITIONAL for p in theirs)
    kept = []
    for i, p in enumerate(parameters):
        needed = p.default is p.empty and p.kind is not p.KEYWORD_ONLY
        other = named.get(p.name)
        if other is None and i == 0 and not named:
            p = p.replace(default=p.empty)  # nothing is known: the first is needed
            needed = True
        if other is not None and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            if other.default is other.empty:
                p = p.replace(default=p.empty)
            if other.kind is p.KEYWORD_ONLY:
                p = p.replace(kind=p.KEYWORD_ONLY)
        if other is not None or (needed and (anything or i < len(positions))):
            kept.append(p)
    return tuple(kept)


def draw_call(function: Function, draw: Draw) -> Call:
    """Draw a call of a function.

    Args:
        function: which.
        draw: where choices come from.
    """
    call = Drawn(function.path, draw)
    if function.path in RECIPES:
        return build(function.path, call, draw.smooth)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    gap = False
    for p in function.parameters:
        strategy = strategy_of(function.path, p)
        if p.kind is p.VAR_POSITIONAL:
            if not gap:
                args += [strategy(call) for _ in range(draw.randint(1, 3))]
            continue
        left_out = p.default is not p.empty and not draw.chance(0.4)
        value = UNSET if left_out else strategy(call)
        call.values[p.name] = value
        if value is UNSET:
            if p.kind is p.POSITIONAL_ONLY:
                args.append(p.default)
            else:
                gap = True
        elif gap or p.kind is p.KEYWORD_ONLY:
            kwargs[p.name] = value
        else:
            args.append(value)
    while args and function.parameters[len(args) - 1 : len(args)]:
        last = function.parameters[len(args) - 1]
        if last.kind is last.POSITIONAL_ONLY and call.values.get(last.name) is UNSET:
            args.pop()
        else:
            break
    return Call(function.path, tuple(args), kwargs, None, draw.wide, draw.smooth)


def strategy_of(path: str, parameter: inspect.Parameter) -> Strategy:
    """Find the strategy for a parameter of a function."""
    own = BY_FUNCTION.get(path, {})
    if parameter.name in own:
        return own[parameter.name]
    annotation = re.sub(r"\s", "", str(parameter.annotation))
    if parameter.name in BY_NAME:
        return BY_NAME[parameter.name]
    if annotation.startswith("Literal["):
        return fixed(*_choices(annotation))
    if annotation in BY_ANNOTATION:
        return BY_ANNOTATION[annotation]
    if parameter.default is parameter.empty:
        raise LookupError(f"no strategy for {parameter} of {path}: add one to BY_FUNCTION")
    return lambda call: UNSET


def _choices(annotation: str) -> list[Any]:
    inside = annotation[len("Literal[") :].split("]", maxsplit=1)[0]
    return [part.strip("'\"") for part in inside.split(",")]

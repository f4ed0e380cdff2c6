"""The functions that two libraries have in common, and random calls of them."""

from functools import partial
from typing import Final

from fuzz.library.functions import BY_FUNCTION
from fuzz.library.recipes import RECIPES, build
from tinyjax.testing.libraries.drawing import Draw
from tinyjax.testing.libraries.drawn_calls import DrawnCall, Library
from tinyjax.testing.libraries.signatures import Catalogue, PublicFunction

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
    **dict.fromkeys(("lax.after_all", "lax.create_token"), "tokens: test_extending.py"),
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
    "lax.custom_linear_solve": "takes functions: tests/implicit/test_implicit.py",
    "lax.custom_root": "takes functions: tests/implicit/test_implicit.py",
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


CATALOGUE: Final = Catalogue(
    MODULES, NOT_CALLED, BY_FUNCTION, {path: partial(build, path) for path in RECIPES}
)


def functions(library: Library, reference: Library) -> list[PublicFunction]:
    """The public functions of a library that its reference has too; of aliases the first."""
    return CATALOGUE.functions(library, reference)


def draw_call(function: PublicFunction, draw: Draw) -> DrawnCall:
    """Draw a call of a function."""
    return CATALOGUE.draw_call(function, draw)

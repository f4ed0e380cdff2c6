"""The primitives as functions, by JAX's names.

These are one step above XLA: they do little for their operands. Shapes must be equal (a scalar goes
with anything, and axes of size one are stretched), dtypes must be equal (a Python number takes the
other operand's), and nothing else is converted. ``tinyjax.numpy`` has the functions that broadcast
and promote. Matrices are in ``tinyjax.lax.linalg``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tinyjax.control_flow import associative_scan, cond, fori_loop, scan, switch, while_loop
from tinyjax.control_flow import map_ as map
from tinyjax.lax import (
    accuracy,
    elementwise,
    placement,
    platforms,
    products,
    ragged,
    reductions,
    shapes,
    sorting,
    spectral,
    windows,
)
from tinyjax.lax.accuracy import *
from tinyjax.lax.elementwise import *
from tinyjax.lax.placement import *
from tinyjax.lax.platforms import *
from tinyjax.lax.products import *
from tinyjax.lax.ragged import *
from tinyjax.lax.reductions import *
from tinyjax.lax.shapes import *
from tinyjax.lax.sorting import *
from tinyjax.lax.spectral import *
from tinyjax.lax.windows import *
from tinyjax.lazy import loader
from tinyjax.numpy.promotion import broadcast_shapes
from tinyjax.primitives.collective import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
from tinyjax.primitives.convolution import (
    ConvDimensionNumbers,
    conv,
    conv_dimension_numbers,
    conv_general_dilated,
    conv_transpose,
    conv_with_general_padding,
    padtype_to_pads,
)
from tinyjax.primitives.dynamic_slice import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
)
from tinyjax.primitives.gather import gather
from tinyjax.primitives.gather_scatter import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from tinyjax.primitives.scatter import (
    scatter,
    scatter_add,
    scatter_apply,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
)

if TYPE_CHECKING:
    from tinyjax.implicit import custom_linear_solve as custom_linear_solve
    from tinyjax.implicit import custom_root as custom_root
    from tinyjax.lax import linalg as linalg
    from tinyjax.lax.generators import RandomAlgorithm, rng_bit_generator
    from tinyjax.lax.primitives import *
    from tinyjax.lax.special import (
        bessel_i0e,
        bessel_i1e,
        betainc,
        igamma,
        igamma_grad_a,
        igammac,
        random_gamma_grad,
    )
    from tinyjax.lax.tokens import after_all, create_token

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    # not many programs use these
    _load = loader(
        __name__,
        {
            "": "linalg",
            "special": "bessel_i0e bessel_i1e betainc igamma igamma_grad_a igammac "
            "random_gamma_grad",
            "generators": "RandomAlgorithm rng_bit_generator",
            "tokens": "after_all create_token",
            "tinyjax.implicit": "custom_linear_solve custom_root",
        },
    )

    def __getattr__(name: str) -> Any:
        """Return what was not loaded at once; primitives have names that end in ``_p``."""
        if name.endswith("_p"):
            found = vars(import_module("tinyjax.lax.primitives")).get(name)
            if found is not None:
                return found
        return _load(name)


__all__ = [
    "ConvDimensionNumbers",
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "RandomAlgorithm",
    "ScatterDimensionNumbers",
    "after_all",
    "all_gather",
    "all_to_all",
    "associative_scan",
    "axis_index",
    "axis_size",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "broadcast_shapes",
    "cond",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_transpose",
    "conv_with_general_padding",
    "create_token",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "fori_loop",
    "gather",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "linalg",
    "map",
    "padtype_to_pads",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "random_gamma_grad",
    "rng_bit_generator",
    "scan",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "switch",
    "while_loop",
]
__all__ += accuracy.__all__
__all__ += elementwise.__all__
__all__ += placement.__all__
__all__ += platforms.__all__
__all__ += products.__all__
__all__ += ragged.__all__
__all__ += reductions.__all__
__all__ += shapes.__all__
__all__ += sorting.__all__
__all__ += spectral.__all__
__all__ += windows.__all__

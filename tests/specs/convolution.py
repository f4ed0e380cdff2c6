"""Convolution."""

from itertools import product
from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax._primitives.convolution import conv_general_dilated, conv_general_dilated_p
from tinyjax.dtypes import HostArray


def numpy_conv(
    x: HostArray,
    w: HostArray,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
) -> HostArray:
    """The definition, element by element, for NC... and OI...."""
    space = x.ndim - 2
    ld, rd = lhs_dilation or (1,) * space, rhs_dilation or (1,) * space
    wide: Any = np.float32 if dtypes.is_narrow_float(x.dtype) else x.dtype
    sizes = x.shape[2:]
    counts = [
        ((n - 1) * d + 1 + sum(p) - ((k - 1) * r + 1)) // s + 1
        for n, k, p, s, d, r in zip(
            sizes, w.shape[2:], padding, window_strides, ld, rd, strict=True
        )
    ]
    batch = x.shape[0] // batch_group_count
    out = np.zeros((batch, w.shape[0], *counts), wide)
    per_group = w.shape[0] // (feature_group_count * batch_group_count)
    for o in range(w.shape[0]):
        group = o // per_group
        first = group * w.shape[1] if feature_group_count > 1 else 0
        rows: Any = (
            slice(group * batch, (group + 1) * batch) if batch_group_count > 1 else slice(None)
        )
        for at in product(*map(range, counts)):
            for k in product(*map(range, w.shape[2:])):
                where = [
                    a * s + b * r - p[0]
                    for a, s, b, r, p in zip(at, window_strides, k, rd, padding, strict=True)
                ]
                if any(
                    i % d or not 0 <= i // d < n for i, d, n in zip(where, ld, sizes, strict=True)
                ):
                    continue
                place: Any = tuple(i // d for i, d in zip(where, ld, strict=True))
                for c in range(w.shape[1]):
                    index: Any = (rows, first + c, *place)
                    element = x[index].astype(wide)
                    target: Any = (slice(None), o, *at)
                    out[target] += element * w[(o, c, *k)].astype(wide)
    return out.astype(x.dtype)


LINE = {"window_strides": (1,), "padding": ((0, 0),)}
SQUARE = {"window_strides": (1, 1), "padding": ((1, 1), (0, 2))}
LAYOUTS = [("NHWC", "HWIO", "NHWC"), ("NHWC", "OIHW", "NCHW"), ("HWCN", "IOHW", "CNHW")]


def conv_case(x: tuple[int, ...], w: tuple[int, ...], **params: Any) -> Case:
    return Case(ArraySpec(x, low=-1, high=1), ArraySpec(w, low=-1, high=1), **params)


def laid_out(
    x: tuple[int, ...], w: tuple[int, ...], layout: tuple[str, str, str], **how: Any
) -> Case:
    shape = dict(zip("NCHW", x, strict=True))
    kernel = dict(zip("OIHW", w, strict=True))
    return conv_case(
        tuple(shape[c] for c in layout[0]),
        tuple(kernel[c] for c in layout[1]),
        dimension_numbers=layout,
        **how,
    )


SPECS: list[Spec] = [
    Spec(
        "conv_general_dilated",
        conv_general_dilated_p,
        conv_general_dilated,
        [
            conv_case((2, 3, 5), (4, 3, 2), **LINE),
            conv_case((2, 2, 4, 3), (3, 2, 2, 2), **SQUARE),
            conv_case((1, 2, 7), (2, 2, 3), window_strides=(2,), padding=((2, 0),)),
            conv_case(
                (1, 2, 4), (2, 2, 2), window_strides=(1,), padding=((1, 2),), lhs_dilation=(2,)
            ),
            conv_case(
                (1, 2, 7), (2, 2, 3), window_strides=(2,), padding=((-1, 1),), rhs_dilation=(2,)
            ),
            conv_case(
                (1, 1, 4, 5),
                (2, 1, 2, 2),
                window_strides=(2, 3),
                padding=((1, -1), (2, 3)),
                lhs_dilation=(2, 1),
                rhs_dilation=(1, 2),
            ),
            conv_case((2, 3), (4, 3), window_strides=(), padding=()),
        ],
        numpy=numpy_conv,
        jax=jax.lax.conv_general_dilated,
        dtypes=["float32", "float64", "bfloat16", "int32", "complex64"],
        grad=2,
        tol=4,
    ),
    Spec(
        "conv_general_dilated in groups",
        conv_general_dilated_p,
        conv_general_dilated,
        [
            conv_case((2, 4, 5), (6, 2, 2), **LINE, feature_group_count=2),
            conv_case((1, 3, 4), (3, 1, 2), **LINE, feature_group_count=3),
            conv_case((4, 3, 5), (6, 3, 2), **LINE, batch_group_count=2),
            conv_case(
                (4, 2, 5),
                (4, 2, 2),
                window_strides=(2,),
                padding=((1, 1),),
                rhs_dilation=(2,),
                batch_group_count=2,
            ),
        ],
        numpy=numpy_conv,
        jax=jax.lax.conv_general_dilated,
        dtypes=["float32", "float64"],
        grad=2,
        tol=4,
    ),
    Spec(
        "conv_general_dilated in other layouts",
        conv_general_dilated_p,
        conv_general_dilated,
        [
            *(laid_out((2, 3, 4, 3), (4, 3, 2, 2), layout, **SQUARE) for layout in LAYOUTS),
            *(
                laid_out((2, 4, 4, 3), (2, 2, 2, 2), layout, **SQUARE, feature_group_count=2)
                for layout in LAYOUTS
            ),
            *(
                laid_out((2, 2, 4, 3), (2, 2, 2, 2), layout, **SQUARE, batch_group_count=2)
                for layout in LAYOUTS
            ),
        ],
        jax=jax.lax.conv_general_dilated,
        dtypes=["float64"],
        grad=1,
        tol=4,
    ),
    Spec(
        "conv_general_dilated of nothing",
        conv_general_dilated_p,
        conv_general_dilated,
        [
            conv_case((2, 4, 5), (6, 4, 0), **LINE),
            conv_case((2, 0, 5), (6, 0, 2), **LINE),
            conv_case((0, 4, 5), (6, 4, 2), **LINE),
        ],
        lambda x, w, **_: np.zeros((len(x), 6, 5 - w.shape[2] + 1), x.dtype),
        dtypes=["float64"],
        grad=1,
    ),
    *(
        Spec(
            f"conv_general_dilated of one operand, {i}",
            conv_general_dilated_p,
            conv_general_dilated,
            [
                conv_case((2, 4, 5), (6, 2, 2), **LINE, feature_group_count=2),
                conv_case((4, 3, 5), (6, 3, 2), **LINE, batch_group_count=2),
                conv_case((1, 2, 7), (2, 2, 3), window_strides=(3,), padding=((2, -1),)),
            ],
            dtypes=["float64"],
            linear=(i,),
            tol=4,
        )
        for i in (0, 1)
    ),
]

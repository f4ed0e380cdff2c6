"""Special functions that SciPy evaluates, and formulas compile."""

from typing import Any

import jax
import scipy.special

from specs import ArraySpec, Case, Spec
from specs.elementwise import EMPTY, EXTREME, SCALAR, F, in_wide, one
from tinyjax._library.special import bessel, gamma, hypergeometric, integrals
from tinyjax.core.primitives.shape import full_like

PARAMETER = ArraySpec((3, 4), low=0.1, high=12)
F_LONG = ArraySpec((16,))
SMALL = ArraySpec((2, 3), low=0.5, high=2)
POSITIVE = ArraySpec((3, 4), low=0.1, high=15)
PROBABILITY = ArraySpec((3, 4), low=0.2, high=0.8)
LARGE = ArraySpec((3, 4), "float64", low=230, high=300)


def second(fun: Any) -> Any:
    """A function of its last operand, the first being a number."""

    def of_last(x: Any, *, first: float) -> Any:
        return fun(full_like(x, first), x)

    return of_last


def second_of(fun: Any) -> Any:
    return lambda x, first: fun(0 * x + x.dtype.type(first), x)


SPECS = [
    *[
        Spec(
            name,
            primitive,
            primitive,
            [
                Case(PARAMETER, POSITIVE),
                Case(LARGE, LARGE),
                Case(EXTREME, EXTREME),
                Case(EMPTY, EMPTY),
            ],
            numpy=in_wide(reference),
            grad=1,
            grad_cases=(0, 1),
            tol=64,
        )
        for name, primitive, reference in (
            ("igamma", gamma.igamma, scipy.special.gammainc),
            ("igammac", gamma.igammac, scipy.special.gammaincc),
        )
    ],
    *[
        Spec(
            f"{name} in x",
            primitive,
            second(primitive),
            [Case(POSITIVE, first=a) for a in (0.5, 3.0, 20.0)],
            jax=second_of(theirs),
            dtypes=("float32", "float64"),
            grad=2 if name != "random_gamma_grad" else 0,
            grad_cases=(1,),
            tol=256,
        )
        for name, primitive, theirs in (
            ("igamma", gamma.igamma, jax.lax.igamma),
            ("igammac", gamma.igammac, jax.lax.igammac),
            ("igamma_grad_a", gamma.igamma_grad_a, jax.lax.igamma_grad_a),
            ("random_gamma_grad", gamma.random_gamma_grad, jax.lax.random_gamma_grad),
        )
    ],
    Spec(
        "regularized_incomplete_beta",
        gamma.regularized_incomplete_beta,
        lambda x, *, a, b: gamma.regularized_incomplete_beta(full_like(x, a), full_like(x, b), x),
        [
            Case(PROBABILITY, a=2.5, b=0.5),
            Case(PROBABILITY, a=3.0, b=6.0),
            Case(EMPTY, a=1.0, b=1.0),
        ],
        numpy=in_wide(lambda x, a, b: scipy.special.betainc(a, b, x)),
        jax=lambda x, a, b: jax.lax.betainc(0 * x + x.dtype.type(a), 0 * x + x.dtype.type(b), x),
        grad=2,
        tol=64,
    ),
    one(bessel.bessel_i0e, bessel.bessel_i0e, scipy.special.i0e, jax.lax.bessel_i0e, "f", tol=4),
    one(bessel.bessel_i1e, bessel.bessel_i1e, scipy.special.i1e, jax.lax.bessel_i1e, "f", tol=4),
    Spec(
        "bessel_i0e far",
        bessel.bessel_i0e,
        bessel.bessel_i0e,
        [Case(ArraySpec((9,), low=-700, high=700)), Case(SCALAR)],
        numpy=in_wide(scipy.special.i0e),
        tol=4,
    ),
    one(integrals.ndtri, integrals.ndtri, scipy.special.ndtri, None, "f", 0.3, 0.7, tol=4),
    *[
        one(primitive, primitive, reference, None, "f", low, high, tol=16)
        for primitive, reference, low, high in (
            (integrals.erfcx, scipy.special.erfcx, -3, 8),
            (integrals.dawsn, scipy.special.dawsn, -8, 8),
            (integrals.expi, scipy.special.expi, 0.5, 20),
            (integrals.sine_integral, lambda x: scipy.special.sici(x)[0], -20, 20),
            (integrals.cosine_integral, lambda x: scipy.special.sici(x)[1], 0.5, 20),
            (integrals.fresnel_sine, lambda x: scipy.special.fresnel(x)[0], -3, 3),
            (integrals.fresnel_cosine, lambda x: scipy.special.fresnel(x)[1], -3, 3),
            (integrals.spence, scipy.special.spence, 0.1, 3),
        )
    ],
    Spec(
        "expi below 0",
        integrals.expi,
        integrals.expi,
        [Case(ArraySpec((3, 4), low=-12, high=-0.2))],
        numpy=in_wide(scipy.special.expi),
        tol=16,
        grad=1,
    ),
    Spec(
        "expn",
        integrals.expn,
        second(integrals.expn),
        [Case(POSITIVE, first=n) for n in (1.0, 3.0, 8.0)],
        numpy=in_wide(second_of(scipy.special.expn)),
        dtypes=("float32", "float64"),
        grad=2,
        grad_cases=(1,),
        tol=16,
    ),
    Spec(
        "owens_t",
        integrals.owens_t,
        integrals.owens_t,
        [Case(F, F), Case(EXTREME, F_LONG), Case(EMPTY, EMPTY)],
        numpy=in_wide(scipy.special.owens_t),
        grad=2,
        grad_cases=(0,),
        tol=16,
    ),
    Spec(
        "poch",
        hypergeometric.poch,
        hypergeometric.poch,
        [Case(POSITIVE, PARAMETER), Case(F, F), Case(SMALL, SMALL)],
        numpy=in_wide(scipy.special.poch),
        dtypes=("float32", "float64"),
        grad=2,
        grad_cases=(2,),
        tol=64,
    ),
    Spec(
        "wofz",
        integrals.wofz,
        integrals.wofz,
        # the first for derivatives: further out it grows faster than differences can follow
        [
            Case(ArraySpec((3, 4), low=-2, high=2)),
            Case(ArraySpec((3, 4))),
            Case(ArraySpec((3, 4), low=-20, high=20)),
            Case(EMPTY),
        ],
        numpy=scipy.special.wofz,
        dtypes="c",
        grad=2,
        grad_dtypes=("complex128",),
        grad_cases=(0,),
        tol=256,
    ),
    Spec(
        "hyp1f1",
        hypergeometric.hyp1f1,
        lambda x, *, a, b: hypergeometric.hyp1f1(full_like(x, a), full_like(x, b), x),
        [Case(F, a=0.5, b=1.5), Case(POSITIVE, a=2.5, b=3.0), Case(EMPTY, a=1.0, b=1.0)],
        numpy=in_wide(lambda x, a, b: scipy.special.hyp1f1(a, b, x).astype(x.dtype)),
        dtypes=("float32", "float64"),
        grad=2,
        grad_cases=(0,),
        tol=256,
    ),
    Spec(
        "hyp2f1",
        hypergeometric.hyp2f1,
        lambda x, *, a, b, c: hypergeometric.hyp2f1(*[full_like(x, v) for v in (a, b, c)], x),
        [
            Case(ArraySpec((2, 3), low=-3, high=0.9), a=0.5, b=1.3, c=2.5),
            Case(PROBABILITY, a=2.0, b=1.0, c=3.5),
        ],
        numpy=in_wide(lambda x, a, b, c: scipy.special.hyp2f1(a, b, c, x).astype(x.dtype)),
        dtypes=("float32", "float64"),
        grad=2,
        grad_cases=(0,),
        tol=256,
    ),
]

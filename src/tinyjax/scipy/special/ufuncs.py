"""SciPy's universal functions, by their table: values are SciPy's own, derivatives formulas."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, Protocol

from tinyjax._base import frames
from tinyjax._extensions.host.replay import replayed
from tinyjax._library.special import hypergeometric
from tinyjax._library.ufuncs import formulas
from tinyjax._library.ufuncs.table import TABLE, Row
from tinyjax.core.values import Array, ArrayLike
from tinyjax.numpy import creation, elementwise, promotion as pm

P = ParamSpec("P")


def _one(a: ArrayLike, /) -> Any:
    """Take one argument."""
    return (a,)


def _two(a: ArrayLike, b: ArrayLike, /) -> Any:
    """Take two arguments."""
    return a, b


def _three(a: ArrayLike, b: ArrayLike, c: ArrayLike, /) -> Any:
    """Take three arguments."""
    return a, b, c


def _four(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, /) -> Any:
    """Take four arguments."""
    return a, b, c, d


def _five(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, e: ArrayLike, /) -> Any:
    """Take five arguments."""
    return a, b, c, d, e


def _documentation(name: str, row: Row) -> str:
    kinds = ["real or complex" if x in row.complex else "real" for x in row.parameters]
    arguments = [f"{x}: {kind}" for x, kind in zip(row.parameters, kinds, strict=True)]
    lacking = [f"``{x}``" for x in row.parameters if x not in row.derivatives]
    known = [
        f"The derivative in ``{x}``{', of real numbers,' * real_only} is ``{formula}``."
        for x, (formula, real_only) in row.derivatives.items()
    ]
    if row.program or row.like:
        known, lacking = [f"Derivatives are those of ``{row.program or row.like}``."], []
    elif row.inverse:
        known, lacking = [f"Derivatives are those of the inverse of ``{row.inverse}``."], []
    if lacking:
        known.append(f"There is none in {', '.join(lacking)}.")
    source = (
        "A program of tinyjax's." if row.program else f"SciPy's ``{name}``, called on the host."
    )
    shown = f"special.{name}({row.example})"
    is_complex, call = "j" in row.value, "v" if row.value.startswith("[") else shown
    number = f'f"{{complex({call}):.4f}}"' if is_complex else f"round(float({call}), 4)"
    example = f"[{number} for v in {shown}]" if call == "v" else number
    value = f"'{row.value}'" if is_complex and call != "v" else row.value
    found = "the results, in a tuple" if call == "v" else "the result"
    raised = ", ".join(lacking)
    errors = (
        f"DifferentiationError: a derivative in {raised} is taken.\n        " if lacking else ""
    )
    lines = "\n    ".join([source, *known])
    return f"""Return {row.text}.

    {lines}
    Arguments broadcast; integers become floats, and narrow floats are rounded once.

    Args:
        {(chr(10) + " " * 8).join(arguments)}

    Returns:
        {found[0].upper()}{found[1:]}, of the arguments' common shape and dtype.

    Raises:
        {errors}PlatformError: it is SciPy's, and SciPy is not installed.

    Example:
        >>> from tinyjax.scipy import special
        >>> {example}
        {value}
    """


def _function(signature: Callable[P, Any], name: str) -> Callable[P, Any]:
    assert isinstance(signature, FunctionType), "a function to copy"
    row = TABLE[name]
    code = signature.__code__
    names = (*row.parameters, *code.co_varnames[len(row.parameters) :])
    code = code.replace(co_name=name, co_varnames=names)
    bind = FunctionType(code, signature.__globals__, name)
    bind.__qualname__, bind.__module__, bind.__doc__ = name, __name__, _documentation(name, row)
    result = "tuple[Array, ...]" if row.value.startswith("[") else "Array"
    bind.__annotations__ = {**dict.fromkeys(row.parameters, "ArrayLike"), "return": result}

    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        return formulas.call(name, *bind(*args, **kwargs))

    return replayed(frames.imitate(call, bind))


def _single(signature: Callable[P, Any], names: str) -> list[Callable[P, Array]]:
    return [_function(signature, name) for name in names.split()]


def _pairs(signature: Callable[P, Any], names: str) -> list[Callable[P, tuple[Array, Array]]]:
    return [_function(signature, name) for name in names.split()]


def _fours(
    signature: Callable[P, Any], names: str
) -> list[Callable[P, tuple[Array, Array, Array, Array]]]:
    return [_function(signature, name) for name in names.split()]


j0, j1, y0, y1, k0, k1, k0e, k1e, ber, bei, ker, kei, berp, beip, kerp, keip, itstruve0 = _single(
    _one, "j0 j1 y0 y1 k0 k1 k0e k1e ber bei ker kei berp beip kerp keip itstruve0"
)
it2struve0, itmodstruve0, ellipk, ellipkm1, ellipe, psi, rgamma, zetac, exprel = _single(
    _one, "it2struve0 itmodstruve0 ellipk ellipkm1 ellipe psi rgamma zetac exprel"
)
wrightomega, erfi, erfcinv, ndtri_exp, cbrt, exp2, exp10, expm1, log1p, log_expit, cosm1 = _single(
    _one, "wrightomega erfi erfcinv ndtri_exp cbrt exp2 exp10 expm1 log1p log_expit cosm1"
)
round_, sindg, cosdg, tandg, cotdg, kolmogorov, kolmogi = _single(
    _one, "round sindg cosdg tandg cotdg kolmogorov kolmogi"
)
jv, jn, yv, yn, kn, iv, kv, jve, yve, ive, kve, hankel1, hankel2, hankel1e, hankel2e = _single(
    _two, "jv jn yv yn kn iv kv jve yve ive kve hankel1 hankel2 hankel1e hankel2e"
)
struve, modstruve, eval_legendre, eval_sh_legendre, eval_chebyt, eval_chebyu = _single(
    _two, "struve modstruve eval_legendre eval_sh_legendre eval_chebyt eval_chebyu"
)
eval_chebyc, eval_chebys, eval_sh_chebyt, eval_sh_chebyu, eval_laguerre, eval_hermite = _single(
    _two, "eval_chebyc eval_chebys eval_sh_chebyt eval_sh_chebyu eval_laguerre eval_hermite"
)
eval_hermitenorm, ellipkinc, ellipeinc, elliprc, agm, mathieu_a, mathieu_b, binom = _single(
    _two, "eval_hermitenorm ellipkinc ellipeinc elliprc agm mathieu_a mathieu_b binom"
)
hyp0f1, huber, pseudo_huber, inv_boxcox, inv_boxcox1p, powm1, gammaincinv, gammainccinv = _single(
    _two, "hyp0f1 huber pseudo_huber inv_boxcox inv_boxcox1p powm1 gammaincinv gammainccinv"
)
chdtr, chdtrc, chdtri, chdtriv, pdtr, pdtrc, pdtri, pdtrik, stdtr, stdtrit, stdtridf = _single(
    _two, "chdtr chdtrc chdtri chdtriv pdtr pdtrc pdtri pdtrik stdtr stdtrit stdtridf"
)
smirnov, smirnovi, tklmbda = _single(_two, "smirnov smirnovi tklmbda")
besselpoly, eval_gegenbauer, eval_genlaguerre, lpmv, elliprf, elliprg, elliprd, pro_cv = _single(
    _three, "besselpoly eval_gegenbauer eval_genlaguerre lpmv elliprf elliprg elliprd pro_cv"
)
obl_cv, hyperu, wright_bessel, log_wright_bessel, voigt_profile, radian, gdtr, gdtrc = _single(
    _three, "obl_cv hyperu wright_bessel log_wright_bessel voigt_profile radian gdtr gdtrc"
)
gdtria, gdtrib, gdtrix, betaincc, betaincinv, betainccinv, btdtria, btdtrib, bdtr, bdtrc = _single(
    _three, "gdtria gdtrib gdtrix betaincc betaincinv betainccinv btdtria btdtrib bdtr bdtrc"
)
bdtri, bdtrik, bdtrin, nbdtr, nbdtrc, nbdtri, nbdtrik, nbdtrin, fdtr, fdtrc, fdtri = _single(
    _three, "bdtri bdtrik bdtrin nbdtr nbdtrc nbdtri nbdtrik nbdtrin fdtr fdtrc fdtri"
)
fdtridfd, chndtr, chndtrix, chndtridf, chndtrinc, nctdtr, nctdtrit, nctdtridf, nctdtrinc = _single(
    _three, "fdtridfd chndtr chndtrix chndtridf chndtrinc nctdtr nctdtrit nctdtridf nctdtrinc"
)
nrdtrimn, nrdtrisd = _single(_three, "nrdtrimn nrdtrisd")
itj0y0, iti0k0, it2j0y0, it2i0k0, shichi, modfresnelp, modfresnelm = _pairs(
    _one, "itj0y0 iti0k0 it2j0y0 it2i0k0 shichi modfresnelp modfresnelm"
)
airy, airye, itairy, kelvin = _fours(_one, "airy airye itairy kelvin")
eval_jacobi, eval_sh_jacobi, elliprj, ncfdtr, ncfdtri, ncfdtridfn, ncfdtridfd, ncfdtrinc = _single(
    _four, "eval_jacobi eval_sh_jacobi elliprj ncfdtr ncfdtri ncfdtridfn ncfdtridfd ncfdtrinc"
)
(ellipj,) = _fours(_two, "ellipj")
mathieu_cem, mathieu_sem, mathieu_modcem1, mathieu_modcem2, mathieu_modsem1 = _pairs(
    _three, "mathieu_cem mathieu_sem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1"
)
(mathieu_modsem2,) = _pairs(_three, "mathieu_modsem2")
pbdv, pbvv, pbwa = _pairs(_two, "pbdv pbvv pbwa")
pro_ang1, pro_rad1, pro_rad2, obl_ang1, obl_rad1, obl_rad2 = _pairs(
    _four, "pro_ang1 pro_rad1 pro_rad2 obl_ang1 obl_rad1 obl_rad2"
)
pro_ang1_cv, pro_rad1_cv, pro_rad2_cv, obl_ang1_cv, obl_rad1_cv, obl_rad2_cv = _pairs(
    _five, "pro_ang1_cv pro_rad1_cv pro_rad2_cv obl_ang1_cv obl_rad1_cv obl_rad2_cv"
)


class _Spherical(Protocol):
    def __call__(self, n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array: ...


def _spherical(name: str) -> _Spherical:
    def call(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
        out: Array = formulas.call(name, n, z)
        if not derivative:
            return out
        operands = pm.arrays(name, n, z)
        return creation.asarray(formulas.derivative(name, 1, operands, [out])[0])

    call.__name__ = call.__qualname__ = name
    text = "\n        derivative: whether to return the derivative in ``z``.\n\n    Returns:"
    call.__doc__ = _documentation(name, TABLE[name]).replace("\n\n    Returns:", text)
    return replayed(call)


spherical_jn, spherical_yn = _spherical("spherical_jn"), _spherical("spherical_yn")
spherical_in, spherical_kn = _spherical("spherical_in"), _spherical("spherical_kn")


@replayed
def lambertw(z: ArrayLike, k: ArrayLike = 0, tol: float = 1e-8) -> Array:
    """Return Lambert's function: the w of a branch that solves ``w exp(w) = z``.

    SciPy's, called on the host. The derivative in ``z`` is ``1 / (z + exp(w))``.

    Args:
        z: real or complex.
        k: whole numbers: the branch; broadcasts with ``z``.
        tol: where SciPy's iteration ends.

    Returns:
        Complex numbers.

    Raises:
        PlatformError: SciPy is not installed.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.lambertw(1.0).real), 4)
        0.5671
    """
    out: Array = formulas.call("_lambertw", z, k, tol)
    return out


@replayed
def perm(N: ArrayLike, k: ArrayLike) -> Array:
    """Return the number of ways to choose ``k`` of ``N`` things in an order, as a float.

    Args:
        N: real.
        k: real; broadcasts with ``N``.

    Returns:
        ``N (N - 1) ... (N - k + 1)``; 0 where ``k`` is below 0 or above ``N``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.perm(5.0, 2.0)), 2)
        20.0
    """
    n, chosen = pm.inexact_operands("perm", N, k)
    possible = (chosen <= n) & (n >= 0) & (chosen >= 0)
    of, some = elementwise.pick(possible, n, 0.0), elementwise.pick(possible, chosen, 0.0)
    return elementwise.pick(possible, hypergeometric.poch(of - some + 1, some), 0.0)

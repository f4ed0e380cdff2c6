"""Errors of functions and of their derivatives, in units in the last place.

``python -m numerics.accuracy`` in ``tests/`` measures all of them against mpmath, or those that are
named, and writes ``accuracy.json`` beside this file, ``tests/tables/accuracy.md`` and a picture.
``nox -s accuracy`` runs it. The points of a function are dense where it is hard: at zeros and
poles, and where one formula takes over from another.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs
import mpmath
import numpy as np
import scipy.special
from mpmath import mp, mpf

import tinyjax
import tinyjax.numpy as jnp
from numerics.accuracy_page import DATA, DOCUMENT, data, picture, text
from tinyjax import nn
from tinyjax.dtypes import HostArray
from tinyjax.scipy import special

DTYPES: Final = ("float64", "float32")
WAYS: Final = ("eager", "compiled")
#: Digits that mpmath keeps.
DIGITS: Final = 120
Reference = Callable[..., Any]


@attrs.frozen
class Function:
    """A special function.

    Attributes:
        ours: of arrays.
        exact: mpmath's, of its numbers.
        points: for each operand numbers; of several operands these are all combinations.
    """

    ours: Callable[..., Any]
    exact: Reference
    points: tuple[HostArray, ...]


def lin(low: float, high: float, count: int = 24) -> HostArray:
    """Numbers at even distances; the ends are not among them."""
    return np.linspace(low, high, count + 2)[1:-1]


def geo(low: float, high: float, count: int = 16) -> HostArray:
    """Numbers at even ratios, of the sign that both ends have."""
    return np.asarray(np.sign(low) * np.geomspace(abs(low), abs(high), count))


def about(center: float, width: float = 0.1, count: int = 6) -> HostArray:
    """Numbers on both sides, ever nearer."""
    offsets = np.geomspace(1e-7, width, count)
    return np.concatenate([center - offsets[::-1], center + offsets])


def points(*parts: HostArray | Sequence[float]) -> HostArray:
    return np.unique(np.concatenate([np.asarray(part, np.float64) for part in parts]))


def _erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _dawsn(x: Any) -> Any:
    return mpmath.sqrt(mp.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


def _owens_t(h: Any, a: Any) -> Any:
    inside = mpmath.quad(lambda t: mpmath.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a])
    return inside / (2 * mp.pi)


def _ndtri(p: Any) -> Any:
    # inverted where it has all its digits: from the nearer end
    upper = p > 0.5
    tail = 1 - p if upper else p
    start = mpf(float(scipy.special.ndtri(float(tail))))
    root = mpmath.findroot(lambda x: mpmath.log(mpmath.ncdf(x)) - mpmath.log(tail), start)
    return -root if upper else root


def _erfinv(x: Any) -> Any:
    start = mpf(float(scipy.special.erfinv(float(x))))
    if abs(x) > 0.5:
        tail = 1 - abs(x)
        root = mpmath.findroot(lambda y: mpmath.log(mpmath.erfc(y)) - mpmath.log(tail), abs(start))
        return mpmath.sign(x) * root
    return mpmath.findroot(lambda y: mpmath.erf(y) - x, start)


def _log_abs_gamma(x: Any) -> Any:
    return mpmath.re(mpmath.loggamma(x))


def _spence(x: Any) -> Any:
    return mpmath.re(mpmath.polylog(2, 1 - x))


def _selu(x: Any) -> Any:
    scale, size = mpf("1.0507009873554804934193349852946"), mpf("1.6732632423543772848170429916717")
    return scale * (x if x > 0 else size * mpmath.expm1(x))


WIDE: Final = points(lin(-80, 80, 60), geo(1e-8, 1), geo(-1e-8, -1))
MODERATE: Final = points(lin(-9, 9, 60), geo(1e-8, 1), geo(-1e-8, -1))
POSITIVE: Final = points(geo(1e-8, 1e8), lin(0.1, 12, 30), about(1.0), about(2.0))
ORDERS: Final = np.array([0.3, 1.0, 4.5, 30.0])

FUNCTIONS: Final[dict[str, Function]] = {
    "erf": Function(special.erf, mpmath.erf, (points(lin(-4, 4), geo(1e-8, 1), about(0.5)),)),
    "erfc": Function(special.erfc, mpmath.erfc, (points(lin(-4, 9, 40), about(0.5)),)),
    "erfcx": Function(special.erfcx, _erfcx, (points(lin(-4, 10, 40), geo(10, 1e8)),)),
    "erfinv": Function(
        special.erfinv, _erfinv, (points(lin(-1, 1), geo(1e-8, 0.1), 1 - geo(1e-5, 0.1, 8)),)
    ),
    "ndtr": Function(special.ndtr, mpmath.ncdf, (points(lin(-12, 6, 40), about(0.0)),)),
    "ndtri": Function(special.ndtri, _ndtri, (points(geo(1e-30, 0.1), lin(0, 1), about(0.5)),)),
    "log_ndtr": Function(
        special.log_ndtr,
        lambda x: mpmath.log(mpmath.ncdf(x)),
        (points(lin(-40, 6, 60), geo(-40, -1e4)),),
    ),
    "dawsn": Function(
        special.dawsn, _dawsn, (points(lin(-10, 10, 40), geo(1e-8, 1), about(0.9241388730)),)
    ),
    "owens_t": Function(
        special.owens_t, _owens_t, (np.array([0.1, 1.0, 3.0, 6.0]), points(lin(-3, 3, 8)))
    ),
    "gammaln": Function(
        special.gammaln, _log_abs_gamma, (points(POSITIVE, lin(-4.95, -0.05, 30)),)
    ),
    "gamma": Function(
        special.gamma, mpmath.gamma, (points(lin(0.05, 30, 30), lin(-4.95, -0.05, 30)),)
    ),
    "digamma": Function(
        special.digamma,
        mpmath.digamma,
        (points(POSITIVE, about(1.4616321449683622), lin(-4.95, -0.05, 20)),),
    ),
    "polygamma": Function(
        special.polygamma,
        lambda n, x: mpmath.polygamma(int(n), x),
        (np.array([1.0, 2.0, 5.0]), points(geo(1e-3, 1e4), lin(0.1, 12, 12))),
    ),
    "zeta": Function(
        special.zeta,
        mpmath.zeta,
        (np.array([1.01, 2.0, 5.5, 20.0]), points(geo(1e-2, 1e3, 12), lin(0.1, 12, 8))),
    ),
    "betaln": Function(
        special.betaln,
        lambda a, b: mpmath.log(mpmath.beta(a, b)),
        (np.array([0.2, 3.5, 40.0, 1e6]), points(geo(1e-3, 1e8), lin(0.1, 12, 8))),
    ),
    "gammainc": Function(
        special.gammainc,
        lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
        (points(ORDERS, [250.0]), points(geo(1e-3, 100), lin(0.2, 12, 8))),
    ),
    "gammaincc": Function(
        special.gammaincc,
        lambda a, x: mpmath.gammainc(a, x, mp.inf, regularized=True),
        (points(ORDERS, [250.0]), points(geo(1e-3, 100), lin(0.2, 12, 8), [230.0, 250.0, 270.0])),
    ),
    "betainc": Function(
        special.betainc,
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
        (
            np.array([0.4, 3.0, 40.0]),
            np.array([0.7, 6.0]),
            points(lin(0, 1, 12), geo(1e-4, 0.1, 4)),
        ),
    ),
    "i0e": Function(
        special.i0e,
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
        (points(lin(-20, 20, 40), geo(1e-6, 1), geo(20, 500)),),
    ),
    "i1e": Function(
        special.i1e,
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
        (points(lin(-20, 20, 40), geo(1e-6, 1), geo(20, 500)),),
    ),
    "bessel_jn": Function(
        lambda z: special.bessel_jn(z, v=3)[3],
        lambda x: mpmath.besselj(3, x),
        (points(lin(0.5, 20, 40), about(6.380161895923983)),),
    ),
    "expi": Function(
        special.expi,
        mpmath.ei,
        (
            points(
                geo(1e-6, 1),
                lin(0.1, 50, 30),
                geo(-1e-6, -1),
                lin(-50, -0.5),
                about(0.37250741078136663),
            ),
        ),
    ),
    "exp1": Function(special.exp1, mpmath.e1, (points(geo(1e-6, 1), lin(0.1, 50, 30)),)),
    "expn": Function(
        special.expn,
        lambda n, x: mpmath.expint(int(n), x),
        (np.array([1.0, 2.0, 7.0]), points(geo(1e-4, 1, 8), lin(0.5, 30, 12))),
    ),
    "sici[0]": Function(
        lambda x: special.sici(x)[0],
        mpmath.si,
        (points(lin(-20, 20, 40), geo(1e-6, 1), geo(20, 1e3)),),
    ),
    "sici[1]": Function(
        lambda x: special.sici(x)[1],
        mpmath.ci,
        (points(geo(1e-6, 1), lin(0.2, 20, 40), about(0.6165054856207162)),),
    ),
    "fresnel[0]": Function(
        lambda x: special.fresnel(x)[0], mpmath.fresnels, (points(lin(-6, 6, 40), geo(1e-3, 1)),)
    ),
    "fresnel[1]": Function(
        lambda x: special.fresnel(x)[1], mpmath.fresnelc, (points(lin(-6, 6, 40), geo(1e-3, 1)),)
    ),
    "spence": Function(
        special.spence, _spence, (points(geo(1e-6, 1), lin(0.1, 5, 30), about(1.0), geo(5, 1e6)),)
    ),
    "hyp1f1": Function(
        special.hyp1f1,
        mpmath.hyp1f1,
        (np.array([-0.5, 1.5]), np.array([0.7, 3.0]), points(lin(-20, 20, 12), geo(-30, -1e4, 5))),
    ),
    "hyp2f1": Function(
        special.hyp2f1,
        mpmath.hyp2f1,
        (
            np.array([0.5, 2.3]),
            np.array([1.2]),
            np.array([1.9, 4.0]),
            points(lin(-5, 1, 16), [0.95, 0.99]),
        ),
    ),
    "logit": Function(
        special.logit,
        lambda x: mpmath.log(x / (1 - x)),
        (points(geo(1e-30, 0.1), lin(0, 1), about(0.5)),),
    ),
    "entr": Function(
        special.entr, lambda x: -x * mpmath.log(x), (points(geo(1e-30, 10), lin(0, 3), about(1.0)),)
    ),
    "sinc": Function(jnp.sinc, mpmath.sincpi, (points(lin(-5.03, 5.01, 40), geo(1e-8, 1)),)),
    "i0": Function(special.i0, lambda x: mpmath.besseli(0, x), (WIDE,)),
    "i1": Function(special.i1, lambda x: mpmath.besseli(1, x), (WIDE,)),
    "expm1": Function(jnp.expm1, mpmath.expm1, (WIDE,)),
    "log1p": Function(
        jnp.log1p, mpmath.log1p, (points(geo(1e-8, 1e8), geo(-1e-8, -0.5), about(-0.999, 9e-4)),)
    ),
    "tanh": Function(jnp.tanh, mpmath.tanh, (MODERATE,)),
    "asinh": Function(jnp.arcsinh, mpmath.asinh, (points(geo(1e-8, 1e8), geo(-1e-8, -1e8)),)),
    "acosh": Function(jnp.arccosh, mpmath.acosh, (points(1 + geo(1e-5, 1e8), lin(1, 9)),)),
    "atanh": Function(jnp.arctanh, mpmath.atanh, (points(geo(1e-8, 0.9), lin(-1, 1)),)),
    "logaddexp": Function(
        jnp.logaddexp,
        lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
        (np.array([-3.0, 0.0, 20.0]), points(lin(-40, 40, 40))),
    ),
    "expit": Function(special.expit, lambda x: 1 / (1 + mpmath.exp(-x)), (MODERATE,)),
    "softplus": Function(nn.softplus, lambda x: mpmath.log1p(mpmath.exp(x)), (WIDE,)),
    "log_sigmoid": Function(nn.log_sigmoid, lambda x: -mpmath.log1p(mpmath.exp(-x)), (WIDE,)),
    "silu": Function(nn.silu, lambda x: x / (1 + mpmath.exp(-x)), (WIDE,)),
    "gelu": Function(
        lambda x: nn.gelu(x, approximate=False), lambda x: x * mpmath.ncdf(x), (MODERATE,)
    ),
    "elu": Function(nn.elu, lambda x: x if x > 0 else mpmath.expm1(x), (WIDE,)),
    "selu": Function(nn.selu, _selu, (WIDE,)),
    "mish": Function(nn.mish, lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))), (WIDE,)),
}


def operands(name: str, dtype: str, every: int = 1) -> tuple[HostArray, ...]:
    """The points of a function, one in so many, as they are rounded to a dtype."""
    grids = np.meshgrid(*FUNCTIONS[name].points, indexing="ij")
    return tuple(grid.ravel()[::every].astype(dtype) for grid in grids)


def exact_values(name: str, operands: tuple[HostArray, ...]) -> list[tuple[Any, Any, Any]]:
    """The function and its first two derivatives at the numbers that the rounded operands are."""
    exact = FUNCTIONS[name].exact

    def one(*numbers: float) -> tuple[Any, Any, Any]:
        *others, x = [mpf(float(v)) for v in numbers]
        # central differences, for which there are digits enough
        step = mpf(10) ** -13 * (abs(x) or 1)
        low, middle, high = (exact(*others, x + k * step) for k in (-1, 0, 1))
        return middle, (high - low) / (2 * step), (high - 2 * middle + low) / step**2

    with mp.workdps(DIGITS):
        return [one(*numbers) for numbers in zip(*operands, strict=True)]


def computed(name: str, operands: tuple[HostArray, ...], way: str, slopes: bool) -> HostArray:
    """Return the library's results, in the operands' dtype."""
    ours = FUNCTIONS[name].ours

    def slope(*xs: Any) -> Any:
        *others, x = xs
        return tinyjax.jvp(lambda x: ours(*others, x), (x,), (jnp.ones_like(x),))[1]

    fun = slope if slopes else ours
    given = [jnp.asarray(x) for x in operands]
    return np.asarray((tinyjax.jit(fun) if way == "compiled" else fun)(*given))


def ulps(
    computed_values: HostArray, x: HostArray, exact: Sequence[Any], slopes: Sequence[Any]
) -> HostArray:
    """Return the errors, in units in the last place.

    The unit is that of the exact number, or the change of the exact number by one unit in the last
    place of the argument, where that is greater. So errors at a zero are bounded.

    Args:
        computed_values: what was computed.
        x: the last operand.
        exact: the numbers that are exact.
        slopes: their derivatives in ``x``.

    Returns:
        The errors; NaN where the exact number is beyond the dtype's normal numbers.
    """
    limits = np.finfo(computed_values.dtype)
    errors = np.full(computed_values.shape, np.nan)
    with mp.workdps(DIGITS):
        for i, (a, b, slope) in enumerate(zip(computed_values, exact, slopes, strict=True)):
            if limits.tiny <= abs(b) <= limits.max:
                size = max(abs(b), abs(mpf(float(x[i])) * slope))
                unit = mpf(2) ** (mpmath.floor(mpmath.log(size, 2)) - limits.nmant)
                errors[i] = float(abs(mpf(float(a)) - b) / unit) if np.isfinite(a) else np.inf
    return errors


def measured(
    name: str, every: int = 1, dtypes: Sequence[str] = DTYPES, ways: Sequence[str] = WAYS
) -> Iterator[tuple[str, HostArray, tuple[HostArray, ...]]]:
    """The errors of each way to compute a function, by its key, with the operands."""
    for dtype in dtypes:
        at = operands(name, dtype, every)
        values, slopes, seconds = zip(*exact_values(name, at), strict=True)
        for kind, exact, change in (("value", values, slopes), ("derivative", slopes, seconds)):
            for way in ways:
                found = computed(name, at, way, kind == "derivative")
                yield f"{kind}, {dtype}, {way}", ulps(found, at[-1], exact, change), at


def summary(errors: HostArray) -> tuple[float, float]:
    """The greatest error, and what 99 of 100 stay below."""
    known = errors[~np.isnan(errors)]
    return float(known.max()), float(np.quantile(known, 0.99, method="lower"))


def main() -> int:
    """Measure, and write the data, the page and its picture."""
    names = [name for name in FUNCTIONS if not sys.argv[1:] or name in sys.argv[1:]]
    found = data() if DATA.exists() else {}
    for name in names:
        found[name] = {}
        for key, errors, at in measured(name):
            most, usual = summary(errors)
            found[name][key] = [float(f"{most:.3g}"), float(f"{usual:.3g}")]
            worst = int(np.nanargmax(errors))
            print(
                f"{name}, {key}: {most:.3g}, {usual:.3g} at {[float(x[worst]) for x in at]}",
                flush=True,
            )
        ordered = {n: found[n] for n in FUNCTIONS if n in found}
        DATA.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    DOCUMENT.write_text(text(), encoding="utf-8")
    picture()
    return 0


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        sys.exit(main())

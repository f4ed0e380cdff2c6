"""The common parts of the functions of distributions: a distribution is its formulas.

A ``Family`` is the functions of a distribution that take the same arguments. Each is a formula of
arrays, and gets its signature from the family's, its docstring and example from its name, and its
operands promoted and broadcast. A file that has one, and a line in ``__init__``, is all that a
distribution needs; ``laplace`` is a short one. It imports from here what formulas are written with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Final, Generic, ParamSpec, TypeAlias

from tinyjax._base import frames, lazy
from tinyjax._extensions.host.replay import replayed
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.values import Array, ArrayLike
from tinyjax.custom_derivatives.slopes import with_slopes_of
from tinyjax.numpy import promotion as pm
from tinyjax.numpy.elementwise import isnan, minimum, pick, unless_nan
from tinyjax.scipy.special.basic import log_minus_expm1

#: What formulas are written with, for the files of distributions.
__all__ = ["Array", "ArrayLike", "ew", "log_minus_expm1", "pick", "sh", "unless_nan"]

P = ParamSpec("P")
Operands: TypeAlias = tuple[ArrayLike, ...]
Formula: TypeAlias = Callable[..., Array]

#: What a function returns, by its name.
_RETURNS: Final = {
    "logpdf": "the logarithm of the density at ``{}``",
    "pdf": "the density at ``{}``",
    "logpmf": "the logarithm of the probability of ``{}``",
    "pmf": "the probability of ``{}``",
    "logcdf": "the logarithm of the probability of a value of at most ``{}``",
    "cdf": "the probability of a value of at most ``{}``",
    "logsf": "the logarithm of the probability of a value above ``{}``",
    "sf": "the probability of a value above ``{}``, accurate where it is small",
    "ppf": "the value below which a share ``{}`` of the probability lies",
    "entropy": "the entropy, in natural units",
    "isf": "the value above which a share ``{}`` of the probability lies",
    "mean": "the mean",
    "var": "the variance",
    "std": "the standard deviation",
}
#: What becomes of it at the edges.
_EDGES: Final = {
    "logpdf": "It is -inf outside of the support, and finite where ``pdf`` underflows.",
    "pdf": "It is 0 outside of the support; likelihoods are sums of ``logpdf``.",
    "logpmf": "It is -inf out of range and for fractions, and finite where ``pmf`` underflows.",
    "pmf": "It is 0 out of range and for fractions; likelihoods are sums of ``logpmf``.",
    "logcdf": "It is -inf below the support, and 0 above.",
    "cdf": "It is 0 below the support, and 1 above.",
    "logsf": "It is 0 below the support, and -inf above.",
    "sf": "It is 1 below the support, and 0 above: what ``cdf`` leaves, without its rounding to 1.",
    "ppf": "It undoes ``cdf``: the ends of the support for 0 and 1, NaN for what is no share.",
    "entropy": "It is the expected value of ``-logpmf``, or of ``-logpdf``.",
    **dict.fromkeys(("mean", "var", "std"), "It is NaN or infinite where there is none."),
    "isf": "It undoes ``sf``: the ends of the support for 1 and 0, NaN for what is no share.",
}
#: Which values of parameters define a distribution, of arrays and of Python's numbers.
_DOMAINS: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(("a", "b", "beta", "c", "df", "dfd", "dfn", "s", "scale"), lambda x: x > 0),
    **dict.fromkeys(("kappa", "mu"), lambda x: x >= 0),
    "n": lambda x: (x >= 0) & (x % 1 == 0),
    "p": lambda x: (x >= 0) & (x <= 1),
}
#: What arguments are of which a family does not say it.
_ARGUMENTS: Final = {
    "x": "real",
    "k": "real: whole numbers",
    "q": "real, in [0, 1]",
    "loc": "the shift",
    "scale": "the unit",
}


def x_loc_scale(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    """Take the arguments of a density or of a share that is below."""
    return x, loc, scale


def q_loc_scale(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    """Take those of a quantile."""
    return q, loc, scale


def p_loc_scale(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    """Take those of a quantile by the name ``p``."""
    return p, loc, scale


def loc_scale(loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    """Take those of a whole distribution."""
    return loc, scale


def q_df(q: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    """Take those of a quantile with degrees of freedom."""
    return q, df, loc, scale


def q_a_b(
    q: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Operands:
    """Take those of a quantile with two parameters."""
    return q, a, b, loc, scale


def x_df(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    """Take those of a distribution with degrees of freedom."""
    return x, df, loc, scale


def x_a_b(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Operands:
    """Take those of a distribution with two parameters."""
    return x, a, b, loc, scale


def k_p(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Operands:
    """Take those of a distribution of trials with a probability."""
    return k, p, loc


def k_n_p(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Operands:
    """Take those of a distribution of a number of trials."""
    return k, n, p, loc


def _names_of(signature: FunctionType) -> tuple[str, ...]:
    return signature.__code__.co_varnames[: signature.__code__.co_argcount]


class Family(Generic[P]):
    """The functions of a distribution that take the same arguments.

    Args:
        module: the distribution's module, where the functions are, which are its public names.
        signature: takes the arguments, and returns them in their order.
        example: arguments for the examples in docstrings.
        standard: give formulas ``(x - loc) / scale`` in place of ``x`` and ``loc``.
        keeps_nan: return NaN where an argument is NaN, whatever a formula says.
        domains: which values of parameters define a distribution, where those are not usual for
            the name. Others give NaN.
        **parameters: what the docstrings say of the arguments.
    """

    def __init__(
        self,
        module: str,
        signature: Callable[P, Operands],
        example: str,
        *,
        standard: bool = False,
        keeps_nan: bool = False,
        domains: Mapping[str, Callable[..., Any] | None] = {},
        **parameters: str,
    ) -> None:
        assert isinstance(signature, FunctionType), "a function to copy"
        self._module, self._signature, self._example = module, signature, example
        self._standard, self._keeps_nan = standard, keeps_nan
        self._formulas: dict[str, Formula] = {}
        self._domains = [{**_DOMAINS, **domains}.get(name) for name in _names_of(signature)[1:]]
        texts = _ARGUMENTS | parameters
        lines = [f"{name}: {texts[name]}" for name in _names_of(signature)]
        self._arguments = ".\n        ".join(lines)

    def define(self, name: str, formula: Formula, value: float, xs: str = "") -> Callable[P, Array]:
        """Make the function of this name by a formula.

        Args:
            name: the function's name.
            formula: takes the operands, of one dtype and shape.
            value: what the function returns for the example, rounded.
            xs: the arguments for the example, if others than the family's.
        """
        standardized = self._standardized(formula)

        def evaluate(*operands: Array) -> Array:
            result = standardized(*operands)
            return unless_nan(result, *operands) if self._keeps_nan else result

        self._formulas[name] = evaluate
        return self._public(name, evaluate, value, xs)

    def _standardized(self, formula: Formula) -> Formula:
        def evaluate(x: Array, *others: Array) -> Array:
            if not self._standard:
                return formula(x, *others)
            *shapes, loc, scale = others
            return formula(ew.div(ew.sub(x, loc), scale), *shapes, scale)

        return evaluate

    def exp(
        self, name: str, value: float, xs: str = "", powers: Formula | None = None
    ) -> Callable[P, Array]:
        """Make the function of this name by the one of its logarithm.

        Args:
            name: the function's name.
            value: what the function returns for the example, rounded.
            xs: the arguments for the example, if others than the family's.
            powers: a formula where the logarithm is -inf, if derivatives are not 0 at all of these.
        """
        log = self._formulas[f"log{name}"]

        def evaluate(*operands: Array) -> Array:
            return ew.exp(log(*operands))

        def with_powers(*operands: Array) -> Array:
            exponent = log(*operands)
            none = exponent == -math.inf
            value = ew.exp(pick(none, 0.0, exponent))
            assert powers is not None, "a formula for where there is no logarithm"
            return pick(none, self._standardized(powers)(*operands), value)

        if powers is not None:
            evaluate = with_slopes_of(with_powers, evaluate)
        return self._public(name, evaluate, value, xs)

    def log(self, name: str, value: float, xs: str = "") -> Callable[P, Array]:
        """Make the logarithm of this name by the function whose it is."""
        fun = self._formulas[name.removeprefix("log")]
        return self._public(name, lambda *operands: log_of(fun(*operands)), value, xs)

    def _public(self, name: str, evaluate: Formula, value: float, xs: str) -> Callable[P, Array]:
        """Give a formula the family's signature, a name and a docstring."""
        lazy.answer_for(self._module, name)
        declared = self._signature
        # a copy, of which Python's errors say that it has this name
        bind = FunctionType(declared.__code__, declared.__globals__, name, declared.__defaults__)
        bind.__qualname__, bind.__module__ = name, self._module
        bind.__annotations__ = {**declared.__annotations__, "return": "Array"}
        names = _names_of(declared)
        package, _, distribution = self._module.rpartition(".")
        digits = max(4, len(repr(value).partition(".")[2]))
        bind.__doc__ = f"""Return {_RETURNS[name].format(names[0])}.

    {_EDGES[name]}
    Integers become floats, and of NaN or parameters that define no distribution it is NaN.

    Args:
        {self._arguments}; all broadcast.

    Example:
        >>> from {package} import {distribution}
        >>> round(float({distribution}.{name}({xs or self._example})), {digits})
        {value}
    """
        if name.endswith("pmf"):
            evaluate = _of_whole(evaluate, -math.inf if name == "logpmf" else 0.0)
        domains = self._domains
        label, labels = f"{distribution}.{name}", [f"{parameter} of {name}" for parameter in names]

        def call(*args: P.args, **kwargs: P.kwargs) -> Array:
            values = bind(*args, **kwargs)
            operands = [*_promoted(labels, values)]
            for i, (domain, parameter) in enumerate(zip(domains, values[1:], strict=True), 1):
                if domain and not (type(parameter) in (int, float) and domain(parameter)):
                    operands[i] = in_domain(domain, operands[i])
            return evaluate(*pm.broadcast(operands, label))

        return replayed(frames.imitate(call, bind))


def _promoted(labels: Sequence[str], values: Operands) -> list[Array]:
    """Convert arguments to arrays of one inexact dtype; labels say what they are to errors."""
    return pm.promote_inexact(*map(pm.array_of, labels, values))


def in_domain(domain: Callable[[Array], Array], x: Array) -> Array:
    """Return parameters, and NaN where they define no distribution, with derivatives of NaN."""
    return x + pick(domain(x), 0.0, math.nan)


def _of_whole(formula: Formula, none: float) -> Formula:
    """Make a formula of whole numbers ``k - loc``, of which it says ``none`` of others."""

    def evaluate(k: Array, *others: Array) -> Array:
        n, value = k - others[-1], formula(k, *others)
        return pick((n > ew.floor(n)) & ~isnan(value), none, value)

    return evaluate


def supported(
    formula: Formula, below: float, beyond: float | None = None, *, start: float = 0.0
) -> Formula:
    """Make a formula of values from ``start`` on one of all values, with constants elsewhere.

    Args:
        formula: sees ``start + 1`` where a value is outside, so that no derivative is NaN there.
        below: what is below ``start``.
        beyond: what is at infinity, if the formula does not say it.
        start: where the support begins.
    """

    def evaluate(z: Array, *shapes: Array) -> Array:
        outside = z < start
        if beyond is None:
            return pick(outside, below, formula(pick(outside, start + 1, z), *shapes))
        last = z == math.inf
        value = formula(pick(outside | last, start + 1, z), *shapes)
        return pick(outside, below, pick(last, beyond, value))

    return evaluate


def exp_of_ways(ways: Array) -> Array:
    """The exponential, which is finite: where it is large, a power that is 0 follows."""
    return ew.exp(minimum(ways, 80.0))


def log_of(probability: Array) -> Array:
    """The logarithm, whose derivative where there is no probability is 0."""
    none = probability == 0
    return pick(none, -math.inf, ew.log(pick(none, 1.0, probability)))
